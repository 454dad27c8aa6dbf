"""The turns that `git boocode restore` offers without a checkpoint, as a list or by number.

Where the terminal can do more than print lines, `git_boocode.cli.picker` offers them instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.cli.output import (
    ask,
    output_style,
    print_hints,
    print_json,
    print_text,
    printable,
    progress,
    report,
    wants_json,
)
from git_boocode.cli.turn_rows import (
    PAGE,
    ChosenTurn,
    TurnList,
    TurnRow,
    terminal_width,
    turn_lines,
)
from git_boocode.repo.errors import RefusedError, UsageError
from git_boocode.repo.ids import relative_offset
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from concurrent.futures import Future

_Chooser = Callable[[Repository, TurnList, "Future[list[TurnRow]]"], "ChosenTurn | None"]
_LEAST_COLUMNS, _LEAST_LINES = 20, 6  # of a terminal for the picker


def newest_turn(repository: Repository, paths: Sequence[str]) -> str:
    """The name of the newest turn that changed some paths; empty for none."""
    with temporary_objects(repository):
        return next((row.name for row in TurnList(repository, paths).read(1)), "")


def meant(repository: Repository, name: str, request: RestoreRequest, command: str) -> str:
    """The hint for a name that a command takes for a checkpoint's; empty for none."""
    from git_boocode.editing.records import Records

    if Records(repository).matching(name):
        return f"'{name}' is an edit: 'git boocode rewind {name}' undoes it"
    turn = ""
    with suppress(RefusedError):
        turn = newest_turn(repository, [name])
    if turn:
        # Whoever knows `git restore` names a path, perhaps of a file that was deleted.
        paths = (name, *request.paths)
        whole = request._replace(files=True, head=None, callback=None, paths=paths)
        typed = whole.command(command, turn)
        return f"'{name}' is a path: '{typed}' {command}s {'them' if paths[1:] else 'it'} alone"
    return f"'{name}' is a path that no turn changed" if os.path.lexists(name) else ""


def list_turns(repository: Repository, request: RestoreRequest) -> int:
    """Print the turns if there is no terminal to ask on; returns the exit code for usage."""
    with temporary_objects(repository):
        turn_list = TurnList(repository, request.paths)
        rows = turn_list.count(turn_list.read(PAGE))
    if not rows:
        return report(turn_list.is_empty())
    hint = f"give one of those listed: {request.command('restore', rows[0].name)}"
    error = UsageError("no checkpoint given", hints=(hint,))
    if wants_json():
        print_json({**error.as_json(), "checkpoints": [*map(_turn_json, rows)]})
        return error.exit_code
    _print_rows(repository, rows)
    return report(error)


def _print_rows(repository: Repository, rows: Sequence[TurnRow]) -> None:
    style = output_style(repository.config)
    for line in turn_lines(rows, style, terminal_width()):
        print_text(line)


def _turn_json(row: TurnRow) -> dict[str, object]:
    checkpoint, counts = row.turn.checkpoint, row.counts
    values = {key: text or None for key, text in checkpoint.texts.items()}
    return {"id": checkpoint.id, **values, "files": counts.files if counts else None}


def choose_turn(repository: Repository, request: RestoreRequest) -> ChosenTurn | None:
    """The turn that the user chooses on the terminal, and what to do with it; None for none.

    UsageError if this worktree has no checkpoints.
    """
    # A restore of a named checkpoint does without it.
    from concurrent.futures import ThreadPoolExecutor

    with temporary_objects(repository), ThreadPoolExecutor(1) as threads:
        turn_list = TurnList(repository, request.paths)
        # Git reads the worktree while Python imports the picker.
        first = threads.submit(turn_list.read, PAGE)
        return (_picker(repository) or _ask_number)(repository, turn_list, first)


def _picker(repository: Repository) -> _Chooser | None:
    """The picker, if the terminal can show it."""
    # Not what COLUMNS says: the picker draws on the terminal itself.
    size = os.get_terminal_size(sys.stdout.fileno())
    is_large = size.columns >= _LEAST_COLUMNS and size.lines >= _LEAST_LINES
    if not is_large or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return None
    try:
        # It takes longer to import than all else that a restore needs.
        from git_boocode.cli.picker import pick
    except ImportError:
        hint = "a list to scroll and filter needs the Python package prompt_toolkit"
        print_hints((hint,), repository.config)
        return None
    return pick


def _ask_number(
    repository: Repository, turn_list: TurnList, first: Future[list[TurnRow]]
) -> ChosenTurn | None:
    """Print the turns page by page, and ask for the number of one."""
    found: list[TurnRow] = []
    while True:
        with progress(repository, "reading the worktree"):
            page = turn_list.count(turn_list.read(PAGE) if found else first.result())
        if not (found or page):
            raise turn_list.is_empty()
        _print_rows(repository, page)
        found += page
        answer = _number(len(found), may_continue=len(page) == PAGE)
        if answer is None:
            return None
        if answer < len(found):
            return ChosenTurn(found[answer].turn.checkpoint.id)


def _number(count: int, *, may_continue: bool) -> int | None:
    """The number of the chosen turn, `count` to see more; None for none."""
    older = ", m for older ones" if may_continue else ""
    question = f"restore the state before which turn? [0-{count - 1}{older}, empty for none]"
    while answer := ask(question).lower():
        if answer in ("q", "quit", "n", "no"):
            return None
        if may_continue and answer in ("m", "more"):
            return count
        number = relative_offset(f"@~{answer}" if answer.isdigit() else answer)
        if number is not None and number < count:
            return number
        print_text(f"'{printable(answer)}' is not a number from 0 to {count - 1}")
    return None
