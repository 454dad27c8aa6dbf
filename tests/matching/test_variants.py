"""Old and new transformed alike are read back, unless the file really holds them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable

import pytest

from git_boocode.matching import MatchError, locate_match, replace_text

FILE = """\
import sys

def render(items, title):
    rows = ["<li>%s & co</li>" % item for item in items]
    if not rows and title < "m":
\tlog("nothing to show for %s\\t", title)

    return "<ul>" + "".join(rows) + "</ul>"
"""
OLD = "".join(FILE.splitlines(keepends=True)[3:8])
NEW = OLD.replace("not rows", "rows").replace("\n\n", '\n\n    extra = "<b>"\n    rows.sort()\n')
AFTER = FILE.replace(OLD, NEW)


def numbered(style: str, first: int = 4) -> Callable[[str], str]:
    def write(text: str) -> str:
        lines = text.split("\n")[:-1]
        return "".join(style.format(first + at) + f"{line}\n" for at, line in enumerate(lines))

    return write


def quoted(text: str) -> str:
    return text.replace('"', '\\"')


def as_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def fenced(text: str) -> str:
    return f"```python\n{text}```\n"


def outlined(text: str) -> str:
    return "".join(f"{'█' if 'not' in line else '│'}{line}\n" for line in text.split("\n")[:-1])


DRIFTS: dict[str, tuple[Callable[[str], str], tuple[str, ...]]] = {
    "cat -n": (numbered("{:>6}\t"), ("line numbers stripped",)),
    "bar and space": (numbered("{} | "), ("line numbers stripped",)),
    "padded bar": (numbered("{:>4} | "), ("line numbers stripped",)),
    "bar": (numbered("{}|"), ("line numbers stripped",)),
    "tight bar and space": (numbered("{}| "), ("line numbers stripped",)),
    "arrow": (numbered("{}→"), ("line numbers stripped",)),
    "padded arrow": (numbered("{:>5}→"), ("line numbers stripped",)),
    "colon": (numbered("{}: "), ("line numbers stripped",)),
    "stale numbers": (numbered("{}| ", 941), ("line numbers stripped",)),
    "quotes": (quoted, ("unescaped",)),
    "JSON": (as_json, ("unescaped",)),
    "entities": (html.escape, ("entities decoded",)),
    "fence": (fenced, ("code fence stripped",)),
    "fence below": (lambda text: f"{text}```\n", ("code fence stripped",)),
    "outline": (outlined, ("gutter stripped",)),
    "padded outline": (
        lambda text: outlined(text).replace("│", "│ ").replace("█", "█ "),
        ("gutter stripped",),
    ),
    "fence and numbers": (
        lambda text: fenced(numbered("{:>6}\t")(text)),
        ("code fence stripped", "line numbers stripped"),
    ),
    "numbers and entities": (
        lambda text: numbered("{} | ")(html.escape(text)),
        ("line numbers stripped", "entities decoded"),
    ),
}


@pytest.mark.parametrize(("drift", "notes"), DRIFTS.values(), ids=DRIFTS)
def test_both_texts_are_read_back(drift: Callable[[str], str], notes: tuple[str, ...]) -> None:
    done = replace_text(FILE, drift(OLD), drift(NEW))
    assert done.content == AFTER
    assert done.notes[: len(notes)] == notes
    assert done.match.kind == "fuzzy"


def test_numbered_lines_leave_a_file_without_a_final_newline() -> None:
    for ending in ["\n", "\r\n"]:
        for style in ["{:>5}→", "{:>6}\t", "{}| "]:
            content, write = FILE[:-1].replace("\n", ending), numbered(style, 7)
            old = "".join(FILE.splitlines(keepends=True)[6:])
            done = replace_text(content, write(old), write(f"{old}\nend()\n"))
            assert done.content == f"{content}{ending}{ending}end()"


def trailing_blanks(text: str) -> str:
    return text.replace("\n", "  \n")


def dedented(text: str) -> str:
    return "".join(line.removeprefix("    ") for line in text.splitlines(keepends=True))


def misspelt(text: str) -> str:
    return text.replace("nothing to show", "nothng to show")


def test_rewrites_go_with_ordinary_drift() -> None:
    for more in [trailing_blanks, dedented, misspelt]:
        for drift, notes in DRIFTS.values():
            done = replace_text(FILE, drift(more(OLD)), drift(more(NEW)))
            assert done.content == AFTER
            assert done.notes[: len(notes)] == notes


@pytest.mark.parametrize(("drift", "notes"), DRIFTS.values(), ids=DRIFTS)
def test_a_file_that_really_holds_it_keeps_it(
    drift: Callable[[str], str], notes: tuple[str, ...]
) -> None:
    content = drift(FILE)
    old = content[10:-10]
    new = old.replace("items", drift('things > "x"\n'))
    done = replace_text(content, old, new)
    assert done.content == content.replace(old, new)
    assert done.notes == ()


@pytest.mark.parametrize(("drift", "notes"), DRIFTS.values(), ids=DRIFTS)
def test_a_file_that_really_holds_it_keeps_it_in_spite_of_a_typo(
    drift: Callable[[str], str], notes: tuple[str, ...]
) -> None:
    content = drift(FILE)
    first = content.index("import") + len("import")
    old = content[first:].replace("nothing", "nothng")
    new = old.replace("not rows", "rows")
    try:
        done = replace_text(content, old, new)
    except MatchError:
        return
    assert done.content == content.replace("not rows", "rows")
    assert not set(done.notes) & set(notes)


@pytest.mark.parametrize(("drift", "_notes"), DRIFTS.values(), ids=DRIFTS)
def test_what_stands_twice_once_read_back_is_ambiguous(
    drift: Callable[[str], str], _notes: tuple[str, ...]
) -> None:
    with pytest.raises(MatchError) as caught:
        replace_text("\n\n\n" + FILE + FILE, drift(OLD), drift(NEW))
    assert caught.value.code == "ambiguous"


def test_a_number_decides_between_equal_places_only_if_it_is_right() -> None:
    content = "foo(item)\nbar(item)\n\nfoo(item)\nbar(item)\n"
    for first, line in ((4, 4), (1, 1), (3, None)):
        match = locate_match(content, f"{first}→foo(item)\n{first + 1}→bar(item)\n")
        assert match.start_line == line
        assert match.kind == ("fuzzy" if line else "ambiguous")


def test_a_number_does_not_move_the_only_place() -> None:
    assert locate_match("x\ny\nfoo(item)\n", "1→foo(item)\n").start_line == 3


NEW_TEXTS = {
    "the numbers repeat": "1| foo(item)\n2| new(item)\n2| bar(item)\n",
    "no number on a new line": "1| foo(item)\nnew(item)\n2| bar(item)\n",
    "a diff mark instead of a number": "1| foo(item)\n+new(item)\n2| bar(item)\n",
    "a diff mark before a number": "1| foo(item)\n+2| new(item)\n2| bar(item)\n",
    "the column without a number": "1| foo(item)\n | new(item)\n2| bar(item)\n",
    "no numbers at all": "foo(item)\nnew(item)\nbar(item)\n",
    "others": "7| foo(item)\n8| new(item)\n9| bar(item)\n",
}


@pytest.mark.parametrize("new", NEW_TEXTS.values(), ids=NEW_TEXTS)
def test_numbers_of_the_new_text_need_not_be_right(new: str) -> None:
    done = replace_text("foo(item)\nbar(item)\n", "1| foo(item)\n2| bar(item)\n", new)
    assert done.content == "foo(item)\nnew(item)\nbar(item)\n"


CONTENT = "import os\n\ndef run(item):\n    first(item)\n    second(item)\n\n    third(item)\n"
BLOCK = CONTENT[CONTENT.index("    first") :]
GROWN = BLOCK.replace("    second", "    added(item)\n    second")
STYLES = ("{:>6}\t", "{}: ", "{} | ", "{}\u2192", "{:>3}\u2502", "L{}: ")
RENUMBERED = {
    "continuing": (4, 5, 6, 7, 8),
    "restarting": (1, 2, 3, 4, 5),
    "repeating one": (4, 5, 5, 6, 7),
    "on old lines only": (4, None, 5, 6, 7),
    "on the first line only": (4, None, None, None, None),
    "on the added line only": (None, 5, None, None, None),
    "on no line": (None, None, None, None, None),
}


def test_new_text_may_be_numbered_otherwise() -> None:
    for style in STYLES:
        for given in RENUMBERED.values():
            for end in ["\n", ""]:
                # A file whose last line has no newline, and a text copied from one.
                content = CONTENT.removesuffix("\n") + end
                lines = GROWN.split("\n")[:-1]
                new = "\n".join(
                    line if number is None else style.format(number) + line
                    for number, line in zip(given, lines, strict=True)
                )
                old = numbered(style)(BLOCK).removesuffix("\n") + end
                done = replace_text(content, old, new + end)
                assert done.content == content.replace("    second", "    added(item)\n    second")


def test_the_first_line_may_be_copied_from_behind_its_number() -> None:
    old = BLOCK.split("\n")[0].lstrip() + "\n" + numbered("{:>6}\t", 5)(BLOCK.split("\n", 1)[1])
    done = replace_text(CONTENT, old, old.replace("second", "other"))
    assert done.content == CONTENT.replace("second", "other")


def test_a_line_may_be_missing_among_numbered_ones() -> None:
    old = "4| foo(item)\n5| bar(item)\n7| last(item)\n"
    done = replace_text(
        "foo(item)\nbar(item)\nmore(item)\nlast(item)\n", old, old.replace("foo", "new")
    )
    assert done.content == "new(item)\nbar(item)\nmore(item)\nlast(item)\n"


def test_numbers_that_only_new_has_are_stripped_where_they_are_right() -> None:
    for style in STYLES:
        done = replace_text(CONTENT, BLOCK, numbered(style)(GROWN))
        assert done.content == CONTENT.replace(BLOCK, GROWN)
        assert done.notes == ("line numbers stripped",)
    tabbed = BLOCK.replace("    ", "\t")
    done = replace_text(CONTENT, tabbed, numbered("{}: ")(GROWN.replace("    ", "\t")))
    assert done.content == CONTENT.replace(BLOCK, GROWN)


STRAYS = {
    "other numbers": (CONTENT, BLOCK, numbered("{}: ", 1)(GROWN)),
    "nothing else changes": (CONTENT, BLOCK, numbered("{}: ")(BLOCK)),
    "no line of old": (CONTENT, BLOCK, "4: one(item)\n5: two(item)\n"),
    "the file has numbers": ("1\tfoo\n2\tbar\n", "2\tbar\n", "2\tbar\n3\tbaz\n"),
    "a key": ("ports:\n1: a\n", "1: a\n", "1: a\n2: b\n"),
}


@pytest.mark.parametrize(("content", "old", "new"), STRAYS.values(), ids=STRAYS)
def test_numbers_that_may_be_meant_are_pasted(content: str, old: str, new: str) -> None:
    done = replace_text(content, old, new)
    assert (done.content, done.notes) == (content.replace(old, new), ())


PORTS = "services = {\n    1: 'a',\n    2: 'b',\n}\n"


def test_numbers_of_the_content_stay_where_new_has_no_column() -> None:
    new = PORTS.replace("}", "    3: 'c',\n}")
    done = replace_text("import os\n" + PORTS, numbered("{}: ", 2)(PORTS), new)
    assert done.content == "import os\n" + new


def test_a_plus_that_old_has_too_is_content() -> None:
    content = "foo(item)\n+ first\n+ third\n"
    old = "1| foo(item)\n2| + first\n3| + third\n"
    done = replace_text(content, old, old.replace("3|", "+ second\n3|"))
    assert done.content == content.replace("+ third", "+ second\n+ third")


FALLING = {
    "a key among numbered lines": "7: table = {\n    1: 'a',\n8: }\n",
    "a key among bare lines": "table = {\n    1: 'a',\n}\n",
}


@pytest.mark.parametrize("new", FALLING.values(), ids=FALLING)
def test_a_number_that_may_be_content_is_refused(new: str) -> None:
    with pytest.raises(MatchError):
        replace_text("x = 1\ntable = {\n}\n", "7: table = {\n8: }\n", new)


NOT_NUMBERED = {
    "falling": "2| foo(item)\n1| bar(item)\n",
    "equal": "2| foo(item)\n2| bar(item)\n",
    "only one of three": "1| foo(item)\nbar(item)\nbaz(item)\n",
    "only the second of two": "foo(item)\n2| bar(item)\n",
    "two styles": "1| foo(item)\n2→bar(item)\n",
    "two lines apart": "1| foo(item)\n4| bar(item)\n",
    "jumping about": "1| foo(item)\n200| bar(item)\n",
    "mostly jumping": "1| foo(item)\n2| bar(item)\n200| baz(item)\n300| last(item)\n",
}


@pytest.mark.parametrize("old", NOT_NUMBERED.values(), ids=NOT_NUMBERED)
def test_other_numbers_are_no_line_numbers(old: str) -> None:
    assert locate_match("foo(item)\nbar(item)\nbaz(item)\nlast(item)\n", old).kind == "not_found"


def test_blank_lines_may_lack_their_number() -> None:
    content = "foo(item)\n\nbar(item)\nbaz(item)\n"
    for old in ("4|foo(item)\n\n6|bar(item)\n", "4|foo(item)\n\n5|bar(item)\n"):
        done = replace_text(content, old, old.replace("bar", "new"))
        assert done.content == content.replace("bar", "new")


ESCAPED = {
    "one line of two": (
        '    say("hello", name)\n    run("x")\n',
        '    say("hello", name)\n    run(\\"x\\")\n',
        '    say("hello", name)\n    run(\\"x\\", name)\n',
        '    say("hello", name)\n    run("x", name)\n',
    ),
    "escaped indentation": (
        "def run():\n\tfoo(item)\n\tbar(item)\n",
        "def run():\n\\tfoo(item)\n\\tbar(item)\n",
        "def run():\n\\tfoo(item)\n\\tnew(item)\n\\tbar(item)\n",
        "def run():\n\tfoo(item)\n\tnew(item)\n\tbar(item)\n",
    ),
    "Unicode escapes": (
        "greet('\u00fcber', \U0001f600)\n",
        "greet('\\u00fcber', \\ud83d\\ude00)\n",
        "greet('\\u00fcbrig', \\ud83d\\ude00)\n",
        "greet('\u00fcbrig', \U0001f600)\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "after"), ESCAPED.values(), ids=ESCAPED)
def test_sequences_are_what_they_stand_for(content: str, old: str, new: str, after: str) -> None:
    assert replace_text(content, old, new).content == after


UNDECIDABLE = {
    "an escaped quote that is one in the file too": (
        'say("a \\"b\\" c")\nrun("x", "y")\n',
        'say("a \\"b\\" c")\nrun(\\"x\\", \\"y\\")\n',
        'say("a \\"b\\" c")\nrun(\\"x\\", \\"z\\")\n',
    ),
    "an entity that is one in the file too": (
        'if (a < b)\n    s.replace("&amp;", "and");\n',
        'if (a &lt; b)\n    s.replace("&amp;", "and");\n',
        'if (a &lt; c)\n    s.replace("&amp;", "and");\n',
    ),
    "escaped line feeds, and a literal one": (
        'print("first\\n")\nprint(second)\n',
        'print("first\\n")\\nprint(second)\\n',
        'print("first\\n")\\nprint(third)\\n',
    ),
    "a tab inside a line beside escaped indentation": (
        "def run():\n\tfoo(item)\n\tbar(item)\n",
        "def run():\n\\tfoo(item)\n\\tbar(item)\n",
        "def run():\n\\tfoo(item)\n\\tbar('a\\tb')\n",
    ),
    "a literal line feed, or a real one": (
        'say("hi", name)\n',
        'say(\\"hi\\", name)\n',
        'say(\\"hi\\n\\", name)\n',
    ),
    "a backslash, or two": (
        'say("hi", name)\nend(name)\n',
        'say(\\"hi\\", name)\nend(name)\n',
        'say(\\"hi\\\\n\\", name)\nend(name)\n',
    ),
    "a string that would break": (
        "first(name)\nsecond(name)\n",
        "first(name)\\nsecond(name)\\n",
        'first("a\\n")\\nsecond(name)\\n',
    ),
    "real line feeds in new alone": (
        "first(name)\nsecond(name)\n",
        "first(name)\\nsecond(name)\\n",
        'first("a\\n")\nsecond(name)\n',
    ),
    "real line feeds in new alone, and other quotes": (
        "first(name)\nsecond(name)\n",
        "first(name)\\nsecond(name)\\n",
        "first('a\\n')\nsecond(name)\n",
    ),
    "an entity where the file has one and one it has not": (
        "<b>&nbsp;x</b>\n<i>one two\u00a0y</i>\n",
        "<b>&nbsp;x</b>\n<i>one two&nbsp;y</i>\n",
        "<b>&nbsp;x</b>\n<i>one&nbsp;more two&nbsp;y</i>\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new"), UNDECIDABLE.values(), ids=UNDECIDABLE)
def test_what_could_be_meant_either_way_is_refused(content: str, old: str, new: str) -> None:
    with pytest.raises(MatchError):
        replace_text(content, old, new)


def test_a_literal_line_feed_beside_real_ones_is_kept() -> None:
    content = 'say("hi", name)\nend(name)\n'
    new = 'say(\\"hi\\n\\", name)\nend(name)\n'
    done = replace_text(content, 'say(\\"hi\\", name)\nend(name)\n', new)
    assert done.content == 'say("hi\\n", name)\nend(name)\n'


def test_a_tolerant_rung_does_not_bring_escapes_in() -> None:
    content = "the_value = compute_everything(first_argument, 'x', second_argument)\n"
    old = "the_value = compute_everthing(first_argument, \\'x\\', second_argument)\n"
    done = replace_text(content, old, old.replace("second_argument", "\\'y\\'"))
    assert done.content == content.replace("second_argument", "'y'")


def test_escapes_of_escapes_go_with_a_typo() -> None:
    content = 'say("a \\"b\\" c", first_name)\nrun_everything(second)\n'
    old = content.replace("everything", "everythng")
    done = replace_text(content, as_json(old), as_json(old.replace("second", "third")))
    assert done.content == content.replace("second", "third")


def test_verbatim_pastes_as_given() -> None:
    done = replace_text("a\nfoo(item)\n", "2→foo(item)\n", "2→bar(item)\n", verbatim=True)
    assert done.content == "a\n2→bar(item)\n"


def test_replace_all_reads_every_place_back() -> None:
    content = '\tfoo("a")\n' * 3
    done = replace_text(content, 'foo(\\"a\\")\n', 'bar(\\"a\\")\n', replace_all=True)
    assert done.content == '\tbar("a")\n' * 3


def test_bare_text_proves_nothing_once_read_back() -> None:
    assert locate_match("\tx\n", "12→  x\n").rung == "whitespace"
    assert locate_match("if (x) {\n}\n}\n", "12→}\n").kind == "not_found"


@pytest.mark.parametrize("profile", ["boocode", "exact", "region", "opencode-3"])
def test_other_profiles_read_nothing_back(profile: str) -> None:
    assert locate_match("f(a)\ng(b)\n", "1000→f(a)\n1001→g(b)\n", profile).kind == "not_found"
    new = numbered("{}: ")(GROWN)
    assert replace_text(CONTENT, BLOCK, new, profile=profile).content == CONTENT.replace(BLOCK, new)


def test_crlf_does_not_matter() -> None:
    done = replace_text("foo(a)\r\nbar(b)\r\n", "1→foo(a)\r\n2→bar(b)\r\n", "1→foo(a)\r\n2→x\r\n")
    assert done.content == "foo(a)\r\nx\r\n"


def test_diff_marks_are_stripped() -> None:
    content = "  def one(self):\n      check(self)\n      wait()\n"
    old = "   def one(self):\n-      check(self)\n       wait()\n"
    new = "   def one(self):\n+      check(self, 2)\n+      more(self)\n       wait()\n"
    done = replace_text(content, old, new)
    assert done.content == content.replace(
        "(self)\n      w", "(self, 2)\n      more(self)\n      w"
    )
    assert "diff marks stripped" in done.notes


def test_an_added_line_marked_beside_context_loses_its_mark() -> None:
    old = "   def one(self):\n       check(self)\n       wait()\n"
    new = old.replace("       wait", "+      more(self)\n       wait")
    content = "  def one(self):\n      check(self)\n      wait()\n"
    done = replace_text(content, old, new)
    assert done.content == content.replace("      wait", "      more(self)\n      wait")
    assert "diff marks stripped" in done.notes


def test_a_plus_beside_lines_without_room_for_marks_is_pasted() -> None:
    content = "def one(self):\n\tcheck(self)\n"
    old = "def one(self):\n    check(self)\n"
    done = replace_text(content, old, old + "+ more(self)\n")
    assert done.content == content + "+ more(self)\n"


def test_a_plus_in_an_exact_edit_is_pasted() -> None:
    content = " total = one\n   + two\n"
    done = replace_text(content, "   + two\n", "   + two\n+ three\n")
    assert done.content == content + "+ three\n"


def test_items_of_a_list_have_no_diff_marks() -> None:
    content = "- one thing\n- another thing\n"
    done = replace_text(content, "-  one thing\n- another thing\n", "- one thing\n- any thing\n")
    assert done.content == "- one thing\n- any thing\n"
    assert "diff marks stripped" not in done.notes


def test_entities_beside_a_misspelt_one_stay_where_the_file_has_them() -> None:
    content = (
        "open_names() { # &quot;ok&quot;\n  events=$(list_events)  # &quot;ok&quot;\n"
        "  trace_events $events\n"
    )
    old = content.replace("&quot;", "&quo;", 1).replace("ok&quot;\n  tr", "ok&quto;\n  tr")
    fresh = "  touch_it || exit 2 # &quot;ok&quot;\n"
    done = replace_text(content, old, old.replace("  trace", f"{fresh}  trace"))
    assert done.content == content.replace("  trace", f"{fresh}  trace")


@pytest.mark.parametrize("ending", ["\n", ""])
@pytest.mark.parametrize(
    "drift", [outlined, fenced, lambda text: f"{text}```\n"], ids=["gutter", "fence", "fence below"]
)
def test_the_new_text_may_lack_a_gutter_or_fences(drift: Callable[[str], str], ending: str) -> None:
    old = drift(OLD).removesuffix("\n") + ending
    assert replace_text(FILE, old, NEW.removesuffix("\n") + ending).content == AFTER


def test_the_fence_below_a_block_that_new_adds_stays() -> None:
    content = "# Usage\n\nRun it with the script.\n\n# License\n"
    old = "Run it with the script.\n```\n"
    block = "Run it with the script:\n\n```sh\n./run.sh\n```\n"
    done = replace_text(content, old, f"{block}```\n")
    assert done.content == content.replace("Run it with the script.\n", block)
    # The fence of old may be a wrong one, in whose place the block comes.
    with pytest.raises(MatchError):
        replace_text(content, old, block)


def test_bars_of_a_drawing_are_no_gutter() -> None:
    content = "src\n│   ├── main.py\n│   └── tests.py\nmain.py\ntests.py\n"
    old = "│ main.py\n│ tests.py\n"
    with pytest.raises(MatchError):
        replace_text(content, old, old.replace("main", "start"))
