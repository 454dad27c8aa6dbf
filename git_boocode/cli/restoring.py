"""What `restore`, `undo` and `redo` share: their flags, and the way to the answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from git_boocode.cli.framework import json_option

if TYPE_CHECKING:
    from git_boocode.checkpoints.conversation_files import Keep, Written
    from git_boocode.checkpoints.restore.outcome import Outcome
    from git_boocode.checkpoints.restore.restore import Options
    from git_boocode.repo.repository import Repository


def _parse_callback(_: click.Context, __: click.Parameter, path: str | None) -> str | None:
    if path == "":
        raise click.BadParameter("it names no file")
    return path


_OPTIONS = (
    click.option("-n", "--dry-run", is_flag=True, help="Only say what would change."),
    click.option(
        "--files-only", is_flag=True, help="Files and staging; the callback is not called."
    ),
    click.option(
        "--conversation-only", is_flag=True, help="Only the callback; files and staging stay."
    ),
    click.option(
        "--callback",
        metavar="<file>",
        callback=_parse_callback,
        help="The host's program, instead of boocode.callback.",
    ),
    json_option,
)
_IGNORED = (
    "ignored (replace ignored files that are in the way, and record them in the safety checkpoint)"
)


def force_option(*others: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The option `--force`, for ignored files in the way and for other refusals.

    Args:
        others: what else it overrides.
    """
    kinds = (*others, "ignored")

    def parse(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> frozenset[str]:
        words = [word for value in given for word in value.split(",")]
        for word in words:
            if word not in kinds:
                known = ", ".join(kinds)
                raise click.BadParameter(f"unknown refusal '{word}' (choose from: {known})")
        return frozenset(words)

    return click.option(
        "--force",
        multiple=True,
        metavar="<what>",
        callback=parse,
        help=f"Override a refusal: {', '.join((*others, _IGNORED))}.",
    )


no_head_option = click.option(
    "--no-head", is_flag=True, help="Leave HEAD where it is, also where the restore moved it."
)


class LazyEditor:
    """What edits the host's files; imported when a callback asks for it, which few do."""

    def edit(self, edits: object, base: str, keep: Keep) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.edit`."""
        from git_boocode.cli.transcripts import FileEditor

        FileEditor().edit(edits, base, keep)

    def write(self, files: Sequence[Written], keep: Keep) -> None:
        """See `git_boocode.checkpoints.conversation_files.Editor.write`."""
        from git_boocode.cli.transcripts import FileEditor

        FileEditor().write(files, keep)


class Flags(NamedTuple):
    """The flags as given."""

    dry_run: bool
    files_only: bool
    conversation_only: bool
    callback: str | None
    as_json: bool

    def options(self) -> Options:
        """What they ask of the service.

        Raises:
            click.UsageError: they contradict each other.
        """
        from git_boocode.checkpoints.restore.restore import Options

        if self.files_only and self.conversation_only:
            raise click.UsageError("--files-only and --conversation-only exclude each other")
        if self.files_only and self.callback:
            raise click.UsageError("--files-only and --callback exclude each other")
        return Options(
            files=not self.conversation_only,
            conversation=not self.files_only,
            callback=self.callback,
            dry_run=self.dry_run,
            editor=LazyEditor(),
        )


def restoring_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the flags, which it gets as one argument."""

    @functools.wraps(command)
    def with_flags(*args: object, **given: object) -> int:
        flags = Flags(*(given.pop(name) for name in Flags._fields))  # type: ignore[arg-type]
        return command(*args, **given, flags=flags)

    decorated: Callable[..., int] = with_flags
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def carry_out(repository: Repository, work: Callable[[], Outcome], flags: Flags) -> int:
    """Run the service and print its answer; returns the exit code."""
    from git_boocode.cli.outcome import show_outcome
    from git_boocode.cli.output import progress

    with progress("restoring"):
        outcome = work()
    return show_outcome(repository, outcome, as_json=flags.as_json, callback=flags.callback)
