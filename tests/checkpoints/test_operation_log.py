"""The log is a timeline: restores, reverts and picks among the turns, and which turns are reverted.

What a revert changes is not the matter here, so that each changes one file.
"""

from __future__ import annotations

import re

import pytest

from git_boocode.checkpoints.operation_log import reverted_turns
from git_boocode.checkpoints.restore.commands import change_paths
from git_boocode.checkpoints.restore.request import (
    PICK,
    REVERT,
    RestoreRequest,
    TurnStep,
    WantedFile,
    WantedPaths,
)
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, redone, take, undone
from tests.repo_kit import Repo


@pytest.fixture
def turns(repo: Repo) -> list[str]:
    """The ids of two turns, of which each has added a file."""
    repo.commit(a="a\n")
    first = take(label="first", agent="cursor", session="s")
    repo.write("one", "1\n")
    second = take(label="second", agent="cursor", session="s")
    repo.write("two", "2\n")
    return [first.id, second.id]


def step(command: str, *turns: str, whole: bool = True) -> None:
    """What a revert or pick of some turns is to a worktree: here, a file more or less."""
    path = f"{command}-{turns[0]}-{whole}"
    repository = Repository.discover()
    found = repository.git.attempt("hash-object", "-w", "--stdin", stdin=path.encode())

    def make(_: Snapshot) -> WantedPaths:
        return WantedPaths([WantedFile(path, "100644", found.stdout.decode().strip())])

    change_paths(repository, TurnStep(command, turns, whole), make, RestoreRequest())


def reverted() -> set[str]:
    return reverted_turns(Catalog(Repository.discover()).safety(everywhere=True))


def timeline(repo: Repo, *options: str) -> list[str]:
    """The lines of the log without ids and times."""
    out = repo.boocode("log", *options).out
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}", "ID", out)
    text = re.sub(r"just now|[0-9]+ (s|min) ago", "", text)
    return [" ".join(line.split()) for line in text.splitlines() if line]


def test_a_turn_is_reverted_until_it_is_picked_or_the_revert_is_undone(turns: list[str]) -> None:
    first, second = turns
    step(REVERT, first, second)
    assert reverted() == {first, second}
    step(PICK, first)
    assert reverted() == {second}
    undone()
    assert reverted() == {first, second}
    undone()
    assert reverted() == set()
    redone()
    assert reverted() == {first, second}


def test_a_turn_of_which_a_part_is_there_is_not_reverted(turns: list[str]) -> None:
    step(REVERT, turns[0], whole=False)
    assert reverted() == set()
    step(REVERT, turns[0])
    step(PICK, turns[0], whole=False)
    assert reverted() == set()
    undone()
    assert reverted() == {turns[0]}


def test_a_restore_goes_back_to_what_was_reverted_then(turns: list[str]) -> None:
    first, second = turns
    step(REVERT, first)
    between = take(label="between")
    step(REVERT, second)
    back(between.id)
    assert reverted() == {first}
    back(second)
    assert reverted() == set()
    back(between.id, paths=("two",))
    assert reverted() == set()
    undone()
    undone()
    assert reverted() == {first}


def test_operations_are_listed_where_they_were_done(repo: Repo, turns: list[str]) -> None:
    step(REVERT, turns[0])
    take(label="third")
    repo.write("a", "b\n")
    back("@", paths=("a", "two"))
    step(PICK, *turns)
    step(REVERT, turns[1], whole=False)
    back(turns[0])
    undone()
    assert timeline(repo, "-v")[1] == "restored to before ID (first) (undone)"
    assert timeline(repo) == [
        "you are here: after this turn, @",
        "reverted a part of the turn ID (second)",
        "picked 2 turns",
        "restored some files to before ID (third)",
        "by hand on main",
        "@ 1 file +1 −1 third",
        "reverted the turn ID (first)",
        "cursor on main, session s",
        "@~1 1 file +1 −0 second",
        "@~2 1 file +1 −0 first",
    ]
    redone()
    assert timeline(repo) == [
        "restored to before ID (first)",
        "reverted a part of the turn ID (second) (restored away)",
        "picked 2 turns (restored away)",
        "restored some files to before ID (third) (restored away)",
        "by hand on main",
        "@ 1 file +1 −1 third (restored away)",
        "reverted the turn ID (first) (restored away)",
        "cursor on main, session s",
        "@~1 1 file +1 −0 first (restored away)",
        "you are here: before this turn, @~1",
    ]


def test_a_reverted_turn_is_marked(repo: Repo, turns: list[str]) -> None:
    step(REVERT, turns[0])
    assert "@~1 1 file +1 −0 first (reverted)" in timeline(repo)
    assert timeline(repo, "--oneline")[-1] == "ID @~1 first (reverted)"
    first, second = repo.boocode("log", "--json").json["checkpoints"]
    assert ("reverted" in first, second["reverted"]) == (False, True)
    assert re.search("^turn +reverted$", repo.boocode("show", turns[0]).out, re.MULTILINE)
    assert repo.boocode("show", turns[0], "--json").json["reverted"] is True
    assert "reverted" not in repo.boocode("show", turns[1], "--json").json


def test_operations_are_data(repo: Repo, turns: list[str]) -> None:
    step(REVERT, turns[1])
    back(turns[0])
    undone()
    operations = repo.boocode("log", "--json").json["operations"]
    assert [(row["command"], row["undone"], row["partial"]) for row in operations] == [
        ("restore", True, False),
        ("revert", False, False),
    ]
    assert operations[0]["checkpoint_id"] == turns[0]
    assert (operations[0]["turns"], operations[1]["turns"]) == ([], [turns[1]])
    assert repo.boocode("restore", operations[1]["id"], "-n").code == 0


@pytest.mark.parametrize(
    "options",
    [("--agent", "cursor"), ("--session", "s"), ("--grep", "second"), ("--archived",), ("a",)],
)
@pytest.mark.variants
def test_a_search_finds_turns_only(repo: Repo, turns: list[str], options: list[str]) -> None:
    step(REVERT, turns[1])
    assert "operations" not in repo.boocode("log", "--json", *options).json


def test_a_limit_counts_turns(repo: Repo, turns: list[str]) -> None:
    step(REVERT, turns[0])
    take(label="third")
    step(REVERT, turns[1])
    assert timeline(repo, "-n", "1") == [
        "you are here: after this turn, @",
        "reverted the turn ID (second)",
        "by hand on main",
        "@ 0 files +0 −0 third",
    ]
    assert timeline(repo, "-n", "0") == []
    assert len(repo.boocode("log", "--json", "-n", "2").json["operations"]) == 2
    assert "operations" not in repo.boocode("log", "--json", "--until", "2020-01-01").json


def test_what_was_undone_and_replaced_is_not_listed(repo: Repo, turns: list[str]) -> None:
    step(REVERT, turns[0])
    undone()
    step(REVERT, turns[1])
    [operation] = repo.boocode("log", "--json").json["operations"]
    assert operation["turns"] == [turns[1]]


def test_an_undo_names_what_it_undid(repo: Repo, turns: list[str]) -> None:
    step(REVERT, *turns)
    done = repo.boocode("undo")
    assert re.search(r"to \S+ \(before the revert of [-0-9a-f]{13} and 1 more\)$", done.out, re.M)
