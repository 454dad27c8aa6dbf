"""Where tests make their repositories: in memory, where there is room for them.

Nearly everything here is written through to the disk, as it must not be lost; in a test it may be,
and waiting for the disk is a third of the time that all tests take.
"""

from __future__ import annotations

import os
import tempfile

MEMORY = "/dev/shm"
_ROOM = 2 << 30
"""Bytes; what all tests leave at any moment is far less."""


def use_memory() -> None:
    """Put temporary directories there, unless TMPDIR says where they are to be."""
    if "TMPDIR" not in os.environ and _is_fit():
        # For the programs that tests start as well.
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY


def _is_fit() -> bool:
    try:
        found = os.statvfs(MEMORY)
    except (OSError, AttributeError):
        return False
    # Hooks and callbacks are run where they are.
    runs_programs = not found.f_flag & getattr(os, "ST_NOEXEC", 0)
    room = found.f_bavail * found.f_frsize
    return runs_programs and room > _ROOM and os.access(MEMORY, os.W_OK | os.X_OK)
