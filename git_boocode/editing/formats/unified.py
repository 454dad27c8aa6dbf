"""`unified`: a unified diff of one file or many, written by git, by diff, or imprecisely by models.

It may be text, bare, fenced or with prose around it, or in an object with the file's path, as
`patch`, `diff` or `patch_lines`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, NoReturn

from git_boocode.editing.actions import Create, Delete, Keep
from git_boocode.editing.edits import Action, Edit, Failure, MissError
from git_boocode.editing.formats import MAX_CHANGES, Context, agree, objects
from git_boocode.editing.formats.stray_edits import stray_edit
from git_boocode.editing.patch import UNMARKED, PatchAction, PatchHunk, PatchLine
from git_boocode.repo.errors import shortened

NOWHERE = "/dev/null"
NO_CHANGE = "the hunk has no line that begins with '+' or '-'"
END_OF_FILE = "*** End of File"
_HEADER = re.compile(r"@@ *-(\d{1,9})(?:,(\d{1,9}))? +\+(\d{1,9})(?:,(\d{1,9}))? *@@ ?(.*)")
_NUMBERS = re.compile(r"[-+\d,.…? ]*")
_BULLET = re.compile(r"[-+] [^\s*]")
QUOTED = re.compile(r'"((?:[^"\\]|\\[0-3][0-7]{2}|\\[abtnvfr"\\])*)"')
_STAMP = re.compile(r"\s(?:\w{3} \w{3} +\d+ \d|\d{4}-\d\d-\d\d[ T]\d).*", re.DOTALL)
# Prefixes that only distinguish the sides of a diff.
_SIDES = {*"abciow12", "old", "new", "orig", "original", "modified", "updated"}
_SIDES |= {"before", "after", "left", "right"}
_TACKED = re.compile(r"(?!/)[\W_][^/]*")
_SIDE = re.compile(rf"(?!/)[\W_](?:{'|'.join(_SIDES)})")
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
    text = objects.patch(item)
    outer = objects.enclosed(item, context) if isinstance(item, dict) else context
    path = outer.path
    diffs = Diffs(text)
    if not diffs.files and path is not None and all(line[:1] in _MARKS for line in diffs.lines):
        # Only the lines of one hunk.
        diffs = Diffs(f"@@\n{text}")
    # Skip files without a change, unless there are no others.
    files = [file for file in diffs.files if any(map(is_change, file.hunks)) or not file.hunks]
    files = files or diffs.files
    if mixed := stray_edit(diffs.outside, "unified", outer):
        raise mixed
    if not files:
        raise objects.invalid("the patch has no hunk; expected a line like '@@ -1,2 +1,3 @@'")
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
            yield Edit(0, shown, action, outer.base, "unified", given, to)


def patch_lines(text: str) -> list[str]:
    """The lines of a patch without their line feeds."""
    # Carriage returns belong to the lines of the file, unless all lines have them.
    if text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n")


def invalid(row: int, message: str, hint: str | None = None) -> NoReturn:
    """Refuse a line of a patch, by its 1-based number."""
    raise MissError("invalid_input", f"line {row} of the patch: {message}", hint=hint)


# Hunks


class HunkHeader(NamedTuple):
    """A line that begins with `@@`: the first old line (1-based), and the old and new counts."""

    start: int | None = None
    counts: tuple[int, int] | None = None
    section: str = ""


def is_change(hunk: PatchHunk) -> bool:
    """Whether a hunk has changed lines."""
    return any(line.op != " " for line in hunk.lines)


def patch_action(hunks: Sequence[PatchHunk], preimage: str | None = None) -> PatchAction | None:
    """The action of a file's hunks, None if there are none (MissError if none has a change)."""
    shown = (() if is_change(hunk) else filter(str.strip, hunk.old) for hunk in hunks)
    pairs = zip(chain([()], map(tuple, shown)), hunks, strict=False)
    found = tuple(hunk._replace(above=above) for above, hunk in pairs if is_change(hunk))
    skipped = len(hunks) - len(found)
    if skipped and not found:
        invalid(hunks[0].row, NO_CHANGE)
    if len(found) > MAX_CHANGES:
        many = f"too many hunks of one file: {len(found)} (at most {MAX_CHANGES})"
        raise objects.invalid(many, "send the whole file as {path, content}")
    notes = (f"hunks without changes skipped: {skipped}",) if skipped else ()
    return PatchAction(found, preimage, notes) if found else None


