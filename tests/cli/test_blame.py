"""`git boocode blame`: the turn that wrote each line."""

from __future__ import annotations

import json

import pytest

from tests.agents.kit import fire, prompted
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def begin(repo: Repo, turn: str) -> None:
    payload = prompted(repo, prompt_id=turn, prompt=f"do {turn}")
    fire(repo, "claude-code", "UserPromptSubmit", payload=payload)


def end(repo: Repo, turn: str) -> None:
    fire(repo, "claude-code", "Stop", payload=prompted(repo, prompt_id=turn))


@pytest.fixture
def file(repo: Repo) -> Repo:
    """A file with lines of a commit, uncommitted ones, and those of turns and in between."""
    repo.commit(**{"src/a": "committed\n"})
    lines = ["committed", "uncommitted"]

    def write(line: str) -> None:
        lines.append(line)
        repo.write("src/a", "".join(f"{each}\n" for each in lines))

    write("before")
    begin(repo, "one")
    write("one")
    end(repo, "one")
    write("hand")
    begin(repo, "two")
    write("two")
    repo.boocode("checkpoint", "-m", "mine")
    write("now")
    return repo


def test_each_line_has_its_turn(file: Repo) -> None:
    answer = file.boocode("blame", "src/a", "--json").json
    one, two, mine = reversed(file.boocode("log", "--json").json["checkpoints"])
    found = [
        (row["start_line"], row["end_line"], row["source"], row["checkpoint_id"], row["label"])
        for row in answer["ranges"]
    ]
    assert found == [
        (1, 1, "commit", None, None),
        (2, 3, "before", None, None),
        (4, 4, "turn", one["id"], "do one"),
        (5, 5, "later", one["id"], "do one"),
        (6, 6, "turn", two["id"], "do two"),
        (7, 7, "turn", mine["id"], "mine"),
    ]
    first, second = answer["ranges"][0], answer["ranges"][2]
    assert first["commit"] == file.git("rev-parse", "HEAD").strip()
    assert (second["agent"], second["message"], second["lines"]) == ("claude-code", "one", ["one"])


def test_people_see_agent_label_and_age(file: Repo) -> None:
    objects = file.git("count-objects")
    done = file.boocode("blame", "a", cwd=file.top / "src")
    rows = done.out.splitlines()
    assert (done.code, len(rows)) == (0, 7)
    commit = file.git("rev-parse", "HEAD")[:13]
    assert rows[0].startswith(f"{commit} (")
    assert "uncommitted" in rows[1]
    assert "claude-code  do one " in rows[3]
    assert "by hand      do one " in rows[4]
    assert rows[6].endswith(" 7) now")
    assert file.git("count-objects") == objects


def test_a_restore_takes_the_line_back(file: Repo) -> None:
    [found] = file.boocode("blame", "-L", "6,6", "src/a", "--json").json["ranges"]
    assert found["lines"] == ["two"]
    assert file.boocode("restore", found["checkpoint_id"]).code == 0
    assert file.read("src/a").split()[-1] == b"hand"


def test_what_cannot_be_blamed(file: Repo) -> None:
    for arguments, code, word in (
        (("missing",), "missing_file", "'missing' is not a file of the worktree"),
        (("src",), "missing_file", "'src' is not a file of the worktree"),
        (("../a",), "outside_worktree", "outside the worktree"),
        (("-L", "9,12", "src/a"), "invalid_input", "has only 7 lines"),
        (("-L", "x", "src/a"), "invalid_input", "'x'\nhint: examples of a range: 10,20 "),
    ):
        done = file.boocode("blame", *arguments, "--json")
        error = json.loads(done.out)["error"]
        assert (done.code, error["code"]) == (1, code)
        assert word in "\nhint: ".join((error["message"], error.get("hint", "")))


def test_without_a_checkpoint_git_blame_is_named(repo: Repo) -> None:
    repo.commit(a="one\n")
    done = repo.boocode("blame", "a")
    assert done.code == 1
    assert done.err == (
        "error: this worktree has no checkpoints\n"
        "hint: 'git boocode checkpoint' takes one; until then, use 'git blame'\n"
    )
