"""The callback for JSONL transcripts, through real restores."""

from __future__ import annotations

import json
import re
import shutil
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.restore.commands import restore, undo
from git_boocode.checkpoints.restore.request import LATER_CHANGES, RestoreRequest
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.restore.transaction import Transaction
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, redone, seen, sound, undone
from tests.hooks.kit import (
    anchor,
    callback,
    digest,
    failing,
    failing_afterwards,
    faulty,
    load,
    refused,
    row,
    take_anchored,
)
from tests.repo.test_open_files import holding
from tests.repo_kit import Repo

PROGRAM = callback("trim-jsonl")
TRIM = load("trim-jsonl")
OPTIONS = RestoreRequest(callback=PROGRAM)


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


def test_it_does_without_the_python_of_the_user(
    chat: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "")
    too_old = programs / "python3"
    too_old.write_text("#!/bin/sh\necho too old >&2; exit 1\n")
    too_old.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    # The directory of a Python may have others, and another git.
    (programs / "python3.x").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(programs / "python3.x"))
    back("@", callback="trim-jsonl")
    assert read(chat) == lines("m1")


def cut_back(name: str = "@") -> RestoreResult:
    return restore(Repository.discover(), name, OPTIONS)


def test_it_cuts_before_the_message_and_undo_brings_it_back(chat: Repo) -> None:
    outcome = cut_back()
    assert (read(chat), chat.read("a")) == (lines("m1"), b"1\n")
    assert outcome.answer is not None
    assert (outcome.answer.messages_deleted, outcome.answer.backend_reset) == (2, True)
    undo(Repository.discover(), OPTIONS)
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")


def test_the_state_before_an_undo_comes_back_with_its_conversation(chat: Repo) -> None:
    cut_back()
    chat.write(".git/chat.jsonl", lines("m1", "n2", "n3"))
    chat.write("a", "7\n")
    undone = undo(Repository.discover(), OPTIONS._replace(force=frozenset({LATER_CHANGES})))
    assert (read(chat), chat.read("a")) == (lines("m1", "m2", "m3"), b"2\n")
    assert undone.undo is not None
    cut_back(undone.undo)
    assert (read(chat), chat.read("a")) == (lines("m1", "n2", "n3"), b"7\n")


def test_lines_that_are_no_messages_are_passed_over(chat: Repo) -> None:
    chat.write(".git/chat.jsonl", "\n{half\n" + lines("m1") + "[1]\n" + lines("m2"))
    cut_back()
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
        cut_back()
    assert caught.value.code == "vetoed"
    assert chat.read("a") == b"2\n"


def test_a_checkpoint_without_a_message_is_refused(repo: Repo) -> None:
    repo.write(".git/chat.jsonl", lines("m1"))
    capture(Repository.discover(), Request(meta={"transcript": ".git/chat.jsonl"}))
    repo.write("a", "x\n")
    with pytest.raises(BoocodeError, match="names no message"):
        cut_back()
    assert repo.read("a") == b"x\n"


class Scene:
    """A checkpoint with an anchor after the first two lines, a mess, and what was said since."""

    def __init__(self, repo: Repo, before: bytes, after: bytes, **more: Any) -> None:
        self.repo = repo
        self.path = repo.write(".git/chat/t.jsonl", before, 0o640)
        self.before, self.whole = before, before + after
        repo.commit("base", a="1\n")
        self.anchor = anchor(self.path, **more)
        take_anchored(self.anchor)
        repo.write("a", "2\n")
        self.path.write_bytes(self.whole)
        self.mess = seen(repo)

    @property
    def text(self) -> bytes:
        return self.path.read_bytes()

    def others(self) -> list[str]:
        """The names of the files beside the transcript, without ids."""
        names = {path.name for path in self.path.parent.iterdir()} - {"t.jsonl"}
        return sorted(name.rpartition("-")[0][:-28] for name in names)

    def untouched(self) -> None:
        assert (self.text, seen(self.repo), self.others()) == (self.whole, self.mess, [])
        sound(self.repo)


ONE, TWO, THREE = (row(type="user", text=text) for text in ("one", "two", "three"))


@pytest.fixture
def scene(repo: Repo) -> Scene:
    return Scene(repo, ONE + TWO, THREE + ONE)


