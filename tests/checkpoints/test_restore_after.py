"""`restore --after`: the state at the end of a turn, and the conversation as it stood there."""

from __future__ import annotations

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.operation_log import logged_operations
from git_boocode.checkpoints.restore.plan import read_plan
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import Host, back, interrupted, redone, refs, seen, sound, take, undone
from tests.repo_kit import Repo


def recorded_end(turn: str) -> None:
    assert capture_turn_end(Repository.discover(), turn, "Stop")


def ids() -> list[str]:
    return [each.id for each in Catalog(Repository.discover()).history()]


@pytest.fixture
def three(repo: Repo) -> Repo:
    """Turns of a session, of which the first has a recorded end, with changes by hand after it."""
    repo.commit(a="0\n", b="0\n")
    first = take(label="first", session="s", agent="g", message="m1")
    repo.write("a", "first\n")
    repo.git("add", "a")
    recorded_end(first.id)
    repo.write("b", "by hand\n")
    take(label="second", session="s", agent="g", message="m2")
    repo.write("a", "second\n")
    take(label="third", session="s", agent="g", message="m3")
    repo.write("a", "third\n")
    return repo


def test_a_recorded_end_comes_back_with_its_staging(three: Repo) -> None:
    now, first = seen(three), ids()[2]
    done = back("label:first", after=True)
    assert (done.after, done.checkpoint_id) == (True, first)
    assert (three.read("a"), three.read("b")) == (b"first\n", b"0\n")
    assert three.git("status", "--porcelain") == "M  a\n"
    undone()
    assert seen(three) == now
    redone()
    assert three.read("a") == b"first\n"
    sound(three)


def test_what_is_after_a_turn_is_what_is_before_the_next(three: Repo) -> None:
    second, third = ids()[1], ids()[0]
    back("label:second", after=True)
    assert three.read("a") == b"second\n"
    again = back(third)
    assert (again.changed, again.index_reset, again.undo) == ((), False, None)
    assert back(second, after=True).undo is None


def test_the_state_before_the_next_restore_is_the_end(three: Repo) -> None:
    third = ids()[0]
    back("label:second", conversation=False)
    assert three.read("a") == b"first\n"
    shown = three.boocode("restore", "--after", "--files-only", third)
    assert three.read("a") == b"third\n"
    assert shown.out.endswith("(third)\n")


def test_only_the_session_that_went_on_leaves_the_log(three: Repo) -> None:
    take(label="other", session="x", agent="g")
    three.write("a", "other\n")
    other, third, second, first = ids()
    host = Host(three)
    done = back("label:first", after=True, callback=host.path)
    assert (sorted(done.archived), ids()) == ([second, third], [other, first])
    # The conversation stood there where the next turn began.
    assert [event["message"] for event in host.received] == ["m2", "m2"]
    undone(callback=host.path)
    assert ids() == [other, third, second, first]
    redone(callback=host.path)
    assert ids() == [other, first]
    assert [event["message"] for event in host.received[2:]] == ["m2"] * 4


def test_a_conversation_that_has_not_gone_on_is_left_alone(three: Repo) -> None:
    third = ids()[0]
    recorded_end(third)
    three.write("a", "by hand\n")
    host = Host(three)
    done = back(third, after=True, callback=host.path)
    assert (three.read("a"), host.events, done.archived) == (b"third\n", [], ())
    only = back(third, after=True, callback=host.path, files=False)
    assert (only.undo, host.events) == (None, [])


def test_a_turn_that_goes_on_has_no_end(three: Repo) -> None:
    with pytest.raises(RefusedError, match="has not ended") as caught:
        back("label:third", after=True)
    [step] = caught.value.next_steps
    assert (step.name, step.arguments) == ("restore", {"checkpoint": ids()[0]})
    before = three.read("a")
    undo = back("label:first").undo
    assert undo is not None
    with pytest.raises(RefusedError, match="began no turn"):
        back(undo, after=True)
    undone()
    assert three.read("a") == before


def test_a_turn_that_is_marked_as_running_can_be_ended(repo: Repo) -> None:
    repo.commit(a="0\n")
    assert repo.boocode("turn", "begin", "-m", "asked").code == 0
    answer = repo.boocode("restore", "--after", "@", "--force", "running-turn", "--json").json
    assert [each["step"] for each in answer["error"]["next"]] == ["turn", "restore"]


def test_paths_of_the_end_of_a_turn(three: Repo) -> None:
    done = back("label:first", after=True, paths=("b",))
    assert ([each.path for each in done.changed], three.read("b")) == (["b"], b"0\n")
    assert three.read("a") == b"third\n"
    assert len(ids()) == 3


@pytest.mark.parametrize("at", ["commit", "_archive"])
def test_a_killed_restore_can_be_undone_and_redone(
    three: Repo, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    now, listed, host = seen(three), ids(), Host(three)
    interrupted(monkeypatch, lambda: back("label:first", after=True, callback=host.path), at=at)
    undone(callback=host.path)
    assert (seen(three), ids()) == (now, listed)
    done = redone(callback=host.path)
    assert (three.read("a"), three.read("b"), len(done.archived)) == (b"first\n", b"0\n", 2)
    assert host.received[-1]["message"] == "m2"
    undone(callback=host.path)
    assert (seen(three), ids()) == (now, listed)
    sound(three)


def test_the_record_says_which_side_and_keeps_the_state(three: Repo) -> None:
    first = ids()[2]
    done = back("label:first", after=True)
    safety = Catalog(Repository.discover()).safety()
    plan = read_plan(safety[0])
    assert (plan.target, plan.target_commit, plan.request.after) == (first, done.commit, True)
    assert [each.side for each in logged_operations(safety)] == ["after"]
    # The end of the turn is recorded once more, and the earlier one is not lost with it.
    three.git("update-ref", "-d", f"refs/boocode/turn-ends/{first}")
    assert done.commit in safety[0].commit.parents
    undone()
    redone()
    assert three.read("a") == b"first\n"
    assert refs(three, "turn-ends") == []


def test_a_part_of_the_end_of_a_turn(three: Repo) -> None:
    three.write("b", "by hand\nmore\n")
    shown = three.boocode("restore", "--after", "-n", "--json", "label:first", "b").json
    [change] = shown["changed"]
    assert (shown["after"], len(change["hunks"])) == (True, 1)
    hunk = ("--hunk", "1", "--expect", change["version"])
    done = three.boocode("restore", "--after", *hunk, "label:first", "b")
    assert (done.code, three.read("b"), three.read("a")) == (0, b"0\n", b"third\n")
    assert "from after" in done.out


def test_hints_name_the_side(three: Repo) -> None:
    three.commit(c="new\n")
    shown = three.boocode("restore", "--after", "-n", "label:second")
    assert "would restore 2 files" in shown.out
    assert "to after" in shown.out
    assert "HEAD is not where it was at the end of the turn" in shown.err
    assert "--after" in shown.err
    assert three.boocode("restore", "--after").code == 129
