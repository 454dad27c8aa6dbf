"""Proposals whose objects are damaged, and what else must not keep a command from working."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.ids import new_id
from git_boocode.repo.layout import PROPOSALS, REMOTE_PROPOSALS
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import sound
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def propose(repo: Repo, old: str = "one", new: str = "two", *, cwd: str = "") -> str:
    """Propose a change of `a`; returns the proposal's id."""
    edit = {"path": "a", "old_string": old, "new_string": new}
    done = repo.boocode("propose", "--json", stdin=json.dumps(edit), cwd=cwd)
    assert done.code == 0, done
    return str(done.json["id"])


def commit_of(repo: Repo, name: str, suffix: str = "") -> str:
    """An object of a proposal."""
    return repo.git("rev-parse", f"{PROPOSALS}{name}{suffix}").strip()


def lose(repo: Repo, identifier: str) -> None:
    """Delete a loose object."""
    (repo.top / ".git/objects" / identifier[:2] / identifier[2:]).unlink()


def findings(repo: Repo, *options: str) -> list[dict[str, Any]]:
    """What doctor finds."""
    return list(repo.boocode("doctor", "--json", *options).json["findings"])


# Doctor


@pytest.mark.parametrize("lost", ["", "^{tree}", "^", ":a"])
def test_missing_objects(repo: Repo, lost: str) -> None:
    repo.commit(a="one\n")
    repo.write("a", "local\n")
    good = propose(repo, "local", "first")
    bad = propose(repo, "first", "two")
    lose(repo, commit_of(repo, bad, lost))
    [found] = findings(repo)
    assert found["kind"] == ("unreadable_proposal" if lost == "" else "missing_objects")
    assert "the proposal" in found["message"]
    assert "checkpoint" not in found["message"] + found["remedy"]
    assert not found["fixed"]
    [found] = findings(repo, "--fix")
    assert found["fixed"]
    assert findings(repo) == []
    names = repo.git("for-each-ref", "--format=%(refname)", PROPOSALS).split()
    assert names == [PROPOSALS + good]
    sound(repo)


def test_unreadable_proposals(repo: Repo) -> None:
    repo.commit(a="one\n")
    tree = repo.git("mktree").strip()
    texts = ["no JSON", '{"boocode": 1, "kind": "checkpoint"}']
    texts.append('{"boocode": 1, "kind": "proposal", "files": [{"path": ""}]}')
    for text in texts:
        bad = repo.git("commit-tree", tree, stdin=f"subject\n\n{text}\n").strip()
        name = f"{PROPOSALS}{new_id()}"
        repo.git("update-ref", name, bad)
        [found] = findings(repo)
        assert found["kind"] == "unreadable_proposal"
        assert found["message"].startswith(f"the proposal at {name} cannot be used: ")
        assert found["remedy"] == f"to delete it: git update-ref -d {name}"
        # Only what breaks git is removed.
        assert [each["fixed"] for each in findings(repo, "--fix")] == [False]
        repo.git("update-ref", "-d", name)


def test_fetched_proposals(repo: Repo) -> None:
    repo.commit(a="one\n")
    name = propose(repo)
    fetched = f"{REMOTE_PROPOSALS}team/alice/{name}"
    repo.git("update-ref", fetched, f"{PROPOSALS}{name}")
    repo.git("update-ref", "-d", f"{PROPOSALS}{name}")
    assert findings(repo) == []
    lose(repo, repo.git("rev-parse", f"{fetched}:a").strip())
    [found] = findings(repo)
    assert found["kind"] == "missing_objects_fetched"
    assert f"the proposal {name}, fetched from 'team/alice', lacks" in found["message"]
    assert "git boocode fetch team/alice" in found["remedy"]
    assert [each["fixed"] for each in findings(repo, "--fix")] == [True]
    tree = repo.git("mktree").strip()
    repo.git("update-ref", fetched, repo.git("commit-tree", tree, "-m", "x").strip())
    [found] = findings(repo)
    assert found["kind"] == "unreadable_fetched"
    assert found["message"].startswith(f"the fetched proposal at {fetched} cannot be used")


# Everything else that is kept


