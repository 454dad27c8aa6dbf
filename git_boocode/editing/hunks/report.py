"""Say in words what became of the hunks of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from git_boocode.editing.edits import Landing, MissError, listed, short
from git_boocode.editing.hunks.model import Near, Refusal, Spot
from git_boocode.editing.hunks.rows import Rows
from git_boocode.editing.hunks.task import Task
from git_boocode.matching.types import Candidate

MAX_LISTED = 5
"""So many line numbers, and so many other hunks, does a message name."""
_MAX_LINE = 80
_MAX_TEXT = 4_000
_MAX_CANDIDATES = 10


def landing(tasks: Sequence[Task], spots: Sequence[Spot], notes: Sequence[str]) -> Landing:
    """Where the hunks of a file landed, taken together.

    Args:
        tasks: the hunks.
        spots: the place of each.
        notes: what else was done.
    """
    loosest = min(spots, key=lambda spot: (spot.rung == "exact", spot.similarity))
    first = min(spot.core[0] for spot in spots)
    stop = max(spot.core[1] for spot in spots)
    return Landing(
        "exact" if loosest.rung == "exact" else "fuzzy",
        loosest.rung,
        min(spot.similarity for spot in spots),
        len(spots),
        first + 1,
        stop,
        (*notes, *_grouped(tasks, spots)),
    )


def _grouped(tasks: Sequence[Task], spots: Sequence[Spot]) -> Iterator[str]:
    """The notes of all hunks, those that are alike told once."""
    found: dict[str, list[int]] = {}
    for task, spot in zip(tasks, spots, strict=True):
        for note in (*task.hunk.notes, *_moved(task, spot), *_rung(spot), *spot.notes):
            found.setdefault(note, []).append(task.number)
    for note, numbers in found.items():
        yield f"hunk{'s' if len(numbers) > 1 else ''} {listed(numbers, MAX_LISTED)}: {note}"


def _rung(spot: Spot) -> Iterator[str]:
    if spot.rung != "exact":
        yield f"found by {spot.rung}"


def _moved(task: Task, spot: Spot) -> Iterator[str]:
    start = task.hunk.start
    if start is not None and start != spot.first:
        count = abs(spot.first - start)
        side = "below" if spot.first > start else "above"
        yield f"{count} line{'s' if count > 1 else ''} {side} its number"


def miss(tasks: Sequence[Task], rows: Rows, refusals: dict[int, Refusal]) -> MissError:
    """The one error for all hunks that have no place; the first one gives its code."""
    order = sorted(refusals)
    messages = [
        _message(tasks[index], len(tasks), rows, refusals[index]) for index in order[:MAX_LISTED]
    ]
    message = "; ".join(messages)
    if len(order) > MAX_LISTED:
        rest = [tasks[index].number for index in order[MAX_LISTED:]]
        message += f"; also hunks {listed(rest, MAX_LISTED)}"
    near = [one for index in order for one in refusals[index].near]
    first = refusals[order[0]]
    hints = [hint for index in order if (hint := refusals[index].hint)]
    return MissError(
        first.code,
        message,
        lines=tuple(one.first + 1 for one in first.near),
        candidates=tuple(_candidate(rows, one) for one in near[:_MAX_CANDIDATES]),
        hint="; ".join(dict.fromkeys(hints)) or None,
    )


def _message(task: Task, count: int, rows: Rows, refusal: Refusal) -> str:
    hunk = task.hunk
    header = f"'{short(hunk.header, _MAX_LINE)}', " if hunk.header else ""
    of = f" of {count}" if count > 1 else ""
    name = f"hunk {task.number}{of} ({header}line {hunk.row} of the patch)"
    what = refusal.message or "the file does not have its lines"
    return f"{name}: {what}{_where(task, rows, refusal)}"


def _where(task: Task, rows: Rows, refusal: Refusal) -> str:
    near = refusal.near
    if refusal.code == "ambiguous" or any(one.similarity == 1 and not one.pointed for one in near):
        places = [_lines(one) for one in near]
        return f", at {_plural(places)}" if places else ""
    expected = _expected(task, rows, near[0] if near else None)
    return f"; {expected}" if expected else ""


def _plural(places: Sequence[str]) -> str:
    shown = listed(places, MAX_LISTED)
    return f"line{'s' if len(places) > 1 or '-' in shown else ''} {shown}"


def _lines(near: Near) -> str:
    first, last = near.first + 1, max(near.stop, near.first + 1)
    return str(first) if first == last else f"{first}-{last}"


def _expected(task: Task, rows: Rows, near: Near | None) -> str:
    """The first line that the file lacks, and what it holds instead."""
    if near is None:
        lacking = next((line for line in task.old if line not in rows.exact.index), None)
        return (
            "" if lacking is None else f"expected '{short(lacking, _MAX_LINE)}', which no line is"
        )
    there = rows.exact.keys[near.first : near.stop]
    nearest = f"nearest is {_plural([_lines(near)])}, {near.similarity:.0%} similar"
    at = next((at for at, line in enumerate(task.old) if line not in there), None)
    if at is None:
        return "" if near.pointed else nearest
    row = near.first + min(at, len(there) - 1)
    holds = short(rows.exact.keys[row], _MAX_LINE)
    lacking = f"expected '{short(task.old[at], _MAX_LINE)}', line {row + 1} is '{holds}'"
    return lacking if near.pointed else f"{lacking}; {nearest}"


def _candidate(rows: Rows, near: Near) -> Candidate:
    stop = max(near.stop, near.first + 1)
    text = "\n".join(rows.exact.keys[near.first : stop])[:_MAX_TEXT]
    return Candidate(near.first + 1, stop, near.similarity, text)
