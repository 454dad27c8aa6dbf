"""Carry out a restore, undo or redo, and print what it did or would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from git_boocode.checkpoints.restore.plan import read_plan
from git_boocode.checkpoints.restore.request import (
    IGNORED,
    LATER_CHANGES,
    NEWER_TURNS,
    REDO,
    RESTORE,
    UNDO,
    ProposalStep,
    RestoreRequest,
)
from git_boocode.checkpoints.restore.result import RestoreResult, version_of
from git_boocode.checkpoints.store.catalog import Catalog, Change
from git_boocode.cli.output import (
    Style,
    agrees,
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
)
from git_boocode.repo.errors import RefusedError, first_few, shell_command, shortened
from git_boocode.repo.head import HeadTarget, operation_in_progress, plan_move, read_head
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

_SHOWN_HUNKS = 5
_SHOWN_TURNS = 3
_SHOWN_COMMITS = 3
# Operations of which the next commit would be the result.
_COMMITTING = ("merge", "cherry-pick", "revert")
_LETTERS = {"create": ("A", "green"), "delete": ("D", "red"), "modify": ("M", "yellow")}


def carry_out(
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
        is_question = error.code in ("newer_turns", "later_changes") and not request.dry_run
        if not is_question or wants_json() or not can_ask():
            raise
        # The last two are of what follows here.
        warn(error.message, error.hints[:-2])
        forced = request._replace(force=request.force | {NEWER_TURNS, LATER_CHANGES})
        expected = run(forced._replace(dry_run=True))
        print_result(repository, expected, request)
        if not agrees("replace that, too?"):
            print_text("nothing was changed")
            return 1
        result = run(forced._replace(seen=version_of(expected)))
    return print_result(repository, result, request)


def print_result(repository: Repository, result: RestoreResult, request: RestoreRequest) -> int:
    """Print a result; returns the exit code."""
    if wants_json():
        print_json(result.as_json())
        return 0
    print_paths(repository, result)
    if result.conversation_left:
        warn("the conversation was not restored: the callback that trimmed it is not configured")
    _warn_of_removed_commits(result)
    name = ShortIds(repository.store)(result.checkpoint.id)
    print_feedback(_summary(result, name), dry_run=result.dry_run)
    if moved := _moved_checkpoints(result):
        print_feedback(moved)
    for line in result.message.splitlines():
        print_feedback(printable(line), dry_run=result.dry_run)
    if result.resume:
        print_feedback(f"continue the conversation with: {printable(result.resume)}")
    callback = request.callback if isinstance(request.callback, str) else None
    hints = (
        *_left_alone(repository, result, request),
        result.conversation_note,
        *_hunks_of(result),
        *_ways_back(result, callback),
    )
    print_hints(tuple(filter(None, hints)), repository.config)
    return 0


def print_paths(repository: Repository, result: RestoreResult) -> None:
    """Print what changed, a line for each path, and warn of what was left alone."""
    style = output_style(repository.config)
    changed = {change.path for change in result.changed}
    lines = [_path_line(change, style) for change in result.changed]
    lines += [f" M {quote_path(path)}" for path in result.edited]
    staged = (change for change in result.staged if change.path not in changed)
    lines += [f"{_path_line(change, style)} (staging)" for change in staged]
    if lines:
        print_feedback("\n".join(first_lines(lines)), dry_run=result.dry_run)
    warn_of_kept(result)
    if result.open_turn:
        turn = Catalog(repository).find(result.open_turn)
        agent, label = (printable(turn.meta.shown(key)) for key in ("agent", "label"))
        named = f" '{shortened(label)}'" if label else ""
        message = f"the turn{named} of {agent} has not ended yet; the agent may still write files"
        end = f"git boocode turn end {ShortIds(repository.store)(turn.id)}"
        warn(message, (f"'{end}' ends it, if the agent was killed",))
    _warn_of_others(result)
    for each in result.open_in:
        program = printable(each.program)
        warn(f"{program} (process {each.pid}) still has the conversation open")
    for lost in result.hooks_lost:
        lose = "would lose" if result.dry_run else "lost"
        hint = f"'{lost.install}' installs what is missing"
        warn(f"{quote_path(lost.path)} {lose} the {lost.title}", (hint,))


def _warn_of_removed_commits(result: RestoreResult) -> None:
    """Warn of the commits that leave the branch with HEAD, and name what keeps them."""
    if not result.removed_commits:
        return
    commits, where = result.removed_commits, printable(result.branch) or "HEAD"
    rows = [printable(f"{each.short} {shortened(each.subject)}") for each in commits]
    does = "would leave" if result.dry_run else "left"
    text = f"{counted(len(rows), 'commit')} {does} {where}: {first_few(rows, _SHOWN_COMMITS)}"
    warn(text, (f"'git branch <name> {commits[0].short}' keeps them on another branch",))


def _warn_of_others(result: RestoreResult) -> None:
    """Warn of the work of other sessions, and name what leaves it alone."""
    hints = (result.instead,) if result.instead else ()
    if not result.other_turns:
        print_hints(hints)
        return
    named = first_few(
        [
            f"'{shortened(label_of(turn))}' of {printable(turn.meta.text('agent'))}"
            for turn in result.other_turns
        ],
        _SHOWN_TURNS,
    )
    does = "would also remove" if result.dry_run else "also removed"
    warn(f"this {does} the work of another session: {named}", hints)


def warn_of_kept(result: RestoreResult) -> None:
    """Warn of the paths that differ and are left alone, or are gone and stay so."""
    left_alone = [
        f"not brought back: {quote_path(path)} ({reason})"
        if path in result.missing
        else f"left alone: {quote_path(path)}: {reason}"
        for path, reason in result.kept
    ]
    for line in first_lines(left_alone):
        warn(line)


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


def _hunks_of(result: RestoreResult) -> Iterator[str]:
    """The hunks of a dry run of a single file, if there is more than one."""
    for part in result.parts.values():
        hunks = part["hunks"]
        assert isinstance(hunks, list)
        if hunks[1:]:
            shown = [f"{hunk['number']} at line {hunk['start_line']}" for hunk in hunks]
            yield f"--hunk <n> restores a part: {first_few(shown, _SHOWN_HUNKS)}"


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
        then = "the end of the turn" if result.after else "the checkpoint"
        if can_move_head(repository, result, request):
            # The conversation is not to be restored twice.
            talks = request.conversation and (result.dry_run or not result.callback)
            force = request.force if result.kind == RESTORE else frozenset()
            moving = request._replace(head=None, conversation=talks, force=force)
            command = moving.command(RESTORE, "--head", result.checkpoint.id)
            yield f"HEAD is not where it was at {then}: '{command}' moves it back"
        else:
            yield f"HEAD is not where it was at {then}; it {stays} where it is"
    was = printable(result.checkpoint.meta.text("state")) or None
    now = operation_in_progress(repository)
    if was and was != now:
        yield f"the checkpoint was taken in the middle of a {was}, which is no longer in progress"
    elif now and was != now:
        is_whole = request.files and not request.paths and not result.dry_run
        ends = f": 'git {now} --quit' ends it and keeps the files"
        way = ends if is_whole and now in _COMMITTING else ""
        yield f"a {now} is in progress, which was not so at the checkpoint{way}"


def can_move_head(repository: Repository, result: RestoreResult, request: RestoreRequest) -> bool:
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
    where = f"after {where}" if result.after else where
    if not parts:
        as_then = "everything else is" if result.kept else "the worktree is"
        return f"nothing to do: {as_then} as {'' if result.after else 'at '}{where}"
    if result.step is not None:
        would = "would restore" if result.dry_run else "restored"
        return f"{would} parts of {parts[0]} from {where}"
    *first, last = parts
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{'would restore' if result.dry_run else 'restored'} {listed} to {where}"
