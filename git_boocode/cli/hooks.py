"""`git boocode hooks`: `install`, `status`, `uninstall`; and `hook` as click sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from git_boocode.agents.agent import HOOKS, LOCAL, PROJECT, USER, Agent
from git_boocode.agents.config_files import Locations
from git_boocode.agents.config_settings import trust_note
from git_boocode.agents.file_edits import FileEdit
from git_boocode.agents.git_install import GitHookState, git_hooks_status, plan_git_hooks
from git_boocode.agents.hook_call import run_hook
from git_boocode.agents.install import (
    NOT_INSTALLED,
    OTHER_COMMAND,
    PARTLY,
    PRESENT,
    PlannedChange,
    ServerState,
    State,
    plan_install,
    servers_here,
    state_of,
    states_here,
    wanted_hooks,
)
from git_boocode.agents.plugins import PluginState, marketplace, plugins_here
from git_boocode.agents.registry import AGENTS
from git_boocode.agents.worktree_hooks import WorktreeHooks, hooks_by_worktree
from git_boocode.cli.candidates import agents
from git_boocode.cli.framework import (
    Command,
    CommandInfo,
    LazyGroup,
    json_option,
    option,
    refuse_together,
)
from git_boocode.cli.hooks_plan import (
    HooksPlan,
    configuration,
    finish,
    left_at_home,
    named_agents,
    package_notes,
    plan_removal,
    plugin_notes,
    scopes_to_install,
    sharing_notes,
    shown_path,
    with_exclusion,
    worktree_notes,
)
from git_boocode.cli.options import output_options
from git_boocode.cli.output import (
    agrees,
    can_ask,
    print_hints,
    print_json,
    print_text,
    printable,
    quote_path,
    wants_json,
    warn,
)
from git_boocode.repo.errors import (
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
    return run_hook(arguments, lambda: None)


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
    plugins = plugins_here(locations)
    git = git_hooks_status(repository) if repository else []
    scopes: dict[str, set[str]] = {}
    for state in states:
        scopes.setdefault(state.agent, set()).update([state.scope] if state.events else [])
    worktrees = hooks_by_worktree(locations, scopes)
    if wants_json():
        agents = [state._asdict() for state in states]
        rows = [_server_row(state) for state in servers]
        print_json(
            {
                "ok": True,
                "agents": agents,
                "servers": rows,
                "plugins": [state._asdict() for state in plugins],
                "marketplace": marketplace(),
                "git": [git_row(state) for state in git],
                "worktrees": [row._asdict() for row in worktrees],
            }
        )
        return 0
    lines = (
        *_agent_lines(locations, states, plugins),
        *_worktree_lines(worktrees),
        *_plugin_lines(locations, plugins),
    )
    for line in (*lines, *_server_lines(locations, servers, plugins), *_git_lines(git)):
        print_text(printable(line))
    if output_options().verbose and (source := marketplace()):
        print_text(printable(f"plugin to install: {source}"))
    advice = dict.fromkeys((*_agent_hints(states), *trust_advice(plugins)))
    print_hints((*advice, *_server_hints(servers), *_git_hints(git)))
    return 0


def _server_row(state: ServerState) -> dict[str, Any]:
    return {
        "agent": state.agent,
        "title": state.title,
        "scope": state.scope,
        "state": state.state,
        "path": state.path,
        "command": state.command,
        "options": state.options,
        "message": state.message,
    }


def git_row(state: GitHookState) -> dict[str, Any]:
    """How a git hook is installed, as in the JSON answer."""
    return {
        "event": state.event,
        "state": state.state,
        "place": state.place,
        "path": state.path,
        "note": state.note,
        "chosen": state.chosen,
    }


def _plugin_lines(locations: Locations, plugins: list[PluginState]) -> Iterator[str]:
    for state in plugins:
        path = shown_path(locations, state.path)
        disabled = "" if state.enabled else ", but disabled"
        yield f"plugin for {state.title} ({state.scope}): {state.plugin} in {path}{disabled}"
        if state.untrusted:
            yield f"  not trusted yet: {', '.join(state.untrusted)}"
        if locations.repository and state.enabled:
            yield f"  {last_called(state)}"


def _server_lines(
    locations: Locations, servers: list[ServerState], plugins: list[PluginState]
) -> Iterator[str]:
    there = [state for state in servers if state.state != NOT_INSTALLED]
    if servers and not (there or plugins):
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


def _agent_lines(
    locations: Locations, states: list[State], plugins: list[PluginState]
) -> Iterator[str]:
    served = {plugin.title for plugin in plugins if plugin.enabled}
    for title in dict.fromkeys(state.title for state in states):
        found = [s for s in states if s.title == title and s.state != NOT_INSTALLED]
        if not found and title not in served:
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


def _worktree_lines(worktrees: Iterable[WorktreeHooks]) -> Iterator[str]:
    for row in worktrees:
        if row.missing:
            titles = ", ".join(AGENTS[name].title for name in row.missing)
            yield f"worktree {quote_path(row.path)}: no hooks for {titles}"


def last_called(state: State | PluginState) -> str:
    """When an agent last called a hook in this worktree, in words."""
    if state.last_call is None:
        return "never called here"
    try:
        seconds = datetime.fromisoformat(state.last_call.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return f"last called at {state.last_call}"
    local = time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    return f"last called {ago(seconds)} ({local})"


def _git_lines(states: list[GitHookState]) -> Iterator[str]:
    there = [state for state in states if state.state != "missing"]
    if states and not there:
        yield "git: not installed"
    for state in there:
        word = "installed" if state.state == "installed" else "installed with another command"
        note = f" ({state.note})" if state.note else ""
        yield f"git {state.event}: {word}{note}"


def _agent_hints(states: list[State]) -> Iterator[str]:
    yield from trust_advice(states)
    for state in states:
        renew = f"'git boocode hooks install --agent {state.agent} --{state.scope}'"
        extra, missing = ", ".join(state.extra), ", ".join(state.missing)
        if extra:
            yield f"boocode.perTool is never, but {extra} is installed; {renew} takes it out"
        elif state.state == PARTLY:
            yield f"{missing} is missing for {state.title}; {renew} installs it"
        elif state.state == OTHER_COMMAND:
            yield f"{renew} renews what is installed for {state.title}"


def trust_advice(states: Iterable[State | PluginState]) -> list[str]:
    """What the user has to do before agents run the hooks that they do not trust yet."""
    named = (AGENTS[state.agent].trust for state in states if state.untrusted)
    return list(dict.fromkeys(trust.advice for trust in named if trust))


def _git_hints(states: list[GitHookState]) -> Iterator[str]:
    there = [state for state in states if state.state != "missing"]
    wrong = [state for state in states if state.chosen is not (state.state == "installed")]
    if there and wrong:
        named = ", ".join(state.event for state in wrong)
        yield f"not as boocode.gitHooks asks: {named}; 'git boocode hooks install --git' fixes it"


# Installing and uninstalling.


def _needs_no_hooks(state: PluginState) -> str:
    trusted = ", once those of the plugin are trusted" if state.untrusted else ""
    return f"{state.title} has the plugin, and needs no hooks{trusted}"


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
    installed already, those are renewed. Agents that have the plugin are left out. Agents report
    each tool before and after it runs, too, unless boocode.perTool is never.
    """
    _refuse_git_in_scope(names, scope, git=git)
    named, locations = named_agents(names, HOOKS), Locations.here()
    asks = not (git or names)
    # The plugin of a project does nothing in others.
    served = [state for state in plugins_here(locations) if asks and state.enabled]
    served = [state for state in served if state.scope == USER or scope != USER]
    agents = _found(locations, scope) if asks else named
    agents = [agent for agent in agents if agent.name not in {state.agent for state in served}]
    changes, left_out = _planned(locations, agents, scope, all_or_none=not asks)
    interactive = can_ask() and not (dry_run or wants_json())
    if scope is None and interactive and _is_for_all(locations, changes):
        scope = USER
        changes, left_out = _planned(locations, agents, scope, all_or_none=not asks)
    worktrees = hooks_by_worktree(locations, _scopes_of(changes))
    plan = HooksPlan(locations, changes, worktrees=worktrees)
    if git:
        plan = plan._replace(git=_git_edits(locations, remove=False))
    if not wants_json():
        for message, *hints in (each.split("\n") for each in left_out):
            warn(message, tuple(hints))
    notes = [*(left_out if wants_json() else ()), *package_notes(plan)]
    notes += dict.fromkeys(map(_needs_no_hooks, served))
    if asks and not dry_run and plan.edits:
        if not _agreed(plan, scope, notes):
            return 1
        notes = []
    if exclude or interactive:
        plan = with_exclusion(plan, asks=not exclude)
    changed = (change.file for change in plan.changes if change.edit)
    notes += filter(None, dict.fromkeys(trust_note(locations, file) for file in changed))
    notes += [*sharing_notes(plan, dry_run=dry_run), *worktree_notes(plan)]
    return finish(plan, "installed", "nothing to install", notes, dry_run=dry_run)


