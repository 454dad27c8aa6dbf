"""The action of the format `lines`: replace, delete and insert lines of a version by their numbers.

Nothing is searched. All changes of a call count the lines of the version that they name.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.actions import check_text, existing, joined
from git_boocode.editing.edits import AppliedEdit, EditResult, MatchOptions, MissError, edit_name
from git_boocode.editing.kept_versions import abbreviated
from git_boocode.editing.textfile import FileText, uniform_crlf
from git_boocode.matching.text import lines_of, split_lines
from git_boocode.repo.errors import first_few

if TYPE_CHECKING:
    from git_boocode.matching.three_way import Place

RUNG = "lines"
_LISTED = 10  # maximum number of places in a note
_COMBINE = "merge changes of the same lines into one"
_MIN_LETTERS = 6  # minimum number of letters and digits of a line that hardly occurs twice on end
_MIN_WORDS = 5  # minimum number of words and signs of a line that is compared with others
_MAX_COMPARED = 3_000  # maximum number of characters of such lines
_GUTTER = r"[ ]*(\d{1,7})\|(?: |$)"
"""The line number that `git boocode read` prints before a line; few edits need it compiled."""


class LineChange(NamedTuple):
    """Replace the lines `first` to `last` of a version, 1-based and inclusive, by `content`.

    An insertion has `last == first - 1`; with `first` None it is below the last line. `content` has
    lines without their endings; an empty one deletes.
    """

    first: int | None
    last: int
    content: tuple[str, ...]


class LineChanges(NamedTuple):
    """Several changes of one version; insertions at the same place keep their order."""

    changes: tuple[LineChange, ...]

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Make the changes in a text that has the version."""
        text = existing(text)
        return VersionEdits(text, text, "").applied(self, 0, text, how)


class _LineSplice(NamedTuple):
    """New lines for the rows `first` to `stop` (exclusive) of a version.

    `label` is the name of the change in its edit, empty if it is the only one.
    """

    first: int
    stop: int
    content: tuple[str, ...]
    edit: int
    label: str

    @property
    def where(self) -> str:
        """The replaced lines in words."""
        return lines_of(self.first + 1, self.stop)


