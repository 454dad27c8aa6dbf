"""`git boocode show`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, tree_changes
from git_boocode.cli.candidates import checkpoint_or_edit
from git_boocode.cli.colour import Style
from git_boocode.cli.diff import print_page
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.log import edit_state
from git_boocode.cli.output import label_of, print_json, printable, quote_path
from git_boocode.editing.records import EditRecord, Records
from git_boocode.matching.text import lines_of
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.head import tree_of
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref

_SHOWN_EDITS = 3
_LINES = ("created_at", "label", "agent", "session", "chat", "message", "trigger", "state")


@click.command(cls=Command)
@click.argument(
    "name",
    metavar="[<checkpoint> | <edit>]",
    default="@",
    shell_complete=checkpoint_or_edit,
)
@click.option("--stat", is_flag=True, help="Show a summary of the changes instead.")
@json_option
def show(name: str, stat: bool, as_json: bool) -> int:
    """Show a checkpoint's metadata and what it changes against its HEAD; by default the newest.

    Of an applied edit, show where it landed and what it changed.
    """
    repository = Repository.discover()
    records, catalog = Records(repository), Catalog(repository)
    edits = records.matching(name)
    if not edits:
        return _show_checkpoint(repository, catalog.find(name), stat=stat, as_json=as_json)
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
    repository: Repository, found: Checkpoint, *, stat: bool, as_json: bool
) -> int:
    old = tree_of(repository.git, found.head) if found.head else repository.empty_tree
    if as_json:
        own = {"id": found.id, "commit": found.commit.id, "tree": found.tree}
        files = [each.as_json() for each in tree_changes(repository.git, old, found.tree)]
        print_json({"ok": True, "checkpoint": {**found.meta.values, **own}, "files": files})
        return 0
    compared = [old, found.tree]
    return print_page(repository, lambda style: _text(found, style), compared, stat=stat)


def _text(found: Checkpoint, style: Style) -> str:
    meta = found.meta
    values = {key: meta.text(key) for key in _LINES} | {"label": label_of(found)}
    lines = [_row(key, printable(value)) for key, value in values.items() if value]
    ref = printable(meta.part("head", "ref") or "detached")
    lines.append(_row("head", f"{ref} {found.head or '(unborn)'}"))
    if more := meta.table("meta"):
        lines.append(_row("meta", printable(json.dumps(more))))
    if base := meta.part("partial", "base"):
        paths = printable(json.dumps(meta.table("partial").get("paths")))
        lines.append(_row("only", f"{paths}, the rest as in {printable(base)}"))
    for row in meta.tables("skipped"):
        path, reason = (row.get(key) for key in ("path", "reason"))
        why = f" ({printable(reason)})" if isinstance(reason, str) else ""
        lines.append(_row("not kept", quote_path(path if isinstance(path, str) else "?") + why))
    return _head("checkpoint", found, style) + "".join(lines) + "\n"


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
    compared = ["-M", before, after]
    return print_page(repository, lambda style: _edit_text(record, style), compared, stat=stat)


def _edit_text(record: EditRecord, style: Style) -> str:
    values = {
        "created_at": record.meta.text("created_at"),
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