@click.command(cls=Command, surplus=_agent_hint)
@_change_options
def uninstall(git: bool, names: tuple[str, ...], dry_run: bool, scope: str | None = None) -> int:
    """Remove our hooks, and restore each file that nobody else has changed to its original bytes.

    Without --agent, --git or a scope, all hooks of this repository are removed; those in your home
    directory need --user.
    """
    _refuse_git_in_scope(names, scope, git=git)
    named, locations = named_agents(names, HOOKS), Locations.here()
    agents = named if git or names else list(AGENTS.values())
    plan = plan_removal(locations, agents, HOOKS, scope, named=bool(names))
    if git or not (names or scope):
        plan = plan._replace(git=_git_edits(locations, remove=True))
    notes = [*left_at_home(plan, agents), *package_notes(plan), *plugin_notes(locations, agents)]
    return finish(plan, "uninstalled", "no hooks are installed", notes, dry_run=dry_run)


def _refuse_git_in_scope(names: Sequence[str], scope: str | None, *, git: bool) -> None:
    if git and scope is not None and not names:
        hint = f"git's hooks belong to one repository; omit --{scope}, or name an agent: --agent"
        message = f"options '--git' and '--{scope}' cannot be used together"
        raise UsageError(message, hints=(hint,))


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
            known = (
                state_of(locations, agent, each, wanted) for each in locations.scopes(agent, HOOKS)
            )
            present = (state.scope for state in known if state.state in PRESENT)
            scopes = scopes_to_install(locations, agent, HOOKS, scope, present)
            planned = [plan_install(locations, agent, each, wanted) for each in scopes]
        except RefusedError as error:
            message = f"{agent.title} is left out: {error.message}"
            left_out.append("\n".join((message, *error.hints)))
            if all_or_none or len(left_out) == len(agents):
                raise
        else:
            changes += [change for each in planned for change in each]
    return changes, left_out


def _scopes_of(changes: Iterable[PlannedChange]) -> dict[str, set[str]]:
    """The scopes in which each agent will have hooks."""
    found: dict[str, set[str]] = {}
    for change in changes:
        if change.edit is None or change.edit.after is not None:
            found.setdefault(change.file.agent.name, set()).add(change.file.scope)
    return found


def _is_for_all(locations: Locations, changes: Sequence[PlannedChange]) -> bool:
    """Whether the user wants hooks for all worktrees instead of new ones in the current one."""
    edits = [c.edit for c in changes if c.edit is not None and c.file.scope != USER]
    if not edits or any(b"boocode" in (edit.before or b"") for edit in edits):
        return False
    rows = hooks_by_worktree(locations, _scopes_of(changes))
    return bool(rows) and agrees(
        f"this repository has {len(rows)} worktrees; install in your home directory, for all?"
    )


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
