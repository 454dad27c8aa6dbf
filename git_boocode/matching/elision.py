"""Lines that stand for text which a model left out: ``...``, ``# ... existing code ...``.

The same line in old and new is an elision: the parts around it are found in order, and the lines
between them stay as they are. Where a part occurs in several places, only those count in which the
parts lie to each other, and the elided lines to them, as the model's indentation says. In the new
text alone such a line would delete what it stands for, and so the edit is refused.

Three dots are also Python's Ellipsis, a prompt of its console, and spread and rest syntax. Only a
line that is nothing but dots, or a comment of dots and of words about code, counts; a line of dots
that is the body of a block does not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise
from math import inf

from git_boocode.matching.align import script
from git_boocode.matching.indentation import indent_of, width_of
from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Place, Query, occurrences
from git_boocode.matching.text import Text, framed

_COMMENT = re.compile(r"\{\s*/\*+|/\*+|//+!?|<!--|#+|--|;+|%+|\*(?!/)")
_DOTTED = re.compile(r"[\[(<{]?\s*(?:\.{3,}|…)")
_NOISE = re.compile(r"[^\w\s']+")
_CLOSING = (*"])>}",)
_DOTS = 3
_LONGEST = 120
"""Longer lines (characters) are no placeholders."""
_PLACES = 64
"""A part that occurs more often proves nothing."""
_CHAINS = 1_000
"""At most this many ways to put the parts in order are compared."""
_PARTS = 64
"""A text in more parts than this is not looked for."""

_FILLING = """
    a all and another any are block change changes classes component config content contents
    continue continues cases definitions fields for from functions goes handlers here imports in is
    it items its keep kept left methods middle needed no not of out part properties props setup
    shown some stay stuff test tests than that the these this to up with your
"""
_LEAVING_OUT = """
    above additional before below brevity code elided else etc existing intact lines more omitted
    original other others previous remainder remaining remains rest same skip skipped snip snipped
    truncated unchanged unmodified
