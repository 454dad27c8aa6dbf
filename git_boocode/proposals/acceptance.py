"""Accept what is proposed: all files or none, after a safety checkpoint.

Files are compared as git stores them, but merged and written as they are in the worktree, so that
unchanged lines keep their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

from git_boocode.checkpoints.restore.commands import undoable_change
from git_boocode.checkpoints.restore.plan import WrittenFile
from git_boocode.editing.edits import EditedFile
from git_boocode.editing.recovery import EditJournal
from git_boocode.editing.text_changes import is_binary, merge_texts
from git_boocode.editing.textfile import FileText, decode
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import OTHER, letters_of, store_version, version_of
from git_boocode.proposals.proposal import (
    BlobVersion,
    ContextFile,
    ObjectStore,
    Proposal,
    ProposalState,
    retry_moved,
)
from git_boocode.proposals.review import (
    ChosenPart,
    LocalFile,
    Review,
    ReviewedFile,
    ReviewResult,
    all_paths,
    merged_mode,
    recover_if_killed,
)
from git_boocode.repo.atomic_write import FileChange, write_files
from git_boocode.repo.errors import (
    NextStep,
    RefusedError,
    first_few,
    refuse_combined,
    refuse_without,
)
from git_boocode.repo.files import Symlink
from git_boocode.repo.repository import Repository

ACCEPT = "accept"
_CLEAN = ("M", "A", "D", "R")
_SHOWN_LINES = 5
MERGE, MARKERS, OVERWRITE = "--merge", "--markers", "--overwrite"
_HINTS = {
    MERGE: NextStep("{} merges the proposal with your changes", "merge"),
    MARKERS: NextStep("{} writes both versions with conflict markers", "markers"),
    OVERWRITE: NextStep(
        "{} replaces your changes, which 'git boocode undo' brings back", "overwrite"
    ),
}


class AcceptRequest(NamedTuple):
    """What to accept, and how.

    `overwrite` replaces local changes, `merge` merges with them, and with `markers` leaves conflict
    markers. `force` ignores a running turn.
    """

    chosen: ChosenPart = ChosenPart()
    overwrite: bool = False
    merge: bool = False
    markers: bool = False
    dry_run: bool = False
    force: bool = False

    def checked(self) -> AcceptRequest:
        """This request, if its arguments fit together (ArgumentError)."""
        refuse_combined(merge=self.merge, overwrite=self.overwrite)
        refuse_without("merge", markers=self.markers and not self.merge)
        return self


class Conflict(NamedTuple):
    """Why a file cannot be accepted; `lines` are 1-based ranges of the user's file.

    `ways` are options with which it can be.
    """

    path: str
    letters: str
    message: str
    lines: tuple[tuple[int, int], ...] = ()
    ways: tuple[str, ...] = (OVERWRITE,)

    def as_json(self) -> dict[str, object]:
        """The conflict in a JSON answer."""
        lines = [list(pair) for pair in self.lines]
        return {
            "path": self.path,
            "status": self.letters,
            "message": self.message,
            "lines": lines,
        }


class AcceptRefusedError(RefusedError):
    """Files of the user conflict with the proposal; nothing was changed."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.messages = [f"'{each.path}': {each.message}" for each in conflicts]
        more = f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
        ways = {way for each in conflicts for way in each.ways}
        hints = [hint for way, hint in _HINTS.items() if way in ways]
        if not all(each.ways for each in conflicts):
            text, command = "{} drops what is proposed for a file", "'git boocode discard <path>'"
            hints.append(NextStep(text, "discard", typed=command))
        super().__init__(
            f"{self.messages[0]}{more}",
            code="conflict",
            hints=tuple(hints),
            details={"applied": False, "conflicts": [each.as_json() for each in conflicts]},
        )


class _Taken(NamedTuple):
    """A file to accept: what is written, and what its versions are then.

    `data` is None to delete the file; `version` is None if git has not stored `data` yet. `part` is
    what becomes the context if only some hunks are accepted.
    """

    file: ContextFile
    letters: str
    local: LocalFile  # the file at the path before the change
    there: LocalFile  # what is at the path after it
    data: bytes | None
    mode: str
    version: BlobVersion | None = None
    part: bytes | None = None
    marked: tuple[str, ...] = ()  # where it has conflict markers, in words

    @property
    def changes(self) -> bool:
        """Whether anything is written."""
        now = self.there.state
        if self.local.target != self.there.target and self.local.state is not None:
            return True
        if self.data is None or now is None:
            return self.data is not None or now is not None
        mode = self.there.version.mode if self.there.version else ""
        return now.data != self.data or mode != self.mode or isinstance(now.data, Symlink)

    @property
    def in_buffer(self) -> bool:
        """Whether the buffer of an editor is changed instead of the file."""
        return self.local.in_buffer or self.there.in_buffer

    def edited(self) -> EditedFile:
        """The change for the answer."""
        new = None if self.data is None else decode(self.data)
        action = {"R": "rename"}.get(self.file.change, "modify")
        if new is None:
            action = "delete"
        elif self.local.state is None:
            action = "create"
        source = self.file.source if action == "rename" else None
        old = self.local.text
        what = self.file.path, action, source or None, self.changes, old, new, ()
        was = self.local.version.mode if self.local.version else self.mode
        return EditedFile(*what, self.in_buffer, (was, self.mode or was))

    def writes(self) -> Iterator[FileChange]:
        """The changes of files on disk."""
        if self.in_buffer or not self.changes:
            return
        like = self.local.state
        if like is not None and isinstance(like.data, Symlink):
            like = None
        executable, now = None, self.local.version
        if self.data is not None and (now is None or now.mode != self.mode):
            executable = self.mode == "100755"
        yield FileChange(self.there.target, self.there.state, self.data, like, None, executable)
        if self.local.target != self.there.target and self.local.state is not None:
            yield FileChange(self.local.target, self.local.state, None)


