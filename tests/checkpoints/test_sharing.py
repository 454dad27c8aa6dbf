"""Checkpoints over real remotes: what goes, what comes, and what never does either."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from git_boocode.checkpoints.capture import Request, capture, capture_turn_end
from git_boocode.checkpoints.restore.commands import restore
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.store import sharing
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.store.sharing import (
    Fetched,
    Pushed,
    Rejected,
    Sharing,
)
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.gc import KEEP_MARK
from git_boocode.repo.ids import new_id
from git_boocode.repo.layout import CHECKPOINTS, REMOTE_TURN_ENDS, REMOTES, TURN_ENDS
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange, Store
from tests.checkpoints.kit import back, take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

NOBODY = "12" * 20

REPOSITORY = "other_repository"


def push(repo: Repo, remote: str | None = None, *names: str, **options: Any) -> Pushed:
    return sharing.push(at(repo), remote, names, Sharing(**options))


def fetch(repo: Repo, remote: str | None = None, *names: str, **options: Any) -> Fetched:
    return sharing.fetch(at(repo), remote, names, Sharing(**options))


def at(repo: Repo) -> Repository:
    return Repository.discover(str(repo.top))


def take_in(repo: Repo, **values: Any) -> Checkpoint:
    return capture(at(repo), Request(**values)).checkpoint


def error_of(work: Callable[[], object]) -> BoocodeError:
    with pytest.raises(BoocodeError) as caught:
        work()
    return caught.value


def shared(repo: Repo) -> list[str]:
    """All refs of ours, and where they point."""
    listing = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/boocode")
    return listing.splitlines()


class Both(NamedTuple):
    """Two clones of one remote."""

    ours: Repo
    theirs: Repo
    remote: Repo


@pytest.fixture
def both(repo: Repo, tmp_path: Path) -> Both:
    """Clones that share a commit; the test runs in the first one, whose remote is `origin`."""
    repo.commit(a="a\n")
    repo.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    repo.git("push", "-q", "origin", "main")
    repo.git("clone", "-q", "-b", "main", str(tmp_path / "remote.git"), str(tmp_path / "theirs"))
    return Both(repo, Repo(tmp_path / "theirs"), Repo(tmp_path / "remote.git"))


def forged(repo: Repo, tree: str = "", *, name: str = "", **values: Any) -> tuple[str, str]:
    """A checkpoint that no git-boocode took: its id and its commit."""
    name = name or new_id()
    defaults = {"boocode": 1, "kind": "checkpoint", "id": name, "worktree": {"name": "main"}}
    message = Metadata({**defaults, **values}).message()
    return name, repo.git("commit-tree", tree or repo.git("mktree").strip(), stdin=message).strip()


def nested_remote(both: Both, name: str) -> None:
    """A remote below the name of another one; newer versions of `git remote add` refuse it."""
    both.theirs.git("config", f"remote.{name}.url", str(both.remote.top))
    both.theirs.git("config", f"remote.{name}.fetch", f"+refs/heads/*:refs/remotes/{name}/*")


def plant(repo: Repo, name: str, target: str) -> None:
    """Put a ref among a remote's checkpoints, git's own care about objects left out."""
    path = repo.top / CHECKPOINTS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{target}\n")


# To and fro


def test_push_and_fetch(both: Both) -> None:
    both.ours.write("a", "changed\n")
    both.ours.write("new", "new\n")
    both.ours.git("add", "a")
    both.ours.write("a", "changed again\n")
    taken = take(label="to share")
    assert push(both.ours) == Pushed("origin", [taken.id], [], first=True, dry_run=False)
    assert shared(both.remote) == [f"{taken.ref} {taken.commit.id}"]
    assert fetch(both.theirs) == Fetched("origin", [taken.id], [], [], [], [], dry_run=False)
    assert shared(both.theirs) == [f"{REMOTES}origin/{taken.id} {taken.commit.id}"]
    found = Catalog(at(both.theirs)).find(taken.id)
    assert (found.remote, taken.remote) == ("origin", "")
    assert (found.commit, found.meta.values) == (taken.commit, taken.meta.values)
    both.theirs.git("gc", "-q", "--prune=now")
    before = both.theirs.status()
    assert error_of(lambda: restore(at(both.theirs), taken.id, RestoreRequest())).code == REPOSITORY
    assert both.theirs.boocode("restore", "--force", "other-repository", taken.id).code == 0
    assert both.theirs.files() == both.ours.files()
    assert both.theirs.git("diff", "--cached") == both.ours.git("diff", "--cached")
    assert both.theirs.boocode("undo").code == 0
    assert both.theirs.status() == before


def test_the_second_time_there_is_nothing_to_do(both: Both) -> None:
    one = take()
    push(both.ours)
    assert push(both.ours) == Pushed("origin", [], [], first=False, dry_run=False)
    fetch(both.theirs)
    before = shared(both.theirs)
    assert fetch(both.theirs) == Fetched("origin", [], [], [], [], [], dry_run=False)
    two = take()
    assert push(both.ours).ids == [two.id]
    assert fetch(both.theirs).ids == [two.id]
    assert shared(both.theirs) == sorted([*before, f"{REMOTES}origin/{two.id} {two.commit.id}"])
    assert one.id != two.id


def test_local_checkpoints_are_not_fetched(both: Both) -> None:
    taken = take()
    push(both.ours)
    assert fetch(both.ours).ids == []
    both.ours.git("update-ref", f"refs/boocode/archive/x/{taken.id}", taken.commit.id)
    both.ours.git("update-ref", "-d", taken.ref)
    assert fetch(both.ours).ids == []


def test_a_dry_run_does_nothing(both: Both) -> None:
    taken = take()
    assert push(both.ours, dry_run=True).ids == [taken.id]
    assert shared(both.remote) == []
    push(both.ours)
    objects = both.theirs.git("count-objects", "-v")
    assert fetch(both.theirs, dry_run=True).ids == [taken.id]
    assert shared(both.theirs) == []
    assert both.theirs.git("count-objects", "-v") == objects


def test_only_named_checkpoints(both: Both) -> None:
    one, two, three = (take(label=str(n)) for n in range(3))
    assert push(both.ours, "origin", two.id[:-2], "@").ids == [three.id, two.id]
    assert push(both.ours, "origin", "label:1").ids == []
    push(both.ours)
    fetched = fetch(both.theirs, "origin", one.id.upper(), three.commit.id[:12])
    assert fetched.ids == sorted([one.id, three.id])
    assert len(shared(both.theirs)) == 2
    for name, code in (("ffff", "not_found"), ("0", "not_found"), ("", "not_found"),
                       (one.id[:4], "ambiguous")):  # fmt: skip
        error = error_of(lambda name=name: fetch(both.theirs, "origin", name))  # type: ignore[misc]
        assert (error.code, error.exit_code) == (code, 1), name
    assert error_of(lambda: push(both.ours, "origin", "ffff")).code == "not_found"


def test_only_checkpoints_are_pushed(both: Both) -> None:
    taken = take()
    both.ours.write("a", "changed\n")
    safety = back().undo
    assert safety is not None
    both.ours.boocode("apply-edit", "--path", "a", "--old", "a", "--new", "b")
    both.ours.boocode("read", "a")
    fetched = take_in(both.theirs)
    push(both.theirs)
    fetch(both.ours)
    both.ours.git("update-ref", f"refs/boocode/archive/x/{new_id()}", taken.commit.id)
    assert push(both.ours, everywhere=True).ids == [taken.id]
    assert {name.split()[0] for name in shared(both.remote)} == {taken.ref, fetched.ref}
    assert push(both.ours, "origin", taken.id).ids == []
    for name in (safety, fetched.id):
        error = error_of(lambda name=name: push(both.ours, "origin", name))  # type: ignore[misc]
        assert (error.code, error.exit_code) == ("not_found", 1)
        assert f":{CHECKPOINTS}{name}" in error.hints[1]


def test_of_this_worktree_or_of_all(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.ours.git("worktree", "add", "-q", "linked")
    ours = take()
    linked = Repo(both.ours.top / "linked")
    theirs = take_in(linked)
    linked.write("sub/file")
    monkeypatch.chdir(linked.top / "sub")
    assert sharing.push(Repository.discover(), None, (), Sharing()).ids == [theirs.id]
    assert push(both.ours, everywhere=True).ids == [ours.id]


def test_unusable_checkpoints_are_not_pushed(both: Both) -> None:
    for name in ("0001", "x/y", new_id()):
        both.ours.git("update-ref", f"{CHECKPOINTS}{name}", "HEAD")
    taken = take()
    assert push(both.ours, everywhere=True).ids == [taken.id]
    assert len(shared(both.remote)) == 1


# The ends of turns


def end_turn(repo: Repo, begun: Checkpoint, text: str) -> str:
    """Write a file, and record the end of a turn; its commit."""
    repo.write("a", text)
    capture_turn_end(at(repo), begun.id, "Stop")
    return repo.git("rev-parse", f"{TURN_ENDS}{begun.id}").strip()


def counts(repo: Repo, *arguments: str) -> list[tuple[Any, ...]]:
    """The turns with how they end and how many lines changed in each."""
    rows = repo.boocode("log", "--json", *arguments).json["checkpoints"]
    return [(row["id"], row["end"], row["added"], row["removed"]) for row in rows]


def test_the_end_of_a_turn_goes_with_its_checkpoint(both: Both) -> None:
    one = take()
    ended = end_turn(both.ours, one, "one\ntwo\n")
    # By hand, after the turn.
    both.ours.write("a", "by hand\n" * 9)
    two = take()
    pushed = push(both.ours)
    assert (set(pushed.ids), pushed.turn_ends) == ({one.id, two.id}, (one.id,))
    fetched = fetch(both.theirs)
    assert (set(fetched.ids), fetched.turn_ends) == ({one.id, two.id}, (one.id,))
    assert f"{REMOTE_TURN_ENDS}origin/{one.id} {ended}" in shared(both.theirs)
    ours = [row for row in counts(both.ours) if row[1] == "recorded"]
    theirs = [row for row in counts(both.theirs, "--remote", "origin") if row[1] == "recorded"]
    assert ours == theirs == [(one.id, "recorded", 2, 1)]
    assert not push(both.ours).turn_ends
    assert not fetch(both.theirs).turn_ends
    assert not fetch(both.ours).turn_ends


def test_an_end_that_comes_later_follows_and_replaces_an_earlier_one(both: Both) -> None:
    one, other = take(), take()
    push(both.ours)
    fetch(both.theirs)
    for text in ("one\n", "two\n"):
        ended = end_turn(both.ours, one, text)
        end_turn(both.ours, other, text)
        done = both.ours.boocode("push", "origin", one.id)
        assert done.out == f" * {one.id} (turn end)\npushed 1 turn end to origin\n"
        done = both.theirs.boocode("fetch")
        assert done.out == f" * {one.id} (turn end)\nfetched 1 turn end from origin\n"
        assert f"{REMOTE_TURN_ENDS}origin/{one.id} {ended}" in shared(both.theirs)


def test_the_end_of_a_turn_is_pruned_and_dropped_with_its_checkpoint(both: Both) -> None:
    made = [take() for _ in range(3)]
    for each in made:
        end_turn(both.ours, each, each.id)
    push(both.ours)
    assert set(fetch(both.theirs, "origin", made[0].id).turn_ends) == {made[0].id}
    fetch(both.theirs)
    both.theirs.boocode("drop", made[0].id)
    assert not [line for line in shared(both.theirs) if made[0].id in line]
    both.ours.boocode("drop", made[1].id)
    assert not [line for line in shared(both.ours) if made[1].id in line]
    # On the remote somebody deleted the checkpoint alone.
    both.remote.git("update-ref", "-d", made[1].ref)
    fetch(both.theirs, prune=True)
    assert not [line for line in shared(both.theirs) if made[1].id in line]
    assert len(shared(both.theirs)) == 4


def test_an_end_that_is_none_is_not_fetched(both: Both) -> None:
    one, two = take(), take()
    push(both.ours)
    both.remote.git("update-ref", f"{TURN_ENDS}{one.id}", two.commit.id)
    both.remote.git("update-ref", f"{TURN_ENDS}{new_id()}", one.commit.id)
    fetched = fetch(both.theirs)
    assert set(fetched.ids) == {one.id, two.id}
    assert fetched.rejected_turn_ends == (Rejected(one.id, "its message has another id"),)
    assert len(shared(both.theirs)) == 2


def test_more_checkpoints_than_one_push_takes(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_AT_ONCE", 3)
    made = [take(label=str(n)).id for n in range(5)]
    both.ours.git("update-ref", f"{CHECKPOINTS}0001", "HEAD")
    both.remote.git("update-ref", f"{CHECKPOINTS}{made[2]}", "main")
    pushed = push(both.ours)
    assert sorted(pushed.ids) == sorted(set(made) - {made[2]})
    assert pushed.rejected == [Rejected(made[2], "the remote has another commit under this id")]
    assert len(shared(both.remote)) == 5


@pytest.mark.ref_files
def test_many_are_packed(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("git_boocode.repo.gc.MANY_LOOSE", 2)
    both.theirs.git("config", "gc.auto", "100")
    for _ in range(3):
        take()
    push(both.ours)
    fetch(both.theirs)
    assert (both.theirs.top / ".git/packed-refs").read_text().count(REMOTES) == 3
    assert len(shared(both.theirs)) == 3


def test_prune_deletes_what_the_remote_deleted(both: Both) -> None:
    one, two = take(), take()
    push(both.ours)
    nested_remote(both, "origin/sub")
    fetch(both.theirs, "origin")
    fetch(both.theirs, "origin/sub")
    both.remote.git("update-ref", "-d", one.ref)
    assert fetch(both.theirs, "origin").pruned == []
    assert fetch(both.theirs, "origin", prune=True, dry_run=True).pruned == [one.id]
    assert len(shared(both.theirs)) == 4
    assert fetch(both.theirs, "origin", prune=True).pruned == [one.id]
    assert [name.split()[0].removeprefix(REMOTES) for name in shared(both.theirs)] == [
        *sorted([f"origin/{two.id}", f"origin/sub/{one.id}", f"origin/sub/{two.id}"])
    ]
    # What was taken here is nobody else's to prune.
    assert fetch(both.ours, prune=True).pruned == []
    assert len(shared(both.ours)) == 2


def test_clearing_a_remote_as_the_manual_says(both: Both) -> None:
    made = [take(label=str(n)) for n in range(3)]
    push(both.ours)
    fetch(both.theirs)
    manual = (Path(__file__).parents[2] / "man/push.md").read_text(encoding="utf-8")
    script = manual.split("\n    git for-each-ref")[1].split("\n\n")[0]
    script = f"git for-each-ref{script}".replace("<id>", made[1].id)
    subprocess.run(["sh", "-ec", script], cwd=both.remote.top, check=True)
    assert [name.split()[0] for name in shared(both.remote)] == [made[1].ref, made[2].ref]
    assert fetch(both.theirs, prune=True).pruned == [made[0].id]
    # And a single one, from afar.
    both.ours.git("push", "-q", "origin", "--delete", made[2].ref)
    assert fetch(both.theirs, prune=True).pruned == [made[2].id]


def test_remotes_with_a_common_prefix(both: Both) -> None:
    taken = take()
    push(both.ours)
    both.theirs.git("remote", "rename", "origin", "team")
    nested_remote(both, "team/alice")
    both.theirs.git("remote", "add", "bob=böb%2F'é", str(both.remote.top))
    for name in ("team", "team/alice", "bob=böb%2F'é"):
        assert fetch(both.theirs, name).ids == [taken.id]
        assert fetch(both.theirs, name).ids == []
        (listed,) = Catalog(at(both.theirs)).fetched(name)
        assert isinstance(listed, Checkpoint)
        assert listed.remote == name
    assert len(list(Catalog(at(both.theirs)).fetched())) == 3
    assert Catalog(at(both.theirs)).find(taken.id).id == taken.id


def test_log_newest_and_labels_ignore_fetched_checkpoints(both: Both) -> None:
    taken = take(label="theirs", message="m")
    push(both.ours)
    fetch(both.theirs)
    catalog = Catalog(at(both.theirs))
    assert list(catalog.newest_first(everywhere=True)) == []
    assert catalog.latest() is None
    for name in ("@", "label:theirs", "message:m"):
        assert error_of(lambda name=name: catalog.find(name)).code == "not_found"  # type: ignore[misc]
    for name in (taken.id, taken.id[:13], taken.commit.id, taken.commit.id[:9]):
        assert catalog.find(name).remote == "origin"


# The same id twice


def test_one_id_with_two_commits(both: Both) -> None:
    taken = take(label="ours")
    _, other = forged(both.theirs, name=taken.id, label="theirs")
    both.theirs.git("update-ref", taken.ref, other)
    push(both.theirs)
    pushed = push(both.ours)
    assert (pushed.ids, [name for name, _ in pushed.rejected]) == ([], [taken.id])
    assert shared(both.remote) == [f"{taken.ref} {other}"]
    fetched = fetch(both.ours)
    assert (fetched.ids, fetched.differing) == ([taken.id], [taken.id])
    catalog = Catalog(at(both.ours))
    assert catalog.find(taken.id).commit.id == catalog.find(taken.id[:-1]).commit.id
    assert catalog.find(taken.id).commit.id == taken.commit.id
    assert (catalog.find(other).remote, catalog.find(other).meta.text("label")) == (
        "origin",
        "theirs",
    )
    assert fetch(both.ours).differing == []


def test_two_remotes_that_differ_in_an_id(both: Both, tmp_path: Path) -> None:
    name, one = forged(both.remote, label="one")
    _, two = forged(both.remote, name=name, label="two")
    both.ours.git("clone", "-q", "--bare", str(both.remote.top), str(tmp_path / "second.git"))
    both.ours.git("remote", "add", "second", str(tmp_path / "second.git"))
    second = Repo(tmp_path / "second.git")
    _, other = forged(second, name=name, label="two")
    assert other == two
    both.remote.git("update-ref", f"{CHECKPOINTS}{name}", one)
    second.git("update-ref", f"{CHECKPOINTS}{name}", two)
    fetch(both.ours, "origin")
    fetch(both.ours, "second")
    catalog = Catalog(at(both.ours))
    for asked in (name, name[:-1]):
        error = error_of(lambda asked=asked: catalog.find(asked))  # type: ignore[misc]
        assert (error.code, error.exit_code) == ("ambiguous", 1)
        assert f"{one} (origin)" in error.hints[0]
        assert f"{two} (second)" in error.hints[0]
    assert catalog.find(one).meta.text("label") == "one"
    assert catalog.find(two[:12]).remote == "second"


def test_a_ref_that_moves_on_the_remote_is_reported(both: Both) -> None:
    name, one = forged(both.remote)
    both.remote.git("update-ref", f"{CHECKPOINTS}{name}", one)
    fetch(both.ours)
    _, two = forged(both.remote, name=name, label="another")
    both.remote.git("update-ref", f"{CHECKPOINTS}{name}", two)
    fetched = fetch(both.ours)
    assert (fetched.ids, fetched.moved) == ([], [name])
    assert shared(both.ours) == [f"{REMOTES}origin/{name} {two}"]


def test_parallel_pushes(both: Both) -> None:
    made = {take(label=str(n)).id for n in range(3)}
    made |= {take_in(both.theirs, label=str(n)).id for n in range(3)}
    done: list[Pushed] = []
    threads = [
        threading.Thread(target=lambda each=each: done.append(push(each)))
        for each in (both.ours, both.theirs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name for pushed in done for name in pushed.ids} == made
    assert len(shared(both.remote)) == 6


def test_another_fetch_comes_first(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = take()
    push(both.ours)
    real = Store.update_refs
    rounds = []

    def update(store: Store, changes: Sequence[RefChange]) -> None:
        rounds.append(list(changes))
        if len(rounds) == 1:
            both.theirs.git("update-ref", f"{REMOTES}origin/{taken.id}", taken.commit.id)
        real(store, changes)

    monkeypatch.setattr(Store, "update_refs", update)
    assert fetch(both.theirs).ids == [taken.id]
    assert [len(changes) for changes in rounds] == [1, 0]
    assert shared(both.theirs) == [f"{REMOTES}origin/{taken.id} {taken.commit.id}"]


def kept_packs(repo: Repo) -> list[Path]:
    """The keep files of packs."""
    return sorted((repo.top / ".git/objects/pack").glob("*.keep"))


def test_git_gc_keeps_fetched_objects_without_a_ref(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.ours.write("a", "changed\n")
    taken = take()
    push(both.ours)
    real = Store.update_refs
    kept = []

    def update(store: Store, changes: Sequence[RefChange]) -> None:
        kept.extend(kept_packs(both.theirs))
        both.theirs.git("gc", "-q", "--prune=now")
        real(store, changes)

    monkeypatch.setattr(Store, "update_refs", update)
    assert fetch(both.theirs).ids == [taken.id]
    assert len(kept) == 1
    assert kept_packs(both.theirs) == []
    both.theirs.git("gc", "-q", "--prune=now")
    assert both.theirs.git("show", f"{taken.commit.id}:a") == "changed\n"
    both.theirs.git("fsck", "--strict")
    # Once no ref names it, it can go.
    both.theirs.git("update-ref", "-d", f"{REMOTES}origin/{taken.id}")
    both.theirs.git("gc", "-q", "--prune=now")
    assert both.theirs.git("cat-file", "-t", taken.commit.id, check=False) == ""


def test_keep_files_of_a_killed_fetch_are_removed(both: Both) -> None:
    packs = both.theirs.top / ".git/objects/pack"
    old, young, foreign = (packs / f"pack-{name}.keep" for name in ("old", "young", "foreign"))
    for path in (old, young):
        path.write_bytes(KEEP_MARK)
    foreign.write_text("the user's own\n")
    for path in (old, foreign):
        os.utime(path, (0, 0))
    fetch(both.theirs)
    assert kept_packs(both.theirs) == sorted((young, foreign))


# Which remote


def test_the_remote_is_gits_default(both: Both, tmp_path: Path) -> None:
    ours = both.ours
    for name in ("second", "third", "Fourth"):
        ours.git("init", "-q", "--bare", str(tmp_path / f"{name}.git"))
        ours.git("remote", "add", name, str(tmp_path / f"{name}.git"))
    take()

    def chosen() -> tuple[str, str]:
        return fetch(ours, dry_run=True).remote, push(ours, dry_run=True).remote

    assert chosen() == ("origin", "origin")
    ours.git("switch", "-q", "-c", "Topic/Ä")
    ours.git("config", "branch.Topic/Ä.remote", "second")
    assert chosen() == ("second", "second")
    ours.git("config", "remote.pushDefault", "third")
    assert chosen() == ("second", "third")
    ours.git("config", "branch.Topic/Ä.pushRemote", "Fourth")
    assert chosen() == ("second", "Fourth")
    ours.git("switch", "-q", "--detach")
    assert chosen() == ("origin", "third")
    ours.git("switch", "-q", "main")
    ours.git("config", "branch.main.remote", ".")
    assert chosen() == ("origin", "third")


def test_the_only_remote_has_any_name(both: Both) -> None:
    both.ours.git("remote", "rename", "origin", "hub")
    take()
    assert push(both.ours).remote == fetch(both.ours).remote == "hub"


def test_there_is_no_remote(repo: Repo) -> None:
    take()
    for work in (push, fetch):
        error = error_of(lambda work=work: work(repo))  # type: ignore[misc]
        assert (error.code, error.exit_code) == ("no_remote", 1)
        assert error.hints == ("add one: git remote add origin <url>",)


def test_several_remotes_without_a_default(both: Both) -> None:
    both.ours.git("remote", "rename", "origin", "one")
    both.ours.git("remote", "add", "two", "/nowhere")
    error = error_of(lambda: fetch(both.ours))
    assert error.message == "unknown remote 'origin'"
    assert error.hints == ("existing remotes: one, two",)


def test_a_remote_that_is_not_there(both: Both) -> None:
    take()
    for given in ("nix", "", "-x", "--upload-pack=touch x", "\udcff"):
        for work in (push, fetch):
            error = error_of(lambda work=work, given=given: work(both.ours, given))  # type: ignore[misc]
            assert (given, error.code, error.exit_code) == (given, "no_remote", 1)
    assert not (both.ours.top / "x").exists()


def test_a_url_can_be_pushed_to_and_not_be_fetched_from(both: Both) -> None:
    taken = take()
    for address in (str(both.remote.top), f"file://{both.remote.top}"):
        error = error_of(lambda address=address: fetch(both.ours, address))  # type: ignore[misc]
        assert (error.code, error.exit_code) == ("unnamed_remote", 1)
        assert error.hints[0].startswith(f"git remote add <name> {address}")
    assert push(both.ours, f"file://{both.remote.top}").ids == [taken.id]
    assert push(both.ours, str(both.remote.top)).ids == []


def test_a_password_in_a_url_is_not_shown(both: Both) -> None:
    take()
    for work in (push, fetch):
        error = error_of(lambda work=work: work(both.ours, "http://me:secret@127.0.0.1:1/x"))  # type: ignore[misc]
        texts = (error.message, *error.hints)
        assert "http://127.0.0.1:1/x" in "".join(texts)
        assert "secret" not in "".join(texts)


def test_a_remote_with_a_name_that_no_ref_can_have(both: Both) -> None:
    both.ours.git("config", "remote.a..b.url", str(both.remote.top))
    error = error_of(lambda: fetch(both.ours, "a..b"))
    assert (error.code, error.exit_code) == ("no_remote", 1)


def test_a_remote_that_cannot_be_reached(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    take()
    for address in (
        "/nowhere/x.git", "file:///nowhere/x.git", "http://127.0.0.1:1/x", "nosuchscheme://x",
        "ext::sh -c 'touch x'", "git@127.0.0.1.invalid:x",
    ):  # fmt: skip
        both.ours.git("remote", "set-url", "origin", address)
        for work in (push, fetch):
            error = error_of(lambda work=work: work(both.ours))  # type: ignore[misc]
            assert (address, error.code, error.exit_code) == (address, "remote", 128)
            assert error.message.startswith("cannot read from 'origin': ")
            assert error.hints == ("test the connection with 'git ls-remote origin'",)
    assert not (both.ours.top / "x").exists()


@pytest.mark.sha1
def test_a_remote_of_another_hash(both: Both, tmp_path: Path) -> None:
    both.ours.git("init", "-q", "--object-format=sha256", str(tmp_path / "sha256"))
    other = Repo(tmp_path / "sha256")
    both.ours.git("remote", "set-url", "origin", str(other.top))
    take()
    for filled in (False, True):
        if filled:
            take_in(other)
        for work in (fetch, push):
            if not filled and work is fetch:
                # There is nothing to see that it is another one.
                continue
            error = error_of(lambda work=work: work(both.ours))  # type: ignore[misc]
            assert error.exit_code == 128
            assert "hash" in error.message
    assert len(shared(both.ours)) == 1


def test_between_repositories_of_sha256(repo: Repo, tmp_path: Path) -> None:
    for name in ("a", "b"):
        repo.git("init", "-q", "--object-format=sha256", str(tmp_path / name))
    repo.git("init", "-q", "--bare", "--object-format=sha256", str(tmp_path / "r.git"))
    one, other = Repo(tmp_path / "a"), Repo(tmp_path / "b")
    for each in (one, other):
        each.git("remote", "add", "r", "../r.git")
    one.write("f", "f\n")
    taken = take_in(one)
    assert push(one).ids == fetch(other).ids == [taken.id]
    assert Catalog(at(other)).find(taken.id).tree == taken.tree


# What the user has configured


def test_the_settings_for_git_fetch_change_nothing(both: Both) -> None:
    theirs = both.theirs
    taken = take()
    push(both.ours)
    both.remote.git("tag", "-a", "-m", "x", "tagged", taken.commit.id)
    both.remote.git("branch", "more", "main")
    for key, value in (
        ("remote.origin.fetch", "+refs/*:refs/*"), ("remote.origin.prune", "true"),
        ("remote.origin.tagOpt", "--tags"), ("remote.origin.mirror", "true"),
        ("remote.origin.pruneTags", "true"), ("fetch.prune", "true"), ("fetch.pruneTags", "true"),
        ("fetch.writeCommitGraph", "true"), ("fetch.recurseSubmodules", "true"),
        ("fetch.output", "compact"), ("core.logAllRefUpdates", "always"), ("gc.auto", "1"),
    ):  # fmt: skip
        theirs.git("config", "--add", key, value)
    theirs.git("branch", "mine")
    before = theirs.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
    assert fetch(theirs).ids == [taken.id]
    assert theirs.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes") == before
    assert not (theirs.top / ".git/FETCH_HEAD").exists()
    assert not (theirs.top / ".git/logs/refs/boocode").exists()


def test_the_settings_for_git_push_change_nothing(both: Both) -> None:
    taken = take()
    both.ours.git("tag", "-a", "-m", "x", "tagged", taken.commit.id)
    for key, value in (
        ("remote.origin.push", "+refs/*:refs/*"), ("remote.origin.mirror", "true"),
        ("push.followTags", "true"), ("push.gpgSign", "true"), ("push.default", "matching"),
        ("push.recurseSubmodules", "on-demand"),
    ):  # fmt: skip
        both.ours.git("config", key, value)
    both.ours.git("branch", "mine")
    assert push(both.ours).ids == [taken.id]
    listed = both.remote.git("for-each-ref", "--format=%(refname)").split()
    assert listed == [taken.ref, "refs/heads/main"]


def test_push_urls_that_differ(both: Both, tmp_path: Path) -> None:
    for name in ("p", "q"):
        both.ours.git("init", "-q", "--bare", str(tmp_path / name))
        both.ours.git("remote", "set-url", "--add", "--push", "origin", str(tmp_path / name))
    taken = take()
    pushed = push(both.ours)
    assert (pushed.ids, pushed.first) == ([taken.id], True)
    for name in ("p", "q"):
        assert len(shared(Repo(tmp_path / name))) == 1
    assert shared(both.remote) == []
    assert push(both.ours).ids == []
    Repo(tmp_path / "q").git("update-ref", "-d", taken.ref)
    assert push(both.ours).ids == [taken.id]


@pytest.mark.sha1
def test_the_users_hooks(both: Both) -> None:
    hook = '#!/bin/sh\ncat >> "{0}/ran-$(basename "$0")"; exit {1}\n'
    top = both.ours.top / ".git"
    for name in ("pre-push", "reference-transaction", "post-checkout"):
        both.ours.write(f".git/hooks/{name}", hook.format(top, 0), 0o755)
    taken = take()
    push(both.ours)
    assert [path.name for path in top.glob("ran-*")] == ["ran-pre-push"]
    local = f"{taken.ref} {taken.commit.id} {taken.ref} {'0' * 40}\n"
    assert (top / "ran-pre-push").read_text() == local
    fetch(both.ours)
    both.ours.write(".git/hooks/pre-push", "#!/bin/sh\necho no secrets >&2; exit 1\n", 0o755)
    second = take()
    error = error_of(lambda: push(both.ours))
    assert (error.code, error.exit_code) == ("refused", 1)
    assert error.message == "the push was refused locally: no secrets"
    assert len(shared(both.remote)) == 1
    assert push(both.ours, verify=False).ids == [second.id]


def test_a_hook_that_pushes_checkpoints_ends(both: Both) -> None:
    log = both.ours.top / ".git/log"
    both.ours.write(
        ".git/hooks/pre-push", f"#!/bin/sh\ngit boocode push --json >> '{log}'\n", 0o755
    )
    taken = take()
    both.ours.git("push", "-q", "origin", "HEAD:refs/heads/other")
    answers = [json.loads(line) for line in log.read_text().splitlines()]
    assert [answer["pushed"] for answer in answers] == [[], [taken.id]]
    assert shared(both.remote) == [f"{taken.ref} {taken.commit.id}"]


def test_inside_a_hook(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = take_in(both.theirs)
    push(both.theirs)
    monkeypatch.setenv("GIT_DIR", str(both.ours.top / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(both.ours.top / ".git/next-index-1.lock"))
    taken = take()
    assert push(both.ours).ids == [taken.id]
    assert fetch(both.ours).ids == [theirs.id]
    monkeypatch.setenv("GIT_QUARANTINE_PATH", str(both.ours.top / ".git/objects/tmp"))
    error = error_of(lambda: fetch(both.ours))
    assert (error.code, error.exit_code) == ("locked", 1)


def test_nothing_prompts_without_a_terminal(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = both.ours.top / ".git/env"
    script = both.ours.write(".git/ssh", f"#!/bin/sh\nenv > {environment}\nexit 1\n", 0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(script))
    both.ours.git("remote", "set-url", "origin", "ssh://host/x")

    def seen(**options: Any) -> set[str]:
        error_of(lambda: fetch(both.ours, **options))
        return {
            line
            for line in environment.read_text().splitlines()
            if "ASKPASS" in line or "PROMPT" in line
        }

    assert seen() == {"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force"}
    assert seen(show=lambda _: None) == set()
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    monkeypatch.setenv("SSH_ASKPASS", "mine")
    for options in ({}, {"show": lambda _: None}):
        assert seen(**options) == {"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS=mine"}


# Kinds of clones


def test_from_and_to_a_shallow_clone(both: Both, tmp_path: Path) -> None:
    for number in range(3):
        both.ours.commit(a=f"{number}\n")
    both.ours.git("push", "-q", "origin", "main")
    both.ours.git(
        "clone", "-q", "--depth=1", f"file://{both.remote.top}", str(tmp_path / "shallow")
    )
    shallow = Repo(tmp_path / "shallow")
    theirs = take_in(shallow)
    assert push(shallow).ids == [theirs.id]
    ours = take()
    both.ours.git("reset", "-q", "--hard", "HEAD~2")
    older = take()
    push(both.ours)
    assert fetch(shallow).ids == sorted([ours.id, older.id])
    assert fetch(both.ours).ids == [theirs.id]
    assert Catalog(at(shallow)).find(older.id).tree == older.tree
    assert shallow.git("rev-parse", "--is-shallow-repository") == "true\n"
    assert shallow.git("fsck", "--connectivity-only", "--no-dangling") == ""


def test_from_and_to_a_partial_clone(both: Both, tmp_path: Path) -> None:
    both.remote.git("config", "uploadpack.allowFilter", "true")
    both.ours.git(
        "clone", "-q", "--filter=blob:none", f"file://{both.remote.top}", str(tmp_path / "partial")
    )  # fmt: skip
    partial = Repo(tmp_path / "partial")
    both.ours.write("a", "changed\n")
    ours = take()
    push(both.ours)
    assert fetch(partial).ids == [ours.id]
    assert partial.boocode("restore", "--force", "other-repository", ours.id).code == 0
    assert partial.read("a") == b"changed\n"
    theirs = take_in(partial)
    assert push(partial).ids == [theirs.id]
    assert fetch(both.ours).ids == [theirs.id]


def test_into_a_linked_worktree(both: Both) -> None:
    taken = take()
    push(both.ours)
    both.theirs.git("worktree", "add", "-q", "linked")
    linked = Repo(both.theirs.top / "linked")
    assert fetch(linked).ids == [taken.id]
    assert fetch(both.theirs).ids == []
    error = error_of(lambda: restore(at(linked), taken.id, RestoreRequest()))
    assert (error.code, error.exit_code) == (REPOSITORY, 1)


# A remote that says no


def test_a_remote_that_rejects_all(both: Both) -> None:
    one, two = take(), take()
    both.remote.write("hooks/pre-receive", "#!/bin/sh\necho policy >&2; exit 1\n", 0o755)
    pushed = push(both.ours)
    assert (pushed.ids, sorted(pushed.rejected)) == (
        [], [Rejected(one.id, "pre-receive hook declined"),
             Rejected(two.id, "pre-receive hook declined")],
    )  # fmt: skip


def test_a_remote_that_rejects_some(both: Both) -> None:
    one, two = take(), take()
    both.remote.write("hooks/update", f"#!/bin/sh\ncase $1 in *{one.id}) exit 1;; esac\n", 0o755)
    pushed = push(both.ours)
    assert (pushed.ids, pushed.rejected) == ([two.id], [Rejected(one.id, "hook declined")])
    assert shared(both.remote) == [f"{two.ref} {two.commit.id}"]


def test_a_remote_that_hides_them(both: Both) -> None:
    taken = take()
    push(both.ours)
    both.remote.git("config", "transfer.hideRefs", "refs/boocode")
    second = take()
    pushed = push(both.ours)
    assert pushed.ids == []
    assert {name for name, _ in pushed.rejected} == {taken.id, second.id}
    assert {reason for _, reason in pushed.rejected} == {"deny updating a hidden ref"}
    assert fetch(both.theirs) == Fetched("origin", [], [], [], [], [], dry_run=False)


# Cut short


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_terminated_fetch_leaves_nothing(both: Both, number: str) -> None:
    take()
    push(both.ours)
    ready = both.theirs.top / ".git/ready"
    slow = both.theirs.write(
        ".git/slow", f'#!/bin/sh\ngit-upload-pack "$@" & touch {ready}; sleep 30\n', 0o755
    )
    both.theirs.git("config", "remote.origin.uploadpack", str(slow))
    process = subprocess.Popen(
        [sys.executable, "-m", "git_boocode", "fetch"],
        cwd=both.theirs.top, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    while not ready.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(getattr(signal, number))
    _, said = process.communicate(timeout=20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + getattr(signal, number)
    assert said == b""
    assert shared(both.theirs) == []
    assert not list((both.theirs.top / ".git").rglob("*.lock"))
