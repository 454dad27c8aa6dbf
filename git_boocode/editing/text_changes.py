"""The change from one text to another: diff, text edits, map of lines, hunks, and merge."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from git_boocode.editing.edits import DEFAULT_ENCODING
from git_boocode.editing.textfile import FileText, line_count, shared_ends
from git_boocode.matching.align import Hunk, script
from git_boocode.matching.text import Text, common_prefix, lines_of, split_lines
from git_boocode.repo.errors import NextStep, RefusedError, first_few

CONTEXT = 3
SHOWN_PLACES = 5
_SIDES = "local", "proposal"
REGULAR = "100644"
_UNUSUAL = re.compile('[\x00-\x1f"\\\\\x7f\ud800-\udfff]')
_TOKENS = re.compile(r"\w+|\r\n|\s|.", re.DOTALL)
_MOST_TOKENS = 5_000  # of one side; a longer hunk is replaced as a whole
_MOST_LINES = 200  # changed lines of a file that an answer repeats
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def changed_hunks(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """The changed hunks between two lists of lines, in order."""
    return [hunk for hunk in script(old, new, anchored=True) if not hunk.same]


def unified_diff(
    path: str,
    old: FileText | None,
    new: FileText | None,
    source: str | None = None,
    modes: tuple[str, str] = (REGULAR, REGULAR),
) -> str:
    """The change of one file as `git apply` takes it, which had the path ``source``; empty if none.

    ``old`` is None for a file that is created, ``new`` for one that is deleted. ``modes`` are those
    of git, before and after. A file in UTF-16 is shown as text, which git does not apply.
    """
    before = path if source is None else source
    head = [f"diff --git {quoted(f'a/{before}')} {quoted(f'b/{path}')}"]
    if old is None:
        head.append(f"new file mode {modes[1]}")
    elif new is None:
        head.append(f"deleted file mode {modes[0]}")
    elif modes[0] != modes[1]:
        head += [f"old mode {modes[0]}", f"new mode {modes[1]}"]
    if source is not None:
        head += [f"rename from {quoted(source)}", f"rename to {quoted(path)}"]
    sides = _content(old), _content(new)
    if sides[0] == sides[1]:
        return "\n".join((*head, "")) if len(head) > 1 else ""
    names = _name("a", before, old), _name("b", path, new)
    if "\0" in sides[0] + sides[1]:
        head.append(f"Binary files {names[0].strip()} and {names[1].strip()} differ")
        return "\n".join((*head, ""))
    head += [f"--- {names[0]}", f"+++ {names[1]}"]
    return "\n".join((*head, "".join(_hunks(*sides))))


def _content(text: FileText | None) -> str:
    """The text with its byte order mark, which is a part of the first line."""
    if text is None:
        return ""
    return f"\ufeff{text.text}" if text.codec == "utf-8-bom" else text.text


def _name(side: str, path: str, text: FileText | None) -> str:
    if text is None:
        return "/dev/null"
    name = quoted(f"{side}/{path}")
    # As in git, a tab follows a name that contains spaces.
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def quoted(path: str) -> str:
    """A path in git's format: C-quoted if it has control characters, quotes or invalid UTF-8."""
    if not _UNUSUAL.search(path):
        return path
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = path.encode("utf-8", "backslashreplace")
    shown = (
        _ESCAPES.get(byte) or (byte if " " <= byte <= "~" else f"\\{ord(byte):03o}")
        for byte in raw.decode("latin-1")
    )
    return f'"{"".join(shown)}"'


class ChangedRange(NamedTuple):
    """Lines that a change put into a text: the first and the last number, and without line ends.

    `end_line` is one less than `start_line` where lines were only removed. `lines` is None where
    they are left out.
    """

    start_line: int
    end_line: int
    lines: tuple[str, ...] | None

    def as_json(self) -> dict[str, object]:
        """The lines in a JSON answer."""
        values = self._asdict()
        if self.lines is None:
            del values["lines"]
        return values


def changed_lines(
    old: FileText | None, new: FileText | None, *, numbers_only: bool = False
) -> list[ChangedRange]:
    """Where the new text differs from the old one; of long changes, the numbers only."""
    if new is None:
        return []
    change = _change(old.text if old else "", new.text)
    count = sum(hunk.j2 - hunk.j1 for hunk in change.hunks)
    left_out = numbers_only or count > _MOST_LINES or "\0" in new.text
    return [
        ChangedRange(
            change.first + hunk.j1 + 1,
            change.first + hunk.j2,
            None if left_out else tuple(map(_without_end, change.new[hunk.j1 : hunk.j2])),
        )
        for hunk in change.hunks
    ]


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


