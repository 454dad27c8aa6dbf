from __future__ import annotations

import subprocess
from itertools import pairwise

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turns import (
    END,
    NEXT,
    NOW,
    ChangeCounts,
    Turn,
    Worktree,
    count_changes,
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
        found = [*turns(catalog, entries, Worktree(repository))]
        counts = count_changes(repository.git, found)
    labels = (turn.checkpoint.meta.text("label") for turn in found)
    return [*zip(labels, (turn.until for turn in found), counts, strict=True)]


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
        ("second", NEXT, ChangeCounts(2, 3, 1)),
        ("first", END, ChangeCounts(1, 1, 0)),
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
        ("ours 1", NEXT, ChangeCounts(1, 1, 0)),
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
    turn = turn_of(catalog, catalog.find(archived.id), Worktree(repository))
    assert turn.until == NEXT
    assert count_changes(repository.git, [turn]) == [ChangeCounts(1, 2, 0)]


def test_the_end_of_a_safety_checkpoint_is_unknown(repo: Repo) -> None:
    repo.commit(a="a\n")
    take()
    repo.write("a", "b\n")
    undo = back().undo
    assert undo is not None
    repository = Repository.discover()
    catalog = Catalog(repository)
    turn = turn_of(catalog, catalog.find(undo), Worktree(repository))
    assert (turn.until, count_changes(repository.git, [turn])) == ("", [None])


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
        found = [*turns(catalog, catalog.newest_first(), Worktree(repository))]
        counts = count_changes(repository.git, found, options, paths)
        return [each.files if each else None for each in counts]

    with temporary_objects(repository):
        assert counted("-Sneedle", "--pickaxe-all") == [1, 0, 2]
        assert counted("-Sneedle") == [1, 0, 1]
        assert counted("-Gneed.e") == [1, 0, 1]
        assert counted(paths=("b",)) == [0, 0, 1]


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
    compared = [Turn(one, NEXT, two.commit.id) for one, two in pairwise(taken)]
    compared[7] = compared[7]._replace(after=missing)
    compared[30] = compared[30]._replace(after=missing)
    calls = 0
    real = subprocess.Popen

    def run(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        return real(*args, **kwargs)  # type: ignore[call-overload]

    git = Repository.discover().git
    monkeypatch.setattr(subprocess, "Popen", run)
    counts = count_changes(git, compared)
    assert [number for number, each in enumerate(counts) if each is None] == [7, 30]
    assert {each for each in counts if each is not None} == {ChangeCounts(1, 1, 1)}
    # Not one process for every turn.
    assert 0 < calls < 25
    assert count_changes(git, []) == []
