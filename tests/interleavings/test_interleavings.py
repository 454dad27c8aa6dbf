"""Whatever sessions and a user do in one worktree: a turn is taken back, and nothing else.

The truth is the same day without the turn. It may be refused only where a later change touches its
lines or their direct neighbours, or where two tools ran at the same time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interleavings.checks import FAILURES, RIGHT, judge
from tests.interleavings.generator import make_day
from tests.repo_kit import Repo

DAYS = int(os.environ.get("INTERLEAVINGS", "1000"))
PARTS = 10


@pytest.mark.parametrize("number", [1, 2])
def test_a_day(number: int, repo: Repo) -> None:
    verdict = judge(number, make_day(number), repo, repo.boocode)
    assert verdict is not None
    assert verdict.kind not in FAILURES, verdict.detail


def test_a_day_with_the_installed_program(repo: Repo) -> None:
    verdict = judge(0, make_day(0), repo, repo.installed)
    assert verdict is not None
    assert verdict.kind == RIGHT, verdict.detail


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_days(part: int) -> None:
    count = DAYS // PARTS
    numbers = (str(count), str(part * count))
    command = [sys.executable, "-m", "tests.interleavings", *numbers]
    top = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=top, stdout=subprocess.PIPE, text=True)
    *_, statistics = done.stdout.splitlines()
    print(statistics)
    found = json.loads(statistics)
    assert not any(found[kind] for kind in FAILURES), done.stdout
    assert found[RIGHT] > count / 4
