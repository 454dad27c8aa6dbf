from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.checkpoints.callback import find_callback, running_lock, wait_for_callback
from git_boocode.checkpoints.restore.transaction import Transaction
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import Host, back, refs, seen, sound, take, undone
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def mess(repo: Repo) -> Repo:
    """A repository that has a checkpoint to go back to, and good reason to."""
    repo.commit(a="a\n", b="b\n")
    repo.write("b", "staged\n")
    repo.git("add", "b")
    take(label="l", session="s", chat="c", message="m", agent="g", meta={"k": "v"})
    repo.write("a", "mess\n")
    repo.write("new", "mess\n")
    repo.git("add", "a")
    (repo.top / "b").unlink()
    return repo


def fails(
    run: Callable[[], object], *, code: str = "callback", exit_code: int = 128
) -> BoocodeError:
    """The error of something that must fail."""
    with pytest.raises(BoocodeError) as caught:
        run()
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    return caught.value


def test_the_events_of_a_callback(mess: Repo) -> None:
    target = refs(mess, "checkpoints")[0].split()
    host = Host(mess, trim='echo \'{"messages_deleted": 2, "backend_reset": true, "x": 1}\'')
    outcome = back(callback=host.path)
    prepare, trim = host.received
    assert (prepare.pop("event"), trim.pop("event")) == ("prepare", "trim")
    assert prepare == trim
    assert trim.pop("created_at").endswith("Z")
    assert trim == {
        "boocode": 1,
        "operation": "restore",
        "commits": "trim",
        "restore_id": outcome.undo,
        "checkpoint_id": target[0].rpartition("/")[2],
        "commit": target[1],
        "label": "l", "session": "s", "chat": "c", "message": "m", "agent": "g",
        "anchor": {"agent": "g", "session": "s", "chat": "c", "message": "m"},
        "meta": {"k": "v"},
        "transcripts": [str(mess.top)],
        "worktree": str(mess.top),
        "git_dir": str(mess.top / ".git"),
        "changed": [
            {"path": "a", "action": "modify"},
            {"path": "b", "action": "create"},
            {"path": "new", "action": "delete"},
        ],
    }  # fmt: skip
    assert outcome.answer is not None
    assert (outcome.answer.messages_deleted, outcome.answer.backend_reset) == (2, True)


def test_the_order_of_callback_events(mess: Repo) -> None:
    look = 'cat a >> .git/looked; echo "{}"'
    host = Host(mess, prepare=look, trim=look)
    back(callback=host.path)
    assert mess.read(".git/looked") == b"mess\na\n"


def test_a_path_that_is_not_utf_8(mess: Repo) -> None:
    mess.write("caf\udce9\n", "x")
    host = Host(mess)
    back(callback=host.path)
    assert {"path": "caf\udce9\n", "action": "delete"} in host.received[0]["changed"]
    assert b"caf\\udce9\\n" in mess.read(".git/received")


def test_a_veto_changes_nothing(mess: Repo) -> None:
    before, refs_before = seen(mess), refs(mess)
    for prepare, reason in (
        ("echo no, thanks >&2; exit 1", "no, thanks"),
        ("exit 3", "no reason given"),
        ('echo \'{"veto": true, "message": "busy"}\'', "busy"),
        ("echo '{\"veto\": true}'; echo later >&2", "later"),
    ):
        host = Host(mess, prepare=prepare)
        error = fails(lambda host=host: back(callback=host.path), code="vetoed", exit_code=1)  # type: ignore[misc]
        assert error.message.endswith(f"vetoed the restore: {reason}")
        assert host.events[-1] == "prepare"
        assert (seen(mess), refs(mess)) == (before, refs_before)
    sound(mess)


@pytest.mark.parametrize("prepare", ["true", "echo", "echo '{}'", "echo '{\"veto\": false}'"])
def test_no_veto(mess: Repo, prepare: str) -> None:
    host = Host(mess, prepare=prepare)
    back(callback=host.path)
    assert host.events == ["prepare", "trim"]


FAILURES = {
    "exit code": ("echo my words >&2; exit 7", "exit code 7 in 'trim'\nmy words"),
    "killed": ("kill -9 $$", "killed by signal 9"),
    "garbage": ("echo done", "done"),
    "nothing": ("true", "one JSON object"),
    "an array": ("echo '[]'", "one JSON object"),
    "not UTF-8": ("printf '\\377'", "one JSON object"),
    "deeply nested": ("printf '%099999d' 0 | tr 0 '['", "one JSON object"),
    "a number in words": ('echo \'{"messages_deleted": "2"}\'', "must be a whole number"),
    "a negative number": ('echo \'{"messages_deleted": -1}\'', "must be a whole number"),
    "true for a number": ('echo \'{"messages_deleted": true}\'', "must be a whole number"),
    "a number for a flag": ('echo \'{"backend_reset": 1}\'', "must be true or false"),
    "worktree edited": (
        "echo theirs > a; echo theirs > c; rm -f b; exit 1", "exit code 1"
    ),
    "index changed": ("echo x > staged; git add staged; rm staged; exit 1", "exit code 1"),
    "both": ("echo theirs > a; git add a; exit 1", "exit code 1"),
    "all committed": ("git stash -q; git stash drop -q; exit 1", "exit code 1"),
}  # fmt: skip


