"""Which of the installed hooks an agent runs: some agents run only what the user has trusted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from git_boocode.agents.config_files import ConfigFile, Locations
from git_boocode.agents.file_edits import read_file
from git_boocode.agents.own_hooks import is_own_call
from git_boocode.agents.registry import USER, Agent, home_of
from git_boocode.agents.round_trip import read_json, read_toml
from git_boocode.repo.errors import RefusedError


def untrusted_events(locations: Locations, file: ConfigFile) -> tuple[str, ...] | None:
    """The events of a file whose hooks the agent does not run yet; None if that is not known."""
    trust = file.agent.trust
    if trust is None:
        return None
    try:
        recorded = list(_recorded(file.agent, locations.home))
        hooks = list(_our_hooks(file)) if trust.hooks else []
    except (RefusedError, ValueError, RecursionError):
        return None
    if trust.folders:
        if file.scope == USER or _has_folder(locations, file.agent, recorded):
            return ()
        return (*file.agent.turn_events,)
    tables = [_inner(values, trust.hooks) for values in recorded]
    known = {key for table in tables for key, row in table.items() if _has_hash(row)}
    # Codex may have resolved symlinks.
    paths = (file.path, os.path.realpath(file.path))
    return tuple(
        event for event, place in hooks if not any(f"{path}:{place}" in known for path in paths)
    )


def trust_note(locations: Locations, file: ConfigFile) -> str:
    """What the user has to do before the agent runs hooks that were installed; may be empty.

    A changed hook has to be trusted again.
    """
    trust = file.agent.trust
    needed = trust and (trust.hooks or untrusted_events(locations, file))
    return trust.advice if trust and needed else ""


def _recorded(agent: Agent, home: str) -> Iterator[Mapping[str, Any]]:
    """The contents of the files in which an agent records what it trusts."""
    for name in agent.trust.files if agent.trust else ():
        yield _values(os.path.join(home_of(agent, home), name))


def _values(path: str) -> Mapping[str, Any]:
    data = read_file(path)
    text = (data or b"").decode("utf-8")
    return (read_toml if path.endswith(".toml") else read_json)(text).before or {}


def _our_hooks(file: ConfigFile) -> Iterator[tuple[str, str]]:
    """The event of each of our hooks, and its place as Codex writes it: `stop:0:0`."""
    for event, groups in _inner(_values(file.path), "hooks").items():
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for index, hook in enumerate(inner if isinstance(inner, list) else ()):
                if isinstance(hook, dict) and is_own_call(file.agent, hook.get("command")):
                    yield event, f"{name}:{number}:{index}"


def _inner(values: object, path: str) -> Mapping[str, Any]:
    """The table at a dotted path; empty if there is none."""

    def step(table: object, key: str) -> object:
        return table.get(key) if isinstance(table, dict) else None

    found = reduce(step, path.split("."), values)
    return found if isinstance(found, dict) else {}


def _has_hash(row: object) -> bool:
    return isinstance(row, dict) and bool(row.get("trusted_hash"))


def _has_folder(locations: Locations, agent: Agent, recorded: list[Mapping[str, Any]]) -> bool:
    """Whether the worktree is, or is in, a folder that the agent trusts."""
    if locations.repository is None or agent.trust is None:
        return False
    folders = [values.get(key) for values in recorded for key in agent.trust.folders]
    named = [each for folder in folders if isinstance(folder, list) for each in folder]
    top = os.path.realpath(locations.repository.worktree)
    real = (os.path.realpath(each) for each in named if isinstance(each, str) and each[:1] == "/")
    return any(os.path.commonpath((top, folder)) == folder for folder in real)
