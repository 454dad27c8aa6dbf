"""Fork a turn: a linked worktree in its state, with a copy of its conversation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from git_boocode.agents.registry import find_agent
from git_boocode.agents.worktree_hooks import MissingHooks, missing_hooks
from git_boocode.checkpoints.callback import Callback, HostFunction, find_callback
from git_boocode.checkpoints.capture import write_state
from git_boocode.checkpoints.new_worktree import (
    ForkRecord,
    MadeWorktree,
    NewWorktree,
    fork_lock,
    interrupted_fork,
    make_worktree,
    refuse_branch,
    refuse_incomplete,
    resolve_fork,
)
from git_boocode.checkpoints.restore.conversation import callback_of, conversation_of
from git_boocode.checkpoints.restore.request import RestoreHost
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, is_taken_here
from git_boocode.checkpoints.turns import NOW, end_is_unknown, following_turn, turn_of
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree_place import default_place, refuse_place
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import BoocodeError, RefusedError, refuse_combined, shell_command
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, FORK_NOTE
from git_boocode.repo.lock import scratch_directory, worktree_lock
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from git_boocode.workflows.restore_with_edits import restore_host, resume_words

_FORK = "fork"
_PATIENCE = 30.0  # seconds to wait for a running restore


class ForkRequest(NamedTuple):
    """How a turn is forked: as it began, or `after` it ended."""

    directory: str = ""  # relative to the caller's; empty for one beside the main worktree
    after: bool = False
    branch: str = ""  # the name of a new branch; empty to detach HEAD
    conversation: bool = True
    dry_run: bool = False  # only check, and report where it would be
    callback: str | HostFunction | None = None  # used instead of the configured one

    def checked(self) -> ForkRequest:
        """This request, if its arguments fit together (ArgumentError)."""
        refuse_combined(no_conversation=not self.conversation, callback=self.callback)
        return self


class ForkedConversation(NamedTuple):
    """What became of the conversation: the command that goes on with it, or `why` it was left."""

    resume: Sequence[str] = ()
    session: str = ""  # the id of the copy, if the callback has it
    message: str = ""  # what the callback has to say
    why: str = ""


@dataclass(frozen=True, slots=True)
class ForkResult:
    """A new worktree in the state of a turn; nothing was made in a dry run.

    `worktree` is its absolute path, `head` the commit that HEAD names there, None on an unborn
    branch, and `branch` the new branch, empty if HEAD is detached. `turn` is the checkpoint that
    was forked, `checkpoint` the first one there. `conversation` is None if there is none, or it was
    not wanted; its `why` is why it could not be copied, else `session` names the copy. `kept` are
    the paths that the turn does not hold, each with a `reason`.
    """

    turn: Checkpoint
    worktree: str
    head: str | None  # the commit that HEAD names there; None on an unborn branch
    branch: str  # the new branch; empty if HEAD is detached
    after: bool
    dry_run: bool
    checkpoint: Checkpoint | None = None  # the first one there; None in a dry run
    conversation: ForkedConversation | None = None  # None if there is none, or it was not wanted
    kept: tuple[Skipped, ...] = ()  # the paths that the turn's state does not hold, and why
    hooks: MissingHooks | None = None  # those that hold elsewhere, but not there

    @property
    def commands(self) -> list[str]:
        """What to type to go on there, in this order."""
        install = [self.hooks.install(self.worktree)] if self.hooks else []
        return [*install, self.command]

    @property
    def command(self) -> str:
        """The last of the commands: it goes there, and on with the conversation."""
        resume = self.conversation.resume if self.conversation else ()
        # A command that is a single text is one for a shell.
        words = resume[0] if len(resume) == 1 else shell_command(*resume)
        return " && ".join(filter(None, (shell_command("cd", self.worktree), words)))

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        said = self.conversation
        about: dict[str, object] | None = None
        if said:
            message = said.why or said.message
            about = {"forked": not said.why, "session": said.session or None, "message": message}
        return {
            "ok": True,
            "turn": self.turn.id,
            "worktree": self.worktree,
            "branch": self.branch or None,
            "head": self.head,
            "after": self.after,
            "dry_run": self.dry_run,
            "checkpoint_id": self.checkpoint.id if self.checkpoint else None,
            "conversation": about,
            "resume": [*said.resume] if said and said.resume else None,
            "kept": [kept._asdict() for kept in self.kept],
            "next": [] if self.dry_run else self.commands,
        }


def fork(repository: Repository, name: str, request: ForkRequest) -> ForkResult:
    """Fork a turn; `name` is any name that `Catalog.find` accepts.

    The present worktree, its staging area, HEAD and branches are not changed. RefusedError if the
    turn does not exist or has no known end, or the directory or the branch exists; FatalError if
    objects are missing or the worktree cannot be made. Then nothing remains of it. A conversation
    that cannot be copied does not prevent a fork.
    """
    catalog = Catalog(repository)
    turn = catalog.find(name)
    lock = partial(worktree_lock, repository.state_dir, shared=True, patience=_PATIENCE)
    if request.dry_run:
        left = _interrupted(repository)
        with lock(read_only=True):
            return _ForkPlan(catalog, turn, request).checked(left)
    with fork_lock(repository) as descriptor:
        # Another fork may have just taken the default directory.
        plan = _ForkPlan(catalog, turn, request)
        if left := interrupted_fork(repository):
            is_done = plan.is_done(left)
            resolve_fork(repository, left, partial(roll_back_conversation, repository))
            if is_done:
                return plan.completed(left)
        with lock():
            return plan.carry_out(descriptor)


def _interrupted(repository: Repository) -> ForkRecord | None:
    """The fork that was killed, for a dry run, which creates no lock."""
    with suppress(RefusedError):
        if os.path.lexists(os.path.join(repository.common_state_dir, FORK_NOTE)):
            with fork_lock(repository, patience=0):
                return interrupted_fork(repository)
    return None


class _ForkPlan:
    """How a turn is forked, and where to."""

    def __init__(self, catalog: Catalog, turn: Checkpoint, request: ForkRequest) -> None:
        repository = catalog.repository
        self._catalog = catalog
        self._turn = turn
        self._request = request
        self._short = ShortIds(repository.store)(turn.id)
        self._default = default_place(repository, self._short)
        given = request.directory
        if given:
            given = os.path.abspath(os.path.join(repository.directory, given))
            parent, name = os.path.split(given)
            given = os.path.join(os.path.realpath(parent), name)
        self._path = given or self._default
        self._identity = [turn.id, given, request.after, request.branch, request.conversation]

    def checked(self, left: ForkRecord | None) -> ForkResult:
        """What would be made, if it can be; see `fork`."""
        if left and self.is_done(left):
            return self.completed(left)
        return self._result(self._check(left).head)

    def _check(self, left: ForkRecord | None = None) -> Checkpoint:
        """The state to fork, if it can be forked once what a killed fork left is removed."""
        repository, request = self._catalog.repository, self._request
        refuse_place(repository, self._path, self._default)
        state = _end_of(self._catalog, self._turn) if request.after else self._turn
        if branch := self._branch(state.head):
            refuse_branch(repository, branch, left)
        refuse_incomplete(repository, state)
        return state

    def is_done(self, left: ForkRecord) -> bool:
        """Whether the same command was killed in its last step, when all was made."""
        return left.is_complete and left.request == self._identity

    def completed(self, left: ForkRecord) -> ForkResult:
        """The result of a fork that is done."""
        self._path = left.path
        return self._result(left.head, left.made)

    def carry_out(self, lock: int) -> ForkResult:
        """Make the fork; the caller holds the lock of forks."""
        state, turn, request = self._check(), self._turn, self._request
        label, worktree = turn.meta.shown("label"), turn.meta.worktree_name
        end = "the end of " if request.after else ""
        new = NewWorktree(
            self._path,
            state,
            self._branch(state.head),
            {"turn": turn.id, "worktree": worktree, "after": request.after},
            f"fork of {end}{self._short} of worktree {worktree}" + (f" ({label})" if label else ""),
            self._identity,
        )
        copy = _ConversationCopy(self._catalog, request, turn, new)
        made = make_worktree(self._catalog.repository, lock, new, copy.make, copy.roll_back)
        return self._result(state.head, made)

    def _branch(self, head: str | None) -> str:
        """The new branch; empty to detach HEAD, which must name a commit then."""
        return self._request.branch or ("" if head else os.path.basename(self._path))

    def _result(self, head: str | None, made: MadeWorktree | None = None) -> ForkResult:
        dry_run = self._request.dry_run
        result = ForkResult(
            self._turn,
            self._path,
            head,
            self._branch(head),
            self._request.after,
            dry_run,
        )
        if made is None or dry_run:
            return result
        said = made.conversation
        return replace(
            result,
            checkpoint=self._catalog.find(made.checkpoint),
            conversation=None if said is None else ForkedConversation(**said),
            kept=tuple(made.kept),
            hooks=missing_hooks(self._catalog.repository, self._path),
        )


def _end_of(catalog: Catalog, turn: Checkpoint) -> Checkpoint:
    """The state at the end of a turn, as `log` counts it; of one that goes on, the present one."""
    repository = catalog.repository
    found = turn_of(catalog, turn, lambda: "now")
    if found.end == NOW:
        with scratch_directory(repository.state_dir) as scratch:
            snapshot = take_snapshot(repository, scratch)
            state = write_state(repository, snapshot, "target", {}, catalog.store.new_id())
            snapshot.quarantine.release()
            return state
    commit = catalog.store.commit(found.after) if found.after else None
    if commit is None:
        raise end_is_unknown(catalog, turn)
    # What was fetched remains so.
    return Checkpoint(turn.id, turn.ref, commit, Metadata.parse(commit.message))


# The conversation.


class _ConversationCopy:
    """The copy of the conversation for a fork."""

    def __init__(
        self, catalog: Catalog, request: ForkRequest, turn: Checkpoint, new: NewWorktree
    ) -> None:
        self._catalog = catalog
        self._request = request
        self._turn = turn
        self._new = new
        self._called: tuple[str, Callback] | None = None  # the callback, and the id of its event

    def make(
        self, git_dir: str, note: Callable[[Mapping[str, Any]], None]
    ) -> Mapping[str, Any] | None:
        """Copy the conversation, as it was at the state of the fork, to the new worktree."""
        if not self._request.conversation:
            return None
        try:
            copied = self._copy(git_dir, note)
        except BoocodeError as error:
            copied = ForkedConversation(why=error.message)
        return copied and copied._asdict()

    def _copy(
        self, git_dir: str, note: Callable[[Mapping[str, Any]], None]
    ) -> ForkedConversation | None:
        repository, host = self._catalog.repository, restore_host(self._catalog.repository)
        turn, end = self._origin()
        following = self._following(turn, end) if end else None
        cut_at = following or turn
        callback = find_callback(repository, self._request.callback, callback_of(host, cut_at))
        why = "" if callback else _no_callback(host, cut_at)
        if (callback or why) and not is_taken_here(repository, cut_at):
            why = "nothing proves that the turn was recorded in this repository"
        if why or callback is None:
            return ForkedConversation(why=why) if why else None
        new, identifier = self._new, repository.store.new_id()
        event = {
            "operation": _FORK,
            "commits": _FORK,
            "restore_id": identifier,
            **conversation_of(repository, host, cut_at),
            "changed": [],
            "fork": {
                "worktree": new.path,
                "git_dir": git_dir,
                "branch": new.branch or None,
                "whole": bool(end) and following is None,
            },
        }
        note(event)
        self._called = identifier, callback
        answer = callback._replace(event=event).commit(_FORK)
        session = answer.session or (cut_at.meta.text("session") if answer.is_emptied else "")
        words = answer.resume_words or tuple(resume_words(cut_at, session, answer))
        if not words and answer.is_emptied:
            return None
        if not words and not answer.session:
            why = answer.message or f"callback '{callback.program}' named no command to go on with"
            return ForkedConversation(why=why)
        return ForkedConversation(words, answer.session, answer.message)

    def _origin(self) -> tuple[Checkpoint, str]:
        """The turn whose conversation is copied, and the id of its end if the copy goes up to that.

        A fork begins with the conversation of the turn of which it is one.
        """
        turn = self._turn
        end = self._new.state.meta.text("id") if self._request.after else ""
        while origin := turn.meta.table("forked_from"):
            found = self._catalog.find(str(origin.get("turn")))
            if found.id >= turn.id:
                # Nothing that was fetched may lead in a circle.
                break
            turn = found
            end = _end_of(self._catalog, turn).meta.text("id") if origin.get("after") else ""
        return turn, end

    def _following(self, turn: Checkpoint, end: str) -> Checkpoint | None:
        """The next turn of the same conversation, before which the copy ends; None if none is."""
        refs = self._catalog.store.refs(CHECKPOINTS, ARCHIVE)
        return following_turn(self._catalog.entries(refs), turn, end)

    def roll_back(self, event: Mapping[str, Any]) -> None:
        """Remove the conversation of this fork, or of one that was killed."""
        identifier, callback = self._called or ("", None)
        if callback is None or event.get("restore_id") != identifier:
            roll_back_conversation(self._catalog.repository, event)
            return
        with suppress(BoocodeError):
            callback._replace(event=event).roll_back("the fork failed")


def roll_back_conversation(repository: Repository, event: Mapping[str, Any]) -> None:
    """Let the callback remove the conversation of a fork that was killed."""
    agent = restore_host(repository).callbacks.get(str(event.get("agent")))
    # The worktree is removed anyway.
    with suppress(BoocodeError):
        if callback := find_callback(repository, None, agent):
            callback._replace(event=event).roll_back("the fork was interrupted")


def _no_callback(host: RestoreHost, checkpoint: Checkpoint) -> str:
    """Why no callback is called; empty if there is no conversation."""
    meta = checkpoint.meta
    agent, transcript = find_agent(meta.text("agent")), meta.part("anchor", "path")
    if not any(meta.text(key) for key in ("session", "chat", "message")):
        return ""
    if agent is not None and not agent.callback:
        return f"{agent.title} keeps it where no callback can copy it"
    if transcript and not os.path.isfile(transcript):
        return f"its transcript '{transcript}' is gone"
    if agent is None:
        return "no callback is configured"
    if not (store := host.callbacks[agent.name].store):
        return "the checkpoint names no transcript"
    if not meta.text("message"):
        return "the checkpoint does not say how far it had gone"
    return f"its database '{store}' is gone"
