"""Turns as people see them: one line each, aligned, and cut to the width of the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.turns import ChangeCounts, Turn
from git_boocode.cli.candidates import ago
from git_boocode.cli.colour import Style
from git_boocode.cli.output import counted, label_of, printable, quote_path
from git_boocode.repo.errors import FatalError, UsageError
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import ID, id_time
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.editing.records import EditRecord

_SHOWN_PATHS = 2
_SESSION_LENGTH = 8
_GAP = "  "
# Characters; a wider name or time is rare, and moves the columns behind it.
_NAME, _TIME = 5, 11
_NARROW = 60  # columns, for which the label matters more than the counts of lines


class TurnRow(NamedTuple):
    """A turn, what changed in it, and the name and the time that are shown for it.

    The agent is shown if one is given.
    """

    turn: Turn
    counts: ChangeCounts | None
    name: str
    time: str
    agent: str = ""
    is_counted: bool = True


def time_of(entry: Checkpoint | EditRecord) -> float:
    """When an entry was made, in seconds since 1970; 0 if its id is of another program."""
    return id_time(entry.id) if ID.fullmatch(entry.id) else 0.0


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

    def __call__(self, entries: Sequence[Checkpoint | EditRecord]) -> list[str]:
        """The times of some entries (UsageError or FatalError if the format is invalid)."""
        if self._format == "relative-local":
            return [ago(time_of(each)) if time_of(each) else "" for each in entries]
        if not entries:
            return []
        commits = "".join(f"{each.commit.id}\n" for each in entries).encode()
        arguments = ("--no-walk=unsorted", "--format=%H %cd", f"--date={self._format}", "--stdin")
        try:
            lines = self._repository.git.line("log", *arguments, stdin=commits).split("\n")
        except GitError:
            form = self._format.replace("-local", "")
            message = f"'{form}' is not a valid date format ({self._origin})"
            hints = ("examples: relative, local, iso, short, human, format:%d.%m. %H:%M",)
            if self._origin == "--date":
                raise UsageError(message, hints=hints) from None
            raise FatalError(message, code="bad_config", hints=hints) from None
        times = dict(line.partition(" ")[::2] for line in lines)
        return [printable(times.get(each.commit.id, "")) for each in entries]


def heading(turn: Turn) -> str:
    """What the turns of a session have in common: the agent, the branch, the session."""
    checkpoint = turn.checkpoint
    meta, ref = checkpoint.meta, checkpoint.meta.part("head", "ref")
    agent, session = (printable(meta.text(key)) for key in ("agent", "session"))
    branch = printable(ref.removeprefix("refs/heads/")) if ref else "a detached HEAD"
    trigger = printable(meta.text("trigger"))
    by = "by hand" if trigger in ("", "manual") else f"by {trigger}"
    parts = [f"{agent or by} on {branch}"]
    parts += [f"session {session[:_SESSION_LENGTH]}"] if session else []
    parts += [f"worktree {printable(meta.worktree_name)}"] if meta.worktree_name != "main" else []
    parts += [f"remote {printable(checkpoint.remote)}"] if checkpoint.remote else []
    return ", ".join(parts)


def turn_label(checkpoint: Checkpoint) -> str:
    """The label; of a checkpoint of some paths only, these before it."""
    paths = checkpoint.meta.table("partial").get("paths")
    if not isinstance(paths, list):
        return label_of(checkpoint)
    shown = ", ".join(quote_path(str(path)) for path in islice(paths, _SHOWN_PATHS))
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return f"(only {shown}{more}) {label_of(checkpoint)}".rstrip()


def counts_text(counts: ChangeCounts) -> str:
    """What changed, such as `3 files +18 −61`."""
    return f"{counted(counts.files, 'file')} +{counts.added:,} −{counts.removed:,}"


def turn_lines(rows: Sequence[TurnRow], style: Style, width: int | None = None) -> list[str]:
    """The lines of some turns, aligned with each other, and cut to `width` columns."""
    is_narrow = width is not None and width < _NARROW
    files = [_files(row) for row in rows]
    added = [f"+{row.counts.added:,}" if row.counts else "" for row in rows]
    removed = [f"−{row.counts.removed:,}" if row.counts else "" for row in rows]
    columns = [
        ("", _padded([row.name for row in rows], _NAME, colour="yellow", style=style)),
        (" ", _padded([row.time for row in rows], _TIME, style=style, to_the_right=True)),
        (_GAP, _padded(files, len("10 files"), style=style, to_the_right=True)),
    ]
    if not is_narrow:
        least = len("+1")
        more = _padded(added, least, colour="green", style=style, to_the_right=True)
        less = _padded(removed, least, colour="red", style=style, to_the_right=True)
        columns += [(" ", more), (" ", less)]
        agents = [row.agent for row in rows]
        if any(agents):
            columns += [(_GAP, _padded(agents, 0, colour="cyan", style=style))]
    lines = []
    for number, row in enumerate(rows):
        painted, used = "", 0
        for gap, column in columns:
            text, shown = column[number]
            painted, used = painted + gap + shown, used + len(gap) + display_width(text)
        label = turn_label(row.turn.checkpoint)
        if width is not None:
            label = cut(label, width - used - len(_GAP))
        lines.append(f"{painted}{_GAP}{label}" if label else painted.rstrip())
    return lines


def _files(row: TurnRow) -> str:
    if row.counts is None:
        return "?" if row.is_counted else "…"
    # Aligned with the plural.
    return counted(row.counts.files, "file") + (" " if row.counts.files == 1 else "")


def _padded(
    texts: Sequence[str], least: int, *, style: Style, colour: str = "", to_the_right: bool = False
) -> list[tuple[str, str]]:
    """Texts that are equally wide, each as it is and painted."""
    width = max((least, *map(display_width, texts)))
    padded = []
    for text in texts:
        space = " " * (width - display_width(text))
        whole = space + text if to_the_right else text + space
        painted = style(text, colour) if colour and text else text
        padded.append((whole, space + painted if to_the_right else painted + space))
    return padded


def terminal_width() -> int | None:
    """The columns of the terminal that standard output is; None if it is none."""
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


def cut(text: str, width: int) -> str:
    """A text that takes at most `width` columns, and ends in `…` if something is left out."""
    if display_width(text) <= width:
        return text
    kept, used = "", 1
    for character in text:
        used += _columns(character)
        if used > width:
            break
        kept += character
    return f"{kept}…" if width > 0 else ""
