"""A repository in which turns, people and formatters write, with the truth about every line."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from git_boocode.checkpoints.attribution import Attributor
from tests.benchmarks.attribution.place import Place
from tests.benchmarks.attribution.recorder import DirectRecorder, Recorder
from tests.benchmarks.attribution.truth import BRACE, CommittedLine, Judgement, Truth

FILES = ("a.txt", "src/b.txt", "src/c.txt")
HERE = "here"
# Lines that several write, as they have the same job.
_COMMON = (b"import json", b"import os", b"import sys", b"from pathlib import Path", b"return None")
_LONGEST_PAUSE = 900  # seconds
_OLD_DATE = "2026-01-02T03:04:05Z"
Turns = Mapping[str, Mapping[int, str]]
"""The turns of the lines of a commit, by path and number."""


class History:
    """A repository with a main worktree, and others beside it, that operations change.

    What a formatter or a person makes of a line is theirs. With an odd seed, there are pauses; with
    others, all happens in a few seconds, and with every second of these, commits have an old date.
    """

    has_clock = True

    def __init__(self, top: Path, seed: int, recorder: Recorder | None = None) -> None:
        self.top = top
        self.random = random.Random(seed)
        self.truth = Truth()
        self.recorder = recorder or DirectRecorder()
        self.here = Place(top / HERE, HERE)
        self.number = 0
        # Whether a turn is open whose end nobody will record.
        self.is_open = False
        # The worktrees and clones of which a commit here may have lines.
        self.sources = {HERE}
        self._sessions: dict[str, str] = {}
        self._in_call = False
        self._has_pauses = self.has_clock and bool(seed % 2)
        self._has_old_date = seed % 4 == 2
        self._pause = 0

    def build(self, operations: Sequence[Callable[[History], None]], count: int) -> None:
        """Begin the history, and let some operations go on with it."""
        with self._clock():
            self.here.git("init", "-q", "-b", "main")
            for path in FILES:
                made = [self.line(self.here, path, "", "base") for _ in range(12)]
                self.here.write(path, made)
            self.commit("base")
            self.prepare()
            for _ in range(count):
                self.random.choice(operations)(self)
                self.pass_time()
            self.by_hand("the last commit")
            self.commit("the last commit")

    def prepare(self) -> None:
        """What is to be done before the first operation."""

    @contextmanager
    def _clock(self) -> Iterator[None]:
        """Let time pass for git and for the ids of checkpoints."""
        seconds, nanoseconds = time.time, time.time_ns
        with (
            patch("time.time", lambda: seconds() + self._pause),
            patch("time.time_ns", lambda: nanoseconds() + self._pause * 10**9),
            patch.dict(os.environ),
        ):
            if self._has_old_date:
                self._set_date(_OLD_DATE)
            yield

    def pass_time(self) -> None:
        """Wait a moment, if there are any pauses."""
        if self._has_pauses:
            self._pause += self.random.randint(3, _LONGEST_PAUSE)
            self._set_date(f"{int(time.time())} +0000")

    @staticmethod
    def _set_date(date: str) -> None:
        os.environ |= {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}

    def chance(self, probability: float) -> bool:
        """Whether something is to happen that happens with some probability."""
        return self.random.random() < probability

    # Turns and people.

    def begin(self, place: Place | None = None, session: str = "") -> str:
        """Begin a turn and return its id."""
        session = session or self.random.choice(("s1", "s2"))
        if place in (None, self.here):
            self.is_open = False
        turn = self.recorder.begin(place or self.here, session)
        self._sessions[turn] = session
        self.pass_time()
        return turn

    def end(self, turn: str, place: Place | None = None) -> None:
        """Record the end of a turn."""
        self.pass_time()
        self.recorder.end(place or self.here, turn, self._sessions[turn])
        self.pass_time()

    def leave(self, turn: str) -> None:
        """End a turn without recording that, unless this is always recorded."""
        if self.recorder.records_ends:
            self.end(turn)
        else:
            self.is_open = True

    def call(self, turn: str, work: Callable[[], None], place: Place | None = None) -> None:
        """Let a turn work in a tool call."""
        self._in_call = True
        self.recorder.call(place or self.here, turn, self._sessions[turn], work)
        self._in_call = False

    def settle(self) -> None:
        """Record what a turn has left whose end is not recorded, before others write."""
        if self.is_open:
            self.recorder.state(self.here, "manual")
            self.is_open = False
            self.pass_time()

    def by_hand(self, operation: str = "") -> None:
        """Let a person write."""
        self.settle()
        self.edit(self.here, "", operation)

    def edit(self, place: Place, turn: str, operation: str = "", paths: Sequence[str] = ()) -> None:
        """Change lines of some files, for a turn or by hand."""
        if turn and self.recorder.with_tools and not self._in_call:
            self.call(turn, lambda: self.edit(place, turn, operation, paths), place)
            return
        known = paths or place.paths()
        for path in self.random.sample(known, min(self.random.randint(1, 2), len(known))):
            lines = place.read(path)
            for _ in range(self.random.randint(1, 3)):
                at = self.random.randint(0, len(lines))
                count = self.random.choice((0, 0, 1, 2))
                made = [
                    self.line(place, path, turn, operation)
                    for _ in range(self.random.randint(1, 4))
                ]
                if self.chance(0.15) and (common := set(_COMMON).difference(lines, made)):
                    text = self.random.choice(sorted(common))
                    self.truth.wrote(text, place.name, path, turn)
                    made.insert(self.random.randint(0, len(made)), text)
                lines[at : at + count] = [*made, *([BRACE] if self.chance(0.4) else [])]
            place.write(path, lines)

    def new_file(self, place: Place, turn: str, operation: str = "") -> str:
        """Write a file with a name that none has had."""
        self.number += 1
        path = f"new/{self.number}.txt"
        count = self.random.randint(1, 8)
        place.write(path, [self.line(place, path, turn, operation) for _ in range(count)])
        return path

    def reformat(self, place: Place, turn: str, operation: str = "") -> None:
        """Change whitespace of lines of any writer."""
        for path in place.paths():
            lines = place.read(path)
            for at, line in enumerate(lines):
                if self.chance(0.15) and line != BRACE:
                    lines[at] = b"    " + line
                    self.truth.wrote(lines[at], place.name, path, turn, operation)
            place.write(path, lines)

    def line(self, place: Place, path: str, turn: str, operation: str = "") -> bytes:
        """A line that none has written."""
        self.number += 1
        line = b"%s line %d" % (b"turn" if turn else b"hand", self.number)
        self.truth.wrote(line, place.name, path, turn, operation)
        return line

    # Commits.

    def commit(self, operation: str, *, states: bool = False) -> None:
        """Commit everything here; `states` is whether a hook records the state before."""
        if states and self.chance(0.5):
            self.recorder.state(self.here, "pre-commit")
            self.is_open = False
        self.here.git("add", "-A")
        if not self.here.is_clean():
            self.here.git("commit", "-qm", f"{operation} {self.number}")
        self.made(operation)

    def made(self, operation: str, place: Place | None = None) -> None:
        """Note what made the commit at HEAD of a worktree."""
        place = place or self.here
        sources = self.sources if place is self.here else {place.name}
        self.truth.committed(place.head(), operation, sources)

    # The judgement.

    def commits(self) -> list[str]:
        """The commits of all branches."""
        return self.here.git("rev-list", "--branches").split()

    def judged(self, attributed: Mapping[str, Turns] | None = None) -> list[Judgement]:
        """What became of the lines that commits add; by default, in an attribution now."""
        attributor = Attributor(self.here.repository)
        blobs: dict[str, list[bytes]] = {}
        found: list[Judgement | None] = []
        for commit in self.commits():
            known = _turns(attributor, commit) if attributed is None else attributed[commit]
            parents = self.here.git("rev-list", "--parents", "-1", commit).split()[1:]
            trees = [self._files(each, blobs) for each in (commit, *parents)]
            old = {line for tree in trees[1:] for lines in tree.values() for line in lines}
            found += (
                self.truth.judge(
                    CommittedLine(commit, path, n, line, turns.get(n, ""), is_old=line in old)
                )
                for path, lines in trees[0].items()
                for turns in (known.get(path, {}),)
                for n, line in enumerate(lines, 1)
            )
        return [each for each in found if each]

    def _files(self, commit: str, blobs: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
        """The lines of the files of a commit; what was read before is in `blobs`."""
        listed = self.here.git("ls-tree", "-r", commit).splitlines()
        entries = {row.partition("\t")[2]: row.split()[2] for row in listed}
        wanted = [*dict.fromkeys(blob for blob in entries.values() if blob not in blobs)]
        contents = self.here.repository.store.blobs(wanted) if wanted else []
        for blob, content in zip(wanted, contents, strict=True):
            blobs[blob] = (content or b"").split(b"\n")[:-1]
        return {path: blobs[blob] for path, blob in entries.items()}


def _turns(attributor: Attributor, commit: str) -> Turns:
    files = attributor.attribute(commit).files
    return {
        path: {n: each.turn.id for each in ranges for n in range(each.first, each.last + 1)}
        for path, ranges in files.items()
    }
