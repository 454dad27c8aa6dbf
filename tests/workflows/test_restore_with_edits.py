"""A callback that answers with edits of its own files: they belong to the restore."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.restore import conversation
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.restore.transaction import Transaction
from git_boocode.repo import atomic_write
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError
from git_boocode.repo.object_writer import blob_ids
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_with_edits
from git_boocode.workflows.restore_with_edits import FileEditor
from tests.checkpoints.kit import Host, Seen, back, interrupted, redone, refs, seen, sound, undone
from tests.checkpoints.kit import take as take_checkpoint
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

LONG = "one\n\N{LEFT DOUBLE QUOTATION MARK}two\N{RIGHT DOUBLE QUOTATION MARK}\nthree\n"
SHORT = "one\n"


class Chat:
    """A repository with a checkpoint and a mess, and a transcript outside of it."""

    def __init__(self, repo: Repo, directory: Path) -> None:
        self.repo = repo
        self.directory = directory
        self.transcript = directory / "chat.txt"
        self.transcript.write_text(LONG)
        self.transcript.chmod(0o600)
        repo.commit(a="a\n")
        self.there = seen(repo)
        take_checkpoint(chat="c")
        repo.write("a", "mess\n")
        repo.git("add", "a")
        self.mess = seen(repo)

    @property
    def text(self) -> str:
        return self.transcript.read_text()

    def edit(self, **more: object) -> dict[str, object]:
        """Cuts the end off; the text has drifted."""
        old = 'one\n"two"\nthree\n'
        return {"path": str(self.transcript), "old_string": old, "new_string": SHORT, **more}

    def host(self, edits: object, **script: str) -> str:
        """A callback that asks for edits."""
        answer = self.directory / "answer"
        answer.write_text(json.dumps({"messages_deleted": 2, "edits": edits}))
        return Host(self.repo, **{"trim": f"cat '{answer}'", **script}).path

    def kept(self) -> list[str]:
        """The operations for which files are kept."""
        place = self.repo.top / ".git/boocode/transcripts"
        return sorted(os.listdir(place)) if place.exists() else []

    def nothing_is_left(self) -> None:
        """No temporary file lies beside the transcript."""
        assert sorted(os.listdir(self.directory)) == ["answer", "chat.txt"]


@pytest.fixture
def chat(repo: Repo, tmp_path: Path) -> Chat:
    return Chat(repo, tmp_path)


def restored(chat: Chat, edits: object, **script: str) -> RestoreResult:
    return back(callback=chat.host(edits, **script), editor=FileEditor)


def fails(chat: Chat, act: Callable[[], object], before: Seen) -> BoocodeError:
    """It fails as a callback does, and everything is as it was."""
    text, known, kept = chat.text, refs(chat.repo), chat.kept()
    with pytest.raises(FatalError) as caught:
        act()
    assert (seen(chat.repo), chat.text) == (before, text)
    assert (refs(chat.repo), chat.kept()) == (known, kept)
    chat.nothing_is_left()
    sound(chat.repo)
    return caught.value


def test_they_are_applied_undone_and_done_again(chat: Chat) -> None:
    outcome = restored(chat, [chat.edit()])
    assert (seen(chat.repo), chat.text) == (chat.there, SHORT)
    assert outcome.edited == (str(chat.transcript),)
    assert outcome.answer is not None
    assert outcome.answer.messages_deleted == 2
    assert chat.transcript.stat().st_mode & 0o777 == 0o600
    host = chat.host([chat.edit()])
    for _ in range(2):
        assert undone(callback=host, editor=FileEditor).edited == (str(chat.transcript),)
        assert (seen(chat.repo), chat.text) == (chat.mess, LONG)
        redone(callback=host, editor=FileEditor)
        assert (seen(chat.repo), chat.text) == (chat.there, SHORT)
    assert chat.transcript.stat().st_mode & 0o777 == 0o600
    chat.nothing_is_left()
    sound(chat.repo)


def test_an_undo_brings_files_of_the_worktree_back_once(chat: Chat) -> None:
    chat.repo.write("other", "mine\n")
    before = seen(chat.repo)
    host = chat.host([{"path": "a", "content": "by the host\n"}])
    back(callback=host, editor=FileEditor)
    # By hand, they are as before; the undo has to write none of them.
    chat.repo.write("a", "mess\n")
    chat.repo.write("other", "mine\n")
    undone(callback=host, editor=FileEditor)
    assert seen(chat.repo) == before


def test_they_may_name_lines_of_the_version(chat: Chat) -> None:
    base = blob_ids(LONG.encode())[0][:12]
    lines = {"start_line": 2, "end_line": 3, "content": []}
    restored(chat, [{"path": str(chat.transcript), "base": base, **lines}])
    assert (seen(chat.repo), chat.text) == (chat.there, SHORT)


def test_a_host_in_python(chat: Chat) -> None:
    repository = Repository.discover()
    request = RestoreRequest(callback=chat.host([chat.edit()]))
    restored = restore_with_edits.restore(repository, "@", request)
    assert restored.edited == (str(chat.transcript),)
    assert (seen(chat.repo), chat.text) == (chat.there, SHORT)
    restore_with_edits.undo(repository, request)
    assert (seen(chat.repo), chat.text) == (chat.mess, LONG)
    restore_with_edits.redo(repository, request)
    assert (seen(chat.repo), chat.text) == (chat.there, SHORT)
    assert restore_with_edits.repair(repository) is None


def test_what_was_written_since_comes_and_goes_with_it(chat: Chat) -> None:
    host = chat.host([chat.edit()])
    restored(chat, [chat.edit()])
    with chat.transcript.open("a") as stream:
        stream.write("another end\n")
    undone(callback=host, editor=FileEditor)
    assert chat.text == LONG
    redone(callback=host, editor=FileEditor)
    assert chat.text == SHORT + "another end\n"
    undone(callback=host, editor=FileEditor)
    assert chat.text == LONG


def test_a_callback_that_undoes_by_itself_is_not_disturbed(chat: Chat) -> None:
    restored(chat, [chat.edit()])
    own = chat.host([], undo=f"echo mine > '{chat.transcript}'; echo '{{}}'")
    assert undone(callback=own, editor=FileEditor).edited == ()
    assert chat.text == "mine\n"


def test_files_alone_leave_the_transcript(chat: Chat) -> None:
    restored(chat, [chat.edit()])
    undone(conversation=False, editor=FileEditor)
    assert (seen(chat.repo), chat.text) == (chat.mess, SHORT)


def test_without_a_callback_undo_puts_it_back_all_the_same(chat: Chat) -> None:
    restored(chat, [chat.edit()])
    undone(editor=FileEditor)
    assert (seen(chat.repo), chat.text) == (chat.mess, LONG)


@pytest.mark.parametrize("edits", [[], None, {}, ""])
def test_no_edits_at_all(chat: Chat, edits: object) -> None:
    assert restored(chat, edits).edited == ()
    assert (seen(chat.repo), chat.text) == (chat.there, LONG)


def test_any_format_and_relative_paths(chat: Chat) -> None:
    relative = os.path.relpath(chat.transcript, chat.repo.top)
    new = chat.directory / "deep/new.txt"
    patch = f"*** Begin Patch\n*** Update File: {relative}\n one\n-“two”\n*** End Patch\n"
    outcome = restored(chat, [patch, {"path": str(new), "content": "new\n"}])
    assert (chat.text, new.read_text()) == ("one\nthree\n", "new\n")
    assert outcome.edited == (str(chat.transcript), str(new))
    undone(editor=FileEditor)
    assert (chat.text, new.exists()) == (LONG, False)
    redone(editor=FileEditor, callback=chat.host([]))
    assert (chat.text, new.read_text()) == ("one\nthree\n", "new\n")


WRONG: dict[str, tuple[Callable[[Chat], object], str]] = {
    "not found": (lambda chat: [chat.edit(old_string="nowhere to be seen\n")], "chat.txt"),
    "one of two": (
        lambda chat: [chat.edit(), {"path": str(chat.directory / "none"), "old_string": "x",
                                    "new_string": "y"}], "the file does not exist"),
    "no edits": (lambda _: {"nonsense": 1}, "matches no format"),
    "a git directory": (
        lambda chat: [{"path": ".git/config", "content": "x"}], "lies in a git directory"),
    "stale": (lambda chat: [chat.edit(base="0" * 40)], "but the edit is for 0000"),
}  # fmt: skip


@pytest.mark.parametrize("how", WRONG)
def test_edits_that_cannot_be_applied_roll_all_back(chat: Chat, how: str) -> None:
    make, said = WRONG[how]
    error = fails(chat, lambda: restored(chat, make(chat)), chat.mess)
    assert error.code == "callback"
    assert "returned edits that cannot be applied" in error.message
    assert said in error.message
    assert Host(chat.repo).events == []


def test_every_reason_is_told_with_whole_paths(chat: Chat) -> None:
    edits = [chat.edit(old_string="nowhere to be seen\n"), {"path": "none", "old_string": "x"}]
    message = fails(chat, lambda: restored(chat, edits), chat.mess).message
    assert f"edit 1, {chat.transcript}: old text not found" in message
    assert "edit 2" in message
    lost = {"path": "../lost", "old_string": "one\n", "new_string": "two\n"}
    message = fails(chat, lambda: restored(chat, [lost]), chat.mess).message
    assert f"{chat.repo.top.resolve().parent}/lost: the file does not exist" in message


def test_a_transcript_that_cannot_be_edited(chat: Chat) -> None:
    os.truncate(chat.transcript, 200 * 1024 * 1024)
    host = chat.host([chat.edit()])
    with pytest.raises(FatalError, match="the file is too large to edit"):
        back(callback=host, editor=FileEditor)
    chat.transcript.write_bytes(b"\0\1\2\xff one \0" * 100)
    with pytest.raises(FatalError, match="cannot be applied"):
        back(callback=host, editor=FileEditor)
    assert seen(chat.repo) == chat.mess


def test_a_later_failure_takes_them_back(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        assert chat.text == SHORT
        raise FatalError("the disk is full", code="refs")

    monkeypatch.setattr(Transaction, "_archive", full)
    assert fails(chat, lambda: restored(chat, [chat.edit()]), chat.mess).code == "refs"


def test_someone_else_writes_before_it_is_taken_back(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        chat.transcript.write_text("theirs\n")
        raise FatalError("the disk is full", code="refs")

    monkeypatch.setattr(Transaction, "_archive", full)
    with pytest.raises(FatalError) as caught:
        restored(chat, [chat.edit()])
    assert "the host's files could not be rolled back" in caught.value.message
    assert (seen(chat.repo), chat.text) == (chat.mess, "theirs\n")
    (kept,) = chat.kept()
    assert kept in caught.value.message
    held = (chat.repo.top / ".git/boocode/transcripts" / kept).iterdir()
    assert LONG.encode() in [path.read_bytes() for path in held]


def test_they_cannot_be_kept(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(conversation, "write_private", full)
    error = fails(chat, lambda: restored(chat, [chat.edit()]), chat.mess)
    assert "no space left" in error.message


@pytest.mark.parametrize("replaced", [0, 1])
def test_a_kill_while_they_are_written(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, replaced: int
) -> None:
    other = chat.directory / "other.txt"
    other.write_text(LONG)
    edits = [chat.edit(), {**chat.edit(), "path": str(other)}]

    class Killed(BaseException):
        pass

    put, count = atomic_write._put, 0  # noqa: SLF001 - to die between two renames

    def dying(*file: Any) -> None:
        nonlocal count
        count += 1
        if count > replaced:
            raise Killed
        put(*file)

    with monkeypatch.context() as patch:
        patch.setattr(atomic_write, "_put", dying)
        patch.setattr(atomic_write._WriteRun, "roll_back", lambda *_: None)  # noqa: SLF001
        patch.setattr("tests.checkpoints.kit.Killed", Killed)
        interrupted(patch, lambda: restored(chat, edits), at="end_restore")
    assert [chat.text, other.read_text()].count(SHORT) == replaced
    assert len(os.listdir(chat.directory)) > 3
    undone(editor=FileEditor)
    assert (seen(chat.repo), chat.text, other.read_text()) == (chat.mess, LONG, LONG)
    other.unlink()
    chat.nothing_is_left()


def test_a_kill_afterwards(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(monkeypatch, lambda: restored(chat, [chat.edit()]))
    assert chat.text == SHORT
    done = chat.repo.boocode("doctor", "--fix")
    assert (done.code, seen(chat.repo), chat.text) == (0, chat.mess, LONG)


def test_a_restore_after_a_kill_can_cut_again(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(monkeypatch, lambda: restored(chat, [chat.edit()]))
    assert chat.text == SHORT
    restored(chat, [chat.edit()])
    assert (seen(chat.repo), chat.text) == (chat.there, SHORT)
    undone(editor=FileEditor)
    undone(editor=FileEditor)
    assert (seen(chat.repo), chat.text) == (chat.mess, LONG)


def test_what_cannot_be_undone_any_more_is_not_kept(chat: Chat) -> None:
    restored(chat, [chat.edit()])
    (first,) = chat.kept()
    chat.repo.git("update-ref", "-d", f"refs/boocode/safety/{first}")
    chat.repo.write("a", "more\n")
    back(callback=chat.host([]))
    assert chat.kept() == []


def test_where_nothing_can_edit(chat: Chat) -> None:
    host = chat.host([chat.edit()])
    error = fails(chat, lambda: back(callback=host), chat.mess)
    assert "edits of the host's files are not supported" in error.message


def test_the_command(chat: Chat) -> None:
    host = chat.host([chat.edit()])
    done = chat.repo.boocode("restore", "@", "--callback", host)
    assert done.code == 0, done.err
    assert f" M {chat.transcript}\n" in done.out
    assert chat.text == SHORT
    answer = chat.repo.boocode("undo", "--callback", host, "--json").json
    assert (answer["edited"], chat.text) == ([str(chat.transcript)], LONG)


@pytest.mark.parametrize("first", ["files", "conversation"])
@pytest.mark.parametrize("known", [True, False])
def test_what_is_undone_in_part_can_be_undone_wholly(repo: Repo, first: str, known: bool) -> None:
    repo.commit(a="a\n")
    taken = take_checkpoint()
    repo.write("a", "mess\n")
    outside = repo.top.parent / f"{repo.top.name}-chat.log"
    outside.write_text("one\ntwo\nthree\n")
    edit = {"path": str(outside), "old_string": "two\nthree\n", "new_string": ""}
    repo.write(".git/answer", json.dumps({"edits": [edit]}))
    host = Host(repo, trim="cat .git/answer")
    how = {"callback": host.path, "editor": FileEditor}
    back(taken.id, **how)
    assert (repo.read("a"), outside.read_text()) == (b"a\n", "one\n")
    parts = [{"conversation": False}, {"files": False}]
    undone(**{**how, **parts[first == "conversation"]})
    if known:
        undone(**{**how, **parts[first == "files"]})
    else:
        # Without the callback, its edits are taken back all the same.
        undone(**{**how, **parts[first == "files"], "callback": None})
    assert (repo.read("a"), outside.read_text()) == (b"mess\n", "one\ntwo\nthree\n")
    outside.unlink()


def test_edits_of_files_in_the_worktree_are_no_later_changes(chat: Chat) -> None:
    edit = {"path": str(chat.repo.top / "a"), "old_string": "a", "new_string": "edited"}
    restored(chat, [edit])
    assert chat.repo.read("a") == b"edited\n"
    assert undone(force=frozenset(), editor=FileEditor).undo
    assert seen(chat.repo) == chat.mess
    redone(force=frozenset(), editor=FileEditor)
    assert chat.repo.read("a") == b"edited\n"
    chat.repo.write("a", "later\n")
    with pytest.raises(RefusedError):
        undone(force=frozenset(), editor=FileEditor)
