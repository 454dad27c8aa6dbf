"""`git boocode log`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, count, groupby, islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from git_boocode.checkpoints.commit_log import LoggedCommit
from git_boocode.checkpoints.operation_log import LoggedOperation
from git_boocode.checkpoints.store.catalog import NO_CHECKPOINTS
from git_boocode.checkpoints.turn_log import Entry, ListedTurn, LogRequest, TurnLog
from git_boocode.cli.candidates import agents, commits, or_paths, remotes
from git_boocode.cli.diff import diff_into
from git_boocode.cli.framework import (
    AtLeast,
    Command,
    json_option,
    misused,
    option,
    refuse_together,
    split_at_dashes,
)
from git_boocode.cli.options import output_options
from git_boocode.cli.output import (
    Style,
    counted,
    encode_text,
    first_lines,
    output_style,
    paged,
    print_hints,
    print_json,
    print_text,
    printable,
    progress,
    quote_path,
    wants_json,
    warn,
    warn_of_interruption,
)
from git_boocode.cli.timeline_rows import CommitRun, Row, row_texts, with_commit_runs
from git_boocode.cli.turn_rows import (
    NAME_WIDTH,
    TIME_WIDTH,
    Dates,
    TurnRow,
    cut,
    edit_state,
    group_of,
    heading,
    prompt_lines,
    terminal_width,
    turn_lines,
    turn_title,
    warn_of_unreadable,
)
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.ids import SHORT_ID
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

if TYPE_CHECKING:
    from git_boocode.editing.records import EditRecord

_COUNT = re.compile(r"-[0-9]+")
_SHOWN_FILES = 3  # of an edit


class _LogCommand(Command):
    """It takes `-5` for `-n 5`, as `git log` does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = (each for each in self.params if isinstance(each, click.Option))
        valued = {name for option in options if not option.is_flag for name in option.opts}
        behind = args.index("--") if "--" in args else len(args)
        before = ["", *args[:-1]]
        given = [
            f"-n{arg[1:]}" if _COUNT.fullmatch(arg) and last not in valued else arg
            for last, arg in zip(before[:behind], args[:behind], strict=True)
        ]
        return super().parse_args(ctx, [*given, *args[behind:]])


class _Shown(NamedTuple):
    """What is printed of the turns."""

    oneline: bool
    stat: bool
    patch: bool
    date: str

    @property
    def prompts(self) -> bool:
        """Whether the prompts are shown whole, too."""
        return output_options().verbose and not self.oneline

    @property
    def changes(self) -> list[str]:
        """Git's options for what is shown of the changes of each turn; none for nothing."""
        return ["--stat"] * self.stat + ["--patch"] * self.patch


@click.command(cls=_LogCommand)
@option("-n, --max-count <n>", "List at most <n> turns; -<n> does the same.", type=AtLeast(0))
@option("--oneline", "Show only id, name and label of each turn.")
@option("--stat", "Also show a summary of the changes of each turn.")
@option("-p, --patch", "Also show the changes of each turn.")
@option("-S <text>", "Only turns that added or removed this text.", "text")
@option("-G <regex>", "Only turns with a changed line that matches.", "regex")
@option("--since <date>", "Only turns that began after this date.")
@option("--until <date>", "Only turns that began before this date.")
@option("--grep <words>", "Only turns with all of these words in text or paths.", default="")
@option("--agent <name>", "Only turns of this agent.", default="", shell_complete=agents)
@option("--session <id>", "Only turns of sessions whose id starts with <id>.", default="")
@option("--date <format>", "Show times as git log --date does.", default="")
@option("--all", "Include all worktrees.", "everywhere")
@option(
    "--remote <name>", "List checkpoints fetched from this remote instead.", shell_complete=remotes
)
@option("--remotes", "List checkpoints fetched from any remote instead.")
@option("--archived", "List checkpoints that restores archived instead.")
@option("--edits", "List the applied edits instead.")
@click.argument(
    "pathspecs",
    nargs=-1,
    metavar="[<range>] [--] [<path>...]",
    shell_complete=or_paths(commits, 1),
)
@json_option
def log(
    oneline: bool,
    stat: bool,
    patch: bool,
    date: str,
    **given: Any,  # noqa: ANN401 - click's own
) -> int:
    """List the turns of this worktree, newest first, and what changed in each.

    A turn is what happened between a checkpoint and its recorded end, or else the next checkpoint,
    or else now. Restores, reverts and picks are listed among the turns. With paths, only turns that
    changed these are listed; with a range of commits, those of any worktree that wrote their lines.
    """
    named, after = split_at_dashes(given["pathspecs"])
    if named and ".." in named[0] and not os.path.lexists(named[0]):
        given |= {"commits": named.pop(0), "pathspecs": (*named, *(after or ()))}
    request = LogRequest(**given, brief=oneline).checked()
    shown = _Shown(oneline, stat, patch, date)
    for name, value in shown._asdict().items():
        refuse_together((f"--{name}", value), ("--json", wants_json()))
    repository = Repository.discover()
    warn_of_interruption(repository)
    if request.edits:
        return _list_edits(repository, request, shown)
    # What is no path may be meant as the name of a turn.
    for path in named:
        if not os.path.lexists(os.path.join(repository.directory, path)):
            hint = "put '--' before paths that no longer exist"
            raise misused(f"'{path}' is not an existing path", hint)
    # On a terminal the first page appears at once.
    watched = nullcontext() if sys.stdout.isatty() else progress(repository, "listing")
    with watched, TurnLog(repository, request) as turns:
        if wants_json():
            print_json(turns.as_json())
        else:
            _print(repository, turns, request, shown)
            for each in turns.only_noted() if request.commits else ():
                who = f"{each.id[:SHORT_ID]}  {printable(each.agent or '-')}"
                print_text(f"{who}  {printable(each.prompt)} (only noted)")
    _warn(turns)
    return 0


