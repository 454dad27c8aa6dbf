"""Take a checkpoint: a snapshot of the worktree, stored as a commit under `refs/boocode/`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from git_boocode.checkpoints.prompt import NONE, kept_prompt, label_of, wanted_prompts
from git_boocode.checkpoints.store.catalog import (
    EXCLUDED,
    INCLUDED,
    SAFETY_KIND,
    TOOL_STATE_KIND,
    TURN_END_KIND,
    Catalog,
    Checkpoint,
    with_proof,
)
from git_boocode.checkpoints.turn_commits import attribute_later
from git_boocode.checkpoints.worktree.scan import WorktreeScan, is_reachable
from git_boocode.checkpoints.worktree.snapshot import (
    IndexCache,
    Snapshot,
    discard_cache,
    encode_exact,
    forget_content,
    save_cache,
)
from git_boocode.checkpoints.worktree.staging import Staging, conflict_blobs, decode_special
from git_boocode.repo.config import Config, Identity
from git_boocode.repo.durable import is_regular
from git_boocode.repo.entries import DAY, HOUR, MAX_DISK, VERSION, Metadata, MetadataError
from git_boocode.repo.errors import BoocodeError, FatalError, NextStep, RefusedError
from git_boocode.repo.gc import pack_many_refs, protect_from_gc, publish
from git_boocode.repo.git import GitError
from git_boocode.repo.head import operation_in_progress, stash_entries
from git_boocode.repo.ids import OBJECT_ID, id_time, timestamp
from git_boocode.repo.layout import CHECKPOINTS, PRUNING_STAMP, SAFETY, TOOL_STATES, TURN_ENDS
from git_boocode.repo.lock import INSIDE_RESTORE, break_locks_of, scratch_directory, worktree_lock
from git_boocode.repo.object_writer import Quarantine, raw_commit
from git_boocode.repo.reported_turn import (
    latest_of,
    open_beside,
    open_since,
    reporting_agents,
)
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import known_turns
from git_boocode.repo.store import Commit, RefChange
from git_boocode.repo.trees import Item, write_tree

# Seconds to wait for a running restore: half-restored files are not worth a checkpoint.
PATIENCE = 30.0
_ANCHOR = ("agent", "session", "chat", "message")
_FILE = b"100644"
# In characters; a longer text is somebody's prompt.
_LONGEST_LABEL = 1000
# The metadata that a safety checkpoint copies from the restore's target.
_CONVERSATION = ("session", "chat", "message", "agent", "anchor", "meta")
_BELOW = {
    "checkpoint": CHECKPOINTS,
    SAFETY_KIND: SAFETY,
    TURN_END_KIND: TURN_ENDS,
    TOOL_STATE_KIND: TOOL_STATES,
}
_NEVER = ("never", "false", "no", "off", "0")
_STEPS = ("restore", "revert", "pick")
_TEXTS = ("label", "session", "chat", "message", "agent", "trigger")


class ToolCall(NamedTuple):
    """A tool call of an agent that is about to run, or has ended; texts may be empty."""

    turn: str  # the id of the checkpoint at which its turn began
    has_ended: bool
    id: str = ""
    tool: str = ""
    files: tuple[str, ...] = ()  # the only paths that it changes; empty if it may change any
    resumes: bool = False  # it is no call: the turn goes on, after the recorded end `id`

    @property
    def phase(self) -> str:
        """What the state is to the call, as its metadata names it."""
        return "resume" if self.resumes else "after" if self.has_ended else "before"


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
    in_turn: str = ""  # or of the turn in which its own agent takes this one, which begins none
    call: ToolCall | None = None  # the tool call whose state is recorded, instead of a checkpoint
    forked_from: Mapping[str, Any] = {}  # the turn and the worktree of which this is the fork


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
    with worktree_lock(repository.state_dir, shared=True, patience=request.patience):
        return protect_from_gc(partial(_capture, repository, request))


def _refuse_home(repository: Repository) -> None:
    top = os.path.realpath(repository.worktree)
    if top not in (os.path.dirname(top), os.path.realpath(os.path.expanduser("~"))):
        return
    if not repository.config.boolean("boocode.allowHome", default=False):
        raise RefusedError(
            f"the worktree '{top}' is the home directory or the root directory; a checkpoint would "
            "record everything in it that is not ignored",
            code="home_worktree",
            hints=(
                NextStep(
                    "to take it anyway: {}, or git config boocode.allowHome true", "allow_home"
                ),
            ),
        )


def _capture(repository: Repository, request: Request) -> Captured:
    with (
        scratch_directory(repository.state_dir) as scratch,
        WorktreeScan(repository, scratch) as scan,
    ):
        catalog = Catalog(repository)
        while True:
            snapshot = scan.finish()
            try:
                more: Mapping[str, Any] = {}
                if request.paths:
                    snapshot, more = _narrowed(catalog, request, snapshot)
                return _write_checkpoint(catalog, request, snapshot, scan.cache, more)
            except RefusedError as error:
                if scan.cache is None or error.code != "conflict":
                    raise
            # The checkpoint that kept the objects of the cached index reachable was deleted.
            scan.start_without_cache()


def _narrowed(
    catalog: Catalog, request: Request, snapshot: Snapshot
) -> tuple[Snapshot, Mapping[str, Any]]:
    """The snapshot of the requested paths only, and more metadata."""
    from git_boocode.checkpoints.worktree.pathspecs import narrow

    repository, base = catalog.repository, catalog.latest()
    narrowed = narrow(
        repository, snapshot, base, request.paths, require_match=request.require_match
    )
    if narrowed is None or base is None:
        return snapshot, {}
    part = {"base": base.id, "prefix": repository.prefix, "paths": list(request.paths)}
    return narrowed, {"partial": part}


def _write_checkpoint(
    catalog: Catalog,
    request: Request,
    snapshot: Snapshot,
    cache: IndexCache | None,
    more: Mapping[str, Any],
) -> Captured:

    if request.ends or request.call:
        return _write_state_of_turn(catalog, request, snapshot, cache)
    repository = catalog.repository
    # What is staged of excluded paths is no change.
    if cache and cache.content is not None and not (more or snapshot.exclude.specs):
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
    request = _with_label(repository.config, request)
    texts: dict[str, Any] = {key: getattr(request, key) or None for key in _TEXTS}
    anchor = {key: value for key in _ANCHOR if (value := texts[key])}
    for key in ("prompt", "in_turn", "forked_from"):
        if given := getattr(request, key):
            texts[key] = given
    values = {**texts, "anchor": {**anchor, **request.anchor}, "meta": dict(request.meta), **more}
    values |= _reported(repository, request)
    taken = write_checkpoint(catalog, snapshot, "checkpoint", values, cache=cache)
    return Captured(taken, changed)


def _with_label(config: Config, request: Request) -> Request:
    """The request with the first words of a very long label, which is a prompt, if wanted."""
    if len(request.label) <= _LONGEST_LABEL or request.prompt or request.forked_from:
        return request
    label = label_of(request.label)
    wanted = NONE
    with suppress(FatalError):
        wanted = wanted_prompts(config)
    return request._replace(label=label, prompt=kept_prompt(request.label, wanted))


def _reported(repository: Repository, request: Request) -> dict[str, Any]:
    """What hooks know: other turns that are open, and agents whose tool calls are recorded."""
    turns = known_turns(repository.state_dir)
    beside = [] if request.ends else open_beside(turns, request.agent, request.session)
    setting = (repository.config.text("boocode.perTool") or "").lower()
    agents = [] if setting in _NEVER else reporting_agents(turns)
    known = {"beside": beside, "reports_tools": agents}
    return {key: found for key, found in known.items() if found}


def open_turn(repository: Repository, agent: str, session: str) -> str:
    """The id of the open turn of an agent's session; empty if it has none in the log."""
    latest = latest_of(known_turns(repository.state_dir), agent, session) if session else None
    if latest is None or not latest.is_open or not latest.checkpoint:
        return ""
    is_kept = repository.store.refs(f"{CHECKPOINTS}{latest.checkpoint}")
    return latest.checkpoint if is_kept else ""


