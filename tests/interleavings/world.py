"""Carries scripts out in a real repository, with the hooks that agents call, and looks at it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from io import BytesIO, TextIOWrapper
from typing import Any, NamedTuple, NoReturn
from unittest.mock import patch

from git_boocode.__main__ import main
from tests.interleavings.agents import AFTER, BEFORE, BEGIN, END, SimulatedAgent, Turn
from tests.interleavings.scripts import ADD, COMMIT, GIT_MOVE, Files, Op, Played
from tests.repo_kit import Repo, Result

_EXECUTABLE = 0o111


class Seen(NamedTuple):
    """All that a command could change: files, staging, and refs."""

    files: dict[str, tuple[int, bytes]]
    staged: str
    refs: str


class World:
    """A repository in which agents and a user work; `run` calls `git boocode`."""

    def __init__(
        self, repo: Repo, run: Callable[..., Result], agents: tuple[SimulatedAgent, ...]
    ) -> None:
        self.repo = repo
        self.run = run
        self._agents = agents

    def begin(self, files: Files) -> None:
        """Commit the first files."""
        self._write({}, files)
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "-m", "first")

    def carry_out(self, each: Played, before: Files) -> None:
        """Let an event happen; `before` are the files until then."""
        event = each.event
        if each.turn and event.kind in (BEGIN, BEFORE, AFTER, END):
            self.report(event.kind, each)
        elif event.op is not None:
            self._change(event.op, before, each.files)
        elif event.kind == ADD:
            self.repo.git("add", "-A", "--", event.path, check=False)
        elif event.kind == COMMIT:
            self.repo.git("commit", "-q", "-a", "--allow-empty", "-m", "between")

    def agent(self, session: int) -> SimulatedAgent:
        """The agent of a session."""
        return self._agents[session % len(self._agents)]

    def report(self, kind: str, each: Played) -> None:
        """Call the hook of an agent."""
        assert each.turn is not None
        agent = self.agent(each.turn.session)
        payload = agent.sends(kind, str(self.repo.top), each.turn, each.call)
        words = ("hook", agent.name, agent.event(kind))
        done = self.run(*words, stdin=json.dumps(payload))
        assert (done.code, done.err) == (0, "")

    def turns(self) -> dict[Turn, dict[str, Any]]:
        """What the log says of each turn."""
        done = self.run("log", "--json")
        assert done.code == 0, done.err
        found = {}
        for row in done.json["checkpoints"]:
            words = row["prompt"].split()
            found[Turn(int(words[5]), int(words[2]))] = row
        return found

    def seen(self) -> Seen:
        """Look at everything."""
        staged = self.repo.git("ls-files", "-s", "-z")
        return Seen(self.repo.files(), staged, self.repo.git("for-each-ref"))

    def _change(self, op: Op, before: Files, after: Files) -> None:
        if op.to:
            self.repo.write(op.to)
            os.unlink(self.repo.top / op.to)
            if op.kind == GIT_MOVE:
                self.repo.git("mv", "-k", op.path, op.to, check=False)
            if (self.repo.top / op.path).exists():
                os.rename(self.repo.top / op.path, self.repo.top / op.to)
            self._tidy(op.path)
        else:
            self._write(
                {path: before[path] for path in op.paths if path in before},
                {path: after[path] for path in op.paths if path in after},
            )

    def _write(self, before: Files, after: Files) -> None:
        for path, file in after.items():
            mode = 0o755 if file.is_executable else 0o644
            self.repo.write(path, file.data, mode)
        for path in before.keys() - after.keys():
            (self.repo.top / path).unlink()
            self._tidy(path)

    def _tidy(self, path: str) -> None:
        """Remove the empty directories above a file that is gone."""
        above = (self.repo.top / path).parent
        if above != self.repo.top and not any(above.iterdir()):
            above.rmdir()


def on_disk(files: Files) -> dict[str, tuple[int, bytes]]:
    """Files as `Repo.files` lists them."""
    regular = 0o100000
    return {
        path: (regular | (0o100 if file.is_executable else 0), file.data)
        for path, file in files.items()
    }


class _Exited(BaseException):
    """Instead of the end of this process."""

    def __init__(self, code: int) -> None:
        self.code = code


def _raise_exit(code: int) -> NoReturn:
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise _Exited(code)


def run_here(repo: Repo) -> Callable[..., Result]:
    """Run `git boocode` in this process, which is one for nothing else."""

    def run(*words: str, stdin: str = "", **_: Mapping[str, str]) -> Result:
        os.chdir(repo.top)
        saved = os.dup(2)
        reading, writing = os.pipe()
        os.write(writing, stdin.encode())
        os.close(writing)
        os.dup2(reading, 0)
        os.close(reading)
        out, err = (TextIOWrapper(BytesIO(), "utf-8", "surrogateescape") for _ in range(2))
        argv, streams = sys.argv, (sys.stdout, sys.stderr)
        sys.argv, sys.stdout, sys.stderr = ["git-boocode", *words], out, err
        try:
            # A hook with nothing to do ends its process.
            with patch.object(os, "_exit", _raise_exit):
                code = main()
        except _Exited as exited:
            code = exited.code
        finally:
            sys.argv, (sys.stdout, sys.stderr) = argv, streams
            # A hook silences it.
            os.dup2(saved, 2)
            os.close(saved)
        return Result(code, *(_written(stream) for stream in (out, err)))

    return run


def _written(stream: TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, BytesIO)
    return os.fsdecode(buffer.getvalue())
