"""What a turn changed, also if turns of other sessions were open in its worktree meanwhile.

The answer depends on nothing but recorded states: checkpoints, the ends of turns, the states around
tool calls, those before restores, and edit records. `timeline` says whose an interval is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple

from git_boocode.checkpoints.overlaps import Overlaps, session_of
from git_boocode.checkpoints.restore.plan import read_plan
from git_boocode.checkpoints.restore.request import PICK
from git_boocode.checkpoints.store.catalog import (
    Catalog,
    Change,
    Checkpoint,
    texts_of,
    tree_changes,
)
from git_boocode.checkpoints.timeline import (
    AFTER,
    BEFORE,
    BEGIN,
    END,
    MINE,
    OTHERS,
    RESTORE,
    RESUME,
    UNCLEAR,
    RecordedState,
    Session,
    Share,
    Sign,
    Timeline,
)
from git_boocode.checkpoints.turns import (
    CHECKPOINT,
    NOW,
    RECORDED,
    TOP,
    RecordedStates,
    Turn,
    only_paths,
    turn_of,
    turns,
)
from git_boocode.checkpoints.turns import RESTORE as END_BY_RESTORE
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import GitError, id_lines
from git_boocode.repo.ids import ID, OBJECT_ID
from git_boocode.repo.layout import (
    ARCHIVE,
    CHECKPOINTS,
    EDITS,
    REMOTE_TURN_ENDS,
    REMOTES,
    SAFETY,
    TOOL_STATES,
    TURN_ENDS,
)
from git_boocode.repo.reported_turn import read_turns, reporting_agents
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref

_ENDS = {END: RECORDED, AFTER: RECORDED, BEGIN: CHECKPOINT, RESTORE: END_BY_RESTORE}
_EDITED = "edited"
_KINDS = {"before": BEFORE, "after": AFTER, "resume": RESUME}


class WorkStep(NamedTuple):
    """Two states, commits or trees, between which a turn changed files.

    `paths` are pathspecs of the only paths that are the turn's, empty for all.
    """

    before: str
    after: str
    paths: tuple[str, ...] = ()


class TurnWork(NamedTuple):
    """What a turn changed, oldest first: one step unless other turns were open meanwhile.

    `shared` are paths that other turns may have changed at the same time, with the ids of these
    turns, or that of a restore whose effect is unknown. There are no steps if it is unknown how the
    turn ended.
    """

    turn: Turn
    steps: tuple[WorkStep, ...]
    shared: Mapping[str, tuple[str, ...]]
    # The steps and, among them, those of shared paths; empty if there are none of these.
    with_shared: tuple[WorkStep, ...] = ()

    @property
    def is_divided(self) -> bool:
        """Whether it is not simply what differs between the beginning and the end of the turn."""
        whole = WorkStep(self.turn.before, self.turn.after, self.turn.paths)
        return bool(self.turn.after) and self.steps != (whole,)


class PathStep(NamedTuple):
    """A change of one path in a step; the mode of a missing file is `000000`, its id zeros."""

    change: Change
    step: WorkStep


def work_of(catalog: Catalog, checkpoint: Checkpoint, now: Callable[[], str]) -> TurnWork:
    """What the turn that a checkpoint began changed.

    `now` returns the tree of the worktree, or an empty string if it cannot be read.
    """
    now, recorded = cache(now), RecordedStates(catalog)
    overlaps = Overlaps(catalog, recorded)
    turn = turn_of(catalog, checkpoint, now, recorded, overlaps.observed)
    if not _may_be_divided(checkpoint, overlaps):
        return _undivided(turn)
    history = RecordedHistory.of(catalog, checkpoint)
    return history.work_of(turn, now)


def works_of(
    catalog: Catalog, checkpoints: Sequence[Checkpoint], now: Callable[[], str]
) -> list[TurnWork]:
    """The same of several turns; those in the log are found in one pass over it."""
    in_log = {each.ref for each in checkpoints if each.ref.startswith(CHECKPOINTS)}
    now, recorded = cache(now), RecordedStates(catalog)
    overlaps = Overlaps(catalog, recorded)
    entries = overlaps.observed(catalog.newest_first(everywhere=True))
    listed = turns(catalog, entries, now, lambda entry: entry.ref in in_log, recorded)
    found = {turn.checkpoint.ref: turn for turn in islice(listed, len(in_log))}
    histories: dict[str, RecordedHistory] = {}
    works = []
    for each in checkpoints:
        turn, key = found.get(each.ref), each.meta.worktree_key
        if turn is None:
            works.append(work_of(catalog, each, now))
        elif _may_be_divided(each, overlaps):
            histories[key] = histories.get(key) or RecordedHistory.of(catalog, each)
            works.append(histories[key].work_of(turn, now))
        else:
            works.append(_undivided(turn))
    return works


def _may_be_divided(checkpoint: Checkpoint, overlaps: Overlaps) -> bool:
    if checkpoint.ref.startswith(SAFETY) or only_paths(checkpoint) != ():
        return False
    return overlaps.may_overlap(checkpoint)


def _undivided(turn: Turn) -> TurnWork:
    steps = (WorkStep(turn.before, turn.after, turn.paths),) if turn.after else ()
    return TurnWork(turn, steps, {})


def path_steps(
    repository: Repository, work: TurnWork, pathspecs: Sequence[str] = ()
) -> dict[str, tuple[PathStep, ...]]:
    """The steps of each path, oldest first; those that adjoin are joined.

    Pathspecs are relative to the caller's directory.
    """
    git = repository.git.bind(cwd=repository.directory)
    found: dict[str, list[PathStep]] = {}
    for step in work.steps:
        for change in _only(tree_changes(git, step.before, step.after, pathspecs), step.paths):
            _append(found.setdefault(change.path, []), PathStep(change, step))
    return {path: tuple(steps) for path, steps in found.items() if steps}


def _append(steps: list[PathStep], added: PathStep) -> None:
    """Add a later change of a path, joined with the last one if it begins where that ends."""
    change, step = added
    last = steps[-1].change if steps else None
    if last and (last.mode, last.id) == (change.old_mode, change.old_id):
        change = change._replace(old_mode=last.old_mode, old_id=last.old_id)
        step = WorkStep(steps.pop().step.before, step.after, step.paths)
    if (change.old_mode, change.old_id) != (change.mode, change.id):
        steps.append(PathStep(change._replace(action=_action(change)), step))


def _only(changes: Iterable[Change], specs: Sequence[str]) -> Iterator[Change]:
    """The changes of literal paths, or below them; of all paths if there are none."""
    names = {spec.removeprefix(TOP) for spec in specs}
    for change in changes:
        parts = change.path.split("/")
        above = ("/".join(parts[:count]) for count in range(len(parts) + 1))
        if not names or any(each in names for each in above):
            yield change


def _action(change: Change) -> str:
    if not int(change.old_mode, 8):
        return "create"
    return "modify" if int(change.mode, 8) else "delete"


class RecordedHistory:
    """All recorded states of one worktree, of which some may be gone.

    `reports` are the agents that have reported tool calls in it by now.
    """

    def __init__(
        self, catalog: Catalog, entries: Iterable[Checkpoint], reports: Iterable[str] = ()
    ) -> None:
        self.catalog = catalog
        self.git = catalog.repository.git
        self._entries: dict[str, Checkpoint] = {}
        self._restores: dict[str, Checkpoint] = {}
        self._edits: dict[str, Checkpoint] = {}
        self._begins: dict[str, Checkpoint] = {}
        states, signs = [], []
        for entry in entries:
            identifier = entry.meta.text("id")
            if entry.ref.startswith(EDITS):
                signs.append(_sign_of_edit(entry))
                self._edits[identifier] = entry
            elif state := _state(entry):
                states.append(state)
                self._entries[identifier] = entry
                if state.kind == RESTORE:
                    self._restores[identifier] = entry
                elif state.kind == BEGIN:
                    self._begins[entry.id] = entry
            elif entry.meta.text("session") and not entry.ref.startswith(SAFETY):
                signs.append(Sign(identifier, session_of(entry.meta)))
        sessions = [*(state.session for state in states), *(sign.session for sign in signs)]
        agents = {name: agent for agent, name in sessions if agent}

        def known(session: Session) -> Session:
            # A checkpoint by hand may name the session without its agent, and an edit with it.
            agent, name = session
            return (agent or agents.get(name, ""), name)

        self.timeline = Timeline(
            (state._replace(session=known(state.session)) for state in states),
            (sign._replace(session=known(sign.session)) for sign in signs),
            reports,
        )

    @classmethod
    def of(cls, catalog: Catalog, checkpoint: Checkpoint) -> RecordedHistory:
        """The history of the worktree of a checkpoint, as recorded here or by its remote."""
        remote, key = checkpoint.remote, checkpoint.meta.worktree_key
        if remote:
            below = [f"{REMOTES}{remote}/", f"{REMOTE_TURN_ENDS}{remote}/"]
            # A remote's name may be the prefix of another one.
            refs = [r for r in catalog.store.refs(*below) if r.name.removesuffix(r.id) in below]
        else:
            refs = catalog.store.refs(CHECKPOINTS, ARCHIVE, SAFETY, TURN_ENDS, EDITS)
        entries: dict[str, Checkpoint] = {}
        for entry in catalog.entries(refs):
            if isinstance(entry, Unusable) or entry.meta.worktree_key != key:
                continue
            identifier = entry.meta.text("id")
            # An archived checkpoint may also be in the log.
            if ID.fullmatch(identifier):
                entries.setdefault(identifier, entry)
        states = () if remote else _tool_states(catalog, key)
        here = catalog.is_ours(checkpoint) and not remote
        turns = read_turns(catalog.repository.state_dir) if here else []
        return cls(catalog, [*entries.values(), *states], reporting_agents(turns))

    @classmethod
    def all(cls, catalog: Catalog) -> list[RecordedHistory]:
        """Those of all worktrees, as recorded here; then those fetched, without what is here."""
        local = catalog.store.refs(CHECKPOINTS, ARCHIVE, SAFETY, TURN_ENDS, EDITS)
        fetched = catalog.store.refs(REMOTES, REMOTE_TURN_ENDS)
        found: dict[tuple[str, str], dict[str, Checkpoint]] = {}
        known: set[str] = set()
        for refs in (local, fetched):
            for entry in catalog.entries(refs):
                identifier = "" if isinstance(entry, Unusable) else entry.meta.text("id")
                if isinstance(entry, Unusable) or not ID.fullmatch(identifier):
                    continue
                place = entry.ref.removeprefix(REMOTES).removeprefix(REMOTE_TURN_ENDS)
                remote = place.rpartition("/")[0] if refs is fetched else ""
                if not remote:
                    known.add(identifier)
                if not remote or identifier not in known:
                    key = (remote, entry.meta.worktree_key)
                    found.setdefault(key, {}).setdefault(identifier, entry)
        tools: dict[str, list[Checkpoint]] = {}
        if catalog.store.refs(TOOL_STATES, newest=1):
            tools = {key: [*_tool_states(catalog, key)] for remote, key in found if not remote}
        return [
            cls(catalog, [*entries.values(), *([] if remote else tools.get(key, []))])
            for (remote, key), entries in found.items()
        ]

    def work_of(self, turn: Turn, now: Callable[[], str]) -> TurnWork:
        """What a turn changed; `turn` is as it would be if no other turn had been open."""
        timeline, name = self.timeline, turn.checkpoint.id
        span = timeline.spans.get(name)
        if span is None:
            return _undivided(turn)
        inside = timeline.states[span.first + 1 : span.last]
        if not timeline.overlaps(name) and all(state.kind != RESTORE for state in inside):
            return _undivided(turn)
        end, after = NOW, ""
        if span.last < len(timeline.states):
            last = timeline.states[span.last]
            end, after = _ENDS[last.kind], self._entries[last.id].commit.id
        elif turn.end == NOW:
            after = turn.after
        elif turn.checkpoint.ref.startswith(CHECKPOINTS) and self.catalog.is_ours(turn.checkpoint):
            after = now()
        turn = turn._replace(end=end if after else "", after=after)
        if not after:
            return TurnWork(turn, (), {})
        sum_up = _Sum(self, turn)
        for interval in range(span.first, span.last):
            sum_up.add(interval, timeline.share(name, interval))
        with_shared = tuple(sum_up.with_shared) if sum_up.shared else ()
        return TurnWork(turn, tuple(sum_up.steps), sum_up.shared, with_shared)

    def commit(self, number: int) -> str:
        """The commit of a state by its number."""
        return self.state(number).commit.id

    def state(self, number: int) -> Checkpoint:
        """The checkpoint or other entry that records a state, by the state's number."""
        return self._entries[self.timeline.states[number].id]

    def changes(self, number: int, after: str) -> list[tuple[Change, str]] | None:
        """What changed after a state up to another one, each with the state to compare with.

        What a restore did is left out. None if that is unknown.
        """
        before, git = self.commit(number), self.git
        changed = tree_changes(git, before, after)
        restore = self._restores.get(self.timeline.states[number].id)
        if restore is None:
            return [(change, before) for change in changed]
        plan = read_plan(restore)
        request, target = plan.request, plan.target_commit
        if plan.kind and not request.files:
            return [(change, before) for change in changed]
        if not target:
            return None
        try:
            differing = {change.path: change for change in tree_changes(git, target, after)}
            if request.only is not None:
                restored = set(request.only)
            elif request.paths:
                directory = os.path.join(self.catalog.repository.worktree, request.prefix)
                found = tree_changes(git.bind(cwd=directory), before, after, request.paths)
                restored = {change.path for change in found}
            else:
                restored = {change.path for change in changed}
        except (GitError, OSError):
            # The target or the directory is gone.
            return None
        own = [(change, before) for change in changed if change.path not in restored]
        own += [
            (differing[change.path], target)
            for change in changed
            if change.path in restored and change.path in differing
        ]
        return own

    def restored_from(self, number: int) -> list[str]:
        """The commits from which a restore, revert or pick after a state took files."""
        restore = self._restores.get(self.timeline.states[number].id)
        plan = read_plan(restore) if restore else None
        if plan is None or plan.step is None:
            return [plan.target_commit] if plan and plan.target_commit else []
        if plan.step.command != PICK:
            begun = (self._begins.get(turn) for turn in plan.step.turns)
            return [entry.commit.id for entry in begun if entry]
        ends = (state for state in self.timeline.states if state.kind == END)
        return [self._entries[s.id].commit.id for s in ends if s.turn in plan.step.turns]

    def begin(self, turn: str) -> Checkpoint:
        """The checkpoint at which a turn began."""
        return self._begins[turn]

    def edit(self, identifier: str) -> Checkpoint:
        """An edit record by its id."""
        return self._edits[identifier]


