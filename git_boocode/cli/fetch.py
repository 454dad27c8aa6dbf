"""`git boocode fetch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.output import print_hints, print_json, print_text, printable, warn
from git_boocode.cli.push import counted, reasons

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.sharing import Fetched


@click.command(cls=Command)
@click.argument("remote", required=False, metavar="[<remote>]")
@click.argument("checkpoints", nargs=-1, metavar="[<checkpoint>...]")
@click.option("-p", "--prune", is_flag=True, help="Delete those that are gone on the remote.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be fetched.")
@json_option
def fetch(
    remote: str | None, checkpoints: tuple[str, ...], prune: bool, dry_run: bool, as_json: bool
) -> int:
    """Get the checkpoints of a remote that are not here, or only those named.

    They stay apart under the remote's name: git boocode log --remote shows them, and their ids
    lead to them.
    """
    from git_boocode.checkpoints.store.sharing import FetchOptions
    from git_boocode.checkpoints.store.sharing import fetch as run
    from git_boocode.cli.interruption import warn_of_interruption
    from git_boocode.cli.output import relay
    from git_boocode.repo.repository import Repository

    if prune and checkpoints:
        raise click.UsageError("--prune and the name of a checkpoint exclude each other")
    repository = Repository.discover()
    warn_of_interruption(repository)
    with relay() as show:
        fetched = run(repository, remote, checkpoints, FetchOptions(prune, dry_run, show))
    if as_json:
        print_json(_as_json(fetched))
    else:
        _print(fetched)
    return 0


def _as_json(fetched: Fetched) -> dict[str, object]:
    return {
        "ok": True,
        "remote": fetched.remote,
        "fetched": fetched.ids,
        "moved": fetched.moved,
        "pruned": fetched.pruned,
        "differing": fetched.differing,
        "rejected": [{"name": name, "reason": reason} for name, reason in fetched.rejected],
        "dry_run": fetched.dry_run,
    }


def _print(fetched: Fetched) -> None:
    remote = printable(fetched.remote)
    marked = ((" *", fetched.ids), (" +", fetched.moved), (" -", fetched.pruned))
    for mark, ids in marked:
        for identifier in ids:
            print_text(f"{mark} {identifier}")
    print_text(_summary(fetched, remote))
    for identifier in fetched.differing:
        warn(f"{identifier} is another checkpoint here than on '{remote}'; ours is untouched")
    if fetched.moved:
        warn(f"'{remote}' has other commits now for {counted(len(fetched.moved))}")
    if fetched.rejected:
        warn(f"{counted(len(fetched.rejected))} of '{remote}' cannot be used and did not come")
        print_text(reasons(fetched.rejected), to_stderr=True)
    if fetched.ids and not fetched.dry_run:
        print_hints((f"'git boocode log --remote {remote}' shows them",))


def _summary(fetched: Fetched, remote: str) -> str:
    come, gone = len(fetched.ids) + len(fetched.moved), len(fetched.pruned)
    would = "would " if fetched.dry_run else ""
    told = []
    if come:
        told.append(f"{would}{'fetch' if would else 'fetched'} {counted(come)} from {remote}")
    if gone:
        told.append(f"{would}{'prune' if would else 'pruned'} {counted(gone)} of {remote}")
    return "; ".join(told) or f"nothing to fetch: what {remote} has is here"
