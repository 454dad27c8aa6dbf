"""`git boocode uninstall`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import click

from git_boocode.agents.agent import USER
from git_boocode.agents.config_files import Locations, stop_excluding
from git_boocode.agents.git_install import plan_git_hooks
from git_boocode.agents.install import PlannedChange, carry_out, plan_uninstall
from git_boocode.agents.registry import AGENTS, ALL_AGENTS
from git_boocode.checkpoints.removal import (
    FILES,
    REFS,
    SETTINGS,
    SIDE_FILES,
    RemovalStep,
    all_locked,
    parts,
    users_settings,
)
from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.hooks_plan import HooksPlan, plugin_notes, with_log_decoration
from git_boocode.cli.output import (
    agrees,
    can_ask,
    first_lines,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    printable,
    quote_path,
    wants_json,
)
from git_boocode.repo.errors import FatalError
from git_boocode.repo.layout import SAFETY
from git_boocode.repo.repository import Repository
from git_boocode.workflows.restore_with_edits import agent_callbacks

_WORDS = {
    SIDE_FILES: ("saved transcript", "saved transcripts", "which undo needs"),
    REFS: ("ref", "refs", "all checkpoints, proposals, edit records and kept versions"),
    FILES: ("private directory", "private directories", ".git/boocode of all worktrees"),
    SETTINGS: ("setting", "settings", "of this repository"),
}


@click.command(cls=Command)
@option("--user", "Remove the hooks in your home directory, too, which serve all repositories.")
@option("--everything", "Remove all that is left, too, without asking.")
@option("-n, --dry-run", "Only show what would be removed.")
@json_option
def uninstall(user: bool, everything: bool, dry_run: bool) -> int:
    """Remove the hooks, and all that git-boocode keeps in this repository.

    The hooks of agents in all worktrees go, with the server that 'serve --install' added, and
    git's. For the hooks in your home directory, which serve all repositories, and for checkpoints,
    private files, settings, and transcripts that callbacks have saved, the command asks one by one;
    without a terminal they stay, unless --user or --everything is given.
    """
    repository = Repository.discover()
    (hooks, at_home), found = _hooks(repository), parts(repository)
    asks = can_ask() and not (everything or dry_run or wants_json())
    leaves_home = bool(at_home.edits) and not (
        user or everything or (asks and agrees(f"remove {_at_home(at_home)}?"))
    )
    if not leaves_home:
        hooks = hooks._replace(changes=[*hooks.changes, *at_home.changes])
    removes = asks or (everything and not dry_run)
    removed = _chosen(found, ask=asks) if removes else set()
    if not dry_run:
        _remove(repository, hooks, removed)
    elif not wants_json():
        _show(hooks, found)
    notes = [*plugin_notes(hooks.locations, AGENTS.values()), *_notes(repository, found)]
    if not (dry_run or everything or asks):
        notes = [*_left(found), *notes]
    if leaves_home and not asks:
        notes.insert(0, f"left: {_at_home(at_home)}; 'git boocode uninstall --user' removes them")
    if wants_json():
        rows = [{"name": p.name, "items": p.items, "removed": p.name in removed} for p in found]
        answer = {"ok": True, "dry_run": dry_run, "hooks": hooks.rows(), "parts": rows}
        print_json({**answer, "notes": notes})
        return 0
    if not (hooks.edits or found):
        print_feedback("nothing to uninstall", dry_run=dry_run)
    print_hints(tuple(notes))
    return 0


def _remove(repository: Repository, hooks: HooksPlan, names: set[str]) -> None:
    """Remove hooks and parts, as they are now: other commands may have run during the questions."""
    with all_locked(repository) if names else nullcontext():
        carry_out(hooks.changes, hooks.of_git)
        for line in () if wants_json() else hooks.lines():
            print_feedback(printable(line))
        for part in [part for part in parts(repository) if part.name in names]:
            part.remove()
            if not wants_json():
                print_feedback(f"removed {_counted(part)}")


def _at_home(plan: HooksPlan) -> str:
    titles = dict.fromkeys(change.file.agent.title for change in plan.changes if change.edit)
    return f"the hooks in your home directory, which serve all repositories ({', '.join(titles)})"


def _hooks(repository: Repository) -> tuple[HooksPlan, HooksPlan]:
    """What removes hooks and server from agents' files of all worktrees, and git's hooks.

    And what removes them from files in the home directory.
    """
    changes: dict[str, PlannedChange] = {}
    paths: set[str] = set()
    for other in _worktrees(repository):
        locations = Locations.of(other)
        files = (file for agent in ALL_AGENTS.values() for file in locations.all_files(agent))
        for change in plan_uninstall(locations, files):
            paths.add(os.path.relpath(change.file.path, other.worktree))
            # In a home directory that is a worktree two scopes are the same file.
            changes.setdefault(os.path.realpath(change.file.path), change)
    git = plan_git_hooks(repository, remove=True)
    exclude = list(stop_excluding(repository, sorted(paths)))
    here = [change for change in changes.values() if change.file.scope != USER]
    at_home = [change for change in changes.values() if change.file.scope == USER]
    locations = Locations.of(repository)
    plan = HooksPlan(locations, here, git=git, exclude=exclude)
    return with_log_decoration(plan), HooksPlan(locations, at_home)


def _worktrees(repository: Repository) -> Iterator[Repository]:
    """This worktree first, and the others of the repository that are there."""
    yield repository
    for line in repository.git.line("worktree", "list", "--porcelain").split("\n"):
        path = line.removeprefix("worktree ")
        if path == line or path == repository.worktree or not os.path.isdir(path):
            continue
        try:
            other = Repository.discover(path)
        except FatalError:
            # It is bare, or damaged.
            continue
        if other.common_dir == repository.common_dir and other.worktree != repository.worktree:
            yield other


def _chosen(found: list[RemovalStep], *, ask: bool) -> set[str]:
    """The names of the parts to remove: all, or those for which the user says so."""
    chosen: set[str] = set()
    names = {part.name for part in found}
    for part in found:
        # Checkpoints cannot be used without the private files.
        stays = part.name == FILES and REFS in names - chosen
        if not stays and (not ask or agrees(f"remove {_counted(part)}?")):
            chosen.add(part.name)
    return chosen


def _counted(part: RemovalStep) -> str:
    one, many, what = _WORDS[part.name]
    number = len(part.items)
    return f"{number:,} {one if number == 1 else many} ({what})"


def _show(hooks: HooksPlan, found: list[RemovalStep]) -> None:
    for line in hooks.lines():
        print_text(printable(line))
    for part in found:
        print_text(f"{_counted(part)}:")
        for line in first_lines([f" D {quote_path(item)}" for item in part.items]):
            print_text(line)


def _left(found: list[RemovalStep]) -> Iterator[str]:
    if found:
        listed = ", ".join(map(_counted, found))
        yield f"left: {listed}; 'git boocode uninstall --everything' removes them"


def _notes(repository: Repository, found: list[RemovalStep]) -> Iterator[str]:
    """What is never removed here, and how the user removes it."""
    keys = users_settings(repository)
    if any(key.startswith("boocode.") for key in keys):
        yield "your own settings stay: 'git config --global --remove-section boocode' removes them"
    if "advice.boocode" in keys:
        yield "advice.boocode stays: 'git config --global --unset advice.boocode' removes it"
    restored = any(item.startswith(SAFETY) for part in found for item in part.items)
    stores = {callback.store for callback in agent_callbacks().values()}
    for store in sorted(filter(os.path.isfile, stores)) if restored else ():
        yield f"tables named boocode_kept_<id> in '{store}' stay, if a restore changed it"
