"""The conversation of a turn, from transcripts that the real agents have written."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from git_boocode.agents import transcript
from git_boocode.agents.agent import transcript_directories, xdg_directory
from git_boocode.agents.messages import FORMATS
from git_boocode.agents.registry import AGENTS
from git_boocode.agents.transcript import transcript_position
from git_boocode.checkpoints.restore.request import LATER_CHANGES, NEWER_TURNS, RestoreRequest
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.repository import Repository
from git_boocode.workflows.restore_with_edits import restore, undo
from git_boocode.workflows.turn_conversation import TurnConversation, conversation_of_turn
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

TRANSCRIPTS = Path(__file__).parents[1] / "agents/transcripts"
# By agent, the tools with which it writes a file and runs a command, if its transcript has both.
TOOLS = {
    "claude-code": ("Write", "Bash"),
    "codex": ("apply_patch", "exec_command"),
    "copilot": ("create", "bash"),
    "droid": ("Create", ""),
    "gemini": ("write_file", ""),
    "grok": ("write", "run_terminal_command"),
    "kimi": ("Write", "Bash"),
    "opencode": ("write", "bash"),
    "pi": ("write", "bash"),
    "qwen": ("write_file", ""),
}
FIRST, SECOND, LAST = (
    "Please write alpha down",
    "Please say how many menus there are.\nCount them **twice**.",
    "Please write bravo down",
)
TOKEN = f"ghp_{'a1B2' * 9}"


@pytest.fixture(autouse=True)
def begun(repo: Repo) -> None:
    repo.commit(a="a\n")


def said(name: str = "@") -> TurnConversation:
    return conversation_of_turn(Repository.discover(), name)


def texts(found: TurnConversation) -> list[str]:
    """What was said, and the tools in brackets."""
    return [each.get("text") or f"[{each['name']} {each['summary']}]" for each in found.entries]


def line(role: str, text: object, **more: object) -> bytes:
    """A line as Claude Code writes it."""
    row = {"type": role, "message": {"role": role, "content": text}, **more}
    return json.dumps(row).encode() + b"\n"


class Session:
    """A session of Claude Code or another agent with a transcript of its own."""

    def __init__(self, agent: str = "claude-code", name: str = "s1") -> None:
        self.agent, self.name = agent, name
        [directory, *_] = transcript_directories(AGENTS[agent])
        self.path = Path(directory, "shop", f"{name}.jsonl")
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def begin(self, prompt: str, **more: Any) -> Checkpoint:
        """Take the checkpoint of a turn that begins now."""
        anchor = transcript_position(str(self.path))._asdict()
        given = {"anchor": anchor, "prompt": prompt, "label": prompt.partition("\n")[0], **more}
        return take(agent=self.agent, session=self.name, **given)

    def write(self, *lines: bytes) -> None:
        with self.path.open("ab") as file:
            file.writelines(lines)

    def turn(self, prompt: str, *lines: bytes) -> Checkpoint:
        taken = self.begin(prompt)
        self.write(line("user", prompt), *lines)
        return taken


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted(FORMATS.keys() - {"opencode", "cursor"}))
def test_real_transcripts(agent: str, repo: Repo) -> None:
    lines = (TRANSCRIPTS / f"{agent}.jsonl").read_bytes().splitlines(keepends=True)
    session = Session(agent)
    prompts = [
        each for each in (FIRST, SECOND, LAST) if json.dumps(each)[1:-1].encode() in b"".join(lines)
    ]
    begins = [
        next(at for at, each in enumerate(lines) if json.dumps(prompt)[1:-1].encode() in each)
        for prompt in prompts
    ]
    turns: list[Checkpoint] = []
    for prompt, (begin, end) in zip(prompts, pairwise([*begins, len(lines)]), strict=True):
        if not turns:
            session.write(*lines[:begin])
        turns.append(session.begin(prompt))
        session.write(*lines[begin:end])
    for turn, prompt in zip(turns, prompts, strict=True):
        found = said(turn.id)
        assert (found.missing, found.unread, found.cut) == ("", 0, False)
        first, *tools, last = [each for each in found.entries if each.get("name") != "subagent"]
        assert (first["role"], first["text"]) == ("user", prompt)
        assert (last["role"], last["text"]) == ("assistant", "All done.")
        writes, runs = TOOLS[agent]
        if prompt in (FIRST, LAST):
            word = prompt.split()[2]
            assert [tool["name"] for tool in tools] == [writes]
            assert tools[0]["summary"].endswith(f"{word}.txt +1 −0")
            assert "result" in tools[0]
        elif runs:
            assert [(each["name"], each["summary"]) for each in tools[:1]] == [
                (runs, "echo two menus")
            ]
            assert "two menus" in tools[0]["result"]
    assert all(agent == "grok" or "time" in each for each in found.entries)


def test_subagents_are_one_entry(repo: Repo) -> None:
    lines = (TRANSCRIPTS / "copilot.jsonl").read_bytes().splitlines(keepends=True)
    session = Session("copilot")
    session.begin(FIRST)
    session.write(*lines)
    assert texts(said()).count("[subagent 2 messages]") == 1


@pytest.fixture
def database(sealed: Path) -> Iterator[sqlite3.Connection]:
    """The database of opencode with three turns, without what nobody reads."""
    path = Path(xdg_directory("XDG_DATA_HOME", str(sealed), ".local/share"), "opencode/opencode.db")
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as made:
        made.executescript((TRANSCRIPTS / "opencode.sql").read_text())
        made.commit()
        yield made


def test_messages_in_a_database(database: sqlite3.Connection) -> None:
    rows = database.execute("SELECT id, session_id FROM message WHERE data LIKE '%\"user\"%'")
    ids = sorted(rows.fetchall())
    turns = [
        take(agent="opencode", session=session, message=identifier, prompt=prompt)
        for (identifier, session), prompt in zip(ids, (FIRST, SECOND, LAST), strict=True)
    ]
    expected = [
        [FIRST, "[write alpha.txt +1 −0]", "All done."],
        [SECOND, "[bash echo two menus]", "All done."],
        [LAST, "[write bravo.txt +1 −0]", "All done."],
    ]
    summaries = [[each.replace("/home/me/shop/", "") for each in texts(said(t.id))] for t in turns]
    assert summaries == expected
    # As the callback deletes and saves them.
    database.execute(f'CREATE TABLE "boocode_kept_{take().id}" AS SELECT rowid, * FROM message')
    database.execute("DELETE FROM message WHERE id >= ?", (ids[1][0],))
    database.commit()
    assert [each.replace("/home/me/shop/", "") for each in texts(said(turns[2].id))] == expected[2]
    database.execute("DROP TABLE part")
    assert "are not in" in said(turns[0].id).missing


def test_only_what_belongs_to_the_turn_of_the_session(repo: Repo) -> None:
    one, other = Session(name="s1"), Session(name="s2")
    first = one.turn("Begin", line("assistant", "Begun."))
    between = other.turn("Elsewhere", line("assistant", "There."))
    second = one.turn("Go on", line("assistant", "Done."))
    during = take(agent="claude-code", session="s1", in_turn=first.id)
    assert texts(said(first.id)) == texts(said(during.id)) == ["Begin", "Begun."]
    assert texts(said(between.id)) == ["Elsewhere", "There."]
    assert texts(said(second.id)) == ["Go on", "Done."]


def test_the_end_of_an_answer_that_was_written_late(repo: Repo) -> None:
    session = Session()
    session.turn("Begin")
    latest = session.begin("Go on")
    session.write(line("assistant", "Begun."), line("user", "Go on"), line("assistant", "Done."))
    assert texts(said(latest.id)) == ["Go on", "Done."]


def test_a_turn_that_has_just_begun(repo: Repo) -> None:
    session = Session()
    session.write(line("summary", ""))
    found = said(session.begin("Begin\n\nwith care").id)
    assert (texts(found), found.missing) == (["Begin\n\nwith care"], "")


def test_a_line_that_is_just_being_written(repo: Repo) -> None:
    session = Session()
    taken = session.turn("a", line("assistant", "A"), line("assistant", "B").rstrip())
    assert (texts(said(taken.id)), said(taken.id).unread) == (["a", "A", "B"], 0)
    session.write(b"\n", line("assistant", "C")[:-9])
    assert (texts(said(taken.id)), said(taken.id).unread) == (["a", "A", "B"], 0)


def test_a_checkpoint_whose_turn_was_dropped(repo: Repo) -> None:
    session = Session()
    session.turn("a", line("assistant", "A"))
    during = session.begin("", in_turn="01a22578-e17d-7af2-9605-f192cd2aa8eb")
    session.write(line("assistant", "B"))
    assert texts(said(during.id)) == ["B"]


def test_a_transcript_that_was_rewritten(repo: Repo) -> None:
    session = Session()
    turns = [session.turn(each, line("assistant", each.upper())) for each in ("a", "b", "c")]
    rest = session.path.read_bytes()
    session.path.write_bytes(b'{"type": "summary"}\n' + rest)
    assert [texts(said(each.id)) for each in turns[1:]] == [["b", "B"], ["c", "C"]]
    session.path.write_bytes(b'{"type": "summary"}\n')
    found = said(turns[1].id)
    assert texts(found) == ["b"]
    assert "was cut or rewritten since" in found.missing
    session.path.unlink()
    assert said(turns[1].id).missing.endswith("does not exist")


@pytest.mark.slow
def test_turns_that_a_restore_has_cut_off(repo: Repo) -> None:
    """Codex's transcripts are cut, and copied before that."""

    def told(role: str, text: str) -> bytes:
        message = {"type": "message", "role": role, "content": [{"type": "text", "text": text}]}
        return json.dumps({"type": "response_item", "payload": message}).encode() + b"\n"

    session = Session("codex")
    turns = []
    for word in ("a", "b", "c"):
        repo.write("a", f"before {word}\n")
        turns.append(session.begin(word))
        session.write(told("user", word), told("assistant", word.upper()))
    restore(Repository.discover(), turns[2].id, RestoreRequest())
    assert [texts(said(each.id)) for each in turns] == [["a", "A"], ["b", "B"], ["c", "C"]]
    restore(Repository.discover(), turns[1].id, RestoreRequest())
    assert [texts(said(each.id)) for each in turns] == [["a", "A"], ["b", "B"], ["c", "C"]]
    # The next turn begins at the same place.
    new = session.begin("d")
    session.write(told("user", "d"), told("assistant", "D"))
    assert [texts(said(each.id)) for each in turns] == [["a", "A"], ["b", "B"], ["c", "C"]]
    assert texts(said(new.id)) == ["d", "D"]
    force = frozenset({LATER_CHANGES, NEWER_TURNS})
    undo(Repository.discover(), RestoreRequest(force=force))
    assert [texts(said(each.id)) for each in (*turns, new)] == [
        *(["a", "A"], ["b", "B"], ["c", "C"], ["d", "D"])
    ]


