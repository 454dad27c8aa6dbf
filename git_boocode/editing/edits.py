"""What an input asks for: edits, the actions that they carry, and how an action can fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from git_boocode.editing.textfile import Text

if TYPE_CHECKING:
    from git_boocode.matching import Candidate

DEFAULT_PROFILE = "default"


class How(NamedTuple):
    """How edits are matched.

    Attributes:
        profile: the name of the matcher's ladder.
        verbatim: paste new text as given, without refitting it to the file.
        moved: where a line of the file as it was before the call stands now; both numbers from 1.
    """

    profile: str = DEFAULT_PROFILE
    verbatim: bool = False
    moved: Callable[[int], int] = int


class Landing(NamedTuple):
    """Where one edit landed.

    Attributes:
        kind: `exact` or `fuzzy`.
        rung: the comparison that found the place, or what was done instead of searching.
        similarity: 0.0 to 1.0.
        places: how many places were changed.
        start_line: the first line touched, 1-based, in the file as it was before the call.
        end_line: the last one, inclusive; one less than `start_line` where no line was replaced.
        notes: what was done beyond replacing the text.
    """

    kind: str
    rung: str
    similarity: float
    places: int
    start_line: int
    end_line: int
    notes: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """What an action made of a file, None if there is none any more, and where.

    Attributes:
        text: the new text.
        landing: where the action landed.
        executable: whether the file shall be executable; None if it keeps its mode, or is new.
    """

    text: Text | None
    landing: Landing
    executable: bool | None = None


def edit_name(number: int) -> str:
    """What people and models call an edit; they count from 1, the JSON keys from 0.

    Args:
        number: its position in the call, from 0.
    """
    return f"edit {number + 1}"


class MissError(Exception):
    """An edit that cannot be applied.

    Args:
        code: one of the stable words of `failures[].code`.
        message: what is wrong and where; lowercase, no full stop, without the file's path.
        lines: the 1-based lines of the file that the message speaks of.
        candidates: the nearest text of the file, or the places that cannot be told apart.
        hint: what to do next, unless the code says enough.
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
    """One change of one file. A format brings its own, or uses those of `editing.actions`."""

    @property
    def anchors(self) -> str:
        """The text that it looks for in the file."""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Change a file's text; None stands for a missing file.

        Raises:
            MissError: it cannot be applied.
        """


class Edit(NamedTuple):
    """One edit of a call, from its parser to the answer.

    Attributes:
        number: its position in the whole call, from 0; whoever reads the call sets it.
        path: the file as the input names it.
        action: what to do.
        base: the id of the blob that the model saw, in lower case, or None.
        format: the name of the format that it came in.
        given: the edit as it was given, as JSON.
        to: the path that the file gets after the action, or None.
    """

    number: int
    path: str
    action: Action
    base: str | None
    format: str
    given: object
    to: str | None = None


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
