"""The action of a patch: all hunks of one file, applied together or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.actions import check_text, mode_notes
from git_boocode.editing.edits import How, Landing, MissError, Outcome
from git_boocode.editing.hunks.model import Change, Hunk, Line
from git_boocode.editing.textfile import Text

if TYPE_CHECKING:
    from git_boocode.editing.hunks.rows import Rows

_BOM = "\ufeff"


class Patch(NamedTuple):
    """Apply the hunks of one file.

    Attributes:
        hunks: the hunks, in the order of the file.
        preimage: the id, perhaps abbreviated, of the blob that the patch was made from, or None.
            A file that is that very blob proves the line numbers.
        notes: what was done to read the patch.
        executable: whether the file shall be executable; None if it stays what it is.
    """

    hunks: tuple[Hunk, ...]
    preimage: str | None = None
    notes: tuple[str, ...] = ()
    executable: bool | None = None

    @property
    def anchors(self) -> str:
        """The old lines of all hunks."""
        return "".join(line for hunk in self.hunks for line in hunk.old)

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Place every hunk and make all changes."""
        # To tell formats apart nobody needs the engine.
        from git_boocode.editing.hunks.report import landing, miss
        from git_boocode.editing.hunks.rows import Rows
        from git_boocode.editing.hunks.search import Search

        if text is None:
            return self._create()
        for hunk in self.hunks:
            check_text(text, "".join(line.text for line in hunk.lines if line.op == "+"), how)
        rows = Rows(text.text)
        search = Search(rows, _without_mark(self.hunks, text), _how(how, text), same=self._is(text))
        found = search.run()
        if found.refusals:
            error = miss(search.tasks, rows, found.refusals)
            raise _as_binary(error) if text.is_raw and error.code == "not_found" else error
        spots = [found.spots[index] for index in range(len(self.hunks))]
        new = _joined(rows, (change for spot in spots for change in spot.changes))
        notes = (*self.notes, *mode_notes(self.executable))
        made = text._replace(text=new)
        return Outcome(made, landing(search.tasks, spots, notes), self.executable)

    def _create(self) -> Outcome:
        """Make a file that is missing, if the patch is for an empty one."""
        if any(hunk.old for hunk in self.hunks) or self.hunks[0].start != 0:
            raise MissError("missing_file", "there is no such file")
        content = "".join(line for hunk in self.hunks for line in hunk.new)
        notes = (*self.notes, *mode_notes(self.executable))
        landing = Landing("exact", "create", 1.0, 1, 1, 0, notes)
        return Outcome(Text(content), landing, self.executable)

    def _is(self, text: Text) -> bool:
        """Whether a file's text is the blob that the patch names."""
        if self.preimage is None or not self.preimage.strip("0"):
            return False
        import hashlib

        data = text.encode()
        blob = b"blob %d\0%b" % (len(data), data)
        # Git's ids are names here, not a safeguard.
        ids = [
            hashlib.new(name, blob, usedforsecurity=False).hexdigest()
            for name in ("sha1", "sha256")
        ]
        return any(identifier.startswith(self.preimage) for identifier in ids)


def _how(how: How, text: Text) -> How:
    return how._replace(profile="exact") if text.is_raw else how


def _as_binary(error: MissError) -> MissError:
    return MissError(
        "binary",
        "the file is no UTF-8 or UTF-16 text, so only an exact match counts, and there is none: "
        + error.message,
        lines=error.lines,
        candidates=error.candidates,
        hint=error.hint,
    )


def _without_mark(hunks: tuple[Hunk, ...], text: Text) -> tuple[Hunk, ...]:
    """The hunks as the text is: without the byte order mark, which is not part of it."""
    if not hunks or text.codec == "utf-8" or text.is_raw:
        return hunks
    lines = [line for line in hunks[0].lines if line.text.startswith(_BOM)]
    if {line.op for line in lines} in ({"+"}, {"-"}):
        raise MissError(
            "invalid_input", "the patch changes the byte order mark, which cannot be done"
        )
    bare = tuple(Line(line.op, line.text.removeprefix(_BOM)) for line in hunks[0].lines)
    return (hunks[0]._replace(lines=bare), *hunks[1:])


def _joined(rows: Rows, changes: Iterable[Change]) -> str:
    """The text with all changes made; every line but the last one is closed."""
    lines = list(_changed(rows, changes))
    for number, line in enumerate(lines[:-1]):
        if not line.endswith("\n"):
            lines[number] = line + (rows.ending(len(rows) - 2) or rows.usual_ending)
    return "".join(lines)


def _changed(rows: Rows, changes: Iterable[Change]) -> Iterator[str]:
    at = 0
    for change in changes:
        yield from rows.raw[at : change.start]
        yield from change.lines
        at = change.stop
    yield from rows.raw[at:]
