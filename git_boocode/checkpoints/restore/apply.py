"""The part of a restore that touches files and staging area: do it, and roll it back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from shlex import quote

from git_boocode.checkpoints.restore.exact import (
    record_exact,
    with_blobs,
    write_exact,
    writing_exactly,
)
from git_boocode.checkpoints.restore.file_plan import RestorePlan, blockers_of, tree_after
from git_boocode.checkpoints.restore.ignore_rules import StateRules
from git_boocode.checkpoints.store.catalog import Change, tree_changes
from git_boocode.checkpoints.store.commit import safety_checkpoint
from git_boocode.checkpoints.worktree.indexer import Disk, paths_with_filter
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import build_index
from git_boocode.repo.errors import MAKE_ROOM, FatalError, RefusedError
from git_boocode.repo.files import remove_emptied
from git_boocode.repo.gc import GcWatch, kept_from_gc
from git_boocode.repo.git import Completed, nul_lines
from git_boocode.repo.index import Index, install_index, refuse_if_locked
from git_boocode.repo.lock import scratch_directory
from git_boocode.repo.messages import CHANGED_MEANWHILE, complaints, is_disk_full, says
from git_boocode.repo.metadata import Metadata
from git_boocode.repo.repository import Repository

# Someone may write a file just while all go back; after so many attempts that is an error.
_ATTEMPTS = 5
_OPPOSITE = {"create": "delete", "delete": "create", "modify": "modify"}


class WorktreeChangedError(RefusedError):
    """A file is not what it was when it was looked at; nothing was touched."""

    def __init__(self, what: str) -> None:
        hints = ("nothing was changed; run the command again",)
        super().__init__(f"another process {what}", code="conflict", hints=hints)


class WorktreeUpdate:
    """Files and staging area, brought to a target and, if need be, back again.

    The private index of the snapshot, of what is there before, follows the files.
    """

    def __init__(self, repository: Repository, snapshot: Snapshot, plan: RestorePlan) -> None:
        self._repository = repository
        self._snapshot = snapshot
        self._plan = plan
        # The restore may bring or remove rules by which git converts.
        old = {change.path: change.old_id for change in plan.changes}
        self._exact_before = with_blobs(snapshot.exact, old, convert=True)
        self._files_touched = False
        self._installed: Index | None = None
        self._before: Index | None = None

    def do(self, *, returning: bool = False) -> None:
        """Bring files and staging to the target.

        With `returning`, ignored files that the target brings back may be there still. Refused if
        a file or the staging area changed since the snapshot, or the latter is locked.
        """
        if self._plan.changes:
            if self._repository.config.section("filter", ".required"):
                self._try_filters()
            # In advance: on a disk that is full by then, it could not be made.
            self._before = self._snapshot.index.copy()
            if not returning:
                refuse_if_locked(self._repository.index_path)
                # Git would overwrite a file that came since the snapshot if it is ignored.
                for path in self._unexpected_files(self._plan.changes):
                    raise WorktreeChangedError(f"created a file meanwhile: '{path}' is in the way")
            self._files_touched = True
            self._write_files()
        if self._plan.staging is not None:
            made = build_index(self._plan.staging, self._snapshot.index)
            self._install(made.path, self._snapshot.dump())
            self._installed = made

    def roll_back(self) -> None:
        """Bring files and staging back to where they were; nothing happens if `do` did nothing.

        If one of them cannot be brought back, the other one is.
        """
        try:
            if self._installed is not None:
                self._unstage(self._installed)
                self._installed = None
        finally:
            if self._files_touched:
                try:
                    self._merge_back()
                except (FatalError, OSError):
                    # Most likely the disk is full, and looking at the files takes space.
                    self._check_out_before()
                write_exact(self._repository, self._snapshot.index, self._exact_before)
                self._files_touched = False

    # Files.

    def _try_filters(self) -> None:
        """Let the user's required filters write every file once, both ways, to a scratch directory.

        One that fails does so after git has deleted the file it was to write, and it would be
        needed to bring that file back.
        """
        for tree, unused in ((self._plan.tree, "delete"), (self._plan.before, "create")):
            index = Index(self._snapshot.index.git, f"{self._snapshot.index.path}.try-{unused}")
            index.read_tree(tree)
            paths = [change.path for change in self._plan.changes if change.action != unused]
            driven = nul_lines(paths_with_filter(index, paths, "--cached"))
            command = ("checkout-index", "-z", "--stdin", f"--prefix={index.path}.files/")
            _check(index.git.attempt(*command, stdin=driven))

    def _unexpected_files(self, changes: Iterable[Change]) -> list[str]:
        """What lies where files are to be created and is no part of the changes itself."""
        changes = list(changes)
        leaving = {change.path.casefold() for change in changes if change.action != "create"}
        blockers = blockers_of(Disk(self._repository.worktree), changes)
        found = dict.fromkeys(path for paths in blockers.values() for path in paths)
        return [path for path in found if path.casefold() not in leaving]

    def _write_files(self) -> None:
        modes = {change.path: change.mode for change in self._plan.changes}
        index = self._snapshot.index
        try:
            with writing_exactly(self._repository, index, modes, self._plan.exact) as written:
                self._merge(self._plan.before, self._plan.tree)
        except WorktreeChangedError:
            self._files_touched = False
            raise
        if written:
            # A size of which git knows only what it wrote itself would count as a change.
            index.doubt(written)
            index.git.attempt("update-index", "-q", "--refresh")

    def _merge(self, before: str, after: str) -> None:
        # If we are killed, it goes on; nobody may begin to undo what it has not yet done.
        git = self._snapshot.index.git.keeping_locks()
        progress = ("-v",) if git.observer else ()
        command = ("read-tree", "--no-sparse-checkout", *progress, "-m", "-u", before, after)
        _check(git.attempt_counted("restoring: {} files", *command))

    def _merge_back(self) -> None:
        self._snapshot.index.break_lock()
        # Git writes the index last: where it names the target, every file is there.
        if self._snapshot.index.write_tree() == self._plan.tree and not self._reappeared_files():
            with suppress(WorktreeChangedError), self._writing_back():
                self._merge(self._plan.tree, self._plan.before)
                return
        for _ in range(_ATTEMPTS - 1):
            with suppress(WorktreeChangedError):
                kept_from_gc(self._repository, self._roll_back_current)
                return
        kept_from_gc(self._repository, self._roll_back_current)

    def _roll_back_current(self, watch: GcWatch) -> None:
        """Go back from whatever is there now; what is someone's own in it is kept as well."""
        repository = self._repository
        with scratch_directory(repository.state_dir) as scratch:
            halfway = self._look(scratch)
            if came := self._reappeared_files():
                halfway.force_add(came, repository.worktree)
            planned = {change.path for change in self._plan.changes}
            back = tree_changes(repository.git, halfway.disk_tree, self._plan.before)
            back = [change for change in back if change.path in planned]
            if not back:
                return
            # What goes now and is neither of before nor of the target is someone's own.
            going = {change.path for change in back if change.action != "create"}
            others = tree_changes(repository.git, halfway.disk_tree, self._plan.tree)
            if any(change.path in going for change in others):
                halfway.exact = record_exact(repository, halfway, back, {})
                self._keep(halfway, watch)
            paths = self._exact_before.keys() & {change.path for change in back}
            exact = {path: self._exact_before[path] for path in paths}
            tree = tree_after(halfway, halfway.disk_tree, back)
            plan = RestorePlan(halfway.disk_tree, tree, back, exact=exact)
            WorktreeUpdate(repository, halfway, plan).do(returning=True)

    def _reappeared_files(self) -> list[str]:
        """What lies where files were deleted; git would overwrite what is ignored of that."""
        changes = self._plan.changes
        return self._unexpected_files(c._replace(action=_OPPOSITE[c.action]) for c in changes)

    def _look(self, scratch: str) -> Snapshot:
        """What is there now, but for the files that the state before ignores."""
        written = {c.path: c for c in self._plan.changes if c.action != "delete"}
        rules = StateRules(self._repository, self._plan.before, written)
        user_files = partial(rules.user_files, scratch=scratch)
        return take_snapshot(self._repository, scratch, user_files)

    def _keep(self, halfway: Snapshot, watch: GcWatch) -> None:
        kept = safety_checkpoint(self._repository, halfway, Metadata({}), {"halfway": True})
        watch.confirm(kept.ref, kept.commits)

    def _check_out_before(self) -> None:
        """Write every file of the plan as it was, whatever is there now."""
        top = self._repository.worktree
        for change in self._plan.changes:
            if change.action == "create":
                # Unless something else is there, which stays.
                with suppress(OSError):
                    os.unlink(os.path.join(top, change.path))
                    remove_emptied(os.path.join(top, change.path), top)
        old = [change.path for change in self._plan.changes if change.action != "create"]
        assert self._before is not None
        git = self._before.git.keeping_locks()
        # Also where some fail, the others get their exact bytes and modes.
        with self._writing_back():
            done = git.attempt("checkout-index", "-f", "-z", "--stdin", stdin=nul_lines(old))
        _check(done)

    def _writing_back(self) -> AbstractContextManager[list[str]]:
        modes = {change.path: change.old_mode for change in self._plan.changes}
        index = self._snapshot.index
        return writing_exactly(self._repository, index, modes, self._exact_before)

    # The staging area.

    def _install(self, path: str, expected: bytes | None) -> None:
        repository = self._repository
        install_index(path, repository.index_path, expected=expected, git=repository.git)

    def _unstage(self, installed: Index) -> None:
        try:
            self._install_original(installed.dump())
        except RefusedError as error:
            if error.code != "conflict":
                raise
            # Someone staged something since, perhaps the callback: it is kept, and goes.
            kept_from_gc(self._repository, self._keep_now)
            self._install_original(None)

    def _keep_now(self, watch: GcWatch) -> None:
        with scratch_directory(self._repository.state_dir) as scratch:
            self._keep(self._look(scratch), watch)

    def _install_original(self, expected: bytes | None) -> None:
        original = self._snapshot.original
        if original is None:
            os.unlink(self._repository.index_path)
        else:
            # The copy to install gets the index's mode; the original stays as it is.
            self._install(original.copy().path, expected)


