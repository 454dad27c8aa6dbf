"""Edits made for an older version of a file that the repository holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_boocode.editing.answer import Answer
from git_boocode.editing.edits import MatchOptions
from git_boocode.editing.service import Options
from git_boocode.editing.versions import MOST, MOST_BYTES, FileVersions
from git_boocode.editing.workspace import Workspace
from tests.editing.kit import apply, codes, records, refused, replace
from tests.repo_kit import Repo
from tests.stale_kit import BEFORE, NEW, NOW, OLD

MERGED = NOW.replace('log("loaded")', 'log("loaded", path)')
CLASH = BEFORE.replace("check(data)", "check_all(data)")
EDIT = replace("a.py", OLD, NEW)


def checkpoint(repo: Repo, *arguments: str) -> str:
    return str(repo.boocode("checkpoint", *arguments, "--json").json["id"])


def notes(answer: Answer) -> tuple[str, ...]:
    (_, applied), *_ = answer.files[0].applied
    assert applied.rung == "merged"
    return applied.notes


def message(edits: object) -> str:
    failure, *_ = refused(edits).failures
    assert failure.code == "stale"
    return failure.message


def test_an_edit_made_for_head_is_merged(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", NOW)
    answer = apply(EDIT)
    assert repo.read("a.py").decode() == MERGED
    assert notes(answer) == ("merged with the changes since HEAD",)
    (edit,) = answer.as_json()["files"][0]["edits"]  # type: ignore[index]
    assert (edit["kind"], edit["rung"], edit["count"]) == ("fuzzy", "merged", 1)
    assert (edit["start_line"], edit["end_line"]) == (2, 4)


PATCHES = {
    "unified": "--- a/a.py\n+++ b/a.py\n@@ -2,3 +2,3 @@\n",
    "apply-patch": "*** Begin Patch\n*** Update File: a.py\n@@\n",
}
HUNK = """\
     data = read(path)
     check(data)
