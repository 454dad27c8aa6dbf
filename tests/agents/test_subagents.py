"""What subagents do belongs to the turn that started them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from tests.agents.kit import fire, logged, prompted, taken, turn
from tests.checkpoints.kit import refs, sound
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


class Delegating(NamedTuple):
    """An agent, its events of turns and tools, and what its payloads name; as real ones do."""

    name: str
    events: tuple[str, str, str, str]
    own: Mapping[str, Any]
    subagent: Mapping[str, Any]


_CLAUDE = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
AGENTS = (
    Delegating(
        "codex",
        _CLAUDE,
        {"session_id": "root", "turn_id": "t1"},
        {"session_id": "root", "turn_id": "t2", "agent_id": "a1", "agent_type": "default"},
    ),
    Delegating(
        "copilot",
        ("userPromptSubmitted", "preToolUse", "postToolUse", "agentStop"),
        {"sessionId": "root"},
        {"sessionId": "a1", "agentId": "a1", "parentAgentId": "root"},
    ),
    # A subagent of a subagent names only that one.
    Delegating(
        "copilot",
        ("userPromptSubmitted", "preToolUse", "postToolUse", "agentStop"),
        {"sessionId": "root"},
        {"sessionId": "a2", "agentId": "a2", "parentAgentId": "a1"},
    ),
    Delegating(
        "cline",
        ("TaskStart", "PreToolUse", "", "TaskComplete"),
        {"sessionContext": {"rootSessionId": "root"}, "agent_id": "a0", "parent_agent_id": None},
        {"sessionContext": {"rootSessionId": "root"}, "agent_id": "a1", "parent_agent_id": "a0"},
    ),
    Delegating(
        "opencode",
        ("chat.message", "tool.execute.before", "tool.execute.after", "session.idle"),
        {"sessionID": "root", "messageID": "m1"},
        {"sessionID": "a1", "messageID": "m2", "parentID": "root"},
    ),
)


CODEX = {"turn_id": "t1", "prompt": "delegate"}

each_agent = pytest.mark.parametrize("report", AGENTS, indirect=True, ids=lambda agent: agent.name)
# Cline reports no ends of tools.
each_with_ends = pytest.mark.parametrize(
    "report",
    [agent for agent in AGENTS if agent.events[2]],
    indirect=True,
    ids=lambda agent: agent.name,
)


@pytest.fixture
def report(request: pytest.FixtureRequest, repo: Repo) -> Callable[..., None]:
    """Reports the turn, a tool before and after it, or the end, of an agent or its subagent."""
    agent: Delegating = request.param

    def call(number: int, *, by_subagent: bool = False, **told: Any) -> None:
        ids = agent.subagent if by_subagent else agent.own
        directories = {"cwd": str(repo.top), "directory": str(repo.top)}
        payload = {**directories, "workspaceRoots": [str(repo.top)], **ids, **told}
        if event := agent.events[number]:
            fire(repo, agent.name, event, payload=payload)

    return call


def changed(repo: Repo, name: str) -> list[str]:
    shown = repo.boocode("show", name, "--json").json
    return sorted(each["path"] for each in shown["files"])


@each_agent
def test_a_turn_with_a_subagent_is_one_turn(repo: Repo, report: Callable[..., None]) -> None:
    report(0, prompt="delegate")
    repo.write("before", "x\n")
    report(0, by_subagent=True, prompt="write a file")
    repo.write("by-subagent", "x\n")
    report(3, by_subagent=True)
    assert refs(repo, "turn-ends") == []
    repo.write("after", "x\n")
    report(3)
    repo.write("by-hand", "x\n")
    (found,) = taken(repo)
    assert (found["label"], found["session"]) == ("delegate", "root")
    assert [ref.split()[0].rpartition("/")[2] for ref in refs(repo, "turn-ends")] == [found["id"]]
    assert changed(repo, "@") == ["after", "before", "by-subagent"]
    assert logged(repo) == []
    sound(repo)


@each_with_ends
def test_tools_of_a_subagent_are_those_of_its_turn(repo: Repo, report: Callable[..., None]) -> None:
    report(0, prompt="delegate")
    turn(repo, session_id="other", prompt="beside")
    report(1, by_subagent=True)
    repo.write("by-subagent", "x\n")
    report(2, by_subagent=True)
    repo.write("by-hand", "x\n")
    report(3)
    fire(repo, "claude-code", "Stop", payload=prompted(repo, session_id="other"))
    first, _ = taken(repo)
    assert [each["label"] for each in taken(repo)] == ["delegate", "beside"]
    assert [ref.split()[0].rpartition("/")[2] for ref in refs(repo, "tool-states")] == [first["id"]]
    assert changed(repo, "@~1") == ["by-subagent"]
    assert changed(repo, "@") == []


@each_agent
def test_a_subagent_of_an_unknown_turn_opens_no_other_turn(
    repo: Repo, report: Callable[..., None]
) -> None:
    report(0, prompt="delegate")
    report(3)
    turn(repo, session_id="other", prompt="beside")
    keys = ("session_id", "parentAgentId", "parentID", "rootSessionId")
    unknown = dict.fromkeys(keys, "unknown")
    for number in (1, 2):
        report(number, by_subagent=True, **unknown, sessionContext=unknown)
    assert refs(repo, "tool-states") == []
    assert [each["label"] for each in taken(repo)] == ["delegate", "beside"]


@each_agent
def test_a_subagent_of_an_unknown_turn_begins_none(repo: Repo, report: Callable[..., None]) -> None:
    turn(repo, session_id="other", prompt="beside")
    for number in range(4):
        report(number, by_subagent=True, prompt="write a file")
    assert [each["label"] for each in taken(repo)] == ["beside"]


def test_a_subagent_of_one_of_two_turns_is_given_to_none(repo: Repo) -> None:
    for session in ("a", "b"):
        fire(repo, "codex", "UserPromptSubmit", payload={**CODEX, "session_id": session})
    tool = {"session_id": "sub", "agent_id": "x", "tool_name": "Write", "tool_use_id": "t"}
    fire(repo, "codex", "PreToolUse", payload={**CODEX, **tool})
    repo.write("by-subagent", "x\n")
    fire(repo, "codex", "PostToolUse", payload={**CODEX, **tool})
    for session in ("a", "b"):
        fire(repo, "codex", "Stop", payload={**CODEX, "session_id": session})
    assert [changed(repo, name) for name in ("@~1", "@")] == [[], []]
    assert logged(repo) == []
