"""The action of the format `region`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.editing.actions import check_text
from git_boocode.editing.edits import How, MissError, Outcome
from git_boocode.editing.regions.model import Change, Region
from git_boocode.editing.regions.report import joined, labelled, landing, overlaps
from git_boocode.editing.regions.search import Search
from git_boocode.editing.rows import Rows, bare
from git_boocode.editing.textfile import Text


class Regions(NamedTuple):
    """Changes of one file, all of them located in the text as it is before any of them.

    Attributes:
        changes: the changes, in any order.
    """

    changes: tuple[Change, ...]

    @property
    def anchors(self) -> str:
        """The lines of all anchors."""
        return "\n".join(
            line for change in self.changes for line in (*change.start, *(change.end or ()))
        )

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Locate every change, then make all of them; what is wrong with any is told at once."""
        if text is None:
            raise MissError("missing_file", "there is no such file")
        if text.is_raw and "\0" in text.text:
            raise MissError("binary", "the file is binary: it has no lines to stand between")
        for change in self.changes:
            check_text(text, "\n".join(change.content), how)
        search = Search(text, how)
        regions, misses = [], []
        for index, change in enumerate(self.changes):
            label = f"changes[{index}]" if len(self.changes) > 1 else ""
            try:
                regions.append(search.region(change, label))
            except MissError as miss:
                misses.append(labelled(miss, label))
        regions.sort(key=lambda region: region.first)
        misses += overlaps(regions)
        if misses:
            raise joined(misses)
        return _outcome(text, search.rows, regions)


def _outcome(text: Text, rows: Rows, regions: Sequence[Region]) -> Outcome:
    """The text with all regions, ascending, replaced."""
    pieces: list[str] = []
    at = 0
    for region in regions:
        pieces += [*rows.raw[at : region.first], *_written(region, rows)]
        at = region.stop
    return Outcome(text._replace(text="".join([*pieces, *rows.raw[at:]])), landing(regions))


def _written(region: Region, rows: Rows) -> Iterator[str]:
    """The new lines with the endings of the lines that they replace.

    The last one ends as the region did, so a missing final newline stays missing.
    """
    yield from rows.closed(region.content[:-1], region.first, region.stop)
    if region.content:
        last = rows.raw[region.stop - 1]
        yield region.content[-1] + last[len(bare(last)) :]
