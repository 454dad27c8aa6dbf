"""The rungs for text of which only some lines are equal: the code, or the lines around the change.

`comments`: only the words of comments differ. The comment marks depend on the language, which is
unknown: ``//`` is a division in Python, ``#`` a directive in C. A mark counts if the file has whole
lines that begin with it.

`context`: the removed lines, and the nearest unchanged line on each side, must be equal in the
file, in one place only. Most of the other lines must be equal, too; where they differ, the file's
lines stay.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice, pairwise
from typing import NamedTuple

from git_boocode.matching.align import PAIR_FLOOR, align_between, script, similarity
from git_boocode.matching.guards import (
    OPERATOR,
    evidence,
    other_operators,
    quoted,
    repeated_line,
    replaced_words,
)
from git_boocode.matching.rungs import PLACES
from git_boocode.matching.search import Query
from git_boocode.matching.text import Text, comment_mark, depth_of, is_comment
from git_boocode.matching.types import Found, Step

_WORD = re.compile(r"\w")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_OPENERS = re.compile(
    r"\\.|([\"'`])|\s(?:(#)\s|(//)(?=\s|\w)|(/\*)|(<!--)|(--)\s|(;)[;\s]|(%)[%\s])"
)
"""A quote, or a mark that may open a comment after code."""
_MAY_BE = re.compile(r"[#/*;%]|<!--|--")
_MARKED = re.compile(r"\n([#/;%<*-].*)")
_WORDS = re.compile(r"\w{3,}")
_DIGITS = re.compile(r"\d+")
_HEADING = re.compile(r"\s*#{1,6}\s")
_MARKDOWN = re.compile(r"\n(?:##+\s|```|~~~)")
_NEGATIONS = frozenset(("not", "!", "no", "never", "without"))
_DEFINITION = re.compile(r"(?:\w+ ){0,4}(?:def|func|function|fn|sub) [\w.]+\(")
_HEAD_END = re.compile(r"\{|where|\)\s*->.*|[)\]].*[:{]")
_SECTION = re.compile(r"\[+[\w\s.\"'-]+\]+$|##+\s")  # of a configuration file or in Markdown
_PROSE = 3  # comments need this many times the evidence of code, because words repeat in prose
_FITS = 16  # maximum number of places of the touched lines
_SLACK = 2  # maximum number of extra rows in the file between touched parts
_REACH = 1_000  # maximum number of rows that are searched for the head of a block
_LEAST = 3  # minimum number of equal lines
_LINE_EVIDENCE = 8  # minimum evidence of each line if there are only two

Run = tuple[int, ...]  # neighbouring lines of the needle that the edit touches, or their rows


class Fit(NamedTuple):
    """A place: the row of each line that it has, and the lines that are equal."""

    rows: dict[int, int]
    equal: frozenset[int]


def context(query: Query, step: Step) -> Found:
    """Whole lines; those that the edit touches are equal, and so are most of the others.

    Without a new text the edit touches all lines. The file may have one extra line between the
    lines that the edit touches.
    """
    search = _ContextSearch(query)
    fits = [search.fit(chain) for chain in search.chains()]
    # If the touched lines occur several times, only a place with all other lines counts.
    near = [fit for fit in fits if search.is_complete(fit)]
    if not near and len(fits) > 1:
        return Found(reason=f"the lines that it changes occur {len(fits)} times in the file")
    near = near or [fit for fit in fits if search.share(fit) >= step.agree]
    if not near:
        return Found()
    if not search.proves(near[0], step.evidence):
        return Found(reason="too few of its lines occur in the file")
    for fit in near:
        if objected := search.objection(fit):
            return Found(reason=objected)
    return Found(tuple(query.spread(fit.rows, search.share(fit)) for fit in near))


class _ContextSearch:
    """The search for one edit in one text by the lines that it touches."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.needle, self.text = query.needle.canonical, query.text.canonical
        self.filled, self.rows = query.needle.filled, query.text.filled
        self.depths = [depth_of(line) for line in query.needle.lines]
        # The new versions of changed lines.
        new = query.new.canonical if query.new else []
        self.after = {index: new[other] for index, other in query.partners.items()}

    @cached_property
    def runs(self) -> list[Run]:
        """The removed lines, with the nearest nonblank line on each side."""
        touched = {*self.filled} if self.query.new is None else set()
        for hunk in self.query.hunks:
            changed = range(hunk.i1, hunk.i2)
            touched.update(index for index in changed if not self._is_other_comment(index))
            for side in (reversed(range(hunk.i1)), range(hunk.i2, len(self.needle))):
                touched.update(islice((index for index in side if self.needle[index]), 1))
        groups = groupby(self.filled, key=touched.__contains__)
        return [tuple(run) for is_touched, run in groups if is_touched]

    @cached_property
    def hole(self) -> int | None:
        """The only touched line that the file lacks, if it is replaced and between others."""
        gone = [index for run in self.runs for index in run if not any(self._known(index))]
        if len(gone) != 1 or gone[0] in (self.filled[0], self.filled[-1]):
            return None
        replaced = (hunk for hunk in self.query.hunks if hunk.j1 < hunk.j2)
        return gone[0] if any(hunk.i1 <= gone[0] < hunk.i2 for hunk in replaced) else None

    def _is_other_comment(self, index: int) -> bool:
        """Whether a line is a comment that does not occur verbatim in the file."""
        line = self.needle[index]
        return not self.query.rows.get(line) and is_comment(line)

    def chains(self) -> Iterator[dict[int, int]]:
        """The places of the rarest run, each with the nearest matching places of the others."""
        found = [self._places_of(run) for run in self.runs]
        rarest = min(range(len(found)), key=lambda number: len(found[number]), default=None)
        if rarest is None or len(found[rarest]) > _FITS:
            return
        for rows in found[rarest]:
            others = zip(self.runs, found, strict=True)
            linked = [_linked(run, places, (self.runs[rarest], rows)) for run, places in others]
            chain = [row for places in linked for row in places]
            if all(linked) and all(above < below for above, below in pairwise(chain)):
                yield dict(zip((index for run in self.runs for index in run), chain, strict=True))

    def _places_of(self, run: Run) -> list[Run]:
        """The rows of each occurrence of a run of lines, ignoring blank lines."""
        counts = [PLACES if at == self.hole else sum(map(len, self._known(at))) for at in run]
        at = counts.index(min(counts))
        known = self._known(run[at]) if counts[at] <= PLACES else []
        for spare in (False, self.hole is None):
            tried = (self._rows_of(run, at, row, spare=spare) for rows in known for row in rows)
            if found := [*filter(None, tried)]:
                return found
        return []

    def _rows_of(self, run: Run, at: int, known: int, *, spare: bool) -> Run:
        """The rows of a run whose line ``at`` is in row ``known``; skips a row if ``spare``."""
        rows, top = [known], bisect_left(self.rows, known)
        for step, lines in ((1, run[at + 1 :]), (-1, run[:at][::-1])):
            place = top
            for index in lines:
                place += step
                if spare and not self._may_be(index, place):
                    place, spare = place + step, False
                if not self._may_be(index, place):
                    return ()
                rows.append(self.rows[place])
        return tuple(sorted(rows))

    def _known(self, index: int) -> list[list[int]]:
        """The rows that equal a line of the needle, and those that equal its new version."""
        forms = self.needle[index], self.after.get(index, "")
        return [self.query.rows.get(form, []) for form in forms]

    def _may_be(self, index: int, place: int) -> bool:
        if not 0 <= place < len(self.rows):
            return False
        row = self.rows[place]
        if index != self.hole:
            return self._fits(index, row)
        return _lacks_words(self.needle[index], self.text[row], self.after.get(index, ""))

    def _fits(self, index: int, row: int) -> bool:
        """Whether a row equals a line of the needle or its new version."""
        return self.text[row] in (self.needle[index], self.after.get(index))

    def fit(self, chain: dict[int, int]) -> Fit:
        """Match all lines of the needle with the rows near the touched ones."""
        (above, top), (below, bottom) = min(chain.items()), max(chain.items())
        first = max(0, top - above - _SLACK)
        there = self.text[first : bottom + len(self.needle) - below + _SLACK]
        known = {index: (row - first, row - first + 1) for index, row in chain.items()}
        matched = align_between(known, self.needle, there)
        rows = {index: first + at for index, (at, stop) in enumerate(matched) if at < stop}
        rows = {index: row for index, row in rows.items() if self._is_version(index, row)}
        return Fit(rows, frozenset(index for index, row in rows.items() if self._fits(index, row)))

    def _is_version(self, index: int, row: int) -> bool:
        """Whether a row may be another version of a line of the needle."""
        line, there = self.needle[index], self.text[row]
        if not (line and there):
            return False
        if index == self.hole or self._fits(index, row):
            return True
        # A comment that the edit touches does not match code.
        may_be = is_comment(there) or not self._is_other_comment(index)
        return may_be and similarity(line, there, PAIR_FLOOR) > 0

    def is_complete(self, fit: Fit) -> bool:
        """Whether all lines are equal, except the one that lacks words."""
        return len(fit.equal) == len(self.filled) - (self.hole is not None)

    def share(self, fit: Fit) -> float:
        """The share of the needle's nonblank lines that are equal."""
        return len(fit.equal) / len(self.filled)

    def proves(self, fit: Fit, least: int) -> bool:
        """Whether the equal lines have enough evidence."""
        lines = [self.needle[index] for index in fit.equal]
        if evidence("\n".join(lines)) < least:
            return False
        if len(fit.equal) == len(self.filled):
            proven = all(evidence(line) >= _LINE_EVIDENCE for line in lines)
            unique = all(len(self.query.rows[line]) == 1 for line in lines)
            return len(lines) >= _LEAST or (proven and unique)
        return sum(bool(_WORD.search(line)) for line in lines) >= _LEAST

    def objection(self, fit: Fit) -> str | None:
        """Why the place may be the wrong one, or None."""
        if not self.is_complete(fit) and self.hole is not None:
            return f"line {self.hole + 1} lacks words of the file's line, and other lines differ"
        if not self.is_complete(fit) and any(self._is_gapped(run, fit) for run in self.runs):
            return "it lacks a line of the file next to the change, and other lines differ"
        first = min(fit.equal)
        moved = self._depth_at(fit.rows[first]) != self.depths[first]
        if moved and len(fit.equal) < len(self.filled):
            return "some of its lines are missing, and the others are indented differently"
        return (
            self._strange_comment(fit)
            or self._another_head(fit)
            or self._another_name(fit)
            or repeated_line(self.query, {row: index for index, row in fit.rows.items()})
        )

    def _is_gapped(self, run: Run, fit: Fit) -> bool:
        """Whether the file has extra lines inside a run."""
        rows = range(fit.rows[run[0]], fit.rows[run[-1]] + 1)
        return sum(bool(self.text[row]) for row in rows) > len(run)

    def _strange_comment(self, fit: Fit) -> str | None:
        """Why a comment of the file that the old text lacks may belong to the change, or None."""
        for hunk in self.query.hunks:
            comments = [index for index in range(hunk.i1, hunk.i2) if self._is_other_comment(index)]
            if not comments:
                continue
            if fit.rows.keys().isdisjoint(comments):
                return f"line {comments[0] + 1}, a comment to replace, is not in the file"
            rows = [fit.rows[index] for index in range(hunk.i1, hunk.i2) if index in fit.rows]
            beside = range(max(rows[0] - 1, 0), min(rows[-1] + 2, len(self.text)))
            for row in sorted({*beside} - {*fit.rows.values()}):
                if is_comment(self.text[row]):
                    return f"it lacks line {row + 1}, a comment next to the change"
        return None

    def _another_head(self, fit: Fit) -> str | None:
        """Why the place may be a similar block: the line that opens the block differs; or None.

        Only a line whose block contains a part of the change counts.
        """
        below = top = None
        for index in reversed(self.filled):
            if index in fit.equal:
                top = index
                below = below if self._goes_on(index) else index
            elif top is not None and below is not None and self._opens_change(index, below):
                mine, row = self.needle[index], fit.rows.get(index)
                if row is None:
                    above = max((fit.rows[at] for at in fit.rows if at < index), default=-1)
                    row = self._stranger(fit, range(above + 1, fit.rows[top]), fit.rows[below])
                elif _has_same_name(mine, self.text[row]):
                    row = None
                if row is not None:
                    there = quoted(self.text[row])
                    return f"line {index + 1} is {quoted(mine)}, but the file has {there}"
        return None

    def _goes_on(self, index: int) -> bool:
        """Whether a line ends the head of a block, which began above."""
        return _HEAD_END.fullmatch(self.needle[index]) is not None

    def _opens_change(self, opener: int, below: int) -> bool:
        """Whether a line opens a block that contains line ``below`` and a part of the change."""
        # A section has no indentation, and ends at the next one.
        is_section = _SECTION.match(self.needle[opener]) is not None
        depth, hunks = self.depths[opener] - is_section, self.query.hunks
        left = (
            at
            for at in self.filled
            if at > opener
            and (_SECTION.match(self.needle[at]) if is_section else not self._goes_on(at))
            and self.depths[at] <= depth + is_section
        )
        stop, ends = next(left, len(self.needle)), [max(hunk.i1 + 1, hunk.i2) for hunk in hunks]
        inside = (opener < end and hunk.i1 <= stop for hunk, end in zip(hunks, ends, strict=True))
        return depth < self.depths[below] and (not hunks or any(inside))

    def _another_name(self, fit: Fit) -> str | None:
        """Why the place may be a similar block: a word is replaced throughout; or None."""
        replaced = Counter(
            words
            for index in fit.rows.keys() - fit.equal
            for words in replaced_words(self.needle[index], self.text[fit.rows[index]])
        )
        for (mine, there), count in replaced.items():
            if count > 1:
                return f"it has {quoted(mine)} wherever the file has {quoted(there)}"
        return None

    def _stranger(self, fit: Fit, rows: range, first: int) -> int | None:
        """The last of some rows that opens the block of row ``first``, if no line matches it."""
        text, depth = self.text, self._depth_at(first)
        opens = (
            row
            for row in reversed(rows[-_REACH:])
            if text[row] and (_SECTION.match(text[row]) or self._depth_at(row) < depth)
        )
        above = next(opens, None)
        return None if above in fit.rows.values() else above

    def _depth_at(self, row: int) -> int:
        return depth_of(self.query.text.lines[row])


