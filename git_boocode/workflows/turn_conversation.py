"""The conversation of a turn: what lies in the agent's transcript up to the next turn.

Nothing of it is kept in git. It is read where the agent keeps it, on this machine, and only for
turns that were recorded in this repository: metadata that came from elsewhere could name any file.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from git_boocode.agents.agent import Agent, transcript_directories, xdg_directory
from git_boocode.agents.messages import FORMATS, USER, Conversation, JsonObject
from git_boocode.agents.registry import find_agent
from git_boocode.agents.transcript import (
    LineEnds,
    Transcript,
    copies_of,
    is_transcript,
    open_transcript,
)
from git_boocode.checkpoints.prompt import kept_prompt
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, is_taken_here
from git_boocode.repo.config import configured
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import time_of
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, SAFETY
from git_boocode.repo.masking import Masker, masker_of
from git_boocode.repo.repository import Repository

_DIRECTORIES = "boocode.transcripts"
_VARIABLE = "BOOCODE_TRANSCRIPTS"
_CODE = "transcript"
_TOLERANCE = 60.0  # seconds between a prompt and the checkpoint that it triggers


class TurnConversation(NamedTuple):
    """The conversation of a turn; see `git_boocode.agents.messages.Conversation` for the entries.

    `masked` is the number of secrets in them, and `unread` that of lines of the transcript that
    could not be read. With `cut`, something was left out because of its size. If the conversation
    cannot be read, `missing` says why, and the prompt is all that there is.
    """

    turn: Checkpoint
    entries: Sequence[JsonObject]
    masked: int = 0
    cut: bool = False
    unread: int = 0
    missing: str = ""

    def as_json(self) -> JsonObject:
        """The JSON object."""
        meta = self.turn.meta
        return {
            "turn": self.turn.id,
            "agent": meta.text("agent") or None,
            "session": meta.text("session") or None,
            "entries": [*self.entries],
            "masked": self.masked,
            "cut": self.cut,
            "unread": self.unread,
            **({"missing": self.missing} if self.missing else {}),
        }


def conversation_of_turn(repository: Repository, name: str) -> TurnConversation:
    """The conversation of the turn of a checkpoint; `name` is any that `Catalog.find` accepts.

    RefusedError if no checkpoint has the name, FatalError if a pattern for secrets is invalid.
    """
    catalog = Catalog(repository)
    found = catalog.find(name)
    turn = found
    if found.in_turn:
        # The checkpoint at which that turn began may have been dropped.
        with suppress(RefusedError):
            turn = catalog.find(found.in_turn)
    return _Conversations(catalog).of(turn)


def conversations_of_turns(
    repository: Repository, ids: Iterable[str]
) -> Iterator[TurnConversation]:
    """The conversations of some turns, each read when it is asked for, of those that are here."""
    conversations = _Conversations(Catalog(repository))
    found = {turn.id: turn for turn in conversations.turns}
    yield from (conversations.of(found[each]) for each in ids if each in found)


class _Conversations:
    """The conversations of a repository's turns, and what is read once for all of them."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.mask = masker_of(catalog.repository.git)
        self.lines: dict[tuple[int, ...], LineEnds] = {}

    def of(self, turn: Checkpoint) -> TurnConversation:
        """The conversation of a turn."""
        self.mask.masked = 0
        if turn.ref.startswith(SAFETY):
            return TurnConversation(
                turn, [], missing="it is a safety checkpoint, and began no turn"
            )
        try:
            return _Reader(self, turn).read()
        except RefusedError as error:
            self.mask.masked = 0
            entries = _prompt_only(turn, self.mask)
            return TurnConversation(turn, entries, self.mask.masked, missing=error.message)

    def session_of(self, turn: Checkpoint) -> Sequence[Checkpoint]:
        """All turns of the session of a turn, oldest first."""
        return self._sessions.get(_session_of(turn), [])

    @cached_property
    def turns(self) -> list[Checkpoint]:
        """All turns that were taken here, oldest first, also those that a restore archived."""
        refs = self.catalog.store.refs(CHECKPOINTS, ARCHIVE)
        found = (each for each in self.catalog.entries(refs) if not isinstance(each, Unusable))
        return sorted((each for each in found if not each.in_turn), key=attrgetter("id"))

    @cached_property
    def _sessions(self) -> dict[tuple[str, str], list[Checkpoint]]:
        found: dict[tuple[str, str], list[Checkpoint]] = defaultdict(list)
        for turn in self.turns:
            found[_session_of(turn)].append(turn)
        return {key: turns for key, turns in found.items() if key[1]}


