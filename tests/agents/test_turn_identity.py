"""An id that comes again with another prompt is a new turn, and what goes on with one is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_boocode.repo.reported_turn import read_turns
from tests.agents.kit import fire, logged, prompted, recorded, taken, turn
from tests.checkpoints.kit import refs, sound
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def qwen(repo: Repo, event: str, **told: Any) -> None:
    """Let Qwen Code report an event, with some fields told otherwise; None is left out."""
    payload = json.loads(recorded(repo, "qwen", "UserPromptSubmit"))
    payload |= {"hook_event_name": event, **told}
    fire(repo, "qwen", event, payload={k: v for k, v in payload.items() if v is not None})


def claude(repo: Repo, event: str, **told: Any) -> None:
    """Let Claude Code report an event in turn p1, with some fields told otherwise."""
    told = {"prompt_id": "p1", **told}
    fire(repo, "claude-code", event, payload=prompted(repo, **told))


def changed(repo: Repo, name: str) -> list[str]:
    """The paths that a turn changed."""
    return sorted(each["path"] for each in repo.boocode("show", name, "--json").json["files"])


def test_an_id_that_comes_again_with_another_prompt_is_a_new_turn(repo: Repo) -> None:
    for word in ("one", "two"):
        qwen(repo, "UserPromptSubmit", prompt_id="s####0", prompt=word, submitted_prompt=word)
        repo.write(word, "x\n")
        qwen(repo, "Stop", prompt_id="s####0")
    first, second = taken(repo)
    assert [first["label"], second["label"]] == ["one", "two"]
    assert second["message"] == first["message"]
    # Each turn has its own end.
    assert len(refs(repo, "turn-ends")) == 2
    assert [changed(repo, "@~1"), changed(repo, "@")] == [["one"], ["two"]]
    assert repo.boocode("show", "message:s####0", "--json").json["checkpoint"]["id"] == second["id"]
    assert logged(repo) == []
    sound(repo)


def test_what_goes_on_with_a_turn_is_no_turn(repo: Repo) -> None:
    qwen(repo, "UserPromptSubmit", prompt="one", submitted_prompt="one")
    # After tools, at a stop that a hook blocked, and once more by another hook.
    qwen(repo, "UserPromptSubmit", prompt="", submitted_prompt=None)
    qwen(repo, "Stop")
    qwen(repo, "UserPromptSubmit", prompt="Please continue.", submitted_prompt=None)
    qwen(repo, "UserPromptSubmit", prompt="one", submitted_prompt="one")
    assert [found["label"] for found in taken(repo)] == ["one"]


def test_the_same_prompt_again_after_a_cut_is_a_new_turn(repo: Repo) -> None:
    for text in ("one\n", "two\n"):
        repo.write("a", text)
        # A plugin reports it, too.
        for _ in range(2):
            qwen(repo, "UserPromptSubmit", prompt="again", submitted_prompt="again")
        repo.write("a", "by the agent\n")
        # Its continuation is no turn.
        qwen(repo, "Stop")
        qwen(repo, "UserPromptSubmit", prompt="", submitted_prompt=None)
        qwen(repo, "Stop")
    assert [found["label"] for found in taken(repo)] == ["again", "again"]
    commits = [line.split()[1] for line in refs(repo, "checkpoints")]
    assert [repo.git("show", f"{commit}:a") for commit in commits] == ["one\n", "two\n"]
    assert len(refs(repo, "turn-ends")) == 2


def test_a_prompt_that_nobody_is_known_to_have_sent_is_no_turn_again(repo: Repo) -> None:
    for _ in range(2):
        claude(repo, "UserPromptSubmit", prompt="one")
        claude(repo, "Stop")
    assert [found["label"] for found in taken(repo)] == ["one"]


def test_the_end_of_a_tool_does_not_open_a_turn_again(repo: Repo) -> None:
    claude(repo, "UserPromptSubmit", prompt="one")
    claude(repo, "Stop")
    ended = [turn.ended for turn in read_turns(str(repo.top / ".git/boocode"))]
    claude(repo, "PostToolUse", tool_name="Write")
    assert [turn.ended for turn in read_turns(str(repo.top / ".git/boocode"))] == ended == [True]
    claude(repo, "PreToolUse", tool_name="Write")
    assert [turn.ended for turn in read_turns(str(repo.top / ".git/boocode"))] == [False]


def test_an_older_id_with_the_same_prompt_is_a_new_turn(repo: Repo) -> None:
    for number, word in ((0, "one"), (1, "two"), (0, "one"), (1, "two")):
        turn_id = f"s####{number}"
        qwen(repo, "UserPromptSubmit", prompt_id=turn_id, prompt=word, submitted_prompt=word)
        qwen(repo, "Stop", prompt_id=turn_id)
    assert [found["label"] for found in taken(repo)] == ["one", "two", "one", "two"]


@pytest.mark.parametrize("words", [("restore", "--files-only", "@"), ("drop", "@")])
def test_the_same_prompt_again_after_the_turn_was_taken_back(
    words: tuple[str, ...], repo: Repo
) -> None:
    repo.write("a", "before\n")
    claude(repo, "UserPromptSubmit", prompt="one")
    repo.write("a", "after\n")
    claude(repo, "Stop")
    assert repo.boocode(*words).code == 0
    kept = len(taken(repo))
    claude(repo, "UserPromptSubmit", prompt="one")
    assert len(taken(repo)) == kept + 1
    # The other hook that is installed reports it, too.
    claude(repo, "UserPromptSubmit", prompt="one")
    assert len(taken(repo)) == kept + 1


def test_a_prompt_that_is_sent_while_the_agent_works(repo: Repo, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    path = str(transcript)
    claude(repo, "UserPromptSubmit", prompt="one", transcript_path=path)
    transcript.write_text('{"type":"user","promptId":"p1"}\n')
    repo.write("one", "x\n")
    claude(repo, "UserPromptSubmit", prompt="two", transcript_path=path)
    repo.write("two", "x\n")
    claude(repo, "Stop")
    first, second = taken(repo)
    assert [first["label"], second["label"]] == ["one", "two"]
    # The first one ended where the second one began, and both know it.
    ends = [ref.split()[0].rpartition("/")[2] for ref in refs(repo, "turn-ends")]
    assert ends == [first["id"], second["id"]]
    assert [changed(repo, "@~1"), changed(repo, "@")] == [["one"], ["two"]]
    # The transcript has the id at the first prompt only: the second one is found by its place.
    assert first["anchor"]["message"] == "p1"
    assert (second["anchor"]["message"], second["anchor"]["offset"]) == (None, 32)
    sound(repo)


def test_tools_belong_to_the_newest_turn_of_their_id(repo: Repo) -> None:
    turn(repo, session_id="other", prompt="beside")
    claude(repo, "UserPromptSubmit", prompt="one")
    claude(repo, "UserPromptSubmit", prompt="two")
    given = {"tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": "a"}}
    claude(repo, "PreToolUse", **given)
    repo.write("a", "x\n")
    claude(repo, "PostToolUse", **given)
    (states,) = refs(repo, "tool-states")
    assert states.split()[0].rpartition("/")[2] == taken(repo)[-1]["id"]
    assert changed(repo, "@") == ["a"]
    assert changed(repo, "@~1") == []


NOTICE = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n"


def test_a_finished_background_task_goes_on_with_the_turn(repo: Repo) -> None:
    claude(repo, "UserPromptSubmit", prompt="one")
    repo.write("one", "x\n")
    claude(repo, "Stop")
    repo.write("background", "x\n")
    claude(repo, "UserPromptSubmit", prompt=NOTICE, prompt_id="p2")
    repo.write("two", "x\n")
    claude(repo, "PreToolUse", prompt_id="p2", tool_name="Write")
    claude(repo, "Stop", prompt_id="p2")
    repo.write("by-hand", "x\n")
    (found,) = taken(repo)
    assert (found["label"], found["message"]) == ("one", "p1")
    assert changed(repo, "@") == ["background", "one", "two"]
    (lines,) = repo.boocode("blame", "two", "--json").json["ranges"]
    assert lines["checkpoint_id"] == found["id"]
    claude(repo, "UserPromptSubmit", prompt="three", prompt_id="p3")
    assert [each["label"] for each in taken(repo)] == ["one", "three"]


def test_a_notice_of_an_unknown_turn_begins_one(repo: Repo) -> None:
    claude(repo, "UserPromptSubmit", prompt=NOTICE)
    assert len(taken(repo)) == 1


@pytest.mark.parametrize("has_notice", [True, False])
def test_what_others_did_while_a_turn_was_over_is_theirs(*, has_notice: bool, repo: Repo) -> None:
    def write(session: str, path: str, turn_id: str) -> None:
        given = {"session_id": session, "prompt_id": turn_id, "tool_name": "Bash"}
        claude(repo, "PreToolUse", **given)
        repo.write(path, "x\n")
        claude(repo, "PostToolUse", **given)

    claude(repo, "UserPromptSubmit", prompt="one")
    write("s1", "one", "p1")
    claude(repo, "Stop")
    claude(repo, "UserPromptSubmit", session_id="s2", prompt_id="q1", prompt="other")
    write("s2", "other", "q1")
    # It goes on with what the agent does about a task in the background, or with a subagent there.
    if has_notice:
        claude(repo, "UserPromptSubmit", prompt=NOTICE, prompt_id="p2")
    write("s1", "two", "p2" if has_notice else "p1")
    write("s2", "another", "q1")
    if not has_notice:
        claude(repo, "UserPromptSubmit", prompt=NOTICE, prompt_id="p2")
    claude(repo, "Stop", prompt_id="p2")
    claude(repo, "Stop", session_id="s2", prompt_id="q1")
    assert changed(repo, "@~1") == ["one", "two"]
    assert changed(repo, "@") == ["another", "other"]
    sound(repo)
