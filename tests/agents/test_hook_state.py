"""One turn is one checkpoint, whoever tells of it, and two turns are two."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.hook_state import Turns, one_at_a_time, turn_of
from git_boocode.repo.ids import new_id
from git_boocode.repo.lock import file_lock
from git_boocode.repo.reported_turn import ReportedTurn
from git_boocode.repo.repository import Repository
from git_boocode.repo.running_turn import RunningTurn, write_turns
from tests.agents.kit import fire, logged, recorded, taken, turn
from tests.checkpoints.kit import sound
from tests.repo_kit import Repo


def cursor(repo: Repo, **told: Any) -> dict[str, Any]:
    """What Cursor sends before a turn."""
    ids = {"conversation_id": "c1", "generation_id": "g1"}
    return {**ids, "workspace_roots": [str(repo.top)], "prompt": "continue", **told}


def test_cursor_runs_the_hooks_of_claude_code_too(repo: Repo) -> None:
    payload = recorded(repo, "cursor", "beforeSubmitPrompt")
    fire(repo, "cursor", "beforeSubmitPrompt", payload=payload)
    repo.write("a", "changed meanwhile\n")
    fire(repo, "claude-code", "UserPromptSubmit", payload=payload)
    fire(repo, "claude-code", payload=payload)
    (found,) = taken(repo)
    assert (found["agent"], found["message"]) == ("cursor", "gen-3")
    assert logged(repo) == []


def test_vs_code_runs_the_hooks_of_claude_code_and_of_copilot(repo: Repo, sealed: Path) -> None:
    transcript = sealed / "transcript.json"
    transcript.write_text("{}\n")
    payload = {"sessionId": "s", "hookEventName": "UserPromptSubmit", "cwd": str(repo.top)}
    payload |= {"transcript_path": str(transcript), "prompt": "continue"}
    fire(repo, "copilot", "userPromptSubmitted", payload=payload)
    fire(repo, "claude-code", "UserPromptSubmit", payload=payload)
    (found,) = taken(repo)
    assert (found["agent"], found["session"]) == ("copilot", "s")
    assert found["anchor"]["path"] == str(transcript)


def test_two_hooks_at_once(repo: Repo) -> None:
    repo.commit(a="a\n")
    calls = [("cursor", "beforeSubmitPrompt"), ("claude-code", "UserPromptSubmit")] * 2
    with ThreadPoolExecutor(len(calls)) as threads:
        list(threads.map(lambda words: fire(repo, *words, payload=cursor(repo)), calls))
    assert len(taken(repo)) == 1
    assert logged(repo) == []
    sound(repo)


def test_a_tool_that_two_tell_of(repo: Repo) -> None:
    repo.git("config", "boocode.perTool", "true")
    repo.write("src/main.py", "a\n")
    fire(repo, "cursor", payload=recorded(repo, "cursor", "beforeSubmitPrompt"))
    payload = json.loads(recorded(repo, "cursor", "preToolUse"))
    fire(repo, "cursor", "preToolUse", payload=payload)
    fire(repo, "claude-code", "PreToolUse", payload=payload)
    assert [found["trigger"] for found in taken(repo)] == ["beforeSubmitPrompt", "preToolUse"]
    # Another call for the same file is another tool.
    fire(repo, "cursor", "preToolUse", payload={**payload, "tool_use_id": "toolu_2"})
    assert len(taken(repo)) == 3
    repo.write("src/main.py", "b\n")
    fire(repo, "claude-code", "PreToolUse", payload={**payload, "tool_use_id": "toolu_2"})
    assert len(taken(repo)) == 4
    assert logged(repo) == []


def test_a_tool_without_an_id_that_is_told_of_twice(repo: Repo) -> None:
    repo.git("config", "boocode.perTool", "true")
    repo.write("greet.py", "a\n")
    payload = recorded(repo, "gemini", "BeforeTool")
    transcript = Path(json.loads(payload)["transcript_path"])
    transcript.parent.mkdir(parents=True)
    transcript.write_text("{}\n")
    turn(repo)
    for _ in range(2):
        fire(repo, "gemini", "BeforeTool", payload=payload)
    assert len(taken(repo)) == 2
    with transcript.open("a") as file:
        file.write("{}\n")
    fire(repo, "gemini", "BeforeTool", payload=payload)
    assert len(taken(repo)) == 3


def test_a_damaged_note_is_as_good_as_none(repo: Repo) -> None:
    payload = cursor(repo)
    fire(repo, "cursor", "beforeSubmitPrompt", payload=payload)
    path = repo.top / ".git/boocode/turns.json"
    for damage in (b"", b"{", b"{}", b"\xff", b"[" * 9999, b'[["a","b","c","d","x","y"]]'):
        path.write_bytes(damage)
        assert Turns(str(path)).last_calls() == {}
    path.write_bytes(b"[1, null, []]")
    fire(repo, "cursor", "beforeSubmitPrompt", payload=payload)
    assert len(taken(repo)) == 2
    assert logged(repo) == []


def test_only_the_latest_turns_are_noted(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    for number in range(60):
        with one_at_a_time(state, patience=0) as turns:
            turns.note(turn_of("codex", "s", str(number), "p", None))
    with one_at_a_time(state, patience=0) as turns:
        known = [turns.knows(turn_of("codex", "s", str(number), "", None)) for number in range(60)]
    assert known == [False] * 10 + [True] * 50
    note = tmp_path / "state/turns.json"
    assert len(json.loads(note.read_text())) == 50
    assert note.stat().st_mode & 0o777 == 0o600


def test_open_turns_are_noted_however_many_are_later(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with one_at_a_time(state, patience=0) as turns:
        turns.note(turn_of("codex", "open", "1", "", None)._replace(checkpoint="1"))
        for number in range(60):
            later = turn_of("codex", "s", str(number), "", None)
            turns.note(later._replace(checkpoint=f"s{number}", ended=True))
    with one_at_a_time(state, patience=0) as turns:
        assert turns.is_open_beside("codex", "s")
    assert len(json.loads((tmp_path / "state/turns.json").read_text())) == 51


def host_mark(session: str, *, began: float, times_out: float | None = None) -> RunningTurn:
    return RunningTurn(new_id(), "", None, None, began, times_out, "codex", session)


def test_a_turn_of_a_host_that_begins_is_beside_and_not_waited_for(repo: Repo) -> None:
    state = Repository.discover().state_dir
    with file_lock(f"{state}/turn.lock", patience=0):
        began = time.monotonic()
        with one_at_a_time(state, patience=3) as turns:
            assert turns.is_open_beside("codex", "s")
            assert turns.have_company("codex", "s")
        assert time.monotonic() - began < 2
    with one_at_a_time(state, patience=0) as turns:
        assert not turns.is_open_beside("codex", "s")


def test_the_mark_of_its_own_session_hides_no_other_turn(repo: Repo) -> None:
    repository, now = Repository.discover(), time.time()
    with one_at_a_time(repository.state_dir, patience=0) as turns:
        turns.note(turn_of("codex", "s", "1", "", None)._replace(checkpoint="1", time=now - 9))
        other = turn_of("codex", "other", "1", "", None)
        turns.note(other._replace(checkpoint="2", ended=True))
    write_turns(repository, [host_mark("s", began=now - 9)])
    with file_lock(f"{repository.state_dir}/turn.lock", patience=0) as lock:
        os.utime(lock, (now - 9, now - 9))
    with one_at_a_time(repository.state_dir, patience=0) as turns:
        assert turns.have_company("codex", "s")
        assert not turns.is_open_beside("codex", "s")


def test_a_host_turn_that_timed_out_during_a_call_was_beside_it(repo: Repo) -> None:
    repository, now = Repository.discover(), time.time()
    with file_lock(f"{repository.state_dir}/turn.lock", patience=0) as lock:
        os.utime(lock, (now - 60, now - 60))
    for since, expected in ((-9, True), (9, False)):
        timed_out = now - 20
        write_turns(repository, [host_mark("h", began=now - 60, times_out=timed_out)])
        with one_at_a_time(repository.state_dir, patience=0) as turns:
            turns.note(turn_of("codex", "s", "1", "", None)._replace(checkpoint="1"))
            path = f"{repository.state_dir}/turns.json"
        rows = json.loads(Path(path).read_text())
        rows[-1].update(time=timed_out + since, seen=timed_out + since)
        Path(path).write_text(json.dumps(rows[-1:]))
        with one_at_a_time(repository.state_dir, patience=0) as turns:
            assert turns.have_company("codex", "s") is expected
            assert not turns.is_open_beside("codex", "s")


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"agent": "gemini", "session": "x", "offset": 9}, True),
        ({"agent": "gemini", "time": 9.0}, True),
        ({"agent": "gemini", "time": -9.0}, True),
        ({"agent": "gemini", "time": 11.0}, False),
        ({"agent": "gemini", "prompt": "other"}, False),
        ({"time": 9.0}, True),
        ({"time": 11.0}, False),
        ({"offset": 8}, False),
        ({"offset": None, "time": 1.0}, True),
        ({"offset": None, "time": 3.0}, False),
        ({"session": "other"}, False),
        ({"turn": "t2"}, False),
    ],
)
def test_what_counts_as_the_same(change: dict[str, Any], same: bool, tmp_path: Path) -> None:
    first = ReportedTurn("claude-code", "s", "t1", "prompt", 7, 0.0)
    turns = Turns(str(tmp_path / "turns.json"))
    assert not turns.has_reported(first)
    turns.note(first)
    assert turns.has_reported(first._replace(**change)) == same


def test_no_trace_of_a_prompt_is_kept_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(str(tmp_path / "turns.json"))
    now = 1_000.0
    monkeypatch.setattr("time.time", lambda: now)
    turns.note(turn_of("codex", "s", "1", "secret", None))
    now = 1_020.0
    turns.note(turn_of("codex", "s", "2", "other", None))
    prompts = [row["prompt"] for row in json.loads((tmp_path / "turns.json").read_text())]
    assert [bool(prompt) for prompt in prompts] == [False, True]
