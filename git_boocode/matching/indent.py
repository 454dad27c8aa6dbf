"""The former name of parts of ``indentation``."""

from __future__ import annotations

from git_boocode.matching.indentation import IndentStyle as Style
from git_boocode.matching.indentation import (
    Pair,
    Reindenter,
    common_step,
    indent_of,
    indents,
    reindented,
    width_of,
)

__all__ = [
    "Pair",
    "Reindenter",
    "Style",
    "common_step",
    "indent_of",
    "indents",
    "reindented",
    "width_of",
]
