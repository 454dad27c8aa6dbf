"""`git boocode doctor`: explain what is amiss, and mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from git_boocode.checkpoints.checkup import Finding
from git_boocode.cli.framework import Command, json_option

if TYPE_CHECKING:
    from git_boocode.repo.errors import BoocodeError
    from git_boocode.repo.repository import Repository

_PATIENCE = 2.0
"""Seconds to wait for a command at work, which is no ailment."""
_DAYS = 7
"""For so long it is told what went wrong in hooks."""
_NEWEST = 5


@click.command(cls=Command)
@click.option("--fix", is_flag=True, help="Mend what can be mended.")
@json_option
def doctor(fix: bool, as_json: bool) -> int:
    """Find what killed commands left, and checkpoints that cannot be used, and explain it."""
    from git_boocode.checkpoints.checkup import check_checkpoints, check_directories
    from git_boocode.cli.output import print_json, progress
    from git_boocode.repo.repository import Repository
    from git_boocode.repo.scratch import worktree_lock

    repository = Repository.discover()
    failures: list[BoocodeError] = []
    state = repository.state_dir
    findings = list(check_directories(repository, fix=fix))
    with worktree_lock(state, shared=False, patience=_PATIENCE, looking=not fix):
        findings += _findings(repository, failures, fix=fix)
    with progress("checking the checkpoints"):
        findings += check_checkpoints(repository, fix=fix)
    findings += _hooks(repository)
    open_ones = [finding for finding in findings if not (finding.fixed or finding.past)]
    if failures:
        raise _failure(findings, failures, as_json=as_json)
    if as_json:
        print_json(_as_json(findings, open_ones))
    else:
        _print(findings)
    return 1 if open_ones else 0


def _as_json(findings: list[Finding], open_ones: list[Finding]) -> dict[str, object]:
    answer: dict[str, object] = {"ok": not open_ones}
    if open_ones:
        first = open_ones[0]
        answer["error"] = {"code": first.kind, "message": first.message, "hint": first.remedy}
    return {**answer, "findings": [finding._asdict() for finding in findings]}


def _failure(
    findings: list[Finding], failures: list[BoocodeError], *, as_json: bool
) -> BoocodeError:
    """The worst of what could not be looked at or mended, once all else has been told."""
    from git_boocode.cli.output import report

    *others, worst = sorted(failures, key=lambda error: error.exit_code)
    if as_json:
        worst.details["findings"] = [finding._asdict() for finding in findings]
        return worst
    if findings:
        _print(findings)
    for other in others:
        report(other, as_json=False)
    return worst


def _findings(repository: Repository, failures: list[BoocodeError], *, fix: bool) -> list[Finding]:
    """What is amiss with the files of this worktree.

    Args:
        repository: the repository.
        failures: takes how mending has failed; what else is amiss is to be told all the same.
        fix: whether to mend what can be mended safely.
    """
    from git_boocode.checkpoints.checkup import check_files

    # What lies about is proof of whose a lock is, and mending an interrupted restore sweeps it.
    files = list(check_files(repository, fix=fix))
    found = (
        _unless_it_fails(look, repository, failures, fix=fix)
        for look in (_interrupted_edit, _interrupted_restore)
    )
    interrupted = [finding for finding in found if finding is not None]
    return [*interrupted, *files, *_broken_records(repository, fix=fix)]


def _unless_it_fails(
    look: Callable[..., Finding | None],
    repository: Repository,
    failures: list[BoocodeError],
    *,
    fix: bool,
) -> Finding | None:
    from git_boocode.repo.errors import BoocodeError, from_os

    try:
        return look(repository, fix=fix)
    except BoocodeError as error:
        failures.append(error)
    except OSError as error:
        failures.append(from_os(error))
    if not fix:
        return None
    try:
        # It is still amiss, whatever kept it from being mended.
        return look(repository, fix=False)
    except (BoocodeError, OSError):
        return None


def _broken_records(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    from git_boocode.checkpoints.checkup import remove_broken
    from git_boocode.editing.records import EDITS, needed_records, problems
    from git_boocode.repo.connectivity import missing_objects
    from git_boocode.repo.git import GitError
    from git_boocode.repo.store import Store

    store = Store(repository)
    refs = {ref.id: ref for ref in store.refs(EDITS)}
    try:
        lacking = missing_objects(repository, {name: [refs[name].target] for name in refs})
    except GitError:
        # An object is damaged, which is for `git fsck` to explain.
        lacking = {}
    found = {name: f"it lacks objects, such as {lost}" for name, lost in lacking.items()}
    found |= dict(problems(repository))
    needed = needed_records(repository) if lacking and fix else set()
    for identifier in sorted(found, reverse=True):
        finding = Finding(
            "broken_record",
            f"the record '{identifier}' of an edit cannot be used: {found[identifier]}",
            (),
            f"'git update-ref -d {EDITS}{identifier}' drops it; "
            "'git fsck' tells what else is missing",
        )
        goes = fix and identifier in lacking and identifier not in needed
        yield remove_broken(store, refs[identifier], finding) if goes else finding


def _hooks(repository: Repository) -> Iterator[Finding]:
    from time import time

    from git_boocode.agents.hook_log import entries, log_path, newest

    found = entries(repository.common_state_dir, since=time() - _DAYS * 86_400)
    if not found:
        return
    lines = []
    for entry, count in newest(found, _NEWEST):
        where = f" in {entry.worktree}" if entry.worktree else ""
        times = f" ({count} times)" if count > 1 else ""
        who = " ".join(filter(None, (entry.agent, entry.event)))
        lines.append(f"{entry.time} {who}{where}: {entry.message}{times}")
    problems = "a problem" if len(found) == 1 else f"{len(found)} problems"
    path = log_path(repository.common_state_dir)
    yield Finding(
        "hooks",
        f"hooks have met {problems} in the last {_DAYS} days",
        (path,),
        f"all of it is in '{path}'",
        lines=tuple(lines),
        past=True,
    )


def _interrupted_edit(repository: Repository, *, fix: bool) -> Finding | None:
    from git_boocode.cli.interruption import is_edit_noted, remedy
    from git_boocode.editing.recovery import (
        DAMAGED,
        describe,
        forget_note,
        interrupted_edit,
        repair,
    )
    from git_boocode.repo.errors import FatalError

    try:
        found = interrupted_edit(repository)
    except FatalError as error:
        if error.code != DAMAGED:
            raise
        found = None
    if found is None and not is_edit_noted(repository):
        return None
    if found is None:
        message = "the journal of an interrupted edit is damaged"
        if fix:
            forget_note(repository)
            done = "the journal was removed; check the files of the worktree"
            return Finding("stale_note", message, (), done, fixed=True)
        return Finding("stale_note", message, (), "'git boocode doctor --fix' removes the journal")
    paths = tuple(found.paths())
    if fix:
        done = repair(repository, found)
        return Finding("interrupted_edit", describe(found), paths, done, fixed=True)
    return Finding("interrupted_edit", describe(found), paths, remedy(found))


def _interrupted_restore(repository: Repository, *, fix: bool) -> Finding | None:
    from git_boocode.checkpoints.restore.journal import interrupted
    from git_boocode.cli.interruption import is_kept

    safety = interrupted(repository.state_dir)
    if safety is None or not is_kept(repository, safety):
        return None
    message = f"a restore was interrupted half-way; the state before it is kept as {safety}"
    if fix:
        done = _rolled_back(repository)
        return Finding("interrupted_restore", message, (), done, fixed=True)
    remedy = "'git boocode doctor --fix' or 'git boocode undo' goes back to it"
    return Finding("interrupted_restore", message, (), remedy)


def _rolled_back(repository: Repository) -> str:
    from git_boocode.checkpoints.restore.restore import Options, mend
    from git_boocode.cli.restoring import LazyEditor

    outcome = mend(repository, Options(editor=LazyEditor()))
    if outcome is None:
        return "there was nothing to roll back"
    return (
        f"rolled back to {outcome.checkpoint.id}; "
        f"what was there half-way is kept as {outcome.undo}, and 'git boocode redo' restores again"
    )


def _print(findings: list[Finding]) -> None:
    from git_boocode.cli.output import print_text, printable, quote_path

    for finding in findings:
        print_text(printable(finding.message))
        if finding.kind == "leftover_files":
            for path in finding.paths:
                print_text(f"  {quote_path(path)}")
        for line in finding.lines:
            print_text(f"  {printable(line)}")
        state = "log" if finding.past else "fixed" if finding.fixed else "to do"
        print_text(f"  {state}: {printable(finding.remedy)}")
    if not findings:
        print_text("all is well")
