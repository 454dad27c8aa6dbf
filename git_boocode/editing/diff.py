"""Unified diffs as git writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_boocode.editing.lines import Range, changed_ranges
from git_boocode.editing.textfile import Text, split_lines
from git_boocode.matching.text import common_prefix

CONTEXT = 3
_QUOTED = re.compile(rb'[\x00-\x1f"\\\x7f-\xff]')
_UNUSUAL = re.compile('[\x00-\x1f"\\\\\x7f\ud800-\udfff]')
_ESCAPES = {b"\t": "\\t", b"\n": "\\n", b"\r": "\\r", b'"': '\\"', b"\\": "\\\\"}


def unified_diff(path: str, old: Text | None, new: Text | None, source: str | None = None) -> str:
    """The change of one file; empty if there is none.

    Args:
        path: the file's path.
        old: its text before, None if there was no file.
        new: its text afterwards, None if there is no file any more.
        source: the path that it had before, if that was another one.
    """
    if source is not None:
        return _moved(source, path) + _changes((source, path), old, new)
    return _changes((path, path), old, new)


def _moved(source: str, path: str) -> str:
    head = f"diff --git {quoted(f'a/{source}')} {quoted(f'b/{path}')}\n"
    return f"{head}rename from {quoted(source)}\nrename to {quoted(path)}\n"


def _changes(paths: tuple[str, str], old: Text | None, new: Text | None) -> str:
    if old == new:
        return ""
    names = [_name("a", paths[0], old), _name("b", paths[1], new)]
    before, after = (text.text if text else "" for text in (old, new))
    if "\0" in before or "\0" in after:
        return f"Binary files {names[0].strip()} and {names[1].strip()} differ\n"
    hunks = "".join(_hunks(split_lines(before), split_lines(after)))
    return f"--- {names[0]}\n+++ {names[1]}\n{hunks}"


def _name(side: str, path: str, text: Text | None) -> str:
    if text is None:
        return "/dev/null"
    name = quoted(f"{side}/{path}")
    # As git does, so that a name with blanks has an end.
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def quoted(path: str) -> str:
    """A path as git writes it: in C quotes if it holds control characters, quotes or no UTF-8."""
    if not _UNUSUAL.search(path):
        return path
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = path.encode("utf-8", "backslashreplace")
    return f'"{_QUOTED.sub(_escape, raw).decode("ascii")}"'


def _escape(found: re.Match[bytes]) -> bytes:
    return (_ESCAPES.get(found[0]) or f"\\{found[0][0]:03o}").encode()


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _grouped(changed_ranges(old, new)):
        first, last = group[0], group[-1]
        start = max(first.start - CONTEXT, 0)
        end = min(last.end + CONTEXT, len(old))
        new_start = first.new_start - (first.start - start)
        new_end = last.new_end + (end - last.end)
        yield f"@@ -{_extent(start, end)} +{_extent(new_start, new_end)} @@\n"
        yield from _body(old, new, group, (start, end))


def _grouped(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    group: list[Range] = []
    for area in ranges:
        if group and area.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(area)
    if group:
        yield group


def _extent(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start
    return str(first) if count == 1 else f"{first},{count}"


def _body(
    old: list[str], new: list[str], group: list[Range], hunk: tuple[int, int]
) -> Iterator[str]:
    position = hunk[0]
    for area in group:
        yield from (_line(" ", line) for line in old[position : area.start])
        yield from (_line("-", line) for line in old[area.start : area.end])
        yield from (_line("+", line) for line in new[area.new_start : area.new_end])
        position = area.end
    yield from (_line(" ", line) for line in old[position : hunk[1]])


def _line(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return sign + line
    return f"{sign}{line}\n\\ No newline at end of file\n"


def without_common_indentation(diff: str) -> str:
    """A diff for display: each hunk without the indentation that all its lines share."""
    head, *hunks = re.split(r"(?m)^(?=@@ -)", diff)
    return head + "".join(map(_dedented, hunks))


def _dedented(hunk: str) -> str:
    header, *lines = split_lines(hunk)
    text = [line[1:] for line in lines if line[1:].strip() and not line.startswith("\\")]
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in text]
    width = common_prefix(min(indents, default=""), max(indents, default=""))
    return header + "".join(_cut(line, width) for line in lines)


def _cut(line: str, width: int) -> str:
    if line.startswith("\\"):
        return line
    kept = line[1 + width :] if line[1:].strip() else line[1:].lstrip(" \t")
    return line[0] + kept
