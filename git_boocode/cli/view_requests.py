"""What the page of `git boocode view --serve` asks for, read from the JSON of its requests.

Each reader refuses what the page never sends: RefusedError (`invalid_input`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, TypeGuard

from git_boocode.checkpoints.restore.request import REFUSALS, UNDO, RestoreRequest
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.ids import ID
from git_boocode.workflows.take_back import REFUSALS as TAKE_BACK_REFUSALS
from git_boocode.workflows.take_back import TakeBackRequest
from git_boocode.workflows.view_diffs import AFTER, BEFORE, DiffForm, State

Answer = dict[str, Any]

_MOST_CONTEXT = 1_000_000  # lines


def step_request(body: Answer, key: str) -> RestoreRequest:
    """An undo or redo of the operation whose safety checkpoint is named."""
    return RestoreRequest(
        force=force_in(body, REFUSALS[UNDO]),
        dry_run=is_preview(body),
        only_to=id_in(body, key),
    )


def force_in(body: Answer, known: Collection[str]) -> frozenset[str]:
    """The refusals that are to be overridden, of the known ones."""
    force = body.get("force", [])
    if not isinstance(force, list) or not all(each in known for each in force):
        raise invalid("force")
    return frozenset(force)


def id_in(body: Answer, key: str) -> str:
    """The full id of a checkpoint."""
    identifier = body.get(key)
    if not isinstance(identifier, str) or not ID.fullmatch(identifier):
        raise invalid(key)
    return identifier


def take_back_request(body: Answer) -> TakeBackRequest:
    """What to revert or pick.

    Hunks are only done with the version of their file, without which nobody has seen them.
    """
    turns, paths = body.get("turns"), body.get("paths", [])
    if not isinstance(turns, list) or not turns:
        raise invalid("turns")
    if not isinstance(paths, list) or not all(map(is_text, paths)):
        raise invalid("paths")
    hunks, versions = body.get("hunks"), body.get("versions", {})
    dry_run = is_preview(body)
    if hunks is not None and not _is_table(hunks, _are_numbers):
        raise invalid("hunks")
    if not _is_table(versions, is_text):
        raise invalid("versions")
    if hunks is not None and not dry_run and not (hunks and hunks.keys() <= versions.keys()):
        raise invalid("versions" if hunks else "hunks")
    return TakeBackRequest(
        tuple(id_in({"turns": turn}, "turns") for turn in turns),
        paths=tuple(f":(top,literal){path}" for path in paths),
        hunks=hunks,
        versions=versions,
        dry_run=dry_run,
        markers=hunks is None and body.get("markers") is True,
        force=force_in(body, TAKE_BACK_REFUSALS),
    )


def is_preview(body: Answer) -> bool:
    """Whether only what would change is asked for."""
    preview = body.get("preview", False)
    if not isinstance(preview, bool):
        raise invalid("preview")
    return preview


def expected_in(body: Answer) -> str:
    """The version of the preview that the page has shown; empty if it has shown none."""
    version = body.get("expect", "")
    if not isinstance(version, str):
        raise invalid("expect")
    return version


def is_after(body: Answer) -> bool:
    """Whether the state after a turn is meant, instead of the one before it."""
    after = body.get("after", False)
    if not isinstance(after, bool):
        raise invalid("after")
    return after


def state_in(body: Answer, key: str) -> State:
    """`"now"`, or the state before or after a turn."""
    value = body.get(key)
    if value == "now":
        return State()
    if not isinstance(value, dict) or value.get("side") not in (BEFORE, AFTER):
        raise invalid(key)
    return State(id_in(value, "turn"), value["side"])


def form_in(body: Answer) -> DiffForm:
    """How a diff is wanted."""
    context = body.get("context", DiffForm().context)
    if type(context) is not int or not 0 <= context <= _MOST_CONTEXT:
        raise invalid("context")
    return DiffForm(body.get("ignore_whitespace") is True, context)


def is_text(value: object) -> TypeGuard[str]:
    """Whether something is a text that git can be asked for: not empty, without NUL.

    JSON may have half of a surrogate pair, which is no text.
    """
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    with suppress(UnicodeEncodeError):
        return bool(os.fsencode(value))
    return False


def is_part(value: object) -> bool:
    """Whether something is the choice of parts of a file."""
    if not isinstance(value, dict) or not is_text(value.get("version")):
        return False
    return _are_numbers(value.get("numbers")) and is_text(value.get("path"))


def _is_table(value: object, holds: Callable[[object], bool]) -> bool:
    """Whether something has texts as keys, and as values what is wanted."""
    if not isinstance(value, dict):
        return False
    return all(map(is_text, value)) and all(map(holds, value.values()))


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(each) is int for each in value)


def invalid(key: str) -> RefusedError:
    """The refusal of a request whose value of a key cannot be used."""
    return RefusedError(f"the request has no valid '{key}'", code="invalid_input")
