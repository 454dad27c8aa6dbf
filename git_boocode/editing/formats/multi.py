"""`multi`: several edits in an array, of any format each, for one file or for many."""

from __future__ import annotations

import os
from collections.abc import Iterator

from git_boocode.editing.edits import Failure, MissError
from git_boocode.editing.formats import Context, Draft, fields, read_item
from git_boocode.editing.jsonread import MAX_DEPTH, too_deep


def mismatch(item: object) -> str | None:
    """See `formats.Format`."""
    if isinstance(item, list):
        return None
    if not isinstance(item, dict):
        return f"{fields.kind_of(item, top=True)} instead of an array or an object"
    return None if fields.has(item, fields.EDITS) else "no 'edits'"


def drafts(item: object, context: Context) -> Iterator[Draft | Failure]:
    """See `formats.Format`."""
    if context.depth >= MAX_DEPTH:
        # The calls inside envelopes are JSON of their own, each as deep as JSON may be.
        too_deep()
    edits = item if isinstance(item, list) else _edits(item)
    if not edits:
        raise MissError("invalid_input", "the array of edits is empty")
    inner = context if isinstance(item, list) else _inside(item, context)
    for edit in edits:
        yield from _one(edit, inner._replace(depth=context.depth + 1))


def _edits(item: object) -> list[object]:
    assert isinstance(item, dict)
    fields.check_switches(item)
    name = next(name for name in fields.EDITS if item.get(name) is not None)
    edits = fields.array(item[name])
    if not isinstance(edits, list):
        raise MissError("invalid_input", f"'{name}' is {fields.kind_of(edits)}; expected an array")
    return edits


def _inside(item: object, context: Context) -> Context:
    assert isinstance(item, dict)
    path = fields.text(item, fields.PATH, context.path or "")
    return Context(path or None, fields.base(item) or context.base)


def _one(edit: object, context: Context) -> Iterator[Draft | Failure]:
    for draft in read_item(edit, context):
        if isinstance(draft, Draft) and _elsewhere(draft.path, context.path):
            message = f"'path' is '{draft.path}', but the edits around it are for '{context.path}'"
            yield Failure(None, draft.path, "invalid_input", message, given=draft.given)
        else:
            yield draft


def _elsewhere(path: str, outer: str | None) -> bool:
    return outer is not None and os.path.normpath(path) != os.path.normpath(outer)
