"""The actions that most formats share: replace, insert, write, create, delete, keep."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import AppliedEdit, EditResult, MatchOptions, MissError
from git_boocode.editing.textfile import RAW, FileText, line_count, uniform_crlf
from git_boocode.matching.text import lines_of, split_lines
from git_boocode.repo.errors import NextStep
from git_boocode.repo.files import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from git_boocode.matching.types import Candidate, MatchError, Replacement

_MAY_BE_WRAPPED = re.compile(r"\s*(?:```|~~~|(?:L(?:ine )?)?\d)")
"""How a fence or line numbers begin, to load the matcher only for such content."""
MAX_LINES = 100
"""Maximum number of listed places of an ambiguous text."""
MAX_MISSES = 10
"""Maximum number of problems that the refusal of one edit describes."""


def check_text(text: FileText, new: str, how: MatchOptions) -> None:
    """Refuse a NUL character, usually a wrong escape, in new text for a text file."""
    if text.text and not text.is_raw and not how.verbatim and "\0" in new:
        line = new.count("\n", 0, new.index("\0")) + 1
        raise MissError(
            "invalid_input",
            f"line {line} of the new text contains a NUL character, which would make this text "
            "file binary",
            hint=NextStep(
                "in JSON, \\u0000 is that character, and \\\\u0000 its escape in code; allow it "
                "with {}",
                "verbatim",
            ),
        )


def joined(misses: Sequence[MissError]) -> MissError:
    """One refusal that names every problem, with the code of the first."""
    shown = misses[:MAX_MISSES]
    messages = [miss.message for miss in shown]
    if len(misses) > len(shown):
        messages.append(f"and {len(misses) - len(shown)} more problems")
    # Interleaved, so that a truncated list contains candidates of all problems.
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
        raise MissError("missing_file", "the file does not exist")
    return text


def merged_since(name: str) -> str:
    """The note of an edit that was made in an older version of the file."""
    return f"merged with the changes since {name}"


def changed_since(places: Sequence[Candidate], name: str, cause: str | None) -> str:
    """The message about lines that have changed since an older version of the file."""
    where = [lines_of(near.start_line, near.end_line) for near in places]
    what = f"{' and '.join(where)} changed" if places[0].end_line else "the file was emptied"
    return f"{what} since {name}{f', {cause}' if cause else ''}"


def mode_notes(executable: bool | None) -> tuple[str, ...]:
    """The note about a change of the executable bit, if any."""
    return () if executable is None else ("executable" if executable else "not executable",)


class Replace(NamedTuple):
    """Replace a text by another; an empty old text fills a missing or an empty file.

    `expected` is the required number of places, `start_line` the 1-based line where the model
    expects the old text. With `whole_lines` the old text matches whole lines only.
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

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Find the old text with the matcher and replace it."""
        from git_boocode.matching.types import MatchError

        if not self.old:
            if text is not None and text.text:
                raise MissError(
                    "exists",
                    "an empty old text creates a file, but this file already has content",
                    hint="send the text to replace, or the whole file as {path, content}",
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
        first = done.spans[0]
        applied = AppliedEdit(
            match.kind,
            match.rung or "exact",
            match.similarity,
            done.count,
            first.start_line,
            first.end_line,
            notes,
        )
        return EditResult(text._replace(text=done.content), applied)

    def _replaced(self, text: FileText, how: MatchOptions) -> Replacement:
        """Replace with the line hint, unless its two interpretations lead to different places.

        Earlier edits of the call may have moved lines, and the model may have considered that.
        """
        hint = self.start_line
        done = self._searched(text, how, hint)
        if hint is not None and how.moved(hint) != hint:
            other = self._searched(text, how, how.moved(hint))
            if other.content != done.content:
                return self._searched(text, how, None)
        return done

    def _searched(self, text: FileText, how: MatchOptions, hint: int | None) -> Replacement:
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


def _miss(error: MatchError, text: FileText, action: Replace, how: MatchOptions) -> MissError:
    """Convert an error of the matcher."""
    code, message, version, hint = error.code, error.message, error.match.version, None
    places = error.match.spans if code == "ambiguous" else error.candidates
    lines = tuple(place.start_line for place in places[:MAX_LINES])
    if code == "not_found" and text.is_raw:
        return MissError(
            "binary",
            "no exact match, which is required because the file is not UTF-8 or UTF-16 text",
            hint="write bytes that are not UTF-8 as \\udcXX in JSON",
        )
    if code == "stale" and version is not None and (versions := how.versions()):
        cause = versions.cause(version, action.old)
        message = changed_since(error.candidates[:1], versions.name(version), cause)
    elif code == "not_found" and (line := _part_of_line(action, text.text)):
        message = f"old text not found as whole lines: it is only part of line {line}"
        lines, hint = (line,), "search for whole lines, copied from the file"
    elif code == "ambiguous" and action.expected is not None:
        # The model knows already that there are several places.
        hint = "count the places again, or send an edit for each of them"
    elif code == "ambiguous" and len(places) == 1:
        hint = "copy whole lines from the file as the old text, and change those"
    return MissError(code, message, lines=lines, candidates=error.candidates, hint=hint)


def _part_of_line(action: Replace, text: str) -> int | None:
    """The line that contains text for whole lines only as a part, or None."""
    body = action.old.strip()
    at = text.find(body) if action.whole_lines else -1
    if at < 0:
        return None
    before, after = text[text.rfind("\n", 0, at) + 1 : at], text[at + len(body) :]
    beside = (before + after.partition("\n")[0]).strip()
    return text.count("\n", 0, at) + 1 if beside else None


class Block(NamedTuple):
    """A search-replace block with several possible dividers; the file decides which one it is.

    `actions` are the ways to split the block, from the shortest old text to the longest.
    """

    actions: tuple[Replace, ...]

    @property
    def anchors(self) -> tuple[str, ...]:
        """The longest old text."""
        return self.actions[-1].anchors

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Apply the only split whose old text occurs in the file, or the clearly best one."""
        splits = [(action.old, _tried(action, text, how)) for action in self.actions]
        misses = [found for _, found in splits if isinstance(found, MissError)]
        lost = [miss for miss in misses if miss.code != "ambiguous"]
        fitting = [(old, found) for old, found in splits if found not in lost]
        dividers = f"{len(self.actions)} lines like '======='"
        if not fitting:
            near = [max((one.similarity for one in miss.candidates), default=0) for miss in misses]
            best = misses[near.index(max(near))]
            raise best.reworded(f"{best.message}; each of the {dividers} was tried as the divider")
        old, found = fitting[-1]
        if len(fitting) > 1:
            # More text after the first divider is unlikely to match the file by chance.
            more = old.removeprefix(fitting[-2][0]).replace("=", "").strip()
            if isinstance(found, MissError) or found.applied.kind != "exact" or not more:
                raise MissError(
                    "ambiguous",
                    f"the block has {dividers}, and several of them could be the divider",
                    hint="search for other lines, or send the edit as old_string and new_string",
                )
        if isinstance(found, MissError):
            raise found
        return found


