"""`apply-patch`: `*** Begin Patch` … `*** End Patch`, the patch language of Codex and its kin.

It comes as text, fenced or with prose around it, in a heredoc, or in an object as `patch`, `input`
or the words of a `command`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Action, Edit, Failure, MissError, short
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.formats.diff_names import agree
from git_boocode.editing.formats.hunk_lines import read_head
from git_boocode.editing.formats.patches import (
    check_hunks,
    flattened_notes,
    opened_fence,
    patch_lines,
    peeked,
)
from git_boocode.editing.hunks import Hunk, Line, Patch

_NAME = "apply-patch"
_COMMAND = ("command", "cmd")
_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_END_OF_FILE = "*** End of File"
_FILE = re.compile(r"\*\*\* (Add|Delete|Update) File:(.*)", re.DOTALL)
_MOVE = "*** Move to:"
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_OPENING = re.compile(r"(?:.*\bapply_patch\s+['\"])?\*\*\* Begin Patch")
_MARKERS = "'*** Add File: ', '*** Delete File: ', '*** Update File: ' or '*** End Patch'"
_SHOWN = 60


def _operation(item: object) -> str | None:
    """The word for what an operation of OpenAI's `apply_patch_call` does; None if it is none."""
    if not isinstance(item, dict) or not fields.has(item, fields.PATH):
        return None
    kind = item.get("type")
    return fields.OPERATIONS.get(kind) if isinstance(kind, str) else None


def _operated(item: fields.Object, kind: str, context: Context) -> Iterator[Edit | Failure]:
    """The one edit of an operation, whose `diff` holds the lines of a section of a patch."""
    path = fields.text(item, fields.PATH, context.path)
    text = fields.text(item, ("diff",), "" if kind == "Delete" else None)
    file = _Reader(text, kind, path).files[0]
    base = fields.base(item) or context.base
    yield Edit(0, path, file.action, base, _NAME, item, file.to)


