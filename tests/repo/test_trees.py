"""A tree that we write is the tree that git writes."""

from __future__ import annotations

import random

import pytest

from git_boocode.repo.errors import FatalError
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.object_writer import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import Item, TreeEditor, write_tree
from tests.repo_kit import Repo

# Names whose order in a tree depends on whether they are directories, and odd ones.
NAMES = ["a", "a.b", "a-", "a0", "b", "\udcff", 'quo"te', " ", "ü", "new\nline"]


def tree_of(repo: Repo, files: dict[str, str]) -> str:
    """The tree of some files, written by git through an index."""
    repo.git("read-tree", "--empty")
    rows = "".join(f"100644 {blob}\t{path}\0" for path, blob in files.items())
    repo.git("update-index", "-z", "--index-info", stdin=rows.encode("utf-8", "surrogateescape"))
    return repo.git("write-tree").strip()


def written(files: dict[bytes, Item]) -> str:
    """The tree of some files, stored by us."""
    repository = Repository.discover()
    quarantine = Quarantine(repository, fresh_path(f"{repository.git_dir}/scratch"))
    made = write_tree(files, quarantine.store)
    quarantine.release()
    return made.decode()


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


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_tree_that_git_writes(repo: Repo, seed: int) -> None:
    rng = random.Random(seed)
    blobs = [repo.git("hash-object", "-w", "--stdin", stdin=text).strip() for text in "xyz"]
    paths = ["/".join(rng.choices(NAMES, k=rng.randint(1, 4))) for _ in range(30)]
    files = without_clashes(rng, list(dict.fromkeys(paths)), blobs)
    items = {
        path.encode("utf-8", "surrogateescape"): Item(b"100644", blob.encode())
        for path, blob in files.items()
    }
    made = written(items)
    assert made == tree_of(repo, files)
    assert repo.git("fsck", "--strict", "--no-dangling", made) == ""


@pytest.mark.parametrize("seed", range(8))
def test_an_edited_tree_is_the_tree_that_git_writes(repo: Repo, seed: int) -> None:
    rng = random.Random(seed)
    blobs = [repo.git("hash-object", "-w", "--stdin", stdin=text).strip() for text in "xyz"]
    paths = list(
        dict.fromkeys("/".join(rng.choices(NAMES, k=rng.randint(1, 4))) for _ in range(30))
    )
    base = tree_of(repo, without_clashes(rng, paths, blobs))
    rounds = [
        dict.fromkeys(rng.sample(paths, 8)) | without_clashes(rng, paths, blobs) for _ in "12"
    ]
    repository = Repository.discover()
    editor = TreeEditor.of(repository.store, base, paths)
    quarantine = Quarantine(repository, fresh_path(f"{repository.git_dir}/scratch"))
    assert editor.write(quarantine.store).decode() == base
    expected, made = [], []
    for changes in rounds:
        rows = "".join(
            f"{'100644' if blob else '0'} {blob or repository.zero_id}\t{path}\0"
            for path, blob in changes.items()
        )
        command = ("update-index", "-z", "--replace", "--index-info")
        repo.git(*command, stdin=rows.encode("utf-8", "surrogateescape"))
        expected.append(repo.git("write-tree").strip())
        for path, blob in changes.items():
            item = Item(b"100644", blob.encode()) if blob else None
            editor.put(path.encode("utf-8", "surrogateescape"), item)
        made.append(editor.write(quarantine.store).decode())
    quarantine.release()
    assert made == expected
    assert repo.git("fsck", "--strict", "--no-dangling", *made) == ""


def test_a_tree_with_missing_objects_cannot_be_edited(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip()
    rows = f"040000 tree {'1' * len(blob)}\tlost\n"
    tree = repo.git("mktree", "--missing", stdin=rows).strip()
    store = Repository.discover().store
    for treeish, path in ((tree, "lost/a"), ("2" * len(blob), "a")):
        with pytest.raises(FatalError):
            TreeEditor.of(store, treeish, [path])
    assert TreeEditor.of(store, tree, ["a"]).write(lambda *_: b"").decode() == tree


@pytest.mark.sha1
def test_links_submodules_and_programs(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip().encode()
    made = written(
        {
            b"link": Item(b"120000", blob),
            b"run": Item(b"100755", blob),
            b"sub/module": Item(b"160000", b"1" * 40),
        }
    )
    rows = repo.git("ls-tree", "-r", made).splitlines()
    assert [row.split()[0] for row in rows] == ["120000", "100755", "160000"]


def test_a_path_of_very_many_directories(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip().encode()
    path = b"d/" * 1500 + b"file"
    made = written({path: Item(b"100644", blob)})
    assert repo.git("rev-parse", f"{made}:{path.decode()}").strip() == blob.decode()