def capture_turn_end(repository: Repository, begun: str, trigger: str) -> bool:
    """Record the state at the end of a turn, below `refs/boocode/turn-ends/`.

    `begun` is the id of the checkpoint at which the turn began; a later end replaces an earlier
    one. Returns whether there is such a checkpoint in the log. Raises as `capture` does.

    The commits that were made during the turn are attributed again, in the background.
    """
    is_recorded = _capture_in_turn(repository, begun, Request(ends=begun, trigger=trigger))
    if is_recorded:
        attribute_later(repository, begun)
    return is_recorded


def capture_tool_state(repository: Repository, call: ToolCall, trigger: str) -> bool:
    """Record the state before or after a tool call, below `refs/boocode/tool-states/`.

    Returns whether the checkpoint of its turn is in the log. Raises as `capture` does.
    """
    return _capture_in_turn(repository, call.turn, Request(call=call, trigger=trigger))


def capture_resumption(repository: Repository, begun: str, trigger: str) -> bool:
    """Record the state in which a turn goes on whose end was recorded, before that is replaced.

    Returns whether there is a recorded end. Raises as `capture` does.
    """
    catalog = Catalog(repository)
    for end in catalog.entries(catalog.store.refs(f"{TURN_ENDS}{begun}")):
        if isinstance(end, Checkpoint):
            call = ToolCall(begun, has_ended=False, id=end.meta.text("id"), resumes=True)
            return capture_tool_state(repository, call, trigger)
    return False


