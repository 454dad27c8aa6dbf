from __future__ import annotations

import re
import shlex

import pytest

from tests.checkpoints.kit import Host, back, interrupted, seen, take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal


@pytest.fixture
def restored(repo: Repo) -> Repo:
    """A mess that was restored away."""
    repo.commit(a="a\n")
    take(chat="c")
    repo.write("a", "mess\n")
    repo.git("add", "a")
    take(chat="c", label="archived")
    back("@~1")
    return repo


def test_what_people_read(restored: Repo) -> None:
    target = restored.boocode("log", "--json").json["checkpoints"][0]["id"]
    done = restored.boocode("undo")
    assert done.code == 0
    first, second, third = done.out.splitlines()
    assert (first, third) == (" M a", "1 checkpoint returned to the log")
    assert second.startswith("restored 1 file and the staging area to ")
    assert second.endswith(f"(before the restore to {target[:13]})")
    shown = restored.boocode("show", second.split()[-6]).out
    assert f"\nlabel       before the restore to {target[:13]}\n" in shown
    assert restored.read("a") == b"mess\n"
    assert done.err == "hint: 'git boocode redo' brings back what was here before\n"
    redone = restored.boocode("redo")
    assert "(before an undo)\n" in redone.out
    assert restored.read("a") == b"a\n"
    assert "(before a redo)\n" in restored.boocode("undo").out


def test_the_json_answer(restored: Repo) -> None:
    host = Host(restored, undo="echo '{\"messages_deleted\": 0}'")
    done = restored.boocode("undo", "--json", "--callback", host.path)
    assert (done.code, done.err) == (0, "")
    answer = done.json
    keys = (
        "ok checkpoint_id commit undo dry_run worktree_reset index_reset head_moved head_differs "
    )
    keys += (
        "messages_deleted backend_reset archived returned changed staged kept hooks_lost edited "
    )
    keys += "conversation_left message resume"
    assert list(answer) == keys.split()
    assert answer["changed"] == [{"path": "a", "action": "modify"}]
    assert answer["worktree_reset"] is answer["index_reset"] is True
    assert (len(answer["archived"]), len(answer["returned"])) == (0, 1)
    assert host.events == ["prepare", "undo"]


def test_a_preview(restored: Repo) -> None:
    before = seen(restored)
    done = restored.boocode("undo", "-n")
    assert done.out.splitlines()[-1].startswith("would restore 1 file and the staging area to ")
    assert seen(restored) == before


def test_there_is_nothing_to_undo(repo: Repo) -> None:
    done = repo.boocode("undo")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "error: there is no restore to undo in this worktree\n"
        "hint: this worktree has no checkpoints; 'git boocode checkpoint' takes one\n"
    )
    answer = repo.boocode("undo", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "not_found")


def test_a_path_gets_a_hint(restored: Repo) -> None:
    restored.write("my notes", "x\n")
    for command in ("undo", "redo"):
        done = restored.boocode(command, "my notes")
        assert "hint: 'git boocode log -- 'my notes'' lists the turns that changed it" in done.err


