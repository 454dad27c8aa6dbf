"""Edit records that are published behind the answers, several at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from git_boocode.editing.records import (
    Record,
    announce_records,
    prune_occasionally,
    publish_records,
)
from git_boocode.repo.durable import sync_all
from git_boocode.repo.errors import as_error

# Seconds without a new record, and since the oldest one, after which records are published.
_QUIET, _OLDEST = 0.02, 1.0
_MOST, _LARGEST = 256, 16 << 20
"""Maximum number of records that wait, and of bytes in their files."""


class BatchedRecords:
    """The records of one worktree; see `RecordQueue`.

    A batch costs little more than one record, and a call that comes meanwhile does not wait for it.
    `failed` receives what went wrong.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed = failed
        self._records: list[tuple[Record, Sequence[str]]] = []
        self._changed = threading.Condition()
        self._is_running = False
        self._mark: int | None = None  # announces to other processes that records are waiting
        self._added = self._done = self._wanted = self._size = 0
        self._first = self._last = 0.0

    def add(self, record: Record, directories: Sequence[str]) -> None:
        """Take a record that is to be published soon; its directories are to be synced.

        The caller calls `begin` when it has answered.
        """
        with self._changed:
            self._last = time.monotonic()
            self._first = self._first if self._records else self._last
            self._records.append((record, directories))
            self._size += record.size
            self._added += 1
            if self._mark is None:
                self._mark = announce_records(record.repository)
            if self._is_full:
                self._changed.notify_all()

    def begin(self) -> None:
        """Let the records be published by a thread, which takes a while to start."""
        with self._changed:
            if self._records and not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, daemon=True).start()

    def settle(self) -> None:
        """Wait until all records that were added before are published."""
        self.begin()
        with self._changed:
            added = self._wanted = self._added
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._done >= added)

    def _run(self) -> None:
        while batch := self._next():
            self._publish(batch)
            with self._changed:
                self._done += len(batch)
                self._changed.notify_all()

    def _next(self) -> list[tuple[Record, Sequence[str]]]:
        """The next batch; empty if there is none, and the thread is to end."""
        with self._changed:
            while self._records and (left := self._time_left()) > 0:
                self._changed.wait(left)
            batch, self._records, self._size = self._records, [], 0
            self._is_running = bool(batch)
            if not batch and self._mark is not None:
                os.close(self._mark)
                self._mark = None
            return batch

    def _time_left(self) -> float:
        if self._wanted > self._done or self._is_full:
            return 0.0
        return min(self._last + _QUIET, self._first + _OLDEST) - time.monotonic()

    @property
    def _is_full(self) -> bool:
        return len(self._records) >= _MOST or self._size >= _LARGEST

    def _publish(self, batch: Sequence[tuple[Record, Sequence[str]]]) -> None:
        try:
            publish_records([record for record, _ in batch])
        except Exception as error:  # noqa: BLE001 - a bug must not end the thread
            if len(batch) > 1:
                # It may be about one of them.
                for each in batch:
                    self._publish([each])
                return
            self._failed(f"edit {batch[0][0].id} is not recorded: {as_error(error).message}")
        try:
            sync_all([*{directory for _, directories in batch for directory in directories}])
            for record, _ in batch:
                prune_occasionally(record.repository, record.id)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(as_error(error).message)