def test_a_fork_has_its_own_transcript(repo: Repo) -> None:
    session, fork = Session(name="s1"), Session(name="s2")
    session.turn("a", line("assistant", "A"))
    fork.write(session.path.read_bytes())
    begun = fork.turn("b", line("assistant", "B"))
    session.turn("c", line("assistant", "C"))
    assert texts(said(begun.id)) == ["b", "B"]


def test_nothing_but_transcripts_of_the_agent_is_read(repo: Repo, sealed: Path) -> None:
    secret = sealed / "diary.jsonl"
    secret.write_bytes(line("user", "Dear diary"))
    session = Session()
    linked, pipe = session.path.with_name("s2.jsonl"), session.path.with_name("s3.jsonl")
    linked.symlink_to(secret)
    os.mkfifo(pipe)
    directory = session.path.with_name("s4.jsonl")
    directory.mkdir()
    aside = session.path.with_name("s5.txt")
    aside.write_bytes(line("user", "Dear diary"))
    reasons = {
        str(secret): "is not where the agent keeps its transcripts",
        str(linked): "is not where the agent keeps its transcripts",
        f"{session.path.parent}/../../../diary.jsonl": "is not where",
        str(pipe): "is not a regular file",
        str(directory): "is not a regular file",
        str(aside): "is not a transcript",
        "\0.jsonl": "is not a transcript",
        "/\ud800.jsonl": "cannot be read",
    }
    for path, reason in reasons.items():
        found = said(session.begin("p", anchor={"path": path, "offset": 0, "hash": None}).id)
        assert reason in found.missing, path
        assert texts(found) == ["p"]
    repo.git("config", "boocode.transcripts", str(sealed))
    taken = session.begin("p", anchor={"path": str(secret), "offset": 0, "hash": None})
    assert texts(said(taken.id)) == ["Dear diary"]


