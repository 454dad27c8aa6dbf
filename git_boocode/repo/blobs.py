"""The contents of blobs, many with one git, and their ids."""

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


def blob_ids(data: bytes) -> list[str]:
    """The ids of a git blob, by SHA-1 and by SHA-256."""
    from hashlib import sha1, sha256

    # Git's ids are names here, not a safeguard.
    blob = b"blob %d\0%b" % (len(data), data)
    return [made(blob, usedforsecurity=False).hexdigest() for made in (sha1, sha256)]
