"""Apply the hunks of one file of a patch, all of them or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.actions import MAX_LINES, check_text, mode_notes
from git_boocode.editing.edits import How, Landing, MissError, Outcome, lines_of, listed, short
from git_boocode.editing.textfile import Text

if TYPE_CHECKING:
    from git_boocode.matching import Candidate, MatchError
    from git_boocode.matching.align import Hunk
    from git_boocode.matching.rungs import Query
    from git_boocode.matching.sequence import Placement
    from git_boocode.matching.text import Text as Lines

MAX_LISTED = 5
"""At most this many line numbers, and other hunks, are named in a message."""
_MAX_LINE = 80
_MAX_CANDIDATES = 10
_BOM = "\ufeff"
_APPLIED = "read the file again; leave out what it has already"
_ORDER = "put the hunks into the order of the file"
_CONTEXT = "add the unchanged lines above and below as context, each after a space"


class PatchLine(NamedTuple):
    """One line of a hunk.

    Attributes:
        op: a space for an unchanged line, `-` for a removed one, `+` for an added one.
        text: the line with its ending; none where the patch says that the file ends without.
    """

    op: str
    text: str


class PatchHunk(NamedTuple):
    """A change of one stretch of a file.

    Attributes:
        header: the line that opens it, as in the patch; empty if there is none.
        row: the line of the patch, from 1, at which it begins.
        lines: its lines in order.
        start: the row of the file, from 0, at which the patch says its old lines begin; None if it
            does not say.
        sections: lines of the file, outermost first, under which the place lies.
        within: whether the place must lie below them; else they only decide between places.
        at_end: whether its old lines must be the last ones of the file.
        unmarked: whether context lines lack the space before them.
        notes: what was done to read it.
    """

    header: str
    row: int
    lines: tuple[PatchLine, ...]
    start: int | None = None
    sections: tuple[str, ...] = ()
    within: bool = False
    at_end: bool = False
    unmarked: bool = False
    notes: tuple[str, ...] = ()

    @property
    def old(self) -> list[str]:
        """The lines that the file must hold, with their endings."""
        return [line.text for line in self.lines if line.op != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that the file holds afterwards, with their endings."""
        return [line.text for line in self.lines if line.op != "-"]

    @property
    def opens(self) -> tuple[bool, bool] | None:
        """Whether the old, and the new, lines end without a line ending; None if unchanged."""
        if not self.lines or self.lines[-1].op == " ":
            return None
        old, new = (bool(of) and not of[-1].endswith("\n") for of in (self.old, self.new))
        return (old, new) if old or new else None


class PatchAction(NamedTuple):
    """Apply the hunks of one file.

    Attributes:
        hunks: the hunks, in the order of the file.
        preimage: the id, perhaps abbreviated, of the blob that the patch was made from, or None.
            A file that is that very blob proves the line numbers.
        notes: what was done to read the patch.
        executable: whether to make the file executable; None leaves its mode.
    """

    hunks: tuple[PatchHunk, ...]
    preimage: str | None = None
    notes: tuple[str, ...] = ()
    executable: bool | None = None

    @property
    def anchors(self) -> str:
        """The old lines of all hunks."""
        return "".join(line for hunk in self.hunks for line in hunk.old)

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Place every hunk and make all changes."""
        if text is None:
            return self._create()
        for hunk in self.hunks:
            check_text(text, "".join(line.text for line in hunk.lines if line.op == "+"), how)
        # Detecting the format of an input needs no engine.
        from git_boocode.matching import MatchError
        from git_boocode.matching.sequence import place_changes
        from git_boocode.matching.text import Text as Lines

        file = Lines(text.text)
        is_open = bool(text.text) and not file.closed
        content = Lines(text.text + file.usual_ending) if is_open else file
        present = frozenset(line.rstrip() for line in content.lines)
        given = _without_mark(self.hunks, text)
        read = [_respaced(hunk, present) for hunk in given]
        hunks = [back or hunk for hunk, back in zip(given, read, strict=True)]
        proven = self._is(text)
        queries = [_query(content, hunk, proven=proven) for hunk in hunks]
        profile = "exact" if text.is_raw else how.profile
        try:
            found = place_changes(queries, profile, verbatim=how.verbatim or text.is_raw)
        except MatchError as error:
            raise MissError(error.code, error.message) from None
        unclear = {index for index, back in enumerate(read) if back is None}
        report = _Report(hunks, _checked(hunks, found, unclear, len(content.lines)), content.lines)
        if report.errors:
            miss = report.miss()
            raise _as_binary(miss) if text.is_raw and miss.code == "not_found" else miss
        made = _joined(content.raw, report.placed)
        last = next((hunk for hunk in hunks if hunk.opens), None)
        if last.opens[1] if last and last.opens else is_open:
            # The carriage return of a last line that ends without a newline is its own.
            own = "".join(last.new) if last else text.text
            made = made.removesuffix("\n" if own.endswith("\r") else file.usual_ending)
        notes = (*self.notes, *mode_notes(self.executable))
        return Outcome(text._replace(text=made), report.landing(notes), self.executable)

    def _create(self) -> Outcome:
        """Make a file that is missing, if the patch is for an empty one."""
        if any(hunk.old for hunk in self.hunks) or self.hunks[0].start != 0:
            raise MissError("missing_file", "there is no such file")
        content = "".join(line for hunk in self.hunks for line in hunk.new)
        notes = (*self.notes, *mode_notes(self.executable))
        landing = Landing("exact", "create", 1.0, 1, 1, 0, notes)
        return Outcome(Text(content), landing, self.executable)

    def _is(self, text: Text) -> bool:
        """Whether a file's text is the blob that the patch names."""
        if self.preimage is None or not self.preimage.strip("0"):
            return False
        import hashlib

        data = text.encode()
        blob = b"blob %d\0%b" % (len(data), data)
        # Git's ids are names here, not a safeguard.
        ids = [
            hashlib.new(name, blob, usedforsecurity=False).hexdigest()
            for name in ("sha1", "sha256")
        ]
        return any(identifier.startswith(self.preimage) for identifier in ids)


