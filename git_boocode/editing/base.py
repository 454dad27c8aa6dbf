"""The version of a file that an edit was made for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from git_boocode.editing.actions import Create, Delete, Keep, Write, merged_since
from git_boocode.editing.edits import DEFAULT_PROFILE, Edit, How, MissError, Outcome, lines_of
from git_boocode.editing.place import Place
from git_boocode.editing.snapshot import MAX_BYTES
from git_boocode.editing.textfile import Text, decode
from git_boocode.repo.git import batch_bodies

if TYPE_CHECKING:
    from git_boocode.editing.plan import PlannedFile

SHA1_LENGTH = 40
_SHOWN = 12
"""Digits of an id in a message."""
_AGAIN = "read the file again and make the edit for what it holds now"


def outdated_base(edit: Edit, file: PlannedFile, place: Place, profile: str) -> Text | None:
    """The version that an edit names as its base; None if the file still is that version.

    Raises:
        MissError: it is another one, and the repository does not hold it, or edits of this kind or
            with this profile are not merged (`stale`).
    """
    base, before = edit.base, file.before
    if base is None:
        return None
    if before is None:
        if not base.strip("0"):
            return None
        raise MissError(
            "stale",
            f"the file is gone; the edit is for the version {base}",
            hint="look whether it was renamed; to make it anew, leave 'base' out",
        )
    if any(known.startswith(base) for known in _raw_ids(base, before.data)):
        return None
    now = place.clean_blob_id(file.target.path, before.data)
    if now is not None and now.startswith(base):
        return None
    text = _held(base, place)
    whole = isinstance(edit.action, (Write, Create, Delete, Keep))
    if text is None or text.is_raw or whole or profile != DEFAULT_PROFILE:
        now = now or _blob_id("sha1" if len(base) <= SHA1_LENGTH else "sha256", before.data)
        unknown = "" if text else ", a version that the repository does not hold"
        raise MissError(
            "stale",
            f"the file has changed: it is {now}, and the edit is for {base}{unknown}",
            hint=_AGAIN,
        )
    return text


def merged_outcome(edit: Edit, base: Text, text: Text, how: How) -> tuple[Outcome, Text]:
    """Make an edit in an older version and merge it three-way into the file's text.

    Returns the outcome, and the older version after the edit, which is the base of the next one.

    Raises:
        MissError: the two have no clean merge, or the older version does not have the old text
            (`stale`); the file has the change (`already_applied`).
    """
    from git_boocode.matching import MatchError
    from git_boocode.matching.text import Text as Lines
    from git_boocode.matching.three_way import merge_edit

    shown = (edit.base or "")[:_SHOWN]
    try:
        made = edit.action.apply(base, how)
    except MissError as miss:
        message = f"the file has changed since {shown}, and in that version: {miss.message}"
        raise MissError("stale", message, hint=_AGAIN) from None
    landing = made.landing
    edited = base if made.text is None else made.text
    rows = [(landing.start_line - 1, landing.end_line)]
    try:
        merge = merge_edit(Lines(text.text), base.text, edited.text, rows)
    except MatchError as error:
        near, message = error.candidates[0], error.message
        if error.code == "stale":
            message = f"{lines_of(near.start_line, near.end_line)} changed since {shown}"
        lines = (near.start_line,)
        raise MissError(error.code, message, lines=lines, candidates=error.candidates) from None
    (first, stop), notes = merge.rows[0], (merged_since(shown), *landing.notes)
    landing = landing._replace(
        kind="fuzzy", rung="merged", start_line=first + 1, end_line=stop, notes=notes
    )
    return made._replace(text=text._replace(text=merge.content), landing=landing), edited


def _held(base: str, place: Place) -> Text | None:
    """The text of a blob, by its id or the unique beginning of it; None if there is none."""
    if place.repository is None:
        return None
    request = os.fsencode(f"{base}^{{blob}}\n")
    git = place.repository.git
    found = git.attempt("cat-file", "--batch-check", stdin=request).stdout.split(b" ")
    sized = len(found) == 3 and found[1] == b"blob" and int(found[2]) <= MAX_BYTES
    if not sized or not os.fsdecode(found[0]).startswith(base):
        return None
    output = git.attempt("cat-file", "--batch", stdin=found[0] + b"\n").stdout
    data = next(batch_bodies(output, b"blob"), None)
    return None if data is None else decode(data)


def _raw_ids(base: str, data: bytes) -> list[str]:
    names = ["sha1", "sha256"] if len(base) <= SHA1_LENGTH else ["sha256"]
    return [_blob_id(name, data) for name in names]


def _blob_id(algorithm: str, data: bytes) -> str:
    import hashlib

    digest = hashlib.new(algorithm, f"blob {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()
