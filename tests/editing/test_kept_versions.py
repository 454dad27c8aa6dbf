from __future__ import annotations

import time
from pathlib import Path

import pytest

from git_boocode.editing.kept_versions import keep_versions, prune_reads, version_of
from git_boocode.repo.layout import READS
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo

DAY = 86_400.0


def keep(**files: bytes) -> None:
    keep_versions(Repository.discover(), files)


def kept(repo: Repo) -> list[str]:
    """The blobs that refs keep."""
    return repo.git("for-each-ref", "--format=%(objectname)", READS).split()


def test_a_version_outlives_the_file_and_a_gc(repo: Repo) -> None:
    data = b"\xff\r\nno final newline"
    version = version_of(data, Repository.discover())
    keep(a=data, b=b"")
    keep(a=data)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    refs = repo.git("for-each-ref", "--format=%(refname)", READS).split()
    assert sorted(refs) == sorted(f"{READS}{today}/{blob}" for blob in kept(repo))
    assert len(refs) == 2
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("cat-file", "blob", version).encode("utf-8", "surrogateescape") == data
    assert (len(version), repo.git("fsck", "--no-dangling")) == (12, "")


def test_what_head_has_is_not_stored(repo: Repo) -> None:
    repo.commit(a="a\n", **{"name\nb": "b\n"})
    keep(a=b"a\n")
    assert kept(repo) == []
    # The content may go with the file that has it.
    keep(c=b"c\n", **{"name\nb": b"changed\n"})
    assert len(kept(repo)) == 2


def test_an_ignored_file_is_not_stored(repo: Repo) -> None:
    repo.git("init", "-q", "sub")
    repo.git("-C", "sub", "commit", "-q", "--allow-empty", "-m", "inner")
    repo.write("sub/.gitignore", "secret\n")
    repo.commit(**{".gitignore": "*.env\n"})
    repo.write("tracked.env", "x\n")
    repo.git("add", "-f", "tracked.env")
    objects = ("cat-file", "--batch-all-objects", "--batch-check")
    before = repo.git(*objects)
    keep(**{".env": b"a"})
    keep(**{"sub/secret": b"b"})
    assert (repo.git(*objects), kept(repo)) == (before, [])
    keep(**{"tracked.env": b"c"})
    keep(**{"sub/public": b"d"})
    assert len(kept(repo)) == 2


def test_nothing_is_fetched_into_a_partial_clone(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="a\n")
    repo.git("config", "uploadpack.allowFilter", "true")
    options = ("--filter=blob:none", "--no-checkout")
    repo.git("clone", "-q", *options, f"file://{repo.top}", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    clone = Repo(tmp_path / "clone")
    for _ in range(2):
        keep(a=b"changed\n")
    assert len(kept(clone)) == 1
    listed = clone.git("rev-list", "--objects", "HEAD", "--missing=print")
    assert f"?{repo.git('rev-parse', 'HEAD:a')}" in listed


def test_old_days_go(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="old\n").strip()
    now = time.time()
    for days in (0, 29, 30, 31, 400):
        day = time.strftime("%Y-%m-%d", time.gmtime(now - days * DAY))
        repo.git("update-ref", f"{READS}{day}/{blob}", blob)
    repository = Repository.discover()
    assert len(prune_reads(repository, dry_run=True, now=now)) == 2
    repo.git("config", "boocode.editsMaxAge", "29d")
    assert len(prune_reads(Repository.discover(), now=now)) == 3
    assert len(kept(repo)) == 2
    repo.git("config", "boocode.editsMaxAge", "never")
    assert prune_reads(Repository.discover(), now=2 * now) == []


def test_the_first_version_of_a_day_prunes(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="old\n").strip()
    repo.git("update-ref", f"{READS}2020-01-01/{blob}", blob)
    keep(a=b"new\n")
    assert blob not in kept(repo)


def test_a_version_is_kept_although_pruning_fails(repo: Repo) -> None:
    repo.git("config", "boocode.editsMaxAge", "soon")
    keep(a=b"new\n")
    assert len(kept(repo)) == 1
