"""Take a checkpoint: a snapshot of the worktree, stored as a commit under `refs/boocode/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.checkpoints.worktree.scan import WorktreeScan, is_reachable
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.gc import GcWatch, protect_from_gc
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import ID
from git_boocode.repo.lock import scratch_directory, worktree_lock
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
    from git_boocode.checkpoints.worktree.index_cache import IndexCache
    from git_boocode.checkpoints.worktree.snapshot import Later, Snapshot

# Seconds to wait for a running restore: half-restored files are not worth a checkpoint.
PATIENCE = 30.0
_ANCHOR = ("agent", "session", "chat", "message")
_TEXTS = ("label", "session", "chat", "message", "agent", "trigger")


class Request(NamedTuple):
    """The caller's description of a checkpoint and how to take it; every text may be empty."""

    label: str = ""  # for people
    prompt: str = ""  # what the agent was asked, of which the label is the beginning
    session: str = ""  # the agent's session
    chat: str = ""  # the conversation in it
    message: str = ""  # the message at which a restore cuts the conversation
    agent: str = ""
    trigger: str = "manual"  # what triggered it, such as a hook's name
    meta: Mapping[str, Any] = {}  # anything else
    only_if_changed: bool = False  # skip if nothing changed since the latest checkpoint
    paths: tuple[str, ...] = ()  # pathspecs to read; the rest comes from the latest checkpoint
    allow_home: bool = False  # whether the worktree may be the home directory or the root
    anchor: Mapping[str, Any] = {}  # the position in the conversation: transcript and length
    patience: float = PATIENCE  # seconds to wait for a running restore
    require_match: bool = False  # refuse paths that match no file
    ends: str = ""  # the id of the checkpoint at which the turn began that ends now
    later: Later | None = None  # takes what only makes the next capture faster; None: do it now


class Captured(NamedTuple):
    """A new checkpoint, or the latest one if nothing changed since.

    `changed` is whether files or staging differ from the previous checkpoint.
    """

    checkpoint: Checkpoint
    changed: bool
    is_new: bool = True

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        checkpoint = self.checkpoint
        return {
            "ok": True,
            "id": checkpoint.id,
            "commit": checkpoint.commit.id,
            "ref": checkpoint.ref,
            "tree": checkpoint.tree,
            "changed": self.changed,
            "skipped": checkpoint.meta.values["skipped"],
        }


def capture(repository: Repository, request: Request) -> Captured:
    """Take a checkpoint of the worktree and the staging area.

    RefusedError if a restore is running (`locked`), the worktree is the home directory or the root
    (`home_worktree`), or a path is outside the worktree (`outside_worktree`); FatalError if the
    worktree cannot be read or the checkpoint cannot be written.
    """
    if not request.allow_home:
        _refuse_home(repository)

    def take(watch: GcWatch) -> Captured:
        with ExitStack() as stack:
            scratch = stack.enter_context(scratch_directory(repository.state_dir))
            left: list[Callable[[], None]] = []
            own = request if request.later is None else request._replace(later=left.append)
            taken = _capture_paths(repository, own, scratch) if own.paths else None
            taken = taken or _capture_all(repository, own, scratch)
            if taken.is_new:
                watch.confirm(taken.checkpoint.ref, taken.checkpoint.commits)
            if request.later is not None and left:
                request.later(partial(_finish, left, stack.pop_all()))
            return taken

    with worktree_lock(repository.state_dir, shared=True, patience=request.patience):
        return protect_from_gc(repository, take)


def _finish(left: Iterable[Callable[[], None]], stack: ExitStack) -> None:
    """Do what was left for later, and release what it needs."""
    with stack:
        for work in left:
            work()


def _refuse_home(repository: Repository) -> None:
    top = os.path.realpath(repository.worktree)
    if top not in (os.path.dirname(top), os.path.realpath(os.path.expanduser("~"))):
        return
    if not repository.config.boolean("boocode.allowHome", default=False):
        raise RefusedError(
            f"the worktree '{top}' is the home directory or the root directory; a checkpoint would "
            "record everything in it that is not ignored",
            code="home_worktree",
            hints=("to take it anyway: --allow-home, or git config boocode.allowHome true",),
        )


def _capture_all(repository: Repository, request: Request, scratch: str) -> Captured:
    with WorktreeScan(repository, scratch, later=request.later) as scan:
        # Import while git walks the worktree.
        import git_boocode.checkpoints.store.commit  # noqa: F401
        from git_boocode.checkpoints.store.catalog import Catalog

        catalog = Catalog(repository)
        while True:
            snapshot = scan.finish()
            try:
                return _write_checkpoint(catalog, request, snapshot, scan.cache)
            except RefusedError:
                if scan.cache is None:
                    raise
            # The checkpoint that kept the objects of the cached index reachable was deleted.
            scan.start_without_cache()


