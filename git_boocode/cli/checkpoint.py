"""`git boocode checkpoint`; `git_boocode.cli.entry` calls it without click where possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from git_boocode.checkpoints.capture import Captured, Request, capture, open_turn, prune_daily
from git_boocode.cli.options import JSON, Option, output_options
from git_boocode.cli.output import (
    counted,
    first_lines,
    print_json,
    print_text,
    progress,
    quote_path,
    report,
    wants_json,
    warn,
    warn_of_interruption,
)
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.process import ignore_signals
from git_boocode.repo.reported_turn import calling_session
from git_boocode.repo.repository import Repository

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.catalog import Checkpoint

# Set by Claude Code for the commands that it runs.

OPTIONS = (
    Option("-m, --label <label>", "A label for the checkpoint."),
    Option("--session <id>", "The agent's session."),
    Option("--chat <id>", "The conversation in that session."),
    Option("--message <id>", "The message to cut the conversation at."),
    Option("--agent <name>", "The agent that asks for it."),
    Option("--trigger <name>", "What triggered it."),
    Option("--meta <key>=<value>", "Other metadata; may be given several times."),
    Option(
        "--if-changed", "Skip if nothing changed since the latest checkpoint.", "only_if_changed"
    ),
    Option("--ignore-unmatch", "Allow paths that match no file yet."),
    Option("--best-effort", "If it fails, print the error and exit with 0."),
    Option("--allow-home", "Allow a worktree that is your home directory."),
    JSON,
)


def checkpoint(*, best_effort: bool = False, **given: Any) -> int:  # noqa: ANN401 - one for each option
    """Record the worktree and the staging area, and print the checkpoint's id.

    Tracked and untracked files are recorded, ignored ones are not. HEAD, branches, the index and
    `git log` do not change. With paths, only the files that they match are examined; everything
    else is taken from the newest checkpoint.
    """
    known = {name: value for name, value in given.items() if value is not None}
    known["require_match"] = not known.pop("ignore_unmatch", False)
    session, agent = session_and_agent(known.pop("session", ""), known.pop("agent", ""))
    request = Request(session=session, agent=agent, **known)
    take(request, best_effort=best_effort)
    return 0


def session_and_agent(session: str = "", agent: str = "") -> tuple[str, str]:
    """The session and agent to record: those given, or those of Claude Code that runs us."""
    found = calling_session()
    return found if found[0] and not session and agent in ("", found[1]) else (session, agent)


def take(request: Request, *, best_effort: bool, show_id: bool = True) -> Captured | None:
    """Take a checkpoint and report it; None if it failed, which `best_effort` only reports."""
    try:
        repository = Repository.discover()
        warn_of_interruption(repository)
        if request.session and (request.session, request.agent) == calling_session():
            in_turn = open_turn(repository, request.agent, request.session)
            request = request._replace(in_turn=in_turn)
        with progress(repository, "recording the worktree"):
            taken = capture(repository, request)
        if show_id:
            # Otherwise a command follows, which must not run after Ctrl-C.
            ignore_signals()
        if wants_json():
            print_json({**taken.as_json(), **_more_json(repository)})
        else:
            if show_id:
                print_text(taken.checkpoint.id)
            warn_of_skipped(taken.checkpoint)
            if output_options().verbose:
                _print_details(repository, taken)
        # After the answer, so that its reader need not wait.
        prune_daily(repository)
    except (BoocodeError, OSError) as error:
        if not best_effort:
            raise
        report(error)
        return None
    return taken


def warn_of_skipped(checkpoint: Checkpoint) -> None:
    """Warn of the files that a new checkpoint does not contain."""
    skipped = checkpoint.meta.values["skipped"]
    lines = [f"not recorded: {quote_path(row['path'])}: {row['reason']}" for row in skipped]
    for line in first_lines(lines):
        warn(line)


def _more_json(repository: Repository) -> dict[str, object]:
    """With `-v`, what else the checkpoint does not hold."""
    if not output_options().verbose:
        return {}
    from git_boocode.checkpoints.worktree.pathspecs import changed_submodules

    return {"submodules": [each._asdict() for each in changed_submodules(repository)]}


def _print_details(repository: Repository, taken: Captured) -> None:
    """Print what the checkpoint holds; on standard error, as scripts read the id."""
    from git_boocode.checkpoints.store.catalog import tree_changes
    from git_boocode.checkpoints.worktree.pathspecs import changed_submodules

    print_text(f"commit {taken.checkpoint.commit.id}", to_stderr=True)
    head = taken.checkpoint.head or repository.empty_tree
    count = counted(len(tree_changes(repository.git, head, taken.checkpoint.tree)), "file")
    latest = "" if taken.changed else ", none since the latest checkpoint"
    print_text(f"{count} changed since HEAD{latest}", to_stderr=True)
    for path, reason in changed_submodules(repository):
        warn(f"not recorded: {quote_path(path)}: {reason}")
