"""Who our commits are by: the user where git knows one, else git-boocode itself."""

from __future__ import annotations

import os
from typing import NamedTuple

from git_boocode.repo.config import Config

_UNFIT = str.maketrans("", "", "<>\n\0")


class Identity(NamedTuple):
    """A name and a mail address as commits hold them."""

    name: str
    email: str


OURS = Identity("git-boocode", "git-boocode@localhost")


def identity(config: Config) -> Identity:
    """The user's identity by git's own order of precedence, or ours where it is incomplete.

    Git would guess one from the login and the host name; a guess must neither fail
    (`user.useConfigOnly`) nor put a host name into shared history.
    """
    name = (
        os.environ.get("GIT_COMMITTER_NAME")
        or config.text("committer.name")
        or config.text("user.name")
    )
    email = (
        os.environ.get("GIT_COMMITTER_EMAIL")
        or config.text("committer.email")
        or config.text("user.email")
        or os.environ.get("EMAIL")
    )
    cleaned = Identity(*((part or "").translate(_UNFIT).strip() for part in (name, email)))
    return cleaned if all(cleaned) else OURS
