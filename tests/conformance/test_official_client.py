"""The official client of the Model Context Protocol, where it is installed, uses the server."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from git_boocode import __version__
from git_boocode.cli.tool_definitions import definitions
from git_boocode.server.peer import STATELESS_VERSIONS
from git_boocode.server.session import VERSIONS
from git_boocode.server.tools import AGENT_TOOLS, TOOLS
from tests.repo_kit import Repo
from tests.server.kit import Gate, edit

mcp = pytest.importorskip("mcp", reason="the official client is not installed")
if not hasattr(mcp, "Client"):
    pytest.skip("the official client is older than 2.0", allow_module_level=True)

# The client deprecates parts of the protocol, such as roots, which older clients use.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

LIMIT = 60.0
"""Seconds for a whole test."""


AUTO = "auto"
every_revision = pytest.mark.parametrize("mode", [*VERSIONS, *STATELESS_VERSIONS, AUTO])


@pytest.fixture(params=[VERSIONS[0], VERSIONS[-1], *STATELESS_VERSIONS, AUTO])
def mode(request: pytest.FixtureRequest) -> str:
    """The revision of the protocol; `AUTO` if the client finds out which one the server has."""
    return str(request.param)


@pytest.fixture
def work(repo: Repo) -> Repo:
    repo.commit("Begin", **{"a": "one\ntwo\nthree\n", "sub/b": "b\n"})
    return repo


@asynccontextmanager
async def connected(repo: Repo, mode: str, *options: str, **how: Any) -> AsyncIterator[Any]:
    """The client, connected to a server in a repository; it must end without any error.

    By default, it sees all tools.
    """
    parameters = mcp.StdioServerParameters(
        command="git",
        args=["boocode", "serve", *(options or ("--tools", "all"))],
        env=dict(os.environ),
        cwd=str(repo.top),
    )
    said = repo.top / ".git" / "said"
    with said.open("w", encoding="utf-8") as errors:
        transport = mcp.stdio_client(parameters, errlog=errors)
        begins = "legacy" if mode in VERSIONS else mode
        async with mcp.Client(transport, mode=begins, **how) as client:
            if mode in VERSIONS:
                await initialize(client, mode, has_roots="list_roots_callback" in how)
            # Otherwise it has fallen back to an older one.
            assert client.protocol_version == (STATELESS_VERSIONS[-1] if mode == AUTO else mode)
            yield client
    assert said.read_text("utf-8") == ""


async def initialize(client: Any, version: str, *, has_roots: bool) -> None:
    """Begin a session of a revision, although the client prefers the newest that has sessions."""
    types = pytest.importorskip("mcp.types")
    roots = types.RootsCapability(list_changed=True) if has_roots else None
    params = types.InitializeRequestParams(
        protocol_version=version,
        capabilities=types.ClientCapabilities(roots=roots),
        client_info=types.Implementation(name="test", version="1"),
    )
    asked = types.InitializeRequest(params=params)
    client.session.adopt(await client.session.send_request(asked, types.InitializeResult))
    await client.session.send_notification(types.InitializedNotification())


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run a test, within its time."""

    async def limited() -> None:
        await asyncio.wait_for(work(), LIMIT)

    asyncio.run(limited())


@every_revision
def test_what_the_server_says_about_itself(work: Repo, mode: str) -> None:
    async def talk() -> None:
        async with connected(work, mode) as client:
            # A client that insists on a revision without sessions does not ask.
            if mode not in STATELESS_VERSIONS:
                assert client.session.server_info.name == "git-boocode"
                assert client.session.server_info.version == __version__
                assert client.session.server_capabilities.tools is not None
                assert client.session.server_capabilities.resources is not None
                assert client.session.server_capabilities.prompts is None
                assert "apply_edit" in client.session.instructions
            if mode in VERSIONS:
                await client.send_ping()
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == [*TOOLS]
            for tool in listed:
                schemas = definitions()[tool.name]
                assert tool.input_schema == schemas["inputSchema"]
                assert tool.output_schema == schemas["outputSchema"]
                assert tool.annotations.read_only_hint is schemas["annotations"]["readOnlyHint"]

    run(talk)


