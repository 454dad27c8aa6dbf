"""Apply the hunks of one file of a patch, all of them or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.actions import MAX_LINES, MAX_MISSES, check_text, joined, mode_notes
from git_boocode.editing.edits import (
    AppliedEdit,
    EditResult,
    MatchOptions,
    MissError,
)
from git_boocode.editing.textfile import FileText
from git_boocode.matching.align import Hunk
from git_boocode.matching.replace import listed_lines
from git_boocode.matching.text import BOM, depth_of, lines_of, spliced
from git_boocode.matching.text import Text as Lines
from git_boocode.matching.types import MatchError
from git_boocode.repo.errors import first_few, shortened
from git_boocode.repo.object_writer import blob_ids

if TYPE_CHECKING:
    from git_boocode.matching.rungs import Profile
    from git_boocode.matching.search import Query
    from git_boocode.matching.sequence import Placement

_LISTED = 5  # maximum number of line numbers, and of other hunks, in a message
UNMARKED = "context lines lack their leading blank"
_MAX_LINE = 80
_SIMILAR = 0.5
_NO_TEXT = "no exact match, which is required because the file is not UTF-8 or UTF-16 text"
# Hints by error message.
_HINTS = {
    "it occurs only elsewhere, so the hunks are out of order": "put the hunks into the order of "
    "the file",
    "it has no context lines": "add the unchanged lines above and below as context, "
    "each after a space",
}


class PatchLine(NamedTuple):
    """A line of a hunk: its mark (a space, `-` or `+`) and its text with the line ending."""

    op: str
    text: str


class PatchHunk(NamedTuple):
    """One hunk of a patch.

    `row` is its first line in the patch, 1-based, `start` the 0-based row of its old lines in the
    file according to the patch. Without `start` the old lines must be below `sections`, lines of
    the file, outermost first; otherwise the sections only decide between places. With `at_end` the
    old lines must be the last ones of the file. `unmarked` is set if context lines lack the leading
    space. `above` are the lines of the preceding hunk, if that one has no change.
    """

    header: str
    row: int
    lines: tuple[PatchLine, ...]
    start: int | None = None
    sections: tuple[str, ...] = ()
    at_end: bool = False
    unmarked: bool = False
    notes: tuple[str, ...] = ()
    above: tuple[str, ...] = ()

    @property
    def old(self) -> list[str]:
        """The old lines, with their endings."""
        return [line.text for line in self.lines if line.op != "+"]

    @property
    def new(self) -> list[str]:
        """The new lines, with their endings."""
        return [line.text for line in self.lines if line.op != "-"]

    @property
    def opens(self) -> tuple[bool, bool] | None:
        """Whether the old and the new lines lack a final newline; None if that is unchanged."""
        if not self.lines or self.lines[-1].op == " ":
            return None
        old, new = (bool(of) and not of[-1].endswith("\n") for of in (self.old, self.new))
        return (old, new) if old or new else None

    @property
    def is_for_empty(self) -> bool:
        """Whether the hunk is for an empty file."""
        return not self.old and self.start == 0


class PatchAction(NamedTuple):
    """Apply the hunks of one file, in the order of the file.

    The line numbers are certain if the file is the blob `preimage`, which may be abbreviated.
    `executable` is None if the mode is unchanged.
    """

    hunks: tuple[PatchHunk, ...]
    preimage: str | None = None
    notes: tuple[str, ...] = ()
    executable: bool | None = None

    @property
    def anchors(self) -> tuple[str, ...]:
        """The old lines of each hunk."""
        return tuple("".join(hunk.old) for hunk in self.hunks)

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Place every hunk and make all changes."""
        if text is None:
            notes = (*self.notes, *mode_notes(self.executable))
            applied = AppliedEdit("exact", "create", 1.0, 1, 1, 0, notes)
            return EditResult(FileText(self._content()), applied, self.executable)
        if text.text and any(hunk.is_for_empty for hunk in self.hunks):
            raise MissError("exists", "the patch is for an empty file, but the file has content")
        added = (line.text for hunk in self.hunks for line in hunk.lines if line.op == "+")
        check_text(text, "".join(added), how)
        # Imported late: a patch that only creates or deletes files needs no matcher.
        from git_boocode.matching.rungs import profile_named

        profile = profile_named("exact" if text.is_raw else how.profile)
        strict = profile._replace(steps=profile.steps[: profile.strict])
        done, places = self._edited(text, how, profile)
        rungs = {*(step.rung for step in strict.steps), "rewritten"}
        missed = isinstance(done, MissError) and done.code == "not_found"
        if strict.steps and (missed or any(place.rung not in rungs for place in places)):
            done = self._merged(text, how, strict) or done
        if isinstance(done, MissError):
            raise done
        return done

    def _merged(self, text: FileText, how: MatchOptions, strict: Profile) -> EditResult | None:
        """Make the edit in the newest version with all old lines, and merge it with the text."""
        from git_boocode.editing.versions import OlderText, merged_result

        versions = how.versions()
        for index, version in enumerate(versions or ()):
            base = text._replace(text=version)
            done, places = self._edited(base, how, strict)
            if versions and isinstance(done, EditResult):
                gone = next((old for old in self.anchors if old not in text.text), "")
                older = OlderText(base, versions.name(index), versions.cause(index, gone))
                rows = [(place.first, place.stop) for place in places if place.first < place.stop]
                return merged_result(done, older, text, rows, proven=False)
        return None

    def _edited(
        self, text: FileText, how: MatchOptions, profile: Profile
    ) -> tuple[EditResult | MissError, list[Placement]]:
        """Apply all hunks to a text; returns the result or the error, and the places."""
        from git_boocode.matching.sequence import place_changes

        file = Lines(text.text)
        is_open = bool(text.text) and not file.closed
        # If the diff contains carriage returns, it contains all of them.
        shown = any(line.endswith("\r\n") for hunk in self.hunks for line in hunk.old)
        ending = "\n" if shown else file.usual_ending
        content = Lines(text.text + ending) if is_open else file
        present = frozenset(line.rstrip() for line in content.lines)
        hunks = [_remarked(hunk, present) for hunk in _without_bom(self.hunks, text)]
        proven = self._is(text)

        def found(wanted: Sequence[PatchHunk]) -> list[Placement | MatchError]:
            queries = [_query(content, hunk, proven=proven) for hunk in wanted]
            return place_changes(queries, profile, verbatim=how.verbatim)

        try:
            ends = found(hunks)
            unclear = any(isinstance(end, MatchError) and end.code == "ambiguous" for end in ends)
            if unclear and any(hunk.above for hunk in hunks):
                # The hunk above decides only if it leaves a single place.
                clear = found([h._replace(sections=h.sections or h.above) for h in hunks])
                ends = ends if any(isinstance(end, MatchError) for end in clear) else clear
            placed = _all_placed(hunks, ends, content.lines, raw=text.is_raw)
        except MatchError as error:
            return MissError(error.code, error.message), []
        except MissError as miss:
            return miss, []
        made = spliced(content.raw, (place.splice for place in placed))
        marked = [(hunk.opens[1], "".join(hunk.new)) for hunk in hunks if hunk.opens]
        opened, own = marked[0] if marked else (is_open, text.text)
        if opened:
            # A carriage return at the end of an unterminated last line is part of the line.
            made = made.removesuffix("\n" if own.endswith("\r") else ending)
        landed = [place for place in placed if place.rung != "already_applied"]
        notes = (*self.notes, *mode_notes(self.executable), *_notes(hunks, placed))
        applied = _applied(landed, notes)
        return EditResult(text._replace(text=made), applied, self.executable), landed

    def _content(self) -> str:
        """The content of a new file, if the patch is for an empty one."""
        if any(hunk.old for hunk in self.hunks) or not self.hunks[0].is_for_empty:
            raise MissError("missing_file", "the file does not exist")
        return "".join(line for hunk in self.hunks for line in hunk.new)

    def _is(self, text: FileText) -> bool:
        """Whether a file's text is the blob `preimage`."""
        if self.preimage is None or not self.preimage.strip("0"):
            return False
        return any(one.startswith(self.preimage) for one in blob_ids(text.encode()))


