"""The Python API: apply edits, take checkpoints and restore them in a host's own process.

The package `git_boocode` exports these names. Every function that needs a repository takes `root`,
a directory in its worktree. No function changes the state of the process, such as the current
directory. Failures raise a `BoocodeError` with a stable `code`, a `message` and `hints`:
`RefusedError` if nothing was changed, `FatalError` if the operation failed. Hints are for people:
they name commands of `git boocode`, which `next_steps` has as data. Invalid arguments raise
ValueError or TypeError before anything is read.

While a restore or an edit is left half-way, because it was killed, each function but `undo` warns
of it (RuntimeWarning) and goes on; `undo` takes such a restore back. Once a day, a new checkpoint
also prunes old ones, as the commands do; see git-boocode-prune(1).

Results are immutable values. Their paths are relative to the top of the worktree and use `/`.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from itertools import islice
from operator import index
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

from git_boocode.checkpoints import capture
from git_boocode.checkpoints.callback import HostFunction
from git_boocode.checkpoints.restore.request import (
    PICK,
    REDO,
    RESTORE,
    REVERT,
    UNDO,
    RestoreRequest,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.store.catalog import Catalog, Change, Checkpoint, compare_trees
from git_boocode.checkpoints.turn_request import TurnRequest, begin_turn, end_turn
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.editing.answer import Answer, changed_of, diff_of
from git_boocode.editing.edits import (
    DEFAULT_ENCODING,
    ENCODINGS,
    EditedFile,
    MatchOptions,
)
from git_boocode.editing.inputs import Source
from git_boocode.editing.reading import read_lines
from git_boocode.editing.service import Options
from git_boocode.editing.service import apply_edits as apply_sources
from git_boocode.editing.text_changes import placed_edits
from git_boocode.editing.workspace import Workspace, buffer_files
from git_boocode.repo.errors import ArgumentError, from_os, refuse_combined, refuse_without
from git_boocode.repo.lock import is_noted
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.workflows import fork_turn, restore_parts, restore_with_edits
from git_boocode.workflows.take_back import NO_TURN, TakeBackRequest, take_back
from git_boocode.workflows.turn_conflicts import TurnConflict

_P = ParamSpec("_P")
_R = TypeVar("_R")

Edits = str | bytes | Mapping[str, Any] | Sequence[Any]
"""Edits as a model sent them: a patch or JSON as text, or a JSON value."""

RestoreCallback = str | HostFunction
"""A program, or a function that takes each event as a dict and returns the answer."""

ForkResult = fork_turn.ForkResult


@dataclass(frozen=True)
class LandedEdit:
    """An applied edit; `index` is its position in the call, from 0.

    `kind` is `exact` or `fuzzy`, `rung` is the comparison that found the match, `count` the number
    of matches. Lines are 1-based, inclusive, and refer to the old file; if no line was replaced,
    `end_line` is one less than `start_line`.
    """

    index: int
    kind: str
    rung: str
    similarity: float
    count: int
    start_line: int
    end_line: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TextEdit:
    """A change of a text: positions are a line and a character, from 0, as an editor counts them.

    `end` is exclusive. Edits are in order, disjoint, and refer to the old text.
    """

    start: tuple[int, int]
    end: tuple[int, int]
    new_text: str


@dataclass(frozen=True)
class ChangedLines:
    """Lines of a new text that differ from the old one, from 1, inclusive, without line ends.

    If lines were only removed, `end_line` is one less than `start_line`. `lines` is None if the
    edit had the whole file, more than 200 lines of the file changed, or it is binary.
    """

    start_line: int
    end_line: int
    lines: tuple[str, ...] | None


@dataclass(frozen=True)
class FileEdits:
    """A file that edits changed: `action` is `create`, `modify`, `rename` or `delete`.

    `content` is its new text, None if it was deleted; `moved_from` is the old path of a renamed
    file. A buffer is not written: an editor applies its `text_edits`. `version` names the content
    for later edits, as their `base`; it is None in a dry run.
    """

    path: str
    action: str
    moved_from: str | None
    content: str | None
    diff: str
    edits: tuple[LandedEdit, ...]
    text_edits: tuple[TextEdit, ...] = ()
    changed: tuple[ChangedLines, ...] = ()
    version: str | None = None


@dataclass(frozen=True)
class EditsResult:
    """The changed files; `id` is the edit record for `git boocode rewind`, None without one."""

    id: str | None
    files: tuple[FileEdits, ...]


@dataclass(frozen=True)
class FileLines:
    """Some lines of a file, which has `total` lines; the first of them is line `first`.

    `path` is relative to the top of the worktree, and `version` what an edit can name as `base`.
    Lines have no line endings; bytes that are not UTF-8 are surrogates. `warning` is why the
    version could not be kept, empty if it is.
    """

    path: str
    version: str
    first: int
    lines: tuple[str, ...]
    total: int
    warning: str = ""


@dataclass(frozen=True)
class CheckpointInfo:
    """A checkpoint; `created_at` is UTC in ISO 8601, and missing texts are empty.

    `prompt` is what the agent was asked, and `label` its first words, or text of the user's.
    """

    id: str
    commit: str
    ref: str
    created_at: str
    label: str
    session: str
    chat: str
    message: str
    agent: str
    trigger: str
    worktree: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""


@dataclass(frozen=True)
class ChangedPath:
    """A path that differs: `action` is `create`, `modify` or `delete`."""

    path: str
    action: str


@dataclass(frozen=True)
class DiffResult:
    """The difference between two states: the paths, and the text of `git diff-tree -p`."""

    files: tuple[ChangedPath, ...]
    text: str


@dataclass(frozen=True)
class RevertResult:
    """What a revert or a pick did, or would do.

    `turns` are in the order in which they were merged, `undo` is the safety checkpoint, None if
    nothing was done. `kept` are the paths that were left alone, each with a `reason`. `conflicts`
    are those that are marked in the files: the path, the `lines` as ranges, and `by`, the turns
    that wrote these, each with its label, or None for changes by hand. `buffers` are the changed
    buffers, which an editor changes itself. `parts` are the hunks of files in a dry run with paths,
    and their versions, as in a restore.
    """

    turns: tuple[str, ...]
    undo: str | None
    dry_run: bool
    changed: tuple[ChangedPath, ...]
    staged: tuple[ChangedPath, ...]
    kept: tuple[Skipped, ...]
    conflicts: tuple[TurnConflict, ...] = ()
    buffers: tuple[FileEdits, ...] = ()
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def fatal_os_errors(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A decorator that turns an OSError into a FatalError."""

    @wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except OSError as error:
            raise from_os(error) from error

    return wrapper


