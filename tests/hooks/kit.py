"""What tests of the callbacks that ship do: take checkpoints with an anchor, fail, die half-way."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from git_boocode.checkpoints.capture import write_checkpoint
from git_boocode.checkpoints.restore.transaction import Transaction
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.repo.errors import BoocodeError, FatalError
from git_boocode.repo.files import shipped_file
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back
from tests.repo_kit import Repo

_WRAPPER = """\
#!{interpreter}
import errno, io, json, os, runpy, signal, sys

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def die_with_the_restore(*_, **__):
    os.kill(os.getppid(), signal.SIGKILL)
    die()

def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device", "disk")

said = sys.stdin.buffer.read()
sys.stdin = io.TextIOWrapper(io.BytesIO(said))
if json.loads(said)["event"] == {event!r}:
    {code}
runpy.run_path({path!r}, run_name="__main__")
"""


def callback(name: str) -> str:
    """The path of a callback that ships."""
    return shipped_file(f"callbacks/{name}")


def faulty(repo: Repo, name: str, event: str, code: str) -> str:
    """A callback that ships, after a line of Python in one of its events."""
    text = _WRAPPER.format(interpreter=sys.executable, event=event, code=code, path=callback(name))
    return str(repo.write(".git/faulty", text, 0o755))


def load(name: str) -> SimpleNamespace:
    """The functions of a callback that ships; nothing is compiled to a file beside it."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(Path(callback(name)).read_bytes(), callback(name), "exec"), names)
    return SimpleNamespace(**names)


def digest(line: bytes) -> str:
    """The hash of a line in an anchor."""
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


def anchor(path: Path, /, **more: Any) -> dict[str, Any]:
    """The anchor of a checkpoint that is taken now."""
    complete, end, _ = path.read_bytes().rpartition(b"\n")
    offset = len(complete + end)
    last = complete.rpartition(b"\n")[2]
    return {
        "agent": None,
        "session": None,
        "message": None,
        "path": str(path),
        "offset": offset,
        "hash": digest(last) if offset else None,
        **more,
    }


def take_anchored(where: Mapping[str, Any], **told: Any) -> Checkpoint:
    """Take a checkpoint with an anchor, as the hook of an agent does."""
    repository = Repository.discover()
    values = {"meta": {}, **told, "anchor": dict(where)}
    with scratch_directory(repository.state_dir) as scratch:
        snapshot = take_snapshot(repository, scratch)
        return write_checkpoint(Catalog(repository), snapshot, "checkpoint", values)


def refused(program: str, name: str = "@") -> str:
    """The words of a restore that the callback forbids."""
    with pytest.raises(BoocodeError) as caught:
        back(name, callback=program)
    assert caught.value.code == "vetoed"
    return caught.value.message


def failing_afterwards(
    monkeypatch: pytest.MonkeyPatch, program: str, act: Callable[..., object] = back
) -> None:
    """A restore, or an undo, that fails when the callback has done its part."""

    def fail(*_: object) -> None:
        raise FatalError("the archive is on fire", code="fire")

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "_archive", fail)
        with pytest.raises(FatalError, match="on fire") as caught:
            act(callback=program)
    assert "in doubt" not in caught.value.message


def failing(program: str) -> str:
    """The words of a restore whose callback fails, and rolls back well."""
    with pytest.raises(FatalError) as caught:
        back(callback=program)
    assert caught.value.code == "callback"
    assert "in doubt" not in caught.value.message
    return caught.value.message


def row(**values: Any) -> bytes:
    """A line of JSON."""
    return json.dumps(values).encode() + b"\n"
