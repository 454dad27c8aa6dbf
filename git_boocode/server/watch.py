"""Watch the turns and the proposals of some worktrees, whoever changes them.

Every change of them is one of refs below `refs/boocode/`, or of a private file that marks running
turns; commits, which are listed among turns, are moves of HEAD. Git writes a ref by renaming a file
in its directory, or a list of tables, so that a look at the times of a few directories and files
shows whether there can be anything new. Only then are the refs read.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING

from git_boocode.checkpoints.commit_log import head_stamp, reflog_path
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.layout import (
    ALL_REFS,
    ARCHIVE,
    CHECKPOINTS,
    HOOK_TURNS,
    PROPOSALS,
    SAFETY,
    TURN_ENDS,
    TURN_MARK,
)

if TYPE_CHECKING:
    from git_boocode.repo.repository import Repository

ALL_TURNS, NEWEST_PROPOSAL = "boocode://turns", "boocode://proposals"
WATCHED = (ALL_TURNS, NEWEST_PROPOSAL)
"""The resources that change, by their URIs."""
_REFS = {ALL_TURNS: (CHECKPOINTS, TURN_ENDS, SAFETY, ARCHIVE), NEWEST_PROPOSAL: (PROPOSALS,)}
_MARKS = {ALL_TURNS: (TURN_MARK, HOOK_TURNS), NEWEST_PROPOSAL: ()}
_EVERY = 1.0
"""Seconds between two looks."""
_LONGEST_LOOK = 5.0
_SETTLED = 2.0
"""Seconds after which a time of a file shows that nothing has changed since it was looked at."""

Notify = Callable[[str], None]
"""Reports that the resource with a URI has changed."""


class Watch:
    """Notifies subscribers of what has changed; a thread looks as long as there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: dict[tuple[Hashable, str], Notify] = {}
        self._places: dict[str, _Place] = {}  # by git directory
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def subscribe(
        self, who: Hashable, uris: Iterable[str], repositories: list[Repository], notify: Notify
    ) -> None:
        """Report changes of some of `WATCHED` in these worktrees from now on, until `forget`."""
        with self._lock:
            for repository in repositories:
                if repository.git_dir not in self._places:
                    self._places[repository.git_dir] = _Place(repository)
            self._subscribers |= {(who, uri): notify for uri in uris}
            if self._thread is None and self._subscribers:
                self._wake.clear()
                self._thread = threading.Thread(target=self._look_again, daemon=True)
                self._thread.start()

    def forget(self, who: Hashable, uris: Iterable[str] = WATCHED) -> None:
        """Report nothing more of some URIs to a subscriber."""
        with self._lock:
            for uri in uris:
                self._subscribers.pop((who, uri), None)
            if not self._subscribers:
                self._places.clear()
                self._thread = None
                self._wake.set()

    def close(self) -> None:
        """Report nothing more to anybody, and wait a while for the last look."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._subscribers.clear()
            self._wake.set()
        if thread is not None:
            # It may wait for a client that does not read.
            thread.join(_LONGEST_LOOK)

    def _look_again(self) -> None:
        while not self._wake.wait(_EVERY):
            with self._lock:
                if self._thread is not threading.current_thread():
                    return
                changed = {uri for place in self._places.values() for uri in place.changed()}
                told = [(uri, tell) for (_, uri), tell in self._subscribers.items()]
            for uri, tell in told:
                if uri in changed:
                    tell(uri)


class _Place:
    """A worktree, and what it was like at the last look."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        common = os.path.dirname(repository.common_state_dir)
        self._times_of = [
            os.path.join(common, "packed-refs"),
            os.path.join(common, "reftable", "tables.list"),
            *(
                os.path.join(common, name)
                for names in _REFS.values()
                for name in (ALL_REFS, *names)
            ),
            *(self._mark(name) for names in _MARKS.values() for name in names),
            reflog_path(repository),
            os.path.join(repository.git_dir, "reftable", "tables.list"),
        ]
        self._seen: tuple[object, ...] = ()
        self._states: dict[str, str] = {}
        self._look()

    def _mark(self, name: str) -> str:
        return os.path.join(self._repository.state_dir, name)

    def changed(self) -> Iterator[str]:
        """The URIs of what has changed since the last look."""
        before = self._states
        if self._look():
            yield from (uri for uri in WATCHED if before.get(uri) != self._states.get(uri))

    def _look(self) -> bool:
        """Look at what may have changed; whether the refs were read."""
        # First: what changes meanwhile is seen the next time.
        found = [*map(_times, self._times_of)]
        newest = max((each[0] for each in found if each), default=0)
        is_settled = time.time_ns() - newest > _SETTLED * 1e9
        if is_settled and self._seen == (*found,):
            return False
        try:
            self._states = {uri: self._state(uri) for uri in WATCHED}
        except (BoocodeError, OSError):
            # It may be gone, or locked; the next look tries again.
            return False
        # Two changes within one tick of a clock have the same time.
        self._seen = (*found,) if is_settled else ()
        return True

    def _state(self, uri: str) -> str:
        refs = self._repository.store.refs(*_REFS[uri])
        lines = [f"{ref.name} {ref.target}" for ref in refs]
        lines += [str(_times(self._mark(name))) for name in _MARKS[uri]]
        lines += [head_stamp(self._repository)] if uri == ALL_TURNS else []
        return sha256("\n".join(lines).encode()).hexdigest()


def _times(path: str) -> tuple[int, int, int] | None:
    """What differs if a file or directory has changed; None if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
