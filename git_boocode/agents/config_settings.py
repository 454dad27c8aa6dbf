"""Our hooks in a settings file of an agent, JSON or TOML: installed, found, trusted, uninstalled.

Only our entries, and what has to hold them, change; comments and the formatting of all else stay.
Functions raise RefusedError for a file that cannot be used. Some agents run only those hooks that
the user has trusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from functools import reduce
from typing import Any

import tomlkit

from git_boocode.agents.agent import USER, Agent, Trust, home_of
from git_boocode.agents.config_files import TOML, UNKNOWN, Baseline, ConfigFile, Locations, Wanted
from git_boocode.agents.file_edits import read_file
from git_boocode.agents.own_hooks import is_own_call
from git_boocode.agents.round_trip import Document, plain, read_json, read_toml
from git_boocode.repo.errors import RefusedError

_HOOKS = "hooks"


def install(file: ConfigFile, data: bytes | None, wanted: Wanted) -> tuple[bytes, frozenset[str]]:
    """The file with just the hooks that are wanted, and what had to be added to hold them."""
    file.encoded("".join(wanted.commands.values()))
    settings, document = file.settings, read_settings(file, data or b"")
    root = document.root
    if root is None:
        raise file.unusable("it does not hold an object")
    _check_shape(file, root)
    made = {key for key in settings.preface if key not in root}
    for key in made:
        root[key] = settings.preface[key]
    for event in _ours(file, root):
        if event not in wanted.commands:
            _remove(file, root, event, UNKNOWN)
    for event in wanted.commands:
        entry, ours = wanted.entry(settings, event), _ours(file, root).get(event, [])
        for extra in ours[1:]:
            _drop(_list_of(file, root, event), extra)
        if ours:
            new = _leaf(entry)
            ours[0].update({key: new[key] for key in new if plain(ours[0].get(key)) != new[key]})
        else:
            made |= _add(file, root, event, entry)
    return written_settings(file, data or b"", document), frozenset(made)


def _add(
    file: ConfigFile, root: MutableMapping[str, Any], event: str, entry: dict[str, Any]
) -> set[str]:
    """Add an entry to the list of its event, and return what had to be added to hold it."""
    key, made = file.hooks_key, set[str]()
    if file.settings.event_key:
        if key not in root:
            root[key] = tomlkit.aot() if file.kind == TOML else []
            made = {key}
        in_tables = isinstance(root[key], tomlkit.items.AoT)
        root[key].append(tomlkit.item(entry) if in_tables else entry)
        return made
    if key and key not in root:
        root[key] = {event: [entry]}
        return {key, f"{_HOOKS}.{event}"}
    events = root[key] if key else root
    if event not in events:
        events[event] = [entry]
        return {f"{_HOOKS}.{event}"}
    events[event].append(entry)
    return made


def uninstall(file: ConfigFile, data: bytes, baseline: Baseline) -> bytes | None:
    """The file without our hooks; None if it is to be removed."""
    if b"boocode" not in data:
        return data
    document, preface = read_settings(file, data), file.settings.preface
    root = document.root
    if root is None:
        return data
    events = _ours(file, root)
    for event in events:
        _remove(file, root, event, baseline)
    if events and not (file.hooks_key and root.get(file.hooks_key)):
        for key in preface.keys() & (baseline.made or ()):
            root.pop(key, None)
    bare: tuple[object, ...] = ({}, dict(preface) if baseline.made is None else {})
    if baseline.created and plain(root) in bare and not document.has_comments:
        return None
    return written_settings(file, data, document)


def installed(file: ConfigFile, data: bytes, wanted: Wanted) -> dict[str, bool]:
    """The events of our hooks in a file, and whether each is as wanted, if it is."""
    same = {}
    for event, entries in _ours(file, read_settings(file, data).root or {}).items():
        expected = _leaf(wanted.entry(file.settings, event)) if event in wanted.commands else {}
        alike = all(plain(entries[0].get(key)) == value for key, value in expected.items())
        same[event] = alike and (not expected or len(entries) == 1)
    return same


def lists_hooks(file: ConfigFile, data: bytes) -> bool:
    """Whether a file lists hooks besides ours.

    A table without lists does not: Codex notes there which hooks the user trusts, wherever those
    are listed.
    """
    root = read_settings(file, data).root or {}
    for event in _ours(file, root):
        _remove(file, root, event, UNKNOWN)
    return any(True for _ in _lists(file, plain(root)))


def read_settings(file: ConfigFile, data: bytes) -> Document:
    """The document of a file."""
    text = file.decoded(data)
    if text.startswith("\ufeff"):
        reason = "it begins with a byte order mark"
        raise file.unusable(reason, "save it as UTF-8 without one and try again")
    try:
        document = read_toml(text) if file.kind == TOML else read_json(text)
    except ValueError as error:
        raise file.unusable(str(error)) from None
    except RecursionError:
        raise file.unusable("it is nested too deeply") from None
    return document


def written_settings(file: ConfigFile, data: bytes, document: Document) -> bytes:
    """The bytes of a document; RefusedError if they do not read as the document does."""
    values = plain(document.root)
    if values == document.before:
        return data
    after = file.encoded(document.text())
    if read_settings(file, after).before != values:
        raise file.unusable("its other values would not read as they do now")
    return after


def _check_shape(file: ConfigFile, root: Mapping[str, Any]) -> None:
    """Refuse what cannot hold our hooks."""
    key, is_list = file.hooks_key, bool(file.settings.event_key)
    hooks: Any = root.get(key, [] if is_list else {}) if key else root
    fits = isinstance(hooks, MutableSequence if is_list else MutableMapping)
    if not fits:
        raise file.unusable(f"'{key}' in it is not an {'array' if is_list else 'object'}")
    for event in () if is_list else file.agent.events():
        if not isinstance(hooks.get(event, []), MutableSequence):
            name = f"{key}.{event}".lstrip(".")
            raise file.unusable(f"'{name}' in it is not an array")


def _leaf(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The innermost part of an entry: the object that holds the command."""
    inner = entry.get(_HOOKS)
    return inner[0] if isinstance(inner, list) else entry


