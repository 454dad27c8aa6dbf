"""Whether a file is still the blob that the model saw."""

from __future__ import annotations

from git_boocode.editing.edits import MissError
from git_boocode.editing.place import Place, Target
from git_boocode.editing.snapshot import Snapshot

SHA1_LENGTH = 40


def check_base(base: str | None, before: Snapshot | None, target: Target, place: Place) -> None:
    """Refuse an edit that was made for another version of the file.

    Args:
        base: the id that the edit names, full or abbreviated; only zeros for a file that must not
            exist; None accepts every version.
        before: the file as it is, None if there is none.
        target: where it is.
        place: knows how git would convert it.

    Raises:
        MissError: the file is another one (`stale`).
    """
    if base is None:
        return
    if before is None:
        if base.strip("0"):
            raise MissError(
                "stale",
                f"the file is gone; the edit is for the version {base}",
                hint="look whether it was renamed; to make it anew, leave 'base' out",
            )
        return
    if not any(known.startswith(base) for known in _raw_ids(base, before.data)):
        _check_clean_id(base, before, target, place)


def _check_clean_id(base: str, before: Snapshot, target: Target, place: Place) -> None:
    clean = place.clean_blob_id(target.path, before.data)
    if clean is not None and clean.startswith(base):
        return
    now = clean or _blob_id("sha1" if len(base) <= SHA1_LENGTH else "sha256", before.data)
    raise MissError(
        "stale",
        f"the file has changed: it is {now}, and the edit is for {base}",
        hint="read the file again and make the edit for what it holds now",
    )


def _raw_ids(base: str, data: bytes) -> list[str]:
    names = ["sha1", "sha256"] if len(base) <= SHA1_LENGTH else ["sha256"]
    return [_blob_id(name, data) for name in names]


def _blob_id(algorithm: str, data: bytes) -> str:
    import hashlib

    digest = hashlib.new(algorithm, f"blob {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()
