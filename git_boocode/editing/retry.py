"""What a host sends back to the model when its edits were refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from git_boocode.editing.edits import Failure, edit_name, lines_of
from git_boocode.matching import Candidate

BEGIN = "@retry_context"
END = "@end retry_context"

MAX_FAILURES = 10
MAX_CHARACTERS = 2_000
"""Characters that the context spends on one edit."""
MAX_CANDIDATES = 3
MAX_LINES = 24
MAX_WIDTH = 200
MAX_MESSAGE = 400
MAX_EDIT = 400

ADVICE = {
    "not_found": "read the file again and copy the old text from it",
    "ambiguous": "send more lines, so that the old text occurs once",
    "already_applied": "leave this edit out; the file has its result",
    "stale": "read the file again and make the edit for what it holds now",
    "missing_file": "check the path, which counts from the top of the worktree",
    "outside_worktree": "name the file by its path from the top of the worktree",
    "binary": "the file is not text; leave it alone",
    "invalid_input": "correct what the message names, then send the edit again",
}

_KINDS = {
    "ambiguous": "one of the places",
    "stale": "the lines as they are now",
    "already_applied": "the new text",
}
_ENDS_OF_LINES = {ord(end): f"\\u{ord(end):04x}" for end in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
"""What a reader may take for the end of a line, and what is written instead, as in JSON."""

_USES = {
    "search-replace": "put exactly these lines between '<<<<<<< SEARCH' and '======='",
    "unified": "use exactly these lines as the hunk's ' ' and '-' lines",
    "apply-patch": "use exactly these lines as the hunk's ' ' and '-' lines",
    "region": "use up to 4 of these lines as 'start'",
}
_USE = "send exactly these lines as old_string"


def retry_context(failures: Sequence[Failure], edits: int) -> str:
    """Say what was refused and what the files really hold, in a bounded length.

    No line between the first and the last can pass for one of them: text of files follows line
    numbers, and each edit is one line of JSON.

    Args:
        failures: why edits were refused.
        edits: how many edits the call had.
    """
    count = len({failure.number for failure in failures})
    head = (
        f"{count} of {edits} edits could not be applied, so nothing was changed. "
        "Correct what is wrong and send all of them again."
    )
    if edits <= 1:
        head = (
            "The edit could not be applied, so nothing was changed. Correct it and send it again."
        )
    if all(failure.code == "already_applied" for failure in failures):
        head = "The file already has what was asked for, so nothing was changed."
    shown = [line for failure in failures[:MAX_FAILURES] for line in _lines(failure)]
    if len(failures) > MAX_FAILURES:
        shown += ["", f"and {len(failures) - MAX_FAILURES} more"]
    return "\n".join((BEGIN, head, *shown, END)) + "\n"


def advice(failure: Failure) -> str | None:
    """What to do about a failure."""
    return failure.hint or ADVICE.get(failure.code)


def _lines(failure: Failure) -> list[str]:
    where = "the input" if failure.number is None else edit_name(failure.number)
    path = f" of {_cut(_one_line(failure.path), MAX_MESSAGE)}" if failure.path else ""
    message = _cut(_one_line(failure.message), MAX_MESSAGE)
    lines = ["", f"{where}{path}: {failure.code}: {message}"]
    if todo := advice(failure):
        lines.append(f"what to do: {_cut(_one_line(todo), MAX_MESSAGE)}")
    edit = []
    if failure.given is not None:
        given = json.dumps(failure.given, ensure_ascii=False).translate(_ENDS_OF_LINES)
        edit = ["the edit as it was:", _cut(given, MAX_EDIT)]
    left = MAX_CHARACTERS - sum(len(line) + 1 for line in (*lines, *edit))
    candidates = failure.candidates[:MAX_CANDIDATES]
    for number, candidate in enumerate(candidates):
        share = left // (len(candidates) - number)
        shown = list(_within(_candidate(failure, candidate), share))
        left -= sum(len(line) + 1 for line in shown)
        lines += shown
    return [*lines, *edit]


def _within(lines: Iterator[str], most: int) -> Iterator[str]:
    """The lines that fit into a number of characters, then how many were left out."""
    reserve = len("… (999 more lines)") + 1
    for line in lines:
        if len(line) + 1 + reserve > most:
            yield f"… ({1 + sum(1 for _ in lines)} more lines)"
            return
        most -= len(line) + 1
        yield line


def _candidate(failure: Failure, candidate: Candidate) -> Iterator[str]:
    """A place, its text ready to be sent back, and the words that differ."""
    kind = _KINDS.get(failure.code, "the nearest text")
    where = candidate.where or lines_of(candidate.start_line, candidate.end_line)
    alike = f" (similarity {candidate.similarity:.2f})" if candidate.similarity < 1 else ""
    head = f"{kind}, {_one_line(where)}{alike}"
    if candidate.old_string is None or candidate.old_start_line is None:
        yield f"{head}:"
        yield from numbered(candidate.text, candidate.start_line, MAX_LINES)
    else:
        lines = candidate.old_string.split("\n")
        yield f"{head}; {_USES.get(failure.format or '', _USE)}, without the numbers:"
        yield from numbered(candidate.old_string, candidate.old_start_line, len(lines))
    if candidate.differs:
        yield "what differs, [-yours-]{+the file's+}:"
        yield from (_cut(_one_line(line), MAX_WIDTH) for line in candidate.differs[:MAX_LINES])


def numbered(text: str, first: int, most: int) -> Iterator[str]:
    """Lines of a file behind their numbers.

    Args:
        text: the lines.
        first: the number of the first one.
        most: how many to show.
    """
    lines = text.removesuffix("\n").split("\n")
    width = len(str(first + len(lines)))
    for number, line in enumerate(lines[:most], first):
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
