"""Hooks of git that note which turns wrote the lines of commits."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest

from git_boocode.agents.git_hooks import run_git_hook
from git_boocode.repo.layout import ATTRIBUTION_LOCK
from git_boocode.repo.lock import file_lock
from tests.agents.hooks_kit import install
from tests.agents.kit import fire, prompted, taken, turn
from tests.repo_kit import Repo

EDITOR = ".git/editor"


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
    with file_lock(str(repo.top / ".git/boocode" / ATTRIBUTION_LOCK), patience=30):
        # Git does not wait for the hook, nor does who reads what git prints.
        repo.commit("turn")
        assert noted(repo) == {}
    assert awaited(repo) == {"f": [(3, 3)]}
    repo.git("commit", "-q", "--amend", "-m", "amended")
    assert awaited(repo) == {"f": [(3, 3)]}
    assert noted(repo, "HEAD~1") == {}
    repo.git("checkout", "-q", "-b", "other", "HEAD~1")
    repo.commit("upstream", f="upstream\na\nb\n")
    repo.git("rebase", "-q", "other", "main")
    assert awaited(repo) == {"f": [(4, 4)]}


@pytest.mark.slow
@pytest.mark.parametrize("copied", [False, True])
def test_amended_and_rebased_where_the_turns_are_gone(repo: Repo, *, copied: bool) -> None:
    """Also if git copies the notes itself, beside our hooks."""
    base = repo.commit("base", f="a\n")
    install("post-commit", "post-rewrite")
    if copied:
        repo.git("config", "notes.rewriteRef", "refs/notes/*")
    turn(repo)
    repo.write("f", "a\nby the turn\nalso by the turn\n")
    end(repo)
    repo.commit("turn")
    assert awaited(repo) == {"f": [(2, 3)]}
    for name in repo.git("for-each-ref", "--format=%(refname)", "refs/boocode").split():
        repo.git("update-ref", "-d", name)

    def expect(ranges: list[tuple[int, int]]) -> None:
        """Wait for the note of HEAD, which git may have made of that of another commit before."""
        head, deadline = repo.git("rev-parse", "HEAD").strip(), time.monotonic() + 30
        while time.monotonic() < deadline:
            with suppress(ValueError):
                text = repo.git("notes", "--ref=boocode", "show", check=False)
                if json.loads(text)["vcs"]["revision"] == head and noted(repo) == {"f": ranges}:
                    return
            time.sleep(0.05)
        raise AssertionError(text)

    repo.git("commit", "-q", "--amend", "-m", "amended")
    expect([(2, 3)])
    repo.write("f", "by hand\na\nby the turn\nchanged by hand\n")
    repo.git("commit", "-qa", "--amend", "-m", "amended again")
    expect([(3, 3)])
    repo.git("checkout", "-q", "-b", "other", base)
    repo.commit("upstream", f="a\n\n\n\nupstream\n")
    repo.git("rebase", "-q", "-X", "theirs", "other", "main")
    number = repo.read("f").decode().split("\n").index("by the turn") + 1
    expect([(number, number)])


@pytest.mark.slow
def test_commits_in_a_turn_once_it_has_ended(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    install()

    def tool(event: str, call: str) -> None:
        payload = {**prompted(repo), "tool_name": "Bash", "tool_use_id": call, "tool_input": {}}
        fire(repo, "claude-code", event, payload=payload)

    turn(repo)
    tool("PreToolUse", "t1")
    repo.commit("c1", f="a\n1\n")
    assert awaited(repo) == {"f": [(2, 2)]}
    repo.commit("c2", f="a\n1\n2\n")
    repo.commit("c3", new="3\n")
    tool("PostToolUse", "t1")
    tool("PreToolUse", "t2")
    repo.write("f", "a\n1\n2\n4\n")
    tool("PostToolUse", "t2")
    repo.commit("c4", f="a\n1\n2\n4\n")
    repo.commit("c5", f="a\n1\n2\n4\n5\n")
    end(repo)
    for number, line in ((3, 3), (0, 5)):
        assert awaited(repo, f"HEAD~{number}") == {"f": [(line, line)]}
    lines = [{"f": [(2, 2)]}, {"new": [(1, 1)]}, {"f": [(4, 4)]}, {"f": [(5, 5)]}]
    assert [noted(repo, f"HEAD~{number}") for number in (4, 2, 1, 0)] == lines
    repo.commit("by hand", f="a\n1\n2\n4\n5\nby hand\n")
    assert repo.boocode("turn", "begin", "-m", "more").code == 0
    for number in range(3):
        repo.commit("turn", more="more\n" * (number + 1))
    assert repo.boocode("turn", "end").code == 0
    for number, line in ((1, 2), (0, 3)):
        assert awaited(repo, f"HEAD~{number}") == {"more": [(line, line)]}
    lines = [{}, {"more": [(1, 1)]}, {"more": [(3, 3)]}]
    assert [noted(repo, f"HEAD~{number}") for number in (3, 2, 0)] == lines


def test_commits_that_the_agent_makes_itself(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says whose command git is, so that its turn goes on after each commit."""
    repo.commit("base", f="a\n")
    repo.git("config", "boocode.commitMessage", "trailer")
    install()
    turn(repo)
    identifier = taken(repo)[0]["id"]
    with monkeypatch.context() as context:
        context.setenv("CLAUDE_CODE_SESSION_ID", "s1")
        repo.commit("c1", f="a\n1\n")
        repo.commit("c2", f="a\n1\n2\n")
        repo.commit("c3", f="a\n1\n2\n3\n")
    for number in range(3):
        assert awaited(repo, f"HEAD~{number}") == {"f": [(4 - number, 4 - number)]}
        assert f"Agent-Turn: {identifier}" in repo.git("log", "-1", f"HEAD~{number}")
    repo.commit("by hand", g="hand\n")
    end(repo)
    repo.commit("by hand", f="a\n1\n2\n3\nhand\n")
    assert "Agent-Turn" not in repo.git("log", "-1")


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


