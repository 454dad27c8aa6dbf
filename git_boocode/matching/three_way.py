"""Merge a text with an older version of it, line by line, as `git merge-file` does.

An edit whose old text only an older version has was made for that version: `rebased` makes it
there and merges what has changed since.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from git_boocode.matching.align import Hunk, script, similarity
from git_boocode.matching.already_applied import refuse_applied
from git_boocode.matching.guards import evidence
from git_boocode.matching.ladder import SHOWN_TEXT, Answer, ascend
from git_boocode.matching.rungs import Found, Query, Step
from git_boocode.matching.text import Text, split_lines
from git_boocode.matching.types import Candidate, Match, MatchError, Replacement, lines_of

Rows = tuple[int, int]


class Region(NamedTuple):
    """The rows (first, stop) of each text that belong together; rows count from 0."""

    base: Rows
    ours: Rows
    theirs: Rows


class ThreeWay(NamedTuple):
    """The result of a merge: its ``text``, or None where there are ``conflicts``.

    Only theirs changed the regions ``taken``, only ours those ``kept``, both alike the ``same``.
    """

    text: str | None
    conflicts: tuple[Region, ...] = ()
    taken: tuple[Region, ...] = ()
    kept: tuple[Region, ...] = ()
    same: tuple[Region, ...] = ()


def merge_three_way(base: str, ours: str, theirs: str) -> ThreeWay:
    """Apply the changes from ``base`` to ``theirs`` to ``ours``.

    Changes of the two sides conflict when they overlap or touch (no unchanged base line between
    them), unless both are the same. Line endings that differ in ours alone are no change, and stay.
    A text too large to align counts as one change.
    """
    base_rows, our_rows, their_rows = split_lines(base), split_lines(ours), split_lines(theirs)
    changes = [
        *((hunk, True) for hunk in _changes(_lf(base_rows), _lf(our_rows))),
        *((hunk, False) for hunk in _changes(base_rows, their_rows)),
    ]
    pieces: list[str] = []
    sorts: dict[str, list[Region]] = {"conflicts": [], "taken": [], "kept": [], "same": []}
    at = 0
    for region, sides in _regions(changes):
        if sides == {False}:
            pieces += our_rows[at : region.ours[0]]
            pieces += with_our_endings(base_rows, our_rows, their_rows, region)
            at = region.ours[1]
            sorts["taken"].append(region)
        elif sides == {True}:
            sorts["kept"].append(region)
        else:
            mine, other = our_rows[slice(*region.ours)], their_rows[slice(*region.theirs)]
            sorts["same" if _lf(mine) == _lf(other) else "conflicts"].append(region)
    text = None if sorts["conflicts"] else "".join([*pieces, *our_rows[at:]])
    return ThreeWay(text, **{name: tuple(regions) for name, regions in sorts.items()})


def _lf(rows: Iterable[str]) -> list[str]:
    return [row[:-2] + "\n" if row.endswith("\r\n") else row for row in rows]


def with_our_endings(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], region: Region
) -> list[str]:
    """Their rows of a region that only they changed, ended as ours end those of the base there."""
    rows = theirs[slice(*region.theirs)]
    first, stop = region.base
    shift = region.ours[0] - first
    for row in (*range(first, min(stop + 1, len(base))), first - 1):
        if row >= 0 and (had := _ending(base[row])):
            has = _ending(ours[row + shift])
            return [line.removesuffix(had) + has if _ending(line) == had else line for line in rows]
    return [*rows]


def _ending(row: str) -> str:
    return row[len(row.removesuffix("\n").removesuffix("\r")) :] if row.endswith("\n") else ""


def _changes(left: Sequence[str], right: Sequence[str]) -> list[Hunk]:
    """The changed hunks, moved along repeated lines to where git's diff places them.

    One that only adds or only removes lines goes as far down as it can, and joins one it meets.
    """
    placed: list[Hunk] = []
    # Of a line that moved, git's diff shows the removal first.
    for same, j1, j2, i1, i2 in script(right, left):
        if same:
            continue
        hunk = Hunk(same, i1, i2, j1, j2)
        if placed:
            above = _slid_down(left, right, placed.pop(), hunk.i1)
            if _can_slide_up(left, right, hunk, above.i2):
                placed.append(above._replace(i2=hunk.i2, j2=hunk.j2))
                continue
            placed.append(above)
        placed.append(hunk)
    if placed:
        placed.append(_slid_down(left, right, placed.pop(), len(left)))
    return placed


def _slid_down(left: Sequence[str], right: Sequence[str], hunk: Hunk, end: int) -> Hunk:
    """The hunk as far down as it can go without changing what it does, but not beyond ``end``."""
    moving = _sliding_rows(left, right, hunk)
    if moving is None:
        return hunk
    rows, first, stop = moving
    down = 0
    while hunk.i2 + down < end and rows[first + down] == rows[stop + down]:
        down += 1
    return Hunk(hunk.same, *(bound + down for bound in hunk[1:]))


def _can_slide_up(left: Sequence[str], right: Sequence[str], hunk: Hunk, end: int) -> bool:
    """Whether the hunk meets, on its way up, one that ends at ``end``."""
    moving = _sliding_rows(left, right, hunk)
    if moving is None:
        return hunk.i1 == end
    rows, first, stop = moving
    return all(rows[first - step] == rows[stop - step] for step in range(1, hunk.i1 - end + 1))


def _sliding_rows(
    left: Sequence[str], right: Sequence[str], hunk: Hunk
) -> tuple[Sequence[str], int, int] | None:
    """What a hunk only removes or only adds; None for one that replaces rows."""
    if hunk.i1 == hunk.i2:
        return right, hunk.j1, hunk.j2
    return (left, hunk.i1, hunk.i2) if hunk.j1 == hunk.j2 else None


def _regions(changes: Iterable[tuple[Hunk, bool]]) -> Iterator[tuple[Region, set[bool]]]:
    """The regions in which changes touch, with the sides (ours: True) that changed them."""
    first = stop = 0
    sides: set[bool] = set()
    shift = {True: 0, False: 0}
    before = dict(shift)
    for hunk, side in [*sorted(changes), (None, True)]:
        if sides and (hunk is None or hunk.i1 > stop):
            ours, theirs = ((first + before[own], stop + shift[own]) for own in (True, False))
            yield Region((first, stop), ours, theirs), sides
            sides, before = set(), dict(shift)
        if hunk is not None:
            first, stop = (first, max(stop, hunk.i2)) if sides else (hunk.i1, hunk.i2)
            sides.add(side)
            shift[side] = hunk.j2 - hunk.i2


def rebased(
    query: Query,
    steps: Sequence[Step],
    versions: Iterable[str],
    start_line: int | None,
    edit: Callable[[Answer], Replacement],
) -> Answer | None:
    """The edit as made in the newest version that has the old text, merged with the text.

    None if no version has it on one of these ``steps``, or if ``edit`` refuses the answer there.
    Raises MatchError (``stale``, ``already_applied``) when the merge conflicts or changes nothing.
    """
    new = query.new.raw if query.new else ""
    for index, version in enumerate(versions):
        older = Query(version, query.needle.raw, new, whole_lines=query.whole_lines)
        found = ascend(older, steps, start_line)
        if found.rung is None:
            continue
        try:
            done = edit(found)
        except MatchError:
            return None
        rows = [(span.start_line - 1, span.end_line) for span in done.spans]
        try:
            content, now = merge_edit(query.text, version, done.content, rows, proven=False)
        except MatchError as error:
            if len(rows) > 1:
                return None
            error.match = error.match._replace(version=index)
            raise
        spans = query.text.spans(_offsets(query.text, *pair) for pair in now)
        start, end = query.text.ends(spans[0])
        match = Match("fuzzy", "merged", done.match.similarity, len(spans), start, end, spans=spans)
        match = match._replace(span=spans[0], version=index)
        merged = Replacement(content, match, done.notes, len(spans), spans)
        return Answer(query, "merged", Found(), None, merged=merged)
    return None


def merge_edit(
    text: Text, base: str, edited: str, rows: Sequence[Rows], *, proven: bool = True
) -> tuple[str, tuple[Rows, ...]]:
    """Merge an edit of the ``rows`` of an older version, the ``base``, into the text.

    Returns the new content, and the rows of the text in which the edit was made. Raises MatchError:
    ``stale`` if the merge conflicts or, unless it is ``proven`` that the edit was made for the
    base, if none of these lines is left; ``already_applied`` if it changes nothing.
    """
    merge = merge_three_way(base, text.raw, edited)
    now = tuple(_rows_now(merge, rows))
    if merge.text is None or not (proven or _has_lines_left(merge, base, rows)):
        raise _stale(text, merge, base, rows, now)
    if merge.text == text.raw:
        there = [region.ours for region in merge.same] or now
        refuse_applied(text, *_shown(text, there[0][0], there[-1][1]))
    return merge.text, now


def _offsets(text: Text, first: int, stop: int) -> tuple[int, int]:
    start = text.start_of(first)
    return start, max(start, text.end_of(stop - 1)) if stop else 0


def _has_lines_left(merge: ThreeWay, base: str, rows: Sequence[Rows]) -> bool:
    """Whether each place still has a line with a telling word that the text did not change."""
    lines = Text(base).lines
    changed = {row for region in (*merge.kept, *merge.same) for row in range(*region.base)}
    return all(
        any(evidence(lines[row]) for row in range(*pair) if row not in changed) for pair in rows
    )


def _stale(
    text: Text, merge: ThreeWay, base: str, rows: Sequence[Rows], now: Sequence[Rows]
) -> MatchError:
    """The refusal that names the lines which the text changed where the edit was to be made."""
    from git_boocode.matching.suggestions import descriptions, differing_lines, unique_text

    older = Text(base)
    top, end = _hull([region.base for region in merge.conflicts] or rows)
    first, stop = _hull(rows)
    changed = [
        (hunk.j1, hunk.j2)
        for hunk in _changes(older.lines, text.lines)
        if (hunk.i1 <= end and top <= hunk.i2) or (hunk.i1 < stop and first < hunk.i2)
    ]
    first, stop = _shown(text, *_hull(changed or now))
    place = _shown(text, *_hull([*now, (first, stop)]))
    old = Text("\n".join(older.lines[slice(*_hull(rows))])[:SHOWN_TEXT])
    there = text.rows_text(first, stop)[:SHOWN_TEXT]
    alike = similarity(old.raw, text.rows_text(*place)[:SHOWN_TEXT])
    differs = tuple(differing_lines(text, place, old))
    where = descriptions(text, [place])[0]
    near = Candidate(first + 1, stop, alike, there, *unique_text(text, place), where, differs)
    return MatchError(
        "stale",
        f"the old text is of an older version, and {lines_of(first + 1, stop)} changed since",
        Match("not_found", candidates=(near,)),
    )


def _hull(rows: Sequence[Rows]) -> Rows:
    return min(rows)[0], max(stop for _, stop in rows)


def _shown(text: Text, first: int, stop: int) -> Rows:
    """The rows to show for a place; for one without rows its neighbours."""
    return (first, stop) if first < stop else (max(first - 1, 0), min(first + 1, len(text.lines)))


def _rows_now(merge: ThreeWay, rows: Sequence[Rows]) -> Iterator[Rows]:
    """The rows of our text that rows of the base have become."""
    regions = sorted((*merge.conflicts, *merge.taken, *merge.kept, *merge.same))
    firsts, stops = [region.base[0] for region in regions], [region.base[1] for region in regions]
    shifts = [0, *(region.ours[1] - region.base[1] for region in regions)]
    for first, stop in rows:
        above, reached = bisect_right(stops, first), bisect_left(firsts, stop)
        start, end = first + shifts[above], stop + shifts[reached]
        if above < len(regions) and firsts[above] <= first:
            start = regions[above].ours[0]
        yield start, max(end, regions[reached - 1].ours[1]) if reached else end
