"""The callback that ships, through real restores."""

from __future__ import annotations

import json

import pytest

from git_boocode.agents.shipped import shipped_hook
from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.outcome import Outcome
from git_boocode.checkpoints.restore import Options, redo, restore, undo
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import interrupted
from tests.repo_kit import Repo

OPTIONS = Options(callback=shipped_hook("callbacks/trim-jsonl"))


def lines(*names: str) -> str:
    return "".join(f"{json.dumps({'id': name})}\n" for name in names)


@pytest.fixture
def chat(repo: Repo) -> Repo:
    """A checkpoint at message m2 of m1..m3, and a file that was changed since."""
    repo.write(".git/chat.jsonl", lines("m1", "m2", "m3"))
    repo.commit("base", a="1\n")
    meta = {"transcript": ".git/chat.jsonl"}
    capture(Repository.discover(), Request(chat="c", message="m2", meta=meta))
    repo.write("a", "2\n")
    return repo


def read(repo: Repo) -> str:
    return repo.read(".git/chat.jsonl").decode()


def back(name: str = "@") -> Outcome:
    return restore(Repository.discover(), name, OPTIONS)


def test_it_cuts_before_the_message_and_undo_brings_it_back(chat: Repo) -> None:
    outcome = back()
    assert (read(chat), chat.read("a")) == (lines("m1"), b"1\n")
    assert outcome.answer is not None
    assert (outcome.answer.messages_deleted, outcome.answer.backend_reset) == (2, True)
    undo(Repository.discover(), OPTIONS)
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")


def test_the_state_before_an_undo_comes_back_with_its_conversation(chat: Repo) -> None:
    back()
    chat.write(".git/chat.jsonl", lines("m1", "n2", "n3"))
    chat.write("a", "7\n")
    undone = undo(Repository.discover(), OPTIONS)
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")
    assert undone.undo is not None
    back(undone.undo)
    assert (read(chat), chat.read("a")) == (lines("m1", "n2", "n3"), b"7\n")


def test_a_safety_checkpoint_brings_its_conversation_along(chat: Repo) -> None:
    first = back()
    assert first.undo is not None
    back(first.undo)
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")
    back(first.undo)
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")


def test_undoing_a_restore_that_left_the_conversation_alone(chat: Repo) -> None:
    restore(Repository.discover(), "@", Options(conversation=False))
    undo(Repository.discover(), OPTIONS)
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")


def test_lines_that_are_no_messages_are_passed_over(chat: Repo) -> None:
    chat.write(".git/chat.jsonl", "\n{half\n" + lines("m1") + "[1]\n" + lines("m2"))
    back()
    assert read(chat) == "\n{half\n" + lines("m1") + "[1]\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [(lines("m1", "m3"), "no message 'm2'"), ("", "no message 'm2'"), (None, "cannot read")],
)
def test_without_the_message_nothing_is_changed(
    chat: Repo, content: str | None, reason: str
) -> None:
    transcript = chat.top / ".git/chat.jsonl"
    transcript.unlink() if content is None else transcript.write_text(content)
    with pytest.raises(BoocodeError, match=reason) as caught:
        back()
    assert caught.value.code == "vetoed"
    assert chat.read("a") == b"2\n"


def test_a_checkpoint_without_a_message_is_refused(repo: Repo) -> None:
    repo.write(".git/chat.jsonl", lines("m1"))
    capture(Repository.discover(), Request(meta={"transcript": ".git/chat.jsonl"}))
    repo.write("a", "x\n")
    with pytest.raises(BoocodeError, match="names no message"):
        back()
    assert repo.read("a") == b"x\n"


def test_redo_cuts_again(chat: Repo) -> None:
    back()
    undo(Repository.discover(), OPTIONS)
    redo(Repository.discover(), OPTIONS)
    assert (read(chat), chat.read("a")) == (lines("m1"), b"1\n")
    undo(Repository.discover(), OPTIONS)
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")


def test_a_restore_after_an_interrupted_one_cuts_again(
    chat: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(monkeypatch, back)
    assert read(chat) == lines("m1")
    back()
    assert (read(chat), chat.read("a")) == (lines("m1"), b"1\n")
