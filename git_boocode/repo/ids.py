"""Ids that sort by creation time: UUID version 7 (RFC 9562)."""

from __future__ import annotations

import os
import re
import time

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# A prefix of an id or of a commit's hash, up to a complete SHA-256 hash.
ID_PART = re.compile(r"[0-9a-f][0-9a-f-]{3,63}")

SHORT_ID = 13
"""Characters of an abbreviated id: the time in it. The hyphen distinguishes it from a hash."""

_AGES = (
    (1_209_600, 604_800, "weeks"),
    (172_800, 86_400, "days"),
    (3600, 3600, "h"),
    (60, 60, "min"),
    (1, 1, "s"),
)
"""From how many seconds on an age is shown in which unit."""
_RELATIVE = re.compile(r"@(?:~(?P<back>[0-9]*))?")
# Python refuses to convert more than 4,300 digits.
MOST_DIGITS = 4000


def relative_offset(name: str) -> int | None:
    """The N of a name `@~N`; 0 for `@`, 1 for `@~`, None for any other name."""
    found = _RELATIVE.fullmatch(name)
    if found is None:
        return None
    if not found["back"]:
        return len(name) - len("@")
    digits = found["back"].lstrip("0") or "0"
    return int(digits) if len(digits) <= MOST_DIGITS else 10**MOST_DIGITS


def new_id(now_ns: int | None = None) -> str:
    """A new UUIDv7: 48 bits of milliseconds, 12 bits of their fraction, 62 random bits.

    The fraction (method 3 of RFC 9562 §6.2) orders ids within one millisecond. Python has
    `uuid.uuid7` since 3.14 only.
    """
    milliseconds, rest = divmod(time.time_ns() if now_ns is None else now_ns, 1_000_000)
    fraction = (rest << 12) // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    number = (milliseconds & ((1 << 48) - 1)) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62
    return _uuid(number | random)


def next_id(identifier: str) -> str:
    """The id that follows another one, with the same time; empty if there is none."""
    found = _uuid(int(identifier.replace("-", ""), 16) + 1)
    return found if ID.fullmatch(found) else ""


def _uuid(number: int) -> str:
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def id_time(identifier: str) -> float:
    """The time in an id, in seconds since 1970."""
    return int(identifier.replace("-", "")[:12], 16) / 1000


def time_of(name: str) -> float:
    """The time in an id, in seconds since 1970; 0 for the name of another program."""
    return id_time(name) if ID.fullmatch(name) else 0.0


def timestamp(seconds: float) -> str:
    """A time in the format of the metadata: ISO 8601 in UTC, with milliseconds."""
    # Importing datetime would take longer than this.
    milliseconds = round(seconds * 1e6) // 1000
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000))
    return f"{moment}.{milliseconds % 1000:03}Z"


def ago(when: float) -> str:
    """How long ago a time was, in seconds since 1970, such as `4 min ago`."""
    seconds = max(int(time.time() - when), 0)
    ages = (f"{seconds // size} {unit} ago" for least, size, unit in _AGES if seconds >= least)
    return next(ages, "just now")
