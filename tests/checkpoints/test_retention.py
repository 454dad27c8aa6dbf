"""Which checkpoints are kept how long."""

from __future__ import annotations

import json
import os
import threading
import time
import tracemalloc
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.checkpoints.capture import prune_daily
from git_boocode.checkpoints.restore import plan as history
from git_boocode.checkpoints.restore.request import RESTORE, UNDO
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.retention import (
    DEFAULTS,
    SAFETY_MAX_AGE,
    Rules,
    last_prune_failure,
    prune,
    whole_chains,
)
from git_boocode.repo import gc as repo_gc
from git_boocode.repo.entries import DAY, Limits, Metadata
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.ids import id_time, new_id
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, SAFETY, TURN_ENDS
from git_boocode.repo.lock import INSIDE_RESTORE, worktree_lock
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Commit
from tests.checkpoints.kit import back, refs, seen, take, undone
from tests.repo_kit import Repo, git_version

NOW = 1_800_000_000.0
RULES = Rules(DEFAULTS, SAFETY_MAX_AGE)


def aged(days: float) -> str:
    """An id that is so many days old at `NOW`."""
    return new_id(int((NOW - days * DAY) * 1e9))


def forged(repo: Repo, name: str, *, below: str = CHECKPOINTS, **values: Any) -> str:
    """A checkpoint with an id of its own; returns the id."""
    defaults = {"boocode": 1, "kind": "checkpoint", "worktree": {"name": "main"}, **values}
    return forged_text(repo, name, f"s\n\n{json.dumps(defaults)}\n", below=below)


def forged_text(repo: Repo, name: str, message: str, *, below: str = CHECKPOINTS) -> str:
    """A checkpoint whose commit has some message."""
    tree = repo.git("mktree").strip()
    commit = repo.git("commit-tree", tree, stdin=message).strip()
    repo.git("update-ref", f"{below}{name}", commit)
    return name


def operation(repo: Repo, days: float, kind: str, target: str, **values: Any) -> str:
    """The safety checkpoint of a restore or an undo; returns its id."""
    operation = {"operation": kind, "target": target, "target_commit": "0" * 40}
    return forged(repo, aged(days), below=SAFETY, kind="pre-restore", restore=operation, **values)


def pruned(rules: Rules = RULES, **options: Any) -> list[tuple[str, str]]:
    """Prune at `NOW`; the ids of what goes, each with the reason."""
    done = prune(Repository.discover(), rules, **{"now": NOW, **options})
    return [(beyond.ref.id, beyond.why) for beyond in done]


def rules(keep: int = 0, max_age: float | None = None, safety: float | None = None) -> Rules:
    """Rules that set no limit but those given."""
    return Rules(Limits(keep, max_age), safety)


def ids(repo: Repo, *below: str) -> set[str]:
    """The ids that are there."""
    wanted = below or ("checkpoints", "safety", "archive")
    return {line.split()[0].rpartition("/")[2] for line in refs(repo, *wanted)}


def other_worktree(repo: Repo, tmp_path: Path) -> Path:
    """A linked worktree named `other`."""
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    return tmp_path / "other"


def test_the_newest_of_this_worktree_are_kept(repo: Repo) -> None:
    mine, theirs = [], []
    for hours in range(4):
        mine.append(forged(repo, aged(hours / 24)))
        theirs.append(forged(repo, aged(hours / 24), worktree={"name": "other"}))
    assert pruned(rules(keep=3), dry_run=True) == [(mine[3], "too_many")]
    assert ids(repo) == {*mine, *theirs}
    assert pruned(rules(keep=3)) == [(mine[3], "too_many")]
    assert ids(repo) == {*mine[:3], *theirs}
    assert pruned(rules(keep=3), everywhere=True) == [(theirs[3], "too_many")]
    assert pruned(rules(keep=3), everywhere=True) == []
    assert pruned(rules(keep=0), everywhere=True) == []


