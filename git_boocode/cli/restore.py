"""`git boocode restore`, `undo` and `redo`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import click

from git_boocode.checkpoints.restore.plan import read_plan
from git_boocode.checkpoints.restore.request import (
    IGNORED,
    LATER_CHANGES,
    NEWER_TURNS,
    REDO,
    REFUSALS,
    RESTORE,
    UNDO,
    ProposalStep,
    RestoreRequest,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.store.catalog import Catalog, Change
from git_boocode.cli.candidates import callbacks, checkpoints, one_of
from git_boocode.cli.framework import (
    Command,
    Decorator,
    gathered,
    json_option,
    option,
    split_at_dashes,
)
from git_boocode.cli.output import (
    Style,
    agrees,
    ask,
    can_ask,
    counted,
    first_lines,
    label_of,
    output_style,
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
)
from git_boocode.cli.turn_choice import choose_turn, list_turns, newest_turn
from git_boocode.repo.errors import RefusedError, shell_command, shortened
from git_boocode.repo.head import HeadTarget, operation_in_progress, plan_move, read_head
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from git_boocode.workflows import restore_with_edits
from git_boocode.workflows.restore_with_edits import (
    unrestored_conversation,
)

_IGNORED_HELP = (
    "ignored (replace ignored files that are in the way, and record them in the safety checkpoint)"
)
_LETTERS = {"create": ("A", "green"), "delete": ("D", "red"), "modify": ("M", "yellow")}


def _surplus_hint(name: str) -> str:
    """The hint for a name, which neither undo nor redo takes."""
    given = shell_command(name)
    if os.path.lexists(name):
        return f"'git boocode log -- {given}' lists the turns that changed it, to restore it from"
    ways = f"'git boocode restore {given}' goes back to a checkpoint"
    return f"{ways}, 'git boocode rewind {given}' undoes an edit"


_no_head_option = option("--no-head", "Leave HEAD where it is, even if the restore moved it.")


def _request(
    dry_run: bool,
    files_only: bool,
    conversation_only: bool,
    callback: str | None,
    force: tuple[str, ...],
    no_head: bool = False,
) -> RestoreRequest:
    return RestoreRequest(
        files=not conversation_only,
        conversation=not files_only,
        head=False if no_head else None,
        dry_run=dry_run,
        callback=callback,
        force=frozenset(word for each in force for word in each.split(",")),
    )


def _restore_options(kind: str) -> Decorator:
    """The options that restore, undo and redo have, as one request."""
    *others, _ = REFUSALS[kind]
    return gathered(
        "request",
        _request,
        option(
            "--force <what>",
            f"Override a refusal: {', '.join((*others, _IGNORED_HELP))}.",
            multiple=True,
            shell_complete=one_of(REFUSALS[kind]),
        ),
        option("-n, --dry-run", "Only show what would change."),
        option("--files-only", "Restore files and staging; do not call the callback."),
        option("--conversation-only", "Only call the callback; leave files and staging."),
        option(
            "--callback <file>|<name>",
            "The host's program or a shipped one, instead of boocode.callback.",
            shell_complete=callbacks,
        ),
        json_option,
    )


@click.command(cls=Command)
@click.argument("checkpoint", metavar="[<checkpoint>]", required=False, shell_complete=checkpoints)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="[--] [<path>...]")
@option("--head", "Also move HEAD and its branch back.")
@option("--session <id>", "Refuse checkpoints of another session.", default="")
@_restore_options(RESTORE)
def restore(
    checkpoint: str | None,
    paths: tuple[str, ...],
    head: bool,
    session: str,
    request: RestoreRequest,
) -> int:
    """Take files, staging and, through the callback, the conversation back to a checkpoint.

    This takes back what an agent did since; for a single edit, use `git boocode rewind`. HEAD and
    branches stay where they are, unless asked for. What is there now is kept: `git boocode undo`
    brings it back. With paths, only the files that they match are restored, and their staged
    content. Without a checkpoint, pick a turn from all of them on a terminal, with a preview.
    """
    if checkpoint is not None and not split_at_dashes((checkpoint, *paths))[0]:
        # Only paths stand behind `--`.
        paths = (checkpoint, *paths)
        checkpoint = None
    request = request._replace(paths=paths, head=head, session=session).checked(RESTORE)
    repository = Repository.discover()
    warn_of_interruption(repository)
    if checkpoint is None:
        if wants_json() or not (can_ask() and sys.stdout.isatty()):
            return list_turns(repository, request)
        return _restore_chosen(repository, request)
    try:
        work = partial(restore_with_edits.restore, repository, checkpoint)
        return _carry_out(repository, work, request)
    except RefusedError as error:
        if error.code != "not_found" or not (hint := _meant(repository, checkpoint, request)):
            raise
        raise RefusedError(error.message, code=error.code, hints=(hint, *error.hints)) from None


def _meant(repository: Repository, name: str, request: RestoreRequest) -> str:
    """The hint for a name that is of no checkpoint; empty for none."""
    from git_boocode.editing.records import Records

    if Records(repository).matching(name):
        return f"'{name}' is an edit: 'git boocode rewind {name}' undoes it"
    turn = ""
    with suppress(RefusedError):
        turn = newest_turn(repository, [name])
    if turn:
        # Whoever knows `git restore` names a path, perhaps of a file that was deleted.
        paths = (name, *request.paths)
        whole = request._replace(files=True, head=None, callback=None, paths=paths)
        command = whole.command(RESTORE, turn)
        return f"'{name}' is a path: '{command}' restores {'them' if paths[1:] else 'it'} alone"
    return f"'{name}' is a path that no turn changed" if os.path.lexists(name) else ""


# Without a checkpoint.


def _restore_chosen(repository: Repository, request: RestoreRequest) -> int:
    """Let a turn be chosen, show what would change, ask, and restore it.

    Returns the exit code: 0 if it was done, 1 if the user wants none of it.
    """
    name = choose_turn(repository, request)
    if name is None:
        print_text("nothing was changed")
        return 1
    work = partial(restore_with_edits.restore, repository, name)
    expected = work(request._replace(dry_run=True))
    _print_result(repository, expected, request)
    if request.dry_run:
        return 0
    if _can_move_head(repository, expected, request) and agrees("move HEAD back, too?"):
        request = request._replace(head=True)
        expected = work(request._replace(dry_run=True))
        _print_result(repository, expected, request)
    if not expected.changes_something:
        return 0
    scope: RestoreRequest | None = request
    if expected.callback and (expected.changed or expected.index_reset or expected.head_moved):
        scope = _ask_scope(request)
        if scope is not None and scope != request:
            _print_result(repository, work(scope._replace(dry_run=True)), scope)
    if scope is not None and agrees("restore this?"):
        return _carry_out(repository, work, scope)
    print_text("nothing was changed")
    return 1


def _ask_scope(request: RestoreRequest) -> RestoreRequest | None:
    """The request for the files, the conversation or both, as the user answers; None for none."""
    question = "restore [f]iles, [c]onversation or [b]oth? (empty for none)"
    while answer := ask(question).lower():
        if answer in ("b", "both"):
            return request
        if answer in ("f", "files"):
            return request._replace(conversation=False, callback=None)
        if answer in ("c", "conversation"):
            return request._replace(files=False, head=False)
        if answer in ("q", "quit", "n", "no"):
            return None
        print_text(f"'{printable(answer)}' is not one of files, conversation and both")
    return None


@click.command(cls=Command, surplus=_surplus_hint)
@_no_head_option
@_restore_options(UNDO)
def undo(request: RestoreRequest) -> int:
    """Undo the latest restore, or the latest accept, discard or sync of a proposal.

    An interrupted restore comes first. Called again, it undoes the one before. `git boocode redo`
    takes an undo back. To take back what an agent did, use `git boocode restore`; for a single
    edit, `git boocode rewind`.
    """
    request = request.checked(UNDO)
    repository = Repository.discover()
    work = partial(restore_with_edits.undo, repository)
    return _carry_out(repository, work, request)


@click.command(cls=Command, surplus=_surplus_hint)
@_no_head_option
@_restore_options(REDO)
def redo(request: RestoreRequest) -> int:
    """Redo the restore that was undone last.

    Files and staging return to their state before the undo. An interrupted restore that was undone
    is completed. Called again, it redoes the next one. A new restore ends the chain.
    """
    request = request.checked(REDO)
    repository = Repository.discover()
    warn_of_interruption(repository)
    work = partial(restore_with_edits.redo, repository)
    return _carry_out(repository, work, request)


# What is printed.


def _carry_out(
    repository: Repository,
    work: Callable[[RestoreRequest], RestoreResult],
    request: RestoreRequest,
) -> int:
    """Do what is requested and print the result; returns the exit code."""

    def run(asked: RestoreRequest) -> RestoreResult:
        with progress(repository, "restoring"):
            return work(asked)

    try:
        result = run(request)
    except RefusedError as error:
        if error.code not in ("newer_turns", "later_changes") or wants_json() or not can_ask():
            raise
        # The last two are of what follows here.
        warn(error.message, error.hints[:-2])
        _print_result(repository, run(request._replace(dry_run=True)), request)
        if not agrees("replace that, too?"):
            print_text("nothing was changed")
            return 1
        result = run(request._replace(force=request.force | {NEWER_TURNS, LATER_CHANGES}))
    return _print_result(repository, result, request)


def _print_result(repository: Repository, result: RestoreResult, request: RestoreRequest) -> int:
    """Print a result; returns the exit code."""
    if wants_json():
        print_json(result.as_json())
        return 0
    _print_paths(repository, result)
    if result.conversation_left:
        warn("the conversation was not restored: the callback that trimmed it is not configured")
    name = ShortIds(repository.store)(result.checkpoint.id)
    print_feedback(_summary(result, name), dry_run=result.dry_run)
    if moved := _moved_checkpoints(result):
        print_feedback(moved)
    for line in result.message.splitlines():
        print_feedback(printable(line), dry_run=result.dry_run)
    if result.resume:
        print_feedback(f"continue the conversation with: {printable(result.resume)}")
    concerned = result.kind == RESTORE and request.conversation and not request.paths
    left = unrestored_conversation(result) if concerned else ""
    callback = request.callback if isinstance(request.callback, str) else None
    hints = (*_left_alone(repository, result, request), left, *_ways_back(result, callback))
    print_hints(tuple(filter(None, hints)), repository.config)
    return 0


def _print_paths(repository: Repository, result: RestoreResult) -> None:
    style = output_style(repository.config)
    changed = {change.path for change in result.changed}
    lines = [_path_line(change, style) for change in result.changed]
    lines += [f" M {quote_path(path)}" for path in result.edited]
    staged = (change for change in result.staged if change.path not in changed)
    lines += [f"{_path_line(change, style)} (staging)" for change in staged]
    if lines:
        print_feedback("\n".join(first_lines(lines)), dry_run=result.dry_run)
    left_alone = [f"left alone: {quote_path(kept.path)}: {kept.reason}" for kept in result.kept]
    for line in first_lines(left_alone):
        warn(line)
    if result.open_turn:
        turn = Catalog(repository).find(result.open_turn)
        agent, label = (printable(turn.meta.text(key)) for key in ("agent", "label"))
        named = f" '{shortened(label)}'" if label else ""
        warn(f"the turn{named} of {agent} has not ended yet; the agent may still write files")
    for lost in result.hooks_lost:
        lose = "would lose" if result.dry_run else "lost"
        hint = f"'{lost.install}' installs what is missing"
        warn(f"{quote_path(lost.path)} {lose} the {lost.title}", (hint,))


def _path_line(change: Change, style: Style) -> str:
    letter, colour = _LETTERS[change.action]
    return f" {style(letter, colour)} {quote_path(change.path)}"


def _moved_checkpoints(result: RestoreResult) -> str:
    """The checkpoints that left the log or came back to it; empty for none."""
    if result.archived:
        back = "redo" if result.kind == "undo" else "undo"
        later = counted(len(result.archived), "later checkpoint")
        return f"{later} left the log until the next {back}"
    if result.returned:
        return f"{counted(len(result.returned), 'checkpoint')} returned to the log"
    return ""


def _ways_back(result: RestoreResult, callback: str | None) -> Iterator[str]:
    # Without the callback of the command line, the conversation would stay where it is now.
    also = f" {shell_command('--callback', callback)}" if callback and result.callback else ""
    if result.conversation_left:
        there = f"{result.checkpoint.id} --conversation-only --callback <file>"
        yield f"'git boocode restore {there}' brings the conversation back"
    if result.undo is None:
        return
    if result.repairs:
        # What was done since the interruption is in neither of the two states that it went between.
        yield f"'git boocode restore {result.undo}{also}' brings back what was here before"
        yield f"'git boocode redo{also}' does again what was interrupted"
    else:
        back = "redo" if result.kind == "undo" else "undo"
        yield f"'git boocode {back}{also}' brings back what was here before"


def _left_alone(
    repository: Repository, result: RestoreResult, request: RestoreRequest
) -> Iterator[str]:
    """Hints at what differs from the checkpoint because a restore does not touch it."""
    if result.blocked:
        forced, again = request._replace(force=request.force | {IGNORED}), [result.kind]
        if result.kind == RESTORE:
            again.append(result.checkpoint.id)
        elif result.undo is not None:
            # An undo or a redo that did something is not repeated, but its target can be restored.
            paths = read_plan(result.checkpoint).request.from_top()
            again = [RESTORE, result.checkpoint.id]
            forced = forced._replace(paths=paths, head=None, force=frozenset({IGNORED}))
        command = forced.command(*again)
        yield f"'{command}' replaces ignored files and records them in the safety checkpoint"
    if result.head_differs and request.files and not request.paths:
        stays = "stays" if result.dry_run else "was left"
        if _can_move_head(repository, result, request):
            # The conversation is not to be restored twice.
            talks = request.conversation and (result.dry_run or not result.callback)
            force = request.force if result.kind == RESTORE else frozenset()
            moving = request._replace(head=None, conversation=talks, force=force)
            command = moving.command(RESTORE, "--head", result.checkpoint.id)
            yield f"HEAD is not where it was at the checkpoint: '{command}' moves it back"
        else:
            yield f"HEAD is not where it was at the checkpoint; it {stays} where it is"
    then = printable(result.checkpoint.meta.text("state")) or None
    now = operation_in_progress(repository)
    if then and then != now:
        yield f"the checkpoint was taken in the middle of a {then}, which is no longer in progress"
    elif now and then != now:
        yield f"a {now} is in progress, which was not so at the checkpoint"


def _can_move_head(repository: Repository, result: RestoreResult, request: RestoreRequest) -> bool:
    """Whether HEAD has moved since the checkpoint, and `--head` moves it back."""
    target = result.checkpoint
    commit = target.meta.part("head", "commit")
    is_concerned = result.head_differs and request.files and not request.paths
    if not is_concerned or commit != target.head:
        return False
    with suppress(RefusedError):
        then = HeadTarget(target.meta.part("head", "ref"), commit)
        return plan_move(repository, read_head(repository), then) is not None
    return False


def _proposal_summary(result: RestoreResult, step: ProposalStep) -> str:
    """What was taken back or redone of a proposal."""
    done = {UNDO: "took back", REDO: "redid"}.get(result.kind, "brought back")
    would = {UNDO: "would take back", REDO: "would redo"}.get(result.kind, "would bring back")
    files = counted(len(step.paths), "file")
    return f"{would if result.dry_run else done} '{printable(step.change)}' of {files}"


def _summary(result: RestoreResult, name: str) -> str:
    parts = [counted(len(result.changed), "file")] if result.changed else []
    parts += ["the staging area"] if result.index_reset else []
    parts += ["HEAD"] if result.head_moved else []
    if result.messages_deleted:
        cut = counted(result.messages_deleted, "message")
        parts.append(f"the conversation ({cut} cut)")
    elif result.answer or result.edited or (result.dry_run and result.callback):
        parts.append("the conversation")
    if result.proposal is not None:
        return _proposal_summary(result, result.proposal)
    label = label_of(result.checkpoint)
    where = name + (f" ({label})" if label else "")
    if not parts:
        as_then = "everything else is" if result.kept else "the worktree is"
        return f"nothing to do: {as_then} as at {where}"
    *first, last = parts
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{'would restore' if result.dry_run else 'restored'} {listed} to {where}"
