"""`git boocode status`: one look at hooks, checkpoints, edits and what was interrupted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.agents.kit import Turns, fire, recorded, turn
from tests.repo_kit import Repo


def test_a_repository_in_which_nothing_has_happened(repo: Repo) -> None:
    done = repo.boocode("status")
    assert (done.code, done.out) == (0, "no hooks are installed, and nothing is recorded\n")
    assert done.err == "hint: 'git boocode hooks install' has agents take checkpoints\n"
    # A look leaves nothing behind.
    assert not (repo.top / ".git/boocode").exists()


def test_an_overview(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.boocode("hooks", "install", "--agent", "claude-code", "--agent", "codex", "--git")
    payload = recorded(repo, "claude-code", "UserPromptSubmit")
    fire(repo, "claude-code", "UserPromptSubmit", payload=payload)
    repo.write("a", "two\n")
    repo.boocode("checkpoint", "-m", "a label")
    repo.write("a", "three\n")
    repo.boocode("restore", "@")
    repo.boocode("apply-edit", "--path", "a", "--old", "two", "--new", "four")
    done = repo.boocode("status")
    assert re.fullmatch(
        r"hooks:\n"
        r"  Claude Code \(local\): last called (just now|\d+ s ago) \(.*\)\n"
        r"  Codex CLI \(project\): not trusted yet, never called here\n"
        r"  git: pre-commit, .*post-merge\n"
        r"checkpoints:\n"
        r"  newest: [0-9a-f-]{13,}, (just now|\d+ s ago): a label\n"
        r"  2 checkpoints, 1 safety checkpoint\n"
        r"edits:\n"
        r"  1 edit record\n"
        r"storage:\n"
        r"  [0-9.]+ KiB on disk: checkpoints .*, safety checkpoints .*, edit records .*\n"
        r"  [0-9.]+ KiB of private files\n",
        done.out,
    )
    assert "run '/hooks' in Codex" in done.err
    answer = repo.boocode("status", "--json").json
    newest = repo.boocode("log", "--json").json["checkpoints"][0]
    assert answer["checkpoints"]["newest"]["id"] == newest["id"]
    assert answer["checkpoints"]["newest"]["label"] == "a label"
    assert answer["storage"]["bytes"] > 0


def test_a_call_that_failed_is_reported_until_one_succeeds(repo: Repo) -> None:
    repo.boocode("hooks", "install", "--agent", "claude-code")
    turn(repo)
    assert "failed" not in repo.boocode("status").out
    repo.git("config", "boocode.maxFileSize", "1x")
    turn(repo, prompt="next")
    done = repo.boocode("status")
    said = f"bad value '1x' for 'boocode.maxFileSize' in {repo.top}/.git/config"
    assert done.out.startswith(f"settings:\n  {said}\nhooks:\n  Claude Code (local): last called ")
    assert f"  Claude Code: its last call failed: {said}\n" in done.out
    assert done.err == "hint: 'git boocode doctor' says more\n"
    [failed] = repo.boocode("status", "--json").json["hooks"]["failed"]
    assert (failed["agent"], failed["code"]) == ("claude-code", "bad_config")
    repo.git("config", "boocode.maxFileSize", "1m")
    turn(repo, prompt="and again")
    assert "failed" not in repo.boocode("status").out


def test_an_invalid_limit_is_reported(repo: Repo) -> None:
    repo.boocode("checkpoint")
    repo.git("config", "boocode.maxDisk", "1x")
    answer = repo.boocode("status", "--json").json
    assert [each["kind"] for each in answer["settings"]] == ["bad_setting"]
    assert answer["storage"]["limit"] is None


@pytest.mark.parametrize("name", ["commitMessage", "gitHooks", "hookTimeout", "perTool"])
def test_an_invalid_setting_of_hooks_is_reported(repo: Repo, name: str) -> None:
    repo.boocode("hooks", "install", "--git")
    repo.git("config", f"boocode.{name}", "1x")
    done = repo.boocode("status")
    [_, said, hooks, again] = done.out.splitlines()[:4]
    assert said.startswith(f"  bad value '1x' for 'boocode.{name}'")
    assert (done.code, hooks, again) == (0, "hooks:", said)
    assert repo.boocode("status", "--json").json["hooks"]["git"] == []


def test_hooks_that_an_installation_would_change_are_named(repo: Repo) -> None:
    repo.boocode("hooks", "install", "--agent", "claude-code", "--git")
    hint = "hint: 'git boocode hooks status' says how to renew the hooks\n"
    assert hint not in repo.boocode("status").err
    repo.git("config", "boocode.hookTimeout", "60")
    done = repo.boocode("status")
    assert "  Claude Code (local): not up to date, never called here\n" in done.out
    assert hint in done.err
    repo.boocode("hooks", "install", "--agent", "claude-code")
    assert hint not in repo.boocode("status").err
    path = ".claude/settings.local.json"
    repo.write(path, repo.read(path).replace(b'"UserPromptSubmit"', b'"Other"'))
    done = repo.boocode("status")
    assert "  Claude Code (local): not up to date, never called here\n" in done.out
    assert hint in done.err
    repo.boocode("hooks", "install", "--agent", "claude-code")
    # Newer versions of git read hooks from their settings.
    places = [".git/config", *(f".git/hooks/{path.name}" for path in repo.top.glob(".git/hooks/*"))]
    for place in places:
        repo.write(place, repo.read(place).replace(b" hook git", b"-of-before hook git"))
    assert hint in repo.boocode("status").err


def test_hooks_that_vanished_are_missed(repo: Repo) -> None:
    repo.boocode("hooks", "install", "--agent", "claude-code")
    path = repo.top / ".claude/settings.local.json"
    written = path.read_text()
    repo.git("clean", "-fdq")
    # It has never called them.
    assert "gone" not in repo.boocode("status").out
    Turns(repo).whole("do it", a="a\n")
    done = repo.boocode("status")
    assert "  Claude Code: the hooks are gone, so nothing is recorded any more\n" in done.out
    assert done.err == (
        "hint: 'git boocode hooks install --agent claude-code' installs the hooks of Claude Code "
        "again\n"
    )
    assert repo.boocode("status", "--json").json["hooks"]["gone"] == ["claude-code"]
    repo.boocode("hooks", "install", "--agent", "claude-code")
    assert path.read_text() == written
    assert "gone" not in repo.boocode("status").out
    repo.boocode("hooks", "uninstall")
    assert "gone" not in repo.boocode("status").out


def test_an_interruption_comes_first(repo: Repo) -> None:
    repo.commit(a="one\n")
    first = repo.boocode("checkpoint").out.strip()
    repo.write("a", "two\n")
    undo = repo.boocode("restore", first, "--json").json["undo"]
    Path(".git/boocode/restore-in-progress").write_text(json.dumps({"safety": undo}))
    done = repo.boocode("status")
    assert done.code == 0
    assert done.out.startswith("interrupted:\n  a restore was interrupted half-way; ")
    assert "hint: 'git boocode doctor --fix' or 'git boocode undo' goes back to it\n" in done.err
    [finding] = repo.boocode("status", "--json").json["interrupted"]
    assert finding["kind"] == "interrupted_restore"


def test_a_checkpoint_of_another_worktree_counts_but_is_not_the_newest(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.git("worktree", "add", "-q", "--detach", "linked")
    repo.boocode("checkpoint", cwd="linked")
    answer = repo.boocode("status", "--json").json["checkpoints"]
    assert (answer["newest"], answer["count"]) == (None, 1)
    assert "  1 checkpoint\n" in repo.boocode("status").out


def test_the_exit_code_says_whether_something_is_proposed(repo: Repo) -> None:
    repo.commit(a="one\n", b="one\n")
    assert repo.boocode("status", "--exit-code").code == 0
    repo.boocode("propose", "--path", "a", "--old", "one", "--new", "two")
    assert repo.boocode("status", "--exit-code").code == 1
    assert repo.boocode("status", "--exit-code", "b").code == 0
    done = repo.boocode("status", "--exit-code", "--json", "a")
    assert (done.code, done.json["files"][0]["status"]) == (1, "M")
    assert repo.boocode("status", "a").code == 0
    repo.write("a", "two\n")
    assert repo.boocode("status", "--exit-code").code == 0
