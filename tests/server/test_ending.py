"""The server ends with its client, answers what was asked for, and leaves nothing half-written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import (
    LIMIT,
    NEWEST,
    Client,
    Gate,
    edit,
    eventually,
    request,
    tool_call,
)

BEGIN = request(0, "initialize", protocolVersion=NEWEST, capabilities={})
SIGNALS = [
    signal.SIGTERM,
    pytest.param(signal.SIGINT, marks=pytest.mark.slow),
    pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
]


@pytest.fixture
def client(own_client: Client) -> Client:
    """A server of its own for each test."""
    return own_client


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def is_running(pid: int) -> bool:
    """Whether a process exists; one that has ended, but for which nobody waits, does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def children(pid: int) -> set[int]:
    """The processes that a process has started."""
    found = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            found |= set(map(int, (task / "children").read_text(encoding="ascii").split()))
    return found


def leftovers(repo: Repo) -> list[str]:
    """Locks and temporary files; files that are only locked for a while by `flock` are none."""
    ours = repo.top / ".git/boocode"
    found = (path for path in repo.top.rglob("*") if re.search(r"\.(lock|tmp)$|^tmp_", path.name))
    return sorted(str(path) for path in found if path.parent != ours)


def is_sound(repo: Repo) -> None:
    """Nothing is damaged and nothing is left over."""
    assert leftovers(repo) == []
    assert repo.boocode("doctor").code == 0, repo.boocode("doctor").out
    repo.git("fsck", "--strict")


def test_everything_is_answered_when_standard_input_ends(work: Repo) -> None:
    calls = [tool_call(number, "checkpoint", label=str(number)) for number in range(1, 10)]
    done = subprocess.run(
        ["git", "boocode", "serve"],
        input=lines(BEGIN, *calls, tool_call(10, "log")),
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers} == {*range(11)}
    assert len(work.boocode("log", "--json", "-n", "100").json["checkpoints"]) == 9


