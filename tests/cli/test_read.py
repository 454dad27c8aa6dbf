from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo_kit import Repo, read_only
from tests.terminal_kit import Terminal

TWENTY = "".join(f"line {number}\n" for number in range(1, 21))


def version(repo: Repo, data: bytes) -> str:
    return repo.git("hash-object", "--stdin", "--no-filters", stdin=data)[:12]


def reads(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", "refs/boocode/reads/").split()


def test_lines_and_version(repo: Repo) -> None:
    data = b"\xef\xbb\xbfdef f():\r\n\r\n    caf\xe9 \x1b[1m" + b"x" * 5000
    repo.write("sub/a b.py", data)
    done = repo.installed("read", "a b.py", cwd="sub")
    name = version(repo, data)
    last = "    caf\udce9 \x1b[1m" + "x" * 5000
    header = f"[sub/a b.py#{name}]\n"
    # Bytes that are not UTF-8: then there is no byte order mark, either.
    assert done == (0, f"{header}1| \ufeffdef f():\n2| \n3| {last}\n", "")
    answer = repo.boocode("read", "--json", "a b.py:2-3", cwd="sub").json
    lines = [{"number": 2, "text": ""}, {"number": 3, "text": last}]
    path = "sub/a b.py"
    expected = {"ok": True, "path": path, "version": name, "lines": lines, "total": 3}
    assert answer == expected


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ("", range(1, 21)),
        (":18", [18]),
        (":18-", [18, 19, 20]),
        (":-2", [1, 2]),
        (":9-10", [9, 10]),
        (":19-99999", [19, 20]),
    ],
)
def test_ranges(repo: Repo, asked: str, numbers: list[int]) -> None:
    repo.write("a", TWENTY)
    header, *lines = repo.boocode("read", f"a{asked}").out.splitlines()
    width = len(str(numbers[-1]))
    assert lines == [f"{number:>{width}}| line {number}" for number in numbers]
    assert header == f"[a#{version(repo, TWENTY.encode())}]"


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ("a:21-", "invalid_input", "a: there is no line 21; the file has 20 lines"),
        ("a:0", "invalid_input", "a: lines are numbered from 1"),
        ("a:-0", "invalid_input", "a: lines are numbered from 1"),
        ("a:5-3", "invalid_input", "a: the range ends with line 3, before line 5"),
        ("a:x", "missing_file", "a:x: the file does not exist"),
        ("a:" + "1" * 19, "missing_file", f"a:{'1' * 19}: the file does not exist"),
        ("b:1", "missing_file", "b: the file does not exist"),
        ("binary", "binary", "binary: the file is binary: it has no lines"),
        ("dir", "invalid_input", "dir: it is a directory, not a regular file"),
        ("../x", "outside_worktree", "../x: is outside the worktree: it leaves the worktree"),
    ],
)
def test_what_cannot_be_read(repo: Repo, asked: str, code: str, message: str) -> None:
    repo.write("a", TWENTY)
    repo.write("binary", b"\0\n")
    repo.write("dir/a")
    done = repo.boocode("read", "--json", asked)
    error = done.json["error"]
    assert (done.code, error["code"]) == (1, code)
    assert error["message"].startswith(message)
    assert reads(repo) == []


def test_a_missing_file_names_the_nearest(repo: Repo) -> None:
    repo.write("report.py", "x\n")
    assert "report.py" in repo.boocode("read", "reports.py:1-2").err


@pytest.mark.parametrize("asked", ["a:3,5", "a:L3-L5", "a#L3-L5", "a#L3-5", "a:3:5", "a:3"])
def test_a_range_in_another_spelling_is_named_as_it_is_read(repo: Repo, asked: str) -> None:
    repo.write("sub/a" if asked != "a:3" else "sub/b", TWENTY)
    done = repo.boocode("read", asked, cwd="sub")
    assert done.code == 1
    assert ("hint: for these lines, give a:3-5\n" in done.err) is (asked != "a:3")


def test_a_file_whose_name_ends_like_a_range(repo: Repo) -> None:
    repo.write("a", TWENTY)
    repo.write("a:3", "x\n")
    assert repo.boocode("read", "a:3").out.splitlines()[1:] == ["1| x"]
    assert repo.boocode("read", "a:3:1", "--json").json["path"] == "a:3"
    assert repo.boocode("read", "a:4").out.splitlines()[1:] == ["4| line 4"]


@pytest.mark.parametrize("asked", ["empty", "empty:-40", "empty:1-40"])
def test_an_empty_file(repo: Repo, asked: str) -> None:
    repo.write("empty")
    assert repo.boocode("read", asked).out == f"[empty#{version(repo, b'')}]\n"


