"""What is shipped for agents that run or load files of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.agent import Program
from git_boocode.agents.registry import AGENTS
from git_boocode.repo.files import shipped_file
from tests.agents.kit import LABEL, fire, logged, prompted, recorded, taken
from tests.checkpoints.kit import refs
from tests.repo_kit import Repo

ANSWER = b'{"cancel":false}\n'


def template(name: str, command: str, *, seconds: float = 10, per_tool: bool = True) -> str:
    """A shipped file, as it is installed."""
    text = Path(shipped_file(f"agents/{name}")).read_text()
    values = {"command": command, "command_json": json.dumps(command)}
    values |= {"seconds": str(seconds), "per_tool": json.dumps(per_tool)}
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def test_every_template_is_there() -> None:
    for agent in AGENTS.values():
        if isinstance(agent.config, Program):
            text = Path(shipped_file(f"agents/{agent.config.template}")).read_text()
            assert text.count("{command") == 1
            assert "git-boocode: made by 'git boocode hooks install'" in text


def cline(repo: Repo, command: str) -> subprocess.CompletedProcess[bytes]:
    """Run Cline's hook before a turn."""
    path = repo.write(".git/UserPromptSubmit", template("cline", command), 0o755)
    payload = recorded(repo, "cline", "UserPromptSubmit")
    return subprocess.run([path], cwd=repo.top, input=payload, capture_output=True)


def test_the_hook_of_cline(repo: Repo) -> None:
    done = cline(repo, "git boocode hook cline UserPromptSubmit")
    assert (done.returncode, done.stdout, done.stderr) == (0, ANSWER, b"")
    assert taken(repo)[0]["label"] == LABEL


@pytest.mark.parametrize("command", ["/nowhere/git-boocode hook cline", "false", "echo garbage"])
def test_cline_is_answered_whatever_happens(command: str, repo: Repo) -> None:
    done = cline(repo, command)
    assert (done.returncode, done.stdout, done.stderr) == (0, ANSWER, b"")


DRIVER = """
import { GitBoocode } from "./boocode.mjs"
const PARENTS = { older: "s" }
const get = async ({ path }) => ({ data: { id: path.id, parentID: PARENTS[path.id] } })
const client = { session: { get } }
const hooks = await GitBoocode({ directory: process.argv[2], client }, JSON.parse(process.argv[4]))
console.log(Object.keys(hooks).join())
for (const [name, input, output] of JSON.parse(process.argv[3])) await hooks[name](input, output)
"""


def opencode(repo: Repo, tmp_path: Path, *calls: Any, **options: Any) -> str:
    """Let the plugin of opencode be told of something; the hooks that it has."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine")
    command = options.pop("command", "git boocode hook opencode")
    shutil.copy(shipped_file("agents/opencode/index.ts"), tmp_path / "boocode.mjs")
    per_tool = options.pop("per_tool", True)
    given = {"command": command, "seconds": 10, "perTool": per_tool, **options}
    (tmp_path / "driver.mjs").write_text(DRIVER)
    words: list[str] = [node, str(tmp_path / "driver.mjs"), str(repo.top), json.dumps(calls)]
    words.append(json.dumps(given))
    done = subprocess.run(words, capture_output=True, text=True, cwd=repo.top)
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout.strip())


PARTS = [{"type": "text", "text": "do it"}, {"type": "file"}, {"type": "text", "synthetic": True}]
MESSAGE = ("chat.message", {"sessionID": "s"}, {"message": {"id": "m"}, "parts": PARTS})


def test_the_plugin_of_opencode(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "boocode.perTool", "true")
    repo.write("a", "a\n")
    path = str(repo.top / "a")
    tool = ("tool.execute.before", {"sessionID": "s", "tool": "edit"}, {"args": {"filePath": path}})
    idle = {"event": {"type": "session.idle", "properties": {"sessionID": "s"}}}
    other = {"event": {"type": "session.idle", "properties": {"sessionID": "t"}}}
    hooks = opencode(repo, tmp_path, MESSAGE, tool, ("event", idle), ("event", other))
    assert hooks == "chat.message,event,tool.execute.before,tool.execute.after"
    first, second = taken(repo)
    assert (first["session"], first["message"], first["label"]) == ("s", "m", "do it")
    assert (second["message"], second["trigger"]) == ("m", "tool.execute.before")
    assert second["partial"]["paths"] == [":(top,literal)a"]
    (end,) = refs(repo, "turn-ends")
    assert end.split()[0].endswith(first["id"])
    assert logged(repo) == []


def test_what_a_subagent_of_opencode_does_belongs_to_the_turn_that_started_it(
    repo: Repo, tmp_path: Path
) -> None:
    repo.write("a", "a\n")
    fire(repo, "claude-code", "UserPromptSubmit", payload=prompted(repo))
    created = {"type": "session.created", "properties": {"info": {"id": "t", "parentID": "s"}}}
    call = {"sessionID": "t", "tool": "edit", "callID": "c"}
    opencode(
        repo,
        tmp_path,
        MESSAGE,
        ("event", {"event": created}),
        ("chat.message", {"sessionID": "t"}, {"message": {"id": "n"}, "parts": PARTS}),
        ("tool.execute.before", call, {"args": {"filePath": str(repo.top / "a")}}),
        ("tool.execute.after", call, {"output": "done"}),
        ("event", {"event": {"type": "session.idle", "properties": {"sessionID": "t"}}}),
    )
    assert [found["session"] for found in taken(repo)] == ["s1", "s"]
    (name,) = refs(repo, "tool-states")
    assert name.split()[0].endswith(taken(repo)[1]["id"])
    bodies = repo.git("log", "-2", "--first-parent", "--format=%b%x00", name.split()[1])
    states = [json.loads(body) for body in bodies.split("\0") if body.strip()]
    tools = [{**state["tool"], "since": ""} for state in reversed(states)]
    same = {"call": "c", "name": "edit", "files": ["a"], "since": ""}
    assert tools == [{"phase": "before", **same}, {"phase": "after", **same}]
    assert {(state["session"], state["turn"]) for state in states} == {("s", taken(repo)[1]["id"])}
    assert refs(repo, "turn-ends") == []
    assert logged(repo) == []


def test_a_subagent_of_opencode_that_is_older_than_the_program_has_no_turns(
    repo: Repo, tmp_path: Path
) -> None:
    message = ("chat.message", {"sessionID": "older"}, {"message": {"id": "n"}, "parts": PARTS})
    call = {"sessionID": "older", "tool": "edit", "callID": "c"}
    edit = ("tool.execute.before", call, {"args": {"filePath": str(repo.top / "a")}})
    fire(repo, "claude-code", "UserPromptSubmit", payload=prompted(repo))
    opencode(repo, tmp_path, MESSAGE, message, edit)
    assert [found["session"] for found in taken(repo)] == ["s1", "s"]
    (name,) = refs(repo, "tool-states")
    assert name.split()[0].endswith(taken(repo)[1]["id"])


@pytest.mark.parametrize("command", ["/nowhere/git-boocode", "exec sleep 100 #"])
def test_the_plugin_never_stops_a_turn(command: str, repo: Repo, tmp_path: Path) -> None:
    calls = [("chat.message", given, given) for given in (None, {}, {"parts": 7, "message": []})]
    calls += [("event", {"event": given}, None) for given in (None, {"type": "session.idle"})]
    hooks = opencode(repo, tmp_path, *calls, command=command, seconds=0.1, per_tool=False)
    assert hooks == "chat.message,event"
