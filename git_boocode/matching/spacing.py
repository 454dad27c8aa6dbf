"""Text with different spacing or line breaks than the file, or that is a part of a line.

One search finds all of these: it compares texts without whitespace, and then checks the whitespace
that matters in each occurrence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from git_boocode.matching.align import same_items
from git_boocode.matching.comments import is_comment
from git_boocode.matching.guards import evidence
from git_boocode.matching.rungs import PLACES, occurrences, refusal
from git_boocode.matching.search import Query
from git_boocode.matching.text import Text, indent_of, split_ends, squeezed
from git_boocode.matching.types import Found, Occurrence, Step

_PIECE = 12  # minimum number of characters of a part of a line that has an indentation of its own
_WRAPPED_EVIDENCE = 8  # minimum evidence of text that is found without its line breaks
_PIECES = re.compile(r"\S+", re.ASCII)
_TOKEN = re.compile(r"\w+|\S")
_RUNS = re.compile(r"\s+")
_NEEDLESS = re.compile(r"(?<!\w) | (?!\w)")


class _Hit(NamedTuple):
    """An occurrence in ``Text.lf``: its offsets, its rows, and the other text on these rows."""

    start: int
    end: int
    rows: range
    head: str
    tail: str

    @property
    def is_whole(self) -> bool:
        return not (self.head.strip() or self.tail.strip())


def layout(query: Query, step: Step) -> Found:
    """Whole lines that are equal except for blank lines and spaces that do not separate words."""
    if refused := refusal(query, step) or _too_often(query):
        return refused
    rows = (hit.rows for hit in _hits(query.text, query.needle, by_line=True) if hit.is_whole)
    filled = ([row for row in each if query.text.canonical[row]] for each in rows)
    pairs = (dict(zip(query.needle.filled, each, strict=True)) for each in filled)
    return Found(tuple(map(query.spread, pairs)))


def part(query: Query, step: Step) -> Found:
    """One line anywhere between the whole words of a file line; ``layout`` finds whole lines.

    Its indentation marks the beginning of a line, and its line feed the end, except in a line of
    code that occurs once.
    """
    if len(query.needle.lines) != 1:
        return Found()
    if refused := refusal(query, step) or _too_often(query):
        return refused
    hits = _hits(query.text, query.needle, by_line=True)
    if len(hits) == 1 and _is_piece(query, hits[0]):
        query = query.variant(query.needle.stripped[0], "")
    return Found(tuple(filter(None, (_part_at(query, hit) for hit in hits if not hit.is_whole))))


def _is_piece(query: Query, hit: _Hit) -> bool:
    """Whether the text of old occurs once, and new fits in its place.

    New is a line with the same indentation. Where the file's line goes on, both have the same first
    or last word, because a statement may not fit into another one. Code in a comment is not meant.
    """
    old, new, head, tail = query.needle, query.new, hit.head, hit.tail
    if new is None or len(new.lines) != 1:
        return False
    (indent, body, end), (depth, fresh, stop) = split_ends(old.lf), split_ends(new.lf)
    once = len(body) >= _PIECE and query.text.lf.count(body) == 1
    if not once or (indent, end) != (depth, stop):
        return False
    if any(map(is_comment, (head, *head.split()[-1:]))) or fresh in f"{head}{body}{tail}":
        return False
    ends = ((body, fresh), (body[::-1], fresh[::-1]))
    return all(
        not beside.strip() or _first_token(mine) == _first_token(other)
        for beside, (mine, other) in zip((head, tail), ends, strict=True)
    )


def _first_token(text: str) -> str:
    found = _TOKEN.match(text)
    return found[0] if found else ""


def _part_at(query: Query, hit: _Hit) -> Occurrence | None:
    needle, view, to_raw = query.needle.lf, query.text.lf_alike, query.text.to_raw
    is_elsewhere = (needle[:1].isspace() and hit.head.strip() != "") or (
        needle.endswith("\n") and hit.tail.strip() != ""
    )
    if is_elsewhere or _within_word(view, hit.start) or _within_word(view, hit.end):
        return None
    rows = hit.rows.start, hit.rows.stop
    return Occurrence(to_raw(hit.start), to_raw(hit.end), 1.0, rows, (), partial=True)


def rewrapped(old_text: str, new_text: str, text: Text) -> tuple[str, str] | None:
    """Two texts with the file's line breaks, if old occurs once except for line breaks.

    A paragraph with the same lines in old and new gets the file's lines; a changed paragraph stays.
    """
    old, new = Text(old_text), Text(new_text)
    once = evidence(old.lf) >= _WRAPPED_EVIDENCE and text.squeezed.count(old.squeezed) == 1
    hits = _hits(text, old, by_line=False) if once else []
    if not hits or not hits[0].is_whole:
        return None
    rows = text.lines[hits[0].rows.start : hits[0].rows.stop]
    same, in_old, in_new = same_items(old.lines, new.lines), [*old.lines], [*new.lines]
    for lines, there in reversed(_groups(old.lines, rows)):
        mine = rows[there.start : there.stop]
        here, depth = indent_of(old.lines[lines.start]), indent_of(mine[0])
        mine = [here + row.removeprefix(depth) for row in mine]
        in_old[lines.start : lines.stop] = mine
        at = same.get(lines.start, -1)
        if [same.get(index) for index in lines] == [*range(at, at + len(lines))]:
            in_new[at : at + len(lines)] = mine
    old_end, new_end = ("\n" if given.closed else "" for given in (old, new))
    return "\n".join(in_old) + old_end, "\n".join(in_new) + new_end


def _groups(lines: Sequence[str], rows: Sequence[str]) -> list[tuple[range, range]]:
    """The smallest runs of lines with equal text; none if one contains blank lines."""
    here, there = _ends(lines), _ends(rows)
    ends = [(0, 0), *((here[size], there[size]) for size in sorted(here.keys() & there.keys()))]
    groups = []
    for (line, row), (stop, end) in pairwise(ends):
        first = next(index for index in range(line, stop) if lines[index].strip())
        top = next(index for index in range(row, end) if rows[index].strip())
        if not all(map(str.strip, (*lines[first:stop], *rows[top:end]))):
            return []
        if max(stop - first, end - top) > 1:
            groups.append((range(first, stop), range(top, end)))
    return groups


def _ends(lines: Sequence[str]) -> dict[int, int]:
    """Maps the total size of the text up to each nonblank line to the next row."""
    sizes = accumulate(len("".join(line.split())) for line in lines)
    return {size: row for row, size in enumerate(sizes, 1) if lines[row - 1].strip()}


def _too_often(query: Query) -> Found | None:
    """The answer for a needle with too many occurrences to check them all."""
    often = query.text.squeezed.count(query.needle.squeezed) > PLACES
    return Found(reason=f"it occurs over {PLACES} times, ignoring whitespace") if often else None


def _hits(text: Text, needle: Text, *, by_line: bool) -> list[_Hit]:
    """Occurrences of the needle, ignoring needless spaces and blank lines or line breaks."""
    pieces, view = needle.lf_alike.removeprefix(needle.mark).split("\n"), text.lf_alike
    filled = "\n".join(pieces[row] for row in needle.filled)
    sought = squeezed(filled)
    starts = occurrences(text.squeezed, sought)
    if not starts:
        return []
    runs = [run.span() for run in _PIECES.finditer(view)]
    sizes = [*accumulate((end - start for start, end in runs), initial=0)]

    def offset(at: int) -> int:
        number = bisect_right(sizes, at) - 1
        return runs[number][0] + at - sizes[number]

    spans = [(offset(at), offset(at + len(sought) - 1) + 1) for at in starts]
    form = _form(filled, by_line=by_line)
    return [_hit(text, *at) for at in spans if _form(view[slice(*at)], by_line=by_line) == form]


def _hit(text: Text, start: int, end: int) -> _Hit:
    view, first = text.lf, text.lf.count("\n", 0, start)
    head = view[view.rfind("\n", 0, start) + 1 : start].removeprefix(text.mark)
    tail = view[end:].partition("\n")[0]
    return _Hit(start, end, range(first, first + view.count("\n", start, end) + 1), head, tail)


def _form(text: str, *, by_line: bool) -> list[str]:
    """The nonblank lines of a text, or all as one line, without needless spaces."""
    lines = text.split("\n") if by_line else [text]
    return [_NEEDLESS.sub("", _RUNS.sub(" ", line.strip())) for line in lines if line.strip()]


def _within_word(text: str, at: int) -> bool:
    """Whether an offset is inside a word."""
    return all(char.isalnum() or char == "_" for char in (text[at - 1 : at], text[at : at + 1]))
