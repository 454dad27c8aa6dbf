"""Revert and pick: take back what turns did, or do it here, and keep everybody else's work.

Each path that a turn changed is merged three-way with the file as it is now; see `turn_merge`. It
is carried out as a restore of these paths, so that undo and redo concern nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.agents.registry import find_agent
from git_boocode.checkpoints.operation_log import TurnStates, reverted_turns
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.request import (
    PICK,
    REVERT,
    RUNNING_TURN,
    RestoreRequest,
    TurnStep,
    WantedPaths,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_work import TurnWork, path_steps, works_of
from git_boocode.checkpoints.turns import (
    NOW,
    RECORDED,
    TOP,
    CurrentTree,
    RecordedStates,
    Turn,
    end_is_unknown,
    turn_around,
    turns,
)
from git_boocode.checkpoints.worktree.pathspecs import Pathspecs, checked_pathspecs, is_excluding
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.editing.answer import file_json
from git_boocode.editing.edits import DEFAULT_ENCODING, EditedFile
from git_boocode.editing.text_changes import without_hunk
from git_boocode.editing.textfile import decode
from git_boocode.repo.entries import Metadata, MetadataError
from git_boocode.repo.errors import (
    ArgumentError,
    NextStep,
    RefusedError,
    first_few,
    refuse_combined,
    refuse_unknown,
    shell_command,
    shortened,
    step_that,
)
from git_boocode.repo.layout import SAFETY
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.reported_turn import open_beside
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import known_turns
from git_boocode.repo.store import ShortIds
from git_boocode.workflows.other_sessions import begins_no_turn
from git_boocode.workflows.restore_parts import LISTED, ChangedFile, only_file
from git_boocode.workflows.restore_with_edits import restore_host
from git_boocode.workflows.turn_conflicts import TurnConflict, pathspecs_without, refusal_of
from git_boocode.workflows.turn_hunks import changed_files, with_hunks_only
from git_boocode.workflows.turn_merge import Merged, MergeOptions, merge_turns

SHARED = "shared"
NO_TURN = "no turn given"
REFUSALS = (SHARED, RUNNING_TURN)
"""The refusals that `force` can override."""
_SEARCHED = 50  # turns among which the one is that ended last
_LEAST_CHARACTERS, _SHOWN = 4, 5  # of the beginning of a session's id; of such sessions
_ROUNDS = 8  # of trying whether later turns are in the way of these as well


class TakeBackRequest(NamedTuple):
    """What to revert or pick, and how.

    Without turns, session and agent, it is the turn that ended last. `hunks` are the numbers of the
    only hunks by path, of those that a dry run of some paths lists; None for everything. Conflicts
    do not matter then: no hunk is of lines that conflict. `versions` are those of the files when
    the hunks were listed. `markers` leaves conflict markers where others changed the same lines.
    `buffers` are the texts of an editor by path, which are merged instead of the files, and are not
    written.
    """

    turns: tuple[str, ...] = ()
    session: str = ""
    agent: str = ""
    paths: tuple[str, ...] = ()  # pathspecs from the caller's directory; empty for all
    hunks: Mapping[str, Collection[int]] | None = None
    versions: Mapping[str, str] = MappingProxyType({})
    dry_run: bool = False
    diff: bool = False
    markers: bool = False
    force: frozenset[str] = frozenset()
    buffers: Mapping[str, bytes] = MappingProxyType({})

    def typed(self, command: str, turns: Sequence[str], *more: str) -> str:
        """The command line that does it with some turns, and with more options."""
        options = [*more, *(["--merge", "--markers"] if self.markers else [])]
        options += [word for each in sorted(self.force) for word in ("--force", each)]
        paths = ["--", *self.paths] if self.paths else []
        return shell_command("git", "boocode", command, *turns, *options, *paths)

    def unresolved(self, merged: Merged) -> list[TurnConflict]:
        """The conflicts that are in the way; others are marked."""
        return [each for each in merged.conflicts if each.is_whole or not self.markers]

    def checked(self) -> TakeBackRequest:
        """This request, if its arguments fit together (ArgumentError)."""
        refuse_combined(session=self.session, turns=self.turns)
        refuse_combined(agent=self.agent, turns=self.turns)
        refuse_combined(hunks=self.hunks is not None, markers=self.markers)
        refuse_unknown("force", sorted(self.force), REFUSALS)
        return self


class TakenBack(NamedTuple):
    """What a revert or a pick did, or would do.

    `files` are the changed files with their hunks, as far as these were asked for.
    """

    command: str
    turns: tuple[Checkpoint, ...]  # in the order in which they were merged
    merged: Merged
    result: RestoreResult
    files: tuple[ChangedFile, ...] = ()

    @property
    def buffers(self) -> list[EditedFile]:
        """The changed buffers, now and as they are to be."""
        written = {file.path for file in self.merged.wanted.files}
        texts = self.merged.texts.items()
        return [_edited(path, *both) for path, both in texts if path not in written]

    def as_json(self, encoding: str = DEFAULT_ENCODING) -> dict[str, object]:
        """The JSON answer; `encoding` is the one of the positions in text edits."""
        result = self.result
        hunks = {file.path: file.as_json() for file in self.files if file.hunks}
        changed = [{**each.as_json(), **hunks.get(each.path, {})} for each in result.changed]
        for buffer in self.buffers:
            values = file_json(buffer, encoding)
            del values["edits"], values["changed"], values["version"]
            changed.append({**values, **hunks.get(buffer.path, {})})
        conflicts = [each.as_json() for each in self.merged.conflicts]
        return {
            "ok": True,
            "turns": [turn.id for turn in self.turns],
            "undo": result.undo,
            "dry_run": result.dry_run,
            "changed": changed,
            "staged": [change.as_json() for change in result.staged],
            "kept": [kept._asdict() for kept in result.kept],
            **({"conflicts": conflicts} if conflicts else {}),
            **({"diff": result.diff} if result.diff else {}),
        }


def _edited(path: str, now: bytes | None, new: bytes | None) -> EditedFile:
    """A changed buffer; None for no file."""
    old, text = (None if side is None else decode(side) for side in (now, new))
    action = "create" if old is None else "modify" if text else "delete"
    changes = old != text
    return EditedFile(path, action, None, changes, old, text, (), in_buffer=True)


def take_back(repository: Repository, command: str, request: TakeBackRequest) -> TakenBack:
    """Carry out REVERT or PICK.

    Raises:
        RefusedError: nothing was changed: a turn does not exist (`not_found`), others have changed
            the same lines (`conflict`), it is uncertain whose change it is (`shared`), a turn is
            running (`locked`), or what `restore` refuses.
        FatalError: as for a restore.
    """
    catalog = Catalog(repository)
    chosen = chosen_turns(repository, command, request)
    specs = checked_pathspecs(repository, request.paths)
    found: Merged | None = None
    files: list[ChangedFile] = []
    is_part = request.hunks is not None

    def make(snapshot: Snapshot) -> WantedPaths:
        nonlocal found, files

        options = MergeOptions(
            forwards=command == PICK,
            pathspecs=specs,
            markers=request.markers,
            force_shared=SHARED in request.force,
            buffers=request.buffers,
            typed=partial(request.typed, REVERT),
        )

        def merge(turns: Sequence[Checkpoint]) -> Merged:
            works = _known(catalog, turns, snapshot)
            merged = merge_turns(repository, snapshot, works, options)
            _refuse_unmatched(repository, works, specs, merged)
            return merged

        found = merge(chosen)
        if not is_part and (conflicts := request.unresolved(found)):
            later = list[str]()
            if command == REVERT:
                _refuse_reverted(catalog, chosen, request)
                later = _with_later(catalog, request, chosen, conflicts, merge)
            ways_out = [*_ways_out(repository, command, request, found, (chosen, later))]
            has_hunks = any(changed_files(repository, snapshot, found, command))
            if has_hunks and not all(each.is_whole for each in conflicts):
                some = "{} takes only some hunks"
                ways_out.append(NextStep(some, "hunk", typed="-p or --hunk <n>"))
            raise refusal_of(repository, conflicts, ways_out)
        lists_hunks = request.dry_run and request.paths and len(found.wanted.files) <= LISTED
        if is_part or lists_hunks:
            files = [*changed_files(repository, snapshot, found, command)]
        if request.hunks is not None:
            versions = request.versions
            found = with_hunks_only(repository, snapshot, found, files, request.hunks, versions)
        return found.wanted

    step = TurnStep(command, tuple(each.id for each in chosen), not (specs or is_part))
    asked = RestoreRequest(dry_run=request.dry_run, diff=request.diff, force=request.force)
    result = commands.change_paths(repository, step, make, asked, restore_host(repository))
    assert found is not None
    return TakenBack(command, tuple(chosen), found, result, tuple(files))


def _with_later(
    catalog: Catalog,
    request: TakeBackRequest,
    chosen: Sequence[Checkpoint],
    conflicts: Sequence[TurnConflict],
    merge: Callable[[Sequence[Checkpoint]], Merged],
) -> list[str]:
    """The ids of the chosen turns and of later ones with which they can be reverted, newest first.

    Empty if there are none such, because something was changed by hand.
    """
    ids = {each.id for each in chosen}
    for _ in range(_ROUNDS):
        writers = {turn for each in conflicts for turn, _ in each.by}
        if None in writers or writers <= ids:
            return []
        ids |= {turn for turn in writers if turn}
        turns = sorted(ids, reverse=True)
        if len(conflicts) > LISTED:
            # It would take long to try.
            return turns
        try:
            conflicts = request.unresolved(merge([catalog.find(each) for each in turns]))
        except RefusedError:
            return []
        if not conflicts:
            return turns
    return turns


def _ways_out(
    repository: Repository,
    command: str,
    request: TakeBackRequest,
    found: Merged,
    turns: tuple[Sequence[Checkpoint], Sequence[str]],
) -> Iterator[str]:
    """The hints at commands that leave no conflict; of `turns`, the latter are with later ones."""
    chosen, later = turns
    if later:
        which = "the later turn" if len(later) == len(chosen) + 1 else "the later turns"
        typed = request.typed(command, later)
        yield step_that(f"reverts {which} as well", typed, command, " ".join(later))
    conflicts = request.unresolved(found)
    others = found.texts.keys() | {file.path for file in found.wanted.files}
    if any(each.is_whole for each in conflicts) and others - {each.path for each in conflicts}:
        paths = (*pathspecs_without(repository, conflicts, request.paths),)
        typed = request._replace(paths=paths).typed(command, [each.id for each in chosen])
        text = f"leave {'them' if conflicts[1:] else 'it'} out: {{}}"
        yield NextStep(text, "paths", typed=typed, given={"paths": [*paths]})


def _refuse_reverted(
    catalog: Catalog, chosen: Sequence[Checkpoint], request: TakeBackRequest
) -> None:
    """Refuse turns that are reverted, which nobody wants to merge with what came since."""
    reverted = reverted_turns(catalog.safety())
    again = [each.id for each in chosen if each.id in reverted]
    if not again:
        return
    named = first_few([*map(ShortIds(catalog.store), again)], _SHOWN)
    turns, it = (f"the turns {named} are", "them") if again[1:] else (f"turn {named} is", "it")
    typed = request.typed(PICK, again)
    hints = [step_that(f"brings {it} back", typed, PICK, " ".join(again))]
    if others := [each.id for each in chosen if each.id not in reverted]:
        typed = request.typed(REVERT, others)
        hints.append(step_that("reverts the others", typed, REVERT, " ".join(others)))
    raise RefusedError(f"{turns} already reverted", code="already_applied", hints=(*hints,))


def no_turn_given(last: Checkpoint, typed: str) -> RefusedError:
    """The error where nobody can be asked about the turn that ended last; `typed` reverts it."""
    label = shortened(" ".join(last.meta.shown("label").split()))
    about = f", '{label}'" if label else ""
    hint = step_that("reverts the turn that ended last", typed, REVERT, last.id, about)
    return RefusedError(NO_TURN, code="invalid_input", hints=(hint,))


def take_back_hunks(
    repository: Repository,
    command: str,
    request: TakeBackRequest,
    numbers: Collection[int],
    expect: str = "",
) -> TakenBack:
    """Carry out REVERT or PICK of some hunks of the only file that the request would change.

    `expect` is the version of the file when its hunks were listed. UsageError if several files
    would change; else as `take_back`.
    """
    listed = take_back(repository, command, request._replace(dry_run=True, hunks={}))
    turns = tuple(turn.id for turn in listed.turns)
    if not listed.files:
        conflicts = [each.path for each in listed.merged.conflicts]
        raise RefusedError(
            f"no part of '{conflicts[0]}' can be merged" if conflicts else "no file would change",
            code="conflict" if conflicts else "not_found",
            hints=(without_hunk(f"see what {command} does"),),
        )
    file = only_file(repository, (command, *turns), listed.files, numbers)
    chosen = request._replace(turns=turns, session="", agent="", hunks={file.path: numbers})
    versions = {file.path: expect or file.version}
    return take_back(repository, command, chosen._replace(versions=versions))


def _known(catalog: Catalog, turns: Sequence[Checkpoint], snapshot: Snapshot) -> Sequence[TurnWork]:
    works = works_of(catalog, turns, lambda: snapshot.tree)
    for turn, work in zip(turns, works, strict=True):
        if not work.turn.after:
            raise end_is_unknown(catalog, turn)
    return works


def _refuse_unmatched(
    repository: Repository, works: Sequence[TurnWork], specs: Sequence[str], found: Merged
) -> None:
    """Refuse a pathspec that matches nothing that the turns changed."""
    wanted = [spec for spec in specs if not is_excluding(spec)]
    seen = {file.path for file in found.wanted.files} | {path for path, _ in found.wanted.kept}
    for spec in wanted:
        named = Pathspecs(repository.worktree, repository.prefix, [spec])
        if any(named.name(path, or_top=True) for path in seen) or _changed(repository, works, spec):
            continue
        turns = "turn" if len(works) == 1 else "turns"
        changed = sorted(_changed(repository, works))
        top = os.path.join(repository.worktree, repository.prefix)
        paths = [os.path.relpath(os.path.join(repository.worktree, each), top) for each in changed]
        which = f"changed {first_few(paths, _SHOWN)}" if paths else "changed no file"
        raise RefusedError(
            f"pathspec '{spec.removeprefix(TOP)}' did not match any file that the {turns} changed",
            code="not_found",
            hints=(f"the {turns} {which}",),
            details={"pathspec": spec},
        )


def _changed(repository: Repository, works: Sequence[TurnWork], *specs: str) -> set[str]:
    """The paths that turns changed, alone or with others."""
    whole = (work._replace(steps=work.with_shared or work.steps) for work in works)
    return {path for work in whole for path in path_steps(repository, work, specs)}


# Which turns.


class _TurnCatalog(Catalog):
    """The checkpoints of a repository, to look up turns."""

    listing_hint = NextStep("{} lists the turns", "log", typed="'git boocode log'")


def chosen_turns(
    repository: Repository, command: str, request: TakeBackRequest
) -> list[Checkpoint]:
    """The turns to merge, in order: to revert the newest first, to pick the oldest first."""
    catalog = _TurnCatalog(repository)
    if request.turns:
        found = [catalog.find(name) for name in request.turns]
    elif request.session or request.agent:
        found = _turns_of(catalog, request)
    elif command == PICK:
        raise ArgumentError(f"{NO_TURN}: {{}} are missing", "turns")
    else:
        found = [_ended_last(catalog)]
    for each in found:
        _refuse_other(catalog, command, each, request)
    by_id = {each.id: each for each in found}
    return [by_id[identifier] for identifier in sorted(by_id, reverse=command == REVERT)]


def _turns_of(catalog: Catalog, request: TakeBackRequest) -> list[Checkpoint]:
    """The turns of a session, an agent, or both that are not reverted."""
    agent = find_agent(request.agent)
    names = {request.agent, agent.name if agent else request.agent}
    reverted = reverted_turns(catalog.safety())
    history = [*catalog.history()]
    session = _session_named(history, request.session)
    found = [
        each
        for each in history
        if session in ("", each.meta.text("session"))
        and (not request.agent or each.meta.text("agent") in names)
        and each.id not in reverted
        and not begins_no_turn(each)
    ]
    if not found:
        suffices = ("the beginning of a session's id suffices",) if request.session else ()
        whose = f"session '{request.session}'" if request.session else f"agent '{request.agent}'"
        raise RefusedError(
            f"there is no turn of {whose} to revert in this worktree",
            code="not_found",
            hints=(*suffices, catalog.listing_hint),
        )
    return found


def _session_named(history: Sequence[Checkpoint], name: str) -> str:
    """The session with this id, or else the only one whose id begins so, as the log shows it."""
    known = {each.meta.text("session") for each in history}
    matching = sorted(each for each in known if each.startswith(name))
    if name in known or len(name) < _LEAST_CHARACTERS or not matching:
        return name
    if len(matching) > 1:
        raise RefusedError(
            f"session '{name}' is ambiguous: it matches {len(matching)} sessions",
            code="ambiguous",
            hints=(f"candidates: {first_few(matching, _SHOWN)}",),
        )
    return matching[0]


def _ended_last(catalog: Catalog) -> Checkpoint:
    """The turn of this worktree that ended last and is in force.

    One that an agent has begun and not ended is still running.
    """
    triggers = restore_host(catalog.repository).turn_triggers
    recorded = RecordedStates(catalog)
    states = TurnStates(catalog, recorded)
    # A turn that goes on needs only to be known as such.
    found = [
        turn
        for turn in islice(
            turns(catalog, catalog.history(), lambda: NOW, recorded=recorded), _SEARCHED
        )
        if not (states.of(turn.checkpoint) or turn.paths or turn.checkpoint.in_turn)
    ]
    ends = dict(_ends(catalog, found))
    ended: list[tuple[str, str, Checkpoint]] = []
    running = open_beside(known_turns(catalog.repository.state_dir), "", "")
    for turn in found:
        meta = turn.checkpoint.meta
        if turn.checkpoint.id in running and turn.end != RECORDED:
            # Another turn began beside it.
            continue
        if turn.end == NOW and meta.text("trigger") in triggers.get(meta.text("agent"), ()):
            continue
        if turn.end == NOW and _tree_now(catalog.repository) == turn.checkpoint.tree:
            # A checkpoint taken just before, to be safe.
            continue
        # An id is greater than all earlier ones.
        ended.append((ends.get(turn.after, "~"), turn.checkpoint.id, turn.checkpoint))
    if not ended:
        message = "no turn of this worktree has ended that could be reverted"
        raise RefusedError(message, code="not_found", hints=(catalog.way_to_latest(),))
    return max(ended, key=lambda each: each[:2])[2]


def _tree_now(repository: Repository) -> str:
    with temporary_objects(repository):
        return CurrentTree(repository)()


def _ends(catalog: Catalog, found: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """The ids of the states at which turns ended, by their commits."""
    commits = [turn.after for turn in found if turn.end != NOW and turn.after]
    for identifier, commit in zip(commits, catalog.store.commits(commits), strict=True):
        with suppress(MetadataError):
            yield identifier, Metadata.parse(commit.message).text("id") if commit else ""


def _refuse_other(
    catalog: Catalog, command: str, checkpoint: Checkpoint, request: TakeBackRequest
) -> None:
    """Refuse what began no turn, and to revert what was done in another worktree."""
    if begins_no_turn(checkpoint):
        raise _no_turn(catalog, command, checkpoint, request)
    if checkpoint.ref.startswith(SAFETY):
        name = ShortIds(catalog.store)(checkpoint.id)
        raise RefusedError(
            f"'{name}' is the state before a restore, not a turn",
            code="not_found",
            hints=(catalog.listing_hint,),
        )
    if command == PICK or checkpoint.remote or catalog.is_ours(checkpoint):
        return
    name = ShortIds(catalog.store)(checkpoint.id)
    where = checkpoint.meta.part("worktree", "path") or checkpoint.meta.worktree_name
    there = shell_command("git", "-C", where, "boocode", REVERT, checkpoint.id)
    raise RefusedError(
        f"turn '{name}' was done in another worktree: '{where}'",
        code="other_worktree",
        hints=(
            NextStep(
                "revert it there: {}",
                REVERT,
                typed=there,
                given={"turns": [checkpoint.id], "cwd": where},
            ),
        ),
    )


def _no_turn(
    catalog: Catalog, command: str, checkpoint: Checkpoint, request: TakeBackRequest
) -> RefusedError:
    turn = turn_around(catalog, checkpoint)
    name = ShortIds(catalog.store)
    where = f"in the turn {name(turn.id)}" if turn else "of an agent"
    hint = catalog.listing_hint
    if turn:
        typed = request.typed(command, [turn.id])
        hint = step_that(f"{command}s that turn", typed, command, turn.id)
    what = "was taken" if checkpoint.in_turn else "is the state before a tool"
    return RefusedError(
        f"'{name(checkpoint.id)}' {what} {where}",
        code="not_found",
        hints=(hint,),
    )
