"""`unified`: a unified diff of one file or many, as git and diff write it and models drift from it.

It comes as text, bare, fenced or with prose around it, or in an object with the file's path, as
`patch`, `diff` or `patch_lines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Action, Edit, Failure, MissError, short
from git_boocode.editing.formats import Context, agree, fields
from git_boocode.editing.formats.diffs import (
    NOWHERE,
    SHOWN,
    Area,
    git_names,
    invalid,
    is_change,
    patch_action,
    patch_lines,
    patch_text,
    read_name,
    whole_file,
    without_prefixes,
)

if TYPE_CHECKING:
    from git_boocode.editing.patch import PatchHunk

_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    r"|similarity index|dissimilarity index|index) ?(.*)"
)
_BINARY = re.compile(r"GIT binary patch|Binary files .* differ")
_COMBINED = re.compile(r"@@@+ |diff --(?:cc|combined) ")
_MODES = {"100644": False, "100664": False, "100755": True, "100775": True}  # is executable
_MARKS = ("", " ", "+", "-", "\\")
_ONE_SIDED = ("new file mode", "deleted file mode")
_SPECIAL = {"120000": "a symbolic link", "160000": "a submodule"}


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a diff: one for each file."""
    text = patch_text(item)
    path, base = fields.context(item, context) if isinstance(item, dict) else context
    diffs = Diffs(text)
    if not diffs.files and path is not None and all(line[:1] in _MARKS for line in diffs.lines):
        # The lines of one hunk, and no more.
        diffs = Diffs(f"@@\n{text}")
    # A file that is shown without a change is skipped, unless there is nothing else.
    files = [file for file in diffs.files if any(map(is_change, file.hunks)) or not file.hunks]
    files = files or diffs.files
    if not files:
        raise MissError(
            "invalid_input", "the patch has no hunk; expected a line like '@@ -1,2 +1,3 @@'"
        )
    for file in files:
        portion = "".join(f"{line}\n" for line in diffs.lines[file.first : file.stop])
        given = item if len(files) == 1 else portion
        shown = path
        try:
            old, new = _names(file, path)
            shown = new if old == NOWHERE else old
            action = _action(file, old, new)
        except MissError as miss:
            yield Failure.of(miss, None, shown, given)
        else:
            to = new if NOWHERE not in (old, new) and old != new else None
            yield Edit(0, shown, action, base, "unified", given, to)


class FileDiff:
    """What the lines `first` to `stop` of a diff say about one file.

    `names` are as given; `extended` holds git's further header lines by their key, and as `binary`
    the number of the line that says that the file is binary.
    """

    def __init__(self, first: int, names: tuple[str, str] | None = None) -> None:
        self.first = first
        self.stop = first + 1
        self.names = names
        self.headed = False
        self.extended: dict[str, str] = {}
        self.hunks: list[PatchHunk] = []

    def takes(self, old: str, new: str) -> bool:
        """Whether `---` and `+++` lines below git's header are of this file; they must agree."""
        if self.hunks:
            return False
        if self.names is None or {old, new} - {NOWHERE} <= set(self.names):
            return True
        side = next((at for at, key in enumerate(_ONE_SIDED) if key in self.extended), None)
        if side is not None and (new, old)[side] != self.names[1 - side]:
            names = f"'{self.names[1 - side]}', not for '{(new, old)[side]}'"
            invalid(self.stop + 1, f"'{_ONE_SIDED[side]}' is for {names}")
        return side is not None

    def wrong(self, message: str, hint: str | None = None) -> NoReturn:
        """Refuse the file."""
        invalid(self.first + 1, message, hint)