def _ours(file: ConfigFile, root: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Our entries by event, each as its innermost object."""
    found: dict[str, list[Any]] = {}
    for event, _, entry in _own_entries(file, root):
        found.setdefault(event, []).append(entry)
    return found


def _lists(file: ConfigFile, root: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The lists of hooks with their events, or the only one, which has none."""
    hooks = root.get(file.hooks_key) if file.hooks_key else root
    pairs = hooks.items() if isinstance(hooks, Mapping) else [("", hooks)]
    for event, listed in pairs:
        if isinstance(listed, MutableSequence) and bool(event) is not bool(file.settings.event_key):
            yield event, listed


def _list_of(file: ConfigFile, root: Mapping[str, Any], event: str) -> Any:  # noqa: ANN401
    """The list that holds the hooks of an event."""
    return dict(_lists(file, root))["" if file.settings.event_key else event]


def _own_entries(file: ConfigFile, root: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each of our entries as its innermost object, with its event and its position in that."""
    path = _command_path(file)
    for event, listed in _lists(file, root):
        for number, entry in enumerate(listed):
            inner = entry.get(_HOOKS) if isinstance(entry, MutableMapping) else None
            inner = inner if isinstance(inner, MutableSequence) else ()
            places = [(f":{number}:{index}", each) for index, each in enumerate(inner)]
            for position, each in ((f":{number}", entry), *places):
                if is_own_call(file.agent, _value_at(each, path)):
                    yield event or str(each.get(file.settings.event_key)), position, each


def _command_path(file: ConfigFile) -> tuple[str, ...]:
    """The keys of the command in the innermost part of an entry."""
    leaf = _leaf(file.settings.entry)
    paths: list[tuple[str, ...]] = [(key,) for key in leaf]
    paths += [(key, name) for key, part in leaf.items() if isinstance(part, dict) for name in part]
    return next(path for path in paths if _value_at(leaf, path) == "{command}")


def _value_at(value: Any, path: Iterable[str]) -> Any:  # noqa: ANN401 - any value of a document
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _remove(file: ConfigFile, root: Any, event: str, baseline: Baseline) -> None:  # noqa: ANN401
    """Remove our entries of an event, and what they leave empty if we had added it."""
    key, listed = file.hooks_key, _list_of(file, root, event)
    for entry in reversed(_ours(file, root)[event]):
        comments = _comments_in(entry)
        _drop(listed, entry)
        for comment in comments:
            root.add(comment)
    places = [(root, key, key)] if key else []
    if not file.settings.event_key:
        places.insert(0, (root[key] if key else root, event, f"{_HOOKS}.{event}"))
    for parent, name, made in places:
        if not parent[name] and (baseline.made is None or made in baseline.made):
            del parent[name]


def _comments_in(entry: Any) -> list[Any]:  # noqa: ANN401 - as it was found
    """The comments on lines of their own in a table; tomlkit counts those behind it as well."""
    if not isinstance(entry, tomlkit.items.Table):
        return []
    return [item for _, item in entry.value.body if isinstance(item, tomlkit.items.Comment)]


def _drop(listed: MutableSequence[Any], entry: Any) -> None:  # noqa: ANN401 - as it was found
    """Remove one of our entries from the list of its event, or the group that holds it alone."""
    for index in reversed(range(len(listed))):
        group = listed[index].get(_HOOKS) if isinstance(listed[index], MutableMapping) else None
        inside = list(group) if isinstance(group, MutableSequence) else []
        if listed[index] == entry or inside == [entry]:
            del listed[index]
            return
        if entry in inside:
            del listed[index][_HOOKS][inside.index(entry)]
            return


# Which of them the agent runs.


def untrusted_events(locations: Locations, file: ConfigFile) -> tuple[str, ...] | None:
    """The events of a file whose hooks the agent does not run yet; None if that is not known."""
    trust = file.agent.trust
    if trust is None:
        return None
    try:
        recorded = list(_recorded(file.agent, locations.home))
        hooks = list(_own_entries(file, read_values(file.path))) if trust.hooks else []
    except (RefusedError, ValueError, RecursionError):
        return None
    if trust.folders:
        if file.scope == USER or _has_folder(locations, file.agent, recorded):
            return ()
        return (*file.agent.turn_events,)
    known = _trusted(trust, recorded)
    # Codex may have resolved symlinks.
    paths = (file.path, os.path.realpath(file.path))
    untrusted = []
    for event, position, _ in hooks:
        if not any(f"{path}:{_place(event, position)}" in known for path in paths):
            untrusted.append(event)
    return tuple(untrusted)


def untrusted_of_plugin(locations: Locations, agent: Agent, hooks: str) -> tuple[str, ...]:
    """The events whose hooks in a plugin's file the agent does not run yet, as far as is known."""
    if agent.trust is None or not agent.trust.hooks:
        return ()
    try:
        known = _trusted(agent.trust, _recorded(agent, locations.home))
    except (RefusedError, ValueError, RecursionError):
        return ()
    events = agent.events()
    return tuple(each for each in events if f"{hooks}:{_place(each, ':0:0')}" not in known)


def _trusted(trust: Trust, recorded: Iterable[Mapping[str, Any]]) -> set[str]:
    """The places of the single hooks that the user trusts."""
    tables = [inner_table(values, trust.hooks) for values in recorded]
    return {key for table in tables for key, row in table.items() if _has_hash(row)}


def _place(event: str, position: str) -> str:
    """A hook in its file, as Codex writes it: `stop:0:0`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower() + position


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
        yield read_values(os.path.join(home_of(agent, home), name))


def read_values(path: str) -> Mapping[str, Any]:
    """What a JSON or TOML file holds, empty if it is missing; RefusedError or ValueError."""
    data = read_file(path)
    text = (data or b"").decode("utf-8")
    return (read_toml if path.endswith(".toml") else read_json)(text).before or {}


def inner_table(values: object, path: str) -> Mapping[str, Any]:
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
