"""The agents themselves start our server, as `serve --install` tells them, and call its tools."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.real.conftest import Session, prompt_of

pytestmark = pytest.mark.slow

Calls = dict[str, dict[str, Any]]
CALLS: Calls = {
    "apply_edit": {
        "path": "notes.py",
        "old_string": "def f():\n  return 1\n",
        "new_string": "def f():\n  return 2\n",
    },
    "checkpoint": {"label": "by the model"},
}
ONLY_USERS = {
    "cline": "Cline lists servers only in the home directory",
    "kimi": "Kimi Code starts a project's servers in trusted folders, which takes a terminal",
    "qwen": "Qwen Code starts a project's servers once they are approved, which takes a terminal",
}
EDITED = "def f():\n    return 2\n"


@pytest.fixture(autouse=True)
def _is_tried(session: Session) -> None:
    if not session.agent.served:
        pytest.skip(f"how {session.agent.name} calls tools of servers is not known here")


@pytest.mark.parametrize("scope", ["--project", "--user"])
def test_an_agent_edits_a_file_and_takes_a_checkpoint(session: Session, scope: str) -> None:
    agent, repo = session.agent, session.repo
    if scope == "--project" and agent.name in ONLY_USERS:
        pytest.skip(ONLY_USERS[agent.name])
    repo.commit("Add", **{"notes.py": EDITED.replace("2", "1")})
    session.boocode("serve", "--install", agent.name, scope)
    session.run("Please edit notes.py", agent.calls(CALLS))
    assert repo.read("notes.py").decode() == EDITED
    (checkpoint,) = session.checkpoints()
    assert (checkpoint["label"], checkpoint["agent"]) == ("by the model", agent.name)
    assert repo.git("show", f"{checkpoint['commit']}:notes.py") == EDITED


def test_an_agent_edits_the_lines_that_it_has_read(session: Session) -> None:
    """The other change is made meanwhile."""
    agent, repo = session.agent, session.repo
    repo.commit("Add", **{"notes.py": EDITED.replace("2", "1")})
    version = repo.git("hash-object", "notes.py")[:12]
    changes = [{"start_line": 2, "content": ["    return 2"]}]
    edit = {"path": "notes.py", "base": version, "changes": changes}
    session.boocode("serve", "--install", agent.name, "--user")
    session.run("Please look at notes.py", agent.calls({"read": {"path": "notes.py:1-2"}}))
    assert f"[notes.py#{version}]" in session.model.conversations[-1]
    repo.write("notes.py", f"import os\n\n\n{EDITED.replace('2', '1')}")
    session.run("Please edit notes.py", agent.calls({"apply_edit": edit}))
    assert repo.read("notes.py").decode() == f"import os\n\n\n{EDITED}"


def test_a_restore_in_a_turn_takes_the_files_only(resumable: Session) -> None:
    """The turn goes on, and so does the conversation that it is part of."""
    session = resumable
    session.hooks("install", "--user")
    session.boocode("serve", "--install", session.agent.name, "--user")
    session.turn("alpha")
    restore = session.agent.calls({"restore": {"checkpoint": "@"}})
    session.run(
        prompt_of("bravo"), [session.writing("bravo"), *restore, session.writing("charlie")]
    )
    assert session.files() == {"alpha", "charlie"}
    assert "the conversation stays as it is" in session.model.conversations[-1]
    session.turn("delta")
    assert session.files() == {"alpha", "charlie", "delta"}
    assert session.remembered("alpha", "bravo", "delta") == {"alpha", "bravo", "delta"}
    labels = [each["label"] for each in session.checkpoints()]
    assert labels == [prompt_of(word) for word in ("alpha", "bravo", "delta")]


def test_a_checkpoint_in_a_turn_is_of_its_session(resumable: Session) -> None:
    session = resumable
    session.hooks("install", "--user")
    session.boocode("serve", "--install", session.agent.name, "--user")
    session.run(prompt_of("alpha"), session.agent.calls({"checkpoint": {"label": "own"}}))
    turn, own = session.checkpoints()
    assert (own["label"], own["agent"]) == ("own", session.agent.name)
    assert own["session"] == turn["session"]


def test_codex_edits_unasked_and_does_not_restore(session: Session) -> None:
    """By the annotations of the tools, as it cannot ask anybody."""
    if session.agent.name != "codex":
        pytest.skip("no other agent decides by annotations")
    sandboxed = ("exec", "--sandbox", "workspace-write", "--dangerously-bypass-hook-trust")
    session.agent = session.agent._replace(first=(*sandboxed, "{prompt}"))
    session.repo.commit("Add", **{"notes.py": EDITED.replace("2", "1")})
    session.boocode("serve", "--install", "codex", "--user")
    calls = {**CALLS, "restore": {"checkpoint": session.boocode("checkpoint")["id"]}}
    session.run("Please edit notes.py", session.agent.calls(calls))
    assert session.repo.read("notes.py").decode() == EDITED


def test_what_the_tools_take_of_the_conversation(session: Session) -> None:
    """Of what the model is sent; the README lists what this prints."""
    big = "".join(f"line {number} of a file that is rewritten\n" for number in range(600))
    session.repo.commit("Add", big=big)
    session.run("Say hello", [])
    before = len(session.model.conversations[0].encode())
    session.boocode("serve", "--install", session.agent.name, "--user")
    session.run("Say hello", [])
    tools = len(session.model.conversations[-1].encode()) - before
    new = big.replace("line", "row")
    edit: Calls = {"apply_edit": {"path": "big", "content": new}}
    calls: list[Calls] = [{"checkpoint": {"label": "here"}}, edit, {"log": {}}, {"diff": {}}]
    sizes = []
    for call in calls:
        session.run("Go on", session.agent.calls(call))
        *_, asked, answered = session.model.conversations
        # Without the new text; some agents send the arguments as JSON in JSON.
        texts = (new.replace("\n", end) for end in (r"\n", r"\\n"))
        written = max(len(text) for text in texts if text in answered) if call is edit else 0
        sizes.append(len(answered) - len(asked) - written)
    print(f"{session.agent.name}: {tools:,} bytes of tools, of calls and answers {sizes}")
    assert tools < 12_000
    assert max(sizes) < 1_000
