"""How `log --edits` and `show` tell of records of edits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from git_boocode.cli.output import (
    Style,
    colour_wanted,
    encode_text,
    paged,
    print_json,
    printable,
    quote_path,
    warn,
)

if TYPE_CHECKING:
    from git_boocode.editing.records import EditRecord, Records
    from git_boocode.repo.repository import Repository
    from git_boocode.repo.store import Ref

_SHOWN_FILES = 3


def list_edits(
    repository: Repository, limit: int | None, *, everywhere: bool, as_json: bool
) -> int:
    """Print the records of this worktree, or of all, newest first; returns the exit code."""
    from git_boocode.editing.records import EDITS, Records
    from git_boocode.repo.store import abbreviations

    records = Records(repository)
    listed = islice(records.history(everywhere=everywhere), limit)
    if as_json:
        print_json({"ok": True, "edits": [_row(record) for record in listed]})
        warn_of_unreadable(records)
        return 0
    from git_boocode.checkpoints.store.catalog import ARCHIVE, CHECKPOINTS, SAFETY

    # `show` takes the ids of checkpoints too.
    short = abbreviations(records.store, EDITS, CHECKPOINTS, SAFETY, ARCHIVE)
    style = Style(enabled=colour_wanted(repository.config))
    number = 0
    with paged(repository.users_git) as stream:
        for record in listed:
            # `@~N` counts the edits of this worktree alone.
            ours = records.is_ours(record)
            where = f"@~{number}" if ours else f"({record.meta.worktree_name})"
            stream.write(encode_text(_line(record, where, short, style)))
            number += ours
    warn_of_unreadable(records)
    return 0


def warn_of_unreadable(records: Records) -> None:
    """Say on standard error how many of the records that were read cannot be used."""
    count = len(records.unreadable)
    if not count:
        return
    said = "1 record of an edit" if count == 1 else f"{count} records of edits"
    warn(f"{said} cannot be read", ("'git boocode doctor' tells which, and why",))


def _row(record: EditRecord) -> dict[str, Any]:
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


def _line(record: EditRecord, where: str, short: dict[str, str], style: Style) -> str:
    count = len(record.edits)
    parts = [
        style(short.get(record.id, record.id), "yellow"),
        printable(where).ljust(4),
        _time(record),
        _files(record),
        f"rewinds {printable(short.get(record.rewinds, record.rewinds))}"
        if record.rewinds
        else f"{count} edit" + ("" if count == 1 else "s"),
        style(f"[{state}]", "cyan") if (state := _state(record)) else "",
    ]
    return "  ".join(part for part in parts if part) + "\n"


def _time(record: EditRecord) -> str:
    return printable(record.meta.text("created_at")).replace("T", " ")[:19]


def _files(record: EditRecord) -> str:
    shown = [quote_path(file.path) for file in record.files[:_SHOWN_FILES]]
    more = len(record.files) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _state(record: EditRecord) -> str:
    if record.rewound:
        return "rewound"
    return "rewound in part" if record.rewound_paths else ""


def find_edit(repository: Repository, name: str) -> tuple[Records, list[Ref]]:
    """The records whose id or commit begins so, and where they are from."""
    from git_boocode.editing.records import Records

    records = Records(repository)
    return records, records.matching(name)


def show_edit(
    repository: Repository, records: Records, ref: Ref, *, stat: bool, as_json: bool
) -> int:
    """Print a record and the change that it keeps; returns the exit code.

    Raises:
        RefusedError: it cannot be used.
    """
    from git_boocode.cli.diff import print_page

    record = records.usable(ref)
    before, after = records.sides(record)
    if as_json:
        _print_record(repository, record, before, after)
        return 0
    # As in the JSON answer, whatever `diff.renames` says: the record knows of renames.
    compared = ["-M", before, after]
    return print_page(repository, lambda style: _text(record, style), compared, stat=stat)


def _print_record(repository: Repository, record: EditRecord, before: str, after: str) -> None:
    diff = repository.git.run("diff-tree", "-r", "-p", "-M", before, after, "--")
    told = {"id": record.id, "commit": record.commit.id, "rewound": record.rewound}
    files = [file.as_json() for file in record.files]
    text = diff.decode("utf-8", "surrogateescape")
    print_json({"ok": True, "edit": {**record.meta.values, **told}, "files": files, "diff": text})


def _text(record: EditRecord, style: Style) -> str:
    lines = [style(f"edit {record.id}", "yellow"), f"commit      {record.commit.id}"]
    told = {
        "created_at": record.meta.text("created_at"),
        "worktree": record.meta.worktree_name,
        "rewinds": record.rewinds or "",
        "state": _state(record),
    }
    lines += [f"{key:<11} {printable(value)}" for key, value in told.items() if value]
    lines += [
        f"{'file':<11} {_moved(file.source, file.path)}: {file.action}" for file in record.files
    ]
    lines += [f"{'edit':<11} {told}" for told in _edits(record)]
    return "\n".join(lines) + "\n\n"


def _moved(source: str | None, path: str) -> str:
    return f"{quote_path(source)} -> {quote_path(path)}" if source else quote_path(path)


def _edits(record: EditRecord) -> Iterator[str]:
    """Each edit on one line; the message may be of any program's making."""
    for edit in record.edits:
        texts = (edit.get(key) for key in ("path", "kind", "rung"))
        path, kind, rung = (value if isinstance(value, str) else "?" for value in texts)
        notes = edit.get("notes")
        told = [kind if kind == rung else f"{kind} ({rung})", *_lines(edit)]
        told += [str(note) for note in notes] if isinstance(notes, list) else []
        yield f"{quote_path(path)}: {printable(', '.join(told))}"


def _lines(edit: dict[str, Any]) -> Iterator[str]:
    from git_boocode.matching.text import lines_of

    start, end = edit.get("start_line"), edit.get("end_line")
    if isinstance(start, int) and isinstance(end, int):
        yield lines_of(start, end)
