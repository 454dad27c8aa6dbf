"""What all commands understand: `-C` before the command, `-q`, `-v` and `--no-color` anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_boocode.cli.framework import COMMANDS
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def below(repo: Repo) -> Repo:
    """A repository with a file in a directory."""
    repo.write("a", "a\n")
    repo.write("sub/dir/b", "b\n")
    repo.commit()
    return repo


def test_directories_count_from_the_one_before(below: Repo, tmp_path: Path) -> None:
    for command in (("checkpoint",), ("checkpoint", "--meta", "a=b"), ("log", "--all")):
        done = below.boocode("-C", str(below.top), "-C", "", "-C", "sub", "-C", "dir", *command)
        assert (done.code, done.err) == (0, "")
        relative = os.path.relpath(below.top, tmp_path.parent)
        assert below.boocode("-C", relative, *command, cwd=tmp_path.parent).code == 0


def test_paths_count_from_the_directory(below: Repo) -> None:
    below.boocode("checkpoint")
    below.write("sub/dir/b", "c\n")
    assert below.boocode("-C", "sub/dir", "diff", "--name-only", "b").out == "sub/dir/b\n"
    assert below.boocode("-C", "sub", "restore", "@", "dir/b").code == 0
    assert below.read("sub/dir/b") == b"b\n"


def test_a_missing_directory_is_fatal(below: Repo) -> None:
    for command in ("checkpoint", "log", "no-such-command"):
        done = below.boocode("-C", "nowhere", command)
        expected = "fatal: cannot change to 'nowhere': no such file or directory\n"
        assert done == (128, "", expected)
        answer = below.boocode("-C", "nowhere", command, "--json")
        assert answer.json["error"]["code"] == "no_such_directory"


def test_an_option_for_a_directory_needs_one(below: Repo) -> None:
    done = below.boocode("-C")
    assert done.code == 129
    assert done.err.startswith("error: option '-C' requires ")


def test_a_hook_serves_another_directory(below: Repo, tmp_path: Path) -> None:
    hook = ("hook", "git", "pre-commit")
    assert below.boocode("-C", str(below.top), *hook, cwd=tmp_path) == (0, "", "")
    assert len(below.boocode("log", "--json").json["checkpoints"]) == 1


@pytest.mark.parametrize("hook", [("git", "pre-commit"), ("claude-code", "UserPromptSubmit")])
def test_a_hook_survives_a_missing_directory(below: Repo, hook: tuple[str, ...]) -> None:
    assert below.boocode("-C", "nowhere", "hook", *hook).code == 0
    found = below.boocode("doctor").out
    assert "cannot change to 'nowhere'" in found


def test_every_command_takes_output_options(repo: Repo) -> None:
    options = ("-q", "--quiet", "-v", "--verbose", "--no-color")
    for command in COMMANDS.keys() - {"hook"}:
        done = repo.boocode(*options, command, *options, "--no-such-option")
        assert done.err.startswith("error: unknown option '--no-such-option'\n"), command
