"""What decides how git converts a file's bytes on their way into a blob.

An unchanged file is not read again, and the blob made of it stays; but only while the rules that it
was made by are the same: `git add` of a file that is UTF-16 gives another blob once an attribute
says so, although the file has not changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from zlib import crc32

from git_boocode.repo.repository import Repository

ATTRIBUTES = ".gitattributes"
_SECTIONS = ("core", "filter")


def conversion_rules(repository: Repository, attributes: Iterable[str]) -> str:
    """A fingerprint of all that the conversions depend on.

    Args:
        repository: whose settings to look at.
        attributes: the `.gitattributes` files of the worktree.
    """
    config = repository.config
    parts = [repr(config.section(name)).encode() for name in _SECTIONS]
    default = os.path.expanduser("~/.config/git/attributes")
    if home := os.environ.get("XDG_CONFIG_HOME"):
        default = os.path.join(home, "git/attributes")
    files = [
        config.path("core.attributesFile") or default,
        os.path.join(repository.common_dir, "info/attributes"),
        *(os.path.join(repository.worktree, path) for path in sorted(attributes)),
    ]
    parts += [os.fsencode(path) + b"\0" + _content(path) for path in files]
    whole = b"\0\0".join(parts)
    return f"{len(whole):x}-{crc32(whole):x}"


def is_attributes(path: str) -> bool:
    """Whether a path is that of a `.gitattributes` file."""
    return path.rpartition("/")[2] == ATTRIBUTES


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        # git, too, goes on without a file that it cannot read.
        return b""
