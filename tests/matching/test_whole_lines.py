"""Old text that stands for whole lines is found nowhere else."""

from __future__ import annotations

import pytest

from git_boocode.matching import PROFILES, MatchError, locate_match, replace_text
from git_boocode.matching.align import LineIndex

FOUND = {
    "a line that lost its indentation is refitted": (
        "if a:\n    total = 1\n",
        "total = 1\n",
        "total = 2\nother = 3\n",
        "if a:\n    total = 2\n    other = 3\n",
        "whitespace",
    ),
    "the line, not where it is part of others": (
        "call(value)\nnew_call(value)\ncall(value) + 1\n",
        "call(value)\n",
        "call(other)\n",
        "call(other)\nnew_call(value)\ncall(value) + 1\n",
        "exact",
    ),
    "an occurrence within a line that overlaps the lines": (
        "xa\na\na\nb\n",
        "a\na\n",
        "c\n",
        "xa\nc\nb\n",
        "exact",
    ),
    "without a line feed at the end": ("one\ntwo\nthree\n", "two", "2", "one\n2\nthree\n", "exact"),
    "a last line without an ending": (
        "one_two\none\r\ntwo",
        "two\n",
        "2\n3\n",
        "one_two\none\r\n2\n3",
        "exact",
    ),
    "a last line without an ending that goes": ("one\r\n}", "}\n", "", "one\r\n", "exact"),
    "behind a byte order mark": ("\ufeffone\ntwo\n", "one\n", "1\n", "\ufeff1\ntwo\n", "exact"),
    "with the byte order mark": (
        "\ufeffone\ntwo\n",
        "\ufeffone\n",
        "\ufeff1\n",
        "\ufeff1\ntwo\n",
        "exact",
    ),
    "line endings do not count": (
        "one\r\ntwo\r\nthree two\r\n",
        "two\n",
        "2\n",
        "one\r\n2\r\nthree two\r\n",
        "exact",
    ),
    "look-alikes": (
        "say(\u201ctotal\u201d) + 1\n  say(\u201ctotal\u201d)\n",
        'say("total")\n',
        'say("total", 2)\n',
        "say(\u201ctotal\u201d) + 1\n  say(\u201ctotal\u201d, 2)\n",
        "unicode",
    ),
    "blank lines": ("a\n\nb\n", "\n", "\n\n", "a\n\n\nb\n", "exact"),
    "line numbers": (
        "first_line = a\nsecond = first_line = a\n",
        "1\tfirst_line = a\n",
        "1\tfirst_line = b\n",
        "first_line = b\nsecond = first_line = a\n",
        "rewritten",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "expected", "rung"), FOUND.values(), ids=FOUND)
def test_whole_lines_are_found(content: str, old: str, new: str, expected: str, rung: str) -> None:
    done = replace_text(content, old, new, whole_lines=True)
    assert done.content == expected
    assert done.match.rung == rung
    assert locate_match(content, old, whole_lines=True).spans == done.match.spans


REFUSED = {
    "part of a line": ("result = compute(value)\n", "compute(value)\n"),
    "its first line begins within one": ("x = compute(\n    value)\n", "compute(\n    value)\n"),
    "its last line ends within one": ("compute(\n    value) + 1\n", "compute(\n    value)"),
    "beginning of a drifted last line": (
        "alpha(beta)  \ngamma(delta, epsilon)\n",
        "alpha(beta)\ngamma(delta,",
    ),
    "part of a line with look-alikes": ("x = say(\u201ctotal\u201d)\n", 'say("total")'),
    "part of a line with other blanks": ("x = compute( value)\n", "compute(  value)"),
}


def test_a_part_of_a_line_does_not_count() -> None:
    for profile in PROFILES:
        for content, old in REFUSED.values():
            found = locate_match(content, old, profile, whole_lines=True)
            if profile == "boocode":
                # Similar enough is enough there, but it is whole lines all the same.
                assert found.rung in (None, "similarity")
            else:
                assert found.kind == "not_found"


def test_every_place_must_be_of_whole_lines() -> None:
    content = "run(it)\nrun(it) + 1\nrun(it)\n"
    assert locate_match(content, "run(it)\n", whole_lines=True).count == 2
    done = replace_text(content, "run(it)\n", "go\n", replace_all=True, whole_lines=True)
    assert done.content == "go\nrun(it) + 1\ngo\n"
    with pytest.raises(MatchError, match="2 times"):
        replace_text(content, "run(it)\n", "go\n", whole_lines=True)


@pytest.mark.parametrize(("content", "old"), [("one\n", "one\n\n"), ("one", "\n"), ("", "\n")])
def test_there_is_no_blank_line_at_the_end_of_a_file(content: str, old: str) -> None:
    assert locate_match(content, old, "exact", whole_lines=True).kind == "not_found"


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [("a", [0, 1, 3, 4, 5]), ("aa", [0, 3, 4]), ("ab", [1]), ("baa", [2]), ("bc", [])],
)
def test_runs_of_lines_are_found_where_they_overlap_too(wanted: str, rows: list[int]) -> None:
    assert LineIndex([*"aabaaa"]).find([*wanted]) == rows
    assert LineIndex([]).find([*wanted]) == []