-    log("loaded")
+    log("loaded", path)
"""


def patch(kind: str, *hunks: str) -> bytes:
    end = "*** End Patch\n" if kind == "apply-patch" else ""
    return (PATCHES[kind] + "@@\n".join(hunks) + end).encode()


@pytest.mark.parametrize("kind", PATCHES)
def test_a_patch_made_for_head_is_merged(repo: Repo, kind: str) -> None:
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", NOW)
    answer = apply(patch(kind, HUNK))
    assert repo.read("a.py").decode() == MERGED
    assert notes(answer) == ("merged with the changes since HEAD",)
    (edit,) = answer.as_json()["files"][0]["edits"]  # type: ignore[index]
    assert (edit["kind"], edit["start_line"], edit["end_line"]) == ("fuzzy", 2, 4)


@pytest.mark.parametrize("kind", PATCHES)
@pytest.mark.parametrize("clash", [CLASH, BEFORE.replace('log("loaded")', "log(path)")])
def test_a_patch_that_conflicts_is_stale(repo: Repo, kind: str, clash: str) -> None:
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", clash)
    line = 3 if clash == CLASH else 4
    assert message(patch(kind, HUNK)) == f"line {line} changed since HEAD"


def test_an_edit_of_a_file_that_is_empty_now_is_stale(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE})
    base = repo.git("rev-parse", "HEAD:a.py").strip()
    repo.write("a.py", "")
    assert message(EDIT) == "the file was emptied since HEAD"
    assert message({**EDIT, "base": base}) == f"the file was emptied since {base[:12]}"


def test_what_another_hunk_of_the_call_has_changed_is_no_older_version(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE})
    first, end = patch("apply-patch", HUNK).decode().split("*** End Patch\n")
    second = '*** Update File: a.py\n@@\n-    log("loaded")\n+    log(data)\n@@\n-    write(path'
    more = f"{first}{second}, data)\n+    write(data)\n*** End Patch\n{end}".encode()
    assert codes(more) == [(1, "not_found")]


def test_an_edit_made_for_the_index_is_merged(repo: Repo) -> None:
    repo.commit(**{"a.py": "nothing yet\n"})
    repo.write("a.py", BEFORE)
    repo.git("add", "a.py")
    repo.write("a.py", NOW)
    assert notes(apply(EDIT)) == ("merged with the changes since the index",)
    assert repo.read("a.py").decode() == MERGED


def test_an_edit_made_for_a_checkpoint_is_merged(repo: Repo) -> None:
    repo.write("a.py", BEFORE)
    older = checkpoint(repo)
    repo.write("a.py", BEFORE.replace("write(", "write_all("))
    newer = checkpoint(repo)
    assert older != newer
    repo.write("a.py", NOW)
    assert notes(apply(EDIT)) == (f"merged with the changes since checkpoint {newer}",)
    assert repo.read("a.py").decode() == MERGED


def test_an_edit_made_before_another_edit_is_merged(repo: Repo) -> None:
    repo.write("a.py", BEFORE)
    recorded = apply(replace("a.py", "read(path)", "read_bytes(path)")).id
    assert notes(apply(EDIT)) == (
        f"merged with the changes since the state before edit {recorded}",
    )
    assert repo.read("a.py").decode() == MERGED


def test_a_conflict_names_the_checkpoint_that_has_the_change_first(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", CLASH)
    first = checkpoint(repo)
    repo.write("a.py", CLASH.replace("write(", "write_all("))
    checkpoint(repo)
    assert message(EDIT) == f"line 3 changed since HEAD, first seen in checkpoint {first}"


def test_a_conflict_names_the_edit_that_made_the_change(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE})
    apply(replace("a.py", "write(path", "write_all(path"))
    recorded = apply(replace("a.py", "check(data)", "check_all(data)")).id
    apply(replace("a.py", "load(path)", "load_all(path)"))
    assert message(EDIT) == f"line 3 changed since HEAD, by edit {recorded}"


def test_a_conflict_names_no_checkpoint_of_another_commit(repo: Repo) -> None:
    repo.commit(**{"a.py": "nothing yet\n"})
    repo.write("a.py", "nothing\n")
    checkpoint(repo)
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", CLASH)
    assert message(EDIT) == "line 3 changed since HEAD"


def test_a_user_sees_what_was_merged_and_what_has_changed(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE, "b.py": BEFORE})
    repo.write("a.py", NOW)
    repo.write("b.py", CLASH)
    done = repo.boocode("apply-edit", stdin=json.dumps(EDIT))
    assert done.code == 0
    shown = " M a.py: lines 2-4, fuzzy (merged 1.00), merged with the changes since HEAD\n"
    assert done.out.startswith(shown)
    done = repo.boocode("apply-edit", stdin=json.dumps({**EDIT, "path": "b.py"}))
    assert done.code == 1
    assert "b.py: line 3 changed since HEAD" in done.err
    assert "check_all(data)" in done.err


def test_without_a_repository_there_are_no_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(CLASH)
    assert codes(EDIT, index=False) == [(0, "not_found")]


def test_in_a_subdirectory_and_in_a_linked_worktree(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(**{"sub/a.py": BEFORE})
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    for top in (repo.top, tmp_path / "linked"):
        monkeypatch.chdir(top / "sub")
        Path("a.py").write_text(NOW)
        assert notes(apply(EDIT)) == ("merged with the changes since HEAD",)
        assert Path("a.py").read_text() == MERGED


def test_checkpoints_of_another_worktree_do_not_count(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(b="x\n")
    repo.write("a.py", BEFORE)
    checkpoint(repo)
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    monkeypatch.chdir(tmp_path / "linked")
    Path("a.py").write_text(CLASH)
    assert codes(EDIT) == [(0, "not_found")]


def test_the_clean_form_is_compared_with_the_files_line_endings(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", NOW.replace("\n", "\r\n"))
    assert notes(apply(EDIT)) == ("merged with the changes since HEAD",)
    assert repo.read("a.py").decode() == MERGED.replace("\n", "\r\n")


def test_a_version_that_is_no_text_is_passed_over(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", b"\0" + BEFORE.encode())
    repo.git("add", "a.py")
    repo.write("a.py", NOW)
    assert notes(apply(EDIT)) == ("merged with the changes since HEAD",)


def test_records_are_bounded(repo: Repo) -> None:
    for number in range(MOST + 6):
        apply({"path": "b.py", "content": f"{number}\n"})
    assert len(records(repo)) > MOST
    found = [*FileVersions(Workspace.find(index=True).repository, "b.py")]  # type: ignore[arg-type]
    assert found[:2] == [f"{MOST + 5}\n", f"{MOST + 4}\n"]
    assert len(found) == len(set(found)) == MOST


def test_a_large_version_is_not_read(repo: Repo) -> None:
    repository = Workspace.find(index=True).repository
    assert repository is not None
    for size in (MOST_BYTES, MOST_BYTES + 1):
        repo.commit(**{"a.py": "#" * size})
        assert [len(text) for text in FileVersions(repository, "a.py")] == [size][
            size - MOST_BYTES :
        ]


# The version that an edit names as its base.


def blob(repo: Repo, text: str) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin=text).strip()


@pytest.mark.parametrize("digits", [40, 10])
def test_an_edit_is_merged_from_its_base(repo: Repo, digits: int) -> None:
    repo.write("a.py", NOW)
    base = blob(repo, BEFORE)[:digits]
    assert notes(apply({**EDIT, "base": base})) == (f"merged with the changes since {base[:12]}",)
    assert repo.read("a.py").decode() == MERGED


def test_the_base_counts_where_the_file_has_the_old_text_elsewhere(repo: Repo) -> None:
    repo.write("a.py", NOW + f"\n{OLD}")
    apply({**EDIT, "base": blob(repo, BEFORE)})
    assert repo.read("a.py").decode() == MERGED + f"\n{OLD}"


def test_edits_with_one_base_build_on_each_other(repo: Repo) -> None:
    base = blob(repo, BEFORE)
    repo.write("a.py", NOW)
    second = replace("a.py", '    log("loaded", path)\n    return parse(data)', "    return None")
    apply([{**EDIT, "base": base}, {**second, "base": base}])
    expected = NOW.replace('    log("loaded")\n    return parse(data)', "    return None")
    assert repo.read("a.py").decode() == expected


def test_a_line_number_counts_in_the_base(repo: Repo) -> None:
    base = blob(repo, BEFORE)
    repo.write("a.py", f"first\nsecond\n{NOW}")
    apply(
        {
            "command": "insert",
            "path": "a.py",
            "insert_line": 3,
            "new_str": "    here\n",
            "base": base,
        }
    )
    assert repo.read("a.py").decode() == f"first\nsecond\n{NOW}".replace(
        "    check(data)\n", "    check(data)\n    here\n"
    )


def test_a_conflict_with_the_base_is_refused(repo: Repo) -> None:
    base = blob(repo, BEFORE)
    repo.write("a.py", CLASH)
    assert message({**EDIT, "base": base}) == f"line 3 changed since {base[:12]}"


def test_a_base_without_the_old_text_is_refused(repo: Repo) -> None:
    base = blob(repo, "something = other\n")
    repo.write("a.py", NOW)
    assert message({**EDIT, "base": base}).startswith(
        f"the file has changed since {base[:12]}, and"
    )


def test_an_unknown_base_is_refused(repo: Repo) -> None:
    repo.write("a.py", NOW)
    said = message({**EDIT, "base": "1" * 40})
    assert said.startswith("the file has another version: ")
    assert said.endswith("which is not in the repository")


def test_a_ref_that_is_named_like_a_blob_is_no_base(repo: Repo) -> None:
    repo.git("tag", "abcdef0", blob(repo, BEFORE))
    repo.write("a.py", NOW)
    assert message({**EDIT, "base": "abcdef0"}).endswith("is not in the repository")


def test_a_full_rewrite_for_another_version_is_refused(repo: Repo) -> None:
    repo.write("a.py", NOW)
    assert codes({"path": "a.py", "content": "x\n", "base": blob(repo, BEFORE)}) == [(0, "stale")]


def test_with_another_profile_an_outdated_base_is_refused(repo: Repo) -> None:
    repo.write("a.py", NOW)
    options = Options(how=MatchOptions("boocode"))
    assert codes({**EDIT, "base": blob(repo, BEFORE)}, options=options) == [(0, "stale")]


# Edits that are already applied.


def test_an_applied_edit_stops_none_of_the_others(repo: Repo) -> None:
    repo.write("a.py", MERGED)
    repo.write("b.py", "one\n")
    answer = apply([
        replace("a.py", 'log("loaded")', 'log("loaded", path)'),
        replace("a.py", "write(path, data)", "write_all(path, data)"),
        replace("b.py", "one", "two"),
    ])  # fmt: skip
    assert repo.read("a.py").decode() == MERGED.replace("write(", "write_all(")
    assert repo.boocode("rewind", "-n").code == 0
    edit, other = answer.as_json()["files"][0]["edits"]  # type: ignore[index]
    assert (edit["index"], edit["rung"], edit["count"]) == (0, "already_applied", 0)
    assert (edit["start_line"], edit["end_line"], edit["notes"]) == (4, 4, ("already applied",))
    assert other["index"] == 1


def test_a_file_that_has_all_its_edits_is_listed_unchanged(repo: Repo) -> None:
    repo.write("a.py", MERGED)
    repo.write("b.py", "one\n")
    edits = [{**EDIT, "old_string": "unheard_of(path)", "new_string": 'log("loaded", path)'}]
    done = repo.boocode("apply-edit", stdin=json.dumps([*edits, replace("b.py", "one", "two")]))
    assert done.code == 0
    assert " = a.py: line 4, already applied\n M b.py: line 1\n" in done.out
    assert repo.read("a.py").decode() == MERGED


def test_a_call_of_which_all_is_applied_is_refused(repo: Repo) -> None:
    repo.write("a.py", MERGED)
    edits = [
        replace("a.py", "    data = read(path)\n", "    data = read_bytes(path)\n"),
        replace("a.py", 'log("loaded")', 'log("loaded", path)'),
    ]
    for some in (edits, edits[:1]):
        assert codes(some) == [(number, "already_applied") for number in range(len(some))]
    done = repo.boocode("apply-edit", "--json", stdin=json.dumps(edits))
    assert (done.code, done.json["ok"], done.json["error"]["code"]) == (1, False, "already_applied")
    assert done.json["failures"][0]["lines"] == [2]


def test_a_change_that_the_file_has_since_is_already_applied(repo: Repo) -> None:
    repo.commit(**{"a.py": BEFORE})
    repo.write("a.py", MERGED)
    assert codes(EDIT) == [(0, "already_applied")]