def _warn(turns: TurnLog) -> None:
    """Warn of what makes the list incomplete."""
    if (error := turns.error) is not None:
        why = error.message if isinstance(error, BoocodeError) else str(error)
        warn(f"the worktree cannot be read, so the latest turn is not counted: {why}")
    for path, reason in turns.not_compared:
        warn(f"not compared: {quote_path(path)}: {reason}")
    for path, reason in turns.not_counted:
        warn(f"not counted: {quote_path(path)}: {reason}")
    if turns.missing:
        warn(f"{counted(turns.missing, 'turn')} could not be searched: objects are missing")
    for line in first_lines(turns.unread_notes):
        warn(line)


def _list_edits(repository: Repository, request: LogRequest, shown: _Shown) -> int:
    printed = (("--oneline", shown.oneline), ("--stat", shown.stat), ("--patch", shown.patch))
    for name, value in printed:
        refuse_together(("--edits", True), (name, value))
    from git_boocode.editing.records import Records

    records = Records(repository)
    found = [*islice(records.history(everywhere=request.everywhere), request.limit)]
    if wants_json():
        print_json({"ok": True, "edits": [record.as_json() for record in found]})
        warn_of_unreadable(records)
        return 0
    style, short = output_style(repository.config), ShortIds(records.store)
    number = count()
    times = Dates(repository, shown.date)(found)
    with paged(repository.users_git) as stream:
        for record, time in zip(found, times, strict=True):
            name = f"({record.meta.worktree_name})"
            # `@~N` counts the edits of this worktree alone.
            if records.is_ours(record):
                name = f"@~{back}" if (back := next(number)) else "@"
            about = (printable(name).ljust(4), time.rjust(11))
            stream.write(encode_text(_edit_line(record, about, short, style)))
    warn_of_unreadable(records)
    return 0


def _edit_line(record: EditRecord, about: Sequence[str], short: ShortIds, style: Style) -> str:
    more = len(record.files) - _SHOWN_FILES
    shown = ", ".join(quote_path(file.path) for file in record.files[:_SHOWN_FILES])
    what = counted(len(record.edits), "edit")
    if record.rewinds:
        what = f"rewinds {printable(short(record.rewinds))}"
    state = edit_state(record)
    parts = (
        style(short(record.id), "yellow"),
        *about,
        shown + (f" and {more} more" if more > 0 else ""),
        what,
        style(f"[{state}]", "cyan") if state else "",
    )
    return "  ".join(filter(None, parts)) + "\n"


def _print(repository: Repository, log: TurnLog, request: LogRequest, shown: _Shown) -> None:
    lines = _lines(repository, log, shown)
    # What is wrong with the options appears before the pager starts.
    first = next(lines, None)
    is_plain = request == LogRequest(brief=request.brief, max_count=request.max_count)
    if not first:
        if is_plain and log.catalog.latest() is None:
            print_hints((*_hook_hints(repository), NO_CHECKPOINTS), repository.config)
        return
    style = output_style(repository.config)
    width = terminal_width()
    above, gap = None, b""
    has_agent = False
    with paged(repository.users_git) as stream:
        for listed, line in chain([first], lines):
            turn = listed if isinstance(listed, ListedTurn) else None
            group = group_of(turn.turn.checkpoint) if turn and not shown.oneline else None
            if turn and group is not None and group != above:
                title = cut(heading(turn.turn.checkpoint), width)
                stream.write(gap + encode_text(style(title, "cyan")) + b"\n")
            elif shown.changes or shown.prompts:
                stream.write(gap)
            above, gap = group if turn else above, b"\n"
            stream.write(encode_text(line) + b"\n")
            if turn:
                has_agent = has_agent or bool(turn.turn.checkpoint.meta.text("agent"))
                _write_details(repository, turn, stream, shown, request.changes, log.pathspecs)
            # The next page takes its time.
            stream.flush()
    if is_plain and not has_agent:
        print_hints(_hook_hints(repository), repository.config)


