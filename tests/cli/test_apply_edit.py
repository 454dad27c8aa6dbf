import json
import os
import stat
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_boocode.cli.entry import run
from git_boocode.editing.formats import FORMATS
from tests.repo_kit import Repo, examples
from tests.terminal_kit import Terminal

DRIFTED = {
    "path": "src/a.py",
    "old_string": 'def hello():\n\tprint("hi")\n\treturn "x"',
    "new_string": 'def hello():\n\tprint("hi")\n\treturn "y"',
}
REAL = "class A:\n    def hello():\n        print(“hi”)\n        return “x”\n"


def test_curly_quotes_and_wrong_indentation_land(repo: Repo) -> None:
    repo.commit(**{"src/a.py": REAL})
    done = repo.boocode("apply-edit", "--diff", stdin=json.dumps(DRIFTED))
    assert (done.code, done.err) == (0, "")
    summary, *diff, recorded = done.out.rstrip("\n").split("\n")
    assert summary.startswith(" M src/a.py: lines 2-4, fuzzy (")
    head = ["diff --git a/src/a.py b/src/a.py", "--- a/src/a.py", "+++ b/src/a.py"]
    assert diff[:4] == [*head, "@@ -1,4 +1,4 @@"]
    assert recorded.startswith("recorded as 0")
    now = repo.read("src/a.py").decode()
    assert now.startswith("class A:\n    def hello():\n        print(“hi”)\n        return ")
    assert repo.git("diff", "--stat").count("|") == 1
    assert repo.git("diff", "--numstat").split()[:2] == ["1", "1"]


def test_the_json_answer(repo: Repo) -> None:
    repo.write("a", "one\ntwo\n")
    edits = [{"path": "a", "old": "two", "new": "2"}, {"path": "b", "content": "x\n"}]
    done = repo.boocode("apply-edit", "--json", stdin=json.dumps(edits))
    answer = done.json
    assert answer.pop("id")
    assert answer == {
        "ok": True,
        "applied": True,
        "files": [
            {
                "path": "a",
                "action": "modify",
                "version": repo.git("hash-object", "a")[:12],
                "edits": [
                    {"index": 0, "kind": "exact", "rung": "exact", "similarity": 1.0, "count": 1,
                     "start_line": 2, "end_line": 2, "notes": []}
                ],
                "changed": [{"start_line": 2, "end_line": 2, "lines": ["2"]}],
                "diff": "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
                "text_edits": [
                    {"range": {"start": {"line": 1, "character": 0},
                               "end": {"line": 1, "character": 3}}, "newText": "2"}
                ],
            },
            {
                "path": "b",
                "action": "create",
                "version": repo.git("hash-object", "b")[:12],
                "edits": [
                    {"index": 1, "kind": "exact", "rung": "write", "similarity": 1.0, "count": 1,
                     "start_line": 1, "end_line": 0, "notes": []}
                ],
                "changed": [{"start_line": 1, "end_line": 1}],
                "diff": "diff --git a/b b/b\nnew file mode 100644\n"
                "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n",
                "text_edits": [
                    {"range": {"start": {"line": 0, "character": 0},
                               "end": {"line": 0, "character": 0}}, "newText": "x\n"}
                ],
            },
        ],
    }  # fmt: skip


def string(path: str, old: str, new: str) -> dict[str, str]:
    return {"path": path, "old_string": old, "new_string": new}


