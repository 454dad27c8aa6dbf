"""`git boocode fetch`."""

from __future__ import annotations

from itertools import chain

import click

from git_boocode.checkpoints.store import sharing
from git_boocode.checkpoints.store.catalog import REMOTE_PROPOSALS
from git_boocode.checkpoints.store.sharing import Fetched
from git_boocode.cli.candidates import remotes
from git_boocode.cli.framework import Command, json_option, refuse_together
from git_boocode.cli.output import (
    counted,
    first_lines,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    printable,
    relay,
    warn,
    warn_of_interruption,
)
from git_boocode.cli.push import all_counted, reasons
from git_boocode.repo.errors import shell_command
from git_boocode.repo.repository import Repository


@click.command(cls=Command)
@click.argument("remote", required=False, metavar="[<remote>]", shell_complete=remotes)
@click.argument("checkpoints", nargs=-1, metavar="[<checkpoint>...]")
@click.option("-p", "--prune", is_flag=True, help="Delete those that the remote no longer has.")
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would be fetched.")
@json_option
def fetch(
    remote: str | None, checkpoints: tuple[str, ...], prune: bool, dry_run: bool, as_json: bool
) -> int:
    """Fetch the checkpoints and proposals of a remote that are not here, or only named checkpoints.

    They are stored separately, under the remote's name: 'git boocode log --remote <name>' lists
    the checkpoints, and commands accept their ids.
    """
    refuse_together(("--prune", prune), ("names of checkpoints", checkpoints))
    repository = Repository.discover()
    warn_of_interruption(repository)
    with relay(as_json=as_json) as show:
        fetched = sharing.fetch(
            repository,
            remote,
            checkpoints,
            sharing.Sharing(prune=prune, dry_run=dry_run, show=show),
        )
    if as_json:
        answer = {**fetched._asdict(), "fetched": fetched.ids}
        del answer["ids"]
        for key in ("rejected", "rejected_proposals", "rejected_turn_ends"):
            answer[key] = [{"name": name, "reason": reason} for name, reason in answer[key]]
        print_json({"ok": True, **answer})
    else:
        _print(fetched)
    return 0


def _print(fetched: Fetched) -> None:
    remote = printable(fetched.remote)
    ends = [each for each in fetched.turn_ends if each not in (*fetched.ids, *fetched.moved)]
    for mark, ids, note in (
        (" *", fetched.ids, ""),
        (" +", fetched.moved, ""),
        (" -", fetched.pruned, ""),
        (" *", ends, " (turn end)"),
        (" *", fetched.proposals, " (proposal)"),
        (" -", fetched.pruned_proposals, " (proposal)"),
    ):
        for line in first_lines([f"{mark} {identifier}{note}" for identifier in ids]):
            print_feedback(line, dry_run=fetched.dry_run)
    come = all_counted([*fetched.ids, *fetched.moved], fetched.proposals, ends)
    gone = all_counted(fetched.pruned, fetched.pruned_proposals)
    fetch, prune = ("would fetch", "would prune") if fetched.dry_run else ("fetched", "pruned")
    done = [f"{fetch} {come} from {remote}"] if come else []
    done += [f"{prune} {gone} of {remote}"] if gone else []
    summary = "; ".join(done) or f"nothing to fetch: what {remote} has is here"
    print_feedback(summary, dry_run=fetched.dry_run)
    differ = f"is another checkpoint here than on '{remote}'; ours is untouched"
    for line in first_lines([f"{identifier} {differ}" for identifier in fetched.differing]):
        warn(line)
    if fetched.moved:
        warn(f"'{remote}' has other commits now for {counted(len(fetched.moved), 'checkpoint')}")
    every = (fetched.rejected, fetched.rejected_proposals, fetched.rejected_turn_ends)
    if rejected := [*chain(*every)]:
        skipped = all_counted(*every)
        warn(f"skipped {skipped} of '{remote}' that cannot be used")
        print_text(reasons(rejected), to_stderr=True)
    if fetched.ids and not fetched.dry_run:
        log = shell_command("git", "boocode", "log", "--remote", remote)
        print_hints((f"'{log}' shows them",))
    if fetched.proposals and not fetched.dry_run:
        newest = f"{REMOTE_PROPOSALS}{remote}/{fetched.proposals[-1]}"
        print_hints((f"'{shell_command('git', 'show', newest)}' shows the newest proposal",))
