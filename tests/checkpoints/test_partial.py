"""Checkpoints of some paths: those as they are on disk, all else as in the newest checkpoint."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, held, held_without_history, refs, seen, sound, take
from tests.checkpoints.states import inner
from tests.checkpoints.test_capture import skipped, tree
from tests.checkpoints.test_properties import DEED, PATH, clear, do
from tests.repo_kit import Repo, examples


def set_up(repo: Repo) -> None:
    """A checkpoint, and since then a change in every file."""
    repo.write(".gitignore", "*.log\n")
    repo.commit(**{"a.txt": "a\n", "b": "b\n", "dir/c.txt": "c\n", "dir/d": "d\n"})
    for path in ("new", "made/x", "x.log"):
        repo.write(path, "old\n")
    take()
    for path in ("a.txt", "b", "dir/c.txt", "new", "made/x", "x.log"):
        repo.write(path, "changed\n")
    (repo.top / "dir/d").unlink()
    for path in ("newer", "dir/e", "made/deep/y", "y.log"):
        repo.write(path, "changed\n")


def entries(repo: Repo, name: str) -> dict[str, str]:
    """Modes and objects of a tree, by path."""
    rows = repo.git("ls-tree", "-r", "-z", name).split("\0")[:-1]
    return {path: fields for fields, _, path in (row.partition("\t") for row in rows)}


def only(repo: Repo, *paths: str) -> set[str]:
    """Take a checkpoint of some paths; the paths that differ from the one before."""
    before = entries(repo, refs(repo, "checkpoints")[-1].split()[1])
    after = entries(repo, take(paths=paths).commit.id)
    return {path for path, _ in before.items() ^ after.items()}


ALL = {"a.txt", "b", "dir/c.txt", "dir/d", "dir/e", "new", "newer", "made/x", "made/deep/y"}
DIR = {"dir/c.txt", "dir/d", "dir/e"}
MADE = {"made/x", "made/deep/y"}
SPECS: list[tuple[tuple[str, ...], set[str]]] = [
    (("a.txt",), {"a.txt"}),
    (("a.txt", "new"), {"a.txt", "new"}),
    (("a.txt", "a.txt", "./a.txt", "dir/../a.txt"), {"a.txt"}),
    (("dir",), DIR),
    (("dir/",), DIR),
    (("dir/d",), {"dir/d"}),
    (("dir/e",), {"dir/e"}),
    (("newer",), {"newer"}),
    (("made",), MADE),
    (("made/deep",), {"made/deep/y"}),
    ((".",), ALL),
    ((":/",), ALL),
    (("*",), ALL),
    (("*.txt",), {"a.txt", "dir/c.txt"}),
    ((":(glob)*.txt",), {"a.txt"}),
    ((":(glob)**/*",), ALL),
    ((":(icase)A.TXT",), {"a.txt"}),
    ((":(literal)*.txt",), set()),
    (("new*",), {"new", "newer"}),
    (("[ab]*",), {"a.txt", "b"}),
    ((".", ":(exclude)dir"), ALL - DIR),
    ((".", ":!made", ":^dir"), ALL - DIR - MADE),
    ((":(exclude)dir",), ALL - DIR),
    (("dir", ":(exclude)dir/d"), DIR - {"dir/d"}),
    (("nothing/there",), set()),
    (("x.log",), set()),
    (("*.log",), set()),
]


def test_only_named_paths_are_recorded(repo: Repo) -> None:
    set_up(repo)
    before = seen(repo)
    base = entries(repo, refs(repo, "checkpoints")[0].split()[1])
    wrong = []
    for paths, expected in SPECS:
        taken = take(paths=paths)
        found = {path for path, _ in base.items() ^ entries(repo, taken.commit.id).items()}
        if found != expected:
            wrong.append((paths, found))
        repo.git("update-ref", "-d", taken.ref)
    assert wrong == []
    assert seen(repo) == before


def test_without_a_checkpoint_everything_is_recorded(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    repo.write("new", "n\n")
    taken = take(paths=("a",))
    assert set(tree(repo, taken)) == {"a", "b", "new"}
    assert "partial" not in taken.meta.values


def test_the_trees_of_the_newest_are_lost(repo: Repo) -> None:
    set_up(repo)
    lost = repo.git("rev-parse", f"{refs(repo, 'checkpoints')[-1].split()[1]}^{{tree}}").strip()
    (repo.top / ".git/objects" / lost[:2] / lost[2:]).unlink()
    taken = take(paths=("a.txt",))
    kept = tree(repo, taken)
    assert kept["a.txt"] == "changed\n"
    assert kept["b"] in ("b\n", "changed\n")
    assert repo.git("rev-list", "--objects", taken.commit.id)


def test_names_with_odd_bytes(repo: Repo) -> None:
    names = [
        "new\nline",
        "\udcff",
        "tab\t",
        "-n",
        "*",
        "[x]",
        ":colon",
        "é",
        "a b",
        "\\back",
        '"q"',
    ]
    for name in names:
        repo.write(f"{name}", "old\n")
        repo.write(f"d {name}/below", "old\n")
    repo.write("x", "old\n")
    take()
    for path in repo.files():
        repo.write(path, "changed\n")
    assert only(repo, *(f":(literal){name}" for name in names)) == {*names}
    below = {f"d {name}/below" for name in names}
    assert only(repo, *(f":(top,literal)d {name}" for name in names)) == below
    assert held() == held_without_history()


def test_from_a_subdirectory(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(repo)
    monkeypatch.chdir(repo.top / "dir")
    assert only(repo, "c.txt") == {"dir/c.txt"}
    assert only(repo, "../a.txt") == {"a.txt"}
    assert only(repo, ".") == {"dir/d", "dir/e"}
    assert only(repo, ":/made/x", ":(top)b") == {"made/x", "b"}
    assert only(repo, "..") == {"new", "newer", "made/deep/y"}


@pytest.mark.parametrize("where", ["", "dir"])
def test_absolute_paths(repo: Repo, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    set_up(repo)
    monkeypatch.chdir(repo.top / where)
    assert only(repo, str(repo.top / "a.txt"), str(repo.top / "made")) == {"a.txt", *MADE}
    assert only(repo, str(repo.top)) == ALL - {"a.txt", *MADE}


def test_absolute_paths_through_a_symlink(repo: Repo, tmp_path: Path) -> None:
    set_up(repo)
    (tmp_path / "alias").symlink_to(repo.top)
    assert only(repo, str(tmp_path / "alias/a.txt")) == {"a.txt"}


def test_paths_outside_the_worktree_and_invalid_ones(repo: Repo) -> None:
    set_up(repo)
    before = refs(repo)
    for path in ("..", "../x", "/etc/passwd", "dir/../../x"):
        with pytest.raises(BoocodeError) as caught:
            take(paths=("a.txt", path))
        assert (path, caught.value.code) == (path, "outside_worktree")
    for path in ("", ":(nonsense)x", ":(glob,literal)x"):
        with pytest.raises(BoocodeError):
            take(paths=(path,))
    assert refs(repo) == before


def test_unrecorded_files_are_reported(repo: Repo) -> None:
    set_up(repo)
    repo.git("config", "boocode.maxFileSize", "1k")
    repo.write("large", "x" * 1025)
    inner(repo, "nested")
    os.mkfifo(repo.top / "pipe")
    assert skipped(take(paths=("nested/inner.txt",)))
    names = ("x.log", "large", "nested", "pipe", "a.txt", "gone")
    taken = take(paths=names)
    assert set(skipped(taken)) >= {"x.log", "large", "nested", "pipe"}
    assert not {"a.txt", "gone"} & set(skipped(taken))
    assert tree(repo, taken)["a.txt"] == "changed\n"
    assert not {"x.log", "large", "pipe"} & set(tree(repo, taken))
    assert not [path for path in tree(repo, taken) if path.startswith("nested")]
    assert held() == held_without_history()


def test_a_tracked_file_that_is_large_or_ignored(repo: Repo) -> None:
    set_up(repo)
    repo.git("config", "boocode.maxFileSize", "1k")
    repo.git("add", "-f", "x.log")
    repo.write("b", "x" * 1025)
    # The one is new to the base, the other is not.
    assert only(repo, "x.log", "b") == {"x.log", "b"}
    assert held() == held_without_history()


def test_files_that_came_into_the_index_and_left_it(repo: Repo) -> None:
    set_up(repo)
    repo.git("add", "newer")
    repo.git("rm", "-q", "--cached", "b")
    (repo.top / "newer").unlink()
    assert only(repo, "newer", "b") == {"b"}
    assert held() == held_without_history()


def test_staging_that_changed_meanwhile(repo: Repo) -> None:
    set_up(repo)
    repo.git("add", "b", "newer")
    staged = repo.git("write-tree").strip()
    before = seen(repo)
    taken = take(paths=("a.txt",))
    assert taken.meta.values["index"]["tree"] == staged
    assert tree(repo, taken)["b"] == "b\n"
    repo.git("reset", "-q")
    repo.write("a.txt", "mess\n")
    back(taken.id)
    assert seen(repo).staged == before.staged
    assert (repo.read("a.txt"), repo.read("b")) == (b"changed\n", b"b\n")


@pytest.mark.parametrize("path", ["b", "new"])
def test_a_file_that_became_a_directory(repo: Repo, path: str) -> None:
    set_up(repo)
    (repo.top / path).unlink()
    repo.write(f"{path}/below/it", "x\n")
    assert only(repo, path) == {path, f"{path}/below/it"}
    assert held() == held_without_history()


def test_a_sparse_checkout(repo: Repo) -> None:
    repo.commit(**{"a.txt": "a\n", "dir/c": "c\n", "out/x": "x\n", "out/y": "y\n"})
    repo.sparse("dir")
    take()
    repo.write("dir/c", "changed\n")
    repo.write("a.txt", "changed\n")
    assert only(repo, "dir") == {"dir/c"}
    # They are not deleted, they are not wanted.
    assert only(repo, "out") == set()
    repo.write("out/x", "there after all\n")
    assert only(repo, "out/x") == {"out/x"}
    assert held() == held_without_history()


@pytest.mark.parametrize("options", [("--cone", "in"), ("--no-cone", "/in/", "/top")])
@pytest.mark.variants
def test_files_omitted_by_a_sparse_checkout_do_not_change(
    repo: Repo, options: tuple[str, ...]
) -> None:
    repo.commit(**{"top": "t\n", "in/a": "a\n", "out/b": "b\n", "out/c": "c\n", "out/d": "d\n"})
    repo.git("sparse-checkout", "set", *options)
    repo.write("out/d", "on disk\n")
    take()
    for path in ("in/a", "out/b", "top"):
        repo.write(path, "changed\n")
    (repo.top / "out/d").unlink()
    for path in ("in/a", "top", "out/b", "out/c"):
        assert only(repo, path) == ({path} - {"out/c"})
    # It is left out again, and what is staged stands for it, as in a checkpoint of everything.
    repo.git("sparse-checkout", "reapply")
    repo.write("in/a", "again\n")
    assert only(repo, "in", "out/c") == {"in/a"}
    assert only(repo, "out/d") == {"out/d"}
    assert held() == held_without_history()


def test_if_changed(repo: Repo) -> None:
    set_up(repo)
    repository = Repository.discover()

    def one(*paths: str) -> tuple[bool, str]:
        done = capture(repository, Request(only_if_changed=True, paths=paths))
        return done.changed, done.checkpoint.id

    first = refs(repo, "checkpoints")
    assert [one(path)[0] for path in ("x.log", "nothing", "made/deep/none")] == [False] * 3
    assert refs(repo, "checkpoints") == first
    changed, taken = one("a.txt")
    assert changed
    assert one("a.txt") == (False, taken)
    assert one("b")[0]
    assert len(refs(repo, "checkpoints")) == 3


def test_a_restore_of_one(repo: Repo) -> None:
    set_up(repo)
    taken = take(paths=("a.txt", "dir"))
    repo.write("a.txt", "mess\n")
    repo.write("mess", "mess\n")
    back(taken.id)
    on_disk = {path: content for path, (_, content) in repo.files().items()}
    assert on_disk == {
        ".gitignore": b"*.log\n",
        "a.txt": b"changed\n",
        "dir/c.txt": b"changed\n",
        "dir/e": b"changed\n",
        "b": b"b\n",
        "new": b"old\n",
        "made/x": b"old\n",
        "x.log": b"changed\n",
        "y.log": b"changed\n",
    }
    assert held() == held_without_history()
    sound(repo)


def test_another_worktrees_checkpoint_is_no_base(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(repo)
    repo.git("worktree", "add", "-q", "-b", "side", ".git/side")
    monkeypatch.chdir(repo.top / ".git/side")
    Path("only").write_text("there\n")
    taken = take(paths=("a.txt",))
    assert set(tree(repo, taken)) == {".gitignore", "a.txt", "b", "dir/c.txt", "dir/d", "only"}
    monkeypatch.chdir(repo.top)
    assert only_since(repo, taken, "newer") >= {"newer"}


def only_since(repo: Repo, other: Checkpoint, *paths: str) -> set[str]:
    """What a checkpoint of some paths holds that one of another worktree does not."""
    return entries(repo, take(paths=paths).commit.id).keys() - entries(repo, other.commit.id).keys()


def grown(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "1k")
    repo.write("new", "x" * 1025)


def piped(repo: Repo) -> None:
    (repo.top / "new").unlink()
    os.mkfifo(repo.top / "new")


def piped_though_tracked(repo: Repo) -> None:
    (repo.top / "b").unlink()
    os.mkfifo(repo.top / "b")


def ignored(repo: Repo) -> None:
    repo.write(".git/info/exclude", "new\nmade\n")


def taken_over(repo: Repo) -> None:
    Repo(repo.top / "made").git("init", "-q")


def taken_over_though_tracked(repo: Repo) -> None:
    Repo(repo.top / "dir").git("init", "-q")


def unreadable_by_filter(repo: Repo) -> None:
    repo.git("config", "filter.bad.clean", "false")
    repo.git("config", "filter.bad.required", "true")
    repo.write(".git/info/attributes", "new filter=bad\nb filter=bad\n")


@pytest.mark.parametrize(
    "happen",
    [
        *(grown, piped, piped_though_tracked, ignored, taken_over, taken_over_though_tracked),
        unreadable_by_filter,
    ],
)
@pytest.mark.variants
def test_named_paths_are_recorded_as_in_a_full_checkpoint(
    repo: Repo, happen: Callable[[Repo], None]
) -> None:
    set_up(repo)
    happen(repo)
    names = ("new", "b", "made", "dir")
    part = take(paths=names)
    whole = take()
    assert held() == held_without_history()
    taken, expected = (entries(repo, one.commit.id) for one in (part, whole))
    assert at_or_below(taken, names) == at_or_below(expected, names)
    wanted = {path for path in skipped(whole) if path.split("/")[0] in names}
    if happen in (ignored, piped):
        # Whoever names a file learns that it was left out.
        wanted.add("new")
    assert {path for path in skipped(part) if path.split("/")[0] in names} == wanted


def at_or_below(found: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """What lies at or below some names at the top."""
    return {path: fields for path, fields in found.items() if path.split("/")[0] in names}


STEP = st.one_of(
    DEED,
    DEED,
    st.tuples(st.just("take"), PATH, st.none()),
    st.tuples(st.just("take all"), PATH, st.none()),
)


@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEP, min_size=3, max_size=10))
def test_in_any_order(repo: Repo, steps: list[tuple[str, str, bytes | str | None]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        fresh = Repo(Path(os.path.realpath(directory)))
        fresh.git("init", "-q")
        os.chdir(fresh.top)
        try:
            clear(fresh.top, "first").touch()
            take()
            for step in steps:
                if step[0] == "take":
                    changed = only(fresh, f":(literal){step[1]}")
                    assert all(is_at(path, step[1]) for path in changed)
                    assert held_below(fresh, step[1]) == on_disk_below(fresh, step[1])
                elif step[0] == "take all":
                    take()
                else:
                    do(fresh, step)
            assert held() == held_without_history()
            sound(fresh)
        finally:
            os.chdir(repo.top)


def is_at(path: str, place: str) -> bool:
    """Whether a path is another one, or below it."""
    return path == place or path.startswith(f"{place}/")


def held_below(repo: Repo, place: str) -> set[str]:
    """What the newest checkpoint holds there."""
    found = entries(repo, refs(repo, "checkpoints")[-1].split()[1])
    return {path for path in found if is_at(path, place)}


def on_disk_below(repo: Repo, place: str) -> set[str]:
    """What is there."""
    return {path for path in repo.files() if is_at(path, place)}
