"""A body folded into one line, the same in old and new, stays as the file has it."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, replace_text

SCRIPT = """\
function first(alpha) {
  const beta = alpha + 1;
  if (beta) {
    return beta;
  }
}
foo_bar();

function second(gamma) {
  return gamma;
}
bar_foo();
"""
CALL = """\
def f(x):
    call_it(
        alpha,
        beta,
    )
    other_thing(x)
"""
FOLDED = {
    "braces": (
        SCRIPT,
        "function first(alpha) { ... }\nfoo_bar();\n",
        "function first(alpha) { ... }\nfoo_baz();\n",
        SCRIPT.replace("foo_bar", "foo_baz"),
    ),
    "a comment of dots": (
        SCRIPT,
        "function first(alpha) { /* ... */ }\nfoo_bar();",
        "function first(alpha) { /* ... */ }\nfoo_baz();",
        SCRIPT.replace("foo_bar", "foo_baz"),
    ),
    "its head changes": (
        SCRIPT,
        "function first(alpha) { ... }\nfoo_bar();\n",
        "function first(alpha, x) { ... }\nfoo_bar();\n",
        SCRIPT.replace("first(alpha)", "first(alpha, x)"),
    ),
    "two bodies": (
        SCRIPT,
        "function first(alpha) { … }\nfoo_bar();\n\nfunction second(gamma) {...}\nbar_foo();\n",
        "function first(alpha) { … }\nfoo_bar();\na()\n\nfunction second(gamma) {...}\nbar_foo();",
        SCRIPT.replace("foo_bar();\n", "foo_bar();\na()\n"),
    ),
    "parentheses": (
        CALL,
        "call_it(...)\nother_thing(x)\n",
        "call_it(...)\nother_thing(y)\n",
        CALL.replace("g(x)", "g(y)"),
    ),
    "dots that the file has": (
        CALL + "    last(...)\n",
        "    other_thing(x) \n    last(...)\n",
        "    other_thing(y) \n    last(...)\n",
        CALL.replace("g(x)", "g(y)") + "    last(...)\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "expected"), FOLDED.values(), ids=FOLDED)
def test_a_folded_body_stays(content: str, old: str, new: str, expected: str) -> None:
    assert replace_text(content, old, new).content == expected


REFUSED = {
    "what is folded goes": ("function first(alpha) { ... }\nfoo_bar();\n", "foo_bar();\n"),
    "another function": (
        "function third(alpha) { ... }\nfoo_bar();\n",
        "function third(alpha) { ... }\nfoo_baz();\n",
    ),
    "another end": (
        "function first(alpha) { ... }\nbar_bar();\n",
        "function first(alpha) { ... }\nbar_baz();\n",
    ),
    "brackets that do not match": (
        "function first(alpha) { ... )\nfoo_bar();\n",
        "function first(alpha) { ... )\nfoo_baz();\n",
    ),
}


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_there_is_refused(old: str, new: str) -> None:
    with pytest.raises(MatchError):
        replace_text(SCRIPT, old, new)
