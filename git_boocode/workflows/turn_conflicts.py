"""Why a path cannot be merged: which lines conflict, who wrote them, and what can be done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from git_boocode.checkpoints.line_origin import TURN, LineHistory, LineOrigin, line_history
from git_boocode.checkpoints.turn_work import TurnWork
from git_boocode.editing.text_changes import in_words, quoted
from git_boocode.repo.errors import BoocodeError, NextStep, RefusedError, first_few
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

BY_HAND = "by hand"
_ATTRIBUTED = 500  # conflicts of which it is found out who wrote the lines
_SHOWN = 5  # places that a message names

Writer = tuple[str | None, str]
"""The id of a turn, and its label; no id for what was changed by hand."""


class TurnConflict(NamedTuple):
    """What cannot be merged in a file.

    `lines` are ranges of the file as it is now, 1-based and inclusive; the end of an empty one is
    one less than its start. `by` are those who wrote them. The whole path is left if `is_whole`.
    """

    path: str
    lines: tuple[tuple[int, int], ...]
    by: tuple[Writer, ...]
    message: str
    is_whole: bool = False

    @property
    def place(self) -> str:
        """Where its lines are, such as ` at line 3`; empty if there are none."""
        found = first_few(in_words(pair for pair in self.lines if pair[0] <= pair[1]), _SHOWN)
        return f" at {found}" if found else ""

    def as_json(self) -> dict[str, object]:
        """The conflict in a JSON answer."""
        return {
            "path": self.path,
            # For a place without lines, the line above it.
            "lines": [
                [first, last] if first <= last else [max(last, 1)] * 2 for first, last in self.lines
            ],
            "by": [{"turn": turn, "label": label} for turn, label in self.by],
            "message": self.message,
        }


def attributed(
    repository: Repository,
    works: Sequence[TurnWork],
    conflicts: Sequence[TurnConflict],
    recorded: Mapping[str, Collection[str]],
) -> list[TurnConflict]:
    """Conflicts with who wrote their lines or, if these are gone, removed them.

    `recorded` are the lines in conflict by path, as they were, without whitespace around them.
    """
    try:
        with line_history(repository) as history:
            writers = _Writers(repository, history, works)
            return [
                # Each takes two processes.
                each._replace(by=writers.of(each, recorded.get(each.path, ())))
                if number < _ATTRIBUTED
                else each
                for number, each in enumerate(conflicts)
            ]
    except RefusedError:
        # No checkpoint was taken in this worktree.
        return [each._replace(by=((None, BY_HAND),)) for each in conflicts]


class _Writers:
    """Finds out who changed a path after some turns."""

    def __init__(
        self, repository: Repository, history: LineHistory, works: Sequence[TurnWork]
    ) -> None:
        self._repository = repository
        self._history = history
        self._merged = {work.turn.checkpoint.id for work in works}

    def of(self, conflict: TurnConflict, recorded: Collection[str]) -> tuple[Writer, ...]:
        """Who wrote what conflicts."""
        ranges = [pair for pair in conflict.lines if pair[0] <= pair[1]]
        found = [writer for pair in ranges for writer in self._of_lines(conflict.path, pair)]
        return tuple(dict.fromkeys(found)) or (self._of_change(conflict.path, recorded),)

    def _of_lines(self, path: str, lines: tuple[int, int]) -> Iterator[Writer]:
        try:
            blamed = self._history.blame(path, f"{lines[0]},{lines[1]}")
        except BoocodeError:
            # They are not in the file on disk, but in the buffer of an editor.
            return
        for line in blamed:
            if not self._is_merged(line.origin):
                yield _writer(line.origin)

    def _of_change(self, path: str, recorded: Collection[str]) -> Writer:
        """Who changed a path last or, of some recorded lines, removed one last."""
        versions = self._history.versions(path)
        for (old, _), (new, origin) in reversed([*pairwise(versions)]):
            if self._is_merged(origin):
                continue
            if not recorded:
                return _writer(origin)
            texts = self._repository.store.blobs([name for name in (old, new) if name])
            lines = [Counter(map(bytes.strip, text.split(b"\n"))) for text in texts if text]
            removed = Counter[bytes]() if not old else lines[0] - Counter(*lines[1:])
            if any(line.encode("utf-8", "surrogateescape") in removed for line in recorded):
                return _writer(origin)
        return None, BY_HAND

    def _is_merged(self, origin: LineOrigin) -> bool:
        began = origin.checkpoint if origin.source == TURN else None
        return began is not None and began.id in self._merged


def _writer(origin: LineOrigin) -> Writer:
    if origin.source == TURN and origin.checkpoint is not None:
        return origin.checkpoint.id, origin.checkpoint.meta.shown("label")
    return None, BY_HAND


def refusal_of(
    repository: Repository, conflicts: Sequence[TurnConflict], ways_out: Sequence[str]
) -> RefusedError:
    """The refusal of a command because of conflicts; `ways_out` are hints at what can be done."""
    first, others, short = conflicts[0], conflicts[1:], ShortIds(repository.store)
    by = " and ".join(_named(writer, short) for writer in first.by)
    what = f": {first.message}, {by}"
    if not first.is_whole:
        what = f" was changed since{first.place} {by}"
    more = and_more_files(len(others))
    hints = [*ways_out]
    if not any(each.is_whole for each in conflicts):
        text = "{} writes both versions with conflict markers"
        hints.append(NextStep(text, "markers", typed="--merge --markers"))
    return RefusedError(
        f"'{quoted(first.path)}'{what}{more}",
        code="conflict",
        hints=tuple(hints),
        details={"conflicts": [each.as_json() for each in conflicts]},
    )


def and_more_files(count: int) -> str:
    """The end of a message about one file: how many more it is about."""
    return f" (and {count} more {'file' if count == 1 else 'files'})" if count else ""


def _named(writer: Writer, short: Callable[[str], str]) -> str:
    turn, label = writer
    if turn is None:
        return label
    return f"by turn {short(turn)}" + (f" '{' '.join(label.split())}'" if label else "")


def pathspecs_without(
    repository: Repository, conflicts: Sequence[TurnConflict], pathspecs: Sequence[str]
) -> list[str]:
    """Pathspecs that leave out the files in conflict."""
    prefix = repository.prefix
    excluded = []
    for path in sorted({conflict.path for conflict in conflicts}):
        is_plain = not prefix and re.fullmatch(r"[\w./ -]+", path)
        excluded.append(f":!{path}" if is_plain else f":(top,literal,exclude){path}")
    return [*(pathspecs or [":/" if prefix else "."]), *excluded]
