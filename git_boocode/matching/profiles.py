"""Profiles: which rungs are tried, in which order, with which numbers. Data, not code.

The numbers of ``default`` are guards against *another* place than the one the model meant:

- ``evidence``: characters in distinct words of the needle that are not keywords. Where whole lines
  are equal but for indentation 1 is enough: ``return 1`` passes; ``}`` and ``else:``, which occur
  once by luck, do not. Look-alikes need 2. Where less of the file is compared (part of a line,
  comments, elided or similar lines) 8, the length of two ordinary identifiers.
- ``threshold``: similarity of the whole window; a sibling block mostly has 0.6–0.85.
- ``typo``: slips by which a word may be misspelt; one more and it is another word. So is another
  number, a word or part of a name that the file uses elsewhere, and a slip made more than once.
- ``margin``: share of the difference *between two places* that must favour the winner. A text that
  has half of either is refused, however similar it is.
- ``agree`` (rung ``context``): share of the needle's lines that must be equal where those that the
  edit touches are, in one place only: two wrong lines in six, three in ten.

The other profiles accept more: ``region`` bare lines (``}``), ``boocode`` any window 0.66 similar,
the ones named after opencode what that tool does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Step(NamedTuple):
    """A key of ``rungs.RUNGS`` with the numbers above; 0 switches a guard off."""

    rung: str
    threshold: float = 1.0
    margin: float = 0.0
    agree: float = 0.0
    evidence: int = 0
    typo: int = 0


class Profile(NamedTuple):
    """A named ladder, from strict to loose.

    ``variants`` are keys of ``readings.READERS``: variants climb the first ``strict`` steps after
    the text as given has failed on them, the likeliest one the steps above. ``placeholders`` is
    whether new text may hold placeholder lines (``rest of code``) that old text and file lack.
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
