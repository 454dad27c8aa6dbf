"""A restore that an agent asks for in its own turn leaves the conversation alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agents.kit import fire, prompted, turn
from tests.repo_kit import Repo
from tests.server.kit import Client


class Talk:
    """A worktree with hooks, whose conversations a callback takes back."""

    def __init__(self, repo: Repo, client: Client, directory: Path) -> None:
        self.repo, self.client = repo, client
        self._log = directory / "log"
        self._log.touch()
        callback = directory / "callback"
        answer = '{"messages_deleted": 1, "backend_reset": true}'
        callback.write_text(f"#!/bin/sh\ncat >>'{self._log}'; echo '{answer}'\n")
        callback.chmod(0o755)
        repo.git("config", "boocode.callback", str(callback))

    def begin(self, session: str = "s1") -> None:
        turn(self.repo, session_id=session, prompt=f"write in {session}")

    def end(self, session: str = "s1") -> None:
        fire(self.repo, "claude-code", "Stop", payload=prompted(self.repo, session_id=session))

    def events(self) -> list[Any]:
        """The events that the callback was called for, which are forgotten then."""
        text = self._log.read_text()
        self._log.write_text("")
        found, decoder = [], json.JSONDecoder()
        while text.strip():
            value, end = decoder.raw_decode(text.lstrip())
            found.append(value["event"])
            text = text.lstrip()[end:]
        return found


@pytest.fixture
def talk(work: Repo, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """A turn that has changed a file, and not ended."""
    made = Talk(work, client, tmp_path_factory.mktemp("callback"))
    made.begin()
    work.write("a", "changed\n")
    return made


def test_a_restore_takes_the_files_only(talk: Talk) -> None:
    answer = talk.client.succeed("restore", checkpoint="@")
    assert talk.repo.read("a") == b"one\ntwo\nthree\n"
    assert answer["conversation_kept"] is True
    assert (answer["messages_deleted"], answer["archived"], talk.events()) == (0, [], [])
    talk.repo.write("a", "changed again\n")
    talk.end()
    answer = talk.client.succeed("restore", checkpoint="@")
    assert "conversation_kept" not in answer
    assert talk.events() == ["prepare", "trim"]


def test_a_dry_run_says_so_as_well(talk: Talk) -> None:
    answer = talk.client.succeed("restore", checkpoint="@", dry_run=True)
    assert answer["conversation_kept"] is True
    assert talk.repo.read("a") == b"changed\n"


def test_the_conversation_alone_is_refused(talk: Talk) -> None:
    error = talk.client.refuse("restore", checkpoint="@", conversation_only=True)
    # Without the conversation, nothing would be left to do.
    assert (error["code"], "next" in error) == ("locked", False)
    assert "claude-code is in a turn of it" in error["message"]
    assert "--conversation-only'" in error["hint"]
    assert talk.events() == []
    talk.end()
    assert talk.client.succeed("restore", checkpoint="@", conversation_only=True)
    assert talk.events() == ["prepare", "trim"]


def test_a_turn_of_another_session_does_not_matter(talk: Talk) -> None:
    talk.end()
    talk.begin("s2")
    first = talk.client.succeed("log")["checkpoints"][-1]["id"]
    assert "conversation_kept" not in talk.client.succeed("restore", checkpoint=first)
    assert talk.events() == ["prepare", "trim"]


def test_an_undo_and_a_redo_take_the_files_only(talk: Talk) -> None:
    talk.end()
    talk.repo.boocode("restore", "@")
    assert talk.events() == ["prepare", "trim"]
    talk.begin()
    for step, text in (("undo", b"changed\n"), ("undo", b"one\ntwo\nthree\n")):
        answer = talk.client.succeed(step, force=["newer-turns", "later-changes"])
        assert talk.repo.read("a") == text
        assert answer.get("conversation_kept", False) is (text == b"changed\n")
    assert talk.events() == []


def test_an_undo_of_the_conversation_alone_is_refused(talk: Talk) -> None:
    talk.client.succeed("restore", checkpoint="@")
    talk.repo.write("a", "changed again\n")
    talk.end()
    talk.client.succeed("restore", checkpoint="@", conversation_only=True)
    assert talk.events() == ["prepare", "trim"]
    talk.begin()
    # The undo of the files would be that of the earlier restore.
    error = talk.client.refuse("undo", force=["newer-turns", "later-changes"])
    assert error["code"] == "locked"
    assert talk.repo.read("a") == b"changed again\n"


def test_the_command_line_restores_both(talk: Talk) -> None:
    assert talk.repo.boocode("restore", "@", "--json").json["messages_deleted"] == 1
    assert talk.events() == ["prepare", "trim"]


def test_a_model_is_told(talk: Talk) -> None:
    talk.client.name = "claude-code"
    talk.client.begin()
    result = talk.client.ask("tools/call", name="restore", arguments={"checkpoint": "@"})
    talk.client.name = ""
    text = result["content"][0]["text"]
    assert "the conversation stays as it is" in text
    found = re.search("'git boocode (restore .* --conversation-only)'", text)
    assert found, text
    talk.end()
    talk.repo.boocode(*found[1].split())
    assert talk.events() == ["prepare", "trim"]


def test_a_model_is_told_of_the_open_turn_of_another_session_only(talk: Talk) -> None:
    talk.client.name = "claude-code"
    talk.client.begin()

    def text() -> str:
        arguments = {"checkpoint": first, "dry_run": True}
        result = talk.client.ask("tools/call", name="restore", arguments=arguments)
        return str(result["content"][0]["text"])

    first = json.loads(talk.repo.boocode("log", "--json").out)["checkpoints"][0]["id"]
    alone = text()
    talk.begin("s2")
    talk.repo.write("new", "x\n")
    beside = text()
    talk.client.name = ""
    assert "the conversation stays as it is" in alone
    assert "has not ended" not in alone
    assert "the conversation stays as it is" in beside
    assert "has not ended; its agent may still write files" in beside


def test_a_turn_that_the_client_begins_has_its_identity(work: Repo, client: Client) -> None:
    whose = {"session": "A", "agent": "toy", "chat": "c1", "meta": {"model": ["large"]}}
    first = client.succeed("turn", action="begin", message="fix", message_id="m1", **whose)["id"]
    second = client.succeed("turn", action="begin", session="B")["id"]
    shown = client.succeed("show", name=first)["checkpoint"]
    assert {key: shown[key] for key in whose} == whose
    assert (shown["label"], shown["message"]) == ("fix", "m1")
    edit = {"old_string": "two", "new_string": "2"}
    record = client.succeed("apply_edit", path="a", session="A", **edit)["id"]
    recorded = json.loads(work.git("log", "-1", "--format=%b", f"refs/boocode/edits/{record}"))
    assert (recorded["session"], recorded["agent"]) == ("A", "toy")
    assert client.refuse("turn", action="end")["next"][0]["arguments"] == {
        "action": "end",
        "checkpoint": first,
    }
    for checkpoint in (first, second):
        assert client.succeed("turn", action="end", checkpoint=checkpoint)["id"] == checkpoint
    assert client.refuse("turn", action="begin", checkpoint=first)["code"] == "usage"


def test_a_forced_restore_in_a_turn_without_a_session_takes_the_files_only(
    work: Repo, client: Client, tmp_path: Path
) -> None:
    talk = Talk(work, client, tmp_path)
    whose = {"session": "A", "agent": "toy", "chat": "c1", "message": "m1"}
    taken = client.succeed("checkpoint", **whose)["id"]
    client.succeed("turn", action="begin", message="go on")
    work.write("a", "changed\n")
    offered = client.refuse("restore", checkpoint=taken)["next"][-1]["arguments"]
    answer = client.succeed("restore", checkpoint=taken, **offered)
    assert work.read("a") == b"one\ntwo\nthree\n"
    assert (answer["conversation_kept"], talk.events()) == (True, [])
    client.succeed("turn", action="end")
    work.write("a", "changed\n")
    assert not client.succeed("restore", checkpoint=taken).get("conversation_kept")
    assert talk.events()


def test_a_forced_restore_in_its_own_turn_takes_the_files_only(
    work: Repo, client: Client, tmp_path: Path
) -> None:
    talk = Talk(work, client, tmp_path)
    client.succeed("turn", action="begin", session="A", agent="toy", chat="c1", message_id="m1")
    work.write("a", "changed\n")
    answer = client.succeed("restore", checkpoint="@", force=["running-turn"])
    assert work.read("a") == b"one\ntwo\nthree\n"
    assert (answer["conversation_kept"], talk.events()) == (True, [])