def _query(content: Lines, hunk: PatchHunk, *, proven: bool) -> Query:
    from git_boocode.matching.search import Hints, Query

    hints = Hints(
        None if hunk.start is None else hunk.start + 1,
        proven=proven,
        sections=hunk.sections,
        at_end=hunk.at_end or bool(hunk.opens),
        strict=hunk.unmarked,
        script=tuple(_script(hunk.lines)),
    )
    texts = ((line.removesuffix("\n") + "\n" for line in of) for of in (hunk.old, hunk.new))
    return Query(content, *map("".join, texts), whole_lines=True, hints=hints)


def _script(lines: Sequence[PatchLine]) -> Iterator[Hunk]:
    """The hunks of unchanged and of changed lines."""
    i1 = j1 = 0
    for same, run in groupby(lines, key=lambda line: line.op == " "):
        ops = [line.op for line in run]
        i2, j2 = i1 + len(ops) - ops.count("+"), j1 + len(ops) - ops.count("-")
        yield Hunk(same, i1, i2, j1, j2)
        i1, j1 = i2, j2


def _without_bom(hunks: tuple[PatchHunk, ...], text: FileText) -> tuple[PatchHunk, ...]:
    """The hunks without the byte order mark, which is not part of the text."""
    if text.codec == "utf-8":
        return hunks
    marked = {line.op for line in hunks[0].lines if line.text.startswith(BOM)}
    if marked in ({"+"}, {"-"}):
        raise MissError(
            "invalid_input", "the patch changes the byte order mark, which cannot be done"
        )
    bare = tuple(PatchLine(line.op, line.text.removeprefix(BOM)) for line in hunks[0].lines)
    return (hunks[0]._replace(lines=bare), *hunks[1:])


