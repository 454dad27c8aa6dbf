from __future__ import annotations

import pytest

from git_boocode.repo.ids import ID, id_time, new_id, relative_offset, timestamp


def test_an_id_is_a_version_7_uuid() -> None:
    assert ID.fullmatch(new_id())


def test_ids_sort_by_time_even_within_a_millisecond() -> None:
    start = 1_764_000_000_000_000_000
    made = [new_id(start + step * 500) for step in range(5000)]
    assert made == sorted(made)


def test_ids_of_one_instant_differ() -> None:
    assert len({new_id(1) for _ in range(1000)}) == 1000


@pytest.mark.parametrize("ahead", [1, 10**6 - 1, 10**6, 10**15])
def test_an_id_is_greater_than_the_one_before_it(ahead: int) -> None:
    before = new_id(1_764_000_000_000_000_000 + ahead)
    following = new_id(1_764_000_000_000_000_000, after=before)
    assert following > before
    assert new_id(1_764_000_000_000_000_000, after=following) > following


def test_no_id_is_greater_than_the_last_one() -> None:
    last = "ffffffff-ffff-7fff-bfff-ffffffffffff"
    assert ID.fullmatch(new_id(after=last))
    assert new_id(after=last) < last


def test_the_time_can_be_read_back() -> None:
    assert id_time(new_id(1_764_000_000_123_000_000)) == 1_764_000_000.123


def test_a_timestamp_is_utc_with_milliseconds() -> None:
    assert timestamp(0.25) == "1970-01-01T00:00:00.250Z"


@pytest.mark.parametrize(
    ("name", "back"), [("@", 0), ("@~", 1), ("@~0", 0), ("@~1", 1), ("@~12", 12), ("@~007", 7)]
)
def test_how_far_before_the_newest_a_name_counts(name: str, back: int) -> None:
    assert relative_offset(name) == back


@pytest.mark.parametrize("digits", [18, 30, 9999])
def test_a_name_may_count_further_than_anybody_has(digits: int) -> None:
    back = relative_offset("@~" + "9" * digits)
    assert back is not None
    assert back >= 10**17


@pytest.mark.parametrize("name", ["", "~1", "@~-1", "@~x", "@1", "@~~", "@~1~1", "@~\u0663", "@^"])
def test_other_names_do_not_count(name: str) -> None:
    assert relative_offset(name) is None