def _capture_paths(repository: Repository, request: Request, scratch: str) -> Captured | None:
    """Take a checkpoint of some paths; None without an earlier checkpoint to build on."""
    from git_boocode.checkpoints.store.catalog import Catalog
    from git_boocode.checkpoints.worktree.partial import PartialScan

    catalog = Catalog(repository)
    base = catalog.latest()
    if base is None:
        if request.require_match:
            _refuse_unmatched(repository, request.paths)
        return None
    try:
        scan = PartialScan(repository, scratch, base, request.paths)
    except GitError:
        # The base lacks trees, or the user's index cannot be read.
        return None
    snapshot = scan.finish(require_match=request.require_match)
    snapshot.later = request.later
    part = {"base": base.id, "prefix": repository.prefix, "paths": list(request.paths)}
    return _write_checkpoint(catalog, request, snapshot, scan.cache, {"partial": part})


def _refuse_unmatched(repository: Repository, paths: Sequence[str]) -> None:
    """Refuse paths of which neither the index nor the worktree has anything."""
    from git_boocode.checkpoints.worktree.indexer import OTHERS
    from git_boocode.checkpoints.worktree.pathspecs import (
        list_files,
        refuse_unmatched,
        resolve_pathspec,
    )

    top, prefix = repository.worktree, repository.prefix
    git = repository.git.bind(cwd=os.path.join(top, prefix))
    specs = [resolve_pathspec(top, prefix, path) for path in paths]
    _, untracked = list_files(git, *OTHERS, "--", *specs)
    _, tracked = list_files(git, "--cached", "--", *specs)
    refuse_unmatched(git, paths, untracked & tracked)


def _write_checkpoint(
    catalog: Catalog,
    request: Request,
    snapshot: Snapshot,
    cache: IndexCache | None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Captured:
    from git_boocode.checkpoints.store.catalog import CHECKPOINTS
    from git_boocode.checkpoints.store.commit import holds, write_checkpoint

    if request.ends:
        return _write_turn_end(catalog, request, snapshot, cache)
    repository = catalog.repository
    if cache is not None and cache.ref.startswith(CHECKPOINTS) and _is_newest(repository, cache):
        changed = cache.content != snapshot.content()
    else:
        latest = catalog.latest()
        changed = latest is None or not holds(repository, latest, snapshot)
    if request.only_if_changed and not changed:
        if cache is not None and not is_reachable(repository, cache):
            raise RefusedError("the latest checkpoint was dropped", code="conflict")
        latest = catalog.latest()
        # It may not be the cache's checkpoint: another process may have taken one since.
        if latest is not None and holds(repository, latest, snapshot):
            return Captured(latest, changed=False, is_new=False)
        changed = True
    texts = {key: getattr(request, key) or None for key in _TEXTS}
    anchor = {key: value for key in _ANCHOR if (value := texts[key])}
    if request.prompt:
        texts["prompt"] = request.prompt
    values = {**texts, "anchor": {**anchor, **request.anchor}, "meta": dict(request.meta), **more}
    taken = write_checkpoint(catalog, snapshot, "checkpoint", values, cache=cache)
    return Captured(taken, changed)


def _is_newest(repository: Repository, cache: IndexCache) -> bool:
    """Whether no checkpoint is newer than that of a cache, whose update may be pending or lost.

    It may be one of another worktree; False if that would take git to find out.
    """
    if not repository.has_plain_refs:
        return False
    common, (below, _, identifier) = repository.common_dir, cache.ref.rpartition("/")
    names: list[str] = []
    with suppress(FileNotFoundError):
        names = os.listdir(os.path.join(common, below))
    if any(name > identifier for name in names if ID.fullmatch(name)):
        return False
    try:
        return os.stat(os.path.join(common, "packed-refs")).st_mtime_ns < cache.since
    except FileNotFoundError:
        return True


def capture_turn_end(repository: Repository, begun: str, trigger: str) -> bool:
    """Record the state at the end of a turn, below `refs/boocode/turn-ends/`.

    `begun` is the id of the checkpoint at which the turn began; a later end replaces an earlier
    one. Returns whether there is such a checkpoint in the log. Raises as `capture` does.
    """
    from git_boocode.checkpoints.store.catalog import CHECKPOINTS, Catalog

    if not Catalog(repository).store.refs(f"{CHECKPOINTS}{begun}"):
        # A restore archived it while the turn was running.
        return False
    capture(repository, Request(ends=begun, trigger=trigger))
    return True


def _write_turn_end(
    catalog: Catalog, request: Request, snapshot: Snapshot, cache: IndexCache | None
) -> Captured:
    from git_boocode.checkpoints.store.catalog import TURN_END_KIND
    from git_boocode.checkpoints.store.commit import write_checkpoint

    meta = catalog.find(request.ends).meta
    same = {key: meta.text(key) or None for key in _TEXTS if key != "label"}
    values = {**same, "turn": request.ends, "trigger": request.trigger}
    taken = write_checkpoint(catalog, snapshot, TURN_END_KIND, values, cache=cache)
    return Captured(taken, changed=True)
