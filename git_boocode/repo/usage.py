"""What refs hold on disk that nothing else does."""

from __future__ import annotations

from collections.abc import Collection

from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, Store


def disk_usage(repository: Repository, store: Store, going: Collection[Ref]) -> int | None:
    """The bytes of the objects that only some refs reach, compressed as they are on disk.

    What only a reflog, an index or a detached HEAD reaches besides counts as kept. The figure is a
    little too high where a file was once committed, changed, and is back as it was then: git looks
    at the ends of what is kept, not through all of its history.

    Args:
        repository: the repository.
        store: knows all refs.
        going: the refs; they may be deleted already.

    Returns:
        None if git cannot tell, because objects are missing.
    """
    if not going:
        return 0
    names = {ref.name for ref in going}
    kept = {ref.target for ref in store.refs("refs/") if ref.name not in names}
    request = [ref.target for ref in going] + [f"^{target}" for target in kept]
    done = repository.git.attempt(
        "rev-list",
        "--objects-edge-aggressive",
        "--disk-usage",
        "--missing=allow-any",
        "--ignore-missing",
        "--stdin",
        "--not",
        # Only HEAD of each worktree: the refs are given above.
        "--exclude=refs/*",
        "--all",
        "--reflog",
        "--indexed-objects",
        stdin="".join(f"{line}\n" for line in request).encode(),
    )
    # Before the sum stand the edges, each behind a hyphen.
    last = done.stdout.rpartition(b"\n")[0].rpartition(b"\n")[2]
    return int(last) if done.status == 0 and last.isdigit() else None
