"""`git boocode push`."""

from __future__ import annotations

import os

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
@click.option("--all", "everywhere", is_flag=True, help="Push the checkpoints of all worktrees.")
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

    Checkpoints include untracked files. What the remote has is never overwritten.
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
        "rejected": [{"id": name, "reason": reason} for name, reason in pushed.rejected],
        "dry_run": pushed.dry_run,
    }
    if not as_json:
        _print(pushed)
    if pushed.rejected:
        raise _refusal(pushed, answer)
    if as_json:
        print_json({"ok": True, **answer})
    return 0


def _print(pushed: Pushed) -> None:
    if os.environ.get(INSIDE_PUSH):
        print_feedback("skipped: a push of checkpoints is already running")
        return
    remote = printable(pushed.remote)
    for line in first_lines([f" * {identifier}" for identifier in pushed.ids]):
        print_feedback(line, dry_run=pushed.dry_run)
    if pushed.ids:
        verb = "would push" if pushed.dry_run else "pushed"
        number = counted(len(pushed.ids), "checkpoint")
        print_feedback(f"{verb} {number} to {remote}", dry_run=pushed.dry_run)
    elif not pushed.rejected:
        print_feedback(f"nothing to push: {remote} has them all", dry_run=pushed.dry_run)
    if pushed.first and pushed.ids:
        print_hints(
            (
                "checkpoints hold untracked files, labels, session ids and the worktree's path:",
                "whoever can read that remote can read them",
            )
        )


def _refusal(pushed: Pushed, answer: dict[str, object]) -> Exception:
    kind = FatalError if pushed.ids and not pushed.dry_run else RefusedError
    refused = f"'{pushed.remote}' did not take {counted(len(pushed.rejected), 'checkpoint')}"
    hint = "what it has is never overwritten: git push <remote> --delete <ref> removes it there"
    taken = any("another commit" in reason for _, reason in pushed.rejected)
    return kind(
        f"{refused}\n{reasons(pushed.rejected)}",
        code="rejected",
        hints=(hint,) if taken else (),
        details=answer,
    )


def reasons(rejected: list[Rejected]) -> str:
    """What was rejected, and why, a line each."""
    lines = [f" ! {printable(name)}: {printable(reason)}" for name, reason in rejected]
    return "\n".join(first_lines(lines))
