"""Which programs have a file open, shown with real ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_boocode.repo import open_files
from git_boocode.repo.open_files import programs_with

_HOLDER = "import sys; file = open(sys.argv[1], 'ab'); print(flush=True); sys.stdin.read()"


@contextmanager
def holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has a file open to append to it."""
    words = [sys.executable, "-c", _HOLDER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdout is not None
        program.stdout.readline()
        yield program


@pytest.fixture(params=["/proc", "lsof"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file, where processes are found in one of both ways."""
    if request.param == "lsof":
        monkeypatch.setattr(open_files, "_PROCESSES", str(tmp_path))
    elif not os.path.isdir("/proc/self/fd"):
        pytest.skip("there is no /proc here")
    if request.param == "lsof" and shutil.which("lsof") is None:
        pytest.skip("there is no lsof here")
    # Programs on a busy machine may be slow.
    monkeypatch.setattr(open_files, "_LONGEST", 30.0)
    file = tmp_path / "s/t.jsonl"
    file.parent.mkdir()
    file.touch()
    return file


def test_programs_are_found_while_they_have_the_file_open(path: Path) -> None:
    with holding(path) as program:
        assert [each.pid for each in programs_with(str(path))] == [program.pid]
    assert programs_with(str(path)) == []


def test_other_files_and_the_caller_do_not_count(path: Path) -> None:
    other = path.with_name("t.jsonl.before")
    with path.open("ab"), holding(other):
        assert programs_with(str(path)) == []
        assert programs_with(str(path.parent)) == []


def test_a_directory_counts_with_all_its_files(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("there is no /proc here")
    with holding(tmp_path / "in-use") as program:
        found = programs_with(str(tmp_path / "events.jsonl"), or_below=str(tmp_path))
        assert [each.pid for each in found] == [program.pid]


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    assert programs_with(str(tmp_path / "missing")) == []
