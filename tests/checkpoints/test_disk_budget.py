"""`boocode.maxDisk`: the oldest checkpoints go until the rest fits, but never what is needed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from typing import Any

import pytest

from git_boocode.checkpoints.capture import prune_daily
from git_boocode.checkpoints.store.retention import Rules, overdraft, prune
from git_boocode.repo.disk import disk_usage
from git_boocode.repo.entries import DAY
from git_boocode.repo.ids import id_time, new_id
from git_boocode.repo.layout import (
    ALL_REFS,
    ARCHIVE,
    CHECKPOINTS,
    EDITS,
    PROPOSALS,
    READS,
    REMOTES,
    SAFETY,
    TOOL_STATES,
    TURN_ENDS,
)
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, take
from tests.checkpoints.test_retention import NOW, aged, ids, other_worktree, pruned, rules, stamp
from tests.repo_kit import Repo

KIB = 1024


def stored(
    repo: Repo, days: float, content: bytes | int, below: str = CHECKPOINTS, **values: Any
) -> str:
    """An entry of some age at `NOW` with one file, of random bytes if a size is given."""
    identifier: str = values.pop("id", aged(days))
    content = os.urandom(content) if isinstance(content, int) else content
    when = int(id_time(identifier))
    kind = "edit" if below == EDITS else "checkpoint"
    meta = {"boocode": 1, "kind": kind, "worktree": {"name": "main"}, **values}
    message = f"s\n\n{json.dumps(meta)}\n"
    stream = f"commit {below}{identifier}\ncommitter b <b> {when} +0000\ndata {len(message)}\n"
    stream += f"{message}M 100644 inline a\ndata {len(content)}\n"
    repo.git(
        "-c",
        "fastimport.unpackLimit=0",
        "fast-import",
        "--quiet",
        stdin=stream.encode() + content + b"\n",
    )
    return identifier


def budget(kib: float) -> Rules:
    """Rules with no other limit."""
    return rules()._replace(max_disk=int(kib * KIB))


def used() -> int:
    """The bytes of all our refs."""
    repository = Repository.discover()
    usage = disk_usage(repository, repository.store.refs(ALL_REFS))
    assert usage is not None
    return sum(usage.values())


def too_large(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, "too_large") for name in names]


def test_the_oldest_go_until_the_rest_fits(repo: Repo) -> None:
    names = [stored(repo, days, 10 * KIB) for days in (5, 4, 3, 2, 0.5)]
    ends = [stored(repo, 5, 10 * KIB, below, id=names[0]) for below in (TURN_ENDS, TOOL_STATES)]
    assert ends == [names[0]] * 2
    assert pruned(budget(75)) == []
    assert pruned(budget(70)) == too_large(names[:1])
    assert ids(repo, "checkpoints", "turn-ends", "tool-states") == {*names[1:]}
    assert pruned(budget(25), dry_run=True) == too_large(names[1:3])
    assert pruned(budget(25)) == too_large(names[1:3])
    assert used() < 25 * KIB
    # The newest day stays, whatever it takes.
    assert pruned(budget(1)) == too_large(names[3:4])
    assert ids(repo) == {names[4]}
    assert pruned(budget(0)) == []


def test_the_newest_day_is_that_of_the_newest_checkpoint(repo: Repo) -> None:
    old, young, newest = (stored(repo, days, KIB) for days in (11.5, 10.9, 10))
    gone = stored(repo, 3, KIB, worktree={"name": "gone"})
    assert pruned(budget(0.5)) == too_large([old])
    assert pruned(budget(0.5), everywhere=True) == too_large([gone])
    assert ids(repo) == {young, newest}


def test_a_linked_worktree_keeps_its_newest_day(repo: Repo, tmp_path: Any) -> None:
    other_worktree(repo, tmp_path)
    mine = [stored(repo, days, KIB) for days in (9, 8, 0)]
    theirs = [stored(repo, days, KIB, worktree={"name": "other"}) for days in (9, 8)]
    assert pruned(budget(0.5)) == too_large(mine[:2])
    assert pruned(budget(0.5), everywhere=True) == []
    assert ids(repo) == {mine[2], *theirs}


def test_what_something_older_needs_as_well_frees_nothing(repo: Repo) -> None:
    shared = os.urandom(10 * KIB)
    kept = stored(repo, 9, shared)
    operation = {"operation": "restore", "target": kept, "target_commit": "0" * 40}
    stored(repo, 1.5, b"", SAFETY, kind="pre-restore", restore=operation)
    # It counts for the newest one that has it.
    others = [stored(repo, 8, shared), *(stored(repo, days, 5 * KIB) for days in (7, 6))]
    newest = stored(repo, 0, b"")
    assert pruned(budget(17)) == too_large(others[:2])
    assert ids(repo, "checkpoints") == {kept, others[2], newest}


def test_what_undo_redo_and_others_need_stays(repo: Repo) -> None:
    target, running, during, proposed = (aged(days) for days in (9, 8, 7.9, 7))
    stored(
        repo, 0, b"", SAFETY, kind="pre-restore", restore={"operation": "restore", "target": target}
    )
    stored(repo, 0, KIB, id=target)
    stored(repo, 0, KIB, id=running)
    stored(repo, 0, KIB, id=during, in_turn=running)
    stored(repo, 0, KIB, PROPOSALS, id=proposed)
    archived = stored(repo, 6, KIB, f"{ARCHIVE}{aged(5)}/")
    newer = stored(repo, 6, KIB, boocode=99)
    fetched = stored(repo, 6, 100 * KIB, f"{REMOTES}origin/")
    going = stored(repo, 5, KIB)
    last = stored(repo, 0, KIB)
    now = time.time()
    turn = {"agent": "a", "session": "s", "turn": "t", "prompt": "", "offset": None, "time": now}
    state = repo.top / ".git/boocode"
    state.mkdir(exist_ok=True)
    turns = [{**turn, "checkpoint": running, "ended": False}]
    (state / "turns.json").write_text(json.dumps(turns))
    assert pruned(budget(100), everywhere=True) == []
    assert pruned(budget(0.1), everywhere=True) == too_large([going])
    staying = {target, running, during, archived, newer, last}
    assert ids(repo, "checkpoints", "archive") == staying
    assert ids(repo, "remotes", "proposals") == {fetched, proposed}
    (state / "turns.json").write_text(json.dumps([{**turns[0], "ended": True}]))
    assert pruned(budget(0.1)) == too_large([running, during])


def test_a_restore_can_still_be_undone_and_redone(repo: Repo) -> None:
    repo.write("a", os.urandom(10 * KIB))
    first = take().id
    repo.write("a", os.urandom(10 * KIB))
    take()
    back(first)
    before = repo.files()
    later = time.time() + 20 * DAY
    assert prune(Repository.discover(), budget(1), now=later, everywhere=True) == []
    repo.boocode("undo")
    assert repo.files() != before
    prune(Repository.discover(), budget(1), now=later, everywhere=True)
    assert repo.boocode("redo").code == 0
    assert repo.files() == before


def test_edit_records_and_what_was_read_go_by_their_age(repo: Repo) -> None:
    old, edit = stored(repo, 5, KIB), stored(repo, 4, KIB, EDITS)
    theirs = stored(repo, 4, KIB, EDITS, worktree={"name": "gone"})
    days = [time.strftime("%Y-%m-%d", time.gmtime(NOW - days * DAY)) for days in (3, 0)]
    reads = []
    for day in days:
        blob = repo.git("hash-object", "-w", "--stdin", stdin=os.urandom(KIB)).strip()
        repo.git("update-ref", f"{READS}{day}/{blob}", blob)
        reads.append(blob)
    newest = stored(repo, 0, KIB)
    assert pruned(budget(6)) == too_large([old])
    assert pruned(budget(5)) == too_large([edit])
    assert pruned(budget(1)) == too_large([reads[0]])
    assert pruned(budget(1), everywhere=True) == too_large([theirs])
    assert ids(repo, "checkpoints", "edits", "reads") == {newest, reads[1]}


@pytest.mark.slow
def test_the_budget_is_held_day_by_day(repo: Repo) -> None:
    """`python -m tests.benchmarks disk` does this with 5,000 turns."""
    limit = 40 * KIB
    for day in range(12, 0, -1):
        for turn in range(5):
            stored(repo, day - turn / 10, 2 * KIB)
        now = NOW - (day - 0.5) * DAY
        prune(Repository.discover(), budget(40), everywhere=True, now=now)
        assert used() <= limit
    left = len(ids(repo))
    assert 15 <= left <= 20
    assert min(map(id_time, ids(repo))) > NOW - 5 * DAY


def test_with_a_budget_pruning_runs_once_an_hour(repo: Repo) -> None:
    old = new_id(int((time.time() - 5 * DAY) * 1e9))
    stored(repo, 0, 10 * KIB, id=old)
    last = take()
    prune_daily(Repository.discover())
    os.utime(stamp(repo), (time.time() - 3700, time.time() - 3700))
    prune_daily(Repository.discover())
    assert ids(repo) == {old, last.id}
    repo.git("config", "boocode.maxDisk", "5k")
    prune_daily(Repository.discover())
    assert ids(repo) == {last.id}


def test_the_command_and_its_reasons(repo: Repo) -> None:
    old = new_id(int((time.time() - 5 * DAY) * 1e9))
    stored(repo, 0, 10 * KIB, id=old)
    take()
    done = repo.boocode("prune", "-n", "--max-disk", "5k")
    assert f"{old}  checkpoint: beyond boocode.maxDisk\n" in done.out
    repo.git("config", "boocode.maxDisk", "5k")
    assert repo.boocode("prune", "--max-disk", "0", "--json").json["pruned"] == []
    (row,) = repo.boocode("prune", "--json").json["pruned"]
    assert (row["id"], row["kind"], row["reason"]) == (old, "checkpoint", "too_large")
    done = repo.boocode("prune", "--max-disk", "much")
    assert (done.code, "'much' is not a valid size" in done.err) == (129, True)


def test_what_would_go_anyway_makes_room(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("apply-edit", "--path", "a", "--old", "a", "--new", "b")
    stored(repo, 0, 10 * KIB, id=new_id(int((time.time() - 5 * DAY) * 1e9)))
    take()
    repo.git("config", "boocode.editsMaxAge", "now")
    answer = repo.boocode("prune", "-n", "--max-disk", "11k", "--json").json
    assert [row["reason"] for row in answer["pruned"]] == ["too_old"]


def test_status_and_doctor_say_once_that_it_is_not_held(repo: Repo) -> None:
    repo.write("a", os.urandom(20 * KIB))
    take()
    stored(repo, 0, 10 * KIB, id=new_id(int((time.time() - 5 * DAY) * 1e9)))
    repo.git("config", "boocode.maxDisk", "25k")
    storage = repo.boocode("status", "--json").json["storage"]
    assert storage["limit"] == 25 * KIB < storage["bytes"] == sum(storage["kinds"].values())
    assert storage["kinds"]["checkpoints"] == storage["bytes"]
    assert storage["files"] > 0
    done = repo.boocode("status")
    assert "more than boocode.maxDisk, 25.00 KiB\n" in done.out
    done = repo.boocode("doctor")
    assert (done.code, "to do: 'git boocode prune --all' deletes the oldest" in done.out) == (
        1,
        True,
    )
    done = repo.boocode("doctor", "--fix")
    assert (done.code, "fixed: the oldest were deleted" in done.out) == (0, True)
    assert overdraft(Repository.discover()) is None
    assert "maxDisk" not in repo.boocode("status").out
    repo.git("config", "boocode.maxDisk", "10k")
    done = repo.boocode("doctor", "--fix")
    assert done.code == 0
    assert done.out.count("more than boocode.maxDisk (10.00 KiB)") == 1
    assert "KiB stay: the newest day" in done.out
