"""Objects that come from a remote, and that `git gc` leaves alone until refs name them.

They come in packs, into a quarantine. A pack beside which lies a file whose name ends in `.keep` is
neither deleted nor repacked, whatever names what is in it: gitformat-pack(5), git-repack(1). So
they get there together, and that file goes once there are refs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from git_boocode.repo.git import Git
from git_boocode.repo.quarantine import Quarantine, objects_directory
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import scratch_directory

# What our files say, to be told from those of git and of users.
_MARK = b"git-boocode fetch\n"
# So long after it was made, in seconds, nobody is going to name the objects any more.
_ABANDONED = 3600.0
# However few they are: loose objects cannot be kept so.
_PACKED = ("fetch.unpackLimit=1", "transfer.unpackLimit=1")


class Incoming:
    """A place for objects that come.

    Args:
        repository: where they are to go.
        scratch: a directory for private files.

    Attributes:
        git: git that fetches to there, and reads the repository's objects as well.
    """

    def __init__(self, repository: Repository, scratch: str) -> None:
        self._quarantine = Quarantine(repository, scratch)
        self._kept: list[str] = []
        git = self._quarantine.git
        self.git = Git(git.cwd, git.env, (*git.overrides, *_PACKED))

    def release(self) -> None:
        """Let others see what has come.

        Raises:
            OSError: there is no room for it in the repository, or no permission.
        """
        self._kept += self._quarantine.keep_packs(_MARK)
        self._quarantine.release()

    def let_go(self) -> None:
        """Leave the objects to `git gc`, which goes by refs."""
        for path in self._kept:
            with suppress(FileNotFoundError):
                os.unlink(path)


@contextmanager
def incoming(repository: Repository) -> Iterator[Incoming]:
    """A place for objects that come; in the end, those that no ref names are left to `git gc`."""
    _sweep(repository)
    with scratch_directory(repository.state_dir) as scratch:
        arrived = Incoming(repository, scratch)
        try:
            yield arrived
        finally:
            arrived.let_go()


def _sweep(repository: Repository) -> None:
    """Remove what killed fetches have left to keep packs by."""
    packs = os.path.join(objects_directory(repository), "pack")
    for name in os.listdir(packs) if os.path.isdir(packs) else []:
        path = os.path.join(packs, name)
        if name.endswith(".keep") and _is_abandoned(path):
            with suppress(OSError):
                os.unlink(path)


def _is_abandoned(path: str) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        return age > _ABANDONED and file.read(len(_MARK) + 1) == _MARK
    return False
