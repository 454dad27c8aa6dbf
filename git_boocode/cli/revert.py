"""`git boocode revert` and `pick`: take back what turns did, or do it here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from git_boocode.checkpoints.restore.request import PICK, REVERT, RestoreRequest
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.cli.buffers import BufferOptions, buffer_options, encoding_option
from git_boocode.cli.candidates import agents, checkpoints, one_of, or_paths
from git_boocode.cli.framework import (
    Command,
    Decorator,
    gathered,
    json_option,
    misused,
    option,
    refuse_together,
    split_at_dashes,
)
from git_boocode.cli.hunk_choice import (
    LETTERS,
    choose_parts,
    diff_option,
    expect_option,
    hunk_option,
    patch_option,
    refuse_without_terminal,
)
from git_boocode.cli.output import (
    agrees,
    can_ask,
    counted,
    diff_painter,
    label_of,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    progress,
    quote_path,
    wants_json,
    warn,
    warn_of_interruption,
)
from git_boocode.cli.restore_output import print_paths, warn_of_kept
from git_boocode.cli.turn_choice import meant
from git_boocode.cli.turn_rows import ChosenTurn
from git_boocode.editing.answer import diff_of
from git_boocode.editing.edits import DEFAULT_ENCODING
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.errors import NextStep, RefusedError, refuse_without, shell_command
from git_boocode.repo.ids import ID_PART, relative_offset
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from git_boocode.workflows.take_back import (
    NO_TURN,
    REFUSALS,
    TakeBackRequest,
    TakenBack,
    chosen_turns,
    no_turn_given,
    take_back,
    take_back_hunks,
)

_STAYS = "the conversation, HEAD and branches stay as they are"
_UNDO = NextStep("{} brings back what was here before", "undo", typed="'git boocode undo'")


class _RevertOptions(NamedTuple):
    """The options that revert and pick share."""

    numbers: tuple[int, ...] = ()
    patch: bool = False
    expect: str = ""
    dry_run: bool = False
    show_diff: bool = False
    merge: bool = False
    markers: bool = False
    buffers: BufferOptions = BufferOptions()
    encoding: str = DEFAULT_ENCODING
    force: tuple[str, ...] = ()

    def request(self, repository: Repository) -> TakeBackRequest:
        """The request without turns and paths; UsageError if options do not fit together."""
        refuse_together(
            ("--hunk", self.numbers), ("--patch", self.patch), ("--markers", self.markers)
        )
        refuse_together(("--patch", self.patch), ("--json", wants_json()))
        refuse_without("merge", markers=self.markers and not self.merge)
        refuse_without("hunk", expect=not self.numbers and self.expect)
        here = Workspace(repository.worktree, repository.prefix, repository)
        return TakeBackRequest(
            dry_run=self.dry_run,
            diff=self.show_diff,
            markers=self.markers,
            force=frozenset(word for each in self.force for word in each.split(",")),
            buffers=self.buffers.fill(here).buffer_data(),
        )

    def words(self) -> list[str]:
        """The options that choose hunks, as they were given."""
        numbers = (word for number in self.numbers for word in ("--hunk", str(number)))
        return [*numbers, *(["--expect", self.expect] if self.expect else [])]


_options = gathered(
    "options",
    _RevertOptions,
    hunk_option,
    patch_option,
    expect_option,
    option("-n, --dry-run", "Only show what would change."),
    diff_option,
    option("--merge", "Merge with later changes; without --markers, this is the default."),
    option("--markers", "With --merge, mark conflicts in the files."),
    buffer_options,
    encoding_option,
    option(
        "--force <what>",
        f"Override a refusal: {', '.join(REFUSALS)}.",
        multiple=True,
        shell_complete=one_of(REFUSALS),
    ),
    json_option,
)


def _arguments(metavar: str) -> Decorator:
    return click.argument(
        "arguments",
        nargs=-1,
        metavar=f"{metavar} [--] [<path>...]",
        shell_complete=or_paths(checkpoints, most=sys.maxsize),
    )


@click.command(cls=Command)
@_arguments("[<turn>...]")
@option("--session <id>", "Revert all turns of this session.")
@option("--agent <name>", "Revert all turns of this agent.", shell_complete=agents)
@_options
def revert(
    arguments: tuple[str, ...], session: str | None, agent: str | None, options: _RevertOptions
) -> int:
    """Take back what turns changed, and keep what others have changed since.

    Each file that a turn changed is merged with the file as it is now: lines that others wrote stay
    as they are, and lines that have moved are found. Nothing is changed if others have changed the
    same lines. Several turns are reverted together, or none of them. Without a turn, revert the one
    that ended last, after a question on a terminal. With paths, only what the turns changed of
    these. The conversation, HEAD and branches stay; `git boocode undo` brings back what was here
    before. To go back to a state as a whole, use `git boocode restore`.
    """
    for name, value in (("--session", session), ("--agent", agent)):
        if value == "":
            raise misused(f"'{name}' is empty")
    repository = Repository.discover()
    request = options.request(repository)._replace(session=session or "", agent=agent or "")
    turns, paths = _split(repository, arguments, is_named=bool(session or agent))
    request = request._replace(turns=turns, paths=paths).checked()
    warn_of_interruption(repository)
    if turns or session or agent:
        return _carry_out(repository, REVERT, request, options)
    return _revert_last(repository, request, options)


@click.command(cls=Command)
@_arguments("<turn>...")
@_options
def pick(arguments: tuple[str, ...], options: _RevertOptions) -> int:
    """Do here what turns changed, of another worktree or of one that was taken back.

    Their changes are merged with the files as they are now, which stay as they are elsewhere.
    Nothing is changed if a change does not fit. A turn can be one of another worktree, one that a
    restore archived, one that was reverted, or one that was fetched. `git boocode undo` takes it
    back.
    """
    repository = Repository.discover()
    request = options.request(repository)
    turns, paths = _split(repository, arguments, is_named=False)
    if not turns:
        raise misused(NO_TURN, "'git boocode log' lists the turns")
    request = request._replace(turns=turns, paths=paths).checked()
    warn_of_interruption(repository)
    return _carry_out(repository, PICK, request, options)


# The arguments.


def _split(
    repository: Repository, arguments: Sequence[str], *, is_named: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Separate turns from paths, as git separates revisions from paths.

    `is_named` is whether options name the turns. RefusedError if an argument is neither, or both.
    """
    front, behind = split_at_dashes(arguments)
    if behind is not None:
        return tuple(front), tuple(behind)
    count = 0
    for name in front:
        if not _is_turn(repository, name, is_first=not (count or is_named)):
            break
        count += 1
    turns, paths = front[:count], front[count:]
    for name in paths:
        is_file = os.path.lexists(os.path.join(repository.directory, name))
        if _is_relative(name) or (Catalog(repository).matching(name) and not is_file):
            others = [path for path in paths if path != name]
            words = (click.get_current_context().info_name or "", *turns, name, "--", *others)
            hint = f"turns come first: {shell_command('git', 'boocode', *words)}"
            raise misused(f"'{name}' names a turn, behind a path", hint)
    return tuple(turns), tuple(paths)


