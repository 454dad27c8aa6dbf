"""`git boocode hooks install` and `uninstall`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from git_boocode.agents.registry import USER, Agent
from git_boocode.cli.framework import Command, json_option
from git_boocode.cli.hooks import (
    agent_option,
    configuration,
    git_option,
    scope_options,
    shown_path,
)

if TYPE_CHECKING:
    from git_boocode.agents.config_files import Where
    from git_boocode.agents.edits import Edit
    from git_boocode.agents.entries import Wanted
    from git_boocode.agents.install import Change

_LETTERS = {"create": "A", "modify": "M", "delete": "D"}


class _Plan(NamedTuple):
    """What is going to be done: for agents, and for git."""

    where: Where
    changes: list[Change]
    git: list[Edit]

    @property
    def edits(self) -> list[Edit]:
        return [*(change.edit for change in self.changes if change.edit is not None), *self.git]

    def carry_out(self) -> None:
        from git_boocode.agents.install import carry_out

        carry_out(self.changes, self.git)

    def rows(self) -> list[dict[str, Any]]:
        """Each file that changes, as an answer tells it."""
        agents = [
            _row(change.place.agent.name, change.place.scope, change.edit)
            for change in self.changes
            if change.edit is not None
        ]
        return agents + [_row("git", None, edit) for edit in self.git]


@click.command(cls=Command, surplus="an agent is named by --agent {}")
@git_option
@agent_option
@scope_options
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would change, as a diff.")
@json_option
def install(
    git: bool,
    names: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    scope: str | None = None,
) -> int:
    """Have agents take a checkpoint before each turn, and git before what it overwrites.

    Without --agent and --git it looks for the agents that are used here, and asks; where there is
    no terminal to ask on, it says what it would do. Each agent's file is for this worktree alone
    where the agent has such a file (--local), else for the project (--project); where hooks are
    installed already, those are renewed. Where boocode.perTool is true, agents tell of each tool
    that writes files, too.
    """
    from git_boocode.agents.config_files import Where
    from git_boocode.cli.output import warn

    _check_scope(scope, git=git, names=names)
    where = Where.here()
    named = bool(git or names)
    agents = _named(names) if named else _found(where, scope)
    changes, left_out = _planned(where, agents, scope, all_or_none=named)
    plan = _Plan(where, changes, _git_edits(where, remove=False) if git else [])
    if not as_json:
        for told in left_out:
            warn(told)
    if not (named or dry_run) and plan.edits and not _agreed(plan, scope, left_out, as_json):
        return 1
    notes = [agent.note for agent in agents if agent.note] if plan.edits else []
    notes += [*(left_out if as_json else ()), *_shared(plan)]
    notes += _callbacks(where, agents) if plan.edits else ()
    return _finish(plan, "installed", notes, dry_run=dry_run, as_json=as_json)


def _callbacks(where: Where, agents: Sequence[Agent]) -> Iterator[str]:
    """How to have conversations taken back as well, by what ships with us."""
    from git_boocode.agents.shipped import shipped_hook

    if configuration(where).setting("boocode.callback") is not None:
        return
    for agent in agents:
        if agent.callback:
            path = shlex.quote(shipped_hook(f"callbacks/{agent.callback}"))
            yield f"'git config boocode.callback {path}' lets restores take the conversation back"


def _planned(
    where: Where, agents: Sequence[Agent], scope: str | None, *, all_or_none: bool
) -> tuple[list[Change], list[str]]:
    """What there is to do for agents, and what to say of those that cannot be served.

    Raises:
        RefusedError: one of them cannot, if that is to count, or none of them can.
    """
    from git_boocode.agents.install import plan_install, wanted_hooks
    from git_boocode.repo.errors import RefusedError

    config = configuration(where)
    changes: list[Change] = []
    refused: dict[str, RefusedError] = {}
    for agent in agents:
        wanted = wanted_hooks(agent, config)
        try:
            scopes = _scopes_to_install(where, agent, scope, wanted)
            planned = [plan_install(where, agent, each, wanted) for each in scopes]
        except RefusedError as error:
            refused[agent.title] = error
            if all_or_none or len(refused) == len(agents):
                raise
        else:
            changes += [change for each in planned for change in each]
    return changes, [f"{title} is left out: {said.message}" for title, said in refused.items()]


@click.command(cls=Command, surplus="an agent is named by --agent {}")
@git_option
@agent_option
@scope_options
@click.option("-n", "--dry-run", is_flag=True, help="Only show what would change, as a diff.")
@json_option
def uninstall(
    git: bool,
    names: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    scope: str | None = None,
) -> int:
    """Take our hooks out again; files that nobody else has changed are then as they were.

    Without --agent, --git and a scope all of them go that are in this repository; those in your
    home directory need --user.
    """
    from git_boocode.agents.config_files import Where
    from git_boocode.agents.install import plan_uninstall
    from git_boocode.agents.registry import AGENTS

    _check_scope(scope, git=git, names=names)
    where = Where.here()
    agents = _named(names) if git or names else AGENTS.values()
    changes = []
    for agent in agents:
        for each in _scopes(where, agent, scope, named=bool(names)):
            changes += plan_uninstall(where, agent, each)
    everything = not names and scope is None
    plan = _Plan(where, changes, _git_edits(where, remove=True) if git or everything else [])
    notes = [] if scope == USER else list(_left(where, agents))
    return _finish(plan, "uninstalled", notes, dry_run=dry_run, as_json=as_json)


def _check_scope(scope: str | None, *, git: bool, names: Sequence[str]) -> None:
    from git_boocode.repo.errors import UsageError

    if git and scope is not None and not names:
        raise UsageError(
            f"--{scope} says nothing about git's hooks, which belong to one repository",
            hints=("leave it out, or name an agent with --agent",),
        )


def _named(names: Sequence[str]) -> list[Agent]:
    from git_boocode.agents.registry import AGENTS, find_agent
    from git_boocode.repo.errors import UsageError

    agents: dict[str, Agent] = {}
    for name in names:
        agent = find_agent(name)
        if agent is None:
            hints = (f"these are known: {', '.join(AGENTS)}",)
            raise UsageError(f"no agent is called '{name}'", hints=hints)
        agents[agent.name] = agent
    return list(agents.values())


def _found(where: Where, scope: str | None) -> list[Agent]:
    """The agents that are used here, as far as they have the scope that is asked for."""
    from git_boocode.agents.registry import AGENTS
    from git_boocode.repo.errors import RefusedError

    agents = [a for a in where.agents() if scope is None or scope in a.config.places]
    if not agents:
        raise RefusedError(
            "no agent is found, neither in this worktree nor in the home directory",
            code="no_agent",
            hints=(f"name one with --agent: {', '.join(AGENTS)}",),
        )
    return agents


def _scopes_to_install(where: Where, agent: Agent, asked: str | None, wanted: Wanted) -> list[str]:
    """The scope that is asked for, else those that hold our hooks already, else the narrowest.

    In a home directory that is a worktree two scopes are the same file, which counts once.
    """
    import os

    from git_boocode.agents.config_files import default_scope
    from git_boocode.agents.install import NOT_INSTALLED, UNUSABLE, state_of

    if asked is not None:
        return [_asked_scope(agent, asked)]
    states = {each: state_of(where, agent, each, wanted).state for each in where.scopes(agent)}
    nothing = (NOT_INSTALLED, UNUSABLE)
    there: dict[tuple[str, ...], str] = {}
    for each in (each for each, state in states.items() if state not in nothing):
        files = (os.path.realpath(place.path) for place in where.places(agent, each))
        there.setdefault(tuple(files), each)
    return [*there.values()] or [default_scope(agent)]


def _asked_scope(agent: Agent, asked: str) -> str:
    """The scope that is asked for.

    Raises:
        RefusedError: the agent does not have it.
    """
    from git_boocode.repo.errors import RefusedError

    if asked not in agent.config.places:
        raise RefusedError(
            f"{agent.title} has no files that are {asked}",
            code="no_such_scope",
            hints=(f"it has {' and '.join(f'--{name}' for name in agent.config.places)}",),
        )
    return asked


def _scopes(where: Where, agent: Agent, asked: str | None, *, named: bool) -> list[str]:
    """The scopes to uninstall from: the one that is asked for, or all of this worktree."""
    if asked is not None and (named or asked in agent.config.places):
        return [_asked_scope(agent, asked)]
    if asked is not None:
        return []
    scopes = [scope for scope in agent.config.places if scope != USER]
    if where.repository is None:
        # Which tells that there is no repository, and of --user.
        where.places(agent, scopes[0])
    return scopes


def _git_edits(where: Where, *, remove: bool) -> list[Edit]:
    from git_boocode.agents.git_install import plan_git_hooks
    from git_boocode.repo.errors import FatalError

    if where.repository is None:
        raise FatalError(
            "not in the worktree of a git repository",
            code="not_a_repository",
            hints=("git hooks belong to one repository: run it in there",),
        )
    return plan_git_hooks(where.repository, None, remove=remove)


def _agreed(plan: _Plan, scope: str | None, left_out: list[str], as_json: bool) -> bool:
    """Whether the user agrees with what was found to do.

    Raises:
        RefusedError: there is nobody to ask (`not_confirmed`).
    """
    from git_boocode.cli.asking import agrees, can_ask
    from git_boocode.cli.output import print_text
    from git_boocode.repo.errors import RefusedError

    if not as_json:
        print_text("these agents are used here or on this machine; for each turn to be undone:")
        for line in _lines(plan):
            print_text(line)
    if as_json or not can_ask():
        names = " ".join(dict.fromkeys(f"--agent {c.place.agent.name}" for c in plan.changes))
        names += f" --{scope}" if scope else ""
        raise RefusedError(
            "nothing was installed: there is no terminal to ask on",
            code="not_confirmed",
            hints=(f"'git boocode hooks install {names}' does it without asking",),
            details={"dry_run": True, "hooks": plan.rows(), "notes": left_out},
        )
    if agrees("install these hooks?"):
        return True
    print_text("nothing was installed", to_stderr=True)
    return False


def _finish(plan: _Plan, done: str, notes: list[str], *, dry_run: bool, as_json: bool) -> int:
    """Carry out a plan, or show it, and answer."""
    from git_boocode.agents.edits import diff_text
    from git_boocode.cli.output import print_hints, print_json, print_text, printable

    diff = diff_text(plan.edits) if dry_run else ""
    if not dry_run:
        plan.carry_out()
    if as_json:
        answer = {"ok": True, "dry_run": dry_run, "hooks": plan.rows(), "notes": notes}
        print_json({**answer, "diff": diff} if dry_run else answer)
        return 0
    for line in diff.split("\n")[:-1] if dry_run else _lines(plan):
        print_text(printable(line.rstrip("\r")))
    if not plan.edits:
        print_text("nothing is installed" if done == "uninstalled" else "all is installed already")
    elif not dry_run:
        if any(row["action"] == "delete" for row in plan.rows()) and done == "installed":
            # Git's hooks that boocode.gitHooks no longer names go when the others come.
            done = "changed"
        print_text(f"{done} hooks for {_listed(plan)}")
    print_hints(tuple(notes))
    return 0


def _row(agent: str, scope: str | None, edit: Edit) -> dict[str, Any]:
    action = "create" if edit.before is None else "delete" if edit.after is None else "modify"
    return {
        "agent": agent,
        "scope": scope,
        "path": edit.path,
        "action": action,
        "title": edit.title,
    }


def _lines(plan: _Plan) -> Iterator[str]:
    for row in plan.rows():
        if not row["title"]:
            # A file of our own, which is nobody else's business.
            continue
        path = shown_path(plan.where, row["path"])
        yield f" {_LETTERS[row['action']]} {path}: {row['title']}"


def _listed(plan: _Plan) -> str:
    titles = {change.place.agent.title: None for change in plan.changes if change.edit}
    names = [*titles, *(["git"] if plan.git else [])]
    return " and ".join((*((", ".join(names[:-1]),) if names[1:] else ()), names[-1]))


def _shared(plan: _Plan) -> list[str]:
    """What to know of files that others get with git."""
    repository = plan.where.repository
    edits = [change.edit for change in plan.changes if change.place.scope != USER and change.edit]
    paths = [edit.path for edit in edits if edit.after is not None]
    if repository is None or not paths:
        return []
    from git_boocode.agents.program import installed_command
    from git_boocode.repo.git import nul_lines, nul_records

    git = repository.git
    below = {path.removeprefix(f"{repository.worktree}/"): path for path in paths}
    tracked = nul_records(git.run("ls-files", "-z", "--", *below))
    ignored = nul_records(
        git.attempt("check-ignore", "-z", "--stdin", stdin=nul_lines(below)).stdout
    )
    open_ones = [path for path in below if path not in {*tracked, *ignored}]
    notes = []
    if tracked:
        shown = _paths(plan.where, [below[path] for path in tracked])
        notes.append(f"tracked, so others get them with the next commit: {shown}")
    if open_ones:
        shown = _paths(plan.where, [below[path] for path in open_ones])
        # In a linked worktree and in a submodule that is not below `.git`.
        exclude = shown_path(plan.where, f"{repository.common_dir}/info/exclude")
        notes.append(
            f"not ignored, so they can be committed: {shown}\n"
            f"lines in {exclude} keep them to yourself"
        )
    command = installed_command("hook")
    if notes and not command.startswith("git "):
        notes.append(f"they call '{command}', which others may not have in that place")
    return notes


def _paths(where: Where, paths: Iterable[str]) -> str:
    return ", ".join(shown_path(where, path) for path in paths)


def _left(where: Where, agents: Iterable[Agent]) -> Iterator[str]:
    """What is still installed in the home directory."""
    from git_boocode.agents.install import plan_uninstall
    from git_boocode.repo.errors import BoocodeError

    for agent in agents:
        try:
            changes = plan_uninstall(where, agent, USER)
        except BoocodeError:
            continue
        if any(change.edit is not None for change in changes):
            yield (
                f"{agent.title} has hooks in your home directory, too: "
                f"'git boocode hooks uninstall --user --agent {agent.name}' takes them out"
            )
