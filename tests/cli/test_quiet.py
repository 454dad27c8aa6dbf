"""`-q` leaves what was asked for, and what went wrong; `-v` adds to it."""

from __future__ import annotations

import pytest

from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def changed(repo: Repo) -> Repo:
    """A repository with a checkpoint and a change since then."""
    repo.write("a", "a\n")
    repo.commit()
    repo.boocode("checkpoint")
    repo.write("a", "b\n")
    return repo


EDIT = ("apply-edit", "--path", "a", "--old", "b", "--new", "c")


@pytest.mark.parametrize(
    "commands",
    [
        [("restore", "@"), ("undo",), ("redo",)],
        [EDIT, ("rewind",)],
        [("drop", "@")],
        [("prune", "--keep", "1"), ("prune",)],
        [("hooks", "install", "--agent", "claude-code", "--git"), ("hooks", "uninstall")],
        [("doctor",)],
        [("run", "true")],
    ],
    ids=lambda commands: commands[0][0],
)
def test_nothing_is_printed_about_what_was_done(
    changed: Repo, commands: list[tuple[str, ...]]
) -> None:
    changed.boocode("checkpoint", "-m", "other")
    changed.write("a", "b\nd\n")
    for command in commands:
        assert changed.boocode("-q", *command) == (0, "", "")


def test_nothing_is_printed_about_what_was_pushed_or_fetched(changed: Repo) -> None:
    changed.git("init", "-q", "--bare", "../remote.git")
    changed.git("remote", "add", "origin", "../remote.git")
    assert changed.boocode("push", "-q") == (0, "", "")
    assert changed.boocode("push", "-q") == (0, "", "")
    assert changed.boocode("fetch", "-q") == (0, "", "")


def test_what_was_asked_for_is_printed(changed: Repo) -> None:
    identifier = changed.boocode("-q", "checkpoint").out
    assert len(identifier) == 37
    for command in (("log",), ("show",), ("restore", "-n", "@~1"), (*EDIT, "-n", "--diff")):
        quiet, loud = changed.boocode("-q", *command), changed.boocode(*command)
        assert quiet.out == loud.out != ""
        assert quiet.err == ""
    assert changed.boocode(*EDIT, "-q", "--diff").out.startswith("diff --git a/a b/a\n--- a/a\n")


def test_errors_keep_their_hints(changed: Repo) -> None:
    assert changed.boocode("-q", "restore", "nowhere") == changed.boocode("restore", "nowhere")


def test_what_is_missing_from_a_checkpoint_is_no_advice(changed: Repo) -> None:
    changed.git("config", "boocode.maxFileSize", "1")
    changed.write("large", "12")
    assert "warning: not recorded: large" in changed.boocode("checkpoint", "-q").err


def test_of_both_the_last_one_counts(changed: Repo) -> None:
    assert changed.boocode("-q", "restore", "-v", "@").out != ""
    assert changed.boocode("-v", "-q", "undo").out == ""


def test_a_verbose_checkpoint_says_what_it_holds(changed: Repo) -> None:
    done = changed.boocode("checkpoint", "-v")
    commit = changed.git("rev-parse", f"refs/boocode/checkpoints/{done.out.strip()}").strip()
    assert done.err == f"commit {commit}\n1 file changed since HEAD\n"
    again = changed.boocode("-v", "checkpoint", "--if-changed")
    assert again.err.endswith("\n1 file changed since HEAD, none since the latest checkpoint\n")
    assert again.out == done.out


def test_a_verbose_prune_names_what_goes(changed: Repo) -> None:
    for _ in range(3):
        changed.boocode("checkpoint")
    assert changed.boocode("prune", "--keep", "1", "-v").out.count("checkpoint: beyond") == 3


def test_a_verbose_status_lists_all_agents(repo: Repo) -> None:
    assert "Claude Code" not in repo.boocode("hooks", "status").out
    assert "Claude Code: not installed\n" in repo.boocode("hooks", "status", "-v").out
