"""`git boocode restore`, `undo` and `redo`."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import NamedTuple

import click

from git_boocode.checkpoints.restore.request import (
    PICK,
    REDO,
    REFUSALS,
    RESTORE,
    REVERT,
    UNDO,
    RestoreRequest,
)
from git_boocode.checkpoints.restore.result import RestoreResult, version_of
from git_boocode.cli.candidates import callbacks, checkpoints, one_of
from git_boocode.cli.framework import (
    Command,
    Decorator,
    gathered,
    json_option,
    option,
    refuse_together,
    split_at_dashes,
)
from git_boocode.cli.hunk_choice import (
    choose_parts,
    hunk_option,
    not_empty,
    patch_option,
    refuse_without_terminal,
)
from git_boocode.cli.output import (
    agrees,
    ask,
    can_ask,
    print_text,
    printable,
    progress,
    wants_json,
    warn_of_interruption,
)
from git_boocode.cli.restore_output import can_move_head, carry_out, print_result, warn_of_kept
from git_boocode.cli.turn_choice import choose_turn, list_turns, meant
from git_boocode.cli.turn_rows import PARTS
from git_boocode.repo.errors import RefusedError, refuse_without, shell_command
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_with_edits

_IGNORED_HELP = (
    "ignored (replace ignored files that are in the way, and record them in the safety checkpoint)"
)


def _surplus_hint(name: str) -> str:
    """The hint for a name, which neither undo nor redo takes."""
    given = shell_command(name)
    if os.path.lexists(name):
        return f"'git boocode log -- {given}' lists the turns that changed it, to restore it from"
    ways = f"'git boocode restore {given}' goes back to a checkpoint"
    return f"{ways}, 'git boocode rewind {given}' undoes an edit"


_no_head_option = option("--no-head", "Leave HEAD where it is, even if the restore moved it.")
_step_option = option(
    "--expect <id>",
    "Refuse another operation than that whose answer had this id as its undo.",
    callback=not_empty,
)


def _request(
    dry_run: bool,
    files_only: bool,
    conversation_only: bool,
    callback: str | None,
    force: tuple[str, ...],
    no_head: bool = False,
    expect: str = "",
) -> RestoreRequest:
    return RestoreRequest(
        files=not conversation_only,
        conversation=not files_only,
        head=False if no_head else None,
        dry_run=dry_run,
        callback=callback,
        force=frozenset(word for each in force for word in each.split(",")),
        only_to=expect,
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


class _Parts(NamedTuple):
    """The options that select parts of files."""

    numbers: tuple[int, ...]
    patch: bool
    expect: str

    @property
    def are_chosen(self) -> bool:
        """Whether one is given."""
        return bool(self.numbers) or self.patch

    def check(self, name: str | None, request: RestoreRequest) -> None:
        """Refuse what does not go with parts of files (UsageError)."""
        request.checked_for_parts(hunk=self.numbers, patch=self.patch)
        refuse_together(("--patch", self.patch), ("--json", wants_json()))
        refuse_together(("--patch", self.patch), ("--expect", self.expect))
        if self.patch:
            words = (RESTORE, "--hunk 1", shell_command(name) if name else "<checkpoint>")
            example = request.command(*words)
            refuse_without_terminal(example if request.paths else f"{example} -- <path>")


@click.command(cls=Command)
@click.argument("checkpoint", metavar="[<checkpoint>]", required=False, shell_complete=checkpoints)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="[--] [<path>...]")
@option("--after", "Restore the state after the turn, instead of the one before it.")
@option("--head", "Also move HEAD and its branch back.")
@option("--session <id>", "Refuse checkpoints of another session.", default="")
@gathered(
    "parts",
    _Parts,
    hunk_option,
    patch_option,
    option(
        "--expect <version>",
        "The version in a dry run; refuse to change anything else.",
        callback=not_empty,
    ),
)
@_restore_options(RESTORE)
def restore(
    checkpoint: str | None,
    paths: tuple[str, ...],
    after: bool,
    head: bool,
    session: str,
    parts: _Parts,
    request: RestoreRequest,
) -> int:
    """Take files, staging and, through the callback, the conversation back to a checkpoint.

    This takes back what an agent did since; for a single edit, use `git boocode rewind`. HEAD and
    branches stay where they are, unless asked for. What is there now is kept: `git boocode undo`
    brings it back. With paths, only the files that they match are restored, and their staged
    content. With hunks, only these parts of files are. With --after, it is the state at the end of
    the turn that the checkpoint began. Without a checkpoint, pick a turn from all of them on a
    terminal, with a preview.
    """
    if checkpoint is not None and not split_at_dashes((checkpoint, *paths))[0]:
        # Only paths stand behind `--`.
        paths = (checkpoint, *paths)
        checkpoint = None
    request = request._replace(paths=paths, after=after, head=head, session=session).checked(
        RESTORE
    )
    if checkpoint is None:
        refuse_without("<checkpoint>", after=after, expect=parts.expect)
    parts.check(checkpoint, request)
    repository = Repository.discover()
    warn_of_interruption(repository)
    if checkpoint is None:
        if wants_json() or not (can_ask() and sys.stdout.isatty()):
            return list_turns(repository, request)
        return _restore_picked(repository, request, parts)
    try:
        if parts.are_chosen:
            return _restore_parts(repository, checkpoint, request, parts)
        work = partial(_restore_whole, repository, checkpoint)
        return carry_out(repository, work, request._replace(seen=parts.expect))
    except RefusedError as error:
        if error.code != "not_found" or not (
            hint := meant(repository, checkpoint, request, RESTORE)
        ):
            raise
        raise RefusedError(error.message, code=error.code, hints=(hint, *error.hints)) from None


def _restore_whole(repository: Repository, name: str, request: RestoreRequest) -> RestoreResult:
    result = restore_with_edits.restore(repository, name, request)
    few = wants_json() or len(result.changed) == 1
    if request.dry_run and request.paths and few:
        # What compares texts is loaded only where it is needed.
        from git_boocode.workflows.restore_parts import with_listed_hunks

        return with_listed_hunks(repository, result, request)
    return result


# Parts of files.


def _restore_parts(
    repository: Repository, name: str, request: RestoreRequest, parts: _Parts
) -> int:
    """Restore some hunks, by number or by questions; returns the exit code."""
    from git_boocode.workflows.restore_parts import (
        changed_file,
        differences,
        name_of,
        restore_hunks,
        restore_parts,
    )

    request = request._replace(conversation=False)
    if parts.numbers:

        def by_number(asked: RestoreRequest) -> RestoreResult:
            return restore_hunks(repository, name, asked, parts.numbers, parts.expect)

        return carry_out(repository, by_number, request)
    with progress(repository, "reading the worktree"):
        found = differences(repository, name, request)
    if not found.changed:
        return print_result(repository, found, request)
    warn_of_kept(found)
    files = (changed_file(repository, found.checkpoint, change) for change in found.changed)
    different = (file for file in files if not file.is_same)
    chosen, versions = choose_parts(repository, different, RESTORE)
    if not chosen:
        return 1

    def as_chosen(asked: RestoreRequest) -> RestoreResult:
        return restore_parts(repository, name_of(found), asked, chosen, versions)

    return carry_out(repository, as_chosen, request)


# Without a checkpoint.


def _restore_picked(repository: Repository, request: RestoreRequest, parts: _Parts) -> int:
    """Let a turn be chosen, and restore it or parts of it; returns the exit code."""
    chosen = choose_turn(repository, request)
    if chosen is None:
        print_text("nothing was changed")
        return 1
    if chosen.paths:
        # HEAD and the conversation belong to a restore of everything.
        refuse_together(("--conversation-only", not request.files), ("<path>", True))
        request = request._replace(paths=chosen.paths, prefix="", head=None, callback=None)
    if chosen.after:
        request = request._replace(after=True).checked(RESTORE)
    if chosen.action in (REVERT, PICK):
        # A restore does without it.
        from git_boocode.cli.revert import take_chosen

        return take_chosen(repository, chosen, request)
    if parts.are_chosen or chosen.action == PARTS:
        return _restore_parts(repository, chosen.id, request, parts)
    return _restore_chosen(repository, chosen.id, request)


def _restore_chosen(repository: Repository, name: str, request: RestoreRequest) -> int:
    """Show what a restore would change, ask, and restore it.

    Returns the exit code: 0 if it was done, 1 if the user wants none of it.
    """
    work = partial(restore_with_edits.restore, repository, name)
    expected = work(request._replace(dry_run=True))
    print_result(repository, expected, request)
    if request.dry_run:
        return 0
    if can_move_head(repository, expected, request) and agrees("move HEAD back, too?"):
        request = request._replace(head=True)
        expected = work(request._replace(dry_run=True))
        print_result(repository, expected, request)
    if not expected.changes_something:
        return 0
    scope: RestoreRequest | None = request
    if expected.callback and (expected.changed or expected.index_reset or expected.head_moved):
        scope = _ask_scope(request)
        if scope is not None and scope != request:
            expected = work(scope._replace(dry_run=True))
            print_result(repository, expected, scope)
    if scope is not None and agrees("restore this?"):
        return carry_out(repository, work, scope._replace(seen=version_of(expected)))
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
@_step_option
@_restore_options(UNDO)
def undo(request: RestoreRequest) -> int:
    """Undo the latest restore, revert or pick, or accept, discard or sync of a proposal.

    An interrupted restore comes first. Called again, it undoes the one before. `git boocode redo`
    takes an undo back. To take back what an agent did, use `git boocode restore`; for a single
    edit, `git boocode rewind`.
    """
    request = request.checked(UNDO)
    repository = Repository.discover()
    work = partial(restore_with_edits.undo, repository)
    return carry_out(repository, work, request)


@click.command(cls=Command, surplus=_surplus_hint)
@_no_head_option
@_step_option
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
    return carry_out(repository, work, request)
