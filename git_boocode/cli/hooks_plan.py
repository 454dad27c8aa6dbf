"""A change of hooks or of our server in agents' files: carried out or shown, with notes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from git_boocode.agents.config_files import Locations, exclude_path, exclude_paths, sort_paths
from git_boocode.agents.config_program import installed_program
from git_boocode.agents.file_edits import FileEdit, diff_text
from git_boocode.agents.install import PlannedChange, carry_out, makes_file
from git_boocode.agents.registry import USER
from git_boocode.cli.colour import diff_painter
from git_boocode.cli.output import (
    agrees,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    printable,
    quote_path,
)
from git_boocode.repo.config import Config
from git_boocode.repo.errors import shell_command
from git_boocode.repo.git import Git, clean_environment

_LETTERS = {"create": "A", "modify": "M", "delete": "D"}


def shown_path(locations: Locations, path: str) -> str:
    """A path as a user would write it: from here, or from the home directory."""
    top = locations.repository.worktree if locations.repository else None
    if top is not None and path.startswith(os.path.join(top, "")):
        return quote_path(os.path.relpath(path))
    if path.startswith(os.path.join(locations.home, "")):
        return quote_path(os.path.join("~", os.path.relpath(path, locations.home)))
    return quote_path(path)


class HooksPlan(NamedTuple):
    """What will change, for agents and for git."""

    locations: Locations
    changes: list[PlannedChange]
    git: list[FileEdit]
    exclude: Sequence[FileEdit] = ()  # the change of `info/exclude`, if there is one

    @property
    def edits(self) -> list[FileEdit]:
        """The changes of all files."""
        edits = (change.edit for change in self.changes if change.edit is not None)
        return [*edits, *self.git, *self.exclude]

    def in_worktree(self) -> dict[str, PlannedChange]:
        """The changes of files in the worktree, by the path below it."""
        repository = self.locations.repository
        prefix = f"{repository.worktree}/" if repository else ""
        changes = (change for change in self.changes if change.file.scope != USER)
        return {change.file.path.removeprefix(prefix): change for change in changes}

    def released(self) -> list[str]:
        """The paths below the worktree in which nothing of git-boocode is left."""
        return [path for path, change in self.in_worktree().items() if not change.stays]

    def rows(self) -> list[dict[str, Any]]:
        """Each file that changes, as in the JSON answer."""
        agents = [(c.file.agent.name, c.file.scope, c.edit) for c in self.changes if c.edit]
        rows = []
        of_git = (("git", None, edit) for edit in (*self.git, *self.exclude))
        for agent, scope, edit in (*agents, *of_git):
            action = "delete" if edit.after is None else "modify"
            action = "create" if edit.before is None else action
            row = {"agent": agent, "scope": scope, "path": edit.path, "action": action}
            rows.append({**row, "title": edit.title})
        return rows

    def lines(self) -> Iterator[str]:
        """Each file that changes, for people; without those of our own."""
        for row in self.rows():
            if row["title"]:
                path = shown_path(self.locations, row["path"])
                yield f" {_LETTERS[row['action']]} {path}: {row['title']}"


class PlanResult(NamedTuple):
    """What to say of a plan that was carried out; if nothing changes, `nothing`.

    `key` is that of the files in the JSON answer.
    """

    changed: str
    nothing: str
    notes: list[str]
    key: str = "hooks"


def configuration(locations: Locations) -> Config:
    """All configuration that holds here, in a repository or outside any."""
    if locations.repository is not None:
        return locations.repository.config
    return Config.read(Git(".", clean_environment(os.environ)))


def finish(plan: HooksPlan, result: PlanResult, *, dry_run: bool, as_json: bool) -> int:
    """Carry out a plan, or show it, and answer."""
    diff = diff_text(plan.edits) if dry_run else ""
    if not dry_run:
        carry_out(plan.changes, (*plan.git, *plan.exclude))
    if as_json:
        answer = {"ok": True, "dry_run": dry_run, result.key: plan.rows(), "notes": result.notes}
        print_json({**answer, "diff": diff} if dry_run else answer)
        return 0
    paint = diff_painter(configuration(plan.locations))
    for line in diff.split("\n")[:-1]:
        print_text(paint(printable(line.rstrip("\r"))))
    for line in () if dry_run else plan.lines():
        print_feedback(printable(line))
    if not plan.edits:
        print_feedback(result.nothing, dry_run=dry_run)
    elif not dry_run and result.changed:
        print_feedback(result.changed)
    print_hints(tuple(result.notes))
    return 0


def changed_hooks(plan: HooksPlan, done: str) -> str:
    """Whose hooks were changed; empty if none were."""
    if done == "installed" and any(edit.after is None for edit in plan.edits):
        # Git's hooks that boocode.gitHooks no longer names go when the others come.
        done = "changed"
    titles = dict.fromkeys(change.file.agent.title for change in plan.changes if change.edit)
    *most, last = ["", *titles, *(["git"] if plan.git else [])]
    listed = ", ".join(filter(None, most))
    return last and f"{done} hooks for {listed}{' and ' if listed else ''}{last}"


def package_notes(plan: HooksPlan) -> list[str]:
    """Notes about directories of the worktree into which agents install packages."""
    repository = plan.locations.repository
    notes = {}
    for file, edit, *_ in plan.changes:
        directory = file.agent.package_directory
        if repository is None or file.scope == USER or not directory or edit is None:
            continue
        path, title = os.path.join(repository.worktree, directory), file.agent.title
        if edit.after is not None and not os.path.isdir(path):
            notes[path] = (
                f"{title} will install dozens of packages into '{directory}', which does not exist "
                "yet; 'git boocode hooks install "
                f"--agent {file.agent.name} --user' leaves the worktree as it is"
            )
        elif edit.after is None and os.path.isdir(os.path.join(path, "node_modules")):
            notes[path] = f"the packages that {title} installed into '{directory}' stay there"
    return list(notes.values())


def exclusion(plan: HooksPlan, *, asks: bool) -> list[FileEdit]:
    """The change that keeps the files that are made from git, unless the user declines."""
    repository = plan.locations.repository
    made = [path for path, change in plan.in_worktree().items() if makes_file(change)]
    if repository is None or not made:
        return []
    paths = sort_paths(repository, made).addable
    where = shown_path(plan.locations, exclude_path(repository))
    if not paths or (asks and not agrees(f"add {', '.join(paths)} to {where}?")):
        return []
    return [exclude_paths(repository, paths)]


def sharing_notes(plan: HooksPlan, command: str, *, dry_run: bool = False) -> list[str]:
    """Notes about files that others get with git; `command` is what is written to them."""
    repository, changes = plan.locations.repository, plan.in_worktree()
    below = {
        path: change.edit.path
        for path, change in changes.items()
        if change.edit is not None and change.edit.after is not None
    }
    if repository is None or not below:
        return []
    found = sort_paths(repository, below)

    def shown(names: Iterable[str]) -> str:
        return ", ".join(shown_path(plan.locations, below[name]) for name in names)

    get, can, use = ("would get", "could", "would use") if dry_run else ("get", "can", "use")
    notes = []
    if found.tracked:
        names = shown(found.tracked)
        notes.append(f"tracked, so others {get} them with the next commit: {names}")
    addable = [path for path in found.addable if not (plan.exclude and makes_file(changes[path]))]
    if addable:
        exclude = shown_path(plan.locations, exclude_path(repository))
        notes.append(
            f"not ignored, so they {can} be committed: {shown(addable)}\n"
            f"lines in {exclude} keep them to yourself; --exclude adds them"
        )
    if notes and not command.startswith("git "):
        program = shell_command(*installed_program())
        notes.append(f"they {use} this machine's path '{program}'; do not commit them")
    return notes
