"""The benchmark of sharing: its tables come out, and it measures what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_boocode.repo.layout import REMOTES
from tests.benchmarks import sharing
from tests.benchmarks.checkpoints.log import make_checkpoints
from tests.benchmarks.checkpoints.worktree import OURS, git, process, sealed

COUNT = 20


def names(top: str, below: str) -> list[str]:
    return git(top, "for-each-ref", "--format=%(refname)", below).split()


def test_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sealed():
        # Only the round that does not count: whatever fails is raised there.
        sharing.report(sharing.Places(str(tmp_path)), COUNT, rounds=0)
    shown = capsys.readouterr().out
    assert f"{COUNT} checkpoints, refs loose at the agent" in shown
    for title in (
        *("the agent, 20 refs loose", "the agent, refs packed", "sharing"),
        *("ordinary work with a remote that has them", "a clone that has fetched them"),
    ):
        assert f"\n{title}\n" in shown


def test_one_new_is_one_new(tmp_path: Path) -> None:
    with sealed():
        places = sharing.Places(str(tmp_path))
        make_checkpoints(places.worktree, COUNT, loose=False)
        places.push()
        process(places.reader, *OURS, "fetch")()
        places.agrees()
        places.take_and_push()
        assert len(names(places.hub, "refs/boocode")) == COUNT + 1
        assert len(names(places.reader, REMOTES)) == COUNT
        with pytest.raises(AssertionError, match="the reader lacks"):
            places.agrees()
        places.take()
        with pytest.raises(AssertionError, match="the hub lacks"):
            places.agrees()
        assert names(places.plain, "refs/boocode") == names(places.stranger, "refs/boocode") == []


def test_wrong_arguments() -> None:
    for wrong in (["many"], ["1", "2"]):
        with pytest.raises(SystemExit, match="usage: "):
            sharing.run(wrong)
