"""Take a checkpoint: a snapshot of the worktree, stored as a commit under `refs/boocode/`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from git_boocode.checkpoints.worktree.scan import WorktreeScan, is_reachable
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.gc import protect_from_gc
from git_boocode.repo.lock import scratch_directory, worktree_lock
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
    from git_boocode.checkpoints.worktree.snapshot import IndexCache, Snapshot

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

    def take() -> Captured:
        with scratch_directory(repository.state_dir) as scratch:
            return _capture(repository, request, scratch)

    with worktree_lock(repository.state_dir, shared=True, patience=request.patience):
        return protect_from_gc(take)


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


def _capture(repository: Repository, request: Request, scratch: str) -> Captured:
    with WorktreeScan(repository, scratch) as scan:
        # Import while git walks the worktree.
        import git_boocode.checkpoints.store.commit  # noqa: F401
        from git_boocode.checkpoints.store.catalog import Catalog

        catalog = Catalog(repository)
        while True:
            snapshot = scan.finish()
            try:
                more = _narrow(catalog, request, snapshot) if request.paths else {}
                return _write_checkpoint(catalog, request, snapshot, scan.cache, more)
            except RefusedError as error:
                if scan.cache is None or error.code != "conflict":
                    raise
            # The checkpoint that kept the objects of the cached index reachable was deleted.
            scan.start_without_cache()


def _narrow(catalog: Catalog, request: Request, snapshot: Snapshot) -> Mapping[str, Any]:
    """Restrict a snapshot to the requested paths; returns more metadata."""
    from git_boocode.checkpoints.worktree.partial import narrow

    repository, base = catalog.repository, catalog.latest()
    narrowed = narrow(
        repository, snapshot, base, request.paths, require_match=request.require_match
    )
    if narrowed is None or base is None:
        return {}
    snapshot.tree, snapshot.skipped, snapshot.cache = *narrowed, None
    paths = list(request.paths)
    return {"partial": {"base": base.id, "prefix": repository.prefix, "paths": paths}}


def _write_checkpoint(
    catalog: Catalog,
    request: Request,
    snapshot: Snapshot,
    cache: IndexCache | None,
    more: Mapping[str, Any],
) -> Captured:
    from git_boocode.checkpoints.store.commit import holds, write_checkpoint

    if request.ends:
        return _write_turn_end(catalog, request, snapshot, cache)
    repository = catalog.repository
    if cache is not None and cache.content is not None and not more:
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
