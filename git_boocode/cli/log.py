"""`git boocode log`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import chain, count, islice
from typing import IO, Any, NamedTuple

import click

from git_boocode.checkpoints.store.catalog import (
    CHECKPOINTS,
    REMOTES,
    Catalog,
    Checkpoint,
)
from git_boocode.checkpoints.turns import ChangeCounts, Turn, Worktree, count_changes, turns
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
    encode_text,
    paged,
    print_json,
    progress,
    warn_of_interruption,
)
from git_boocode.cli.turn_rows import (
    Dates,
    TurnRow,
    heading,
    terminal_width,
    time_of,
    turn_label,
    turn_lines,
)
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.git import GitError
from git_boocode.repo.messages import failure_reason
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.remotes import named_remote
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

# A screenful first, then larger and larger pages: each costs a git process.
_FIRST_PAGE = 32
_LARGEST_PAGE = 512
_COUNT = re.compile(r"-[0-9]+")
_ONLY_OF_TURNS = ("since", "until", "agent", "session", "date")


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


class _Options(NamedTuple):
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
    def looks_into_files(self) -> bool:
        """Whether only turns that changed something are wanted."""
        return bool(self.changes or self.pathspecs)

    def wants(self, checkpoint: Checkpoint) -> bool:
        """Whether a turn is wanted, by the metadata of its checkpoint."""
        agent, session = (checkpoint.meta.text(key) for key in ("agent", "session"))
        return (not self.agent or agent == self.agent) and session.startswith(self.session)


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
    "--session", default="", metavar="<id>", help="Only turns of this session, or its first digits."
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
    options = _Options(**given)
    fetched = options.remotes or options.remote is not None
    sources = (("--remote", options.remote is not None), ("--remotes", options.remotes))
    refuse_together(("--edits", options.edits), ("--archived", options.archived), *sources)
    refuse_together(("--all", options.everywhere), *sources)
    refuse_together(("-S", options.text is not None), ("-G", options.regex is not None))
    refuse_together(("--oneline", options.oneline), ("--json", options.as_json))
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
    found = catalog.newest_first(everywhere=options.everywhere)
    if fetched:
        found = catalog.fetched(options.remote)
    elif options.archived:
        found = catalog.archived(everywhere=options.everywhere)
    # Who sees the list itself sees the first page at once.
    quiet = options.as_json or sys.stdout.isatty()
    worktree = Worktree(repository)
    with (
        progress(repository, "listing", as_json=quiet),
        temporary_objects(repository),
        worktree.read_ahead() if options.changes else nullcontext(),
    ):
        listed = _selected(catalog, turns(catalog, found, worktree), options)
        pages = _pages(repository, listed, options)
        return _print(repository, catalog, pages, options)


def _list_edits(repository: Repository, options: _Options) -> int:
    from git_boocode.cli.edit_list import list_edits

    shown = (("--oneline", options.oneline), ("--stat", options.stat), ("--patch", options.patch))
    searched = [("-S" if options.text is not None else "-G", options.changes)]
    searched += [(f"--{key}", getattr(options, key)) for key in _ONLY_OF_TURNS]
    for name, value in (*shown, *searched, ("paths", options.pathspecs)):
        refuse_together(("--edits", True), (name, value))
    return list_edits(
        repository, _limit(options), everywhere=options.everywhere, as_json=options.as_json
    )


def _limit(options: _Options) -> int | None:
    return None if options.max_count is None else min(options.max_count, sys.maxsize)


def _checked(repository: Repository, options: _Options) -> _Options:
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
            repository.git.run("diff-tree", *options.changes, empty, empty)
        except GitError as error:
            raise RefusedError(failure_reason(error.stderr), code="invalid_input") from None
    return options


def _refuse_missing(repository: Repository, given: Iterable[str]) -> None:
    """Refuse what stands before `--` and is no path, as it may be meant as something else."""
    for path in given:
        if not os.path.lexists(os.path.join(repository.directory, path)):
            hint = "put '--' before paths that no longer exist; 'git boocode show' takes names"
            raise misused(f"'{path}' is not an existing path", hint)


def _selected(catalog: Catalog, found: Iterable[Turn], options: _Options) -> Iterator[_Listed]:
    """The wanted turns as far as their checkpoints say, with their names."""
    since, until = _times(catalog.repository, options)
    number = count()
    for turn in found:
        checkpoint = turn.checkpoint
        # `@~N` counts the checkpoints of this worktree alone.
        ours = checkpoint.ref.startswith(CHECKPOINTS) and catalog.is_ours(checkpoint)
        name = (f"@~{back}" if (back := next(number)) else "@") if ours else ""
        if since is not None and time_of(checkpoint) < since:
            # The others are older.
            return
        if (until is None or time_of(checkpoint) <= until) and options.wants(checkpoint):
            yield _Listed(turn, name)


def _times(repository: Repository, options: _Options) -> list[float | None]:
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


def _pages(
    repository: Repository, listed: Iterator[_Listed], options: _Options
) -> Iterator[list[_Listed]]:
    """The turns with the counts of their changes, page by page."""
    git = repository.git.bind(cwd=repository.directory)
    limit = _limit(options)
    # A search needs few processes rather than a first line soon.
    size = _LARGEST_PAGE if options.looks_into_files else _FIRST_PAGE
    selection = [*options.changes, *(["--pickaxe-all"] if options.changes else [])]
    shown = 0
    while limit is None or shown < limit:
        most = size if limit is None or options.looks_into_files else min(size, limit - shown)
        if not (page := list(islice(listed, most))):
            return
        counts = count_changes(git, [each.turn for each in page], selection, options.pathspecs)
        page = [one._replace(counts=each) for one, each in zip(page, counts, strict=True)]
        if options.looks_into_files:
            page = [each for each in page if each.counts is None or each.counts.files]
            page = page if limit is None else page[: limit - shown]
        shown += len(page)
        if page:
            yield page
        size = min(size * 2, _LARGEST_PAGE)


# Printing.


def _print(
    repository: Repository, catalog: Catalog, pages: Iterator[list[_Listed]], options: _Options
) -> int:
    if options.as_json:
        print_json({"ok": True, "checkpoints": [_row(each) for page in pages for each in page]})
        return 0
    lines = _lines(repository, catalog, pages, options)
    # What is wrong with the options appears before the pager starts.
    if not (first := next(lines, None)):
        return 0
    style = Style(enabled=colour_wanted(repository.config))
    above, gap = None, b""
    with paged(repository.users_git) as stream:
        for turn, line in chain([first], lines):
            title = None if options.oneline else heading(turn)
            if title != above:
                stream.write(gap + encode_text(style(f"{title}", "cyan")) + b"\n")
                above = title
            elif options.changes_shown:
                stream.write(gap)
            stream.write(encode_text(line) + b"\n")
            _write_changes(repository, turn, stream, options)
            gap = b"\n"
            # Someone is reading, and the next page takes its time.
            stream.flush()
    return 0


def _lines(
    repository: Repository, catalog: Catalog, pages: Iterator[list[_Listed]], options: _Options
) -> Iterator[tuple[Turn, str]]:
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
            yield from ((row.turn, _one_line(row, short, style)) for row in rows)
        else:
            lines = turn_lines(rows, style, terminal_width())
            yield from ((row.turn, line) for row, line in zip(rows, lines, strict=True))


def _one_line(row: TurnRow, short: ShortIds, style: Style) -> str:
    checkpoint = row.turn.checkpoint
    identifier = short(checkpoint.id)
    name = row.name if row.name != identifier else ""
    return " ".join(filter(None, (style(identifier, "yellow"), name, turn_label(checkpoint))))


def _write_changes(
    repository: Repository, turn: Turn, stream: IO[bytes], options: _Options
) -> None:
    """Write what a turn changed, as far as it is asked for."""
    if options.changes_shown and turn.after:
        arguments = (*options.changes, turn.before, turn.after, "--", *options.pathspecs)
        stream.write(b"\n")
        diff_into(stream, repository, [*options.changes_shown, *arguments])


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
        "until": listed.turn.until or None,
        "files": counts.files if counts else None,
        "added": counts.added if counts else None,
        "removed": counts.removed if counts else None,
    }
