"""What holds for every input."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from git_boocode.matching import PROFILES, MatchError, Replacement, locate_match, replace_text
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


PROFILE = st.sampled_from(sorted(PROFILES))


def attempt(*args: object, **kwargs: object) -> Replacement | None:
    try:
        return replace_text(*args, **kwargs)  # type: ignore[arg-type]
    except MatchError:
        return None


@given(drifted(), texts(), PROFILE, st.booleans(), st.booleans())
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


@settings(max_examples=examples(200))
@given(st.text(), st.text(), st.text(), PROFILE, st.booleans(), st.integers(-2, 5))
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
