"""`git boocode prune`."""

from __future__ import annotations

from collections import Counter

import click

from git_boocode.checkpoints.store import retention
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.retention import Expired, Rules
from git_boocode.cli import candidates
from git_boocode.cli.framework import AtLeast, Command, json_option, option
from git_boocode.cli.options import output_options
from git_boocode.cli.output import (
    first_lines,
    label_of,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    printable,
    progress,
    wants_json,
)
from git_boocode.editing.kept_versions import prune_reads
from git_boocode.editing.records import prune_edits
from git_boocode.repo.config import parse_age, parse_integer
from git_boocode.repo.disk import disk_usage, human_size
from git_boocode.repo.entries import MAX_DISK, TOO_OLD
from git_boocode.repo.errors import shortened
from git_boocode.repo.process import ignore_signals
from git_boocode.repo.repository import Repository

_EDIT, _READ = "edit", "read"
_NOUNS = {
    "checkpoint": ("checkpoint", "checkpoints"),
    "safety": ("safety checkpoint", "safety checkpoints"),
    "archived": ("archived checkpoint", "archived checkpoints"),
    "proposal": ("proposal", "proposals"),
    _EDIT: ("edit record", "edit records"),
    _READ: ("version that was read", "versions that were read"),
}
_REASONS = {
    "too_old": "too old",
    "too_many": "beyond the number to keep",
    "too_large": f"beyond {MAX_DISK}",
}


def _max_age(_: click.Context, __: click.Parameter, text: str | None) -> list[float | None]:
    """The age in seconds if one is given; None stands for `never`."""
    try:
        return [] if text is None else [parse_age(text)]
    except ValueError:
        raise click.BadParameter(
            f"'{shortened(text or '')}' is not a valid age (examples: 12h, 30d, 2w, never)"
        ) from None


def _max_disk(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    size = None if text is None else parse_integer(text)
    if text is not None and (size is None or size < 0):
        raise click.BadParameter(
            f"'{shortened(text)}' is not a valid size (examples: 500m, 2g, 0 for no limit)"
        )
    return size


@click.command(cls=Command)
@option("-n, --dry-run", "Only show what would be deleted, and its size.")
@option("--keep <n>", "Keep the newest <n>, instead of boocode.keep.", type=AtLeast(1))
@option("--older-than <age>", "Delete what is older, instead of boocode.maxAge.", callback=_max_age)
@option("--max-disk <size>", "Hold this size, instead of boocode.maxDisk.", callback=_max_disk)
@option("--all", "Prune all worktrees.", "everywhere")
@json_option
def prune(
    dry_run: bool,
    keep: int | None,
    older_than: list[float | None],
    max_disk: int | None,
    everywhere: bool,
) -> int:
    """Delete the checkpoints and proposals of this worktree that are too old, many or large.

    Safety checkpoints, archived checkpoints and edit records have age limits of their own. The
    newest checkpoint and the newest proposal of a worktree are never deleted, nor is what an
    interrupted restore needs, or what can still be undone.
    """
    repository = Repository.discover()
    with progress(repository, "pruning"):
        rules = Rules.configured(repository)
        limits = rules.checkpoints
        for age in older_than:
            limits = limits._replace(max_age=age)
        if keep is not None:
            limits = limits._replace(keep=keep)
        size = rules.max_disk if max_disk is None else max_disk
        rules = rules._replace(checkpoints=limits, max_disk=size)
        gone = _prune(repository, rules, everywhere=everywhere, dry_run=dry_run)
        if not dry_run:
            ignore_signals()
        usage = disk_usage(repository, [each.ref for each in gone])
    freed = None if usage is None else sum(usage.values())
    if wants_json():
        rows = list(map(_row, gone))
        print_json({"ok": True, "dry_run": dry_run, "pruned": rows, "bytes": freed})
    else:
        _print(gone, freed, dry_run=dry_run)
    return 0


def _prune(
    repository: Repository, rules: Rules, *, everywhere: bool, dry_run: bool
) -> list[Expired]:
    worktree = None if everywhere else repository.worktree_key
    # First what is only looked at: a setting that makes no sense is reported before anything goes.
    edits = prune_edits(repository, worktree=worktree, dry_run=True)
    reads = prune_reads(repository, dry_run=True)
    going = [*reads, *(ref for ref, _ in edits)]
    gone = retention.prune(repository, rules, everywhere=everywhere, dry_run=dry_run, gone=going)
    if not dry_run:
        edits = prune_edits(repository, worktree=worktree)
        reads = prune_reads(repository)
    gone += [Expired(ref, _EDIT, why) for ref, why in edits]
    return gone + [Expired(ref, _READ, TOO_OLD) for ref in reads]


def _row(expired: Expired) -> dict[str, object]:
    ref, kind, why, entry = expired
    label = entry.meta.shown("label") if isinstance(entry, Checkpoint) else ""
    return {
        "id": ref.id,
        "kind": kind,
        "ref": ref.name,
        "commit": ref.target,
        "label": label or None,
        "reason": why,
    }


def _line(expired: Expired) -> str:
    ref, kind, why, entry = expired
    label = label_of(entry) if isinstance(entry, Checkpoint) else ""
    what = f"{_NOUNS[kind][0]}{f' ({label})' if label else ''}"
    return f"{printable(ref.id)}  {what}: {_REASONS[why]}"


def _print(gone: list[Expired], size: int | None, *, dry_run: bool) -> None:
    if not gone:
        print_feedback("nothing to prune", dry_run=dry_run)
        return
    for line in first_lines(list(map(_line, gone))) if dry_run or output_options().verbose else ():
        print_text(line)
    counts = Counter(each.kind for each in gone)
    listed = ", ".join(f"{n} {_NOUNS[kind][n > 1]}" for kind in _NOUNS if (n := counts[kind]))
    held = "size unknown" if size is None else f"{human_size(size)} on disk"
    print_feedback(f"{'would prune' if dry_run else 'pruned'} {listed}: {held}", dry_run=dry_run)
    if not dry_run:
        print_hints(("'git gc' frees the space, once the objects are older than gc.pruneExpire",))


@click.command(cls=Command)
@click.argument(
    "checkpoints",
    nargs=-1,
    required=True,
    metavar="<checkpoint>...",
    shell_complete=candidates.checkpoints,
)
@option("-n, --dry-run", "Only show what would be dropped.")
@option("--even-needed", "Drop even what undo or an interrupted restore needs.")
@json_option
def drop(checkpoints: tuple[str, ...], dry_run: bool, even_needed: bool) -> int:
    """Delete the named checkpoints, all or none.

    A checkpoint that cannot be read must be named by its full id. The objects stay until `git gc`
    removes them; until then, the commit that is printed brings a checkpoint back.
    """
    dropped = retention.drop(
        Repository.discover(), checkpoints, even_needed=even_needed, dry_run=dry_run
    )
    if wants_json():
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
