"""Hashline text, another spelling of the format `lines`.

A section begins with `[path#version]`, the first line that `git boocode read` prints. Below it are
operations on lines of that version, each followed by its new lines, which begin with `+`. Three
generations of words are in use, and all are accepted:

    PUT 3.=5:       PUT <3:           PUT >3:          PUT >$:       CUT 3.=5     (July 2026)
    SWAP 3.=5:      INS.PRE 3:        INS.POST 3:      INS.TAIL:     DEL 3.=5     (June 2026)
    replace 3..5:   insert before 3:  insert after 3:  insert tail:  delete 3..5  (May 2026)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.editing.actions import Delete, Keep
from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import Context, agree, objects
from git_boocode.editing.formats.hashline_grammar import (
    HEADER,
    MOVE,
    REMOVE,
    SHOWN,
    Kind,
    OperationLine,
    begins,
    is_operation,
    operation_line,
)
from git_boocode.editing.formats.objects import invalid, missing_base, read_it
from git_boocode.editing.formats.stray_edits import stray_edit
from git_boocode.editing.formats.unified import QUOTED, unquoted
from git_boocode.editing.line_changes import LineChange, LineChanges
from git_boocode.repo.errors import shortened

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_EXPECTED = (
    "operations are 'PUT 3.=5:', 'PUT <3:', 'PUT >3:' and 'PUT >$:' with '+' lines below, "
    "'CUT 3.=5', 'MV path' and 'REM'"
)
_HEAD_IT = "a section is '[path#version]', operations, and below these lines that begin with '+'"
_WHOLE = "send all of it again, to the end of the fence or to '*** End Patch'"
_MARK_IT = (
    "put '+' before each new line; close the fence around the operations, or write "
    "'*** End Patch', above other text"
)
_INSTEAD = {
    "blocks": "name the first and the last line of the block, such as 'PUT 3.=5:'",
    "registers": "delete the lines with 'CUT 3.=5', and insert them as '+' lines below 'PUT >9:'",
}
_TAG = re.compile(r"[0-9a-fA-F]{4,64}")
_RANGE = re.compile(r"(\d+)(?:[ \t]*(?:\.=|\.{2,3}=?|…|[-–,.=])[ \t]*(\d+)|[ \t]+(\d+))?")


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a text: one for each section, two with a move."""
    if isinstance(item, dict):
        objects.check_switches(item)
        context = objects.enclosed(item, context)
    text = objects.patch(item)
    reader = _SectionFinder([line.removesuffix("\r") for line in text.split("\n")], context)
    sections, failures = reader.sections(), [*reader.failures()]
    if not (sections or failures):
        raise _nothing(reader.lines)
    for section in sections:
        given = item if len(sections) == 1 and not failures else section.text
        try:
            yield from _section_edits(section, context, given)
        except MissError as miss:
            yield Failure.of(miss, None, context.path or section.subject[0], given)
    yield from failures


# The sections of a text


class _FileSection(NamedTuple):
    """The lines of the operations on one file; `row` is the 0-based row of the first line.

    The header is None if the object around the text names the file and its version.
    """

    row: int
    header: re.Match[str] | None
    lines: list[str]
    is_complete: bool = True

    @property
    def text(self) -> str:
        """The complete section, which is an input by itself."""
        return "\n".join([*([self.header[0]] if self.header else []), *self.lines, ""])

    @property
    def subject(self) -> tuple[str | None, str | None]:
        """The path and the version in the header."""
        inner = (self.header[2] or self.header[3]) if self.header else ""
        path, mark, tag = inner.rpartition("#")
        return (_name(path) or None, tag) if mark else (_name(inner) or None, None)


