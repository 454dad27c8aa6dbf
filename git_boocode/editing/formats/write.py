"""`write`: a file's path and all of its content."""

from __future__ import annotations

from collections.abc import Iterator

from git_boocode.editing.actions import Write
from git_boocode.editing.edits import Failure, MissError
from git_boocode.editing.formats import Context, Draft, fields

_LAZY = ("code_edit", "code")
"""What some tools call a text that leaves code out, for a second model to merge in."""
_OF_A_PART = (
    *fields.INSERT_LINE, *fields.START_LINE, "line", "end_line", "endLine", "start", "end", "range",
)  # fmt: skip
_APPENDS = ("append", "a", "insert", "prepend")


def mismatch(item: object) -> str | None:
    """See `formats.Format`."""
    if not isinstance(item, dict):
        return f"{fields.kind_of(item, top=True)} instead of an object"
    if isinstance(item.get("command"), str):
        return "it has a 'command'"
    if isinstance(item.get("start"), (list, str)):
        return "it has a 'start'"
    if fields.has(item, fields.CONTENT) or fields.has(item, _LAZY):
        return None
    return "no 'content'"


def drafts(item: object, context: Context) -> Iterator[Draft | Failure]:
    """See `formats.Format`."""
    assert isinstance(item, dict)
    _check_whole(item)
    path = fields.text(item, fields.PATH, context.path)
    content = fields.text(item, fields.CONTENT)
    yield Draft(path, Write(content), fields.base(item) or context.base, "write", item)


def _check_whole(item: dict[str, object]) -> None:
    """Refuse what is meant for a part of the file: writing it would throw the rest away."""
    fields.check_switches(item)
    for name in _LAZY:
        if item.get(name) is not None:
            raise MissError(
                "invalid_input",
                f"'{name}' may leave code out, and nothing here can merge that in",
                hint="send old_string and new_string, or the whole file as content",
            )
    part = [name for name in _OF_A_PART if item.get(name) is not None]
    part += ["append"] if item.get("append") is True else []
    part += ["mode"] if item.get("mode") in _APPENDS else []
    if part:
        raise MissError(
            "invalid_input",
            f"'content' is for the whole file, but '{part[0]}' speaks of a part of it",
            hint="to insert lines, send insert_line and insert_text; to change some, old_string "
            "and new_string",
        )
