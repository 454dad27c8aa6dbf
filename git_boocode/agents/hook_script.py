"""Our part of a git hook's file: putting it in, and taking it out again to the byte."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

CHAINED = ".boocode-chained"
"""How the name of a hook ends that was moved out of the way of ours."""

_BEGIN = b"# >>> git-boocode"
_END = b"# <<< git-boocode <<<"
# What the first line of our part says besides, so that it can be taken back.
_MADE = b": it made this file >>>"
_MOVED = b": it moved the hook that was here to "
_SHEBANG = b"#!/bin/sh\n"
_PART_BEGINS = re.compile(rb"^%s([^\r\n]*)\r?\n" % _BEGIN, re.MULTILINE)
_PART_ENDS = re.compile(rb"^%s(?:\r?\n|\Z)" % _END, re.MULTILINE)

_SHELLS = frozenset((b"sh", b"bash", b"dash", b"ksh", b"ksh93", b"mksh", b"ash", b"zsh"))
_ASSIGNMENT = re.compile(rb"[A-Za-z_]\w*=")
# A script that hands itself to another interpreter is no shell's beyond its first lines.
_POLYGLOT = re.compile(
    rb"""\bexec\b[^\n$`]{0,500}\$(0|\{0\})["'\s]|^''':|^":"|^=begin""", re.MULTILINE
)

# How programs look for what lies beside them, and how for their own name.
_BESIDE = re.compile(
    rb"\bdirname\b|\breadlink\b|\$\{0%/|__file__|__FILE__|__DIR__|FindBin|\.parent\b"
)
_BY_NAME = re.compile(rb"\bbasename\b|\$\{0##|PROGRAM_NAME|\.(?:name|stem)\b", re.IGNORECASE)

# There may be a link to the hook that has the name by which git knows it: what serves several hooks
# looks at that.
_CHAIN = b"""\
hook="${0%%/*}/%s"
named="$(git rev-parse --git-common-dir 2>/dev/null)/boocode/%s"
[ ! "$named" -ef "$hook" ] || hook="$named"
[ ! -x "$hook" ] || exec "$hook" "$@"
"""


class Part(NamedTuple):
    """Our part, as it stands in a file.

    Attributes:
        start: where it begins.
        end: behind its last byte.
        note: what its first line says besides.
        body: the lines between the first and the last.
    """

    start: int
    end: int
    note: bytes
    body: bytes


def find_part(content: bytes) -> Part | None:
    """Find our part in a hook; None if there is none."""
    begins = _PART_BEGINS.search(content)
    ends = _PART_ENDS.search(content, begins.end()) if begins else None
    if begins is None or ends is None:
        return None
    return Part(begins.start(), ends.end(), begins[1], content[begins.end() : ends.start()])


def call(command: str) -> bytes:
    """The line that calls us.

    It must not make the hook fail, say anything, or read what git tells the hook on standard input.

    Args:
        command: the command line, with the hook's arguments.
    """
    return os.fsencode(f"{command} </dev/null >/dev/null 2>&1 || :") + b"\n"


def is_shell_script(content: bytes) -> bool:
    """Whether git has a shell run this hook, so that lines of ours can be among its own."""
    if b"\0" in content or _POLYGLOT.search(content):
        return False
    # The file may stand in a worktree whose line endings are those of Windows.
    first = content.partition(b"\n")[0].removesuffix(b"\r")
    if not first.startswith(b"#!"):
        # What the system cannot run itself, git has `sh` run.
        return True
    words = first[2:].split()
    name = _name(words)
    if name == b"env":
        words = [word for word in words[1:] if not _ASSIGNMENT.match(word) and word[:1] != b"-"]
        name = _name(words)
    return name in _SHELLS


def _name(words: list[bytes]) -> bytes:
    return words[0].rpartition(b"/")[2] if words else b""


def needs_its_directory(content: bytes) -> bool:
    """Whether a hook that is moved aside had better be called where it is than by its own name.

    A link with its name has to stand elsewhere, where nothing of what is beside the hook is.

    Args:
        content: the program, not a link to it.
    """
    return bool(_BESIDE.search(content)) and not _BY_NAME.search(content)


def new_script(command: str) -> bytes:
    """A hook that does nothing but call us."""
    return _SHEBANG + _part(_MADE, call(command))


def is_ours_alone(content: bytes) -> bool:
    """Whether we made this hook's file, and nobody has added to it; it may be a `shim`."""
    part = find_part(content)
    if part is None or not part.note.startswith((_MADE, _MOVED)):
        return False
    return content[: part.start] == _SHEBANG and part.end == len(content)


def insert(content: bytes, command: str) -> bytes:
    """Put our part into a shell script.

    It stands before everything else: behind the script's own lines, an `exit` or `exec` of theirs
    would cut it off, and the checkpoint is to hold what was there before they change files.

    Args:
        content: the script, without our part.
        command: the command line that calls us.
    """
    part = _part(b" >>>", call(command))
    if not content.startswith(b"#!"):
        return part + content
    first, newline, rest = content.partition(b"\n")
    if not newline:
        return first + b"\n" + part.removesuffix(b"\n")
    return first + newline + part + rest


def shim(event: str, command: str) -> bytes:
    """A hook that calls us, and then becomes the hook that was there before.

    Its standard input, arguments and exit status are then that hook's own.

    Args:
        event: the name of the hook.
        command: the command line that calls us.
    """
    name = os.fsencode(event + CHAINED)
    # Git runs a hook by a path, and passes over what is not executable.
    chain = _CHAIN % (name, os.fsencode(event))
    return _SHEBANG + _part(_MOVED + name + b" >>>", call(command) + chain)


def is_chaining(content: bytes) -> bool:
    """Whether a hook is, or was made of, a `shim`."""
    part = find_part(content)
    return part is not None and part.note.startswith(_MOVED)


def renew(content: bytes, command: str) -> bytes:
    """Let our part call us by another command line; all else stays.

    Args:
        content: a hook with our part.
        command: the command line.
    """
    part = find_part(content)
    assert part is not None
    begin = content[: part.start] + _BEGIN + part.note + b"\n"
    chain = part.body.partition(b"\n")[2] if part.note.startswith(_MOVED) else b""
    end = _END + (b"\n" if content[: part.end].endswith(b"\n") else b"")
    return begin + call(command) + chain + end + content[part.end :]


def remove(content: bytes) -> bytes:
    """Take our part out of a hook; of one that calls another, what calls that stays.

    Args:
        content: a hook with our part.
    """
    part = find_part(content)
    assert part is not None
    before, after = content[: part.start], content[part.end :]
    if is_chaining(content):
        return before + part.body.partition(b"\n")[2] + after
    if not content[: part.end].endswith(b"\n"):
        # The script had no newline at its end, and got one to stand before ours.
        before = before.removesuffix(b"\n")
    return before + after


def _part(note: bytes, body: bytes) -> bytes:
    return _BEGIN + note + b"\n" + body + _END + b"\n"
