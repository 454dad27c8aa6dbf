"""Print turns for people: one line each, aligned, and cut to the width of the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.checkpoints.own_changes import OwnTurns
from git_boocode.checkpoints.restore.request import RESTORE
from git_boocode.checkpoints.store.catalog import NO_CHECKPOINTS, Catalog, Checkpoint
from git_boocode.checkpoints.turn_changes import (
    ChangeCounts,
    TurnFile,
    changed_files,
)
from git_boocode.checkpoints.turn_changes import counted as counted_files
from git_boocode.checkpoints.turn_words import marks, taken_by
from git_boocode.checkpoints.turns import TOP, CurrentTree, Turn
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs
from git_boocode.checkpoints.worktree_log import WorktreeLog
from git_boocode.cli.candidates import age_of
from git_boocode.cli.output import Style, counted, label_of, printable, quote_path, warn
from git_boocode.cli.timeline_rows import row_texts, with_commit_runs
from git_boocode.repo.errors import FatalError, UsageError
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import ID, SHORT_ID, ago
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

if TYPE_CHECKING:
    from git_boocode.checkpoints.commit_log import LoggedCommit
    from git_boocode.editing.records import EditRecord, Records

_SHOWN_PATHS = 2
_SESSION_LENGTH = 8
_GAP = "  "
# Characters; a wider name or time is rare, and moves the columns behind it.
NAME_WIDTH, TIME_WIDTH = 5, 11
_LEAST_AGENT = 8  # columns of a name that is cut, with the gap before it
PAGE = 20  # turns that are shown at once
PARTS = "parts"
"""To restore parts of files to before a turn."""
_SEARCHED = 96  # turns that a git process searches


class ChosenTurn(NamedTuple):
    """A turn that the user chose from a list: its id, and what to do with it.

    `paths` are pathspecs of the only files to do it with; empty for all.
    """

    id: str
    action: str = RESTORE  # or PARTS, `revert` or `pick`
    after: bool = False  # restore to after the turn
    paths: tuple[str, ...] = ()


class TurnRow(NamedTuple):
    """A turn, what changed in it, and the name and the time that are shown for it.

    The agent is shown if one is given. `state` is that of `TurnStates`.
    """

    turn: Turn
    counts: ChangeCounts | None
    name: str
    time: str
    agent: str = ""
    is_counted: bool = True
    state: str = ""
    is_open: bool = False

    def with_files(self, files: Sequence[TurnFile] | None) -> TurnRow:
        """The same row with the counts of some files; None if they are unknown."""
        counts = None if files is None else counted_files(files)
        return self._replace(counts=counts, is_counted=True)


class Dates:
    """The times of checkpoints and edit records in one of git's formats, in local time.

    `wanted` is a format as `git log --date` takes it; empty for the configured `log.date`, and
    without that `default`.
    """

    def __init__(
        self, repository: Repository, wanted: str = "", *, default: str = "relative"
    ) -> None:
        self._repository = repository
        self._origin = "--date" if wanted else "log.date"
        form = wanted or repository.config.text("log.date") or default
        if form.startswith("auto:"):
            # Git would look at its own standard output.
            form = form.removeprefix("auto:") if sys.stdout.isatty() else "default"
        kind, colon, rest = form.partition(":")
        is_local = kind == "local" or kind.endswith("-local")
        self._format = f"{kind}{'' if is_local else '-local'}{colon}{rest}"

    @property
    def are_ages(self) -> bool:
        """Whether the times change while they are shown."""
        return self._format == "relative-local"

    def __call__(self, entries: Sequence[Checkpoint | EditRecord]) -> list[str]:
        """The times of some entries (UsageError or FatalError if the format is invalid)."""
        if self.are_ages:
            return [age_of(each.id) for each in entries]
        return self._of([each.commit.id for each in entries])

    def of_commits(self, commits: Sequence[LoggedCommit]) -> list[str]:
        """The times at which HEAD moved to some commits, or those of the commits."""
        if self.are_ages:
            return [ago(each.time) for each in commits]
        return self._of([each.id for each in commits])

    def _of(self, ids: Sequence[str]) -> list[str]:
        if not ids:
            return []
        commits = "".join(f"{each}\n" for each in ids).encode()
        arguments = ("--no-walk=unsorted", "--format=%H %cd", f"--date={self._format}", "--stdin")
        try:
            git = self._repository.git.bind("log.date=default")
            lines = git.line("log", *arguments, stdin=commits).split("\n")
        except GitError:
            form = self._format.replace("-local", "")
            message = f"'{form}' is not a valid date format ({self._origin})"
            hints = ("examples: relative, local, iso, short, human, format:%d.%m. %H:%M",)
            if self._origin == "--date":
                raise UsageError(message, hints=hints) from None
            raise FatalError(message, code="bad_config", hints=hints) from None
        times = dict(line.partition(" ")[::2] for line in lines)
        return [printable(times.get(each, "")) for each in ids]


def group_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """What the turns below one heading have in common."""
    meta, ref = checkpoint.meta, checkpoint.meta.part("head", "ref")
    agent, session, trigger = (meta.text(key) for key in ("agent", "session", "trigger"))
    branch = ref.removeprefix("refs/heads/") if ref else "a detached HEAD"
    return taken_by(agent, trigger), branch, session, meta.worktree_name, checkpoint.remote


def heading(checkpoint: Checkpoint) -> str:
    """The heading of a group of turns: the agent, the branch, the session."""
    by, branch, session, worktree, remote = map(printable, group_of(checkpoint))
    # Ids of version 7 that were made in the same minute begin alike.
    length = SHORT_ID if ID.fullmatch(session) else _SESSION_LENGTH
    parts = [f"{by} on {branch}"]
    parts += [f"session {session[:length]}"] if session else []
    parts += [f"worktree {worktree}"] if worktree != "main" else []
    parts += [f"remote {remote}"] if remote else []
    return ", ".join(parts)


def turn_label(checkpoint: Checkpoint) -> str:
    """The label, after the only paths that were recorded, and whether it begins no turn."""
    paths = checkpoint.meta.table("partial").get("paths")
    label = label_of(checkpoint).replace("\t", " ")
    if checkpoint.in_turn:
        label = f"(during a turn) {label}".rstrip()
    if not isinstance(paths, list):
        return label
    names = (str(path).removeprefix(TOP) for path in islice(paths, _SHOWN_PATHS))
    shown = ", ".join(map(quote_path, names))
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return f"(only {shown}{more}) {label}".rstrip()


def turn_title(row: TurnRow, width: int | None) -> str:
    """The label, cut to a width, and the marks of the turn."""
    mark = marks(row.state, is_open=row.is_open)
    left = width - len(mark) - 1 if mark and width is not None else width
    return " ".join(filter(None, (cut(turn_label(row.turn.checkpoint), left), mark)))


def prompt_lines(checkpoint: Checkpoint) -> list[str]:
    """The lines of the prompt, safe to print; none if the label is all that was kept of it."""
    text = checkpoint.meta.shown("prompt").replace("\r\n", "\n").strip()
    if text in ("", checkpoint.meta.shown("label")):
        return []
    return [printable(line.expandtabs()).rstrip() for line in text.split("\n")]


class Column(NamedTuple):
    """A column of what is known of some turns."""

    texts: Sequence[str]
    least: int = 0  # columns of the terminal, for what is aligned with another list
    gap: str = _GAP
    colour: str = ""
    align_right: bool = False

    @property
    def width(self) -> int:
        """The columns of the terminal that it takes, with the gap before it."""
        return len(self.gap) + max((self.least, *map(display_width, self.texts)))

    def cut(self, width: int) -> Column:
        """This column with a width, the gap included."""
        return self._replace(texts=[cut(text, width - len(self.gap)) for text in self.texts])

    def cells(self, style: Style) -> list[str]:
        """The texts with their gaps, and what aligns them."""
        room = self.width - len(self.gap)
        cells = []
        for text in self.texts:
            space = " " * (room - display_width(text))
            painted = style(text, self.colour) if self.colour and text else text
            cells.append(self.gap + (space + painted if self.align_right else painted + space))
        return cells


def turn_lines(rows: Sequence[TurnRow], style: Style, width: int | None = None) -> list[str]:
    """The lines of some turns, aligned with each other, and cut to `width` columns.

    Half of the width is for the labels, if one needs it: by them, users recognize a turn.
    """
    files = [_files(row) for row in rows]
    columns = {
        "name": Column([row.name for row in rows], NAME_WIDTH, "", "yellow"),
        "time": Column([row.time for row in rows], TIME_WIDTH, " ", align_right=True),
        "files": Column(files, len("10 files"), align_right=True),
    }
    for name, sign, colour in (("added", "+", "green"), ("removed", "−", "red")):
        counts = (getattr(row.counts, name) if row.counts else None for row in rows)
        texts = ["" if count is None else f"{sign}{count:,}" for count in counts]
        columns[name] = Column(texts, len("+1"), " ", colour, align_right=True)
    if any(row.agent for row in rows):
        columns["agent"] = Column([row.agent for row in rows], colour="cyan")
    if width is not None:
        longest = max((display_width(turn_title(row, None)) for row in rows), default=0)
        _narrow(columns, width - min(longest, width // 2 + 1) - len(_GAP))
    used = sum(column.width for column in columns.values())
    left = None if width is None else width - used - len(_GAP)
    lines = []
    cells = (column.cells(style) for column in columns.values())
    for row, of_row in zip(rows, zip(*cells, strict=True), strict=True):
        front, label = "".join(of_row), turn_title(row, left)
        lines.append(f"{front}{_GAP}{label}" if label else front.rstrip())
    return lines


def _narrow(columns: dict[str, Column], room: int) -> None:
    """Cut and leave out columns that together are wider than the room for them."""

    def excess() -> int:
        return sum(column.width for column in columns.values()) - room

    if excess() > 0:
        del columns["added"], columns["removed"]
    if excess() > 0:
        columns |= {name: column._replace(least=0) for name, column in columns.items()}
    if "agent" in columns and (more := excess()) > 0:
        agent = columns["agent"]
        if agent.width - more < _LEAST_AGENT:
            del columns["agent"]
        else:
            columns["agent"] = agent.cut(agent.width - more)
    for name in ("files", "time"):
        if excess() > 0:
            del columns[name]


def _files(row: TurnRow) -> str:
    if row.counts is None:
        if row.turn.checkpoint.in_turn:
            return ""
        return "?" if row.is_counted else "…"
    # Aligned with the plural.
    return counted(row.counts.files, "file") + (" " if row.counts.files == 1 else "")


def edit_state(record: EditRecord) -> str:
    """Whether an edit is rewound, in words; empty if it is not."""
    if record.rewound:
        return "rewound"
    return "rewound in part" if record.rewound_paths else ""


def warn_of_unreadable(records: Records) -> None:
    """Warn of the edit records that were read and cannot be used."""
    if found := len(records.unreadable):
        what = counted(found, "edit record")
        warn(f"{what} cannot be read", ("'git boocode doctor' shows which, and why",))


def terminal_width() -> int | None:
    """The width of the terminal; None if standard output is none."""
    if not (sys.stdout.isatty() or os.environ.get("GIT_PAGER_IN_USE") == "true"):
        return None
    return shutil.get_terminal_size().columns


def fitted(text: str, width: int) -> str:
    """A text in exactly `width` columns."""
    short = cut(text, width)
    return short + " " * (width - display_width(short))


def display_width(text: str) -> int:
    """The columns that a text takes on a terminal."""
    # The library for this takes 50 ms to load.
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int | None) -> str:
    """A text that takes at most `width` columns, and ends in `…` if something is left out."""
    if width is None or display_width(text) <= width:
        return text
    kept, used = "", 1
    for character in text:
        used += _columns(character)
        if used > width:
            break
        kept += character
    return f"{kept}…" if width > 0 else ""


def _name_of(number: int) -> str:
    return f"@~{number}" if number else "@"


class TurnList:
    """The turns of this worktree, newest first, read as far as they are asked for.

    With paths, which are pathspecs relative to the caller's directory, only the turns that changed
    what they match. Use it inside of `temporary_objects`.
    """

    def __init__(self, repository: Repository, paths: Sequence[str] = ()) -> None:
        self._catalog = catalog = Catalog(repository)
        self._paths = paths
        self.pathspecs = checked_pathspecs(repository, paths) if paths else ()
        self._repository = repository
        listed = OwnTurns(catalog, CurrentTree(repository))
        self._found = enumerate(listed.turns(catalog.newest_first()))
        self._beside = WorktreeLog(listed)
        self._names: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}
        self._dates = Dates(repository)
        self._changing: list[TurnRow] = []

    def read(self, most: int) -> list[TurnRow]:
        """The next turns, without counts unless there are paths; fewer than `most` at the end."""
        if not self.pathspecs:
            return self._next(most)
        while len(self._changing) < most and (rows := self._next(_SEARCHED)):
            counted = self.count(rows)
            self._changing += [row for row in counted if row.counts and row.counts.files]
        found, self._changing = self._changing[:most], self._changing[most:]
        return found

    def lines_before(self, row: TurnRow) -> list[str]:
        """What happened between a turn that was read and the one after it, in lines."""
        return self._lines.get(row.turn.checkpoint.id, [])

    def _next(self, most: int) -> list[TurnRow]:
        found = [*islice(self._found, most)]
        times = self._dates([turn.checkpoint for _, turn in found])
        self._read_beside([turn.checkpoint for _, turn in found])
        rows = []
        for (number, turn), when in zip(found, times, strict=True):
            checkpoint = turn.checkpoint
            row = TurnRow(turn, None, _name_of(number), when, is_counted=False)
            rows.append(
                row._replace(
                    agent=printable(checkpoint.meta.text("agent")),
                    state=self._beside.states.of(checkpoint),
                    is_open=self._beside.is_open(checkpoint),
                )
            )
        return rows

    def _read_beside(self, begun: Sequence[Checkpoint]) -> None:
        """Read what happened beside some turns, unless only some turns are wanted."""
        if self.pathspecs or not begun:
            return
        is_first, short = not self._names, ShortIds(self._catalog.store)
        for checkpoint in begun:
            self._names[checkpoint.id] = _name_of(len(self._names))
            self._beside.note(checkpoint)
        self._beside.compared(self._beside.read()[1])
        if is_first:
            self._beside.list_operations(undone=False)
            self._beside.mark()
        for checkpoint in begun:
            rows = [*with_commit_runs(self._beside.above(checkpoint.id))]
            texts = row_texts(self._catalog, rows, self._name, short)
            self._lines[checkpoint.id] = texts

    def _name(self, turn: str) -> str:
        return self._names.get(turn) or ShortIds(self._catalog.store)(turn)

    def count(self, rows: Sequence[TurnRow]) -> list[TurnRow]:
        """The same rows with the counts of what changed."""
        return [row.with_files(files) for row, files in zip(rows, self.files(rows), strict=True)]

    def files(self, rows: Sequence[TurnRow]) -> list[Sequence[TurnFile] | None]:
        """The files that changed in each turn; None if that is unknown."""
        turns = [row.turn for row in rows]
        return changed_files(self._repository, turns, pathspecs=self.pathspecs)

    def with_ages(self, rows: Sequence[TurnRow]) -> list[TurnRow]:
        """The same rows with their times, as far as these change."""
        if not self._dates.are_ages:
            return [*rows]
        times = self._dates([row.turn.checkpoint for row in rows])
        return [row._replace(time=time) for row, time in zip(rows, times, strict=True)]

    def is_empty(self) -> UsageError:
        """The error if there is nothing to choose from."""
        hint: str = NO_CHECKPOINTS
        if self._catalog.latest() is not None:
            named = ", ".join(f"'{path}'" for path in self._paths)
            hint = f"no turn changed {named}; 'git boocode log' lists the turns"
        return UsageError("no checkpoint given", hints=(hint,))
