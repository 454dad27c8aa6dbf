"""`git boocode fork`."""

from __future__ import annotations

import click

from git_boocode.cli.candidates import branches, callbacks, checkpoints
from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.output import (
    label_of,
    print_feedback,
    print_json,
    print_text,
    printable,
    progress,
    quote_path,
    wants_json,
    warn,
)
from git_boocode.repo.errors import ArgumentError
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from git_boocode.workflows import fork_turn as service
from git_boocode.workflows.fork_turn import ForkRequest, ForkResult


@click.command(cls=Command)
@click.argument("turn", metavar="<turn>", shell_complete=checkpoints)
@click.argument(
    "directory", metavar="[<directory>]", required=False, type=click.Path(readable=False)
)
@option("--after", "Fork the state at the end of the turn, instead of the beginning.")
@option(
    "-b, --branch <branch>",
    "Create this branch there, instead of a detached HEAD.",
    shell_complete=branches,
)
@option("--no-conversation", "Fork files and staging only; do not call the callback.")
@option(
    "--callback <file>|<name>",
    "The host's program or a shipped one, instead of boocode.callback.",
    shell_complete=callbacks,
)
@option("-n, --dry-run", "Only check, and show where the worktree would be.")
@json_option
def fork(
    turn: str,
    directory: str | None,
    after: bool,
    branch: str | None,
    no_conversation: bool,
    callback: str | None,
    dry_run: bool,
) -> int:
    """Try a turn again in a linked worktree of its own.

    It has the files of the turn, untracked ones too, its staging area and its HEAD, and a copy of
    its conversation, which goes on there. This worktree is not changed. Without a directory, the
    worktree is made beside the main one.
    """
    if directory == "" or branch == "":
        name = "directory" if directory == "" else "branch"
        raise ArgumentError("invalid value for {}: the name is empty", name)
    request = ForkRequest(
        directory=directory or "",
        after=after,
        branch=branch or "",
        conversation=not no_conversation,
        dry_run=dry_run,
        callback=callback,
    ).checked()
    repository = Repository.discover()
    with progress(repository, "forking"):
        result = service.fork(repository, turn, request)
    if wants_json():
        print_json(result.as_json())
    else:
        _print(repository, result)
    return 0


def _print(repository: Repository, result: ForkResult) -> None:
    for kept in result.kept:
        warn(f"left out: {quote_path(kept.path)}: {kept.reason}")
    label, short = label_of(result.turn), ShortIds(repository.store)
    turn = short(result.turn.id) + (f" ({label})" if label else "")
    side = "the end of " if result.after else ""
    would = "would fork" if result.dry_run else "forked"
    place = quote_path(result.worktree)
    print_feedback(f"{would} {side}{turn} to {place}, {_head(result)}", dry_run=result.dry_run)
    if result.dry_run:
        return
    if said := result.conversation:
        if said.why:
            # What a program wrote before it failed ends with the reason.
            first, *rest = said.why.splitlines()
            why = ": ".join((first, *rest[-1:]))
            warn(f"the conversation was not forked: {printable(why)}")
        for line in said.message.splitlines():
            print_feedback(printable(line))
    if hooks := result.hooks:
        warn(f"the hooks of {hooks.titles} do not hold there, so what it does is not recorded")
    print_feedback("go on there with:")
    for command in result.commands:
        print_text(printable(command))


def _head(result: ForkResult) -> str:
    if result.branch:
        return f"on the new branch '{printable(result.branch)}'"
    return f"with HEAD detached at {(result.head or '')[:12]}"
