"""Recognize our hooks in the files of agents; a restore reads this, so it imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_boocode.agents.registry import USER, Agent, Program, Settings

MARKER = "git-boocode: made by 'git boocode hooks install'"
"""What a file of our own says in its first lines."""
# A command line that calls our hook, by whatever path, for the agent that is named last.
_CALL = re.compile(
    r"""(?:^|[\s/'"])git[-_ ]boocode(?:\.exe|/__main__\.py)?['"]?\s+hook\s+(\S+)(?=\s|$)"""
)


def is_own_call(agent: Agent, command: object) -> bool:
    """Whether a command line calls our hook for an agent."""
    names = _CALL.findall(command) if isinstance(command, str) else ()
    return any(name in (agent.name, *agent.aliases) for name in names)


def is_own_program(data: bytes) -> bool:
    """Whether a program or plugin is ours, whatever was changed in it since."""
    return MARKER.encode() in data


def has_own_hooks(agent: Agent, data: bytes) -> bool:
    """Whether the content of an agent's file includes our hooks."""
    if isinstance(agent.config, Program):
        return is_own_program(data)
    return is_own_call(agent, data.decode("utf-8", "replace"))


def worktree_paths(agent: Agent) -> Iterator[tuple[str, str]]:
    """The scopes of an agent other than the user's, each with a path below the worktree."""
    tables = agent.config.toml if isinstance(agent.config, Settings) else {}
    for scope, place in agent.config.places.items():
        for path in filter(None, (place, tables.get(scope))) if scope != USER else ():
            # A file for each event, or one for all.
            events = agent.events() if "{event}" in path else [""]
            yield from ((scope, path.replace("{event}", event)) for event in events)
