"""What checkpoints cost: time by size of the worktree, disk, and the listing of many.

`python -m tests.benchmarks checkpoints [capture [FILES…] | disk [TURNS [FILES]] | log [COUNT]]`;
numbers alone are sizes for `capture`, and without arguments all three run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tests.benchmarks.checkpoints import capture, disk, log
from tests.benchmarks.checkpoints.worktree import sealed
from tests.benchmarks.measure import machine

PARTS: dict[str, Callable[..., None]] = {"capture": capture.run, "disk": disk.run, "log": log.run}


def run(arguments: Sequence[str]) -> None:
    """Print the tables of the part that the arguments name, or of all."""
    name, *rest = arguments or [""]
    if name.isdecimal():
        name, rest = "capture", list(arguments)
    if (name and name not in PARTS) or not all(map(str.isdecimal, rest)):
        sys.exit(f"usage: {__doc__.splitlines()[2]}")
    print(machine(), flush=True)
    with sealed():
        for part in (name,) if name else PARTS:
            PARTS[part](*map(int, rest))
