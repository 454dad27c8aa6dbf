"""`git boocode tools`: the edit formats as tool definitions, or as guidance for a prompt."""

from __future__ import annotations

import json

import click

from git_boocode.cli.candidates import one_of
from git_boocode.cli.framework import Command, json_option, option
from git_boocode.cli.output import config_here, print_json, print_text, wants_json
from git_boocode.editing.tool_schemas import TOOLS, allowed_tools, guidance
from git_boocode.repo.errors import RefusedError, UsageError


@click.command(cls=Command)
@click.argument("format_", metavar="[<format>]", required=False, shell_complete=one_of(TOOLS))
@option("--guide", "Print guidance for a system prompt instead.")
@json_option
def tools(format_: str | None, guide: bool) -> int:
    """Print the edit formats as tool definitions, ready for the API of a model.

    Each has a name, a description and the JSON schema of its input, which apply-edit takes. With
    <format>, print that one alone. The setting boocode.formats limits what is offered.
    """
    formats = {tool.name: name for name, tool in TOOLS.items()}
    chosen = formats.get(format_ or "", format_)
    if chosen is not None and chosen not in TOOLS:
        known = ", ".join(TOOLS)
        raise UsageError(f"unknown format '{format_}'", hints=(f"the formats are: {known}",))
    allowed = allowed_tools(config_here())
    if chosen is not None and chosen not in allowed:
        raise RefusedError(
            f"'boocode.formats' does not allow the format '{chosen}'",
            code="not_allowed",
            hints=(f"it allows: {', '.join(allowed)}",),
        )
    names = (chosen,) if chosen else tuple(allowed)
    definitions = [TOOLS[name].as_json() for name in names]
    if wants_json():
        found = {"guide": guidance(names)} if guide else {"tools": definitions}
        print_json({"ok": True, **found})
    elif guide:
        print_text(guidance(names).removesuffix("\n"))
    else:
        print_text(json.dumps(definitions[0] if format_ else definitions, indent=2))
    return 0
