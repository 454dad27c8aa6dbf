"""Apply a model's drifted edits and checkpoint the worktree, in plain git.

The names below are the Python API; they are resolved on first use, so that importing this
package costs nothing that is not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git_boocode.matching import MatchError, locate_match, replace_text

__all__ = ["MatchError", "__version__", "locate_match", "replace_text"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Resolve a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from git_boocode import matching

    return getattr(matching, name)
