"""Tell how deep new lines are meant to stand when the model dropped an indentation.

A model that drops the indentation of the one line it searches for may have dropped that of all new
lines, or of the first one alone, as happens when a text is trimmed. Both are common.
"""

from __future__ import annotations

from collections.abc import Sequence

_OPENERS = (":", "{", "(", "[")


def only_first_dropped(new: Sequence[str], real: str, near: Sequence[str]) -> bool | None:
    """Whether the new lines stand as deep as in the file, but for the first one.

    Args:
        new: the new lines; the first one has no indentation.
        real: the file's indentation of the line searched for, which had none.
        near: lines of the file around the place.

    Returns:
        False if all new lines lack the file's indentation, None if nothing tells.
    """
    from git_boocode.matching.indent import common_step, indents, width_of

    rest = indents(new[1:])
    if not all(indent.startswith(real) for indent in rest) or not rest:
        return False
    depth = rest[0]
    if not new[0].rstrip().endswith(_OPENERS):
        return True if depth == real else None
    step = common_step(indents(near), 8)
    as_in_file = width_of(depth, 8) - width_of(real, 8) == step
    all_dropped = width_of(depth, 8) == step
    return as_in_file if as_in_file != all_dropped else None
