"""`search-replace`: blocks in prose, with the lines to search for and those to put there.

The marker lines are `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, or `------- SEARCH` and
`+++++++ REPLACE`, of five characters or more. The file is named above a block, or in the line of
its first marker; a block without a name is for the file of the block before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.inputs import text_format

if TYPE_CHECKING:
    from git_boocode.editing.edits import Action

MAX_BAD = 20
"""Malformed blocks after which reading stops."""
OPENING = "<<<<<<< SEARCH"
CLOSING = ">>>>>>> REPLACE"

_OPEN = re.compile(r"([ \t]*)(?:(<{5,}) ?(?:SEARCH|ORIGINAL)\b(.*)|(-{5,}) ?SEARCH(>?)[ \t]*)")
_CLOSE = re.compile(r"[ \t]*(>{5,}|\+{5,}) ?(?:REPLACE|UPDATED)>?[ \t`]*")
_DIVIDER = re.compile(r"([ \t]*)(={5,})[ \t]*")
_NEAR_MISS = re.compile(r"[ \t]*[<-]{2,} ?(?:SEARCH|ORIGINAL)\b.*", re.IGNORECASE)
_HINT = re.compile(r":(start_line|end_line):[ \t]*(?:(\d{1,9})[ \t]*)?")
_RULE = re.compile(r"[ \t]*-{5,}[ \t]*")
_ESCAPED = re.compile(r"^([ \t]*)\\(?=[<>=+-]{5}|:(?:start|end)_line:)", re.M)
_FENCE = re.compile(r"[ \t]*(?:[>*+-][ \t]+)?(?:`{3,}|~{3,})(.*)", re.DOTALL)
_NAME_IT = f"put the path of the file alone on the line above '{OPENING}'"
_MAX_DIVIDERS = 16
"""Lines of a block that are tried as its divider."""
_USUAL = 9
"""A longer line of equals signs is an underline, unless the markers are as long."""


def near_miss(text: str) -> str:
    """Why a text is not of this format; for a near miss, the line that comes near."""
    first = text_format(text)
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.rstrip("\r")
        if _OPEN.fullmatch(bare):
            return f"the first marker line is of the format {first}"
        if _NEAR_MISS.fullmatch(bare):
            return f"line {number} is '{bare.strip()[:60]}', expected '{OPENING}'"
        if _CLOSE.fullmatch(bare):
            return f"line {number} is '{bare.strip()[:60]}', but no '{OPENING}' stands above it"
    return f"no '{OPENING}' line"


def _text_of(item: fields.Object) -> str | None:
    texts = [item.get(name) for name in fields.PATCH]
    return next(
        (text for text in texts if isinstance(text, str) and text_format(text) == "search-replace"),
        None,
    )


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a text: one for each block."""
    if isinstance(item, dict):
        fields.check_switches(item)
        path = fields.text(item, fields.PATH, context.path or "")
        context = context._replace(path=path or None, base=fields.base(item) or context.base)
        text = _text_of(item) or ""
    else:
        text = str(item)
    yield from _Reader(text, context).edits()


class _Block(NamedTuple):
    """A block: the row of its first marker, from 0, and the first row of the text above it."""

    row: int
    opening: re.Match[str]
    above: int

    @property
    def size(self) -> int:
        """The length of its first marker."""
        return len(self.opening[2] or self.opening[4])

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"the block at line {self.row + 1}"


