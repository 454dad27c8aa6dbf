"""The action of a rewind: take back what a recorded edit did to one file.

A file that has changed since is merged three-way. Where that conflicts, what the edit wrote is
looked for, whitespace aside; it is replaced only where it and the lines around it occur once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

from git_boocode.editing.edits import AppliedEdit, EditResult, How, MissError
from git_boocode.editing.textfile import RAW, FileText, decode, line_count
from git_boocode.matching.align import script, similarity
from git_boocode.matching.replace import listed_lines
from git_boocode.matching.text import LineIndex, common_prefix, indent_of, lines_of, split_lines
from git_boocode.matching.text import Text as Lines
from git_boocode.matching.three_way import Region, merge_three_way, spliced_rows, with_our_endings
from git_boocode.matching.types import Candidate, MatchError

ALREADY = "rewound"  # the rung of a place where the old lines are already back
_ALREADY = AppliedEdit("exact", ALREADY, 1.0, 0, 1, 0, ("already rewound",))
_CONTEXT = 2  # lines above and below with which moved lines are searched for, at least
_AROUND = 50  # lines above and below that identify a place and show its indentation, at most
_EVIDENCE = 8  # letters and digits that do not occur in a line by chance
_MISSES = 8  # after so many places that cannot be taken back no others are looked at
_COMPARED = 4_000  # characters of two texts of which a refusal reports the similarity
_UTF_8 = ("utf-8", "utf-8-bom", RAW)
# The caller knows the record and fills in its id.
_BY_HAND = "take it back by hand: 'git boocode show {id}' prints the edit's diff"
_conflict = partial(MissError, "conflict", hint=_BY_HAND)
Indents = tuple[str, str]  # the indentation of a line as recorded, and now


class Revert(NamedTuple):
    """Bring the bytes ``before`` an edit back; None if there was no file.

    With ``moves`` the file also gets its old name back. ``executable`` is whether it was executable
    before, None if the edit did not change that.
    """

    before: bytes | None
    after: bytes | None
    moves: bool = False
    executable: bool | None = None

    @property
    def anchors(self) -> str:
        """No other action of the call is for the same file."""
        return ""

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """The recorded original if the file is the recorded result, else a merge."""
        del how
        result = self._outcome(text)
        if result.text is None:
            return result
        other = "rename" if self.moves else "mode" if self.executable is not None else ALREADY
        if result.applied.rung == ALREADY != other:
            result = result._replace(applied=_whole(other, result.text))
        return result._replace(executable=self.executable)

    def _outcome(self, text: FileText | None) -> EditResult:
        now = None if text is None else text.encode()
        if now == self.before:
            return EditResult(text, _ALREADY)
        before, after = (None if data is None else decode(data) for data in self[:2])
        if now == self.after and (before is None or after is None or _kind(before) != _kind(after)):
            rung = "create" if after is None else "exact" if before else "delete"
            return EditResult(before, _whole(rung, after))
        if text is None:
            raise MissError("missing_file", "there is no such file")
        if after is None:
            raise MissError("exists", "the edit deleted it, and something else is there now")
        if before is None:
            rows = split_lines(after.text), split_lines(text.text)
            lines = [hunk.j1 + 1 for hunk in script(*rows) if not hunk.same]
            where = f", at {listed_lines(lines)}" if lines else ""
            raise MissError(
                "conflict",
                f"the edit created it, and it has changed since{where}",
                lines=tuple(lines),
                hint="what was added since would be lost; delete the file yourself if it may go",
            )
        return _merged(before, after, text)


def _whole(rung: str, text: FileText | None) -> AppliedEdit:
    return AppliedEdit("exact", rung, 1.0, 1, 1, line_count(text.text) if text else 0)


def _kind(text: FileText) -> str:
    """The encoding; a file may be valid UTF-8 or have a byte order mark at one time only."""
    return "utf-8" if text.codec in _UTF_8 else text.codec


def _merged(before: FileText, after: FileText, now: FileText) -> EditResult:
    texts = before, after, now
    if len(set(map(_kind, texts))) > 1:
        raise _conflict(
            "its encoding has changed, so it can be rewound only where nothing else has"
        )
    utf_8 = _kind(now) == "utf-8"
    characters = [
        text.encode().decode("utf-8", "surrogateescape") if utf_8 else text.text for text in texts
    ]
    reverter = _Reverter(characters, raw=any(text.is_raw for text in texts))
    changes, count = reverter.changes(), len(reverter.regions)
    if not changes:
        return EditResult(now, _ALREADY)
    result = spliced_rows(reverter.now.rows, (change[:3] for change in changes))
    merged = (
        decode(result.encode("utf-8", "surrogateescape")) if utf_8 else FileText(result, now.codec)
    )
    notes = ("reindented",) if any(change.reindented for change in changes) else ()
    if len(changes) < count:
        notes = (*notes, f"{count - len(changes)} of {count} places already rewound")
    rung = max(change.rung for change in changes)
    kind, (first, stop) = "exact" if rung == "exact" else "fuzzy", changes[0][:2]
    return EditResult(merged, AppliedEdit(kind, rung, 1.0, len(changes), first + 1, stop, notes))


class _Reversal(NamedTuple):
    """Rows ``first`` to ``stop`` of the file, which become ``lines``."""

    first: int
    stop: int
    lines: list[str]
    rung: str = "exact"
    reindented: bool = False


class _Side:
    """The rows of a text, and the ``keys`` that they are compared by."""

    def __init__(self, text: str, key: Callable[[str], str]) -> None:
        self.rows = split_lines(text)
        self.keys = [key(row) for row in self.rows]

    @cached_property
    def index(self) -> LineIndex:
        """Of all rows."""
        return LineIndex(self.keys)

    @cached_property
    def filled(self) -> LineIndex:
        """Of the rows that are not blank."""
        return LineIndex([*filter(None, self.keys)])


class _Reverter:
    """Takes the changes of an edit back: ``texts`` are those before, after, and now.

    With ``raw`` the file is not text, and only equal bytes are what the edit wrote.
    """

    def __init__(self, texts: Sequence[str], *, raw: bool) -> None:
        before, after, now = texts
        if not raw:
            before, after = (with_our_endings(after, now, text) for text in (before, after))
        self.ending = Lines(now).usual_ending
        self.before, self.after, self.now = (
            _Side(text, str if raw else str.strip) for text in (before, after, now)
        )
        # The rows of the result that the edit changed, and as theirs what they were.
        self.regions = merge_three_way(after, after, before).taken
        self.merge = merge_three_way(after, now, before)
        self.taken = {region.base: region for region in self.merge.taken}
        bases = [region.base for region in self.merge.same]
        self.back = {row for first, stop in bases for row in range(first, stop + 1)}

    def changes(self) -> list[_Reversal]:
        """What to replace, in order; nothing for what is taken back already."""
        changes: list[_Reversal] = []
        misses: list[MissError] = []
        for region in self.regions:
            try:
                changes += filter(None, [self._change(region)])
            except MissError as miss:
                misses.append(miss)
            except MatchError as error:
                misses.append(_conflict(error.message))
            if len(misses) == _MISSES:
                break
        changes.sort()
        for one, other in pairwise(changes):
            if other.first < one.stop or other.first == one.first:
                misses.append(_ambiguous([other.first]))
        if misses:
            raise _as_one(misses, len(self.regions))
        return changes

    def _change(self, region: Region) -> _Reversal | None:
        if region.base[0] in self.back and not self._has_more(region, self.before):
            return None
        merged = self.taken.get(region.base)
        if merged and not self.merge.conflicts and not self._has_more(region, self.after):
            return _Reversal(*merged.ours, self.before.rows[slice(*region.theirs)])
        for place in self._places(region):
            change = self._put(region, place)
            if change is not None:
                return change
        raise self._refusal(region)

    def _has_more(self, region: Region, side: _Side) -> bool:
        """Whether the file has more of all lines that an edit wrote than another text has."""
        wrote = [*filter(None, self.after.keys[slice(*region.base)])]
        now, there = self.now.filled.rows, side.filled.rows
        return _is_telling(wrote) and all(
            len(now.get(key, ())) > len(there.get(key, ())) for key in wrote
        )

    def _places(self, region: Region) -> Iterator[int]:
        """The rows where what an edit wrote may begin, the likeliest first."""
        start, stop = region.base
        # Nothing is left of a deletion: both lines between which it was must be there.
        near = slice(start + 1, stop + 1) if start < stop else slice(start, stop + 2)
        first, *rest = self._rows_now[near]
        if first is not None and rest == [*range(first + 1, first + 1 + len(rest))]:
            yield first if start < stop else first + 1
        yield from self._moved(region)

    @cached_property
    def _rows_now(self) -> list[int | None]:
        """Where each recorded row, from that above the first one on, is now; None if nowhere."""
        rows: list[int | None] = [-1, *[None] * len(self.after.rows), len(self.now.rows)]
        for hunk in script(self.after.keys, self.now.keys):
            if hunk.same:
                rows[hunk.i1 + 1 : hunk.i2 + 1] = range(hunk.j1, hunk.j2)
        return rows

    def _moved(self, region: Region) -> Iterator[int]:
        """Where else the rows that an edit wrote are, with the lines around them."""
        (start, stop), keys, width = region.base, self.after.keys, _CONTEXT
        while len(self.after.index.find(keys[max(start - width, 0) : stop + width])) > 1:
            width *= 2
        first = max(start - width, 0)
        found = self.now.index.find(keys[first : stop + width])
        if len(found) == 1 and _is_telling(keys[first : stop + width]):
            yield found[0] + start - first

    def _put(self, region: Region, place: int) -> _Reversal | None:
        """The old lines at a place; None if it is not certain that it is the right one."""
        (start, stop), old = region.base, self.before.rows[slice(*region.theirs)]
        end, after, now = place + stop - start, self.after, self.now
        top, high = max(start - _AROUND, 0), max(place - _AROUND, 0)
        above = common_prefix(after.keys[top:start][::-1], now.keys[high:place][::-1])
        below = common_prefix(after.keys[stop : stop + _AROUND], now.keys[end : end + _AROUND])
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
        changed = [*map(indent_of, lines)] != [*map(indent_of, old)]
        if lines:
            # The last line of a file may have got an ending, or lost it.
            had = start == stop or after.rows[stop - 1].endswith("\n")
            has = start == stop or now.rows[end - 1].endswith("\n")
            if end < len(now.rows) or had < has:
                lines[-1] = lines[-1].rstrip("\r\n") + self.ending
            elif had > has:
                lines[-1] = lines[-1].rstrip("\r\n")
        return _Reversal(place, end, lines, "exact" if exact else "whitespace", changed)

    def _is_identified(self, region: Region, above: int, below: int) -> bool:
        """Whether rows around a place occur once in both texts; beside a copy, on either side."""
        (start, stop), keys = region.base, self.after.keys
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
            said = "what the edit wrote is gone"
            if start == stop:
                said = "the lines around what the edit deleted have changed"
            return _conflict(f"{said}, near line {above + 2}", lines=(max(above + 1, 1),))
        there, wrote = "".join(now[above + 1 : below]), "".join(self.after.rows[start:stop])
        alike = similarity(wrote[:_COMPARED], there[:_COMPARED])
        said = f"what the edit wrote has changed since, at {lines_of(above + 2, below)}"
        near = Candidate(above + 2, below, alike, there)
        return _conflict(said, lines=tuple(range(above + 2, below + 1)), candidates=(near,))


def _is_telling(keys: Sequence[str]) -> bool:
    return sum(map(str.isalnum, "".join(keys))) >= _EVIDENCE


def _carried(
    old: Sequence[str], recorded: Sequence[str], now: Sequence[str], core: slice
) -> list[str] | None:
    """Old lines with the indentation that the file has for recorded ones; None if uncertain.

    Either what the edit wrote, the ``core``, was moved as a whole, or the file has another unit of
    indentation: then every indented line has changed, and no other one.
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
        # Lines of one depth may also have been moved: they prove nothing of other depths.
        sole = all_changed and len(indents) == 1
        fit = dict(indents).get if sole else partial(_shifted, *shift)
    elif all_changed:
        fit = partial(_scaled, dict(indents), *min(indents, key=lambda pair: len(pair[0])))
        if any(fit(one) not in (other, None) for one, other in indents):
            return None
    else:
        return None
    fitted = [(fit(indent_of(line)), line.lstrip()) if line.strip() else ("", line) for line in old]
    lines = [indent + text for indent, text in fitted if indent is not None]
    return lines if len(lines) == len(old) else None


def _shift(pairs: Iterable[Indents]) -> Indents | None:
    """The whitespace that all lines lost and got at their beginnings; None if it differs."""
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
    said = f"what the edit wrote occurs several times now, at {listed_lines(lines)}"
    return MissError("ambiguous", said, lines=lines, hint=_BY_HAND)


def _as_one(misses: Sequence[MissError], count: int) -> MissError:
    if len(misses) == 1:
        return misses[0]
    said = "; ".join(dict.fromkeys(miss.message for miss in misses))
    least = "at least " if len(misses) == _MISSES < count else ""
    return MissError(
        "conflict" if any(miss.code == "conflict" for miss in misses) else "ambiguous",
        f"{least}{len(misses)} of {count} places cannot be taken back: {said}",
        lines=tuple(sorted({line for miss in misses for line in miss.lines})),
        candidates=tuple(candidate for miss in misses for candidate in miss.candidates),
        hint=_BY_HAND,
    )
