"""What a format knows about a place beside its old text."""

from __future__ import annotations

import pytest

from git_boocode.matching.ladder import climb
from git_boocode.matching.rungs import profile_named
from git_boocode.matching.search import Hints, Query, Sections
from git_boocode.matching.text import Text

CODE = """\
class A:
    def run(self):
        go(one)

    def walk(self):
        go(one)

class B:
    def run(self):
        go(one)
"""
OLD = "        go(one)\n"


def line(hints: Hints, old: str = OLD) -> int | None:
    """The line of the one place that the hints leave."""
    query = Query(CODE, old, "        go(two)\n", whole_lines=True, hints=hints)
    answer = climb(query, profile_named("default"))
    if answer.chosen is None:
        return None
    return CODE.count("\n", 0, answer.found.places[answer.chosen].start) + 1


@pytest.mark.parametrize(
    ("hints", "wanted"),
    [
        (Hints(), None),
        (Hints(line=6), 6),
        (Hints(line=5), None),
        (Hints(sections=("class B:",)), 10),
        (Hints(sections=("class A:", "def walk(self):")), 6),
        (Hints(sections=("class A:",)), None),
        (Hints(sections=("class C:",)), None),
        (Hints(line=6, sections=("class A:",)), 6),
        (Hints(line=6, sections=("class B:",)), None),
        (Hints(at_end=True), 10),
    ],
)
@pytest.mark.parametrize("old", [OLD, "    go(one)\n"])
def test_hints_decide_between_equal_places(hints: Hints, wanted: int | None, old: str) -> None:
    assert line(hints, old) == wanted


def test_a_restriction_leaves_no_place_elsewhere() -> None:
    old = "    def walk(self):\n"
    assert line(Hints(), old) == 5
    assert line(Hints(sections=("class B:",)), old) == 5
    assert line(Hints(at_end=True), old) is None


@pytest.mark.parametrize(("length", "rows"), [(40, [0]), (39, [])])
def test_a_long_section_may_be_cut_off_within_a_word(length: int, rows: list[int]) -> None:
    line = f"def {'long_name_' * 6}(self):"
    assert Sections(Text(f"{line}\n    pass\n")).heads(line[:length]) == rows
