"""The types of edits, their actions, results and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from git_boocode.editing.textfile import FileText
    from git_boocode.matching import Candidate

DEFAULT_PROFILE = "default"
ENCODINGS = ("utf-8", "utf-16", "utf-32")
"""What a position in a text may count: code units of these encodings."""
DEFAULT_ENCODING = "utf-16"
MIN_DIGITS = 7  # Of a base that is a blob id by itself; shorter ones are looked up in the versions.


class OlderVersions(Protocol):
    """The texts of older versions of one file, newest first."""

    def __iter__(self) -> Iterator[str]:
        """The texts."""

    def name(self, index: int) -> str:
        """The name of a version for messages, by its index."""

    def cause(self, index: int, old: str) -> str | None:
        """The cause of the removal of a text since a version, for messages; None if unknown."""


class MatchOptions(NamedTuple):
    """How edits are matched: the matcher's profile, and whether new text is pasted unchanged.

    `moved` maps a 1-based line of the file before the call to its current line. `versions` returns
    the older versions of the file, None if there are none.
    """

    profile: str = DEFAULT_PROFILE
    verbatim: bool = False
    moved: Callable[[int], int] = int
    versions: Callable[[], OlderVersions | None] = lambda: None

    @classmethod
    def of(cls, profile: str) -> MatchOptions:
        """The options for a profile (ValueError)."""
        from git_boocode.matching.rungs import profile_named

        return cls(profile_named(profile).name)


PLACES_NOTES = ("changes: ", "regions: ")
"""How the note begins that lists the places of an edit with several."""


class AppliedEdit(NamedTuple):
    """The place of one edit; lines are 1-based, inclusive, and of the file before the call.

    `kind` is `exact` or `fuzzy`, `rung` the comparison that found the place, or the operation if
    nothing was searched; `end_line` is one less than `start_line` if no line was replaced. `count`
    is the number of places.
    """

    kind: str = "exact"
    rung: str = "exact"
    similarity: float = 1.0
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    start_line: int = 1
    end_line: int = 0
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The edit in a JSON answer and in a record."""
        return {
            "kind": self.kind,
            "rung": self.rung,
            "similarity": self.similarity,
            "count": self.count,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "notes": self.notes,
        }


class EditResult(NamedTuple):
    """The result of an action: the file's new text, None if deleted, and the place of the edit.

    `executable` is None if the file is new or its mode is unchanged.
    """

    text: FileText | None
    applied: AppliedEdit
    executable: bool | None = None


def edit_name(number: int) -> str:
    """The name of an edit in messages, which count from 1, unlike the JSON keys."""
    return f"edit {number + 1}"


class MissError(Exception):
    """An edit that cannot be applied.

    `code` is one of the stable values of `failures[].code`, `lines` the 1-based lines of the file
    that the message names, `candidates` the most similar text, or the equally good places. The
    message does not contain the file's path. With `counts_before` the lines are those before the
    call, otherwise those after its earlier edits.
    """

    counts_before = False

    def __init__(
        self,
        code: str,
        message: str,
        *,
        lines: tuple[int, ...] = (),
        candidates: tuple[Candidate, ...] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.lines = lines
        self.candidates = candidates
        self.hint = hint

    def reworded(self, message: str) -> MissError:
        """The same error with another message."""
        return MissError(
            self.code, message, lines=self.lines, candidates=self.candidates, hint=self.hint
        )


class Action(Protocol):
    """One change of one file. Actions that search for texts have an attribute `anchors`."""

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Change a file's text, None if it is missing (MissError if it cannot be applied)."""


class Edit(NamedTuple):
    """One edit of a call, from its parser to the answer.

    `number` is its 0-based position in the call, set by `read_inputs`. `base` is the id of the blob
    that the model saw, in lower case, `given` the edit's JSON as received, and `to` the new path of
    the file after the action.
    """

    number: int
    path: str
    action: Action
    base: str | None
    format: str
    given: object
    to: str | None = None


class EditedFile(NamedTuple):
    """The result of a call for one file; `old` and `text` are None if the file does not exist.

    `action` is `create`, `modify`, `rename` or `delete`, `changes` whether anything was written.
    `moved_from` is the path before the call, if different. `in_buffer` is whether the buffer of an
    editor was edited instead of the file. `modes` are git's, before and after. `version` names the
    new content for later edits; it is None in a dry run and for a deleted file.
    """

    path: str
    action: str
    moved_from: str | None
    changes: bool
    old: FileText | None
    text: FileText | None
    applied: tuple[tuple[Edit, AppliedEdit], ...]
    in_buffer: bool = False
    modes: tuple[str, str] = ("100644", "100644")
    version: str | None = None


class Failure(NamedTuple):
    """Why one edit was refused. `number`, `path` and `format` are None if unknown.

    `version` is that of the file as it is, None if there is no such file.
    """

    number: int | None
    path: str | None
    code: str
    message: str
    lines: tuple[int, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    given: object = None
    hint: str | None = None
    format: str | None = None
    version: str | None = None

    @classmethod
    def of(cls, miss: MissError, number: int | None, path: str | None, given: object) -> Failure:
        """Convert a `MissError` of an edit."""
        return cls(
            number, path, miss.code, miss.message, miss.lines, miss.candidates, given, miss.hint
        )
