"""The callback for Claude Code: a new session for what was, and the old one untouched."""

from __future__ import annotations

import json
import re
import signal
import stat
from pathlib import Path
from typing import Any, Protocol

import pytest

from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.repo.repository import Repository
from git_boocode.workflows.fork_turn import ForkRequest, fork
from tests.checkpoints.kit import back, interrupted, redone, seen, sound, undone
from tests.checkpoints.kit import take as take_checkpoint
from tests.hooks.kit import (
    anchor,
    callback,
    failing,
    failing_afterwards,
    faulty,
    load,
    refused,
    row,
    take_anchored,
)
from tests.kill_kit import killed_at
from tests.repo_kit import Repo

PROGRAM = callback("claude-code")
CLAUDE = load("claude-code")
SESSION = "0f8fad5b-d9cb-469f-a165-70867728950e"
RESUME = re.compile("continue the conversation with: claude --resume ([0-9a-f-]{36})\n")


def line(name: str, parent: str | None, kind: str = "user", **more: Any) -> bytes:
    return row(
        type=kind,
        uuid=name,
        parentUuid=parent,
        isSidechain=False,
        sessionId=SESSION,
        message={"role": kind, "content": name},
        **more,
    )


def result(name: str, parent: str) -> bytes:
    content = [{"type": "tool_result", "tool_use_id": "t", "content": name}]
    return row(type="user", uuid=name, parentUuid=parent, message={"content": content})


TITLE = row(type="summary", summary="a chat", leafUuid="x")
BEFORE = TITLE + line("A", None) + line("B", "A", "assistant")
AFTER = line("C", "B") + line("D", "C", "assistant") + b'{"type": "assi'


class Scene:
    """A session with a checkpoint, and what was said and done since."""

    def __init__(self, repo: Repo, home: Path, **more: Any) -> None:
        self.repo = repo
        self.path = home / ".claude/projects/-work-shop" / f"{SESSION}.jsonl"
        self.path.parent.mkdir(parents=True)
        self.path.write_bytes(BEFORE)
        self.path.chmod(0o640)
        repo.commit("base", a="1\n")
        where = anchor(self.path, agent="claude-code", session=SESSION, **more)
        take_anchored(where, agent="claude-code", session=SESSION)
        repo.write("a", "2\n")
        self.path.write_bytes(BEFORE + AFTER)
        self.mess = seen(repo)

    def others(self) -> list[str]:
        return sorted({path.name for path in self.path.parent.iterdir()} - {self.path.name})

    def untouched(self) -> None:
        assert (self.path.read_bytes(), self.others()) == (BEFORE + AFTER, [])
        assert seen(self.repo) == self.mess
        sound(self.repo)


def new_session(outcome: RestoreResult) -> str:
    assert outcome.answer is not None
    found = re.fullmatch("claude --resume ([0-9a-f-]{36})", outcome.answer.resume)
    assert found is not None
    return f"{found[1]}.jsonl"


@pytest.fixture
def scene(repo: Repo, sealed: Path) -> Scene:
    return Scene(repo, sealed)


def test_the_conversation_goes_on_in_a_new_session(scene: Scene) -> None:
    outcome = back(callback=PROGRAM)
    name = new_session(outcome)
    assert scene.others() == [name]
    made = scene.path.with_name(name)
    assert (made.read_bytes(), scene.path.read_bytes()) == (BEFORE, BEFORE + AFTER)
    assert stat.S_IMODE(made.stat().st_mode) == 0o640
    assert scene.repo.read("a") == b"1\n"
    assert outcome.answer is not None
    assert (outcome.answer.messages_deleted, outcome.answer.backend_reset) == (2, False)
    assert f"leave the session {SESSION}; it was not changed" in outcome.answer.message


def test_the_user_is_told(scene: Scene) -> None:
    done = scene.repo.boocode("restore", "@", "--callback", PROGRAM)
    assert RESUME.search(done.out)
    done = scene.repo.boocode("undo", "--json", "--callback", PROGRAM)
    assert done.json["resume"] == f"claude --resume {SESSION}"


