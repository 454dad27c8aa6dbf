"""Unified diffs, as git writes them and as models drift from that."""

from __future__ import annotations

import subprocess
from pathlib import Path
from textwrap import indent

import pytest

from git_boocode.editing import formats
from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Edit, EditResult, MatchOptions, MissError
from git_boocode.editing.formats import unified
from git_boocode.editing.formats.unified import git_names, read_name, without_prefixes
from git_boocode.editing.patch import PatchAction
from git_boocode.editing.textfile import FileText
from tests.editing.kit import edits_of, read
from tests.repo_kit import Repo

OLD = "one\ntwo\nthree\nfour\nfive\n"
NEW = "one\nTWO\nthree\nfour\nfive\n"
HUNK = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
PATCH = f"--- a/f\n+++ b/f\n{HUNK}"


def edit(value: object) -> Edit:
    (found,) = edits_of(value)
    assert found.format == "unified"
    return found


def applied(value: object, text: str | None = OLD) -> str:
    result = edit(value).action.apply(None if text is None else FileText(text), MatchOptions())
    assert result.text is not None
    return result.text.text


def notes(value: object, text: str = OLD) -> str:
    return "; ".join(edit(value).action.apply(FileText(text), MatchOptions()).applied.notes)


def wrong(value: object) -> str:
    (failure,) = read(value).failures
    assert failure.code == "invalid_input"
    return failure.message


@pytest.mark.parametrize(
    "value",
    [
        PATCH,
        f"diff --git a/f b/f\nindex 1234567..89abcde 100644\n{PATCH}",
        PATCH.replace("a/f", "f").replace("b/f", "f"),
        PATCH.replace("a/f", "i/f").replace("b/f", "w/f"),
        PATCH.replace("a/f", "old/f").replace("b/f", "new/f"),
        PATCH.replace("b/f", "f"),
        PATCH.replace("a/f", "f.orig").replace("b/f", "f"),
        PATCH.replace("a/f", "a/f\t2024-01-01 10:00:00.0 +0000"),
        PATCH.replace("a/f", "a/f 2024-01-01 10:00:00"),
        PATCH.replace("a/f", '"a/\\146"'),
        f"Index: f\n=====\n{PATCH}",
        f"Here it is:\n\n- a bullet\n\n```diff\n{PATCH}```\n\n- another bullet\n+ and more\n",
        f"~~~~\n{PATCH}~~~~\n",
        f"1. First:\n   ```diff\n{indent(PATCH, '   ')}   ```\n",
        f"{PATCH}\nThat is all.\n- really\n",
        f"```\n```\n{PATCH}\nThat is all.\n- really\n",
        f"{PATCH}-- \n2.39.5\n",
        f"{PATCH}\n- what was done\n- and why\n",
        PATCH.replace("\n", "\r\n"),
        {"path": "f", "patch": PATCH},
        {"path": "f", "diff": HUNK},
        {"patchText": PATCH},
        {"path": "f", "patchText": HUNK},
        {"file_path": "f", "patch": f"```diff\n{HUNK}```"},
        {"path": "f", "patch_lines": HUNK.splitlines()},
        {"path": "f", "patch_lines": HUNK.splitlines(keepends=True)},
        {"path": "f", "patch_lines": [HUNK]},
        {"path": "f", "patch_lines": [HUNK.replace("\n", "\r\n")]},
        {"path": "f", "patch_lines": ["@@ -1,3 +1,3 @@\n one\r\n-two", "+TWO\n three"]},
        {"path": "f", "patch_lines": [" one", "-two", "+TWO", " three"]},
        {"path": "f", "edits": [{"patch": HUNK}]},
        [{"path": "f", "patch": HUNK}],
        {"tool_input": {"path": "f", "patch": HUNK}},
    ],
)
def test_every_way_in(value: object) -> None:
    found = edit(value)
    assert (found.path, found.to) == ("f", None)
    assert applied(value) == NEW


@pytest.mark.parametrize(
    "head",
    ["@@", "@@ @@", "@@ ... @@", "@@ … @@", "@@ -1 +1 @@", "@@ -9,3 +9,3 @@", "@@ -1,9 +1,7 @@",
     "@@ -1,4 +1,4 @@",
     "@@ -1,2 +1,2 @@", "@@ -1,3 +1,3", "@@ one", "@@ one @@", "@@ -x,y +z @@", "@@-1,3 +1,3@@"],
)  # fmt: skip
@pytest.mark.parametrize("wrap", ["{}", "```diff\n{}```\n", "{}\nProse.\n", "{}Prose.\n"])
def test_heads_that_are_wrong_or_bare(head: str, wrap: str) -> None:
    assert applied(wrap.format(PATCH.replace("@@ -1,3 +1,3 @@", head))) == NEW