# Context lines without the space that marks them


def _remarked(hunk: PatchHunk, present: frozenset[str]) -> PatchHunk:
    """The hunk with the leading spaces of context lines restored, as far as the file has them.

    A hunk that is indented by one space less than the file looks the same; then its other lines
    lack that space as well. If both are possible, the hunk must be found unchanged. `present` are
    the lines of the file without trailing whitespace.
    """
    # If some lines certainly lack the space, lines that exist with and without it lack it, too.
    absent = frozenset[str]() if hunk.unmarked else present
    pairs = [(line, line.text.rstrip()) for line in hunk.lines]
    lacking = [
        line.op == " " and f" {text}" in present and text not in absent for line, text in pairs
    ]
    if not any(lacking):
        return hunk
    lines = tuple(
        PatchLine(" ", f" {line.text}") if lacks else line
        for line, lacks in zip(hunk.lines, lacking, strict=True)
    )
    if hunk.unmarked:
        return hunk._replace(lines=lines)
    spaced = hunk._replace(lines=lines, notes=(*hunk.notes, UNMARKED))
    gone = {text for line, text in pairs if line.op == "-"} - {""}
    votes = {text in present for text in gone if (text in present) != (f" {text}" in present)}
    added = {depth_of(text) for line, text in pairs if line.op == "+" and text}
    read = {depth_of(text) for (_, text), lacks in zip(pairs, lacking, strict=True) if lacks}
    votes = votes or set(_depth_votes(added, read))
    if votes == {True} or not (votes or added):
        return spaced
    return hunk if votes == {False} else hunk._replace(unmarked=True)


def _depth_votes(added: set[int], read: set[int]) -> Iterator[bool]:
    """For each depth of added lines: whether it fits context with restored spaces (True)."""
    unit = gcd(*(depth + 1 for depth in read))
    for depth in added:
        if (depth in read) != (depth - 1 in read):
            yield depth - 1 in read
        elif unit > 1 and depth % unit in (0, unit - 1):
            yield depth % unit == 0


# Notes and errors