@fatal_os_errors
def apply_edits(
    edits: Edits,
    root: str = ".",
    *,
    dry_run: bool = False,
    record: bool = True,
    profile: str = "default",
    buffers: Mapping[str, str] | None = None,
    position_encoding: str = DEFAULT_ENCODING,
    session: str = "",
) -> EditsResult:
    """Apply edits in any format to the files of a worktree, all or none.

    Paths are relative to the top of the worktree. Without `record`, no edit record is stored.
    `session` is that of the turn to which the edits belong, if several are open.
    `buffers` are texts by path that count instead of the files, which are then not written;
    `position_encoding` is what text edits count: `utf-8`, `utf-16` or `utf-32`. Raises RefusedError
    (`details["failures"]` lists the edits that failed, and `details["retry_context"]` is a text for
    the model), FatalError, and ValueError for an unknown profile or encoding.
    """
    workspace = workspace_of(root, buffers)
    options = Options(MatchOptions.of(profile), dry_run=dry_run, record=record, session=session)
    check_encoding(position_encoding)
    answer = apply_sources([source_of(edits)], workspace, options)
    return edits_result(answer, position_encoding)


@fatal_os_errors
def preview_edits(
    edits: Edits, contents: Mapping[str, str], *, profile: str = "default"
) -> EditsResult:
    """Apply edits to the given contents by path, without reading or writing files.

    Raises the errors of `apply_edits`, and TypeError or ValueError for contents that are not text.
    """
    with TemporaryDirectory() as empty:
        top = os.path.realpath(empty)
        buffers = {
            os.path.normpath(os.path.join(top, path)): _encoded(text)
            for path, text in contents.items()
        }
        workspace = Workspace(top, "", None, buffers=buffer_files(buffers))
        options = Options(MatchOptions.of(profile), dry_run=True)
        return edits_result(apply_sources([source_of(edits)], workspace, options))


