"""The benchmark of checkpoints: its tables come out, and it measures what it says."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.repository import Repository
from tests.benchmarks import checkpoints
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

SIZE = 40


@pytest.fixture
def worktree(tmp_path: Path) -> Worktree:
    return Worktree(str(tmp_path), SIZE)


@pytest.fixture
def candidates(worktree: Worktree) -> dict[str, Candidate]:
    return capture.candidates(worktree)


def since_newest_checkpoint(top: str) -> Counter[str]:
    """How many paths are changed, added and deleted, in the letters of git."""
    tree = process(top, "sh", "-c", RECIPE)()
    return letters(top, newest_checkpoints(top, 1)[0], tree)


def letters(top: str, old: str, new: str) -> Counter[str]:
    changes = git(top, "diff-tree", "-r", "--name-status", old, new).splitlines()
    return Counter(change[0] for change in changes)


def rows(shown: str) -> dict[str, list[str]]:
    """The cells of a table, by the name of the row."""
    lines = [line for line in shown.splitlines() if line[44:].strip()]
    return {line[:44].strip(): line[44:].split() for line in lines}


def test_the_table_of_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    capture.report(SIZE, rounds=1)
    table = rows(capsys.readouterr().out)
    assert table[""] == ["median", "ms", "x", "status", "x", "kept", "x", "copied"]
    assert table["git status"][1] == "1.00"
    for name in ("git stash create (leaves out new files)", "restore @, 30 paths differ"):
        assert len(table[name]) == 4, name


def test_the_table_of_a_small_repository(capsys: pytest.CaptureFixture[str]) -> None:
    capture.report_small(rounds=1)
    table = rows(capsys.readouterr().out)
    assert table["python -c pass"][1] == "1.00"
    assert len(table["checkpoint, after a turn (warm)"]) == 2


def test_every_turn_differs_from_head_alike(
    worktree: Worktree, candidates: dict[str, Candidate]
) -> None:
    recipe = process(worktree.top, "sh", "-c", RECIPE)
    trees = set()
    for name in ("git status", "git status, every file touched", "checkpoint, nothing changed"):
        candidates[name].before()
        tree = recipe()
        assert letters(worktree.top, "HEAD", tree) == {"M": 20, "A": 10}, name
        trees.add(tree)
    assert len(trees) == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("checkpoint, after a turn (warm)", {"M": 20, "A": 10}),
        ("checkpoint, nothing changed", {}),
        ("checkpoint --if-changed, nothing changed", {}),
        ("checkpoint, every file touched", {"M": 20, "A": 10}),
        ("checkpoint PATH PATH", {"M": 20, "A": 10}),
        ("restore @, 30 paths differ", {"M": 30}),
    ],
)
def test_captures_start_from_what_they_say(
    worktree: Worktree,
    candidates: dict[str, Candidate],
    name: str,
    expected: dict[str, int],
) -> None:
    candidates[name].before()
    assert since_newest_checkpoint(worktree.top) == expected


def test_the_first_checkpoint_finds_nothing(
    worktree: Worktree, candidates: dict[str, Candidate]
) -> None:
    process(worktree.top, *OURS, "checkpoint")()
    candidates["checkpoint, the first one (cold)"].before()
    assert newest_checkpoints(worktree.top, 1) == []
    assert not (Path(worktree.top) / ".git/boocode").exists()


def test_touching_reaches_every_file_until_it_is_refreshed(
    worktree: Worktree, candidates: dict[str, Candidate]
) -> None:
    def stale() -> list[str]:
        return git(worktree.top, "diff-files", "--name-only").splitlines()

    worktree.turn()
    assert sorted(stale()) == sorted(worktree.changing)
    candidates["checkpoint, every file touched"].before()
    assert sorted(stale()) == sorted(worktree.paths)
    candidates["checkpoint, a turn later (healed)"].after()
    assert sorted(stale()) == sorted(worktree.changing)


def test_a_new_repository_is_packed_and_looks_old(worktree: Worktree) -> None:
    assert git(worktree.top, "count-objects").startswith("0 objects")
    oldest = min(os.stat(os.path.join(worktree.top, path)).st_mtime for path in worktree.paths)
    assert os.stat(os.path.join(worktree.top, ".git/index")).st_mtime - oldest > 60
    assert len(set(worktree.paths)) == SIZE


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
    unchanged = candidates["checkpoint --if-changed, nothing changed"]
    unchanged.before()
    captured.work()
    with pytest.raises(AssertionError, match="took a checkpoint"):
        unchanged.check()


def test_what_is_not_available_is_said_and_what_fails_is_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise NotAvailableError

    base: Callable[[], object] = lambda: None  # noqa: E731
    times = side_by_side({"base": base, "missing": missing}, 2)
    assert [len(times[name]) for name in times] == [2, 0]
    print_table("title", times, {"x base": "base"})
    assert capsys.readouterr().out.splitlines()[-1].split() == ["missing", "not", "available"]
    with pytest.raises(NotAvailableError):
        process(str(tmp_path), *OURS, "checkpoint", "--no-such-option")()
    with pytest.raises(AssertionError, match="not a git repository"):
        process(str(tmp_path), *OURS, "checkpoint")()


def test_order_around_the_work() -> None:
    told: list[str] = []
    candidate = Candidate(
        *(lambda name=name: told.append(name) for name in ("work", "before", "after", "check"))
    )
    side_by_side({"": candidate}, 1)
    assert told == ["before", "work", "check", "after", "before", "work", "after"]


def test_disk(capsys: pytest.CaptureFixture[str]) -> None:
    disk.run(3, SIZE)
    shown = capsys.readouterr().out
    assert "3 checkpoints of 40 files, 3 changed and 1 added a turn" in shown
    assert shown.count("growth x recipe") == 3


def test_disk_counts_objects_of_every_turn() -> None:
    usages = disk.measured(3, SIZE)
    for before, after, packed in usages.values():
        # Four blobs, a tree, a commit and a ref a turn at the least.
        assert after.files - before.files >= 3 * 7
        assert after.allocated > packed.allocated
        assert packed.apparent > before.apparent


def test_a_story_turns_as_it_says(worktree: Worktree) -> None:
    recipe = process(worktree.top, "sh", "-c", RECIPE)
    story = disk.Story(worktree.top, worktree.paths)
    before = "HEAD"
    for number in range(4):
        story.turn(number)
        after = recipe()
        assert letters(worktree.top, before, after) == {"M": 3, "A": 1}
        before = after


def test_usage(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_bytes(b"a" * 5000)
    (tmp_path / "sub/b").write_bytes(b"b")
    found = disk.usage(str(tmp_path))
    assert (found.apparent, found.files) == (5001, 2)
    du = subprocess.run(["du", "-sk", tmp_path], capture_output=True, text=True, check=True)
    assert found.allocated == int(du.stdout.split()[0]) * 1024


def test_log(worktree: Worktree, capsys: pytest.CaptureFixture[str]) -> None:
    log.make_checkpoints(worktree, 25)
    entries = list(Catalog(Repository.discover(worktree.top)).newest_first())
    assert len(entries) == 25
    assert all(isinstance(entry, Checkpoint) and entry.head for entry in entries)
    loose = Path(worktree.top, ".git", CHECKPOINTS)
    assert len(list(loose.iterdir())) == 25
    assert git(worktree.top, "count-objects", "-v").count("in-pack: ") == 1
    log.report("a title", worktree.top, rounds=1)
    shown = capsys.readouterr().out
    assert "a title" in shown
    assert "log -n 20" in shown
    assert "x for-each-ref" in shown


def test_parts_are_chosen_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[tuple[str, tuple[int, ...]]] = []
    for part in checkpoints.PARTS:
        work = lambda *numbers, part=part: called.append((part, numbers))  # noqa: E731
        monkeypatch.setitem(checkpoints.PARTS, part, work)
    for arguments in (["10", "20"], ["capture", "5"], ["disk", "2", "30"], ["log"], []):
        checkpoints.run(arguments)
    assert called == [
        *(("capture", (10, 20)), ("capture", (5,)), ("disk", (2, 30)), ("log", ())),
        *((part, ()) for part in checkpoints.PARTS),
    ]
    assert "cores" in capsys.readouterr().out
    for wrong in (["nothing"], ["disk", "many"]):
        with pytest.raises(SystemExit, match="usage: "):
            checkpoints.run(wrong)


def test_the_environment_is_sealed_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    before = dict(os.environ)
    with sealed():
        assert "GIT_DIR" not in os.environ
        assert os.environ["GIT_CONFIG_GLOBAL"] == os.devnull
    assert dict(os.environ) == before
