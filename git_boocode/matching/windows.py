"""The windows of a file that are most like a needle, found with bounded work.

A window is a run of as many lines as the needle has. Where all windows together are cheap to
compare, all are compared, and the answer is exact. Otherwise only windows are compared that

1. hold lines of the needle: every such line votes for the window it would belong to, the rarer the
   line the heavier (the anchors of patience diff, B. Cohen, turned into votes as in a Hough
   transform), or, where no window gets close that way,
2. hold a line similar to one of the needle's longest lines.

Every bound below counts work, not time, so an answer never depends on the machine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import accumulate, compress
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.matching.comments import Comments
from git_boocode.matching.similarity import cost, distance, most_similar, similarity_by_line
from git_boocode.matching.text import Text, common_prefix

FLOOR = 0.5
"""Windows less similar than this have nothing to do with the needle and are never shown."""

WINDOW_OVERHEAD = 500
"""Word operations that joining a window and calling the comparison amount to."""
EXHAUSTIVE_WORK = 10_000_000
"""Compare every window when that takes no more word operations than this (some 20 ms)."""
VERIFY_WORK = 200_000_000
"""Word operations spent on comparing selected windows of one needle (some 200 ms)."""
LONG_WINDOW = 20_000
"""Longer windows (characters) are compared line by line."""
LONG_LINE = 500
"""Longer lines (characters) are no pivots: comparing them with every line is too much work."""
SHORT_LISTED = 64
"""At most this many windows are compared when they are selected by votes or pivots."""
PIVOTS = 3
"""So many of the needle's lines are looked up by similarity."""
COMMON = 200
"""A line occurring oftener than this in a file tells nothing about a place."""
LOOKUPS = 1_000_000
"""At most this number of occurrences of words is checked for other places of them."""
_SEARCHED = 10_000
"""Searching so many characters is as much work as looking at a place."""
CLOSE = 0.8
"""A voted window this similar makes looking for pivots needless."""


class Window(NamedTuple):
    """Rows ``first`` to ``first + height`` (exclusive) and their similarity to the needle."""

    first: int
    height: int
    similarity: float

    @property
    def stop(self) -> int:
        """The row after the last."""
        return self.first + self.height


class Survey(NamedTuple):
    """The windows above the floor, best first, and why some were not looked at, if so."""

    windows: tuple[Window, ...]
    reason: str | None = None