def test_a_copy_that_is_a_link_is_not_read(repo: Repo, sealed: Path) -> None:
    session = Session()
    session.write(line("user", "a"))
    taken = session.begin("b")
    data = session.path.read_bytes()
    session.path.write_bytes(b"")
    (sealed / "diary").write_bytes(data + line("user", "Dear diary"))
    Path(f"{session.path}.before-{take().id}").symlink_to(sealed / "diary")
    assert texts(said(taken.id)) == ["b"]


def test_what_was_recorded_elsewhere_names_no_file(repo: Repo) -> None:
    session = Session()
    taken = session.turn("a", line("assistant", "A"))
    key = repo.top / ".git/boocode/origin-key"
    key.write_bytes(bytes(len(key.read_bytes())))
    found = said(taken.id)
    assert texts(found) == ["a"]
    assert "nothing proves" in found.missing


def test_who_has_no_conversation(repo: Repo) -> None:
    by_hand = said(take(label="By hand").id)
    assert (texts(by_hand), by_hand.missing) == ([], "no agent took part in it")
    assert "Cline cannot be read" in said(take(agent="cline", session="s").id).missing
    assert "not known where" in said(take(agent="codex", session="s").id).missing


def test_hostile_lines(repo: Repo) -> None:
    session = Session()
    taken = session.begin("a")
    session.write(
        b"not JSON\n",
        b"[1, 2]\n",
        b'{"type": "user", "message": {"role": "user", "content": "half\n',
        b"[" * 200_000 + b"\n",
        b"\xff\xfe\n",
        b'{"type": ["user"], "message": 7}\n',
        b'{"type": "user", "message": {"role": ["user"], "content": {"text": 1}}}\n',
        line("user", [7, None, {"type": "text", "text": ["a"]}, {"type": "tool_use", "name": 3}]),
        line("user", "a", timestamp="no time"),
        line("assistant", "<script>alert(1)</script>\x1b[2J\u202e", timestamp=10**400),
        line("assistant", [{"type": "tool_use", "id": "c", "name": "Bash", "input": "x" * 10**6}]),
        b'{"type": "user", "message": {"role": "user", "content": "' + b"y" * (9 << 20) + b'"}}\n',
        line("assistant", "Done."),
    )
    found = said(taken.id)
    assert found.unread == 6
    assert found.cut
    _, markup, tool, done = found.entries
    assert markup["text"] == "<script>alert(1)</script>\x1b[2J\u202e"
    assert len(tool["summary"]) <= 200
    assert len(json.dumps(tool)) < 20_000
    assert done["text"] == "Done."


