"""Notes in clones: written anew from fetched turns, and read where there are only notes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.attribution.history import History, Turns
from tests.benchmarks.attribution.notes import notes_of, texts_of
from tests.benchmarks.attribution.place import Place
from tests.benchmarks.attribution.truth import Judgement
from tests.benchmarks.checkpoints.worktree import OURS

_REF = "refs/notes/boocode"


def judged_clones(history: History, top: Path) -> list[Judgement]:
    """What became of the lines of a history, by the notes that a clone writes.

    Differences are printed: of these notes from those of the repository itself, and of what
    commands say in a clone that has only the notes.
    """
    here, commits = history.here, history.commits()
    shared = Place(top / "shared.git", "shared")
    shared.git("init", "-q", "--bare")
    here.git("remote", "add", "shared", str(shared.top))
    here.git(
        "push", "-q", "shared", "refs/heads/*:refs/heads/*", "refs/remotes/origin/*:refs/heads/*"
    )
    _boocode(here, "attribute", *commits)
    _boocode(here, "push", "--all", "--yes", "shared")

    clone = _cloned(shared, top, "clone")
    _boocode(clone, "fetch", "--no-notes")
    _boocode(clone, "attribute", *commits)
    theirs, ours = texts_of(here), texts_of(clone)
    for commit in commits:
        if theirs.get(commit) != ours.get(commit):
            print(f"    {commit}: another note in a clone")

    reader = _cloned(shared, top, "reader")
    reader.git("fetch", "-q", "origin", f"{_REF}:{_REF}")
    known = notes_of(here)
    for commit in commits:
        if _shown(reader, commit) != known.get(commit, {}):
            print(f"    {commit}: show says something else with the notes alone")
    for path in reader.paths():
        if _blamed(reader, path) != _expected(reader, path, known):
            print(f"    {path}: blame says something else with the notes alone")
    written = notes_of(clone)
    return history.judged({commit: written.get(commit, {}) for commit in commits})


def _cloned(shared: Place, top: Path, name: str) -> Place:
    shared.git("clone", "-q", "-b", "main", ".", str(top / name))
    return Place(top / name, name)


def _boocode(place: Place, *words: str) -> Any:
    done = subprocess.run((*OURS, *words, "--json"), cwd=place.top, capture_output=True)
    answer = json.loads(done.stdout)
    assert answer["ok"], (words, answer)
    return answer


def _shown(place: Place, commit: str) -> Turns:
    """What `show` says of a commit."""
    found = {}
    for file in _boocode(place, "show", commit)["attribution"]:
        ranges = ((range(r["start_line"], r["end_line"] + 1), r["turn"]) for r in file["ranges"])
        found[file["path"]] = {n: turn for numbers, turn in ranges for n in numbers}
    return found


def _blamed(place: Place, path: str) -> list[str]:
    """What `blame` says of the lines of a file: the turn, or none."""
    ranges = _boocode(place, "blame", path)["ranges"]
    return [each.get("turn") or "" for each in ranges for _ in each["lines"]]


def _expected(place: Place, path: str, known: Mapping[str, Turns]) -> list[str]:
    """The same by `git blame` and the notes of the commits that it names."""
    listed = place.git("blame", "--porcelain", "--line-porcelain", "--", path)
    found, names = [], re.compile(r"([0-9a-f]{40}) (\d+) ")
    for line in listed.split("\n"):
        if at := names.match(line):
            commit, number = at[1], int(at[2])
        elif line.startswith("filename "):
            name = line.removeprefix("filename ")
            found.append(known.get(commit, {}).get(name, {}).get(number, ""))
    return found
