"""The unsaved text of an editor instead of the file on disk."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def edit(path: str, old: str, new: str) -> dict[str, str]:
    return {"path": path, "old_string": old, "new_string": new}


@pytest.fixture
def files(repo: Repo) -> Repo:
    """A file that an editor has open and changed, and another one."""
    repo.commit(a="on disk\n", b="on disk\n", **{"sub/c": "c\n"})
    repo.write("unsaved", "in the editor\nas typed\n")
    return repo


def test_the_buffer_counts_and_the_file_is_left_alone(files: Repo) -> None:
    given = json.dumps(edit("a", "as typed", "as meant"))
    done = files.boocode("apply-edit", "--json", "--buffer", "a=unsaved", stdin=given)
    assert done.code == 0
    [file] = done.json["files"]
    assert file["text"] == "in the editor\nas meant\n"
    assert file["text_edits"] == [
        {"range": {"start": {"line": 1, "character": 3}, "end": {"line": 1, "character": 8}},
         "newText": "meant"}
    ]  # fmt: skip
    assert (done.json["applied"], done.json["id"], files.read("a")) == (True, None, b"on disk\n")
    assert files.git("for-each-ref", "refs/boocode") == ""
    refused = files.boocode(
        "apply-edit", "--buffer", "a=unsaved", stdin=json.dumps(edit("a", "on disk", "x"))
    )
    assert (refused.code, files.read("a")) == (1, b"on disk\n")
    people = files.boocode("apply-edit", "--buffer", "a=unsaved", stdin=given)
    assert "a is a buffer, which --json prints; not written\n" in people.out


def test_files_and_buffers_in_one_call(files: Repo) -> None:
    edits = [edit("a", "as typed", "as meant"), edit("b", "on disk", "written")]
    files.write("edits.json", json.dumps(edits))
    buffers = json.dumps({"a": "as typed\r\n"})
    command = ("apply-edit", "--json", "--buffers", "-", "edits.json")
    answer = files.boocode(*command, stdin=buffers).json
    assert [file.get("text") for file in answer["files"]] == ["as meant\r\n", None]
    assert (files.read("a"), files.read("b")) == (b"on disk\n", b"written\n")
    # The record holds what was written.
    shown = files.boocode("show", answer["id"], "--json").json
    assert [file["path"] for file in shown["files"]] == ["b"]
    assert files.boocode("rewind").code == 0
    assert files.read("b") == b"on disk\n"
    # All or nothing.
    edits[0]["old_string"] = "nowhere"
    files.write("edits.json", json.dumps(edits))
    assert files.boocode(*command, stdin=buffers).code == 1
    assert files.read("b") == b"on disk\n"


def test_paths_count_from_the_current_directory(files: Repo) -> None:
    given = json.dumps(edit("sub/c", "as typed", "x"))
    arguments = ("apply-edit", "--json", "--buffer", "c=../unsaved")
    answer = files.boocode(*arguments, stdin=given, cwd="sub").json
    assert answer["files"][0]["text"] == "in the editor\nx\n"
    assert files.read("sub/c") == b"c\n"


def test_a_symbolic_link_is_the_file_that_it_names(files: Repo) -> None:
    (files.top / "link").symlink_to("a")
    given = json.dumps(edit("a", "as typed", "x"))
    assert files.boocode("apply-edit", "--json", "--buffer", "link=unsaved", stdin=given).code == 0
    assert files.read("a") == b"on disk\n"


def test_a_file_that_is_nowhere_but_in_the_editor(files: Repo) -> None:
    given = json.dumps(edit("new", "as typed", "x"))
    answer = files.boocode("apply-edit", "--json", "--buffer", "new=unsaved", stdin=given).json
    assert answer["files"][0]["action"] == "modify"
    assert not (files.top / "new").exists()


def test_renames_and_deletions_of_buffers_touch_no_file(files: Repo) -> None:
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: z\n@@\n-as typed\n+x\n"
    patch += "*** Delete File: b\n*** End Patch\n"
    buffers = ("--buffer", "a=unsaved", "--buffer", "b=unsaved")
    answer = files.boocode("apply-edit", "--json", *buffers, stdin=patch).json
    found = {file["path"]: (file["action"], file.get("text", "")) for file in answer["files"]}
    assert found == {"z": ("rename", "in the editor\nx\n"), "b": ("delete", None)}
    assert (files.read("a"), files.read("b")) == (b"on disk\n", b"on disk\n")
    assert not (files.top / "z").exists()
    # Onto a buffer: the file that is moved stays as well.
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: z\n@@\n-on disk\n+x\n*** End Patch\n"
    files.write("empty", "")
    done = files.boocode("apply-edit", "--json", "--buffer", "z=empty", stdin=patch)
    assert files.read("a") == b"on disk\n"
    assert done.code == 1 or done.json["files"][0]["text"] == "x\n"


def test_positions_in_the_encoding_of_the_editor(files: Repo) -> None:
    files.write("unsaved", "😀 as typed\n")
    given = json.dumps(edit("a", "typed", "meant"))
    starts = []
    for encoding in ("utf-8", "utf-16", "utf-32"):
        arguments = ("--buffer", "a=unsaved", "--position-encoding", encoding)
        answer = files.boocode("apply-edit", "-n", "--json", *arguments, stdin=given).json
        starts.append(answer["files"][0]["text_edits"][0]["range"]["start"]["character"])
    assert starts == [8, 6, 5]


def test_text_edits_of_files_on_disk(files: Repo) -> None:
    answers: list[Any] = []
    for options in (("-n",), ()):
        given = json.dumps([edit("a", "disk", "paper"), {"path": "n", "content": "new\n"}])
        answers.append(files.boocode("apply-edit", "--json", *options, stdin=given).json)
    edits = [[file["text_edits"] for file in answer["files"]] for answer in answers]
    assert edits[0] == edits[1]
    assert [[each["newText"] for each in file] for file in edits[0]] == [["paper"], ["new\n"]]
    assert all("text" not in file for answer in answers for file in answer["files"])
    rewound = files.boocode("rewind", "--json").json
    assert [each["newText"] for each in rewound["files"][0]["text_edits"]] == ["disk"]


def test_locate_in_a_buffer(files: Repo) -> None:
    found = files.boocode("locate", "a", "--buffer", "a=unsaved", "--json", stdin="as typed")
    assert found.json["start"]["line"] == 2
    assert files.boocode("locate", "a", stdin="as typed").code == 1


def test_bad_input(files: Repo) -> None:
    files.write("list.json", '["a"]')
    for arguments, code, message in (
        (("--buffer", "a"), 129, "'a' is not of the form <path>=<file>"),
        (("--buffer", "=x"), 129, "'=x' is not of the form"),
        (("--buffer", "a=nowhere"), 128, "nowhere"),
        (("--buffer", "../a=unsaved"), 1, "buffer '../a': is outside the worktree"),
        (("--buffers", "unsaved"), 129, "--buffers is not valid JSON"),
        (("--buffers", "list.json"), 129, "not a JSON object of texts by path"),
        (("--buffers", "-"), 129, "edits and buffers cannot both come on standard input"),
        (("--buffers", "-", "--buffer", "a=unsaved"), 129, "cannot be used together"),
        (("--position-encoding", "latin-1"), 129, "latin-1"),
    ):
        done = files.boocode("apply-edit", *arguments, stdin="{}")
        assert (done.code, done.out) == (code, "")
        assert message in done.err
