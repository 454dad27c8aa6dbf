"""The worktrees that a client may use."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError, UsageError, shortened
from git_boocode.repo.messages import NO_REPOSITORY, says

if TYPE_CHECKING:
    from git_boocode.repo.repository import Repository
    from git_boocode.repo.store import PersistentStore

_PATIENCE = 10.0  # seconds to wait for the client to name its roots
_MOST_STORES = 64
_GIVE_REPO = "'git boocode serve --repo <path>' serves the worktree that it names"
_GIVE_CWD = "give 'cwd', a directory of the worktree"


class Repositories:
    """Finds the repository of a directory, for one call; all calls share its store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stores: dict[str, PersistentStore] = {}  # by git directory, the newest last

    def find(self, directory: str) -> Repository:
        """The repository that contains a directory; FatalError if there is none."""
        # Only here: the first answer needs no repository.
        from git_boocode.repo.libgit2 import open_store
        from git_boocode.repo.repository import Repository

        found = Repository.discover(directory)
        with self._lock:
            store = self._stores.pop(found.git_dir, None)
            if store is None or not store.is_of(found):
                store = open_store(found.copy())
            self._stores[found.git_dir] = store
            if len(self._stores) > _MOST_STORES:
                # It ends as soon as no call uses it.
                del self._stores[next(iter(self._stores))]
        found.use_store(store)
        return found

    def close(self) -> None:
        """Close all stores; no call may be running."""
        for store in self._stores.values():
            store.close()


