"""Where the files are that we ship to users' machines."""

from __future__ import annotations

import os

from git_boocode.repo.errors import FatalError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shipped_hook(name: str) -> str:
    """The path of a shipped file, such as `callbacks/trim-jsonl`.

    Raises:
        FatalError: the installation lacks it.
    """
    # An editable installation runs from the checkout, where the files lie beside the package.
    for directory in ("shipped_hooks", os.path.join("..", "hooks")):
        path = os.path.normpath(os.path.join(_PACKAGE, directory, name))
        if os.path.isfile(path):
            return path
    raise FatalError(
        f"the installation lacks '{name}'",
        code="broken_installation",
        hints=("install git-boocode again",),
    )
