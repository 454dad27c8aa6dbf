"""Hooks record the states around tool calls while another turn of the worktree is open."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import git_boocode
from git_boocode.agents.agent import Agent
from git_boocode.agents.registry import AGENTS
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_work import path_steps, work_of
from git_boocode.checkpoints.turns import CurrentTree
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from tests.agents.kit import fire, logged, prompted, recorded, taken
from tests.checkpoints.kit import refs, sound
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow
WITH_TOOLS = [agent for agent in AGENTS.values() if agent.tool_end]


def claude(repo: Repo, session: str, event: str, **more: Any) -> None:
    payload = prompted(repo, session_id=session, hook_event_name=event, **more)
    if event != "UserPromptSubmit":
        del payload["prompt"]
    fire(repo, "claude-code", event, payload=payload)


def begin(repo: Repo, session: str) -> str:
    claude(repo, session, "UserPromptSubmit")
    return str(taken(repo)[-1]["id"])


def bash(repo: Repo, session: str, work: Callable[[], object], call: str = "1") -> None:
    tool = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": call}
    claude(repo, session, "PreToolUse", **tool)
    work()
    claude(repo, session, "PostToolUse", **tool)


def changed(turn: str) -> dict[str, list[str]]:
    """By path, the new text of each step of a turn."""
    repository = Repository.discover()
    with temporary_objects(repository):
        catalog = Catalog(repository)
        work = work_of(catalog, catalog.find(turn), CurrentTree(repository))
        assert work.shared == {}
        git = repository.git
        return {
            path: [git.run("cat-file", "blob", each.change.id).decode() for each in steps]
            for path, steps in path_steps(repository, work).items()
        }


def phases(repo: Repo, turn: str) -> list[tuple[str, str, list[str]]]:
    """The states around the tool calls of a turn: their phase, tool and files."""
    name = f"refs/boocode/tool-states/{turn}"
    if name not in repo.git("for-each-ref", "--format=%(refname)", name).split():
        return []
    bodies = repo.git(
        "log", "--first-parent", "--format=%b%x00", name, "--not", f"{turn_ref(turn)}"
    )
    tools = [json.loads(body)["tool"] for body in bodies.split("\0") if body.strip()]
    return [(tool["phase"], tool["name"], tool["files"]) for tool in reversed(tools)]


def turn_ref(turn: str) -> str:
    return f"refs/boocode/checkpoints/{turn}"


def test_calls_are_bracketed_only_while_another_turn_is_open(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n", c="c\n", hand="hand\n")
    first = begin(repo, "one")
    bash(repo, "one", lambda: repo.write("a", "one, alone\n"))
    assert refs(repo, "tool-states") == []
    second = begin(repo, "two")
    bash(repo, "one", lambda: repo.write("b", "one\n"))
    repo.write("hand", "by hand\n")
    bash(repo, "two", lambda: repo.write("c", "two\n"))
    claude(repo, "one", "Stop")
    bash(repo, "two", lambda: repo.write("d", "two, alone\n"))
    claude(repo, "two", "Stop")
    assert phases(repo, first) == [("before", "Bash", []), ("after", "Bash", [])]
    assert phases(repo, second) == phases(repo, first)
    assert changed(first) == {"a": ["one, alone\n"], "b": ["one\n"]}
    assert changed(second) == {"c": ["two\n"], "d": ["two, alone\n"]}
    assert logged(repo) == []
    sound(repo)


def test_a_call_that_ran_when_the_other_turn_began(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    first = begin(repo, "one")
    begun: list[str] = []

    def work() -> None:
        repo.write("a", "one\n")
        begun.append(begin(repo, "two"))
        repo.write("b", "one\n")

    bash(repo, "one", work)
    repo.write("hand", "by hand\n")
    claude(repo, "two", "Stop")
    claude(repo, "one", "Stop")
    assert phases(repo, first) == [("after", "Bash", [])]
    assert changed(first) == {"a": ["one\n"], "b": ["one\n"]}
    assert changed(begun[0]) == {}


def test_the_other_turn_ends_during_a_call(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    first, second = begin(repo, "one"), begin(repo, "two")

    def work() -> None:
        repo.write("a", "one\n")
        claude(repo, "two", "Stop")
        repo.write("b", "one\n")

    bash(repo, "one", work)
    assert [phase for phase, *_ in phases(repo, first)] == ["before", "after"]
    assert changed(first) == {"a": ["one\n"], "b": ["one\n"]}
    assert changed(second) == {}


def test_another_turn_begins_and_ends_during_a_call(repo: Repo) -> None:
    repo.commit(a="a\n")
    first = begin(repo, "one")
    begun: list[str] = []

    def work() -> None:
        begun.append(begin(repo, "two"))
        bash(repo, "two", lambda: (repo.write("a", "one\n"), repo.write("b", "two\n")))
        claude(repo, "two", "Stop")

    bash(repo, "one", work)
    claude(repo, "one", "Stop")
    assert phases(repo, first) == [("after", "Bash", [])]
    done = repo.boocode("revert", begun[0], "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "shared")
    assert (repo.read("a"), repo.read("b")) == (b"one\n", b"two\n")


def test_a_host_begins_and_ends_a_turn_during_a_call(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    turn = begin(repo, "one")

    def work() -> None:
        host = git_boocode.turn_begin(str(repo.top), session="h", agent="host").id
        repo.write("a", "one\n")
        edit = {"path": "b", "old_string": "b", "new_string": "host"}
        git_boocode.apply_edits(edit, str(repo.top), session="h")
        git_boocode.turn_end(str(repo.top), turn=host)

    bash(repo, "one", lambda: repo.write("a", "first\n"))
    bash(repo, "one", work)
    claude(repo, "one", "Stop")
    assert changed(turn) == {"a": ["one\n"]}
    bash(repo, "one", lambda: None)
    assert [phase for phase, *_ in phases(repo, turn)] == ["after"]


def test_the_turn_of_a_host_is_another_one_as_well(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n", hand="hand\n")
    turn = begin(repo, "one")
    bash(repo, "one", lambda: repo.write("a", "one, alone\n"))
    assert refs(repo, "tool-states") == []
    host = git_boocode.turn_begin(str(repo.top), session="h", agent="host").id
    bash(repo, "one", lambda: repo.write("a", "one, beside\n"))
    edit = {"path": "b", "old_string": "b", "new_string": "host"}
    git_boocode.apply_edits(edit, str(repo.top), session="h")
    repo.write("hand", "by hand\n")
    bash(repo, "one", lambda: repo.write("a", "one, at last\n"))
    git_boocode.turn_end(str(repo.top), turn=host)
    claude(repo, "one", "Stop")
    assert changed(turn) == {"a": ["one, at last\n"]}
    done = git_boocode.revert(host, str(repo.top), paths=["b"])
    assert (repo.read("a"), repo.read("b")) == (b"one, at last\n", b"b\n")
    assert [each.path for each in done.changed] == ["b"]


@pytest.mark.parametrize("is_first", [True, False])
def test_what_ran_beside_a_dropped_turn_is_unclear(*, is_first: bool, repo: Repo) -> None:
    repo.commit(a="a\n")
    first = begin(repo, "one")
    second = begin(repo, "two")
    tool = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "1"}
    for session, event in (("one", "Pre"), ("two", "Pre"), ("one", "Post"), ("two", "Post")):
        claude(repo, session, f"{event}ToolUse", **tool)
        repo.write("a", f"{repo.read('a').decode()}{session}\n")
    dropped, kept = (first, second) if is_first else (second, first)
    assert repo.boocode("drop", "--even-needed", dropped).code == 0
    # The end of the other one was never recorded.
    done = repo.boocode("revert", kept, "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "shared")


@pytest.mark.parametrize("agent", WITH_TOOLS, ids=lambda agent: agent.name)
def test_each_agent_brackets_its_tools(agent: Agent, repo: Repo) -> None:
    repo.commit(a="a\n")
    file = "src/main.py" if agent.name in ("cursor", "windsurf") else "greet.py"
    begin(repo, "another")
    before = recorded(repo, agent.name, agent.tool)
    # A session of which only tools are reported begins with the first one.
    fire(repo, agent.name, agent.tool, payload=before)
    after = before.replace(agent.tool.encode(), agent.tool_end.encode())
    fire(repo, agent.name, agent.tool_end, payload=after)
    for event, payload in ((agent.tool, before), (agent.tool_end, after)):
        fire(repo, agent.name, event, payload=payload)
    other, begun = taken(repo)
    assert (begun["agent"], begun["trigger"]) == (agent.name, agent.tool)
    found = phases(repo, begun["id"])
    assert [phase for phase, *_ in found] == ["after", "before", "after"]
    assert {tuple(files) for *_, files in found} == {(file,)}
    assert phases(repo, other["id"]) == []
    assert logged(repo) == []


@pytest.mark.parametrize("value", ["never", "false"])
def test_nothing_is_bracketed_where_that_is_not_wanted(value: str, repo: Repo) -> None:
    repo.git("config", "boocode.perTool", value)
    begin(repo, "one"), begin(repo, "two")
    bash(repo, "one", lambda: repo.write("a", "one\n"))
    assert refs(repo, "tool-states") == []
    assert logged(repo) == []


def test_always_takes_a_checkpoint_of_the_files_as_well(repo: Repo) -> None:
    repo.git("config", "boocode.perTool", "always")
    repo.commit(a="a\n")
    first = begin(repo, "one")
    tool = {"tool_name": "Edit", "tool_input": {"file_path": str(repo.top / "a")}}
    claude(repo, "one", "PreToolUse", **tool)
    assert len(taken(repo)) == 2
    assert refs(repo, "tool-states") == []
    begin(repo, "two")
    claude(repo, "one", "PreToolUse", **tool, tool_use_id="2")
    claude(repo, "one", "PostToolUse", **tool, tool_use_id="2")
    assert len(taken(repo)) == 4
    assert phases(repo, first) == [("before", "Edit", ["a"]), ("after", "Edit", ["a"])]


def test_turns_that_call_no_tool_beside_others_changed_nothing(repo: Repo) -> None:
    repo.commit(a="a\n", hand="hand\n")
    first = begin(repo, "one")
    bash(repo, "one", lambda: repo.write("a", "one\n"))
    second = begin(repo, "two")
    repo.write("hand", "by hand\n")
    claude(repo, "two", "Stop")
    claude(repo, "one", "Stop")
    assert changed(first) == {"a": ["one\n"]}
    assert changed(second) == {}


def test_show_names_what_is_unclear(repo: Repo) -> None:
    repo.commit(a="a\n")
    first, second = begin(repo, "one"), begin(repo, "two")
    tool = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "1"}
    claude(repo, "one", "PreToolUse", **tool)
    claude(repo, "two", "PreToolUse", **tool)
    repo.write("a", "whose\n")
    claude(repo, "one", "PostToolUse", **tool)
    claude(repo, "two", "PostToolUse", **tool)
    claude(repo, "one", "Stop")
    shown = repo.boocode("show", first, "--json").json
    assert (shown["files"], shown["shared"]) == ([], [{"path": "a", "turns": [second]}])
    listed = {row["id"]: row for row in repo.boocode("log", "--json").json["checkpoints"]}
    assert listed[first]["shared"] == [{"path": "a", "turns": [second]}]
    assert f"shared      a, also of {second[:8]}" in repo.boocode("show", first).out
    done = repo.boocode("revert", first, "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "shared")
    assert repo.read("a") == b"whose\n"


def test_one_of_two_fetched_turns_is_unclear(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    first, second = begin(repo, "one"), begin(repo, "two")
    bash(repo, "two", lambda: repo.write("a", "two\n"))
    claude(repo, "two", "Stop")
    claude(repo, "one", "Stop")
    repo.git("init", "-q", "--bare", str(tmp_path / "remote"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote"))
    assert repo.boocode("push", "origin", first).code == 0
    for turn in (first, second):
        assert repo.boocode("drop", "--even-needed", turn).code == 0
    assert repo.boocode("fetch", "origin").code == 0
    shown = repo.boocode("show", first, "--json").json
    assert (shown["files"], shown["shared"]) == ([], [{"path": "a", "turns": [second]}])
    refused = repo.boocode("pick", first)
    assert refused.code == 1
    assert "nothing says by which of them" in refused.err


def test_tools_that_only_read_are_not_bracketed(repo: Repo) -> None:
    begin(repo, "one"), begin(repo, "two")
    tool = {"tool_name": "Read", "tool_input": {"file_path": str(repo.top / "a")}}
    claude(repo, "one", "PreToolUse", **tool)
    claude(repo, "one", "PostToolUse", **tool)
    assert refs(repo, "tool-states") == []


def test_a_turn_that_was_killed_ends_with_the_next_one_of_its_session(repo: Repo) -> None:
    begin(repo, "killed"), begin(repo, "one")
    repo.write("a", "0\n")
    begin(repo, "killed")
    claude(repo, "killed", "Stop")
    # A call might have run since before that turn began.
    bash(repo, "one", lambda: repo.write("a", "1\n"))
    (name,) = refs(repo, "tool-states")
    bash(repo, "one", lambda: repo.write("a", "2\n"))
    assert refs(repo, "tool-states") == [name]


def test_the_states_go_with_the_checkpoint_of_their_turn(repo: Repo) -> None:
    repo.commit(a="a\n")
    first, second = begin(repo, "one"), begin(repo, "two")
    bash(repo, "one", lambda: repo.write("a", "1\n"))
    bash(repo, "two", lambda: repo.write("a", "2\n"))
    repo.git("gc", "-q", "--prune=now")
    assert len(refs(repo, "tool-states")) == 2
    assert changed(first) == {"a": ["1\n"]}
    assert repo.boocode("drop", "--even-needed", first).code == 0
    (left,) = refs(repo, "tool-states")
    assert left.split()[0].endswith(second)
    assert repo.boocode("doctor").code == 0
    sound(repo)


def test_log_show_and_diff_agree_on_what_is_a_turn_s_own(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n", both="1\n2\n3\n4\n5\n6\n7\n", hand="hand\n")
    first, second = begin(repo, "one"), begin(repo, "two")
    bash(repo, "one", lambda: repo.write("both", "one\n2\n3\n4\n5\n6\n7\n"))
    bash(repo, "two", lambda: repo.write("both", "one\n2\n3\n4\n5\n6\ntwo\n"))
    repo.write("hand", "by hand\n")
    bash(repo, "one", lambda: repo.write("both", "one\nmore\n3\n4\n5\n6\ntwo\n"))
    bash(repo, "two", lambda: repo.write("b", "two\n"))
    claude(repo, "one", "Stop")
    claude(repo, "two", "Stop")
    rows = {row["id"]: row for row in repo.boocode("log", "--json").json["checkpoints"]}
    counts = {turn: [rows[turn][key] for key in ("files", "added", "removed")] for turn in rows}
    assert counts == {first: [1, 2, 2], second: [2, 2, 2]}
    diff = repo.boocode("diff", "--turn", first, "--json").json
    assert diff["files"] == [{"path": "both", "action": "modify"}]
    assert "+one\n+more\n 3" in diff["diff"]
    assert "two" not in diff["diff"].replace(" two", "")
    shown = repo.boocode("show", second, "--json").json
    assert [file["path"] for file in shown["files"]] == ["b", "both"]
    assert (shown["before"], shown["after"], shown["end"]) == (None, None, "recorded")
    assert "2 files" in repo.boocode("show", second).out
    assert [r["id"] for r in repo.boocode("log", "--json", "--", "both").json["checkpoints"]] == [
        second,
        first,
    ]
    ranges = repo.boocode("blame", "both", "--json").json["ranges"]
    wrote = [(r["source"], r["checkpoint_id"], r["start_line"], r["end_line"]) for r in ranges]
    assert wrote[0] == ("turn", first, 1, 2)
    assert wrote[1][0] == "commit"
    assert wrote[2] == ("turn", second, 7, 7)
    (hand,) = repo.boocode("blame", "hand", "--json").json["ranges"]
    assert (hand["source"], hand["checkpoint_id"]) == ("later", second)
    sound(repo)


def test_lines_keep_their_turn_when_a_restore_brings_them_back(repo: Repo) -> None:
    repo.commit(both="1\n2\n3\n4\n5\n6\n7\n")
    first, second = begin(repo, "one"), begin(repo, "two")
    bash(repo, "one", lambda: repo.write("both", "one\n2\n4\n5\n6\n7\n"))
    bash(repo, "two", lambda: repo.write("both", "one\n2\n4\n5\n6\ntwo\n"))
    claude(repo, "one", "Stop")
    claude(repo, "two", "Stop")

    def wrote() -> list[str | None]:
        ranges = repo.boocode("blame", "both", "--json").json["ranges"]
        return [row["checkpoint_id"] for row in ranges]

    before = wrote()
    assert before == [first, None, second]
    assert repo.boocode("revert", first).code == 0
    assert wrote() == [None, second]
    assert repo.boocode("undo").code == 0
    assert wrote() == before
    assert repo.boocode("revert", first).code == 0
    assert repo.boocode("pick", first).code == 0
    assert wrote() == before
