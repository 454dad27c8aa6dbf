"""The callback that asks a host on this machine, through real restores."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from git_boocode.repo.errors import BoocodeError
from tests.checkpoints.kit import Seen, back, redone, seen, sound, take, undone
from tests.hooks.kit import callback, failing, failing_afterwards, load, refused
from tests.repo_kit import Repo

PROGRAM = callback("http")
HTTP = load("http")


class Host(ThreadingHTTPServer):
    """A host that answers each event as it is told to, and `{}` otherwise."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.headers: dict[str, str] = {}
        self.patience = threading.Event()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_port}"

    @property
    def events(self) -> list[str]:
        return [event["event"] for event in self.received]


class _Handler(BaseHTTPRequestHandler):
    server: Host

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["Content-Type"] == "application/json"
        self.server.received.append(event)
        self.server.paths.append(self.path)
        status, body = self.server.answers.get(event["event"], (200, b"{}"))
        if status == 0:
            self.server.patience.wait(20)
            return
        self.send_response(status)
        for key, value in self.server.headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def host(repo: Repo) -> Iterator[Host]:
    """A host that the repository's configuration names, a checkpoint and a mess."""
    repo.commit("base", a="1\n")
    take(chat="c", message="m", meta={"k": "v"})
    repo.write("a", "2\n")
    with Host() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        repo.git("config", "boocode.callbackUrl", f"{server.url}/secret/way?x=1")
        yield server
        server.patience.set()
        server.shutdown()


@pytest.fixture
def mess(repo: Repo, host: Host) -> Seen:
    return seen(repo)


def test_every_event_is_posted(repo: Repo, host: Host, mess: Seen) -> None:
    host.answers["trim"] = (200, b'{"messages_deleted": 3, "backend_reset": true, "message": "x"}')
    outcome = back(callback=PROGRAM)
    assert outcome.answer is not None
    answer = outcome.answer
    assert (answer.messages_deleted, answer.backend_reset, answer.message) == (3, True, "x")
    assert repo.read("a") == b"1\n"
    undone(callback=PROGRAM)
    assert seen(repo) == mess
    redone(callback=PROGRAM)
    undone(callback=PROGRAM)
    assert host.events == ["prepare", "trim", "prepare", "undo"] * 2
    trim = host.received[1]
    assert (trim["chat"], trim["message"], trim["meta"]) == ("c", "m", {"k": "v"})
    assert trim["restore_id"] == outcome.undo
    assert set(host.paths) == {"/secret/way?x=1"}


def test_no_text_is_an_answer(repo: Repo, host: Host) -> None:
    host.answers = {"prepare": (204, b""), "trim": (204, b"")}
    back(callback=PROGRAM)
    assert repo.read("a") == b"1\n"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((409, b"a turn is running\n"), "answered 409 Conflict: a turn is running"),
        ((403, b'{"message": "not you"}'), "answered 403 Forbidden: not you"),
        ((422, b'["odd"]'), '["odd"]'),
        ((500, b"\xff"), "answered 500 Internal Server Error: \ufffd"),
        ((302, b""), "answered 302 Found"),
        ((200, b'{"veto": true, "message": "busy"}'), "busy"),
    ],
)
def test_vetoes(repo: Repo, host: Host, mess: Seen, answer: tuple[int, bytes], reason: str) -> None:
    host.answers["prepare"] = answer
    host.headers["Location"] = f"{host.url}/elsewhere"
    said = refused(PROGRAM)
    assert said.endswith(f": {reason}") or f"{host.url} {reason}" in said
    assert "secret" not in said
    assert (seen(repo), host.events) == (mess, ["prepare"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((409, b"too late"), "409 Conflict: too late"),
        ((200, b"<html>"), "instead of one JSON object"),
        ((200, b'{"messages_deleted": -1}'), "must be a whole number"),
        ((301, b""), "301 Moved Permanently"),
    ],
)
def test_failures(
    repo: Repo, host: Host, mess: Seen, answer: tuple[int, bytes], reason: str
) -> None:
    host.answers["trim"] = answer
    assert reason in failing(PROGRAM)
    assert (seen(repo), host.events) == (mess, ["prepare", "trim", "rollback"])
    sound(repo)


def test_a_later_step_fails(
    repo: Repo, host: Host, mess: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_afterwards(monkeypatch, PROGRAM)
    assert (seen(repo), host.events) == (mess, ["prepare", "trim", "rollback"])
    assert host.received[-1]["reason"] == "the archive is on fire"


def test_a_failure_in_undo_and_in_rollback(repo: Repo, host: Host) -> None:
    back(callback=PROGRAM)
    host.answers = {"undo": (500, b"no"), "rollback": (500, b"nor that")}
    with pytest.raises(BoocodeError) as caught:
        undone(callback=PROGRAM)
    assert "the conversation may be incomplete" in caught.value.message
    assert "500 Internal Server Error: nor that" in caught.value.message
    assert repo.read("a") == b"1\n"
    host.answers = {}
    undone(callback=PROGRAM)


def test_a_host_that_does_not_answer(repo: Repo, host: Host, mess: Seen) -> None:
    repo.git("config", "boocode.callbackTimeout", "3")
    host.answers["trim"] = (0, b"")
    begun = time.monotonic()
    assert f"{host.url} did not answer in 1.5 s" in failing(PROGRAM)
    assert time.monotonic() - begun < 10
    assert seen(repo) == mess


def test_no_host(repo: Repo, host: Host, mess: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    monkeypatch.setenv("BOOCODE_URL", f"http://127.0.0.1:{port}/secret")
    said = refused(PROGRAM)
    assert f"http://127.0.0.1:{port} cannot be reached: " in said
    assert "secret" not in said
    assert (seen(repo), host.events) == (mess, [])


URLS = [
    "ftp://localhost/", "localhost:80", "http://", "http://localhost:x/", "http://localhost:99999/",
    "http://[::1/", "http://localhost:1/a b", "file:///etc/passwd", "http://\n/", "http://a..b/",
]  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_addresses_that_make_no_sense(url: str) -> None:
    with pytest.raises((OSError, HTTPException, ValueError)):
        HTTP.post(url, b"{}")


def test_an_address_with_a_password(
    repo: Repo, mess: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOCODE_URL", "http://u:p@localhost/")
    said = refused(PROGRAM)
    assert "localhost cannot be reached: the URL must be http://HOST:PORT/PATH" in said
    assert "u:p" not in said


def test_only_this_machine_is_asked(
    repo: Repo, host: Host, mess: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        address = probe.getsockname()[0]
    with Host() as server:
        server.socket.close()
        server.socket = socket.create_server((address, 0))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        port = server.socket.getsockname()[1]
        monkeypatch.setenv("BOOCODE_URL", f"http://{address}:{port}/")
        assert f"{address} is not this machine" in refused(PROGRAM)
        server.shutdown()
    assert server.events == []


def test_no_proxy_is_asked(repo: Repo, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    back(callback=PROGRAM)
    assert repo.read("a") == b"1\n"


def test_without_an_address(repo: Repo, host: Host) -> None:
    repo.git("config", "--unset", "boocode.callbackUrl")
    assert "no host is configured" in refused(PROGRAM)
