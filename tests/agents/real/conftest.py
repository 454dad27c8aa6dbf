"""A session of a real agent, in a sealed home and repository, with the scripted model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.registry import AGENTS
from tests.agents.real.model import Model, ToolCall
from tests.agents.real.programs import REAL_AGENTS, RealAgent, filled
from tests.repo_kit import Repo

_PASSED = ("GIT_", "LANG", "HOME", "PATH", "TZ", "XDG_", "TMPDIR")

_DIRECTORY = os.environ.get("REAL_AGENTS")
_BIN = os.path.join(os.path.abspath(_DIRECTORY), "node_modules/.bin") if _DIRECTORY else ""


def prompt_of(word: str) -> str:
    """The prompt of a turn that writes the file WORD.txt."""
    return f"Please write {word} down"


class Session:
    """A session of an agent in a repository; `id` is empty until a checkpoint names it."""

    def __init__(self, agent: RealAgent, home: Path, repo: Repo, model: Model) -> None:
        self.agent, self.repo, self.model = agent, repo, model
        self.id = ""
        self._home = home
        self._names = {"url": model.url, "top": str(repo.top)}
        for path, content in agent.files.items():
            file = home / filled(path, **self._names)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(filled(content, **self._names))

    def boocode(self, *words: str) -> Any:
        """Run the installed `git boocode`, which must succeed, and return its JSON answer."""
        done = self.repo.installed(*words, "--json")
        assert done.code == 0, done.err
        return done.json

    def move_to(self, repo: Repo) -> None:
        """Go on in another worktree."""
        self.repo = repo
        self._names["top"] = str(repo.top)
        os.chdir(repo.top)

    def hooks(self, command: str, scope: str) -> None:
        if scope.strip("-") not in AGENTS[self.agent.name].config.places:
            pytest.skip(f"{self.agent.name} has no files for {scope}")
        self.boocode("hooks", command, "--agent", self.agent.name, scope)

    def turn(self, word: str) -> None:
        """Let the agent write the file WORD.txt in one turn."""
        self.run(prompt_of(word), [self.writing(word)])
        if checkpoints := self.checkpoints():
            self.id = self.id or checkpoints[-1]["session"]

    def writing(self, word: str) -> ToolCall:
        """The call of a tool that writes the file WORD.txt."""
        agent = self.agent
        written = filled(agent.arguments, path=f"{word}.txt", text=word, **self._names)
        is_text = isinstance(agent.arguments, str)
        return ToolCall(agent.tool, written if is_text else json.loads(written))

    def run(self, prompt: str, calls: list[ToolCall]) -> None:
        """Let the agent make calls of tools in one turn."""
        before, agent = len(self.model.conversations), self.agent
        self.model.pending = calls
        words = agent.later if self.id and agent.later else agent.first
        given = {"prompt": prompt, "session": self.id, **self._names}
        said = self.call(agent.program, *(filled(each, **given) for each in words))
        assert len(self.model.conversations) > before, said
        assert not self.model.pending, f"a tool was not offered: {said}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the agent's program."""
        sealed = {key: value for key, value in os.environ.items() if key.startswith(_PASSED)}
        own = {key: filled(text, **self._names) for key, text in self.agent.environment.items()}
        return sealed | own

    def call(self, *words: str) -> str:
        """Run the agent's program, which must succeed, and return what it prints."""
        done = subprocess.run(
            words,
            cwd=self.repo.top,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = f"{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, said
        return said

    def checkpoints(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.boocode("log")["checkpoints"]
        return found[::-1]

    def files_in(self, checkpoint: dict[str, Any]) -> set[str]:
        """The words of whose turns a checkpoint holds the files."""
        return _words(self.repo.git("ls-tree", "--name-only", checkpoint["commit"]).split("\n"))

    def files(self) -> set[str]:
        return _words(os.listdir(self.repo.top))

    def changed_in(self, name: str) -> set[str]:
        """The words whose files a turn changed."""
        return _words([each["path"] for each in self.boocode("show", name)["files"]])

    def transcripts(self) -> str:
        """What the agent has written to the transcripts of its sessions."""
        return "".join(path.read_text() for path in self._home.rglob("*.jsonl"))

    def configuration(self) -> dict[Path, bytes]:
        paths = (*self._home.rglob("*"), *self.repo.top.rglob("*"))
        return {path: path.read_bytes() for path in paths if path.is_file()}

    def remembered(self, *words: str) -> set[str]:
        """Of some words, those whose turns are part of what the model was sent last."""
        return {word for word in words if prompt_of(word) in self.model.conversations[-1]}


def _words(names: list[str]) -> set[str]:
    return {name.removesuffix(".txt") for name in names if name.endswith(".txt")}


def _parameter(agent: RealAgent) -> Any:
    is_missing = not _BIN or shutil.which(agent.program, path=_BIN) is None
    reason = f"REAL_AGENTS has no {agent.program}; see tests/agents/real/README.md"
    return pytest.param(agent, id=agent.name, marks=pytest.mark.skipif(is_missing, reason=reason))


@pytest.fixture(params=map(_parameter, REAL_AGENTS))
def session(
    request: pytest.FixtureRequest, sealed: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """A session of each agent that is installed."""
    monkeypatch.setenv("PATH", f"{_BIN}{os.pathsep}{os.environ['PATH']}")
    repo.commit("Begin", README="hello\n")
    model = Model()
    yield Session(request.param, sealed, repo, model)
    model.close()


@pytest.fixture
def resumable(session: Session) -> Session:
    """A session of each agent that goes on with a session without a terminal."""
    if not session.agent.later:
        pytest.skip(f"{session.agent.program} goes on with a session only in a terminal")
    return session
