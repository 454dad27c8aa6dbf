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


def test_lines_in_a_new_block_are_deeper_than_the_line_that_opens_it() -> None:
    old = "    return sum(x)\n\n\ndef beta(y):\n"
    new = old.replace("    return sum(x)\n", BODY)
    done = replace_text(FILE, old, new, whole_lines=True)
    assert done.content == FILE.replace("        return sum(x)\n", DEEPER)
    done = replace_text(FILE, old, old.replace("sum(x)", "sum(x, 0)"), whole_lines=True)
    assert done.content == FILE.replace("sum(x)", "sum(x, 0)")


def test_new_lines_between_two_blocks_of_which_one_was_moved_are_refused() -> None:
    old = "def alpha(x):\n    return sum(x)\n\n\ndef beta(y):\n"
    new = old.replace("def beta", "def gamma(z):\n    return z\n\n\ndef beta")
    with pytest.raises(MatchError, match="cannot determine the indentation"):
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


CLASS = """\
class C:
    def alpha(self):
        first()
        second()
        return 1

END = 1
"""
SHORT = "def alpha(self):\n    first()\n    second()\n    return 1\n"
ADDED = CLASS.replace("        second()\n", "        second()\n        third()\n")


@pytest.mark.parametrize(
    "new",
    [
        SHORT.replace("    second()\n", "    second()\n    third()\n"),
        ADDED[len("class C:\n") : -len("\nEND = 1\n")],
        SHORT.replace("    second()\n", "    second()\n        third()\n"),
        "def alpha(self):\n        first()\n        second()\n        third()\n        return 1\n",
    ],
    ids=["as old", "as the file", "added lines as the file", "but for the first line as the file"],
)
def test_the_file_and_the_lines_around_show_how_new_is_indented(new: str) -> None:
    assert replace_text(CLASS, SHORT, new).content == ADDED


BRANCHES = """\
class C:
    def alpha(self):
        if self.x:
            first()
        else:
            second()
        third()
"""
BRANCHES_SHORT = "if self.x:\n    first()\nelse:\n    second()\nthird()\n"


def test_a_line_replaced_at_the_files_depth_is_not_moved_into_the_block_above() -> None:
    new = BRANCHES_SHORT.replace("third()", "        other()")
    expected = BRANCHES.replace("third()", "other()")
    assert replace_text(BRANCHES, BRANCHES_SHORT, new).content == expected


def test_a_line_replaced_by_a_block_is_as_deep_as_it_was() -> None:
    new = BRANCHES_SHORT.replace("third()", "if self:\n    third()")
    expected = BRANCHES.replace("third()", "if self:\n            third()")
    assert replace_text(BRANCHES, BRANCHES_SHORT, new).content == expected


def test_new_lines_are_deeper_than_the_file_if_they_say_so() -> None:
    old = "    first()\n    second()\n"
    new = "    if self:\n        first()\n        second()\n"
    wrapped = "        if self:\n            first()\n            second()\n"
    content = CLASS.replace("        first()\n        second()\n", wrapped)
    assert replace_text(CLASS, old, new).content == content


def test_a_method_that_is_added_as_deep_as_the_file_is_not_moved() -> None:
    old = "    second()\n    return 1\n"
    method = "\n    def beta(self):\n        return 2\n"
    done = replace_text(CLASS, old, old + method)
    assert done.content == CLASS.replace("        return 1\n", "        return 1\n" + method)


def test_a_first_line_that_alone_is_right_does_not_move_the_others() -> None:
    old = "    def alpha(self):\n    first()\n    second()\n    return 1\n"
    new = old.replace("    second()\n", "    second()\n    if self:\n        third()\n")
    deep = "        second()\n        if self:\n            third()\n"
    assert replace_text(CLASS, old, new).content == CLASS.replace("        second()\n", deep)


@pytest.mark.parametrize("line", ["two_calls()", "three_calls()"])
def test_only_the_lines_next_to_new_ones_show_their_depth(line: str) -> None:
    method = "def beta(self):\n    two_calls()\n    three_calls()\n"
    deep = "".join(f"    {row}\n" for row in method.splitlines())
    content = "def alpha():\n    one_call()\n{}\ndef gamma():\n    last_call()\n"
    new = method.replace(line, f"added()\n    {line}")
    done = replace_text(content.format(deep), content.format(method), content.format(new))
    assert done.content == content.format(deep.replace(line, f"added()\n        {line}"))