def test_back_and_forth(scene: Scene) -> None:
    names = {new_session(back(callback=PROGRAM))}
    for _ in range(2):
        undone(callback=PROGRAM)
        assert seen(scene.repo) == scene.mess
        assert scene.others() == []
        name = new_session(redone(callback=PROGRAM))
        assert scene.path.with_name(name).read_bytes() == BEFORE
        names.add(name)
    assert len(names) == 3
    assert scene.path.read_bytes() == BEFORE + AFTER


def test_an_undo_leaves_a_new_session_that_was_used(scene: Scene) -> None:
    made = scene.path.with_name(new_session(back(callback=PROGRAM)))
    with made.open("ab") as stream:
        stream.write(line("N", "B"))
    undone(callback=PROGRAM)
    assert made.read_bytes() == BEFORE + line("N", "B")


def test_an_undo_that_fails_brings_the_new_session_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = new_session(back(callback=PROGRAM))
    failing_afterwards(monkeypatch, PROGRAM, undone)
    assert scene.path.with_name(name).read_bytes() == BEFORE
    assert scene.others() == [name]


def test_a_file_elsewhere_is_no_transcript(scene: Scene) -> None:
    own = scene.repo.write("chat.jsonl", BEFORE)
    link = scene.path.with_name("11111111.jsonl")
    link.symlink_to(own)
    odd = scene.path.with_name("x;touch PWNED;#.jsonl")
    odd.write_bytes(BEFORE)
    for path in (own, link, odd):
        take_anchored(anchor(path), agent="claude-code")
        assert "is not a transcript of Claude Code" in refused(PROGRAM)


def test_a_checkpoint_of_the_new_session(scene: Scene) -> None:
    made = scene.path.with_name(new_session(back(callback=PROGRAM)))
    with made.open("ab") as stream:
        stream.write(line("N", "B") + line("O", "N", "assistant"))
    take_anchored(anchor(made), session=made.stem)
    with made.open("ab") as stream:
        stream.write(line("P", "O"))
    again = scene.path.with_name(new_session(back(callback=PROGRAM)))
    assert again.read_bytes() == BEFORE + line("N", "B") + line("O", "N", "assistant")


@pytest.mark.parametrize("directory", [None, "elsewhere"])
def test_the_transcript_is_found_by_the_session(
    repo: Repo, sealed: Path, monkeypatch: pytest.MonkeyPatch, directory: str | None
) -> None:
    if directory is not None:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sealed / directory))
        (sealed / directory).mkdir()
        (sealed / ".claude").symlink_to(directory)
    scene = Scene(repo, sealed, path="/moved/away.jsonl")
    take_checkpoint(session=SESSION, message="A")
    outcome = back(callback=PROGRAM)
    assert outcome.answer is not None
    assert outcome.answer.resume == "claude"
    assert scene.others() == []
    new_session(back("@~1", callback=PROGRAM))


def test_vetoes(scene: Scene) -> None:
    told: dict[str, str]
    for told, reason in (
        ({"session": "nowhere"}, "found 0 transcripts of session 'nowhere'"),
        ({"session": "../shop"}, "no usable session id: '../shop'"),
        ({"session": "*"}, "no usable session id"),
        ({}, "no usable session id: None"),
        ({"session": SESSION, "message": "Z"}, "no message 'Z'"),
        ({"session": SESSION}, "neither a message nor the transcript's length"),
        ({"session": SESSION, "message": "A", "agent": "codex"}, "of agent 'codex'"),
    ):
        take_checkpoint(**told)
        assert reason in refused(PROGRAM)
        scene.untouched()