def _closed(lines: Sequence[str]) -> str:
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _query(content: Lines, hunk: PatchHunk, *, proven: bool) -> Query:
    from git_boocode.matching.rungs import Hints, Query

    hints = Hints(
        None if hunk.start is None else hunk.start + 1,
        proven=proven,
        sections=hunk.sections,
        within=hunk.within,
        at_end=hunk.at_end or bool(hunk.opens),
        strict=hunk.unmarked,
        script=tuple(_script(hunk.lines)),
    )
    return Query(content, _closed(hunk.old), _closed(hunk.new), whole_lines=True, hints=hints)


def _checked(
    hunks: Sequence[PatchHunk],
    found: Sequence[Placement | MatchError],
    unclear: set[int],
    count: int,
) -> Iterator[Placement | MatchError]:
    """What was found, without places where the marks of a hunk or the end of the file matter."""
    from git_boocode.matching import MatchError

    for index, (hunk, place) in enumerate(zip(hunks, found, strict=True)):
        if isinstance(place, MatchError):
            yield place
        elif index in unclear and place.rung != "exact":
            yield MatchError("not_found", _UNCLEAR)
        elif hunk.opens and place.stop < count:
            yield MatchError("not_found", "it must be at the end of the file")
        else:
            yield place


def _script(lines: Sequence[PatchLine]) -> Iterator[Hunk]:
    """The runs of lines that stay, and of those that go and come between them."""
    from git_boocode.matching.align import Hunk

    i = j = i1 = j1 = 0
    same: bool | None = None
    for line in lines:
        if same is not None and same != (line.op == " "):
            yield Hunk(same, i1, i, j1, j)
            i1, j1 = i, j
        same = line.op == " "
        i, j = i + (line.op != "+"), j + (line.op != "-")
    if same is not None:
        yield Hunk(same, i1, i, j1, j)


def _joined(content: str, placed: Sequence[Placement]) -> str:
    pieces, at = [], 0
    for place in placed:
        pieces += [content[at : place.splice.start], place.splice.text]
        at = place.splice.end
    return "".join([*pieces, content[at:]])


def _as_binary(error: MissError) -> MissError:
    return MissError(
        "binary",
        "the file is no UTF-8 or UTF-16 text, so only an exact match counts, and there is none: "
        + error.message,
        lines=error.lines,
        candidates=error.candidates,
        hint=error.hint,
    )


def _without_mark(hunks: tuple[PatchHunk, ...], text: Text) -> tuple[PatchHunk, ...]:
    """The hunks as the text is: without the byte order mark, which is not part of it."""
    if not hunks or text.codec == "utf-8" or text.is_raw:
        return hunks
    lines = [line for line in hunks[0].lines if line.text.startswith(_BOM)]
    if {line.op for line in lines} in ({"+"}, {"-"}):
        raise MissError(
            "invalid_input", "the patch changes the byte order mark, which cannot be done"
        )
    bare = tuple(PatchLine(line.op, line.text.removeprefix(_BOM)) for line in hunks[0].lines)
    return (hunks[0]._replace(lines=bare), *hunks[1:])


