"""A checkpoint that is killed or finds no room changes nothing of the user's and blocks nothing."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from git_boocode.checkpoints.checkup import check_files
from git_boocode.repo.ids import new_id
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import refs, seen
from tests.repo_kit import Repo, Result, mounted, read_only

# `.ci/run` asks for more.
ROUNDS = int(os.environ.get("KILL_ROUNDS", "25"))


class Theirs(NamedTuple):
    """What is the user's, byte by byte."""

    files: dict[str, tuple[int, bytes]]
    staged: bytes
    head: str
    branches: str


def theirs(repo: Repo) -> Theirs:
    """Look at it without touching it."""
    branches = repo.git("for-each-ref", "refs/heads", "refs/tags", "refs/stash")
    return Theirs(repo.files(), repo.read(".git/index"), repo.git("rev-parse", "HEAD"), branches)


def locks(repo: Repo) -> list[str]:
    """The lock files in the git directory, but for those in private directories of ours."""
    git_dir = repo.top / ".git"
    found = (path.relative_to(git_dir) for path in git_dir.rglob("*.lock"))
    return [str(path) for path in found if path.parts[0] != "boocode"]


def private_files(repo: Repo) -> set[str]:
    """What lies in our private directory, except what stays from one checkpoint to the next."""
    private = repo.top / ".git/boocode"
    return {path.name for path in private.iterdir() if path.name.startswith(("tmp-", "new-"))}


def mess(repo: Repo) -> None:
    """A worktree with something of everything, and enough of it to take a while."""
    repo.commit(**{f"d{n % 7}/f{n}": f"{n}\n" * 20 for n in range(200)})
    for number in range(0, 200, 3):
        repo.write(f"d{number % 7}/f{number}", "changed\n")
    repo.git("add", "d0")
    repo.write("untracked", "u\n")
    repo.git("add", "-N", "untracked")
    repo.write("new", os.urandom(3_000_000))


