"""Worktrees made of anything: capture, any mutation, restore and undo are identities."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checkpoints.kit import (
    Seen,
    back,
    held,
    held_without_history,
    redone,
    seen,
    sound,
    take,
    undone,
)
from tests.repo_kit import Repo, examples

# Few names, so that files, directories and symlinks meet in the same place; none that git refuses.
PART = st.sampled_from(["a", "b", "c d", "-n", "é", "\udcff", "new\nline", "*", ".gitattributes2"])
PATH = st.lists(PART, min_size=1, max_size=3).map("/".join)
BYTES = st.sampled_from([b"", b"x", b"y", b"a\r\nb\n", b"\0\xff", b"x" * 100]) | st.binary(
    max_size=9
)
DEED = st.one_of(
    st.tuples(st.just("write"), PATH, BYTES),
    st.tuples(st.just("write"), PATH, BYTES),
    st.tuples(st.just("run"), PATH, BYTES),
    st.tuples(st.just("link"), PATH, PATH),
    st.tuples(st.just("remove"), PATH, st.none()),
    st.tuples(st.just("add"), PATH, st.none()),
    st.tuples(st.just("add all"), PATH, st.none()),
    st.tuples(st.just("intend"), PATH, st.none()),
    st.tuples(st.just("unstage"), PATH, st.none()),
    st.tuples(st.just("commit"), PATH, st.none()),
)
DEEDS = st.lists(DEED, max_size=8)


def clear(top: Path, path: str) -> Path:
    """Make room for a file: what is in its way, above or below, goes."""
    target = top / path
    for step in [*list(target.relative_to(top).parents)[-2::-1], Path(path)]:
        place = top / step
        if place.is_symlink() or place.is_file():
            place.unlink()
    if target.is_dir():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def do(repo: Repo, deed: tuple[str, str, Any]) -> None:
    """Do one thing to a worktree."""
    what, path, more = deed
    if what in ("write", "run"):
        clear(repo.top, path)
        repo.write(path, more, 0o755 if what == "run" else None)
    elif what == "link":
        clear(repo.top, path).symlink_to(more)
    elif what == "remove":
        target = repo.top / path
        if target.is_symlink() or target.is_file():
            target.unlink()
        elif target.is_dir():
            shutil.rmtree(target)
    elif what == "commit":
        repo.git("commit", "-q", "-m", "x", check=False)
    else:
        command = {"add": ["add"], "add all": ["add", "-A"], "intend": ["add", "-N"],
                   "unstage": ["reset", "-q"]}[what]  # fmt: skip
        limits = [] if what == "add all" else ["--", f":(literal){path}"]
        repo.git(*command, *limits, check=False)


@contextmanager
def fresh_repo(repo: Repo) -> Iterator[Repo]:
    """An empty repository to work in, of which a test may need many; then back to another one."""
    with tempfile.TemporaryDirectory() as directory:
        fresh = Repo(Path(os.path.realpath(directory)))
        fresh.git("init", "-q")
        os.chdir(fresh.top)
        try:
            yield fresh
        finally:
            os.chdir(repo.top)


@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(before=DEEDS, after=DEEDS)
def test_restore_and_undo_are_identities(
    repo: Repo, before: list[tuple[str, str, Any]], after: list[tuple[str, str, Any]]
) -> None:
    with fresh_repo(repo) as fresh:
        for deed in before:
            do(fresh, deed)
        there = seen(fresh)
        taken = take()
        assert seen(fresh) == there
        for deed in after:
            do(fresh, deed)
        mess = seen(fresh)
        outcome = back(taken.id)
        assert seen(fresh).files == there.files
        assert seen(fresh).staged == there.staged
        assert outcome.kept == ()
        restored = seen(fresh)
        if outcome.undo:
            undone()
            assert seen(fresh) == mess
            redone()
            assert seen(fresh) == restored
            undone()
        assert seen(fresh) == mess
        sound(fresh)


@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(before=DEEDS, after=DEEDS, path=PATH)
def test_a_restore_of_one_path_touches_nothing_else(
    repo: Repo,
    before: list[tuple[str, str, Any]],
    after: list[tuple[str, str, Any]],
    path: str,
) -> None:
    with fresh_repo(repo) as fresh:
        for deed in [("write", path, b"one"), *before]:
            do(fresh, deed)
        there, taken = seen(fresh), take()
        for deed in [*after, ("write", f"{path} beside", b"x")]:
            do(fresh, deed)
        mess = seen(fresh)
        named = {name for name in (*there.files, *mess.files) if below(name, path)}
        if not named:
            return
        outcome = back(taken.id, paths=(f":(literal){path}",))
        now, kept = seen(fresh), {name for name, _ in outcome.kept}
        for name in {*there.files, *mess.files}:
            expected = there if name in named - kept else mess
            assert now.files.get(name) == expected.files.get(name), name
        if not kept:
            assert entries(now, path) == entries(there, path)
        assert entries(now, path, inside=False) == entries(mess, path, inside=False)
        if outcome.undo:
            undone()
        assert seen(fresh) == mess
        sound(fresh)


def below(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}/")


def entries(found: Seen, path: str, *, inside: bool = True) -> list[str]:
    """What is staged of a path, or of all others."""
    rows = found.staged.split("\0")[:-1]
    return [row for row in rows if below(row.partition("\t")[2], path) == inside]


@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(turns=st.lists(st.lists(DEED, min_size=1, max_size=3), min_size=2, max_size=5))
def test_the_result_does_not_depend_on_history(
    repo: Repo, turns: list[list[tuple[str, str, Any]]]
) -> None:
    with fresh_repo(repo) as fresh:
        for turn in turns:
            for deed in turn:
                do(fresh, deed)
            assert held() == held_without_history()
