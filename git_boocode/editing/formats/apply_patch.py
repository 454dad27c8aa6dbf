"""`apply-patch`: `*** Begin Patch` … `*** End Patch`, the patch language of Codex and its kin.

It comes as text, fenced or with prose around it, in a heredoc, or in an object as `patch`, `input`
or the words of a `command`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Action, Edit, Failure, short
from git_boocode.editing.formats import Context, agree, fields
from git_boocode.editing.formats.diffs import (
    END_OF_FILE,
    SHOWN,
    Area,
    Hunks,
    invalid,
    opened_fence,
    patch_lines,
    patch_text,
)

_COMMAND = ("command", "cmd")
_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_FILE = re.compile(r"\*\*\* (Add|Delete|Update) File:(.*)", re.DOTALL)
_MOVE = "*** Move to:"
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_OPENING = re.compile(r"(?:.*\bapply_patch\s+['\"])?\*\*\* Begin Patch")
_CLOSING = re.compile(r"\w+['\")]*")
_MARKERS = "'*** Add File: ', '*** Delete File: ', '*** Update File: ' or '*** End Patch'"


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a patch: one for each file."""
    path, base = fields.context(item, context) if isinstance(item, dict) else context
    if isinstance(item, dict) and (kind := _operation(item)):
        text = fields.text(item, ("diff",), "" if kind == "Delete" else None)
        file = _EnvelopeReader(text, ()).read_section(kind, path or "")
        yield Edit(0, file.path, file.action, base, "apply-patch", item, file.to)
        return
    text, notes = _text(item)
    reader = _EnvelopeReader(text, notes)
    files = reader.read()
    for file in files:
        given = item if len(files) == 1 else reader.portion(file)
        if path is not None and not agree(path, file.path):
            message = f"the patch is for '{file.path}', but 'path' is '{path}'"
            yield Failure(None, file.path, "invalid_input", message, given=given)
        else:
            yield Edit(0, path or file.path, file.action, base, "apply-patch", given, file.to)


def _operation(item: fields.Object) -> str | None:
    """What an operation of OpenAI's `apply_patch_call` does, unless it holds a whole patch."""
    is_bare = fields.key_of(item, fields.PATH) and _BEGIN not in str(item.get("diff"))
    return fields.OPERATIONS.get(str(item.get("type"))) if is_bare else None


def _text(item: object) -> tuple[str, tuple[str, ...]]:
    text, notes = patch_text(item)
    if text is None and isinstance(item, dict):
        command = next((item[name] for name in _COMMAND if item.get(name) is not None), None)
        words = command if isinstance(command, list) else [command]
        text = next((word for word in words if isinstance(word, str) and _BEGIN in word), None)
    return text or "", notes


class _Section(NamedTuple):
    first: int
    stop: int
    path: str
    action: Action
    to: str | None = None


class _EnvelopeReader:
    """Reads all envelopes of a text, or the lines of one section without any."""

    def __init__(self, text: str, notes: tuple[str, ...]) -> None:
        self.lines = patch_lines(text)
        self.notes = notes
        self.closers: set[str] = set()
        self.bare = False
        self.at = 0

    def read(self) -> list[_Section]:
        files: list[_Section] = []
        begun = any(_OPENING.fullmatch(line.strip()) for line in self.lines)
        while self.at < len(self.lines):
            line = self.lines[self.at].strip()
            self.bare = _FILE.fullmatch(line) is not None
            if self.bare and begun:
                self._invalid(f"{self._quoted()} is outside of '{_BEGIN}'")
            if self.bare or _OPENING.fullmatch(line):
                self.closers = self._closers()
                self.at += not self.bare
                files += self._envelope()
            else:
                self.at += 1
        if not files:
            invalid(len(self.lines), f"there is no file; expected one of {_MARKERS}")
        return files

    def read_section(self, kind: str, path: str) -> _Section:
        """The section that all lines are, of the kind `Add`, `Delete` or `Update`."""
        section = self._section(kind, path, 0)
        self._skip_empty()
        if self.at < len(self.lines):
            self._invalid(f"{self._quoted()} cannot be read; expected ' ', '+', '-' or '@@'")
        return section

    def portion(self, file: _Section) -> str:
        """A section as a patch of its own."""
        text = "\n".join(self.lines[file.first : file.stop])
        return "\n".join([_BEGIN, text.rstrip("\n"), _END, ""])

    def _envelope(self) -> Iterator[_Section]:
        """The sections of an envelope; a bare one has no first line and needs no last one."""
        self._skip_empty()
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
            found = _FILE.fullmatch(line)
            if line in self.closers or (self.bare and not found):
                # What it is wrapped in ends here, so it is not cut off.
                return
            if found is None:
                self._invalid(f"{self._quoted()}; expected one of {_MARKERS}")
            kind, path = found[1], found[2].strip()
            if not path:
                self._invalid(f"the path is missing after '*** {kind} File:'")
            self.at += 1
            yield self._section(kind, path, self.at - 1)
            self._skip_empty()
        self.at += 1

    def _closers(self) -> set[str]:
        """The lines that end what an envelope is wrapped in."""
        above = (self.lines[at] for at in range(self.at - 1, -1, -1))
        here = next((line for line in above if line.strip()), "")
        fence, heredoc = opened_fence(here), _HEREDOC.search(here)
        return {fence.marks} if fence else {heredoc[2]} if heredoc else set()

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
        # Below may be what only closes what the patch is wrapped in.
        return all(not text or opened_fence(text) or _CLOSING.fullmatch(text) for text in rest)

    def _section(self, kind: str, path: str, first: int) -> _Section:
        to = None
        if kind == "Add":
            action: Action = Create(self._hunks().content("+"))
        elif kind == "Delete":
            action = Delete(None)
        else:
            to = self._destination()
            action = self._hunks().action(self.notes) or Keep()
            if action == Keep() and to is None:
                what = f"no change follows; expected '@@' or lines of '{short(path, SHOWN)}'"
                invalid(first + 1, what)
        return _Section(first, self.at, path, action, None if to == path else to)

    def _hunks(self) -> Hunks:
        hunks, first = Hunks([], []), self.at
        while self._inside():
            self.at += 1
        area = Area(self.lines, self.at, fenced=not self.bare, envelope=True)
        self.at = first
        self._skip_empty()
        while self.at < area.stop:
            hunk, stop = area.read_hunk(self.at)
            if stop == self.at:
                # Prose below a patch without an envelope.
                break
            hunks.add(hunk)
            self.at = stop
            self._skip_empty()
        self.at = max(self.at, area.stop)
        return hunks

    def _destination(self) -> str | None:
        line = self.lines[self.at].strip() if self.at < len(self.lines) else ""
        if not line.startswith(_MOVE):
            return None
        to = line[len(_MOVE) :].strip()
        if not to:
            self._invalid(f"the path is missing after '{_MOVE}'")
        self.at += 1
        return to

    def _inside(self) -> bool:
        """Whether the section goes on at this line."""
        if self.at >= len(self.lines) or self._ends():
            return False
        line = self.lines[self.at]
        if line and line.strip() in self.closers:
            return False
        return not line.startswith("***") or line.rstrip() == END_OF_FILE

    def _skip_empty(self) -> None:
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1

    def _quoted(self) -> str:
        return f"'{short(self.lines[self.at], SHOWN)}'"

    def _invalid(self, message: str) -> NoReturn:
        invalid(self.at + 1, message)