def start(repo: Repo) -> subprocess.Popen[bytes]:
    """A checkpoint in a process group of its own, so that its git commands die with it."""
    return subprocess.Popen(
        ["git", "boocode", "checkpoint"],
        cwd=repo.top, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for its end; exit status and output."""
    out, err = process.communicate()
    return process.returncode, out.decode(), err.decode()


def kill(process: subprocess.Popen[bytes], *, group: bool) -> None:
    """Kill it with all that it has started, or Python alone."""
    if group:
        os.killpg(process.pid, signal.SIGKILL)
        return
    # `git` waits for `git-boocode`.
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for child in children.read_text().split() if children.exists() else []:
        os.kill(int(child), signal.SIGKILL)


def how_long(repo: Repo) -> float:
    """Seconds that a checkpoint takes here."""
    begun = time.monotonic()
    assert repo.boocode("checkpoint").code == 0
    return time.monotonic() - begun


def test_killed_at_random_times(repo: Repo) -> None:
    mess(repo)
    dice = random.Random(5)
    longest = max(how_long(repo) for _ in range(2))
    before = theirs(repo)
    ended = 0
    for number in range(ROUNDS):
        # New content, so that there is something to write in every round.
        repo.write("new", dice.randbytes(100_000))
        before = before._replace(files=repo.files())
        known = refs(repo)
        process = start(repo)
        time.sleep(dice.uniform(0, longest * 1.1))
        kill(process, group=number % 4 != 0)
        code, out, _ = finish(process)
        ended += code == 0
        assert theirs(repo) == before, number
        # A git that is killed while it writes our ref leaves its locks, which block nothing.
        left = locks(repo)
        assert all(name.startswith("refs/boocode/") for name in left), number
        new = [line.split()[0] for line in refs(repo) if line not in known]
        assert len(new) <= 1, number
        # An id that was printed is kept; one that was kept need not have been printed.
        assert not out.strip() or out.strip() in new[0], number
        for ref in new:
            assert repo.git("cat-file", "blob", f"{ref}:new").encode(
                "utf-8", "surrogateescape"
            ) == repo.read("new")
        if left or number % 8 == 0:
            blocks_nothing(repo)
            before = theirs(repo)
        for name in left:
            (repo.top / ".git" / name).unlink(missing_ok=True)
    blocks_nothing(repo)
    assert ended < ROUNDS
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""


def blocks_nothing(repo: Repo) -> None:
    """The user's git works, and so does the next checkpoint, which tidies up."""
    before = seen(repo)
    done = repo.boocode("checkpoint", "--json")
    assert (done.code, done.err) == (0, "")
    assert seen(repo) == before
    # What was killed while it made a directory or a file is swept after a minute: it may still be
    # at it.
    assert {name for name in private_files(repo) if not name.startswith("new-")} == set()
    assert repo.git("ls-tree", "--name-only", done.json["ref"], "new") == "new\n"
    repo.git("add", "d1")
    repo.git("reset", "-q", "d1")


@pytest.mark.quick
def test_leftovers_of_killed_commands_are_removed(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.boocode("checkpoint")
    private = repo.top / ".git/boocode"
    for name in ("tmp-1-dead", "tmp-2-dead"):
        repo.write(f".git/boocode/{name}/alive")
        repo.write(f".git/boocode/{name}/index.lock", "x")
        repo.write(f".git/boocode/{name}/deep/er", "x")
    old = repo.write(".git/boocode/new-tmp-3-dead/alive").parent
    os.utime(old, (1, 1))
    young = repo.write(".git/boocode/new-tmp-4-alive/alive").parent
    assert repo.boocode("checkpoint").code == 0
    assert private_files(repo) == {young.name}
    assert private.exists()


@pytest.mark.quick
def test_the_users_own_lock_is_left_alone(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "b\n")
    lock = repo.write(".git/index.lock", "the user's\n")
    assert repo.boocode("checkpoint").code == 0
    assert lock.read_bytes() == b"the user's\n"


def failed_for_want_of_space(repo: Repo, done: Result, known: list[str]) -> None:
    """It says so, and leaves nothing half-done."""
    assert (done.code, done.out) == (128, ""), done
    assert done.err.startswith("fatal: "), done.err
    assert "no space left" in done.err.lower() or "file too large" in done.err.lower(), done.err
    assert "Traceback" not in done.err
    assert refs(repo) == known
    assert locks(repo) == []


def limited(size: int) -> Callable[[], None]:
    """Let a process write no file larger than this; git gets an error, not by a signal."""

    def before_it_starts() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return before_it_starts


@pytest.mark.parametrize("size", [0, 100, 3_000])
@pytest.mark.quick
@pytest.mark.variants
def test_no_file_can_grow(repo: Repo, size: int) -> None:
    repo.commit(a="a\n", **{f"f{n}": f"{n}\n" for n in range(100)})
    repo.boocode("checkpoint")
    repo.write("new", random.Random(1).randbytes(200_000))
    before, known = theirs(repo), refs(repo)
    done = subprocess.run(
        ["git", "boocode", "checkpoint"],
        cwd=repo.top, capture_output=True, text=True, preexec_fn=limited(size),
    )  # fmt: skip
    result = Result(done.returncode, done.stdout, done.stderr)
    failed_for_want_of_space(repo, result, known)
    assert theirs(repo) == before
    assert repo.boocode("checkpoint").code == 0
    assert private_files(repo) == set()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    with mounted(place, "-t", "tmpfs", "-o", "size=4m,nr_inodes=2000", "tmpfs"):
        yield place


@pytest.mark.parametrize("left", [0, 1, 2, 4, 8, 16, 40])
def test_a_full_disk(small_disk: Path, left: int) -> None:
    subprocess.run(["git", "init", "-q", small_disk], check=True)
    repo = Repo(small_disk)
    repo.commit(**{f"f{n}": f"{n}\n" for n in range(30)})
    assert repo.boocode("checkpoint").code == 0
    repo.write("a", random.Random(1).randbytes(300_000))
    known = refs(repo)
    filler = fill(small_disk, left)
    before = repo.read(".git/index"), repo.git("for-each-ref")
    done = repo.boocode("checkpoint")
    failed_for_want_of_space(repo, done, known)
    assert (repo.read(".git/index"), repo.git("for-each-ref")) == before
    assert repo.git("--no-optional-locks", "status", "--porcelain") == "?? a\n?? filler\n"
    filler.unlink()
    assert repo.boocode("checkpoint").code == 0
    assert private_files(repo) == set()
    assert repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
    repo.commit()


def fill(disk: Path, left: int) -> Path:
    """Fill a disk until some pages are left."""
    filler = disk / "filler"
    page = os.statvfs(disk).f_frsize
    with filler.open("wb", buffering=0) as file:
        free = os.statvfs(disk).f_bavail * page
        file.write(b"\1" * (free - left * page))
    return filler


@pytest.fixture
def sealed_git_dir(repo: Repo) -> Iterator[Repo]:
    """A repository whose git directory cannot be written."""
    repo.commit(a="a\n")
    repo.write("a", "b\n")
    with read_only(repo.top / ".git"):
        yield repo


@pytest.mark.quick
def test_a_git_directory_that_cannot_be_written(sealed_git_dir: Repo) -> None:
    before = theirs(sealed_git_dir)
    done = sealed_git_dir.boocode("checkpoint")
    assert (done.code, done.out) == (128, "")
    assert done.err.startswith("fatal: ")
    assert "read-only" in done.err.lower() or "permission denied" in done.err.lower()
    assert f"hint: '{sealed_git_dir.top}/.git' is not writable" in done.err
    answer = sealed_git_dir.boocode("checkpoint", "--json")
    assert (answer.code, answer.json["ok"]) == (128, False)
    assert theirs(sealed_git_dir) == before
    # What only looks works all the same.
    looked = sealed_git_dir.boocode("log")
    assert (looked.code, looked.out) == (0, "")


def test_a_prune_killed_at_random_times(repo: Repo) -> None:
    repo.commit(a="a\n")
    assert repo.boocode("checkpoint").code == 0
    commit = refs(repo, "checkpoints")[0].split()[1]
    names = [f"refs/boocode/checkpoints/{new_id(n)}" for n in range(1, 301)]
    script = "".join(f"create {name} {commit}\n" for name in names)
    newest = refs(repo, "checkpoints")[-1]
    dice = random.Random(7)
    begun = time.monotonic()
    assert repo.boocode("prune", "-n").code == 0
    usual = time.monotonic() - begun
    halves = 0
    for number in range(8):
        repo.git("update-ref", "--stdin", stdin=script)
        if number % 2:
            repo.git("pack-refs", "--all")
        process = subprocess.Popen(
            ["git", "boocode", "prune", "--older-than", "1d"], cwd=repo.top,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        time.sleep(dice.uniform(usual * 0.5, usual * 1.2))
        kill(process, group=True)
        finish(process)
        left = refs(repo, "checkpoints")
        assert newest in left
        halves += len(left) > 1
        # Leftovers of a killed transaction of git are reported.
        for path in locks(repo):
            os.utime(repo.top / ".git" / path, (1, 1))
        reported = [
            path for each in check_files(Repository.discover(), fix=False) for path in each.paths
        ]
        for path in locks(repo):
            assert str(repo.top / ".git" / path) in reported
            (repo.top / ".git" / path).unlink()
        done = repo.boocode("prune", "--older-than", "1d")
        assert (done.code, refs(repo, "checkpoints")) == (0, [newest])
    assert halves > 0
