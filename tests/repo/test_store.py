from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_boocode.repo.config import Identity
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.git import GitError
from git_boocode.repo.libgit2 import Libgit2Store, open_store
from git_boocode.repo.object_writer import raw_commit
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import (
    PersistentStore,
    Ref,
    RefChange,
    Store,
    parse_commit,
)
from tests.repo_kit import Repo

NOBODY = "1234567890" * 4


def plumbing(repository: Repository) -> Store:
    """The store of one-shot commands."""
    return repository.store


def persistent(repository: Repository) -> Store:
    """The store of a server for a repository that libgit2 cannot open."""
    return PersistentStore(repository)


def libgit2(repository: Repository) -> Store:
    """The store through libgit2, which must be able to serve the repository."""
    served = open_store(repository)
    if type(served) is PersistentStore and {"GIT_DEFAULT_REF_FORMAT", "GIT_DEFAULT_HASH"} & {
        *os.environ
    }:
        pytest.skip("libgit2 opens no such repository")
    assert isinstance(served, Libgit2Store)
    return served


KINDS = (plumbing, persistent, libgit2)


@contextmanager
def opened(kind: Callable[[Repository], Store], repository: Repository) -> Iterator[Store]:
    """A store of a kind, which is closed afterwards."""
    made = kind(repository)
    yield made
    if isinstance(made, PersistentStore):
        made.close()


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def store(request: pytest.FixtureRequest, repo: Repo) -> Iterator[Store]:
    with opened(request.param, Repository.discover()) as made:
        yield made


def targets(repo: Repo, count: int) -> list[str]:
    """Some commits to name."""
    tree = Repository.discover().empty_tree
    repo.git("mktree")
    return [repo.git("commit-tree", "-m", str(n), tree).strip() for n in range(count)]


def create(store: Store, **refs: str) -> None:
    """Create refs below `refs/x/`."""
    store.update_refs([RefChange(f"refs/x/{name}", target, None) for name, target in refs.items()])


def test_refs_come_in_descending_order(repo: Repo, store: Store) -> None:
    one, two = targets(repo, 2)
    create(store, a=one, c=two, b=one)
    repo.git("update-ref", "refs/y/z", one)
    assert store.refs("refs/x/") == [
        Ref("refs/x/c", two), Ref("refs/x/b", one), Ref("refs/x/a", one)
    ]  # fmt: skip
    assert [ref.name for ref in store.refs("refs/x/", newest=2)] == ["refs/x/c", "refs/x/b"]
    assert [ref.name for ref in store.refs("refs/x/", "refs/y/", newest=1)] == ["refs/y/z"]


