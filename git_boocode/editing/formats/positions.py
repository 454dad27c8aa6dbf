"""JSON with positions, another spelling of the format `lines`.

`{"path","edits":[{"op":"replace|append|prepend","pos","end"?,"lines"}],"delete"?,"rename"?}`, or
the older `{"path","edits":[{"set_line":{"anchor","new_text"}},{"replace_lines":{"start_anchor",
"end_anchor","new_text"}},{"insert_after":{"anchor","text"}}]}`. A position is the number of a line
in version `base`, or the number and that version, as in `12#1f0c9a7b3d42`.

In the tools that made this format, a position has a hash of the line instead, as in `12#VK`. It is
refused: it is of one line, every tool computes it in another way, and names no version, so that a
line that fits may be another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_boocode.editing.actions import Delete, Keep
from git_boocode.editing.edits import Edit, Failure
from git_boocode.editing.formats import Context, objects
from git_boocode.editing.formats.objects import invalid, missing_base, read_it
from git_boocode.editing.line_changes import LineChange, LineChanges
from git_boocode.repo.errors import shortened

_AROUND = (*objects.PATH, *objects.EDITS, *objects.RENAME, "delete", "base")
_NESTED = {
    "set_line": ("replace", ("anchor", "", "new_text")),
    "replace_lines": ("replace", ("start_anchor", "end_anchor", "new_text")),
    "insert_after": ("append", ("anchor", "", "text")),
    "insert_before": ("prepend", ("anchor", "", "text")),
}
"""The operations of the older JSON: what they do, and their keys for start, end and lines."""
_POSITION = re.compile(r"[ \t]*(\d+)(?:[ \t]*[#:][ \t]*(\S+))?[ \t]*")
_VERSION = re.compile(r"[0-9a-fA-F]{7,64}")


def edits(item: objects.Object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of an object with operations at positions, or with one operation."""
    objects.check_switches(item)
    context = objects.enclosed(item, context)
    path = objects.text(item, objects.PATH, context.path)
    name = objects.key_of(item, objects.EDITS)
    entries = _operations(item, name)
    objects.check_count(entries)
    reader = _PositionReader(path, context.base)
    changes = tuple(
        reader.change(entry, f"{name}[{at}]." if name else "") for at, entry in enumerate(entries)
    )
    to, removes = objects.text(item, objects.RENAME, ""), objects.flag(item, ("delete",))
    if removes and (changes or to):
        raise invalid("'delete' deletes the whole file, so there can be no 'edits' or 'rename'")
    if not (changes or to or removes):
        raise invalid("the array of edits is empty")
    version = reader.version()
    if changes:
        yield Edit(0, path, LineChanges(changes), version, "lines", item)
    if removes:
        yield Edit(0, path, Delete(), version, "lines", item)
    if to:
        yield Edit(0, path, Keep(), version, "lines", item, to)


def _operations(item: objects.Object, name: str | None) -> list[object]:
    """The operations at positions; without one, the keys must be for the whole file."""
    if name and item[name]:
        return objects.array(item[name], name)
    if not name and objects.has_position(item):
        return [item]
    for key, value in item.items():
        if key not in _AROUND and objects.is_partial(key, value):
            message = f"'delete' and 'rename' are for the whole file, but '{key}' is for a part"
            raise invalid(message, 'to delete lines, send start_line, end_line and "content": []')
    return []


class _PositionReader:
    """Reads operations, whose positions are numbers, or numbers with the version of the file."""

    def __init__(self, path: str, base: str | None) -> None:
        self.path, self.base = path, base

    def version(self) -> str:
        """The version that the positions are for."""
        if self.base is None:
            raise missing_base(self.path)
        return self.base

    def change(self, entry: object, where: str) -> LineChange:
        """Parse one operation; `where` is its place in the object, for messages."""
        if not isinstance(entry, dict) or not objects.has_position(entry):
            shown = where.rstrip(".") or "it"
            raise invalid(f"'{shown}' is not an operation with 'op' and 'pos', unlike the others")
        op, keys, values = str(entry.get("op")), ("pos", "end", "lines"), entry
        for name, (plain, nested) in _NESTED.items():
            if isinstance(entry.get(name), dict):
                objects.check_keys(entry, (name, *(_AROUND if not where else ())))
                op, keys, values, where = plain, nested, entry[name], f"{where}{name}."
        if op not in objects.OPS:
            expected = ", ".join(objects.OPS)
            raise invalid(f"'{where}op' is '{shortened(op)}'; expected one of {expected}")
        around = ("op", *(_AROUND if not where else ())) if values is entry else ()
        objects.check_keys(values, (*filter(None, keys), *around))
        start, end = (self._number(values, key, where) for key in keys[:2])
        if keys[2] not in values:
            raise invalid(f"'{where}{keys[2]}' is missing; expected an array of lines")
        content = tuple(objects.lines(values, keys[2], where + keys[2]) or ())
        if op == "replace":
            return _replaced(start, end, content, where + keys[0])
        if not content:
            raise invalid(f"'{where}{keys[2]}' is empty, so there is nothing to insert")
        return _inserted(op, start, end, content)

    def _number(self, values: objects.Object, key: str, where: str) -> int | None:
        value = values.get(key) if key else None
        if value is None:
            return None
        found = _POSITION.fullmatch(str(value)) if type(value) in (int, str) else None
        if found is None or not 0 < len(found[1]) <= objects.MAX_DIGITS or not int(found[1]):
            shown = shortened(str(value))
            raise invalid(f"'{where}{key}' is '{shown}'; expected the number of a line, from 1")
        if tag := found[2]:
            if not _VERSION.fullmatch(tag):
                message = f"'{where}{key}' is '{value:.40}': the hash of a line names no version"
                raise invalid(message, f"send the number alone, and 'base'; {read_it(self.path)}")
            if self.base and self.base != tag.lower():
                raise invalid(f"'{where}{key}' is for version {tag}, others for {self.base}")
            self.base = tag.lower()
        return int(found[1])


def _replaced(
    start: int | None, end: int | None, content: tuple[str, ...], what: str
) -> LineChange:
    """The replacement of a line or of a range."""
    if start is None:
        raise invalid(f"'{what}' is missing; expected the number of a line")
    if end is not None and end < start:
        raise invalid(f"'{what}' is {start}, but the range ends above it, at line {end}")
    return LineChange(start, end or start, content)


def _inserted(op: str, start: int | None, end: int | None, content: tuple[str, ...]) -> LineChange:
    """The insertion of lines after a line, or before it; without one, at an end of the file."""
    line = (end or start) if op == "append" else (start or end or 1)
    if line is None:
        return LineChange(None, 0, content)
    line += op == "append"
    return LineChange(line, line - 1, content)
