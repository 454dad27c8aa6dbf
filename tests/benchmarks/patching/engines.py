"""What applies edits: ours, and the programs that patches are applied with today."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.inputs import Source
from git_boocode.editing.kept_versions import keep_versions
from git_boocode.editing.service import Options, apply_edits
from git_boocode.editing.workspace import Workspace
from tests.benchmarks.patching.cases import Case, Files

_MEMORY = "/dev/shm"
"""Files there are never written to a disk, on systems that have it."""
VERDICTS = ("perfect", "wrong", "refused", "half-written")
Engine = Callable[[Case, Path], str | None]
"""Applies a case in a directory; answers why it refused, or None."""


class Outcome(NamedTuple):
    """What became of a case.

    Attributes:
        verdict: one of `VERDICTS`; where all must be refused, `perfect` is a refusal.
        reason: what the engine said, if it refused.
        after: the files as they are then.
    """

    verdict: str
    reason: str | None
    after: Files


def judge(case: Case, engine: Engine) -> Outcome:
    """Let an engine apply a case, and look at every byte."""
    with _directory(case.before) as top:
        reason = engine(case, top)
        after = _found(top)
    return Outcome(_verdict(case, reason, after), reason, after)


def _verdict(case: Case, reason: str | None, after: Files) -> str:
    if reason is not None:
        if after != case.before:
            return "half-written"
        return "perfect" if case.expected is None else "refused"
    return "perfect" if after == case.expected else "wrong"


@contextmanager
def _directory(before: Files) -> Iterator[Path]:
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="patches-", dir=memory) as name:
        top = Path(os.path.realpath(name))
        for path, data in before.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(data)
        yield top


def _found(top: Path) -> Files:
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in top.rglob("*")
        if path.is_file() and path.relative_to(top).parts[0] != ".git"
    }


def ours(case: Case, top: Path) -> str | None:
    """The whole of apply-edit, in this process."""
    workspace = Workspace(str(top), "", None)
    if case.read:
        subprocess.run(["git", "init", "-q"], cwd=top, check=True)
        workspace = Workspace.here(str(top))
        assert workspace.repository is not None
        keep_versions(workspace.repository, case.read)
    try:
        apply_edits([Source("input", case.sent)], workspace, Options(record=False))
    except EditsRefusedError as error:
        return "; ".join(f"{failure.code}: {failure.message}" for failure in error.failures)
    return None


def _program(*command: str) -> Engine:
    def engine(case: Case, top: Path) -> str | None:
        # Nothing of the machine's own git, and no repository around.
        environ = {key: os.environ[key] for key in ("PATH", "TMPDIR") if key in os.environ}
        environ |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(top.parent)}
        environ |= {"HOME": str(top.parent), "LC_ALL": "C"}
        done = subprocess.run(
            [*command, f"-p{case.strip}"],
            cwd=top,
            input=case.patch,
            capture_output=True,
            env=environ,
        )
        return (done.stdout + done.stderr).decode("utf-8", "replace") if done.returncode else None

    return engine


_PATCH = ("patch", "-F3", "-l", "--force", "--forward", "-r", "-", "--no-backup-if-mismatch")
PROGRAMS: dict[str, Sequence[str]] = {
    "git apply": ("git", "apply"),
    "git apply --recount -C1 --ignore-whitespace": (
        *("git", "apply", "--recount", "-C1", "--ignore-whitespace"),
    ),
    "patch -F3 -l": _PATCH,
}


def installed() -> tuple[dict[str, Engine], list[str]]:
    """The programs that this machine has, and the names of those that it has not."""
    there = {name: _program(*how) for name, how in PROGRAMS.items() if shutil.which(how[0])}
    return there, [name for name in PROGRAMS if name not in there]
