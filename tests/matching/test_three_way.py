"""A three-way merge agrees with `git merge-file`, and keeps both sides' changes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.matching.align import SCRIPT_WORK
from git_boocode.matching.text import Text
from git_boocode.matching.three_way import Region, merge_edit, merge_three_way
from git_boocode.matching.types import MatchError

BASE = "one\ntwo\nthree\nfour\nfive\nsix\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ("ONE\ntwo\nthree\nfour\nfive\nsix\n", BASE, "ONE\ntwo\nthree\nfour\nfive\nsix\n"),
        (BASE, "one\ntwo\nthree\nsix\n", "one\ntwo\nthree\nsix\n"),
        (
            "ONE\ntwo\nthree\nfour\nfive\nsix\n",
            "one\ntwo\n3\n3a\nfour\nfive\nsix\n",
            "ONE\ntwo\n3\n3a\nfour\nfive\nsix\n",
        ),
        (
            "zero\none\ntwo\nthree\nfour\nfive\nsix\n",
            "one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
            "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\n",
        ),
        (
            "one\n2\nthree\nfour\nfive\nsix\n",
            "one\n2\nthree\nfour\n5\nsix\n",
            "one\n2\nthree\nfour\n5\nsix\n",
        ),
    ],
    ids=["only ours", "only theirs", "one line between", "both ends", "the same change"],
)
def test_changes_apart_are_both_made(ours: str, theirs: str, merged: str) -> None:
    assert merge_three_way(BASE, ours, theirs).text == merged


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("one\nTWO\nthree\nfour\nfive\nsix\n", "one\n2\nthree\nfour\nfive\nsix\n"),
        ("one\nTWO\nthree\nfour\nfive\nsix\n", "one\ntwo\n3\nfour\nfive\nsix\n"),
        ("one\ntwo\nA\nthree\nfour\nfive\nsix\n", "one\ntwo\nB\nthree\nfour\nfive\nsix\n"),
        ("one\ntwo\nA\nthree\nfour\nfive\nsix\n", "one\ntwo\n3\nfour\nfive\nsix\n"),
        ("one\ntwo\nfive\nsix\n", "one\ntwo\nthree\nFOUR\nfive\nsix\n"),
        ("one\ntwo\nthree\nfour\nfive\nsix", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
    ],
    ids=["same line", "adjacent", "two insertions", "insertion beside", "deleted", "no newline"],
)
def test_changes_that_touch_conflict(ours: str, theirs: str) -> None:
    merge = merge_three_way(BASE, ours, theirs)
    assert merge.text is None
    assert len(merge.conflicts) == 1


def test_a_conflict_names_the_rows_of_all_three_texts() -> None:
    ours = "zero\none\ntwo\nTHREE\nthree and a half\nfour\nfive\nsix\n"
    theirs = "one\n2\n3\nfour\nfive\n6\n"
    merge = merge_three_way(BASE, ours, theirs)
    assert merge.conflicts == (Region((1, 3), (2, 5), (1, 3)),)
    assert merge.taken == (Region((5, 6), (7, 8), (5, 6)),)


def test_an_edit_is_reported_at_its_rows_of_the_merged_text() -> None:
    now = Text("zero\n" + BASE.replace("one", "1"))
    edited = BASE.replace("five", "new\nfive")
    assert merge_edit(now, BASE, edited, [(4, 5)]) == (
        now.raw.replace("five", "new\nfive"),
        ((5, 6),),
    )


def test_an_edit_stays_at_its_rows_although_others_are_equal() -> None:
    base, edited = "top\n" + 4 * "cell\n", "top\n" + 3 * "cell\n"
    # The edit removes the first cell, which was filled since, or another one was.
    first, last = "top\ndone\n" + 3 * "cell\n", "top\n" + 3 * "cell\n" + "done\n"
    with pytest.raises(MatchError, match="line 2 changed since"):
        merge_edit(Text(first), base, edited, [(0, 2)])
    merged, rows = merge_edit(Text(last), base, edited, [(0, 2)])
    assert (merged, rows) == (last.replace("cell\n", "", 1), ((0, 2),))


def test_other_line_endings_are_no_change_and_stay() -> None:
    crlf = BASE.replace("\n", "\r\n")
    theirs = BASE.replace("three\n", "3\n3a\n").replace("six\n", "six\nseven\n")
    assert merge_three_way(BASE, crlf, theirs).text == theirs.replace("\n", "\r\n")
    assert merge_three_way(crlf, BASE, theirs.replace("\n", "\r\n")).text == theirs


def test_mixed_line_endings_stay_as_they_are() -> None:
    base = BASE.replace("\n", "\r\n", 2)
    ours = "first\r\nsecond\r\nthird\r\n" + base
    merged = merge_three_way(base, ours, base.replace("five", "5")).text
    assert merged == ours.replace("five", "5")


def test_line_endings_that_theirs_changes_are_changed() -> None:
    theirs = BASE.replace("three\n", "three\r\n")
    assert merge_three_way(BASE, BASE.replace("one", "1"), theirs).text == theirs.replace(
        "one", "1"
    )


def test_a_text_too_large_to_align_is_one_change() -> None:
    # No line occurs once, so that nothing splits the text into smaller ones.
    half = [f"{row}\n" for row in range(int(SCRIPT_WORK**0.5) // 2 + 10)]
    base = half * 2
    ours = ["first\n", *base[1:-1], "last\n"]
    theirs = [*base[:100], "here\n", *base[101:]]
    assert merge_three_way("".join(base), "".join(ours), "".join(theirs)).conflicts


def test_a_line_that_moved_conflicts_where_git_sees_a_conflict(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    theirs = BASE.replace("three\nfour\n", "four\nthree\n")
    verdicts = set()
    for line in BASE.splitlines():
        texts = {"base": BASE, "ours": BASE.replace(line, "other"), "theirs": theirs}
        merged = merge_three_way(*texts.values()).text
        assert merged == _git_merge(tmp_path_factory.mktemp("merge"), **texts)
        verdicts.add(merged is None)
    assert verdicts == {True, False}


def test_lines_that_repeat_are_placed_as_git_places_them() -> None:
    base = "a() {\n  1\n}\n\nb() {\n  2\n}\n"
    ours = "a() {\n  1\n}\n\nc() {\n  3\n}\n\nb() {\n  2\n}\n"
    theirs = base.replace("a()", "first()").replace("  2", "  two")
    merged = ours.replace("a()", "first()").replace("  2", "  two")
    assert merge_three_way(base, ours, theirs).text == merged


def test_repeated_lines_hardly_ever_lead_to_another_result(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rng = Random(1)
    top = tmp_path_factory.mktemp("merge")
    other = 0
    for _ in range(300):
        rows = [rng.choice([*COMMON, f"line {row}"]) for row in range(rng.randint(4, 20))]
        texts = {"base": "".join(f"{row}\n" for row in rows)}
        for side in ("ours", "theirs"):
            at = rng.randrange(len(rows))
            came = [rng.choice([*COMMON, side]) for _ in range(rng.randint(0, 3))]
            made = [*rows[:at], *came, *rows[at + rng.randint(0, 3) :]]
            texts[side] = "".join(f"{row}\n" for row in made)
        merged, expected = merge_three_way(*texts.values()).text, _git_merge(top, **texts)
        assert merged in (expected, None)
        other += merged != expected
    assert other <= 1


COMMON = ["", "}", "end"]
EDIT = st.tuples(
    st.integers(0, 24),
    st.integers(0, 3),
    st.lists(st.text("xyz", min_size=3, max_size=8), max_size=3),
)
EDITS = st.lists(EDIT, min_size=1, max_size=3)


def _edited(rows: list[str], edits: list[tuple[int, int, list[str]]], side: str) -> str:
    made = list(rows)
    for at, height, words in edits:
        made[at : at + height] = [f"{side} {word}\n" for word in words]
    return "".join(made)


def _git_merge(top: Path, base: str, ours: str, theirs: str) -> str | None:
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (top / name).write_bytes(text.encode())
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, cwd=top, capture_output=True, check=False)
    return None if done.returncode else done.stdout.decode()


@given(
    st.integers(0, 24),
    EDITS,
    EDITS,
    st.sets(st.sampled_from(["base", "ours", "theirs"])),
    st.booleans(),
)
def test_the_result_is_that_of_git_merge_file(
    tmp_path_factory: pytest.TempPathFactory,
    size: int,
    mine: list[tuple[int, int, list[str]]],
    other: list[tuple[int, int, list[str]]],
    unfinished: set[str],
    alike: bool,
) -> None:
    rows = [f"line {row}\n" for row in range(size)]
    texts = {
        "base": "".join(rows),
        "ours": _edited(rows, mine, "both" if alike else "ours"),
        "theirs": _edited(rows, other, "both" if alike else "theirs"),
    }
    for name in unfinished:
        texts[name] = texts[name].removesuffix("\n")
    top = tmp_path_factory.mktemp("merge")
    merge = merge_three_way(*texts.values())
    assert merge.text == _git_merge(top, **texts)
    assert (merge.text is None) == bool(merge.conflicts)


@given(st.integers(0, 24), EDITS, EDITS)
def test_a_clean_result_holds_both_changes(
    size: int, mine: list[tuple[int, int, list[str]]], other: list[tuple[int, int, list[str]]]
) -> None:
    rows = [f"line {row}\n" for row in range(size)]
    base, ours, theirs = "".join(rows), _edited(rows, mine, "ours"), _edited(rows, other, "theirs")
    merge = merge_three_way(base, ours, theirs)
    if merge.text is None:
        return
    before, after = ours.splitlines(), merge.text.splitlines()
    added = {line for line in theirs.splitlines() if line.startswith("theirs ")}
    gone = {*base.splitlines()} - {*theirs.splitlines()}
    assert {*after} == {*before} - gone | added
    assert [line for line in after if line not in added] == [
        line for line in before if line not in gone
    ]


def test_the_lines_that_are_shown_are_those_that_are_named() -> None:
    base, now = "def a():\n    one()\n    two()\n", "def a():\n    one()\n    other()\n"
    with pytest.raises(MatchError) as error:
        merge_edit(Text(now), base, "def b():\n    uno()\n    dos()\n", [(0, 3)], proven=True)
    (shown,) = error.value.candidates
    assert (shown.start_line, shown.text) == (3, "    other()")
    assert shown.where == "in `def a()`, line 3"
