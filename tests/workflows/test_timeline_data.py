"""The page's timeline tells the truth: where one is, what was done by hand, which commits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.repository import Repository
from git_boocode.workflows.view_data import row_data
from tests.agents.kit import Turns
from tests.checkpoints.kit import back, interrupted
from tests.repo_kit import Repo


def rows(repo: Repo) -> dict[str, Any]:
    return row_data(Repository.discover(str(repo.top)), 100, {})


def named(turns: Turns, data: dict[str, Any], key: str = "state") -> dict[str, Any]:
    """What the data say of each turn, by its prompt."""
    prompts = {turn: prompt for prompt, turn in turns.items()}
    return {prompts[row["id"]]: row[key] for row in data["turns"]}


def here(repo: Repo) -> tuple[str, str, int]:
    found = rows(repo)["here"]
    return found["turn"], found["side"], found["files"]


@pytest.fixture
def turns(repo: Repo) -> Turns:
    repo.commit(a="a\n")
    return Turns(repo)


def test_changes_by_hand_are_entries_between_turns(repo: Repo, turns: Turns) -> None:
    turns.whole("first", b="1\n")
    assert rows(repo)["by_hand"] == []
    repo.write("b", "1\n2\n3\n")
    turns.whole("second", c="2\n")
    repo.write("a", "changed\n")
    latest, earlier = rows(repo)["by_hand"]
    assert (earlier["after"], earlier["before"]) == (turns["first"], turns["second"])
    assert (earlier["paths"], earlier["added"], earlier["removed"]) == (["b"], 2, 0)
    assert (latest["after"], latest["before"], latest["paths"]) == (turns["second"], None, ["a"])
    assert here(repo) == (turns["second"], "after", 1)


def test_a_turn_that_runs_is_open(repo: Repo, turns: Turns) -> None:
    turns.whole("first")
    turns.begin("second")
    repo.write("a", "agent\n")
    data = rows(repo)
    assert named(turns, data, "open") == {"second": True, "first": False}
    assert (here(repo), data["by_hand"]) == ((turns["second"], "during", 0), [])
    turns.end("second")
    assert named(turns, rows(repo), "open") == {"second": False, "first": False}
    assert here(repo) == (turns["second"], "after", 0)


def test_a_restore_takes_later_turns_away_until_it_is_undone(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    turns.whole("second", a="2\n")
    turns.whole("other", session="s2", b="3\n")
    assert repo.boocode("restore", turns["second"], "--files-only").code == 0
    data = rows(repo)
    assert named(turns, data) == {"other": "restored", "second": "restored", "first": ""}
    assert here(repo) == (turns["second"], "before", 0)
    assert data["by_hand"] == []
    assert [(row["side"], row["turns"]) for row in data["operations"]] == [
        ("before", [turns["second"]])
    ]
    repo.write("a", "by hand\n")
    assert here(repo) == (turns["second"], "before", 1)
    repo.write("a", "1\n")
    assert repo.boocode("undo").code == 0
    assert set(named(turns, rows(repo)).values()) == {""}
    assert here(repo) == (turns["other"], "after", 0)
    assert repo.boocode("redo").code == 0
    assert here(repo) == (turns["second"], "before", 0)
    turns.whole("new", a="4\n")
    assert here(repo) == (turns["new"], "after", 0)
    assert named(turns, rows(repo))["other"] == "restored"


@pytest.mark.slow
def test_a_revert_is_an_operation_and_nothing_by_hand(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    turns.whole("second", b="2\n")
    assert repo.boocode("revert", turns["first"]).code == 0
    data = rows(repo)
    assert (named(turns, data), data["by_hand"]) == ({"second": "", "first": "reverted"}, [])
    assert here(repo) == (turns["second"], "after", 0)
    repo.write("b", "3\n")
    assert here(repo) == (turns["second"], "after", 1)


@pytest.mark.slow
def test_a_restore_of_the_conversation_alone_is_listed_as_that(
    repo: Repo, turns: Turns, tmp_path: Path
) -> None:
    host = tmp_path / "host"
    host.write_text('#!/bin/sh\ncat >&2; echo \'{"messages_deleted": 1, "backend_reset": true}\'\n')
    host.chmod(0o755)
    turns.whole("first", a="1\n")
    wanted = ("--conversation-only", "--callback", str(host))
    assert repo.boocode("restore", turns["first"], *wanted).code == 0
    assert repo.boocode("restore", turns["first"], "--files-only").code == 0
    operations = rows(repo)["operations"]
    assert [each["conversation_only"] for each in operations] == [False, True]
    operations = repo.boocode("log", "--json").json["operations"]
    assert [each["conversation_only"] for each in operations] == [False, True]


@pytest.mark.slow
def test_a_restore_of_some_paths_is_nothing_by_hand(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n", b="1\n")
    repo.write("c", "by hand\n")
    assert repo.boocode("restore", turns["first"], "--", "a").code == 0
    [found] = rows(repo)["by_hand"]
    operation = rows(repo)["operations"][0]["id"]
    assert (found["paths"], found["operation"]) == (["c"], operation)
    assert found["ended"] == turns["first"]
    repo.write("b", "2\n")
    latest, found = rows(repo)["by_hand"]
    assert [latest["paths"], found["paths"]] == [["b"], ["c"]]
    assert (latest["ended"], latest["before"]) == (operation, None)
    assert here(repo) == (turns["first"], "after", 2)


@pytest.mark.slow
def test_archived_turns_are_not_by_hand(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    turns.whole("second", a="2\n")
    turns.whole("third", a="3\n")
    assert repo.boocode("restore", turns["first"], "--session", "s1").code == 0
    data = rows(repo)
    assert (named(turns, data), data["by_hand"]) == ({"first": "restored"}, [])
    assert here(repo) == (turns["first"], "before", 0)


def test_commits_are_listed_with_the_turn_in_which_they_were_made(repo: Repo, turns: Turns) -> None:
    turns.begin("first")
    inside = repo.commit("in the turn", a="1\n")
    turns.end("first")
    outside = repo.commit("after it", a="2\n")
    turns.whole("second")
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")
    commits = rows(repo)["commits"]
    assert [(row["subject"], row["kind"], row["turn"]) for row in commits] == [
        ("amended", "amend", None),
        ("after it", "commit", None),
        ("in the turn", "commit", turns["first"]),
    ]
    assert [row["id"] for row in commits[1:]] == [outside, inside]
    repo.git("checkout", "-q", "-b", "same")
    assert len(rows(repo)["commits"]) == 3
    repo.git("checkout", "-q", "-b", "other", outside)
    latest = rows(repo)["commits"][0]
    assert (latest["kind"], latest["branch"], latest["id"]) == ("checkout", "other", outside)


@pytest.mark.slow
def test_every_move_of_head_is_named(repo: Repo, turns: Turns) -> None:
    turns.whole("first")
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("aside", b="b\n")
    repo.git("checkout", "-q", "main")
    repo.commit("here", c="c\n")
    repo.git("merge", "-q", "--no-ff", "-m", "both", "side")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("cherry-pick", "side")
    repo.git("checkout", "-q", "side")
    repo.git("rebase", "-q", "main~1")
    repo.git("revert", "--no-edit", "HEAD")
    found = [(row["kind"], row["subject"]) for row in rows(repo)["commits"]]
    assert found == [
        ("revert", 'Revert "aside"'),
        ("rebase", "aside"),
        ("checkout", "aside"),
        ("cherry-pick", "aside"),
        ("reset", "here"),
        ("merge", "both"),
        ("commit", "here"),
        ("checkout", "commit"),
        ("commit", "aside"),
    ]


@pytest.mark.slow
def test_a_long_reflog_is_read_as_far_as_it_is_needed(repo: Repo, turns: Turns) -> None:
    turns.whole("first")
    for number in range(70):
        repo.git("commit", "-q", "--allow-empty", "-m", f"{number}")
    turns.whole("second")
    found = rows(repo)["commits"]
    assert [row["subject"] for row in found] == [f"{number}" for number in range(69, -1, -1)]


@pytest.mark.slow
def test_a_restore_names_what_it_went_back_to_in_a_linked_worktree(
    repo: Repo, turns: Turns, tmp_path: Path
) -> None:
    turns.whole("first", a="1\n")
    other = tmp_path / "linked"
    repo.git("worktree", "add", "-q", "--detach", str(other))
    there = Repo(other)
    there.write("a", "2\n")
    assert there.boocode("checkpoint", "-m", "there").code == 0
    data = rows(there)
    assert {row["state"] for row in data["turns"]} == {""}
    assert data["here"]["side"] == "after"
    assert (data["by_hand"], here(repo)) == ([], (turns["first"], "after", 0))


@pytest.mark.slow
def test_of_sessions_that_overlapped_nothing_is_by_hand(repo: Repo, turns: Turns) -> None:
    turns.begin("first", "s1")
    turns.begin("second", "s2")
    repo.write("a", "1\n")
    turns.end("second", "s2")
    repo.write("b", "1\n")
    assert rows(repo)["by_hand"] == []
    assert here(repo) == (turns["first"], "during", 0)
    turns.end("first", "s1")
    repo.write("c", "1\n")
    assert [row["paths"] for row in rows(repo)["by_hand"]] == [["c"]]
    assert here(repo) == (turns["first"], "after", 1)


@pytest.mark.slow
def test_the_mark_is_above_all_that_the_worktree_contains(repo: Repo, turns: Turns) -> None:
    turns.begin("first", "s1")
    turns.whole("second", "s2", a="1\n")
    turns.end("first", "s1")
    assert (here(repo), rows(repo)["here"]["at"]) == ((turns["first"], "after", 0), None)
    turns.whole("third", "s2", b="1\n")
    assert repo.boocode("restore", "--after", turns["first"], "--files-only").code == 0
    data = rows(repo)["here"]
    assert (data["turn"], data["side"]) == (turns["first"], "after")
    # The end of the first turn came after the second one.
    assert turns["second"] < data["at"] < turns["third"]
    assert repo.boocode("undo").code == 0
    assert (here(repo), rows(repo)["here"]["at"]) == ((turns["third"], "after", 0), None)


@pytest.mark.slow
def test_an_undo_may_lead_into_a_turn_and_below_a_later_one(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    turns.begin("second")
    repo.write("b", "1\n")
    assert repo.boocode("restore", turns["first"], "--files-only").code == 0
    assert repo.boocode("undo").code == 0
    assert here(repo) == (turns["second"], "during", 0)
    assert repo.boocode("redo").code == 0
    turns.end("second")
    turns.whole("third", "s2", c="1\n")
    assert repo.boocode("undo", "--force", "newer-turns,later-changes").code == 0
    assert here(repo) == (turns["second"], "during", 0)
    assert turns["second"] < rows(repo)["here"]["at"] < turns["third"]


def test_each_turn_says_who_took_it(repo: Repo, turns: Turns) -> None:
    turns.whole("first")
    repo.boocode("turn", "begin", "-m", "second")
    repo.boocode("turn", "end")
    repo.boocode("checkpoint", "-m", "third")
    assert [row["by"] for row in rows(repo)["turns"]] == ["by hand", "by turn", "claude-code"]


def test_a_restore_that_was_killed_is_news(
    repo: Repo, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns.whole("first", b="1\n")
    assert rows(repo)["interrupted"] == []
    killed = partial(back, turns["first"])
    interrupted(monkeypatch, killed)
    [said] = rows(repo)["interrupted"]
    assert said.startswith("a restore was interrupted half-way")
