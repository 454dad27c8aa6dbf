"""Our hooks in a JSON file of an agent: installed, found, uninstalled.

The file keeps the order of its keys, its indentation, line endings and final newline. It is written
by the `json` module, so one with comments is left to the user. Every function raises RefusedError
for a file that cannot be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NoReturn

from git_boocode.agents.baselines import UNKNOWN, Baseline
from git_boocode.agents.config_files import ConfigFile, Wanted, as_wanted, leaf

_HOOKS = "hooks"
_INDENT = re.compile(r"\n([ \t]+)\S")
# Each matches strings as well, to pass over them.
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*"?)|,(?=\s*[}\]])', re.DOTALL)


def install(file: ConfigFile, data: bytes | None, wanted: Wanted) -> tuple[bytes, frozenset[str]]:
    """The file with just the hooks that are wanted, and what had to be added to hold them."""
    file.encoded("".join(wanted.commands.values()))
    settings, document = file.settings, _Document(file, data or b"")
    document.check_shape()
    root = document.root
    made = {key for key in settings.preface if key not in root}
    root.update({key: value for key, value in settings.preface.items() if key in made})
    by_hand = [
        f"add to the outermost object yourself: {json.dumps(key)}: {root[key]}" for key in made
    ]
    for event in document.ours():
        if event not in wanted.commands:
            document.remove(event, UNKNOWN)
    made |= {_HOOKS} - root.keys()
    hooks = root.setdefault(_HOOKS, {})
    for event in wanted.commands:
        entry = wanted.entry(settings, event)
        by_hand.append(_by_hand(hooks, event, entry, is_new=_HOOKS in made))
        if event not in hooks:
            made.add(f"{_HOOKS}.{event}")
            hooks[event] = []
        ours = document.ours().get(event)
        if ours:
            ours[0].update(leaf(entry))
            for extra in ours[1:]:
                _drop(hooks[event], extra)
        else:
            hooks[event].append(entry)
    return document.rendered(by_hand), frozenset(made)


def _by_hand(hooks: Mapping[str, Any], event: str, entry: object, *, is_new: bool) -> str:
    """How users can add an entry themselves; `is_new` says that there was no object of hooks."""
    where, text = f"the list '{_HOOKS}.{event}'", json.dumps(entry)
    if event not in hooks:
        where, text = f"the object '{_HOOKS}'", f"{json.dumps(event)}: [{text}]"
        if is_new and not hooks:
            where, text = "the outermost object", f"{json.dumps(_HOOKS)}: {{{text}}}"
    return f"add to {where} yourself: {text}"


def uninstall(file: ConfigFile, data: bytes, baseline: Baseline) -> bytes | None:
    """The file without our hooks; None if it is to be removed."""
    if b"boocode" not in data:
        return data
    document, preface = _Document(file, data), file.settings.preface
    if not isinstance(document.before, dict):
        return data
    events = document.ours()
    for event in events:
        document.remove(event, baseline)
    root = document.root
    if events and not root.get(_HOOKS):
        for key in preface.keys() & (baseline.made or ()):
            root.pop(key, None)
    bare: tuple[object, ...] = ({}, dict(preface) if baseline.made is None else {})
    if baseline.created and root in bare and not document.has_comments:
        return None
    call = f"'git boocode hook {file.agent.name}'"
    return document.rendered([f"remove the entries that call {call} yourself"])


def installed(file: ConfigFile, data: bytes, wanted: Wanted) -> dict[str, bool]:
    """The events of our hooks in a file, and whether each is as wanted."""
    return as_wanted(file, _Document(file, data).ours(), wanted)


class _Document:
    """What a JSON file holds, while that is being changed."""

    def __init__(self, file: ConfigFile, data: bytes) -> None:
        self.file, self.data = file, data
        self.text = file.decoded(data)
        self.has_comments = False
        if self.text.startswith("\ufeff"):
            reason = "it begins with a byte order mark"
            raise file.unusable(reason, "save it as UTF-8 without one and try again")
        try:
            self.before = self._parsed()
            self.root = deepcopy(self.before) if isinstance(self.before, dict) else {}
        except RecursionError:
            raise file.unusable("it is nested too deeply") from None

    def _parsed(self) -> object:
        try:
            return _parse(self.text)
        except json.JSONDecodeError as error:
            reason = f"line {error.lineno}, column {error.colno}: "
            reason += error.msg[:1].lower() + error.msg[1:]
        except ValueError as error:
            reason = str(error)
        plain = _TRAILING_COMMA.sub(r"\1", _COMMENT.sub(r"\1", self.text))
        try:
            parsed = _parse(plain)
        except ValueError:
            raise self.file.unusable(f"it is not valid JSON: {reason}") from None
        self.has_comments = True
        return parsed

    def check_shape(self) -> None:
        """Refuse what cannot hold our hooks."""
        if not isinstance(self.before, dict):
            raise self.file.unusable("it does not hold an object")
        hooks = self.root.get(_HOOKS, {})
        if not isinstance(hooks, dict):
            raise self.file.unusable(f"'{_HOOKS}' in it is not an object")
        for event in (self.file.agent.turn, self.file.agent.tool):
            if not isinstance(hooks.get(event, []), list):
                raise self.file.unusable(f"'{_HOOKS}.{event}' in it is not an array")

    def ours(self) -> dict[str, list[dict[str, Any]]]:
        """Our entries by event."""
        return self.file.entries(self.root.get(_HOOKS))

    def remove(self, event: str, baseline: Baseline) -> None:
        """Remove our entries of an event, and what they leave empty if we had added it."""
        hooks = self.root[_HOOKS]
        for entry in self.ours()[event]:
            _drop(hooks[event], entry)
        for parent, key, name in ((hooks, event, f"{_HOOKS}.{event}"), (self.root, _HOOKS, _HOOKS)):
            if not parent[key] and (baseline.made is None or name in baseline.made):
                del parent[key]

    def rendered(self, by_hand: list[str]) -> bytes:
        """The bytes of the file, in its own style; `by_hand` is what its user can do instead."""
        if self.root == self.before:
            return self.data
        if self.has_comments:
            reason = "it has comments or trailing commas, which would be lost"
            raise self.file.unusable(reason, *by_hand)
        bare, indent = self.text.strip(), _INDENT.search(self.text)
        style: dict[str, Any] = {"indent": indent[1] if indent else "  "}
        if "\n" not in bare and bare not in ("", "{}"):
            style = {} if re.search(r"[:,]\s", bare) else {"separators": (",", ":")}
        is_ascii = bool(bare) and bare.isascii()
        try:
            text = json.dumps(self.root, ensure_ascii=is_ascii, allow_nan=False, **style)
        except ValueError:
            raise self.file.unusable("it holds a number that is too large") from None
        except RecursionError:
            raise self.file.unusable("it is nested too deeply") from None
        text += self.text[len(self.text.rstrip()) :] if bare else "\n"
        if "\r\n" in self.text:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return self.file.encoded(text)


def _parse(text: str) -> object:
    if not text.strip():
        return {}
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"an object has the key {json.dumps(key)} twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"'{name}' is not a number in JSON")


def _drop(listed: list[Any], found: dict[str, Any]) -> None:
    """Remove one of our entries from the list of its event, or the group that holds it alone."""
    for index, entry in enumerate(listed):
        group = entry.get(_HOOKS) if isinstance(entry, dict) else None
        inside = [each is found for each in group] if isinstance(group, list) else []
        if entry is found or inside == [True]:
            del listed[index]
            return
        if isinstance(group, list) and True in inside:
            del group[inside.index(True)]
            return