@fatal_os_errors
def read(
    path: str,
    root: str = ".",
    *,
    first: int | None = None,
    last: int | None = None,
    buffers: Mapping[str, str] | None = None,
) -> FileLines:
    """Read the lines `first` to `last` of a file, and keep its version for later edits.

    An edit that names the version as `base` is made in it, and merged if the file has changed
    since. Lines count from 1. `path` and `buffers` are as in `apply_edits`; without `first` and
    `last`, the path may end in a range, such as `a.py:10-40`. Raises RefusedError (`missing_file`,
    `invalid_input`, `binary`, `outside_worktree`), FatalError.
    """
    return FileLines(*read_lines(workspace_of(root, buffers), path, first, last))


@fatal_os_errors
def checkpoint(
    root: str = ".",
    *,
    label: str = "",
    session: str = "",
    chat: str = "",
    message: str = "",
    agent: str = "",
    trigger: str = "api",
    meta: Mapping[str, Any] | None = None,
    if_changed: bool = False,
    paths: Sequence[str] = (),
    ignore_unmatch: bool = False,
) -> CheckpointInfo:
    """Take a checkpoint of the worktree and the staging area.

    It begins a turn that lasts until the next one; `turn_begin` begins one that can be ended.
    `message` is the message at which a restore cuts the conversation. With `if_changed`, return the
    latest checkpoint if nothing changed since. `paths` are pathspecs of the only paths to read; the
    rest comes from the latest checkpoint; with `ignore_unmatch` they may match no file yet. Raises
    RefusedError (`locked`, `home_worktree`, `not_found`), FatalError, and ValueError or TypeError
    for a `meta` that is not JSON.
    """
    request = capture.Request(
        label=label,
        session=session,
        chat=chat,
        message=message,
        agent=agent,
        trigger=trigger,
        meta=_checked_meta(meta),
        only_if_changed=if_changed,
        require_match=not ignore_unmatch,
        paths=strings(paths),
    )
    repository = repository_of(root)
    taken = capture.capture(repository, request)
    capture.prune_daily(repository)
    return _info(taken.checkpoint)


@fatal_os_errors
def turn_begin(
    root: str = ".",
    *,
    message: str = "",
    pid: int | None = None,
    timeout: float | None = None,
    force: bool = False,
    session: str = "",
    agent: str = "",
    chat: str = "",
    message_id: str = "",
    meta: Mapping[str, Any] | None = None,
) -> CheckpointInfo:
    """Take a checkpoint labelled `message`, and mark a model's turn as running.

    Until it ends, `restore`, `revert`, `pick`, `undo`, `redo` and `git boocode rewind` are refused
    (`locked`). It ends with `turn_end`, with the process `pid`, or after `timeout` seconds; the
    default is `boocode.turnTimeout`, and 0 means no limit. With `force`, it replaces a running
    turn. `session`, `agent`, `chat` and `meta` are those of `checkpoint`, and `message_id` is its
    `message`: where a restore cuts the conversation. Turns of different sessions can run at once;
    pass the session to `apply_edits`. Raises RefusedError (`locked`, and `not_found` for a process
    that is not running), FatalError, and ValueError or TypeError for a `meta` that is not JSON.
    """
    if pid is not None and pid < 1:
        raise ValueError("pid is not positive")
    if timeout is not None and not timeout >= 0:
        raise ValueError("timeout is negative")
    request = TurnRequest(
        message,
        pid,
        timeout,
        force,
        session,
        agent,
        chat,
        message_id,
        _checked_meta(meta),
    )
    repository = repository_of(root)
    begun = begin_turn(repository, request)
    capture.prune_daily(repository)
    return _info(begun.captured.checkpoint)


