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
_LAST_TIME = (1 << 60) - 1
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


def new_id(now_ns: int | None = None, after: str = "") -> str:
    """A new UUIDv7: 48 bits of milliseconds, 12 bits of their fraction, 62 random bits.

    The fraction (method 3 of RFC 9562 §6.2) orders ids within one millisecond. If the clock was set
    back, the time is the next one after the id `after`. Python has `uuid.uuid7` since 3.14 only.
    """
    milliseconds, rest = divmod(time.time_ns() if now_ns is None else now_ns, 1_000_000)
    now = (milliseconds << 12 | (rest << 12) // 1_000_000) & _LAST_TIME
    if ID.fullmatch(after):
        earlier = int(after.replace("-", ""), 16)
        following = (earlier >> 80 << 12 | earlier >> 64 & 0xFFF) + 1
        now = max(now, following) if following <= _LAST_TIME else now
    random = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    number = now >> 12 << 80 | 0x7 << 76 | (now & 0xFFF) << 64 | 0b10 << 62 | random
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