def _applied(placed: Sequence[Placement], notes: tuple[str, ...]) -> AppliedEdit:
    loosest = min(placed, key=lambda place: (place.rung == "exact", place.similarity))
    kind = "exact" if loosest.rung == "exact" else "fuzzy"
    likeness = min(place.similarity for place in placed)
    # The places are in the order of the file and do not overlap.
    first, last = placed[0].core[0] + 1, placed[-1].core[1]
    return AppliedEdit(kind, loosest.rung, likeness, len(placed), first, last, notes)


def _notes(hunks: Sequence[PatchHunk], placed: Sequence[Placement]) -> Iterator[str]:
    """The notes of all hunks, equal ones once."""
    found: dict[str, list[int]] = {}
    for number, (hunk, place) in enumerate(zip(hunks, placed, strict=True), start=1):
        away = 0 if hunk.start is None else place.first - hunk.start
        lines, side = f"line{'s' * (abs(away) > 1)}", "below" if away > 0 else "above"
        own = [f"{abs(away)} {lines} {side} its number"] if away else []
        own += [] if place.rung in ("exact", "already_applied") else [f"found by {place.rung}"]
        for note in (*hunk.notes, *own, *place.notes):
            found.setdefault(note, []).append(number)
    for note, numbers in found.items():
        yield f"hunk{'s' if len(numbers) > 1 else ''} {first_few(numbers, _LISTED)}: {note}"


def _all_placed(
    hunks: Sequence[PatchHunk],
    found: Sequence[Placement | MatchError],
    lines: Sequence[str],
    *,
    raw: bool,
) -> list[Placement]:
    """The places of all hunks; MissError with the code of the first that has none."""
    placed: list[Placement] = []
    errors: dict[int, MatchError] = {}
    for at, one in enumerate(found):
        if isinstance(one, MatchError):
            errors[at] = one
        elif hunks[at].opens and one.stop < len(lines):
            errors[at] = MatchError("not_found", "it must be at the end of the file")
        else:
            placed.append(one)
    if not errors:
        return placed
    of = f" of {len(hunks)}" if len(hunks) > 1 else ""
    misses: list[MissError] = []
    for at, error in errors.items():
        message = ""
        if len(misses) < MAX_MISSES:
            message = f"hunk {at + 1}{of} ({_describe(hunks[at], error, lines)}"
        misses.append(_miss(error, message, raw=raw))
    raise joined(misses)


def _miss(error: MatchError, message: str, *, raw: bool) -> MissError:
    code: str = error.code
    if raw and code == "not_found":
        code, message = "binary", f"{_NO_TEXT}: {message}"
    places = error.match.spans[:MAX_LINES] or error.candidates
    lines, hint = tuple(place.start_line for place in places), _HINTS.get(error.message)
    return MissError(code, message, lines=lines, candidates=error.candidates, hint=hint)


def _describe(hunk: PatchHunk, error: MatchError, lines: Sequence[str]) -> str:
    """The hunk and the reason for the refusal, with its places or the differing file lines."""
    header = f"'{shortened(hunk.header, _MAX_LINE)}', " if hunk.header else ""
    reason = error.message or "the file does not have its lines"
    message, near = f"{header}line {hunk.row} of the patch): {reason}", error.candidates
    if error.code == "ambiguous" and near:
        return f"{message}, at {listed_lines([at.start_line for at in error.match.spans or near])}"
    if any(one.similarity == 1 for one in near):
        return f"{message}, at {lines_of(near[0].start_line, near[0].end_line)}"
    if "nearest" in reason:
        return message
    first, stop = (near[0].start_line - 1, near[0].end_line) if near else (0, len(lines))
    there = frozenset(lines[first:stop])
    old = [line.rstrip("\r\n") for line in hunk.old]
    for at in [at for at, line in enumerate(old) if line not in there][:1]:
        line = shortened(old[at], _MAX_LINE)
        if near and there:
            row = first + min(at, stop - first - 1)
            real = shortened(lines[row], _MAX_LINE)
            message += f"; expected '{line}', line {row + 1} is '{real}'"
        else:
            message += f"; no line is '{line}'"
    if near and near[0].similarity >= _SIMILAR:
        where = lines_of(near[0].start_line, near[0].end_line)
        message += f"; nearest is {where}, {near[0].similarity:.0%} similar"
    return message
