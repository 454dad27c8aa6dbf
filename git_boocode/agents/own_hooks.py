"""Recognize our hooks and our server in the files of agents.

A restore reads this, so it imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from git_boocode.agents.agent import SERVER, Agent, Package, Program
from git_boocode.agents.registry import ANY_AGENT

MARKER = "git-boocode: made by 'git boocode hooks install'"
"""What a file of our own says in its first lines."""
# Our program by whatever path.
_PROGRAM = r"""(?:^|[\s/'"])git[-_ ]boocode(?:\.exe|/__main__\.py)?['"]?\s+"""
# A command line that calls our hook, for the agent that is named last.
_CALL = re.compile(_PROGRAM + r"hook\s+([\w-]+)(?=[\s\"]|$)")
_SERVE = re.compile(_PROGRAM + r"serve$")
# The same in the text of a file, as JSON and TOML write words.
_SERVE_IN_FILE = re.compile(rb"""boocode(?:\.exe|/__main__\.py)?["'][^{}]{0,99}?["']serve["']""")


def is_own_call(agent: Agent, command: object) -> bool:
    """Whether a command line calls our hook for an agent."""
    names = _CALL.findall(command) if isinstance(command, str) else ()
    return any(name in (agent.name, *agent.aliases, ANY_AGENT) for name in names)


def is_own_program(data: bytes) -> bool:
    """Whether a program or plugin is ours, whatever was changed in it since."""
    return MARKER.encode() in data


def server_options(words: Sequence[str]) -> list[str] | None:
    """The options of a command, given as words, that starts our server; None if it does not."""
    found = (n for n, word in enumerate(words) if word == "serve")
    ends = (n + 1 for n in found if _SERVE.search(" ".join(words[: n + 1])))
    end = next(ends, None)
    return None if end is None else list(words[end:])


def has_own(agent: Agent, part: str, data: bytes) -> bool:
    """Whether the content of an agent's file seems to hold our hooks, or to start our server."""
    if part == SERVER:
        return _SERVE_IN_FILE.search(data) is not None
    if isinstance(agent.config, Program):
        return is_own_program(data)
    if isinstance(agent.config, Package) and is_own_program(data):
        return True
    return is_own_call(agent, data.decode("utf-8", "replace"))
