from __future__ import annotations

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def two(repo: Repo) -> list[Checkpoint]:
    """Two checkpoints, and a worktree that differs from both."""
    repo.commit(**{"a": "0\n", "sub/b": "0\n"})
    made = []
    for text in ("1\n", "2\n"):
        repo.write("a", text)
        repo.write("sub/b", text)
        made.append(take())
    repo.write("a", "3\n")
    repo.write("sub/new", "3\n")
    return made


def names(repo: Repo, *args: str, cwd: str = "") -> list[str]:
    """The files that a diff tells of."""
    done = repo.boocode("diff", "--name-only", *args, cwd=cwd)
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


def test_the_newest_checkpoint_against_the_worktree(repo: Repo, two: list[Checkpoint]) -> None:
    done = repo.boocode("diff")
    assert (done.code, done.err) == (0, "")
    assert "-2\n+3\n" in done.out
    assert "+++ b/sub/new\n" in done.out
    assert "sub/b" not in done.out
    assert done.out == repo.boocode("diff", "@").out == repo.boocode("diff", two[1].id).out


def test_a_checkpoint_against_the_worktree(repo: Repo, two: list[Checkpoint]) -> None:
    assert names(repo, "@~1") == ["a", "sub/b", "sub/new"]
    assert "-1\n+3\n" in repo.boocode("diff", two[0].commit.id).out


def test_two_checkpoints(repo: Repo, two: list[Checkpoint]) -> None:
    assert names(repo, "@~1", "@") == ["a", "sub/b"]
    forward = repo.boocode("diff", two[0].id, two[1].id).out
    assert forward.count("-1\n+2\n") == 2
    assert repo.boocode("diff", two[1].id, two[0].id).out.count("-2\n+1\n") == 2


def test_nothing_differs(repo: Repo, two: list[Checkpoint]) -> None:
    assert repo.boocode("diff", "@", "@") == (0, "", "")
    assert repo.boocode("diff", "@", "@", "--json").json == {"ok": True, "files": [], "diff": ""}


def test_paths(repo: Repo, two: list[Checkpoint]) -> None:
    assert names(repo, "@~1", "@", "a") == ["a"]
    assert names(repo, "@~1", "@", "--", "a") == ["a"]
    assert names(repo, "a") == names(repo, "--", "a") == ["a"]
    assert names(repo, "@", "sub") == ["sub/new"]
    assert names(repo, "@~1", "--", "*b") == ["sub/b"]
    assert names(repo, "@~1", "a", "sub/b") == ["a", "sub/b"]
    assert names(repo, "--", "@") == []


def test_from_a_subdirectory(repo: Repo, two: list[Checkpoint]) -> None:
    assert names(repo, "@~1", "b", cwd="sub") == ["sub/b"]
    assert names(repo, "@~1", ".", cwd="sub") == ["sub/b", "sub/new"]
    assert names(repo, "@~1", cwd="sub") == ["a", "sub/b", "sub/new"]
    answer = repo.boocode("diff", "@~1", "--json", "b", cwd="sub").json
    assert answer["files"] == [{"path": "sub/b", "action": "modify"}]
    assert "+++ b/sub/b\n" in answer["diff"]


def test_the_json_answer(repo: Repo, two: list[Checkpoint]) -> None:
    answer = repo.boocode("diff", "--json").json
    assert list(answer) == ["ok", "files", "diff"]
    assert answer["files"] == [
        {"path": "a", "action": "modify"}, {"path": "sub/new", "action": "create"}
    ]  # fmt: skip
    assert answer["diff"].startswith("diff --git a/a b/a\n")


@pytest.mark.parametrize(
    ("key", "value"),
    [("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always"),
     ("diff.external", "false"), ("diff.renames", "copies"), ("core.quotePath", "false"),
     ("diff.context", "0"), ("diff.wordRegex", "."), ("diff.submodule", "log")],
)  # fmt: skip
def test_the_users_taste_does_not_change_the_json_answer(
    repo: Repo, two: list[Checkpoint], key: str, value: str
) -> None:
    repo.git("mv", "sub/b", "moved")
    plain = repo.boocode("diff", "--json").json
    repo.git("config", key, value)
    assert repo.boocode("diff", "--json").json == plain


def test_the_users_taste_shows_in_what_people_read(repo: Repo, two: list[Checkpoint]) -> None:
    repo.git("config", "diff.noprefix", "true")
    repo.git("config", "color.ui", "always")
    out = repo.boocode("diff").out
    assert "+++ a\x1b" in out


