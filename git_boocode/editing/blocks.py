"""A search-replace block that several lines like the divider split in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from git_boocode.editing.actions import Replace
from git_boocode.editing.edits import How, MissError, Outcome
from git_boocode.editing.textfile import Text


class Split(NamedTuple):
    """What one of the possible dividers makes of a block, and what the file says to it."""

    action: Replace
    found: Outcome | MissError

    @property
    def fits(self) -> bool:
        """Whether the file has the old text, once or several times."""
        return isinstance(self.found, Outcome) or self.found.code == "ambiguous"


class Block(NamedTuple):
    """Whole lines to replace, where code looks like the divider: the file decides what divides.

    ``actions`` are the ways to split the block, from the shortest old text to the longest.
    """

    actions: tuple[Replace, ...]

    @property
    def anchors(self) -> str:
        """The longest old text."""
        return self.actions[-1].old

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Apply the only split whose old text the file has, or the one that it clearly prefers."""
        splits = [Split(action, _tried(action, text, how)) for action in self.actions]
        fitting = [split for split in splits if split.fits]
        if not fitting:
            raise _nearest([split.found for split in splits if isinstance(split.found, MissError)])
        if len(fitting) > 1 and not _decides(fitting[-1], fitting[-2]):
            raise MissError(
                "ambiguous",
                f"the block has {len(splits)} lines like '=======', and more than one of them can "
                "be the divider",
                hint="search for other lines, or send the edit as old_string and new_string",
            )
        if isinstance(fitting[-1].found, MissError):
            raise fitting[-1].found
        return fitting[-1].found


def _tried(action: Replace, text: Text | None, how: How) -> Outcome | MissError:
    try:
        return action.apply(text, how)
    except MissError as miss:
        return miss


def _decides(longest: Split, next_one: Split) -> bool:
    """Whether the longest old text that fits is certainly the one that is meant.

    It is if the file has all of it exactly, and it adds more than dividers to the shorter one: the
    file would not continue by chance as the text below the first divider does.
    """
    if isinstance(longest.found, MissError) or longest.found.landing.kind != "exact":
        return False
    more = longest.action.old[len(next_one.action.old) :]
    return bool(more.replace("=", "").strip())


def _nearest(misses: Sequence[MissError]) -> MissError:
    """The refusal of the split that came nearest to the file."""

    def nearness(miss: MissError) -> float:
        return max((near.similarity for near in miss.candidates), default=0.0)

    best = max(misses, key=nearness)
    best.message += f"; each of the {len(misses)} lines like '=======' was tried as the divider"
    return best