def test_back_and_forth(scene: Scene) -> None:
    number = scene.path.stat().st_ino
    answer = back(callback=PROGRAM).answer
    assert answer is not None
    assert (answer.messages_deleted, answer.backend_reset) == (2, True)
    for _ in range(2):
        undone(callback=PROGRAM)
        assert (scene.text, seen(scene.repo)) == (scene.whole, scene.mess)
        redone(callback=PROGRAM)
        assert (scene.text, scene.repo.read("a")) == (scene.before, b"1\n")
    assert scene.path.stat().st_ino == number
    modes = {stat.S_IMODE(each.stat().st_mode) for each in scene.path.parent.iterdir()}
    assert modes == {0o640}


def test_nothing_was_said_since(repo: Repo) -> None:
    scene = Scene(repo, ONE + TWO, b"")
    answer = back(callback=PROGRAM).answer
    assert answer is not None
    assert (answer.messages_deleted, answer.backend_reset) == (0, False)
    assert (scene.text, scene.others()) == (scene.before, [])
    undone(callback=PROGRAM)
    assert scene.text == scene.before


def test_before_the_first_line(repo: Repo) -> None:
    scene = Scene(repo, b"", ONE + TWO)
    assert (scene.anchor["offset"], scene.anchor["hash"]) == (0, None)
    back(callback=PROGRAM)
    assert scene.text == b""


