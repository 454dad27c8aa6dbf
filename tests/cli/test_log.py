from __future__ import annotations

import json
import re

import pytest

from tests.checkpoints.kit import take
from tests.repo_kit import Repo

TYPES = {
    "id": str, "commit": str, "created_at": str, "label": str, "session": str, "chat": str,
    "message": str, "agent": str, "trigger": str, "branch": str, "worktree": str,
    "remote": type(None), "files": int,
}  # fmt: skip


def test_the_json_answer(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    take()
    repo.write("a", "x\n")
    repo.write("c", "x\n")
    newest = take(label="l", session="s", chat="c", message="m", agent="g", trigger="t")
    done = repo.boocode("log", "--json")
    assert (done.code, done.err) == (0, "")
    assert list(done.json) == ["ok", "checkpoints"]
    first, second = done.json["checkpoints"]
    assert {key: type(value) for key, value in first.items()} == TYPES
    assert {**first, "created_at": None} == {
        "id": newest.id, "commit": newest.commit.id, "created_at": None, "label": "l",
        "session": "s", "chat": "c", "message": "m", "agent": "g", "trigger": "t",
        "branch": "main", "worktree": "main", "remote": None, "files": 2,
    }  # fmt: skip
    assert [second[key] for key in ("label", "session", "chat", "message", "agent")] == [None] * 5
    assert (second["files"], second["trigger"]) == (0, "manual")


def test_the_lines(repo: Repo) -> None:
    repo.commit(a="a\n")
    one = take(label="first", agent="claude", chat="c1", session="s1")
    repo.write("a", "x\n")
    two = take()
    done = repo.boocode("log")
    assert done.code == 0
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    newest, oldest = done.out.splitlines()
    assert re.fullmatch(
        rf"{two.commit.id[:10]}  @    {when}  main  1 changed", newest
    ) or re.fullmatch(rf"{two.commit.id[:10]}  @~0   {when}  main  1 changed", newest)
    assert re.fullmatch(
        rf"{one.commit.id[:10]}  @~1   {when}  main  0 changed  first  \[claude c1 s1\]", oldest
    )


def test_there_are_none(repo: Repo) -> None:
    assert repo.boocode("log") == (0, "", "")
    assert repo.boocode("log", "--json").json == {"ok": True, "checkpoints": []}


@pytest.mark.parametrize(("count", "shown"), [("0", 0), ("1", 1), ("2", 2), ("9", 3)])
def test_a_number_of_them(repo: Repo, count: str, shown: int) -> None:
    made = [take(label=str(n)).id for n in range(3)]
    listed = repo.boocode("log", "--json", "-n", count).json["checkpoints"]
    assert [row["id"] for row in listed] == made[::-1][:shown]
    assert len(repo.boocode("log", f"--max-count={count}").out.splitlines()) == shown


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
    for line in repo.boocode("log", "--all").out.splitlines():
        label = re.search("ours [01]|theirs", line)
        assert label is not None
        name = re.search(r"@\S*", line)
        if label[0] == "theirs":
            assert name is None
        else:
            assert name is not None
            assert repo.boocode("show", name[0], "--json").json["checkpoint"]["label"] == label[0]


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
    assert repo.boocode("log").out.startswith("\x1b[33m")
    assert "\x1b" not in repo.boocode("log", "--json").out


def test_a_missing_tree_is_shown_as_a_question_mark(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "x\n")
    taken = take()
    tree = taken.tree
    (repo.top / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert "  ?" in repo.boocode("log").out
    assert repo.boocode("log", "--json").json["checkpoints"][0]["files"] is None


@pytest.mark.parametrize(
    "args",
    [("-n", "-1"), ("-n", "x"), ("-n",), ("extra",), ("--no",), ("--all", "--remotes"),
     ("--all", "--remote", "r"), ("--remotes", "--remote", "r"), ("--remotes", "--edits")],
)  # fmt: skip
def test_usage_errors(repo: Repo, args: tuple[str, ...]) -> None:
    done = repo.boocode("log", *args)
    assert (done.code, done.out) == (129, "")
    assert "usage: git boocode log [<options>]" in done.err
    assert repo.boocode("log", "--json", *args).json["error"]["code"] == "usage"


def test_help(repo: Repo) -> None:
    assert repo.boocode("log", "-h").code == 129


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
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    assert re.fullmatch(rf"{two}\S*  @~0   {when}  a  rewinds {one}\S*", newest)
    assert re.fullmatch(
        rf"{one}\S*  @~1   {when}  a, b, c and 2 more  5 edits  \[rewound in part\]", oldest
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
    assert "  @~0   " in our_line


def test_edits_in_colour(repo: Repo) -> None:
    edit(repo, {"path": "n", "content": ""})
    repo.git("config", "color.ui", "always")
    assert repo.boocode("log", "--edits").out.startswith("\x1b[33m")


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
    assert "(main)" in repo.boocode("log", "--archived").out
    assert repo.boocode("log", "--archived", "--edits").code == 129
    assert "2 checkpoints returned to the log\n" in repo.boocode("undo").out
    assert repo.boocode("log", "--archived").out == ""
