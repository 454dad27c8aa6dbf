"""No operation deletes an ignored file of the user, or puts it into the object store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from git_boocode.repo.errors import FatalError
from tests.checkpoints.kit import Host, back, interrupted, redone, refs, sound, take, undone
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

SECRET = "TOPSECRET\n"


@pytest.fixture
def ignoring(repo: Repo) -> Repo:
    """A checkpoint A without rules, and now rules that ignore a secret."""
    repo.write("a", "a\n")
    take(label="A")
    repo.write(".gitignore", ".env\nnode_modules/\n")
    repo.write(".env", SECRET)
    repo.write("node_modules/deep/key", SECRET)
    return repo


def private(repo: Repo, *paths: str) -> None:
    """The files hold the secret still, and no object does."""
    for path in paths or (".env", "node_modules/deep/key"):
        assert repo.read(path) == SECRET.encode()
    assert SECRET.strip() not in repo.git("cat-file", "--batch-all-objects", "--batch")
    sound(repo)


def without_rules(repo: Repo) -> None:
    undone()
    (repo.top / ".gitignore").unlink()
    redone()


WAYS: dict[str, Callable[[Repo], object]] = {
    "undo and redo": lambda _: (undone(), redone(), undone()),
    "dry run": lambda _: undone(dry_run=True),
    "safety checkpoint": lambda _: back(refs(Repo(Path.cwd()), "safety")[0].split()[0][-36:]),
    "redo without the rules": without_rules,
    "checkpoint": lambda _: (undone(), take()),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("paths", [(), (".gitignore",)])
def test_what_the_earlier_rules_ignore_is_left_out(
    ignoring: Repo, way: str, paths: tuple[str, ...]
) -> None:
    take()
    back("label:A", paths=paths)
    assert not (ignoring.top / ".gitignore").exists()
    kept = undone(dry_run=True).kept
    assert (".env", "ignored in the checkpoint") in [tuple(each) for each in kept] or paths
    WAYS[way](ignoring)
    private(ignoring)


def test_an_undo_leaves_out_what_a_deleted_rule_ignored(ignoring: Repo) -> None:
    ignoring.write("sub/.gitignore", "key\n")
    ignoring.write("sub/key", SECRET)
    ignoring.write("a", "changed\n")
    back("label:A", paths=("a",))
    (ignoring.top / "sub/.gitignore").unlink()
    undone()
    private(ignoring, "sub/key")


def test_an_undo_of_a_restore_with_head_leaves_out_ignored_files(repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="A")
    repo.commit(**{".gitignore": "node_modules/\n"})
    repo.write("node_modules/deep/key", SECRET)
    back("label:A", head=True)
    undone()
    private(repo, "node_modules/deep/key")


def test_files_ignored_by_a_restore_are_kept_without_the_rules(repo: Repo) -> None:
    repo.write(".gitignore", ".env\n")
    take(label="A")
    (repo.top / ".gitignore").unlink()
    back("label:A")
    repo.write(".env", SECRET)
    (repo.top / ".gitignore").unlink()
    undone()
    private(repo, ".env")


@pytest.mark.parametrize("how", ["undo", "restore"])
def test_an_interrupted_restore_exposes_no_ignored_files(
    ignoring: Repo, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    interrupted(monkeypatch, lambda: back("label:A"))
    assert not (ignoring.top / ".gitignore").exists()
    undone() if how == "undo" else back("label:A")
    private(ignoring)


@pytest.mark.parametrize("act", ["echo mess > b", "echo mess > mess; git add mess"])
def test_a_rollback_records_no_ignored_files(ignoring: Repo, act: str) -> None:
    ignoring.write("b", "b\n")
    ignoring.git("add", "b")
    host = Host(ignoring, trim=f"{act}; exit 3")
    with pytest.raises(FatalError):
        back("label:A", callback=host.path)
    assert ignoring.read("b") == b"b\n"
    private(ignoring)


def test_recorded_files_are_restored_although_the_rules_ignore_them(
    repo: Repo,
) -> None:
    repo.write("a", "a\n")
    take(label="A")
    repo.write(".gitignore", ".env\n")
    repo.write(".env", "tracked\n")
    repo.git("add", "-f", ".env", ".gitignore")
    back("label:A")
    assert not (repo.top / ".env").exists()
    repo.write(".env", "another\n")
    undone()
    assert repo.read(".env") == b"tracked\n"
    redone()
    assert repo.read(".env") == b"another\n"


def test_a_dry_run_stores_nothing_although_it_is_to_replace_ignored_files(repo: Repo) -> None:
    repo.write("new", "new\n")
    take(label="A")
    (repo.top / "new").unlink()
    repo.write(".gitignore", "key\n")
    repo.write("new/key", SECRET)
    repo.write("visible", "visible\n")
    objects = repo.git("cat-file", "--batch-all-objects", "--batch-check")
    outcome = back("label:A", dry_run=True, force=frozenset({"ignored"}))
    assert {change.path for change in outcome.changed} >= {"new", "new/key"}
    assert repo.git("cat-file", "--batch-all-objects", "--batch-check") == objects
    assert repo.boocode("diff", "label:A").code == 0
    assert repo.git("cat-file", "--batch-all-objects", "--batch-check") == objects
    private(repo, "new/key")


# Where an operation has written.


def hide(repo: Repo, rule: str) -> None:
    repo.write(".git/info/exclude", f"{rule}\n")


def test_an_undo_leaves_a_file_alone_that_was_rewritten_and_is_ignored(repo: Repo) -> None:
    repo.write("conf", "public\n")
    take(label="A")
    (repo.top / "conf").unlink()
    hide(repo, "conf")
    back("label:A")
    assert repo.read("conf") == b"public\n"
    repo.write("conf", SECRET)
    undone()
    private(repo, "conf")


def test_an_undo_deletes_hidden_files_except_rewritten_ones(repo: Repo) -> None:
    names = ["one", "two", 'quo"ted', "new\nline", "link"]
    for name in names[:-1]:
        repo.write(f"conf/{name}", f"{name}\n")
    (repo.top / "conf/link").symlink_to("one")
    take(label="A")
    for name in names:
        (repo.top / "conf" / name).unlink()
    hide(repo, "conf/")
    back("label:A")
    repo.write("conf/two", SECRET)
    undone()
    assert [path.name for path in (repo.top / "conf").iterdir()] == ["two"]
    private(repo, "conf/two")


def test_a_redo_leaves_a_file_alone_that_was_rewritten_and_is_ignored(repo: Repo) -> None:
    repo.write("d", "file\n")
    take(label="A")
    (repo.top / "d").unlink()
    repo.write(".gitignore", ".env\n")
    repo.write("d/.env", "recorded\n")
    take()
    back("label:A", force=frozenset({"ignored"}))
    undone()
    assert repo.read("d/.env") == b"recorded\n"
    repo.write("d/.env", SECRET)
    redone()
    private(repo, "d/.env")


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_a_restore_blocked_by_ignored_files_can_be_forced(repo: Repo, command: str) -> None:
    repo.write("d", "file\n")
    take(label="A")
    repo.write("d", "changed\n")
    back("label:A")
    if command == "redo":
        undone()
    (repo.top / "d").unlink()
    hide(repo, "key")
    repo.write("d/key", "own\n")
    for options in ("-n",), ():
        done = repo.boocode(command, *options)
        assert (done.code, repo.read("d/key")) == (0, b"own\n")
        assert f"'git boocode {command} --force ignored' replaces ignored files" in done.err
    assert repo.boocode(command, "--force", "ignored").code == 0
    assert repo.read("d") == (b"changed\n" if command == "undo" else b"file\n")


@pytest.mark.parametrize("warm", [True, False])
def test_ignored_files_that_only_head_tracks_are_left_alone(repo: Repo, warm: bool) -> None:
    repo.commit(**{".env": "example\n", "a": "a\n"})
    take(label="tracked")
    repo.git("rm", "-q", "--cached", ".env")
    repo.write(".git/info/exclude", ".env\n")
    repo.write(".env", SECRET)
    if not warm:
        shutil.rmtree(repo.top / ".git/boocode")
    take(label="untracked")
    take(paths=(".",))
    repo.write("a", "changed\n")
    take()
    outcome = back("label:tracked")
    assert (".env", "ignored file '.env' is in the way") in [tuple(kept) for kept in outcome.kept]
    # It is still untracked, or this would record it.
    take()
    undone()
    redone()
    take()
    back("label:untracked")
    private(repo, ".env")
