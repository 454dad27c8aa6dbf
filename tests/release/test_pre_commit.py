"""The hooks for pre-commit, run by pre-commit itself where it is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo_kit import Repo

TOP = Path(__file__).parents[2]
HOOKS = (TOP / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
TYPES = ("pre-commit", "post-commit")


def test_the_markers_are_those_that_commands_write(repo: Repo) -> None:
    [pattern] = re.findall(r"entry: '(.*)'", HOOKS)
    repo.commit(a="one\n")
    repo.boocode("propose", "--path", "a", "--old", "one", "--new", "two")
    repo.write("a", "mine\n")
    assert repo.boocode("accept", "--merge", "--markers").code == 0
    lines = repo.read("a").decode().splitlines()
    found = [line for line in lines if re.search(pattern, line)]
    assert found == ["<<<<<<< local", ">>>>>>> proposal"]
    for line in (">>>>>>> reverted", ">>>>>>> picked", "<<<<<<< now"):
        assert re.search(pattern, line)
    assert not re.search(pattern, "<<<<<<< SEARCH")


@pytest.fixture
def unhooked(repo: Repo, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A repository in which pre-commit can be installed."""
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(sealed / "pre-commit"))
    return repo


def install(repo: Repo, config: str) -> None:
    repo.commit(**{".pre-commit-config.yaml": config, "a": "one\n", "b": "one\n"})
    options = [option for kind in TYPES for option in ("--hook-type", kind)]
    command = [sys.executable, "-m", "pre_commit", "install", "--install-hooks", *options]
    done = subprocess.run(command, cwd=repo.top, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def hooked(unhooked: Repo) -> Repo:
    """A repository in which pre-commit runs the hooks of this checkout."""
    if subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], capture_output=True).returncode:
        pytest.skip("this is not a clone")
    ids = "".join(f"      - id: {name}\n" for name in re.findall(r"id: (\S+)", HOOKS))
    rev = subprocess.check_output(["git", "-C", TOP, "rev-parse", "HEAD"], text=True).strip()
    install(unhooked, f"repos:\n  - repo: {TOP}\n    rev: {rev}\n    hooks:\n{ids}")
    return unhooked


def committed(repo: Repo) -> tuple[int, str]:
    command = ["git", "commit", "-q", "-a", "-m", "change"]
    done = subprocess.run(command, cwd=repo.top, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_day_with_pre_commit(hooked: Repo) -> None:
    hooked.boocode("checkpoint", "-m", "raise it", "--agent", "codex", "--session", "s")
    hooked.write("b", "two\n")
    code, said = committed(hooked)
    assert code == 0, said
    assert "raise it" in hooked.git("notes", "--ref=boocode", "show", "HEAD")
    # An open proposal stops only a commit of its files.
    hooked.boocode("propose", "--path", "a", "--old", "one", "--new", "two")
    hooked.write("b", "three\n")
    assert committed(hooked)[0] == 0
    hooked.write("a", "mine\n")
    code, said = committed(hooked)
    assert code == 1
    assert re.search(r"open proposal.*Failed(.*\n)*~M a\n", said), said
    # What is accepted with markers is stopped by these.
    assert hooked.boocode("accept", "--merge", "--markers").code == 0
    code, said = committed(hooked)
    assert code == 1
    assert re.search(r"conflict markers.*Failed(.*\n)*a:1:<<<<<<< local\n", said), said
    assert not re.search(r"open proposal.*Failed", said), said
    hooked.write("a", "two\n")
    assert committed(hooked)[0] == 0


@pytest.mark.slow
def test_the_checkpoint_comes_before_pre_commit_sets_changes_aside(unhooked: Repo) -> None:
    hook = "{id: t, name: t, entry: 'grep -q one b', language: system}"
    install(unhooked, f"repos:\n  - repo: local\n    hooks:\n      - {hook}\n")
    assert unhooked.boocode("hooks", "install", "--git").code == 0
    unhooked.write("a", "two\n")
    unhooked.git("add", "a")
    unhooked.write("b", "unstaged\n")
    unhooked.git("commit", "-q", "-m", "two")
    newest = unhooked.boocode("log", "--json").json["checkpoints"][0]
    assert newest["label"] == "before a commit"
    assert unhooked.git("show", f"{newest['commit']}:b") == "unstaged\n"
