"""The action of the format `search-replace`: lines of a file and what takes their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.actions import Replace, applied_already, check_text, done_already
from git_boocode.editing.edits import How, Landing, MissError, Outcome, listed
from git_boocode.editing.rows import NEAR, View
from git_boocode.editing.textfile import Text
from git_boocode.matching.indentation import only_first_dropped

if TYPE_CHECKING:
    from git_boocode.matching import MatchError, Replacement, Span

_LISTED = 5
"""So many line numbers are named in a message."""
_LINE_CODES = 100
"""So many lines of an ambiguous text are given to the caller."""


class Reading(NamedTuple):
    """One way to tell what a block searches for from what it puts there.

    Attributes:
        old: the lines to find, each ending in a newline; empty to fill a missing or empty file.
        new: the lines to put there, likewise; empty to delete.
    """

    old: str
    new: str


class Block(NamedTuple):
    """Whole lines replaced by others.

    Attributes:
        readings: the ways to read the block, from the shortest old text to the longest. There are
            several where lines of the code look like the divider; the file tells which is meant.
        start_line: where the model believes the lines to be, 1-based, or None.
    """

    readings: tuple[Reading, ...]
    start_line: int | None = None

    @property
    def anchors(self) -> str:
        """The old text, in its longest reading."""
        return self.readings[-1].old

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Find the lines and replace them."""
        if len(self.readings) == 1:
            return self._read(self.readings[0], text, how)
        tried = [(reading, self._tried(reading, text, how)) for reading in self.readings]
        fitting = [(reading, found) for reading, found in tried if _fits(found)]
        if not fitting:
            raise _nearest_miss([found for _, found in tried if isinstance(found, MissError)])
        found = fitting[-1][1]
        if len(fitting) > 1 and not _settles(fitting[-1], fitting[-2]):
            raise MissError(
                "ambiguous",
                f"the block has {len(self.readings)} lines like '=======', and the file does not "
                "tell which of them divides it",
                hint="search for other lines, or send the edit as old_string and new_string",
            )
        if isinstance(found, MissError):
            raise found
        return found

    def _tried(self, reading: Reading, text: Text | None, how: How) -> Outcome | MissError:
        try:
            return self._read(reading, text, how)
        except MissError as miss:
            return miss

    def _read(self, reading: Reading, text: Text | None, how: How) -> Outcome:
        if not reading.old:
            return Replace("", reading.new).apply(text, how)
        if text is None:
            raise MissError("missing_file", "there is no such file")
        check_text(text, reading.new, how)
        return _Search(reading, text, how, self.start_line).outcome()


def _fits(found: Outcome | MissError) -> bool:
    """Whether the file speaks for a reading: it has the old text, be it in several places."""
    return not isinstance(found, MissError) or found.code == "ambiguous"


def _settles(
    longest: tuple[Reading, Outcome | MissError], next_one: tuple[Reading, Outcome | MissError]
) -> bool:
    """Whether the longest old text that fits leaves no doubt that it is the one.

    It does if the file has all of it exactly, and it holds more than dividers beyond the shorter
    one: by chance the file would not go on as the text behind the first divider does.
    """
    (reading, found), (shorter, _) = longest, next_one
    if isinstance(found, MissError) or found.landing.kind != "exact":
        return False
    more = reading.old[len(shorter.old) :]
    return bool(more.replace("=", "").strip())


def _nearest_miss(misses: Sequence[MissError]) -> MissError:
    """Of several refusals the one that came nearest to the file."""

    def nearness(miss: MissError) -> float:
        return max((near.similarity for near in miss.candidates), default=0.0)

    best = max(misses, key=nearness)
    best.message += f"; each of the {len(misses)} lines like '=======' was tried as the divider"
    return best


