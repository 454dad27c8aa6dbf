import hashlib
import json
import os
import socket
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from git_boocode.editing import edit_plan as plan_module
from git_boocode.editing.actions import Create, Delete, Keep, Replace
from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.edits import EditResult, MatchOptions
from git_boocode.editing.inputs import Source
from git_boocode.editing.service import Options, apply_edits
from git_boocode.editing.textfile import FileText
from git_boocode.editing.workspace import Workspace
from git_boocode.repo import files
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.files import read_state
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from tests.editing.kit import act, apply, carry_out, codes, refused, replace
from tests.repo_kit import Repo


def blob(data: bytes, algorithm: str = "sha1") -> str:
    return hashlib.new(algorithm, f"blob {len(data)}\0".encode() + data).hexdigest()


def test_later_edits_see_earlier_ones(repo: Repo) -> None:
    repo.write("a", "one\ntwo\nthree\n")
    answer = apply([replace("a", "one", "uno\nadded"), replace("a", "added\ntwo", "dos"),
                    replace("a", "three", "tres")])  # fmt: skip
    assert repo.read("a") == b"uno\ndos\ntres\n"
    places = [(applied.start_line, applied.end_line) for _, applied in answer.files[0].applied]
    assert places == [(1, 1), (1, 2), (3, 3)]


@pytest.mark.parametrize(
    ("hint", "expected"),
    [(2, b"new\nx = 1\nb\nsame()\n"), (6, b"new\nsame()\nb\nx = 1\n"), (4, None)],
)
def test_a_line_hint_counts_only_if_it_can_be_read_in_one_way(
    repo: Repo, hint: int, expected: bytes | None
) -> None:
    # The places stand in lines 4 and 6 of the file as it was, in 2 and 4 after the first edit.
    repo.write("a", "old\nold\nold\nsame()\nb\nsame()\n")
    edits = [
        replace("a", "old\nold\nold\n", "new\n"),
        replace("a", "same()", "x = 1", start_line=hint),
    ]
    if expected is None:
        assert codes(edits) == [(1, "ambiguous")]
    else:
        apply(edits)
        assert repo.read("a") == expected


def test_all_failures_are_collected_and_nothing_is_changed(repo: Repo) -> None:
    repo.write("a", "x\nx\ny\n")
    repo.write("b", "fine\n")
    assert codes(
        [
            replace("b", "fine", "changed"),
            replace("a", "x", "z"),
            replace("missing", "x", "z"),
            {"path": "a"},
            replace("../out", "x", "z"),
            replace("a", "this is not in the file at all", "z"),
        ]
    ) == [
        (1, "ambiguous"),
        (2, "missing_file"),
        (3, "invalid_input"),
        (4, "outside_worktree"),
        (5, "not_found"),
    ]


def test_what_only_follows_from_a_failure_is_not_reported(repo: Repo) -> None:
    repo.write("a", "one\n")
    first = replace("a", "nowhere to be found in this file", "def helper():\n    return 1")
    assert codes([first, replace("a", "    return 1", "    return 2")]) == [(0, "not_found")]
    part = replace("a", "def helper()", "def other()")
    assert codes([first, part]) == [(0, "not_found")]
    region = {"path": "a", "start": ["    return 1"], "content": []}
    assert codes([first, region]) == [(0, "not_found")]
    assert codes([first, replace("a", "an independent error is here", "z")]) == [
        (0, "not_found"),
        (1, "not_found"),
    ]


def test_an_unreadable_edit_hides_no_missing_file(repo: Repo) -> None:
    assert codes([{"x": 1}, replace("gone", "a", "b")]) == [
        (0, "invalid_input"),
        (1, "missing_file"),
    ]


def test_an_unreadable_input_hides_no_failure(repo: Repo) -> None:
    repo.write("a", "x\n")
    sources = [Source("one", b"["), Source("two", json.dumps(replace("a", "y", "z")).encode())]
    with pytest.raises(EditsRefusedError) as caught:
        apply_edits(sources, Workspace.find(index=True), Options())
    assert [(bad.number, bad.code) for bad in caught.value.failures] == [
        (None, "invalid_input"),
        (0, "not_found"),
    ]


