"""Capture, an agent's mess, restore, undo: in every state that a repository can be in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.restore.commands import redo, restore, undo
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.repo.repository import Repository
from tests.checkpoints.events import EVENTS, set_up
from tests.checkpoints.kit import held, held_without_history
from tests.checkpoints.states import STATES, base, mutate
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def staged(repo: Repo) -> str:
    """The staging area in full: flags, modes, objects and stages."""
    return repo.git("ls-files", "-s", "-v", "-z")


@pytest.fixture(params=STATES)
def in_state(request: pytest.FixtureRequest, repo: Repo) -> Repo:
    STATES[request.param](repo)
    return repo


def test_a_capture_changes_nothing(in_state: Repo) -> None:
    def seen() -> tuple[object, ...]:
        index = Path(
            in_state.git("rev-parse", "--path-format=absolute", "--git-dir").strip(), "index"
        )
        refs = in_state.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
        head = in_state.git("symbolic-ref", "HEAD", check=False)
        content = index.read_bytes() if index.exists() else None
        return content, refs, head, in_state.files(), in_state.status()

    before = seen()
    ran = in_state.top / ".git/hooks-that-ran"
    ran.unlink(missing_ok=True) if ran.parent.is_dir() else None
    capture(Repository.discover(), Request())
    assert not ran.exists()
    assert seen() == before


def test_a_restore_restores_everything(in_state: Repo) -> None:
    repository = Repository.discover()
    before = in_state.files(), in_state.status(), staged(in_state)
    taken = capture(repository, Request()).checkpoint
    mutate(in_state)
    mess = in_state.files(), in_state.status(), staged(in_state)
    assert mess != before
    outcome = restore(repository, taken.id, RestoreRequest(force=frozenset({"ignored"})))
    assert (in_state.files(), in_state.status(), staged(in_state)) == before
    assert outcome.undo is not None
    undo(repository, RestoreRequest())
    assert (in_state.files(), in_state.status(), staged(in_state)) == mess
    redo(repository, RestoreRequest())
    assert (in_state.files(), in_state.status(), staged(in_state)) == before
    assert in_state.git("fsck", "--connectivity-only", "--no-dangling") == ""


def test_the_same_state_is_no_change(in_state: Repo) -> None:
    repository = Repository.discover()
    assert capture(repository, Request()).changed
    again = capture(repository, Request(only_if_changed=True))
    assert not again.changed
    assert restore(repository, "@", RestoreRequest()).undo is None


def warm_up(repo: Repo, state: str) -> None:
    """Take a checkpoint of what is there before a state, where a state can have a before."""
    if "unborn" in state or state in ("only_ignored_files", "no_files_at_all"):
        repo.write("before.txt", "before\n")
        held()
        (repo.top / "before.txt").unlink()
    else:
        base(repo)
        held()


@pytest.mark.parametrize("state", STATES)
def test_a_checkpoint_does_not_depend_on_history(state: str, repo: Repo) -> None:
    warm_up(repo, state)
    STATES[state](repo)
    assert held() == held_without_history()
    mutate(repo)
    assert held() == held_without_history()


@pytest.mark.parametrize("event", EVENTS)
def test_the_result_never_depends_on_history(event: str, repo: Repo) -> None:
    set_up(repo)
    held()
    EVENTS[event](repo)
    assert held() == held_without_history()


def test_former_obstacles_do_not_affect_the_result(repo: Repo) -> None:
    set_up(repo)
    before = held()
    repo.write(".git/info/exclude", "new.txt\n")
    repo.git("config", "boocode.maxFileSize", "7")
    Repo(repo.top / "made").git("init", "-q")
    assert held() != before
    repo.write(".git/info/exclude", "")
    repo.git("config", "--unset", "boocode.maxFileSize")
    shutil.rmtree(repo.top / "made/.git")
    assert held() == before == held_without_history()
