from __future__ import annotations

import subprocess
from itertools import pairwise

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_changes import ChangeCounts, count_changes
from git_boocode.checkpoints.turns import (
    CHECKPOINT,
    NOW,
    RECORDED,
    RESTORE,
    CurrentTree,
    Turn,
    turn_of,
    turns,
)
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take
from tests.repo_kit import Repo


def listed(*, everywhere: bool = False) -> list[tuple[str, str, ChangeCounts | None]]:
    """The label, the end and the counts of each turn, newest first."""
    repository = Repository.discover()
    catalog = Catalog(repository)
    with temporary_objects(repository):
        entries = catalog.newest_first(everywhere=everywhere)
        found = [*turns(catalog, entries, CurrentTree(repository))]
        counts = count_changes(repository, found)
    labels = (turn.checkpoint.meta.text("label") for turn in found)
    return [*zip(labels, (turn.end for turn in found), counts, strict=True)]


def test_a_turn_ends_at_its_recorded_end_or_the_next_checkpoint_or_now(repo: Repo) -> None:
    repo.commit(a="1\n", b="b\n")
    first = take(label="first")
    repo.write("a", "1\n2\n")
    capture_turn_end(Repository.discover(), first.id, "Stop")
    # By hand, between the turns.
    repo.write("b", "by hand\n")
    take(label="second")
    (repo.top / "b").unlink()
    repo.write("new", "1\n2\n3\n")
    take(label="third")
    repo.write("new", "1\n2\n")
    objects = repo.git("count-objects")
    assert listed() == [
        ("third", NOW, ChangeCounts(1, 0, 1)),
        ("second", CHECKPOINT, ChangeCounts(2, 3, 1)),
        ("first", RECORDED, ChangeCounts(1, 1, 0)),
    ]
    assert repo.git("count-objects") == objects


def test_a_rename_is_one_file_and_a_binary_file_has_no_lines(repo: Repo) -> None:
    repo.commit(a="".join(f"{number}\n" for number in range(30)), binary="\0old")
    take(label="t")
    repo.git("mv", "a", "z")
    repo.write("binary", "\0new")
    assert listed() == [("t", NOW, ChangeCounts(2, 0, 0))]


def test_every_worktree_has_its_own_turns(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "-b", "side", "linked")
    repo.write(".git/info/exclude", "linked\n")
    take(label="ours 1")
    monkeypatch.chdir(repo.top / "linked")
    take(label="theirs")
    monkeypatch.chdir(repo.top)
    repo.write("a", "a\nb\n")
    take(label="ours 2")
    assert listed(everywhere=True) == [
        ("ours 2", NOW, ChangeCounts(0, 0, 0)),
        # Nothing here says how that one ends.
        ("theirs", "", None),
        ("ours 1", CHECKPOINT, ChangeCounts(1, 1, 0)),
    ]


def test_archived_turns_end_where_the_restore_began(repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="kept", chat="c")
    repo.write("a", "b\n")
    archived = take(label="archived", chat="c")
    repo.write("a", "b\nc\nd\n")
    back("@~1")
    repo.write("a", "else\n")
    repository = Repository.discover()
    catalog = Catalog(repository)
    turn = turn_of(catalog, catalog.find(archived.id), CurrentTree(repository))
    assert turn.end == RESTORE
    assert count_changes(repository, [turn]) == [ChangeCounts(1, 2, 0)]


def test_a_turn_that_was_taken_back_still_has_its_changes(repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="agent")
    repo.write("a", "a\nwork\n")
    back()
    assert listed() == [("agent", RESTORE, ChangeCounts(1, 1, 0))]
    repo.write("a", "by hand\n")
    take(label="next")
    assert listed()[1] == ("agent", RESTORE, ChangeCounts(1, 1, 0))


def test_a_restore_of_another_worktree_ends_no_turn(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "-b", "side", "linked")
    repo.write(".git/info/exclude", "linked\n")
    take(label="ours")
    monkeypatch.chdir(repo.top / "linked")
    take()
    Repo(repo.top / "linked").write("a", "b\n")
    back()
    monkeypatch.chdir(repo.top)
    assert listed() == [("ours", NOW, ChangeCounts(0, 0, 0))]