def _linked(run: Run, found: Sequence[Run], known: tuple[Run, Run]) -> Run:
    """The only place of a run at about the same distance from another run as in the needle."""
    lines = run[0] - known[0][0]
    away = sorted((abs(rows[0] - known[1][0] - lines), rows) for rows in found)
    near = [rows for gap, rows in away if gap == away[0][0] <= max(_SLACK, abs(lines) // 2)]
    return near[0] if len(near) == 1 else ()


def _has_same_name(line: str, row: str) -> bool:
    """Whether a line has the words and operators of the file's, except for parameters."""
    head = _DEFINITION.match(line)
    same = not (replaced_words(line, row) or other_operators(line, row))
    return same or (head is not None and row.startswith(head[0]))


def _lacks_words(line: str, row: str, after: str) -> bool:
    """Whether a row is a line with extra words, which are less than half of the row.

    If ``after``, the line's new version, is not similar to it, the extra words would be lost: then
    the words next to them must be removed as well.
    """
    mine, there = _TOKENS.findall(line), _TOKENS.findall(row)
    changed = [hunk for hunk in script(mine, there) if not hunk.same]
    extra = [there[hunk.j1 : hunk.j2] for hunk in changed]
    lacked = {word for tokens in extra for word in tokens}
    inserted = all(hunk.i1 == hunk.i2 for hunk in changed) and len(there) < 2 * len(mine)
    # An operator or the mark of a comment alone changes what the line means.
    bare = any(all(map(OPERATOR.match, tokens)) for tokens in extra) or is_comment(row)
    if not inserted or bare or not lacked.isdisjoint(_NEGATIONS):
        return False
    if similarity(line, after, PAIR_FLOOR):
        return True
    sides = [side for hunk in changed for side in (mine[: hunk.i1][::-1], mine[hunk.i1 :])]
    beside = [next(filter(_WORD.match, side), "") for side in sides]
    return {*_TOKENS.findall(after)}.isdisjoint(beside)


def comments(query: Query, step: Step) -> Found:
    """Whole lines that are equal except for the words of comments.

    The equal code must have enough evidence by itself. A comment line must match a comment with the
    same numbers. A comment that occurs verbatim in the file matches no other one, and at most half
    of the lines may have other words. Without enough code, most lines must be equal and have much
    more evidence, because words repeat in prose, and a reworded line must share most of its words
    with the file's line.
    """
    core, rows, known = query.needle.core, query.text.canonical, query.present
    needle = query.needle.canonical[core.start : core.stop]
    if not all(line in known or _MAY_BE.search(line) for line in needle if line):
        return Found()
    marks = _marks(query.text)
    equal = [line for line in needle if line in known]
    code = " ".join(_code(line, marks) or "" for line in needle)
    proven = evidence(code) >= step.evidence
    if proven:
        equal = [line for line in equal if not is_comment(line)]
    elif 2 * len(equal) <= len([*filter(None, needle)]) or (
        evidence(" ".join(equal)) < _PROSE * step.evidence
    ):
        return Found()
    anchor = max(equal, key=len, default="")
    starts = [row - needle.index(anchor) for row in query.rows.get(anchor, ())]
    if len(starts) > PLACES:
        return Found()

    def fits(line: str, row: str) -> bool:
        reworded = line not in known and _reworded(line, row, marks)
        return line == row or (reworded and (proven or _alike(line, row)))

    def mostly_alike(window: Sequence[str]) -> bool:
        pairs = zip(needle, window, strict=True)
        strange = sum(line != row and not _alike(line, row) for line, row in pairs)
        return 2 * strange <= len([*filter(None, needle)])

    windows = ((row, rows[max(row, 0) : row + len(needle)]) for row in starts)
    firsts = [
        first
        for first, window in windows
        if len(window) == len(needle) and all(map(fits, needle, window)) and mostly_alike(window)
    ]
    if len(firsts) != 1:
        # The comments may distinguish several places: the rung `similarity` decides.
        return Found()
    top = firsts[0] - core.start
    return Found((query.spread({index: top + index for index in query.needle.filled}),))


def _marks(text: Text) -> set[str]:
    """The marks of the lines of a file that are only comments."""
    marks = {comment_mark(line) for line in _MARKED.findall(text.framed_canonical)} - {""}
    # A star continues a block comment; in files without them it is a list item.
    marks -= set() if "/*" in marks else {"*"}
    # In Markdown, a number sign is a heading.
    is_page = _MARKDOWN.search(text.framed_canonical) and _mostly_headings(text.lines)
    return marks - {"#"} if is_page else marks


def _code(line: str, marks: set[str]) -> str | None:
    """A stripped line without the comment at its end; None if the line is only a comment."""
    if comment_mark(line) in marks:
        return None
    still_open = ""
    for found in _OPENERS.finditer(line):
        quote, mark = found[1], next(filter(None, found.groups()), None)
        if quote:
            still_open = "" if quote == still_open else still_open or quote
        elif mark and not still_open:
            before = line[max(found.start() - 8, 0) : found.start()].rstrip()
            # After the end of a statement, `//` is not a division.
            if mark in marks or (mark == "//" and before.endswith((*";{},",))):
                return line[: found.start()].rstrip()
    return line


def _reworded(left: str, right: str, marks: set[str]) -> bool:
    """Whether two lines differ only in the words of their comments, not in numbers."""
    code = _code(left, marks)
    if code != _code(right, marks) or code in (left, right):
        return False
    here, there = (_DIGITS.findall(line[len(code or "") :]) for line in (left, right))
    return here == there or not (here and there)


def _mostly_headings(lines: Iterable[str]) -> bool:
    """Whether most lines with a number sign are unindented and follow a blank line."""
    signed = [(above, line) for above, line in pairwise(["", *lines]) if _HEADING.match(line)]
    headings = sum(line[0] == "#" and not above.strip() for above, line in signed)
    return 2 * headings > len(signed)


def _alike(line: str, row: str) -> bool:
    """Whether two lines have most of their words in common."""
    mine, other = (set(_WORDS.findall(text.lower())) for text in (line, row))
    return 2 * len(mine & other) > max(len(mine), len(other))
