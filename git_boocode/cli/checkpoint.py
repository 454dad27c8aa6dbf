"""`git boocode checkpoint`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import print_json, print_text, quote_path, report, warn

if TYPE_CHECKING:
    from git_boocode.checkpoints.capture import Request


def _parse_meta(_: click.Context, __: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    meta = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"'{pair}' is not of the form KEY=VALUE")
        meta[key] = value
    return meta


@click.command(cls=Command)
@click.option("-m", "--label", default="", metavar="LABEL", help="What to call it.")
@click.option("--session", default="", metavar="ID", help="The agent's session.")
@click.option("--chat", default="", metavar="ID", help="The conversation in that session.")
@click.option("--message", default="", metavar="ID", help="The message to cut the conversation at.")
@click.option("--agent", default="", metavar="NAME", help="Which agent asks for it.")
@click.option("--trigger", default="manual", metavar="NAME", help="What made it be taken.")
@click.option(
    "--meta", multiple=True, metavar="KEY=VALUE", callback=_parse_meta, help="Anything else."
)
@click.option("--if-changed", is_flag=True, help="Take none when nothing differs from the latest.")
@click.option("--best-effort", is_flag=True, help="Where it fails, only warn, and exit with 0.")
@click.option("--allow-home", is_flag=True, help="Also where the worktree is your home directory.")
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="[--] [<path>...]")
@json_option
def checkpoint(
    label: str,
    session: str,
    chat: str,
    message: str,
    agent: str,
    trigger: str,
    meta: dict[str, str],
    if_changed: bool,
    best_effort: bool,
    allow_home: bool,
    paths: tuple[str, ...],
    as_json: bool,
) -> int:
    """Record the worktree and the staging area, and print the checkpoint's id.

    Tracked and untracked files are recorded, ignored ones are not. HEAD, branches, the index and
    `git log` stay as they are. With paths, only what they match is looked at; everything else is
    taken to be as in the newest checkpoint.
    """
    from git_boocode.checkpoints.capture import Request
    from git_boocode.repo.errors import BoocodeError, from_os

    request = Request(
        *(label, session, chat, message, agent, trigger, meta, if_changed), paths, allow_home
    )
    try:
        return _take(request, as_json=as_json)
    except (BoocodeError, OSError) as error:
        if not best_effort:
            raise
        report(error if isinstance(error, BoocodeError) else from_os(error), as_json=as_json)
        return 0


def _take(request: Request, *, as_json: bool) -> int:
    from git_boocode.checkpoints.capture import capture
    from git_boocode.cli.interruption import warn_of_interruption
    from git_boocode.cli.progress import progress
    from git_boocode.repo.repository import Repository
    from git_boocode.repo.signals import ended_by_signals

    repository = Repository.discover()
    warn_of_interruption(repository)
    with progress("recording the worktree"), ended_by_signals():
        taken, changed = capture(repository, request)
    skipped = taken.meta.values["skipped"]
    if as_json:
        print_json(
            {
                "ok": True,
                "id": taken.id,
                "commit": taken.commit.id,
                "ref": taken.ref,
                "tree": taken.tree,
                "changed": changed,
                "skipped": skipped,
            }
        )
        return 0
    print_text(taken.id)
    for row in skipped:
        warn(f"not recorded: {quote_path(row['path'])}: {row['reason']}")
    return 0
