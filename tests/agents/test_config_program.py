"""How the hooks that are installed name the program."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from git_boocode.agents import config_program
from git_boocode.agents.config_program import installed_command


@pytest.fixture
def place(
    sealed: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A directory with a program in it, on a PATH of its own."""
    top = tmp_path_factory.mktemp("a place")
    _program(top / "bin")
    monkeypatch.setenv("PATH", f"{top / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", [str(top / "bin/git-boocode"), "hooks"])
    everyones = [str(top / "bin"), str(top / "local/bin")]
    monkeypatch.setattr(config_program, "everyones_path", lambda: everyones)
    return top


def _program(directory: Path) -> Path:
    directory.mkdir(parents=True)
    path = directory / "git-boocode"
    path.write_text('#!/bin/sh\necho "ran $0" "$@"\n')
    path.chmod(0o755)
    return path


def test_on_the_path(place: Path) -> None:
    assert installed_command("hook", "codex", "Stop") == "git boocode hook codex Stop"


def test_on_the_path_of_shells_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert {"/usr/bin", "/bin"} <= set(config_program.everyones_path())
    monkeypatch.setenv("PATH", f"{place / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", [str(place / "bin/git-boocode"), "hooks"])
    assert installed_command("hook") == f"'{place}/bin/git-boocode' hook"


def test_a_link_on_the_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = place / "local/bin"
    links.mkdir(parents=True)
    (links / "git-boocode").symlink_to(place / "bin/git-boocode")
    (place / "pyvenv.cfg").touch()
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{links}:/usr/bin:/bin")
    assert installed_command("hook") == "git boocode hook"


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta", "VIRTUAL_ENV", "CONDA_PREFIX"])
def test_in_a_virtual_environment(place: Path, monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    if mark.isupper():
        monkeypatch.setenv(mark, str(place))
    else:
        (place / mark).touch()
    command = installed_command("hook", "it's")
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stdout == f"ran {place}/bin/git-boocode hook it's\n"


def test_behind_another_one(
    place: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    _program(other / "bin")
    monkeypatch.setenv("PATH", f"{other / 'bin'}:{place / 'bin'}:/usr/bin:/bin")
    assert installed_command("hook") == f"'{place}/bin/git-boocode' hook"


def test_started_as_a_module(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/git_boocode/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(place / "bin/python"))
    assert installed_command() == "git boocode"
    monkeypatch.setenv("PATH", "/nowhere")
    assert installed_command() == f"'{place}/bin/git-boocode'"
    monkeypatch.setattr(sys, "executable", "/some where/python")
    words = shlex.split(installed_command("hook"))
    main = str(Path(config_program.__file__).parents[1] / "__main__.py")
    assert words == ["/some where/python", "-I", main, "hook"]


def test_a_module_of_the_worktree_is_not_ours(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "git_boocode").mkdir()
    (place / "git_boocode/__init__.py").touch()
    (place / "git_boocode/__main__.py").write_text("print('of the worktree')\n")
    (place / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "argv", ["/somewhere/git_boocode/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(place / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    command = ["/bin/sh", "-c", installed_command("--version")]
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("git-boocode ")


def test_a_relative_path_counts_for_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", "bin::/usr/bin")
    assert installed_command() == f"'{place}/bin/git-boocode'"
