"""Whether commits have all the objects of their trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from git_boocode.repo.git import Git
from git_boocode.repo.repository import Repository

_WALK = ("rev-list", "--objects", "--no-walk=unsorted", "--stdin")


def missing_objects(repository: Repository, commits: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The id of an object that is missing, for each group of commits that is not whole.

    Git walks through all trees together, each object once, and not through history. Whether the
    bytes of an object are right is for `git fsck` to say. What a partial clone has left on its
    server is not missing.

    Raises:
        GitError: an object is damaged, so that git gave up.
    """
    git = repository.git
    wanted = sorted({identifier for group in commits.values() for identifier in group})
    asked = git.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=_lines(wanted))
    answers = (line.split(" ") for line in os.fsdecode(asked).splitlines())
    known = [identifier for identifier, kind in answers if kind == "commit"]
    lost = {identifier: identifier for identifier in set(wanted).difference(known)}
    if known and repository.config.has("remote.", ".promisor"):
        git.run(*_WALK, "--missing=allow-promisor", "--quiet", stdin=_lines(known))
    elif known:
        lost |= _lacking(git, known)
    found = {}
    for name, group in commits.items():
        if lacking := [lost[identifier] for identifier in group if identifier in lost]:
            found[name] = lacking[0]
    return found


def _lacking(git: Git, commits: Sequence[str]) -> dict[str, str]:
    """A missing object of each commit that lacks one; those without are sorted out in halves."""
    walked = git.run(*_WALK, "--missing=print", stdin=_lines(commits)).split(b"\n")
    # Git cuts a name at a newline; so no line but that of a missing object begins so.
    gone = next((os.fsdecode(line[1:]) for line in walked if line.startswith(b"?")), None)
    if gone is None:
        return {}
    if len(commits) == 1:
        return {commits[0]: gone}
    middle = len(commits) // 2
    return _lacking(git, commits[:middle]) | _lacking(git, commits[middle:])


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{identifier}\n" for identifier in ids).encode()
