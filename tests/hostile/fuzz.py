"""Run one target for as long as wanted: `python -m tests.hostile.fuzz TARGET --seconds N`.

Coverage-guided where atheris is installed, else by hypothesis. The promise is that of the targets:
no input raises an undocumented error, and none takes longer than `HANGS` seconds.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import git_boocode

HANGS = 20
"""An input that takes more seconds of a processor than this is taken for one that never ends."""


def inputs(words: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Bytes put together from a target's words, repeated and mixed with others."""
    word = st.one_of(st.sampled_from(words), st.binary(max_size=4))
    repeated = st.builds(lambda part, times: part * times, word, st.sampled_from((1, 1, 1, 2, 60)))
    return st.lists(repeated, max_size=30).map(b"".join)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="a name of tests.hostile.targets.ALL, or 'list'")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", help="a directory that keeps what atheris finds")
    parser.add_argument("--input", help="run this one file, such as a crash that was found")
    asked = parser.parse_args(arguments)
    if asked.target != "list" and not asked.input and find_spec("atheris"):
        _by_coverage(asked)
    targets = import_module("tests.hostile.targets")
    if asked.target == "list":
        print("\n".join(targets.ALL))
    elif asked.input:
        targets.ALL[asked.target](Path(asked.input).read_bytes())
    else:
        run = targets.ALL[asked.target]
        _by_hypothesis(run, targets.words(asked.target), asked.seconds)


def _by_coverage(asked: argparse.Namespace) -> None:
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["git_boocode"]):
        for module in walk_packages(git_boocode.__path__, "git_boocode."):
            import_module(module.name)  # else those that are imported late are not seen
        targets = import_module("tests.hostile.targets")
    words: Sequence[bytes] = targets.words(asked.target)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        """Half of the time a word of the target's is put in; else libFuzzer's own way."""
        chance = random.Random(seed)
        if chance.random() < 0.5:
            at = chance.randint(0, len(data))
            word = chance.choice(words) * chance.choice((1, 1, 2, 60))
            return (data[:at] + word + data[at:])[:most]
        changed: bytes = atheris.Mutate(data, most)
        return changed

    options = [f"-max_total_time={asked.seconds}", f"-timeout={HANGS}", "-max_len=4096"]
    corpus = [asked.corpus] if asked.corpus else []
    atheris.Setup(
        [sys.argv[0], *options, *corpus], targets.ALL[asked.target], custom_mutator=mutated
    )
    atheris.Fuzz()  # ends the process


def _by_hypothesis(run: Callable[[bytes], None], words: Sequence[bytes], seconds: int) -> None:
    end = time.monotonic() + seconds

    @settings(max_examples=500, deadline=HANGS * 1000, suppress_health_check=list(HealthCheck))
    @given(inputs(words))
    def once(data: bytes) -> None:
        run(data)

    while time.monotonic() < end:
        once()


if __name__ == "__main__":
    main()
