"""What tests of hooks do: call one as an agent does, and look at what has come of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from git_boocode.agents.hook_state import LogEntry, entries
from tests.repo_kit import Repo, Result

PAYLOADS = Path(__file__).parent / "payloads"
LABEL = "Fix the parser: it drops the last line, and make sure that …"


def recorded(repo: Repo, agent: str, event: str) -> bytes:
    """What an agent sends for an event, in a worktree."""
    data = (PAYLOADS / f"{agent}.{event}.json").read_bytes()
    data = data.replace(b"/TOP", os.fsencode(repo.top))
    return data.replace(b"/HOME", os.fsencode(os.environ["HOME"]))


def prompted(repo: Repo, **told: Any) -> dict[str, Any]:
    """What Claude Code sends before a turn, with some fields told otherwise."""
    return {"session_id": "s1", "cwd": str(repo.top), "prompt": "continue", **told}


def fire(repo: Repo, *words: str, payload: Any = b"", **options: Any) -> Result:
    """Call a hook, which is to go well whatever it is given."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = repo.boocode("hook", *words, stdin=data, **options)
    assert (done.code, done.err) == (0, "")
    return done


def turn(repo: Repo, **told: Any) -> None:
    """Let Claude Code begin a turn."""
    assert fire(repo, "claude-code", "UserPromptSubmit", payload=prompted(repo, **told)).out == ""


def taken(repo: Repo) -> list[dict[str, Any]]:
    """The metadata of all checkpoints, the oldest first."""
    found = repo.git("for-each-ref", "--format=%(contents:body)%00", "refs/boocode/checkpoints/")
    return [json.loads(body) for body in found.split("\0") if body.strip()]


def logged(repo: Repo) -> list[LogEntry]:
    """What went wrong in hooks."""
    return entries(str(repo.top / ".git/boocode"), since=0)


def what(repo: Repo) -> list[str]:
    """What went wrong in hooks, in a word each."""
    return [entry.what for entry in logged(repo)]


class Turns(dict[str, str]):
    """The ids of turns by their prompts, each made by one session of an agent."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    def begin(self, prompt: str, session: str = "s1") -> None:
        """Let a session begin a turn."""
        payload = prompted(self._repo, prompt_id=prompt, prompt=prompt, session_id=session)
        fire(self._repo, "claude-code", "UserPromptSubmit", payload=payload)
        self[prompt] = taken(self._repo)[-1]["id"]

    def end(self, prompt: str, session: str = "s1") -> None:
        """Let a session end its turn."""
        payload = prompted(self._repo, prompt_id=prompt, session_id=session)
        fire(self._repo, "claude-code", "Stop", payload=payload)

    def whole(self, prompt: str, session: str = "s1", **files: str) -> None:
        """A turn that writes files."""
        self.begin(prompt, session)
        for path, content in files.items():
            self._repo.write(path, content)
        self.end(prompt, session)