class _ChangedPart(NamedTuple):
    """The part of two texts in which they differ, with the lines around it.

    `first` is the number of lines above it.
    """

    first: int
    old: list[str]
    new: list[str]
    hunks: list[Hunk]


def _change(before: str, after: str) -> _ChangedPart:
    # Only what changed is split into lines, with its context.
    above, below = shared_ends(before, after)
    for _ in range(CONTEXT):
        above = before.rfind("\n", 0, max(above - 1, 0)) + 1
        below = max(below - len(before[len(before) - below :].partition("\n")[0]) - 1, 0)
    old = split_lines(before[above : len(before) - below])
    new = split_lines(after[above : len(after) - below])
    return _ChangedPart(before.count("\n", 0, above), old, new, changed_hunks(old, new))


def _hunks(before: str, after: str) -> Iterator[str]:
    first_line, old, new, hunks = _change(before, after)
    groups: list[list[Hunk]] = []
    for hunk in hunks:
        if groups and hunk.i1 - groups[-1][-1].i2 <= 2 * CONTEXT:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    for group in groups:
        first, last = group[0], group[-1]
        start, end = max(first.i1 - CONTEXT, 0), min(last.i2 + CONTEXT, len(old))
        new_start, new_end = first.j1 - (first.i1 - start), last.j2 + (end - last.i2)
        lines = _extent(first_line, start, end), _extent(first_line, new_start, new_end)
        yield f"@@ -{lines[0]} +{lines[1]} @@\n"
        for hunk in group:
            yield from (_line(" ", line) for line in old[start : hunk.i1])
            yield from (_line("-", line) for line in old[hunk.i1 : hunk.i2])
            yield from (_line("+", line) for line in new[hunk.j1 : hunk.j2])
            start = hunk.i2
        yield from (_line(" ", line) for line in old[start:end])


def _extent(above: int, start: int, end: int) -> str:
    count, first = end - start, above + start + (end > start)
    return str(first) if count == 1 else f"{first},{count}"


def _line(sign: str, line: str) -> str:
    return sign + line + ("" if line.endswith("\n") else "\n\\ No newline at end of file\n")


def without_common_indentation(diff: str) -> str:
    """A diff for display: each hunk without the common indentation of its lines."""
    head, *hunks = re.split(r"(?m)^(?=@@ -)", diff)
    for hunk in hunks:
        header, *lines = split_lines(hunk)
        text = [line[1:] for line in lines if line[1:].strip() and line[0] != "\\"]
        indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in text]
        least = min(indents, default="")
        shared = least[: common_prefix(least, max(indents, default=""))]
        head += header + "".join(
            line if line[0] == "\\" else line[0] + line[1:].removeprefix(shared) for line in lines
        )
    return head


# Text edits in the terms of the Language Server Protocol 3.17. A range counts lines and characters
# from 0. A line ends with LF, CR LF or CR. A character is a code unit of the position encoding:
# `utf-8`, `utf-16` or `utf-32`. A byte order mark is not part of the text.


