"""`git boocode push`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

import click

from git_boocode.checkpoints.store import sharing
from git_boocode.checkpoints.store.secret_scan import FoundSecret
from git_boocode.checkpoints.store.sharing import Fetched, Pushed, Rejected
from git_boocode.cli import candidates
from git_boocode.cli.candidates import one_of, remotes
from git_boocode.cli.framework import Command, json_option, option, refuse_together
from git_boocode.cli.output import (
    agrees,
    can_ask,
    counted,
    first_lines,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    printable,
    relay,
    wants_json,
    warn,
    warn_of_interruption,
)
from git_boocode.repo.errors import FatalError, RefusedError, refuse_unknown, shell_command
from git_boocode.repo.layout import REMOTE_PROPOSALS
from git_boocode.repo.remotes import INSIDE_PUSH
from git_boocode.repo.repository import Repository

_NOTES = "the notes of commits"
_SECRETS = "secrets"
_READABLE = "whoever can read that remote can read them"


@click.command(cls=Command)
@click.argument("remote", required=False, metavar="[<remote>]", shell_complete=candidates.remotes)
@click.argument(
    "checkpoints",
    nargs=-1,
    metavar="[<checkpoint>...]",
    shell_complete=candidates.checkpoints,
)
@option("--all", "Push the checkpoints and proposals of all worktrees.", "everywhere")
@option("-n, --dry-run", "Only show what would be pushed.")
@option("--no-verify", "Bypass the pre-push hook.")
@option("--no-notes", "Leave out the notes of who wrote the lines of commits.")
@option("--redact", "Replace secrets in what is pushed; nothing here changes.")
@option("--yes", "Push untracked files without asking.")
@option(
    "--force <what>",
    f"Override a refusal: {_SECRETS} (push what has secrets in it).",
    multiple=True,
    shell_complete=one_of((_SECRETS,)),
)
@json_option
def push(
    remote: str | None,
    checkpoints: tuple[str, ...],
    everywhere: bool,
    dry_run: bool,
    no_verify: bool,
    no_notes: bool,
    redact: bool,
    yes: bool,
    force: tuple[str, ...],
) -> int:
    """Push the checkpoints of this worktree that a remote does not have, or only those named.

    Without names, also push its proposals. Checkpoints include untracked files: before the first of
    them go to a remote, it asks. What the remote has is never overwritten.
    """
    refuse_together(("--all", everywhere), ("names of checkpoints", checkpoints))
    refuse_together(("--redact", redact), ("--force", force))
    repository = Repository.discover()
    warn_of_interruption(repository)
    words = ["git", "boocode", "push", "--yes", *["--all"] * everywhere]
    words += [*["--no-verify"] * no_verify, *["--no-notes"] * no_notes]
    named = [*filter(None, [remote]), *checkpoints]
    forced = frozenset(word for each in force for word in each.split(","))
    refuse_unknown("force", sorted(forced), (_SECRETS,))
    given = ["--force", _SECRETS] if _SECRETS in forced else ["--redact"] * redact
    asked: list[str] = []

    def confirm(shown: str, files: Sequence[str]) -> None:
        asked.extend(files)
        first = f"untracked files would go to '{shown}' for the first time"
        if wants_json() or not can_ask():
            raise RefusedError(
                f"{first}\n{_listed(files)}",
                code="not_confirmed",
                hints=(f"{_READABLE}; to push them: {shell_command(*words, *given, *named)}",),
                details={"untracked": list(files)},
            )
        print_text(f"{printable(first)}:\n{_listed(files)}", to_stderr=True)
        print_hints((_READABLE,))
        if not agrees(f"push {counted(len(files), 'untracked file')}?"):
            raise RefusedError("nothing was pushed", code="not_confirmed")

    def refuse_secrets(shown: str, found: Sequence[FoundSecret]) -> None:
        anyway = shell_command(*words, "--force", _SECRETS, *named)
        redacted = shell_command(*words, "--redact", *named)
        ways = () if redact else (f"to push without them: {redacted}",)
        listed = "\n".join(first_lines([f" {printable(str(each))}" for each in found]))
        raise RefusedError(
            f"{counted(len(found), 'secret')} would go to '{shown}'\n{listed}",
            code="secrets",
            hints=(*ways, f"{_READABLE}; to push them anyway: {anyway}"),
            details={"secrets": [each.as_json() for each in found]},
        )

    with relay() as show:
        options = sharing.Sharing(
            everywhere,
            not no_verify,
            dry_run=dry_run,
            notes=not no_notes,
            show=show,
            redact=redact,
            found_secrets=None if _SECRETS in forced else refuse_secrets,
            confirm=None if yes else confirm,
        )
        pushed = sharing.push(repository, remote, checkpoints, options)
    answer = {
        "remote": pushed.remote,
        "pushed": pushed.ids,
        "rejected": _rows(pushed.rejected),
        "proposals": pushed.proposals,
        "rejected_proposals": _rows(pushed.rejected_proposals),
        "turn_ends": pushed.turn_ends,
        "rejected_turn_ends": _rows(pushed.rejected_turn_ends),
        "dry_run": pushed.dry_run,
        **({"redacted": pushed.redacted} if pushed.redacted else {}),
        **_about_notes(pushed),
    }
    if not wants_json():
        _print_pushed(pushed, hints=not asked)
    if any(_rejected_refs(pushed)):
        raise _refusal(pushed, answer)
    if wants_json():
        print_json({"ok": True, **answer})
    return 0


def _listed(files: Sequence[str]) -> str:
    return "\n".join(first_lines([f" {printable(path)}" for path in files]))


def _rows(rejected: Iterable[Rejected]) -> list[dict[str, str]]:
    return [{"id": name, "reason": reason} for name, reason in rejected]


def _about_notes(done: Pushed | Fetched) -> dict[str, object]:
    """The keys of a JSON answer about the notes of commits; none if there were no notes."""
    values = {"notes": done.notes, "rejected_notes": done.rejected_notes}
    return {key: value for key, value in values.items() if value}


def _print_pushed(pushed: Pushed, *, hints: bool) -> None:
    if os.environ.get(INSIDE_PUSH):
        print_feedback("skipped: a push of checkpoints is already running")
        return
    remote = printable(pushed.remote)
    ends = [each for each in pushed.turn_ends if each not in pushed.ids]
    every = ((pushed.ids, ()), (ends, ("turn end",)), (pushed.proposals, ("proposal",)))
    lines = [
        f" * {identifier}{f' ({about})' if about else ''}"
        for ids, kind in every
        for identifier in ids
        for about in (", ".join((*kind, *["redacted"] * (identifier in pushed.redacted))),)
    ]
    for line in first_lines(lines):
        print_feedback(line, dry_run=pushed.dry_run)
    went = [all_counted(pushed.ids, pushed.proposals, ends), _NOTES * pushed.notes]
    if any(went):
        verb = "would push" if pushed.dry_run else "pushed"
        number = " and ".join(filter(None, went))
        print_feedback(f"{verb} {number} to {remote}", dry_run=pushed.dry_run)
    elif not (pushed.rejected_notes or any(_rejected_refs(pushed))):
        print_feedback(f"nothing to push: {remote} has them all", dry_run=pushed.dry_run)
    if pushed.rejected_notes:
        warn(f"the notes of commits were not pushed: {printable(pushed.rejected_notes)}")
    if pushed.first and lines and hints:
        content = "checkpoints hold untracked files, prompts, session ids and the worktree's path:"
        print_hints((content, _READABLE))


def _rejected_refs(done: Pushed | Fetched) -> Sequence[Sequence[Rejected]]:
    return (done.rejected, done.rejected_proposals, done.rejected_turn_ends)


def _refusal(pushed: Pushed, answer: dict[str, object]) -> Exception:
    partly = (pushed.ids or pushed.proposals or pushed.turn_ends) and not pushed.dry_run
    kind = FatalError if partly else RefusedError
    every = _rejected_refs(pushed)
    number = all_counted(*every)
    rejected = [*chain(*every)]
    refused = f"'{pushed.remote}' did not take {number}"
    hint = "what it has is never overwritten: git push <remote> --delete <ref> removes it there"
    taken = any("another commit" in reason for _, reason in rejected)
    return kind(
        f"{refused}\n{reasons(rejected)}",
        code="rejected",
        hints=(hint,) if taken else (),
        details=answer,
    )


def all_counted(
    checkpoints: Collection[object], proposals: Collection[object], ends: Collection[object] = ()
) -> str:
    """How many checkpoints and others there are, such as `1 checkpoint and 2 proposals`."""
    numbers = ((checkpoints, "checkpoint"), (proposals, "proposal"), (ends, "turn end"))
    return " and ".join(counted(len(each), noun) for each, noun in numbers if each)


def reasons(rejected: list[Rejected]) -> str:
    """What was rejected, and why, a line each."""
    lines = [f" ! {printable(name)}: {printable(reason)}" for name, reason in rejected]
    return "\n".join(first_lines(lines))


@click.command(cls=Command)
@click.argument("remote", required=False, metavar="[<remote>]", shell_complete=remotes)
@click.argument("checkpoints", nargs=-1, metavar="[<checkpoint>...]")
@option("-p, --prune", "Delete those that the remote no longer has.")
@option("--no-notes", "Leave out the notes of who wrote the lines of commits.")
@option("-n, --dry-run", "Only show what would be fetched.")
@json_option
def fetch(
    remote: str | None, checkpoints: tuple[str, ...], prune: bool, no_notes: bool, dry_run: bool
) -> int:
    """Fetch the checkpoints and proposals of a remote that are not here, or only named checkpoints.

    They are stored separately, under the remote's name: 'git boocode log --remote <name>' lists
    the checkpoints, and commands accept their ids.
    """
    refuse_together(("--prune", prune), ("names of checkpoints", checkpoints))
    repository = Repository.discover()
    warn_of_interruption(repository)
    with relay() as show:
        fetched = sharing.fetch(
            repository,
            remote,
            checkpoints,
            sharing.Sharing(prune=prune, dry_run=dry_run, notes=not no_notes, show=show),
        )
    if wants_json():
        answer = {**fetched._asdict(), "fetched": fetched.ids}
        del answer["ids"]
        del answer["notes"], answer["rejected_notes"]
        answer |= _about_notes(fetched)
        for key in ("rejected", "rejected_proposals", "rejected_turn_ends"):
            answer[key] = [{"name": name, "reason": reason} for name, reason in answer[key]]
        print_json({"ok": True, **answer})
    else:
        _print_fetched(fetched)
    return 0


def _print_fetched(fetched: Fetched) -> None:
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
    number = all_counted([*fetched.ids, *fetched.moved], fetched.proposals, ends)
    come = " and ".join(filter(None, (number, _NOTES * fetched.notes)))
    gone = all_counted(fetched.pruned, fetched.pruned_proposals)
    fetch, prune = ("would fetch", "would prune") if fetched.dry_run else ("fetched", "pruned")
    done = [f"{fetch} {come} from {remote}"] if come else []
    done += [f"{prune} {gone} of {remote}"] if gone else []
    summary = "; ".join(done) or f"nothing to fetch: what {remote} has is here"
    print_feedback(summary, dry_run=fetched.dry_run)
    _warn_of(fetched, remote)
    if fetched.ids and not fetched.dry_run:
        log = shell_command("git", "boocode", "log", "--remote", remote)
        print_hints((f"'{log}' shows them",))
    if fetched.proposals and not fetched.dry_run:
        newest = f"{REMOTE_PROPOSALS}{remote}/{fetched.proposals[-1]}"
        print_hints((f"'{shell_command('git', 'show', newest)}' shows the newest proposal",))


def _warn_of(fetched: Fetched, remote: str) -> None:
    """Warn of what a fetch did not take, or what differs here."""
    differ = f"is another checkpoint here than on '{remote}'; ours is untouched"
    for line in first_lines([f"{identifier} {differ}" for identifier in fetched.differing]):
        warn(line)
    if fetched.rejected_notes:
        warn(f"the notes of commits were not fetched: {printable(fetched.rejected_notes)}")
    if fetched.moved:
        warn(f"'{remote}' has other commits now for {counted(len(fetched.moved), 'checkpoint')}")
    every = _rejected_refs(fetched)
    if rejected := [*chain(*every)]:
        skipped = all_counted(*every)
        warn(f"skipped {skipped} of '{remote}' that cannot be used")
        print_text(reasons(rejected), to_stderr=True)