@fatal_os_errors
def turn_end(root: str = ".", *, turn: str = "") -> str:
    """End the running turn and record the state; returns the id of the turn's checkpoint.

    `turn` is that id, or another name of the checkpoint, if several are running. What changes
    afterwards, before the next turn begins, was changed by hand. Raises RefusedError (`not_found`
    if no turn is running, `ambiguous` if several are and none is named), FatalError.
    """
    return end_turn(Repository.discover(os.path.abspath(root)), turn).turn.checkpoint


@fatal_os_errors
def log(
    root: str = ".", *, max_count: int | None = None, all_worktrees: bool = False
) -> list[CheckpointInfo]:
    """The checkpoints of a worktree, or of all worktrees of its repository, newest first."""
    catalog = Catalog(repository_of(root))
    entries = catalog.newest_first(everywhere=all_worktrees)
    readable = (each for each in entries if isinstance(each, Checkpoint))
    return [_info(each) for each in islice(readable, max_count)]


@fatal_os_errors
def diff(
    old: str = "@", new: str | None = None, root: str = ".", *, paths: Sequence[str] = ()
) -> DiffResult:
    """Compare a checkpoint with another one or, without `new`, with the worktree.

    Raises RefusedError (`not_found`, `ambiguous`), FatalError.
    """
    repository = repository_of(root)
    catalog = Catalog(repository)
    pathspecs = checked_pathspecs(repository, [*strings(paths)]) if paths else []
    before = catalog.find(old).tree
    with temporary_objects(repository):
        after = current_tree(repository) if new is None else catalog.find(new).tree
        changes, text = compare_trees(repository, before, after, pathspecs)
    return DiffResult(_changes(changes), text)


@fatal_os_errors
def restore(
    name: str,
    root: str = ".",
    *,
    paths: Sequence[str] = (),
    hunks: Mapping[str, Sequence[int]] | None = None,
    expect: Mapping[str, str] | None = None,
    files: bool = True,
    conversation: bool = True,
    after: bool = False,
    head: bool = False,
    dry_run: bool = False,
    callback: RestoreCallback | None = None,
    session: str = "",
    force: Sequence[str] = (),
) -> RestoreResult:
    """Restore files, staging area and conversation from a checkpoint.

    `name` is an id or a prefix of one, `@`, `@~N`, `message:ID` or `label:TEXT`. With `paths`, only
    the files that these pathspecs match are restored, and the conversation is not. With `after`, it
    is the state at the end of the turn that the checkpoint began. Without `files`
    or `conversation`, that part is not restored; with `head`, HEAD and its branch are, too.
    `callback` is used instead of `boocode.callback`, and its edits are applied; for a checkpoint of
    another repository it is refused, unless `conversation` is false. If it is a function, it may
    call all functions of this module except `restore`, `revert`, `pick`, `undo` and `redo`. With
    `session`, checkpoints of another session are refused. `force` names refusals to override:
    `ignored`, `running-turn`, `other-worktree`, `other-session`, `other-repository`.

    With `hunks`, only these parts of files are restored, by path and number. They lead from the
    file as it is now to that of the checkpoint; a dry run with `paths` has them in `parts`. It has
    the version of the file there, too: with `expect`, hunks of another version are refused.

    Raises RefusedError, FatalError (a step failed; the steps before it were rolled back).
    """
    request = RestoreRequest(
        files=files,
        conversation=conversation,
        paths=strings(paths),
        after=after,
        head=head,
        dry_run=dry_run,
        callback=callback if conversation else None,
        session=session,
        force=frozenset(strings(force)),
    )
    request = checked(partial(request.checked, RESTORE))
    if hunks is None:
        checked(partial(refuse_without, "hunks", expect=expect))
    else:
        checked(partial(request.checked_for_parts, hunks=True))
        checked(partial(refuse_combined, hunks=True, paths=request.paths))
    repository = repository_of(root)
    if hunks is not None:
        return restore_parts.restore_parts(
            repository,
            name,
            request,
            restore_parts.from_top(repository, _hunk_numbers(hunks)),
            restore_parts.from_top(repository, _versions(expect)),
        )
    result = restore_with_edits.restore(repository, name, request)
    return restore_parts.with_listed_hunks(repository, result, request)


