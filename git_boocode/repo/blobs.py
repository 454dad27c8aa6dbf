"""The contents of blobs, many with one git."""

from __future__ import annotations

from collections.abc import Sequence

from git_boocode.repo.git import Git, batch_bodies


def read_blobs(git: Git, ids: Sequence[str]) -> list[bytes | None]:
    """The bytes of blobs, in the order asked for; None for what is missing or is no blob.

    Args:
        git: git for our own work.
        ids: their full ids.

    Raises:
        GitError: an object is damaged.
    """
    if not ids:
        return []
    output = git.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in ids).encode())
    return list(batch_bodies(output, b"blob"))
