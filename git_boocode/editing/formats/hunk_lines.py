"""Read one hunk of a unified diff, whatever its counts say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from git_boocode.editing.edits import MissError, short
from git_boocode.editing.formats.diff_names import NOWHERE, read_name, without_prefixes
from git_boocode.editing.hunks import Hunk, Line

_HEADER = re.compile(r"@@ *-(\d{1,9})(?:,(\d{1,9}))? +\+(\d{1,9})(?:,(\d{1,9}))? *@@ ?(.*)")
_NUMBERS = re.compile(r"[-+\d,.…? ]*")
_MAX_SHOWN = 60


class Head(NamedTuple):
    """What a hunk's first line says.

    Attributes:
        start: the line that the old lines begin at, from 1, or None.
        counts: how many old and new lines it counts, or None.
        section: the text after the numbers.
    """

    start: int | None
    counts: tuple[int, int] | None
    section: str


class Area(NamedTuple):
    """The lines of a patch.

    Attributes:
        lines: all of them.
        stop: the index at which the readable ones end.
        fenced: whether they are fenced in, so that there is no prose between them.
    """

    lines: Sequence[str]
    stop: int
    fenced: bool


def read_head(line: str) -> Head:
    """Read a line that begins with `@@`."""
    found = _HEADER.match(line)
    if found is not None:
        start, old, _, new, section = found.groups()
        return Head(int(start), (int(old or 1), int(new or 1)), section.strip())
    middle, _, after = line[2:].partition("@@")
    texts = [text.strip() for text in (middle, after)]
    sections = [text for text in texts if not _NUMBERS.fullmatch(text)]
    return Head(None, None, sections[-1] if sections else "")


def is_file_header(area: Area, at: int) -> bool:
    """Whether a pair of lines that names a file begins here."""
    return (
        at + 1 < area.stop
        and area.lines[at].startswith("--- ")
        and area.lines[at + 1].startswith("+++ ")
    )


def _is_boundary(area: Area, at: int, *, counted: bool) -> bool:
    """Whether a line opens the next hunk or file, rather than being a line of this hunk.

    Args:
        area: the lines.
        at: the index of the line.
        counted: whether the counts say that it is one of this hunk.
    """
    if not is_file_header(area, at):
        return area.lines[at].startswith(("@@", "diff --git ", "Index: "))
    if at + 2 < area.stop and area.lines[at + 2].startswith("@@"):
        return True
    names = (read_name(line[4:]) for line in area.lines[at : at + 2])
    return not counted and _are_one(*names)


def _are_one(old: str, new: str) -> bool:
    """Whether two names are surely those of one file before and after."""
    return NOWHERE in (old, new) or (old != new and len(set(without_prefixes(old, new))) == 1)


def read_hunk(area: Area, at: int) -> tuple[Hunk, int]:
    """Read the hunk that begins at a line; the index of the line after it comes with it.

    Raises:
        MissError: it is malformed (`invalid_input`).
    """
    opened = area.lines[at].startswith("@@")
    header = area.lines[at].rstrip() if opened else ""
    head = read_head(header) if opened else Head(None, None, "")
    body = at + opened
    found = _by_counts(area, body, head.counts) if head.counts else None
    note: tuple[str, ...] = ()
    if found is None:
        found = _by_lines(area, body)
        note = ("wrong counts, recomputed",) if head.counts else ()
    note = (*_head_notes(head, opened=opened), *note)
    if found.unspaced:
        note = (*note, "empty lines read as blank ones")
    if not any(line.op != " " for line in found.lines):
        what = "holds no line that begins with '+' or '-'"
        _invalid(
            at, f"the hunk '{short(header, _MAX_SHOWN)}' {what}" if opened else f"the hunk {what}"
        )
    return _hunk(header, at, head, found, note), found.end


def _head_notes(head: Head, *, opened: bool) -> tuple[str, ...]:
    if not opened:
        return ("no '@@' line",)
    return () if head.counts else ("no line numbers",)


class _Body(NamedTuple):
    """The lines of a hunk.

    Attributes:
        lines: the lines.
        end: the index of the line after them.
        unprefixed: whether context lines lack the blank before them.
        unspaced: whether blank ones do, which are wholly empty.
    """

    lines: tuple[Line, ...]
    end: int
    unprefixed: bool = False
    unspaced: bool = False


def _hunk(header: str, at: int, head: Head, body: _Body, note: tuple[str, ...]) -> Hunk:
    has_old = any(line.op != "+" for line in body.lines)
    start = head.start
    if start is not None and has_old:
        start = max(start - 1, 0)
    lines = body.lines
    if body.unprefixed:
        note = (*note, "context lines lack their leading blank")
    sections = (head.section,) if head.section else ()
    return Hunk(
        header,
        at + 1,
        lines,
        start,
        sections,
        within=bool(sections) and head.start is None,
        exact=body.unprefixed,
        notes=note,
    )


def _by_counts(area: Area, at: int, counts: tuple[int, int]) -> _Body | None:
    """Read as many lines as were counted; None where that is not what stands there."""
    old, new = counts
    first = at
    found: list[Line] = []
    ops: list[str] = []
    while (old > 0 or new > 0) and at < area.stop:
        if _is_boundary(area, at, counted=True):
            return None
        ops.append(_op(area.lines[at]))
        _take(found, ops[-1], area.lines[at])
        old -= ops[-1] in " -?"
        new -= ops[-1] in " +?"
        at += 1
    at = _end_marks(area, found, at)
    # Below the last line that is surely of the hunk there may be prose.
    changes = not {"+", "-"}.isdisjoint(ops)
    if old or new or not changes or ops[-1:] == ["?"] or not _ends_well(area, at):
        return None
    empty = not all(area.lines[first:at])
    return _Body(_unspaced(found) if "?" in ops else tuple(found), at, "?" in ops, empty)


def _op(line: str) -> str:
    op = line[:1] or " "
    return op if op in " +-\\" else "?"


def _end_marks(area: Area, found: list[Line], at: int) -> int:
    while at < area.stop and area.lines[at].startswith("\\ "):
        _take(found, "\\", area.lines[at])
        at += 1
    return at


def _ends_well(area: Area, at: int) -> bool:
    """Whether what follows the counted lines does not go on like a hunk."""
    after = at
    while after < area.stop and not area.lines[after]:
        after += 1
    if after >= area.stop or is_file_header(area, after):
        return True
    line = area.lines[after]
    if line[0] not in " +-" or line.rstrip() == "--":
        return True
    # A list in the prose below.
    return after > at and not area.fenced and _BULLET.match(line) is not None


_BULLET = re.compile(r"[-+] [^\s*]")


def _take(found: list[Line], op: str, line: str) -> None:
    """Add a line of the patch to a hunk; a mark of an open end goes to the line before."""
    if op != "\\":
        found.append(Line(op, f"{line if op == '?' else line[1:]}\n"))
    elif found:
        last = found[-1]
        found[-1] = last._replace(text=last.text.removesuffix("\n"))


def _unspaced(found: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with context taken whole, for a hunk whose context lacks its leading blank."""
    return tuple(
        Line(" ", f" {line.text}")
        if line.op == " " and line.text.strip()
        else line._replace(op=" ")
        if line.op == "?"
        else line
        for line in found
    )


def _by_lines(area: Area, at: int) -> _Body:
    """Read lines as long as they look like those of a hunk."""
    found: list[Line] = []
    blanks = empty = 0
    while at < area.stop and not _is_boundary(area, at, counted=False):
        line = area.lines[at]
        op = _op(line)
        if op == "?":
            _check_prose(area, at)
            break
        _take(found, op, line)
        blanks = blanks + 1 if not line else 0
        empty += not line
        at += 1
    # Lines that are wholly empty below the last one are not context but what sets hunks apart.
    kept = len(found) - blanks
    return _Body(tuple(found[:kept]), at, unspaced=empty > blanks)


def _check_prose(area: Area, at: int) -> None:
    """Refuse a line that is neither of the hunk nor surely prose after it."""
    for number in range(at, area.stop):
        if number > at and _is_boundary(area, number, counted=False):
            return
        if area.fenced or (number > at and area.lines[number][:1] in ("+", "-")):
            _invalid(
                at,
                f"'{short(area.lines[at], _MAX_SHOWN)}' inside a hunk; "
                "expected a line that begins with ' ', '+', '-' or '\\'",
            )


def _invalid(at: int, message: str) -> NoReturn:
    raise MissError("invalid_input", f"line {at + 1} of the patch: {message}")
