from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.edits import MatchOptions, MissError
from git_boocode.editing.records import Records
from git_boocode.editing.revert import ALREADY, Revert
from git_boocode.editing.rewind_edit import RewindResult, rewind
from git_boocode.editing.text_changes import changed_hunks
from git_boocode.editing.textfile import decode
from git_boocode.matching.text import split_lines
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from tests.editing.kit import apply, leftovers, records, replace, snapshot
from tests.repo_kit import Repo

TEXT = """import os


def one(first):
    total = first + 1
    return total


def two(second):
    total = second + 2
    return total


def three(third):
    total = third + 3
    return total
"""
CHANGED = TEXT.replace("    total = second + 2\n", "    total = 2 * second\n    log(total)\n")


def undo(name: str | None = None, *paths: str, **how: Any) -> RewindResult:
    """Rewind in the current directory."""
    repository = Repository.discover()
    catalog = Records(repository)
    record = catalog.to_rewind() if name is None else catalog.find(name)
    return rewind(repository, record, paths, **how)


def refused(name: str | None = None, *paths: str) -> EditsRefusedError:
    """The refusal of a rewind, which must not have changed anything."""
    before, kept = snapshot(Path()), Path(".git/refs/boocode").exists()
    with pytest.raises(EditsRefusedError) as caught:
        undo(name, *paths)
    assert snapshot(Path()) == before
    assert Path(".git/refs/boocode").exists() is kept
    return caught.value


def took_back(before: str, after: str, now: str) -> str:
    """What a file becomes when a change of it is taken back."""
    action = Revert(before.encode(), after.encode())
    text = action.apply(decode(now.encode()), MatchOptions()).text
    assert text is not None
    return text.encode().decode()


def miss(before: str, after: str, now: str) -> MissError:
    with pytest.raises(MissError) as caught:
        took_back(before, after, now)
    return caught.value


def test_the_old_bytes_come_back(repo: Repo) -> None:
    old = b"\xef\xbb\xbfone\r\ntwo \xc3\xa9\nthree"
    repo.write("a", old, 0o755)
    edit = apply([replace("a", "two é", "2"), replace("a", "one", "1")])
    done = undo()
    assert repo.read("a") == old
    assert (repo.top / "a").stat().st_mode & 0o777 == 0o755
    assert done.record.id == edit.id
    assert done.answer.id != edit.id
    assert leftovers(repo.top) == []
    told: Any = done.as_json()
    assert list(told) == ["ok", "applied", "id", "rewinds", "already_rewound", "files"]
    assert (told["applied"], told["rewinds"], told["already_rewound"]) == (True, edit.id, [])
    (file,) = told["files"]
    assert (file["path"], file["action"]) == ("a", "modify")
    assert file["edits"][0]["count"] == 1
    assert "+two é" in file["diff"]


def test_the_record_of_a_rewind(repo: Repo) -> None:
    repo.write("a", "old\n")
    edit = apply([replace("a", "old", "new"), {"path": "b", "content": ""}]).id
    done = undo(None, "a")
    message = repo.git("log", "-1", "--format=%B", f"refs/boocode/edits/{done.answer.id}")
    found = json.loads(message.split("\n\n")[1])
    assert found["rewinds"] == {"id": edit, "paths": ["a"]}
    assert found["edits"][0]["format"] == "rewind"
    assert found["edits"][0]["edit"] == {"path": "a", "rewind": edit}


def test_a_rewind_is_rewound(repo: Repo) -> None:
    repo.write("a", TEXT)
    repo.write("gone", "g\n", 0o755)
    repo.write("from", "f\n")
    edits = [replace("a", "second + 2", "2 * second"), {"path": "new/n", "content": "n\n"}]
    patch = "*** Begin Patch\n*** Delete File: gone\n*** Update File: from\n*** Move to: sub/to\n"
    edits.append({"patch": f"{patch}@@\n-f\n+t\n*** End Patch\n"})
    before = repo.files()
    apply(edits)
    after = repo.files()
    assert set(after) == {"a", "new/n", "sub/to"}
    for _ in range(3):
        name = undo().answer.id
        assert repo.files() == before
        assert not (repo.top / "new").exists()
        undo(name)
        assert repo.files() == after


