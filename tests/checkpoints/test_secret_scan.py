"""What a push would send is searched for secrets, and nothing else is."""

from __future__ import annotations

import random

import pytest

from git_boocode.checkpoints.store import secret_scan
from git_boocode.checkpoints.store.secret_scan import FoundSecret, find_secrets, outgoing
from git_boocode.repo.masking import Masker
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo.test_masking import innocent, pem, planted, some
from tests.repo_kit import Repo

TOKEN = "ghp_" + "a1" * 18


def found(*targets: str, there: str = "", patterns: tuple[str, ...] = ()) -> list[FoundSecret]:
    repository = Repository.discover()
    present = [there] if there else []
    going = outgoing(repository, targets, present, present)
    git = repository.git
    return [*find_secrets(git, going.objects(git), Masker(patterns))]


def shown(*targets: str, there: str = "", patterns: tuple[str, ...] = ()) -> set[str]:
    return set(map(str, found(*targets, there=there, patterns=patterns)))


def test_planted_and_innocent_files(repo: Repo) -> None:
    """200 of 200 planted secrets are found, and none in 10,000 innocent texts."""
    chance, wanted = random.Random(40), dict[str, str]()
    for number in range(200):
        secret, kind, text = planted(number)
        lines = [innocent(chance) for _ in range(chance.randrange(4))]
        before = "".join(f"{line}\n();\n" for line in lines)
        line = 1 + before.count("\n") + text.partition(secret)[0].count("\n")
        repo.write(f"planted/{number}", f"{before}{text}\n")
        wanted[f"planted/{number}"] = f"planted/{number}:{line}: {kind}"
    for number in range(100):
        texts = "".join(f"{innocent(chance)}\n();\n" for _ in range(100))
        repo.write(f"innocent/{number}", texts)
    assert shown(take().commit.id) == set(wanted.values())


def test_only_what_the_remote_lacks(repo: Repo) -> None:
    repo.commit(a=f"{TOKEN}\n")
    repo.write("untracked", f"x\n{TOKEN}x\n")
    first = take().commit.id
    assert shown(first) == {"a:1: GitHub token", "untracked:2: GitHub token"}
    assert shown(first, there=repo.git("rev-parse", "HEAD").strip()) == {
        "untracked:2: GitHub token"
    }
    repo.write("b", f"{TOKEN}y\n")
    repo.commit(a=f"{TOKEN}z\n")
    # The history behind the checkpoint goes with it.
    assert shown(take().commit.id, there=first) == {"a:1: GitHub token", "b:1: GitHub token"}


def test_messages_and_metadata(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("commit", "-q", "--allow-empty", "-m", f"say {TOKEN}")
    commit = repo.git("rev-parse", "HEAD").strip()
    taken = take(
        label=f"use {TOKEN}", prompt=f"use\n{pem(random.Random(1))}", meta={"key": [{"x": TOKEN}]}
    )
    assert shown(taken.commit.id) == {
        f"commit {commit[:12]} (message): GitHub token",
        f"{taken.id} (label): GitHub token",
        f"{taken.id} (prompt): private key",
        f"{taken.id} (meta): GitHub token",
    }
    assert TOKEN not in repr([each.as_json() for each in found(taken.commit.id)])


def test_patterns_of_the_user(repo: Repo) -> None:
    repo.write("a", "b\nPIN: 1234\n")
    assert shown(take().commit.id, patterns=(r"PIN: (\d+)",)) == {"a:2: secret"}


def test_binary_files(repo: Repo) -> None:
    chance = random.Random(4)
    (repo.top / "picture").write_bytes(b"\0" + chance.randbytes(100_000))
    (repo.top / "database").write_bytes(b"\0\xff" + TOKEN.encode() + b"\0\n")
    assert shown(take().commit.id) == {"database (binary): GitHub token"}


def test_utf_16(repo: Repo) -> None:
    text = f"é\r\nkey = {TOKEN}\r\n"
    for encoding in ("utf-16-le", "utf-16-be"):
        (repo.top / encoding).write_bytes(f"\ufeff{text}".encode(encoding))
    wanted = {"utf-16-le:2: GitHub token", "utf-16-be:2: GitHub token"}
    assert shown(take().commit.id) == wanted


def test_large_files_are_read_in_windows(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_scan, "_WINDOW", 1000)
    monkeypatch.setattr(secret_scan, "_OVERLAP", 100)
    chance, wanted = random.Random(5), set[str]()
    lines = [f"{some(chance, chance.randrange(1, 90))} é" for _ in range(500)]
    for number in range(3, 500, 41):
        lines[number] = f"key {'AKIA' + 'ABCDEFGH' * 2}"
        wanted.add(f"a:{number + 1}: AWS access key")
    # Not one, wherever a window begins or ends.
    lines = [line + " " + "xAKIA" + "ABCDEFGH" * 2 + "I" for line in lines]
    repo.write("a", "\n".join(lines))
    assert shown(take().commit.id) == wanted


def test_a_file_full_of_secrets(repo: Repo) -> None:
    repo.write("a", f"{TOKEN}\n" * 5_000)
    assert len(found(take().commit.id)) == 20
