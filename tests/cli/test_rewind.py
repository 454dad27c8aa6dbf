from __future__ import annotations

import json
import re

import pytest

from tests.editing.kit import records, replace
from tests.repo_kit import Repo

DRY = "dry run: nothing was written\n"


def edit(repo: Repo, *edits: object) -> str:
    """Apply edits and return the id of their record."""
    answer = repo.boocode("apply-edit", "--json", stdin=json.dumps(edits))
    assert answer.code == 0, answer.out
    identifier: str = answer.json["id"]
    return identifier


def test_the_newest_edit_by_default(repo: Repo) -> None:
    repo.write("a", "1\n2\n3\n")
    edit(repo, {"path": "b", "content": "b\n"})
    newest = edit(repo, replace("a", "2", "two"))
    done = repo.boocode("rewind")
    assert done.code == 0
    recorded = done.out.splitlines()[-1].removeprefix("recorded as ")
    assert done.out == f" M a: line 2\nrewound {newest}\nrecorded as {recorded}\n"
    assert done.err == f"hint: 'git boocode rewind {recorded}' brings the edit back\n"
    assert repo.read("a") == b"1\n2\n3\n"
    assert repo.boocode("rewind").out.startswith(" D b: deleted\n")
    again = repo.boocode("rewind", recorded)
    assert again.code == 0
    assert repo.read("a") == b"1\ntwo\n3\n"


def test_the_json_answer(repo: Repo) -> None:
    repo.write("a", "1\n")
    identifier = edit(repo, replace("a", "1", "2"), {"path": "n", "content": ""})
    (repo.top / "n").unlink()
    done = repo.boocode("rewind", "--json")
    assert (done.code, done.err) == (0, "")
    answer = done.json
    assert {**answer, "files": None} == {
        "ok": True, "applied": True, "id": answer["id"], "rewinds": identifier,
        "already_rewound": ["n"], "files": None,
    }  # fmt: skip
    (file,) = answer["files"]
    assert list(file) == ["path", "action", "version", "edits", "changed", "diff", "text_edits"]
    assert file["changed"] == [{"start_line": 1, "end_line": 1, "lines": ["1"]}]
    assert (file["path"], file["action"]) == ("a", "modify")
    assert file["version"] == repo.git("hash-object", "a")[:12]
    assert file["diff"] == "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-2\n+1\n"
    assert f"refs/boocode/edits/{answer['id']}" in records(repo)


def test_a_dry_run_with_its_diff(repo: Repo) -> None:
    repo.write("a", "  1\n")
    identifier = edit(repo, replace("a", "1", "2"))
    done = repo.boocode("rewind", "-n", "--diff")
    shown = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-  2\n+  1\n"
    assert done == (0, f" M a: line 1\n{shown}would rewind {identifier}\n{DRY}", "")
    assert repo.read("a") == b"  2\n"
    answer = repo.boocode("rewind", "--dry-run", "--json").json
    assert (answer["applied"], answer["id"], len(records(repo))) == (False, None, 1)


def test_no_record(repo: Repo) -> None:
    repo.write("a", "1\n")
    edit(repo, replace("a", "1", "2"))
    done = repo.boocode("rewind", "--no-record")
    assert (done.code, done.err) == (0, "")
    assert "recorded" not in done.out
    assert len(records(repo)) == 1


def test_what_was_overwritten_is_refused(repo: Repo) -> None:
    repo.write("a", "1\n2\n3\n")
    repo.write("b", "1\n")
    edits = [replace("a", "2", "two"), replace("b", "1", "one"), {"path": "n", "content": ""}]
    identifier = edit(repo, *edits)
    repo.write("a", "1\nTWO\n3\n")
    repo.write("n", "mine\n")
    done = repo.boocode("rewind")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "error: a: the edited lines have changed since, at line 2",
        "  line 2 (similarity 0.25):",
        "  2| TWO",
        "error: n: the edit created the file, and it has changed since, at line 1",
        f"hint: undo it by hand: 'git boocode show {identifier}' prints the edit's diff",
        "hint: deleting it would lose these changes; delete it yourself if that is intended",
    ]
    assert repo.read("b") == b"one\n"
    answer = repo.boocode("rewind", "--json")
    assert answer.code == 1
    assert (answer.json["ok"], answer.json["applied"]) == (False, False)
    assert [(row["path"], row["code"], row["lines"]) for row in answer.json["failures"]] == [
        ("a", "conflict", [2]), ("n", "conflict", [1])
    ]  # fmt: skip
    assert answer.json["error"]["code"] == "conflict"
    assert "retry_context" not in answer.json
    assert len(records(repo)) == 1
    assert repo.boocode("rewind", "b").code == 0
    assert repo.read("b") == b"1\n"


def test_nothing_to_do(repo: Repo) -> None:
    repo.write("a", "1\n")
    identifier = edit(repo, replace("a", "1", "2"))
    repo.write("a", "1\n")
    done = repo.boocode("rewind")
    assert (done.code, done.out) == (
        0, f" = a: already rewound\nnothing to do: {identifier} is rewound already\n"
    )  # fmt: skip
    assert done.err == "hint: 'git boocode log --edits' lists the other edits\n"


