"""Lines that change and have drifted themselves land with the file's own text, or are refused."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.benchmarks import changed_lines
from tests.benchmarks.accuracy import Trial, described, trials
from tests.benchmarks.changed_lines import CONTEXT, DEPTH, LINE, REFUSE
from tests.benchmarks.sources import invented_in_languages


@cache
def tried() -> list[Trial]:
    rng = random.Random(1)
    cases = [*changed_lines.cases(invented_in_languages(rng), 1, rng)]
    return [*trials(rng.sample(cases, 300), "default")]


@pytest.mark.parametrize("kind", [*LINE, *DEPTH, *CONTEXT, *REFUSE])
def test_none_is_wrong_or_said_to_be_applied(kind: str) -> None:
    of_kind = [trial for trial in tried() if kind in trial.kinds]
    assert of_kind
    missed = [trial for trial in of_kind if trial.verdict in ("wrong", "falsely applied")]
    assert not missed, "\n".join(map(described, missed))


def test_nearly_all_land_or_are_rightly_refused() -> None:
    refused = [trial for trial in tried() if trial.verdict == "refused"]
    assert len(refused) <= 0.05 * len(tried()), "\n".join(map(described, refused))
