"""Climb a profile's rungs from strict to loose; the first one that answers decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.matching.profiles import Profile, Step, profile_named
from git_boocode.matching.rungs import RUNGS, Found, Place, Query
from git_boocode.matching.text import Text
from git_boocode.matching.types import Match, Replacement, Span

if TYPE_CHECKING:
    from git_boocode.matching.readings import Variant
    from git_boocode.matching.windows import Window

REWRITTEN = "rewritten"
"""The rung of a text that is found exactly once it has been read back."""
SHOWN = 10
"""At most this many places of an ambiguous needle become candidates."""
NEAREST = 3
"""At most this many windows are shown for a needle that was not found."""
SHOWN_TEXT = 4_000
"""Characters of a candidate's text."""
_PROOF = Step("exact", evidence=8)
"""What a variant must hold to prove a place on part of a line."""
_PROOF_OF_LINES = Step("exact", evidence=2)
"""What it must hold to prove whole lines, as on the rung ``whitespace``."""
_NUMBERED = re.compile(r"[ \t]*(?:L(?:ine )?)?\d")
"""How a text begins that may have line numbers: a quick look before the close one."""


class Answer(NamedTuple):
    """What the ladder found. ``chosen`` is an index of ``found.places``, None if there is not one.

    ``rung`` is None when no rung answered. ``query`` holds the variant of the model's texts that
    was found, ``notes`` what was done to get it. ``merged`` is the whole replacement where it was
    made in an older version.
    """

    query: Query
    rung: str | None
    found: Found
    chosen: int | None
    notes: tuple[str, ...] = ()
    merged: Replacement | None = None


Older = Callable[[], "Answer | None"]


def locate_match(
    content: str,
    needle: str,
    profile: str = "default",
    *,
    start_line: int | None = None,
    whole_lines: bool = False,
) -> Match:
    """Locate ``needle`` in ``content``.

    ``profile`` names the ladder to climb. ``start_line`` (1-based) is a hint, which only decides
    between places that are equally good otherwise. With ``whole_lines`` the needle stands for whole
    lines: no place counts that begins or ends within a line. A miss is an answer, not an error; the
    only error is ValueError for an unknown profile.
    """
    query = Query(content, needle, whole_lines=whole_lines)
    return to_match(climb(query, profile_named(profile), start_line))


def climb(
    given: Query, profile: Profile, start_line: int | None = None, older: Older | None = None
) -> Answer:
    """Try the rungs of ``profile`` in order, with variants of the texts where it has them.

    ``older`` looks into older versions of the text, after the strict rungs and before the others.
    """
    answer = ascend(given, profile.steps[: profile.strict] or profile.steps, start_line)
    if not profile.strict:
        return answer
    if answer.rung is None:
        return _climb_on(answer, profile, start_line, older)
    if answer.chosen is None or given.new is None:
        return answer
    if answer.rung != "exact" and "\n+" in f"\n{given.new.lf}":
        return _without_marks(answer, profile.steps[: profile.strict], start_line)
    return _without_strays(answer, given.new) if _NUMBERED.match(given.new.lf) else answer


def _without_marks(answer: Answer, steps: Sequence[Step], start_line: int | None) -> Answer:
    """The answer for texts without the marks of a diff, of which old has none but spaces."""
    from git_boocode.matching.readings import Variant, marks

    given = answer.query
    own = Variant(given.needle.lf, given.new.lf if given.new else "")
    for variant in marks(own, given.text):
        better = ascend(given.reread(variant.old, variant.new), steps, start_line)
        if better.chosen is not None:
            return _noted(better, variant)
    return answer


def _without_strays(answer: Answer, new: Text) -> Answer:
    """The answer for new text without line numbers that the old text does not have."""
    from git_boocode.matching.readings import strays

    query = answer.query
    first_line = found_match(answer, answer.chosen or 0).start_line
    stripped = strays(query.needle.lf, new.lf, first_line or 0)
    if stripped is None:
        return answer
    notes = (*answer.notes, "line numbers stripped")
    return answer._replace(query=query.reread(query.needle.lf, stripped), notes=notes)