@pytest.mark.parametrize("how", FAILURES)
def test_a_failing_trim_changes_nothing(mess: Repo, how: str) -> None:
    script, said = FAILURES[how]
    before, refs_before = seen(mess), refs(mess)
    host = Host(mess, trim=script)
    error = fails(lambda: back(callback=host.path))
    assert said in error.message
    assert host.events == ["prepare", "trim", "rollback"]
    assert host.received[-1]["reason"] == error.message
    now = seen(mess)
    if how == "worktree edited":
        # What is no part of the restore is not ours to remove.
        assert now.files.pop("c")[1] == b"theirs\n"
        now = now._replace(status=now.status.replace("? c\0", ""))
    assert now == before
    halfway = [ref for ref in refs(mess) if ref not in refs_before]
    if how in ("worktree edited", "index changed", "both", "all committed"):
        assert len(halfway) >= 1
        assert all(ref.startswith("refs/boocode/safety/") for ref in halfway)
    else:
        assert halfway == []
    with pytest.raises(RefusedError, match="there is no restore to undo"):
        undone()
    sound(mess)


def test_a_hanging_callback_is_killed_with_its_children(mess: Repo) -> None:
    mess.git("config", "boocode.callbackTimeout", "1")
    before, refs_before = seen(mess), refs(mess)
    pid = mess.top / ".git/pid"
    host = Host(mess, trim="sleep 600 & echo $! > .git/pid; echo waiting >&2; wait")
    error = fails(lambda: back(callback=host.path))
    assert "did not answer 'trim' within 1 seconds" in error.message
    assert error.message.endswith("\nwaiting")
    assert "boocode.callbackTimeout" in error.hints[0]
    assert (seen(mess), refs(mess)) == (before, refs_before)
    assert ended(int(pid.read_text()))


def ended(pid: int) -> bool:
    """Whether a process is gone, or nearly; it may still have to be reaped."""
    for _ in range(500):
        status = Path(f"/proc/{pid}/stat")
        try:
            if not Path("/proc").is_dir():
                os.kill(pid, 0)
            elif status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_the_rollback_fails_too(mess: Repo) -> None:
    before = seen(mess)
    host = Host(mess, trim="exit 1", rollback="echo not again >&2; exit 2")
    error = fails(lambda: back(callback=host.path))
    assert "conversation may be incomplete" in error.message
    assert "exit code 2 in 'rollback'\nnot again" in error.message
    assert seen(mess) == before


@pytest.mark.parametrize("how", ["not executable", "no interpreter", "a bad interpreter"])
def test_a_callback_that_cannot_be_run(mess: Repo, how: str) -> None:
    before, refs_before = seen(mess), refs(mess)
    first, mode = {
        "not executable": ("#!/bin/sh\n", 0o644),
        "no interpreter": ("", 0o755),
        "a bad interpreter": ("#!/no/such/thing\n", 0o755),
    }[how]
    path = mess.write(".git/host", f"{first}echo '{{}}'\n", mode)
    error = fails(lambda: back(callback=str(path)))
    assert "cannot be run" in error.message
    assert error.hints
    assert (seen(mess), refs(mess)) == (before, refs_before)


def test_there_is_no_such_callback(mess: Repo) -> None:
    before, refs_before = seen(mess), refs(mess)
    fails(lambda: back(callback="/no/such/file"), code="missing_file", exit_code=1)
    mess.git("config", "boocode.callback", "gone")
    fails(back, code="missing_file", exit_code=1)
    assert (seen(mess), refs(mess)) == (before, refs_before)
    back(conversation=False)


def test_a_bad_timeout(mess: Repo) -> None:
    mess.git("config", "boocode.callbackTimeout", "soon")
    before = seen(mess)
    fails(lambda: back(callback=Host(mess).path), code="bad_config")
    assert seen(mess) == before


def test_a_callback_that_reads_nothing(mess: Repo) -> None:
    for number in range(3000):
        mess.write(f"many/a rather long name to fill the pipe {number}", "")
    path = mess.write(".git/deaf", "#!/bin/sh\nexec <&-\necho '{}'\n", 0o755)
    back(callback=str(path))
    assert not (mess.top / "many").exists()


