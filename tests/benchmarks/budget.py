"""A disk budget over many turns: what is kept, and what the repository takes beside it.

`python -m tests.benchmarks budget [TURNS [MIB]]`

100 turns a day change 3 of 300 files each; their checkpoints are written in bulk, with the times of
the days. Twenty turns apart, as after an hour of work, checkpoints are pruned. Every evening, `git
gc --auto` runs, as after a commit, with the clock of that day. The whole run is asserted: nothing
of the newest day goes, and what is left fits.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.store.disk_budget import own_refs
from git_boocode.checkpoints.store.retention import Rules, prune
from git_boocode.repo.disk import disk_usage
from git_boocode.repo.entries import DAY, Limits
from git_boocode.repo.ids import id_time, new_id
from git_boocode.repo.layout import CHECKPOINTS
from git_boocode.repo.repository import Repository
from tests.benchmarks.checkpoints.disk import usage
from tests.benchmarks.checkpoints.worktree import Worktree, git, sealed, text
from tests.benchmarks.measure import machine

TURNS, MIB = 5_000, 3
A_DAY, A_STEP, CHANGED, FILES = 100, 20, 3, 300
GRACE = 14 * DAY
SHOWN = 5  # days


class Held(NamedTuple):
    """The state in an evening; sizes in bytes."""

    day: int
    kept: int  # checkpoints
    most: int  # recorded at any time of the day
    after: int  # recorded after the last pruning
    objects: int  # of all objects, as files
    blocks: int  # of the disk
    seconds: float  # of the longest pruning


def run(arguments: Sequence[str]) -> None:
    """Print a table of the days."""
    if len(arguments) > 2 or not all(map(str.isdecimal, arguments)):
        sys.exit(f"usage: {__doc__.splitlines()[2]}")
    turns, mib = [*map(int, arguments), *(TURNS, MIB)[len(arguments) :]]
    print(machine(), flush=True)
    with sealed(), tempfile.TemporaryDirectory() as top:
        report(top, turns, mib << 20)


def report(top: str, turns: int, limit: int, seed: int = 1) -> list[Held]:
    """Let so many turns pass in a directory, and print a table."""
    print(f"\n{turns:,} turns with a budget of {limit / (1 << 20):.1f} MiB; sizes in MiB")
    heads = ("kept", "most", "after", "objects", "in blocks", "prune s")
    print(f"{'day':>4}" + "".join(f"{head:>12}" for head in heads), flush=True)
    days = []
    for held in pass_days(top, turns, limit, random.Random(seed)):
        days.append(held)
        sizes = (held.most, held.after, held.objects, held.blocks)
        cells = "".join(f"{size / (1 << 20):>12.1f}" for size in sizes)
        if held.day % SHOWN == 0 or turns < SHOWN * A_DAY:
            print(f"{held.day:>4}{held.kept:>12,}{cells}{held.seconds:>12.2f}", flush=True)
    return days


def pass_days(top: str, turns: int, limit: int, rng: random.Random) -> Iterator[Held]:
    """Let the turns pass, and describe each evening."""
    worktree = Worktree(top, FILES)
    head, started = git(top, "rev-parse", "HEAD"), time.time()
    repository = Repository.discover(top)
    rules = Rules(Limits(0, None), None, limit)
    count = -(-turns // A_DAY)
    made: list[str] = []
    for day in range(count):
        morning = started - (count - day) * DAY
        most, after, seconds = 0, 0, 0.0
        for step in range(day * A_DAY, min((day + 1) * A_DAY, turns), A_STEP):
            numbers = range(step, min(step + A_STEP, turns))
            times = [morning + (number % A_DAY + 1) * DAY / A_DAY / 2 for number in numbers]
            made += _take(worktree, head, times, rng)
            most = max(most, _used(repository))
            begun = time.perf_counter()
            prune(repository, rules, everywhere=True, now=times[-1])
            seconds = max(seconds, time.perf_counter() - begun)
            after = _used(repository)
            kept = git(top, "for-each-ref", "--format=%(refname:lstrip=-1)", CHECKPOINTS).split()
            # The oldest go, and never the newest day.
            assert kept == made[len(made) - len(kept) :]
            young = [name for name in made if id_time(name) >= id_time(made[-1]) - DAY]
            assert set(young) <= set(kept)
            assert after <= limit or kept == young, f"{after} bytes are left"
        _set_times(top, morning + DAY / 2)
        expiry = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(morning + DAY / 2 - GRACE))
        settings = ("-c", "gc.autoDetach=false", "-c", f"gc.pruneExpire={expiry}")
        git(top, *settings, "gc", "--auto", "-q")
        _set_times(top, morning + DAY / 2)
        taken = usage(os.path.join(top, ".git/objects"))
        yield Held(day + 1, len(kept), most, after, taken.apparent, taken.allocated, seconds)


def _used(repository: Repository) -> int:
    found = disk_usage(repository, own_refs(repository))
    assert found is not None
    return sum(found.values())


def _take(
    worktree: Worktree, head: str, times: Sequence[float], rng: random.Random
) -> Iterator[str]:
    """Write a checkpoint for each time; returns the ids."""
    stream, names = [], []
    for when in times:
        names.append(new_id(int(when * 1e9)))
        meta = {"boocode": 1, "kind": "checkpoint", "id": names[-1], "worktree": {"name": "main"}}
        message = f"boocode checkpoint\n\n{json.dumps(meta)}\n"
        stream.append(f"commit {CHECKPOINTS}{names[-1]}\ncommitter b <b> {int(when)} +0000\n")
        stream.append(f"data {len(message)}\n{message}from {head}\n")
        for path in rng.sample(worktree.paths, CHANGED):
            content = text(rng)
            stream.append(f"M 100644 inline {path}\ndata {len(content)}\n{content}\n")
    limit = "fastimport.unpackLimit=1000000000"
    git(worktree.top, "-c", limit, "fast-import", "--quiet", stdin="".join(stream).encode())
    return iter(names)


def _set_times(top: str, when: float) -> None:
    """Date the objects and packs that were written just now back to a simulated day."""
    for directory, _, names in os.walk(os.path.join(top, ".git/objects")):
        for name in names:
            path = os.path.join(directory, name)
            if os.stat(path).st_mtime > when + DAY:
                os.utime(path, (when, when))