def _climb_on(
    missed: Answer, profile: Profile, start_line: int | None, older: Older | None
) -> Answer:
    """The answer for variants of the texts, of older versions, and of the looser steps.

    ``missed`` is what the text as given got from the strict steps. Variants climb these first: a
    loose rung would find a text in spite of its escapes, and carry them into the file with the new
    lines. For the same reason only the variant that the file speaks for climbs the loose ones.
    """
    from git_boocode.matching.readings import Variant, likeliest, variants

    given = missed.query
    strict, loose = profile.steps[: profile.strict], profile.steps[profile.strict :]
    own = Variant(given.needle.lf, given.new.lf if given.new else "")
    known = [own]
    for variant in variants(own.old, own.new, given.text, profile.variants):
        known.append(variant)
        answer = _climb_strictly(given.reread(variant.old, variant.new), strict, start_line)
        if answer.rung is not None:
            return _noted(answer, variant)
    if older is not None and (merged := older()) is not None:
        return merged
    answers = []
    for variant in likeliest(given.text, known) if len(known) > 1 else known:
        query = given if variant is own else given.reread(variant.old, variant.new)
        answer = _noted(ascend(query, loose, start_line), variant)
        answers.append(_without_strange_escapes(answer, own.old))
    found = [answer for answer in answers if answer.rung is not None]
    if found:
        return max(found, key=lambda answer: answer.found.places[0].similarity)
    reason = missed.found.reason or answers[-1].found.reason
    return answers[-1]._replace(found=Found(reason=reason))


def _climb_strictly(query: Query, steps: Sequence[Step], start_line: int | None) -> Answer:
    answer = ascend(query, steps, start_line)
    if answer.rung == "exact" and not _proves(answer):
        # The text as given would have been exact; a variant must prove its place.
        answer = ascend(query, [step for step in steps if step.rung != "exact"], start_line)
    return answer._replace(rung=REWRITTEN) if answer.rung == "exact" else answer


def _proves(answer: Answer) -> bool:
    from git_boocode.matching.guards import too_bare

    text, needle = answer.query.text, answer.query.needle
    whole = all(text.is_whole(place.start, place.end) for place in answer.found.places)
    return not too_bare(needle, _PROOF_OF_LINES if whole else _PROOF)


def _noted(answer: Answer, variant: Variant) -> Answer:
    """The answer with the variant's notes and, between equal places, the line it claims."""
    answer = answer._replace(notes=variant.notes)
    if answer.chosen is not None or not answer.found.equal or variant.first_line is None:
        return answer
    starts = [span.start_line for span in _spans(answer.query.text, answer.found.places)]
    claimed = [index for index, line in enumerate(starts) if line == variant.first_line]
    return answer._replace(chosen=claimed[0]) if len(claimed) == 1 else answer


def _without_strange_escapes(answer: Answer, given: str) -> Answer:
    """The answer, unless the file says otherwise about escape sequences.

    The place must hold those of the old text, or new text would bring more of them into the file;
    and none that were taken back in the old text as it was ``given``.
    """
    from git_boocode.matching.readings import sequences_in

    mine = sequences_in(answer.query.needle.lf)
    taken = sequences_in(given) - mine
    if answer.rung is None or not (mine or taken):
        return answer
    raw = answer.query.text.raw
    there = sequences_in("\n".join(raw[place.start : place.end] for place in answer.found.places))
    if mine - there or taken & (there - mine):
        return answer._replace(rung=None, found=Found(reason=_STRANGE), chosen=None)
    return answer


_STRANGE = "it has escape sequences that the file does not have there"


def ascend(query: Query, steps: Sequence[Step], start_line: int | None) -> Answer:
    """Try some rungs in order with one variant of the texts."""
    reason = None
    for step in steps:
        found = _allowed(query, RUNGS[step.rung](query, step))
        if found.places and step.rung != "exact":
            found = _not_applied(query, found)
        if found.places:
            return Answer(query, step.rung, found, choose(query, found, start_line))
        reason = reason or found.reason
    return Answer(query, None, Found(reason=reason), None)