class Surveyor:
    """Compares one needle with the windows of one text, within one budget of work."""

    def __init__(
        self, text: Text, needle: Text, after: Mapping[int, str] = MappingProxyType({})
    ) -> None:
        """``after`` is what lines of the needle, by index, are once the edit is made."""
        self.text = text
        self.after = after
        self.lines = text.canonical
        self.needle = needle.canonical[needle.core.start : needle.core.stop]
        self.top = needle.core.start
        self.joined = "\n".join(self.needle)
        self.work_left = VERIFY_WORK
        self._known: dict[str, bool] = {}
        self._known_parts: dict[str, bool] = {}
        self._lookups_left = LOOKUPS
        self.refused = 0

    @cached_property
    def comments(self) -> Comments:
        """What of the text is comments."""
        return Comments(self.text)

    def has_line(self, line: str) -> bool:
        """Whether the text has this line, in canonical form, anywhere."""
        return f"\n{line}\n" in self.text.framed_canonical

    def knows(self, word: str) -> bool:
        """Whether the text has this word anywhere."""
        if word not in self._known:
            self._known[word] = self._stands(word, is_word)
        return self._known[word]

    def knows_part(self, part: str) -> bool:
        """Whether the text has a name with this part, set off by case or underscores."""
        if part not in self._known_parts:
            self._known_parts[part] = self._stands(part, is_part)
        return self._known_parts[part]

    def _stands(self, name: str, fits: Callable[[str, int, str], bool]) -> bool:
        """Whether a name stands somewhere as it must; true, too, where looking is too much work."""
        text = self.text.framed_canonical
        self._lookups_left -= 1 + len(text) // _SEARCHED
        at = text.find(name) if self._lookups_left > 0 else 0
        while at >= 0:
            self._lookups_left -= 1
            if self._lookups_left < 0 or fits(text, at, name):
                return True
            at = text.find(name, at + 1)
        return False

    def survey(self, extra: int) -> Survey:
        """The windows with ``extra`` lines more than the needle, best first."""
        height = len(self.needle) + extra
        last = len(self.lines) - height
        if not self.needle or last < 0:
            return Survey(())
        if last < SHORT_LISTED or self._all_cost(height) <= EXHAUSTIVE_WORK:
            found = list(self._compare(self._length_fits(range(last + 1), height), height))
        else:
            found = self._short_listed(height, last)
        found.sort(key=lambda window: (-window.similarity, window.first))
        reason = "the text is too large to compare" if self.refused else None
        return Survey(tuple(found), reason)

    def _short_listed(self, height: int, last: int) -> list[Window]:
        voted = [first for first in self._voted(height) if 0 <= first <= last]
        found = list(self._compare(voted[:SHORT_LISTED], height))
        if max((window.similarity for window in found), default=0.0) >= CLOSE:
            return found
        known = {window.first for window in found}
        pivoted = [first for first in self._pivoted(height) if 0 <= first <= last]
        fresh = [first for first in dict.fromkeys(pivoted) if first not in known]
        return found + list(self._compare(fresh[:SHORT_LISTED], height))

    def _all_cost(self, height: int) -> int:
        windows = len(self.lines) - height + 1
        mean = sum(map(len, self.lines)) * height // max(1, len(self.lines))
        return windows * (cost(len(self.joined), mean) + WINDOW_OVERHEAD)

    def _length_fits(self, firsts: Iterable[int], height: int) -> Iterator[int]:
        # A text less than FLOOR times as long as another cannot be FLOOR similar to it.
        ends = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        wanted = len(self.joined) + 1
        for first in firsts:
            length = ends[first + height] - ends[first]
            if wanted * FLOOR <= length <= wanted / FLOOR:
                yield first

    def _compare(self, firsts: Iterable[int], height: int) -> Iterator[Window]:
        for first in firsts:
            score = self.score(first, height)
            if score >= FLOOR:
                yield Window(first, height, score)

    def score(self, first: int, height: int) -> float:
        """The similarity of one window to the needle; 0.0 below the floor or beyond the budget."""
        rows = self.lines[first : first + height]
        there = "\n".join(rows)
        if len(there) > LONG_WINDOW and 1 < len(rows) == len(self.needle):
            return self._score_by_line(rows)
        return self._score_whole(self.joined, there)

    def _score_whole(self, left: str, right: str) -> float:
        left, right, shared = trimmed(left, right)
        work = cost(len(left), len(right))
        if work > self.work_left:
            self.refused += 1
            return 0.0
        self.work_left -= work
        total = max(len(left), len(right)) + shared
        errors = distance(left, right, int((1.0 - FLOOR) * total) + 1)
        return (total - errors) / total if total else 1.0

    def _score_by_line(self, rows: list[str]) -> float:
        pairs = list(zip(self.needle, rows, strict=True))
        work = sum(cost(len(left), len(right)) for left, right in pairs if left != right)
        if work > self.work_left:
            self.refused += 1
            return 0.0
        self.work_left -= work
        return similarity_by_line(pairs)

    def _voted(self, height: int) -> list[int]:
        places = self._places_by_line
        slack = range(height - len(self.needle) + 1)
        votes: Counter[int] = Counter()
        for line, (wanted, found) in places.items():
            weight = len(line) / (len(wanted) * len(found))
            for row in found:
                for index in wanted:
                    for late in slack:
                        votes[row - index - late] += weight  # type: ignore[assignment]
        return [first for first, _ in votes.most_common(4 * SHORT_LISTED)]

    @cached_property
    def _places_by_line(self) -> dict[str, tuple[list[int], list[int]]]:
        wanted: dict[str, list[int]] = defaultdict(list)
        for index, line in enumerate(self.needle):
            if line:
                wanted[line].append(index)
        found: dict[str, list[int]] = defaultdict(list)
        for row in compress(range(len(self.lines)), map(wanted.__contains__, self.lines)):
            rows = found[self.lines[row]]
            if len(rows) <= COMMON:
                rows.append(row)
        # Few lines of the needle are worth a vote each, or repetition would multiply the work.
        return {
            line: (wanted[line][:COMMON], rows)
            for line, rows in found.items()
            if len(rows) * len(wanted[line]) <= COMMON
        }

    def _pivoted(self, height: int) -> Iterator[int]:
        slack = range(height - len(self.needle) + 1)
        for start in self._pivot_starts:
            for late in slack:
                yield start - late

    @cached_property
    def _pivot_starts(self) -> list[int]:
        return [
            row - index
            for line, index in self._pivots()
            for _, row in most_similar(line, self.lines, FLOOR, SHORT_LISTED)
        ]

    def _pivots(self) -> list[tuple[str, int]]:
        lines: dict[str, int] = {}
        for index, line in enumerate(self.needle):
            if len(line) <= LONG_LINE:
                lines.setdefault(line, index)
        return sorted(lines.items(), key=lambda item: (-len(item[0]), item[1]))[:PIVOTS]


def is_word(text: str, at: int, word: str) -> bool:
    """Whether a word stands at an offset, within a text, as a whole."""
    before, after = text[at - 1], text[at + len(word)]
    return not (before.isalnum() or before == "_" or after.isalnum() or after == "_")


def is_part(text: str, at: int, part: str) -> bool:
    """Whether the text at an offset is part of a name."""
    before, after = text[at - 1], text[at + len(part)]
    begins = not before.isalpha() or (before.islower() and part[0].isupper())
    ends = not after.isalpha() or (after.isupper() and part[-1].islower())
    return begins and ends


def trimmed(left: str, right: str) -> tuple[str, str, int]:
    """Two texts without their common start and end, and how many characters those have."""
    head = common_prefix(left, right)
    left, right = left[head:], right[head:]
    tail = common_prefix(left[::-1], right[::-1])
    if tail:
        left, right = left[:-tail], right[:-tail]
    return left, right, head + tail
