"""Completion in bash, through the script that is shipped."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from git_boocode.cli.framework import COMMANDS

SCRIPT = Path(__file__).parents[2] / "hooks/completion/git-boocode.bash"


def complete(*words: str) -> list[str]:
    """What is offered for the last word, with the variables that git's completion sets."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = f'. "{SCRIPT}"; words=({quoted}); cword={len(words) - 1}; _git_boocode'
    shown = subprocess.run(
        ["bash", "-c", f'{script}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.split()


def test_commands(repo: object) -> None:
    assert complete("git", "boocode", "") == list(COMMANDS)


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [("re", ["rewind", "restore", "redo"]), ("l", ["locate", "log"]), ("x", [])],
)
def test_commands_that_begin_so(beginning: str, expected: list[str], repo: object) -> None:
    assert complete("git", "boocode", beginning) == expected


def test_options_of_a_command(repo: object) -> None:
    offered = complete("git", "boocode", "restore", "--")
    assert {"--dry-run", "--callback", "--files-only", "--json"} <= set(offered)


def test_agents_whose_hooks_can_be_installed(repo: object) -> None:
    assert complete("git", "boocode", "hooks", "") == ["install", "status", "uninstall"]
    offered = complete("git", "boocode", "hooks", "install", "--agent", "c")
    assert offered == ["claude-code", "codex", "cursor", "copilot", "cline"]
