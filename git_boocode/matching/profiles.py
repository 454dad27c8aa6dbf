"""Profiles: which rungs are tried, in which order, with which numbers. Data, not code.

The numbers of ``default`` are guards: a wrong edit is worse than a refused one, so each asks what
could make the place found *another* place than the one the model meant.

``evidence`` 1, 2 or 8
    Characters in distinct words of the needle that are not keywords. Where whole lines are equal
    but for indentation 1 is enough: ``return 1`` passes; ``}``, ``return`` and ``else:``, which
    occur once by luck, do not. Look-alikes need 2. Where less of the file is compared (part of a
    line, comments, elided lines, similar lines) 8, the length of two ordinary identifiers.
``threshold`` 0.85
    Similarity of the whole window. A sibling block (same shape, other names) has mostly 0.6–0.85.
``typo`` 2
    Slips by which a word may be misspelt (a letter wrong, missing, too many, or swapped with the
    next); one more and it is another word. So is, at any similarity, another number, a word or part
    of a name that the file uses elsewhere, and the same wrong letter in more than one place.
``margin`` 0.5
    Share of the difference *between two places* that must favour the winner, places below the
    threshold included: a text that took the distinguishing characters half from each is equally
    near to both, and refused however similar it is.
``agree`` 0.66 (rung ``context``)
    Share of the needle's lines that must be equal where those that the edit touches are, in one
    place of the file only: two wrong lines in six, three in ten.

The other profiles accept more: ``region`` bare lines (``}``) with whitespace at their ends;
``boocode`` any window 0.66 similar, whichever its words, if no other is as similar; ``opencode-3``
any text between a line like the first and the nearest line like the last, if there is one such
block, of several the one with the most alike middle; ``opencode-9`` also other whitespace on part
of a line, lines wrapped otherwise, escapes read without asking the file, and blocks half of whose
middle lines are other code.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Step(NamedTuple):
    """One rung of a profile with its numbers (see the module's text for what each guards against).

    ``rung`` is a key of ``rungs.RUNGS``. ``threshold``, ``margin`` and ``agree`` are shares,
    0.0–1.0; ``evidence`` counts characters, ``typo`` slips. 0 switches a guard off.
    """

    rung: str
    threshold: float = 1.0
    margin: float = 0.0
    agree: float = 0.0
    evidence: int = 0
    typo: int = 0


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
            Step("whitespace", evidence=1),
            Step("unicode", evidence=2),
            Step("layout", evidence=2),
            Step("part", evidence=8),
            Step("comments", evidence=8),
            Step("elided", evidence=8),
            Step("context", agree=0.66, evidence=8),
            Step("similarity", threshold=0.85, margin=0.5, evidence=8, typo=2),
        ),
        variants=("fences", "numbers", "escapes", "entities", "marks", "wrapped"),
        strict=5,
        placeholders=False,
    ),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in _ALL})


def profile_named(name: str) -> Profile:
    """The profile of that name; ValueError naming the known ones otherwise."""
    if name not in PROFILES:
        raise ValueError(f"unknown profile '{name}' (known: {', '.join(sorted(PROFILES))})")
    return PROFILES[name]
