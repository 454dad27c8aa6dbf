"""Read what an agent tells its hooks: one JSON object, which may be anything at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from git_boocode.repo.errors import FatalError

_CHUNK = 1 << 20
_LARGEST = 256 << 20
_STANDARD_INPUT = 0


class Payload:
    """What a hook was told.

    Numbers are kept as they were written, for they stand for ids at most.

    Args:
        values: the JSON object.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def values(self, names: Iterable[str]) -> Iterator[Any]:
        """What there is under some names, but for null.

        Args:
            names: as `git_boocode.agents.agent.Fields` holds them.
        """
        for name in names:
            found: Any = self._values
            for key in name.split("."):
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                yield found

    def all_texts(self, names: Iterable[str]) -> list[str]:
        """All texts under some names, each once: single ones, and those of lists."""
        texts = (text for name in names for text in self.texts((name,)))
        return list(dict.fromkeys(texts))

    def text(self, names: Iterable[str]) -> str:
        """The first text under some names that is not empty; empty if there is none."""
        texts = (found for found in self.values(names) if isinstance(found, str))
        return next(filter(None, texts), "")

    def texts(self, names: Iterable[str]) -> list[str]:
        """The texts under the first of some names that has any: one, or those of a list."""
        for found in self.values(names):
            several = found if isinstance(found, list) else [found]
            if texts := [text for text in several if isinstance(text, str) and text]:
                return texts
        return []


def read_input() -> bytes:
    """All of standard input; nothing where that is a terminal, or closed.

    Raises:
        FatalError: it is too large to be a payload (`bad_payload`).
    """
    chunks = []
    size = 0
    try:
        if os.isatty(_STANDARD_INPUT):
            return b""
        while chunk := _read():
            chunks.append(chunk)
            size += len(chunk)
            if size > _LARGEST:
                raise _bad(f"is larger than {_LARGEST >> 20} MiB")
    except OSError:
        # A part of a payload says no more than none.
        return b""
    return b"".join(chunks)


def _read() -> bytes:
    try:
        return os.read(_STANDARD_INPUT, _CHUNK)
    except BlockingIOError:
        # Who made the pipe did not want to wait for it; a hook does.
        import select

        select.select([_STANDARD_INPUT], [], [])
        return _read()


def parse_payload(data: bytes) -> Payload:
    """Read a payload.

    Raises:
        FatalError: it is no JSON object (`bad_payload`).
    """
    if not data.strip():
        raise _bad("is empty")
    encoding = json.detect_encoding(data)
    # Bytes of a path need not be UTF-8.
    text = data.decode(encoding, "surrogateescape" if encoding.startswith("utf-8") else "replace")
    try:
        # Agents write control characters into strings as they are; and nothing is calculated here.
        values = json.loads(text, strict=False, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        # Not in the words of the error, which may show a part of it.
        raise _bad(
            f"is no JSON: it goes wrong at character {error.pos + 1} of {len(text)}"
        ) from None
    except RecursionError:
        raise _bad("is nested too deeply") from None
    if not isinstance(values, dict):
        raise _bad("is no JSON object")
    return Payload(values)


def _bad(what: str) -> FatalError:
    return FatalError(f"what the agent sent {what}", code="bad_payload")
