"""`git boocode log`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import nullcontext
from itertools import chain, count, islice
from typing import IO, Any, NamedTuple

import click

from git_boocode.checkpoints.store.catalog import (
    CHECKPOINTS,
    REMOTES,
    Catalog,
    Checkpoint,
    without_index,
)
from git_boocode.checkpoints.turns import ChangeCounts, CurrentTree, Turn, count_changes, turns
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs
from git_boocode.cli.candidates import agents, paths, remotes
from git_boocode.cli.colour import Style, colour_wanted
from git_boocode.cli.diff import diff_into
from git_boocode.cli.framework import (
    AFTER_DASHES,
    AtLeast,
    Command,
    json_option,
    misused,
    refuse_together,
)
from git_boocode.cli.output import (
    counted,
    encode_text,
    paged,
    print_json,
    progress,
    quote_path,
    warn,
    warn_of_interruption,
)
from git_boocode.cli.turn_rows import (
    Dates,
    TurnRow,
    cut,
    group_of,
    heading,
    terminal_width,
    turn_label,
    turn_lines,
)
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.git import GitError
from git_boocode.repo.ids import time_of
from git_boocode.repo.messages import failure_reason
from git_boocode.repo.metadata import Unusable
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.remotes import named_remote
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

# A screenful first, then larger and larger pages: each costs a git process.
_FIRST_PAGE = 32
_LARGEST_PAGE = 512
# Turns that a git process searches, and processes at once.
_SEARCHED_PAGE, _MOST_PROCESSES = 96, 8
_COUNT = re.compile(r"-[0-9]+")
_ONLY_OF_TURNS = ("since", "until", "agent", "session")


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


class _LogOptions(NamedTuple):
    """What is given on the command line; empty values and None select everything."""

    max_count: int | None
    oneline: bool
    stat: bool
    patch: bool
    text: str | None
    regex: str | None
    since: str | None
    until: str | None
    agent: str
    session: str
    date: str
    everywhere: bool
    remote: str | None
    remotes: bool
    archived: bool
    edits: bool
    pathspecs: tuple[str, ...]
    as_json: bool

    @property
    def changes(self) -> list[str]:
        """Git's options for the turns that changed a text or a line."""
        given = (("-S", self.text), ("-G", self.regex))
        return [f"{option}{value}" for option, value in given if value is not None]

    @property
    def changes_shown(self) -> list[str]:
        """Git's options for what is shown of the changes of each turn; none for nothing."""
        return ["--stat"] * self.stat + ["--patch"] * self.patch

    @property
    def is_search(self) -> bool:
        """Whether only turns that changed something are wanted."""
        return bool(self.changes or self.pathspecs)


class _Listed(NamedTuple):
    """A turn with its name, such as `@~1`, which is empty if it is not of this worktree's log."""

    turn: Turn
    name: str
    counts: ChangeCounts | None = None


