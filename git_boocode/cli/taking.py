"""What `git boocode checkpoint` does; `git_boocode.cli.direct` calls it without click."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

from git_boocode.checkpoints.capture import Captured, Request, capture
from git_boocode.checkpoints.store.daily import prune_now_and_then
from git_boocode.cli.interruption import warn_of_interruption
from git_boocode.cli.output import print_json, print_text, progress, quote_path, report, warn
from git_boocode.repo.errors import BoocodeError, from_os
from git_boocode.repo.repository import Repository

# Claude Code tells it to the commands that it runs.
_CLAUDE_SESSION = "CLAUDE_CODE_SESSION_ID"
_CLAUDE = "claude-code"


def take_checkpoint(
    *,
    label: str = "",
    session: str = "",
    chat: str = "",
    message: str = "",
    agent: str = "",
    trigger: str = "manual",
    meta: Mapping[str, str] = MappingProxyType({}),
    if_changed: bool = False,
    best_effort: bool = False,
    allow_home: bool = False,
    paths: tuple[str, ...] = (),
    as_json: bool = False,
) -> int:
    """Take a checkpoint, print its id, and return the exit code; see the command's help."""
    session, agent = told_session(session, agent)
    request = Request(
        *(label, session, chat, message, agent, trigger, meta, if_changed), paths, allow_home
    )
    try:
        return _take(request, as_json=as_json)
    except (BoocodeError, OSError) as error:
        if not best_effort:
            raise
        report(error if isinstance(error, BoocodeError) else from_os(error), as_json=as_json)
        return 0


def told_session(session: str = "", agent: str = "") -> tuple[str, str]:
    """The session and agent of a checkpoint: as the user says, else of Claude Code that runs us."""
    found = os.environ.get(_CLAUDE_SESSION, "")
    return (
        (found, _CLAUDE) if found and not session and agent in ("", _CLAUDE) else (session, agent)
    )


def _take(request: Request, *, as_json: bool) -> int:
    repository = Repository.discover()
    warn_of_interruption(repository)
    with progress("recording the worktree"):
        taken = capture(repository, request)
    if as_json:
        print_json(answer(taken))
    else:
        print_text(taken.checkpoint.id)
        warn_of_skipped(taken)
    # After the answer: who reads it need not wait.
    prune_now_and_then(repository)
    return 0


def answer(taken: Captured) -> dict[str, object]:
    """The JSON answer that tells of a checkpoint."""
    checkpoint = taken.checkpoint
    return {
        "ok": True,
        "id": checkpoint.id,
        "commit": checkpoint.commit.id,
        "ref": checkpoint.ref,
        "tree": checkpoint.tree,
        "changed": taken.changed,
        "skipped": checkpoint.meta.values["skipped"],
    }


def warn_of_skipped(taken: Captured) -> None:
    """Say what a checkpoint does not hold."""
    for row in taken.checkpoint.meta.values["skipped"]:
        warn(f"not recorded: {quote_path(row['path'])}: {row['reason']}")
