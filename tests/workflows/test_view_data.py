"""The data of the page: every turn with its files, diff, edits, refusals, and authors of lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_changes import DiffLimits, newest_everywhere, with_details
from git_boocode.checkpoints.turns import CurrentTree
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.workflows.view_data import page_data, row_data, turn_data
from tests.agents.kit import fire, prompted
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def page(most: int = 1000) -> dict[str, Any]:
    """The data as the browser reads it."""
    found: dict[str, Any] = json.loads(json.dumps(page_data(Repository.discover(), most)))
    return found


def files(data: dict[str, Any], number: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = data["details"][data["turns"][number]["id"]]["files"]
    return found


def begin(repo: Repo, turn: str, **more: str) -> None:
    payload = prompted(repo, prompt_id=turn, prompt=f"do {turn}", **more)
    fire(repo, "claude-code", "UserPromptSubmit", payload=payload)


def end(repo: Repo, turn: str) -> None:
    fire(repo, "claude-code", "Stop", payload=prompted(repo, prompt_id=turn))


def edit(repo: Repo, old: str, new: str) -> int:
    given = json.dumps({"path": "a", "old_string": old, "new_string": new})
    return repo.boocode("apply-edit", stdin=given).code


def test_a_turn_has_its_facts_edits_and_refusals(repo: Repo) -> None:
    repo.commit(a="one\n")
    assert edit(repo, "one", "zero") == 0
    begin(repo, "first")
    assert edit(repo, "zero", "two\nthree") == 0
    assert edit(repo, "nowhere", "x") == 1
    end(repo, "first")
    assert edit(repo, "two", "by hand") == 0
    begin(repo, "second")
    data = page()
    second, first = data["turns"]
    keys = ("label", "prompt", "agent", "session", "branch", "worktree")
    assert {key: first[key] for key in keys} == {
        "label": "do first",
        "prompt": "do first",
        "agent": "claude-code",
        "session": "s1",
        "branch": "main",
        "worktree": "main",
    }
    assert (first["end"], first["files"], first["added"], first["removed"]) == ("recorded", 1, 2, 1)
    assert first["started"] < first["ended"]
    assert first["command"] == f"git boocode restore {first['id']}"
    assert first["paths"] == ["a"]
    assert (first["edits"], first["refusals"]) == (1, 1)
    details = data["details"][first["id"]]
    assert details["edits"][0]["edits"][0]["path"] == "a"
    assert details["refusals"][0]["failures"][0]["code"] == "not_found"
    assert details["files"][0]["diff"] == "@@ -1 +1,2 @@\n-zero\n+two\n+three"
    assert (second["end"], second["files"], second["ended"]) == ("now", 0, None)
    assert second["edits"] == second["refusals"] == 0


def test_a_checkpoint_in_a_turn_takes_nothing_of_it(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="one\n")
    begin(repo, "first")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    assert repo.boocode("checkpoint").code == 0
    assert edit(repo, "one", "two") == 0
    end(repo, "first")
    inside, turn = page()["turns"]
    assert (inside["in_turn"], inside["files"], inside["edits"]) == (True, None, 0)
    assert (turn["in_turn"], turn["files"], turn["edits"]) == (False, 1, 1)


def test_an_end_that_was_not_recorded_has_no_duration(repo: Repo) -> None:
    repo.commit(a="one\n")
    begin(repo, "first")
    repo.write("a", "two\n")
    assert edit(repo, "two", "three") == 0
    begin(repo, "second")
    second, first = page()["turns"]
    assert (first["end"], first["ended"], first["edits"]) == ("checkpoint", None, 1)
    assert second["edits"] == 0


def test_turns_of_other_worktrees_have_a_command_for_there(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.git("worktree", "add", "-q", "-b", "linked", "linked tree")
    there = repo.top / "linked tree"
    repo.boocode("checkpoint", "-m", "there", cwd=there)
    (there / "a").write_text("two\n")
    assert repo.boocode("checkpoint", "-m", "there again", cwd=there).code == 0
    take(label="here")
    turns = {turn["label"]: turn for turn in page()["turns"]}
    assert turns["here"]["here"]
    first = turns["there"]
    assert not first["here"]
    assert first["command"] == f"git -C '{there}' boocode restore {first['id']}"
    assert (first["worktree"], first["files"]) == ("linked-tree", 1)
    assert turns["there again"]["files"] is None
    assert page()["details"][turns["there again"]["id"]]["files"] is None


def test_every_kind_of_change_is_told_apart(repo: Repo) -> None:
    repo.write("mode", "x\n")
    repo.write("old", "".join(f"{number}\n" for number in range(20)))
    repo.write("binary", b"\0\1")
    repo.write("gone", "x\n")
    repo.write('odd\n"name\x1b\udcff', "1\n")
    os.symlink("gone", repo.top / "link")
    take()
    (repo.top / "mode").chmod(0o755)
    (repo.top / "old").rename(repo.top / "new")
    repo.write("binary", b"\0\2")
    (repo.top / "gone").unlink()
    repo.write('odd\n"name\x1b\udcff', b"\xff\n\r\x1b[2J")
    (repo.top / "link").unlink()
    repo.write("link", "text\n")
    repo.write("empty")
    for recorded in (False, True):
        if recorded:
            take()
        found = {file["path"]: file for file in files(page(), int(recorded))}
        assert {path: file["action"] for path, file in found.items()} == {
            "binary": "modify",
            "empty": "create",
            "gone": "delete",
            "link": "modify",
            "mode": "modify",
            "new": "rename",
            'odd\n"name\x1b\udcff': "modify",
        }
        assert found["binary"]["added"] is None
        assert found["mode"]["modes"] == ["100644", "100755"]
        assert found["new"]["source"] == "old"
        assert found["link"]["diff"].count("@@ ") == 2
        assert found['odd\n"name\x1b\udcff']["diff"].splitlines()[2] == "+\udcff"


def test_a_name_that_looks_like_the_next_turn_is_a_name(repo: Repo) -> None:
    first = take(label="first")
    name = f"x\n{first.commit.id}"
    repo.write(name, "x\n")
    repo.write("z", "x\n")
    second = take(label="second")
    repo.write(f"y\n{second.commit.id}", "+\n")
    take(label="third")
    data = page()
    assert [[file["path"] for file in files(data, number)] for number in (0, 1, 2)] == [
        [],
        [f"y\n{second.commit.id}"],
        [name, "z"],
    ]


def test_long_diffs_are_cut_and_the_others_stay(repo: Repo) -> None:
    repo.write("a", "x\n")
    take()
    repo.write("a", "long line\n" * 1000)
    repo.write("b", "short\n")
    take()
    repo.write("b", "changed\n")
    repository = Repository.discover()
    with temporary_objects(repository):
        found = newest_everywhere(Catalog(repository), CurrentTree(repository), 10)
        newest, first = with_details(repository, found, DiffLimits(1000, 10_000), {})
        small = with_details(repository, found, DiffLimits(1000, 0), {})
    assert newest.files is not None
    assert first.files is not None
    assert [(file.path, file.cut) for file in newest.files] == [("b", False)]
    assert [(file.path, file.cut) for file in first.files] == [("a", True), ("b", True)]
    assert 900 < len(first.files[0].diff) <= 1000
    assert first.counts == (2, 1001, 1)
    assert [file.diff for turn in small for file in turn.files or ()] == ["", "", ""]


def test_large_files_are_not_compared(repo: Repo) -> None:
    take()
    repo.write("large", "x" * (1 << 20))
    [file] = files(page())
    assert (file["added"], file["diff"]) == (None, "")


def test_missing_objects_cost_one_turn(repo: Repo) -> None:
    for number in range(4):
        repo.write("a", f"{number}\n")
        take(label=str(number))
    repo.write("a", "now\n")
    blob = repo.git("rev-parse", f"{take().commit.id}:a").strip()
    repo.write("a", "later\n")
    take()
    (repo.top / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    found = [turn["files"] for turn in page()["turns"]]
    assert found == [0, None, None, 1, 1, 1]
    assert len(files(page(), 5)) == 1


def test_a_turn_of_some_paths_has_their_changes_alone(repo: Repo) -> None:
    repo.write("a", "one\n")
    repo.write("b", "one\n")
    take(label="whole")
    assert repo.boocode("checkpoint", "-m", "part", "a").code == 0
    repo.write("a", "two\n")
    repo.write("b", "two\n")
    take(label="next")
    data = page()
    found = {
        turn["label"]: [file["path"] for file in files(data, number)]
        for number, turn in enumerate(data["turns"])
    }
    assert found == {"next": [], "part": ["a"], "whole": ["a", "b"]}


def test_the_newest_turns_are_shown_first(repo: Repo) -> None:
    for number in range(3):
        repo.write("a", f"{number}\n")
        take(label=str(number))
    assert [turn["label"] for turn in page(2)["turns"]] == ["2", "1"]
    assert page(2)["more"]
    assert not page(3)["more"]


def test_the_newest_files_are_blamed(repo: Repo) -> None:
    repo.commit(a="committed\n", b="b\n")
    first = take(label="first", agent="codex")
    repo.write("a", "committed\nfirst\n")
    take(label="second")
    repo.write("a", "committed\nfirst\nsecond\n")
    repo.write("<b>&", "x\n")
    blame = page()["blame"]
    assert blame.keys() == {"a", "<b>&"}
    assert blame["a"]["lines"] == ["committed", "first", "second"]
    rows = [(row["start"], row["source"], row["label"]) for row in blame["a"]["ranges"]]
    assert rows[1:] == [(2, "turn", "first"), (3, "turn", "second")]
    assert blame["a"]["ranges"][1]["turn"] == first.id


def test_nothing_is_left_behind(repo: Repo) -> None:
    repo.commit(a="one\n")
    take()
    repo.write("a", "two\n")
    before = repo.git("count-objects", "-v"), repo.status()
    page()
    assert (repo.git("count-objects", "-v"), repo.status()) == before


def test_a_record_that_another_program_wrote_is_still_json(repo: Repo) -> None:
    repo.commit(a="one\n")
    take()
    assert edit(repo, "one", "two") == 0
    [ref] = repo.git("for-each-ref", "--format=%(refname)", "refs/boocode/edits/").split()
    message = repo.git("log", "-1", "--format=%B", ref)
    odd = message.replace('"similarity": 1.0', '"similarity": NaN')
    odd = odd.replace('"start_line": 1', '"start_line": "</script>"')
    assert odd.count("NaN") == odd.count("</script>") == 1
    commit = repo.git("commit-tree", f"{ref}^{{tree}}", "-F", "-", stdin=odd).strip()
    repo.git("update-ref", ref, commit)
    data = page_data(Repository.discover(), 10)
    json.dumps(data, allow_nan=False)
    [turn] = data["turns"]
    [row] = data["details"][turn["id"]]["edits"][0]["edits"]
    assert (row["path"], row["similarity"], row["start_line"]) == ("a", None, None)


def test_without_turns_there_is_a_page(repo: Repo) -> None:
    data = page()
    assert (data["turns"], data["details"], data["blame"]) == ([], {}, {})


def test_rows_and_details_are_the_same_as_of_the_page(repo: Repo) -> None:
    repo.commit(a="one\n")
    begin(repo, "first")
    assert edit(repo, "one", "two") == 0
    begin(repo, "second")
    whole, cache = page(), {}  # type: ignore[var-annotated]
    for _ in range(2):
        rows = json.loads(json.dumps(row_data(Repository.discover(), 1000, cache)))
        assert rows["turns"] == whole["turns"]
        assert "details" not in rows
    for turn in whole["turns"]:
        found = turn_data(Repository.discover(), turn["id"], 1000)
        assert json.loads(json.dumps(found)) == whole["details"][turn["id"]]


def test_the_state_changes_with_turns_files_and_refusals(repo: Repo) -> None:
    repo.commit(a="one\n")
    known = ""

    def changed() -> bool:
        nonlocal known
        found = row_data(Repository.discover(), 1000, {}, known)
        known = found.get("state", known)
        return bool(found)

    assert changed()
    assert not changed()
    take()
    assert changed()
    repo.git("commit", "-q", "--allow-empty", "-m", "a commit that changes no file")
    assert changed()
    repo.git("checkout", "-q", "-b", "other")
    assert changed()
    repo.write("a", "two\n")
    assert changed()
    assert edit(repo, "nowhere", "x") == 1
    assert changed()
    assert not changed()


HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]>&lt;\u2028\u2029\u202e",
    "\x1b]0;title\x07\0\x9b",
    "\ud800\udfff𝔵",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_arrive_as_they_are(repo: Repo, text: str) -> None:
    name = text.replace("/", "_").replace("\0", "").replace("\ud800", "").replace("\udfff", "")
    take(label=text.replace("\0", ""), agent=name, session=name)
    repo.write(name, text.encode("utf-8", "replace"))
    data = page()
    assert data["turns"][0]["agent"] == name
    assert files(data)[0]["path"] == name


@pytest.mark.parametrize("renames", ["true", "false"])
def test_counts_are_those_of_the_log(repo: Repo, renames: str) -> None:
    repo.git("config", "diff.renames", renames)
    repo.commit(a="".join(f"{number}\n" for number in range(50)), large="x\n")
    take()
    repo.git("mv", "a", "b")
    # Too large for its lines to be shown.
    repo.write("large", "y\n" * 300_000)
    repo.write("binary", b"\0")
    take()
    found = page_data(Repository.discover(), 10)["turns"]
    rows = repo.boocode("log", "--json").json["checkpoints"]
    keys = ("files", "added", "removed")
    assert [[row[key] for key in keys] for row in rows] == [
        [turn[key] for key in keys] for turn in found
    ]
    assert found[1]["added"] >= 300_000


def test_what_was_reverted_and_restored_is_among_the_turns(repo: Repo) -> None:
    repo.commit(a="one\n")
    first = take(label="first")
    repo.write("made", "made\n")
    second = take(label="second")
    repo.write("a", "two\n")
    repo.boocode("revert", first.id)
    repo.boocode("restore", second.id, "made")
    repo.boocode("restore", second.id)
    repo.boocode("undo")
    data = page()
    assert [turn["reverted"] for turn in data["turns"]] == [False, True]
    assert [(each["command"], each["partial"]) for each in data["operations"]] == [
        ("restore", True),
        ("revert", False),
    ]
    assert data["operations"][1]["targets"] == [{"short": first.id[:13], "label": "first"}]
    assert row_data(Repository.discover(), 1, {})["operations"] == data["operations"]


def test_a_range_has_its_commits_and_the_turns_that_only_notes_name(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("base", f="a\n")
    for name in ("one", "two"):
        take(label=name, agent="claude-code", session=name)
        repo.commit(name, f=f"{repo.read('f').decode()}{name}\nnext to {name}\n")
    repo.boocode("checkpoint", "-m", "by hand follows")
    by_hand = repo.commit("by hand", g="1\n2\n3\n")
    repo.boocode("attribute", "HEAD~3..HEAD")
    first, second = (repo.git("rev-parse", f"HEAD~{number}").strip() for number in (2, 1))
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "remote"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote"))
    assert repo.boocode("push", "--yes").code == 0
    repo.git("clone", "-q", str(tmp_path / "remote"), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    clone.git("fetch", "-q", "origin", "refs/notes/boocode:refs/notes/boocode")

    def of_range(top: Path) -> dict[str, Any]:
        monkeypatch.chdir(top)
        return page_data(Repository.discover(), 100, "HEAD~3..HEAD")

    recorded, noted = of_range(repo.top), of_range(clone.top)
    assert recorded["range"] == noted["range"]
    rows = [(row["id"], row["added"]) for row in noted["range"]["commits"]]
    assert rows == [(by_hand, 3), (second, 2), (first, 2)]
    [_, _, lines] = [row["lines"] for row in noted["range"]["commits"]]
    [one] = [turn["id"] for turn in recorded["turns"] if turn["label"] == "one"]
    assert lines == [{"path": "f", "start": 2, "end": 3, "turn": one}]
    keys = ("label", "agent", "session", "paths")
    expected = [[name, "claude-code", name, ["f"]] for name in ("two", "one")]
    for data in (recorded, noted):
        assert [[turn[key] for key in keys] for turn in data["turns"]][-2:] == expected
    assert [turn.get("noted") for turn in noted["turns"]] == [True, True]
    assert clone.boocode("fetch").code == 0
    fetched = of_range(clone.top)
    last = fetched["turns"][-1]
    assert (last["remote"], last["here"]) == ("origin", False)
    assert last["command"] == f"git boocode show {one}"
    assert fetched["blame"]["f"]["ranges"][1]["label"] == "one"
