"""The benchmark of patches: it runs, its truths hold, and its cases are sound."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks import patches
from tests.benchmarks.patching.cases import Case
from tests.benchmarks.patching.edits import Change, Edit, distinct, drawn, hunks_of
from tests.benchmarks.patching.engines import PROGRAMS, Engine, installed, judge


@pytest.fixture(scope="module")
def edits() -> list[Edit]:
    return drawn(3, random.Random(5), None)


@pytest.mark.parametrize("name", patches.FORMATS)
def test_kinds_give_cases_and_ours_is_nearly_perfect(name: str, edits: list[Edit]) -> None:
    table = patches.measured(name, edits, 1, {})
    verdicts = sum((row["ours"] for row in table.values()), Counter[str]())
    # How many kinds a source lends itself to differs; every kind is drawn here and there.
    assert sum(verdicts.values()) > len(table)
    assert verdicts["half-written"] == 0
    assert verdicts["perfect"] > 0.9 * sum(verdicts.values())


def test_git_applies_what_is_clean(edits: list[Edit]) -> None:
    engine = installed()[0]["git apply"]
    kinds = patches.kinds_of("unified")
    for kind in ("clean", "as git writes it", "no a/ and b/", "no newline at the end"):
        for case in kinds.cases(kind, edits, random.Random(1)):
            assert judge(case, engine).verdict == "perfect", kind


def test_verdicts_look_at_the_bytes() -> None:
    def engine(data: bytes, reason: str | None) -> Engine:
        def write(case: Case, top: Path) -> str | None:
            (top / "a").write_bytes(data)
            return reason

        return write

    case = Case({"a": b"1\n"}, {"a": b"2\n"}, b"")
    assert judge(case, engine(b"2\n", None)).verdict == "perfect"
    assert judge(case, engine(b"2", None)).verdict == "wrong"
    assert judge(case, engine(b"1\n", None)).verdict == "wrong"
    assert judge(case, engine(b"1\n", "no")).verdict == "refused"
    assert judge(case, engine(b"2\n", "no")).verdict == "half-written"
    refuse = case._replace(expected=None)
    assert judge(refuse, engine(b"1\n", "no")).verdict == "perfect"
    assert judge(refuse, engine(b"1\n", None)).verdict == "wrong"
    assert judge(refuse, engine(b"2\n", "no")).verdict == "half-written"


def test_hunks_join_changes_that_lie_close() -> None:
    lines = tuple(f"line {number}\n" for number in range(30))
    changes = (Change(5, 6, ("a\n",)), Change(9, 9, ("b\n",)), Change(25, 27, ()))
    hunks = hunks_of(Edit("a", lines, changes))
    assert [(hunk.start, hunk.stop, hunk.new_start) for hunk in hunks] == [(2, 12, 2), (22, 30, 23)]
    assert hunks[1].new == (*lines[22:25], *lines[27:30])


def test_a_place_must_stand_out() -> None:
    block = ["first line here\n", "second line here\n", "third line here\n", "fourth one\n"]
    other = ["something\n", "  first  line here\n", "second line here\n", "else\n"]
    assert distinct([*block, *other], 0, 4, 2)
    assert not distinct([*block, *other], 0, 4, 3)
    assert not distinct([*block, *block], 0, 4, 1)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    patches.run(["--count", "2", "--format", "region", "--show", "no kind of this name"])
    shown = capsys.readouterr().out
    assert "region, must land" in shown
    assert "| **all** |" in shown


def test_programs_are_named_when_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert installed() == ({}, list(PROGRAMS))