def _capture_in_turn(repository: Repository, begun: str, request: Request) -> bool:
    if not Catalog(repository).store.refs(f"{CHECKPOINTS}{begun}"):
        # A restore archived it while the turn was running.
        return False
    capture(repository, request)
    return True


def _write_state_of_turn(
    catalog: Catalog, request: Request, snapshot: Snapshot, cache: IndexCache | None
) -> Captured:
    call = request.call
    begun = catalog.find(call.turn if call else request.ends)
    same = {key: begun.meta.text(key) or None for key in _TEXTS if key != "label"}
    values: dict[str, Any] = {**same, "turn": begun.id, "trigger": request.trigger}
    turns = known_turns(catalog.repository.state_dir)
    if beside := open_since(turns, begun.id, same["agent"] or "", same["session"] or ""):
        values["beside"] = beside
    if call is None:
        values |= _reported(catalog.repository, request)
        taken = write_checkpoint(catalog, snapshot, TURN_END_KIND, values, cache=cache)
        return Captured(taken, changed=True)
    values["tool"] = {
        "phase": call.phase,
        "call": call.id,
        "name": call.tool,
        "files": list(call.files),
        # The first parent of the first state of the turn.
        "since": begun.commit.id,
    }
    taken = write_checkpoint(catalog, snapshot, TOOL_STATE_KIND, values, cache=cache)
    return Captured(taken, changed=True)


def prune_daily(repository: Repository) -> None:
    """After a checkpoint, pack refs if many are loose, and prune all worktrees once a day.

    With a disk budget, that is once an hour, as its newest day grows, too.

    Errors do not make the caller's checkpoint fail; `retention.last_prune_failure` reports them.
    """
    # On a full disk, not even the failure can be stored; the next checkpoint tries again.
    with suppress(OSError):
        pack_many_refs(repository)
        stamp = os.path.join(repository.common_state_dir, PRUNING_STAMP)
        due = not is_regular(stamp)
        every = DAY if repository.config.setting(MAX_DISK) is None else HOUR
        # A time in the future, from a wrong clock, must not postpone pruning for ever.
        due = due or not -DAY < time.time() - os.stat(stamp).st_mtime < every
        if not due or os.environ.get(INSIDE_RESTORE):
            return
        # Not before: a checkpoint usually has nothing to prune.
        from git_boocode.checkpoints.store.retention import note_pruning, prune

        # Store the time first, so that parallel checkpoints do not prune as well.
        note_pruning(repository)
        try:
            prune(repository, everywhere=True, patience=0)
        except RefusedError:
            # Another command holds a lock; the next day's checkpoint tries again.
            return
        except (BoocodeError, OSError) as error:
            reason = error.message if isinstance(error, BoocodeError) else str(error)
            note_pruning(repository, reason)


# Writing a snapshot as a commit.


