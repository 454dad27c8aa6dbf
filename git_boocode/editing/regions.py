"""The action of the format `region`: replace what lies between short anchors of whole lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice, takewhile, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.actions import check_text, existing
from git_boocode.editing.edits import How, Landing, MissError, Outcome, lines_of, listed
from git_boocode.editing.textfile import Text
from git_boocode.matching import Candidate
from git_boocode.matching.text import Text as Lines
from git_boocode.matching.text import rows_of

if TYPE_CHECKING:
    from git_boocode.matching.indentation import IndentStyle, Scale

_RUNGS: dict[str, Callable[[str], str]] = {
    "exact": str,
    "rstripped": str.rstrip,
    "line_trimmed": str.strip,
}
_NEAR = 200
"""Lines above and below a region that show how the file indents."""
_WIDEST = 4
"""Columns by which a file is likely to indent; wider steps skip levels."""
_LISTED = 10
"""Line numbers, regions or failed changes that a message lists or shows similar lines for."""
_MAX_LINES = 100
_MAX_HEIGHT = 4
"""Lines of an anchor."""
_SHOWN = 3
"""Places shown for one anchor."""

Pairs = Sequence[tuple[str, str]]
"""Lines of anchors, each with the file's line."""


class Change(NamedTuple):
    """The lines a region begins with, those it ends with (None: the same), and its new lines."""

    start: tuple[str, ...]
    end: tuple[str, ...] | None
    content: tuple[str, ...]


class _Anchor(NamedTuple):
    """An anchor that is to be at row ``after`` or below, and the row and rung it was found at."""

    name: str
    lines: tuple[str, ...]
    after: int = 0
    first: int = 0
    rung: int = 0

    @property
    def stop(self) -> int:
        return self.first + len(self.lines)


class _Region(NamedTuple):
    """Rows ``first`` to ``stop`` (exclusive) and the lines that replace them."""

    first: int
    stop: int
    label: str
    rung: int
    content: Sequence[str]
    reindented: bool

    @property
    def where(self) -> str:
        return lines_of(self.first + 1, self.stop)