def test_wrong_counts_are_noted() -> None:
    assert notes(PATCH) == ""
    assert notes(PATCH.replace("-1,3", "-1,7")) == "hunk 1: wrong counts, recomputed"


def test_the_text_after_the_numbers_is_a_section() -> None:
    (hunk,) = edit(PATCH.replace("+1,3 @@", "+1,3 @@ def run():")).action.hunks  # type: ignore[attr-defined]
    assert (hunk.sections, hunk.start) == (("def run():",), 0)
    (hunk,) = edit(PATCH.replace("-1,3 +1,3 @@", "def run():")).action.hunks  # type: ignore[attr-defined]
    assert (hunk.sections, hunk.start) == (("def run():",), None)


def test_counts_that_swallow_the_next_header() -> None:
    text = PATCH.replace("-1,3 +1,3", "-1,4 +1,4") + PATCH.replace("/f", "/g")
    assert [found.path for found in edits_of(text)] == ["f", "g"]
    assert [len(found.action.hunks[0].lines) for found in edits_of(text)] == [4, 4]  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrap", ["{}", "```diff\n{}```\n"])
def test_counts_that_are_too_small_cut_no_change_off(wrap: str) -> None:
    body = " one\n-two\n+TWO\n three\n-four\n+FOUR\n"
    for counts in ("-1,2 +1,2", "-1,3 +1,3", "-1,3 +1,4"):
        patch = wrap.format(f"--- a/f\n+++ b/f\n@@ {counts} @@\n{body}")
        assert applied(patch) == NEW.replace("four", "FOUR")


def test_several_files_and_hunks() -> None:
    second = "@@ -4,2 +4,2 @@\n four\n-five\n+FIVE\n"
    text = f"{PATCH}{second}diff --git a/g b/g\n{PATCH.replace('/f', '/g')}"
    first, last = edits_of(text)
    assert (first.path, last.path) == ("f", "g")
    assert first.given == PATCH + second
    result = first.action.apply(FileText(OLD), MatchOptions())
    assert result.text == FileText(NEW.replace("five", "FIVE"))


def test_blocks_with_a_path_of_their_own_or_one_given() -> None:
    blocks = f"First\n```diff\n{HUNK}```\nthen\n```diff\n@@ -4,2 +4,2 @@\n four\n-five\n+5\n```\n"
    first, last = edits_of({"path": "f", "patch": blocks})
    text = first.action.apply(FileText(OLD), MatchOptions()).text
    assert last.action.apply(text, MatchOptions()).text == FileText(NEW.replace("five", "5"))
    assert "no file is named" in read(blocks).failures[0].message


UNMARKED = "def run():\n    go()\n-    stop()\n+    halt()\nend()\n"


def test_context_lines_that_lost_their_blank() -> None:
    for head in ["@@ -1,4 +1,4 @@", "@@ -1,9 +1,9 @@", "@@", "@@ def run():"]:
        for wrap in ["{}", "```diff\n{}```\n"]:
            patch = wrap.format(f"--- a/f\n+++ b/f\n{head}\n{UNMARKED}")
            text = "def run():\n    go()\n    stop()\nend()\n"
            assert applied(patch, text) == text.replace("stop", "halt")
            assert "context lines lack their leading blank" in notes(patch, text)


def test_a_context_line_without_its_blank_may_be_elsewhere_as_it_is() -> None:
    text = "def run():\n    go()\n    stop()\nend()\n   go()\n"
    assert applied(f"--- a/f\n+++ b/f\n@@\n{UNMARKED}", text) == text.replace("stop", "halt")


def test_context_lines_without_a_blank_must_be_there() -> None:
    patch = f"```diff\n--- a/f\n+++ b/f\n@@\n{UNMARKED}```\n"
    with pytest.raises(MissError):
        applied(patch, "def run():\n    gone()\n    stop()\nend()\n")
    listed = (
        "```diff\n--- a/f\n+++ b/f\n@@\nIngredients of it:\n- some kind of flour\n+water\n```\n"
    )
    with pytest.raises(MissError):
        applied(listed, "Ingredients of it:\n- some kind of flour\n- salt\n")


CONTEXT = "@@ -4,2 +4,2 @@\n four\n five\n"


