"""How `restore`, `undo` and `redo` say what they did."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from git_boocode.checkpoints.restore.outcome import Outcome
from git_boocode.checkpoints.store.changes import Change
from git_boocode.cli.log import label_of
from git_boocode.cli.output import (
    Style,
    colour_wanted,
    print_hints,
    print_json,
    print_text,
    printable,
    quote_path,
    warn,
)
from git_boocode.repo.head import operation_in_progress
from git_boocode.repo.repository import Repository

LETTERS = {"create": ("A", "green"), "delete": ("D", "red"), "modify": ("M", "yellow")}


def show_outcome(
    repository: Repository, outcome: Outcome, *, as_json: bool, callback: str | None = None
) -> int:
    """Print the answer of a restore, and return the exit code.

    Args:
        repository: the repository.
        outcome: what was done.
        as_json: whether to print JSON.
        callback: the callback of the command line, which the way back needs as well.
    """
    if as_json:
        print_json(_as_json(outcome))
        return 0
    _print_paths(outcome, Style(enabled=colour_wanted(repository.config)))
    if outcome.conversation_left:
        warn("the conversation stays as it is, for want of the callback that was told to cut it")
    print_text(_summary(outcome))
    for line in outcome.answer.message.splitlines() if outcome.answer else ():
        print_text(printable(line))
    print_hints((*_left_alone(repository, outcome), *_ways_back(outcome, callback)))
    return 0


def _print_paths(outcome: Outcome, style: Style) -> None:
    for change in outcome.changes:
        letter, colour = LETTERS[change.action]
        print_text(f" {style(letter, colour)} {quote_path(change.path)}")
    changed = {change.path for change in outcome.changes}
    for change in outcome.staged:
        if change.path not in changed:
            letter, colour = LETTERS[change.action]
            print_text(f" {style(letter, colour)} {quote_path(change.path)} (staging)")
    for kept in outcome.kept:
        warn(f"left alone: {quote_path(kept.path)}: {kept.reason}")
    for path in outcome.edited:
        print_text(f" M {quote_path(path)}")


def _ways_back(outcome: Outcome, callback: str | None) -> Iterator[str]:
    # Without it, the conversation would stay where it is now.
    told = f" --callback {shlex.quote(callback)}" if callback and outcome.callback else ""
    if outcome.conversation_left:
        missing = outcome.checkpoint.id
        command = f"git boocode restore {missing} --conversation-only --callback <file>"
        yield f"'{command}' brings the conversation back"
    if outcome.undo is None:
        return
    if outcome.mends:
        # What was done since the interruption is in neither of the two states that it went between.
        yield f"'git boocode restore {outcome.undo}{told}' brings back what was here before"
        yield f"'git boocode redo{told}' does again what was interrupted"
    else:
        back = "redo" if outcome.kind == "undo" else "undo"
        yield f"'git boocode {back}{told}' brings back what was here before"


def _left_alone(repository: Repository, outcome: Outcome) -> Iterator[str]:
    """What is not as it was at the checkpoint, because a restore does not touch it."""
    if outcome.blocked:
        # An undo or a redo that did something is not repeated, but its target can be restored.
        repeatable = outcome.kind != "restore" and outcome.undo is None
        again = outcome.kind if repeatable else f"restore {outcome.checkpoint.id}"
        command = f"git boocode {again} --force ignored"
        yield f"'{command}' replaces ignored files and records them in the safety checkpoint"
    if outcome.head_differs:
        stays = "stays" if outcome.dry_run else "was left"
        moves = ", as --head was not given" if outcome.kind == "restore" else ""
        yield f"HEAD is not where it was at the checkpoint; it {stays} where it is{moves}"
    then = printable(outcome.checkpoint.meta.text("state")) or None
    now = operation_in_progress(repository)
    if then and then != now:
        yield f"the checkpoint was taken in the middle of a {then}, which is no longer under way"
    elif now and then != now:
        yield f"a {now} is under way, which was not so at the checkpoint"


def _as_json(outcome: Outcome) -> dict[str, object]:
    answer = outcome.answer
    return {
        "ok": True,
        "checkpoint_id": outcome.checkpoint.id,
        "commit": outcome.checkpoint.commit.id,
        "undo": outcome.undo,
        "dry_run": outcome.dry_run,
        "worktree_reset": bool(outcome.changes),
        "index_reset": outcome.index_reset,
        "head_moved": outcome.head_moved,
        "head_differs": outcome.head_differs,
        "messages_deleted": answer.messages_deleted if answer else 0,
        "backend_reset": answer.backend_reset if answer else False,
        "archived": outcome.archived,
        "changed": [_change_as_json(outcome, change) for change in outcome.changes],
        "staged": [change.as_json() for change in outcome.staged],
        "kept": [kept._asdict() for kept in outcome.kept],
        "edited": outcome.edited,
        "conversation_left": outcome.conversation_left,
        "message": answer.message if answer else "",
    }


def _change_as_json(outcome: Outcome, change: Change) -> dict[str, object]:
    if not outcome.dry_run:
        return change.as_json()
    counted = outcome.lines.get(change.path)
    lines = {"added": counted[0], "removed": counted[1]} if counted else None
    return {**change.as_json(), "lines": lines}


def _summary(outcome: Outcome) -> str:
    parts = []
    if outcome.changes:
        parts.append(_count(len(outcome.changes), "file"))
    if outcome.index_reset:
        parts.append("the staging area")
    if outcome.head_moved:
        parts.append("HEAD")
    if outcome.dry_run and outcome.callback:
        parts.append("the conversation")
    elif outcome.answer is not None:
        cut = outcome.answer.messages_deleted
        parts.append("the conversation" + (f" ({_count(cut, 'message')} cut)" if cut else ""))
    elif outcome.edited:
        parts.append("the conversation")
    label = label_of(outcome.checkpoint)
    where = outcome.checkpoint.id + (f" ({label})" if label else "")
    if not parts:
        as_then = "everything else is" if outcome.kept else "the worktree is"
        return f"nothing to do: {as_then} as at {where}"
    return f"{'would restore' if outcome.dry_run else 'restored'} {_listed(parts)} to {where}"


def _listed(parts: list[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
