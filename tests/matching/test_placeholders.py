"""Lines that stand for others: in old and new alike they stay, in new alone the edit is refused."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, locate_match, replace_text
from git_boocode.matching.placeholders import is_marker, markers

FILE = """\
class Shape:
    def area(self, unit):
        width = self.width
        height = self.height

        if unit == "cm":
            width *= 2
            height *= 2
        return width * height

    def rim(self, unit):
        width = self.width
        return width * 4
"""
MARKERS = [
    "...",
    "\u2026",
    "# ...",
    "// ...",
    "/* ... */",
    "<!-- ... -->",
    "{/* ... */}",
    "-- ...",
    "; ...",
    "# ... existing code ...",
    "// ...existing code...",
    "... rest of the function ...",
    "# ... (rest of the method) ...",
    "// ... rest of the code remains unchanged ...",
    "# rest of code",
    "// the rest of the file stays the same",
    "# existing code here",
    "/* existing code */",
    "// keep existing implementation",
    "# remaining methods are unchanged",
    "// unchanged",
    "# (unchanged)",
    "# same as before",
    "# keep the rest the same",
    "// no changes needed here",
    "# code omitted for brevity",
    "# omitted",
    "# [...]",
    "// ... other methods ...",
    "# rest of code...",
]


@pytest.mark.parametrize("marker", MARKERS)
def test_what_stands_for_left_out_text(marker: str) -> None:
    assert is_marker(marker)
    assert is_marker(f"    {marker}  ")


NO_MARKERS = [
    "",
    "x = ...",
    "...args",
    "...args,",
    "f(...)",
    "def f(): ...",
    "[...rest] = list",
    "{...props}",
    "<Row {...props} />",
    "int printf(const char *format, ...);",
    "catch (...) {",
    ">>> ...",
    "... print(x)",
    "# and so it goes...",
    "# wait for the lock ...",
    "# rest of the line holds the value",
    "# the remaining items",
    "# existing users",
    "# other methods",
    "# original value in metres",
    "# the same for every row",
    "# the same test",
    "# the test stays here",
    "# code points above 127",
    "rest of code",
    "unchanged",
    "return rest",
    "#define REST of_code",
    "existing_code()",
    "..",
    "# etc",
]


@pytest.mark.parametrize("line", NO_MARKERS)
def test_what_does_not(line: str) -> None:
    assert not is_marker(line)


def test_a_long_line_is_no_marker() -> None:
    assert is_marker("# " + "." * 118)
    assert not is_marker("# " + "." * 119)


def test_prompts_of_a_console_are_no_markers() -> None:
    session = [">>> for item in items:", "...     show(item)", "...", "1"]
    assert markers(session) == []
    assert markers(["def run():", "    ...", "    return 1"]) == [1]


def elided(text: str, first: int, stop: int, marker: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:first], f"{marker}\n", *lines[stop:]])


OLD = "".join(FILE.splitlines(keepends=True)[1:9])
NEW = OLD.replace("area(self, unit)", "area(self, unit, scale)").replace(
    "width * height\n", "width * height * scale\n"
)
AFTER = FILE.replace(OLD, NEW)


def test_elided_lines_stay() -> None:
    for marker in MARKERS:
        for indent in ["        ", ""]:
            old, new = (elided(text, 1, 7, indent + marker) for text in (OLD, NEW))
            done = replace_text(FILE, old, new)
            assert done.content == AFTER
            assert done.notes[-1] == "kept 6 elided lines"
            assert (done.match.rung, done.match.start_line, done.match.end_line) == ("elided", 2, 9)


def test_elided_lines_stay_with_other_drift() -> None:
    file = FILE.replace("    ", "\t")
    old, new = (elided(text, 1, 7, "        # ...") for text in (OLD, NEW))
    add = "        return width * height * scale\n"
    new = new.replace(add, "        if scale:\n            width += 1\n" + add)
    after = AFTER.replace("    ", "\t").replace(
        "\t\treturn width * height", "\t\tif scale:\n\t\t\twidth += 1\n\t\treturn width * height"
    )
    assert replace_text(file, old, new).content == after
    dedented = [
        "".join(line.removeprefix("    ") for line in text.splitlines(keepends=True))
        for text in (old, new)
    ]
    assert replace_text(file, dedented[0], dedented[1]).content == after


def test_several_elisions() -> None:
    old = "class Shape:\n    ...\n        if unit == 'cm':\n            ...\n"
    old += "    def rim(self, unit):\n"
    new = old.replace("'cm'", "'m'").replace("rim(self, unit)", "rim(self)")
    file = FILE.replace('"', "'")
    after = file.replace("'cm'", "'m'").replace("rim(self, unit)", "rim(self)")
    done = replace_text(file, old, new)
    assert done.content == after
    assert done.notes == ("kept 8 elided lines",)


def test_an_elision_at_the_top_or_the_bottom_stands_for_nothing() -> None:
    part = "    def rim(self, unit):\n        width = self.width\n        return width * 4\n"
    for form in ("# ... existing code ...\n{}", "{}# ... existing code ...\n", "...\n{}...\n"):
        done = replace_text(FILE, form.format(part), form.format(part.replace("4", "5")))
        assert done.content == FILE.replace("* 4", "* 5")


def test_a_closing_line_is_found_by_its_indentation() -> None:
    file = "function run_all(item) {\n  if (item) {\n    go(item)\n  }\n  end()\n}\n"
    file += "\nfoo(() => {\n})\n}\n"
    old = "function run_all(item) {\n  // ...\n}\n"
    new = "function run_all(item, more) {\n  // ...\n}\n"
    done = replace_text(file, old, new)
    assert done.content == file.replace("(item) {", "(item, more) {", 1)
    assert (done.match.start_line, done.match.end_line) == (1, 6)


def test_what_is_elided_stays_inside_the_block_above_it() -> None:
    file = "if first(item):\n    one(item)\n    two(item)\nif second(item):\n    two(item)\n"
    old = "if first(item):\n...\n    two(item)\n"
    done = replace_text(file, old, old.replace("two", "new"))
    assert done.content == file.replace("two", "new", 1)


def test_a_deeper_part_is_found_deeper() -> None:
    file = "start(item)\nouter(item)\n    inner(item)\ninner(item)\n"
    old = "start(item)\nouter(item)\n...\n    inner(item)\n"
    done = replace_text(file, old, old.replace("inner", "other"))
    assert done.content == file.replace("inner", "other", 1)


REFUSED = {
    "the end occurs twice": (
        "start(item)\nfirst(item)\nfinish(item)\nother(item)\nfinish(item)\n",
        "start(item)\n...\nfinish(item)\n",
        "start(item)\n...\nbegin(item)\nfinish(item)\n",
    ),
    "the order is another": (
        "finish(item)\nfirst(item)\nstart(item)\n",
        "start(item)\n...\nfinish(item)\n",
        "begin(item)\n...\nfinish(item)\n",
    ),
    "a part is missing": (
        "start(item)\nfirst(item)\n",
        "start(item)\n...\nfinish(item)\n",
        "begin(item)\n...\nfinish(item)\n",
    ),
    "new leaves out nothing": (
        "start(item)\nfirst(item)\nfinish(item)\n",
        "start(item)\n...\nfinish(item)\n",
        "begin(item)\nfinish(item)\n",
    ),
    "new leaves out more": (
        "start(item)\nfirst(item)\nfinish(item)\nother(item)\n",
        "start(item)\n...\nfinish(item)\n",
        "begin(item)\n...\nfinish(item)\n...\n",
    ),
    "the parts have changed places": (
        "start(item)\nfirst(item)\nfinish(item)\n",
        "start(item)\n...\nfinish(item)\n",
        "finish(item)\n...\nstart(item)\n",
    ),
    "new lines above what comes first": (
        "first(item)\nfinish(item)\n",
        "...\nfinish(item)\n",
        "begin(item)\n...\nfinish(item)\n",
    ),
    "new lines below what comes last": (
        "start(item)\nfirst(item)\n",
        "start(item)\n...\n",
        "start(item)\n...\nbegin(item)\n",
    ),
    "nothing but bare lines": ("{\nif (x) {\n}\n}\n", "{\n...\n}\n", "{\n...\n}\nend\n"),
    "nothing but markers": ("foo(item)\n", "...\n", "...\nbar(item)\n"),
}


@pytest.mark.parametrize(("content", "old", "new"), REFUSED.values(), ids=REFUSED)
def test_an_elision_in_doubt_is_refused(content: str, old: str, new: str) -> None:
    with pytest.raises(MatchError):
        replace_text(content, old, new)


def test_a_placeholder_in_new_alone_is_refused() -> None:
    for marker in MARKERS:
        for drift in ["", "  "]:
            old = "".join(drift + line for line in OLD.splitlines(keepends=True))
            new = elided(NEW, 2, 7, f"        {marker}")
            with pytest.raises(MatchError) as caught:
                replace_text(FILE, old, new)
            assert caught.value.code == "invalid_input"
            assert caught.value.message == (
                f"line 3 of the new text, '{marker}', looks like a placeholder for omitted code"
            )


LITERAL = {
    "the file has such a line": (
        "# unchanged\nfoo(item)\nbar(item)\n",
        "bar(item)\n",
        "# unchanged\nbar(item)\n",
    ),
    "old has it too": ("# ...\nfoo(item)\n", "# ...\nfoo(item)\n", "# ...\nbar(item)\n"),
    "an Ellipsis for pass": ("def f():\n    pass\n", "    pass\n", "    ...\n"),
    "part of a line": ("def f(): pass\n", "pass", "..."),
    "the body of a new function": (
        "def f():\n    return 1\n",
        "def f():\n    return 1\n",
        "def f():\n    return 1\n\ndef g():\n    ...\n",
    ),
    "the body of a function that had one line": (
        "class P:\n    def f(self):\n        pass\n    def g(self):\n        return 1\n",
        "    def f(self):\n        pass\n",
        "    def f(self):\n        ...\n",
    ),
    "spread": ("call(a)\n", "call(a)\n", "call(\n  ...args,\n)\n"),
    "a session": ("foo\n", "foo\n", ">>> if foo:\n...     bar\n...\n1\n"),
}


@pytest.mark.parametrize(("content", "old", "new"), LITERAL.values(), ids=LITERAL)
def test_what_is_literal_is_applied(content: str, old: str, new: str) -> None:
    assert replace_text(content, old, new).content == content.replace(old, new)


STUBBED = {
    "a body": ("def f():\n    a()\n    b()\n    c()\n", "def f():\n    ...\n"),
    "everything": ("a()\nb()\nc()\n", "...\n"),
    "a statement among others": ("a()\nb()\nc()\n", "a()\n...\nd()\n"),
    "no deeper than the colon above": ("label:\na()\n", "label:\n...\n"),
}


@pytest.mark.parametrize(("old", "new"), STUBBED.values(), ids=STUBBED)
def test_dots_that_would_wipe_out_lines_are_refused(old: str, new: str) -> None:
    with pytest.raises(MatchError, match="looks like a placeholder"):
        replace_text(f"x\n{old}y\n", old, new)


def test_other_profiles_and_verbatim_take_placeholders() -> None:
    for profile, verbatim in (("boocode", False), ("exact", False), ("default", True)):
        done = replace_text(
            "foo(a)\nbar(b)\n", "bar(b)\n", "# rest of code\n", profile=profile, verbatim=verbatim
        )
        assert done.content == "foo(a)\n# rest of code\n"


@pytest.mark.parametrize(("first", "rung"), [("open()", "elided"), ("run()", None)])
def test_what_is_not_left_out_must_prove_the_place(first: str, rung: str | None) -> None:
    content = f"{first}\nother()\nlast()\n"
    assert locate_match(content, f"{first}\n...\nlast()\n").rung == rung


@pytest.mark.parametrize(("last", "rung"), [("last", "elided"), ("two", None)])
def test_a_telling_part_may_lie_in_another_block(last: str, rung: str | None) -> None:
    content = f"def f(item):\n    first(item)\n\ndef g(item):\n    {last}()\n"
    assert locate_match(content, f"    first(item)\n    ...\n    {last}()\n").rung == rung


def test_locating_needs_no_new_text() -> None:
    match = locate_match(FILE, elided(OLD, 1, 7, "..."))
    assert (match.rung, match.start_line, match.end_line) == ("elided", 2, 9)


def test_a_part_that_could_end_in_several_places_is_ambiguous() -> None:
    content = "}\nfirst(item)\n}\nother(item)\nfinish(item)\nthird(item)\n}\n"
    old = "}\n...\nfinish(item)\n"
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, old.replace("finish", "end_all"))
    assert caught.value.code == "ambiguous"


@pytest.mark.parametrize(("parts", "rung"), [(64, "elided"), (65, None)])
def test_a_text_in_very_many_parts_is_not_looked_for(parts: int, rung: str | None) -> None:
    lines = [f"call_number_{n}(item)\n" for n in range(parts)]
    assert locate_match("other\n".join(lines), "...\n".join(lines)).rung == rung


def test_many_possible_chains_are_refused() -> None:
    content = "start(item)\nfinish(item)\n" * 2_000
    old = "start(item)\n...\nfinish(item)\n...\nstart(item)\n"
    assert locate_match(content, old).kind == "not_found"
    content = "start(item)\nfinish(item)\n" * 30
    assert locate_match(content, old + "...\nfinish(item)\n").kind == "not_found"
