"""The messages of agents that keep all conversations in one SQLite database, as opencode does.

They are read as if they were lines of a transcript; see `git_boocode.agents.messages`.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote

# What the callback `sqlite` saves a conversation in, with the id of a restore at its end.
_KEPT = re.compile(r"boocode_kept_([0-9a-f-]{36})", re.ASCII)
_BUSY = 2.0  # seconds to wait for a program that writes
_MOST_PARTS, _LONGEST_PART = 20_000, 1 << 20


def stored_messages(
    database: str, session: str, first: str, last: str, since: str
) -> list[dict[str, Any]]:
    """The messages of a session from one on, up to another one if that is named.

    If a restore has deleted them, they are those that were saved for the first restore whose id is
    greater than `since`. Without any, or if the database cannot be read, there are none.
    """
    uri = f"file:{quote(os.path.realpath(database))}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True, timeout=_BUSY)) as found:
        for table in ("message", *_kept_tables(found, since)):
            if messages := list(_messages(found, table, session, first, last)):
                return messages
    return []


def _kept_tables(database: sqlite3.Connection, since: str) -> list[str]:
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    kept = [(found[1], found[0]) for (name,) in names if (found := _KEPT.fullmatch(name))]
    return [name for identifier, name in sorted(kept) if identifier > since]


def _messages(
    database: sqlite3.Connection, table: str, session: str, first: str, last: str
) -> Iterator[dict[str, Any]]:
    where = "m.session_id = :session AND m.id >= :first AND (:last = '' OR m.id < :last)"
    given = {"session": session, "first": first, "last": last, "most": _MOST_PARTS}
    is_there = f'SELECT 1 FROM "{table}" m WHERE {where} AND m.id = :first'
    if not database.execute(is_there, given).fetchone():
        return
    message: dict[str, Any] = {}
    # The parts of deleted messages stay.
    query = (
        f'SELECT m.id, m.data, substr(p.data, 1, {_LONGEST_PART}) FROM "{table}" m '
        f"JOIN part p ON p.message_id = m.id WHERE {where} ORDER BY m.id, p.id LIMIT :most"
    )
    for identifier, about, part in database.execute(query, given):
        if identifier != message.get("id"):
            if message:
                yield message
            values = _object(about)
            time = values.get("time")
            message = {
                "type": "message",
                "id": identifier,
                "time": time.get("created") if isinstance(time, dict) else None,
                "message": {"role": values.get("role"), "content": []},
            }
        message["message"]["content"].append(_object(part))
    if message:
        yield message


def _object(text: object) -> dict[str, Any]:
    with suppress(ValueError, RecursionError, TypeError):
        value = json.loads(text)  # type: ignore[arg-type]
        if isinstance(value, dict):
            return value
    return {}
