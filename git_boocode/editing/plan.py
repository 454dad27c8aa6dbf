"""All edits of a call, resolved against the files before any of them is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from git_boocode.editing.base import check_base
from git_boocode.editing.edits import Edit, Failure, How, Landing, MissError
from git_boocode.editing.inputs import Inputs
from git_boocode.editing.lines import LineMap
from git_boocode.editing.place import Place, Target, missing_file, one_file
from git_boocode.editing.snapshot import Snapshot, read_snapshot
from git_boocode.editing.textfile import Text, decode

_UNDECODED = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\udc80-\udcff]")

_FOLLOWS = ("not_found", "ambiguous", "missing_file", "binary")
"""What an edit can be refused as only because an earlier edit of the file was refused."""


class PlannedFile:
    """One file of a plan.

    Attributes:
        target: where it is.
        before: what it was, None if there was no file.
        old: its text before the call.
        text: its text after the edits so far.
        landings: the edits that were applied, and where.
    """

    def __init__(self, target: Target, before: Snapshot | None) -> None:
        self.target = target
        self.before = before
        self.old = None if before is None else decode(before.data)
        self.text = self.old
        self.landings: list[tuple[Edit, Landing]] = []
        self.lines = LineMap()
        self.edits: list[Edit] = []

    @property
    def after(self) -> bytes | None:
        """The bytes that it shall have."""
        return None if self.text is None else self.text.encode()

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before is None or self.before.data != self.after

    @property
    def action(self) -> str:
        """What is done to it, in the words of the JSON answer."""
        return "create" if self.before is None else "modify"


class Plan:
    """What a call would do.

    Attributes:
        files: the files, in the order in which the input names them first.
        failures: every edit that cannot be applied, in the order of the input.
    """

    def __init__(self, files: list[PlannedFile], failures: list[Failure]) -> None:
        self.files = files
        self.failures = failures


def make_plan(inputs: Inputs, place: Place, how: How) -> Plan:
    """Apply all edits in memory.

    An edit sees the file as the edits before it left it. Where one is refused, the ones after it
    are tried all the same; they are reported only if they are wrong whatever had become of it.

    Args:
        inputs: the edits, and what could not be read.
        place: where the paths lead.
        how: how to match.

    Raises:
        FatalError: a file cannot be read.
    """
    return _Planner(inputs, place, how).run()


class _Planner:
    def __init__(self, inputs: Inputs, place: Place, how: How) -> None:
        self.edits = inputs.edits
        self.place = place
        self.how = how
        self.failures = list(inputs.failures)
        self.files: dict[tuple[object, ...], PlannedFile] = {}
        self.by_path: dict[str, PlannedFile] = {}

    def run(self) -> Plan:
        work = [(self._file_of(edit), edit) for edit in self.edits]
        for file, edit in work:
            if file is not None:
                self._try(file, edit)
        self._check_nesting()
        self.failures.sort(key=lambda failure: -1 if failure.number is None else failure.number)
        return Plan(list(self.files.values()), self.failures)

    def _file_of(self, edit: Edit) -> PlannedFile | None:
        try:
            target = self.place.target(edit.path)
            file = self._open(target)
        except MissError as miss:
            self._fail(edit, miss)
            return None
        file.edits.append(edit)
        return file

    def _open(self, target: Target) -> PlannedFile:
        if target.real not in self.by_path:
            before = read_snapshot(target.real)
            key = one_file(target.real, None if before is None else (before.device, before.inode))
            file = self.files.setdefault(key, PlannedFile(target, before))
            self.by_path[target.real] = file
        return self.by_path[target.real]

    def _try(self, file: PlannedFile, edit: Edit) -> None:
        try:
            _check_mixed(file, edit)
            check_base(edit.base, file.before, file.target, self.place)
            self._apply(file, edit)
        except MissError as miss:
            if not self._is_consequence(file, edit, miss):
                self._fail(edit, self._with_hint(edit, miss), file.target.path)

    def _apply(self, file: PlannedFile, edit: Edit) -> None:
        outcome = edit.action.apply(file.text, self.how._replace(moved=file.lines.current))
        _check_encodes(outcome.text)
        _check_foreign(file.text, outcome.text)
        landing = outcome.landing
        start, end = file.lines.original_range(landing.start_line, landing.end_line)
        notes = (*landing.notes, *_notes(file, outcome.text))
        if edit is not file.edits[-1] and file.text is not None:
            file.lines.follow(file.text.text, outcome.text.text)
        file.landings.append((edit, landing._replace(start_line=start, end_line=end, notes=notes)))
        file.text = outcome.text

    def _is_consequence(self, file: PlannedFile, edit: Edit, miss: MissError) -> bool:
        if miss.code not in _FOLLOWS:
            return False
        return any(
            _could_matter(failure, edit, miss)
            for failure in self.failures
            if failure.number is not None
            and failure.number < edit.number
            and self._concerns(failure, file)
        )

    def _concerns(self, failure: Failure, file: PlannedFile) -> bool:
        if failure.path is None or failure.path == file.target.path:
            return True
        try:
            return self.place.target(failure.path).real == file.target.real
        except MissError:
            return False

    def _with_hint(self, edit: Edit, miss: MissError) -> MissError:
        return missing_file(self.place, edit.path) if miss.code == "missing_file" else miss

    def _check_nesting(self) -> None:
        created = {file.target.real: file for file in self.files.values() if file.before is None}
        for file in created.values():
            above = next((path for path in _parents(file.target.real) if path in created), None)
            if above is not None and file.edits:
                message = f"'{created[above].target.path}' is made a file by the same call"
                self._fail(file.edits[0], MissError("invalid_input", message), file.target.path)

    def _fail(self, edit: Edit, miss: MissError, path: str | None = None) -> None:
        self.failures.append(Failure.of(miss, edit.number, path or edit.path, edit.given))


def _check_mixed(file: PlannedFile, edit: Edit) -> None:
    first = file.edits[0]
    if edit is first or not any(other.action.whole for other in file.edits):
        return
    raise MissError(
        "mixed_write",
        f"edit {first.number} is for the same file, and one of its edits writes it whole",
        hint="send either the whole content of a file or edits of it, not both in one call",
    )


def _check_encodes(text: Text) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        character = ord(error.object[error.start])
        message = f"the new text holds U+{character:04X}, which a file in {text.codec} cannot hold"
        raise MissError("invalid_input", message) from None


def _check_foreign(old: Text | None, new: Text) -> None:
    """Refuse to put UTF-8 into a file whose characters beyond ASCII are in another encoding."""
    if old is None or not (old.is_raw and new.is_raw) or not _UNDECODED.search(old.text):
        return
    if _BEYOND_ASCII.search(new.text) and not _BEYOND_ASCII.search(old.text):
        raise MissError(
            "binary",
            "the file is in an encoding other than UTF-8, so what is not ASCII cannot be added",
            hint="write its bytes as \\udcXX in JSON, or convert the file to UTF-8 first",
        )


def _notes(file: PlannedFile, text: Text) -> Iterator[str]:
    if text == file.text:
        yield "nothing to change"
    elif file.before is not None and file.before.links > 1 and not file.landings:
        yield "hard link split"


def _could_matter(failure: Failure, edit: Edit, miss: MissError) -> bool:
    """Whether an edit's failure may come from an earlier one not having been applied.

    It does if the earlier edit speaks of the lines that this one looks for: it would have brought
    them, or taken one of two like places away; or it would have made the file.
    """
    if miss.code == "missing_file":
        return failure.path is not None and failure.code != "missing_file"
    wanted = edit.action.anchors
    texts = list(_strings(failure.given))
    if not wanted.strip():
        return True
    if any(wanted in text for text in texts):
        return True
    lines = {line.strip() for text in texts for line in text.split("\n")}
    return any(line.strip() in lines for line in wanted.split("\n") if re.search(r"\w", line))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _parents(path: str) -> Sequence[str]:
    found = []
    while os.path.dirname(path) != path:
        path = os.path.dirname(path)
        found.append(path)
    return found