def _text(item: object) -> str | None:
    text = peeked(item)
    if text is None and isinstance(item, dict):
        command = next((item[name] for name in _COMMAND if item.get(name) is not None), None)
        words = command if isinstance(command, list) else [command]
        text = next((word for word in words if isinstance(word, str) and _BEGIN in word), None)
    return text


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a patch: one for each file."""
    kind = _operation(item)
    if isinstance(item, dict) and kind and _BEGIN not in str(item.get("diff")):
        yield from _operated(item, kind, context)
        return
    notes = flattened_notes(item)
    reader = _Reader(_text(item) or "")
    path, base = context.path, context.base
    if isinstance(item, dict):
        path = fields.text(item, fields.PATH, path or "") or None
        base = fields.base(item) or base
    for file in reader.files:
        given = item if len(reader.files) == 1 else reader.portion(file)
        if path is not None and not agree(path, file.path):
            message = f"the patch is for '{file.path}', but 'path' is '{path}'"
            yield Failure(None, file.path, "invalid_input", message, given=given)
        else:
            action = file.action
            if notes and isinstance(action, Patch):
                action = action._replace(notes=notes)
            yield Edit(0, path or file.path, action, base, _NAME, given, file.to)


class _File(NamedTuple):
    """One section of a patch: its lines (first, stop) and what it asks for."""

    first: int
    stop: int
    path: str
    action: Action
    to: str | None = None


class _Reader:
    """Reads all envelopes of a text, or the lines of one section without any."""

    def __init__(self, text: str, kind: str = "", path: str = "") -> None:
        """Read a text.

        Args:
            text: the text.
            kind: `Add`, `Delete` or `Update` for the lines of such a section; empty for envelopes.
            path: the file of the section.
        """
        self.lines = patch_lines(text)
        self.files: list[_File] = []
        self.at = 0
        if kind:
            self._section(kind, path)
            return
        while self.at < len(self.lines):
            if _OPENING.fullmatch(self.lines[self.at].strip()):
                self._envelope()
            else:
                self._check_outside()
                self.at += 1
        if not self.files:
            _invalid(len(self.lines) - 1, f"there is no file; expected one of {_MARKERS}")

    def _section(self, kind: str, path: str) -> None:
        self.files.append(self._of_kind(kind, path, 0))
        rest = range(self.at, len(self.lines))
        at = next((at for at in rest if self.lines[at].strip()), None)
        if at is not None:
            shown = short(self.lines[at], _SHOWN)
            _invalid(at, f"'{shown}' cannot be read; expected ' ', '+', '-' or '@@'")

    def portion(self, file: _File) -> str:
        """A section as a patch of its own."""
        lines = [_BEGIN, *self.lines[file.first : file.stop], _END]
        return "".join(f"{line}\n" for line in lines)

    def _check_outside(self) -> None:
        if _FILE.match(self.lines[self.at]):
            _invalid(
                self.at, f"'{short(self.lines[self.at], _SHOWN)}' stands before any '{_BEGIN}'"
            )

    def _envelope(self) -> None:
        opened = self.at
        closers = set(self._closers(opened))
        self.at += 1
        while not self._ends():
            if self.at >= len(self.lines):
                _invalid(
                    self.at - 1,
                    f"the patch ends without '{_END}', so it may be cut off",
                    "send the whole patch again",
                )
            line = self.lines[self.at].strip()
            if line in closers:
                # What it is wrapped in ends here, so it is not cut off.
                return
            if line:
                self.files.append(self._file())
            else:
                self.at += 1
        self.at += 1

    def _closers(self, opened: int) -> Iterator[str]:
        """The lines that end what an envelope is wrapped in."""
        above = (self.lines[at] for at in range(opened - 1, -1, -1))
        here = next((line for line in above if line.strip()), "")
        fence, heredoc = opened_fence(here), _HEREDOC.search(here)
        if fence is not None:
            yield fence.marks
        if heredoc is not None:
            yield heredoc[2]

    def _ends(self) -> bool:
        """Whether the envelope ends at this line; padded, it must be the last one with text."""
        if self.at >= len(self.lines):
            return False
        line = self.lines[self.at]
        if line.rstrip().rstrip("'\"") == _END:
            return True
        if line.strip() != _END:
            return False
        rest = (self.lines[at].strip() for at in range(self.at + 1, len(self.lines)))
        return not any(text for text in rest if not _is_wrapping(text))

    def _file(self) -> _File:
        first = self.at
        found = _FILE.fullmatch(self.lines[first].strip())
        if found is None:
            _invalid(first, f"'{short(self.lines[first], _SHOWN)}'; expected one of {_MARKERS}")
        kind, path = found[1], found[2].strip()
        if not path:
            _invalid(first, f"the path is missing after '*** {kind} File:'")
        self.at += 1
        return self._of_kind(kind, path, first)

    def _of_kind(self, kind: str, path: str, first: int) -> _File:
        if kind == "Add":
            action: Action = Create(self._added())
        elif kind == "Delete":
            action = Delete(None)
        else:
            return self._updated(first, path)
        return _File(first, self.at, path, action)

    def _added(self) -> str:
        lines: list[str] = []
        while self._inside():
            line = self.lines[self.at]
            if line and line[0] != "+":
                _invalid(self.at, f"'{short(line, _SHOWN)}' in a file that is added; expected '+'")
            lines.append(line[1:])
            self.at += 1
        # Empty lines below the last one set sections apart.
        while lines and not lines[-1] and not self.lines[self.at - 1]:
            lines.pop()
            self.at -= 1
        return "".join(f"{line}\n" for line in lines)

    def _updated(self, first: int, path: str) -> _File:
        to = None
        if self.at < len(self.lines) and self.lines[self.at].strip().startswith(_MOVE):
            to = self.lines[self.at].strip()[len(_MOVE) :].strip()
            if not to:
                _invalid(self.at, f"the path is missing after '{_MOVE}'")
            self.at += 1
        hunks = list(self._hunks())
        check_hunks(len(hunks))
        if not hunks and to is None:
            _invalid(first, f"no change follows; expected '@@' or lines of '{short(path, _SHOWN)}'")
        action: Action = Patch(tuple(hunks)) if hunks else Keep()
        return _File(first, self.at, path, action, None if to == path else to)

    def _hunks(self) -> Iterator[Hunk]:
        while self._inside():
            if self.lines[self.at].strip():
                yield self._hunk()
            else:
                self.at += 1

    def _inside(self) -> bool:
        """Whether the section goes on at this line."""
        if self.at >= len(self.lines) or self._ends():
            return False
        line = self.lines[self.at]
        return line == "" or line[0] in " +-@" or line.rstrip() == _END_OF_FILE

    def _hunk(self) -> Hunk:
        first = self.at
        heads = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("@@"):
            heads.append(read_head(self.lines[self.at].rstrip()))
            self.at += 1
        lines, at_end, unspaced = self._lines(first)
        sections = tuple(head.section for head in heads if head.section)
        start = next((head.start for head in reversed(heads) if head.start is not None), None)
        header = self.lines[first].rstrip() if heads else ""
        if start is not None and any(line.op != "+" for line in lines):
            start = max(start - 1, 0)
        within = bool(sections) and start is None
        notes = ("empty lines read as blank ones",) if unspaced else ()
        return Hunk(header, first + 1, lines, start, sections, within, at_end, notes=notes)

    def _lines(self, first: int) -> tuple[tuple[Line, ...], bool, bool]:
        """The lines of a hunk, whether they end the file, and whether blank ones are empty."""
        found: list[Line] = []
        at_end = False
        blanks = empty = 0
        while self._inside() and not self.lines[self.at].startswith("@@") and not at_end:
            line = self.lines[self.at]
            at_end = line.rstrip() == _END_OF_FILE
            if not at_end:
                self._check(line)
                found.append(Line(line[:1] or " ", f"{line[1:]}\n"))
                blanks = blanks + 1 if not line else 0
                empty += not line
            self.at += 1
        found = found[: len(found) - blanks]
        if not any(line.op != " " for line in found):
            _invalid(first, "the hunk holds no line that begins with '+' or '-'")
        return tuple(found), at_end, empty > blanks

    def _check(self, line: str) -> None:
        if line[:1] not in ("", " ", "+", "-"):
            _invalid(self.at, f"'{short(line, _SHOWN)}' in a hunk; expected ' ', '+', '-' or '@@'")


def _is_wrapping(line: str) -> bool:
    """Whether a line below the end only closes what the patch is wrapped in."""
    return opened_fence(line) is not None or re.fullmatch(r"\w+['\")]*", line) is not None


def _invalid(at: int, message: str, hint: str | None = None) -> NoReturn:
    raise MissError("invalid_input", f"line {at + 1} of the patch: {message}", hint=hint)
