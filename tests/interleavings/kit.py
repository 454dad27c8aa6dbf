"""Sessions of agents for tests that say step by step what happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.interleavings.agents import (
    AFTER,
    AGENTS,
    BEFORE,
    BEGIN,
    EDIT,
    END,
    SHELL,
    WRITE,
    Call,
    Turn,
    session_id,
)
from tests.repo_kit import Repo, Result

__all__ = ["EDIT", "SHELL", "WRITE"]

_calls = count(1)


class Session:
    """A session of an agent in a worktree, of which each turn has to be begun."""

    def __init__(self, repo: Repo, number: int = 0, agent: str = "claude-code") -> None:
        self.repo = repo
        self.agent = next(each for each in AGENTS if each.name == agent)
        self.id = session_id(number)
        self._turn = Turn(number, 0)

    def begin(self) -> str:
        """Begin a turn; its id."""
        self._turn = self._turn._replace(number=self._turn.number + 1)
        self._report(BEGIN)
        listing = ("--sort=-refname", "--count=1", "--format=%(refname:lstrip=3)")
        return self.repo.git("for-each-ref", *listing, "refs/boocode/checkpoints/").strip()

    def end(self) -> None:
        """End the turn."""
        self._report(END)

    @contextmanager
    def call(self, tool: str = SHELL, path: str = "") -> Iterator[None]:
        """A tool call, in which a test does what the tool does."""
        call = Call(next(_calls), tool, path)
        self._report(BEFORE, call)
        yield
        self._report(AFTER, call)

    @contextmanager
    def turn(self) -> Iterator[str]:
        """A turn with one shell command, in which a test does what the command does; its id."""
        identifier = self.begin()
        with self.call():
            yield identifier
        self.end()

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text in a file, by a tool that names it."""
        with self.call(EDIT, path):
            replace(self.repo, path, old, new)

    def _report(self, kind: str, call: Call | None = None) -> None:
        payload = self.agent.sends(kind, str(self.repo.top), self._turn, call)
        words = ("hook", self.agent.name, self.agent.event(kind))
        done = self.repo.boocode(*words, stdin=json.dumps(payload))
        assert (done.code, done.err) == (0, "")


def replace(repo: Repo, path: str, old: str, new: str) -> None:
    """Replace a text that a file has once."""
    data = repo.read(path)
    assert data.count(old.encode()) == 1
    repo.write(path, data.replace(old.encode(), new.encode()))


def revert(repo: Repo, *words: str, **options: Any) -> dict[str, Any]:
    """Take turns back; the answer."""
    done = repo.boocode("revert", "--json", *words, **options)
    assert done.code == 0, (done.out, done.err)
    return dict(done.json)


def refused(repo: Repo, *words: str, command: str = "revert", **options: Any) -> dict[str, Any]:
    """Have it refused, with nothing changed; the answer."""
    before = everything(repo)
    done: Result = repo.boocode(command, "--json", *words, **options)
    assert done.code == 1, (done.out, done.err)
    assert everything(repo) == before
    return dict(done.json)


def everything(repo: Repo) -> tuple[object, ...]:
    """All that could be changed: files, staging, and refs."""
    head = repo.git("rev-parse", "--symbolic-full-name", "HEAD", check=False)
    return repo.files(), repo.git("ls-files", "-s", "-v", "-z"), repo.git("for-each-ref"), head


def staged(repo: Repo, path: str) -> str | None:
    """What is staged of a file; None if it is not."""
    if not repo.git("ls-files", "--", path):
        return None
    return repo.git("cat-file", "blob", f":{path}")
