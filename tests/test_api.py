"""What a host imports."""

from __future__ import annotations

import json
import os
import pydoc
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import git_boocode
from tests.checkpoints.kit import back, interrupted
from tests.example_host import Host
from tests.repo_kit import Repo

EDIT = {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}


def test_every_name_is_exported_and_described() -> None:
    assert dir(git_boocode) == git_boocode.__all__
    for name in git_boocode.__all__:
        assert getattr(git_boocode, name).__doc__
    shown = pydoc.plain(pydoc.render_doc(git_boocode))
    for name in ("apply_edits(", "restore(", "replace_text(", "class CheckpointInfo"):
        assert name in shown
    assert "__getattr__" not in shown
    assert "ForwardRef" not in shown


def test_importing_costs_nothing_until_a_name_is_used() -> None:
    code = (
        "import sys, git_boocode; before = {*sys.modules};"
        "git_boocode.locate_match; between = {*sys.modules}; git_boocode.restore;"
        "print(sum(name.startswith('git_boocode.') for name in before),"
        " any(name.startswith('git_boocode.checkpoints') for name in between),"
        " 'pygit2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 False False\n"


def test_edits_are_applied_and_recorded(repo: Repo) -> None:
    repo.commit(**{"sub/b.py": "x = 1\n", "a.py": "\tx = 1\n"})
    done = git_boocode.apply_edits(EDIT, str(repo.top / "sub"))
    [file] = done.files
    assert (file.path, file.action, file.content) == ("a.py", "modify", "\tx = 2\n")
    assert (file.edits[0].kind, file.edits[0].start_line) == ("exact", 1)
    assert repo.read("a.py") == b"\tx = 2\n"
    assert repo.boocode("rewind", str(done.id)).code == 0
    assert repo.read("a.py") == b"\tx = 1\n"


@pytest.mark.parametrize(
    "form", [json.dumps(EDIT), json.dumps(EDIT).encode(), [EDIT], (MappingProxyType(EDIT),)]
)
def test_edits_may_be_text_bytes_or_values(repo: Repo, form: Any) -> None:
    repo.commit(**{"a.py": "x = 1\n"})
    assert git_boocode.apply_edits(form, dry_run=True).files[0].content == "x = 2\n"
    assert repo.read("a.py") == b"x = 1\n"


def test_a_turn_keeps_restores_away_until_it_ends(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n"})
    taken = git_boocode.turn_begin(message="fix", pid=os.getpid(), timeout=60)
    assert (taken.label, taken.trigger) == ("fix", "turn")
    git_boocode.apply_edits(EDIT)
    for refused in (lambda: git_boocode.restore("@"), git_boocode.turn_begin):
        with pytest.raises(git_boocode.RefusedError) as caught:
            refused()
        assert caught.value.code == "locked"
    assert repo.read("a.py") == b"x = 2\n"
    assert git_boocode.restore("@", dry_run=True).changed
    assert git_boocode.restore("@", force=["running-turn"]).changed
    assert git_boocode.turn_end() == taken.id
    with pytest.raises(git_boocode.RefusedError):
        git_boocode.turn_end()
    for given in ({"pid": 0}, {"timeout": -1}, {"timeout": float("nan")}):
        with pytest.raises(ValueError, match="is n"):
            git_boocode.turn_begin(**given)


def test_a_refusal_says_what_the_model_needs(repo: Repo) -> None:
    repo.commit(**{"a.py": "y = 1\n"})
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.apply_edits({**EDIT, "old_string": "nothing like it"})
    assert caught.value.code == "not_found"
    assert caught.value.hints
    assert "@retry_context" in str(caught.value.details["retry_context"])
    assert repo.git("status", "--porcelain") == ""


def test_a_file_is_read_with_its_version(repo: Repo) -> None:
    repo.write("sub/a.py", "x = 1\r\n\r\ny = 1\r\n")
    whole = git_boocode.read("a.py", str(repo.top / "sub"))
    assert (whole.path, whole.first, whole.lines) == ("sub/a.py", 1, ("x = 1", "", "y = 1"))
    part = git_boocode.read("sub/a.py", first=3, last=9)
    assert (part.first, part.lines, part.total) == (3, ("y = 1",), 3)
    assert part == git_boocode.read("sub/a.py:3-")
    repo.write("sub/a.py", "x = 1\r\n\r\ny = 2\r\n")
    git_boocode.apply_edits({**EDIT, "path": "sub/a.py", "base": whole.version})
    assert repo.read("sub/a.py") == b"x = 2\r\n\r\ny = 2\r\n"
    typed = git_boocode.read("new", buffers={"new": "typed"})
    assert (typed.lines, typed.warning) == (("typed",), "")
    for first, last in ((0, 1), (1, 0), (4, None), (-1, None), (2, 1)):
        with pytest.raises(git_boocode.RefusedError) as caught:
            git_boocode.read("sub/a.py", first=first, last=last)
        assert caught.value.code == "invalid_input"


def test_a_preview_reads_and_writes_no_file(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n", "b.py": "x = 1\n"})
    contents = {"a.py": "“x” = 0\nx = 1\n", "A.PY": "x = 1\n"}
    edits = [EDIT, {"path": "new.py", "content": "new\n"}, {**EDIT, "path": "A.PY"}]
    found = {file.path: file.content for file in git_boocode.preview_edits(edits, contents).files}
    assert found == {"a.py": "“x” = 0\nx = 2\n", "new.py": "new\n", "A.PY": "x = 2\n"}
    assert repo.git("status", "--porcelain") == ""
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.preview_edits({**EDIT, "path": "b.py"}, contents)
    assert caught.value.code == "missing_file"
    assert "a.py" in "".join(caught.value.hints)


@pytest.mark.parametrize(
    ("edits", "contents", "error"),
    [
        ({**EDIT, "new_string": b"x"}, {"a.py": "x = 1\n"}, TypeError),
        ([{1, 2}], {"a.py": "x = 1\n"}, TypeError),
        (EDIT, {"a.py": b"x = 1\n"}, TypeError),
        (EDIT, {"a.py": "x = 1 \ud800\n"}, ValueError),
    ],
)
def test_a_preview_takes_texts(edits: Any, contents: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        git_boocode.preview_edits(edits, contents)


def test_bytes_that_are_not_utf_8_survive_a_preview() -> None:
    contents = {"a.py": "x = 1\n# \udcff\n"}
    assert git_boocode.preview_edits(EDIT, contents).files[0].content == "x = 2\n# \udcff\n"


@pytest.mark.parametrize(
    "given",
    [
        {"force": "other_worktree"},
        {"paths": "a", "files": False},
    ],
)
def test_arguments_that_make_no_sense_change_nothing(repo: Repo, given: Any) -> None:
    repo.commit(a="one\n")
    git_boocode.checkpoint()
    repo.write("a", "two\n")
    with pytest.raises(ValueError, match=r"value for force: |files=False and paths cannot be used"):
        git_boocode.restore("@", **given)
    assert repo.read("a") == b"two\n"


def test_ignored_files_are_replaced_by_force(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.write("new", "two\n")
    git_boocode.checkpoint()
    repo.write(".git/info/exclude", ".env\n")
    (repo.top / "new").unlink()
    repo.write("new/.env", "secret\n")
    assert [path for path, _ in git_boocode.restore("@", dry_run=True).kept] == ["new"]
    git_boocode.restore("@", force="ignored")
    assert repo.read("new") == b"two\n"
    git_boocode.undo(force="ignored")
    assert repo.read("new/.env") == b"secret\n"


def test_checkpoints_of_another_session_are_refused(repo: Repo) -> None:
    repo.commit(a="one\n")
    git_boocode.checkpoint(session="s1")
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.restore("@", session="s2")
    assert caught.value.code == "other_session"
    done = git_boocode.restore("@", session="s2", force=["other-session"])
    assert done.commit == git_boocode.log()[0].commit


def test_the_paths_of_a_preview_may_be_spelled_otherwise(repo: Repo) -> None:
    done = git_boocode.preview_edits({**EDIT, "path": "a.py"}, {"./sub/../a.py": "x = 1\n"})
    assert [(file.path, file.content) for file in done.files] == [("a.py", "x = 2\n")]


@pytest.mark.parametrize("edit", [EDIT, {"path": "a.py", "content": "new\n"}])
def test_an_unknown_profile_is_named(repo: Repo, edit: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="unknown profile 'strict'"):
        git_boocode.preview_edits(edit, {"a.py": "x = 1\n"}, profile="strict")


def test_one_path_may_be_a_string(repo: Repo) -> None:
    repo.commit(a="one\n", b="one\n")
    git_boocode.checkpoint()
    repo.write("a", "two\n")
    repo.write("b", "two\n")
    assert [file.path for file in git_boocode.diff(paths="./a").files] == ["a"]
    assert [file.path for file in git_boocode.restore("@", paths="./a").changed] == ["a"]
    assert repo.read("b") == b"two\n"


def test_meta_is_json(repo: Repo) -> None:
    repo.commit(a="one\n")
    with pytest.raises(ValueError, match="JSON"):
        git_boocode.checkpoint(meta={"cost": float("nan")})
    taken = git_boocode.checkpoint(meta={"parts": (1, 2)})
    assert [taken.meta] == [each.meta for each in git_boocode.log()] == [{"parts": [1, 2]}]


def test_checkpoints_are_taken_listed_compared_and_restored(repo: Repo) -> None:
    repo.commit(a="one\n", b="one\n")
    repo.write("a", "two\n")
    top, before = str(repo.top), os.getcwd()
    taken = git_boocode.checkpoint(top, label="first", chat="c", meta={"cost": "1"})
    same = git_boocode.checkpoint(top, if_changed=True)
    assert same == taken
    assert [taken] == git_boocode.log(top)
    assert (taken.label, taken.chat, taken.worktree, taken.meta) == (
        "first",
        "c",
        "main",
        {"cost": "1"},
    )
    repo.write("a", "three\n")
    repo.write("b", "three\n")
    compared = git_boocode.diff(root=top)
    assert [(file.path, file.action) for file in compared.files] == [
        ("a", "modify"),
        ("b", "modify"),
    ]
    assert "-two\n+three\n" in compared.text
    assert git_boocode.diff(root=top, paths=["b"]).files == compared.files[1:]
    looked = git_boocode.restore("@", top, dry_run=True)
    assert looked.undo is None
    assert repo.read("a") == b"three\n"
    done = git_boocode.restore("@", top)
    assert [each.path for each in done.changed] == [each.path for each in compared.files]
    assert repo.read("a") == b"two\n"
    with pytest.raises(git_boocode.RefusedError) as refused:
        git_boocode.undo(top, expect="another")
    assert refused.value.code == "stale"
    assert git_boocode.undo(top, expect=done.undo).checkpoint_id == done.undo
    assert repo.read("b") == b"three\n"
    repo.write("b", "four\n")
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.redo(top)
    assert (caught.value.code, caught.value.details["later_changes"]) == ("later_changes", ["b"])
    git_boocode.redo(top, force=["later-changes"])
    assert repo.read("b") == b"one\n"
    assert os.getcwd() == before


def test_a_turn_is_reverted_and_picked_beside_other_work(repo: Repo) -> None:
    repo.commit(a="1\n2\n3\n4\n5\n")
    top = str(repo.top)
    turn = git_boocode.checkpoint(top, session="s", agent="claude-code")
    repo.write("a", "one\n2\n3\n4\n5\n")
    repo.write("made", "made\n")
    git_boocode.checkpoint(top)
    repo.write("a", "one\n2\n3\n4\nfive\n")
    looked = git_boocode.revert(turn.id, top, dry_run=True)
    assert (looked.turns, looked.undo, looked.dry_run) == ((turn.id,), None, True)
    done = git_boocode.revert([turn.id], top)
    assert isinstance(done, git_boocode.RevertResult)
    assert [(file.path, file.action) for file in done.changed] == [
        ("a", "modify"),
        ("made", "delete"),
    ]
    assert done.undo
    assert repo.read("a") == b"1\n2\n3\n4\nfive\n"
    picked = git_boocode.pick(turn.id, top, paths=["a"])
    assert [file.path for file in picked.changed] == ["a"]
    assert repo.read("a") == b"one\n2\n3\n4\nfive\n"
    git_boocode.undo(top)
    git_boocode.undo(top)
    assert repo.read("made") == b"made\n"
    assert git_boocode.revert(root=top, session="s").turns == (turn.id,)


def test_a_revert_of_hunks_and_of_a_buffer(repo: Repo) -> None:
    repo.commit(a="1\n2\n3\n")
    turn = git_boocode.checkpoint().id
    repo.write("a", "one\n2\nthree\n")
    git_boocode.checkpoint()
    part = git_boocode.revert(turn, paths="a", dry_run=True).parts["a"]
    assert [hunk["number"] for hunk in part["hunks"]] == [1, 2]
    held = git_boocode.revert(turn, buffers={"a": "one\n2\nthree\nmore\n"})
    assert (held.changed, held.buffers[0].content) == ((), "1\n2\n3\nmore\n")
    assert repo.read("a") == b"one\n2\nthree\n"
    git_boocode.revert(turn, hunks={"a": [2]}, expect={"a": part["version"]})
    assert repo.read("a") == b"one\n2\n3\n"
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.revert(turn, hunks={"a": [1]}, expect={"a": part["version"]})
    assert caught.value.code == "conflict"


def test_a_conflict_says_who_wrote_the_lines(repo: Repo) -> None:
    repo.commit(a="1\n2\n3\n")
    turn = git_boocode.checkpoint().id
    repo.write("a", "one\n2\n3\n")
    later = git_boocode.checkpoint(label="later").id
    repo.write("a", "eins\n2\n3\n")
    git_boocode.checkpoint()
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.revert(turn)
    conflicts: Any = caught.value.details["conflicts"]
    [conflict] = conflicts
    assert (conflict["path"], conflict["lines"]) == ("a", [[1, 1]])
    assert conflict["by"] == [{"turn": later, "label": "later"}]
    assert repo.read("a") == b"eins\n2\n3\n"
    marked = git_boocode.revert(turn, markers=True)
    assert [each.path for each in marked.conflicts] == ["a"]
    assert repo.read("a").startswith(b"<<<<<<< ")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"turns": "@", "session": "s"},
        {"turns": "@", "hunks": {"a": [1]}, "paths": ["a"]},
        {"turns": "@", "hunks": {"a": [1]}, "markers": True},
        {"turns": "@", "hunks": {}},
        {"turns": "@", "expect": {"a": "1"}},
        {"turns": "@", "force": ["nothing"]},
        {"turns": "@", "position_encoding": "latin-1"},
    ],
)
def test_a_revert_needs_arguments_that_fit_together(repo: Repo, given: dict[str, Any]) -> None:
    repo.commit(a="a\n")
    git_boocode.checkpoint()
    with pytest.raises(ValueError, match=r"^[a-z']"):
        git_boocode.revert(**given)
    with pytest.raises(ValueError, match="turns"):
        git_boocode.pick([])


def test_errors_carry_code_message_and_hints(tmp_path: Path) -> None:
    with pytest.raises(git_boocode.FatalError) as caught:
        git_boocode.checkpoint(str(tmp_path))
    assert caught.value.code == "not_a_repository"
    assert caught.value.message


def test_what_the_system_refuses_is_a_fatal_error(repo: Repo) -> None:
    repo.commit(a="one\n")
    with pytest.raises(git_boocode.FatalError) as caught:
        git_boocode.log(str(repo.top / "a"))
    assert caught.value.code == "io"
    assert caught.value.message.endswith("not a directory")


def test_edits_of_a_function_go_with_the_restore(repo: Repo) -> None:
    transcript = repo.top.parent / "transcript"
    transcript.write_text("one\ntwo\n")
    repo.commit(a="one\n")
    taken = git_boocode.checkpoint(str(repo.top), message="m1")
    repo.write("a", "two\n")
    events = []

    def callback(event: dict[str, Any]) -> dict[str, Any]:
        events.append(event["event"])
        edit = {"path": str(transcript), "old_string": "two\n", "new_string": ""}
        return {"messages_deleted": 1, "edits": [edit]} if event["event"] == "trim" else {}

    done = git_boocode.restore(taken.id, str(repo.top), callback=callback)
    assert (events, done.messages_deleted) == (["prepare", "trim"], 1)
    assert done.edited == (str(transcript),)
    assert transcript.read_text() == "one\n"
    git_boocode.undo(str(repo.top), callback=callback)
    assert transcript.read_text() == "one\ntwo\n"
    assert repo.read("a") == b"two\n"


@pytest.mark.parametrize(("fails_in", "code"), [("prepare", "callback"), ("trim", "callback")])
def test_a_function_that_raises_fails_the_restore(repo: Repo, fails_in: str, code: str) -> None:
    repo.commit(a="one\n")
    git_boocode.checkpoint(str(repo.top))
    repo.write("a", "two\n")

    def callback(event: dict[str, Any]) -> None:
        if event["event"] == fails_in:
            raise ValueError("the database is locked")

    with pytest.raises(git_boocode.FatalError) as caught:
        git_boocode.restore("@", str(repo.top), callback=callback)
    assert caught.value.code == code
    assert "raised ValueError" in caught.value.message
    assert "the database is locked" in caught.value.message
    assert repo.read("a") == b"two\n"


def test_a_function_may_do_what_a_program_may(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n", "b.py": "x = 1\n"})
    git_boocode.checkpoint()
    repo.write("b.py", "two\n")
    refused = []

    def callback(event: dict[str, Any]) -> None:
        if event["event"] != "trim":
            return
        git_boocode.apply_edits(EDIT)
        git_boocode.checkpoint(label="within")
        with pytest.raises(git_boocode.RefusedError) as caught:
            git_boocode.undo()
        refused.append(caught.value.code)

    git_boocode.restore("@", callback=callback)
    assert len(refused) == 1
    assert repo.read("a.py") == b"x = 2\n"
    assert git_boocode.log()[0].label == "within"


def test_a_function_is_no_file_of_its_name(repo: Repo) -> None:
    repo.commit(trim="one\n")
    git_boocode.checkpoint()
    repo.write("trim", "two\n")

    def trim(event: dict[str, Any]) -> None:
        assert event["changed"] == [{"path": "trim", "action": "modify"}]

    trim.__qualname__ = "trim"
    git_boocode.restore("@", callback=trim)
    assert repo.read("trim") == b"one\n"


def test_a_function_may_veto(repo: Repo) -> None:
    repo.commit(a="one\n")
    git_boocode.checkpoint(str(repo.top))
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.restore("@", callback=lambda event: {"veto": True, "message": "not now"})
    assert caught.value.code == "vetoed"
    assert "not now" in caught.value.message


def test_the_example_host_takes_turns_and_takes_them_back(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n"})
    answers = iter([{**EDIT, "old_string": "gone"}, EDIT, {"path": "b.py", "content": "b\n"}])
    host = Host(
        str(repo.top), lambda question: json.dumps(next(answers)) if question != "hi" else "Hello."
    )
    assert host.turn("hi") == []
    assert host.turn("set x") == ["a.py"]
    repo.write("mine", "typed between two turns\n")
    assert host.turn("add b") == ["b.py"]
    taken_back = git_boocode.revert(session="s1", dry_run=True)
    assert [each.path for each in taken_back.changed] == ["a.py", "b.py"]
    assert host.take_back("@~1") == 2
    assert host.messages == ["hi"]
    assert repo.read("a.py") == b"x = 1\n"
    assert not (repo.top / "b.py").exists()
    host.messages.append("asked by hand")
    by_hand = git_boocode.checkpoint()
    assert host.take_back(by_hand.id) == 0


@pytest.mark.slow
def test_a_client_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    client = tmp_path / "client.py"
    client.write_text(
        "import git_boocode\n"
        "def ids(root: str) -> list[str]:\n"
        "    git_boocode.restore('@', root, callback=lambda event: {'messages_deleted': 1})\n"
        "    return [each.id for each in git_boocode.log(root)]\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(client),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("Success"), done.stdout


def test_a_proposal_is_accepted_beside_an_unsaved_buffer(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\ny = 2\n", "b.py": "x = 1\n"})
    edits = [EDIT, {**EDIT, "path": "b.py"}]
    proposed = git_boocode.propose(edits, buffers={"a.py": "😀 x = 1\n"})
    assert [(file.path, file.content) for file in proposed.files] == [
        ("a.py", "😀 x = 2\n"),
        ("b.py", "x = 2\n"),
    ]
    assert proposed.files[0].text_edits == (git_boocode.TextEdit((0, 7), (0, 8), "2"),)
    assert repo.read("b.py") == b"x = 1\n"
    assert [(file.path, file.status) for file in git_boocode.status()] == [
        ("a.py", "~M"),
        ("b.py", "M"),
    ]
    with pytest.raises(git_boocode.RefusedError, match=r"'a\.py'") as refused:
        git_boocode.accept()
    assert refused.value.code == "conflict"
    accepted = git_boocode.accept(buffers={"a.py": "😀 x = 1\n"}, position_encoding="utf-8")
    assert [file.content for file in accepted.files] == ["😀 x = 2\n", "x = 2\n"]
    assert accepted.files[0].text_edits == (git_boocode.TextEdit((0, 9), (0, 10), "2"),)
    assert (repo.read("a.py"), repo.read("b.py")) == (b"x = 1\ny = 2\n", b"x = 2\n")
    assert git_boocode.undo().undo
    assert repo.read("b.py") == b"x = 1\n"
    assert git_boocode.discard(paths=["b.py"]).statuses == {"b.py": ""}
    assert git_boocode.sync(paths=["a.py"]).statuses == {"a.py": "M"}


def test_a_buffer_is_edited_and_not_written(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n"})
    done = git_boocode.apply_edits(EDIT, buffers={"a.py": "# new\nx = 1\n"})
    assert done.files[0].content == "# new\nx = 2\n"
    assert done.files[0].text_edits == (git_boocode.TextEdit((1, 4), (1, 5), "2"),)
    assert (done.id, repo.read("a.py")) == (None, b"x = 1\n")


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("accept", {"merge": True, "overwrite": True}),
        ("accept", {"markers": True}),
        ("accept", {"position_encoding": "latin-1"}),
    ],
)
def test_options_of_a_proposal_are_checked(repo: Repo, function: str, given: Any) -> None:
    repo.commit(a="a\n")
    with pytest.raises(ValueError, match=r"."):
        getattr(git_boocode, function)(**given)


def test_hunks_of_other_files_change_nothing(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n"})
    git_boocode.propose(EDIT)
    for function in (git_boocode.accept, git_boocode.discard):
        with pytest.raises(git_boocode.RefusedError, match="no hunks of 'b'"):
            function(hunks={"b": [1]})
        with pytest.raises(ValueError, match="no numbers"):
            function(hunks={"a.py": []})
    assert [file.status for file in git_boocode.status()] == ["M"]


def test_one_path_may_be_given_alone(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n", "b.py": "x = 1\n"})
    git_boocode.propose([EDIT, {**EDIT, "path": "b.py"}])
    assert [file.path for file in git_boocode.status(paths="b.py")] == ["b.py"]
    assert git_boocode.sync(paths="a.py").statuses == {"a.py": "M"}


def test_a_turn_is_forked_with_its_conversation(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "untracked\n")
    taken = git_boocode.checkpoint(str(repo.top), chat="c", message="m1")
    made = git_boocode.fork(
        taken.id,
        str(repo.top),
        directory=str(tmp_path / "fork"),
        branch="attempt",
        callback=lambda event: {"resume": ["host", event["fork"]["worktree"]]},
    )
    assert (made.worktree, made.branch) == (str(tmp_path / "fork"), "attempt")
    assert made.conversation is not None
    assert made.conversation.resume == ("host", made.worktree)
    assert (tmp_path / "fork/b").read_text() == "untracked\n"
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.fork(taken.id, str(repo.top), directory=made.worktree)
    assert caught.value.code == "exists"


def test_a_turn_has_the_identity_of_a_checkpoint_and_ends(repo: Repo) -> None:
    repo.commit(**{"a.py": "x = 1\n", "b.py": "x = 1\n"})
    whose: dict[str, Any] = {"agent": "toy", "chat": "c1", "message_id": "m1"}
    whose |= {"message": "fix", "pid": os.getpid(), "meta": {"model": "large"}}
    first, second = (git_boocode.turn_begin(session=name, **whose) for name in ("A", "B"))
    assert (first.session, first.agent, first.chat, first.message) == ("A", "toy", "c1", "m1")
    assert (first.label, first.meta) == ("fix", {"model": "large"})
    git_boocode.apply_edits(EDIT, session="A")
    git_boocode.apply_edits({**EDIT, "path": "b.py"}, session="B")
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.turn_end()
    assert caught.value.code == "ambiguous"
    assert git_boocode.turn_end(turn=first.id) == first.id
    with pytest.raises(git_boocode.RefusedError) as caught:
        git_boocode.turn_end(turn=first.id)
    assert caught.value.code == "not_found"
    assert git_boocode.turn_end() == second.id
    assert git_boocode.revert(session="A").changed[0].path == "a.py"
    assert (repo.read("a.py"), repo.read("b.py")) == (b"x = 1\n", b"x = 2\n")
    with pytest.raises(ValueError, match="JSON"):
        git_boocode.turn_begin(meta={"model": float("nan")})


def test_checkpoints_are_pruned(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("config", "boocode.keep", "2")
    taken = [git_boocode.checkpoint(label=str(number)) for number in range(4)]
    assert len(git_boocode.log()) == 4
    # As if that was yesterday.
    (repo.top / ".git/boocode/last-prune").unlink()
    begun = git_boocode.turn_begin()
    assert [each.id for each in git_boocode.log()] == [begun.id, taken[-1].id]


def test_a_restore_that_was_killed_is_warned_of(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(**{"a.py": "x = 1\n"})
    taken = git_boocode.checkpoint()
    repo.write("a.py", "x = 3\n")
    interrupted(monkeypatch, lambda: back(taken.id))
    said = "a restore was interrupted half-way; .*'git boocode undo'"
    for call in (git_boocode.checkpoint, git_boocode.log, lambda: git_boocode.apply_edits(EDIT)):
        with pytest.warns(RuntimeWarning, match=said) as caught:
            call()
        assert [each.filename for each in caught] == [__file__]
    git_boocode.undo(force=["later-changes"])
    git_boocode.log()