def test_without_a_path_the_anchor_tells_no_length(scene: Scene) -> None:
    where = {"session": SESSION, "path": None, "offset": 0, "hash": None}
    take_anchored(where, session=SESSION)
    assert "neither a message nor the transcript's length" in refused(PROGRAM)
    take_anchored({**where, "message": "C"}, session=SESSION)
    assert scene.path.with_name(new_session(back(callback=PROGRAM))).read_bytes() == BEFORE


def test_nothing_was_said_since(scene: Scene) -> None:
    scene.path.write_bytes(BEFORE)
    outcome = back(callback=PROGRAM)
    assert outcome.answer is not None
    assert outcome.answer.message == "the conversation has no messages after the checkpoint"
    assert scene.others() == []


def test_a_full_disk(scene: Scene) -> None:
    program = faulty(scene.repo, "claude-code", "trim", "os.fsync = full")
    assert "No space left" in failing(program)
    scene.untouched()


def test_a_later_step_fails(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_afterwards(monkeypatch, PROGRAM)
    scene.untouched()


STEPS = ["os.fsync", "os.replace", "json.dump"]


@pytest.mark.parametrize("step", STEPS)
def test_killed(scene: Scene, step: str) -> None:
    program = faulty(scene.repo, "claude-code", "trim", f"{step} = die")
    assert "killed by signal 9" in failing(program)
    scene.untouched()
    program = faulty(scene.repo, "claude-code", "trim", f"{step} = die_with_the_restore")
    assert scene.repo.boocode("restore", "@", "--callback", program).code == -signal.SIGKILL
    made = new_session(back(callback=PROGRAM))
    assert scene.others() == [made]
    assert scene.path.with_name(made).read_bytes() == BEFORE


def test_a_session_in_use_is_not_removed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(monkeypatch, lambda: back(callback=PROGRAM))
    (used,) = scene.others()
    with scene.path.with_name(used).open("ab") as stream:
        stream.write(line("N", "B"))
    made = new_session(back(callback=PROGRAM))
    assert scene.others() == sorted([used, made])


class Cut(Protocol):
    """Cuts a transcript after some lines or before a message, and gives the lines that stay."""

    def __call__(self, *parts: bytes, first: int, message: str | None = None) -> list[bytes]: ...


@pytest.fixture
def cut(tmp_path: Path) -> Cut:
    def run(*parts: bytes, first: int, message: str | None = None) -> list[bytes]:
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"".join(parts[:first]))
        event = {"message": message} if message else {"anchor": anchor(path)}
        path.write_bytes(b"".join(parts))
        return [text for text, _ in CLAUDE.cut(str(path), event)[0]]

    return run


A, B, C = line("A", None), line("B", "A", "assistant"), line("C", "B")
D, E = line("D", "C", "assistant"), line("E", "B")


@pytest.mark.parametrize("message", [None, "E"])
def test_a_prompt_after_going_back_leaves_the_left_branch_out(
    cut: Cut, message: str | None
) -> None:
    title = row(type="summary", leafUuid="D")
    snapshot = row(type="file-history-snapshot", messageId="C")
    other = row(type="summary", leafUuid="B")
    after = line("F", "E", "assistant")
    parts = (A, B, snapshot, C, D, title, other, E, after)
    assert cut(*parts, first=7, message=message) == [A, B, other]


def test_tools_side_by_side_are_no_branches(cut: Cut) -> None:
    """The second tool's line was written when the first one's result was there."""
    tool, late = line("T", "B", "assistant"), line("U", "T", "assistant")
    done = result("R", "T")
    parts = (A, B, tool, done, late, result("S", "U"))
    assert cut(*parts, first=4) == [A, B, tool, done]
    assert cut(*parts, first=5) == [A, B, tool, done, late]


def test_a_compaction(cut: Cut) -> None:
    boundary = row(
        type="system", subtype="compact_boundary", uuid="K", parentUuid=None, logicalParentUuid="B"
    )
    recap, prompt = line("S", "K", isCompactSummary=True), line("P", "S")
    parts = (A, B, boundary, recap, prompt)
    assert cut(*parts, first=4) == [A, B, boundary, recap]
    assert cut(*parts, first=2) == [A, B]
    # The user went back to before the compaction.
    assert cut(A, B, boundary, recap, E, first=4) == [A, B]


