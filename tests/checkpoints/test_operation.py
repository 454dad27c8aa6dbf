"""What can be undone and redone, replayed from operations alone: against a list with a cursor."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from git_boocode.checkpoints.restore.plan import History, RestorePlan
from git_boocode.checkpoints.restore.request import REDO, RESTORE, UNDO


class Editor:
    """The simplest thing that can undo and redo: every state, and which one is shown."""

    def __init__(self) -> None:
        self.states = ["s0"]
        self.at = 0

    def restore(self, state: str) -> None:
        self.states[self.at + 1 :] = [state]
        self.at += 1

    def undo(self) -> bool:
        self.at -= self.at > 0
        return self.at < len(self.states) - 1

    def redo(self) -> None:
        self.at += self.at < len(self.states) - 1


class Worktree:
    """What is restored here is one word; every operation leaves one with the word of before."""

    def __init__(self) -> None:
        self.state = "s0"
        self.kept: dict[str, str] = {}
        self.operations: list[RestorePlan] = []

    def _do(self, kind: str, state: str, of: str = "", *, repairs: bool = False) -> None:
        identifier = f"{len(self.operations):03}"
        self.kept[identifier] = self.state
        self.operations.append(RestorePlan(kind, state, of=of, repairs=repairs, id=identifier))
        self.state = state

    def restore(self, state: str) -> None:
        self._do(RESTORE, state)

    def undo(self) -> bool:
        done = History(self.operations).done
        if done:
            self._do(UNDO, self.kept[done[-1].id], done[-1].id)
        return bool(done)

    def redo(self) -> bool:
        undone = History(self.operations).undone
        if undone:
            last = undone[-1]
            by_id = {operation.id: operation for operation in self.operations}
            state = by_id[last.of].target if last.repairs else self.kept[last.id]
            self._do(REDO, state, last.id)
        return bool(undone)

    def repair(self) -> None:
        """Take the last operation back, as after a kill in its middle."""
        self.state = "half-way"
        cause = History(self.operations).unfinished(self.operations[-1])[-1]
        self._do(UNDO, self.kept[cause.id], cause.id, repairs=True)


STEPS = st.lists(st.sampled_from(["restore", "undo", "redo"]), max_size=30)


@given(STEPS)
def test_undo_and_redo_work_as_in_an_editor(steps: list[str]) -> None:
    model, worktree = Editor(), Worktree()
    for number, step in enumerate(steps, 1):
        if step == "restore":
            model.restore(f"s{number}")
            worktree.restore(f"s{number}")
        elif step == "undo":
            model.undo()
            worktree.undo()
        else:
            model.redo()
            worktree.redo()
        assert worktree.state == model.states[model.at]
    history = History(worktree.operations)
    assert len(history.done) == model.at
    assert len(history.undone) == len(model.states) - 1 - model.at


@given(STEPS, st.sampled_from(["restore", "undo", "redo"]), st.integers(0, 3), STEPS)
def test_an_interrupted_restore_is_undone_and_redone(
    before: list[str], killed: str, mends_killed: int, after: list[str]
) -> None:
    model, worktree = Editor(), Worktree()
    for number, step in enumerate(before, 1):
        if step == "restore":
            model.restore(f"s{number}")
            worktree.restore(f"s{number}")
        else:
            getattr(model, step)()
            getattr(worktree, step)()
    count = len(worktree.operations)
    if killed == "restore":
        worktree.restore("killed")
        # It is as if it had been done and undone.
        model.restore("killed")
        model.undo()
    else:
        getattr(worktree, killed)()
    if len(worktree.operations) > count:
        for _ in range(1 + mends_killed):
            worktree.repair()
            assert worktree.state == model.states[model.at]
    for step in after:
        if step != "restore":
            getattr(model, step)()
            getattr(worktree, step)()
            assert worktree.state == model.states[model.at]


@given(STEPS, st.booleans(), STEPS)
def test_the_needed_operations_yield_the_same_history(
    before: list[str], repair: bool, after: list[str]
) -> None:
    worktree = Worktree()
    for steps in (before, after):
        for number, step in enumerate(steps):
            if step == "restore":
                worktree.restore(f"s{number}")
            else:
                getattr(worktree, step)()
        if repair and worktree.operations:
            worktree.repair()
    whole = History(worktree.operations)
    needed = whole.needed()
    part = History(operation for operation in worktree.operations if operation.id in needed)
    assert part.undone == whole.undone
    assert part.done == whole.done


def test_an_undo_whose_restore_is_forgotten_can_be_redone() -> None:
    history = History(RestorePlan(UNDO, of, of=of, id=name) for of, name in ("12", "03"))
    assert [operation.id for operation in history.undone] == ["2", "3"]
    assert history.done == []
