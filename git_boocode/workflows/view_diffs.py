"""The diffs that the page asks for: of one file, of two states, or those that contain a text.

Everything is plain JSON, as in `view_data`.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple
from unicodedata import normalize

from git_boocode.checkpoints.hand_changes import tree_left
from git_boocode.checkpoints.own_changes import tree_after
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_changes import DiffLimits, TurnFile, turn_files
from git_boocode.checkpoints.turn_log import LogRequest, TurnLog
from git_boocode.checkpoints.turns import NOW, TOP, CurrentTree, Turn
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.layout import SAFETY
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.workflows.view_data import JsonObject, file_json, shown_turn

BEFORE, AFTER = "before", "after"
_LISTED = DiffLimits(0, 0)
_ALL_FILES = DiffLimits(500_000, 500_000)
_ONE_FILE = DiffLimits(8_000_000, 8_000_000, 16 << 20)
_LARGEST_PICTURE = 4 << 20  # bytes
_PICTURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpeg"),
    (re.compile(rb"GIF8[79]a"), "gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "webp"),
)
_SEARCH_TIME = 10  # seconds until a search ends with what it has found
_LETTERS = re.compile("ss|.", re.DOTALL)
# What the capital of a letter, or of two, does not have as its small one.
_ALIKE = {"ss": "ßẞ", "s": "ſ", "i": "İı", "σ": "ς"}
_SPECIAL = re.compile(r"[][\\.*^$+?(){}|]")


class State(NamedTuple):
    """The state before or after a turn or an operation; without one, the worktree as it is."""

    turn: str = ""
    side: str = BEFORE


class DiffForm(NamedTuple):
    """How lines are compared, and how many lines without a change are shown around a change."""

    ignore_whitespace: bool = False
    context: int = 3

    @property
    def options(self) -> list[str]:
        """Git's options for it."""
        return [f"-U{self.context}", *["--ignore-all-space"] * self.ignore_whitespace]


def file_data(
    repository: Repository, identifier: str, path: str, form: DiffForm, most: int
) -> JsonObject:
    """One file of a turn, with its diff or its pictures; RefusedError (`not_found`)."""
    with temporary_objects(repository):
        turn = shown_turn(repository, identifier, most)
        listed = turn_files(repository, turn, _LISTED) if turn.after else None
        for file in listed or ():
            if file.path == path:
                specs = _literal([file.path, *filter(None, [file.source])])
                found = turn_files(repository, turn._replace(paths=specs), _ONE_FILE, form.options)
                shown = next((each for each in found or () if each.path == path), file)
                return {"file": _with_pictures(repository, shown)}
    raise RefusedError(f"that turn did not change '{path}'", code="not_found")


def compare_data(
    repository: Repository, old: State, new: State, paths: Sequence[str], form: DiffForm
) -> JsonObject:
    """The files that differ between two states; with paths, of these alone, and with all lines.

    RefusedError (`not_found`) if a state is unknown.
    """
    with temporary_objects(repository):
        catalog = Catalog(repository)
        now = CurrentTree(repository)
        trees = (_tree(catalog, old, now), _tree(catalog, new, now))
        name = old.turn or new.turn
        # Any checkpoint, to name the comparison.
        around = catalog.find(name) if name else None
        if around is None or trees[0] == trees[1]:
            return {"files": []}
        compared = Turn(around, NOW, own=trees, paths=_literal(paths))
        limits = _ONE_FILE if paths else _ALL_FILES
        found = turn_files(repository, compared, limits, form.options)
        if found is None or not paths:
            return {"files": None if found is None else [*map(file_json, found)]}
        return {"files": [_with_pictures(repository, each) for each in found]}


def turns_with_text(repository: Repository, text: str, most: int) -> JsonObject:
    """The newest turns with a changed line that contains a text, in any case.

    `complete` is false if the time was over before all of them were searched.
    """
    deadline = time.monotonic() + _SEARCH_TIME
    found: list[str] = []
    complete = True
    request = LogRequest(max_count=most, regex=_regex(text), everywhere=True)
    with TurnLog(repository, request) as log:
        for page in log.pages():
            found += (each.turn.checkpoint.id for each in page)
            if time.monotonic() > deadline:
                complete = False
                break
        missing = log.missing
    return {"turns": found, "complete": complete, "missing": missing}


def _regex(text: str) -> str:
    """A regex for a text in any case and composition, as git takes it.

    Git may compare bytes, so that a letter of several bytes cannot be in brackets.
    """
    return "".join(map(_either, _LETTERS.findall(_folded(text))))


def _either(letter: str) -> str:
    if letter.isascii() and letter.isalpha() and letter not in _ALIKE:
        return f"[{letter}{letter.upper()}]"
    cases = {*map("".join, product(*((each, each.upper()) for each in letter)))}
    cases |= {*_ALIKE.get(letter, "")}
    forms = {normalize(form, case) for case in cases for form in ("NFC", "NFD")}
    escaped = [_SPECIAL.sub(r"\\\g<0>", each) for each in sorted(forms)]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def _folded(text: str) -> str:
    """A text as the search compares it; `page/text.js` does the same."""
    text = normalize("NFC", text).lower().upper().lower()
    return text.replace("ς", "σ").replace("i\u0307", "i")


def _tree(catalog: Catalog, state: State, now: CurrentTree) -> str:
    if not state.turn:
        tree = now()
        if now.error:
            raise now.error
        return tree
    checkpoint = catalog.find(state.turn)
    if state.side == BEFORE:
        return checkpoint.tree
    if not checkpoint.ref.startswith(SAFETY):
        return tree_after(catalog, checkpoint)
    if not (left := tree_left(catalog, checkpoint)):
        raise RefusedError("it is unknown what that operation left", code="not_found")
    return left


def _literal(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(TOP + path for path in paths)


def _with_pictures(repository: Repository, file: TurnFile) -> JsonObject:
    """The JSON of a file; of a binary one, the pictures before and after, if it is one."""
    answer = file_json(file)
    if (
        file.added is not None
        or max((each or 0 for each in file.sizes), default=0) > _LARGEST_PICTURE
    ):
        return answer
    ids = [each if each.strip("0") else "" for each in (file.old_id, file.id)]
    contents = iter(repository.store.blobs([*filter(None, ids)]))
    pictures = [_picture(next(contents)) if each else None for each in ids]
    return {**answer, "pictures": pictures} if any(pictures) else answer


def _picture(content: bytes | None) -> str | None:
    """A picture as the address of its data; None if it is of no known type."""
    for begins, kind in _PICTURES if content else ():
        if begins.match(content or b""):
            return f"data:image/{kind};base64,{base64.b64encode(content or b'').decode('ascii')}"
    return None
