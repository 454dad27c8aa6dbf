"""The actions that most formats share: replace, insert, write, create, delete, keep."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import AppliedEdit, EditResult, How, MissError
from git_boocode.editing.textfile import RAW, FileText, line_count, uniform_crlf
from git_boocode.matching.text import lines_of, split_lines
from git_boocode.repo.files import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from git_boocode.matching.types import MatchError, Replacement

MAX_LINES = 100
"""Places of an ambiguous text that are listed."""
MAX_MISSES = 10
"""Problems of one edit that its refusal describes."""


def check_text(text: FileText, new: str, how: How) -> None:
    """Refuse a NUL character, mostly an escape gone wrong, in new text for a file that is text."""
    if text.text and not text.is_raw and not how.verbatim and "\0" in new:
        line = new.count("\n", 0, new.index("\0")) + 1
        raise MissError(
            "invalid_input",
            f"the new text holds a NUL character, in its line {line}, which would make this text "
            "file binary",
            hint="in JSON, \\u0000 is that character, and \\\\u0000 its escape in code; --verbatim "
            "takes it as given",
        )


def joined(misses: Sequence[MissError]) -> MissError:
    """One refusal that names every problem, with the code of the first."""
    shown = misses[:MAX_MISSES]
    messages = [miss.message for miss in shown]
    if len(misses) > len(shown):
        messages.append(f"and {len(misses) - len(shown)} more problems")
    # The first candidate of each, then the second of each: a short list shows some of all.
    candidates = zip_longest(*(miss.candidates for miss in shown))
    return MissError(
        misses[0].code,
        "; ".join(messages),
        lines=tuple(line for miss in misses for line in miss.lines)[:MAX_LINES],
        candidates=tuple(near for row in candidates for near in row if near),
        hint="; ".join(dict.fromkeys(miss.hint for miss in shown if miss.hint)) or None,
    )


def existing(text: FileText | None) -> FileText:
    """The text of a file that an action needs (MissError, `missing_file`)."""
    if text is None:
        raise MissError("missing_file", "there is no such file")
    return text


def merged_since(name: str) -> str:
    """The note of an edit that was made in an older version of the file."""
    return f"merged with the changes since {name}"


def mode_notes(executable: bool | None) -> tuple[str, ...]:
    """The note on the mode that a file is given, if any."""
    return () if executable is None else ("executable" if executable else "not executable",)


class Replace(NamedTuple):
    """Replace a text by another; an empty old text fills a missing or an empty file.

    `expected` is the number of places there must be, `start_line` where the model believes the old
    text to be, from 1. With `whole_lines` the old text stands for whole lines, never for a part.
    """

    old: str
    new: str
    replace_all: bool = False
    expected: int | None = None
    start_line: int | None = None
    whole_lines: bool = False

    @property
    def anchors(self) -> tuple[str, ...]:
        """The old text."""
        return (self.old,)

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Find the old text with the matcher and replace it."""
        from git_boocode.matching.types import MatchError

        if not self.old:
            if text is not None and text.text:
                raise MissError(
                    "exists",
                    "the old text is empty, which is for creating a file, but this file has "
                    "content",
                    hint="name the text to replace, or send the whole file as {path, content}",
                )
            return Create(self.new).apply(text, how)
        text = existing(text)
        check_text(text, self.new, how)
        try:
            done = self._replaced(text, how)
        except MatchError as error:
            raise _miss(error, text, self, how) from None
        match, notes = done.match, done.notes
        if match.version is not None and (versions := how.versions()):
            notes = (merged_since(versions.name(match.version)), *notes)
        rung, lines = match.rung or "exact", done.spans[0][2:]
        applied = AppliedEdit(match.kind, rung, match.similarity, done.count, *lines, notes)
        return EditResult(text._replace(text=done.content), applied)

    def _replaced(self, text: FileText, how: How) -> Replacement:
        """Replace with the line hint, unless its two readings lead to different places.

        Earlier edits of the call may have moved lines, and the model may have counted with that.
        """
        hint = self.start_line
        done = self._searched(text, how, hint)
        if hint is not None and how.moved(hint) != hint:
            other = self._searched(text, how, how.moved(hint))
            if other.content != done.content:
                return self._searched(text, how, None)
        return done

    def _searched(self, text: FileText, how: How, hint: int | None) -> Replacement:
        from git_boocode.matching.replace import replace_text

        def older() -> Iterator[str]:
            yield from how.versions() or ()

        return replace_text(
            text.text,
            self.old,
            self.new,
            self.replace_all or (self.expected or 1) > 1,
            "exact" if text.is_raw else how.profile,
            how.verbatim or text.is_raw,
            start_line=hint,
            expected=self.expected,
            whole_lines=self.whole_lines,
            most=MAX_BYTES,
            versions=older(),
        )


