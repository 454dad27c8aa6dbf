"""Planned changes of files: all or none, links followed, modes kept."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.file_edits import FileEdit, apply, diff_text, read_file, sweep
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError
from git_boocode.repo.files import Symlink


def edit(path: Path, before: bytes | None, after: bytes | None, **more: Any) -> FileEdit:
    plain = FileEdit(str(path), before, after, None, "a file")
    return plain._replace(**more)


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_files_are_made_changed_and_deleted(tmp_path: Path) -> None:
    changed, gone, new = tmp_path / "changed", tmp_path / "gone", tmp_path / "a/b/new"
    changed.write_bytes(b"old")
    changed.chmod(0o640)
    gone.write_bytes(b"x")
    apply([edit(changed, b"old", b"new"), edit(gone, b"x", None), edit(new, None, b"", mode=0o755)])
    assert names(tmp_path) == {"changed", "a", "a/b", "a/b/new"}
    assert changed.read_bytes() == b"new"
    assert stat.S_IMODE(changed.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == 0o755


def test_a_symlink_is_followed_and_stays(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles/settings", tmp_path / "settings"
    real.parent.mkdir()
    real.write_bytes(b"1")
    link.symlink_to("dotfiles/settings")
    apply([edit(link, b"1", b"2")])
    assert os.readlink(link) == "dotfiles/settings"
    assert real.read_bytes() == b"2"
    assert names(real.parent) == {"settings"}


def test_a_symlink_itself_is_replaced_and_comes_back(tmp_path: Path) -> None:
    real, link, aside = tmp_path / "real", tmp_path / "link", tmp_path / "aside"
    real.write_bytes(b"1")
    link.symlink_to("real")
    assert read_file(str(link), replace_link=True) == Symlink(b"real")
    there = [
        edit(aside, None, Symlink(b"real")),
        edit(link, Symlink(b"real"), b"shim", mode=0o755),
    ]
    apply(there)
    assert os.readlink(aside) == "real"
    assert not link.is_symlink()
    assert (link.read_bytes(), real.read_bytes()) == (b"shim", b"1")
    apply([edit(aside, Symlink(b"real"), None), edit(link, b"shim", Symlink(b"real"))])
    assert os.readlink(link) == "real"
    assert names(tmp_path) == {"real", "link"}


def test_a_file_that_has_changed_is_refused_and_so_are_all(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"1")
    other.write_bytes(b"changed")
    with pytest.raises(RefusedError, match="changed by another program") as caught:
        apply([edit(one, b"1", b"2"), edit(other, b"1", b"2"), edit(tmp_path / "d/n", None, b"")])
    assert caught.value.code == "stale"
    assert one.read_bytes() == b"1"
    assert names(tmp_path) == {"one", "other"}


def test_a_link_in_the_place_of_a_file_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "path"
    path.write_bytes(b"target")
    with pytest.raises(RefusedError, match="changed by another program"):
        apply([edit(path, Symlink(b"target"), None)])


def test_a_failure_half_way_takes_all_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, gone, link = tmp_path / "one", tmp_path / "gone", tmp_path / "link"
    one.write_bytes(b"1")
    gone.write_bytes(b"x")
    link.symlink_to("one")
    plan = [
        edit(tmp_path / "d/new", None, b"n"),
        edit(one, b"1", b"2"),
        edit(gone, b"x", None),
        edit(link, Symlink(b"one"), b"file"),
    ]
    real = os.unlink

    def fails_for_the_last(path: str) -> None:
        if path == str(gone):
            raise OSError(28, "No space left on device", path)
        real(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", fails_for_the_last)
        with pytest.raises(FatalError, match="nothing was changed") as caught:
            apply(plan)
    assert caught.value.code == "disk_full"
    assert names(tmp_path) == {"one", "gone", "link"}
    assert (one.read_bytes(), gone.read_bytes(), os.readlink(link)) == (b"1", b"x", "one")


def busy_directory(tmp_path: Path) -> list[FileEdit]:
    """Files of every kind, and changes of every kind to them."""
    one, gone, link = tmp_path / "one", tmp_path / "gone", tmp_path / "link"
    one.write_bytes(b"1")
    gone.write_bytes(b"x")
    link.symlink_to("one")
    return [
        edit(tmp_path / "d/e/new", None, b"n"),
        edit(one, b"1", b"2"),
        edit(gone, b"x", None),
        edit(link, Symlink(b"one"), b"file"),
        edit(tmp_path / "d/link", None, Symlink(b"one")),
    ]


def tree(top: Path) -> dict[str, bytes]:
    return {
        name: os.readlink(top / name).encode()
        if (top / name).is_symlink()
        else b"/"
        if (top / name).is_dir()
        else (top / name).read_bytes()
        for name in names(top)
    }


STEPS = ("mkdir", "replace", "unlink", "symlink", "fsync", "fchmod", "open")


def test_whatever_fails_all_is_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call by which something is changed fails once, in its turn."""
    plan = busy_directory(tmp_path)
    before = tree(tmp_path)
    real = {name: getattr(os, name) for name in STEPS}
    calls = failing = 0

    def counted(name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(5, "Input/output error")
            return real[name](*args, **kwargs)

        return call

    while True:
        calls, failing = 0, failing + 1
        with monkeypatch.context() as patch, suppress(FatalError):
            for name in STEPS:
                patch.setattr(os, name, counted(name))
            apply(plan)
            break
        assert tree(tmp_path) == before
    assert failing > 15
    # At the end only the removal of a temporary file can fail, which the next command repeats.
    after = {name: data for name, data in tree(tmp_path).items() if ".boocode-" not in name}
    assert set(after) == {"one", "link", "d", "d/e", "d/e/new", "d/link"}
    assert (after["one"], after["link"], after["d/link"]) == (b"2", b"file", b"one")


def test_a_process_is_killed_at_any_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is whole, the plan can be made anew, and what was left behind is swept."""
    failing = 0
    while True:
        failing += 1
        top = tmp_path / str(failing)
        top.mkdir()
        plan = busy_directory(top)
        before = tree(top)
        child = os.fork()
        if child == 0:
            _die_at(failing, plan)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            break
        found = {name: data for name, data in tree(top).items() if ".boocode-" not in name}
        for name, data in found.items():
            whole = {each.after for each in plan if Path(each.path) == top / name}
            assert data in {before.get(name), b"/", *whole}
        apply(each._replace(before=read_file(each.path, replace_link=True)) for each in plan)
        now = time.time()
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda now=now: now + 61)
            for each in plan:
                sweep(each.path)
        assert set(tree(top)) == {"one", "link", "d", "d/e", "d/e/new", "d/link"}
    assert failing > 15


def _die_at(failing: int, plan: list[FileEdit]) -> None:
    calls = 0

    def counted(name: str) -> Any:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == failing:
                os._exit(9)
            return real(*args, **kwargs)

        return call

    for name in (*STEPS, "link"):
        setattr(os, name, counted(name))
    apply(plan)
    os._exit(0)


@pytest.mark.parametrize("kind", ["read-only", "directory", "below a file"])
def test_what_cannot_be_written(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "path"
    if kind == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"1")
        path.chmod(0o444)
    path = path / "below" if kind == "below a file" else path
    before = None if kind == "below a file" else b"1"
    with pytest.raises(BoocodeError, match="nothing was changed"):
        apply([edit(path, before, b"2")])
    assert names(tmp_path) == {"path"}


def test_two_names_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(RefusedError, match="are the same file"):
        apply([edit(tmp_path / "file", b"1", b"2"), edit(tmp_path / "link", b"1", b"3")])
    assert (tmp_path / "file").read_bytes() == b"1"


def test_the_diff(tmp_path: Path) -> None:
    shown = diff_text(
        [
            FileEdit("/a", b"1\n2\n", b"1\n3", None, "a"),
            FileEdit("/b", None, b"\xff\n", None, "b"),
            FileEdit("/record", None, b"secret", None, ""),
        ]
    )
    assert shown == (
        "--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n\\ No newline at end of file\n"
        "--- /dev/null\n+++ /b\n@@ -0,0 +1 @@\n+\udcff\n"
    )
