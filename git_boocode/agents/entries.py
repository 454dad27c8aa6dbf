"""Which of the hooks in an agent's configuration are ours, and what they have to be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from git_boocode.agents.registry import Agent, Settings
from git_boocode.repo.errors import RefusedError

MARKER = "git-boocode: made by 'git boocode hooks install'"
"""What a file of our own says of itself."""


class Wanted(NamedTuple):
    """What is to be installed.

    Attributes:
        commands: the command line by event; an event that is missing is not to be installed.
        seconds: how long the agent is to wait for one.
        per_tool: whether tools are to be told of, too.
    """

    commands: Mapping[str, str]
    seconds: int
    per_tool: bool

    def entry(self, settings: Settings, event: str) -> dict[str, Any]:
        """What the list of an event has to hold."""
        values = {"{command}": self.commands[event], "{timeout}": self.seconds * settings.seconds}
        entry: dict[str, Any] = _filled(settings.entry, values)
        return entry


class Baseline(NamedTuple):
    """What is known of a file as it was before us.

    Attributes:
        made: what we had to add for our hooks to be in, such as `hooks` or `hooks.Stop`; None if
            nobody remembers, when what we leave empty counts as ours.
        created: whether the whole file is ours, so that it goes when it holds nothing else.
    """

    made: frozenset[str] | None = None
    created: bool = False


def is_ours(agent: Agent, command: object) -> bool:
    """Whether a command line calls our hook for an agent, by whatever path."""
    names = "|".join(map(re.escape, (agent.name, *agent.aliases)))
    program = r"git[-_ ]boocode(?:\.exe|/__main__\.py)?"
    ours = rf"(?:^|[\s/'\"]){program}['\"]?\s+hook\s+(?:{names})(?:\s|$)"
    return isinstance(command, str) and re.search(ours, command) is not None


def leaf(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The innermost part of an entry: the object that holds the command.

    Args:
        entry: as in `Settings`, filled or not.
    """
    inner = entry.get("hooks")
    return inner[0] if isinstance(inner, (list, tuple)) else entry


def command_key(settings: Settings) -> str:
    """Under which key an entry holds its command."""
    return next(key for key, value in leaf(settings.entry).items() if value == "{command}")


def decoded(data: bytes, path: str) -> str:
    """The text of a file.

    Raises:
        RefusedError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise unusable(path, f"it is not UTF-8, in line {line}") from None


def encoded(text: str, path: str) -> bytes:
    """The bytes of a text.

    Raises:
        RefusedError: our command line cannot be written in such a file.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise unusable(path, "the path of git-boocode is not UTF-8, as the file is") from None


def unusable(path: str, reason: str) -> RefusedError:
    """The refusal of a file that cannot take hooks as it is."""
    return RefusedError(
        f"'{path}' cannot be changed: {reason}; nothing was changed",
        code="unusable_file",
        hints=("mend the file, then run the command again",),
    )


def entries_of(agent: Agent, settings: Settings, listed: object) -> Iterator[dict[str, Any]]:
    """Those of the hooks of one event that are ours, each as its innermost object.

    Args:
        agent: the agent.
        settings: its configuration.
        listed: what the event's list holds, whatever it is.
    """
    key = command_key(settings)
    for entry in listed if isinstance(listed, list) else ():
        inner = entry.get("hooks") if isinstance(entry, dict) else None
        for found in (entry, *(inner if isinstance(inner, list) else ())):
            if isinstance(found, dict) and is_ours(agent, found.get(key)):
                yield found


def _filled(value: Any, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return {key: _filled(inner, values) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(inner, values) for inner in value]
    return values.get(value, value) if isinstance(value, str) else value
