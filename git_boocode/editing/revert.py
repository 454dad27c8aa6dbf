"""The action of a rewind: take back what a recorded edit did to one file.

A file that has changed since is merged three-way: the recorded result is the base, the file now is
one side, the recorded original the other. Where that merge conflicts, lines are compared without
the whitespace at their ends, and the matcher carries the old lines to what the edit wrote. Only
what the edit wrote is replaced, and only where it and the lines around it occur once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from git_boocode.editing.edits import How, Landing, MissError, Outcome
from git_boocode.editing.textfile import RAW, Text, decode, line_count, split_lines
from git_boocode.matching.align import script
from git_boocode.matching.indentation import indent_of
from git_boocode.matching.similarity import similarity
from git_boocode.matching.three_way import Region, merge_three_way
from git_boocode.matching.types import Candidate

ALREADY = "rewound"
"""The rung of a place where the old lines are already back."""
CONTEXT = 3
"""Lines above and below with which a place is searched for, at least."""
_AROUND = 50
"""Lines above and below that identify a place and show its indentation, at most."""
_EVIDENCE = 8
"""Letters and digits that do not occur in a line by chance."""
_SEARCHED = 100_000_000
"""Characters read to search for the places of one file, at most."""
_MATCHING = 10
"""To match a text takes this many times as long as to search it."""
_MISSES = 8
"""Places that cannot be taken back after which the others are not looked at."""
_COMPARED = 4_000
"""Characters of two texts of which a refusal reports the similarity."""
_LISTED = 5
_UTF_8 = ("utf-8", "utf-8-bom", RAW)
_BY_HAND = "take it back by hand: 'git boocode show {id}' prints the edit's diff"
"""The caller knows the record and fills in its id."""


class Revert(NamedTuple):
    """Bring the bytes of before an edit back.

    ``before`` and ``after`` are the recorded bytes, None if there was no file. With ``moves`` the
    file also gets its old name back. ``executable`` is whether it was executable before; None if
    the edit did not change that.
    """

    before: bytes | None
    after: bytes | None
    moves: bool = False
    executable: bool | None = None

    @property
    def anchors(self) -> str:
        """No other action of the call is for the same file."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """The recorded original if the file is the recorded result, else a merge."""
        del how
        outcome = self._outcome(text)
        if outcome.text is None:
            return outcome
        other = "rename" if self.moves else "mode" if self.executable is not None else ALREADY
        if outcome.landing.rung == ALREADY != other:
            outcome = outcome._replace(landing=_landing(other, (1, line_count(outcome.text.text))))
        return outcome._replace(executable=self.executable)

    def _outcome(self, text: Text | None) -> Outcome:
        now = None if text is None else text.encode()
        if now == self.before:
            return Outcome(text, _already())
        before, after = (None if data is None else decode(data) for data in self[:2])
        if now == self.after:
            return Outcome(before, _whole(before, after))
        if text is None:
            raise MissError("missing_file", "there is no such file")
        if after is None:
            raise MissError(
                "exists",
                "the edit deleted it, and something else is there now",
                hint="move what is there out of the way, then rewind again",
            )
        if before is None:
            rows = split_lines(after.text), split_lines(text.text)
            lines = [hunk.j1 + 1 for hunk in script(*rows) if not hunk.same]
            where = f", at {_listed(lines)}" if lines else ""
            raise MissError(
                "conflict",
                f"the edit created it, and it has changed since{where}",
                lines=tuple(lines),
                hint="what was added since would be lost; delete the file yourself if it may go",
            )
        return _merged(before, after, text)


def _already() -> Landing:
    return Landing("exact", ALREADY, 1.0, 0, 1, 0, ("already rewound",))


def _landing(rung: str, lines: tuple[int, int], places: int = 1) -> Landing:
    return Landing("exact", rung, 1.0, places, *lines)


def _whole(before: Text | None, after: Text | None) -> Landing:
    if before is None or after is None:
        height = 0 if after is None else line_count(after.text)
        return _landing("create" if after is None else "delete", (1, height))
    regions = _edited(before.text, after.text)
    first, stop = regions[0].base if regions else (0, 0)
    return _landing("exact", (first + 1, stop), max(len(regions), 1))


def _edited(before: str, after: str) -> tuple[Region, ...]:
    """What an edit changed: the rows of the result as the base, those of the original as theirs."""
    return merge_three_way(after, after, before).taken


def _merged(before: Text, after: Text, now: Text) -> Outcome:
    texts = before, after, now
    alike = {"utf-8" if text.codec in _UTF_8 else text.codec for text in texts}
    if len(alike) > 1:
        raise MissError(
            "conflict",
            "its encoding has changed, so it can be rewound only where nothing else has",
            hint=_BY_HAND,
        )
    # One version of a file may be valid UTF-8 or have a byte order mark, and the next one not.
    mixed = alike == {"utf-8"}
    characters = [
        text.encode().decode("utf-8", "surrogateescape") if mixed else text.text for text in texts
    ]
    reverter = _Reverter(characters, raw=any(text.is_raw for text in texts))
    changes = reverter.changes()
    result = reverter.rebuilt(changes)
    merged = decode(result.encode("utf-8", "surrogateescape")) if mixed else Text(result, now.codec)
    return Outcome(merged, _reported(changes, len(reverter.cores)))


class _Core(NamedTuple):
    """Recorded rows ``start`` to ``stop`` (exclusive), which were ``old`` before the edit."""

    start: int
    stop: int
    old: list[str]


class _Change(NamedTuple):
    """Rows ``first`` to ``stop`` of the file, which become ``lines``."""

    first: int
    stop: int
    lines: list[str]
    rung: str = "exact"
    notes: tuple[str, ...] = ()


def _reported(changes: Sequence[_Change], cores: int) -> Landing:
    if not changes:
        return _already()
    notes = [note for change in changes for note in change.notes]
    if len(changes) < cores:
        notes.append(f"{cores - len(changes)} of {cores} places already rewound")
    rung = next((change.rung for change in changes if change.rung != "exact"), "exact")
    kind = "exact" if rung == "exact" else "fuzzy"
    first, stop = changes[0][:2]
    return Landing(kind, rung, 1.0, len(changes), first + 1, stop, tuple(dict.fromkeys(notes)))


class _Side:
    """The rows of a text, and what they are compared by."""

    def __init__(self, rows: list[str], key: Callable[[str], str]) -> None:
        self.rows = rows
        self.keys = [key(row) for row in rows]
        self.counts = Counter(self.keys)
        self.framed = _framed(self.keys)

    @cached_property
    def filled(self) -> str:
        """The lines that are not blank, each between two line feeds."""
        return _framed(list(filter(None, self.keys)))


def _framed(keys: Sequence[str]) -> str:
    return "\n".join(["", *keys, ""])


class _Reverter:
    """Takes the changes of an edit back: ``texts`` are those before, after, and now.

    With ``raw`` the file is not text, and only equal bytes are what the edit wrote.
    """

    def __init__(self, texts: Sequence[str], *, raw: bool) -> None:
        before, after, now = texts
        key = _bare if raw else str.strip
        self.raw = raw
        self.before, self.after, self.now = (_Side(split_lines(text), key) for text in texts)
        merge = merge_three_way(after, now, before)
        self._taken = {region.base: region.ours[0] for region in merge.taken}
        self._conflicts = [region.base for region in merge.conflicts]
        self.cores = [*map(self._core, self._joined(_edited(before, after)))]
        self._left = _SEARCHED

    def _joined(self, regions: Sequence[Region]) -> list[Region]:
        """The regions; those that conflict are one with others behind blank lines."""
        joined: list[Region] = []
        for region in regions:
            (start, above), (first, stop) = joined[-1].base if joined else (0, 0), region.base
            apart = not joined or any(self.after.keys[above:first])
            if apart or not self._conflict((start, stop)):
                joined.append(region)
            else:
                theirs = joined[-1].theirs[0], region.theirs[1]
                joined[-1] = region._replace(base=(start, stop), theirs=theirs)
        return joined

    def _core(self, region: Region) -> _Core:
        start, stop = region.base
        old = self.before.rows[slice(*region.theirs)]
        if self._conflict(region.base):
            # Where changes were joined, both sides may end with the same lines.
            while start < stop and old and old[-1] == self.after.rows[stop - 1]:
                stop -= 1
                old = old[:-1]
        return _Core(start, stop, old)

    def _conflict(self, rows: tuple[int, int]) -> bool:
        """Whether the merge conflicts somewhere in recorded rows."""
        at = bisect_right(self._conflicts, (rows[1], len(self.after.rows)))
        return at > 0 and self._conflicts[at - 1][1] >= rows[0]

    def changes(self) -> list[_Change]:
        """What to replace, in order; nothing for what is taken back already."""
        changes: list[_Change] = []
        misses: list[MissError] = []
        for core in self.cores:
            tried = self._tried(core)
            if isinstance(tried, _Change):
                changes.append(tried)
            elif tried is not None:
                misses.append(tried)
            if len(misses) == _MISSES:
                break
        changes.sort()
        for one, other in pairwise(changes):
            if other.first < one.stop or other.first == one.first:
                misses.append(_ambiguous([other.first + 1]))
        if misses:
            raise _as_one(misses, len(self.cores))
        return changes

    def _tried(self, core: _Core) -> _Change | MissError | None:
        try:
            return self._change(core)
        except MissError as miss:
            return miss

    def rebuilt(self, changes: Sequence[_Change]) -> str:
        """The text with the changes made."""
        pieces: list[str] = []
        at = 0
        for change in changes:
            pieces += [*self.now.rows[at : change.first], *change.lines]
            at = change.stop
        return "".join([*pieces, *self.now.rows[at:]])

    def _change(self, core: _Core) -> _Change | None:
        place = self._taken.get(core[:2])
        if place is None and not self._conflict(core[:2]) and not self._has_more(core, self.before):
            return None
        for found in (place, self._aligned(core)):
            change = None if found is None else self._put(core, found)
            if change is not None:
                return change
        found = self._moved(core)
        change = None if found is None else self._put(core, found)
        if change is None:
            raise self._refusal(core)
        return change

    @cached_property
    def _row_now(self) -> list[int]:
        """For each recorded row where it is now; -1 if it has changed."""
        rows = [-1] * len(self.after.rows)
        for hunk in script(self.after.keys, self.now.keys):
            if hunk.same:
                rows[hunk.i1 : hunk.i2] = range(hunk.j1, hunk.j2)
        return rows

    def _aligned(self, core: _Core) -> int | None:
        """Where the rows of a core are unchanged, in one piece, whitespace at their ends aside."""
        rows = self._row_now
        if core.start < core.stop:
            first = rows[core.start]
            expected = [*range(first, first + core.stop - core.start)]
            return first if first >= 0 and rows[core.start : core.stop] == expected else None
        above = rows[core.start - 1] if core.start else -1
        below = rows[core.stop] if core.stop < len(rows) else len(self.now.rows)
        found = (above >= 0 or not core.start) and below == above + 1
        return below if found else None

    def _put(self, core: _Core, place: int) -> _Change | None:
        """The old lines at a place; None if it is not certain that it is the right one."""
        above, below = self._around(core, place)
        start, end = core.start - above, core.stop + below
        if not self._is_certain(core, above, below) or not self._is_identified(core, start, end):
            return None
        if place and not self.now.rows[place - 1].endswith("\n"):
            return None
        needle = self.after.rows[start:end]
        there = self.now.rows[place - above : place - above + len(needle)]
        stop = place + core.stop - core.start
        if there == needle:
            return _Change(place, stop, self._ended(core.old, stop))
        same = {one == other for one, other in zip(needle, there, strict=True) if one.strip()}
        if self.raw or (len(same) > 1 and self._is_whitespace_only(core)):
            return None
        self._charge(_MATCHING * sum(map(len, there)))
        block = _Block(needle, there, slice(above, len(needle) - below))
        lines = block.carried(core.old)
        if lines is None:
            return None
        lines = self._ended(lines, stop)
        return _Change(place, stop, lines, "whitespace", ("reindented",) * block.is_moved)

    def _ended(self, lines: list[str], stop: int) -> list[str]:
        """Lines, the last one with a line ending if rows of the file follow it."""
        if not lines or lines[-1].endswith("\n") or stop == len(self.now.rows):
            return lines
        return [*lines[:-1], lines[-1] + ("\r\n" if self.now.rows[stop].endswith("\r\n") else "\n")]

    def _around(self, core: _Core, place: int) -> tuple[int, int]:
        """How many lines above and below a place are the recorded ones."""
        mine, real = self.after.keys, self.now.keys
        above, most = 0, min(core.start, place, _AROUND)
        while above < most and mine[core.start - above - 1] == real[place - above - 1]:
            above += 1
        stop = place + core.stop - core.start
        below, most = 0, min(len(mine) - core.stop, len(real) - stop, _AROUND)
        while below < most and mine[core.stop + below] == real[stop + below]:
            below += 1
        return above, below

    def _is_certain(self, core: _Core, above: int, below: int) -> bool:
        if core.start < core.stop:
            around = self.after.keys[core.start - above : core.start]
            around += self.after.keys[core.stop : core.stop + below]
            return any(around) or _is_telling(self.after.keys[core.start : core.stop])
        # Nothing is left of a deletion: both lines between which it was must be there.
        top, bottom = not core.start, core.stop == len(self.after.rows)
        return bool((above or top) and (below or bottom) and not (top and bottom))

    def _is_identified(self, core: _Core, start: int, end: int) -> bool:
        """Whether rows around a core occur once in both texts; beside a copy, on either side."""
        if self._has_more(core, self.after):
            return self._is_once(start, core.stop) and self._is_once(core.start, end)
        return self._is_once(start, end)

    def _is_once(self, start: int, end: int) -> bool:
        """Whether recorded rows occur once in the recorded text and once now, blank lines aside."""
        keys = list(filter(None, self.after.keys[start:end]))
        if any(self.after.counts[key] == self.now.counts[key] == 1 for key in keys):
            return True
        return bool(keys) and all(
            len(self._places(side.filled, keys, 2)) == 1 for side in (self.after, self.now)
        )

    def _has_more(self, core: _Core, side: _Side) -> bool:
        """Whether the file has more of all lines that an edit wrote than another text has."""
        wrote = list(filter(None, self.after.keys[core.start : core.stop]))
        return _is_telling(wrote) and all(self.now.counts[key] > side.counts[key] for key in wrote)

    def _places(self, text: str, keys: Sequence[str], most: int) -> list[int]:
        """The rows of a framed text from which on lines occur."""
        self._charge(len(text))
        needle, row, seen = _framed(keys), 0, 0
        found: list[int] = []
        at = text.find(needle)
        while at >= 0 and len(found) < most:
            row += text.count("\n", seen, at)
            found.append(row)
            seen = at
            at = text.find(needle, at + 1)
        return found

    def _charge(self, characters: int) -> None:
        """Bound the work on one file."""
        self._left -= characters
        if self._left < 0:
            said = "the file is too large to search for all places of the edit"
            raise MissError("conflict", said, hint=_BY_HAND)

    def _is_whitespace_only(self, core: _Core) -> bool:
        """Whether an edit changed nothing but the whitespace of some lines."""
        wrote = list(filter(None, self.after.keys[core.start : core.stop]))
        return bool(wrote) and wrote == [key for line in core.old if (key := line.strip())]

    def _moved(self, core: _Core) -> int | None:
        """Where else the rows of a core are, with the lines around them."""
        width, keys = CONTEXT, self.after.keys
        while True:
            start, end = max(core.start - width, 0), core.stop + width
            needle = keys[start:end]
            if len(self._places(self.after.framed, needle, 2)) == 1:
                break
            if not start and end >= len(keys):
                return None
            width *= 2
        found = self._places(self.now.framed, needle, _LISTED + 1)
        if len(found) > 1:
            raise _ambiguous([row + 1 for row in found])
        return found[0] + core.start - start if found and _is_telling(needle) else None

    def _refusal(self, core: _Core) -> MissError:
        keys = self.after.keys[core.start : core.stop]
        if _is_telling(keys):
            found = self._places(self.now.framed, keys, _LISTED + 1)
            if len(found) > 1:
                return _ambiguous([row + 1 for row in found])
        rows = self._row_now
        above = next((row for row in reversed(rows[: core.start]) if row >= 0), -1)
        below = next((row for row in rows[core.stop :] if row >= 0), len(self.now.rows))
        if core.start == core.stop:
            said = f"the lines around what the edit deleted have changed (near line {above + 2})"
        elif below <= above + 1:
            said = f"what the edit wrote is gone (after line {above + 1})"
        else:
            where = f"lines {above + 2}-{below}" if above + 2 < below else f"line {below}"
            there = "".join(self.now.rows[above + 1 : below])
            wrote = "".join(self.after.rows[core.start : core.stop])
            likeness = similarity(wrote[:_COMPARED], there[:_COMPARED])
            return MissError(
                "conflict",
                f"what the edit wrote has changed since, at {where}",
                lines=tuple(range(above + 2, below + 1)),
                candidates=(Candidate(above + 2, below, likeness, there),),
                hint=_BY_HAND,
            )
        return MissError("conflict", said, lines=(max(above + 1, 1),), hint=_BY_HAND)


def _bare(line: str) -> str:
    return line.removesuffix("\n")


def _is_telling(keys: Sequence[str]) -> bool:
    return sum(map(str.isalnum, "".join(keys))) >= _EVIDENCE


class _Block:
    """Recorded rows beside the file's, which differ in whitespace; ``core`` is what was written."""

    def __init__(self, recorded: Sequence[str], now: Sequence[str], core: slice) -> None:
        self._recorded, self._now, self._core = recorded, now, core
        self._pairs = [
            (indent_of(one), indent_of(other)) if one.strip() else None
            for one, other in zip(recorded, now, strict=True)
        ]

    @property
    def is_moved(self) -> bool:
        """Whether a line near by is indented differently now."""
        return any(pair[0] != pair[1] for pair in self._pairs if pair)

    def carried(self, old: Sequence[str]) -> list[str] | None:
        """Old lines with the file's whitespace; None where that is not certain.

        Either the block was moved, by the same whitespace at every depth, or the file has another
        unit of indentation: then every indented line has changed, and no other one.
        """
        if not old:
            return []
        shift = self._shift()
        moved = None if shift is None else self._moved(old, shift)
        pairs = {pair for pair in self._pairs if pair}
        indented = {pair for pair in pairs if pair[0]}
        if not indented or any(other for one, other in pairs if not one):
            return moved
        if shift is not None and any(one == other for one, other in indented):
            return moved
        scaled = self._scaled(old)
        if shift is not None and all(_shift(pair) == shift for pair in indented):
            return moved if moved == scaled else None
        return scaled if self._is_scaled(indented) else None

    def _is_scaled(self, indented: Iterable[tuple[str, str]]) -> bool:
        """Whether two depths, or other characters, prove another unit that the core follows."""
        ratios = {pair: Fraction(len(pair[1]), len(pair[0])) for pair in indented}
        ratio, count = Counter(ratios.values()).most_common(1)[0]
        proven = count > 1 or not any(set(one) & set(other) for one, other in ratios)
        core = [pair for pair in self._pairs[self._core] if pair and pair[0]]
        return proven and all(ratios[pair] == ratio for pair in core)

    def _shift(self) -> tuple[str, str] | None:
        """The one shift of what was written; of a deletion, that of both neighbours."""
        start, stop = self._core.start, self._core.stop
        near = [pair for pair in self._pairs[start:stop] if pair]
        if not near:
            above = [pair for pair in self._pairs[:start] if pair][-1:]
            near = above + [pair for pair in self._pairs[stop:] if pair][:1]
        shifts = {_shift(pair) for pair in near} or {("", "")}
        return shifts.pop() if len(shifts) == 1 else None

    def _moved(self, old: Sequence[str], shift: tuple[str, str]) -> list[str] | None:
        """Old lines moved by a shift, with the file's line endings."""
        less, more = shift
        if any(line.strip() and not line.startswith(less) for line in old):
            return None
        lines = [more + line.removeprefix(less) if line.strip() else line for line in old]
        had, has = (any(map(_ends_in_crlf, rows)) for rows in (self._recorded, self._now))
        if had != has:
            lines = [re.sub("\r?\n$", "\r\n" if has else "\n", line) for line in lines]
        # The last line of a file may have got an ending, or lost it.
        had, has = (
            rows[self._core.stop - 1].endswith("\n") for rows in (self._recorded, self._now)
        )
        if self._core.start < self._core.stop and had != has:
            lines[-1] = lines[-1].rstrip("\r\n") + "\n" * has
        return lines

    def _scaled(self, old: Sequence[str]) -> list[str] | None:
        """Old lines with the indentation that the matcher learns from all other lines."""
        from git_boocode.matching import MatchError, replace_text

        start, stop = self._core.start, self._core.stop
        new = [*self._recorded[:start], *old, *self._recorded[stop:]]
        head, tail = "".join(self._now[:start]), "".join(self._now[stop:])
        content, needle, wanted = map("".join, (self._now, self._recorded, new))
        try:
            text = replace_text(content, needle, wanted, profile="region", whole_lines=True).content
        except MatchError:
            return None
        if len(text) < len(head + tail) or not (text.startswith(head) and text.endswith(tail)):
            return None
        return split_lines(text[len(head) : len(text) - len(tail)])


