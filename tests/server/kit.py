"""A client of `git boocode serve`, which speaks raw lines on pipes.

Every read has a time limit, so a server that hangs fails the test.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.forked import ForkedProcess
from tests.repo_kit import BOOCODE, Repo

LIMIT = 30.0
"""Seconds to wait for a message; far more than any answer takes on a busy machine."""
NEWEST = "2025-11-25"
Message = dict[str, Any]
Process = subprocess.Popen[bytes] | ForkedProcess


class ClosedError(Exception):
    """The server has closed its standard output."""


class Client:
    """A server in a process of its own, and its only client.

    `roots` are the directories that it names when the server asks for them; None if it cannot.
    `exact` is whether it reads bytes that are not UTF-8. It says that it is an editor, unless
    `name` is that of an agent.
    """

    def __init__(
        self, process: Process, roots: Sequence[Any] | None, *, exact: bool = True
    ) -> None:
        self.process = process
        self.roots = roots
        self.exact = exact
        self.name = ""
        self.others: list[Any] = []
        """Messages that came while another one was awaited."""
        self._next = 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._said: list[bytes] = []
        self._threads = [
            threading.Thread(target=read, daemon=True) for read in (self._read, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said.append(line)

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self.process.pid

    @property
    def said(self) -> str:
        """What the server has written to standard error."""
        return os.fsdecode(b"".join(self._said))

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages: object) -> None:
        """Send messages, one a line, in one write."""
        self.raw(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def notify(self, method: str, **params: object) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, **params: object) -> int:
        """Send a request and return its id."""
        self._next += 1
        self.send(request(self._next, method, **params))
        return self._next

    def read(self, within: float = LIMIT) -> Any:
        """The next message of the server, whatever it is (ClosedError, AssertionError)."""
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"no message within {within} s: {self.said}") from None
        if not line:
            self._lines.put(b"")
            raise ClosedError
        assert line.endswith(b"\n"), line
        line.decode("ascii")
        return json.loads(line, parse_constant=_refuse)

    def answer(self, identifier: object, within: float = LIMIT) -> Message:
        """The answer to a request; requests for the roots are answered meanwhile."""
        for number, other in enumerate(self.others):
            if is_answer(other, identifier):
                found: Message = self.others.pop(number)
                return found
        while True:
            message = self.read(within)
            if is_answer(message, identifier):
                return dict(message)
            if isinstance(message, dict) and message.get("method") == "roots/list":
                self.name_roots(message["id"])
            else:
                self.others.append(message)

    def name_roots(self, identifier: object) -> None:
        """Answer a request for the roots; those that are no paths are sent as they are."""
        assert self.roots is not None
        named = [
            {"uri": f"file://{quote(os.fsencode(root))}"} if isinstance(root, Path) else root
            for root in self.roots
        ]
        self.send({"jsonrpc": "2.0", "id": identifier, "result": {"roots": named}})

    def ask(self, method: str, **params: object) -> Any:
        """The result of a request."""
        answer = self.answer(self.request(method, **params))
        assert "result" in answer, answer
        return answer["result"]

    def fail(self, method: str, **params: object) -> Message:
        """The error of a request."""
        answer = self.answer(self.request(method, **params))
        assert "error" in answer, answer
        return dict(answer["error"])

    def begin(self, version: str = NEWEST) -> Message:
        """Initialize the session."""
        capabilities: Message = {} if self.roots is None else {"roots": {"listChanged": True}}
        if not self.name:
            capabilities["experimental"] = {"git-boocode": {"surrogates": self.exact}}
        about = {"name": self.name or "test", "version": "1"}
        result = self.ask(
            "initialize", protocolVersion=version, capabilities=capabilities, clientInfo=about
        )
        self.notify("notifications/initialized")
        return dict(result)

    def start(self, tool: str, **arguments: object) -> int:
        """Send a call of a tool and return its id."""
        return self.request("tools/call", name=tool, arguments=arguments)

    def call(self, tool: str, **arguments: object) -> Any:
        """What a tool answers, whether it succeeds or fails."""
        return structured(self.answer(self.start(tool, **arguments)))

    def succeed(self, tool: str, **arguments: object) -> Any:
        """What a tool answers that must succeed."""
        answer = self.call(tool, **arguments)
        assert answer["ok"], answer
        return answer

    def refuse(self, tool: str, **arguments: object) -> Any:
        """The error of a tool that must fail."""
        answer = self.call(tool, **arguments)
        assert not answer["ok"], answer
        return answer["error"]

    def end(self, within: float = LIMIT) -> list[Any]:
        """Close standard input; the messages that still come, until the server has ended."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        found = [*self.others, *self.rest(within)]
        assert self.process.wait(within) == 0, self.said
        return found

    def rest(self, within: float = LIMIT) -> list[Any]:
        """The messages until the server closes its standard output."""
        found = []
        with suppress(ClosedError):
            while True:
                found.append(self.read(within))
        return found

    def close(self) -> None:
        """Release everything, whatever state it is in."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(LIMIT)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


class Gate:
    """Holds every git that adds a file at `path`, until it is opened: git filters the file."""

    def __init__(self, repo: Repo, path: str) -> None:
        inside = repo.top / ".git" / "gate"
        inside.mkdir()
        self._came, self._open = inside / "came", inside / "open"
        waits = f"until [ -e '{self._open}' ] || ! [ -d '{inside}' ]; do sleep 0.02; done"
        driver = f"touch '{self._came}'; {waits}; cat"
        repo.write(".git/info/attributes", f"{path} filter=gate\n")
        repo.git("config", "filter.gate.clean", driver)
        repo.write(path, "held\n")

    def wait(self) -> None:
        """Wait until a git is held."""
        eventually(self._came.exists)

    def open(self) -> None:
        """Let all pass, those that come later, too."""
        self._open.touch()

    def close(self) -> None:
        """Hold those that come from now on."""
        self._came.unlink(missing_ok=True)
        self._open.unlink()


def eventually(condition: Callable[[], object], within: float = LIMIT) -> None:
    """Wait for a condition (AssertionError)."""
    until = time.monotonic() + within
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def is_answer(message: object, identifier: object) -> bool:
    """Whether a message answers the request with this id."""
    return isinstance(message, dict) and "method" not in message and message["id"] == identifier


def request(identifier: object, method: str, **params: object) -> Message:
    """A request."""
    return {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}


def tool_call(identifier: object, tool: str, **arguments: object) -> Message:
    """A request that calls a tool."""
    return request(identifier, "tools/call", name=tool, arguments=arguments)


def structured(answer: Message) -> Any:
    """The answer of a tool; its text and its flag have to fit."""
    assert "result" in answer, answer
    result = answer["result"]
    content = result["structuredContent"]
    [text] = result["content"]
    assert result["isError"] is not content["ok"]
    assert text["type"] == "text"
    if content["ok"]:
        assert json.loads(text["text"]) == content
    return content


@contextmanager
def serving(
    *options: str,
    cwd: str | Path,
    roots: Sequence[Any] | None = None,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = (),
) -> Iterator[Client]:
    """A server, by default a forked one, with its client; at the end, it must not have failed."""
    environment = {**os.environ, **(env or {})}
    process = (
        _started([*program, "serve", *options], cwd, environment)
        if program
        else ForkedProcess(BOOCODE, ("serve", *options), cwd, environment)
    )
    client = Client(process, roots)
    try:
        yield client
        _check_end(client)
    finally:
        client.close()


def _started(command: Sequence[str], cwd: str | Path, env: Mapping[str, str]) -> Process:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, env=env)


def _check_end(client: Client) -> None:
    if client.process.poll() is None:
        client.end()
    assert "Traceback" not in client.said, client.said
    assert client.process.returncode in (0, -signal.SIGKILL), client.said


class SharedServer:
    """One server for many tests; each has a session and roots of its own."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._client: Client | None = None

    def begin(self, *roots: Any) -> Client:
        """Begin a session whose client has named its roots."""
        if self._client is None:
            self._client = Client(_started(["git-boocode", "serve"], "/", self._env), ())
        self._client.roots = roots
        self._client.begin()
        asked = self._client.read()
        assert asked["method"] == "roots/list", asked
        self._client.name_roots(asked["id"])
        assert self._client.ask("ping") == {}
        return self._client

    def settle(self) -> None:
        """Forget what a test has left; a server that fails is replaced."""
        client, self._client = self._client, None
        if client is not None:
            try:
                client.ask("ping")
            except BaseException:
                client.close()
                raise
            client.others.clear()
            self._client = client

    def end(self) -> None:
        """End the server, which must not have failed."""
        if self._client is not None:
            try:
                _check_end(self._client)
            finally:
                self._client.close()


def edit(path: str, old: str, new: str) -> Message:
    """The arguments of an edit."""
    return {"path": path, "old_string": old, "new_string": new}
