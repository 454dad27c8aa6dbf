"""Text that the model wrapped otherwise keeps the file's line breaks where it does not change."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, locate_match, replace_text

PAGE = """\
# Restore

A checkpoint holds the worktree and the staging area, so that
every restore can be undone, and nothing
that was there is lost.

The callback takes the conversation back.
"""
REWRAPPED = """\
A checkpoint holds the worktree and the staging area, so
that every restore can be undone, and nothing that
was there is lost.

The callback takes the conversation back.
"""
CODE = """\
def total(self, expr):
    level = precedence(expr)
    return '%s^%s' % (self.bracket(expr.base, level), self.bracket(expr.exp, level))

def other(self):
    pass
"""


def test_a_paragraph_that_stays_keeps_its_line_breaks() -> None:
    new = REWRAPPED.replace("The callback takes", "A callback takes")
    expected = PAGE.replace("The callback takes", "A callback takes")
    assert replace_text(PAGE, REWRAPPED, new).content == expected


def test_a_paragraph_that_changes_is_as_the_new_text_has_it() -> None:
    new = REWRAPPED.replace("is lost.", "is ever lost.")
    assert replace_text(PAGE, REWRAPPED, new).content == "# Restore\n\n" + new


def test_a_line_that_the_model_broke_in_two() -> None:
    row = CODE.split("\n")[2] + "\n"
    old = row.replace("level), self", "level),\n                      self")
    new = f"    if expr.exp.is_negative:\n        return self.inverse(expr)\n{row}"
    assert replace_text(CODE, old, new).content == CODE.replace(row, new)


@pytest.mark.parametrize(
    ("content", "old"),
    [
        (PAGE + PAGE, REWRAPPED),
        (PAGE.replace("every restore", "every check"), REWRAPPED),
        (PAGE.replace("nothing\nthat", "nothing\ntha t"), REWRAPPED),
        (PAGE.replace("A checkpoint", "- A checkpoint"), REWRAPPED),
        (PAGE.replace("back.", "back. Always."), REWRAPPED),
        (PAGE, REWRAPPED.replace("lost.\n\nThe", "lost. The")),
        ("a b\n", "a\nb\n"),
    ],
    ids=[
        "two places",
        "another word",
        "words cut otherwise",
        "part of the first line",
        "part of the last line",
        "a paragraph more",
        "too short",
    ],
)
def test_what_is_not_the_same_text(content: str, old: str) -> None:
    with pytest.raises(MatchError):
        replace_text(content, old, old.replace("a", "e"))


@pytest.mark.parametrize(("word", "rung"), [("efgh", "rewritten"), ("efg", None)])
def test_how_much_text_must_hold_to_be_found_without_its_line_breaks(
    word: str, rung: str | None
) -> None:
    assert locate_match(f"abcd {word}\n", f"abcd\n{word}\n").rung == rung
