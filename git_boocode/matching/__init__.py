"""Find a model's drifted text in a file and carry the model's change onto the file's own lines.

Pure text in, pure text out: no git, no files. Names resolve lazily, so importing the package costs
nothing until one of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git_boocode.matching.ladder import locate_match
    from git_boocode.matching.replace import replace_text
    from git_boocode.matching.rungs import PROFILES
    from git_boocode.matching.types import Candidate, Match, MatchError, Replacement

_MODULES = ("types", "rungs", "ladder", "replace")

__all__ = [
    "PROFILES",
    "Candidate",
    "Match",
    "MatchError",
    "Replacement",
    "locate_match",
    "replace_text",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module in _MODULES if name in __all__ else ():
        found = vars(import_module(f"{__name__}.{module}"))
        if name in found:
            return globals().setdefault(name, found[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
