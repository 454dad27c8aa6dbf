"""The user's rules of what checkpoints hold: `boocode.exclude` and `boocode.include`.

Both are pathspecs, relative to the top of the worktree. An excluded path is never recorded: where
HEAD has it, a checkpoint has it as in HEAD, and else not at all. An included file is recorded even
if git ignores it, and never pushed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from git_boocode.repo.config import configured
from git_boocode.repo.errors import FatalError
from git_boocode.repo.files import is_possible
from git_boocode.repo.git import Git, GitError, nul_records
from git_boocode.repo.index import Entry, Index
from git_boocode.repo.lock import fresh_path
from git_boocode.repo.object_writer import NO_FILE
from git_boocode.repo.repository import Repository
from git_boocode.repo.trees import directories_above

EXCLUDE = "boocode.exclude"
INCLUDE = "boocode.include"
INCLUDED_SIZE = "boocode.maxIncludedSize"
REASON = f"excluded by {EXCLUDE}"
# Of a recorded rule: what fits on a command line.
_MOST, _LONGEST = 256, 4096
_DIFFERING = ("diff-index", "--cached", "--raw", "--no-renames", "--abbrev=64", "-z")


class PathRule(NamedTuple):
    """Pathspecs of a setting, which may be none."""

    setting: str
    specs: tuple[str, ...] = ()

    @classmethod
    def read(cls, repository: Repository, setting: str) -> PathRule:
        """The rule of a setting."""
        if repository.config.setting(setting) is None:
            return cls(setting)
        return cls(setting, tuple(filter(None, configured(repository.git, setting))))

    @property
    def mark(self) -> str:
        """A text that differs from that of any other rule; empty for no pathspecs."""
        return repr(tuple(self)) if self.specs else ""

    def matching(
        self, repository: Repository, scratch: str, paths: Iterable[str]
    ) -> frozenset[str]:
        """Those of some paths that the pathspecs match, whether or not anything is there.

        The directory `scratch` is for private files. FatalError (`bad_config`) if git rejects a
        pathspec.
        """
        left = {path.rstrip("/"): path for path in paths} if self.specs else {}
        found = set[str]()
        while left:
            # An index cannot have a file and files below it.
            above = {directory for path in left for directory in directories_above(path)}
            index = Index(repository.git, fresh_path(os.path.join(scratch, "rule.index")))
            some = [path for path in left if path not in above]
            index.put(Entry("H", "100644", repository.empty_blob, 0, path) for path in some)
            found.update(left[path] for path in self.listed(index.git, "ls-files", "-z"))
            left = {path: left[path] for path in left if path in above}
        return frozenset(found)

    def listed(self, git: Git, *command: str) -> list[str]:
        """The records of a git command that takes pathspecs (FatalError)."""
        try:
            return nul_records(git.run(*command, "--", *self.specs))
        except GitError as error:
            if error.status != 128 or error.code != "git":
                raise
            hint = f"git config --get-all --show-origin {self.setting}"
            raise FatalError(
                f"git does not accept a value of '{self.setting}': {error.message}",
                code="bad_config",
                hints=(f"'{hint}' shows it",),
            ) from None


def recorded_rule(specs: Iterable[str]) -> PathRule:
    """The rule that a checkpoint records, which may come from a remote: a part of a huge one."""
    usable = (spec for spec in specs if spec and len(spec) <= _LONGEST and is_possible(spec))
    return PathRule(EXCLUDE, tuple(islice(usable, _MOST)))


def as_in_head(rule: PathRule, index: Index, head_tree: str) -> None:
    """Give the excluded paths of an index the entries that HEAD has, or none."""
    records = rule.listed(index.git, *_DIFFERING, head_tree)
    forget, put = list[str](), list[Entry]()
    for fields, path in zip(records[::2], records[1::2], strict=True):
        mode, _, identifier, *_ = fields.removeprefix(":").split(" ")
        forget.append(path)
        if mode != NO_FILE:
            put.append(Entry("H", mode, identifier, 0, path))
    index.forget(forget)
    index.put(put)