class VersionEdits:
    """The line changes of a call for one version of a file.

    `before` is the file before the call, and `base` the version's id in messages.
    """

    def __init__(self, version: FileText, before: FileText, base: str) -> None:
        self.version, self.before, self.base = version, before, abbreviated(base)
        self._rows = split_lines(version.text)
        self._splices: list[_LineSplice] = []
        # The file after these edits, None if other edits of the call have changed it, too.
        self._left: FileText | None = before

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self._rows)

    @cached_property
    def _has_numbers(self) -> bool:
        return any(re.match(_GUTTER, row) for row in self._rows)

    def is_alone(self, text: FileText) -> bool:
        """Whether only these edits have changed the file so far, to `text`."""
        return self._left == text

    def applied(
        self, action: LineChanges, number: int, text: FileText, how: MatchOptions
    ) -> EditResult:
        """Make one more edit in the version, and merge it into the file, which is now `text`.

        The lines of the result, and of a MissError, are those of the file before the call if
        `is_alone`, else those of `text`.
        """
        if "\0" in self.version.text or "\0" in text.text:
            raise MissError("binary", "the file is binary: it has no lines to replace")
        own, notes = self._placed(action, number, how)
        every = [*self._splices, *own]
        edited, alone = self._edited(every), self.is_alone(text)
        if not alone:
            base = self._edited(self._splices)
            result = self._merged(base, edited, text, self._moved(own))
        elif self.version == self.before:
            result = EditResult(edited, _applied(own))
        else:
            # On its own first, so that its lines and its errors are about this edit only.
            result = self._merged(self.version, self._edited(own), self.before, own)
            if self._splices:
                merged = self._merged(self.version, edited, self.before, own, every)
                result = result._replace(text=merged.text)
        self._splices = every
        self._left = result.text if alone else None
        applied = result.applied
        return result._replace(applied=applied._replace(notes=(*applied.notes, *notes)))

    def _merged(
        self,
        base: FileText,
        edited: FileText,
        text: FileText,
        splices: Sequence[_LineSplice],
        changes: Sequence[_LineSplice] = (),
    ) -> EditResult:
        """Merge the change from an older text to an edited one into the present text.

        The result is about `splices`, which are all its `changes` unless these are given.
        """
        from git_boocode.editing.versions import OlderText, merged_result

        is_older = self.version != self.before
        older = OlderText(base, self.base if is_older else "the start of the call")
        rows = [(splice.first, splice.stop) for splice in splices]
        made = EditResult(edited, _applied(splices))
        places = _places(base.text, changes or splices)
        try:
            return merged_result(made, older, text, rows, proven=True, places=places)
        except MissError as miss:
            if is_older or miss.code != "stale":
                raise
            raise MissError(
                "overlap",
                miss.message,
                lines=miss.lines,
                candidates=miss.candidates,
                hint=_COMBINE,
            ) from None

    def _placed(
        self, action: LineChanges, number: int, how: MatchOptions
    ) -> tuple[list[_LineSplice], tuple[str, ...]]:
        """The changes as splices in ascending order, with notes; one error for all problems."""
        many = len(action.changes) > 1
        own: list[_LineSplice] = []
        misses: list[MissError] = []
        stripped = False
        for at, change in enumerate(action.changes):
            splice = self._splice(change, number, f"changes[{at}]" if many else "")
            if miss := self._problem(splice, how):
                prefix = f"{splice.label}: " if many else ""
                misses.append(miss.reworded(prefix + miss.message))
                continue
            content = splice.content if how.verbatim else self._without_numbers(splice)
            stripped = stripped or content != splice.content
            own.append(splice._replace(content=content))
        every = _ordered([*self._splices, *own])
        misses += self._overlaps(every, number)
        for at, splice in enumerate(every):
            if splice.edit == number and not how.verbatim:
                others = every[max(at - 1, 0) : at] + every[at + 1 : at + 2]
                misses += self._off_by_one(splice, others)
        if misses:
            raise joined(misses)
        own = _ordered(own)
        notes = ["line numbers stripped"] if stripped else []
        if many:
            notes.append(f"changes: {first_few([one.where for one in own], _LISTED)}")
        return own, tuple(notes)

    def _splice(self, change: LineChange, number: int, label: str) -> _LineSplice:
        if change.first is None:
            end = len(self._rows)
            return _LineSplice(end, end, change.content, number, label)
        return _LineSplice(change.first - 1, change.last, change.content, number, label)

    def _problem(self, splice: _LineSplice, how: MatchOptions) -> MissError | None:
        """The error for lines that the version does not have, or for unsuitable content."""
        count, inserts = len(self._rows), splice.first == splice.stop
        try:
            check_text(self.version, "\n".join(splice.content), how)
        except MissError as miss:
            return miss
        if splice.stop <= count:
            return None
        has = "is empty" if not count else f"has {count} line{'s' if count > 1 else ''}"
        message = f"cannot {'insert' if inserts else 'replace'} {splice.where}: that version {has}"
        hint = f"to add lines at the end, insert with after_line: {count}"
        return MissError("invalid_input", message, hint=hint)

    def _overlaps(self, splices: list[_LineSplice], number: int) -> Iterator[MissError]:
        """The errors of an edit's changes that touch the same lines as others."""
        above: _LineSplice | None = None
        for splice in splices:
            if above and splice.first < above.stop and number in (above.edit, splice.edit):
                same = above.edit == splice.edit
                names = " and ".join(
                    f"{one.label if same else _full_name(one)} ({one.where})"
                    for one in (above, splice)
                )
                lines = (above.first + 1, splice.first + 1) if self.version == self.before else ()
                yield MissError("overlap", f"{names} overlap", lines=lines, hint=_COMBINE)
            above = max(above or splice, splice, key=lambda one: one.stop)

    def _off_by_one(
        self, splice: _LineSplice, others: Sequence[_LineSplice]
    ) -> Iterator[MissError]:
        """The errors of content that belongs to the line above or below its place.

        Either it begins or ends with that line, which is unique and no end of a block; or it is one
        line, nearly that line, and nothing like the one that it replaces. Of 94,353 hunks in seven
        histories, six are the former and four the latter; of ranges that are off by one, half are
        the former if they have unchanged lines in their content, and of others that are one line,
        a third are the latter.
        """
        rows, prefix = self._rows, f"{splice.label}: " if splice.label else ""
        height = splice.stop - splice.first
        # The first and the last of the lines that are replaced.
        ends = [rows[row].rstrip("\r\n") for row in (splice.first, splice.stop - 1) if height]
        edges = ((splice.first - 1, 0, "begins"), (splice.stop, -1, "ends"))
        # A single line may be inserted to repeat the one beside it.
        for row, edge, verb in edges if len(splice.content) > (height == 0) else ():
            if not 0 <= row < len(rows) or any(
                one.first <= row + 1 and row <= one.stop for one in others
            ):
                continue
            number, beside, new = row + 1, rows[row].rstrip("\r\n"), splice.content[edge]
            if beside == new:
                if self._counts[rows[row]] > 1 or (height and ends[edge] == new):
                    continue
                if not _is_telling(new):
                    continue
                message = f"line {number} would occur twice: the content {verb} with it"
                hint = (
                    f"leave that line out of the content; if it must occur twice, replace line "
                    f"{number} as well, and write it twice"
                )
            elif len(splice.content) == height == 1 and _is_of(new, beside, ends[0]):
                message = f"the content is line {number} changed, but replaces {splice.where}"
                hint = f"send number {number} if that line is meant, else replace both lines"
            else:
                continue
            lines = (number,) if self.version == self.before else ()
            yield MissError("invalid_input", f"{prefix}{message}", lines=lines, hint=hint)

    def _without_numbers(self, splice: _LineSplice) -> tuple[str, ...]:
        """The new lines without line numbers that the model has copied with the lines.

        All lines have consecutive numbers: those of the lines that are replaced, or one of them is
        as it is in the version. In a version with such numbers they are content, and an edit that
        only adds them is meant so.
        """
        if not all("|" in line for line in splice.content):
            return splice.content
        found = [re.match(_GUTTER, line) for line in splice.content]
        numbers = [int(match[1]) for match in found if match]
        if (
            not numbers
            or len(numbers) < len(found)
            or any(below - above != 1 for above, below in pairwise(numbers))
            or self._has_numbers
        ):
            return splice.content
        bare = tuple(match.string[match.end() :] for match in found if match)
        is_own = splice.first < splice.stop and numbers[0] == splice.first + 1
        copied = zip(numbers, bare, strict=True)
        if not (is_own or any(line.strip() and line == self._line(at) for at, line in copied)):
            return splice.content
        old = (row.rstrip("\r\n") for row in self._rows[splice.first : splice.stop])
        return splice.content if bare == tuple(old) else bare

    def _line(self, number: int) -> str | None:
        """A line of the version without its ending, by its 1-based number."""
        return self._rows[number - 1].rstrip("\r\n") if 0 < number <= len(self._rows) else None

    def _moved(self, splices: Sequence[_LineSplice]) -> list[_LineSplice]:
        """The splices, with the rows that they have after the earlier edits of the version."""
        earlier = _ordered(self._splices)
        moved = []
        for splice in splices:
            above = earlier[: bisect_left(earlier, (splice.first, splice.stop + 1), key=_place)]
            shift = sum(len(one.content) - (one.stop - one.first) for one in above)
            moved.append(splice._replace(first=splice.first + shift, stop=splice.stop + shift))
        return moved

    def _edited(self, splices: Sequence[_LineSplice]) -> FileText:
        """The version with the changes; it keeps its line endings, and lacks a final newline."""
        rows, text = self._rows, self.version.text
        ending = "\r\n" if uniform_crlf(text) else "\n"
        is_mixed = ending == "\n" and "\r" in text
        is_open = text != "" and not text.endswith("\n")
        pieces: list[str] = []
        at = 0

        def ending_of(row: int) -> str:
            return "\r\n" if is_mixed and rows[row].endswith("\r\n") else ending

        for splice in _ordered(splices):
            pieces += rows[at : splice.first]
            if is_open and at < len(rows) == splice.first:
                pieces[-1] += ending_of(max(splice.first - 2, 0))
            last = (
                max(splice.stop - 1, splice.first)
                if splice.first < splice.stop
                else splice.first - 1
            )
            pieces += [
                line + ending_of(max(min(splice.first + index, last), 0))
                for index, line in enumerate(splice.content)
            ]
            at = splice.stop
        pieces += rows[at:]
        if is_open and at == len(rows) and pieces:
            pieces[-1] = pieces[-1].removesuffix("\n").removesuffix("\r")
        return self.version._replace(text="".join(pieces))


