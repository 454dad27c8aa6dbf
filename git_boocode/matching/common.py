"""What two texts have in common at their beginnings."""

from __future__ import annotations


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    same, most = 0, min(len(one), len(other))
    # Comparing halves is quicker than character by character: a file may have millions.
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same
