"""`git boocode drop`."""

from __future__ import annotations

import click

from git_boocode.checkpoints.store import retention
from git_boocode.cli import candidates
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import first_lines, print_feedback, print_hints, print_json
from git_boocode.repo.repository import Repository


@click.command(cls=Command)
@click.argument(
    "checkpoints",
    nargs=-1,
    required=True,
    metavar="<checkpoint>...",
    shell_complete=candidates.checkpoints,
)
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would be dropped.")
@click.option(
    "--even-needed", is_flag=True, help="Drop even what undo or an interrupted restore needs."
)
@json_option
def drop(checkpoints: tuple[str, ...], dry_run: bool, even_needed: bool, as_json: bool) -> int:
    """Delete the named checkpoints, all or none.

    A checkpoint that cannot be read must be named by its full id. The objects stay until `git gc`
    removes them; until then, the commit that is printed brings a checkpoint back.
    """
    dropped = retention.drop(
        Repository.discover(), checkpoints, even_needed=even_needed, dry_run=dry_run
    )
    if as_json:
        rows = [each._asdict() for each in dropped]
        print_json({"ok": True, "dry_run": dry_run, "dropped": rows})
        return 0
    # All of them: the commits are the way back.
    for each in dropped:
        print_feedback(
            f"{'would drop' if dry_run else 'dropped'} {each.id} ({each.commit})", dry_run=dry_run
        )
    if not dry_run:
        back = [f"git update-ref {ref} {each.commit}" for each in dropped for ref in each.refs[:1]]
        first = first_lines(back)
        print_hints(("until 'git gc' removes the objects, this brings it back:", *first))
    return 0
