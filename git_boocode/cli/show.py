"""`git boocode show`."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from functools import partial

import click

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, tree_changes
from git_boocode.checkpoints.turns import (
    CHECKPOINT,
    NOW,
    RECORDED,
    RESTORE,
    ChangeCounts,
    Turn,
    count_changes,
    turn_of,
)
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.cli.candidates import checkpoint_or_edit
from git_boocode.cli.colour import Style
from git_boocode.cli.diff import READER_GONE, print_page
from git_boocode.cli.edit_list import edit_state
from git_boocode.cli.framework import Command, json_option, refuse_together
from git_boocode.cli.output import label_of, print_json, printable, progress, quote_path
from git_boocode.cli.turn_rows import Dates, counts_text
from git_boocode.editing.records import EditRecord, Records
from git_boocode.matching.text import lines_of
from git_boocode.repo.errors import EXIT_FATAL, RefusedError
from git_boocode.repo.git import nul_records
from git_boocode.repo.head import tree_of
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, ShortIds, Store

_SHOWN_EDITS = 3
_ENDS = {
    RECORDED: "its recorded end",
    CHECKPOINT: "the next checkpoint",
    RESTORE: "the restore after it",
    NOW: "now",
}
_LINES = ("agent", "session", "chat", "message", "trigger", "state")


@click.command(cls=Command)
@click.argument(
    "name",
    metavar="[<checkpoint>[:<path>] | <edit>]",
    default="@",
    shell_complete=checkpoint_or_edit,
)
@click.option("--stat", is_flag=True, help="Show a summary of the changes instead.")
@click.option("--head", is_flag=True, help="Show what differs from HEAD instead of the turn.")
@json_option
def show(name: str, stat: bool, head: bool, as_json: bool) -> int:
    """Show a checkpoint's metadata and what its turn changed; by default the newest.

    With a path behind a colon, show that file as it was. Of an applied edit, show where it landed
    and what it changed.
    """
    repository = Repository.discover()
    records, catalog = Records(repository), Catalog(repository)
    start, colon, path = name.partition(":")
    if colon and start not in ("label", "message"):
        refuse_together(("--stat", stat), ("--head", head), ("<checkpoint>:<path>", True))
        return _show_file(repository, catalog.find(start or "@"), path, as_json=as_json)
    edits = records.matching(name)
    if not edits:
        found = catalog.find(name)
        with temporary_objects(repository):
            with progress(repository, "reading the worktree", as_json=as_json):
                turn = None if head else turn_of(catalog, found, partial(current_tree, repository))
            return _show_checkpoint(repository, found, turn, stat=stat, as_json=as_json)
    if not (checkpoints := catalog.matching(name)):
        if len(edits) > 1:
            raise records.ambiguous(name, edits)
        return _show_edit(repository, records, edits[0], stat=stat, as_json=as_json)
    shown = [f"the edit {ref.id}" for ref in edits[:_SHOWN_EDITS]]
    several = len(checkpoints) > 1
    shown.append("several checkpoints" if several else f"the checkpoint {checkpoints[0].id}")
    raise RefusedError(
        f"'{name}' is ambiguous: it matches a checkpoint and an edit record",
        code="ambiguous",
        hints=(f"candidates: {', '.join(shown)}",),
    )


def _show_checkpoint(
    repository: Repository, found: Checkpoint, turn: Turn | None, *, stat: bool, as_json: bool
) -> int:
    ended = turn if turn is not None and turn.after else None
    if ended is not None:
        old, new, *paths = ended.compared()
    else:
        old = tree_of(repository.git, found.head) if found.head else repository.empty_tree
        new, paths = found.tree, ["--"]
    if as_json:
        own = {"id": found.id, "commit": found.commit.id, "tree": found.tree}
        files = [each.as_json() for each in tree_changes(repository.git, old, new, paths[1:])]
        checkpoint = {**found.meta.values, **own}
        end = ended.end if ended else None
        print_json({"ok": True, "checkpoint": checkpoint, "end": end, "files": files})
        return 0
    [counts] = count_changes(repository, [ended]) if ended else [None]
    [date] = Dates(repository, default="iso")([found])
    more = {"date": date, "changes": _changes(turn, counts)}
    arguments = [*(["--stat"] if stat else []), old, new, *paths]
    return print_page(repository, lambda style: _text(found, more, style), arguments)


def _changes(turn: Turn | None, counts: ChangeCounts | None) -> str:
    """What the diff below shows."""
    if turn is None:
        return "since HEAD"
    if not turn.after:
        # A safety checkpoint begins none.
        return "since HEAD, as it is unknown how the turn ended"
    number = "unknown files" if counts is None else counts_text(counts)
    return f"{number}, until {_ENDS[turn.end]}"


def _text(found: Checkpoint, more: dict[str, str], style: Style) -> str:
    meta = found.meta
    values = {**more, **{key: meta.text(key) for key in _LINES}, "label": label_of(found)}
    lines = [_row(key, printable(value)) for key, value in values.items() if value]
    ref = printable(meta.part("head", "ref") or "detached")
    lines.append(_row("head", f"{ref} {found.head or '(unborn)'}"))
    if table := meta.table("meta"):
        lines.append(_row("meta", printable(json.dumps(table))))
    if base := meta.part("partial", "base"):
        paths = printable(json.dumps(meta.table("partial").get("paths")))
        lines.append(_row("only", f"{paths}, the rest as in {printable(base)}"))
    for row in meta.tables("skipped"):
        path, reason = (row.get(key) for key in ("path", "reason"))
        why = f" ({printable(reason)})" if isinstance(reason, str) else ""
        lines.append(_row("not kept", quote_path(path if isinstance(path, str) else "?") + why))
    return _head("checkpoint", found, style) + "".join(lines) + "\n"


# A file of a checkpoint.


def _show_file(repository: Repository, found: Checkpoint, path: str, *, as_json: bool) -> int:
    """Print a file as it was; a path counts from the top, or after `./` from the directory."""
    if path.startswith(("./", "../")) or path in (".", ".."):
        path = posixpath.normpath(posixpath.join(repository.prefix, path))
    path = "" if path == "." else path.rstrip("/")
    name = f"{found.commit.id}:{path}"
    kind = _kind_of(repository, found, path)
    if not as_json:
        status = repository.users_git.run_in_foreground("show", name)
        if status in READER_GONE:
            raise BrokenPipeError
        return EXIT_FATAL if status else 0
    answer: dict[str, object] = {"ok": True, "checkpoint_id": found.id, "path": path}
    if kind == "tree":
        answer["entries"] = nul_records(repository.git.run("ls-tree", "-z", "--name-only", name))
    else:
        content = repository.git.run("cat-file", "blob", name)
        answer["content"] = content.decode("utf-8", "surrogateescape")
    print_json(answer)
    return 0


def _kind_of(repository: Repository, found: Checkpoint, path: str) -> str:
    """The type of the object at a path: `blob` or `tree`; RefusedError if it cannot be shown."""
    if not path:
        return "tree"
    shown, short = quote_path(path), ShortIds(Store(repository))(found.id)
    listed = repository.git.line("ls-tree", "-z", found.tree, "--", f":(top,literal){path}")
    fields = listed.partition("\t")[0].split(" ")
    if len(fields) != len(("mode", "type", "id")):
        raise _missing_file(repository, found, path, short)
    _, kind, identifier = fields
    if kind == "commit":
        message = f"'{shown}' is a submodule or a nested repository, at commit {identifier}"
        raise RefusedError(message, code="missing_file")
    if repository.git.attempt("cat-file", "-e", identifier).status:
        message = f"the object of '{shown}' in checkpoint {short} is missing"
        hint = "'git boocode doctor' lists what is missing"
        raise RefusedError(message, code="missing_file", hints=(hint,))
    return kind


def _missing_file(repository: Repository, found: Checkpoint, path: str, short: str) -> RefusedError:
    """The error for a path that a checkpoint does not have, with the nearest that it has."""
    # Only here.
    from difflib import get_close_matches

    names = nul_records(repository.git.run("ls-tree", "-r", "-z", "--name-only", found.tree))
    here = posixpath.normpath(posixpath.join(repository.prefix, path))
    near = [here] if here in names else get_close_matches(path, names, 1)
    hints = tuple(f"did you mean '{short}:{quote_path(each)}'?" for each in near)
    message = f"'{quote_path(path)}' is not in checkpoint {short}"
    return RefusedError(message, code="missing_file", hints=hints)


def _head(kind: str, found: Checkpoint | EditRecord, style: Style) -> str:
    return style(f"{kind} {found.id}", "yellow") + "\n" + _row("commit", found.commit.id)


def _row(key: str, value: str) -> str:
    return f"{key:<11} {value}\n"


def _show_edit(
    repository: Repository, records: Records, ref: Ref, *, stat: bool, as_json: bool
) -> int:
    record = records.usable(ref)
    before, after = records.sides(record)
    if as_json:
        diff = repository.git.run("diff-tree", "-r", "-p", "-M", before, after, "--")
        own = {"id": record.id, "commit": record.commit.id, "rewound": record.rewound}
        files = [file.as_json() for file in record.files]
        text = diff.decode("utf-8", "surrogateescape")
        edit = {**record.meta.values, **own}
        print_json({"ok": True, "edit": edit, "files": files, "diff": text})
        return 0
    # As in the JSON answer, whatever `diff.renames` says: the record knows of renames.
    arguments = ["-M", *(["--stat"] if stat else []), before, after, "--"]
    [date] = Dates(repository, default="iso")([record])
    return print_page(repository, lambda style: _edit_text(record, date, style), arguments)


def _edit_text(record: EditRecord, date: str, style: Style) -> str:
    values = {
        "date": date,
        "worktree": record.meta.worktree_name,
        "rewinds": record.rewinds or "",
        "state": edit_state(record),
    }
    lines = [_row(key, printable(value)) for key, value in values.items() if value]
    for file in record.files:
        source = f"{quote_path(file.source)} -> " if file.source else ""
        lines.append(_row("file", f"{source}{quote_path(file.path)}: {file.action}"))
    lines += [_row("edit", line) for line in _edit_lines(record)]
    return _head("edit", record, style) + "".join(lines) + "\n"


def _edit_lines(record: EditRecord) -> Iterator[str]:
    """Each edit on one line; the message may be of any program's making."""
    for edit in record.edits:
        texts = (edit.get(key) for key in ("path", "kind", "rung"))
        path, kind, rung = (value if isinstance(value, str) else "?" for value in texts)
        parts = [kind if kind == rung else f"{kind} ({rung})"]
        start, end, notes = (edit.get(key) for key in ("start_line", "end_line", "notes"))
        if isinstance(start, int) and isinstance(end, int):
            parts.append(lines_of(start, end))
        parts += map(str, notes) if isinstance(notes, list) else []
        yield f"{quote_path(path)}: {printable(', '.join(parts))}"
