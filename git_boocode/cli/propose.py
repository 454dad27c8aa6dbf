"""`git boocode propose`: store a model's edits as a proposal, and leave the files alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import click

from git_boocode.agents.hook_state import end_reported_turn
from git_boocode.checkpoints.capture import prune_daily
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_request import TurnRequest, end_turn, open_turn_hints, turn_named
from git_boocode.cli.apply_edit import EditRequest, edit_options, print_edits
from git_boocode.cli.buffers import BufferOptions, buffer_options, encoding_option
from git_boocode.cli.candidates import agents, checkpoints, proposed
from git_boocode.cli.checkpoint import warn_of_skipped
from git_boocode.cli.framework import (
    AtLeast,
    Command,
    CommandInfo,
    LazyGroup,
    gathered,
    json_option,
    option,
    pairs,
)
from git_boocode.cli.output import (
    label_of,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    printable,
    progress,
    quote_path,
    wants_json,
    warn,
    warn_of_interruption,
    write_output,
)
from git_boocode.editing.answer import Answer
from git_boocode.editing.edits import MatchOptions
from git_boocode.editing.service import Options
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.new_proposal import begin as begin_turn
from git_boocode.proposals.new_proposal import propose as store
from git_boocode.proposals.review import preview as preview_file
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import SHORT_ID
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import running_turns, status_json


@click.command(cls=Command)
@edit_options
@encoding_option
@json_option
@option("--retry-of <id>", "The proposal or the refused attempt that this one repeats.", default="")
def propose(request: EditRequest, retry_of: str, encoding: str) -> int:
    """Apply a model's edits to what it has seen, and store the result beside the files.

    Takes what apply-edit takes, all of it or none. Calls build on each other until the proposal is
    accepted or discarded.
    """
    sources, workspace = request.sources("propose"), request.filled(Workspace.here())
    how = MatchOptions(request.profile, request.verbatim)
    options = Options(how, request.format_, request.dry_run)
    with (
        request.explaining(workspace),
        progress(workspace.repository, "proposing edits"),
    ):
        answer = store(sources, workspace, options, retry_of)
    if wants_json():
        print_json(answer.as_json(encoding))
    else:
        _print(request, answer, workspace)
    if answer.id and workspace.repository is not None:
        # After the answer, so that its reader need not wait.
        prune_daily(workspace.repository)
    return 0


def _print(request: EditRequest, answer: Answer, workspace: Workspace) -> None:
    print_edits(answer, workspace, request)
    if request.dry_run:
        print_text("dry run: nothing was stored")
    elif answer.id:
        print_feedback(f"proposed as {answer.id[:SHORT_ID]}; 'git boocode accept' writes the files")


@click.command(cls=Command)
@click.argument("path", metavar="<path>", shell_complete=proposed)
@buffer_options
@encoding_option
@json_option
def preview(path: str, buffers: BufferOptions, encoding: str) -> int:
    """Print a file as it is proposed; without a proposed content, its context, with a warning."""
    found = preview_file(buffers.fill(Workspace.here()), path)
    if wants_json():
        print_json(found.as_json(encoding))
        return 0
    if found.warning:
        warn(f"{quote_path(found.path)}: {found.warning}")
    write_output(found.data)
    return 0


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


class _Conversation(NamedTuple):
    """Whose turn it is: further fields of a `TurnRequest`, in its order."""

    session: str
    agent: str
    chat: str
    message_id: str
    meta: Mapping[str, str]


@click.command(cls=Command)
@option("-m, --message <text>", "What is asked for; it labels the turn.", default="")
@gathered(
    "conversation",
    _Conversation,
    option("--session <id>", "The agent's session; turns of several can run at once.", default=""),
    option("--agent <name>", "The agent that asks for it.", default="", shell_complete=agents),
    option("--chat <id>", "The conversation in that session.", default=""),
    option("--message-id <id>", "The message to cut the conversation at.", default=""),
    option(
        "--meta <key>=<value>",
        "Other metadata; may be given several times.",
        multiple=True,
        callback=pairs,
    ),
)
@option(
    "--pid <pid>", "The process that works on it; the turn ends with that process.", type=AtLeast(1)
)
@option(
    "--timeout <seconds>",
    "End the turn after <seconds>, instead of boocode.turnTimeout; 0 means no limit.",
    type=AtLeast(0),
)
@option("--force", "Replace a turn that is running.")
@buffer_options
@json_option
def begin(
    message: str,
    conversation: _Conversation,
    pid: int | None,
    timeout: int | None,
    force: bool,
    buffers: BufferOptions,
) -> int:
    """Take a checkpoint and mark a turn as running; print the checkpoint's id.

    What is proposed meanwhile is for the files as they are now. While the turn runs, accept,
    discard, sync, restore, revert, pick, undo, redo and rewind are refused unless forced;
    everything that only reads works. The turn ends with `git boocode turn end`, with its process,
    or when its time is over.
    """
    workspace = buffers.fill(Workspace.here())
    repository = workspace.repository
    assert repository is not None
    warn_of_interruption(repository)
    with progress(repository, "recording the worktree"):
        begun = begin_turn(workspace, TurnRequest(message, pid, timeout, force, *conversation))
    checkpoint = begun.captured.checkpoint
    if wants_json():
        print_json(begun.as_json())
    else:
        print_text(checkpoint.id)
        warn_of_skipped(checkpoint)
    # After the answer, so that its reader need not wait.
    prune_daily(repository)
    return 0


@click.command(cls=Command)
@click.argument("name", metavar="[<turn>]", required=False, shell_complete=checkpoints)
@json_option
def end(name: str | None) -> int:
    """End the running turn, and record the state at its end.

    If several are running, <turn> names one by its checkpoint. It may also be one that the hooks of
    an agent have begun, and that they will not end because the agent was killed. What has changed
    until now counts as changed in the turn.
    """
    repository = Repository.discover()
    with progress(repository, "recording the worktree"):
        running = [turn.checkpoint for turn in running_turns(repository)]
        named = turn_named(repository, name) if name else ""
        if named in ("", *running):
            ended = end_turn(repository, named)
            answer, said = ended.as_json(), ended.turn.describe()
        else:
            recorded = end_reported_turn(repository, named)
            answer = {"ok": True, "id": named, "recorded": recorded}
            said = " ".join(filter(None, (named, label_of(Catalog(repository).find(named)))))
    if wants_json():
        print_json(answer)
    else:
        print_feedback(printable(f"ended the turn: {said}"))
    return 0


@click.command(cls=Command)
@json_option
def status() -> int:
    """Show what turn is running: who holds it, since when, until when; exit with 1 if none runs."""
    repository = Repository.discover()
    running = running_turns(repository)
    if not running:
        hints = open_turn_hints(repository)
        none = RefusedError("no turn is running", code="not_found", hints=hints)
        if wants_json():
            raise none
        print_text(none.message)
        print_hints(hints)
        return 1
    if wants_json():
        print_json(status_json(running))
        return 0
    for each in running:
        print_text(printable(f"a turn is running: {each.describe()}"))
        until = each.describe_limit()
        print_text(f"checkpoint {each.checkpoint}{until and f', {until}'}")
    return 0
