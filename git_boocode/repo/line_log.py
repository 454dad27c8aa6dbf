"""A small private log: one JSON object a line, written by many processes, bounded in size."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from git_boocode.repo.durable import open_private, read_private
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.location import make_state_dir
from git_boocode.repo.lock import file_lock

# In seconds; short, because other writers only add a line.
_PATIENCE = 0.2


class LineLog(NamedTuple):
    """A file of at most `largest` bytes, and its predecessor, which has `.1` behind its name."""

    path: str
    largest: int

    def append(self, values: Mapping[str, object]) -> None:
        """Write a line if possible; a full file replaces its predecessor.

        Errors are ignored: what is reported matters more than the report.
        """
        line = json.dumps(values).encode("ascii") + b"\n"
        with suppress(OSError, BoocodeError):
            make_state_dir(os.path.dirname(self.path))
            self._rotate(len(line))
            descriptor = open_private(self.path, os.O_RDWR | os.O_APPEND)
            try:
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    # The last line is incomplete, for example because the disk was full.
                    line = b"\n" + line
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def read(self) -> Iterator[dict[str, Any]]:
        """The objects, oldest first, without unreadable lines."""
        for path in (f"{self.path}.1", self.path):
            data = None
            with suppress(OSError):
                data = read_private(path)
            for line in (data or b"").decode("utf-8", "replace").splitlines():
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(values, dict):
                    yield values

    def _rotate(self, more: int) -> None:
        if not self._is_full(more):
            return
        # If another process is doing this, nothing is left to do.
        with suppress(RefusedError), file_lock(f"{self.path}.lock", patience=_PATIENCE):
            if self._is_full(more):
                os.replace(self.path, f"{self.path}.1")

    def _is_full(self, more: int) -> bool:
        # Another process may rename the file at any time.
        with suppress(FileNotFoundError):
            return os.lstat(self.path).st_size + more > self.largest
        return False
