"""The files that are installed with the package and run outside of it: hooks and callbacks."""

from __future__ import annotations

import os

from git_boocode.repo.errors import FatalError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shipped_file(name: str) -> str:
    """The path of a file such as `callbacks/trim-jsonl`; FatalError if it is missing."""
    if path := find_shipped(name):
        return path
    raise FatalError(
        f"the installation lacks '{name}'",
        code="broken_installation",
        hints=("install git-boocode again",),
    )


def find_shipped(name: str) -> str | None:
    """The path of a file such as `callbacks/trim-jsonl`; None if there is none of that name."""
    # An editable installation runs from the checkout, where the files lie beside the package.
    for directory in ("shipped_hooks", os.path.join("..", "hooks")):
        path = os.path.normpath(os.path.join(_PACKAGE, directory, name))
        if os.path.isfile(path):
            return path
    return None
