"""`git boocode accept`, `discard` and `sync`: decide about what is proposed."""

from __future__ import annotations

import os
from typing import NamedTuple

import click

from git_boocode.cli.buffers import BufferOptions, buffer_options, encoding_option
from git_boocode.cli.candidates import proposed
from git_boocode.cli.framework import (
    Command,
    gathered,
    json_option,
    option,
    refuse_together,
)
from git_boocode.cli.hunk_choice import (
    LETTERS,
    WHOLE,
    FileChoice,
    choose_hunks,
    hunk_option,
    not_empty,
    patch_option,
    refuse_without_terminal,
)
from git_boocode.cli.output import (
    diff_painter,
    first_lines,
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
from git_boocode.editing.answer import diff_of
from git_boocode.editing.text_changes import unified_diff
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals import discard_sync
from git_boocode.proposals.acceptance import ACCEPT, AcceptRefusedError, AcceptRequest
from git_boocode.proposals.acceptance import accept as accept_files
from git_boocode.proposals.proposal import ContextFile
from git_boocode.proposals.review import ChosenPart, Review, ReviewResult, hunks_of_one_file
from git_boocode.repo.errors import RefusedError

force_option = option("--force", "Proceed even if a turn is running.")


class ReviewOptions(NamedTuple):
    """The options that select a part of a proposal."""

    paths: tuple[str, ...]
    numbers: tuple[int, ...]
    patch: bool
    expect: str
    buffers: BufferOptions

    def workspace(self) -> Workspace:
        """The worktree with the buffers."""
        return self.buffers.fill(Workspace.here())

    def select(self, workspace: Workspace, verb: str) -> ChosenPart | None:
        """What the user selects; None if that is nothing.

        UsageError if there is nobody to ask, or hunks of several files are named; RefusedError if
        another proposal is expected (`stale`).
        """
        refuse_together(("--hunk", self.numbers), ("--patch", self.patch))
        part = ChosenPart(self.paths, of=self.expect)
        if self.patch:
            refuse_without_terminal(f"git boocode {verb} --hunk 1 <path>")
            return _choose(Review(workspace), part, verb)
        if not self.numbers:
            return part
        return hunks_of_one_file(workspace, part, self.numbers, verb)


paths_argument = click.argument(
    "paths", nargs=-1, metavar="[--] [<path>...]", shell_complete=proposed
)
review_options = gathered(
    "chosen",
    ReviewOptions,
    paths_argument,
    hunk_option,
    patch_option,
    option("--expect <proposal>", "Refuse any other proposal than this.", callback=not_empty),
    buffer_options,
    force_option,
)
"""The options that select a part of a proposal; the argument is `chosen`."""


@click.command(cls=Command)
@review_options
@option("--merge", "Merge with your changes.")
@option("--overwrite", "Replace your changes.")
@option("--markers", "With --merge, mark conflicts in the files.")
@option("-n, --dry-run", "Only show what would be done.")
@option("--diff", "Show the resulting diff.", "show_diff")
@encoding_option
@json_option
def accept(
    chosen: ReviewOptions,
    force: bool,
    merge: bool,
    overwrite: bool,
    markers: bool,
    dry_run: bool,
    show_diff: bool,
    encoding: str,
) -> int:
    """Write what is proposed to the files, all of it or none.

    A checkpoint comes first, so that `git boocode undo` takes it back. A file that you have changed
    since is refused, unless it is to be merged or overwritten.
    """
    request = AcceptRequest(ChosenPart(), overwrite, merge, markers, dry_run, force).checked()
    refuse_together(("--patch", chosen.patch), ("--json", wants_json()))
    workspace = chosen.workspace()
    selection = chosen.select(workspace, ACCEPT)
    if selection is None:
        print_text("nothing was accepted")
        return 1
    try:
        with progress(workspace.repository, "accepting"):
            result = accept_files(workspace, request._replace(chosen=selection))
    except AcceptRefusedError as error:
        if wants_json():
            raise
        message = "\nerror: ".join(first_lines(error.messages))
        raise RefusedError(message, code=error.code, hints=error.hints) from None
    if wants_json():
        print_json(result.as_json(encoding))
    else:
        _print_accepted(workspace, result, show_diff=show_diff)
    return 0


def _print_accepted(workspace: Workspace, result: ReviewResult, *, show_diff: bool) -> None:
    assert workspace.repository is not None
    paint = diff_painter(workspace.repository.config)
    for file in result.files:
        edited = file.edited
        if edited is None:
            continue
        path = quote_path(file.path)
        if edited.moved_from is not None:
            path = f"{quote_path(edited.moved_from)} -> {path}"
        letter = LETTERS[edited.action] if edited.changes else "="
        note = ": a buffer, which --json prints; not written" if edited.in_buffer else ""
        print_feedback(f" {letter} {path}{note}", dry_run=not result.applied)
        if show_diff:
            for line in diff_of(edited).split("\n")[:-1]:
                print_text(paint(line))
    if not result.applied:
        print_text("dry run: nothing was written")
    _print_end(result)


def print_review(result: ReviewResult) -> None:
    """Print the files of a review with their letters, its warnings, and how to undo it."""
    if wants_json():
        print_json(result.as_json())
        return
    for file in result.files:
        print_feedback(f"{file.letters:2} {quote_path(file.path)}")
    _print_end(result)


def _print_end(result: ReviewResult) -> None:
    for warning in result.warnings:
        warn(warning)
    if result.undo is not None:
        print_hints(("'git boocode undo' takes it back",))


@click.command(cls=Command)
@review_options
@json_option
def discard(chosen: ReviewOptions, force: bool) -> int:
    """Drop what is proposed for some files, or for all; the files stay as they are."""
    refuse_together(("--patch", chosen.patch), ("--json", wants_json()))
    workspace = chosen.workspace()
    selection = chosen.select(workspace, discard_sync.DISCARD)
    if selection is None:
        print_text("nothing was discarded")
        return 1
    with progress(workspace.repository, "discarding"):
        result = discard_sync.discard(workspace, selection, force=force)
    print_review(result)
    return 0


@click.command(cls=Command)
@paths_argument
@buffer_options
@force_option
@json_option
def sync(paths: tuple[str, ...], buffers: BufferOptions, force: bool) -> int:
    """Make files as they are now the context of what is proposed; the files stay as they are.

    A file that is not part of the proposal joins its context. A proposed change is merged with
    yours.
    """
    workspace = buffers.fill(Workspace.here())
    with progress(workspace.repository, "syncing"):
        result = discard_sync.sync(workspace, paths, force=force)
    print_review(result)
    return 0


def _choose(review: Review, part: ChosenPart, verb: str) -> ChosenPart | None:
    """Ask for each hunk of a part of a proposal; None if none is chosen."""
    assert review.workspace.repository is not None
    files = (_choice(review, file) for file in review.chosen(part, verb))
    chosen = choose_hunks(files, verb, diff_painter(review.workspace.repository.config))
    if not chosen:
        return None
    names = tuple(os.path.join(review.workspace.top, path) for path in chosen)
    hunks = {path: found for path, found in chosen.items() if found != WHOLE}
    return ChosenPart(names, hunks, review.newest_id)


def _choice(review: Review, file: ContextFile) -> FileChoice:
    try:
        numbers, why = [hunk.number for hunk in review.hunks_of(file)], ""
    except RefusedError as error:
        numbers, why = [], f"\n{printable(error.message)}"

    def show(number: int) -> str:
        if not number:
            return f"{_change(file)}{why}"
        old, _ = review.sides(file)
        return unified_diff(file.path, old, review.part_of(file, {number}))

    return FileChoice(file.path, numbers, show)


def _change(file: ContextFile) -> str:
    names = " -> ".join(map(quote_path, file.paths))
    modes = [version.mode for version in (file.context, file.output) if version]
    what = f" (mode {modes[0]} -> {modes[1]})" if len({*modes}) > 1 else ""
    return f"{file.change} {names}{what}"
