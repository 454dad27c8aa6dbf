"""Climb a profile's rungs from strict to loose; the first one that answers decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from git_boocode.matching.rungs import Profile, Step, profile_named, run
from git_boocode.matching.text import Found, Occurrence, Query, Text
from git_boocode.matching.types import Match, Replacement, Span

SHOWN = 10  # at most this many places of an ambiguous needle become candidates
_NEAREST = 3  # at most this many windows are shown for a needle that was not found
SHOWN_TEXT = 4_000  # characters of a candidate's text
_PROVEN = Step("exact", evidence=2)
"""A variant must prove its place: whole lines here, a part of a line on a later step."""


class LadderAnswer(NamedTuple):
    """What the ladder found; ``rung`` is None if nothing.

    ``query`` holds the variant of the model's texts that was found, ``notes`` what was done to get
    it, ``chosen`` the index of the one place that is meant. ``merged`` is the whole replacement
    where it was made in an older version.
    """

    query: Query
    rung: str | None
    found: Found
    chosen: int | None
    notes: tuple[str, ...] = ()
    merged: Replacement | None = None


def locate_match(
    content: str,
    needle: str,
    profile: str = "default",
    *,
    start_line: int | None = None,
    whole_lines: bool = False,
) -> Match:
    """Locate ``needle`` in ``content`` by the ladder that ``profile`` names.

    ``start_line`` (1-based) only decides between places that are equally good otherwise. With
    ``whole_lines`` no place counts that begins or ends within a line. A miss is an answer, not an
    error; ValueError for an unknown profile.
    """
    query = Query(content, needle, whole_lines=whole_lines)
    return to_match(climb(query, profile_named(profile), start_line))


def climb(
    given: Query,
    profile: Profile,
    start_line: int | None = None,
    older: Callable[[], LadderAnswer | None] = lambda: None,
) -> LadderAnswer:
    """Try the rungs of ``profile`` in order, with variants of the texts where it has them.

    ``older`` looks into older versions of the text, after the strict rungs and before the others.
    """
    strict = profile.steps[: profile.strict] or profile.steps
    answer = ascend(given, strict, start_line)
    if not profile.strict:
        return answer
    if answer.rung is None:
        return _climb_on(answer, profile, start_line, older)
    return answer if answer.chosen is None or given.new is None else _cleaned(answer, given.new)


def _cleaned(answer: LadderAnswer, new: Text) -> LadderAnswer:
    """The answer for texts without the diff marks or line numbers that the new one alone shows."""
    is_marked = answer.rung != "exact" and "\n+" in f"\n{new.lf}"
    if not is_marked and not new.lf.lstrip("Line \t")[:1].isdigit():
        return answer
    from git_boocode.matching.variants import Variant, marks, strays

    query, place = answer.query, answer.found.places[answer.chosen or 0]
    own, (span,) = Variant(query.needle.lf, new.lf), query.text.spans([place[:2]])
    cleaned = marks(own, query.text) if is_marked else strays(own, span.start_line)
    if (variant := next(cleaned, None)) is None:
        return answer
    return answer._replace(query=query.reread(variant.old, variant.new), notes=variant.notes)


def _climb_on(
    missed: LadderAnswer,
    profile: Profile,
    start_line: int | None,
    older: Callable[[], LadderAnswer | None],
) -> LadderAnswer:
    """The answer for variants of the texts, of older versions, and of the looser steps.

    ``missed`` is what the text as given got from the strict steps. Variants climb these first: a
    loose rung would find a text in spite of its escapes, and carry them into the file with the new
    lines. For the same reason only the variant that the file speaks for climbs the loose ones.
    """
    from git_boocode.matching.variants import Variant, variants

    given, loose = missed.query, profile.steps[profile.strict :]
    strict = (_PROVEN, *profile.steps[1 : profile.strict])
    own = Variant(given.needle.lf, given.new.lf if given.new else "")
    queries = {own: given}
    for variant in variants(own, given.text, profile.variants):
        queries[variant] = given.reread(*variant[:2], variant.first_line)
        answer = ascend(queries[variant], strict, start_line)
        if answer.rung is not None:
            rung = "rewritten" if answer.rung == "exact" else answer.rung
            return answer._replace(rung=rung, notes=variant.notes)
    if merged := older():
        return merged
    shares = {variant: query.share for variant, query in queries.items()}
    level = [variant for variant, share in shares.items() if share == max(shares.values())]
    # Where two are level either may be right: first the one that was transformed.
    for variant in level[1::-1]:
        answer = ascend(queries[variant], loose, start_line)._replace(notes=variant.notes)
        answer = _without_strange_escapes(answer, own.old)
        if answer.rung is not None:
            return answer
    return answer._replace(found=Found(reason=missed.found.reason or answer.found.reason))


def _without_strange_escapes(answer: LadderAnswer, given: str) -> LadderAnswer:
    """The answer, unless the file says otherwise about escape sequences.

    The place must hold those of the old text, or new text would bring more of them into the file;
    and none that were taken back in the old text as it was ``given``.
    """
    from git_boocode.matching.variants import sequences_in

    mine, raw = sequences_in(answer.query.needle.lf), answer.query.text.raw
    taken = sequences_in(given) - mine
    there = sequences_in("\n".join(raw[place.start : place.end] for place in answer.found.places))
    if answer.rung is None or not (mine - there or taken & (there - mine)):
        return answer
    reason = "it has escape sequences that the file does not have there"
    return answer._replace(rung=None, found=Found(reason=reason), chosen=None)


def ascend(query: Query, steps: Sequence[Step], start_line: int | None) -> LadderAnswer:
    """Try some rungs in order with one variant of the texts."""
    reason = None
    for step in steps:
        found = run(query, step)
        found = _allowed(query, found) if found.places else found
        if found.places:
            return LadderAnswer(query, step.rung, found, _chosen(query, found, start_line))
        reason = reason or found.reason
    return LadderAnswer(query, None, Found(reason=reason), None)


def _allowed(query: Query, found: Found) -> Found:
    """The places that the hints allow, and that lack what comes in."""
    text, kept, reason = query.text, [], found.reason
    end = len(text.raw.rstrip()) if query.hints.at_end else 0
    for place in found.places:
        whole = not query.whole_lines or text.is_whole(place.start, place.end)
        if whole and place.end >= end:
            applied = None
            if place.rows:
                from git_boocode.matching.guards import applied_above

                applied = applied_above(query, place.rows[0])
            kept += [] if applied else [place]
            reason = reason or applied
    # What is like the best place elsewhere was not held to the guards.
    is_best = found.equal or found.places[:1] == (*kept[:1],)
    return found._replace(places=(*kept,) if is_best else (), reason=reason)


def _chosen(query: Query, found: Found, start_line: int | None) -> int | None:
    """The index of the one place meant, or None if several are equally good.

    Of places that are not equally good the hint may confirm the best, never another one.
    """
    if len(found.places) == 1:
        return 0
    text, hints = query.text, query.hints
    rows = [span.start_line - 1 for span in _spans(text, found.places)]
    if start_line is not None:
        nearest = min(abs(row + 1 - start_line) for row in rows)
        named = {row for row in rows if abs(row + 1 - start_line) == nearest}
    else:
        named = {row for row in rows if row + 1 == hints.line}
        sole = text.sections.sole(hints.sections, sorted(rows)) if hints.sections else None
        named |= set() if sole is None else {sole}
    meant = [index for index, row in enumerate(rows) if row in named]
    return meant[0] if len(meant) == 1 and (found.equal or meant == [0]) else None


def to_match(answer: LadderAnswer) -> Match:
    """The public form of an answer, with candidates if it has not one place."""
    if answer.chosen is not None:
        return found_match(answer, answer.chosen)
    from git_boocode.matching.suggestions import candidates

    query, places = answer.query, answer.found.places
    spans, reason = _spans(query.text, places), answer.found.reason
    near = [
        (span.start_line - 1, span.end_line, place.similarity)
        for span, place in zip(spans[:SHOWN], places, strict=False)
    ]
    if answer.rung is None:
        near = _nearest(query)
    else:
        equal = answer.found.equal
        reason = "several places are equally good" if equal else "no place is clearly the best"
    return Match(
        "not_found" if answer.rung is None else "ambiguous",
        answer.rung,
        near[0][2] if near else 0.0,
        len(places),
        candidates=candidates(query.text, near, query.needle if answer.rung is None else None),
        spans=spans,
        reason=reason,
    )


def _nearest(query: Query) -> list[tuple[int, int, float]]:
    """The windows most like the needle that do not overlap, best first."""
    taken: list[tuple[int, int, float]] = []
    for first, stop, similarity in query.survey.windows:
        if all(stop <= top or end <= first for top, end, _ in taken):
            taken.append((first, stop, similarity))
        if len(taken) == _NEAREST:
            break
    return taken


def found_match(answer: LadderAnswer, chosen: int) -> Match:
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


def _spans(text: Text, places: Sequence[Occurrence]) -> tuple[Span, ...]:
    ends = sorted(place[:2] for place in places)
    by_ends = dict(zip(ends, text.spans(ends), strict=True))
    return tuple(by_ends[place[:2]] for place in places)
