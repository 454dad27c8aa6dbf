"""Whatever is in the place of a private file, no command blocks or crashes.

Every private file that a session leaves below `.git/boocode` is replaced by a FIFO, a directory, a
dangling link, a link to elsewhere, garbage, deep JSON and so on. Commands answer in time, with a
documented exit code, and touch nothing that a link leads to; `doctor --fix` replaces what is bad.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repo_kit import Repo

PAYLOAD = json.dumps(
    {"session_id": "s", "prompt": "do it", "tool_name": "Write", "tool_input": {"file_path": "a"}}
)
EDIT = ("apply-edit", "--path", "a", "--old", "first line", "--new", "changed line")
COMMANDS: dict[tuple[str, ...], str] = {
    ("checkpoint",): "",
    ("checkpoint", "a"): "",
    ("checkpoint", "--if-changed", "--json"): "",
    ("log", "--all"): "",
    ("show",): "",
    ("diff",): "",
    ("restore", "-n", "@"): "",
    ("restore", "@"): "",
    ("undo",): "",
    ("redo",): "",
    EDIT: "",
    ("log", "--edits"): "",
    ("rewind",): "",
    ("prune", "--all"): "",
    ("hook", "claude-code", "UserPromptSubmit"): PAYLOAD,
    ("hook", "claude-code", "PreToolUse"): PAYLOAD,
    ("hook", "git", "pre-commit"): "",
    ("hooks", "status"): "",
    ("hooks", "install", "--agent", "claude-code", "--git"): "",
    ("doctor",): "",
    ("doctor", "--json"): "",
}
OUTSIDE = "keep me\n"


def fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def directory(path: Path, _: Path) -> None:
    (path / "below").mkdir(parents=True)
    (path / "below/file").touch()


def dangling(path: Path, _: Path) -> None:
    path.symlink_to("nowhere")


def loop(path: Path, _: Path) -> None:
    path.symlink_to(path.name)


def elsewhere(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def to_fifo(path: Path, outside: Path) -> None:
    path.symlink_to(outside.with_name("fifo"))


def holding(data: bytes) -> Callable[[Path, Path], None]:
    def write(path: Path, _: Path) -> None:
        path.write_bytes(data)

    return write


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "fifo": fifo,
    "directory": directory,
    "dangling link": dangling,
    "link to itself": loop,
    "link elsewhere": elsewhere,
    "link to a fifo": to_fifo,
    "garbage": holding(b"\xff\xfe\0garbage\x80" * 99),
    "deep JSON": holding(b"[" * 200_000),
    "wrong JSON": holding(b'{"safety": 1, "files": [3], "number": [], "version": 2, "record": {}}'),
    "a list": holding(b'[[], {}, [1, 2, 3, 4, 5, 6], "x", 1e999]'),
    "a long number": holding(b"9" * 5000),
}


@pytest.fixture
def session(repo: Repo, tmp_path: Path) -> Repo:
    """A repository in which every command has left what it leaves."""
    repo.git("config", "boocode.perTool", "true")
    repo.commit(a="first line\nsecond line\n")
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    transcript = tmp_path / "transcript"
    transcript.write_text("one\n")
    asked = {"edits": {"path": str(transcript), "old_string": "one", "new_string": "two"}}
    answer = json.dumps(asked)
    program = f"#!/bin/sh\ngrep -q prepare && echo '{{}}' || echo '{answer}'\n"
    callback = str(repo.write(".git/callback", program, 0o755))
    for command, stdin in COMMANDS.items():
        repo.boocode(*command, stdin=stdin)
    repo.write("a", "changed\n")
    assert repo.boocode("restore", "@", "--callback", callback).code == 0
    # The hook of an agent that is not known goes into the log.
    repo.boocode("hook", "nobody")
    state = repo.top / ".git/boocode"
    for name in ("restore-in-progress", "edit-in-progress", "callback-running"):
        (state / name).write_text("{}")
    for name in ("hooks.log.1", "hooks.log.lock"):
        (state / name).touch()
    outside = tmp_path / "outside"
    outside.write_text(OUTSIDE)
    os.mkfifo(outside.with_name("fifo"))
    return repo


def private_files(repo: Repo) -> list[Path]:
    state = repo.top / ".git/boocode"
    return sorted(path for path in state.rglob("*") if path.is_symlink() or not path.is_dir())


def spoil(path: Path, kind: str, outside: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind](path, outside)


def attempt(repo: Repo, command: tuple[str, ...], stdin: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command, with a bound that only a command that blocks can reach."""
    return subprocess.run(
        ["git", "boocode", *command], cwd=repo.top, input=stdin, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip


def check(done: subprocess.CompletedProcess[str], what: object) -> None:
    assert done.returncode in (0, 1, 128), (what, done)
    said = done.stdout + done.stderr
    assert "Traceback" not in said, (what, done)
    assert "unexpected" not in said, (what, done)


def test_a_session_with_damaged_private_files(session: Repo) -> None:
    names = {path.name for path in private_files(session)}
    expected = {"lock", "hooks.lock", "hooks.log", "last-prune", "turns.json", "tools.json"}
    expected |= {"kept-index.json", "note.json"}
    assert expected <= names
    assert any(name.startswith("claude-code-") for name in names)


def test_private_files_are_for_their_owner_alone(session: Repo) -> None:
    modes = {path: path.stat().st_mode for path in private_files(session) if path.is_file()}
    modes = {path: mode for path, mode in modes.items() if not path.is_symlink()}
    spoiled = (".git/boocode/restore-", ".git/boocode/edit-", ".git/boocode/callback-", "hooks.log")
    wide = {str(path) for path, mode in modes.items() if mode & 0o077}
    assert not {path for path in wide if not any(each in path for each in spoiled)}


ALWAYS = (("checkpoint",), ("log", "--all"), ("hook", "claude-code", "UserPromptSubmit"))
STEP = 3
"""Each kind is tried with every third command, and each command with every third kind."""


def some(number: int) -> list[tuple[str, ...]]:
    """The commands that every kind is tried with, and those whose turn it is."""
    return list(dict.fromkeys([*ALWAYS, *list(COMMANDS)[number % STEP :: STEP]]))


@pytest.mark.parametrize("part", range(STEP))
def test_all_private_files_at_once(session: Repo, tmp_path: Path, part: int) -> None:
    outside = tmp_path / "outside"
    paths = private_files(session)
    for number, kind in enumerate(list(KINDS)[part::STEP]):
        for command in some(part + number):
            for path in paths:
                spoil(path, kind, outside)
            session.write("a", "first line\nsecond line\n")
            done = attempt(session, command, COMMANDS[command])
            check(done, (kind, command))
            if command[0] == "hook" or command in {("checkpoint",), ("log", "--all"), ("diff",)}:
                assert done.returncode == 0, (kind, command, done)
        for path in paths:
            spoil(path, kind, outside)
        check(attempt(session, ("doctor", "--fix"), ""), (kind, "doctor --fix"))
        assert outside.read_text() == OUTSIDE
        after = attempt(session, ("doctor", "--json"), "")
        assert not [each for each in json.loads(after.stdout)["findings"] if not each["past"]], kind
        for path in private_files(session):
            assert path.is_file(), path
            assert not path.is_symlink(), path
        for command in some(part + number + 1):
            session.write("a", "first line\nsecond line\n")
            # What was restored and edited before may be gone with its note; nothing else is.
            codes = (0, 1) if command[0] in {"undo", "redo", "rewind", "doctor"} else (0,)
            assert attempt(session, command, COMMANDS[command]).returncode in codes, (kind, command)


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_one_private_file_at_a_time(session: Repo, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    state = session.top / ".git/boocode"
    whole = tmp_path / "whole"
    shutil.copytree(state, whole, symlinks=True)
    commands = itertools.cycle((("checkpoint",), ("restore", "@~1"), EDIT))
    for path, command in zip(private_files(session), commands, strict=False):
        spoil(path, kind, outside)
        session.write("a", "first line\nsecond line\n")
        check(attempt(session, command, ""), (path, command))
        shutil.rmtree(state)
        shutil.copytree(whole, state, symlinks=True)
    assert outside.read_text() == OUTSIDE


def test_the_private_directory_itself(session: Repo, tmp_path: Path) -> None:
    for number, kind in enumerate(("fifo", "dangling link", "link to itself", "garbage")):
        for command in some(number):
            spoil(session.top / ".git/boocode", kind, tmp_path / "outside")
            done = attempt(session, command, COMMANDS[command])
            check(done, (kind, command))
            if command in {("log", "--all"), ("diff",), ("restore", "-n", "@")}:
                assert done.returncode == 0, (kind, command, done)
        refused = attempt(session, ("checkpoint",), "")
        assert "doctor --fix" in refused.stderr, refused
        assert attempt(session, ("doctor", "--fix"), "").returncode in (0, 1)
        assert attempt(session, ("checkpoint",), "").returncode == 0
