from __future__ import annotations

import pytest

from git_boocode.repo.entries import DAY, TOO_MANY, TOO_OLD, Limits, is_older
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import new_id
from git_boocode.repo.store import Ref, retry_conflicts

NOW = 1_800_000_000.0


def owned(days: float, worktree: str | None) -> tuple[Ref, str | None]:
    name = new_id(int((NOW - days * DAY) * 1e9))
    return Ref(f"refs/x/{name}", "1" * 40), worktree


def test_number_and_age() -> None:
    listed = [owned(1, "a"), owned(2, "b"), owned(3, None), owned(4, "a"), owned(9, "b"),
              owned(10, None), owned(11, "a")]  # fmt: skip
    refs = [ref for ref, _ in listed]

    def beyond(keep: int, max_age: float | None, *spared: str) -> list[tuple[Ref, str]]:
        return list(Limits(keep, max_age).beyond(listed, NOW, spared=spared))

    assert beyond(0, None) == []
    assert beyond(1, None) == [(refs[3], TOO_MANY), (refs[4], TOO_MANY), (refs[6], TOO_MANY)]
    assert beyond(2, 8.5 * DAY) == [
        (refs[4], TOO_OLD), (refs[5], TOO_OLD), (refs[6], TOO_OLD)
    ]  # fmt: skip
    assert [ref for ref, _ in beyond(0, 0.0)] == refs
    assert [ref for ref, _ in beyond(0, 0.0, "a", "c")] == refs[1:]


@pytest.mark.parametrize("name", ["", "x", "ffffffff-ffff-4fff-bfff-ffffffffffff"])
def test_what_is_no_id_is_never_old(name: str) -> None:
    assert not is_older(name, 0.0, NOW)


class Prune:
    """Fails so often before it succeeds."""

    def __init__(self, failures: int, code: str) -> None:
        self.failures, self.code, self.tried = failures, code, 0

    def __call__(self) -> str:
        self.tried += 1
        if self.tried > self.failures:
            return "done"
        raise RefusedError("x", code=self.code)


def test_what_others_changed_meanwhile_is_looked_at_again() -> None:
    assert retry_conflicts(Prune(2, "conflict")) == "done"
    for prune, tried in ((Prune(3, "conflict"), 3), (Prune(1, "locked"), 1)):
        with pytest.raises(RefusedError):
            retry_conflicts(prune)
        assert prune.tried == tried
