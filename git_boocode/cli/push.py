"""`git boocode push`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

import click

from git_boocode.checkpoints.store import sharing
from git_boocode.checkpoints.store.sharing import Pushed, Rejected
from git_boocode.cli import candidates
from git_boocode.cli.framework import Command, json_option, refuse_together
from git_boocode.cli.output import (
    counted,
    first_lines,
    print_feedback,
    print_hints,
    print_json,
    printable,
    relay,
    warn_of_interruption,
)
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.remotes import INSIDE_PUSH
from git_boocode.repo.repository import Repository


@click.command(cls=Command)
@click.argument("remote", required=False, metavar="[<remote>]", shell_complete=candidates.remotes)
@click.argument(
    "checkpoints",
    nargs=-1,
    metavar="[<checkpoint>...]",
    shell_complete=candidates.checkpoints,
)
@click.option(
    "--all",
    "everywhere",
    is_flag=True,
    help="Push the checkpoints and proposals of all worktrees.",
)
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would be pushed.")
@click.option("--no-verify", is_flag=True, help="Bypass the pre-push hook.")
@json_option
def push(
    remote: str | None,
    checkpoints: tuple[str, ...],
    everywhere: bool,
    dry_run: bool,
    no_verify: bool,
    as_json: bool,
) -> int:
    """Push the checkpoints of this worktree that a remote does not have, or only those named.

    Without names, also push its proposals. Checkpoints include untracked files. What the remote has
    is never overwritten.
    """
    refuse_together(("--all", everywhere), ("names of checkpoints", checkpoints))
    repository = Repository.discover()
    warn_of_interruption(repository)
    with relay(as_json=as_json) as show:
        options = sharing.Sharing(everywhere, not no_verify, dry_run=dry_run, show=show)
        pushed = sharing.push(repository, remote, checkpoints, options)
    answer = {
        "remote": pushed.remote,
        "pushed": pushed.ids,
        "rejected": _rows(pushed.rejected),
        "proposals": pushed.proposals,
        "rejected_proposals": _rows(pushed.rejected_proposals),
        "dry_run": pushed.dry_run,
    }
    if not as_json:
        _print(pushed)
    if pushed.rejected or pushed.rejected_proposals:
        raise _refusal(pushed, answer)
    if as_json:
        print_json({"ok": True, **answer})
    return 0


def _rows(rejected: Iterable[Rejected]) -> list[dict[str, str]]:
    return [{"id": name, "reason": reason} for name, reason in rejected]


def _print(pushed: Pushed) -> None:
    if os.environ.get(INSIDE_PUSH):
        print_feedback("skipped: a push of checkpoints is already running")
        return
    remote = printable(pushed.remote)
    lines = [f" * {identifier}" for identifier in pushed.ids]
    lines += [f" * {identifier} (proposal)" for identifier in pushed.proposals]
    for line in first_lines(lines):
        print_feedback(line, dry_run=pushed.dry_run)
    if lines:
        verb = "would push" if pushed.dry_run else "pushed"
        number = both_counted(pushed.ids, pushed.proposals)
        print_feedback(f"{verb} {number} to {remote}", dry_run=pushed.dry_run)
    elif not (pushed.rejected or pushed.rejected_proposals):
        print_feedback(f"nothing to push: {remote} has them all", dry_run=pushed.dry_run)
    if pushed.first and lines:
        print_hints(
            (
                "checkpoints hold untracked files, labels, session ids and the worktree's path:",
                "whoever can read that remote can read them",
            )
        )


def _refusal(pushed: Pushed, answer: dict[str, object]) -> Exception:
    partly = (pushed.ids or pushed.proposals) and not pushed.dry_run
    kind = FatalError if partly else RefusedError
    number = both_counted(pushed.rejected, pushed.rejected_proposals)
    rejected = [*pushed.rejected, *pushed.rejected_proposals]
    refused = f"'{pushed.remote}' did not take {number}"
    hint = "what it has is never overwritten: git push <remote> --delete <ref> removes it there"
    taken = any("another commit" in reason for _, reason in rejected)
    return kind(
        f"{refused}\n{reasons(rejected)}",
        code="rejected",
        hints=(hint,) if taken else (),
        details=answer,
    )


def both_counted(checkpoints: Collection[object], proposals: Collection[object]) -> str:
    """How many checkpoints and proposals there are, such as `1 checkpoint and 2 proposals`."""
    numbers = ((len(checkpoints), "checkpoint"), (len(proposals), "proposal"))
    return " and ".join(counted(number, noun) for number, noun in numbers if number)


def reasons(rejected: list[Rejected]) -> str:
    """What was rejected, and why, a line each."""
    lines = [f" ! {printable(name)}: {printable(reason)}" for name, reason in rejected]
    return "\n".join(first_lines(lines))