class _Sum:
    """Adds up what one turn changed, interval by interval."""

    def __init__(self, history: RecordedHistory, turn: Turn) -> None:
        self.steps: list[WorkStep] = []
        self.with_shared: list[WorkStep] = []
        self.shared: dict[str, tuple[str, ...]] = {}
        self._history = history
        self._turn = turn
        # By the bytes of a file and its path, the blob that git stores.
        self._stored: dict[tuple[str, str], str] = {}

    def add(self, interval: int, share: Share) -> None:
        """Add an interval after a state, by the state's number."""
        if share.is_none:
            return
        history, states = self._history, self._history.timeline.states
        before, after = history.commit(interval), self._turn.after
        if interval + 1 < len(states):
            after = history.commit(interval + 1)
        if share.is_whole and states[interval].kind != RESTORE:
            self._join(WorkStep(before, after))
            return
        changes = history.changes(interval, after)
        if changes is None:
            changes = [(change, before) for change in tree_changes(history.git, before, after)]
            share = Share(UNCLEAR, beside=(states[interval].id,))
        self._add_paths(changes, after, share)

    def _add_paths(self, changes: list[tuple[Change, str]], after: str, share: Share) -> None:
        """Add the paths that are the turn's, or unclear; each comes with the state before."""
        mine: dict[str, list[str]] = {}
        edited: set[str] = set()
        for change, start in changes:
            owner, path = self._owner(change, share), change.path
            if owner == MINE:
                mine.setdefault(start, []).append(path)
            elif owner == UNCLEAR:
                known = self.shared.get(path, ())
                self.shared[path] = tuple(dict.fromkeys((*known, *share.beside)))
                self.with_shared.append(WorkStep(start, after, (f"{TOP}{path}",)))
            elif owner == _EDITED:
                edited.add(path)
        for start, paths in mine.items():
            self._join(WorkStep(start, after, tuple(f"{TOP}{path}" for path in paths)))
        for edit in share.edits:
            self._add_edit(edit, edited.intersection(edit.paths))

    def _owner(self, change: Change, share: Share) -> str:
        """As `Share.owner`, or _EDITED if only the records of edits show what is the turn's."""
        owner = share.owner(change.path)
        theirs = [edit for edit in share.their_edits if change.path in edit.paths]
        if owner == OTHERS and theirs and not self._is_of_edits(change, theirs):
            # The tool of this turn may have changed it as well.
            return UNCLEAR
        edits = [edit for edit in share.edits if change.path in edit.paths]
        if owner == MINE or not edits:
            return owner
        if change.path not in share.theirs | share.unclear and self._is_of_edits(change, edits):
            return MINE
        # Records have the bytes of files, and git may store others.
        return UNCLEAR if self._is_converted(edits[0], change.path) else _EDITED

    def _is_of_edits(self, change: Change, edits: list[Sign]) -> bool:
        """Whether nothing but some edits changed a path in an interval."""
        sides = [self._blobs(edit, change.path) for edit in edits]
        if any(old[1] != new[0] for old, new in pairwise(sides)):
            return False
        ends = ((sides[0][0], change.old_id), (sides[-1][1], change.id))
        return all(
            recorded == (stored if stored.strip("0") else "")
            or self._converted(recorded, change.path) == stored
            for recorded, stored in ends
        )

    def _is_converted(self, edit: Sign, path: str) -> bool:
        """Whether git stores other bytes of a file than an edit recorded."""
        return any(self._converted(blob, path) != blob for blob in self._blobs(edit, path))

    def _blobs(self, edit: Sign, path: str) -> tuple[str, str]:
        """The blobs of a path before and after an edit; empty for no file."""
        for row in self._history.edit(edit.id).meta.tables("files"):
            before, after = (str(row.get(key) or "") for key in ("before", "after"))
            if path == row.get("path"):
                return ("" if row.get("from") else before, after)
            if path == row.get("from"):
                return (before, "")
        return ("", "")

    def _converted(self, blob: str, path: str) -> str:
        """The blob that git stores for the bytes of another one in a file."""
        if not blob:
            return ""
        if (blob, path) not in self._stored:
            history = self._history
            (content,) = history.catalog.store.blobs([blob])
            if content is None:
                raise FatalError(
                    f"checkpoint '{self._turn.checkpoint.id}' is incomplete: an edit in its turn "
                    f"recorded '{path}' as {blob}, which is missing",
                    code="missing_objects",
                    hints=("list the missing objects with: git fsck",),
                )
            arguments = ("hash-object", "--stdin", f"--path={path}")
            self._stored[blob, path] = history.git.line(*arguments, stdin=content)
        return self._stored[blob, path]

    def _add_edit(self, edit: Sign, paths: set[str]) -> None:
        """Add what an edit record says of some paths that others changed as well."""
        catalog, record = self._history.catalog, self._history.edit(edit.id)
        sides = catalog.store.tree(record.commit.tree, ["before", "after"])
        empty = catalog.repository.empty_tree
        before, after = (sides[s].id if s in sides else empty for s in ("before", "after"))
        if paths:
            step = WorkStep(before, after, tuple(f"{TOP}{path}" for path in sorted(paths)))
            self.steps.append(step)
            self.with_shared.append(step)

    def _join(self, step: WorkStep) -> None:
        self.with_shared.append(step)
        last = self.steps[-1] if self.steps else None
        if last and last.after == step.before and last.paths == step.paths:
            step = step._replace(before=self.steps.pop().before)
        self.steps.append(step)


