"""`git boocode hooks`: `install`, `status`, `uninstall`; and `hook` as click sees it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from git_boocode.agents.config_files import Locations, Wanted, default_scope, stop_excluding
from git_boocode.agents.config_program import installed_command
from git_boocode.agents.file_edits import FileEdit
from git_boocode.agents.git_install import git_hooks_status, plan_git_hooks
from git_boocode.agents.install import (
    NOT_INSTALLED,
    OTHER_COMMAND,
    PARTLY,
    UNUSABLE,
    PlannedChange,
    ServerState,
    State,
    plan_install,
    plan_uninstall,
    servers_here,
    state_of,
    states_here,
    wanted_hooks,
)
from git_boocode.agents.registry import AGENTS, LOCAL, PROJECT, USER, Agent, find_agent
from git_boocode.agents.trust import trust_note
from git_boocode.cli.candidates import agents
from git_boocode.cli.framework import (
    Command,
    CommandInfo,
    LazyGroup,
    json_option,
    option,
    refuse_together,
)
from git_boocode.cli.hook import run_hook
from git_boocode.cli.hooks_plan import (
    HooksPlan,
    PlanResult,
    changed_hooks,
    configuration,
    exclusion,
    finish,
    package_notes,
    sharing_notes,
    shown_path,
)
from git_boocode.cli.options import output_options
from git_boocode.cli.output import (
    agrees,
    can_ask,
    print_hints,
    print_json,
    print_text,
    printable,
    wants_json,
    warn,
)
from git_boocode.repo.errors import (
    BoocodeError,
    FatalError,
    RefusedError,
    UsageError,
    shell_command,
)
from git_boocode.repo.ids import ago

COMMANDS = {
    name: CommandInfo(__name__, name, summary)
    for name, summary in (
        ("install", "Have agents and git take checkpoints."),
        ("status", "Show what is installed, and where."),
        ("uninstall", "Remove what was installed."),
    )
}
_WORDS = {
    "installed": "installed",
    "partly": "partly installed",
    "other_command": "installed with another command or timeout",
}
_SERVER_WORDS = {
    "installed": "installed",
    "other_command": "installed with another command",
    "other_server": "another server has its name",
}


@click.command(cls=Command)
@click.argument(
    "arguments",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="(<agent> [<event>] | git <hook> [<args>...])",
)
def hook(arguments: tuple[str, ...]) -> int:
    """Take the checkpoint of a turn; for hooks of agents and of git to call.

    The payload of an agent is read from standard input. Only what the agent expects is
    printed, the exit code is always 0, and the hook ends within boocode.hookTimeout seconds.
    'git boocode doctor' shows errors.
    """
    return run_hook(arguments)


@click.group(cls=LazyGroup, entries=COMMANDS, subcommand_metavar="<command> [<args>]")
def hooks() -> None:
    """Have agents take a checkpoint before each turn, and git before what it overwrites."""


def _agent_hint(name: str) -> str:
    return f"an agent is named by {shell_command('--agent', name)}"


def _take_scope(context: click.Context, option: click.Parameter, given: bool) -> None:
    if given and context.params.setdefault("scope", option.name) != option.name:
        refuse_together((f"--{context.params['scope']}", True), (f"--{option.name}", True))


def _change_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of a command that installs or uninstalls."""
    scopes = {
        USER: "In your home directory, for all repositories.",
        PROJECT: "In files of the worktree that may be shared.",
        LOCAL: "In files of the worktree that are yours alone.",
    }
    options = (
        option("--git", "The hooks of git itself."),
        option(
            "--agent <name>",
            "The hooks of this agent; may be given several times.",
            "names",
            multiple=True,
            shell_complete=agents,
        ),
        *(
            option(f"--{name}", text, expose_value=False, callback=_take_scope)
            for name, text in scopes.items()
        ),
        option("-n, --dry-run", "Only show what would change, as a diff."),
        json_option,
    )
    for each in reversed(options):
        command = each(command)
    return command


