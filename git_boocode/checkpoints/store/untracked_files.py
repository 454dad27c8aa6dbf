"""The untracked files in checkpoints and proposals, which a push would publish."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, without_index
from git_boocode.repo.git import id_lines, lines_of
from git_boocode.repo.ids import OBJECT_ID
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref

PROPOSAL = "proposal"
"""The kind of a proposal in its metadata."""
# The number of checkpoints that are searched first for an untracked file.
_FIRST_READ = 64
# Of a nested repository, git only lists the commit.
_NO_FILE = b":000000 160000 "


def first_untracked(catalog: Catalog, going: Iterable[Ref], there: Iterable[Ref]) -> list[str]:
    """The untracked files among what is about to be pushed, if the remote has none from here."""
    if next(_untracked(catalog, going), None) is None:
        return []
    if next(_untracked(catalog, there), None) is not None:
        return []
    return sorted(set(_untracked(catalog, going)))


def _untracked(catalog: Catalog, refs: Iterable[Ref]) -> Iterator[str]:
    """The untracked files in checkpoints and in the contexts of proposals, quoted as git does.

    A file of several of them comes several times. The newest ones are read first: who wants only
    one file need not wait for the others.
    """
    newest = sorted(refs, key=lambda ref: ref.id, reverse=True)
    for some in (newest[:_FIRST_READ], newest[_FIRST_READ:]):
        entries = (each for each in catalog.entries(some) if isinstance(each, Checkpoint))
        pairs = dict(map(_tracked_and_all, entries))
        pairs.pop("", None)
        unknown = yield from _added(catalog.repository, pairs)
        # Their staging area is not there, or they record none.
        yield from _added(catalog.repository, filter(None, map(pairs.get, unknown)))


def _added(repository: Repository, pairs: Iterable[str]) -> Generator[str, None, set[str]]:
    """The files that git finds added in pairs of objects.

    Returns the pairs of which git knows no difference.
    """
    left = set(pairs)
    if not left:
        return left
    git = without_index(repository.git).bind("core.quotePath=false")
    options = ("-r", "--raw", "--no-renames", "--diff-filter=A", "--ignore-submodules=none")
    arguments = ("diff-tree", "--stdin", "--root", *options)
    with closing(git.pieces(*arguments, stdin=id_lines(left))) as pieces:
        for line in lines_of(pieces):
            about, tab, path = line.partition(b"\t")
            if not tab:
                left.discard(about.decode("ascii"))
            elif not about.startswith(_NO_FILE):
                yield path.decode("utf-8", "surrogateescape")
    return left


def _tracked_and_all(entry: Checkpoint) -> tuple[str, str]:
    """What git compares to find untracked files, and what instead if it cannot; empty for nothing.

    The latter also finds files that were added to the staging area.
    """
    meta, commit = entry.meta, entry.commit
    if meta.text("kind") == PROPOSAL:
        # A model has seen untracked files if the context of its proposal adds files to the base.
        context, base = next(iter(commit.parents), ""), meta.text("base")
        base = base if OBJECT_ID.fullmatch(base) else ""
        return "" if context == base else f"{context} {base}".rstrip(), ""
    since_head, index = f"{commit.id} {entry.head or ''}".rstrip(), meta.part("index", "tree") or ""
    if not OBJECT_ID.fullmatch(index):
        return since_head, ""
    return "" if index == entry.tree else f"{index} {entry.tree}", since_head
