"""`git boocode` as click sees it: the list of commands, and their arguments' way to them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from git_boocode import __version__
from git_boocode.cli.framework import Entry, LazyGroup
from git_boocode.cli.output import print_text
from git_boocode.repo.errors import FatalError, UsageError

COMMANDS = {
    "apply-edit": Entry(
        "git_boocode.cli.apply_edit", "apply_edit", "Apply a model's edit although it has drifted."
    ),
    "locate": Entry(
        "git_boocode.cli.locate", "locate", "Find where drifted text stands in a file."
    ),
    "rewind": Entry(
        "git_boocode.cli.rewind", "rewind", "Undo an applied edit, although files moved on."
    ),
    "tools": Entry(
        "git_boocode.cli.tools", "tools", "Print the edit formats as tools for a model."
    ),
    "checkpoint": Entry(
        "git_boocode.cli.checkpoint", "checkpoint", "Record the worktree and the staging area."
    ),
    "run": Entry("git_boocode.cli.run", "run", "Take a checkpoint, then run a command."),
    "log": Entry("git_boocode.cli.log", "log", "List the checkpoints, newest first."),
    "show": Entry("git_boocode.cli.show", "show", "Show a checkpoint and what it changes."),
    "diff": Entry("git_boocode.cli.diff", "diff", "Compare a checkpoint with the worktree."),
    "restore": Entry(
        "git_boocode.cli.restore", "restore", "Take files, staging and conversation back."
    ),
    "undo": Entry("git_boocode.cli.undo", "undo", "Undo the latest restore."),
    "redo": Entry("git_boocode.cli.redo", "redo", "Do a restore again that was undone."),
    "drop": Entry("git_boocode.cli.drop", "drop", "Delete checkpoints by name."),
    "prune": Entry(
        "git_boocode.cli.prune", "prune", "Delete checkpoints that are too old or too many."
    ),
    "push": Entry("git_boocode.cli.push", "push", "Push checkpoints to a remote."),
    "fetch": Entry("git_boocode.cli.fetch", "fetch", "Fetch checkpoints from a remote."),
    "hook": Entry(
        "git_boocode.cli.hooks", "hook", "Take the checkpoint of a turn, called by a hook."
    ),
    "hooks": Entry(
        "git_boocode.cli.hooks", "hooks", "Have agents and git take checkpoints themselves."
    ),
    "doctor": Entry(
        "git_boocode.cli.doctor", "doctor", "Repair what interrupted commands left behind."
    ),
    "demo": Entry("git_boocode.cli.demo", "demo", "Show the main job in a scratch repository."),
}


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        print_text(f"git-boocode version {__version__}")
        context.exit(0)


@click.group(cls=LazyGroup, entries=COMMANDS, subcommand_metavar="<command> [<args>]")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
def boocode() -> None:
    """Apply a model's drifted edits, and checkpoint the worktree, in plain git."""


def complete(variable: str, wanted: str) -> int:
    """Answer the completion script of a shell.

    Args:
        variable: by which the script asks.
        wanted: what it asks for.
    """
    from click.shell_completion import shell_complete

    return shell_complete(boocode, {}, "git-boocode", variable, wanted)


def dispatch(argv: list[str]) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments after `git boocode`.

    Raises:
        UsageError: they make no sense.
        BoocodeError: the command failed.
    """
    # Not click's own `main`: it would answer a closed pipe and other errors of the system itself.
    try:
        with boocode.make_context("git boocode", list(argv)) as context:
            result = boocode.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        raise _usage_error(error) from None
    except click.ClickException as error:
        raise FatalError(error.format_message(), code="fatal") from None
    return result if isinstance(result, int) else 0


def _usage_error(error: click.UsageError) -> UsageError:
    message = error.format_message().strip()
    if isinstance(error, click.NoSuchOption):
        message = f"unknown option '{error.option_name}'"
    usage = error.ctx.get_usage() if error.ctx else "usage: git boocode <command> [<args>]"
    hints = (*getattr(error, "hints", ()), *_right_option(error))
    sentence = message[:1].lower() + message[1:].removesuffix(".")
    return UsageError(f"{sentence}\n{usage}", hints=hints)


def _right_option(error: click.UsageError) -> Iterator[str]:
    if not isinstance(error, click.NoSuchOption):
        return
    if error.option_name == "--json" and error.ctx and error.ctx.command is boocode:
        yield "it stands behind the command: git boocode <command> --json"
    elif error.possibilities:
        yield f"the most similar option is: {error.possibilities[0]}"
