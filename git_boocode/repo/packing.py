"""Pack refs once there are very many: each that is loose is a file, which git opens by itself."""

from __future__ import annotations

import os

from git_boocode.repo.durable import sync_refs
from git_boocode.repo.repository import Repository

# More than are kept of any kind by default, so that most repositories never come to it.
MANY = 2_500


def pack_many_refs(repository: Repository) -> None:
    """Pack the refs of a repository if very many of ours are loose.

    Git packs all refs or none but tags, as `git gc` does; so it is left to the user where
    `gc.auto` or `gc.packRefs` says that git itself shall not do it unasked.

    Args:
        repository: where they are.
    """
    if _count_loose(repository) > MANY and _may_be_packed(repository):
        # If another process is at it, that one does the work.
        repository.git.attempt("pack-refs", "--all", "--prune")
        sync_refs(repository.common_dir, (), packed=True)


def _count_loose(repository: Repository) -> int:
    below = os.path.join(repository.common_dir, "refs", "boocode")
    return sum(len(files) for _, _, files in os.walk(below))


def _may_be_packed(repository: Repository) -> bool:
    git = repository.git.without("gc.auto")
    auto = git.attempt("config", "--type=int", "--default=1", "--get", "gc.auto")
    pack = git.attempt("config", "--default=true", "--get", "gc.packRefs")
    if auto.status or pack.status or int(auto.stdout) <= 0:
        return False
    return pack.stdout.strip().lower() not in (b"false", b"no", b"off", b"0", b"")
