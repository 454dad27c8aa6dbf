"""`git boocode revert` and `pick` as they are typed: names, paths, options, answers, questions."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from shlex import quote, split

import pytest

import git_boocode
from tests.agents.kit import fire, prompted
from tests.checkpoints.kit import seen
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

LINES = "".join(f"{number}\n" for number in range(1, 21))
STAYS = "the conversation, HEAD and branches stay as they are"
UNDO = "hint: 'git boocode undo' brings back what was here before\n"


def begin(repo: Repo, label: str, *more: str) -> str:
    return str(repo.boocode("checkpoint", "-m", label, "--json", *more).json["id"])


def changed(repo: Repo, *numbers: int, by: str) -> None:
    """Change lines of the file `a`."""
    lines = repo.read("a").decode().splitlines(keepends=True)
    for number in numbers:
        lines[number - 1] = f"{by}\n"
    repo.write("a", "".join(lines))


@pytest.fixture
def turns(repo: Repo) -> list[str]:
    """The ids of two turns in one file; the first also creates and deletes a file."""
    repo.commit(a=LINES, gone="gone\n")
    first = begin(repo, "first", "--agent", "claude-code", "--session", "s1")
    changed(repo, 2, 12, by="first")
    repo.write("made", "made\n")
    (repo.top / "gone").unlink()
    second = begin(repo, "second", "--agent", "cursor", "--session", "s2")
    changed(repo, 7, by="second")
    begin(repo, "now")
    return [first, second]


def lines(repo: Repo) -> dict[int, str]:
    """The lines of the file `a` that are not as committed, by number."""
    found = repo.read("a").decode().splitlines()
    return {number: line for number, line in enumerate(found, 1) if line != str(number)}


def test_what_people_read(repo: Repo, turns: list[str]) -> None:
    before = seen(repo)
    looked = repo.boocode("revert", "-n", "@~2")
    assert re.sub("[0-9a-f]{8}-[0-9a-f]{4}", "ID", looked.out) == (
        f" M a\n A gone\n D made\nwould revert 3 files of the turn ID (first)\n{STAYS}\n"
    )
    assert (looked.err, seen(repo)) == ("", before)
    done = repo.boocode("revert", "@~2")
    assert done.out == looked.out.replace("would revert", "reverted")
    assert done.err == UNDO
    assert lines(repo) == {7: "second"}
    again = repo.boocode("revert", "@~2")
    assert again.out == (
        f"nothing to do: no change of the turn {turns[0][:13]} (first) is left here\n"
    )
    picked = repo.boocode("pick", "@~2")
    assert f"picked 3 files of the turn {turns[0][:13]} (first)\n{STAYS}\n" in picked.out
    assert repo.boocode("pick", "@~2").out == (
        f"nothing to do: every change of the turn {turns[0][:13]} (first) is here already\n"
    )
    both = repo.boocode("revert", *turns)
    assert f"reverted 3 files of 2 turns\n{STAYS}\n" in both.out
    assert lines(repo) == {}
    assert repo.boocode("-q", "pick", *turns) == (0, "", "")


def test_the_json_answer(repo: Repo, turns: list[str]) -> None:
    answer = repo.boocode("revert", "--json", *turns).json
    undo = answer.pop("undo")
    assert answer == {
        "ok": True,
        "turns": turns[::-1],
        "dry_run": False,
        "changed": [
            {"path": "a", "action": "modify"},
            {"path": "gone", "action": "create"},
            {"path": "made", "action": "delete"},
        ],
        "staged": [],
        "kept": [],
    }
    assert repo.boocode("undo", "--json").json["checkpoint_id"] == undo
    assert lines(repo) == {2: "first", 7: "second", 12: "first"}
    dry = repo.boocode("revert", "--json", "-n", turns[0]).json
    assert (dry["undo"], dry["dry_run"], dry["turns"]) == (None, True, turns[:1])


# Names and paths.


def test_paths_limit_a_revert(repo: Repo, turns: list[str]) -> None:
    assert turns
    for arguments in (
        ("@~2", "made"),
        ("@~2", "--", "made"),
        ("label:first", "made"),
        ("--session", "s1", "made"),
        ("--agent", "claude-code", "--", "made"),
        ("@~2", "@~1", "ma*"),
    ):
        repo.write("made", "made\n")
        done = repo.boocode("revert", *arguments)
        assert (done.code, done.out.splitlines()[0]) == (0, " D made"), arguments
        assert not (repo.top / "made").exists(), arguments
        assert lines(repo) == {2: "first", 7: "second", 12: "first"}, arguments


def test_paths_are_those_of_the_directory(repo: Repo, turns: list[str]) -> None:
    repo.write("sub/a", "mine\n")
    done = repo.boocode("revert", turns[0], "a", cwd=repo.top / "sub")
    assert (done.code, "hint: the turn changed ../a, ../gone, ../made" in done.err) == (1, True)
    done = repo.boocode("revert", turns[0], "../a", cwd=repo.top / "sub")
    assert done.out.startswith(" M a\n")


def test_a_file_that_the_turn_deleted_is_a_path(repo: Repo, turns: list[str]) -> None:
    assert repo.boocode("revert", turns[0], "gone").out.startswith(" A gone\n")
    (repo.top / "gone").unlink()
    alone = repo.boocode("revert", "gone")
    assert (alone.code, alone.err.splitlines()[0]) == (
        1,
        "error: no checkpoint matches 'gone' (ids need at least 4 characters)",
    )
    hint = re.search("'git boocode (revert .* -- gone)' reverts it alone", alone.err)
    assert hint
    assert repo.boocode(*hint[1].split()).out.startswith(" A gone\n")


def test_what_is_a_turn_and_a_path_is_refused(repo: Repo, turns: list[str]) -> None:
    repo.write(turns[0][:13])
    refused = repo.boocode("revert", turns[0][:13])
    assert refused.code == 129
    assert "names a turn and a path" in refused.err
    assert repo.boocode("revert", turns[0][:13], "--").code == 0


def test_a_mistyped_turn_is_no_path(repo: Repo, turns: list[str]) -> None:
    before = seen(repo)
    for wrong in ("01a2ffff", "@~9", "label:nothing", "message:7"):
        assert repo.boocode("revert", turns[0], wrong).code == 1
    assert seen(repo) == before


@pytest.mark.parametrize("command", ["revert", "pick"])
@pytest.mark.variants
def test_a_path_that_the_turn_did_not_change_is_refused(
    repo: Repo, turns: list[str], command: str
) -> None:
    before = seen(repo)
    for paths, wrong in (
        (["typo"], "typo"),
        (["a", "typo*"], "typo*"),
        ([":(icase)B"], ":(icase)B"),
    ):
        refused = repo.boocode(command, turns[0], "--json", "--", *paths)
        assert refused.code == 1
        assert (refused.json["error"]["code"], refused.json["pathspec"]) == ("not_found", wrong)
        message = f"pathspec '{wrong}' did not match any file that the turn changed"
        assert refused.json["error"]["message"] == message
        assert refused.json["error"]["hint"] == "the turn changed a, gone, made"
    refused = repo.boocode(command, turns[0], "typo")
    assert refused.code == 1
    assert "'typo' is neither a turn nor a path: pathspec 'typo' did not match" in refused.err
    assert seen(repo) == before
    assert repo.boocode(command, turns[0], "--", "a", ":!made", ":(exclude)typo").code == 0
    assert repo.boocode(command, turns[0], "--", "a", ":!a").code == 0


def test_turns_come_before_paths(repo: Repo, turns: list[str]) -> None:
    before = seen(repo)
    for name in ("@~1", turns[0]):
        refused = repo.boocode("revert", "a", name)
        assert (refused.code, f"'{name}' names a turn, behind a path" in refused.err) == (129, True)
        assert f"hint: turns come first: git boocode revert {quote(name)} -- a" in refused.err
    assert seen(repo) == before


def test_a_turn_of_another_worktree_is_picked_and_not_reverted(
    repo: Repo, turns: list[str], tmp_path: Path
) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "other"), "HEAD")
    other = Repo(tmp_path / "other")
    refused = other.boocode("revert", turns[0], "--json").json["error"]
    assert refused["code"] == "other_worktree"
    assert other.boocode("pick", turns[0]).code == 0
    assert lines(other) == {2: "first", 12: "first"}
    assert (other.top / "made").exists()
    assert not (other.top / "gone").exists()


def test_a_session_is_named_by_its_beginning(repo: Repo) -> None:
    repo.commit(a=LINES)
    for session in ("8f4c2a1e-5b7d", "8f4c7777-0000", "b2d0"):
        begin(repo, session, "--session", session)
        repo.write(session, "made\n")
    begin(repo, "last")
    refused = repo.boocode("revert", "--session", "8f4c", "--json").json["error"]
    assert (refused["code"], "8f4c2a1e-5b7d" in refused["hint"]) == ("ambiguous", True)
    assert repo.boocode("revert", "--session", "8f4").code == 1
    assert repo.boocode("revert", "--session", "8f4c2").out.startswith(" D 8f4c2a1e-5b7d\n")


def test_a_list_of_turns_marks_those_that_are_reverted(repo: Repo, turns: list[str]) -> None:
    repo.boocode("revert", turns[0])
    listed = [" ".join(line.split()[-2:]) for line in repo.boocode("restore").out.splitlines()]
    assert listed[-1] == "first (reverted)"
    assert listed[-2].endswith("second")


def test_a_state_before_a_tool_is_no_turn(repo: Repo) -> None:
    repo.commit(a=LINES, b="b\n")
    of_agent = ("--agent", "claude-code", "--session", "s1")
    turn = begin(repo, "work", *of_agent)
    for number in (5, 15):
        begin(repo, "", *of_agent, "--trigger", "PreToolUse", "a")
        changed(repo, number, by="turn")
    begin(repo, "later")
    changed(repo, 18, by="mine")
    for command in ("revert", "pick"):
        refused = repo.boocode(command, "@~1", "--force", "shared", "--", "a")
        assert refused.code == 1
        assert f"is the state before a tool in the turn {turn[:13]}" in refused.err
        typed = f"git boocode {command} {turn} --force shared -- a"
        assert f"hint: '{typed}' {command}s that turn" in refused.err
    answer = repo.boocode("revert", "--session", "s1", "--json").json
    assert answer["turns"] == [turn]
    assert lines(repo) == {18: "mine"}
    by_hand = begin(repo, "", "b")
    repo.write("b", "changed\n")
    assert repo.boocode("revert", by_hand).out.startswith(" M b\n")


# Without a name.


def test_a_checkpoint_before_the_question_is_not_the_turn_that_ended(repo: Repo) -> None:
    repo.commit(a=LINES)
    turn = begin(repo, "work")
    changed(repo, 5, by="turn")
    last = begin(repo, "to be safe")
    assert f"revert {turn}" in repo.boocode("revert").err
    changed(repo, 15, by="mine")
    assert f"revert {last}" in repo.boocode("revert").err


def test_a_turn_that_was_restored_away_is_not_the_one_that_ended_last(repo: Repo) -> None:
    repo.commit(a=LINES)
    first = begin(repo, "first")
    changed(repo, 5, by="first")
    second = begin(repo, "second")
    changed(repo, 15, by="second")
    repo.boocode("restore", second, "--files-only")
    assert f"revert {first}" in repo.boocode("revert").err
    repo.boocode("undo")
    assert f"revert {second}" in repo.boocode("revert").err


def test_hunks_are_offered_only_where_some_can_be_taken(repo: Repo) -> None:
    offer = "hint: -p or --hunk <n> takes only some hunks\n"
    repo.commit(a=LINES)
    turn = begin(repo, "turn")
    changed(repo, 5, by="turn")
    begin(repo, "later")
    changed(repo, 5, by="mine")
    assert offer not in repo.boocode("revert", turn).err
    repo.boocode("restore", turn)
    turn = begin(repo, "both")
    changed(repo, 5, by="turn")
    changed(repo, 15, by="turn")
    begin(repo, "last")
    changed(repo, 5, by="mine")
    assert offer in repo.boocode("revert", turn).err
    assert repo.boocode("revert", "--hunk", "1", turn, "--", "a").code == 0


def test_nobody_can_be_asked(repo: Repo, turns: list[str]) -> None:
    changed(repo, 20, by="third")
    before = seen(repo)
    refused = repo.boocode("revert", "--force", "shared", "--", "a")
    newest = repo.boocode("log", "--json").json["checkpoints"][0]["id"]
    command = f"git boocode revert {newest} --force shared -- a"
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"error: no turn given\nhint: '{command}' reverts the turn that ended last, 'now'\n"
    )
    answer = repo.boocode("revert", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "invalid_input")
    assert answer.json["error"]["next"][0]["arguments"] == {"turns": [newest]}
    assert seen(repo) == before
    looked = repo.boocode("revert", "-n")
    assert (looked.code, looked.out.splitlines()[0]) == (0, " M a")
    assert repo.boocode(*command.split()[2:]).code == 0
    assert lines(repo).keys() == {2, 7, 12}


def test_there_is_no_turn(repo: Repo) -> None:
    repo.commit(a="a\n")
    assert repo.boocode("revert").code == 1
    unknown = repo.boocode("revert", "--session", "s", "--json").json["error"]
    assert unknown["code"] == "not_found"
    assert unknown["hint"].splitlines() == [
        "the beginning of a session's id suffices",
        "'git boocode log' lists the turns",
    ]
    repo.boocode("checkpoint")
    for command in ("revert", "pick"):
        assert repo.boocode(command, "nope").err.endswith("'git boocode log' lists the turns\n")
    with pytest.raises(ValueError, match="no turn given"):
        git_boocode.revert(root=str(repo.top))
    nothing = repo.boocode("pick")
    assert (nothing.code, nothing.err.splitlines()[0]) == (129, "error: no turn given")


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_turn_that_ended_last_is_shown_first(repo: Repo, turns: list[str], answer: str) -> None:
    changed(repo, 20, by="third")
    before = seen(repo)
    terminal = Terminal("git-boocode", "revert")
    shown = terminal.wait_for("revert this? [y/N]")
    assert " M a\r\nwould revert 1 file of the turn" in shown
    assert "(now)" in shown
    terminal.type(f"{answer}\n")
    code, rest = terminal.end()
    if answer == "y":
        assert (code, "reverted 1 file" in rest) == (0, True)
        assert 20 not in lines(repo)
    else:
        assert (code, "nothing was changed" in rest) == (1, True)
        assert seen(repo) == before


@pytest.mark.slow
def test_hunks_of_the_turn_that_ended_last_are_shown_first(repo: Repo, turns: list[str]) -> None:
    assert turns
    changed(repo, 17, 20, by="third")
    refused = repo.boocode("revert", "--hunk", "2", "a")
    assert re.search("'git boocode revert [-0-9a-f]{36} --hunk 2 -- a' reverts", refused.err)
    terminal = Terminal("git-boocode", "revert", "--hunk", "2", "a")
    assert "would revert 1 file" in terminal.wait_for("revert this? [y/N]")
    terminal.type("y\n")
    assert terminal.end()[0] == 0
    assert lines(repo) == {2: "first", 7: "second", 12: "first", 17: "third"}


# Parts of files.


@pytest.mark.slow
def test_hunks_by_number(repo: Repo, turns: list[str]) -> None:
    answer = repo.boocode("revert", "-n", "--json", turns[0], "a").json
    [change] = answer["changed"]
    assert [(hunk["number"], hunk["start_line"]) for hunk in change["hunks"]] == [(1, 2), (2, 12)]
    refused = repo.boocode("revert", turns[0], "--hunk", "1")
    assert (refused.code, refused.err.splitlines()[0]) == (
        129,
        "error: --hunk takes hunks of one file",
    )
    assert repo.boocode("revert", turns[0], "--hunk", "3", "a").code == 1
    assert repo.boocode("revert", turns[0], "--hunk", "1", "made").code == 1
    wrong = repo.boocode("revert", turns[0], "--hunk", "2", "--expect", "0", "a", "--json")
    assert wrong.json["error"]["code"] == "conflict"
    done = repo.boocode("revert", turns[0], "--hunk", "2", "--expect", change["version"], "a")
    assert done.code == 0
    assert lines(repo) == {2: "first", 7: "second"}
    assert "reverted" not in repo.boocode("show", turns[0]).out


def test_hunks_beside_a_conflict(repo: Repo, turns: list[str]) -> None:
    changed(repo, 2, by="mine")
    assert repo.boocode("revert", turns[0], "a").code == 1
    assert repo.boocode("revert", turns[0], "--hunk", "1", "a").code == 0
    assert lines(repo) == {2: "mine", 7: "second"}


@pytest.mark.slow
def test_hunks_by_questions(repo: Repo, turns: list[str]) -> None:
    terminal = Terminal("git-boocode", "revert", "-p", turns[0])
    assert "-first\r\n+2\r\n" in terminal.wait_for("(1/2) Revert this hunk")
    terminal.type("n\n")
    assert "-first\r\n+12\r\n" in terminal.wait_for("(2/2) Revert this hunk")
    terminal.type("y\n")
    terminal.wait_for("(1/1) Revert this change")
    terminal.type("y\n")
    terminal.wait_for("(1/1) Revert this change")
    terminal.type("n\n")
    code, rest = terminal.end()
    assert (code, "reverted 2 files" in rest) == (0, True)
    assert lines(repo) == {2: "first", 7: "second"}
    assert (repo.top / "gone").exists()
    assert (repo.top / "made").exists()
    repo.boocode("undo")
    terminal = Terminal("git-boocode", "revert", "-p", turns[0])
    terminal.wait_for("(1/2) Revert this hunk")
    terminal.type("q\n")
    assert terminal.end()[0] == 1
    assert lines(repo) == {2: "first", 7: "second", 12: "first"}


@pytest.mark.slow
def test_a_file_that_changes_during_the_questions_is_refused(repo: Repo, turns: list[str]) -> None:
    terminal = Terminal("git-boocode", "revert", "-p", turns[0], "a")
    terminal.wait_for("(1/2) Revert this hunk")
    changed(repo, 18, by="mine")
    terminal.type("a\n")
    code, rest = terminal.end()
    assert (code, "'a' has changed since you looked at it" in rest) == (1, True)
    assert lines(repo).keys() == {2, 7, 12, 18}


def test_questions_need_a_terminal(repo: Repo, turns: list[str]) -> None:
    refused = repo.boocode("revert", "-p", turns[0])
    assert refused.code == 129
    assert "hint: name hunks: git boocode revert --hunk 1 <turn> -- <path>" in refused.err


# Conflicts.


def test_a_conflict_changes_nothing(repo: Repo, turns: list[str]) -> None:
    changed(repo, 12, by="mine")
    later = repo.boocode("log", "--json").json["checkpoints"][0]["id"]
    begin(repo, "later")
    before = seen(repo)
    refused = repo.boocode("revert", turns[0])
    assert (refused.code, refused.out, seen(repo)) == (1, "", before)
    assert "'a'" in refused.err
    assert "line 12" in refused.err
    assert f"'git boocode revert {later} {turns[0]}' reverts the later turn as well" in refused.err
    answer = repo.boocode("revert", turns[0], "--json").json
    assert answer["ok"] is False
    [conflict] = answer["conflicts"]
    assert conflict["path"] == "a"
    assert conflict["lines"] == [[12, 12]]
    assert conflict["by"] == [{"turn": later, "label": "now"}]
    assert answer["error"]["code"] == "conflict"
    steps = [(each["step"], each.get("arguments")) for each in answer["error"]["next"]]
    assert steps == [
        ("revert", {"turns": [later, turns[0]]}),
        ("hunk", None),
        ("markers", {"markers": True}),
    ]
    assert repo.boocode("revert", later, turns[0]).code == 0
    assert lines(repo) == {7: "second"}


def command_in(err: str, rest: str) -> list[str]:
    """The words of the command that a hint names, without `git boocode`."""
    found = re.search(f"'git boocode (.*)'{rest}$", err, re.MULTILINE)
    found = found or re.search(f"{rest}: git boocode (.*)", err)
    assert found, err
    return split(found[1])


def test_the_hint_at_a_conflict_has_the_paths(repo: Repo, turns: list[str]) -> None:
    changed(repo, 12, by="now")
    repo.write("other", "now\n")
    begin(repo, "last")
    refused = repo.boocode("revert", turns[0], "--force", "shared", "--", "a")
    words = command_in(refused.err, " reverts the later turn as well")
    assert words[-4:] == ["--force", "shared", "--", "a"]
    assert repo.boocode(*words).code == 0
    assert (lines(repo), (repo.top / "other").exists()) == ({7: "second"}, True)
    repo.boocode("undo")
    refused = repo.boocode("revert", turns[0], "a*")
    words = command_in(refused.err, "this reverts the later turn as well")
    assert words[-2:] == ["--", "a*"]


def test_all_turns_that_wrote_a_line_are_reverted_with_it(repo: Repo) -> None:
    repo.commit(a=LINES)
    turns = []
    for name in ("one", "two", "three"):
        turns.append(begin(repo, name))
        changed(repo, 5, by=name)
    begin(repo, "now")
    refused = repo.boocode("revert", turns[0])
    words = command_in(refused.err, " reverts the later turns as well")
    assert words == ["revert", *turns[::-1]]
    assert repo.boocode(*words).code == 0
    assert lines(repo) == {}


def test_what_was_changed_by_hand_as_well_is_not_offered(repo: Repo, turns: list[str]) -> None:
    changed(repo, 12, by="later")
    for event in ("UserPromptSubmit", "Stop"):
        fire(repo, "claude-code", event, payload=prompted(repo))
    changed(repo, 2, by="hand")
    refused = repo.boocode("revert", turns[0])
    assert "by hand" in refused.err
    assert "as well" not in refused.err


@pytest.mark.parametrize("directory", ["", "sub"])
@pytest.mark.variants
def test_a_file_in_conflict_is_left_out(repo: Repo, turns: list[str], directory: str) -> None:
    repo.write("made", "mine\n")
    (repo.top / "sub").mkdir()
    cwd = repo.top / directory
    for options in ((), ("--merge", "--markers")):
        refused = repo.boocode("revert", turns[0], *options, cwd=cwd)
        assert refused.code == 1
        words = command_in(refused.err, "leave it out")
        exclude = ":(top,literal,exclude)made" if directory else ":!made"
        assert words[-3:] == ["--", ":/" if directory else ".", exclude]
    assert repo.boocode(*words, cwd=cwd).code == 0
    assert (lines(repo), repo.read("made")) == ({7: "second"}, b"mine\n")


def test_a_path_with_a_newline_is_shown_on_one_line(repo: Repo) -> None:
    repo.commit(**{"b": "b\n", "a\nb": "1\n"})
    turn = begin(repo, "one")
    repo.write("a\nb", "\0one\n")
    repo.write("b", "one\n")
    begin(repo, "two")
    repo.write("a\nb", "\0two\n")
    refused = repo.boocode("revert", turn)
    assert refused.err.startswith("error: '\"a\\nb\"': it is binary")
    command = f"git boocode revert {turn} -- . $':(top,literal,exclude)a\\012b'"
    assert f"hint: leave it out: {command}\n" in refused.err
    subprocess.run(["bash", "-c", command], check=True, capture_output=True)
    assert (repo.read("b"), repo.read("a\nb")) == (b"b\n", b"\0two\n")


@pytest.mark.slow
def test_conflict_markers(repo: Repo, turns: list[str]) -> None:
    changed(repo, 12, by="mine")
    assert repo.boocode("revert", turns[0], "--merge").code == 1
    looked = repo.boocode("revert", turns[0], "--merge", "--markers", "-n", "--diff")
    assert "+<<<<<<< now\n mine\n+=======\n+12\n+>>>>>>> reverted\n" in looked.out
    assert looked.err == "warning: a would have conflict markers\n"
    done = repo.boocode("revert", turns[0], "--merge", "--markers")
    assert done.err == f"warning: a has conflict markers\n{UNDO}"
    assert b"<<<<<<< now\nmine\n=======\n12\n>>>>>>> reverted\n" in repo.read("a")
    assert repo.boocode("undo").code == 0
    answer = repo.boocode("revert", turns[0], "--merge", "--markers", "--json").json
    assert [each["path"] for each in answer["conflicts"]] == ["a"]


# Options that do not fit together, and a running turn.


def test_options_that_do_not_fit_together(repo: Repo, turns: list[str]) -> None:
    before = seen(repo)
    for typed, problem in {
        "--markers": "--markers needs --merge",
        "--expect 1": "--expect needs --hunk",
        "--hunk 1 -p": "options '--hunk' and '--patch' cannot be used together",
        "--hunk 1 --merge --markers": "options '--hunk' and '--markers' cannot be used together",
        "-p --json": "options '--patch' and '--json' cannot be used together",
        "--hunk 0": "invalid value for '--hunk': '0' is not a whole number of at least 1",
        "--force nothing": (
            "invalid value for '--force': 'nothing' is not one of shared, running-turn"
        ),
        "--session s": "'--session' and turns cannot be used together",
        "--agent a": "'--agent' and turns cannot be used together",
    }.items():
        refused = repo.boocode("revert", turns[0], *typed.split())
        message = (
            json.loads(refused.out)["error"]["message"]
            if "--json" in typed
            else refused.err.splitlines()[0].removeprefix("error: ")
        )
        assert (refused.code, message) == (129, problem), typed
    assert seen(repo) == before


def test_an_empty_name_is_not_everything(repo: Repo, turns: list[str]) -> None:
    assert turns
    for option in ("--session", "--agent"):
        refused = repo.boocode("revert", "-n", option, "")
        assert (refused.code, refused.err.splitlines()[0]) == (129, f"error: '{option}' is empty")


def test_a_running_turn_is_not_disturbed(repo: Repo, turns: list[str]) -> None:
    repo.boocode("turn", "begin", "-m", "fix")
    refused = repo.boocode("revert", turns[0], "--json").json
    assert refused["error"]["code"] == "locked"
    steps = [each.get("arguments") for each in refused["error"]["next"]]
    assert {"force": ["running-turn"]} in steps
    assert repo.boocode("revert", "-n", turns[0]).code == 0
    assert repo.boocode("revert", turns[0], "--force", "running-turn").code == 0


def test_a_buffer_is_merged_and_not_written(repo: Repo, turns: list[str]) -> None:
    unsaved = repo.read("a").replace(b"20\n", b"unsaved\n")
    buffer = repo.write(".git/buffer", unsaved)
    before = seen(repo)
    answer = repo.boocode("revert", turns[0], "a", "--buffer", f"a={buffer}", "--json").json
    [change] = answer["changed"]
    expected = unsaved.decode().replace("first\n", "2\n", 1).replace("first\n", "12\n")
    assert change["text"] == expected
    assert [edit["range"]["start"]["line"] for edit in change["text_edits"]] == [1, 11]
    assert (answer["undo"], seen(repo)) == (None, before)
    together = json.dumps({"a": unsaved.decode()})
    shown = repo.boocode("revert", turns[0], "--buffers", "-", stdin=together)
    assert " M a: a buffer, which --json prints; not written\n" in shown.out
    assert "reverted 3 files" in shown.out
    assert repo.read("a") == before.files["a"][1]
    assert not (repo.top / "made").exists()


def test_what_completion_offers(repo: Repo, turns: list[str]) -> None:
    def offered(*words: str) -> list[str]:
        out = repo.boocode("completion", "--candidates", *words).out
        return [line.split("\t")[0] for line in out.splitlines()]

    assert offered("revert", "") == ["@", "@~1", "@~2", ""]
    assert offered("revert", "@", "") == ["@~1", "@~2", ""]
    assert offered("pick", turns[0][:12])[:1] == [turns[0][:13]]
    assert offered("revert", "@", "--", "") == [""]
    assert offered("revert", "--force", "") == ["shared", "running-turn"]
    assert offered("revert", "--agent", "cl") == ["claude-code", "cline"]
    assert "--hunk" in offered("revert", "--hu")


@pytest.mark.parametrize(
    ("typed", "meant"), [("undo-turn", "revert"), ("cherry-pick", "pick"), ("rever", "revert")]
)
def test_other_names_lead_here(repo: Repo, typed: str, meant: str) -> None:
    refused = repo.boocode(typed)
    assert refused.code == 129
    assert f"git boocode {meant} " in refused.err or f"is: {meant}\n" in refused.err
