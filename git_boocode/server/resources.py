"""Checkpoints and what their turns changed, as resources with a URI."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, compare_trees
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import ID
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.server.json_rpc import INVALID_PARAMS, RESOURCE_NOT_FOUND, JsonObject, RpcError
from git_boocode.workflows.shown import ShownCheckpoint, find_shown

_JSON, _DIFF = "application/json", "text/x-diff"
_CHECKPOINT = "boocode://checkpoints/{id}"
_CHANGES = f"{_CHECKPOINT}/diff"
_URI = re.compile(r"boocode://checkpoints/([^/]+)(/diff)?")
_NUMBER = re.compile("[0-9]{1,9}")
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


def list_resources(repositories: Sequence[Repository], cursor: str | None) -> JsonObject:
    """A page of the checkpoints of some worktrees, newest first in each."""
    number, last = 0, ""
    if cursor is not None:
        given, _, last = cursor.partition("/")
        if not _NUMBER.fullmatch(given) or not ID.fullmatch(last):
            raise RpcError(INVALID_PARAMS, "'cursor' is not one that this server gave")
        number = int(given)
    page = [*islice(_entries(repositories, number, last), _PAGE + 1)]
    more = {}
    if len(page) > _PAGE:
        number, entry = page[_PAGE - 1]
        more = {"nextCursor": f"{number}/{entry.id}"}
    listed = [each for _, entry in page[:_PAGE] for each in _listed(entry)]
    return {"resources": listed, **more}


def _entries(
    repositories: Sequence[Repository], first: int, last: str
) -> Iterator[tuple[int, Checkpoint]]:
    """The checkpoints with the numbers of their repositories.

    They begin after the checkpoint `last` of the one with the number `first`, which may have been
    dropped meanwhile.
    """
    for number, repository in enumerate(repositories[first:], first):
        for entry in Catalog(repository).newest_first():
            is_before = number == first and last and entry.id >= last
            if isinstance(entry, Checkpoint) and not is_before:
                yield number, entry


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


def read_resource(repositories: Sequence[Repository], uri: str) -> JsonObject:
    """The content of a resource."""
    found = _URI.fullmatch(uri)
    if found is None or not ID.fullmatch(found[1]):
        raise _missing(uri)
    identifier, is_diff = found[1], bool(found[2])
    texts = (_text(repository, identifier, diff=is_diff) for repository in repositories)
    text = next((text for text in texts if text is not None), None)
    if text is None:
        raise _missing(uri)
    return {"contents": [{"uri": uri, "mimeType": _DIFF if is_diff else _JSON, "text": text}]}


def _text(repository: Repository, identifier: str, *, diff: bool) -> str | None:
    """The text of a checkpoint; None if it is in another repository."""
    try:
        with temporary_objects(repository):
            shown = find_shown(repository, identifier)
            if not isinstance(shown, ShownCheckpoint):
                return None
            if diff:
                return compare_trees(repository, shown.old, shown.new, shown.paths)[1]
            return json.dumps(shown.as_json(repository), indent=2)
    except RefusedError:
        return None


def _missing(uri: str) -> RpcError:
    return RpcError(RESOURCE_NOT_FOUND, "there is no such resource", {"uri": uri})
