"""`git boocode uninstall` removes what is ours, and nothing else, whenever it is interrupted."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from git_boocode.agents.agent import PROJECT, SERVER
from git_boocode.agents.registry import AGENTS, SERVER_AGENTS
from tests.cli.test_hooks import on_a_terminal
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def ours(repo: Repo) -> list[str]:
    """What is left of git-boocode in a repository."""
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/boocode").split()
    git_dir = repo.top / ".git"
    files = [str(path) for path in git_dir.rglob("boocode*") if path.parent != git_dir / "refs"]
    lines = (git_dir / "config").read_text().splitlines()
    config = [line for line in lines if "boocode" in line]
    return [*refs, *files, *config]


@pytest.fixture
def used(repo: Repo, sealed: Path) -> Repo:
    """A repository with hooks in every scope, a linked worktree, and a restored conversation."""
    repo.commit(a="one\n")
    repo.write(".claude/settings.json", '{"mine": 1}\n')
    repo.git("worktree", "add", "-q", "--detach", "linked")
    repo.write(".git/info/exclude", "linked\n.claude\n")
    for scope in ("--local", "--project", "--user"):
        repo.boocode("hooks", "install", "--agent", "claude-code", scope)
    repo.boocode("hooks", "install", "--agent", "gemini", "--git", "--exclude", cwd="linked")
    repo.boocode("checkpoint", cwd="linked")
    repo.git("config", "boocode.keep", "7")
    repo.git("config", "advice.boocode", "true")
    repo.git("config", "boocode.callback", "trim-jsonl")
    repo.git("config", "boocode.transcripts", str(sealed))
    chat = sealed / "chat.jsonl"
    chat.write_text('{"id": "1"}\n{"id": "2"}\n')
    repo.boocode("checkpoint", "--message", "2", "--meta", f"transcript={chat}")
    (sealed / "chat.jsonl.before-01a20055-7241-78ae-91d5-8b35fb252aab").write_text("not ours\n")
    repo.write("a", "two\n")
    assert repo.boocode("restore", "@").code == 0
    assert len(list(sealed.glob("chat.jsonl.before-*"))) == 2
    return repo


def test_everything_goes_and_what_is_not_ours_stays(used: Repo, sealed: Path) -> None:
    before = used.files()
    shown = used.boocode("uninstall", "-n")
    assert used.files() == before
    assert "refs/boocode/safety/" in shown.out
    assert "chat.jsonl.before-" in shown.out
    assert " D boocode.keep\n" in shown.out
    done = used.boocode("uninstall", "--everything")
    assert (done.code, done.err) == (0, "")
    assert ours(used) == []
    assert (used.top / ".claude/settings.json").read_text() == '{"mine": 1}\n'
    assert not (used.top / ".claude/settings.local.json").exists()
    assert not (sealed / ".claude").exists()
    assert not (used.top / "linked/.gemini").exists()
    assert used.read(".git/info/exclude") == b"linked\n.claude\n"
    assert not [path for path in (used.top / ".git/hooks").iterdir() if path.suffix != ".sample"]
    assert sorted(path.name for path in sealed.glob("chat.jsonl*")) == [
        "chat.jsonl",
        "chat.jsonl.before-01a20055-7241-78ae-91d5-8b35fb252aab",
    ]
    done = used.boocode("uninstall", "--everything")
    assert (done.code, done.out, done.err) == (0, "nothing to uninstall\n", "")
    assert used.boocode("checkpoint").code == 0


def test_nothing_of_any_agent_is_left(repo: Repo, sealed: Path) -> None:
    repo.commit(a="one\n")
    exclude = repo.read(".git/info/exclude")
    named = [word for name in AGENTS for word in ("--agent", name)]
    for scope in ((), ("--user",)):
        assert repo.boocode("hooks", "install", *named, *scope, "--exclude").code == 0
    assert repo.boocode("serve", "--install", *SERVER_AGENTS, "--user").code == 0
    in_project = [name for name in SERVER_AGENTS if PROJECT in SERVER_AGENTS[name].places(SERVER)]
    assert repo.boocode("serve", "--install", *in_project, "--project").code == 0
    done = repo.boocode("uninstall", "--everything")
    assert (done.code, done.err) == (0, "")
    assert repo.git("status", "--porcelain", "--ignored") == ""
    assert repo.read(".git/info/exclude") == exclude
    assert sorted(path.name for path in repo.top.iterdir()) == [".git", "a"]
    left = [str(path.relative_to(sealed)) for path in sealed.rglob("*")]
    assert sorted(left) == [".gitconfig", ".local", ".local/state"]


def test_without_a_terminal_only_the_hooks_of_the_repository_go(used: Repo, sealed: Path) -> None:
    done = used.boocode("uninstall")
    assert done.code == 0
    assert " M .claude/settings.json: Claude Code (project)\n" in done.out
    assert done.err.startswith(
        "hint: left: the hooks in your home directory, which serve all repositories (Claude Code); "
        "'git boocode uninstall --user' removes them\n"
    )
    assert (sealed / ".claude/settings.json").exists()
    assert "hint: left: 1 saved transcript (" in done.err
    assert "'git boocode uninstall --everything' removes them\n" in done.err
    assert used.boocode("undo").code == 0
    answer = used.boocode("uninstall", "--user", "--json").json
    assert [row["path"] for row in answer["hooks"]] == [str(sealed / ".claude/settings.json")]
    assert not (sealed / ".claude").exists()


def test_one_question_for_each_part(used: Repo, sealed: Path) -> None:
    done = on_a_terminal("n\nn\ny\nn\ny", "uninstall")
    assert done.code == 0
    assert done.err.count("home directory") == 1
    assert (
        "remove the hooks in your home directory, which serve all repositories (Claude Code)? [y/N]"
    ) in done.err
    assert (sealed / ".claude/settings.json").exists()
    assert re.findall(r"remove [^(]*\((.*?)\)\? \[y/N\]", done.err) == [
        "Claude Code",
        "which undo needs",
        "all checkpoints, proposals, edit records and kept versions",
        ".git/boocode of all worktrees",
        "of this repository",
    ]
    assert used.git("for-each-ref", "refs/boocode") == ""
    assert (used.top / ".git/boocode").is_dir()
    assert "boocode" not in used.read(".git/config").decode()


def test_private_files_stay_with_the_checkpoints_that_need_them(used: Repo, sealed: Path) -> None:
    done = on_a_terminal("y\nn\nn\nn", "uninstall")
    assert not (sealed / ".claude").exists()
    assert ".git/boocode of all worktrees" not in done.err
    assert (used.top / ".git/worktrees/linked/boocode/worktree-id").exists()
    assert used.boocode("undo").code == 0


def test_an_interrupted_restore_in_any_worktree_is_repaired_first(used: Repo) -> None:
    [undo] = used.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/boocode/safety").split()
    used.write(".git/worktrees/linked/boocode/restore-in-progress", json.dumps({"safety": undo}))
    before = ours(used)
    done = used.boocode("uninstall", "--everything", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "interrupted")
    assert "git boocode doctor --fix" in done.json["error"]["hint"]
    assert ours(used) == before
    assert (used.top / ".claude/settings.local.json").exists()
    assert used.boocode("uninstall").code == 0


def test_the_users_own_settings_are_only_named(repo: Repo) -> None:
    repo.git("config", "--global", "boocode.keep", "3")
    done = repo.boocode("uninstall", "--everything")
    assert done.err == (
        "hint: your own settings stay: 'git config --global --remove-section boocode' removes "
        "them\n"
    )
    assert repo.git("config", "--global", "boocode.keep") == "3\n"


def test_a_running_command_is_waited_for_no_longer_than_a_while(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.boocode("checkpoint")
    repo.boocode("hooks", "install", "--agent", "cursor")
    code = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.flock(f, fcntl.LOCK_EX); "
    code += "print('held', flush=True); input()"
    command = (sys.executable, "-c", code, str(repo.top / ".git/boocode/lock"))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        done = repo.boocode("uninstall", "--everything", "--json")
        holder.stdin.write(b"\n")
        holder.stdin.flush()
    assert (done.code, done.json["error"]["code"]) == (1, "locked")
    assert repo.git("for-each-ref", "refs/boocode") != ""
    assert (repo.top / ".cursor/hooks.json").exists()


def test_what_a_killed_removal_left_goes_with_the_next_one(repo: Repo) -> None:
    repo.write(".git/boocode.0123456789abcdef/half", "gone\n")
    repo.write(".git/boocode.mine", "not ours\n")
    assert repo.boocode("uninstall", "--everything").code == 0
    assert [path.name for path in (repo.top / ".git").glob("boocode*")] == ["boocode.mine"]


@pytest.mark.slow
def test_a_kill_loses_nothing_and_running_it_again_completes_it(used: Repo) -> None:
    before = {name: content for name, content in used.files().items() if name[-2:] in ("a", "/a")}
    command = (sys.executable, "-m", "git_boocode", "uninstall", "--everything")
    numbers = random.Random(3)
    for _ in range(8):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(numbers.uniform(0.2, 0.9))
        process.send_signal(signal.SIGKILL)
        process.wait()
        used.git("fsck", "--no-dangling")
        after = used.files()
        assert {name: after.get(name) for name in before} == before
    assert used.boocode("uninstall", "--everything").code == 0
    assert ours(used) == []