def whole_file(hunks: Sequence[PatchHunk], mark: str) -> str:
    """The content of a created or deleted file, all of whose lines have this mark."""
    done = "created" if mark == "+" else "deleted"
    for hunk in hunks:
        if not is_change(hunk):
            invalid(hunk.row, NO_CHANGE)
        for at, (op, text) in enumerate(hunk.lines, hunk.row + bool(hunk.header)):
            if op != mark and (op != " " or text.strip()):
                line = shortened(f"{op}{text.rstrip()}")
                invalid(at, f"'{line}' in a {done} file; expected '{mark}'")
    return "".join(line.text for hunk in hunks for line in hunk.lines)


class Area(NamedTuple):
    """The lines of a patch up to `stop`; unless `fenced`, they may include prose.

    In an `envelope` only `@@` begins a hunk, and no line names a file.
    """

    lines: Sequence[str]
    stop: int
    fenced: bool
    envelope: bool = False

    def names_file(self, at: int) -> bool:
        """Whether a pair of `---` and `+++` lines begins here."""
        marks = [line[:4] for line in self.lines[at : min(at + 2, self.stop)]]
        return marks == ["--- ", "+++ "] and not self.envelope

    def opens(self, at: int) -> bool:
        """Whether a line begins the next hunk or file."""
        if self.names_file(at):
            return at + 2 < self.stop and self.lines[at + 2].startswith("@@")
        openings = ("@@", END_OF_FILE) if self.envelope else ("@@", "diff --git ", "Index: ")
        return self.lines[at].startswith(openings)

    def read_hunk(self, at: int) -> tuple[PatchHunk, int]:
        """Read the hunk that begins at a line; also returns the index of the line after it."""
        row, heads = at, [HunkHeader()]
        while at < self.stop and self.lines[at].startswith("@@") and not heads[-1].counts:
            heads.append(_read_head(self.lines[at].rstrip()))
            at += 1
        counts = heads[-1].counts
        header = self.lines[row].rstrip() if at > row else ""
        stop = self._counted(at, counts) if counts else None
        note = "no line numbers" if header else "no '@@' line"
        note = "wrong counts, recomputed" if counts else note
        notes = [note] if stop is None and not self.envelope else []
        given, stop = self._uncounted(at) if stop is None else (self.lines[at:stop], stop)
        notes += [] if all(given) else ["empty lines read as blank ones"]
        unmarked = any(_op(line) == "?" for line in given)
        notes += [UNMARKED] if unmarked else []
        lines, start = _marked(given), heads[-1].start
        if start is not None and any(line.op != "+" for line in lines):
            start = max(start - 1, 0)
        sections = tuple(head.section for head in heads if head.section)
        at_end = self.envelope and stop < self.stop and self.lines[stop].startswith(END_OF_FILE)
        hunk = PatchHunk(
            header, row + 1, lines, start, sections, at_end, unmarked, notes=tuple(notes)
        )
        return hunk, stop + at_end

    def _counted(self, at: int, counts: tuple[int, int]) -> int | None:
        """The end of a hunk according to its counts; None if they do not fit the lines."""
        old, new = counts
        ops: list[str] = []
        while (old > 0 or new > 0) and at < self.stop:
            if self.opens(at):
                return None
            ops.append(_op(self.lines[at]))
            old -= ops[-1] in " -?"
            new -= ops[-1] in " +?"
            at += 1
        while at < self.stop and self.lines[at].startswith("\\ "):
            at += 1
        # An unmarked last line may be prose.
        fits = not (old or new) and "?" not in ops[-1:] and not {"+", "-"}.isdisjoint(ops)
        return at if fits and self._ends_well(at) else None

    def _ends_well(self, at: int) -> bool:
        """Whether the lines after a hunk do not look like more of it."""
        after = next((row for row in range(at, self.stop) if self.lines[row]), None)
        if after is None or self.names_file(after):
            return True
        line = self.lines[after]
        # The next line may be a signature, or a list item in prose.
        listed = after > at and not self.fenced and _BULLET.match(line) is not None
        return line[0] not in " +-" or line.rstrip() == "--" or listed

    def _uncounted(self, at: int) -> tuple[Sequence[str], int]:
        """The lines that look like the hunk's, and the index at which to continue."""
        stop = next((row for row in range(at, self.stop) if self.opens(row)), self.stop)
        if not self.fenced:
            # There may be prose after the last changed line.
            below = ((row, self.lines[row]) for row in reversed(range(at, stop)))
            marked = (row for row, line in below if _op(line) in "+-" and not _BULLET.match(line))
            rest = range(next(marked, at - 1) + 1, stop)
            stop = next((row for row in rest if _op(self.lines[row]) == "?"), stop)
        last = stop
        # Trailing empty lines separate hunks.
        while last > at and not self.lines[last - 1]:
            last -= 1
        return self.lines[at:last], stop