RENAME = """diff --git a/old name b/new/näme
similarity index 80%
rename from old name
rename to new/näme
--- a/old name
+++ b/new/näme
@@ -1,2 +1,2 @@
 one
-two
+three
"""
EXECUTABLE = """diff --git a/script b/script
old mode 100644
new mode 100755
diff --git a/tool b/tool
new file mode 100755
--- /dev/null
+++ b/tool
@@ -0,0 +1 @@
+run
diff --git a/old-tool b/old-tool
deleted file mode 100755
--- a/old-tool
+++ /dev/null
@@ -1 +0,0 @@
-run
"""
FILES = {
    "crlf": b"one\r\ntwo\r\n", "mixed": b"one\r\ntwo\nthree\rfour\n", "end": b"one\ntwo",
    "bom": b"\xef\xbb\xbfone\ntwo\n", "latin": b"one \xe4\ntwo\n", "script": b"run\n",
    "deep": b"        one\n        two\n", 'q"\tä\n\\ ': b"one\n", "one": b"one\n", "empty": b"",
    "old name": b"one\ntwo\n", "moved": b"one\n", "a/b": b"one\n", "- one": b"one\n",
    "page": b"one\x0ctwo\x0b\xe2\x80\xa8\n", "old-tool": b"run\n",
}  # fmt: skip
CHANGES: dict[str, Any] = {
    "CR LF": string("crlf", "two", "three"),
    "mixed line endings": string("mixed", "two", "three"),
    "no final newline": string("end", "two", "three"),
    "a final newline comes": string("end", "two", "two\n"),
    "a final newline goes": string("one", "one\n", "one"),
    "byte order mark": string("bom", "one", "three"),
    "bytes that are not UTF-8": string("latin", "two", "three"),
    "indented": string("deep", "        two", "        three"),
    "odd name": string('q"\tä\n\\ ', "one", "two"),
    "name like a line": string("- one", "one", "-- two"),
    "other ends of lines": string("page", "two", "three"),
    "emptied": {"path": "one", "content": ""},
    "filled": {"path": "empty", "content": "one\n"},
    "created": {"path": "new dir/new", "content": "one\ntwo"},
    "created empty": {"path": "new", "content": ""},
    "deleted": "*** Begin Patch\n*** Delete File: a/b\n*** End Patch\n",
    "deleted empty": "*** Begin Patch\n*** Delete File: empty\n*** End Patch\n",
    "renamed": "*** Begin Patch\n*** Update File: moved\n*** Move to: x y/z\n*** End Patch\n",
    "renamed and changed": RENAME,
    "executable": EXECUTABLE,
    "several": [string("crlf", "two", "x"), string("deep", "one", "x"), string("a/b", "one", "x")],
}  # fmt: skip


@pytest.mark.slow
def test_git_applies_the_diff_of_a_dry_run(repo: Repo) -> None:
    for path, data in FILES.items():
        repo.write(path, data, 0o755 if path == "old-tool" else 0o644)
    repo.commit()
    before = repo.files()
    for name, change in CHANGES.items():
        given = change if isinstance(change, str) else json.dumps(change)
        answer = repo.boocode("apply-edit", "--json", stdin=given)
        assert answer.code == 0, name
        wanted = repo.files()
        assert wanted != before, name
        repo.git("reset", "-q", "--hard")
        repo.git("clean", "-fdq")
        shown = repo.boocode("apply-edit", "-n", "--diff", stdin=given)
        assert shown.code == 0, name
        diffs = "".join(file["diff"] for file in answer.json["files"])
        for diff in (os.fsencode(shown.out), diffs.encode("utf-8", "surrogateescape")):
            assert repo.files() == before, name
            subprocess.run(["git", "apply", "--index"], input=diff, check=True)
            assert (repo.files(), repo.git("diff", "--stat")) == (wanted, ""), name
            repo.git("reset", "-q", "--hard")
            repo.git("clean", "-fdq")


def test_a_trimmed_diff_lacks_the_common_indentation(repo: Repo) -> None:
    repo.write("deep", FILES["deep"])
    edit = json.dumps(CHANGES["indented"])
    for options in (["--trim"], ["--diff", "--trim"]):
        shown = repo.boocode("apply-edit", "-n", *options, stdin=edit).out
        assert "@@ -1,2 +1,2 @@\n one\n-two\n+three\n" in shown


def test_a_dry_run_writes_nothing(repo: Repo) -> None:
    repo.write("a", "one\n")
    before = repo.files()
    done = repo.boocode("apply-edit", "-n", "--json", stdin='{"path":"a","old":"one","new":"1"}')
    assert (done.code, done.json["applied"], done.json["id"]) == (0, False, None)
    assert repo.files() == before