def committed(repo: Repo, *words: str) -> str:
    """Commit and return what the message was before the editor could change it."""
    script = '#!/bin/sh\ncp "$1" "$0.seen"\n[ -s "$1" ] && echo done >"$1"\n'
    repo.write(EDITOR, script, 0o755)
    repo.git("-c", f"core.editor={EDITOR}", "commit", "-q", *words)
    return repo.git("log", "-1", "--format=%B")


def test_the_message_of_a_commit_is_prepared_as_wanted(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    seen = repo.top / f"{EDITOR}.seen"
    repo.git("config", "boocode.commitMessage", "template")
    install("pre-commit")
    turn(repo, prompt="add b\nand no more")
    repo.write("f", "a\nb\n")
    end(repo)
    repo.write("f", "a\nb\nby hand\n")
    identifier = taken(repo)[0]["id"]
    repo.git("add", "f")
    assert committed(repo) == "done\n\n"
    assert "#   claude-code: add b\n#     f: 1 line\n" in seen.read_text()
    assert committed(repo, "--amend", "-m", "plain") == "plain\n\n"
    repo.git("config", "boocode.commitMessage", "trailer")
    trailer = f"\n\nAgent-Turn: {identifier}\n\n"
    assert committed(repo, "--amend", "--no-edit") == f"plain{trailer}"
    repo.git("reset", "-q", "--soft", "HEAD~1")
    assert committed(repo, "-m", "new") == f"new{trailer}"
    repo.write("f", "c\n")
    assert committed(repo, "-a", "-m", "by hand") == "by hand\n\n"
    repo.git("config", "boocode.commitMessage", "nonsense")
    assert committed(repo, "--amend", "-m", "anyway") == "anyway\n\n"
    repo.git("config", "--unset", "boocode.commitMessage")
    install("pre-commit")
    assert not (repo.top / ".git/hooks/prepare-commit-msg").exists()


@pytest.mark.slow
def test_comments_do_not_stay_in_a_message_nor_keep_an_empty_one(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    template = repo.write(".git/template", "\n# Why?\nSubject\n\n# How?\n")

    def commit(text: str, *words: str) -> str:
        script = (
            f'#!/bin/sh\ncp "$1" "$0.seen"\nprintf "{text}" | cat - "$1" >"$0.new"\n'
            'cp "$0.new" "$1"\n'
        )
        repo.write(EDITOR, script, 0o755)
        repo.git("-c", f"core.editor={EDITOR}", "commit", "-q", *words, check=False)
        made = repo.git("log", "-1", "--format=%B").strip()
        if made != "base":
            repo.git("reset", "-q", "--soft", "HEAD~1")
        return made

    repo.commit("base", f="a\n")
    turn(repo, prompt="add b")
    repo.write("f", "a\nb\n")
    end(repo)
    repo.git("add", "f")
    # HEAD comes back to the same commit, and the times in its reflog are in seconds.
    time.sleep(2)
    trailer = f"Agent-Turn: {taken(repo)[0]['id']}"
    for form, more in (("template", ""), ("trailer", f"\n\n{trailer}")):
        repo.git("config", "boocode.commitMessage", form)
        install("post-rewrite")
        for words in ("", "-v", "--cleanup=scissors", "-v --cleanup=scissors"):
            assert commit("done\n", *words.split()) == f"done{more}"
            seen = (repo.top / f"{EDITOR}.seen").read_text()
            assert "turns of agents" in seen.partition(" >8 ")[2 if words else 0]
            assert commit("", *words.split()) == "base"
        assert commit("", "-m", "") == commit("", "-s") == "base"
        repo.git("config", "commit.template", str(template))
        assert commit("") == "base"
        made = commit("done\n")
        assert made.startswith("done\n\nSubject")
        assert made.endswith(trailer if more else "Subject")
        assert commit("", "-t", EDITOR) == "base"
        for key, value in (("core.commentChar", ";"), ("core.commentChar", "auto")):
            repo.git("config", key, value)
            assert commit("") == "base"
            assert "agents" not in commit("done\n")
        repo.git("config", "--unset", "core.commentChar")
        repo.git("config", "--unset", "commit.template")