"""
_TELLING = frozenset(_LEAVING_OUT.split())
_CODE = frozenset(
    ("code", "file", "function", "method", "class", "implementation", "logic", "body", "module")
)
_OLDER = frozenset(
    ("existing", "previous", "original", "remaining", "current", "rest", "remainder")
)
_UNCHANGED = frozenset(
    ("unchanged", "omitted", "elided", "intact", "unmodified", "untouched", "brevity", "truncated")
)
_SAME = frozenset(("as", "stays", "remains"))
_WORDS = _TELLING | _CODE | _OLDER | _UNCHANGED | _SAME | frozenset(_FILLING.split())


def is_marker(line: str) -> bool:
    """Whether a line stands for left-out text, its surroundings not considered."""
    bare = line.strip()
    if not bare or len(bare) > _LONGEST:
        return False
    comment = _COMMENT.match(bare)
    body = _uncommented(bare[comment.end() :]) if comment else bare
    dotted = _DOTTED.match(body)
    if dotted:
        rest = body[dotted.end() :]
        rest = _without_dots(rest[:-1] if rest[-1:] in _CLOSING else rest)
        return _few_words(rest) if rest else _plain_dots(bare, body)
    # Dots at the end only are in any sentence that trails off.
    rest = _without_dots(body)
    return bool(comment) and (_says_so(rest) or (rest != body and _few_words(rest)))


def _uncommented(body: str) -> str:
    """What a comment says, without the mark that closes it."""
    body = body.strip()
    if body.endswith("-->"):
        return body[:-3].rstrip()
    open_ended = body[:-1].rstrip() if body.endswith("}") else body
    return open_ended[:-1].rstrip("*").rstrip() if open_ended.endswith("*/") else body


def _without_dots(text: str) -> str:
    """A text without surrounding whitespace and trailing dots."""
    bare = text.strip()
    dots = len(bare) - len(bare.rstrip("."))
    return bare[: -max(dots, 1)].rstrip() if dots >= _DOTS or bare.endswith("…") else bare


def _plain_dots(bare: str, body: str) -> bool:
    # In brackets, dots alone are code in some languages.
    return bare != body or body.strip(".…") == ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_NOISE.sub(" ", text).lower().split())


def _few_words(body: str) -> bool:
    """Whether a text beside dots says nothing but that something is left out."""
    words = _words(body)
    return bool(words & _TELLING) and words <= _WORDS


def _says_so(body: str) -> bool:
    """Whether a comment without dots says that code stays as it is."""
    words = _words(body)
    code = bool(words & _CODE and words & _OLDER)
    no_changes = "no" in words and not words.isdisjoint(("change", "changes"))
    same = "same" in words and bool(words & _SAME)
    return words <= _WORDS and (code or same or no_changes or bool(words & _UNCHANGED))


def markers(lines: Sequence[str]) -> list[int]:
    """The indexes of the lines that stand for left-out text.

    Dots between the lines of a console session (``>>>``) are prompts.
    """
    return [
        index
        for index, line in enumerate(lines)
        if is_marker(line) and not (_bare_dots(line) and _in_session(lines, index))
    ]


def _bare_dots(line: str) -> bool:
    return not line.strip().strip(".…")


def _in_session(lines: Sequence[str], index: int) -> bool:
    above = lines[index - 1].lstrip() if index else ""
    return above.startswith((">>> ", "... "))


def unmatched_placeholder(text: Text, old: Text, new: Text) -> int | None:
    """The index of a line of new that stands for left-out text and does so in new only.

    A line that the file has too, or that is the body of a block which new adds, is literal.
    """
    found = markers(new.lines)
    if not found:
        return None
    known = Counter(old.stripped[index] for index in range(len(old.lines)))
    for index in found:
        line = new.stripped[index]
        known[line] -= 1
        if known[line] < 0 and line not in text.stripped and not _is_body(old, new, index):
            return index
    return None


def _is_body(old: Text, new: Text, index: int) -> bool:
    """Whether a line of dots is all there is in a block that the edit adds or fills."""
    if new.stripped[index] != "...":
        return False
    above = next(_filled(new, range(index - 1, -1, -1)), None)
    below = next(_filled(new, range(index + 1, len(new.lines))), None)
    if above is None:
        # Dots alone take the place of a single line: `pass` becomes an Ellipsis.
        return below is None and len(old.core) <= 1
    depth = len(indent_of(new.lines[index]))
    opened = new.stripped[above].endswith(":") and len(indent_of(new.lines[above])) < depth
    alone = below is None or len(indent_of(new.lines[below])) < depth
    return opened and alone and _replaced(old, new, index) <= 1


def _filled(text: Text, rows: range) -> Iterator[int]:
    return (row for row in rows if text.stripped[row])


def _replaced(old: Text, new: Text, index: int) -> int:
    """How many lines with text of old are gone where line ``index`` of new came in."""
    for hunk in script(old.lines, new.lines):
        if not hunk.same and hunk.j1 <= index < hunk.j2:
            gone = sum(map(bool, old.stripped[hunk.i1 : hunk.i2]))
            fresh = sum(map(bool, new.stripped[hunk.j1 : hunk.j2]))
            return gone - fresh + 1
    return 0


Rows = tuple[int, ...]
"""The rows that the lines of one part stand for."""
Chain = tuple[Rows, ...]
"""Those of every part, in order."""


def elided(query: Query, step: Step) -> Found:
    """Parts that are equal line by line, with any number of lines where the needle has a marker."""
    from git_boocode.matching.guards import evidence

    needle = query.needle
    left_out = markers(needle.lines)
    ends = pairwise([-1, *left_out, len(needle.lines)])
    lines = [_filled(needle, range(first + 1, stop)) for first, stop in ends]
    parts = [part for part in map(tuple, lines) if part]
    if not left_out or not parts or len(parts) > _PARTS:
        return Found()
    if not _shared(query, left_out):
        return Found(reason="what the old text leaves out is not left out of the new one")
    elision = _Elision(query, parts, left_out)
    weights = [evidence(elision.text_of([part])) for part in parts]
    if evidence(elision.text_of(parts)) < step.evidence:
        return Found(reason="what the old text does not leave out is too short to be found")
    found = [_rows_of(query.text, needle, part) for part in parts]
    if not all(0 < len(rows) <= _PLACES for rows in found):
        return Found(reason="a part around what is left out is not there, or in too many places")
    chains = [*islice(elision.chains(_in_order(found)), _CHAINS + 1)]
    if len(chains) > _CHAINS:
        return Found(reason="what is left out could be in too many places")
    bare = min(weights) < step.evidence / 2
    return elision.settled(chains, step.evidence, bare=bare)


def _shared(query: Query, left_out: Sequence[int]) -> bool:
    """Whether the new text leaves out the same, and has nothing outside of the outermost parts."""
    old, new = query.needle, query.new
    if new is None:
        return True
    same = {
        hunk.i1 + step: hunk.j1 + step
        for hunk in script(old.lines, new.lines)
        if hunk.same
        for step in range(hunk.i2 - hunk.i1)
    }
    if not same.keys() >= set(left_out):
        return False
    above, below = range(left_out[0]), range(left_out[-1] + 1, len(old.lines))
    beyond = [new.stripped[: same[left_out[0]]], new.stripped[same[left_out[-1]] + 1 :]]
    sides = [[old.stripped[index] for index in side] for side in (above, below)]
    # Where a marker comes first or last, nobody knows how far it reaches.
    return all(any(here) or not any(there) for here, there in zip(sides, beyond, strict=True))


def _rows_of(text: Text, needle: Text, part: Rows) -> list[Rows]:
    """The places of a part, blank lines aside, each as the rows of its lines."""
    lines = framed(needle.canonical[index] for index in part)
    view, found, at_row, seen = text.framed_filled, [], 0, 0
    for at in occurrences(view, lines, shared=1)[: _PLACES + 1]:
        at_row += view.count("\n", seen, at)
        seen = at
        found.append(tuple(text.filled[at_row : at_row + len(part)]))
    return found


class _Elision:
    """One needle with elisions, in one text."""

    def __init__(self, query: Query, parts: Sequence[Rows], left_out: Sequence[int]) -> None:
        self.query, self.parts, self.left_out = query, parts, left_out

    def text_of(self, parts: Sequence[Rows]) -> str:
        """The lines of some parts."""
        return "\n".join(self.query.needle.lines[index] for part in parts for index in part)

    def chains(self, found: Sequence[Sequence[Rows]]) -> Iterator[Chain]:
        """The ways to choose a place for every part so that they follow each other."""
        if not found:
            yield ()
            return
        for rest in self.chains(found[:-1]):
            for rows in found[-1]:
                if not rest or rest[-1][-1] < rows[0]:
                    yield (*rest, rows)

    def consistent(self, chain: Chain) -> bool:
        """Whether lines of one depth there are of one depth here, and deeper ones deeper."""
        seen: dict[int, int] = {}
        for here, there in self._pairs(chain):
            # Often the indentation of the very first line alone is lost.
            if here != self.parts[0][0]:
                mine = self._width_there(there)
                if seen.setdefault(self._width_here(here), mine) != mine:
                    return False
        widths = [seen[width] for width in sorted(seen)]
        return all(left < right for left, right in pairwise(widths))

    def _pairs(self, chain: Chain) -> Iterator[tuple[int, int]]:
        for part, rows in zip(self.parts, chain, strict=True):
            yield from zip(part, rows, strict=True)

    def _width_here(self, index: int) -> int:
        return width_of(indent_of(self.query.needle.lines[index]), 8)

    def _width_there(self, row: int) -> int:
        return width_of(indent_of(self.query.text.lines[row]), 8)

    def in_scope(self, chain: Chain) -> bool:
        """Whether the elided lines lie in the block that the markers' indentation tells."""
        return all(self._gap_in_scope(chain, number) for number in range(len(chain) - 1))

    def _gap_in_scope(self, chain: Chain, number: int) -> bool:
        above, below = self.parts[number][-1], self.parts[number + 1][0]
        marker = self.left_out[bisect_right(self.left_out, above)]
        here, after = self._width_here(above), self._width_here(below)
        depth = max(self._width_here(marker), min(here, after))
        first, last = chain[number][-1], chain[number + 1][0]
        floor = max(
            self._floor(depth, here, first) + (after > here >= depth),
            self._floor(depth, after, last),
        )
        return min(self._widths[first + 1 : last], default=floor) >= floor

    @cached_property
    def _widths(self) -> list[float]:
        """How deep each row is; a blank one is as deep as any."""
        filled = map(bool, self.query.text.stripped)
        return [self._width_there(row) if text else inf for row, text in enumerate(filled)]

    def _floor(self, depth: int, here: int, row: int) -> int:
        """The least width of elided lines beside a row, if they are ``depth`` and it ``here``."""
        return self._width_there(row) + (depth > here) if depth >= here else 0

    def settled(self, chains: Sequence[Chain], least: int, *, bare: bool) -> Found:
        """The places that are left, ``bare`` parts being held to the model's indentation."""
        same = self.same_result(chains, least)
        if not same:
            for fits in (self.consistent, self.in_scope):
                kept = [chain for chain in chains if fits(chain)]
                if bare or (kept and len(chains) > 1):
                    chains = kept
            same = self.same_result(chains, least)
        places = dict.fromkeys(self.place(chain) for chain in ([same] if same else chains))
        reason = None if places else "its parts are not there in order"
        return Found(tuple(places), equal=len(places) == 1, reason=reason)

    def same_result(self, chains: Sequence[Chain], least: int) -> Chain | None:
        """The tightest chain, if all lead to one result and what is changed proves its place.

        Where a part is that the change does not touch makes no difference.
        """
        from git_boocode.matching.guards import evidence

        touched = self._touched()
        agreed = {tuple(chain[number] for number in touched) for chain in chains}
        if len(agreed) != 1:
            return None
        if evidence(self.text_of([self.parts[number] for number in touched])) < least:
            return None
        for fits in (self.consistent, self.in_scope):
            chains = [chain for chain in chains if fits(chain)] or chains
        return min(chains, key=lambda chain: chain[-1][-1] - chain[0][0])

    def _touched(self) -> list[int]:
        """The parts in which, or beside which, the new text differs."""
        if self.query.new is None:
            return list(range(len(self.parts)))
        near: set[int] = set()
        old = self.query.needle
        for hunk in script(old.lines, self.query.new.lines):
            if not hunk.same:
                near.update(range(hunk.i1, hunk.i2))
                near.update(_neighbours(old, hunk.i1, hunk.i2))
        return [number for number, part in enumerate(self.parts) if near.intersection(part)]

    def place(self, chain: Chain) -> Place:
        """The place of all parts and of what lies between them."""
        known = dict(self._pairs(chain))
        order, left_out = sorted(known), set(self.left_out)
        lines, at = [], chain[0][0]
        for index in range(len(self.query.needle.lines)):
            start = known.get(index, at)
            if index in known:
                at = start + 1
            elif index in left_out and order[0] < index < order[-1]:
                at = known[order[bisect_right(order, index)]]
            lines.append((start, at))
        place = self.query.place(chain[0][0], chain[-1][-1] + 1)
        return place._replace(lines=tuple(lines))


def _neighbours(text: Text, first: int, stop: int) -> Iterator[int]:
    """The lines with text next above row ``first`` and next below the rows up to ``stop``."""
    for rows in (range(first - 1, -1, -1), range(stop, len(text.lines))):
        yield from islice(_filled(text, rows), 1)


def _in_order(found: Sequence[Sequence[Rows]]) -> list[list[Rows]]:
    """The places of each part below which the parts after it have places.

    So every way to put the first parts in order can be finished, and no attempt is wasted.
    """
    kept: list[list[Rows]] = []
    for places in reversed(found):
        last = max((rows[0] for rows in kept[-1]), default=-1) if kept else inf
        kept.append([rows for rows in places if rows[-1] < last])
    return kept[::-1]
