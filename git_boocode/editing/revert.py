"""Take a change of one file back, although the file has changed since.

A rewind takes back a recorded edit, or refuses; `revert_text` takes back what is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from git_boocode.editing.edits import AppliedEdit, EditResult, MatchOptions, MissError
from git_boocode.editing.revert_lines import LineReverter, Unreverted, conflict
from git_boocode.editing.textfile import RAW, FileText, decode, line_count
from git_boocode.matching.align import script
from git_boocode.matching.replace import listed_lines
from git_boocode.matching.text import split_lines
from git_boocode.matching.three_way import spliced_rows

ALREADY = "rewound"  # the rung of a place that already has the old lines
_ALREADY = AppliedEdit("exact", ALREADY, 1.0, 0, 1, 0, ("already rewound",))
_UTF_8 = ("utf-8", "utf-8-bom", RAW)


class Revert(NamedTuple):
    """Restore the bytes ``before`` an edit; None if there was no file.

    With ``moves`` the old name is restored as well. ``executable`` is whether the file was
    executable before, None if the edit did not change that.
    """

    before: bytes | None
    after: bytes | None
    moves: bool = False
    executable: bool | None = None

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Restore the recorded original if the file is the recorded result, else merge."""
        del how
        result = self._outcome(text)
        if result.text is None:
            return result
        other = "rename" if self.moves else "mode" if self.executable is not None else ALREADY
        if result.applied.rung == ALREADY != other:
            result = result._replace(applied=_whole(other, result.text))
        return result._replace(executable=self.executable)

    def _outcome(self, text: FileText | None) -> EditResult:
        now = None if text is None else text.encode()
        if now == self.before:
            return EditResult(text, _ALREADY)
        before, after = (
            None if data is None else decode(data) for data in (self.before, self.after)
        )
        if now == self.after and (before is None or after is None or _kind(before) != _kind(after)):
            rung = "create" if after is None else "exact" if before else "delete"
            return EditResult(before, _whole(rung, after))
        if text is None:
            raise MissError("missing_file", "the file does not exist")
        if after is None:
            raise MissError("exists", "the edit deleted the file, but it exists again")
        if before is None:
            rows = split_lines(after.text), split_lines(text.text)
            lines = [hunk.j1 + 1 for hunk in script(*rows) if not hunk.same]
            where = f", at {listed_lines(lines)}" if lines else ""
            raise MissError(
                "conflict",
                f"the edit created the file, and it has changed since{where}",
                lines=tuple(lines),
                hint="deleting it would lose these changes; delete it yourself if that is intended",
            )
        return _merged(before, after, text)


def _whole(rung: str, text: FileText | None) -> AppliedEdit:
    return AppliedEdit("exact", rung, 1.0, 1, 1, line_count(text.text) if text else 0)


def _kind(text: FileText) -> str:
    """The encoding, regardless of a byte order mark and of invalid UTF-8."""
    return "utf-8" if text.codec in _UTF_8 else text.codec


class RevertedText(NamedTuple):
    """A text without a change, except for the parts in ``left``, which are in order."""

    text: FileText
    left: tuple[Unreverted, ...] = ()


Mark = Callable[[Sequence[str], Sequence[str], str], Sequence[str]]
"""Makes the lines of a conflict from those now, the old ones, and a line ending."""


def revert_text(
    before: FileText, after: FileText, now: FileText, mark: Mark | None = None
) -> RevertedText:
    """Take the change from ``before`` to ``after`` back as far as its places are certain.

    The rest is left as it is, or marked. MissError if the encodings differ.
    """
    reverter = _reverter(before, after, now, strict=True)
    changes, left = reverter.outcome()
    splices: list[tuple[int, int, Sequence[str]]] = [*(change[:3] for change in changes)]
    if mark is not None:
        rows, ending = reverter.now.rows, reverter.ending
        marked = ((*part.rows, mark(rows[slice(*part.rows)], part.lines, ending)) for part in left)
        splices = sorted([*splices, *marked], key=lambda splice: splice[:2])
    return RevertedText(_spliced(reverter, now, splices), tuple(left))


def _reverter(
    before: FileText, after: FileText, now: FileText, *, strict: bool = False
) -> LineReverter:
    texts = before, after, now
    if len(set(map(_kind, texts))) > 1:
        raise conflict("the encoding of the file has changed since")
    utf_8 = _kind(now) == "utf-8"
    characters = [
        text.encode().decode("utf-8", "surrogateescape") if utf_8 else text.text for text in texts
    ]
    return LineReverter(characters, raw=any(text.is_raw for text in texts), strict=strict)


def _spliced(
    reverter: LineReverter, now: FileText, splices: Iterable[tuple[int, int, Sequence[str]]]
) -> FileText:
    result = spliced_rows(reverter.now.rows, splices)
    if _kind(now) == "utf-8":
        return decode(result.encode("utf-8", "surrogateescape"))
    return FileText(result, now.codec)


def _merged(before: FileText, after: FileText, now: FileText) -> EditResult:
    reverter = _reverter(before, after, now)
    changes, count = reverter.changes(), len(reverter.regions)
    if not changes:
        return EditResult(now, _ALREADY)
    splices = ((change.first, change.stop, change.lines) for change in changes)
    merged = _spliced(reverter, now, splices)
    notes = ("reindented",) if any(change.reindented for change in changes) else ()
    if len(changes) < count:
        notes = (*notes, f"{count - len(changes)} of {count} places already rewound")
    rung = max(change.rung for change in changes)
    kind, first = "exact" if rung == "exact" else "fuzzy", changes[0]
    applied = AppliedEdit(kind, rung, 1.0, len(changes), first.first + 1, first.stop, notes)
    return EditResult(merged, applied)
