"""Remotes and fetched checkpoints that mean harm: they are refused, and hinder no other one.

A tree or a staging area that leads out of the worktree writes nothing there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.restore.commands import restore
from git_boocode.checkpoints.restore.request import FOREIGN, RestoreRequest
from git_boocode.checkpoints.store import sharing
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.ids import new_id
from git_boocode.repo.layout import REMOTES
from tests.checkpoints.kit import take
from tests.checkpoints.test_sharing import (
    NOBODY,
    Both,
    at,
    both,
    fetch,
    forged,
    nested_remote,
    plant,
    push,
    shared,
)
from tests.repo_kit import Repo

__all__ = ["both"]


def raw_tree(repo: Repo, *rows: tuple[str, str, str]) -> str:
    """A tree with any entries: mode, name, id."""
    raw = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(identifier)
        for mode, name, identifier in rows
    )
    write = ("hash-object", "-t", "tree", "-w", "--stdin", "--literally")
    return repo.git(*write, stdin=raw).strip()


def hostile_trees(repo: Repo) -> dict[str, str]:
    """Trees that would write outside of the worktree, or into its git directory."""
    evil = repo.git("hash-object", "-w", "--stdin", stdin="#!/bin/sh\ntouch /tmp/owned\n").strip()
    out = repo.git("hash-object", "-w", "--stdin", stdin="..").strip()
    git_dir = repo.git("hash-object", "-w", "--stdin", stdin=".git").strip()
    hook = raw_tree(repo, ("100755", "pre-commit", evil))
    hooks = raw_tree(repo, ("40000", "hooks", hook))
    plain = raw_tree(repo, ("100755", "evil", evil))
    return {
        ".git": raw_tree(repo, ("40000", ".git", hooks)),
        ".GIT": raw_tree(repo, ("40000", ".GIT", hooks)),
        "git~1": raw_tree(repo, ("40000", "git~1", hooks)),
        ".git with an ignored character": raw_tree(repo, ("40000", ".g\u200cit", hooks)),
        ".git below": raw_tree(repo, ("40000", "sub", raw_tree(repo, ("40000", ".git", hooks)))),
        "..": raw_tree(repo, ("40000", "..", plain)),
        ".": raw_tree(repo, ("40000", ".", plain)),
        "a name with slashes": raw_tree(repo, ("100755", "../evil", evil)),
        "a whole path": raw_tree(repo, ("100755", ".git/hooks/pre-commit", evil)),
        "an absolute path": raw_tree(repo, ("100755", "/tmp/boocode-evil", evil)),
        "an empty name": raw_tree(repo, ("40000", "", plain)),
        "a symlink and what is below it": raw_tree(
            repo, ("120000", "link", out), ("40000", "link", plain)
        ),
        "a symlink to .git": raw_tree(repo, ("120000", "s", git_dir), ("40000", "s", hooks)),
        "a .gitmodules that is a symlink": raw_tree(repo, ("120000", ".gitmodules", out)),
    }


HOSTILE = (
    *(".git", ".GIT", "git~1", ".git with an ignored character", ".git below", "..", "."),
    *("a name with slashes", "a whole path", "an absolute path", "an empty name"),
    *("a symlink and what is below it", "a symlink to .git", "a .gitmodules that is a symlink"),
)


@pytest.mark.quick
@pytest.mark.ref_files
def test_invalid_objects_are_rejected_one_by_one(both: Both) -> None:
    sound = [forged(both.remote, label=str(number)) for number in range(5)]
    trees = hostile_trees(both.remote)
    assert set(trees) == set(HOSTILE)
    evil = {kind: forged(both.remote, tree) for kind, tree in trees.items()}
    for name, commit in (*sound, *evil.values()):
        plant(both.remote, name, commit)
    fetched = fetch(both.theirs)
    assert sorted(fetched.ids) == sorted(name for name, _ in sound)
    assert {name for name, _ in fetched.rejected} == {name for name, _ in evil.values()}
    assert len(shared(both.theirs)) == 5
    # One alone comes as single objects, not as a pack, and is looked at all the same.
    for kind in (".git", "..", "a .gitmodules that is a symlink"):
        name, _ = evil[kind]
        alone = fetch(both.theirs, "origin", name)
        assert [each for each, _ in alone.rejected] == [name]


@pytest.mark.ref_files
def test_too_many_invalid_checkpoints_to_isolate(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_TRIES", 3)
    tree = hostile_trees(both.remote)[".git"]
    evil = [forged(both.remote, tree, label=str(n)) for n in range(4)]
    sound = forged(both.remote)
    for name, commit in (*evil, sound):
        plant(both.remote, name, commit)
    fetched = fetch(both.theirs)
    assert {name for name, _ in evil} <= {name for name, _ in fetched.rejected}
    assert set(fetched.ids) <= {sound[0]}
    assert any("too many are invalid" in reason for _, reason in fetched.rejected)
    assert fetch(both.theirs, "origin", sound[0]).ids in ([], [sound[0]])
    assert len(shared(both.theirs)) == 1


@pytest.mark.parametrize("kind", HOSTILE)
def test_restoring_a_hostile_tree_writes_nothing_outside(
    repo: Repo, kind: str, tmp_path: Path
) -> None:
    """As if it had come by `git fetch`, which checks nothing by default."""
    repo.git("init", "-q", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    repo.commit(a="a\n")
    name, commit = forged(repo, hostile_trees(repo)[kind])
    repo.git("update-ref", f"{REMOTES}evil/{name}", commit)
    before = sorted(tmp_path.iterdir()), (repo.top / ".git/config").read_bytes()
    hooks = sorted((repo.top / ".git/hooks").rglob("*"))
    tried(repo, name, dry_run=True)
    failed = tried(repo, name)
    assert (sorted(tmp_path.iterdir()), (repo.top / ".git/config").read_bytes()) == before
    assert sorted((repo.top / ".git/hooks").rglob("*")) == hooks
    for path in (repo.top / "evil", Path("/tmp/boocode-evil")):
        assert not path.exists()
    assert not (repo.top / ".GIT").exists() or (repo.top / ".git").samefile(repo.top / ".GIT")
    if failed:
        assert repo.files().keys() == {"a"}


def tried(repo: Repo, name: str, **options: Any) -> str:
    """Restore; the code of the error, if it failed as it may."""
    try:
        restore(at(repo), name, RestoreRequest(force=frozenset(FOREIGN), **options))
    except BoocodeError as error:
        return error.code
    return ""


@pytest.mark.quick
def test_harmless_forged_checkpoints_are_restored(repo: Repo) -> None:
    """So that the others do not fail for another reason than the one that is meant."""
    repo.commit(a="a\n")
    blob, tree = repo.git("rev-parse", "HEAD:a").strip(), repo.git("rev-parse", "HEAD:").strip()
    name, commit = forged(repo, raw_tree(repo, ("100755", "new", blob)))
    repo.git("update-ref", f"{REMOTES}friend/{name}", commit)
    assert tried(repo, name) == ""
    assert repo.files().keys() == {"new"}
    name, commit = forged(repo, tree, index=staging(repo, "new", blob, tree))
    repo.git("update-ref", f"{REMOTES}friend/{name}", commit)
    assert tried(repo, name) == ""
    assert repo.git("diff", "--name-only", "--diff-filter=U").split() == ["new2"]
    assert repo.git("ls-files").split() == ["a", "new", "new2"]


def staging(repo: Repo, path: str, blob: str, tree: str) -> dict[str, str | None]:
    """What metadata says of a staging area in which a path is intended to be added, and more."""
    rows = f"I 100644 {blob} 0\t{path}\0M 100755 {blob} 2\t{path}2\0"
    record = repo.git("hash-object", "-w", "--stdin", stdin=rows).strip()
    details = repo.git("mktree", stdin=f"100644 blob {record}\tentries\n").strip()
    return {"tree": tree, "commit": None, "details": details}


@pytest.mark.quick
def test_a_staging_area_that_names_a_path_twice(repo: Repo) -> None:
    repo.commit(a="a\n")
    blob, tree = repo.git("rev-parse", "HEAD:a").strip(), repo.git("rev-parse", "HEAD:").strip()
    index = staging(repo, f"x\0I 120000 {blob} 0\tx", blob, tree)
    name, commit = forged(repo, tree, index=index)
    repo.git("update-ref", f"{REMOTES}evil/{name}", commit)
    assert tried(repo, name) == "malformed"


def test_a_staging_area_with_outside_paths(repo: Repo) -> None:
    repo.commit(a="a\n")
    blob, tree = repo.git("rev-parse", "HEAD:a").strip(), repo.git("rev-parse", "HEAD:").strip()
    inside = (".git/hooks/pre-commit", ".GIT/config", "git~1/x", "link/x", "link")
    for path in ("../evil", "/tmp/boocode-evil", "a/../../evil", "", "x//y", *inside):
        name, commit = forged(repo, tree, index=staging(repo, path, blob, tree))
        repo.git("update-ref", f"{REMOTES}evil/{name}", commit)
        code = tried(repo, name)
        assert code or path in ("link/x", "link"), path
        assert not (repo.top.parent / "evil").exists()
        assert not Path("/tmp/boocode-evil").exists()
        assert not (repo.top / ".git/hooks/pre-commit").exists()
        assert not re.search(r"\t(\.\.|\.git|/)", repo.git("ls-files", "-s"), re.IGNORECASE)


def no_checkpoints(repo: Repo) -> dict[str, str]:
    """What is no checkpoint, each under a name that could be one's."""
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip()
    tree = repo.git("mktree").strip()
    genuine = forged(repo)[1]
    message = "s\n\n" + json.dumps({"boocode": 1, "kind": "checkpoint"})
    repo.git("tag", "-a", "-m", "x", "t", genuine)
    made = {
        "its ref does not point to a commit": (blob, tree, repo.git("rev-parse", "t").strip()),
        "its message contains no JSON object": (repo.git("rev-parse", "main").strip(),),
        "its message has another id": (
            genuine, repo.git("commit-tree", tree, stdin=message).strip(),
        ),
    }  # fmt: skip
    found = {}
    for reason, targets in made.items():
        for target in targets:
            found[name := new_id()] = reason
            plant(repo, name, target)
    for reason, values in (
        ("its message has another kind", {"kind": "pre-restore"}),
        ("its format 2 is newer than this version of git-boocode", {"boocode": 2}),
    ):
        name, commit = forged(repo, **values)
        plant(repo, name, commit)
        found[name] = reason
    return found


