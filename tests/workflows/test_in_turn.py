"""A checkpoint that an agent takes during its own turn begins no turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents.kit import fire, prompted
from tests.checkpoints.kit import sound
from tests.repo_kit import Repo
from tests.server.kit import Client, serving

pytestmark = pytest.mark.slow


@pytest.fixture
def agent(repo: Repo) -> Iterator[Client]:
    """A server that Claude Code has started in a repository with a commit."""
    repo.commit("Begin", a="one\ntwo\nthree\n")
    env = {"CLAUDE_CODE_SESSION_ID": "s5"}
    with serving("--tools", "all", cwd=".", env=env) as client:
        client.name = "claude-code"
        client.begin()
        yield client


def hook(repo: Repo, event: str, session: str = "s5", **told: Any) -> None:
    told = {"session_id": session, "prompt_id": f"p-{session}", **told}
    fire(repo, "claude-code", event, payload=prompted(repo, **told))


def checkpoint(client: Client, label: str = "before risk", **given: Any) -> str:
    return str(client.succeed("checkpoint", label=label, **given)["id"])


def write(repo: Repo, path: str, content: str) -> None:
    given: dict[str, Any] = {
        "tool_name": "Write",
        "tool_use_id": path,
        "tool_input": {"file_path": path},
    }
    hook(repo, "PreToolUse", **given)
    repo.write(path, content)
    hook(repo, "PostToolUse", **given)


def work(repo: Repo, client: Client) -> tuple[str, str]:
    """A turn with a checkpoint in it: the ids of both."""
    hook(repo, "UserPromptSubmit")
    write(repo, "b", "first\n")
    inside = checkpoint(client)
    write(repo, "b", "first\nsecond\n")
    write(repo, "c", "new\n")
    hook(repo, "Stop")
    [begun] = [row["id"] for row in rows(repo, "--session", "s5") if row["id"] != inside]
    return begun, inside


def rows(repo: Repo, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = repo.boocode("log", "--json", *words).json["checkpoints"]
    return found


@pytest.mark.parametrize("has_company", [False, True])
def test_the_turn_is_one(*, has_company: bool, repo: Repo, agent: Client) -> None:
    if has_company:
        hook(repo, "UserPromptSubmit", "other")
    begun, inside = work(repo, agent)
    row, turn = (each for each in rows(repo) if each["session"] == "s5")
    assert (row["id"], row["in_turn"], row["end"], row["files"]) == (inside, begun, None, None)
    assert (turn["id"], turn["files"], turn["added"]) == (begun, 2, 3)
    assert "in_turn" not in turn
    ranges = repo.boocode("blame", "b", "--json").json["ranges"]
    assert [(each["checkpoint_id"], each["end_line"]) for each in ranges] == [(begun, 2)]
    done = repo.boocode("revert", "--session", "s5", "--json")
    assert (done.code, done.json["turns"]) == (0, [begun]), done.err
    assert not (repo.top / "b").exists()
    sound(repo)


def test_what_people_read(repo: Repo, agent: Client) -> None:
    begun, inside = work(repo, agent)
    lines = repo.boocode("log").out.splitlines()
    first, second = (line for line in lines if line.startswith("@"))
    assert first.split()[0] == "@"
    assert first.endswith("(during a turn) before risk")
    assert "?" not in first
    assert "2 files +3 −0" in " ".join(second.split())
    shown = repo.boocode("show", "@").out
    assert f"taken during {begun[:13]}" in shown
    done = repo.boocode("revert", "@")
    assert done.code == 1
    assert f"'{inside[:13]}' was taken in the turn {begun[:13]}" in done.err
    assert f"git boocode revert {begun}" in done.err
    assert "began no turn" in repo.boocode("diff", "--turn", "@").err
    # Without a name, it is the turn.
    assert begun in repo.boocode("revert", "--json").out
    assert "1 turn" not in repo.boocode("log", "-S", "second").err


def test_it_can_be_restored(repo: Repo, agent: Client) -> None:
    begun, _ = work(repo, agent)
    done = repo.boocode("restore", "@")
    assert (done.code, repo.read("b")) == (0, b"first\n")
    assert not (repo.top / "c").exists()
    why = f"recorded during a turn, and 'git boocode restore {begun}' goes back to before all of it"
    assert f"the conversation was left alone: this was {why}" in done.err
    assert "--callback" not in done.err
    done = repo.boocode("restore", "@", "--conversation-only")
    hint = f"'git boocode restore {begun} --conversation-only' takes it to before that turn"
    assert (done.code, f"hint: {hint}" in done.err) == (1, True)
    assert repo.boocode("undo").code == 0
    assert repo.boocode("restore", begun).code == 0
    assert not (repo.top / "b").exists()
    assert rows(repo) == rows(repo, "--session", "s5")
    sound(repo)


def test_it_can_be_restored_in_the_turn(repo: Repo, agent: Client) -> None:
    hook(repo, "UserPromptSubmit")
    checkpoint(agent)
    repo.write("c", "new\n")
    answer = agent.succeed("restore", checkpoint="@")
    assert answer["conversation_kept"] is True
    assert f"'git boocode restore {rows(repo)[1]['id']}' goes" in answer["conversation_note"]
    assert not (repo.top / "c").exists()


def test_it_does_not_end_a_turn_whose_end_is_not_known(repo: Repo, agent: Client) -> None:
    hook(repo, "UserPromptSubmit")
    repo.write("b", "first\n")
    checkpoint(agent)
    repo.write("c", "new\n")
    inside, turn = rows(repo)
    assert (inside["end"], turn["end"], turn["files"]) == (None, "now", 2)


def test_outside_a_turn_it_begins_one(repo: Repo, agent: Client) -> None:
    hook(repo, "UserPromptSubmit")
    hook(repo, "Stop")
    given = {"agent": "claude-code", "session": "s5"}
    checkpoint(agent, **given)
    hook(repo, "UserPromptSubmit", prompt_id="next")
    checkpoint(agent, session="another")
    repo.write("b", "first\n")
    assert [row.get("in_turn") for row in rows(repo)] == [None] * 4
    # The turn in which it would be is gone from the log.
    assert repo.boocode("drop", "@~1").code == 0
    checkpoint(agent, **given)
    repo.write("c", "new\n")
    assert (rows(repo)[0].get("in_turn"), rows(repo)[0]["files"]) == (None, 1)


@pytest.mark.parametrize("words", [("checkpoint",), ("run", "--", "true")])
def test_in_a_shell_of_the_agent(
    words: tuple[str, ...], repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("Begin")
    hook(repo, "UserPromptSubmit")
    for number, session in enumerate(("", "s5", "another")):
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
        repo.write("a", str(number))
        assert repo.boocode(*words).code == 0
    turn = rows(repo)[-1]["id"]
    assert [row.get("in_turn") for row in rows(repo)] == [None, turn, None, None]
