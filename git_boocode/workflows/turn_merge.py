"""What paths become when the changes of turns are taken back, or made again.

Each path that a turn changed is merged three-way: to take it back, the base is the path at the end
of the turn, and the other side is the path at its beginning; to make it again, the reverse. Several
steps, of one turn or of several, are merged one after the other, in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from git_boocode.checkpoints.restore.file_plan import covers
from git_boocode.checkpoints.restore.request import WantedPaths
from git_boocode.checkpoints.store.catalog import Change, tree_changes
from git_boocode.checkpoints.turn_work import PathStep, TurnWork
from git_boocode.checkpoints.worktree.indexer import Skipped
from git_boocode.checkpoints.worktree.pathspecs import Pathspecs
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.checkpoints.worktree.staging import Staging
from git_boocode.editing.edits import MissError
from git_boocode.editing.text_changes import (
    LineMap,
    conflict_block,
    is_binary,
    quoted,
    text_hunks,
)
from git_boocode.editing.textfile import decode
from git_boocode.repo.errors import (
    NextStep,
    RefusedError,
    first_few,
    shell_command,
    step_that,
)
from git_boocode.repo.files import is_in_dot_git
from git_boocode.repo.index import Entry
from git_boocode.repo.layout import ARCHIVE, CHECKPOINTS, REMOTES, SAFETY
from git_boocode.repo.object_writer import GITLINK, NO_FILE, REGULAR, SYMLINK
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from git_boocode.workflows.turn_conflicts import (
    TurnConflict,
    and_more_files,
    attributed,
)
from git_boocode.workflows.turn_files import File, TurnFiles

_SHOWN = 3  # ids that a message names
_CREATED = "the turn created it, and it was changed since"
_CHANGED = "it is not as the turn found it"
_EDITED = "the lines were changed since"
_OTHER_LINES = "the lines are not as the turn found them"


class Merged(NamedTuple):
    """What paths are to be, and where they conflict.

    With conflict markers, `conflicts` include those that are marked. `texts` are the contents of
    merged paths, now and as they are to be; the latter only of an editor's buffers.
    """

    wanted: WantedPaths
    conflicts: tuple[TurnConflict, ...] = ()
    texts: Mapping[str, tuple[bytes | None, bytes | None]] = MappingProxyType({})


def _reverting(turns: Sequence[str]) -> str:
    return shell_command("git", "boocode", "revert", *turns)


class MergeOptions(NamedTuple):
    """How turns are merged: taken back or, `forwards`, made again.

    Pathspecs are relative to the caller's directory. With `markers`, conflicting lines get conflict
    markers. `buffers` are the texts of an editor by path from the top, merged instead of the files.
    `typed` is the command that reverts some turns, for hints.
    """

    forwards: bool = False
    pathspecs: Sequence[str] = ()  # empty for all paths
    markers: bool = False
    force_shared: bool = False
    buffers: Mapping[str, bytes] = MappingProxyType({})
    typed: Callable[[Sequence[str]], str] = _reverting


def merge_turns(
    repository: Repository, snapshot: Snapshot, works: Sequence[TurnWork], options: MergeOptions
) -> Merged:
    """Merge what turns changed into the current files, in the order of `works`.

    RefusedError: `shared` if it is uncertain whose a change is, unless `force_shared`.
    """
    merge = _TurnMerge(repository, snapshot, works, options)
    found = []
    for work in works:
        taken, shared = _steps(merge.files, work, works, options)
        if shared:
            raise _shared(repository, work, shared, options)
        found.append((work, taken))
    merge.keep_hostile({path for _, steps in found for path in steps})
    merge.fold_mixed([steps for _, steps in found])
    for work, steps in found:
        merge.fold(work, steps)
    return merge.finish()


def _steps(
    files: TurnFiles,
    work: TurnWork,
    works: Sequence[TurnWork],
    options: MergeOptions,
) -> tuple[dict[str, tuple[PathStep, ...]], dict[str, tuple[str, ...]]]:
    """The steps by path, and the paths that may be of other turns as well, with their ids."""
    found = files.steps(work, options.pathspecs)
    if not work.shared:
        return found, {}
    with_shared = work._replace(steps=work.with_shared)
    steps = files.steps(with_shared, options.pathspecs)
    merged = {each.turn.checkpoint.id for each in works}
    unclear = {
        path: ids
        for path, ids in work.shared.items()
        if path in steps and not merged.issuperset(ids)
    }
    return steps, {} if options.force_shared else unclear


def _shared(
    repository: Repository,
    work: TurnWork,
    shared: Mapping[str, tuple[str, ...]],
    options: MergeOptions,
) -> RefusedError:
    path, ids = next(iter(shared.items()))
    store = repository.store
    turns = sorted({work.turn.checkpoint.id}.union(*shared.values()), reverse=True)
    does = "reverts all of these turns"
    every = step_that(does, options.typed(turns), "revert", " ".join(turns))
    known = {ref.id for ref in store.refs(CHECKPOINTS, ARCHIVE, REMOTES)}
    short = ShortIds(store)
    turn, others = short(work.turn.checkpoint.id), first_few([*map(short, ids)], _SHOWN)
    who = f"while the turns {turn} and {others} were open, and nothing says by which of them"
    if any(ref.id in ids for ref in store.refs(SAFETY)):
        who = f"by the turn {turn}, or by the restore {others}, whose effect is unknown"
    return RefusedError(
        f"'{quoted(path)}' was changed {who}{and_more_files(len(shared) - 1)}",
        code="shared",
        hints=(
            *((every,) if not options.forwards and known.issuperset(turns) else ()),
            NextStep("{} takes these files as well", "force", "shared"),
        ),
        details={"shared": [{"path": p, "turns": [*ids]} for p, ids in shared.items()]},
    )


_Sides = tuple[File | None, File | None]


class _TurnMerge:
    """Folds one step after the other into the current state of the paths."""

    def __init__(
        self,
        repository: Repository,
        snapshot: Snapshot,
        works: Sequence[TurnWork],
        options: MergeOptions,
    ) -> None:
        begun = [work.turn.checkpoint for work in works]
        self.files = TurnFiles(repository, snapshot, begun)
        self.files.buffers = options.buffers
        self._repository = repository
        self._snapshot = snapshot
        self._works = works
        self._forwards = options.forwards
        self._markers = options.markers
        self._before: dict[str, File | None] = {}  # the current files of the paths in question
        self._after: dict[str, File | None] = {}
        self._kept: dict[str, str] = {}
        self._conflicts: list[TurnConflict] = []
        self._recorded: dict[str, set[str]] = {}  # the lines in conflict, as they were recorded
        self._mixed: dict[str, list[_Sides]] = {}  # of paths that turns changed alternately
        self._was_at: dict[str, str] = {}  # the current names of files that get another one
        self._stuck: set[str] = set()  # the paths that cannot be merged, even in part
        self._staged: dict[str, tuple[Entry, ...]] = {}
        # The only paths to name among those that are not recorded; None for all.
        self._named: Pathspecs | None = None
        if options.pathspecs:
            self._named = Pathspecs(repository.worktree, repository.prefix, options.pathspecs)
        staging = snapshot.staging
        self._absent = {entry.path for entry in staging.absent} if staging else set[str]()

    def keep_hostile(self, paths: Iterable[str]) -> None:
        """Leave paths alone that no file of the worktree may have."""
        for path in paths:
            if is_in_dot_git(path) or not {"", ".", ".."}.isdisjoint(path.split("/")):
                self._kept[path] = "git does not allow this name"

    def fold_mixed(self, works: Sequence[Mapping[str, tuple[PathStep, ...]]]) -> None:
        """Merge the paths that turns changed alternately, in the order of the changes."""
        by_path: dict[str, list[tuple[str, int, int, PathStep]]] = {}
        for number, steps in enumerate(works if len(works) > 1 else ()):
            for path, each in steps.items():
                last = ""
                for position, step in enumerate(each):
                    # A step that was not recorded with its time follows the one before it.
                    last = max(last, self.files.time_of(step.step.after))
                    by_path.setdefault(path, []).append((last, position, number, step))
        for path, timed in by_path.items():
            order = sorted(timed, reverse=not self._forwards)
            numbers = [number for _, _, number, _ in order]
            if numbers != sorted(numbers):
                self._mixed[path] = [self._sides(step) for _, _, _, step in order]

    def fold(self, work: TurnWork, steps: Mapping[str, tuple[PathStep, ...]]) -> None:
        """Merge the changes of one turn."""
        self._name_unrecorded(work, steps)
        self._look_at(path for path in steps if path not in self._kept)
        self._keep_ignored(steps)
        chosen = {path: each for path, each in steps.items() if path not in self._kept}
        if not self._forwards:
            self._fold_staging(work, chosen)
        pairs = {path: [*map(self._sides, each)] for path, each in chosen.items()}
        for path in self._mixed.keys() & pairs.keys():
            # All steps at once, when the first of the turns is merged.
            pairs[path] = self._mixed[path] if self._forwards else self._mixed[path][::-1]
            self._mixed[path] = []
        places = {path: path for path in pairs}
        self._fold_renames(chosen, pairs)
        places |= self._renamed_since(work, pairs)
        self.files.read_ahead(
            (places[path], side)
            for path, sides in pairs.items()
            if places[path] not in self._kept
            for base, other in sides
            if self._needs_contents(self._after[places[path]], base, other)
            for side in (base, other, self._after[places[path]])
        )
        for path, sides in pairs.items():
            for base, other in sides if self._forwards else reversed(sides):
                if places[path] not in self._stuck:
                    self._merge(places[path], base, other)

    def _fold_renames(
        self, steps: Mapping[str, tuple[PathStep, ...]], pairs: dict[str, list[_Sides]]
    ) -> None:
        """Merge files that the turn renamed, and others have changed since, at the other name.

        They are removed from `pairs`. Files that nobody has changed need no such care.
        """
        moved = [
            path
            for path, sides in pairs.items()
            if len(sides) == 1
            and sides[0][1] is None
            and self._after[path] not in (sides[0][0], None)
        ]
        for path in moved:
            (step,) = steps[path]
            new_of = self.files.renames(step.step.before, step.step.after)
            of = new_of if self._forwards else {new: old for old, new in new_of.items()}
            other = of.get(path, "")
            if other not in pairs or len(pairs[other]) != 1 or self._after[other] is not None:
                continue
            (base, _), (gone, there) = pairs[path][0], pairs[other][0]
            if gone is None and base is not None and there is not None:
                del pairs[path], pairs[other]
                self._merge(path, base, there)
                merged = self._after[path]
                if path not in self._stuck and merged is not None:
                    self._after[other] = self.files.renamed(path, other, merged)
                    self._after[path] = None
                    self._was_at[other] = path

    def _renamed_since(self, work: TurnWork, pairs: Mapping[str, list[_Sides]]) -> dict[str, str]:
        """The current names of files that the turn changed, and others have renamed since."""
        gone = {
            path: sides
            for path, sides in pairs.items()
            if self._before[path] is None
            and self._after[path] is None
            and any(base is not None for base, _ in sides)
        }
        if not gone:
            return {}
        state = work.steps[0].before if self._forwards else work.steps[-1].after
        names = self.files.renames(state, self._snapshot.tree)
        found = {path: names[path] for path in gone if names.get(path, path) not in pairs}
        self._look_at(found.values())
        for path, name in found.items():
            if gone[path][-1 if self._forwards else 0][1] is None:
                self._refuse(path, f"it was renamed to '{name}' since")
        return {path: name for path, name in found.items() if path not in self._stuck}

    def _name_unrecorded(self, work: TurnWork, steps: Mapping[str, tuple[PathStep, ...]]) -> None:
        """Note what cannot be merged because a state does not hold it."""
        unread = {path for path, _ in self._snapshot.skipped}
        for step in work.steps:
            metas = [self.files.meta(state) for state in (step.before, step.after)]
            skipped = [meta.skipped_paths if meta else unread for meta in metas]
            unread = unread.union(*skipped)
            for path in skipped[0] ^ skipped[1]:
                if not step.paths and (self._named is None or self._named.name(path, or_top=True)):
                    self._kept.setdefault(path, "not captured")
        for path, each in steps.items():
            if any(GITLINK in (step.change.old_mode, step.change.mode) for step in each):
                self._kept.setdefault(path, "submodule or nested repository")
            elif any(covers(other, path) for other in unread):
                self._kept.setdefault(path, "not captured")

    def _keep_ignored(self, steps: Mapping[str, tuple[PathStep, ...]]) -> None:
        """Leave paths alone that a state lacks, or may lack, only because they are ignored."""
        absent: dict[tuple[str, str, str], list[str]] = {}
        changes = [each for path, own in steps.items() if path not in self._kept for each in own]
        for change, (before, after, _) in changes:
            if change.action == "delete":
                absent.setdefault((after, before, "ignored since the turn"), []).append(change.path)
            elif change.action == "create":
                absent.setdefault((before, after, "ignored before the turn"), []).append(
                    change.path
                )
        for (without, other, reason), paths in absent.items():
            self._kept |= dict.fromkeys(self.files.ignored_in(without, other, paths), reason)
        gone = {each.change.path for each in changes if self._sides(each)[0]}
        for path in self.files.ignored_now(path for path in gone if not self._before[path]):
            self._kept.setdefault(path, "ignored now")

    def _look_at(self, paths: Iterable[str]) -> None:
        """Find out what is at some paths now."""
        new = [path for path in paths if path not in self._before]
        found = self.files.current(new)
        self._before |= found
        self._after |= found
        for path, file in found.items():
            if file is not None and file.mode == GITLINK:
                self._kept[path] = "submodule or nested repository"
            elif path in self._absent:
                self._kept[path] = "outside the sparse checkout"

    def _sides(self, step: PathStep) -> _Sides:
        """The base of a merge, and the other side."""
        change = step.change
        old = None if change.old_mode == NO_FILE else File(change.old_mode, change.old_id)
        new = None if change.mode == NO_FILE else File(change.mode, change.id)
        return (old, new) if self._forwards else (new, old)

    @staticmethod
    def _needs_contents(now: File | None, base: File | None, other: File | None) -> bool:
        if now is None or base is None or now in (base, other):
            return False
        return all(side.mode in REGULAR for side in (now, base, other) if side)

    def _merge(self, path: str, base: File | None, other: File | None) -> None:
        """Merge one step of a path into what it is by now."""
        now = self._after[path]
        if path in self._kept or now == other:
            return
        if self._is_unchanged(path, now, base, is_whole=other is None):
            self._after[path] = other
        elif now and base and other and {now.mode, base.mode, other.mode}.issubset(REGULAR):
            self._merge_regular(path, now, base, other)
        elif why := self._problem(now, base, other):
            self._refuse(path, why, base if other is None else None)

    def _is_unchanged(
        self, path: str, now: File | None, base: File | None, *, is_whole: bool
    ) -> bool:
        """Whether a file is as the step left it; an edit record has its bytes as on disk."""
        if now == base or (is_whole and base == self.files.stored.get(path)):
            return True
        if now is None or base is None or now.mode != base.mode or now.mode not in REGULAR:
            return False
        return self.files.read(path, now) == self.files.read(path, base)

    def _problem(self, now: File | None, base: File | None, other: File | None) -> str:
        """Why a file cannot be replaced as a whole; empty if there is nothing to do."""
        if now is None:
            # Perhaps it is what the step would delete.
            return "the file was deleted since" if other else ""
        if base is None:
            # Perhaps the file is back, with another mode.
            return "another file is there now" if other and now.id != other.id else ""
        if other is None:
            return _CHANGED if self._forwards else _CREATED
        if now.mode == base.mode == SYMLINK:
            return "the symbolic link was changed since"
        return "it is another kind of file now"

    def _merge_regular(self, path: str, now: File, base: File, other: File) -> None:
        mode = other.mode if now.mode == base.mode else now.mode
        if other.id in (now.id, base.id):
            self._after[path] = now._replace(mode=mode)
        elif now.id == base.id:
            self._after[path] = other._replace(mode=mode)
        else:
            self._merge_text(path, now, (base, other), mode)

    def _merge_text(self, path: str, now: File, sides: tuple[File, File], mode: str) -> None:
        # Imported late: most files are replaced as a whole.
        from git_boocode.editing.revert import revert_text

        base, other = (decode(self.files.read(path, side)) for side in sides)
        text = decode(self.files.read(path, now))
        if any(map(is_binary, (base, other, text))):
            self._refuse(path, "it is binary, and was changed since")
            return
        try:
            merged = revert_text(other, base, text, self._marked if self._markers else None)
        except MissError as miss:
            self._refuse(path, miss.message)
            return
        if path in self.files.buffers and merged.text.has_bytes and not text.has_bytes:
            self._refuse(path, "it is not UTF-8, so that its buffer cannot take it as text")
            return
        if merged.left:
            lines = self._lines_on_disk(path, text.text, [part.lines_now for part in merged.left])
            recorded = (line for part in merged.left for line in part.recorded)
            self._recorded.setdefault(path, set()).update(map(str.strip, recorded))
            message = _OTHER_LINES if self._forwards else _EDITED
            self._conflicts.append(TurnConflict(path, lines, (), message))
        self._after[path] = self.files.new(path, mode, merged.text.encode())

    def _marked(self, now: Sequence[str], other: Sequence[str], ending: str) -> list[str]:
        names = ("now", "picked" if self._forwards else "reverted")
        return conflict_block(now, other, ending, names)

    def _lines_on_disk(
        self, path: str, text: str, found: Sequence[tuple[int, int]]
    ) -> tuple[tuple[int, int], ...]:
        """Lines of a text that other steps have changed already, in the file as it is now."""
        file, lines = self._before[path], LineMap()
        first = decode(self.files.read(path, file)).text if file else ""
        if first != text:
            lines.follow(first, text)
        return tuple(lines.original_range(*pair) for pair in found)

    def _refuse(self, path: str, message: str, base: File | None = None) -> None:
        """Note that a path cannot be merged; `base` is what others have changed, if it is text."""
        self._stuck.add(path)
        lines: tuple[tuple[int, int], ...] = ()
        now = self._after[path]
        if base is not None and now is not None and {base.mode, now.mode}.issubset(REGULAR):
            old, new = (decode(self.files.read(path, side)) for side in (base, now))
            if not (is_binary(old) or is_binary(new)):
                hunks = text_hunks(old.text, new.text)
                found = [(hunk.new_start_line, hunk.new_end_line) for hunk in hunks]
                lines = self._lines_on_disk(path, new.text, found)
        self._conflicts.append(TurnConflict(path, lines, (), message, is_whole=True))

    # Staging.

    def _fold_staging(self, work: TurnWork, paths: Iterable[str]) -> None:
        """Take entries back that are still as the turn left them."""
        now = self._snapshot.staging
        if now is None:
            return
        chosen = frozenset(paths).difference(entry.path for entry in now.special)
        for step in reversed(work.steps):
            before, after = self.files.staging(step.before), self.files.staging(step.after)
            if before is None or after is None:
                continue
            # Stages of a conflict come back, but never go: git commits nothing while they exist.
            conflicts = _stages(before)
            special = {entry.path for entry in before.special} - conflicts.keys()
            special |= {entry.path for entry in after.special}
            git = self._repository.git
            changed = tree_changes(git, before.tree, after.tree)
            since = {change.path for change in tree_changes(git, after.tree, now.tree)}
            of = {change.path: change for change in changed}
            for path in of.keys() | conflicts.keys():
                left = path not in since
                if path in self._staged:
                    ids = [entry.id for entry in self._staged[path]]
                    left = ids == ([of[path].id] if path in of and of[path].id.strip("0") else [])
                if left and path in chosen and path not in special:
                    self._staged[path] = conflicts.get(path) or _entries(of[path])
            intended = (now.intended & after.intended).difference(e.path for e in before.special)
            for path in intended.intersection(paths):
                self._staged[path] = _entries(of[path]) if path in of else ()

    # The result.

    def finish(self) -> Merged:
        """What all paths are to be."""
        self._refuse_collisions()
        conflicts = _by_path(self._conflicts)
        stuck = {conflict.path for conflict in conflicts if conflict.is_whole}
        texts = dict[str, tuple[bytes | None, bytes | None]]()
        files = []
        for path, file in self._after.items():
            before = self._before[path]
            if file == before or path in self._kept or path in stuck:
                continue
            if self.files.is_new(file) or path in self.files.buffers:
                now, new = (
                    self.files.read(path, side) if side else None for side in (before, file)
                )
                if now == new and path in self.files.buffers:
                    continue
                texts[path] = now, new
            if path not in self.files.buffers:
                files.append(self.files.wanted(path, file))
        marked = {conflict.path for conflict in conflicts}
        staged = {
            p: entry for p, entry in self._staged.items() if p not in marked | self._kept.keys()
        }
        kept = [Skipped(path, reason) for path, reason in sorted(self._kept.items())]
        if conflicts:
            conflicts = attributed(self._repository, self._works, conflicts, self._recorded)
        return Merged(WantedPaths(files, staged, kept, bool(conflicts)), tuple(conflicts), texts)

    def _refuse_collisions(self) -> None:
        """Refuse paths that would be below a file, or at a directory, of others."""
        made = [
            path
            for path, file in self._after.items()
            if file is not None and self._before[path] is None and path not in self._kept
        ]
        if not made:
            return
        gone = {path for path, file in self._after.items() if file is None}
        for path, other in self.files.in_the_way(made):
            if other not in gone:
                self._after[path] = None
                if path in self._was_at:
                    # It stays under its other name.
                    self._after[self._was_at[path]] = self._before[self._was_at[path]]
                self._refuse(path, f"'{other}' is in the way")


def _entries(change: Change) -> tuple[Entry, ...]:
    """The entry of the staging area before a change, if there was one."""
    if change.old_mode == NO_FILE:
        return ()
    return (Entry("H", change.old_mode, change.old_id, 0, change.path),)


def _stages(staging: Staging) -> dict[str, tuple[Entry, ...]]:
    """The entries of conflicts by path."""
    found: dict[str, tuple[Entry, ...]] = {}
    for entry in staging.special:
        if entry.stage:
            found[entry.path] = (*found.get(entry.path, ()), entry)
    return found


def _by_path(conflicts: Iterable[TurnConflict]) -> list[TurnConflict]:
    """Conflicts with those of the same path as one."""
    found: dict[str, TurnConflict] = {}
    for conflict in conflicts:
        first = found.get(conflict.path, conflict)
        lines = tuple(sorted({*first.lines, *conflict.lines}))
        is_whole = first.is_whole or conflict.is_whole
        found[conflict.path] = first._replace(lines=lines, is_whole=is_whole)
    return [found[path] for path in sorted(found)]
