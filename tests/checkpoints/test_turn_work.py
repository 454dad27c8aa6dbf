"""What one turn changed while others were open: states recorded as hooks do, then asked for."""

from __future__ import annotations

import pytest

from git_boocode.checkpoints.capture import ToolCall, capture_tool_state, capture_turn_end
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_work import TurnWork, path_steps, work_of
from git_boocode.checkpoints.turns import NOW, RECORDED, CurrentTree
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo_kit import Repo


def begin(session: str, agent: str = "bot") -> Checkpoint:
    return take(session=session, agent=agent, label=session)


def end(turn: Checkpoint) -> None:
    assert capture_turn_end(Repository.discover(), turn.id, "Stop")


def tool(turn: Checkpoint, call: str, *files: str, ended: bool = False, name: str = "") -> None:
    name = name or ("Edit" if files else "Bash")
    made = ToolCall(turn.id, ended, call, name, files)
    assert capture_tool_state(Repository.discover(), made, "PostToolUse" if ended else "PreToolUse")


Changed = dict[str, list[tuple[str, str]]]


def text(repo: Repo, identifier: str) -> str:
    return "" if not identifier.strip("0") else repo.git("cat-file", "blob", identifier)


def worked(repo: Repo, turn: Checkpoint) -> tuple[TurnWork, Changed]:
    """The work of a turn, and by path the texts before and after each step."""
    repository = Repository.discover()
    with temporary_objects(repository):
        catalog = Catalog(repository)
        work = work_of(catalog, turn, CurrentTree(repository))
        found = path_steps(repository, work)
        git = repository.git

        def read(identifier: str) -> str:
            return git.run("cat-file", "blob", identifier).decode() if identifier.strip("0") else ""

        changed = {
            path: [(read(each.change.old_id), read(each.change.id)) for each in steps]
            for path, steps in found.items()
        }
    return work, changed


@pytest.fixture
def repo(repo: Repo) -> Repo:
    repo.commit(a="a\n", b="b\n", c="c\n", hand="hand\n")
    return repo


def test_a_turn_alone_is_one_step_from_its_beginning_to_its_end(repo: Repo) -> None:
    first = begin("one")
    repo.write("a", "one\n")
    end(first)
    repo.write("hand", "by hand\n")
    second = begin("two")
    repo.write("b", "two\n")
    work, changed = worked(repo, first)
    assert len(work.steps) == 1
    assert (changed, work.turn.end) == ({"a": [("a\n", "one\n")]}, RECORDED)
    work, changed = worked(repo, second)
    assert (changed, work.turn.end) == ({"b": [("b\n", "two\n")]}, NOW)


def test_turns_at_the_same_time_have_what_their_tool_calls_changed(repo: Repo) -> None:
    first = begin("one")
    repo.write("a", "one before two began\n")
    second = begin("two")
    tool(first, "1")
    repo.write("b", "one\n")
    tool(first, "1", ended=True)
    repo.write("hand", "by hand\n")
    tool(second, "1")
    repo.write("c", "two\n")
    repo.write("b", "one\ntwo\n")
    tool(second, "1", ended=True)
    end(first)
    repo.write("new", "two, alone\n")
    end(second)
    repo.write("hand", "later\n")
    work, changed = worked(repo, first)
    assert changed == {"a": [("a\n", "one before two began\n")], "b": [("b\n", "one\n")]}
    assert (work.turn.end, work.shared) == (RECORDED, {})
    work, changed = worked(repo, second)
    assert changed == {
        "c": [("c\n", "two\n")],
        "b": [("one\n", "one\ntwo\n")],
        "new": [("", "two, alone\n")],
    }
    assert work.shared == {}