def _tool_states(catalog: Catalog, worktree: str) -> Iterator[Checkpoint]:
    """The states around tool calls in a worktree."""
    here, begun = [], []
    for entry in catalog.entries(catalog.store.refs(TOOL_STATES)):
        if isinstance(entry, Unusable) or entry.meta.worktree_key != worktree:
            continue
        since = entry.meta.part("tool", "since") or ""
        if OBJECT_ID.fullmatch(since):
            here.append(entry.commit.id)
            begun.append(f"^{since}")
    if not here:
        return
    command = ("rev-list", "--first-parent", "--ignore-missing", "--stdin")
    listing = catalog.repository.git.attempt(*command, stdin=id_lines((*here, *begun)))
    ids = os.fsdecode(listing.stdout).split()
    refs = [Ref(f"{TOOL_STATES}{identifier}", identifier) for identifier in ids]
    for entry in catalog.entries(refs):
        if not isinstance(entry, Unusable):
            yield entry


def _state(entry: Checkpoint) -> RecordedState | None:
    """The state that an entry records; None if it is not one of the whole worktree."""
    meta, identifier = entry.meta, entry.meta.text("id")
    session = session_of(meta)
    if entry.ref.startswith(SAFETY):
        # The change of a proposal ends no turn.
        is_restore = not meta.table("restore").get("proposal")
        return RecordedState(identifier, RESTORE) if is_restore else None
    beside, reports = (texts_of(meta, key) for key in ("beside", "reports_tools"))
    if entry.ref.startswith((REMOTES, REMOTE_TURN_ENDS)):
        # The states around its tool calls stay where they were recorded.
        reports = ()
    if entry.ref.startswith((TURN_ENDS, REMOTE_TURN_ENDS)):
        end = RecordedState(identifier, END, session, meta.text("turn"))
        return end._replace(beside=beside, reports=reports)
    if entry.ref.startswith(TOOL_STATES):
        tool = meta.table("tool")
        kind = _KINDS.get(str(tool.get("phase")))
        files = tool.get("files")
        if kind is None:
            return None
        call, name = (meta.part("tool", key) or "" for key in ("call", "name"))
        paths = tuple(map(str, files)) if isinstance(files, list) else ()
        return RecordedState(
            identifier, kind, session, meta.text("turn"), call, name, paths, beside
        )
    if only_paths(entry) != ():
        return None
    return RecordedState(identifier, BEGIN, session, entry.id, beside=beside, reports=reports)


def _sign_of_edit(entry: Checkpoint) -> Sign:
    rows = entry.meta.tables("files")
    paths = (row.get(key) for row in rows for key in ("path", "from"))
    named = tuple(path for path in paths if isinstance(path, str))
    return Sign(entry.meta.text("id"), session_of(entry.meta), named)