@pytest.mark.parametrize("spelling", ["a", "./a", "sub/../a", "link"])
def test_a_whole_file_is_never_mixed_with_other_edits(repo: Repo, spelling: str) -> None:
    repo.write("a", "x\n")
    repo.write("sub/b", "")
    (repo.top / "link").symlink_to("a")
    whole = {"path": "a", "content": "z\n"}
    assert codes([whole, replace(spelling, "x", "y")]) == [(1, "mixed_write")]
    assert codes([replace(spelling, "x", "y"), whole]) == [(1, "mixed_write")]
    assert codes([whole, {**whole, "path": spelling}]) == [(1, "mixed_write")]


def test_hard_links_are_files_of_their_own(repo: Repo) -> None:
    repo.write("a", "x\n")
    os.link("a", "b")
    answer = apply([{"path": "a", "content": "y\n"}, {"path": "b", "content": "z\n"}])
    assert (repo.read("a"), repo.read("b")) == (b"y\n", b"z\n")
    assert answer.files[0].applied[0][1].notes == ("hard link split",)


def test_what_is_only_deleted_or_renamed_gets_no_note(repo: Repo) -> None:
    for name in "ab":
        repo.write(name, "x\n")
        os.link(name, f"{name}2")
    answer = carry_out(act(("a", Delete()), ("b", Keep(), "c")))
    assert [applied.notes for file in answer.files for _, applied in file.applied] == [(), ()]


def test_an_empty_old_string_creates_and_fills(repo: Repo) -> None:
    repo.write("empty")
    repo.write("bom", b"\xef\xbb\xbf")
    repo.write("full", "x")
    apply([replace(path, "", "text\n") for path in ("new/file", "empty", "bom")])
    assert repo.read("new/file") == repo.read("empty") == b"text\n"
    assert repo.read("bom") == b"\xef\xbb\xbftext\n"
    assert codes(replace("full", "", "y")) == [(0, "exists")]


@pytest.mark.parametrize(
    ("content", "line", "text", "expected"),
    [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
        ("a\nb\n", 2, "x\ny\n", "a\nb\nx\ny\n"),
        ("a\nb", 2, "x\n", "a\nb\nx"),
        ("a\nb", 1, "x", "a\nx\nb"),
        ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
        ("a\r\nb", 2, "x", "a\r\nb\r\nx"),
        ("a\r\nb\n", 0, "x", "x\r\na\r\nb\n"),
        ("a\nb\r\n", 1, "x", "a\nx\nb\r\n"),
        ("a\r\nb\nc\n", 2, "x", "a\r\nb\nx\nc\n"),
        ("", 0, "x", "x\n"),
        ("a\n", 1, "x\n\n", "a\nx\n\n"),
    ],
)
def test_insert(repo: Repo, content: str, line: int, text: str, expected: str) -> None:
    repo.write("a", content)
    edit = {"path": "a", "command": "insert", "insert_line": line, "insert_text": text}
    answer = apply(edit)
    assert repo.read("a").decode() == expected
    applied = answer.files[0].applied[0][1]
    assert (applied.start_line, applied.end_line) == (line + 1, line)