class _Search:
    """Looks for the lines of one reading in one text."""

    def __init__(self, reading: Reading, text: Text, how: How, start_line: int | None) -> None:
        from git_boocode.matching.text import Text as Lines

        self.reading, self.text, self.how, self.start_line = reading, text, how, start_line
        self.mine = Lines(text.text)
        self.old = Lines(reading.old)
        self.new = Lines(reading.new)

    def outcome(self) -> Outcome:
        """The text with the lines replaced.

        Raises:
            MissError: they are nowhere, or nobody knows which lines are meant.
        """
        if self.old.lines == self.new.lines:
            raise MissError("invalid_input", "the block puts there what it searches for")
        exact = View(self.mine.lines).find(self.old.lines)
        if exact:
            return self._exact(exact)
        if self.text.is_raw:
            raise MissError(
                "binary",
                "the file is no UTF-8 or UTF-16 text, so only exact lines count, and there are "
                "none like the searched ones",
            )
        if self.how.profile != "exact" and self._has_evidence():
            rows = View(self.mine.stripped).find(self.old.stripped)
            if rows:
                return self._but_for_blanks(self._chosen(rows))
        return self._drifted()

    def _exact(self, rows: Sequence[int]) -> Outcome:
        row = self._chosen(rows)
        old, new = self.reading
        if row + len(self.old.lines) == len(self.mine.lines) and not self.mine.closed:
            old, new = old[:-1], new[:-1]
        # The hint tells these lines from others that only end like them.
        replace = Replace(old, new, start_line=row + 1)
        outcome = replace.apply(self.text, self.how._replace(moved=int))
        if outcome.landing.start_line != row + 1 or outcome.landing.kind != "exact":
            raise self._ambiguous(rows)
        return outcome

    def _chosen(self, rows: Sequence[int]) -> int:
        """The one row, or the one that the hint names in either reading of its number."""
        if len(rows) == 1:
            return rows[0]
        if self.start_line is None:
            raise self._ambiguous(rows)
        hints = {self.start_line - 1, self.how.moved(self.start_line) - 1}
        nearest = {_nearest(rows, hint) for hint in hints}
        row = nearest.pop()
        if nearest or row is None:
            raise self._ambiguous(rows)
        return row

    def _ambiguous(self, rows: Sequence[int]) -> MissError:
        from git_boocode.matching import Candidate

        height = len(self.old.lines)
        numbers = tuple(row + 1 for row in rows)
        return MissError(
            "ambiguous",
            f"the searched lines stand in {len(rows)} places, at lines {listed(numbers, _LISTED)}",
            lines=numbers[:_LINE_CODES],
            candidates=tuple(
                Candidate(row + 1, row + height, 1.0, self.mine.rows_text(row, row + height))
                for row in rows[:_LISTED]
            ),
        )

    def _has_evidence(self) -> bool:
        from git_boocode.matching.guards import too_bare
        from git_boocode.matching.profiles import Step

        return not too_bare(self.old, Step("whitespace", evidence=2))

    def _but_for_blanks(self, row: int) -> Outcome:
        """Carry the change onto lines that differ in the blanks at their ends only."""
        from git_boocode.matching.refit import Refit, notes

        self._check_placeholders()
        stop = row + len(self.old.lines)
        rows = self.mine.lines[row:stop]
        if self.how.verbatim:
            refit = Refit(self.mine, rows, self.new.lines)
            patch = refit.segments(rows, row, self.mine.ending(stop - 1))
        else:
            patch = Refit(self.mine, *self._undropped(row)).lines(row, stop)
        if patch.doubt is not None:
            raise MissError("ambiguous", patch.doubt, lines=(row + 1,))
        start, end = self.mine.start_of(row), self.mine.start_of(stop)
        content = self.text.text[:start] + patch.text + self.text.text[end:]
        landing = Landing("fuzzy", "whitespace", 1.0, 1, row + 1, stop, notes(patch.done))
        return Outcome(self.text._replace(text=content), landing)

    def _undropped(self, row: int) -> tuple[list[str], list[str]]:
        """Old and new lines, the first ones indented as in the file if they alone were not."""
        from git_boocode.matching.indent import indent_of

        old, new = self.old.lines, self.new.lines
        real = indent_of(self.mine.lines[row])
        if len(old) > 1 or not new or indent_of(old[0]) or indent_of(new[0]) or not real:
            return old, new
        near = self.mine.lines[max(0, row - NEAR) : row + NEAR]
        dropped = only_first_dropped(new, real, near)
        if dropped is None:
            raise MissError(
                "ambiguous",
                f"line {row + 1} is indented, the searched line is not, and nothing tells how deep "
                "the new lines shall be",
                lines=(row + 1,),
                hint="send both with the indentation that the file has",
            )
        return ([real + old[0]], [real + new[0], *new[1:]]) if dropped else (old, new)

    def _check_placeholders(self) -> None:
        from git_boocode.matching.elision import unmatched_placeholder

        index = unmatched_placeholder(self.mine, self.old, self.new)
        if index is not None:
            line = self.new.stripped[index]
            message = f"line {index + 1} of the new text, '{line}', stands for text it leaves out"
            raise MissError("invalid_input", message)

    def _drifted(self) -> Outcome:
        from git_boocode.matching import MatchError

        try:
            done = self._replaced()
        except MatchError as error:
            raise _miss(error, self.reading, self.text.text) from None
        match = done.match
        for span in done.spans:
            if not self._is_whole(span.start, span.end):
                raise self._partial(span)
        landing = Landing(
            match.kind,
            match.rung or "exact",
            match.similarity,
            done.count,
            match.start_line or 1,
            match.end_line or 0,
            done.notes,
        )
        return Outcome(self.text._replace(text=done.content), landing)

    def _partial(self, span: Span) -> MissError:
        first, stop = self.mine.start_of(span.start_line - 1), self.mine.start_of(span.end_line)
        rest = self.text.text[first : span.start] + self.text.text[span.end : stop]
        why = "has them in part of it only"
        if not rest.strip():
            why = "has them at another indentation, and they are too short or bare to prove a place"
        return MissError(
            "not_found",
            f"searched lines not found: line {span.start_line} {why}",
            lines=(span.start_line,),
            hint="search for whole lines, as they stand in the file",
        )

    def _replaced(self) -> Replacement:
        """Replace with the hint, if both readings of its number lead to one place."""
        done = self._searched(self.start_line)
        moved = None if self.start_line is None else self.how.moved(self.start_line)
        if moved == self.start_line or self._searched(moved).content == done.content:
            return done
        return self._searched(None)

    def _searched(self, hint: int | None) -> Replacement:
        from git_boocode.matching import replace_text

        return replace_text(
            self.text.text,
            *self.reading,
            profile=self.how.profile,
            verbatim=self.how.verbatim,
            start_line=hint,
        )

    def _is_whole(self, start: int, end: int) -> bool:
        """Whether what stands from one offset to the other are lines from end to end."""
        text = self.text.text
        starts = start == 0 or text[start - 1] == "\n"
        ends = end == len(text) or text[end - 1] == "\n"
        return starts and (ends or text.startswith(("\n", "\r\n"), end))


def _nearest(rows: Sequence[int], hint: int) -> int | None:
    """The row nearest to another one, None if two are equally near."""
    best = sorted(rows, key=lambda row: abs(row - hint))
    return None if abs(best[0] - hint) == abs(best[1] - hint) else best[0]


def _miss(error: MatchError, reading: Reading, text: str) -> MissError:
    there = error.code == "not_found" and done_already(*reading, error.candidates, text)
    if there:
        return applied_already(there)
    places = error.match.spans if error.code == "ambiguous" else error.candidates
    lines = tuple(place.start_line for place in places[:_LINE_CODES])
    return MissError(error.code, error.message, lines=lines, candidates=error.candidates)