def test_sidechains_say_nothing_of_the_conversation(cut: Cut) -> None:
    side = row(type="user", uuid="X", parentUuid=None, isSidechain=True, message={"content": "x"})
    more = row(type="user", uuid="Y", parentUuid="A", isSidechain=True, message={"content": "y"})
    assert cut(A, B, side, C, more, D, first=3) == [A, B, side]
    assert cut(A, B, C, more, D, first=3) == [A, B, C]


def test_garbage_stays_as_it_is(cut: Cut) -> None:
    junk = b'{"uuid": ["A"], "leafUuid": {}}\n'
    parts = (b"\xff\n", junk, b"\r\n", A, b'{"uuid": 7, "parentUuid": 7}\n', b"{half\n")
    assert cut(*parts, C, first=6) == list(parts)
    with pytest.raises(CLAUDE.CutError):
        cut(*parts, first=6, message="7")


def test_the_last_prompt_with_the_id_is_cut(cut: Cut) -> None:
    # A forked session gives the prompts that it copies the id of its own first one.
    copied = [line("A", None, promptId="p"), line("B", "A", "assistant")]
    own = [
        line("C", "B", promptId="p"),
        line("D", "C", promptId="p", isMeta=True),
        line("E", "D", "assistant"),
        result("F", "E").replace(b"{", b'{"promptId": "p", ', 1),
        line("G", "F", "assistant"),
    ]
    assert cut(*copied, *own, first=2, message="p") == copied
    later = line("H", "G", promptId="q")
    assert cut(*copied, *own, later, first=7, message="q") == [*copied, *own]


def test_messages_are_counted_as_a_person_sees_them() -> None:
    text, tool = [{"type": "text", "text": "x"}], [{"type": "tool_use", "name": "Edit"}]
    answers = [row(type="assistant", message={"id": "1", "content": each}) for each in (text, tool)]
    lines = [line("A", None), *answers, result("B", "A"), TITLE, line("C", "B", isMeta=True)]
    assert CLAUDE.messages_in([(each, json.loads(each)) for each in lines]) == 2


def qwen_row(name: str, parent: str | None, kind: str, text: str) -> bytes:
    message = {"role": "user" if kind == "user" else "model", "parts": [{"text": text}]}
    return row(uuid=name, parentUuid=parent, sessionId=SESSION, type=kind, message=message)


def test_qwen_code_gets_a_new_session_with_its_own_id(repo: Repo, sealed: Path) -> None:
    said = f'"sessionId":"{SESSION}"'
    before = qwen_row("A", None, "user", said) + qwen_row("B", "A", "assistant", "done")
    after = qwen_row("C", "B", "user", "more") + qwen_row("D", "C", "assistant", "done")
    path = sealed / f".qwen/projects/shop/chats/{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(before)
    repo.commit("base", a="1\n")
    take_anchored(anchor(path, message="s########2"), agent="qwen", session=SESSION)
    path.write_bytes(before + after)
    answer = repo.boocode("restore", "@", "--json").json
    new = answer["resume"].removeprefix("qwen --resume ")
    assert (answer["messages_deleted"], answer["backend_reset"]) == (2, False)
    made = path.with_name(f"{new}.jsonl").read_text().splitlines()
    assert [json.loads(each)["sessionId"] for each in made] == [new, new]
    assert json.loads(made[0])["message"]["parts"] == [{"text": said}]
    # The session is open, and goes on as if nothing had happened.
    with path.open("ab") as program:
        program.write(qwen_row("E", "D", "user", "and more"))
    assert path.read_bytes().startswith(before + after)
    assert repo.boocode("undo", "--json").json["resume"] == f"qwen --resume {SESSION}"
    assert list(path.parent.iterdir()) == [path]
    assert repo.boocode("redo", "--json").json["resume"].startswith("qwen --resume ")


