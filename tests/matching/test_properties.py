"""What holds for every input."""

from __future__ import annotations

import html
import json
from collections.abc import Callable

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from git_boocode.matching import PROFILES, MatchError, Replacement, locate_match, replace_text
from git_boocode.matching.text import Text
from git_boocode.matching.variants import Variant, variants
from tests.repo_kit import examples

WORDS = [
    "foo(a)",
    "bar = 1",
    "\tbaz(\u201cq\u201d)",
    "    if x:",
    "",
    "}",
    "  ",
    "caf\u00e9 - x",
    "n\udc80o",
]
LINES = st.one_of(
    st.sampled_from(WORDS),
    st.text("ab \t\"\u201c'-\u2014\u00a0\r\x0c\u2028\udc80\xad\u200b(", max_size=8),
)
ENDINGS = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn, least: int = 0) -> str:
    lines = draw(st.lists(st.tuples(LINES, ENDINGS), min_size=least, max_size=8))
    text = "".join(line + ending for line, ending in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


@st.composite
def drifted(draw: st.DrawFn) -> tuple[str, str]:
    """A content and a run of its lines, perhaps with other blanks, quotes or a letter less."""
    content = draw(texts(least=1))
    lines = content.replace("\r\n", "\n").split("\n")
    first = draw(st.integers(0, len(lines) - 1))
    part = lines[first : first + draw(st.integers(1, 4))]
    how = draw(st.sampled_from(["as is", "strip", "indent", "quotes", "typo"]))
    if how == "strip":
        part = [line.strip() for line in part]
    if how == "indent":
        part = ["  " + line for line in part]
    needle = "\n".join(part)
    if how == "quotes":
        needle = needle.replace("\u201c", '"').replace("\u2014", "-")
    return content, needle[1:] if how == "typo" else needle


PIECES = [
    *("value", "item", " ", "  ", "\t", "\n", "\n\n", "\r\n", '"', "'", '\\"', "\\n", "\\t"),
    *("\\\\", "\\", "&lt;", "&amp;", "&", "<", "12", "12\t", "3| ", "\u2192", ": ", "> ", "```\n"),
    *("...", "\u2026", "# ...", "# rest of code", "# words here", "// words", "=", " = ", "("),
    *(")", "{", "}", "\u201c", "\u00a0", "\udc80", "caf\u00e9", "\\ud83d", "\\ude00"),
    *("&#x110000;", "&#0;"),
]
WRITTEN = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
CODE = [
    *('say("hello", name)', "    value = compute(item)", "\tif (a < b && c):", "# some words", ""),
    *("    return item", "}", "    text = 'it\\'s'", "path = 'a\\\\b'", "# other words"),
]
BLOCKS = st.lists(st.sampled_from(CODE), min_size=1, max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


def distinct(text: str, mark: str) -> str:
    """A text of which no line with text stands twice."""
    lines = text.split("\n")
    words = (f" {mark * (at + 1)}" if line.strip() else "" for at, line in enumerate(lines))
    return "\n".join(line + word for line, word in zip(lines, words, strict=True))


def numbered(text: str) -> str:
    return "".join(f"{at:>6}\t{line}\n" for at, line in enumerate(text.split("\n")[:-1], 7))


WRITERS: list[Callable[[str], str]] = [
    numbered,
    html.escape,
    lambda text: json.dumps(text)[1:-1],
    lambda text: f"```\n{text}```\n",
]

ANY = st.one_of(st.text(), WRITTEN)
PROFILE = st.sampled_from(sorted(PROFILES))


@st.composite
def rewritten(draw: st.DrawFn) -> tuple[str, str]:
    """A content and a block of it, numbered, escaped or fenced."""
    head, old, tail = draw(BLOCKS), draw(BLOCKS), draw(BLOCKS)
    return head + old + tail, draw(st.sampled_from(WRITERS))(old)


def attempt(*args: object, **kwargs: object) -> Replacement | None:
    try:
        return replace_text(*args, **kwargs)  # type: ignore[arg-type]
    except MatchError:
        return None


@given(
    st.one_of(drifted(), rewritten()),
    st.one_of(texts(), WRITTEN),
    PROFILE,
    st.booleans(),
    st.booleans(),
)
def test_outside_the_spans_the_file_is_untouched(
    pair: tuple[str, str], new: str, profile: str, everywhere: bool, verbatim: bool
) -> None:
    content, old = pair
    done = attempt(content, old, new, everywhere, profile, verbatim)
    assume(done)
    assert done is not None
    rest, at = done.content, 0
    for span in done.spans:
        untouched = content[at : span.start]
        assert untouched in rest
        rest = rest[rest.index(untouched) + len(untouched) :]
        at = span.end
    assert done.content.startswith(content[: done.spans[0].start])
    assert done.content.endswith(content[at:])
    assert len(done.content) >= len(content) - sum(span.end - span.start for span in done.spans)


@given(texts(), texts(), texts(), texts())
def test_an_exact_edit_of_whole_lines_is_plain_replacement(
    head: str, old: str, new: str, tail: str
) -> None:
    head, old, new, tail = (text.replace("\r", "") for text in (head, old, new, tail))
    content = f"{head}\n{old}\n{tail}"
    done = attempt(content, old, new)
    assume(done)
    assert done is not None
    assert done.match.kind == "exact"
    assert done.content == content.replace(old, new)


@given(texts(), texts(), texts(), texts())
def test_an_exact_edit_leaves_the_rest_of_its_lines(
    head: str, old: str, new: str, tail: str
) -> None:
    head, old, new, tail = (text.replace("\r", "") for text in (head, old, new, tail))
    content = head + old + tail
    done = attempt(content, old, new)
    assume(done and content.count(old) == 1)
    # Several lines are indented as the first one is.
    indent = head[head.rfind("\n") + 1 :]
    assume("\n" not in new or not indent or indent.strip())
    assert done is not None
    assert done.content.startswith(head)
    assert done.content.endswith(tail)


@given(texts(), texts(), texts(), texts())
def test_an_edit_of_whole_lines_and_its_inverse_give_the_file_back(
    head: str, old: str, new: str, tail: str
) -> None:
    ending = "\r\n" if "\r\n" in head else "\n"
    head, old, new, tail = (
        text.replace("\r", "").replace("\n", ending) for text in (head, old, new, tail)
    )
    content = f"{head}{ending}{old}{ending}{tail}"
    done = attempt(content, old, new)
    assume(done and new)
    assert done is not None
    back = attempt(done.content, new, old, start_line=done.match.start_line)
    assume(back and back.match.start == done.match.start and back.match.kind == "exact")
    assert back is not None
    assert back.content == content


@given(drifted(), texts(), PROFILE, st.booleans(), st.booleans())
def test_the_models_line_endings_do_not_matter(
    pair: tuple[str, str], new: str, profile: str, everywhere: bool, verbatim: bool
) -> None:
    content, old = pair
    old, new = old.replace("\r", ""), new.replace("\r", "")
    plain = attempt(content, old, new, everywhere, profile, verbatim)
    crlf_old, crlf_new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    assert attempt(content, crlf_old, crlf_new, everywhere, profile, verbatim) == plain
    assert attempt(content, crlf_old, new, everywhere, profile, verbatim) == plain
    assert locate_match(content, crlf_old, profile) == locate_match(content, old, profile)


@settings(max_examples=examples(400))
@given(ANY, ANY, ANY, PROFILE, st.booleans(), st.integers(-2, 5))
@example("", "\xad", "", "boocode", False, 0)  # noqa: FBT003
def test_nothing_but_match_error(
    content: str, old: str, new: str, profile: str, everywhere: bool, number: int
) -> None:
    locate_match(content, old, profile, start_line=number)
    attempt(content, old, new, everywhere, profile, start_line=number, expected=number)
    attempt(content + old + new, old, new, everywhere, profile, verbatim=True)


@given(drifted(), PROFILE)
def test_a_match_is_one_place_of_real_text(pair: tuple[str, str], profile: str) -> None:
    match = locate_match(*pair, profile)
    if match.start is None or match.end is None:
        assert match.kind in ("ambiguous", "not_found")
        return
    content = pair[0]
    lines = content[: match.start.offset].split("\n")
    assert (match.start.line, match.start.column) == (len(lines), len(lines[-1]) + 1)
    assert match.kind != "exact" or content[match.start.offset : match.end.offset].replace(
        "\r\n", "\n"
    ) == pair[1].replace("\r\n", "\n")


@settings(max_examples=examples(300))
@given(drifted(), st.sampled_from(["exact", "boocode", "default"]))
def test_text_that_stands_twice_is_never_one_place(pair: tuple[str, str], profile: str) -> None:
    content, needle = pair
    copy = "~~~\n" * 5 + content + ("" if content.endswith("\n") else "\n")
    twice = copy * 2 + "~~~\n" * 5
    assert locate_match(twice, needle, profile).kind in ("ambiguous", "not_found")
    assert attempt(twice, needle, "new(1)\n", profile=profile) is None


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_lone_surrogates_are_ordinary_characters(profile: str) -> None:
    assert replace_text("a \udcff b", "\udcff", "\udcfe", profile=profile).content == "a \udcfe b"
    done = attempt("\tvalue \udcff other\n", " value \udcff other\n", " \udcfe\n", profile=profile)
    content = done.content if done else None
    assert content == (None if profile == "exact" else "\t\udcfe\n")


SIGNS = ("\\", "&", "`", "~", ">", *"0123456789")


@given(WRITTEN, WRITTEN, WRITTEN)
def test_without_a_signature_nothing_is_read_back(content: str, old: str, new: str) -> None:
    for sign in SIGNS:
        old = old.replace(sign, "")
    names = PROFILES["default"].variants
    assert not list(variants(Variant(old, new), Text(content), names))


def test_at_most_twelve_variants_are_tried() -> None:
    old = "```\n" + numbered('say(\\"a\\") &lt; b\\tc\nrun(\\"b\\") &gt; c\n') + "```\n"
    found = list(variants(Variant(old, old), Text("x"), PROFILES["default"].variants))
    assert len(found) == len({variant[:2] for variant in found}) == 12


@given(WRITTEN, WRITTEN, WRITTEN)
def test_what_the_file_holds_is_not_read_back(head: str, old: str, new: str) -> None:
    done = attempt(head + old, old, new)
    assume(done)
    assert done is not None
    assert done.match.kind == "exact"
    assert done.notes == ()


@settings(max_examples=examples(200))
@given(BLOCKS, BLOCKS, BLOCKS, BLOCKS, st.sampled_from(WRITERS))
@example("if go:\n\tx = 1\n", "y = 2\n", "    z = 3\n", "", numbered)
def test_read_back_is_the_plain_edit_or_refused(
    head: str, old: str, new: str, tail: str, write: Callable[[str], str]
) -> None:
    assume(write(old) != old)
    content = head + old + tail
    plain = attempt(content, old, new)
    done = attempt(content, write(old), write(new))
    if done and plain:
        assert done.content == plain.content


@given(BLOCKS, BLOCKS, st.data())
def test_an_elision_and_the_whole_text_do_the_same(
    head: str, block: str, data: st.DataObject
) -> None:
    lines = block.splitlines(keepends=True)
    assume(len(lines) > 3 and lines[0].strip())
    first = data.draw(st.integers(1, len(lines) - 2))
    stop = data.draw(st.integers(first + 1, len(lines) - 1))
    new_lines = ["changed(first)\n", *lines[1:]]
    content = head + block
    elided = "".join([*lines[:first], "...\n", *lines[stop:]])
    elided_new = "".join([*new_lines[:first], "...\n", *new_lines[stop:]])
    done = attempt(content, elided, elided_new)
    assume(done)
    assert done is not None
    assert done.match.kind == "fuzzy"
    assert done.content.count("changed(first)") == 1
    changed = [line for line in done.content.split("\n") if "changed(first)" not in line]
    assert len(changed) == content.count("\n")


@given(BLOCKS, BLOCKS, BLOCKS, st.data())
def test_blank_lines_in_the_text_change_nothing(
    head: str, block: str, tail: str, data: st.DataObject
) -> None:
    # Where lines recur, text with another blank line can be the very text of another place.
    head, block, tail = (
        distinct(text, mark) for text, mark in ((head, "h"), (block, "b"), (tail, "t"))
    )
    lines = block.splitlines(keepends=True)
    filled = [index for index, line in enumerate(lines) if line.strip()]
    assume(len(filled) > 1)
    last = filled[-1]
    new = [*lines[:last], "changed(last)\n", *lines[last + 1 :]]
    at = data.draw(st.integers(filled[0] + 1, last))
    content = head + block + tail
    plain = attempt(content, block, "".join(new))
    spread = ["".join([*some[:at], "\n", *some[at:]]) for some in (lines, new)]
    done = attempt(content, *spread)
    if plain and done and done.match.kind == "fuzzy":
        assert done.content == plain.content
