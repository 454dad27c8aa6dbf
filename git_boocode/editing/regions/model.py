"""A change between anchors, and the place in the file that was found for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.editing.edits import lines_of


class Change(NamedTuple):
    """What takes the place of a region.

    Attributes:
        start: the lines that the region begins with.
        end: the lines that it ends with; None if it is no longer than `start`.
        content: the lines that will stand there; none to delete the region.
    """

    start: tuple[str, ...]
    end: tuple[str, ...] | None
    content: tuple[str, ...]


class Region(NamedTuple):
    """Where a change belongs: rows `first` to `stop` (exclusive), from 0, and its new lines."""

    label: str
    first: int
    stop: int
    rung: int
    content: Sequence[str]
    reindented: bool

    @property
    def where(self) -> str:
        """Its lines in words."""
        return lines_of(self.first + 1, self.stop)


class Found(NamedTuple):
    """An anchor at rows `first` to `stop` (exclusive), by the rung with that number."""

    first: int
    stop: int
    rung: int
