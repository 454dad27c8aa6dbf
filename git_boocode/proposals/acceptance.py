"""Accept what is proposed: all files or none, after a safety checkpoint.

Files are compared as git stores them, but merged and written as they are in the worktree, so that
unchanged lines keep their bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.restore.plan import WrittenFile
from git_boocode.editing.edits import EditedFile
from git_boocode.editing.kept_versions import keep_new, with_versions
from git_boocode.editing.service import EditJournal
from git_boocode.editing.text_changes import SHOWN_PLACES, MergedText
from git_boocode.editing.textfile import FileText, decode
from git_boocode.editing.workspace import Workspace
from git_boocode.proposals.local_files import OTHER
from git_boocode.proposals.proposal import (
    AnyVersion,
    BlobVersion,
    Changes,
    ContextFile,
    NewVersion,
    Proposal,
    version_of,
)
from git_boocode.proposals.review import (
    FOREIGN,
    ChosenPart,
    ComparedFile,
    Review,
    ReviewedFile,
    ReviewResult,
    held_by,
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
    shell_command,
)
from git_boocode.repo.files import Symlink
from git_boocode.repo.repository import Repository

ACCEPT = "accept"
_CLEAN = ("M", "A", "D", "R")
MERGE, MARKERS, OVERWRITE, SAVE = "--merge", "--markers", "--overwrite", "save"
_HINTS: dict[str, str] = {
    MERGE: NextStep("{} merges the proposal with your changes", "merge"),
    MARKERS: NextStep("{} writes both versions with conflict markers", "markers"),
    SAVE: "save the buffer in the editor, and accept without it",
}
_UNDO = {False: "'git boocode undo'", True: "undo in the editor"}
"""What brings back the user's changes, by whether they are in a buffer."""


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

    `ways` are options with which it can be, or `SAVE`. With `in_buffer`, an editor has the user's
    changes.
    """

    path: str
    letters: str
    message: str
    lines: tuple[tuple[int, int], ...] = ()
    ways: tuple[str, ...] = (OVERWRITE,)
    in_buffer: bool = False

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
    """Files of the user conflict with the proposal; nothing was changed.

    `merges` is whether they were to be merged, which has to go where they are overwritten. `paths`
    are those that can be overwritten, as the command line names them; None for all of the call.
    """

    def __init__(
        self, conflicts: Sequence[Conflict], *, merges: bool, paths: Sequence[str] | None = None
    ) -> None:
        self.messages = [f"'{each.path}': {each.message}" for each in conflicts]
        more = f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
        ways = {way for each in conflicts for way in each.ways}
        hints = [hint for way, hint in _HINTS.items() if way in ways]
        if replaced := [each for each in conflicts if OVERWRITE in each.ways]:
            hints.append(_overwrite(replaced, merges=merges, paths=paths))
        if not all(each.ways for each in conflicts):
            text, command = "{} drops what is proposed for a file", "'git boocode discard <path>'"
            hints.append(NextStep(text, "discard", typed=command))
        super().__init__(
            f"{self.messages[0]}{more}",
            code="conflict",
            hints=tuple(hints),
            details={"applied": False, "conflicts": [each.as_json() for each in conflicts]},
        )


def _overwrite(
    conflicts: Sequence[Conflict], *, merges: bool, paths: Sequence[str] | None
) -> NextStep:
    """The step that overwrites files, only `paths` if there are others."""
    in_buffer = {each.in_buffer for each in conflicts}
    undo = " or ".join(_UNDO[place] for place in sorted(in_buffer))
    given: dict[str, object] = {"overwrite": True}
    if merges:
        # A merge that was asked for has to go.
        given |= {"merge": None}
    typed, where = OVERWRITE, ""
    if paths is not None:
        given |= {"paths": [*paths]}
        is_short = len(paths) <= SHOWN_PLACES
        typed = f"{OVERWRITE} {shell_command(*paths) if is_short else '<path>...'}"
        where = ", in " + first_few([f"'{path}'" for path in paths], SHOWN_PLACES)
    text = f"{{}} replaces your changes, which {undo} brings back"
    wants_more = merges or paths is not None
    return NextStep(text, "overwrite", typed=typed, rest=where, given=given if wants_more else None)


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
        return self.seen.in_buffer

    @property
    def warnings(self) -> Iterator[str]:
        """What the user should look at."""
        path, local = self.seen.file.path, self.seen.local.text
        if self.marked:
            places = first_few(self.marked, SHOWN_PLACES)
            yield f"'{path}' has conflict markers, because both sides changed {places}"
        new = decode(self.new.data) if self.new else None
        if local and local.has_bytes and new and not (new.has_bytes or new.text.isascii()):
            yield f"'{path}' was not UTF-8, and is now"

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

    def writes(self, repository: Repository) -> Iterator[tuple[FileChange, WrittenFile | None]]:
        """The changes of files on disk, and what git sees there then; None for a deleted file."""
        local, there, new = self.seen.local, self.seen.there, self.new
        if self.in_buffer or not self.changes:
            return
        like = local.state
        if like is not None and isinstance(like.data, Symlink):
            like = None
        executable, data, written = None, None, None
        if new is not None:
            data, version = new.data, self.context
            if local.version is None or local.version.mode != new.mode:
                executable = new.mode == "100755"
            if not isinstance(version, BlobVersion):
                version = version_of(repository, there.target.path, new)
            written = WrittenFile(there.target.path, new.mode, version.id)
        yield FileChange(there.target, there.state, data, like, None, executable), written
        if local.target != there.target and local.state is not None:
            yield FileChange(local.target, local.state, None), None

    def state_changes(self) -> Changes:
        """The new sides of its paths: the context moves on to what was accepted."""
        file = self.seen.file
        output = file.output if self.is_part else self.context
        return {**dict.fromkeys(file.paths, (None, None)), file.path: (self.context, output)}


@retry_moved
def accept(workspace: Workspace, request: AcceptRequest) -> ReviewResult:
    """Write what is proposed to the files, all or none; a buffer is only returned.

    AcceptRefusedError if the user's changes conflict with it; RefusedError if nothing is proposed
    for a path (`not_found`), another proposal was looked at (`stale`), a turn is running
    (`locked`), or a file changed meanwhile (`conflict`); FatalError if a file cannot be written.
    """
    if not request.dry_run:
        recover_if_killed(workspace)
    review = Review(workspace, forced=request.force or request.dry_run)
    files = review.chosen(request.chosen, ACCEPT)
    review.read_ahead(files)
    found = [_decide(review, request, file) for file in files]
    if conflicts := [each for each in found if isinstance(each, Conflict)]:
        can = [each.path for each in conflicts if OVERWRITE in each.ways]
        paths = [os.path.relpath(path, workspace.prefix or ".") for path in can]
        others = len(can) < len(files)
        raise AcceptRefusedError(conflicts, merges=request.merge, paths=paths if others else None)
    accepted = [each for each in found if isinstance(each, _Accepted)]
    result = ReviewResult(
        applied=False,
        proposal=review.newest_id,
        files=tuple(
            ReviewedFile(each.seen.file.path, each.seen.letters, each.edited()) for each in accepted
        ),
        warnings=tuple(warning for each in accepted for warning in each.warnings),
    )
    if request.dry_run:
        return result
    changes = {path: sides for each in accepted for path, sides in each.state_changes().items()}
    journal = _AcceptJournal(review, changes)
    writes = [pair for each in accepted for pair in each.writes(review.repository)]
    written = {change.target.path: file for change, file in writes}
    with review.undoable(ACCEPT, files, written) as undo:
        if writes:
            write_files([change for change, _ in writes], journal)
        else:
            journal.commit()
    proposal = journal.stored
    assert proposal is not None
    edited = (each.edited for each in result.files if each.edited)
    named = with_versions(edited, review.repository)
    held = held_by(proposal)
    keep_new(workspace, (file for file in named if file.version not in held))
    reviewed = zip(result.files, named, strict=True)
    return result._replace(
        applied=True,
        proposal=proposal.id,
        id=proposal.id,
        files=tuple(each._replace(edited=file) for each, file in reviewed),
        undo=undo,
    )


class _AcceptJournal(EditJournal):
    """Stores the new state while the files can still be rolled back."""

    def __init__(self, review: Review, changes: Changes) -> None:
        super().__init__(review.repository, None)
        self._review = review
        self._changes = changes
        self.stored: Proposal | None = None

    def commit(self) -> None:
        """Store the state: a kill before this leaves the files accepted, which `accept` sees."""
        self.stored = self._review.store(ACCEPT, self._changes)
        super().commit()


def _decide(review: Review, request: AcceptRequest, file: ContextFile) -> _Accepted | Conflict:
    """What accepting a file means, or why it cannot be accepted as it was requested."""
    seen = review.compare(file)
    if seen.letters == "~":
        # Already as proposed.
        there = seen.there
        new = there.state and there.version and NewVersion(there.version.mode, there.state.data)
        return _Accepted(seen, new, file.output)
    if conflict := _blocked(review, request, seen):
        return conflict
    numbers, part = request.chosen.hunks.get(file.path), None
    if numbers is not None and review.check_hunks(file, numbers).difference(numbers):
        part = review.part_of(file, numbers)
    merged = _merged(review, request, seen, part)
    if isinstance(merged, Conflict):
        return merged
    if file.output is None:
        return _Accepted(seen, None, None)
    is_clean = seen.letters in _CLEAN
    mode = file.output.mode if is_clean or request.overwrite else seen.merged_mode
    new = NewVersion(mode, merged.text.encode())
    if part is not None:
        # The rest stays proposed, but not to take back a mode that the user has set.
        context: AnyVersion = NewVersion(file.output.mode, part.encode())
    elif is_clean or merged.text == review.sides(file)[1]:
        context = file.output._replace(mode=mode)
    else:
        context = new
    return _Accepted(seen, new, context, part is not None, tuple(merged.places))


def _conflict(
    review: Review,
    seen: ComparedFile,
    why: str,
    ways: tuple[str, ...] = (OVERWRITE,),
    lines: tuple[tuple[int, int], ...] = (),
) -> Conflict:
    """The conflict of a file."""
    if OVERWRITE in ways and seen.is_foreign(review.sides(seen.file)[1]):
        ways = (*(way for way in ways if way != OVERWRITE), SAVE)
    return Conflict(seen.file.path, seen.letters, why, lines, ways, seen.in_buffer)


def _blocked(review: Review, request: AcceptRequest, seen: ComparedFile) -> Conflict | None:
    """Why a file can neither be written nor merged without being asked for."""
    letters = seen.letters
    if OTHER in (seen.local.version, seen.there.version):
        return _conflict(
            review, seen, "what is in its place is not a file, or is below a symlink", ()
        )
    if seen.in_buffer and seen.file.change in ("D", "R"):
        change = {"D": "deletes", "R": "renames"}[seen.file.change]
        why = f"the proposal {change} the file, and its buffer is not saved"
        return _conflict(review, seen, why, (SAVE,))
    if letters in _CLEAN or request.overwrite or request.merge:
        return None
    why = "you have changed it since" if seen.local.state else "you have deleted it since"
    if "!" in letters:
        why = "a file exists where the proposal adds one"
    can_merge = isinstance(review.merge(seen), MergedText)
    return _conflict(review, seen, why, (MERGE, OVERWRITE) if can_merge else (OVERWRITE,))


def _merged(
    review: Review, request: AcceptRequest, seen: ComparedFile, part: FileText | None
) -> MergedText | Conflict:
    """The text to write, of a deleted file an empty one."""
    found = _combined(review, request, seen, part)
    if isinstance(found, MergedText) and seen.is_foreign(found.text):
        return _conflict(review, seen, FOREIGN, (SAVE,))
    return found


def _combined(
    review: Review, request: AcceptRequest, seen: ComparedFile, part: FileText | None
) -> MergedText | Conflict:
    letters = seen.letters
    theirs = MergedText(part or review.sides(seen.file)[1])
    if request.overwrite and letters not in _CLEAN:
        return theirs
    merged = review.merge(seen, part)
    if letters in _CLEAN and (isinstance(merged, str) or merged.conflicts):
        # Git sees no difference between the user's file and the context: there is nothing to lose.
        return theirs
    if isinstance(merged, str):
        return _conflict(review, seen, merged)
    if merged.conflicts and not request.markers:
        why = f"your changes conflict with the proposal: {first_few(merged.places, SHOWN_PLACES)}"
        return _conflict(review, seen, why, (MARKERS, OVERWRITE), merged.conflicts)
    return merged
