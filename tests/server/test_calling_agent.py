"""A checkpoint records the agent that asks for it, and its session."""

from __future__ import annotations

import json
import sqlite3
import time
from typing import Any

import pytest

from tests.agents.kit import fire, prompted, turn
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import Client


def recorded(repo: Repo, client: Client, name: str, **given: Any) -> tuple[str, str]:
    """The agent and the session of a checkpoint that an agent takes."""
    client.name = name
    client.begin()
    client.ask("tools/call", name="checkpoint", arguments=given)
    client.name = ""
    time.sleep(0.002)
    newest = repo.boocode("log", "-1", "--json").json["checkpoints"][0]
    return newest["agent"] or "", newest["session"] or ""


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("claude-code", "claude-code"),
        ("Visual Studio Code", "vscode"),
        ("some-agent", "some-agent"),
        ("a\0b", ""),
        *(
            pytest.param(name, agent, marks=pytest.mark.slow)
            for name, agent in (
                ("codex-mcp-client", "codex"),
                ("gemini-cli-mcp-client", "gemini"),
                ("qwen-cli-mcp-client-boocode", "qwen"),
                ("copilot-cli", "copilot"),
                ("@cline/core", "cline"),
                ("opencode", "opencode"),
                ("cursor-vscode", "cursor"),
                ("Zed", "zed"),
                ("", ""),
            )
        ),
    ],
)
@pytest.mark.variants
def test_the_agent_is_recorded(work: Repo, own_client: Client, name: str, agent: str) -> None:
    assert recorded(work, own_client, name) == (agent, "")


def test_what_the_call_gives_is_recorded(work: Repo, own_client: Client) -> None:
    turn(work, session_id="s1")
    assert recorded(work, own_client, "claude-code", agent="cursor") == ("cursor", "")
    assert recorded(work, own_client, "claude-code", session="s7") == ("claude-code", "s7")
    assert recorded(work, own_client, "claude-code", agent="claude-code")[1] == "s1"


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("CLAUDE_CODE_SESSION_ID", "claude-code"),
        ("QWEN_CODE_SESSION_ID", "qwen-cli-mcp-client-boocode"),
        ("COPILOT_AGENT_SESSION_ID", "copilot-cli"),
    ],
)
@pytest.mark.variants
def test_the_session_of_the_environment(work: Repo, serve: Serve, variable: str, name: str) -> None:
    client = serve(env={variable: "s5"})
    assert recorded(work, client, name)[1] == "s5"
    assert recorded(work, client, "codex-mcp-client")[1] == ""


def test_the_only_session_in_a_turn(work: Repo, serve: Serve) -> None:
    client = serve(env={"CLAUDE_CODE_SESSION_ID": "s1"})
    turn(work, session_id="s2")
    # The agent that started the server has begun another session.
    assert recorded(work, client, "claude-code")[1] == "s2"
    turn(work, session_id="s1")
    assert recorded(work, client, "claude-code")[1] == "s1"
    fire(work, "claude-code", "Stop", payload=prompted(work, session_id="s1"))
    turn(work, session_id="s3")
    # It is one of two.
    assert recorded(work, client, "claude-code")[1] == ""
    assert recorded(work, client, "codex-mcp-client")[1] == ""


def test_an_edit_belongs_to_the_open_turn_of_the_agent(work: Repo, own_client: Client) -> None:
    work.boocode("turn", "begin", "--session", "s1", "--agent", "some-agent")
    work.boocode("turn", "begin", "--session", "s2", "--agent", "other")
    own_client.name = "some-agent"
    own_client.begin()
    edit = {"path": "a", "old_string": "one", "new_string": "1"}
    own_client.ask("tools/call", name="apply_edit", arguments=edit)
    edit = {"path": "a", "old_string": "two", "new_string": "2"}
    own_client.ask("tools/call", name="apply_edit", arguments={**edit, "session": "s2"})
    bodies = work.git("for-each-ref", "--format=%(contents:body)", "refs/boocode/edits").split(
        "\n\n"
    )
    records = [json.loads(body) for body in bodies if body]
    whose = [(each["session"], each["agent"]) for each in records]
    assert whose == [("s1", "some-agent"), ("s2", "other")]


def test_a_checkpoint_that_does_not_say_where_to_cut_a_conversation(
    work: Repo, own_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = work.top / ".git" / "data"
    (data / "opencode").mkdir(parents=True)
    sqlite3.connect(data / "opencode" / "opencode.db").close()
    (data / "opencode" / "opencode.db").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    assert recorded(work, own_client, "opencode", session="s1") == ("opencode", "s1")
    work.write("a", "changed\n")
    done = work.boocode("restore", "@")
    assert (done.code, work.read("a")) == (0, b"one\ntwo\nthree\n"), done.err
    assert "the conversation was left alone" in done.err
