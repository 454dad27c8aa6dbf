"""Each rung finds what it is for, with the file's real span, and nothing looser."""

from __future__ import annotations

import pytest

from git_boocode.matching import locate_match

BLOCK = "def total(items):\n    amount = sum(items)\n    return amount\n"

RUNGS = [
    ("exact", "a\nfoo(bar)\nb\n", "foo(bar)"),
    ("exact", "a foo(bar) b\n", "foo(bar)"),
    ("exact", "a\r\nfoo\r\nbar\r\n", "foo\nbar\n"),
    ("exact", "a\nfoo\nbar\n", "foo\r\nbar\r\n"),
    ("exact", "a\r\nfoo\nbar\r\n", "foo\nbar"),
    ("whitespace", "if a:\n\tfoo(bar)\n", "if a:\n    foo(bar)\n"),
    ("whitespace", "  foo(bar)  \n", "foo(bar)\n"),
    ("whitespace", "x\n  foo(bar)\ny\n", "\n\nfoo(bar)\n\n"),
    ("whitespace", "  foo(bar)\n\n  baz()", "foo(bar)\n   \nbaz()"),
    ("unicode", "say(\u201chello\u201d)\n", 'say("hello")'),
    ("unicode", "x = say(\u2018hello\u2019) + 1\n", "say('hello')"),
    ("unicode", "  wait \u2014 for\u00a0it\n", "wait - for it\n"),
    ("unicode", 'say("hello")\n', "say(\u201chello\u201d)"),
    ("whitespace", "\ufeffimport things\nimport more\n", " import things\nimport more\n"),
    ("unicode", "  cafe\u0301 = open\n", "caf\u00e9 = open\n"),
    ("unicode", "  zero\u200bwidth = 1\n", "zerowidth = 1\n"),
    ("layout", BLOCK, BLOCK.replace("\n    return", "\n\n\n  return")),
    ("layout", BLOCK.replace("\n    return", "\n\n\n    return"), BLOCK),
    ("similarity", BLOCK, BLOCK.replace("amount = sum", "amonut = sum")),
    ("context", BLOCK, "def total(items):\n  return amount\n  print(done)\n"),
]


@pytest.mark.parametrize(("rung", "content", "needle"), RUNGS[:-1])
def test_rung_that_answers(rung: str, content: str, needle: str) -> None:
    match = locate_match(content, needle)
    assert match.rung == rung
    assert match.kind == ("exact" if rung == "exact" else "fuzzy")
    assert match.count == 1


@pytest.mark.parametrize(("rung", "content", "needle"), RUNGS[:-1])
def test_looser_rungs_are_off_in_the_exact_profile(rung: str, content: str, needle: str) -> None:
    expected = "exact" if rung == "exact" else "not_found"
    assert locate_match(content, needle, "exact").kind == expected


def test_around_a_forgotten_line_the_others_must_be_there() -> None:
    assert locate_match(*RUNGS[-1][1:]).kind == "not_found"
    found = locate_match(BLOCK + "print(done)\n", "def total(items):\nreturn amount\nprint(done)")
    assert (found.rung, found.start_line, found.end_line) == ("context", 1, 4)


def test_blank_lines_do_not_tell_places_apart() -> None:
    twice = BLOCK.replace("\n    return", "\n\n    return") + "\n" + BLOCK
    assert locate_match(twice, BLOCK.replace("\n    amount", "\n\n    amount")).count == 2
    assert locate_match("}\n\n}\n", "}\n}\n}\n").kind == "not_found"


SPANS = [
    ("a\nfoo\nb\n", "foo", (2, 2, 1), (5, 2, 4), (2, 2)),
    ("a\nfoo\nb\n", "foo\n", (2, 2, 1), (6, 3, 1), (2, 2)),
    ("a\nx foo y\n", "foo", (4, 2, 3), (7, 2, 6), (2, 2)),
    ("a\r\nfoo\r\nb\r\n", "foo\nb", (3, 2, 1), (9, 3, 2), (2, 3)),
    ("a\r\nfoo\r\nb\r\n", "foo\n", (3, 2, 1), (8, 3, 1), (2, 2)),
    ("a\n\tfoo \nb\n", "  foo", (2, 2, 1), (7, 2, 6), (2, 2)),
    ("a\n\tfoo \nb\n", "  foo\n", (2, 2, 1), (8, 3, 1), (2, 2)),
    ("a\r\n\tfoo\r\nb", "  foo\r\n", (3, 2, 1), (9, 3, 1), (2, 2)),
    ("a\n\tfoo", "  foo\n", (2, 2, 1), (6, 2, 5), (2, 2)),
    ("a\n\n\tfoo\n\nb\n", "\n  foo\n\n\n", (2, 2, 1), (9, 5, 1), (2, 4)),
    ("a\x0cb\x85c\u2028d\nfoo\n", "foo", (8, 2, 1), (11, 2, 4), (2, 2)),
    ("a \u201cfoo bar\u201d b", '"foo bar"', (2, 1, 3), (11, 1, 12), (1, 1)),
]