def _tried(action: Replace, text: FileText | None, how: MatchOptions) -> EditResult | MissError:
    try:
        return action.apply(text, how)
    except MissError as miss:
        return miss


class Insert(NamedTuple):
    """Insert whole lines after a line (0 is the top); a missing final newline is added.

    `top` is the input's number for the top of the file: 0, or 1 if it names the line to insert
    before.
    """

    line: int
    text: str
    top: int = 0

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
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
                hint=f"insert_line must be from {self.top} (the top) to {len(lines) + self.top} "
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
            # The file still has no final newline.
            return "".join(lines) + ending + added.removesuffix(ending)
        return "".join((*lines[: self.line], added, *lines[self.line :]))


class Write(NamedTuple):
    """Write a whole file."""

    content: str

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Use the content, in the encoding and line endings of the file."""
        if text is None:
            return EditResult(FileText(self.content), AppliedEdit(rung="write"))
        check_text(text, self.content, how)
        if not how.verbatim:
            _check_wrapping(text, self.content)
        content = self.content
        notes: tuple[str, ...] = ()
        if uniform_crlf(text.text) and "\n" in content and "\r" not in content:
            content, notes = content.replace("\n", "\r\n"), ("line endings kept as crlf",)
        codec = "utf-8" if text.codec == RAW else text.codec
        if codec != "utf-8":
            content = content.removeprefix("\ufeff")
        applied = AppliedEdit(rung="write", end_line=line_count(text.text), notes=notes)
        return EditResult(FileText(content, codec), applied)


def _check_wrapping(text: FileText, content: str) -> None:
    """Refuse a whole file with the line numbers or the fence around it that a model was shown."""
    if not _MAY_BE_WRAPPED.match(content):
        return
    from git_boocode.matching.variants import wrapping

    lf = (one.replace("\r\n", "\n") for one in (content, text.text))
    if what := wrapping(*lf):
        hint = NextStep("send the lines as they are in the file; {} accepts it as is", "verbatim")
        raise MissError("invalid_input", f"the content has {what}", hint=hint)


class Create(NamedTuple):
    """Create a file, which must not exist or be empty; `notes` are about the input."""

    content: str
    executable: bool = False
    notes: tuple[str, ...] = ()

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Use the content."""
        del how
        if text is not None and text.text:
            raise MissError(
                "exists",
                "cannot create the file: it already exists and has content",
                hint="edit the existing content, or send the whole file as {path, content}",
            )
        made = (text or FileText(""))._replace(text=self.content)
        executable = self.executable or None
        applied = AppliedEdit(rung="create", notes=(*self.notes, *mode_notes(executable)))
        return EditResult(made, applied, executable)


class Delete(NamedTuple):
    """Delete a file with the given content, or any (None); `notes` are about the input."""

    content: str | None = None
    notes: tuple[str, ...] = ()

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Delete the file if it has the expected content, ignoring trailing whitespace."""
        del how
        text = existing(text)
        if self.content is not None and _bare(self.content) != _bare(text.text):
            raise MissError(
                "conflict",
                "the file to delete does not have the content that the edit shows",
                hint="read the file again; its current content would be lost",
            )
        applied = AppliedEdit(rung="delete", end_line=line_count(text.text), notes=self.notes)
        return EditResult(None, applied)


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")


class Keep(NamedTuple):
    """Keep the content, for a rename or a change of the executable bit (None: unchanged)."""

    executable: bool | None = None

    def apply(self, text: FileText | None, how: MatchOptions) -> EditResult:
        """Return the file unchanged."""
        del how
        text = existing(text)
        rung = "rename" if self.executable is None else "mode"
        notes = mode_notes(self.executable)
        applied = AppliedEdit(rung=rung, end_line=line_count(text.text), notes=notes)
        return EditResult(text, applied, self.executable)
