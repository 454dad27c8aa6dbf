"""The list of applied edits, as `git boocode log --edits` prints it."""

from __future__ import annotations

from itertools import count, islice
from typing import NamedTuple

from git_boocode.cli.colour import Style, colour_wanted
from git_boocode.cli.output import (
    counted,
    encode_text,
    paged,
    print_json,
    printable,
    quote_path,
    wants_json,
    warn,
)
from git_boocode.cli.turn_rows import Dates
from git_boocode.editing.records import EditRecord, Records
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

_SHOWN_FILES = 3


def list_edits(repository: Repository, limit: int | None, date: str, *, everywhere: bool) -> int:
    """Print the applied edits of this worktree, or of all; returns the exit code."""
    records = Records(repository)
    listed = islice(records.history(everywhere=everywhere), limit)
    if wants_json():
        print_json({"ok": True, "edits": [record.as_json() for record in listed]})
        warn_of_unreadable(records)
        return 0
    short = ShortIds(records.store)
    style = Style(enabled=colour_wanted(repository.config))
    number = count()
    found = [*listed]
    times = Dates(repository, date)(found)
    with paged(repository.users_git) as stream:
        for record, time in zip(found, times, strict=True):
            name = f"({record.meta.worktree_name})"
            # `@~N` counts the edits of this worktree alone.
            if records.is_ours(record):
                name = f"@~{back}" if (back := next(number)) else "@"
            about = _EditRow(record, printable(name), time, short)
            stream.write(encode_text(_edit_line(about, style)))
    warn_of_unreadable(records)
    return 0


def warn_of_unreadable(records: Records) -> None:
    """Warn of the edit records that were read and cannot be used."""
    if found := len(records.unreadable):
        what = counted(found, "edit record")
        warn(f"{what} cannot be read", ("'git boocode doctor' shows which, and why",))


class _EditRow(NamedTuple):
    """A record, and the name and the time that are shown for it."""

    record: EditRecord
    name: str
    time: str
    short: ShortIds


def _edit_line(row: _EditRow, style: Style) -> str:
    record, short = row.record, row.short
    edits, more = len(record.edits), len(record.files) - _SHOWN_FILES
    shown = ", ".join(quote_path(file.path) for file in record.files[:_SHOWN_FILES])
    what = counted(edits, "edit")
    if record.rewinds:
        what = f"rewinds {printable(short(record.rewinds))}"
    state = edit_state(record)
    parts = (
        style(short(record.id), "yellow"),
        row.name.ljust(4),
        row.time.rjust(11),
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