def _read_head(line: str) -> HunkHeader:
    found = _HEADER.match(line)
    if found is not None:
        start, old, _, new, section = found.groups()
        return HunkHeader(int(start), (int(old or 1), int(new or 1)), section.strip())
    middle, _, after = line[2:].partition("@@")
    texts = [text.strip() for text in (middle, after)]
    # Models write `...` or `-x,y +z` instead of numbers.
    sections = [text for text in texts if not _NUMBERS.fullmatch(text) and text[0] != "-"]
    return HunkHeader(section=sections[-1] if sections else "")


def _op(line: str) -> str:
    """The mark of a line; `?` for a context line without one."""
    op = line[:1] or " "
    return op if op in " +-\\" else "?"


def _marked(given: Sequence[str]) -> tuple[PatchLine, ...]:
    lines: list[PatchLine] = []
    for line in given:
        op = _op(line)
        if op == "?":
            lines.append(PatchLine(" ", f"{line}\n"))
        elif op != "\\":
            lines.append(PatchLine(op, f"{line[1:]}\n"))
        elif lines:
            lines[-1] = lines[-1]._replace(text=lines[-1].text.removesuffix("\n"))
    return tuple(lines)


# The names of files


def read_name(rest: str) -> str:
    """The name in the rest of a header line, unquoted and without a timestamp."""
    if found := QUOTED.match(rest):
        return unquoted(found)
    return _STAMP.sub("", rest.partition("\t")[0]).rstrip()


def unquoted(found: re.Match[str]) -> str:
    """The name in git's quotes."""
    try:
        raw = found[1].encode("utf-8", "surrogateescape").decode("unicode_escape")
    except UnicodeEncodeError:
        return found[1]  # Half a character, which is in no file's name.
    return raw.encode("latin-1").decode("utf-8", "surrogateescape")


def git_names(rest: str) -> tuple[str, str] | None:
    """The two names of a `diff --git` line with their prefixes; None if ambiguous."""
    rest = rest.rstrip()
    quoted = re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)', rest)
    if quoted:
        return read_name(quoted[1]), read_name(quoted[2])
    # Both names are equal except for their prefixes, which have the same length.
    middle = len(rest) // 2
    old, new = rest[:middle], rest[middle + 1 :]
    same = old.split("/", 1)[-1] == new.split("/", 1)[-1]
    return (old, new) if len(rest) % 2 and rest[middle] == " " and same else None


def without_prefixes(old: str, new: str) -> tuple[str, str]:
    """The names of a pair of headers without prefixes such as `a/` and suffixes such as `.orig`."""
    (side, _, tail), (new_side, _, new_tail) = old.partition("/"), new.partition("/")
    if NOWHERE in (old, new):
        # There is no second name to compare with.
        old = tail if side in ("a", "i", "c", "o", "1") and tail else old
        return old, new_tail if new_side in ("b", "i", "w", "2") and new_tail else new
    if side != new_side and {side, new_side} <= _SIDES and tail and new_tail:
        old, new = tail, new_tail
    elif side in ("a", "b") and tail == new:
        old = new
    elif new_side in ("a", "b") and new_tail == old:
        new = old
    # As in `git apply`, a name with a suffix is a variation: `file.orig`, `file~`.
    name, varied = sorted((old, new), key=len)
    stem, ending = os.path.splitext(name)
    tacked = varied.startswith(name) and _TACKED.fullmatch(varied, len(name))
    ends = varied.startswith(stem) and varied.endswith(ending)
    within = ends and _SIDE.fullmatch(varied, len(stem), len(varied) - len(ending))
    return (name, name) if tacked or within else (old, new)


# The files of a text


