"""Find the lines that a change of a text wrote, in that text as it is now.

The lines are replaced where all ways to align the text with its earlier version agree on their
place; lines beside them may have changed. Otherwise they are searched for, ignoring whitespace, and
replaced only if they occur once with their context.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.matching.align import LineIndex, script, similarity
from git_boocode.matching.alignments import Alignments, is_same_result
from git_boocode.matching.replace import listed_lines
from git_boocode.matching.text import Text, common_prefix, indent_of, lines_of, split_lines
from git_boocode.matching.three_way import Region, changed_regions, spliced_rows, with_our_endings
from git_boocode.matching.types import Candidate, MatchError, Rows

_CONTEXT = 2  # minimum number of context lines above and below moved lines
_AROUND = 50  # maximum number of lines above and below that identify a place
_EVIDENCE = 8  # minimum number of letters and digits in lines that identify a place
_MISSES = 8  # maximum number of failed places before the search stops
_COMPARED = 4_000  # characters of two texts that are compared for the similarity in a refusal
_UNCERTAIN = "it is uncertain which of several equal lines the edit wrote"
# The caller fills in the record's id.
BY_HAND = "undo it by hand: 'git boocode show {id}' prints the edit's diff"
conflict = partial(MissError, "conflict", hint=BY_HAND)
Indents = tuple[str, str]  # the indentation of a line as recorded, and now


class Unreverted(NamedTuple):
    """A part of a change that cannot be taken back.

    Its ``rows`` of the file would become the ``lines``; they were ``recorded`` otherwise.
    """

    rows: Rows
    lines: Sequence[str]
    recorded: Sequence[str]
    message: str

    @property
    def lines_now(self) -> tuple[int, int]:
        """Its 1-based lines of the file, both inclusive; the end of no lines is one less."""
        return self.rows[0] + 1, self.rows[1]


class Reversal(NamedTuple):
    """Replace rows ``first`` to ``stop`` of the file by ``lines``."""

    first: int
    stop: int
    lines: list[str]
    rung: str = "exact"
    reindented: bool = False

    def meets(self, following: Reversal) -> bool:
        """Whether the next one replaces some of the same rows, or begins at the same one."""
        return following.first < self.stop or following.first == self.first


_Outcome = Reversal | MissError | None
"""What becomes of a region: a replacement, nothing if it is reverted already, or an error."""


class _Side:
    """The rows of a text, those without their line endings, and their comparison ``keys``."""

    def __init__(self, text: str, *, raw: bool) -> None:
        self.rows = split_lines(text)
        self.plain = self.rows if raw else [*map(_plain, self.rows)]
        self.keys = self.rows if raw else [*map(str.strip, self.rows)]

    @cached_property
    def index(self) -> LineIndex:
        """The index of all rows."""
        return LineIndex(self.keys)

    @cached_property
    def filled(self) -> LineIndex:
        """The index of the nonblank rows."""
        return LineIndex([*filter(None, self.keys)])


class LineReverter:
    """Reverts the changes of an edit: ``texts`` are those before, after, and now.

    With ``raw`` the file is not text, and whitespace is not ignored. If it is ``strict``, removed
    lines do not come back beside what others have added at the same end of the file, and lines that
    say little are not taken for the edit's without a neighbour.
    """

    def __init__(self, texts: Sequence[str], *, raw: bool, strict: bool) -> None:
        before, after, now = texts
        self.strict = strict
        if not raw:
            before, after = (with_our_endings(after, now, text) for text in (before, after))
        self.ending = Text(now).usual_ending
        self.before, self.after, self.now = (_Side(text, raw=raw) for text in (before, after, now))
        # The rows of the result that the edit changed, with their original rows as theirs.
        self.regions, *self._other_regions = changed_regions(after, before)
        self._aligned = Alignments(self.after.plain, self.now.plain)
        self._aligned_before = Alignments(self.before.plain, self.now.plain)

    def changes(self) -> list[Reversal]:
        """The replacements in order, except for places that are already reverted."""
        found: dict[Region, _Outcome] = {}
        misses: list[MissError] = []
        for region, outcome in self._outcomes():
            found[region] = outcome
            if isinstance(outcome, MissError):
                misses.append(outcome)
                if len(misses) == _MISSES:
                    break
        if not misses and self._uncertain(found):
            misses.append(conflict(_UNCERTAIN))
        changes = [each for each in found.values() if isinstance(each, Reversal)]
        changes.sort(key=lambda change: (change.first, change.stop))
        misses += [
            _ambiguous([other.first]) for one, other in pairwise(changes) if one.meets(other)
        ]
        if misses:
            raise _as_one(misses, len(self.regions))
        return changes

    def outcome(self) -> tuple[list[Reversal], list[Unreverted]]:
        """The replacements in order, and what cannot be reverted, which none of them touches."""
        found = dict(self._outcomes())
        changes = {region: each for region, each in found.items() if isinstance(each, Reversal)}
        failed = {region for region, each in found.items() if isinstance(each, MissError)}
        failed |= self._uncertain(found)
        for one, other in pairwise(sorted(changes, key=lambda region: changes[region][:2])):
            if changes[one].meets(changes[other]):
                failed |= {one, other}
        while True:
            hulls = _joined(map(self._hull, failed))
            bases, places = [base for base, _ in hulls], [now for _, now in hulls]
            # What is in the middle of another conflict is a part of it.
            inside = {
                region
                for region in self.regions
                if _first_met(bases, region.base) is not None
                or (region in changes and _first_met(places, changes[region][:2]) is not None)
            }
            if inside <= failed:
                break
            failed |= inside
        messages: dict[int | None, str] = {}
        for region, each in found.items():
            if isinstance(each, MissError):
                messages.setdefault(_first_met(bases, region.base), each.message)
        left = [
            Unreverted(
                now,
                self._old_rows(base),
                self.after.rows[slice(*base)],
                messages.get(number, _UNCERTAIN),
            )
            for number, (base, now) in enumerate(hulls)
        ]
        kept = (change for region, change in changes.items() if region not in failed)
        return sorted(kept, key=lambda change: (change.first, change.stop)), left

    def _uncertain(self, found: Mapping[Region, _Outcome]) -> set[Region]:
        """The regions that are other ones, with another result, if the edit is read otherwise."""
        uncertain: set[Region] = set()
        for others in self._other_regions:
            own = set(self.regions).difference(others)
            outcomes = [self._outcome_of(each) for each in others if each not in found]
            wanted = [found[region] for region in self.regions if region in own]
            if self._text_with(outcomes) is None or (
                self._text_with(outcomes) != self._text_with(wanted)
            ):
                uncertain |= own
        return uncertain

    def _text_with(self, outcomes: Iterable[_Outcome]) -> str | None:
        """The text after some changes; None if one of them cannot be made, or meets another."""
        changes: list[Reversal] = []
        for outcome in outcomes:
            if isinstance(outcome, MissError):
                return None
            if outcome is not None:
                changes.append(outcome)
        changes.sort(key=lambda change: change[:2])
        if any(one.meets(other) for one, other in pairwise(changes)):
            return None
        return spliced_rows(self.now.rows, (change[:3] for change in changes))

    def _hull(self, region: Region) -> tuple[Rows, Rows]:
        """The rows around a region whose neighbours are unchanged: recorded ones, and now."""
        (start, stop), rows = region.base, self._rows_now
        above = next(row for row in range(start, -1, -1) if rows[row] is not None)
        below = next(row for row in range(stop + 1, len(rows)) if rows[row] is not None)
        first, end = rows[above], rows[below]
        assert first is not None
        assert end is not None
        return (above, below - 1), (first + 1, max(end, first + 1))

    def _old_rows(self, base: Rows) -> list[str]:
        """The original rows in place of recorded ones, which hold whole regions."""
        ends = []
        for row in base:
            above = bisect_right(self.regions, row, key=lambda region: region.base[1]) - 1
            if row == base[0] and above >= 0 and self.regions[above].base[0] == row:
                # What was removed at the first row is a part of it.
                above -= 1
            region = self.regions[above] if above >= 0 else None
            ends.append(row + (region.theirs[1] - region.base[1] if region else 0))
        return self.before.rows[slice(*ends)]

    def _outcomes(self) -> Iterator[tuple[Region, _Outcome]]:
        return ((region, self._outcome_of(region)) for region in self.regions)

    def _outcome_of(self, region: Region) -> _Outcome:
        try:
            return self._change(region)
        except MissError as miss:
            return miss
        except MatchError as error:
            return conflict(error.message)

    def _change(self, region: Region) -> Reversal | None:
        place = self._certain_place(region)
        if place is not None:
            end = place + region.base[1] - region.base[0]
            old = self.before.rows[slice(*region.theirs)]
            lines = self._with_endings(region, place, old)
            return Reversal(place, end, lines) if lines != self.now.rows[place:end] else None
        if self._is_back(region):
            return None
        for place in self._places(region):
            change = self._put(region, place)
            if change is not None:
                return change
        raise self._refusal(region)

    def _certain_place(self, region: Region) -> int | None:
        """The first row now of what an edit wrote, if all alignments agree; None if uncertain."""
        old = self.before.plain[slice(*region.theirs)]
        found = self._aligned.place(region.base, old)
        if found is None and self.strict and self._aligned.are_disputed(region.base, old):
            raise conflict(_UNCERTAIN)
        if found is None or (found.first and not self.now.rows[found.first - 1].endswith("\n")):
            return None
        above, below = self._around(region, found.first)
        if not self._is_read_alike(region, found.first, (above, below)):
            raise conflict(_UNCERTAIN)
        if self._is_reindented(region, found.first, (above, below)):
            return None
        is_framed = found.framed and not self._has_more(region, self.after)
        return found.first if is_framed or self._is_identified(region, above, below) else None

    def _is_read_alike(self, region: Region, place: int, around: tuple[int, int]) -> bool:
        """Whether the result is the same if equal lines above are the edit's instead.

        Lines that it only added or only removed may begin with some that end above them.
        """
        (start, stop), (first, last), above = region.base, region.theirs, around[0]
        if start == stop:
            rows, others, end = self.before.plain, self.after.plain, last
        else:
            rows, others, end = self.after.plain, self.after.plain, stop
            if first < last:
                return True
        steps = 0
        while steps < start and others[start - 1 - steps] == rows[end - 1 - steps]:
            steps += 1
        if start == stop:
            # The lines above are the same, and so is the one above these.
            is_alike = not steps or above > steps or above == steps == start == place
            return is_alike and self._is_anchored(start, place, around)
        size = stop - start
        for step in range(1, min(steps, _AROUND) + 1):
            found = self._aligned.place((start - step, stop - step), ())
            if found and not is_same_result(self.now.plain, (place, found.first), size, ()):
                return False
        return True

    def _is_anchored(self, row: int, place: int, around: tuple[int, int]) -> bool:
        """Whether the rows between a place and the next changes are not in these as well."""
        after, now, rows = self.after.keys, self.now.keys, self._rows_now
        top, end = row - around[0], row + around[1]
        above = next(each for each in range(top, -1, -1) if rows[each] is not None)
        below = next(each for each in range(end + 1, len(rows)) if rows[each] is not None)
        first, last = rows[above], rows[below]
        assert first is not None
        assert last is not None
        runs = after[top:row], after[row:end]
        sides = (
            (after[above:row], now[first + 1 : place]),
            (after[row : below - 1], now[place:last]),
        )
        return all(
            len(LineIndex(side).find(run)) == 1
            for run, changed in zip(runs, sides, strict=True)
            for side in changed
            if run
        )

    def _is_reindented(self, region: Region, place: int, around: tuple[int, int]) -> bool:
        """Whether the nearest line above or below a place has another indentation now."""
        start, stop = region.base
        end = place + stop - start
        above = ((start - step, place - step) for step in range(1, around[0] + 1))
        below = ((stop + step, end + step) for step in range(around[1]))
        for pairs in (above, below):
            filled = ((row, now) for row, now in pairs if self.after.keys[row])
            for row, now in islice(filled, 1):
                if self.after.plain[row] != self.now.plain[now]:
                    return True
        return False

    def _is_back(self, region: Region) -> bool:
        """Whether the original lines are back between their neighbours."""
        if self._has_more(region, self.before) or self._aligned.may_be_there(region.base):
            return False
        lines = self.before.plain[slice(*region.theirs)]
        found = self._aligned_before.place(region.theirs, lines)
        return found is not None and found.framed

    def _has_more(self, region: Region, side: _Side) -> bool:
        """Whether all lines that an edit wrote occur more often in the file than in a text."""
        wrote = [*filter(None, self.after.keys[slice(*region.base)])]
        now, there = self.now.filled.rows, side.filled.rows
        return _has_evidence(wrote) and all(
            len(now.get(key, ())) > len(there.get(key, ())) for key in wrote
        )

    def _places(self, region: Region) -> Iterator[int]:
        """The possible first rows of the lines that an edit wrote, the likeliest first."""
        start, stop = region.base
        # For a deletion, both neighbouring lines must exist.
        near = slice(start + 1, stop + 1) if start < stop else slice(start, stop + 2)
        first, *rest = self._rows_now[near]
        if first is not None and rest == [*range(first + 1, first + 1 + len(rest))]:
            yield first if start < stop else first + 1
        yield from self._moved(region)

    @cached_property
    def _rows_now(self) -> list[int | None]:
        """The current row of each recorded row, starting above the first one; None if missing."""
        rows: list[int | None] = [-1, *[None] * len(self.after.rows), len(self.now.rows)]
        for hunk in script(self.after.keys, self.now.keys):
            if hunk.same:
                rows[hunk.i1 + 1 : hunk.i2 + 1] = range(hunk.j1, hunk.j2)
        return rows

    def _moved(self, region: Region) -> Iterator[int]:
        """Another place of the rows that an edit wrote, with the lines around them."""
        (start, stop), keys, width = region.base, self.after.keys, _CONTEXT
        while len(self.after.index.find(keys[max(start - width, 0) : stop + width])) > 1:
            width *= 2
        first = max(start - width, 0)
        found = self.now.index.find(keys[first : stop + width])
        if len(found) == 1 and _has_evidence(keys[first : stop + width]):
            yield found[0] + start - first

    def _around(self, region: Region, place: int) -> tuple[int, int]:
        """The numbers of equal rows above and below a place, ignoring whitespace."""
        start, stop = region.base
        end, after, now = place + stop - start, self.after, self.now
        top, high = max(start - _AROUND, 0), max(place - _AROUND, 0)
        above = common_prefix(after.keys[top:start][::-1], now.keys[high:place][::-1])
        below = common_prefix(after.keys[stop : stop + _AROUND], now.keys[end : end + _AROUND])
        return above, below

    def _put(self, region: Region, place: int) -> Reversal | None:
        """The replacement at a place; None if the place is uncertain."""
        (start, stop), old = region.base, self.before.rows[slice(*region.theirs)]
        end, after, now = place + stop - start, self.after, self.now
        above, below = self._around(region, place)
        recorded = after.rows[start - above : stop + below]
        there = now.rows[place - above : end + below]
        exact = recorded == there
        wrote = [*filter(None, after.keys[start:stop])]
        only_whitespace = wrote and wrote == [*filter(None, map(str.strip, old))]
        if (
            not self._is_identified(region, above, below)
            or (place and not now.rows[place - 1].endswith("\n"))
            or (only_whitespace and not exact)
        ):
            return None
        lines = _carried(old, recorded, there, slice(above, above + stop - start))
        if lines is None:
            return None
        is_open = (above, below) if start == stop else (1, 1)
        if self.strict and not all(is_open):
            # At an end of the file as recorded, where there are other lines now.
            ends = start == place == 0, (stop, end) == (len(after.rows), len(now.rows))
            if not all(map(any, zip(is_open, ends, strict=True))):
                return None
        changed = [*map(indent_of, lines)] != [*map(indent_of, old)]
        if changed and not _has_evidence(after.keys[start - above : stop + below]):
            return None
        lines = self._with_endings(region, place, lines)
        return Reversal(place, end, lines, "exact" if exact else "whitespace", changed)

    def _with_endings(self, region: Region, place: int, lines: Sequence[str]) -> list[str]:
        """The lines for a place; the file's last line may have gained or lost its line ending."""
        (start, stop), after, now, lines = region.base, self.after, self.now, [*lines]
        end = place + stop - start
        if lines:
            had = start == stop or after.rows[stop - 1].endswith("\n")
            has = start == stop or now.rows[end - 1].endswith("\n")
            if (end < len(now.rows) or had < has) and not lines[-1].endswith("\n"):
                lines[-1] += self.ending
            elif end == len(now.rows) and had > has:
                lines[-1] = _plain(lines[-1])
        return lines

    def _is_identified(self, region: Region, above: int, below: int) -> bool:
        """Whether the rows around a place (beside a copy, on each side) occur once in both."""
        (start, stop), keys = region.base, self.after.keys
        if self.strict and not (above or below or _has_evidence(keys[start:stop])):
            return False
        runs = [keys[start - above : stop + below]]
        if self._has_more(region, self.after):
            runs = [keys[start - above : stop], keys[start : stop + below]]
        runs = [[*filter(None, run)] for run in runs]
        indexes = self.after.filled, self.now.filled
        return all(len(index.find(run)) == 1 for run in runs for index in indexes)

    def _refusal(self, region: Region) -> MissError:
        (start, stop), rows, now = region.base, self._rows_now, self.now.rows
        keys = self.after.keys[start:stop]
        if len(found := self.now.index.find(keys)) > 1:
            return _ambiguous(found)
        above = next(row for row in reversed(rows[: start + 1]) if row is not None)
        below = next(row for row in rows[stop + 1 :] if row is not None)
        if start == stop or below <= above + 1:
            message = "the lines that the edit wrote no longer exist"
            if start == stop:
                message = "the lines around the deleted lines have changed"
            return conflict(f"{message}, near line {above + 2}", lines=(max(above + 1, 1),))
        there, wrote = "".join(now[above + 1 : below]), "".join(self.after.rows[start:stop])
        alike = similarity(wrote[:_COMPARED], there[:_COMPARED])
        message = f"the edited lines have changed since, at {lines_of(above + 2, below)}"
        near = Candidate(above + 2, below, alike, there)
        return conflict(message, lines=tuple(range(above + 2, below + 1)), candidates=(near,))


