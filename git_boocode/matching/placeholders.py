"""Placeholder lines for text that a model omitted: ``...``, ``# ... existing code ...``.

If old and new text have the same placeholder, the parts around it are found in order, and the lines
between them stay. A placeholder in the new text alone would delete code. Three dots are also
Python's Ellipsis, a prompt, and spread syntax: only a line that consists of dots, or a comment with
dots and words about code, counts; a line of dots that is the body of a block does not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from git_boocode.matching.align import script
from git_boocode.matching.guards import evidence
from git_boocode.matching.rungs import PLACES, rows_where
from git_boocode.matching.search import Query
from git_boocode.matching.text import Text, depth_of, framed, indent_of
from git_boocode.matching.types import Found, Step

_COMMENT = re.compile(r"\{\s*/\*+|/\*+|//+!?|<!--|#+|--|;+|%+|\*(?!/)")
_COMMENT_END = "*/->} \t"
_DOTTED = re.compile(r"[\[(<{]?\s*(?:\.{3,}|…)")
_BRACKETS = "[](){}<> \t"
_WORD = re.compile(r"[\w']+")
_LONGEST = 120  # maximum length of a placeholder, in characters
_PARTS = 64  # maximum number of parts of a text


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


_CODE = _words("body class code file function implementation logic method module")
_OLDER = _words("current existing original previous remainder remaining rest")
_UNCHANGED = _words("brevity elided intact omitted truncated unchanged unmodified untouched")
_OTHERS = _words("""
    above additional before below code else etc lines more other others remains same skip skipped
    snip snipped
""")
_FILLERS = _words("""
    a all and another any are as block change changes classes component config content contents
    continue continues cases definitions fields for from functions goes handlers here imports in is
    it items its keep kept left methods middle needed no not of out part properties props setup
    shown some stay stays stuff test tests than that the these this to up with your
