"""Problems of checkpoints that doctor finds and repairs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.checkpoints.checkup import Finding, check_checkpoints, check_files
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.proposals.proposal import Proposals
from git_boocode.repo.ids import new_id
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, REMOTES, SAFETY
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, refs, take, undone
from tests.checkpoints.test_retention import forged, forged_text
from tests.repo.test_missing_objects import lose
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def found(*, fix: bool = False) -> list[Finding]:
    """The findings."""
    repository = Repository.discover()
    return [
        *check_files(repository, fix=fix),
        *check_checkpoints(repository, Proposals(repository), fix=fix),
    ]


def only(*, fix: bool = False) -> Finding:
    """The only finding."""
    [finding] = found(fix=fix)
    return finding


def repaired(kind: str) -> None:
    """There is one problem; it is reported, repaired, and then gone."""
    finding = only()
    assert (finding.kind, finding.fixed) == (kind, False)
    assert only() == finding
    done = only(fix=True)
    assert (done.kind, done.message, done.paths, done.fixed) == (
        kind, finding.message, finding.paths, True
    )  # fmt: skip
    assert found() == []


def aside(path: Path, seconds: float = 100) -> Path:
    """Make a file look as if it had been left a while ago."""
    moment = time.time() - seconds
    os.utime(path, (moment, moment))
    return path


def test_after_restores_of_every_kind_there_are_no_findings(repo: Repo) -> None:
    assert found() == []
    repo.commit(a="one\n")
    repo.write("b", "b\n")
    repo.git("add", "b")
    repo.git("add", "-N", "a")
    first = take(chat="c")
    repo.write("a", "two\n")
    take(chat="c")
    back(first.id)
    assert found() == []
    undone()
    assert found() == []


@pytest.mark.parametrize("below", [CHECKPOINTS, SAFETY, f"{ARCHIVE}x/"])
def test_unreadable_checkpoints(repo: Repo, below: str) -> None:
    repo.commit()
    if below.startswith(ARCHIVE):
        forged(repo, "x", below=SAFETY, kind="pre-restore")
    malformed = forged_text(repo, new_id(1), "nonsense", below=below)
    newer = forged(repo, new_id(2), below=below, boocode=99)
    junk = forged_text(repo, "no-id-of-ours", "nonsense", below=below)
    findings = {each.message.split()[3].removeprefix(below): each for each in found(fix=True)}
    assert {each.kind for each in findings.values()} == {"unreadable_checkpoint"}
    assert not any(each.fixed for each in findings.values())
    assert findings[malformed].remedy == f"to delete it: git boocode drop {malformed}"
    assert findings[newer].remedy == "update git-boocode"
    assert f"git update-ref -d {below}{junk}" in findings[junk].remedy


def test_missing_objects(repo: Repo) -> None:
    repo.commit(a="one\n")
    whole = take()
    repo.write("a", "two\n")
    repo.git("add", "a")
    repo.write("a", "three\n")
    lacking = take()
    staged = repo.git("rev-parse", f"{lacking.meta.part('index', 'commit')}:a").strip()
    repo.git("reset", "-q")
    lose(repo, staged)
    finding = only()
    assert (finding.kind, finding.fixed) == ("missing_objects", False)
    assert finding.message == f"the checkpoint {lacking.id} lacks objects, such as {staged}"
    assert f"'git boocode drop {lacking.id}'" in finding.remedy
    gone(repo, lacking.ref, "missing_objects")
    assert refs(repo, "checkpoints") == [f"{whole.ref} {whole.commit.id}"]


def gone(repo: Repo, ref: str, kind: str) -> None:
    """A ref is removed because it lacks objects, and git has nothing to complain about then."""
    target = repo.git("rev-parse", ref).strip()
    finding = only(fix=True)
    assert (finding.kind, finding.fixed) == (kind, True)
    assert ref in finding.remedy
    assert target in finding.remedy
    assert found() == []
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("fsck") == ""


@pytest.mark.parametrize(
    ("below", "what"),
    [(CHECKPOINTS, ""), (CHECKPOINTS, "^{tree}"), (CHECKPOINTS, ":a"), (SAFETY, ""),
     (SAFETY, ":a"), (f"{ARCHIVE}x/", "^{tree}"), (f"{REMOTES}origin/", ""),
     (f"{REMOTES}origin/", ":a")],
)  # fmt: skip
def test_a_ref_that_lacks_objects_is_removed(repo: Repo, below: str, what: str) -> None:
    repo.commit(b="b\n")
    repo.write("a", "a\n")
    taken = take()
    ref = below + taken.id
    repo.git("update-ref", ref, taken.commit.id)
    if below != CHECKPOINTS:
        repo.git("update-ref", "-d", taken.ref)
    if below.startswith(ARCHIVE):
        forged(repo, "x", below=SAFETY, kind="pre-restore")
    lose(repo, f"{taken.commit.id}{what}")
    assert not only().fixed
    kind = "missing_objects" if what else "unreadable_checkpoint"
    if below.startswith(REMOTES):
        kind = "missing_objects_fetched" if what else "unreadable_fetched"
    gone(repo, ref, kind)


def test_a_ref_of_an_unknown_kind_that_names_nothing_is_removed(repo: Repo) -> None:
    repo.commit(b="b\n")
    repo.write("a", "a\n")
    taken = take()
    ref = f"refs/boocode/later/{taken.id}"
    repo.git("update-ref", ref, taken.commit.id)
    assert found() == []
    repo.git("update-ref", "-d", taken.ref)
    lose(repo, taken.commit.id)
    assert not only().fixed
    gone(repo, ref, "unreadable_checkpoint")


def test_what_is_not_a_private_file_is_removed(repo: Repo) -> None:
    repo.commit()
    take()
    state = repo.top / ".git/boocode"
    (state / "refusals.log").symlink_to("nowhere")
    repo.write(".git/boocode/view.html/below", "x")
    repo.write(".git/boocode/transcripts", "x")
    finding = only()
    assert finding.kind == "unusable_files"
    assert [os.path.basename(path) for path in finding.paths] == [
        "refusals.log", "transcripts", "view.html"
    ]  # fmt: skip
    assert only(fix=True).fixed
    assert not {"refusals.log", "transcripts", "view.html"} & {*os.listdir(state)}


def test_a_ref_whose_file_is_empty_is_removed(repo: Repo) -> None:
    repo.commit()
    taken = take()
    path = repo.top / ".git" / taken.ref
    path.write_text("")
    finding = only()
    assert (finding.kind, finding.fixed, finding.paths) == (
        "unreadable_checkpoint",
        False,
        (str(path),),
    )
    finding = only(fix=True)
    assert finding.fixed
    assert taken.ref in finding.message
    assert found() == []
    repo.git("gc", "-q", "--prune=now")


def fetched_one(repo: Repo, **files: str) -> Checkpoint:
    """A checkpoint as if it had been fetched, though one with its id was taken here as well."""
    for path, content in files.items():
        repo.write(path, content)
    taken = take()
    repo.git("update-ref", f"{REMOTES}a'b/c/{taken.id}", taken.commit.id)
    return taken


def test_fetched_checkpoints_that_lack_objects(repo: Repo) -> None:
    taken = fetched_one(repo, a="one\n")
    assert found() == []
    repo.git("update-ref", "-d", taken.ref)
    lost = lose(repo, f"{taken.commit.id}:a")
    finding = only()
    assert (finding.kind, finding.fixed) == ("missing_objects_fetched", False)
    assert all(said in finding.message for said in (taken.id, lost, "'a'b/c'"))
    remedy = finding.remedy.partition("' deletes it")[0].removeprefix("'")
    subprocess.run(remedy, shell=True, check=True)
    assert found() == []


def test_unreadable_fetched_checkpoints(repo: Repo) -> None:
    taken = fetched_one(repo)
    lose(repo, taken.commit.id)
    here, theirs = found()
    assert (here.kind, theirs.kind) == ("unreadable_checkpoint", "unreadable_fetched")
    assert f"git boocode drop {taken.id}" in here.remedy
    assert "git boocode drop" not in theirs.remedy
    repo.git("update-ref", "-d", taken.ref)
    assert only().kind == "unreadable_fetched"


def test_missing_objects_of_the_staging_area(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.write("new", "n\n")
    repo.git("add", "-N", "new")
    taken = take()
    lose(repo, f"{taken.meta.part('index', 'details')}:entries")
    assert only().kind == "missing_objects"


def test_a_damaged_object(repo: Repo) -> None:
    repo.write("d/a", "a\n")
    taken = take()
    tree = lose(repo, f"{taken.commit.id}:d")
    repo.write(f".git/objects/{tree[:2]}/{tree[2:]}", "no tree")
    finding = only()
    assert finding.kind == "missing_objects"
    assert "git cannot check the objects" in finding.message


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flip(content: bytes) -> bytes:
    return content[:40] + bytes([content[40] ^ 1]) + content[41:]


def _of_a_later_format(content: bytes) -> bytes:
    changed = content[:7] + b"\x09" + content[8:-20]
    return changed + hashlib.sha1(changed, usedforsecurity=False).digest()


@pytest.mark.parametrize("damage", [_cut, _flip, _of_a_later_format, lambda _: b"garbage"])
def test_a_damaged_index(repo: Repo, damage: Callable[[bytes], bytes]) -> None:
    repo.commit(a="one\n")
    repo.write("a", "staged\n")
    repo.git("add", "a")
    intact = repo.read(".git/index")
    taken = take()
    repo.write(".git/index", damage(intact))
    # This one knows nothing of what was staged.
    take()
    finding = only(fix=True)
    assert (finding.kind, finding.fixed) == ("damaged_index", False)
    assert finding.paths == (str(repo.top / ".git/index"),)
    assert repo.read(".git/index") == damage(intact)
    assert taken.id in finding.remedy
    anew, back = re.findall("'(rm .*? && git .*?)'", finding.remedy)
    for command, status in ((back, "M  a\n"), (anew, " M a\n")):
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
        assert found() == []
        assert repo.git("status", "--porcelain") == status


def test_a_damaged_index_and_no_checkpoint(repo: Repo) -> None:
    repo.commit(a="one\n")
    for content in ("garbage", ""):
        repo.write(".git/index", content)
        assert "read-tree" not in only().remedy
    (repo.top / ".git/index").unlink()
    assert found() == []


def test_an_index_that_cannot_be_read(repo: Repo) -> None:
    index = repo.top / ".git/index"
    index.mkdir()
    assert (only().kind, only().paths) == ("unreadable_index", (str(index),))


def test_leftover_files(repo: Repo) -> None:
    take()
    state = ".git/boocode"
    repo.write(f"{state}/tmp-1-dead/alive")
    repo.write(f"{state}/tmp-1-dead/objects/ab/cd", "x")
    aside(repo.write(f"{state}/new-tmp-2-dead/alive").parent)
    with scratch_directory(Repository.discover().state_dir):
        pass
    assert found() == []
    repo.write(f"{state}/tmp-1-dead/alive")
    repo.write(f"{state}/tmp-1-dead/objects/ab/cd", "x")
    aside(repo.write(f"{state}/new-tmp-2-dead/alive").parent)
    aside(repo.write(f"{state}/new-3-note", "{"))
    names = [os.path.basename(path) for path in only().paths]
    assert names == ["new-3-note", "new-tmp-2-dead", "tmp-1-dead"]
    repaired("leftover_files")
    assert (repo.top / state / "kept-index.json").exists()


def test_private_files_of_a_command_at_work_stay(repo: Repo) -> None:
    repo.write("a", "a\n")
    take()
    with scratch_directory(Repository.discover().state_dir) as path:
        Path(path, "new.index").write_text("x")
        os.link(f"{path}/new.index", ".git/index.lock")
        finding = only(fix=True)
        assert (finding.kind, finding.fixed) == ("leftover_lock", False)
        assert Path(path).exists()
        assert Path(".git/index.lock").exists()


def test_a_lock_that_a_killed_restore_left(repo: Repo) -> None:
    repo.commit(a="a\n")
    state = repo.top / ".git/boocode/tmp-1-dead"
    repo.write(".git/boocode/tmp-1-dead/alive")
    (state / "worktree.index.staged").write_bytes(repo.read(".git/index"))
    os.link(state / "worktree.index.staged", repo.top / ".git/index.lock")
    kinds = [(each.kind, each.fixed) for each in found()]
    assert kinds == [("leftover_lock", False), ("leftover_files", False)]
    # What proved whose the lock is has been removed with it.
    assert only(fix=True).kind == "leftover_lock"
    assert not state.exists()
    assert not (repo.top / ".git/index.lock").exists()
    assert found() == []


@pytest.mark.parametrize(
    ("age", "shown"),
    [
        (1, "was locked less than a minute ago"),
        (60, "has been locked for 1 minute"),
        (7200, "has been locked for 2 hours"),
        (9e5, "has been locked for 10 days"),
    ],
)
def test_a_lock_of_unknown_origin_is_kept(repo: Repo, age: float, shown: str) -> None:
    repo.commit(a="a\n")
    # Even beside leftover files, with the same content as one of them.
    repo.write(".git/boocode/tmp-1-dead/x.index", repo.read(".git/index"))
    aside(repo.write(".git/index.lock", repo.read(".git/index")), age)
    lock = found(fix=True)[0]
    assert (lock.kind, lock.fixed) == ("leftover_lock", False)
    assert f"the index {shown}: " in lock.message
    assert lock.paths == (str(repo.top / ".git/index.lock"),)
    assert (repo.top / ".git/index.lock").exists()


def test_locks_of_refs(repo: Repo) -> None:
    taken = take()
    packed, ours = repo.write(".git/packed-refs.lock"), repo.write(f".git/{taken.ref}.lock")
    assert found() == []
    for path in (packed, ours):
        aside(path)
    findings = found()
    assert [each.paths for each in findings] == [(str(path),) for path in (packed, ours)]
    assert {each.kind for each in findings} == {"leftover_lock"}
    assert [each.fixed for each in found(fix=True)] == [False, True]
    assert (packed.exists(), ours.exists()) == (True, False)
    packed.unlink()
    assert found() == []


def test_locks_of_refs_that_may_still_be_written(repo: Repo) -> None:
    locks = [repo.write(f".git/refs/boocode/checkpoints/{new_id()}.lock") for _ in range(2)]
    aside(locks[0])
    finding = only(fix=True)
    assert (finding.fixed, finding.paths) == (False, (str(locks[0]),))
    aside(locks[1], 30)
    assert [each.fixed for each in found(fix=True)] == [False, False]
    aside(locks[1], 61)
    assert [each.fixed for each in found(fix=True)] == [True, True]
    assert not any(lock.exists() for lock in locks)


NOBODY = "01900000-0000-7000-8000-000000000000"


@pytest.mark.parametrize("note", [json.dumps({"safety": NOBODY}), "no note", '{"safety": 1}'])
def test_a_note_without_a_target(repo: Repo, note: str) -> None:
    repo.write(".git/boocode/restore-in-progress", note)
    repaired("stale_note")


def test_the_note_of_an_interrupted_restore_stays(repo: Repo) -> None:
    repo.write("a", "a\n")
    take()
    repo.write("a", "b\n")
    safety = str(back().undo)
    note = json.dumps({"safety": safety})
    repo.write(".git/boocode/restore-in-progress", note)
    assert found(fix=True) == []
    assert repo.read(".git/boocode/restore-in-progress").decode() == note
    repo.write(".git/boocode/restore-in-progress", "no note")
    assert safety in only().message


def test_states_saved_halfway(repo: Repo) -> None:
    name = forged(repo, new_id(), below=SAFETY, kind="pre-restore", restore={"halfway": True})
    finding = only(fix=True)
    assert (finding.kind, finding.fixed) == ("halfway", False)
    assert name in finding.message
    assert repo.boocode("drop", name).code == 0
    assert found() == []


def test_archived_checkpoints_of_a_deleted_restore(repo: Repo) -> None:
    repo.commit(a="a\n")
    first = take(chat="c")
    later = [take(chat="c") for _ in range(2)]
    before = refs(repo, "checkpoints")
    repo.write("a", "b\n")
    safety = back(first.id).undo
    assert len(refs(repo, "archive")) == 2
    repo.git("update-ref", "-d", f"{SAFETY}{safety}")
    # One has been brought back by hand already.
    repo.git("update-ref", later[0].ref, later[0].commit.id)
    assert f"2 checkpoints archived by restore {safety}" in only().message
    repaired("orphaned_archive")
    assert refs(repo, "checkpoints") == before
    assert refs(repo, "archive") == []


def test_two_archived_checkpoints_with_one_id(repo: Repo) -> None:
    repo.commit()
    name = forged(repo, new_id(1), label="one")
    forged(repo, name, below=f"{ARCHIVE}x/", label="another")
    finding = only(fix=True)
    assert (finding.kind, finding.fixed) == ("orphaned_archive", False)
    assert len(refs(repo, "archive", "checkpoints")) == 2
