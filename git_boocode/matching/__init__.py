"""Find a model's drifted text in a file, and apply the model's change to the file's own lines.

`locate_match` and `replace_text` take and return text; they use neither git nor files, and no other
package of git-boocode. Each name is imported on first use. Start reading in `replace` and `ladder`;
`rungs` contains the comparisons and profiles, `search` what they look for.
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
