"""Merge a text with an older version of it, line by line, as `git merge-file` does.

An edit whose old text only an older version has was made for that version: `rebased` makes it
there and merges what has changed since.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from operator import invert
from typing import NamedTuple

from git_boocode.matching.align import Hunk, script, similarity
from git_boocode.matching.already_applied import Rows, refuse_applied
from git_boocode.matching.guards import evidence
from git_boocode.matching.ladder import SHOWN_TEXT, LadderAnswer, ascend
from git_boocode.matching.rungs import Step
from git_boocode.matching.text import Found, Query, Text, lines_of, split_lines
from git_boocode.matching.types import Match, MatchError, Replacement


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
    here = split_lines(with_our_endings(base, ours, theirs))
    changes = [
        *((hunk, True) for hunk in _changes(_lf(base_rows), _lf(our_rows))),
        *((hunk, False) for hunk in _changes(base_rows, their_rows)),
    ]
    sorts: dict[str, list[Region]] = {"conflicts": [], "taken": [], "kept": [], "same": []}
    for region, sides in _regions(changes):
        mine, other = our_rows[slice(*region.ours)], their_rows[slice(*region.theirs)]
        both = "same" if _lf(mine) == _lf(other) else "conflicts"
        sorts[both if len(sides) > 1 else "kept" if True in sides else "taken"].append(region)
    text = None
    if not sorts["conflicts"]:
        taken = ((*region.ours, here[slice(*region.theirs)]) for region in sorts["taken"])
        text = spliced_rows(our_rows, taken)
    return ThreeWay(text, **{name: tuple(regions) for name, regions in sorts.items()})


def spliced_rows(rows: Sequence[str], changes: Iterable[tuple[int, int, Sequence[str]]]) -> str:
    """The text of some rows in which rows ``(first, stop, lines)``, ascending, become the lines."""
    pieces, at = list[str](), 0
    for first, stop, lines in changes:
        pieces += [*rows[at:first], *lines]
        at = stop
    return "".join([*pieces, *rows[at:]])


def _lf(rows: Iterable[str]) -> list[str]:
    return [row[:-2] + "\n" if row.endswith("\r\n") else row for row in rows]


def with_our_endings(base: str, ours: str, theirs: str) -> str:
    """``theirs`` with our line endings, if the base has others throughout and ours mostly does not.

    Of a base with mixed endings it is unknown which lines got another one.
    """
    before, wanted = Text(base), Text(ours).usual_ending
    if before.mixed or before.usual_ending == wanted:
        return theirs
    return theirs.replace("\r\n", "\n").replace("\n", wanted)


def _changes(left: Sequence[str], right: Sequence[str]) -> list[Hunk]:
    """The changed hunks, moved along repeated lines to where git's diff places them.

    One that only adds or only removes lines goes as far down as it can, and joins one it meets.
    """
    placed: list[Hunk] = []

    def slide_last(end: int) -> Hunk:
        down = _room(left, right, placed[-1], end - placed[-1].i2, down=True)
        return Hunk(placed[-1].same, *(bound + down for bound in placed.pop()[1:]))

    # Of a line that moved, git's diff shows the removal first.
    for same, j1, j2, i1, i2 in script(right, left):
        hunk = Hunk(same, i1, i2, j1, j2)
        if same:
            continue
        if placed:
            above = slide_last(i1)
            gap = i1 - above.i2
            if _room(left, right, hunk, gap, down=False) == gap:
                hunk = above._replace(i2=i2, j2=j2)
            else:
                placed.append(above)
        placed.append(hunk)
    return [*placed[:-1], slide_last(len(left))] if placed else []


def _room(left: Sequence[str], right: Sequence[str], hunk: Hunk, most: int, *, down: bool) -> int:
    """By how many rows a hunk can move without changing what it does, at most ``most``."""
    rows, first, stop = right, hunk.j1, hunk.j2
    if hunk.j1 == hunk.j2:
        rows, first, stop = left, hunk.i1, hunk.i2
    elif hunk.i1 < hunk.i2:
        return 0
    steps = range(most) if down else map(invert, range(most))
    return len([*takewhile(lambda step: rows[first + step] == rows[stop + step], steps)])


def _regions(changes: Iterable[tuple[Hunk, bool]]) -> Iterator[tuple[Region, set[bool]]]:
    """The regions in which changes touch, with the sides (ours: True) that changed them."""
    groups: list[list[tuple[Hunk, bool]]] = []
    stop = -1
    for change in sorted(changes):
        if change[0].i1 > stop:
            groups.append([])
        groups[-1].append(change)
        stop = max(stop, change[0].i2)
    shift = {True: 0, False: 0}
    for group in groups:
        first, stop = group[0][0].i1, max(hunk.i2 for hunk, _ in group)
        before = dict(shift)
        shift |= {side: hunk.j2 - hunk.i2 for hunk, side in group}
        ours, theirs = ((first + before[own], stop + shift[own]) for own in (True, False))
        yield Region((first, stop), ours, theirs), {side for _, side in group}


def rebased(
    query: Query,
    steps: Sequence[Step],
    versions: Iterable[str],
    start_line: int | None,
    edit: Callable[[LadderAnswer], Replacement],
) -> LadderAnswer | None:
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
        starts = [query.text.start_of(first) for first, _ in now]
        ends = [query.text.end_of(stop - 1) if stop else 0 for _, stop in now]
        spans = query.text.spans(zip(starts, map(max, starts, ends), strict=True))
        start, end = query.text.ends(spans[0])
        match = Match("fuzzy", "merged", done.match.similarity, len(spans), start, end, spans=spans)
        match = match._replace(span=spans[0], version=index)
        merged = Replacement(content, match, done.notes, len(spans), spans)
        return LadderAnswer(query, "merged", Found(), None, merged=merged)
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
    if merge.text == text.raw:
        there = [region.ours for region in merge.same] or now
        refuse_applied(text, *_shown(text, there[0][0], there[-1][1]))
    if merge.text is None or not (proven or _has_lines_left(merge, base, rows)):
        raise _stale(text, merge, base, rows, now)
    return merge.text, now


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
    from git_boocode.matching.suggestions import candidates

    older = Text(base)
    top, end = _hull([region.base for region in merge.conflicts] or rows)
    first, stop = _hull(rows)
    old = Text("\n".join(older.lines[first:stop])[:SHOWN_TEXT])
    changed = [
        (hunk.j1, hunk.j2)
        for hunk in _changes(older.lines, text.lines)
        if (hunk.i1 <= end and top <= hunk.i2) or (hunk.i1 < stop and first < hunk.i2)
    ]
    first, stop = _shown(text, *_hull(changed or now))
    place = _shown(text, *_hull([*now, (first, stop)]))
    alike = similarity(old.raw, text.rows_text(*place)[:SHOWN_TEXT])
    (near,) = candidates(text, [(*place, alike)], old)
    there = text.rows_text(first, stop)[:SHOWN_TEXT]
    near = near._replace(start_line=first + 1, end_line=stop, text=there)
    said = f"the old text is of an older version, and {lines_of(first + 1, stop)} changed since"
    return MatchError("stale", said, Match("not_found", candidates=(near,)))


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
