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
    here: str,
    listed: Sequence[str | None],
    *,
    verify: bool,
    dry_run: bool,
) -> tuple[bool, str]:
    """Push the notes `here` that a remote does not have; whether they went, and why they did not.

    `listed` is where each of its addresses has them. Notes that only the remote has are merged into
    what is pushed, and into those here once the remote has accepted that.
    """
    if all(tip and _has(repository, tip, here) for tip in listed):
        return False, ""
    if dry_run:
        return True, ""
    new = here
    try:
        with _received(repository, transport, filter(None, listed)) as tips:
            for tip in tips:
                new = merged_notes(repository, new, tip)
            if all(tip == new for tip in listed):
                return False, ""
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
            return add_notes(repository, tip), ""
    except (NotesError, ObjectsError) as error:
        return False, error.message


def _has(repository: Repository, tip: str, other: str) -> bool:
    are_here = _is_here(repository, tip) and _is_here(repository, other)
    return tip == other or (are_here and has_notes(repository, tip, of=other))


def _is_here(repository: Repository, tip: str) -> bool:
    """Whether objects are here; not known of a partial clone, for which git would fetch some."""
    is_partial = repository.config.section("remote", ".promisor")
    return not is_partial and not repository.git.attempt("cat-file", "-e", tip).status


@contextmanager
def _received(
    repository: Repository, transport: Transport, tips: Iterable[str]
) -> Iterator[list[str]]:
    """Fetch the objects of notes that are not here, and protect them until a ref names them."""
    wanted = [*dict.fromkeys(tips)]
    missing = [tip for tip in wanted if not _is_here(repository, tip)]
    if not missing:
        yield wanted
        return
    with incoming(repository) as (git, release):
        transport.fetch(missing, git, unfiltered=True)
        release()
        yield wanted