def test_edits_and_paths_are_distinguished(repo: Repo) -> None:
    for name in ("a", "b", "gone", "abcd1234"):
        repo.write(name, "1\n")
    patch = {"patch": "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"}
    first = edit(repo, *(replace(name, "1", "2") for name in ("a", "b", "abcd1234")), patch)
    for arguments, back in (
        (["gone"], "gone"), ([first, "a"], "a"), (["--", "b"], "b"), (["abcd1234"], "abcd1234")
    ):  # fmt: skip
        done = repo.boocode("rewind", *arguments)
        assert done.code == 0, done.err
        assert repo.read(back) == b"1\n"
    assert repo.boocode("rewind", "@", "--", "abcd1234").code == 0
    assert repo.read("abcd1234") == b"2\n"


def test_paths_from_a_subdirectory(repo: Repo) -> None:
    repo.write("sub/a", "1\n")
    repo.write("a", "1\n")
    edit(repo, replace("sub/a", "1", "2"), replace("a", "1", "2"))
    assert repo.boocode("rewind", "a", cwd="sub").code == 0
    assert (repo.read("sub/a"), repo.read("a")) == (b"1\n", b"2\n")
    assert repo.boocode("rewind", "../a", cwd="sub").code == 0
    assert repo.read("a") == b"1\n"


def test_what_is_not_there(repo: Repo) -> None:
    repo.write("b", "1\n")
    edit(repo, {"path": "a", "content": "1\n"})
    for arguments, said in (
        (["nonsense"], "no edit record matches 'nonsense' (ids need at least 4 characters)"),
        (["ffffffff"], "no edit record matches 'ffffffff'"),
        (["@~1"], "'@~1': this worktree has only 1 edit record"),
        (["--", "b"], "'b' is not among the files of the edit"),
        (["b"], "'b' is not among the files of the edit"),
        (["@", "sub"], "'sub' is not among the files of the edit"),
    ):
        done = repo.boocode("rewind", *arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"error: {said}")
        assert "hint: " in done.err
        assert repo.boocode("rewind", "--json", *arguments).json["error"]["code"] == "not_found"


def test_there_is_no_edit(repo: Repo) -> None:
    done = repo.boocode("rewind")
    assert (done.code, done.err.splitlines()[0]) == (
        1, "error: this worktree has no edit left to rewind"
    )  # fmt: skip


def test_several_edits_at_once_are_a_usage_error(repo: Repo) -> None:
    done = repo.boocode("rewind", "@", "@~1", "--", "a")
    assert done.code == 129
    assert "error: unexpected argument '@~1'\n" in done.err
    assert repo.boocode("rewind", "--no").code == 129
    assert repo.boocode("rewind", "-h").code == 129


def test_names_that_could_steer_a_terminal(repo: Repo) -> None:
    evil = "a\x1b[31m\tb"
    identifier = edit(repo, {"path": evil, "content": ""})
    for command in (f"show {identifier}", "log --edits", "rewind -n", "rewind"):
        done = repo.boocode(*command.split())
        assert done.code == 0, done.err
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out + done.err), command


def test_a_dry_run_with_nothing_to_do(repo: Repo) -> None:
    identifier = edit(repo, {"path": "n", "content": ""})
    (repo.top / "n").unlink()
    shown = f" = n: already rewound\nnothing to do: {identifier} is rewound already\n{DRY}"
    assert repo.boocode("rewind", "-n").out == shown


@pytest.mark.parametrize("name", [(), ("@~0",)])
def test_records_that_cannot_be_read_are_warned_of(repo: Repo, name: tuple[str, ...]) -> None:
    repo.write("a", "1\n")
    spoilt = edit(repo, replace("a", "1", "2"))
    tree = repo.git("mktree").strip()
    commit = repo.git("commit-tree", tree, stdin='s\n\n{"boocode": 99, "kind": "edit"}').strip()
    repo.git("update-ref", f"refs/boocode/edits/{spoilt}", commit)
    done = repo.boocode("rewind", *name)
    assert done.code == 1
    warning, hint, *_ = done.err.splitlines()
    assert warning == "warning: 1 edit record cannot be read"
    assert hint == "hint: 'git boocode doctor' shows which, and why"
    if not name:
        assert "error: this worktree has no edit left to rewind that can be read\n" in done.err
    listed = repo.boocode("log", "--edits")
    assert (listed.code, listed.out) == (0, "")
    assert listed.err == f"{warning}\n{hint}\n"
    assert repo.boocode("log", "--edits", "--json").json == {"ok": True, "edits": []}


def test_an_empty_argument_is_no_edit(repo: Repo) -> None:
    repo.write("a", "old\n")
    repo.boocode("apply-edit", "--path", "a", "--old", "old", "--new", "new")
    for arguments in (("",), ("@", ""), ("--", "")):
        assert repo.boocode("rewind", *arguments).code == 1
        assert repo.read("a") == b"new\n"
