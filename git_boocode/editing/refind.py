"""Find the lines that an edit wrote again, in a file that has moved on since."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.editing.lines import Range, changed_ranges, occurrences
from git_boocode.editing.reindent import Steps, at_their_depth

if TYPE_CHECKING:
    from git_boocode.matching import Candidate

ALREADY = "rewound"
"""The rung of a place where the old text stands already."""
CONTEXT = 3
"""So many lines above and below a place are looked for with it, at the least."""
_STRETCHES = (CONTEXT, 50)
"""So many unchanged lines around a place identify it, before all of them are taken."""
BLANKS = "whitespace"
"""The rung of a place that differs in blanks alone, as the matcher's default profile calls it."""
MANY = 16
"""Up to so many places of a file are looked for one by one, each in the whole file."""
_LINES_READ = 4_000_000
"""So many lines are read to look for the places of one file one by one, at the most."""
_MISSES = 8
"""After so many places that are not found the others of the file are not looked for."""
_EVIDENCE = 8
"""So many letters and digits are more than what stands in a line by chance."""
_LISTED = 5
BY_HAND = "take it back by hand: 'git boocode show {id}' prints the edit's diff"
"""What to do where nothing is certain; who knows the record puts its id in."""


class Found(NamedTuple):
    """A place that was taken back.

    Attributes:
        rung: what found it.
        similarity: 0.0 to 1.0.
        lines: the first and the last line that were replaced, 1-based, inclusive.
        notes: what was done beyond replacing the lines.
    """

    rung: str
    similarity: float
    lines: tuple[int, int]
    notes: tuple[str, ...] = ()


class _Core(NamedTuple):
    """Recorded lines `start` to `end` (from 0, exclusive), which stand where `old` stood before."""

    start: int
    end: int
    old: list[str]


class _Change(NamedTuple):
    """Lines of the file from `place` on, now `there`, that become `lines`."""

    place: int
    there: list[str]
    lines: list[str]
    found: Found


class _Run(NamedTuple):
    """Recorded lines from `start` to `end` that stand unchanged, `offset` lines further down.

    Attributes:
        top: nothing stands above it, neither as recorded nor now.
        bottom: nothing stands below it.
    """

    start: int
    end: int
    offset: int
    top: bool
    bottom: bool

    def holds(self, core: _Core) -> bool:
        """Whether a core is part of it; nothing, between two lines of it."""
        if core.start < core.end:
            return self.start <= core.start and core.end <= self.end
        above = self.start < core.start or (self.top and core.start == self.start)
        below = core.end < self.end or (self.bottom and core.end == self.end)
        return above and below


class _Stretch(NamedTuple):
    """Unchanged lines around a core, and how far all of it has moved down."""

    above: int
    below: int
    offset: int


def listed(lines: Sequence[int]) -> str:
    """Line numbers in words."""
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
    return f"lines {', '.join(map(str, lines[:_LISTED]))}{more}"


