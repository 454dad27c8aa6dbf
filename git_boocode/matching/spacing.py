"""Text that is spaced or wrapped differently from the file, or starts or stops within a line.

One search finds all of these: texts without any whitespace are compared, and of each occurrence
then the whitespace that matters for the case.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from git_boocode.matching.align import same_items
from git_boocode.matching.guards import evidence, too_bare
from git_boocode.matching.rungs import Found, Place, Query, Step
from git_boocode.matching.text import Text, indent_of

if TYPE_CHECKING:
    from git_boocode.matching.readings import Variant

_OCCURRENCES = 200  # at most this many occurrences are checked
_CUT_OFF = 2  # at most this many letters may be missing at the end of a line by mistake
_WRAPPED_EVIDENCE = 8  # the evidence that text must hold to be found without its line breaks
_PIECES = re.compile(r"\S+")
_RUNS = re.compile(r"\s+")
_NEEDLESS = re.compile(r"(?<!\w) | (?!\w)")

Span = tuple[int, int]
"""Offsets (start, end) in ``Text.lf``."""


def layout(query: Query, step: Step) -> Found:
    """Whole lines that are equal except for blank lines and spaces that no two words need."""
    if not query.needle.core or too_bare(query.needle, step):
        return Found()
    text, spans = query.text, _spans(query.text, query.needle, by_line=True)
    found = (_whole_rows(text, span) for span in spans)
    filled = ([row for row in rows if text.canonical[row]] for rows in found if rows)
    return Found(tuple(map(query.spread, filled)))


def part(query: Query, step: Step) -> Found:
    """The needle's first line ends a line of the file, its last begins one, the rest are whole.

    A single line may occur anywhere between whole words. The first line is cut between words; the
    last of several anywhere, since texts break off so. Whole lines are left to ``layout``.
    """
    if not query.needle.core or too_bare(query.needle, step):
        return Found()
    spans = _spans(query.text, query.needle, by_line=True)
    return Found(tuple(filter(None, (_part_at(query, span) for span in spans))))


def _part_at(query: Query, span: Span) -> Place | None:
    text, given = query.text, query.needle.lf
    view, (start, end) = text.lf_alike, span
    first, stop = _rows(text, span)
    head, tail = _around(text, span)
    # Indentation means that a line begins, and the line feed of a single line that it ends.
    late = given[0].isspace() and head.strip()
    if late or _whole_rows(text, span) or (start and _within_word(view, start)):
        return None
    if stop - first == 1:
        early = given.endswith("\n") and tail.strip()
        if early or _within_word(view, end):
            return None
    elif tail.strip() and _is_broken_off(query, (stop - 1, end), tail):
        return None
    else:
        start -= 0 if head.strip() else len(head)
        end += 0 if tail.strip() else len(tail)
    return Place(text.to_raw(start), text.to_raw(end), 1.0, (first, stop), (), partial=True)


def _is_broken_off(query: Query, last: Span, tail: str) -> bool:
    """Whether the needle ends within its last row, ``last`` (row, offset), but not on purpose.

    A number is not cut, the last letters of a line that changes may just be missing, and a row that
    is the line after the edit is there as a whole.
    """
    (row, end), view = last, query.text.lf_alike
    line = query.needle.canonical[query.needle.core.stop - 1]
    after = query.new.canonical[-1:] if query.new else [line]
    if after == query.text.canonical[row : row + 1]:
        return True
    short = after != [line] and len(tail.rstrip()) <= _CUT_OFF
    return _within_word(view, end) and (short or view[end - 1].isdigit())


def wrapped(variant: Variant, text: Text) -> Iterator[Variant]:
    """The pair with the file's line breaks, where old occurs once except for these.

    Where new has the lines of a paragraph as old has them, they become the file's; a paragraph in
    which the new text differs stays as new has it.
    """
    old, new = Text(variant.old), Text(variant.new)
    spans = _spans(text, old, by_line=False) if evidence(old.lf) >= _WRAPPED_EVIDENCE else []
    rows = _whole_rows(text, spans[0]) if len(spans) == 1 else range(0)
    groups = _groups(old.stripped, text.stripped[rows.start : rows.stop]) if rows else []
    groups = [group for group in groups if max(map(len, group)) > 1]
    if not groups:
        return
    same, in_old, in_new = same_items(old.lines, new.lines), [*old.lines], [*new.lines]
    for lines, there in reversed(groups):
        mine = text.lines[rows.start + there.start : rows.start + there.stop]
        here, depth = indent_of(old.lines[lines.start]), indent_of(mine[0])
        mine = [here + row.removeprefix(depth) for row in mine]
        in_old[lines.start : lines.stop] = mine
        at = same.get(lines.start, -1)
        if [same.get(index) for index in lines] == [*range(at, at + len(lines))]:
            in_new[at : at + len(lines)] = mine
    old_end, new_end = ("\n" if given.closed else "" for given in (old, new))
    yield variant._replace(old="\n".join(in_old) + old_end, new="\n".join(in_new) + new_end)


def _groups(lines: Sequence[str], rows: Sequence[str]) -> list[tuple[range, range]]:
    """The smallest runs of lines and rows that say the same; none if blank lines are in one."""
    here, there = _ends(lines), _ends(rows)
    ends = [(0, 0), *((here[size], there[size]) for size in sorted(here.keys() & there.keys()))]
    groups = []
    for (line, row), (stop, end) in pairwise(ends):
        first = next(index for index in range(line, stop) if lines[index])
        top = next(index for index in range(row, end) if rows[index])
        if not (all(lines[first:stop]) and all(rows[top:end])):
            return []
        groups.append((range(first, stop), range(top, end)))
    return groups


def _ends(lines: Sequence[str]) -> dict[int, int]:
    """The row after each line with text, by the size of all text up to there."""
    sizes = accumulate(len("".join(line.split())) for line in lines)
    return {size: row for row, size in enumerate(sizes, 1) if lines[row - 1]}


def _spans(text: Text, needle: Text, *, by_line: bool) -> list[Span]:
    """Where the needle occurs except for needless spaces and either blank lines or line breaks."""
    pieces = needle.lf_alike.removeprefix(needle.mark).split("\n")
    wanted = "\n".join(pieces[row] for row in needle.filled)
    view = text.lf_alike
    sought, squeezed = "".join(wanted.split()), "".join(view.split())
    starts: list[int] = []
    at = squeezed.find(sought)
    while at >= 0 and len(starts) < _OCCURRENCES:
        starts.append(at)
        at = squeezed.find(sought, at + 1)
    if not starts:
        return []
    runs = [run.span() for run in _PIECES.finditer(view)]
    sizes = [*accumulate((end - start for start, end in runs), initial=0)]

    def offset(at: int) -> int:
        number = bisect_right(sizes, at) - 1
        return runs[number][0] + at - sizes[number]

    spans = [(offset(at), offset(at + len(sought) - 1) + 1) for at in starts]
    form = _form(wanted, by_line=by_line)
    return [span for span in spans if _form(view[slice(*span)], by_line=by_line) == form]


def _form(text: str, *, by_line: bool) -> list[str]:
    """The lines of a text, or all of them as one, without blank ones and needless spaces."""
    lines = text.split("\n") if by_line else [text]
    return [_NEEDLESS.sub("", _RUNS.sub(" ", line.strip())) for line in lines if line.strip()]


def _within_word(text: str, at: int) -> bool:
    """Whether a word goes on at an offset that is not 0."""
    return all(char.isalnum() or char == "_" for char in (text[at - 1], text[at : at + 1]))


def _rows(text: Text, span: Span) -> Span:
    first = text.lf.count("\n", 0, span[0])
    return first, first + text.lf.count("\n", *span) + 1


def _around(text: Text, span: Span) -> tuple[str, str]:
    """The rest of the first row above a span's start and of the last row below its end."""
    view, (start, end) = text.lf, span
    stop = view.find("\n", end)
    head = view[view.rfind("\n", 0, start) + 1 : start].removeprefix(text.mark)
    return head, view[end : stop if stop >= 0 else None]


def _whole_rows(text: Text, span: Span) -> range:
    """The rows that a span covers; none if it covers one of them in part."""
    return range(0) if any(map(str.strip, _around(text, span))) else range(*_rows(text, span))
