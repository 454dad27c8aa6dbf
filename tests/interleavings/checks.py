"""Takes turns of a day back with the program under test, and judges what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.interleavings.generator import Choice, Day, choose
from tests.interleavings.scripts import Played, played, turns_of
from tests.interleavings.truth import truth_of
from tests.interleavings.world import Seen, World, on_disk
from tests.repo_kit import Repo, Result

RIGHT = "right"
UNDEFINED = "undefined, nothing lost"
REFUSED = "refused rightly"
NEEDLESS = "refused needlessly"
WRONG = "wrong"
LOST = "foreign bytes lost"
KINDS = (RIGHT, UNDEFINED, REFUSED, NEEDLESS, WRONG, LOST)
FAILURES = (NEEDLESS, WRONG, LOST)
_REFUSALS = ("conflict", "shared")
_FileStates = Mapping[str, tuple[int, bytes]]


class Verdict(NamedTuple):
    """One of KINDS, and what was seen."""

    kind: str
    detail: str = ""


class _WrongError(Exception):
    """Something that must not be."""


def judge(number: int, day: Day, repo: Repo, run: Callable[..., Result]) -> Verdict | None:
    """Carry a day out in an empty repository, and take turns back; None if there are none.

    `number` decides what is taken back, and what follows.
    """
    events = played(day.files, day.script)
    choice = choose(number, day, events)
    if choice is None:
        return None
    world = World(repo, run, day.agents)
    world.begin(day.files)
    before = day.files
    for each in events:
        world.carry_out(each, before)
        before = each.files
    assert repo.files() == on_disk(before)
    try:
        return _Trial(world, day, events, choice).run(number)
    except _WrongError as error:
        return Verdict(WRONG, str(error))


class _Trial:
    """One revert, and what can follow it."""

    def __init__(self, world: World, day: Day, events: Sequence[Played], choice: Choice) -> None:
        self._world = world
        self._choice = choice
        self._truth = truth_of(day.files, events, choice.selection)
        ops = [each.event.op for each in events if choice.selection.has(each)]
        self._paths = {path for op in ops if op for path in op.paths}
        self._changing = turns_of(events)
        self._before = world.seen()
        self._log = world.turns()

    def run(self, number: int) -> Verdict:
        done = self._world.run("revert", "--json", *self._words())
        after = self._world.seen()
        if done.code == 1:
            return self._refused(done.json, after)
        _expect(done.code == 0, f"exit {done.code}: {done.out}{done.err}")
        verdict = self._left(after.files)
        if verdict.kind in FAILURES:
            return verdict
        self._keeps_the_rest(after)
        if done.json["undo"] is None:
            _expect(after == self._before, "without an undo, something was changed")
        elif number % 2:
            self._is_undone(after)
        else:
            self._is_picked(after)
        return verdict

    def _words(self) -> list[str]:
        selection = self._choice.selection
        ids = [self._log[turn]["id"] for turn in sorted(selection.turns)]
        paths = ["--", *sorted(selection.paths)] if selection.paths else []
        return [*(self._choice.option or ids), *paths]

    def _refused(self, answer: dict[str, Any], after: Seen) -> Verdict:
        error = answer["error"]
        _expect(after == self._before, f"refused, but changed: {error['message']}")
        if error["code"] == "not_found" and answer.get("pathspec") in self._choice.selection.paths:
            # The turn moved a file to this path and away again: it did not change it.
            _expect(answer["pathspec"] not in after.files, error["message"])
            return Verdict(UNDEFINED, error["message"])
        _expect(error["code"] in _REFUSALS, f"refused as {error['code']}: {error['message']}")
        if error["code"] == "conflict":
            _expect(bool(answer.get("conflicts")), "a conflict without its paths")
        why = self._truth.may_refuse
        return Verdict(REFUSED if why else NEEDLESS, f"{error['message']} ({why or 'no reason'})")

    def _left(self, files: _FileStates) -> Verdict:
        truth, wanted = self._truth, on_disk(self._truth.files)
        if truth.is_sure and files == wanted:
            return Verdict(RIGHT)
        lost = truth.lost({path: data.decode() for path, (_, data) in files.items()})
        if lost:
            return Verdict(LOST, f"{lost} ({truth.may_refuse})")
        if not truth.is_sure:
            return Verdict(UNDEFINED, truth.may_refuse)
        return Verdict(WRONG, f"{_difference(files, wanted)} ({truth.may_refuse})")

    def _keeps_the_rest(self, after: Seen) -> None:
        """Staging of other paths stays, and so do HEAD and branches."""
        rows = [{*seen.staged.split("\0")} for seen in (self._before, after)]
        changed = {row.partition("\t")[2] for row in rows[0] ^ rows[1]}
        _expect(changed <= self._paths, f"the staging of {changed} changed")
        heads = ["heads" in line and line for line in self._before.refs.splitlines()]
        _expect({*heads} <= {*after.refs.splitlines(), False}, "a branch was moved")

    def _is_undone(self, after: Seen) -> None:
        """Undo leads back, and redo there again."""
        self._succeeds("undo")
        _same(self._before, self._world.seen(), "undo")
        self._succeeds("redo")
        _same(after, self._world.seen(), "redo")

    def _is_picked(self, after: Seen) -> None:
        """The log marks what was reverted, and pick does it again."""
        log = self._world.turns()
        turns, paths = self._choice.selection
        for turn in self._changing:
            wanted = turn in turns and not paths
            is_marked = bool(log[turn].get("reverted"))
            _expect(is_marked == wanted, f"the log marks {turn} as reverted: {is_marked}")
        if self._choice.option or paths:
            return
        done = self._world.run("pick", "--json", *self._words())
        picked = self._world.seen()
        if done.code == 1:
            _expect(picked == after, "a refused pick changed something")
            _expect(bool(self._truth.may_refuse), f"pick refused: {done.json['error']}")
        elif not self._truth.may_refuse:
            difference = _difference(picked.files, self._before.files)
            _expect(not difference, f"pick: {difference}")

    def _succeeds(self, command: str) -> None:
        done = self._world.run(command, "--json")
        _expect(done.code == 0, f"{command}: {done.out}{done.err}")


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise _WrongError(message)


def _same(wanted: Seen, found: Seen, command: str) -> None:
    difference = _difference(found.files, wanted.files)
    _expect(not difference, f"{command}: {difference}")
    _expect(found.staged == wanted.staged, f"{command}: staging differs")


def _difference(found: _FileStates, wanted: _FileStates) -> str:
    differing = sorted(p for p in {*found, *wanted} if found.get(p) != wanted.get(p))
    return "; ".join(f"{p}: {found.get(p)} instead of {wanted.get(p)}" for p in differing)
