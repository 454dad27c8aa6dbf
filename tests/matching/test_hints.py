"""What a format knows about a place beside its old text."""

from __future__ import annotations

import pytest

from git_boocode.matching.ladder import climb
from git_boocode.matching.rungs import profile_named
from git_boocode.matching.search import Hints, Query, Sections
from git_boocode.matching.sequence import Placement, place_changes
from git_boocode.matching.text import Text
from git_boocode.matching.types import MatchError

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


def test_a_section_is_a_whole_line_or_its_beginning() -> None:
    sections = Sections(Text(CODE))
    assert sections.heads("  def run(self):  ") == [1, 8]
    assert sections.heads("def run") == [1, 8]
    assert sections.heads("def ru") == []
    assert sections.heads("def run(self, fast):") == []
    assert sections.check(("class B:", "def run")) == 8
    with pytest.raises(MatchError, match="no 'class A:' below 'def walk'"):
        sections.check(("def walk", "class A:"))
    with pytest.raises(MatchError, match="no section 'class Target:'; nearest is line 1"):
        sections.check(("class Target:",))


@pytest.mark.parametrize(("length", "rows"), [(40, [0]), (39, [])])
def test_a_long_section_may_be_cut_off_within_a_word(length: int, rows: list[int]) -> None:
    line = f"def {'long_name_' * 6}(self):"
    assert Sections(Text(f"{line}\n    pass\n")).heads(line[:length]) == rows


def placed(text: str, *changes: tuple[str, str], at_end: bool = False) -> list[int | str]:
    """For each change the line of its place, or why it has none."""
    lines, hints = Text(text), Hints(at_end=at_end)
    queries = [Query(lines, old, new, whole_lines=True, hints=hints) for old, new in changes]
    found = place_changes(queries, profile_named("default"), verbatim=False)
    return [one.first + 1 if isinstance(one, Placement) else one.code for one in found]


def test_the_place_of_one_change_restricts_the_others() -> None:
    walk = "    def walk(self):\n"
    renamed, go = (walk, "    def fly(self):\n"), (OLD, "        x()\n")
    assert placed(CODE, go) == ["ambiguous"]
    assert placed(CODE, go, renamed) == [3, 5]
    assert placed(CODE, renamed, go) == [5, "ambiguous"]
    assert placed(CODE, renamed, go, go) == [5, 6, 10]
    assert placed(CODE, go, go, go, go) == [3, 6, 10, "overlap"]
    assert placed(CODE, ("class B:\n", "class C:\n"), renamed) == [8, "not_found"]


def test_changes_that_overlap_are_refused() -> None:
    both = "class A:\n    def run(self):\n"
    assert placed(CODE, (both, "x\n"), (both, "y\n")) == [1, "overlap"]
    assert placed(CODE, (OLD, OLD + "x\n"), at_end=True) == [10]


def test_drifted_text_is_looked_for_between_its_neighbours_only() -> None:
    text = (
        "first = 1\nvalue = compute(alpha, beta)\nmiddle = 2\nvalue = compute(alpha, beta)\nlast\n"
    )
    drifted = ("value = comptue(alpha, beta)\n", "value = 3\n")
    assert placed(text, drifted) == ["ambiguous"]
    assert placed(text, ("middle = 2\n", "m = 2\n"), drifted) == [3, 4]
    assert placed(text, drifted, ("middle = 2\n", "m = 2\n")) == [2, 3]