def test_a_rename_alone(repo: Repo) -> None:
    repo.write("a", "x\n")
    apply({"patch": "diff --git a/a b/b\nrename from a\nrename to b\n"})
    assert "b" in repo.files()
    done = undo()
    assert [(file.path, file.moved_from) for file in done.answer.files] == [("a", "b")]
    assert done.already == ()
    assert set(repo.files()) == {"a"}


def test_a_renamed_file_that_was_edited_since(repo: Repo) -> None:
    repo.write("a", TEXT)
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-import os\n+import sys\n"
    apply({"patch": f"{patch}*** End Patch\n"})
    repo.write("b", repo.read("b") + b"\nmore\n")
    undo()
    assert repo.files()["a"][1].decode() == TEXT + "\nmore\n"
    assert "b" not in repo.files()


def test_the_old_name_is_taken(repo: Repo) -> None:
    repo.write("a", "x\n")
    apply({"patch": "diff --git a/a b/b\nrename from a\nrename to b\n"})
    repo.write("a", "other\n")
    error = refused()
    assert [failure.code for failure in error.failures] == ["exists"]
    assert "b: it cannot be renamed to 'a': that file already exists" in error.message


def test_a_file_that_was_moved_and_its_name_used_again(repo: Repo) -> None:
    repo.write("a", "x\n")
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n"
    before = repo.files()
    apply({"patch": f"{patch}*** Add File: a\n+new\n*** End Patch\n"})
    after = repo.files()
    assert set(after) == {"a", "b"}
    name = undo().answer.id
    assert repo.files() == before
    undo(name)
    assert repo.files() == after


def test_two_files_that_changed_names(repo: Repo) -> None:
    repo.write("a", "1\n")
    repo.write("b", "2\n")
    before = repo.files()
    moves = [("a", "t"), ("b", "a"), ("t", "b")]
    apply([
        {"patch": f"diff --git a/{one} b/{other}\nrename from {one}\nrename to {other}\n"}
        for one, other in moves
    ])  # fmt: skip
    assert repo.read("a") == b"2\n"
    undo()
    assert repo.files() == before


def test_what_was_created_and_grew_is_not_deleted(repo: Repo) -> None:
    apply({"path": "n", "content": "1\n2\n"})
    repo.write("n", "1\n2\nmine\n")
    (failure,) = refused().failures
    assert (failure.path, failure.code, failure.lines) == ("n", "conflict", (3,))
    assert failure.message == "the edit created the file, and it has changed since, at line 3"
    # Its encoding alone has changed.
    repo.write("n", b"\xef\xbb\xbf1\n2\n")
    (failure,) = refused().failures
    assert failure.message == "the edit created the file, and it has changed since"


def test_what_was_deleted_and_is_there_again(repo: Repo) -> None:
    repo.write("a", "x\n")
    apply({"patch": "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"})
    repo.write("a", "mine\n")
    (failure,) = refused().failures
    assert (failure.code, failure.message) == (
        "exists", "the edit deleted the file, but it exists again"
    )  # fmt: skip