def test_bytes_that_are_no_text(repo: Repo) -> None:
    repo.commit()
    take()
    repo.write("caf\udce9", b"\xe9\n")
    answer = repo.boocode("diff", "--json").json
    assert answer["files"] == [{"path": "caf\udce9", "action": "create"}]
    assert "+\udce9\n" in answer["diff"]


def test_what_makes_no_sense(repo: Repo, two: list[Checkpoint]) -> None:
    for args, code, name in (
        (("nonsense",), 1, "not_found"),
        (("@", "nonsense"), 1, "not_found"),
        (("nonsense", "--", "a"), 1, "not_found"),
        (("",), 1, "invalid_pathspec"),
        (("--", ""), 1, "invalid_pathspec"),
        (("@", "--", ":(nonsense)a"), 1, "invalid_pathspec"),
        (("--", "../x"), 1, "outside_worktree"),
        (("@", "@", "--", "a", "/"), 1, "outside_worktree"),
        (("@", "@", "@", "--"), 129, "usage"),
        (("@", "@", "a", "--", "a"), 129, "usage"),
        (("--nonsense",), 129, "usage"),
    ):
        done = repo.boocode("diff", *args)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith("error: ")
        answer = repo.boocode("diff", "--json", *args)
        assert (answer.code, answer.json["error"]["code"]) == (code, name)


def test_nothing_of_the_users_is_touched(repo: Repo, two: list[Checkpoint]) -> None:
    index, known = repo.read(".git/index"), repo.git("for-each-ref")
    repo.boocode("diff")
    assert (repo.read(".git/index"), repo.git("for-each-ref")) == (index, known)


def test_a_turn(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    first = take()
    repo.write("a", "turn\n")
    repo.write("b", "turn\n")
    capture_turn_end(Repository.discover(), first.id, "Stop")
    repo.write("a", "by hand\n")
    take()
    repo.write("b", "now\n")
    shown = repo.boocode("diff", "--turn", "@~1").out
    assert "-a\n+turn\n" in shown
    assert "-b\n+turn\n" in shown
    only = repo.boocode("diff", "@~1", "--turn", "--", "b").out
    assert "a/a" not in only
    assert repo.boocode("diff", "--turn", "--name-only").out == "b\n"
    answer = repo.boocode("diff", "--turn", "@~1", "--json").json
    assert [row["path"] for row in answer["files"]] == ["a", "b"]
    assert repo.boocode("diff", "--turn", "@~1", "@").code == 129


def test_a_safety_checkpoint_began_no_turn(repo: Repo) -> None:
    repo.commit(a="a\n")
    take()
    repo.write("a", "b\n")
    undo = back().undo
    assert undo is not None
    refused = repo.boocode("diff", "--turn", undo)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"error: {undo[:13]} began no turn: it is a safety checkpoint\n"
        f"hint: 'git boocode restore {undo[:13]}' goes back to that state\n"
    )
    said = repo.boocode("show", "--conversation", undo).out
    assert "before a restore" not in said
    assert said.endswith(
        "\n(the conversation is not here: it is a safety checkpoint, and began no turn)\n"
    )


def test_a_range_of_checkpoints(repo: Repo) -> None:
    repo.commit(a="0\n")
    for number in range(3):
        repo.write("a", f"{number}\n")
        taken = take()
    repo.write("a", "now\n")
    wanted = repo.boocode("diff", "@~2", "@").out
    assert "-0\n+2\n" in wanted
    for name in ("@~2..@", "@~2..", f"@~2..{taken.id[:13]}"):
        assert repo.boocode("diff", name).out == wanted
    assert "-2\n+1\n" in repo.boocode("diff", "..@~1", "--", "a").out
    assert repo.boocode("diff", "@~2..@", "b").code == 1
    assert "this worktree has only 3 checkpoints" in repo.boocode("diff", "@~2..@~9").err


def test_a_path_with_dots_is_no_range(repo: Repo) -> None:
    repo.commit(**{"a..b": "1\n", "sub/c": "c\n"})
    take()
    repo.write("a..b", "2\n")
    assert "-1\n+2\n" in repo.boocode("diff", "a..b").out
    assert "-1\n+2\n" in repo.boocode("diff", "../a..b", cwd="sub").out
