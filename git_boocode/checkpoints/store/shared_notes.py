"""Share the notes of commits with a remote; see `notes` for how those of both sides are merged.

Neither side's ref is ever overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from git_boocode.checkpoints.store.notes import (
    NotesError,
    add_notes,
    has_notes,
    merged_notes,
    notes_tip,
)
from git_boocode.repo.config import Config
from git_boocode.repo.gc import incoming
from git_boocode.repo.layout import COMMIT_NOTES
from git_boocode.repo.remotes import ObjectsError, Transport
from git_boocode.repo.repository import Repository


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

    `there` is where each of its addresses has them. What the remote has more is merged into what is
    pushed, and into the notes here only once the remote has taken it.
    """
    here = notes_tip(repository)
    if here is None or all(tip and _has(repository, tip, here) for tip in there):
        return False, ""
    if dry_run:
        return True, ""
    new = here
    try:
        with _received(repository, transport, filter(None, there)) as theirs:
            for tip in theirs:
                new = merged_notes(repository, new, tip)
            answers = transport.push([f"{new}:{COMMIT_NOTES}"], verify=verify)
            is_taken = any(answer.flag not in "!=" for answer in answers)
            if is_taken and new != here:
                add_notes(repository, new)
    except (NotesError, ObjectsError) as error:
        return False, error.message
    reasons = [answer.reason for answer in answers if answer.flag == "!"]
    return is_taken, "; ".join(reasons)


def fetch_notes(
    repository: Repository, transport: Transport, listed: Mapping[str, str], *, dry_run: bool
) -> tuple[bool, str]:
    """Merge the notes of a remote into those here; whether there are new ones, and why not."""
    tip, here = listed.get(COMMIT_NOTES), notes_tip(repository)
    if tip is None or (here and _has(repository, here, tip)):
        return False, ""
    if dry_run:
        return True, ""
    try:
        with _received(repository, transport, [tip]):
            add_notes(repository, tip)
    except (NotesError, ObjectsError) as error:
        return False, error.message
    return True, ""


def _has(repository: Repository, tip: str, other: str) -> bool:
    return tip == other or has_notes(repository, tip, of=other)


@contextmanager
def _received(
    repository: Repository, transport: Transport, tips: Iterable[str]
) -> Iterator[list[str]]:
    """Fetch the objects of notes that are not here, and protect them until a ref names them."""
    wanted = [*dict.fromkeys(tips)]
    missing = [tip for tip in wanted if repository.git.attempt("cat-file", "-e", tip).status]
    if not missing:
        yield wanted
        return
    with incoming(repository) as (git, release):
        transport.fetch(missing, git)
        release()
        yield wanted
