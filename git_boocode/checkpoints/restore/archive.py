"""Checkpoints that leave the log with a restore, and come back with its undo."""

from __future__ import annotations

from git_boocode.checkpoints.store.catalog import ARCHIVE, CHECKPOINTS, Catalog
from git_boocode.repo.metadata import Metadata, Unusable
from git_boocode.repo.store import RefChange


def put_away(
    catalog: Catalog, about: Metadata, after: str, restore_id: str, *, before: str = ""
) -> list[str]:
    """Archive later checkpoints of the same chat, or without a chat of the same session.

    Args:
        catalog: where they are listed.
        about: the metadata that names the chat and the session; without either, none are archived.
        after: the id that theirs must come after.
        restore_id: the restore under which they are kept.
        before: the id that theirs must come before; empty for no such limit.

    Returns:
        Their ids.
    """
    key = "chat" if about.text("chat") else "session"
    wanted = about.text(key)
    if not wanted:
        return []
    later = [
        entry
        for entry in catalog.newest_first()
        if not isinstance(entry, Unusable)
        and entry.id > after
        and (not before or entry.id < before)
        and entry.meta.text(key) == wanted
    ]
    moves = [(entry.ref, f"{ARCHIVE}{restore_id}/{entry.id}", entry.commit.id) for entry in later]
    _move(catalog, moves)
    return [entry.id for entry in later]


def bring_back(catalog: Catalog, restore_id: str) -> list[str]:
    """Bring back what a restore has archived; returns the ids."""
    refs = catalog.store.refs(f"{ARCHIVE}{restore_id}/")
    _move(catalog, [(ref.name, f"{CHECKPOINTS}{ref.id}", ref.target) for ref in refs])
    return [ref.id for ref in refs]


def _move(catalog: Catalog, moves: list[tuple[str, str, str]]) -> None:
    changes = []
    for old, new, target in moves:
        changes += [RefChange(new, target, None), RefChange(old, None, target)]
    catalog.store.update_refs(changes)
