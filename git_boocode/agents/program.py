"""The command line by which hooks that we install call us."""

from __future__ import annotations

import os
import sys

_NAME = "git-boocode"
_MAIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__main__.py")


def installed_command(*words: str) -> str:
    """A command line for a shell that runs this very program, whoever runs the shell.

    It is `git boocode …` where git finds the program in a directory that is on everyone's PATH:
    that keeps working when it is upgraded, moved, or used on another machine. An editor that was
    not started from a shell knows no other directories, such as `~/.local/bin`, and no virtual
    environment; so a program that lies there is named by its path, and so is one behind another
    version on the PATH.

    Args:
        words: what follows, such as `hook`, `claude-code`, `UserPromptSubmit`.
    """
    import shlex

    return shlex.join((*_program(), *words))


def _program() -> tuple[str, ...]:
    running = _running()
    found = _on_path()
    if found and (running is None or os.path.realpath(found) == os.path.realpath(running)):
        return ("git", "boocode") if os.path.dirname(found) in everyones_path() else (found,)
    if running is not None:
        return (running,)
    return isolated_command()


def isolated_command() -> tuple[str, ...]:
    """What runs this program with this Python, and nothing that a worktree brings along."""
    return (sys.executable, "-I", _MAIN)


def everyones_path() -> list[str]:
    """The directories that are on the PATH of whatever a user starts, by whatever means."""
    known = os.confstr("CS_PATH") if hasattr(os, "confstr") else None
    # The sessions of Linux have it, too; those of macOS do not.
    usual = [] if sys.platform == "darwin" else ["/usr/local/bin"]
    return [*usual, *(known or os.defpath).split(os.pathsep)]


def _running() -> str | None:
    """The program that runs, or that is installed beside the Python that runs."""
    started = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    beside = os.path.join(os.path.dirname(sys.executable), _NAME)
    for path in (started, beside, f"{beside}.exe"):
        name = os.path.basename(path).removesuffix(".exe")
        if name == _NAME and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _on_path() -> str | None:
    """What git finds on the PATH where no virtual environment is activated."""
    import shutil

    directories = os.environ.get("PATH", os.defpath).split(os.pathsep)
    lasting = (path for path in directories if os.path.isabs(path) and not _passing(path))
    return shutil.which(_NAME, path=os.pathsep.join(lasting))


def _passing(directory: str) -> bool:
    """Whether a directory is on the PATH for as long as an environment is activated."""
    top = os.path.dirname(os.path.realpath(directory))
    if any(os.path.exists(os.path.join(top, mark)) for mark in ("pyvenv.cfg", "conda-meta")):
        return True
    active = (os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    return any(prefix and os.path.realpath(prefix) == top for prefix in active)