def _allowed(query: Query, found: Found) -> Found:
    """The places of a rung to which the query is not restricted otherwise."""
    text, hints = query.text, query.hints
    kept = list(found.places)
    if query.whole_lines:
        kept = [place for place in kept if text.is_whole(place.start, place.end)]
    if hints.within and kept:
        lowest = text.sections.below(hints.sections)
        start = len(text.raw) + 1 if lowest is None else text.start_of(lowest)
        kept = [place for place in kept if place.start >= start]
    if hints.at_end and kept:
        end = len(text.raw.rstrip())
        kept = [place for place in kept if place.end >= end]
    if not found.equal and kept[:1] != list(found.places[:1]):
        # What is like the best place elsewhere was not held to the guards.
        kept = []
    return found if len(kept) == len(found.places) else found._replace(places=tuple(kept))


def _not_applied(query: Query, found: Found) -> Found:
    """The places above which the lines that come in there are not there already."""
    from git_boocode.matching.guards import applied_above

    whole = [place.rows if not place.partial else None for place in found.places]
    reasons = [applied_above(query, rows[0]) if rows else None for rows in whole]
    kept = [place for place, why in zip(found.places, reasons, strict=True) if not why]
    return found._replace(places=tuple(kept), reason=next(filter(None, reasons), found.reason))


def choose(query: Query, found: Found, start_line: int | None) -> int | None:
    """The index of the one place meant, or None if they cannot be told apart.

    Of places that are not equally good the hint may confirm the best, never another one.
    """
    if len(found.places) == 1:
        return 0
    if start_line is None:
        index = _hinted(query, found)
    else:
        away = [abs(span.start_line - start_line) for span in _spans(query.text, found.places)]
        nearest = min(away)
        index = away.index(nearest) if away.count(nearest) == 1 else None
    return index if found.equal or index == 0 else None


def _hinted(query: Query, found: Found) -> int | None:
    """The place that line and sections of the hints agree on."""
    hints = query.hints
    if hints.line is None and not hints.sections:
        return None
    rows = [span.start_line - 1 for span in _spans(query.text, found.places)]
    named = {row for row in rows if row + 1 == hints.line}
    sole = query.text.sections.sole(hints.sections, sorted(rows)) if hints.sections else None
    named |= set() if sole is None else {sole}
    return rows.index(named.pop()) if len(named) == 1 else None


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
    from git_boocode.matching.suggestions import candidates

    text, places = answer.query.text, answer.found.places
    spans = _spans(text, places)
    shown = [
        (span.start_line - 1, span.end_line, place.similarity)
        for span, place in zip(spans[:SHOWN], places, strict=False)
    ]
    near = [
        # Of lines that are too long to show, show the place alone.
        one if len(one.text) < SHOWN_TEXT else one._replace(text=text.raw[span.start : span.end])
        for span, one in zip(spans, candidates(text, shown), strict=False)
    ]
    return Match(
        "ambiguous",
        answer.rung,
        places[0].similarity,
        len(places),
        candidates=tuple(one._replace(text=one.text[:SHOWN_TEXT]) for one in near),
        spans=spans,
        reason="several places are equally good"
        if answer.found.equal
        else "no place is clearly the best",
    )


def _missed(answer: Answer) -> Match:
    """The answer with the windows most like the needle that do not overlap, best first."""
    from git_boocode.matching.suggestions import candidates

    query = answer.query
    taken: list[Window] = []
    for window in query.survey.windows:
        if all(window.stop <= other.first or other.stop <= window.first for other in taken):
            taken.append(window)
        if len(taken) == NEAREST:
            break
    near = [(window.first, window.stop, window.similarity) for window in taken]
    return Match(
        "not_found",
        similarity=taken[0].similarity if taken else 0.0,
        candidates=candidates(query.text, near, query.needle),
        reason=answer.found.reason,
    )