def test_checkpoints_of_some_paths_divide_no_turn(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    take(label="turn")
    repo.write("a", "1\n")
    repo.write("b", "1\n")
    take(label="tool 1", paths=("a",))
    repo.write("a", "2\n2\n")
    take(label="tool 2", paths=(":(top,literal)a",))
    repo.write("a", "3\n3\n3\n")
    take(label="pattern", paths=("a*",))
    take(label="next")
    assert listed()[1:] == [
        ("pattern", "", None),
        ("tool 2", CHECKPOINT, ChangeCounts(1, 3, 2)),
        ("tool 1", CHECKPOINT, ChangeCounts(1, 2, 1)),
        ("turn", CHECKPOINT, ChangeCounts(2, 4, 2)),
    ]


def test_fetched_checkpoints_with_the_same_successor_are_counted_apart(repo: Repo) -> None:
    repo.commit(a="")
    for number in range(3):
        repo.write("a", "line\n" * number)
        take(label=str(number))
    repo.git("push", "-q", ".", "refs/boocode/checkpoints/*:refs/boocode/remotes/one/*")
    middle = repo.boocode("log", "--json").json["checkpoints"][1]["id"]
    repo.git("push", "-q", ".", "refs/boocode/checkpoints/*:refs/boocode/remotes/two/*")
    repo.git("update-ref", "-d", f"refs/boocode/remotes/two/{middle}")
    repository = Repository.discover()
    catalog = Catalog(repository)
    found = [*turns(catalog, catalog.fetched(), CurrentTree(repository))]
    counts = count_changes(repository, found)
    added = [
        (turn.checkpoint.remote, each.added)
        for turn, each in zip(found, counts, strict=True)
        if each
    ]
    assert sorted(added) == [("one", 1), ("one", 1), ("two", 2)]


def test_the_end_of_a_safety_checkpoint_is_unknown(repo: Repo) -> None:
    repo.commit(a="a\n")
    take()
    repo.write("a", "b\n")
    undo = back().undo
    assert undo is not None
    repository = Repository.discover()
    catalog = Catalog(repository)
    turn = turn_of(catalog, catalog.find(undo), CurrentTree(repository))
    assert (turn.end, count_changes(repository, [turn])) == ("", [None])


def test_a_selection_of_changes_and_paths(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    take(label="adds")
    repo.write("a", "a\nneedle\n")
    repo.write("b", "b\nc\n")
    take(label="moves")
    repo.write("a", "needle\na\n")
    take(label="removes")
    repo.write("a", "a\n")
    repository = Repository.discover()
    catalog = Catalog(repository)

    def counted(*options: str, paths: tuple[str, ...] = ()) -> list[int | None]:
        found = [*turns(catalog, catalog.newest_first(), CurrentTree(repository))]
        counts = count_changes(repository, found, options, paths)
        return [each.files if each else None for each in counts]

    with temporary_objects(repository):
        assert counted("-Sneedle", "--pickaxe-all") == [1, 0, 2]
        assert counted("-Sneedle") == [1, 0, 1]
        assert counted("-Gneed.e") == [1, 0, 1]
        assert counted(paths=("b",)) == [0, 0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["12" * 20, "blob"])
@pytest.mark.sha1
def test_missing_objects_hide_no_other_turn(
    repo: Repo, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="a\n")
    taken = []
    for number in range(41):
        repo.write("a", f"{number}\n")
        taken.append(take())
    if missing == "blob":
        missing = repo.git("rev-parse", "HEAD:a").strip()
    compared = [Turn(one, CHECKPOINT, two.commit.id) for one, two in pairwise(taken)]
    compared[7] = compared[7]._replace(after=missing)
    compared[30] = compared[30]._replace(after=missing)
    calls = 0
    real = subprocess.Popen

    def run(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        return real(*args, **kwargs)  # type: ignore[call-overload]

    repository = Repository.discover()
    assert repository.config
    monkeypatch.setattr(subprocess, "Popen", run)
    counts = count_changes(repository, compared)
    assert [number for number, each in enumerate(counts) if each is None] == [7, 30]
    assert {each for each in counts if each is not None} == {ChangeCounts(1, 1, 1)}
    # Not one process for every turn.
    assert 0 < calls < 25
    assert count_changes(repository, []) == []
