"""The session in git-boocode-editors(7) is what happens."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.repo_kit import Repo

SOURCE = Path(__file__).parents[1] / "man/editors.md"
ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b")


def blocks(section: str) -> Iterator[str]:
    """The indented blocks of a section."""
    text = SOURCE.read_text(encoding="utf-8").split(f"# {section}\n")[1].split("\n# ")[0]
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        yield re.sub(r"^    ", "", block, flags=re.MULTILINE)


def steps() -> Iterator[tuple[str, str]]:
    """The commands of the session, each with the output that is shown."""
    for block in blocks("A SESSION"):
        text = block.replace("\\\n", "")
        for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            yield command, output


class Session:
    """Runs commands, and compares what they print with what is shown."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        # The ids that are shown, and the real ones.
        self._ids: dict[str, str] = {}

    def step(self, command: str, shown: str) -> None:
        if command.startswith("cat "):
            path = Path(self._repo.top, os.path.expanduser(command.removeprefix("cat ")))
            path.write_text(shown, encoding="utf-8")
            return
        real = ID.sub(lambda found: self._ids[found[0]], command)
        done = subprocess.run(
            ["sh", "-c", real], cwd=self._repo.top, capture_output=True, text=True
        )
        if not shown.startswith("{"):
            self.compare(shown, done.stdout, command)
            return
        answer = json.loads(done.stdout)
        self.compare(json.loads(shown), answer, command)
        assert done.returncode == (0 if answer["ok"] else 1)

    def compare(self, shown: Any, real: Any, where: str) -> None:
        """Compare values; an object may have more keys than are shown."""
        if isinstance(shown, dict):
            for key, value in shown.items():
                self.compare(value, real[key], f"{where}: {key}")
        elif isinstance(shown, list):
            for each, value in zip(shown, real, strict=True):
                self.compare(each, value, where)
        elif isinstance(shown, str) and ID.fullmatch(shown.strip()):
            assert ID.fullmatch(real.strip()), where
            assert self._ids.setdefault(shown.strip(), real.strip()) == real.strip(), where
        else:
            assert real == shown, where


@pytest.mark.slow
def test_the_session_is_what_happens(repo: Repo) -> None:
    commands = [command for command, _ in steps()]
    assert len(commands) > 20
    session = Session(repo)
    for number, (command, shown) in enumerate(steps()):
        session.step(command, shown)
        if number == 0:
            repo.commit()


def messages() -> Iterator[tuple[str, Any]]:
    """The messages to the server (`>`) and from it (`<`)."""
    for block in blocks("THE SERVER"):
        for mark, text in re.findall(r"^([<>]) (.*(?:\n .*)*)", block, re.MULTILINE):
            yield mark, json.loads(text)


def test_the_server_answers_what_is_shown(repo: Repo) -> None:
    repo.commit(**{"menu.txt": "Tea 2.50\nSoup 5.50\n"})
    assert len([*messages()]) > 10
    session = Session(repo)
    command = ["git", "boocode", "serve", "--repo", str(repo.top)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for mark, message in messages():
            if mark == ">":
                server.stdin.write(json.dumps(message) + "\n")
                server.stdin.flush()
            else:
                session.compare(message, json.loads(server.stdout.readline()), str(message["id"]))
        server.stdin.close()
        assert server.stdout.read() == ""
    assert server.returncode == 0
    assert repo.read("menu.txt") == b"Tea 2.60\nSoup 5.50\n"
