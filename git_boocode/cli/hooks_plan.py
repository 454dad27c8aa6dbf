"""A change of hooks or of our server in agents' files: carried out or shown, with notes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from git_boocode.agents.config_files import (
    Locations,
    exclude_path,
    exclude_paths,
    sort_paths,
    stop_excluding,
)
from git_boocode.agents.config_program import installed_program
from git_boocode.agents.file_edits import FileEdit, diff_text
from git_boocode.agents.install import (
    NOT_INSTALLED,
    OTHER_SERVER,
    UNUSABLE,
    PlannedChange,
    carry_out,
    makes_file,
    plan_server,
    plan_server_removal,
    server_state,
    tracked_server_files,
    wanted_server,
)
from git_boocode.agents.registry import PROJECT, SERVER_AGENTS, USER, Agent, find_agent
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
from git_boocode.repo.errors import BoocodeError, RefusedError, UsageError, shell_command
from git_boocode.repo.git import Git, clean_environment
from git_boocode.repo.repository import Repository

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


def finish(plan: HooksPlan, result: PlanResult, *, dry_run: bool) -> int:
    """Carry out a plan, or show it, and answer."""
    diff = diff_text(plan.edits) if dry_run else ""
    if not dry_run:
        carry_out(plan.changes, (*plan.git, *plan.exclude))
    if wants_json():
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
        note = f"not ignored, so they {can} be committed: {shown(addable)}"
        if any(makes_file(changes[path]) for path in addable):
            exclude = shown_path(plan.locations, exclude_path(repository))
            note += f"\nlines in {exclude} keep them to yourself; --exclude adds them"
        notes.append(note)
    if notes and not command.startswith("git "):
        program = shell_command(*installed_program())
        notes.append(f"they {use} this machine's path '{program}'; do not commit them")
    return notes


class Registration(NamedTuple):
    """The agents by name, the scope that is asked for, and how to answer."""

    names: tuple[str, ...]
    project: bool
    user: bool
    exclude: bool
    dry_run: bool

    @property
    def scope(self) -> str | None:
        """The scope that is asked for."""
        return PROJECT if self.project else USER if self.user else None

    @property
    def agents(self) -> list[Agent]:
        """The agents, each once; UsageError if one is unknown."""
        found = {name: find_agent(name, SERVER_AGENTS) for name in self.names}
        for name, agent in found.items():
            if agent is None:
                hint = f"these can start the server: {', '.join(SERVER_AGENTS)}"
                raise UsageError(f"unknown agent '{name}'", hints=(hint,))
        return list({agent.name: agent for agent in found.values() if agent}.values())


def install_server(asked: Registration, repo: str | None, *, read_only: bool) -> int:
    """Have agents start the server with these options, all of them or none; return the exit code.

    Raises UsageError without agents and for a path in a tracked file, RefusedError if a file cannot
    take the server, and FatalError outside a repository unless the user's files are meant.
    """
    if not asked.names:
        hint = f"name some: {', '.join(SERVER_AGENTS)}"
        raise UsageError("'--install' needs the names of agents", hints=(hint,))
    locations = Locations.here()
    options: list[str] = []
    if repo is not None:
        options += ["--repo", os.path.realpath(repo)]
        # The server would not start elsewhere.
        Repository.discover(options[-1])
    options += ["--read-only"] if read_only else []
    tracked, notes, changes = tracked_server_files(locations), list[str](), []
    for agent in asked.agents:
        for scope in _scopes_to_install(locations, agent, asked.scope, tracked):
            shared = [f.path for f in locations.server_files(agent, scope) if f.path in tracked]
            if shared and repo is not None:
                raise UsageError(
                    f"'--repo' cannot go into {shown_path(locations, shared[0])}, which git tracks",
                    hints=("omit --repo: the agent names its worktree to the server",),
                )
            wanted = wanted_server(*options, tracked=bool(shared))
            planned = plan_server(locations, agent, scope, wanted)
            changes += planned
            if agent.servers and scope == PROJECT and any(each.edit for each in planned):
                notes += filter(None, [agent.servers.advice])
    plan = HooksPlan(locations, changes, [])
    if asked.exclude:
        plan = plan._replace(exclude=exclusion(plan, asks=False))
    notes += _sharing_notes(plan, tracked, dry_run=asked.dry_run)
    result = PlanResult(_changed(plan, "installed"), "nothing to install", notes, "files")
    return finish(plan, result, dry_run=asked.dry_run)


def uninstall_server(asked: Registration) -> int:
    """Remove the server from agents' lists, by default from all of this repository.

    Raises RefusedError if a file cannot be changed, and FatalError outside a repository unless the
    user's files are meant.
    """
    locations = Locations.here()
    agents = asked.agents or list(SERVER_AGENTS.values())
    changes, notes = [], list[str]()
    for agent in agents:
        for scope in _scopes_to_uninstall(locations, agent, asked):
            changes += plan_server_removal(locations, agent, scope)
            notes += _foreign(locations, agent, scope)
    left = [] if asked.scope is not None else [*_left(locations, agents, changes)]
    notes += left
    plan = HooksPlan(locations, changes, [])
    if locations.repository is not None:
        plan = plan._replace(exclude=[*stop_excluding(locations.repository, plan.released())])
    nothing = f"no server is installed{' in this worktree' if left else ''}"
    result = PlanResult(_changed(plan, "uninstalled"), nothing, notes, "files")
    return finish(plan, result, dry_run=asked.dry_run)


def _scopes_to_install(
    locations: Locations, agent: Agent, asked: str | None, tracked: set[str]
) -> list[str]:
    """The scope that is asked for, else those that list our server already, else the narrowest.

    In a home directory that is a worktree two scopes are the same file, which counts once.
    """
    if asked is not None:
        return [_checked_scope(agent, asked)]
    there: dict[str, str] = {}
    for scope in locations.server_scopes(agent):
        state = server_state(locations, agent, scope, tracked)
        if state.state not in (NOT_INSTALLED, OTHER_SERVER, UNUSABLE):
            there.setdefault(os.path.realpath(state.path), scope)
    return [*there.values()] or _scopes(agent)[:1]


def _scopes_to_uninstall(locations: Locations, agent: Agent, asked: Registration) -> list[str]:
    """The scope that is asked for; else that of this worktree, or of agents with none for it."""
    if asked.scope is not None:
        return (
            [_checked_scope(agent, asked.scope)]
            if asked.names
            else [scope for scope in _scopes(agent) if scope == asked.scope]
        )
    scopes = _scopes(agent)
    if locations.repository is None and not asked.names:
        # It fails, and mentions --user.
        locations.server_files(SERVER_AGENTS["claude-code"], PROJECT)
    return scopes[:1] if asked.names or scopes[0] != USER else []


def _scopes(agent: Agent) -> list[str]:
    """The scopes in which an agent lists servers, the narrowest first."""
    places = agent.servers.places if agent.servers else ()
    return [scope for scope in (PROJECT, USER) if scope in places]


def _checked_scope(agent: Agent, asked: str) -> str:
    """The scope that is asked for; RefusedError if the agent does not have it."""
    if asked in _scopes(agent):
        return asked
    message = f"{agent.title} lists servers only in your home directory"
    raise RefusedError(message, code="no_such_scope", hints=("omit --project, or use --user",))


def _changed(plan: HooksPlan, done: str) -> str:
    titles = dict.fromkeys(change.file.agent.title for change in plan.changes if change.edit)
    *most, last = ["", *titles]
    listed = ", ".join(filter(None, most))
    return last and f"{done} the server for {listed}{' and ' if listed else ''}{last}"


def _sharing_notes(plan: HooksPlan, tracked: set[str], *, dry_run: bool) -> list[str]:
    """Notes about files that others get, and about what tracked ones take for granted."""
    edits = [change.edit for change in plan.changes if change.edit and change.file.scope != USER]
    program = wanted_server().program
    if not any(edit.path not in tracked for edit in edits):
        program = wanted_server(tracked=True).program
    notes = sharing_notes(plan, shell_command(*program), dry_run=dry_run)
    if any(edit.path in tracked for edit in edits) and wanted_server().program[0] != "git":
        notes.append("tracked files name no path: 'git boocode' has to be on the agents' PATH")
    return notes


def _foreign(locations: Locations, agent: Agent, scope: str) -> Iterator[str]:
    """What has our server's name and is not ours."""
    state = server_state(locations, agent, scope, ())
    if state.state == OTHER_SERVER:
        yield f"'boocode' in {shown_path(locations, state.path)} is another server, and stays"


def _left(
    locations: Locations, agents: Iterable[Agent], removed: Iterable[PlannedChange]
) -> Iterator[str]:
    """What is still installed in the home directory, beside what is removed."""
    done = {os.path.realpath(change.file.path) for change in removed}
    for agent in agents:
        try:
            changes = plan_server_removal(locations, agent, USER)
        except BoocodeError:
            continue
        edits = (change.edit for change in changes if change.edit is not None)
        if any(os.path.realpath(edit.path) not in done for edit in edits):
            command = f"git boocode serve --uninstall {agent.name} --user"
            yield f"the server for {agent.title} is in your home directory: '{command}' removes it"
