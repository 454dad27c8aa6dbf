"""The notes that commands and hooks have written, as another program would read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.benchmarks.attribution.history import Turns
from tests.benchmarks.attribution.place import Place

_REF = "refs/notes/boocode"
_TURN = "urn:uuid:"


def notes_of(place: Place) -> dict[str, Turns]:
    """By commit, the turns of the lines in its note."""
    return {commit: _turns(json.loads(text)) for commit, text in texts_of(place).items()}


def texts_of(place: Place) -> dict[str, str]:
    """The notes by commit."""
    if not place.attempt("rev-parse", "-q", "--verify", _REF):
        return {}
    listed = place.git("notes", f"--ref={_REF}", "list").splitlines()
    pairs = [row.split() for row in listed]
    return {commit: place.git("cat-file", "blob", note) for note, commit in pairs}


def _turns(trace: Mapping[str, Any]) -> Turns:
    found: dict[str, dict[int, str]] = {}
    for file in trace["files"]:
        lines = found.setdefault(file["path"], {})
        for conversation in file["conversations"]:
            turn = next(r["url"] for r in conversation["related"] if r["type"] == "turn")
            for each in conversation["ranges"]:
                numbers = range(each["start_line"], each["end_line"] + 1)
                lines |= dict.fromkeys(numbers, turn.removeprefix(_TURN))
    return found
