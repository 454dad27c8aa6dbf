"""Requests of revision 2026-07-28, each of which describes its client; there is no session."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from git_boocode import __version__
from git_boocode.server.peer import STATELESS_VERSIONS
from git_boocode.server.tools import AGENT_TOOLS, TOOLS
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import NEWEST, Gate, Message, edit, structured
from tests.server.kit import Client as RawClient

UNKNOWN_METHOD, PARAMS, UNSUPPORTED = -32601, -32602, -32022
[VERSION] = STATELESS_VERSIONS
PREFIX = "io.modelcontextprotocol/"
EDITOR: Message = {"experimental": {"git-boocode": {"surrogates": True}}}
ROOTS: Message = {**EDITOR, "roots": {}}


def meta(capabilities: object = EDITOR, version: object = VERSION, **others: object) -> Message:
    """What describes the client of a request."""
    own = {"protocolVersion": version, "clientCapabilities": capabilities, **others}
    return {f"{PREFIX}{name}": value for name, value in own.items()}


class Client:
    """A client that describes itself in each request."""

    def __init__(self, client: RawClient) -> None:
        self.raw = client

    def answer(self, method: str, capabilities: object = EDITOR, **params: Any) -> Message:
        """The answer to a request."""
        params = {"_meta": meta(capabilities), **params}
        return self.raw.answer(self.raw.request(method, **params))

    def ask(self, method: str, capabilities: object = EDITOR, **params: Any) -> Message:
        """The result of a request, which is complete."""
        result: Message = self.answer(method, capabilities, **params)["result"]
        assert result.pop("resultType") == "complete"
        about = {"name": "git-boocode", "version": __version__}
        assert result.pop("_meta") == {f"{PREFIX}serverInfo": about}
        return result

    def fail(self, method: str, capabilities: object = EDITOR, **params: Any) -> Message:
        """The error of a request."""
        error: Message = self.answer(method, capabilities, **params)["error"]
        return error

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """What a tool answers."""
        return structured(self.answer("tools/call", name=tool, arguments=arguments))

    def call_in(self, roots: object, tool: str, /, **arguments: Any) -> Any:
        """What a tool answers in some roots."""
        responses = {"roots": {"roots": roots}}
        params = {"name": tool, "arguments": arguments, "inputResponses": responses}
        return structured(self.answer("tools/call", ROOTS, **params))


@pytest.fixture
def client(work: Repo, serve: Serve) -> Client:
    """A server in the repository, which no session has begun."""
    return Client(serve())


def root(*directories: Path) -> list[Message]:
    """A client's list of roots."""
    return [{"uri": directory.as_uri()} for directory in directories]


def test_the_server_says_what_it_can(client: Client) -> None:
    found = client.ask("server/discover")
    assert "apply_edit" in found.pop("instructions")
    assert found == {
        "supportedVersions": [VERSION],
        "capabilities": {"tools": {}, "resources": {"subscribe": True}, "logging": {}},
        "ttlMs": 300_000,
        "cacheScope": "private",
    }


def test_requests_need_no_handshake(client: Client, work: Repo) -> None:
    taken = client.call("checkpoint", label="first")
    assert client.call("apply_edit", **edit("a", "two", "2"))["ok"]
    assert work.read("a") == b"one\n2\nthree\n"
    listed = client.ask("resources/list")
    uri = f"boocode://checkpoints/{taken['id']}"
    assert listed["resources"][0]["uri"] == uri
    content = client.ask("resources/read", uri=uri)
    assert taken["id"] in content["contents"][0]["text"]
    templates = client.ask("resources/templates/list")
    assert len(templates["resourceTemplates"]) == 2
    for found, ttl in ((listed, 0), (content, 0), (templates, 300_000)):
        assert (found["ttlMs"], found["cacheScope"]) == (ttl, "private")


def test_the_tools_are_those_for_the_client_of_the_request(client: Client) -> None:
    agent = meta({}, clientInfo={"name": "an-agent", "version": "1"})
    for _ in range(2):
        for described, names in (
            *((meta(), [*TOOLS]), (agent, [*AGENT_TOOLS]), (meta({}), [*AGENT_TOOLS])),
            (meta({}, clientInfo={"name": "vscode"}), [*TOOLS]),
        ):
            found = client.ask("tools/list", _meta=described)
            assert sorted(tool["name"] for tool in found["tools"]) == sorted(names)
            assert (found["ttlMs"], found["cacheScope"]) == (300_000, "private")
    params = {"name": "log", "arguments": {}, "_meta": agent}
    assert "structuredContent" not in client.ask("tools/call", **params)
    assert client.call("log")["checkpoints"] == []


def test_a_checkpoint_is_that_of_the_agent_of_the_request(client: Client) -> None:
    names = ["one", "two", "one"]
    for name in names:
        described = meta({}, clientInfo={"name": name, "version": "1"})
        client.ask("tools/call", name="checkpoint", arguments={}, _meta=described)
    assert [row["agent"] for row in client.call("log")["checkpoints"]] == names[::-1]


