from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from git_boocode.repo.config import Identity
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.libgit2 import open_libgit2
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import (
    Ref,
    RefChange,
    Store,
    parse_commit,
    raw_commit,
)
from tests.repo_kit import Repo

BY = Identity("Ä <not> é", "a@example.com")
NOBODY = "1234567890" * 4


def libgit2(repository: Repository) -> Store:
    """The store through libgit2, which must be able to serve the repository."""
    served = open_libgit2(repository)
    if served is None and {"GIT_DEFAULT_REF_FORMAT", "GIT_DEFAULT_HASH"} & set(os.environ):
        pytest.skip("libgit2 opens no such repository")
    assert served is not None
    return served


@pytest.fixture(params=[Store, libgit2], ids=["plumbing", "libgit2"])
def store(request: pytest.FixtureRequest, repo: Repo) -> Store:
    made: Store = request.param(Repository.discover())
    return made


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


def test_refs_of_a_whole_name_or_a_beginning(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    create(store, a=one, ab=one)
    repo.git("update-ref", "refs/xy/a", one)
    assert [ref.name for ref in store.refs("refs/x/a")] == ["refs/x/a"]
    assert [ref.name for ref in store.refs("refs/x/")] == ["refs/x/ab", "refs/x/a"]
    assert store.refs("refs/x/none", "refs/nothing/") == []


def test_no_refs_are_asked_for(repo: Repo, store: Store) -> None:
    create(store, a=targets(repo, 1)[0])
    assert store.refs() == []


def test_refs_packed_and_loose(repo: Repo, store: Store) -> None:
    one, two = targets(repo, 2)
    create(store, a=one, b=one)
    repo.git("pack-refs", "--all")
    store.update_refs([RefChange("refs/x/a", two, one)])
    assert store.refs("refs/x/") == [Ref("refs/x/b", one), Ref("refs/x/a", two)]


def test_refs_come_in_the_order_of_their_bytes(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    names = [f"refs/x/{name}" for name in ("\udcff", "\U0001f600", "\uff41", "ä", "a")]
    for name in names:
        repo.git("update-ref", name, one)
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


@pytest.mark.parametrize("name", ["ä", "\udcff", "a\u2028b", "a\x85b", "\U0001f600"])
def test_refs_with_odd_names(repo: Repo, store: Store, name: str) -> None:
    (one,) = targets(repo, 1)
    repo.git("update-ref", f"refs/x/{name}", one)
    assert store.refs("refs/x/") == [Ref(f"refs/x/{name}", one)]


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


def test_no_commits(store: Store) -> None:
    assert list(store.commits([])) == []


def test_more_commits_than_a_batch(repo: Repo, store: Store) -> None:
    wanted = targets(repo, 3) * (Store.BATCH + 1)
    assert [commit and commit.id for commit in store.commits(wanted)] == wanted


@pytest.mark.parametrize("damage", [b"", b"garbage", "half"])
def test_a_damaged_object_is_none_and_hides_no_other(
    repo: Repo, store: Store, damage: bytes | str
) -> None:
    (good,) = targets(repo, 1)
    by = Identity("A", "a@x")
    bad = store.write_commit(Repository.discover().empty_tree, [], "x" * 9999 + "y" * 999, by, 0)
    path = repo.top / ".git/objects" / bad[:2] / bad[2:]
    whole = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(whole[: len(whole) // 2] if isinstance(damage, str) else damage)
    read = [commit and commit.id for commit in store.commits([good, bad, good])]
    assert read == [good, None, good]


@pytest.mark.parametrize("message", ["subject\n", "s\n\n{}\n", "", "é\udcff\n", "no newline"])
def test_a_commit_that_was_written_can_be_read(repo: Repo, store: Store, message: str) -> None:
    tree, parents = repo.git("mktree").strip(), targets(repo, 2)
    by = Identity("Ä", "a@example.com")
    made = store.write_commit(tree, parents, message, by, 1_700_000_000.9)
    (read,) = store.commits([made])
    assert read == (made, tree, tuple(parents), message)
    shown = repo.git("log", "-1", "--format=%an|%ae|%cn|%ce|%ad|%ct", "--date=raw", made)
    assert shown == "Ä|a@example.com|Ä|a@example.com|1700000000 +0000|1700000000\n"


@pytest.mark.ref_files
@pytest.mark.sha1
def test_both_write_the_same_commit(repo: Repo) -> None:
    repository = Repository.discover()
    tree = repo.git("mktree").strip()
    made = {
        store.write_commit(tree, [], "same\n", Identity("A", "a@x"), 1.5)
        for store in (Store(repository), libgit2(repository))
    }
    assert len(made) == 1
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


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
    assert store.refs("refs/x/") == [Ref("refs/x/move", two), Ref("refs/x/create", one)]


def test_an_empty_transaction(repo: Repo, store: Store) -> None:
    repo.commit()
    before = store.refs("refs/")
    store.update_refs([])
    assert store.refs("refs/") == before != []


@pytest.mark.parametrize("failing", ["exists", "moved", "gone", "deleted"])
def test_a_transaction_is_all_or_nothing(repo: Repo, store: Store, failing: str) -> None:
    one, two = targets(repo, 2)
    create(store, a=one, b=one)
    before = repo.git("for-each-ref")
    wrong = {
        "exists": RefChange("refs/x/a", two, None),
        "moved": RefChange("refs/x/a", one, two),
        "gone": RefChange("refs/x/none", two, one),
        "deleted": RefChange("refs/x/none", None, one),
    }[failing]
    with pytest.raises(RefusedError) as caught:
        store.update_refs(
            [RefChange("refs/x/new", one, None), wrong, RefChange("refs/x/b", two, one)]
        )
    assert (caught.value.code, caught.value.exit_code) == ("conflict", 1)
    assert repo.git("for-each-ref") == before


@pytest.mark.ref_files
def test_a_locked_ref(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    create(store, a=one)
    (repo.top / ".git/refs/x/a.lock").touch()
    with pytest.raises(RefusedError) as caught:
        store.update_refs([RefChange("refs/x/a", None, one)])
    assert caught.value.code == "locked"


@pytest.mark.parametrize("name", ["refs/x/a..b", "refs/x/a/below", "refs/x/a.lock"])
def test_a_name_that_cannot_be(repo: Repo, store: Store, name: str) -> None:
    (one,) = targets(repo, 1)
    create(store, a=one)
    with pytest.raises(FatalError) as caught:
        store.update_refs([RefChange(name, one, None)])
    assert caught.value.code == "refs"


def test_a_name_that_is_not_utf_8(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    store.update_refs([RefChange("refs/x/\udcff", one, None)])
    store.update_refs([RefChange("refs/x/\udcff", None, one)])
    assert store.refs("refs/x/") == []


def test_of_twenty_creators_one_wins(repo: Repo, store: Store) -> None:
    wanted = targets(repo, 20)

    def try_it(target: str) -> str:
        try:
            create(store, prize=target)
        except RefusedError as error:
            return error.code
        return target

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(try_it, wanted))
    (winner,) = set(answers) & set(wanted)
    assert store.refs("refs/x/") == [Ref("refs/x/prize", winner)]
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
    assert not (repo.top / ".git/logs/refs/x").exists()


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"parent x\n\nmessage", b"tree\n\nmessage"])
def test_bytes_that_are_no_commit(raw: bytes) -> None:
    assert parse_commit("id", raw) is None


def test_headers_that_go_on_over_lines_are_passed_over() -> None:
    raw = b"tree t\ngpgsig -----\n tree no\n parent no\nparent p\n\nmessage"
    read = parse_commit("id", raw)
    assert read == ("id", "t", ("p",), "message")


def test_a_raw_commit() -> None:
    assert raw_commit("t", ["p", "q"], "m\udcff", Identity("A", "a@x"), -1.5) == (
        b"tree t\nparent p\nparent q\nauthor A <a@x> -1 +0000\ncommitter A <a@x> -1 +0000\n\nm\xff"
    )


@pytest.fixture
def sha256(tmp_path: Path) -> Repository:
    subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path], check=True)
    return Repository.discover(str(tmp_path))


def test_libgit2_serves_no_sha256(sha256: Repository) -> None:
    assert open_libgit2(sha256) is None


def test_plumbing_serves_sha256(sha256: Repository) -> None:
    store = Store(sha256)
    tree = sha256.git.line("mktree")
    made = store.write_commit(tree, [], "m\n", Identity("A", "a@x"), 0)
    assert len(made) == 64
    create(store, a=made)
    assert store.refs("refs/x/") == [Ref("refs/x/a", made)]
    assert next(store.commits([made])) == (made, tree, (), "m\n")
    with pytest.raises(RefusedError):
        create(store, a=made)


@pytest.mark.parametrize("setting", ["extensions.partialClone", "extensions.refStorage"])
def test_libgit2_serves_neither_partial_clones_nor_reftables(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    # On the command line, where git leaves it alone: this git could not open such a repository.
    for key, value in (("COUNT", "1"), ("KEY_0", setting), ("VALUE_0", "reftable")):
        monkeypatch.setenv(f"GIT_CONFIG_{key}", value)
    assert open_libgit2(Repository.discover()) is None


@pytest.mark.ref_files
@pytest.mark.sha1
def test_a_linked_worktree_sees_the_same_refs(repo: Repo, store: Store) -> None:
    (one,) = targets(repo, 1)
    create(store, a=one)
    repo.git("worktree", "add", "-q", "--detach", "linked", one)
    linked = Repository.discover(str(repo.top / "linked"))
    opened: list[Callable[[Repository], Store]] = [Store, libgit2]
    assert [make(linked).refs("refs/x/") for make in opened] == [[Ref("refs/x/a", one)]] * 2
