"""Changes of a worktree happen in the order of their requests; everything else happens beside them.

One-shot commands work at the same time as if the server was not there.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from git_boocode.server.calls import Lanes
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import LIMIT, Client, Gate, edit, eventually, structured, tool_call


def test_many_requests_in_flight(client: Client, work: Repo) -> None:
    """Changes are answered in order, in each of two worktrees; what reads comes in between."""
    work.git("worktree", "add", "-q", "--detach", ".git/other")
    other = str(work.top / ".git/other")
    calls = []
    for number in range(8):
        content = "".join(f"{each}\n" for each in range(number + 1))
        for part, cwd in enumerate((str(work.top), other)):
            base = 1000 * part + 10 * number
            calls += [
                tool_call(base, "apply_edit", path="count", content=content, cwd=cwd),
                tool_call(base + 1, "checkpoint", label=str(number), cwd=cwd),
                tool_call(base + 2, "locate", path="a", needle="two", cwd=cwd),
            ]
    client.send(*calls)
    answers = [client.read() for _ in calls]
    assert all(structured(answer)["ok"] for answer in answers)
    for part in range(2):
        ids = [answer["id"] for answer in answers]
        changes = [each for each in ids if each // 1000 == part and each % 10 < 2]
        assert changes == sorted(changes)
    for cwd in (str(work.top), other):
        listed = client.succeed("log", cwd=cwd)["checkpoints"]
        assert [row["label"] for row in listed] == [str(number) for number in reversed(range(8))]
        for row in listed:
            text = client.succeed("show", name=f"{row['id']}:count", cwd=cwd)["content"]
            assert len(text.splitlines()) == int(row["label"]) + 1
    assert work.boocode("doctor").code == 0


def test_what_reads_does_not_wait_for_a_change(client: Client, work: Repo) -> None:
    gate = Gate(work, "held")
    running = client.start("checkpoint")
    gate.wait()
    assert client.succeed("locate", path="a", needle="two")
    assert client.succeed("log")["checkpoints"] == []
    assert client.succeed("preview_edit", **edit("a", "two", "2"))
    assert client.ask("resources/list")["resources"]
    behind = client.start("apply_edit", **edit("a", "two", "2"))
    assert client.ask("ping") == {}
    assert work.read("a") == b"one\ntwo\nthree\n"
    gate.open()
    assert structured(client.answer(running))["ok"]
    assert structured(client.answer(behind))["ok"]
    assert client.succeed("show", name="@:a")["content"] == "one\ntwo\nthree\n"


def test_worktrees_do_not_wait_for_each_other(client: Client, work: Repo, tmp_path: Path) -> None:
    work.git("worktree", "add", "-q", "--detach", ".git/linked")
    work.git("init", "-q", "nested")
    gate = Gate(work, "held")
    running = client.start("checkpoint")
    gate.wait()
    assert client.succeed("checkpoint", cwd=".git/linked")
    assert client.succeed("apply_edit", path="new", content="new\n", cwd="nested")
    gate.open()
    assert structured(client.answer(running))["ok"]


def test_a_change_by_another_directory_of_the_worktree_waits(client: Client, work: Repo) -> None:
    (work.top / "link").symlink_to("sub")
    gate = Gate(work, "held")
    client.start("checkpoint")
    gate.wait()
    behind = [
        client.start("apply_edit", path=f"{work.top}/new{number}", content="x\n", cwd=cwd)
        for number, cwd in enumerate(("sub", "link", str(work.top), ".", "sub/../sub"))
    ]
    client.ask("ping")
    time.sleep(0.2)
    assert not (work.top / "new0").exists()
    gate.open()
    for identifier in behind:
        assert structured(client.answer(identifier))["ok"]


def test_the_record_is_there_for_the_next_request(client: Client, work: Repo) -> None:
    for number in range(3):
        made = client.start("apply_edit", path="count", content=f"{number}\n")
        identifier = structured(client.answer(made))["id"]
        assert client.succeed("show", name=identifier)["edit"]["id"] == identifier
        assert client.succeed("log", edits=True)["edits"][0]["id"] == identifier
        # Neither answer is awaited.
        again = client.start("apply_edit", path="count", content=f"{number}!\n")
        rewound = structured(client.answer(client.start("rewind")))
        assert rewound["rewinds"] == structured(client.answer(again))["id"]
        assert work.read("count") == f"{number}\n".encode()


def test_an_edit_by_a_base_that_was_just_written(client: Client, work: Repo) -> None:
    made = client.succeed("apply_edit", path="new", content="one\ntwo\nthree\n")
    assert made["ok"]
    base = work.git("hash-object", "new").strip()
    client.succeed("apply_edit", **edit("new", "one", "1"))
    client.succeed("apply_edit", **edit("new", "three", "3"), base=base)
    assert work.read("new") == b"1\ntwo\n3\n"


def test_another_server_sees_the_newest_edit(client: Client, work: Repo, serve: Serve) -> None:
    other = serve()
    other.begin()
    other.succeed("log", edits=True)
    for number, word in enumerate(("one", "two", "three")):
        newest = client.succeed("apply_edit", **edit("a", word, str(number)))
        if number < 2:
            client.succeed("log", edits=True)
    assert other.succeed("rewind")["rewinds"] == newest["id"]
    assert work.read("a") == b"0\n1\nthree\n"


def run_beside(client: Client, work: Repo, commands: list[list[str]], calls: list[object]) -> None:
    """Run commands while the server answers calls; none of them fails for another reason."""
    done: list[tuple[int, str]] = []

    def run() -> None:
        for command in commands:
            result = subprocess.run(command, cwd=work.top, capture_output=True, text=True)
            done.append((result.returncode, result.stderr))

    thread = threading.Thread(target=run)
    thread.start()
    client.send(*calls)
    answers = [structured(client.read()) for _ in calls]
    thread.join(2 * LIMIT)
    assert len(done) == len(commands)
    for code, said in done:
        assert code == 0 or (code == 1 and "another" in said), said
    for answer in answers:
        assert answer["ok"] or answer["error"]["code"] in ("locked", "changed"), answer


@pytest.mark.slow
def test_edits_by_commands_beside_the_server(client: Client, work: Repo) -> None:
    work.write("count", "".join(f"line {number}\n" for number in range(40)))
    text = ["git", "boocode", "apply-edit", "--path", "count", "--old"]
    commands = [[*text, f"line {n}\n", "--new", f"command {n}\n"] for n in range(0, 40, 4)]
    calls = [
        tool_call(n, "apply_edit", **edit("count", f"line {n}\n", f"server {n}\n"))
        for n in range(2, 40, 4)
    ]
    run_beside(client, work, commands, [*calls])
    lines = work.read("count").decode().splitlines()
    assert len(lines) == 40
    for number, line in enumerate(lines):
        ours = {0: "command", 2: "server"}.get(number % 4, "line")
        assert line in (f"{ours} {number}", f"line {number}")
    applied = [line for line in lines if not line.startswith("line")]
    eventually(lambda: len(work.boocode("log", "--edits", "--json").json["edits"]) == len(applied))
    # Nearly all succeed: they wait for each other's locks.
    assert len(applied) >= 18
    assert work.boocode("doctor").code == 0


@pytest.mark.slow
def test_checkpoints_and_restores_by_commands_beside_the_server(client: Client, work: Repo) -> None:
    client.succeed("checkpoint", label="begin")
    ours = ["git", "boocode"]
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": "x", "transcript_path": ""}
    prompt = json.dumps({"session_id": "s", "cwd": str(work.top), **payload})
    hook = ["sh", "-c", f"printf '%s' '{prompt}' | git boocode hook claude-code"]
    commands = [
        *([*ours, "checkpoint", "-m", "command"], hook, [*ours, "restore", "label:begin"]),
        # The server's checkpoints may come between the restore and its undo.
        [*ours, "undo", "--force", "newer-turns"],
        *([*ours, "checkpoint", "-m", "command"], [*ours, "status"]),
    ]
    calls = [
        call
        for n in range(8)
        for call in (
            tool_call(2 * n, "apply_edit", path="sub/b", content=f"{n}\n" * 20),
            tool_call(2 * n + 1, "checkpoint", label="server"),
        )
    ]
    run_beside(client, work, commands, [*calls])
    labels = [row["label"] for row in client.succeed("log", all=True)["checkpoints"]]
    archived = [row["label"] for row in client.succeed("log", archived=True)["checkpoints"]]
    assert (labels + archived).count("server") == 8
    assert work.boocode("doctor").code == 0
    work.git("fsck", "--strict")


def test_git_beside_the_server(client: Client, work: Repo) -> None:
    for number in range(5):
        client.succeed("apply_edit", path="count", content=f"{number}\n")
        work.git("add", "count")
        work.git("commit", "-q", "-m", str(number))
        client.succeed("checkpoint", label=str(number))
    lock = work.write(".git/index.lock")
    assert client.succeed("checkpoint")
    assert client.refuse("restore", checkpoint="label:1")["code"] == "locked"
    lock.unlink()
    assert client.succeed("restore", checkpoint="label:1")["worktree_reset"]
    assert work.read("count") == b"1\n"


class _Log:
    """What jobs have done, in order."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.gate = threading.Event()

    def job(self, name: object, *, held: bool = False) -> None:
        if held:
            assert self.gate.wait(LIMIT)
        self.done.append(name)


