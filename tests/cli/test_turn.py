from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.agents.kit import Turns
from tests.checkpoints.kit import refs, seen
from tests.repo_kit import Repo

EDIT = json.dumps({"path": "a", "old_string": "two", "new_string": "three"})
# A time of another day is shown with its date, which a turn around midnight meets.
CLOCK = r"(\d{4}-\d\d-\d\d )?\d\d:\d\d"


@pytest.fixture
def work(repo: Repo) -> Repo:
    """A repository with a restore that can be undone, an edit, and a running turn."""
    repo.commit(a="one\n")
    repo.boocode("checkpoint", "-m", "first")
    repo.write("a", "lost\n")
    repo.boocode("restore", "@")
    repo.write("a", "two\n")
    repo.boocode("apply-edit", stdin=EDIT)
    assert repo.boocode("turn", "begin", "-m", "fix the parser").code == 0
    return repo


def test_what_people_read(repo: Repo) -> None:
    repo.commit(a="one\n")
    assert repo.boocode("turn", "status")[:2] == (1, "no turn is running\n")
    begun = repo.boocode("turn", "begin", "--message", "fix the parser", "--timeout", "60")
    identifier = repo.boocode("log", "--json").json["checkpoints"][0]["id"]
    assert begun == (0, f"{identifier}\n", "")
    turn = rf"'fix the parser', since {CLOCK} \((just now|\d+ s ago)\)"
    shown = repo.boocode("turn", "status")
    assert (shown.code, shown.err) == (0, "")
    assert re.fullmatch(
        rf"a turn is running: {turn}\n"
        rf"checkpoint {identifier}, it times out at {CLOCK}\n",
        shown.out,
    )
    ended = repo.boocode("turn", "end")
    assert re.fullmatch(rf"ended the turn: {turn}\n", ended.out)
    assert refs(repo, "turn-ends")
    gone = repo.boocode("turn", "end")
    assert (gone.code, gone.out) == (1, "")
    assert gone.err.startswith("error: no turn is running\nhint: 'git boocode turn begin'")


def test_a_turn_whose_agent_was_killed_is_ended_by_name(repo: Repo) -> None:
    repo.commit(a="one\n")
    turns = Turns(repo)
    turns.begin("break it")
    repo.write("a", "two\n")
    identifier = turns["break it"]
    shown = repo.boocode("turn", "status")
    assert (shown.code, shown.out) == (1, "no turn is running\n")
    hint = rf"'git boocode turn end {identifier[:13]}[0-9a-f-]*' ends the turn 'break it' that "
    hint += r"hooks of claude-code began (just now|\d+ s ago), if the agent was killed"
    assert re.fullmatch(f"hint: {hint}\n", shown.err)
    refused = repo.boocode("turn", "end", "--json").json["error"]
    assert re.match(hint, refused["hint"])

    done = repo.boocode("turn", "end", "@")
    assert (done.code, done.out) == (0, f"ended the turn: {identifier} break it\n")
    assert refs(repo, "turn-ends")
    repo.write("mine", "mine\n")
    assert "running" not in repo.boocode("log").out
    assert repo.boocode("revert", "@").code == 0
    assert repo.read("mine") == b"mine\n"
    assert repo.boocode("turn", "status").err == ""
    again = repo.boocode("turn", "end", identifier, "--json")
    assert (again.code, again.json["error"]["code"]) == (1, "not_found")
    other = repo.boocode("turn", "end", "nosuch")
    assert other.err.endswith("hint: 'git boocode turn status' shows the running turns\n")


def test_the_json_answers(repo: Repo) -> None:
    repo.commit(a="one\n")
    none = repo.boocode("turn", "status", "--json")
    assert (none.code, none.json["error"]["code"], none.err) == (1, "not_found", "")
    begun = repo.boocode("turn", "begin", "--json", "-m", "fix", "--timeout", "0").json
    turn = begun["turn"]
    assert begun == {"ok": True, "id": turn["checkpoint"], "turn": turn, "skipped": []}
    assert (turn["message"], turn["pid"], turn["times_out_at"]) == ("fix", None, None)
    assert repo.boocode("turn", "status", "--json").json == {
        "ok": True,
        "turn": turn,
        "turns": [turn],
    }
    assert repo.boocode("status", "--json").json["turn"] == turn
    ended = repo.boocode("turn", "end", "--json").json
    assert ended == {"ok": True, "id": turn["checkpoint"], "recorded": True}
    assert repo.boocode("status", "--json").json["turn"] is None


