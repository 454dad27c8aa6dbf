"""Merge a text with an older version of it, line by line, as `git merge-file` does.

If only an older version contains the old text of an edit, `rebase_edit` makes the edit in that
version and merges the later changes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from operator import invert
from typing import NamedTuple

from git_boocode.matching.align import Hunk, script, scripts, similarity
from git_boocode.matching.already_applied import refuse_applied
from git_boocode.matching.guards import evidence
from git_boocode.matching.ladder import LadderAnswer, try_steps
from git_boocode.matching.search import Query
from git_boocode.matching.text import Text, lines_of, split_lines
from git_boocode.matching.types import (
    SHOWN_TEXT,
    Candidate,
    Match,
    MatchError,
    Replacement,
    Rows,
    Step,
)

_SHOWN_CLASHES = 10  # maximum number of conflicts that an error shows


Place = tuple[Rows, Rows]
"""The rows of a change in the base and in the text that has it."""


class Region(NamedTuple):
    """The corresponding rows (first, stop) of each text; rows are 0-based."""

    base: Rows
    ours: Rows
    theirs: Rows


class ThreeWay(NamedTuple):
    """The result of a merge: its ``text``, or None if there are ``conflicts``.

    The regions ``taken`` were changed by theirs only, ``kept`` by ours only, ``same`` by both.
    """

    text: str | None
    conflicts: tuple[Region, ...] = ()
    taken: tuple[Region, ...] = ()
    kept: tuple[Region, ...] = ()
    same: tuple[Region, ...] = ()


def merge_three_way(
    base: str, ours: str, theirs: str, *, places: Sequence[Place] | None = None
) -> ThreeWay:
    """Apply the changes from ``base`` to ``theirs`` to ``ours``.

    Changes of the two sides conflict if they overlap or touch (no unchanged base line between
    them), unless they are equal. Different line endings in ours alone are not a change, and stay. A
    text that is too large to align counts as one change.

    ``places`` are the changes of theirs, if they are known: the rows in the base and in theirs,
    ascending. Then one of our changes that could also be at other rows, because lines are repeated,
    conflicts there as well.
    """
    base_rows, our_rows, their_rows = split_lines(base), split_lines(ours), split_lines(theirs)
    here = split_lines(with_our_endings(base, ours, theirs))
    left, right = (split_lines(text.replace("\r\n", "\n")) for text in (base, ours))
    own, movable = _changes(left, right), list[Hunk]()
    if places is None:
        made = _changes(base_rows, their_rows)
    else:
        placed, own = own, [*_widened(left, right, own)]
        movable = [wide for hunk, wide in zip(placed, own, strict=True) if wide != hunk]
        made = [*_changes_in(base_rows, their_rows, places)]
    firsts = [hunk.i1 for hunk in movable]
    changes = [*((hunk, True) for hunk in own), *((hunk, False) for hunk in made)]
    sorts: dict[str, list[Region]] = {"conflicts": [], "taken": [], "kept": [], "same": []}
    for region, sides in _regions(changes):
        if len(sides) == 1:
            sorts["kept" if True in sides else "taken"].append(region)
            continue
        mine, other = our_rows[slice(*region.ours)], their_rows[slice(*region.theirs)]
        # Which of some equal lines ours has changed is not known.
        first, stop = (bisect_left(firsts, row) for row in region.base)
        is_unsure = first < stop
        sorts["same" if _lf(mine) == _lf(other) and not is_unsure else "conflicts"].append(region)
    text = None
    if not sorts["conflicts"]:
        taken = ((*region.ours, here[slice(*region.theirs)]) for region in sorts["taken"])
        text = spliced_rows(our_rows, taken)
    return ThreeWay(text, **{name: tuple(regions) for name, regions in sorts.items()})


def spliced_rows(rows: Sequence[str], changes: Iterable[tuple[int, int, Sequence[str]]]) -> str:
    """Apply ascending replacements ``(first, stop, lines)`` to some rows; returns the text."""
    pieces, at = list[str](), 0
    for first, stop, lines in changes:
        pieces += [*rows[at:first], *lines]
        at = stop
    return "".join([*pieces, *rows[at:]])


def _lf(rows: Iterable[str]) -> list[str]:
    return [row[:-2] + "\n" if row.endswith("\r\n") else row for row in rows]


def with_our_endings(base: str, ours: str, theirs: str) -> str:
    """``theirs`` with our line endings, if ours has changed those of the base.

    If the base has mixed endings, it is unknown which lines ours has changed.
    """
    before, ending = Text(base), Text(ours).usual_ending
    if before.mixed or before.usual_ending == ending:
        return theirs
    return theirs.replace("\r\n", "\n").replace("\n", ending)


def changed_regions(base: str, theirs: str) -> list[tuple[Region, ...]]:
    """What changed from ``base`` to ``theirs``, for each way to align them; the usual one first.

    Rows are counted as if ours was the base.
    """
    left, right = split_lines(base), split_lines(theirs)
    found: list[tuple[Region, ...]] = []
    for hunks in scripts(right, left):
        changes = ((hunk, False) for hunk in _placed(left, right, hunks))
        regions = tuple(region for region, _ in _regions(changes))
        if regions not in found:
            found.append(regions)
    return found


def _changes(left: Sequence[str], right: Sequence[str]) -> list[Hunk]:
    # If a line was moved, git's diff shows the removal first.
    return _placed(left, right, script(right, left))


def _placed(left: Sequence[str], right: Sequence[str], backwards: Iterable[Hunk]) -> list[Hunk]:
    """The changed hunks, moved along repeated lines to their positions in git's diff.

    A hunk that only adds or only removes lines moves down as far as possible, and joins the next.
    The script is from ``right`` to ``left``.
    """
    placed: list[Hunk] = []

    def slide_last(end: int) -> Hunk:
        down = _room(left, right, placed[-1], end - placed[-1].i2, down=True)
        last = placed.pop()
        rows = (bound + down for bound in (last.i1, last.i2, last.j1, last.j2))
        return Hunk(last.same, *rows)

    for same, j1, j2, i1, i2 in backwards:
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


def _changes_in(
    left: Sequence[str], right: Sequence[str], places: Iterable[Place]
) -> Iterator[Hunk]:
    """The changed hunks in some places, none of which leaves its place."""
    for (i1, i2), (j1, j2) in places:
        for hunk in _changes(left[i1:i2], right[j1:j2]):
            yield Hunk(hunk.same, i1 + hunk.i1, i1 + hunk.i2, j1 + hunk.j1, j1 + hunk.j2)


def _widened(left: Sequence[str], right: Sequence[str], hunks: Iterable[Hunk]) -> Iterator[Hunk]:
    """The hunks of `_changes` with all rows to which they can move with the same effect."""
    above = 0
    for hunk in hunks:
        up = _room(left, right, hunk, hunk.i1 - above, down=False)
        above = hunk.i2
        yield hunk._replace(i1=hunk.i1 - up, j1=hunk.j1 - up)


def _room(left: Sequence[str], right: Sequence[str], hunk: Hunk, most: int, *, down: bool) -> int:
    """The number of rows, at most ``most``, by which a hunk can move with the same effect."""
    rows, first, stop = right, hunk.j1, hunk.j2
    if hunk.j1 == hunk.j2:
        rows, first, stop = left, hunk.i1, hunk.i2
    elif hunk.i1 < hunk.i2:
        return 0
    steps = range(most) if down else map(invert, range(most))
    return len([*takewhile(lambda step: rows[first + step] == rows[stop + step], steps)])


def _regions(changes: Iterable[tuple[Hunk, bool]]) -> Iterator[tuple[Region, set[bool]]]:
    """Join touching changes into regions, with the sides (ours: True) that changed them."""
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


def rebase_edit(
    query: Query,
    steps: Sequence[Step],
    versions: Iterable[str],
    start_line: int | None,
    edit: Callable[[LadderAnswer], Replacement],
) -> Replacement | None:
    """Make the edit in the newest version that contains the old text, and merge it with the text.

    None if no version contains it according to ``steps``, or if ``edit`` refuses the edit there.
    Raises MatchError (``stale``, ``already_applied``) if the merge conflicts or changes nothing.
    """
    new = query.new.raw if query.new else ""
    for index, version in enumerate(versions):
        older = Query(version, query.needle.raw, new, whole_lines=query.whole_lines)
        found = try_steps(older, steps, start_line)
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
        return Replacement(content, match, done.notes, len(spans), spans)
    return None


def merge_edit(
    text: Text,
    base: str,
    edited: str,
    rows: Sequence[Rows],
    *,
    proven: bool = True,
    places: Sequence[Place] | None = None,
) -> tuple[str, tuple[Rows, ...]]:
    """Merge an edit of the ``rows`` of an older version, the ``base``, into the text.

    ``places`` are the changes of the edit if they are known by their lines, see `merge_three_way`.
    Returns the new content, and the edited rows of the text. Raises MatchError: ``stale`` if the
    merge conflicts, or if none of the edited lines is left, unless it is ``proven`` that the edit
    was made for the base; ``already_applied`` if it changes nothing.
    """
    if places is None and len(rows) == 1:
        places = _place_of(rows[0], base, edited)
    merge = merge_three_way(base, text.raw, edited, places=places)
    now = tuple(_rows_now(merge, rows))
    if merge.text == text.raw:
        there = [region.ours for region in merge.same] or now
        refuse_applied(text, *_shown(text, there[0][0], there[-1][1]))
    if merge.text is None or not (proven or _has_lines_left(merge, base, rows)):
        raise _stale(text, merge, base, rows, now)
    return merge.text, now


def _place_of(rows: Rows, base: str, edited: str) -> list[Place] | None:
    """The place of an edit that has changed some rows of the base; None if it changed others."""
    old, new = split_lines(base), split_lines(edited)
    (first, stop), below = rows, len(old) - rows[1]
    if old[:first] != new[:first] or (below and old[stop:] != new[len(new) - below :]):
        return None
    return [(rows, (first, len(new) - below))]


def _has_lines_left(merge: ThreeWay, base: str, rows: Sequence[Rows]) -> bool:
    """Whether each place still has an unchanged line with some evidence."""
    lines = Text(base).lines
    changed = {row for region in (*merge.kept, *merge.same) for row in range(*region.base)}
    return all(
        any(evidence(lines[row]) for row in range(*pair) if row not in changed) for pair in rows
    )


def _stale(
    text: Text, merge: ThreeWay, base: str, rows: Sequence[Rows], now: Sequence[Rows]
) -> MatchError:
    """The error that names the lines of the text that conflict with the edit."""
    from git_boocode.matching.suggestions import candidates, descriptions

    if not text.lines:
        gone = Match("not_found", candidates=(Candidate(1, 0, 0.0, ""),))
        message = "the old text is from an older version, and the file was emptied since"
        return MatchError("stale", message, gone)
    older = Text(base)
    hunks = _changes(older.lines, text.lines)
    clashes = [region.base for region in merge.conflicts]
    if len(rows) == 1 or not clashes:
        clashes = [_hull(clashes or rows)]
    found = []
    for clash in clashes[:_SHOWN_CLASHES]:
        pairs = [pair for pair in zip(rows, now, strict=True) if _touch(pair[0], clash)]
        old_rows, new_rows = zip(*pairs, strict=True) if pairs else (rows, now)
        first, stop = _hull(old_rows)
        old = Text("\n".join(older.lines[first:stop])[:SHOWN_TEXT])
        changed = [
            (hunk.j1, hunk.j2)
            for hunk in hunks
            if _touch((hunk.i1, hunk.i2), clash) or (hunk.i1 < stop and first < hunk.i2)
        ]
        first, stop = _shown(text, *_hull(changed or new_rows))
        place = _shown(text, *_hull([*new_rows, (first, stop)]))
        alike = similarity(old.raw, text.rows_text(*place)[:SHOWN_TEXT])
        (near,) = candidates(text, [(*place, alike)], old)
        there = text.rows_text(first, stop)[:SHOWN_TEXT]
        (where,) = descriptions(text, [(first, stop)])
        found.append(near._replace(start_line=first + 1, end_line=stop, text=there, where=where))
    where = lines_of(found[0].start_line, found[0].end_line)
    message = f"the old text is from an older version, and {where} changed since"
    return MatchError("stale", message, Match("not_found", candidates=tuple(found)))


def _touch(place: Rows, other: Rows) -> bool:
    return other[0] <= place[1] and place[0] <= other[1]


def _hull(rows: Sequence[Rows]) -> Rows:
    return min(rows)[0], max(stop for _, stop in rows)


def _shown(text: Text, first: int, stop: int) -> Rows:
    """The rows to show for a place; its neighbours if it has no rows."""
    return (first, stop) if first < stop else (max(first - 1, 0), min(first + 1, len(text.lines)))


def _rows_now(merge: ThreeWay, rows: Sequence[Rows]) -> Iterator[Rows]:
    """The rows of our text that correspond to rows of the base."""
    regions = sorted((*merge.conflicts, *merge.taken, *merge.kept, *merge.same))
    firsts, stops = [region.base[0] for region in regions], [region.base[1] for region in regions]
    shifts = [0, *(region.ours[1] - region.base[1] for region in regions)]
    for first, stop in rows:
        above, reached = bisect_right(stops, first), bisect_left(firsts, stop)
        start, end = first + shifts[above], stop + shifts[reached]
        if above < len(regions) and firsts[above] <= first:
            start = regions[above].ours[0]
        yield start, max(end, regions[reached - 1].ours[1]) if reached else end
