"""What takes space for nothing: leftovers that doctor removes, and those that it only names."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from git_boocode.checkpoints.checkup import Finding
from git_boocode.checkpoints.disk_checkup import check_disk
from git_boocode.repo.gc import KEEP_MARK
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

OLD = 2 * 86_400


@pytest.fixture
def objects(repo: Repo) -> Path:
    """The directory of objects of a repository with a checkpoint."""
    repo.commit(a="a\n")
    take()
    (repo.top / ".git/objects/pack").mkdir(exist_ok=True)
    return repo.top / ".git/objects"


def left(path: Path, *, age: float = OLD, size: int = 1000) -> Path:
    """A file that was written some seconds ago, in an old directory if that is new."""
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    when = time.time() - age
    os.utime(path, (when, when))
    if made:
        os.utime(path.parent, (when, when))
    return path


def found(*, fix: bool = False) -> list[Finding]:
    return list(check_disk(Repository.discover(), fix=fix))


def test_old_temporary_files_of_objects_are_removed(objects: Path) -> None:
    names = ("pack/tmp_pack_iXq1Ab", "pack/.tmp-77-pack-0123.idx", "ab/tmp_obj_Zz0011")
    old = [left(objects / name) for name in names]
    young = left(objects / "pack/tmp_idx_iXq1Ab", age=60)
    old.append(left(objects / "tmp_objdir-incoming-aBcDeF/ab/tmp_obj_000000").parent.parent)
    os.utime(old[-1], (time.time() - OLD,) * 2)
    # Something in it is being written.
    busy = left(objects / "tmp_objdir-incoming-young0/pack/tmp_pack_000000", age=10)
    kept = left(objects / "pack/tmp_notes.txt"), left(objects / "ab/cdef")
    (finding,) = (each for each in found() if not each.past)
    assert (finding.kind, finding.fixed) == ("leftover_files", False)
    assert sorted(finding.paths) == sorted(map(str, old))
    assert "temporary files of objects behind, 3.91 KiB" in finding.message
    assert all(path.exists() for path in old)
    assert [each.fixed for each in found(fix=True) if not each.past] == [True]
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in (young, busy, *kept))
    assert [each for each in found() if not each.past] == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system shows no open files")
def test_what_a_process_has_open_stays(objects: Path) -> None:
    path = left(objects / "pack/tmp_pack_iXq1Ab")
    with path.open("ab"):
        assert found(fix=True) == [] or all(each.past for each in found())
        assert path.exists()
    assert [each.fixed for each in found(fix=True)] == [True]
    assert not path.exists()


def test_our_own_files_of_killed_commands(objects: Path, repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    state = repo.top / ".git/worktrees/other/boocode/tmp-1-abc"
    aside = left(repo.top / ".git/boocode.0123456789abcdef/turns.json").parent
    keep = left(objects / "pack/pack-1.keep")
    keep.write_bytes(KEEP_MARK)
    os.utime(keep, (time.time() - OLD,) * 2)
    theirs = left(objects / "pack/pack-2.keep")
    state.mkdir(parents=True)
    (finding,) = (each for each in found(fix=True) if not each.past)
    assert sorted(finding.paths) == sorted(map(str, (state, aside, keep)))
    assert not any(path.exists() for path in (state, aside, keep))
    assert theirs.exists()


def test_what_others_left_is_named_with_its_size_and_stays(objects: Path, repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=os.urandom(5000)).strip()
    repo.git("update-ref", "refs/cline/checkpoints/1", blob)
    for name in ("refs/cline/checkpoints/2", "refs/replace/x", "refs/notes/x", "refs/prefetch/x"):
        repo.git("update-ref", name, "HEAD")
    left(objects / "pack/foo.txt")
    (repo.top / ".git/gc.log").write_text("warning: There are too many unreachable objects\n")
    before = repo.git("for-each-ref")
    findings = {finding.kind: finding for finding in found(fix=True)}
    assert findings.keys() == {"gc_log", "foreign_files", "foreign_refs"}
    assert all(finding.past for finding in findings.values())
    refs = findings["foreign_refs"]
    assert refs.message == (
        "another tool has 2 refs below 'refs/cline', 4.90 KiB that only they need"
    )
    files = findings["foreign_files"]
    assert files.message == "git does not use some files among its objects, 1000 bytes"
    assert [Path(line) for line in files.lines] == [objects / "pack/foo.txt"]
    assert findings["gc_log"].lines == ("warning: There are too many unreachable objects",)
    assert (objects / "pack/foo.txt").exists()
    assert repo.git("for-each-ref") == before
    done = repo.boocode("doctor")
    assert (done.code, "note: 'git for-each-ref refs/cline' lists them" in done.out) == (0, True)


@pytest.mark.ref_files
def test_old_locks_of_others_are_named_and_stay(objects: Path, repo: Repo) -> None:
    git = objects.parent
    names = ("HEAD.lock", "config.lock", "refs/heads/main.lock")
    locks = [left(git / name, age=7200, size=0) for name in names]
    left(git / "shallow.lock", age=5, size=0)
    done = repo.boocode("doctor", "--fix", "--json")
    assert done.code == 1
    found = done.json["findings"]
    assert [row["paths"] for row in found] == [[str(lock)] for lock in locks]
    assert found[1]["message"].startswith("git's file 'config' has been locked for 2 hours: ")
    assert all(lock.exists() for lock in locks)
