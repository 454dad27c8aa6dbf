"""Change the files and the staging area of a restore, and roll the changes back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial

from git_boocode.checkpoints.capture import safety_checkpoint
from git_boocode.checkpoints.restore.exact import (
    is_cut_short,
    record_exact,
    with_blobs,
    write_exact,
    writing_exactly,
)
from git_boocode.checkpoints.restore.file_plan import FilePlan, blockers_of
from git_boocode.checkpoints.restore.user_work import StateRules
from git_boocode.checkpoints.store.catalog import Change, tree_changes
from git_boocode.checkpoints.worktree.indexer import Disk, may_convert, paths_with_filter
from git_boocode.checkpoints.worktree.scan import take_snapshot
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import build_index
from git_boocode.repo.entries import Metadata
from git_boocode.repo.errors import (
    MAKE_ROOM,
    RETRY,
    FatalError,
    NextStep,
    RefusedError,
    shell_command,
)
from git_boocode.repo.files import remove_emptied
from git_boocode.repo.gc import protect_from_gc
from git_boocode.repo.git import Completed, Git, GitError, nul_lines
from git_boocode.repo.index import Index, install_index, refuse_if_locked
from git_boocode.repo.lock import held_lock, scratch_directory
from git_boocode.repo.messages import (
    CHANGED_MEANWHILE,
    MISSING_CONTENT,
    complaints,
    is_disk_full,
    says,
)
from git_boocode.repo.repository import Repository

# The number of rollbacks to try while other processes keep changing files.
_ATTEMPTS = 5
_OPPOSITE = {"create": "delete", "delete": "create", "modify": "modify"}


class WorktreeChangedError(RefusedError):
    """Another process changed a file after the snapshot; nothing was written."""

    def __init__(self, what: str) -> None:
        hints = (NextStep("nothing was changed; run the command again", RETRY),)
        super().__init__(f"another process {what}", code="conflict", hints=hints)


class WorktreeUpdate:
    """Changes files and staging area to a target, and can roll that back.

    The snapshot's private index is updated along with the files.
    """

    def __init__(self, repository: Repository, snapshot: Snapshot, plan: FilePlan) -> None:
        self._repository = repository
        self._snapshot = snapshot
        self._plan = plan
        # The restore may change the rules by which git converts files.
        old = {change.path: change.old_id for change in plan.changes}
        self._exact_before = with_blobs(snapshot.exact, old, convert=True)
        self._files_touched = False
        self._installed: Index | None = None
        self._before: Index | None = None

    def do(self, *, returning: bool = False) -> None:
        """Change files and staging area to the target.

        With `returning`, ignored files of the target may still exist. Refused if a file or the
        staging area changed after the snapshot, or the staging area is locked.
        """
        if self._plan.changes:
            if self._repository.config.section("filter", ".required"):
                self._try_filters()
            # Copy it now, because the disk may be full when it is needed.
            self._before = self._snapshot.disk_index.copy()
            if not returning:
                refuse_if_locked(self._repository.index_path)
                # Git would overwrite an ignored file that was created after the snapshot.
                for path in self._unexpected_files(self._plan.changes):
                    raise WorktreeChangedError(f"created a file meanwhile: '{path}' is in the way")
            self._files_touched = True
            self._write_files()
        if self._plan.staging is not None:
            if self._plan.staging.tree == self._repository.empty_tree:
                # Git has it built in and may not store it, but `git fsck` expects it of an index.
                self._repository.git.run("hash-object", "-w", "-t", "tree", "--stdin")
            made = build_index(self._plan.staging, self._snapshot.disk_index)
            self._install(made.path, self._snapshot.dump())
            self._installed = made
        elif not returning:
            self._forget_sizes()

    def roll_back(self) -> None:
        """Restore files and staging area to the state before `do`, each even if the other fails."""
        try:
            if self._installed is not None:
                self._unstage(self._installed)
                self._installed = None
        finally:
            if self._files_touched:
                try:
                    self._merge_back()
                except (FatalError, OSError):
                    # Most likely the disk is full, and a scan of the files needs space.
                    self._check_out_before()
                write_exact(self._repository, self._snapshot.disk_index, self._exact_before)
                self._files_touched = False

    # Files.

    def _try_filters(self) -> None:
        """Run the user's required filters on all files, old and new, into a scratch directory.

        If a filter failed during the restore, git would already have deleted the file, and a
        rollback would need the same filter.
        """
        for tree, unused in ((self._plan.tree, "delete"), (self._plan.before, "create")):
            index = Index(
                self._snapshot.disk_index.git, f"{self._snapshot.disk_index.path}.try-{unused}"
            )
            index.read_tree(tree)
            paths = [change.path for change in self._plan.changes if change.action != unused]
            driven = nul_lines(paths_with_filter(index, paths, "--cached"))
            command = ("checkout-index", "-z", "--stdin", f"--prefix={index.path}.files/")
            _check(index.git.attempt(*command, stdin=driven))

    def _unexpected_files(self, changes: Iterable[Change]) -> list[str]:
        """The files in the way of files to create that the changes do not replace or delete."""
        changes = list(changes)
        replaced = {change.path.casefold() for change in changes if change.action != "create"}
        blockers = blockers_of(Disk(self._repository.worktree), changes)
        found = dict.fromkeys(path for paths in blockers.values() for path in paths)
        return [path for path in found if path.casefold() not in replaced]

    def _write_files(self) -> None:
        modes = {change.path: change.mode for change in self._plan.changes}
        index, exact = self._snapshot.disk_index, self._plan.exact
        try:
            with writing_exactly(self._repository, index, modes, exact) as (umask, written):
                self._merge(self._plan.before, self._plan.tree, umask)
        except WorktreeChangedError:
            self._files_touched = False
            raise
        if written:
            # Git recorded the sizes of its own files, and would report these as changed.
            index.invalidate(written)
            index.git.attempt("update-index", "-q", "--refresh")

    def _merge(self, before: str, after: str, umask: int) -> None:
        git = self._keeping_lock(self._snapshot.disk_index.git).with_umask(umask)
        progress = ("-v",) if git.observer else ()
        command = ("read-tree", "--no-sparse-checkout", *progress, "-m", "-u", before, after)
        _check(git.attempt_counted("restoring: {} files", *command))

    def _keeping_lock(self, git: Git) -> Git:
        # If this process is killed, git continues: keep the lock, so that no undo starts meanwhile.
        return git.keeping_lock(held_lock(self._repository.state_dir))

    def _merge_back(self) -> None:
        self._snapshot.disk_index.break_lock()
        # Git writes the index last: if it matches the target, every file was written.
        if (
            self._snapshot.disk_index.write_tree() == self._plan.tree
            and not self._reappeared_files()
        ):
            with suppress(WorktreeChangedError), self._writing_back() as (umask, _):
                self._merge(self._plan.tree, self._plan.before, umask)
                return
        for _ in range(_ATTEMPTS - 1):
            with suppress(WorktreeChangedError):
                protect_from_gc(self._roll_back_current)
                return
        protect_from_gc(self._roll_back_current)

    def _roll_back_current(self) -> None:
        """Roll back from the current state, and save changes that other processes made to it."""
        repository = self._repository
        with scratch_directory(repository.state_dir) as scratch:
            halfway = self._scan(scratch)
            if reappeared := self._reappeared_files():
                halfway = halfway.with_files(reappeared, repository.worktree)
            planned = {change.path for change in self._plan.changes}
            back = tree_changes(repository.git, halfway.disk_tree, self._plan.before)
            back = [change for change in back if change.path in planned]
            if not back:
                return
            # Files to replace that differ from the target, too, were changed by another process,
            # unless git was ended while it wrote them.
            replaced = {change.path for change in back if change.action != "create"}
            others = tree_changes(repository.git, halfway.disk_tree, self._plan.tree)
            if any(
                each.path in replaced and not is_cut_short(repository, each.path, each.id)
                for each in others
            ):
                exact_now = record_exact(repository, halfway, back, {})
                self._save(halfway._replace(exact=exact_now))
            paths = self._exact_before.keys() & {change.path for change in back}
            exact = {path: self._exact_before[path] for path in paths}
            tree = halfway.edited_tree(repository.store, halfway.disk_tree, back)
            halfway.quarantine.release()
            plan = FilePlan(halfway.disk_tree, tree, back, exact=exact)
            WorktreeUpdate(repository, halfway, plan).do(returning=True)

    def _reappeared_files(self) -> list[str]:
        """The files that exist again where some were deleted; git would overwrite ignored ones."""
        changes = self._plan.changes
        return self._unexpected_files(c._replace(action=_OPPOSITE[c.action]) for c in changes)

    def _scan(self, scratch: str) -> Snapshot:
        """A snapshot of the current state, without the files that the state before ignores."""
        written = {c.path: c for c in self._plan.changes if c.action != "delete"}
        rules = StateRules(self._repository, self._plan.before, written)
        user_files = partial(rules.user_files, scratch=scratch)
        return take_snapshot(self._repository, scratch, user_files)

    def _save(self, halfway: Snapshot) -> None:
        safety_checkpoint(self._repository, halfway, Metadata({}), {"halfway": True})

    def _check_out_before(self) -> None:
        """Write every file of the plan as it was before, without a scan."""
        top = self._repository.worktree
        for change in self._plan.changes:
            if change.action == "create":
                # It fails if something else is there, which is kept.
                with suppress(OSError):
                    os.unlink(os.path.join(top, change.path))
                    remove_emptied(os.path.join(top, change.path), top)
        old = [change.path for change in self._plan.changes if change.action != "create"]
        assert self._before is not None
        git = self._keeping_lock(self._before.git)
        # Even if some files fail, the others get their exact bytes and modes.
        command = ("checkout-index", "-f", "-z", "--stdin")
        with self._writing_back() as (umask, _):
            done = git.with_umask(umask).attempt(*command, stdin=nul_lines(old))
        _check(done)

    def _writing_back(self) -> AbstractContextManager[tuple[int, list[str]]]:
        modes = {change.path: change.old_mode for change in self._plan.changes}
        index = self._snapshot.disk_index
        return writing_exactly(self._repository, index, modes, self._exact_before)

    # The staging area.

    def _forget_sizes(self) -> None:
        """Let git read the written files that are as staged.

        The index may have another size of the same content, from before a conversion, and git would
        report such a file as changed without reading it.
        """
        original, staging = self._snapshot.original, self._snapshot.staging
        changes = [each for each in self._plan.changes if each.action != "delete"]
        written = {each.path: (each.mode, each.id) for each in changes}
        if original is None or staging is None or not may_convert(self._repository, written):
            return
        # Setting them would remove their flags.
        for entry in staging.special:
            written.pop(entry.path, None)
        # It stays as it is if another process is changing it, or if git or one of its filters
        # fails: the files are restored.
        with suppress(RefusedError, GitError, OSError):
            made = original.copy()
            entries = made.entries_of(written)
            same = [each for each in entries if written.get(each.path) == (each.mode, each.id)]
            if same:
                made.put(same)
                self._install(made.path, self._snapshot.dump())

    def _install(self, path: str, expected: bytes | None) -> None:
        repository = self._repository
        install_index(path, repository.index_path, expected=expected, git=repository.git)

    def _unstage(self, installed: Index) -> None:
        try:
            self._install_original(installed.dump())
        except RefusedError as error:
            if error.code != "conflict":
                raise
            # Another process, perhaps the callback, staged something: save it, then replace it.
            protect_from_gc(self._save_current)
            self._install_original(None)

    def _save_current(self) -> None:
        with scratch_directory(self._repository.state_dir) as scratch:
            self._save(self._scan(scratch))

    def _install_original(self, expected: bytes | None) -> None:
        original = self._snapshot.original
        if original is None:
            os.unlink(self._repository.index_path)
        else:
            # The installed copy gets the index's mode; the original is not changed.
            self._install(original.copy().path, expected)


@contextmanager
def keeping_directory(repository: Repository, changes: Iterable[Change]) -> Iterator[None]:
    """Keep the current directory while files are changed.

    Git removes a directory with its last file; before version 2.35, even the current directory.
    A directory inside it prevents that.
    """
    here = repository.prefix
    inside = os.path.join(repository.worktree, here, ".git-boocode-keep")
    if here and any(c.action != "modify" and c.path.startswith(here) for c in changes):
        # If it cannot be created, git cannot remove anything there either.
        with suppress(FileExistsError, PermissionError):
            os.mkdir(inside)
    try:
        yield
    finally:
        with suppress(OSError):
            os.rmdir(inside)


def refuse_to_replace_directory(repository: Repository, changes: Iterable[Change]) -> None:
    """Refuse (`conflict`) if a file would replace the current directory or a parent of it."""
    for change in changes:
        if change.action != "delete" and repository.prefix.startswith(f"{change.path}/"):
            leave = shell_command("cd", repository.worktree)
            raise RefusedError(
                f"the restore would replace the current directory with a file: '{change.path}'",
                code="conflict",
                hints=(f"nothing was changed; leave it first: {leave}",),
            )


def _check(done: Completed) -> None:
    """Raise the error of a git command that failed to write files."""
    stderr = os.fsdecode(done.stderr).strip()
    if not done.status:
        return
    if says(stderr, CHANGED_MEANWHILE):
        raise WorktreeChangedError(f"changed a file meanwhile: {stderr.splitlines()[0]}")
    if is_disk_full(stderr):
        message = "cannot restore the files: no space left on device"
        raise FatalError(message, code="disk_full", hints=(MAKE_ROOM,))
    way = "fix the files listed above and try again"
    if says(stderr, MISSING_CONTENT):
        way = "'git boocode doctor' lists what is missing"
    raise FatalError(
        f"git could not write the files: {'; '.join(dict.fromkeys(complaints(stderr))) or stderr}",
        code="git",
        hints=(way,),
    )
