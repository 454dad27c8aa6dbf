"""Say in words what became of the changes of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from git_boocode.editing.edits import Landing, MissError, listed
from git_boocode.editing.regions.model import Region
from git_boocode.editing.regions.search import RUNGS

MAX_TOLD = 10
"""So many of the changes that are wrong does a message tell of."""
MAX_LINES = 100
"""So many lines are given to the caller."""
_LISTED = 10
"""So many regions does a note list."""


def labelled(miss: MissError, label: str) -> MissError:
    """A miss that says which change it is of."""
    if label:
        miss.message = f"{label}: {miss.message}"
    return miss


def overlaps(regions: Sequence[Region]) -> Iterator[MissError]:
    """What is wrong with regions, sorted by their first row, that share lines."""
    if not regions:
        return
    furthest = regions[0]
    for region in regions[1:]:
        if region.first < furthest.stop:
            yield MissError(
                "overlap",
                f"{furthest.label} ({furthest.where}) and {region.label} ({region.where}) overlap",
                lines=(furthest.first + 1, region.first + 1),
                hint="merge changes of the same lines into one",
            )
        furthest = max(furthest, region, key=lambda one: one.stop)


def joined(misses: Sequence[MissError]) -> MissError:
    """One refusal that tells all that is wrong."""
    hints = dict.fromkeys(miss.hint for miss in misses if miss.hint)
    messages = [miss.message for miss in misses[:MAX_TOLD]]
    if len(misses) > MAX_TOLD:
        messages.append(f"and {len(misses) - MAX_TOLD} more that are wrong")
    return MissError(
        misses[0].code,
        "; ".join(messages),
        lines=tuple(islice((line for miss in misses for line in miss.lines), MAX_LINES)),
        # The first of each, then the second of each: whoever shows a few shows some of all.
        candidates=tuple(
            near
            for row in zip_longest(*(miss.candidates for miss in misses[:MAX_TOLD]))
            for near in row
            if near
        ),
        hint="; ".join(hints) or None,
    )


def landing(regions: Sequence[Region]) -> Landing:
    """Where the changes of a file, in the file's order, landed."""
    rung = max(region.rung for region in regions)
    return Landing(
        "fuzzy" if rung else "exact",
        RUNGS[rung],
        1.0,
        len(regions),
        regions[0].first + 1,
        regions[-1].stop,
        tuple(_notes(regions)),
    )


def _notes(regions: Sequence[Region]) -> Iterator[str]:
    if any(region.reindented for region in regions):
        yield "reindented"
    if len(regions) > 1:
        yield f"regions: {listed([region.where for region in regions], _LISTED)}"