def test_a_long_turn_keeps_its_beginning_and_its_end(repo: Repo) -> None:
    session = Session()
    taken = session.turn("a", *(line("assistant", f"Step {n}") for n in range(2000)))
    found = said(taken.id)
    assert found.cut
    shown = texts(found)
    assert (shown[0], shown[1], shown[-1]) == ("a", "Step 0", "Step 1999")
    assert [each for each in shown if "left out" in each] == ["1,501 entries are left out"]


def test_secrets_are_masked_everywhere(repo: Repo) -> None:
    session = Session()
    key = "wJalrXUtnFEMIK7MDENGbPxRfiCYabcdefghKEY1"
    given = {"command": f"login {TOKEN}", "env": [{"AWS_SECRET_ACCESS_KEY": key}]}
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": given}
    answer = {"type": "tool_result", "tool_use_id": "c", "content": f"{TOKEN} is right"}
    taken = session.turn(
        f"Use {TOKEN}", line("assistant", [call]), line("user", [answer]), line("assistant", TOKEN)
    )
    for missing in (False, True):
        if missing:
            session.path.unlink()
        found = said(taken.id).as_json()
        assert TOKEN not in json.dumps(found)
        assert key not in json.dumps(found)
        assert found["masked"] >= 1
        assert found["entries"][0]["text"] == "Use ⟨masked: GitHub token⟩"


