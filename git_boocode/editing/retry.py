"""What a host sends back to the model when its edits were refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from git_boocode.editing.edits import Failure, edit_name
from git_boocode.editing.words import lines_of
from git_boocode.matching import Candidate

BEGIN = "@retry_context"
END = "@end retry_context"

MAX_FAILURES = 10
MAX_CANDIDATES = 3
MAX_LINES = 24
MAX_WIDTH = 240
MAX_MESSAGE = 600
MAX_EDIT = 2_000

ADVICE = {
    "not_found": "read the file again and send the old text exactly as it stands there",
    "ambiguous": "add lines above or below until the old text stands in one place only",
    "missing_file": "check the path, which counts from the top of the worktree",
    "outside_worktree": "name the file by its path from the top of the worktree",
    "binary": "the file is no text; leave it alone",
    "invalid_input": "correct what the message names, then send the edit again",
}


_ENDS_OF_LINES = {ord(end): f"\\u{ord(end):04x}" for end in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
"""What a reader may take for the end of a line, and what is written instead, as in JSON."""


def retry_context(failures: Sequence[Failure], edits: int) -> str:
    """Say what was refused and what the files really hold, in a bounded length.

    No line between the first and the last can pass for one of them: text of files stands behind
    line numbers, and the edits stand on one line each, as JSON.

    Args:
        failures: why edits were refused.
        edits: how many edits the call had.
    """
    count = len({failure.number for failure in failures})
    head = f"{count} of {edits} edits could not be applied, so nothing was changed. "
    head += "Correct what is wrong and send all of them again."
    if edits <= 1:
        head = (
            "The edit could not be applied, so nothing was changed. Correct it and send it again."
        )
    shown = [line for failure in failures[:MAX_FAILURES] for line in _lines(failure)]
    if len(failures) > MAX_FAILURES:
        shown += ["", f"and {len(failures) - MAX_FAILURES} more"]
    return "\n".join((BEGIN, head, *shown, END)) + "\n"


def advice(failure: Failure) -> str | None:
    """What to do about a failure."""
    return failure.hint or ADVICE.get(failure.code)


def _lines(failure: Failure) -> Iterator[str]:
    where = "the input" if failure.number is None else edit_name(failure.number)
    path = f" of {_one_line(failure.path)}" if failure.path else ""
    yield ""
    yield f"{where}{path}: {failure.code}: {_cut(_one_line(failure.message), MAX_MESSAGE)}"
    if todo := advice(failure):
        yield f"what to do: {_cut(_one_line(todo), MAX_MESSAGE)}"
    for candidate in failure.candidates[:MAX_CANDIDATES]:
        yield from _candidate(failure, candidate)
    if failure.given is not None:
        yield "the edit as it was:"
        given = json.dumps(failure.given, ensure_ascii=False)
        yield _cut(given.translate(_ENDS_OF_LINES), MAX_EDIT)


def _candidate(failure: Failure, candidate: Candidate) -> Iterator[str]:
    what = "one of the places" if failure.code == "ambiguous" else "the nearest text of the file"
    where = lines_of(candidate.start_line, candidate.end_line)
    yield f"{what}, {where} (similarity {candidate.similarity:.2f}):"
    yield from numbered(candidate, MAX_LINES)


def numbered(candidate: Candidate, most: int) -> Iterator[str]:
    """The lines of a candidate behind their numbers.

    Args:
        candidate: a stretch of a file.
        most: how many lines to show.
    """
    lines = candidate.text.removesuffix("\n").split("\n")
    width = len(str(candidate.start_line + len(lines)))
    for number, line in enumerate(lines[:most], candidate.start_line):
        shown = line.removesuffix("\r").translate(_ENDS_OF_LINES)
        yield f"{number:>{width}}| {_cut(shown, MAX_WIDTH)}"
    if len(lines) > most:
        yield f"{'…':>{width}}| ({len(lines) - most} more lines)"


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").translate(_ENDS_OF_LINES)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} …({len(text) - 2 * half} characters left out)… {text[-half:]}"