def test_changes_since_an_interruption_are_reported(
    restored: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored.write("a", "another mess\n")
    interrupted(monkeypatch, back)
    restored.write("b", "hours of work\n")
    done = restored.boocode("undo")
    first, second, third = done.err.splitlines()
    assert first == "warning: left alone: b: changed after the interruption"
    assert re.fullmatch("hint: 'git boocode restore .+' brings back what was here before", second)
    assert third == "hint: 'git boocode redo' does again what was interrupted"
    assert (restored.read("a"), restored.read("b")) == (b"another mess\n", b"hours of work\n")
    assert "would replace later changes: 'b'" in restored.boocode("redo").err
    assert restored.boocode("redo", "--force", "later-changes").code == 0
    assert (restored.read("a"), restored.files().get("b")) == (b"a\n", None)


@pytest.mark.parametrize("command", [("undo",), ("doctor", "--fix")])
@pytest.mark.variants
def test_a_rollback_asks_before_it_replaces_what_came_after_the_interruption(
    restored: Repo, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    restored.write("a", "another mess\n")
    restored.write("c/d", "mess\n")
    interrupted(monkeypatch, back)
    restored.write("a", "hours of work\n")
    restored.write("c", "a file where a directory was\n")
    restored.boocode("checkpoint", "-m", "later")
    done = restored.boocode(*command)
    refusal = [
        "error: undo would replace later changes: 'a', 'c'",
        "hint: 'git boocode undo -n --force later-changes' shows what would be replaced",
        "hint: 'git boocode undo --force later-changes' does it anyway",
    ]
    assert (done.code, done.err.splitlines()) == (1, refusal)
    assert restored.read("a") == b"hours of work\n"
    assert "a restore was interrupted half-way" in restored.boocode("status").out
    assert restored.boocode("undo", "-n").err.splitlines() == refusal
    shown = restored.boocode("undo", "-n", "--force", "later-changes").out.splitlines()
    assert [line for line in shown if line.startswith(" ")] == [" M a", " D c", " A c/d"]
    forced = restored.boocode("undo", "--force", "later-changes")
    assert (restored.read("a"), restored.read("c/d")) == (b"another mess\n", b"mess\n")
    way = re.search("'(git boocode restore .+)' brings back what was here before", forced.err)
    assert way is not None
    restored.boocode(*way[1].split()[2:])
    assert restored.read("a") == b"hours of work\n"


def test_turns_since_the_restore_are_not_replaced_by_a_slip(restored: Repo) -> None:
    restored.write("a", "work of a day\n")
    restored.boocode("checkpoint", "-m", "later")
    restored.write("a", "and more\n")
    done = restored.boocode("undo")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "error: a turn was recorded since that restore; undo would replace those changes, too",
        "hint: 'git boocode restore @' goes back to before the latest turn",
        "hint: 'git boocode undo -n --force newer-turns' shows what would be replaced",
        "hint: 'git boocode undo --force newer-turns' does it anyway",
    ]
    error = restored.boocode("undo", "--json").json
    assert (error["error"]["code"], error["newer_turns"]) == ("newer_turns", 1)
    assert restored.read("a") == b"and more\n"
    assert restored.boocode("undo", "-n").code == 1
    assert restored.boocode("undo", "-n", "--force", "newer-turns").code == 0
    done = restored.boocode("undo", "--force", "newer-turns")
    assert (done.code, restored.read("a")) == (0, b"mess\n")
    restored.boocode("checkpoint", "-m", "latest")
    assert "error: a turn was recorded since" in restored.boocode("redo").err
    assert restored.boocode("redo", "--force", "newer-turns").code == 0
    assert restored.read("a") == b"and more\n"


@pytest.fixture
def later(restored: Repo) -> Repo:
    """Changes by hand and by an edit after the restore, without a turn."""
    restored.write("b", "work of a day\n")
    restored.boocode("apply-edit", "--path", "a", "--old", "a", "--new", "edited")
    return restored


@pytest.mark.parametrize("command", ["undo", "redo"])
@pytest.mark.variants
def test_later_changes_are_not_replaced_by_a_slip(later: Repo, command: str) -> None:
    if command == "redo":
        assert later.boocode("undo", "--force", "later-changes").code == 0
        assert later.read("a") == b"mess\n"
        later.write("a", "work after the undo\n")
        later.write("b", "work after the undo\n")
    before = seen(later)
    done = later.boocode(command)
    assert (done.code, done.out) == (1, "")
    error, *_, look, force = done.err.splitlines()
    assert error == f"error: {command} would replace later changes: 'a', 'b'"
    forced = f"git boocode {command} -n --force later-changes"
    assert look == f"hint: '{forced}' shows what would be replaced"
    assert force == f"hint: 'git boocode {command} --force later-changes' does it anyway"
    answer = later.boocode(command, "--json").json
    assert (answer["error"]["code"], answer["later_changes"]) == ("later_changes", ["a", "b"])
    assert later.boocode(command, "-n").err == done.err
    assert later.boocode(command, "-n", "--force", "later-changes").code == 0
    assert seen(later) == before
    assert later.boocode(command, "--force", "later-changes").code == 0
    assert seen(later) != before
    back = "redo" if command == "undo" else "undo"
    assert later.boocode(back).code == 0
    assert seen(later) == before


@pytest.mark.parametrize("cwd", [".", "sub"])
def test_the_way_to_keep_a_later_change_is_named(repo: Repo, cwd: str) -> None:
    repo.write("sub/a", "a\n")
    take()
    repo.write("sub/a", "mess\n")
    repo.write("sub/later x", "mess\n")
    back()
    repo.write("sub/later *", "work of a day\n")
    done = repo.boocode("undo", cwd=cwd)
    assert done.err.startswith("error: undo would replace later changes: 'sub/later *'\n")
    way = re.search("hint: this restores only the other files: (git boocode .+)", done.err)
    assert way is not None
    kept = repo.boocode(*shlex.split(way[1])[2:], cwd=cwd)
    assert (kept.code, repo.read("sub/a"), repo.read("sub/later x")) == (0, b"mess\n", b"mess\n")
    assert repo.read("sub/later *") == b"work of a day\n"


def test_of_many_later_changes_the_first_are_named(restored: Repo) -> None:
    for name in "bcdef":
        restored.write(name, "later\n")
    done = restored.boocode("undo")
    assert done.err.startswith(
        "error: undo would replace later changes: 'b', 'c', 'd' and 2 more\n"
    )
    assert restored.boocode("undo", "--json").json["later_changes"] == [*"bcdef"]


def test_work_before_the_latest_restore_is_later_than_the_one_before_it(restored: Repo) -> None:
    restored.write("b", "work of a day\n")
    back()
    assert not (restored.top / "b").exists()
    assert restored.boocode("undo").code == 0
    assert restored.read("b") == b"work of a day\n"
    assert restored.boocode("undo", "--json").json["later_changes"] == ["b"]


def test_staged_work_that_only_the_index_has_is_a_later_change(restored: Repo) -> None:
    restored.write("a", "staged work\n")
    restored.git("add", "a")
    restored.write("a", "a\n")
    assert restored.boocode("undo", "--json").json["later_changes"] == ["a"]
    assert restored.git("show", ":a") == "staged work\n"
    # The same content on disk is what the restore left.
    restored.git("add", "a")
    assert restored.boocode("undo").code == 0


def test_an_edit_since_is_undone_by_rewind(later: Repo) -> None:
    way = "hint: 'git boocode rewind' undoes the latest edit"
    assert later.boocode("undo").err.splitlines()[1] == way
    assert later.boocode("rewind").code == 0
    assert way not in later.boocode("undo").err
    assert later.boocode("undo", "--json").json["later_changes"] == ["b"]
    (later.top / "b").unlink()
    assert later.boocode("undo").code == 0


def test_an_edit_without_a_restore_is_undone_by_rewind(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.boocode("apply-edit", "--path", "a", "--old", "a", "--new", "b")
    assert repo.boocode("undo").err.splitlines()[1:] == [
        "hint: 'git boocode rewind' undoes the latest edit",
        "hint: 'git boocode restore @' goes back to before the latest turn",
    ]
    repo.boocode("checkpoint")
    assert "rewind" not in repo.boocode("undo").err


def test_files_that_the_undo_leaves_alone_are_no_later_changes(restored: Repo) -> None:
    restored.boocode("undo")
    restored.boocode("restore", "@~1", "--", "a")
    restored.write("b", "work of a day\n")
    assert restored.boocode("undo").code == 0
    assert restored.read("b") == b"work of a day\n"


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, b"mess\n"), ("n", 1, b"more\n")])
def test_a_terminal_asks_before_later_changes_are_replaced(
    restored: Repo, answer: str, code: int, left: bytes
) -> None:
    restored.write("a", "more\n")
    terminal = Terminal("git-boocode", "undo")
    shown = terminal.wait_for("replace that, too? [y/N]")
    assert "warning: undo would replace later changes: 'a'" in shown
    assert "--force" not in shown
    terminal.type(f"{answer}\n")
    assert terminal.end()[0] == code
    assert restored.read("a") == left