""")
_OMITTED = _OLDER | _UNCHANGED | _OTHERS
_KNOWN = _CODE | _OMITTED | _FILLERS


def is_marker(line: str) -> bool:
    """Whether a line looks like a placeholder, without regard to the lines around it."""
    bare = line.strip()
    if len(bare) > _LONGEST:
        return False
    comment = _COMMENT.match(bare)
    body = bare[comment.end() :].strip().rstrip(_COMMENT_END) if comment else bare
    words = _words(body)
    if not words:
        # Dots in brackets are code in some languages.
        only_dots = not body.strip(".…" + (_BRACKETS if comment else ""))
        return only_dots and ("..." in body or "…" in body)
    if not words <= _KNOWN:
        return False
    # A comment may end in dots without being a placeholder.
    dotted = _DOTTED.match(body) or (comment and body.endswith(("...", "…")))
    return bool(words & _OMITTED if dotted else comment and _says_unchanged(words))


def _says_unchanged(words: frozenset[str]) -> bool:
    """Whether the words of a comment without dots mean that code is unchanged."""
    return bool(
        words & _UNCHANGED
        or (words & _CODE and words & _OLDER)
        or ("no" in words and words & {"change", "changes"})
        or ("same" in words and words & {"as", "keep", "remains", "rest", "stays"})
    )


def markers(lines: Sequence[str]) -> list[int]:
    """The indexes of the placeholder lines.

    Dots in a console session (``>>>``) are prompts.
    """

    def is_prompt(index: int) -> bool:
        above = lines[index - 1].lstrip() if index else ""
        return above.startswith((">>> ", "... ")) and not lines[index].strip().strip(".…")

    return [index for index, line in enumerate(lines) if is_marker(line) and not is_prompt(index)]


def unmatched_placeholder(text: Text, old: Text, new: Text) -> int | None:
    """The index of a placeholder that only the new text has, or None.

    A line that the file has, too, or that is the body of an added block, is literal.
    """
    found = markers(new.lines)
    known = Counter(old.stripped)
    for index in found:
        line = new.stripped[index]
        known[line] -= 1
        if known[line] < 0 and line not in text.stripped and not _is_body(old, new, index):
            return index
    return None


def _is_body(old: Text, new: Text, index: int) -> bool:
    """Whether a line of dots is the only line of a block that the edit adds or fills."""
    if new.stripped[index] != "...":
        return False
    above = [line for line in new.lines[:index] if line.strip()][-1:]
    below = [line for line in new.lines[index + 1 :] if line.strip()][:1]
    if not above:
        # Dots may replace a single line: `pass` becomes an Ellipsis.
        return not below and len(old.core) <= 1
    depth = len(indent_of(new.lines[index]))
    opened = above[0].rstrip().endswith(":") and len(indent_of(above[0])) < depth
    alone = not below or len(indent_of(below[0])) < depth
    hunk = next(hunk for hunk in script(old.lines, new.lines) if hunk.j1 <= index < hunk.j2)
    gone = sum(map(bool, old.stripped[hunk.i1 : hunk.i2]))
    return opened and alone and gone <= sum(map(bool, new.stripped[hunk.j1 : hunk.j2]))


Part = tuple[int, ...]  # the lines of one part, or their rows
Chain = tuple[Part, ...]  # the rows of every part, in order


def elided(query: Query, step: Step) -> Found:
    """Parts that are equal line by line, with any number of lines for each placeholder."""
    elision = _Elision(query)
    if not elision.left_out or not 0 < len(elision.parts) <= _PARTS:
        return Found()
    if not elision.is_shared():
        return Found(reason="the new text does not omit the same code as the old text")
    if elision.evidence_of(elision.parts) < step.evidence:
        return Found(reason="the old text without its placeholders is too short for a match")
    chains = elision.chains()
    if chains is None:
        return Found(reason="a part next to a placeholder occurs too often")
    weakest = min(elision.evidence_of([part]) for part in elision.parts)
    if len(chains) > 1 or weakest < step.evidence / 2:
        chains = [chain for chain in chains if elision.is_indented_alike(chain)]
    reason = None if chains else "its parts do not occur in this order"
    places = [query.spread(dict(elision.pairs(c)), left_out=elision.left_out) for c in chains]
    return Found(tuple(places), reason=reason)


class _Elision:
    """A needle with placeholders; ``parts`` contains the nonblank lines between them."""

    def __init__(self, query: Query) -> None:
        self.query = query
        lines = query.needle.stripped
        self.left_out = markers(lines)
        ends = pairwise([-1, *self.left_out, len(lines)])
        spans = [[at for at in range(first + 1, stop) if lines[at]] for first, stop in ends]
        self.parts = [tuple(part) for part in spans if part]

    def is_shared(self) -> bool:
        """Whether the new text has the same placeholders, and no change outside the parts."""
        hunks, first, last = self.query.hunks, self.left_out[0], self.left_out[-1]
        if any(hunk.i1 <= index < hunk.i2 for hunk in hunks for index in self.left_out):
            return False
        # The extent of a first or last placeholder is unknown.
        above, below = self.parts[0][0] < first, self.parts[-1][-1] > last
        return all((above or first < hunk.i1) and (below or hunk.i2 <= last) for hunk in hunks)

    def evidence_of(self, parts: Sequence[Part]) -> int:
        """The total evidence of the lines of some parts."""
        lines = self.query.needle.lines
        return evidence("\n".join(lines[index] for part in parts for index in part))

    def chains(self) -> list[Chain] | None:
        """The ways to place all parts in order, ignoring blank lines; None if too many."""
        text, canonical = self.query.text, self.query.needle.canonical
        view = framed(text.canonical[row] for row in text.filled)
        chains: list[Chain] = [()]
        for part in self.parts:
            places = rows_where(view, [canonical[index] for index in part])
            if len(places) > PLACES:
                return None
            found = [tuple(text.filled[at : at + len(part)]) for at in places]
            chains = [(*c, rows) for c in chains for rows in found if not c or c[-1][-1] < rows[0]]
            if len(chains) > PLACES:
                return None
        return chains

    def is_indented_alike(self, chain: Chain) -> bool:
        """Whether the lines of a chain are nested like those of the needle."""
        here, there = self.query.needle.lines, self.query.text.lines
        # Models often drop the indentation of the first line only.
        pairs = islice(self.pairs(chain), 1, None)
        depths = sorted({(depth_of(here[index]), depth_of(there[row])) for index, row in pairs})
        rising = all(left[0] < right[0] and left[1] < right[1] for left, right in pairwise(depths))
        gaps = zip(pairwise(self.parts), pairwise(chain), strict=True)
        return rising and all(
            self._in_scope((above[-1], below[0]), (first[-1], last[0]))
            for (above, below), (first, last) in gaps
        )

    def _in_scope(self, here: tuple[int, int], there: tuple[int, int]) -> bool:
        """Whether the rows between two are in the block that the lines ``here`` indicate."""
        lines, needle = self.query.text.lines, self.query.needle.lines
        marker = next(index for index in self.left_out if index > here[0])
        above, shown, below = (depth_of(needle[index]) for index in (here[0], marker, here[1]))
        ends = zip(there, (above, below), strict=True)
        outer = max(depth_of(lines[row]) for row, depth in ends if depth == min(above, below))
        floor = outer + (above < below or shown > below)
        between = (line for line in lines[there[0] + 1 : there[1]] if line.strip())
        return all(depth_of(line) >= floor for line in between)

    def pairs(self, chain: Chain) -> Iterator[tuple[int, int]]:
        """The needle's nonblank lines with their rows."""
        for part, rows in zip(self.parts, chain, strict=True):
            yield from zip(part, rows, strict=True)
