"""`git boocode rewind`: undo an applied edit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import click

from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.cli.apply_edit import print_diffs, refuse, summary, trim_option
from git_boocode.cli.candidates import edits, or_paths
from git_boocode.cli.framework import Command, json_option, misused, option, split_at_dashes
from git_boocode.cli.hunk_choice import diff_option
from git_boocode.cli.output import (
    print_feedback,
    print_hints,
    print_json,
    print_text,
    progress,
    quote_path,
    wants_json,
)
from git_boocode.cli.turn_rows import warn_of_unreadable
from git_boocode.editing import rewind_edit as service
from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.records import EditRecord, Records
from git_boocode.repo.errors import RefusedError, shell_command
from git_boocode.repo.repository import Repository

_DONE = {"create": "brought back", "delete": "deleted", "rename": "renamed back"}


@click.command(cls=Command)
@click.argument(
    "arguments",
    nargs=-1,
    metavar="[<edit>] [--] [<path>...]",
    shell_complete=or_paths(edits, most=1),
)
@option("-n, --dry-run", "Only show what would be done.")
@diff_option
@trim_option
@option("--no-record", "Do not record the rewind; it cannot be rewound then.")
@option("--force", "Rewind although a turn is running.")
@json_option
def rewind(
    arguments: tuple[str, ...],
    dry_run: bool,
    show_diff: bool,
    trim: bool,
    no_record: bool,
    force: bool,
) -> int:
    """Undo an applied edit, in all its files or in some, although they have changed since.

    The default is the newest edit that has not been rewound. A rewind is recorded like an edit, so
    rewinding it brings the edit back. Nothing is changed if a location is uncertain, or if the
    edited text has changed since. `git boocode restore` takes back a whole turn.
    """
    repository = Repository.discover()
    if not dry_run:
        service.recover_interrupted(repository)
    try:
        record, paths = _split(repository, Records(repository), arguments)
    except RefusedError as error:
        if error.code != "not_found":
            raise
        # Other tools rewind to a checkpoint.
        name = arguments[0] if arguments and _is_checkpoint(repository, arguments[0]) else ""
        there = shell_command(name) if name else "<checkpoint>"
        hint = f"'git boocode restore {there}' goes back to a checkpoint"
        hints = (hint,) if name else (*error.hints, hint)
        raise RefusedError(error.message, code=error.code, hints=hints) from None
    try:
        with progress(repository, "rewinding"):
            done = service.rewind(
                repository, record, paths, dry_run=dry_run, keep=not no_record, force=force
            )
    except EditsRefusedError as error:
        if wants_json():
            raise
        refuse(error)
    if wants_json():
        print_json(done.as_json())
    else:
        _print(done, repository, show_diff=show_diff or trim, trim=trim)
        if dry_run:
            print_text("dry run: nothing was written")
    return 0


def _is_checkpoint(repository: Repository, name: str) -> bool:
    try:
        Catalog(repository).find(name)
    except RefusedError:
        return False
    return True


def _split(
    repository: Repository, records: Records, arguments: Sequence[str]
) -> tuple[EditRecord, list[str]]:
    """Separate the edit from the paths, as git separates revisions from paths."""
    if "" in arguments:
        raise RefusedError(
            "the argument is empty; an edit or a path is expected",
            code="not_found",
            hints=("without any, the newest edit is rewound",),
        )
    front, behind = split_at_dashes(arguments)
    if behind is not None and len(front) > 1:
        hint = "only one edit can be rewound at a time; paths go after '--'"
        raise misused(f"unexpected argument '{front[1]}'", hint)
    if not front:
        return _counted(records), behind or []
    if behind is None and _is_path(repository, records, front[0]):
        return _counted(records), front
    name, *paths = arguments
    return _counted(records, name) if name.startswith("@") else records.find(name), paths


def _counted(records: Records, name: str | None = None) -> EditRecord:
    """The newest edit, or the one of `@~N`; warns of unreadable ones, which may be meant."""
    try:
        return records.to_rewind() if name is None else records.find(name)
    finally:
        warn_of_unreadable(records)


def _is_path(repository: Repository, records: Records, name: str) -> bool:
    if name == "@" or name.startswith("@~") or records.matching(name):
        return False
    if os.path.lexists(os.path.join(repository.worktree, repository.prefix, name)):
        return True
    try:
        newest = records.to_rewind()
    except RefusedError:
        return False
    # It may have been deleted or renamed by the edit.
    return any(service.is_named(repository, file, name) for file in newest.files)


def _print(
    done: service.RewindResult, repository: Repository, *, show_diff: bool, trim: bool
) -> None:
    say = partial(print_feedback, dry_run=not done.answer.applied)
    for file in done.answer.files:
        if file.path not in done.already:
            say(summary(file, file.applied[0][1], _DONE))
    for path in done.already:
        say(f" = {quote_path(path)}: already rewound")
    if show_diff:
        print_diffs(done.answer, repository.config, trim=trim)
    identifier = done.record.id
    if all(file.path in done.already for file in done.answer.files):
        say(f"nothing to do: {identifier} is rewound already")
        print_hints(("'git boocode log --edits' lists the other edits",))
        return
    say(f"{'rewound' if done.answer.applied else 'would rewind'} {identifier}")
    if done.answer.id:
        say(f"recorded as {done.answer.id}")
        print_hints((f"'git boocode rewind {done.answer.id}' brings the edit back",))