def _ends_in_crlf(line: str) -> bool:
    return line.endswith("\r\n")


def _shift(pair: tuple[str, str]) -> tuple[str, str] | None:
    """The whitespace that a line lost and got at its beginning; None for anything else."""
    one, other = pair
    if other.endswith(one):
        return "", other[: len(other) - len(one)]
    return (one[: len(one) - len(other)], "") if one.endswith(other) else None


def _listed(lines: Sequence[int]) -> str:
    """Line numbers in words."""
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
    return f"lines {', '.join(map(str, lines[:_LISTED]))}{more}"


def _ambiguous(lines: Sequence[int]) -> MissError:
    return MissError(
        "ambiguous",
        f"what the edit wrote occurs several times now, at {_listed(lines)}",
        lines=tuple(lines),
        hint=_BY_HAND,
    )


def _as_one(misses: Sequence[MissError], count: int) -> MissError:
    """One refusal for all places of a file that cannot be taken back."""
    if len(misses) == 1:
        return misses[0]
    said = "; ".join(dict.fromkeys(miss.message for miss in misses))
    least = "at least " if len(misses) == _MISSES < count else ""
    codes = {miss.code for miss in misses}
    return MissError(
        "conflict" if "conflict" in codes else misses[0].code,
        f"{least}{len(misses)} of {count} places cannot be taken back: {said}",
        lines=tuple(sorted({line for miss in misses for line in miss.lines})),
        candidates=tuple(candidate for miss in misses for candidate in miss.candidates),
        hint=misses[0].hint,
    )
