"""`git boocode serve`."""

from __future__ import annotations

import sys
from typing import Any

import click

from git_boocode.cli.candidates import paths, server_agents
from git_boocode.cli.framework import Command, json_option, misused, option, refuse_together
from git_boocode.cli.output import print_hints, wants_json
from git_boocode.server.tools import TOOL_SETS


@click.command(cls=Command)
@option(
    "--repo <path>",
    "Serve only this worktree, not those that the client names.",
    shell_complete=paths,
)
@option("--read-only", "Offer no tool that changes anything.")
@option(
    "--tools <set>",
    "Offer the tools of this set: agent, editor or all.",
    type=click.Choice(TOOL_SETS),
)
@option("--install", "Add the server to the configuration of agents.")
@option("--uninstall", "Remove it from there; by default from all.")
@option("--project", "In files of the worktree that may be shared.")
@option("--user", "In your home directory, for all repositories.")
@option("--exclude", "Add the files that it makes to .git/info/exclude.")
@option("-n, --dry-run", "Only show what would change, as a diff.")
@click.argument("agents", nargs=-1, metavar="[<agent>...]", shell_complete=server_agents)
@json_option
def serve(
    repo: str | None,
    read_only: bool,
    tools: str | None,
    install: bool,
    uninstall: bool,
    agents: tuple[str, ...],
    **options: bool,
) -> int:
    """Serve editors and agents on standard input and output, by the Model Context Protocol.

    With --install, the named agents are configured to start the server themselves, with the same
    --repo, --read-only and --tools. That is for this worktree, where the agent has a file for it,
    else for all repositories; where the server is installed already, it is renewed there.
    """
    refuse_together(("--install", install), ("--uninstall", uninstall))
    refuse_together(("--project", options["project"]), ("--user", options["user"]))
    if not (install or uninstall):
        _refuse_without_install(agents, {**options, "json": wants_json()})
        if sys.stdin.isatty():
            ways = "'git boocode serve --install <agent>' has an agent start it; Ctrl-D ends it"
            print_hints((f"the server waits for messages on standard input; {ways}",))
        from git_boocode.server.session import serve as serve_requests
        from git_boocode.server.tools import DefinedTools

        return serve_requests(repo, DefinedTools(_definition), tools, read_only=read_only)
    from git_boocode.agents.agent import PROJECT, USER
    from git_boocode.cli.hooks_plan import install_server, uninstall_server

    scope = PROJECT if options["project"] else USER if options["user"] else None
    dry_run, exclude = options["dry_run"], options["exclude"]
    if uninstall:
        refuse_together(("--uninstall", True), ("--repo", repo), ("--read-only", read_only))
        refuse_together(("--uninstall", True), ("--exclude", exclude))
        refuse_together(("--uninstall", True), ("--tools", tools))
        return uninstall_server(agents, scope, dry_run=dry_run)
    given = (*(["--tools", tools] if tools else []), *(["--read-only"] if read_only else []))
    return install_server(agents, scope, repo, given, exclude=exclude, dry_run=dry_run)


def _refuse_without_install(agents: tuple[str, ...], options: dict[str, bool]) -> None:
    given = next((f"--{name.replace('_', '-')}" for name in options if options[name]), "")
    if agents or given:
        what = f"unexpected argument '{agents[0]}'" if agents else f"'{given}' needs '--install'"
        name = agents[0] if agents else "<agent>"
        raise misused(what, f"'git boocode serve --install {name}' has an agent start the server")


def _definition(name: str, for_agents: bool) -> dict[str, Any]:
    # It loads the command whose options are arguments of the tool.
    from git_boocode.cli.tool_definitions import agent_definition, definition

    return agent_definition(name) if for_agents else definition(name)
