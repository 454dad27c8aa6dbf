"""The command that starts this program again finds what the running one has found, and no more."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from git_boocode.agents.own_hooks import is_own_call, server_options
from git_boocode.agents.registry import AGENTS
from git_boocode.repo.process import NEEDED_MODULES
from tests.repo_kit import Repo

TOP = Path(__file__).parents[2]
PRINT = "import json; from git_boocode.repo.process import isolated_command as command"
PRINT = f"{PRINT}; print(json.dumps(command()))"


@pytest.fixture
def python(tmp_path: Path) -> str:
    """A Python without any package."""
    venv.create(tmp_path / "bare", symlinks=True)
    return str(tmp_path / "bare/bin/python")


@pytest.fixture
def directories(tmp_path: Path) -> list[str]:
    """A directory for each package, as nix has them."""
    made = [tmp_path / "store" / name for name in ("git_boocode", *NEEDED_MODULES)]
    for directory in made:
        spec = find_spec(directory.name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        module = origin.parent if spec.submodule_search_locations else origin
        directory.mkdir(parents=True)
        (directory / module.name).symlink_to(module)
    return list(map(str, made))


def command_of(words: list[str], **env: str) -> list[str]:
    """What `isolated_command` returns in a process."""
    run = subprocess.run(words, env={**os.environ, **env}, capture_output=True, check=True)
    command: list[str] = json.loads(run.stdout)
    return command


def test_directories_that_a_launching_script_adds(
    repo: Repo, python: str, directories: list[str]
) -> None:
    command = command_of([python, "-I", "-c", f"import sys; sys.path += {directories}; {PRINT}"])
    run = subprocess.run([*command, "status", "--json"], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["ok"] is True
    assert [each for each in directories if repr(each) not in command[3]] == []


@pytest.mark.slow
def test_directories_of_pythonpath(repo: Repo, python: str, directories: list[str]) -> None:
    repo.write("click.py", "raise SystemExit('of the worktree')")
    other = repo.top.parent / "other"
    paths = os.pathsep.join([*directories, str(other), str(repo.top), "."])
    command = command_of([python, "-c", PRINT], PYTHONPATH=paths)
    run = subprocess.run([*command, "status", "--json"], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert str(other) not in command[3]
    assert repr(str(repo.top)) not in command[3]


def test_a_usual_installation_names_its_file(repo: Repo, tmp_path: Path) -> None:
    """Another `click` on PYTHONPATH is not let in, as ours is where Python looks."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/click.py").touch()
    for env in ({}, {"PYTHONPATH": str(tmp_path / "other")}):
        command = command_of([sys.executable, "-c", PRINT], **env)
        assert command == [sys.executable, "-I", str(TOP / "git_boocode/__main__.py")]


def test_hooks_and_servers_that_are_started_so_are_ours(
    python: str, directories: list[str]
) -> None:
    command = command_of([python, "-I", "-c", f"import sys; sys.path += {directories}; {PRINT}"])
    assert is_own_call(AGENTS["codex"], shlex.join([*command, "hook", "codex", "Stop"]))
    assert server_options([*command, "serve", "--tools", "all"]) == ["--tools", "all"]


def test_all_that_we_need_is_named() -> None:
    """Our requirements, and theirs."""
    found: set[str] = set()
    names = {"git-boocode"}
    while names:
        name = names.pop()
        found.add(name)
        for requirement in distribution(name).requires or ():
            required = re.split(r"[^\w.-]", requirement)[0].lower()
            if "extra ==" not in requirement and is_installed(required):
                names |= {required} - found
    ours = {
        module
        for module, owners in packages_distributions().items()
        if found & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    }
    assert {*NEEDED_MODULES, "git_boocode"} - {"pycparser"} <= ours | {"git_boocode"}
    assert {module for module in ours if "__" not in module} <= {*NEEDED_MODULES, "git_boocode"}


def is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