def _miss(error: MatchError, text: FileText, wanted: Replace, how: How) -> MissError:
    """What the matcher's refusal means for the file."""
    code, message, version, hint = error.code, error.message, error.match.version, None
    places = error.match.spans if code == "ambiguous" else error.candidates
    lines = tuple(place.start_line for place in places[:MAX_LINES])
    if code == "not_found" and text.is_raw:
        return MissError(
            "binary",
            "the file is no UTF-8 or UTF-16 text, so only an exact match counts, and there is none",
            hint="bytes that are not UTF-8 are written \\udcXX in JSON",
        )
    if code == "stale" and version is not None and (versions := how.versions()):
        where = lines_of(error.candidates[0].start_line, error.candidates[0].end_line)
        cause = versions.cause(version, wanted.old)
        message = f"{where} changed since {versions.name(version)}{f', {cause}' if cause else ''}"
    elif code == "not_found" and (line := _part_of_line(wanted, text.text)):
        message = f"old text not found as whole lines: it is only part of line {line}"
        lines, hint = (line,), "search for whole lines, copied from the file"
    elif code == "ambiguous" and wanted.expected is not None:
        # Whoever names a number knows that there may be several places.
        hint = "count the places again, or send an edit for each of them"
    elif code == "ambiguous" and len(places) == 1:
        hint = "copy the old text from the file, whole lines of it, and make the change in that"
    return MissError(code, message, lines=lines, candidates=error.candidates, hint=hint)


def _part_of_line(wanted: Replace, text: str) -> int | None:
    """The line on which text that stands for whole lines begins or ends within a line."""
    body = wanted.old.strip()
    at = text.find(body) if wanted.whole_lines else -1
    if at < 0:
        return None
    before, after = text[text.rfind("\n", 0, at) + 1 : at], text[at + len(body) :]
    beside = (before + after.partition("\n")[0]).strip()
    return text.count("\n", 0, at) + 1 if beside else None


