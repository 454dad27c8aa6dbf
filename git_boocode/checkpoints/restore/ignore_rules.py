"""The user's ignored files, as the rules of another state of the worktree define them.

A restore replaces `.gitignore` files. What an undo finds untracked may be ignored in the state that
it returns to: such a file is the user's own, and is neither recorded nor deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from git_boocode.checkpoints.store.changes import Change
from git_boocode.repo.git import Git, GitError, nul_lines, nul_records, quoted_lines
from git_boocode.repo.index import Index
from git_boocode.repo.quarantine import object_id
from git_boocode.repo.repository import Repository
from git_boocode.repo.scratch import fresh_path
from git_boocode.repo.trees import SYMLINK

_RULES = ".gitignore"
# Arguments of one process.
_MOST = 1000


class StateRules(NamedTuple):
    """The ignore rules of one state of the worktree.

    Attributes:
        repository: the repository.
        tree: the tree of that state.
        written: what we have written since, by path.
        target: the tree to return to, if that is another one.
    """

    repository: Repository
    tree: str
    written: Mapping[str, Change]
    target: str = ""

    def user_files(self, untracked: Iterable[str], scratch: str) -> frozenset[str]:
        """The untracked files that the rules ignore, and that neither the target nor we put there.

        Args:
            untracked: files that the current rules do not ignore.
            scratch: a directory for private files.

        Raises:
            GitError: the state has lost objects.
        """
        paths = list(untracked)
        if not self._differ(paths):
            return frozenset()
        ignored = ignored_by(self.repository, self.tree, paths, scratch)
        if not ignored:
            return ignored
        listing = self.repository.git.run(
            "ls-tree", "-r", "-z", "--name-only", self.target or self.tree
        )
        ignored = ignored.difference(nul_records(listing))
        return ignored - unchanged(self.repository, self.written, ignored)

    def _differ(self, paths: list[str]) -> bool:
        """Whether any `.gitignore` that concerns some paths is another one than on disk."""
        places = {""}
        for path in paths:
            while (path := os.path.dirname(path)) not in places:
                places.add(path)
        files = [os.path.join(place, _RULES) for place in sorted(places)] if paths else []
        git = self.repository.git.bind(GIT_LITERAL_PATHSPECS="1")
        for start in range(0, len(files), _MOST):
            some = files[start : start + _MOST]
            records = nul_records(git.run("ls-tree", "-z", self.tree, "--", *some))
            in_state = {}
            for fields, _, path in (record.partition("\t") for record in records):
                mode, _, identifier = fields.split(" ")
                in_state[path] = "" if mode == SYMLINK else identifier
            if any(in_state.get(path) != self._on_disk(path) for path in some):
                return True
        return False

    def _on_disk(self, path: str) -> str | None:
        """The id of a file's bytes; None if git reads no rules there."""
        full = os.path.join(self.repository.worktree, path)
        try:
            if os.path.islink(full):
                return ""
            with open(full, "rb") as file:
                return object_id(self.repository.object_format, b"blob", file.read())
        except OSError:
            return None


def ignored_by(repository: Repository, tree: str, paths: list[str], scratch: str) -> frozenset[str]:
    """Those of some paths that the `.gitignore` files of a tree, or rules outside it, ignore.

    Args:
        repository: the repository.
        tree: the tree.
        paths: the paths, whether tracked or not.
        scratch: a directory for private files.
    """
    if not paths:
        return frozenset()
    top = fresh_path(os.path.join(scratch, "rules"))
    os.mkdir(top)
    rules = Index(repository.git, f"{top}.index")
    rules.read_tree(tree)
    listing = rules.git.run("ls-files", "-z", "--", f":(glob)**/{_RULES}")
    command = ("checkout-index", "-f", "-z", "--stdin", f"--prefix={top}/")
    rules.git.run(*command, stdin=listing)
    git = rules.git.bind(cwd=top, GIT_WORK_TREE=top)
    question = ("check-ignore", "--no-index", "-z", "--stdin")
    done = git.attempt(*question, stdin=nul_lines(paths))
    # 1 means that none is ignored.
    if done.status not in (0, 1):
        raise GitError(question, done.status, os.fsdecode(done.stderr))
    return frozenset(nul_records(done.stdout))


def unchanged(
    repository: Repository, written: Mapping[str, Change], paths: Iterable[str]
) -> frozenset[str]:
    """Those of some paths where git takes what is on disk for what was written there.

    Args:
        repository: the repository.
        written: what was written, by path.
        paths: the paths.
    """
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
