"""The benchmark of rewinds: it runs, its cases are sound, and no conflict lands."""

from __future__ import annotations

import random

import pytest

from tests.benchmarks import rewind
from tests.benchmarks.later import RECOVER, REFUSE, Case, cases
from tests.benchmarks.patching.edits import Edit, drawn


@pytest.fixture(scope="module")
def edits() -> list[Edit]:
    return drawn(4, random.Random(5), None)


def test_nothing_that_must_be_refused_lands(edits: list[Edit]) -> None:
    for kind in REFUSE:
        for case in cases(kind, edits, random.Random(kind)):
            assert rewind.ours(case) is None, kind


def test_cases_to_recover_are_later_states_of_the_recorded_result(edits: list[Edit]) -> None:
    for kind in RECOVER:
        for case in cases(kind, edits, random.Random(kind)):
            assert case.expected is not None
            assert case.before != case.after


def test_git_merges_what_lies_apart(edits: list[Edit]) -> None:
    for kind in ("a line changed far away", "lines added, 1 line between", "copied elsewhere"):
        for case in cases(kind, edits, random.Random(kind)):
            assert rewind.merge_file(case) == case.expected, kind


def test_verdicts_look_at_the_bytes() -> None:
    case = Case(b"1\n", b"2\n", b"2\n3\n", b"1\n3\n")
    assert rewind.judge(case, b"1\n3\n") == "perfect"
    assert rewind.judge(case, b"1\n3") == "wrong"
    assert rewind.judge(case, None) == "refused"
    assert rewind.judge(case._replace(expected=None), b"1\n3\n") == "wrong"
    assert rewind.judge(case._replace(expected=None), None) == "perfect"


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    rewind.run(["--count", "2", "--show", "no kind of this name"])
    shown = capsys.readouterr().out
    assert "must be rewound" in shown
    assert "| **all** |" in shown
