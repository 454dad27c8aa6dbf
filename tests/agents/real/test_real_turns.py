"""What agents report of turns with subagents, and of prompts that are sent while they work."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from typing import IO

import pytest

from tests.agents.real.conftest import Session, prompt_of
from tests.agents.real.model import ToolCall
from tests.agents.real.test_real_agents import resume_as

pytestmark = pytest.mark.slow


def test_a_turn_with_a_subagent_is_one_turn(session: Session) -> None:
    delegate = session.agent.delegate
    if delegate is None:
        pytest.skip(f"{session.agent.program} has no tool here that starts a subagent")
    session.hooks("install", "--user")
    # One of both writes it; in the background, Claude Code's subagent outlives the turn's end.
    session.run(prompt_of("alpha"), [delegate, session.writing("alpha")])
    (found,) = session.checkpoints()
    assert found["label"] == prompt_of("alpha")
    assert session.changed_in("@") == {"alpha"}
    session.id = found["session"]
    if session.agent.later:
        session.turn("bravo")
        assert [each["session"] for each in session.checkpoints()] == [session.id] * 2


def test_a_prompt_that_is_sent_while_the_agent_works_is_a_turn(session: Session) -> None:
    agent, repo = session.agent, session.repo
    if not agent.talk:
        pytest.skip(f"{agent.program} takes such prompts only in a terminal")
    session.hooks("install", "--user")
    work = "echo > alpha.txt; until [ -e .git/go ]; do sleep 0.1; done"
    call = ToolCall("Bash", {"command": work, "description": "Work"})
    session.model.pending = [call, session.writing("bravo")]
    with subprocess.Popen(
        [agent.program, *agent.talk],
        cwd=repo.top,
        env=session.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as program:
        assert program.stdin is not None
        _say(program.stdin, prompt_of("alpha"))
        _wait(lambda: session.files() == {"alpha"})
        _say(program.stdin, prompt_of("bravo"))
        _wait(lambda: prompt_of("bravo") in session.transcripts())
        repo.write(".git/go", "")
        _wait(lambda: session.files() == {"alpha", "bravo"})
        program.stdin.close()
        assert program.wait(60) == 0
    found = session.checkpoints()
    assert [each["label"] for each in found] == [prompt_of("alpha"), prompt_of("bravo")]
    assert [session.changed_in(name) for name in ("@~1", "@")] == [{"alpha"}, {"bravo"}]
    session.id = found[0]["session"]
    resume_as(session.boocode("restore", "@"), session)
    assert session.files() == {"alpha"}
    session.turn("charlie")
    assert session.remembered("alpha", "bravo", "charlie") == {"alpha", "charlie"}


def _say(stdin: IO[str], prompt: str) -> None:
    message = {"type": "user", "message": {"role": "user", "content": prompt}}
    stdin.write(f"{json.dumps(message)}\n")
    stdin.flush()


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end
        time.sleep(0.1)
