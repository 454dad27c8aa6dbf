"""Profiles: which rungs are tried, in which order, with which numbers. Data, not code.

Why the numbers of ``default`` are what they are. A wrong edit is worse than a refused one, so each
guard asks what could make the place found *another* place than the one the model meant.

``evidence``
    Characters in distinct words of the needle that are not keywords. Whitespace and look-alike
    rungs compare whole lines for equality, so 2 is enough there: it lets ``if a:`` + ``b`` through
    and stops ``}``, ``return``, ``else:``, ``return None``, ``return 0``, which occur once by luck.
    A similar place proves less: 8 characters, the length of two ordinary identifiers.
``threshold`` 0.85
    Over the whole window. Two typos in a line of 30 characters leave 0.93; a paraphrased comment in
    a block of five lines leaves about 0.9. Unrelated code of one language lies below 0.5, a
    sibling block (same shape, other names) mostly at 0.6–0.85.
``line_floor`` 0.6
    Every line of the needle must resemble its line in the file. A line with a typo or two stays
    above 0.8; two unrelated lines of code rarely exceed 0.5.
``middle_floor`` 0.8
    The lines between first and last, taken together: signatures and closing lines repeat all over a
    file, so they must not lift the average of a middle which is other code. Comments are left out.
``agree`` 0.5
    In a needle of four lines and more at least half of the lines must be equal once canonical.
    Drift touches a few lines; where most differ a little it is the sibling of the block meant.
``typo`` 2
    Slips by which a word may be misspelt (a letter wrong, missing, too many, or swapped with the
    next); one more and it is another word, so another call, field or value. 2 leaves room for two
    typos in one name. It is what tells a typo from the sibling of a deleted block, at any
    similarity; so are a different number, and a word, or part of a name, which the file uses
    elsewhere, however close; another beginning or ending of two letters (`encoder`, `decoder`) or
    of a short part (`get_it`, `set_it`); and the same wrong letter in more than one place. Comment
    lines are not held to it, nor a comment behind code that is equal.
``margin`` 0.5
    Share of the difference *between two places* which must speak for the winner. If d is the
    distance between places A and B, a text that is exactly A is d nearer to A than to B; one that
    took the distinguishing characters half from each is equally near. Places below the threshold
    count, too. 0.5 means three quarters of
    what tells A from B must be A's. Where the needle is wrong just where A and B differ, no place
    gets there and the edit is refused, however similar both are.
``variants``
    A text that was read back (a fence, numbers, escapes, entities, diff marks) proves no less than
    one that was not, except on part of a line: exact there needs the 8 characters of a similar
    place. Looser rungs see one variant only, the one most of whose lines the file has.
``layout`` 2, ``part`` 8, ``comments`` 8, ``elided`` 8
    Evidence. Other spacing leaves every word to compare, as whitespace does. Where a part of a line
    is enough, or comments do not count, or lines are left out, less of the file is compared. Of a
    comment the numbers count, and one that the file has elsewhere is not taken for another. Where
    all lines are comments, those that are equal must hold three times the evidence.
``forgotten`` 1 (rung ``gapped``)
    Lines of the file that the needle may lack, between two lines that are equal in both, in a
    needle of at least three lines with text, or of two that stand in the file once each and hold 8
    characters of evidence each and 24 together. Where new lines come in beside such a line, and its
    depth and theirs do not tell on which side, the edit is refused (see ``doubt``).

What the other profiles accept that ``default`` does not
--------------------------------------------------------
``exact``
    Nothing.
``region``
    Lines equal but for blanks at their ends however bare (``}``, ``return``).
``boocode``
    Bare lines; any window 0.66 similar, whichever its words, if no other is as similar: a sibling
    of the block meant, other numbers, a middle that is other code.
``opencode-3``
    Bare lines; any text, of any height, between a line like the first and the nearest line like the
    last, if there is one such block; of several the one with the most alike middle, from 0.3.
``opencode-9``
    What ``opencode-3`` does; part of a line with other blanks in it; lines wrapped otherwise, as
    long as there are as many; escapes read on either side, without asking the file; text in which
    half of the lines between first and last are other code.

In every profile more than one place on a rung is ambiguous, with one exception, which the
description itself makes: of several blocks between anchors the most alike one is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Step(NamedTuple):
    """One rung of a profile with its numbers (see the module's text for what each guards against).

    ``rung`` is a key of ``rungs.RUNGS``. ``threshold``, ``margin``, ``line_floor``,
    ``middle_floor`` and ``agree`` are shares, 0.0–1.0; ``evidence`` counts
    characters, ``typo`` slips, ``forgotten`` lines. 0 switches a guard off.
    """

    rung: str
    threshold: float = 1.0
    margin: float = 0.0
    line_floor: float = 0.0
    middle_floor: float = 0.0
    agree: float = 0.0
    evidence: int = 0
    typo: int = 0
    forgotten: int = 0


class Profile(NamedTuple):
    """A named ladder, from strict to loose.

    ``variants`` are keys of ``readings.READERS``: variants of the model's text, which climb the
    first ``strict`` steps after the text as given has failed on them; the likeliest one climbs the
    steps above. ``placeholders`` is whether new text may hold placeholder
    lines (``rest of code``) that old text and file lack.
    """

    name: str
    steps: tuple[Step, ...]
    variants: tuple[str, ...] = ()
    strict: int = 0
    placeholders: bool = True


_SIMILAR = Step(
    "similarity",
    threshold=0.85,
    margin=0.5,
    line_floor=0.6,
    middle_floor=0.8,
    agree=0.5,
    evidence=8,
    typo=2,
)

_ALL = (
    Profile("exact", (Step("exact"),)),
    Profile(
        "boocode",
        (Step("exact"), Step("whitespace"), Step("unicode"), Step("similarity", threshold=0.66)),
    ),
    Profile("region", (Step("exact"), Step("rstripped"), Step("line_trimmed"))),
    Profile(
        "opencode-3",
        (Step("exact"), Step("line_trimmed"), Step("block_anchor", threshold=0.3)),
    ),
    Profile(
        "opencode-9",
        (
            Step("exact"),
            Step("line_trimmed"),
            Step("block_anchor", threshold=0.3),
            Step("whitespace_normalized"),
            Step("indentation_flexible"),
            Step("escape_normalized"),
            Step("trimmed_boundary"),
            Step("context_aware", threshold=0.5),
            Step("multi_occurrence"),
        ),
    ),
    Profile(
        "default",
        (
            Step("exact"),
            Step("whitespace", evidence=2),
            Step("unicode", evidence=2),
            Step("spaced", evidence=8),
            Step("layout", evidence=2),
            Step("part", evidence=8),
            Step("comments", evidence=8),
            Step("elided", evidence=8),
            _SIMILAR,
            _SIMILAR._replace(rung="gapped", forgotten=1),
        ),
        variants=("fences", "numbers", "escapes", "entities", "marks"),
        strict=6,
        placeholders=False,
    ),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in _ALL})


def profile_named(name: str) -> Profile:
    """The profile of that name; ValueError naming the known ones otherwise."""
    if name not in PROFILES:
        raise ValueError(f"unknown profile '{name}' (known: {', '.join(sorted(PROFILES))})")
    return PROFILES[name]
