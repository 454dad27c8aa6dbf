"""Run programs that talk to the user themselves: git with its pager, the pager alone."""

from __future__ import annotations

import subprocess

from git_boocode.repo.git import Git


def run_in_foreground(git: Git, *arguments: str) -> int:
    """Run git on the caller's own terminal: its pager, its errors and its drivers' are seen there.

    Args:
        git: the user's git.
        arguments: of the command.

    Returns:
        Its exit status; negative, the number of the signal that ended it.
    """
    process = subprocess.Popen(git.command(*arguments), cwd=git.cwd, env=git.env)
    outlast(process)
    return process.returncode


def outlast(process: subprocess.Popen[bytes]) -> None:
    """Wait for a program that the user is looking at.

    A pager takes Ctrl-C for itself. Were we to go at once, it would fight with the shell for the
    terminal.

    Args:
        process: the program.

    Raises:
        KeyboardInterrupt: the user has pressed Ctrl-C, and the program has ended.
    """
    interrupted = False
    while True:
        try:
            process.wait()
            break
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