def accept(workspace: Workspace, request: AcceptRequest) -> ReviewResult:
    """Write what is proposed to the files, all or none; a buffer is only returned.

    AcceptRefusedError if the user's changes conflict with it; RefusedError if nothing is proposed
    for a path (`not_found`), a turn is running (`locked`), or a file changed meanwhile
    (`conflict`); FatalError if a file cannot be written.
    """
    if not request.dry_run:
        recover_if_killed(workspace)
    return retry_moved(partial(_accept, workspace, request))


def _accept(workspace: Workspace, request: AcceptRequest) -> ReviewResult:
    review = Review(workspace, forced=request.force or request.dry_run)
    acceptance = _Acceptance(review, request)
    files = review.chosen(request.chosen, ACCEPT)
    review.read_ahead(files)
    found = [acceptance.take(file) for file in files]
    if conflicts := [each for each in found if isinstance(each, Conflict)]:
        raise AcceptRefusedError(conflicts)
    taken = [each for each in found if isinstance(each, _Taken)]
    reviewed = tuple(ReviewedFile(each.file.path, each.letters, each.edited()) for each in taken)
    result = ReviewResult(applied=False, files=reviewed, warnings=tuple(_warnings(taken)))
    if request.dry_run:
        return result
    changes = [change for each in taken for change in each.writes()]
    written = _written(review, taken)
    step = review.step(ACCEPT, all_paths(files))
    with ExitStack() as stack:
        stack.enter_context(review.locked())
        undo = stack.enter_context(undoable_change(review.repository, step, written))
        stored = _carry_out(review, changes, lambda objects: _new_state(review, objects, taken))
    return result._replace(applied=True, id=stored.id, undo=undo)


def _warnings(taken: Sequence[_Taken]) -> Iterator[str]:
    for each in taken:
        if each.marked:
            places = first_few(each.marked, _SHOWN_LINES)
            yield f"'{each.file.path}' has conflict markers, because both sides changed {places}"


def _written(review: Review, taken: Sequence[_Taken]) -> dict[str, WrittenFile | None]:
    """The files that are written, by path; None for one that is deleted."""
    written = dict[str, WrittenFile | None]()
    for each in taken:
        for change in each.writes():
            path, version = change.target.path, each.version
            if change.after is None:
                written[path] = None
                continue
            if version is None:
                version = version_of(review.repository, path, change.after, each.mode)
            written[path] = WrittenFile(path, each.mode, version.id)
    return written


class _AcceptJournal(EditJournal):
    """Stores the new state while the files can still be rolled back."""

    def __init__(self, repository: Repository, store: Callable[[], Proposal]) -> None:
        super().__init__(repository, None)
        self._store = store
        self.stored: Proposal | None = None

    def commit(self) -> None:
        """Store the state: a kill before this leaves the files accepted, which `accept` sees."""
        self.stored = self._store()
        super().commit()


def _carry_out(
    review: Review,
    changes: Sequence[FileChange],
    new_state: Callable[[ObjectStore], ProposalState],
) -> Proposal:
    def store() -> Proposal:
        return review.store(ACCEPT, new_state)

    if not changes:
        return store()
    journal = _AcceptJournal(review.repository, store)
    write_files(changes, journal)
    assert journal.stored is not None
    return journal.stored


def _new_state(review: Review, objects: ObjectStore, taken: Sequence[_Taken]) -> ProposalState:
    """The state in which the context has moved on to what was accepted."""
    contexts, outputs = dict[str, BlobVersion | None](), dict[str, BlobVersion | None]()
    for each in taken:
        path = each.file.path
        contexts |= dict.fromkeys(each.file.paths)
        outputs |= dict.fromkeys(each.file.paths)
        data, version, mode = each.data, each.version, each.mode
        output = each.file.output
        if each.part is not None and output is not None:
            # The rest stays proposed, but not to take back a mode that the user has set.
            data, mode = each.part, output.mode
        if data is None:
            version = None
        elif version is None:
            version = store_version(review.repository, objects, (path, data), mode)
        version = version and version._replace(mode=mode)
        contexts[path] = version
        outputs[path] = version if each.part is None else output
    return review.state.with_versions(contexts, outputs)