def test_lanes_keep_the_order_of_each_worktree() -> None:
    lanes, log = Lanes(), _Log()
    lanes.change("a", lambda: log.job("a0", held=True))
    for number in range(1, 50):
        lanes.change("a", partial(log.job, f"a{number}"))
    lanes.change("b", lambda: log.job("b"))
    lanes.read(lambda: log.job("read"))
    eventually(lambda: {*log.done} == {"b", "read"})
    assert not lanes.finish(0.05)
    log.gate.set()
    lanes.finish_changes()
    assert log.done[2:] == [f"a{number}" for number in range(50)]
    assert lanes.finish(0)


def test_readers_are_limited_and_wait_in_order() -> None:
    lanes, log = Lanes(), _Log()
    for number in range(20):
        lanes.read(partial(log.job, number, held=True))
    assert not lanes.finish(0.05)
    assert threading.active_count() < 15
    log.gate.set()
    assert lanes.finish(LIMIT)
    assert sorted(log.done, key=str) == sorted(range(20), key=str)


def test_jobs_that_wait_are_begun_in_order() -> None:
    lanes, log = Lanes(), _Log()
    lanes.begin(lambda: log.job("first", held=True))
    lanes.begin(lambda: log.job("second"))
    time.sleep(0.05)
    assert log.done == []
    log.gate.set()
    lanes.finish_changes()
    assert log.done == ["first", "second"]


