"""Read a text with unified diffs in it: what they say about each file, and their hunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from git_boocode.editing.edits import MissError
from git_boocode.editing.formats.diff_names import NOWHERE, git_names, read_name
from git_boocode.editing.formats.hunk_lines import Area, is_file_header, read_hunk
from git_boocode.editing.formats.patches import opened_fence, patch_lines
from git_boocode.editing.hunks import Hunk

_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    r"|similarity index|dissimilarity index|index) ?(.*)"
)
_BINARY = re.compile(r"GIT binary patch|Binary files .* differ")
_COMBINED = re.compile(r"@@@+ |diff --(?:cc|combined) ")
_SHOWN = 60


class FileDiff:
    """What a diff says about one file.

    Attributes:
        first: the index of its first line in the patch.
        stop: the index after its last line.
        names: the names of its `---` and `+++` lines, or those of `diff --git`, as they stand.
        extended: git's further header lines, by their key.
        binary: the index of the line that says that it is binary, or None.
        hunks: its hunks.
    """

    def __init__(self, first: int, names: tuple[str, str] | None = None) -> None:
        self.first = first
        self.stop = first + 1
        self.names = names
        self.headed = False
        self.extended: dict[str, str] = {}
        self.binary: int | None = None
        self.hunks: list[Hunk] = []

    def takes(self, old: str, new: str) -> bool:
        """Whether a pair of names can belong to this file, of which only git's header is read."""
        if self.headed or self.hunks:
            return False
        return self.names is None or {old, new} - {NOWHERE} <= set(self.names)


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
        self._read(Area(self.lines, len(self.lines), fenced=False), 0)

    def _read(self, area: Area, at: int) -> None:
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
        self._read(Area(self.lines, stop, fenced=True), at + 1)
        self._current = None
        return stop + 1

    def _step(self, area: Area, at: int) -> int:
        """Read what begins at a line outside of hunks; the index after it."""
        line = area.lines[at]
        if line.startswith("diff --git "):
            return self._git_header(area, at)
        if is_file_header(area, at):
            return self._file_header(area, at)
        if line.startswith("rename from ") and self._follows(area, at, "rename to "):
            self._begin(FileDiff(at))
            return self._extended(area, at)
        if _COMBINED.match(line):
            _invalid(at, "a combined diff, of a merge, cannot be applied; expected '@@ -'")
        if line.startswith("@@") or self._is_headless(line):
            return self._hunk(area, at)
        self._check_stray(area, at)
        return at + 1

    def _begin(self, file: FileDiff) -> FileDiff:
        self._current = file
        self.files.append(file)
        return file

    def _git_header(self, area: Area, at: int) -> int:
        self._begin(FileDiff(at, git_names(area.lines[at][len("diff --git ") :])))
        return self._extended(area, at + 1)

    def _extended(self, area: Area, at: int) -> int:
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

    def _file_header(self, area: Area, at: int) -> int:
        file = self._current
        old, new = (read_name(line[4:]) for line in area.lines[at : at + 2])
        if not old or not new:
            _invalid(at + (old != ""), "the name of a file is missing after '---' or '+++'")
        # A header of git's own goes right before this one and belongs to the same file.
        if file is None or file.stop != at or not file.takes(old, new):
            file = self._begin(FileDiff(at))
        file.names = (old, new)
        file.headed = True
        file.stop = at + 2
        return at + 2

    def _is_headless(self, line: str) -> bool:
        """Whether a line is the first one of a hunk that lacks its `@@` line."""
        file = self._current
        return file is not None and file.headed and not file.hunks and line[:1] in (" ", "+", "-")

    def _hunk(self, area: Area, at: int) -> int:
        file = self._current or self._begin(FileDiff(at))
        hunk, stop = read_hunk(area, at)
        file.hunks.append(hunk)
        file.stop = stop
        return stop

    def _follows(self, area: Area, at: int, start: str) -> bool:
        return at + 1 < area.stop and area.lines[at + 1].startswith(start)

    def _check_stray(self, area: Area, at: int) -> None:
        """Refuse a line that looks like one of a hunk or a header where none can be."""
        line = area.lines[at]
        for start, other in (("--- ", "'+++ '"), ("+++ ", "'--- '")):
            if line.startswith(start) and self._follows(area, at, "@@"):
                _invalid(at, f"'{line[:_SHOWN]}' stands without a line {other}")
        stray = line[:1] in ("+", "-") and line.rstrip() != "--"
        if area.fenced and self._current is not None and stray:
            _invalid(at, f"'{line[:_SHOWN]}' is outside of any hunk; expected '@@'")


def read_headless(text: str) -> Iterator[Hunk]:
    """The one hunk of a text that is nothing else, without headers or `@@`; none if it is not.

    Raises:
        MissError: it changes nothing (`invalid_input`).
    """
    lines = patch_lines(text)
    area = Area(lines, len(lines), fenced=True)
    if any(lines) and all(line[:1] in ("", " ", "+", "-", "\\") for line in lines):
        yield read_hunk(area, 0)[0]


def _invalid(at: int, message: str) -> NoReturn:
    raise MissError("invalid_input", f"line {at + 1} of the patch: {message}")
