"""Every kind of generated drift lands byte for byte, and what must be refused is refused."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest

from tests.benchmarks.accuracy import cases_of, judge
from tests.benchmarks.drifts import RECOVER, REFUSE, Case
from tests.benchmarks.hunks import made
from tests.benchmarks.sources import invented

HUNKS = 12
MAY_BE_REFUSED = {"added lines alone as deep as the file": {"refused"}}
"""Kinds in which new lines may have the depth of kept lines in another indentation."""
LANDED = {"boocode": (483, 42, 58), "opencode-3": (341, 47, 57), "opencode-9": (352, 59, 57)}
"""Per profile: how many cases land perfectly, how many wrongly, how many are refused rightly."""


@cache
def cases() -> dict[str, list[Case]]:
    rng = random.Random(1)
    kinds: dict[str, list[Case]] = {}
    for name, case in cases_of(made(invented(rng), HUNKS, rng), rng):
        kinds.setdefault(name, []).append(case)
    return kinds


def verdicts(name: str, profile: str) -> Counter[str]:
    return Counter(judge(case, profile) for case in cases()[name])


@pytest.mark.parametrize("name", [*RECOVER, *REFUSE, "another file's"])
def test_every_kind(name: str) -> None:
    assert set(verdicts(name, "default")) - MAY_BE_REFUSED.get(name, set()) == {"perfect"}


@pytest.mark.slow
@pytest.mark.parametrize("profile", LANDED)
def test_other_profiles_keep_what_they_land(profile: str) -> None:
    landed = sum((verdicts(name, profile) for name in RECOVER), Counter[str]())
    refused = sum((verdicts(name, profile) for name in REFUSE), Counter[str]())
    assert (landed["perfect"], landed["wrong"], refused["perfect"]) == LANDED[profile]
