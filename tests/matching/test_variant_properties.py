"""What holds of any text that is read back, elided or laid out otherwise."""

from __future__ import annotations

import html
import json
from collections.abc import Callable

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from git_boocode.matching import PROFILES, MatchError, Replacement, locate_match, replace_text
from git_boocode.matching.rungs import PROFILES as LADDERS
from git_boocode.matching.text import Text
from git_boocode.matching.variants import Variant, variants
from tests.repo_kit import examples

PIECES = [
    *("value", "item", " ", "  ", "\t", "\n", "\n\n", "\r\n", '"', "'", '\\"', "\\n", "\\t"),
    *("\\\\", "\\", "&lt;", "&amp;", "&", "<", "12", "12\t", "3| ", "\u2192", ": ", "> ", "```\n"),
    *("...", "\u2026", "# ...", "# rest of code", "# words here", "// words", "=", " = ", "("),
    *(")", "{", "}", "\u201c", "\u00a0", "\udc80", "caf\u00e9", "\\ud83d", "\\ude00"),
    *("&#x110000;", "&#0;"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
CODE = [
    *('say("hello", name)', "    value = compute(item)", "\tif (a < b && c):", "# some words", ""),
    *("    return item", "}", "    text = 'it\\'s'", "path = 'a\\\\b'", "# other words"),
]
LINES = st.lists(st.sampled_from(CODE), min_size=1, max_size=12).map(
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


def attempt(*args: object, **kwargs: object) -> Replacement | None:
    try:
        return replace_text(*args, **kwargs)  # type: ignore[arg-type]
    except MatchError:
        return None


@settings(max_examples=examples(300))
@given(TEXTS, TEXTS, TEXTS, st.sampled_from(sorted(PROFILES)), st.booleans())
def test_nothing_but_match_error(
    content: str, old: str, new: str, profile: str, everywhere: bool
) -> None:
    locate_match(content, old, profile)
    attempt(content, old, new, everywhere, profile)
    attempt(content + old + new, old, new, everywhere, profile)


@settings(max_examples=examples(200))
@given(LINES, LINES, LINES, TEXTS, st.sampled_from(WRITERS), st.booleans())
def test_outside_the_spans_the_file_is_untouched(
    head: str, old: str, tail: str, new: str, write: Callable[[str], str], everywhere: bool
) -> None:
    content = head + old + tail
    done = attempt(content, write(old), new, everywhere)
    if done is None:
        return
    assert done.content.startswith(content[: done.spans[0].start])
    assert done.content.endswith(content[done.spans[-1].end :])


SIGNS = ("\\", "&", "`", "~", ">", *"0123456789")


@given(TEXTS, TEXTS, TEXTS)
def test_without_a_signature_nothing_is_read_back(content: str, old: str, new: str) -> None:
    for sign in SIGNS:
        old = old.replace(sign, "")
    names = LADDERS["default"].variants
    assert not list(variants(Variant(old, new), Text(content), names))


def test_at_most_twelve_variants_are_tried() -> None:
    old = "```\n" + numbered('say(\\"a\\") &lt; b\\tc\nrun(\\"b\\") &gt; c\n') + "```\n"
    found = list(variants(Variant(old, old), Text("x"), LADDERS["default"].variants))
    assert len(found) == len({variant[:2] for variant in found}) == 12


@given(TEXTS, TEXTS, TEXTS)
def test_what_the_file_holds_is_not_read_back(head: str, old: str, new: str) -> None:
    done = attempt(head + old, old, new)
    assume(done)
    assert done is not None
    assert done.match.kind == "exact"
    assert done.notes == ()


@settings(max_examples=examples(200))
@given(LINES, LINES, LINES, LINES, st.sampled_from(WRITERS))
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


@given(LINES, LINES, st.data())
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


@given(LINES, LINES, LINES, st.data())
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
