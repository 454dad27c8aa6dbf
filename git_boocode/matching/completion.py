"""Old text that begins or ends within a line, read with the rest of that line.

Other rungs compare whole lines: what they forgive, they forgive beside a cut line, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from git_boocode.matching.guards import evidence
from git_boocode.matching.layout import spaceless
from git_boocode.matching.parts import cut_between_words
from git_boocode.matching.rewrites import Reading
from git_boocode.matching.rungs import occurrences
from git_boocode.matching.similarity import slips
from git_boocode.matching.text import Text

_PLACES = 200
"""A part of a line is looked for in so many places."""
_COMPARED = 200_000
"""So many lines beside these places are compared; of more, none is."""
_FEW = 2
"""In fewer lines nothing stands beside the one that is cut."""
_CUT = 4
"""The evidence that a line which is cut must hold for the rest of it to be looked up."""
_ANCHORS = 3
"""At most this number of lines is tried to find a misspelt part."""
_SLIPS = 2
"""A part may be misspelt by so much, and the rest of its line must be longer."""


def completed(reading: Reading, text: Text) -> Iterator[Reading]:
    """The pair with the rest of the file's line before its first line, or behind its last one.

    Half of the other lines must stand beside it, and nowhere else.
    """
    old, new = Text(reading.old), Text(reading.new)
    if len(old.core) < _FEW or old.core.start:
        return
    before = _cut_first(old, new, text)
    behind = "" if old.closed else _cut_last(old, new, text)
    if before or behind:
        yield reading._replace(
            old=_within(before, old.lf, behind), new=_within(before, new.lf, behind)
        )


def _within(before: str, lines: str, behind: str) -> str:
    return before + (lines.lstrip(" \t") if before else lines) + behind


def _may_be_cut(line: str, text: Text) -> bool:
    return evidence(line) >= _CUT and f"\n{line}\n" not in text.framed_stripped


def _cut_first(old: Text, new: Text, text: Text) -> str:
    """What the file has before the first line of old, if that is cut."""
    line = old.stripped[0]
    if not _may_be_cut(line, text):
        return ""
    row = _beside(old, text, f"{line}\n", 0)
    if row is not None:
        start = text.stripped[row][: -len(line)]
        return start if cut_between_words(start + line, len(start)) else ""
    # Where the cut is misspelt, the line must stay: nobody could tell what changes in it.
    if new.stripped[:1] != [line]:
        return ""
    row = _by_another_line(old, text, 0)
    there = text.stripped[row] if row is not None else ""
    return there[: len(there) - _misspelt(line[::-1], there[::-1])]


def _cut_last(old: Text, new: Text, text: Text) -> str:
    """What the file has behind the last line of old, if that is cut."""
    line = old.stripped[-1]
    if not _may_be_cut(line, text):
        return ""
    row = _beside(old, text, f"\n{line}", len(old.lines) - 1)
    stays = new.stripped[-1:] == [line]
    if row is not None:
        rest = text.stripped[row][len(line) :]
        # A letter or two that are missing are missing by mistake.
        cut = cut_between_words(line + rest, len(line)) or (stays and len(rest) > _SLIPS)
        return rest if cut else ""
    row = _by_another_line(old, text, len(old.lines) - 1) if stays else None
    there = text.stripped[row] if row is not None else ""
    return there[_misspelt(line, there) :]


def _misspelt(part: str, line: str) -> int:
    """How much of the beginning of a line a misspelt part stands for; all of it if it is none."""
    lengths = [len(part) + more for more in (0, -1, 1, -2, 2)]
    fitting = [
        (slips(part, line[:length], _SLIPS), length)
        for length in lengths
        if 0 < length < len(line) - _SLIPS
    ]
    best = min(fitting, key=lambda fit: fit[0], default=(_SLIPS + 1, 0))
    return best[1] if best[0] <= _SLIPS else len(line)


def _by_another_line(old: Text, text: Text, index: int) -> int | None:
    """The row of line ``index`` of old, found by another line that stands in the file once."""
    view = text.framed_canonical
    others = [other for other, line in enumerate(old.canonical) if line and other != index]
    for other in sorted(others, key=lambda other: -len(old.canonical[other]))[:_ANCHORS]:
        line = f"\n{old.canonical[other]}\n"
        at = view.find(line)
        if at < 0 or view.find(line, at + 1) >= 0:
            continue
        first = view.count("\n", 0, at + 1) - 1 - other
        if 2 * _equal_lines(old, text, first) >= len(others):
            row = first + index
            return row if 0 <= row < len(text.lines) else None
    return None


def _beside(old: Text, text: Text, part: str, index: int) -> int | None:
    """The row that has ``part`` of line ``index`` of old, and around which most of old stands."""
    view, scores, row, seen = text.framed_stripped, {}, -1, 0
    places = occurrences(view, part)[:_PLACES]
    if len(places) * len(old.lines) > _COMPARED:
        return None
    for found in places:
        at = found + part.startswith("\n")
        row += view.count("\n", seen, at)
        seen = at
        scores[row] = _equal_lines(old, text, row - index)
    best = max(scores.values(), default=0)
    rows = [row for row, score in scores.items() if score == best]
    return rows[0] if len(rows) == 1 and 2 * best >= len(old.lines) - 1 else None


def _equal_lines(old: Text, text: Text, first: int) -> int:
    """How many lines of old stand where they would if it began on row ``first``."""
    if first < 0:
        return 0
    rows = text.canonical[first : first + len(old.lines)]
    pairs = [pair for pair in zip(old.canonical, rows, strict=False) if pair[0]]
    return sum(line == row or spaceless(line) == spaceless(row) for line, row in pairs)
