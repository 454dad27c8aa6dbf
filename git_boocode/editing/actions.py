"""The actions that most formats share: replace a text, insert at a line, write a whole file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import How, Landing, MissError, Outcome
from git_boocode.editing.textfile import RAW, Text, line_count, split_lines, uniform_crlf

if TYPE_CHECKING:
    from git_boocode.matching import MatchError, Replacement

MAX_LINES = 100
"""So many places of an ambiguous text are listed."""


class Replace(NamedTuple):
    """Replace a text by another; an empty old text fills a missing or an empty file.

    Attributes:
        old: the text to find.
        new: the text to put there.
        replace_all: change every place instead of refusing when there are several.
        expected: the number of places there must be, or None.
        start_line: where the model believes it to be, 1-based, or None.
    """

    old: str
    new: str
    replace_all: bool = False
    expected: int | None = None
    start_line: int | None = None

    @property
    def whole(self) -> bool:
        """It edits in place."""
        return False

    @property
    def anchors(self) -> str:
        """The old text."""
        return self.old

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Find the old text with the matcher and replace it."""
        if not self.old:
            return self._fill(text or Text(""))
        if text is None:
            raise MissError("missing_file", "there is no such file")
        return _replace(self, text, how)

    def _fill(self, text: Text) -> Outcome:
        if text.text:
            raise MissError(
                "exists",
                "the old text is empty, which is for creating a file, but this file has content",
                hint="name the text to replace, or send the whole file as {path, content}",
            )
        return Outcome(text._replace(text=self.new), Landing("exact", "create", 1.0, 1, 1, 0))


def _replace(wanted: Replace, text: Text, how: How) -> Outcome:
    from git_boocode.matching import MatchError

    try:
        done = _hinted(wanted, text, how)
    except MatchError as error:
        raise _miss(error, text, wanted.expected) from None
    match = done.match
    start, end = match.start_line or 1, match.end_line or 0
    landing = Landing(
        match.kind, match.rung or "exact", match.similarity, done.count, start, end, done.notes
    )
    return Outcome(text._replace(text=done.content), landing)


def _hinted(wanted: Replace, text: Text, how: How) -> Replacement:
    """Replace with the hint that the edit gives, if that can be read in one way only.

    Earlier edits of the call may have moved lines, and nobody knows whether a model thought of
    that; where the two readings lead to different places there is no hint.
    """
    hint = wanted.start_line
    done = _searched(wanted, text, how, hint)
    if hint is None or how.moved(hint) == hint:
        return done
    other = _searched(wanted, text, how, how.moved(hint))
    return done if other.content == done.content else _searched(wanted, text, how, None)


def _searched(wanted: Replace, text: Text, how: How, hint: int | None) -> Replacement:
    from git_boocode.matching import replace_text

    return replace_text(
        text.text,
        wanted.old,
        wanted.new,
        wanted.replace_all or (wanted.expected or 1) > 1,
        "exact" if text.is_raw else how.profile,
        how.verbatim or text.is_raw,
        start_line=hint,
        expected=wanted.expected,
    )


def _miss(error: MatchError, text: Text, expected: int | None) -> MissError:
    places = error.match.spans if error.code == "ambiguous" else error.candidates
    lines = tuple(place.start_line for place in places[:MAX_LINES])
    if text.is_raw and error.code == "not_found":
        return MissError(
            "binary",
            "the file is no UTF-8 or UTF-16 text, so only an exact match counts, and there is none",
            hint="bytes that are not UTF-8 are written \\udcXX in JSON",
        )
    # Whoever names a number knows that there may be several places.
    miscounted = error.code == "ambiguous" and expected is not None
    hint = "count the places again, or send an edit for each of them" if miscounted else None
    return MissError(error.code, error.message, lines=lines, candidates=error.candidates, hint=hint)


class Insert(NamedTuple):
    """Insert whole lines.

    Attributes:
        line: the line to insert after, 0 for the top of the file.
        text: the lines; a missing final newline is added.
    """

    line: int
    text: str

    @property
    def whole(self) -> bool:
        """It edits in place."""
        return False

    @property
    def anchors(self) -> str:
        """It goes by number, not by text."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Insert the lines with the line ending of their neighbour."""
        del how
        if text is None:
            raise MissError("missing_file", "there is no such file")
        if text.is_raw and "\0" in text.text:
            raise MissError("binary", "the file is binary: it has no lines to insert between")
        lines = split_lines(text.text)
        if self.line > len(lines):
            raise MissError(
                "invalid_input",
                f"'insert_line' is {self.line}, but the file has {len(lines)} lines",
                hint=f"insert_line goes from 0 (the top) to {len(lines)} (the end)",
            )
        landing = Landing("exact", "line", 1.0, 1, self.line + 1, self.line)
        return Outcome(text._replace(text=self._between(lines)), landing)

    def _between(self, lines: list[str]) -> str:
        neighbour = lines[max(self.line - 1, 0)] if lines else "\n"
        ending = "\r\n" if neighbour.endswith("\r\n") or _all_crlf(lines) else "\n"
        body = self.text.removesuffix("\n").removesuffix("\r").replace("\r\n", "\n")
        added = body.replace("\n", ending) + ending
        if lines and self.line == len(lines) and not lines[-1].endswith("\n"):
            # The file goes on without a final newline.
            return "".join(lines) + ending + added.removesuffix(ending)
        return "".join((*lines[: self.line], added, *lines[self.line :]))


def _all_crlf(lines: list[str]) -> bool:
    return len(lines) > 1 and uniform_crlf("".join(lines))


class Write(NamedTuple):
    """Write a whole file.

    Attributes:
        content: all of its text.
    """

    content: str

    @property
    def whole(self) -> bool:
        """It replaces whatever is there."""
        return True

    @property
    def anchors(self) -> str:
        """It looks for nothing."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Take the content as given, in the encoding and line endings that the file has."""
        del how
        if text is None:
            return Outcome(Text(self.content), Landing("exact", "write", 1.0, 1, 1, 0))
        content = self.content
        notes: tuple[str, ...] = ()
        if uniform_crlf(text.text) and "\n" in content and "\r" not in content:
            content, notes = content.replace("\n", "\r\n"), ("line endings kept as crlf",)
        codec = "utf-8" if text.codec == RAW else text.codec
        if codec != "utf-8":
            content = content.removeprefix("\ufeff")
        landing = Landing("exact", "write", 1.0, 1, 1, line_count(text.text), notes)
        return Outcome(Text(content, codec), landing)