@pytest.mark.parametrize(
    ("old", "content", "expected"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\n", b"x\n"),
        (b"a\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
        (b"\xff\xfea\0", "x", b"\xff\xfex\0"),
        (b"\0\xff", "x", b"x"),
        (b"a\n", "x", b"x"),
    ],
)
def test_write_keeps_encoding_and_line_endings(
    repo: Repo, old: bytes, content: str, expected: bytes
) -> None:
    repo.write("a", old, 0o755)
    apply({"path": "a", "content": content})
    assert repo.read("a") == expected
    assert stat.S_IMODE((repo.top / "a").stat().st_mode) == 0o755


def test_a_write_that_changes_nothing_says_so(repo: Repo) -> None:
    path = repo.write("a", "x\n")
    before = path.stat()
    answer = apply({"path": "a", "content": "x\n"})
    assert answer.files[0].applied[0][1].notes == ("nothing to change",)
    assert answer.id is None
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc", "b\n", "x\ny\n", b"a\r\nx\r\ny\r\nc"),
        (b"\xef\xbb\xbfab\n", "ab", "x", b"\xef\xbb\xbfx\n"),
        ("\ufeffa\r\nö\r\n".encode("utf-16-le"), "ö", "ü", "\ufeffa\r\nü\r\n".encode("utf-16-le")),
        ("\ufeffa\nö".encode("utf-16-be"), "ö", "ü", "\ufeffa\nü".encode("utf-16-be")),
        (b"caf\xe9 one\n", "one", "two", b"caf\xe9 two\n"),
        (b"caf\xe9 one\n", "caf\udce9", "th\udce9", b"th\xe9 one\n"),
        (b"\0one\r\n\xff", "one", "two", b"\0two\r\n\xff"),
    ],
)
def test_bytes_that_are_not_meant_stay(
    repo: Repo, data: bytes, old: str, new: str, expected: bytes
) -> None:
    repo.write("a", data)
    apply(replace("a", old, new))
    assert repo.read("a") == expected


def test_what_is_no_text_is_matched_exactly_only(repo: Repo) -> None:
    repo.write("a", b"caf\xe9\n    return value\n")
    assert codes(replace("a", "  return   value\n", "x")) == [(0, "binary")]
    assert codes(replace("a", "a", "x")) == [(0, "ambiguous")]
    repo.write("b", b"\0x\n")
    edit = {"path": "b", "command": "insert", "insert_line": 0, "insert_text": "y"}
    assert codes(edit) == [(0, "binary")]


def test_no_utf8_gets_into_a_file_of_another_encoding(repo: Repo) -> None:
    repo.write("latin", b"caf\xe9 one\n")
    assert codes(replace("latin", "one", "thé")) == [(0, "binary")]
    repo.write("stray", "thé \x00 one".encode() + b"\xe9\n")
    apply(replace("stray", "one", "café"))
    assert repo.read("stray") == "thé \x00 café".encode() + b"\xe9\n"


def test_a_character_that_the_file_cannot_hold_is_refused(repo: Repo) -> None:
    repo.write("a", "x\n")
    assert "U+D800" in refused(replace("a", "x", "\ud800")).message
    assert codes({"path": "new", "content": "\udcff"}) == [(0, "invalid_input")]


@pytest.mark.sha1
def test_base_is_the_raw_or_the_clean_blob(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    data = b"a\r\nb\r\n"
    for number, base in enumerate(
        [blob(data), blob(data)[:7], blob(data, "sha256"), blob(b"a\nb\n"), blob(b"a\nb\n")[:10]]
    ):
        repo.write(f"{number}.txt", data)
        apply(replace(f"{number}.txt", "a", "c", base=base.upper()))
    repo.write("z.txt", data)
    assert codes(replace("z.txt", "a", "c", base=blob(b"other"))) == [(0, "stale")]
    assert codes({"path": "gone", "content": "x", "base": blob(b"other")}) == [(0, "stale")]
    assert codes({"path": "z.txt", "content": "x", "base": "0" * 40}) == [(0, "stale")]
    apply({"path": "new", "content": "x", "base": "0" * 40})
    apply(replace("z.txt", "a", "c", base=blob(data)), index=False)


def test_expected_replacements(repo: Repo) -> None:
    repo.write("a", "x = 1\nx = 1\n")
    failure = refused(replace("a", "x = 1", "y", expected_replacements=3)).failures[0]
    assert (failure.code, failure.lines) == ("ambiguous", (1, 2))
    assert failure.hint == "count the places again, or send an edit for each of them"
    apply(replace("a", "x = 1", "y = 1", expected_replacements=2))
    assert repo.read("a") == b"y = 1\ny = 1\n"


def test_what_is_unclear_in_one_place_asks_for_the_files_text(repo: Repo) -> None:
    old = "def alpha(x):\n    return sum(x)\n\n\ndef beta(y):\n"
    repo.write("a", "class C:\n    " + old.replace("    ", "        ") + "    pass\n")
    new = old.replace("def beta", "def gamma(z):\n    return z\n\n\ndef beta")
    failure = refused(replace("a", old, new)).failures[0]
    assert failure.code == "ambiguous"
    hint = "copy whole lines from the file as the old text, and change those"
    assert failure.hint == hint


def test_paths_count_from_the_top_and_then_from_here(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("both", "sub/both", "sub/only", "other"):
        repo.write(path, "x\n")
    monkeypatch.chdir(repo.top / "sub")
    answer = apply(
        [{"path": name, "content": "y\n"} for name in ("sub/both", "only", "../other", "new")]
    )
    assert [file.path for file in answer.files] == ["sub/both", "sub/only", "other", "new"]
    answer = apply({"path": "both", "content": "z\n"}, from_here=True)
    assert answer.files[0].path == "sub/both"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../x", "outside_worktree"),
        ("/etc/passwd", "outside_worktree"),
        (".git/config", "outside_worktree"),
        ("sub/.GIT/x", "outside_worktree"),
        ("out/x", "outside_worktree"),
        ("dir", "invalid_input"),
        ("dir/", "invalid_input"),
        ("", "invalid_input"),
        ("a\0", "invalid_input"),
        ("\ud800", "invalid_input"),
        ("file/below", "invalid_input"),
        ("n" * 300, "invalid_input"),
        ("loop", "invalid_input"),
        ("pipe", "invalid_input"),
        ("socket", "invalid_input"),
    ],
)
def test_paths_that_cannot_be_edited(repo: Repo, tmp_path: Path, path: str, code: str) -> None:
    repo.write("dir/x")
    repo.write("file", "x\n")
    (repo.top / "out").symlink_to(tmp_path)
    (repo.top / "loop").symlink_to("loop")
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        assert codes({"path": path, "content": "y"}) == [(0, code)]


