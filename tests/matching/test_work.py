"""Bounded work, counted: what is compared does not grow with lines times needle."""

from __future__ import annotations

from collections import Counter

import pytest

from git_boocode.matching import MatchError, align, guards, locate_match, replace_text, search
from git_boocode.matching.text import common_prefix

pytestmark = pytest.mark.slow

BIG = 100_000


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the word operations that comparisons of windows amount to, and the comparisons."""
    done: Counter[str] = Counter()
    real = align.distance

    def counted(left: str, right: str, limit: int | None = None) -> int:
        done["calls"] += 1
        head = common_prefix(left, right)
        # What both begin and end with is not compared.
        tail = common_prefix(left[head:][::-1], right[head:][::-1])
        done["words"] += align.cost(len(left) - head - tail, len(right) - head - tail)
        return real(left, right, limit)

    for module in (align, guards):
        monkeypatch.setattr(module, "distance", counted)
    return done


def numbered(count: int) -> list[str]:
    return [f"    value_{number} = compute({number * 7919 % 100_003})" for number in range(count)]


@pytest.mark.parametrize("top", [0, 70_000, BIG - 30])
def test_typos_in_a_big_file_compare_few_windows(work: Counter[str], top: int) -> None:
    lines = numbered(BIG)
    needle = lines[top : top + 30]
    for typo in (3, 11, 23):
        needle[typo] = needle[typo].replace("compute", "comptue")
    match = locate_match("\n".join(lines), "\n".join(needle))
    assert (match.kind, match.start_line) == ("fuzzy", top + 1)
    assert work["calls"] < 1_000


@pytest.mark.parametrize("profile", ["boocode", "default"])
def test_text_that_is_nowhere_compares_few_windows(work: Counter[str], profile: str) -> None:
    needle = "\n".join(f"the quick brown fox number {n} jumps over dogs" for n in range(30))
    assert locate_match("\n".join(numbered(BIG)), needle, profile).kind == "not_found"
    assert work["calls"] < 1_000


ADVERSARIAL = {
    "identical lines": ("    x = compute(a, b)\n" * 200_000, "\tx = compute(a, bb)\n" * 2_000),
    "alternating lines": ("a_\nb_\n" * BIG, "a_\nb_\n" * 5_000 + "c_\n"),
    "one long line": ("ab{};" * 200_000, "ab{};" * 20 + "x" + "ab{};" * 20),
    "one long line against another": ("ab{};" * 200_000, "ba{};x" * 170_000),
    "one letter": ("a" * 1_000_000, "a" * 500_000 + "b"),
    "long lines": (("abcdefg" * 10_000 + "\n") * 20, "bacdefg" * 10_000 + "\n" + "x" * 70_000),
    "blank lines": ("\n" * 500_000, "\n \n" * 1_000),
    "nothing but blanks": (" " * 1_000_000, "\t" * 1_000),
    "big needle that is nowhere": (
        "\n".join(numbered(BIG)),
        "\n".join(f"row {number} of some other table" for number in range(2_000)),
    ),
}


@pytest.mark.parametrize("profile", ["boocode", "default"])
@pytest.mark.parametrize(("content", "needle"), ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_adversarial_input_stays_within_the_budget(
    work: Counter[str], content: str, needle: str, profile: str
) -> None:
    assert locate_match(content, needle, profile).kind in ("not_found", "ambiguous")
    assert work["words"] <= search.VERIFY_WORK + search.EXHAUSTIVE_WORK


def test_what_is_too_much_work_is_refused_with_a_reason() -> None:
    content, needle = ADVERSARIAL["one long line against another"]
    with pytest.raises(MatchError, match="too large to compare"):
        replace_text(content, needle, "x", profile="boocode")


def test_one_typo_in_a_long_line_is_no_work() -> None:
    content = "".join(f"f{number}({number});" for number in range(40_000))
    match = locate_match(content, content.replace("f5000(", "ff5000("))
    assert (match.kind, match.rung) == ("fuzzy", "similarity")


def test_thousands_of_places_are_replaced_at_once() -> None:
    done = replace_text("\tfoo(a)\n" * 20_000, "  foo(a)\n", "  bar(a)\n", replace_all=True)
    assert done.content == "\tbar(a)\n" * 20_000
    assert done.count == 20_000


def test_a_needle_of_two_thousand_lines(work: Counter[str]) -> None:
    lines = numbered(BIG)
    needle = [line.strip() for line in lines[50_000:52_000]]
    needle[77] = needle[77].replace("compute", "compte")
    match = locate_match("\n".join(lines), "\n".join(needle))
    assert (match.kind, match.start_line, match.end_line) == ("fuzzy", 50_001, 52_000)
    assert work["words"] <= search.VERIFY_WORK
