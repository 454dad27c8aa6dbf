"""A change is taken back from a file that others have changed since, line by line.

The truth is the same history without the change: each line knows who wrote it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_boocode.editing.revert import RevertedText, revert_text
from git_boocode.editing.textfile import decode
from tests.repo_kit import examples

ITEM = "  log()\n  check({})\n"
REPEATED = ("}", "", "    return total", "x = 1")


def reverted(before: str, after: str, now: str) -> RevertedText:
    old, new, there = (decode(text.encode()) for text in (before, after, now))
    return revert_text(old, new, there)


@pytest.mark.parametrize("between", ["", "  mid()\n"])
@pytest.mark.parametrize("old", [ITEM.format(1), "  log()\n", ""])
def test_a_copy_beside_the_lines_makes_them_uncertain(old: str, between: str) -> None:
    before, after = (f"start\n{item}end\n" for item in (old, ITEM.format(2)))
    now = f"start\n{ITEM.format(2)}{between}{ITEM.format(2)}end\n"
    found = reverted(before, after, now)
    assert len(found.left) == 1
    assert found.text.text == now


def test_a_copy_elsewhere_does_not_matter() -> None:
    before, after = (f"start\n{ITEM.format(number)}end\n" for number in (1, 2))
    now = f"{after}other\n{ITEM.format(2)}other end\n"
    found = reverted(before, after, now)
    assert not found.left
    assert found.text.text == f"{before}other\n{ITEM.format(2)}other end\n"


@dataclass(eq=False)
class Line:
    text: str
    by_turn: bool = False  # the turn wrote it
    removed: bool = False  # the turn removed it
    gone: bool = False  # somebody else removed it

    @property
    def is_there(self) -> bool:
        return not (self.removed or self.gone)


class File:
    """A file whose history is also known without the turn."""

    def __init__(self, random: Random, repeated: float) -> None:
        self._random = random
        self._repeated = repeated
        self._count = 0
        self.lines = [self._line() for _ in range(random.randint(2, 30))]
        self.touches = False  # others have changed lines of the turn, or beside them

    def text(self, *, turn: bool = True) -> str:
        lines = (
            line.text
            for line in self.lines
            if (line.is_there if turn else not (line.by_turn or line.gone))
        )
        return "".join(f"{line}\n" for line in lines)

    def _line(self, *, by_turn: bool = False) -> Line:
        self._count += 1
        if self._random.random() < self._repeated:
            return Line(self._random.choice(REPEATED), by_turn)
        return Line(f"{'turn' if by_turn else 'other'} line {self._count}", by_turn)

    def _place(self) -> tuple[list[int], list[int], list[int]]:
        """The numbers of some lines that are there, and of those above and below them."""
        there = [number for number, line in enumerate(self.lines) if line.is_there]
        first = self._random.randint(0, len(there))
        stop = min(first + self._random.randint(0, 3), len(there))
        return there[first:stop], there[first - 1 : first] if first else [], there[stop : stop + 1]

    def change_by_turn(self) -> None:
        chosen, _, below = self._place()
        for number in chosen:
            self.lines[number].removed = True
        at = below[0] if below else len(self.lines)
        new = [self._line(by_turn=True) for _ in range(self._random.randint(not chosen, 3))]
        self.lines[at:at] = new
        # What it has written and removed again never was.
        self.lines = [line for line in self.lines if not (line.by_turn and line.removed)]

    def change_by_others(self) -> None:
        chosen, above, below = self._place()
        start = above[0] if above else 0
        stop = below[0] + 1 if below else len(self.lines)
        around = self.lines[start:stop]
        self.touches |= any(line.by_turn or line.removed for line in around)
        for number in chosen:
            self.lines[number].gone = True
        at = below[0] if below else len(self.lines)
        if chosen:
            at = chosen[0]
        elif below and self.lines[below[0]].by_turn:
            # Above what the turn wrote instead of others.
            at = above[0] + 1 if above else 0
        self.lines[at:at] = [self._line() for _ in range(self._random.randint(not chosen, 3))]


def history(random: Random, repeated: float) -> tuple[File, str, str]:
    """A file that a turn and others have changed, and its texts around the turn."""
    file = File(random, repeated)
    before = file.text()
    for _ in range(random.randint(1, 3)):
        file.change_by_turn()
    after = file.text()
    for _ in range(random.randint(1, 4)):
        file.change_by_others()
    return file, before, after


@settings(max_examples=examples(1000))
@given(random=st.randoms(use_true_random=False))
@pytest.mark.slow
def test_all_that_others_did_stays(random: Random) -> None:
    """It is refused only where others touched lines of the turn, or their neighbours."""
    file, before, after = history(random, repeated=0)
    found = reverted(before, after, file.text())
    if found.left:
        assert file.touches
    else:
        assert found.text.text == file.text(turn=False)


@settings(max_examples=examples(1000))
@given(random=st.randoms(use_true_random=False), repeated=st.sampled_from([0.3, 0.6]))
def test_no_line_of_others_is_lost_among_equal_ones(random: Random, repeated: float) -> None:
    file, before, after = history(random, repeated)
    found = reverted(before, after, file.text())
    if found.left:
        return
    kept = Counter(line.text for line in file.lines if line.is_there and not line.by_turn)
    wrote = Counter(line.text for line in file.lines if line.by_turn)
    assert not kept - Counter(found.text.text.split("\n")) - wrote
    if not file.touches:
        assert found.text.text == file.text(turn=False)
