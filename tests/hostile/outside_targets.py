"""Readers of what others may have written accept any bytes; see `tests.hostile.targets`.

Payloads of agents, the metadata in commit messages, values of the configuration, and the files into
which hooks are installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from git_boocode.agents import config_settings, git_install
from git_boocode.agents.agent import Agent, Settings
from git_boocode.agents.config_files import JSON, TOML, UNKNOWN, ConfigFile, Wanted
from git_boocode.agents.event import named_files, parse_event, pathspecs
from git_boocode.agents.payload import parse_payload
from git_boocode.agents.registry import AGENTS, find_agent
from git_boocode.checkpoints.prompt import label_of
from git_boocode.editing.records import Records
from git_boocode.repo.config import Config, Setting
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.store import Commit, Ref

ID = "01234567-89ab-7def-8123-456789abcdef"


def payload_of(agent: Agent, event: str) -> Callable[[bytes], None]:
    def target(data: bytes) -> None:
        with suppress(FatalError):
            parsed = parse_event(agent, event, parse_payload(data))
            label_of(parsed.prompt)
            assert all(os.path.isabs(path) for path in parsed.directories)
            fields = parsed.agent.fields
            specs = pathspecs("/nowhere", "/nowhere", named_files(parsed.payload, fields))
            assert all(os.fsencode(spec) for spec in specs)

    return target


def metadata(data: bytes) -> None:
    with suppress(BoocodeError):
        meta = Metadata.parse(data.decode("utf-8", "surrogateescape"))
        assert meta.message()
        assert meta.skipped_paths is not None
        for key in ("worktree", "head", "index"):
            meta.part(key, "name")


def edit_metadata(data: bytes) -> None:
    message = data.decode("utf-8", "surrogateescape")
    commit = Commit("1" * 40, "2" * 40, (), message)
    with suppress(BoocodeError):
        Records.read(Ref(f"refs/boocode/edits/{ID}", "1" * 40), commit)


def setting(data: bytes) -> None:
    value = os.fsdecode(data.replace(b"\0", b""))
    config = Config({"boocode.x": Setting(value, "local", "file:.git/config")})
    for read in (
        lambda: config.boolean("boocode.x", default=False),
        lambda: config.integer("boocode.x", default=1),
        lambda: config.age("boocode.x", default=None),
        lambda: config.path("boocode.x"),
    ):
        with suppress(FatalError):
            read()


def settings_of(agent: Agent) -> Callable[[bytes], None]:
    """Installing hooks into any file, and taking them out again."""
    assert isinstance(agent.config, Settings)
    call = f"git boocode hook {agent.name} "
    events = filter(None, (agent.turn, agent.tool))
    wanted = Wanted({event: call + event for event in events}, 10, per_tool=True)

    def target(data: bytes) -> None:
        with suppress(BoocodeError):
            file = ConfigFile(agent, "user", JSON, "settings.json", "")
            after, _ = config_settings.install(file, data, wanted)
            config_settings.installed(file, after, wanted)
            config_settings.uninstall(file, after, UNKNOWN)
        with suppress(BoocodeError):
            file = ConfigFile(agent, "user", TOML, "config.toml", "")
            config_settings.lists_hooks(file, data)
            written, _ = config_settings.install(file, data, wanted)
            config_settings.installed(file, written, wanted)
            config_settings.uninstall(file, written, UNKNOWN)

    return target


def git_hook(data: bytes) -> None:
    if git_install.find_part(data):
        renewed = git_install.renew(data, "true")
        assert git_install.remove(renewed) == git_install.remove(data)
    elif git_install.is_shell_script(data):
        assert git_install.remove(git_install.insert(data, "true")) == data


TARGETS: dict[str, Callable[[bytes], None]] = {
    **{
        f"payload-{agent.name}-{event}": payload_of(agent, event)
        for agent in AGENTS.values()
        for event in ("", agent.turn, agent.tool)
    },
    "metadata": metadata,
    "metadata-edit": edit_metadata,
    "config": setting,
    **{
        f"settings-{agent.name}": settings_of(agent)
        for agent in AGENTS.values()
        if isinstance(agent.config, Settings)
    },
    "git-hook": git_hook,
}

_JSON = (
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b'"a"', b"1", b"-1", b"1e999", b"null", b"true"),
    *(b"\\u0000", b"\\ud800", b"\xff", b"NaN", b"9" * 100, b'""', b"\n", b'"../../x"', b'"/"'),
)


def _keys(*names: str) -> tuple[bytes, ...]:
    return tuple(f'"{name}":'.encode() for name in names)


def _fields(name: str) -> tuple[bytes, ...]:
    agent = find_agent(name)
    assert agent is not None
    groups = (*agent.fields, ("file_path", "path", "edits", "command", "input"))
    found = {part for group in groups for field in group for part in str(field).split(".")}
    return _keys(*sorted(found))


WORDS: dict[str, tuple[bytes, ...]] = {
    **{
        f"payload-{agent.name}-": (
            *_JSON,
            *_fields(agent.name),
            *(f'"{event}"'.encode() for event in (agent.turn, agent.tool)),
            b'"*** Begin Patch\\n*** Update File: a\\n"',
        )
        for agent in AGENTS.values()
    },
    "metadata": (
        *_JSON,
        *(b"s\n\n", b'{"boocode":1,', b"\n", b'"path":', b'"action":"modify"'),
        *_keys("id", "kind", "label", "worktree", "head", "index", "skipped", "meta", "files"),
        *_keys("name", "commit", "from", "old", "new", "mode", "before", "after", "edits"),
    ),
    "config": (b"0x", b"0", b"9" * 40, b"k", b"g", b"-", b"+", b".", b" ", b"weeks", b"ago", b"~"),
    "settings-": (
        *_JSON,
        *_keys("hooks", "UserPromptSubmit", "command", "version", "timeout", "type", "matcher"),
        *(b"// c\n", b"/* c */", b"\xef\xbb\xbf", b"\t", b"  ", b"\r\n", b'"command"', b"'"),
        *(b"[[hooks.a]]\n", b"[hooks]\n", b"a = 1\n", b"# c\n", b"'''", b'"""', b"=", b"."),
        b'"git boocode hook claude-code UserPromptSubmit"',
    ),
    "git-hook": (
        *(b"#!/bin/sh\n", b"#!/usr/bin/env python3\n", b"exit 0\n", b"\r\n", b"\0", b"exec $0 "),
        *(b"# >>> git-boocode", b": it made this file >>>\n", b"# <<< git-boocode <<<\n", b"\n"),
        *(b": it moved the hook that was here to x >>>\n", b"a=b ", b"dirname", b"basename"),
    ),
}