def test_what_agents_add_to_prompts_is_left_out(repo: Repo) -> None:
    session = Session()
    taken = session.begin("")
    session.write(
        line("user", "<system-reminder>\nBe kind\n</system-reminder>\n\nPlease begin"),
        line("user", "<system-reminder>Be kind</system-reminder>"),
        line("user", "A caveat", isMeta=True),
        line(
            "assistant", [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Yes"}]
        ),
    )
    assert texts(said(taken.id)) == ["Please begin", "Yes"]


def test_the_lines_of_tools(repo: Repo) -> None:
    calls = [
        (
            "Edit",
            {
                "file_path": str(repo.top / "src/a.py"),
                "old_string": "a\nb",
                "new_string": "a\nc\nd",
            },
        ),
        ("MultiEdit", {"file_path": "b.py", "edits": [{"old_string": "a", "new_string": "b"}] * 2}),
        ("Grep", {"pattern": "def f", "path": "src"}),
        ("Read", {"file_path": "a.py"}),
        ("Bash", {"command": "npm test\n  --all"}),
        ("shell", {"command": ["ls", "-l"]}),
        ("Other", {"n": 1}),
        ("None", {}),
    ]
    blocks = [
        {"type": "tool_use", "id": str(number), "name": name, "input": given}
        for number, (name, given) in enumerate(calls)
    ]
    taken = Session().turn("a", line("assistant", blocks))
    assert texts(said(taken.id))[1:] == [
        "[Edit src/a.py +2 −1]",
        "[MultiEdit b.py +2 −2]",
        "[Grep def f src]",
        "[Read a.py]",
        "[Bash npm test --all]",
        "[shell ls -l]",
        '[Other {"n": 1}]',
        "[None ]",
    ]


def test_transcripts_of_cursor_as_they_are_documented(repo: Repo) -> None:
    session = Session("cursor")
    taken = session.begin("Begin")
    asked = {"type": "text", "text": "<user_query>\nBegin\n</user_query>"}
    call = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
    for role, content in (
        ("user", [asked]),
        ("assistant", [{"type": "text", "text": "Yes"}, call]),
    ):
        session.write(json.dumps({"role": role, "message": {"content": content}}).encode() + b"\n")
    assert texts(said(taken.id)) == ["Begin", "Yes", "[Shell ls]"]


def test_a_turn_that_its_first_tool_began(repo: Repo) -> None:
    """As `droid exec` reports it: the prompt was written before."""
    lines = (TRANSCRIPTS / "droid.jsonl").read_bytes().splitlines(keepends=True)
    place = next(at for at, each in enumerate(lines) if b"PreToolUse" in each)
    session = Session("droid")
    session.write(*lines[:place])
    taken = session.begin("", trigger="PreToolUse")
    session.write(*lines[place:])
    assert texts(said(taken.id))[0] == FIRST
    assert [each["role"] for each in said(taken.id).entries] == ["user", "tool", "assistant"]


def test_pictures_are_named(repo: Repo) -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    call = {"type": "tool_use", "id": "c", "name": "Screen", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [picture]}
    session = Session()
    taken = session.begin("")
    session.write(line("user", [picture]), line("assistant", [call]), line("user", [result]))
    assert texts(said(taken.id)) == ["[image]", "[Screen ]"]
    assert said(taken.id).entries[1]["result"] == "[image]"


def test_of_very_much_the_beginning_and_the_end_are_read(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "_MOST_READ", 5000)
    session = Session()
    taken = session.turn("a", *(line("assistant", f"Step {n}") for n in range(200)))
    found = said(taken.id)
    assert found.cut
    assert 10 < len(found.entries) < 100
    shown = texts(found)
    assert (shown[:2], shown[-2:]) == (["a", "Step 0"], ["Step 198", "Step 199"])
    assert shown.count("a part of the transcript is left out") == 1


@pytest.mark.parametrize(
    "anchor",
    [
        {"offset": True, "hash": None},
        {"offset": -5, "hash": "sha256:00"},
        {"offset": 10**30, "hash": "sha256:00"},
        {"offset": "0", "hash": None},
        {"offset": 0, "hash": ["x"]},
        {},
    ],
)
def test_positions_that_nobody_writes(anchor: dict[str, object], repo: Repo) -> None:
    session = Session()
    session.write(line("user", "Not of this turn"))
    taken = session.begin("a", anchor={"path": str(session.path), **anchor})
    found = said(taken.id)
    assert texts(found) == ["a"]
    assert "was cut or rewritten" in found.missing


def test_values_that_are_no_json_and_nested_ones(repo: Repo) -> None:
    deep = "[" * 400 + "1" + "]" * 400
    use = '{"type": "tool_use", "id": "%s", "name": "T", "input": {"command": %s}}'
    answer = '{"type": "tool_result", "tool_use_id": "a", "content": %s}'
    rows = [
        ("assistant", use % ("a", "1e999")),
        ("assistant", use % ("b", "NaN")),
        ("assistant", use % ("c", deep)),
        ("user", answer % deep),
    ]
    session = Session()
    taken = session.turn("a")
    for role, part in rows:
        row = f'{{"type": "{role}", "message": {{"role": "{role}", "content": [{part}]}}}}\n'
        session.write(row.encode())
    # An id like the name that stands for subagents.
    session.write(line("assistant", "One", id="subagent 1"))
    session.write(line("assistant", "Two", isSidechain=True), line("assistant", "Three"))
    found = said(taken.id)
    json.dumps(found.as_json(), allow_nan=False)
    shown = texts(found)
    assert shown[1:3] == ["[T inf]", "[T NaN]"]
    assert shown[3].startswith("[T [[[")
    assert shown[4:] == ["One", "[subagent 1 message]", "Three"]