@pytest.mark.parametrize(
    "patch",
    [PATCH + CONTEXT, f"--- a/f\n+++ b/f\n{CONTEXT}{HUNK}",
     f"--- a/f\n+++ b/f\n@@ @@\n@@ @@\n{HUNK}", f"--- a/g\n+++ b/g\n{CONTEXT}{PATCH}"],
)  # fmt: skip
def test_hunks_without_changes_are_skipped(patch: str) -> None:
    assert applied(patch) == NEW


@pytest.mark.parametrize("name", ["A", "B"])
def test_a_hunk_without_changes_decides_between_places(name: str) -> None:
    text = "".join(f"class {one}:\n    def run(self):\n        go()\n\n" for one in "AB")
    hunk = "@@\n     def run(self):\n-        go()\n+        stop()\n"
    with pytest.raises(MissError):
        applied(f"--- a/f\n+++ b/f\n{hunk}", text)
    before, head, after = text.partition(f"class {name}:\n")
    wanted = before + head + after.replace("go", "stop", 1)
    assert applied(f"--- a/f\n+++ b/f\n@@\n class {name}:\n{hunk}", text) == wanted


def test_a_hunk_that_was_skipped_is_noted() -> None:
    assert notes(PATCH + CONTEXT) == "hunks without changes skipped: 1"
    assert notes(PATCH + CONTEXT + "@@\n") == "hunks without changes skipped: 2"
    assert notes(PATCH.replace("@@", "\n@@", 1)) == ""


def test_sections_one_below_the_other() -> None:
    text = "class A:\n  def run():\n    go()\nclass B:\n  def run():\n    go()\n"
    patch = "--- a/f\n+++ b/f\n@@ class B:\n@@ def run():\n-    go()\n+    stop()\n"
    assert applied(patch, text) == text[::-1].replace("og", "pots", 1)[::-1]


def test_a_new_file_has_one_name() -> None:
    head = "diff --git a/{} b/{}\nnew file mode 100644\n"
    hunk = "@@ -0,0 +1 @@\n+x\n"
    found = edit(head.format("f", "f") + f"--- a/old\n+++ b/f\n{hunk}")
    assert (found.path, found.to, found.action) == ("f", None, Create("x\n"))
    plain = "--- /dev/null\n+++ b/{}\n" + hunk
    first, last = edits_of(head.format("f", "f") + plain.format("f") + plain.format("g"))
    assert (first.path, last.path) == ("f", "g")
    said = wrong(head.format("f", "f") + plain.format("g"))
    assert said == "line 3 of the patch: 'new file mode' is for 'b/f', not for 'b/g'"
    found = edit(
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ b/g\n@@ -1 +0,0 @@\n-x\n"
    )
    assert (found.path, found.action) == ("f", Delete("x\n"))


@pytest.mark.parametrize(
    ("old", "new"),
    [("a/f", "b/f.new"), ("f", "f.new"), ("f.orig", "f"), ("a/f.old", "b/f"), ("f~", "f"),
     ("f.bak", "f"), ("a/f", "b/f.modified"), ("a/f", "b/f~"), ("f", "f_new"),
     ("a/d/f.c", "b/d/f.c.fixed"), ("a/d/f.c", "b/d/f_new.c"), ("d/f-old.c", "d/f.c")],
)  # fmt: skip
def test_variations_of_a_name_are_no_renames(old: str, new: str) -> None:
    found = edit(PATCH.replace("a/f", old).replace("b/f", new))
    assert (found.path, found.to) == ("d/f.c" if "d/" in old else "f", None)
    renamed = edit(f"rename from f\nrename to f.new\n{PATCH.replace('b/f', 'b/f.new')}")
    assert (renamed.path, renamed.to) == ("f", "f.new")


@pytest.mark.parametrize(("old", "new"), [("f.c", "f.cpp"), ("f.c", "f_io.c"), ("f", "d/f.new")])
def test_other_names_are_renames(old: str, new: str) -> None:
    found = edit(PATCH.replace("a/f", f"a/{old}").replace("b/f", f"b/{new}"))
    assert (found.path, found.to) == (old, new)


RENAME = "diff --git a/f b/g\nsimilarity index {}%\nrename from f\nrename to g\n"


def test_renames() -> None:
    found = edit(RENAME.format(100))
    assert (found.path, found.to, found.action) == ("f", "g", Keep())
    found = edit(RENAME.format(90) + PATCH.replace("b/f", "b/g"))
    assert (found.path, found.to, type(found.action)) == ("f", "g", PatchAction)
    found = edit(PATCH.replace("b/f", "b/g"))
    assert (found.path, found.to) == ("f", "g")
    found = edit("rename from f\nrename to g\n")
    assert (found.path, found.to, found.action) == ("f", "g", Keep())
    found = edit({"path": "top/f", "patch": PATCH.replace("b/f", "b/g")})
    assert (found.path, found.to) == ("top/f", "top/g")


