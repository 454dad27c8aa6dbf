from __future__ import annotations

import re

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


def test_the_files_alone(restored: Repo) -> None:
    host = Host(restored)
    restored.git("config", "boocode.callback", host.path)
    assert restored.boocode("undo", "--files-only").code == 0
    assert host.events == []
    assert restored.read("a") == b"mess\n"


def test_there_is_nothing_to_undo(repo: Repo) -> None:
    done = repo.boocode("undo")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "error: there is no restore to undo in this worktree\n"
        "hint: 'git boocode restore @' goes back to before the latest turn\n"
    )
    answer = repo.boocode("undo", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "not_found")


@pytest.mark.parametrize(
    "args", [("@",), ("--nonsense",), ("--files-only", "--conversation-only"), ("--callback", "")]
)
def test_usage_errors(restored: Repo, args: tuple[str, ...]) -> None:
    done = restored.boocode("undo", *args)
    assert (done.code, done.out) == (129, "")
    assert restored.boocode("undo", "--json", *args).json["error"]["code"] == "usage"
    assert restored.read("a") == b"a\n"


def test_help(repo: Repo) -> None:
    done = repo.boocode("undo", "-h")
    assert done.code == 129
    assert done.out.startswith("usage: git boocode undo [<options>]\n")


def test_changes_since_an_interruption_are_reported(
    restored: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored.write("a", "another mess\n")
    interrupted(monkeypatch, back)
    restored.write("b", "hours of work\n")
    done = restored.boocode("undo")
    first, second = done.err.splitlines()
    assert second == "hint: 'git boocode redo' does again what was interrupted"
    way = re.fullmatch("hint: 'git boocode restore (.+)' brings back what was here before", first)
    assert way is not None
    assert not (restored.top / "b").exists()
    assert restored.boocode("redo").code == 0
    assert not (restored.top / "b").exists()
    assert restored.boocode("restore", way[1]).code == 0
    assert restored.read("b") == b"hours of work\n"


def test_turns_since_the_restore_are_not_replaced_by_a_slip(restored: Repo) -> None:
    restored.write("a", "work of a day\n")
    restored.boocode("checkpoint", "-m", "later")
    restored.write("a", "and more\n")
    done = restored.boocode("undo")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "error: a turn was recorded since that restore; undo would replace those changes, too",
        "hint: 'git boocode restore @' goes back to before the latest turn",
        "hint: 'git boocode undo -n' shows what would be replaced",
        "hint: 'git boocode undo --force newer-turns' does it anyway",
    ]
    error = restored.boocode("undo", "--json").json
    assert (error["error"]["code"], error["newer_turns"]) == ("newer_turns", 1)
    assert restored.read("a") == b"and more\n"
    assert restored.boocode("undo", "-n").code == 0
    done = restored.boocode("undo", "--force", "newer-turns")
    assert (done.code, restored.read("a")) == (0, b"mess\n")
    restored.boocode("checkpoint", "-m", "latest")
    assert "error: a turn was recorded since" in restored.boocode("redo").err
    assert restored.boocode("redo", "--force", "newer-turns").code == 0
    assert restored.read("a") == b"and more\n"


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, b"mess\n"), ("n", 1, b"more\n")])
def test_a_terminal_asks_before_newer_turns_are_replaced(
    restored: Repo, answer: str, code: int, left: bytes
) -> None:
    restored.boocode("checkpoint")
    restored.write("a", "more\n")
    terminal = Terminal("git-boocode", "undo")
    assert " M a" in terminal.wait_for("replace that, too? [y/N]")
    terminal.type(f"{answer}\n")
    assert terminal.end()[0] == code
    assert restored.read("a") == left
