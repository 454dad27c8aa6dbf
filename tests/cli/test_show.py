from __future__ import annotations

import pytest

from tests.checkpoints.kit import take
from tests.repo_kit import Repo


def test_the_newest_by_default(repo: Repo) -> None:
    head = repo.commit(a="a\n")
    take()
    repo.write("a", "x\n")
    repo.git("config", "boocode.maxFileSize", "5")
    repo.write("large\n", "too large")
    taken = take(label="l", agent="g", session="s", chat="c", message="m", meta={"k": "v"})
    done = repo.boocode("show")
    assert (done.code, done.err) == (0, "")
    header, _, diff = done.out.partition("\n\n")
    lines = header.split("\n")
    assert lines.pop(2) == f"created_at  {taken.meta.text('created_at')}"
    assert lines == [
        f"checkpoint {taken.id}",
        f"commit      {taken.commit.id}",
        "label       l",
        "agent       g",
        "session     s",
        "chat        c",
        "message     m",
        "trigger     manual",
        f"head        refs/heads/main {head}",
        'meta        {"k": "v"}',
        'not kept    "large\\n"',
    ]
    assert diff == repo.git("diff", head, taken.commit.id)


def test_the_json_answer(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    repo.write("a", "x\n")
    repo.write("c", "x\n")
    (repo.top / "b").unlink()
    taken = take(label="l")
    answer = repo.boocode("show", taken.id[:-2], "--json").json
    assert list(answer) == ["ok", "checkpoint", "files"]
    shown = answer["checkpoint"]
    extra = {"commit": taken.commit.id, "tree": taken.tree}
    assert shown == {**taken.meta.values, **extra}
    assert answer["files"] == [
        {"path": "a", "action": "modify"},
        {"path": "b", "action": "delete"},
        {"path": "c", "action": "create"},
    ]


def test_on_an_unborn_branch_and_detached(repo: Repo) -> None:
    repo.write("a", "a\n")
    take()
    assert "head        refs/heads/main (unborn)\n" in repo.boocode("show").out
    commit = repo.commit()
    repo.git("checkout", "-q", "--detach")
    take()
    assert f"head        detached {commit}\n" in repo.boocode("show").out


def test_a_summary(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "x\n")
    take()
    assert " a | 2 +-\n" in repo.boocode("show", "--stat").out


@pytest.mark.parametrize("name", ["nonsense", "@~5", "ffffffff", "label:none"])
def test_there_is_no_such_checkpoint(repo: Repo, name: str) -> None:
    take()
    done = repo.boocode("show", name)
    assert (done.code, done.out) == (1, "")
    error, hint = done.err.splitlines()
    assert error.startswith("error: ")
    assert hint == "hint: 'git boocode log' lists the checkpoints"
    answer = repo.boocode("show", name, "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "not_found")
    repo.git("config", "advice.boocode", "false")
    assert "hint" not in repo.boocode("show", name).err


def test_usage_errors(repo: Repo) -> None:
    assert repo.boocode("show", "@", "@").code == 129
    assert repo.boocode("show", "--json", "@", "@").json["error"]["code"] == "usage"
    assert repo.boocode("show", "-h").code == 129
