"""The remotes of a repository: which one is meant, and where fetched checkpoints of it are kept."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import ID_PART
from git_boocode.repo.repository import Repository

# What git takes for a remote where nothing says which one.
_USUAL = "origin"
_WHO = re.compile(r"://[^/@]*@")


class Remote(NamedTuple):
    """A remote to push to or to fetch from.

    Attributes:
        name: its name in the configuration; empty for one that was given as a URL or a path.
        address: what to call it towards git.
    """

    name: str
    address: str

    @property
    def shown(self) -> str:
        """What to call it towards people; a URL may hold a password."""
        return _WHO.sub("://", self.address)


def find_remote(repository: Repository, given: str | None, *, pushing: bool) -> Remote:
    """The remote that a user means.

    Args:
        repository: the repository.
        given: a remote's name, a URL or a path; None for the one that git itself would take.
        pushing: whether to push to it.

    Raises:
        RefusedError: there is no such remote, or no telling which one is meant (`no_remote`).
    """
    names = repository.git.line("remote").split("\n")
    known = [name for name in names if name]
    wanted = _default(repository, known, pushing=pushing) if given is None else given
    if wanted in known:
        return Remote(_storable(repository, wanted), wanted)
    if given is None and not known and wanted == _USUAL:
        raise RefusedError(
            "this repository has no remote",
            code="no_remote",
            hints=("name one: git remote add origin <url>",),
        )
    if not _is_address(repository, wanted):
        raise _unknown(wanted, known)
    return Remote("", wanted)


def named_remote(repository: Repository, given: str | None) -> Remote:
    """The remote that a user means, which must have a name; see `find_remote`.

    Raises:
        RefusedError: there is no such remote (`no_remote`), or it was given as a URL or a path
            (`unnamed_remote`).
    """
    remote = find_remote(repository, given, pushing=False)
    if remote.name:
        return remote
    raise RefusedError(
        f"'{remote.shown}' is no remote's name, and fetched checkpoints are kept under one",
        code="unnamed_remote",
        hints=(f"git remote add <name> {remote.shown}, then git boocode fetch <name>",),
    )


def push_addresses(repository: Repository, remote: Remote) -> list[str]:
    """What to look at before a push: the remote itself, or the other places that it pushes to.

    Args:
        repository: the repository.
        remote: where to push.
    """
    if not remote.name:
        return [remote.address]
    urls = repository.git.line("remote", "get-url", "--push", "--all", remote.address).split("\n")
    usual = repository.git.line("remote", "get-url", remote.address)
    return [remote.address] if urls == [usual] else urls


def _default(repository: Repository, known: list[str], *, pushing: bool) -> str:
    """The remote that git takes where none is named; see `branch.<name>.remote` in git-config."""
    config = repository.config
    head = repository.git.attempt("symbolic-ref", "-q", "HEAD")
    branch = os.fsdecode(head.stdout).strip().removeprefix("refs/heads/")
    keys = [f"branch.{branch}.remote"] if branch else []
    if pushing:
        keys = [f"branch.{branch}.pushRemote", "remote.pushDefault", *keys]
    for key in keys:
        # A branch may follow another one of the same repository, which "." stands for.
        if (value := config.text(key)) and value != ".":
            return value
    return known[0] if len(known) == 1 else _USUAL


def _storable(repository: Repository, name: str) -> str:
    """A remote's name that can be part of a ref's; whoever edits the configuration can write any.

    Raises:
        RefusedError: it cannot.
    """
    if repository.git.attempt("check-ref-format", f"refs/boocode/remotes/{name}/x").status:
        raise RefusedError(
            f"no ref can be named after the remote '{name}'",
            code="no_remote",
            hints=("git remote rename gives it another name",),
        )
    return name


def _is_address(repository: Repository, text: str) -> bool:
    if "/" in text or ":" in text:
        return True
    here = os.path.join(repository.worktree, repository.prefix)
    return bool(text) and os.path.exists(os.path.join(here, text))


def _unknown(wanted: str, known: list[str]) -> RefusedError:
    names = f"the remotes are: {', '.join(known)}"
    hints = [names if known else "name one: git remote add <name> <url>"]
    if wanted.startswith("@") or ID_PART.fullmatch(wanted):
        hints.append("the remote comes first, and then the checkpoints")
    return RefusedError(f"there is no remote '{wanted}'", code="no_remote", hints=tuple(hints))