def test_edits_by_lines_follow_one_another_without_a_second_read(repo: Repo) -> None:
    def edit(base: str, line: int) -> str:
        changes = [{"start_line": line, "content": [str(line)]}]
        return json.dumps([{"path": "a", "base": base, "changes": changes}, string("b", "x", "y")])

    repo.write("a", "one\ntwo\nthree\nfour\nfive\n")
    repo.write("b", "x\nx\n")
    version = repo.boocode("read", "a:1-2").out.split("\n")[0].removeprefix("[a#").rstrip("]")
    refused = repo.boocode("apply-edit", "--retry-context", "retry", stdin=edit(version, 1))
    assert refused.code == 1
    repo.write("b", "x\n")
    done = repo.boocode("apply-edit", stdin=edit(version, 1))
    first, second, _ = done.out.split("\n", 2)
    now = repo.git("hash-object", "a")[:12]
    assert (first, second) == (f" M a: line 1, now {now}", " M b: line 1")
    repo.write("a", "1\ntwo\nthree\nfour\nby hand\n")
    repo.write("b", "x\n")
    error, _, shown, hint, _ = repo.boocode("apply-edit", stdin=edit(now, 5)).err.split("\n")
    newest = repo.git("hash-object", "a")[:12]
    assert error == f"error: edit 1, a: line 5 changed since {now}, now {newest}"
    assert shown == "  5| by hand"
    assert hint == "hint: get the version with: git boocode read a"
    merged = repo.boocode("apply-edit", "--no-record", stdin=edit(now, 3))
    assert merged.out.startswith(" M a: line 3, fuzzy (merged 1.00), merged with")
    assert repo.read("a") == b"1\ntwo\n3\nfour\nby hand\n"


def test_a_refusal_as_json(repo: Repo) -> None:
    repo.write("a", "same\nx\nsame\n")
    edit = {"path": "a", "old": "same", "new": "other"}
    done = repo.boocode("apply-edit", "--json", stdin=json.dumps(edit))
    answer = done.json
    assert done.code == 1
    assert list(answer) == ["ok", "applied", "failures", "retry_context", "error"]
    assert (answer["ok"], answer["applied"], answer["error"]["code"]) == (False, False, "ambiguous")
    (failure,) = answer["failures"]
    assert list(failure) == [
        "path", "version", "index", "code", "message", "lines", "candidates", "edit"
    ]  # fmt: skip
    assert failure["version"] == repo.git("hash-object", "a")[:12]
    assert (failure["path"], failure["index"], failure["code"]) == ("a", 0, "ambiguous")
    assert failure["lines"] == [1, 3]
    assert [place["start_line"] for place in failure["candidates"]] == [1, 3]
    assert failure["edit"] == edit
    assert answer["retry_context"].startswith("@retry_context\n")


def test_a_refusal_for_people(repo: Repo) -> None:
    repo.write("a", "same\nx\nsame\n")
    edits = [{"path": "a", "old": "same", "new": "other"}, {"path": "b", "old": "x", "new": "y"}]
    done = repo.boocode("apply-edit", stdin=json.dumps(edits))
    assert (done.code, done.out) == (1, "")
    lines = done.err.split("\n")
    assert lines[0].startswith("error: edit 1, a: ")
    assert lines[1:5] == [
        "  line 1 (similarity 1.00):", "  1| same", "  line 3 (similarity 1.00):", "  3| same"
    ]  # fmt: skip
    assert lines[5] == "error: edit 2, b: the file does not exist"
    assert lines[6].startswith("hint: ")


def test_a_refusal_says_what_sets_the_places_apart(repo: Repo) -> None:
    repo.write("a", "def load():\n    return 1\n\n\ndef save():\n    return 1\n")
    done = repo.boocode("apply-edit", "--path", "a", "--old", "return 1", "--new", "return 2")
    assert done.code == 1
    assert "\n  in `def load()`, line 2 (similarity 1.00):\n" in done.err
    assert "\n  in `def save()`, line 6 (similarity 1.00):\n" in done.err


def test_a_retry_context_is_written_on_refusal_and_emptied_before(repo: Repo) -> None:
    repo.write("a", "x\n")
    block = repo.write("block", "@retry_context\nstale")
    call = ("apply-edit", "--retry-context", "block")
    assert repo.boocode(*call, stdin='{"path":"a","old":"x","new":"y"}').code == 0
    assert block.read_text() == ""
    assert repo.boocode(*call, stdin='{"path":"gone","old":"x","new":"y"}').code == 1
    assert block.read_text().startswith("@retry_context\nThe edit could not")


def test_several_files_are_one_call(repo: Repo) -> None:
    repo.write("a", "one\n")
    repo.write("1.json", '{"path":"a","old":"one","new":"two"}')
    repo.write("2.json", '{"path":"a","old":"two","new":"three"}')
    done = repo.boocode("apply-edit", "1.json", "-", stdin='{"path":"a","old":"two","new":"3"}')
    assert done.code == 0, done.err
    assert repo.read("a") == b"3\n"
    assert repo.boocode("apply-edit", "missing.json").code == 128