class Diffs:
    """What a text says about each file, in order (MissError, `invalid_input`)."""

    def __init__(self, text: str) -> None:
        self.lines = patch_lines(text)
        self.files: list[FileDiff] = []
        self._current: FileDiff | None = None
        self._read(Area(self.lines, len(self.lines), fenced=False), 0)

    def _read(self, area: Area, at: int) -> None:
        while at < area.stop:
            fence = None if area.fenced else fields.opened_fence(self.lines[at])
            at = self._fenced(at, fence) if fence else self._step(area, at)

    def _fenced(self, at: int, fence: fields.Fence) -> int:
        """Read the fenced block that begins at a line; the index after it."""
        rows = range(at + 1, len(self.lines))
        stop = next((row for row in rows if fence.is_closed_by(self.lines[row])), len(self.lines))
        for row in range(at + 1, stop):
            self.lines[row] = self.lines[row].removeprefix(fence.indent)
        self._current = None
        self._read(Area(self.lines, stop, fenced=True), at + 1)
        self._current = None
        return stop + 1

    def _step(self, area: Area, at: int) -> int:
        """Read what begins at a line outside of hunks; the index after it."""
        line, file = area.lines[at], self._current
        if line.startswith("diff --git "):
            return self._extended(area, at + 1, FileDiff(at, git_names(line[len("diff --git ") :])))
        if area.names_file(at):
            return self._file_header(area, at)
        if line.startswith("rename from ") and self._follows(area, at, "rename to "):
            return self._extended(area, at, FileDiff(at))
        if _COMBINED.match(line):
            invalid(at + 1, "a combined diff, of a merge, cannot be applied; expected '@@ -'")
        # The first hunk may lack its `@@` line.
        headless = file is not None and file.headed and not file.hunks
        if line.startswith("@@") or (headless and line[:1] in (" ", "+", "-")):
            file = file or self._begin(FileDiff(at))
            hunk, file.stop = area.read_hunk(at)
            file.hunks.append(hunk)
            return file.stop
        self._check_stray(area, at)
        return at + 1

    def _begin(self, file: FileDiff) -> FileDiff:
        self._current = file
        self.files.append(file)
        return file

    def _extended(self, area: Area, at: int, file: FileDiff) -> int:
        self._begin(file)
        while at < area.stop:
            found = _EXTENDED.fullmatch(area.lines[at].rstrip())
            if found:
                file.extended[found[1]] = found[2]
            elif _BINARY.match(area.lines[at]):
                file.extended["binary"] = str(at + 1)
            else:
                break
            at += 1
        file.stop = at
        return at

    def _file_header(self, area: Area, at: int) -> int:
        file = self._current
        old, new = (read_name(line[4:]) for line in area.lines[at : at + 2])
        # A header of git's own goes right before this one and belongs to the same file.
        if file is None or file.stop != at or not file.takes(old, new):
            file = self._begin(FileDiff(at))
        file.names, file.headed, file.stop = (old, new), True, at + 2
        return file.stop

    def _follows(self, area: Area, at: int, start: str) -> bool:
        return at + 1 < area.stop and area.lines[at + 1].startswith(start)

    def _check_stray(self, area: Area, at: int) -> None:
        """Refuse a line that looks like one of a hunk or a header where none can be."""
        line = area.lines[at]
        is_name = line.startswith(("--- ", "+++ ")) and self._follows(area, at, "@@")
        is_change = line[:1] in ("+", "-") and line.rstrip() != "--"
        if is_name or (is_change and area.fenced and self._current is not None):
            expected = "'--- ' and '+++ ' lines before a file, '@@' before a hunk"
            invalid(at + 1, f"'{short(line, SHOWN)}' is outside of any hunk; expected {expected}")


def _names(file: FileDiff, path: str | None) -> tuple[str, str]:
    """The path before and after, `/dev/null` for none; `path` came with the patch."""
    extended = file.extended
    if "rename from" in extended and "rename to" in extended:
        old, new = read_name(extended["rename from"]), read_name(extended["rename to"])
    elif file.names is not None:
        old, new = without_prefixes(*file.names)
        old = NOWHERE if "new file mode" in extended else old
        new = NOWHERE if "deleted file mode" in extended else new
    elif path is None or extended:
        file.wrong("no file is named; expected '--- a/name' and '+++ b/name' before a hunk")
    else:
        return path, path
    return (old, new) if path is None else _under(file, path, old, new)


def _under(file: FileDiff, path: str, old: str, new: str) -> tuple[str, str]:
    """The names of a patch that came with a path, with which they must agree."""
    name = new if old == NOWHERE else old
    if not agree(path, name):
        file.wrong(f"the patch is for '{name}', but 'path' is '{path}'")
    if old == NOWHERE:
        return old, path
    # The path may begin further up than the names of the patch do.
    above = path[: len(path) - len(old)] if path.endswith(f"/{old}") else ""
    return path, path if new == old else new if new == NOWHERE else above + new


def _action(file: FileDiff, old: str, new: str) -> Action:
    _check_possible(file)
    extended = file.extended
    if NOWHERE in (old, new):
        # A file that is made or deleted needs no places.
        notes = tuple(dict.fromkeys(note for hunk in file.hunks for note in hunk.notes))
        if old != NOWHERE:
            return Delete(whole_file(file.hunks, "-").removeprefix("\ufeff"), notes)
        executable = _MODES[extended.get("new file mode") or "100644"]
        return Create(whole_file(file.hunks, "+"), executable, notes)
    mode, before = extended.get("new mode"), extended.get("old mode", "")
    changed = _MODES[mode] if mode and _MODES.get(before) != _MODES[mode] else None
    action = patch_action(file.hunks, extended.get("index", "").partition("..")[0] or None)
    if action is not None:
        return action._replace(executable=changed)
    if old == new and changed is None:
        file.wrong("no hunk follows; expected a line like '@@ -1,2 +1,3 @@'")
    return Keep(changed)


def _check_possible(file: FileDiff) -> None:
    """Refuse what an edit cannot do."""
    extended = file.extended
    if "binary" in extended:
        message = f"line {extended['binary']} of the patch: a binary patch cannot be applied"
        raise MissError("binary", message, hint="write the file itself, and leave out this part")
    if "copy from" in extended or "copy to" in extended:
        file.wrong("a copy cannot be applied", "give the new file with all of its lines instead")
    modes = [extended.get(key) for key in ("old mode", "new mode", *_ONE_SIDED)]
    for mode in (*modes, extended.get("index", "").partition(" ")[2]):
        if mode and mode not in _MODES:
            what = _SPECIAL.get(mode) or f"a file of mode {short(mode, 20)}"
            file.wrong(f"{what} cannot be patched", "leave out the mode, or write 100644 or 100755")