@pytest.mark.parametrize("given", [b"", b"\0\n"])
def test_without_a_session(work: Repo, given: bytes) -> None:
    done = subprocess.run(["git", "boocode", "serve"], input=given, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_without_standard_streams(work: Repo, closed: str) -> None:
    script = f"printf '{json.dumps(request(1, 'ping'))}\\n' | git-boocode serve {closed}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) is (closed == "2>&-")


def test_nobody_reads_the_answers(work: Repo) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    calls = [tool_call(number, "checkpoint") for number in range(1, 10)]
    with subprocess.Popen(
        ["git-boocode", "serve"],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(writing)
        _, said = process.communicate(lines(BEGIN, *calls), timeout=LIMIT)
    assert (process.returncode, said) == (0, b"")
    is_sound(work)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_nothing_happens(client: Client, work: Repo, number: signal.Signals) -> None:
    client.succeed("checkpoint")
    client.process.send_signal(number)
    assert client.rest() == []
    assert client.process.wait(LIMIT) == 0
    is_sound(work)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_a_change(client: Client, work: Repo, number: signal.Signals) -> None:
    gate = Gate(work, "held")
    client.start("checkpoint")
    client.start("apply_edit", **edit("a", "two", "2"))
    gate.wait()
    client.process.send_signal(number)
    time.sleep(0.3)
    assert is_running(client.pid)
    gate.open()
    assert client.rest() == []
    assert client.process.wait(LIMIT) == 0
    # The change that had begun is complete, and no other begins.
    assert len(work.boocode("log", "--json").json["checkpoints"]) == 1
    assert work.read("a") == b"one\ntwo\nthree\n"
    is_sound(work)


@pytest.mark.slow
def test_a_signal_during_reading(client: Client, work: Repo) -> None:
    client.succeed("checkpoint")
    gate = Gate(work, "held")
    client.start("diff")
    gate.wait()
    client.process.send_signal(signal.SIGTERM)
    # Readers are not waited for much longer.
    assert client.process.wait(LIMIT) == 0
    gate.open()


@pytest.mark.parametrize(
    "tool", ["apply_edit", pytest.param("preview_edit", marks=pytest.mark.slow)]
)
def test_a_signal_while_the_client_does_not_read(work: Repo, tool: str) -> None:
    work.write("a", "0\n" * 40_000)
    calls = [tool_call(n, tool, path="a", content=f"{n}\n" * 40_000) for n in range(1, 10)]
    with subprocess.Popen(
        ["git-boocode", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(lines(BEGIN, *calls))
        process.stdin.flush()
        # An answer waits for room in the pipe.
        time.sleep(1.5)
        assert is_running(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0
    is_sound(work)


@contextmanager
def child_of_a_client(
    repo: Repo, *, keep_open: bool, program: Sequence[str] = ("git-boocode",)
) -> Iterator[tuple[int, int, Client]]:
    """A client in another process, its server's id, and what the client passes on.

    If `keep_open`, another child of the client has inherited the pipes.
    """
    script = (
        "import os, subprocess, sys, time\n"
        f"at = subprocess.Popen({[*program, 'serve']}, stdin=subprocess.PIPE)\n"
        "others = ([subprocess.Popen(['sleep', '60'], pass_fds=[at.stdin.fileno()],"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)]"
        f" if {keep_open} else [])\n"
        "print(at.pid, *(each.pid for each in others), file=sys.stderr, flush=True)\n"
        "for line in sys.stdin.buffer:\n"
        "    at.stdin.write(line)\n"
        "    at.stdin.flush()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=repo.top,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    client = Client(process, None)
    eventually(lambda: client.said.endswith("\n"))
    server, *others = map(int, client.said.split())
    try:
        client.begin()
        yield process.pid, server, client
    finally:
        for pid in (server, *others):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        client.close()


def test_a_client_that_is_killed(work: Repo) -> None:
    with child_of_a_client(work, keep_open=False) as (pid, server, client):
        client.succeed("checkpoint")
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not is_running(server), 5)
    is_sound(work)


def test_a_client_that_is_killed_during_a_change(work: Repo) -> None:
    gate = Gate(work, "held")
    with child_of_a_client(work, keep_open=False) as (pid, server, client):
        client.start("checkpoint")
        gate.wait()
        os.kill(pid, signal.SIGKILL)
        gate.open()
        eventually(lambda: not is_running(server))
    assert len(work.boocode("log", "--json").json["checkpoints"]) == 1
    is_sound(work)


@pytest.mark.slow
@pytest.mark.parametrize("program", [("git-boocode",), ("git", "boocode")], ids=" ".join)
def test_a_client_that_is_killed_but_whose_pipes_stay_open(
    work: Repo, program: tuple[str, ...]
) -> None:
    with child_of_a_client(work, keep_open=True, program=program) as (pid, server, client):
        client.succeed("apply_edit", **edit("a", "two", "2"))
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not is_running(server), 15)
    assert len(work.boocode("log", "--json", "--edits").json["edits"]) == 1
    is_sound(work)


def test_a_client_that_is_gone_before_it_names_its_roots(work: Repo, serve: Serve) -> None:
    client = serve(roots=[work.top])
    begin = request(0, "initialize", protocolVersion=NEWEST, capabilities={"roots": {}})
    client.send(begin, tool_call(7, "checkpoint"))
    start = time.monotonic()
    assert client.process.stdin is not None
    client.process.stdin.close()
    refused = client.rest()[-1]["result"]["structuredContent"]["error"]
    assert refused["code"] == "outside_worktree"
    assert client.process.wait(LIMIT) == 0
    assert time.monotonic() - start < 8


def test_no_process_and_no_thread_stays(work: Repo, serve: Serve) -> None:
    # Git reads the objects of this repository: libgit2 cannot.
    work.git("config", "extensions.partialClone", "origin")
    work.git("config", "core.repositoryFormatVersion", "1")
    work.git("config", "remote.origin.promisor", "true")
    client = serve()
    client.begin()
    client.succeed("checkpoint")
    client.succeed("log")
    started = children(client.pid)
    assert started
    client.end()
    assert not any(map(is_running, started))


def test_no_lock_is_held_between_requests(client: Client, work: Repo) -> None:
    client.succeed("apply_edit", **edit("a", "two", "2"))
    client.succeed("checkpoint")
    client.succeed("restore", checkpoint="@")
    client.succeed("turn", action="begin")
    client.ask("ping")
    assert leftovers(work) == []

    def locks() -> list[str]:
        found = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        return [line for line in found if str(client.pid) in line.split()]

    # The index of the checkpoint is updated at leisure, in a private directory.
    eventually(lambda: not locks())


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.003, 0.01, 0.03])
def test_a_server_that_is_killed(work: Repo, serve: Serve, delay: float) -> None:
    client = serve()
    client.begin()
    client.succeed("checkpoint")
    for number in range(8):
        client.send(
            tool_call(100 + number, "apply_edit", path="sub/b", content=f"{number}\n" * 50),
            tool_call(200 + number, "checkpoint"),
        )
    time.sleep(delay)
    client.process.kill()
    client.process.wait()
    texts = {b"b\n", *(f"{number}\n".encode() * 50 for number in range(8))}
    assert work.read("sub/b") in texts
    assert work.boocode("checkpoint").code == 0
    work.boocode("doctor", "--fix")
    assert work.read("sub/b") in texts
    assert work.boocode("doctor").code == 0
    work.git("fsck", "--strict")
    assert sorted(work.files()) == ["a", "sub/b"]


@pytest.mark.parametrize(
    "env",
    [
        {"GIT_TRACE": "1", "GIT_TRACE2_EVENT": "1", "GIT_PAGER": "cat; echo no"},
        {"GIT_TRACE": "2", "GIT_CONFIG_PARAMETERS": "'x.y=z'", "GIT_BOOCODE_DEBUG": "1"},
        {"PYTHONVERBOSE": "1", "PYTHONWARNINGS": "always", "LANG": "C"},
        {"PYTHONDEVMODE": "1", "PYTHONUNBUFFERED": "1"},
    ],
    ids=" ".join,
)
@pytest.mark.variants
def test_nothing_but_protocol_on_standard_output(
    work: Repo, serve: Serve, env: dict[str, str]
) -> None:
    client = serve(env=env, program=["git-boocode"])
    client.begin()
    client.succeed("apply_edit", **edit("a", "two", "zwei"))
    client.succeed("checkpoint", label="ä")
    work.write("a", "ö\n")
    client.succeed("diff")
    client.succeed("restore", checkpoint="@")
    client.succeed("log")
    assert client.end() == []


def test_what_programs_print_is_not_protocol(work: Repo, serve: Serve) -> None:
    work.write(".git/info/attributes", "* filter=loud\n")
    work.git("config", "filter.loud.clean", "echo loud >&2; cat")
    callback = work.write(".git/callback", "#!/bin/sh\necho '{}'; echo loud >&2\n", 0o755)
    work.git("config", "boocode.callback", str(callback))
    client = serve()
    client.begin()
    client.succeed("checkpoint")
    work.write("a", "changed\n")
    client.succeed("restore", checkpoint="@")
    assert client.end() == []
