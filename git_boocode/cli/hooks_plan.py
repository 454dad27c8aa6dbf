"""A change of hooks or of our server in agents' files: planned, carried out or shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from git_boocode.agents.agent import HOOKS, PROJECT, SCOPES, SERVER, USER, Agent, Package
from git_boocode.agents.config_files import (
    Locations,
    exclude_path,
    exclude_paths,
    sort_paths,
    stop_excluding,
)
from git_boocode.agents.config_package import package_path
from git_boocode.agents.config_program import installed_program
from git_boocode.agents.file_edits import FileEdit, diff_text
from git_boocode.agents.install import (
    OTHER_SERVER,
    PRESENT,
    PlannedChange,
    carry_out,
    makes_file,
    plan_install,
    plan_uninstall,
    server_state,
    tracked_server_files,
    wanted_server,
)
from git_boocode.agents.log_decoration import SETTING, shows_our_refs, with_decoration
from git_boocode.agents.plugins import plugins_here
from git_boocode.agents.registry import AGENTS, SERVER_AGENTS, find_agent
from git_boocode.agents.worktree_hooks import WorktreeHooks
from git_boocode.cli.output import (
    agrees,
    diff_painter,
    print_feedback,
    print_hints,
    print_json,
    print_text,
    printable,
    quote_path,
    wants_json,
)
from git_boocode.repo.config import Config
from git_boocode.repo.errors import BoocodeError, RefusedError, UsageError, first_few, shell_command
from git_boocode.repo.git import Git, clean_environment
from git_boocode.repo.repository import Repository

_MOST_PATHS = 5
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
    """What will change, for agents and for git; `part` is what changes for agents."""

    locations: Locations
    changes: Sequence[PlannedChange]
    part: str = HOOKS
    git: Sequence[FileEdit] = ()
    exclude: Sequence[FileEdit] = ()  # the change of `info/exclude`, if there is one
    settings: Sequence[FileEdit] = ()  # the change of git's configuration, without its hooks
    worktrees: Sequence[WorktreeHooks] | None = None

    @property
    def of_git(self) -> list[FileEdit]:
        """The changes of git's own files."""
        return [*self.git, *self.exclude, *self.settings]

    @property
    def edits(self) -> list[FileEdit]:
        """The changes of all files."""
        edits = (change.edit for change in self.changes if change.edit is not None)
        return [*edits, *self.of_git]

    def in_worktree(self) -> dict[str, PlannedChange]:
        """The changes of files in the worktree, by the path below it."""
        repository = self.locations.repository
        prefix = f"{repository.worktree}/" if repository else ""
        changes = (change for change in self.changes if change.file.scope != USER)
        return {change.file.path.removeprefix(prefix): change for change in changes}

    def rows(self) -> list[dict[str, Any]]:
        """Each file that changes, as in the JSON answer."""
        agents = [(c.file.agent.name, c.file.scope, c.edit) for c in self.changes if c.edit]
        rows = []
        of_git = (("git", None, edit) for edit in self.of_git)
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

    def summary(self, done: str) -> str:
        """What was done, and for whom; empty if nothing was."""
        titles = dict.fromkeys(change.file.agent.title for change in self.changes if change.edit)
        *most, last = ["", *titles, *(["git"] if self.git else [])]
        if not last:
            return ""
        if done == "installed" and any(edit.after is None for edit in self.edits):
            # Git's hooks that boocode.gitHooks no longer names go when the others come.
            done = "changed"
        listed = ", ".join(filter(None, most))
        what = "the server" if self.part == SERVER else "hooks"
        return f"{done} {what} for {listed}{' and ' if listed else ''}{last}"


def configuration(locations: Locations) -> Config:
    """All configuration that holds here, in a repository or outside any."""
    if locations.repository is not None:
        return locations.repository.config
    return Config.read(Git(".", clean_environment(os.environ)))


