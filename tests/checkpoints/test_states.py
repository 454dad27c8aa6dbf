"""Every promise of a checkpoint, in every state that a repository can be in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.restore.commands import redo, restore, undo
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.repo.repository import Repository
from tests.checkpoints.events import EVENTS, set_up
from tests.checkpoints.kit import held, held_without_history, seen, take
from tests.checkpoints.states import STATES, base, mutate
from tests.checkpoints.test_partial import is_at, only
from tests.checkpoints.test_untouched import untouched
from tests.repo_kit import Repo

QUICK_STATES = {
    *("merge_conflict", "nested_repositories", "filters", "sparse_checkout", "linked_worktree"),
}
QUICK_EVENTS = {
    *("stash_untracked_files_too", "a_merge_with_conflicts", "edits_that_keep_size_and_time"),
    *("remove_from_the_index_and_ignore", "checkout_of_another_branch", "flags_that_hide_edits"),
}


def quick_or_slow(names: Iterable[str], quick: set[str]) -> list[object]:
    """The names, of which all but a few are slow."""
    assert quick <= {*names}
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


def warm_up(repo: Repo, state: str) -> None:
    """Take a checkpoint of what is there before a state, where a state can have a before."""
    # With these settings, git writes other line endings than the files had before.
    converted = state in ("autocrlf", "line_endings")
    if converted or "unborn" in state or state in ("only_ignored_files", "no_files_at_all"):
        repo.write("before.txt", "before\n")
        held()
        (repo.top / "before.txt").unlink()
    else:
        base(repo)
        held()


def users_refs(repo: Repo) -> tuple[str, str]:
    """What a checkpoint may not move."""
    refs = repo.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
    return refs, repo.git("symbolic-ref", "HEAD", check=False)


@pytest.mark.parametrize("state", quick_or_slow(STATES, QUICK_STATES))
def test_in_every_state(state: str, repo: Repo) -> None:
    warm_up(repo, state)
    STATES[state](repo)
    before, refs, ran = seen(repo), users_refs(repo), repo.top / ".git/hooks-that-ran"
    ran.unlink(missing_ok=True) if ran.parent.is_dir() else None
    # A checkpoint changes nothing, and does not depend on earlier ones.
    with untouched(repo):
        found = held()
    assert not ran.exists()
    assert (seen(repo), users_refs(repo)) == (before, refs)
    assert found == held_without_history()
    # The same state is no change.
    repository = Repository.discover()
    again = capture(repository, Request(only_if_changed=True))
    assert not again.changed
    assert restore(repository, "@", RestoreRequest()).undo is None
    # A restore brings everything back, also what it replaced.
    mutate(repo)
    mess = seen(repo)
    assert mess != before
    assert held() == held_without_history()
    forced = RestoreRequest(force=frozenset({"ignored"}))
    assert restore(repository, again.checkpoint.id, forced).undo is not None
    assert seen(repo) == before
    undo(repository, RestoreRequest())
    assert seen(repo) == mess
    redo(repository, RestoreRequest())
    assert seen(repo) == before
    # A checkpoint of some paths takes no others, and hides nothing from the next.
    mutate(repo)
    for path in repo.git("ls-files", "-z").split("\0")[:-1]:
        # What a sparse checkout had left out is there now.
        if not os.path.lexists(repo.top / path) and (repo.top / path).parent.is_dir():
            repo.write(path, "come\n")
    places = ("agent/x", "a.txt", "in/a.txt")
    with untouched(repo):
        changed = only(repo, *(f":(top,literal){place}" for place in places))
    assert [path for path in changed if not any(is_at(path, place) for place in places)] == []
    assert held() == held_without_history()
    assert repo.git("fsck", "--connectivity-only", "--no-dangling") == ""


@pytest.mark.parametrize("event", quick_or_slow(EVENTS, QUICK_EVENTS))
def test_what_happens_between_two_checkpoints(event: str, repo: Repo) -> None:
    set_up(repo)
    held()
    EVENTS[event](repo)
    assert held() == held_without_history()
    take(paths=("a.txt", "made", "new.txt", "dir"))
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
