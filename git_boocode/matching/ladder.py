"""Try a profile's rungs from strict to loose; the first one that finds a place decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.matching.rungs import Profile, profile_named
from git_boocode.matching.search import Query, Sections
from git_boocode.matching.text import Text
from git_boocode.matching.types import Found, Match, Occurrence, Span, Step

if TYPE_CHECKING:
    from git_boocode.matching.variants import Variant

SHOWN = 10  # maximum number of candidates for an ambiguous needle
_NEAREST = 3  # maximum number of candidates for a needle that was not found
_VARIANT_STEP = Step("exact", evidence=2)
"""The first step for variants, which need evidence: whole lines here, part of a line later."""


_MODULES = {
    "rungs": ("exact", "whitespace", "unicode", "layout", "similarity"),
    "placeholders": ("elided",),
    "context": ("comments", "context"),
    "opencode": (
        *("rstripped", "line_trimmed", "block_anchor", "whitespace_normalized"),
        *("escape_normalized", "trimmed_boundary", "context_aware"),
    ),
}
RUNGS = {name: module for module, names in _MODULES.items() for name in names}


def run(query: Query, step: Step) -> Found:
    """Run the rung of a step; its module is imported on first use."""
    from importlib import import_module

    rung = getattr(import_module(f"git_boocode.matching.{RUNGS[step.rung]}"), step.rung)
    found: Found = rung(query, step)
    return found


class LadderAnswer(NamedTuple):
    """The result of the ladder; ``rung`` is None if it found nothing.

    ``query`` contains the variant of the model's texts that was found, ``notes`` the
    transformations of that variant, ``chosen`` the index of the place if one was chosen.
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
    """Locate ``needle`` in ``content`` with the rungs of a profile.

    ``start_line`` (1-based) only decides between places that are equally good otherwise. With
    ``whole_lines``, places that begin or end within a line do not count. A needle that is not found
    is a result, not an error; ValueError for an unknown profile.
    """
    query = Query(content, needle, whole_lines=whole_lines)
    return to_match(climb(query, profile_named(profile), start_line))


def climb(query: Query, profile: Profile, start_line: int | None = None) -> LadderAnswer:
    """Try all rungs of a profile in order, and variants of the texts if the profile has any."""
    ladder = LadderRun(query, profile, start_line)
    answer = ladder.try_strict()
    return ladder.try_loose() if answer.rung is None and profile.strict else answer


class LadderRun:
    """Tries the rungs of a profile for one query: the strict ones, then the loose ones.

    Variants try the strict rungs first: a loose rung would find a text despite its escapes, and
    copy them into the file. For the same reason, only the variant that shares most lines with the
    file tries the others.
    """

    def __init__(self, query: Query, profile: Profile, start_line: int | None) -> None:
        self.query, self.profile, self.start_line = query, profile, start_line
        self.queries: dict[Variant, Query] = {}
        self.reason: str | None = None

    def try_strict(self) -> LadderAnswer:
        """The answer of the strict rungs; of all rungs if the profile calls none strict."""
        strict = self.profile.steps[: self.profile.strict]
        answer = try_steps(self.query, strict or self.profile.steps, self.start_line)
        if not strict:
            return answer
        if answer.rung is None:
            self.reason = answer.found.reason
            return self._try_variants(strict) or answer
        return answer if answer.chosen is None else _cleaned(answer)

    def _try_variants(self, strict: Sequence[Step]) -> LadderAnswer | None:
        from git_boocode.matching.variants import Variant, variants

        query = self.query
        own = Variant(query.needle.lf, query.new.lf if query.new else "")
        self.queries[own] = query
        for variant in variants(own, query.text, self.profile.variants):
            other = query.variant(variant.old, variant.new, variant.first_line)
            answer = try_steps(other, (_VARIANT_STEP, *strict[1:]), self.start_line)
            if answer.rung is not None:
                rung = "rewritten" if answer.rung == "exact" else answer.rung
                return answer._replace(rung=rung, notes=variant.notes)
            self.queries[variant] = other
        return None

    def try_loose(self) -> LadderAnswer:
        """The answer of the loose rungs, after the strict ones found nothing."""
        loose = self.profile.steps[self.profile.strict :]
        best = max(query.share for query in self.queries.values())
        level = [pair for pair in self.queries.items() if pair[1].share == best]
        # If two are level, either may be right; the transformed one comes first.
        for variant, query in level[1::-1]:
            answer = try_steps(query, loose, self.start_line)._replace(notes=variant.notes)
            answer = _without_strange_escapes(answer, self.query.needle.lf)
            if answer.rung is not None:
                return answer
        return answer._replace(found=Found(reason=self.reason or answer.found.reason))