@pytest.mark.parametrize(
    ("patch", "action"),
    [
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", Create("a\nb\n")),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n", Create("a")),
        ("--- /dev/null\r\n+++ b/f\r\n@@ -0,0 +1 @@\r\n+a\r\n", Create("a\n")),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\r\n", Create("a\r\n")),
        (
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,9 @@\n+a\n\n+b\n",
            Create(
                "a\n\nb\n", notes=("wrong counts, recomputed", "empty lines read as blank ones")
            ),
        ),
        ("--- /dev/null\n+++ b/f\n+a\n", Create("a\n", notes=("no '@@' line",))),
        ("diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n", Create("")),
        ("diff --git a/f b/f\nnew file mode\nindex 0000000..e69de29\n", Create("")),
        ("--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", Delete("a\nb\n")),
        ("diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n", Delete("")),
    ],
)
def test_files_made_and_deleted(patch: str, action: object) -> None:
    for path, value in (("f", patch), ("top/f", {"path": "top/f", "patch": patch})):
        found = edit(value)
        assert (found.path, found.to, found.action) == (path, None, action)


def result(value: object, text: str | None) -> EditResult:
    return edit(value).action.apply(None if text is None else FileText(text), MatchOptions())


def test_a_file_is_made_executable() -> None:
    head = "diff --git a/f b/f\nnew file mode 100755\n"
    found = edit(f"{head}--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n").action
    assert found == Create("a\n", executable=True)
    made = found.apply(None, MatchOptions())
    assert (made.executable, made.applied.notes) == (True, ("executable",))
    assert result(head.replace("755", "644"), None).executable is None


def test_a_file_that_is_there_gets_another_mode() -> None:
    head = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    alone = result(head, OLD)
    assert alone.text == FileText(OLD)
    assert (alone.executable, alone.applied.notes) == (True, ("executable",))
    changed = result(f"{head}{PATCH}", OLD)
    assert changed.text == FileText(NEW)
    assert (changed.executable, changed.applied.notes) == (True, ("executable",))
    back = "diff --git a/f b/f\nold mode 100755\nnew mode 100644\n"
    assert result(back, OLD).executable is False
    assert result(PATCH, OLD).executable is None


def test_every_tolerance_is_noted() -> None:
    assert notes(PATCH.replace("@@ -1,3 +1,3 @@", "@@")) == "hunk 1: no line numbers"
    assert notes(PATCH.replace("@@ -1,3 +1,3 @@\n", "")) == "hunk 1: no '@@' line"
    spaced = OLD.replace("three", "")
    lost = PATCH.replace(" three", "")
    assert notes(lost, spaced) == "hunk 1: empty lines read as blank ones"
    assert notes(lost.replace("@@ -1,3 +1,3 @@", "@@ -1,4 +1,4 @@") + " four\n", spaced) == (
        "hunk 1: empty lines read as blank ones"
    )
    assert notes(PATCH + "\n\n") == ""


def test_no_more_text_or_hunks_than_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unified, "MAX_CHANGES", 2)
    assert len(edit(f"--- a/f\n+++ b/f\n{HUNK * 2}").action.hunks) == 2  # type: ignore[attr-defined]
    assert "too many hunks of one file: 3 (at most 2)" in wrong(f"--- a/f\n+++ b/f\n{HUNK * 3}")
    monkeypatch.setattr(formats, "MAX_TEXT", len(PATCH))
    assert applied({"path": "f", "patch": PATCH}) == NEW
    assert "at most" in wrong({"path": "f", "patch": f"{PATCH}\n"})
    assert "at most" in wrong(f"{PATCH}\n\n")
    (failure,) = read({"path": "f", "patch": f"{PATCH}\n"}).failures
    assert failure.given is None


