"""Restore, undo and redo with all that they use: agents, proposals, and a callback's edits.

Also what is said of restores and edits that were killed half-way.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.agents.agent import HOOKS, SERVER, transcript_directories, xdg_directory
from git_boocode.agents.own_hooks import has_own
from git_boocode.agents.registry import AGENTS, SERVER_AGENTS, find_agent
from git_boocode.checkpoints.callback import AgentCallback, CallbackAnswer
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.plan import read_plan
from git_boocode.checkpoints.restore.request import (
    RESTORE,
    HookFile,
    HostFile,
    KeepOriginals,
    RestoreHost,
    RestoreRequest,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.proposals.proposal import EarlierStates
from git_boocode.repo.atomic_write import (
    ChangedMeanwhileError,
    FileChange,
    Journal,
    Target,
    WriteStep,
    write_files,
)
from git_boocode.repo.errors import BoocodeError, FatalError, NextStep, RefusedError, shell_command
from git_boocode.repo.files import mode_only, read_state
from git_boocode.repo.layout import EDIT_NOTE, EDITS, SAFETY
from git_boocode.repo.lock import CALLING, INSIDE_RESTORE, interrupted_restore, worktree_lock
from git_boocode.repo.open_files import OpenIn, programs_with
from git_boocode.repo.repository import Repository
from git_boocode.workflows.other_sessions import with_other_sessions

if TYPE_CHECKING:
    from git_boocode.editing.edits import Failure
    from git_boocode.editing.recovery import Interrupted

_REFUSED_FOR_LATER = ("not_found", "newer_turns", "later_changes")
_NEW_FILE = 0o600
# Not even what an agent would take for an option.
_SESSION = "[0-9A-Za-z_][0-9A-Za-z_.:-]*"


def restore(repository: Repository, name: str, request: RestoreRequest) -> RestoreResult:
    """See `git_boocode.checkpoints.restore.commands.restore`."""
    result = commands.restore(repository, name, request, restore_host(repository))
    return _reported(repository, result, request)


def undo(repository: Repository, request: RestoreRequest) -> RestoreResult:
    """See `git_boocode.checkpoints.restore.commands.undo`.

    If an accept was killed while writing, its temporary files are removed first.
    """
    if not request.dry_run:
        _end_killed_accept(repository)
    with _rewind_hint(repository):
        result = commands.undo(repository, request, restore_host(repository))
        return _reported(repository, result, request)


def redo(repository: Repository, request: RestoreRequest) -> RestoreResult:
    """See `git_boocode.checkpoints.restore.commands.redo`."""
    with _rewind_hint(repository):
        result = commands.redo(repository, request, restore_host(repository))
        return _reported(repository, result, request)


def repair(repository: Repository) -> RestoreResult | None:
    """See `git_boocode.checkpoints.restore.commands.repair`."""
    return commands.repair(repository, RestoreRequest(), restore_host(repository))


def _end_killed_accept(repository: Repository) -> None:
    # Nearly always nothing is noted, so looking must not load what reads it.
    if not os.path.lexists(os.path.join(repository.state_dir, EDIT_NOTE)):
        return
    from git_boocode.editing.recovery import interrupted_edit
    from git_boocode.editing.recovery import repair as repair_edit
    from git_boocode.editing.workspace import LOCK_PATIENCE

    latest = next(iter(Catalog(repository).safety()), None)
    if latest is None or read_plan(latest).proposal is None:
        return
    with worktree_lock(repository.state_dir, shared=False, patience=LOCK_PATIENCE):
        # The lock shows that it was killed.
        if (found := interrupted_edit(repository)) is not None:
            repair_edit(repository, found)


@contextmanager
def _rewind_hint(repository: Repository) -> Iterator[None]:
    """Name `rewind` in a refusal if an applied edit is newer than restores and turns."""
    try:
        yield
    except RefusedError as error:
        if error.code not in _REFUSED_FOR_LATER or not _is_edit_newest(repository):
            raise
        rewind = NextStep("{} undoes the latest edit", "rewind", typed="'git boocode rewind'")
        hints = (rewind, *error.hints)
        raise RefusedError(
            error.message, code=error.code, hints=hints, details=error.details
        ) from None


def _is_edit_newest(repository: Repository) -> bool:
    catalog = Catalog(repository)
    if not catalog.store.refs(EDITS, newest=1):
        return False
    # Only here, because it takes long to load.
    from git_boocode.editing.records import Records

    edit = next(Records(repository).history(), None)
    others = [each.id for each in (catalog.latest(), *catalog.safety()[:1]) if each]
    return edit is not None and edit.rewinds is None and edit.id > max(others, default="")


# What a restore uses of agents and proposals.


def restore_host(repository: Repository) -> RestoreHost:
    """What a restore in a worktree uses of agents and proposals."""
    hook_files: dict[str, tuple[HookFile, ...]] = {}
    for path, file in _hook_files():
        hook_files[path] = (*hook_files.get(path, ()), file)
    return RestoreHost(
        editor=FileEditor,
        proposals=EarlierStates(repository),
        callbacks=agent_callbacks(),
        transcripts={
            name: transcript_directories(agent)
            for agent in AGENTS.values()
            for name in (agent.name, *agent.aliases)
        },
        turn_triggers={
            agent.name: {agent.turn, agent.older_turn, agent.tool if agent.tool_begins else ""}
            - {""}
            for agent in AGENTS.values()
            if agent.end
        },
        hook_files=hook_files,
    )


def agent_callbacks() -> dict[str, AgentCallback]:
    """The shipped callback of each agent that has one, by the agent's name."""
    data = xdg_directory("XDG_DATA_HOME", os.path.expanduser("~"), ".local/share")
    found = {}
    for agent in AGENTS.values():
        values = agent.callback_environment.items()
        environment = {name: value.replace("{data}", data) for name, value in values}
        if agent.callback:
            store = environment.get("BOOCODE_SQLITE_DATABASE", "")
            found[agent.name] = AgentCallback(agent.callback, environment, store)
    return found


