"""What is a comment, and which comments may say the same in other words."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, locate_match, replace_text

BLOCK = "# Python {} only\nfrom http.server import CGIHTTPRequestHandler\nstart_serving()\n"


def test_another_number_in_a_comment_is_another_comment() -> None:
    assert locate_match(BLOCK.format(5), BLOCK.format(3)).kind == "not_found"
    assert locate_match(BLOCK.format(5), BLOCK.format("five")).rung == "comments"
    reworded = BLOCK.replace("only", "and no other")
    assert locate_match(reworded.format(3), BLOCK.format(3)).kind == "fuzzy"


def test_a_comment_that_the_file_has_stands_for_no_other_one() -> None:
    lines = [
        "// Walks the tree of nodes\n",
        "// and returns those not yet covered\n",
        "walk(tree)\n",
    ]
    content = "const tree = load(arguments)\n" + "".join(lines)
    old = content.replace(lines[0], "")
    new = old.replace(lines[1], "// and returns all of them\n")
    assert replace_text(content, old, new).content == content.replace(
        lines[1], "// and returns all of them\n"
    )


TRAILING = [
    ("const level = (() => {\n  if (!navigator) {  // check if {}\n    stop()\n", "//"),
    ("######## LICENSE ########\nimport re\nRECIP = 2 ** -BPF  # {} there\nrun(RECIP)\n", "#"),
]


@pytest.mark.parametrize(("block", "mark"), TRAILING, ids=["slashes", "below a banner"])
def test_comments_at_the_ends_of_lines_may_be_reworded(block: str, mark: str) -> None:
    there = block.replace("{}", "a timeout is given")
    here = block.replace("{}", "somebody gave a timeout")
    assert mark in there
    assert locate_match(there, here).kind == "fuzzy"


def test_a_division_is_no_comment() -> None:
    here = "total = sum(amounts)\nmean = total // count_of_items\nreport(mean)\n"
    there = here.replace("count_of_items", "number_in_all")
    assert locate_match(there, here).kind == "not_found"


WHOLE = {
    "heading": ("# {}\n\nSome text.\n\n## Usage\n\nMore text.\n", False),
    "section of code": ("x_value = 1\n## a section\n# {}\n# and more\ny_value = 2\n", True),
    "item of a list": ("Fetch refs/* only.\n\n* {}\n", False),
    "block comment": ("/* all\n * {}\n */\nfetch(all_refs)\n", True),
}


@pytest.mark.parametrize(("text", "is_comment"), WHOLE.values(), ids=WHOLE)
def test_the_file_shows_which_marks_open_a_comment(text: str, is_comment: bool) -> None:
    found = locate_match(text.format("the title"), text.format("words of another kind"))
    assert (found.rung == "comments") == is_comment


def test_a_slip_in_a_comment_that_is_changed_is_not_carried_over() -> None:
    row = "    # conditions between iterating over it and having more psuedo-members\n"
    content = f"    negative = value < 0\n{row}    check_members(negative)\n"
    old = content.replace("having", "havingg")
    done = replace_text(content, old, old.replace("psuedo", "pseudo"))
    assert done.content == content.replace("psuedo", "pseudo")


PROSE = """\
import this

# Expression parsing for plural form selection.
#
# The gettext library supports a small subset of C syntax.
# Integer literals starting with zero are decimal.
value = 1
"""


def test_a_reworded_line_among_equal_lines_of_a_comment() -> None:
    old = PROSE[PROSE.index("# Exp") : PROSE.index("value")]
    old = old.replace("Expression parsing for plural", "Parsing of the expression for a plural")
    new = old.replace("decimal", "octal")
    assert replace_text(PROSE, old, new).content == PROSE.replace("decimal", "octal")


@pytest.mark.parametrize(
    "other", ["Numbers, their rounding and formatting.", "Expression evaluation for the shell."]
)
def test_another_line_among_equal_lines_of_a_comment(other: str) -> None:
    old = PROSE[PROSE.index("# Exp") : PROSE.index("value")]
    old = old.replace("Expression parsing for plural form selection.", other)
    with pytest.raises(MatchError):
        replace_text(PROSE, old, old.replace("decimal", "octal"))


@pytest.mark.parametrize(("word", "rung"), [("mnopqrstuvwx", "comments"), ("mnopqrstuvw", None)])
def test_how_much_the_equal_lines_of_a_comment_must_hold(word: str, rung: str | None) -> None:
    block = f"# abcdefghijkl\n# {{}}\n# {word}\n"
    content = block.format("slowly walks over the nodes of the tree")
    old = block.format("walks over the tree and its nodes, slowly")
    assert locate_match(content, old).rung == rung


def test_a_block_of_other_comments_is_another_block() -> None:
    code = "EXPORTED = ['parse_options', 'print_usage']\n"
    mine = "# Options come first\n# then the names of files\n# and last a command\n" + code
    other = "# Callers read this\n# before they import\n# anything from here\n" + code
    assert locate_match(other, mine).kind == "not_found"
