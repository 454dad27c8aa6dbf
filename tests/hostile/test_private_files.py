"""Whatever a crash of the machine left in private files, no command fails for it unexpectedly.

Every private file that a session leaves below `.git/boocode` is damaged; `doctor --fix` removes it.
Who can plant something else there, such as a FIFO, can run programs through git anyway.
"""

from __future__ import annotations

import json

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
KINDS = {
    "garbage": b"\xff\xfe\0garbage\x80" * 99,
    "wrong JSON": b'{"safety": 1, "files": [3], "record": {}}',
}


@pytest.fixture
def session(repo: Repo) -> Repo:
    """A repository in which every command has left what it leaves."""
    repo.commit(a="first line\nsecond line\n")
    for command, stdin in COMMANDS.items():
        repo.boocode(*command, stdin=stdin)
    repo.write("a", "first line\nsecond line\n")
    return repo


def attempt(repo: Repo, command: tuple[str, ...], stdin: str = "") -> int:
    """The exit code of a command."""
    done = repo.boocode(*command, stdin=stdin)
    assert done.code in (0, 1, 128), (command, done)
    said = done.out + done.err
    assert "Traceback" not in said, (command, done)
    assert "unexpected" not in said, (command, done)
    return done.code


@pytest.mark.quick
def test_private_files_are_for_their_owner_alone(session: Repo) -> None:
    paths = [path for path in (session.top / ".git/boocode").rglob("*") if path.is_file()]
    assert {"lock", "hooks.lock", "turns.json", "kept-index.json"} <= {path.name for path in paths}
    assert not [path for path in paths if path.stat().st_mode & 0o077]


@pytest.mark.parametrize("kind", KINDS)
def test_all_private_files_at_once(session: Repo, kind: str) -> None:
    def spoil() -> None:
        for name in FILES:
            path = session.top / ".git/boocode" / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(KINDS[kind])

    for command, stdin in COMMANDS.items():
        spoil()
        code = attempt(session, command, stdin)
        assert code == 0 or command[0] not in ("log", "hook"), command
    spoil()
    attempt(session, ("doctor", "--fix"))
    assert attempt(session, ("doctor",)) == 0
    session.write("a", "first line\nsecond line\n")
    for command, stdin in COMMANDS.items():
        # What was restored and edited before may be gone with its note; nothing else is.
        assert attempt(session, command, stdin) in ((0, 1) if command == ("undo",) else (0,))
