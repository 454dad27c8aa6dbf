"""`git boocode attribute`."""

from __future__ import annotations

import click

from git_boocode.checkpoints.commit_notes import NotedCommit, problems_of
from git_boocode.checkpoints.commit_notes import attribute as attribute_commits
from git_boocode.cli.candidates import commits as commit_names
from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.output import (
    counted,
    first_lines,
    output_style,
    print_feedback,
    print_json,
    print_text,
    printable,
    progress,
    quote_path,
    wants_json,
    warn,
)
from git_boocode.matching.text import lines_of
from git_boocode.repo.ids import SHORT_ID
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds


@click.command(cls=Command)
@click.argument("commits", nargs=-1, metavar="[<commit> | <range>]...", shell_complete=commit_names)
@option("-n, --dry-run", "Only show who wrote what; write no notes.")
@json_option
def attribute(commits: tuple[str, ...], dry_run: bool) -> int:
    """Find which turns wrote the lines that commits add, and note it at refs/notes/boocode.

    It is computed from the commits and the recorded turns alone, those fetched from remotes
    included. Lines that no turn wrote, or where that is not sure, have no turn. By default, HEAD.
    """
    repository = Repository.discover()
    with progress(repository, "reading the turns"):
        found = attribute_commits(repository, commits or ("HEAD",), dry_run=dry_run)
    if wants_json():
        rows = [each.as_json() for each in found]
        print_json({"ok": True, "commits": rows, "dry_run": dry_run})
        return 0
    style, short = output_style(repository.config), ShortIds(repository.store)
    for each in found:
        if each.files:
            print_text(style(f"commit {each.commit}", "yellow"))
            print_text("".join(f"  {line}\n" for line in noted_lines(each, short)))
    for problem in first_lines(problems_of(found)):
        warn(problem)
    attributed = [each for each in found if each.files]
    written = sum(each.written for each in attributed)
    removed = sum(each.written for each in found) - written
    rest = (
        ("already noted", len(attributed) - written),
        ("note removed", removed),
        ("no turns", len(found) - len(attributed) - removed),
    )
    why = ", ".join(f"{name}: {number}" for name, number in rest if number)
    done = f"{'would note' if dry_run else 'noted'} {counted(written, 'commit')} of {len(found)}"
    print_feedback(f"{done} ({why})" if why else done, dry_run=dry_run)
    return 0


def noted_lines(found: NotedCommit, short: ShortIds) -> list[str]:
    """A line of text for each range of a commit."""
    lines = []
    for path, ranges in found.files.items():
        for each in ranges:
            turn = each.turn
            who = f"{short(turn.id):<{SHORT_ID}} {printable(turn.agent or '-')}"
            where = f"{quote_path(path)}: {lines_of(each.first, each.last)}"
            lines.append(f"{where}: {who}  {printable(turn.prompt)}")
    return lines
