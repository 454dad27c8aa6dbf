"""Forks of turns, in which the agents themselves go on."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.registry import AGENTS
from tests.agents.real.conftest import Session
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow
WORDS = ("alpha", "bravo", "charlie")


def forked(session: Session, turn: str, top: Path, *options: str) -> Any:
    """Fork a turn, and go on in the fork as the answer says."""
    if session.agent.name in ("kimi", "droid") or not AGENTS[session.agent.name].callback:
        pytest.skip(f"{session.agent.program} keeps its sessions where no callback can copy them")
    answer = session.boocode("fork", turn, str(top), *options)
    assert answer["conversation"]["forked"], answer
    place, _, resume = answer["next"][-1].partition(" && ")
    assert shlex.split(place) == ["cd", str(top)]
    assert shlex.split(resume) == answer["resume"]
    found = re.search(r"[ =]([\w-]+)$", resume)
    session.id = found[1] if found else ""
    session.move_to(Repo(top))
    return answer


def three_turns(session: Session) -> list[str]:
    session.hooks("install", "--user")
    for word in WORDS:
        session.turn(word)
    return [each["id"] for each in session.checkpoints()]


def test_a_fork_goes_on_from_before_a_turn(resumable: Session, tmp_path: Path) -> None:
    origin = resumable.repo
    _, second, _ = three_turns(resumable)
    forked(resumable, second, tmp_path / "a fork")
    assert resumable.files() == {"alpha"}
    resumable.turn("delta")
    assert resumable.remembered(*WORDS, "delta") == {"alpha", "delta"}
    assert resumable.files() == {"alpha", "delta"}
    assert resumable.checkpoints()[-1]["worktree"] != "main"
    # The origin goes on as if nothing had been.
    resumable.move_to(origin)
    resumable.id = resumable.checkpoints()[-1]["session"]
    assert resumable.files() == {*WORDS}
    resumable.turn("echo")
    assert resumable.remembered(*WORDS, "delta", "echo") == {*WORDS, "echo"}


def test_a_fork_goes_on_from_the_end_of_a_turn(resumable: Session, tmp_path: Path) -> None:
    first, _, third = three_turns(resumable)
    origin, session = resumable.repo, resumable.id
    forked(resumable, first, tmp_path / "first", "--after")
    resumable.turn("delta")
    assert resumable.remembered(*WORDS, "delta") == {"alpha", "delta"}
    resumable.move_to(origin)
    resumable.id = session
    forked(resumable, third, tmp_path / "third", "--after")
    resumable.turn("echo")
    assert resumable.remembered(*WORDS, "delta", "echo") == {*WORDS, "echo"}


def test_a_fork_of_the_first_turn_has_no_conversation(resumable: Session, tmp_path: Path) -> None:
    resumable.hooks("install", "--user")
    resumable.turn("alpha")
    forked(resumable, "@", tmp_path / "fork")
    resumable.turn("bravo")
    assert resumable.remembered("alpha", "bravo") == {"bravo"}
