"""A hook ends in time, whatever hangs and whatever ends it, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agents.kit import fire, logged, prompted, taken, turn
from tests.agents.kit import what as what_went_wrong
from tests.checkpoints.kit import refs, sound
from tests.forked import run_forked
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

ANSWER = b'{"cancel":false}\n'
PROGRAM = "from git_boocode.__main__ import program; program()"


def run(repo: Repo, code: str, *words: str, stdin: bytes = b"{}") -> None:
    """Call Cline's hook before a turn, after something was done to it."""
    words = words or ("cline", "UserPromptSubmit")
    code = f"{code}\n{PROGRAM}"
    done = run_forked(code, "hook", *words, cwd=repo.top, env=dict(os.environ), stdin=stdin)
    answer = ANSWER if words[0] == "cline" else b""
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, b"")


def hanging_filter(repo: Repo, hangs: str) -> Path:
    """Let git wait for ever for a filter, which notes its process."""
    note = repo.top / ".git/filter.pid"
    repo.git("config", "filter.hang.clean", f"echo $$ > '{note}'; {hangs}")
    repo.write(".gitattributes", "*.hang filter=hang\n")
    repo.write("a.hang", "a\n")
    return note


def has_ended(process: int) -> bool:
    """Whether a process ends within a moment."""
    for _ in range(200):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{process}/stat")
        if status.exists() and status.read_text().rpartition(") ")[2][0] == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    "hangs", ["exec sleep 100", "trap '' TERM HUP INT PIPE; while :; do sleep 1; done"]
)
def test_a_filter_that_hangs(repo: Repo, hangs: str) -> None:
    note = hanging_filter(repo, hangs)
    repo.git("config", "boocode.hookTimeout", "2")
    begun = time.monotonic()
    turn(repo)
    assert time.monotonic() - begun < 5
    (entry,) = logged(repo)
    assert (entry.what, entry.worktree) == ("time_out", str(repo.top))
    assert "within 2 seconds" in entry.message
    assert has_ended(int(note.read_text()))
    assert taken(repo) == []
    sound(repo)
    # The next one finds everything in order.
    repo.git("config", "--unset", "filter.hang.clean")
    turn(repo)
    assert len(taken(repo)) == 1
    assert what_went_wrong(repo) == ["time_out"]


