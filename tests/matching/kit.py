"""Texts of many short lines, in some of which a place occurs twice."""

from __future__ import annotations


def lines(*names: str) -> str:
    return "".join(f"{name}\n" for name in names)


ABC = lines("alpha", "beta", "gamma", "delta", "epsilon")
TWINS = lines("top", "same", "old", "same", "middle", "same", "old", "same", "bottom")
TWIN = " same\n-old\n+new\n same"
