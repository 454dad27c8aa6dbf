"""The turns of the picker: those that were read, those that the filter lets through, the place."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

from git_boocode.checkpoints.turn_changes import TurnFile
from git_boocode.checkpoints.turns import TOP
from git_boocode.cli.picker_filter import TurnTexts
from git_boocode.cli.turn_rows import TurnRow

Entries = Sequence[str]
"""The lines of what is no turn, such as a restore."""


class PickerList:
    """Rows by number, newest first; one of those that are shown is selected."""

    def __init__(self) -> None:
        self.rows: list[TurnRow] = []
        self.shown: list[int] = []  # the turns that the filter lets through
        self.is_complete = False
        self.position = 0  # of the selected one among them
        self._aim = 0  # the position that is wanted, which may not have been read yet
        self._top = 0  # the position of the first one on the screen
        self._above: list[Entries] = []
        self._texts = TurnTexts()
        self._words: Sequence[str] = ()
        self._searched = 0  # the number of turns up to which all paths are known

    def add(self, page: Sequence[tuple[TurnRow, Entries]], wanted: int) -> None:
        """Take in the next turns, and what is listed above each.

        If they are fewer than `wanted`, there are no more.
        """
        first = len(self.rows)
        for row, entries in page:
            self.rows.append(row)
            self._above.append(entries)
            self._texts.add(row)
        self.is_complete = len(page) < wanted
        self.shown += self._passing(range(first, len(self.rows)))
        self.position = self._within(self._aim)

    def take_files(self, number: int, files: Sequence[TurnFile] | None) -> None:
        """Take in the files that changed in a turn; None if they are unknown."""
        self.rows[number] = self.rows[number].with_files(files)
        self._texts.add_paths(number, files or ())
        place = bisect_left(self.shown, number)
        is_shown = self.shown[place : place + 1] == [number]
        if is_shown or not self._texts.has(number, self._words):
            return
        if self.shown and place <= self.position:
            # The selected turn stays selected.
            self.position += 1
            self._aim += 1
        self.shown.insert(place, number)

    def filter(self, text: str) -> None:
        """Show the turns that have all words of a text."""
        selected = self.selected
        self._words = text.casefold().split()
        self.shown = [*self._passing(range(len(self.rows)))]
        # What was selected stays selected as long as it matches.
        kept = selected is not None and selected in self.shown
        self.position = self.shown.index(selected) if kept and selected is not None else 0
        self._aim, self._top = self.position, 0

    def _passing(self, numbers: range) -> Iterator[int]:
        return (number for number in numbers if self._texts.has(number, self._words))

    @property
    def is_searched(self) -> bool:
        """Whether the filter, if there is one, has seen all turns and their paths."""
        is_read = not self._words or self._searched == len(self.rows)
        return self.is_complete and is_read

    def unsearched(self, most: int) -> list[int]:
        """The next turns whose paths the filter needs."""
        if not self._words:
            return []
        left = range(self._searched, len(self.rows))
        found = [*islice((number for number in left if not self._texts.has_paths(number)), most)]
        self._searched = found[0] if found else len(self.rows)
        return found

    def lacks_turns(self, lines: int) -> bool:
        """Whether more turns are wanted than were read, on a screen of some lines."""
        return not self.is_complete and max(self._aim, self.position) + 2 * lines >= len(self.shown)

    @property
    def selected(self) -> int | None:
        """The number of the selected turn."""
        return self.shown[self.position] if self.shown else None

    def move(self, by: int) -> None:
        """Select another turn, also one that has to be read first."""
        start = self.position if by < 0 or self.is_complete else max(self._aim, self.position)
        self._aim = max(start + by, 0)
        self.position = self._within(self._aim)

    def move_to_end(self) -> None:
        """Select the oldest turn."""
        self.move(sys.maxsize - self._aim)

    def _within(self, position: int) -> int:
        return max(min(position, len(self.shown) - 1), 0)

    def visible(self, lines: int) -> list[int | str]:
        """What is on a screen of some lines: the numbers of turns, and the lines between them."""
        self._top = min(max(self._top, self.position - lines + 1), self.position)
        while (found := [*islice(self._lines(lines), lines)]) and self.selected not in found:
            self._top += 1
        return found

    def _lines(self, room: int) -> Iterator[int | str]:
        for place, number in enumerate(islice(self.shown, self._top, None), self._top):
            above = () if self._words else self._above[number]
            if place == self._top:
                # The screen begins with a turn, unless it is the newest.
                above = above[max(len(above) - room + 1, 0) :] if place == 0 else ()
            yield from above
            yield number


class FileList:
    """The files of a turn, one of which is selected."""

    def __init__(self, number: int, files: Sequence[TurnFile]) -> None:
        self.number = number
        self.files = files
        self.position = 0

    def move(self, by: int) -> None:
        """Select another file."""
        self.position = max(min(self.position + by, len(self.files) - 1), 0)

    @property
    def file(self) -> TurnFile:
        """The selected file."""
        return self.files[self.position]


def pathspecs_of(file: TurnFile) -> tuple[str, ...]:
    """Pathspecs of a file, under both of its names if it was renamed."""
    source = file.source if file.action == "rename" else ""
    return tuple(f"{TOP}{path}" for path in (file.path, source) if path)
