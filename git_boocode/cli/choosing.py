"""Let the user choose the turn to go back to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from git_boocode.checkpoints.restore.outcome import Outcome
from git_boocode.checkpoints.store.catalog import RecentTurn, newest_turns
from git_boocode.cli.asking import agrees, ask, can_ask
from git_boocode.cli.outcome import show_outcome
from git_boocode.cli.output import (
    Style,
    colour_wanted,
    print_json,
    print_text,
    printable,
    progress,
    report,
)
from git_boocode.repo.errors import UsageError
from git_boocode.repo.ids import MOST_DIGITS
from git_boocode.repo.repository import Repository

# A screenful; who wants an older one knows its name, or finds it in the log.
SHOWN = 20

Run = Callable[[str], Outcome]
"""Restores a checkpoint by its id, or says what that would change."""


def is_answerable() -> bool:
    """Whether there is someone who sees the turns and can choose one."""
    return can_ask() and sys.stdout.isatty()


def list_turns(repository: Repository, *, as_json: bool) -> int:
    """Print the turns where nobody can be asked; returns the exit code of wrong usage."""
    turns = newest_turns(repository, SHOWN)
    error = UsageError(
        "no checkpoint is named",
        hints=(f"name one of those listed: git boocode restore {_example(turns)}",)
        if turns
        else _NONE,
    )
    if as_json:
        print_json({**error.as_json(), "checkpoints": list(map(_as_json, turns))})
        return error.exit_code
    style = Style(enabled=colour_wanted(repository.config))
    for number, turn in enumerate(turns):
        print_text(f"{style(f'@~{number}'.ljust(5), 'yellow')} {_line(turn, style)}")
    return report(error, as_json=False)


def choose(
    repository: Repository, preview: Run, restore: Run | None, callback: str | None = None
) -> int:
    """Show the turns, let one be chosen, show what would change, ask, and restore it.

    Args:
        repository: the repository.
        preview: what says what would change.
        restore: what restores; None to stop before that.
        callback: the callback of the command line.

    Returns:
        The exit code: 0 if it was done, 1 if the user wants none of it.
    """
    with progress("reading the worktree"):
        turns = newest_turns(repository, SHOWN)
    if not turns:
        return list_turns(repository, as_json=False)
    style = Style(enabled=colour_wanted(repository.config))
    for number, turn in enumerate(turns, 1):
        print_text(f"{style(f'{number:>3}', 'yellow')}  {_line(turn, style)}")
    chosen = _ask_number(len(turns))
    if chosen is None:
        return _nothing_done()
    name = turns[chosen - 1].checkpoint.id
    expected = preview(name)
    show_outcome(repository, expected, as_json=False)
    if restore is None or not expected.does_something:
        return 0
    if not agrees("restore this?"):
        return _nothing_done()
    with progress("restoring"):
        outcome = restore(name)
    return show_outcome(repository, outcome, as_json=False, callback=callback)


_NONE = ("this worktree has no checkpoints; 'git boocode checkpoint' takes one",)


def _example(turns: list[RecentTurn]) -> str:
    return "@~1" if len(turns) > 1 else "@"


def _nothing_done() -> int:
    print_text("nothing was changed")
    return 1


def _ask_number(count: int) -> int | None:
    """The number that the user chooses; None for none."""
    while answer := ask(f"restore the state before which turn? [1-{count}, empty for none]"):
        if answer.isascii() and answer.isdigit() and len(answer) <= MOST_DIGITS:
            number = int(answer)
            if 1 <= number <= count:
                return number
        if answer.lower() in ("q", "quit", "n", "no"):
            return None
        print_text(f"'{printable(answer)}' is no number from 1 to {count}")
    return None


def _line(turn: RecentTurn, style: Style) -> str:
    meta = turn.checkpoint.meta
    files = "  ?" if turn.files is None else f"{turn.files:>3}"
    parts = [
        printable(meta.text("created_at")).replace("T", " ")[:19],
        style(printable(meta.text("agent") or "-").ljust(11), "cyan"),
        f"{files} changed",
        printable(meta.text("label")),
    ]
    return "  ".join(parts).rstrip()


def _as_json(turn: RecentTurn) -> dict[str, Any]:
    meta = turn.checkpoint.meta
    told = ("created_at", "label", "session", "chat", "message", "agent", "trigger")
    return {
        "id": turn.checkpoint.id,
        **{key: meta.text(key) or None for key in told},
        "files": turn.files,
    }
