"""Commands that only read work where the git directory is read-only; others say why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take
from tests.repo_kit import Repo, Result, read_only

LOOKING = (
    *("log --json", "show @ --json", "diff", "diff --json", "diff --stat @~1", "undo -n --json"),
    *("restore -n --json @", "restore -n --json @~1 a sub", "restore -n --head @~1"),
    *("redo -n", "prune -n --keep 1 --json", "prune -n --all --keep 1", "drop -n @~2"),
    *(
        "doctor",
        "status --json",
        "uninstall -n",
        "apply-edit -n --path a --old c --new d --diff",
        "rewind -n",
    ),
)


@pytest.fixture
def messy(repo: Repo) -> Repo:
    """A repository with checkpoints, a restore, and all kinds of changes since."""
    repo.commit(**{"a": "a\n", "sub/b": "b\n", "old": "o\n"})
    for text in ("1\n", "2\n", "3\n"):
        repo.write("sub/b", text)
        take()
    repo.write("a", "b\n")
    repo.write("n", "n\n")
    back()
    repo.write("a", "c\n")
    repo.write("new/one", "k\n")
    repo.git("add", "new")
    repo.git("rm", "-q", "old")
    return repo


def git_dir(repo: Repo) -> dict[str, bytes]:
    """Every file of the git directory."""
    top = repo.top / ".git"
    return {str(path): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def answers(repo: Repo) -> dict[str, Result]:
    """What the commands say that only look."""
    return {command: repo.boocode(*command.split()) for command in LOOKING}


def test_read_only_commands_print_the_same(
    messy: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    usual = answers(messy)
    assert {done.code for done in usual.values()} <= {0, 1}
    # What it looked at is in the object store now, and must not be what it finds.
    messy.write("sub/b", "4\n")
    before = git_dir(messy), messy.files()
    with read_only(messy.top / ".git"):
        assert messy.boocode("restore", "-n", "@").code == 0
        assert "+4\n" in messy.boocode("diff").out
        assert '"diff": "' in messy.boocode("diff", "--json").out
    assert (git_dir(messy), messy.files()) == before
    messy.write("sub/b", "3\n")
    with read_only(messy.top / ".git"):
        assert answers(messy) == usual
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    ["checkpoint", "restore @", "undo", "drop @", "prune --keep 1", "doctor --fix",
     "apply-edit --path a --old c --new d", "fetch elsewhere"],
)  # fmt: skip
def test_commands_that_write_report_why_they_cannot(messy: Repo, command: str) -> None:
    messy.git("remote", "add", "elsewhere", ".")
    before = git_dir(messy), messy.files()
    with read_only(messy.top / ".git"):
        done = messy.boocode(*command.split())
    assert (done.code, done.out) == (128, "")
    assert done.err.startswith("fatal: cannot use ")
    assert (
        f"hint: '{messy.top}/.git' is not writable; only log, diff and restore -n work there"
        in done.err
    )
    assert (git_dir(messy), messy.files()) == before


def test_by_the_modes_of_files(messy: Repo) -> None:
    usual = messy.unprivileged("restore", "-n", "@")
    assert usual.code == 0
    paths = [messy.top / ".git", *(messy.top / ".git").rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        assert messy.unprivileged("restore", "-n", "@") == usual
        assert messy.unprivileged("checkpoint").code == 128
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def test_a_repository_without_private_files(repo: Repo) -> None:
    repo.commit(a="a\n")
    with read_only(repo.top / ".git"):
        assert repo.boocode("doctor").out == "no problems found\n"
        assert repo.boocode("prune", "-n").code == 0
        assert repo.boocode("restore", "-n", "@").code == 1


def test_an_existing_lock_is_respected(messy: Repo) -> None:
    state = Repository.discover().state_dir
    with worktree_lock(state, shared=False, patience=0), read_only(messy.top / ".git"):
        with (
            pytest.raises(RefusedError, match="is running"),
            worktree_lock(state, shared=True, patience=0, read_only=True),
        ):
            pass
        with pytest.raises(FatalError), worktree_lock(state, shared=True, patience=0):
            pass


def test_a_lock_of_someone_else(messy: Repo) -> None:
    lock = Path(Repository.discover().state_dir, "lock")
    lock.chmod(0)
    assert messy.unprivileged("restore", "-n", "@").code == 0
    done = messy.unprivileged("checkpoint")
    assert (done.code, done.out) == (128, "")
    assert done.err.startswith(f"fatal: cannot use '{lock}': permission denied\nhint: check the ")