def test_the_blob_in_the_index_line_proves_the_numbers(repo: Repo) -> None:
    text = "same\n" * 9
    blob = repo.git("hash-object", "--stdin", stdin=text)
    head = f"diff --git a/f b/f\nindex {blob[:9]}..1234567 100644\n--- a/f\n+++ b/f\n"
    assert applied(f"{head}@@ -4,0 +5 @@\n+new\n", text) == "same\n" * 4 + "new\n" + "same\n" * 5


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("--- a/f\n+++ b/f\n", "line 1 of the patch: no hunk follows"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n", "line 3 of the patch: the hunk"),
        ("--- a/f\n@@ -1 +1 @@\n-a\n+b\n", "line 1 of the patch: '--- a/f' is outside"),
        ("+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "line 1 of the patch: '+++ b/f' is outside"),
        (HUNK, "line 1 of the patch: no file is named"),
        ({"path": "g", "patch": PATCH}, "the patch is for 'f', but 'path' is 'g'"),
        (f"```\n{PATCH}oops\n+x\n```\n", "line 10 of the patch: '+x' is outside"),
        ("diff --cc f\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n", "combined diff of a merge"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100600\n", "a file of mode 100600"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", "a copy"),
        ("diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n",
         "a symbolic link"),
        ("diff --git a/f b/f\nnew file mode 100111\n", "a file of mode 100111"),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n b\n",
         "line 5 of the patch: ' b' in a created file; expected '+'"),
        ({"path": "f", "patch": ""}, "the hunk has no line"),
        ({"path": "f", "patch": "no patch at all"}, "the patch has no hunk"),
        ({"patch": " a\n-b\n"}, "the patch has no hunk"),
        ({"path": "f", "patch": 5}, "'patch' is a number"),
        ({"path": "f", "patch_lines": 5}, "'patch_lines' is a number; expected an array"),
        ({"path": "f", "patch_lines": ["@@", 5]}, "'patch_lines[1]' is a number"),
    ],
)  # fmt: skip
def test_what_is_malformed(value: object, said: str) -> None:
    assert said in wrong(value)


def test_a_binary_patch() -> None:
    text = "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 4\nLcmZ\n\n"
    (failure,) = read(f"{text}{PATCH}").failures
    assert (failure.code, failure.path) == ("binary", "f")
    assert failure.message.startswith("line 3 of the patch: a binary patch")


@pytest.mark.parametrize(
    ("rest", "name"),
    [
        ("a/f", "a/f"), ("a/f g", "a/f g"), ("a/f g\t", "a/f g"), ('"a/\\303\\244 b"', "a/ä b"),
        ('"a/\\t\\"\\\\"', 'a/\t"\\'), ("a/f\tThu Jan  1 1970", "a/f"),
        ("a/f Thu Jan  1 00:00:00 1970", "a/f"), ("/dev/null", "/dev/null"),
    ],
)  # fmt: skip
def test_names(rest: str, name: str) -> None:
    assert read_name(rest) == name


def test_the_names_of_a_git_header() -> None:
    assert git_names("a/f b/f") == ("a/f", "b/f")
    assert git_names("a/f g b/f g") == ("a/f g", "b/f g")
    assert git_names('"a/\\303\\244" "b/\\303\\244"') == ("a/ä", "b/ä")
    assert git_names("a/f g b/h") is None


@pytest.mark.parametrize(
    ("pair", "plain"),
    [
        (("a/x", "b/x"), ("x", "x")),
        (("b/x", "a/x"), ("x", "x")),
        (("a/x", "a/x"), ("a/x", "a/x")),
        (("src/x", "lib/x"), ("src/x", "lib/x")),
        (("/dev/null", "b/x"), ("/dev/null", "x")),
        (("/dev/null", "src/x"), ("/dev/null", "src/x")),
        (("a/x", "/dev/null"), ("x", "/dev/null")),
        (("x", "b/x"), ("x", "x")),
        (("a/x", "b"), ("a/x", "b")),
        (("a", "b/x"), ("a", "b/x")),
    ],
)
def test_prefixes(pair: tuple[str, str], plain: tuple[str, str]) -> None:
    assert without_prefixes(*pair) == plain


def test_what_git_writes_is_read(tmp_path: Path) -> None:
    """A real diff with a rename, odd names, a file made and one deleted."""

    def git(*command: str) -> str:
        done = subprocess.run(["git", *command], cwd=tmp_path, capture_output=True, check=True)
        return done.stdout.decode()

    git("init", "-q")
    (tmp_path / "ä b").write_text(OLD)
    (tmp_path / "gone").write_text(OLD)
    (tmp_path / "was").write_text(OLD * 5)
    git("add", ".")
    git("commit", "-qm", "x")
    (tmp_path / "ä b").write_text(NEW)
    (tmp_path / "gone").unlink()
    (tmp_path / "was").rename(tmp_path / "is now")
    (tmp_path / "made").write_text("new\n")
    git("add", "-A")
    found = edits_of(git("diff", "--cached", "-M"))
    assert {(one.path, one.to) for one in found} == {
        ("ä b", None), ("gone", None), ("was", "is now"), ("made", None)
    }  # fmt: skip
    git("commit", "-qm", "subject\n\n- a point\n+ another")
    mail = git("format-patch", "--stdout", "-1")
    assert len(edits_of(mail)) == 4