def test_a_one_liner_is_relative_to_the_current_directory(repo: Repo) -> None:
    repo.write("a", "x\n")
    repo.write("sub/a", "x x\n")
    call = ("apply-edit", "--path", "a", "--old", "x", "--new", "y")
    assert repo.boocode(*call, cwd="sub").code == 1
    done = repo.boocode(*call, "--replace-all", cwd="sub")
    assert done.out.startswith(" M sub/a: 2 places, first line 1\n")
    assert (repo.read("a"), repo.read("sub/a")) == (b"x\n", b"y y\n")
    assert (
        repo.boocode("apply-edit", "--path", "../a", "--old", "x", "--new", "z", cwd="sub").code
        == 0
    )
    assert repo.read("a") == b"z\n"


def test_several_places_of_one_edit_are_listed(repo: Repo) -> None:
    version = repo.git("hash-object", "-w", "--stdin", stdin="1\n2\n3\n").strip()
    repo.write("a", "1\n2\n3\n")
    repo.write("b", "1\n2\n3\n")
    lines = [{"start_line": 1, "content": ["x"]}, {"after_line": 3, "content": ["y"]}]
    regions = [{"start": ["1"], "content": ["x"]}, {"start": ["3"], "content": ["y"]}]
    edits = [{"path": "a", "base": version, "changes": lines}, {"path": "b", "changes": regions}]
    done = repo.boocode("apply-edit", stdin=json.dumps(edits))
    first, second = done.out.splitlines()[:2]
    assert first.startswith(" M a: 2 places, lines 1-3: line 1, after line 3, now ")
    assert second == " M b: 2 places, lines 1-3: line 1, line 3"


def test_usage_errors(repo: Repo) -> None:
    for arguments, said in (
        (("--path", "a"), "must be used together"),
        (("--replace-all",), "must be used together"),
        (("--path", "a", "--old", "x", "--new", "y", "file"), "<file> cannot be used together"),
        (("--profile", "none"), "unknown profile 'none'"),
        (("--format", "none"), "unknown format 'none'"),
    ):
        done = repo.boocode("apply-edit", *arguments)
        assert done.code == 129
        assert said in done.err


def test_the_help_names_every_format(repo: Repo) -> None:
    words = " ".join(repo.boocode("apply-edit", "-h").out.split())
    assert f"{', '.join(list(FORMATS)[:-1])} or {list(FORMATS)[-1]}." in words


def test_a_terminal_is_not_read(repo: Repo) -> None:
    for command in (["apply-edit"], ["locate", "a"]):
        code, shown = Terminal("git", "boocode", *command).end()
        assert code == 129
        assert "which is a terminal\nhint: pipe it in" in shown