def test_a_payload_that_never_ends(repo: Repo) -> None:
    code = "import os; os.dup2(os.pipe()[0], 0)\n"
    code += "import git_boocode.agents.hook_call; git_boocode.agents.hook_call.TIMEOUT = 1.0"
    run(repo, code)
    assert what_went_wrong(repo) == ["time_out"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_payload_in_a_pipe_that_stays_open(repo: Repo, encoding: str) -> None:
    repo.git("config", "boocode.hookTimeout", "30")
    command = [sys.executable, "-m", "git_boocode", "hook", "claude-code", "UserPromptSubmit"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        # A piece that ends like an object is not the end of this one.
        text = '{"session_id": "s1", "cwd": {}, "prompt": "}"}\n'
        for piece in (text[:30], text[30:]):
            process.stdin.write(piece.encode(encoding.replace("16", "16-le")))
            process.stdin.flush()
            time.sleep(0.2)
        assert process.wait(10) == 0
    assert taken(repo)[0]["session"] == "s1"
    assert what_went_wrong(repo) == []


def test_a_system_that_opens_few_files(repo: Repo) -> None:
    program = f"{sys.executable} -I -m git_boocode hook cline UserPromptSubmit"
    for limit in (8, 12, 14):
        command = ["sh", "-c", f"ulimit -n {limit}; exec {program}"]
        done = subprocess.run(command, cwd=repo.top, capture_output=True, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stdout, done.stderr) == (0, ANSWER, b"")


def test_a_payload_without_an_end(repo: Repo) -> None:
    code = "import git_boocode.agents.event; git_boocode.agents.event._LARGEST = 1 << 21\n"
    run(repo, f"{code}import os; os.dup2(os.open('/dev/zero', os.O_RDONLY), 0)")
    assert what_went_wrong(repo) == ["bad_payload"]
    assert len(taken(repo)) == 1


def test_a_pipe_that_nobody_wants_to_wait_for(repo: Repo) -> None:
    code = """
import os, threading, time
reading, writing = os.pipe()
os.dup2(reading, 0)
os.set_blocking(0, False)
def write():
    for part in (b'{"session_id": ', b'"s1"}'):
        time.sleep(0.05)
        os.write(writing, part)
    os.close(writing)
threading.Thread(target=write).start()
"""
    run(repo, code, "claude-code", "UserPromptSubmit")
    assert taken(repo)[0]["session"] == "s1"
    assert logged(repo) == []


def test_what_hangs_while_it_is_rolled_back(repo: Repo) -> None:
    repo.git("config", "boocode.hookTimeout", "1")
    code = """
import time, git_boocode.checkpoints.capture as capture
def hang(*_):
    try:
        time.sleep(100)
    finally:
        time.sleep(100)
capture.capture = hang
"""
    run(repo, code)
    assert what_went_wrong(repo) == ["time_out"]
    assert "hung" in logged(repo)[0].message


def test_another_hook_that_holds_the_lock(repo: Repo) -> None:
    from git_boocode.repo.lock import file_lock

    repo.git("config", "boocode.hookTimeout", "1.0")
    with file_lock(str(repo.top / ".git/boocode/hooks.lock"), patience=0):
        turn(repo)
    assert what_went_wrong(repo) == ["time_out"]


@pytest.mark.parametrize(
    ("failure", "word"),
    [
        ("ZeroDivisionError('secret')", "bug"),
        ("OSError(28, 'No space left on device')", "disk_full"),
        ("KeyboardInterrupt()", "interrupted"),
        ("SystemExit(3)", "interrupted"),
    ],
)
def test_whatever_goes_wrong_is_logged(failure: str, word: str, repo: Repo) -> None:
    code = "import git_boocode.checkpoints.capture as module\n"
    code += f"def capture(*_): raise {failure}\nmodule.capture = capture"
    run(repo, code)
    (entry,) = logged(repo)
    assert entry.what == word
    assert "secret" not in entry.message
    assert word != "bug" or "agents/hook_call.py:" in entry.message


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal(name: str, repo: Repo) -> None:
    command = [sys.executable, "-m", "git_boocode", "hook", "cline", "UserPromptSubmit"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # It answers at once, and waits for the payload then.
        assert process.stdout.readline() == ANSWER
        process.send_signal(getattr(signal, name))
        assert process.wait() == 0
        assert process.stderr.read() == b""
    assert what_went_wrong(repo) == ["interrupted"]


def test_a_signal_while_it_is_loaded(repo: Repo) -> None:
    code = """
import os, signal
import git_boocode.cli.entry as entry
entry.run = lambda argv: os.kill(os.getpid(), signal.SIGTERM) or 1
"""
    run(repo, code, "codex", "UserPromptSubmit")


@pytest.mark.parametrize("closed", ["<&-", ">&- <&- 2>&-"])
def test_a_closed_stream(closed: str, repo: Repo) -> None:
    payload = repo.write(".git/payload", b"{}")
    program = f"{sys.executable} -m git_boocode hook cline UserPromptSubmit"
    script = f"{program} < {payload} {closed}"
    done = subprocess.run(["sh", "-c", script], cwd=repo.top, capture_output=True)
    answer = ANSWER if closed == "<&-" else b""
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, b"")
    assert len(taken(repo)) == 1
    for path in (repo.top / ".git/boocode").iterdir():
        assert path.is_dir() or ANSWER not in path.read_bytes()


def by_hand(*words: str) -> str:
    """Call a hook on a terminal; what is seen there."""
    code, seen = Terminal(sys.executable, "-m", "git_boocode", "hook", *words).end()
    assert code == 0
    return seen


def test_by_hand_one_is_told_what_is_wrong(repo: Repo) -> None:
    assert by_hand() == "warning: no agent given\n"
    assert "unknown agent 'cluade'" in by_hand("cluade", "UserPromptSubmit")


def test_a_terminal_is_not_waited_for(repo: Repo) -> None:
    seen = by_hand("cline", "UserPromptSubmit")
    assert seen.startswith(ANSWER.decode())
    assert len(taken(repo)) == 1


@pytest.mark.ref_files
def test_a_ref_store_that_cannot_be_written(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write(".git/refs/boocode", "in the way")
    turn(repo)
    assert refs(repo, "checkpoints") == []
    assert len(what_went_wrong(repo)) == 1


def test_nothing_can_be_written(repo: Repo) -> None:
    repo.write(".git/boocode", "in the way")
    turn(repo)
    assert taken(repo) == []


def test_git_hooks_are_served_in_the_same_way(repo: Repo) -> None:
    code = """
import sys
from git_boocode.agents import git_hooks as module
def run_git_hook(event, arguments, repository):
    print("not to be seen", file=sys.stderr)
    raise ZeroDivisionError if arguments else KeyboardInterrupt
module.run_git_hook = run_git_hook
"""
    run(repo, code, "git", "post-checkout", "1", "2")
    run(repo, code, "git", "pre-commit")
    found = [(entry.agent, entry.event, entry.what) for entry in logged(repo)]
    assert found == [("git", "post-checkout", "bug"), ("git", "pre-commit", "interrupted")]


def test_help_is_for_people(repo: Repo) -> None:
    assert repo.boocode("hook", "--help").out.startswith("usage: git boocode hook")
    fire(repo, "claude-code", "--help", payload=prompted(repo))
