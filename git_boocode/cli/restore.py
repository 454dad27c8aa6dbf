"""`git boocode restore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from git_boocode.cli.framework import AFTER_DASHES, Command
from git_boocode.cli.restoring import Flags, carry_out, force_option, restoring_options

if TYPE_CHECKING:
    from git_boocode.checkpoints.restore.outcome import Outcome
    from git_boocode.checkpoints.restore.restore import Options
    from git_boocode.repo.errors import RefusedError
    from git_boocode.repo.repository import Repository

_FOREIGN = ("other-worktree", "other-session", "other-repository")


@click.command(cls=Command)
@click.argument("checkpoint", metavar="[<checkpoint>]", required=False)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="[--] [<path>...]")
@click.option("--head", is_flag=True, help="Move HEAD and its branch back, too.")
@click.option(
    "--session", default="", metavar="<id>", help="Refuse checkpoints of another session."
)
@force_option(*_FOREIGN)
@restoring_options
@click.pass_context
def restore(
    context: click.Context,
    checkpoint: str | None,
    paths: tuple[str, ...],
    head: bool,
    session: str,
    force: frozenset[str],
    flags: Flags,
) -> int:
    """Take files, staging and, through the callback, the conversation back to a checkpoint.

    HEAD and branches stay where they are, unless asked for. What is there now is kept: `git boocode
    undo` brings it back. With paths, only the files that they match go back, and what is staged of
    them. Without a checkpoint, a terminal shows the newest ones and asks for one.
    """
    from git_boocode.checkpoints.restore.foreign import Caller
    from git_boocode.checkpoints.restore.restore import restore as run
    from git_boocode.cli.interruption import warn_of_interruption
    from git_boocode.repo.errors import RefusedError
    from git_boocode.repo.repository import Repository

    if checkpoint is not None and context.meta.get(AFTER_DASHES) == 1 + len(paths):
        # Nothing stood before `--`, and only paths stand behind it.
        paths = (checkpoint, *paths)
        checkpoint = None
    _check_paths(paths, flags, head=head)
    options = _head(flags.options(), flags, head=head)
    options = options._replace(paths=paths, caller=Caller(session, force), force=force)
    repository = Repository.discover()
    warn_of_interruption(repository)
    if checkpoint is None:
        return _chosen(repository, options, flags)
    try:
        return carry_out(repository, lambda: run(repository, checkpoint, options), flags)
    except RefusedError as error:
        raise _meant_as_path(error, checkpoint) from None


def _chosen(repository: Repository, options: Options, flags: Flags) -> int:
    from git_boocode.checkpoints.restore.restore import restore as run
    from git_boocode.cli.choosing import choose, is_answerable, list_turns

    if flags.as_json or not is_answerable():
        return list_turns(repository, as_json=flags.as_json)

    def preview(name: str) -> Outcome:
        return run(repository, name, options._replace(dry_run=True))

    def carry_out_chosen(name: str) -> Outcome:
        return run(repository, name, options)

    restore_chosen = None if flags.dry_run else carry_out_chosen
    return choose(repository, preview, restore_chosen, flags.callback)


def _meant_as_path(error: RefusedError, name: str) -> RefusedError:
    """The error; it also says how a path is restored, which whoever knows `git restore` tries."""
    if error.code != "not_found" or not os.path.lexists(name):
        return error
    import shlex

    command = f"git boocode restore @ -- {shlex.quote(name)}"
    error.hints = (f"'{name}' is a path: '{command}' restores it alone", *error.hints)
    return error


def _head(options: Options, flags: Flags, *, head: bool) -> Options:
    if head and flags.conversation_only:
        raise click.UsageError("--head and --conversation-only exclude each other")
    return options._replace(head=head)


def _check_paths(paths: tuple[str, ...], flags: Flags, *, head: bool) -> None:
    if not paths:
        return
    for option, given in (
        ("--head", head),
        ("--conversation-only", flags.conversation_only),
        ("--callback", flags.callback),
    ):
        if given:
            raise click.UsageError(f"{option} and paths exclude each other")
