"""What becomes of a file after an edit was recorded, and what rewinding that edit must give.

A file is a list of rows: lines that the edit left alone, and its changes. A later change is made to
both sides of the rows, so that the new side is the file now and the old side the expected file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests.benchmarks.patching.edits import Edit

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
Later = Callable[[Rows, random.Random], Rows | None]
"""Changes rows of a recorded edit; None if these rows do not lend themselves to it."""
Kind = Callable[[Edit, random.Random], Case | None]
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


def _case(recorded: Rows, later: Rows | None, *, refuse: bool = False) -> Case | None:
    if later is None:
        return None
    texts = _old(recorded), _new(recorded), _new(later), _old(later)
    before, after, now, expected = (text.encode() for text in texts)
    if before == after or (refuse and now in (before, after)):
        return None
    return Case(before, after, now, None if refuse else expected)


def _recover(
    name: str, record: Callable[[Edit], Edit | None] = lambda edit: edit
) -> Callable[[Later], Later]:
    """Register a kind to recover; `record` changes the edit before it is recorded."""

    def register(later: Later) -> Later:
        def kind(edit: Edit, rng: random.Random) -> Case | None:
            recorded = record(edit)
            if recorded is None:
                return None
            rows = rows_of(recorded)
            return _case(rows, later(rows, rng))

        RECOVER[name] = kind
        return later

    return register


def _refuse(name: str) -> Callable[[Later], Later]:
    def register(later: Later) -> Later:
        def kind(edit: Edit, rng: random.Random) -> Case | None:
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


def _shared(rows: Rows, least: int, most: int, rng: random.Random) -> int | None:
    """A shared row with a word, with so many rows between it and the nearest change."""
    fitting = [
        at
        for at, gap in enumerate(_gaps(rows))
        if least <= gap <= most and re.search(r"\w", "".join(rows[at].new))
    ]
    return rng.choice(fitting) if fitting else None


def _replaced(rows: Rows, at: int, by: Sequence[Row]) -> Rows:
    return [*rows[:at], *by, *rows[at + 1 :]]


def _change_line(rows: Rows, at: int | None) -> Rows | None:
    return None if at is None else _replaced(rows, at, [rows[at].mapped(_reworded)])


def _recognisable(rows: Rows, at: int) -> bool:
    """Whether what a change wrote says by itself what it is."""
    wrote = "".join(rows[at].new)
    return sum(map(str.isalnum, wrote)) >= TELLING and _new(rows).count(wrote) == 1


def _written(rows: Rows, rng: random.Random, lines: int = 1) -> int | None:
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
    return rng.choice(fitting) if fitting else None


def _block(rows: Rows, rng: random.Random, around: int, *, alone: bool = True) -> slice | None:
    """A change with shared rows around it; `alone`: no other change is near."""
    fitting = []
    for at in _changes(rows):
        block = slice(at - around, at + around + 1)
        if block.start >= 1 and block.stop < len(rows):
            others = rows[block.start - 1 : at] + rows[at + 1 : block.stop + 1]
            if not alone or all(row.shared for row in others):
                fitting.append(block)
    return rng.choice(fitting) if fitting else None


def _places(rows: Rows, block: slice, rng: random.Random, count: int = 1) -> list[int] | None:
    """Rows far from a block and from all changes, before which something can be put."""
    gaps = _gaps(rows)
    fitting = [
        at
        for at in range(1, len(rows))
        if min(gaps[at], gaps[at - 1]) >= 3 and not block.start - FAR < at < block.stop + FAR
    ]
    return sorted(rng.sample(fitting, count)) if len(fitting) >= count else None


def _moved(rows: Rows, block: slice, place: int, by: str = "") -> Rows:
    moved = [row.mapped(lambda line: _deeper(line, by)) for row in rows[block]]
    if place < block.start:
        return [*rows[:place], *moved, *rows[place : block.start], *rows[block.stop :]]
    return [*rows[: block.start], *rows[block.stop : place], *moved, *rows[place:]]


def _wrapped(rows: Rows, block: slice, *, tried: bool = False) -> Rows | None:
    inner = rows[block]
    depths = [_indent(line) for row in inner for line in row.new + row.old if line.strip()]
    if not depths:
        return None
    least = min(depths, key=len)
    head, foot = f"{least}{'try' if tried else 'if since'}:\n", []
    if tried:
        foot = [_common(f"{least}except OSError:\n", f"{least}    observe()\n")]
    deeper = [row.mapped(lambda line: _deeper(line, "    ")) for row in inner]
    return [*rows[: block.start], _common(head), *deeper, *foot, *rows[block.stop :]]


def _of_size(old: bool, new: bool) -> Callable[[Edit], Edit | None]:
    """Only the changes that took lines away, or not, and wrote lines, or not."""

    def record(edit: Edit) -> Edit | None:
        chosen = tuple(
            change
            for change in edit.changes
            if (change.start < change.stop) == old and bool(change.new) == new
        )
        return edit._replace(changes=chosen) if chosen else None

    return record


def _units(text: str, new: str, step: int = 4) -> str:
    """A line whose indentation by spaces is written with another unit."""
    width = len(text) - len(text.lstrip(" "))
    return new * (width // step) + " " * (width % step) + text[width:]


def _regular(edit: Edit) -> Edit | None:
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
    return edit._replace(changes=tuple(chosen)) if chosen else None


def _mapped(change: Callable[[str], str]) -> Callable[[Edit], Edit | None]:
    def record(edit: Edit) -> Edit | None:
        regular = _regular(edit)
        return None if regular is None else regular.mapped(change)

    return record


def _each(change: Callable[[str], str]) -> Later:
    return lambda rows, rng: [row.mapped(change) for row in rows]


def _crlf(line: str) -> str:
    return line.replace("\n", "\r\n")


def _then(first: Later, second: Later) -> Later:
    def both(rows: Rows, rng: random.Random) -> Rows | None:
        made = first(rows, rng)
        return None if made is None else second(made, rng)

    return both


# To recover.


@_recover("nothing since")
def _nothing(rows: Rows, rng: random.Random) -> Rows | None:
    return rows


@_recover("a line changed far away")
def _far_changed(rows: Rows, rng: random.Random) -> Rows | None:
    return _change_line(rows, _shared(rows, FAR, 9999, rng))


@_recover("lines added far away")
def _far_added(rows: Rows, rng: random.Random) -> Rows | None:
    at = _shared(rows, FAR, 9999, rng)
    return None if at is None else _replaced(rows, at, [*_fresh(rows[at].new[0], 3, rng), rows[at]])


@_recover("lines removed far away")
def _far_removed(rows: Rows, rng: random.Random) -> Rows | None:
    at = _shared(rows, FAR, 9999, rng)
    return None if at is None else [*rows[:at], *rows[at + 2 :]]


def _near(least: int, most: int) -> None:
    where = f"{least} to {most} lines" if least < most else f"{least} line"

    @_recover(f"a line changed, {where} between")
    def _changed(rows: Rows, rng: random.Random) -> Rows | None:
        return _change_line(rows, _shared(rows, least, most, rng))

    @_recover(f"lines added, {where} between")
    def _added(rows: Rows, rng: random.Random) -> Rows | None:
        at = _shared(rows, least, most, rng)
        if at is None:
            return None
        nearest = min(_changes(rows), key=lambda change: abs(change - at))
        fresh = _fresh(rows[at].new[0], 2, rng)
        return _replaced(rows, at, [*fresh, rows[at]] if at < nearest else [rows[at], *fresh])

    @_recover(f"a line removed, {where} between")
    def _removed(rows: Rows, rng: random.Random) -> Rows | None:
        at = _shared(rows, least, most, rng)
        return None if at is None else _replaced(rows, at, [])


_near(1, 1)
_near(2, 3)
_near(4, 6)


@_recover("the line above changed")
def _above(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return _change_line(rows, None if at is None else at - 1)


@_recover("the line below changed")
def _below(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return _change_line(rows, None if at is None else at + 1)


@_recover("the lines above and below changed")
def _both_sides(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    above = _change_line(rows, None if at is None else at - 1)
    return None if at is None or above is None else _change_line(above, at + 1)


@_recover("lines added directly above")
def _added_above(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return at if at is None else _replaced(rows, at, [*_fresh(rows[at].new[0], 2, rng), rows[at]])


@_recover("lines added directly below")
def _added_below(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return at if at is None else _replaced(rows, at, [rows[at], *_fresh(rows[at].new[0], 2, rng)])


@_recover("the line above removed")
def _removed_above(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    # The same line just below would make it two stories with one end.
    if at is None or rows[at - 1].new[0] in rows[at].old + rows[at].new:
        return None
    return _replaced(rows, at - 1, [])


def _other_edit(*, below: bool) -> Later:
    """The first or last change is the recorded one, the others were made since."""

    def later(rows: Rows, rng: random.Random) -> Rows | None:
        changes = _changes(rows)
        kept = changes[0] if below else changes[-1]
        return [
            row if row.shared or at == kept else Row(row.new, row.new)
            for at, row in enumerate(rows)
        ]

    return later


def _register_other_edits() -> None:
    for name, below in (("another edit above", False), ("another edit below", True)):

        def kind(edit: Edit, rng: random.Random, below: bool = below) -> Case | None:
            if len(edit.changes) < 2:
                return None
            only = edit.only(0) if below else edit.only(len(edit.changes) - 1)
            later = _other_edit(below=below)(rows_of(edit), rng)
            return _case(rows_of(only), later)

        RECOVER[name] = kind


_register_other_edits()


def _register_moves() -> None:
    for around in (5, 3, 2):

        @_recover(f"moved with {around} lines above and below")
        def _(rows: Rows, rng: random.Random, around: int = around) -> Rows | None:
            block = _block(rows, rng, around)
            if block is None or (around < 3 and not _recognisable(rows, block.start + around)):
                return None
            places = _places(rows, block, rng)
            return None if places is None else _moved(rows, block, places[0])


_register_moves()


@_recover("moved and indented")
def _moved_deeper(rows: Rows, rng: random.Random) -> Rows | None:
    block = _block(rows, rng, 4)
    places = None if block is None else _places(rows, block, rng)
    return None if block is None or places is None else _moved(rows, block, places[0], "    ")


@_recover("another block moved past it")
def _moved_past(rows: Rows, rng: random.Random) -> Rows | None:
    at = rng.choice(_changes(rows))
    other = slice(at + 4, at + 12)
    if at < 8 or other.stop >= len(rows) or not all(row.shared for row in rows[other]):
        return None
    if not all(row.shared for row in rows[at - 6 : at]):
        return None
    return _moved(rows, other, at - 4)


@_recover("copied elsewhere")
def _copied(rows: Rows, rng: random.Random) -> Rows | None:
    block = _block(rows, rng, 4)
    places = None if block is None else _places(rows, block, rng)
    if block is None or places is None:
        return None
    copy = [_common(*row.new) for row in rows[block]]
    return [*rows[: places[0]], *copy, *rows[places[0] :]]


@_recover("wrapped in an if")
def _in_if(rows: Rows, rng: random.Random) -> Rows | None:
    block = _block(rows, rng, 3)
    return None if block is None else _wrapped(rows, block)


@_recover("wrapped in a try")
def _in_try(rows: Rows, rng: random.Random) -> Rows | None:
    block = _block(rows, rng, 1)
    return None if block is None else _wrapped(rows, block, tried=True)


@_recover("only what it wrote wrapped in an if", _of_size(old=True, new=True))
def _wrote_in_if(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return None if at is None else _wrapped(rows, slice(at, at + 1))


@_recover("wrapped, and a line near changed")
def _in_if_changed(rows: Rows, rng: random.Random) -> Rows | None:
    return _then(lambda rows, rng: _change_line(rows, _shared(rows, 1, 2, rng)), _in_if)(rows, rng)


@_recover("the whole file in a class")
def _in_class(rows: Rows, rng: random.Random) -> Rows | None:
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
    _then(
        lambda rows, rng: _change_line(rows, _shared(rows, 1, 2, rng)),
        _each(lambda line: _units(line, "\t")),
    )
)
_recover("CRLF instead of LF")(_each(_crlf))
_recover("LF instead of CRLF", lambda edit: edit.mapped(_crlf))(
    _each(lambda line: line.replace("\r\n", "\n"))
)
_recover("CRLF instead of LF, and a line near changed")(
    _then(lambda rows, rng: _change_line(rows, _shared(rows, 1, 2, rng)), _each(_crlf))
)


def _at_the_end(edit: Edit) -> Edit:
    """The file ends behind the last change."""
    stop = edit.changes[-1].stop
    return edit._replace(lines=edit.lines[:stop])


def _unended(edit: Edit) -> Edit:
    return edit._replace(lines=(*edit.lines[:-1], edit.lines[-1].rstrip("\n")))


def _without_newline(rows: Rows, rng: random.Random) -> Rows | None:
    last = rows[-1]
    if not last.old or not last.new:
        return None
    old, new = ((*lines[:-1], lines[-1].rstrip("\n")) for lines in last)
    return [*rows[:-1], Row(old, new)]


def _with_newline(rows: Rows, rng: random.Random) -> Rows | None:
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
def _blank_lines(rows: Rows, rng: random.Random) -> Rows | None:
    gaps = _gaps(rows)
    made: Rows = []
    for row, gap in zip(rows, gaps, strict=True):
        made += [_common("\n")] * (gap >= 1 and rng.random() < 0.1)
        made.append(row)
    return made if len(made) > len(rows) else None


@_recover("a blank line added directly above")
def _blank_above(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return None if at is None else _replaced(rows, at, [_common("\n"), rows[at]])


@_recover("some changes taken back already")
def _partly_back(rows: Rows, rng: random.Random) -> Rows | None:
    changes = _changes(rows)
    if len(changes) < 2:
        return None
    back = set(rng.sample(changes, rng.randint(1, len(changes) - 1)))
    return [Row(row.old, row.old) if at in back else row for at, row in enumerate(rows)]


@_recover("some taken back, and a line near changed")
def _partly_back_changed(rows: Rows, rng: random.Random) -> Rows | None:
    return _then(lambda rows, rng: _change_line(rows, _shared(rows, 1, 3, rng)), _partly_back)(
        rows, rng
    )


@_recover("all taken back, and a line near changed")
def _all_back(rows: Rows, rng: random.Random) -> Rows | None:
    later = _change_line(rows, _shared(rows, 1, 3, rng))
    return None if later is None else [Row(row.old, row.old) for row in later]


_recover("a deletion, a line near changed", _of_size(old=True, new=False))(
    lambda rows, rng: _change_line(rows, _shared(rows, 1, 4, rng))
)
_recover("a deletion, wrapped in an if", _of_size(old=True, new=False))(_in_if)
_recover("a deletion, moved", _of_size(old=True, new=False))(
    lambda rows, rng: (
        _moved(rows, block, places[0])
        if (block := _block(rows, rng, 5)) and (places := _places(rows, block, rng))
        else None
    )
)
_recover("an insertion, a line near changed", _of_size(old=False, new=True))(
    lambda rows, rng: _change_line(rows, _shared(rows, 1, 4, rng))
)
_recover("an insertion, wrapped in an if", _of_size(old=False, new=True))(_in_if)


# To refuse.


def _in_what_it_wrote(
    rows: Rows, rng: random.Random, lines: int = 1
) -> tuple[int, list[str]] | None:
    at = _written(rows, rng, lines)
    return None if at is None else (at, list(rows[at].new))


def _with_new(rows: Rows, at: int, new: Sequence[str]) -> Rows:
    return _replaced(rows, at, [Row(rows[at].old, tuple(new))])


@_refuse("a word of what it wrote changed")
def _word(rows: Rows, rng: random.Random) -> Rows | None:
    found = _in_what_it_wrote(rows, rng)
    if found is None:
        return None
    at, new = found
    row = rng.choice([row for row, line in enumerate(new) if re.search(r"\w", line)])
    new[row] = _reworded(new[row])
    return _with_new(rows, at, new)


@_refuse("a line added in what it wrote")
def _line_within(rows: Rows, rng: random.Random) -> Rows | None:
    found = _in_what_it_wrote(rows, rng, 2)
    if found is None:
        return None
    at, new = found
    row = rng.randrange(1, len(new))
    return _with_new(rows, at, [*new[:row], *_fresh(new[row], 1, rng)[0].new, *new[row:]])


@_refuse("a line of what it wrote removed")
def _line_gone(rows: Rows, rng: random.Random) -> Rows | None:
    found = _in_what_it_wrote(rows, rng, 2)
    if found is None:
        return None
    at, new = found
    del new[rng.choice([row for row, line in enumerate(new) if line.strip()])]
    return None if tuple(new) == rows[at].old else _with_new(rows, at, new)


@_refuse("what it wrote is gone")
def _gone(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return _with_new(rows, at, ()) if at is not None and rows[at].old else None


@_refuse("what it wrote is gone with the lines around it")
def _all_gone(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    return None if at is None else [*rows[: max(at - 4, 0)], *rows[at + 5 :]]


@_refuse("what it wrote was replaced")
def _overwritten(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    if at is None:
        return None
    return _with_new(rows, at, [row.new[0] for row in _fresh(rows[at].new[0], 2, rng)])


@_refuse("taken back with another word")
def _back_otherwise(rows: Rows, rng: random.Random) -> Rows | None:
    fitting = [
        at for at in _changes(rows) if rows[at].new and re.search(r"\w", "".join(rows[at].old))
    ]
    if not fitting:
        return None
    at = rng.choice(fitting)
    old = list(rows[at].old)
    row = rng.choice([row for row, line in enumerate(old) if re.search(r"\w", line)])
    old[row] = _reworded(old[row])
    return None if tuple(old) == rows[at].new else _with_new(rows, at, old)


@_refuse("wrapped, and a word of what it wrote changed")
def _wrapped_word(rows: Rows, rng: random.Random) -> Rows | None:
    at = _written(rows, rng)
    if at is None or at < 4:
        return None
    new = list(rows[at].new)
    row = rng.choice([row for row, line in enumerate(new) if re.search(r"\w", line)])
    new[row] = _reworded(new[row])
    return _wrapped(_with_new(rows, at, new), slice(at - 3, at + 4))


@_refuse("moved to two places")
def _two_places(rows: Rows, rng: random.Random) -> Rows | None:
    block = _block(rows, rng, 4)
    places = None if block is None else _places(rows, block, rng, 2)
    if block is None or places is None:
        return None
    taken = _moved(rows, block, places[0])
    shift = block.stop - block.start
    second = places[1] + shift if places[1] < block.start else places[1]
    return [*taken[:second], *rows[block], *taken[second:]]


@_refuse("moved, and a word of what it wrote changed")
def _moved_word(rows: Rows, rng: random.Random) -> Rows | None:
    changed = _word(rows, rng)
    if changed is None:
        return None
    at = next(at for at, row in enumerate(rows) if row != changed[at])
    block = slice(at - 3, at + 4)
    places = _places(rows, block, rng) if block.start >= 1 else None
    return None if places is None else _moved(changed, block, places[0])


@_refuse("both neighbours of a deletion changed")
def _neighbours(rows: Rows, rng: random.Random) -> Rows | None:
    return _around_deletion(
        rows, rng, lambda above, below: (above.mapped(_reworded), below.mapped(_reworded))
    )


@_refuse("lines added where lines were deleted")
def _instead(rows: Rows, rng: random.Random) -> Rows | None:
    return _around_deletion(
        rows, rng, lambda above, below: (above, *_fresh(above.new[0], 2, rng), below)
    )


@_refuse("the neighbours of a deletion are gone")
def _neighbours_gone(rows: Rows, rng: random.Random) -> Rows | None:
    return _around_deletion(rows, rng, lambda above, below: ())


def _around_deletion(
    rows: Rows, rng: random.Random, change: Callable[[Row, Row], Sequence[Row]]
) -> Rows | None:
    """The rows directly around lines that were deleted become others."""
    fitting = [
        at
        for at in _changes(rows)
        if not rows[at].new
        and 0 < at < len(rows) - 1
        and all(row.shared and re.search(r"\w", row.new[0]) for row in (rows[at - 1], rows[at + 1]))
    ]
    if not fitting:
        return None
    at = rng.choice(fitting)
    return [*rows[: at - 1], *change(rows[at - 1], rows[at + 1]), *rows[at + 2 :]]


@_refuse("only a sibling is left")
def _sibling(rows: Rows, rng: random.Random) -> Rows | None:
    """The lines and what the edit wrote are gone; a block with other words is far away."""
    block = _block(rows, rng, 4)
    if block is None or not rows[block.start + 4].new:
        return None
    places = _places(rows, block, rng)
    if places is None:
        return None
    twin = [_common(*map(_reworded, row.new)) for row in rows[block]]
    cut = _replaced(rows, block.start, [])
    del cut[block.start : block.stop - 1]
    at = places[0] if places[0] < block.start else places[0] - (block.stop - block.start)
    return [*cut[:at], *twin, *cut[at:]]


def cases(kind: str, edits: Sequence[Edit], rng: random.Random) -> Iterator[Case]:
    """The cases that some edits give for a kind."""
    make = {**RECOVER, **REFUSE}[kind]
    for edit in edits:
        case = make(edit, rng)
        if case is not None:
            yield case
