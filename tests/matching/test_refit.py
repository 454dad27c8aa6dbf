"""What the model did not mean to change stays the file's, and what is new fits in."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, replace_text

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


def test_every_unit_becomes_the_files() -> None:
    for drop in [0, 1]:
        for model in UNITS.values():
            for file in UNITS.values():
                content = "class A:\n" + written(SHAPE, file)
                done = replace_text(
                    content, written(SHAPE, model, drop), written(AFTER, model, drop)
                )
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
    "trailing blanks stay on kept lines, not on changed ones": (
        "foo(a)  \nbar(b)\t\nbaz(c)\n",
        "foo(a)\nbar(b)\nbaz(c)\n",
        "foo(a)\nbar(z)\nbaz(c)\n",
        "foo(a)  \nbar(z)\nbaz(c)\n",
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
    "a line that moves in does so by the file's unit": (
        "a\n\tfoo(b)\nc\n",
        "  foo(b)\n",
        "    foo(z)\n",
        "a\n\t\tfoo(z)\nc\n",
    ),
    "a line is changed and the last one goes": (
        "\tfoo(a)\n\tbar(b)\n\tbaz(c)\n",
        "  foo(a)\n  bar(b)\n  baz(c)\n",
        "  foo(z)\n  bar(b)\n",
        "\tfoo(z)\n\tbar(b)\n",
    ),
    "a line at no depth of its own stays the file's": (
        "    call(a,\nbar(b)) \n",
        "call(a,\n    bar(b))\n",
        "call(z,\n    bar(b))\n",
        "    call(z,\nbar(b)) \n",
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
    ("foo(a)\nbar(b)\n", "foo(a)\n\nbar(b)\n", "foo(a)\n\nbar(c)\n", ()),
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
    rest, other = "  finish_all_calls(total)\n", "  stop_all_calls(total)\n"
    expected = content.replace("finish", "stop")
    assert replace_text(content, old + rest, new + other).content == expected
    with pytest.raises(MatchError, match="the new text is already there, at lines 1-2"):
        replace_text(content, old + rest, new + rest)


MARK = "\ufeff"


@pytest.mark.parametrize("drift", ["    {}", "{}  "], ids=["indentation", "trailing blanks"])
def test_a_byte_order_mark_stays_where_it_is(drift: str) -> None:
    content = f"{MARK}first_of_all(1)\nsecond_of_all(2)\n"
    old = [drift.format(line) for line in ("first_of_all(1)", "second_of_all(2)")]
    new = [old[0].replace("1", "one"), drift.format("between()"), old[1]]
    done = replace_text(content, "\n".join(old) + "\n", "\n".join(new) + "\n")
    assert done.content.splitlines()[0] == f"{MARK}first_of_all(one)"
    assert done.content.count(MARK) == 1
    assert [line.strip() for line in done.content.splitlines()][1:] == [
        "between()",
        "second_of_all(2)",
    ]


def test_a_byte_order_mark_of_the_model_alone_does_not_come_in() -> None:
    content = "zeroth(0)\n    first_of_all(1)\n    second_of_all(2)\n"
    old = f"{MARK}first_of_all(1)\nsecond_of_all(2)\n"
    done = replace_text(content, old, old.replace("second_of_all(2)", "other(2)"))
    assert done.content == content.replace("second_of_all(2)", "other(2)")


def test_a_blank_line_at_the_end_of_new_comes_in_where_old_ends_within_a_line() -> None:
    content = "class Flag:\n    ascii = 1\n    debug = 2\nupdate(Flag)\n"
    done = replace_text(content, "ascii = 1\ndebug = 2", "ascii = 1\ndebug = 3\nrepr = str\n")
    assert done.content == content.replace("debug = 2\n", "debug = 3\n    repr = str\n\n")


def test_a_blank_line_that_is_left_of_a_removed_block_stays() -> None:
    content = "above()\n\nremoved_line(1)\n\nremoved_line(2)\nbelow()\n"
    done = replace_text(content, "\nremoved_line(1)\nremoved_line(2)", "")
    assert done.content == "above()\n\nbelow()\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("line=stream.readline()", "while line := stream.readline():", None),
        ("run(first,const Layout &DL)", "run(first, static Layout &DL)", None),
    ],
)
def test_blanks_that_both_bring_come_once(old: str, new: str, expected: str | None) -> None:
    spaced = old.replace("=", " = ").replace(",", ", ")
    content = f"    {spaced}\n    finish_all_calls()\n"
    done = replace_text(content, f"{old}\nfinish_all_calls()\n", f"{new}\nfinish_all_calls()\n")
    assert done.content == content.replace(spaced, expected or new)


def test_invisible_characters_stay_in_the_part_of_a_word_that_stays() -> None:
    done = replace_text("Patches we\u200blcome!\n", "Patches welcome!\n", "Patches welcome_all!\n")
    assert done.content == "Patches we\u200blcome_all!\n"


def test_what_the_model_alone_writes_fancily_comes_in_plain() -> None:
    content = "names = [\n    'first',\n    'second',\n]\n"
    old = "    \u2018first\u2019,\n    \u2018second\u2019,\n"
    new = old + "    \u2018third\u2019,\n    \u201cfourth\u201d,\n"
    done = replace_text(content, old, new)
    assert done.content == content.replace("]", "    'third',\n    \"fourth\",\n]")
    kept = "say(\u2018first\u2019)\n  say('second')\n"
    done = replace_text(kept, "say(\u2018first\u2019)\nsay('second')\n", "say(\u2018third\u2019)\n")
    assert "\u2018third\u2019" in done.content


def test_blocks_are_moved_by_whole_units() -> None:
    content = "{\n  one: {\n      token: 1,\n      key: 2\n    }\n  }\n}\n"
    old = "      token: 1,\n      key: 2\n  }\n"
    new = "      token: 1,\n      key: 2\n    },\n    two: {\n      token: 2\n  }\n"
    assert "\n    },\n    two: {\n" in replace_text(content, old, new).content


def test_trailing_blanks_that_alone_are_changed_go() -> None:
    content = "for the language \nsee there\nbelow it\n"
    old = "for the language  \nsee there \nbelow it\n"
    done = replace_text(content, old, old.replace("language  ", "language"))
    assert done.content == content.replace("language ", "language")


SPACES = "class A:\n    x = alpha \n\n    def f(self):\n        if b:\n            go()\n"
TABS = SPACES.replace("    ", "\t")
FOREIGN = {
    "tabs at the margin of a file with blanks": (
        "import alpha \n" + SPACES,
        "import alpha\n",
        "import alpha\ndef g():\n\tif x:\n\t\treturn 1\n",
        "import alpha \ndef g():\n    if x:\n        return 1\n" + SPACES,
    ),
    "tabs among lines at one depth": (
        SPACES,
        "    x = alpha\n",
        "    x = alpha\n\tif x:\n\t\ty = 2\n",
        SPACES.replace("alpha \n", "alpha \n    if x:\n        y = 2\n"),
    ),
    "tabs among lines at two depths": (
        SPACES.replace("go()", "go() "),
        "    def f(self):\n        if b:\n            go()\n",
        "    def f(self):\n\t\ty = 2\n        if b:\n            go()\n",
        SPACES.replace("go()", "go() ").replace("self):\n", "self):\n        y = 2\n"),
    ),
    "blanks in a file with tabs": (
        TABS,
        "\tx = alpha\n",
        "\tx = alpha\n    if x:\n        y = 2\n",
        TABS.replace("alpha \n", "alpha \n\tif x:\n\t\ty = 2\n"),
    ),
    "blanks behind a tab align": (
        TABS,
        "\tx = alpha\n",
        "\tx = alpha\n\ty = f(1,\n\t      2)\n",
        TABS.replace("alpha \n", "alpha \n\ty = f(1,\n\t      2)\n"),
    ),
    "a block comment is no step": (
        "/* one */ \nint aaa;\nvoid f(void)\n{\n\tx();\n}\n",
        "/* one */\nint aaa;\n",
        "/* one */\n/*\n * two\n */\nint aaa;\n",
        "/* one */ \n/*\n * two\n */\nint aaa;\nvoid f(void)\n{\n\tx();\n}\n",
    ),
    "a block comment among moved lines": (
        "struct f {\n    int stacktop;\n    char owner;\n};\n",
        "int stacktop;\nchar owner;\n",
        "int stacktop;\n/* where\n * relative */\nchar owner;\n",
        "struct f {\n    int stacktop;\n    /* where\n     * relative */\n    char owner;\n};\n",
    ),
    "a level is skipped": (
        "class A:\n\tdef f():\n\t\tif x:\n\t\t\tfunc(kind, owner)\n",
        "            func(kind, owner)",
        "            func(kind, owner)\n\n    get = classmethod(Alias)",
        "class A:\n\tdef f():\n\t\tif x:\n\t\t\tfunc(kind, owner)\n\n\tget = classmethod(Alias)\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "expected"), FOREIGN.values(), ids=FOREIGN)
def test_new_lines_take_the_files_indentation(
    content: str, old: str, new: str, expected: str
) -> None:
    assert replace_text(content, old, new).content == expected


MERGED = {
    "a blank behind a comma that comes in": (
        "def make(name,\n         slot=False):\n    pass\n",
        "         slot=False ):\n",
        "         slot=False, module=None):\n",
        "def make(name,\n         slot=False, module=None):\n    pass\n",
    ),
    "a comma within brackets with blanks": (
        "    super.equals(left, right, options)\n",
        "    super.equals( left, right, options )\n",
        "    super.equals.call(this, left, right, options)\n",
        "    super.equals.call(this, left, right, options)\n",
    ),
    "no blank at the end of a line that is split": (
        "log(1)\nself.logger(self.charset_name, self.language)\n",
        "log(1)\nself.logger(self.charset_name,self.language)\n",
        "log(1)\nself.logger(self.charset_name,\n            self.language)\n",
        "log(1)\nself.logger(self.charset_name,\n            self.language)\n",
    ),
    "a word that the file spells as two tokens goes as a whole": (
        "    value = re-read(path, options, timeout)\n    finish_all_calls(value)\n",
        "    value = reread(path, options, timeout)\n    finish_all_calls(value)\n",
        "    value = load(path, options, timeout)\n    finish_all_calls(value)\n",
        "    value = load(path, options, timeout)\n    finish_all_calls(value)\n",
    ),
    "look-alikes of a line most of which changes": (
        "let a = null;\nif\u00a0(scrollDown)\u00a0{\n    go();\n}\n",
        "if (scrollDown) {\n",
        "if (ClipboardJS) {\n",
        "let a = null;\nif\u00a0(ClipboardJS)\u00a0{\n    go();\n}\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "expected"), MERGED.values(), ids=MERGED)
def test_changed_lines_are_merged(content: str, old: str, new: str, expected: str) -> None:
    assert replace_text(content, old, new).content == expected


def test_a_file_of_one_line_says_how_to_write_a_tab() -> None:
    done = replace_text(
        "        */}*/*/(", "        */}*/*/(\n", "\tx = alpha\n", profile="boocode"
    )
    assert done.content == "        x = alpha"