class Refinder:
    """Takes the ranges of one file back, from the last to the first.

    What is taken back in the file is taken back in the recorded text too: the lines around the
    next range are those that the file has around it by then. Many ranges are mapped through one
    comparison of the two texts instead, and only those that it does not place are looked for.

    Args:
        recorded: the lines that the edit left, with their endings.
        now: the lines that the file has.
        exact_only: the file is no text, so that nothing tolerant may touch it.
    """

    def __init__(self, recorded: list[str], now: list[str], *, exact_only: bool) -> None:
        self.recorded = recorded
        self.now = now
        self.exact_only = exact_only

    def take_back_all(self, areas: Sequence[Range], old: list[str]) -> list[Found | MissError]:
        """Put old lines in the place of all those that the edit wrote.

        Args:
            areas: the ranges from old to recorded lines, in order.
            old: the lines before the edit.

        Returns:
            For each range what was found, or why it cannot be taken back. Where one cannot, the
            lines of the file are of no use any more.
        """
        cores = [_Core(area.new_start, area.new_end, old[area.start : area.end]) for area in areas]
        mapped = self._mapped(cores) if len(cores) > MANY else {}
        if len(mapped) == len(cores):
            changes = [mapped[number] for number in range(len(cores))]
            self.now[:] = _rebuilt(self.now, changes)
            return [change.found for change in changes]
        return self._one_by_one(cores, mapped)

    def _one_by_one(
        self, cores: Sequence[_Core], mapped: dict[int, _Change]
    ) -> list[Found | MissError]:
        results: list[Found | MissError] = []
        misses, moved = 0, _Moved()
        left = max(MANY, _LINES_READ // max(len(self.now) + len(self.recorded), 1))
        for number in reversed(range(len(cores))):
            core, change = cores[number], mapped.get(number)
            try:
                if misses >= _MISSES or (change is None and not left):
                    raise _unsought(looked_for=misses < _MISSES)
                if change is None:
                    left -= 1
                    change = self._sought(core)
                    self._make(core, change)
                    moved.note(change)
                else:
                    self._make(core, change._replace(place=moved.now(change.place)))
                results.append(change.found)
            except MissError as miss:
                misses += 1
                results.append(miss)
        return results[::-1]

    def _sought(self, core: _Core) -> _Change:
        change = self._found(core)
        if change is None:
            raise self._refusal(core)
        return change

    def _make(self, core: _Core, change: _Change) -> None:
        place, stop = change.place, change.place + len(change.there)
        if self.now[place:stop] != change.there:
            # Another place was found in the same lines, so that neither is certain.
            raise _ambiguous((place + 1,))
        self.now[place:stop] = change.lines
        self.recorded[core.start : core.end] = core.old

    def _found(self, core: _Core) -> _Change | None:
        place = self._by_text(core)
        if place is not None:
            return self._put(core, place)
        if self._is_back(core):
            return _back()
        return self._by_neighbours(core) or self._by_blanks(core)

    def _needle(self, core: _Core, above: int, below: int) -> list[str]:
        return self.recorded[max(core.start - above, 0) : core.end + below]

    # 0. Many at once, where one comparison of the two texts shows them.

    def _mapped(self, cores: Sequence[_Core]) -> dict[int, _Change]:
        """The changes of the ranges that stand in an unchanged stretch which is there once."""
        found = self._mapped_by(dict(enumerate(cores)), str)
        rest = {number: core for number, core in enumerate(cores) if number not in found}
        if len(rest) > MANY and not self.exact_only:
            found |= self._mapped_by(rest, _squeezed)
        return found

    def _mapped_by(self, wanted: dict[int, _Core], key: Callable[[str], str]) -> dict[int, _Change]:
        recorded, now = list(map(key, self.recorded)), list(map(key, self.now))
        runs = _runs(changed_ranges(recorded, now), len(recorded), len(now))
        starts = [run.start for run in runs]
        mine, theirs = _Squeezed(recorded), _Squeezed(now)
        once: dict[_Run, bool] = {}
        found: dict[int, _Change] = {}
        for number, core in wanted.items():
            # Where nothing is left of a range, the stretch that ends there holds it if any does.
            at = bisect_right(starts, core.start) - 1
            if at < 0 or not (run := runs[at]).holds(core):
                continue
            if run not in once:
                area = mine.area(run.start, run.end)
                once[run] = mine.has_once(area) and theirs.has_once(area)
            change = self._in_run(core, run, exact=key is str) if once[run] else None
            if change is not None:
                found[number] = change
        return found

    def _in_run(self, core: _Core, run: _Run, *, exact: bool) -> _Change | None:
        above, below = core.start - run.start, run.end - core.end
        if exact and (
            (above < CONTEXT and run.start) or (below < CONTEXT and run.end < len(self.recorded))
        ):
            return None
        stretch = _Stretch(min(above, _STRETCHES[-1]), min(below, _STRETCHES[-1]), run.offset)
        if not self._is_certain(core, stretch.above, stretch.below):
            return None
        return self._between(core, stretch)

    # 1. The lines as they were written, with the lines around them.

    def _by_text(self, core: _Core) -> int | None:
        for above, below in self._widths(core):
            needle = self._needle(core, above, below)
            if not _once(self.recorded, needle):
                continue
            found = _places(self.now, needle, 2)
            if len(found) == 1:
                return found[0] + above
            if not found:
                return None
        return None

    def _widths(self, core: _Core) -> Iterator[tuple[int, int]]:
        """Lines of context above and below, more and more of them, up to all."""
        most = core.start, len(self.recorded) - core.end
        width = CONTEXT
        while width < 2 * max(*most, CONTEXT):
            yield min(width, most[0]), min(width, most[1])
            width *= 2

    def _put(self, core: _Core, place: int) -> _Change:
        stop = place + core.end - core.start
        lines = _closed(core.old, self.now, stop)
        return _Change(place, self.now[place:stop], lines, Found("exact", 1.0, (place + 1, stop)))

    # 2. The old lines in their place: nothing to do.

    def _is_back(self, core: _Core) -> bool:
        wrote = self.recorded[core.start : core.end]
        above = self.recorded[max(core.start - CONTEXT, 0) : core.start]
        needle = [*above, *core.old, *self.recorded[core.end : core.end + CONTEXT]]
        if not _once(self.now, needle) or _places(self.recorded, needle, 1):
            return False
        # Lines that were moved elsewhere are not gone.
        moved = _places(_squeezed_all(self.now), _squeezed_all(wrote), 1)
        return not (_is_telling(wrote) and moved)

    # 3. The lines between which they stand, all of them unchanged but for blanks.

    def _by_neighbours(self, core: _Core) -> _Change | None:
        recorded, now = (list(map(self._key, lines)) for lines in (self.recorded, self.now))
        stretch = _unchanged(changed_ranges(recorded, now), core, len(recorded))
        if stretch is None:
            return None
        for most in (*_STRETCHES, len(recorded)):
            above, below = min(stretch.above, most), min(stretch.below, most)
            needle = recorded[core.start - above : core.end + below]
            if self._is_unique(recorded, needle) and self._is_unique(now, needle):
                if not self._is_certain(core, above, below):
                    return None
                # The depth is read off all lines near by, not only off those that identify it.
                above, below = (min(found, _STRETCHES[-1]) for found in stretch[:2])
                return self._between(core, stretch._replace(above=above, below=below))
        return None

    def _is_unique(self, lines: Sequence[str], needle: Sequence[str]) -> bool:
        if self.exact_only:
            return _once(lines, needle)
        # Copies of a block are not told apart by the blank lines around them.
        return _once(_squeezed_all(lines), _squeezed_all(needle))

    @property
    def _key(self) -> Callable[[str], str]:
        return str if self.exact_only else _squeezed

    def _is_certain(self, core: _Core, above: int, below: int) -> bool:
        if core.start == core.end:
            # Nothing is left of the edit there: both lines between which it was must be.
            top, bottom = not core.start, core.end == len(self.recorded)
            return bool((above or top) and (below or bottom) and not (top and bottom))
        wrote = self.recorded[core.start : core.end]
        around = self._needle(core, above, 0)[:above] + self.recorded[core.end : core.end + below]
        return any(map(str.strip, around)) or _is_telling(wrote)

    def _between(self, core: _Core, stretch: _Stretch) -> _Change | None:
        start = core.start - stretch.above
        needle = self.recorded[start : core.end + stretch.below]
        there = self.now[start + stretch.offset : start + stretch.offset + len(needle)]
        inner = slice(stretch.above, len(needle) - stretch.below)
        place = core.start + stretch.offset
        if there == needle or (
            there[inner] == needle[inner] and any(map(str.strip, needle[inner]))
        ):
            return self._put(core, place)
        if there[inner] == core.old:
            return _back()
        if self.exact_only:
            return None
        return self._fitted(core, place, list(zip(needle, there, strict=True)), inner)

    def _fitted(
        self, core: _Core, place: int, pairs: list[tuple[str, str]], inner: slice
    ) -> _Change | None:
        """The old lines at the depth of those around them; None if that is not certain."""
        if (
            _is_blank_change(core, self.recorded[core.start : core.end])
            and len({pair[0] == pair[1] for pair in pairs if pair[0].strip()}) > 1
        ):
            return None
        moved = at_their_depth(pairs, inner, core.old, self._steps)
        if moved is None or not self._ends_line(place):
            return None
        change = self._put(core._replace(old=_ended(moved, pairs[inner])), place)
        if moved == core.old:
            return change
        notes = ("reindented",) if _bodies(moved) != _bodies(core.old) else ()
        return change._replace(found=change.found._replace(rung=BLANKS, notes=notes))

    def _ends_line(self, place: int) -> bool:
        return not place or self.now[place - 1].endswith("\n")

    @cached_property
    def _steps(self) -> Steps:
        return Steps.of(self.recorded, self.now)

    # 4. Anywhere in the file, at another indentation or otherwise not quite as written.

    def _by_blanks(self, core: _Core) -> _Change | None:
        """Where the lines stand with those around them, but for blanks.

        That is what the matcher's strict rungs find; what looser ones do would not be what the
        edit wrote.
        """
        wrote = self.recorded[core.start : core.end]
        if self.exact_only or core.start == core.end or _is_blank_change(core, wrote):
            return None
        widths = (
            width
            for width in self._widths(core)
            if _once(self.recorded, self._needle(core, *width))
        )
        context = next(widths, None)
        if context is None:
            return None
        needle = self._needle(core, *context)
        keys = list(map(_squeezed, needle))
        now = list(map(_squeezed, self.now))
        found = _places(now, keys, _LISTED + 1)
        if len(found) > 1:
            raise _ambiguous(tuple(place + 1 for place in found))
        if not found or not self._is_unique(now, keys) or not _is_telling(needle):
            return None
        above = min(context[0], core.start)
        pairs = list(zip(needle, self.now[found[0] :][: len(needle)], strict=True))
        inner = slice(above, above + len(wrote))
        return self._fitted(core, found[0] + above, pairs, inner)

    # Why not.

    def _refusal(self, core: _Core) -> MissError:
        wrote = self.recorded[core.start : core.end]
        for needle in (self._needle(core, CONTEXT, CONTEXT), wrote if _is_telling(wrote) else []):
            places = _places(self.now, needle, _LISTED + 1)
            if len(places) > 1:
                return _ambiguous(tuple(place + 1 for place in places))
        ranges = changed_ranges(self.recorded, self.now)
        first = _stands_at(ranges, core.start, upper=False) + 1
        last = _stands_at(ranges, core.end, upper=True)
        if last < first:
            said = f"what the edit wrote is not there any more (after line {last})"
            if core.start == core.end:
                said = f"the lines around what the edit deleted have changed (near line {first})"
            return MissError("conflict", said, lines=(max(last, 1),), hint=BY_HAND)
        where = f"line {first}" if first == last else f"lines {first}-{last}"
        return MissError(
            "conflict",
            f"what the edit wrote has changed since, at {where}",
            lines=tuple(range(first, last + 1)),
            candidates=self._shown(core, first, last),
            hint=BY_HAND,
        )

    def _shown(self, core: _Core, first: int, last: int) -> tuple[Candidate, ...]:
        from difflib import SequenceMatcher

        from git_boocode.matching import Candidate

        there = "".join(self.now[first - 1 : last])
        wrote = "".join(self.recorded[core.start : core.end])
        likeness = SequenceMatcher(None, wrote, there, autojunk=False).quick_ratio()
        return (Candidate(first, last, likeness, there),)


def _ambiguous(lines: tuple[int, ...], candidates: tuple[Candidate, ...] = ()) -> MissError:
    return MissError(
        "ambiguous",
        f"what the edit wrote stands in several places now, at {listed(lines)}",
        lines=lines,
        candidates=candidates,
        hint=BY_HAND,
    )


def _places(lines: Sequence[str], needle: Sequence[str], most: int) -> list[int]:
    """Where some lines stand among others, at the most so many places."""
    return list(islice(occurrences(lines, needle), most))


def _once(lines: Sequence[str], needle: Sequence[str]) -> bool:
    return len(_places(lines, needle, 2)) == 1


def _squeezed(line: str) -> str:
    return "".join(line.split())


def _squeezed_all(lines: Sequence[str]) -> list[str]:
    return [line for line in map(_squeezed, lines) if line]


def _is_telling(lines: Sequence[str]) -> bool:
    return sum(map(str.isalnum, "".join(lines))) >= _EVIDENCE


def _is_blank_change(core: _Core, wrote: list[str]) -> bool:
    """Whether an edit changed nothing but blanks, of which no tolerant match can be sure."""
    return _squeezed_all(wrote) == _squeezed_all(core.old)


def _closed(old: list[str], now: list[str], stop: int) -> list[str]:
    """Old lines, the last one with a line ending if lines of the file follow it."""
    if stop == len(now) or not old or old[-1].endswith("\n"):
        return old
    return [*old[:-1], old[-1] + ("\r\n" if now[stop - 1].endswith("\r\n") else "\n")]


def _unchanged(ranges: Sequence[Range], core: _Core, height: int) -> _Stretch | None:
    """The unchanged lines around a core; None if it changed itself.

    Args:
        ranges: what changed from the recorded lines to those of the file.
        core: the lines in question.
        height: how many lines were recorded.
    """
    first, last, offset = 0, height, 0
    for found in ranges:
        if core.start == core.end and found.start <= core.start <= found.end:
            return None
        if found.start < core.end and found.end > core.start:
            return None
        if found.end <= core.start:
            first, offset = found.end, found.new_end - found.end
        else:
            last = min(last, found.start)
    return _Stretch(core.start - first, last - core.end, offset)


def _stands_at(ranges: Sequence[Range], row: int, *, upper: bool) -> int:
    """Where a recorded line stands in the file; in a changed range, its end or its beginning."""
    offset = 0
    for found in ranges:
        if found.start <= row <= found.end:
            return found.new_end if upper else found.new_start
        if found.end < row:
            offset = found.new_end - found.end
    return row + offset


def _back() -> _Change:
    return _Change(0, [], [], Found(ALREADY, 1.0, (1, 0)))


def _unsought(*, looked_for: bool) -> MissError:
    said = "the others were not looked for"
    if looked_for:
        said = "the file is too large to look for so many places one by one"
    return MissError("conflict", said, hint=BY_HAND)


def _rebuilt(lines: Sequence[str], changes: Sequence[_Change]) -> list[str]:
    """Lines with many changes made, which are in order."""
    made: list[str] = []
    at = 0
    for change in changes:
        if change.found.rung == ALREADY:
            continue
        made += lines[at : change.place]
        made += change.lines
        at = change.place + len(change.there)
    return [*made, *lines[at:]]


def _ended(old: list[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Old lines with a final newline, or without, as someone changed the lines that they replace.

    Args:
        old: the old lines.
        pairs: the recorded lines in their place, and what they are now.
    """
    if not old or not pairs:
        return old
    had, has = (line.endswith("\n") for line in pairs[-1])
    last = old[-1]
    if had and not has:
        last = last.removesuffix("\n").removesuffix("\r")
    elif has and not had and not last.endswith("\n"):
        last += "\r\n" if pairs[-1][1].endswith("\r\n") else "\n"
    return [*old[:-1], last]


def _bodies(lines: Sequence[str]) -> list[str]:
    return [line.rstrip("\r\n") for line in lines]


class _Moved:
    """By how much lines moved that stand below changes which were made out of order."""

    def __init__(self) -> None:
        self._made: list[tuple[int, int]] = []

    def note(self, change: _Change) -> None:
        """Take in a change; those from the last to the first need not be, they move nothing."""
        height = len(change.lines) - len(change.there)
        if height:
            self._made.append((change.place, height))

    def now(self, place: int) -> int:
        """Where a line stands now."""
        return place + sum(height for at, height in self._made if at < place)


def _runs(ranges: Sequence[Range], height: int, height_now: int) -> list[_Run]:
    """The stretches between the changed ranges."""
    runs: list[_Run] = []
    start, new_start = 0, 0
    for found in [*ranges, Range(height, height, height_now, height_now)]:
        top = start == new_start == 0
        bottom = found.start == height and found.new_start == height_now
        if found.start > start:
            runs.append(_Run(start, found.start, new_start - start, top, bottom))
        start, new_start = found.end, found.new_end
    return runs


class _Squeezed:
    """Lines without blanks and blank lines, indexed to look long stretches of them up."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines: list[str] = []
        # For each line how many that are not blank stand above it.
        self._before: list[int] = []
        self._rows: dict[str, list[int]] = {}
        for line in map(_squeezed, lines):
            self._before.append(len(self._lines))
            if line:
                self._rows.setdefault(line, []).append(len(self._lines))
                self._lines.append(line)
        self._before.append(len(self._lines))

    def area(self, start: int, end: int) -> list[str]:
        """Lines of this text, without those that are blank."""
        return self._lines[self._before[start] : self._before[end]]

    def has_once(self, needle: Sequence[str]) -> bool:
        """Whether lines stand in this text exactly once, blank lines aside."""
        if not needle:
            return False
        rarest = min(range(len(needle)), key=lambda row: len(self._rows.get(needle[row], ())))
        found = 0
        for row in self._rows.get(needle[rarest], ()):
            at = row - rarest
            if at >= 0 and at + len(needle) <= len(self._lines):
                found += self._lines[at : at + len(needle)] == needle
            if found > 1:
                return False
        return found == 1
