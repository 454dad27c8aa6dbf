"""What is asked of a restore, undo or redo, and what it uses of the layers above."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from git_boocode.checkpoints.callback import AgentCallback, HostFunction
from git_boocode.repo.errors import (
    ArgumentError,
    NextStep,
    refuse_combined,
    refuse_unknown,
    shell_command,
)

if TYPE_CHECKING:
    from git_boocode.checkpoints.worktree.indexer import Skipped
    from git_boocode.checkpoints.worktree.snapshot import Snapshot
    from git_boocode.repo.index import Entry

RESTORE = "restore"
UNDO = "undo"
REDO = "redo"
# Steps that merge what turns changed.
REVERT = "revert"
PICK = "pick"
# Refusals that a caller can override.
IGNORED = "ignored"
RUNNING_TURN = "running-turn"
NEWER_TURNS = "newer-turns"
LATER_CHANGES = "later-changes"
FOREIGN = ("other-worktree", "other-session", "other-repository")
_OF_STEPS = (LATER_CHANGES, NEWER_TURNS, RUNNING_TURN, IGNORED)
REFUSALS = {RESTORE: (*FOREIGN, RUNNING_TURN, IGNORED), UNDO: _OF_STEPS, REDO: _OF_STEPS}
"""The refusals that each command can override."""


class RestoreRequest(NamedTuple):
    """The options of a restore, undo or redo; `force` names refusals to override.

    `ignored` replaces ignored files that are in the way, and records them in the safety checkpoint;
    `other-worktree`, `other-session` and `other-repository` restore checkpoints taken there;
    `later-changes` undoes a restore, or redoes it, although files have changed since; `newer-turns`
    does so although turns were recorded since as well.
    """

    files: bool = True  # restore files and staging area
    conversation: bool = True  # restore the conversation
    paths: tuple[str, ...] = ()  # pathspecs of the only files to restore; empty for all
    after: bool = False  # to the end of the turn that the checkpoint began, not to its beginning
    prefix: str = ""  # the directory that they are relative to, `""` or `"sub/dir/"`
    head: bool | None = None  # move HEAD as well; None: only revert the move of a restore
    dry_run: bool = False  # only report what would change
    callback: str | HostFunction | None = None  # used instead of the configured one
    session: str = ""  # the agent session of the caller; empty if unknown
    force: frozenset[str] = frozenset()
    only_to: str = ""  # refuse an undo or redo of another operation than this safety checkpoint
    diff: bool = False  # whether the result has the diff
    spares_open_turn: bool = False  # leave a conversation while a turn of it is open
    only: frozenset[str] | None = None  # the only paths to change, from the top; None for all
    seen: str = ""  # the version of a dry run: refuse to change anything else

    def checked(self, kind: str) -> RestoreRequest:
        """This request, if its arguments fit together and the command `kind` (ArgumentError)."""
        refuse_combined(files_only=not self.conversation, conversation_only=not self.files)
        refuse_combined(files_only=not self.conversation, callback=self.callback)
        refuse_combined(head=self.head, conversation_only=not self.files, paths=self.paths)
        refuse_combined(callback=self.callback, paths=self.paths)
        if self.callback == "":
            raise ArgumentError("invalid value for {}: the file name is empty", "callback")
        refuse_unknown("force", sorted(self.force), REFUSALS[kind])
        return self

    def checked_for_parts(self, **chosen: object) -> RestoreRequest:
        """This request, if parts of files can be chosen, by an argument (ArgumentError)."""
        refuse_combined(**chosen)
        for name, value in chosen.items():
            refuse_combined(**{name: value}, head=self.head)
            refuse_combined(**{name: value}, conversation_only=not self.files)
            refuse_combined(**{name: value}, callback=self.callback)
        return self

    def limited_to(self, earlier: RestoreRequest) -> RestoreRequest:
        """This request, limited to the scope and the paths of an earlier operation."""
        conversation = self.conversation and earlier.conversation
        limited = self._replace(files=self.files and earlier.files, conversation=conversation)
        return limited._replace(paths=earlier.paths, prefix=earlier.prefix, only=earlier.only)

    def from_top(self) -> tuple[str, ...]:
        """The pathspecs relative to any directory of the worktree."""
        return tuple(spec if spec[:1] == ":" else f":/{self.prefix}{spec}" for spec in self.paths)

    def command(self, *words: str) -> str:
        """The words of a command, such as `restore` and an id, with these options and paths.

        The latter are quoted for a shell.
        """
        callback = self.callback if isinstance(self.callback, str) else None
        given = (
            (not self.conversation, ["--files-only"]),
            (not self.files, ["--conversation-only"]),
            (self.after and words[0] == RESTORE, ["--after"]),
            (self.head is True and words[0] == RESTORE, ["--head"]),
            (self.head is False and words[0] != RESTORE, ["--no-head"]),
            (callback, ["--callback", callback or ""]),
            (self.session, ["--session", self.session]),
            (self.force, ["--force", ",".join(sorted(self.force))]),
            (self.paths, ["--", *self.paths]),
        )
        options = (word for is_given, option in given if is_given for word in option)
        return " ".join(filter(None, ("git boocode", *words, shell_command(*options))))

    def ways_over(self, step: str, refusal: str) -> tuple[NextStep, NextStep]:
        """The hints of an undo or redo that is refused unless this refusal is overridden."""
        request = self._replace(paths=())
        forced = request._replace(force=request.force | {refusal})
        look, force = forced.command(step, "-n"), forced.command(step)
        kinds = ",".join(sorted(forced.force))
        given = {"dry_run": True, "force": kinds.split(",")}
        return (
            NextStep("{} shows what would be replaced", "dry_run", typed=f"'{look}'", given=given),
            NextStep("{} does it anyway", "force", kinds, typed=f"'{force}'"),
        )


class WantedFile(NamedTuple):
    """What a path is to be; its blobs are in the repository, or in the snapshot's quarantine."""

    path: str
    mode: str  # git's mode; empty for no file
    id: str = ""  # the blob for the tree; empty for no file
    raw: str = ""  # the blob with the exact bytes, if git would write others for `id`


