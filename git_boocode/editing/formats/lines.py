"""Parse the format `lines`: changes of lines by their numbers in a version of the file.

Hashline is another spelling of it: a text (`hashline`), or JSON with positions (`positions`).
"""

from __future__ import annotations

from collections.abc import Iterator

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import Context
from git_boocode.editing.formats.objects import (
    AFTER_LINE,
    BEFORE_LINE,
    END_LINE,
    OLD,
    PATH,
    RENAME,
    START_LINE,
    Object,
    base,
    change_formats,
    changes,
    check_keys,
    check_switches,
    invalid,
    is_partial,
    is_positioned,
    key_of,
    kind_of,
    lines,
    missing_base,
    number,
    text,
)
from git_boocode.editing.line_changes import LineChange, LineChanges

_PLACES = (START_LINE, AFTER_LINE, BEFORE_LINE)
_FOREIGN = (*OLD, "start", "end")
"""Keys of the formats that search for text."""
_CHANGE = (*START_LINE, *END_LINE, *AFTER_LINE, *BEFORE_LINE, "content")


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """Changes of one file, and the version in which their line numbers count; or hashline."""
    if isinstance(item, dict) and change_formats(item)[1]:
        yield _edit(item, context)
    elif isinstance(item, dict) and is_positioned(item):
        from git_boocode.editing.formats import positions

        yield from positions.edits(item, context)
    else:
        from git_boocode.editing.formats import hashline

        yield from hashline.edits(item, context)


def _edit(item: Object, context: Context) -> Edit:
    check_switches(item)
    path = text(item, PATH, context.path)
    version = base(item, path) or context.base
    if version is None:
        raise missing_base(path)
    _check_around(item)
    action = LineChanges(changes(item, _change))
    return Edit(0, path, action, version, "lines", item)


def _check_around(item: Object) -> None:
    """Refuse what would be ignored beside `changes`."""
    for name, value in item.items():
        if item.get("changes") is None or not value or name in (*PATH, "base", "changes"):
            continue
        if name in (*RENAME, "delete", "remove") or is_partial(name, value):
            message = f"'{name}' is beside 'changes', which has the changes of lines"
            raise invalid(message, "send it as another edit, or leave it out")


def _change(change: object, where: str) -> LineChange:
    try:
        if not isinstance(change, dict):
            raise invalid(f"it is {kind_of(change)}; expected an object")
        return _parsed(change, () if where else (*PATH, "base"))
    except MissError as miss:
        raise miss.reworded(f"{where}: {miss.message}" if where else miss.message) from None


def _parsed(change: Object, around: tuple[str, ...]) -> LineChange:
    if name := key_of(change, _FOREIGN):
        raise invalid(f"'{name}' is text to find, but line numbers name the place")
    check_keys(change, (*_CHANGE, *around))
    first, last = _place(change)
    content = lines(change, "content", "content")
    if content is None:
        raise invalid("'content' is missing; expected the new lines, or [] to delete")
    if not content and last < first:
        raise invalid("'content' is empty, but inserts lines; for an empty line send [\"\"]")
    return LineChange(first, last, tuple(content))


def _place(change: Object) -> tuple[int, int]:
    start, before = number(change, START_LINE, 1), number(change, BEFORE_LINE, 1)
    after, end = number(change, AFTER_LINE, 0), number(change, END_LINE, 1)
    if [start, before, after].count(None) != 2:
        found = " and ".join(name for names in _PLACES if (name := key_of(change, names)))
        what = f"it has {found}" if found else "the line number is missing"
        raise invalid(f"{what}; expected one of start_line, after_line and before_line")
    if start is None and end is not None:
        raise invalid("'end_line' needs 'start_line'; after_line and before_line only insert")
    if start is not None:
        if end is not None and end < start:
            raise invalid(f"'end_line' is {end}, but 'start_line' is {start}")
        return start, start if end is None else end
    first = (after or 0) + 1 if before is None else before
    return first, first - 1