def holds(repository: Repository, checkpoint: Checkpoint, snapshot: Snapshot) -> bool:
    """Whether a checkpoint has the same files, staging area and HEAD as a snapshot."""
    if checkpoint.tree != snapshot.tree:
        return False
    if checkpoint.meta.part("head", "commit") != snapshot.head.commit:
        return False
    try:
        recorded = snapshot.recorded_staging(repository)
        return read_staging(repository, checkpoint.meta) == recorded
    except (GitError, MetadataError):
        return False


def read_staging(repository: Repository, meta: Metadata) -> Staging | None:
    """The staging area that a checkpoint records; None if it records none.

    Raises GitError if objects are missing, and MetadataError if the record is malformed
    (`malformed`).
    """
    tree, details = meta.part("index", "tree"), meta.part("index", "details")
    if tree is None:
        return None
    try:
        if not all(OBJECT_ID.fullmatch(part) for part in (tree, details) if part is not None):
            raise ValueError
        if details is None:
            return Staging(tree, ())
        return Staging(tree, decode_special(repository.store.file(details, "entries")))
    except ValueError:
        message = "its record of the staging area is malformed"
        raise MetadataError(message, code="malformed") from None


def write_checkpoint(
    catalog: Catalog,
    snapshot: Snapshot,
    kind: str,
    values: Mapping[str, Any],
    identifier: str | None = None,
    *,
    cache: IndexCache | None = None,
    keeping: Sequence[str] = (),
) -> Checkpoint:
    """Write a snapshot as a commit, publish its objects, and create its ref.

    `kind` is `checkpoint`, `pre-restore` for a safety checkpoint, or one of a turn, whose
    checkpoint is `values["turn"]`: `turn-end`, which replaces an earlier one, or `tool-state`,
    which follows an earlier one; `values` is more metadata. The snapshot was built on `cache`,
    whose ref keeps objects reachable: if that ref was deleted meanwhile, a RefusedError is raised
    (`conflict`). CollectedError if git deleted objects meanwhile. It keeps the commits `keeping`
    reachable.
    """
    repository, identifier = catalog.repository, identifier or catalog.store.new_id()
    below, old = _BELOW[kind], None
    ref = f"{below}{identifier}"
    if kind in (TURN_END_KIND, TOOL_STATE_KIND):
        ref = f"{below}{values['turn']}"
        old = next((each.target for each in catalog.store.refs(ref)), None)
    if kind == TOOL_STATE_KIND:
        keeping = [old or values["tool"]["since"]]
    checkpoint = write_state(repository, snapshot, kind, values, identifier, ref, keeping)
    commit = checkpoint.commit.id
    changes = [RefChange(ref, commit, old)]
    if cache is not None and cache.ref != ref:
        changes.insert(0, RefChange(cache.ref, cache.commit, cache.commit))
    # What a killed git has left would stop all that follows.
    break_locks_of(repository, (change.name for change in changes))

    def needed() -> Iterator[str]:
        yield from checkpoint.commits
        for kept in filter(None, catalog.store.commits(keeping)):
            yield from kept.parents

    publish(repository, snapshot.quarantine, changes, needed())
    if "partial" in values:
        # The cached index still fits, but there is a newer checkpoint now.
        forget_content(repository)
    elif snapshot.cache is None:
        discard_cache(repository)
    else:
        content = snapshot.content()
        save_cache(repository, snapshot.cache._replace(ref=ref, commit=commit, content=content))
    return checkpoint


