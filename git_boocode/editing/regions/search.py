"""Look for anchors in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_boocode.editing.edits import How, MissError, lines_of, listed
from git_boocode.editing.regions.model import Change, Found, Region
from git_boocode.editing.rows import Rows
from git_boocode.editing.textfile import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from git_boocode.matching import Candidate

_LISTED = 10
"""So many line numbers are named in a message."""
MAX_NEAREST = 10
"""So many anchors that fail are compared with all of the file, to show what is like them."""
_SHOWN = 3
"""So many places are shown for an anchor that fails."""
RUNGS = ("exact", "rstripped", "line_trimmed")
"""How the lines of an anchor are compared with the file's, from strict to loose."""


class Search:
    """Looks for anchors in one text."""

    def __init__(self, text: Text, how: How) -> None:
        self.text = text
        self.how = how
        self.rows = Rows(text.text)
        self.bare = self.rows.exact.keys
        strict = text.is_raw or how.profile == "exact"
        self.rungs = RUNGS[:1] if strict else RUNGS
        self.missed = 0

    def region(self, change: Change, label: str) -> Region:
        """Where a change belongs.

        Raises:
            MissError: an anchor is nowhere or in several places, or nobody knows how deep the
                content is to be indented.
        """
        start = self._anchor(change.start, "start", 0)
        end = start
        # One that repeats the start, which stands in one place only, can mean nothing else.
        if change.end is not None and change.end != change.start:
            end = self._anchor(change.end, "end", start.stop)
        self._check_moved(change, start, end)
        content = self._content(change, start, end)
        return Region(
            label,
            start.first,
            end.stop,
            max(start.rung, end.rung),
            content,
            tuple(content) != change.content,
        )

    def _anchor(self, anchor: tuple[str, ...], name: str, after: int) -> Found:
        for rung in range(len(self.rungs)):
            rows = self._rows(anchor, rung, after)
            if len(rows) > 1:
                raise self._ambiguous(rows, len(anchor), name, after)
            if rows:
                return Found(rows[0], rows[0] + len(anchor), rung)
        raise self._not_found(anchor, name, after)

    def _check_moved(self, change: Change, start: Found, end: Found) -> None:
        """Refuse an anchor that is unique by its indentation only, when that proves nothing.

        It proves nothing if the other anchor matched at another indentation, or if the content
        repeats the anchor's lines at another one: then the model's indentation is not the file's.
        """
        pairs = self._pairs(change, start, end)
        moved = any(_indent(mine) != _indent(real) for mine, real in pairs)
        for name, anchor, found in self._anchors(change, start, end):
            after = start.stop if name == "end" else 0
            rows = self._rows(anchor, len(self.rungs) - 1, after) if found.rung < 2 else []
            depths = [_indent(self.bare[row]) for row in rows if row != found.first]
            if depths and (moved or _is_meant_elsewhere(anchor, change.content, depths)):
                raise self._ambiguous(rows, len(anchor), name, after)

    def _anchors(
        self, change: Change, start: Found, end: Found
    ) -> list[tuple[str, tuple[str, ...], Found]]:
        anchors = [("start", change.start, start)]
        return anchors if end is start else [*anchors, ("end", change.end or (), end)]

    def _pairs(self, change: Change, start: Found, end: Found) -> list[tuple[str, str]]:
        """The lines of the anchors that are not blank, each with the file's line."""
        return [
            (line, self.bare[found.first + row])
            for _, anchor, found in self._anchors(change, start, end)
            for row, line in enumerate(anchor)
            if line.strip()
        ]

    def _rows(self, anchor: tuple[str, ...], rung: int, after: int) -> list[int]:
        view = (self.rows.exact, self.rows.rstripped, self.rows.stripped)[rung]
        return [row for row in view.find(list(map(view.form, anchor))) if row >= after]

    def _ambiguous(self, rows: list[int], height: int, name: str, after: int) -> MissError:
        numbers = tuple(row + 1 for row in rows)
        below = f" below line {after}" if after else ""
        return MissError(
            "ambiguous",
            f"{name} anchor not unique{below} (lines {listed(numbers, _LISTED)})",
            lines=numbers[:100],
            candidates=tuple(self._candidate(row, row + height) for row in rows[:_SHOWN]),
            hint="send other lines as the anchor, or up to 4 of them that stand in one place only",
        )

    def _candidate(self, first: int, stop: int) -> Candidate:
        from git_boocode.matching import Candidate

        return Candidate(first + 1, stop, 1.0, "\n".join(self.bare[first:stop]))

    def _not_found(self, anchor: tuple[str, ...], name: str, after: int) -> MissError:
        below = f" below line {after}" if after else ""
        message = f"{name} anchor not found{below}"
        if self.text.is_raw:
            message += "; the file is no UTF-8 or UTF-16 text, so only exact lines count"
            return MissError("binary", message)
        above = [row + 1 for rung in range(len(self.rungs)) for row in self._rows(anchor, rung, 0)]
        if above:
            message += f"; it stands above that, at line {above[0]}"
        self.missed += 1
        near = self._nearest(anchor, after) if self.missed <= MAX_NEAREST else ()
        if near and not above:
            where = lines_of(near[0].start_line, near[0].end_line)
            message += f"; nearest is {where}, {near[0].similarity:.0%} similar"
        lines = tuple(candidate.start_line for candidate in near)
        return MissError(
            "not_found",
            message,
            lines=tuple(above[:1]) or lines,
            candidates=near,
            hint="anchors are whole lines, copied as they stand in the file",
        )

    def _nearest(self, anchor: tuple[str, ...], after: int) -> tuple[Candidate, ...]:
        from git_boocode.matching import locate_match

        match = locate_match("".join(self.rows.raw[after:]), "\n".join(anchor) + "\n", "region")
        found = match.candidates
        if match.span is not None:
            # The anchor stands on a part of a line.
            first, stop = match.span.start_line - 1 + after, match.span.end_line + after
            return (self._candidate(first, stop),)
        return tuple(
            near._replace(start_line=near.start_line + after, end_line=near.end_line + after)
            for near in found[:_SHOWN]
        )

    def _content(self, change: Change, start: Found, end: Found) -> Sequence[str]:
        """The new lines, in the file's indentation if an anchor matched at another one."""
        given = change.content
        filled = self._pairs(change, start, end)
        if self.how.verbatim or max(start.rung, end.rung) < 2 or not any(map(str.strip, given)):
            return given
        from git_boocode.editing.regions.depths import Indenter

        return Indenter(filled, given, self.rows.near(start.first, end.stop)).content()


def _is_meant_elsewhere(
    anchor: tuple[str, ...], content: tuple[str, ...], depths: Sequence[str]
) -> bool:
    """Whether content speaks for another place than the one where an anchor is as deep as given.

    It does if it repeats lines of the anchor, and none of them as deep as the anchor has it; or if
    it repeats none, and begins as deep as the anchor's lines stand elsewhere.
    """
    bodies = {line.strip(): _indent(line) for line in anchor if line.strip()}
    same = [_indent(line) == bodies[line.strip()] for line in content if line.strip() in bodies]
    first = next((_indent(line) for line in content if line.strip()), None)
    return not any(same) and (bool(same) or (first != _indent(anchor[0]) and first in depths))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