class PlacedEdit(NamedTuple):
    """The text between two positions, each a line and a character from 0, and what replaces it."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str

    def as_json(self) -> dict[str, object]:
        """The edit as an editor takes it."""
        ends = {"start": self.start, "end": self.end}
        places = {
            key: {"line": line, "character": character} for key, (line, character) in ends.items()
        }
        return {"range": places, "newText": self.text}


def text_edits(old: str, new: str, encoding: str = DEFAULT_ENCODING) -> list[dict[str, object]]:
    """The edits that make `new` of `old`, as JSON: in order, disjoint, and as small as tokens.

    An editor that applies them to the old text has exactly the new text, and keeps cursors, marks
    and folds in everything that they do not touch.
    """
    return [edit.as_json() for edit in placed_edits(old, new, encoding)]


def placed_edits(old: str, new: str, encoding: str = DEFAULT_ENCODING) -> list[PlacedEdit]:
    """The edits that make `new` of `old`; none begins or ends inside of a CR LF."""
    positions = _Positions(old, encoding)
    above, below = shared_ends(old, new)
    before = split_lines(old[above : len(old) - below])
    after = split_lines(new[above : len(new) - below])
    starts, new_starts = _offsets(before, above), _offsets(after, above)
    return [
        PlacedEdit(positions.of(at + start), positions.of(at + end), text)
        for hunk in changed_hunks(before, after)
        for at in [starts[hunk.i1]]
        for start, end, text in _within(
            old[at : starts[hunk.i2]], new[new_starts[hunk.j1] : new_starts[hunk.j2]]
        )
    ]


def _within(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """The changed parts of some lines, token by token: offsets, and what replaces them."""
    before, after = _TOKENS.findall(old), _TOKENS.findall(new)
    if max(len(before), len(after)) > _MOST_TOKENS:
        before, after = [old], [new]
    starts, new_starts = _offsets(before), _offsets(after)
    for hunk in changed_hunks(before, after):
        start, end = starts[hunk.i1], starts[hunk.i2]
        part, text = old[start:end], new[new_starts[hunk.j1] : new_starts[hunk.j2]]
        above = common_prefix(part, text)
        above -= _is_inside_line_end(part, above)
        below = common_prefix(part[above:][::-1], text[above:][::-1])
        below -= _is_inside_line_end(part, len(part) - below)
        yield start + above, end - below, text[above : len(text) - below]


def _is_inside_line_end(text: str, offset: int) -> bool:
    return text[offset - 1 : offset + 1] == "\r\n" if offset else False


def _offsets(parts: list[str], first: int = 0) -> list[int]:
    """The offset at which each part begins, and the one at which the last one ends."""
    return [*accumulate(map(len, parts), initial=first)]


class _Positions:
    """Turns the offsets of a text into positions; they come in order, and never inside a CR LF."""

    def __init__(self, text: str, encoding: str) -> None:
        self._text = text
        self._encoding = encoding
        self._at = self._start = self._line = 0  # the last offset, and the start of its line

    def of(self, offset: int) -> tuple[int, int]:
        """The position of an offset."""
        text, passed = self._text, (self._at, offset)
        lines = text.count("\n", *passed) + text.count("\r", *passed) - text.count("\r\n", *passed)
        if lines:
            self._line += lines
            self._start = max(text.rfind("\n", *passed), text.rfind("\r", *passed)) + 1
        self._at = offset
        return self._line, _length(text[self._start : offset], self._encoding)


def _length(text: str, encoding: str) -> int:
    """The length of a text in code units; a byte that is not UTF-8 counts as one."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogateescape"))
    return len(text) + sum(character > "\uffff" for character in text)


class LineMap:
    """Maps the current lines of a text to its original lines, through a sequence of edits."""

    def __init__(self) -> None:
        self._origin: list[int] | None = None

    def follow(self, old: str, new: str) -> None:
        """Record that a text was edited from old to new."""
        start, below = shared_ends(old, new)
        before = split_lines(old[start : len(old) - below])
        after = split_lines(new[start : len(new) - below])
        origin = self._origin or list(range(1, line_count(old) + 1))
        first = old.count("\n", 0, start)
        now = origin[:first]
        for hunk in script(before, after, anchored=True):
            # Added lines map to the line above them; at the top of the file, to the first one.
            rows = origin[first + hunk.i1 : first + hunk.i2] or [now[-1] if now else 1]
            now += [rows[min(row, len(rows) - 1)] for row in range(hunk.j2 - hunk.j1)]
        self._origin = now + origin[first + len(before) :]

    def original(self, line: int) -> int:
        """The original number of a line; of a neighbour for an added line."""
        if not self._origin or line < 1:
            return line
        return self._origin[min(line, len(self._origin)) - 1]

    def current(self, line: int) -> int:
        """The current number of an original line; of the next one for a deleted line."""
        return bisect_left(self._origin, line) + 1 if self._origin else line

    def original_range(self, start: int, end: int) -> tuple[int, int]:
        """The original numbers of a range of lines; an empty range stays empty."""
        if end < start:
            return self.original(end) + 1, self.original(end)
        first, last = self.original(start), self.original(end)
        return first, max(first, last)


# Hunks, and the merge of a proposed text into the user's


def in_words(ranges: Iterable[tuple[int, int]]) -> list[str]:
    """Ranges of lines, 1-based and inclusive, in words."""
    return [lines_of(*pair) for pair in ranges]


class MergedText(NamedTuple):
    """The merged text, and the conflicts: 1-based lines of the user's text, both ends inclusive.

    The end of an empty range is one less than its start.
    """

    text: FileText
    conflicts: tuple[tuple[int, int], ...] = ()

    @property
    def places(self) -> list[str]:
        """The conflicting lines in words."""
        return in_words(self.conflicts)


