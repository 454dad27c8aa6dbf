"""The sections of a text, such as functions and classes, that the headings of a patch name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice

from git_boocode.matching.align import most_similar
from git_boocode.matching.text import Text, canonical_line, depth_of
from git_boocode.matching.types import Candidate, Match, MatchError

SECTION_WORK = 5_000_000  # maximum number of rows that searches for sections visit in one text
_CUT = 40  # length from which git may have truncated a section heading within a word
_NEAR = 0.4  # minimum similarity of a line that is suggested for a missing one


class Sections:
    """Looks up headings such as `class A:` and their blocks (MatchError above a work limit)."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self._work = SECTION_WORK
        self._heads: dict[str, list[int]] = {}

    def check(self, sections: Sequence[str]) -> int:
        """The row of the innermost of nested sections; MatchError if it does not exist."""
        row = 0
        for section in sections:
            heads = self.heads(section)
            if not heads:
                near = most_like(self.text, section)
                shown = [f"; nearest is line {at.start_line}, '{at.text.strip()}'" for at in near]
                message = f"the file has no section '{section}'{''.join(shown)}"
                raise MatchError("not_found", message, Match("not_found", candidates=near))
            at = bisect_left(heads, row)
            if at == len(heads):
                why = f"the file has no '{section}' below '{sections[0]}'"
                raise MatchError("not_found", why)
            row = heads[at]
        return row

    def sole(self, sections: Sequence[str], rows: Iterable[int]) -> int | None:
        """The only one of ascending rows inside the sections; None if none or several are."""
        inside = (row for row in rows if self._holds(sections, row))
        first, second = next(inside, None), next(inside, None)
        return first if second is None else None

    def heads(self, section: str) -> list[int]:
        """The rows that equal a section heading, or else those that begin with it."""
        heading = canonical_line(section.strip())
        if heading not in self._heads:
            whole, begun = list[int](), list[int]()
            for line, row in islice(self._sorted, bisect_left(self._sorted, (heading, 0)), None):
                self._spend()
                following = line[len(heading) :][:1]
                if not (heading and line.startswith(heading)) or (whole and following):
                    break
                # Git truncates long lines and models omit parameters, but a name must end here.
                if not following:
                    whole.append(row)
                elif len(heading) >= _CUT or not (following.isalnum() or following == "_"):
                    begun.append(row)
            self._heads[heading] = whole or sorted(begun)
        return self._heads[heading]

    @cached_property
    def _sorted(self) -> list[tuple[str, int]]:
        return sorted((line, row) for row, line in enumerate(self.text.canonical))

    @cached_property
    def _widths(self) -> list[int]:
        return [*map(depth_of, self.text.lines)]

    def _spend(self) -> None:
        self._work -= 1
        if self._work < 0:
            raise MatchError(
                "ambiguous",
                "the sections of the patch occur too often to check every place: "
                "include more unchanged lines instead, and send fewer hunks at once",
            )

    def _holds(self, sections: Sequence[str], row: int) -> bool:
        """Whether a row is inside the blocks of the sections, the last one innermost."""
        while not self.text.stripped[row] and row + 1 < len(self._widths):
            self._spend()
            row += 1
        left, width = [*sections], self._widths[row] + 1
        for above in range(row, -1, -1):
            if not (left and width):
                break
            self._spend()
            if self._widths[above] < width and self.text.stripped[above][:1] not in "{}])#":
                width = self._widths[above]
                heads = self.heads(left[-1])
                at = bisect_left(heads, above)
                left = left[:-1] if heads[at : at + 1] == [above] else left
        return not left


def most_like(text: Text, line: str) -> tuple[Candidate, ...]:
    """The line of a text that is most similar to a missing one, if any."""
    near = most_similar(canonical_line(line), text.canonical, _NEAR, 1)
    return tuple(Candidate(row + 1, row + 1, score, text.lines[row]) for score, row in near)