def _session_of(turn: Checkpoint) -> tuple[str, str]:
    return turn.meta.text("agent"), turn.meta.text("session")


def _prompt_only(turn: Checkpoint, mask: Masker) -> list[JsonObject]:
    # The label of a checkpoint that no agent took is not what somebody said to one.
    label = turn.meta.text("label") if turn.meta.text("agent") else ""
    prompt = turn.meta.text("prompt") or label
    return [{"role": USER, "text": mask(prompt)}] if prompt else []


class _Reader:
    """Reads the conversation of a turn."""

    def __init__(self, conversations: _Conversations, turn: Checkpoint) -> None:
        session = conversations.session_of(turn)
        self._catalog = conversations.catalog
        self._mask = conversations.mask
        self._lines = conversations.lines
        self._turn = turn
        self._earlier = [each for each in session if each.id < turn.id]
        self._followers = [each for each in session if each.id > turn.id]

    def read(self) -> TurnConversation:
        """The conversation; RefusedError if it cannot be read."""
        agent = self._agent()
        if database := agent.callback_environment.get("BOOCODE_SQLITE_DATABASE"):
            return self._stored(agent, database)
        return self._written(agent)

    def _agent(self) -> Agent:
        name = self._turn.meta.text("agent")
        if not name:
            raise RefusedError("no agent took part in it", code=_CODE)
        if not is_taken_here(self._catalog.repository, self._turn):
            message = "nothing proves that the turn was recorded in this repository"
            raise RefusedError(message, code=_CODE)
        agent = find_agent(name)
        if agent is None or agent.name not in FORMATS:
            message = f"the conversations of {agent.title if agent else name} cannot be read"
            raise RefusedError(message, code=_CODE)
        return agent

    def _begin(self, agent: Agent) -> Conversation:
        """An empty conversation."""
        self._mask.masked = 0
        return Conversation(agent.name, self._catalog.repository.worktree, self._mask)

    def _made(self, said: Conversation, transcript: Transcript | None = None) -> TurnConversation:
        entries, number = said.entries, self._prompt_in(said.entries, self._turn)
        shown = _prompt_only(self._turn, self._mask)
        if number is not None:
            # An agent may write the end of an answer after the next prompt was sent.
            entries = [{**entries[number], **shown[0]}, *entries[number + 1 :]]
        elif all(entry["role"] != USER for entry in entries):
            # It is written some time later, if the turn has just begun.
            entries = [*shown, *entries]
        unread = said.unread + (transcript.unread if transcript else 0)
        return TurnConversation(self._turn, entries, self._mask.masked, said.is_cut, unread)

    def _prompt_in(self, entries: Sequence[JsonObject], turn: Checkpoint) -> int | None:
        """The number of the entry with the prompt that a checkpoint records, if it is there."""
        prompt = self._mask(turn.meta.text("prompt"))
        for number, entry in enumerate(entries if prompt else ()):
            if entry["role"] == USER and kept_prompt(entry["text"]) == prompt:
                return number
        return None

    # Where it is.

    def _stored(self, agent: Agent, database: str) -> TurnConversation:
        # Only here: it loads SQLite.
        from git_boocode.agents.message_store import stored_messages

        data = xdg_directory("XDG_DATA_HOME", os.path.expanduser("~"), ".local/share")
        path = database.replace("{data}", data)
        meta = self._turn.meta
        session, first = meta.text("session"), meta.text("message")
        last = next((name for each in self._followers if (name := each.meta.text("message"))), "")
        found = stored_messages(path, session, first, last, self._turn.id) if first else []
        if not found:
            raise RefusedError(f"its messages are not in '{path}'", code=_CODE)
        said = self._begin(agent)
        for row in found:
            said.add_row(row)
        return self._made(said)

    def _written(self, agent: Agent) -> TurnConversation:
        path = self._path()
        directories = (*transcript_directories(agent), *self._further_directories())
        earlier, followers = (
            [each for each in some if each.meta.part("anchor", "path") == path]
            for some in (self._earlier, self._followers)
        )
        problem: RefusedError | None = None
        for before, source in self._sources(path):
            known = [each for each in followers if not before or each.id < before]
            try:
                with open_transcript(source, directories, self._lines) as transcript:
                    if bounds := self._bounds(transcript, known):
                        said = self._begin(agent)
                        if agent.tool_begins and self._turn.meta.text("trigger") == agent.tool:
                            # The prompt was written before the first event of the turn.
                            place = _place(transcript, earlier[-1]) if earlier else 0
                            _add_lines(said, transcript, place or 0, bounds[0])
                            said.forget_earlier_prompts()
                        _add_lines(said, transcript, *bounds)
                        if not self._is_of_another(said, earlier):
                            return self._made(said, transcript)
            except RefusedError as error:
                problem = problem or error
        if problem:
            raise problem
        if not followers and self._ends_with_its_beginning(path, directories):
            return self._made(self._begin(agent))
        message = f"its transcript '{path}' was cut or rewritten since, and no copy has the turn"
        raise RefusedError(message, code=_CODE)

    def _ends_with_its_beginning(self, path: str, directories: Sequence[str]) -> bool:
        """Whether nothing has been written yet, as when the turn has just begun."""
        with open_transcript(path, directories, self._lines) as transcript:
            return _place(transcript, self._turn) == transcript.size

    def _is_of_another(self, said: Conversation, earlier: Sequence[Checkpoint]) -> bool:
        """Whether an earlier turn, after which the transcript was cut, is there again.

        An undo puts it back, at the place where this turn began as well.
        """
        others = [each for each in earlier if _recorded(each) == _recorded(self._turn)]
        if not others:
            return False
        number = self._prompt_in(said.entries, self._turn)
        if number is None:
            return any(self._prompt_in(said.entries, each) is not None for each in others)
        when = said.entries[number].get("time")
        return when is not None and when < time_of(self._turn.id) - _TOLERANCE

    def _path(self) -> str:
        """The transcript; at the first turn of a session, it may not have been known yet."""
        for each in (self._turn, *(() if self._earlier else self._followers[:1])):
            path = each.meta.table("anchor").get("path")
            if path and not is_transcript(path):
                raise RefusedError(f"'{path}' is not a transcript", code=_CODE)
            if path:
                return str(path)
        raise RefusedError("it is not known where the agent keeps it", code=_CODE)

    def _sources(self, path: str) -> list[tuple[str, str]]:
        """The files that may have the turn, each after the id of the restore that copied it.

        The copies were made before the transcript was cut. One of a turn that was archived has it.
        """
        copies = [(name, copy) for name, copy in copies_of(path) if name > self._turn.id]
        is_archived = self._turn.ref.startswith(ARCHIVE)
        return [*copies, ("", path)] if is_archived else [("", path), *copies]

    def _bounds(
        self, transcript: Transcript, followers: Sequence[Checkpoint]
    ) -> tuple[int, int] | None:
        """Where the turn begins and ends in a transcript, or None if it is not in it."""
        begin = _place(transcript, self._turn)
        if begin is None:
            return None
        end = _place(transcript, followers[0]) if followers else transcript.size
        # At the same place, the next turn began after a restore to before this one.
        return (begin, end) if end is not None and end > begin else None

    def _further_directories(self) -> list[str]:
        """The directories of transcripts that the user adds, as for the shipped callbacks."""
        added = [each for each in os.environ.get(_VARIABLE, "").split(os.pathsep) if each]
        added = added or configured(self._catalog.repository.git, _DIRECTORIES)
        top = self._catalog.repository.worktree
        return [os.path.join(top, os.path.expanduser(each)) for each in added]


def _add_lines(said: Conversation, transcript: Transcript, begin: int, end: int) -> None:
    """Add what is between two positions, of very much the beginning and the end."""
    for number, part in enumerate(transcript.parts(begin, end)):
        if number:
            said.add_gap()
        said.add_lines(transcript.lines(*part))


def _recorded(checkpoint: Checkpoint) -> tuple[object, object]:
    """Where a turn began in its transcript, as its checkpoint says."""
    anchor = checkpoint.meta.table("anchor")
    return anchor.get("offset"), anchor.get("hash")


def _place(transcript: Transcript, checkpoint: Checkpoint) -> int | None:
    """Where a turn begins in a transcript now."""
    if not checkpoint.meta.part("anchor", "path"):
        # Only the first turn of a session can have begun before its transcript was known.
        return 0
    offset, wanted = _recorded(checkpoint)
    if type(offset) is not int or not (wanted is None or isinstance(wanted, str)):
        return None
    return transcript.find(offset, wanted)
