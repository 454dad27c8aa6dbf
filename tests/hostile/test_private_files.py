"""Whatever is in the place of a private file, no command blocks or crashes.

Every private file that a session leaves below `.git/boocode` is replaced. Commands answer in time,
with a documented exit code, and touch nothing that a link leads to; `doctor --fix` removes what is
bad.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.repo.layout import FILES
from tests.repo_kit import Repo

PAYLOAD = json.dumps({"session_id": "s", "prompt": "do it"})
COMMANDS: dict[tuple[str, ...], str] = {
    ("checkpoint",): "",
    ("log", "--all"): "",
    ("apply-edit", "--path", "a", "--old", "first line", "--new", "changed line"): "",
    ("restore", "@"): "",
    ("hook", "claude-code", "UserPromptSubmit"): PAYLOAD,
    ("hooks", "status"): "",
    ("undo",): "",
}
Plant = Callable[[Path, Path], object]
KINDS: dict[str, Plant] = {
    "fifo": lambda path, _: os.mkfifo(path),
    "directory": lambda path, _: (path / "below").mkdir(parents=True),
    "link elsewhere": lambda path, outside: path.symlink_to(outside),
    "garbage": lambda path, _: path.write_bytes(b"\xff\xfe\0garbage\x80" * 99),
    "deep JSON": lambda path, _: path.write_bytes(b"[" * 200_000),
    "wrong JSON": lambda path, _: path.write_text('{"safety": 1, "files": [3], "record": {}}'),
}
SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in list(KINDS)[3:]]


@pytest.fixture
def session(repo: Repo) -> Repo:
    """A repository in which every command has left what it leaves."""
    repo.commit(a="first line\nsecond line\n")
    for command, stdin in COMMANDS.items():
        repo.boocode(*command, stdin=stdin)
    repo.write("a", "first line\nsecond line\n")
    return repo


def attempt(repo: Repo, command: tuple[str, ...], stdin: str = "") -> int:
    """The exit code of the installed command, which only one that blocks keeps from ending."""
    done = subprocess.run(
        ["git", "boocode", *command], cwd=repo.top, input=stdin, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode in (0, 1, 128), (command, done)
    said = done.stdout + done.stderr
    assert "Traceback" not in said, (command, done)
    assert "unexpected" not in said, (command, done)
    return done.returncode


def test_private_files_are_for_their_owner_alone(session: Repo) -> None:
    paths = [path for path in (session.top / ".git/boocode").rglob("*") if path.is_file()]
    assert {"lock", "hooks.lock", "turns.json", "kept-index.json"} <= {path.name for path in paths}
    assert not [path for path in paths if path.stat().st_mode & 0o077]


@pytest.mark.parametrize("kind", [*list(KINDS)[:3], *SLOW])
def test_all_private_files_at_once(session: Repo, tmp_path: Path, kind: str) -> None:
    outside, state = tmp_path / "outside", session.top / ".git/boocode"
    outside.write_text("keep me\n")

    def spoil() -> None:
        for name in FILES:
            subprocess.run(["rm", "-rf", state / name], check=True)
            KINDS[kind](state / name, outside)

    for command, stdin in COMMANDS.items():
        spoil()
        code = attempt(session, command, stdin)
        assert code == 0 or command[0] not in ("log", "hook"), command
    spoil()
    attempt(session, ("doctor", "--fix"))
    assert outside.read_text() == "keep me\n"
    assert attempt(session, ("doctor",)) == 0
    session.write("a", "first line\nsecond line\n")
    for command, stdin in COMMANDS.items():
        # What was restored and edited before may be gone with its note; nothing else is.
        assert attempt(session, command, stdin) in ((0, 1) if command == ("undo",) else (0,))


def test_the_private_directory_itself(session: Repo, tmp_path: Path) -> None:
    state = session.top / ".git/boocode"
    for kind in ("fifo", "garbage"):
        subprocess.run(["rm", "-rf", state], check=True)
        KINDS[kind](state, tmp_path)
        assert attempt(session, ("log", "--all")) == 0
        refused = session.boocode("checkpoint")
        assert refused.code == 128
        assert "doctor --fix" in refused.err
        assert attempt(session, ("doctor", "--fix")) in (0, 1)
        assert attempt(session, ("checkpoint",)) == 0
