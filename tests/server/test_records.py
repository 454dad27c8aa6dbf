"""The records of edits: published behind the answer, and before it where text could be lost."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from git_boocode.editing.inputs import Source
from git_boocode.editing.service import Options, apply_edits
from git_boocode.editing.workspace import Workspace
from git_boocode.server.record_queue import BatchedRecords
from tests.repo_kit import Repo
from tests.server.kit import Client, edit, eventually


@pytest.mark.parametrize("how", ["delete", "rewrite", "create", "two files"])
def test_the_record_comes_first_where_text_could_be_lost(
    client: Client, work: Repo, how: str
) -> None:
    patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"
    two = {"edits": [edit("a", "two", "2"), edit("sub/b", "b", "B")]}
    calls: dict[str, dict[str, Any]] = {
        "delete": {"input": patch},
        "rewrite": {"path": "a", "content": "new\n"},
        "create": {"path": "new", "content": "new\n"},
        "two files": two,
    }
    answer = client.succeed("apply_edit", **calls[how])
    client.process.kill()
    client.process.wait()
    recorded = work.boocode("log", "--edits", "--json").json["edits"]
    assert [each["id"] for each in recorded] == [answer["id"]]
    assert work.boocode("rewind").code == 0
    assert {path: data for path, (_, data) in work.files().items()} == {
        "a": b"one\ntwo\nthree\n",
        "sub/b": b"b\n",
    }


def test_after_a_failed_record_edits_wait_for_theirs(client: Client, work: Repo) -> None:
    # No ref can be below another.
    work.git("update-ref", "refs/boocode/edits", "HEAD")
    client.succeed("apply_edit", **edit("a", "two", "2"))
    eventually(lambda: client.call("log", edits=True) and any(map(is_about_records, client.others)))
    error = client.refuse("apply_edit", **edit("a", "three", "3"))
    assert error["code"] == "record"
    assert work.read("a") == b"one\n2\nthree\n"
    work.git("update-ref", "-d", "refs/boocode/edits")
    answer = client.succeed("apply_edit", **edit("a", "three", "3"))
    assert client.succeed("log", edits=True)["edits"][0]["id"] == answer["id"]


def is_about_records(message: Any) -> bool:
    """Whether a message of the log says that an edit is not recorded."""
    return "not recorded" in message.get("params", {}).get("data", "")


@pytest.mark.parametrize("comes", [True, False])
def test_nothing_is_written_where_the_repository_was(
    work: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes: bool
) -> None:
    other = Repo(tmp_path / "other")
    other.top.mkdir()
    other.git("init", "-q", "--object-format=sha256")
    failures: list[str] = []
    queue = BatchedRecords(failures.append)
    workspace = Workspace.find(index=True)
    given = json.dumps(edit("a", "two", "2")).encode()
    apply_edits([Source("it", given)], workspace, Options(records=queue))
    monkeypatch.chdir(tmp_path)
    moved = tmp_path / "moved"
    work.top.rename(moved)
    if comes:
        other.top.rename(work.top)
    queue.settle()
    assert [f"'{work.top}/.git'" in each for each in failures] == [True]
    assert not queue.is_reliable
    if comes:
        assert work.git("fsck", "--strict") == ""
        assert not (work.top / ".git/boocode").exists()
    else:
        assert not work.top.exists()
    assert (moved / "a").read_bytes() == b"one\n2\nthree\n"


def test_the_newest_edit_is_not_rewound_before_it_is_recorded(client: Client, work: Repo) -> None:
    first = client.succeed("apply_edit", **edit("a", "one", "1"))
    eventually(lambda: work.boocode("log", "--edits", "--json").json["edits"])
    applied = 1
    while not caught_unrecorded(client, work, applied):
        client.process.send_signal(signal.SIGCONT)
        applied += 1
    before = work.read("a")
    try:
        done = work.boocode("rewind", "--json")
        assert (done.code, done.json["error"]["code"]) == (1, "locked")
        assert work.read("a") == before
        assert work.boocode("rewind", first["id"]).code == 0
    finally:
        client.process.send_signal(signal.SIGCONT)
    assert work.read("a") == before.replace(b"1\n", b"one\n", 1)
    eventually(lambda: len(recorded(work)) == applied + 2)


def caught_unrecorded(client: Client, work: Repo, number: int) -> bool:
    """Whether an edit is not recorded yet when the server is stopped after it."""
    old = "two" if number == 1 else f"two {number}"
    client.succeed("apply_edit", **edit("a", old, f"two {number + 1}"))
    client.process.send_signal(signal.SIGSTOP)
    return len(work.git("for-each-ref", "refs/boocode/edits").splitlines()) == number


def recorded(work: Repo) -> list[Any]:
    """The edits that are recorded."""
    return list(work.boocode("log", "--edits", "--json").json["edits"])


def test_a_reader_of_records_waits_for_those_before_it_only(client: Client, work: Repo) -> None:
    work.write("count", "0\n")
    running = True

    def edits() -> None:
        # Beyond 1,000, the oldest are deleted.
        for number in range(900):
            if not running:
                break
            client.succeed("apply_edit", **edit("count", f"{number}\n", f"{number + 1}\n"))

    thread = threading.Thread(target=edits)
    thread.start()
    try:
        eventually(lambda: work.read("count") != b"0\n")
        for _ in range(5):
            before = int(work.read("count"))
            found = work.boocode("log", "--edits", "--json").json["edits"]
            assert len(found) >= before
            assert work.boocode("log", "--edits", "-5").code == 0
    finally:
        running = False
        thread.join()
