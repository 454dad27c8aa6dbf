"""Find where a text stands in a file, without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_boocode.editing.edits import DEFAULT_PROFILE, MissError
from git_boocode.editing.place import Place, missing_file
from git_boocode.editing.textfile import decode, read_snapshot
from git_boocode.repo.errors import RefusedError

if TYPE_CHECKING:
    from git_boocode.matching import Match, Position


class Located:
    """A match in a file.

    Attributes:
        path: the file, from the top.
        match: what the matcher found.
    """

    def __init__(self, path: str, match: Match) -> None:
        self.path = path
        self.match = match

    @property
    def found(self) -> bool:
        """Whether there is one place."""
        return self.match.kind in ("exact", "fuzzy")

    def as_json(self) -> dict[str, object]:
        """The JSON answer."""
        match = self.match
        return {
            "ok": self.found,
            "kind": match.kind,
            "rung": match.rung,
            "similarity": match.similarity,
            "count": match.count,
            "start": _position(match.start),
            "end": _position(match.end),
            "candidates": [candidate._asdict() for candidate in match.candidates],
        }


def _position(position: Position | None) -> dict[str, int] | None:
    return None if position is None else position._asdict()


def locate(
    place: Place,
    path: str,
    needle: str,
    profile: str = DEFAULT_PROFILE,
    start_line: int | None = None,
) -> Located:
    """Find a text in a file.

    Args:
        place: where the path leads.
        path: the file.
        needle: the text to find; bytes that are not UTF-8 as surrogates.
        profile: the name of the matcher's ladder; bytes that are no text are only matched exactly.
        start_line: where it is believed to be, 1-based, or None.

    Raises:
        RefusedError: the file does not exist (`missing_file`) or cannot be searched, or the
            needle is empty (`invalid_input`).
        FatalError: the file cannot be read.
    """
    if not needle:
        raise RefusedError(
            "the text to find is empty",
            code="invalid_input",
            hints=("it is read from standard input",),
        )
    from git_boocode.editing.diff import quoted

    try:
        return _locate(place, path, needle, profile, start_line)
    except MissError as miss:
        hints = (miss.hint,) if miss.hint else ()
        raise RefusedError(f"{quoted(path)}: {miss.message}", code=miss.code, hints=hints) from None


def _locate(place: Place, path: str, needle: str, profile: str, start_line: int | None) -> Located:
    from git_boocode.matching import locate_match

    target = place.target(path)
    snapshot = read_snapshot(target.real)
    if snapshot is None:
        raise missing_file(place, path)
    text = decode(snapshot.data)
    used = "exact" if text.is_raw else profile
    return Located(target.path, locate_match(text.text, needle, used, start_line=start_line))
