"""`python -m tests.interleavings [COUNT [FIRST]]`: take turns back on so many days, and judge.

Prints each failure with its day, reduced to the fewest events that fail, and at the end how many
days went which way, as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.interleavings.checks import FAILURES, KINDS, Verdict, judge
from tests.interleavings.generator import Day, make_day
from tests.interleavings.scripts import Script, reduced
from tests.interleavings.world import run_here
from tests.memory import use_memory
from tests.repo_kit import Repo, sealed_environment


def main() -> int:
    """Judge days, and print what came of them; 1 if any failed."""
    count, first = (*map(int, sys.argv[1:]), *(20, 0)[len(sys.argv) - 1 :])
    use_memory()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        environment = sealed_environment(Path(home))
        os.environ.clear()
        os.environ.update(environment)
        for number in range(first, first + count):
            day = make_day(number)
            verdict = _judged(number, day)
            if verdict is None:
                continue
            found[verdict.kind] += 1
            if verdict.kind in FAILURES:
                print(f"{number}: {verdict.kind}: {verdict.detail}", flush=True)
                _show(_reduced(number, day, verdict.kind))
    print(json.dumps({kind: found[kind] for kind in KINDS}))
    return 1 if any(found[kind] for kind in FAILURES) else 0


def _judged(number: int, day: Day) -> Verdict | None:
    """Judge a day in a repository of its own."""
    top = os.path.realpath(tempfile.mkdtemp())
    subprocess.run(("git", "init", "-q", "--template=", top), check=True)
    repo = Repo(Path(top))
    try:
        return judge(number, day, repo, run_here(repo))
    finally:
        os.chdir(os.sep)
        shutil.rmtree(top)


def _reduced(number: int, day: Day, kind: str) -> Day:
    """The day with as few events as possible that fails in the same way."""

    def fails(script: Script) -> bool:
        verdict = _judged(number, day._replace(script=script))
        return verdict is not None and verdict.kind == kind

    return day._replace(script=reduced(day.script, fails))


def _show(day: Day) -> None:
    for event in day.script:
        who = f"{day.agent(event.session).name} {event.session}" if event.session >= 0 else ""
        op = event.op or ()
        print(f"    {event.kind:<7}", who, event.tool, event.path, *map(repr, op), flush=True)


if __name__ == "__main__":
    sys.exit(main())
