"""Edit records that are published behind the answers, several at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from git_boocode.editing.records import (
    Announcement,
    Record,
    prune_occasionally,
    publish_records,
)
from git_boocode.repo.durable import sync_all
from git_boocode.repo.errors import FatalError, as_error

# Seconds without a new record, and since the oldest one, after which records are published.
_QUIET, _OLDEST = 0.02, 0.5
_LATE = 1.0
"""Age of the oldest record, in seconds, at which the next calls wait for their own records."""
_MOST, _LARGEST = 256, 16 << 20
"""Number of records, and of bytes in their files, at which a batch is published at once."""


class _RecordBatch:
    """Records of one worktree that are published together; `announcement` is about them."""

    def __init__(self, record: Record, announcement: Announcement) -> None:
        self.records: list[Record] = []
        self.directories: set[str] = set()
        self.first = self.last = time.monotonic()
        self.size = 0
        self._git_dir = record.repository.git_dir
        self._identity = _identity(self._git_dir)
        self.announcement = announcement
        # If it fails, others do not wait for these records.
        with suppress(OSError):
            announcement.begin()

    def add(self, record: Record, directory: str) -> None:
        """Add a record, and the directory to be synced."""
        self.last = time.monotonic()
        self.records.append(record)
        self.directories.add(directory)
        self.size += record.size

    @property
    def is_full(self) -> bool:
        """Whether nothing more is waited for."""
        return len(self.records) >= _MOST or self.size >= _LARGEST

    @property
    def time_left(self) -> float:
        """Seconds until it is to be published."""
        if self.is_full:
            return 0.0
        return min(self.last + _QUIET, self.first + _OLDEST) - time.monotonic()

    def check(self) -> None:
        """Raise FatalError if another repository, or none, is in the place of this one."""
        if _identity(self._git_dir) != self._identity:
            raise FatalError(
                f"edits in '{self._git_dir}' are not recorded: it was moved, deleted or replaced",
                code="not_a_repository",
            )


class BatchedRecords:
    """The records of one worktree; see `RecordQueue`.

    A batch costs little more than one record, and a call that comes meanwhile does not wait for it.
    `failed` receives what went wrong.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._report = failed
        self._has_failed = False
        self._announcements: list[Announcement] = []  # those that are not in use
        self._waiting: _RecordBatch | None = None
        self._published: _RecordBatch | None = None
        self._changed = threading.Condition()
        self._is_running = False
        self._added = self._done = self._wanted = 0

    @property
    def is_reliable(self) -> bool:
        """Whether all records were published so far, in time, and there is room for another."""
        with self._changed:
            oldest = self._published or self._waiting
            is_late = oldest is not None and time.monotonic() - oldest.first > _LATE
            is_full = self._waiting is not None and self._waiting.is_full
            return not (self._has_failed or is_late or is_full)

    def add(self, record: Record, directory: str) -> None:
        """Take a record that is to be published soon; its directory is to be synced.

        The caller calls `begin` when it has answered.
        """
        with self._changed:
            if self._waiting is None:
                free = self._announcements
                self._waiting = _RecordBatch(
                    record, free.pop() if free else Announcement(record.repository)
                )
            self._waiting.add(record, directory)
            self._added += 1
            if self._waiting.is_full:
                self._changed.notify_all()

    def begin(self) -> None:
        """Let the records be published by a thread, which takes a while to start."""
        with self._changed:
            if self._waiting is None or self._is_running:
                return
            self._is_running = True
        try:
            threading.Thread(target=self._run, daemon=True).start()
        except RuntimeError:
            # The system allows no more threads.
            self._run()

    def settle(self) -> None:
        """Wait until all records that were added before are published."""
        with self._changed:
            added = self._wanted = self._added
            self._changed.notify_all()
        self.begin()
        with self._changed:
            self._changed.wait_for(lambda: self._done >= added)

    def close(self) -> None:
        """Wait for all records; none is added any more."""
        self.settle()
        for announcement in self._announcements:
            announcement.close()

    def _run(self) -> None:
        while batch := self._next():
            self._publish(batch)
            with self._changed:
                batch.announcement.end()
                self._announcements.append(batch.announcement)
                self._published = None
                self._done += len(batch.records)
                self._changed.notify_all()

    def _next(self) -> _RecordBatch | None:
        """The next batch; None if there is none, and the thread is to end."""
        with self._changed:
            while self._waiting is not None and self._wanted <= self._done:
                left = self._waiting.time_left
                if left <= 0:
                    break
                self._changed.wait(left)
            self._published, self._waiting = self._waiting, None
            self._is_running = self._published is not None
            return self._published

    def _publish(self, batch: _RecordBatch) -> None:
        try:
            batch.check()
            self._publish_records(batch.records)
            sync_all([*batch.directories])
            for record in batch.records:
                prune_occasionally(record.repository, record.id)
        except Exception as error:  # noqa: BLE001 - a bug must not end the thread
            self._fail(as_error(error).message)

    def _publish_records(self, records: list[Record]) -> None:
        try:
            publish_records(records)
        except Exception as error:  # noqa: BLE001 - as above
            if len(records) == 1:
                self._fail(f"edit {records[0].id} is not recorded: {as_error(error).message}")
                return
            # It may be about one of them.
            for record in records:
                self._publish_records([record])

    def _fail(self, message: str) -> None:
        self._has_failed = True
        self._report(message)


def _identity(path: str) -> tuple[int, int] | None:
    """Which directory is at a path; None for none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
