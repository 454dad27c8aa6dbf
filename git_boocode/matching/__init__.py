"""Find a model's drifted text in a file and carry the model's change onto the file's own lines.

Pure text in, pure text out: no git, no files. Names resolve lazily, so importing the package costs
nothing until one of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git_boocode.matching.ladder import locate_match as locate_match
    from git_boocode.matching.profiles import PROFILES as PROFILES
    from git_boocode.matching.profiles import Profile as Profile
    from git_boocode.matching.profiles import Step as Step
    from git_boocode.matching.replace import replace_text as replace_text
    from git_boocode.matching.types import Candidate as Candidate
    from git_boocode.matching.types import Match as Match
    from git_boocode.matching.types import MatchError as MatchError
    from git_boocode.matching.types import Position as Position
    from git_boocode.matching.types import Replacement as Replacement
    from git_boocode.matching.types import Span as Span

_HOME = {
    "Candidate": "types",
    "Match": "types",
    "MatchError": "types",
    "PROFILES": "profiles",
    "Position": "types",
    "Profile": "profiles",
    "Replacement": "types",
    "Span": "types",
    "Step": "profiles",
    "locate_match": "ladder",
    "replace_text": "replace",
}

__all__ = [
    "PROFILES",
    "Candidate",
    "Match",
    "MatchError",
    "Position",
    "Profile",
    "Replacement",
    "Span",
    "Step",
    "locate_match",
    "replace_text",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
