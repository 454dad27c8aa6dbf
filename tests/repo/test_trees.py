"""A tree made out of another one is the tree that git writes."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from git_boocode.repo.git import GitError
from git_boocode.repo.quarantine import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import fresh_path
from git_boocode.repo.trees import ClashError, Item, edit_tree
from tests.repo_kit import Repo

# Names whose order in a tree depends on whether they are directories, and odd ones.
NAMES = ["a", "a.b", "a-", "a0", "b", "\udcff", 'quo"te', " ", "ü"]


def tree_of(repo: Repo, files: dict[str, str]) -> str:
    """The tree of some files, written by git through an index."""
    repo.git("read-tree", "--empty")
    rows = "".join(f"100644 {blob}\t{path}\0" for path, blob in files.items())
    repo.git("update-index", "-z", "--index-info", stdin=rows.encode("utf-8", "surrogateescape"))
    return repo.git("write-tree").strip()


def changes(old: dict[str, str], new: dict[str, str]) -> dict[bytes, Item | None]:
    """What differs, as `git diff-index` tells it."""
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    found: dict[bytes, Item | None] = {}
    for path in paths:
        key = path.encode("utf-8", "surrogateescape")
        found[key] = Item(b"100644", new[path].encode()) if path in new else None
    return found


def edited(repository: Repository, tree: str, made_of: Mapping[bytes, Item | None]) -> str:
    """The tree that some changes make of another, stored."""
    quarantine = Quarantine(repository, fresh_path(f"{repository.git_dir}/scratch"))
    made = edit_tree(quarantine.git, tree, made_of, quarantine.store)
    quarantine.release()
    return made


def without_clashes(rng: random.Random, paths: list[str], blobs: list[str]) -> dict[str, str]:
    """Some files, none of which is also a directory."""
    chosen: dict[str, str] = {}
    for path in rng.sample(paths, rng.randint(0, len(paths))):
        clash = any(
            path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in chosen
        )
        if not clash:
            chosen[path] = rng.choice(blobs)
    return chosen


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_tree_that_git_writes(repo: Repo, seed: int) -> None:
    rng = random.Random(seed)
    blobs = [repo.git("hash-object", "-w", "--stdin", stdin=text).strip() for text in "xyz"]
    paths = ["/".join(rng.choices(NAMES, k=rng.randint(1, 4))) for _ in range(30)]
    paths = list(dict.fromkeys(paths))
    old, new = (without_clashes(rng, paths, blobs) for _ in range(2))
    before, expected = tree_of(repo, old), tree_of(repo, new)
    assert edited(Repository.discover(), before, changes(old, new)) == expected
    assert repo.git("fsck", "--strict", "--no-dangling", expected) == ""


@pytest.mark.sha1
def test_links_submodules_and_programs(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip().encode()
    items = {
        b"link": Item(b"120000", blob),
        b"run": Item(b"100755", blob),
        b"sub/module": Item(b"160000", b"1" * 40),
    }
    made = edited(Repository.discover(), Repository.discover().empty_tree, items)
    rows = repo.git("ls-tree", "-r", made).splitlines()
    assert [row.split()[0] for row in rows] == ["120000", "100755", "160000"]


def test_nothing_differs(repo: Repo) -> None:
    repo.commit(a="a\n")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    assert edited(Repository.discover(), tree, {}) == tree


def test_nothing_is_left(repo: Repo) -> None:
    repo.commit(**{"deep/er/a": "a\n"})
    repository = Repository.discover()
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    assert edited(repository, tree, {b"deep/er/a": None}) == repository.empty_tree


def test_a_directory_whose_name_holds_a_newline(repo: Repo) -> None:
    repo.commit(**{"a\nb/c": "a\n", "a\nb/d": "d\n"})
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    made = edited(Repository.discover(), tree, {b"a\nb/c": None})
    assert repo.git("ls-tree", "-r", "-z", "--name-only", made) == "a\nb/d\0"


def test_a_file_whose_name_holds_a_newline(repo: Repo) -> None:
    repo.commit(a="a\n")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    blob = repo.git("rev-parse", "HEAD:a").strip().encode()
    made = edited(Repository.discover(), tree, {b"a\nb": Item(b"100644", blob)})
    assert repo.git("ls-tree", "-z", "--name-only", made) == "a\0a\nb\0"


@pytest.fixture
def clashing(repo: Repo) -> str:
    """A tree of a file and a directory with a file."""
    return tree_of(repo, {"file": blob_of(repo), "dir/file": blob_of(repo)})


def blob_of(repo: Repo) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin="x").strip()


def test_files_in_the_way(repo: Repo, clashing: str) -> None:
    item = Item(b"100644", blob_of(repo).encode())
    clashes: list[dict[bytes, Item | None]] = [
        {b"file/new": item},
        {b"dir": item},
        {b"new": item, b"new/below": item},
        {b"dir": item, b"dir/other": item},
        {b"dir": item, b"dir/other": None},
    ]
    for changed in clashes:
        with pytest.raises(ClashError):
            edited(Repository.discover(), clashing, changed)
    assert edited(Repository.discover(), clashing, {b"dir": item, b"dir/file": None})
    assert edited(Repository.discover(), clashing, {b"file": None, b"file/new": item})


def test_what_is_not_there_is_not_removed(repo: Repo, clashing: str) -> None:
    gone: dict[bytes, Item | None] = {b"dir": None, b"none": None, b"none/x": None, b"file/x": None}
    assert edited(Repository.discover(), clashing, gone) == clashing


def test_a_tree_that_is_lost(repo: Repo, clashing: str) -> None:
    for tree in ("1" * 40, blob_of(repo)):
        with pytest.raises(GitError):
            edited(Repository.discover(), tree, {})
    below = repo.git("rev-parse", f"{clashing}:dir").strip()
    (repo.top / ".git/objects" / below[:2] / below[2:]).unlink()
    with pytest.raises(GitError):
        edited(Repository.discover(), clashing, {b"dir/file": None})


def test_sha256(tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Repo(tmp_path_factory.mktemp("sha256"))
    other.git("init", "-q", "--object-format=sha256")
    other.commit(**{"dir/a": "a\n", "b": "b\n"})
    tree, blob = other.git("rev-parse", "HEAD^{tree}", "HEAD:b").split()
    repository = Repository.discover(str(other.top))
    made = edited(repository, tree, {b"dir/c": Item(b"100644", blob.encode())})
    assert other.git("ls-tree", "-r", "--name-only", made).split() == ["b", "dir/a", "dir/c"]
