"""`git boocode restore` without a checkpoint: a simple terminal is asked for a number, and all that
is no terminal gets a list; `test_picker` has the other terminals."""

from __future__ import annotations

import re

import pytest

from tests.checkpoints.kit import seen, take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

QUESTION = "restore the state before which turn?"


@pytest.fixture
def turns(repo: Repo) -> Repo:
    """Three turns, of which the second changed two files, and the last one."""
    repo.commit(a="0\n")
    take(label="first", agent="claude-code")
    take(label="second\x1b[31m", agent="cursor")
    repo.write("a", "1\n")
    repo.write("b", "b\n")
    take(label="third")
    repo.write("a", "2\n")
    return repo


def test_a_turn_is_chosen_shown_and_restored(turns: Repo) -> None:
    terminal = Terminal("git-boocode", "restore")
    listed = terminal.wait_for(QUESTION).splitlines()
    assert [re.sub(r"just now|\d+ s ago", "TIME", " ".join(line.split())) for line in listed] == [
        "@ TIME 1 file +1 −1 third",
        "@~1 TIME 2 files +2 −1 cursor second?[31m",
        "@~2 TIME 0 files +0 −0 claude-code first",
    ]
    terminal.type("7\n")
    assert "'7' is not a number from 0 to 2" in terminal.wait_for(QUESTION)
    terminal.type("1\n")
    preview = terminal.wait_for("restore this? [y/N]")
    assert " M a\r\n D b\r\n" in preview
    assert "would restore 2 files" in preview
    terminal.type("y\n")
    code, shown = terminal.end()
    assert code == 0
    assert "restored 2 files" in shown
    assert turns.read("a") == b"0\n"
    assert not (turns.top / "b").exists()


@pytest.mark.parametrize("answers", [["q\n"], ["\x04"], ["0\n", "\n"]])
def test_a_no_changes_nothing(turns: Repo, answers: list[str]) -> None:
    before = seen(turns)
    terminal = Terminal("git-boocode", "restore")
    for question, answer in zip((QUESTION, "restore this?"), answers, strict=False):
        terminal.wait_for(question)
        terminal.type(answer)
    code, shown = terminal.end()
    assert (code, seen(turns)) == (1, before)
    assert "nothing was changed" in shown


def test_what_was_not_shown_is_not_restored(turns: Repo) -> None:
    terminal = Terminal("git-boocode", "restore")
    terminal.wait_for(QUESTION)
    terminal.type("1\n")
    terminal.wait_for("restore this?")
    turns.write("new", "not shown\n")
    before = seen(turns)
    terminal.type("y\n")
    code, shown = terminal.end()
    assert (code, seen(turns)) == (1, before)
    assert "files have changed since you looked at what would change" in shown


def test_a_running_turn_is_named(turns: Repo) -> None:
    assert turns.boocode("turn", "begin", "-m", "fix").code == 0
    before = seen(turns)
    terminal = Terminal("git-boocode", "restore")
    terminal.wait_for(QUESTION)
    terminal.type("2\n")
    terminal.wait_for("restore this?")
    terminal.type("y\n")
    code, shown = terminal.end()
    assert (code, seen(turns)) == (1, before)
    assert "a turn is running: 'fix', since" in shown


def test_a_moved_head_is_offered(turns: Repo) -> None:
    before = turns.git("rev-parse", "HEAD")
    turns.git("commit", "-qam", "later")
    terminal = Terminal("git-boocode", "restore")
    terminal.wait_for(QUESTION)
    terminal.type("1\n")
    terminal.wait_for("move HEAD back, too? [y/N]")
    terminal.type("y\n")
    shown = terminal.wait_for("restore this?")
    assert re.search("1 commit would leave main: [0-9a-f]+ later\r?\n", shown)
    terminal.type("y\n")
    assert terminal.end()[0] == 0
    assert turns.git("rev-parse", "HEAD") == before
    assert turns.read("a") == b"0\n"


def test_there_is_nothing_to_do(turns: Repo) -> None:
    take(label="now")
    terminal = Terminal("git-boocode", "restore")
    terminal.wait_for(QUESTION)
    terminal.type("0\n")
    code, shown = terminal.end()
    assert code == 0
    assert "nothing to do" in shown


def test_without_a_terminal_there_is_a_list(turns: Repo) -> None:
    done = turns.boocode("restore")
    assert done.code == 129
    names = [line.split()[0] for line in done.out.splitlines()]
    assert names == ["@", "@~1", "@~2"]
    listed = "error: no checkpoint given\nhint: give one of those listed: git boocode restore"
    assert done.err == f"{listed} @\n"
    some = turns.boocode("restore", "--files-only", "--", "b", "no such")
    assert (some.code, some.err) == (129, f"{listed} @~1 --files-only -- b 'no such'\n")
    assert [line.split()[0] for line in some.out.splitlines()] == ["@~1"]
    none = turns.boocode("restore", "--", "no such")
    assert (none.code, none.out) == (129, "")
    assert none.err.splitlines()[1:] == [
        "hint: no turn changed 'no such'; 'git boocode log' lists the turns"
    ]
    answer = turns.boocode("restore", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (129, "usage")
    assert [row["files"] for row in answer.json["checkpoints"]] == [1, 2, 0]
    assert [row["agent"] for row in answer.json["checkpoints"]] == [None, "cursor", "claude-code"]


def test_older_turns_are_a_page_further(repo: Repo) -> None:
    repo.commit(a="a\n")
    for number in range(25):
        take(label=f"turn {number}")
    terminal = Terminal("git-boocode", "restore", "-n")
    assert "turn 5\r\n" in terminal.wait_for("[0-19, m for older ones, empty for none]")
    terminal.type("m\n")
    assert "turn 0\r\n" in terminal.wait_for("[0-24, empty for none]")
    terminal.type("24\n")
    code, shown = terminal.end()
    assert (code, "(turn 0)" in shown) == (0, True)


def test_there_are_no_turns(repo: Repo) -> None:
    repo.commit(a="a\n")
    done = repo.boocode("restore")
    assert (done.code, done.out) == (129, "")
    assert "this worktree has no checkpoints" in done.err
    terminal = Terminal("git-boocode", "restore")
    code, shown = terminal.end()
    assert code == 129
    assert "no checkpoints" in shown
