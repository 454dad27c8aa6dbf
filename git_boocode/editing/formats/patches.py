"""What the formats of patches share: the text of a patch in whatever it is wrapped."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from git_boocode.editing.edits import MissError
from git_boocode.editing.formats import fields

MAX_HUNKS = 10_000
"""At most this many hunks are read for one file."""
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


def patch_text(item: object) -> str | None:
    """The patch that an item holds, as text or under a name; None if it has no place for one.

    Raises:
        MissError: it is of another type (`invalid_input`).
    """
    if not isinstance(item, dict):
        return item if isinstance(item, str) else None
    if not fields.has(item, fields.PATCH_LINES):
        return fields.text(item, fields.PATCH) if fields.has(item, fields.PATCH) else None
    name = next(name for name in fields.PATCH_LINES if item.get(name) is not None)
    return "".join(f"{line}\n" for line in fields.lines(item, name, name) or ())


def peeked(item: object) -> str | None:
    """As `patch_text`, with None for what is of another type."""
    try:
        return patch_text(item)
    except MissError:
        return None


def flattened_notes(item: object) -> tuple[str, ...]:
    """The note on entries of `patch_lines` that hold several lines each."""
    if not isinstance(item, dict) or not fields.has(item, fields.PATCH_LINES):
        return ()
    entries = next(item[name] for name in fields.PATCH_LINES if item.get(name) is not None)
    entries = entries if isinstance(entries, list) else []
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


def invalid(row: int, message: str, hint: str | None = None) -> NoReturn:
    """Refuse a line of a patch, counted from 1."""
    raise MissError("invalid_input", f"line {row} of the patch: {message}", hint=hint)


def patch_lines(text: str) -> list[str]:
    """The lines of a patch without their line feeds.

    Carriage returns go too if all lines that name files or open hunks have them. Else they belong
    to the lines of the file.
    """
    lines = text.removesuffix("\n").split("\n")
    own = [line for line in lines if _OWN.match(line)]
    if own and all(line.endswith("\r") for line in own):
        lines = [line.removesuffix("\r") for line in lines]
    return lines


_OWN = re.compile(
    r"(?:@@|diff --git |--- \S|\+\+\+ \S|\*\*\* (?:Begin|End) Patch|\*\*\* (?:Add|Update|Delete) )"
)
