"""Replacing: exact pastes as given, endings are the file's, refusals say why."""

from __future__ import annotations

import pickle

import pytest

from git_boocode.matching import MatchError, replace_text
from git_boocode.matching import replace as replace_module

ENDINGS = [
    # content, old, new, expected
    ("a\nb\nc\n", "b", "x", "a\nx\nc\n"),
    ("a\nb\nc\n", "b\n", "", "a\nc\n"),
    ("a\nb\nc\n", "b", "", "a\n\nc\n"),
    ("a\nb\nc\n", "b", "$1 \\1 & \\g<0> $&", "a\n$1 \\1 & \\g<0> $&\nc\n"),
    ("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"),
    ("a\r\nb\r\nc\r\n", "b\r\nc", "x\ny\r\nz", "a\r\nx\r\ny\r\nz\r\n"),
    ("a\nb\nc\n", "b\r\nc\r\n", "x\r\ny\r\n", "a\nx\ny\n"),
    ("a\r\nb\nc\r\nd\n", "b\nc\n", "b\nnew\nc\n", "a\r\nb\nnew\nc\r\nd\n"),
    ("a\r\nb\nc\r\nd\n", "a\nb\n", "a\nx\n", "a\r\nx\nc\r\nd\n"),
    ("a\r\nb\r\nc\nd\n", "b\nc", "b\nx\ny\nc", "a\r\nb\r\nx\r\ny\r\nc\nd\n"),
    ("one line", "line", "a\r\nb", "one a\nb"),
    ("a\nb", "b", "b\nc", "a\nb\nc"),
]


@pytest.mark.parametrize(("content", "old", "new", "expected"), ENDINGS)
def test_exact(content: str, old: str, new: str, expected: str) -> None:
    done = replace_text(content, old, new)
    assert done.content == expected
    assert done.match.kind == "exact"
    assert done.notes == ()
    assert done.count == 1


TOLERANT_ENDINGS = [
    ("\tfoo(a)\r\n\tbar(b)\r\n", "foo(a)\nbar(b)\n", "foo(a)\nnew()\nbar(b)\n"),
    ("\tfoo(a)\r\n\tbar(b)\r\n", "foo(a)\r\nbar(b)", "foo(a)\r\nnew()\r\nbar(b)"),
    ("\tfoo(a)\r\n\tbar(b)\r\n", "foo(a)\nbar(b)\n", "foo(a)\nnew()\nbar(b)"),
    ("\tfoo(a)\r\n\tbar(b)\r\n", "foo(a)\nbar(b)", "foo(a)\nnew()\nbar(b)\n"),
]


@pytest.mark.parametrize(("content", "old", "new"), TOLERANT_ENDINGS)
def test_tolerant_keeps_endings_however_the_model_ends_its_text(
    content: str, old: str, new: str
) -> None:
    content_lf = content.replace("\r\n", "\n")
    expected = "\tfoo(a)\r\n\tnew()\r\n\tbar(b)\r\n"
    # A needle that lacks the indentation of all its lines but the first is no substring.
    assert replace_text(content, old, new).content == expected
    assert replace_text(content_lf, old, new).content == expected.replace("\r\n", "\n")


def test_tolerant_line_keeps_its_own_ending_in_a_mixed_file() -> None:
    done = replace_text("\tfoo(a)\r\n\tbar(b)\n", " foo(a)\n bar(b)\n", " foo(z)\n bar(b)\n c()\n")
    assert done.content == "\tfoo(z)\r\n\tbar(b)\n\tc()\n"


def test_a_file_without_final_newline_keeps_none() -> None:
    done = replace_text("x\n\tfoo(a)", "    foo(a)\n", "    foo(a)\n    bar(b)\n")
    assert done.content == "x\n\tfoo(a)\n\tbar(b)"


@pytest.mark.parametrize("tail", ["", "\n"])
def test_a_tolerant_deletion_takes_the_whole_line(tail: str) -> None:
    done = replace_text("a\n\tfoo(a)\nb\n", f"    foo(a){tail}", "")
    assert done.content == "a\nb\n"
    assert done.match.end is not None
    assert done.match.end.offset == 10
    assert done.spans[0][:2] == (2, 10)


def test_verbatim_pastes_as_given_over_whole_lines() -> None:
    content = "a\r\n\tfoo(\u201ca\u201d)\r\n\tbar(b)\r\n"
    done = replace_text(content, 'foo("a")\nbar(b)', '  foo("z")\n  bar(b)', verbatim=True)
    assert done.content == 'a\r\n  foo("z")\r\n  bar(b)\r\n'
    assert done.notes == ()