@pytest.mark.ref_files
def test_malformed_checkpoints_are_rejected_and_get_no_ref(both: Both) -> None:
    found = no_checkpoints(both.remote)
    taken = take()
    push(both.ours)
    for _ in range(2):
        fetched = fetch(both.theirs)
        assert dict(fetched.rejected) == found
        assert shared(both.theirs) == [f"{REMOTES}origin/{taken.id} {taken.commit.id}"]


@pytest.mark.ref_files
def test_a_commit_too_large_to_read(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_LARGEST_COMMIT", 2000)
    name, commit = forged(both.remote, label="x" * 3000)
    plant(both.remote, name, commit)
    (rejected,) = fetch(both.theirs).rejected
    assert rejected.name == name
    assert rejected.reason.endswith(" bytes")


@pytest.mark.ref_files
@pytest.mark.quick
def test_names_invented_by_a_remote(both: Both) -> None:
    commit = forged(both.remote)[1]
    identifier = new_id()
    names = ("x", "a/b", "ALICE", f"alice/{identifier}", f"{identifier}x", f"{identifier.upper()}F",
             "ü\u202e", "\udcff", "-n", f"{identifier}/x", "checkpoints", "HEAD")  # fmt: skip
    for name in names:
        plant(both.remote, name, commit)
    nested_remote(both, "origin/alice")
    fetched = fetch(both.theirs, "origin")
    assert {name for name, _ in fetched.rejected} == set(names)
    assert shared(both.theirs) == []
    done = both.theirs.boocode("fetch", "origin")
    assert done.code == 0
    assert "\u202e" not in done.out + done.err
    assert done.err.count(" ! ") == len(names)


def test_objects_that_the_remote_has_lost(both: Both) -> None:
    both.ours.write("a", "lost\n")
    lost = take()
    both.ours.write("a", "kept\n")
    kept = take()
    push(both.ours)
    blob = both.remote.git("rev-parse", f"{lost.ref}:a").strip()
    path = both.remote.top / "objects" / blob[:2] / blob[2:]
    path.unlink()
    fetched = fetch(both.theirs)
    assert fetched.ids == [kept.id]
    assert [name for name, _ in fetched.rejected] == [lost.id]
    both.remote.git("update-ref", "-d", kept.ref)


@pytest.mark.ref_files
def test_a_remote_that_lists_missing_objects(both: Both) -> None:
    taken = take()
    push(both.ours)
    name = new_id()
    plant(both.remote, name, NOBODY)
    fetched = fetch(both.theirs)
    assert fetched.ids == [taken.id]
    assert [each for each, _ in fetched.rejected] == [name]
