"""Accept what is proposed: all files or none, after a safety checkpoint.

Files are compared as git stores them, but merged and written as they are in the worktree, so that
unchanged lines keep their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from git_boocode.checkpoints.restore.plan import WrittenFile
from git_boocode.editing.edits import EditedFile
from git_boocode.editing.recovery import EditJournal
from git_boocode.editing.text_changes import is_binary, merge_texts
from git_boocode.editing.textfile import decode
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import OTHER
from git_boocode.proposals.proposal import (
    AnyVersion,
    BlobVersion,
    Changes,
    ContextFile,
    NewVersion,
    version_of,
)
from git_boocode.proposals.review import (
    SHOWN_PLACES,
    ChosenPart,
    ComparedFile,
    Review,
    ReviewedFile,
    ReviewResult,
    merged_mode,
    recover_if_killed,
    retry_moved,
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


class _Accepted(NamedTuple):
    """What accepting a file means: what is written, and what becomes its context.

    Without `new` the file is deleted. If only a part is accepted, the output stays as it is.
    """

    seen: ComparedFile
    new: NewVersion | None
    context: AnyVersion | None
    is_part: bool = False
    marked: tuple[str, ...] = ()  # where it has conflict markers, in words

    @property
    def changes(self) -> bool:
        """Whether anything is written."""
        local, there = self.seen.local, self.seen.there
        if local.target != there.target and local.state is not None:
            return True
        now = there.state and there.version and NewVersion(there.version.mode, there.state.data)
        return now != self.new

    @property
    def in_buffer(self) -> bool:
        """Whether the buffer of an editor is changed instead of the file."""
        return self.seen.local.in_buffer or self.seen.there.in_buffer

    def edited(self) -> EditedFile:
        """The change for the answer."""
        file, local = self.seen.file, self.seen.local
        action = "rename" if file.change == "R" else "modify"
        if self.new is None:
            action = "delete"
        elif local.state is None:
            action = "create"
        mode = self.new.mode if self.new else ""
        was = local.version.mode if local.version else mode
        return EditedFile(
            file.path,
            action,
            file.source if action == "rename" else None,
            self.changes,
            local.text,
            decode(self.new.data) if self.new else None,
            (),
            self.in_buffer,
            (was, mode or was),
        )

    def writes(self) -> Iterator[FileChange]:
        """The changes of files on disk."""
        local, there = self.seen.local, self.seen.there
        if self.in_buffer or not self.changes:
            return
        like = local.state
        if like is not None and isinstance(like.data, Symlink):
            like = None
        executable, data = None, self.new.data if self.new else None
        if self.new and (local.version is None or local.version.mode != self.new.mode):
            executable = self.new.mode == "100755"
        yield FileChange(there.target, there.state, data, like, None, executable)
        if local.target != there.target and local.state is not None:
            yield FileChange(local.target, local.state, None)

    def written(self, repository: Repository) -> Iterator[tuple[str, WrittenFile | None]]:
        """The paths on disk that change, and what is written there; None for a deleted file."""
        for change in self.writes():
            path, version = change.target.path, self.context
            if change.after is None or self.new is None:
                yield path, None
                continue
            if not isinstance(version, BlobVersion):
                version = version_of(repository, path, self.new)
            yield path, WrittenFile(path, self.new.mode, version.id)

    def state_changes(self) -> Changes:
        """The new sides of its paths: the context moves on to what was accepted."""
        file = self.seen.file
        output = file.output if self.is_part else self.context
        return {**dict.fromkeys(file.paths, (None, None)), file.path: (self.context, output)}


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
    files = review.chosen(request.chosen, ACCEPT)
    review.read_ahead(files)
    found = [_decide(review, request, file) for file in files]
    if conflicts := [each for each in found if isinstance(each, Conflict)]:
        raise AcceptRefusedError(conflicts)
    accepted = [each for each in found if isinstance(each, _Accepted)]
    result = ReviewResult(
        applied=False,
        files=tuple(
            ReviewedFile(each.seen.file.path, each.seen.letters, each.edited()) for each in accepted
        ),
        warnings=tuple(
            f"'{each.seen.file.path}' has conflict markers, because both sides changed "
            f"{first_few(each.marked, SHOWN_PLACES)}"
            for each in accepted
            if each.marked
        ),
    )
    if request.dry_run:
        return result
    changes = {path: sides for each in accepted for path, sides in each.state_changes().items()}
    journal = _AcceptJournal(review, changes)
    writes = [change for each in accepted for change in each.writes()]
    written = dict(pair for each in accepted for pair in each.written(review.repository))
    with review.undoable(ACCEPT, files, written) as undo:
        if writes:
            write_files(writes, journal)
        else:
            journal.commit()
    return result._replace(applied=True, id=journal.stored, undo=undo)


class _AcceptJournal(EditJournal):
    """Stores the new state while the files can still be rolled back."""

    def __init__(self, review: Review, changes: Changes) -> None:
        super().__init__(review.repository, None)
        self._review = review
        self._changes = changes
        self.stored = ""

    def commit(self) -> None:
        """Store the state: a kill before this leaves the files accepted, which `accept` sees."""
        self.stored = self._review.store(ACCEPT, self._changes).id
        super().commit()


def _decide(review: Review, request: AcceptRequest, file: ContextFile) -> _Accepted | Conflict:
    """What accepting a file means, or why it cannot be accepted as it was requested."""
    seen = review.compare(file)
    if seen.letters == "~":
        # Already as proposed.
        there = seen.there
        new = there.state and there.version and NewVersion(there.version.mode, there.state.data)
        return _Accepted(seen, new, file.output)
    if conflict := _blocked(seen, request):
        return conflict
    numbers = request.chosen.hunks.get(file.path)
    others = set() if numbers is None else review.check_hunks(file, numbers).difference(numbers)
    if file.output is None:
        return _Accepted(seen, None, None)
    theirs, part = review.bytes_of(file.path, file.output), None
    if numbers is not None and others:
        theirs = review.part_of(file, numbers).encode()
        # The rest stays proposed, but not to take back a mode that the user has set.
        part = NewVersion(file.output.mode, theirs)
    base = review.bytes_of(file.paths[0], file.context) if file.context else b""
    ours, is_clean = seen.local.state and seen.local.state.data, seen.letters in _CLEAN
    merged: tuple[bytes, tuple[str, ...]] | Conflict = (theirs, ())
    if ours is not None and ours not in (base, theirs) and (is_clean or not request.overwrite):
        merged = _three_way(seen, request, (base, ours, theirs))
    if isinstance(merged, Conflict):
        return merged
    data, marked = merged
    mode, local = file.output.mode, seen.local.version
    if not (is_clean or request.overwrite) and local is not None and file.context is not None:
        mode = merged_mode(file.context, local, file.output)
    new = NewVersion(mode, data)
    context = file.output._replace(mode=mode) if is_clean or data == theirs else new
    return _Accepted(seen, new, part or context, part is not None, marked)


def _blocked(seen: ComparedFile, request: AcceptRequest) -> Conflict | None:
    """Why a file can neither be merged nor replaced as it was requested."""
    state, letters = seen.local.state, seen.letters
    ways: tuple[str, ...] = (OVERWRITE,)
    if OTHER in (seen.local.version, seen.there.version):
        why, ways = "what is in its place is not a file, or is below a symlink", ()
    elif letters in _CLEAN or request.overwrite:
        return None
    elif request.merge:
        why = _unmergeable(seen)
    else:
        why = "you have deleted it since" if state is None else "you have changed it since"
        if "!" in letters:
            why = "a file exists where the proposal adds one"
        if not _unmergeable(seen) and not (state and b"\0" in state.data):
            ways = (MERGE, OVERWRITE)
    return Conflict(seen.file.path, letters, why, ways=ways) if why else None


def _unmergeable(seen: ComparedFile) -> str:
    """Why the user's file has no text to merge; empty if it has."""
    file, state = seen.file, seen.local.state
    if "!" in seen.letters and file.source:
        return "a file exists where the proposal moves one"
    if state is None:
        return "you have deleted the file that the proposal changes"
    if file.output is None:
        return "the proposal deletes the file that you have changed"
    return "it is a symbolic link now" if isinstance(state.data, Symlink) else ""


def _three_way(
    seen: ComparedFile, request: AcceptRequest, sides: tuple[bytes, bytes, bytes]
) -> tuple[bytes, tuple[str, ...]] | Conflict:
    """Merge the user's file with the proposal; the bytes, and where they have conflict markers.

    Git sees no difference between a clean file and the context, so that it has nothing to lose.
    """
    path, letters, theirs = seen.file.path, seen.letters, sides[2]
    texts = [*map(decode, sides)]
    if any(map(is_binary, texts)):
        if letters in _CLEAN:
            return theirs, ()
        if theirs == sides[0]:
            return sides[1], ()
        return Conflict(path, letters, "it is binary, and both sides have changed it")
    merged = merge_texts(*texts)
    if merged.conflicts and letters in _CLEAN:
        return theirs, ()
    if not merged.text.is_encodable:
        return Conflict(path, letters, "its encoding is not that of the proposal")
    if merged.conflicts and not request.markers:
        message = (
            f"your changes conflict with the proposal: {first_few(merged.places, SHOWN_PLACES)}"
        )
        return Conflict(path, letters, message, merged.conflicts, (MARKERS, OVERWRITE))
    return merged.text.encode(), tuple(merged.places)
