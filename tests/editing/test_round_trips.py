"""Read a file, let others change it, edit lines that were read: every byte comes out right."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import pytest

import git_boocode
from tests.checkpoints.states import STATES
from tests.repo_kit import Repo

LINES = tuple(f"line {number}" for number in range(1, 13))


def joined(ending: str = "\n", *, lines: tuple[str, ...] = LINES) -> str:
    return "".join(line + ending for line in lines)


TEXT = joined()
READER = {"CLAUDE_CODE_SESSION_ID": "a"}
FILES = {
    "lf": TEXT.encode(),
    "crlf": joined("\r\n").encode(),
    "mixed": (joined("\r\n", lines=LINES[:8]) + joined(lines=LINES[8:])).encode(),
    "open": TEXT.rstrip().encode(),
    "open-crlf": joined("\r\n").rstrip().encode(),
    "bom": b"\xef\xbb\xbf" + TEXT.encode(),
    "utf-16": joined("\r\n").encode("utf-16"),
    "latin-1": joined(lines=(*LINES[:4], "caf\xe9", *LINES[5:])).encode("latin-1"),
    "odd-characters": joined(lines=(*LINES[:4], "\f \x0b \x85 \u2028", *LINES[5:])).encode(),
    "long": joined(lines=(*LINES[:4], "x = 1; " * 150_000, *LINES[5:])).encode(),
    "sub/directory/deep": TEXT.encode(),
}
BY_OTHERS = (("line 2", "by others\nand more"), ("line 5\n", ""))
BY_THE_MODEL = (("line 7", "line 7\ncome in"), ("line 10", "by the model"), ("line 12", "the end"))
CHANGES = [
    {"start_line": 12, "content": "the end"},
    {"after_line": 7, "content": ["come in"]},
    {"start_line": 10, "end_line": 10, "content": ["by the model"]},
]


def swapped(data: bytes, *pairs: tuple[str, str]) -> bytes:
    """A file with other texts in some lines, in its own encoding and line endings."""
    codec = "utf-16-le" if data.startswith(b"\xff\xfe") else "utf-8"
    for old, new in pairs:
        ending = "\r\n" if (old.rstrip() + "\r\n").encode(codec) in data else "\n"
        before, after = (text.replace("\n", ending).encode(codec) for text in (old, new))
        assert data.count(before) <= 1
        data = data.replace(before, after)
    return data


def edit(path: str, **more: object) -> dict[str, object]:
    """What the model sends after it has read a file."""
    return {"path": path, "base": git_boocode.read(path).version, "changes": CHANGES, **more}


def check_round_trips(repo: Repo, files: Mapping[str, bytes]) -> None:
    for since in ((), BY_OTHERS):
        for path, data in files.items():
            repo.write(path, data)
        edits = [edit(path) for path in files]
        for path, data in files.items():
            repo.write(path, swapped(data, *since))
        git_boocode.apply_edits(edits)
        for path, data in files.items():
            assert repo.read(path) == swapped(data, *since, *BY_THE_MODEL), path


def test_every_kind_of_text(repo: Repo) -> None:
    check_round_trips(repo, FILES)


def test_small_and_special_files(repo: Repo) -> None:
    repo.write("empty")
    repo.write("one", "line 1")
    repo.write("run", "line 1\nline 2\nline 3\n", 0o755)
    repo.write("target", "line 1\nline 2\nline 3\n")
    os.symlink("target", repo.top / "link")
    top, first = {"after_line": 0, "content": "top"}, {"start_line": 1, "content": ["first"]}
    edits = [
        edit("empty", changes=[top]),
        edit("one", changes=[first, top]),
        edit("run", changes=[first]),
        edit("link", changes=[first]),
    ]
    for path in ("run", "target"):
        repo.write(path, repo.read(path).replace(b"line 3", b"by others"))
    git_boocode.apply_edits(edits)
    assert repo.read("empty") == b"top\n"
    assert repo.read("one") == b"top\nfirst"
    assert repo.read("run") == repo.read("target") == b"first\nline 2\nby others\n"
    assert os.access(repo.top / "run", os.X_OK)
    assert (repo.top / "link").is_symlink()


def test_a_version_outlives_its_reader_and_gc(repo: Repo) -> None:
    repo.write("a.txt", TEXT)
    header, *_ = repo.installed("read", "a.txt:7", env=READER).out.splitlines()
    path, version = header.strip("[]").split("#")
    repo.write("a.txt", swapped(TEXT.encode(), *BY_OTHERS))
    repo.git("gc", "-q", "--prune=now")
    sent = json.dumps({"path": path, "base": version, "changes": CHANGES})
    done = repo.installed("apply-edit", stdin=sent, env={**READER, "CLAUDE_CODE_SESSION_ID": "b"})
    assert done.code == 0, done.err
    assert repo.read("a.txt") == swapped(TEXT.encode(), *BY_OTHERS, *BY_THE_MODEL)


FILTERS = {
    "eol": "text eol=crlf",
    "ident": "ident",
    "encoding": "text working-tree-encoding=UTF-16LE-BOM",
    "driver": "filter=upper",
}


@pytest.mark.slow
def test_filters_do_not_matter(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "filter.upper.clean", "tr a-z A-Z")
    repo.git("config", "filter.upper.smudge", "tr A-Z a-z")
    repo.write(".gitattributes", "".join(f"{path} {how}\n" for path, how in FILTERS.items()))
    for path in (*FILTERS, "autocrlf"):
        text = joined("\r\n", lines=(*LINES[:3], "$Id$", *LINES[4:]))
        repo.write(path, text.encode("utf-16" if path == "encoding" else "utf-8"))
    repo.commit()
    for path in (*FILTERS, "autocrlf"):
        (repo.top / path).unlink()
    repo.git("checkout", "-q", ".")
    smudged = {path: repo.read(path) for path in (*FILTERS, "autocrlf")}
    assert b"$Id: " in smudged["ident"]
    check_round_trips(repo, smudged)


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_every_state_of_a_repository(repo: Repo, state: str) -> None:
    STATES[state](repo)
    repo.write("read.txt", TEXT)
    sent = edit("read.txt")
    repo.write("read.txt", swapped(TEXT.encode(), *BY_OTHERS))
    repo.git("gc", "-q", "--prune=now", check=False)
    done = repo.boocode("apply-edit", stdin=json.dumps(sent))
    assert done.code == 0, done.err
    assert repo.read("read.txt") == swapped(TEXT.encode(), *BY_OTHERS, *BY_THE_MODEL)


@pytest.mark.slow
@pytest.mark.parametrize("since", [{"line 10": "by others"}, {"line 7": "7", "line 12": ""}])
def test_what_others_have_changed_is_not_overwritten(repo: Repo, since: dict[str, str]) -> None:
    for path, data in FILES.items():
        repo.write(path, data)
        sent = edit(path)
        now = swapped(data, *since.items())
        repo.write(path, now)
        with pytest.raises(git_boocode.RefusedError) as refused:
            git_boocode.apply_edits(sent)
        assert refused.value.code == "stale", path
        assert repo.read(path) == now
