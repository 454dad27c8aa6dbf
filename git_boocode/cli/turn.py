"""`git boocode turn`: `begin`, `end`, `status`."""

from __future__ import annotations

import click

from git_boocode.checkpoints.turn_request import TurnRequest, end_turn
from git_boocode.cli.buffers import BufferOptions, buffer_options
from git_boocode.cli.checkpoint import warn_of_skipped
from git_boocode.cli.framework import AtLeast, Command, CommandInfo, LazyGroup, json_option
from git_boocode.cli.output import (
    print_feedback,
    print_json,
    print_text,
    printable,
    progress,
    warn_of_interruption,
)
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.turn_context import begin as begin_turn
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import read_turn

COMMANDS = {
    name: CommandInfo(__name__, name, summary)
    for name, summary in (
        ("begin", "Take a checkpoint and mark a turn as running."),
        ("end", "End the running turn."),
        ("status", "Show the running turn."),
    )
}


@click.group(cls=LazyGroup, entries=COMMANDS, subcommand_metavar="<command> [<args>]")
def turn() -> None:
    """Mark a model's turn as running, so that nothing else replaces files meanwhile."""


@click.command(cls=Command)
@click.option(
    "-m", "--message", default="", metavar="<text>", help="What is asked for; it labels the turn."
)
@click.option(
    "--pid",
    type=AtLeast(1),
    metavar="<pid>",
    help="The process that works on it; the turn ends with that process.",
)
@click.option(
    "--timeout",
    type=AtLeast(0),
    metavar="<seconds>",
    help="End the turn after <seconds>, instead of boocode.turnTimeout; 0 means no limit.",
)
@click.option("--force", is_flag=True, help="Replace a turn that is running.")
@buffer_options
@json_option
def begin(
    message: str,
    pid: int | None,
    timeout: int | None,
    force: bool,
    buffers: BufferOptions,
    as_json: bool,
) -> int:
    """Take a checkpoint and mark a turn as running; print the checkpoint's id.

    What is proposed meanwhile is for the files as they are now. While the turn runs, accept,
    discard, sync, restore, undo, redo and rewind are refused unless forced; everything that only
    reads works. The turn ends with `git boocode turn end`, with its process, or when its time is
    over.
    """
    workspace = buffers.fill(Workspace.here())
    repository = workspace.repository
    assert repository is not None
    warn_of_interruption(repository)
    with progress(repository, "recording the worktree", as_json=as_json):
        begun = begin_turn(workspace, TurnRequest(message, pid, timeout, force))
    checkpoint = begun.captured.checkpoint
    if as_json:
        print_json(begun.as_json())
    else:
        print_text(checkpoint.id)
        warn_of_skipped(checkpoint)
    # After the answer, so that its reader need not wait; the module was loaded meanwhile.
    from git_boocode.checkpoints.store.daily_pruning import prune_daily

    prune_daily(repository)
    return 0


@click.command(cls=Command)
@json_option
def end(as_json: bool) -> int:
    """End the running turn, and record the state at its end."""
    repository = Repository.discover()
    with progress(repository, "recording the worktree", as_json=as_json):
        ended = end_turn(repository)
    if as_json:
        print_json(ended.as_json())
    else:
        print_feedback(printable(f"ended the turn: {ended.turn.describe()}"))
    return 0


@click.command(cls=Command)
@json_option
def status(as_json: bool) -> int:
    """Show the running turn: who holds it, since when, and until when; exit with 1 if none runs."""
    running = read_turn(Repository.discover())
    if running is None:
        none = RefusedError("no turn is running", code="not_found")
        if as_json:
            raise none
        print_text(none.message)
        return 1
    if as_json:
        print_json({"ok": True, "turn": running.as_json()})
        return 0
    print_text(printable(f"a turn is running: {running.describe()}"))
    until = running.describe_limit()
    print_text(f"checkpoint {running.checkpoint}{until and f', {until}'}")
    return 0