def test_outside_a_repository(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    place = Repo(tmp_path)
    edit = '{"path":"a","old":"x","new":"y"}'
    done = place.boocode("apply-edit", stdin=edit)
    assert done.code == 128
    assert done.err.startswith("fatal: not a git repository")
    assert "--no-index" in done.err
    assert place.boocode("apply-edit", "--no-index", "--diff", stdin=edit).code == 0
    assert (tmp_path / "a").read_text() == "y\n"


def test_edits_at_the_same_time_all_land(repo: Repo) -> None:
    repo.write("a", "".join(f"value_{number} = old\n" for number in range(6)))
    running = [
        subprocess.Popen(
            ["git", "boocode", "apply-edit", "--path", "a", "--old", f"value_{number} = old",
             "--new", f"value_{number} = new"],
            stdout=subprocess.DEVNULL,
        )
        for number in range(6)
    ]  # fmt: skip
    assert [process.wait() for process in running] == [0] * 6
    assert repo.read("a") == b"".join(b"value_%d = new\n" % number for number in range(6))


def test_an_unchanged_file_is_shown_as_such(repo: Repo) -> None:
    repo.write("a", "x\n")
    done = repo.boocode("apply-edit", stdin='{"path":"a","content":"x\\n"}')
    assert done.out == " = a: rewritten, nothing to change\n"


def call_with(data: bytes, *arguments: str) -> tuple[int, bytes]:
    """Run a command in this process with bytes on its standard input."""
    stdin, output = TextIOWrapper(BytesIO(data)), BytesIO()
    stdout = TextIOWrapper(output)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", stdin)
        patch.setattr(sys, "stdout", stdout)
        code = run([*arguments, "--json"])
        stdout.flush()
        return code, output.getvalue()


PATHS = st.sampled_from(["a", "b/c", "../x", ".git/config", "a/b", "", "dir", "new", "b/../a"])
TEXTS = st.sampled_from(["one", "two\n", "one\ntwo", "", "  one", "“q”", '"q"', "\udcff", "\0"])
EDITS = st.fixed_dictionaries(
    {"path": PATHS},
    optional={
        "old": TEXTS,
        "new": TEXTS,
        "content": TEXTS,
        "command": st.sampled_from(["insert", "create", "str_replace", "view"]),
        "insert_line": st.integers(-1, 4),
        "file_text": TEXTS,
        "base": st.sampled_from(["", "1234567", "0" * 40]),
        "replace_all": st.booleans() | TEXTS,
    },
)
INPUTS = (
    st.binary(max_size=40)
    | EDITS.map(lambda edit: json.dumps(edit).encode())
    | st.lists(EDITS, max_size=4).map(lambda edits: json.dumps(edits).encode())
)


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=INPUTS)
def test_whatever_is_sent_is_applied_or_refused(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "a": b"one\r\ntwo\r\n\xe2\x80\x9cq\xe2\x80\x9d",
        "b/c": b"\xef\xbb\xbfone\n",
        "d": b"\0\xff",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "new").unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path)
    code, output = call_with(data, "apply-edit", "--no-index")
    answer = json.loads(output)
    assert code in (0, 1), answer
    assert answer["ok"] is answer["applied"] is (code == 0)
    if code:
        assert {failure["code"] for failure in answer["failures"]} <= {
            "not_found", "ambiguous", "stale", "missing_file", "exists", "outside_worktree",
            "binary", "mixed_write", "invalid_input", "no_edits",
        }  # fmt: skip
        assert {name: (tmp_path / name).read_bytes() for name in files} == files
        assert not (tmp_path / "new").exists()
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_a_retry_context_is_not_written_over_another_file(repo: Repo) -> None:
    repo.write("f", "text\n")
    edit = json.dumps({"path": "f", "old_string": "nowhere to be found", "new_string": "x"})
    done = repo.boocode("apply-edit", "--retry-context", "f", stdin=edit)
    assert done.code == 129
    assert "exists and is not a retry context" in done.err
    assert repo.read("f") == b"text\n"
    for _ in range(2):
        assert repo.boocode("apply-edit", "--retry-context", "rc", stdin=edit).code == 1
        assert repo.read("rc").startswith(b"@retry_context\n")


def test_a_retry_context_is_replaced_and_private(repo: Repo) -> None:
    repo.write("f", "secret\n").chmod(0o600)
    repo.write("rc", "@retry_context\nearlier").chmod(0o644)
    (repo.top / "other").hardlink_to(repo.top / "rc")
    (repo.top / "link").symlink_to("rc")
    edit = json.dumps({"path": "f", "old_string": "other secret", "new_string": "x"})
    assert repo.boocode("apply-edit", "--retry-context", "link", stdin=edit).code == 1
    assert repo.read("rc").startswith(b"@retry_context\nThe edit could not")
    assert repo.read("other") == b"@retry_context\nearlier"
    assert stat.S_IMODE((repo.top / "rc").stat().st_mode) == 0o600
    assert (repo.top / "link").is_symlink()
    assert sorted(os.listdir(repo.top)) == [".git", "f", "link", "other", "rc"]


def test_a_retry_context_may_go_to_a_device(repo: Repo) -> None:
    repo.write("f", "text\n")
    edit = json.dumps({"path": "f", "old_string": "nothing", "new_string": "x"})
    assert repo.boocode("apply-edit", "--retry-context", "/dev/null", stdin=edit).code == 1
    assert not os.path.isfile("/dev/null")


def test_a_retry_context_to_a_pipe_that_nobody_reads_is_an_error(repo: Repo) -> None:
    repo.write("f", "text\n")
    os.mkfifo("pipe")
    edit = json.dumps({"path": "f", "old_string": "nothing", "new_string": "x"})
    done = repo.boocode("apply-edit", "--retry-context", "pipe", stdin=edit)
    assert done.code == 128
    assert "pipe" in done.err
