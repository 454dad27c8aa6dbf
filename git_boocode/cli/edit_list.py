"""The list of applied edits, as `git boocode log --edits` prints it."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

from git_boocode.cli.candidates import age_of
from git_boocode.cli.colour import Style, colour_wanted
from git_boocode.cli.output import (
    counted,
    encode_text,
    paged,
    print_json,
    printable,
    quote_path,
    warn,
)
from git_boocode.editing.records import EditRecord, Records
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

_SHOWN_FILES = 3


def list_edits(
    repository: Repository, limit: int | None, *, everywhere: bool, as_json: bool
) -> int:
    """Print the applied edits of this worktree, or of all; returns the exit code."""
    records = Records(repository)
    listed = islice(records.history(everywhere=everywhere), limit)
    if as_json:
        print_json({"ok": True, "edits": [_edit_row(record) for record in listed]})
        warn_of_unreadable(records)
        return 0
    short = ShortIds(records.store)
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


def _edit_line(record: EditRecord, where: str, short: ShortIds, style: Style) -> str:
    edits, more = len(record.edits), len(record.files) - _SHOWN_FILES
    shown = ", ".join(quote_path(file.path) for file in record.files[:_SHOWN_FILES])
    what = counted(edits, "edit")
    if record.rewinds:
        what = f"rewinds {printable(short(record.rewinds))}"
    state = edit_state(record)
    parts = (
        style(short(record.id), "yellow"),
        printable(where).ljust(4),
        age_of(record.id),
        shown + (f" and {more} more" if more > 0 else ""),
        what,
        style(f"[{state}]", "cyan") if state else "",
    )
    return "  ".join(filter(None, parts)) + "\n"


def edit_state(record: EditRecord) -> str:
    """Whether an edit is rewound, in words; empty if it is not."""
    if record.rewound:
        return "rewound"
    return "rewound in part" if record.rewound_paths else ""
