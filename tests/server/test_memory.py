"""Ten thousand requests leave no memory, no descriptors and no processes behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import Client, tool_call
from tests.server.test_ending import children

pytestmark = pytest.mark.slow


def resident(client: Client) -> int:
    """Memory of the server in KiB."""
    status = Path(f"/proc/{client.pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0])


def descriptors(client: Client) -> int:
    return len(os.listdir(f"/proc/{client.pid}/fd"))


def run(client: Client, count: int) -> None:
    """Calls of many kinds; most of them are edits."""
    for start in range(0, count, 100):
        calls = []
        for number in range(start, start + 100):
            kind = number % 50
            if kind == 0:
                calls.append(tool_call(number, "checkpoint", label=str(number), if_changed=True))
            elif kind == 1:
                calls.append(tool_call(number, "log", max_count=5))
            elif kind == 2:
                calls.append(tool_call(number, "locate", path="gone", needle="x"))
            elif kind % 2:
                calls.append(tool_call(number, "locate", path="count", needle="last line"))
            else:
                content = f"line {number}\n" + "line 5\n" * 100 + "last line\n"
                no_record = kind != 4
                calls.append(
                    tool_call(
                        number, "apply_edit", path="count", content=content, no_record=no_record
                    )
                )
        client.send(*calls)
        for _ in calls:
            assert "result" in client.read()


def test_ten_thousand_requests(work: Repo, serve: Serve) -> None:
    client = serve(program=["git-boocode"])
    client.begin()
    run(client, 2_000)
    before, files = resident(client), descriptors(client)
    run(client, 8_000)
    client.succeed("log", edits=True, max_count=1)
    assert resident(client) - before < 8 << 10
    assert descriptors(client) <= files + 2
    assert len(children(client.pid)) <= 1
    assert work.boocode("doctor").code == 0


def test_a_repository_that_changes_all_the_time(work: Repo, serve: Serve) -> None:
    # Git reads the objects: libgit2 opens no partial clone.
    work.git("config", "extensions.partialClone", "origin")
    work.git("config", "core.repositoryFormatVersion", "1")
    client = serve(program=["git-boocode"])
    client.begin()
    client.succeed("checkpoint")
    for number in range(60):
        work.git("config", "x.y", str(number))
        client.succeed("show")
        client.succeed("show", name="@:sub/b", cwd="sub")
    assert len(children(client.pid)) <= 4
    assert descriptors(client) < 60
