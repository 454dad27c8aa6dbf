"""Planned changes of files: all or none, links followed, modes kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.file_edits import FileEdit, apply, diff_text, read_file
from git_boocode.repo.errors import BoocodeError, RefusedError
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