ODD = {
    "half-written": (ONE, b'{"type": "us'),
    "half-written, then": (ONE, THREE + b"\xff{"),
    "CRLF": (b'{"a": 1}\r\n{"a": 2}\r\n', b'{"a": 3}\r\n'),
    "a blank last line": (ONE + b"\n", TWO + b"\n\n"),
    "no UTF-8": (b'{"a": "\xff\xfe"}\n', b'{"b": "\xc3"}\n'),
    "control characters": (b'{"a": "\x0b\x0c\r\x85\x00"}\n', b'{"a": "\r"}\n'),
    "huge": (ONE + b'"' + b"x" * (4 << 20) + b'"\n', b'"' + b"y" * (4 << 20) + b'"\n'),
    "twins": (ONE + ONE, ONE + ONE),
    "deep": (b"[" * 100_000 + b"\n", b"{" * 9 + b"\n"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_lines(tmp_path: Path, name: str) -> None:
    before, after = ODD[name]
    path = tmp_path / "t.jsonl"
    path.write_bytes(before)
    event = {"anchor": anchor(path), "restore_id": "1"}
    path.write_bytes(before + after)
    TRIM.trim(event, str(path))
    assert path.read_bytes() == before
    TRIM.undo({"checkpoint_id": "1", "restore_id": "2"}, str(path))
    assert path.read_bytes() == before + after


def test_a_carriage_return_may_count_as_line_ending() -> None:
    lines = [b'{"a": 1}\r\n', THREE]
    for last in (b'{"a": 1}', b'{"a": 1}\r'):
        assert TRIM.cut(lines, {"anchor": {"path": "t", "offset": 10, "hash": digest(last)}})[
            1
        ] == [THREE]


def test_a_rewritten_transcript_is_cut_after_the_same_line(scene: Scene) -> None:
    scene.path.write_bytes(b'{"summary": 1}\n' + TWO + THREE)
    back(callback=PROGRAM)
    assert scene.text == b'{"summary": 1}\n' + TWO


@pytest.mark.parametrize("now", [THREE + TWO + TWO, TWO[:-2]])
def test_a_place_that_is_not_found_or_not_certain(scene: Scene, now: bytes) -> None:
    scene.path.write_bytes(now)
    scene.whole = now
    assert "no longer has the line that was its last" in refused(PROGRAM)
    scene.untouched()


@pytest.mark.parametrize(
    "wrong",
    [
        {"offset": None, "hash": None}, {"offset": -1, "hash": None}, {"offset": 1, "hash": None},
        {"offset": 10**9, "hash": None}, {"offset": False, "hash": None}, {"hash": digest(b"x")},
        {"offset": "0", "hash": None}, {"hash": ["x"]}, {"hash": 7}, {"hash": ""}, {"path": None},
        {"path": None, "offset": 0, "hash": None},
    ],
)  # fmt: skip
def test_a_wrong_anchor(wrong: dict[str, Any]) -> None:
    where = {"path": "t", "offset": len(ONE), "hash": digest(ONE[:-1])}
    lines = [ONE, TWO, TWO, THREE]
    assert TRIM.cut(lines, {"anchor": where}) == ([ONE], lines[1:])
    with pytest.raises(SystemExit):
        TRIM.cut(lines, {"anchor": {**where, **wrong}})


@pytest.mark.parametrize("wrong", [None, "t.jsonl", ["t.jsonl"], 7, {}])
def test_an_anchor_that_is_none(wrong: object) -> None:
    with pytest.raises(SystemExit, match="names no transcript"):
        TRIM.transcript_of({"anchor": wrong, "meta": wrong, "worktree": "/"})


@pytest.mark.parametrize("path", ["/etc/passwd", "", ["x"]])
def test_no_other_file_is_touched(repo: Repo, path: object) -> None:
    scene = Scene(repo, ONE + TWO, THREE, path=path)
    assert "transcript" in refused(PROGRAM)
    scene.untouched()


def test_a_symlink_stays_one(scene: Scene) -> None:
    real = scene.path.rename(scene.path.with_name("real.jsonl"))
    scene.path.symlink_to(real.name)
    back(callback=PROGRAM)
    assert scene.path.is_symlink()
    assert real.read_bytes() == scene.before


def test_a_message_counts_more_than_the_anchor(repo: Repo) -> None:
    """The prompt may have been written before the hook looked."""
    prompt = row(uuid="p")
    scene = Scene(repo, ONE + prompt, THREE, message="p")
    back(callback=PROGRAM)
    assert scene.text == ONE


def test_a_full_disk(scene: Scene) -> None:
    program = faulty(scene.repo, "trim-jsonl", "trim", "os.fsync = full")
    assert "No space left" in failing(program)
    scene.untouched()


def test_a_later_step_fails(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_afterwards(monkeypatch, PROGRAM)
    scene.untouched()


def test_a_later_step_of_an_undo_fails(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    back(callback=PROGRAM)
    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "_archive", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            undone(callback=PROGRAM)
    assert (scene.text, scene.repo.read("a")) == (scene.before, b"1\n")
    undone(callback=PROGRAM)
    assert (scene.text, seen(scene.repo)) == (scene.whole, scene.mess)


def test_a_program_that_has_it_open_goes_on_in_the_same_file(scene: Scene) -> None:
    with scene.path.open("ab", buffering=0) as program:
        back(callback=PROGRAM)
        program.write(ONE)
        assert scene.text == scene.before + ONE
        undone(callback=PROGRAM)
        program.write(TWO)
        assert scene.text == scene.whole + TWO
    kept = {path.read_bytes() for path in scene.path.parent.glob("*.before-*")}
    assert kept == {scene.whole, scene.before + ONE}


def test_lines_appended_while_it_is_cut_are_kept(scene: Scene) -> None:
    # Between the copy and the cut.
    append = f"open({str(scene.path)!r}, 'ab').write({ONE!r})"
    stat = "stat = os.path.samestat; os.path.samestat = lambda *two: {} and stat(*two)"
    back(callback=faulty(scene.repo, "trim-jsonl", "trim", stat.format(append)))
    assert scene.text == scene.before
    (kept,) = scene.path.parent.glob("*.before-*")
    assert kept.read_bytes() == scene.whole + ONE


def test_a_branch_is_cut_out_of_the_same_file(repo: Repo) -> None:
    first, left, second = (row(uuid=name, parentUuid=above) for name, above in ("A-", "BA", "CA"))
    scene = Scene(repo, first + left, second, message="C")
    with scene.path.open("ab", buffering=0) as program:
        back(callback=PROGRAM)
        assert scene.text == first
        program.write(THREE)
        undone(callback=PROGRAM)
        assert scene.text == scene.whole
        program.write(THREE)
    assert scene.text == scene.whole + THREE


def test_a_read_only_transcript_is_refused(scene: Scene) -> None:
    program = faulty(scene.repo, "trim-jsonl", "prepare", "os.access = lambda *_: False")
    assert "is read-only" in refused(program)
    scene.untouched()


def test_a_transcript_that_is_replaced_meanwhile_stays(scene: Scene) -> None:
    other = scene.path.with_name("other.jsonl")
    other.write_bytes(THREE)
    swap = f"os.path.exists({str(other)!r}) and os.rename({str(other)!r}, {str(scene.path)!r})"
    program = faulty(scene.repo, "trim-jsonl", "trim", f"os.fsync = lambda _: {swap}")
    assert "was replaced meanwhile" in failing(program)
    scene.whole = THREE
    scene.untouched()


@pytest.mark.parametrize("now", [ONE, ONE + TWO[:5], ONE + THREE])
def test_a_cut_that_was_killed_is_rolled_back_in_the_same_file(tmp_path: Path, now: bytes) -> None:
    path, old = tmp_path / "t.jsonl", tmp_path / "t.jsonl.before-1"
    path.write_bytes(now)
    old.write_bytes(ONE + TWO)
    number = path.stat().st_ino
    TRIM.rollback({"restore_id": "1"}, str(path))
    assert (path.read_bytes(), path.stat().st_ino) == (ONE + TWO, number)
    # What the copy lacks is not lost, be it only half of a line.
    others = [each.read_bytes() for each in tmp_path.iterdir() if each != path]
    assert others == ([] if now == ONE else [now])


STEPS = ["os.fsync", "os.replace", "os.path.samestat", "json.dump"]


@pytest.mark.parametrize("step", STEPS)
def test_the_callback_or_all_is_killed(scene: Scene, step: str) -> None:
    program = faulty(scene.repo, "trim-jsonl", "trim", f"{step} = die")
    assert "killed by signal 9" in failing(program)
    scene.untouched()
    program = faulty(scene.repo, "trim-jsonl", "trim", f"{step} = die_with_the_restore")
    assert scene.repo.boocode("restore", "@", "--callback", program).code == -signal.SIGKILL
    if step in ("os.fsync", "os.replace"):
        back(callback=PROGRAM)
        assert (scene.text, scene.repo.read("a")) == (scene.before, b"1\n")
    while (scene.text, seen(scene.repo)) != (scene.whole, scene.mess):
        undone(callback=PROGRAM)


def test_what_was_said_after_a_kill_is_not_lost(scene: Scene) -> None:
    program = faulty(scene.repo, "trim-jsonl", "trim", "json.dump = die_with_the_restore")
    scene.repo.boocode("restore", "@", "--callback", program)
    with scene.path.open("ab") as stream:
        stream.write(b"news\n")
    back(callback=PROGRAM)
    assert scene.text == scene.before
    after = [path.read_bytes() for path in scene.path.parent.glob("*.after-*")]
    assert after == [scene.before + b"news\n"]


def tree(*rows: tuple[str, str | None]) -> bytes:
    return b"".join(row(uuid=name, parentUuid=parent) for name, parent in rows)


# A is the first message, each other one answers the one after the dash; -P goes before P.
TREES = {
    "a chain": ("A- B-A C-B D-C", "C", "A B"),
    "later branches go as well": ("A- B-A C-B D-C E-B F-A", "C", "A B"),
    "a branch that was left": ("A- B-A C-B D-C E-B F-E", "E", "A B"),
    "left twice": ("A- B-A C-B D-A E-D F-A", "F", "A"),
    "at the beginning": ("A- B-A C-", "C", "A B"),
    "a parent unknown": ("A- B-A C-X D-C", "C", "A B"),
    "out of order": ("A- D-C B-A C-B", "C", "A B"),
    "the answer first": ("A- C-B D-C B-A", "B", "A"),
    "side by side": ("A- B-A C-B R-B S-C D-S", "D", "A B C R S"),
    "its own parent": ("A- B-A C-C D-C", "C", "A B"),
    "a circle": ("A-B B-A C-D D-C", "C", "A B"),
    "twice the same": ("A- B-A B-A C-B C-B", "C", "A B B"),
}


def test_trees() -> None:
    for name, (rows, message, stay) in TREES.items():
        pairs = [(entry[0], entry[2:] or None) for entry in rows.split()]
        lines = [tree(pair) for pair in pairs]
        stays, goes = TRIM.cut(lines, {"message": message})
        assert [json.loads(line)["uuid"] for line in stays] == stay.split(), name
        assert sorted(stays + goes) == sorted(lines)


def test_over_a_compaction() -> None:
    lines = [
        tree(("A", None)),
        tree(("B", "A")),
        row(uuid="K", parentUuid=None, logicalParentUuid="B", subtype="compact_boundary"),
        tree(("S", "K")),
        tree(("C", "S")),
        tree(("D", "B")),
    ]
    assert TRIM.cut(lines, {"message": "C"})[0] == lines[:4]
    assert TRIM.cut(lines, {"message": "K"})[0] == lines[:2]
    # The conversation went back to before the compaction.
    assert TRIM.cut(lines, {"message": "D"})[0] == lines[:2]


GARBAGE = st.one_of(
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")),
    st.builds(
        lambda name, above: json.dumps({"id": name, "parentId": above}).encode(),
        st.sampled_from(["a", "b", "c", 1]),
        st.sampled_from([None, "a", "b", "c", ["a"], True]),
    ),
)
ENDS = st.sampled_from([b"\n", b"\r\n"])
FILES = st.tuples(
    st.lists(st.tuples(GARBAGE, ENDS).map(b"".join), max_size=8), st.one_of(st.just(b""), GARBAGE)
).map(lambda file: [*file[0], file[1]] if file[1] else file[0])


@given(FILES, st.data())
def test_properties_of_a_cut_by_the_anchor(lines: list[bytes], data: st.DataObject) -> None:
    """Where the anchor is true, just the lines of then; else those up to one such line, or none."""
    count = data.draw(st.integers(0, len([line for line in lines if line.endswith(b"\n")])))
    then, rest = lines[:count], lines[count:]
    last = then[-1][:-1] if then else None
    offset = len(b"".join(then))
    where = {"path": "t", "offset": offset, "hash": None if last is None else digest(last)}
    assert TRIM.cut(lines, {"anchor": where}) == (then, rest)
    moved = {**where, "offset": offset + 1}
    same = [line for line in lines if last is not None and line.startswith(last)]
    try:
        stays, goes = TRIM.cut(lines, {"anchor": moved})
    except SystemExit:
        return
    assert stays + goes == lines
    assert stays[-1] in same


@given(FILES, st.sampled_from(["a", "b", "c", "1", "d"]))
def test_properties_of_a_cut_by_a_message(lines: list[bytes], message: str) -> None:
    """The message goes, every line stays as it is, in order; or it fails."""
    named = [number for number, line in enumerate(lines) if message in TRIM.ids(TRIM.parse(line))]
    if not named:
        with pytest.raises(SystemExit):
            TRIM.cut(lines, {"message": message})
        return
    stays, goes = TRIM.cut(lines, {"message": message})
    assert sorted(stays + goes) == sorted(lines)
    before = iter(lines[: named[0]])
    assert all(line in before for line in stays)
    assert goes[-(len(lines) - named[0]) :] == lines[named[0] :]


def turn_of(agent: str) -> Any:
    """A prompt, a call of a tool with its result, and an answer, as an agent writes them."""

    def item(role: str, kind: str, text: str) -> dict[str, Any]:
        content = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"type": "response_item", "payload": content}

    call = {"functionResponse": {"id": "1", "response": {"output": "done"}}}
    return {
        "codex": [
            {"type": "turn_context", "payload": {"turn_id": "t", "cwd": "/TOP"}},
            item("user", "input_text", "<environment_context>"),
            item("user", "input_text", "go"),
            {"type": "event_msg", "payload": {"item": {"type": "UserMessage", "content": []}}},
            {"type": "response_item", "payload": {"type": "custom_tool_call", "input": "patch"}},
            item("assistant", "output_text", "done"),
            {"type": "event_msg", "payload": {"item": {"type": "AgentMessage", "content": []}}},
        ],
        "gemini": [
            {"id": "1", "type": "user", "content": [{"text": "go"}]},
            {"$set": {"lastUpdated": "now"}},
            {"id": "2", "type": "gemini", "content": "", "toolCalls": []},
            {"id": "3", "type": "user", "content": [call]},
            {"id": "4", "type": "gemini", "content": "done"},
            {"id": "4", "type": "gemini", "content": "done", "tokens": {}},
        ],
        "qwen": [
            {"uuid": "1", "type": "user", "message": {"role": "user", "parts": [{"text": "go"}]}},
            {"uuid": "2", "type": "tool_result", "message": {"role": "user", "parts": [call]}},
            {
                "uuid": "3",
                "type": "assistant",
                "message": {"role": "model", "parts": [{"text": "x"}]},
            },
        ],
        "copilot": [
            {"id": "1", "type": "user.message", "data": {"content": "go"}},
            {"id": "2", "type": "assistant.message", "data": {"content": "", "toolRequests": []}},
            {"id": "3", "type": "tool.execution_complete", "data": {"result": {"content": "x"}}},
            {"id": "4", "type": "assistant.message", "data": {"content": "done"}},
        ],
    }[agent]


@pytest.mark.parametrize("agent", ["codex", "gemini", "qwen", "copilot"])
def test_messages_are_counted_as_a_person_sees_them(agent: str) -> None:
    lines = [json.dumps(each).encode() + b"\n" for each in turn_of(agent)]
    assert load("trim-jsonl").messages_in(lines, []) == 2
    assert load("trim-jsonl").messages_in([], lines) == 0


@pytest.mark.parametrize(("kept", "resume"), [(0, "gemini"), (1, "gemini --resume s1")])
def test_a_session_without_messages_is_started_anew(
    repo: Repo, sealed: Path, kept: int, resume: str
) -> None:
    rows = [json.dumps({"type": "user", "id": name, "content": name}) for name in ("m1", "m2")]
    path = sealed / ".gemini/tmp/shop/chats/s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{row}\n" for row in rows[:kept]))
    capture(
        Repository.discover(),
        Request(agent="gemini", session="s1", anchor=anchor(path)),
    )
    path.write_text("".join(f"{row}\n" for row in rows))
    answer = repo.boocode("restore", "@", "--json").json
    assert (answer["messages_deleted"], answer["resume"]) == (2 - kept, resume)


def test_who_has_the_transcript_open_is_warned_of(repo: Repo, sealed: Path) -> None:
    path = sealed / ".codex/sessions/s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(ONE)
    repo.commit("base", a="1\n")
    take_anchored(anchor(path), agent="codex", session="s1")
    path.write_bytes(ONE + TWO)
    leave = "leave the session s1, if it is open: it still has the old conversation in memory"
    with holding(path) as program:
        expected = repo.boocode("restore", "@", "-n")
        assert f"(process {program.pid}) still has the conversation open" in expected.err
        answer = repo.boocode("restore", "@", "--json").json
        assert [each["pid"] for each in answer["open_in"]] == [program.pid]
        assert (answer["messages_deleted"], answer["backend_reset"]) == (1, False)
        assert (answer["message"], answer["resume"]) == (leave, "codex resume s1")
    undone = repo.boocode("undo")
    assert f"{leave}\ncontinue the conversation with: codex resume s1\n" in undone.out
    assert "still has" not in undone.err
    answer = repo.boocode("redo", "--json").json
    assert (answer["backend_reset"], "open_in" in answer) == (True, False)


def test_a_link_out_of_the_worktree_is_not_followed(repo: Repo, sealed: Path) -> None:
    own = sealed / "notes.jsonl"
    own.write_text(lines("m1", "m2"))
    (repo.top / "chat.jsonl").symlink_to(own)
    repo.commit("base", a="1\n")
    capture(Repository.discover(), Request(message="m2", meta={"transcript": "chat.jsonl"}))
    assert "is not where the agent keeps its transcripts" in refused(PROGRAM)
    assert own.read_text() == lines("m1", "m2")
    repo.git("config", "boocode.transcripts", "~")
    cut_back()
    assert own.read_text() == lines("m1")


def test_an_agent_has_its_own_directories(repo: Repo, sealed: Path) -> None:
    repo.commit("base", a="1\n")
    for path in (repo.top / ".git/chat.jsonl", sealed / ".codex/chat.jsonl"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(lines("m1", "m2"))
        capture(Repository.discover(), Request(agent="codex", message="m2", anchor=anchor(path)))
        done = repo.boocode("restore", "@", "--json")
        assert (done.code, done.json["error"]["code"]) == (1, "vetoed")
        assert path.read_text() == lines("m1", "m2")


@pytest.mark.parametrize("place", ["{session}/events.jsonl", "rollout-{session}.jsonl"])
def test_a_fork_is_a_copy_under_another_id(
    repo: Repo, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = "0f8fad5b-d9cb-469f-a165-70867728950e"
    chats = tmp_path / "chats"
    path = chats / place.format(session=session)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = row(id="m1", session=session, cwd="/old", role="user", content='a "/old" text')
    after = row(id="m2", role="user", content="later")
    path.write_bytes(before)
    monkeypatch.setenv("BOOCODE_TRANSCRIPTS", str(chats))
    repo.commit("base", a="1\n")
    take_anchored(anchor(path, session=session), session=session, agent="host")
    path.write_bytes(before + after)
    said = ("fork", "@", str(tmp_path / "a fork"), "--callback", str(PROGRAM), "--json")
    answer = repo.boocode(*said).json
    assert answer["conversation"]["forked"], answer
    [made] = set(chats.rglob("*.jsonl")) - {path}
    new = re.findall("[0-9a-f]{8}-[0-9a-f-]{27}", str(made.relative_to(chats)))[0]
    copied = before.replace(session.encode(), new.encode())
    assert made.read_bytes() == copied.replace(
        b'"cwd": "/old"', b'"cwd": "%s/a fork"' % bytes(tmp_path)
    )
    assert path.read_bytes() == before + after
