"""Checkpoint and restore in repositories of several sizes: whole processes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress

from tests.benchmarks.checkpoints.worktree import (
    KEPT_INDEX,
    OURS,
    PRIVATE_INDEX,
    RECIPE,
    Worktree,
    git,
    newest_checkpoints,
    process,
)
from tests.benchmarks.measure import Candidate, print_table, side_by_side

SIZES = (1_800, 10_000, 50_000)
SMALL = 20
STATUS = "git status"
_RECIPE_NAME = "naive recipe (read-tree, add -A, commit-tree)"
_KEPT_NAME = "plain git, private index kept"
_COPIED_NAME = "plain git, private index copied"
_PASS = "python -c pass"


def run(*sizes: int) -> None:
    """Print a table per size, and one of a small repository."""
    print(
        "capture: the repository is packed and clean as after a clone, files have 2 KB; "
        "each run has another turn before it that is not timed, its files of the same length"
    )
    for size in sizes or SIZES:
        report(size, rounds=7 if size <= 10_000 else 5)
    report_small(rounds=15)


def report(size: int, rounds: int) -> None:
    """Print the table of a size."""
    with tempfile.TemporaryDirectory() as top:
        times = side_by_side(candidates(Worktree(top, size)), rounds)
    title = f"{size:,} files, 20 changed and 10 new"
    print_table(title, times, {"x status": STATUS, "x kept": _KEPT_NAME, "x copied": _COPIED_NAME})


def report_small(rounds: int) -> None:
    """Print the table of a repository so small that starting up is nearly all."""
    with tempfile.TemporaryDirectory() as top:
        times = side_by_side(small_candidates(Worktree(top, SMALL, changed=2, added=1)), rounds)
    print_table(f"{SMALL} files, 2 changed and 1 new", times, {"x pass": _PASS})


def candidates(worktree: Worktree) -> dict[str, Candidate]:
    """All that is compared in a repository."""
    runs = _Runs(worktree)
    return {**runs.others(), **runs.captures(), **runs.after_touching(), **runs.narrower()}


def small_candidates(worktree: Worktree) -> dict[str, Candidate]:
    """What is compared where nothing but starting up costs anything."""
    runs = _Runs(worktree)
    others = runs.others()
    return {
        _PASS: Candidate(process(worktree.top, sys.executable, "-c", "pass")),
        **{name: others[name] for name in (STATUS, _RECIPE_NAME)},
        **runs.captures(),
    }


class _Runs:
    """The candidates in one repository, and the states that they start from."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._top = worktree.top
        self._status = self._process("git", "--no-optional-locks", "status", "--porcelain")
        self._recipe = self._process("sh", "-c", RECIPE)
        self._kept = self._process("sh", "-c", KEPT_INDEX)
        self._pass = self._process(sys.executable, "-c", "pass")
        self._checkpoint = self._process(*OURS, "checkpoint")
        self._newest = ""

    def others(self) -> dict[str, Candidate]:
        """The baselines, and git's own command that is nearest."""
        stash = self._process("git", "stash", "create")
        return {
            STATUS: Candidate(self._status, self._turn),
            _RECIPE_NAME: Candidate(self._recipe, self._turn),
            # One start of Python goes with each, as with our own commands.
            _KEPT_NAME: Candidate(self._with_python(self._kept), self._kept_before),
            _COPIED_NAME: Candidate(self._with_python(self._kept), self._copied_before),
            "git stash create (leaves out new files)": Candidate(stash, self._turn),
        }

    def captures(self) -> dict[str, Candidate]:
        """Checkpoints of the whole worktree."""
        if_changed = self._process(*OURS, "checkpoint", "--if-changed")
        return {
            "checkpoint, the first one (cold)": self._capture(self._cold),
            "checkpoint, after a turn (warm)": self._capture(self._warm),
            "checkpoint, nothing changed": self._capture(self._unchanged),
            "checkpoint --if-changed, nothing changed": Candidate(
                if_changed, self._unchanged, check=self._took_none
            ),
        }

    def after_touching(self) -> dict[str, Candidate]:
        """What it costs that all stat data is out of date, and that it no longer is.

        The user's index stays out of date through all of them, since git was not asked to write
        it: whoever relies on it has not healed.
        """
        refresh = self._worktree.refresh
        return {
            "git status, every file touched": Candidate(self._status, self._touched),
            "checkpoint, every file touched": self._capture(self._touched),
            "checkpoint, a turn later (healed)": Candidate(
                self._checkpoint, self._turn, refresh, self._same_tree
            ),
        }

    def narrower(self) -> dict[str, Candidate]:
        """A checkpoint of named files, and the way back."""
        named = self._process(*OURS, "checkpoint", *self._worktree.changing[:2])
        restore = self._process(*OURS, "restore", "@")
        return {
            "checkpoint PATH PATH": Candidate(named, self._warm, check=self._named_only),
            "restore @, 30 paths differ": Candidate(
                restore, self._checkpoint_and_turn, check=self._same_tree
            ),
        }

    def _process(self, *command: str) -> Callable[[], str]:
        return process(self._top, *command)

    def _capture(self, before: Callable[[], object]) -> Candidate:
        return Candidate(self._checkpoint, before, check=self._same_tree)

    def _turn(self) -> None:
        self._worktree.without_added()
        self._worktree.turn()

    def _with_python(self, work: Callable[[], object]) -> Callable[[], object]:
        def both() -> None:
            self._pass()
            work()

        return both

    def _kept_before(self) -> None:
        self._worktree.without_added()
        self._kept()
        self._worktree.turn()

    def _copied_before(self) -> None:
        self._turn()
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self._top, PRIVATE_INDEX))

    def _cold(self) -> None:
        self._turn()
        shutil.rmtree(os.path.join(self._top, ".git", "boocode"), ignore_errors=True)
        ours = git(self._top, "for-each-ref", "--format=delete %(refname)", "refs/boocode/")
        git(self._top, "update-ref", "--stdin", stdin=f"{ours}\n".encode() if ours else b"")

    def _warm(self) -> None:
        self._worktree.without_added()
        self._checkpoint()
        self._worktree.turn()

    def _unchanged(self) -> None:
        self._turn()
        self._checkpoint()
        self._newest = self._newest_one()

    def _touched(self) -> None:
        self._warm()
        self._worktree.touch()

    def _checkpoint_and_turn(self) -> None:
        self._worktree.turn()
        self._checkpoint()
        self._worktree.turn()

    def _newest_one(self) -> str:
        return newest_checkpoints(self._top, 1)[0]

    def _same_tree(self) -> None:
        tree = git(self._top, "rev-parse", f"{self._newest_one()}^{{tree}}")
        assert tree == self._recipe(), "the checkpoint's tree is not the recipe's"

    def _took_none(self) -> None:
        assert self._newest_one() == self._newest, "--if-changed took a checkpoint"
        self._same_tree()

    def _named_only(self) -> None:
        new, old = newest_checkpoints(self._top, 2)
        named = sorted(self._worktree.changing[:2])
        differing = git(self._top, "diff-tree", "-r", "--name-only", old, new).splitlines()
        assert differing == named, "the checkpoint holds other paths than the named ones"
        kept = [git(self._top, "rev-parse", f"{new}:{path}") for path in named]
        assert kept == git(self._top, "hash-object", *named).split()
