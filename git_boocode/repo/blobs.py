"""The contents of blobs, many with one git."""

from __future__ import annotations

from collections.abc import Sequence

from git_boocode.repo.git import Git


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
    found: list[bytes | None] = []
    position = 0
    for _ in ids:
        end = output.index(b"\n", position)
        header = output[position:end].split(b" ")
        position = end + 1
        if len(header) != 3:
            found.append(None)
            continue
        size = int(header[2])
        body = output[position : position + size]
        position += size + 1
        found.append(body if header[1] == b"blob" else None)
    return found