def _hook_files() -> Iterator[tuple[str, HookFile]]:
    """The paths in the worktree that may hold our hooks or our server."""
    for agent in AGENTS.values():
        for scope, path in agent.worktree_paths(HOOKS):
            install = f"git boocode hooks install --agent {agent.name} --{scope}"
            found = partial(has_own, agent, HOOKS)
            yield path, HookFile(f"hooks of {agent.title}", install, found)
    for agent in SERVER_AGENTS.values():
        for scope, path in agent.worktree_paths(SERVER):
            install = f"git boocode serve --install {agent.name} --{scope}"
            found = partial(has_own, agent, SERVER)
            yield path, HookFile(f"server for {agent.title}", install, found)


class FileEditor:
    """Writes files anywhere on disk, because the request comes from the host's own program.

    See `git_boocode.checkpoints.restore.request.Editor`.
    """

    def edit(self, edits: object, base: str, keep: KeepOriginals) -> None:
        """Apply edits as `apply-edit` does."""
        # Imported late, because few callbacks request edits.
        from git_boocode.editing.answer import EditsRefusedError, describe
        from git_boocode.editing.inputs import Source, read_inputs
        from git_boocode.editing.service import Options, apply_inputs
        from git_boocode.editing.workspace import Workspace

        inputs = read_inputs([Source("the answer", json.dumps(edits).encode())])
        prefix = os.path.relpath(base, os.sep).replace(os.sep, "/")
        workspace = Workspace(os.sep, f"{prefix}/", None, from_here=True)
        try:
            apply_inputs(inputs, workspace, Options(record=False, journal=_Keeper(keep)))
        except EditsRefusedError as error:
            failures = map(_located, error.failures)
            reasons = (describe(failure, many=error.edits > 1) for failure in failures)
            raise RefusedError("; ".join(reasons), code=error.code) from None

    def write(self, files: Sequence[HostFile], keep: KeepOriginals) -> None:
        """Write files whose content is still the one before."""
        write_files([_change(file) for file in files], _Keeper(keep))


def _located(failure: Failure) -> Failure:
    # Resolved paths are relative to the root directory; others are reported as given.
    full = os.path.join(os.sep, failure.path or "")
    is_resolved = failure.code == "missing_file" or os.path.lexists(full)
    return failure._replace(path=full) if failure.path and is_resolved else failure


class _Keeper(Journal):
    """Reports the planned writes to a restore, which saves them in order to undo them."""

    def __init__(self, keep: KeepOriginals) -> None:
        self._keep = keep

    def begin(self, files: Sequence[tuple[FileChange, WriteStep]]) -> None:
        """Save all planned writes; the empty directories that a killed process leaves stay."""
        written = []
        for change, step in files:
            mode = stat.S_IMODE(change.before.mode) if change.before else _NEW_FILE
            before = change.before.data if change.before else None
            leftovers = (step.staged, step.backup)
            written.append(HostFile(change.target.real, before, change.after, mode, leftovers))
        self._keep(written)

    def commit(self) -> None:
        """Do nothing: the restore goes on."""


def _change(file: HostFile) -> FileChange:
    target = Target(file.path, file.path, file.path)
    try:
        now = read_state(file.path)
    except RefusedError as error:
        raise FatalError(f"'{file.path}': {error.message}", code=error.code) from None
    if (None if now is None else now.data) != file.before:
        raise ChangedMeanwhileError(target)
    return FileChange(target, now, file.after, now or mode_only(file.mode))


# What is said of it.


def _reported(
    repository: Repository, result: RestoreResult, request: RestoreRequest
) -> RestoreResult:
    result = _resumable(result)
    if result.kind == RESTORE and request.conversation and not request.paths:
        result = replace(result, conversation_note=_unrestored_conversation(result))
    # It is done, so nothing that is said of it besides may fail.
    with suppress(BoocodeError, OSError):
        result = with_other_sessions(repository, result)
    return result