def test_old_checkpoints_are_pruned_except_a_worktrees_last(repo: Repo, tmp_path: Path) -> None:
    other_worktree(repo, tmp_path)
    mine = [forged(repo, aged(days)) for days in (91, 92)]
    theirs = [forged(repo, aged(days), worktree={"name": "other"}) for days in (89, 91, 92)]
    gone = [forged(repo, aged(days), worktree={"name": "gone"}) for days in (89, 91)]
    assert pruned() == [(mine[1], "too_old")]
    going = {theirs[1], theirs[2], gone[1]}
    assert {name for name, _ in pruned(everywhere=True)} == going
    assert ids(repo) == {mine[0], theirs[0], gone[0]}
    assert pruned(rules(max_age=None), everywhere=True, now=NOW * 2) == []
    # A worktree that is gone has no last checkpoint to keep.
    assert pruned(everywhere=True, now=NOW + 2 * DAY) == [(gone[0], "too_old")]
    assert ids(repo) == {mine[0], theirs[0]}


def test_unreadable_checkpoints(repo: Repo) -> None:
    forged(repo, aged(0))
    newer = forged(repo, aged(400), boocode=99)
    foreign = forged_text(repo, "not-an-id", "nonsense")
    young = forged_text(repo, aged(89), "nonsense")
    old = forged_text(repo, aged(91), "nonsense")
    lost = forged(repo, aged(93))
    commit = repo.git("rev-parse", f"{CHECKPOINTS}{lost}").strip()
    (repo.top / ".git/objects" / commit[:2] / commit[2:]).unlink()
    # Nobody knows whose they are; so they are nobody's.
    assert pruned() == []
    assert pruned(everywhere=True) == [(old, "too_old"), (lost, "too_old")]
    assert {newer, foreign, young} <= ids(repo)


def test_a_chain_is_deleted_as_a_whole(repo: Repo) -> None:
    point = forged(repo, aged(1))
    first = operation(repo, 50, "restore", point)
    second = operation(repo, 49, "undo", first)
    redo = operation(repo, 20, "redo", second)
    alone = operation(repo, 40, "restore", point)
    halfway = forged(repo, aged(31), below=SAFETY, kind="pre-restore", restore={"halfway": True})
    broken = forged_text(repo, aged(32), "nonsense", below=SAFETY)
    assert pruned() == [(halfway, "too_old"), (alone, "too_old")]
    assert pruned(everywhere=True) == [(broken, "too_old")]
    assert ids(repo, "safety") == {first, second, redo}
    assert len(pruned(now=NOW + 11 * DAY)) == 3
    assert ids(repo) == {point}


def test_a_restore_during_a_turn_is_kept_as_long_as_the_turn(repo: Repo) -> None:
    begun = forged(repo, aged(60))
    forged(repo, begun, below=TURN_ENDS, kind="turn-end", id=aged(50), turn=begun)
    inside, later = operation(repo, 55, RESTORE, begun), operation(repo, 45, RESTORE, "")
    rules = RULES._replace(checkpoints=Limits(keep=10, max_age=None))
    forged(repo, aged(1))
    repository = Repository.discover()
    assert [each.ref.id for each in prune(repository, rules, now=NOW)] == [later]
    fewer = RULES._replace(checkpoints=Limits(keep=1, max_age=None))
    gone = {each.ref.id for each in prune(repository, fewer, now=NOW)}
    assert gone == {begun, inside}


def test_checkpoints_of_an_interrupted_restore_are_kept(repo: Repo, tmp_path: Path) -> None:
    forged(repo, aged(0))
    for state, name in ((".git/boocode", "main"), (".git/worktrees/other/boocode", "other")):
        if name == "other":
            other_worktree(repo, tmp_path)
        target = forged(repo, aged(500), worktree={"name": name})
        safety = operation(repo, 400, "restore", target, worktree={"name": name})
        archived = forged(repo, aged(450), below=f"{ARCHIVE}{safety}/", worktree={"name": name})
        repo.write(f"{state}/restore-in-progress", json.dumps({"safety": safety}))
        assert pruned(everywhere=True) == []
        assert {target, safety, archived} <= ids(repo)