def test_verbatim_in_a_mixed_file_keeps_endings_line_by_line() -> None:
    done = replace_text("\ta(1)\r\n\tb(2)\n", "a(1)\nb(2)\n", "  z\n  y\n  x\n", verbatim=True)
    assert done.content == "  z\r\n  y\n  x\n"


def test_replace_all_refits_each_place_by_itself() -> None:
    content = "if a:\n\tlog(x)\nif b:\n\t\tlog(x) \nlog('x')\n"
    done = replace_text(content, "  log(x)", "  log(y)\n  more()", replace_all=True)
    assert done.content == ("if a:\n\tlog(y)\n\tmore()\nif b:\n\t\tlog(y)\n\t\tmore()\nlog('x')\n")
    assert done.count == 2
    assert [(span.start_line, span.end_line) for span in done.spans] == [(2, 2), (4, 4)]
    assert done.match.kind == "fuzzy"


@pytest.mark.parametrize("content", ["aaaa", "aaa", "a aa aaaaa", "baab"])
def test_replace_all_exact_is_str_replace(content: str) -> None:
    assert replace_text(content, "aa", "x", replace_all=True).content == content.replace("aa", "x")


def test_expected_more_than_one_replaces_them_all() -> None:
    assert replace_text("a b a", "a", "x", expected=2).content == "x b x"


@pytest.mark.parametrize(
    ("expected", "replace_all"), [(1, False), (1, True), (3, True), (3, False)]
)
def test_another_number_of_places_than_expected_is_refused(
    expected: int, replace_all: bool
) -> None:
    with pytest.raises(MatchError) as caught:
        replace_text("a b a", "a", "x", replace_all, expected=expected)
    assert caught.value.code == "ambiguous"
    assert f"occurs 2 times, not {expected}, at line 1" in caught.value.message
    assert len(caught.value.candidates) == 2


REFUSALS = [
    ("abc", "", "x", "invalid_input", "the old text is empty"),
    ("abc", "abc", "abc", "invalid_input", "old and new text are the same, nothing to change"),
    ("a\nb", "a\nb", "a\r\nb", "invalid_input", "old and new text are the same, nothing to change"),
    ("foo\nfoo\n", "foo", "x", "ambiguous", "old text occurs 2 times, at lines 1 and 2"),
    ("f\n" * 5, "f", "x", "ambiguous", "old text occurs 5 times, at lines 1, 2, 3, 4 and 5"),
    (
        "f\n" * 9,
        "f",
        "x",
        "ambiguous",
        "old text occurs 9 times, at lines 1, 2, 3, 4, 5 and 4 more",
    ),
    ("abc\n", "something(else)", "x", "not_found", "old text not found"),
]


@pytest.mark.parametrize(("content", "old", "new", "code", "message"), REFUSALS)
def test_refusal(content: str, old: str, new: str, code: str, message: str) -> None:
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, new)
    assert (caught.value.code, caught.value.message) == (code, message)
    assert caught.value.message == str(caught.value)


def test_a_refusal_names_the_nearest_lines() -> None:
    with pytest.raises(MatchError) as caught:
        replace_text("x\ny\nvalue = compute(first)\n", "value = compote(second)", "z")
    assert "nearest is line 3" in caught.value.message
    assert caught.value.candidates[0].text == "value = compute(first)"
    assert caught.value.match.kind == "not_found"


def test_ambiguity_by_similarity_is_not_settled_by_replace_all() -> None:
    content = "value_ab = make(first)\nvalue_ax = make(first)\n"
    needle = "value_abx = make(frst)"
    with pytest.raises(MatchError):
        replace_text(content, needle, "x = 1")


def test_the_hint_chooses_the_place_that_is_replaced() -> None:
    assert replace_text("foo\nfoo\n", "foo", "x", start_line=2).content == "foo\nx\n"


def test_match_error_survives_pickling() -> None:
    with pytest.raises(MatchError) as caught:
        replace_text("foo\nfoo\n", "foo", "x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, again.message, again.candidates) == (
        caught.value.code,
        caught.value.message,
        caught.value.candidates,
    )


def test_messages_are_bounded() -> None:
    lines = [
        "first_line_of_all(1)",
        f"call({', '.join(f'name_{n}' for n in range(90))})",
        "end(it)",
    ]
    content = "\n".join(lines)
    old = content.replace("name_", "term_")
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, old + "\nmore")
    assert len(str(caught.value)) < 300


def test_the_places_of_one_edit_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert replace_module.MAX_PLACES == 100_000
    monkeypatch.setattr(replace_module, "MAX_PLACES", 500)
    lines = "x\n" * 500
    assert replace_text(lines, "x", "y", replace_all=True).count == 500
    with pytest.raises(MatchError, match="more than 500 times") as caught:
        replace_text(f"{lines}x\n", "x", "y", replace_all=True)
    assert caught.value.code == "invalid_input"


