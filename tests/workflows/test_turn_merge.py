"""What paths become when turns are taken back, or made again: real turns, and a real restore."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.request import RestoreRequest, TurnStep, Wanted
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_work import work_of
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.repository import Repository
from git_boocode.workflows.turn_conflicts import BY_HAND
from git_boocode.workflows.turn_merge import Merged, merge_turns, with_hunks_only
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

LINES = "".join(f"line {number}\n" for number in range(1, 11))


def begin(label: str) -> Checkpoint:
    return take(session=label, agent="bot", label=label)


def end(turn: Checkpoint) -> None:
    assert capture_turn_end(Repository.discover(), turn.id, "Stop")


def merged(
    *turns: Checkpoint,
    forwards: bool = False,
    hunks: Mapping[str, set[int]] | None = None,
    **options: Any,
) -> Merged:
    """Merge turns in the order in which they are given, and change the files if none conflicts."""
    repository = Repository.discover()
    catalog = Catalog(repository)
    found: list[Merged] = []

    def make(snapshot: Snapshot) -> Wanted:
        works = [work_of(catalog, turn, lambda: snapshot.tree) for turn in turns]
        result = merge_turns(repository, snapshot, works, forwards=forwards, **options)
        if hunks is not None:
            result = with_hunks_only(repository, snapshot, result, hunks)
        found.append(result)
        marked = options.get("markers") or hunks is not None
        return Wanted() if result.conflicts and not marked else result.wanted

    step = TurnStep("pick" if forwards else "revert", tuple(turn.id for turn in turns))
    commands.change_paths(repository, step, make, RestoreRequest())
    return found[0]


def undo() -> None:
    commands.undo(Repository.discover(), RestoreRequest())


def changed(number: int, text: str, old: str = LINES) -> str:
    return old.replace(f"line {number}\n", text)


@pytest.fixture
def repo(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.chdir(repo.top)
    repo.commit(a=LINES, b=LINES, gone="gone\n")
    return repo


def text(repo: Repo, path: str) -> str | None:
    file = repo.top / path
    return file.read_text() if os.path.lexists(file) else None


def test_one_turn_of_two_in_the_same_files(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    repo.write("new", "new\n")
    (repo.top / "gone").unlink()
    end(first)
    second = begin("second")
    repo.write("a", changed(3, "first\n", changed(8, "second\n")) + "at the end\n")
    repo.write("b", "second\n")
    end(second)
    repo.write("by-hand", "mine\n")
    result = merged(first)
    assert result.conflicts == ()
    assert text(repo, "a") == changed(8, "second\n") + "at the end\n"
    assert (text(repo, "new"), text(repo, "gone")) == (None, "gone\n")
    assert (text(repo, "b"), text(repo, "by-hand")) == ("second\n", "mine\n")
    undo()
    assert text(repo, "a") == changed(3, "first\n", changed(8, "second\n")) + "at the end\n"
    assert (text(repo, "new"), text(repo, "gone")) == ("new\n", None)


def test_a_conflict_names_the_lines_and_who_wrote_them(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n", changed(8, "first, too\n")))
    end(first)
    second = begin("second")
    repo.write("a", changed(3, "second\n", changed(8, "first, too\n")))
    end(second)
    repo.write("a", changed(3, "second\n", changed(8, "by hand\n")))
    before = text(repo, "a")
    (conflict,) = merged(first).conflicts
    assert text(repo, "a") == before
    assert (conflict.path, conflict.lines) == ("a", ((3, 3), (8, 8)))
    assert set(conflict.by) == {(second.id, "second"), (None, BY_HAND)}


def test_both_turns_newest_first(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    end(first)
    second = begin("second")
    repo.write("a", changed(3, "second\n"))
    end(second)
    repo.write("a", changed(3, "second\n") + "by hand\n")
    assert merged(second, first).conflicts == ()
    assert text(repo, "a") == LINES + "by hand\n"
    # Both are taken back already.
    assert merged(second, first).wanted.files == []


def test_what_a_turn_did_is_made_again_elsewhere(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n"))
    repo.write("new", "new\n")
    (repo.top / "gone").unlink()
    end(first)
    repo.git("checkout", "-q", ".")
    repo.git("clean", "-fdq")
    repo.write("a", changed(8, "by hand\n"))
    assert merged(first, forwards=True).conflicts == ()
    assert text(repo, "a") == changed(3, "first\n", changed(8, "by hand\n"))
    assert (text(repo, "new"), text(repo, "gone")) == ("new\n", None)


def test_conflict_markers(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n", changed(8, "first, too\n")))
    end(first)
    repo.write("a", changed(3, "by hand\n", changed(8, "first, too\n")))
    assert merged(first, markers=True).conflicts
    marked = "<<<<<<< now\nby hand\n=======\nline 3\n>>>>>>> reverted\n"
    assert text(repo, "a") == changed(3, marked)


def test_only_some_hunks(repo: Repo) -> None:
    first = begin("first")
    repo.write("a", changed(3, "first\n", changed(8, "first, too\n")))
    repo.write("b", "first\n")
    end(first)
    merged(first, hunks={"a": {2}})
    assert (text(repo, "a"), text(repo, "b")) == (changed(3, "first\n"), "first\n")


def test_staging_goes_back_where_the_turn_left_it(repo: Repo) -> None:
    repo.write("c", "c\n")
    first = begin("first")
    for path in ("a", "b", "new"):
        repo.write(path, "first\n")
    repo.git("add", "a", "b", "new")
    end(first)
    repo.write("b", "by hand\n")
    repo.git("add", "b", "c")
    repo.write("b", "first\n")
    merged(first)
    assert repo.git("status", "--porcelain", "-uall").splitlines() == ["MM b", "A  c"]
    assert repo.git("show", ":b") == "by hand\n"