@click.command(cls=_LogCommand)
@click.option(
    "-n", "--max-count", type=AtLeast(0), metavar="<n>", help="Limit the number of turns, or -<n>."
)
@click.option("--oneline", is_flag=True, help="Show only id, name and label of each turn.")
@click.option("--stat", is_flag=True, help="Also show a summary of the changes of each turn.")
@click.option("-p", "--patch", is_flag=True, help="Also show the changes of each turn.")
@click.option("-S", "text", metavar="<text>", help="Only turns that added or removed this text.")
@click.option("-G", "regex", metavar="<regex>", help="Only turns with a changed line that matches.")
@click.option("--since", metavar="<date>", help="Only turns that began after this date.")
@click.option("--until", metavar="<date>", help="Only turns that began before this date.")
@click.option(
    "--agent", default="", metavar="<name>", help="Only turns of this agent.", shell_complete=agents
)
@click.option(
    "--session",
    default="",
    metavar="<id>",
    help="Only turns of sessions whose id starts with <id>.",
)
@click.option("--date", default="", metavar="<format>", help="Show times as git log --date does.")
@click.option("--all", "everywhere", is_flag=True, help="Include all worktrees.")
@click.option(
    "--remote",
    metavar="<name>",
    help="List checkpoints fetched from this remote instead.",
    shell_complete=remotes,
)
@click.option("--remotes", is_flag=True, help="List checkpoints fetched from any remote instead.")
@click.option("--archived", is_flag=True, help="List checkpoints that restores archived instead.")
@click.option("--edits", is_flag=True, help="List the applied edits instead.")
@click.argument("pathspecs", nargs=-1, metavar="[--] [<path>...]", shell_complete=paths)
@json_option
def log(**given: Any) -> int:  # noqa: ANN401 - click's own
    """List the turns of this worktree, newest first, and what changed in each.

    A turn is what happened between a checkpoint and its recorded end, or else the next checkpoint,
    or else now. With paths, only turns that changed these are listed.
    """
    options = _LogOptions(**given)
    fetched = options.remotes or options.remote is not None
    sources = (("--remote", options.remote is not None), ("--remotes", options.remotes))
    refuse_together(("--edits", options.edits), ("--archived", options.archived), *sources)
    refuse_together(("--all", options.everywhere), *sources)
    refuse_together(("-S", options.text is not None), ("-G", options.regex is not None))
    for name in ("oneline", "stat", "patch", "date"):
        refuse_together((f"--{name}", getattr(options, name)), ("--json", options.as_json))
    repository = Repository.discover()
    warn_of_interruption(repository)
    if options.edits:
        return _list_edits(repository, options)
    catalog = Catalog(repository)
    # What was fetched stays when the remote goes.
    if options.remote is not None and not catalog.store.refs(
        f"{REMOTES}{options.remote}/", newest=1
    ):
        named_remote(repository, options.remote)
    options = _checked(repository, options)
    entries = catalog.newest_first(everywhere=options.everywhere)
    if fetched:
        entries = catalog.fetched(options.remote)
    elif options.archived:
        entries = catalog.archived(everywhere=options.everywhere)
    # On a terminal the first page appears at once.
    quiet = options.as_json or sys.stdout.isatty()
    current = CurrentTree(repository)
    with (
        progress(repository, "listing", as_json=quiet),
        temporary_objects(repository),
        current.read_ahead() if options.changes else nullcontext(),
    ):
        selection = _Selection(catalog, options)
        found = turns(catalog, selection.until_since(entries), current, selection.wants)
        listed = (_Listed(turn, selection.name_of(turn.checkpoint)) for turn in found)
        pages = _Pages(repository, listed, options)
        code = _print(repository, catalog, pages, options)
    _warn(current, pages)
    return code


def _warn(current: CurrentTree, pages: _Pages) -> None:
    """Warn of what makes the list incomplete."""
    if current.error is not None:
        error = current.error
        why = error.message if isinstance(error, BoocodeError) else str(error)
        warn(f"the worktree cannot be read, so the latest turn is not counted: {why}")
    for path, reason in current.skipped:
        if path not in pages.skipped:
            warn(f"not compared: {quote_path(path)}: {reason}")
    if pages.missing:
        warn(f"{counted(pages.missing, 'turn')} could not be searched: objects are missing")


def _list_edits(repository: Repository, options: _LogOptions) -> int:
    from git_boocode.cli.edit_list import list_edits

    shown = (("--oneline", options.oneline), ("--stat", options.stat), ("--patch", options.patch))
    searched = [("-S" if options.text is not None else "-G", options.changes)]
    searched += [(f"--{key}", getattr(options, key)) for key in _ONLY_OF_TURNS]
    for name, value in (*shown, *searched, ("paths", options.pathspecs)):
        refuse_together(("--edits", True), (name, value))
    limit = None if options.max_count is None else min(options.max_count, sys.maxsize)
    everywhere, as_json = options.everywhere, options.as_json
    return list_edits(repository, limit, options.date, everywhere=everywhere, as_json=as_json)


def _checked(repository: Repository, options: _LogOptions) -> _LogOptions:
    """The options with pathspecs for git; RefusedError if git rejects a pathspec or a regex."""
    if options.pathspecs:
        after_dashes = click.get_current_context().meta.get(AFTER_DASHES, 0)
        _refuse_missing(repository, options.pathspecs[: len(options.pathspecs) - after_dashes])
        specs = checked_pathspecs(repository, options.pathspecs)
        options = options._replace(pathspecs=tuple(specs))
    if options.changes:
        try:
            # Git reads the expression although there is nothing to compare.
            empty = repository.empty_tree
            without_index(repository.git).run("diff-tree", *options.changes, empty, empty)
        except GitError as error:
            raise RefusedError(failure_reason(error.stderr), code="invalid_input") from None
    return options