def _applied(splices: Sequence[_LineSplice]) -> AppliedEdit:
    start, stop = splices[0].first, max(splice.stop for splice in splices)
    return AppliedEdit(rung=RUNG, count=len(splices), start_line=start + 1, end_line=stop)


def _places(text: str, splices: Sequence[_LineSplice]) -> list[Place]:
    """The rows of the splices in a text, and in the text that they make of it."""
    places: list[Place] = []
    shift = 0
    for splice in _ordered(splices):
        first, made = splice.first, splice.first + shift
        shift += len(splice.content) - (splice.stop - splice.first)
        if places and first == places[-1][0][1]:
            (first, _), (made, _) = places.pop()
        places.append(((first, splice.stop), (made, splice.stop + shift)))
    (first, stop), (made, end) = places[-1]
    if first and not text.endswith("\n") and stop == len(split_lines(text)):
        # The line above gets or loses a line ending.
        places[-1] = (first - 1, stop), (made - 1, end)
    return places


def _ordered(splices: Sequence[_LineSplice]) -> list[_LineSplice]:
    return sorted(splices, key=_place)


def _place(splice: _LineSplice) -> tuple[int, int]:
    return splice.first, splice.stop


def _full_name(splice: _LineSplice) -> str:
    return ", ".join(filter(None, (edit_name(splice.edit), splice.label)))


def _is_telling(line: str) -> bool:
    """Whether a line of several words hardly occurs twice on end; the end of a block does."""
    words = re.findall(r"\w+", line)
    is_end = bool(words) and (words[0].startswith("end") or "</" in line)
    return len(words) > 1 and sum(map(str.isalnum, line)) >= _MIN_LETTERS and not is_end


def _is_of(new: str, line: str, other: str) -> bool:
    """Whether a line is nearly the same as one line, and nothing like the other."""
    if len(new) + len(line) + len(other) > _MAX_COMPARED:
        return False
    words, *others = (Counter(re.findall(r"\w+|[^\w\s]", text)) for text in (new, line, other))
    count = sum(words.values())
    near, far = (
        2 * sum((words & each).values()) / (count + sum(each.values()) or 1) for each in others
    )
    return count >= _MIN_WORDS and near >= 0.9 and far <= 0.5
