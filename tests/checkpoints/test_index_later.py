"""Checkpoints of a server: the tree is made from the files, and the private index updated later."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from git_boocode.checkpoints.capture import Captured, Request, capture
from git_boocode.checkpoints.store.commit import read_staging
from git_boocode.repo.git import Git
from git_boocode.repo.repository import Repository
from git_boocode.repo.repository_cache import RepositoryCache
from tests.checkpoints.events import EVENTS, set_up
from tests.checkpoints.kit import Held, back, held_without_history, sound, undone
from tests.checkpoints.states import STATES, mutate
from tests.checkpoints.test_properties import DEEDS, do, fresh_repo
from tests.checkpoints.test_states import warm_up
from tests.repo_kit import Repo, examples

OLD = 1_700_000_000


class Server:
    """Takes checkpoints of a worktree as a server does."""

    def __init__(self) -> None:
        self.known = RepositoryCache()
        self.left: list[Callable[[], None]] = []

    @property
    def repository(self) -> Repository:
        """The repository of the current directory, as each call finds it."""
        return self.known.find(os.getcwd())

    def capture(self, **values: Any) -> Captured:
        """Take a checkpoint, and leave the rest of the work."""
        return capture(self.repository, Request(later=self.left.append, **values))

    def held(self) -> Held:
        """Take a checkpoint; what it holds."""
        taken = self.capture().checkpoint
        staging = read_staging(self.repository, taken.meta)
        return Held(taken.tree, staging, taken.meta.values["skipped"])

    def finish(self) -> None:
        """Do the work that was left."""
        while self.left:
            self.left.pop(0)()


@pytest.fixture
def opened() -> Iterator[Server]:
    """A server that has taken no checkpoint yet."""
    made = Server()
    yield made
    made.known.close()


@pytest.fixture
def server(repo: Repo, opened: Server) -> Server:
    repo.commit(**{"a": "a\n", "b": "b\n", "dir/c": "c\n", "dir/d": "d\n"})
    for path in repo.files():
        os.utime(repo.top / path, (OLD, OLD))
    repo.git("update-index", "-q", "--refresh")
    opened.held()
    opened.finish()
    return opened


def commands(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> list[str]:
    """The git commands that some work starts."""
    started: list[str] = []
    command = Git.command

    def noted(git: Git, *arguments: str) -> list[str]:
        started.append(arguments[0])
        return command(git, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Git, "command", noted)
        work()
    return started


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_a_checkpoint_does_not_depend_on_history(state: str, repo: Repo, opened: Server) -> None:
    server = opened
    warm_up(repo, state)
    server.held()
    server.finish()
    STATES[state](repo)
    assert server.held() == held_without_history()
    server.finish()
    mutate(repo)
    assert server.held() == held_without_history()
    server.finish()
    assert server.held() == held_without_history()


@pytest.mark.slow
@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("event", EVENTS)
def test_the_result_never_depends_on_history(
    event: str, repo: Repo, opened: Server, finished: bool
) -> None:
    server = opened
    set_up(repo)
    (repo.top / ".gitattributes").unlink()
    server.held()
    server.finish()
    repo.write("made/more.txt", "more\n")
    server.held()
    if finished:
        server.finish()
    EVENTS[event](repo)
    assert server.held() == held_without_history()
    server.finish()
    assert server.held() == held_without_history()


@pytest.mark.slow
@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=DEEDS, second=DEEDS, third=DEEDS)
def test_any_changes(
    repo: Repo,
    first: list[tuple[str, str, Any]],
    second: list[tuple[str, str, Any]],
    third: list[tuple[str, str, Any]],
) -> None:
    with fresh_repo(repo) as fresh:
        server = Server()
        for deeds in (first, second, third):
            for deed in deeds:
                do(fresh, deed)
            assert server.held() == held_without_history()
            server.finish()
        server.known.close()
        sound(fresh)


@pytest.mark.ref_files
def test_files_are_recorded_without_waiting_for_the_index(
    repo: Repo, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a", "A\n")
    repo.write("new", "new\n", 0o755)
    (repo.top / "dir/c").unlink()
    os.symlink("a", repo.top / "link")
    started = commands(monkeypatch, server.capture)
    assert sorted(started) == ["diff-files", "ls-files"]
    assert "update-index" in commands(monkeypatch, server.finish)
    assert server.held() == held_without_history()
    server.finish()
    sound(repo)


@pytest.mark.ref_files
def test_the_index_knows_the_files_afterwards(
    repo: Repo, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a", "A\n")
    os.utime(repo.top / "a", (OLD + 1, OLD + 1))
    time.sleep(1.1)  # A change in this second would be looked at again.
    server.capture()
    server.finish()
    assert not server.capture(only_if_changed=True).is_new
    assert commands(monkeypatch, server.capture) == ["ls-files", "diff-files"]
    assert commands(monkeypatch, server.finish) == []


@pytest.mark.parametrize("content", ["?", "as long", ""])
def test_a_file_changes_before_the_index_is_updated(
    repo: Repo, server: Server, content: str
) -> None:
    repo.write("a", "recorded")
    taken = server.capture().checkpoint
    repo.write("a", content)
    server.finish()
    assert repo.git("cat-file", "blob", f"{taken.commit.id}:a") == "recorded"
    assert server.held() == held_without_history()
    server.finish()
    assert server.held() == held_without_history()


@pytest.mark.parametrize("how", ["gone", "a directory", "a link", "another mode", "ignored"])
def test_a_file_is_something_else_before_the_index_is_updated(
    repo: Repo, server: Server, how: str
) -> None:
    repo.write("new", "recorded")
    server.capture()
    path = repo.top / "new"
    if how == "another mode":
        path.chmod(0o755)
    elif how == "ignored":
        repo.write(".gitignore", "new\n")
    else:
        path.unlink()
        repo.write("new/x", "x") if how == "a directory" else None
        path.symlink_to("a") if how == "a link" else None
    server.finish()
    assert server.held() == held_without_history()
    server.finish()
    assert server.held() == held_without_history()


def test_a_deleted_file_is_back_before_the_index_is_updated(repo: Repo, server: Server) -> None:
    (repo.top / "a").unlink()
    server.capture()
    repo.write("a", "back\n")
    server.finish()
    assert server.held() == held_without_history()


def test_the_index_is_never_updated(repo: Repo, server: Server) -> None:
    """As after a kill: the next checkpoint builds on the index of the one before."""
    for number in range(3):
        repo.write("a", f"{number}\n")
        server.capture()
        server.left.clear()
    assert server.held() == held_without_history()
    assert not server.capture(only_if_changed=True).is_new


def test_what_has_changed_since_the_previous_checkpoint(repo: Repo, server: Server) -> None:
    before = repo.read("a")
    repo.write("a", "A\n")
    second = server.capture()
    assert second.changed
    # The index is that of the first one.
    third = server.capture()
    assert not third.changed
    again = server.capture(only_if_changed=True)
    assert again.checkpoint.id == third.checkpoint.id
    # A command does not know what the server has left.
    done = repo.boocode("checkpoint", "--if-changed", "--json")
    assert (done.json["id"], done.json["changed"]) == (third.checkpoint.id, False)
    server.left.clear()
    repo.write("a", "A!\n")
    fourth = server.capture()
    repo.git("pack-refs", "--all", "--prune")
    assert not server.capture().changed
    repo.write("a", before)
    assert server.capture().changed
    assert fourth.changed
    server.left.clear()


def test_a_restore_comes_before_the_index_is_updated(repo: Repo, server: Server) -> None:
    first = server.capture().checkpoint
    repo.write("a", "A\n")
    repo.write("new", "new\n")
    server.capture()
    back(first.id)
    server.finish()
    assert server.held() == held_without_history()
    undone()
    assert server.held() == held_without_history()
    server.finish()
    sound(repo)


def test_the_checkpoint_is_dropped_before_the_index_is_updated(repo: Repo, server: Server) -> None:
    repo.write("a", "A\n")
    taken = server.capture().checkpoint
    repo.git("update-ref", "-d", taken.ref)
    repo.git("gc", "-q", "--prune=now")
    server.finish()
    assert server.held() == held_without_history()
    server.finish()
    sound(repo)


def test_names_that_git_refuses_are_skipped(repo: Repo, server: Server) -> None:
    repo.write("git~1", "x\n")
    repo.write("dir/.GIT", "x\n")
    repo.write("a", "A\n")
    links = (".gitmodules", "dir/.gitModules", "gitmod~1", ".g\u200citmodules")
    for link in links:
        (repo.top / link).symlink_to("a")
    taken = server.capture().checkpoint
    skipped = {each["path"] for each in taken.meta.values["skipped"]}
    assert {"git~1", "dir/.GIT", ".gitmodules", "dir/.gitModules", "gitmod~1"} <= skipped
    server.finish()
    assert back(taken.id).changes == []
    server.finish()
    assert server.held() == held_without_history()


@pytest.mark.parametrize(
    "given", [("core.autocrlf", "input"), ("core.autocrlf", "true"), ("attr.tree", "HEAD")]
)
def test_files_that_git_converts(repo: Repo, server: Server, given: tuple[str, str]) -> None:
    repo.git("config", *given)
    repo.write("a", "1\r\n2\r\n")
    assert server.held() == held_without_history()
    server.finish()
    repo.write("a", "3\r\n4\r\n")
    assert server.held() == held_without_history()


@pytest.mark.ref_files
def test_many_files_are_one_pack(
    repo: Repo, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        repo.write(f"dir{number}/file", f"{number}\n")
    before = {*(repo.top / ".git/objects").glob("??/*")}
    packs = {*(repo.top / ".git/objects/pack").glob("*.pack")}
    # Our own new pack does not look like a gc, after which all objects would be checked.
    started = commands(monkeypatch, server.capture)
    assert sorted(started) == ["diff-files", "index-pack", "ls-files"]
    assert {*(repo.top / ".git/objects").glob("??/*")} == before
    assert len({*(repo.top / ".git/objects/pack").glob("*.pack")} - packs) == 1
    server.finish()
    assert server.held() == held_without_history()
    server.finish()
    sound(repo)