def _refuse_missing(repository: Repository, given: Iterable[str]) -> None:
    """Refuse arguments before `--` that are not existing paths, such as the name of a turn."""
    for path in given:
        if not os.path.lexists(os.path.join(repository.directory, path)):
            hint = "put '--' before paths that no longer exist"
            raise misused(f"'{path}' is not an existing path", hint)


class _Selection:
    """The wanted turns as far as their checkpoints indicate, and the names of all."""

    def __init__(self, catalog: Catalog, options: _LogOptions) -> None:
        self._catalog = catalog
        self._options = options
        self._since, self._until = _times(catalog.repository, options)
        self._names: dict[str, str] = {}
        self._number = count()

    def until_since(
        self, entries: Iterable[Checkpoint | Unusable]
    ) -> Iterator[Checkpoint | Unusable]:
        """The entries down to those before `--since`; all others are older."""
        for entry in entries:
            if isinstance(entry, Checkpoint):
                # An id of another program has no time.
                if self._since is not None and 0 < time_of(entry.id) < self._since:
                    return
                # `@~N` counts the checkpoints of this worktree alone.
                if entry.ref.startswith(CHECKPOINTS) and self._catalog.is_ours(entry):
                    self._names[entry.ref] = f"@~{back}" if (back := next(self._number)) else "@"
            yield entry

    def name_of(self, checkpoint: Checkpoint) -> str:
        """The name, such as `@~1`; empty if it is not in the log of this worktree."""
        return self._names.get(checkpoint.ref, "")

    def wants(self, checkpoint: Checkpoint) -> bool:
        """Whether the metadata fit the options."""
        when = time_of(checkpoint.id)
        agent, session = (checkpoint.meta.text(key) for key in ("agent", "session"))
        options = self._options
        return (
            (self._since is None or when > 0)
            # Git knows no fractions of a second.
            and (self._until is None or int(when) <= self._until)
            and options.agent in ("", agent)
            and session.startswith(options.session)
        )


def _times(repository: Repository, options: _LogOptions) -> list[float | None]:
    """The times of `--since` and `--until`, which git reads."""
    times: list[float | None] = []
    for name, text in (("since", options.since), ("until", options.until)):
        if text is None:
            times.append(None)
        else:
            # It prints --max-age=<time> or --min-age=<time>.
            answer = repository.git.line("rev-parse", f"--{name}={text}")
            times.append(float(answer.rpartition("=")[2]))
    return times


class _Pages:
    """The turns with the counts of their changes, page by page.

    `missing` is the number of turns that could not be searched, `skipped` are the paths that the
    checkpoints leave out.
    """

    def __init__(
        self, repository: Repository, listed: Iterator[_Listed], options: _LogOptions
    ) -> None:
        self.missing = 0
        self.skipped: set[str] = set()
        self._repository = repository
        self._listed = listed
        self._options = options

    def __iter__(self) -> Iterator[list[_Listed]]:
        limit = sys.maxsize if self._options.max_count is None else self._options.max_count
        pages = self._searched() if self._options.is_search else self._counted(limit)
        while limit > 0 and (page := next(pages, None)) is not None:
            page = page[:limit]
            limit -= len(page)
            if page:
                yield page
        pages.close()

    def _counted(self, limit: int) -> Generator[list[_Listed], None, None]:
        """All turns, a screenful first."""
        size = _FIRST_PAGE
        while page := self._next(min(size, limit)):
            limit -= len(page)
            yield page if self._options.oneline else self._count(page)
            size = min(size * 2, _LARGEST_PAGE)

    def _searched(self) -> Generator[list[_Listed], None, None]:
        """The turns that are found, by several git processes while the next turns are read."""
        # Only here, as this module takes a while to load.
        from concurrent.futures import Future, ThreadPoolExecutor

        pool = ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_PROCESSES))
        running: list[Future[list[_Listed]]] = []
        try:
            for page in iter(lambda: self._next(_SEARCHED_PAGE), []):
                running.append(pool.submit(self._count, page))
                if len(running) > _MOST_PROCESSES:
                    yield self._matching(running.pop(0).result())
            for each in running:
                yield self._matching(each.result())
        finally:
            pool.shutdown(cancel_futures=True)

    def _matching(self, page: list[_Listed]) -> list[_Listed]:
        self.missing += sum(each.counts is None and not each.turn.paths for each in page)
        return [each for each in page if each.counts and each.counts.files]

    def _next(self, size: int) -> list[_Listed]:
        page = [*islice(self._listed, size)]
        self.skipped.update(*(each.turn.checkpoint.meta.skipped_paths for each in page))
        return page

    def _count(self, page: list[_Listed]) -> list[_Listed]:
        options = self._options
        selection = [*options.changes, *(["--pickaxe-all"] if options.changes else [])]
        found = [each.turn for each in page]
        counts = count_changes(self._repository, found, selection, options.pathspecs)
        return [one._replace(counts=each) for one, each in zip(page, counts, strict=True)]


