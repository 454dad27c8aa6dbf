"""Files of our own that an agent runs or loads, and the command line by which hooks call us."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys

from git_boocode.agents.agent import Program
from git_boocode.agents.config_files import Baseline, ConfigFile, Wanted
from git_boocode.agents.own_hooks import is_own_program
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.files import shipped_file
from git_boocode.repo.process import isolated_command

_NAME = "git-boocode"


def install(file: ConfigFile, data: bytes | None, wanted: Wanted) -> tuple[bytes, frozenset[str]]:
    """What our file has to hold; RefusedError (`exists`) if somebody else's is there.

    In the template, `{command}` is the command line for a shell, `{command_json}` the same as a
    JSON string; a file that serves all events adds the event itself.
    """
    if data is not None and not is_own_program(data):
        call = " ".join(("git boocode hook", file.agent.name, file.event)).rstrip()
        raise RefusedError(
            f"'{file.path}' exists and was not made by git-boocode; nothing was changed",
            code="exists",
            hints=(f"call '{call}' from it, with its standard input, or move it away",),
        )
    assert isinstance(file.agent.config, Program)
    with open(shipped_file(f"agents/{file.agent.config.template}"), encoding="utf-8") as stream:
        text = stream.read()
    command = wanted.commands[file.event]
    text = text.replace("{command}", command).replace("{command_json}", json.dumps(command))
    text = text.replace("{seconds}", str(wanted.seconds))
    text = text.replace("{per_tool}", json.dumps(wanted.per_tool))
    return text.encode("utf-8", "surrogateescape"), frozenset()


def uninstall(_: ConfigFile, data: bytes, __: Baseline) -> bytes | None:
    """None, so that the file is removed, if it is ours."""
    return None if is_own_program(data) else data


def installed(file: ConfigFile, data: bytes, wanted: Wanted) -> dict[str, bool]:
    """The events that our file serves, and whether it is as wanted."""
    if not is_own_program(data):
        return {}
    agent, event = file.agent, file.event
    if not isinstance(agent.config, Program):
        # Of an earlier version.
        return dict.fromkeys(agent.events(per_tool=wanted.per_tool), False)
    commands = {event: installed_command("hook", agent.name, *filter(None, [event]))}
    ours = wanted._replace(commands=commands)
    versions = (ours, ours._replace(per_tool=not ours.per_tool))
    found = next((each for each in versions if data == install(file, data, each)[0]), None)
    events = agent.events(per_tool=(found or wanted).per_tool)
    return dict.fromkeys([event] if event else events, found is not None)


def installed_command(*words: str) -> str:
    """A command line for a shell that runs `installed_program`."""
    return shlex.join((*installed_program(), *words))


def installed_program() -> tuple[str, ...]:
    """The words of a command that runs this very program, whoever runs it.

    They are `git boocode` where git finds the program in a directory that is on everyone's PATH:
    that keeps working when it is upgraded, moved, or used on another machine. An editor that was
    not started from a shell knows no other directories, such as `~/.local/bin`, and no virtual
    environment; so a program that lies there is named by its path, and so is one behind another
    version on the PATH.
    """
    running, found = _running(), _on_path()
    program = isolated_command() if running is None else (running,)
    if found and (running is None or os.path.realpath(found) == os.path.realpath(running)):
        is_everyones = os.path.dirname(found) in everyones_path()
        program = ("git", "boocode") if is_everyones else (found,)
    return program


def everyones_path() -> list[str]:
    """The directories that are on the PATH of whatever a user starts, by whatever means."""
    # The sessions of Linux have it, too; those of macOS do not.
    usual = [] if sys.platform == "darwin" else ["/usr/local/bin"]
    return [*usual, *(os.confstr("CS_PATH") or os.defpath).split(os.pathsep)]


def _running() -> str | None:
    """The program that runs, or that is installed beside the Python that runs."""
    started = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    for path in (started, os.path.join(os.path.dirname(sys.executable), _NAME)):
        if os.path.basename(path) == _NAME and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _on_path() -> str | None:
    """What git finds on the PATH where no virtual environment is activated."""
    directories = os.environ.get("PATH", os.defpath).split(os.pathsep)
    lasting = (path for path in directories if os.path.isabs(path) and not _is_activated(path))
    return shutil.which(_NAME, path=os.pathsep.join(lasting))


def _is_activated(directory: str) -> bool:
    """Whether a directory is on the PATH for as long as an environment is activated."""
    top = os.path.dirname(os.path.realpath(directory))
    if any(os.path.exists(os.path.join(top, mark)) for mark in ("pyvenv.cfg", "conda-meta")):
        return True
    active = (os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    return any(prefix and os.path.realpath(prefix) == top for prefix in active)