class WantedPaths(NamedTuple):
    """What some paths are to be, and which paths are left alone, with the reason."""

    files: Sequence[WantedFile] = ()
    # The new entries of the staging area; several for a conflict.
    staged: Mapping[str, Sequence[Entry]] = MappingProxyType({})
    kept: Sequence[Skipped] = ()
    has_conflicts: bool = False  # whether parts of the files are not as the step would make them

    @property
    def paths(self) -> frozenset[str]:
        """The paths whose file or staging changes."""
        return frozenset(file.path for file in self.files).union(self.staged)


MakeWanted = Callable[["Snapshot"], WantedPaths]
"""Computes from the current state what some paths are to be; an error changes nothing."""


class TurnStep(NamedTuple):
    """A change of some paths by what turns did, or by parts of a checkpoint."""

    command: str  # `revert`, `pick` or `restore`
    turns: tuple[str, ...]  # the ids of their checkpoints
    whole: bool = True  # all that they did, without conflicts and paths that were left alone


class ProposalStep(NamedTuple):
    """A change of what is proposed for some files, which undo takes back."""

    change: str  # `accept`, `discard` or `sync`
    before: str  # the id of the proposal before it; empty for none
    paths: tuple[str, ...]  # relative to the top


class ProposalStates(Protocol):
    """The proposals of a worktree, for undo and redo."""

    def newest_id(self) -> str:
        """The id of the newest proposal; empty for none."""

    def bring_back(self, step: ProposalStep) -> None:
        """Make the paths of a step as they were before it."""


class HostFile(NamedTuple):
    """A host file before and after it is written."""

    path: str  # absolute, symlinks resolved
    before: bytes | None  # None if the file did not exist
    after: bytes | None  # None if the file is deleted
    mode: int  # its permission bits
    leftovers: tuple[str, ...] = ()  # temporary files that a killed write could leave beside it


KeepOriginals = Callable[[Sequence[HostFile]], None]
"""Saves the original contents of files before they are written."""


class Editor(Protocol):
    """Writes files, all or none; after a BoocodeError, nothing was changed.

    `keep` is called with the planned changes before anything is written.
    """

    def edit(self, edits: object, base: str, keep: KeepOriginals) -> None:
        """Apply edits in any format that `apply-edit` reads, with paths relative to `base`."""

    def write(self, files: Sequence[HostFile], keep: KeepOriginals) -> None:
        """Write files whose content is still `before`."""


class HookFile(NamedTuple):
    """What a file of the worktree may hold: our hooks, or our server.

    `title` says which, and of which program; the command `install` adds them again.
    """

    title: str
    install: str
    has_hooks: Callable[[bytes], bool]


class RestoreHost(NamedTuple):
    """What a restore uses of proposals, edits and agents; the latter by their names."""

    editor: Callable[[], Editor] | None = None  # creates the editor for a callback's edits
    proposals: ProposalStates | None = None
    callbacks: Mapping[str, AgentCallback] = MappingProxyType({})
    transcripts: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # their directories
    # The triggers of checkpoints that begin turns, of the agents that report the ends of these.
    turn_triggers: Mapping[str, Collection[str]] = MappingProxyType({})
    hook_files: Mapping[str, tuple[HookFile, ...]] = MappingProxyType({})  # by the path
