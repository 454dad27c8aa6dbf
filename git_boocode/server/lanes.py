"""When calls run: those that change a worktree one after the other, the others beside them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from git_boocode.repo.errors import as_error

if TYPE_CHECKING:
    from git_boocode.server.record_queue import BatchedRecords

Job = Callable[[], None]
"""It answers its request, and raises nothing."""

_READERS = 4
_IDLE = 30.0
"""Seconds after which a thread without work ends."""


class _Pool:
    """Runs jobs in the order of their arrival, in at most `most` threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs = deque[Job]()
        self._changed = threading.Condition()
        self._threads = self._idle = 0

    def submit(self, job: Job) -> None:
        """Run a job as soon as a thread is free."""
        with self._changed:
            self._jobs.append(job)
            if len(self._jobs) > self._idle and self._threads < self._most:
                self._start()
            self._changed.notify()
            # The system may allow no thread at all.
            own = [] if self._threads else [*self._jobs]
            for _ in own:
                self._jobs.popleft()
        for each in own:
            each()

    def _start(self) -> None:
        self._threads += 1
        try:
            # A reader that hangs must not keep the process alive.
            threading.Thread(target=self._work, daemon=True).start()
        except RuntimeError:
            self._threads -= 1

    def join(self, timeout: float | None = None) -> bool:
        """Wait until all jobs are done; False if that takes longer than `timeout`, in seconds."""
        with self._changed:
            return self._changed.wait_for(self._is_idle, timeout)

    def _is_idle(self) -> bool:
        return not self._jobs and self._idle == self._threads

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.notify_all()
                there = self._changed.wait_for(lambda: bool(self._jobs), _IDLE)
                self._idle -= 1
                if not there:
                    self._threads -= 1
                    return
                job = self._jobs.popleft()
            job()


class Lane:
    """The changes of one worktree, in order; `records` are published beside them.

    `failed` receives what goes wrong after an answer.
    """

    def __init__(self, leisure: _Pool, failed: Callable[[str], None]) -> None:
        self.changes = _Pool(1)
        self._leisure = leisure
        self._failed = failed
        self._records: BatchedRecords | None = None
        self._lock = threading.Lock()

    @property
    def records(self) -> BatchedRecords:
        """The records of edits."""
        with self._lock:
            if self._records is None:
                from git_boocode.server.record_queue import BatchedRecords

                self._records = BatchedRecords(self._failed)
            return self._records

    def attempt(self, work: Callable[[], None]) -> None:
        """Do work whose errors nobody waits for."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a bug must not end the lane
            self._failed(as_error(error).message)

    def at_leisure(self, work: Callable[[], None]) -> None:
        """Let work be done beside all jobs, also beside the next change."""
        self._leisure.submit(partial(self.attempt, work))

    def publish_records(self) -> None:
        """Let the records of the calls that are answered be published."""
        if self._records is not None:
            self._records.begin()

    def finish(self) -> None:
        """Wait until all changes are complete and recorded; there are no more."""
        self.changes.join()
        if self._records is not None:
            self._records.close()


class Lanes:
    """The jobs of all worktrees; a worktree's key is the path of its top directory.

    `failed` receives what goes wrong after an answer.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed = failed
        self._lanes: dict[str, Lane] = {}
        self._reads = _Pool(_READERS)
        self._waiting = _Pool(1)
        self._leisure = _Pool(1)

    def begin(self, job: Job, *, waits: bool) -> None:
        """Run a job that adds others, after the earlier ones: beside the caller if it `waits`."""
        if waits or not self._waiting.join(0):
            self._waiting.submit(job)
        else:
            job()

    def lane(self, key: str) -> Lane:
        """The lane of a worktree."""
        found = self._lanes.get(key)
        return found or self._lanes.setdefault(key, Lane(self._leisure, self._failed))

    def read(self, job: Job) -> None:
        """Run a job beside all others."""
        self._reads.submit(job)

    def finish(self, timeout: float) -> bool:
        """Wait until everything is done; False if some pool takes longer than `timeout` seconds."""
        if not self._waiting.join(timeout):
            return False
        pools = [lane.changes for lane in self._lanes.values()]
        return all(pool.join(timeout) for pool in (*pools, self._reads))

    def finish_changes(self) -> None:
        """Wait until all changes are complete, however long that takes."""
        self._waiting.join()
        for lane in self._lanes.values():
            lane.finish()
        self._leisure.join()