def test_pi_gets_a_new_session_with_its_own_id(repo: Repo, sealed: Path) -> None:
    def said(name: str, parent: str, role: str) -> bytes:
        message = {"role": role, "content": [{"type": "text", "text": name}]}
        return row(type="message", id=name, parentId=parent, message=message)

    head = row(type="session", id=SESSION) + row(type="model_change", id="0", parentId=None)
    before = head + said("A", "0", "user") + said("B", "A", "assistant")
    path = sealed / f".pi/agent/sessions/shop/2026-11-28T18-40-20-909Z_{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(before)
    repo.commit("base", a="1\n")
    take_anchored(anchor(path), agent="pi", session=SESSION)
    path.write_bytes(before + said("C", "B", "user") + said("D", "C", "assistant"))
    answer = repo.boocode("restore", "@", "--json").json
    new = answer["resume"].removeprefix("pi --session ")
    assert answer["messages_deleted"] == 2
    made = path.with_name(path.name.replace(SESSION, new))
    assert made.read_bytes() == before.replace(SESSION.encode(), new.encode())
    assert repo.boocode("undo", "--json").json["resume"] == f"pi --session {SESSION}"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("length", [20, 150, 260])
def test_a_fork_is_a_session_of_the_new_worktree(
    repo: Repo, sealed: Path, tmp_path: Path, length: int
) -> None:
    scene = Scene(repo, sealed)
    top = tmp_path / "é"
    while len(str(top)) < length:
        top /= "a" * min(length, 100)
    answer = repo.boocode("fork", "@", str(top), "--callback", str(PROGRAM), "--json").json
    session = answer["conversation"]["session"]
    assert answer["conversation"] == {"forked": True, "session": session, "message": ""}
    assert answer["resume"] == ["claude", "--resume", session]
    [made] = (sealed / ".claude/projects").glob(f"*/{session}.jsonl")
    assert made.read_bytes() == BEFORE.replace(SESSION.encode(), session.encode())
    name = re.sub("[^a-zA-Z0-9]", "-", str(top))
    assert made.parent.name[:200] == name[:200]
    assert len(made.parent.name) == len(name) if length < 200 else len(made.parent.name) > 201
    scene.untouched()


def test_lines_of_a_fork_name_its_session_and_its_directory(
    repo: Repo, sealed: Path, tmp_path: Path
) -> None:
    scene = Scene(repo, sealed)
    said = f'"sessionId":"{SESSION}", "cwd":"/work/shop"'
    prompt = line("A", None, cwd="/work/shop", text=said)
    answer = line("B", "A", "assistant", cwd="/work/shop/sub")
    scene.path.write_bytes(prompt + answer + line("C", "B", cwd="/work/shopping"))
    top = tmp_path / "the fork"
    result = repo.boocode("fork", "@", str(top), "--after", "--json").json
    session = result["conversation"]["session"]
    [made] = (sealed / ".claude/projects").glob(f"*/{session}.jsonl")
    rows = [json.loads(each) for each in made.read_text().splitlines()]
    assert {each["sessionId"] for each in rows} == {session}
    assert [each["cwd"] for each in rows] == [str(top), f"{top}/sub", "/work/shopping"]
    assert rows[0]["text"] == said


def test_a_killed_fork_leaves_no_session(repo: Repo, sealed: Path, tmp_path: Path) -> None:
    scene = Scene(repo, sealed)

    def act() -> None:
        fork(Repository.discover(), "@", ForkRequest(str(tmp_path / "fork")))

    number = 1
    while killed_at("rename", number, act):
        assert repo.boocode("doctor", "--fix").code == 0
        assert [path.name for path in (sealed / ".claude/projects").iterdir()] == ["-work-shop"]
        scene.untouched()
        number += 1
    assert number > 2
