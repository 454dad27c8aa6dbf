"""The looser ways of finding a hunk, each tried only when the stricter ones have failed.

In all of them the file's own lines stay; only what the hunk takes away or brings changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from git_boocode.editing.edits import How
from git_boocode.editing.hunks.depths import Indentation, aligned, indentation
from git_boocode.editing.hunks.model import Change, Near, Refusal, Spot, Window
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Task, verbatim
from git_boocode.editing.lines import changed_ranges
from git_boocode.editing.textfile import split_lines

if TYPE_CHECKING:
    from git_boocode.matching import MatchError, Replacement

UNCLEAR = Refusal("not_found", "its indentation differs from the file's in more than one way")


def bears_blanks(task: Task, profile: str) -> bool:
    """Whether a profile compares lines without their blanks, and a hunk is telling enough."""
    from git_boocode.matching.guards import too_bare
    from git_boocode.matching.profiles import PROFILES
    from git_boocode.matching.text import Text

    wanted = (step for step in PROFILES[profile].steps if step.rung in _BLANK_RUNGS)
    step = next(wanted, None)
    if step is None or not any(map(str.strip, task.old)):
        return False
    return not too_bare(Text("\n".join(task.old)), step)


def refitted(rows: Rows, task: Task, places: Sequence[int], spot: Spot, how: How) -> Spot | Refusal:
    """A hunk put onto the rows that its old lines stand for, one by one.

    Args:
        rows: the file.
        task: the hunk.
        places: the row of each old line, ascending.
        spot: where it belongs, still without changes.
        how: whether new lines are to be carried over.
    """
    from git_boocode.editing.hunks.fitting import carried

    if how.verbatim:
        return verbatim(task, rows, places, spot)
    depths = indentation(task, rows, places)
    if depths is Indentation.UNCLEAR:
        return UNCLEAR._replace(near=(Near(spot.first, spot.stop, 1.0),))
    return carried(task, rows, places, spot, given=depths is Indentation.GIVEN)


_BLANK_RUNGS = ("whitespace", "line_trimmed")
_LINE_BY_LINE = (*_BLANK_RUNGS, "rstripped", "unicode", "similarity")
"""Rungs that compare line by line: places as high as the old text mostly are it, row for row."""


def matched(task: Task, rows: Rows, window: Window, how: How) -> Spot | Refusal:
    """Look for a hunk with the matcher, between its neighbours."""
    from git_boocode.matching import MatchError

    text = "".join(rows.raw[window.first : window.stop])
    try:
        done = _replaced(task, text, window, how.profile)
    except MatchError as error:
        return _refusal(error, window.first)
    start, end = done.spans[0][:2]
    if not _is_whole(text, start, end):
        return Refusal("not_found", "it stands for whole lines, the file has it in part of one")
    match = done.match
    first = window.first + text.count("\n", 0, start)
    stop = first + len(split_lines(text[start:end]))
    spot = Spot(first, stop, (), match.rung or "exact", match.similarity)
    if spot.rung in _LINE_BY_LINE and _row_for_row(task, rows, first, stop):
        return refitted(rows, task, range(first, stop), spot, how)
    new = done.content[start : len(done.content) - (len(text) - end)]
    return _as_matched(task, rows, spot._replace(notes=done.notes), new, how)


def _row_for_row(task: Task, rows: Rows, first: int, stop: int) -> bool:
    """Whether each old line stands for the row in its place, and not for one above or below."""
    from git_boocode.matching.align import align_lines
    from git_boocode.matching.canonical import canonical_line

    if stop - first != len(task.old):
        return False
    mine = [canonical_line(line) for line in rows.stripped.keys[first:stop]]
    owned = align_lines([canonical_line(line.strip()) for line in task.old], mine)
    return all(own == (row, row + 1) for row, own in enumerate(owned))


def _as_matched(task: Task, rows: Rows, spot: Spot, new: str, how: How) -> Spot | Refusal:
    """A hunk as the matcher carried it onto rows of which there are more or fewer."""
    first, stop = spot.first, spot.stop
    depths = indentation(task, rows, aligned(task, rows, first, stop))
    if depths is Indentation.UNCLEAR and not how.verbatim:
        return UNCLEAR
    if how.verbatim or depths is Indentation.GIVEN:
        if stop - first != len(task.old):
            return Refusal("not_found", "the lines found are more or fewer, so none can be pasted")
        return verbatim(task, rows, range(first, stop), spot._replace(notes=()))
    before, after = rows.raw[first:stop], split_lines(new)
    if spot.rung != "layout" and _takes_more(task, before, after):
        near = (Near(first, stop, spot.similarity),)
        return Refusal("not_found", "the file has lines there that it would take away", near)
    changes = (
        Change(first + area.start, first + area.end, tuple(after[area.new_start : area.new_end]))
        for area in changed_ranges(before, after)
    )
    return spot._replace(changes=tuple(changes))


def _takes_more(task: Task, before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether more lines with text would go than the hunk takes away."""
    counts = [sum(bool(line.strip()) for line in lines) for lines in (before, after)]
    wanted = [sum(bool(line.strip()) for line in lines) for lines in (task.old, task.new)]
    return counts[0] - counts[1] > wanted[0] - wanted[1]


def _replaced(task: Task, text: str, window: Window, profile: str) -> Replacement:
    """The matcher's answer; of several places only the very one that the number names counts."""
    from git_boocode.matching import MatchError, replace_text

    old, new = ("".join(f"{line}\n" for line in lines) for lines in (task.old, task.new))
    try:
        return replace_text(text, old, new, profile=profile)
    except MatchError as error:
        line = -1 if window.expected is None else window.expected - window.first + 1
        if error.code != "ambiguous" or all(s.start_line != line for s in error.match.spans):
            raise
    return replace_text(text, old, new, profile=profile, start_line=line)


def _is_whole(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end - 1] == "\n")


def _refusal(error: MatchError, first: int) -> Refusal:
    near = tuple(
        Near(first + found.start_line - 1, first + found.end_line, found.similarity)
        for found in error.candidates
    )
    if error.code == "not_found":
        return Refusal("not_found", error.match.reason or "", near)
    if error.code == "ambiguous":
        return Refusal("ambiguous", "several places are alike", near)
    return Refusal(error.code, error.message, near)