@pytest.mark.parametrize(
    ("command", "override"),
    [
        (("restore", "@"), ("--force", "running-turn")),
        (("restore", "@~1", "a"), ("--force", "running-turn")),
        (("undo",), ("--force", "running-turn,newer-turns")),
        (("rewind",), ("--force",)),
        (("turn", "begin"), ("--force",)),
    ],
)
@pytest.mark.variants
def test_what_is_refused_while_a_turn_runs(
    work: Repo, command: tuple[str, ...], override: tuple[str, ...]
) -> None:
    work.write("a", "three\nmore\n")
    before, known = seen(work), refs(work)
    done = work.boocode(*command)
    assert (done.code, done.out) == (1, "")
    first, end, anyway = done.err.splitlines()
    assert first.startswith("error: a turn is running: 'fix the parser', since ")
    assert end == "hint: 'git boocode turn end' ends it, if its program was killed"
    assert anyway == f"hint: {' '.join(override).partition(',')[0]} does it anyway"
    failed = work.boocode(*command, "--json")
    assert (failed.code, failed.json["error"]["code"]) == (1, "locked")
    assert (seen(work), refs(work)) == (before, known)
    if command[0] != "turn":
        # The dry run of an undo is refused for the turn that has begun since, but not as it runs.
        newer = ("--force", "newer-turns") if command[0] == "undo" else ()
        assert work.boocode(*command, "-n", *newer).code == 0
    assert work.boocode(*command, *override).code == 0
    assert refs(work) != known


def test_a_redo_is_refused_while_a_turn_runs(work: Repo) -> None:
    anyway = ("--force", "running-turn", "--force", "newer-turns")
    assert work.boocode("undo", *anyway).code == 0
    done = work.boocode("redo", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "locked")
    assert work.read("a") == b"lost\n"
    assert work.boocode("redo", *anyway).code == 0


def test_everything_else_works_while_a_turn_runs(work: Repo) -> None:
    for command in (
        *("log", "checkpoint", "turn status", "restore -n @", "show @", "diff", "blame a"),
        *("status", "doctor", "locate a", "rewind -n"),
        "apply-edit --path a --old three --new four",
    ):
        assert work.boocode(*command.split(), stdin="three").code == 0, command


@pytest.mark.slow
def test_once_the_turn_is_over_all_is_allowed(work: Repo) -> None:
    assert work.boocode("turn", "begin", "--force", "--timeout", "1").code == 0
    assert work.boocode("restore", "@").code == 1
    time.sleep(1.1)
    assert work.boocode("turn", "status").code == 1
    assert work.boocode("restore", "@").code == 0


def test_the_overview_has_a_line_for_the_turn(work: Repo) -> None:
    shown = work.boocode("status")
    assert re.match(rf"turn:\n  'fix the parser', since {CLOCK} \(.*\)\ncheck", shown.out)
    assert "hint: 'git boocode turn end' ends it, if its program was killed\n" in shown.err
    work.boocode("turn", "end")
    assert "turn:" not in work.boocode("status").out


def test_doctor_removes_the_mark_of_a_turn_that_is_over(work: Repo) -> None:
    path = work.top / ".git/boocode/turn.json"
    [mark] = json.loads(path.read_bytes())
    path.write_text(json.dumps([{**mark, "times_out": mark["began"]}]))
    found = work.boocode("doctor", "--json")
    assert (found.code, found.json["error"]["code"]) == (1, "leftover_turn")
    assert "'fix the parser'" in found.json["error"]["message"]
    assert work.boocode("doctor", "--fix").code == 0
    assert not path.exists()


@pytest.mark.parametrize("arguments", [("--pid", "0"), ("--pid", "x"), ("--timeout", "-1"), ("x",)])
def test_what_makes_no_turn(repo: Repo, arguments: tuple[str, ...]) -> None:
    assert repo.boocode("turn", "begin", *arguments).code == 129
    assert repo.boocode("turn", "begin", "--pid", "9" * 20).code == 1
    assert repo.boocode("turn", "status").code == 1


