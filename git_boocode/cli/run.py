"""`git boocode run`."""

from __future__ import annotations

import shlex

import click

from git_boocode.checkpoints.capture import Request
from git_boocode.cli.candidates import paths
from git_boocode.cli.checkpoint import session_and_agent, take
from git_boocode.cli.framework import Command, json_option, misused, option
from git_boocode.cli.output import print_hints, wants_json
from git_boocode.repo.process import become, find_command

_LONGEST = 100


@click.command(cls=Command, context_settings={"allow_interspersed_args": False})
@option("-m, --label <label>", "A label for the checkpoint.")
@option("--best-effort", "Run the command even if the checkpoint fails.")
@option("--allow-home", "Allow a worktree that is your home directory.")
@click.argument(
    "command",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="[--] <command> [<args>...]",
    shell_complete=paths,
)
@json_option
def run(label: str | None, best_effort: bool, allow_home: bool, command: tuple[str, ...]) -> int:
    """Take a checkpoint, then run a command.

    It is for commands without a git hook, such as 'git reset --hard', and for any other program
    that changes files. The command has standard input, output and errors to itself, and its exit
    code is returned. If the checkpoint fails, the command is not run. If nothing changed since the
    latest checkpoint, that one is reported.
    """
    if not command:
        raise misused("no command given")
    program = find_command(command[0])
    if label is None:
        words = " ".join(shlex.join(command).split())
        label = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    session, agent = session_and_agent()
    request = Request(label=label, session=session, agent=agent, trigger="run")
    request = request._replace(only_if_changed=True, allow_home=allow_home)
    taken = take(request, best_effort=best_effort, show_id=False)
    if taken is not None and not wants_json():
        back = f"'git boocode restore {taken.checkpoint.id}' goes back to before the command"
        unchanged = f"nothing has changed since the latest checkpoint: {back}"
        print_hints((back if taken.changed else unchanged,))
    become(program, command)
