"""What one turn changed while others were open: states recorded as hooks do, then asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import ToolCall, capture_tool_state, capture_turn_end
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_work import TurnWork, path_steps, work_of
from git_boocode.checkpoints.turns import NOW, RECORDED, CurrentTree
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.reported_turn import ReportedTurn
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take
from tests.repo_kit import Repo


def begin(session: str, agent: str = "bot") -> Checkpoint:
    return take(session=session, agent=agent, label=session)


def end(turn: Checkpoint) -> None:
    assert capture_turn_end(Repository.discover(), turn.id, "Stop")


def tool(turn: Checkpoint, call: str, *files: str, ended: bool = False, name: str = "") -> None:
    name = name or ("Edit" if files else "Bash")
    made = ToolCall(turn.id, ended, call, name, files)
    assert capture_tool_state(Repository.discover(), made, "PostToolUse" if ended else "PreToolUse")


Changed = dict[str, list[tuple[str, str]]]


def text(repo: Repo, identifier: str) -> str:
    return "" if not identifier.strip("0") else repo.git("cat-file", "blob", identifier)


def worked(repo: Repo, turn: Checkpoint) -> tuple[TurnWork, Changed]:
    """The work of a turn, and by path the texts before and after each step."""
    repository = Repository.discover()
    with temporary_objects(repository):
        catalog = Catalog(repository)
        work = work_of(catalog, turn, CurrentTree(repository))
        found = path_steps(repository, work)
        git = repository.git

        def read(identifier: str) -> str:
            return git.run("cat-file", "blob", identifier).decode() if identifier.strip("0") else ""

        changed = {
            path: [(read(each.change.old_id), read(each.change.id)) for each in steps]
            for path, steps in found.items()
        }
    return work, changed


@pytest.fixture
def repo(repo: Repo) -> Repo:
    repo.commit(a="a\n", b="b\n", c="c\n", hand="hand\n")
    return repo


def test_a_turn_alone_is_one_step_from_its_beginning_to_its_end(repo: Repo) -> None:
    first = begin("one")
    repo.write("a", "one\n")
    end(first)
    repo.write("hand", "by hand\n")
    second = begin("two")
    repo.write("b", "two\n")
    work, changed = worked(repo, first)
    assert len(work.steps) == 1
    assert (changed, work.turn.end) == ({"a": [("a\n", "one\n")]}, RECORDED)
    work, changed = worked(repo, second)
    assert (changed, work.turn.end) == ({"b": [("b\n", "two\n")]}, NOW)


def test_turns_at_the_same_time_have_what_their_tool_calls_changed(repo: Repo) -> None:
    first = begin("one")
    repo.write("a", "one before two began\n")
    second = begin("two")
    tool(first, "1")
    repo.write("b", "one\n")
    tool(first, "1", ended=True)
    repo.write("hand", "by hand\n")
    tool(second, "1")
    repo.write("c", "two\n")
    repo.write("b", "one\ntwo\n")
    tool(second, "1", ended=True)
    end(first)
    repo.write("new", "two, alone\n")
    end(second)
    repo.write("hand", "later\n")
    work, changed = worked(repo, first)
    assert changed == {"a": [("a\n", "one before two began\n")], "b": [("b\n", "one\n")]}
    assert (work.turn.end, work.shared) == (RECORDED, {})
    work, changed = worked(repo, second)
    assert changed == {
        "c": [("c\n", "two\n")],
        "b": [("one\n", "one\ntwo\n")],
        "new": [("", "two, alone\n")],
    }
    assert work.shared == {}


def test_calls_at_the_same_time_share_what_they_do_not_name(repo: Repo) -> None:
    first, second = begin("one"), begin("two")
    tool(first, "1", "a")
    tool(second, "1")
    repo.write("a", "one\n")
    repo.write("b", "two\n")
    tool(first, "1", "a", ended=True)
    tool(first, "2")
    repo.write("c", "either\n")
    tool(first, "2", ended=True)
    tool(second, "1", ended=True)
    end(first)
    end(second)
    work, changed = worked(repo, first)
    assert (changed, work.shared) == ({"a": [("a\n", "one\n")]}, {"c": (second.id,)})
    work, changed = worked(repo, second)
    assert (changed, work.shared) == ({"b": [("b\n", "two\n")]}, {"c": (first.id,)})


def test_without_any_tool_call_all_is_shared(repo: Repo) -> None:
    first, second = begin("one"), begin("two")
    repo.write("a", "whose\n")
    end(first)
    repo.write("b", "two, alone\n")
    end(second)
    work, changed = worked(repo, first)
    assert (changed, work.shared) == ({}, {"a": (second.id,)})
    work, changed = worked(repo, second)
    assert (changed, work.shared) == ({"b": [("b\n", "two, alone\n")]}, {"a": (first.id,)})


def test_turns_without_recorded_ends_come_one_after_the_other(repo: Repo) -> None:
    first = begin("one")
    repo.write("a", "one\n")
    second = begin("two")
    repo.write("b", "two\n")
    hand = take()
    repo.write("hand", "by hand\n")
    assert worked(repo, first)[1] == {"a": [("a\n", "one\n")]}
    assert worked(repo, second)[1] == {"b": [("b\n", "two\n")]}
    assert worked(repo, hand)[1] == {"hand": [("hand\n", "by hand\n")]}


def test_an_edit_shows_that_its_session_goes_on(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = take(session="one")
    second = take(session="two")
    edit = {"path": "a", "old_string": "a", "new_string": "one"}
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "one")
    assert repo.boocode("apply-edit", stdin=json.dumps(edit)).code == 0
    repo.write("b", "whose\n")
    work, changed = worked(repo, first)
    assert (changed, work.turn.end) == ({"a": [("a\n", "one\n")]}, NOW)
    assert work.shared == {"b": (second.id,)}
    work, changed = worked(repo, second)
    assert (changed, work.shared) == ({}, {"b": (first.id,)})
    # All commands agree.
    rows = {row["id"]: row["files"] for row in repo.boocode("log", "--json").json["checkpoints"]}
    assert rows == {first.id: 1, second.id: 0}
    (line,) = repo.boocode("blame", "a", "--json").json["ranges"]
    assert (line["source"], line["checkpoint_id"]) == ("turn", first.id)


def test_an_edit_in_a_converted_file_is_as_git_stores_it(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(**{".gitattributes": "a text eol=crlf\n"})
    repo.write("a", "a\r\nb\r\n")
    first, second = begin("one", "claude-code"), begin("two", "claude-code")
    for turn in (first, second):
        tool(turn, "1")
        tool(turn, "1", ended=True)
    edit = {"path": "a", "old_string": "a", "new_string": "one"}
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "one")
    assert repo.boocode("apply-edit", stdin=json.dumps(edit)).code == 0
    assert repo.read("a") == b"one\r\nb\r\n"
    assert worked(repo, first)[1] == {"a": [("a\nb\n", "one\nb\n")]}
    assert worked(repo, second)[1] == {}
    blob = repo.git("hash-object", "--no-filters", "a").strip()
    (repo.top / ".git/objects" / blob[:2] / blob[2:]).unlink()
    error = repo.boocode("show", first.id, "--json").json["error"]
    assert error["code"] == "missing_objects"
    assert first.id in error["message"]


def test_an_edit_beside_changes_by_hand(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    first, second = begin("one", "claude-code"), begin("two", "claude-code")
    for turn in (first, second):
        tool(turn, "1")
        tool(turn, "1", ended=True)
    repo.write("a", "1\n2\n3\n4\n5\n6\n7\n8\nhand\n")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "one")
    for number in ("1", "2"):
        edit = {"path": "a", "old_string": f"{number}\n", "new_string": f"one {number}\n"}
        assert repo.boocode("apply-edit", stdin=json.dumps(edit)).code == 0
    hand = "3\n4\n5\n6\n7\n8\nhand\n"
    assert worked(repo, first)[1] == {"a": [(f"1\n2\n{hand}", f"one 1\none 2\n{hand}")]}
    assert worked(repo, second)[1] == {}


def test_an_edit_of_another_turn_beside_a_shell_command(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = begin("one", "claude-code"), begin("two", "claude-code")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "two")
    tool(first, "1")
    repo.write("a", "a\n1\n2\n")
    for path in ("a", "b"):
        edit = {"path": path, "old_string": path, "new_string": "two"}
        assert repo.boocode("apply-edit", stdin=json.dumps(edit)).code == 0
    tool(first, "1", ended=True)
    # All of the change of `b` is in the record, but not that of `a`.
    work, changed = worked(repo, first)
    assert (changed, work.shared) == ({}, {"a": (second.id,)})


def test_what_a_restore_did_is_nobody_s(repo: Repo) -> None:
    repo.commit(gone="gone\n")
    old = take()
    repo.write("a", "old\n")
    turn = begin("one")
    repo.write("a", "one\n")
    repo.write("b", "one\n")
    repo.write("mine", "one\n")
    back(old.id)
    assert repo.read("a") == b"a\n"
    repo.write("b", "one, again\n")
    end(turn)
    repo.write("hand", "by hand\n")
    assert worked(repo, turn)[1] == {
        "a": [("old\n", "one\n")],
        "b": [("b\n", "one\n"), ("b\n", "one, again\n")],
        "mine": [("", "one\n")],
    }
    [row, _] = repo.boocode("log", "--json").json["checkpoints"]
    assert row["files"] == 3


def test_what_a_restore_of_some_paths_did_is_nobody_s(repo: Repo) -> None:
    turn = begin("one")
    repo.write("a", "one\n")
    repo.write("b", "one\n")
    back(turn.id, paths=("a",))
    repo.write("c", "one\n")
    repo.write("b", "one, again\n")
    end(turn)
    assert worked(repo, turn)[1] == {
        "a": [("a\n", "one\n")],
        "b": [("b\n", "one, again\n")],
        "c": [("c\n", "one\n")],
    }


@pytest.mark.parametrize("reports", [False, True])
def test_a_fetched_turn_that_overlapped_another_is_unclear(
    *, reports: bool, repo: Repo, tmp_path: Path
) -> None:
    if reports:
        # What hooks know is recorded with checkpoints, and fetched with them.
        known = ReportedTurn("bot", "s", "", "", None, 0.0, ended=True, reports_tools=True)
        state = repo.top / ".git/boocode/turns.json"
        state.parent.mkdir(exist_ok=True)
        state.write_text(json.dumps([known._asdict()]))
    first, second = begin("one"), begin("two")
    tool(first, "1")
    repo.write("a", "one\n")
    tool(first, "1", ended=True)
    end(first)
    end(second)
    refs = ("checkpoints", "turn-ends")
    specs = [f"refs/boocode/{name}/*:refs/boocode/{name}/*" for name in refs]
    repo.git("init", "-q", "--bare", str(tmp_path / "remote"))
    repo.git("push", "-q", str(tmp_path / "remote"), *specs)
    repo.git("remote", "add", "origin", str(tmp_path / "remote"))
    for turn in (first, second):
        repo.boocode("drop", "--even-needed", turn.id)
    assert repo.boocode("fetch").code == 0
    repository = Repository.discover()
    catalog = Catalog(repository)
    with temporary_objects(repository):
        work = work_of(catalog, catalog.find(first.id), CurrentTree(repository))
        assert path_steps(repository, work) == {}
    assert work.shared == {"a": (second.id,)}
