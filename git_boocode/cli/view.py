"""`git boocode view`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from git_boocode.cli.candidates import commits as commit_names
from git_boocode.cli.candidates import paths
from git_boocode.cli.framework import AtLeast, Command, json_option, option, refuse_together
from git_boocode.cli.output import (
    counted,
    first_lines,
    print_feedback,
    print_json,
    print_text,
    progress,
    quote_path,
    wants_json,
    warn,
    warn_of_interruption,
)
from git_boocode.cli.view_page import PAGE_TITLE, open_in_browser, page_html
from git_boocode.repo.durable import make_state_dir, write_private
from git_boocode.repo.errors import UsageError, from_os
from git_boocode.repo.layout import PAGE
from git_boocode.repo.repository import Repository
from git_boocode.workflows.view_data import page_data

_MOST = 1000
_MAX_PORT = 65_535
_MOST_SAID = 20_000_000  # characters of conversations
_BEGINNING = 4096  # bytes of a page, which contain its title


@click.command(cls=Command)
@click.argument("commits", required=False, metavar="[<range>]", shell_complete=commit_names)
@option(
    "-o, --output <file>",
    "Write the page to this file, '-' for standard output, and do not open it.",
    shell_complete=paths,
)
@option("--serve", "Serve the page on this machine until Ctrl-C.")
@option(
    "--port <number>",
    "With --serve, listen on this port; by default, on that of the last server, or a free one.",
    type=AtLeast(0),
)
@option("--no-open", "Do not open a browser.")
@option("--conversation", "Also write what was said in the turns; a page that is served has it.")
@option(
    "-n, --max-count <n>",
    f"Show the newest <n> turns; by default, {_MOST:,}.",
    type=AtLeast(1),
    default=_MOST,
)
@json_option
def view(
    commits: str | None,
    output: str | None,
    serve: bool,
    port: int | None,
    no_open: bool,
    conversation: bool,
    max_count: int,
) -> int:
    """Show the turns of all sessions and worktrees as a page in the browser.

    The page is one file that needs no network. Each turn has its prompt, its diff, and the command
    that goes back to before it. A page that is served follows new turns, and can restore. With a
    range of commits, such as main..topic, it has the turns that wrote lines of these.
    """
    refuse_together(("<range>", commits is not None), ("--serve", serve))
    refuse_together(("--output", output is not None), ("--serve", serve))
    refuse_together(("--conversation", conversation), ("--serve", serve))
    refuse_together(("--output -", output == "-"), ("--json", wants_json()))
    if port is not None and not serve:
        raise click.UsageError("option '--port' needs '--serve'")
    if port is not None and port > _MAX_PORT:
        raise click.BadParameter(f"'{port}' is not a port", param_hint="'--port'")
    repository = Repository.discover()
    warn_of_interruption(repository)
    most = min(max_count, sys.maxsize - 1)
    if serve:
        from git_boocode.cli.view_server import serve_page

        return serve_page(repository, most, port, opens=not no_open)
    with progress(repository, "reading the turns"):
        data = page_data(repository, most, commits or "")
        data["conversations"] = _conversations(repository, data["turns"] if conversation else [])
        page = page_html(data, served=False)
    for problem in first_lines(data.get("range", {}).get("problems", [])):
        warn(problem)
    turns = len(data["turns"])
    if output == "-":
        print_text(page.decode())
        return 0
    path = _write(repository, output, page)
    opened = output is None and not no_open and open_in_browser(path)
    if wants_json():
        print_json({"ok": True, "path": path, "turns": turns})
    elif output is None and not opened:
        print_text(quote_path(path))
    else:
        done = "opened" if opened else "wrote"
        print_feedback(f"{done} {quote_path(path)} ({counted(turns, 'turn')})")
    return 0


def open_page(turn: str) -> str:
    """Write the page and open it at a turn; returns what was done."""
    repository = Repository.discover()
    path = _write(repository, None, page_html(page_data(repository, _MOST), served=False))
    return f"{'opened' if open_in_browser(path, turn) else 'wrote'} {quote_path(path)}"


def _conversations(repository: Repository, turns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The conversations of the newest turns, as far as their size allows, by the ids of turns."""
    if not turns:
        return {}
    # Only here: it loads what reads transcripts.
    from git_boocode.workflows.turn_conversation import conversations_of_turns

    found, size = {}, 0
    ids = [turn["id"] for turn in turns if turn["agent"] and not turn["remote"]]
    for each in conversations_of_turns(repository, ids):
        found[each.turn.id] = each.as_json()
        size += len(json.dumps(found[each.turn.id]))
        if size > _MOST_SAID:
            break
    return found


def _write(repository: Repository, output: str | None, page: bytes) -> str:
    """Write the page, which only the user may read, as it quotes files; returns the path."""
    if output is None:
        make_state_dir(repository.state_dir)
        path = os.path.join(repository.state_dir, PAGE)
    else:
        path = os.path.abspath(output)
        _refuse_other_file(path, output)
    try:
        write_private(os.path.realpath(path), page, to_disk=False)
    except OSError as error:
        error.filename = path
        raise from_os(error) from None
    return path


def _refuse_other_file(path: str, name: str) -> None:
    """Refuse to replace anything but an earlier page (UsageError)."""
    if not os.path.exists(path):
        return
    begin = b""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            begin = file.read(_BEGINNING)
        if not begin or PAGE_TITLE in begin:
            return
    raise UsageError(
        f"'{name}' exists and is not a page of git boocode view",
        hints=("name a file that does not exist, or '-' for standard output",),
    )