def _hook_hints(repository: Repository) -> tuple[str, ...]:
    """Hints at hooks that hold in other worktrees, but not in this one."""
    # The readers of hooks are expensive to import.
    if not os.path.isdir(os.path.join(repository.common_dir, "worktrees")):
        return ()
    from git_boocode.agents.worktree_hooks import missing_hooks

    missing = missing_hooks(repository, repository.worktree)
    return missing.hints if missing else ()


def _lines(
    repository: Repository, log: TurnLog, shown: _Shown
) -> Iterator[tuple[ListedTurn | Row, str]]:
    """The turns and what happened beside them, each with its line."""
    style, width = output_style(repository.config), terminal_width()
    dates, short = Dates(repository, shown.date), ShortIds(log.catalog.store)
    for page in log.timeline(undone=output_options().verbose):
        turns = [each for each in page if isinstance(each, ListedTurn)]
        times = dates([each.turn.checkpoint for each in turns])
        rows = [
            TurnRow(
                each.turn,
                each.counts,
                each.name or short(each.turn.checkpoint.id),
                time,
                state=each.state,
                is_open=each.is_open,
            )
            for each, time in zip(turns, times, strict=True)
        ]
        if shown.oneline:
            lines = iter([_one_line(row, short, style) for row in rows])
        else:
            lines = iter(turn_lines(rows, style, width))
        listed = [*_with_commit_runs(page)]
        others = [each for each in listed if not isinstance(each, ListedTurn)]
        texts = iter(_other_lines(log, others, dates, shown))
        for each in listed:
            yield each, next(lines if isinstance(each, ListedTurn) else texts)


def _with_commit_runs(page: Sequence[Entry]) -> Iterator[ListedTurn | Row]:
    """The entries of a page, of which many commits between two turns are one."""
    for is_turn, group in groupby(page, lambda each: isinstance(each, ListedTurn)):
        if is_turn:
            yield from (each for each in group if isinstance(each, ListedTurn))
        else:
            yield from with_commit_runs(e for e in group if not isinstance(e, ListedTurn))


def _other_lines(log: TurnLog, rows: Sequence[Row], dates: Dates, shown: _Shown) -> Iterator[str]:
    """The lines of what happened beside turns, whose times are below those of the turns."""
    short, width = ShortIds(log.catalog.store), terminal_width()
    texts = row_texts(log.catalog, rows, lambda turn: log.name_of(turn) or short(turn), short)
    for row, time, text in zip(rows, _times(rows, dates), texts, strict=True):
        front = f"{'':{NAME_WIDTH}} {time:>{TIME_WIDTH}}  "
        if shown.oneline:
            name = short(row.id) if isinstance(row, LoggedOperation) else ""
            front = f"{name:<{SHORT_ID}} "
        yield cut(front + text, width)


def _times(rows: Sequence[Row], dates: Dates) -> list[str]:
    """When something happened; empty for what has no time of its own."""
    commits = [
        each.newest if isinstance(each, CommitRun) else each
        for each in rows
        if isinstance(each, (LoggedCommit, CommitRun))
    ]
    of_operations = iter(dates([r.safety for r in rows if isinstance(r, LoggedOperation)]))
    of_commits = iter(dates.of_commits(commits))
    return [
        next(of_operations)
        if isinstance(row, LoggedOperation)
        else next(of_commits)
        if isinstance(row, (LoggedCommit, CommitRun))
        else ""
        for row in rows
    ]


def _one_line(row: TurnRow, short: ShortIds, style: Style) -> str:
    identifier = short(row.turn.checkpoint.id)
    front = f"{identifier} " if row.name == identifier else f"{identifier} {row.name} "
    width = terminal_width()
    label = turn_title(row, None if width is None else width - len(front))
    return f"{style(identifier, 'yellow')}{front[len(identifier) :]}{label}".rstrip()


def _write_details(
    repository: Repository,
    listed: ListedTurn,
    stream: IO[bytes],
    shown: _Shown,
    changes: Sequence[str],
    pathspecs: Sequence[str],
) -> None:
    """Write the prompt and what the turn changed, as far as that is wanted.

    `changes` are git's options for the wanted changes.
    """
    turn, counts = listed.turn, listed.counts
    for asked in prompt_lines(turn.checkpoint) if shown.prompts else ():
        stream.write(encode_text(f"    {asked}".rstrip()) + b"\n")
    if not shown.changes or (counts is not None and counts.files == 0):
        return
    stream.write(b"\n")
    if turn.after and (counts is not None or shown.oneline):
        diff_into(stream, repository, [*shown.changes, *changes, *turn.compared(pathspecs)])
    else:
        stream.write(b"its changes are unknown\n")
