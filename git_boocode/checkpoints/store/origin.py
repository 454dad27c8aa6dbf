"""Which checkpoints were taken in this repository.

A checkpoint names files outside the repository, such as a transcript, which a callback changes. So
it has to prove where it comes from. Its ref proves nothing: a clone or a mirror brings refs of any
name. The proof is a keyed hash of the commit in its own metadata; the key never leaves the private
directory of the repository. A checkpoint without it, of a remote or of an earlier version, restores
files, but starts no callback.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.durable import read_private, sync, sync_directory
from git_boocode.repo.layout import ORIGIN_KEY
from git_boocode.repo.lock import file_lock
from git_boocode.repo.repository import Repository

_KEY_SIZE = 32  # bytes
_PATIENCE = 10.0
_PROOF = "proof"


def with_proof(
    repository: Repository, tree: str, parents: Sequence[str], values: Mapping[str, Any]
) -> dict[str, Any]:
    """The metadata of a new checkpoint with the proof that it was taken here.

    There is none if the key belongs to another user.
    """
    with suppress(PermissionError):
        key = _key(repository) or _make_key(repository)
        return {**values, _PROOF: _hash(key, tree, parents, values)}
    return dict(values)


def is_taken_here(repository: Repository, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint was taken in this repository, and is unchanged since."""
    commit, values = checkpoint.commit, checkpoint.meta.values
    with suppress(PermissionError):
        key = _key(repository)
        unproven = {name: value for name, value in values.items() if name != _PROOF}
        return (
            key is not None
            and values.get("id") == checkpoint.id
            and values.get(_PROOF) == _hash(key, commit.tree, commit.parents, unproven)
        )
    return False


def _hash(key: bytes, tree: str, parents: Sequence[str], values: Mapping[str, Any]) -> str:
    try:
        # What hashlib uses: loading OpenSSL as well would take longer than the rest.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    text = json.dumps([tree, [*parents], values])
    return str(blake2b(text.encode("ascii"), key=key, digest_size=_KEY_SIZE).hexdigest())


def _key(repository: Repository) -> bytes | None:
    found = read_private(_key_path(repository), largest=_KEY_SIZE)
    return found if found and len(found) == _KEY_SIZE else None


def _make_key(repository: Repository) -> bytes:
    """Store a key, unless another process has just done so."""
    path = _key_path(repository)
    with file_lock(path, patience=_PATIENCE) as descriptor:
        key = _key(repository)
        if key is None:
            key = os.urandom(_KEY_SIZE)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, key, 0)
            sync(descriptor)
            sync_directory(os.path.dirname(path))
    return key


def _key_path(repository: Repository) -> str:
    return os.path.join(repository.common_state_dir, ORIGIN_KEY)