class _SectionFinder:
    """Finds the sections of a text; the other lines may be prose, but no edits."""

    def __init__(self, lines: Sequence[str], context: Context) -> None:
        self.lines = lines
        self.context = context
        self.outside = [*lines]  # Blank where a section is.
        self.found: list[_FileSection] = []
        self.is_bare = context.path is not None and not any(map(self._is_begun, range(len(lines))))
        self._section: _FileSection | None = None
        self._fence: objects.Fence | None = None
        self._in_envelope = False

    def sections(self) -> list[_FileSection]:
        """The sections in order."""
        for row, line in enumerate(self.lines):
            if self._section and line.startswith("+"):
                self._section.lines.append(line)
            elif not self._is_mark(row, line.strip()):
                self._take(row, line)
            if self._section:
                self.outside[row] = ""
        if self.found and (self._fence or self._in_envelope):
            self.found[-1] = self.found[-1]._replace(is_complete=False)
        return self.found

    def _is_mark(self, row: int, bare: str) -> bool:
        """Whether a line is the beginning or the end of an envelope or a fence."""
        section, opened = self._section, objects.opened_fence(bare)
        if bare in (_BEGIN, _END):
            self._in_envelope, self._section = bare == _BEGIN, None
            self.outside[row] = ""
        elif self._fence and self._fence.is_closed_by(bare):
            self._fence = self._section = None
        elif opened and not (section and any(map(str.strip, section.lines))):
            self._fence = opened
            if section:
                section.lines.append("")
        else:
            return False
        return True

    def _take(self, row: int, line: str) -> None:
        section = self._section
        in_block = section or self._fence or self._in_envelope
        is_header = in_block and "#" in line and HEADER.fullmatch(line)
        if is_header or self._is_begun(row):
            self._begin(_FileSection(row, HEADER.fullmatch(line), []))
        elif section:
            section.lines.append(line)
        elif self.is_bare and is_operation(line):
            self._begin(_FileSection(row, None, [line]))

    def _begin(self, section: _FileSection) -> None:
        self._section = section
        self.found.append(section)

    def _is_begun(self, row: int) -> bool:
        if not self.lines[row].lstrip().startswith(("[", "¶")):
            return False
        return begins(self.lines[at] for at in range(row, len(self.lines)))

    def failures(self) -> Iterator[Failure]:
        """The failure for an edit between the sections, which would be ignored."""
        if mixed := stray_edit(self.outside, "lines", self.context):
            yield Failure.of(mixed, None, None, None)
            return
        for row, line in enumerate(self.outside):
            if line.lstrip().startswith("+") or is_operation(line):
                stray = f"line {row + 1}, '{shortened(line.strip())}', is in no section"
                yield Failure.of(invalid(stray, _HEAD_IT), None, None, None)
                return


def _section_edits(section: _FileSection, context: Context, given: object) -> Iterator[Edit]:
    path, version = _subject(section, context)
    work = _SectionOperations(section)
    if not section.is_complete:
        last = section.row + len(section.lines) + 1
        raise invalid(f"the text may be truncated: it ends at line {last}, in a block", _WHOLE)
    changes, to = work.changes(), work.to
    if not (changes or to or work.removes):
        raise invalid(f"no operation follows the header at line {section.row + 1}", _EXPECTED)
    if work.removes and (changes or to):
        raise invalid("'REM' deletes the whole file, so no other operation can be for it")
    if changes:
        yield Edit(0, path, LineChanges(changes), version, "lines", given)
    if work.removes:
        yield Edit(0, path, Delete(), version, "lines", given)
    if to:
        # An edit by itself, because the file must still have this version.
        yield Edit(0, path, Keep(), version, "lines", given, to)


def _subject(section: _FileSection, context: Context) -> tuple[str, str]:
    """The path and the version that a section is for."""
    path, tag = section.subject
    where = f"the header at line {section.row + 1}"
    if path is None and section.header:
        raise invalid(f"{where} names no file", "write '[path#version]'")
    if path and context.path and not agree(context.path, path):
        raise invalid(f"{where} is for '{path}', but 'path' is '{context.path}'")
    path = context.path or path or ""
    if tag is not None and not _TAG.fullmatch(tag):
        wrong = f"{where} has the version '{shortened(tag)}'; expected 4 to 64 hexadecimal digits"
        raise invalid(wrong, read_it(path))
    version = (tag or context.base or "").lower()
    if not version:
        message = f"{where} names no version: line numbers count in one version of the file"
        raise invalid(message, read_it(path)) if section.header else missing_base(path)
    if context.base and not (version.startswith(context.base) or context.base.startswith(version)):
        raise invalid(f"{where} is for version {version}, but 'base' is {context.base}")
    return path, max(version, context.base or "", key=len)


# The operations of a section


class _LineOperation(NamedTuple):
    """One operation, on the lines `first` to `last`; `rows` are its new lines, None if it has none.

    `first` is None below the last line, and `last` is less than `first` for an insertion.
    """

    row: int
    line: str
    first: int | None
    last: int
    rows: list[str] | None


class _SectionOperations:
    """The operations of a section: changes of lines, and a move or the removal of the file."""

    def __init__(self, section: _FileSection) -> None:
        self.to: str | None = None
        self.removes = False
        self._found: list[_LineOperation] = []
        self._above = ""  # The last operation, and its new lines.
        self._rows: list[str] | None = None
        margin = section.header[1] if section.header else ""
        blank = 0
        top = section.row + (2 if section.header else 1)
        for row, text in enumerate(section.lines, top):
            line = text.removeprefix(margin)
            if not line.strip():
                blank += 1
                continue
            if line[0] == "+":
                self._add(row, line, blank)
            elif self._above or not SHOWN.fullmatch(line):
                self._above, self._rows = line.strip(), None
                if not self._is_whole(row, self._above):
                    self._found.append(_operation(row, self._above))
                    self._rows = self._found[-1].rows
            blank = 0

    def _add(self, row: int, line: str, blank: int) -> None:
        if self._rows is None:
            above = f"below '{shortened(self._above)}', which takes none"
            above = above if self._above else "without an operation above it"
            raise invalid(f"line {row} is a '+' line {above}", _EXPECTED)
        # A blank line between two lines is one whose mark is missing.
        self._rows += [""] * blank if self._rows else []
        self._rows.append(line[1:])

    def _is_whole(self, row: int, line: str) -> bool:
        """Whether a line is an operation on the whole file."""
        found = MOVE.fullmatch(line)
        if line != REMOVE and not found:
            return False
        if self.removes or self.to:
            raise invalid(f"line {row} is a second operation on the whole file: '{line:.40}'")
        if found is None:
            self.removes = True
            return True
        self.to = _name(found[1] or "")
        if not self.to:
            raise invalid(f"line {row}: the path is missing after 'MV'")
        if self.to == found[1] and re.search(r'\s|^"', self.to):
            bare = shortened(self.to.strip('"'))
            quote = f'put the path in double quotes, and \\ before \\ and " in it: MV "{bare}"'
            raise invalid(f"line {row}: the path after 'MV' has spaces or quotes", quote)
        return True

    def changes(self) -> tuple[LineChange, ...]:
        """The changes of lines, in the order of the text."""
        objects.check_count(self._found)
        for one in self._found:
            if one.rows == []:
                raise invalid(
                    f"line {one.row}: no '+' line follows '{one.line}'",
                    "write each new line below it, beginning with '+'; 'CUT 3.=5' deletes lines",
                )
        return tuple(LineChange(one.first, one.last, (*(one.rows or ()),)) for one in self._found)