def _is_turn(repository: Repository, name: str, *, is_first: bool) -> bool:
    """Whether an argument is the name of a turn, even of one that does not exist."""
    if _is_relative(name):
        return True
    is_id = bool(Catalog(repository).matching(name))
    if os.path.lexists(os.path.join(repository.directory, name)):
        if is_id:
            hint = "put '--' behind the turns, and before the paths"
            raise misused(f"'{name}' names a turn and a path", hint)
        return False
    # The turn itself may have deleted the file.
    return is_id or is_first or ID_PART.fullmatch(name.lower()) is not None


def _is_relative(name: str) -> bool:
    return relative_offset(name) is not None or name.startswith(("message:", "label:"))


# What is done.


def _revert_last(repository: Repository, request: TakeBackRequest, options: _RevertOptions) -> int:
    """Show the turn that ended last, ask, and revert it; returns the exit code.

    Where nobody can be asked, it is only shown.
    """
    [last] = chosen_turns(repository, REVERT, request)
    named = request._replace(turns=(last.id,))
    if request.dry_run or options.patch:
        # The user chooses hunks, which is an answer, too.
        return _carry_out(repository, REVERT, named, options)
    if wants_json() or not can_ask():
        raise no_turn_given(last, request.typed(REVERT, [last.id], *options.words()))
    return _show_and_take(repository, REVERT, named, options)


def take_chosen(repository: Repository, chosen: ChosenTurn, asked: RestoreRequest) -> int:
    """Revert or pick a turn that was chosen from a list, after a question; returns the exit code.

    `asked` has the paths, and whether it is only shown.
    """
    request = TakeBackRequest((chosen.id,), paths=asked.paths, dry_run=asked.dry_run)
    if asked.dry_run:
        return _carry_out(repository, chosen.action, request, _RevertOptions())
    return _show_and_take(repository, chosen.action, request, _RevertOptions())


def _show_and_take(
    repository: Repository, command: str, named: TakeBackRequest, options: _RevertOptions
) -> int:
    expected = _run(repository, command, named._replace(dry_run=True), options)
    _print(repository, expected, options)
    if not (expected.result.changes_something or expected.buffers):
        return 0
    if not agrees(f"{command} this?"):
        print_text("nothing was changed")
        return 1
    return _carry_out(repository, command, named, options)