class FileDiff:
    """The part of a diff for one file, in the lines `first` to `stop`.

    `names` are unmodified; `extended` contains git's extended header lines by key, and, as
    `binary`, the number of the line that marks the file as binary.
    """

    def __init__(self, first: int, names: tuple[str, str] | None = None) -> None:
        self.first = self.stop = first
        self.names = names
        self.headed = False
        self.extended: dict[str, str] = {}
        self.hunks: list[PatchHunk] = []

    def takes(self, old: str, new: str) -> bool:
        """Whether `---` and `+++` lines after git's header belong to this file (MissError)."""
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
    """The diffs of the files in a text, in order (MissError, `invalid_input`)."""

    def __init__(self, text: str) -> None:
        self.lines = patch_lines(text)
        self.outside: list[str] = []  # The lines that are ignored.
        self.files: list[FileDiff] = []
        self._current: FileDiff | None = None
        self._read(Area(self.lines, len(self.lines), fenced=False), 0)

    def _read(self, area: Area, at: int) -> None:
        while at < area.stop:
            fence = None if area.fenced else objects.opened_fence(self.lines[at])
            at = self._fenced(at, fence) if fence else self._step(area, at)

    def _fenced(self, at: int, fence: objects.Fence) -> int:
        """Read the fenced block that begins at a line; returns the index after it."""
        rows = range(at + 1, len(self.lines))
        stop = next((row for row in rows if fence.is_closed_by(self.lines[row])), len(self.lines))
        for row in range(at, stop):
            self.lines[row] = self.lines[row].removeprefix(fence.indent)
        self._current = None
        self._read(Area(self.lines, stop, fenced=True), at + 1)
        self._current = None
        return stop + 1

    def _step(self, area: Area, at: int) -> int:
        """Read the header or hunk that begins at a line; returns the index after it."""
        line, file = area.lines[at], self._current
        if line.startswith("diff --git "):
            return self._extended(area, at + 1, FileDiff(at, git_names(line[len("diff --git ") :])))
        if area.names_file(at):
            return self._file_header(area, at)
        if line.startswith("rename from ") and self._follows(area, at, "rename to "):
            return self._extended(area, at, FileDiff(at))
        if _COMBINED.match(line):
            invalid(at + 1, "the combined diff of a merge cannot be applied; expected '@@ -'")
        # The first hunk may lack its `@@` line.
        headless = file is not None and file.headed and not file.hunks
        if line.startswith("@@") or (headless and line[:1] in (" ", "+", "-")):
            file = file or self._begin(FileDiff(at))
            hunk, file.stop = area.read_hunk(at)
            file.hunks.append(hunk)
            return file.stop
        self._check_stray(area, at)
        self.outside.append(line)
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
        # A header of git directly before this one belongs to the same file.
        if file is None or file.stop != at or not file.takes(old, new):
            file = self._begin(FileDiff(at))
        file.names, file.headed, file.stop = (old, new), True, at + 2
        return file.stop

    def _follows(self, area: Area, at: int, start: str) -> bool:
        return at + 1 < area.stop and area.lines[at + 1].startswith(start)

    def _check_stray(self, area: Area, at: int) -> None:
        """Refuse a line that looks like a part of a hunk or a header at a wrong position."""
        line = area.lines[at]
        is_name = line.startswith(("--- ", "+++ ")) and self._follows(area, at, "@@")
        is_marked = line[:1] in ("+", "-") and line.rstrip() != "--"
        if is_name or (is_marked and area.fenced and self._current is not None):
            expected = "'--- ' and '+++ ' lines before a file, '@@' before a hunk"
            invalid(at + 1, f"'{shortened(line)}' is outside of any hunk; expected {expected}")


def _names(file: FileDiff, path: str | None) -> tuple[str, str]:
    """The paths before and after, `/dev/null` for none; `path` is the path of the object."""
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
    """The names of a patch relative to the path of its object, with which they must agree."""
    name = new if old == NOWHERE else old
    if not agree(path, name):
        file.wrong(f"the patch is for '{name}', but 'path' is '{path}'")
    if old == NOWHERE:
        return old, path
    # The path may include more directories than the names in the patch.
    above = path[: len(path) - len(old)] if path.endswith(f"/{old}") else ""
    return path, path if new == old else new if new == NOWHERE else above + new


def _action(file: FileDiff, old: str, new: str) -> Action:
    _check_possible(file)
    extended = file.extended
    if NOWHERE in (old, new):
        # A created or deleted file needs no places.
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
    """Refuse patches that cannot be applied as edits."""
    extended = file.extended
    if "binary" in extended:
        message = f"line {extended['binary']} of the patch: a binary patch cannot be applied"
        raise MissError("binary", message, hint="write the file directly, and omit this part")
    if "copy from" in extended or "copy to" in extended:
        file.wrong("a copy cannot be applied", "send the new file with all its lines instead")
    modes = [extended.get(key) for key in ("old mode", "new mode", *_ONE_SIDED)]
    for mode in (*modes, extended.get("index", "").partition(" ")[2]):
        if mode and mode not in _MODES:
            what = _SPECIAL.get(mode) or f"a file of mode {shortened(mode, 20)}"
            file.wrong(f"{what} cannot be patched", "omit the mode, or use 100644 or 100755")
