"""What differs between two trees, path by path."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from git_boocode.repo.git import Git, nul_records
from git_boocode.repo.object_writer import GITLINK

# `diff.ignoreSubmodules` of the user is about other diffs.
_DIFF_TREE = ("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none")
_ACTIONS = {"A": "create", "D": "delete"}


class Change(NamedTuple):
    """One path, from the top of the worktree, that differs from an old tree to a new one.

    `action` is `create`, `delete` or `modify`; a mode is `000000` where the path does not exist.
    """

    path: str
    action: str
    old_mode: str
    mode: str
    id: str
    old_id: str = ""

    @property
    def touches_gitlink(self) -> bool:
        """Whether either side is a submodule or a nested repository."""
        return GITLINK in (self.old_mode, self.mode)

    def as_json(self) -> dict[str, object]:
        """The path and the action."""
        return {"path": self.path, "action": self.action}


def tree_changes(git: Git, old: str, new: str, pathspecs: Iterable[str] = ()) -> list[Change]:
    """The paths that differ between two trees, in git's order."""
    if old == new:
        return []
    raw = _without_index(git).run(*_DIFF_TREE, "--raw", "--abbrev=64", old, new, "--", *pathspecs)
    records = nul_records(raw)
    changes = []
    for fields, path in zip(records[::2], records[1::2], strict=True):
        old_mode, mode, old_id, new_id, letter = fields.removeprefix(":").split(" ")
        action = _ACTIONS.get(letter, "modify")
        changes.append(Change(path, action, old_mode, mode, new_id, old_id))
    return changes


def count_lines(git: Git, old: str, new: str) -> dict[str, tuple[int, int] | None]:
    """The added and removed lines by path, as `git diff --numstat` has them; None if binary."""
    options = ("--numstat", "--no-ext-diff", "--no-textconv")
    counts: dict[str, tuple[int, int] | None] = {}
    for record in nul_records(_without_index(git).run(*_DIFF_TREE, *options, old, new)):
        added, removed, path = record.split("\t", 2)
        counts[path] = None if added == "-" else (int(added), int(removed))
    return counts


def count_changes(git: Git, pairs: list[tuple[str, str]]) -> list[int | None]:
    """How many paths differ within each pair of trees or commits; None where objects are missing.

    Of two commits, the older one comes second.
    """
    if not pairs:
        return []
    request = "".join(f"{one} {other}\n" for one, other in pairs).encode()
    done = _without_index(git).attempt(
        "diff-tree", "--stdin", "-r", "--raw", "--no-renames", "--always", stdin=request
    )
    counts: list[int | None] = []
    for line in done.stdout.splitlines():
        # Each pair is announced by a line of its own, even where nothing differs.
        if line.startswith(b":"):
            counts[-1] = (counts[-1] or 0) + 1
        else:
            counts.append(0)
    # A pair whose trees are missing is passed over, or ends it all.
    if done.status == 0 and len(counts) == len(pairs):
        return counts
    if len(pairs) == 1:
        return [None]
    middle = len(pairs) // 2
    return [*count_changes(git, pairs[:middle]), *count_changes(git, pairs[middle:])]


def _without_index(git: Git) -> Git:
    # Comparing trees needs no index, but git reads it first, and fails where it is damaged. Nobody
    # can have put anything where this one would be.
    name = f"no-index-{os.urandom(6).hex()}"
    return git.bind(GIT_INDEX_FILE=os.path.join(git.env["GIT_DIR"], name))
