"""The lines of files in the recorded states of one worktree, with the turns that wrote them.

The states are one line of history, in which a line belongs to the interval in which it first
appears; `timeline` says which turn wrote in it. What a restore, a commit made elsewhere or a stash
brought has the writer that it had there, if that is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_boocode.checkpoints.blob_lines import BlobLines, shared_lines
from git_boocode.checkpoints.head_moves import HeadHistory
from git_boocode.checkpoints.held_lines import HeldLines
from git_boocode.checkpoints.tree_lines import (
    TreeFileChange,
    TreePair,
    diff_trees,
    kept_lines,
)
from git_boocode.checkpoints.turn_work import RecordedHistory
from git_boocode.repo.object_writer import NO_FILE, REGULAR
from git_boocode.repo.repository import Repository

NO_TURN = ""
UNCLEAR = "?"
"""Instead of a turn: of several that may have written a line."""
_MOST_SOURCES = 8  # other trees from which a state may have lines
_LAST_INTERVALS = 2  # a turn may still run in them, which a checkpoint of git's hook divides
Writers = list[str]
"""By line of a file, the id of the turn that wrote it, NO_TURN or UNCLEAR."""


class FileVersion(NamedTuple):
    """A file from a state on, by the state's number."""

    number: int
    blob: str
    writers: Writers


