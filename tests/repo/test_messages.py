"""Real git says what we look for in its messages."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from git_boocode.repo import messages
from git_boocode.repo.git import Git, clean_environment
from git_boocode.repo.messages import (
    RefAnswer,
    bad_object,
    broken_refs,
    complaints,
    failure_reason,
    is_disk_full,
    push_answers,
    remote_reason,
    says,
)
from tests.repo_kit import Repo

AS_ROOT = os.geteuid() == 0


def said(repo: Repo, *arguments: str, stdin: bytes = b"", **env: str) -> str:
    """What a git command that fails, or warns, says."""
    git = Git(str(repo.top), {**clean_environment(os.environ), **env})
    return os.fsdecode(git.attempt(*arguments, stdin=stdin).stderr)


def test_no_room(repo: Repo) -> None:
    repo.write("a", os.urandom(100_000))
    script = "trap '' XFSZ; ulimit -f 1; exec git add a"
    done = subprocess.run(["sh", "-c", script], cwd=repo.top, capture_output=True)
    stderr = os.fsdecode(done.stderr)
    assert is_disk_full(stderr)
    assert says(stderr, messages.UNWRITTEN)


def test_no_room_for_what_is_streamed(repo: Repo) -> None:
    repo.write("a", os.urandom(100_000))
    blob = repo.git("hash-object", "-w", "a").strip()
    script = f"trap '' XFSZ; ulimit -f 1; exec git cat-file blob {blob} >b"
    done = subprocess.run(["sh", "-c", script], cwd=repo.top, capture_output=True)
    assert says(os.fsdecode(done.stderr), messages.UNWRITTEN)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_no_room_for_its_output(repo: Repo) -> None:
    repo.commit(a="a\n")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            ["git", "cat-file", "--batch-all-objects", "--batch-check"],
            cwd=repo.top,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert is_disk_full(os.fsdecode(done.stderr))


def test_a_repository_of_somebody_else(repo: Repo) -> None:
    stderr = said(repo, "rev-parse", "--git-dir", GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert says(stderr, messages.DUBIOUS_OWNERSHIP)


@pytest.mark.parametrize("phrase", ["not uptodate", "would be overwritten", "would lose"])
def test_a_file_in_the_way_of_a_restore(repo: Repo, phrase: str) -> None:
    repo.commit(a="a\n", b="b\n")
    before = repo.git("rev-parse", "HEAD").strip()
    repo.git("rm", "-q", "b")
    repo.commit(a="A\n")
    if phrase == "not uptodate":
        repo.write("a", "changed\n")
    elif phrase == "would be overwritten":
        repo.write("b", "untracked\n")
    else:
        repo.write("b/untracked", "u\n")
    stderr = said(repo, "read-tree", "-m", "-u", "HEAD", before)
    assert phrase in stderr
    assert says(stderr, messages.CHANGED_MEANWHILE)


def test_the_content_of_a_file_is_missing(repo: Repo) -> None:
    repo.commit(a="a\n")
    blob = repo.git("rev-parse", "HEAD:a").strip()
    (repo.top / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    (repo.top / "a").unlink()
    stderr = said(repo, "checkout-index", "a")
    assert says(stderr, messages.MISSING_CONTENT), stderr


def test_a_ref_that_someone_else_changed(repo: Repo) -> None:
    repo.commit(a="a\n")
    head, other = repo.git("rev-parse", "HEAD").strip(), "1" * 40
    for instruction in (
        f"create refs/heads/main {head}",
        f"update refs/heads/main {head} {other}",
        f"delete refs/heads/gone {head}",
    ):
        stderr = said(repo, "update-ref", "--stdin", stdin=f"{instruction}\n".encode())
        assert says(stderr, messages.REF_CHANGED), stderr


@pytest.mark.ref_files
def test_a_ref_that_is_locked(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write(".git/refs/heads/new.lock", "")
    assert says(said(repo, "update-ref", "refs/heads/new", "HEAD"), messages.REF_LOCKED)


@pytest.mark.ref_files
def test_a_ref_that_names_nothing(repo: Repo) -> None:
    repo.write(".git/refs/heads/broken", "")
    assert broken_refs(said(repo, "for-each-ref")) == ["refs/heads/broken"]


def test_pathspecs(repo: Repo) -> None:
    assert messages.OUTSIDE_REPOSITORY in said(repo, "ls-files", "--", "../x")
    assert messages.BAD_PATHSPEC in said(repo, "ls-files", "--", ":(nonsense)x")
    stderr = said(repo, "ls-files", "--error-unmatch", "--", "x")
    assert messages.UNMATCHED_PATHSPEC in stderr


def test_a_file_that_is_shorter_than_it_was(repo: Repo) -> None:
    # It is said to hold 4096 bytes.
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    if not os.path.exists(path):
        pytest.skip("the kernel has no such file")
    git = Git(str(repo.top), os.environ)
    assert messages.SHORT_READ in git.attempt("hash-object", "--no-filters", path).stderr


def test_a_name_that_git_passes_over(repo: Repo) -> None:
    repo.write("git~1", "x\n")
    stderr = said(repo, "update-index", "--add", "git~1")
    assert f"{messages.IGNORED_PATH}git~1\n" in stderr


@pytest.mark.skipif(AS_ROOT, reason="root can read every file")
def test_a_file_that_the_system_refuses_to_open(repo: Repo) -> None:
    repo.write("a", "a\n").chmod(0)
    stderr = said(repo, "update-index", "--add", "a")
    assert re.match(messages.REFUSED_BY_SYSTEM, complaints(stderr)[0]), stderr


@pytest.mark.skipif(AS_ROOT, reason="root can look into every directory")
def test_a_directory_that_cannot_be_looked_into(repo: Repo) -> None:
    repo.write("d/a", "a\n").parent.chmod(0)
    stderr = said(repo, "ls-files", "--others")
    assert re.findall(messages.UNREADABLE_DIRECTORY, stderr) == [("d", "Permission denied")]


@pytest.mark.parametrize("protocol", ["0", "2"])
def test_an_object_that_a_remote_does_not_give(repo: Repo, protocol: str) -> None:
    repo.commit(a="a\n")
    setting = f"protocol.version={protocol}"
    stderr = said(repo, "-c", setting, "fetch", f"file://{repo.top}", "1" * 40)
    assert bad_object(stderr), stderr


def test_an_object_that_is_not_sound(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    commit = f"tree {repo.git('write-tree').strip()}\nauthor nobody\n\nx\n"
    made = repo.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=commit)
    repo.git("update-ref", "refs/x/x", made.strip())
    subprocess.run(["git", "init", "-q", tmp_path / "r"], check=True)
    checked = ("-c", "fetch.fsckObjects=true", "fetch", f"file://{repo.top}", "refs/x/x")
    stderr = said(Repo(tmp_path / "r"), *checked)
    assert bad_object(stderr), stderr


def test_why_a_remote_cannot_be_read(repo: Repo, tmp_path: Path) -> None:
    stderr = said(repo, "ls-remote", str(tmp_path / "nowhere"))
    assert len(list(filter(None, stderr.split("\n")))) == 4
    assert bad_object(stderr) is None
    assert remote_reason(stderr) == (f"'{tmp_path}/nowhere' does not appear to be a git repository")


def test_the_answers_of_a_push(repo: Repo, tmp_path: Path) -> None:
    there = str(tmp_path / "r")
    subprocess.run(["git", "init", "-q", "--bare", there], check=True)
    repo.commit(a="a\n")
    repo.git("push", "-q", there, "HEAD:refs/heads/x", "HEAD:refs/heads/same")
    repo.git("commit", "-q", "--amend", "-m", "other")
    git = Git(str(repo.top), clean_environment(os.environ))
    refs = ("HEAD:refs/heads/x", "HEAD:refs/heads/new", ":refs/heads/same")
    done = git.attempt("push", "--porcelain", there, *refs)
    assert sorted(push_answers(os.fsdecode(done.stdout))) == [
        RefAnswer("refs/heads/new", "*", "[new branch]"),
        RefAnswer("refs/heads/same", "-", "[deleted]"),
        RefAnswer("refs/heads/x", "!", "non-fast-forward"),
    ]
    # No more than advice.
    assert remote_reason(os.fsdecode(done.stderr)) == "no reason given"


def test_what_is_wrong_without_its_severity(repo: Repo) -> None:
    stderr = said(repo, "cat-file", "-e", "nonsense")
    assert complaints(stderr) == ["Not a valid object name nonsense"]
    assert failure_reason(stderr) == "Not a valid object name nonsense"
    assert complaints("warning: x\nerror: a: b\nfatal: c\n") == ["a: b", "c"]
