"""What `git boocode log` does; `git_boocode.cli.direct` calls it without click."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from git_boocode.checkpoints.store.catalog import REMOTES, Catalog, Checkpoint
from git_boocode.cli.interruption import warn_of_interruption
from git_boocode.cli.output import (
    Style,
    colour_wanted,
    encode_text,
    paged,
    print_json,
    printable,
)
from git_boocode.repo.metadata import Unusable
from git_boocode.repo.repository import Repository

# A screenful first, then larger and larger pages: each costs a git process.
_FIRST_PAGE = 32
_LARGEST_PAGE = 512


def list_checkpoints(
    *,
    max_count: int | None = None,
    everywhere: bool = False,
    remote: str | None = None,
    remotes: bool = False,
    edits: bool = False,
    as_json: bool = False,
) -> int:
    """Print the checkpoints, and return the exit code; see the command's help."""
    repository = Repository.discover()
    warn_of_interruption(repository)
    limit = None if max_count is None else min(max_count, sys.maxsize)
    if edits:
        from git_boocode.cli.edit_records import list_edits

        return list_edits(repository, limit, everywhere=everywhere, as_json=as_json)
    catalog = Catalog(repository)
    if remotes or remote is not None:
        entries = _fetched(repository, catalog, None if remotes else remote)
    else:
        entries = catalog.newest_first(everywhere=everywhere)
    pages = _pages(catalog, entries, limit)
    if as_json:
        print_json({"ok": True, "checkpoints": [row for page in pages for _, row in page]})
        return 0
    style = Style(enabled=colour_wanted(repository.config))
    with paged(repository.users_git) as stream:
        number, here = 0, repository.worktree_key
        for page in pages:
            for entry, row in page:
                # `@~N` counts the checkpoints of this worktree alone.
                ours = not entry.remote and entry.meta.worktree_key == here
                elsewhere = f"({entry.remote or entry.meta.worktree_name})"
                where = f"@~{number}" if ours else elsewhere
                stream.write(encode_text(_line(where, row, style)))
                number += ours
            # Someone is reading, and the next page takes its time.
            stream.flush()
    return 0


def _fetched(
    repository: Repository, catalog: Catalog, remote: str | None
) -> Iterator[Checkpoint | Unusable]:
    from git_boocode.repo.remotes import named_remote

    # What was fetched stays when the remote goes.
    if remote is not None and not catalog.store.refs(f"{REMOTES}{remote}/", newest=1):
        named_remote(repository, remote)
    return catalog.fetched(remote)


def _pages(
    catalog: Catalog, entries: Iterator[Checkpoint | Unusable], max_count: int | None
) -> Iterator[list[tuple[Checkpoint, dict[str, Any]]]]:
    usable = (entry for entry in entries if not isinstance(entry, Unusable))
    wanted = islice(usable, max_count)
    size = _FIRST_PAGE
    while page := list(islice(wanted, size)):
        counts = catalog.count_files(page)
        yield [(entry, _row(entry, files)) for entry, files in zip(page, counts, strict=True)]
        size = min(size * 2, _LARGEST_PAGE)


def _row(entry: Checkpoint, files: int | None) -> dict[str, Any]:
    told = ("created_at", "label", "session", "chat", "message", "agent", "trigger")
    ref = entry.meta.part("head", "ref")
    return {
        "id": entry.id,
        "commit": entry.commit.id,
        **{key: entry.meta.text(key) or None for key in told},
        "branch": ref.removeprefix("refs/heads/") if ref else None,
        "worktree": entry.meta.worktree_name,
        "remote": entry.remote or None,
        "files": files,
    }


def _line(where: str, row: dict[str, Any], style: Style) -> str:
    when = printable(row["created_at"] or "").replace("T", " ")[:19]
    who = " ".join(printable(row[key]) for key in ("agent", "chat", "session") if row[key])
    parts = [
        style(row["commit"][:10], "yellow"),
        printable(where).ljust(4),
        when,
        style(printable(row["branch"] or "(no branch)"), "green"),
        "?" if row["files"] is None else f"{row['files']} changed",
        printable(row["label"] or ""),
        style(f"[{who}]", "cyan") if who else "",
    ]
    return "  ".join(part for part in parts if part) + "\n"
