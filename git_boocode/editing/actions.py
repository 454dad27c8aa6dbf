"""The actions that most formats share: replace, insert, write, create, delete, keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import How, Landing, MissError, Outcome, lines_of
from git_boocode.editing.textfile import MAX_BYTES, RAW, Text, line_count, split_lines, uniform_crlf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from git_boocode.matching import MatchError, Replacement

MAX_LINES = 100
"""So many places of an ambiguous text are listed."""

_NEAR = 200
"""Lines above and below a place that show how the file indents."""


class Replace(NamedTuple):
    """Replace a text by another; an empty old text fills a missing or an empty file.

    Attributes:
        old: the text to find.
        new: the text to put there.
        replace_all: change every place instead of refusing when there are several.
        expected: the number of places there must be, or None.
        start_line: where the model believes it to be, 1-based, or None.
        whole_lines: the old text stands for whole lines, never for a part of one.
    """

    old: str
    new: str
    replace_all: bool = False
    expected: int | None = None
    start_line: int | None = None
    whole_lines: bool = False

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
        check_text(text, self.new, how)
        return _replace(self, text, how)

    def _fill(self, text: Text) -> Outcome:
        if text.text:
            raise MissError(
                "exists",
                "the old text is empty, which is for creating a file, but this file has content",
                hint="name the text to replace, or send the whole file as {path, content}",
            )
        return Outcome(text._replace(text=self.new), Landing("exact", "create", 1.0, 1, 1, 0))


def check_text(text: Text | None, new: str, how: How) -> None:
    """Refuse to put a NUL character, mostly an escape gone wrong, into a file that is text.

    Args:
        text: the file; None if there is none.
        new: what an edit brings.
        how: whether it is to be taken as given.

    Raises:
        MissError: it would make the file binary (`invalid_input`).
    """
    if text is not None and text.text and not text.is_raw and not how.verbatim and "\0" in new:
        line = new.count("\n", 0, new.index("\0")) + 1
        raise MissError(
            "invalid_input",
            f"the new text holds a NUL character, in its line {line}, which would make this text "
            "file binary",
            hint="in JSON, \\u0000 is that character, and \\\\u0000 its escape in code; --verbatim "
            "takes it as given",
        )


def _replace(wanted: Replace, text: Text, how: How) -> Outcome:
    from git_boocode.matching import MatchError

    try:
        done = _hinted(wanted, text, how)
    except MatchError as error:
        raise _miss(error, text, wanted, how) from None
    match, notes = done.match, done.notes
    versions = how.versions() if done.version is not None else None
    if versions is not None and done.version is not None:
        notes = (merged_since(versions.name(done.version)), *notes)
    start, end = match.start_line or 1, match.end_line or 0
    landing = Landing(
        match.kind, match.rung or "exact", match.similarity, done.count, start, end, notes
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

    done = replace_text(
        text.text,
        wanted.old,
        wanted.new,
        wanted.replace_all or (wanted.expected or 1) > 1,
        "exact" if text.is_raw else how.profile,
        how.verbatim or text.is_raw,
        start_line=hint,
        expected=wanted.expected,
        whole_lines=wanted.whole_lines,
        most=MAX_BYTES,
        versions=() if text.is_raw else _older(how),
    )
    if wanted.whole_lines and done.match.rung == "whitespace" and not how.verbatim:
        _check_indentation(wanted, text, done.spans[0].start_line)
    return done


def _check_indentation(wanted: Replace, text: Text, line: int) -> None:
    """Refuse new lines that are indented neither as the only old line is nor as the file's is."""
    from git_boocode.matching.indentation import indent_of, only_first_dropped

    lines, new = text.text.split("\n"), wanted.new.split("\n")[:-1]
    real = indent_of(lines[line - 1])
    given = indent_of(wanted.old) or indent_of(wanted.new)
    if wanted.old.count("\n") > 1 or not new or not real or given:
        return
    near = lines[max(0, line - 1 - _NEAR) : line - 1 + _NEAR]
    if only_first_dropped(new, real, near) is None:
        raise MissError(
            "ambiguous",
            f"line {line} is indented and the old text is not, so the indentation of the new lines "
            "is unclear",
            lines=(line,),
            hint="send both with the indentation that the file has",
        )


def _older(how: How) -> Iterator[str]:
    """The older versions of the file, which are not looked up before one is asked for."""
    yield from how.versions() or ()


def merged_since(name: str) -> str:
    """The note of an edit that was made in an older version of the file."""
    return f"merged with the changes since {name}"