def write_state(
    repository: Repository,
    snapshot: Snapshot,
    kind: str,
    values: Mapping[str, Any],
    identifier: str,
    ref: str = "",
    keeping: Sequence[str] = (),
) -> Checkpoint:
    """Write a snapshot as a commit; see `write_checkpoint`.

    The caller publishes its objects, and creates `ref` or keeps the commit reachable otherwise.
    """
    # Git's dates follow the order of the ids, also if the clock was set back.
    by, when = repository.config.identity(), id_time(identifier)
    writer = _Writer(repository, snapshot.quarantine, by, when)
    meta = Metadata(
        {
            "boocode": VERSION,
            "kind": kind,
            "id": identifier,
            "created_at": timestamp(time.time()),
            **values,
            "worktree": repository.worktree_json(),
            "head": {"ref": snapshot.head.ref, "commit": snapshot.head.commit},
            "index": writer.index_json(snapshot),
            **(writer.exact(snapshot) if snapshot.exact else {}),
            "state": operation_in_progress(repository),
            **({"stashes": stashes} if (stashes := stash_entries(repository)) else {}),
            "skipped": [skipped._asdict() for skipped in snapshot.skipped],
            **({EXCLUDED: [*specs]} if (specs := snapshot.exclude.specs) else {}),
            **({INCLUDED: sorted(paths)} if (paths := snapshot.included) else {}),
        }
    )
    reachable = (snapshot.head.commit, meta.part("index", "commit"), meta.part("exact", "commit"))
    parents = [*filter(None, reachable), *keeping]
    if kind == TOOL_STATE_KIND:
        # So that `git log --first-parent` lists the states of a turn.
        parents.sort(key=lambda parent: parent not in keeping)
    meta = Metadata(with_proof(repository, snapshot.tree, parents, meta.values))
    message = meta.message()
    commit = writer.commit(snapshot.tree, parents, message)
    made = Commit(commit, snapshot.tree, tuple(parents), message)
    return Checkpoint(identifier, ref, made, meta)


def safety_checkpoint(
    repository: Repository,
    snapshot: Snapshot,
    target: Metadata,
    operation: Mapping[str, Any],
    identifier: str | None = None,
    trigger: str = "restore",
    *,
    keeping: Sequence[str] = (),
) -> Checkpoint:
    """Record the current state of the worktree before a restore changes it.

    The metadata of the conversation is copied from `target`, the restore's target, so that an undo
    passes it to the callback. `operation` is the record that
    `git_boocode.checkpoints.restore.plan` reads. The commits `keeping` remain as long as it does.
    """
    same = {key: target.values.get(key) for key in _CONVERSATION}
    label = f"before a {trigger}" if trigger in _STEPS else f"before '{trigger}' of a proposal"
    values = {**same, "label": label, "trigger": trigger, "restore": dict(operation)}
    catalog = Catalog(repository)
    return write_checkpoint(catalog, snapshot, SAFETY_KIND, values, identifier, keeping=keeping)


class _Writer(NamedTuple):
    """Writes the commits of one checkpoint."""

    repository: Repository
    quarantine: Quarantine
    by: Identity
    when: float

    def commit(self, tree: str, parents: list[str], message: str) -> str:
        raw = raw_commit(tree, parents, message, self.by, self.when)
        return self.quarantine.store(b"commit", raw).decode("ascii")

    def index_json(self, snapshot: Snapshot) -> dict[str, str | None]:
        """The metadata of the staging area.

        Every tree that it names is reachable: from HEAD, from the checkpoint, or from a commit
        written here.
        """
        staging, details = snapshot.recorded_staging(self.repository), None
        if staging is None:
            return {"tree": None, "commit": None, "details": None}
        if staging.special:
            blobs = conflict_blobs(staging)
            details = self._records(staging.encode(), blobs, "boocode index details\n")
        elif staging.tree in (snapshot.head.tree, snapshot.tree):
            return {"tree": staging.tree, "commit": None, "details": None}
        parents = [parent for parent in (snapshot.head.commit, details) if parent]
        commit = self.commit(staging.tree, parents, "boocode index\n")
        return {"tree": staging.tree, "commit": commit, "details": details}

    def exact(self, snapshot: Snapshot) -> dict[str, dict[str, str]]:
        """The metadata of the exact bytes and modes beside the tree."""
        blobs = {file.blob for file in snapshot.exact.values() if OBJECT_ID.fullmatch(file.blob)}
        commit = self._records(encode_exact(snapshot.exact), blobs, "boocode exact files\n")
        return {"exact": {"commit": commit}}

    def _records(self, entries: bytes, blobs: Iterable[str], message: str) -> str:
        """Write a commit that holds records and keeps the blobs that they name reachable."""
        store = self.quarantine.store
        names = (blob.encode("ascii") for blob in blobs)
        files = {b"blobs/" + blob: Item(_FILE, blob) for blob in names}
        files[b"entries"] = Item(_FILE, store(b"blob", entries))
        tree = write_tree(files, store).decode("ascii")
        return self.commit(tree, [], message)