def _name(text: str) -> str:
    """A path, which may be in git's quotes."""
    found = QUOTED.fullmatch(text)
    return unquoted(found) if found else text


def _operation(row: int, line: str) -> _LineOperation:
    """Parse an operation on lines."""
    found = operation_line(line)
    if found and found.unsupported:
        message = f"line {row}: '{shortened(line)}' is for {found.unsupported}"
        raise invalid(f"{message}, which are not supported", _INSTEAD[found.unsupported])
    if found is None or found.kind is None:
        raise _no_operation(row, line, found)
    first, last = _lines(row, line, found.kind, found.place)
    rows = None if found.kind is Kind.DELETE else list[str]()
    return _LineOperation(row, shortened(line), first, last, rows)


def _lines(row: int, line: str, kind: Kind, place: str) -> tuple[int | None, int]:
    """The lines of an operation, as in `LineChange`."""
    if kind is Kind.END or (kind is Kind.AFTER and place == "$"):
        return None, 0
    if kind is Kind.TOP:
        return 1, 0
    first, last = _range(f"line {row}: '{shortened(line)}'", place, int(kind is not Kind.AFTER))
    if kind in (Kind.REPLACE, Kind.DELETE):
        return first, last
    if first != last:
        raise invalid(f"line {row}: '{shortened(line)}' inserts at one line, but names two")
    first += kind is Kind.AFTER
    return first, first - 1


def _range(what: str, place: str, least: int) -> tuple[int, int]:
    """Two line numbers, or one twice."""
    numbers = _RANGE.fullmatch(place)
    if numbers is None:
        raise invalid(f"{what} names no line", _EXPECTED)
    texts = [number for number in numbers.groups() if number]
    if any(len(number) > objects.MAX_DIGITS for number in texts):
        raise invalid(f"{what} has a line number that is too large")
    first, last = int(texts[0]), int(texts[-1])
    if first < least:
        raise invalid(f"{what} names line {first}; lines are counted from 1")
    if last < first:
        raise invalid(f"{what} has its range reversed", f"write {last}.={first}")
    return first, last


def _nothing(lines: Sequence[str]) -> MissError:
    """The error for a text without operations, with the line below its first header."""
    rows = enumerate(lines, 1)
    header = next((row for row, line in rows if "#" in line and HEADER.fullmatch(line)), 0)
    below = ((row, line.strip()) for row, line in rows if not SHOWN.fullmatch(line))
    row, line = next(below, (0, ""))
    if not row:
        return invalid("no operation follows a header such as '[path#version]'", _EXPECTED)
    miss = _no_operation(row, line, operation_line(line))
    hint = _EXPECTED if miss.hint == _MARK_IT else miss.hint
    return invalid(f"no operation follows the header at line {header}; {miss.message}", hint)


def _no_operation(row: int, line: str, found: OperationLine | None) -> MissError:
    shown = shortened(line)
    operation, colon, text = line.partition(":")
    if text.strip() and is_operation(operation + colon):
        message = f"line {row}: '{shown}' has new text on the line of the operation"
        below = f"+{text.strip().removeprefix('+')}"
        return invalid(message, f"write '{operation}:', and below it '{shortened(below)}'")
    if near := found and found.nearest:
        near = near if near.startswith(("replace", "delete", "insert")) else near.upper()
        unknown = f"line {row}: unknown operation '{shown}', nearest is '{near}'"
        return invalid(unknown, _EXPECTED)
    if line[0] == "-":
        message = f"line {row}: '{shown}' quotes an old line, which this format does not"
        return invalid(message, "leave it out: the numbers of the operation name the old lines")
    message = f"line {row}: '{shown}' is neither an operation nor a line that begins with '+'"
    return invalid(message, _MARK_IT)
