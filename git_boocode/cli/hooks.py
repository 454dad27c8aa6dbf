"""`git boocode hooks`: `install` and `uninstall`; and `hook` as click sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import click

from git_boocode.agents.agent import HOOKS, LOCAL, PROJECT, USER, Agent
from git_boocode.agents.config_files import Locations
from git_boocode.agents.config_settings import trust_note
from git_boocode.agents.file_edits import FileEdit
from git_boocode.agents.git_install import plan_git_hooks
from git_boocode.agents.hook_call import run_hook
from git_boocode.agents.install import (
    PRESENT,
    PlannedChange,
    plan_install,
    state_of,
    wanted_hooks,
)
from git_boocode.agents.plugins import PluginState, plugins_here
from git_boocode.agents.registry import AGENTS
from git_boocode.agents.worktree_hooks import hooks_by_worktree
from git_boocode.cli.candidates import agents
from git_boocode.cli.framework import (
    Command,
    CommandInfo,
    LazyGroup,
    json_option,
    option,
    refuse_together,
)
from git_boocode.cli.hooks_editor import or_extension
from git_boocode.cli.hooks_plan import (
    HooksPlan,
    configuration,
    finish,
    left_at_home,
    named_agents,
    package_notes,
    plan_removal,
    plugin_notes,
    print_diff,
    scopes_to_install,
    sharing_notes,
    with_exclusion,
    with_log_decoration,
    without_log_decoration,
    worktree_notes,
)
from git_boocode.cli.output import (
    agrees,
    ask,
    can_ask,
    print_hints,
    print_text,
    wants_json,
    warn,
)
from git_boocode.repo.errors import (
    FatalError,
    RefusedError,
    UsageError,
    shell_command,
)

COMMANDS = {
    name: CommandInfo(module, name, summary)
    for name, module, summary in (
        ("install", __name__, "Have agents and git take checkpoints."),
        ("status", "git_boocode.cli.hooks_status", "Show what is installed, and where."),
        ("uninstall", __name__, "Remove what was installed."),
    )
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


# Installing and uninstalling.


def _needs_no_hooks(state: PluginState) -> str:
    trusted = ", once those of the plugin are trusted" if state.untrusted else ""
    return f"{state.title} has the plugin, and needs no hooks{trusted}"


@click.command(cls=Command, surplus=_agent_hint)
@or_extension(removes=False)
@option("--exclude", "Add the files that it makes to .git/info/exclude; do not ask.")
@option("--exclude-decoration", "Keep refs/boocode out of the decorations of git log; do not ask.")
@_change_options
def install(
    git: bool,
    names: tuple[str, ...],
    dry_run: bool,
    exclude: bool,
    exclude_decoration: bool,
    scope: str | None = None,
) -> int:
    """Have agents take a checkpoint before each turn, and git before what it overwrites.

    Without --agent and --git it looks for the agents that are used here, and asks; where there is
    no terminal to ask on, it says what it would do. Each agent's file is for this worktree alone
    where the agent has such a file (--local), else for the project (--project); where hooks are
    installed already, those are renewed. Agents that have the plugin are left out. Agents report
    each tool before and after it runs, too, unless boocode.perTool is never. With --editor, the
    extension is installed instead, by the editor itself.
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
        options = [f"--{scope}"] if scope else []
        options += [*["--exclude"] * exclude, *["--exclude-decoration"] * exclude_decoration]
        if not _agreed(plan, options, notes):
            return 1
        notes = []
    plan = _out_of_the_way(plan, files=exclude, decoration=exclude_decoration, asks=interactive)
    changed = (change.file for change in plan.changes if change.edit)
    notes += filter(None, dict.fromkeys(trust_note(locations, file) for file in changed))
    notes += [*sharing_notes(plan, dry_run=dry_run), *worktree_notes(plan)]
    return finish(plan, "installed", "nothing to install", notes, dry_run=dry_run)


@click.command(cls=Command, surplus=_agent_hint)
@or_extension(removes=True)
@_change_options
def uninstall(git: bool, names: tuple[str, ...], dry_run: bool, scope: str | None = None) -> int:
    """Remove our hooks, and restore each file that nobody else has changed to its original bytes.

    Without --agent, --git or a scope, all hooks of this repository are removed; those in your home
    directory need --user. With --editor, the extension is removed instead.
    """
    _refuse_git_in_scope(names, scope, git=git)
    named, locations = named_agents(names, HOOKS), Locations.here()
    agents = named if git or names else list(AGENTS.values())
    plan = plan_removal(locations, agents, HOOKS, scope, named=bool(names))
    if git or not (names or scope):
        plan = plan._replace(git=_git_edits(locations, remove=True))
        plan = with_log_decoration(plan)
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
            "no agent found in this worktree, in the home directory or on the PATH",
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


def _out_of_the_way(plan: HooksPlan, *, files: bool, decoration: bool, asks: bool) -> HooksPlan:
    """The plan that also keeps our files and refs out of git's lists, as the user agrees."""
    if files or asks:
        plan = with_exclusion(plan, asks=not files)
    if decoration or (asks and plan.edits):
        plan = without_log_decoration(plan, asks=not decoration)
    return plan


def _git_edits(locations: Locations, *, remove: bool) -> list[FileEdit]:
    if locations.repository is None:
        raise FatalError(
            "not in the worktree of a git repository",
            code="not_a_repository",
            hints=("git hooks belong to one repository: run it in there",),
        )
    return plan_git_hooks(locations.repository, remove=remove)


def _agreed(plan: HooksPlan, options: Sequence[str], notes: list[str]) -> bool:
    """Whether the user agrees with the plan; RefusedError (`not_confirmed`) if nobody is there.

    `options` are those of the command that does the same without asking.
    """
    if not wants_json():
        print_text("these agents are used here or on this machine; this would be installed:")
        print_text("\n".join(plan.lines()))
        print_hints(tuple(notes))
    if wants_json() or not can_ask():
        names = dict.fromkeys(f"--agent {c.file.agent.name}" for c in plan.changes)
        words = " ".join((*names, *options))
        raise RefusedError(
            "nothing was installed: there is no terminal to ask on",
            code="not_confirmed",
            hints=(f"'git boocode hooks install {words}' does it without asking",),
            details={"dry_run": True, "hooks": plan.rows(), "notes": notes},
        )
    while (answer := ask("install these hooks? [y/N, d for the diff]").lower()) in ("d", "diff"):
        print_diff(plan)
    if answer in ("y", "yes"):
        return True
    print_text("nothing was installed", to_stderr=True)
    return False
