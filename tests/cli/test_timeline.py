"""`git boocode log` as a timeline: marks of turns, commits, changes by hand, and where one is."""

from __future__ import annotations

import re

import pytest

from tests.agents.kit import Turns
from tests.repo_kit import Repo


@pytest.fixture
def turns(repo: Repo) -> Turns:
    repo.commit(a="a\n")
    return Turns(repo)


def log(repo: Repo, *options: str) -> list[str]:
    """The lines of the log without ids, hashes, times and headings."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}", "ID", repo.boocode("log", *options).out)
    text = re.sub(r"\b[0-9a-f]{7}\b", "HASH", text)
    text = re.sub(r"just now|[0-9]+ (s|min|weeks) ago", "", text)
    lines = [" ".join(line.split()) for line in text.splitlines() if line]
    return [line for line in lines if not line.startswith("claude-code on")]


def test_commits_and_changes_by_hand_are_among_the_turns(repo: Repo, turns: Turns) -> None:
    turns.begin("first")
    repo.commit("in the turn", a="1\n")
    turns.end("first")
    repo.commit("after it", a="2\n")
    turns.whole("second", a="3\n")
    repo.write("b", "by hand\n")
    assert log(repo) == [
        "you are here: after this turn, @",
        "by hand 1 file +1 −0",
        "@ 1 file +1 −1 second",
        "by hand 1 file +1 −1",
        "committed HASH after it",
        "committed HASH in the turn",
        "@~1 1 file +1 −1 first",
    ]
    assert log(repo, "--oneline", "-n", "1") == [
        "you are here: after this turn, @",
        "by hand 1 file +1 −0",
        "ID @ second",
    ]
    assert log(repo, "--grep", "second") == ["@ 1 file +1 −1 second"]


@pytest.mark.slow
def test_many_commits_are_one_line(repo: Repo, turns: Turns) -> None:
    turns.whole("first")
    for number in range(4):
        repo.commit(f"commit {number}")
    assert log(repo)[1] == "4 commits, HASH to HASH commit 3"
    repo.git("reset", "-q", "--hard", "HEAD~2")
    assert log(repo)[1] == "5 moves of HEAD, the last: reset to HASH commit 1"
    assert len(repo.boocode("log", "--json").json["commits"]) == 5


def test_a_restore_moves_the_mark_and_an_undo_moves_it_back(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    turns.whole("second", a="2\n")
    turns.whole("other", session="s2", b="3\n")
    before = log(repo)
    repo.boocode("restore", turns["second"], "--files-only")
    assert log(repo) == [
        "restored to before ID (second)",
        "@ 1 file +1 −0 other (restored away)",
        "@~1 1 file +1 −1 second (restored away)",
        "you are here: before this turn, @~1",
        "@~2 1 file +1 −1 first",
    ]
    assert log(repo, "-n", "1")[-1] == "you are here: before this turn, ID"
    repo.write("c", "by hand\n")
    assert "you are here: before this turn, @~1, and by hand 1 file +1 −0" in log(repo)
    (repo.top / "c").unlink()
    repo.boocode("undo")
    assert log(repo) == before


@pytest.mark.slow
def test_a_running_turn_is_marked(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    turns.whole("second", a="2\n")
    repo.boocode("restore", turns["first"], "--session", "s1", "--files-only")
    turns.begin("third")
    assert log(repo)[:2] == ["you are here: during this turn, @", "@ 0 files +0 −0 third (running)"]
    row = repo.boocode("log", "--json", "-n", "1").json
    assert row["checkpoints"][0]["open"] is True
    assert row["here"] == {
        "turn": turns["third"], "side": "during", "at": None, "files": 0, "added": 0, "removed": 0
    }  # fmt: skip


@pytest.mark.slow
def test_the_mark_says_that_the_turn_is_taken_back(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    repo.boocode("revert", turns["first"])
    assert log(repo)[0] == "you are here: after this turn, @ (reverted)"
    repo.boocode("undo")
    turns.begin("running", session="s2")
    repo.boocode("revert", turns["first"], "--force", "running-turn")
    assert log(repo)[0] == "you are here: during this turn, @"


def test_turns_that_a_restore_archived_are_marked(repo: Repo, turns: Turns) -> None:
    turns.whole("first", a="1\n")
    turns.whole("second", a="2\n")
    repo.git("update-ref", f"refs/boocode/archive/{turns['first']}/{turns['second']}",
             f"refs/boocode/checkpoints/{turns['second']}")  # fmt: skip
    repo.git("update-ref", "-d", f"refs/boocode/checkpoints/{turns['second']}")
    assert log(repo, "--archived") == ["ID 1 file +1 −1 second (archived)"]


def test_show_names_the_sides_of_a_turn_and_whether_it_is_in_force(
    repo: Repo, turns: Turns
) -> None:
    turns.whole("first", a="1\n")
    turns.whole("other", session="s2", b="1\n")
    shown = repo.boocode("show", turns["first"]).out
    name = turns["first"][:13]
    assert f"\nbefore      git boocode restore {name} (before this turn)\n" in shown
    assert f"\nafter       git boocode restore --after {name} (after this turn)\n" in shown
    assert "\nturn " not in shown
    repo.boocode("restore", turns["first"], "--files-only")
    assert "\nturn        restored away\n" in repo.boocode("show", turns["other"]).out
    assert repo.boocode("show", turns["other"], "--json").json["state"] == "restored"
