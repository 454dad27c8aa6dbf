"""How far a transcript goes is found at its end, however long it is."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_boocode.agents import transcript as anchor
from git_boocode.agents.transcript import transcript_position
from git_boocode.repo.errors import FatalError
from tests.agents.kit import fire, logged, prompted, taken, turn
from tests.agents.kit import what as what_went_wrong
from tests.repo_kit import Repo


def sha(line: bytes) -> str:
    return f"sha256:{hashlib.sha256(line).hexdigest()}"


@pytest.mark.parametrize(
    ("data", "offset", "line"),
    [
        (b"", 0, None),
        (b"half a line", 0, None),
        (b"one\n", 4, b"one"),
        (b"one\ntwo\n", 8, b"two"),
        (b"one\r\n", 5, b"one"),
        (b"one\nhalf", 4, b"one"),
        (b"\n", 1, b""),
        (b"one\n\n", 5, b""),
        (b"one\n\nhalf\r", 5, b""),
        (b"\xff\x00\n", 3, b"\xff\x00"),
        (b"x" * 200_000 + b"\n", 200_001, b"x" * 200_000),
        (b"a\n" + b"x" * 200_000 + b"\n" + b"y" * 200_000, 200_003, b"x" * 200_000),
        (b"a\n" + b"y" * 200_000, 2, b"a"),
    ],
)
def test_positions(data: bytes, offset: int, line: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "transcript"
    path.write_bytes(data)
    expected = (str(path), offset, None if line is None else sha(line))
    assert transcript_position(str(path)) == expected


@pytest.mark.parametrize(
    ("data", "offset", "line"),
    [
        (b"one\n#a\n#bc\n", 4, b"one"),
        (b"one\n#a\ntwo\n#b", 11, b"two"),
        (b"#a\n#b\n", 0, None),
        (b"one\r\n#" + b"x" * 200_000 + b"\n", 5, b"one"),
        (b"\n#a\n", 1, b""),
    ],
)
def test_what_an_agent_writes_about_hooks_does_not_count(
    data: bytes, offset: int, line: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "transcript"
    path.write_bytes(data)
    expected = (str(path), offset, None if line is None else sha(line))
    assert transcript_position(str(path), b"#") == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.binary().map(lambda data: data.replace(b"\n", b""))), half=st.binary())
def test_any_lines(
    lines: list[bytes], half: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = half.replace(b"\n", b"")
    whole = b"".join(line + b"\n" for line in lines)
    path = tmp_path / "transcript"
    path.write_bytes(whole + half)
    last = sha(lines[-1].removesuffix(b"\r")) if lines else None
    for block in (1, 7, 1 << 16):
        monkeypatch.setattr(anchor, "_BLOCK", block)
        assert transcript_position(str(path)) == (str(path), len(whole), last)


def test_of_a_gigabyte_only_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "transcript"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 30)
        file.write(b"\nlast\n")
    read, pread = [], os.pread

    def counting(descriptor: int, count: int, offset: int) -> bytes:
        read.append(count)
        return pread(descriptor, count, offset)

    monkeypatch.setattr(os, "pread", counting)
    found = transcript_position(str(path))
    assert found is not None
    assert (found.offset, found.hash) == ((1 << 30) + 6, sha(b"last"))
    assert sum(read) <= 1 << 16


def test_a_line_without_an_end_in_sight(tmp_path: Path) -> None:
    path = tmp_path / "transcript"
    for tail in (b"", b"\n"):
        with path.open("wb") as file:
            file.truncate(65 << 20)
            file.seek(65 << 20)
            file.write(tail)
        with pytest.raises(FatalError, match="too long"):
            transcript_position(str(path))


def test_what_is_no_transcript_is_logged(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("{}\n")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file/x", "directory", "fifo", "loop", "a\0b"):
        with pytest.raises(FatalError, match="cannot read the transcript"):
            transcript_position(str(tmp_path / name))
    turn(repo, transcript_path="relative")
    assert taken(repo)[0]["anchor"] == {"agent": "claude-code", "session": "s1"}
    assert what_went_wrong(repo) == ["transcript"]


def test_an_agent_may_have_none(repo: Repo) -> None:
    turn(repo, transcript_path=None)
    assert taken(repo)[0]["anchor"] == {"agent": "claude-code", "session": "s1"}
    assert logged(repo) == []


def test_the_home_directory_and_links(repo: Repo, sealed: Path) -> None:
    (sealed / "real").write_text("{}\n")
    (sealed / "transcript").symlink_to("real")
    fire(
        repo,
        "claude-code",
        "UserPromptSubmit",
        payload=prompted(repo, transcript_path="~/transcript"),
    )
    anchor_told = taken(repo)[0]["anchor"]
    assert (anchor_told["path"], anchor_told["offset"]) == (str(sealed / "transcript"), 3)
