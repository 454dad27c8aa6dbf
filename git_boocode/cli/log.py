"""`git boocode log`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import click

from git_boocode.checkpoints.store.catalog import (
    ARCHIVE,
    CHECKPOINTS,
    REMOTES,
    SAFETY,
    Catalog,
    Checkpoint,
)
from git_boocode.cli.candidates import remotes
from git_boocode.cli.colour import Style, colour_wanted
from git_boocode.cli.framework import AtLeast, Command, json_option, refuse_together
from git_boocode.cli.output import (
    ABBREVIATION,
    counted,
    encode_text,
    paged,
    print_json,
    printable,
    progress,
    quote_path,
    warn,
    warn_of_interruption,
)
from git_boocode.repo.metadata import Unusable
from git_boocode.repo.remotes import named_remote
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import abbreviations

if TYPE_CHECKING:
    from git_boocode.editing.records import EditRecord, Records

# A screenful first, then larger and larger pages: each costs a git process.
_FIRST_PAGE = 32
_LARGEST_PAGE = 512
_SHOWN_FILES = 3
_Page = list[tuple[Checkpoint, dict[str, Any]]]


@click.command(cls=Command)
@click.option(
    "-n", "--max-count", type=AtLeast(0), metavar="<n>", help="Limit the number of entries."
)
@click.option("--all", "everywhere", is_flag=True, help="Include all worktrees.")
@click.option(
    "--remote",
    metavar="<name>",
    help="List checkpoints fetched from this remote instead.",
    shell_complete=remotes,
)
@click.option("--remotes", is_flag=True, help="List checkpoints fetched from any remote instead.")
@click.option("--archived", is_flag=True, help="List checkpoints that restores archived instead.")
@click.option("--edits", is_flag=True, help="List the applied edits instead.")
@json_option
def log(
    max_count: int | None,
    everywhere: bool,
    remote: str | None,
    remotes: bool,
    archived: bool,
    edits: bool,
    as_json: bool,
) -> int:
    """List the checkpoints of this worktree, newest first."""
    fetched = remotes or remote is not None
    sources = (("--remote", remote is not None), ("--remotes", remotes))
    refuse_together(("--edits", edits), ("--archived", archived), *sources)
    refuse_together(("--all", everywhere), *sources)
    repository = Repository.discover()
    warn_of_interruption(repository)
    limit = None if max_count is None else min(max_count, sys.maxsize)
    if edits:
        return _list_edits(repository, limit, everywhere=everywhere, as_json=as_json)
    catalog = Catalog(repository)
    # What was fetched stays when the remote goes.
    if remote is not None and not catalog.store.refs(f"{REMOTES}{remote}/", newest=1):
        named_remote(repository, remote)
    # Who sees the list itself sees the first page at once.
    with progress(repository, "listing", as_json=as_json or sys.stdout.isatty()):
        found = catalog.fetched(remote) if fetched else catalog.newest_first(everywhere=everywhere)
        if archived:
            found = catalog.archived(everywhere=everywhere)
        return _list(repository, catalog, _pages(catalog, found, limit), as_json=as_json)


def _list(
    repository: Repository, catalog: Catalog, pages: Iterator[_Page], *, as_json: bool
) -> int:
    if as_json:
        print_json({"ok": True, "checkpoints": [row for page in pages for _, row in page]})
        return 0
    style = Style(enabled=colour_wanted(repository.config))
    number = count()
    with paged(repository.users_git) as stream:
        for page in pages:
            for entry, row in page:
                # `@~N` counts the checkpoints of this worktree alone.
                ours = entry.ref.startswith(CHECKPOINTS) and catalog.is_ours(entry)
                where = f"@~{next(number)}" if ours else f"({entry.remote or row['worktree']})"
                stream.write(encode_text(_line(where, row, style)))
            # Someone is reading, and the next page takes its time.
            stream.flush()
    return 0


def _pages(
    catalog: Catalog, entries: Iterator[Checkpoint | Unusable], max_count: int | None
) -> Iterator[_Page]:
    wanted = islice((each for each in entries if not isinstance(each, Unusable)), max_count)
    size = _FIRST_PAGE
    while page := list(islice(wanted, size)):
        counts = catalog.count_files(page)
        yield [(entry, _row(entry, files)) for entry, files in zip(page, counts, strict=True)]
        size = min(size * 2, _LARGEST_PAGE)


def _row(entry: Checkpoint, files: int | None) -> dict[str, Any]:
    ref = entry.meta.part("head", "ref")
    return {
        "id": entry.id,
        "commit": entry.commit.id,
        **{key: text or None for key, text in entry.texts.items()},
        "branch": ref.removeprefix("refs/heads/") if ref else None,
        "worktree": entry.meta.worktree_name,
        "remote": entry.remote or None,
        "files": files,
    }


def _line(where: str, row: dict[str, Any], style: Style) -> str:
    who = " ".join(printable(row[key]) for key in ("agent", "chat", "session") if row[key])
    return _columns(
        style(row["commit"][:ABBREVIATION], "yellow"),
        printable(where).ljust(4),
        _time(row["created_at"] or ""),
        style(printable(row["branch"] or "(no branch)"), "green"),
        "?" if row["files"] is None else f"{row['files']} changed",
        printable(row["label"] or ""),
        style(f"[{who}]", "cyan") if who else "",
    )


def _columns(*parts: str) -> str:
    return "  ".join(filter(None, parts)) + "\n"


def _time(created_at: str) -> str:
    return printable(created_at).replace("T", " ")[:19]


def _list_edits(
    repository: Repository, limit: int | None, *, everywhere: bool, as_json: bool
) -> int:
    from git_boocode.editing.records import EDITS, Records

    records = Records(repository)
    listed = islice(records.history(everywhere=everywhere), limit)
    if as_json:
        print_json({"ok": True, "edits": [_edit_row(record) for record in listed]})
        warn_of_unreadable(records)
        return 0
    # `show` takes the ids of checkpoints too.
    short = abbreviations(records.store, EDITS, CHECKPOINTS, SAFETY, ARCHIVE)
    style = Style(enabled=colour_wanted(repository.config))
    number = count()
    with paged(repository.users_git) as stream:
        for record in listed:
            # `@~N` counts the edits of this worktree alone.
            ours = records.is_ours(record)
            where = f"@~{next(number)}" if ours else f"({record.meta.worktree_name})"
            stream.write(encode_text(_edit_line(record, where, short, style)))
    warn_of_unreadable(records)
    return 0


def warn_of_unreadable(records: Records) -> None:
    """Warn of the edit records that were read and cannot be used."""
    if found := len(records.unreadable):
        what = counted(found, "edit record")
        warn(f"{what} cannot be read", ("'git boocode doctor' shows which, and why",))


def _edit_row(record: EditRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "commit": record.commit.id,
        "created_at": record.meta.text("created_at") or None,
        "worktree": record.meta.worktree_name,
        "files": [file.as_json() for file in record.files],
        "edits": len(record.edits),
        "rewound": record.rewound,
        "rewinds": record.rewinds,
    }


def _edit_line(record: EditRecord, where: str, short: dict[str, str], style: Style) -> str:
    edits, more = len(record.edits), len(record.files) - _SHOWN_FILES
    shown = ", ".join(quote_path(file.path) for file in record.files[:_SHOWN_FILES])
    what = counted(edits, "edit")
    if record.rewinds:
        what = f"rewinds {printable(short.get(record.rewinds, record.rewinds))}"
    state = edit_state(record)
    return _columns(
        style(short.get(record.id, record.id), "yellow"),
        printable(where).ljust(4),
        _time(record.meta.text("created_at")),
        shown + (f" and {more} more" if more > 0 else ""),
        what,
        style(f"[{state}]", "cyan") if state else "",
    )


def edit_state(record: EditRecord) -> str:
    """Whether an edit is rewound, in words; empty if it is not."""
    if record.rewound:
        return "rewound"
    return "rewound in part" if record.rewound_paths else ""