def _carry_out(
    repository: Repository, command: str, request: TakeBackRequest, options: _RevertOptions
) -> int:
    """Do what is requested and print the result; returns the exit code."""
    try:
        if options.patch:
            return _choose(repository, command, request, options)
        done = _run(repository, command, request, options)
    except RefusedError as error:
        if spec := str(error.details.get("pathspec", "")):
            raise _unmatched(repository, spec, error) from None
        if error.code != "not_found" or not request.turns:
            raise
        hint = meant(repository, request.turns[0], RestoreRequest(paths=request.paths), command)
        hints = (hint, *error.hints) if hint else error.hints
        raise RefusedError(error.message, code=error.code, hints=hints) from None
    _print(repository, done, options)
    return 0


def _unmatched(repository: Repository, spec: str, error: RefusedError) -> RefusedError:
    """The error for a path that turns did not change, and that may have been meant as a turn."""
    _, behind = split_at_dashes(())
    if behind is not None or os.path.lexists(os.path.join(repository.directory, spec)):
        return error
    return RefusedError(
        f"'{spec}' is neither a turn nor a path: {error.message}",
        code=error.code,
        hints=error.hints,
        details=error.details,
    )


def _choose(
    repository: Repository, command: str, request: TakeBackRequest, options: _RevertOptions
) -> int:
    """Ask for each hunk, and take the chosen ones; returns the exit code."""
    refuse_without_terminal(f"git boocode {command} --hunk 1 <turn> -- <path>")
    listed = _run(repository, command, request._replace(dry_run=True, hunks={}), options)
    warn_of_kept(listed.result)
    for conflict in listed.merged.conflicts:
        warn(f"left alone: {quote_path(conflict.path)}: {conflict.message}{conflict.place}")
    if not listed.files:
        print_text(_nothing(repository, listed))
        return 0
    chosen, versions = choose_parts(repository, listed.files, command)
    if not chosen:
        return 1
    turns = tuple(turn.id for turn in listed.turns)
    request = request._replace(turns=turns, session="", agent="")
    request = request._replace(hunks=chosen, versions=versions)
    done = _run(repository, command, request, options)
    _print(repository, done, options)
    return 0


def _run(
    repository: Repository, command: str, request: TakeBackRequest, options: _RevertOptions
) -> TakenBack:
    with progress(repository, f"{command}ing"):
        if options.numbers:
            numbers, expect = options.numbers, options.expect
            return take_back_hunks(repository, command, request, numbers, expect)
        return take_back(repository, command, request)


# What is printed.


def _print(repository: Repository, done: TakenBack, options: _RevertOptions) -> None:
    if wants_json():
        print_json(done.as_json(options.encoding))
        return
    result = done.result
    _print_changes(repository, done, options)
    if not (result.changes_something or done.buffers):
        print_feedback(_nothing(repository, done), dry_run=result.dry_run)
        return
    print_feedback(_summary(repository, done), dry_run=result.dry_run)
    print_feedback(_STAYS, dry_run=result.dry_run)
    for conflict in done.merged.conflicts if options.markers else ():
        has = "would have" if result.dry_run else "has"
        warn(f"{quote_path(conflict.path)} {has} conflict markers")
    if result.undo is not None:
        print_hints((_UNDO,), repository.config)


def _print_changes(repository: Repository, done: TakenBack, options: _RevertOptions) -> None:
    print_paths(repository, done.result)
    for file in done.buffers:
        note = "a buffer, which --json prints; not written"
        line = f" {LETTERS[file.action]} {quote_path(file.path)}: {note}"
        print_feedback(line, dry_run=done.result.dry_run)
    paint = diff_painter(repository.config)
    for diff in (done.result.diff, *map(diff_of, done.buffers)) if options.show_diff else ():
        for line in diff.split("\n")[:-1]:
            print_text(paint(line))


def _nothing(repository: Repository, done: TakenBack) -> str:
    kept = done.result.kept or done.merged.conflicts
    number, there = ("every", "here already") if done.command == PICK else ("no", "left here")
    other = "other " if kept else ""
    return f"nothing to do: {number} {other}change of {_named(repository, done)} is {there}"


def _summary(repository: Repository, done: TakenBack) -> str:
    result, buffers = done.result, done.buffers
    what = counted(len(result.changed) + len(buffers), "file")
    if not (result.changed or buffers):
        what = f"the staging of {counted(len(result.staged), 'file')}"
    verb = f"would {done.command}" if result.dry_run else f"{done.command}ed"
    return f"{verb} {what} of {_named(repository, done)}"


def _named(repository: Repository, done: TakenBack) -> str:
    """The turns of a revert or pick, as people call them."""
    if len(done.turns) != 1:
        return counted(len(done.turns), "turn")
    label = label_of(done.turns[0])
    name = ShortIds(repository.store)(done.turns[0].id)
    return f"the turn {name}" + (f" ({label})" if label else "")
