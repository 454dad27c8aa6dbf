"""Which programs have a file open, as far as the system shows it within a short time."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_PROCESSES = "/proc"
_LONGEST = 0.5
"""Seconds after which processes are not looked at any more."""
_LONGEST_LISTING = 10.0
"""The same where all of them have to be."""


class OpenIn(NamedTuple):
    """A program that has a file open."""

    pid: int
    program: str


def programs_with(path: str, *, or_below: str = "") -> list[OpenIn]:
    """The other programs that have a file open, or any file below a directory.

    Those of other users, and on a busy machine some more, are not seen.
    """
    path = os.path.realpath(path)
    below = os.path.join(os.path.realpath(or_below), "") if or_below else ""
    if os.path.isdir(f"{_PROCESSES}/self/fd"):
        return list(_from_proc(path, below))
    lsof = shutil.which("lsof")
    return list(_from_lsof(lsof, path)) if lsof else []


def open_below(directory: str) -> list[str] | None:
    """The open files below a directory; None if not all processes of this user could be asked."""
    below = os.path.join(os.path.realpath(directory), "")
    if not os.path.isdir(f"{_PROCESSES}/self/fd"):
        return None
    deadline, found = time.monotonic() + _LONGEST_LISTING, list[str]()
    for pid in filter(str.isdigit, os.listdir(_PROCESSES)):
        if time.monotonic() > deadline:
            return None
        descriptors = f"{_PROCESSES}/{pid}/fd"
        # It may end, and those of other users cannot be read.
        with suppress(OSError):
            for name in os.listdir(descriptors):
                with suppress(OSError):
                    opened = os.readlink(os.path.join(descriptors, name))
                    if opened.startswith(below):
                        found.append(opened)
    return found


def _from_proc(path: str, below: str) -> Iterator[OpenIn]:
    deadline = time.monotonic() + _LONGEST
    # The newest first, because it is not long ago that the session began.
    pids = (int(name) for name in os.listdir(_PROCESSES) if name.isdigit())
    for pid in sorted(pids, reverse=True):
        if time.monotonic() > deadline:
            return
        # It may end, and those of other users cannot be read.
        with suppress(OSError):
            if pid != os.getpid() and _has_open(f"{_PROCESSES}/{pid}/fd", path, below):
                yield OpenIn(pid, _program(pid))


def _has_open(descriptors: str, path: str, below: str) -> bool:
    for name in os.listdir(descriptors):
        with suppress(OSError):
            opened = os.readlink(os.path.join(descriptors, name))
            if opened == path or (below and opened.startswith(below)):
                return True
    return False


def _program(pid: int) -> str:
    """The name of a program; an interpreter's is that of what it runs."""
    with open(f"{_PROCESSES}/{pid}/cmdline", "rb") as file:
        words = [os.path.basename(os.fsdecode(word)) for word in file.read(4096).split(b"\0")]
    with open(f"{_PROCESSES}/{pid}/comm", "rb") as file:
        name = words[0] or os.fsdecode(file.read()).strip()
    is_script = words[1:] and words[1] and not words[1].startswith("-")
    return words[1] if is_script and name.startswith(("node", "bun", "python")) else name


def _from_lsof(lsof: str, path: str) -> Iterator[OpenIn]:
    pid = 0
    # It exits with 1 where nobody has the file open.
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        listed = subprocess.run(
            [lsof, "-n", "-P", "-w", "-F", "pc", "--", path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONGEST,
            check=False,
        )
        for line in os.fsdecode(listed.stdout).splitlines():
            if line[:1] == "p":
                pid = int(line[1:])
            elif line[:1] == "c" and pid not in (0, os.getpid()):
                yield OpenIn(pid, line[1:])
