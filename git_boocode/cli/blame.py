"""`git boocode blame`."""

from __future__ import annotations

import click

from git_boocode.checkpoints.line_origin import COMMIT, LATER, LineOrigin, blamed_ranges
from git_boocode.checkpoints.line_origin import blame as blame_file
from git_boocode.cli.candidates import age_of, paths
from git_boocode.cli.colour import Style, colour_wanted
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import encode_text, paged, print_json, printable, progress
from git_boocode.cli.turn_rows import fitted
from git_boocode.repo.ids import SHORT_ID, timestamp
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds

# Columns.
_WHO, _LABEL, _AGE = 12, 24, 13


@click.command(cls=Command)
@click.option(
    "-L", "lines", metavar="<range>", default="", help="Only these lines, as in git blame."
)
@click.argument("path", metavar="<path>", shell_complete=paths)
@json_option
def blame(path: str, lines: str, as_json: bool) -> int:
    """Show which turn of which agent wrote each line of a file.

    Each line has the checkpoint at which its turn began, the agent, the label, and the age. Lines
    that were written after a turn had ended are marked 'by hand', those of older commits with their
    author. Lines that are not committed are included.
    """
    repository = Repository.discover()
    with progress(repository, "reading the worktree", as_json=as_json):
        found = blame_file(repository, path, lines)
    if as_json:
        print_json({"ok": True, "path": path, "ranges": blamed_ranges(found)})
        return 0
    style = Style(enabled=colour_wanted(repository.config))
    short = ShortIds(repository.store)
    width = len(str(found[-1].number)) if found else 1
    with paged(repository.users_git) as stream:
        for line in found:
            name, who, label, age = _columns(line.origin, short)
            about = (
                f"{fitted(who, _WHO)} {fitted(label, _LABEL)} {age:>{_AGE}} {line.number:>{width}}"
            )
            place = style(f"{name:<{SHORT_ID}} ({about})", "yellow")
            stream.write(encode_text(f"{place} {printable(line.text)}\n"))
    return 0


def _columns(origin: LineOrigin, short: ShortIds) -> tuple[str, str, str, str]:
    """The abbreviated id or commit, the author, the label and the age of a line."""
    if origin.source == COMMIT:
        author, date = printable(origin.author), timestamp(origin.time)[:10]
        return origin.commit[:SHORT_ID], author, "", date
    if origin.checkpoint is None:
        return "", "uncommitted", "", ""
    meta, identifier = origin.checkpoint.meta, origin.checkpoint.id
    who = "by hand" if origin.source == LATER else printable(meta.text("agent") or "-")
    label = printable(meta.text("label"))
    return short(identifier), who, label, age_of(identifier)
