"""What tests of checkpoints do: take one, go back, look at everything, play the host."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from git_boocode.checkpoints.capture import Request, capture, read_staging
from git_boocode.checkpoints.restore import transaction
from git_boocode.checkpoints.restore.commands import redo, restore, undo
from git_boocode.checkpoints.restore.conversation import Conversation
from git_boocode.checkpoints.restore.request import (
    LATER_CHANGES,
    NEWER_TURNS,
    RestoreHost,
    RestoreRequest,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.restore.transaction import Transaction
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


class Seen(NamedTuple):
    """All that a restore could change."""

    files: dict[str, tuple[int, bytes]]
    status: str
    staged: str


def seen(repo: Repo) -> Seen:
    """Look at files, status and staging area."""
    return Seen(repo.files(), repo.status(), repo.git("ls-files", "-s", "-v", "-z"))


def refs(repo: Repo, *below: str) -> list[str]:
    """All refs and where they point, or those below some beginnings of `refs/boocode/`."""
    wanted = [f"refs/boocode/{name}/" for name in below]
    return repo.git("for-each-ref", "--format=%(refname) %(objectname)", *wanted).splitlines()


def take(**values: Any) -> Checkpoint:
    """Take a checkpoint of the current directory's worktree."""
    return capture(Repository.discover(), Request(**values)).checkpoint


ANYWAY = frozenset({LATER_CHANGES, NEWER_TURNS})


def back(name: str = "@", **options: Any) -> RestoreResult:
    """Restore the current directory's worktree."""
    host = _host_of(options)
    return restore(Repository.discover(), name, RestoreRequest(**options), host)


def undone(**options: Any) -> RestoreResult:
    """Undo the latest restore of the current directory's worktree, whatever was recorded since."""
    host = _host_of(options)
    return undo(Repository.discover(), RestoreRequest(**{"force": ANYWAY, **options}), host)


def redone(**options: Any) -> RestoreResult:
    """Do the restore of the current directory's worktree again that was undone last."""
    host = _host_of(options)
    return redo(Repository.discover(), RestoreRequest(**{"force": ANYWAY, **options}), host)


def _host_of(options: dict[str, Any]) -> RestoreHost:
    """What a restore uses of other layers, taken out of the options."""
    return RestoreHost(**{key: options.pop(key) for key in RestoreHost._fields if key in options})


def sound(repo: Repo) -> None:
    """Nothing is damaged, and nothing private was left."""
    assert repo.git("fsck", "--connectivity-only", "--no-dangling") == ""
    git_dir = Path(repo.git("rev-parse", "--path-format=absolute", "--git-dir").strip())
    assert not (git_dir / "index.lock").exists()
    assert list((git_dir / "boocode").glob("tmp-*")) == []
    assert not (git_dir / "boocode/restore-in-progress").exists()


class Killed(BaseException):
    """What ends an operation half-way."""


def interrupted(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], *, at: str = "_archive"
) -> None:
    """Let an operation die at one of its steps, leaving everything as it is then."""

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        places = (Transaction, Conversation, transaction)
        patch.setattr(next(place for place in places if hasattr(place, at)), at, die)
        patch.setattr(Transaction, "_roll_back", lambda *_: None)
        patch.setattr(Transaction, "_forget", lambda *_: False)
        with pytest.raises(Killed):
            act()


class Held(NamedTuple):
    """All that a checkpoint holds, but for when and why it was taken."""

    tree: str
    staging: Staging | None
    skipped: list[dict[str, Any]]


def held() -> Held:
    """Take a checkpoint; what it holds."""
    repository = Repository.discover()
    taken = capture(repository, Request()).checkpoint
    staging = read_staging(repository, taken.meta)
    return Held(taken.tree, staging, taken.meta.values["skipped"])


def held_without_history() -> Held:
    """Take a checkpoint where nothing is left of earlier ones; those come back afterwards."""
    private = Path(Repository.discover().state_dir)
    aside = private.with_name("boocode-aside")
    private.rename(aside)
    try:
        return held()
    finally:
        shutil.rmtree(private)
        aside.rename(private)


class Effort:
    """Counts processes of git and looks at single files from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.processes = self.looks = 0
        start, look_at = subprocess.Popen, os.lstat

        def popen(*arguments: Any, **options: Any) -> Any:
            self.processes += 1
            return start(*arguments, **options)

        def lstat(*arguments: Any, **options: Any) -> os.stat_result:
            self.looks += 1
            return look_at(*arguments, **options)

        monkeypatch.setattr(subprocess, "Popen", popen)
        monkeypatch.setattr(os, "lstat", lstat)

    def of(self, work: Callable[[], object]) -> tuple[int, int]:
        """How many of both some work takes."""
        self.processes = self.looks = 0
        work()
        return self.processes, self.looks


class Host:
    """A callback that writes down the events it receives.

    Args:
        repo: the repository; the callback is kept in its git directory.
        script: shell commands by event; an event without any answers `{}`.
    """

    def __init__(self, repo: Repo, **script: str) -> None:
        self._log = repo.top / ".git/received"
        self._log.write_text("")
        cases = "".join(
            f"""*'"event": "{event}"'*)\n{commands}\n;;\n""" for event, commands in script.items()
        )
        path = repo.write(
            ".git/host",
            '#!/bin/sh\nIFS= read -r request\nprintf "%s\\n" "$request" >> .git/received\n'
            f'case "$request" in\n{cases}*) echo "{{}}" ;;\nesac\n',
            0o755,
        )
        self.path = str(path)

    @property
    def received(self) -> list[dict[str, Any]]:
        """The events, in order."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]

    @property
    def events(self) -> list[str]:
        """The names of the events, in order."""
        return [event["event"] for event in self.received]
