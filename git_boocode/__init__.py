"""Apply a model's drifted edits and checkpoint the worktree, in plain git.

The names below are the Python API; see `git_boocode.api`. Each is imported on first use, which
keeps `import git_boocode` cheap.
"""

from __future__ import annotations

# Importing `typing` costs as much as a third of Python's own start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_boocode.api import (
        ChangedLines,
        ChangedPath,
        CheckpointInfo,
        DiffResult,
        EditsResult,
        FileEdits,
        FileLines,
        ForkResult,
        LandedEdit,
        RevertResult,
        TextEdit,
        apply_edits,
        checkpoint,
        diff,
        fork,
        log,
        pick,
        preview_edits,
        read,
        redo,
        restore,
        revert,
        turn_begin,
        turn_end,
        undo,
    )
    from git_boocode.checkpoints.restore.result import RestoreResult
    from git_boocode.matching import MatchError, locate_match, replace_text
    from git_boocode.proposal_api import (
        ProposedFile,
        ReviewedProposal,
        accept,
        discard,
        propose,
        status,
        sync,
    )
    from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError

__all__ = [
    "BoocodeError",
    "ChangedLines",
    "ChangedPath",
    "CheckpointInfo",
    "DiffResult",
    "EditsResult",
    "FatalError",
    "FileEdits",
    "FileLines",
    "ForkResult",
    "LandedEdit",
    "MatchError",
    "ProposedFile",
    "RefusedError",
    "RestoreResult",
    "RevertResult",
    "ReviewedProposal",
    "TextEdit",
    "__version__",
    "accept",
    "apply_edits",
    "checkpoint",
    "diff",
    "discard",
    "fork",
    "locate_match",
    "log",
    "pick",
    "preview_edits",
    "propose",
    "read",
    "redo",
    "replace_text",
    "restore",
    "revert",
    "status",
    "sync",
    "turn_begin",
    "turn_end",
    "undo",
]
__version__ = "0.1.0"

# Names that are imported from elsewhere, because importing `api` costs more.
_MODULES = {
    **dict.fromkeys(
        ("ProposedFile", "ReviewedProposal", "accept", "discard", "propose", "status", "sync"),
        "proposal_api",
    ),
    **dict.fromkeys(("MatchError", "locate_match", "replace_text"), "matching"),
    "RestoreResult": "checkpoints.restore.result",
    **dict.fromkeys(("BoocodeError", "FatalError", "RefusedError"), "repo.errors"),
}


def __getattr__(name: str) -> object:
    """Resolve a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_MODULES.get(name, 'api')}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return __all__
