"""Which proposals are kept how long."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.capture import prune_daily
from git_boocode.checkpoints.store.retention import last_prune_failure
from git_boocode.repo.entries import DAY
from git_boocode.repo.layout import PROPOSALS, SAFETY
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.checkpoints.test_retention import (
    NOW,
    aged,
    forged,
    forged_text,
    ids,
    operation,
    other_worktree,
    pruned,
    rules,
)
from tests.repo_kit import Repo


def proposed(repo: Repo, days: float, **values: Any) -> str:
    """A proposal that is so many days old at `NOW`; returns its id."""
    return forged(repo, aged(days), below=PROPOSALS, **{"kind": "proposal", **values})


def step(before: str) -> dict[str, Any]:
    """What the record of an operation says about proposals."""
    return {"change": "accept", "before": before, "paths": ["a"]}


def propose(repo: Repo, old: str, new: str, *, cwd: str = "") -> str:
    """Propose to replace the content of `a`; returns the proposal's id."""
    edit = {"path": "a", "old_string": old, "new_string": new}
    done = repo.boocode("propose", "--json", stdin=json.dumps(edit), cwd=cwd)
    assert done.code == 0, done
    return str(done.json["id"])


def test_the_newest_of_this_worktree_are_kept(repo: Repo) -> None:
    mine = [proposed(repo, days) for days in range(4)]
    theirs = [proposed(repo, days, worktree={"name": "other"}) for days in range(4)]
    # Checkpoints are counted by themselves.
    taken = [forged(repo, aged(days)) for days in range(3)]
    assert pruned(rules(keep=3), dry_run=True) == [(mine[3], "too_many")]
    assert pruned(rules(keep=3)) == [(mine[3], "too_many")]
    assert ids(repo, "proposals") == {*mine[:3], *theirs}
    assert pruned(rules(keep=3), everywhere=True) == [(theirs[3], "too_many")]
    assert ids(repo, "checkpoints") == {*taken}


def test_old_ones_are_pruned_except_a_worktrees_last(repo: Repo, tmp_path: Path) -> None:
    other_worktree(repo, tmp_path)
    mine = [proposed(repo, days) for days in (91, 92)]
    theirs = [proposed(repo, days, worktree={"name": "other"}) for days in (91, 92)]
    gone = [proposed(repo, days, worktree={"name": "gone"}) for days in (89, 91)]
    assert pruned() == [(mine[1], "too_old")]
    assert {name for name, _ in pruned(everywhere=True)} == {theirs[1], gone[1]}
    assert ids(repo, "proposals") == {mine[0], theirs[0], gone[0]}
    assert pruned(everywhere=True, now=NOW + 2 * DAY) == [(gone[0], "too_old")]
    assert ids(repo, "proposals") == {mine[0], theirs[0]}


def test_what_undo_brings_back_is_kept_as_long_as_its_record(repo: Repo) -> None:
    *_, newest = names = [proposed(repo, days) for days in (95, 94, 93, 92, 91)]
    accepted = operation(repo, 29, "restore", names[1], proposal=step("of no restore"))
    record = {"operation": "restore", "target": names[2], "proposal": step(names[2])}
    one = forged(repo, aged(28), below=SAFETY, kind="pre-restore", restore=record)
    record = {"operation": "undo", "target": one, "of": one, "proposal": step(names[3])}
    forged(repo, aged(27), below=SAFETY, kind="pre-restore", restore=record)
    gone = pruned(everywhere=True)
    assert {name for name, _ in gone} == {names[0]}
    # With the records of the operations, nothing needs the proposals any more.
    assert {name for name, _ in pruned(everywhere=True, now=NOW + 5 * DAY)} >= {*names[1:4]}
    assert ids(repo, "proposals") == {newest}
    assert accepted not in ids(repo)


def test_damaged_and_newer_ones(repo: Repo) -> None:
    newest, _ = proposed(repo, 91), proposed(repo, 92)
    unread = forged_text(repo, aged(100), "no JSON\n", below=PROPOSALS)
    recent = forged_text(repo, aged(1), "no JSON\n", below=PROPOSALS)
    newer = proposed(repo, 101, boocode=2)
    repo.git("update-ref", f"{PROPOSALS}not-an-id", f"{PROPOSALS}{unread}")
    assert len(pruned()) == 1
    assert pruned(everywhere=True) == [(unread, "too_old")]
    assert ids(repo, "proposals") == {newest, recent, newer, "not-an-id"}


def test_malformed_records_of_operations_need_nothing(repo: Repo) -> None:
    old, _ = proposed(repo, 95), proposed(repo, 1)
    values: list[Any] = [None, 1, "x", [], {"before": [old]}, {"before": old}, step("")]
    for value in values:
        record = {"operation": "restore", "target": "x", "proposal": value}
        forged(repo, aged(2), below=SAFETY, kind="pre-restore", restore=record)
    assert pruned(everywhere=True) == [(old, "too_old")]


@pytest.mark.slow
def test_the_command_names_the_kind(repo: Repo) -> None:
    repo.commit(a="one\n")
    old, newest = propose(repo, "one", "two"), propose(repo, "two", "three")
    listed = repo.boocode("prune", "-n", "--keep", "1")
    assert (listed.code, listed.err) == (0, "")
    row, summary = listed.out.splitlines()
    assert row == f"{old}  proposal: beyond the number to keep"
    assert summary.startswith("would prune 1 proposal: ")
    answer = repo.boocode("prune", "--keep", "1", "--json").json
    assert [(row["id"], row["kind"], row["label"]) for row in answer["pruned"]] == [
        (old, "proposal", None)
    ]
    assert answer["bytes"] > 0
    assert ids(repo, "proposals") == {newest}
    # The newest one is complete without those before it.
    assert repo.boocode("accept").code == 0
    assert (repo.top / "a").read_text() == "three\n"


@pytest.mark.slow
def test_undo_and_redo_after_pruning(repo: Repo) -> None:
    repo.commit(a="one\n")
    propose(repo, "one", "two")
    assert repo.boocode("accept").code == 0
    for number in range(3):
        propose(repo, "two" if number == 0 else f"{number}", f"{number + 1}")
    assert repo.boocode("discard").code == 0
    assert repo.boocode("prune", "--keep", "1").code == 0
    assert repo.boocode("undo").code == repo.boocode("undo").code == 0
    assert (repo.top / "a").read_text() == "one\n"
    assert repo.boocode("status", "--porcelain").out == "M  a\n"
    assert repo.boocode("prune", "--keep", "1").code == 0
    assert repo.boocode("redo").code == 0
    assert (repo.top / "a").read_text() == "two\n"


@pytest.mark.slow
def test_daily_pruning(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.git("config", "boocode.keep", "2")
    made = [propose(repo, "one", "1")]
    made += [propose(repo, f"{number}", f"{number + 1}") for number in range(1, 4)]
    stamp = Path(Repository.discover().common_state_dir, "last-prune")
    assert ids(repo, "proposals") == {*made}
    take()
    prune_daily(Repository.discover())
    assert ids(repo, "proposals") == {*made}
    os.utime(stamp, (0, time.time() - 2 * DAY))
    # Also where no checkpoint is ever taken.
    made.append(propose(repo, "4", "5"))
    assert ids(repo, "proposals") == {*made[-2:]}
    assert last_prune_failure(Repository.discover()) is None
