from __future__ import annotations

import pytest

from git_boocode.repo.head import operation_in_progress, read_head
from git_boocode.repo.repository import Repository
from tests.checkpoints import states
from tests.repo_kit import Repo


def test_unborn(repo: Repo) -> None:
    repository = Repository.discover()
    assert read_head(repository) == ("refs/heads/main", None, repository.empty_tree)


def test_on_a_branch_and_detached(repo: Repo) -> None:
    commit = repo.commit(a="a\n")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    assert read_head(Repository.discover()) == ("refs/heads/main", commit, tree)
    repo.git("checkout", "-q", "--detach")
    assert read_head(Repository.discover()) == (None, commit, tree)


def test_files_named_as_revisions_do_not_confuse(repo: Repo) -> None:
    commit = repo.commit(**{"HEAD": "x\n", "HEAD^{commit}": "x\n", "main": "x\n"})
    assert read_head(Repository.discover()).commit == commit


def test_head_since_another_time(repo: Repo) -> None:
    first = repo.commit(a="1\n")
    earlier = read_head(Repository.discover())
    assert read_head(Repository.discover(), earlier) == earlier
    second = repo.commit(a="2\n")
    now = read_head(Repository.discover(), earlier)
    assert (now.commit, earlier.commit) == (second, first)
    repo.git("pack-refs", "--all")
    assert read_head(Repository.discover(), earlier) == now
    repo.git("checkout", "-q", "-b", "other", first)
    assert read_head(Repository.discover(), earlier) == ("refs/heads/other", first, earlier.tree)
    repo.git("checkout", "-q", "--orphan", "unborn")
    head = read_head(Repository.discover(), earlier)
    assert (head.ref, head.commit) == ("refs/heads/unborn", None)


def test_head_on_a_branch_that_names_another(repo: Repo) -> None:
    commit = repo.commit(a="a\n")
    earlier = read_head(Repository.discover())
    repo.git("symbolic-ref", "refs/heads/other", "refs/heads/main")
    repo.git("symbolic-ref", "HEAD", "refs/heads/other")
    assert read_head(Repository.discover(), earlier).commit == commit


@pytest.mark.parametrize(
    ("state", "expected"),
    [("dirty", None), ("merge_conflict", "merge"), ("mid_rebase", "rebase"),
     ("cherry_pick", "cherry-pick")],
)  # fmt: skip
def test_the_operation_in_progress(repo: Repo, state: str, expected: str | None) -> None:
    states.STATES[state](repo)
    assert operation_in_progress(Repository.discover()) == expected


def test_a_revert_and_a_bisection(repo: Repo) -> None:
    first = repo.commit(a="1\n")
    repo.commit(a="2\n")
    repo.commit(a="3\n")
    repo.git("revert", "HEAD~1", check=False)
    assert operation_in_progress(Repository.discover()) == "revert"
    repo.git("revert", "--abort")
    repo.git("bisect", "start", "HEAD", first)
    assert operation_in_progress(Repository.discover()) == "bisect"


def test_applying_a_mailbox(repo: Repo) -> None:
    repo.commit(a="1\n")
    repo.commit(a="2\n")
    mail = repo.git("format-patch", "--stdout", "HEAD~1")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit(a="other\n")
    repo.git("am", "-q", stdin=mail, check=False)
    assert operation_in_progress(Repository.discover()) == "am"