def test_a_file_made_by_the_same_call_is_no_directory(repo: Repo) -> None:
    edits = [{"path": "a", "content": "x"}, {"path": "a/b", "content": "x"}]
    assert codes(edits) == [(1, "invalid_input")]
    edits = [{"path": path, "content": "x"} for path in ("a/b/c", "a.b", "ab", "a", "a/b", "c/a")]
    assert codes(edits) == [(0, "invalid_input"), (4, "invalid_input")]


def test_a_missing_file_hints_at_similar_paths(repo: Repo) -> None:
    repo.write("src/package/module.py", "x\n")
    repo.write("src/other.py", "x\n")
    for path in ("src/module.py", "src/pakage/modul.py"):
        assert "src/package/module.py" in refused(replace(path, "x", "y")).hints[0]
    assert refused(replace("quite/unlike", "x", "y")).failures[0].hint is None
    for name in "bcd":
        repo.write(f"{name}/module.py", "x\n")
    assert refused(replace("a/module.py", "x", "y")).hints[0].count("module.py") == 3
    assert "src/other.py" in refused(replace("src/othr.py", "x", "y"), index=False).hints[0]


def test_a_symlink_inside_is_written_through(repo: Repo) -> None:
    repo.write("dir/real", "x\n")
    (repo.top / "link").symlink_to("dir/real")
    answer = apply(replace("link", "x", "y"))
    assert (repo.top / "link").is_symlink()
    assert repo.read("dir/real") == b"y\n"
    assert answer.files[0].path == "link"


def test_huge_files_are_refused(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a", "")
    os.truncate("a", 100 * 1024 * 1024 + 1)
    assert "104857601 bytes (at most 104857600)" in refused(replace("a", "x", "y")).message
    repo.write("a", "x" * 10)
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    apply(replace("a", "x" * 10, "y"))
    if os.path.exists("/proc/self/status"):
        # It has no size until it is read.
        with pytest.raises(RefusedError, match="too large to edit: 11 bytes"):
            read_state("/proc/self/status")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("d/" * 2_047 + "ff", "the path is too long: 4096 bytes (at most 4095)"),
        (f"d/{'é' * 128}/f", "a part of the path is too long: 256 bytes (at most 255)"),
    ],
)
def test_paths_that_no_system_takes_are_refused(repo: Repo, path: str, message: str) -> None:
    repo.write("a", "x\n")
    rename = f"diff --git a/a b/{path}\nrename from a\nrename to {path}\n".encode()
    for edits in ({"path": path, "content": "x\n"}, rename):
        failure = refused(edits).failures[0]
        assert failure.code == "invalid_input"
        assert failure.message.startswith(message)