def _overlap(one: Rows, other: Rows) -> bool:
    """Whether rows are among others, or the place of no rows is, or at their ends."""
    if one[0] == one[1]:
        return other[0] <= one[0] <= other[1]
    return one[0] < other[1] and other[0] < one[1]


def _first_met(ranges: Sequence[Rows], rows: Rows) -> int | None:
    """The number of the first of some ascending ranges that others overlap; None if none does."""
    first = bisect_left(ranges, rows[0], key=lambda each: each[1])
    numbers = range(first, min(first + 2, len(ranges)))
    return next((number for number in numbers if _overlap(rows, ranges[number])), None)


def _both(one: Rows, other: Rows) -> Rows:
    return min(one[0], other[0]), max(one[1], other[1])


def _joined(hulls: Iterable[tuple[Rows, Rows]]) -> list[tuple[Rows, Rows]]:
    """Pairs of ranges of rows in order, those that overlap as one."""
    joined: list[tuple[Rows, Rows]] = []
    for hull in sorted(hulls):
        if joined and any(map(_overlap, hull, joined[-1])):
            base, now = joined.pop()
            joined.append((_both(base, hull[0]), _both(now, hull[1])))
        else:
            joined.append(hull)
    return joined


def _plain(row: str) -> str:
    return row.removesuffix("\n").removesuffix("\r")