class _Acceptance:
    """Decides for one file after the other what accepting it means."""

    def __init__(self, review: Review, request: AcceptRequest) -> None:
        self._review = review
        self._request = request

    def take(self, file: ContextFile) -> _Taken | Conflict:
        """What to write for a file."""
        locals_ = self._review.locals_of(file)
        old, there = locals_[file.paths[0]], locals_[file.path]
        letters = letters_of(file, {path: local.version for path, local in locals_.items()})
        taken = _Taken(file, letters, old, there, None, "", file.output)
        if letters == "~":
            # Already as proposed.
            data = there.state.data if there.state else None
            return taken._replace(data=data, mode=there.version.mode if there.version else "")
        blocked = self._blocked(taken)
        return blocked or self._merged(taken)

    def _blocked(self, taken: _Taken) -> Conflict | None:
        """Why a file can neither be merged nor replaced as it was requested."""
        request, letters, why = self._request, taken.letters, ""
        ways: tuple[str, ...] = (OVERWRITE,)
        if OTHER in (taken.local.version, taken.there.version):
            why, ways = "what is in its place is not a file, or is below a symlink", ()
        elif letters in _CLEAN or request.overwrite:
            return None
        elif not request.merge:
            exists = "a file exists where the proposal adds one"
            gone = taken.local.state is None
            changed = "you have deleted it since" if gone else "you have changed it since"
            why = exists if "!" in letters else changed
            state = taken.local.state
            if not _unmergeable(taken) and not (state and b"\0" in state.data):
                ways = (MERGE, OVERWRITE)
        else:
            why = _unmergeable(taken)
        return Conflict(taken.file.path, letters, why, ways=ways) if why else None

    def _merged(self, taken: _Taken) -> _Taken | Conflict:
        review, file = self._review, taken.file
        numbers = self._request.chosen.hunks.get(file.path)
        there = set() if numbers is None else review.check_hunks(file, numbers)
        if file.output is None:
            return taken
        theirs = review.bytes_of(file.path, file.output)
        base = review.bytes_of(file.paths[0], file.context) if file.context else b""
        if numbers is not None and not there <= {*numbers}:
            theirs = review.part_of(file, numbers).encode()
            taken = taken._replace(part=theirs, version=None)
        state = taken.local.state
        replaced = state is None or (self._request.overwrite and taken.letters not in _CLEAN)
        if replaced or (state is not None and state.data in (base, theirs)):
            return taken._replace(data=theirs, mode=self._mode(taken))
        assert state is not None
        return self._three_way(taken, decode(base), decode(state.data), decode(theirs))

    def _three_way(
        self, taken: _Taken, base: FileText, ours: FileText, theirs: FileText
    ) -> _Taken | Conflict:
        file, letters = taken.file, taken.letters
        taken = taken._replace(mode=self._mode(taken))
        if any(map(is_binary, (base, ours, theirs))):
            if letters in _CLEAN:
                # Git sees no difference between the user's file and the context.
                return taken._replace(data=theirs.encode())
            if theirs == base:
                return taken._replace(data=ours.encode(), version=None)
            return Conflict(file.path, letters, "it is binary, and both sides have changed it")
        merged = merge_texts(base, ours, theirs)
        if merged.conflicts and letters in _CLEAN:
            return taken._replace(data=theirs.encode())
        if not merged.text.is_encodable:
            return Conflict(file.path, letters, "its encoding is not that of the proposal")
        if merged.conflicts and not self._request.markers:
            shown = first_few(merged.places, _SHOWN_LINES)
            message = f"your changes conflict with the proposal: {shown}"
            return Conflict(file.path, letters, message, merged.conflicts, (MARKERS, OVERWRITE))
        version = taken.version if letters in _CLEAN else None
        marked = tuple(merged.places)
        return taken._replace(data=merged.text.encode(), version=version, marked=marked)

    def _mode(self, taken: _Taken) -> str:
        """The mode of the accepted file: the proposal's if it changes it, else the user's."""
        file, local = taken.file, taken.local.version
        assert file.output is not None
        replaced = self._request.overwrite or taken.letters in _CLEAN
        if replaced or local is None or file.context is None:
            return file.output.mode
        return merged_mode(file.context, local, file.output)


def _unmergeable(taken: _Taken) -> str:
    """Why the user's file has no text to merge; empty if it has."""
    file, state = taken.file, taken.local.state
    if "!" in taken.letters and file.source:
        return "a file exists where the proposal moves one"
    if state is None:
        return "you have deleted the file that the proposal changes"
    if file.output is None:
        return "the proposal deletes the file that you have changed"
    return "it is a symbolic link now" if isinstance(state.data, Symlink) else ""
