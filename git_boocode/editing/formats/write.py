"""`write`: a file's path and all of its content."""

from __future__ import annotations

from collections.abc import Iterator

from git_boocode.editing.actions import Write
from git_boocode.editing.edits import Failure
from git_boocode.editing.formats import Context, Draft, fields


def mismatch(item: object) -> str | None:
    """See `formats.Format`."""
    if not isinstance(item, dict):
        return f"{fields.kind_of(item, top=True)} instead of an object"
    return None if fields.has(item, ("content",)) else "no 'content'"


def drafts(item: object, context: Context) -> Iterator[Draft | Failure]:
    """See `formats.Format`."""
    assert isinstance(item, dict)
    path = fields.text(item, fields.PATH, context.path)
    content = fields.text(item, ("content",))
    yield Draft(path, Write(content), fields.base(item) or context.base, "write", item)
