"""How long refs of ours are kept: so many of the newest, and none beyond an age."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, TypeVar

from git_boocode.repo.config import Config
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import ID, id_time
from git_boocode.repo.store import Ref

DAY = 86_400.0
TOO_OLD = "too_old"
TOO_MANY = "too_many"

_Result = TypeVar("_Result")


class Owned(NamedTuple):
    """A ref that limits apply to.

    Attributes:
        ref: it.
        worktree: the name of the worktree that it is of; None where it cannot be read.
    """

    ref: Ref
    worktree: str | None


class Limits(NamedTuple):
    """What is kept.

    Attributes:
        keep: so many of the newest of each worktree; 0 sets no limit to their number.
        max_age: what is older than so many seconds goes; None keeps it whatever its age.
    """

    keep: int
    max_age: float | None

    def configured(self, config: Config, keep: str, max_age: str) -> Limits:
        """These limits, except for what is configured.

        Args:
            config: the configuration.
            keep: the key of the number.
            max_age: the key of the age.

        Raises:
            FatalError: a setting makes no sense (`bad_config`).
        """
        return Limits(
            config.integer(keep, default=self.keep), config.age(max_age, default=self.max_age)
        )

    def beyond(
        self, newest_first: Iterable[Owned], now: float, *, spared: Collection[str] = ()
    ) -> Iterator[tuple[Ref, str]]:
        """What is beyond the limits, each with the reason, `too_old` or `too_many`.

        What cannot be read does not count, and goes by the time in its id alone.

        Args:
            newest_first: what there is.
            now: the time, in seconds since 1970.
            spared: the worktrees whose newest stays, whatever its age.
        """
        counted: Counter[str] = Counter()
        for ref, worktree in newest_first:
            if worktree is not None:
                counted[worktree] += 1
                if counted[worktree] == 1 and worktree in spared:
                    continue
            if is_older(ref.id, self.max_age, now):
                yield ref, TOO_OLD
            elif worktree is not None and 0 < self.keep < counted[worktree]:
                yield ref, TOO_MANY


def patiently(prune: Callable[[], _Result], attempts: int = 3) -> _Result:
    """Prune, and look again at what there is where another process prunes at the same time.

    Args:
        prune: looks what is to go, and deletes it all or nothing.
        attempts: how often it is tried.

    Raises:
        RefusedError: refs were changed by others again and again (`conflict`).
    """
    try:
        return prune()
    except RefusedError as error:
        if error.code != "conflict" or attempts == 1:
            raise
    return patiently(prune, attempts - 1)


def is_older(identifier: str, max_age: float | None, now: float) -> bool:
    """Whether the time in an id is longer ago than an age; what is no id of ours never is.

    Args:
        identifier: the id.
        max_age: seconds; None for no limit.
        now: the time, in seconds since 1970.
    """
    if max_age is None or not ID.fullmatch(identifier):
        return False
    return id_time(identifier) < now - max_age