def _versions(expect: Mapping[str, str] | None) -> Mapping[str, str]:
    if expect and not all(expect.values()):
        raise ValueError("expect has a path with an empty version")
    return expect or {}


def _hunk_numbers(hunks: Mapping[str, Collection[int]]) -> dict[str, list[int]]:
    found = {path: [*map(index, numbers)] for path, numbers in hunks.items()}
    if not found or not all(found.values()):
        raise ValueError("hunks is empty, or has a path without numbers")
    if min(map(min, found.values())) < 1:
        raise ValueError("a hunk has a number from 1")
    return found


@fatal_os_errors
def revert(
    turns: str | Sequence[str] = (),
    root: str = ".",
    *,
    session: str = "",
    agent: str = "",
    paths: Sequence[str] = (),
    hunks: Mapping[str, Sequence[int]] | None = None,
    expect: Mapping[str, str] | None = None,
    dry_run: bool = False,
    markers: bool = False,
    force: Sequence[str] = (),
    buffers: Mapping[str, str] | None = None,
    position_encoding: str = DEFAULT_ENCODING,
) -> RevertResult:
    """Take back what turns changed, and keep what others have changed since.

    `turns` are names of checkpoints as `restore` takes them; or give a `session` or an `agent` to
    take back all their turns. Without any of them, a dry run is of the turn that ended last.
    `paths` and `buffers` are as in `restore` and `apply_edits`, `hunks` and `expect` as in
    `restore`. With `markers`, both versions are written with conflict markers where others have
    changed the same lines. `force` names refusals to override: `shared`, `running-turn`.

    Raises RefusedError (`conflict`: others have changed the same lines, and `details["conflicts"]`
    names them; `shared`: other turns may have made the same changes), FatalError.
    """
    named = bool(strings(turns) or session or agent)
    if not (named or dry_run):
        raise ValueError(f"{NO_TURN}: turns, session and agent are missing")
    request = TakeBackRequest(strings(turns), session, agent)
    return _take_back(
        REVERT,
        root,
        request._replace(
            paths=strings(paths),
            hunks=hunks,
            versions=_versions(expect),
            dry_run=dry_run,
            markers=markers,
            force=frozenset(strings(force)),
        ),
        buffers,
        position_encoding,
    )


@fatal_os_errors
def pick(
    turns: str | Sequence[str],
    root: str = ".",
    *,
    paths: Sequence[str] = (),
    hunks: Mapping[str, Sequence[int]] | None = None,
    expect: Mapping[str, str] | None = None,
    dry_run: bool = False,
    markers: bool = False,
    force: Sequence[str] = (),
    buffers: Mapping[str, str] | None = None,
    position_encoding: str = DEFAULT_ENCODING,
) -> RevertResult:
    """Do here what turns changed, also of other worktrees, and reverted, archived or fetched ones.

    Arguments and errors are those of `revert`.
    """
    if not strings(turns):
        raise ValueError(f"{NO_TURN}: turns are missing")
    request = TakeBackRequest(
        strings(turns),
        paths=strings(paths),
        hunks=hunks,
        versions=_versions(expect),
        dry_run=dry_run,
        markers=markers,
        force=frozenset(strings(force)),
    )
    return _take_back(PICK, root, request, buffers, position_encoding)