def test_the_header_is_one_line(repo: Repo) -> None:
    repo.write('new\nline"\\]#1', "x\n")
    done = repo.boocode("read", 'new\nline"\\]#1')
    assert done.out.splitlines()[1:] == ["1| x"]
    assert done.out.startswith('["new\\nline\\"\\\\]#1"#')


def test_a_buffer(repo: Repo) -> None:
    repo.commit(a="disk\n")
    buffers = json.dumps({"a": "typed\n"})
    done = repo.boocode("read", "a", "--buffers", "-", stdin=buffers)
    name = version(repo, b"typed\n")
    assert done.out == f"[a#{name}]\n1| typed\n"
    assert repo.git("cat-file", "blob", name) == "typed\n"


def test_an_edit_for_a_version_that_only_the_reader_saw(repo: Repo) -> None:
    repo.commit(a="one\n" + TWENTY)
    repo.write("a", "read\n" + TWENTY)
    base = repo.boocode("read", "a:1-3", "--json").json["version"]
    repo.write("a", ("read\n" + TWENTY).replace("line 20", "by another"))
    repo.git("gc", "-q", "--prune=now")
    edit = {"path": "a", "old_string": "line 1\n", "new_string": "edited\n", "base": base}
    done = repo.installed("apply-edit", "--json", stdin=json.dumps(edit))
    assert done.json["files"][0]["edits"][0]["rung"] == "merged"
    expected = ("read\n" + TWENTY).replace("line 1\n", "edited\n").replace("line 20", "by another")
    assert repo.read("a").decode() == expected
    assert repo.git("fsck", "--no-dangling") == ""


def test_a_committed_file_leaves_no_trace(repo: Repo) -> None:
    repo.commit(a="a\n")
    before = sorted(map(str, (repo.top / ".git").rglob("*")))
    assert repo.boocode("read", "a").code == 0
    assert sorted(map(str, (repo.top / ".git").rglob("*"))) == before


def test_a_repository_that_cannot_be_written(repo: Repo) -> None:
    repo.write("a", "a\n")
    with read_only(repo.top / ".git"):
        done = repo.unprivileged("read", "a")
        answer = repo.unprivileged("read", "--json", "a")
    name = version(repo, b"a\n")
    assert (done.code, done.out) == (0, f"[a#{name}]\n1| a\n")
    assert done.err.startswith("warning: a: the version is not kept for later edits: ")
    assert (answer.json["ok"], answer.err) == (True, "")
    assert answer.json["warning"].startswith("the version is not kept")


def test_an_ignored_file_is_read_with_a_warning(repo: Repo) -> None:
    repo.write(".gitignore", ".env\n")
    repo.write(".env", "a\n")
    warning = (
        "the version is not kept for later edits: git ignores the file, or boocode.exclude names it"
    )
    assert repo.boocode("read", ".env").err == f"warning: .env: {warning}\n"
    assert repo.boocode("read", "--json", ".env").json["warning"] == warning
    assert reads(repo) == []


def test_without_a_repository(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    done = Repo(tmp_path).boocode("read", "--no-index", "a")
    assert done == (0, "[a#78981922613b]\n1| a\n", "")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("-a b", ()),
        ("a:3", ("--no-index",)),
        *(
            pytest.param(name, more, marks=pytest.mark.slow)
            for name, more in (("a", ()), ("a:3", ()), ("new\nline", ()), ("-a b", ("--no-index",)))
        ),
    ],
)
def test_the_command_of_a_hint_works_in_a_subdirectory(
    repo: Repo, name: str, more: tuple[str, ...]
) -> None:
    repo.write(f"sub/{name}", "x\n")
    edit = {"path": name if more else f"sub/{name}", "changes": [{"start_line": 1, "content": []}]}
    for base in ({}, {"base": "1" * 12}):
        edits = json.dumps({**edit, **base})
        retry = ("--retry-context", "retry")
        done = repo.boocode("apply-edit", *more, *retry, cwd="sub", stdin=edits)
        said = "get the version with: "
        _, _, command = done.err.partition(f"hint: {said}")
        command = command.splitlines()[0]
        assert f"{said}{command}\n".encode() in repo.read("sub/retry")
        words = ["bash", "-c", command.replace("git boocode", f"{sys.executable} -m git_boocode")]
        printed = subprocess.run(words, cwd=repo.top / "sub", capture_output=True, check=True)
        assert printed.stdout.endswith(b"1| x\n")


def test_a_terminal_is_not_steered(repo: Repo) -> None:
    repo.write("a", "\x1b[2Jx\ty\n")
    code, shown = Terminal("git", "boocode", "read", "a").end()
    assert (code, "1| ?[2Jx" in shown) == (0, True)
