"""Our package in an agent's list of plugins, JSON: installed, found, uninstalled.

Every function raises RefusedError for a file that cannot be used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableSequence
from typing import Any

from git_boocode.agents.agent import Package
from git_boocode.agents.config_files import Baseline, ConfigFile, Wanted
from git_boocode.agents.config_settings import read_settings, written_settings
from git_boocode.agents.own_hooks import is_own_call
from git_boocode.agents.round_trip import plain
from git_boocode.repo.files import shipped_file


def install(file: ConfigFile, data: bytes | None, wanted: Wanted) -> tuple[bytes, frozenset[str]]:
    """The file with our package in its list, and what had to be added to hold it."""
    document, key = read_settings(file, data or b""), _config(file).key
    root, preface = document.root, _config(file).preface
    if root is None:
        raise file.unusable("it does not hold an object")
    made = {key} - root.keys()
    if data is None:
        made |= preface.keys()
        root.update(preface)
    listed = root.setdefault(key, [])
    if not isinstance(listed, MutableSequence):
        raise file.unusable(f"'{key}' in it is not an array")
    entry, ours = _entry(file, wanted), _ours(file, root)
    if not ours:
        listed.append(entry)
    elif plain(listed[ours[0]]) != entry:
        listed[ours[0]] = entry
    for index in reversed(ours[1:]):
        del listed[index]
    return written_settings(file, data or b"", document), frozenset(made)


def uninstall(file: ConfigFile, data: bytes, baseline: Baseline) -> bytes | None:
    """The file without our package; None if it is to be removed."""
    if b"boocode" not in data:
        return data
    document, key = read_settings(file, data), _config(file).key
    root = document.root
    if root is None or not (ours := _ours(file, root)):
        return data
    for index in reversed(ours):
        del root[key][index]
    if not root[key] and (baseline.made is None or key in baseline.made):
        del root[key]
    if plain(root) == _config(file).preface and root.keys() <= (baseline.made or set()):
        root.clear()
    if baseline.created and not plain(root) and not document.has_comments:
        return None
    return written_settings(file, data, document)


def installed(file: ConfigFile, data: bytes, wanted: Wanted) -> dict[str, bool]:
    """The events that our package serves, and whether it is listed as wanted, if it is."""
    root = read_settings(file, data).root or {} if b"boocode" in data else {}
    ours = [plain(root[_config(file).key][index]) for index in _ours(file, root)]
    if not ours:
        return {}
    per_tool = bool(ours[0][1].get("perTool", True))
    expected = _entry(file, wanted._replace(per_tool=per_tool)) if wanted.commands else None
    return dict.fromkeys(file.agent.events(per_tool=per_tool), ours == [expected])


def package_path(config: Package) -> str:
    """The directory of the package on this machine."""
    return os.path.dirname(shipped_file(f"agents/{config.name}/package.json"))


def _config(file: ConfigFile) -> Package:
    assert isinstance(file.agent.config, Package)
    return file.agent.config


def _entry(file: ConfigFile, wanted: Wanted) -> list[Any]:
    command = wanted.commands[""]
    file.encoded(command)
    options = {"command": command, "seconds": wanted.seconds, "perTool": wanted.per_tool}
    return [package_path(_config(file)), options]


def _ours(file: ConfigFile, root: Mapping[str, Any]) -> list[int]:
    """The positions of our package in the list; the command in its options identifies it."""
    listed = root.get(_config(file).key)
    if not isinstance(listed, MutableSequence):
        return []
    options = [each[1] if isinstance(each, list) and len(each) == 2 else None for each in listed]
    return [
        index
        for index, each in enumerate(options)
        if isinstance(each, dict) and is_own_call(file.agent, each.get("command"))
    ]
