"""What the search for secrets before a push finds, and what it costs.

`python -m tests.benchmarks secrets [FILES]`

Of 200 planted secrets and 10,000 innocent texts, each is a file of a checkpoint, so that git hands
over as many blobs; a second checkpoint has FILES more, and a third one large files, of text and of
random bytes.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from git_boocode.checkpoints.capture import Request, capture
from git_boocode.checkpoints.store.secret_scan import FoundSecret, find_secrets, outgoing
from git_boocode.repo.masking import Masker
from git_boocode.repo.repository import Repository
from tests.benchmarks.checkpoints.worktree import git, sealed
from tests.benchmarks.measure import machine
from tests.repo.test_masking import innocent, planted

PLANTED, INNOCENT, FILES = 200, 10_000, 20_000
_LARGE = 100 << 20  # bytes


def run(arguments: Sequence[str]) -> None:
    """Print the tables."""
    if len(arguments) > 1 or not all(map(str.isdecimal, arguments)):
        sys.exit(f"usage: {__doc__.splitlines()[2]}")
    print(machine(), flush=True)
    with sealed(), tempfile.TemporaryDirectory() as top:
        report(Path(top), *map(int, arguments))


def report(top: Path, files: int = FILES, large: int = _LARGE, harmless: int = INNOCENT) -> None:
    """Print what was found, and how long it took."""
    git(str(top), "init", "-q")
    chance = random.Random(40)
    expected = {f"planted-{number}": planted(number) for number in range(PLANTED)}
    texts = {path: text for path, (_, _, text) in expected.items()}
    texts |= {f"innocent-{number}": innocent(chance) for number in range(harmless)}
    found = _searched(top, "planted and innocent texts", {k: v.encode() for k, v in texts.items()})
    right = {(each.path, each.kind) for each in found}
    hits = sum((path, kind) in right for path, (_, kind, _) in expected.items())
    wrong = sum(each.path.startswith("innocent") for each in found)
    print(f"{hits} of {PLANTED} planted secrets, {wrong} of {harmless:,} innocent texts")
    code = "\n".join(f"def function_{n}(value): return value + {n}" for n in range(100)).encode()
    _searched(top, "files of code", {f"code-{n}": b"%d\n%s" % (n, code) for n in range(files)})
    data = {"text": (code * (large // len(code) + 1))[:large], "binary": chance.randbytes(large)}
    for name, content in data.items():
        _searched(top, f"a large file, {name}", {name: content})


def _searched(top: Path, name: str, files: dict[str, bytes]) -> list[FoundSecret]:
    for path in top.glob("*"):
        if path.is_file():
            path.unlink()
    for name_, content in files.items():
        (top / name_).write_bytes(content)
    git(str(top), "config", "boocode.maxFileSize", "1g")
    repository = Repository.discover(str(top))
    going = outgoing(repository, [capture(repository, Request()).checkpoint.commit.id], (), ())
    begun = time.perf_counter()
    found = [*find_secrets(repository.git, going.objects(repository.git), Masker())]
    took = time.perf_counter() - begun
    size = sum(map(len, files.values())) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    rate = f"{size / took:,.0f} MB/s"
    print(f"{name}: {len(files):,} files, {size:,.1f} MB, {took:.2f} s, {rate}, peak {peak} MiB")
    return found