def _has_evidence(keys: Sequence[str]) -> bool:
    return sum(map(str.isalnum, "".join(keys))) >= _EVIDENCE


def _carried(
    old: Sequence[str], recorded: Sequence[str], now: Sequence[str], core: slice
) -> list[str] | None:
    """Old lines with the file's current indentation of recorded lines; None if uncertain.

    Either the lines that the edit wrote, the ``core``, were shifted together, or the file has a
    new unit of indentation; then exactly the indented lines have changed.
    """
    pairs = [
        (indent_of(one), indent_of(other)) if one.strip() else None
        for one, other in zip(recorded, now, strict=True)
    ]
    above, wrote, below = (
        [*filter(None, part)] for part in (pairs[: core.start], pairs[core], pairs[core.stop :])
    )
    indents = {*above, *wrote, *below} - {("", "")}
    all_changed = all(one and one != other for one, other in indents)
    shift = _shift(indents if all_changed else wrote or above[-1:] + below[:1])
    fit: Callable[[str], str | None]
    if shift is not None:
        # Lines of a single depth may also have been shifted, and prove nothing for other depths.
        sole = all_changed and len(indents) == 1
        fit = dict(indents).get if sole else partial(_shifted, *shift)
    elif all_changed:
        fit = partial(_scaled, dict(indents), *min(indents, key=lambda pair: len(pair[0])))
        if any(fit(one) not in (other, None) for one, other in indents):
            return None
    else:
        return None
    pieces = [(fit(indent_of(line)), line.lstrip()) if line.strip() else ("", line) for line in old]
    lines = [indent + text for indent, text in pieces if indent is not None]
    return lines if len(lines) == len(old) else None