# Printing.


def _print(repository: Repository, catalog: Catalog, pages: _Pages, options: _LogOptions) -> int:
    if options.as_json:
        print_json({"ok": True, "checkpoints": [_row(each) for page in pages for each in page]})
        return 0
    lines = _lines(repository, catalog, pages, options)
    # What is wrong with the options appears before the pager starts.
    if not (first := next(lines, None)):
        return 0
    style = Style(enabled=colour_wanted(repository.config))
    width = terminal_width()
    above, gap = None, b""
    with paged(repository.users_git) as stream:
        for listed, line in chain([first], lines):
            group = None if options.oneline else group_of(listed.turn.checkpoint)
            if group is not None and group != above:
                title = cut(heading(listed.turn.checkpoint), width)
                stream.write(gap + encode_text(style(title, "cyan")) + b"\n")
            elif options.changes_shown:
                stream.write(gap)
            above, gap = group, b"\n"
            stream.write(encode_text(line) + b"\n")
            _write_changes(repository, listed, stream, options)
            # The next page takes its time.
            stream.flush()
    return 0


def _lines(
    repository: Repository, catalog: Catalog, pages: _Pages, options: _LogOptions
) -> Iterator[tuple[_Listed, str]]:
    """The turns, each with its line."""
    style = Style(enabled=colour_wanted(repository.config))
    dates, short = Dates(repository, options.date), ShortIds(catalog.store)
    for page in pages:
        times = dates([each.turn.checkpoint for each in page])
        rows = [
            TurnRow(each.turn, each.counts, each.name or short(each.turn.checkpoint.id), time)
            for each, time in zip(page, times, strict=True)
        ]
        if options.oneline:
            lines = [_one_line(row, short, style) for row in rows]
        else:
            lines = turn_lines(rows, style, terminal_width())
        yield from zip(page, lines, strict=True)


def _one_line(row: TurnRow, short: ShortIds, style: Style) -> str:
    checkpoint = row.turn.checkpoint
    identifier = short(checkpoint.id)
    front = f"{identifier} " if row.name == identifier else f"{identifier} {row.name} "
    width = terminal_width()
    label = cut(turn_label(checkpoint), None if width is None else width - len(front))
    return f"{style(identifier, 'yellow')}{front[len(identifier) :]}{label}".rstrip()


def _write_changes(
    repository: Repository, listed: _Listed, stream: IO[bytes], options: _LogOptions
) -> None:
    """Write what a turn changed, as far as it is asked for."""
    turn, counts = listed.turn, listed.counts
    if not options.changes_shown or (counts is not None and counts.files == 0):
        return
    stream.write(b"\n")
    if turn.after and (counts is not None or options.oneline):
        compared = turn.compared(options.pathspecs)
        diff_into(stream, repository, [*options.changes_shown, *options.changes, *compared])
    else:
        stream.write(b"its changes are unknown\n")


def _row(listed: _Listed) -> dict[str, Any]:
    entry, counts = listed.turn.checkpoint, listed.counts
    ref = entry.meta.part("head", "ref")
    only = entry.meta.table("partial").get("paths")
    return {
        "id": entry.id,
        "commit": entry.commit.id,
        **{key: text or None for key, text in entry.texts.items()},
        "branch": ref.removeprefix("refs/heads/") if ref else None,
        "worktree": entry.meta.worktree_name,
        "remote": entry.remote or None,
        "only": [str(path) for path in only] if isinstance(only, list) else None,
        "end": listed.turn.end or None,
        "files": counts.files if counts else None,
        "added": counts.added if counts else None,
        "removed": counts.removed if counts else None,
    }
