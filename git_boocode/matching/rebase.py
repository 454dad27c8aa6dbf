"""Make an edit in an older version of the text, and merge it with what has changed since.

A version that has the old text is evidence of what the model read; similarity is only a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from git_boocode.matching.already_applied import refuse_applied
from git_boocode.matching.guards import evidence
from git_boocode.matching.ladder import SHOWN_TEXT, Answer, ascend
from git_boocode.matching.profiles import Step
from git_boocode.matching.rungs import Found, Query
from git_boocode.matching.similarity import similarity
from git_boocode.matching.text import Text
from git_boocode.matching.three_way import ThreeWay, merge_three_way
from git_boocode.matching.types import Candidate, Match, MatchError, Replacement

Rows = tuple[int, int]


class Merged(NamedTuple):
    """The ``content`` after a merge, and the ``rows`` (first, stop) of the text it was made in."""

    content: str
    rows: tuple[Rows, ...]


MERGED = "merged"
"""The rung of an edit that was made in an older version."""


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
            merge = merge_edit(query.text, version, done.content, rows, proven=False)
        except MatchError as error:
            if len(rows) > 1:
                return None
            error.match = error.match._replace(version=index)
            raise
        return Answer(query, MERGED, Found(), None, merged=_landed(query.text, merge, done, index))
    return None


def merge_edit(
    text: Text, base: str, edited: str, rows: Sequence[Rows], *, proven: bool = True
) -> Merged:
    """Merge an edit of the ``rows`` of an older version, the ``base``, into the text.

    Raises MatchError: ``stale`` if the merge conflicts or, unless it is ``proven`` that the edit
    was made for the base, if none of these lines is left; ``already_applied`` if it changes
    nothing.
    """
    merge = merge_three_way(base, text.raw, edited)
    now = tuple(_rows_now(merge, *pair) for pair in rows)
    if merge.text is None or not (proven or _has_lines_left(merge, base, rows)):
        raise _stale(text, merge, base, rows)
    if merge.text == text.raw:
        there = [region.ours for region in merge.same] or now
        refuse_applied(text, *_shown(text, there[0][0], there[-1][1]))
    return Merged(merge.text, now)


def _landed(text: Text, merge: Merged, done: Replacement, version: int) -> Replacement:
    spans = text.spans(
        (text.start_of(first), max(text.start_of(first), text.end_of(stop - 1)) if stop else 0)
        for first, stop in merge.rows
    )
    start, end = text.ends(spans[0])
    match = Match("fuzzy", MERGED, done.match.similarity, len(spans), start, end, (), spans)
    match = match._replace(span=spans[0], version=version)
    return Replacement(merge.content, match, done.notes, len(spans), spans)


def _has_lines_left(merge: ThreeWay, base: str, rows: Sequence[Rows]) -> bool:
    """Whether each place still has a line with a telling word that the text did not change."""
    lines = Text(base).lines
    changed = {row for region in (*merge.kept, *merge.same) for row in range(*region.base)}
    return all(
        any(evidence(lines[row]) for row in range(*pair) if row not in changed) for pair in rows
    )


def _stale(text: Text, merge: ThreeWay, base: str, rows: Sequence[Rows]) -> MatchError:
    touched = [region.ours for region in merge.conflicts]
    touched += [_rows_now(merge, *pair) for pair in rows]
    first, stop = _shown(text, min(touched)[0], max(stop for _, stop in touched))
    where = f"line {first + 1}" if stop == first + 1 else f"lines {first + 1}-{stop}"
    there = text.rows_text(first, stop)[:SHOWN_TEXT] if first < stop else ""
    old = "\n".join(Text(base).lines[rows[0][0] : rows[-1][1]])[:SHOWN_TEXT]
    near = Candidate(first + 1, max(stop, first + 1), similarity(old, there), there)
    return MatchError(
        "stale",
        f"the old text is of an older version, and {where} changed since",
        Match("not_found", candidates=(near,)),
    )


def _shown(text: Text, first: int, stop: int) -> Rows:
    """The rows to show for a place; for one without rows its neighbours."""
    if first < stop:
        return first, stop
    return max(first - 1, 0), min(first + 1, len(text.lines))


def _rows_now(merge: ThreeWay, first: int, stop: int) -> Rows:
    """The rows of our text that rows of the base have become."""
    start, end, shift = first, stop, 0
    for region in sorted((*merge.conflicts, *merge.taken, *merge.kept, *merge.same)):
        if region.base[0] >= stop:
            break
        if region.base[0] <= first < region.base[1]:
            start = region.ours[0]
        shift = region.ours[1] - region.base[1]
        if region.base[1] <= first:
            start = first + shift
        end = max(region.ours[1], stop + shift)
    return start, end
