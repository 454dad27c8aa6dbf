"""What the store of a long-running process promises beyond `test_store`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from git_boocode.repo.errors import FatalError
from git_boocode.repo.libgit2 import Libgit2Store, open_store
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import PersistentStore, RefChange
from tests.repo_kit import Repo

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(params=[PersistentStore, open_store], ids=["cat-file", "best"])
def store(request: pytest.FixtureRequest, repo: Repo) -> Iterator[PersistentStore]:
    made: PersistentStore = request.param(Repository.discover())
    yield made
    made.close()


@pytest.fixture
def kept(repo: Repo) -> Iterator[Repository]:
    """A repository with an open store."""
    repository = Repository.discover()
    store = open_store(repository.copy())
    repository.use_store(store)
    yield repository
    store.close()


def children() -> set[int]:
    """The processes that this one has started."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return set(map(int, listed.split()))


def memory() -> int:
    """The bytes that this process occupies."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def blob(repo: Repo, content: bytes) -> str:
    """Store a blob."""
    return repo.git("hash-object", "-w", "--stdin", stdin=content).strip()


@ON_LINUX
def test_a_git_that_was_killed_is_started_again(repo: Repo) -> None:
    one, two = blob(repo, b"1"), blob(repo, b"2")
    before = children()
    store = PersistentStore(Repository.discover())
    for _ in range(3):
        assert store.blobs([one, two]) == [b"1", b"2"]
        (process,) = children() - before
        os.kill(process, signal.SIGKILL)
    store.close()
    assert children() == before
    assert store.blobs([two]) == [b"2"]
    store.close()


@pytest.mark.slow
@ON_LINUX
def test_requests_start_no_processes_and_need_no_more_memory(
    repo: Repo, store: PersistentStore
) -> None:
    commit = repo.commit(**{f"d/{number}": f"{number}\n" for number in range(20)})
    for number in range(20):
        repo.git("update-ref", f"refs/boocode/x/{number}", commit)
    blobs = [entry.id for entry in store.tree(commit).values()]

    def ask(number: int) -> None:
        assert store.commit("HEAD") is not None
        assert None not in store.blobs(blobs)
        assert store.blobs([f"{number:040x}"]) == [None]
        is_in_process = isinstance(store, Libgit2Store)
        assert not is_in_process or len(store.refs("refs/boocode/x/", newest=5)) == 5

    for number in range(200):
        ask(number)
    started, used = children(), memory()
    for number in range(600):
        ask(number)
    assert children() == started
    # In bytes: less than one small object for each request.
    assert memory() - used < 600 * 200


@pytest.mark.variants
def test_threads_get_their_own_answers(repo: Repo, store: PersistentStore) -> None:
    ids = {blob(repo, b"%d" % number * 1000): b"%d" % number * 1000 for number in range(40)}
    repo.commit(**{f"f{number}": "x" * number for number in range(20)})
    repo.git("repack", "-adq")
    more = {blob(repo, b"more %d" % number): b"more %d" % number for number in range(40)}
    every = {**ids, **more}

    def read(seed: int) -> bool:
        wanted = [*every][seed:] + [*every][:seed]
        same = store.blobs(wanted) == [every[each] for each in wanted]
        name = f"refs/boocode/x/{seed}"
        commit = store.commit("HEAD")
        assert commit is not None
        store.update_refs([RefChange(name, commit.id, None)])
        return same and len(store.refs(name)) == 1

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(40)))
    assert len(store.refs("refs/boocode/")) == 40


def test_requests_share_the_store_but_not_what_is_bound(repo: Repo, kept: Repository) -> None:
    repo.commit(a="a\n")
    one = Repository.discover()
    one.use_store(kept.store)
    with temporary_objects(one):
        assert "GIT_OBJECT_DIRECTORY" not in kept.git.env
        new = one.git.line("hash-object", "-w", "--stdin", stdin=b"new")
        # Only who writes there sees them.
        assert one.store.blobs([new]) == [b"new"]
        assert kept.store.blobs([new]) == [None]
    assert one.store is kept.store
    assert one.store.blobs([new]) == [None]


def test_a_repository_that_was_moved_away(repo: Repo, kept: Repository) -> None:
    commit = repo.commit(a="a\n")
    assert kept.store.commit("HEAD") is not None
    (repo.top / ".git").rename(repo.top / "elsewhere")
    with pytest.raises(FatalError):
        kept.store.commit(commit)
    (repo.top / "elsewhere").rename(repo.top / ".git")
    found = kept.store.commit(commit)
    assert found is not None
    assert found.id == commit