def test_refs_come_in_the_order_of_their_bytes(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    names = [
        f"refs/x/{name}"
        for name in ("\udcff", "\U0001f600", "\uff41", "ä", "b\u2028", "b\x85", "a")
    ]
    names = sorted(names, key=os.fsencode, reverse=True)
    for name in names:
        store.update_refs([RefChange(name, one, None)])
    assert [ref.name for ref in store.refs("refs/x/")] == names
    assert [ref.name for ref in store.refs("refs/x/", newest=2)] == names[:2]


def test_symbolic_refs_and_tags(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    create(store, a=one)
    repo.git("symbolic-ref", "refs/x/link", "refs/x/a")
    repo.git("symbolic-ref", "refs/x/self", "refs/x/self")
    repo.git("tag", "-a", "-m", "x", "t", one)
    tag = repo.git("rev-parse", "t").strip()
    create(store, tag=tag)
    assert store.refs("refs/x/") == [
        Ref("refs/x/tag", tag), Ref("refs/x/link", one), Ref("refs/x/a", one)
    ]  # fmt: skip
    assert list(store.commits([tag])) == [None]
    # What is at the end of a symbolic ref stays as it is.
    store.update_refs([RefChange("refs/x/link", None, one)])
    assert [ref.name for ref in store.refs("refs/x/")] == ["refs/x/tag", "refs/x/a"]


@pytest.mark.ref_files
@pytest.mark.sha1
def test_refs_that_are_broken_are_left_out(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    create(store, good=one)
    (repo.top / ".git/refs/x/empty").touch()
    (repo.top / ".git/refs/x/dangling").write_text("ref: refs/heads/nowhere\n")
    (repo.top / ".git/refs/x/missing").write_text(f"{NOBODY}\n")
    assert store.refs("refs/x/") == [Ref("refs/x/missing", NOBODY), Ref("refs/x/good", one)]


def test_commits_in_the_order_asked_for(repo: Repo, store: Store) -> None:
    tree = Repository.discover().empty_tree
    one, two = targets(repo, 2)
    child = repo.git("commit-tree", "-m", "child\n\nbody", "-p", one, "-p", two, tree).strip()
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip()
    read = list(store.commits([child, NOBODY, one, blob, tree, child]))
    assert [commit and commit.id for commit in read] == [child, None, one, None, None, child]
    assert read[0] is not None
    assert (read[0].tree, read[0].parents) == (tree, (one, two))
    assert read[0].message == "child\n\nbody\n"
    assert list(store.commits([])) == []


def test_the_commit_that_a_name_leads_to(repo: Repo, store: Store) -> None:
    assert store.commit("HEAD") is None
    commit = repo.commit(a="a\n")
    repo.git("tag", "-a", "-m", "x", "t")
    repo.git("tag", "blob", repo.git("rev-parse", "HEAD:a").strip())
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    for name in (
        "HEAD",
        "refs/heads/main",
        "refs/tags/t",
        commit,
        repo.git("rev-parse", "t").strip(),
    ):
        found = store.commit(name)
        assert found is not None
        assert found[:3] == (commit, tree, ()), name
    for name in ("refs/tags/blob", "refs/tags/none", tree, NOBODY, commit[:6] + "\n" + commit):
        assert store.commit(name) is None, name
    repo.git("checkout", "-q", "--detach")
    repo.git("pack-refs", "--all")
    repo.git("commit", "-q", "--allow-empty", "-m", "next")
    names = ("HEAD", "refs/heads/main")
    found_ids = [found.id for name in names if (found := store.commit(name))]
    assert found_ids == [repo.git("rev-parse", "HEAD").strip(), commit]


def test_a_commit_without_its_tree(repo: Repo, store: Store) -> None:
    commit = repo.commit(a="a\n")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    assert store.commit("HEAD") is not None
    (repo.top / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert store.commit("HEAD") is None
    (read,) = store.commits([commit])
    assert read is not None
    assert read.tree == tree


def test_what_names_lead_to(repo: Repo, store: Store) -> None:
    first = repo.commit(**{"a": "a\n", "d/e/f": "f\n"})
    repo.git("repack", "-adq")
    repo.write("a", "staged\n")
    repo.git("add", "a")
    ids = {
        name: repo.git("rev-parse", name).strip()
        for name in ("HEAD", "HEAD:a", ":0:a", "HEAD:d/e/f", f"{first}:d/e", ":0:d/e/f")
    }
    sizes = {"HEAD": None, "HEAD:a": 2, ":0:a": 7, "HEAD:d/e/f": 2, ":0:d/e/f": 2}
    for _ in range(2):
        found = dict(zip(ids, store.lookup([*ids]), strict=True))
        assert {name: info and info.id for name, info in found.items()} == ids
        kinds = [info and info.kind for info in found.values()]
        assert kinds == ["commit", "blob", "blob", "blob", "tree", "blob"]
        for name, info in found.items():
            assert sizes.get(name) in (None, info and info.size)
        repo.write("a", "change\n")
        repo.git("add", "a")
        ids[":0:a"] = repo.git("rev-parse", ":0:a").strip()
    repo.git("update-index", "--split-index")
    assert [info and info.id for info in store.lookup([*ids])] == [*ids.values()]
    missing = ["HEAD:none", "HEAD:d/none", f"{NOBODY}:a", ":0:none", "HEAD:a/b", "refs/none"]
    assert store.lookup([*missing, "HEAD:a"])[:-1] == [None] * 6
    assert store.lookup([]) == []


def test_the_newest_commits_of_several_kinds(repo: Repo, store: Store) -> None:
    tree = Repository.discover().empty_tree
    one, two = targets(repo, 2)
    merge = repo.git("commit-tree", "-m", "s\n\nbödy", "-p", one, "-p", two, tree).strip()
    for name, target in {"a/1": one, "b/2": merge, "a/3": two, "b/4": one}.items():
        repo.git("update-ref", f"refs/boocode/{name}", target)
    found = store.newest(3, "refs/boocode/a/", "refs/boocode/b/")
    assert [ref for ref, _ in found] == [
        Ref("refs/boocode/b/4", one), Ref("refs/boocode/a/3", two), Ref("refs/boocode/b/2", merge)
    ]  # fmt: skip
    commits = [commit._replace(message=commit.message.rstrip("\n")) for _, commit in found]
    assert commits[2] == (merge, tree, (one, two), "s\n\nbödy")
    assert [commit.id for commit in commits] == [one, two, merge]
    assert len(store.newest(9, "refs/boocode/a/", "refs/boocode/b/")) == 4


def test_blobs_in_the_order_asked_for(repo: Repo, store: Store) -> None:
    contents = [b"", b"\n", b"x\0\n\xff", b"last", b"large" * 100_000]
    ids = [repo.git("hash-object", "-w", "--stdin", stdin=data).strip() for data in contents]
    tree = repo.git("mktree").strip()
    assert store.blobs([*ids[::-1], ids[0]]) == [*contents[::-1], b""]
    assert store.blobs([tree, "f" * len(tree), ids[3]]) == [None, None, b"last"]
    assert store.blobs([]) == []


def test_the_files_of_a_tree(repo: Repo, store: Store) -> None:
    names = ["a", "b/c", "b/d/e", "b-", "ä\n", "\udcff", "*"]
    commit = repo.commit(**dict.fromkeys(names, "x\n"))
    (repo.top / "a").chmod(0o755)
    (repo.top / "link").symlink_to("a")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},module")
    repo.git("add", "a", "link")
    tree, blob = repo.git("write-tree").strip(), repo.git("rev-parse", ":b/c").strip()
    listed = store.tree(tree)
    assert listed["b/c"] == ("100644", "blob", blob)
    assert listed["module"] == ("160000", "commit", commit)
    assert (listed["a"].mode, listed["link"].mode) == ("100755", "120000")
    assert [*listed] == repo.git("ls-tree", "-r", "-z", "--name-only", tree).split("\0")[:-1]
    assert {*store.tree(commit)} == {*names}
    assert store.tree(Repository.discover().empty_tree) == {}


def test_the_entries_at_some_paths(repo: Repo, store: Store) -> None:
    repo.commit(**{"a": "x\n", "b/c": "y\n", "b/d": "z\n", ":(glob)*": "g\n"})
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    whole, below = store.tree(tree), repo.git("rev-parse", "HEAD:b").strip()
    assert store.tree(tree, ["b/c", "none", "a/b", ":(glob)*", "b", "*", "b/c/d"]) == {
        "b/c": whole["b/c"], ":(glob)*": whole[":(glob)*"], "b": ("040000", "tree", below)
    }  # fmt: skip
    assert store.tree(tree, []) == {}
    many = [f"none/{number}" for number in range(1100)]
    assert store.tree("HEAD", [*many, "a"]) == {"a": whole["a"]}
    assert store.file(tree, "b/c") == b"y\n"


def test_trees_that_are_missing(repo: Repo, store: Store) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip()
    rows = f"040000 tree {'1' * len(blob)}\tlost\n100644 blob {blob}\ta\n"
    tree = repo.git("mktree", "--missing", stdin=rows).strip()
    for treeish, paths in (("1" * len(blob), None), (blob, None), (tree, None), (tree, ["lost/x"])):
        with pytest.raises(GitError):
            store.tree(treeish, paths)
    assert store.tree(tree, ["a", "lost"])["lost"].kind == "tree"
    for path in ("none", "lost", "lost/x"):
        with pytest.raises(GitError):
            store.file(tree, path)


def test_damaged_objects_are_none_and_hide_no_other(repo: Repo, store: Store) -> None:
    (good,) = targets(repo, 1)
    by, tree = Identity("A", "a@x"), Repository.discover().empty_tree
    files, contents = list[Path](), [os.urandom(5000) for _ in range(9)]
    commits = [store.write_commit(tree, [], data.hex(), by, 0) for data in contents]
    blobs = [repo.git("hash-object", "-w", "--stdin", stdin=data).strip() for data in contents]
    for index, left in enumerate((0, 1, 2, 3, 20, 200, -500, -1, None)):
        for identifier in (commits[index], blobs[index]):
            path = repo.top / ".git/objects" / identifier[:2] / identifier[2:]
            path.chmod(0o600)
            path.write_bytes(b"garbage" if left is None else path.read_bytes()[:left])
            files.append(path)
    read = [commit and commit.id for commit in store.commits([good, *commits, good])]
    assert read == [good, *[None] * 9, good]
    other = repo.git("hash-object", "-w", "--stdin", stdin="x").strip()
    assert store.blobs([*blobs, other]) == [*[None] * 9, b"x"]
    # They can be replaced.
    for path in files:
        path.unlink()
    repo.git("hash-object", "-w", "--stdin", stdin=contents[0])
    assert store.blobs([blobs[0], blobs[1]]) == [contents[0], None]


def test_a_damaged_pack_ends_and_hides_no_loose_object(repo: Repo, store: Store) -> None:
    head = repo.commit(**{f"f{number}": os.urandom(500).hex() for number in range(20)})
    entries = store.tree(head)
    repo.git("repack", "-adq")
    other = repo.git("hash-object", "-w", "--stdin", stdin="x").strip()
    (pack,) = (repo.top / ".git/objects/pack").glob("*.pack")
    whole = pack.read_bytes()
    pack.chmod(0o600)
    ids = [entry.id for entry in entries.values()]
    for seed in range(8):
        content, at = bytearray(whole), 12 + seed * (len(whole) - 50) // 8
        content[at : at + 40] = bytes(40)
        pack.write_bytes(content)
        os.utime(pack.parent, (seed, seed))
        *found, last = store.blobs([*ids, other])
        assert last == b"x"
        assert all(body is None or len(body) == 1000 for body in found)
        assert None in found or store.commit(head) is None or seed
    pack.write_bytes(whole)
    os.utime(pack.parent)
    assert None not in store.blobs(ids)


@pytest.mark.variants
def test_what_another_process_packs_and_collects(repo: Repo, store: Store) -> None:
    commits = [repo.commit(f"{number}", a=f"{number}\n") for number in range(3)]
    contents = [b"0\n", b"1\n", b"2\n"]
    blobs = [repo.git("rev-parse", f"{commit}:a").strip() for commit in commits]
    assert store.blobs(blobs) == contents
    for number in range(3, 6):
        repo.git("gc", "-q", "--prune=now")
        repo.git("prune-packed")
        commits.append(repo.commit(f"{number}", a=f"{number}\n"))
        contents.append(b"%d\n" % number)
        blobs.append(repo.git("rev-parse", "HEAD:a").strip())
        repo.git("repack", "-dq")
        assert store.blobs(blobs) == contents
        assert [commit and commit.id for commit in store.commits(commits)] == commits
        found = store.commit("HEAD")
        assert found is not None
        assert found.id == commits[-1]
    # Nothing leads to them any more.
    repo.git("checkout", "-q", "--orphan", "other")
    repo.commit(b="b\n")
    repo.git("branch", "-D", "main")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("rm", "-q", "--cached", "a")
    repo.git("commit", "-q", "--amend", "-m", "x")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert store.blobs(blobs) == [None] * 6


def test_objects_of_other_repositories(repo: Repo, store: Store) -> None:
    repo.git("init", "-q", "other")
    other = Repo(repo.top / "other")
    packed = other.commit(a="a\n")
    other.git("repack", "-adq")
    loose = other.commit(a="b\n")
    assert [*store.commits([packed, loose])] == [None, None]
    (repo.top / ".git/objects/info").mkdir(exist_ok=True)
    (repo.top / ".git/objects/info/alternates").write_text(f"{other.top}/.git/objects\n")
    assert [commit and commit.id for commit in store.commits([packed, loose])] == [packed, loose]
    assert store.file(packed, "a") == b"a\n"


def test_replacements_and_grafts_do_not_count(repo: Repo, store: Store) -> None:
    first, second = repo.commit(a="a\n"), repo.commit(a="b\n")
    repo.git("replace", second, first)
    (repo.top / ".git/info").mkdir(exist_ok=True)
    (repo.top / ".git/info/grafts").write_text(f"{second}\n")
    found = store.commit("HEAD")
    assert found is not None
    assert (found.id, found.parents) == (second, (first,))
    repo.git("repack", "-adq")
    assert store.commit("HEAD") == found
    assert store.file("HEAD", "a") == b"b\n"


def test_refs_that_another_process_changes(repo: Repo, store: Store) -> None:
    one, two = targets(repo, 2)
    for number in range(3):
        repo.git("update-ref", f"refs/boocode/x/{number}", one)
        assert len(store.refs("refs/boocode/x/")) == number + 1
    repo.git("pack-refs", "--all", "--prune")
    repo.git("update-ref", "refs/boocode/x/1", two)
    repo.git("update-ref", "-d", "refs/boocode/x/2")
    assert store.refs("refs/boocode/") == [
        Ref("refs/boocode/x/1", two), Ref("refs/boocode/x/0", one)
    ]  # fmt: skip
    found = store.commit("refs/boocode/x/1")
    assert found is not None
    assert found.id == two
    repo.git("pack-refs", "--all", "--prune")
    store.update_refs([RefChange("refs/boocode/x/1", one, two)])
    assert store.refs("refs/boocode/x/1") == [Ref("refs/boocode/x/1", one)]
    assert repo.git("rev-parse", "refs/boocode/x/1").strip() == one


def test_a_commit_that_was_written_can_be_read(repo: Repo, store: Store) -> None:
    tree, parents = repo.git("mktree").strip(), targets(repo, 2)
    by = Identity("Ä", "a@example.com")
    for message in ("subject\n", "s\n\n{}\n", "", "é\udcff\n", "no newline"):
        made = store.write_commit(tree, parents, message, by, 1_700_000_000.9)
        assert [*store.commits([made])] == [(made, tree, tuple(parents), message)]
        shown = repo.git("log", "-1", "--format=%an|%ae|%cn|%ce|%ad|%ct", "--date=raw", made)
        assert shown == "Ä|a@example.com|Ä|a@example.com|1700000000 +0000|1700000000\n"


def test_a_transaction_creates_moves_and_deletes(repo: Repo, store: Store) -> None:
    one, two = targets(repo, 2)
    create(store, move=one, delete=one)
    store.update_refs(
        [
            RefChange("refs/x/create", one, None),
            RefChange("refs/x/move", two, one),
            RefChange("refs/x/delete", None, one),
        ]
    )
    after = [Ref("refs/x/move", two), Ref("refs/x/create", one)]
    store.update_refs([])
    assert store.refs("refs/x/") == after


def test_a_transaction_is_all_or_nothing(repo: Repo, store: Store) -> None:
    one, two = targets(repo, 2)
    create(store, a=one, b=one)
    before = repo.git("for-each-ref")
    new, moved = RefChange("refs/x/new", one, None), RefChange("refs/x/b", two, one)
    for name, wanted, expected in (
        ("a", two, None), ("a", one, two), ("none", two, one), ("none", None, one)
    ):  # fmt: skip
        with pytest.raises(RefusedError) as caught:
            store.update_refs([new, RefChange(f"refs/x/{name}", wanted, expected), moved])
        assert (caught.value.code, caught.value.exit_code) == ("conflict", 1)
        assert repo.git("for-each-ref") == before


def test_a_ref_is_created_or_moved_beside_verified_ones(repo: Repo, store: Store) -> None:
    one, two = targets(repo, 2)
    for name in "abc":
        store.update_refs([RefChange(f"refs/boocode/x/{name}", one, None)])
    repo.git("pack-refs", "--all")
    store.update_refs([RefChange("refs/boocode/x/c", two, one)])
    same = [RefChange("refs/boocode/x/a", one, one), RefChange("refs/boocode/x/c", two, two)]
    new = RefChange("refs/boocode/x/new", one, None)
    store.update_refs([*same, new])
    store.update_refs([*same, RefChange("refs/boocode/x/b", two, one)])
    after = {ref.id: ref.target for ref in store.refs("refs/boocode/x/")}
    assert after == {"a": one, "b": two, "c": two, "new": one}
    before = repo.git("for-each-ref")
    for changed in (
        RefChange("refs/boocode/x/a", two, two),
        RefChange("refs/boocode/x/z", one, one),
    ):
        with pytest.raises(RefusedError) as caught:
            store.update_refs([changed, RefChange("refs/boocode/x/more", one, None)])
        assert caught.value.code == "conflict"
    with pytest.raises(RefusedError) as caught:
        store.update_refs([RefChange("refs/boocode/x/b", one, one)])
    assert caught.value.code == "conflict"
    assert repo.git("for-each-ref") == before
    assert not [*(repo.top / ".git").rglob("*.lock")]


@pytest.mark.ref_files
def test_a_locked_ref_among_several(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    store.update_refs([RefChange("refs/boocode/x/a", one, None)])
    changes = [RefChange("refs/boocode/x/a", one, one), RefChange("refs/boocode/x/new", one, None)]
    for locked in ("a", "new"):
        lock = repo.top / f".git/refs/boocode/x/{locked}.lock"
        lock.touch()
        with pytest.raises(RefusedError) as caught:
            store.update_refs(changes)
        assert caught.value.code == "locked"
        assert [ref.id for ref in store.refs("refs/boocode/")] == ["a"]
        lock.unlink()
    store.update_refs(changes)
    assert [ref.id for ref in store.refs("refs/boocode/")] == ["new", "a"]


def test_a_name_that_cannot_be(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    create(store, a=one)
    for name in ("refs/x/a..b", "refs/x/a/below", "refs/x/a.lock"):
        with pytest.raises(FatalError) as caught:
            store.update_refs([RefChange(name, one, None)])
        assert caught.value.code == "refs"


def test_of_twenty_creators_one_wins(repo: Repo, store: Store) -> None:
    wanted = targets(repo, 20)

    def try_it(target: str) -> str:
        try:
            store.update_refs([RefChange("refs/boocode/prize", target, None)])
        except RefusedError as error:
            return error.code
        return target

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(try_it, wanted))
    (winner,) = set(answers) & set(wanted)
    assert store.refs("refs/boocode/") == [Ref("refs/boocode/prize", winner)]
    assert {answer for answer in answers if answer != winner} <= {"conflict", "locked"}
    assert answers.count(winner) == 1


def test_no_hooks_and_no_reflogs(repo: Repo, store: Store) -> None:
    hook = repo.top / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    repo.git("config", "core.logAllRefUpdates", "always")
    (one,) = targets(repo, 1)
    create(store, a=one)
    store.update_refs([RefChange("refs/boocode/a", one, None)])
    assert not (repo.top / ".git/logs/refs/x").exists()
    assert not (repo.top / ".git/logs/refs/boocode").exists()


@pytest.mark.ref_files
def test_refs_of_a_group_get_its_modes(repo: Repo) -> None:
    repo.git("config", "core.sharedRepository", "0660")
    before = os.umask(0o077)
    try:
        for kind in KINDS:
            with opened(kind, Repository.discover()) as store:
                (one,) = targets(repo, 1)
                name = f"refs/boocode/{kind.__name__}/a"
                store.update_refs([RefChange(name, one, None)])
            path = repo.top / ".git" / name
            modes = [each.stat().st_mode & 0o777 for each in (path, path.parent)]
            assert modes == [0o660, 0o770], kind
    finally:
        os.umask(before)


def test_raw_commits() -> None:
    assert raw_commit("t", ["p", "q"], "m\udcff", Identity("A", "a@x"), -1.5) == (
        b"tree t\nparent p\nparent q\nauthor A <a@x> -1 +0000\ncommitter A <a@x> -1 +0000\n\nm\xff"
    )
    # A header that goes on over lines is passed over.
    raw = b"tree t\ngpgsig -----\n tree no\n parent no\nparent p\n\nmessage"
    assert parse_commit("id", raw) == ("id", "t", ("p",), "message")
    for raw in (b"", b"\n\n", b"parent x\n\nmessage", b"tree\n\nmessage"):
        assert parse_commit("id", raw) is None


@pytest.fixture
def sha256(tmp_path: Path) -> Repository:
    subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path], check=True)
    return Repository.discover(str(tmp_path))


@pytest.mark.parametrize("kind", [plumbing, open_store])
def test_sha256(sha256: Repository, kind: Callable[[Repository], Store]) -> None:
    with opened(kind, sha256) as store:
        assert not isinstance(store, Libgit2Store)
        tree = sha256.git.line("mktree")
        made = store.write_commit(tree, [], "m\n", Identity("A", "a@x"), 0)
        assert len(made) == 64
        create(store, a=made)
        assert store.refs("refs/x/") == [Ref("refs/x/a", made)]
        assert next(store.commits([made])) == store.commit("refs/x/a") == (made, tree, (), "m\n")
        blob = sha256.git.line("hash-object", "-w", "--stdin", stdin=b"x")
        listed = sha256.git.line("mktree", stdin=f"100644 blob {blob}\ta\n".encode())
        assert store.tree(listed) == {"a": ("100644", "blob", blob)}
        assert store.blobs([blob]) == [b"x"]
        with pytest.raises(RefusedError):
            create(store, a=made)


@pytest.mark.parametrize("setting", ["extensions.partialClone", "extensions.refStorage"])
def test_libgit2_serves_neither_partial_clones_nor_reftables(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    # On the command line, where git leaves it alone: this git could not open such a repository.
    for key, value in (("COUNT", "1"), ("KEY_0", setting), ("VALUE_0", "reftable")):
        monkeypatch.setenv(f"GIT_CONFIG_{key}", value)
    assert not isinstance(open_store(Repository.discover()), Libgit2Store)


def test_a_linked_worktree_sees_the_same_refs_and_has_its_own_head(repo: Repo) -> None:
    first = repo.commit(a="a\n")
    repo.git("update-ref", "refs/x/a", first)
    repo.git("worktree", "add", "-q", "--detach", "linked", first)
    repo.commit(a="b\n")
    for kind in (plumbing, persistent, open_store):
        with opened(kind, Repository.discover(str(repo.top / "linked"))) as store:
            assert store.refs("refs/x/") == [Ref("refs/x/a", first)]
            head = store.commit("HEAD")
            assert head is not None
            assert head.id == first
