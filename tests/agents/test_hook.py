"""Every event of every agent becomes a checkpoint that knows whose turn it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents.agent import Agent
from git_boocode.agents.hook_call import HookContext
from git_boocode.agents.registry import AGENTS
from git_boocode.repo.layout import HOOK_TURNS
from tests.agents.kit import LABEL, PAYLOADS, fire, logged, prompted, recorded, taken, turn
from tests.agents.kit import what as what_went_wrong
from tests.checkpoints.kit import refs, sound
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

each_agent = pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
each_with_tools = pytest.mark.parametrize(
    "agent", [agent for agent in AGENTS.values() if agent.tool], ids=lambda agent: agent.name
)
SESSIONS = {
    "antigravity": "conversationId",
    "cline": "sessionContext.rootSessionId",
    "copilot": "sessionId",
    "cursor": "conversation_id",
    "grok": "sessionId",
    "opencode": "sessionID",
    "pi": "sessionId",
    "windsurf": "trajectory_id",
}
TURNS = {
    "claude-code": "prompt_id",
    "codex": "turn_id",
    "cursor": "generation_id",
    "devin": "prompt_id",
    "grok": "promptId",
    "opencode": "messageID",
    "pi": "turnId",
    "qwen": "prompt_id",
    "windsurf": "execution_id",
}
# Its tools do not name the turn.
NAMELESS_TOOLS = ("grok",)
INVENTED = ("cursor", "windsurf")  # payloads that no program has sent
# The payload of Cursor at the end of a turn is unknown.
ENDS = [agent.name for agent in AGENTS.values() if agent.end and agent.name not in INVENTED]
ABORTS = [(agent.name, event) for agent in AGENTS.values() for event in agent.aborts]
PROMPT = "PROMPT-CHARLIE please do what you must"
FIRST_LINE = b'{"type":"user"}'


def part(payload: dict[str, Any], name: str | None) -> Any:
    """A value of a payload, by its dotted name."""
    for key in name.split(".") if name else ():
        payload = payload[key]
    return payload if name else None


def tool_of_turn(repo: Repo, agent: Agent) -> bytes:
    """What an agent sends before a tool of the turn whose payload is recorded."""
    text = recorded(repo, agent.name, agent.tool).decode()
    begun = json.loads(recorded(repo, agent.name, agent.turn), strict=False)
    for name in (SESSIONS.get(agent.name, "session_id"), TURNS.get(agent.name)):
        if name and name.split(".")[0] in json.loads(text, strict=False):
            old, new = (part(json.loads(t, strict=False), name) for t in (text, json.dumps(begun)))
            text = text.replace(old, new)
    return text.encode()


@pytest.fixture
def transcript(sealed: Path) -> Callable[[str], None]:
    """Writes the transcript that a payload names."""

    def write(path: str) -> None:
        Path(path).parent.mkdir(parents=True)
        Path(path).write_bytes(FIRST_LINE + b"\n" + b'{"half')

    return write


def test_there_is_a_payload_of_every_event() -> None:
    events = {
        f"{agent.name}.{event}"
        for agent in AGENTS.values()
        for event in (*agent.turn_events, agent.tool)
        if event and (event != agent.end or agent.name in ENDS)
    }
    assert {path.name.removesuffix(".json") for path in PAYLOADS.iterdir()} == events


@each_agent
def test_a_turn(agent: Agent, repo: Repo, transcript: Callable[[str], None]) -> None:
    repo.write("a", "a\n")
    data = recorded(repo, agent.name, agent.turn)
    payload = json.loads(data, strict=False)
    session = part(payload, SESSIONS.get(agent.name, "session_id"))
    message = part(payload, TURNS.get(agent.name))
    path = payload.get("transcript_path") if "transcript_path" in agent.fields.transcript else None
    path = path or payload.get("sessionFile")
    if agent.name == "copilot":
        path = f"{os.environ['HOME']}/.copilot/session-state/{session}/events.jsonl"
    if path:
        transcript(path)
    assert fire(repo, agent.name, agent.turn, payload=data).out == agent.answer
    (found,) = taken(repo)
    labels = {"antigravity": None, "cline": None, **dict.fromkeys(INVENTED, LABEL)}
    assert found["label"] == labels.get(agent.name, PROMPT)
    assert (found.get("prompt") == PROMPT) == (agent.name not in labels)
    assert (found["agent"], found["trigger"]) == (agent.name, agent.turn)
    assert (found["session"], found["message"]) == (session, message)
    named = {"agent": agent.name, "session": session, "message": message}
    anchor: dict[str, object] = {key: value for key, value in named.items() if value}
    if path:
        digest = f"sha256:{hashlib.sha256(FIRST_LINE).hexdigest()}"
        anchor |= {"path": path, "offset": 16, "hash": digest}
    assert found["anchor"] == anchor
    assert logged(repo) == []
    sound(repo)


@each_agent
def test_the_payload_alone_names_the_event(agent: Agent, repo: Repo) -> None:
    # Those of Copilot CLI and Antigravity name none, and Cline's has other names than the files.
    fire(repo, agent.name, payload=recorded(repo, agent.name, agent.turn))
    triggers = [] if agent.name in ("antigravity", "copilot", "cline") else [agent.turn]
    assert [found["trigger"] for found in taken(repo)] == triggers
    assert what_went_wrong(repo) == ([] if triggers else ["unknown_event"])


@each_with_tools
def test_a_tool(agent: Agent, repo: Repo) -> None:
    repo.git("config", "boocode.perTool", "true")
    file = "src/main.py" if agent.name in INVENTED else "greet.py"
    repo.write(file, "a\n")
    repo.write("b", "a\n")
    fire(repo, agent.name, agent.turn, payload=recorded(repo, agent.name, agent.turn))
    repo.write(file, "b\n")
    repo.write("b", "b\n")
    done = fire(repo, agent.name, agent.tool, payload=tool_of_turn(repo, agent))
    assert done.out == agent.answer
    first, second = taken(repo)
    assert (second["agent"], second["trigger"]) == (agent.name, agent.tool)
    assert second["session"] == first["session"]
    assert second["partial"]["paths"] == [f":(top,literal){file}"]
    assert repo.git("show", f"{refs(repo, 'checkpoints')[1].split()[1]}:b") == "a\n"
    assert repo.git("show", f"{refs(repo, 'checkpoints')[1].split()[1]}:{file}") == "b\n"
    assert logged(repo) == []


@each_with_tools
def test_a_tool_before_any_turn(agent: Agent, repo: Repo) -> None:
    repo.write("src/main.py", "a\n")
    for _ in range(2):
        fire(repo, agent.name, agent.tool, payload=tool_of_turn(repo, agent))
    # If the turn is named, the first of its tools stands for it.
    found = taken(repo)
    names_turn = agent.name in TURNS and agent.name not in NAMELESS_TOOLS
    assert len(found) == (names_turn or agent.name == "droid")
    assert all("partial" not in each for each in found)
    fire(repo, agent.name, agent.turn, payload=recorded(repo, agent.name, agent.turn))
    # A prompt without an id begins another one.
    assert len(taken(repo)) == 1 + (agent.name == "droid")


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_turn(name: str, repo: Repo) -> None:
    agent = AGENTS[name]
    data = recorded(repo, name, agent.end)
    fire(repo, name, agent.end, payload=data)
    assert refs(repo) == []
    payload = json.loads(data)
    repo.write("a", "one\n")
    begin = {**payload, "hook_event_name": agent.turn, "prompt": "one"}
    fire(repo, name, agent.turn, payload=begin)
    (begun,) = taken(repo)
    for text in ("two\n", "three\n"):
        repo.write("a", text)
        assert fire(repo, name, agent.end, payload=data).out == agent.answer
    repo.write("a", "by hand\n")
    (end,) = refs(repo, "turn-ends")
    assert end.split()[0] == f"refs/boocode/turn-ends/{begun['id']}"
    assert repo.git("show", f"refs/boocode/turn-ends/{begun['id']}:a") == "three\n"
    meta = json.loads(repo.git("log", "-1", "--format=%b", end.split()[1]))
    assert (meta["kind"], meta["turn"], meta["agent"]) == ("turn-end", begun["id"], name)
    assert (meta["session"], meta["message"]) == (begun["session"], begun["message"])
    # It is no checkpoint, and goes with the one of its turn.
    assert [row["id"] for row in repo.boocode("log", "--json").json["checkpoints"]] == [begun["id"]]
    assert repo.boocode("restore", "@").code == 0
    assert repo.read("a") == b"one\n"
    assert repo.boocode("drop", "--even-needed", begun["id"]).code == 0
    assert refs(repo, "turn-ends") == []
    sound(repo)


@pytest.mark.parametrize(("name", "event"), ABORTS)
def test_a_turn_that_is_aborted_ends(name: str, event: str, repo: Repo) -> None:
    agent = AGENTS[name]
    data = recorded(repo, name, event)
    fire(repo, name, event, payload=data)
    begin = {**json.loads(data), "hook_event_name": agent.turn, "prompt": "one"}
    fire(repo, name, agent.turn, payload=begin)
    (begun,) = taken(repo)
    repo.write("a", "of the turn\n")
    assert fire(repo, name, event, payload=data).out == agent.answer
    repo.write("a", "by hand\n")
    # It has ended already, as at the end of a session.
    fire(repo, name, event, payload=data)
    assert repo.git("show", f"refs/boocode/turn-ends/{begun['id']}:a") == "of the turn\n"
    assert len(refs(repo, "turn-ends")) == 1
    assert logged(repo) == []


def test_turns_of_which_only_tools_and_ends_are_reported(repo: Repo) -> None:
    """As `droid exec` does in one session."""
    for text in ("one\n", "two\n"):
        repo.write("a", text)
        for _ in range(2):
            fire(repo, "droid", "PreToolUse", payload=recorded(repo, "droid", "PreToolUse"))
            repo.write("a", "by the agent\n")
        fire(repo, "droid", "Stop", payload=recorded(repo, "droid", "Stop"))
    first, second = taken(repo)
    commits = [line.split()[1] for line in refs(repo, "checkpoints")]
    assert [repo.git("show", f"{commit}:a") for commit in commits] == ["one\n", "two\n"]
    assert (first["session"], first["trigger"]) == (second["session"], "PreToolUse")


def test_an_event_that_comes_again_during_a_turn(repo: Repo) -> None:
    """As Antigravity reports each request to the model."""
    for text in ("one\n", "two\n"):
        repo.write("a", text)
        for number in range(2):
            sent = json.loads(recorded(repo, "antigravity", "PreInvocation"))
            payload = {**sent, "invocationNum": number}
            done = fire(repo, "antigravity", "PreInvocation", payload=payload)
            assert done.out == "{}\n"
            repo.write("a", "by the agent\n")
        fire(repo, "antigravity", "Stop", payload=recorded(repo, "antigravity", "Stop"))
    commits = [line.split()[1] for line in refs(repo, "checkpoints")]
    assert [repo.git("show", f"{commit}:a") for commit in commits] == ["one\n", "two\n"]
    assert len(refs(repo, "turn-ends")) == 2


def test_a_turn_whose_end_was_not_reported_takes_no_other_turn(repo: Repo) -> None:
    sent = json.loads(recorded(repo, "antigravity", "PreInvocation"))
    for text in ("one\n", "two\n"):
        repo.write("a", text)
        # Two hooks report the first one.
        for number in (0, 0, 1, 2):
            payload = {**sent, "invocationNum": number}
            fire(repo, "antigravity", "PreInvocation", payload=payload)
            repo.write("a", "by the agent\n")
    commits = [line.split()[1] for line in refs(repo, "checkpoints")]
    assert [repo.git("show", f"{commit}:a") for commit in commits] == ["one\n", "two\n"]


def test_a_tool_begins_a_turn_if_the_one_before_was_killed_long_ago(repo: Repo) -> None:
    file = repo.top / ".git/boocode" / HOOK_TURNS
    for hours, count in ((0, 1), (0, 1), (23, 1), (2, 2)):
        if file.exists():
            rows = json.loads(file.read_text())
            ago = [{**row, "time": row["time"] - hours * 3600, "seen": 0.0} for row in rows]
            file.write_text(json.dumps(ago))
        fire(repo, "droid", "PreToolUse", payload=recorded(repo, "droid", "PreToolUse"))
        assert len(taken(repo)) == count


def test_the_end_of_a_session_of_grok_is_not_that_of_a_turn(repo: Repo) -> None:
    repo.write("a", "one\n")
    fire(repo, "grok", "UserPromptSubmit", payload=recorded(repo, "grok", "UserPromptSubmit"))
    repo.write("a", "by the agent\n")
    end = json.loads(recorded(repo, "grok", "Stop"))
    fire(repo, "grok", "Stop", payload=end)
    repo.write("a", "by hand\n")
    fire(repo, "grok", "Stop", payload={**end, "promptId": None, "reason": "shutdown"})
    (row,) = refs(repo, "turn-ends")
    assert repo.git("show", f"{row.split()[0]}:a") == "by the agent\n"
    # It runs the hooks of Claude Code and Cursor as well.
    begun = recorded(repo, "grok", "UserPromptSubmit")
    fire(repo, "claude-code", "UserPromptSubmit", payload=begun)
    fire(repo, "cursor", "beforeSubmitPrompt", payload=begun)
    assert [found["agent"] for found in taken(repo)] == ["grok"]


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("grok", ".grok/sessions/%2Fw/{session}/chat_history.jsonl"),
        ("kimi", ".kimi-code/sessions/wd_w_0/{session}/agents/main/wire.jsonl"),
    ],
)
def test_a_transcript_is_found_by_its_session(
    name: str, below: str, repo: Repo, sealed: Path, transcript: Callable[[str], None]
) -> None:
    data = recorded(repo, name, "UserPromptSubmit")
    session = json.loads(data)[SESSIONS.get(name, "session_id")]
    path = str(sealed / below.format(session=session))
    transcript(path)
    fire(repo, name, "UserPromptSubmit", payload=data)
    anchor = taken(repo)[0]["anchor"]
    assert (anchor["path"], anchor["offset"]) == (path, 16)


def test_older_versions_of_cline_report_each_turn_once(repo: Repo) -> None:
    payload = json.loads(recorded(repo, "cline", "UserPromptSubmit"))
    fire(repo, "cline", "TaskStart", payload={**payload, "hookName": "TaskStart"})
    fire(repo, "cline", "UserPromptSubmit", payload=payload)
    assert [found["trigger"] for found in taken(repo)] == ["UserPromptSubmit"]
    assert taken(repo)[0]["session"] == payload["taskId"]


def test_a_session_of_which_only_tools_are_told(repo: Repo) -> None:
    payload = {"conversation_id": "c1", "workspace_roots": [str(repo.top)]}
    for _ in range(2):
        fire(repo, "cursor", "preToolUse", payload=payload)
    assert len(taken(repo)) == 1


def test_the_command_line_tells_the_event_before_the_payload_does(repo: Repo) -> None:
    payload = prompted(repo, hook_event_name="PreToolUse")
    fire(repo, "claude", "UserPromptSubmit", payload=payload)
    (found,) = taken(repo)
    assert (found["agent"], found["trigger"]) == ("claude-code", "UserPromptSubmit")


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("nobody", "UserPromptSubmit"), "unknown_agent"),
        ((), "unknown_agent"),
        (("claude-code",), "unknown_event"),
        (("claude-code", "SubagentStop"), "unknown_event"),
        (("git",), "unknown_event"),
    ],
)
def test_what_is_called_wrongly_is_only_logged(
    words: tuple[str, ...], word: str, repo: Repo
) -> None:
    assert fire(repo, *words, payload={"cwd": str(repo.top)}).out == ""
    assert what_went_wrong(repo) == [word]
    assert taken(repo) == []


def test_a_turn_without_changes_costs_a_commit_and_a_ref(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("b", "b\n")
    turn(repo, prompt="one")
    objects, before = repo.git("count-objects"), len(refs(repo))
    turn(repo, prompt="two")
    assert int(repo.git("count-objects").split()[0]) == int(objects.split()[0]) + 1
    assert len(refs(repo)) == before + 1
    first, second = repo.git(
        "for-each-ref", "--format=%(tree)", "refs/boocode/checkpoints/"
    ).split()
    assert first == second


def everything_in(repo: Repo) -> bytes:
    """All that is kept of a repository: its private files, and what its objects hold."""
    files = [path.read_bytes() for path in (repo.top / ".git").rglob("*") if path.is_file()]
    listed = repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    return b"".join(files) + "".join(repo.git("cat-file", "-p", each) for each in listed).encode()


LONG = "Fix the parser of dates, which takes the thirtieth of February\nxyzzy: only ünusual ones\n"


def test_the_whole_prompt_is_kept(repo: Repo) -> None:
    turn(repo, prompt=f"\n{LONG}")
    (found,) = taken(repo)
    assert found["label"] == "Fix the parser of dates, which takes the thirtieth of …"
    assert found["prompt"] == LONG.strip()
    (name,) = refs(repo, "checkpoints")
    subject = repo.git("log", "-1", "--format=%s", name.split()[1])
    assert subject.startswith("boocode checkpoint: Fix the parser of dates")
    assert len(subject) <= 73
    assert repo.boocode("log", "--json").json["checkpoints"][0]["prompt"] == LONG.strip()
    assert repo.boocode("show", "--json").json["checkpoint"]["prompt"] == LONG.strip()


def test_a_huge_prompt_is_cut_at_a_character(repo: Repo) -> None:
    turn(repo, prompt="a" + "ü" * (1 << 20))
    (found,) = taken(repo)
    assert found["prompt"] == "a" + "ü" * (32767)
    assert len(found["prompt"].encode()) == (64 << 10) - 1


def test_only_the_first_line_of_prompts(repo: Repo) -> None:
    repo.git("config", "boocode.prompts", "First-Line")
    turn(repo, prompt=LONG)
    (found,) = taken(repo)
    assert found["prompt"] == LONG.splitlines()[0]
    assert b"xyzzy" not in everything_in(repo)


@pytest.mark.parametrize(
    ("key", "wanted", "word"),
    [
        ("promptLabels", "false", []),
        ("promptLabels", "flase", ["bad_config"]),
        ("prompts", "none", []),
        ("prompts", "some", ["bad_config"]),
    ],
)
def test_prompts_can_be_kept_out(key: str, wanted: str, word: list[str], repo: Repo) -> None:
    repo.git("config", f"boocode.{key}", wanted)
    turn(repo, prompt="xyzzy is secret", cwd=str(repo.top))
    fire(repo, "claude-code", "Nothing", payload=prompted(repo, prompt="xyzzy"))
    assert taken(repo)[0]["label"] is None
    assert b"xyzzy" not in everything_in(repo)
    assert what_went_wrong(repo) == [*word, "unknown_event"]


def test_prompts_are_in_no_log(repo: Repo) -> None:
    fire(repo, "claude-code", "UserPromptSubmit", payload=b'{"prompt": "xyzzy", oops')
    fire(
        repo, "claude-code", "UserPromptSubmit", payload=prompted(repo, prompt="xyzzy", cwd=["/1"])
    )
    assert what_went_wrong(repo) == ["bad_payload", "no_such_directory"]
    assert not any("xyzzy" in str(entry) for entry in logged(repo))
    context = HookContext()
    context.note(ValueError("xyzzy"))
    assert "ValueError" in context.problem
    assert "xyzzy" not in context.problem


def test_where_there_is_no_repository_nothing_happens(repo: Repo, tmp_path: Path) -> None:
    fire(repo, "claude-code", "UserPromptSubmit", payload=prompted(repo, cwd=str(tmp_path)))
    fire(repo, "claude-code", "UserPromptSubmit", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not taken(repo)
    assert not logged(repo)


def test_a_directory_that_is_not_there_is_logged_where_the_hook_runs(
    repo: Repo, tmp_path: Path
) -> None:
    turn(repo, cwd=str(tmp_path / "gone"))
    assert not taken(repo)
    assert what_went_wrong(repo) == ["no_such_directory"]


def test_an_agent_that_has_removed_its_directory_works_in_the_one_above(repo: Repo) -> None:
    turn(repo, cwd=str(repo.top / "gone/deep"))
    assert len(taken(repo)) == 1
    assert not logged(repo)


def test_an_agent_whose_linked_worktree_is_gone_works_nowhere(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "linked")
    shutil.rmtree(repo.top / "linked")
    turn(repo, cwd=str(repo.top / "linked"))
    assert not taken(repo)
    assert what_went_wrong(repo) == ["no_such_directory"]


def test_an_agent_that_has_removed_its_directory_in_a_nested_repository(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(repo.top))
    repo.commit(a="a\n")
    repo.git("init", "-q", "nested")
    turn(repo, cwd=str(repo.top / "nested/gone"))
    assert len(taken(repo)) == 1
    assert repo.git("-C", "nested", "for-each-ref", "refs/boocode/checkpoints")
    assert not logged(repo)


def test_an_agent_that_went_into_a_nested_repository_works_in_both(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(repo.top))
    repo.commit(a="a\n")
    repo.git("init", "-q", "nested")
    repo.git("worktree", "add", "-q", "linked")
    turn(repo)
    fire(repo, "claude-code", "Stop", payload=prompted(repo, cwd=str(repo.top / "nested")))
    assert len(refs(repo, "turn-ends")) == 1
    # A linked worktree is another place to work in.
    turn(repo, session_id="s2", cwd=str(repo.top / "linked"))
    assert [each["worktree"]["path"] for each in taken(repo)] == [
        str(repo.top),
        str(repo.top / "linked"),
    ]


def test_in_a_bare_repository_it_is_logged(repo: Repo) -> None:
    repo.git("init", "-q", "--bare", "bare.git")
    turn(repo, cwd=str(repo.top / "bare.git"))
    assert not taken(repo)
    assert not logged(repo)
    assert "no_worktree" in (repo.top / "bare.git/boocode/hooks.log").read_text()


def test_a_home_directory_is_refused(repo: Repo) -> None:
    payload = prompted(repo)
    fire(repo, "claude-code", "UserPromptSubmit", payload=payload, env={"HOME": str(repo.top)})
    assert taken(repo) == []
    (entry,) = logged(repo)
    assert (entry.agent, entry.event) == ("claude-code", "UserPromptSubmit")
    assert (entry.what, entry.worktree) == ("home_worktree", str(repo.top))


def test_an_agent_that_a_git_hook_has_started(repo: Repo) -> None:
    repo.git("init", "-q", "other")
    repo.write("a", "a\n")
    env = {"GIT_DIR": str(repo.top / "other/.git"), "GIT_INDEX_FILE": "index.lock"}
    fire(repo, "claude-code", "UserPromptSubmit", payload=prompted(repo), env=env)
    assert len(taken(repo)) == 1
    assert not taken(Repo(repo.top / "other"))
    env = {"GIT_DIR": str(repo.top / "other/.git"), "GIT_WORK_TREE": str(repo.top)}
    fire(repo, "claude-code", "UserPromptSubmit", payload=prompted(repo), env=env)
    assert len(taken(Repo(repo.top / "other"))) == 1


def test_each_of_several_roots(repo: Repo) -> None:
    for name in ("one", "two"):
        repo.git("init", "-q", name)
        repo.write(f"{name}/sub/file", name)
    roots = [str(repo.top / each) for each in ("one", "one/sub", "two/sub", "nowhere")]
    payload = {"conversation_id": "c", "generation_id": "g", "workspace_roots": [*roots, 7, None]}
    fire(repo, "cursor", "beforeSubmitPrompt", payload=payload)
    assert taken(repo) == []
    assert [len(taken(Repo(repo.top / name))) for name in ("one", "two")] == [1, 1]


def test_a_turn_that_a_tool_begins_counts_in_each_root(repo: Repo) -> None:
    for name in ("one", "two"):
        repo.git("init", "-q", name)
    repo.git("config", "-f", "two/.git/config", "boocode.perTool", "true")
    one, two = (str(repo.top / each) for each in ("one", "two"))
    given = {"path": "../two/file"}
    roots = [one, two]
    payload = {"generation_id": "g", "cwd": one, "workspace_roots": roots, "tool_input": given}
    for _ in range(2):
        fire(repo, "cursor", "preToolUse", payload=payload)
    found = [taken(Repo(repo.top / name)) for name in ("one", "two")]
    assert [len(each) for each in found] == [1, 2]
    assert found[1][1]["partial"]["paths"] == [":(top,literal)file"]


def test_one_root_that_fails_does_not_stop_the_others(repo: Repo) -> None:
    repo.git("init", "-q", "--bare", "bare.git")
    roots = [str(repo.top / "bare.git"), str(repo.top)]
    fire(repo, "cursor", "beforeSubmitPrompt", payload={"workspace_roots": roots})
    assert len(taken(repo)) == 1


def test_what_a_callback_runs_takes_none(repo: Repo) -> None:
    from git_boocode.repo.lock import INSIDE_RESTORE, worktree_lock

    payload = prompted(repo)
    env = {INSIDE_RESTORE: "1"}
    with worktree_lock(str(repo.top / ".git/boocode"), shared=False, patience=0):
        fire(repo, "claude-code", "UserPromptSubmit", payload=payload, env=env)
    assert not taken(repo)
    assert not logged(repo)
    # What outlives the restore is served again.
    fire(repo, "claude-code", "UserPromptSubmit", payload=payload, env=env)
    assert len(taken(repo)) == 1


def test_a_linked_worktree_has_checkpoints_of_its_own(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    turn(repo, cwd=str(tmp_path / "linked"))
    fire(repo, "claude-code", "Nothing", payload=prompted(repo), cwd=tmp_path / "linked")
    assert taken(repo)[0]["worktree"]["name"] == "linked"
    assert what_went_wrong(repo) == ["unknown_event"]


def test_a_setting_that_makes_no_sense(repo: Repo) -> None:
    values = [("hookTimeout", value) for value in ("", "0", "nan", "1e3", "99999", "1_0")]
    for number, (key, value) in enumerate([*values, ("perTool", "sometimes")], 1):
        repo.git("config", f"boocode.{key}", value)
        turn_id = f"t{number}"
        fire(repo, "codex", "PreToolUse", payload={"turn_id": turn_id, "cwd": str(repo.top)})
        repo.git("config", "--unset", f"boocode.{key}")
        assert len(taken(repo)) == number
        assert what_went_wrong(repo) == ["bad_config"] * number


def test_old_checkpoints_are_pruned(repo: Repo) -> None:
    repo.git("config", "boocode.keep", "1")
    turn(repo, prompt="one")
    os.utime(repo.top / ".git/boocode/last-prune", (0, 0))
    turn(repo, prompt="two")
    assert [found["label"] for found in taken(repo)] == ["two"]