class Regions(NamedTuple):
    """Changes of one file, in any order, all located in the text as it is before any of them."""

    changes: tuple[Change, ...]

    @property
    def anchors(self) -> str:
        """The lines of all anchors."""
        return "\n".join(
            line for change in self.changes for line in (*change.start, *(change.end or ()))
        )

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Locate every change, then make all of them; all that is wrong is reported at once."""
        text = existing(text)
        if text.is_raw and "\0" in text.text:
            raise MissError("binary", "the file is binary: it has no lines to replace")
        for change in self.changes:
            check_text(text, "\n".join(change.content), how)
        search = _Search(text, how, self.changes)
        found = [search.tried(index) for index in range(len(self.changes))]
        regions = sorted(one for one in found if isinstance(one, _Region))
        misses = [one for one in found if isinstance(one, MissError)] + [*_overlaps(regions)]
        if misses:
            raise _joined(misses)
        rung = max(region.rung for region in regions)
        notes = ["reindented"] if any(region.reindented for region in regions) else []
        if len(regions) > 1:
            notes.append(f"regions: {listed([region.where for region in regions], _LISTED)}")
        rows = regions[0].first + 1, regions[-1].stop
        kind = "fuzzy" if rung else "exact"
        landing = Landing(kind, [*_RUNGS][rung], 1.0, len(regions), *rows, tuple(notes))
        return Outcome(text._replace(text=_written(search.file, regions)), landing)


class _Search:
    """Looks for the anchors of all changes in one text."""

    def __init__(self, text: Text, how: How, changes: Sequence[Change]) -> None:
        self.file = Lines(text.text)
        self.is_raw, self.verbatim = text.is_raw, how.verbatim
        strict = text.is_raw or how.profile == "exact"
        self.forms = [*_RUNGS.values()][: 1 if strict else None]
        self.anchors = {lines for change in changes for lines in change[:2] if lines}
        self.found: dict[int, dict[tuple[str, ...], list[int]]] = {}
        self.changes, self.missed = changes, 0

    def tried(self, index: int) -> _Region | MissError:
        """Where a change belongs, or why that, or its indentation, is uncertain."""
        try:
            return self._region(
                self.changes[index], f"changes[{index}]" if len(self.changes) > 1 else ""
            )
        except MissError as miss:
            return miss

    def _region(self, change: Change, label: str) -> _Region:
        prefix = f"{label}: " if label else ""
        anchors = [self._located(_Anchor(f"{prefix}start anchor", change.start))]
        # An end that repeats the start, which occurs once, can mean nothing else.
        if change.end is not None and change.end != change.start:
            end = _Anchor(f"{prefix}end anchor", change.end, anchors[0].stop)
            anchors.append(self._located(end))
        pairs = [
            (line, self.file.lines[row])
            for anchor in anchors
            for row, line in enumerate(anchor.lines, anchor.first)
            if line.strip()
        ]
        self._check_indentation(anchors, pairs, change.content)
        first, stop = anchors[0].first, anchors[-1].stop
        rung = max(anchor.rung for anchor in anchors)
        content: Sequence[str] | None = change.content
        if rung == len(_RUNGS) - 1 and any(map(str.strip, change.content)) and not self.verbatim:
            near = self.file.lines[max(0, first - _NEAR) : stop + _NEAR]
            content = _fitted(pairs, change.content, near)
        if content is None:
            raise MissError(
                "ambiguous",
                f"{prefix}the anchors are indented differently from the file, and the indentation "
                "of the content is unclear",
                hint="send anchors and content with the indentation that the file has",
            )
        return _Region(first, stop, label, rung, content, tuple(content) != change.content)

    def _located(self, anchor: _Anchor) -> _Anchor:
        for rung in range(len(self.forms)):
            rows = self._rows(anchor, rung)
            if len(rows) > 1:
                raise self._ambiguous(anchor, rows)
            if rows:
                return anchor._replace(first=rows[0], rung=rung)
        raise self._not_found(anchor)

    def _rows(self, anchor: _Anchor, rung: int) -> list[int]:
        form = self.forms[rung]
        if rung not in self.found:
            wanted = {tuple(map(form, lines)) for lines in self.anchors}
            self.found[rung] = rows_of(wanted, [*map(form, self.file.lines)])
        rows = self.found[rung][tuple(map(form, anchor.lines))]
        return rows[bisect_left(rows, anchor.after) :]

    def _check_indentation(
        self, anchors: Iterable[_Anchor], pairs: Pairs, content: Sequence[str]
    ) -> None:
        """Refuse an anchor that is unique by its indentation only, when that proves nothing.

        It proves nothing if the other anchor matched at another indentation, if the content repeats
        the anchor's lines at another one only, or if it repeats none and begins at another one that
        those lines have elsewhere: then the model's indentation is not the file's.
        """
        moved = any(_indent(mine) != _indent(real) for mine, real in pairs)
        bodies, whole = {line.strip() for line in content}, {line.rstrip() for line in content}
        first = next((_indent(line) for line in content if line.strip()), None)
        for anchor in anchors:
            rows = self._rows(anchor, len(self.forms) - 1)
            depths = {_indent(self.file.lines[row]) for row in rows if row != anchor.first}
            filled = [line.rstrip() for line in anchor.lines if line.strip()]
            repeated = any(line.strip() in bodies for line in filled)
            elsewhere = repeated or (first != _indent(anchor.lines[0]) and first in depths)
            if depths and (moved or (elsewhere and whole.isdisjoint(filled))):
                raise self._ambiguous(anchor, rows)

    def _ambiguous(self, anchor: _Anchor, rows: Sequence[int]) -> MissError:
        below = f" below line {anchor.after}" if anchor.after else ""
        numbers = tuple(row + 1 for row in rows[:_MAX_LINES])
        more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
        self.missed += 1
        return MissError(
            "ambiguous",
            f"{anchor.name} not unique{below} (lines {str(numbers[:_LISTED])[1:-1]}{more})",
            lines=numbers,
            candidates=self._places(anchor, rows[:_SHOWN]) if self.missed <= _LISTED else (),
            hint="use other lines as the anchor, or up to 4 lines that occur only once",
        )

    def _places(self, anchor: _Anchor, rows: Sequence[int]) -> tuple[Candidate, ...]:
        from git_boocode.matching.suggestions import descriptions, unique_text

        file, places = self.file, [(row, row + len(anchor.lines)) for row in rows]
        return tuple(
            _as_anchor(
                Candidate(
                    row + 1,
                    stop,
                    1.0,
                    file.rows_text(row, stop),
                    *unique_text(file, (row, stop)),
                    where,
                ),
                anchor,
            )
            for (row, stop), where in zip(places, descriptions(file, places), strict=True)
        )

    def _not_found(self, anchor: _Anchor) -> MissError:
        message = f"{anchor.name} not found{f' below line {anchor.after}' if anchor.after else ''}"
        if self.is_raw:
            message += "; the file is not UTF-8 or UTF-16 text, so only exact lines match"
            return MissError("binary", message)
        self.missed += 1
        near = self._nearest(anchor) if self.missed <= _LISTED else ()
        whole = anchor._replace(after=0)
        above = [row + 1 for rung in range(len(self.forms)) for row in self._rows(whole, rung)[:1]]
        if above:
            message += f"; it occurs above that, at line {above[0]}"
        elif near:
            where = lines_of(near[0].start_line, near[0].end_line)
            message += f"; nearest is {where}, {near[0].similarity:.0%} similar"
        lines = tuple(above[:1]) or tuple(candidate.start_line for candidate in near)
        hint = "anchors are whole lines, copied from the file"
        return MissError("not_found", message, lines=lines, candidates=near, hint=hint)

    def _nearest(self, anchor: _Anchor) -> tuple[Candidate, ...]:
        from git_boocode.matching import locate_match

        below = "\n" * anchor.after + self.file.raw[self.file.start_of(anchor.after) :]
        needle = "\n".join(anchor.lines) + "\n"
        found = locate_match(below, needle, "exact", whole_lines=True).candidates
        return tuple(_as_anchor(near, anchor) for near in found[:_SHOWN])


def _as_anchor(place: Candidate, anchor: _Anchor) -> Candidate:
    """A place without the text to send back, if that cannot be a start anchor."""
    if not anchor.after and place.old_string and place.old_string.count("\n") < _MAX_HEIGHT:
        return place
    return place._replace(old_string=None, old_start_line=None)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _fitted(pairs: Pairs, content: tuple[str, ...], near: Sequence[str]) -> Sequence[str] | None:
    """Content in the file's indentation, which the anchors lack; None if that is unclear.

    Content may be indented as the anchors or as the file: many models strip an anchor but indent
    the content well. Lines of the anchors that the content repeats decide, else its first line.
    """
    from git_boocode.matching import indentation as model

    indents = [(_indent(mine), _indent(real)) for mine, real in pairs]
    if all(mine == real for mine, real in indents):
        return content
    mine, real = indents[0]
    trimmed = mine == "" != real and content[0].strip() != "" == _indent(content[0])
    like_file = (real + content[0], *content[1:]) if trimmed else content
    if any(mine for mine, _ in indents) and all(mine in ("", real) for mine, real in indents):
        return like_file
    written = model.indents([*(line for line, _ in pairs), *content])
    style = model.IndentStyle(written, model.indents(near))
    reindenter = model.Reindenter(indents, style)
    explained = all(map(reindenter.scale.fits, reindenter.pairs))
    votes: set[bool | None] = {*_votes(pairs, content, after_first=trimmed)}
    if not votes and trimmed:
        votes = {model.only_first_dropped(content, real, near)}
    elif not votes:
        votes = {_first_line_says(content, indents[0], explained=explained)}
    if votes != {False}:
        return like_file if votes == {True} else None
    if not explained:
        return None
    shift = _shift(indents, reindenter.scale, style)
    depths = [
        reindenter(_indent(line), row == 0) if shift is None else " " * (len(_indent(line)) + shift)
        for row, line in enumerate(content)
    ]
    return [
        model.reindented(line, depth) if line.strip() else line
        for line, depth in zip(content, depths, strict=True)
    ]


def _shift(indents: Pairs, scale: Scale, style: IndentStyle) -> int | None:
    """The spaces by which all anchors were moved, unless another indentation unit explains it."""
    from git_boocode.matching.indentation import common_step

    shifts = {len(real) - len(mine) for mine, real in indents}
    if len(shifts) > 1 or "".join([*(real for _, real in indents), *style.old]).strip(" "):
        return None
    rescaled = not scale.shift and 0 < common_step(style.near, 8) <= _WIDEST
    return None if rescaled else shifts.pop()


def _first_line_says(
    content: Sequence[str], anchor: tuple[str, str], *, explained: bool
) -> bool | None:
    (mine, real), first = anchor, next(_indent(line) for line in content if line.strip())
    if first == real and (first != mine or not explained):
        return True
    return None if mine == "" != real and first != mine else False


def _votes(pairs: Pairs, content: Sequence[str], *, after_first: bool) -> set[bool]:
    """Of each line that anchors and content share: whether it is indented as in the file.

    Lines with which the content begins and ends as the anchors do go first: further in, a line of
    theirs may have been moved on purpose.
    """
    bodies = [line.strip() for line in content]
    filled = [row for row, body in enumerate(bodies) if body]
    ends: list[tuple[int, tuple[str, str]]] = []
    for step in (1, -1):
        shared = zip(filled[::step], pairs[::step], strict=False)
        ends += takewhile(lambda one: bodies[one[0]] == one[1][0].strip(), shared)
    alone = [pair for pair in pairs if bodies.count(pair[0].strip()) == 1]
    for shared_lines in (ends, [(bodies.index(pair[0].strip()), pair) for pair in alone]):
        votes = {
            _indent(content[row]) == _indent(real)
            for row, (mine, real) in shared_lines
            if row >= after_first and re.search(r"\w", mine) and _indent(mine) != _indent(real)
            if _indent(content[row]) in (_indent(mine), _indent(real))
        }
        if votes:
            return votes
    return set()


def _written(file: Lines, regions: Sequence[_Region]) -> str:
    """The text with all regions, in its order, replaced.

    New lines get the endings of the lines that they replace, else of the line above. The last one
    ends as the region did, so a missing final newline stays missing.
    """
    pieces, at = [], 0
    for region in regions:
        pieces.append(file.raw[at : file.start_of(region.first)])
        at = file.start_of(region.stop)
        known = file.ending(region.first - 1) if region.first else ""
        known = known or file.ending(region.first) or file.usual_ending
        for row, line in enumerate(region.content[:-1], region.first):
            known = (file.ending(row) if row < region.stop else "") or known
            pieces.append(line + known)
        pieces += [line + file.ending(region.stop - 1) for line in region.content[-1:]]
    return "".join([*pieces, file.raw[at:]])


def _overlaps(regions: Sequence[_Region]) -> Iterator[MissError]:
    """What is wrong with regions, sorted by their first row, that share lines."""
    furthest = accumulate(regions, partial(max, key=attrgetter("stop")))
    for above, region in zip(furthest, regions[1:], strict=False):
        if region.first < above.stop:
            yield MissError(
                "overlap",
                f"{above.label} ({above.where}) and {region.label} ({region.where}) overlap",
                lines=(above.first + 1, region.first + 1),
                hint="merge changes of the same lines into one",
            )


def _joined(misses: Sequence[MissError]) -> MissError:
    """One refusal that names every problem."""
    hints = dict.fromkeys(miss.hint for miss in misses if miss.hint)
    messages = [miss.message for miss in misses[:_LISTED]]
    if len(misses) > _LISTED:
        messages.append(f"and {len(misses) - _LISTED} more problems")
    # The first candidate of each, then the second of each: a short list shows some of all.
    shown = zip_longest(*(miss.candidates for miss in misses[:_LISTED]))
    return MissError(
        misses[0].code,
        "; ".join(messages),
        lines=tuple(islice((line for miss in misses for line in miss.lines), _MAX_LINES)),
        candidates=tuple(near for row in shown for near in row if near),
        hint="; ".join(hints) or None,
    )