class Block(NamedTuple):
    """A search-replace block with several lines like the divider: the file decides what divides.

    `actions` are the ways to split the block, from the shortest old text to the longest.
    """

    actions: tuple[Replace, ...]

    @property
    def anchors(self) -> tuple[str, ...]:
        """The longest old text."""
        return self.actions[-1].anchors

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Apply the only split whose old text the file has, or the one that it clearly prefers."""
        splits = [(action.old, _tried(action, text, how)) for action in self.actions]
        misses = [found for _, found in splits if isinstance(found, MissError)]
        lost = [miss for miss in misses if miss.code != "ambiguous"]
        fitting = [(old, found) for old, found in splits if found not in lost]
        dividers = f"{len(self.actions)} lines like '======='"
        if not fitting:
            near = [max((one.similarity for one in miss.candidates), default=0) for miss in misses]
            best = misses[near.index(max(near))]
            best.message += f"; each of the {dividers} was tried as the divider"
            raise best
        old, found = fitting[-1]
        if len(fitting) > 1:
            # By chance, the file would not go on as the text below the first divider does.
            more = old.removeprefix(fitting[-2][0]).replace("=", "").strip()
            if isinstance(found, MissError) or found.applied.kind != "exact" or not more:
                raise MissError(
                    "ambiguous",
                    f"the block has {dividers}, and more than one of them can be the divider",
                    hint="search for other lines, or send the edit as old_string and new_string",
                )
        if isinstance(found, MissError):
            raise found
        return found


def _tried(action: Replace, text: FileText | None, how: How) -> EditResult | MissError:
    try:
        return action.apply(text, how)
    except MissError as miss:
        return miss


class Insert(NamedTuple):
    """Insert whole lines after a line (0 is the top); a missing final newline is added.

    `top` is the number that the input has for the top of the file: 0, or 1 if it names the line to
    insert before.
    """

    line: int
    text: str
    top: int = 0

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Insert the lines with the line ending of their neighbour."""
        text = existing(text)
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
        applied = AppliedEdit(rung="line", start_line=self.line + 1, end_line=self.line)
        return EditResult(text._replace(text=self._between(lines)), applied)

    def _between(self, lines: list[str]) -> str:
        beside = "".join(lines[max(self.line - 1, 0) :][:1])
        crlf = beside.endswith("\r\n") or uniform_crlf("".join(lines))
        ending = "\r\n" if crlf else "\n"
        body = self.text.removesuffix("\n").removesuffix("\r").replace("\r\n", "\n")
        added = body.replace("\n", ending) + ending
        if lines and self.line == len(lines) and not lines[-1].endswith("\n"):
            # The file goes on without a final newline.
            return "".join(lines) + ending + added.removesuffix(ending)
        return "".join((*lines[: self.line], added, *lines[self.line :]))


class Write(NamedTuple):
    """Write a whole file."""

    content: str

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Take the content as given, in the encoding and line endings that the file has."""
        if text is None:
            return EditResult(FileText(self.content), AppliedEdit(rung="write"))
        check_text(text, self.content, how)
        content = self.content
        notes: tuple[str, ...] = ()
        if uniform_crlf(text.text) and "\n" in content and "\r" not in content:
            content, notes = content.replace("\n", "\r\n"), ("line endings kept as crlf",)
        codec = "utf-8" if text.codec == RAW else text.codec
        if codec != "utf-8":
            content = content.removeprefix("\ufeff")
        applied = AppliedEdit(rung="write", end_line=line_count(text.text), notes=notes)
        return EditResult(FileText(content, codec), applied)


class Create(NamedTuple):
    """Make a file that must not exist yet; an empty one may. `notes` say how it was read."""

    content: str
    executable: bool = False
    notes: tuple[str, ...] = ()

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Take the content as given."""
        del how
        if text is not None and text.text:
            raise MissError(
                "exists",
                "the file is to be created, but it exists and has content",
                hint="edit what it holds, or send the whole file as {path, content}",
            )
        made = (text or FileText(""))._replace(text=self.content)
        executable = self.executable or None
        applied = AppliedEdit(rung="create", notes=(*self.notes, *mode_notes(executable)))
        return EditResult(made, applied, executable)


class Delete(NamedTuple):
    """Remove a file that has some content, or any (None). `notes` say how it was read."""

    content: str | None = None
    notes: tuple[str, ...] = ()

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Remove the file, if it holds what is expected, whitespace at line ends aside."""
        del how
        text = existing(text)
        if self.content is not None and _bare(self.content) != _bare(text.text):
            raise MissError(
                "conflict",
                "the file to delete does not hold what the edit shows",
                hint="read the file again; what it holds now would be lost",
            )
        applied = AppliedEdit(rung="delete", end_line=line_count(text.text), notes=self.notes)
        return EditResult(None, applied)


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")


class Keep(NamedTuple):
    """Leave the content; the file is renamed, or its executable bit is set (None: left alone)."""

    executable: bool | None = None

    def apply(self, text: FileText | None, how: How) -> EditResult:
        """Give the file back as it is."""
        del how
        text = existing(text)
        rung = "rename" if self.executable is None else "mode"
        notes = mode_notes(self.executable)
        applied = AppliedEdit(rung=rung, end_line=line_count(text.text), notes=notes)
        return EditResult(text, applied, self.executable)
