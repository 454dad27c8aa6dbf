"""Our hooks in a TOML file of an agent: a marked block of tables at its end.

Every function raises RefusedError for a file that cannot be used.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from git_boocode.agents.baselines import UNKNOWN, Baseline
from git_boocode.agents.config_files import ConfigFile, Wanted, as_wanted, leaf
from git_boocode.repo.errors import RefusedError

_BEGIN = "# >>> git-boocode: 'git boocode hooks uninstall' takes this block out >>>"
_END = "# <<< git-boocode <<<"
# With the blank line above it.
_BLOCK_BEGINS = re.compile(rf"(?:\r?\n(?=\r?\n)|(?<=\n)\r?\n)?^{re.escape(_BEGIN)}", re.MULTILINE)
_BLOCK_ENDS = re.compile(rf"^{re.escape(_END)}(?:\r?\n|\Z)", re.MULTILINE)


def lists_hooks(file: ConfigFile, data: bytes) -> bool:
    """Whether a file lists hooks besides ours; RefusedError if it is not valid TOML.

    A table without lists does not: Codex notes there which hooks the user trusts, wherever those
    are listed.
    """
    hooks = _parsed(file, _without_block(file.decoded(data))).get("hooks")
    return isinstance(hooks, dict) and any(isinstance(each, list) for each in hooks.values())


def install(file: ConfigFile, data: bytes | None, wanted: Wanted) -> tuple[bytes, frozenset[str]]:
    """The file with just the hooks that are wanted; nothing else has to be added to hold them."""
    data = data or b""
    before, text = file.decoded(uninstall(file, data, UNKNOWN)), file.decoded(data)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([_BEGIN, *_tables(file, wanted), _END, ""])
    found = _block(text)
    if found is not None:
        after = text[: text.index(_BEGIN, found[0])] + block + text[found[1] :]
    else:
        ends = "" if not text or text.endswith("\n") else newline
        after = f"{text}{ends}{newline if text else ''}{block}"
    _check(file, before, after, wanted)
    return file.encoded(after), frozenset()


def uninstall(file: ConfigFile, data: bytes, _: Baseline) -> bytes:
    """The file without our block; RefusedError if it has our hooks outside of one."""
    if b"boocode" not in data:
        return data
    text = _without_block(file.decoded(data))
    if file.entries(_parsed(file, text).get("hooks")):
        hint = f"remove the hooks that call 'git boocode hook {file.agent.name}' yourself"
        raise file.unusable("our hooks in it have lost the lines that mark them", hint)
    return file.encoded(text)


def installed(file: ConfigFile, data: bytes, wanted: Wanted) -> dict[str, bool]:
    """The events of our hooks in a file, and whether each is as wanted."""
    if b"boocode" not in data:
        return {}
    hooks = _parsed(file, file.decoded(data)).get("hooks")
    return as_wanted(file, file.entries(hooks), wanted)


def _block(text: str) -> tuple[int, int] | None:
    """Where our block begins, with the blank line above it, and ends."""
    begins = _BLOCK_BEGINS.search(text)
    ends = _BLOCK_ENDS.search(text, begins.end()) if begins else None
    return (begins.start(), ends.end()) if begins and ends else None


def _without_block(text: str) -> str:
    found = _block(text)
    return text[: found[0]] + text[found[1] :] if found else text


def _parsed(file: ConfigFile, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        found: dict[str, Any] = tomllib.loads(text.removeprefix("\ufeff"))
        return found
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise file.unusable(f"it is not valid TOML: {reason}") from None


def _tables(file: ConfigFile, wanted: Wanted) -> Iterator[str]:
    for event in wanted.commands:
        entry = wanted.entry(file.settings, event)
        inner = leaf(entry)
        yield f"[[hooks.{event}]]"
        if inner is not entry:
            yield f"[[hooks.{event}.hooks]]"
        for key, value in inner.items():
            # TOML has the escapes of JSON, but for one character.
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")


def _check(file: ConfigFile, before: str, after: str, wanted: Wanted) -> None:
    """Refuse a file in which anything but our hooks would change."""
    expected = _parsed(file, before)
    try:
        found = _parsed(file, after)
    except RefusedError as error:
        raise file.unusable(
            "its hooks are written as inline tables or arrays, which cannot be extended"
        ) from error
    hooks = dict(expected.get("hooks") or {})
    for event in wanted.commands:
        hooks[event] = [*hooks.get(event, ()), wanted.entry(file.settings, event)]
    if found != {**expected, "hooks": hooks}:
        raise file.unusable("its hooks would not read as they do now")