class _Reader:
    """Reads the blocks of one text."""

    def __init__(self, text: str, context: Context) -> None:
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.context = context
        self.path = context.path

    def edits(self) -> Iterator[Edit | Failure]:
        """The blocks in order; one that is wrong comes out as a failure."""
        row = above = bad = 0
        while row < len(self.lines) and bad < MAX_BAD:
            if opening := _OPEN.fullmatch(self.lines[row]):
                yield from self._other_format(above, row)
                block = _Block(row, opening, above)
                try:
                    row = self._closing(block)
                except MissError as miss:
                    self._keep_name(block)
                    yield Failure.of(miss, None, self.path, self.lines[row])
                    bad += 1
                else:
                    yield self._draft(block, row)
                above = row + 1
            elif _CLOSE.fullmatch(self.lines[row]):
                message = f"line {row + 1} is '{CLOSING}', but no block begins above it"
                yield Failure(None, self.path, "invalid_input", message, given=self.lines[row])
                bad += 1
            row += 1
        if bad < MAX_BAD:
            yield from self._other_format(above, len(self.lines))
        else:
            message = f"too many malformed blocks: reading stopped at line {row}"
            yield Failure(None, self.path, "invalid_input", message)

    def _keep_name(self, block: _Block) -> None:
        """Keep the file that a broken block names, for it and for those after it."""
        with suppress(MissError):
            self.path = self._path(block)

    def _other_format(self, first: int, stop: int) -> Iterator[Failure]:
        """An edit of another format between the blocks, which would be ignored silently."""
        other = text_format("\n".join(self.lines[first:stop]))
        if other is not None:
            message = f"between lines {first + 1} and {stop} there is an edit of the format {other}"
            hint = "send edits of different formats as separate inputs, or in one JSON array"
            yield Failure(None, self.path, "invalid_input", message, hint=hint)

    def _closing(self, block: _Block) -> int:
        """The row at which a block closes: by a marker of its own length, if there is one.

        A block that is code of another one has markers of another length.
        """
        other = depth = 0
        for below in range(block.row + 1, len(self.lines)):
            if inner := _OPEN.fullmatch(self.lines[below]):
                if len(inner[2] or inner[4]) == block.size:
                    break
                depth += 1
            elif closing := _CLOSE.fullmatch(self.lines[below]):
                if len(closing[1]) == block.size and other:
                    raise _invalid(
                        f"{block.name} may end at line {other + 1} or at line {below + 1}",
                        "write the markers of one block with the same number of characters",
                    )
                if len(closing[1]) == block.size:
                    return below
                other = other or (0 if depth else below)
                depth = max(0, depth - 1)
        if other:
            return other
        raise _invalid(f"{block.name} has no '{CLOSING}' line of its own")

    def _draft(self, block: _Block, end: int) -> Edit | Failure:
        given: object = "\n".join(self.lines[block.row : end + 1])
        body = self.lines[block.row + 1 : end]
        try:
            if not any(map(_DIVIDER.fullmatch, body)):
                self._keep_name(block)
                raise _invalid(
                    f"{block.name} has no '=======' line between '{OPENING}' and '{CLOSING}'",
                    f"write the lines to find below '{OPENING}', then a line '=======', then the "
                    "lines that replace them",
                )
            path = self.path = self._path(block)
            given = {"path": path, "diff": given}
            action = _action(block, body)
        except MissError as miss:
            return Failure.of(miss, None, self.path, given)
        return Edit(0, path, action, self.context.base, "search-replace", given)

    def _path(self, block: _Block) -> str:
        named = self._named(block)
        if self.context.path is not None:
            if named is not None and _elsewhere(named, self.context.path):
                raise _invalid(
                    f"{block.name} is for '{named}', but 'path' is '{self.context.path}'"
                )
            return self.context.path
        path = named or self._spoken_of(block) or self.path
        if path is None:
            raise _invalid(f"{block.name} names no file", _NAME_IT)
        return path

    def _named(self, block: _Block) -> str | None:
        """The file that the opening line, the fence or the line above names."""
        from git_boocode.editing.formats.filenames import name_in_info, name_in_line

        beside = (block.opening[3] or "").strip().removeprefix(">").strip()
        if beside:
            name = name_in_line(beside)
            if name is None:
                raise _invalid(
                    f"line {block.row + 1} has more than '{OPENING}', which is not a file name"
                )
            return name
        for line in reversed(self.lines[block.above : block.row]):
            fence = _FENCE.fullmatch(line)
            if fence and (name := name_in_info(fence[1])):
                return name
            if line.strip() and not fence:
                return name_in_line(line)
        return None

    def _spoken_of(self, block: _Block) -> str | None:
        """The only file that the prose above a block mentions."""
        from git_boocode.editing.formats.filenames import names_in_prose, path_with_spaces

        above = self.lines[block.above : block.row]
        prose = [line for line in above if not _FENCE.fullmatch(line)]
        names = names_in_prose(prose)
        if len(names) > 1:
            raise _invalid(f"{block.name} may be for {' or '.join(map(repr, names[:5]))}", _NAME_IT)
        if names and (whole := path_with_spaces(prose)) and whole != names[0]:
            raise _invalid(
                f"{block.name} may be for '{whole}' or '{names[0]}'",
                f"put the path in double quotes, alone on the line above '{OPENING}'",
            )
        return names[0] if names else None


