"""Checkpoints, restores and conversations with the agents themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.agents.real.conftest import Session, prompt_of

pytestmark = pytest.mark.slow
WORDS = ("alpha", "bravo", "charlie")
SCOPES = pytest.mark.parametrize("scope", ["--project", "--user"])


def three_turns(session: Session) -> str:
    """Let the agent work for three turns; return the checkpoint before the second one."""
    session.hooks("install", "--user")
    for word in WORDS:
        session.turn(word)
    _, second, _ = session.checkpoints()
    return str(second["id"])


def resume_as(answer: Any, session: Session) -> None:
    """Go on as the answer of a restore says: with another session, or with a new one."""
    if answer["resume"]:
        found = re.search(r"[ =]([\w-]+)$", answer["resume"])
        session.id = found[1] if found else ""


@SCOPES
def test_each_turn_is_one_checkpoint_of_the_files_before_it(resumable: Session, scope: str) -> None:
    resumable.hooks("install", scope)
    for word in WORDS:
        resumable.turn(word)
    found = resumable.checkpoints()
    assert [each["label"] for each in found] == list(map(prompt_of, WORDS))
    assert {each["agent"] for each in found} == {resumable.agent.name}
    assert {each["session"] for each in found} == {resumable.id}
    assert list(map(resumable.files_in, found)) == [set(), {"alpha"}, {"alpha", "bravo"}]


def test_restore_takes_files_and_conversation_back(resumable: Session) -> None:
    target = three_turns(resumable)
    answer = resumable.boocode("restore", target)
    assert resumable.files() == {"alpha"}
    resume_as(answer, resumable)
    resumable.turn("delta")
    assert resumable.remembered(*WORDS, "delta") == {"alpha", "delta"}


def test_restore_to_the_first_turn_forgets_the_conversation(resumable: Session) -> None:
    resumable.hooks("install", "--user")
    resumable.turn("alpha")
    answer = resumable.boocode("restore", "@")
    assert resumable.files() == set()
    resume_as(answer, resumable)
    resumable.turn("bravo")
    assert resumable.remembered("alpha", "bravo") == {"bravo"}


def test_undo_brings_files_and_conversation_back(resumable: Session) -> None:
    target = three_turns(resumable)
    resume_as(resumable.boocode("restore", target), resumable)
    resume_as(resumable.boocode("undo"), resumable)
    assert resumable.files() == set(WORDS)
    resumable.turn("delta")
    assert resumable.remembered(*WORDS, "delta") == {*WORDS, "delta"}


def test_a_session_that_is_open_meanwhile_loses_nothing(resumable: Session) -> None:
    """It goes on in its file, or in memory: what it writes later is not lost."""
    target = three_turns(resumable)
    latest = resumable.boocode("show", resumable.checkpoints()[-1]["id"])["checkpoint"]
    path = latest["anchor"].get("path")
    if not path:
        pytest.skip(f"{resumable.agent.program} reads its conversation again at each prompt")
    later = Path(path).read_bytes()[latest["anchor"]["offset"] :]
    with open(path, "ab", buffering=0) as program:
        answer = resumable.boocode("restore", target)
        assert answer["message"].startswith(f"leave the session {resumable.id}")
        assert answer["backend_reset"] is False
        is_same = answer["resume"].endswith(resumable.id)
        if is_same:
            # It does not know of the restore, so that these lines answer a removed one.
            program.write(later)
    if not is_same:
        resumable.turn("delta")
        assert resumable.remembered(*WORDS, "delta") == {*WORDS, "delta"}
    resume_as(answer, resumable)
    resumable.turn("echo")
    went_on = {"charlie"} if is_same else set()
    assert resumable.remembered(*WORDS, "delta", "echo") == {"alpha", "echo"} | went_on


def test_tools_are_checkpoints_where_asked_for(session: Session) -> None:
    session.repo.git("config", "boocode.perTool", "true")
    session.hooks("install", "--user")
    session.turn("alpha")
    session.turn("bravo")
    found = session.checkpoints()
    if session.agent.name == "droid":
        # Its turns begin with their first tool.
        assert list(map(session.files_in, found)) == [set(), {"alpha"}]
        return
    assert list(map(session.files_in, found)) == [set(), set(), {"alpha"}, {"alpha"}]
    turn, tool, *others = (each["trigger"] for each in found)
    assert turn != tool
    assert others == [turn, tool]


@SCOPES
def test_uninstalled_hooks_leave_nothing_and_do_nothing(session: Session, scope: str) -> None:
    before = session.configuration()
    session.hooks("install", scope)
    changed = {path for path, _ in before.items() ^ session.configuration().items()}
    assert changed
    session.turn("alpha")
    session.hooks("uninstall", scope)
    after = session.configuration()
    assert {path: after.get(path) for path in changed} == {
        path: before.get(path) for path in changed
    }
    session.turn("bravo")
    assert len(session.checkpoints()) == 1