def test_the_size_of_the_result_is_bounded() -> None:
    done = replace_text("one\none\n", "one", "three", replace_all=True, most=12)
    assert done.content == "three\nthree\n"
    with pytest.raises(MatchError, match="more than 11 characters") as caught:
        replace_text("one\none\n", "one", "three", replace_all=True, most=11)
    assert caught.value.code == "invalid_input"


def test_a_hint_beside_another_number_of_places_than_expected_chooses_none() -> None:
    with pytest.raises(MatchError, match="occurs 2 times, not 3") as caught:
        replace_text("one\none\n", "one", "two", expected=3, start_line=2)
    assert [near.start_line for near in caught.value.candidates] == [1, 2]
    with pytest.raises(MatchError, match="occurs 1 time, not 2, at line 2") as caught:
        replace_text("two\none\n", "one", "two", expected=2)
    assert (caught.value.match.kind, caught.value.match.start_line) == ("exact", 2)


def test_an_expected_number_is_at_least_one() -> None:
    with pytest.raises(MatchError, match="cannot expect 0 replacements"):
        replace_text("one\n", "one", "two", expected=0)
    assert replace_text("one\n", "one", "two", expected=1).count == 1


LIMITS = "first = 1\nreadtimeout = 30.5\nsecond = total_sum\n"
CUT = [
    *(("timeout = 3", "timeout = 5"), ("timeout = 30", "timeout = 40"), ("0", "5")),
    *(("= 30", "= 3 * 5"), ("second = total", "second = other"), ("timeout = 30.5", "timeout = 1")),
    ("first = 1\nreadtimeout = 3", "readtimeout = 5"),
]


@pytest.mark.parametrize(("old", "new"), CUT)
def test_a_part_of_a_number_or_word_is_not_replaced(old: str, new: str) -> None:
    with pytest.raises(MatchError, match=r"only a part of a word, at line \d") as caught:
        replace_text(LIMITS, old, new)
    assert caught.value.code == "not_found"


WHOLE = [
    *(("readtimeout = 3", "limit = 3"), ("readtimeout = 30", "limit = 30"), ("sum", "mean")),
    *(("readtimeout = 30.5", "limit = 3"), ("timeout", "limit"), ("_sum\n", "_mean\n")),
    ("timeout = 30.5\nsecond = total", "timeout = 1\nsecond = total"),
]


@pytest.mark.parametrize(("old", "new"), WHOLE)
def test_a_part_of_a_word_may_be_meant(old: str, new: str) -> None:
    assert replace_text(LIMITS, old, new).content == LIMITS.replace(old, new)
    twice = replace_text(LIMITS * 2, old, new, replace_all=True).content
    assert twice == LIMITS.replace(old, new) * 2


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        (r'printf("\nHello world");', "Hello world", "Hello there"),
        (r'print("a\tName: %s", name)', 'Name: %s"', 'Title: %s"'),
        (r'echo "\033[31mError: none"', "Error: none", "Error: one"),
        (r'echo "\x1b[1;31m42 errors"', "42 errors", "43 errors"),
        (r'say("\u001b[0mno errors")', "no errors", "one error"),
        (r'say("\x41n error")', "n error", "s error"),
        ('printf("%sfiles are done")', "files are done", "files were done"),
        ('printf("%-5.2lfmm are left")', "mm are left", "mm were left"),
        ('"%(count)dfiles are done"', "files are done", "files were done"),
        (r'printf("%dfiles")', 'printf("%d', 'printf("%s'),
        (r'printf("\nfiles")', r'printf("\n', r'printf("\t'),
        ("width: 10px;", "width: 10", "width: 20"),
        ("border: 1.5px solid red;", "px solid red", "em solid red"),
    ],
)
def test_text_beside_a_sequence_or_a_unit_is_whole(content: str, old: str, new: str) -> None:
    assert replace_text(content, old, new).content == content.replace(old, new)


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        ("mask = 0x1F, 3", "F, 3", "E, 3"),
        ("mask = 0xFF", "mask = 0", "mask = 1"),
        ("limit = 1e5", "limit = 1", "limit = 2"),
        ("x2y = 3", "y = 3", "z = 3"),
        ("size = 10px", "0px", "5px"),
        ("left = total % maximum + 1", "imum + 1", "imum + 2"),
        ("x = table[index] + 1", "ndex] + 1", "ndex] + 2"),
    ],
)
def test_a_part_of_a_word_beside_an_operator_is_not_whole(content: str, old: str, new: str) -> None:
    with pytest.raises(MatchError, match="only a part of a word"):
        replace_text(content, old, new)
