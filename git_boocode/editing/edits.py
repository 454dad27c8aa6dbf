"""Edits, the actions that they carry, where they land, and how they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from git_boocode.editing.textfile import FileText
    from git_boocode.editing.versions import FileVersions
    from git_boocode.matching import Candidate

DEFAULT_PROFILE = "default"


class How(NamedTuple):
    """How edits are matched: the matcher's profile, and whether new text is pasted as given.

    `moved` maps a line of the file as it was before the call to the line where it is now, from 1.
    `versions` gives the older versions of the file, None if there are none.
    """

    profile: str = DEFAULT_PROFILE
    verbatim: bool = False
    moved: Callable[[int], int] = int
    versions: Callable[[], FileVersions | None] = lambda: None


class AppliedEdit(NamedTuple):
    """Where one edit landed; lines are 1-based, inclusive, of the file before the call.

    `kind` is `exact` or `fuzzy`, `rung` the comparison that found the place, or what was done
    instead of searching; `end_line` is one less than `start_line` where no line was replaced. The
    names are those of the JSON answer; `count` is the number of places.
    """

    kind: str = "exact"
    rung: str = "exact"
    similarity: float = 1.0
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    start_line: int = 1
    end_line: int = 0
    notes: tuple[str, ...] = ()


class EditResult(NamedTuple):
    """What an action made of a file: its text, None if it is gone, and where the action landed.

    `executable` is None if the file keeps its mode, or is new.
    """

    text: FileText | None
    applied: AppliedEdit
    executable: bool | None = None


def edit_name(number: int) -> str:
    """What people and models call an edit: they count from 1, the JSON keys from 0."""
    return f"edit {number + 1}"


def short(text: str, most: int) -> str:
    """A text, cut to a number of characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(names: Sequence[object], most: int) -> str:
    """The first few of some names, and how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


class MissError(Exception):
    """An edit that cannot be applied.

    `code` is one of the stable words of `failures[].code`, `lines` the lines of the file that the
    message names, from 1, `candidates` the nearest text, or the places that fit equally. The
    message does not repeat the file's path.
    """

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


class Action(Protocol):
    """One change of one file. One that looks for texts in the file has them as `anchors`."""

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Change a file's text, None if it is missing (MissError if it cannot be applied)."""


class Edit(NamedTuple):
    """One edit of a call, from its parser to the answer.

    `number` is its position in the whole call, from 0, set by the reader of the call. `base` is
    the id of the blob that the model saw, in lower case, `given` the edit as JSON, as it came, and
    `to` the path that the file gets after the action.
    """

    number: int
    path: str
    action: Action
    base: str | None
    format: str
    given: object
    to: str | None = None


class EditedFile(NamedTuple):
    """What a call made of one file; `old` and `text` are None where the file is missing.

    `action` is `create`, `modify`, `rename` or `delete`, `changes` whether there was anything to
    write. `moved_from` is the path before the call, if that was another one.
    """

    path: str
    action: str
    moved_from: str | None
    changes: bool
    old: FileText | None
    text: FileText | None
    applied: tuple[tuple[Edit, AppliedEdit], ...]


class Failure(NamedTuple):
    """Why one edit was refused. `number`, `path` and `format` are None where nobody knows them."""

    number: int | None
    path: str | None
    code: str
    message: str
    lines: tuple[int, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    given: object = None
    hint: str | None = None
    format: str | None = None

    @classmethod
    def of(cls, miss: MissError, number: int | None, path: str | None, given: object) -> Failure:
        """The failure that a miss means for an edit."""
        return cls(
            number, path, miss.code, miss.message, miss.lines, miss.candidates, given, miss.hint
        )
