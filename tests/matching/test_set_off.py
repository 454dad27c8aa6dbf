"""Blank lines around a block that comes in where the file has some and the old text has none."""

from __future__ import annotations

import pytest

from git_boocode.matching import replace_text

METHODS = """\
class A:
    def add(self, x):
        self.items.append(x)
        self.changed = True

    def remove(self, x):
        self.items.remove(x)
"""
FUNCTIONS = """\
void add(int x) {
  items[count] = x;
  changed = true;
}

void remove_it(int x) {
  items[x] = 0;
}
"""
SET_OFF = {
    "a method": (METHODS, "    def clear(self):\n        self.items = []\n", "    def remove"),
    "a function": (FUNCTIONS, "void clear_it() {\n  count = 0;\n}\n", "void remove_it"),
    "below a statement": (
        "limit_of_items = 1\n\ndef remove(x):\n    items.remove(x)\n",
        "def clear():\n    items.clear()\n",
        "def remove",
    ),
}


@pytest.mark.parametrize(("content", "block", "below"), SET_OFF.values(), ids=SET_OFF)
def test_a_blank_line_of_new_goes_where_it_is_drawn(content: str, block: str, below: str) -> None:
    old = content.replace("\n\n", "\n")
    expected = content.replace(below, f"{block}\n{below}")
    for drawn in (f"\n{block}", f"{block}\n"):
        new = old.replace(below, drawn + below)
        assert replace_text(content, old, new).content == expected


def test_a_statement_goes_with_those_above() -> None:
    content = "def f():\n    a = compute_first(1)\n\n    b = compute_second(2)\n"
    old = content.replace("\n\n", "\n")
    new = old.replace("    b =", "    log_value(a)\n    b =")
    expected = content.replace("\n\n", "\n    log_value(a)\n\n")
    assert replace_text(content, old, new).content == expected


@pytest.mark.parametrize("gap", ["\n\n", "\n\n\n"])
def test_a_line_less_deep_than_those_above_goes_below_the_blank_lines(gap: str) -> None:
    content = METHODS.replace("\n\n", gap)
    block, below = SET_OFF["a method"][1:]
    old = METHODS.replace("\n\n", "\n")
    expected = content.replace(below, block + below)
    assert replace_text(content, old, old.replace(below, block + below)).content == expected