def _cleaned(answer: LadderAnswer) -> LadderAnswer:
    """The answer without diff marks or line numbers that only the new text has."""
    if (new := answer.query.new) is None:
        return answer
    is_marked = answer.rung != "exact" and "\n+" in f"\n{new.lf}"
    if not is_marked and not new.lf.lstrip("Line \t")[:1].isdigit():
        return answer
    from git_boocode.matching.variants import Variant, marks, strays

    query, place = answer.query, answer.found.places[answer.chosen or 0]
    own, (span,) = Variant(query.needle.lf, new.lf), query.text.spans([place.ends])
    cleaned = marks(own, query.text) if is_marked else strays(own, span.start_line)
    if (variant := next(cleaned, None)) is None:
        return answer
    return answer._replace(query=query.variant(variant.old, variant.new), notes=variant.notes)


def _without_strange_escapes(answer: LadderAnswer, original: str) -> LadderAnswer:
    """The answer, or none if its escape sequences differ from the file's.

    The place must contain the escape sequences of the old text; otherwise the new text would add
    more of them. It must contain none that were decoded in the ``original`` old text.
    """
    from git_boocode.matching.variants import sequences_in

    mine, raw = sequences_in(answer.query.needle.lf), answer.query.text.raw
    taken = sequences_in(original) - mine
    there = sequences_in("\n".join(raw[place.start : place.end] for place in answer.found.places))
    if answer.rung is None or not (mine - there or taken & (there - mine)):
        return answer
    reason = "it has escape sequences that the file does not have there"
    return answer._replace(rung=None, found=Found(reason=reason), chosen=None)


def try_steps(query: Query, steps: Sequence[Step], start_line: int | None) -> LadderAnswer:
    """Try some steps in order with one variant of the texts."""
    reason = None
    for step in steps:
        found = run(query, step)
        found = _allowed(query, found) if found.places else found
        if found.places:
            return LadderAnswer(query, step.rung, found, _chosen(query, found, start_line))
        reason = reason or found.reason
    return LadderAnswer(query, None, Found(reason=reason), None)


def _allowed(query: Query, found: Found) -> Found:
    """The places that the hints allow and that do not have the new lines already."""
    text, kept, reason = query.text, [], found.reason
    end = len(text.raw.rstrip()) if query.hints.at_end else 0
    for place in found.places:
        whole = not query.whole_lines or text.is_whole(place.start, place.end)
        if whole and place.end >= end:
            applied = None
            if place.rows:
                from git_boocode.matching.guards import applied_beside

                applied = applied_beside(query, *place.rows)
            kept += [] if applied else [place]
            reason = reason or applied
    # The guards have checked only the best place, not the places similar to it.
    is_best = found.equal or found.places[:1] == (*kept[:1],)
    return found._replace(places=(*kept,) if is_best else (), reason=reason)


def _chosen(query: Query, found: Found, start_line: int | None) -> int | None:
    """The index of the chosen place, or None if several are equally good.

    If the places are not equally good, a hint may confirm the best one, but not choose another.
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
        sole = None
        if hints.sections:
            sole = text.once(Sections).sole(hints.sections, sorted(rows))
        named |= set() if sole is None else {sole}
    meant = [index for index, row in enumerate(rows) if row in named]
    return meant[0] if len(meant) == 1 and (found.equal or meant == [0]) else None


def to_match(answer: LadderAnswer) -> Match:
    """The public form of an answer, with candidates if no place was chosen."""
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
    """The disjoint windows most similar to the needle, best first."""
    taken: list[tuple[int, int, float]] = []
    for first, stop, similarity in query.survey.windows:
        if all(stop <= top or end <= first for top, end, _ in taken):
            taken.append((first, stop, similarity))
        if len(taken) == _NEAREST:
            break
    return taken


def found_match(answer: LadderAnswer, chosen: int) -> Match:
    """The match at the place with index ``chosen``."""
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
    ends = sorted(place.ends for place in places)
    by_ends = dict(zip(ends, text.spans(ends), strict=True))
    return tuple(by_ends[place.ends] for place in places)
