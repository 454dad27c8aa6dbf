"""`git boocode doctor`: explain problems, and repair them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from time import time

import click

from git_boocode.agents.hook_state import PROBLEM_DAYS, entries, log_path, newest
from git_boocode.agents.registry import AGENTS
from git_boocode.checkpoints.checkup import (
    Finding,
    check_checkpoints,
    check_directories,
    check_files,
    check_owner,
    remove_broken,
)
from git_boocode.checkpoints.disk_checkup import check_disk
from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.output import (
    first_lines,
    print_feedback,
    print_json,
    print_text,
    printable,
    progress,
    quote_path,
    report,
    wants_json,
)
from git_boocode.editing.records import needed_records, problems
from git_boocode.editing.recovery import DAMAGED, describe, forget_note, interrupted_edit, repair
from git_boocode.proposals.proposal import Proposals
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError, from_os
from git_boocode.repo.gc import missing_objects
from git_boocode.repo.git import GitError
from git_boocode.repo.layout import EDIT_NOTE, EDITS, FORK_NOTE
from git_boocode.repo.lock import interrupted_restore, is_noted, worktree_lock
from git_boocode.repo.repository import Repository
from git_boocode.workflows import restore_with_edits
from git_boocode.workflows.restore_with_edits import half_way, is_kept, remedy
from git_boocode.workflows.settings_checkup import check_settings

_PATIENCE = 2.0
"""Seconds to wait for a running command, which is not a problem."""
_NEWEST = 5
_REMOVAL = ("removes it", "it was removed")


@click.command(cls=Command)
@option("--fix", "Repair what can be repaired.")
@json_option
def doctor(fix: bool) -> int:
    """Explain what interrupted commands left behind, and what cannot be used.

    That may be checkpoints, proposals, edit records, private files, and temporary files of git.
    """
    repository = Repository.discover()
    failures: list[BoocodeError] = []
    findings = list(check_directories(repository, fix=fix))
    if denied := check_owner(repository):
        findings.append(denied)
    else:
        findings += _in_repository(repository, failures, fix=fix)
    unfixed = [finding for finding in findings if not (finding.fixed or finding.past)]
    rows = [finding._asdict() for finding in findings]
    if not wants_json():
        _print(findings)
    if failures:
        *others, worst = sorted(failures, key=lambda error: error.exit_code)
        for other in others if not wants_json() else ():
            report(other)
        worst.details["findings"] = rows
        raise worst
    if wants_json() and unfixed:
        first = unfixed[0]
        error = {"code": first.kind, "message": first.message, "hint": first.remedy}
        print_json({"ok": False, "error": error, "findings": rows})
    elif wants_json():
        print_json({"ok": True, "findings": rows})
    elif not findings:
        print_feedback("no problems found")
    return 1 if unfixed else 0


def interruptions(repository: Repository) -> list[Finding]:
    """What was killed half-way in this worktree; empty while an edit or a restore is running."""
    state, findings = repository.state_dir, list[Finding]()
    if not is_noted(state):
        return []
    with (
        suppress(RefusedError),
        worktree_lock(state, shared=True, patience=0, read_only=True),
    ):
        for check in (_interrupted_edit, _interrupted_restore):
            try:
                found = check(repository, fix=False)
            except (BoocodeError, OSError) as error:
                message = error.message if isinstance(error, BoocodeError) else str(error)
                found = Finding("interrupted_edit", message, (), "'git boocode doctor' says more")
            findings += [found] if found else []
    return findings


def _in_repository(
    repository: Repository, failures: list[BoocodeError], *, fix: bool
) -> Iterator[Finding]:
    """The problems of all kinds; a failed repair is added to `failures`."""
    with progress(repository, "checking"):
        state = repository.state_dir
        with worktree_lock(state, shared=False, patience=_PATIENCE, read_only=not fix):
            yield from _in_worktree(repository, failures, fix=fix)
        yield from check_checkpoints(repository, Proposals(repository), fix=fix)
        yield from check_disk(repository, fix=fix)
    yield from _forks(repository, fix=fix)
    yield from check_settings(repository)
    yield from _silent(repository)
    yield from _hooks(repository)


def _in_worktree(
    repository: Repository, failures: list[BoocodeError], *, fix: bool
) -> list[Finding]:
    """The problems with the files of this worktree; a failed repair is added to `failures`."""

    def look(check: Callable[..., Finding | None]) -> Finding | None:
        try:
            return check(repository, fix=fix)
        except (BoocodeError, OSError) as error:
            failures.append(error if isinstance(error, BoocodeError) else from_os(error))
        try:
            # It is still a problem, whatever kept it from being repaired.
            return check(repository, fix=False) if fix else None
        except (BoocodeError, OSError):
            return None

    # Leftover files prove whose a lock is, and repairing an interrupted restore sweeps them.
    files = list(check_files(repository, fix=fix))
    found = map(look, (_interrupted_edit, _interrupted_restore))
    interrupted = [finding for finding in found if finding is not None]
    return [*interrupted, *files, *_broken_records(repository, fix=fix)]


def _forks(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    """The worktree that a killed fork left; none while a fork is running."""
    if not os.path.lexists(os.path.join(repository.common_state_dir, FORK_NOTE)):
        return
    from git_boocode.checkpoints.new_worktree import fork_lock, interrupted_fork, resolve_fork
    from git_boocode.workflows.fork_turn import roll_back_conversation

    with suppress(RefusedError), fork_lock(repository, patience=_PATIENCE if fix else 0):
        if fork := interrupted_fork(repository):
            does, done = ("completes it", "it was completed") if fork.is_complete else _REMOVAL
            message = f"a fork was interrupted while its worktree '{fork.path}' was made"
            remedy = f"'git boocode doctor --fix' {does}, and so does the next fork"
            paths = (fork.path if fork.is_complete else os.path.dirname(fork.temporary_path),)
            repair = partial(
                resolve_fork, repository, fork, partial(roll_back_conversation, repository)
            )
            finding = Finding("leftover_fork", message, paths, remedy)
            yield finding.repaired(repair, done, fix=fix)


def _interrupted_edit(repository: Repository, *, fix: bool) -> Finding | None:
    try:
        found = interrupted_edit(repository)
    except FatalError as error:
        if error.code != DAMAGED:
            raise
        found = None
    if found is not None:
        paths = tuple(found.paths())
        finding = Finding("interrupted_edit", describe(found), paths, remedy(found))
        return finding._replace(remedy=repair(repository, found), fixed=True) if fix else finding
    if not os.path.lexists(os.path.join(repository.state_dir, EDIT_NOTE)):
        return None
    message = "the journal of an interrupted edit is damaged"
    return Finding(
        "stale_note", message, (), "'git boocode doctor --fix' removes the journal"
    ).repaired(
        lambda: forget_note(repository),
        "the journal was removed; check the files of the worktree",
        fix=fix,
    )


def _interrupted_restore(repository: Repository, *, fix: bool) -> Finding | None:
    safety = interrupted_restore(repository.state_dir)
    if safety is None or not is_kept(repository, safety):
        return None
    message = half_way(safety)
    if not fix:
        way_back = "'git boocode doctor --fix' or 'git boocode undo' goes back to it"
        return Finding("interrupted_restore", message, (), way_back)
    result = restore_with_edits.repair(repository)
    done = "there was nothing to roll back"
    if result is not None:
        kept = f"what was there half-way is kept as {result.undo}"
        done = (
            f"rolled back to {result.checkpoint.id}; {kept}, and 'git boocode redo' restores again"
        )
    return Finding("interrupted_restore", message, (), done, fixed=True)


def _broken_records(repository: Repository, *, fix: bool) -> Iterator[Finding]:
    store = repository.store
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
            "'git fsck' shows what else is missing",
        )
        goes = fix and identifier in lacking and identifier not in needed
        yield remove_broken(store, refs[identifier], finding, fix=True) if goes else finding


def _silent(repository: Repository) -> Iterator[Finding]:
    """Hooks that agents do not run, as they record it or as their sessions show."""
    from git_boocode.agents.config_files import Locations
    from git_boocode.agents.install import has_worked_since_installed, states_here
    from git_boocode.agents.plugins import plugins_here

    locations = Locations.of(repository)
    try:
        states = states_here(locations, repository.config)
    except BoocodeError:
        # A setting is invalid, which every hook reports.
        return
    found = [(s.agent, f"the hooks in '{s.paths[0]}'", s.paths, s.untrusted) for s in states]
    for plugin in plugins_here(locations):
        where = f"the hooks of the plugin '{plugin.plugin}'"
        found.append((plugin.agent, where, (plugin.path,), plugin.untrusted))
    for name, where, paths, untrusted in found:
        agent = AGENTS[name]
        if untrusted and agent.trust:
            message = f"{agent.title} does not run {where}"
            lines = (f"not trusted yet: {', '.join(untrusted)}",)
            yield Finding("untrusted_hooks", message, paths, agent.trust.advice, lines=lines)
    called = {s.agent for s in states if s.last_call or s.untrusted}
    for state in states:
        if not state.events or state.agent in called:
            continue
        if has_worked_since_installed(state, repository.worktree):
            message = (
                f"{state.title} has worked here since the hooks in '{state.paths[0]}' were "
                "installed, but has not called them"
            )
            remedy = f"restart {state.title}, which reads hooks when it starts"
            yield Finding("uncalled_hooks", message, state.paths, remedy, past=True)


def _hooks(repository: Repository) -> Iterator[Finding]:
    found = entries(repository.common_state_dir, since=time() - PROBLEM_DAYS * 86_400)
    if not found:
        return
    lines = []
    for entry, count in newest(found, _NEWEST):
        where = f" in {entry.worktree}" if entry.worktree else ""
        times = f" ({count} times)" if count > 1 else ""
        who = " ".join(filter(None, (entry.agent, entry.event)))
        lines.append(f"{entry.time} {who}{where}: {entry.message}{times}")
    what = "a problem" if len(found) == 1 else f"{len(found)} problems"
    path = log_path(repository.common_state_dir)
    message = f"hooks reported {what} in the last {PROBLEM_DAYS} days"
    remedy = f"the whole log is '{path}'"
    yield Finding("hooks", message, (path,), remedy, lines=tuple(lines), past=True)


def _print(findings: list[Finding]) -> None:
    for finding in findings:
        print_text(printable(finding.message))
        if finding.kind == "leftover_files":
            for line in first_lines([f"  {quote_path(path)}" for path in finding.paths]):
                print_text(line)
        for line in finding.lines:
            print_text(f"  {printable(line)}")
        about = "log" if finding.kind == "hooks" else "note"
        state = about if finding.past else "fixed" if finding.fixed else "to do"
        print_text(f"  {state}: {printable(finding.remedy)}")
