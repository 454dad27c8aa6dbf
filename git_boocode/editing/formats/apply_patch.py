"""`apply-patch`: `*** Begin Patch` … `*** End Patch`, the patch language of Codex and others.

It may be text, fenced or with prose around it, in a heredoc, or in an object as `patch`, `input` or
the words of a `command`. The first and the last line may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Action, Edit, Failure, MissError
from git_boocode.editing.formats import Context, agree, objects
from git_boocode.editing.formats.stray_edits import stray_edit
from git_boocode.editing.formats.unified import (
    END_OF_FILE,
    Area,
    invalid,
    patch_action,
    patch_lines,
    whole_file,
)
from git_boocode.repo.errors import shortened

if TYPE_CHECKING:
    from git_boocode.editing.patch import PatchHunk

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_FILE = re.compile(r"\*\*\* (Add|Delete|Update) File:(.*)", re.DOTALL)
_MOVE = "*** Move to:"
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_OPENING = re.compile(r"(?:.*\bapply_patch\s+['\"])?\*\*\* Begin Patch")
_MARKERS = "'*** Add File: ', '*** Delete File: ', '*** Update File: ' or '*** End Patch'"


class _Section(NamedTuple):
    """The section of one file, in the lines from `first` to `stop`; `row` is its header."""

    kind: str
    path: str
    row: int
    first: int
    stop: int
    to: str | None = None


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a patch: one for each file."""
    outer = objects.enclosed(item, context) if isinstance(item, dict) else context
    path, bare = outer.path, False
    if isinstance(item, dict) and path and (kind := _operation(item)):
        lines = patch_lines(objects.text(item, ("diff",), "" if kind == "Delete" else None))
        sections = [_Section(kind, path, 0, 0, len(lines))]
    else:
        words = (word for word in objects.texts_of(item, objects.SHELL) if _BEGIN in word)
        lines = patch_lines(objects.patch(item) or next(words, ""))
        envelopes = _Envelopes(lines)
        sections, bare = envelopes.read(), envelopes.bare
        if mixed := stray_edit(envelopes.outside, "apply-patch", outer):
            raise mixed
    for section in sections:
        portion = "\n".join([_BEGIN, *lines[section.row : section.stop], _END, ""])
        given = item if len(sections) == 1 else portion
        try:
            if path is not None and not agree(path, section.path):
                raise objects.invalid(f"the patch is for '{section.path}', but 'path' is '{path}'")
            area = Area(lines, section.stop, not bare, envelope=True)
            action = _action(section, area, outer)
        except MissError as miss:
            yield Failure.of(miss, None, section.path, given)
        else:
            to = None if section.to == section.path else section.to
            yield Edit(0, path or section.path, action, outer.base, "apply-patch", given, to)


def _operation(item: objects.Object) -> str | None:
    """The operation of OpenAI's `apply_patch_call`; None if it contains a complete patch."""
    is_whole = _BEGIN in str(item.get("diff"))
    return None if is_whole else objects.OPERATIONS.get(str(item.get("type")))


class _Envelopes:
    """Finds the sections of a text, in all its envelopes or without any."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.bare = not any(_OPENING.fullmatch(line.strip()) for line in lines)
        self.sections: list[_Section] = []
        self.outside: list[str] = []  # The lines that are ignored.
        self.closers: set[str] | None = None  # Of the current envelope; None outside.

    def read(self) -> list[_Section]:
        above = ""
        for row, line in enumerate(self.lines):
            if self.closers is None:
                self._outside(row, line.strip(), above)
            else:
                self._inside(row, line, self.closers)
            above = line if line.strip() else above
        if self.closers is not None and not self.bare:
            message = f"the patch ends without '{_END}', so it may be truncated"
            invalid(len(self.lines), message, "send the complete patch again")
        if not self.sections:
            invalid(len(self.lines), f"no file named; expected one of {_MARKERS}")
        return self.sections

    def _outside(self, row: int, line: str, above: str) -> None:
        header = _FILE.fullmatch(line)
        if line == _END or (header and not self.bare):
            invalid(row + 1, f"'{shortened(line)}' is outside of '{_BEGIN}'")
        if header or _OPENING.fullmatch(line):
            fence, heredoc = objects.opened_fence(above), _HEREDOC.search(above)
            self.closers = {fence.marks} if fence else {heredoc[2]} if heredoc else set()
        if header:
            self._begin(row, header)
        if self.closers is None:
            self.outside.append(self.lines[row])

    def _inside(self, row: int, line: str, closers: set[str]) -> None:
        last = next((one for one in self.sections[-1:] if one.stop == row), None)
        line = line.rstrip() if last else line.strip()
        # After one space it is a line of the file.
        is_end = line.strip().rstrip("'\"") == _END and not line.startswith(" *")
        if is_end or line in closers:
            # The end of the fence or the heredoc proves that nothing is truncated.
            self.closers = None
        elif header := _FILE.fullmatch(line):
            self._begin(row, header)
        elif last and last.kind == "Update" and last.first == row and line.startswith(_MOVE):
            to = line[len(_MOVE) :].strip()
            if not to:
                invalid(row + 1, f"the path is missing after '{_MOVE}'")
            self.sections[-1] = last._replace(to=to, first=row + 1, stop=row + 1)
        elif last and (not line.startswith("***") or line == END_OF_FILE):
            self.sections[-1] = last._replace(stop=row + 1)
        elif line and not self.bare:
            invalid(row + 1, f"'{shortened(line)}'; expected one of {_MARKERS}")
        elif line:
            self.closers = None
            self.outside.append(self.lines[row])

    def _begin(self, row: int, header: re.Match[str]) -> None:
        kind, path = header[1], header[2].strip()
        if not path:
            invalid(row + 1, f"the path is missing after '*** {kind} File:'")
        self.sections.append(_Section(kind, path, row, row + 1, row + 1))


def _action(section: _Section, area: Area, context: Context) -> Action:
    hunks = _hunks(area, section.first, context)
    if section.kind == "Add":
        return Create(whole_file(hunks, "+"))
    if section.kind == "Update":
        action = patch_action(hunks)
        if action is None and section.to is None:
            named = shortened(section.path)
            invalid(section.row + 1, f"no change follows; expected '@@' or lines of '{named}'")
        return action or Keep()
    rest = [at for at in range(section.first, section.stop) if area.lines[at].strip()]
    if rest and area.fenced:
        line = shortened(area.lines[rest[0]])
        invalid(rest[0] + 1, f"'{line}' in a deleted file; expected one of {_MARKERS}")
    return Delete(None)


def _hunks(area: Area, at: int, context: Context) -> list[PatchHunk]:
    hunks: list[PatchHunk] = []
    while at < area.stop:
        if not area.lines[at].strip():
            at += 1
            continue
        hunk, stop = area.read_hunk(at)
        if stop == at:
            # Prose below a patch without an envelope.
            if mixed := stray_edit(area.lines[at : area.stop], "apply-patch", context):
                raise mixed
            break
        hunks.append(hunk)
        at = stop
    return hunks
