"""What was said to the agents themselves, as their transcripts have it."""

from __future__ import annotations

from typing import Any

import pytest

from git_boocode.agents.messages import FORMATS
from tests.agents.real.conftest import Session, prompt_of

pytestmark = pytest.mark.slow
WORDS = ("alpha", "bravo")


def said(session: Session, identifier: str) -> Any:
    return session.boocode("show", "--conversation", identifier)["conversation"]


def test_each_turn_has_its_own_conversation(session: Session) -> None:
    session.hooks("install", "--user")
    for word in WORDS:
        session.turn(word)
        if not session.agent.later:
            session.id = ""
    for word, checkpoint in zip(WORDS, session.checkpoints(), strict=True):
        found = said(session, checkpoint["id"])
        if session.agent.name not in FORMATS:
            assert "cannot be read" in found["missing"]
            continue
        assert "missing" not in found
        asked, call, answer = found["entries"]
        assert (asked["role"], asked["text"]) == ("user", prompt_of(word))
        assert (call["name"], call["summary"]) == (session.agent.tool, f"{word}.txt +1 −0")
        assert call["result"]
        assert (answer["role"], answer["text"]) == ("assistant", "All done.")


def test_what_a_restore_has_cut_off_is_there(resumable: Session) -> None:
    resumable.hooks("install", "--user")
    for word in WORDS:
        resumable.turn(word)
    _, second = resumable.checkpoints()
    before = said(resumable, second["id"])["entries"]
    resumable.boocode("restore", second["id"])
    assert said(resumable, second["id"])["entries"] == before
