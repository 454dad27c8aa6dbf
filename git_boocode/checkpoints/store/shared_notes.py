"""Share the notes of commits with a remote; see `commit_notes` for what is in them.

Git merges the notes of both sides; where both have one for a commit, the one here stays, because
notes are computed from content. Neither side's ref is ever overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from git_boocode.repo.config import Config
from git_boocode.repo.gc import incoming
from git_boocode.repo.git import GitError
from git_boocode.repo.layout import COMMIT_NOTES, NOTES_LOCK
from git_boocode.repo.lock import file_lock
from git_boocode.repo.messages import failure_reason
from git_boocode.repo.remotes import ObjectsError, Transport
from git_boocode.repo.repository import Repository

_PATIENCE = 30.0  # seconds


def shares_notes(config: Config) -> bool:
    """Whether `push` and `fetch` take notes along (FatalError)."""
    return config.boolean("boocode.shareNotes", default=True)


def push_notes(
    repository: Repository,
    transport: Transport,
    there: Sequence[str | None],
    *,
    verify: bool,
    dry_run: bool,
) -> tuple[bool, str]:
    """Push the notes that a remote does not have; whether they went, and why they did not.

    `there` is where each of its addresses has them.
    """
    here = _tip(repository)
    if here is None or all(tip == here for tip in there):
        return False, ""
    git = repository.git
    unknown = [tip for tip in there if tip and git.attempt("cat-file", "-e", tip).status]
    if dry_run:
        return True, ""
    for tip in dict.fromkeys(tip for tip in there if tip):
        if reason := _merge(repository, transport, tip, is_here=tip not in unknown):
            return False, reason
    answers = transport.push([COMMIT_NOTES], verify=verify)
    reasons = [answer.reason for answer in answers if answer.flag == "!"]
    return any(answer.flag not in "!=" for answer in answers), "; ".join(reasons)


def fetch_notes(
    repository: Repository, transport: Transport, listed: Mapping[str, str], *, dry_run: bool
) -> tuple[bool, str]:
    """Merge the notes of a remote into those here; whether there are new ones, and why not."""
    tip, here = listed.get(COMMIT_NOTES), _tip(repository)
    if tip is None or tip == here:
        return False, ""
    is_here = not repository.git.attempt("cat-file", "-e", tip).status
    if (
        here
        and is_here
        and not repository.git.attempt("merge-base", "--is-ancestor", tip, here).status
    ):
        return False, ""
    reason = "" if dry_run else _merge(repository, transport, tip, is_here=is_here)
    return not reason, reason


def _merge(repository: Repository, transport: Transport, tip: str, *, is_here: bool) -> str:
    """Merge notes that a remote has; returns why that is not possible."""
    if not is_here:
        try:
            with incoming(repository) as (git, release):
                transport.fetch([tip], git)
                release()
                return _merged(repository, tip)
        except ObjectsError as error:
            return error.message
    return _merged(repository, tip)


def _merged(repository: Repository, tip: str) -> str:
    identity = repository.config.identity()
    settings = (f"user.name={identity.name}", f"user.email={identity.email}")
    path = os.path.join(repository.common_state_dir, NOTES_LOCK)
    with file_lock(path, patience=_PATIENCE):
        try:
            arguments = ("notes", f"--ref={COMMIT_NOTES}", "merge", "-q", "-s", "ours", tip)
            repository.git.bind(*settings).run(*arguments)
        except GitError as error:
            return failure_reason(error.stderr) or "they cannot be merged"
    return ""


def _tip(repository: Repository) -> str | None:
    return next((ref.target for ref in repository.store.refs(COMMIT_NOTES)), None)
