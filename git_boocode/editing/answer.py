"""The answer of a call, as JSON and as text for the model: the files, or the refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import DEFAULT_ENCODING, EditedFile, Failure, edit_name
from git_boocode.matching import Candidate
from git_boocode.matching.text import lines_of
from git_boocode.repo.errors import NextStep, RefusedError, shell_command

if TYPE_CHECKING:
    from git_boocode.editing.text_changes import ChangedRange

BEGIN = "@retry_context"
END = "@end retry_context"
_MAX_FAILURES = 10
_MAX_CANDIDATES = 3
_MAX_LINES = 24
# Characters of the retry context for one edit, of a line, and of a message or an edit.
_MAX_CHARACTERS, _MAX_WIDTH, _MAX_TEXT = 2_000, 200, 400

_ADVICE = {
    "not_found": "read the file again and copy the old text from it",
    "ambiguous": "send more lines, so that the old text occurs once",
    "already_applied": "leave this edit out; the file has its result",
    "stale": "read the file again and make the edit for its current content",
    "missing_file": "check the path, which is relative to the top of the worktree",
    "outside_worktree": "name a file inside the worktree",
    "binary": "the file is not text; do not edit it",
    "invalid_input": "correct what the message names, then send the edit again",
}
_WHOLE = ("write", "create")
_LINES_KEYS = {"changes", "content"}
_KINDS = {
    "ambiguous": "one of the places",
    "stale": "the lines as they are now",
    "already_applied": "the new text",
}
_ENDS_OF_LINES = {ord(end): f"\\u{ord(end):04x}" for end in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
"""Characters that a reader may treat as a line end, with their replacements, as in JSON."""

_USES = {
    "search-replace": "put exactly these lines between '<<<<<<< SEARCH' and '======='",
    "unified": "use exactly these lines as the hunk's ' ' and '-' lines",
    "apply-patch": "use exactly these lines as the hunk's ' ' and '-' lines",
    "region": "use up to 4 of these lines as 'start'",
    "lines": "change them by these numbers, in that version",
    "": "send exactly these lines as old_string",
}
"""How to use the lines of a place, by format; the empty key is for all other formats."""


class EditsRefusedError(RefusedError):
    """Some of a call's edits, `edits` in all, cannot be applied; nothing was changed.

    `attempt` is the id of a refused proposal, which the next attempt can name; `rewinds` that of a
    record whose edit cannot be undone, which no model has to send again.
    """

    def __init__(
        self,
        failures: Sequence[Failure],
        edits: int,
        *,
        attempt: str = "",
        rewinds: str = "",
        hints: Sequence[str] = (),
    ) -> None:
        self.failures = tuple(failures)
        self.edits = edits
        self.retry_context = "" if rewinds else retry_context(failures, edits)
        first, more = failures[0], len(failures) - 1
        advice = dict.fromkeys(filter(None, map(_advice, failures)))
        super().__init__(
            describe(first, many=edits > 1) + (f" (and {more} more)" if more else ""),
            code=first.code,
            hints=(*advice, *hints),
            details={
                "applied": False,
                **({"id": attempt} if attempt else {}),
                "failures": [_failure_json(failure) for failure in failures],
                **({"rewinds": rewinds} if rewinds else {"retry_context": self.retry_context}),
            },
        )

    def worded(self, word: Callable[[str], str]) -> str:
        """The retry context with hints in the words of a front end."""
        failures = [
            failure._replace(hint=failure.hint and word(failure.hint)) for failure in self.failures
        ]
        return retry_context(failures, self.edits)


class Answer(NamedTuple):
    """The result of a call, or of a dry run; `id` is the id of its record, if any."""

    applied: bool
    id: str | None
    files: tuple[EditedFile, ...]

    def as_json(self, encoding: str = DEFAULT_ENCODING) -> dict[str, object]:
        """The JSON answer; `encoding` is the one of the positions in text edits."""
        return {
            "ok": True,
            "applied": self.applied,
            "id": self.id,
            "files": [file_json(file, encoding) for file in self.files],
        }


def describe(failure: Failure, *, many: bool) -> str:
    """A failure in one sentence, with its file, and its number if the call had many edits."""
    from git_boocode.editing.text_changes import quoted

    where = [edit_name(failure.number)] if many and failure.number is not None else []
    where += [quoted(failure.path)] if failure.path else []
    return (f"{', '.join(where)}: " if where else "") + failure.message


def _failure_json(failure: Failure) -> dict[str, object]:
    return {
        "path": failure.path,
        "version": failure.version,
        "index": failure.number,
        "code": failure.code,
        "message": failure.message,
        "lines": list(failure.lines),
        "candidates": [
            {**candidate._asdict(), "differs": list(candidate.differs)}
            for candidate in failure.candidates
        ],
        "edit": failure.given,
    }


def file_json(file: EditedFile, encoding: str) -> dict[str, object]:
    """A file in a JSON answer; `encoding` is the one of the positions in text edits."""
    from git_boocode.editing.text_changes import text_edits

    old, text = (side.text if side else "" for side in (file.old, file.text))
    return {
        "path": file.path,
        "action": file.action,
        **({"from": file.moved_from} if file.moved_from else {}),
        "version": file.version,
        "edits": [{"index": edit.number, **applied.as_json()} for edit, applied in file.applied],
        "changed": [each.as_json() for each in changed_of(file)],
        "diff": diff_of(file),
        "text_edits": text_edits(old, text, encoding),
        **({"text": file.text and file.text.marked} if file.in_buffer else {}),
    }


def changed_of(file: EditedFile) -> list[ChangedRange]:
    """The lines of an edited file that changed; without them if the edit has the whole file."""
    from git_boocode.editing.text_changes import changed_lines

    is_whole = any(applied.rung in _WHOLE for _, applied in file.applied)
    return changed_lines(file.old, file.text, numbers_only=is_whole or file.action == "create")


def diff_of(file: EditedFile) -> str:
    """The diff of an edited file, as `git apply` takes it."""
    from git_boocode.editing.text_changes import unified_diff

    return unified_diff(file.path, file.old, file.text, file.moved_from, file.modes)


def retry_context(failures: Sequence[Failure], edits: int) -> str:
    """Why some of a call's edits were refused, with the files' text, in a bounded length.

    No line inside can be mistaken for the last one: text of files follows line numbers, and each
    edit is one line of JSON.
    """
    count = len({failure.number for failure in failures})
    what, todo = "The edit could not be applied", " Correct it and send it again."
    if all(failure.code == "already_applied" for failure in failures):
        what, todo = "The file already has the requested change", ""
    elif edits > 1:
        what = f"{count} of {edits} edits could not be applied"
        todo = " Correct them and send all edits again."
    shown = [line for failure in failures[:_MAX_FAILURES] for line in _lines(failure)]
    if len(failures) > _MAX_FAILURES:
        shown += ["", f"and {len(failures) - _MAX_FAILURES} more"]
    return "\n".join((BEGIN, f"{what}, so nothing was changed.{todo}", *shown, END)) + "\n"


def _advice(failure: Failure) -> str | None:
    advice = failure.hint or _ADVICE.get(failure.code)
    if advice and failure.path and not failure.hint and failure.code in ("not_found", "stale"):
        typed = shell_command("git", "boocode", "read", failure.path)
        return NextStep(advice, "read", failure.path, typed=typed)
    return advice


def _lines(failure: Failure) -> list[str]:
    where = "the input" if failure.number is None else edit_name(failure.number)
    path = f" of {_cut(_one_line(failure.path), _MAX_TEXT)}" if failure.path else ""
    lines = ["", f"{where}{path}: {failure.code}: {_cut(_one_line(failure.message), _MAX_TEXT)}"]
    todo = _advice(failure)
    if failure.format == "lines" and failure.code == "stale" and failure.candidates:
        todo = "name the lines below in that version, or read the file again"
    if todo:
        lines.append(f"what to do: {_cut(_one_line(todo), _MAX_TEXT)}")
    if failure.version:
        lines.append(f"the file as it is: {_version(failure)}")
    edit = []
    if failure.given is not None:
        given = json.dumps(failure.given, ensure_ascii=False).translate(_ENDS_OF_LINES)
        edit = ["the edit as received:", _cut(given, _MAX_TEXT)]
    left = _MAX_CHARACTERS - sum(len(line) + 1 for line in (*lines, *edit))
    candidates = failure.candidates[:_MAX_CANDIDATES]
    for number, candidate in enumerate(candidates):
        share = left // (len(candidates) - number)
        shown = list(_within(_candidate(failure, candidate), share))
        left -= sum(len(line) + 1 for line in shown)
        lines += shown
    return [*lines, *edit]


def _version(failure: Failure) -> str:
    """The version of a file as the next edit names it."""
    from git_boocode.editing.text_changes import quoted

    given = failure.given
    if failure.format != "lines":
        return f"version {failure.version}"
    if isinstance(given, dict) and _LINES_KEYS & given.keys():
        return f'"base": "{failure.version}"'
    return f"[{_cut(_one_line(quoted(failure.path or '')), _MAX_TEXT)}#{failure.version}]"


def _within(lines: Iterator[str], most: int) -> Iterator[str]:
    """The lines that fit into a number of characters, and the number of the others."""
    reserve = len("… (999 more lines)") + 1
    for line in lines:
        if len(line) + 1 + reserve > most:
            yield f"… ({1 + sum(1 for _ in lines)} more lines)"
            return
        most -= len(line) + 1
        yield line


def _candidate(failure: Failure, candidate: Candidate) -> Iterator[str]:
    kind = _KINDS.get(failure.code, "the nearest text")
    where = candidate.where or lines_of(candidate.start_line, candidate.end_line)
    alike = f" (similarity {candidate.similarity:.2f})" if candidate.similarity < 1 else ""
    head = f"{kind}, {_one_line(where)}{alike}"
    if candidate.old_string is None or candidate.old_start_line is None:
        yield f"{head}:"
        yield from numbered(candidate.text, candidate.start_line, _MAX_LINES)
    else:
        lines = candidate.old_string.split("\n")
        bare = "" if failure.format == "lines" else ", without the numbers"
        yield f"{head}; {_USES.get(failure.format or '', _USES[''])}{bare}:"
        yield from numbered(candidate.old_string, candidate.old_start_line, len(lines))
    if candidate.differs:
        yield "what differs, [-yours-]{+the file's+}:"
        yield from (_cut(_one_line(line), _MAX_WIDTH) for line in candidate.differs[:_MAX_LINES])


def numbered(text: str, first: int, most: int) -> Iterator[str]:
    """At most `most` lines of a file with their numbers, which begin with `first`."""
    lines = text.removesuffix("\n").split("\n")
    width = len(str(first + len(lines)))
    for number, line in enumerate(lines[:most], first):
        shown = line.removesuffix("\r").translate(_ENDS_OF_LINES)
        yield f"{number:>{width}}| {_cut(shown, _MAX_WIDTH)}"
    if len(lines) > most:
        yield f"{'…':>{width}}| ({len(lines) - most} more lines)"


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").translate(_ENDS_OF_LINES)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} …({len(text) - 2 * half} characters left out)… {text[-half:]}"
