"""Plan a call: apply all edits in memory before any file is written."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from git_boocode.editing.actions import Replace, Write, existing
from git_boocode.editing.edits import (
    MIN_DIGITS,
    AppliedEdit,
    EditedFile,
    Failure,
    MissError,
    edit_name,
)
from git_boocode.editing.formats.objects import read_it
from git_boocode.editing.inputs import Inputs
from git_boocode.editing.textfile import decode, shared_ends
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.atomic_write import Target
from git_boocode.repo.errors import NextStep
from git_boocode.repo.files import MAX_BYTES, both_listed
from git_boocode.repo.object_writer import has_blob_id

if TYPE_CHECKING:
    from git_boocode.editing.edits import Edit, EditResult, MatchOptions
    from git_boocode.editing.line_changes import LineChanges, VersionEdits
    from git_boocode.editing.text_changes import LineMap
    from git_boocode.editing.textfile import FileText
    from git_boocode.editing.versions import FileVersions
    from git_boocode.repo.files import FileState

_UNDECODED = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\udc80-\udcff]")
_MAYBE_MARKER = re.compile(r"\s*[{/<#\-;%*]|.*(?:\.{3}|…)")
"""What every placeholder line matches, to load the matcher only for such lines."""
_CUT = re.compile(r"… \([\d,]+ more characters?\)$")
"""The end of a long line as the MCP server shows it to a model."""
_SHOWN = 120  # maximum number of characters of a placeholder, which are shown

REWIND = "rewind"
"""The format of the edits that undo recorded ones."""
_MAX_CAUSES = 100
"""Maximum number of failures that are considered as the cause of a later one."""
_FOLLOWS = ("not_found", "ambiguous", "missing_file", "binary")
"""The codes of failures that an earlier failure may cause."""


class PlannedFile:
    """One file of a plan: its state before the call, and after the edits so far.

    `text` is None if the file does not exist, `lines` if no line has moved, `executable` if the
    mode is unchanged. `origin` is the file whose content was moved here, `spelling` the new name if
    the file system treats both names as the same, and `gone` is the message about its removal.
    """

    def __init__(self, target: Target, before: FileState | None) -> None:
        self.target = target
        self.before = before
        self.old = None if before is None else decode(before.data)
        self.text = self.old
        self.applied: list[tuple[Edit, AppliedEdit]] = []
        self.lines: LineMap | None = None
        self.edits: list[Edit] = []
        self.origin: PlannedFile | None = None
        self.spelling: Target | None = None
        self.executable: bool | None = None
        self.gone: str | None = None
        self.bases: dict[str, FileText] = {}
        self.line_edits: dict[str, VersionEdits] = {}
        self.versions: FileVersions | None = None
        self.in_buffer = False

    @property
    def after(self) -> bytes | None:
        """Its bytes after the call, None if it is deleted."""
        return None if self.text is None else self.text.encode()

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        if self.before is None:
            return self.text is not None
        is_executable = bool(self.before.mode & stat.S_IXUSR)
        is_other = self.spelling is not None or self.executable not in (None, is_executable)
        return is_other or self.before.data != self.after

    @property
    def path(self) -> str:
        """Its path after the call."""
        return (self.spelling or self.target).path

    @property
    def source(self) -> PlannedFile | None:
        """The file before the call: itself, the file that was moved here, or None."""
        return self.origin if self.before is None else self

    @property
    def moved_from(self) -> str | None:
        """Its path before the call, if different."""
        source = self.source
        if source is None or self.text is None or source.target.path == self.path:
            return None
        return source.target.path

    @property
    def action(self) -> str:
        """`create`, `modify`, `rename` or `delete`."""
        if self.text is None or self.moved_from is not None:
            return "delete" if self.text is None else "rename"
        return "create" if self.before is None else "modify"

    def edited(self, modes: Mapping[str, int] = MappingProxyType({})) -> EditedFile:
        """The result for the answer; `modes` are those of new files, by their real paths."""
        old = self.source.old if self.source else None
        before = self.source.before if self.source else None
        mode = before.mode if before else modes.get(self.target.real, 0o644)
        was = "120000" if stat.S_ISLNK(mode) else "100755" if mode & stat.S_IXUSR else "100644"
        now = was if self.executable is None else "100755" if self.executable else "100644"
        return EditedFile(
            self.path,
            self.action,
            self.moved_from,
            self.changes,
            old,
            self.text,
            tuple(self.applied),
            self.in_buffer,
            (was, now),
        )

    def original_range(self, start: int, end: int) -> tuple[int, int]:
        """The lines, both ends inclusive, before the call."""
        return self.lines.original_range(start, end) if self.lines else (start, end)

    def with_original_lines(self, result: EditResult) -> EditResult:
        """A result with the lines before the call in place of the current ones."""
        start, end = self.original_range(result.applied.start_line, result.applied.end_line)
        return result._replace(applied=result.applied._replace(start_line=start, end_line=end))

    def take(self, other: PlannedFile) -> None:
        """Take over the content and the edits of another file, which is moved here."""
        self.text, self.lines, self.applied = other.text, other.lines, other.applied
        self.origin, self.executable = other.source, other.executable
        self.line_edits, other.line_edits = other.line_edits, {}
        other.text, other.lines, other.applied = None, None, []


class EditPlan:
    """All edits of a call, applied in memory.

    Each edit sees the result of the edits before it. If one is refused, the later ones are tried
    anyway, and reported only if their failure is not a consequence of the first. `files` and
    `failures` are in the order of the input. FatalError if a file cannot be read.
    """

    def __init__(self, inputs: Inputs, workspace: Workspace, how: MatchOptions) -> None:
        self.files: list[PlannedFile] = []
        self.failures = list(inputs.failures)
        self._edits, self._workspace, self._how = inputs.edits, workspace, how
        self._applied: list[Failure] = []
        self._by_name: dict[tuple[object, ...], PlannedFile] = {}
        self._by_path: dict[str, PlannedFile] = {}
        for file, edit in [(self._file_of(edit), edit) for edit in inputs.edits]:
            if file is not None:
                self._try(file, edit)
        self._check_nesting()
        self._mark_buffers()
        if not self.failures and len(self._applied) == len(inputs.edits):
            self.failures = self._applied
        self.failures.sort(key=lambda failure: -1 if failure.number is None else failure.number)

    @property
    def listed(self) -> list[PlannedFile]:
        """The files that an answer lists; a renamed one is listed once, by its new path."""
        moved = {file.source for file in self.files if file.moved_from is not None}
        there = [file for file in self.files if file.before is not None or file.text is not None]
        return [file for file in there if file.text is not None or file not in moved]

    @property
    def written(self) -> list[PlannedFile]:
        """The files on disk, which are read and written; the others are buffers."""
        return [file for file in self.files if not file.in_buffer]

    def _mark_buffers(self) -> None:
        """A rename from or to a buffer concerns no file on disk."""
        for file in self.files:
            pair = [each for each in (file, file.origin) if each is not None]
            if any(each.target.real in self._workspace.buffers for each in pair):
                for each in pair:
                    each.in_buffer = True

    def _file_of(self, edit: Edit) -> PlannedFile | None:
        try:
            file = self._open(self._workspace.target(edit.path))
        except MissError as miss:
            self._fail(edit, miss)
            return None
        file.edits.append(edit)
        return file

    def _open(self, target: Target, source: PlannedFile | None = None) -> PlannedFile:
        """The file of a target; `source` is the file that is about to be moved there."""
        if target.real in self._by_path:
            return self._by_path[target.real]
        before = self._workspace.read(target)
        names = self._workspace.names(target.real, before)
        opened = filter(None, map(self._by_name.get, names))
        # Two separate directory entries are two files, regardless of git's configuration.
        file = next((f for f in opened if not both_listed(f.target.real, target.real)), None)
        if file is not None and (file.before is None) != (before is None):
            # The file system distinguishes them, but git is configured not to.
            if file is not source:
                raise MissError(
                    "ambiguous",
                    f"another edit of the same call names '{file.target.path}', which is the same "
                    "file for git (core.ignoreCase, core.precomposeUnicode)",
                    hint="use one spelling of the name, or send one call for each file",
                )
            file = None
        if file is None:
            file = PlannedFile(target, before)
            self.files.append(file)
        for name in names:
            self._by_name.setdefault(name, file)
        self._by_path[target.real] = file
        return file

    def _try(self, file: PlannedFile, edit: Edit) -> None:
        try:
            _check_mixed(file, edit)
            self._apply(file, edit)
        except MissError as miss:
            if miss.code == "already_applied" and edit.to is None:
                self._skip(file, edit, miss)
            elif not self._is_consequence(file, edit, miss):
                if miss.code == "missing_file":
                    gone = file.gone and MissError(miss.code, file.gone)
                    miss = gone or self._workspace.missing_file(edit.path)
                is_moved = file.applied and file.text != file.old and not miss.counts_before
                if is_moved and (miss.lines or miss.candidates):
                    after = "line numbers are those after the edits before it"
                    miss = miss.reworded(f"{miss.message}; {after}")
                self._fail(edit, miss, file.target.path)

    def _skip(self, file: PlannedFile, edit: Edit, miss: MissError) -> None:
        """List an edit that is already applied, which does not affect the others."""
        self._applied.append(Failure.of(miss, edit.number, file.target.path, edit.given))
        near = miss.candidates[0] if miss.candidates else None
        start, end = (near.start_line, near.end_line) if near else (1, 0)
        if near and not miss.counts_before:
            start, end = file.original_range(start, end)
        notes = ("already applied",)
        applied = AppliedEdit("exact", "already_applied", 1.0, 0, start, end, notes)
        file.applied.append((edit, applied))

    def _outcome(self, file: PlannedFile, edit: Edit) -> EditResult:
        """The result of an edit; its lines are those of the file before the call."""
        if edit.format == "lines":
            from git_boocode.editing.line_changes import LineChanges

            if isinstance(edit.action, LineChanges):
                return self._lines_outcome(file, edit, edit.action)
        base = file.bases.get(edit.base or "") or self._older_base(file, edit)
        if base is not None and file.text is not None:
            from git_boocode.editing.versions import merged_outcome

            result, file.bases[edit.base or ""] = merged_outcome(edit, base, file.text, self._how)
        else:
            versions = partial(self._versions, file, edit)
            moved = file.lines.current if file.lines else int
            how = self._how._replace(moved=moved, versions=versions)
            result = edit.action.apply(file.text, how)
        return file.with_original_lines(result)

    def _older_base(self, file: PlannedFile, edit: Edit) -> FileText | None:
        """The version that an edit names as its base; None if it is that before the call."""
        source = file.source or file
        if edit.base is None:
            return None
        if len(edit.base) < MIN_DIGITS and source.before:
            edit = edit._replace(base=self._full_base(source, source.before.data, edit))
        if source.before and has_blob_id(source.before.data, edit.base or ""):
            return None
        from git_boocode.editing.versions import outdated_base

        return outdated_base(edit, source.target, source.before, self._workspace, self._how.profile)

    def _full_base(self, source: PlannedFile, data: bytes, edit: Edit) -> str:
        """The blob id of a base that is too short to be one by itself."""
        from git_boocode.editing.short_tags import full_id, kept_versions

        tag, repository = edit.base or "", self._workspace.repository
        older, found = self._file_versions(source), list[tuple[str, str]]()
        if older and repository:
            found = [*older.contents, *kept_versions(tag, repository)]
        return full_id(tag, edit.path, data, found)

    def _lines_outcome(self, file: PlannedFile, edit: Edit, action: LineChanges) -> EditResult:
        edits = self._version_edits(file, edit)
        text = existing(file.text)
        alone = edits.is_alone(text)
        try:
            result = edits.applied(action, edit.number, text, self._how)
        except MissError as miss:
            miss.counts_before = alone
            raise
        return result if alone else file.with_original_lines(result)

    def _version_edits(self, file: PlannedFile, edit: Edit) -> VersionEdits:
        """The line changes so far for the version that an edit names."""
        from git_boocode.editing.line_changes import VersionEdits

        base = edit.base or ""
        if base not in file.line_edits:
            older = self._older_base(file, edit)
            before = existing(file.source.old if file.source else file.text)
            version = older or before
            same = (one for one in file.line_edits.values() if one.version == version)
            file.line_edits[base] = next(same, None) or VersionEdits(version, before, base)
        return file.line_edits[base]

    def _versions(self, file: PlannedFile, edit: Edit) -> FileVersions | None:
        source = file.source
        if source is None or source.old is None:
            return None
        # If an earlier edit of the call has removed the text, an older version is irrelevant.
        anchors = (anchor.replace("\r\n", "\n") for anchor in _anchors(edit))
        old = source.old.text.replace("\r\n", "\n")
        if file.text != source.old and all(anchor in old for anchor in anchors):
            return None
        return self._file_versions(source)

    def _file_versions(self, source: PlannedFile) -> FileVersions | None:
        repository = self._workspace.repository
        if source.versions is None and repository is not None:
            from git_boocode.editing.versions import FileVersions

            path = self._workspace.tree_path(source.target.real)
            source.versions = FileVersions(repository, path)
        return source.versions

    def _apply(self, file: PlannedFile, edit: Edit) -> None:
        result = self._outcome(file, edit)
        if result.text is not None:
            _check_bytes(result.text)
            # A rewind may restore any content, because it existed before.
            if edit.format != REWIND:
                _check_foreign(file.text, result.text)
                if not isinstance(edit.action, Replace):
                    self._check_placeholders(file.text, result.text)
        if (result.text is None or edit.to is not None) and os.path.islink(file.target.link):
            raise MissError(
                "invalid_input",
                "it is a symbolic link, which an edit cannot delete or rename",
                hint="use the path of the link's target, or git rm or git mv",
            )
        destination = None if edit.to is None else self._destination(file, edit, edit.to)
        self._land(file, edit, result)
        done = "deletes it"
        if destination is not None:
            destination.take(file)
            done = f"moves it to '{destination.target.path}'"
        if file.text is None:
            file.gone = f"{edit_name(edit.number)} of the same call {done}"

    def _check_placeholders(self, old: FileText | None, new: FileText) -> None:
        """Refuse a new line that is a placeholder, such as `# ... rest of code`, or was cut.

        This is for whole files, regions and hunks; the matcher checks replacements. A line that
        consists of dots can be code.
        """
        if old is None or self._how.verbatim:
            return
        above, below = shared_ends(old.text, new.text)
        changed = new.text[above : len(new.text) - below].split("\n")
        changed = [line for line in changed if _MAYBE_MARKER.match(line)]
        if not changed:
            return
        from git_boocode.matching import PROFILES
        from git_boocode.matching.placeholders import is_marker

        if PROFILES[self._how.profile].placeholders:
            return
        markers = [
            line
            for line in changed
            if (is_marker(line) and re.search(r"\w", line)) or _CUT.search(line)
        ]
        present = set(old.text.split("\n")) if markers else ()
        for line in markers:
            if line not in present:
                what = "looks like a placeholder for omitted code"
                hint: str = NextStep("send the complete text; {} accepts it as is", "verbatim")
                if _CUT.search(line):
                    what = "was cut when it was shown"
                    hint = "change a part of the line with old_string and new_string"
                message = f"the new text has the line '{line.strip()[-_SHOWN:]}', which {what}"
                raise MissError("invalid_input", message, hint=hint)

    def _destination(self, file: PlannedFile, edit: Edit, to: str) -> PlannedFile | None:
        """The file that a rename replaces; None if the file stays the same."""
        target = self._workspace.destination(edit.path, to)
        there = self._open(target, source=file)
        if there is file:
            if file.before is None:
                file.target = target
            elif target.real != file.target.real:
                file.spelling = target
            return None
        if there.text is None:
            return there
        own = there.before is None
        why = "another edit of the same call creates it" if own else "that file already exists"
        raise MissError(
            "exists",
            f"it cannot be renamed to '{target.path}': {why}",
            hint="choose another name, or delete that file first",
        )

    def _land(self, file: PlannedFile, edit: Edit, result: EditResult) -> None:
        applied = result.applied
        notes = (*applied.notes, *_notes(file, edit, result))
        is_last = edit.to is None and file.origin is None and edit is file.edits[-1]
        if file.text is not None and result.text is not None and not is_last:
            from git_boocode.editing.text_changes import LineMap

            file.lines = file.lines or LineMap()
            file.lines.follow(file.text.text, result.text.text)
        file.applied.append((edit, applied._replace(notes=notes)))
        file.text = result.text
        if result.executable is not None:
            file.executable = result.executable

    def _is_consequence(self, file: PlannedFile, edit: Edit, miss: MissError) -> bool:
        return miss.code in _FOLLOWS and any(
            _could_matter(failure, edit, miss) and self._concerns(failure, file)
            for failure in self.failures[:_MAX_CAUSES]
            if failure.number is not None and failure.number < edit.number
        )

    def _concerns(self, failure: Failure, file: PlannedFile) -> bool:
        if failure.path in (None, file.target.path):
            return True
        moves = [edit.to for edit in self._edits if edit.number == failure.number]
        try:
            paths = [self._workspace.target(path).real for path in (failure.path, *moves) if path]
        except MissError:
            return False
        return file.target.real in paths

    def _check_nesting(self) -> None:
        """Refuse files below a path that the same call makes a file."""
        created = [file for file in self.files if file.before is None and file.text is not None]
        above: Target | None = None
        # Sorted with NUL as the separator, files below a path directly follow it.
        for file in sorted(created, key=lambda file: file.target.real.replace(os.sep, "\0")):
            if above is not None and file.target.real.startswith(above.real + os.sep):
                edit = file.edits[0] if file.edits else file.applied[-1][0]
                message = f"the same call creates the file '{above.path}'"
                self._fail(edit, MissError("invalid_input", message), file.target.path)
            else:
                above = file.target

    def _fail(self, edit: Edit, miss: MissError, path: str | None = None) -> None:
        failure = Failure.of(miss, edit.number, path or edit.path, edit.given)
        if edit.format == "lines" and miss.code == "stale":
            failure = failure._replace(hint=miss.hint or read_it(edit.path))
        self.failures.append(failure._replace(format=edit.format))


def _check_mixed(file: PlannedFile, edit: Edit) -> None:
    first = file.edits[0]
    if edit is not first and any(isinstance(other.action, Write) for other in file.edits):
        raise MissError(
            "mixed_write",
            f"{edit_name(first.number)} is for the same file, and one of them writes all of it",
            hint="send either the whole file or edits of it, not both in one call",
        )


def _check_bytes(text: FileText) -> None:
    """Refuse a text that its encoding cannot represent, or that is too large to edit again."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        character = ord(error.object[error.start])
        message = f"the new text contains U+{character:04X}, which {text.codec} cannot represent"
        raise MissError("invalid_input", message) from None
    if size > MAX_BYTES:
        raise MissError(
            "invalid_input",
            f"the file would be too large to edit: {size} bytes (at most {MAX_BYTES})",
        )