def test_revisions_that_are_not_supported(client: Client) -> None:
    for version in ("2099-01-01", NEWEST, "2024-11-05", "", "DRAFT-2026-v1"):
        for method in ("server/discover", "tools/list", "no/such"):
            error = client.fail(method, _meta=meta(version=version))
            assert error["code"] == UNSUPPORTED
            assert error["data"] == {"supported": [VERSION], "requested": version}
    error = client.fail("tools/list", _meta=meta(version="9" * 100_000))
    assert len(error["data"]["requested"]) < 100


def test_what_a_request_has_to_say(client: Client) -> None:
    wrong: list[object] = [None, 7, [], True, {}, ["2026-07-28"]]
    for value in wrong:
        assert client.fail("tools/list", _meta=meta(version=value))["code"] == PARAMS
        if value != {}:
            assert client.fail("tools/list", _meta=meta(value))["code"] == PARAMS
        assert client.fail("server/discover", _meta=value)["code"] == PARAMS
        assert client.fail("tools/list", _meta=meta(logLevel=value))["code"] == PARAMS
        assert client.ask("tools/list", _meta=meta(clientInfo=value))
        found = {"experimental": value, "roots": value}
        assert client.ask("tools/list", _meta=meta(found))
    for name in ("protocolVersion", "clientCapabilities"):
        lacking = meta()
        del lacking[f"{PREFIX}{name}"]
        error = client.fail("tools/list", _meta=lacking)
        assert error["code"] == PARAMS
        assert name in error["message"]
    assert "params" not in client.raw.answer(client.raw.request("server/discover"))["error"]


def test_methods_of_sessions(client: Client) -> None:
    for method in ("ping", "logging/setLevel", "resources/subscribe", "no/such"):
        assert client.fail(method)["code"] == UNKNOWN_METHOD
    # `initialize` begins a session, whatever else it says.
    client.raw.ask("initialize", protocolVersion=VERSION, capabilities={}, _meta=meta())
    assert client.raw.ask("ping") == {}
    for method in ("subscriptions/listen", "no/such"):
        assert client.raw.fail(method)["code"] == UNKNOWN_METHOD


