from pathlib import Path

import pytest

from tests.repo_kit import Repo

REAL = "class A:\n    def hello():\n        print(“hi”)\n        return 1\n"


def test_exact(repo: Repo) -> None:
    repo.write("a.py", "ä\r\nx = 1\r\n")
    done = repo.boocode("locate", "a.py", "--json", stdin="x = 1")
    assert done.code == 0
    assert (done.json["ok"], done.json["kind"]) == (True, "exact")
    assert done.json["start"] == {"offset": 3, "line": 2, "column": 1}
    assert repo.boocode("locate", "a.py", stdin="x = 1").out == "a.py: line 2, exact\n"


def test_fuzzy_from_a_subdirectory(repo: Repo) -> None:
    repo.write("sub/a.py", REAL)
    done = repo.boocode("locate", "a.py", cwd="sub", stdin='def hello():\n  print("hi")\n')
    assert done.code == 0
    assert done.out.startswith("sub/a.py: lines 2-3, fuzzy (")


def test_ambiguous(repo: Repo) -> None:
    repo.write("a", "same = 1\nx\nsame = 1\n")
    done = repo.boocode("locate", "a", "--json", stdin="same = 1")
    assert done.code == 1
    assert (done.json["ok"], done.json["kind"], done.json["count"]) == (False, "ambiguous", 2)
    assert done.json["error"]["code"] == "ambiguous"
    assert [place["start_line"] for place in done.json["candidates"]] == [1, 3]
    text = repo.boocode("locate", "a", stdin="same = 1")
    assert text.err.startswith("error: a: the text occurs 2 times\n  line 1 (similarity 1.00):\n")
    hinted = repo.boocode("locate", "a", "--start-line", "3", "--json", stdin="same = 1")
    assert hinted.json["start"]["line"] == 3


def test_not_found_and_missing(repo: Repo) -> None:
    repo.write("a", "x\n")
    done = repo.boocode("locate", "a", "--json", stdin="something else entirely")
    assert (done.code, done.json["kind"], done.json["start"]) == (1, "not_found", None)
    missing = repo.boocode("locate", "b", "--json", stdin="x")
    assert (missing.code, missing.json["error"]["code"]) == (1, "missing_file")
    empty = repo.boocode("locate", "a", "--json")
    assert (empty.code, empty.json["error"]["code"]) == (1, "invalid_input")


@pytest.mark.parametrize("path", ["../x", ".git/config", "dir"])
def test_paths_that_cannot_be_searched(repo: Repo, path: str) -> None:
    repo.write("dir/a")
    assert repo.boocode("locate", path, stdin="x").code == 1


def test_bytes_that_are_no_text(repo: Repo) -> None:
    repo.write("a", b"caf\xe9\n  x\n")
    assert repo.boocode("locate", "a", stdin=b"caf\xe9").code == 0
    assert repo.boocode("locate", "a", stdin=b"caf\xe9\n x").code == 1


def test_profile_and_no_index(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(REAL)
    place = Repo(tmp_path)
    assert place.boocode("locate", "a", stdin="return 1").code == 128
    assert place.boocode("locate", "--no-index", "a", stdin="return 1").code == 0
    assert place.boocode("locate", "--no-index", "--profile=no", "a", stdin="x").code == 129
    strict = ("locate", "--no-index", "--profile=exact", "a")
    assert place.boocode(*strict, stdin='print("hi")').code == 1
