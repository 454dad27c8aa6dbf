"""What a restore did, and the conversation after it: how to resume it, or why it was left alone."""

from __future__ import annotations

import os
import re

from git_boocode.agents.registry import find_agent
from git_boocode.checkpoints.restore.transaction import RestoreResult
from git_boocode.checkpoints.store.catalog import Change
from git_boocode.repo.errors import shell_command

# Not even what an agent would take for an option.
_SESSION = "[0-9A-Za-z_][0-9A-Za-z_.:-]*"


def resume_command(result: RestoreResult) -> str:
    """The command that goes on with a conversation that was restored; empty if none is known.

    Some agents cannot resume a session without messages: if none is left, it starts a new one.
    """
    if result.answer is None:
        return ""
    agent = find_agent(result.checkpoint.meta.text("agent"))
    session = result.checkpoint.meta.text("session")
    is_known = agent is not None and re.fullmatch(_SESSION, session)
    words = agent.resume.split() if agent and is_known else []
    if result.answer.is_emptied:
        words = words[:1]
    words = [word.format(session=session) for word in words]
    return result.answer.resume or shell_command(*words)


def unrestored_conversation(result: RestoreResult) -> str:
    """Why a restore left the conversation of its checkpoint alone, and what restores it.

    Empty if the checkpoint belongs to no conversation, or a callback restored it.
    """
    meta = result.checkpoint.meta
    if (
        result.callback
        or not result.changes_something
        or not any(meta.text(key) for key in ("session", "chat", "message"))
    ):
        return ""
    if result.foreign:
        taken_here = "nothing proves that the checkpoint was taken in this repository"
        return f"the conversation was left alone: {taken_here}"
    agent, transcript = find_agent(meta.text("agent")), meta.part("anchor", "path")
    if agent and not agent.callback:
        return f"the conversation was left alone: go back to this turn in {agent.title} yourself"
    if transcript and not os.path.isfile(transcript):
        return f"the conversation was left alone: its transcript '{transcript}' is gone"
    restore = shell_command("git", "boocode", "restore", result.checkpoint.id)
    command = f"{restore} --conversation-only --callback <file>"
    return f"the conversation was left alone: '{command}' restores it with a callback"


def restore_json(result: RestoreResult) -> dict[str, object]:
    """The JSON answer of a restore, undo or redo."""
    answer = result.answer
    return {
        "ok": True,
        "checkpoint_id": result.checkpoint.id,
        "commit": result.checkpoint.commit.id,
        "undo": result.undo,
        "dry_run": result.dry_run,
        "worktree_reset": bool(result.changes),
        "index_reset": result.index_reset,
        "head_moved": result.head_moved,
        "head_differs": result.head_differs,
        "messages_deleted": answer.messages_deleted if answer else 0,
        "backend_reset": answer.backend_reset if answer else False,
        "archived": result.archived,
        "returned": result.returned,
        "changed": [_change_as_json(result, change) for change in result.changes],
        "staged": [change.as_json() for change in result.staged],
        "kept": [kept._asdict() for kept in result.kept],
        "hooks_lost": [{"path": lost.path, "install": lost.install} for lost in result.hooks_lost],
        "edited": result.edited,
        "conversation_left": result.conversation_left,
        **({"proposal": result.proposal.change} if result.proposal else {}),
        **({"open_turn": result.open_turn.id} if result.open_turn else {}),
        "message": answer.message if answer else "",
        "resume": resume_command(result) or None,
    }


def _change_as_json(result: RestoreResult, change: Change) -> dict[str, object]:
    if not result.dry_run:
        return change.as_json()
    both = result.lines.get(change.path)
    lines = {"added": both[0], "removed": both[1]} if both else None
    return {**change.as_json(), "lines": lines}
