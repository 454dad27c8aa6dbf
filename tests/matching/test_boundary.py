"""An old text that begins or ends within a line, and what new repeats of the rest of the line."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, replace_text

ONCE = {
    "a semicolon": ("let a = true;\n", "let a = true", "let a = false;", "let a = false;\n"),
    "a semicolon after a comparison": ("a = b;\n", "a = b", "a = b < c;", "a = b < c;\n"),
    "a semicolon after an apostrophe": ('s = "ab";\n', 's = "ab"', 's = "a\'b";', 's = "a\'b";\n'),
    "a semicolon after an arrow": ("f = one;\n", "f = one", "f = x => x;", "f = x => x;\n"),
    "a colon after an arrow": ("def f(x):\n", "def f(x)", "def f(x) -> int:", "def f(x) -> int:\n"),
    "a bracket after a comparison": ("f(a, b);\n", "f(a, b", "f(a, b > c)", "f(a, b > c);\n"),
    "a comma": ("d = {\n  'a': 1,\n}\n", "'a': 1", "'a': 10,", "d = {\n  'a': 10,\n}\n"),
    "a bracket behind a space of its own": ("foo(bar)\n", "foo(bar", "foo(baz )", "foo(baz )\n"),
    "a colon": ("if a:\n    b\n", "if a", "if c:", "if c:\n    b\n"),
    "a bracket that old opens": ("foo(bar)\n", "foo(bar", "foo(baz)", "foo(baz)\n"),
    "a bracket and a semicolon": ("a(b(1));\n", "a(b(1)", "a(b(2));", "a(b(2));\n"),
    "a closing tag": ("<a>one</a>\n", "<a>one", "<a>two</a>", "<a>two</a>\n"),
    "a quote": ("x = 'abc'\n", "x = 'abc", "x = 'abd'", "x = 'abd'\n"),
    "a quote in front": ("x = 'abc'\n", "abc'", "'abd'", "x = 'abd'\n"),
    "a bracket in front": ("foo(bar)\n", "bar)", "(baz)", "foo(baz)\n"),
    "a bracket in front of several": ("f(g(bar))\n", "bar))", "(baz))", "f(g(baz))\n"),
    "a mark in front": (
        "@foo\ndef f(): pass\n",
        "foo\ndef f",
        "@bar\ndef f",
        "@bar\ndef f(): pass\n",
    ),
    "an opening brace": ("if (x) {\n}\n", "if (x)", "if (z) {", "if (z) {\n}\n"),
    "an opening brace, spaced otherwise": ("if (x) {\n}\n", "if (x)", "if (z){", "if (z) {\n}\n"),
    "an opening bracket": ("def f(a): pass\n", "def f", "def g(", "def g(a): pass\n"),
    "a closing bracket and an opening brace": (
        "void f(int a) {\n}\n",
        "void f(int a",
        "void f(int b) {",
        "void f(int b) {\n}\n",
    ),
    "an opening brace after an added line": (
        "if (x) {\n  a();\n}\n",
        "if (x)",
        "b();\nif (z) {",
        "b();\nif (z) {\n  a();\n}\n",
    ),
    "a closing brace in front": (
        "if (x) {\n} else {\n}\n",
        "else {",
        "} else if (y) {",
        "if (x) {\n} else if (y) {\n}\n",
    ),
    "at the end of several lines": (
        "f();\nlet a = true;\ng();\n",
        "f();\nlet a = true",
        "f();\nlet a = false;",
        "f();\nlet a = false;\ng();\n",
    ),
    "after an added line": (
        "a = 1;\nb = 2;\n",
        "a = 1",
        "a = 1;\nc = 3;",
        "a = 1;\nc = 3;\nb = 2;\n",
    ),
    "in a drifted line": (
        "a\n  let  enabled  = compute_it(true);\nb\n",
        "let enabled = compute_it(true)",
        "let enabled = compute_it(false);",
        "a\n  let  enabled  = compute_it(false);\nb\n",
    ),
    "in the last of some drifted lines": (
        "a = {\n    'first': call_one(),\n    'next': call_two(),\n}\n",
        "  'first': call_one(),\n  'next': call_two()\n",
        "  'first': call_one(),\n  'next': call_two(),\n  'last': call_three(),\n",
        "a = {\n    'first': call_one(),\n    'next': call_two(),\n    'last': call_three(),\n}\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "expected"), ONCE.values(), ids=ONCE)
def test_punctuation_that_the_line_has_occurs_once(
    content: str, old: str, new: str, expected: str
) -> None:
    assert replace_text(content, old, new).content == expected


OWN = {
    "a bracket that new opens": ("foo(bar)\n", "bar", "qux(baz)"),
    "angle brackets that new opens": ("Vec<Item>\n", "Item", "Box<Item>"),
    "a quote that new opens": ("x = 'abc'\n", "abc", "it is 'abd'"),
    "brackets that new wraps around old": ("foo(bar)\n", "bar", "(bar)"),
    "a mark that old has too": ("for (;;) x;\n", "for (;", "for (i = 0;"),
    "a mark that is all the edit adds": ("f(a, b)\n", "a", "a,"),
    "an opening bracket that is all the edit adds": ("f(x)\n", "f", "f("),
    "a bracket that old opens too": ("f((a))\n", "f(", "h("),
    "a word": ("x = a + c\n", "x = a", "x = b + c + c"),
    "an operator": ("x = -a\n", "a", "-b"),
    "half of the indentation": ("    total(one)\n", "  total(one)", "  total(two)"),
}


@pytest.mark.parametrize(("content", "old", "new"), OWN.values(), ids=OWN)
def test_what_new_brings_itself_stays(content: str, old: str, new: str) -> None:
    assert replace_text(content, old, new).content == content.replace(old, new, 1)


def test_verbatim_pastes_punctuation_twice() -> None:
    done = replace_text("a = 1;\n", "a = 1", "a = 2;", verbatim=True)
    assert done.content == "a = 2;;\n"


INDENTED = {
    "new has the file's indentation": (
        "return total(one)",
        "    return total(two)",
        "    return total(two)\n",
    ),
    "only the first line lost it": (
        "return total(one)",
        "x = 2\n    return x",
        "    x = 2\n    return x\n",
    ),
    "only the first line of a block lost it": (
        "return total(one)",
        "if a:\n        return total(two)",
        "    if a:\n        return total(two)\n",
    ),
    "all lines lost it": (
        "return total(one)",
        "if a:\n    return total(two)",
        "    if a:\n        return total(two)\n",
    ),
    "all lines lost it, at one depth": (
        "return total(one)",
        "x = 2\nreturn x",
        "    x = 2\n    return x\n",
    ),
    "a call over several lines": (
        "return total(one)",
        "return foo(\n        1,\n    )",
        "    return foo(\n        1,\n    )\n",
    ),
}


@pytest.mark.parametrize(
    ("ending", "whole_lines"),
    [("", False), ("\n", False), ("\n", True)],
    ids=["part", "line", "whole"],
)
@pytest.mark.parametrize(("old", "new", "body"), INDENTED.values(), ids=INDENTED)
def test_indentation_that_old_leaves_out_is_neither_doubled_nor_missed(
    old: str, new: str, body: str, ending: str, whole_lines: bool
) -> None:
    content = "def f():\n    before()\n    return total(one)\n\n\nlater()\n"
    expected = content.replace("    return total(one)\n", body)
    done = replace_text(content, old + ending, new + ending, whole_lines=whole_lines)
    assert done.content == expected


def test_indentation_is_added_where_nothing_else_changes() -> None:
    content = "def f():\n    return total(one)\n"
    done = replace_text(content, "return total(one)", "    return total(one)")
    assert done.content == "def f():\n        return total(one)\n"


def test_a_whole_line_that_only_gains_the_files_indentation_is_refused() -> None:
    content = "def f():\n    before()\n    return total(one)\n"
    with pytest.raises(MatchError, match="already"):
        replace_text(content, "return total(one)\n", "    return total(one)\n", whole_lines=True)
