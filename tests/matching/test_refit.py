"""What the model did not mean to change stays the file's, and what is new fits in."""

from __future__ import annotations

import pytest

from git_boocode.matching import replace_text

UNITS = {"tabs": "\t", "two": "  ", "four": "    ", "eight": "        "}
SHAPE = [(1, "def run(self):"), (2, "if self.ready:"), (3, "self.start(now)"), (2, "self.stop()")]
AFTER = [
    (1, "def run(self):"),
    (2, "if self.ready:"),
    (3, "for item in self.items:"),
    (4, "item.start(now)"),
    (2, "self.stop()"),
    (1, "def halt(self):"),
    (2, "self.stop()"),
]


def written(shape: list[tuple[int, str]], unit: str, drop: int = 0) -> str:
    return "".join(f"{unit * (depth - drop)}{line}\n" for depth, line in shape)


@pytest.mark.parametrize("drop", [0, 1])
@pytest.mark.parametrize("model", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("file", UNITS.values(), ids=UNITS)
def test_every_unit_becomes_the_files(file: str, model: str, drop: int) -> None:
    content = "class A:\n" + written(SHAPE, file)
    done = replace_text(content, written(SHAPE, model, drop), written(AFTER, model, drop))
    assert done.content == "class A:\n" + written(AFTER, file)


CASES = {
    "only the first line's indentation dropped": (
        "    foo(a)\n    bar(b) \n    baz(c)\n",
        "foo(a)\n    bar(b)\n    baz(c)\n",
        "foo(a)\n    bar(b)\n    if x:\n        new(y)\n    baz(c)\n",
        "    foo(a)\n    bar(b) \n    if x:\n        new(y)\n    baz(c)\n",
    ),
    "first line dropped and itself changed": (
        "    foo(a)\n    bar(b) \n",
        "foo(a)\n    bar(b)\n",
        "foo(z)\n    bar(b)\n",
        "    foo(z)\n    bar(b) \n",
    ),
    "insert before a dropped first line": (
        "        foo(a)\n        bar(b) \n",
        "foo(a)\n        bar(b)\n",
        "new(a)\n        foo(a)\n        bar(b)\n",
        "        new(a)\n        foo(a)\n        bar(b) \n",
    ),
    "first line dropped in a tab file written with spaces": (
        "\t\tfoo(a)\n\t\tif b:\n\t\t\tbar(b)\n",
        "foo(a)\n        if b:\n            bar(b)\n",
        "foo(a)\n        if b:\n            bar(b)\n            baz(c)\n        end(c)\n",
        "\t\tfoo(a)\n\t\tif b:\n\t\t\tbar(b)\n\t\t\tbaz(c)\n\t\tend(c)\n",
    ),
    "half unit": (
        "    if a:\n        foo(b)\n",
        "  if a:\n    foo(b)\n",
        "  if a:\n    while c:\n      foo(b)\n",
        "    if a:\n        while c:\n            foo(b)\n",
    ),
    "alignment after tabs": (
        "\tcall(first,\n\t     second)\n",
        "    call(first,\n         second)\n",
        "    call(first,\n         middle,\n         second)\n",
        "\tcall(first,\n\t     middle,\n\t     second)\n",
    ),
    "tabs of the file although only the margin was matched": (
        "def f(value): \n\treturn value\n\ndef g(value): \n\treturn value\n",
        "\ndef g(value):\n",
        "\ndef g(value):\n    value += 1\n",
        "def f(value): \n\treturn value\n\ndef g(value): \n\tvalue += 1\n\treturn value\n",
    ),
    "curly quotes on unchanged lines": (
        "say(\u201cone\u201d)\nsay(\u201ctwo\u201d)\n",
        'say("one")\nsay("two")\n',
        'say("one")\nnew()\nsay("two")\n',
        "say(\u201cone\u201d)\nnew()\nsay(\u201ctwo\u201d)\n",
    ),
    "curly quotes on a changed line": (
        "print(\u201chi\u201d, x)\n",
        'print("hi", x)',
        'print("hi", y)',
        "print(\u201chi\u201d, y)\n",
    ),
    "curly quotes on part of a line": (
        "a = say(\u2018one\u2019, 1) + 2\n",
        "say('one', 1)",
        "say('one', 3)",
        "a = say(\u2018one\u2019, 3) + 2\n",
    ),
    "the model's quotes where it changed what is quoted": (
        "print(\u201chi\u201d, x)\n",
        'print("hi", x)',
        "print(title, x)",
        "print(title, x)\n",
    ),
    "trailing blanks stay on kept and on changed lines": (
        "foo(a)  \nbar(b)\t\nbaz(c)\n",
        "foo(a)\nbar(b)\nbaz(c)\n",
        "foo(a)\nbar(z)\nbaz(c)\n",
        "foo(a)  \nbar(z)\t\nbaz(c)\n",
    ),
    "trailing blanks of the model do not come in": (
        "  foo(a)\n  bar(b)\n",
        "  foo(a)  \n  bar(b)  \n",
        "  foo(z)  \n  bar(b)  \n",
        "  foo(z)\n  bar(b)\n",
    ),
    "insert at the start": (
        "\tfoo(a)\n\tbar(b)\n",
        "  foo(a)\n  bar(b)\n",
        "  new()\n  foo(a)\n  bar(b)\n",
        "\tnew()\n\tfoo(a)\n\tbar(b)\n",
    ),
    "insert at the end": (
        "\tfoo(a)\n\tbar(b)\n",
        "  foo(a)\n  bar(b)\n",
        "  foo(a)\n  bar(b)\n  new()\n",
        "\tfoo(a)\n\tbar(b)\n\tnew()\n",
    ),
    "deletion": (
        "\tfoo(a)\n\tbar(b)\n\tbaz(c)\n",
        "  foo(a)\n  bar(b)\n  baz(c)\n",
        "  foo(a)\n  baz(c)\n",
        "\tfoo(a)\n\tbaz(c)\n",
    ),
    "blank line added and removed": (
        "\tfoo(a)\n\n\tbar(b)\n\tbaz(c)\n",
        "  foo(a)\n\n  bar(b)\n  baz(c)\n",
        "  foo(a)\n  bar(b)\n\n  baz(c)\n",
        "\tfoo(a)\n\tbar(b)\n\n\tbaz(c)\n",
    ),
    "re-indentation as the intent": (
        "\tfoo(\u201ca\u201d)\n\tbar(b)\n",
        '  foo("a")\n  bar(b)\n',
        '  if x:\n    foo("a")\n  bar(b)\n',
        "\tif x:\n\t\tfoo(\u201ca\u201d)\n\tbar(b)\n",
    ),
    "typo in a context line stays the file's": (
        "recieve(data_stream)\nhandle(data_stream, timeout)\n",
        "receive(data_stream)\nhandle(data_stream, timeout)\n",
        "receive(data_stream)\nhandle(data_stream, retries)\n",
        "recieve(data_stream)\nhandle(data_stream, retries)\n",
    ),
    "typo on the unchanged part of a changed line stays the file's": (
        "handle(recieve, data_stream, timeout)\n",
        "handle(receive, data_stream, timeout)\n",
        "handle(receive, data_stream, retries)\n",
        "handle(recieve, data_stream, retries)\n",
    ),
    "forgotten line stays": (
        "open(path)\n# a note\nread(path)\nclose(path)\n",
        "open(path)\nread(path)\nclose(path)\n",
        "open(path)\nread(path)\nclose(handle)\n",
        "open(path)\n# a note\nread(path)\nclose(handle)\n",
    ),
    "forgotten line inside what was replaced goes": (
        "open(path)\nread(path)\n# a note\nparse(path)\nclose(path)\n",
        "open(path)\nread(path)\nparse(path)\nclose(path)\n",
        "open(path)\nload()\nclose(path)\n",
        "open(path)\nload()\nclose(path)\n",
    ),
    "byte order mark stays": (
        "\ufeffimport alpha\n  import beta\n",
        " import alpha\n import beta\n",
        " import gamma\n import beta\n",
        "\ufeffimport gamma\n  import beta\n",
    ),
    "blank lines that the file lacks": (
        "\tfoo(a)\n\tbar(b)\n\tbaz(c)\n",
        "  foo(a)\n\n  bar(b)\n  baz(c)\n",
        "  foo(a)\n\n  bar(b)\n  new(n)\n  baz(c)\n",
        "\tfoo(a)\n\tbar(b)\n\tnew(n)\n\tbaz(c)\n",
    ),
    "blank lines that the model lacks": (
        "\tfoo(a)\n\n\n\tbar(b)\n\tbaz(c)\n",
        "  foo(a)\n  bar(b)\n  baz(c)\n",
        "  foo(a)\n  bar(b)\n  new(n)\n  baz(c)\n",
        "\tfoo(a)\n\n\n\tbar(b)\n\tnew(n)\n\tbaz(c)\n",
    ),
    "the model's trailing blanks": (
        "foo(a)\nbar(b)\n\nbaz(c)\t\n",
        "foo(a)  \nbar(b)\n \nbaz(c)\n",
        "foo(a)  \nbar(x) \n  \nnew(n) \n \nbaz(c)\n",
        "foo(a)\nbar(x)\n\nnew(n)\n\nbaz(c)\t\n",
    ),
    "a moved line stays the file's": (
        "first(\u201ca\u201d)\nsecond(b)\nthird(c)\nfourth(d)\n",
        'first("a")\nsecond(b)\nthird(c)\nfourth(d)\n',
        'second(b)\nthird(c)\nfirst("a")\nfourth(d)\n',
        "second(b)\nthird(c)\nfirst(\u201ca\u201d)\nfourth(d)\n",
    ),
    "a moved line is re-indented": (
        "\tfirst(\u201ca\u201d)\n\tif b:\n\t\tthird(c)\n",
        '    first("a")\n    if b:\n        third(c)\n',
        '    if b:\n        first("a")\n        third(c)\n',
        "\tif b:\n\t\tfirst(\u201ca\u201d)\n\t\tthird(c)\n",
    ),
    "dollar and backslash are literal": (
        "\tfoo(a)\n\tbar(b)\n",
        "  foo(a)\n  bar(b)\n",
        "  foo(a)\n  $1 \\1 & \\g<0>\n  bar(b)\n",
        "\tfoo(a)\n\t$1 \\1 & \\g<0>\n\tbar(b)\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "expected"), CASES.values(), ids=CASES)
def test_refit(content: str, old: str, new: str, expected: str) -> None:
    done = replace_text(content, old, new)
    assert done.content == expected
    assert done.match.kind == "fuzzy"


@pytest.mark.parametrize(("content", "old", "new", "expected"), CASES.values(), ids=CASES)
def test_refit_is_the_same_with_crlf_on_either_side(
    content: str, old: str, new: str, expected: str
) -> None:
    crlf = [text.replace("\n", "\r\n") for text in (content, old, new, expected)]
    assert replace_text(content, crlf[1], crlf[2]).content == expected
    assert replace_text(crlf[0], old, new).content == crlf[3]


NOTES = [
    ("\ta(1)\n\tb(2)\n", "a(1)\nb(2)\n", "a(1)\nc(3)\n", ("reindented", "kept 1 drifted line")),
    ("x(1) \ny(2) \nz(3)\n", "x(1)\ny(2)\nz(3)", "x(1)\ny(2)\n!", ("kept 2 drifted lines",)),
    ("f(\u201cq\u201d, a)", 'f("q", a)', 'f("q", b)', ("merged 1 changed line",)),
    (
        CASES["forgotten line stays"][0],
        *CASES["forgotten line stays"][1:3],
        ("kept 1 forgotten line",),
    ),
]


@pytest.mark.parametrize(("content", "old", "new", "notes"), NOTES)
def test_notes(content: str, old: str, new: str, notes: tuple[str, ...]) -> None:
    assert replace_text(content, old, new).notes == notes


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("    total = call(a > 0)\n", "  total = call(a>0)\n", "  total = call(a > 0)\n"),
        ("    total = call(a, b))\n", "  total = call(a, b)\n", "  total = call(a, b))\n"),
        ("    return [a,  b]\n", "  return [a, b]\n", "  return [a,  b]\n"),
    ],
)
def test_what_the_file_already_has_does_not_come_twice(line: str, old: str, new: str) -> None:
    content = f"{line}    finish_all_calls(total)\n"
    rest = "  finish_all_calls(total)\n"
    assert replace_text(content, old + rest, new + rest).content == content