def finish(plan: HooksPlan, done: str, nothing: str, notes: list[str], *, dry_run: bool) -> int:
    """Carry out a plan, or show it, and answer: that it is `done`, or that there is `nothing`."""
    if not dry_run:
        carry_out(plan.changes, plan.of_git)
    if wants_json():
        key = "files" if plan.part == SERVER else "hooks"
        answer = {"ok": True, "dry_run": dry_run, key: plan.rows(), "notes": notes}
        if plan.worktrees is not None:
            answer["worktrees"] = [row._asdict() for row in plan.worktrees]
        print_json({**answer, "diff": diff_text(plan.edits)} if dry_run else answer)
        return 0
    if dry_run:
        print_diff(plan)
    for line in () if dry_run else plan.lines():
        print_feedback(printable(line))
    if not plan.edits:
        print_feedback(nothing, dry_run=dry_run)
    elif not dry_run and (summary := plan.summary(done)):
        print_feedback(summary)
    print_hints(tuple(notes))
    return 0


def print_diff(plan: HooksPlan) -> None:
    """Print what a plan changes, as a diff."""
    paint = diff_painter(configuration(plan.locations))
    for line in diff_text(plan.edits).split("\n")[:-1]:
        print_text(paint(printable(line.rstrip("\r"))))


# For whom, and in which scopes.


def named_agents(names: Iterable[str], part: str) -> list[Agent]:
    """The agents of some names, each once; UsageError if one is unknown."""
    known = SERVER_AGENTS if part == SERVER else AGENTS
    agents = {}
    for name in names:
        agent = find_agent(name, known)
        if agent is None:
            who = "these can start the server" if part == SERVER else "the agents are"
            hint = f"{who}: {', '.join(known)}"
            raise UsageError(f"unknown agent '{name}'", hints=(hint,))
        agents[agent.name] = agent
    return list(agents.values())


def scopes_to_install(
    locations: Locations, agent: Agent, part: str, asked: str | None, present: Iterable[str]
) -> list[str]:
    """The scope that is asked for, else those where the part is `present`, else the narrowest.

    In a home directory that is a worktree two scopes are the same file, which counts once.
    """
    if asked is not None:
        return [_checked_scope(agent, part, asked)]
    there: dict[tuple[str, ...], str] = {}
    for scope in present:
        files = (os.path.realpath(file.path) for file in locations.files(agent, scope, part))
        there.setdefault(tuple(files), scope)
    narrowest = next(scope for scope in SCOPES if scope in agent.places(part))
    return [*there.values()] or [narrowest]


def _checked_scope(agent: Agent, part: str, asked: str) -> str:
    """The scope that is asked for; RefusedError if the agent does not have it."""
    places = agent.places(part)
    if asked in places:
        return asked
    message = f"{agent.title} has no files for --{asked}"
    hint = f"it has {' and '.join(f'--{name}' for name in places)}"
    if part == SERVER:
        message = f"{agent.title} lists servers only in your home directory"
        hint = f"omit --{asked}, or use --user"
    raise RefusedError(message, code="no_such_scope", hints=(hint,))


def plan_removal(
    locations: Locations, agents: list[Agent], part: str, asked: str | None, *, named: bool
) -> HooksPlan:
    """The plan that removes a part of some agents in the scope that is asked for.

    By default that are all scopes of this worktree; those of agents that have none are the user's
    if they are `named`. Our lines in `info/exclude` go with the last part of a file.
    """
    changes: list[PlannedChange] = []
    for agent in agents:
        places = agent.places(part)
        scopes = [scope for scope in places if scope == asked or (not asked and scope != USER)]
        if named and not scopes:
            scopes = [_checked_scope(agent, part, asked or USER)]
        for scope in scopes:
            changes += plan_uninstall(locations, locations.files(agent, scope, part), {part})
    plan = HooksPlan(locations, changes, part)
    if locations.repository is None:
        return plan
    released = [path for path, change in plan.in_worktree().items() if not change.stays]
    return plan._replace(exclude=[*stop_excluding(locations.repository, released)])


def left_at_home(plan: HooksPlan, agents: Iterable[Agent]) -> Iterator[str]:
    """What of the part is still installed in the home directory, beside what the plan removes."""
    done = {os.path.realpath(change.file.path) for change in plan.changes}
    for agent in agents:
        files = plan.locations.files(agent, USER, plan.part)
        try:
            changes = plan_uninstall(plan.locations, files, {plan.part})
        except BoocodeError:
            continue
        edits = (change.edit for change in changes if change.edit is not None)
        if all(os.path.realpath(edit.path) in done for edit in edits):
            continue
        if plan.part == SERVER:
            command = f"git boocode serve --uninstall {agent.name} --user"
            yield f"the server for {agent.title} is in your home directory: '{command}' removes it"
        else:
            command = f"git boocode hooks uninstall --user --agent {agent.name}"
            yield f"{agent.title} has hooks in your home directory, too: '{command}' removes them"


