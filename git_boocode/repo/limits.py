"""How many of our refs are kept and how long, how they are stored, and what they hold on disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, TypeVar

from git_boocode.repo.config import Config
from git_boocode.repo.durable import sync_refs
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import ID, id_time
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, Store

DAY = 86_400.0
TOO_OLD = "too_old"
TOO_MANY = "too_many"
# Git opens each loose ref by itself: with 1,000, listing them takes 11 ms instead of 3.
MANY_LOOSE = 200

_Result = TypeVar("_Result")


class Limits(NamedTuple):
    """The newest `keep` of each worktree stay, 0 for all, unless older than `max_age` seconds."""

    keep: int
    max_age: float | None

    def configured(self, config: Config, keep: str, max_age: str) -> Limits:
        """These limits, except for what is configured under two keys.

        Raises:
            FatalError: a setting makes no sense (`bad_config`).
        """
        return Limits(
            config.integer(keep, default=self.keep), config.age(max_age, default=self.max_age)
        )

    def beyond(
        self,
        newest_first: Iterable[tuple[Ref, str | None]],
        now: float,
        *,
        spared: Collection[str] = (),
    ) -> Iterator[tuple[Ref, str]]:
        """The refs beyond the limits, each with the reason, `too_old` or `too_many`.

        They come with the keys of their worktrees. One whose worktree is not known does not count,
        and goes by the time in its id alone. The newest of each `spared` worktree stays.
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


def is_older(identifier: str, max_age: float | None, now: float) -> bool:
    """Whether the time in an id is more than `max_age` seconds ago; what is no id never is."""
    if max_age is None or not ID.fullmatch(identifier):
        return False
    return id_time(identifier) < now - max_age


def patiently(prune: Callable[[], _Result], attempts: int = 3) -> _Result:
    """Look at what there is and prune it, again where another process prunes at the same time.

    Raises:
        RefusedError: refs were changed by others again and again (`conflict`).
    """
    try:
        return prune()
    except RefusedError as error:
        if error.code != "conflict" or attempts == 1:
            raise
    return patiently(prune, attempts - 1)


def pack_many_refs(repository: Repository) -> None:
    """Pack the refs of a repository if many of our refs are loose.

    Git packs all refs or none but tags, as `git gc` does; so it is left to the user where
    `gc.auto` or `gc.packRefs` keeps git from doing it unasked.
    """
    below = os.path.join(repository.common_dir, "refs", "boocode")
    if sum(len(files) for _, _, files in os.walk(below)) <= MANY_LOOSE:
        return
    git = repository.git.without("gc.auto")
    auto = git.attempt("config", "--type=int", "--default=1", "--get", "gc.auto")
    setting = git.attempt("config", "--default=true", "--get", "gc.packRefs")
    wanted = setting.stdout.strip().lower() not in (b"false", b"no", b"off", b"0", b"")
    if auto.status == 0 and setting.status == 0 and int(auto.stdout) > 0 and wanted:
        # If another process is at it, that one does the work.
        repository.git.attempt("pack-refs", "--all", "--prune")
        sync_refs(repository.common_dir, (), packed=True)


def disk_usage(repository: Repository, going: Collection[Ref]) -> int | None:
    """The bytes of the objects that only some refs reach, compressed as they are on disk.

    The refs may be deleted already. What only a reflog, an index or a detached HEAD reaches besides
    counts as kept. The figure is a little too high where a file was once committed, changed, and is
    back as it was then: git looks at the ends of what is kept, not through all of its history.
    None if objects are missing.
    """
    if not going:
        return 0
    names = {ref.name for ref in going}
    kept = {ref.target for ref in Store(repository).refs("refs/") if ref.name not in names}
    request = [ref.target for ref in going] + [f"^{target}" for target in kept]
    done = repository.git.attempt(
        *("rev-list", "--objects-edge-aggressive", "--disk-usage"),
        *("--missing=allow-any", "--ignore-missing", "--stdin"),
        # Only HEAD of each worktree: the refs are given above.
        *("--not", "--exclude=refs/*", "--all", "--reflog", "--indexed-objects"),
        stdin="".join(f"{line}\n" for line in request).encode(),
    )
    # The edges come before the sum, each behind a hyphen.
    last = done.stdout.rpartition(b"\n")[0].rpartition(b"\n")[2]
    return int(last) if done.status == 0 and last.isdigit() else None
