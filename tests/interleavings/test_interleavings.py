"""Whatever sessions and a user do in one worktree: a turn is taken back, and nothing else.

The truth is the same day without the turn. It may be refused only where a later change touches its
lines or their direct neighbours, or where two tools ran at the same time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.interleavings.checks import FAILURES, RIGHT, judge
from tests.interleavings.generator import make_day
from tests.repo_kit import Repo

DAYS = int(os.environ.get("INTERLEAVINGS", "1000"))
_PROCESSES = 2


@pytest.mark.parametrize("number", range(1, 5))
def test_a_day(number: int, repo: Repo) -> None:
    verdict = judge(number, make_day(number), repo, repo.boocode)
    assert verdict is not None
    assert verdict.kind not in FAILURES, verdict.detail


def test_a_day_with_the_installed_program(repo: Repo) -> None:
    verdict = judge(0, make_day(0), repo, repo.installed)
    assert verdict is not None
    assert verdict.kind == RIGHT, verdict.detail


@pytest.mark.slow
def test_a_thousand_days(sealed: Path) -> None:
    count = DAYS // _PROCESSES
    top = Path(__file__).parents[2]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.interleavings", str(count), str(number * count)],
            cwd=top,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(_PROCESSES)
    ]
    said = [process.communicate()[0] for process in started]
    found: Counter[str] = Counter()
    for text in said:
        found.update(json.loads(text.splitlines()[-1]))
    print(dict(found))
    assert not any(found[kind] for kind in FAILURES), "".join(said)
    assert found[RIGHT] > DAYS / 2
