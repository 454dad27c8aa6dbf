"""`git boocode run`."""

from __future__ import annotations

import shlex

import click

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.store.daily import prune_now_and_then
from git_boocode.cli.checkpoint import answer, session_and_agent, warn_of_skipped
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.interruption import warn_of_interruption
from git_boocode.cli.output import print_hints, print_json, progress, report
from git_boocode.repo.ending import become, find_command
from git_boocode.repo.errors import BoocodeError, from_os
from git_boocode.repo.repository import Repository

_LONGEST = 100


@click.command(cls=Command, context_settings={"allow_interspersed_args": False})
@click.option("-m", "--label", metavar="<label>", help="What to call the checkpoint.")
@click.option("--best-effort", is_flag=True, help="Run it even if the checkpoint fails.")
@click.option("--allow-home", is_flag=True, help="Also where the worktree is your home directory.")
@click.argument(
    "command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] <command> [<args>...]"
)
@json_option
def run(
    label: str | None,
    best_effort: bool,
    allow_home: bool,
    command: tuple[str, ...],
    as_json: bool,
) -> int:
    """Take a checkpoint, then run a command.

    It is for what git offers no hook for, such as 'git reset --hard', and for whatever else changes
    files. Standard input, output and errors are the command's own, and so is the exit code. Without
    the checkpoint the command is not run. Where nothing differs from the latest checkpoint, that
    one serves.
    """
    try:
        program = find_command(command[0])
        if label is None:
            words = " ".join(shlex.join(command).split())
            label = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
        session, agent = session_and_agent()
        request = Request(label=label, session=session, agent=agent, trigger="run")
        try:
            _take(request._replace(only_if_changed=True, allow_home=allow_home), as_json=as_json)
        except (BoocodeError, OSError) as error:
            failure = error if isinstance(error, BoocodeError) else from_os(error)
            if not best_effort:
                raise failure from error
            report(failure, as_json=as_json)
    except BoocodeError as error:
        # Reported here: a '--json' among the command's arguments is not meant for us.
        return report(error, as_json=as_json)
    try:
        become(program, command)
    except BoocodeError as error:
        # The one JSON object has been printed.
        return report(error, as_json=False)


def _take(request: Request, *, as_json: bool) -> None:
    repository = Repository.discover()
    warn_of_interruption(repository)
    with progress("recording the worktree"):
        captured = capture(repository, request)
    if as_json:
        print_json(answer(captured))
    else:
        warn_of_skipped(captured)
        back = f"'git boocode restore {captured.checkpoint.id}' goes back to before the command"
        unchanged = f"nothing has changed since the latest checkpoint: {back}"
        print_hints((back if captured.changed else unchanged,))
    prune_now_and_then(repository)
