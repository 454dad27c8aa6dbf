"""What becomes of a file after an edit was recorded, and what rewinding that edit must give.

A file is a list of rows: lines that the edit left alone, and its changes. A later change is made to
both sides of the rows, so that the new side is the file now and the old side the expected file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from tests.benchmarks.hunks import Unfit, picked, require
from tests.benchmarks.patching.edits import Change, Edit

FAR = 10
"""Lines between a change far away and the nearest change of the edit."""
TELLING = 12
"""Letters and digits that a text needs to be recognised without the lines around it."""


class Case(NamedTuple):
    """One rewind to try. `expected` is None if it must be refused."""

    before: bytes
    after: bytes
    now: bytes
    expected: bytes | None


class Row(NamedTuple):
    """Lines before and after the edit; the same ones where it changed nothing."""

    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def shared(self) -> bool:
        """Whether the edit left it alone."""
        return self.old == self.new

    def mapped(self, change: Callable[[str], str]) -> Row:
        """The row with all its lines written differently."""
        return Row(tuple(map(change, self.old)), tuple(map(change, self.new)))


Rows = list[Row]
Later = Callable[[Rows, random.Random], Rows]
"""Changes rows of a recorded edit (Unfit if these rows do not lend themselves to it)."""
Kind = Callable[[Edit, random.Random], Case]
RECOVER: dict[str, Kind] = {}
REFUSE: dict[str, Kind] = {}


def rows_of(edit: Edit) -> Rows:
    """An edit's file as rows, one for each line or change."""
    rows, at = [], 0
    for start, stop, new in edit.changes:
        rows += [_common(line) for line in edit.lines[at:start]]
        rows.append(Row(edit.lines[start:stop], new))
        at = stop
    return rows + [_common(line) for line in edit.lines[at:]]


def _common(*lines: str) -> Row:
    return Row(lines, lines)


def _old(rows: Rows) -> str:
    return "".join(line for row in rows for line in row.old)


def _new(rows: Rows) -> str:
    return "".join(line for row in rows for line in row.new)


def _case(recorded: Rows, later: Rows, *, refuse: bool = False) -> Case:
    texts = _old(recorded), _new(recorded), _new(later), _old(later)
    before, after, now, expected = (text.encode() for text in texts)
    require(before != after and not (refuse and now in (before, after)))
    return Case(before, after, now, None if refuse else expected)


def _recover(
    name: str, record: Callable[[Edit], Edit] = lambda edit: edit
) -> Callable[[Later], Later]:
    """Register a kind to recover; `record` changes the edit before it is recorded."""

    def register(later: Later) -> Later:
        def kind(edit: Edit, rng: random.Random) -> Case:
            rows = rows_of(record(edit))
            return _case(rows, later(rows, rng))

        RECOVER[name] = kind
        return later

    return register


def _refuse(name: str) -> Callable[[Later], Later]:
    def register(later: Later) -> Later:
        def kind(edit: Edit, rng: random.Random) -> Case:
            rows = rows_of(edit)
            return _case(rows, later(rows, rng), refuse=True)

        REFUSE[name] = kind
        return later

    return register


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _deeper(line: str, by: str) -> str:
    return by + line if line.strip() else line


def _reworded(line: str) -> str:
    return re.sub(r"(\w+)(\W*)$", r"\1_since\2", line.rstrip("\n")) + "\n"


def _fresh(like: str, count: int, rng: random.Random) -> list[Row]:
    mark = rng.randrange(1000)
    return [_common(f"{_indent(like)}since_{mark}_{n} = observe({n})\n") for n in range(count)]


def _changes(rows: Rows) -> list[int]:
    return [at for at, row in enumerate(rows) if not row.shared]


def _gaps(rows: Rows) -> list[int]:
    """For each row the shared rows between it and the nearest change; -1 for a change."""
    changes = _changes(rows)
    return [min(abs(at - other) for other in changes) - 1 for at in range(len(rows))]


