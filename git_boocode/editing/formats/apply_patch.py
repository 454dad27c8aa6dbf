"""`apply-patch`: `*** Begin Patch` … `*** End Patch`, the patch language of Codex and its kin.

It comes as text, fenced or with prose around it, in a heredoc, or in an object as `patch`, `input`
or the words of a `command`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Action, Edit, Failure, short
from git_boocode.editing.formats import Context, fields
from git_boocode.editing.formats.diff_names import agree
from git_boocode.editing.formats.diffs import NO_CHANGE, opened_hunk, read_head, skipped_notes
from git_boocode.editing.formats.patches import (
    check_hunks,
    flattened_notes,
    invalid,
    opened_fence,
    patch_lines,
    peeked,
)
from git_boocode.editing.patch import PatchAction, PatchHunk

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
    file = _EnvelopeReader(text, kind, path).files[0]
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
    reader = _EnvelopeReader(_text(item) or "")
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
            if notes and isinstance(action, PatchAction):
                action = action._replace(notes=(*notes, *action.notes))
            yield Edit(0, path or file.path, action, base, _NAME, given, file.to)


class _Section(NamedTuple):
    """One section of a patch: its lines (first, stop) and what it asks for."""

    first: int
    stop: int
    path: str
    action: Action
    to: str | None = None


class _EnvelopeReader:
    """Reads all envelopes of a text, or the lines of one section without any."""

    def __init__(self, text: str, kind: str = "", path: str = "") -> None:
        """Read a text; for a section, of which `kind` `Add`, `Delete` or `Update` it is."""
        self.lines = patch_lines(text)
        self.files: list[_Section] = []
        self.closers: set[str] = set()
        self.bare = False
        self.at = 0
        if kind:
            self._section(kind, path)
            return
        begun = any(_OPENING.fullmatch(line.strip()) for line in self.lines)
        while self.at < len(self.lines):
            if _OPENING.fullmatch(self.lines[self.at].strip()):
                self._envelope(self.at + 1)
            elif _FILE.fullmatch(self.lines[self.at].strip()):
                if begun:
                    what = f"'{short(self.lines[self.at], _SHOWN)}' is outside of '{_BEGIN}'"
                    invalid(self.at + 1, what)
                self.bare = True
                self._envelope(self.at)
            else:
                self.at += 1
        if not self.files:
            invalid(len(self.lines), f"there is no file; expected one of {_MARKERS}")

    def _section(self, kind: str, path: str) -> None:
        self.files.append(self._of_kind(kind, path, 0))
        rest = range(self.at, len(self.lines))
        at = next((at for at in rest if self.lines[at].strip()), None)
        if at is not None:
            shown = short(self.lines[at], _SHOWN)
            invalid(at + 1, f"'{shown}' cannot be read; expected ' ', '+', '-' or '@@'")

    def portion(self, file: _Section) -> str:
        """A section as a patch of its own."""
        lines = [_BEGIN, *self.lines[file.first : file.stop], _END]
        return "".join(f"{line}\n" for line in lines)

    def _envelope(self, first: int) -> None:
        """Read the sections of an envelope; a bare one has no first line and needs no last one."""
        self.closers = set(self._closers(first if self.bare else first - 1))
        self.at = first
        while not self._ends():
            if self.at >= len(self.lines):
                if self.bare:
                    return
                invalid(
                    self.at,
                    f"the patch ends without '{_END}', so it may be cut off",
                    "send the whole patch again",
                )
            line = self.lines[self.at].strip()
            if line in self.closers or (self.bare and line and not _FILE.fullmatch(line)):
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

    def _file(self) -> _Section:
        first = self.at
        found = _FILE.fullmatch(self.lines[first].strip())
        if found is None:
            invalid(first + 1, f"'{short(self.lines[first], _SHOWN)}'; expected one of {_MARKERS}")
        kind, path = found[1], found[2].strip()
        if not path:
            invalid(first + 1, f"the path is missing after '*** {kind} File:'")
        self.at += 1
        return self._of_kind(kind, path, first)

    def _of_kind(self, kind: str, path: str, first: int) -> _Section:
        if kind == "Add":
            action: Action = Create(self._added())
        elif kind == "Delete":
            action = Delete(None)
        else:
            return self._updated(first, path)
        return _Section(first, self.at, path, action)

    def _added(self) -> str:
        lines: list[str] = []
        while self._inside(" +-@"):
            line = self.lines[self.at]
            if line and line[0] != "+":
                invalid(
                    self.at + 1, f"'{short(line, _SHOWN)}' in a file that is added; expected '+'"
                )
            lines.append(line[1:])
            self.at += 1
        # Empty lines below the last one separate sections.
        while lines and not lines[-1] and not self.lines[self.at - 1]:
            lines.pop()
            self.at -= 1
        return "".join(f"{line}\n" for line in lines)

    def _updated(self, first: int, path: str) -> _Section:
        to = self._destination()
        hunks, skipped = [], []
        while self._inside():
            row = self.at
            if not self.lines[row].strip():
                self.at += 1
            elif (hunk := self._hunk()) is not None:
                hunks.append(hunk)
            else:
                skipped.append(row)
        check_hunks(len(hunks))
        action: Action = Keep()
        if hunks:
            action = PatchAction(tuple(hunks), notes=skipped_notes(len(skipped)))
        elif skipped:
            invalid(skipped[0] + 1, NO_CHANGE)
        elif to is None:
            invalid(
                first + 1, f"no change follows; expected '@@' or lines of '{short(path, _SHOWN)}'"
            )
        return _Section(first, self.at, path, action, None if to == path else to)

    def _destination(self) -> str | None:
        if self.at >= len(self.lines) or not self.lines[self.at].strip().startswith(_MOVE):
            return None
        to = self.lines[self.at].strip()[len(_MOVE) :].strip()
        if not to:
            invalid(self.at + 1, f"the path is missing after '{_MOVE}'")
        self.at += 1
        return to

    def _inside(self, marks: str = "") -> bool:
        """Whether the section goes on at this line, which begins with one of some marks."""
        if self.at >= len(self.lines) or self._ends():
            return False
        line = self.lines[self.at]
        if line.strip() in self.closers and line:
            return False
        if marks:
            return line == "" or line[0] in marks
        return not line.startswith("***") or line.rstrip() == _END_OF_FILE

    def _hunk(self) -> PatchHunk | None:
        """Read a hunk; None for one that changes nothing."""
        first = self.at
        heads = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("@@"):
            heads.append(read_head(self.lines[self.at].rstrip()))
            self.at += 1
        given: list[str] = []
        at_end = False
        while self._inside() and not self.lines[self.at].startswith("@@") and not at_end:
            at_end = self.lines[self.at].rstrip() == _END_OF_FILE
            given += [] if at_end else [self.lines[self.at]]
            self.at += 1
        # Without an envelope there may be prose below.
        while given and (not given[-1] or (self.bare and given[-1][0] not in " +-")):
            given.pop()
        header = self.lines[first].rstrip() if heads else ""
        hunk = opened_hunk(header, first + 1, heads, given)
        return None if hunk is None else hunk._replace(at_end=at_end)


def _is_wrapping(line: str) -> bool:
    """Whether a line below the end only closes what the patch is wrapped in."""
    return opened_fence(line) is not None or re.fullmatch(r"\w+['\")]*", line) is not None
