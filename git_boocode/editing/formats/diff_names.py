"""The names of files in the headers of a diff."""

from __future__ import annotations

import os
import re

NOWHERE = "/dev/null"
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_LETTERS = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_BACKUPS = (".orig", ".old", ".bak", "~")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_STAMP = re.compile(r"\s(?:\w{3} \w{3} +\d+ \d|\d{4}-\d\d-\d\d[ T]\d).*", re.DOTALL)
_PREFIXES = (
    ("a", "b"), ("i", "w"), ("c", "i"), ("c", "w"), ("o", "w"), ("1", "2"), ("old", "new"),
    ("orig", "new"), ("original", "modified"), ("original", "updated"), ("before", "after"),
    ("left", "right"),
)  # fmt: skip


def read_name(rest: str) -> str:
    """The name in the rest of a header line: unquoted, without a timestamp."""
    found = _QUOTED.match(rest)
    if found:
        return _unquoted(found[1])
    name = rest.split("\t", 1)[0]
    return _STAMP.sub("", name).rstrip()


def _unquoted(text: str) -> str:
    raw = _ESCAPE.sub(_unescaped, text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(found: re.Match[bytes]) -> bytes:
    letter = found[1]
    return _LETTERS[letter] if letter in _LETTERS else bytes([int(letter, 8) & 0xFF])


def git_names(rest: str) -> tuple[str, str] | None:
    """The two names of a `diff --git` line, prefixes included; None if they cannot be told."""
    quoted = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)', rest.rstrip())
    if quoted:
        return read_name(quoted[1]), read_name(quoted[2])
    rest = rest.rstrip()
    middle = len(rest) // 2
    # Both names are the same but for the prefix, which is as long on either side.
    if len(rest) % 2 and rest[middle] == " " and _tail(rest[:middle]) == _tail(rest[middle + 1 :]):
        return rest[:middle], rest[middle + 1 :]
    return None


def _tail(name: str) -> str:
    return name.split("/", 1)[-1]


def without_prefixes(old: str, new: str) -> tuple[str, str]:
    """The names of a pair of headers without what only distinguishes the sides.

    That is a prefix such as `a/`, the ending of a backup on the old side, `.new` on the new one.
    """
    old, new = _unprefixed(old, new)
    if any(old == f"{new}{ending}" for ending in _BACKUPS):
        return new, new
    return (old, old) if new == f"{old}.new" else (old, new)


def _unprefixed(old: str, new: str) -> tuple[str, str]:
    sides = [tuple(name.split("/", 1)) for name in (old, new)]
    heads = tuple(side[0] if len(side) == 2 else None for side in sides)
    if NOWHERE in (old, new):
        return _lone(old, 0), _lone(new, 1)
    pairs = {*_PREFIXES, *((right, left) for left, right in _PREFIXES)}
    if heads in pairs:
        return sides[0][1], sides[1][1]
    if heads[0] in ("a", "b") and sides[0][1] == new:
        return new, new
    if heads[1] in ("a", "b") and sides[1][1] == old:
        return old, old
    return old, new


def _lone(name: str, side: int) -> str:
    """A name beside `/dev/null`, which cannot be compared with the other one."""
    head, slash, tail = name.partition("/")
    known = {pair[side] for pair in _PREFIXES if len(pair[side]) == 1}
    return tail if name != NOWHERE and slash and head in known else name


def agree(path: str, name: str) -> bool:
    """Whether a path and the name in a patch can be those of one file, seen from two places."""
    one, other = (os.path.normpath(text) for text in (path, name))
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
