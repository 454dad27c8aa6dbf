"""A user's own git hooks, of every kind there is, and what they and ours are seen to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from git_boocode.agents import git_install
from git_boocode.agents.file_edits import FileEdit, apply
from git_boocode.agents.git_hooks import EVENTS
from git_boocode.agents.git_install import plan_git_hooks
from git_boocode.repo.repository import Repository

LOG = "HOOK_LOG"

# It notes arguments and standard input in one line, and ends as a file beside the log says.
_NOTES = """
printf 'user %s|%s\\n' "$*" "$(cat | tr '\\n' ' ')" >> "$HOOK_LOG"
[ ! -e "$HOOK_LOG.fails" ] || exit 9
"""
_OTHER_STREAM = _NOTES.replace("$(cat", "$(cat <&3")
_BECOMES = f"#!/bin/sh\nexec sh -s \"$@\" 3<&0 <<'E'\n{_OTHER_STREAM}\nE\n"
_POLYGLOT = f"#!/bin/sh\n''':'\nexec {sys.executable} \"$0\" \"$@\"\n'''"
_PYTHON = """
import os, sys
log = os.environ["HOOK_LOG"]
given = sys.stdin.read().replace("\\n", " ")
with open(log, "a") as file:
    print("user", " ".join(sys.argv[1:]) + "|" + given, file=file)
sys.exit(9 if os.path.exists(log + ".fails") else 0)
"""


def reads_only_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install hooks as files from now on, as for a git that reads no configured hooks."""
    monkeypatch.setattr(git_install, "git_version", lambda _: (2, 53))


def install(*events: str) -> None:
    """Install git hooks in the current directory's repository: those chosen, or these alone."""
    apply(plan(*events))


def plan(*events: str) -> list[FileEdit]:
    """What installs them."""
    if events:
        subprocess.run(("git", "config", "boocode.gitHooks", " ".join(events)), check=True)
    return plan_git_hooks(Repository.discover(), remove=False)


def uninstall() -> None:
    """Remove them."""
    apply(plan_git_hooks(Repository.discover(), remove=True))


def hooks_seen(directory: Path) -> dict[str, tuple[int, bytes]]:
    """All that is in a directory of hooks: modes and bytes, or where links lead."""
    found = {}
    for path in sorted(directory.iterdir()):
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        found[path.name] = (path.lstat().st_mode, content)
    return found


def _script(text: str, mode: int = 0o755) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(text.encode())
        path.chmod(mode)

    return write


def _linked(text: str, target: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        real = path.parent / target
        real.parent.mkdir(exist_ok=True)
        _script(text)(real)
        path.symlink_to(target)

    return write


def _compiled(path: Path) -> None:
    shutil.copy2(shutil.which("true") or "/bin/true", path)


def _dangling(path: Path) -> None:
    path.symlink_to("nothing-there")


KINDS: dict[str, Callable[[Path], None]] = {
    "sh": _script(f"#!/bin/sh\n{_NOTES}"),
    "sh that ends early": _script(f"#!/bin/sh\n# mine\n\n{_NOTES}exit 0\n"),
    "sh that becomes another": _script(_BECOMES),
    "sh -e": _script(f"#!/bin/sh -e\nset -u\n{_NOTES}"),
    "sh without a newline at the end": _script(f"#!/bin/sh\n{_NOTES}".rstrip("\n")),
    "bash through env": _script(f"#!/usr/bin/env -S bash -e\n{_NOTES}"),
}  # fmt: skip
"""Shell scripts that note what they are given."""

OTHERS: dict[str, Callable[[Path], None]] = {
    "no shebang": _script(_NOTES),
    "no shebang, no newline": _script(_NOTES.strip("\n")),
    "python": _script(f"#!{sys.executable}{_PYTHON}", 0o750),
    "python that sh hands over to": _script(f"{_POLYGLOT}{_PYTHON}"),
    "a link to sh": _linked(f"#!/bin/sh\n{_NOTES}", "../mine/hook"),
    "a link to python": _linked(f"#!{sys.executable}{_PYTHON}", "hook.py"),
    "empty": _script(""),
    "not executable": _script(f"#!/bin/sh\n{_NOTES}", 0o644),
    "a link that leads nowhere": _dangling,
    "compiled": _compiled,
}
"""Hooks in which lines of ours would break something, or would not run."""

ONLY_A_SHEBANG = _script("#!/bin/sh")
"""A hook that notes nothing."""


def write_hooks(directory: Path, write: Callable[[Path], None], events: Sequence[str] = ()) -> None:
    """Write the user's hooks for events, by default for all."""
    directory.mkdir(exist_ok=True)
    for event in events or EVENTS:
        write(directory / event)