def _shift(pairs: Iterable[Indents]) -> Indents | None:
    """The leading whitespace that all lines have lost and gained; None if it differs."""
    shifts: set[Indents | None] = set()
    for one, other in pairs:
        if other.endswith(one):
            shifts.add(("", other.removesuffix(one)))
        else:
            shifts.add((one.removesuffix(other), "") if one.endswith(other) else None)
    return shifts.pop() if len(shifts) == 1 else None if shifts else ("", "")


def _shifted(less: str, more: str, indent: str) -> str | None:
    return more + indent.removeprefix(less) if indent.startswith(less) else None


def _scaled(known: dict[str, str], unit: str, unit_now: str, indent: str) -> str | None:
    count = len(indent) // len(unit)
    return unit_now * count if indent == unit * count else known.get(indent)


def _ambiguous(rows: Sequence[int]) -> MissError:
    lines = tuple(row + 1 for row in rows)
    message = f"the edited lines now occur several times, at {listed_lines(lines)}"
    return MissError("ambiguous", message, lines=lines, hint=BY_HAND)


def _as_one(misses: Sequence[MissError], count: int) -> MissError:
    if len(misses) == 1:
        return misses[0]
    messages = "; ".join(dict.fromkeys(miss.message for miss in misses))
    least = "at least " if len(misses) == _MISSES < count else ""
    return MissError(
        "conflict" if any(miss.code == "conflict" for miss in misses) else "ambiguous",
        f"{least}{len(misses)} of {count} places cannot be reverted: {messages}",
        lines=tuple(sorted({line for miss in misses for line in miss.lines})),
        candidates=tuple(candidate for miss in misses for candidate in miss.candidates),
        hint=BY_HAND,
    )
