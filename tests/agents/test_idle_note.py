"""The hook of a tool ends at once if a call like it had nothing to do, and only then."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from git_boocode.agents.hook_state import one_at_a_time, turn_of
from git_boocode.repo.ids import new_id
from git_boocode.repo.layout import HOOK_IDLE
from tests.agents.kit import fire, logged, prompted, taken, turn
from tests.checkpoints.kit import refs
from tests.repo_kit import Repo

_TOOL = ("hook", "claude-code", "PreToolUse")
_TABLE = "git_boocode.agents.registry"


def call(repo: Repo, **told: Any) -> dict[str, Any]:
    payload = prompted(repo, hook_event_name="PreToolUse", tool_name="Bash", **told)
    del payload["prompt"]
    return payload


def modules_of_hook(repo: Repo, payload: dict[str, Any]) -> set[str]:
    """What the hook of a tool loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "git_boocode", *_TOOL],
        input=json.dumps(payload),
        cwd=repo.top,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.fixture
def noted(repo: Repo) -> Repo:
    """A repository with a turn that has called tools, alone."""
    repo.commit(a="a\n")
    turn(repo)
    for _ in range(2):
        fire(repo, *_TOOL[1:], payload=call(repo))
    assert (repo.top / ".git/boocode" / HOOK_IDLE).is_file()
    return repo


def test_a_noted_call_loads_nothing_that_is_slow(noted: Repo) -> None:
    loaded = modules_of_hook(noted, call(noted, tool_use_id="2"))
    assert not loaded & {_TABLE, "json", "re", "typing", "subprocess"}


@pytest.mark.parametrize("differs", [{"session_id": "s2"}, {"cwd": "/"}, {"prompt_id": "p2"}])
def test_another_payload_is_not_noted(noted: Repo, differs: dict[str, str]) -> None:
    assert _TABLE in modules_of_hook(noted, call(noted, **differs))


def test_a_call_beside_another_turn_is_recorded(noted: Repo) -> None:
    turn(noted, session_id="s2", prompt="something else")
    fire(noted, *_TOOL[1:], payload=call(noted))
    assert len(refs(noted, "tool-states")) == 1
    assert logged(noted) == []


def test_a_call_waits_for_a_turn_that_is_beginning(noted: Repo) -> None:
    state_dir = str(noted.top / ".git/boocode")
    with one_at_a_time(state_dir, patience=1) as turns:
        # Its checkpoint is taken before it is noted, and does not have what the tool changed since.
        noted.write("a", "by the tool\n")
        process = subprocess.Popen(
            [sys.executable, "-m", "git_boocode", "hook", "claude-code", "PostToolUse"],
            stdin=subprocess.PIPE,
            cwd=noted.top,
        )
        assert process.stdin is not None
        # More than a pipe holds: it is written when the hook has begun to read.
        payload = call(noted, tool_response="x" * 200_000)
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        other = turn_of("claude-code", "s2", "p2", "something else", None)
        turns.note(other._replace(checkpoint=new_id()))
    assert process.wait(timeout=60) == 0
    assert len(refs(noted, "tool-states")) == 1


@pytest.mark.parametrize("content", [b"", b"[]", b'{"turns": 1}', b'{"calls": {}, "turns": []}'])
@pytest.mark.variants
def test_a_damaged_note_is_made_again(noted: Repo, content: bytes) -> None:
    path = noted.top / ".git/boocode" / HOOK_IDLE
    path.write_bytes(content)
    fire(noted, *_TOOL[1:], payload=call(noted))
    assert path.read_bytes() != content
    assert _TABLE not in modules_of_hook(noted, call(noted))
    assert logged(noted) == []


def test_the_payload_of_another_session_is_read_to_its_end(repo: Repo) -> None:
    repo.commit(a="a\n")

    def tool(session: str, text: str) -> None:
        payload = {"conversation_id": session, "generation_id": "g", "cwd": str(repo.top)}
        given = {"tool_name": "Write", "tool_input": {"file_path": "a", "contents": text}}
        fire(repo, "cursor", "preToolUse", payload={**payload, **given})

    for _ in range(3):
        tool("one", "short")
    # A pipe holds less.
    tool("two", "x" * 200_000)
    assert [each["session"] for each in taken(repo)] == ["one", "two"]
    assert logged(repo) == []


def test_a_noted_call_need_not_close_its_pipe(noted: Repo) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "git_boocode", *_TOOL], stdin=subprocess.PIPE, cwd=noted.top
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(call(noted)).encode())
        process.stdin.flush()
        assert process.wait(timeout=60) == 0
