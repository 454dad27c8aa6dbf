"""`git boocode diff`, and git's own diff below what another command shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import IO

import click

from git_boocode.checkpoints.own_changes import compared_states
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turns import comparison_json
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs
from git_boocode.cli.candidates import checkpoint_or_range, or_paths
from git_boocode.cli.framework import (
    Command,
    json_option,
    misused,
    option,
    refuse_together,
    split_at_dashes,
)
from git_boocode.cli.output import (
    Style,
    colour_forbidden,
    colour_wanted,
    encode_text,
    output_style,
    paged,
    print_json,
    progress,
    wants_json,
)
from git_boocode.repo.errors import EXIT_FATAL, RefusedError
from git_boocode.repo.git import GitError
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository

READER_GONE = (-13, 141)
"""How git ends when it writes to a closed pipe: by the signal, or with a shell's status for it."""


@click.command(cls=Command)
@click.argument(
    "arguments",
    nargs=-1,
    metavar="[<checkpoint> [<checkpoint>]] [--] [<path>...]",
    shell_complete=or_paths(checkpoint_or_range, most=2),
)
@option("--turn", "Compare the beginning of a turn with its end.")
@option("--after", "Compare the states at the ends of two turns, such as two attempts.")
@option("--proposal", "Compare the files with what is proposed for them.")
@option("--stat", "Show a summary of the changes instead.")
@option("--name-only", "Show only the names of changed files.")
@json_option
def diff(
    arguments: tuple[str, ...],
    turn: bool,
    after: bool,
    proposal: bool,
    stat: bool,
    name_only: bool,
) -> int:
    """Compare a checkpoint with the worktree, or two checkpoints; by default the newest.

    Two checkpoints may also be given as <checkpoint>..<checkpoint>. The output is git's own, with
    the user's pager, colours and diff drivers.
    """
    repository = Repository.discover()
    options = ["--stat"] * stat + ["--name-only"] * name_only
    if proposal:
        refuse_together(("--turn", turn), ("--after", after), ("--proposal", True))
        # `log` and `show` load this module, too.
        from git_boocode.editing.workspace import Workspace
        from git_boocode.proposals.local_files import proposal_trees

        workspace = Workspace.here()
        with temporary_objects(repository):
            trees = proposal_trees(workspace, repository, arguments)
            return _print_diff(repository, [*trees, "--"], options)
    catalog = Catalog(repository)
    named, paths = _split(repository, catalog, *split_at_dashes(arguments))
    paths = checked_pathspecs(repository, paths) if paths else paths
    with temporary_objects(repository):
        with progress(repository, "reading the worktree"):
            states = compared_states(catalog, named, turn=turn, after=after)
        return _print_diff(repository, states.compared(paths), options)


def _print_diff(repository: Repository, compared: Sequence[str], options: Sequence[str]) -> int:
    """Print the difference of two trees; returns the exit code."""
    old, new, dashes, *paths = compared
    if wants_json():
        print_json(comparison_json(repository, old, new, paths))
        return 0
    # Git knows nothing of NO_COLOR.
    uncoloured = ["--no-color"] * colour_forbidden(repository.config, "color.diff")
    # Git itself finds the user's pager for `git diff`, and the colours.
    status = repository.users_git.bind(cwd=repository.directory).run_in_foreground(
        "diff", *options, *uncoloured, old, new, dashes, *paths
    )
    if status in READER_GONE:
        raise BrokenPipeError
    # Git has printed what is wrong.
    return EXIT_FATAL if status else 0


def _split(
    repository: Repository, catalog: Catalog, front: list[str], behind: list[str] | None
) -> tuple[list[Checkpoint], list[str]]:
    """The checkpoints and the paths, distinguished as `git diff` does revisions and paths."""
    named: list[Checkpoint] = []
    while front and len(named) < 2:
        old, dots, new = front[0].partition("..")
        is_range = bool(dots) and not named and not {"/", ":"} & set(front[0])
        is_range = is_range and not _exists(repository, front[0])
        try:
            if is_range:
                # As in git, a missing side is the newest.
                named = [catalog.find(old or "@"), catalog.find(new or "@")]
            else:
                named.append(catalog.find(front[0]))
        except RefusedError:
            if behind is not None or is_range or not _exists(repository, front[0]):
                raise
            break
        front = front[1:]
    if behind is not None and front:
        hint = "at most two checkpoints can be compared; paths go after '--'"
        raise misused(f"unexpected argument '{front[0]}'", hint)
    for path in front:
        if not _exists(repository, path):
            raise RefusedError(
                f"'{path}' is neither a checkpoint nor an existing path",
                code="not_found",
                hints=("put '--' before paths that no longer exist",),
            )
    return named or [catalog.find("@")], [*front, *(behind or ())]


def _exists(repository: Repository, path: str) -> bool:
    return os.path.lexists(os.path.join(repository.directory, path))


def print_page(
    repository: Repository, head: Callable[[Style], str], arguments: Sequence[str]
) -> int:
    """Print a text, and below it what `git diff` prints with these arguments, in the user's pager.

    BrokenPipeError if the reader has seen enough, GitError if git failed.
    """
    with paged(repository.users_git) as stream:
        stream.write(encode_text(head(output_style(repository.config))))
        diff_into(stream, repository, arguments)
    return 0


def diff_into(stream: IO[bytes], repository: Repository, arguments: Sequence[str]) -> None:
    """Write what `git diff` prints with these arguments, in the user's colours and with drivers.

    Pathspecs are relative to the caller's directory. The errors are those of `print_page`.
    """
    stream.flush()
    colour = "always" if colour_wanted(repository.config, "color.diff") else "never"
    git = repository.users_git.bind(cwd=repository.directory)
    try:
        git.stream("--no-pager", "diff", f"--color={colour}", *arguments, to=stream)
    except GitError as error:
        if error.status in READER_GONE:
            raise BrokenPipeError from None
        raise