def _invalid(message: str, hint: str | None = None) -> MissError:
    return MissError("invalid_input", message, hint=hint)


def _action(block: _Block, body: list[str]) -> Action:
    """What a block does; with several possible dividers, what each of them makes of it."""
    from git_boocode.editing.actions import Replace

    lines, start_line, escaped = _header(_without_margin(body, block.opening[1]))
    splits = [
        Replace(
            _joined(lines[:row], escaped=escaped) if any(map(str.strip, lines[:row])) else "",
            _joined(lines[row + 1 :], escaped=escaped),
            start_line=start_line,
            whole_lines=True,
        )
        for row in _dividers(block, lines)
    ]
    if len(splits) > 1:
        from git_boocode.editing.blocks import Block

        return Block(tuple(splits))
    if not (splits[0].old or splits[0].new):
        raise _invalid(f"{block.name} is empty")
    return splits[0]


def _dividers(block: _Block, body: Sequence[str]) -> list[int]:
    """The rows that may be the divider.

    Above the first one that is as long as the markers, others are code.
    """
    found = [(row, match) for row, line in enumerate(body) if (match := _DIVIDER.fullmatch(line))]
    found = [(row, match) for row, match in found if not match[1]] or found
    sizes = {row: len(match[2]) for row, match in found}
    rows = [row for row, size in sizes.items() if size <= _USUAL or size == block.size] or [*sizes]
    first = next((row for row in rows if sizes[row] == block.size), 0)
    rows = [row for row in rows if row >= first]
    if len(rows) > _MAX_DIVIDERS:
        raise _invalid(
            f"{block.name} has {len(rows)} lines like '======='",
            "send the edit as old_string and new_string",
        )
    return rows


def _header(body: Sequence[str]) -> tuple[Sequence[str], int | None, bool]:
    """The lines below a header with line numbers, its first number, and whether there was one."""
    start_line, row = None, 0
    while row < len(body) and (hint := _HINT.fullmatch(body[row])):
        if hint[1] == "start_line" and start_line is None:
            start_line = int(hint[2] or 0) or None
        row += 1
    if not row:
        return body, None, False
    row += row < len(body) and _RULE.fullmatch(body[row]) is not None
    return body[row:], start_line, True


def _without_margin(body: list[str], margin: str) -> list[str]:
    """The lines without the indentation of the markers, if all lines have it."""
    if not margin or any(line.strip() and not line.startswith(margin) for line in body):
        return body
    return [line[len(margin) :] for line in body]


def _joined(lines: Sequence[str], *, escaped: bool) -> str:
    text = "".join(f"{line}\n" for line in lines)
    # Tools whose blocks have a header put a backslash before lines of code that look like markers.
    return _ESCAPED.sub(r"\1", text) if escaped else text


def _elsewhere(name: str, path: str) -> bool:
    """Whether a line above a block names another file than the one it was sent for."""
    from git_boocode.editing.formats.filenames import is_path

    if not is_path(name):
        return False
    name, path = os.path.normpath(name), os.path.normpath(path)
    return name != path and not path.endswith("/" + name) and not name.endswith("/" + path)
