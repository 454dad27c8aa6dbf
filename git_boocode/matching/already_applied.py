"""Detect edits whose new text is already in the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

from git_boocode.matching.align import script, similarity
from git_boocode.matching.guards import evidence
from git_boocode.matching.rungs import rows_where
from git_boocode.matching.search import Query
from git_boocode.matching.text import Text, depth_of, framed, lines_of
from git_boocode.matching.types import Candidate, Match, MatchError, Occurrence, Rows, Span

THERE = "the new text is already there"
_EVIDENCE = 8  # minimum evidence of new text: less of it may be there by chance
_WORD = re.compile(r"\w")
_TELLING = re.compile(r"[^\s()\[\]{}<>\"'`,;]")  # text that is not only brackets and the like
_LITTLE_EVIDENCE = 2  # sufficient evidence if no other place is likely
_ELSEWHERE = 0.6  # minimum similarity of another place to the old text
_MARGIN = 0.1  # how much more similar to the old text the new one must be than other places


def applied_rows(query: Query) -> Rows | None:
    """The rows with the new text of an edit whose old text was not found; None if there are none.

    The new text must occur once, as whole lines, where the old text belonged: the lines that both
    share prove that, or the removed lines occur nowhere, and no other place is nearly as similar to
    the old text.
    """
    old, new, rows = query.needle, query.new, _rows_of_new(query)
    if new is None or rows is None or _shares_context(old, new):
        return rows
    windows = query.survey.windows
    apart = (w.similarity for w in windows if w.stop <= rows[0] or rows[1] <= w.first)
    alike = similarity("\n".join(_core(old)), "\n".join(_core(new)))
    if next(apart, 0.0) >= max(alike - _MARGIN, _ELSEWHERE):
        return None
    removed = {*filter(evidence, old.stripped)}.difference(new.stripped)
    is_gone = removed.isdisjoint(query.text.stripped) and evidence(new.lf) >= _EVIDENCE
    best = next(iter(windows), None)
    return rows if is_gone or (best and (best.first, best.stop) == rows) else None


def applied_elsewhere(query: Query, places: Sequence[Occurrence]) -> Rows | None:
    """The rows with the verbatim new text, disjoint from drifted places of the old text; or None.

    The lines that old and new share must prove that the old text belonged there.
    """
    text, old, new, rows = query.text, query.needle, query.new, _rows_of_new(query)
    if not (new and rows and new.lf in text.lf and _shares_context(old, new)):
        return None
    start, end = text.start_of(rows[0]), text.start_of(rows[1])
    return rows if all(place.end <= start or end <= place.start for place in places) else None


def _rows_of_new(query: Query) -> Rows | None:
    """The rows of the only place with the new text as whole lines, at any depth."""
    text, old, new = query.text, query.needle, query.new
    if new is None or new.lf.strip() in old.lf or evidence(new.lf) < _LITTLE_EVIDENCE:
        return None
    places = rows_where(text.framed_stripped, _core(new))
    return _rows_at(text, new, places[0]) if len(places) == 1 else None


def _rows_at(text: Text, new: Text, first: int) -> Rows | None:
    """The rows from ``first`` on that have the lines of new, if they are nested alike; or None."""
    stop = first + len(new.core)
    lines = new.lines[new.core.start : new.core.stop], text.lines[first:stop]
    depths = ([depth_of(line) for line in part if line.strip()] for part in lines)
    ranks = ([sorted({*part}).index(depth) for depth in part] for part in map(list, depths))
    return (first, stop) if next(ranks) == next(ranks) else None


def _shares_context(old: Text, new: Text) -> bool:
    """Whether the unchanged lines above and below the change have enough evidence."""
    lines = _core(new)
    hunks = script(_core(old), lines)
    ends = [hunk for hunk in {hunks[0], hunks[-1]} if hunk.same]
    shared = [line for hunk in ends for line in lines[hunk.j1 : hunk.j2]]
    return evidence("\n".join(shared)) >= _EVIDENCE


def applied_rows_around(query: Query, place: Occurrence, span: Span) -> Rows | None:
    """The rows with the new text around a place of the old text; None if there are none."""
    text, new = query.text, query.new
    if new is None:
        return None
    rows = place.rows or (span.start_line - 1, span.end_line)
    if place.rows is None and text.stripped[slice(*rows)] != _core(query.needle):
        return _extended(text, span, new)
    added = [*Counter(new.stripped) - Counter(query.needle.stripped)]
    if (
        evidence("\n".join(added)) < _LITTLE_EVIDENCE
        and sum(map(bool, map(_WORD.search, added))) < 2
    ):
        return None
    # Search only as far from the place as the new text reaches.
    lines, (first, stop) = _core(new), rows
    top = max(0, stop - len(lines))
    found = rows_where(framed(text.stripped[top : first + len(lines)]), lines)
    return _rows_at(text, new, top + found[0]) if found else None


def refuse_unchanged(query: Query, span: Span) -> NoReturn:
    """Raise the error for an edit that would not change the place that it was found at."""
    text, rows = query.text, (span.start_line - 1, span.end_line)
    new = query.new.stripped if query.new else []
    added = Counter(new[j] for hunk in query.hunks for j in range(hunk.j1, hunk.j2))
    if added <= Counter(text.stripped[slice(*rows)]):
        refuse_applied(text, *rows)
    where = lines_of(span.start_line, span.end_line)
    message = f"the change would have no effect, but {where} differ from the new text"
    there = Candidate(span.start_line, span.end_line, 1.0, text.rows_text(*rows))
    raise MatchError("ambiguous", message, Match("ambiguous", candidates=(there,)))


def refuse_applied(text: Text, first: int, stop: int) -> NoReturn:
    """Raise the error for an edit whose new text is already in these rows."""
    there = Candidate(first + 1, stop, 1.0, text.rows_text(first, stop))
    message = f"{THERE}, at {lines_of(first + 1, stop)}" if first < stop else THERE
    raise MatchError("already_applied", message, Match("not_found", candidates=(there,)))


def _core(text: Text) -> list[str]:
    return text.stripped[text.core.start : text.core.stop]


def _extended(text: Text, span: Span, new: Text) -> Rows | None:
    """The rows of a place on part of a line whose surroundings complete the new text."""
    there = text.raw[span.start : span.end]
    pasted = new.lf.replace("\n", "\r\n") if text.has_crlf else new.lf
    above, found, below = pasted.partition(there)
    start = span.start - len(above)
    proven = found and _TELLING.search(f"{above}\n{below}")
    if not proven or start < 0 or not text.raw.startswith(pasted, start):
        return None
    first = span.start_line - 1 - above.count("\n")
    return first, span.end_line + below.rstrip("\n").count("\n")
