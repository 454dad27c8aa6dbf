"""The action of the format `region`: replace the lines between short anchors of whole lines.

This module locates the anchors, strictly, and removes the lines between them. The matcher then
replaces the anchors by the new lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from git_boocode.editing.actions import MAX_LINES, MAX_MISSES, check_text, existing, joined
from git_boocode.editing.edits import AppliedEdit, EditResult, MatchOptions, MissError
from git_boocode.editing.textfile import FileText
from git_boocode.matching import Candidate, MatchError
from git_boocode.matching.indentation import NEAR
from git_boocode.matching.text import Text as Lines
from git_boocode.matching.text import indent_of, lines_of, spliced
from git_boocode.repo.errors import first_few

_RUNGS: dict[str, Callable[[str], str]] = {
    "exact": str,
    "rstripped": str.rstrip,
    "line_trimmed": str.strip,
}
_LISTED = 10  # maximum number of line numbers or regions in a message
MAX_HEIGHT = 4  # maximum number of lines of an anchor: more lines contain more errors
_SHOWN = 3  # maximum number of candidates for one anchor
_INDENT = "send anchors and content with the indentation of the file"


class RegionChange(NamedTuple):
    """The first lines of a region, its last lines (None: the same), and its new lines."""

    start: tuple[str, ...]
    end: tuple[str, ...] | None
    content: tuple[str, ...]


class _Anchor(NamedTuple):
    """Lines to find at row `after` or below, with the row and the rung at which they were found."""

    name: str
    lines: tuple[str, ...]
    after: int = 0
    first: int = 0
    rung: int = 0

    @property
    def stop(self) -> int:
        return self.first + len(self.lines)

    @property
    def below(self) -> str:
        return f" below line {self.after}" if self.after else ""


class _LocatedRegion(NamedTuple):
    """Rows `first` to `stop` (exclusive), and the text that replaces them."""

    first: int
    stop: int
    label: str
    rung: int
    text: str
    reindented: bool

    @property
    def where(self) -> str:
        return lines_of(self.first + 1, self.stop)


class Regions(NamedTuple):
    """Changes of one file, in any order, all located in the original text."""

    changes: tuple[RegionChange, ...]

    @property
    def anchors(self) -> tuple[str, ...]:
        """The lines of all anchors."""
        return tuple(
            line for change in self.changes for line in (*change.start, *(change.end or ()))
        )

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Locate all changes, then apply them; all problems are reported together."""
        text = existing(text)
        if "\0" in text.text:
            raise MissError("binary", "the file is binary: it has no lines to replace")
        for change in self.changes:
            check_text(text, "\n".join(change.content), how)
        search = _Search(text, how, self.changes)
        found = [search.tried(change, at) for at, change in enumerate(self.changes)]
        regions = [one for one in found if isinstance(one, _LocatedRegion)]
        regions.sort(key=lambda region: (region.first, region.stop))
        misses = [one for one in found if isinstance(one, MissError)] + [*_overlaps(regions)]
        if misses:
            raise joined(misses)
        rung = max(region.rung for region in regions)
        notes = ["reindented"] if any(region.reindented for region in regions) else []
        if len(regions) > 1:
            notes.append(f"regions: {first_few([region.where for region in regions], _LISTED)}")
        applied = AppliedEdit(
            "fuzzy" if rung else "exact",
            [*_RUNGS][rung],
            count=len(regions),
            start_line=regions[0].first + 1,
            end_line=regions[-1].stop,
            notes=tuple(notes),
        )
        starts = search.file.start_of
        splices = [(starts(one.first), starts(one.stop), one.text) for one in regions]
        return EditResult(text._replace(text=spliced(text.text, splices)), applied)


