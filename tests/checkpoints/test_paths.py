"""`restore ID PATH…`: what the pathspecs match goes back, on disk and staged, and nothing else."""

from __future__ import annotations

import pytest

from git_boocode.repo.errors import RefusedError
from tests.checkpoints.kit import Host, back, interrupted, redone, refs, seen, sound, take, undone
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def messy(repo: Repo) -> Repo:
    """A checkpoint, and a mess after it in two directories and at the top."""
    repo.write(".gitignore", "*.log\n")
    repo.commit(**{"a": "a\n", "b": "b\n", "src/x": "x\n", "src/y": "y\n", "doc/x": "x\n"})
    repo.write("b", "staged\n")
    repo.git("add", "b")
    repo.write("src/new", "untracked\n")
    repo.write("src/meant", "intended\n")
    repo.git("add", "-N", "src/meant")
    take(chat="c")
    for path in ("a", "b", "src/x", "doc/x"):
        repo.write(path, "mess\n")
    (repo.top / "src/y").unlink()
    (repo.top / "src/new").unlink()
    repo.write("src/made", "mess\n")
    repo.git("add", "-A")
    take(chat="c")
    return repo


def staged(repo: Repo, path: str) -> str:
    return repo.git("ls-files", "-s", "-v", "--", path)


def test_a_directory(messy: Repo) -> None:
    before = seen(messy)
    host = Host(messy)
    messy.git("config", "boocode.callback", host.path)
    outcome = back("@~1", paths=("src",))
    assert [(change.path, change.action) for change in outcome.changed] == [
        ("src/made", "delete"), ("src/new", "create"), ("src/x", "modify"), ("src/y", "create")
    ]  # fmt: skip
    assert (outcome.archived, host.events, outcome.index_reset) == ((), [], True)
    there = seen(messy)
    others = ("a", "b", "doc/x")
    assert {path: there.files[path] for path in others} == {
        path: before.files[path] for path in others
    }
    assert [messy.git("status", "--short", "--", "src")] == [" A src/meant\n?? src/new\n"]
    assert messy.git("status", "--short", "--", *others) == "M  a\nM  b\nM  doc/x\n"
    undone()
    assert seen(messy) == before
    redone()
    assert seen(messy) == there
    assert len(refs(messy, "archive")) == 0
    sound(messy)


def test_staging_is_restored_as_by_git_restore(messy: Repo) -> None:
    back("@~1", paths=("b",))
    assert messy.git("show", ":b") == messy.read("b").decode() == "staged\n"
    # Nothing is left to do, for that path.
    assert back("@~1", paths=("b",)).undo is None
    messy.git("reset", "-q", "b")
    outcome = back("@~1", paths=("b",))
    assert (outcome.changed, outcome.index_reset) == ((), True)
    assert messy.git("show", ":b") == "staged\n"


