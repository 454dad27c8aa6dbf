"""Hooks of git that note which turns wrote the lines of commits."""

from __future__ import annotations

import json
import time

from git_boocode.agents.git_hooks import run_git_hook
from tests.agents.hooks_kit import install
from tests.agents.kit import fire, prompted, turn
from tests.repo_kit import Repo


def end(repo: Repo) -> None:
    fire(repo, "claude-code", "Stop", payload=prompted(repo))


def noted(repo: Repo, name: str = "HEAD") -> dict[str, list[tuple[int, int]]]:
    """The lines in the note of a commit, by path."""
    text = repo.git("notes", "--ref=boocode", "show", name, check=False)
    return {
        file["path"]: [
            (each["start_line"], each["end_line"])
            for conversation in file["conversations"]
            for each in conversation["ranges"]
        ]
        for file in (json.loads(text)["files"] if text else ())
    }


def awaited(repo: Repo, name: str = "HEAD") -> dict[str, list[tuple[int, int]]]:
    """The same, once the hook is done."""
    deadline = time.monotonic() + 30
    while not (found := noted(repo, name)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def test_after_a_commit_amend_and_rebase(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    install("post-commit", "post-rewrite")
    repo.commit("by hand", f="a\nb\n")
    turn(repo)
    repo.write("f", "a\nb\nby the turn\n")
    end(repo)
    repo.commit("turn")
    assert awaited(repo) == {"f": [(3, 3)]}
    repo.git("commit", "-q", "--amend", "-m", "amended")
    assert awaited(repo) == {"f": [(3, 3)]}
    assert noted(repo, "HEAD~1") == {}
    repo.git("checkout", "-q", "-b", "other", "HEAD~1")
    repo.commit("upstream", f="upstream\na\nb\n")
    repo.git("rebase", "-q", "other", "main")
    assert awaited(repo) == {"f": [(4, 4)]}


def test_a_commit_without_turns_has_no_note(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    run_git_hook("post-commit", ())
    assert repo.git("for-each-ref", "refs/notes", "refs/boocode") == ""
    repo.git("config", "boocode.gitHooks", "pre-commit")
    turn(repo)
    repo.commit("turn", f="a\nb\n")
    run_git_hook("post-commit", ())
    assert noted(repo) == {}
    repo.git("config", "--unset", "boocode.gitHooks")
    run_git_hook("post-commit", ())
    assert noted(repo) == {"f": [(2, 2)]}