class TextHunk(NamedTuple):
    """A changed block of lines: its number, from 1, and the 1-based lines of both texts.

    Both ends are inclusive; the end of an empty range is one less than its start.
    """

    number: int
    start_line: int
    end_line: int
    new_start_line: int
    new_end_line: int
    old_text: str
    new_text: str


def is_binary(text: FileText) -> bool:
    """Whether a file has no lines to merge."""
    return "\0" in text.text


def merge_texts(
    base: FileText, ours: FileText, theirs: FileText, *, favour_theirs: bool = False
) -> MergedText:
    """Apply the change from `base` to `theirs` to `ours`, as `git merge-file` does.

    With `favour_theirs`, conflicting lines are theirs, instead of both with markers.
    """
    from git_boocode.matching.three_way import merge_three_way, spliced_rows, with_our_endings

    merge = merge_three_way(base.text, ours.text, theirs.text)
    if merge.text is not None:
        return MergedText(ours._replace(text=merge.text))
    rows = split_lines(ours.text)
    new = split_lines(with_our_endings(base.text, ours.text, theirs.text))
    ending = Text(ours.text or theirs.text).usual_ending
    changes = [(*region.ours, new[slice(*region.theirs)]) for region in merge.taken]
    for region in merge.conflicts:
        sides = rows[slice(*region.ours)], new[slice(*region.theirs)]
        both = conflict_block(*sides, ending, _SIDES)
        changes.append((*region.ours, new[slice(*region.theirs)] if favour_theirs else both))
    text = spliced_rows(rows, sorted(changes, key=lambda change: change[:2]))
    conflicts = tuple((region.ours[0] + 1, region.ours[1]) for region in merge.conflicts)
    return MergedText(ours._replace(text=text), conflicts)


def conflict_block(
    ours: Sequence[str], theirs: Sequence[str], ending: str, names: tuple[str, str]
) -> list[str]:
    """The lines of both sides of a conflict between markers, which name the sides."""
    # A marker is a line of its own, also after a last line without an end.
    mine, other = (
        [row if row.endswith("\n") else row + ending for row in side] for side in (ours, theirs)
    )
    first, last = f"<<<<<<< {names[0]}{ending}", f">>>>>>> {names[1]}{ending}"
    return [first, *mine, f"======={ending}", *other, last]


def text_hunks(old: str, new: str) -> list[TextHunk]:
    """The hunks from one text to another, without lines around them."""
    before, after = split_lines(old), split_lines(new)
    return [
        TextHunk(
            number,
            hunk.i1 + 1,
            hunk.i2,
            hunk.j1 + 1,
            hunk.j2,
            "".join(before[hunk.i1 : hunk.i2]),
            "".join(after[hunk.j1 : hunk.j2]),
        )
        for number, hunk in enumerate(changed_hunks(before, after), 1)
    ]


def without_hunk(does: str, *, expects_version: bool = True) -> NextStep:
    """The hint for what has no such hunks: what the same call does without them.

    A version that is expected is that of the hunks' file.
    """
    given = {"hunk": None, **({"expect": None} if expects_version else {})}
    return NextStep(f"leave out {{}} to {does}", "hunk", typed="--hunk", given=given)


def check_numbers(
    path: str, hunks: Sequence[TextHunk], numbers: Collection[int], step: str
) -> None:
    """Refuse numbers that no hunk has (`not_found`); `step` is what lists the hunks."""
    known = {hunk.number for hunk in hunks}
    if not (missing := sorted({*numbers} - known)):
        return
    count = "no hunks" if not hunks else f"only {len(hunks)} hunk{'s' * (len(hunks) > 1)}"
    shown = [f"{hunk.number} at line {hunk.start_line}" for hunk in hunks]
    hint = f"the hunks are: {first_few(shown, SHOWN_PLACES)}"
    given = {"path": path} if step == "preview" else {step: True, "hunk": None}
    raise RefusedError(
        f"'{path}' has {count}, not a hunk {missing[0]}",
        code="not_found",
        hints=(NextStep(hint, step, given=given),) if hunks else (),
    )


def with_hunks(old: str, new: str, numbers: Collection[int]) -> str:
    """The old text with some of the `text_hunks` to the new one."""
    return spliced(old, (hunk for hunk in text_hunks(old, new) if hunk.number in numbers))


def spliced(old: str, hunks: Iterable[TextHunk]) -> str:
    """A text with some of its `text_hunks`, in order."""
    from git_boocode.matching.three_way import spliced_rows

    changes = ((hunk.start_line - 1, hunk.end_line, [hunk.new_text]) for hunk in hunks)
    return spliced_rows(split_lines(old), changes)