def test_archived_checkpoints_are_deleted_with_their_restore(repo: Repo) -> None:
    point = forged(repo, aged(0))
    young, old, orphan = operation(repo, 29, "restore", point), aged(31), aged(33)
    operation(repo, 31, "restore", point)
    stays = forged(repo, aged(400), below=f"{ARCHIVE}{young}/")
    goes = forged(repo, aged(32), below=f"{ARCHIVE}{old}/")
    orphaned = forged(repo, aged(34), below=f"{ARCHIVE}{orphan}/")
    foreign = forged(repo, aged(400), below=f"{ARCHIVE}whatever/")
    # The ages of what is archived do not matter, nor does `goes` without its own restore.
    assert {name for name, _ in pruned()} >= {orphaned, goes}
    assert {stays, foreign, young} <= ids(repo)


def test_the_target_of_an_undoable_restore_is_kept(repo: Repo) -> None:
    forged(repo, aged(0))
    target = forged(repo, aged(200))
    operation(repo, 29, "restore", target)
    assert pruned() == []
    assert target in {name for name, _ in pruned(now=NOW + 2 * DAY)}


def test_undo_works_after_everything_else_has_gone(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.write(".gitignore", "ignored\n")
    repo.write("ignored", "i\n")
    first = take()
    for number in range(4):
        repo.write("a", f"{number}\n")
        take()
    before = seen(repo)
    back(first.id)
    repo.write("a", "another\n")
    between = seen(repo)
    back("@")
    gone = prune(Repository.discover(), rules(keep=1, max_age=0.0, safety=30 * DAY))
    assert len(gone) == 3
    repo.git("gc", "-q", "--prune=now")
    undone()
    assert seen(repo) == between
    undone()
    assert seen(repo) != between
    repo.git("checkout", "-q", "--", "a")
    assert before.staged == seen(repo).staged


class Past:
    """Restores, undos and redos as they would have been done, without a worktree."""

    def __init__(self) -> None:
        self.safety: list[Checkpoint] = []
        self.interrupted: str | None = None

    def do(self, step: str) -> None:
        """One operation, perhaps killed before its end."""
        kind, _, killed = step.partition(" ")
        record = self.operation_values(kind)
        if record is None:
            return
        made = new_id(int((NOW + len(self.safety)) * 1e9))
        values = {"boocode": 1, "restore": {"operation": kind, **record}}
        commit = Commit("c" * 40, "t" * 40, (), "")
        self.safety.insert(0, Checkpoint(made, f"{SAFETY}{made}", commit, Metadata(values)))
        self.interrupted = made if killed else None

    def operation_values(self, kind: str) -> dict[str, Any] | None:
        """Where an operation would go, and of what it would be one; None if there is nothing."""
        past = history.read_history(self.safety)
        if kind == RESTORE:
            return {"target": new_id(0)}
        if kind == UNDO and self.interrupted is not None:
            found = next(entry for entry in self.safety if entry.id == self.interrupted)
            cause = past.unfinished(read(found))[-1]
            return {"target": cause.id, "of": cause.id, "mends": True}
        if kind == UNDO:
            return {"target": past.done[-1].id, "of": past.done[-1].id} if past.done else None
        if self.interrupted is not None or not past.undone:
            return None
        last = past.undone[-1]
        repaired = [entry for entry in self.safety if last.repairs and entry.id == last.of]
        target = read(repaired[0]).target if repaired else last.id
        return {"target": target, "of": last.id}


def read(safety: Checkpoint) -> history.RestorePlan:
    return history.read_plan(safety)


def counting(safety: list[Checkpoint], without: Collection[str] = ()) -> list[list[str]]:
    """What can be undone, and what can be redone."""
    past = history.read_history(safety)
    ids = ([each.id for each in part] for part in (past.done, past.undone))
    return [[name for name in part if name not in without] for part in ids]


WORDS = [f"{kind}{end}" for kind in ("restore", "undo", "redo") for end in ("", " killed")]
STEPS = st.lists(st.sampled_from(WORDS), max_size=25)


@given(STEPS, st.integers(0, 25))
def test_deleted_operations_do_not_change_the_history(steps: list[str], cut: int) -> None:
    past = Past()
    for step in steps:
        past.do(step)
    gone = whole_chains(
        past.safety, lambda entry: id_time(entry.id) < NOW + cut and entry.id != past.interrupted
    )
    assert past.interrupted not in gone
    for count in range(len(gone) + 1):
        # Killed on the way: so many of the oldest have gone.
        half = set(sorted(gone)[:count])
        left = [entry for entry in past.safety if entry.id not in half]
        done, undone = counting(left)
        assert done == counting(past.safety, half)[0]
        # What is about to go cannot be redone any more, as where that went has gone.
        assert [name for name in undone if name not in gone] == counting(past.safety, gone)[1]
        assert set(undone) <= set(counting(past.safety)[1])
    # And so on, undo after undo, as if nothing had gone.
    other = Past()
    other.safety = [entry for entry in past.safety if entry.id not in gone]
    other.interrupted = past.interrupted
    for _ in counting(other.safety)[0]:
        assert other.operation_values(UNDO) == past.operation_values(UNDO)
        past.do(UNDO)
        other.safety.insert(0, past.safety[0])
        other.interrupted = past.interrupted


def test_a_restore_at_work_is_waited_for(repo: Repo, tmp_path: Path) -> None:
    there = Repository.discover(str(other_worktree(repo, tmp_path)))
    forged(repo, aged(91), worktree={"name": "gone"})
    with worktree_lock(there.state_dir, shared=False, patience=0):
        with pytest.raises(RefusedError) as caught:
            pruned(everywhere=True, patience=0)
        assert caught.value.code == "locked"
        prune_daily(Repository.discover())
    assert len(ids(repo)) == 1
    # That happens, and needs no report.
    assert last_prune_failure(Repository.discover()) is None
    assert len(pruned(everywhere=True, patience=0)) == 1


def test_captures_and_prunes_beside_each_other(repo: Repo) -> None:
    repo.commit(a="a\n")
    for number in range(60):
        forged(repo, aged(100 + number))
    begun = threading.Barrier(4)

    def capture() -> list[str]:
        begun.wait()
        return [take().id for _ in range(3)]

    def thin() -> list[str]:
        begun.wait()
        gone: list[str] = []
        for keep in (40, 20, 10):
            # Two of three may have to give up; what they looked for has gone then.
            with suppress(RefusedError):
                gone += [name for name, _ in pruned(rules(keep=keep))]
        return gone

    with ThreadPoolExecutor(4) as pool:
        taken, *others = [pool.submit(work) for work in (capture, thin, thin, thin)]
        gone = [name for each in others for name in each.result()]
    assert len(gone) == len(set(gone)) > 0
    assert set(taken.result()) <= ids(repo)
    assert not set(gone) & ids(repo)
    assert repo.git("fsck", "--connectivity-only", "--no-dangling") == ""


@pytest.fixture
def old_one(repo: Repo) -> str:
    """An old checkpoint of a worktree that is gone."""
    return forged(repo, new_id(0), worktree={"name": "gone"})


def stamp(repo: Repo) -> Path:
    return repo.top / ".git/boocode/last-prune"


def test_pruning_runs_once_a_day(repo: Repo, old_one: str) -> None:
    repository = Repository.discover()
    prune_daily(repository)
    assert ids(repo) == set()
    forged(repo, old_one, worktree={"name": "gone"})
    prune_daily(repository)
    assert ids(repo) == {old_one}
    for moment in (time.time() - DAY - 1, time.time() + DAY + 1):
        forged(repo, old_one, worktree={"name": "gone"})
        os.utime(stamp(repo), (moment, moment))
        prune_daily(repository)
        assert ids(repo) == set()
        assert abs(stamp(repo).stat().st_mtime - time.time()) < 60


def test_not_inside_a_restore(repo: Repo, old_one: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE_RESTORE, "x")
    prune_daily(Repository.discover())
    assert ids(repo) == {old_one}


def test_a_failure_is_noted_until_pruning_succeeds(repo: Repo, old_one: str) -> None:
    assert last_prune_failure(Repository.discover()) is None
    repo.git("config", "boocode.keep", "plenty")
    prune_daily(Repository.discover())
    assert "'plenty' for 'boocode.keep'" in str(last_prune_failure(Repository.discover()))
    repo.git("config", "boocode.keep", "10")
    prune(Repository.discover(), everywhere=True)
    assert last_prune_failure(Repository.discover()) is None
    assert ids(repo) == set()


def test_the_rules_that_are_configured(repo: Repo) -> None:
    assert Rules.configured(Repository.discover()) == Rules(Limits(1000, 90 * DAY), 30 * DAY)
    for key, value in (("keep", "1k"), ("maxAge", "never"), ("safetyMaxAge", "2.weeks.ago")):
        repo.git("config", f"boocode.{key}", value)
    assert Rules.configured(Repository.discover()) == Rules(Limits(1024, None), 14 * DAY)


@pytest.mark.parametrize("key", ["keep", "maxAge", "safetyMaxAge"])
def test_an_invalid_setting(repo: Repo, key: str) -> None:
    repo.git("config", f"boocode.{key}", "-5 moons")
    forged(repo, aged(400))
    with pytest.raises(FatalError) as caught:
        prune(Repository.discover())
    assert caught.value.code == "bad_config"
    assert len(ids(repo)) == 1


def loose(repo: Repo) -> list[str]:
    """The refs that are files of their own."""
    top = repo.top / ".git"
    return [str(path.relative_to(top)) for path in (top / "refs").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("settings", "packed"),
    [
        ({"gc.auto": "100"}, True),
        ({"gc.auto": "1k", "gc.packRefs": "notbare"}, True),
        ({"gc.auto": "0"}, False),
        ({"gc.auto": "-1"}, False),
        ({"gc.auto": "many"}, False),
        ({"gc.auto": "100", "gc.packRefs": "False"}, False),
    ],
)
@pytest.mark.ref_files
@pytest.mark.variants
def test_many_refs_are_packed_after_a_checkpoint(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], packed: bool
) -> None:
    monkeypatch.setattr(repo_gc, "MANY_LOOSE", 3)
    repo.commit(a="a\n")
    for key, value in settings.items():
        repo.git("config", key, value)
    for _ in range(3):
        take()
    prune_daily(Repository.discover())
    assert len(loose(repo)) == 4
    before = repo.git("for-each-ref")
    taken = take()
    prune_daily(Repository.discover())
    if git_version() >= (2, 43):
        # Only ours, whatever git may do by itself.
        assert loose(repo) == ["refs/heads/main"]
    else:
        assert (loose(repo) == []) is packed
    assert last_prune_failure(Repository.discover()) is None
    later = take()
    assert set(before.splitlines()) < set(repo.git("for-each-ref").splitlines())
    assert [ref.split()[0] for ref in refs(repo, "checkpoints")][-2:] == [taken.ref, later.ref]


@pytest.mark.ref_files
def test_refs_that_another_process_is_packing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repo_gc, "MANY_LOOSE", 0)
    repo.git("config", "gc.auto", "100")
    repo.git("config", "core.packedRefsTimeout", "0")
    taken = take()
    lock = repo.write(".git/packed-refs.lock")
    prune_daily(Repository.discover())
    assert (lock.exists(), last_prune_failure(Repository.discover())) == (True, None)
    assert loose(repo) == [taken.ref]


def test_pruning_many_checkpoints_uses_little_memory(repo: Repo) -> None:
    """What a checkpoint's message holds beside the label is not kept in memory."""
    large = {"filler": "x" * 100_000}
    for number in range(40):
        forged(repo, new_id(number + 1), meta=large)
    tracemalloc.start()
    try:
        going = prune(Repository.discover(), Rules(Limits(1, None), None), dry_run=True)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(going) == 39
    assert held < 1_000_000
