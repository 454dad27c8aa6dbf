"""Every ref that we write names objects that are there, whatever git deletes at the same time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.repo import gc
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo, Result, gc_after_gc

COUNT = 15

# Runs something once, before or after the first git command that has a certain word in it.
WRAPPER = """#!/bin/sh
git='{git}'
case " $* " in *" {word} "*)
    if mkdir '{once}' 2>/dev/null; then
        {before}
        "$git" "$@"
        status=$?
        {after}
        exit $status
    fi ;;
esac
exec "$git" "$@"
"""
PRUNE = '"$git" prune --expire=now'
REPACK = '"$git" repack -a -d -q'
GC = f"{REPACK}; {PRUNE}"
# A gc that read the refs before ours was written, and deletes later.
LATE = """
sh -c 'cd .git && echo "$$ $(uname -n)" >gc.pid && sleep 0.4 && rm -f objects/??/????* gc.pid' \
    gc --prune=now >/dev/null 2>&1 &
until [ -s .git/gc.pid ]; do :; done
"""
# A gc that notes which loose objects there are when it ends.
SLOW = """
echo "$$ $(uname -n)" >gc.lock && mv gc.lock gc.pid && sleep 0.4
find objects/?? -type f >found 2>/dev/null
rm gc.pid
"""


@contextmanager
def beside(repo: Repo, word: str, *, before: str = "", after: str = "") -> Iterator[None]:
    """Let a git command run another program first, or afterwards."""
    git = shutil.which("git")
    programs = repo.top / ".git/programs"
    programs.mkdir(exist_ok=True)
    once = programs / "once"
    script = WRAPPER.format(git=git, word=word, once=once, before=before or ":", after=after or ":")
    (programs / "git").write_text(script)
    (programs / "git").chmod(0o755)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{programs}{os.pathsep}{path}"
    try:
        yield
    finally:
        os.environ["PATH"] = path
    assert once.exists(), f"no 'git {word}' was run"
    once.rmdir()


def checkpoint(repo: Repo) -> Result:
    repo.write("a", "changed\n")
    return repo.boocode("checkpoint")


def partial(repo: Repo) -> Result:
    repo.write("a", "changed\n")
    return repo.boocode("checkpoint", "a")


def restore(repo: Repo) -> Result:
    repo.write("a", "changed\n")
    return repo.boocode("restore", "@")


def edit(repo: Repo) -> Result:
    given = {"path": "a", "old_string": "a\n", "new_string": "changed\n"}
    return repo.boocode("apply-edit", stdin=json.dumps(given))


def read(repo: Repo) -> Result:
    repo.write("a", "changed\n")
    return repo.boocode("read", "a")


ACTS = {
    "checkpoint": checkpoint,
    "partial": partial,
    "restore": restore,
    "edit": edit,
    "read": read,
}


@pytest.fixture(params=ACTS)
def act(request: pytest.FixtureRequest, repo: Repo) -> Callable[[], Result]:
    """Something that writes a ref, in a repository where that is needed."""
    repo.commit(a="a\n", **{f"d{n}/f": f"{n}\n" for n in range(3)})
    assert repo.boocode("checkpoint").code == 0
    return lambda: ACTS[request.param](repo)


def whole(repo: Repo) -> None:
    """Git finds nothing wrong, and every ref of ours has all its objects."""
    assert repo.git("fsck", "--no-dangling") == ""
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/boocode/").split()
    repo.git("rev-list", "--objects", "--quiet", *refs)
    assert repo.git("gc", "-q") == ""
    assert not list((repo.top / ".git/objects").glob("tmp_*"))


@pytest.mark.parametrize("command", [GC, pytest.param(REPACK, marks=pytest.mark.slow)])
@pytest.mark.variants
def test_git_prunes_before_the_ref_is_written(
    repo: Repo, act: Callable[[], Result], command: str
) -> None:
    # What nothing names is not written again as long as it is there.
    dangling = repo.git("hash-object", "-w", "--stdin", stdin="changed\n").strip()
    if "repack" in command:
        repo.git("pack-objects", "-q", ".git/objects/pack/pack", stdin=f"{dangling}\n")
        repo.git("prune-packed")
    before = len(repo.git("for-each-ref", "refs/boocode/").splitlines())
    with beside(repo, "update-ref", before=command):
        assert act().code == 0
    assert len(repo.git("for-each-ref", "refs/boocode/").splitlines()) == before + 1
    whole(repo)


def many(repo: Repo) -> Result:
    for number in range(60):
        repo.write(f"new{number}/file", f"{number}\n")
    return repo.boocode(
        "propose",
        stdin=json.dumps({"edits": [{"path": f"n{n}/f", "content": f"{n}\n"} for n in range(60)]}),
    )


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("command", [REPACK, GC])
@pytest.mark.variants
def test_a_repack_deletes_a_pack_before_its_ref_is_written(
    repo: Repo, packed: bool, command: str
) -> None:
    repo.commit(a="a\n")
    repo.git("repack", "-a", "-d", "-q") if packed else None
    with beside(repo, "update-ref", before=command):
        assert many(repo).code == 0
    assert len(repo.git("for-each-ref", "refs/boocode/proposals/").splitlines()) == 1
    whole(repo)


@pytest.mark.variants
def test_a_gc_that_listed_objects_earlier_deletes_them_later(
    repo: Repo, act: Callable[[], Result]
) -> None:
    repo.git("gc", "-q", "--prune=now")
    with beside(repo, "update-ref", after=LATE):
        assert act().code == 0
    assert not (repo.top / ".git/gc.pid").exists()
    whole(repo)


@pytest.mark.variants
def test_a_gc_that_was_running_at_the_start_ends_before_the_look(
    repo: Repo, act: Callable[[], Result]
) -> None:
    # It has repacked already, so that no pack comes or goes. Process 1 is always running.
    repo.git("gc", "-q", "--prune=now")
    repo.write(".git/gc.pid", f"1 {os.uname().nodename}")
    with beside(repo, "update-ref", before=f"{PRUNE}; rm .git/gc.pid"):
        assert act().code == 0
    whole(repo)


@pytest.mark.parametrize("act", [checkpoint, edit, read])
def test_nothing_is_published_before_a_running_gc_ends(
    repo: Repo, act: Callable[[Repo], Result]
) -> None:
    repo.commit(a="a\n")
    repo.git("gc", "-q", "--prune=now")
    with subprocess.Popen(["sh", "-c", SLOW, "gc", "--prune=now"], cwd=repo.top / ".git") as slow:
        while not (repo.top / ".git/gc.pid").exists():
            assert slow.poll() is None
        assert act(repo).code == 0
    assert (repo.top / ".git/found").read_text() == ""
    whole(repo)


def test_a_gc_of_a_repository_without_objects(repo: Repo) -> None:
    repo.write("a", "a\n")
    with beside(repo, "update-ref", before=GC):
        assert repo.boocode("checkpoint").code == 0
    whole(repo)


def test_a_gc_deletes_the_staging_area_of_a_target(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    turn = repo.boocode("checkpoint").out.strip()
    repo.write("a", "changed\n")
    repo.write("b", "staged\n")
    repo.git("add", "a", "b")
    repo.write("b", "changed\n")
    assert repo.boocode("checkpoint").code == 0
    # The tree that the revert stages is new; only a parent of the target's commit has it.
    staged = repo.git("rev-parse", ":b").strip()
    entries = repo.git("ls-tree", "HEAD", "a") + f"100644 blob {staged}\tb\n"
    tree = repo.git("mktree", stdin=entries).strip()
    repo.git("prune")
    delete = f"rm .git/objects/{tree[:2]}/{tree[2:]} && touch .git/objects/pack"
    with beside(repo, "update-ref", before=delete):
        assert repo.boocode("revert", turn, "a").code == 0
    assert repo.git("write-tree").strip() == tree
    whole(repo)


@pytest.mark.parametrize("content", ["999999999 {host}", "1 elsewhere", "garbage", "", "9" * 5000])
def test_leftovers_of_a_killed_gc_delay_nothing(repo: Repo, content: str) -> None:
    host = subprocess.run(["hostname"], capture_output=True, text=True).stdout.strip()
    repo.write(".git/gc.pid", content.format(host=host))
    repo.write("a", "a\n")
    assert repo.boocode("checkpoint").code == 0


def test_objects_that_are_deleted_repeatedly(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "PATIENCE", 0.1)
    repo.commit(a="a\n")
    repo.write("b", "b\n")
    with beside(repo, "update-ref", before=f"rmdir '{repo.top}/.git/programs/once'; {GC}"):
        with pytest.raises(gc.CollectedError):
            capture(Repository.discover(), Request())
        (repo.top / ".git/programs/once").mkdir(exist_ok=True)
    assert repo.git("for-each-ref", "refs/boocode/") == ""
    whole(repo)


@pytest.mark.slow
def test_checkpoints_and_edits_beside_one_gc_after_another(repo: Repo) -> None:
    repo.commit(**{f"d{n}/f{n}": f"{n}\n" for n in range(20)}, edited="0\n")
    with gc_after_gc(repo):
        for number in range(COUNT):
            repo.write(f"d{number % 7}/new", f"{number}\n")
            assert repo.boocode("checkpoint").code == 0
            given = {"path": "edited", "content": f"edit {number}\n"}
            assert repo.boocode("apply-edit", stdin=json.dumps(given)).code == 0
    kinds = repo.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/boocode/").split()
    assert (
        sorted(kind.partition("/")[0] for kind in kinds)
        == ["checkpoints"] * COUNT + ["edits"] * COUNT
    )
    whole(repo)
