"""Take back what one turn did, and keep everybody else's work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.line_origin import blame
from git_boocode.checkpoints.operation_log import reverted_turns
from git_boocode.checkpoints.restore.request import PICK, REVERT, RestoreRequest
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.workflows import take_back as workflow
from git_boocode.workflows.restore_with_edits import undo
from git_boocode.workflows.take_back import (
    TakeBackRequest,
    TakenBack,
    take_back,
)
from tests.repo_kit import Repo

LINES = [f"line {number} of the file\n" for number in range(1, 41)]


def begin(repo: Repo, session: str, agent: str = "claude-code") -> str:
    args = ("--session", session, "--agent", agent, "-m", f"work of {session}", "--json")
    return str(repo.boocode("checkpoint", *args).json["id"])


def revert(
    repo: Repo, *turns: str, command: str = REVERT, agent: str = "", paths: tuple[str, ...] = ()
) -> TakenBack:
    request = TakeBackRequest(turns=turns, agent=agent, paths=paths)
    return take_back(Repository.discover(str(repo.top)), command, request)


def text(repo: Repo, name: str = "f") -> str:
    return (Path(repo.top) / name).read_text()


def replaced(repo: Repo, number: int, line: str) -> None:
    lines = text(repo).splitlines(keepends=True)
    lines[number - 1] = line
    repo.write("f", "".join(lines))


@pytest.fixture
def turns(repo: Repo) -> tuple[str, str]:
    """Two turns, one after the other, and then work by hand, all in one file and in others."""
    repo.commit(f="".join(LINES), gone="gone\n")
    first = begin(repo, "a")
    replaced(repo, 5, "by a\n")
    repo.write("made-by-a", "a\n")
    (Path(repo.top) / "gone").unlink()
    second = begin(repo, "b", "codex")
    replaced(repo, 20, "by b\n")
    repo.write("made-by-b", "b\n")
    begin(repo, "c")
    replaced(repo, 30, "by hand\n")
    repo.write("notes", "mine\n")
    return first, second


def test_a_damaged_index_stays_as_it_is(repo: Repo, turns: tuple[str, str]) -> None:
    index = Path(repo.top) / ".git/index"
    index.write_bytes(b"DIRC garbage")
    done = repo.boocode("revert", turns[0], "--diff")
    assert (done.code, index.read_bytes()) == (0, b"DIRC garbage")
    assert "-by a" in done.out
    assert "by a\n" not in text(repo)
    assert repo.boocode("pick", turns[0], "--", "f").code == 0
    assert "by a\n" in text(repo)


@pytest.mark.parametrize("named", ["old", "sub/new"])
def test_either_name_of_a_renamed_file_stands_for_both(repo: Repo, named: str) -> None:
    repo.commit(old="".join(LINES))
    turn = begin(repo, "a")
    (repo.top / "sub").mkdir()
    repo.git("mv", "old", "sub/new")
    repo.write("sub/new", "".join(LINES[1:]))
    begin(repo, "b")
    done = revert(repo, turn, paths=(named,))
    assert {change.path for change in done.result.changed} == {"old", "sub/new"}
    assert (text(repo, "old"), (repo.top / "sub").exists()) == ("".join(LINES), False)
    revert(repo, turn, command=PICK, paths=(named,))
    assert (text(repo, "sub/new"), (repo.top / "old").exists()) == ("".join(LINES[1:]), False)
    other = {"old": "sub/new", "sub/new": "old"}[named]
    done = revert(repo, turn, paths=(".", f":!{other}"))
    assert done.result.changed == ()


def test_one_turn_is_taken_back_and_all_else_stays(repo: Repo, turns: tuple[str, str]) -> None:
    before = text(repo)
    done = revert(repo, turns[0])
    assert {change.path: change.action for change in done.result.changed} == {
        "f": "modify",
        "made-by-a": "delete",
        "gone": "create",
    }
    assert text(repo) == before.replace("by a\n", LINES[4])
    assert text(repo, "made-by-b") == "b\n"
    assert text(repo, "notes") == "mine\n"
    repository = Repository.discover(str(repo.top))
    assert reverted_turns(Catalog(repository).safety()) == {turns[0]}
    undo(repository, RestoreRequest())
    assert text(repo) == before
    assert not (Path(repo.top) / "gone").exists()
    assert reverted_turns(Catalog(repository).safety()) == set()


def test_a_reverted_turn_is_picked_again(repo: Repo, turns: tuple[str, str]) -> None:
    before = text(repo)
    revert(repo, turns[0])
    done = revert(repo, turns[0], command=PICK)
    assert text(repo) == before
    assert len(done.result.changed) == 3
    assert reverted_turns(Catalog(Repository.discover(str(repo.top))).safety()) == set()


def test_all_turns_of_an_agent_are_taken_back_once(repo: Repo, turns: tuple[str, str]) -> None:
    done = revert(repo, agent="codex")
    assert [turn.id for turn in done.turns] == [turns[1]]
    with pytest.raises(RefusedError) as refused:
        revert(repo, agent="codex")
    assert refused.value.code == "not_found"


def test_paths_limit_what_is_taken_back(repo: Repo, turns: tuple[str, str]) -> None:
    done = revert(repo, turns[0], paths=("gone",))
    assert [change.path for change in done.result.changed] == ["gone"]
    assert "by a\n" in text(repo)
    assert reverted_turns(Catalog(Repository.discover(str(repo.top))).safety()) == set()


def test_later_changes_of_the_same_lines_are_a_conflict(repo: Repo, turns: tuple[str, str]) -> None:
    replaced(repo, 5, "later\n")
    refs = repo.git("for-each-ref")
    before = text(repo)
    with pytest.raises(RefusedError) as refused:
        revert(repo, turns[0])
    assert refused.value.code == "conflict"
    conflicts: Any = refused.value.details["conflicts"]
    assert [(each["path"], each["lines"]) for each in conflicts] == [("f", [[5, 5]])]
    assert [each["label"] for each in conflicts[0]["by"]] == ["work of c"]
    assert conflicts[0]["message"] == "the lines were changed since"
    assert text(repo) == before
    assert repo.git("for-each-ref") == refs


def marked_in_log(repo: Repo) -> list[str]:
    rows = repo.boocode("log", "--json").json["checkpoints"]
    return [row["id"] for row in rows if row.get("reverted")]


def test_files_outside_of_a_sparse_checkout_are_named(repo: Repo) -> None:
    repo.commit(**{"d/f": "old\n", "e/g": "old\n"})
    turn = begin(repo, "a")
    repo.commit(**{"d/f": "new\n", "e/g": "new\n"})
    begin(repo, "b")
    repo.sparse("e")
    done = revert(repo, turn)
    assert [change.path for change in done.result.changed] == ["e/g"]
    assert [*done.result.kept] == [("d/f", "outside the sparse checkout")]
    assert not (repo.top / "d").exists()
    # It is not taken back as a whole.
    assert marked_in_log(repo) == []
    repo.git("sparse-checkout", "disable")
    assert text(repo, "d/f") == "new\n"
    assert [change.path for change in revert(repo, turn).result.changed] == ["d/f"]
    assert marked_in_log(repo) == [turn]


def test_a_turn_with_marked_conflicts_is_not_reverted(repo: Repo, turns: tuple[str, str]) -> None:
    replaced(repo, 5, "later\n")
    request = TakeBackRequest((turns[0],), markers=True)
    take_back(Repository.discover(str(repo.top)), REVERT, request)
    assert "<<<<<<<" in text(repo)
    assert marked_in_log(repo) == []


def test_hunks_are_those_that_were_counted(
    repo: Repo, turns: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = workflow.take_back

    def changed_between(
        repository: Repository, command: str, request: TakeBackRequest
    ) -> TakenBack:
        done = run(repository, command, request)
        if request.dry_run:
            replaced(repo, 1, "meanwhile\n")
        return done

    monkeypatch.setattr(workflow, "take_back", changed_between)
    repository = Repository.discover(str(repo.top))
    request = TakeBackRequest((turns[0],), paths=("f",))
    with pytest.raises(RefusedError) as refused:
        workflow.take_back_hunks(repository, REVERT, request, [1])
    assert refused.value.code == "conflict"
    assert "by a\n" in text(repo)


def test_a_reverted_turn_is_named_instead_of_a_conflict(repo: Repo, turns: tuple[str, str]) -> None:
    later = begin(repo, "d")
    replaced(repo, 20, "by d\n")
    revert(repo, later, turns[1])
    assert LINES[19] in text(repo)
    refused = repo.boocode("revert", later, "--json")
    error = refused.json["error"]
    assert (refused.code, error["code"]) == (1, "already_applied")
    assert error["message"] == f"turn {later[:13]} is already reverted"
    [again] = error["next"]
    assert (again["tool"], again["arguments"]) == ("pick", {"turns": [later]})
    assert again["command"] == f"git boocode pick {later}"
    both = repo.boocode("revert", later, turns[0], "--json").json["error"]
    assert [each["step"] for each in both["next"]] == ["pick", "revert"]
    assert both["next"][1]["arguments"] == {"turns": [turns[0]]}


def test_lines_of_a_revert_are_not_those_of_a_later_turn(repo: Repo) -> None:
    repo.commit(f="".join(LINES))
    first = begin(repo, "a")
    replaced(repo, 5, "by a\n")
    second = begin(repo, "b")
    replaced(repo, 5, "by b\n")
    begin(repo, "c")
    replaced(repo, 20, "by c\n")
    revert(repo, first, second)
    with pytest.raises(RefusedError) as refused:
        revert(repo, second, command=PICK)
    conflicts: Any = refused.value.details["conflicts"]
    assert conflicts[0]["by"] == [{"turn": None, "label": "by hand"}]
    origins = blame(Repository.discover(str(repo.top)), "f")
    assert [origins[number - 1].origin.source for number in (5, 20)] == ["commit", "turn"]