@click.command(cls=Command)
@json_option
def status() -> int:
    """Show what is installed: for each agent that is used here, in each file, and in git.

    That includes the server, which 'git boocode serve --install' installs.
    """
    locations = Locations.here()
    config, repository = configuration(locations), locations.repository
    states = states_here(locations, config, every=output_options().verbose)
    servers = servers_here(locations, every=output_options().verbose)
    git = [state._asdict() for state in git_hooks_status(repository)] if repository else []
    if wants_json():
        agents = [state._asdict() for state in states]
        rows = [state._asdict() for state in servers]
        print_json({"ok": True, "agents": agents, "servers": rows, "git": git})
        return 0
    lines = (*_agent_lines(locations, states), *_server_lines(locations, servers))
    for line in (*lines, *_git_lines(git)):
        print_text(printable(line))
    print_hints((*_agent_hints(states), *_server_hints(servers), *_git_hints(git)))
    return 0


def _server_lines(locations: Locations, servers: list[ServerState]) -> Iterator[str]:
    there = [state for state in servers if state.state != NOT_INSTALLED]
    if servers and not there:
        yield "server: not installed"
    for state in there:
        options = f" with {' '.join(state.options)}" if state.options else ""
        path = shown_path(locations, state.path)
        described = state.message or f"{_SERVER_WORDS[state.state]}{options} in {path}"
        yield f"server for {state.title} ({state.scope}): {described}"


def _server_hints(servers: list[ServerState]) -> Iterator[str]:
    for state in servers:
        if state.state == OTHER_COMMAND:
            words = ("git", "boocode", "serve", "--install", state.agent, f"--{state.scope}")
            renew = shell_command(*words, *state.options)
            yield f"'{renew}' renews the server for {state.title}"


def _agent_lines(locations: Locations, states: list[State]) -> Iterator[str]:
    for title in dict.fromkeys(state.title for state in states):
        found = [s for s in states if s.title == title and s.state != NOT_INSTALLED]
        if not found:
            yield f"{title}: not installed"
        for state in found:
            paths = ", ".join(shown_path(locations, path) for path in state.paths)
            described = (
                state.message or f"{_WORDS[state.state]} for {', '.join(state.events)} in {paths}"
            )
            yield f"{title} ({state.scope}): {described}"
            if state.untrusted:
                yield f"  not trusted yet: {', '.join(state.untrusted)}"
        if locations.repository and any(state.events for state in found):
            yield f"  {last_called(found[0])}"