# Notes.


def plugin_notes(locations: Locations, agents: Iterable[Agent]) -> Iterator[str]:
    """Which plugins stay enabled, and the commands of the agents that uninstall them."""
    names = {agent.name for agent in agents}
    for state in plugins_here(locations):
        if state.enabled and state.agent in names:
            yield f"the plugin for {state.title} stays: '{state.uninstall}' removes it"


def package_notes(plan: HooksPlan) -> list[str]:
    """Notes about packages that agents have installed beside a plugin that goes."""
    repository = plan.locations.repository
    notes = {}
    for file, edit, *_ in plan.changes:
        directory = file.agent.package_directory
        if repository is None or not directory or edit is None or edit.after is not None:
            continue
        path = os.path.join(repository.worktree, directory)
        if file.path.startswith(f"{path}/") and os.path.isdir(os.path.join(path, "node_modules")):
            title = file.agent.title
            notes[path] = f"the packages that {title} installed into '{directory}' stay there"
    return list(notes.values())


def with_exclusion(plan: HooksPlan, *, asks: bool = False) -> HooksPlan:
    """The plan that also keeps the files that are made from git, unless the user declines."""
    repository = plan.locations.repository
    made = [path for path, change in plan.in_worktree().items() if makes_file(change)]
    if repository is None or not made:
        return plan
    paths = sort_paths(repository, made).addable
    where = shown_path(plan.locations, exclude_path(repository))
    if not paths or (asks and not agrees(f"add {', '.join(paths)} to {where}?")):
        return plan
    return plan._replace(exclude=[exclude_paths(repository, paths)])


def without_log_decoration(plan: HooksPlan, *, asks: bool) -> HooksPlan:
    """The plan that also keeps our refs out of git's log, unless git or the user does."""
    repository = plan.locations.repository
    if repository is None or not shows_our_refs(repository):
        return plan
    question = f"git log shows checkpoints beside commits; set {SETTING} in .git/config?"
    return with_log_decoration(plan, excluded=True) if not asks or agrees(question) else plan


def with_log_decoration(plan: HooksPlan, *, excluded: bool = False) -> HooksPlan:
    """The plan that removes our setting of git's log again or, if `excluded`, adds it."""
    if (repository := plan.locations.repository) is None:
        return plan
    # Where git reads its hooks from the same file, one change has both.
    edits = with_decoration(repository, plan.git, excluded=excluded)
    return plan._replace(git=edits[: len(plan.git)], settings=edits[len(plan.git) :])


def worktree_notes(plan: HooksPlan) -> Iterator[str]:
    """Notes about the worktrees of the repository in which the hooks hold."""
    rows = plan.worktrees or ()
    lacking = [row for row in rows if row.missing]
    if rows and not lacking:
        yield f"the hooks hold in all {len(rows)} worktrees of this repository"
    elif rows:
        names = dict.fromkeys(name for row in lacking for name in row.missing)
        paths = first_few([quote_path(row.path) for row in lacking], _MOST_PATHS)
        words = [word for name in names for word in ("--agent", name)]
        install = shell_command("git", "boocode", "hooks", "install", *words, "--user")
        yield (
            f"the hooks hold in {len(rows) - len(lacking)} of {len(rows)} worktrees, not in "
            f"{paths}\n'{install}' installs them for all worktrees"
        )


def sharing_notes(plan: HooksPlan, *, dry_run: bool) -> list[str]:
    """Notes about files that others get with git, and about the program that they name."""
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
    made = [path for path in found.addable if makes_file(changes[path])]
    if made and not plan.exclude:
        command = _excluding(plan.part, {changes[path].file.agent.name: None for path in made})
        where = shown_path(plan.locations, exclude_path(repository))
        note = f"not ignored, so they {can} be committed: {shown(made)}"
        notes.append(f"{note}\n'{command}' adds them to {where}")
    if others := [path for path in found.addable if path not in made]:
        note = f"not ignored, so they {can} be committed: {shown(others)}"
        notes.append(f"{note}\n{_how_to_exclude(repository, others)}")
    # Servers in tracked files have no path.
    without = found.tracked if plan.part == SERVER else []
    program = installed_program()
    local = [shell_command(*program)] if program[0] != "git" else []
    configs = [changes[path].file.agent.config for path in below if plan.part == HOOKS]
    local += [package_path(each) for each in configs if isinstance(each, Package)]
    if notes and len(without) < len(below) and local:
        path = local[-1]
        notes.append(f"they {use} this machine's path '{path}'; do not commit them")
    if without and program[0] != "git":
        notes.append("tracked files name no path: 'git boocode' has to be on the agents' PATH")
    return notes


