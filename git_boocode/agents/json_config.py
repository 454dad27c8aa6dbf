"""Our hooks in a JSON file of an agent's: put in, found, taken out, all else left as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from git_boocode.agents.entries import (
    Baseline,
    Wanted,
    command_key,
    decoded,
    encoded,
    entries_of,
    is_ours,
    leaf,
    unusable,
)
from git_boocode.agents.jsontext import (
    JsonTextError,
    Node,
    insert,
    new_document,
    parse,
    remove,
    replace,
)
from git_boocode.agents.registry import Agent, Settings

_HOOKS = "hooks"


class Installed(NamedTuple):
    """A file with our hooks, and what we had to add to it for them to be in."""

    data: bytes
    made: frozenset[str]


def install(agent: Agent, path: str, data: bytes | None, wanted: Wanted) -> Installed:
    """A file with the hooks that are wanted, and with no other one of ours.

    Args:
        agent: whose file it is.
        path: for messages.
        data: what it holds; None if there is none.
        wanted: the hooks.

    Raises:
        RefusedError: the file cannot take them.
    """
    text = decoded(data or b"", path)
    file = _File(agent, path, text)
    if file.root is None:
        file.take(new_document(text, {}))
    file.check()
    file.preface()
    for event in file.events():
        if event not in wanted.commands:
            file.remove(event, Baseline())
    for event in wanted.commands:
        file.install(event, wanted)
    return Installed(encoded(file.text, path), frozenset(file.made))


def uninstall(agent: Agent, path: str, data: bytes, baseline: Baseline) -> bytes | None:
    """A file without our hooks; None if it is not to be there any more.

    Args:
        agent: whose file it is.
        path: for messages.
        data: what it holds.
        baseline: what is known of what was there before.

    Raises:
        RefusedError: the file cannot be read, and something of ours may be in it.
    """
    if b"boocode" not in data:
        return data
    file = _File(agent, path, decoded(data, path))
    events = list(file.events())
    for event in events:
        file.remove(event, baseline)
    if events:
        file.remove_preface(baseline)
    if baseline.created and file.is_bare(baseline):
        return None
    return encoded(file.text, path)


def installed(agent: Agent, path: str, data: bytes) -> dict[str, list[dict[str, Any]]]:
    """Our hooks in a file by event, each as its innermost object.

    Args:
        agent: whose file it is.
        path: for messages.
        data: what it holds.

    Raises:
        RefusedError: the file cannot be read.
    """
    file = _File(agent, path, decoded(data, path))
    hooks = file.plain().get(_HOOKS)
    if not isinstance(hooks, dict):
        return {}
    found = {event: list(entries_of(agent, file.settings, hooks[event])) for event in hooks}
    return {event: ours for event, ours in found.items() if ours}


class _File:
    """A file while it is being changed."""

    def __init__(self, agent: Agent, path: str, text: str) -> None:
        assert isinstance(agent.config, Settings)
        self.agent = agent
        self.settings = agent.config
        self.key = command_key(agent.config)
        self.path = path
        self.made: set[str] = set()
        self.take(text)

    def take(self, text: str) -> None:
        self.text = text
        try:
            self.root = parse(text)
        except JsonTextError as error:
            raise unusable(self.path, f"it is no JSON: {error}") from None

    def plain(self) -> dict[str, Any]:
        found = self.root.plain() if self.root is not None else None
        return found if isinstance(found, dict) else {}

    def check(self) -> None:
        """Refuse what cannot take hooks, before anything is changed."""
        if self.root is None or self.root.kind != "{":
            raise unusable(self.path, "it holds no object")
        hooks = self.root.find(_HOOKS)
        if hooks is not None and hooks.kind != "{":
            raise unusable(self.path, f"'{_HOOKS}' in it is no object")
        for event in (self.agent.turn, self.agent.tool):
            listed = hooks.find(event) if hooks is not None else None
            if listed is not None and listed.kind != "[":
                raise unusable(self.path, f"'{_HOOKS}.{event}' in it is no array")

    def events(self) -> list[str]:
        """Under which events there is something of ours."""
        hooks = self.plain().get(_HOOKS)
        known = hooks if isinstance(hooks, dict) else {}
        return [
            event
            for event, listed in known.items()
            if next(entries_of(self.agent, self.settings, listed), None) is not None
        ]

    def preface(self) -> None:
        assert self.root is not None
        for key, value in self.settings.preface.items():
            if self.root.find(key) is None:
                self.take(insert(self.text, self.root, key, value))
                self.made.add(key)

    def install(self, event: str, wanted: Wanted) -> None:
        """Bring what there is of ours under an event to what is wanted; all but one go."""
        entry = wanted.entry(self.settings, event)
        ours = list(self._ours(event))
        if not ours:
            self._append(event, entry)
            return
        for _ in ours[1:]:
            *_, last = self._ours(event)
            self._drop(last)
        for key, value in leaf(entry).items():
            found = next(self._ours(event)).leaf
            there = found.find(key)
            if there is None:
                self.take(insert(self.text, found, key, value))
            elif there.kind or there.value != value or type(there.value) is not type(value):
                self.take(replace(self.text, there, value))

    def _append(self, event: str, entry: dict[str, Any]) -> None:
        assert self.root is not None
        hooks = self.root.find(_HOOKS)
        listed = hooks.find(event) if hooks is not None else None
        if listed is not None:
            self.take(insert(self.text, listed, "", entry))
            return
        self.made.add(f"{_HOOKS}.{event}")
        if hooks is not None:
            self.take(insert(self.text, hooks, event, [entry]))
            return
        self.made.add(_HOOKS)
        self.take(insert(self.text, self.root, _HOOKS, {event: [entry]}))

    def remove(self, event: str, baseline: Baseline) -> None:
        """Take out what there is of ours under an event, and what we leave empty."""
        while (ours := next(self._ours(event), None)) is not None:
            self._drop(ours)
        assert self.root is not None
        self._tidy(self.root.find(_HOOKS), event, f"{_HOOKS}.{event}", baseline)
        self._tidy(self.root, _HOOKS, _HOOKS, baseline)

    def _tidy(self, parent: Node | None, key: str, name: str, baseline: Baseline) -> None:
        if parent is None or not (baseline.made is None or name in baseline.made):
            return
        found = parent.find(key)
        if found is not None and found.kind and not found.items and not self._comments(found):
            index = max(i for i, item in enumerate(parent.items) if item.key == key)
            self.take(remove(self.text, parent, index))

    def _comments(self, node: Node) -> bool:
        return bool(self.text[node.start + 1 : node.end - 1].strip())

    def remove_preface(self, baseline: Baseline) -> None:
        """Take out what we had to add besides, unless there are still hooks that may need it."""
        if self.plain().get(_HOOKS):
            return
        for key in reversed(tuple(self.settings.preface)):
            if key in (baseline.made or ()):
                self._cut(key)

    def _cut(self, key: str) -> None:
        assert self.root is not None
        index = next((i for i, item in enumerate(self.root.items) if item.key == key), None)
        if index is not None:
            self.take(remove(self.text, self.root, index))

    def is_bare(self, baseline: Baseline) -> bool:
        """Whether nothing is left that anyone but us would have written."""
        left = self.plain()
        preface = dict(self.settings.preface) if baseline.made is None else {}
        bare = self.root is None or left in ({}, preface)
        return bare and "/" not in self.text

    def _ours(self, event: str) -> Iterator[_Place]:
        hooks = self.root.find(_HOOKS) if self.root is not None else None
        listed = hooks.find(event) if hooks is not None else None
        for index, item in enumerate(listed.items if listed is not None else ()):
            assert listed is not None
            if self._is_leaf(item.node):
                yield _Place(item.node, [(listed, index)])
            inner = item.node.find(_HOOKS)
            if inner is None or inner.kind != "[":
                continue
            for position, each in enumerate(inner.items):
                if self._is_leaf(each.node):
                    yield _Place(each.node, [(inner, position), (listed, index)])

    def _is_leaf(self, node: Node) -> bool:
        command = node.find(self.key)
        return command is not None and is_ours(self.agent, command.value)

    def _drop(self, place: _Place) -> None:
        # A group that holds ours alone goes as a whole.
        alone = len(place.within) > 1 and len(place.within[0][0].items) == 1
        container, index = place.within[1 if alone else 0]
        self.take(remove(self.text, container, index))


class _Place(NamedTuple):
    """Where an entry of ours is: itself, and the containers that it is in, innermost first."""

    leaf: Node
    within: list[tuple[Node, int]]
