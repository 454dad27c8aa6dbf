"""Unified diffs in git's format, and line numbers across a sequence of edits."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from git_boocode.editing.textfile import FileText, line_count, shared_ends
from git_boocode.matching.align import Hunk, script
from git_boocode.matching.text import common_prefix, split_lines

CONTEXT = 3
REGULAR = "100644"
_UNUSUAL = re.compile('[\x00-\x1f"\\\\\x7f\ud800-\udfff]')
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def changed_hunks(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """The changed hunks between two lists of lines, in order."""
    return [hunk for hunk in script(old, new, anchored=True) if not hunk.same]


def unified_diff(
    path: str,
    old: FileText | None,
    new: FileText | None,
    source: str | None = None,
    modes: tuple[str, str] = (REGULAR, REGULAR),
) -> str:
    """The change of one file as `git apply` takes it, which had the path ``source``; empty if none.

    ``old`` is None for a file that is created, ``new`` for one that is deleted. ``modes`` are those
    of git, before and after. A file in UTF-16 is shown as text, which git does not apply.
    """
    before = path if source is None else source
    head = [f"diff --git {quoted(f'a/{before}')} {quoted(f'b/{path}')}"]
    if old is None:
        head.append(f"new file mode {modes[1]}")
    elif new is None:
        head.append(f"deleted file mode {modes[0]}")
    elif modes[0] != modes[1]:
        head += [f"old mode {modes[0]}", f"new mode {modes[1]}"]
    if source is not None:
        head += [f"rename from {quoted(source)}", f"rename to {quoted(path)}"]
    sides = _content(old), _content(new)
    if sides[0] == sides[1]:
        return "\n".join((*head, "")) if len(head) > 1 else ""
    names = _name("a", before, old), _name("b", path, new)
    if "\0" in sides[0] + sides[1]:
        head.append(f"Binary files {names[0].strip()} and {names[1].strip()} differ")
        return "\n".join((*head, ""))
    head += [f"--- {names[0]}", f"+++ {names[1]}"]
    return "\n".join((*head, "".join(_hunks(*sides))))


def _content(text: FileText | None) -> str:
    """The text with its byte order mark, which is a part of the first line."""
    if text is None:
        return ""
    return f"\ufeff{text.text}" if text.codec == "utf-8-bom" else text.text


def _name(side: str, path: str, text: FileText | None) -> str:
    if text is None:
        return "/dev/null"
    name = quoted(f"{side}/{path}")
    # As in git, a tab follows a name that contains spaces.
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def quoted(path: str) -> str:
    """A path in git's format: C-quoted if it has control characters, quotes or invalid UTF-8."""
    if not _UNUSUAL.search(path):
        return path
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = path.encode("utf-8", "backslashreplace")
    shown = (
        _ESCAPES.get(byte) or (byte if " " <= byte <= "~" else f"\\{ord(byte):03o}")
        for byte in raw.decode("latin-1")
    )
    return f'"{"".join(shown)}"'


def _hunks(before: str, after: str) -> Iterator[str]:
    # Only what changed is split into lines, with its context.
    above, below = shared_ends(before, after)
    for _ in range(CONTEXT):
        above = before.rfind("\n", 0, max(above - 1, 0)) + 1
        below = max(below - len(before[len(before) - below :].partition("\n")[0]) - 1, 0)
    old = split_lines(before[above : len(before) - below])
    new = split_lines(after[above : len(after) - below])
    first_line = before.count("\n", 0, above)
    groups: list[list[Hunk]] = []
    for hunk in changed_hunks(old, new):
        if groups and hunk.i1 - groups[-1][-1].i2 <= 2 * CONTEXT:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    for group in groups:
        first, last = group[0], group[-1]
        start, end = max(first.i1 - CONTEXT, 0), min(last.i2 + CONTEXT, len(old))
        new_start, new_end = first.j1 - (first.i1 - start), last.j2 + (end - last.i2)
        lines = _extent(first_line, start, end), _extent(first_line, new_start, new_end)
        yield f"@@ -{lines[0]} +{lines[1]} @@\n"
        for hunk in group:
            yield from (_line(" ", line) for line in old[start : hunk.i1])
            yield from (_line("-", line) for line in old[hunk.i1 : hunk.i2])
            yield from (_line("+", line) for line in new[hunk.j1 : hunk.j2])
            start = hunk.i2
        yield from (_line(" ", line) for line in old[start:end])


def _extent(above: int, start: int, end: int) -> str:
    count, first = end - start, above + start + (end > start)
    return str(first) if count == 1 else f"{first},{count}"


def _line(sign: str, line: str) -> str:
    return sign + line + ("" if line.endswith("\n") else "\n\\ No newline at end of file\n")


def without_common_indentation(diff: str) -> str:
    """A diff for display: each hunk without the common indentation of its lines."""
    head, *hunks = re.split(r"(?m)^(?=@@ -)", diff)
    for hunk in hunks:
        header, *lines = split_lines(hunk)
        text = [line[1:] for line in lines if line[1:].strip() and line[0] != "\\"]
        indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in text]
        least = min(indents, default="")
        shared = least[: common_prefix(least, max(indents, default=""))]
        head += header + "".join(
            line if line[0] == "\\" else line[0] + line[1:].removeprefix(shared) for line in lines
        )
    return head


class LineMap:
    """Maps the current lines of a text to its original lines, through a sequence of edits."""

    def __init__(self) -> None:
        self._origin: list[int] | None = None

    def follow(self, old: str, new: str) -> None:
        """Record that a text was edited from old to new."""
        start, below = shared_ends(old, new)
        before = split_lines(old[start : len(old) - below])
        after = split_lines(new[start : len(new) - below])
        origin = self._origin or list(range(1, line_count(old) + 1))
        first = old.count("\n", 0, start)
        now = origin[:first]
        for hunk in script(before, after, anchored=True):
            # Added lines map to the line above them; at the top of the file, to the first one.
            rows = origin[first + hunk.i1 : first + hunk.i2] or [now[-1] if now else 1]
            now += [rows[min(row, len(rows) - 1)] for row in range(hunk.j2 - hunk.j1)]
        self._origin = now + origin[first + len(before) :]

    def original(self, line: int) -> int:
        """The original number of a line; of a neighbour for an added line."""
        if not self._origin or line < 1:
            return line
        return self._origin[min(line, len(self._origin)) - 1]

    def current(self, line: int) -> int:
        """The current number of an original line; of the next one for a deleted line."""
        return bisect_left(self._origin, line) + 1 if self._origin else line

    def original_range(self, start: int, end: int) -> tuple[int, int]:
        """The original numbers of a range of lines; an empty range stays empty."""
        if end < start:
            return self.original(end) + 1, self.original(end)
        first, last = self.original(start), self.original(end)
        return first, max(first, last)
