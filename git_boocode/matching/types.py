"""The results and errors of the matcher, and the parameters of its rungs."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["exact", "fuzzy", "ambiguous", "not_found"]
Code = Literal["not_found", "ambiguous", "overlap", "stale", "already_applied", "invalid_input"]

Rows = tuple[int, int]
"""The first of some rows of a text, from 0, and the row after the last; equal if there are none."""

SHOWN_TEXT = 4_000  # characters of a candidate's text


class Position(NamedTuple):
    """A point in the text: ``offset`` in characters from 0, ``line`` and ``column`` from 1."""

    offset: int
    line: int
    column: int


class Span(NamedTuple):
    """Offsets in characters, the end exclusive, and lines, 1-based and inclusive."""

    start: int
    end: int
    start_line: int
    end_line: int


class Candidate(NamedTuple):
    """A possible match: its lines (1-based, inclusive), similarity, and the file's text.

    ``old_string``, from line ``old_start_line`` on, is the shortest run of whole lines around it
    that occurs once; None if no short run does. ``where`` distinguishes the candidate from others,
    and ``differs`` lists the lines that differ from the old text: ``12: [-old-]{+file+}``.
    """

    start_line: int
    end_line: int
    similarity: float
    text: str
    old_string: str | None = None
    old_start_line: int | None = None
    where: str | None = None
    differs: tuple[str, ...] = ()


class Match(NamedTuple):
    """The result of locating a needle.

    ``rung`` is the comparison that succeeded, ``similarity`` is 0.0–1.0, ``count`` the number of
    places. ``span``, ``start`` and ``end`` (exclusive) are set for ``exact`` and ``fuzzy`` only.
    ``spans`` contains all places; ``candidates`` some of them (``ambiguous``) or the most similar
    text (``not_found``). ``version`` is the index of the older version that has the needle.
    """

    kind: Kind
    rung: str | None = None
    similarity: float = 0.0
    count: int = 0  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    start: Position | None = None
    end: Position | None = None
    candidates: tuple[Candidate, ...] = ()
    spans: tuple[Span, ...] = ()
    span: Span | None = None
    reason: str | None = None
    version: int | None = None

    @property
    def start_line(self) -> int | None:
        """The first line of the match, 1-based; None without a unique match."""
        return self.span.start_line if self.span else None

    @property
    def end_line(self) -> int | None:
        """The last line of the match, 1-based and inclusive; None without a unique match."""
        return self.span.end_line if self.span else None


class Replacement(NamedTuple):
    """The complete new content, and the first match of the old text.

    ``spans`` contains the ``count`` replaced places, in the *original* content. ``notes`` lists the
    adaptations of the new text (see ``refit.notes``).
    """

    content: str
    match: Match
    notes: tuple[str, ...] = ()
    count: int = 0  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    spans: tuple[Span, ...] = ()

    @property
    def version(self) -> int | None:
        """The index of the older version in which the edit was made; None if it was in the text."""
        return self.match.version


class Step(NamedTuple):
    """The name of a rung with its parameters, see above; 0 disables a guard."""

    rung: str
    threshold: float = 1.0
    margin: float = 0.0
    agree: float = 0.0
    evidence: int = 0
    typo: int = 0


class Occurrence(NamedTuple):
    """A place where a text occurs: character offsets, the end exclusive.

    ``rows`` are the whole lines (first, stop) that it covers; None for a part of a line. ``lines``
    contains the matching rows (first, stop) for each line of the needle, if known. ``partial`` is
    set if the first or last row is covered only in part.
    """

    start: int
    end: int
    similarity: float = 1.0
    rows: Rows | None = None
    lines: tuple[Rows, ...] | None = None
    partial: bool = False

    @property
    def ends(self) -> tuple[int, int]:
        """The offsets of its start and its end."""
        return self.start, self.end


class Found(NamedTuple):
    """The places that a rung finds, in ascending order; if not ``equal``, the best comes first."""

    places: tuple[Occurrence, ...] = ()
    equal: bool = True
    reason: str | None = None


class MatchError(Exception):
    """A refused replacement; ``candidates`` are similar text, the places, or stale lines."""

    def __init__(self, code: Code, message: str, match: Match | None = None) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.match = match if match is not None else Match("not_found")
        self.candidates = self.match.candidates

    def __reduce__(self) -> tuple[type[MatchError], tuple[Code, str, Match]]:
        return type(self), (self.code, self.message, self.match)