def test_a_callback_with_a_long_answer(mess: Repo) -> None:
    long = "head -c 300000 /dev/zero | tr '\\0' x"
    host = Host(mess, trim=f"{long} >&2; printf '{{\"x\": \"'; {long}; echo '\"}}'")
    assert back(callback=host.path).answer is not None
    undone()
    host = Host(mess, trim=f"{long} >&2; exit 1")
    assert len(fails(lambda: back(callback=host.path)).message) < 5000


@pytest.mark.parametrize("stream", ["1", "2"])
def test_endless_output_takes_no_memory(mess: Repo, stream: str) -> None:
    mess.git("config", "boocode.callbackTimeout", "2")
    before = seen(mess)
    path = mess.write(".git/host", f"#!/bin/sh\ncat >/dev/null\nexec yes >&{stream}\n", 0o755)
    # The limit spares the machine; resource knows the largest process that has ended.
    command = f"ulimit -v 2000000; exec git boocode restore @ --callback '{path}'"
    code = (
        f"import resource, subprocess, sys; status = subprocess.call({['sh', '-c', command]!r}); "
        "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, peak = map(int, done.stdout.split())
    assert (status, seen(mess)) == (128, before), done.stderr
    assert "did not answer 'prepare' within 2 seconds" in done.stderr
    assert peak < (200 << 10) * (1 if sys.platform == "linux" else 1 << 10)
    sound(mess)


def test_an_answer_that_is_too_large(mess: Repo) -> None:
    before = seen(mess)
    host = Host(mess, trim="head -c 70000000 /dev/zero | tr '\\0' ' '; echo '{}'")
    error = fails(lambda: back(callback=host.path))
    assert "answered more than 64 MiB to 'trim'" in error.message
    assert seen(mess) == before


def test_a_process_that_a_callback_leaves_is_not_awaited(mess: Repo) -> None:
    host = Host(mess, trim="sleep 30 & echo $! > .git/pid; echo '{\"messages_deleted\": 1}'")
    begun = time.monotonic()
    outcome = back(callback=host.path)
    pid = int(mess.read(".git/pid"))
    assert outcome.answer is not None
    assert outcome.answer.messages_deleted == 1
    assert time.monotonic() - begun < 30
    os.kill(pid, 9)


# Which one it is.


def used(repo: Repo, given: str | None = None) -> str | None:
    """The callback that would be used."""
    found = find_callback(Repository.discover(), given)
    return found.program if found else None


def test_the_order_in_which_callbacks_are_looked_for(repo: Repo) -> None:
    assert used(repo) is None
    hook = repo.write(".git/hooks/boocode-restore", "#!/bin/sh\n")
    hook.chmod(0o644)
    assert used(repo) is None
    hook.chmod(0o755)
    assert used(repo) == str(hook)
    other = repo.write("my hooks/boocode-restore", "#!/bin/sh\n", 0o755)
    repo.git("config", "core.hooksPath", "my hooks")
    assert used(repo) == str(other)
    configured = repo.write(".git/configured", "", 0o755)
    repo.git("config", "boocode.callback", ".git/configured")
    assert used(repo) == str(configured)
    given = repo.write("given", "", 0o755)
    assert used(repo, "given") == used(repo, str(given)) == str(given)


def test_a_hook_of_a_linked_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit()
    hook = repo.write(".git/hooks/boocode-restore", "#!/bin/sh\n", 0o755)
    repo.git("worktree", "add", "-q", "linked")
    monkeypatch.chdir(repo.top / "linked")
    assert used(repo) == str(hook)


def test_the_option_is_relative_to_the_directory_and_the_setting_to_the_top(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = repo.write("sub/host", "", 0o755)
    top = repo.write("host", "", 0o755)
    monkeypatch.chdir(repo.top / "sub")
    assert used(repo, "host") == str(here)
    repo.git("config", "boocode.callback", "host")
    assert used(repo) == str(top)


def include(repo: Repo, path: Path) -> None:
    """Let the repository's configuration include a file that sets the callback."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[boocode]\n\tcallback = host\n")
    repo.git("config", "include.path", os.path.relpath(path, repo.top / ".git"))


@pytest.mark.parametrize("name", [".gitconfig", "deep/er/config", "link"])
def test_a_callback_set_in_the_worktree_is_refused(mess: Repo, name: str) -> None:
    mess.write("host", "#!/bin/sh\necho '{}'\n", 0o755)
    include(mess, mess.top / "real" if name == "link" else mess.top / name)
    if name == "link":
        (mess.top / ".git/link").symlink_to("../real")
        mess.git("config", "include.path", "link")
    before, refs_before = seen(mess), refs(mess)
    error = fails(back, code="untrusted", exit_code=1)
    assert "a file in the worktree" in error.message
    assert (seen(mess), refs(mess)) == (before, refs_before)


def test_a_callback_set_in_another_worktree_is_refused(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", str(repo.top.parent / f"{repo.top.name}-linked"))
    repo.write("host", "", 0o755)
    include(repo, repo.top / "tracked")
    monkeypatch.chdir(repo.top.parent / f"{repo.top.name}-linked")
    fails(lambda: used(repo), code="untrusted", exit_code=1)


def test_a_callback_set_outside_the_worktree_is_accepted(repo: Repo, tmp_path: Path) -> None:
    repo.write("host", "", 0o755)
    include(repo, tmp_path / "config")
    assert used(repo) == str(repo.top / "host")
    include(repo, repo.top / ".git/included")
    assert used(repo) == str(repo.top / "host")


# What it may do itself.


def test_a_callback_may_take_a_checkpoint_but_not_restore(mess: Repo) -> None:
    script = (
        "git boocode checkpoint --label inside > .git/made || exit 1\n"
        "git boocode restore @ --json > .git/refused; echo $? >> .git/refused\n"
        "git boocode undo --json >> .git/refused; echo $? >> .git/refused\n"
        "echo '{}'"
    )
    back(callback=Host(mess, trim=script).path)
    made = mess.read(".git/made").decode().strip()
    assert mess.git("show", f"refs/boocode/checkpoints/{made}:a") == "a\n"
    first, one, second, two = mess.read(".git/refused").decode().splitlines()
    assert (one, two) == ("1", "1")
    assert {json.loads(text)["error"]["code"] for text in (first, second)} == {"locked"}


def test_background_processes_of_a_callback_may_restore_later(
    mess: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seen(mess)
    host = Host(mess, trim="env | grep ^GIT_BOOCODE_RESTORE= > .git/inherited; echo '{}'")
    outcome = back(callback=host.path)
    key, _, value = mess.read(".git/inherited").decode().strip().partition("=")
    assert value == outcome.undo
    monkeypatch.setenv(key, value)
    undone()
    assert seen(mess) == before
    take()


def test_a_callback_may_restore_another_repository(mess: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path)
    other.git("init", "-q")
    other.write("x", "x\n")
    assert other.boocode("checkpoint").code == 0
    other.write("x", "mess\n")
    script = f"git -C '{tmp_path}' boocode restore @ >&2 || exit 1\necho '{{}}'"
    back(callback=Host(mess, trim=script).path)
    assert other.read("x") == b"x\n"


def test_an_error_after_trim_is_reported(mess: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise FatalError("the disk is full", code="refs")

    before, refs_before = seen(mess), refs(mess)
    host = Host(mess)
    monkeypatch.setattr(Transaction, "_archive", full)
    fails(lambda: back(callback=host.path), code="refs")
    assert (seen(mess), refs(mess)) == (before, refs_before)
    assert host.events == ["prepare", "trim", "rollback"]
    assert host.received[-1]["reason"] == "the disk is full"


def test_a_file_created_where_one_was_deleted_survives_the_rollback(repo: Repo) -> None:
    """It is ignored, and git overwrites that without a word."""
    repo.commit(a="a\n")
    take()
    repo.write("x.log", "mine\n")
    ignoring = "mkdir -p .git/info; echo '*.log' >> .git/info/exclude"
    host = Host(repo, trim=f"{ignoring}; echo precious > x.log; exit 1")
    with pytest.raises(FatalError):
        back(callback=host.path)
    assert repo.read("x.log") == b"mine\n"
    (kept,) = (line.split()[0] for line in refs(repo, "safety"))
    assert repo.git("show", f"{kept}:x.log") == "precious\n"


def test_the_callback_of_a_killed_restore_is_awaited(mess: Repo) -> None:
    host = Host(
        mess,
        trim="touch .git/begun; until test -e .git/go; do sleep 0.01; done\n"
        "echo trim >> .git/order; echo '{}'",
        undo="echo undo >> .git/order; echo '{}'",
    )
    mess.git("config", "boocode.callback", host.path)
    before = seen(mess)
    with subprocess.Popen(
        [sys.executable, "-m", "git_boocode", "restore", "@"],
        cwd=mess.top,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while not (mess.top / ".git/begun").exists():
            time.sleep(0.01)
        process.kill()
    go = threading.Timer(0.2, (mess.top / ".git/go").touch)
    go.start()
    undone()
    go.join()
    assert mess.read(".git/order") == b"trim\nundo\n"
    assert seen(mess) == before
    assert not (mess.top / ".git/boocode/callback-running").exists()


def test_a_callback_is_awaited_at_most_until_its_timeout(repo: Repo) -> None:
    repo.commit(a="a\n")
    state = Repository.discover().state_dir
    os.makedirs(state)
    with running_lock(state):
        note = os.path.join(state, "callback-running")
        os.utime(note, (0, time.time() - 59))
        begun = time.monotonic()
        wait_for_callback(state, 59.2)
        assert 0.1 < time.monotonic() - begun < 5
