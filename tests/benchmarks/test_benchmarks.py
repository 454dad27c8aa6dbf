"""Every benchmark prints its tables, starts from what it says, and notices what was not done."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks import (
    budget,
    hooks,
    patches,
    proposals,
    refs,
    revert,
    secrets,
    server,
    sharing,
)
from tests.benchmarks.checkpoints import capture, disk, log
from tests.benchmarks.checkpoints.worktree import (
    OURS,
    RECIPE,
    Worktree,
    git,
    newest_checkpoints,
    process,
    sealed,
)
from tests.benchmarks.measure import Candidate, NotAvailableError, print_table, side_by_side
from tests.benchmarks.patching.cases import Case
from tests.benchmarks.patching.edits import Edit, drawn
from tests.benchmarks.patching.engines import installed, judge

SIZE = 40
STARTS = {
    "checkpoint, after a turn (warm)": {"M": 20, "A": 10},
    "checkpoint, nothing changed": {},
    "checkpoint --if-changed, nothing changed": {},
    "checkpoint, every file touched": {"M": 20, "A": 10},
    "checkpoint PATH PATH": {"M": 20, "A": 10},
    "restore @, 30 paths differ": {"M": 30},
}
"""What has changed since the newest checkpoint when these begin, in the letters of git."""


@pytest.fixture
def worktree(tmp_path: Path) -> Worktree:
    return Worktree(str(tmp_path), SIZE)


@pytest.fixture
def candidates(worktree: Worktree) -> dict[str, Candidate]:
    return capture.candidates(worktree)


@pytest.fixture(scope="module")
def edits() -> list[Edit]:
    return drawn(3, random.Random(5), None)


def rows(shown: str) -> dict[str, list[str]]:
    """The cells of a table, by the name of the row."""
    lines = [line for line in shown.splitlines() if line[44:].strip()]
    return {line[:44].strip(): line[44:].split() for line in lines}


def test_checkpoints(worktree: Worktree, capsys: pytest.CaptureFixture[str]) -> None:
    capture.report(SIZE, rounds=1)
    table = rows(capsys.readouterr().out)
    assert table[""] == ["median", "ms", "x", "status", "x", "kept", "x", "copied"]
    assert table["git status"][1] == "1.00"
    assert len(table["restore @, 30 paths differ"]) == 4
    capture.report_small(rounds=1)
    assert rows(capsys.readouterr().out)["python -c pass"][1] == "1.00"
    disk.run(3, SIZE)
    assert capsys.readouterr().out.count("growth x recipe") == 3
    log.make_checkpoints(worktree, 25)
    log.report("a title", worktree.top, rounds=1)
    assert "x for-each-ref" in capsys.readouterr().out


def test_hooks_and_proposals(capsys: pytest.CaptureFixture[str]) -> None:
    hooks.report(20, rounds=1)
    assert len(rows(capsys.readouterr().out)["hook before a turn"]) == 3
    hooks.report_commits(20, turns=2, rounds=1)
    shown = rows(capsys.readouterr().out)
    assert len(shown["post-commit, in the background"]) == 3
    proposals.report(20, 5, rounds=1)
    assert len(rows(capsys.readouterr().out)["accept it"]) == 2


def test_revert(capsys: pytest.CaptureFixture[str]) -> None:
    revert.report(SIZE, rounds=1, idle_rounds=1)
    shown = rows(capsys.readouterr().out)
    assert len(shown["revert of a turn beside another"]) == 3
    assert shown["git boocode --version"][1] == "1.00"


def test_server(capsys: pytest.CaptureFixture[str]) -> None:
    server.report_start(rounds=1)
    server.report_edits(rounds=2)
    server.report_checkpoints(20, rounds=1)
    server.report_memory(200)
    shown = capsys.readouterr().out
    for name in ("start to the first answer", "locate, drifted", "checkpoint, nothing changed"):
        assert f"\n{name}" in shown
    assert "\n200 " in shown


@pytest.mark.slow
def test_budget(tmp_path: Path) -> None:
    """It asserts by itself that the budget is held, and that only the oldest go."""
    days = budget.report(str(tmp_path), 320, 900_000)
    assert [day.kept for day in days[:1]] == [100]
    assert 100 < days[-1].kept < 180
    assert max(day.most for day in days) > 900_000 >= days[-1].after


@pytest.mark.slow
def test_refs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sealed():
        refs.report(str(tmp_path), 5, rounds=1)
    shown = capsys.readouterr().out
    assert all(f"\n{name} " in shown for name in refs.COMMANDS)


def test_sharing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sealed():
        # Only the round that does not count: whatever fails is raised there.
        sharing.report(sharing.Places(str(tmp_path)), 20, rounds=0)
    assert "\na clone that has fetched them\n" in capsys.readouterr().out


def test_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sealed():
        secrets.report(tmp_path, 10, 1 << 21, 100)
    said = capsys.readouterr().out
    assert "\n200 of 200 planted secrets, 0 of 100 innocent texts\n" in said
    assert "a large file, binary: 1 files" in said


@pytest.mark.parametrize("name", patches.FORMATS)
def test_patches(name: str, edits: list[Edit]) -> None:
    table = patches.measured(name, edits, 1, {})
    for slip in patches.kinds_of(name).slips:
        assert table.pop(slip)["ours"]["half-written"] == 0
    verdicts = sum((row["ours"] for row in table.values()), Counter[str]())
    # How many kinds a source lends itself to differs; every kind is drawn here and there.
    assert sum(verdicts.values()) > len(table)
    assert verdicts["half-written"] == 0
    assert verdicts["perfect"] > 0.9 * sum(verdicts.values())


def test_line_numbers_need_less_than_quoted_text(edits: list[Edit]) -> None:
    sizes = patches.sizes(edits)
    assert sizes["lines"] < sizes["region"] < sizes["string"] == 1 < sizes["write"]


def test_git_applies_what_is_clean(edits: list[Edit]) -> None:
    engine = installed()[0]["git apply"]
    kinds = patches.kinds_of("unified")
    for kind in ("clean", "as git writes it", "no a/ and b/", "no newline at the end"):
        for case in kinds.cases(kind, edits, random.Random(1)):
            assert judge(case, engine).verdict == "perfect", kind


@pytest.mark.parametrize(
    ("data", "reason", "verdict", "to_refuse"),
    [
        (b"2\n", None, "perfect", "wrong"),
        (b"2", None, "wrong", "wrong"),
        (b"1\n", None, "wrong", "wrong"),
        (b"1\n", "no", "refused", "perfect"),
        (b"2\n", "no", "half-written", "half-written"),
    ],
)
def test_verdicts_look_at_the_bytes(
    data: bytes, reason: str | None, verdict: str, to_refuse: str
) -> None:
    def engine(case: Case, top: Path) -> str | None:
        (top / "a").write_bytes(data)
        return reason

    case = Case({"a": b"1\n"}, {"a": b"2\n"}, b"")
    assert judge(case, engine).verdict == verdict
    assert judge(case._replace(expected=None), engine).verdict == to_refuse


@pytest.mark.parametrize("name", STARTS)
def test_captures_start_from_what_they_say(
    worktree: Worktree, candidates: dict[str, Candidate], name: str
) -> None:
    candidates[name].before()
    tree = process(worktree.top, "sh", "-c", RECIPE)()
    newest = newest_checkpoints(worktree.top, 1)[0]
    changes = git(worktree.top, "diff-tree", "-r", "--name-status", newest, tree).splitlines()
    assert Counter(change[0] for change in changes) == STARTS[name]


def test_checks_notice_what_is_wrong(worktree: Worktree, candidates: dict[str, Candidate]) -> None:
    captured = candidates["checkpoint, after a turn (warm)"]
    captured.before()
    captured.work()
    captured.check()
    worktree.turn()
    with pytest.raises(AssertionError, match="not the recipe's"):
        captured.check()
    named = candidates["checkpoint PATH PATH"]
    named.before()
    captured.work()
    with pytest.raises(AssertionError, match="other paths"):
        named.check()
    with pytest.raises(NotAvailableError):
        process(worktree.top, *OURS, "checkpoint", "--no-such-option")()


def test_what_is_not_available_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> None:
        raise NotAvailableError

    times = side_by_side({"base": lambda: None, "missing": missing}, 2)
    print_table("title", times, {"x base": "base"})
    assert capsys.readouterr().out.splitlines()[-1].split() == ["missing", "not", "available"]