def test_uninstall_removes_the_mark(work: Repo) -> None:
    assert work.boocode("uninstall", "--everything").code == 0
    assert not Path(work.top / ".git/boocode").exists()
    assert work.boocode("turn", "status").code == 1


@pytest.mark.parametrize(
    ("word", "meant"), [("start", "begin"), ("stop", "end"), ("show", "status")]
)
def test_other_words(repo: Repo, word: str, meant: str) -> None:
    done = repo.boocode("turn", word)
    assert done.code == 129
    assert f"'git boocode turn {meant}'" in done.err


def test_turns_of_two_sessions_run_at_once(repo: Repo) -> None:
    repo.commit(a="tea\n\n\nmilk\n\n\ncoffee\n")
    first, second = (
        repo.boocode(
            *("turn", "begin", "-m", f"for {name}", "--session", name, "--agent", "toy"),
            *("--chat", f"chat {name}", "--message-id", "m1", "--meta", "model=large"),
        ).out.strip()
        for name in ("A", "B")
    )
    shown = repo.boocode("show", first, "--json").json["checkpoint"]
    texts = {key: shown[key] for key in ("session", "agent", "chat", "message", "label", "meta")}
    assert texts == {
        "session": "A",
        "agent": "toy",
        "chat": "chat A",
        "message": "m1",
        "label": "for A",
        "meta": {"model": "large"},
    }
    for session, old in (("A", "tea"), ("B", "milk"), ("A", "coffee")):
        edit = json.dumps({"path": "a", "old_string": old, "new_string": old.upper()})
        assert repo.boocode("apply-edit", "--session", session, stdin=edit).code == 0
    listed = repo.boocode("turn", "status", "--json").json
    assert [turn["session"] for turn in listed["turns"]] == ["A", "B"]
    assert listed["turn"] == listed["turns"][1]
    assert repo.boocode("turn", "status").out.count("a turn is running: 'for ") == 2
    rows = repo.boocode("log", "--json").json["checkpoints"]
    assert [(row["id"], row["open"]) for row in rows] == [(second, True), (first, True)]

    again = repo.boocode("turn", "begin", "--session", "A", "--agent", "toy")
    assert again.err.startswith("error: a turn is running: 'for A', session A, since ")
    assert f"hint: 'git boocode turn end {first}' ends it, if its program was killed" in again.err
    assert repo.boocode("turn", "begin", "-m", "of nobody").code == 1
    unnamed = repo.boocode("turn", "end", "--json").json["error"]
    assert unnamed["code"] == "ambiguous"
    assert f"'git boocode turn end {second}' ends that of session B" in unnamed["hint"]
    assert repo.boocode("turn", "end", first).code == 0
    assert repo.boocode("turn", "end").out.startswith("ended the turn: 'for B', session B")
    repo.write("mine", "typed between two turns\n")

    done = repo.boocode("revert", "--session", "A")
    assert done.code == 0, done.err
    assert repo.read("a") == b"tea\n\n\nMILK\n\n\ncoffee\n"
    assert repo.read("mine") == b"typed between two turns\n"


def test_what_no_session_is_known_to_have_written_is_nobodys(repo: Repo) -> None:
    repo.commit(a="one\n")
    for name in ("A", "B"):
        repo.boocode("turn", "begin", "--session", name)
    repo.write("by-a-shell", "of either\n")
    for name in ("@~1", "@"):
        assert repo.boocode("turn", "end", name).code == 0
    refused = repo.boocode("revert", "--session", "B")
    assert (refused.code, "by-a-shell" in refused.err) == (1, True)
    assert repo.read("by-a-shell") == b"of either\n"


def test_a_turn_that_was_killed_is_replaced_by_force(repo: Repo) -> None:
    repo.commit(a="one\n")
    for name in ("A", "B"):
        repo.boocode("turn", "begin", "--session", name)
    done = repo.boocode("turn", "begin", "--session", "A", "--force", "--json").json
    listed = repo.boocode("turn", "status", "--json").json["turns"]
    assert [turn["session"] for turn in listed] == ["B", "A"]
    assert listed[1]["checkpoint"] == done["id"]
