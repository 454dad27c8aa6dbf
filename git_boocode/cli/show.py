"""`git boocode show`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from git_boocode.cli.framework import Command, json_option

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.catalog import Checkpoint
    from git_boocode.cli.output import Style
    from git_boocode.repo.errors import RefusedError
    from git_boocode.repo.repository import Repository
    from git_boocode.repo.store import Ref

_SHOWN_EDITS = 3
_LINES = ("created_at", "label", "agent", "session", "chat", "message", "trigger", "state")


@click.command(cls=Command)
@click.argument("name", metavar="[<checkpoint> | <edit>]", default="@")
@click.option("--stat", is_flag=True, help="A summary instead of the whole change.")
@json_option
def show(name: str, stat: bool, as_json: bool) -> int:
    """Show a checkpoint's metadata and what it changes against its HEAD; by default the newest.

    Of an applied edit, show where it landed and what it changed.
    """
    from git_boocode.cli.edit_records import find_edit, show_edit
    from git_boocode.repo.repository import Repository

    repository = Repository.discover()
    records, edits = find_edit(repository, name)
    found = _checkpoint(repository, name, edits)
    if found is None:
        return show_edit(repository, records, edits[0], stat=stat, as_json=as_json)
    return _show_checkpoint(repository, found, stat=stat, as_json=as_json)


def _checkpoint(repository: Repository, name: str, edits: list[Ref]) -> Checkpoint | None:
    """The checkpoint that is meant; None if it is the one edit instead.

    Raises:
        RefusedError: there is none of both, there are several, or it cannot be used.
    """
    from git_boocode.checkpoints.store.catalog import Catalog
    from git_boocode.repo.errors import RefusedError
    from git_boocode.repo.metadata import ambiguous_name

    try:
        found = Catalog(repository).find(name)
    except RefusedError as error:
        if not edits:
            raise
        if error.code == "not_found":
            if len(edits) > 1:
                raise ambiguous_name(name, edits, "edits") from None
            return None
        raise _of_both(name, "several checkpoints", edits) from None
    if edits:
        raise _of_both(name, f"the checkpoint {found.id}", edits)
    return found


def _of_both(name: str, checkpoint: str, edits: list[Ref]) -> RefusedError:
    from git_boocode.repo.errors import RefusedError

    shown = " or ".join(f"the edit {ref.name.rpartition('/')[2]}" for ref in edits[:_SHOWN_EDITS])
    return RefusedError(
        f"'{name}' is the beginning of a checkpoint's id and of an edit's",
        code="ambiguous",
        hints=(f"it could be {shown}, or {checkpoint}",),
    )


def _show_checkpoint(
    repository: Repository, found: Checkpoint, *, stat: bool, as_json: bool
) -> int:
    from git_boocode.checkpoints.store.changes import tree_changes
    from git_boocode.cli.diff import print_page
    from git_boocode.cli.output import print_json
    from git_boocode.repo.head import tree_of

    old = tree_of(repository.git, found.head) if found.head else repository.empty_tree
    if as_json:
        changes = tree_changes(repository.git, old, found.tree)
        print_json(
            {"ok": True, "checkpoint": _as_json(found), "files": [c.as_json() for c in changes]}
        )
        return 0
    compared = [old, found.tree]
    return print_page(repository, lambda style: _text(found, style), compared, stat=stat)


def _as_json(found: Checkpoint) -> dict[str, Any]:
    return {**found.meta.values, "id": found.id, "commit": found.commit.id, "tree": found.tree}


def _text(found: Checkpoint, style: Style) -> str:
    from git_boocode.cli.naming import label_of
    from git_boocode.cli.output import printable

    lines = [style(f"checkpoint {found.id}", "yellow"), f"commit      {found.commit.id}"]
    told = {key: found.meta.text(key) for key in _LINES} | {"label": label_of(found)}
    lines += [f"{key:<11} {printable(value)}" for key, value in told.items() if value]
    ref, commit = found.meta.part("head", "ref"), found.head
    lines.append(f"head        {printable(ref or 'detached')} {commit or '(unborn)'}")
    if meta := found.meta.table("meta"):
        lines.append(f"meta        {printable(json.dumps(meta))}")
    if base := found.meta.part("partial", "base"):
        paths = found.meta.table("partial").get("paths")
        lines.append(
            f"only        {printable(json.dumps(paths))}, the rest as in {printable(base)}"
        )
    lines += map(_not_kept, found.meta.tables("skipped"))
    return "\n".join(lines) + "\n\n"


def _not_kept(row: dict[str, Any]) -> str:
    from git_boocode.cli.output import printable, quote_path

    path, reason = (row.get(key) for key in ("path", "reason"))
    why = f" ({printable(reason)})" if isinstance(reason, str) else ""
    return f"not kept    {quote_path(path if isinstance(path, str) else '?')}{why}"
