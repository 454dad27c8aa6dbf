"""Compare the states of checkpoints and of the worktree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, compare_trees
from git_boocode.checkpoints.turns import NOW, Turn, turn_of
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds


def compared_states(catalog: Catalog, named: Sequence[Checkpoint], *, turn: bool = False) -> Turn:
    """A checkpoint and another one or, if only one is named, the worktree.

    With `turn`, the beginning and the end of a turn; RefusedError (`not_found`) if its end is
    unknown. Reading the worktree writes objects: see `temporary_objects`.
    """
    old, *more = named
    if not turn:
        return Turn(old, NOW, more[0].tree if more else current_tree(catalog.repository))
    found = turn_of(catalog, old, partial(current_tree, catalog.repository))
    if not found.after:
        raise RefusedError(
            f"it is unknown how the turn of {ShortIds(catalog.store)(old.id)} ended",
            code="not_found",
            hints=("its end was not recorded, and no later checkpoint of that worktree is here",),
        )
    return found


def comparison_json(
    repository: Repository, old: str, new: str, paths: Sequence[str]
) -> dict[str, object]:
    """The JSON answer of `diff` for two trees; `paths` are pathspecs, empty for all."""
    changes, text = compare_trees(repository, old, new, paths)
    return {"ok": True, "files": [change.as_json() for change in changes], "diff": text}