class _Search:
    """Searches for the anchors of changes in one text."""

    def __init__(self, text: FileText, how: MatchOptions, changes: Sequence[RegionChange]) -> None:
        self.file, self.changes = Lines(text.text), changes
        self.is_raw, self.verbatim = text.is_raw, how.verbatim
        self.profile = "exact" if text.is_raw or how.profile == "exact" else "region"
        self.rungs = [*_RUNGS][: 1 if self.profile == "exact" else None]
        self.found = cache(self._find)
        self.missed = 0

    def tried(self, change: RegionChange, at: int) -> _LocatedRegion | MissError:
        """Locate a change; an error if its place or its indentation is uncertain."""
        label = f"changes[{at}]"
        prefix = f"{label}: " if len(self.changes) > 1 else ""
        try:
            return self._region(change, label, prefix)
        except MissError as miss:
            return miss
        except MatchError as error:
            return MissError(error.code, f"{prefix}{error.message}", hint=_INDENT)

    def _region(self, change: RegionChange, label: str, prefix: str) -> _LocatedRegion:
        anchors = [self._located(_Anchor(f"{prefix}start anchor", change.start))]
        # An end equal to the start, which occurs once, is the same anchor.
        if change.end is not None and change.end != change.start:
            end = _Anchor(f"{prefix}end anchor", change.end, anchors[0].stop)
            anchors.append(self._located(end))
        self._check_indentation(anchors, change.content)
        rung = max(anchor.rung for anchor in anchors)
        text, reindented = self._replaced(anchors, change.content)
        return _LocatedRegion(anchors[0].first, anchors[-1].stop, label, rung, text, reindented)

    def _located(self, anchor: _Anchor) -> _Anchor:
        for number, rung in enumerate(self.rungs):
            rows = self._rows(anchor, rung)
            if len(rows) > 1:
                raise self._ambiguous(anchor, rows)
            if rows:
                return anchor._replace(first=rows[0], rung=number)
        raise self._not_found(anchor)

    def _rows(self, anchor: _Anchor, rung: str) -> list[int]:
        rows = self.found(rung)[tuple(map(_RUNGS[rung], anchor.lines))]
        return rows[bisect_left(rows, anchor.after) :]

    def _find(self, rung: str) -> dict[tuple[str, ...], list[int]]:
        """The rows at which each anchor occurs, in one pass for each height."""
        lines = [*map(_RUNGS[rung], self.file.lines)]
        anchors = (
            lines for change in self.changes for lines in (change.start, change.end) if lines
        )
        found = {tuple(map(_RUNGS[rung], anchor)): list[int]() for anchor in anchors}
        for height in {*map(len, found)}:
            for row, run in enumerate(zip(*(lines[at:] for at in range(height)), strict=False)):
                if run in found:
                    found[run].append(row)
        return found

    def _replaced(self, anchors: Sequence[_Anchor], content: Sequence[str]) -> tuple[str, bool]:
        """The new text of a region, and whether it was reindented."""
        from git_boocode.matching import replace_text

        def raw(first: int, stop: int) -> str:
            return self.file.raw[self.file.start_of(first) : self.file.start_of(stop)]

        first, stop = anchors[0].first, anchors[-1].stop
        above, below = raw(max(0, first - NEAR), first), raw(stop, stop + NEAR)
        anchored = "".join(raw(anchor.first, anchor.stop) for anchor in anchors)
        old = [line for anchor in anchors for line in anchor.lines]
        real = [line for one in anchors for line in self.file.lines[one.first : one.stop]]
        if max(anchor.rung for anchor in anchors) < len(_RUNGS) - 1:
            # The anchors have the file's indentation, so the content is pasted unchanged.
            old = real
        elif not self.verbatim and _is_unclear([*zip(old, real, strict=True)], content):
            raise MatchError(
                "ambiguous",
                "the anchors are indented differently from the file, and the indentation of the "
                "content is unclear",
            )
        if old == [*content]:
            return anchored, False
        # The matcher gets only the anchors, without the lines between them.
        done = replace_text(
            above + anchored + below,
            "".join(f"{line}\n" for line in old),
            "".join(f"{line}\n" for line in content),
            profile=self.profile,
            verbatim=self.verbatim,
            start_line=min(first, NEAR) + 1,
            whole_lines=True,
        )
        text = done.content[len(above) : len(done.content) - len(below)]
        return text, "reindented" in done.notes

    def _check_indentation(self, anchors: Sequence[_Anchor], content: Sequence[str]) -> None:
        """Refuse an anchor that is unique only by its indentation, if the model's is unreliable.

        It is unreliable if the other anchor matched at another indentation, if the content repeats
        the anchor's lines only at another one, or if it repeats none and begins at an indentation
        that those lines have elsewhere.
        """
        moved = any(
            line.strip() and indent_of(line) != indent_of(self.file.lines[row])
            for anchor in anchors
            for row, line in enumerate(anchor.lines, anchor.first)
        )
        bodies, whole = {line.strip() for line in content}, {line.rstrip() for line in content}
        first = next((indent_of(line) for line in content if line.strip()), None)
        for anchor in anchors:
            rows = self._rows(anchor, self.rungs[-1])
            depths = {indent_of(self.file.lines[row]) for row in rows if row != anchor.first}
            filled = [line.rstrip() for line in anchor.lines if line.strip()]
            repeated = any(line.strip() in bodies for line in filled)
            elsewhere = repeated or first in depths
            if depths and (moved or (elsewhere and whole.isdisjoint(filled))):
                raise self._ambiguous(anchor, rows)

    def _ambiguous(self, anchor: _Anchor, rows: Sequence[int]) -> MissError:
        from git_boocode.matching.suggestions import candidates

        numbers = [row + 1 for row in rows]
        places = [(row, row + len(anchor.lines), 1.0) for row in rows[:_SHOWN]]
        return MissError(
            "ambiguous",
            f"{anchor.name} not unique{anchor.below} (lines {first_few(numbers, _LISTED)})",
            lines=tuple(numbers[:MAX_LINES]),
            candidates=self._shown(anchor, lambda: candidates(self.file, places)),
            hint=f"use other lines as the anchor, or up to {MAX_HEIGHT} lines that occur only once",
        )

    def _not_found(self, anchor: _Anchor) -> MissError:
        message = f"{anchor.name} not found{anchor.below}"
        if self.is_raw:
            message += "; the file is not UTF-8 or UTF-16 text, so only exact lines match"
            return MissError("binary", message)
        near = self._shown(anchor, lambda: self._nearest(anchor))
        lines = tuple(candidate.start_line for candidate in near)
        whole = anchor._replace(after=0)
        above = next((row + 1 for rung in self.rungs for row in self._rows(whole, rung)), None)
        if above is not None:
            message += f"; it occurs above that, at line {above}"
            lines = (above,)
        elif near:
            where = lines_of(near[0].start_line, near[0].end_line)
            message += f"; nearest is {where}, {near[0].similarity:.0%} similar"
        hint = "anchors are whole lines, copied from the file"
        return MissError("not_found", message, lines=lines, candidates=near, hint=hint)

    def _nearest(self, anchor: _Anchor) -> tuple[Candidate, ...]:
        from git_boocode.matching import locate_match

        below = "\n" * anchor.after + self.file.raw[self.file.start_of(anchor.after) :]
        needle = "\n".join(anchor.lines) + "\n"
        return locate_match(below, needle, "exact", whole_lines=True).candidates[:_SHOWN]

    def _shown(
        self, anchor: _Anchor, find: Callable[[], tuple[Candidate, ...]]
    ) -> tuple[Candidate, ...]:
        """Candidates for the first few anchors; `old_string` only if it can be an anchor."""
        self.missed += 1
        return tuple(
            place
            if not anchor.after and (place.old_string or "").count("\n") < MAX_HEIGHT
            else place._replace(old_string=None, old_start_line=None)
            for place in (find() if self.missed <= MAX_MISSES else ())
        )