def _take_back(
    command: str,
    root: str,
    request: TakeBackRequest,
    buffers: Mapping[str, str] | None,
    encoding: str,
) -> RevertResult:
    """Revert or pick; hunks and versions are by path from the caller's directory."""
    check_encoding(encoding)
    request = checked(request.checked)
    if request.hunks is None:
        checked(partial(refuse_without, "hunks", expect=request.versions))
    else:
        checked(partial(refuse_combined, hunks=True, paths=request.paths))
        request = request._replace(hunks=_hunk_numbers(request.hunks))
    workspace = workspace_of(root, buffers)
    repository = workspace.repository
    assert repository is not None
    if request.hunks is not None:
        hunks = restore_parts.from_top(repository, request.hunks)
        request = request._replace(
            paths=tuple(f":(top,literal){path}" for path in hunks),
            hunks=hunks,
            versions=restore_parts.from_top(repository, request.versions),
        )
    done = take_back(repository, command, request._replace(buffers=workspace.buffer_data()))
    result = done.result
    return RevertResult(
        tuple(turn.id for turn in done.turns),
        result.undo,
        result.dry_run,
        _changes(result.changed),
        _changes(result.staged),
        result.kept,
        done.merged.conflicts,
        tuple(file_edits(buffer, encoding) for buffer in done.buffers),
        {file.path: file.as_json() for file in done.files if file.hunks},
    )


@fatal_os_errors
def undo(
    root: str = ".",
    *,
    files: bool = True,
    conversation: bool = True,
    dry_run: bool = False,
    callback: RestoreCallback | None = None,
    force: Sequence[str] = (),
    expect: str | None = None,
) -> RestoreResult:
    """Undo an interrupted operation, or else the latest restore or redo that is not undone yet.

    `force` names refusals to override: `ignored` and `running-turn`, as in `restore`, and
    `later-changes`, if files changed since, or `newer-turns`, if turns were recorded since as well.
    With `expect`, another operation than that whose result had this id as `undo` is refused
    (`stale`). Errors are those of `restore`.
    """
    request = RestoreRequest(
        files=files,
        conversation=conversation,
        dry_run=dry_run,
        callback=callback if conversation else None,
        force=frozenset(strings(force)),
        only_to=_expected(expect),
    )
    request = checked(partial(request.checked, UNDO))
    return restore_with_edits.undo(Repository.discover(os.path.abspath(root)), request)


@fatal_os_errors
def fork(
    turn: str,
    root: str = ".",
    *,
    directory: str = "",
    after: bool = False,
    branch: str = "",
    conversation: bool = True,
    dry_run: bool = False,
    callback: RestoreCallback | None = None,
) -> ForkResult:
    """Make a linked worktree in the state of a turn, with a copy of its conversation.

    `turn` is a name as `restore` takes it. `directory` is relative to `root`; without it, the
    worktree is beside the main one. With `after`, it is the state at the end of the turn. HEAD is
    detached, unless `branch` names a new one. `callback` is used instead of `boocode.callback`. A
    conversation that cannot be copied is no error: `conversation.why` of the result says why.

    Raises RefusedError (`exists`: the directory or the branch exists, `invalid_input`: the
    directory is inside of a worktree that does not ignore it), FatalError (`missing_objects`: the
    turn is incomplete). Then nothing was made.
    """
    request = fork_turn.ForkRequest(
        directory=directory,
        after=after,
        branch=branch,
        conversation=conversation,
        dry_run=dry_run,
        callback=callback if conversation else None,
    )
    return fork_turn.fork(repository_of(root), turn, request)


@fatal_os_errors
def redo(
    root: str = ".",
    *,
    files: bool = True,
    conversation: bool = True,
    dry_run: bool = False,
    callback: RestoreCallback | None = None,
    force: Sequence[str] = (),
    expect: str | None = None,
) -> RestoreResult:
    """Redo the latest undone restore; arguments and errors are those of `undo`."""
    request = RestoreRequest(
        files=files,
        conversation=conversation,
        dry_run=dry_run,
        callback=callback if conversation else None,
        force=frozenset(strings(force)),
        only_to=_expected(expect),
    )
    request = checked(partial(request.checked, REDO))
    return restore_with_edits.redo(repository_of(root), request)


def _expected(identifier: str | None) -> str:
    if identifier == "":
        raise ValueError("expect is empty")
    return identifier or ""


def checked(check: Callable[[], _R]) -> _R:
    """What a check of arguments returns; ValueError, by the names of this module, if one fails."""
    try:
        return check()
    except ArgumentError as error:
        own = {"files_only": "conversation=False", "conversation_only": "files=False"}
        names = (own.get(name, name) for name in error.names)
        raise ValueError(error.problem.format(*names)) from None