# Context lines without the space that marks them


def _respaced(hunk: PatchHunk, present: frozenset[str]) -> PatchHunk | None:
    """The hunk with the space back that its context lines lack, where the file has them so.

    A hunk all of which is indented by one space less than the file looks the same; then its other
    lines lack that space as well. None if it is unclear which of both it is.

    Args:
        hunk: the hunk.
        present: the lines of the file without trailing whitespace.
    """
    lines = tuple(
        PatchLine(" ", f" {line.text}") if line.op == " " and _lacks_mark(line, hunk, present)
        else line
        for line in hunk.lines
    )  # fmt: skip
    if lines == hunk.lines:
        return hunk
    notes = () if hunk.unmarked else (UNMARKED,)
    spaced = hunk._replace(lines=lines, notes=(*hunk.notes, *notes))
    removed = [_is_there(line, present) for line in hunk.lines if line.op == "-"]
    votes = {there for there in removed if there is not None} or set(_depth_votes(hunk, spaced))
    added = any(line.op == "+" and line.text.strip() for line in hunk.lines)
    if hunk.unmarked or votes == {True} or not (votes or added):
        return spaced
    return hunk if votes == {False} else None


UNMARKED = "context lines lack their leading blank"
_UNCLEAR = (
    "its context lines have one space more in the file, and it is unclear whether their marks are "
    "missing or the whole hunk is indented less"
)


def _lacks_mark(line: PatchLine, hunk: PatchHunk, present: frozenset[str]) -> bool:
    there = _is_there(line, present)
    # Where some lines surely lack it, lines that are there either way lack it as well.
    either = hunk.unmarked and there is None and f" {line.text.rstrip()}" in present
    return there is False or either


def _is_there(line: PatchLine, present: frozenset[str]) -> bool | None:
    """Whether the file has a line as it is, or with one space more; None if neither or both."""
    text = line.text.rstrip()
    as_is, spaced = text in present, f" {text}" in present
    return as_is if text and as_is != spaced else None


def _depth_votes(hunk: PatchHunk, spaced: PatchHunk) -> Iterator[bool]:
    """For each added line whether its depth suits the context with its spaces back, or as read."""
    pairs = zip(hunk.lines, spaced.lines, strict=True)
    read = {_depth(line) for line, back in pairs if line != back}
    unit = gcd(*(depth + 1 for depth in read))
    for line in hunk.lines:
        if line.op != "+" or not line.text.strip():
            continue
        depth = _depth(line)
        if (depth in read) != (depth - 1 in read):
            yield depth - 1 in read
        elif unit > 1 and depth % unit in (0, unit - 1):
            yield depth % unit == 0


def _depth(line: PatchLine) -> int:
    return len(line.text) - len(line.text.lstrip(" "))


# What became of the hunks, in words


