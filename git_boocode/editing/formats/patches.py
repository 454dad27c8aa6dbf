"""What the formats of patches share: the text of a patch in whatever it is wrapped."""

from __future__ import annotations

import re
from typing import NamedTuple

from git_boocode.editing.edits import MissError
from git_boocode.editing.formats import fields

LINES = fields.PATCH_LINES
MAX_HUNKS = 10_000
"""So many hunks may a patch of one file have."""
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)", re.DOTALL)


class Fence(NamedTuple):
    """An open code fence: its indentation and its marks."""

    indent: str
    marks: str

    def is_closed_by(self, line: str) -> bool:
        """Whether a line closes it: as far indented, as many marks or more, nothing else.

        A line of a hunk has a character before its own text, so that it is further indented.
        """
        bare = line.rstrip()
        body = bare[len(self.indent) :]
        return (
            bare.startswith(self.indent)
            and len(body) >= len(self.marks)
            and not body.strip(self.marks[0])
        )


def opened_fence(line: str) -> Fence | None:
    """The fence that a line opens, or None."""
    found = _FENCE.fullmatch(line.rstrip())
    return None if found is None or "`" in found[3] else Fence(found[1], found[2])


def patch_text(item: object, names: tuple[str, ...] = fields.PATCH) -> str | None:
    """The patch that an item holds, None if it has no place for one.

    Args:
        item: text, or an object that has it under one of some names, or as `patch_lines`.
        names: the names.

    Raises:
        MissError: it is of another type (`invalid_input`).
    """
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return None
    if fields.has(item, LINES):
        return _flattened(item)
    return fields.text(item, names) if fields.has(item, names) else None


def flattened_notes(item: object) -> tuple[str, ...]:
    """What to tell of entries of `patch_lines` that hold several lines each."""
    if not isinstance(item, dict) or not fields.has(item, LINES):
        return ()
    entries = next(item[name] for name in LINES if item.get(name) is not None)
    count = sum("\n" in entry.rstrip("\r\n") for entry in entries)
    if not count:
        return ()
    what = "an entry" if count == 1 else f"{count} entries"
    return (f"{what} of patch_lines with line breaks flattened",)


def check_hunks(count: int) -> None:
    """Refuse more hunks for one file than can be placed in good time.

    Raises:
        MissError: there are more (`invalid_input`).
    """
    if count > MAX_HUNKS:
        raise MissError(
            "invalid_input",
            f"the patch of one file has {count} hunks; at most {MAX_HUNKS} are read",
            hint="send the whole file as {path, content}",
        )


def peeked(item: object, names: tuple[str, ...] = fields.PATCH) -> str | None:
    """As `patch_text`, with None for what is of another type."""
    try:
        return patch_text(item, names)
    except MissError:
        return None


def _flattened(item: fields.Object) -> str:
    name = next(name for name in LINES if item.get(name) is not None)
    entries = item[name]
    if not isinstance(entries, list):
        raise MissError(
            "invalid_input", f"'{name}' is {fields.kind_of(entries)}; expected an array"
        )
    lines = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, str):
            kind = fields.kind_of(entry)
            raise MissError(
                "invalid_input", f"entry {number} of '{name}' is {kind}; expected a string"
            )
        lines.append(entry.replace("\r\n", "\n").removesuffix("\n"))
    return "".join(f"{line}\n" for line in lines)


def patch_lines(text: str) -> list[str]:
    """The lines of a patch without their line feeds.

    Carriage returns go too if the lines that are the patch's own have them: the whole text was
    converted. Else they belong to the file.
    """
    lines = text.removesuffix("\n").split("\n")
    own = [line for line in lines if _OWN.match(line)]
    if own and all(line.endswith("\r") for line in own):
        lines = [line.removesuffix("\r") for line in lines]
    return lines


_OWN = re.compile(
    r"(?:@@|diff --git |--- \S|\+\+\+ \S|\*\*\* (?:Begin|End) Patch|\*\*\* (?:Add|Update|Delete) )"
)