def test_pathspecs_as_in_git(messy: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[tuple[str, tuple[str, ...], list[str]]] = [
        ("src", ("x",), ["src/x"]),
        ("src", (".",), ["src/made", "src/new", "src/x", "src/y"]),
        ("src", (":/a", ":(top)doc"), ["a", "doc/x"]),
        ("", ("*x",), ["doc/x", "src/x"]),
        ("", (":(glob)*",), ["a", "b"]),
        ("", (":(icase)SRC/X",), ["src/x"]),
        ("", ("src", ":!src/[xy]"), ["src/made", "src/new"]),
        ("doc", ("../src/made", "x"), ["doc/x", "src/made"]),
    ]
    for here, specs, changed in expected:
        monkeypatch.chdir(messy.top / here)
        outcome = back("@~1", paths=specs, dry_run=True)
        assert (specs, [change.path for change in outcome.changed]) == (specs, changed)


def test_an_absolute_path_and_a_deleted_directory(
    messy: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seen(messy)
    messy.write("fresh/deep/z", "z\n")
    monkeypatch.chdir(messy.top / "fresh/deep")
    back("@~1", paths=(str(messy.top / "a"), "z"))
    assert messy.read("a") == b"a\n"
    monkeypatch.chdir(messy.top)
    assert not (messy.top / "fresh/deep/z").exists()
    undone()
    assert messy.read("fresh/deep/z") == b"z\n"
    (messy.top / "fresh/deep/z").unlink()
    assert seen(messy) == before


def test_invalid_pathspecs(messy: Repo) -> None:
    before, refs_before = seen(messy), refs(messy)
    wrong: list[tuple[tuple[str, ...], str]] = [
        (("nowhere",), "not_found"),
        (("a", "nowhere/*"), "not_found"),
        (("../up",), "outside_worktree"),
        (("/",), "outside_worktree"),
        ((":(nonsense)a",), "invalid_pathspec"),
        (("",), "invalid_pathspec"),
    ]
    for specs, code in wrong:
        with pytest.raises(RefusedError) as caught:
            back("@~1", paths=specs)
        assert (specs, caught.value.code, caught.value.exit_code) == (specs, code, 1)
        assert caught.value.hints
        assert "/.git/" not in caught.value.message
    assert (seen(messy), refs(messy)) == (before, refs_before)


def test_unnamed_files_in_the_way_are_kept(repo: Repo) -> None:
    repo.commit(**{"dir": "a file\n", "other/x": "x\n"})
    take()
    (repo.top / "dir").unlink()
    repo.write("dir/precious", "p\n")
    repo.git("rm", "-rqf", "other")
    repo.write("other", "a file now\n")
    repo.git("add", "-A")
    before = seen(repo)
    named = ("dir", ":!dir/precious", ":(glob)other/*")
    outcome = back(paths=named, dry_run=True)
    assert outcome.changed == ()
    assert {kept.path for kept in outcome.kept} == {"dir", "other/x"}
    assert back(paths=named).undo is None
    assert seen(repo) == before
    back(paths=("dir", "other"))
    assert repo.read("dir") == b"a file\n"
    undone()
    assert seen(repo) == before


def test_ignored_files_stay(messy: Repo) -> None:
    messy.write("src/x.log", "precious\n")
    messy.write(".gitignore", "")
    outcome = back("@~1", paths=("src",))
    assert messy.read("src/x.log") == b"precious\n"
    assert [kept.path for kept in outcome.kept] == ["src/x.log"]
    # One in the way stays, too, unless that is forced.
    messy.write(".git/info/exclude", "src/new\n")
    messy.write("src/new", "in the way\n")
    before = seen(messy)
    back("@~1", paths=("src/new",))
    assert seen(messy) == before
    back("@~1", paths=("src/new",), force=frozenset({"ignored"}))
    assert messy.read("src/new") == b"untracked\n"
    undone()
    assert seen(messy) == before


def test_conflicts_and_flags_of_some_paths(repo: Repo) -> None:
    base = repo.commit(a="base\n", b="base\n", c="c\n")
    repo.git("checkout", "-q", "-b", "theirs")
    repo.commit(a="theirs\n", b="theirs\n")
    repo.git("checkout", "-q", "-b", "ours", base)
    repo.commit(a="ours\n", b="ours\n")
    repo.git("merge", "-q", "theirs", check=False)
    repo.git("update-index", "--assume-unchanged", "c")
    then = {path: staged(repo, path) for path in "abc"}
    taken = take().id
    repo.git("add", "a", "b")
    repo.git("update-index", "--no-assume-unchanged", "c")
    now = {path: staged(repo, path) for path in "abc"}
    before = seen(repo)
    back(taken, paths=("a", "c"))
    assert {path: staged(repo, path) for path in "abc"} == {**then, "b": now["b"]}
    undone()
    assert seen(repo) == before


def test_a_damaged_index(messy: Repo) -> None:
    messy.write(".git/index", b"garbage")
    with pytest.raises(RefusedError) as caught:
        back("@~1", paths=("a",))
    assert caught.value.code == "bad_index"
    assert messy.read("a") == b"mess\n"


def test_interrupted(messy: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen(messy)
    interrupted(monkeypatch, lambda: back("@~1", paths=("src",)))
    messy.write("a", "written since\n")
    undone()
    # Only its own paths are taken back.
    assert messy.read("a") == b"written since\n"
    messy.write("a", "mess\n")
    assert seen(messy) == before
    redone()
    assert messy.read("src/x") == b"x\n"
    assert messy.read("doc/x") == b"mess\n"


def test_the_command(messy: Repo) -> None:
    done = messy.boocode("restore", "-n", "@~1", "--json", "--", "x", "../a", cwd="src")
    assert (done.code, done.err) == (0, "")
    changed = [(each["path"], each["action"], each["lines"]) for each in done.json["changed"]]
    one = {"added": 1, "removed": 1}
    assert changed == [("a", "modify", one), ("src/x", "modify", one)]
    done = messy.boocode("restore", "@~1", "src/x")
    assert done.out.startswith(" M src/x\nrestored 1 file and the staging area to ")
    wrong = messy.boocode("restore", "@", "nowhere\33[31m")
    assert wrong.code == 1
    assert wrong.err.startswith("error: pathspec 'nowhere?[31m' did not match any file(s)")


def test_lines_of_a_preview(repo: Repo) -> None:
    repo.commit(text="1\n2\n3\n", bin="\0\1")
    take()
    repo.write("text", "1\n")
    repo.write("bin", b"\0\2")
    repo.write("more", "x\ny\n")
    answer = repo.boocode("restore", "-n", "@", "--json").json
    assert {row["path"]: row["lines"] for row in answer["changed"]} == {
        "bin": None,
        "more": {"added": 0, "removed": 2},
        "text": {"added": 2, "removed": 0},
    }