def test_counts_and_uninstall(repo: Repo) -> None:
    repo.commit(a="one\n")
    before = repo.boocode("status", "--json").json["storage"]["bytes"]
    name = propose(repo)
    repo.git("update-ref", f"{REMOTE_PROPOSALS}x/{name}", f"{PROPOSALS}{name}")
    answer = repo.boocode("status", "--json").json
    counts = answer["checkpoints"]
    assert [counts[key] for key in ("count", "safety", "archived", "fetched")] == [0] * 4
    assert answer["edits"] == {"count": 0}
    assert answer["storage"]["bytes"] > before
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert findings(repo) == []
    assert repo.boocode("accept").code == 0
    assert repo.boocode("uninstall", "--everything").code == 0
    assert repo.git("for-each-ref", "refs/boocode") == ""
    assert repo.boocode("status", "--porcelain").out == ""


def _directory(path: Path) -> None:
    path.unlink()
    (path / "x").mkdir(parents=True)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


_DAMAGE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda path: path.write_bytes(b"garbage" * 100),
    "empty": lambda path: path.write_bytes(b""),
    "truncated": _truncated,
    "directory": _directory,
    "fifo": _fifo,
    "lock": lambda path: path.with_name(f"{path.name}.lock").touch(),
    "link": _link,
    "unreadable": lambda path: path.chmod(0),
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_the_cache_may_be_damaged(repo: Repo, damage: str) -> None:
    repo.commit(a="one\n")
    propose(repo)
    assert repo.boocode("status", "--porcelain").out == "M  a\n"
    cache = Path(Repository.discover().state_dir, "proposals.index")
    assert cache.is_file()
    _DAMAGE[damage](cache)
    run = repo.unprivileged if damage == "unreadable" else repo.boocode
    for _ in range(2):
        done = run("status", "--porcelain")
        assert (done.code, done.out, done.err) == (0, "M  a\n", "")
    # What cannot be a cache of ours is left to the user; the others are replaced.
    kinds = ["unusable_files"] if damage == "directory" else []
    assert [finding["kind"] for finding in findings(repo)] == kinds
    repo.write("a", "changed\n")
    assert run("status", "--porcelain").out == "~M a\n"
    assert run("accept", "--overwrite").code == 0
    assert (repo.top / "a").read_text() == "two\n"
    assert run("status", "--porcelain").out == "   a\n"
    sound(repo)


# Kinds of repositories


def whole_life(repo: Repo) -> None:
    """Propose, look, accept, take it back, and sync."""
    assert repo.boocode("status", "--porcelain").out == ""
    name = propose(repo)
    assert repo.boocode("status", "--porcelain").out == "M  a\n"
    assert "-one\n+two" in repo.boocode("diff", "--proposal").out
    assert repo.boocode("accept").code == 0
    assert ((repo.top / "a").read_text(), name) == ("two\n", name)
    assert repo.boocode("status", "--porcelain").out == "   a\n"
    assert repo.boocode("undo").code == 0
    assert (repo.top / "a").read_text() == "one\n"
    assert repo.boocode("status", "--porcelain").out == "M  a\n"
    repo.write("a", "mine\n")
    assert repo.boocode("status", "--porcelain").out == "~M a\n"
    assert repo.boocode("discard").code == 0
    assert repo.boocode("sync").code == 0
    assert repo.boocode("status", "--porcelain").out == "   a\n"
    assert findings(repo) == []
    sound(repo)


def test_sha256(repo: Repo, tmp_path: Path) -> None:
    repo.git("init", "-q", "--object-format=sha256", str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    other.commit(a="one\n")
    whole_life(other)


def test_reftable(tmp_path: Path, repo: Repo) -> None:
    top = str(tmp_path / "other")
    made = subprocess.run(["git", "init", "-q", "--ref-format=reftable", top], capture_output=True)
    if made.returncode:
        pytest.skip("this git knows no reftable")
    other = Repo(tmp_path / "other")
    other.commit(a="one\n")
    whole_life(other)


def test_worktrees_have_their_own(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="one\n")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    mine = propose(repo)
    whole_life(other)
    assert repo.boocode("status", "--porcelain").out == "M  a\n"
    theirs = propose(other, "mine", "theirs")
    # Each of them is the newest one where it was made, whatever came later.
    assert theirs > mine
    assert repo.boocode("prune", "--all", "--keep", "1").code == 0
    assert repo.boocode("status", "--porcelain").out == "M  a\n"
    assert other.boocode("status", "--porcelain").out == "M  a\n"
    assert repo.boocode("accept").code == 0
    assert [(each.top / "a").read_text() for each in (repo, other)] == ["two\n", "mine\n"]
    assert other.boocode("undo").code == 0
    assert (repo.top / "a").read_text() == "two\n"
