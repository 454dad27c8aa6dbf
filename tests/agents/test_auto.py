"""`git boocode hook auto` finds out which agent runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.agents.payload import caller_of, parse_payload
from git_boocode.agents.registry import AGENTS
from tests.agents.kit import PAYLOADS, fire, logged, prompted, recorded, taken
from tests.agents.test_event import PAYLOADS as ANYTHING
from tests.checkpoints.kit import refs
from tests.repo_kit import Repo

# As Copilot CLI sends it to a hook of a plugin for Claude Code.
COPILOT = {
    "hook_event_name": "UserPromptSubmit",
    "session_id": "cd622fd2-4bd7-4c3b-a773-8bd7ab607a7f",
    "timestamp": "2026-11-28T17:39:55.910Z",
    "cwd": "/TOP",
    "prompt": "Please write alpha down",
}
COPILOT_TOOL = {
    **{key: COPILOT[key] for key in ("session_id", "timestamp", "cwd")},
    "hook_event_name": "PreToolUse",
    "tool_name": "Write",
    "tool_input": {"path": "/TOP/alpha.txt", "file_text": "alpha\n"},
}
COPILOT_END = {
    **{key: COPILOT[key] for key in ("session_id", "timestamp", "cwd")},
    "hook_event_name": "Stop",
    "transcript_path": "/HOME/.copilot/session-state/cd622fd2/events.jsonl",
    "stop_reason": "end_turn",
    "stop_hook_active": False,
}


def payloads() -> Iterator[Any]:
    for path in sorted(PAYLOADS.iterdir()):
        agent, _, event = path.stem.partition(".")
        # Kiro's could be those of many an agent.
        if agent != "kiro":
            yield pytest.param(agent, event, path.read_bytes(), id=path.stem)
    for payload in (COPILOT, COPILOT_TOOL, COPILOT_END):
        event = str(payload["hook_event_name"])
        data = json.dumps(payload).encode()
        yield pytest.param("copilot", event, data, id=f"copilot as Claude Code: {event}")


def sent(repo: Repo, payload: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(payload).replace("/TOP", str(repo.top)))
    return found


@pytest.mark.parametrize(("agent", "event", "data"), list(payloads()))
def test_what_agents_really_send_is_enough(agent: str, event: str, data: bytes) -> None:
    for name in (event, ""):
        assert caller_of(parse_payload(data), name, {}).name == agent


@pytest.mark.parametrize(
    ("variables", "agent"),
    [
        ({}, "claude-code"),
        ({"COPILOT_PLUGIN_ROOT": "/p", "CLAUDE_PLUGIN_ROOT": "/p"}, "copilot"),
        ({"QWEN_PROJECT_DIR": "/w", "GEMINI_PROJECT_DIR": "/w"}, "qwen"),
    ],
)
def test_the_environment_decides_where_the_payload_does_not(
    variables: dict[str, str], agent: str
) -> None:
    payload = parse_payload(b'{"session_id": "s", "prompt": "go on"}')
    assert caller_of(payload, "UserPromptSubmit", variables).name == agent
    claude = parse_payload((PAYLOADS / "claude-code.UserPromptSubmit.json").read_bytes())
    assert caller_of(claude, "UserPromptSubmit", variables).name == "claude-code"


def test_a_home_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", "/opt/codex")
    payload = b'{"session_id": "s", "transcript_path": "/opt/codex/sessions/2026/r.jsonl"}'
    assert caller_of(parse_payload(payload), "UserPromptSubmit", {}).name == "codex"


@given(ANYTHING, st.sampled_from(["", "UserPromptSubmit", "stop", "nothing"]))
@pytest.mark.slow
def test_any_object_has_a_caller(values: dict[str, Any], event: str) -> None:
    payload = parse_payload(json.dumps(values).encode())
    assert caller_of(payload, event, {}) in AGENTS.values()


def test_the_rest_of_the_program_sees_the_agent(repo: Repo, sealed: Path) -> None:
    directory = sealed / f".copilot/session-state/{COPILOT['session_id']}"
    directory.mkdir(parents=True)
    (directory / "events.jsonl").write_text('{"type":"session.start"}\n')
    assert fire(repo, "auto", "UserPromptSubmit", payload=sent(repo, COPILOT)).out == ""
    (found,) = taken(repo)
    assert (found["agent"], found["trigger"]) == ("copilot", "UserPromptSubmit")
    assert (found["session"], found["label"]) == (COPILOT["session_id"], COPILOT["prompt"])
    # It writes about each hook in the transcript.
    with (directory / "events.jsonl").open("a") as file:
        file.write('{"type":"hook.start","data":{}}\n{"type":"hook.end","data":{}}\n')
    own = {"sessionId": COPILOT["session_id"], "timestamp": 1, "cwd": "/TOP"}
    event = AGENTS["copilot"].turn
    fire(repo, "copilot", event, payload=sent(repo, {**own, "prompt": COPILOT["prompt"]}))
    assert taken(repo) == [found]
    fire(repo, "auto", "Stop", payload=sent(repo, COPILOT_END))
    assert len(refs(repo, "turn-ends")) == 1
    assert logged(repo) == []


def test_nobody_is_lost(repo: Repo) -> None:
    repo.write("a", "a\n")
    fire(repo, "auto", "UserPromptSubmit", payload=b"garbage")
    repo.write("a", "b\n")
    fire(repo, "auto", payload=prompted(repo, hook_event_name="UserPromptSubmit"))
    assert [found["agent"] for found in taken(repo)] == ["claude-code", "claude-code"]
    fire(repo, "auto", payload={"cwd": str(repo.top)})
    assert [entry.what for entry in logged(repo)] == ["bad_payload", "unknown_event"]


@pytest.mark.parametrize(("agent", "event"), [("cline", "PreToolUse"), ("copilot", "agentStop")])
def test_a_payload_without_an_event_that_it_has(agent: str, event: str, repo: Repo) -> None:
    fire(repo, "auto", payload=recorded(repo, agent, event))
    [entry] = logged(repo)
    assert (entry.agent, entry.what) == (agent, "unknown_event")


@pytest.mark.parametrize("event", ["TaskStart", "PreToolUse"])
def test_an_agent_gets_its_own_answer(event: str, repo: Repo) -> None:
    for agent in ("cline", "claude-code"):
        if event == AGENTS[agent].tool or agent == "cline":
            done = fire(repo, "auto", event, payload=recorded(repo, agent, event))
            assert done.out == AGENTS[agent].answer


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "qwen"])
@pytest.mark.variants
def test_with_hooks_of_the_agent_itself_all_is_recorded_once(agent: str, repo: Repo) -> None:
    row = AGENTS[agent]
    begun = recorded(repo, agent, row.turn)
    other = prompted(repo, session_id="other", prompt="something else", prompt_id="p")
    fire(repo, "claude-code", "UserPromptSubmit", payload=other)
    for name in ("auto", agent):
        fire(repo, name, row.turn, payload=begun)
    tool = {**json.loads(begun), "tool_name": "Write", "tool_use_id": "call_1"}
    for event in (row.tool, row.tool_end):
        repo.write("a", event)
        for name in (agent, "auto"):
            payload = {**tool, "hook_event_name": event, "tool_call_id": "call_1"}
            fire(repo, name, event, payload=payload)
    for name in ("auto", agent):
        fire(repo, name, row.end, payload={**json.loads(begun), "hook_event_name": row.end})
    assert [found["agent"] for found in taken(repo)] == ["claude-code", agent]
    assert len(refs(repo, "turn-ends")) == 1
    (line,) = refs(repo, "tool-states")
    assert repo.git("rev-list", "--first-parent", "--count", line.split()[1]).strip() == "3"
    assert logged(repo) == []


def test_a_call_in_two_spellings_is_recorded_once(repo: Repo) -> None:
    fire(repo, "claude-code", "UserPromptSubmit", payload=prompted(repo, session_id="other"))
    repo.write("b", "b\n")
    fire(repo, "auto", "UserPromptSubmit", payload=sent(repo, COPILOT))
    own = {"sessionId": COPILOT["session_id"], "cwd": "/TOP", "toolName": "create"}
    for args in (COPILOT_TOOL["tool_input"], json.dumps(COPILOT_TOOL["tool_input"])):
        fire(repo, "copilot", "preToolUse", payload=sent(repo, {**own, "toolArgs": args}))
        fire(repo, "auto", "PreToolUse", payload=sent(repo, COPILOT_TOOL))
    (line,) = refs(repo, "tool-states")
    assert repo.git("rev-list", "--first-parent", "--count", line.split()[1]).strip() == "2"