def last_called(state: State) -> str:
    """When an agent last called a hook in this worktree, in words."""
    if state.last_call is None:
        return "never called here"
    try:
        seconds = datetime.fromisoformat(state.last_call.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return f"last called at {state.last_call}"
    local = time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    return f"last called {ago(seconds)} ({local})"


def _git_lines(states: list[dict[str, Any]]) -> Iterator[str]:
    there = [state for state in states if state["state"] != "missing"]
    if states and not there:
        yield "git: not installed"
    for state in there:
        word = "installed" if state["state"] == "installed" else "installed with another command"
        note = f" ({state['note']})" if state["note"] else ""
        yield f"git {state['event']}: {word}{note}"


def _agent_hints(states: list[State]) -> Iterator[str]:
    yield from trust_advice(states)
    for state in states:
        renew = f"'git boocode hooks install --agent {state.agent} --{state.scope}'"
        extra, missing = ", ".join(state.extra), ", ".join(state.missing)
        if extra:
            yield f"boocode.perTool is not true, but {extra} is installed; {renew} takes it out"
        elif state.state == PARTLY:
            yield f"{missing} is missing for {state.title}; {renew} installs it"
        elif state.state == OTHER_COMMAND:
            yield f"{renew} renews what is installed for {state.title}"


def trust_advice(states: Iterable[State]) -> list[str]:
    """What the user has to do before agents run the hooks that they do not trust yet."""
    named = (AGENTS[state.agent].trust for state in states if state.untrusted)
    return list(dict.fromkeys(trust.advice for trust in named if trust))


def _git_hints(states: list[dict[str, Any]]) -> Iterator[str]:
    there = [state for state in states if state["state"] != "missing"]
    wrong = [each for each in states if each["chosen"] is not (each["state"] == "installed")]
    if there and wrong:
        named = ", ".join(each["event"] for each in wrong)
        yield f"not as boocode.gitHooks asks: {named}; 'git boocode hooks install --git' fixes it"


# Installing and uninstalling.


@click.command(cls=Command, surplus=_agent_hint)
@option("--exclude", "Add the files that it makes to .git/info/exclude; do not ask.")
@_change_options
def install(
    git: bool,
    names: tuple[str, ...],
    dry_run: bool,
    exclude: bool,
    scope: str | None = None,
) -> int:
    """Have agents take a checkpoint before each turn, and git before what it overwrites.

    Without --agent and --git it looks for the agents that are used here, and asks; where there is
    no terminal to ask on, it says what it would do. Each agent's file is for this worktree alone
    where the agent has such a file (--local), else for the project (--project); where hooks are
    installed already, those are renewed. Where boocode.perTool is true, agents report each tool
    that writes files, too.
    """
    named = _named(names, scope, git=git)
    locations = Locations.here()
    asks = not (git or names)
    agents = _found(locations, scope) if asks else named
    changes, left_out = _planned(locations, agents, scope, all_or_none=not asks)
    plan = HooksPlan(locations, changes, _git_edits(locations, remove=False) if git else [])
    if not wants_json():
        for message, *hints in (each.split("\n") for each in left_out):
            warn(message, tuple(hints))
    notes = [*(left_out if wants_json() else ()), *package_notes(plan)]
    if asks and not dry_run and plan.edits:
        if not _agreed(plan, scope, notes):
            return 1
        notes = []
    asks_to_exclude = not (exclude or dry_run or wants_json()) and can_ask()
    if exclude or asks_to_exclude:
        plan = plan._replace(exclude=exclusion(plan, asks=asks_to_exclude))
    changed = (change.file for change in plan.changes if change.edit)
    notes += filter(None, dict.fromkeys(trust_note(locations, file) for file in changed))
    notes += sharing_notes(plan, installed_command("hook"), dry_run=dry_run)
    done = PlanResult(changed_hooks(plan, "installed"), "nothing to install", notes)
    return finish(plan, done, dry_run=dry_run)


@click.command(cls=Command, surplus=_agent_hint)
@_change_options
def uninstall(git: bool, names: tuple[str, ...], dry_run: bool, scope: str | None = None) -> int:
    """Remove our hooks, and restore each file that nobody else has changed to its original bytes.

    Without --agent, --git or a scope, all hooks of this repository are removed; those in your home
    directory need --user.
    """
    named = _named(names, scope, git=git)
    locations = Locations.here()
    agents = named if git or names else list(AGENTS.values())
    changes = []
    for agent in agents:
        for each in _scopes_to_uninstall(locations, agent, scope, named=bool(names)):
            changes += plan_uninstall(locations, agent, each)
    everything = not names and scope is None
    git_edits = _git_edits(locations, remove=True) if git or everything else []
    notes = [] if scope == USER else list(_left(locations, agents))
    plan = HooksPlan(locations, changes, git_edits)
    if locations.repository is not None:
        unlisted = stop_excluding(locations.repository, plan.released())
        plan = plan._replace(exclude=list(unlisted))
    notes += package_notes(plan)
    done = PlanResult(changed_hooks(plan, "uninstalled"), "no hooks are installed", notes)
    return finish(plan, done, dry_run=dry_run)


def _named(names: Sequence[str], scope: str | None, *, git: bool) -> list[Agent]:
    """The agents of some names, each once."""
    if git and scope is not None and not names:
        raise UsageError(
            f"options '--git' and '--{scope}' cannot be used together",
            hints=(
                f"git's hooks belong to one repository; omit --{scope}, or name an agent: --agent",
            ),
        )
    agents = {name: find_agent(name) for name in names}
    for name, agent in agents.items():
        if agent is None:
            hint = f"the agents are: {', '.join(AGENTS)}"
            raise UsageError(f"unknown agent '{name}'", hints=(hint,))
    return list({agent.name: agent for agent in agents.values() if agent}.values())


def _found(locations: Locations, scope: str | None) -> list[Agent]:
    """The agents that are used here, as far as they have the scope that is asked for."""
    used = (agent for agent in AGENTS.values() if locations.is_used(agent))
    agents = [agent for agent in used if scope is None or scope in agent.config.places]
    if not agents:
        raise RefusedError(
            "no agent found in this worktree or in the home directory",
            code="no_agent",
            hints=(f"name one with --agent: {', '.join(AGENTS)}",),
        )
    return agents


def _planned(
    locations: Locations, agents: Sequence[Agent], scope: str | None, *, all_or_none: bool
) -> tuple[list[PlannedChange], list[str]]:
    """What to change for agents, and a message with hints, by lines, for each that is left out.

    Raises RefusedError if one has to be left out and `all_or_none` is set, or if none is left.
    """
    config = configuration(locations)
    changes: list[PlannedChange] = []
    left_out: list[str] = []
    for agent in agents:
        wanted = wanted_hooks(agent, config)
        try:
            scopes = _scopes_to_install(locations, agent, scope, wanted)
            planned = [plan_install(locations, agent, each, wanted) for each in scopes]
        except RefusedError as error:
            message = f"{agent.title} is left out: {error.message}"
            left_out.append("\n".join((message, *error.hints)))
            if all_or_none or len(left_out) == len(agents):
                raise
        else:
            changes += [change for each in planned for change in each]
    return changes, left_out


def _scopes_to_install(
    locations: Locations, agent: Agent, asked: str | None, wanted: Wanted
) -> list[str]:
    """The scope that is asked for, else those that hold our hooks already, else the narrowest.

    In a home directory that is a worktree two scopes are the same file, which counts once.
    """
    if asked is not None:
        return [_checked_scope(agent, asked)]
    there: dict[tuple[str, ...], str] = {}
    for scope in locations.scopes(agent):
        if state_of(locations, agent, scope, wanted).state not in (NOT_INSTALLED, UNUSABLE):
            files = (os.path.realpath(file.path) for file in locations.files(agent, scope))
            there.setdefault(tuple(files), scope)
    return [*there.values()] or [default_scope(agent)]


def _checked_scope(agent: Agent, asked: str) -> str:
    """The scope that is asked for; RefusedError if the agent does not have it."""
    if asked not in agent.config.places:
        hint = f"it has {' and '.join(f'--{name}' for name in agent.config.places)}"
        message = f"{agent.title} has no files for --{asked}"
        raise RefusedError(message, code="no_such_scope", hints=(hint,))
    return asked


def _scopes_to_uninstall(
    locations: Locations, agent: Agent, asked: str | None, *, named: bool
) -> list[str]:
    """The scope that is asked for, or all of this worktree."""
    if asked is not None:
        return [_checked_scope(agent, asked)] if named or asked in agent.config.places else []
    scopes = [scope for scope in agent.config.places if scope != USER]
    if locations.repository is None:
        # It fails, and mentions --user.
        locations.files(agent, scopes[0])
    return scopes


def _git_edits(locations: Locations, *, remove: bool) -> list[FileEdit]:
    if locations.repository is None:
        raise FatalError(
            "not in the worktree of a git repository",
            code="not_a_repository",
            hints=("git hooks belong to one repository: run it in there",),
        )
    return plan_git_hooks(locations.repository, remove=remove)


def _agreed(plan: HooksPlan, scope: str | None, notes: list[str]) -> bool:
    """Whether the user agrees with the plan; RefusedError (`not_confirmed`) if nobody is there."""
    if not wants_json():
        print_text("these agents are used here or on this machine; this would be installed:")
        print_text("\n".join(plan.lines()))
        print_hints(tuple(notes))
    if wants_json() or not can_ask():
        names = " ".join(dict.fromkeys(f"--agent {c.file.agent.name}" for c in plan.changes))
        names += f" --{scope}" if scope else ""
        raise RefusedError(
            "nothing was installed: there is no terminal to ask on",
            code="not_confirmed",
            hints=(f"'git boocode hooks install {names}' does it without asking",),
            details={"dry_run": True, "hooks": plan.rows(), "notes": notes},
        )
    if agrees("install these hooks?"):
        return True
    print_text("nothing was installed", to_stderr=True)
    return False


def _left(locations: Locations, agents: Iterable[Agent]) -> Iterator[str]:
    """What is still installed in the home directory."""
    for agent in agents:
        try:
            changes = plan_uninstall(locations, agent, USER)
        except BoocodeError:
            continue
        if any(change.edit is not None for change in changes):
            command = f"git boocode hooks uninstall --user --agent {agent.name}"
            yield f"{agent.title} has hooks in your home directory, too: '{command}' removes them"
