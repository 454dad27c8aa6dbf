"""How commands that edit files show what they did, or why they did not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from git_boocode.cli.output import Style, colour_wanted, print_text, printable, quote_path
from git_boocode.repo.errors import RefusedError

if TYPE_CHECKING:
    from git_boocode.editing.edits import Failure, Landing
    from git_boocode.editing.plan import PlannedFile
    from git_boocode.editing.result import Answer, EditsRefusedError
    from git_boocode.repo.config import Config

LETTERS = {"modify": "M", "create": "A", "delete": "D", "rename": "R"}
_CANDIDATE_LINES = 8
_CANDIDATES = 3


def refuse(error: EditsRefusedError) -> NoReturn:
    """Raise a refusal again with every failure spelt out for people.

    Raises:
        RefusedError: always.
    """
    blocks = ["\n".join(_failure_lines(error, failure)) for failure in error.failures]
    raise RefusedError("\nerror: ".join(blocks), code=error.code, hints=error.hints) from None


def _failure_lines(error: EditsRefusedError, failure: Failure) -> list[str]:
    from git_boocode.editing.result import describe

    lines = [describe(failure, many=error.edits > 1)]
    for candidate in failure.candidates[:_CANDIDATES]:
        lines += candidate_lines(candidate, _CANDIDATE_LINES)
    return lines


def candidate_lines(candidate: object, most: int) -> list[str]:
    """A candidate as people read it: where it is, and its numbered lines."""
    from git_boocode.editing.retry import numbered
    from git_boocode.matching import Candidate

    assert isinstance(candidate, Candidate)
    where = lines_of(candidate.start_line, candidate.end_line)
    head = f"  {where} (similarity {candidate.similarity:.2f}):"
    return [
        head,
        *(
            f"  {line.expandtabs(4)}"
            for line in numbered(candidate.text, candidate.start_line, most)
        ),
    ]


def lines_of(start: int, end: int) -> str:
    """A range of lines in words, empty ones included."""
    from git_boocode.editing import words

    if end < start:
        return f"after line {end}" if end else "at the top"
    return words.lines_of(start, end)


def print_diffs(answer: Answer, config: Config) -> None:
    """Print the diff of each file, without the indentation that all its lines share."""
    from git_boocode.editing.diff import without_common_indentation
    from git_boocode.editing.result import diff_of

    paint = _painter(config)
    for file in answer.files:
        diff = without_common_indentation(diff_of(file))
        for line in diff.split("\n")[:-1]:
            print_text(paint(line))


def _painter(config: Config) -> Callable[[str], str]:
    style = Style(enabled=colour_wanted(config))

    def paint(line: str) -> str:
        if line.startswith(("--- ", "+++ ")):
            return style(line, "bold")
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        return style(line, colour) if colour else line

    return paint


def summary(file: PlannedFile, landing: Landing, done: Mapping[str, str]) -> str:
    """What one edit did to a file, in one line.

    Args:
        file: the file.
        landing: where the edit landed.
        done: what to say instead of lines, by the rung.
    """
    letter = LETTERS[file.action] if file.changes else "="
    parts = [done.get(landing.rung) or _where(landing)]
    if landing.kind == "fuzzy":
        parts.append(f"fuzzy ({landing.rung} {landing.similarity:.2f})")
    parts += landing.notes
    path = quote_path(file.path)
    if file.moved_from is not None:
        path = f"{quote_path(file.moved_from)} -> {path}"
    return f" {letter} {path}: {printable(', '.join(parts))}"


def _where(landing: Landing) -> str:
    lines = lines_of(landing.start_line, landing.end_line)
    return f"{landing.places} places, first {lines}" if landing.places > 1 else lines
