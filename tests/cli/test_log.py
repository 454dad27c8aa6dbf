from __future__ import annotations

import json
import re
import time
from itertools import product

import pytest

from tests.checkpoints.kit import take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

TYPES = {
    "id": str, "commit": str, "created_at": str, "label": str, "prompt": str,
    "session": str, "chat": str, "message": str, "agent": str, "trigger": str,
    "branch": str, "worktree": str,
    "remote": type(None), "only": type(None), "end": str, "files": int, "added": int,
    "removed": int, "state": str, "open": bool,
}  # fmt: skip
SHORT = "[0-9a-f]{8}-[0-9a-f]{4}"


def labels(repo: Repo, *arguments: str) -> list[str]:
    """The labels of the turns that are listed."""
    rows = repo.boocode("log", "--json", *arguments).json["checkpoints"]
    return [row["label"] for row in rows]


def test_the_json_answer(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    take()
    repo.write("a", "x\n")
    repo.write("c", "x\n")
    newest = take(
        label="l", prompt="long", session="s", chat="c", message="m", agent="g", trigger="t"
    )
    repo.write("c", "x\ny\n")
    done = repo.boocode("log", "--json")
    assert (done.code, done.err) == (0, "")
    assert list(done.json) == ["ok", "checkpoints", "commits", "by_hand", "here"]
    first, second = done.json["checkpoints"]
    assert {key: type(value) for key, value in first.items()} == TYPES
    assert {**first, "created_at": None} == {
        "id": newest.id, "commit": newest.commit.id, "created_at": None, "label": "l",
        "prompt": "long",
        "session": "s", "chat": "c", "message": "m", "agent": "g", "trigger": "t",
        "branch": "main", "worktree": "main", "remote": None, "only": None, "end": "now",
        "files": 1, "added": 1, "removed": 0, "state": "", "open": False,
    }  # fmt: skip
    assert [second[key] for key in ("label", "prompt", "session", "chat", "agent")] == [None] * 5
    assert [second[key] for key in ("end", "files", "added", "removed", "trigger")] == [
        "checkpoint", 2, 2, 1, "manual"
    ]  # fmt: skip


def test_turns_are_grouped_by_session(repo: Repo) -> None:
    repo.commit(a="a\n")
    session = {"agent": "claude-code", "session": "0123456789"}
    take(label="first", **session)
    repo.write("a", "x\n")
    take(label="second", **session)
    repo.write("b", "b\n" * 12)
    repo.git("checkout", "-q", "-b", "side")
    take(label="third", **session)
    take()
    done = repo.boocode("log")
    assert (done.code, done.err) == (0, "")
    when = r"(just now|\d+ s ago)"
    wanted = (
        f"{' ' * 19}you are here: after this turn, @",
        "",
        "by hand on side",
        rf"@ +{when}   0 files  \+0 −0",
        "",
        "claude-code on side, session 01234567",
        rf"@~1 +{when}   0 files  \+0 −0  third",
        "",
        "claude-code on main, session 01234567",
        rf"@~2 +{when}   1 file  \+12 −0  second",
        rf"@~3 +{when}   1 file   \+1 −1  first",
    )
    lines = done.out.splitlines()
    assert len(lines) == len(wanted)
    for pattern, line in zip(wanted, lines, strict=True):
        assert re.fullmatch(pattern, line)


def test_lines_fit_the_terminal(repo: Repo) -> None:
    repo.commit(a="a\n")
    for label in ("a long label " * 9, "パーサー" * 20, "e\u0301" * 99, "short"):
        take(label=label)
    terminal = Terminal("git-boocode", "log", env={"COLUMNS": "60", "GIT_PAGER": "cat"})
    code, shown = terminal.end()
    assert code == 0
    rows = shown.splitlines()[3:]
    assert [rows[0].endswith("  short"), *(row.endswith("…") for row in rows[1:])] == [True] * 4
    widths = [sum(2 if c > "\u3000" else c != "\u0301" for c in row) for row in rows]
    assert (widths[1], widths[2] in (59, 60), widths[3]) == (60, True, 60)
    # All labels begin in the same column.
    begin = rows[0].index("short")
    assert [row[begin - 2 : begin] for row in rows] == ["  "] * 4
    # What no terminal shows is not cut.
    assert "パーサー" * 20 in repo.boocode("log").out


def test_one_line_a_turn(repo: Repo) -> None:
    one, two = take(label="first"), take()
    here, *lines = repo.boocode("log", "--oneline").out.splitlines()
    assert here == f"{' ' * 14}you are here: after this turn, @"
    assert lines == [f"{two.id[:13]} @", f"{one.id[:13]} @~1 first"]
    for line in lines:
        short, name, *_ = line.split()
        found = [repo.boocode("show", each, "--json").json for each in (short, name)]
        assert found[0] == found[1]


def test_the_changes_below_each_turn(repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="first")
    repo.write("a", "b\n")
    take(label="second")
    repo.write("a", "c\n")
    done = repo.boocode("log", "-p")
    second, first = done.out.split("first")
    assert "-b\n+c\n" in second
    assert "-a\n+b\n" in first
    assert " a | 2 +-\n" in repo.boocode("log", "--stat", "-1").out
    both = repo.boocode("log", "--stat", "-p", "--oneline", "-1").out
    assert " a | 2 +-\n" in both
    assert "+c\n" in both


def test_the_turn_in_which_a_line_went(repo: Repo) -> None:
    repo.commit(a="a\nlost\n", b="b\n")
    take(label="keeps it")
    repo.write("b", "x\n")
    take(label="removes it")
    repo.write("a", "a\n")
    repo.write("b", "y\n")
    take(label="is over")
    assert labels(repo, "-Slost") == ["removes it"]
    assert labels(repo, "-G^lo.t$") == ["removes it"]
    assert labels(repo, "-S", "nowhere") == labels(repo, "-S", "-5") == []
    # The counts are those of the turn; the diff is of the files with such a change, as in git.
    [row] = repo.boocode("log", "-Slost", "--json").json["checkpoints"]
    assert row["files"] == 2
    shown = repo.boocode("log", "-Slost", "-p").out
    assert "-lost\n" in shown
    assert "b/b" not in shown
    refused = repo.boocode("log", "-G[")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("error: invalid regex")


def test_a_regex_that_git_cannot_use(repo: Repo) -> None:
    """Git's own memory for it could be gigabytes, at every turn anew."""
    repo.commit(a="a\n")
    take()
    repo.write("a", "aa\n")
    for regex, reason in (
        ("a{1,32767}", "the regex takes git too much memory"),
        ("(((a{1,100}){1,100}){1,100})", "the regex takes git too much memory"),
        ("(" * 20_000 + ")" * 20_000, "invalid regex"),
    ):
        refused = repo.boocode("log", "-G", regex, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "invalid_input")
        assert refused.json["error"]["message"].startswith(reason)


def test_a_limit_counts_what_was_found(repo: Repo) -> None:
    repo.commit(a="a\n")
    for number in range(40):
        take(label=str(number))
        repo.write("a" if number % 10 == 0 else "b", f"{number}\n")
    assert labels(repo, "-2", "--", "a") == ["30", "20"]
    assert labels(repo, "-n", "1", "-S20", "--", "a") == ["30"]


def test_turns_of_paths(repo: Repo) -> None:
    repo.commit(**{"sub/a": "a\n", "b": "b\n"})
    take(label="a")
    repo.write("sub/a", "x\n")
    take(label="b")
    repo.write("b", "x\n")
    take(label="none")
    assert labels(repo, "sub") == labels(repo, "--", "sub/a", "gone") == ["a"]
    rows = repo.boocode("log", "--json", "a", cwd="sub").json["checkpoints"]
    assert [(row["label"], row["files"]) for row in rows] == [("a", 1)]
    refused = repo.boocode("log", "first")
    assert refused.code == 129
    assert "'first' is not an existing path" in refused.err
    assert repo.boocode("log", "--", "../x").code == 1


def test_turns_of_an_agent_a_session_and_a_time(repo: Repo) -> None:
    take(label="one", agent="codex", session="abc1")
    take(label="two", agent="claude-code", session="abd2")
    take(label="three")
    assert labels(repo, "--agent", "codex") == ["one"]
    assert labels(repo, "--session", "ab") == ["two", "one"]
    assert labels(repo, "--session", "abd2", "--agent", "codex") == []
    assert labels(repo, "--since", "1.hour.ago") == ["three", "two", "one"]
    assert labels(repo, "--since", "2099-01-01") == labels(repo, "--until", "2001-01-01") == []
    assert "@~2 " in repo.boocode("log", "--agent", "codex").out


def test_what_is_no_date_is_refused(repo: Repo) -> None:
    take()
    wrong = ["nonsense", "", "days ago", "3 fortnights ago", "5 min ago", "a week ago", "2d"]
    for option, date in product(("--since", "--until"), [*wrong, "2026-02-30"]):
        done = repo.boocode("log", option, date)
        assert (done.code, done.out) == (129, "")
        said = f"error: '{date}' is not a valid date ({option})\nhint: examples:"
        assert done.err.startswith(said)
    assert repo.boocode("log", "--since", "2d", "--json").json["error"]["code"] == "usage"


def test_dates_are_those_of_git(repo: Repo) -> None:
    for date in (
        "2.weeks.ago", "1 hour ago", "yesterday", "noon yesterday", "last monday", "tues", "never",
        "2026-02-28T14:00:00Z", "2026-02-28 14:00:00 CEST", "@1700000000", "5 PM", "1.Dec.2020",
        "Thu, 07 Apr 2005 22:13:13 +0200",
    ):  # fmt: skip
        done = repo.boocode("log", "--since", date, "--until", date)
        assert (done.code, done.err) == (0, ""), date


PROMPT = "Fix the parser\n\n\tof \x1b[31mdates\x1b[0m:\r\n- Überschriften, too\n"


def test_prompts_are_searched_by_words(repo: Repo) -> None:
    take(label="Fix the parser of …", prompt=PROMPT)
    take(label="fix the lexer")
    assert labels(repo, "--grep", "FIX") == ["fix the lexer", "Fix the parser of …"]
    assert labels(repo, "--grep", "überschriften dates") == ["Fix the parser of …"]
    assert labels(repo, "--grep", "dates lexer") == []
    repo.write("src/Grammar.txt", "new\n")
    assert labels(repo, "--grep", "grammar SRC/") == labels(repo, "-n1")
    assert labels(repo, "--grep", "grammar nowhere") == []
    refused = repo.boocode("log", "--edits", "--grep", "fix")
    assert refused.code == 129


def test_verbose_prints_the_whole_prompt(repo: Repo) -> None:
    take(label="Fix the parser of …", prompt=PROMPT)
    take(label="short", prompt="short")
    lines = repo.boocode("log", "-v").out.splitlines()[2:]
    assert lines[1].endswith("  short")
    assert lines[2] == ""
    assert lines[3].endswith("  Fix the parser of …")
    assert lines[4:] == [
        "    Fix the parser",
        "",
        "            of ?[31mdates?[0m:",
        "    - Überschriften, too",
    ]
    assert "Überschriften" not in repo.boocode("log").out
    assert "Überschriften" not in repo.boocode("log", "-v", "--oneline").out
    shown = repo.boocode("show", "@~1").out
    assert "\n\n    Fix the parser\n\n            of ?[31mdates" in shown


def test_times_are_local_and_in_the_users_format(repo: Repo) -> None:
    taken = take(label="l")
    zone = {"TZ": "Etc/GMT-3"}
    seconds = int(repo.git("show", "-s", "--format=%ct", taken.commit.id))
    local = time.strftime("%Y-%m-%d %H:%M:%S +0300", time.gmtime(seconds + 3 * 3600))
    assert f" {local} " in repo.boocode("log", "--date=iso", env=zone).out
    repo.git("config", "log.date", "format:%H|%M")
    assert f" {local[11:13]}|{local[14:16]} " in repo.boocode("log", env=zone).out
    assert " ago " in repo.boocode("log", "--date=relative").out.replace("just now", "1 s ago")
    refused = repo.boocode("log", "--date=never")
    assert (refused.code, refused.out) == (129, "")
    assert "'never' is not a valid date format (--date)" in refused.err
    repo.git("config", "log.date", "never")
    assert repo.boocode("log").err.startswith(
        "fatal: 'never' is not a valid date format (log.date)"
    )


def test_a_checkpoint_of_some_paths_is_marked(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    take()
    repo.write("a", "x\n")
    assert repo.boocode("checkpoint", "-m", "l", ":(top,literal)a", "b").code == 0
    newest, oldest = repo.boocode("log").out.splitlines()[3:]
    assert newest.endswith("  (only a, b) l")
    assert "only" not in oldest
    assert repo.boocode("log", "--json").json["checkpoints"][0]["only"] == [":(top,literal)a", "b"]


def test_there_are_none(repo: Repo) -> None:
    hint = "hint: this worktree has no checkpoints; 'git boocode checkpoint' takes one\n"
    for arguments in ((), ("--oneline",)):
        assert repo.boocode("log", *arguments) == (0, "", hint)
    assert repo.boocode("log", "--archived") == (0, "", "")
    assert repo.boocode("log", "--json").json == {"ok": True, "checkpoints": []}
    for command in ("show", "diff", "restore @"):
        assert repo.boocode(*command.split()).err.endswith(hint)
    repo.boocode("checkpoint")
    assert repo.boocode("log", "--agent", "none") == (0, "", "")


def test_a_number_of_them(repo: Repo) -> None:
    made = [take(label=str(n)).id for n in range(3)]
    for count, shown in (("0", 0), ("1", 1), ("2", 2), ("9", 3)):
        for option in (["-n", count], [f"-{count}"], [f"--max-count={count}"]):
            listed = repo.boocode("log", "--json", *option).json["checkpoints"]
            assert [row["id"] for row in listed] == made[::-1][:shown]
        lines = repo.boocode("log", "--oneline", "-n", count).out.splitlines()
        # Above them, where one is.
        assert len(lines) == (shown + 1 if shown else 0)


def test_more_than_a_page(repo: Repo) -> None:
    tree = repo.git("mktree").strip()
    message = 's\n\n{"boocode": 1}\n'
    commit = repo.git("commit-tree", tree, stdin=message).strip()
    create = "".join(f"create refs/boocode/checkpoints/{n:04} {commit}\n" for n in range(700))
    repo.git("update-ref", "--stdin", stdin=create)
    listed = repo.boocode("log", "--json").json["checkpoints"]
    assert [row["id"] for row in listed] == [f"{n:04}" for n in range(699, -1, -1)]


def test_of_every_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "-b", "side", "linked")
    ours = [take(label=f"ours {n}") for n in range(2)]
    monkeypatch.chdir(repo.top / "linked")
    theirs = take(label="theirs")
    assert [row["id"] for row in repo.boocode("log", "--json").json["checkpoints"]] == [
        ours[1].id, ours[0].id
    ]  # fmt: skip
    every = repo.boocode("log", "--all", "--json").json["checkpoints"]
    assert [(row["id"], row["worktree"], row["branch"]) for row in every] == [
        (theirs.id, "linked", "side"), (ours[1].id, "main", "main"), (ours[0].id, "main", "main")
    ]  # fmt: skip


def test_the_names_that_log_shows_lead_where_it_says(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "-b", "side", "linked")
    take(label="ours 0")
    take(label="ours 1")
    monkeypatch.chdir(repo.top / "linked")
    take(label="theirs")
    found = 0
    for line in repo.boocode("log", "--all").out.splitlines():
        if label := re.search("ours [01]|theirs", line):
            name = line.split()[0]
            assert repo.boocode("show", name, "--json").json["checkpoint"]["label"] == label[0]
            found += 1
    assert found == 3


def test_what_could_steer_a_terminal_is_not_printed(repo: Repo) -> None:
    evil = "a\x1b[31mb\x07c\x9bd\u202ee\nf\rg\x7f"
    take(label=evil, chat=evil, session=evil, agent=evil, message=evil)
    for command in ("log", "show", "restore @ -n", "diff @"):
        done = repo.boocode(*command.split())
        assert done.code == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.out + done.err), command
    assert "a?[31mb?c?d?e f?g?" in repo.boocode("log").out
    assert repo.boocode("log", "--json").json["checkpoints"][0]["label"] == evil


