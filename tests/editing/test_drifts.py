"""Patches that drifted from their files land byte for byte in every format, and so do rewinds."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from itertools import islice

import pytest

from git_boocode.editing.edits import MatchOptions, MissError
from git_boocode.editing.revert import Revert
from git_boocode.editing.textfile import decode
from tests.benchmarks.patches import FORMATS, kinds_of
from tests.benchmarks.patching.edits import Edit, made
from tests.benchmarks.patching.engines import judge, ours
from tests.benchmarks.sources import invented
from tests.editing import later

EDITS = 8
STALE_EDITS = 2
"""Each needs a repository, and the benchmark has many."""
OPEN = {("unified", "two invented context lines"): {"refused": 1}}
"""Cases that do not land yet, of the kinds that have some."""
KINDS = [
    pytest.param(name, kind, marks=() if (row + column) % 3 == 0 else pytest.mark.slow)
    for row, name in enumerate(FORMATS)
    for column, kind in enumerate((*kinds_of(name).recover, *kinds_of(name).refuse))
]


@cache
def edits() -> list[Edit]:
    rng = random.Random(2)
    return list(islice(made(invented(rng), rng), EDITS))


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_every_kind_of_patch(name: str, kind: str) -> None:
    drawn = edits()[: STALE_EDITS if name == "lines" else None]
    cases = kinds_of(name).cases(kind, drawn, random.Random(kind))
    verdicts = Counter(judge(case, ours).verdict for case in cases)
    assert verdicts.pop("perfect")
    assert verdicts == OPEN.get((name, kind), {})


@pytest.mark.parametrize("kind", [*later.RECOVER, *later.REFUSE])
def test_every_kind_of_rewind(kind: str) -> None:
    cases = later.cases(kind, edits(), random.Random(kind))
    assert [case for case in cases if rewound(case) != case.expected] == []


def rewound(case: later.Case) -> bytes | None:
    """The file without the edit; None if that is refused."""
    try:
        text = Revert(case.before, case.after).apply(decode(case.now), MatchOptions()).text
    except MissError:
        return None
    return None if text is None else text.encode()