@pytest.mark.parametrize(("content", "needle", "start", "end", "lines"), SPANS)
def test_span(
    content: str,
    needle: str,
    start: tuple[int, int, int],
    end: tuple[int, int, int],
    lines: tuple[int, int],
) -> None:
    match = locate_match(content, needle)
    assert (match.start, match.end) == (start, end)
    assert (match.start_line, match.end_line) == lines
    assert match.spans == (match.span,)


AMBIGUOUS = [
    ("foo\nfoo\n", "foo", "exact", 2, "default"),
    ("aaa", "aa", "exact", 2, "default"),
    ("  foo\n\tfoo\n", "    foo\n", "whitespace", 2, "default"),
    ("  foo\n  bar\n  foo\n\tbar\n", "foo\nbar\n", "whitespace", 2, "default"),
    ("  x\n" * 3, "\tx\n\tx\n", "whitespace", 2, "boocode"),
    ("a \u201cfoo\u201d \u201cfoo\u201d", '"foo"', "unicode", 2, "default"),
    ("value_a = make(1)\nvalue_a = make(1)\n", "valu_a = make(1)", "similarity", 2, "default"),
    ("reader = make(1)\nleader = make(1)\n", "header = make(1)", "similarity", 2, "default"),
    ("reader = make(1)\nleader = make(1)\n", "header = make(1)", "similarity", 2, "boocode"),
]


@pytest.mark.parametrize(("content", "needle", "rung", "count", "profile"), AMBIGUOUS)
def test_more_than_one_place_is_ambiguous(
    content: str, needle: str, rung: str, count: int, profile: str
) -> None:
    match = locate_match(content, needle, profile)
    assert (match.kind, match.rung, match.count) == ("ambiguous", rung, count)
    assert (match.start, match.end, match.start_line) == (None, None, None)
    assert len(match.candidates) == len(match.spans) == count


def test_a_stricter_rung_hides_what_a_looser_one_would_find() -> None:
    assert locate_match("foo(a)\n  foo(a) \n", "foo(a) \n").rung == "exact"


def test_of_two_near_duplicates_the_clearly_nearer_one_is_taken() -> None:
    content = "def area(shape):\n    return shape.width * 2\n\n\n"
    content += "def rim(circle):\n    return circle.radius * 2\n"
    match = locate_match(content, "def area(shape):\n    retrun shape.width * 2\n")
    assert (match.kind, match.start_line) == ("fuzzy", 1)


def test_an_overlapping_window_can_be_a_rival() -> None:
    rows = "".join(f"    table.add_row('entry', {number})\n" for number in range(3))
    needle = "table.add_row('entry', 7)\ntable.add_row('entry', 8)\n"
    assert locate_match(rows, needle).kind != "fuzzy"


@pytest.mark.parametrize("spelling", ["item_list", "itemlist", "item_lsit"])
def test_boocode_takes_two_thirds_and_default_asks_for_more(spelling: str) -> None:
    content = "first = alpha(item_list)\nthen = beta(first)\n"
    assert (
        locate_match(content, f"x = alpha({spelling})\nthn = bet(frst)\n", "boocode").kind
        == "fuzzy"
    )
    assert locate_match(content, f"x = alpha({spelling})\nthn = bet(frst)\n").kind == "not_found"


def test_boocode_threshold_is_066() -> None:
    content = "a" * 66 + "b" * 34 + "\n"
    assert locate_match(content, "a" * 66 + "c" * 34, "boocode").rung == "similarity"
    assert locate_match(content, "a" * 65 + "c" * 35, "boocode").kind == "not_found"


def test_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="boocode, default, exact"):
        locate_match("a", "a", "nonesuch")