OPENERS = {
    "a label": "\tcase $x in\n\ta)\n\t\tone_word $x\n\t\t;;\n",
    "do": "\tlist_of(x) do |y|\n\t\tone_word y\n\tend\n",
    "a tag": "\t<div>\n\t\t<p>one_word</p>\n\t</div>\n",
    "a tag over several lines": "\t<div\n\t\tone_word='1'\n\t\tname='b'\n\t>\n",
    "an arrow": "\tlist_of = (x) =>\n\t\tone_word(x)\n",
    "an equals sign": "\tlist_of =\n\t\tone_word(x)\n",
    "an item": "\t- list_of\n\t\tone_word x\n",
    "a word in front": "\tunless list_of x\n\t\tone_word x\n\tend\n",
}


@pytest.mark.parametrize("content", OPENERS.values(), ids=OPENERS)
def test_added_lines_stay_in_a_block_that_needs_no_brace(content: str) -> None:
    lines = content.splitlines(keepends=True)
    at = next(row for row, line in enumerate(lines) if "one_word" in line)
    added = "".join([*lines[:at], lines[at].replace("one", "new"), *lines[at:]])
    old, new = ("".join(line.removeprefix("\t") for line in text.splitlines(keepends=True))
                for text in (content, added))  # fmt: skip
    assert replace_text(content, old, new).content == added


@pytest.mark.parametrize("line", ["<p>one_word</p>", "<p one_word />"])
def test_added_lines_are_not_moved_into_a_tag_that_is_closed(line: str) -> None:
    content = f"\t<div>\n\t\t{line}\n\t\t{line.replace('one', 'two')}\n\t</div>\n"
    added = f"\t\t{line.replace('one', 'new')}\n"
    old = content.replace("\t<", "<")
    new = old.replace(f"\t{line}\n", f"\t{line}\n{added}")
    expected = content.replace(f"\t\t{line}\n", f"\t\t{line}\n{added}")
    assert replace_text(content, old, new).content == expected


def test_added_lines_that_fit_at_two_depths_are_refused() -> None:
    content = CLASS.replace("        second()\n", "        second()\n          odd_one()\n")
    old = "    second()\n      odd_one()\n    return 1\n"
    new = old.replace("    return", "        added()\n    return")
    with pytest.raises(MatchError, match="already have the file's indentation") as caught:
        replace_text(content, old, new)
    assert caught.value.code == "ambiguous"


def test_shared_lines_that_show_two_depths_for_one_are_refused() -> None:
    new = ADDED[len("class C:\n") : -len("\nEND = 1\n")].replace("        first", "    first")
    with pytest.raises(MatchError, match="already have the file's indentation"):
        replace_text(CLASS, SHORT, new)


def short(text: str, levels: int = 1) -> str:
    return "".join(line.removeprefix("    " * levels) for line in text.splitlines(keepends=True))


