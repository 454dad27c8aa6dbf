"""Restore, undo and redo with a callback that may ask for edits of the host's own files."""

from __future__ import annotations

from git_boocode.checkpoints.conversation_files import Editor
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.operation import RestoreRequest
from git_boocode.checkpoints.restore.transaction import Result
from git_boocode.repo.repository import Repository


def restore(repository: Repository, name: str, request: RestoreRequest) -> Result:
    """See `git_boocode.checkpoints.restore.commands.restore`."""
    return commands.restore(repository, name, request._replace(editor=_editor))


def undo(repository: Repository, request: RestoreRequest) -> Result:
    """See `git_boocode.checkpoints.restore.commands.undo`."""
    return commands.undo(repository, request._replace(editor=_editor))


def redo(repository: Repository, request: RestoreRequest) -> Result:
    """See `git_boocode.checkpoints.restore.commands.redo`."""
    return commands.redo(repository, request._replace(editor=_editor))


def repair(repository: Repository, request: RestoreRequest) -> Result | None:
    """See `git_boocode.checkpoints.restore.commands.repair`."""
    return commands.repair(repository, request._replace(editor=_editor))


def _editor() -> Editor:
    # Imported late, because few callbacks request edits.
    from git_boocode.workflows.host_files import FileEditor

    return FileEditor()
