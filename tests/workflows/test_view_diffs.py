"""The diffs that the page asks for, as they are and without whitespace, and pictures."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from git_boocode.repo.repository import Repository
from git_boocode.workflows.view_data import page_data, row_data, turn_data
from git_boocode.workflows.view_diffs import (
    DiffForm,
    State,
    compare_data,
    file_data,
    turns_with_text,
)
from tests.agents.kit import Turns
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

IGNORING = DiffForm(ignore_whitespace=True)


def differing(old: State, new: State, form: DiffForm = IGNORING) -> dict[str, dict[str, Any]]:
    files = compare_data(Repository.discover(), old, new, (), form)["files"]
    return {file["path"]: file for file in files}


def shown(turn: str, path: str, form: DiffForm | None = None) -> dict[str, Any]:
    found: dict[str, Any] = file_data(Repository.discover(), turn, path, form or DiffForm(), 1000)[
        "file"
    ]
    return found


def test_files_in_which_only_whitespace_changed_keep_their_place(repo: Repo) -> None:
    text = "".join(f"line {number}\n" for number in range(9))
    for path in ("a", "b", "c", "mode", "old", "y", "z"):
        repo.write(path, text)
    repo.write("binary", b"\0one")
    first = take()
    spaced = text.replace("line", "  line")
    for path in ("a", "c", "mode", "z"):
        repo.write(path, spaced)
    (repo.top / "mode").chmod(0o755)
    (repo.top / "old").unlink()
    repo.write("new", text.replace("line 3", "line  3"))
    repo.write("b", text.replace("4", "four"))
    repo.write("y", spaced.replace("4", "four"))
    repo.write("binary", b"\0two")
    found = differing(State(first.id), State())
    renamed = found.pop("new")
    assert (renamed["source"], renamed["added"], renamed["diff"]) == ("old", 0, "")
    counts = {path: (file["added"], file["removed"]) for path, file in found.items()}
    nothing = dict.fromkeys(("a", "c", "mode", "z"), (0, 0))
    assert counts == {**nothing, "b": (1, 1), "y": (1, 1), "binary": (None, None)}
    assert found["b"]["diff"].splitlines()[4:6] == ["-line 4", "+line four"]
    assert "+  line four" in found["y"]["diff"]
    assert [file["diff"] for path, file in found.items() if path in nothing] == [""] * 4


def test_a_change_by_hand_is_compared_with_what_an_operation_left(repo: Repo) -> None:
    turns = Turns(repo)
    turns.whole("first", a="1\n")
    turns.whole("second", a="2\n")
    repo.write("a", "more\n")
    assert repo.boocode("restore", turns["second"], "--files-only").code == 0
    repo.write("c", "by hand\n")
    turns.whole("third", d="3\n")
    after, before = row_data(Repository.discover(), 100, {})["by_hand"]
    assert (after["paths"], before["paths"]) == (["c"], ["a"])
    assert before["operation"] == after["ended"]
    found = differing(State(after["ended"], "after"), State(after["before"], "before"))
    assert [*found] == ["c"]
    found = differing(State(before["ended"], "after"), State(before["operation"], "before"))
    assert (found["a"]["added"], found["a"]["removed"]) == (1, 1)


def test_a_long_diff_is_left_out_and_comes_alone(repo: Repo) -> None:
    repo.write("a", "x\n")
    repo.write("z", "x\n")
    turn = take()
    repo.write("a", "line of a long diff\n" * 50_000)
    repo.write("large", "line of a large file\n" * 100_000)
    repo.write("z", "y\n")
    files = {file["path"]: file for file in turn_data(Repository.discover(), turn.id, 9)["files"]}
    assert (files["a"]["missing"], files["a"]["added"]) == ("size", None)
    assert files["large"]["sizes"] == [None, 2_100_000]
    assert "missing" not in files["z"]
    whole = shown(turn.id, "large")
    assert (whole["added"], whole["diff"].count("\n+"), whole["cut"]) == (100_000, 100_000, False)


def test_the_page_says_which_limit_left_lines_out(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a", "x\n")
    take()
    repo.write("a", "long line\n" * 30_000)
    [turn] = page_data(Repository.discover(), 9)["details"].values()
    assert [file["missing"] for file in turn["files"]] == ["turn"]
    small = "git_boocode.workflows.view_data.DiffLimits"
    from git_boocode.checkpoints.turn_changes import DiffLimits

    limited: Callable[[], DiffLimits] = lambda: DiffLimits(of_all=1000)  # noqa: E731
    monkeypatch.setattr(small, limited)
    [turn] = page_data(Repository.discover(), 9)["details"].values()
    assert [file["missing"] for file in turn["files"]] == ["page"]


PICTURES = {
    "a.png": b"\x89PNG\r\n\x1a\n\0",
    "b.jpg": b"\xff\xd8\xff\0",
    "c.gif": b"GIF89a\0",
    "d.webp": b"RIFF\0\n\0\0WEBP\0",
}


def test_pictures_are_shown_and_nothing_that_could_run(repo: Repo) -> None:
    for path, content in PICTURES.items():
        repo.write(path, content)
    turn = take()
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script>\0</svg>"
    for path, content in PICTURES.items():
        repo.write(path, content + b"2")
    repo.write("e.svg", svg)
    repo.write("f.png", svg)
    repo.write("g.png", PICTURES["a.png"] + b"x" * (5 << 20))
    for path, content in PICTURES.items():
        before, after = (
            base64.b64decode(each.rpartition(",")[2]) for each in shown(turn.id, path)["pictures"]
        )
        assert (before, after) == (content, content + b"2")
    for path in ("e.svg", "f.png", "g.png"):
        assert "pictures" not in shown(turn.id, path)
    assert shown(turn.id, "e.svg")["sizes"] == [None, len(svg)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\u00c9T\u00c9", "un e\u0301te\u0301"),
        ("STRASSE", "die Stra\u00dfe"),
        ("stra\u1e9ee", "eine Strasse"),
        ("istanbul", "\u0130STANBUL"),
        ("D\u0130YARBAKIR", "Diyarbak\u0131r"),
        ("\u03a3\u03a3", "\u03c3\u03c2"),
        ("(a|b).*", "x(A|B).*y"),
    ],
)
def test_a_text_is_found_in_any_case(repo: Repo, text: str, line: str) -> None:
    first = take()
    repo.write("a", f"{line}\n")
    take()
    repo.write("b", "another line, ab\n")
    found = turns_with_text(Repository.discover(), text, 100)
    assert found["turns"] == [first.id]


def test_no_line_changed_where_only_the_mode_did(repo: Repo) -> None:
    repo.write("large", "line\n" * 500_000)
    repo.write("binary", b"\0one")
    first = take()
    for path in ("large", "binary"):
        (repo.top / path).chmod(0o755)
    take()
    files = turn_data(Repository.discover(), first.id, 1000)["files"]
    assert [(file["path"], file["added"], file.get("missing")) for file in files] == [
        ("binary", 0, None),
        ("large", 0, None),
    ]