def _excluding(part: str, agents: Iterable[str]) -> str:
    """The command that installs a part again, and excludes the files that it has made."""
    if part == SERVER:
        return shell_command("git", "boocode", "serve", "--install", *agents, "--exclude")
    words = [word for name in agents for word in ("--agent", name)]
    return shell_command("git", "boocode", "hooks", "install", *words, "--exclude")


def _how_to_exclude(repository: Repository, paths: Iterable[str]) -> str:
    """Why files that were there before us are not excluded, and what excludes them."""
    lines = shell_command("printf", "%s\\n", *(f"/{path}" for path in paths))
    where = shell_command(os.path.relpath(exclude_path(repository)))
    return (
        "--exclude adds only files that it makes; this excludes them, from checkpoints as well: "
        f"{lines} >> {where}"
    )


# The server.


def install_server(
    names: Sequence[str],
    scope: str | None,
    repo: str | None,
    given: Sequence[str],
    *,
    exclude: bool,
    dry_run: bool,
) -> int:
    """Have agents start the server, all of them or none; return the exit code.

    It serves `repo`, by default what the agent names, with the `given` other options. Raises
    UsageError without agents and for a path in a tracked file, RefusedError if a file cannot take
    the server, and FatalError outside a repository unless the user's files are meant.
    """
    if not names:
        hint = f"name some: {', '.join(SERVER_AGENTS)}"
        raise UsageError("'--install' needs the names of agents", hints=(hint,))
    locations = Locations.here()
    options = [*given]
    if repo is not None:
        repo = os.path.realpath(repo)
        # The server would not start elsewhere.
        Repository.discover(repo)
        options = ["--repo", repo, *options]
    tracked, advice, changes = tracked_server_files(locations), list[str](), []
    for agent in named_agents(names, SERVER):
        known = (
            server_state(locations, agent, each, tracked)
            for each in locations.scopes(agent, SERVER)
        )
        present = (state.scope for state in known if state.state in PRESENT)
        for each in scopes_to_install(locations, agent, SERVER, scope, present):
            files = locations.files(agent, each, SERVER)
            shared = [file.path for file in files if file.path in tracked]
            if shared and repo is not None:
                raise UsageError(
                    f"'--repo' cannot go into {shown_path(locations, shared[0])}, which git tracks",
                    hints=("omit --repo: the agent names its worktree to the server",),
                )
            wanted = wanted_server(*options, tracked=bool(shared))
            planned = plan_install(locations, agent, each, wanted)
            changes += planned
            if agent.servers and each == PROJECT and any(change.edit for change in planned):
                advice += filter(None, [agent.servers.advice])
    plan = HooksPlan(locations, changes, SERVER)
    plan = with_exclusion(plan) if exclude else plan
    notes = [*advice, *sharing_notes(plan, dry_run=dry_run)]
    return finish(plan, "installed", "nothing to install", notes, dry_run=dry_run)


def uninstall_server(names: Sequence[str], scope: str | None, *, dry_run: bool) -> int:
    """Remove the server from agents' lists, by default from all of this worktree.

    Raises RefusedError if a file cannot be changed, and FatalError outside a repository unless the
    user's files are meant.
    """
    locations = Locations.here()
    agents = named_agents(names, SERVER) or list(SERVER_AGENTS.values())
    plan = plan_removal(locations, agents, SERVER, scope, named=bool(names))
    notes = []
    planned = {(c.file.agent.name, c.file.scope): c.file.agent for c in plan.changes}
    for (_, each), agent in planned.items():
        state = server_state(locations, agent, each, ())
        if state.state == OTHER_SERVER:
            path = shown_path(locations, state.path)
            notes.append(f"'boocode' in {path} is another server, and stays")
    left = [] if scope else list(left_at_home(plan, agents))
    nothing = f"no server is installed{' in this worktree' if left else ''}"
    return finish(plan, "uninstalled", nothing, [*notes, *left], dry_run=dry_run)