def _miss(error: MatchError, text: Text, wanted: Replace, how: How) -> MissError:
    places = error.match.spans if error.code == "ambiguous" else error.candidates
    lines = tuple(place.start_line for place in places[:MAX_LINES])
    if text.is_raw and error.code == "not_found":
        return MissError(
            "binary",
            "the file is no UTF-8 or UTF-16 text, so only an exact match counts, and there is none",
            hint="bytes that are not UTF-8 are written \\udcXX in JSON",
        )
    versions = how.versions() if error.match.version is not None else None
    if error.code == "stale" and versions is not None and error.match.version is not None:
        near, index = error.candidates[0], error.match.version
        where = lines_of(near.start_line, near.end_line)
        cause = versions.cause(index, wanted.old)
        message = f"{where} changed since {versions.name(index)}" + (f", {cause}" if cause else "")
        return MissError(error.code, message, lines=lines, candidates=error.candidates)
    if error.code == "not_found" and (line := _part_of_line(wanted, text.text)):
        return MissError(
            error.code,
            f"old text not found as whole lines: it is only part of line {line}",
            lines=(line,),
            candidates=error.candidates,
            hint="search for whole lines, copied from the file",
        )
    # Whoever names a number knows that there may be several places.
    miscounted = error.code == "ambiguous" and wanted.expected is not None
    hint = "count the places again, or send an edit for each of them" if miscounted else None
    return MissError(error.code, error.message, lines=lines, candidates=error.candidates, hint=hint)


def _part_of_line(wanted: Replace, text: str) -> int | None:
    """The line on which text that stands for whole lines begins or ends within a line."""
    body = wanted.old.strip()
    at = text.find(body) if wanted.whole_lines else -1
    if at < 0:
        return None
    before, after = text[text.rfind("\n", 0, at) + 1 : at], text[at + len(body) :]
    beside = (before + after.partition("\n")[0]).strip()
    return text.count("\n", 0, at) + 1 if beside else None


class Insert(NamedTuple):
    """Insert whole lines.

    Attributes:
        line: the line to insert after, 0 for the top of the file.
        text: the lines; a missing final newline is added.
        top: the number that the input has for the top of the file: 0, or 1 if it names the line
            to insert before.
    """

    line: int
    text: str
    top: int = 0

    @property
    def anchors(self) -> str:
        """It goes by number, not by text."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Insert the lines with the line ending of their neighbour."""
        if text is None:
            raise MissError("missing_file", "there is no such file")
        check_text(text, self.text, how)
        if text.is_raw and "\0" in text.text:
            raise MissError("binary", "the file is binary: it has no lines to insert between")
        lines = split_lines(text.text)
        if self.line > len(lines):
            raise MissError(
                "invalid_input",
                f"'insert_line' is {self.line + self.top}, but the file has {len(lines)} lines",
                hint=f"insert_line goes from {self.top} (the top) to {len(lines) + self.top} "
                "(the end)",
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
    def anchors(self) -> str:
        """It looks for nothing."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Take the content as given, in the encoding and line endings that the file has."""
        check_text(text, self.content, how)
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


class Create(NamedTuple):
    """Make a file that must not exist yet; an empty one may.

    Attributes:
        content: all of its text.
        executable: whether it shall be executable.
        notes: what was done to read it.
    """

    content: str
    executable: bool = False
    notes: tuple[str, ...] = ()

    @property
    def anchors(self) -> str:
        """It looks for nothing."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Take the content as given."""
        del how
        if text is not None and text.text:
            raise MissError(
                "exists",
                "the file is to be created, but it exists and has content",
                hint="edit what it holds, or send the whole file as {path, content}",
            )
        made = Text(self.content) if text is None else text._replace(text=self.content)
        notes = (*self.notes, *mode_notes(self.executable or None))
        return Outcome(
            made, Landing("exact", "create", 1.0, 1, 1, 0, notes), self.executable or None
        )


def mode_notes(executable: bool | None) -> tuple[str, ...]:
    """What to tell of the mode that a file is given."""
    return () if executable is None else ("executable" if executable else "not executable",)


class Delete(NamedTuple):
    """Remove a file.

    Attributes:
        content: what it is expected to hold, or None if that does not matter.
        notes: what was done to read it.
    """

    content: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def anchors(self) -> str:
        """The content that it expects."""
        return self.content or ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Remove the file, if it holds what is expected; blanks at line ends aside."""
        del how
        if text is None:
            raise MissError("missing_file", "there is no such file")
        if self.content is not None and _bare(self.content) != _bare(text.text):
            raise MissError(
                "conflict",
                "the file to delete does not hold what the edit shows",
                hint="read the file again; what it holds now would be lost",
            )
        landing = Landing("exact", "delete", 1.0, 1, 1, line_count(text.text), self.notes)
        return Outcome(None, landing)


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")


class Keep(NamedTuple):
    """Leave a file's content as it is: it is only renamed, or made executable or not.

    Attributes:
        executable: whether it shall be executable; None if it stays what it is.
    """

    executable: bool | None = None

    @property
    def anchors(self) -> str:
        """It looks for nothing."""
        return ""

    def apply(self, text: Text | None, how: How) -> Outcome:
        """Give the file back as it is."""
        del how
        if text is None:
            raise MissError("missing_file", "there is no such file")
        rung = "rename" if self.executable is None else "mode"
        notes = mode_notes(self.executable)
        landing = Landing("exact", rung, 1.0, 1, 1, line_count(text.text), notes)
        return Outcome(text, landing, self.executable)
