"""The depth of new lines where the matched lines do not all say the same."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, replace_text

FILE = "class C:\n    def alpha(x):\n        return sum(x)\n\n\ndef beta(y):\n    return y\n"
BODY = """\
    total = 0
    for item in x:
        total += item
    return total
"""
DEEPER = "".join(f"    {line}\n" for line in BODY.splitlines())


def test_lines_around_the_change_tell_its_depth_where_others_were_not_moved() -> None:
    old = "def alpha(x):\n    return sum(x)\n\n\ndef beta(y):\n"
    done = replace_text(FILE, old, old.replace("    return sum(x)\n", BODY))
    assert done.content == FILE.replace("        return sum(x)\n", DEEPER)


def test_one_line_that_was_moved_alone_does_not_tell_how_deep_others_go() -> None:
    old = "    return sum(x)\n\n\ndef beta(y):\n"
    with pytest.raises(MatchError, match="how deep line 3 of the new text goes") as caught:
        replace_text(FILE, old, old.replace("    return sum(x)\n", BODY), whole_lines=True)
    assert caught.value.code == "ambiguous"
    done = replace_text(FILE, old, old.replace("sum(x)", "sum(x, 0)"), whole_lines=True)
    assert done.content == FILE.replace("sum(x)", "sum(x, 0)")


def test_new_lines_between_two_blocks_of_which_one_was_moved_are_refused() -> None:
    old = "def alpha(x):\n    return sum(x)\n\n\ndef beta(y):\n"
    new = old.replace("def beta", "def gamma(z):\n    return z\n\n\ndef beta")
    with pytest.raises(MatchError, match="nothing tells how deep"):
        replace_text(FILE, old, new)


def test_a_careless_line_does_not_count_against_a_scale_that_many_prove() -> None:
    lines = ["def run():", "    for a in b:", "        if a:", "            go(a)", "    stop(b)"]
    content = "\n".join([*lines, "    wait(b)", "    leave(b)"]) + "\n"
    old = "def run():\n  for a in b:\n    if a:\n      go(a)\n  stop(b)\n   wait(b)\n  leave(b)\n"
    new = old.replace("      go(a)\n", "      while go(a):\n        rest(a)\n")
    expected = content.replace(
        "            go(a)\n", "            while go(a):\n                rest(a)\n"
    )
    assert replace_text(content, old, new).content == expected
