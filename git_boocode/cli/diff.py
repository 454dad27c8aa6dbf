"""`git boocode diff`, and git's own diff below what another command shows."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint, compare_trees
from git_boocode.checkpoints.worktree.pathspecs import checked_pathspecs
from git_boocode.checkpoints.worktree.scan import current_tree
from git_boocode.cli.candidates import checkpoints, or_paths
from git_boocode.cli.colour import Style, colour_forbidden, colour_wanted
from git_boocode.cli.framework import AFTER_DASHES, Command, json_option, misused
from git_boocode.cli.output import encode_text, paged, print_json, progress
from git_boocode.repo.errors import EXIT_FATAL, RefusedError
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository

_READER_GONE = (-13, 141)
"""How git ends when it writes to a closed pipe: by the signal, or with a shell's status for it."""


@click.command(cls=Command)
@click.argument(
    "arguments",
    nargs=-1,
    metavar="[<checkpoint> [<checkpoint>]] [--] [<path>...]",
    shell_complete=or_paths(checkpoints, most=2),
)
@click.option("--stat", is_flag=True, help="Show a summary of the changes instead.")
@click.option("--name-only", is_flag=True, help="Show only the names of changed files.")
@json_option
@click.pass_context
def diff(
    context: click.Context, arguments: tuple[str, ...], stat: bool, name_only: bool, as_json: bool
) -> int:
    """Compare a checkpoint with the worktree, or two checkpoints; by default the newest.

    The output is git's own, with the user's pager, colours and diff drivers.
    """
    repository = Repository.discover()
    after_dashes = context.meta.get(AFTER_DASHES)
    named, paths = _split(repository, Catalog(repository), list(arguments), after_dashes)
    paths = checked_pathspecs(repository, paths) if paths else paths
    old = named[0].tree
    with temporary_objects(repository):
        if len(named) == 2:
            new = named[1].tree
        else:
            with progress(repository, "reading the worktree", as_json=as_json):
                new = current_tree(repository)
        if as_json:
            changes, text = compare_trees(repository, old, new, paths)
            files = [change.as_json() for change in changes]
            print_json({"ok": True, "files": files, "diff": text})
            return 0
        options = ["--stat"] * stat + ["--name-only"] * name_only
        # Git knows nothing of NO_COLOR.
        options += ["--no-color"] * colour_forbidden(repository.config, "color.diff")
        # Git itself finds the user's pager for `git diff`, and the colours.
        status = _here(repository.users_git, repository).run_in_foreground(
            "diff", *options, old, new, "--", *paths
        )
    if status in _READER_GONE:
        raise BrokenPipeError
    # Git has printed what is wrong.
    return EXIT_FATAL if status else 0


def _split(
    repository: Repository, catalog: Catalog, arguments: list[str], behind: int | None
) -> tuple[list[Checkpoint], list[str]]:
    """The checkpoints and the paths, distinguished as `git diff` does revisions and paths."""
    front = arguments if behind is None else arguments[: len(arguments) - behind]
    paths = [] if behind is None else arguments[len(arguments) - behind :]
    named: list[Checkpoint] = []
    while front and len(named) < 2:
        try:
            named.append(catalog.find(front[0]))
        except RefusedError:
            if behind is not None or not _exists(repository, front[0]):
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
    return named or [catalog.find("@")], [*front, *paths]


def _exists(repository: Repository, path: str) -> bool:
    return os.path.lexists(os.path.join(repository.worktree, repository.prefix, path))


def print_page(
    repository: Repository, head: Callable[[Style], str], arguments: list[str], *, stat: bool
) -> int:
    """Print a text, and below it git's diff or its summary, in the user's pager.

    Git writes the diff in the user's colours and with the user's drivers. BrokenPipeError if the
    reader has seen enough, GitError if git failed.
    """
    colour = "always" if colour_wanted(repository.config, "color.diff") else "never"
    options = [f"--color={colour}", *(["--stat"] if stat else [])]
    style = Style(enabled=colour_wanted(repository.config))
    with paged(repository.users_git) as stream:
        stream.write(encode_text(head(style)))
        stream.flush()
        git = _here(repository.users_git, repository)
        try:
            git.stream("--no-pager", "diff", *options, *arguments, "--", to=stream)
        except GitError as error:
            if error.status in _READER_GONE:
                raise BrokenPipeError from None
            raise
    return 0


def _here(git: Git, repository: Repository) -> Git:
    return git.bind(cwd=os.path.join(repository.worktree, repository.prefix))