def _resumable(result: RestoreResult) -> RestoreResult:
    """The result with who has the conversation open, and the command that goes on with it.

    Some agents cannot resume a session without messages: if none is left, it starts a new one.
    """
    if result.callback:
        result = replace(result, open_in=tuple(_open_in(result.checkpoint)))
    if result.answer is None:
        return result
    session = result.checkpoint.meta.text("session")
    words = resume_words(result.checkpoint, session, result.answer)
    return replace(result, resume=result.answer.resume or shell_command(*words))


def resume_words(checkpoint: Checkpoint, session: str, answer: CallbackAnswer) -> list[str]:
    """The command with which the agent of a checkpoint goes on with a session; empty if unknown."""
    agent = find_agent(checkpoint.meta.text("agent"))
    words = agent.resume.split() if agent and re.fullmatch(_SESSION, session) else []
    if answer.is_emptied:
        words = words[:1]
    return [word.format(session=session) for word in words]


def _open_in(checkpoint: Checkpoint) -> list[OpenIn]:
    """The programs that have the transcript of a checkpoint open.

    If it has a directory for its session, any file in it counts.
    """
    path, session = checkpoint.meta.part("anchor", "path"), checkpoint.meta.text("session")
    if not path or not os.path.isabs(path):
        return []
    directory = os.path.dirname(path)
    is_own = bool(session) and os.path.basename(directory) == session
    try:
        return programs_with(path, or_below=directory if is_own else "")
    except OSError:
        return []


def _unrestored_conversation(result: RestoreResult) -> str:
    """Why a restore left the conversation of its checkpoint alone, and what restores it.

    Empty if the checkpoint belongs to no conversation, a callback restored it, it has not gone on
    since, or an open turn keeps it, at whose beginning it can be restored afterwards.
    """
    at = result.conversation_at or result.checkpoint
    meta, turn = at.meta, at.in_turn
    has_gone_on = not result.after or at.id != result.checkpoint.id
    of_conversation = any(meta.text(key) for key in ("session", "chat", "message"))
    is_restored = result.callback or (result.conversation_kept and not turn)
    if is_restored or not (result.changes_something and of_conversation and has_gone_on):
        return ""
    agent, transcript = find_agent(meta.text("agent")), meta.part("anchor", "path")
    if result.foreign:
        why = "nothing proves that the checkpoint was taken in this repository"
    elif agent and not agent.callback:
        place = "the end of this turn" if result.after else "this turn"
        why = f"go back to {place} in {agent.title} yourself"
    elif transcript and not os.path.isfile(transcript):
        why = f"its transcript '{transcript}' is gone"
    elif agent and turn:
        command = shell_command("git", "boocode", "restore", turn)
        why = f"this was recorded during a turn, and '{command}' goes back to before all of it"
    elif agent and not (transcript or meta.text("message")):
        why = "the checkpoint does not say how far it had gone"
    else:
        command = shell_command("git", "boocode", "restore", at.id)
        command += " --conversation-only --callback <file>"
        why = f"'{command}' restores it with a callback"
    return f"the conversation was left alone: {why}"


# What was killed half-way.


class Interruption(NamedTuple):
    """What was interrupted, and the hints."""

    message: str
    hints: tuple[str, ...]


def interruptions(repository: Repository) -> list[Interruption]:
    """What was interrupted in a worktree; empty while something is running.

    There can be something only where `is_noted`.
    """
    from git_boocode.editing.recovery import describe, interrupted_edit

    state = repository.state_dir
    if os.environ.get(INSIDE_RESTORE) or CALLING.get() == state:
        return []
    found = []
    try:
        with worktree_lock(state, shared=True, patience=0, read_only=True):
            safety = interrupted_restore(state)
            try:
                if edit := interrupted_edit(repository):
                    found.append(Interruption(describe(edit), (remedy(edit),)))
            except BoocodeError as error:
                found.append(Interruption(error.message, error.hints))
    except RefusedError:
        return []
    if safety is not None and is_kept(repository, safety):
        text = "{} or 'git boocode doctor --fix' goes back to it"
        way_back = NextStep(text, "undo", typed="'git boocode undo'")
        found.append(Interruption(half_way(safety), (way_back,)))
    return found


def half_way(safety: str) -> str:
    """What to say of a restore that was killed; `safety` is the id of its safety checkpoint."""
    return f"a restore was interrupted half-way; the state before it is kept as {safety}"


def remedy(found: Interrupted) -> str:
    """The hint for an edit that was killed."""
    done = "removes what it left behind" if found.done else "takes the files back to before it"
    return f"'git boocode doctor --fix' {done}"


def is_kept(repository: Repository, safety: str) -> bool:
    """Whether the safety checkpoint of a restore exists; before it does, nothing has changed."""
    return bool(repository.store.refs(f"{SAFETY}{safety}"))
