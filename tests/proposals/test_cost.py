"""What `status` looks at: the files of the proposal, and nothing else of a large repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from tests.proposals import kit
from tests.proposals.kit import ProposedFile, Version
from tests.repo_kit import Repo

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace"),
]

_FILES, _OF_CONTEXT = 50_000, 200
_PATH = re.compile(r'^(?:\d+ +)?(\w+)\([^"]*"((?:[^"\\]|\\.)*)"')


@pytest.fixture
def large(repo: Repo) -> Repo:
    """A large repository, of which some files are proposed."""
    for number in range(_FILES):
        if number % 500 == 0:
            (repo.top / f"d{number // 500}").mkdir()
        (repo.top / f"d{number // 500}/f{number}").write_bytes(b"1\n2\n3\n")
    # Git reads a file again that is as young as its index.
    for path in repo.top.glob("d*/f*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    repo.commit()
    names = [f"d{number // 500}/f{number}" for number in range(0, _FILES, _FILES // _OF_CONTEXT)]
    context, output = Version(b"1\n2\n3\n"), Version(b"1\nmodel\n3\n")
    kit.store_state(
        ProposedFile(name, context, output if number % 2 else context)
        for number, name in enumerate(names)
    )
    for number, name in enumerate(names):
        if number % 20 == 0:
            repo.write(name, "typed\n")
            os.utime(repo.top / name, (1_700_000_000, 1_700_000_000))
    return repo


def traced(repo: Repo) -> tuple[set[str], set[str]]:
    """The files of the worktree that the second `status` opens, and those that it looks at."""
    first = repo.installed("status", "--porcelain").out
    log = repo.top.parent / "calls"
    command: list[str] = ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=%file", "-o", str(log)]
    command += ["git", "boocode", "status", "--porcelain"]
    done = subprocess.run(command, cwd=repo.top, capture_output=True, text=True)
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("nothing can be traced here")
    assert done.stdout == first
    opened, seen = set[str](), set[str]()
    for line in log.read_text().splitlines():
        if (found := _PATH.match(line)) is None:
            continue
        path = os.path.relpath(os.path.join(repo.top, found[2]), repo.top)
        if re.fullmatch(r"d\d+/f\d+", path):
            (opened if found[1].startswith("open") else seen).add(path)
    return opened, seen


def test_status_looks_at_the_files_of_the_proposal(large: Repo) -> None:
    files = {file.path for file in kit.newest().files}  # type: ignore[union-attr]
    assert len(files) == _OF_CONTEXT
    opened, seen = traced(large)
    assert opened == set()
    assert seen == files
