"""What a refusal offers: text to send back that lands, and what sets the places apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.matching import Candidate, MatchError, replace_text

CLASSES = """\
class A:
    def load(self):
        x = 1
        return x

    def save(self):
        x = 1
        return x

class B:
    def save(self):
        x = 1
        return x
"""


def candidates(content: str, old: str) -> tuple[Candidate, ...]:
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, "something else")
    return caught.value.candidates


def test_each_place_of_an_ambiguous_text_has_one_of_its_own_to_send_back() -> None:
    found = candidates(CLASSES, "        x = 1\n        return x\n")
    assert len(found) == 3
    for candidate in found:
        assert candidate.old_string is not None
        done = replace_text(CLASSES, candidate.old_string, "new")
        assert done.match.kind == "exact"
        assert done.spans[0].start_line <= candidate.start_line
        assert done.spans[0].end_line >= candidate.end_line


def test_the_text_to_send_back_is_the_shortest() -> None:
    first, second, third = candidates(CLASSES, "x = 1")
    assert [one.old_start_line for one in (first, second, third)] == [2, 7, 10]
    assert first.old_string == "    def load(self):\n        x = 1"
    assert second.old_string == "        x = 1\n        return x\n\nclass B:"
    assert third.old_string == "class B:\n    def save(self):\n        x = 1"


FUNCTIONS = """\
int load(struct s *x)
{
\tx->n++;
}

static int
store(struct s *x,
      int y)
{
\tif (y)
\t{
\t\tx->n++;
\t}
}
"""
WHERE = {
    "the line above a brace": (
        FUNCTIONS,
        "x->n++;",
        ["in `int load(struct s *x)`, line 3", "in `if (y)`, line 12"],
    ),
    "the blocks around them": (
        CLASSES,
        "x = 1",
        [
            "in `def load(self)`, line 3",
            "in `def save(self)` of `class A`, line 7",
            "in `def save(self)` of `class B`, line 12",
        ],
    ),
    "the lines above": (
        "first = 1\nrun(a)\n\nsecond = 2\nrun(a)\n",
        "run(a)",
        ["below `first = 1`, line 2", "below `second = 2`, line 5"],
    ),
    "not the lines below": (
        "def one():\n    x = 1\ngo()\ndef two():\n    x = 1\ngo()\n",
        "x = 1",
        ["in `def one()`, line 2", "in `def two()`, line 5"],
    ),
    "not the other branch of a block": (
        "if one:\n    go()\nelse:\n    x = 1\nif two:\n    go()\nelse:\n    x = 1\n",
        "x = 1",
        ["in `if one`, line 4", "in `if two`, line 8"],
    ),
    "not a line that is eight columns deep above a tab": (
        "        first_one()\n\trun(a)\n        second_one()\n\trun(a)\n",
        "run(a)",
        ["below `first_one()`, line 2", "below `second_one()`, line 4"],
    ),
    "the beginning of a long line": (
        f"def {'long' * 20}():\n    x = 1\ndef two():\n    x = 1\n",
        "x = 1",
        [f"in `def {'long' * 13}lon…`, line 2", "in `def two()`, line 4"],
    ),
}


@pytest.mark.parametrize(("content", "old", "where"), WHERE.values(), ids=WHERE)
def test_places_are_set_apart_by(content: str, old: str, where: list[str]) -> None:
    assert [found.where for found in candidates(content, old)] == where


def test_a_text_that_occurs_in_a_longer_line_is_not_taken_for_unique() -> None:
    content = "x = 1\ny = 2\nmax = 1\nx = 1\nz = 3\n"
    for candidate in candidates(content, "x = 1"):
        assert candidate.old_string is not None
        assert content.count(candidate.old_string) == 1


@pytest.mark.parametrize(("lines", "is_offered"), [(59, True), (60, False)])
def test_the_text_to_send_back_has_at_most_sixty_lines_more(lines: int, is_offered: bool) -> None:
    half = "x\n" * lines + "go(item)\n" + "x\n" * lines
    found = candidates(f"one\n{half}two\n{half}", "go(item)")
    assert [bool(one.old_string) for one in found] == [is_offered, is_offered]


def test_the_work_on_a_text_to_send_back_is_bounded() -> None:
    half = "x\n" * 10 + "go(item)\n" + "x\n" * 10
    content = f"one\n{half}two\n{half}" + "filler = 'of a big file'\n" * 100_000
    assert [one.old_string for one in candidates(content, "go(item)")] == [None, None]


def test_no_text_is_offered_where_none_is_short() -> None:
    found = candidates("same\n" * 500, "same")
    assert found[5].old_string is None
    assert found[0].old_string is None


def test_a_miss_marks_the_words_that_differ() -> None:
    content = "def total(rows):\n    count = 0\n    check(rows)\n    return sum(rows) + count\n"
    old = "def total(rows):\n    count = 1\n    check(rows)\n    return max(rows) - count\n"
    near = candidates(content, old)[0]
    assert near.differs == (
        "2: count = [-1-]{+0+}",
        "4: return [-max-]{+sum+}(rows) [---]{+++} count",
    )
    assert near.old_string == content.removesuffix("\n")


def test_a_miss_marks_lines_that_one_side_lacks() -> None:
    content = "def total(rows):\n    count = 0\n    check(rows)\n    return sum(rows) + count\n"
    old = "def total(rows):\n    check(rows)\n    return sum(rows) + count\n    print('x')\n"
    assert candidates(content, old)[0].differs == ("2: {+count = 0+}", "5: [-print('x')-]")


LINES = st.lists(st.sampled_from(["a", "b", "aa", "  a", "", "b a", "x\r"]), max_size=12)


@given(LINES, LINES.filter(any), st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_offered_lands_where_it_was_offered(
    lines: list[str], old: list[str], ending: str
) -> None:
    content = ending.join(lines)
    try:
        replace_text(content, "\n".join(old), "new text")
    except MatchError as error:
        for candidate in error.candidates:
            if candidate.old_string:
                done = replace_text(content, candidate.old_string, f"{candidate.old_string} z")
                assert done.match.kind == "exact"
                # Blank lines around a place are not needed to name it.
                shown = range(done.spans[0].start_line, done.spans[0].end_line + 1)
                for number in range(candidate.start_line, candidate.end_line + 1):
                    assert number in shown or not lines[number - 1].strip()