def _shared(rows: Rows, least: int, most: int, rng: random.Random) -> int:
    """A shared row with a word, with so many rows between it and the nearest change."""
    fitting = [
        at
        for at, gap in enumerate(_gaps(rows))
        if least <= gap <= most and re.search(r"\w", "".join(rows[at].new))
    ]
    return picked(fitting, rng)


def _replaced(rows: Rows, at: int, by: Sequence[Row]) -> Rows:
    return [*rows[:at], *by, *rows[at + 1 :]]


def _change_line(rows: Rows, at: int) -> Rows:
    return _replaced(rows, at, [rows[at].mapped(_reworded)])


def _recognisable(rows: Rows, at: int) -> bool:
    """Whether what a change wrote says by itself what it is."""
    wrote = "".join(rows[at].new)
    return sum(map(str.isalnum, wrote)) >= TELLING and _new(rows).count(wrote) == 1


def _written(rows: Rows, rng: random.Random, lines: int = 1) -> int:
    """A change that wrote recognisable lines, with shared rows on both sides.

    With several lines, all of them are new: no diff can take one for a line that was there before.
    """
    fitting = [
        at
        for at in _changes(rows)
        if 2 <= at < len(rows) - 2
        and len(rows[at].new) >= lines
        and (lines == 1 or set(rows[at].old).isdisjoint(rows[at].new))
        and _recognisable(rows, at)
        and all(row.shared for row in rows[at - 2 : at] + rows[at + 1 : at + 3])
    ]
    return picked(fitting, rng)


def _block(rows: Rows, rng: random.Random, around: int, *, alone: bool = True) -> slice:
    """A change with shared rows around it; `alone`: no other change is near."""
    fitting = []
    for at in _changes(rows):
        block = slice(at - around, at + around + 1)
        if block.start >= 1 and block.stop < len(rows):
            others = rows[block.start - 1 : at] + rows[at + 1 : block.stop + 1]
            if not alone or all(row.shared for row in others):
                fitting.append(block)
    return picked(fitting, rng)


def _places(rows: Rows, block: slice, rng: random.Random, count: int = 1) -> list[int]:
    """Rows far from a block and from all changes, before which something can be put."""
    gaps = _gaps(rows)
    fitting = [
        at
        for at in range(1, len(rows))
        if min(gaps[at], gaps[at - 1]) >= 3 and not block.start - FAR < at < block.stop + FAR
    ]
    require(len(fitting) >= count)
    return sorted(rng.sample(fitting, count))


def _moved(rows: Rows, block: slice, place: int, by: str = "") -> Rows:
    moved = [row.mapped(lambda line: _deeper(line, by)) for row in rows[block]]
    if place < block.start:
        return [*rows[:place], *moved, *rows[place : block.start], *rows[block.stop :]]
    return [*rows[: block.start], *rows[block.stop : place], *moved, *rows[place:]]


def _wrapped(rows: Rows, block: slice, *, tried: bool = False) -> Rows:
    inner = rows[block]
    depths = [_indent(line) for row in inner for line in row.new + row.old if line.strip()]
    require(depths)
    least = min(depths, key=len)
    head, foot = f"{least}{'try' if tried else 'if since'}:\n", []
    if tried:
        foot = [_common(f"{least}except OSError:\n", f"{least}    observe()\n")]
    deeper = [row.mapped(lambda line: _deeper(line, "    ")) for row in inner]
    return [*rows[: block.start], _common(head), *deeper, *foot, *rows[block.stop :]]


def _of_size(old: bool, new: bool) -> Callable[[Edit], Edit]:
    """Only the changes that took lines away, or not, and wrote lines, or not."""

    def record(edit: Edit) -> Edit:
        chosen = [
            change
            for change in edit.changes
            if (change.start < change.stop) == old and bool(change.new) == new
        ]
        return _with_changes(edit, chosen)

    return record


