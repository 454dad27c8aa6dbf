"""The scripts of the action for GitHub, run as a runner does."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.repo_kit import Repo

TOP = Path(__file__).parents[2]
ACTION = (TOP / "action.yml").read_text(encoding="utf-8")
EXAMPLES = (TOP / "hooks/action/README.md").read_text(encoding="utf-8")
FILES = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")


class Runner(NamedTuple):
    """A clone in which the action runs, and the files that it writes."""

    clone: Repo
    files: Path

    def step(self, script: str, *args: str, **variables: str) -> tuple[int, str]:
        """Run a script of the action; how it ends, and what it prints."""
        named = {"RANGE": "", "REMOTE": "origin", "BASE": "", "HEAD": "", "FORK": "", **variables}
        files = {name: str(self.files / name) for name in FILES}
        runner = {"RUNNER_TEMP": str(self.files), "GITHUB_ACTION_PATH": str(TOP)}
        done = subprocess.run(
            [TOP / "hooks/action" / script, *args],
            cwd=self.clone.top,
            env={**os.environ, **runner, **files, **named},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    def wrote(self, name: str) -> str:
        """What a file for the runner has."""
        path = self.files / name
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture
def runner(repo: Repo, tmp_path: Path) -> Runner:
    """A clone of a remote to which a developer has pushed a branch and its turns."""
    repo.commit("one", a="one\n")
    hub = tmp_path / "hub.git"
    repo.git("init", "-q", "--bare", "-b", "main", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    repo.git("switch", "-q", "-c", "topic")
    repo.boocode("checkpoint", "-m", "say *two*", "--agent", "codex", "--session", "s")
    repo.write("a", "one\ntwo\n")
    repo.boocode("checkpoint", "-m", "the next turn", "--agent", "codex", "--session", "s")
    repo.commit("two")
    repo.git("push", "-q", "origin", "main", "topic")
    return Runner(repo, tmp_path)


def pushed(runner: Runner, *, to: str = "origin") -> Runner:
    """The same with a clone for the job."""
    repo, files = runner
    assert repo.boocode("push", to, "--yes").code == 0
    repo.git("clone", "-q", "-b", "topic", str(files / "hub.git"), str(files / "job"))
    return Runner(Repo(files / "job"), files)


def test_the_page_of_a_pull_request(runner: Runner) -> None:
    job = pushed(runner)
    code, said = job.step("turns", "page", BASE="origin/main", HEAD="origin/topic")
    assert code == 0, said
    assert job.wrote("GITHUB_OUTPUT") == f"page={job.files}/turns.html\nturns=1\n"
    assert "say *two*" in job.wrote("turns.html")
    summary = job.wrote("GITHUB_STEP_SUMMARY")
    assert summary.startswith("### Turns\n\n    codex on topic, session s")
    assert [line for line in summary.splitlines()[2:] if not line.startswith("    ")] == []
    assert "say *two*" in summary


@pytest.mark.slow
def test_the_turns_of_a_fork(runner: Runner) -> None:
    fork = runner.files / "fork.git"
    runner.clone.git("init", "-q", "--bare", str(fork))
    runner.clone.git("remote", "add", "fork", str(fork))
    job = pushed(runner, to="fork")
    given = {"BASE": "origin/main", "HEAD": "origin/topic"}
    assert job.step("turns", "page", **given)[0] == 0
    assert "No recorded turn" in job.wrote("GITHUB_STEP_SUMMARY")
    assert job.step("turns", "page", **given, FORK=str(fork))[0] == 0
    assert job.wrote("GITHUB_OUTPUT").endswith("turns=1\n")
    code, said = job.step("turns", "page", **given, FORK=f"{fork}-gone")
    assert (code, "::warning::the turns of the fork" in said) == (0, True)


@pytest.mark.slow
def test_notes_of_a_fork_are_not_pushed(runner: Runner) -> None:
    fork, hub = str(runner.files / "fork.git"), str(runner.files / "hub.git")
    runner.clone.git("clone", "-q", "--bare", hub, fork)
    assert runner.clone.boocode("attribute", "topic").code == 0
    note = runner.clone.git("notes", "--ref=boocode", "show", "topic")
    runner.clone.git("-C", fork, "notes", "--ref=boocode", "add", "-m", note, "main")
    runner.clone.git("update-ref", "-d", "refs/notes/boocode")
    job = pushed(runner)
    code, said = job.step("turns", "notes", BASE="origin/main", HEAD="origin/topic", FORK=fork)
    assert code == 0, said
    noted = runner.clone.git("-C", hub, "notes", "--ref=boocode", "list").split()
    assert noted[1:] == [runner.clone.git("rev-parse", "topic").strip()]


@pytest.mark.slow
def test_notes_after_a_squash_merge(runner: Runner) -> None:
    runner.clone.boocode("checkpoint", "-m", "say more", "--agent", "codex", "--session", "s")
    runner.clone.write("::warning::three", "three\n")
    runner.clone.boocode("checkpoint", "-m", "the last turn", "--agent", "codex", "--session", "s")
    runner.clone.commit("three")
    runner.clone.git("push", "-q", "origin", "topic")
    job = pushed(runner)
    before = job.clone.git("rev-parse", "origin/main").strip()
    job.clone.git("switch", "-q", "main")
    job.clone.git("merge", "-q", "--squash", "origin/topic")
    job.clone.git("commit", "-q", "-m", "two, squashed")
    squashed = job.clone.git("rev-parse", "HEAD").strip()
    job.clone.git("push", "-q", "origin", "main")
    code, said = job.step("turns", "notes", BASE=before, HEAD=squashed)
    assert code == 0, said
    assert "::warning::three" in said
    assert not re.search(r"^ *::", said, re.MULTILINE)
    runner.clone.git("fetch", "-q", "origin", "main", "refs/notes/boocode:refs/notes/boocode")
    assert "say *two*" in runner.clone.git("notes", "--ref=boocode", "show", squashed)
    # A push of a new branch names no commit before.
    assert job.step("turns", "notes", BASE="0" * 40, HEAD=squashed)[0] == 0


@pytest.mark.parametrize(
    ("command", "given", "problem"),
    [
        ("show", "HEAD", "unknown command 'show'"),
        ("page", "no..where", "'no..where' is not a range of commits"),
    ],
)
def test_what_cannot_be_done_is_an_error(
    runner: Runner, command: str, given: str, problem: str
) -> None:
    code, said = runner.step("turns", command, RANGE=given)
    assert code == 1
    assert f"::error::{problem}" in said


def test_a_shallow_clone_is_refused(runner: Runner) -> None:
    hub = f"file://{runner.files}/hub.git"
    runner.clone.git("clone", "-q", "--depth", "1", hub, str(runner.files / "job"))
    job = Runner(Repo(runner.files / "job"), runner.files)
    code, said = job.step("turns", "page", HEAD="HEAD")
    assert (code, "fetch-depth: 0" in said) == (1, True)


@pytest.mark.slow
def test_the_action_installs_its_own_commit(runner: Runner) -> None:
    code, said = runner.step("install")
    assert code == 0, said
    [directory] = map(Path, runner.wrote("GITHUB_PATH").splitlines())
    assert [path.name for path in directory.iterdir()] == ["git-boocode"]
    version = subprocess.check_output([directory / "git-boocode", "version"], cwd=runner.files)
    assert version.startswith(b"git-boocode version ")


def test_the_action_gives_its_scripts_what_they_read() -> None:
    script = (TOP / "hooks/action/turns").read_text(encoding="utf-8")
    given = set(re.findall(r"^        ([A-Z]+): \$\{\{", ACTION, re.MULTILINE)) - {"COMMAND"}
    assert given == set(re.findall(r"\$\{?((?!RUNNER|GITHUB)[A-Z]+)\b", script))
    inputs = re.findall(r"inputs\.([a-z]+)", ACTION)
    declared = re.findall(r"^  ([a-z]+):$", ACTION.split("outputs:")[0], re.MULTILINE)
    described = re.findall(r"^\| `([a-z]+)` \|", EXAMPLES, re.MULTILINE)
    assert set(inputs) == set(declared) == set(described)
