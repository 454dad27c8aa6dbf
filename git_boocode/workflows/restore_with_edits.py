"""Restore, undo and redo with a callback that may ask for edits of the host's own files."""

from __future__ import annotations

from collections.abc import Sequence

from git_boocode.checkpoints.conversation_files import Keep, Written
from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.operation import RestoreRequest
from git_boocode.checkpoints.restore.transaction import Result
from git_boocode.repo.repository import Repository


def restore(repository: Repository, name: str, request: RestoreRequest) -> Result:
    """See `git_boocode.checkpoints.restore.commands.restore`."""
    return commands.restore(repository, name, request._replace(editor=_LazyEditor()))


def undo(repository: Repository, request: RestoreRequest) -> Result:
    """See `git_boocode.checkpoints.restore.commands.undo`."""
    return commands.undo(repository, request._replace(editor=_LazyEditor()))


def redo(repository: Repository, request: RestoreRequest) -> Result:
    """See `git_boocode.checkpoints.restore.commands.redo`."""
    return commands.redo(repository, request._replace(editor=_LazyEditor()))


def repair(repository: Repository) -> Result | None:
    """See `git_boocode.checkpoints.restore.commands.repair`."""
    return commands.repair(repository, RestoreRequest(editor=_LazyEditor()))


class _LazyEditor:
    """Applies edits; few callbacks ask for any, so what does it is imported then."""

    def edit(self, edits: object, base: str, keep: Keep) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.edit`."""
        from git_boocode.workflows.host_files import FileEditor

        FileEditor().edit(edits, base, keep)

    def write(self, files: Sequence[Written], keep: Keep) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.write`."""
        from git_boocode.workflows.host_files import FileEditor

        FileEditor().write(files, keep)
