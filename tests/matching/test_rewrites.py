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


def block_quoted(text: str) -> str:
    return "".join(f"> {line}\n".replace("> \n", ">\n") for line in text.split("\n")[:-1])


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
    "quote prefix": (block_quoted, ("quote prefix stripped",)),
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


def trailing_blanks(text: str) -> str:
    return text.replace("\n", "  \n")


def dedented(text: str) -> str:
    return "".join(line.removeprefix("    ") for line in text.splitlines(keepends=True))


def misspelt(text: str) -> str:
    return text.replace("nothing to show", "nothng to show")


@pytest.mark.parametrize("more", [trailing_blanks, dedented, misspelt])
@pytest.mark.parametrize(("drift", "notes"), DRIFTS.values(), ids=DRIFTS)
def test_rewrites_go_with_ordinary_drift(
    drift: Callable[[str], str], notes: tuple[str, ...], more: Callable[[str], str]
) -> None:
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
    "the column without a number": "1| foo(item)\n | new(item)\n2| bar(item)\n",
    "no numbers at all": "foo(item)\nnew(item)\nbar(item)\n",
    "others": "7| foo(item)\n8| new(item)\n9| bar(item)\n",
}


@pytest.mark.parametrize("new", NEW_TEXTS.values(), ids=NEW_TEXTS)
def test_numbers_of_the_new_text_need_not_be_right(new: str) -> None:
    done = replace_text("foo(item)\nbar(item)\n", "1| foo(item)\n2| bar(item)\n", new)
    assert done.content == "foo(item)\nnew(item)\nbar(item)\n"


NOT_NUMBERED = {
    "falling": "2| foo(item)\n1| bar(item)\n",
    "equal": "2| foo(item)\n2| bar(item)\n",
    "only one of three": "1| foo(item)\nbar(item)\nbaz(item)\n",
    "two styles": "1| foo(item)\n2→bar(item)\n",
    "jumping about": "1| foo(item)\n200| bar(item)\n",
}


@pytest.mark.parametrize("old", NOT_NUMBERED.values(), ids=NOT_NUMBERED)
def test_other_numbers_are_no_line_numbers(old: str) -> None:
    assert locate_match("foo(item)\nbar(item)\nbaz(item)\n", old).kind == "not_found"


def test_blank_lines_may_lack_their_number() -> None:
    content = "foo(item)\n\nbar(item)\nbaz(item)\n"
    for old in ("4|foo(item)\n\n6|bar(item)\n", "4|foo(item)\n\n5|bar(item)\n"):
        done = replace_text(content, old, old.replace("bar", "new"))
        assert done.content == content.replace("bar", "new")


MIXED = {
    "a quote that is escaped there too": (
        'say("a \\"b\\" c")\nrun("x", "y")\n',
        'say("a \\"b\\" c")\nrun(\\"x\\", \\"y\\")\n',
        'say("a \\"b\\" c")\nrun(\\"x\\", \\"z\\")\n',
        'say("a \\"b\\" c")\nrun("x", "z")\n',
    ),
    "an entity that is one there too": (
        'if (a < b)\n    s.replace("&amp;", "and");\n',
        'if (a &lt; b)\n    s.replace("&amp;", "and");\n',
        'if (a &lt; c)\n    s.replace("&amp;", "and");\n',
        'if (a < c)\n    s.replace("&amp;", "and");\n',
    ),
    "line feeds, and a literal one": (
        'print("first\\n")\nprint(second)\n',
        'print("first\\n")\\nprint(second)\\n',
        'print("first\\n")\\nprint(third)\\n',
        'print("first\\n")\nprint(third)\n',
    ),
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


@pytest.mark.parametrize(("content", "old", "new", "after"), MIXED.values(), ids=MIXED)
def test_the_file_says_which_sequences_are_meant(
    content: str, old: str, new: str, after: str
) -> None:
    assert replace_text(content, old, new).content == after


UNDECIDABLE = {
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


def test_verbatim_pastes_as_given() -> None:
    done = replace_text("a\nfoo(item)\n", "2→foo(item)\n", "2→bar(item)\n", verbatim=True)
    assert done.content == "a\n2→bar(item)\n"


def test_replace_all_reads_every_place_back() -> None:
    content = '\tfoo("a")\n' * 3
    done = replace_text(content, 'foo(\\"a\\")\n', 'bar(\\"a\\")\n', replace_all=True)
    assert done.content == '\tbar("a")\n' * 3


def test_bare_text_proves_nothing_once_read_back() -> None:
    assert locate_match("if (x) {\n}\n}\n", "12→}\n").kind == "not_found"


@pytest.mark.parametrize("profile", ["boocode", "exact", "region", "opencode-3"])
def test_other_profiles_read_nothing_back(profile: str) -> None:
    assert locate_match("f(a)\ng(b)\n", "1000→f(a)\n1001→g(b)\n", profile).kind == "not_found"


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
