"""The rungs of the ladder, and the profiles, which define the order and parameters of the rungs.

A rung is one kind of comparison, and returns all places that pass. To add a rung, write a function
from ``Query`` and ``Step`` to ``Found`` and list it under the name of its module.

The parameters of ``default`` are guards against a *wrong* place:

- ``evidence``: characters in distinct words of the needle that are not keywords. For whole lines
  that are equal except for indentation, 1 is enough: ``return 1`` passes, but ``}`` and ``else:``
  do not, because they may occur once by chance. Look-alikes need 2. Comparisons that are less
  strict (comments, elided or similar lines) need 8, the length of two ordinary identifiers.
- ``threshold``: similarity of the whole window; similar blocks of code mostly have 0.6–0.85.
- ``typo``: maximum number of typing errors in a word; with more it is another word. A different
  number, a word or part of a name that the file uses elsewhere, and an error that is made more than
  once are different words as well.
- ``margin``: share of the difference *between two places* that must favour the winner. A text with
  half of each place is refused, however similar it is.
- ``agree`` (rung ``context``): share of the needle's lines that must be equal, besides the lines
  that the edit touches: one wrong line in four, three in ten.

The other profiles accept more: ``region`` accepts bare lines (``}``), ``boocode`` any window with
similarity 0.66, and the profiles named after opencode follow that tool.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from git_boocode.matching.search import Query
from git_boocode.matching.text import Text, framed, squeezed
from git_boocode.matching.types import Found, Occurrence, Step

PLACES = 200  # maximum number of occurrences that are checked one by one
_RUN = re.compile(r"\S+", re.ASCII)
_SPACE = re.compile(r"\s+")
_NEEDLESS = re.compile(r"(?<!\w) | (?!\w)")


def exact(query: Query, step: Step) -> Found:
    """The exact needle, ignoring line endings; only whole lines if it needs evidence."""
    if step.evidence and (refused := refusal(query, step)):
        return refused
    if query.needle.mark or not (query.whole_lines or step.evidence):
        return found_in(query, query.text.lf, query.needle.lf)
    text, closed, height = query.text, query.needle.closed, len(query.needle.lines)
    rows = rows_where(framed(text.lines), query.needle.lines) if height and text.lines else []
    stops = (row + height for row in rows)
    ends = (text.start_of(stop) if closed else text.end_of(stop - 1) for stop in stops)
    return Found(tuple(map(Occurrence, map(text.start_of, rows), ends)))


def whitespace(query: Query, step: Step) -> Found:
    """Whole lines that are equal except for leading and trailing whitespace."""
    view, lines = query.text.framed_stripped, query.needle.stripped
    return refusal(query, step) or _found_lines(query, view, lines)


def unicode(query: Query, step: Step) -> Found:
    """Text on part of a line, or whole lines, that is equal except for look-alike characters."""
    if query.text.raw.isascii() and query.needle.raw.isascii():
        return Found()
    if refused := refusal(query, step):
        return refused
    text, needle = query.text, query.needle
    part = Found() if query.whole_lines else found_in(query, text.lf_alike, needle.lf_alike)
    return part if part.places else _found_lines(query, text.framed_canonical, needle.canonical)


def layout(query: Query, step: Step) -> Found:
    """Whole lines that are equal except for blank lines and spaces that do not separate words."""
    if refused := refusal(query, step):
        return refused
    if query.text.squeezed.count(query.needle.squeezed) > PLACES:
        return Found(reason=f"it occurs over {PLACES} times, ignoring whitespace")
    rows = loose_rows(query.text, query.needle, by_line=True)
    filled = ([row for row in each if query.text.canonical[row]] for each in rows)
    pairs = (dict(zip(query.needle.filled, each, strict=True)) for each in filled)
    return Found(tuple(map(query.spread, pairs)))


def similarity(query: Query, step: Step) -> Found:
    """The most similar window, if it reaches the threshold and the guard accepts it."""
    from git_boocode.matching.guards import WindowGuard

    if refused := refusal(query, step):
        return refused
    found, guard = query.survey, WindowGuard(query, step)
    best = next(iter(found.windows), None)
    if best is None or best.similarity < step.threshold:
        return Found(reason=found.reason)
    if objected := guard.objection(best):
        return Found(reason=objected)
    # A window below the threshold is a rival if it differs from the best only in the error.
    rivals = guard.rivals(best, found.windows[1:])
    equal = all(other.similarity == best.similarity for other in rivals)
    return Found(tuple(query.place(w.first, w.stop, w.similarity) for w in (best, *rivals)), equal)


def refusal(query: Query, step: Step) -> Found | None:
    """The answer for a needle that must match exactly; None if tolerance is allowed."""
    from git_boocode.matching.guards import evidence

    if not query.needle.core:
        return Found(reason="blank text is only matched exactly")
    if evidence(query.needle.lf) < step.evidence:
        return Found(reason="the old text is too short for a fuzzy match")
    return None


def occurrences(text: str, needle: str, shared: int = 0) -> list[int]:
    """The offsets of disjoint occurrences; if there is only one, also one that overlaps it.

    The last ``shared`` characters of an occurrence may also belong to the next one.
    """
    found = []
    at = text.find(needle)
    while at >= 0:
        found.append(at)
        at = text.find(needle, at + len(needle) - shared)
    near = found[0] + 2 * len(needle) if found else 0
    twin = text.find(needle, found[0] + 1, near) if len(found) == 1 else -1
    return found if twin < 0 else [*found, twin]


def rows_where(view: str, lines: Iterable[str]) -> list[int]:
    """The rows at which some lines occur in framed lines, disjoint as in ``occurrences``."""
    rows, seen = [0], 0
    for at in occurrences(view, framed(lines), shared=1):
        rows.append(rows[-1] + view.count("\n", seen, at))
        seen = at
    return rows[1:]


def found_in(query: Query, text: str, needle: str) -> Found:
    """The places of a needle in a view of the text with the same offsets as ``Text.lf``."""
    if not needle:
        return Found()
    starts, raw = occurrences(text, needle), query.text.to_raw
    return Found(tuple(Occurrence(raw(at), raw(at + len(needle))) for at in starts))


def _found_lines(query: Query, view: str, lines: list[str]) -> Found:
    lines = lines[query.needle.core.start : query.needle.core.stop]
    # Canonical lines may all be blank; then they match nothing.
    rows = rows_where(view, lines) if any(lines) else []
    return Found(tuple(query.place(row, row + len(lines)) for row in rows))


def loose_rows(text: Text, needle: Text, *, by_line: bool) -> list[range]:
    """The rows of whole lines that equal the needle, ignoring needless spaces and blank lines.

    Line breaks are ignored, too, unless lines are compared ``by_line``.
    """
    pieces, view = needle.lf_alike.removeprefix(needle.mark).split("\n"), text.lf_alike
    filled = "\n".join(pieces[row] for row in needle.filled)
    sought = squeezed(filled)
    starts = occurrences(text.squeezed, sought)
    if not starts:
        return []
    runs = [run.span() for run in _RUN.finditer(view)]
    sizes = [*accumulate((end - start for start, end in runs), initial=0)]

    def offset(at: int) -> int:
        number = bisect_right(sizes, at) - 1
        return runs[number][0] + at - sizes[number]

    form, found = _form(filled, by_line=by_line), []
    for at in starts:
        start, end = offset(at), offset(at + len(sought) - 1) + 1
        head = view[view.rfind("\n", 0, start) + 1 : start].removeprefix(text.mark)
        tail = view[end:].partition("\n")[0]
        is_whole = not (head.strip() or tail.strip())
        if is_whole and _form(view[start:end], by_line=by_line) == form:
            first = view.count("\n", 0, start)
            found.append(range(first, first + view.count("\n", start, end) + 1))
    return found


def _form(text: str, *, by_line: bool) -> list[str]:
    """The nonblank lines of a text, or all as one line, without needless spaces."""
    lines = text.split("\n") if by_line else [text]
    return [_NEEDLESS.sub("", _SPACE.sub(" ", line.strip())) for line in lines if line.strip()]


class Profile(NamedTuple):
    """A named ladder, from strict to loose.

    ``variants`` are keys of ``variants.DECODERS``: if the original text fails the first ``strict``
    steps, its variants try them, and the likeliest one tries the others. ``placeholders`` allows
    placeholder lines (``rest of code``) in new text that old text and file lack.
    """

    name: str
    steps: tuple[Step, ...]
    variants: tuple[str, ...] = ()
    strict: int = 0
    placeholders: bool = True


_OPENCODE_3 = (Step("exact"), Step("line_trimmed"), Step("block_anchor", threshold=0.3))
_ALL = (
    Profile("exact", (Step("exact"),)),
    Profile(
        "boocode",
        (Step("exact"), Step("whitespace"), Step("unicode"), Step("similarity", threshold=0.66)),
    ),
    Profile("region", (Step("exact"), Step("rstripped"), Step("line_trimmed"))),
    Profile("opencode-3", _OPENCODE_3),
    Profile(
        "opencode-9",
        (
            *_OPENCODE_3,
            # Its strategies IndentationFlexible and MultiOccurrence find nothing else.
            Step("whitespace_normalized"),
            Step("escape_normalized"),
            Step("trimmed_boundary"),
            Step("context_aware", threshold=0.5),
        ),
    ),
    Profile(
        "default",
        (
            Step("exact"),
            Step("whitespace", evidence=1),
            Step("unicode", evidence=2),
            Step("layout", evidence=2),
            Step("comments", evidence=8),
            Step("elided", evidence=8),
            Step("context", agree=0.7, evidence=8),
            Step("similarity", threshold=0.85, margin=0.5, evidence=8, typo=2),
        ),
        variants=("fences", "numbers", "gutter", "escapes", "entities", "marks", "wrapped"),
        strict=4,
        placeholders=False,
    ),
)

PROFILES = {profile.name: profile for profile in _ALL}


def profile_named(name: str) -> Profile:
    """The profile with a name (ValueError)."""
    if name not in PROFILES:
        raise ValueError(f"unknown profile '{name}' (known: {', '.join(sorted(PROFILES))})")
    return PROFILES[name]