def test_what_is_as_before_already(repo: Repo) -> None:
    repo.write("a", "old\n")
    repo.write("gone", "x\n")
    patch = {"patch": "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}
    apply([replace("a", "old", "new"), {"path": "n", "content": ""}, patch])
    repo.write("a", "old\n")
    repo.write("gone", "x\n")
    (repo.top / "n").unlink()
    kept = records(repo)
    done = undo()
    assert sorted(done.already) == ["a", "gone", "n"]
    assert done.answer.id is None
    assert records(repo) == kept


def test_every_failure_is_told(repo: Repo) -> None:
    for name in "abc":
        repo.write(name, "old\n")
    apply([*(replace(name, "old", "new") for name in "abc"), {"path": "n", "content": "1\n"}])
    repo.write("a", "mine\n")
    (repo.top / "b").unlink()
    repo.write("n", "2\n")
    error = refused()
    assert [(failure.path, failure.code) for failure in error.failures] == [
        ("a", "conflict"), ("b", "missing_file"), ("n", "conflict")
    ]  # fmt: skip
    told: Any = error.as_json()
    assert (told["ok"], told["applied"]) == (False, False)
    assert "retry_context" not in told
    assert [row["code"] for row in told["failures"]] == ["conflict", "missing_file", "conflict"]
    assert refused(None, "a", "b").failures == error.failures[:2]
    undo(None, "c")
    assert repo.read("c") == b"old\n"


def test_newer_edits_that_are_in_the_way_are_named(repo: Repo) -> None:
    repo.write("a", "1\n")
    first = apply(replace("a", "1", "2")).id
    second = apply([replace("a", "2", "3"), {"path": "b", "content": ""}]).id
    error = refused(first)
    assert error.hints[-1] == f"the edit {second} changed 'a' since; rewind it first"
    undo(None, "a")
    undo(first)
    assert repo.read("a") == b"1\n"


def test_no_edit_is_named_that_was_rewound_nor_a_rewind_of_its_own(repo: Repo) -> None:
    repo.write("a", "1\n")
    first = apply(replace("a", "1", "2")).id
    second = apply(replace("a", "2", "3")).id
    third = undo(second).answer.id
    repo.write("a", "9\n")
    assert refused(first).hints[1:] == (f"the edit {third} changed 'a' since; rewind it first",)
    repo.write("a", "2\n")
    undo(first)
    repo.write("a", "9\n")
    *_, newer, before = refused(first).hints
    assert str(third) in newer
    assert before == "this edit was rewound before; 'git boocode log --edits' shows it"


def test_paths_count_from_where_the_caller_stands(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("sub/a", "sub/b", "a", "sub/deep/c"):
        repo.write(path, "old\n")
    apply([replace(path, "old", "new") for path in ("sub/a", "sub/b", "a", "sub/deep/c")])
    monkeypatch.chdir(repo.top / "sub")
    undo(None, "a")
    assert [repo.read(path) for path in ("sub/a", "sub/b", "a")] == [b"old\n", b"new\n", b"new\n"]
    undo(None, "./deep", "../a")
    assert (repo.read("a"), repo.read("sub/deep/c")) == (b"old\n", b"old\n")
    with pytest.raises(RefusedError) as caught:
        undo(None, "nothing")
    assert caught.value.code == "not_found"
    assert caught.value.message.startswith("'nothing' is not among the files of the edit")
    # All that is left.
    undo()
    assert repo.read("sub/b") == b"old\n"


def test_a_path_of_the_record_is_never_taken_for_one_below(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a", "old\n")
    apply(replace("a", "old", "new"))
    (repo.top / "a").unlink()
    repo.write("sub/a", "new\n")
    monkeypatch.chdir(repo.top / "sub")
    assert [failure.code for failure in refused().failures] == ["missing_file"]


def test_a_path_that_another_edit_changed(repo: Repo) -> None:
    first = apply({"path": "a", "content": ""}).id
    apply({"path": "b", "content": ""})
    with pytest.raises(RefusedError) as caught:
        undo(None, "a")
    assert caught.value.hints == ("it changed 'b'", f"the newest edit that changed 'a' is {first}")


def test_a_directory_in_the_place_of_the_file(repo: Repo) -> None:
    repo.write("a", b"one\ntwo\n")
    apply([replace("a", "two", "2")])
    (repo.top / "a").unlink()
    (repo.top / "a").mkdir()
    (failure,) = refused().failures
    assert (failure.code, failure.path, failure.hint) == ("invalid_input", "a", None)


def test_symlinks(repo: Repo) -> None:
    repo.write("real", "old\n")
    (repo.top / "link").symlink_to("real")
    apply([replace("link", "old", "new"), {"path": "n", "content": "n\n"}])
    undo(None, "link")
    assert repo.read("real") == b"old\n"
    assert (repo.top / "link").is_symlink()
    # What was created is a symlink by now: nobody deletes what it leads to.
    (repo.top / "n").unlink()
    repo.write("kept", "n\n")
    (repo.top / "n").symlink_to("kept")
    assert "symbolic link" in refused().failures[0].message
    # One that leads out is not followed.
    (repo.top / "n").unlink()
    (repo.top / "n").symlink_to("/etc/hostname")
    assert [failure.code for failure in refused().failures] == ["outside_worktree"]


@pytest.mark.parametrize("path", ["../out", "/etc/out", ".git/config", "a\0b", "\ud800"])
def test_a_record_that_someone_else_made_up(repo: Repo, path: str) -> None:
    apply({"path": "a", "content": "x\n"})
    tree = repo.git("rev-parse", f"{records(repo)[0]}^{{tree}}").strip()
    for action in ("modify", "delete", "rename"):
        file = {"path": path, "action": action, "from": "a"}
        text = json.dumps({"boocode": 1, "kind": "edit", "files": [file]})
        commit = repo.git("commit-tree", tree, stdin=f"s\n\n{text}").strip()
        name = "0190" + os.urandom(2).hex() + "-0000-7000-8000-000000000000"
        repo.git("update-ref", f"refs/boocode/edits/{name}", commit)
        before = snapshot(repo.top)
        with pytest.raises(RefusedError):
            undo(name)
        assert snapshot(repo.top) == before


# What the file becomes where it has moved on.


def test_lines_that_could_be_anywhere_are_not_found_where_they_moved() -> None:
    rest = "".join(f"step_{number}()\n" for number in range(9))
    before, short, long = (f"{{\n(\n{value}\n)\n}}\n" for value in ("x", "y" * 7, "y" * 8))
    assert miss(before + rest, short + rest, rest + short).code == "conflict"
    assert took_back(before + rest, long + rest, rest + long) == rest + before


def indented(text: str, by: str) -> str:
    return "".join(by + line if line.strip() else line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize("old", ["\n", "  \n\n"])
def test_blank_lines_come_back_in_an_indented_file(old: str) -> None:
    before = TEXT.replace("total\n\n\ndef two", f"total\n{old}\n\n\ndef two")
    now = "class K:\n" + indented(TEXT.replace("import os", "import re"), "\t")
    expected = now.replace("total\n\n\n\tdef two", f"total\n{old}\n\n\n\tdef two")
    assert took_back(before, TEXT, now) == expected


def test_tabs_became_spaces() -> None:
    now = CHANGED.replace("    ", "\t")
    assert took_back(TEXT, CHANGED, now) == TEXT.replace("    ", "\t")
    aligned = TEXT.replace("    total = second", "      total = second")
    assert miss(aligned, CHANGED, now).code == "conflict"


@pytest.mark.parametrize(
    ("now", "applied"),
    [
        (CHANGED + "# tail\n", ("exact", "exact", 10, 11, ())),
        (CHANGED.replace("log(total)", "log(total) "), ("fuzzy", "whitespace", 10, 11, ())),
        (indented(CHANGED, "  "), ("fuzzy", "whitespace", 10, 11, ("reindented",))),
    ],
    ids=["as it was", "with trailing whitespace", "indented"],
)
def test_the_answer_says_how_a_place_was_found(now: str, applied: tuple[object, ...]) -> None:
    found = (
        Revert(TEXT.encode(), CHANGED.encode()).apply(decode(now.encode()), MatchOptions()).applied
    )
    lines = found.start_line, found.end_line
    assert (found.kind, found.rung, *lines, found.notes) == applied


def test_an_edit_of_whitespace_is_taken_back_only_as_it_was_written() -> None:
    after = TEXT.replace("    total = second + 2", "  total = second + 2")
    assert took_back(TEXT, after, "# top\n" + after) == "# top\n" + TEXT
    now = after.replace("  total = second + 2", "   total = second + 2")
    assert miss(TEXT, after, now).code == "conflict"


def test_a_deletion_whose_neighbours_changed_is_named() -> None:
    shorter = TEXT.replace("    total = second + 2\n", "")
    now = shorter.replace("def two(second):\n    return total", "def too():\n    return 2")
    said = "the lines around the deleted lines have changed, near line 9"
    assert miss(TEXT, shorter, now).message == said


@pytest.mark.parametrize("added", ["more\n", "more", "\n"])
def test_the_final_newline(added: str) -> None:
    assert took_back("a\nb\nc", "a\nb\nd", "a\nb\nd\n" + added) == "a\nb\nc\n" + added
    assert took_back("a\nb\nc", "a\nb\nc\n", "x\na\nb\nc\n") == "x\na\nb\nc"
    assert took_back("a\nb", "a\nb\nc\nd\n", "0\na\nb\nc\nd\n") == "0\na\nb"


def test_some_places_are_rewound_already() -> None:
    changed = CHANGED.replace("import os", "import sys")
    now = changed.replace("import sys", "import os") + "# more\n"
    action = Revert(TEXT.encode(), changed.encode())
    result = action.apply(decode(now.encode()), MatchOptions())
    assert result.text is not None
    assert result.text.text == TEXT + "# more\n"
    assert result.applied.notes == ("1 of 2 places already rewound",)
    assert result.applied.count == 1


def test_all_places_are_rewound_already() -> None:
    now = TEXT + "# more\n"
    result = Revert(TEXT.encode(), CHANGED.encode()).apply(decode(now.encode()), MatchOptions())
    assert result.text == decode(now.encode())
    assert result.applied == ("exact", ALREADY, 1.0, 0, 1, 0, ("already rewound",))


def test_the_lines_that_stand_there_now_are_told() -> None:
    error = miss(TEXT, CHANGED, "#\n" + CHANGED.replace("log(total)", "log(total, 1)"))
    assert error.message == "the edited lines have changed since, at lines 11-12"
    assert error.lines == (11, 12)
    (near,) = error.candidates
    assert near[:2] == (11, 12)
    assert near.text == "    total = 2 * second\n    log(total, 1)\n"
    assert "git boocode show" in (error.hint or "")


def test_a_copy_makes_it_ambiguous() -> None:
    start, end = CHANGED.index("def two"), CHANGED.index("def three")
    copy = CHANGED[start:end]
    error = miss(TEXT, CHANGED, f"{copy}\n# 1\n\n{copy}")
    assert (error.code, len(error.lines)) == ("ambiguous", 2)


def test_an_original_that_was_reworded_beside_a_copy_is_left_alone() -> None:
    rest = "".join(f"step_{number}()\n" for number in range(9))
    block = "alpha(1)\nbeta(2)\n{}gamma(3)\ndelta(4)\n"
    before, after = block.format("old()\n") + rest, block.format("one()\ntwo()\nsix()\n") + rest
    reworded = block.format("one()\nmine()\nsix()\n")
    for between in ("", "last()\n"):
        result = wrapped(before, after, f"{reworded}{rest}{between}{after}")
        assert result is None or result.startswith(reworded)


def test_part_of_a_line_is_no_place() -> None:
    assert miss("x = 1\n", "x = 2\n", "max = 2\n").code == "conflict"
    assert miss("x = 1", "x = 2", "x = 25").code == "conflict"


def test_the_last_line_gets_an_ending_where_others_follow_it_now() -> None:
    assert took_back("a\nold line", "a\nnew line\n", "a\nnew line\nmore\n") == (
        "a\nold line\nmore\n"
    )


def test_bytes_that_are_no_text() -> None:
    before, after = b"\x00one\ntwo\nthree\xff\n", b"\x00one\n2\nthree\xff\n"
    action = Revert(before, after)
    more = decode(after + b"\x01more\n")
    assert action.apply(more, MatchOptions()).text == decode(before + b"\x01more\n")
    with pytest.raises(MissError):
        action.apply(decode(after.replace(b"2\n", b" 2\n")), MatchOptions())


def test_utf_16() -> None:
    before, after = ("\ufeff" + text for text in (TEXT, CHANGED))
    action = Revert(before.encode("utf-16-le"), after.encode("utf-16-le"))
    now = decode((after + "é\n").encode("utf-16-le"))
    text = action.apply(now, MatchOptions()).text
    assert text is not None
    assert text.encode() == (before + "é\n").encode("utf-16-le")
    with pytest.raises(MissError, match="the encoding of the file has changed"):
        action.apply(decode(f"{CHANGED}é\n".encode()), MatchOptions())


def test_an_edit_that_changed_the_encoding() -> None:
    before, after = f"\ufeff{TEXT}".encode("utf-16-le"), CHANGED.encode()
    assert Revert(before, after).apply(decode(after), MatchOptions()).text == decode(before)


def test_an_old_line_that_cannot_be_moved_to_the_left_is_refused() -> None:
    above, below = "first_line = 1\n    second_line = 2\n", "third_line = 3\nfourth_line = 4\n"
    before = f"{above}    total = old_value\nouter = old_value\n{below}"
    after = f"{above}    total = new_value\n{below}"
    now = f"{above}total = new_value\n{below}"
    assert miss(before, after, now).code == "conflict"
    assert took_back(before.replace("outer", "    inner"), after, now) == (
        f"{above}total = old_value\ninner = old_value\n{below}"
    )


def test_a_byte_order_mark_that_came_or_went() -> None:
    mark = b"\xef\xbb\xbf"
    action = Revert(TEXT.encode(), CHANGED.encode())
    text = action.apply(decode(mark + CHANGED.encode()), MatchOptions()).text
    assert text is not None
    assert text.encode() == mark + TEXT.encode()


def test_a_final_newline_that_came_or_went_in_an_indented_file() -> None:
    assert took_back("a\nb\n", "a\nlast one\n", "k\n  a\n  last one") == "k\n  a\n  b"
    assert took_back("a\nb", "a\nlast one", "k\n  a\n  last one\n") == "k\n  a\n  b\n"
    assert miss("a\na\na", "a\n", "a").code == "conflict"


# Depth.


def wrapped(before: str, after: str, now: str) -> str | None:
    """What a file becomes when a change of it is taken back; None if that is refused."""
    try:
        return took_back(before, after, now)
    except MissError:
        return None


def test_indented_lines_of_one_depth_may_have_moved_or_have_another_step() -> None:
    before, after = "a:\n    b:\n        one\nz\n", "a:\n    first\nz\n"
    assert miss(before, after, "a:\n  first\nz\n").code == "conflict"


def test_lines_that_moved_by_different_depths_are_refused() -> None:
    before, after = "a:\n  one\n  two\nz\n", "a:\n  first\n  second\nz\n"
    assert miss(before, after, "a:\n    first\n      second\nz\n").code == "conflict"
    # Neither by one shift nor by one factor.
    before, after = "a:\n  one\n      two\nz\n", "a:\n  first\n    second\nz\n"
    assert miss(before, after, "a:\n    first\n       second\nz\n").code == "conflict"
    # Deleted, between lines of which one was wrapped.
    shorter = "a(1, 2)\nc(3, 4)\n"
    assert miss("a(1, 2)\nb()\nc(3, 4)\n", shorter, "a(1, 2)\n    c(3, 4)\n").code == "conflict"


BLOCKS = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=3, max_size=10)


@given(
    rows=BLOCKS,
    wrap=st.tuples(st.integers(0, 9), st.integers(1, 10)),
    by=st.sampled_from(["  ", "    ", "\t", "        "]),
    step=st.sampled_from(["  ", "    ", "\t"]),
    extra=st.integers(0, 3),
)
def test_a_wrapped_block_comes_back_at_its_depth_or_not_at_all(
    rows: list[tuple[int, bool]], wrap: tuple[int, int], by: str, step: str, extra: int
) -> None:
    """Each changed line became one other line, at another depth."""
    first, last = min(wrap[0], len(rows) - 1), min(wrap[0] + wrap[1], len(rows))
    before, after, now, expected = [], [], [], []
    for number, (depth, changed) in enumerate(rows):
        old, new = f"{step * depth}line {number}\n", f"{step * depth}line {number}\n"
        if changed:
            old, new = (
                f"{step * extra}old {number}\n{old}",
                f"{step * depth}written anew {number}\n",
            )
        before.append(old)
        after.append(new)
        inside = first <= number < last
        if number == first:
            now.append("wrapper {\n")
            expected.append("wrapper {\n")
        now.append(indented(new, by) if inside else new)
        expected.append(indented(old, by) if inside else old)
    assume(before != after)
    result = wrapped("".join(before), "".join(after), "".join(now))
    assert result in ("".join(expected), None)


# Many places.


FUNCTIONS = "".join(
    f"def f{n}(a):\n    #\n    #\n    b = old(a, {n})\n    #\n    return b\n\n" for n in range(400)
)
RENAMED = FUNCTIONS.replace("old(", "fresh(")


def test_many_places() -> None:
    assert took_back(FUNCTIONS, RENAMED, "# top\n" + RENAMED) == "# top\n" + FUNCTIONS
    now = "class K:\n" + indented(RENAMED, "    ")
    assert took_back(FUNCTIONS, RENAMED, now) == "class K:\n" + indented(FUNCTIONS, "    ")
    beside = RENAMED.replace("return b", "return c"), FUNCTIONS.replace("return b", "return c")
    assert took_back(FUNCTIONS, RENAMED, beside[0]) == beside[1]


def test_many_places_of_which_none_is_left() -> None:
    error = miss(FUNCTIONS, RENAMED, RENAMED.replace("fresh(", "fresher("))
    assert error.message.startswith("at least 8 of 400 places cannot be reverted: the ")
    stop = FUNCTIONS.index("def f8(")
    before, after = FUNCTIONS[:stop], RENAMED[:stop]
    error = miss(before, after, after.replace("fresh(", "fresher("))
    assert error.message.startswith("8 of 8 places cannot be reverted: the ")


# Properties.

LINE = st.sampled_from(["a", "b", "  a", "}", "", "total = 1", "return total", "x"])
ENDING = st.sampled_from(["\n", "\n", "\n", "\r\n"])
LINES = st.lists(st.builds(str.__add__, LINE, ENDING), max_size=14)
TEXTS = st.builds("".join, LINES) | st.builds(lambda lines, end: "".join(lines) + end, LINES, LINE)


@given(before=st.binary(max_size=30) | st.none(), after=st.binary(max_size=30) | st.none())
def test_an_unchanged_file_becomes_what_it_was(before: bytes | None, after: bytes | None) -> None:
    assume(before != after)
    text = None if after is None else decode(after)
    result, applied, _ = Revert(before, after).apply(text, MatchOptions())
    assert (None if result is None else result.encode()) == before
    changed = "exact" if before is not None else "delete"
    assert applied.rung == ("create" if after is None else changed)


@given(before=TEXTS, after=TEXTS, now=TEXTS)
def test_nothing_that_the_edit_did_not_write_is_lost(before: str, after: str, now: str) -> None:
    """Of any file it takes only lines away that the edit wrote, and adds only those it took."""
    assume(before != after)
    try:
        result = took_back(before, after, now)
    except MissError:
        return
    if now == after:
        assert result == before
        return
    # Place by place: one may have been taken back by hand, another one not.
    old, new = split_lines(before), split_lines(after)
    hunks = changed_hunks(old, new)
    took = counted("\n".join(line for hunk in hunks for line in old[hunk.i1 : hunk.i2]))
    wrote = counted("\n".join(line for hunk in hunks for line in new[hunk.j1 : hunk.j2]))
    assert counted(now) - counted(result) <= wrote
    assert counted(result) - counted(now) <= took


def counted(text: str) -> Any:
    from collections import Counter

    return Counter(filter(None, ("".join(line.split()) for line in text.split("\n"))))
