"""Hints, candidates, and what a miss answers."""

from __future__ import annotations

import pytest

from git_boocode.matching import PROFILES, locate_match, replace_text
from git_boocode.matching.ladder import RUNGS

TWINS = "foo(a)\nx\nfoo(a)\ny\nfoo(a)\n"


@pytest.mark.parametrize(("hint", "line"), [(1, 1), (3, 3), (4, None), (2, None), (99, 5)])
def test_hint_decides_between_equal_places(hint: int, line: int | None) -> None:
    match = locate_match(TWINS, "foo(a)", start_line=hint)
    assert match.start_line == line
    assert match.count == 3
    assert match.kind == ("exact" if line else "ambiguous")


def test_hint_on_a_tolerant_rung() -> None:
    match = locate_match("  foo(a)\n\tfoo(a)\n", "    foo(a)", start_line=2)
    assert (match.kind, match.start_line) == ("fuzzy", 2)


def test_hint_does_not_move_a_single_match() -> None:
    assert locate_match("a\nb\nc\nfoo(a)\n", "foo(a)", start_line=1).start_line == 4


@pytest.mark.parametrize(("hint", "line"), [(None, None), (1, 1), (2, None)])
def test_hint_does_not_choose_the_worse_of_two_similar_places(
    hint: int | None, line: int | None
) -> None:
    content = "header_line = make(first)\nheadfd_linf = make(first)\n"
    match = locate_match(content, "headfr_line = make(first)", start_line=hint)
    assert (match.similarity, match.count, match.start_line) == (0.96, 2, line)
    assert match.reason == (None if line else "no place is clearly the best")


def test_an_older_version_comes_before_other_words() -> None:
    older = "# first words here\nvalue = compute(item)\nfinish(value)\n"
    content, new = older.replace("first words", "other text"), older.replace("finish", "end")
    assert replace_text(content, older, new).match.rung == "comments"
    done = replace_text(content, older, new, versions=[older])
    assert (done.match.rung, done.content) == ("merged", content.replace("finish", "end"))


def test_candidates_of_an_ambiguous_needle_are_bounded() -> None:
    match = locate_match("foo\n" * 50, "foo")
    assert match.count == len(match.spans) == 50
    assert [c.start_line for c in match.candidates] == list(range(1, 11))
    assert match.candidates[0][:4] == (1, 1, 1.0, "foo")


def test_candidates_show_the_real_text_of_whole_lines() -> None:
    match = locate_match("a\r\n  x \u201cq\u201d\r\ny \u201cq\u201d\r\n", '"q"', "boocode")
    assert [c.text for c in match.candidates] == ["  x \u201cq\u201d", "y \u201cq\u201d"]


def test_a_miss_shows_the_nearest_text_best_first() -> None:
    content = (
        "def load(path):\n    return path.read()\n\n\ndef save(path):\n    return path.write()\n"
    )
    match = locate_match(content, "def load(path, mode):\n    yield path.red(mode)\n")
    assert match.kind == "not_found"
    assert match.count == 0
    first = match.candidates[0]
    assert (first.start_line, first.end_line) == (1, 2)
    assert first.text == "def load(path):\n    return path.read()"
    assert first.similarity == match.similarity
    assert [c.similarity for c in match.candidates] == sorted(
        (c.similarity for c in match.candidates), reverse=True
    )


def test_a_miss_shows_at_most_three_places() -> None:
    content = "".join(f"value_{name} = compute({name})\n" for name in "abcde")
    assert len(locate_match(content, "value_x = compare(x)").candidates) == 3


def test_a_match_says_where_it_starts_and_ends() -> None:
    match = locate_match("\none two\nthree\n", "two\nth")
    assert (match.start, match.end) == ((5, 2, 5), (11, 3, 3))
    assert locate_match("\none", "one").start == (1, 2, 1)


def test_a_miss_blames_escape_sequences_only_where_the_text_was_found_without() -> None:
    assert locate_match("say_hello(name)\n", 'say_hallo_you(\\"nime\\")').reason is None


def test_a_miss_in_an_unlike_file_shows_nothing() -> None:
    match = locate_match("<html>\n<body>\n</body>\n</html>\n", "raise ValueError(name)\nreturn 7\n")
    assert match.candidates == ()
    assert match.similarity == 0.0


@pytest.mark.parametrize(
    ("content", "needle"), [("", "foo"), ("foo", ""), ("", ""), ("a\n", "\n\n"), ("a", "a\nb\nc")]
)
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_miss_never_raises(content: str, needle: str, profile: str) -> None:
    assert locate_match(content, needle, profile).kind == "not_found"


def test_every_profile_names_rungs_that_exist() -> None:
    assert {step.rung for profile in PROFILES.values() for step in profile.steps} <= set(RUNGS)
    assert all(name == profile.name for name, profile in PROFILES.items())
