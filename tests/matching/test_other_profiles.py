"""Profiles named after other tools accept what those are described to accept, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from git_boocode.matching import locate_match, replace_text

BLOCK = "def total(items):\n    amount = sum(items)\n    return amount\n"
OTHER = "def total(items):\n    raise KeyError\n    return amount\n"
ALL_OTHER = "def total(items):\n    1 / 0\n    return amount\n"

ACCEPTED = [
    # profile, rung, content, needle
    ("region", "exact", BLOCK, "sum(items)"),
    ("region", "rstripped", "\tfoo  \n\tbar\n", "\tfoo\n\tbar \n"),
    ("region", "line_trimmed", "\tfoo  \n\tbar\n", "foo\nbar"),
    ("region", "rstripped", "\tfoo \n foo\n", "\tfoo\n"),
    ("opencode-3", "exact", BLOCK, "sum(items)"),
    ("opencode-3", "line_trimmed", "a\n\tfoo \n\n\tbar\nb\n", "foo\n\nbar\n"),
    ("opencode-3", "block_anchor", OTHER, BLOCK),
    ("opencode-3", "block_anchor", ALL_OTHER, BLOCK),
    ("opencode-3", "block_anchor", BLOCK, "def total(items):\n  ...\n  x\n  y\n  return amount\n"),
    (
        "opencode-3",
        "block_anchor",
        ALL_OTHER + "\n" + BLOCK,
        BLOCK.replace("amount = sum", "a = su"),
    ),
    ("opencode-9", "exact", BLOCK, "sum(items)"),
    ("opencode-9", "line_trimmed", "\tfoo\n", "foo \n"),
    ("opencode-9", "block_anchor", ALL_OTHER, BLOCK),
    ("opencode-9", "whitespace_normalized", "x = foo(a,   b)\n", "foo(a, b)"),
    ("opencode-9", "whitespace_normalized", "x  =  1\ny = 2\n", "x = 1\ny  =  2"),
    ("opencode-9", "whitespace_normalized", "x\nfoo(a,  b)\n", "foo(a, b)"),
    ("opencode-9", "escape_normalized", "foo(a)\n\tbar(b)\n", "foo(a)\\n\\tbar(b)"),
    ("opencode-9", "escape_normalized", 'say("a")\n', 'say(\\"a\\")'),
    ("opencode-9", "escape_normalized", "a\nsay(\\'b\\')\nc\n", "say('b')"),
    ("opencode-9", "trimmed_boundary", "x = foo(a)\n", "\n\n foo(a) \n"),
]


@pytest.mark.parametrize(("profile", "rung", "content", "needle"), ACCEPTED)
def test_accepted(profile: str, rung: str, content: str, needle: str) -> None:
    match = locate_match(content, needle, profile)
    assert (match.kind == "exact", match.rung) == (rung == "exact", rung)
    assert match.count == 1


REFUSED = [
    ("region", BLOCK, BLOCK.replace("sum", "smu"), "not_found"),
    ("region", "\tfoo\n\tfoo\n", "foo \n", "ambiguous"),
    ("region", "x = foo(a)\n", "  foo(a)\n", "not_found"),
    ("region", "say(\u201ca\u201d)\n", 'say("a")\n', "not_found"),
    ("opencode-3", BLOCK, "def total(items):\n  return amount\n", "not_found"),
    ("opencode-3", BLOCK, BLOCK.replace("total", "totals"), "not_found"),
    ("opencode-3", ALL_OTHER + ALL_OTHER, BLOCK, "not_found"),
    ("opencode-3", BLOCK * 2, BLOCK.replace("amount = sum", "a = su"), "ambiguous"),
    ("opencode-3", "\tfoo\n\tfoo\n", "foo \n", "ambiguous"),
    ("opencode-3", "x  =  1\n", "x = 1\n", "not_found"),
    ("opencode-9", "x  =  1\nx =  1\n", "x = 1", "ambiguous"),
    ("opencode-9", "x = 1\n", " \t", "not_found"),
    (
        "opencode-9",
        BLOCK,
        "def totals(items):\n    amount = sum(items)\n    return amont\n",
        "not_found",
    ),
]


@pytest.mark.parametrize(("profile", "content", "needle", "kind"), REFUSED)
def test_refused(profile: str, content: str, needle: str, kind: str) -> None:
    assert locate_match(content, needle, profile).kind == kind


def middle(lines: Sequence[str]) -> str:
    return "".join(["start(x)\n", *(f"    {line}\n" for line in lines), "finish(x)\n"])


@pytest.mark.parametrize(
    ("equal", "kind"), [(0, "not_found"), (1, "not_found"), (2, "fuzzy"), (4, "fuzzy")]
)
def test_context_aware_wants_half_of_the_middle(equal: int, kind: str) -> None:
    from git_boocode.matching.opencode import context_aware
    from git_boocode.matching.rungs import PROFILES
    from git_boocode.matching.search import Query

    here = [f"line_{number}" for number in range(4)]
    there = here[:equal] + ["something else"] * (4 - equal)
    step = next(s for s in PROFILES["opencode-9"].steps if s.rung == "context_aware")
    found = context_aware(Query(middle(there), middle(here)), step)
    assert bool(found.places) == (kind == "fuzzy")
    assert not context_aware(Query(middle(here[:3]), middle(here)), step).places


def test_what_only_the_other_profiles_accept() -> None:
    """What `default` refuses and these take is what their documentation names."""
    assert locate_match(ALL_OTHER, BLOCK).kind == "not_found"
    for profile in ("opencode-3", "opencode-9"):
        assert locate_match(ALL_OTHER, BLOCK, profile).kind == "fuzzy"
    assert locate_match("\t}\n", "  }\n").kind == "not_found"
    for profile in ("region", "opencode-3", "opencode-9"):
        assert locate_match("\t}\n", "  }\n", profile).kind == "fuzzy"


@pytest.mark.parametrize(("end", "column"), [("", 6), ("\n", 1)])
def test_a_place_has_a_last_line_feed_where_the_old_text_has_one(end: str, column: int) -> None:
    match = locate_match("\tfoo  \n\tbar \n", f"foo\nbar{end}", "region")
    assert match.end is not None
    assert match.end.column == column


@pytest.mark.parametrize("profile", ["region", "opencode-3", "opencode-9"])
def test_the_change_alone_is_applied(profile: str) -> None:
    done = replace_text("\tfoo  \n\tbar\n", "foo\nbar\n", "foo\nnew\nbar\n", profile=profile)
    assert done.content == "\tfoo  \n\tnew\n\tbar\n"


@pytest.mark.parametrize(
    ("count", "width", "reason"),
    [
        (66_667, 1, "the text is too large to compare"),
        (66_666, 1, "several blocks have its first and last line, but none is similar"),
        (2, 100_000, "the text is too large to compare"),
    ],
)
def test_blocks_are_compared_up_to_a_size(count: int, width: int, reason: str) -> None:
    from git_boocode.matching.opencode import block_anchor
    from git_boocode.matching.search import Query
    from git_boocode.matching.types import Step

    here, there = (f"begin(x)\n  {number * width}\nend(x)\n" for number in "12")
    query = Query(there * count, here)
    assert block_anchor(query, Step("block_anchor", threshold=0.3)).reason == reason


@pytest.mark.parametrize("profile", ["opencode-3", "opencode-9"])
def test_large_files_are_no_trouble(profile: str) -> None:
    lines = [f"    value_{number} = compute({number})\n" for number in range(50_000)]
    assert (
        locate_match(
            "".join(lines), "".join(lines[900:930]).replace("value", "eulav"), profile
        ).kind
        == "not_found"
    )
    same = "    x = 1\n" * 50_000
    assert locate_match(same, "\tx = 1\n\tx =  1\n" * 400, profile).kind in (
        "not_found",
        "ambiguous",
    )