@contextmanager
def keeping_directory(repository: Repository, changes: Iterable[Change]) -> Iterator[None]:
    """Keep the current directory while changes are carried out.

    Whoever deletes the last file of a directory removes the directory, too; git before 2.35 even
    where its caller was started. So there is something in it that is not a file.
    """
    here = repository.prefix
    inside = os.path.join(repository.worktree, here, ".git-boocode-keep")
    if here and any(c.action != "modify" and c.path.startswith(here) for c in changes):
        # Where nothing may be made, nothing can be removed either.
        with suppress(FileExistsError, PermissionError):
            os.mkdir(inside)
    try:
        yield
    finally:
        with suppress(OSError):
            os.rmdir(inside)


def refuse_to_replace_directory(repository: Repository, changes: Iterable[Change]) -> None:
    """Refuse (`conflict`) if a file goes where the current directory is, or one above it."""
    for change in changes:
        if change.action != "delete" and repository.prefix.startswith(f"{change.path}/"):
            raise RefusedError(
                f"the restore would replace the current directory by a file: '{change.path}'",
                code="conflict",
                hints=(f"nothing was changed; leave it first: cd {quote(repository.worktree)}",),
            )


def _check(done: Completed) -> None:
    """Raise the error of a git command that was to write files."""
    said = os.fsdecode(done.stderr).strip()
    if not done.status:
        return
    if says(said, CHANGED_MEANWHILE):
        raise WorktreeChangedError(f"changed a file meanwhile: {said.splitlines()[0]}")
    if is_disk_full(said):
        full = "cannot restore the files: no space left on device"
        raise FatalError(full, code="disk_full", hints=(MAKE_ROOM,))
    raise FatalError(
        f"git could not write the files: {'; '.join(dict.fromkeys(complaints(said))) or said}",
        code="git",
        hints=("fix the files listed above and try again",),
    )