class _Report:
    """Says what became of the hunks of a file, whose lines it quotes."""

    def __init__(
        self,
        hunks: Sequence[PatchHunk],
        found: Iterator[Placement | MatchError],
        lines: Sequence[str],
    ) -> None:
        from git_boocode.matching import MatchError

        self.hunks = hunks
        self.lines = lines
        self.errors: dict[int, MatchError] = {}
        self.placed: list[Placement] = []
        for index, one in enumerate(found):
            if isinstance(one, MatchError):
                self.errors[index] = one
            else:
                self.placed.append(one)

    def landing(self, notes: Sequence[str]) -> Landing:
        """Where all hunks landed, taken together."""
        placed = self.placed
        loosest = min(placed, key=lambda place: (place.rung == "exact", place.similarity))
        return Landing(
            "exact" if loosest.rung == "exact" else "fuzzy",
            loosest.rung,
            min(place.similarity for place in placed),
            len(placed),
            min(place.core[0] for place in placed) + 1,
            max(place.core[1] for place in placed),
            (*notes, *self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        """The notes of all hunks; those that are alike are listed once."""
        found: dict[str, list[int]] = {}
        for number, (hunk, place) in enumerate(zip(self.hunks, self.placed, strict=True), start=1):
            rung = () if place.rung == "exact" else (f"found by {place.rung}",)
            for note in (*hunk.notes, *_moved(hunk, place), *rung, *place.notes):
                found.setdefault(note, []).append(number)
        for note, numbers in found.items():
            yield f"hunk{'s' if len(numbers) > 1 else ''} {listed(numbers, MAX_LISTED)}: {note}"

    def miss(self) -> MissError:
        """The one error for all hunks that have no place; the first one gives its code."""
        order = list(self.errors)
        message = "; ".join(self._message(at, self.errors[at]) for at in order[:MAX_LISTED])
        if len(order) > MAX_LISTED:
            rest = [at + 1 for at in order[MAX_LISTED:]]
            message += f"; also hunks {listed(rest, MAX_LISTED)}"
        first = self.errors[order[0]]
        code: str = "exists" if self._is_for_empty(order[0]) else first.code
        applied = [error.code == "already_applied" for error in self.errors.values()]
        if code == "already_applied" and not (all(applied) and not self.placed):
            code = "not_found"
        candidates = [near for error in self.errors.values() for near in error.candidates]
        hints = dict.fromkeys(hint for at in order if (hint := self._hint(at, self.errors[at])))
        places = first.match.spans or first.candidates
        return MissError(
            code,
            message,
            lines=tuple(near.start_line for near in places[:MAX_LINES]),
            candidates=tuple(candidates[:_MAX_CANDIDATES]),
            hint="; ".join(hints) or None,
        )

    def _is_for_empty(self, at: int) -> bool:
        return not self.hunks[at].old and self.hunks[at].start == 0

    def _hint(self, at: int, error: MatchError) -> str | None:
        if error.code == "already_applied":
            return _APPLIED
        if "out of order" in error.message:
            return _ORDER
        return None if self.hunks[at].old or self._is_for_empty(at) else _CONTEXT

    def _message(self, at: int, error: MatchError) -> str:
        hunk = self.hunks[at]
        header = f"'{short(hunk.header, _MAX_LINE)}', " if hunk.header else ""
        of = f" of {len(self.hunks)}" if len(self.hunks) > 1 else ""
        what = error.message or "the file does not have its lines"
        if self._is_for_empty(at):
            what = "it is for an empty file, but the file has content"
        where = self._where(hunk, error)
        return f"hunk {at + 1}{of} ({header}line {hunk.row} of the patch): {what}{where}"

    def _where(self, hunk: PatchHunk, error: MatchError) -> str:
        near = error.candidates
        if error.code == "ambiguous" or any(one.similarity == 1 for one in near):
            places = [_numbers(one) for one in near]
            return f", at {_lines(places)}" if places else ""
        if ";" in error.message:
            return ""
        expected = self._expected(hunk, near[0] if near else None)
        return f"; {expected}" if expected else ""

    def _expected(self, hunk: PatchHunk, near: Candidate | None) -> str:
        """The first line that the file lacks, and what it has instead."""
        old = [line.rstrip("\r\n") for line in hunk.old]
        if near is None:
            present = frozenset(self.lines)
            lacking = next((line for line in old if line not in present), None)
            return "" if lacking is None else f"no line is '{short(lacking, _MAX_LINE)}'"
        there = self.lines[near.start_line - 1 : near.end_line]
        nearest = ""
        if near.similarity >= _SIMILAR:
            nearest = f"nearest is {_lines([_numbers(near)])}, {near.similarity:.0%} similar"
        at = next((at for at, line in enumerate(old) if line not in there), None)
        if at is None or not there:
            return nearest
        row = near.start_line - 1 + min(at, len(there) - 1)
        holds = short(self.lines[row], _MAX_LINE)
        lacking = f"expected '{short(old[at], _MAX_LINE)}', line {row + 1} is '{holds}'"
        return f"{lacking}; {nearest}" if nearest else lacking


_SIMILAR = 0.5


def _moved(hunk: PatchHunk, place: Placement) -> Iterator[str]:
    if hunk.start is not None and hunk.start != place.first:
        count = abs(place.first - hunk.start)
        side = "below" if place.first > hunk.start else "above"
        yield f"{count} line{'s' if count > 1 else ''} {side} its number"


def _lines(places: Sequence[str]) -> str:
    shown = listed(places, MAX_LISTED)
    return f"line{'s' if len(places) > 1 or '-' in shown else ''} {shown}"


def _numbers(near: Candidate) -> str:
    return lines_of(near.start_line, near.end_line).split()[-1]