START = "class C:\n    def start(self):\n"
CALLS = "        m.start()\n        return m\n"
STOP = "\n    def stop(self):\n        self.m.stop()\n"
WANTED = "        if self.wanted:\n            self.more(m)\n        return m\n"
CURLY = """\
class Cart {
    add(item) {
        if (item.ok &&
                item.price > 0) {
            this.total += item.price;
            this.save();
        }
        return this;
    }
}
"""
PUSHED = "            this.total += item.price;\n            this.save();\n"
OPEN = "            if (this.open) {\n                this.tell();\n            }\n"
FINALLY = """\
class Case:
    def run(self):
        try:
            return super().run()
        finally:
            self.teardown()

    def debug(self):
        super().debug()
"""
TEARDOWN = FINALLY[FINALLY.index("        finally") :]
COUNTED = TEARDOWN.replace("        super()", "        self.count += 1\n        super()")
PUT = "    def put(self):\n        self.x = 1\n        return 2\n"
DROP = "\n    def drop(self):\n        del self.x\n"
STORE = f"class Store:\n{PUT}\n    def last(self):\n        return self.x\n"
LOOP = """\
func run() {
    for _, f := range files {
        if f.ok {
            use(f)
        }
        done(f)
    }
}
"""
LATE = "        if f.late {\n            wait(f)\n        }\n"
READINGS = {
    "the first line right, the rest short": (
        START + CALLS + STOP,
        "        m.start()\n    return m\n",
        "        m.start()\n" + short(WANTED),
        START + "        m.start()\n" + WANTED + STOP,
    ),
    "the first line right, the rest short, with braces": (
        CURLY,
        "            this.total += item.price;\n        this.save();\n",
        "            this.total += item.price;\n" + short(f"{OPEN}            this.save();\n"),
        CURLY.replace("            this.save();\n", f"{OPEN}            this.save();\n"),
    ),
    "old short, new as the file, below a condition on two lines": (
        CURLY,
        short(PUSHED),
        PUSHED.replace("price;", "price * 2;"),
        CURLY.replace("price;", "price * 2;"),
    ),
    "old at the margin, new as the file, below a condition on two lines": (
        CURLY,
        short(PUSHED, 3),
        PUSHED.replace("price;", "price * 2;"),
        CURLY.replace("price;", "price * 2;"),
    ),
    "old short, new as the file, where both depths can be": (
        FINALLY,
        short(TEARDOWN),
        COUNTED,
        FINALLY.replace(TEARDOWN, COUNTED),
    ),
    "the first line right, old short, new as the file": (
        FINALLY,
        TEARDOWN.splitlines(keepends=True)[0] + short(TEARDOWN.split("\n", 1)[1]),
        COUNTED,
        FINALLY.replace(TEARDOWN, COUNTED),
    ),
    "a method behind a body, all of it at the margin": (
        STORE,
        short(PUT.split("\n", 1)[1], 2),
        short(PUT.split("\n", 1)[1], 2) + short(DROP),
        STORE.replace(PUT, PUT + DROP),
    ),
    "a method behind one whose first line lost its indentation": (
        STORE,
        PUT.lstrip(),
        PUT.lstrip() + "\ndef drop(self):\n        del self.x\n",
        STORE.replace(PUT, PUT + DROP),
    ),
    "such a method that lost the indentation of all of its lines": (
        STORE,
        PUT.lstrip(),
        PUT.lstrip() + short(DROP),
        STORE.replace(PUT, PUT + DROP),
    ),
    "the last line short, a block in front of it": (
        LOOP,
        "            use(f)\n        }\n    done(f)\n}\n",
        "            use(f)\n        }\n" + LATE + "    done(f)\n}\n",
        LOOP.replace("        done", LATE + "        done"),
    ),
    "the last line short and changed, a block in front of it": (
        LOOP,
        "            use(f)\n        }\n    done(f)\n",
        "            use(f)\n        }\n" + LATE + "    done(f, 1)\n",
        LOOP.replace("        done(f)", LATE + "        done(f, 1)"),
    ),
    "old short, new as the file but for its first line": (
        STORE,
        short(PUT),
        "def put(self):\n" + PUT.split("\n", 1)[1].replace("2", "3"),
        STORE.replace("return 2", "return 3"),
    ),
}


def test_lines_that_lost_some_of_their_indentation_land_as_deep_as_the_file() -> None:
    for unit in ["    ", "\t"]:
        for texts in READINGS.values():
            content, old, new, expected = (text.replace("    ", unit) for text in texts)
            assert replace_text(content, old, new).content == expected


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        (STORE, "self.x = 1\nreturn 2\n", "self.x = 1\nif self.x:\nself.y = 2\nreturn 2\n"),
        (
            STORE,
            "def put(self):\nself.x = 1\nreturn 2\n",
            "def put(self):\nself.x = 1\nif self.x:\nself.y = 2\nreturn 2\n",
        ),
        (
            f"class Store:\n{PUT}",
            short(PUT.split("\n", 1)[1], 2),
            short(PUT.split("\n", 1)[1], 2) + short(DROP),
        ),
    ],
    ids=["a body without its block", "a method without any indentation", "a method at the end"],
)
def test_text_that_breaks_the_nesting_however_it_is_indented_is_refused(
    content: str, old: str, new: str
) -> None:
    with pytest.raises(MatchError, match="cannot determine") as caught:
        replace_text(content, old, new)
    assert caught.value.code == "ambiguous"
