"""Why a path cannot be merged: which lines conflict, who wrote them, and what can be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from git_boocode.checkpoints.line_origin import TURN, LineHistory, line_history
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_work import TurnWork, path_steps, work_of
from git_boocode.checkpoints.turns import CurrentTree
from git_boocode.editing.text_changes import in_words
from git_boocode.repo.errors import BoocodeError, NextStep, RefusedError, first_few, shell_command
from git_boocode.repo.repository import Repository

BY_HAND = "by hand"
_SHOWN = 5  # places that a message names
_SEARCHED = 100  # later turns that are asked whether they changed a path

Writer = tuple[str | None, str]
"""The id of a turn, and its label; no id for what was changed by hand."""


class Conflict(NamedTuple):
    """What cannot be merged in a file.

    `lines` are ranges of the file as it is now, 1-based and inclusive; the end of an empty one is
    one less than its start. `by` are those who wrote them. The whole path is left if `is_whole`.
    """

    path: str
    lines: tuple[tuple[int, int], ...]
    by: tuple[Writer, ...]
    message: str
    is_whole: bool = False

    def as_json(self) -> dict[str, object]:
        """The conflict in a JSON answer."""
        return {
            "path": self.path,
            "lines": [list(pair) for pair in self.lines],
            "by": [{"turn": turn, "label": label} for turn, label in self.by],
            "message": self.message,
        }


def attributed(
    repository: Repository, works: Sequence[TurnWork], conflicts: Sequence[Conflict]
) -> list[Conflict]:
    """Conflicts with who wrote the lines, or at least changed the file, after the turns."""
    later = _LaterTurns(repository, works)
    try:
        with line_history(repository) as history:
            return [each._replace(by=_writers(later, history, each)) for each in conflicts]
    except RefusedError:
        # There is no history of this worktree, for example of a turn that was fetched.
        return [each._replace(by=((None, BY_HAND),)) for each in conflicts]


def _writers(later: _LaterTurns, history: LineHistory, conflict: Conflict) -> tuple[Writer, ...]:
    found: dict[Writer, None] = {}
    for first, last in conflict.lines:
        if first > last:
            continue
        try:
            lines = history.blame(conflict.path, f"{first},{last}")
        except BoocodeError:
            # It is an editor's buffer, or the lines are not in the newest state.
            break
        for line in lines:
            origin = line.origin
            if origin.source == TURN and origin.checkpoint is not None:
                if origin.checkpoint.id not in later.merged:
                    found[origin.checkpoint.id, origin.checkpoint.meta.text("label")] = None
            else:
                found[None, BY_HAND] = None
    return tuple(found or later.writers(conflict.path) or [(None, BY_HAND)])


class _LaterTurns:
    """The turns of this worktree that began after some others."""

    def __init__(self, repository: Repository, works: Sequence[TurnWork]) -> None:
        self.merged = {work.turn.checkpoint.id for work in works}
        self._repository = repository
        self._catalog = Catalog(repository)
        self._oldest = min(self.merged)
        self._works: list[TurnWork] | None = None

    def writers(self, path: str) -> list[Writer]:
        """Those that changed a path."""
        if self._works is None:
            now = CurrentTree(self._repository)
            newer = takewhile(lambda each: each.id > self._oldest, self._catalog.history())
            found = [each for each in newer if each.id not in self.merged][:_SEARCHED]
            self._works = [work_of(self._catalog, each, now) for each in found]
        top = [f":(top,literal){path}"]
        return [
            (work.turn.checkpoint.id, work.turn.checkpoint.meta.text("label"))
            for work in self._works
            if path_steps(self._repository, work, top)
        ]


def refusal_of(
    conflicts: Sequence[Conflict], works: Sequence[TurnWork], command: str
) -> RefusedError:
    """The refusal of a command, `revert` or `pick`, because of conflicts."""
    first, others = conflicts[0], conflicts[1:]
    places = first_few(in_words(pair for pair in first.lines if pair[0] <= pair[1]), _SHOWN)
    by = " and ".join(_named(writer) for writer in first.by)
    where = f", {places}" if places else ""
    more = f" (and {len(others)} more {'file' if len(others) == 1 else 'files'})" if others else ""
    return RefusedError(
        f"'{first.path}'{where}: {first.message}, {by}{more}",
        code="conflict",
        hints=tuple(_hints(conflicts, works, command)),
        details={"conflicts": [each.as_json() for each in conflicts]},
    )


def _named(writer: Writer) -> str:
    turn, label = writer
    if turn is None:
        return label
    return f"by turn {turn}" + (f" '{' '.join(label.split())}'" if label else "")


def _hints(conflicts: Sequence[Conflict], works: Sequence[TurnWork], command: str) -> Iterator[str]:
    chosen = [work.turn.checkpoint.id for work in works]
    if command == "revert":
        writers = {turn: None for each in conflicts for turn, _ in each.by if turn}
        turns = sorted([*writers, *chosen], reverse=True)
        if writers:
            which = "the later turn" if len(writers) == 1 else "the later turns"
            yield NextStep(
                f"{{}} reverts {which} as well",
                command,
                " ".join(turns),
                typed=shell_command("git", "boocode", command, *turns),
            )
    if not all(each.is_whole for each in conflicts):
        yield NextStep("{} takes only some hunks", "hunk", "<n>", typed="-p or --hunk <n>")
    if not any(each.is_whole for each in conflicts):
        yield NextStep(
            "{} writes both versions with conflict markers", "merge", typed="--merge --markers"
        )
