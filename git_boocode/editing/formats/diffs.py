"""Read a text with unified diffs in it, as git writes them and as models drift from that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.editing.formats.diff_names import NOWHERE, git_names, read_name, without_prefixes
from git_boocode.editing.formats.patches import invalid, opened_fence, patch_lines
from git_boocode.editing.patch import UNMARKED, PatchHunk, PatchLine

_HEADER = re.compile(r"@@ *-(\d{1,9})(?:,(\d{1,9}))? +\+(\d{1,9})(?:,(\d{1,9}))? *@@ ?(.*)")
_NUMBERS = re.compile(r"[-+\d,.…? ]*")
_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    r"|similarity index|dissimilarity index|index) ?(.*)"
)
_BINARY = re.compile(r"GIT binary patch|Binary files .* differ")
_COMBINED = re.compile(r"@@@+ |diff --(?:cc|combined) ")
_BULLET = re.compile(r"[-+] [^\s*]")
_SHOWN = 60
NO_CHANGE = "the hunk holds no line that begins with '+' or '-'"


class HunkHeader(NamedTuple):
    """The first line of a hunk.

    `start` is the line, from 1, at which its old lines begin; `counts` are those of its old and new
    lines; `section` is the text after the numbers.
    """

    start: int | None
    counts: tuple[int, int] | None
    section: str


def read_head(line: str) -> HunkHeader:
    """Read a line that begins with `@@`."""
    found = _HEADER.match(line)
    if found is not None:
        start, old, _, new, section = found.groups()
        return HunkHeader(int(start), (int(old or 1), int(new or 1)), section.strip())
    middle, _, after = line[2:].partition("@@")
    texts = [text.strip() for text in (middle, after)]
    # Models write `...` or `-x,y +z` in place of numbers.
    sections = [text for text in texts if not _NUMBERS.fullmatch(text) and text[0] != "-"]
    return HunkHeader(None, None, sections[-1] if sections else "")


def opened_hunk(
    header: str, row: int, heads: Sequence[HunkHeader], given: Sequence[str]
) -> PatchHunk | None:
    """The hunk of some lines below `@@` lines, of which the first is `header`, on a row from 1.

    Lines without a mark are context. None for a hunk that changes nothing.
    """
    lines: list[PatchLine] = []
    for line in given:
        op = _op(line)
        if op == "\\" and lines:
            lines[-1] = lines[-1]._replace(text=lines[-1].text.removesuffix("\n"))
        elif op != "\\":
            text = f"{line if op == '?' else line[1:]}\n"
            lines.append(PatchLine(" " if op == "?" else op, text))
    if all(line.op == " " for line in lines):
        return None
    start = next((head.start for head in reversed(heads) if head.start is not None), None)
    sections = tuple(head.section for head in heads if head.section)
    within = bool(sections) and start is None
    if start is not None and any(line.op != "+" for line in lines):
        start = max(start - 1, 0)
    unmarked = any(_op(line) == "?" for line in given)
    notes = [] if all(given) else ["empty lines read as blank ones"]
    notes += [UNMARKED] if unmarked else []
    return PatchHunk(
        header, row, tuple(lines), start, sections, within, unmarked=unmarked, notes=tuple(notes)
    )


def skipped_notes(count: int) -> tuple[str, ...]:
    """The note on hunks that change nothing."""
    what = "a hunk" if count == 1 else f"{count} hunks"
    return (f"{what} without changes skipped",) if count else ()


class _Area(NamedTuple):
    """The lines of a patch: where the readable ones end, and whether a fence holds all of them."""

    lines: Sequence[str]
    stop: int
    fenced: bool

    def names_file(self, at: int) -> bool:
        """Whether a pair of lines that names a file begins here."""
        return (
            at + 1 < self.stop
            and self.lines[at].startswith("--- ")
            and self.lines[at + 1].startswith("+++ ")
        )

    def opens(self, at: int, *, counted: bool) -> bool:
        """Whether a line opens the next hunk or file; `counted` if the counts say it does not."""
        if not self.names_file(at):
            return self.lines[at].startswith(("@@", "diff --git ", "Index: "))
        if at + 2 < self.stop and self.lines[at + 2].startswith("@@"):
            return True
        old, new = (read_name(line[4:]) for line in self.lines[at : at + 2])
        one = old != new and len(set(without_prefixes(old, new))) == 1
        return not counted and (NOWHERE in (old, new) or one)


def _op(line: str) -> str:
    """The mark of a line; `?` for a context line without one."""
    op = line[:1] or " "
    return op if op in " +-\\" else "?"


def _read_hunk(area: _Area, at: int) -> tuple[PatchHunk | None, int]:
    """Read the hunk that begins at a line; the index of the line after it comes with it.

    None for one that changes nothing.
    """
    row, heads = at, []
    while at < area.stop and area.lines[at].startswith("@@"):
        heads.append(read_head(area.lines[at].rstrip()))
        at += 1
        if heads[-1].counts:
            break
    counts = heads[-1].counts if heads else None
    notes = [] if counts else ["no line numbers" if heads else "no '@@' line"]
    stop = _counted(area, at, counts) if counts else None
    if counts and stop is None:
        notes.append("wrong counts, recomputed")
    given, stop = (area.lines[at:stop], stop) if stop is not None else _uncounted(area, at)
    header = area.lines[row].rstrip() if heads else ""
    hunk = opened_hunk(header, row + 1, heads, given)
    return hunk and hunk._replace(notes=(*notes, *hunk.notes)), stop


def _counted(area: _Area, at: int, counts: tuple[int, int]) -> int | None:
    """The end of a hunk by its counts; None where they do not fit what follows."""
    old, new = counts
    ops: list[str] = []
    while (old > 0 or new > 0) and at < area.stop:
        if area.opens(at, counted=True):
            return None
        ops.append(_op(area.lines[at]))
        old -= ops[-1] in " -?"
        new -= ops[-1] in " +?"
        at += 1
    while at < area.stop and area.lines[at].startswith("\\ "):
        at += 1
    # An unmarked last line may be prose.
    fits = not (old or new) and ops[-1:] != ["?"] and not {"+", "-"}.isdisjoint(ops)
    return at if fits and _ends_well(area, at) else None


def _ends_well(area: _Area, at: int) -> bool:
    """Whether what follows the counted lines does not go on like a hunk."""
    after = at
    while after < area.stop and not area.lines[after]:
        after += 1
    if after >= area.stop or area.names_file(after):
        return True
    line = area.lines[after]
    if line[0] not in " +-" or line.rstrip() == "--":
        return True
    # A list in the prose below.
    return after > at and not area.fenced and _BULLET.match(line) is not None


def _uncounted(area: _Area, at: int) -> tuple[Sequence[str], int]:
    """The lines of a hunk as far as they look like its lines, and where to read on."""
    stop = at
    while stop < area.stop and not area.opens(stop, counted=False):
        stop += 1
    if not area.fenced:
        # Below the last line that goes or comes there may be prose.
        marked = (
            row for row in range(stop - 1, at - 1, -1)
            if _op(area.lines[row]) in "+-" and not _BULLET.match(area.lines[row])
        )  # fmt: skip
        rest = range(next(marked, at - 1) + 1, stop)
        stop = next((row for row in rest if _op(area.lines[row]) == "?"), stop)
    last = stop
    # Empty lines below the last one separate hunks.
    while last > at and not area.lines[last - 1]:
        last -= 1
    return area.lines[at:last], stop


class FileDiff:
    """What a diff says about one file.

    Attributes:
        first: the index of its first line in the patch.
        stop: the index after its last line.
        names: the names of its `---` and `+++` lines, or those of `diff --git`, as given.
        extended: git's further header lines, by their key.
        binary: the index of the line that says that it is binary, or None.
        hunks: its hunks.
        skipped: the indexes of hunks that change nothing.
    """

    def __init__(self, first: int, names: tuple[str, str] | None = None) -> None:
        self.first = first
        self.stop = first + 1
        self.names = names
        self.headed = False
        self.extended: dict[str, str] = {}
        self.binary: int | None = None
        self.hunks: list[PatchHunk] = []
        self.skipped: list[int] = []

    def takes(self, old: str, new: str) -> bool:
        """Whether `---` and `+++` lines below belong to this file, of which git's header is read.

        Raises:
            MissError: they contradict it (`invalid_input`).
        """
        if self.headed or self.hunks:
            return False
        if self.names is None or {old, new} - {NOWHERE} <= set(self.names):
            return True
        side = next((at for at, key in enumerate(_SIDES) if key in self.extended), None)
        if side is None:
            return False
        if (new, old)[side] != self.names[1 - side]:
            names = f"'{self.names[1 - side]}', but '{('+++ ', '--- ')[side]}' names"
            invalid(self.stop + 1, f"{_SIDES[side]} is for {names} '{(new, old)[side]}'")
        return True


_SIDES = ("new file mode", "deleted file mode")


class Diffs:
    """The diffs of a text.

    Attributes:
        lines: the lines of the text.
        files: what it says about each file, in order.
    """

    def __init__(self, text: str) -> None:
        """Read a text.

        Raises:
            MissError: it is malformed (`invalid_input`), with the number of the line.
        """
        self.lines = patch_lines(text)
        self.files: list[FileDiff] = []
        self._current: FileDiff | None = None
        self._read(_Area(self.lines, len(self.lines), fenced=False), 0)

    def _read(self, area: _Area, at: int) -> None:
        while at < area.stop:
            fence_stop = None if area.fenced else self._fenced(at)
            at = self._step(area, at) if fence_stop is None else fence_stop

    def _fenced(self, at: int) -> int | None:
        """Read the fenced block that begins at a line; the index after it, None if none does."""
        fence = opened_fence(self.lines[at])
        if fence is None:
            return None
        rows = range(at + 1, len(self.lines))
        stop = next((row for row in rows if fence.is_closed_by(self.lines[row])), len(self.lines))
        for row in range(at + 1, stop):
            self.lines[row] = self.lines[row].removeprefix(fence.indent)
        self._current = None
        self._read(_Area(self.lines, stop, fenced=True), at + 1)
        self._current = None
        return stop + 1

    def _step(self, area: _Area, at: int) -> int:
        """Read what begins at a line outside of hunks; the index after it."""
        line, file = area.lines[at], self._current
        if line.startswith("diff --git "):
            self._begin(FileDiff(at, git_names(line[len("diff --git ") :])))
            return self._extended(area, at + 1)
        if area.names_file(at):
            return self._file_header(area, at)
        if line.startswith("rename from ") and self._follows(area, at, "rename to "):
            self._begin(FileDiff(at))
            return self._extended(area, at)
        if _COMBINED.match(line):
            invalid(at + 1, "a combined diff, of a merge, cannot be applied; expected '@@ -'")
        # The first hunk may lack its `@@` line.
        headless = file is not None and file.headed and not (file.hunks or file.skipped)
        if line.startswith("@@") or (headless and line[:1] in (" ", "+", "-")):
            file = file or self._begin(FileDiff(at))
            hunk, file.stop = _read_hunk(area, at)
            if hunk is None:
                file.skipped.append(at)
            else:
                file.hunks.append(hunk)
            return file.stop
        self._check_stray(area, at)
        return at + 1

    def _begin(self, file: FileDiff) -> FileDiff:
        self._current = file
        self.files.append(file)
        return file

    def _extended(self, area: _Area, at: int) -> int:
        file = self._current
        assert file is not None
        while at < area.stop:
            found = _EXTENDED.fullmatch(area.lines[at].rstrip())
            if found:
                file.extended[found[1]] = found[2]
            elif _BINARY.match(area.lines[at]):
                file.binary = at
            else:
                break
            at += 1
        file.stop = at
        return at

    def _file_header(self, area: _Area, at: int) -> int:
        file = self._current
        old, new = (read_name(line[4:]) for line in area.lines[at : at + 2])
        if not old or not new:
            invalid(at + 1 + (old != ""), "the name of a file is missing after '---' or '+++'")
        # A header of git's own goes right before this one and belongs to the same file.
        if file is None or file.stop != at or not file.takes(old, new):
            file = self._begin(FileDiff(at))
        file.names = (old, new)
        file.headed = True
        file.stop = at + 2
        return at + 2

    def _follows(self, area: _Area, at: int, start: str) -> bool:
        return at + 1 < area.stop and area.lines[at + 1].startswith(start)

    def _check_stray(self, area: _Area, at: int) -> None:
        """Refuse a line that looks like one of a hunk or a header where none can be."""
        line = area.lines[at]
        for start, other in (("--- ", "'+++ '"), ("+++ ", "'--- '")):
            if line.startswith(start) and self._follows(area, at, "@@"):
                invalid(at + 1, f"'{line[:_SHOWN]}' stands without a line {other}")
        stray = line[:1] in ("+", "-") and line.rstrip() != "--"
        if area.fenced and self._current is not None and stray:
            invalid(at + 1, f"'{line[:_SHOWN]}' is outside of any hunk; expected '@@'")


def headless_hunk(text: str) -> PatchHunk | None:
    """The one hunk of a text that is nothing else, without headers or `@@`; None if it is not."""
    lines = patch_lines(text)
    if not any(lines) or any(_op(line) == "?" for line in lines):
        return None
    return _read_hunk(_Area(lines, len(lines), fenced=True), 0)[0]