def test_colour(repo: Repo) -> None:
    take(label="x")
    assert "\x1b" not in repo.boocode("log").out
    repo.git("config", "color.ui", "always")
    assert "\x1b[33m@\x1b[m" in repo.boocode("log").out
    assert "\x1b" not in repo.boocode("log", "--json").out


def test_a_missing_tree_is_shown_as_a_question_mark(repo: Repo) -> None:
    repo.commit(a="a\n")
    tree = take().tree
    (repo.top / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert "  ?" in repo.boocode("log").out
    assert repo.boocode("log", "--json").json["checkpoints"][0]["files"] is None


def test_usage_errors(repo: Repo) -> None:
    for line in (
        "-n -1", "-n x", "-n", "extra", "--no", "--all --remotes", "-Sa -Gb", "--edits --stat",
        "--edits --agent a", "--edits -- a", "--all --remote r", "--remotes --remote r",
        "--remotes --edits",
    ):  # fmt: skip
        done = repo.boocode("log", *line.split())
        assert (done.code, done.out) == (129, ""), line
        assert "usage: git boocode log [<options>]" in done.err
        assert repo.boocode("log", "--json", *line.split()).json["error"]["code"] == "usage"


def test_a_reader_that_has_seen_enough(repo: Repo) -> None:
    for number in range(3):
        take(label=f"{number}" * 50)
    assert repo.without_reader("log") == (141, b"")


def edit(repo: Repo, *edits: object) -> str:
    """Apply edits and return the id of their record."""
    identifier: str = repo.boocode("apply-edit", "--json", stdin=json.dumps(edits)).json["id"]
    return identifier


def test_edits_as_json(repo: Repo) -> None:
    assert repo.boocode("log", "--edits", "--json").json == {"ok": True, "edits": []}
    patch = {"patch": "diff --git a/a b/b\nrename from a\nrename to b\n"}
    first = edit(repo, {"path": "a", "content": "1\n"}, {"path": "c", "content": "1\n"})
    second = edit(repo, patch)
    third = repo.boocode("rewind", "--json").json["id"]
    done = repo.boocode("log", "--edits", "--json")
    assert (done.code, done.err, list(done.json)) == (0, "", ["ok", "edits"])
    newest, middle, oldest = done.json["edits"]
    assert list(newest) == [
        "id", "commit", "created_at", "worktree", "files", "edits", "rewound", "rewinds"
    ]  # fmt: skip
    assert [newest[key] for key in ("id", "rewound", "rewinds")] == [third, False, second]
    assert [middle[key] for key in ("id", "rewound", "rewinds")] == [second, True, None]
    assert middle["files"] == [{"path": "b", "action": "rename", "from": "a"}]
    assert [oldest[key] for key in ("id", "edits", "rewound")] == [first, 2, False]
    assert oldest["commit"] == repo.git("rev-parse", f"refs/boocode/edits/{first}").strip()
    assert oldest["created_at"].endswith("Z")
    for options, shown in ((["-n", "1"], [third]), (["-n", "0"], [])):
        listed = repo.boocode("log", "--edits", "--json", *options).json["edits"]
        assert [row["id"] for row in listed] == shown


def test_edits_as_lines(repo: Repo) -> None:
    first = edit(repo, *({"path": name, "content": "1\n"} for name in "abcde"))
    second = repo.boocode("rewind", "--json", "a").json["id"]
    one, two = (re.escape(identifier[:13]) for identifier in (first, second))
    newest, oldest = repo.boocode("log", "--edits").out.splitlines()
    when = r"(just now|\d+ s ago)"
    assert re.fullmatch(rf"{two}\S*  @  +{when}  a  rewinds {one}\S*", newest)
    assert re.fullmatch(
        rf"{one}\S*  @~1 +{when}  a, b, c and 2 more  5 edits  \[rewound in part\]", oldest
    )
    for line, identifier in ((newest, second), (oldest, first)):
        assert repo.boocode("show", line.split()[0], "--json").json["edit"]["id"] == identifier


def test_edits_of_every_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "-b", "side", "linked")
    ours = edit(repo, {"path": "n", "content": ""})
    linked = Repo(repo.top / "linked")
    theirs = edit(linked, {"path": "n", "content": ""})
    listed = repo.boocode("log", "--edits", "--json").json["edits"]
    assert [row["id"] for row in listed] == [ours]
    listed = repo.boocode("log", "--edits", "--json", "--all").json["edits"]
    assert [(row["id"], row["worktree"]) for row in listed] == [(theirs, "linked"), (ours, "main")]
    linked_line, our_line = repo.boocode("log", "--edits", "--all").out.splitlines()
    assert "  (linked)  " in linked_line
    # What `rewind @~0` means here.
    assert "  @     " in our_line


def test_archived_checkpoints(repo: Repo) -> None:
    repo.commit(a="one\n")
    for label in ("first", "second", "third"):
        repo.boocode("checkpoint", "-m", label, "--chat", "c")
        repo.write("a", f"{label}\n")
    done = repo.boocode("restore", "@~2")
    assert "2 later checkpoints left the log until the next undo\n" in done.out
    assert [row["label"] for row in repo.boocode("log", "--json").json["checkpoints"]] == ["first"]
    rows = repo.boocode("log", "--archived", "--json").json["checkpoints"]
    assert [row["label"] for row in rows] == ["third", "second"]
    lines = repo.boocode("log", "--archived").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row["id"][:13] for row in rows]
    assert [(row["files"], row["added"], row["removed"]) for row in rows] == [(1, 1, 1)] * 2
    assert repo.boocode("log", "--archived", "--edits").code == 129
    assert "2 checkpoints returned to the log\n" in repo.boocode("undo").out
    assert repo.boocode("log", "--archived").out == ""