@every_revision
def test_a_turn(work: Repo, mode: str) -> None:
    """The client checks every structured answer against the schema of its tool."""

    async def talk() -> None:
        async with connected(work, mode) as client:
            await client.list_tools()

            async def call(tool: str, /, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result
                assert json.loads(result.content[0].text) == result.structured_content
                return result.structured_content

            taken = await call("checkpoint", label="before ä", meta={"key": [1, None]})
            made = await call("apply_edit", **edit("a", "two", "2"))
            assert work.read("a") == b"one\n2\nthree\n"
            assert (await call("preview_edit", **edit("a", "2", "zwei")))["files"]
            assert (await call("locate", path="a", needle="2"))["start"]["line"] == 2
            assert (await call("log"))["checkpoints"][0]["id"] == taken["id"]
            assert (await call("log", edits=True))["edits"][0]["id"] == made["id"]
            assert (await call("show", name=taken["id"]))["checkpoint"]["label"] == "before ä"
            assert (await call("show", name=made["id"]))["edit"]
            assert (await call("show", name="@:a"))["content"] == "one\ntwo\nthree\n"
            assert (await call("diff"))["files"][0]["path"] == "a"
            assert (await call("blame", path="a"))["ranges"]
            await call("rewind")
            await call("propose", **edit("a", "three", "3"))
            assert (await call("status"))["files"][0]["status"] == "M"
            assert (await call("preview", path="a"))["hunks"]
            await call("sync")
            await call("accept")
            await call("undo")
            await call("redo")
            await call("propose", **edit("a", "one", "1"))
            await call("discard")
            await call("turn", action="begin", message="m")
            assert (await call("turn", action="status"))["turn"]["message"] == "m"
            await call("turn", action="end")
            await call("restore", checkpoint=taken["id"])
            assert work.read("a") == b"one\ntwo\nthree\n"

    run(talk)


def test_an_agent(work: Repo, mode: str) -> None:
    """Without a word about tools, the client is taken for an agent, which gets short answers."""

    async def talk() -> None:
        async with connected(work, mode, "--repo", str(work.top)) as client:
            listed = (await client.list_tools()).tools
            assert sorted(tool.name for tool in listed) == sorted(AGENT_TOOLS)
            assert not any(tool.output_schema for tool in listed)
            result = await client.call_tool("apply_edit", edit("a", "two", "2"))
            assert not result.is_error
            assert result.structured_content is None
            assert result.content[0].text
            assert work.read("a") == b"one\n2\nthree\n"

    run(talk)


def test_refusals_and_errors(work: Repo, mode: str) -> None:
    async def talk() -> None:
        async with connected(work, mode) as client:
            await client.list_tools()
            for name, arguments in (
                *(("apply_edit", edit("a", "nothing of this kind", "x")), ("show", {"name": "x"})),
                *(("restore", {"checkpoint": "@"}), ("undo", {}), ("accept", {}), ("rewind", {})),
                *(("locate", {}), ("turn", {"action": "stop"}), ("log", {"nonsense": 1})),
                *(("apply_edit", edit("../x", "a", "b")), ("blame", {"path": "gone"})),
            ):
                result = await client.call_tool(name, arguments)
                assert result.is_error, name
                assert result.structured_content["error"]["code"], name
                assert result.content[0].text
            context = await client.call_tool("apply_edit", edit("a", "nothing of this kind", "x"))
            assert "@retry_context" in context.content[0].text
            for unknown in ("nothing", ""):
                with pytest.raises(mcp.MCPError, match="unknown tool"):
                    await client.call_tool(unknown, {})
            with pytest.raises(mcp.MCPError, match="no such resource"):
                await client.read_resource("boocode://checkpoints/none")
            assert (await client.list_tools()).tools

    run(talk)


def test_resources(work: Repo, mode: str) -> None:
    async def talk() -> None:
        async with connected(work, mode) as client:
            result = await client.call_tool("checkpoint", {"label": "first"})
            taken = result.structured_content["id"]
            work.write("a", "changed\n")
            shown, diff, *all_of = (await client.list_resources(cache_mode="refresh")).resources
            assert {str(each.uri) for each in all_of} == {"boocode://turns", "boocode://proposals"}
            assert str(shown.uri) == f"boocode://checkpoints/{taken}"
            assert shown.name == "first"
            [content] = (await client.read_resource(str(shown.uri))).contents
            assert json.loads(content.text)["checkpoint"]["id"] == taken
            [content] = (await client.read_resource(str(diff.uri))).contents
            assert content.mime_type == "text/x-diff"
            assert "+changed" in content.text
            listed = await client.list_resource_templates()
            assert len(listed.resource_templates) == 2

    run(talk)


def test_roots(work: Repo, mode: str, tmp_path: Path) -> None:
    work.git("clone", "-q", ".", str(tmp_path / "a b"))
    other = Repo(tmp_path / "a b")
    types = pytest.importorskip("mcp.types")
    roots = [other.top]
    asked: list[float] = []

    async def name_roots(_: Any) -> Any:
        asked.append(time.monotonic())
        return types.ListRootsResult(roots=[types.Root(uri=root.as_uri()) for root in roots])

    async def talk() -> None:
        async with connected(work, mode, list_roots_callback=name_roots) as client:
            result = await client.call_tool("checkpoint", {})
            assert result.structured_content["id"] in other.git("for-each-ref")
            before = len(asked)
            refused = await client.call_tool("log", {"cwd": str(work.top)})
            assert refused.structured_content["error"]["code"] == "outside_worktree"
            # Without a session, every call asks.
            before += mode not in VERSIONS
            assert len(asked) == before
            roots[:] = [work.top]
            if mode in VERSIONS:
                await client.send_roots_list_changed()
            result = await client.call_tool("checkpoint", {})
            assert result.structured_content["id"] in work.git("for-each-ref")
            assert len(asked) == before + 1

    run(talk)


def test_log_messages(work: Repo, mode: str) -> None:
    """What an interrupted command has left is reported; without a session, only on request."""
    work.write(".git/boocode/edit-in-progress", "garbage")
    seen: list[str] = []

    async def observe(params: Any) -> None:
        seen.append(params.data)

    async def talk() -> None:
        for level in (None, "error", "warning"):
            how = {"logging_callback": observe, "log_level": level}
            async with connected(work, mode, **how) as client:
                await client.call_tool("log", {})
                # Otherwise the client may end before it has seen the notification.
                await client.list_resources()
            assert bool(seen) is (mode in VERSIONS or level == "warning")

    run(talk)


@pytest.mark.parametrize("mode", [AUTO])
def test_subscriptions(work: Repo, mode: str) -> None:
    async def talk() -> None:
        async with connected(work, mode) as client:
            async with client.listen(tools_list_changed=True) as changes:
                assert changes.honored.tools_list_changed is None
                assert not (await client.call_tool("checkpoint", {})).is_error
            assert (await client.list_resources()).resources

    run(talk)


@pytest.mark.parametrize("mode", [AUTO])
def test_another_process_changes_turns(work: Repo, mode: str) -> None:
    async def talk() -> None:
        async with (
            connected(work, mode) as client,
            client.listen(resource_subscriptions=["boocode://turns"]) as changes,
        ):
            assert changes.honored.resource_subscriptions == ["boocode://turns"]
            await asyncio.to_thread(work.boocode, "checkpoint", "-m", "there")
            async for event in changes:
                assert str(event.uri) == "boocode://turns"
                break

    run(talk)


@pytest.mark.parametrize("mode", VERSIONS)
def test_a_session_subscribes(work: Repo, mode: str) -> None:
    seen: list[str] = []
    types = pytest.importorskip("mcp.types")

    async def observe(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            seen.append(str(message.params.uri))

    async def talk() -> None:
        async with connected(work, mode, message_handler=observe) as client:
            await client.subscribe_resource("boocode://turns")
            await asyncio.to_thread(work.boocode, "checkpoint", "-m", "there")
            while not seen:
                await asyncio.sleep(0.05)
            await client.unsubscribe_resource("boocode://turns")
            assert seen == ["boocode://turns"]

    run(talk)


def test_progress_and_cancellation(work: Repo, mode: str) -> None:
    gate = Gate(work, "0/held")
    for number in range(1000):
        work.write(f"b/{number:0100}")
    seen: list[float] = []

    async def observe(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def talk() -> None:
        async with connected(work, mode) as client:
            task = asyncio.ensure_future(
                client.call_tool("checkpoint", {"label": "held"}, progress_callback=observe)
            )
            await asyncio.to_thread(gate.wait)
            await asyncio.sleep(0.6)
            gate.open()
            assert not (await task).is_error
            assert seen
            assert seen == sorted(set(seen))
            gate.close()
            work.write("0/held", "changed\n")
            task = asyncio.ensure_future(client.call_tool("diff", {}))
            await asyncio.to_thread(gate.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gate.open()
            result = await client.call_tool("log", {})
            assert [row["label"] for row in result.structured_content["checkpoints"]] == ["held"]

    run(talk)
