"""Files of our own that an agent runs or loads."""

from __future__ import annotations

import json

from git_boocode.agents.entries import MARKER, Wanted
from git_boocode.agents.registry import Agent, Program
from git_boocode.agents.shipped import shipped_hook
from git_boocode.repo.errors import RefusedError


def render(agent: Agent, event: str, wanted: Wanted) -> bytes:
    """What a file of ours has to hold.

    In the template, `{command}` is the command line for a shell, `{command_json}` the same as a
    JSON string, `{seconds}` how long it may take, and `{per_tool}` whether tools are to be told of.

    Args:
        agent: for which agent.
        event: for which event; empty if one file serves all, which then adds the event itself.
        wanted: what is to be installed.

    Raises:
        FatalError: the installation lacks the template.
    """
    assert isinstance(agent.config, Program)
    with open(shipped_hook(f"agents/{agent.config.template}"), encoding="utf-8") as stream:
        text = stream.read()
    command = wanted.commands[event]
    values = {
        "{command}": command,
        "{command_json}": json.dumps(command),
        "{seconds}": str(wanted.seconds),
        "{per_tool}": json.dumps(wanted.per_tool),
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text.encode("utf-8", "surrogateescape")


def is_ours(data: bytes) -> bool:
    """Whether a file is one of ours, whatever has become of it since."""
    return MARKER.encode() in data


def check_foreign(agent: Agent, path: str, event: str, data: bytes | None) -> None:
    """Refuse to write over a file that is not ours.

    Args:
        agent: whose it is.
        path: the file.
        event: for which event.
        data: what it holds; None if there is none.

    Raises:
        RefusedError: it is not.
    """
    if data is None or is_ours(data):
        return
    call = " ".join(("git boocode hook", agent.name, event)).rstrip()
    raise RefusedError(
        f"'{path}' is there already, and is not ours; nothing was changed",
        code="exists",
        hints=(f"call '{call}' from it, with the standard input that it gets, or move it away",),
    )
