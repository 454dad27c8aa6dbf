"""The greatest names are those that git finds when it reads them all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from git_boocode.repo.refnames import greatest_names
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, Store
from tests.repo_kit import Repo

pytestmark = pytest.mark.ref_files

PREFIX = "refs/boocode/checkpoints/"
OTHERS = ("refs/boocode/checkpoint", "refs/boocode/checkpoints0", "refs/boocode/z", "refs/a")


def listed(repo: Repo) -> list[str]:
    """The names below the prefix, in descending order, as git lists them."""
    return repo.git("for-each-ref", "--sort=-refname", "--format=%(refname)", PREFIX).split()


def names(count: int) -> list[str] | None:
    return greatest_names(Repository.discover().common_dir, PREFIX, count)


def create(repo: Repo, commit: str, *refs: str) -> None:
    script = "".join(f"create {name} {commit}\n" for name in refs)
    repo.git("update-ref", "--stdin", stdin=script)


@pytest.mark.parametrize("seed", range(10))
def test_they_are_those_that_git_finds(repo: Repo, seed: int) -> None:
    rng = random.Random(seed)
    repo.commit(a="a\n")
    # Each line of a tag is followed by one that tells what it stands for.
    repo.git("tag", "-a", "-m", "t", "t")
    targets = [repo.git("rev-parse", name).strip() for name in ("HEAD", "t")]
    wanted = {f"{PREFIX}{rng.choice('0a9Zé~')}{rng.randint(0, 99)}" for _ in range(40)}
    wanted = {name for name in wanted if "~" not in name}
    for name in sorted(wanted):
        create(repo, rng.choice(targets), name)
        if rng.random() < 0.1:
            repo.git("pack-refs", "--all")
    create(repo, targets[0], *OTHERS)
    repo.git("pack-refs", "--all", *([] if rng.random() < 0.5 else ["--no-prune"]))
    for name in rng.sample(sorted(wanted), 3):
        repo.git("update-ref", "-d", name)
    create(repo, targets[1], f"{PREFIX}0new", f"{PREFIX}znew")
    for count in (1, 5, 100):
        assert names(count) == listed(repo)[:count]
    store = Store(Repository.discover())
    assert store.refs(PREFIX, newest=7) == store.refs(PREFIX)[:7]


def test_there_are_none(repo: Repo) -> None:
    assert names(3) == []
    repo.commit(a="a\n")
    create(repo, repo.git("rev-parse", "HEAD").strip(), *OTHERS)
    assert names(3) == []
    repo.git("pack-refs", "--all")
    assert names(3) == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n",
        "garbage",
        "# pack-refs with: peeled fully-peeled sorted \n",
        "# pack-refs with: peeled fully-peeled sorted \n^\n^\n\n\n \n",
        "# pack-refs with: peeled fully-peeled sorted \n" + f"{'1' * 40} {PREFIX}x",
        "# pack-refs with: peeled \n" + f"{'1' * 40} {PREFIX}x\n",
    ],
)
def test_a_damaged_file_is_no_error(repo: Repo, content: str) -> None:
    repo.write(".git/packed-refs", content)
    assert names(3) in (None, [], [PREFIX + "x"], [PREFIX])


def test_a_ref_below_another_directory_is_not_lost(repo: Repo) -> None:
    repo.commit(a="a\n")
    commit = repo.git("rev-parse", "HEAD").strip()
    create(repo, commit, f"{PREFIX}a", f"{PREFIX}b/c")
    store = Store(Repository.discover())
    expected = [Ref(f"{PREFIX}b/c", commit), Ref(f"{PREFIX}a", commit)]
    assert store.refs(PREFIX, newest=5) == expected


def test_a_lock_is_no_ref(repo: Repo) -> None:
    repo.commit(a="a\n")
    create(repo, repo.git("rev-parse", "HEAD").strip(), f"{PREFIX}a")
    repo.write(f".git/{PREFIX}b.lock")
    assert names(5) == [f"{PREFIX}a"]


def test_git_keeps_them_elsewhere(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "reftable").mkdir()
    assert greatest_names(str(tmp_path), PREFIX, 5) is None
    assert repo.git("for-each-ref") == ""