def test_a_session_beside_it(work: Repo, serve: Serve, tmp_path: Path) -> None:
    work.git("clone", "-q", ".", str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    session = serve(roots=[other.top])
    client = Client(session)
    assert client.call("checkpoint", label="here")["id"] in work.git("for-each-ref")
    begun = session.begin()
    assert (begun["protocolVersion"], "resultType" in begun) == (NEWEST, False)
    # Neither has the roots of the other.
    assert client.call("checkpoint", label="here")["id"] in work.git("for-each-ref")
    assert session.succeed("checkpoint")["id"] in other.git("for-each-ref")
    assert client.call("log", cwd=str(other.top))["error"]["code"] == "outside_worktree"
    assert session.refuse("log", cwd=str(work.top))["code"] == "outside_worktree"
    assert "resultType" not in session.ask("tools/list")


def test_roots_come_with_the_call(client: Client, work: Repo, tmp_path: Path) -> None:
    work.git("clone", "-q", ".", str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    call = {"name": "checkpoint", "arguments": {}}
    asked = {"roots": {"method": "roots/list"}}
    before = work.git("for-each-ref"), other.git("for-each-ref")
    given: list[Message] = [{}, {"inputResponses": {}}, {"inputResponses": 1, "requestState": ""}]
    for responses in given:
        for method, params in (("tools/call", call), ("resources/read", {"uri": "x:y"})):
            result = client.answer(method, ROOTS, **params, **responses)["result"]
            assert (result["resultType"], result["inputRequests"]) == ("input_required", asked)
            assert "ttlMs" not in result
    assert (work.git("for-each-ref"), other.git("for-each-ref")) == before
    taken = client.call_in(root(other.top), "checkpoint")
    assert taken["id"] in other.git("for-each-ref")
    error = client.call_in(root(other.top), "log", cwd=str(work.top))["error"]
    assert error["code"] == "outside_worktree"
    useless: list[object] = [[], [7, None, {}], [{"uri": "https://example.com/"}]]
    for roots in useless:
        assert client.call_in(roots, "checkpoint")["error"]["code"] == "outside_worktree"
    # The next request knows nothing of them.
    assert client.answer("tools/call", ROOTS, **call)["result"]["resultType"] == "input_required"
    wrong: list[object] = [7, "x", [], {}, {"roots": None}, {"roots": {}}]
    for roots in wrong:
        responses = {"inputResponses": {"roots": roots}}
        assert client.fail("tools/call", ROOTS, **call, **responses)["code"] == PARAMS
    # Lists must not ask.
    assert client.ask("tools/list", ROOTS)["tools"]
    rows = client.ask("resources/list", ROOTS)["resources"]
    assert [row["name"] for row in rows] == ["turns", "proposals"]
    uri = f"boocode://checkpoints/{taken['id']}"
    for where, found in ((other, True), (work, False)):
        responses = {"inputResponses": {"roots": {"roots": root(where.top)}}}
        answer = client.answer("resources/read", ROOTS, uri=uri, **responses)
        assert ("result" in answer) is found


def test_nobody_is_asked_for_roots_if_the_worktree_is_named(
    work: Repo, serve: Serve, tmp_path: Path
) -> None:
    client = Client(serve("--repo", str(work.top), cwd=tmp_path))
    params = {"name": "checkpoint", "arguments": {}}
    assert structured(client.answer("tools/call", ROOTS, **params))["ok"]


def test_a_call_does_not_change_what_is_listed(work: Repo, serve: Serve) -> None:
    client = Client(serve(cwd=work.top.parent))
    assert client.call("log")["error"]["code"]
    assert client.call("checkpoint", cwd=str(work.top))["ok"]
    assert client.ask("resources/list")["resources"] == []


def test_a_resource_that_does_not_exist(client: Client) -> None:
    for uri in ("boocode://checkpoints/none", "", "x:y"):
        error = client.fail("resources/read", uri=uri)
        assert (error["code"], error["data"]) == (PARAMS, {"uri": uri})


def test_bytes_that_are_not_utf_8_are_as_the_request_wants_them(client: Client, work: Repo) -> None:
    client.call("checkpoint")
    work.write("a", b"\xff\n")
    for capabilities, wanted in ((EDITOR, "\udcff"), ({}, "\ufffd"), (EDITOR, "\udcff")):
        params = {"name": "diff", "arguments": {}, "_meta": meta(capabilities)}
        assert wanted in client.ask("tools/call", **params)["content"][0]["text"]


def test_the_log_is_for_the_request_that_wants_it(client: Client, work: Repo) -> None:
    work.write(".git/boocode/edit-in-progress", "garbage")
    for level, count in ((None, 0), ("error", 0), ("warning", 1), ("debug", 1), (None, 0)):
        wanted = meta() if level is None else meta(logLevel=level)
        client.ask("tools/call", name="log", arguments={}, _meta=wanted)
        client.ask("tools/list")
        methods = [message["method"] for message in client.raw.others]
        assert methods == ["notifications/message"] * count
        client.raw.others.clear()


def test_a_cancelled_call_reports_nothing_more(client: Client, work: Repo) -> None:
    gate = Gate(work, "0/held")
    for number in range(1000):
        work.write(f"b/{number:0100}")
    params = {"name": "checkpoint", "arguments": {}, "_meta": {**meta(), "progressToken": "t"}}
    running = client.raw.request("tools/call", **params)
    gate.wait()
    time.sleep(0.6)
    client.raw.notify("notifications/cancelled", requestId=running, _meta=meta())
    client.ask("tools/list")
    client.raw.others.clear()
    gate.open()
    assert client.call("log")["checkpoints"] == []
    assert client.raw.others == []


def listening(client: Client, identifier: object) -> None:
    """Begin a subscription, which is acknowledged at once."""
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["x:y"]}
    params = {"_meta": meta(), "notifications": wanted}
    message = {"jsonrpc": "2.0", "id": identifier, "method": "subscriptions/listen"}
    client.raw.send({**message, "params": params})
    assert client.raw.read() == {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": {f"{PREFIX}subscriptionId": identifier}, "notifications": {}},
    }


def test_a_subscription_lasts_until_it_is_cancelled(client: Client) -> None:
    for _ in range(2):
        listening(client, "s")
        assert client.call("checkpoint")["ok"]
        client.raw.notify("notifications/cancelled", requestId="s")
    assert client.raw.others == []
    wrong: list[object] = [None, 7, []]
    for filtered in wrong:
        assert client.fail("subscriptions/listen", notifications=filtered)["code"] == PARAMS


def test_a_subscription_reports_what_another_process_changes(client: Client, work: Repo) -> None:
    wanted = ["boocode://turns", "x:y"]
    params = {"_meta": meta(), "notifications": {"resourceSubscriptions": wanted}}
    message = {"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params}
    client.raw.send(message)
    about = {"_meta": {f"{PREFIX}subscriptionId": "s"}}
    granted = {"notifications": {"resourceSubscriptions": wanted[:1]}}
    assert client.raw.read()["params"] == {**about, **granted}
    work.boocode("checkpoint", "-m", "there")
    assert client.raw.read() == {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {**about, "uri": wanted[0]},
    }
    client.raw.notify("notifications/cancelled", requestId="s")


def test_a_subscription_ends_with_the_connection(client: Client) -> None:
    for identifier in ("s", 10**6):
        listening(client, identifier)
    ends = client.raw.end()
    assert [message["id"] for message in ends] == ["s", 10**6]
    for message in ends:
        assert message["result"]["resultType"] == "complete"
        assert message["result"]["_meta"][f"{PREFIX}subscriptionId"] == message["id"]
