"""Print what is listed among turns: operations, commits, changes by hand, and where one is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from git_boocode.checkpoints.commit_log import ARRIVALS, LoggedCommit
from git_boocode.checkpoints.operation_log import LoggedOperation, target_checkpoints
from git_boocode.checkpoints.restore.request import RESTORE
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_changes import ChangeCounts
from git_boocode.checkpoints.turn_words import AFTER, BEFORE, BY_HAND, COMMITTED, HERE, SIDES, marks
from git_boocode.checkpoints.worktree_log import Beside, ByHand, Here
from git_boocode.cli.output import counted, label_of, printable
from git_boocode.repo.layout import SAFETY

_MOST_COMMITS = 3  # one after the other that have lines of their own


class CommitRun(NamedTuple):
    """Commits one after the other that share a line, newest first."""

    commits: Sequence[LoggedCommit]

    @property
    def newest(self) -> LoggedCommit:
        """The commit that was made last."""
        return self.commits[0]


Row = Beside | CommitRun


def with_commit_runs(entries: Iterable[Beside]) -> Iterator[Row]:
    """The entries, of which many commits one after the other are one."""
    for is_commit, group in groupby(entries, lambda each: isinstance(each, LoggedCommit)):
        rows = [*group]
        commits = [each for each in rows if is_commit and isinstance(each, LoggedCommit)]
        if len(commits) > _MOST_COMMITS:
            yield CommitRun(commits)
        else:
            yield from rows


def row_texts(
    catalog: Catalog, rows: Sequence[Row], name: Callable[[str], str], short: Callable[[str], str]
) -> list[str]:
    """What happened, in a line each; `name` is what a turn is called, `short` abbreviates ids."""
    operations = [each for each in rows if isinstance(each, LoggedOperation)]
    targets = target_checkpoints(catalog, operations)

    def text(row: Row) -> str:
        if isinstance(row, LoggedOperation):
            return operation_line(row, targets, short)
        if isinstance(row, Here):
            return _here_line(row, name(row.turn))
        if isinstance(row, CommitRun):
            return _run_line(row)
        return _by_hand_line(row) if isinstance(row, ByHand) else _commit_line(row)

    return [printable(text(row)) for row in rows]


def operation_line(
    operation: LoggedOperation, targets: Mapping[str, Checkpoint], name: Callable[[str], str]
) -> str:
    """What an operation did, such as `reverted the turn 01a2228d-1c85 (Add tests)`.

    `targets` are the checkpoints that it concerns, as far as they are known; `name` abbreviates.
    """
    first, *more = operation.targets
    label = label_of(targets[first]) if first in targets else ""
    named = name(first) + (f" ({label})" if label else "")
    if operation.command != RESTORE:
        what = f"the turn {named}" if not more else counted(len(operation.targets), "turn")
        done = f"{operation.command}ed {'a part of ' if operation.is_partial else ''}{what}"
    else:
        # Before an operation, it is simply the state that was there.
        is_turn = first not in targets or not targets[first].ref.startswith(SAFETY)
        side = f"{operation.side or BEFORE} " if is_turn else ""
        scope = "some files " if operation.is_partial else ""
        scope = "the conversation " if operation.is_conversation_only else scope
        done = f"restored {scope}to {side}{named}"
    return _marked(f"{done} (undone)" if operation.undone else done, operation.state)


def _marked(line: str, state: str) -> str:
    return " ".join(filter(None, (line, marks(state))))


def _commit_line(row: LoggedCommit) -> str:
    done = COMMITTED.get(row.kind, row.kind)
    where = f"{row.branch}: " if row.branch else ""
    return f"{done} {where}{row.short} {row.subject}"


def _run_line(row: CommitRun) -> str:
    number, newest = len(row.commits), row.newest
    if any(each.kind in ARRIVALS for each in row.commits):
        return f"{number} moves of HEAD, the last: {_commit_line(newest)}"
    oldest = row.commits[-1]
    return f"{number} commits, {oldest.short} to {newest.short} {newest.subject}"


def _by_hand_line(row: ByHand) -> str:
    return _marked(f"{BY_HAND} {counts_text(row.counts)}" if row.counts else BY_HAND, row.state)


def _here_line(row: Here, name: str) -> str:
    if not row.at and row.side == AFTER and name != "@":
        # Of several turns that overlapped, another one ended last.
        return HERE
    line = _marked(f"{HERE}: {SIDES[row.side]}, {name}", row.state if row.side == AFTER else "")
    if row.at and row.counts.files:
        line += f", and {BY_HAND} {counts_text(row.counts)}"
    return line


def counts_text(counts: ChangeCounts) -> str:
    """What changed, such as `3 files +18 −61`."""
    return f"{counted(counts.files, 'file')} +{counts.added:,} −{counts.removed:,}"
