"""`git boocode restore`."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial

import click

from git_boocode.checkpoints.restore.operation import RestoreRequest
from git_boocode.checkpoints.store.catalog import RecentTurn, newest_turns
from git_boocode.cli.framework import AFTER_DASHES, Command
from git_boocode.cli.output import (
    Style,
    agrees,
    ask,
    can_ask,
    colour_wanted,
    print_json,
    print_text,
    printable,
    progress,
    report,
    warn_of_interruption,
)
from git_boocode.cli.restore_output import FOREIGN, carry_out, print_result, restore_options
from git_boocode.repo.errors import RefusedError, UsageError
from git_boocode.repo.ids import MOST_DIGITS
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_with_edits

# A screenful; who wants an older one knows its name, or finds it in the log.
SHOWN = 20
_LISTED = ("created_at", "label", "session", "chat", "message", "agent", "trigger")


@click.command(cls=Command)
@click.argument("checkpoint", metavar="[<checkpoint>]", required=False)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="[--] [<path>...]")
@click.option("--head", is_flag=True, help="Move HEAD and its branch back, too.")
@click.option(
    "--session", default="", metavar="<id>", help="Refuse checkpoints of another session."
)
@restore_options(*FOREIGN)
def restore(
    checkpoint: str | None,
    paths: tuple[str, ...],
    head: bool,
    session: str,
    request: RestoreRequest,
    as_json: bool,
) -> int:
    """Take files, staging and, through the callback, the conversation back to a checkpoint.

    HEAD and branches stay where they are, unless asked for. What is there now is kept: `git boocode
    undo` brings it back. With paths, only the files that they match go back, and what is staged of
    them. Without a checkpoint, a terminal shows the newest ones and asks for one.
    """
    after_dashes = click.get_current_context().meta.get(AFTER_DASHES)
    if checkpoint is not None and after_dashes == 1 + len(paths):
        # Nothing stood before `--`, and only paths stand behind it.
        paths = (checkpoint, *paths)
        checkpoint = None
    request = request._replace(paths=paths, head=head, session=session)
    _refuse_combinations(request)
    repository = Repository.discover()
    warn_of_interruption(repository)
    if checkpoint is None:
        if as_json or not (can_ask() and sys.stdout.isatty()):
            return _list_turns(repository, as_json=as_json)
        return _choose(repository, request)
    try:
        work = partial(restore_with_edits.restore, repository, checkpoint)
        return carry_out(repository, work, request, as_json=as_json)
    except RefusedError as error:
        if error.code != "not_found" or not os.path.lexists(checkpoint):
            raise
        # Whoever knows `git restore` names a path.
        command = f"git boocode restore @ -- {shlex.quote(checkpoint)}"
        hint = f"'{checkpoint}' is a path: '{command}' restores it alone"
        raise RefusedError(error.message, code=error.code, hints=(hint, *error.hints)) from None


def _refuse_combinations(request: RestoreRequest) -> None:
    conversation_only = not request.files
    for first, second, given in (
        ("--head", "--conversation-only", request.head and conversation_only),
        ("--head", "paths", request.head and request.paths),
        ("--conversation-only", "paths", conversation_only and request.paths),
        ("--callback", "paths", request.callback and request.paths),
    ):
        if given:
            raise click.UsageError(f"{first} and {second} exclude each other")


# Without a checkpoint.


def _list_turns(repository: Repository, *, as_json: bool) -> int:
    """Print the turns where nobody can be asked; returns the exit code of wrong usage."""
    turns = newest_turns(repository, SHOWN)
    hint = "this worktree has no checkpoints; 'git boocode checkpoint' takes one"
    if turns:
        example = "@~1" if len(turns) > 1 else "@"
        hint = f"name one of those listed: git boocode restore {example}"
    error = UsageError("no checkpoint is named", hints=(hint,))
    if as_json:
        print_json({**error.as_json(), "checkpoints": list(map(_as_json, turns))})
        return error.exit_code
    style = Style(enabled=colour_wanted(repository.config))
    for number, turn in enumerate(turns):
        print_text(f"{style(f'@~{number}'.ljust(5), 'yellow')} {_line(turn, style)}")
    return report(error, as_json=False)


def _choose(repository: Repository, request: RestoreRequest) -> int:
    """Show the turns, let one be chosen, show what would change, ask, and restore it.

    Returns:
        The exit code: 0 if it was done, 1 if the user wants none of it.
    """
    with progress("reading the worktree"):
        turns = newest_turns(repository, SHOWN)
    if not turns:
        return _list_turns(repository, as_json=False)
    style = Style(enabled=colour_wanted(repository.config))
    for number, turn in enumerate(turns, 1):
        print_text(f"{style(f'{number:>3}', 'yellow')}  {_line(turn, style)}")
    chosen = _ask_number(len(turns))
    if chosen is not None:
        name = turns[chosen - 1].checkpoint.id
        work = partial(restore_with_edits.restore, repository, name)
        expected = work(request._replace(dry_run=True))
        print_result(repository, expected)
        if request.dry_run or not expected.does_something:
            return 0
        if agrees("restore this?"):
            return carry_out(repository, work, request)
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
        print_text(f"'{printable(answer)}' is not a number from 1 to {count}")
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


def _as_json(turn: RecentTurn) -> dict[str, object]:
    values = {key: turn.checkpoint.meta.text(key) or None for key in _LISTED}
    return {"id": turn.checkpoint.id, **values, "files": turn.files}
