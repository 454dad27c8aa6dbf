"""Our server in an agent's list of MCP servers, JSON or TOML: installed, found, uninstalled.

Every function raises RefusedError for a file that cannot be used.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

import tomlkit

from git_boocode.agents.config_files import TOML, Baseline, ConfigFile, refusal
from git_boocode.agents.config_settings import read_settings, written_settings
from git_boocode.agents.own_hooks import server_options
from git_boocode.agents.round_trip import plain

NAME = "boocode"
"""What our server is called in the list of an agent."""


class WantedServer(NamedTuple):
    """The command that starts our server, in words, and its options."""

    program: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The whole command."""
        return [*self.program, *self.options]


class FoundServer(NamedTuple):
    """The entry with our server's name: its command, in words, and the options of our server.

    `options` is None if the command is not ours.
    """

    words: list[str]
    options: list[str] | None


def install(
    file: ConfigFile, data: bytes | None, wanted: WantedServer
) -> tuple[bytes, frozenset[str]]:
    """The file with our server in its list, and what had to be added to hold it.

    Of an entry that is there, only the command is renewed. Raises RefusedError if it starts another
    program (`exists`), or our server with other options (`changed`).
    """
    file.encoded("".join(wanted.words))
    document = read_settings(file, data or b"")
    root, key = document.root, file.servers.key
    if root is None:
        raise file.unusable("it does not hold an object")
    entry = _listed(file, root).get(NAME, {})
    for path, value in ((key, root.get(key, {})), (f"{key}.{NAME}", entry)):
        if not isinstance(value, MutableMapping):
            raise file.unusable(f"'{path}' in it is not an object")
    made = frozenset() if key in root else frozenset({key})
    new, found = _entry(file, wanted), _found(file, root)
    if found is not None:
        _refuse_other(file, found, wanted)
        entry = _listed(file, root)[NAME]
        fixed = (name for name, value in file.servers.entry.items() if str(value)[:1] == "{")
        entry.update({name: new[name] for name in fixed if plain(entry.get(name)) != new[name]})
    elif made:
        root[key] = _table({NAME: new}) if file.kind == TOML else {NAME: new}
    else:
        _listed(file, root)[NAME] = new
    return written_settings(file, data or b"", document), made


def uninstall(file: ConfigFile, data: bytes, baseline: Baseline) -> bytes | None:
    """The file without our server; None if it is to be removed."""
    if NAME.encode() not in data:
        return data
    document = read_settings(file, data)
    root, key = document.root, file.servers.key
    found = None if root is None else _found(file, root)
    if root is None or found is None or found.options is None:
        return data
    del _listed(file, root)[NAME]
    if not root[key] and (baseline.made is None or key in baseline.made):
        del root[key]
    if baseline.created and not plain(root) and not document.has_comments:
        return None
    return written_settings(file, data, document)


def installed(file: ConfigFile, data: bytes, wanted: WantedServer) -> dict[str, bool]:
    """Our server's name if it is in the list, and whether its program is the one that is wanted."""
    found = find(file, data)
    if found is None or found.options is None:
        return {}
    return {NAME: found.words == [*wanted.program, *found.options]}


def find(file: ConfigFile, data: bytes) -> FoundServer | None:
    """The entry with our server's name."""
    if NAME.encode() not in data:
        return None
    root = read_settings(file, data).root
    return None if root is None else _found(file, root)


def _found(file: ConfigFile, root: Mapping[str, Any]) -> FoundServer | None:
    entry = plain(_listed(file, root).get(NAME))
    if entry is None:
        return None
    words: list[str] = []
    for name, value in file.servers.entry.items():
        given = entry.get(name) if isinstance(entry, dict) and str(value)[:1] == "{" else None
        words += map(str, given if isinstance(given, list) else [] if given is None else [given])
    return FoundServer(words, server_options(words))


def _listed(file: ConfigFile, root: Any) -> Any:  # noqa: ANN401 - as the document has it
    """The object that lists the servers; an empty one if there is none."""
    listed = root.get(file.servers.key)
    if not isinstance(listed, MutableMapping):
        return {}
    inner = listed.get(file.servers.inner) if file.servers.inner else None
    return inner if isinstance(inner, MutableMapping) else listed


def _refuse_other(file: ConfigFile, found: FoundServer, wanted: WantedServer) -> None:
    what = f"'{NAME}' in '{file.path}'"
    if found.options is None:
        raise refusal(
            f"{what} is another server",
            "give it another name, or remove it, and try again",
            code="exists",
        )
    if found.options != list(wanted.options):
        given = f"with other options: {' '.join(found.options)}" if found.options else ""
        remove = f"git boocode serve --uninstall {file.agent.name} --{file.scope}"
        raise refusal(
            f"{what} is already installed {given or 'without options'}",
            f"'{remove}' removes it; then install it again",
            code="changed",
        )


def _entry(file: ConfigFile, wanted: WantedServer) -> dict[str, Any]:
    program, *arguments = wanted.words
    values = {"{program}": program, "{arguments}": arguments, "{words}": wanted.words}
    return {
        name: values.get(value, value) if isinstance(value, str) else value
        for name, value in file.servers.entry.items()
    }


def _table(servers: Mapping[str, Mapping[str, Any]]) -> Any:  # noqa: ANN401 - tomlkit's
    """A table without a header of its own, as `[mcp_servers.boocode]` alone reads better."""
    table = tomlkit.table(is_super_table=True)
    for name, entry in servers.items():
        table.add(name, tomlkit.item(dict(entry)))
    return table