def test_idle_worktrees_keep_few_threads() -> None:
    before = threading.active_count()
    lanes, log = Lanes(), _Log()
    for number in range(200):
        lanes.change(str(number), partial(log.job, number))
        assert lanes.finish(LIMIT)
    assert log.done == [*range(200)]
    eventually(lambda: threading.active_count() - before < 70)
    lanes.finish_changes()


def test_the_record_is_there_when_the_answer_is(own_client: Client, work: Repo) -> None:
    edits = (edit("a", old, f"{old}!") for old in ("two", "two!", "two!!"))
    ids = [own_client.succeed("apply_edit", **each)["id"] for each in edits]
    own_client.process.kill()
    own_client.process.wait()
    recorded = work.boocode("log", "--edits", "--json").json["edits"]
    assert [each["id"] for each in recorded] == ids[::-1]
    assert work.boocode("rewind").code == 0
    assert work.read("a") == b"one\ntwo!!\nthree\n"


def test_an_edit_that_cannot_be_recorded_is_refused(client: Client, work: Repo) -> None:
    # No ref can be below another.
    work.git("update-ref", "refs/boocode/edits", "HEAD")
    assert client.refuse("apply_edit", **edit("a", "two", "2"))["code"] == "record"
    assert work.read("a") == b"one\ntwo\nthree\n"


def test_a_restore_keeps_only_its_own_worktree_locked(own_client: Client, work: Repo) -> None:
    other = Repo(work.top / "linked")
    work.git("worktree", "add", "-q", str(other.top))
    for repo in (work, other):
        own_client.succeed("checkpoint", cwd=str(repo.top))
        repo.write("held", "x\n")
        own_client.succeed("checkpoint", cwd=str(repo.top))
        (repo.top / "held").unlink()
    inside = work.top / ".git/smudge"
    inside.mkdir()
    waits = (
        f"touch '{inside}/'$(basename \"$PWD\"); until [ -e '{inside}/go' ]; do sleep 0.02; done"
    )
    work.git("config", "filter.slow.smudge", f"{waits}; cat")
    work.git("config", "filter.slow.clean", "cat")
    work.write(".git/info/attributes", "held filter=slow\n")
    try:
        restores = [
            own_client.start("restore", checkpoint="@", cwd=str(repo.top)) for repo in (work, other)
        ]
        eventually(lambda: len({*inside.iterdir()}) == 2)
        locks = [work.top / ".git/boocode/lock", work.top / ".git/worktrees/linked/boocode/lock"]
        holders = {lock: _processes_with(lock) - {own_client.pid} for lock in locks}
        assert all(holders.values())
        assert not holders[locks[0]] & holders[locks[1]]
    finally:
        (inside / "go").touch()
    for restore in restores:
        assert own_client.answer(restore)["result"]["structuredContent"]["ok"]


def _processes_with(path: Path) -> set[int]:
    """The processes that have a file open."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if link.readlink() == path:
                found.add(int(link.parts[2]))
    return found
