"""A session of the Model Context Protocol: its beginning, cancellation, progress and log."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any

import pytest

from git_boocode import __version__
from git_boocode.cli.tool_definitions import definitions
from git_boocode.server import calls
from git_boocode.server.session import VERSIONS
from git_boocode.server.tools import AGENT_TOOLS, TOOLS
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import LIMIT, NEWEST, Client, Gate, edit, is_answer, structured, tool_call

INVALID, PARAMS = -32600, -32602


def test_every_revision_is_accepted(client: Client) -> None:
    for version in VERSIONS:
        result = client.begin(version)
        assert result["protocolVersion"] == version
        assert result["serverInfo"] == {"name": "git-boocode", "version": __version__}
        assert result["capabilities"] == {
            "tools": {},
            "resources": {"subscribe": True},
            "logging": {},
        }
        assert "apply_edit" in result["instructions"]
        assert client.succeed("locate", path="a", needle="two")


def test_for_another_revision_the_newest_is_offered(client: Client) -> None:
    for version in ("2024-10-07", "2099-01-01", "", "1", "DRAFT-2026-v1"):
        assert client.begin(version)["protocolVersion"] == NEWEST == VERSIONS[-1]


def test_what_initialize_may_contain(work: Repo, serve: Serve) -> None:
    client = serve()
    for params in ({}, {"protocolVersion": 7}, {"protocolVersion": None}):
        assert client.fail("initialize", **params)["code"] == PARAMS
    assert client.fail("tools/list")["code"] == INVALID
    found: list[object] = [None, [], {"roots": None, "future": {}}, {"experimental": {"x": 1}}]
    for capabilities in found:
        client.ask("initialize", protocolVersion=NEWEST, capabilities=capabilities)
    assert client.ask("tools/list")


def test_before_initialize_there_is_only_ping(work: Repo, serve: Serve) -> None:
    client = serve()
    assert client.ask("ping") == {}
    for method in ("tools/list", "tools/call", "resources/list", "logging/setLevel"):
        assert client.fail(method)["code"] == INVALID
    client.notify("notifications/initialized")
    assert client.fail("tools/list")["code"] == INVALID
    client.begin()
    assert client.ask("tools/list")["tools"]


def test_roots_are_asked_for_without_an_initialized_notification(client: Client) -> None:
    client.ask("initialize", protocolVersion=NEWEST, capabilities={"roots": {}})
    assert client.succeed("checkpoint")


def test_a_client_that_begins_again_is_asked_again(client: Client) -> None:
    for _ in range(2):
        client.begin()
        assert client.succeed("checkpoint")


def test_many_requests_before_the_roots_are_named(client: Client) -> None:
    client.begin()
    ids = [client.start("turn", action="status") for _ in range(100)]
    assert all(client.answer(each)["result"] for each in ids)


@pytest.mark.slow
def test_too_many_requests(work: Repo, serve: Serve) -> None:
    client = serve(roots=[work.top])
    client.begin()
    # None is answered before the roots are named, but all are read.
    client.send(*(tool_call(number, "turn", action="status") for number in range(10_100)))
    assert client.read()["method"] == "roots/list"
    refused = [client.read() for _ in range(100)]
    assert {each["error"]["code"] for each in refused} == {-32000}
    assert client.ask("ping") == {}
    for number in range(10_100):
        client.notify("notifications/cancelled", requestId=number)


@pytest.mark.parametrize("option", [[], ["--read-only"]])
@pytest.mark.parametrize("name", ["", "claude-code"])
def test_the_instructions_name_tools_that_there_are(
    work: Repo, serve: Serve, option: list[str], name: str
) -> None:
    client = serve(*option)
    client.name = name
    said = client.begin()["instructions"]
    there = {each["name"] for each in client.ask("tools/list")["tools"]}
    # A turn is not always the tool of that name.
    named = set(re.findall(r"\w+", said)) & {*TOOLS} - {"turn"}
    assert named
    assert named <= there


def test_calls_need_no_initialized_notification(work: Repo, serve: Serve) -> None:
    client = serve()
    client.ask("initialize", protocolVersion=NEWEST, capabilities={})
    assert client.succeed("checkpoint")


def test_the_tools_are_listed_as_they_are_defined(client: Client) -> None:
    assert client.ask("tools/list") == {"tools": [*definitions().values()]}
    assert [*definitions()] == [*TOOLS]


def names(client: Client) -> list[str]:
    """The tools that a client sees."""
    return [tool["name"] for tool in client.ask("tools/list")["tools"]]


def test_agents_see_few_tools(own_client: Client) -> None:
    """Within the context that their definitions may take."""
    own_client.name = "some-agent"
    own_client.begin()
    listed = own_client.ask("tools/list")
    assert [tool["name"] for tool in listed["tools"]] == [*AGENT_TOOLS]
    assert len(json.dumps(listed)) <= 9_000
    assert not any("outputSchema" in tool for tool in listed["tools"])
    for tool in listed["tools"]:
        arguments = tool["inputSchema"]["properties"]
        whole = definitions()[tool["name"]]["inputSchema"]["properties"]
        assert arguments.keys() <= whole.keys()
        for text in (tool["description"], *(each["description"] for each in arguments.values())):
            assert re.fullmatch(r"[A-Z@].*[.]", text, re.DOTALL), text


def test_a_tool_that_is_not_listed_is_answered_in_the_form_of_the_set(own_client: Client) -> None:
    own_client.name = "some-agent"
    own_client.begin()
    arguments = {"path": "a", "needle": "two"}
    found = own_client.ask("tools/call", name="locate", arguments=arguments)
    assert found.keys() == {"content", "isError"}
    assert json.loads(found["content"][0]["text"])["start"]["line"] == 2


@pytest.mark.parametrize(
    ("options", "capability", "name", "is_agent"),
    [
        ((), None, "some-agent", True),
        ((), None, "", False),
        ((), None, "vscode", False),
        ((), {}, "some-agent", False),
        ((), {"tools": "all"}, "some-agent", False),
        ((), {"tools": "agent"}, "vscode", True),
        (("--tools", "editor"), {"tools": "agent"}, "some-agent", False),
        (("--tools", "all"), None, "some-agent", False),
        (("--tools", "agent"), {"tools": "all"}, "vscode", True),
    ],
)
@pytest.mark.variants
def test_which_tools_a_client_sees(
    work: Repo,
    serve: Serve,
    options: tuple[str, ...],
    capability: dict[str, str] | None,
    name: str,
    is_agent: bool,
) -> None:
    client = serve(*options)
    about = {"clientInfo": {"name": name, "version": "1"}} if name else {}
    capabilities = {} if capability is None else {"experimental": {"git-boocode": capability}}
    client.ask("initialize", protocolVersion=NEWEST, capabilities=capabilities, **about)
    assert names(client) == [*AGENT_TOOLS] if is_agent else [*TOOLS]
    result = client.ask("tools/call", name="checkpoint", arguments={})
    assert ("structuredContent" not in result) is is_agent


def test_a_set_of_tools_that_does_not_exist(own_client: Client) -> None:
    wanted: list[object] = ["none", 7, None, []]
    for each in wanted:
        capabilities = {"experimental": {"git-boocode": {"tools": each}}}
        error = own_client.fail(
            "initialize", protocolVersion=NEWEST, capabilities=capabilities, clientInfo={}
        )
        assert error["code"] == PARAMS


def test_a_read_only_server_shows_agents_what_only_reads(work: Repo, serve: Serve) -> None:
    client = serve("--read-only")
    client.name = "some-agent"
    client.begin()
    assert names(client) == ["read", "log", "diff"]


def test_a_level_that_does_not_exist(client: Client) -> None:
    levels: list[object] = [None, 7, "loud", [], {}, "WARNING", True]
    for level in levels:
        assert client.fail("logging/setLevel", level=level)["code"] == PARAMS


def test_the_level_limits_the_log(work: Repo, serve: Serve) -> None:
    client = serve(roots=[])
    client.ask("initialize", protocolVersion=NEWEST, capabilities={"roots": {}})
    for level, count in (("error", 0), ("debug", 1), ("warning", 1), ("emergency", 0)):
        client.ask("logging/setLevel", level=level)
        client.notify("notifications/roots/list_changed")
        asked = client.read()
        client.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": 1, "message": "no"}})
        client.ask("ping")
        assert [each["method"] for each in client.others] == ["notifications/message"] * count
        for message in client.others:
            assert message["params"] == {
                "level": "warning",
                "logger": "git-boocode",
                "data": "the client did not name its roots",
            }
        client.others.clear()


HOSTILE: tuple[object, ...] = (
    None,
    "",
    "x",
    0,
    -1,
    1.5,
    10**30,
    [],
    {},
    [7],
    {"a": 1},
    True,
    "\ud800",
)


def test_what_is_cancelled_that_is_not_there(client: Client) -> None:
    for identifier in HOSTILE:
        client.notify("notifications/cancelled", requestId=identifier, reason="no")
    client.notify("notifications/cancelled")
    done = client.start("checkpoint")
    client.answer(done)
    client.notify("notifications/cancelled", requestId=done)
    assert len(client.succeed("log")["checkpoints"]) == 1
    assert client.others == []


def test_cancelled_calls_make_room_although_a_filter_hangs(client: Client, work: Repo) -> None:
    work.write("held", "before\n")
    client.succeed("checkpoint")
    gate = Gate(work, "held")
    hanging = [client.start("diff") for _ in range(4)]
    gate.wait()
    for identifier in hanging:
        client.notify("notifications/cancelled", requestId=identifier)
    assert client.succeed("locate", path="a", needle="two")
    assert client.ask("resources/list")["resources"]


def test_a_cancelled_call_that_has_not_begun_changes_nothing(client: Client, work: Repo) -> None:
    client.begin()
    asked = client.read()
    first, second, third = (
        client.start("apply_edit", **edit("a", old, new))
        for old, new in (("one", "1"), ("two", "2"), ("three", "3"))
    )
    client.notify("notifications/cancelled", requestId=second)
    assert client.ask("ping") == {}
    client.name_roots(asked["id"])
    assert structured(client.answer(first))["ok"]
    assert structured(client.answer(third))["ok"]
    assert client.others == []
    assert work.read("a") == b"1\ntwo\n3\n"
    # An id can be used again at once.
    client.send(tool_call(second, "turn", action="status"))
    assert client.answer(second)


@pytest.fixture
def held(work: Repo) -> Gate:
    """Files that take a checkpoint until the gate opens, and more behind them than a pipe holds."""
    gate = Gate(work, "0/slow")
    for number in range(1000):
        work.write(f"b/{number:0100}")
    return gate


@pytest.mark.parametrize("token", [0, "a token"])
def test_progress_of_a_long_call(client: Client, held: Gate, token: object) -> None:
    meta = {"progressToken": token}
    running = client.request("tools/call", name="checkpoint", arguments={}, _meta=meta)
    held.wait()
    time.sleep(0.6)
    held.open()
    assert structured(client.answer(running))["ok"]
    assert client.others
    for message in client.others:
        assert message["method"] == "notifications/progress"
        assert message["params"]["progressToken"] == token
        # A checkpoint prunes once a day.
        said = message["params"]["message"]
        assert re.fullmatch(r"(recording|reading): [0-9,]+ (files|checkpoints)", said)
    numbers = [message["params"]["progress"] for message in client.others]
    assert numbers == sorted(set(numbers))
    client.others.clear()
    client.succeed("log")
    assert client.others == []


def test_a_running_checkpoint_is_cancelled(client: Client, work: Repo, held: Gate) -> None:
    running = client.request(
        "tools/call", name="checkpoint", arguments={}, _meta={"progressToken": 1}
    )
    held.wait()
    behind = client.start("checkpoint", label="behind")
    client.notify("notifications/cancelled", requestId=running)
    assert client.ask("ping") == {}
    held.open()
    assert structured(client.answer(behind))["ok"]
    assert not any(is_answer(message, running) for message in client.others)
    [only] = client.succeed("log")["checkpoints"]
    assert only["label"] == "behind"
    assert work.boocode("doctor").code == 0


def test_a_running_restore_is_not_left_half_way(client: Client, work: Repo, held: Gate) -> None:
    held.open()
    before = work.files()
    client.succeed("checkpoint")
    for path in ("a", "sub/b", f"b/{3:0100}"):
        work.write(path, "changed\n")
    held.close()
    work.write("0/slow", "changed\n")
    params = {"name": "restore", "arguments": {"checkpoint": "@"}, "_meta": {"progressToken": 1}}
    running = client.request("tools/call", **params)
    held.wait()
    client.notify("notifications/cancelled", requestId=running)
    assert client.ask("ping") == {}
    held.open()
    client.succeed("checkpoint", label="behind")
    assert not any(is_answer(message, running) for message in client.others)
    assert work.files() == before
    assert work.boocode("doctor").code == 0


def reported(*counts: tuple[str, int, int]) -> list[dict[str, Any]]:
    """What is sent of some counts."""
    sent: list[dict[str, Any]] = []
    progress = calls.Progress(lambda _, params: sent.append(params), "token")
    for count in counts:
        progress.report(*count)
    return sent


def test_numbers_of_progress_grow_over_all_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_PROGRESS_AFTER", 0)
    monkeypatch.setattr(calls, "_PROGRESS_EVERY", 0)
    sent = reported(
        *(("adding {}", 1, 0), ("adding {}", 2, 0), ("adding {}", 2, 0), ("", 0, 0)),
        *(("writing {}", 0, 50), ("writing {}", 40, 50), ("writing {}", 30, 50), ("", 50, 50)),
        *(("adding {}", 1, 0), ("adding {}", 5, 0), ("", 0, 0)),
    )
    numbers = [each["progress"] for each in sent]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 5
    assert {each["progressToken"] for each in sent} == {"token"}
    assert all(each.get("total", 10**9) >= each["progress"] for each in sent)
    assert sent[1]["message"] == "adding 2"


def test_progress_of_short_work_is_not_reported() -> None:
    assert reported(*(("adding {}", number, 0) for number in range(100))) == []


def test_a_short_call_reports_no_progress(client: Client) -> None:
    client.request("tools/call", name="checkpoint", arguments={}, _meta={"progressToken": 7})
    assert structured(client.read())["ok"]
    metas: list[object] = [None, 7, [], {"progressToken": None}, {"progressToken": {}}]
    for meta in metas:
        client.request("tools/call", name="log", arguments={}, _meta=meta)
        assert structured(client.read())["ok"]


def test_a_client_that_reads_its_answers_late(client: Client, work: Repo) -> None:
    # Neither the requests nor the answers fit into a pipe.
    calls = [
        tool_call(number, "preview_edit", path="a", content="y\n" * 20_000) for number in range(40)
    ]
    asking = threading.Thread(target=client.send, args=calls)
    asking.start()
    asking.join(0.5)
    assert {client.read()["id"] for _ in calls} == {*range(40)}
    asking.join(LIMIT)
    assert work.read("a") == b"one\ntwo\nthree\n"
