"""Merge a proposed version of a file into the user's, and apply it by hunks."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from git_boocode.editing.text_changes import changed_hunks
from git_boocode.editing.textfile import FileText
from git_boocode.matching.text import Text, lines_of, split_lines
from git_boocode.matching.three_way import (
    Region,
    merge_three_way,
    spliced_rows,
    with_our_endings,
)

_OURS, _DIVIDER, _THEIRS = "<<<<<<< local", "=======", ">>>>>>> proposal"


class MergedText(NamedTuple):
    """The merged text, and the conflicts: 1-based lines of the user's text, both ends inclusive.

    The end of an empty range is one less than its start.
    """

    text: FileText
    conflicts: tuple[tuple[int, int], ...] = ()

    @property
    def places(self) -> list[str]:
        """The conflicting lines in words."""
        return [lines_of(*pair) for pair in self.conflicts]


class TextHunk(NamedTuple):
    """A changed block of lines: its number, from 1, and the 1-based lines of both texts.

    Both ends are inclusive; the end of an empty range is one less than its start.
    """

    number: int
    start_line: int
    end_line: int
    new_start_line: int
    new_end_line: int
    old_text: str
    new_text: str


def is_binary(text: FileText) -> bool:
    """Whether a file has no lines to merge."""
    return "\0" in text.text


def merge_texts(
    base: FileText, ours: FileText, theirs: FileText, *, favour_theirs: bool = False
) -> MergedText:
    """Apply the change from `base` to `theirs` to `ours`, as `git merge-file` does.

    With `favour_theirs`, conflicting lines are theirs, instead of both with markers.
    """
    merge = merge_three_way(base.text, ours.text, theirs.text)
    if merge.text is not None:
        return MergedText(ours._replace(text=merge.text))
    rows = split_lines(ours.text)
    new = split_lines(with_our_endings(base.text, ours.text, theirs.text))
    ending = Text(ours.text or theirs.text).usual_ending
    changes = [(*region.ours, new[slice(*region.theirs)]) for region in merge.taken]
    for region in merge.conflicts:
        both = _marked(rows, new, region, ending)
        changes.append((*region.ours, new[slice(*region.theirs)] if favour_theirs else both))
    text = spliced_rows(rows, sorted(changes, key=lambda change: change[:2]))
    conflicts = tuple((region.ours[0] + 1, region.ours[1]) for region in merge.conflicts)
    return MergedText(ours._replace(text=text), conflicts)


def _marked(ours: list[str], theirs: list[str], region: Region, ending: str) -> list[str]:
    sides = ours[slice(*region.ours)], theirs[slice(*region.theirs)]
    # A marker is a line of its own, also after a last line without an end.
    mine, other = ([row if row.endswith("\n") else row + ending for row in side] for side in sides)
    first, divider, last = (f"{marker}{ending}" for marker in (_OURS, _DIVIDER, _THEIRS))
    return [first, *mine, divider, *other, last]


def text_hunks(old: str, new: str) -> list[TextHunk]:
    """The hunks from one text to another, without lines around them."""
    before, after = split_lines(old), split_lines(new)
    return [
        TextHunk(
            number,
            hunk.i1 + 1,
            hunk.i2,
            hunk.j1 + 1,
            hunk.j2,
            "".join(before[hunk.i1 : hunk.i2]),
            "".join(after[hunk.j1 : hunk.j2]),
        )
        for number, hunk in enumerate(changed_hunks(before, after), 1)
    ]


def with_hunks(old: str, new: str, numbers: Collection[int]) -> str:
    """The old text with some of the `text_hunks` to the new one."""
    chosen = [hunk for hunk in text_hunks(old, new) if hunk.number in numbers]
    changes = ((hunk.start_line - 1, hunk.end_line, [hunk.new_text]) for hunk in chosen)
    return spliced_rows(split_lines(old), changes)
