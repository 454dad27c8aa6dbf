"""The arguments of a restore are checked in one place; front ends only translate their names."""

from __future__ import annotations

from typing import Any

import pytest

from git_boocode.checkpoints.restore.request import REDO, REFUSALS, RESTORE, UNDO, RestoreRequest
from git_boocode.repo.errors import ArgumentError

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"files": False, "conversation": False}, "'files_only' and 'conversation_only' cannot be"),
    ({"conversation": False, "callback": "x"}, "'files_only' and 'callback' cannot be used"),
    ({"head": True, "files": False}, "'head' and 'conversation_only' cannot be used together"),
    ({"head": True, "paths": ("a",)}, "'head' and 'paths' cannot be used together"),
    ({"files": False, "paths": ("a",)}, "'conversation_only' and 'paths' cannot be used together"),
    (
        {"head": True, "files": False, "paths": ("a",)},
        "'head', 'conversation_only' and 'paths' cannot be used together",
    ),
    ({"callback": "x", "paths": ("a",)}, "'callback' and 'paths' cannot be used together"),
    ({"callback": ""}, "invalid value for 'callback': the file name is empty"),
    ({"force": frozenset({"{}"})}, "invalid value for 'force': '{}' is not one of other-worktree"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_arguments_that_do_not_fit_together(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        RestoreRequest(**given).checked(RESTORE)
    assert str(caught.value).startswith(message)


def test_each_command_overrides_its_own_refusals() -> None:
    for kind in (RESTORE, UNDO, REDO):
        request = RestoreRequest(force=frozenset(REFUSALS[kind]))
        assert request.checked(kind) is request
    for kind, foreign in ((RESTORE, "later-changes"), (UNDO, "other-session")):
        with pytest.raises(ArgumentError, match=f"'{foreign}' is not one of"):
            RestoreRequest(force=frozenset({foreign})).checked(kind)