def _check_foreign(old: FileText | None, new: FileText) -> None:
    """Refuse to add UTF-8 to a file whose non-ASCII characters have another encoding."""
    if old is None or not (old.is_raw and new.is_raw) or not _UNDECODED.search(old.text):
        return
    if _BEYOND_ASCII.search(new.text) and not _BEYOND_ASCII.search(old.text):
        raise MissError(
            "binary",
            "cannot add non-ASCII characters: the encoding of the file is not UTF-8",
            hint="write their bytes as \\udcXX in JSON, or convert the file to UTF-8 first",
        )


def _notes(file: PlannedFile, edit: Edit, result: EditResult) -> Iterator[str]:
    if edit.to is not None or result.text is None:
        return
    if result.text == file.text and result.executable is None:
        yield "nothing to change"
    elif file.before is not None and file.before.links > 1 and not file.applied:
        yield "hard link split"


def _could_matter(failure: Failure, edit: Edit, miss: MissError) -> bool:
    """Whether an edit's failure may be a consequence of an earlier one.

    That is the case if the earlier edit contains lines that this one searches for, because it would
    have added them, or removed one of two similar places; or if it would have created the file.
    """
    if miss.code == "missing_file":
        return failure.path is not None and failure.code != "missing_file"
    anchors, failed = "\n".join(_anchors(edit)), "\n".join(_strings(failure.given))
    if not anchors.strip() or anchors in failed:
        return True
    lines = {line.strip() for line in failed.split("\n")}
    return any(line.strip() in lines for line in anchors.split("\n") if re.search(r"\w", line))


def _anchors(edit: Edit) -> tuple[str, ...]:
    """The texts that an edit searches for, if any."""
    anchors: tuple[str, ...] = getattr(edit.action, "anchors", ())
    return anchors


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