def _is_unclear(pairs: Sequence[tuple[str, str]], content: Sequence[str]) -> bool:
    """Whether it is unclear if content has the indentation of the anchors or of the file.

    `pairs` are the lines of the anchors with the file's. Only the first and last lines that content
    and anchors share are compared, because others may have been moved intentionally.
    """
    pairs = [pair for pair in pairs if pair[0].strip()]
    filled = [line for line in content if line.strip()]
    votes = set()
    for step in (1, -1):
        for line, ends in zip(filled[::step], pairs[::step], strict=False):
            if line.strip() != ends[0].strip():
                break
            own, mine, real = map(indent_of, (line, *ends))
            # The first line of a text often lacks its indentation.
            if mine != real and own in (mine, real) and (own or line is not filled[0]):
                votes.add(own == real)
    mine, real = map(indent_of, pairs[0])
    # Indented neither like stripped anchors nor like the file.
    deep = not mine and indent_of(next(iter(filled), "")) not in ("", real)
    return len(votes) > 1 or deep


def _overlaps(regions: Sequence[_LocatedRegion]) -> Iterator[MissError]:
    """The errors of overlapping regions, which are sorted by their first row."""
    above = None
    for region in regions:
        if above and region.first < above.stop:
            yield MissError(
                "overlap",
                f"{above.label} ({above.where}) and {region.label} ({region.where}) overlap",
                lines=(above.first + 1, region.first + 1),
                hint="merge changes of the same lines into one",
            )
        above = max(above or region, region, key=lambda one: one.stop)