class Roots:
    """The directories whose worktrees are served: `repo`, the client's roots, or the start.

    `repo` is the top of the only worktree that is served, None for those of the roots. The start is
    the directory in which the server was started, for clients that name no roots; not the home
    directory or the root directory, as the client cannot mean everything. A worktree that contains
    a root is served, too: the client works in a subdirectory of it. Several threads may use it.
    """

    def __init__(
        self, repo: str | None, start: str, repositories: Repositories | None = None
    ) -> None:
        self._repo = repo
        self._repositories = repositories or Repositories()
        self._started_in = start
        broad = (os.path.sep, os.path.realpath(os.path.expanduser("~")))
        self._start = () if os.path.realpath(start) in broad else (os.path.realpath(start),)
        self._named: tuple[str, ...] | None = None
        self._are_known = threading.Event()
        self._are_known.set()
        self._until = 0.0
        self._is_over = False
        self._used: dict[str, str] = {}  # the directories of calls by their worktrees

    def of_request(self, uris: Iterable[str] | None) -> Roots:
        """The roots of one request, which comes with these; None if it names none."""
        found = Roots(self._repo, self._started_in, self._repositories)
        found.name(uris)
        return found

    @property
    def are_fixed(self) -> bool:
        """Whether the client's own roots do not matter."""
        return self._repo is not None

    def expect(self) -> None:
        """Let calls wait until the client has named its roots."""
        self._until = time.monotonic() + _PATIENCE
        self._are_known.clear()

    @property
    def are_known(self) -> bool:
        """Whether no answer of the client is expected."""
        return self._are_known.is_set()

    def wait(self) -> bool:
        """Wait until the client has named its roots; False if it does not."""
        return self._are_known.wait(max(0.0, self._until - time.monotonic())) and not self._is_over

    def give_up(self) -> None:
        """Let nobody wait any longer: the client is gone."""
        self._is_over = not self.are_known
        self._are_known.set()

    def name(self, uris: Iterable[str] | None) -> None:
        """Take over the client's roots; None if it cannot name any."""
        self._named = None if uris is None else tuple(filter(None, map(_path_of, uris)))
        self._are_known.set()

    @property
    def directories(self) -> tuple[str, ...]:
        """The roots as absolute paths."""
        if self._repo is not None:
            return (self._repo,)
        return self._start if self._named is None else self._named

    def _directory(self, cwd: object) -> str | None:
        """The directory of a call without symlinks, by default the first root; None for none.

        UsageError for what no path can be.
        """
        first = next(iter(self.directories), None)
        if not isinstance(cwd, str):
            return first
        try:
            return os.path.realpath(os.path.join(first or os.path.sep, cwd))
        except ValueError:
            raise UsageError(f"'cwd' is not a path: '{shortened(cwd)}'") from None

    def worktree_above(self, cwd: object) -> str:
        """The top of the worktree of a call, as far as directories show it without git."""
        try:
            return _top_above(self._directory(cwd) or os.path.sep) or os.path.sep
        except UsageError:
            # The call reports it.
            return os.path.sep

    def repository(self, cwd: str | None) -> Repository:
        """The repository of a call with this directory, None if it has none.

        RefusedError (`outside_worktree`) if it is not served; FatalError if there is none.
        """
        if not self.wait():
            message = "the client does not answer which its roots are"
            raise RefusedError(message, code="outside_worktree", hints=(_GIVE_REPO,))
        directory = self._directory(cwd)
        if directory is None:
            raise self._without_roots()
        top = _top_above(directory) or directory
        if not any(_is_below(top, root) or _is_below(root, top) for root in self.directories):
            # Git does not run there.
            raise self._not_served(top)
        try:
            found = self._repositories.find(directory)
        except FatalError as error:
            raise _explained(error, directory, is_root=cwd is None) from None
        self._check(found, directory)
        self._used[found.worktree] = directory
        return found

    def _without_roots(self) -> RefusedError:
        why = "the client names no root"
        if self._named is None:
            why += ", and the server was started in the home directory or in '/'"
        return RefusedError(why, code="outside_worktree", hints=(_GIVE_REPO,))

    def _not_served(self, top: str) -> RefusedError:
        listed = ", ".join(f"'{root}'" for root in self.directories)
        if not listed:
            return self._without_roots()
        return RefusedError(
            f"the worktree '{top}' is not served",
            code="outside_worktree",
            hints=(f"the roots are: {listed}", _GIVE_REPO),
        )

    def repositories(self) -> list[Repository]:
        """The repositories of the roots, as far as these are in one, and those of earlier calls."""
        self.wait()
        found: dict[str, Repository] = {}
        for directory in (*self.directories, *self._used.copy().values()):
            try:
                repository = self._repositories.find(directory)
                self._check(repository, directory)
            except BoocodeError:
                continue
            found.setdefault(repository.worktree, repository)
        return [*found.values()]

    def close(self) -> None:
        """Close all repositories; no call may be running."""
        self._repositories.close()

    def _check(self, found: Repository, directory: str) -> None:
        """Refuse a worktree, which is that of a directory, if it is not served."""
        top = os.path.realpath(found.worktree)
        for root in self.directories:
            if self._repo is None and _is_below(top, root):
                return
            if _is_below(root, top):
                above = found if root == directory else self._repositories.find(root)
                if os.path.realpath(above.worktree) == top:
                    return
        raise self._not_served(top)


def _top_above(directory: str) -> str | None:
    """The nearest directory, from this one upwards, that looks like the top of a worktree."""
    while not os.path.lexists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent
    return directory


def _explained(error: FatalError, directory: str, *, is_root: bool) -> FatalError:
    """The error of a directory without a repository, which names it."""
    which, hints = f"'{directory}'", error.hints
    if is_root:
        which, hints = f"{which}, the first root,", (_GIVE_CWD,)
    if error.code == "no_directory":
        return FatalError(f"{which} does not exist", code=error.code, hints=hints)
    if says(error.message, NO_REPOSITORY):
        return FatalError(f"{which} is not in a worktree", code=error.code, hints=hints)
    return error


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(os.path.join(directory, ""))


def _path_of(uri: str) -> str | None:
    """The directory of a `file:` URI, without symlinks; None for another URI."""
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="surrogateescape")
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and os.path.isabs(path):
            return os.path.realpath(path)
    except ValueError:
        pass
    return None