def test_files_do_not_become_huge(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a", "x" * 600)
    found = refused(replace("a", "x", "y" * 200_000, replace_all=True))
    assert found.failures[0].code == "invalid_input"
    assert "more than 104857600 characters" in found.message
    monkeypatch.setattr(plan_module, "MAX_BYTES", 10)
    for edit in (replace("a", "x" * 600, "y" * 11), {"path": "b", "content": "y" * 11}):
        assert "too large to edit: 11 bytes" in refused(edit).message
    assert repo.read("a") == b"x" * 600


def test_an_unreadable_file_is_fatal(repo: Repo) -> None:
    repo.write("a", "x\n")

    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", denied)
        with pytest.raises(FatalError, match="cannot read"):
            apply(replace("a", "x", "y"), index=False)


def test_a_nested_repository_can_be_edited(repo: Repo) -> None:
    repo.write("nested/a", "x\n")
    repo.git("init", "-q", "nested")
    apply(replace("nested/a", "x", "y"))
    assert repo.read("nested/a") == b"y\n"
    assert codes({"path": "nested/.git/config", "content": "x"}) == [(0, "outside_worktree")]


def test_without_a_repository_the_current_directory_bounds_the_edits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/a").write_text("x\n")
    monkeypatch.chdir(tmp_path / "here")
    answer = apply(replace("a", "x", "y"), index=False)
    assert answer.id is None
    assert Path("a").read_text() == "y\n"
    assert codes({"path": "../b", "content": ""}, index=False) == [(0, "outside_worktree")]
    assert codes(replace("nowhere/a", "x", "y"), index=False) == [(0, "missing_file")]
    with pytest.raises(FatalError) as caught:
        apply(replace("a", "y", "z"))
    assert "--no-index edits files outside a repository" in caught.value.hints


def test_profile_and_verbatim_reach_the_matcher(repo: Repo) -> None:
    repo.write("a", "def f():\n    x = 1\n    return x\n")
    drifted = replace("a", "  x = 1\n  return x", "  x = 1\n  return y")
    assert codes(drifted, options=Options(MatchOptions("exact"))) == [(0, "not_found")]
    apply(drifted, options=Options(MatchOptions(verbatim=True)))
    assert repo.read("a") == b"def f():\n  x = 1\n  return y\n"


def test_a_path_that_leads_to_two_files_is_refused(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a", "old\n")
    repo.write("sub/a", "old\n")
    repo.write("sub/b", "old\n")
    monkeypatch.chdir("sub")
    (failure,) = refused(replace("a", "old", "new")).failures
    assert failure.code == "ambiguous"
    assert failure.message.startswith("both 'a' and 'sub/a' exist")
    for path in ("b", str(repo.top / "a"), str(repo.top / "sub/a")):
        apply(replace(path, "old", "new"))
    assert repo.read("a") == repo.read("sub/a") == repo.read("sub/b") == b"new\n"


def test_a_tilde_is_no_directory(repo: Repo) -> None:
    assert codes({"path": "~/f", "content": "x"}) == [(0, "outside_worktree")]
    repo.write("~/f", "old\n")
    apply(replace("~/f", "old", "new"))


REST = "def f():\n    # ... rest of code ...\n"


@pytest.mark.parametrize(
    "edit",
    [
        {"path": "a", "content": REST},
        {"path": "a", "changes": [{"start": ["one"], "content": ["# ... existing code ..."]}]},
        {"path": "a", "patch": "@@ -1,2 +1,2 @@\n-one\n+// rest of code unchanged\n two\n"},
    ],
)
def test_code_that_is_left_out_is_refused_in_every_format(
    repo: Repo, edit: dict[str, object]
) -> None:
    repo.write("a", "one\ntwo\nthree\n")
    (failure,) = refused(edit).failures
    assert failure.code == "invalid_input"
    assert "looks like a placeholder for omitted code" in failure.message
    apply(edit, options=Options(MatchOptions(verbatim=True)))


def test_what_only_looks_left_out_is_taken(repo: Repo) -> None:
    repo.write("a.pyi", "def f(): ...\n# ... rest of code ...\n")
    content = "class A:\n    ...\n# ... rest of code ...\n"
    apply({"path": "a.pyi", "content": content})
    apply({"path": "new", "content": REST})
    assert (repo.read("a.pyi"), repo.read("new")) == (content.encode(), REST.encode())


def test_a_failure_says_which_lines_it_counts(repo: Repo) -> None:
    repo.write("a", "one\nthe second line is here\n")
    edits = [replace("a", "one", "1\n1"), replace("a", "the second line is not", "2")]
    (failure,) = refused(edits).failures
    assert failure.candidates
    assert failure.message.endswith("; line numbers are those after the edits before it")


def test_a_git_directory_by_another_name_is_not_edited(repo: Repo) -> None:
    repo.git("init", "-q", "--separate-git-dir", "meta", "inner")
    repo.git("init", "-q", "--bare", "bare")
    for path in ("meta/config", "bare/hooks/pre-receive", "bare/HEAD"):
        assert codes({"path": path, "content": "x"}) == [(0, "outside_worktree")]


def test_no_index_keeps_out_of_git_directories(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.top / ".git")
    assert codes({"path": "config", "content": "x"}, index=False) == [(0, "outside_worktree")]


def test_a_worktree_inside_a_bare_repository_is_edited(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="old\n")
    bare = tmp_path / "bare"
    repo.git("clone", "-q", "--bare", ".", str(bare))
    repo.git("-C", str(bare), "worktree", "add", "-q", "tree")
    monkeypatch.chdir(bare / "tree")
    for index in (True, False):
        apply(replace("a", "old", "new"), index=index)
        assert Path("a").read_text() == "new\n"
        Path("a").write_text("old\n")


def test_hard_links_whose_names_differ_in_case_are_two_files(repo: Repo) -> None:
    repo.write("a.txt", "old\n")
    try:
        os.link("a.txt", "A.txt")
    except FileExistsError:
        pytest.skip("names do not differ by case here")
    apply([replace("a.txt", "old", "one"), replace("A.txt", "old", "two")])
    assert (repo.read("a.txt"), repo.read("A.txt")) == (b"one\n", b"two\n")


def test_a_lock_that_is_held_is_among_the_failures(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    from git_boocode.editing import workspace

    repo.write("a", "old\n")
    monkeypatch.setattr(workspace, "LOCK_PATIENCE", 0.0)
    with worktree_lock(Repository.discover().state_dir, shared=False, patience=0):
        error = refused(replace("a", "old", "new"))
    assert [(bad.number, bad.code) for bad in error.failures] == [(None, "locked")]
    assert "locked" in error.retry_context


class Meanwhile(Replace):
    """A replacement during whose matching something else happens."""

    does: Callable[[], object]

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        self.does()
        return super().apply(text, how)


def meanwhile(does: Callable[[], object], old: str, new: str) -> Meanwhile:
    action = Meanwhile(old, new)
    action.does = does
    return action


def test_no_lock_is_held_while_an_edit_is_matched(repo: Repo) -> None:
    repo.write("a", "old\n")
    state = Repository.discover().state_dir

    def lock() -> None:
        with worktree_lock(state, shared=False, patience=0):
            pass

    carry_out(act(("a", meanwhile(lock, "old", "new"))))
    assert repo.read("a") == b"new\n"


def test_a_file_that_changes_while_it_is_matched_is_matched_again(repo: Repo) -> None:
    repo.write("a", "old\n")
    contents = iter(["old\n1\n", "old\n2\n"])

    def change() -> None:
        for content in islice(contents, 1):
            repo.write("a", content)

    carry_out(act(("a", meanwhile(change, "old", "new"))))
    assert repo.read("a") == b"new\n2\n"


def test_a_refusal_is_about_the_files_as_they_are(repo: Repo) -> None:
    repo.write("a", "other\n")
    carry_out(act(("a", meanwhile(lambda: repo.write("a", "old\n"), "old", "new"))))
    assert repo.read("a") == b"new\n"


def test_a_file_that_changes_all_the_time_is_left_alone(repo: Repo) -> None:
    repo.write("a", "old\n")
    repo.write("b", "old\n")
    numbers = iter(range(100))
    action = meanwhile(lambda: repo.write("b", f"old\n{next(numbers)}\n"), "old", "new")
    with pytest.raises(EditsRefusedError) as caught:
        carry_out(act(("a", Replace("old", "new")), ("b", action)))
    assert [(bad.path, bad.code) for bad in caught.value.failures] == [("b", "conflict")]
    assert repo.read("a") == b"old\n"
    assert next(numbers) == 5


def test_a_link_that_is_turned_elsewhere_is_followed_again(repo: Repo) -> None:
    repo.write("one", "old\n")
    repo.write("two", "old\n")
    os.symlink("one", "link")

    def turn() -> None:
        os.unlink("link")
        os.symlink("two", "link")

    carry_out(act(("link", meanwhile(turn, "old", "new"))))
    assert (repo.read("one"), repo.read("two")) == (b"old\n", b"new\n")


NFC, NFD = "caf\u00e9.txt", "cafe\u0301.txt"
SPELLINGS = [("core.ignoreCase", "Foo.txt", "foo.txt"), ("core.ignoreCase", "Dir/a", "dir/A"),
             ("core.ignoreCase", NFC, NFD), ("core.precomposeUnicode", NFD, NFC)]  # fmt: skip


@pytest.mark.parametrize(("setting", "one", "other"), SPELLINGS)
def test_two_spellings_of_a_new_file_are_one_file(
    repo: Repo, setting: str, one: str, other: str
) -> None:
    repo.git("config", setting, "true")
    made = {"path": one, "old_string": "", "new_string": "first\n"}
    answer = apply([made, replace(other, "first", "first\nsecond")])
    assert [file.path for file in answer.files] == [one]
    assert repo.read(one) == b"first\nsecond\n"
    assert not (repo.top / other).exists()
    whole = [{"path": path, "content": path} for path in ("x" + one, "x" + other)]
    assert codes(whole) == [(1, "mixed_write")]


@pytest.mark.parametrize(("setting", "one", "other"), SPELLINGS)
def test_two_spellings_of_which_one_is_there_are_refused(
    repo: Repo, setting: str, one: str, other: str
) -> None:
    repo.git("config", setting, "true")
    repo.write(one, "old\n")
    if (repo.top / other).exists():
        pytest.skip("names do not differ by their spelling here")
    for edits in (
        [replace(one, "old", "new"), {"path": other, "content": "x"}],
        [{"path": other, "content": "x"}, replace(one, "old", "new")],
    ):
        assert codes(edits) == [(1, "ambiguous")]
    apply(replace(one, "old", "new"))
    apply({"path": other, "content": "x"})
    assert (repo.read(one), repo.read(other)) == (b"new\n", b"x")
    apply([replace(one, "new", "1"), replace(other, "x", "2")])
    assert (repo.read(one), repo.read(other)) == (b"1\n", b"2")


def test_a_file_gets_the_other_spelling_of_its_name(repo: Repo) -> None:
    repo.git("config", "core.ignoreCase", "true")
    repo.write("Foo.txt", "old\n")
    apply(
        b"*** Begin Patch\n*** Update File: Foo.txt\n*** Move to: foo.txt\n@@\n-old\n+new\n"
        b"*** End Patch\n"
    )
    assert sorted(os.listdir(repo.top)) == [".git", "foo.txt"]
    assert repo.read("foo.txt") == b"new\n"
    # One that the same call has made, or made and deleted.
    made = ("Bar", Create("new\n")), ("Bar", Keep(), "bar")
    assert [file.path for file in carry_out(act(*made)).files] == ["bar"]
    assert sorted(os.listdir(repo.top)) == [".git", "bar", "foo.txt"]
    for path in ("bar", "foo.txt"):
        os.unlink(path)
    assert carry_out(act(*made, ("bar", Delete()))).files == ()
    assert os.listdir(repo.top) == [".git"]
