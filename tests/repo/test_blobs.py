from __future__ import annotations

import pytest

from git_boocode.repo.object_writer import read_blobs
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_blobs_come_in_the_order_asked_for(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    repo.git("init", "-q", f"--object-format={algorithm}", "other")
    other = Repo(repo.top / "other")
    contents = [b"", b"\n", b"x\0\n\xff", b"last"]
    ids = [other.git("hash-object", "-w", "--stdin", stdin=data).strip() for data in contents]
    tree = other.git("mktree").strip()
    monkeypatch.chdir(other.top)
    git = Repository.discover().git
    assert read_blobs(git, [*ids[::-1], ids[0]]) == [*contents[::-1], b""]
    assert read_blobs(git, [tree, "f" * len(tree), ids[3]]) == [None, None, b"last"]
    assert read_blobs(git, []) == []
