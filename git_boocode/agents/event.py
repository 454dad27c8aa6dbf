"""What a hook tells, understood: whose turn it is, and what is about to happen."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from git_boocode.agents.agent import Agent
from git_boocode.agents.payload import Payload
from git_boocode.agents.registry import find_agent
from git_boocode.repo.errors import FatalError

_LABEL = 60
_ID = 1000
# What the first words of a prompt are looked for in: one may be as long as a book.
_LOOKED_AT = 4096
# What steers a terminal or turns text around, and halves of characters.
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_HALVES = re.compile("[\ud800-\udfff]")


class Told(NamedTuple):
    """What a hook tells; every text may be empty.

    Attributes:
        agent: who tells it.
        event: what it was called for.
        is_turn: whether a turn begins; else a tool is about to run.
        payload: all that was told.
        session: the agent's session.
        turn: the id of the turn or of the message.
        prompt: what the user asked for.
    """

    agent: Agent
    event: str
    is_turn: bool
    payload: Payload
    session: str
    turn: str
    prompt: str

    @property
    def directories(self) -> list[str]:
        """Where the agent works: as it tells, else where it runs us."""
        here = _here()
        told = self.payload.all_texts(self.agent.fields.directories)
        paths = [os.path.join(here, os.path.expanduser(path)) for path in told]
        return list(dict.fromkeys(filter(_is_path, paths))) if told else [here]

    @property
    def transcript(self) -> str:
        """The transcript."""
        return self.payload.text(self.agent.fields.transcript)

    @property
    def begins_by_tools(self) -> bool:
        """Whether a tool may be the first that is told of a turn."""
        return bool(self.turn) or self.agent.tool_begins


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.curdir


def _is_path(text: str) -> bool:
    """Whether a text can be a path at all."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def understand(agent: Agent, event: str, payload: Payload) -> Told:
    """What is told.

    Args:
        agent: whose hook it is.
        event: what the command line says that it was called for; else the payload does.
        payload: what the agent sent.

    Raises:
        FatalError: it was called for nothing that is known (`unknown_event`).
    """
    teller = _teller(agent, payload)
    event = event or payload.text((*agent.fields.event, *teller.fields.event))
    if not event:
        raise FatalError(f"nothing tells which event of {agent.title} it is", code="unknown_event")
    is_turn = event in (agent.turn, teller.turn)
    if not is_turn and event not in (agent.tool, teller.tool):
        raise FatalError(
            f"'{event}' is no event of {agent.title} that is worth a checkpoint: "
            f"'{agent.turn}' and '{agent.tool}' are",
            code="unknown_event",
        )
    fields = teller.fields
    session, turn = (payload.text(names)[:_ID] for names in (fields.session, fields.turn))
    return Told(teller, event, is_turn, payload, session, turn, payload.text(fields.prompt))


def _teller(agent: Agent, payload: Payload) -> Agent:
    """The agent that really tells it: some run the hooks of another one, too."""
    for name, shape in agent.run_by.items():
        if payload.text(shape):
            return find_agent(name) or agent
    return agent


def label_of(prompt: str) -> str:
    """The first words of a prompt, to be read by people."""
    text = _HALVES.sub("?", _NO_TEXT.sub(" ", prompt.lstrip()[:_LOOKED_AT]))
    words = " ".join(text.split())
    if len(words) <= _LABEL:
        return words
    whole = words[: _LABEL + 1].rpartition(" ")[0]
    return f"{whole or words[:_LABEL]} …"