def strings(values: Sequence[str]) -> tuple[str, ...]:
    """Some strings, of which one may be given alone."""
    # A string is also a sequence of strings, and its '.' would be a path that matches everything.
    return (values,) if isinstance(values, str) else tuple(values)


def source_of(edits: Edits) -> Source:
    """The input of a service (TypeError)."""
    if isinstance(edits, bytes):
        return Source("the edits", edits)
    text = edits if isinstance(edits, str) else json.dumps(edits, default=_json_value)
    return Source("the edits", text.encode("utf-8", "surrogatepass"))


def _json_value(value: object) -> object:
    """Convert a Mapping or Sequence of another type to the dict or list that `json` supports."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    raise TypeError(f"edits contain a {type(value).__name__}, which is not JSON")


def _encoded(text: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"contents contain a {type(text).__name__} instead of a str")
    # Surrogate escapes stand for bytes that are not UTF-8; other surrogates are invalid.
    return text.encode("utf-8", "surrogateescape")


def repository_of(root: str) -> Repository:
    """The repository of a directory, with a warning of what was killed half-way in its worktree."""
    repository = Repository.discover(os.path.abspath(root))
    _warn_of_interruption(repository)
    return repository


def _warn_of_interruption(repository: Repository) -> None:
    if is_noted(repository.state_dir):
        for found in restore_with_edits.interruptions(repository):
            hints = "".join(f"; {hint}" for hint in found.hints)
            # The caller is behind the caller's caller, which the decorator wraps.
            warnings.warn(
                f"{repository.worktree}: {found.message}{hints}", RuntimeWarning, stacklevel=5
            )


def workspace_of(root: str, buffers: Mapping[str, str] | None) -> Workspace:
    """The worktree of a directory with some buffers, by path relative to the top.

    RefusedError (`outside_worktree`, `invalid_input`) if a path cannot be used; TypeError.
    """
    contents = {path: _encoded(text) for path, text in (buffers or {}).items()}
    workspace = Workspace.here(os.path.abspath(root)).with_buffers(contents)
    if workspace.repository is not None:
        _warn_of_interruption(workspace.repository)
    return workspace


def check_encoding(encoding: str) -> None:
    """Refuse the name of an unknown position encoding (ValueError)."""
    if encoding not in ENCODINGS:
        raise ValueError(f"unknown encoding '{encoding}' (choose from: {', '.join(ENCODINGS)})")


def edits_result(answer: Answer, encoding: str = DEFAULT_ENCODING) -> EditsResult:
    """The result of a service as values."""
    return EditsResult(answer.id, tuple(file_edits(file, encoding) for file in answer.files))


def file_edits(file: EditedFile, encoding: str) -> FileEdits:
    """An edited file as values."""
    old, new = (side.text if side is not None else "" for side in (file.old, file.text))
    return FileEdits(
        file.path,
        file.action,
        file.moved_from,
        file.text.text if file.text is not None else None,
        diff_of(file),
        tuple(LandedEdit(edit.number, *applied) for edit, applied in file.applied),
        tuple(
            TextEdit(each.start, each.end, each.text) for each in placed_edits(old, new, encoding)
        ),
        tuple(ChangedLines(*each) for each in changed_of(file)),
        file.version,
    )


def _checked_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy that is JSON, because later answers include it."""
    copied: dict[str, Any] = json.loads(json.dumps(dict(meta or {}), allow_nan=False))
    return copied


def _info(entry: Checkpoint) -> CheckpointInfo:
    meta = entry.meta.values.get("meta")
    return CheckpointInfo(
        id=entry.id,
        commit=entry.commit.id,
        ref=entry.ref,
        worktree=entry.meta.worktree_name or "",
        meta=dict(meta) if isinstance(meta, dict) else {},
        **entry.texts,
    )


def _changes(changes: Sequence[Change]) -> tuple[ChangedPath, ...]:
    return tuple(ChangedPath(change.path, change.action) for change in changes)
