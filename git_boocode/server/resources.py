"""The resources: checkpoints and their diffs, and what changes, which clients can subscribe to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from zlib import crc32

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, compare_trees
from git_boocode.checkpoints.turn_log import LogRequest, TurnLog
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import proposal_status
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import ID
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.server.json_rpc import INVALID_PARAMS, JsonObject, RpcError
from git_boocode.server.watch import ALL_TURNS, NEWEST_PROPOSAL, WATCHED
from git_boocode.workflows.show_target import CheckpointTarget, find_target

_JSON, _DIFF = "application/json", "text/x-diff"
_CHECKPOINT = "boocode://checkpoints/{id}"
_CHANGES = f"{_CHECKPOINT}/diff"
_URI = re.compile(r"boocode://checkpoints/([^/]+)(/diff)?")
_PAGE = 50  # checkpoints

TEMPLATES: list[JsonObject] = [
    {
        "uriTemplate": _CHECKPOINT,
        "name": "checkpoint",
        "description": "The metadata of a checkpoint, and the files that its turn changed.",
        "mimeType": _JSON,
    },
    {
        "uriTemplate": _CHANGES,
        "name": "checkpoint diff",
        "description": "What the turn of a checkpoint changed, as a diff.",
        "mimeType": _DIFF,
    },
]


CHANGING: list[JsonObject] = [
    {
        "uri": ALL_TURNS,
        "name": "turns",
        "description": "The newest turns of each worktree; a subscription reports changes.",
        "mimeType": _JSON,
    },
    {
        "uri": NEWEST_PROPOSAL,
        "name": "proposals",
        "description": "The newest proposal of each worktree; a subscription reports changes.",
        "mimeType": _JSON,
    },
]
"""The resources that are not the same for ever."""


def list_resources(repositories: Sequence[Repository], cursor: str | None) -> JsonObject:
    """A page of the checkpoints of some worktrees, newest first in each."""
    start, _, last = (cursor or "").partition("/")
    keys = [*map(_key, repositories)]
    if cursor is not None and not (start in keys and ID.fullmatch(last)):
        raise RpcError(INVALID_PARAMS, "'cursor' is not one that this server gave, or is outdated")
    first = keys.index(start) if cursor is not None else 0
    page = [*islice(_entries(repositories[first:], last), _PAGE + 1)]
    more = {}
    if len(page) > _PAGE:
        repository, entry = page[_PAGE - 1]
        more = {"nextCursor": f"{_key(repository)}/{entry.id}"}
    listed = [each for _, entry in page[:_PAGE] for each in _listed(entry)]
    # What changes comes last, after what every client has always found first.
    return {"resources": [*listed, *(CHANGING if repositories and not more else ())], **more}


def _key(repository: Repository) -> str:
    """Identifies a worktree in a cursor."""
    return f"{crc32(os.fsencode(repository.git_dir)):08x}"


def _entries(
    repositories: Sequence[Repository], last: str
) -> Iterator[tuple[Repository, Checkpoint]]:
    """The checkpoints with their repositories.

    They begin after the checkpoint `last` of the first one, which may have been dropped meanwhile.
    """
    for repository in repositories:
        for entry in Catalog(repository).newest_first():
            if isinstance(entry, Checkpoint) and not (last and entry.id >= last):
                yield repository, entry
        last = ""


def _listed(entry: Checkpoint) -> Iterator[JsonObject]:
    texts = entry.texts
    title = texts["label"] or entry.id
    about = ", ".join(filter(None, (texts["created_at"], texts["agent"])))
    for template, name, kind in (
        (_CHECKPOINT, title, _JSON),
        (_CHANGES, f"{title} (diff)", _DIFF),
    ):
        uri = template.format(id=entry.id)
        yield {"uri": uri, "name": name, "description": about, "mimeType": kind}


def read_resource(repositories: Sequence[Repository], uri: str) -> JsonObject | None:
    """The content of a resource; None if there is none."""
    if uri in WATCHED:
        texts = [json.dumps(_now(repository, uri), indent=2) for repository in repositories]
        return {"contents": [{"uri": uri, "mimeType": _JSON, "text": text} for text in texts]}
    found = _URI.fullmatch(uri)
    if found is None or not ID.fullmatch(found[1]):
        return None
    identifier, is_diff = found[1], bool(found[2])
    of_each = (_text(repository, identifier, diff=is_diff) for repository in repositories)
    text = next((text for text in of_each if text is not None), None)
    if text is None:
        return None
    return {"contents": [{"uri": uri, "mimeType": _DIFF if is_diff else _JSON, "text": text}]}


def _now(repository: Repository, uri: str) -> JsonObject:
    """The newest turns, or the newest proposal, of a worktree."""
    worktree = repository.worktree
    if uri == NEWEST_PROPOSAL:
        workspace = Workspace(worktree, "", repository)
        return {"worktree": worktree, **proposal_status(workspace).as_json()}
    with TurnLog(repository, LogRequest(max_count=_PAGE).checked()) as turns:
        return {"worktree": worktree, **turns.as_json(prompts=False)}


def _text(repository: Repository, identifier: str, *, diff: bool) -> str | None:
    """The text of a checkpoint; None if it is in another repository."""
    try:
        with temporary_objects(repository):
            shown = find_target(repository, identifier)
            if not isinstance(shown, CheckpointTarget):
                return None
            if diff:
                return compare_trees(repository, shown.old, shown.new, shown.paths)[1]
            return json.dumps(shown.as_json(repository), indent=2)
    except RefusedError:
        return None
