"""The user's ignored files, as the rules of another state of the worktree define them.

A restore replaces `.gitignore` files. What an undo finds untracked may be ignored in the state that
it returns to: such a file is the user's own, and is neither recorded nor deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from git_boocode.checkpoints.restore.operation import (
    RestoreRequest,
    goes_before_operation,
    recorded,
)
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.checkpoints.store.changes import Change, tree_changes
from git_boocode.repo.git import Git, GitError, nul_lines, nul_records, quoted_lines
from git_boocode.repo.index import Index
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.object_writer import SYMLINK, object_id, read_blobs
from git_boocode.repo.repository import Repository

_RULES = ".gitignore"
_ARGUMENTS = 1000


class StateRules(NamedTuple):
    """The ignore rules of one state of the worktree."""

    repository: Repository
    tree: str  # of that state
    written: Mapping[str, Change]  # what we have written since, by path
    target: str = ""  # the tree to return to, if that is another one

    def user_files(self, untracked: list[str], scratch: str) -> frozenset[str]:
        """The untracked files that the rules ignore, without those of the target and our own."""
        rules = _rules(self.repository, self.tree, untracked)
        if all(rules[path] == self._id_on_disk(path) for path in rules):
            return frozenset()
        ignored = ignored_by(self.repository, self.tree, untracked, scratch)
        if ignored:
            ignored -= set(tree_paths(self.repository.git, self.target or self.tree))
        return ignored - unchanged(self.repository, self.written, ignored)

    def _id_on_disk(self, path: str) -> str:
        """The id of a file's bytes; empty if git reads no rules there."""
        full = os.path.join(self.repository.worktree, path)
        try:
            if os.path.islink(full):
                return ""
            with open(full, "rb") as file:
                return object_id(self.repository.object_format, b"blob", file.read())
        except OSError:
            return ""


def went_to(repository: Repository, safety: Checkpoint) -> str | None:
    """The commit to which an operation went; None for any other checkpoint than its own."""
    own = goes_before_operation(repository, safety)
    return (recorded(safety).target_commit or None) if own else None


def written_after(
    repository: Repository, safety: Checkpoint, request: RestoreRequest
) -> dict[str, Change]:
    """What the operation wrote here of which this is the state before, by path; else nothing.

    A safety checkpoint holds what stood in the way of its operation, except for ignored files that
    kept their place; so what else it lacks was not there. Of the paths of an operation on some of
    them, nothing is known beyond these.
    """
    target, record = went_to(repository, safety), recorded(safety)
    done = record.request
    other_paths = (done.paths, done.prefix) != (request.paths, request.prefix)
    if target is None or not done.files or (done.paths and other_paths):
        return {}
    try:
        changes = tree_changes(repository.git, safety.tree, f"{target}^{{tree}}")
    except GitError:
        # It has been dropped since.
        return {}
    return {
        change.path: change
        for change in changes
        if change.action != "delete"
        and record.blocked.isdisjoint({change.path, *directories_of([change.path])})
    }


def ignored_by(repository: Repository, tree: str, paths: list[str], scratch: str) -> frozenset[str]:
    """Those of some paths that the `.gitignore` files of a tree, or rules outside it, ignore.

    They may be tracked or not. `scratch` is a directory for private files.
    """
    if not paths:
        return frozenset()
    top = fresh_path(os.path.join(scratch, "rules"))
    os.mkdir(top)
    files = {path: blob for path, blob in _rules(repository, tree, paths).items() if blob}
    contents = read_blobs(repository.git, list(files.values()))
    for (path, blob), content in zip(files.items(), contents, strict=True):
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "xb") as file:
            # If it is missing, git says so.
            file.write(repository.git.run("cat-file", "blob", blob) if content is None else content)
    question = ("check-ignore", "--no-index", "-z", "--stdin")
    index = Index(repository.git, f"{top}.index")
    git = index.git.bind(cwd=top, GIT_WORK_TREE=top)
    # With `./`, the name of a file is no pathspec with magic, such as `:(glob)*`.
    done = git.attempt(*question, stdin=nul_lines(f"./{path}" for path in paths))
    # 1 means that none is ignored.
    if done.status not in (0, 1):
        raise GitError(question, done.status, os.fsdecode(done.stderr))
    return frozenset(path.removeprefix("./") for path in nul_records(done.stdout))


def _rules(repository: Repository, tree: str, paths: list[str]) -> dict[str, str]:
    """Where in a tree there may be rules for some paths, and their blobs; empty for none."""
    places = {"", *directories_of(paths)} if paths else ()
    found = dict.fromkeys((os.path.join(place, _RULES) for place in sorted(places)), "")
    git = repository.git.bind(GIT_LITERAL_PATHSPECS="1")
    files = list(found)
    for start in range(0, len(files), _ARGUMENTS):
        some = files[start : start + _ARGUMENTS]
        for record in nul_records(git.run("ls-tree", "-z", tree, "--", *some)):
            fields, _, path = record.partition("\t")
            mode, _, identifier = fields.split(" ")
            found[path] = identifier if mode.startswith("100") else ""
    return found


def unchanged(
    repository: Repository, written: Mapping[str, Change], paths: Iterable[str]
) -> frozenset[str]:
    """Those of some paths where git takes what is on disk for what was written there."""
    wanted = [written[path] for path in paths if path in written]
    full = {change.path: os.path.join(repository.worktree, change.path) for change in wanted}
    links = {path for path, place in full.items() if os.path.islink(place)}
    alike = [change for change in wanted if (change.path in links) == (change.mode == SYMLINK)]
    ids = dict(_hashed(repository.git, [c.path for c in alike if c.path not in links]))
    for path in links.intersection(change.path for change in alike):
        target = os.fsencode(os.readlink(full[path]))
        ids[path] = object_id(repository.object_format, b"blob", target)
    return frozenset(change.path for change in alike if ids.get(change.path) == change.id)


def _hashed(git: Git, paths: list[str]) -> Iterator[tuple[str, str]]:
    """The ids that git would give to files; those that it cannot read are left out."""
    while paths:
        done = git.attempt("hash-object", "--stdin-paths", stdin=quoted_lines(paths))
        ids = os.fsdecode(done.stdout).split()
        yield from zip(paths, ids, strict=False)
        # It stops at the first file that it cannot read.
        paths = paths[len(ids) + 1 :]


def tree_paths(git: Git, tree: str, *below: str) -> list[str]:
    """The paths of all files in a tree, or of those among some paths, which are literal."""
    git = git.bind(GIT_LITERAL_PATHSPECS="1")
    return nul_records(git.run("ls-tree", "-r", "-z", "--name-only", tree, "--", *below))


def directories_of(paths: Iterable[str]) -> set[str]:
    """All directories that lead to some paths, but for the top."""
    found: set[str] = set()
    for path in paths:
        while (path := os.path.dirname(path)) and path not in found:
            found.add(path)
    return found
