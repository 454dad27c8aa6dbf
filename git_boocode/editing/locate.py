"""Find where a text is in a file, without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import DEFAULT_PROFILE, MissError
from git_boocode.editing.textfile import decode, read_file
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.errors import RefusedError

if TYPE_CHECKING:
    from git_boocode.matching import Match


class Located(NamedTuple):
    """A match in a file, whose `path` counts from the top."""

    path: str
    match: Match

    @property
    def found(self) -> bool:
        """Whether there is one place."""
        return self.match.kind in ("exact", "fuzzy")

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        match = self.match
        return {
            "ok": self.found,
            **{key: getattr(match, key) for key in ("kind", "rung", "similarity", "count")},
            "start": match.start and match.start._asdict(),
            "end": match.end and match.end._asdict(),
            "candidates": [candidate._asdict() for candidate in match.candidates],
        }


def locate(
    workspace: Workspace,
    path: str,
    needle: str,
    profile: str = DEFAULT_PROFILE,
    start_line: int | None = None,
) -> Located:
    """Find a text in a file; `start_line` is where it should be, from 1.

    `needle` has bytes that are not UTF-8 as surrogates. RefusedError if the file does not exist
    (`missing_file`) or cannot be searched; FatalError if it cannot be read.
    """
    if not needle:
        raise RefusedError(
            "the text to find is empty",
            code="invalid_input",
            hints=("it is read from standard input",),
        )
    from git_boocode.editing.diff import quoted

    try:
        target = workspace.target(path)
        snapshot = read_file(target.real)
        if snapshot is None:
            raise workspace.missing_file(path)
    except MissError as miss:
        hints = (miss.hint,) if miss.hint else ()
        raise RefusedError(f"{quoted(path)}: {miss.message}", code=miss.code, hints=hints) from None
    from git_boocode.matching import locate_match

    text = decode(snapshot.data)
    used = "exact" if text.is_raw else profile
    return Located(target.path, locate_match(text.text, needle, used, start_line=start_line))
