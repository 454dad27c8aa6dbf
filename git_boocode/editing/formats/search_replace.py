"""`search-replace`: blocks in prose, with the lines to search for and those to put there.

The marker lines are `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, or `------- SEARCH` and
`+++++++ REPLACE`, of five to nine characters. A block's file stands above it, or in the line of
its first marker; a block without one is for the file of the block before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.formats.marks import text_format

if TYPE_CHECKING:
    from git_boocode.editing.edits import Action

MAX_BAD = 20
"""After so many malformed blocks a text is not read on."""
OPENING = "<<<<<<< SEARCH"
CLOSING = ">>>>>>> REPLACE"

_OPEN = re.compile(r"([ \t]*)(?:(<{5,9}) ?(?:SEARCH|ORIGINAL)\b(.*)|(-{5,9}) ?SEARCH(>?)[ \t]*)")
_CLOSE = re.compile(r"[ \t]*(>{5,9}|\+{5,9}) ?(?:REPLACE|UPDATED)>?[ \t`]*")
_DIVIDER = re.compile(r"([ \t]*)={5,9}[ \t]*")
_NEAR_MISS = re.compile(r"[ \t]*[<-]{2,} ?(?:SEARCH|ORIGINAL)\b.*", re.IGNORECASE)
_HINT = re.compile(r":(start_line|end_line):[ \t]*(?:(\d{1,9})[ \t]*)?")
_RULE = re.compile(r"[ \t]*-{5,9}[ \t]*")
_ESCAPED = re.compile(r"^([ \t]*)\\(?=[<>=+-]{5}|:(?:start|end)_line:)", re.M)
_FENCE = re.compile(r"[ \t]*(?:[>*+-][ \t]+)?(?:`{3,}|~{3,})(.*)", re.DOTALL)
_MAX_DIVIDERS = 16
"""More lines like the divider in one block are not tried one by one."""


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
    """A block as it stands in the input; rows from 0, `end` that of the closing line."""

    row: int
    end: int


class _Reader:
    """Reads the blocks of one text."""

    def __init__(self, text: str, context: Context) -> None:
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.context = context
        self.path = context.path

    def edits(self) -> Iterator[Edit | Failure]:
        """The blocks in order; one that is wrong comes out as a failure."""
        row = above = bad = 0
        while row < len(self.lines):
            opening = _OPEN.fullmatch(self.lines[row])
            if opening is None:
                if _CLOSE.fullmatch(self.lines[row]):
                    yield self._stray(row)
                    bad += 1
                row += 1
                if bad >= MAX_BAD:
                    yield self._given_up(row)
                    return
                continue
            yield from self._other_format(above, row)
            try:
                block = _Block(row, self._closing(row, opening))
            except MissError as miss:
                self._note_name(_Block(row, row), opening, above)
                yield Failure.of(miss, None, self.path, self.lines[row])
                row += 1
                bad += 1
                if bad >= MAX_BAD:
                    yield self._given_up(row)
                    return
            else:
                yield self._draft(block, opening, above)
                row = block.end + 1
            above = row
        yield from self._other_format(above, len(self.lines))

    def _note_name(self, block: _Block, opening: re.Match[str], above: int) -> None:
        """Keep the file that a broken block names, for it and for those after it."""
        try:
            self.path = self._path(block, opening, above)
        except MissError:
            return

    def _given_up(self, row: int) -> Failure:
        message = f"so many blocks are malformed that reading stopped at line {row}"
        return Failure(None, self.path, "invalid_input", message)

    def _stray(self, row: int) -> Failure:
        message = f"line {row + 1} is '{CLOSING}', but no block begins above it"
        return Failure(None, self.path, "invalid_input", message, given=self.lines[row])

    def _other_format(self, first: int, stop: int) -> Iterator[Failure]:
        """What would be passed over in silence: an edit of another format between the blocks."""
        other = text_format("\n".join(self.lines[first:stop]))
        if other is not None:
            message = f"between lines {first + 1} and {stop} stands an edit of the format {other}"
            hint = "send edits of different formats as separate inputs, or in one JSON array"
            yield Failure(None, self.path, "invalid_input", message, hint=hint)

    def _closing(self, row: int, opening: re.Match[str]) -> int:
        """The row at which a block closes: by a marker of its own length, if there is one.

        A block that is code of another one has markers of another length.
        """
        size = len(opening[2] or opening[4])
        other = depth = 0
        for below in range(row + 1, len(self.lines)):
            line = self.lines[below]
            if inner := _OPEN.fullmatch(line):
                if len(inner[2] or inner[4]) == size:
                    break
                depth += 1
            elif closing := _CLOSE.fullmatch(line):
                if len(closing[1]) == size:
                    return self._settled(row, below, other)
                other = other or (0 if depth else below)
                depth = max(0, depth - 1)
        if other:
            return other
        raise MissError(
            "invalid_input", f"the block at line {row + 1} has no '{CLOSING}' line of its own"
        )

    def _settled(self, row: int, below: int, other: int) -> int:
        if other:
            raise MissError(
                "invalid_input",
                f"the block at line {row + 1} may end at line {other + 1} or at line {below + 1}",
                hint="write the markers of one block with the same number of characters",
            )
        return below

    def _draft(self, block: _Block, opening: re.Match[str], above: int) -> Edit | Failure:
        given: object = "\n".join(self.lines[block.row : block.end + 1])
        try:
            self._check_divided(block, opening, above)
            path = self.path = self._path(block, opening, above)
            given = {"path": path, "diff": given}
            action = self._action(block, opening)
        except MissError as miss:
            return Failure.of(miss, None, self.path, given)
        return Edit(0, path, action, self.context.base, "search-replace", given)

    def _action(self, block: _Block, opening: re.Match[str]) -> Action:
        from git_boocode.editing.actions import Replace

        body = _without_margin(self.lines[block.row + 1 : block.end], opening[1])
        lines, start_line, escaped = _header(body)
        splits = [
            Replace(
                _joined(lines[:row], escaped=escaped) if any(map(str.strip, lines[:row])) else "",
                _joined(lines[row + 1 :], escaped=escaped),
                start_line=start_line,
                whole_lines=True,
            )
            for row in self._dividers(block, lines)
        ]
        if len(splits) > 1:
            from git_boocode.editing.blocks import Block

            return Block(tuple(splits))
        if not (splits[0].old or splits[0].new):
            raise MissError("invalid_input", f"the block at line {block.row + 1} is empty")
        return splits[0]

    def _check_divided(self, block: _Block, opening: re.Match[str], above: int) -> None:
        if not any(_DIVIDER.fullmatch(line) for line in self.lines[block.row + 1 : block.end]):
            self._note_name(block, opening, above)
            raise MissError(
                "invalid_input",
                f"the block at line {block.row + 1} has no '=======' line between "
                f"'{OPENING}' and '{CLOSING}'",
                hint=f"write the lines to find below '{OPENING}', then a line '=======', then the "
                "lines to put there",
            )

    def _dividers(self, block: _Block, body: Sequence[str]) -> list[int]:
        found = [
            (row, match[1]) for row, line in enumerate(body) if (match := _DIVIDER.fullmatch(line))
        ]
        rows = [row for row, margin in found if not margin] or [row for row, _ in found]
        if len(rows) > _MAX_DIVIDERS:
            raise MissError(
                "invalid_input",
                f"the block at line {block.row + 1} has {len(rows)} lines like '======='",
                hint="send the edit as old_string and new_string",
            )
        return rows

    def _path(self, block: _Block, opening: re.Match[str], above: int) -> str:
        named = self._named(block, opening, above)
        if self.context.path is not None:
            if named is not None and _elsewhere(named, self.context.path):
                raise MissError(
                    "invalid_input",
                    f"the block at line {block.row + 1} is for '{named}', but 'path' is "
                    f"'{self.context.path}'",
                )
            return self.context.path
        path = named or self._spoken_of(block, above) or self.path
        if path is None:
            raise MissError(
                "invalid_input",
                f"the block at line {block.row + 1} names no file",
                hint=f"put the path of the file alone on the line above '{OPENING}'",
            )
        return path

    def _named(self, block: _Block, opening: re.Match[str], above: int) -> str | None:
        """The file that the opening line, the fence or the line above names."""
        from git_boocode.editing.formats.filenames import name_in_info, name_in_line

        beside = (opening[3] or "").strip().removeprefix(">").strip()
        if beside:
            name = name_in_line(beside)
            if name is None:
                message = (
                    f"line {block.row + 1} has more than '{OPENING}', and that is no file name"
                )
                raise MissError("invalid_input", message)
            return name
        for line in reversed(self.lines[above : block.row]):
            fence = _FENCE.fullmatch(line)
            if fence and (name := name_in_info(fence[1])):
                return name
            if line.strip() and not fence:
                return name_in_line(line)
        return None

    def _spoken_of(self, block: _Block, above: int) -> str | None:
        """The one file of which the prose above a block speaks."""
        from git_boocode.editing.formats.filenames import names_in_prose, path_with_blanks

        prose = [line for line in self.lines[above : block.row] if not _FENCE.fullmatch(line)]
        names = names_in_prose(prose)
        if len(names) > 1:
            raise MissError(
                "invalid_input",
                f"the block at line {block.row + 1} may be for {' or '.join(map(repr, names[:5]))}",
                hint=f"put the path of the file alone on the line above '{OPENING}'",
            )
        if names and (whole := path_with_blanks(prose)) and whole != names[0]:
            raise MissError(
                "invalid_input",
                f"the block at line {block.row + 1} may be for '{whole}' or '{names[0]}'",
                hint=f"put the path in double quotes, alone on the line above '{OPENING}'",
            )
        return names[0] if names else None


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