class StateLines:
    """The recorded states of one worktree, with the writers of the lines of some files."""

    def __init__(
        self,
        repository: Repository,
        history: RecordedHistory,
        heads: HeadHistory,
        held: HeldLines,
        blobs: BlobLines,
        turns: Collection[str],
    ) -> None:
        self.history = history
        self.heads = heads
        self._held = held
        self._blobs = blobs
        self._known_turns = turns
        self._paths = frozenset(held.paths)
        self.trees = [entry.tree for entry in heads.states]
        self.versions: dict[str, list[FileVersion]] = {}
        # By path, lines that are gone, with the last version, and the turn that removed them.
        self._removed: dict[str, dict[bytes, tuple[FileVersion, str]]] = {}
        self._writers: dict[tuple[int, str], str] = {}
        pairs = [*zip([repository.empty_tree, *self.trees], self.trees, strict=False)]
        steps = diff_trees(repository.git, pairs, held.paths)
        sources = self._other_sources(pairs, steps)
        more = [(tree, self.trees[n]) for n, each in sources.items() for tree, _ in each]
        steps = {**diff_trees(repository.git, more, held.paths), **steps}
        changes = (change for found in steps.values() for change in found.values())
        blobs.read(change.id for change in changes if change.path in self._paths)
        for number, pair in enumerate(pairs):
            self._step(number, steps.get(pair, {}), sources.get(number, []), steps)

    def _other_sources(
        self, pairs: Sequence[TreePair], steps: Mapping[TreePair, Mapping[str, TreeFileChange]]
    ) -> dict[int, list[tuple[str, int | None]]]:
        """From where else a state may have lines, if any appear in it: trees, and their states.

        That is what a restore took, and commits that were not made in the worktree just then.
        """
        numbers = {entry.commit.id: number for number, entry in enumerate(self.heads.states)}
        found = {}
        for number in range(1, len(pairs)):
            if not steps.get(pairs[number]):
                continue
            known = self.history.restored_from(number - 1)
            restored = [numbers[each] for each in known if each in numbers]
            sources: list[tuple[str, int | None]] = [(self.trees[n], n) for n in restored]
            sources += self.heads.foreign(number)
            if sources:
                # The last one is the newest that is known from nowhere else.
                found[number] = [*sources[: _MOST_SOURCES - 1], *sources[_MOST_SOURCES - 1 :][-1:]]
        return found

    def _step(
        self,
        number: int,
        changes: Mapping[str, TreeFileChange],
        sources: Sequence[tuple[str, int | None]],
        steps: Mapping[TreePair, Mapping[str, TreeFileChange]],
    ) -> None:
        """Add the versions of the files that differ in a state from the one before."""
        found = []
        for path, change in changes.items():
            if path not in self._paths or change.mode not in {*REGULAR, NO_FILE}:
                continue
            old = self.at(change.source, number - 1)
            known = old.writers if old and old.blob == change.old_id else []
            count = _count(change, len(known))
            writers: list[str | None] = [None] * count
            for new, before in kept_lines(change.hunks or (), count):
                writers[new] = known[before] if before < len(known) else NO_TURN
            for tree, other in sources if None in writers else ():
                self._fill(writers, path, steps.get((tree, self.trees[number]), {}), other)
            left = [n for n, writer in enumerate(writers) if writer is None]
            given = self.writers_after(number - 1, change, left, changes) if number else {}
            version = [
                given.get(n, NO_TURN) if writer is None else writer
                for n, writer in enumerate(writers)
            ]
            found.append((path, FileVersion(number, change.id, version)))
        for path, added in found:
            self._note_removed(added, path)
            self.versions.setdefault(path, []).append(added)

    def _fill(
        self,
        writers: list[str | None],
        path: str,
        changes: Mapping[str, TreeFileChange],
        other: int | None,
    ) -> None:
        """Give lines that came from elsewhere the writers that they have there, if known."""
        change = changes.get(path)
        source = change.source if change else path
        version = self.at(source, other) if other is not None else None
        known = version.writers if version else []
        for new, before in kept_lines(change.hunks or () if change else (), len(writers)):
            if writers[new] is None:
                writers[new] = known[before] if before < len(known) else NO_TURN

    def writers_after(
        self,
        number: int,
        change: TreeFileChange,
        lines: Sequence[int],
        changes: Mapping[str, TreeFileChange],
    ) -> dict[int, str]:
        """The writers of lines, by their numbers, that appear in a file after a state.

        `changes` are all that happen then, among them that of the file.
        """
        path, blob, found = change.path, change.id, dict[int, str]()
        if not change.old_id.strip("0"):
            removed = [each for each in changes.values() if not each.mode.strip("0")]
            found = self._moved(number, removed, blob, lines)
        writer = self._writer(number, path)
        left = [line for line in lines if line not in found]
        if not left or not blob.strip("0"):
            return found
        if not writer:
            if number + _LAST_INTERVALS >= len(self.trees):
                # It may be the turn's once its end is recorded, and the evidence gone by then.
                found |= {line: NO_TURN for line, _ in self._brought_in(number, change, left)}
            return found
        found |= self._returned(path, blob, left, writer)
        left = [line for line in left if line not in found]
        for line, is_sure in self._brought_in(number, change, left):
            found[line] = NO_TURN if is_sure else UNCLEAR
        return {**dict.fromkeys(lines, writer), **found}

    def _brought_in(
        self, number: int, change: TreeFileChange, lines: Sequence[int]
    ) -> Iterator[tuple[int, bool]]:
        return self._held.brought_in(self.heads, number, change.path, change.id, lines)

    def _moved(
        self, number: int, removed: Iterable[TreeFileChange], blob: str, lines: Sequence[int]
    ) -> dict[int, str]:
        """The writers of lines of a new file that removed ones had in a state.

        If most of a file differs when it is renamed, git sees no rename.
        """
        found: dict[int, str] = {}
        for change in removed:
            texts = self._blobs.of(change.old_id)
            left = [line for line in lines if line not in found]
            old = self.at(change.path, number)
            writers = old.writers if old and old.blob == change.old_id else []
            for line, at in shared_lines(self._blobs.of(blob), texts, left, {*texts}).items():
                found[line] = writers[at] if at < len(writers) else NO_TURN
        return found

    def _returned(self, path: str, blob: str, lines: Sequence[int], writer: str) -> dict[int, str]:
        """The former writers of lines that no turn, or the same one, had removed: as of a stash."""
        removed = self._removed.get(path, {})
        texts, found = self._blobs.of(blob), dict[int, str]()
        versions: dict[int, FileVersion] = {}
        anchors: dict[int, set[bytes]] = {}
        for text in {texts[line] for line in lines} & removed.keys():
            version, turn = removed[text]
            if turn in (NO_TURN, writer):
                versions[version.number] = version
                anchors.setdefault(version.number, set()).add(text)
        for number, older in sorted(versions.items(), reverse=True):
            left = [line for line in lines if line not in found]
            before = self._blobs.of(older.blob)
            shared = shared_lines(texts, before, left, anchors[number])
            found |= {
                new: older.writers[old]
                for new, old in shared.items()
                # A line whose neighbours differ may be equal by chance.
                if texts[max(new - 1, 0) : new] == before[max(old - 1, 0) : old]
                or texts[new + 1 : new + 2] == before[old + 1 : old + 2]
            }
        return found

    def _note_removed(self, version: FileVersion, path: str) -> None:
        """Note which lines of a file a new version lacks."""
        older, removed = self.at(path, version.number), self._removed.setdefault(path, {})
        texts = self._blobs.read([version.blob, *([older.blob] if older else [])])
        for text in texts[version.blob] if removed else ():
            removed.pop(text, None)
        if older is None or len(texts[older.blob]) != len(older.writers):
            return
        gone = set(texts[older.blob]).difference(texts[version.blob])
        removed.update(dict.fromkeys(gone, (older, self._writer(version.number - 1, path))))

    def at(self, path: str, number: int) -> FileVersion | None:
        """The version of a file in a state."""
        earlier = (each for each in reversed(self.versions.get(path, ())) if each.number <= number)
        return next(earlier, None)

    def candidates(self, path: str, wanted: Collection[bytes]) -> Iterator[WrittenVersion]:
        """The versions of a file that have wanted lines of turns.

        What a turn removed before it was committed or staged cannot be what a commit has.
        """
        lost: set[bytes] = set()
        following: FileVersion | None = None
        for version in reversed(self.versions.get(path, ())):
            texts = self._blobs.of(version.blob)
            lost.intersection_update(texts)
            if following:
                gone = {text for text in texts if text in wanted}
                gone -= {*self._blobs.of(following.blob)}
                lost |= self._lost(path, following.number - 1, gone)
            following = version
            written = frozenset(
                text
                for text, writer in zip(texts, version.writers, strict=False)
                if writer and text in wanted and text not in lost
            )
            if written and len(texts) == len(version.writers):
                yield WrittenVersion(self, path, version, texts, written)

    def _lost(self, path: str, interval: int, gone: set[bytes]) -> set[bytes]:
        """The lines that a turn removed in an interval, and that git had nowhere then."""
        if not gone or not self._writer(interval, path):
            return set()
        blobs = self.heads.held_blobs(interval, path)
        return gone - {text for lines in self._blobs.read(blobs).values() for text in lines}

    def _writer(self, interval: int, path: str) -> str:
        """The turn that wrote to a file in the interval after a state, or NO_TURN."""
        if (interval, path) not in self._writers:
            turn = self.history.timeline.writer(interval, path)
            self._writers[interval, path] = turn if turn in self._known_turns else NO_TURN
        return self._writers[interval, path]


class WrittenVersion(NamedTuple):
    """A version of a file that may have led to a commit's."""

    states: StateLines
    path: str
    version: FileVersion
    texts: list[bytes]
    written: frozenset[bytes]  # the lines of turns that a commit may still have


def _count(change: TreeFileChange, old: int) -> int:
    """The number of lines of a file after a change."""
    if change.mode not in REGULAR or change.hunks is None:
        return 0
    return old + sum(hunk.new_count - hunk.old_count for hunk in change.hunks)