def _with_changes(edit: Edit, chosen: Sequence[Change]) -> Edit:
    require(chosen)
    return edit._replace(changes=tuple(chosen))


def _units(text: str, new: str, step: int = 4) -> str:
    """A line whose indentation by spaces is written with another unit."""
    width = len(text) - len(text.lstrip(" "))
    return new * (width // step) + " " * (width % step) + text[width:]


def _regular(edit: Edit) -> Edit:
    """Only changes whose lines are all indented by whole units, some of them deeper than none."""
    chosen = []
    for change in edit.changes:
        widths = [
            len(_indent(line))
            for line in (*edit.lines[change.start : change.stop], *change.new)
            if line.strip()
        ]
        if not any(width % 4 for width in widths) and any(widths):
            chosen.append(change)
    return _with_changes(edit, chosen)


def _mapped(change: Callable[[str], str]) -> Callable[[Edit], Edit]:
    return lambda edit: _regular(edit).mapped(change)


def _each(change: Callable[[str], str]) -> Later:
    return lambda rows, rng: [row.mapped(change) for row in rows]


def _crlf(line: str) -> str:
    return line.replace("\n", "\r\n")


def _then(first: Later, second: Later) -> Later:
    return lambda rows, rng: second(first(rows, rng), rng)


def _near_changed(most: int) -> Later:
    """A line is changed, at most so many lines from a change."""
    return lambda rows, rng: _change_line(rows, _shared(rows, 1, most, rng))


# To recover.

_recover("nothing since")(lambda rows, rng: rows)

_recover("a line changed far away")(
    lambda rows, rng: _change_line(rows, _shared(rows, FAR, 9999, rng))
)


@_recover("lines added far away")
def _far_added(rows: Rows, rng: random.Random) -> Rows:
    at = _shared(rows, FAR, 9999, rng)
    return _replaced(rows, at, [*_fresh(rows[at].new[0], 3, rng), rows[at]])


@_recover("lines removed far away")
def _far_removed(rows: Rows, rng: random.Random) -> Rows:
    at = _shared(rows, FAR, 9999, rng)
    return [*rows[:at], *rows[at + 2 :]]


def _near(least: int, most: int) -> None:
    where = f"{least} to {most} lines" if least < most else f"{least} line"

    @_recover(f"a line changed, {where} between")
    def _changed(rows: Rows, rng: random.Random) -> Rows:
        return _change_line(rows, _shared(rows, least, most, rng))

    @_recover(f"lines added, {where} between")
    def _added(rows: Rows, rng: random.Random) -> Rows:
        at = _shared(rows, least, most, rng)
        nearest = min(_changes(rows), key=lambda change: abs(change - at))
        fresh = _fresh(rows[at].new[0], 2, rng)
        return _replaced(rows, at, [*fresh, rows[at]] if at < nearest else [rows[at], *fresh])

    @_recover(f"a line removed, {where} between")
    def _removed(rows: Rows, rng: random.Random) -> Rows:
        return _replaced(rows, _shared(rows, least, most, rng), [])


_near(1, 1)
_near(2, 3)
_near(4, 6)

_recover("the line above changed")(lambda rows, rng: _change_line(rows, _written(rows, rng) - 1))

_recover("the line below changed")(lambda rows, rng: _change_line(rows, _written(rows, rng) + 1))


@_recover("the lines above and below changed")
def _both_sides(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return _change_line(_change_line(rows, at - 1), at + 1)


@_recover("lines added directly above")
def _added_above(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return _replaced(rows, at, [*_fresh(rows[at].new[0], 2, rng), rows[at]])


@_recover("lines added directly below")
def _added_below(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return _replaced(rows, at, [rows[at], *_fresh(rows[at].new[0], 2, rng)])


@_recover("the line above removed")
def _removed_above(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    # The same line just below would make it two stories with one end.
    require(rows[at - 1].new[0] not in rows[at].old + rows[at].new)
    return _replaced(rows, at - 1, [])


def _other_edit(which: int) -> Kind:
    """One change is the recorded one, the others were made since."""

    def kind(edit: Edit, rng: random.Random) -> Case:
        require(len(edit.changes) > 1)
        rows = rows_of(edit)
        kept = _changes(rows)[which]
        later = [
            row if row.shared or at == kept else Row(row.new, row.new)
            for at, row in enumerate(rows)
        ]
        return _case(rows_of(edit._replace(changes=(edit.changes[which],))), later)

    return kind


RECOVER["another edit above"] = _other_edit(-1)
RECOVER["another edit below"] = _other_edit(0)


def _moving(around: int, by: str = "") -> Later:
    def later(rows: Rows, rng: random.Random) -> Rows:
        block = _block(rows, rng, around)
        require(around > 2 or _recognisable(rows, block.start + around))
        return _moved(rows, block, _places(rows, block, rng)[0], by)

    return later


for _around in (5, 3, 2):
    _recover(f"moved with {_around} lines above and below")(_moving(_around))
_recover("moved and indented")(_moving(4, "    "))


@_recover("another block moved past it")
def _moved_past(rows: Rows, rng: random.Random) -> Rows:
    at = rng.choice(_changes(rows))
    other = slice(at + 4, at + 12)
    require(at >= 8 and other.stop < len(rows))
    require(all(row.shared for row in rows[at - 6 : at] + rows[other]))
    return _moved(rows, other, at - 4)


@_recover("copied elsewhere")
def _copied(rows: Rows, rng: random.Random) -> Rows:
    block = _block(rows, rng, 4)
    (place,) = _places(rows, block, rng)
    return [*rows[:place], *(_common(*row.new) for row in rows[block]), *rows[place:]]


@_recover("wrapped in an if")
def _in_if(rows: Rows, rng: random.Random) -> Rows:
    return _wrapped(rows, _block(rows, rng, 3))


@_recover("wrapped in a try")
def _in_try(rows: Rows, rng: random.Random) -> Rows:
    return _wrapped(rows, _block(rows, rng, 1), tried=True)


@_recover("only what it wrote wrapped in an if", _of_size(old=True, new=True))
def _wrote_in_if(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return _wrapped(rows, slice(at, at + 1))


_recover("wrapped, and a line near changed")(_then(_near_changed(2), _in_if))


@_recover("the whole file in a class")
def _in_class(rows: Rows, rng: random.Random) -> Rows:
    deeper = [row.mapped(lambda line: _deeper(line, "    ")) for row in rows]
    return [_common("class Since:\n"), *deeper]


_recover("indented by 2 instead of 4", _regular)(_each(lambda line: _units(line, "  ")))
_recover("indented by 4 instead of 2", _mapped(lambda line: _units(line, "  ")))(
    _each(lambda line: _units(line, "    ", 2))
)
_recover("indented by tabs instead of 4", _regular)(_each(lambda line: _units(line, "\t")))
_recover("indented by 4 instead of tabs", _mapped(lambda line: _units(line, "\t")))(
    _each(lambda line: _indent(line).replace("\t", "    ") + line.lstrip(" \t"))
)
_recover("indented by tabs, and a line near changed", _regular)(
    _then(_near_changed(2), _each(lambda line: _units(line, "\t")))
)
_recover("CRLF instead of LF")(_each(_crlf))
_recover("LF instead of CRLF", lambda edit: edit.mapped(_crlf))(
    _each(lambda line: line.replace("\r\n", "\n"))
)
_recover("CRLF instead of LF, and a line near changed")(_then(_near_changed(2), _each(_crlf)))


def _at_the_end(edit: Edit) -> Edit:
    """The file ends behind the last change."""
    stop = edit.changes[-1].stop
    return edit._replace(lines=edit.lines[:stop])


def _unended(edit: Edit) -> Edit:
    return edit._replace(lines=(*edit.lines[:-1], edit.lines[-1].rstrip("\n")))


def _without_newline(rows: Rows, rng: random.Random) -> Rows:
    last = rows[-1]
    require(last.old and last.new)
    old, new = ((*lines[:-1], lines[-1].rstrip("\n")) for lines in last)
    return [*rows[:-1], Row(old, new)]


def _with_newline(rows: Rows, rng: random.Random) -> Rows:
    last = rows[-1]
    return [*rows[:-1], last.mapped(lambda line: line.rstrip("\n") + "\n")]


_recover("final newline removed")(_without_newline)
_recover("final newline added", _unended)(_with_newline)
_recover("final newline removed, the edit at the end", _at_the_end)(_without_newline)


def _trailing(edit: Edit) -> Edit:
    """Trailing spaces on each line that the edit left alone or wrote."""
    lines = edit.with_lines(
        {
            at: f"{line[:-1]}  \n"
            for at, line in enumerate(edit.lines)
            if line.strip() and not any(c.start <= at < c.stop for c in edit.changes)
        }
    )
    changes = (
        change._replace(new=tuple(f"{line[:-1]}  \n" for line in change.new))
        for change in edit.changes
    )
    return lines._replace(changes=tuple(changes))


_recover("trailing whitespace stripped", _trailing)(_each(lambda line: line.rstrip() + "\n"))


@_recover("blank lines added")
def _blank_lines(rows: Rows, rng: random.Random) -> Rows:
    gaps = _gaps(rows)
    made: Rows = []
    for row, gap in zip(rows, gaps, strict=True):
        made += [_common("\n")] * (gap >= 1 and rng.random() < 0.1)
        made.append(row)
    require(len(made) > len(rows))
    return made


@_recover("a blank line added directly above")
def _blank_above(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return _replaced(rows, at, [_common("\n"), rows[at]])


@_recover("some changes taken back already")
def _partly_back(rows: Rows, rng: random.Random) -> Rows:
    changes = _changes(rows)
    require(len(changes) > 1)
    back = set(rng.sample(changes, rng.randint(1, len(changes) - 1)))
    return [Row(row.old, row.old) if at in back else row for at, row in enumerate(rows)]


_recover("some taken back, and a line near changed")(_then(_near_changed(3), _partly_back))
_recover("all taken back, and a line near changed")(
    _then(_near_changed(3), lambda rows, _: [Row(row.old, row.old) for row in rows])
)
_recover("a deletion, a line near changed", _of_size(old=True, new=False))(_near_changed(4))
_recover("a deletion, wrapped in an if", _of_size(old=True, new=False))(_in_if)
_recover("a deletion, moved", _of_size(old=True, new=False))(_moving(5))
_recover("an insertion, a line near changed", _of_size(old=False, new=True))(_near_changed(4))
_recover("an insertion, wrapped in an if", _of_size(old=False, new=True))(_in_if)


# To refuse.


def _with_new(rows: Rows, at: int, new: Sequence[str]) -> Rows:
    return _replaced(rows, at, [Row(rows[at].old, tuple(new))])


@_refuse("a word of what it wrote changed")
def _word(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return _with_new(rows, at, _one_reworded(rows[at].new, rng))


def _one_reworded(lines: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    chosen = rng.choice([at for at, line in enumerate(lines) if re.search(r"\w", line)])
    return tuple(_reworded(line) if at == chosen else line for at, line in enumerate(lines))


@_refuse("a line added in what it wrote")
def _line_within(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng, 2)
    new = rows[at].new
    row = rng.randrange(1, len(new))
    return _with_new(rows, at, [*new[:row], *_fresh(new[row], 1, rng)[0].new, *new[row:]])


@_refuse("a line of what it wrote removed")
def _line_gone(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng, 2)
    new = list(rows[at].new)
    del new[rng.choice([row for row, line in enumerate(new) if line.strip()])]
    require(tuple(new) != rows[at].old)
    return _with_new(rows, at, new)


@_refuse("what it wrote is gone")
def _gone(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    require(rows[at].old)
    return _with_new(rows, at, ())


@_refuse("what it wrote is gone with the lines around it")
def _all_gone(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return [*rows[: max(at - 4, 0)], *rows[at + 5 :]]


@_refuse("what it wrote was replaced")
def _overwritten(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    return _with_new(rows, at, [row.new[0] for row in _fresh(rows[at].new[0], 2, rng)])


@_refuse("taken back with another word")
def _back_otherwise(rows: Rows, rng: random.Random) -> Rows:
    fitting = [
        at for at in _changes(rows) if rows[at].new and re.search(r"\w", "".join(rows[at].old))
    ]
    at = picked(fitting, rng)
    old = _one_reworded(rows[at].old, rng)
    require(old != rows[at].new)
    return _with_new(rows, at, old)


@_refuse("wrapped, and a word of what it wrote changed")
def _wrapped_word(rows: Rows, rng: random.Random) -> Rows:
    at = _written(rows, rng)
    require(at >= 4)
    changed = _with_new(rows, at, _one_reworded(rows[at].new, rng))
    return _wrapped(changed, slice(at - 3, at + 4))


@_refuse("moved to two places")
def _two_places(rows: Rows, rng: random.Random) -> Rows:
    block = _block(rows, rng, 4)
    places = _places(rows, block, rng, 2)
    taken = _moved(rows, block, places[0])
    shift = block.stop - block.start
    second = places[1] + shift if places[1] < block.start else places[1]
    return [*taken[:second], *rows[block], *taken[second:]]


@_refuse("moved, and a word of what it wrote changed")
def _moved_word(rows: Rows, rng: random.Random) -> Rows:
    changed = _word(rows, rng)
    at = next(at for at, row in enumerate(rows) if row != changed[at])
    block = slice(at - 3, at + 4)
    require(block.start >= 1)
    return _moved(changed, block, _places(rows, block, rng)[0])


_refuse("both neighbours of a deletion changed")(
    lambda rows, rng: _around_deletion(
        rows, rng, lambda above, below: (above.mapped(_reworded), below.mapped(_reworded))
    )
)

_refuse("lines added where lines were deleted")(
    lambda rows, rng: _around_deletion(
        rows, rng, lambda above, below: (above, *_fresh(above.new[0], 2, rng), below)
    )
)

_refuse("the neighbours of a deletion are gone")(
    lambda rows, rng: _around_deletion(rows, rng, lambda above, below: ())
)


def _around_deletion(
    rows: Rows, rng: random.Random, change: Callable[[Row, Row], Sequence[Row]]
) -> Rows:
    """The rows directly around lines that were deleted become others."""
    fitting = [
        at
        for at in _changes(rows)
        if not rows[at].new
        and 0 < at < len(rows) - 1
        and all(row.shared and re.search(r"\w", row.new[0]) for row in (rows[at - 1], rows[at + 1]))
    ]
    at = picked(fitting, rng)
    return [*rows[: at - 1], *change(rows[at - 1], rows[at + 1]), *rows[at + 2 :]]


@_refuse("only a sibling is left")
def _sibling(rows: Rows, rng: random.Random) -> Rows:
    """The lines and what the edit wrote are gone; a block with other words is far away."""
    block = _block(rows, rng, 4)
    require(rows[block.start + 4].new)
    places = _places(rows, block, rng)
    twin = [_common(*map(_reworded, row.new)) for row in rows[block]]
    cut = _replaced(rows, block.start, [])
    del cut[block.start : block.stop - 1]
    at = places[0] if places[0] < block.start else places[0] - (block.stop - block.start)
    return [*cut[:at], *twin, *cut[at:]]


def cases(kind: str, edits: Sequence[Edit], rng: random.Random) -> Iterator[Case]:
    """The cases that some edits give for a kind."""
    make = {**RECOVER, **REFUSE}[kind]
    for edit in edits:
        with suppress(Unfit):
            yield make(edit, rng)
