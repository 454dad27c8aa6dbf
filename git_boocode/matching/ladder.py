"""Climb a profile's rungs from strict to loose; the first one that answers decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.matching.profiles import Profile, Step, profile_named
from git_boocode.matching.rungs import RUNGS, Found, Place, Query
from git_boocode.matching.text import Text
from git_boocode.matching.types import Candidate, Match, Span

if TYPE_CHECKING:
    from git_boocode.matching.windows import Window

SHOWN = 10
"""At most so many places of an ambiguous needle become candidates."""
NEAREST = 3
"""At most so many windows are shown for a needle that was not found."""
SHOWN_TEXT = 4_000
"""Characters of a candidate's text."""


class Answer(NamedTuple):
    """What the ladder found. ``chosen`` is an index of ``found.places``, None if there is not one.

    ``rung`` is None when no rung answered. ``query`` holds the reading of the model's texts that
    was found, ``notes`` what was done to get it.
    """

    query: Query
    rung: str | None
    found: Found
    chosen: int | None
    notes: tuple[str, ...] = ()


def locate_match(
    content: str,
    needle: str,
    profile: str = "default",
    *,
    start_line: int | None = None,
    whole_lines: bool = False,
) -> Match:
    """Say where ``needle`` stands in ``content``.

    ``profile`` names the ladder to climb. ``start_line`` (1-based) is a hint, which only decides
    between places that are equally good otherwise. With ``whole_lines`` the needle stands for whole
    lines: no place counts that begins or ends within a line. A miss is an answer, not an error; the
    only error is ValueError for an unknown profile.
    """
    query = Query(content, needle, whole_lines=whole_lines)
    return to_match(climb(query, profile_named(profile), start_line))


def climb(given: Query, profile: Profile, start_line: int | None = None) -> Answer:
    """Try the rungs of ``profile`` in order, with other readings of the texts where it has them."""
    answer = ascend(given, profile.steps[: profile.strict] or profile.steps, start_line)
    if answer.rung is not None or not profile.strict:
        return answer
    from git_boocode.matching.ascent import climb_on

    return climb_on(answer, profile, start_line)


def ascend(query: Query, steps: Sequence[Step], start_line: int | None) -> Answer:
    """Try some rungs in order with one reading of the texts."""
    reason = None
    for step in steps:
        found = RUNGS[step.rung](query, step)
        if query.whole_lines:
            found = _of_whole_lines(query.text, found)
        if found.places:
            return Answer(query, step.rung, found, choose(query.text, found, start_line))
        reason = reason or found.reason
    return Answer(query, None, Found(reason=reason), None)


def _of_whole_lines(text: Text, found: Found) -> Found:
    """The places of a rung that begin with a line and end with one."""
    kept = tuple(place for place in found.places if text.is_whole(place.start, place.end))
    return found if len(kept) == len(found.places) else found._replace(places=kept)


def choose(text: Text, found: Found, start_line: int | None) -> int | None:
    """The index of the one place meant, or None if they cannot be told apart.

    Of places that are not equally good the hint may confirm the best, never another one.
    """
    if len(found.places) == 1:
        return 0
    if start_line is None:
        return None
    away = [abs(span.start_line - start_line) for span in _spans(text, found.places)]
    nearest = min(away)
    if away.count(nearest) > 1:
        return None
    index = away.index(nearest)
    return index if found.equal or index == 0 else None


def to_match(answer: Answer) -> Match:
    """The public form of an answer."""
    if answer.rung is None:
        return _missed(answer)
    if answer.chosen is None:
        return _ambiguous(answer)
    return found_match(answer, answer.chosen)


def found_match(answer: Answer, chosen: int) -> Match:
    """The match at place number ``chosen``."""
    text, places = answer.query.text, answer.found.places
    spans = _spans(text, places)
    start, end = text.ends(spans[chosen])
    return Match(
        "exact" if answer.rung == "exact" else "fuzzy",
        answer.rung,
        places[chosen].similarity,
        len(places),
        start,
        end,
        spans=spans,
        span=spans[chosen],
    )


def _spans(text: Text, places: Sequence[Place]) -> tuple[Span, ...]:
    order = sorted(range(len(places)), key=lambda index: places[index].start)
    spans = text.spans(places[index][:2] for index in order)
    by_index = dict(zip(order, spans, strict=True))
    return tuple(by_index[index] for index in range(len(places)))


def _ambiguous(answer: Answer) -> Match:
    from git_boocode.matching.suggestions import descriptions, unique_text

    text, places = answer.query.text, answer.found.places
    spans = _spans(text, places)
    equal = answer.found.equal
    rows = [(span.start_line - 1, span.end_line) for span in spans[:SHOWN]]
    return Match(
        "ambiguous",
        answer.rung,
        places[0].similarity,
        len(places),
        candidates=tuple(
            Candidate(
                span.start_line,
                span.end_line,
                place.similarity,
                _shown(text, span),
                *unique_text(text, one),
                where,
            )
            for span, place, one, where in zip(
                spans, places, rows, descriptions(text, rows), strict=False
            )
        ),
        spans=spans,
        reason="several places are equally good" if equal else "no place is clearly the best",
    )


def _shown(text: Text, span: Span) -> str:
    """The lines of a span, or, of lines too long to show, the span alone."""
    lines = text.rows_text(span.start_line - 1, span.end_line)
    return lines if len(lines) <= SHOWN_TEXT else text.raw[span.start : span.end][:SHOWN_TEXT]


def _missed(answer: Answer) -> Match:
    nearest = _nearest(answer.query)
    return Match(
        "not_found",
        similarity=nearest[0].similarity if nearest else 0.0,
        candidates=nearest,
        reason=answer.found.reason,
    )


def _nearest(query: Query) -> tuple[Candidate, ...]:
    """The windows most like the needle that do not overlap, best first."""
    taken: list[Window] = []
    for window in query.survey().windows:
        if all(window.stop <= other.first or other.stop <= window.first for other in taken):
            taken.append(window)
        if len(taken) == NEAREST:
            break
    return tuple(_candidate(query, window) for window in taken)


def _candidate(query: Query, window: Window) -> Candidate:
    from git_boocode.matching.suggestions import descriptions, differing_lines, unique_text

    text, rows = query.text, (window.first, window.stop)
    return Candidate(
        window.first + 1,
        window.stop,
        window.similarity,
        text.rows_text(*rows)[:SHOWN_TEXT],
        *unique_text(text, rows),
        descriptions(text, [rows])[0],
        tuple(differing_lines(text, rows, query.needle)),
    )
