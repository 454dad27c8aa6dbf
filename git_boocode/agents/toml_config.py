"""Our hooks in a TOML file of an agent's: a marked block of tables at its end."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from git_boocode.agents.entries import Wanted, decoded, encoded, entries_of, leaf, unusable
from git_boocode.agents.registry import Agent, Settings
from git_boocode.repo.errors import RefusedError

_BEGIN = "# >>> git-boocode: 'git boocode hooks uninstall' takes this block out >>>"
_END = "# <<< git-boocode <<<"
_BLOCK_BEGINS = re.compile(rf"(?:\r?\n(?=\r?\n)|(?<=\n)\r?\n)?^{re.escape(_BEGIN)}", re.MULTILINE)
_BLOCK_ENDS = re.compile(rf"^{re.escape(_END)}(?:\r?\n|\Z)", re.MULTILINE)


def lists_hooks(path: str, data: bytes) -> bool:
    """Whether a file lists hooks of anyone but us.

    A table that holds no lists does not: Codex itself notes there which hooks the user trusts,
    wherever those are listed.

    Args:
        path: for messages.
        data: what it holds.

    Raises:
        RefusedError: it is no TOML.
    """
    hooks = _parsed(_without_blocks(decoded(data, path)), path).get("hooks")
    return isinstance(hooks, dict) and any(isinstance(each, list) for each in hooks.values())


def install(agent: Agent, path: str, data: bytes, wanted: Wanted) -> bytes:
    """A file with the hooks that are wanted, and with no other one of ours.

    Args:
        agent: whose file it is.
        path: for messages.
        data: what it holds.
        wanted: the hooks.

    Raises:
        RefusedError: the file cannot take them.
    """
    before = uninstall(agent, path, data)
    text = decoded(data, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([_BEGIN, *_tables(agent, wanted), _END, ""])
    found = next(_blocks(text), None)
    if found is not None:
        after = text[: text.index(_BEGIN, found[0])] + block + text[found[1] :]
    else:
        ends = "" if not text or text.endswith("\n") else newline
        after = f"{text}{ends}{newline if text else ''}{block}"
    _check(agent, path, decoded(before, path), after, wanted)
    return encoded(after, path)


def uninstall(agent: Agent, path: str, data: bytes) -> bytes:
    """A file without our block.

    Args:
        agent: whose file it is.
        path: for messages.
        data: what it holds.

    Raises:
        RefusedError: there are hooks of ours in it that are not in our block.
    """
    if b"boocode" not in data:
        return data
    text = _without_blocks(decoded(data, path))
    if _ours(agent, _parsed(text, path)):
        raise unusable(path, "our hooks in it have lost the lines that mark them; take them out")
    return encoded(text, path)


def installed(agent: Agent, path: str, data: bytes) -> dict[str, list[dict[str, Any]]]:
    """Our hooks in a file by event, each as its innermost table.

    Args:
        agent: whose file it is.
        path: for messages.
        data: what it holds.

    Raises:
        RefusedError: it is no TOML.
    """
    if b"boocode" not in data:
        return {}
    return _ours(agent, _parsed(decoded(data, path), path))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where our blocks begin, with a blank line above them, and end."""
    at = 0
    while begins := _BLOCK_BEGINS.search(text, at):
        ends = _BLOCK_ENDS.search(text, begins.end())
        if ends is None:
            return
        at = ends.end()
        yield begins.start(), at


def _without_blocks(text: str) -> str:
    at, kept = 0, []
    for start, end in _blocks(text):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def _parsed(text: str, path: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        found: dict[str, Any] = tomllib.loads(text.removeprefix("\ufeff"))
        return found
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise unusable(path, f"it is no TOML: {reason}") from None


def _ours(agent: Agent, found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    assert isinstance(agent.config, Settings)
    hooks = found.get("hooks")
    listed = hooks if isinstance(hooks, dict) else {}
    ours = {event: list(entries_of(agent, agent.config, listed[event])) for event in listed}
    return {event: entries for event, entries in ours.items() if entries}


def _tables(agent: Agent, wanted: Wanted) -> Iterator[str]:
    assert isinstance(agent.config, Settings)
    for event in wanted.commands:
        entry = wanted.entry(agent.config, event)
        inner = leaf(entry)
        yield f"[[hooks.{event}]]"
        if inner is not entry:
            yield f"[[hooks.{event}.hooks]]"
        for key, value in inner.items():
            yield f"{key} = {_literal(value)}"


def _literal(value: object) -> str:
    # What JSON escapes TOML does, too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check(agent: Agent, path: str, before: str, after: str, wanted: Wanted) -> None:
    """Refuse a file that reads otherwise than it did, but for our hooks."""
    there = _parsed(before, path)
    try:
        read = _parsed(after, path)
    except RefusedError as error:
        raise unusable(
            path, "its hooks are written as inline tables or arrays, which cannot be extended"
        ) from error
    assert isinstance(agent.config, Settings)
    hooks = dict(there.get("hooks") or {})
    for event in wanted.commands:
        hooks[event] = [*hooks.get(event, ()), wanted.entry(agent.config, event)]
    if read != {**there, "hooks": hooks}:
        raise unusable(path, "its hooks would not read as they do now")
