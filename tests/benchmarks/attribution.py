"""Lines of commits beside a truth known by construction, over random histories of turns."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from git_boocode.checkpoints.attribution import Attributor
from git_boocode.checkpoints.capture import Request, capture, capture_turn_end
from git_boocode.repo.repository import Repository
from tests.benchmarks.checkpoints.worktree import sealed

_FILES = ("a.txt", "src/b.txt", "src/c.txt")
RIGHT, MISSED, WRONG = "right", "missed", "of a wrong turn"


def run(arguments: Sequence[str]) -> None:
    """Print how many lines are attributed right; the argument is another number of histories."""
    count = int(arguments[0]) if arguments else 200
    every: Counter[str] = Counter()
    with sealed():
        for seed in range(count):
            with tempfile.TemporaryDirectory() as top:
                found = History(Path(top).resolve(), seed).judged()
            every += found
            if found[WRONG] or found[MISSED]:
                print(f"history {seed}: {dict(found)}", flush=True)
    total = sum(every.values())
    print(f"{count} histories, {total:,} lines that commits add")
    for name in (RIGHT, MISSED, WRONG):
        print(f"{name:<16} {every[name]:>7,}  {every[name] / max(total, 1):.2%}")


class History:
    """A repository in which turns, a person and formatters write, and commits are rewritten.

    All lines differ but some braces, so that the text of a line says who wrote it. What a formatter
    or a person makes of a line is theirs.
    """

    def __init__(self, top: Path, seed: int) -> None:
        self.top = top
        self._random = random.Random(seed)
        self._number = 0
        self.turns: dict[bytes, str] = {}
        self._old = os.getcwd()
        os.chdir(top)
        try:
            self._build()
        except BaseException:
            os.chdir(self._old)
            raise

    def judged(self) -> Counter[str]:
        """How many lines that its commits add have the right turn, none, or a wrong one."""
        try:
            attributor = Attributor(Repository.discover(str(self.top)))
            commits = self._git("log", "--all", "--exclude=refs/boocode/*", "--format=%H").split()
            listed = [*dict.fromkeys([*self._git("log", "--format=%H", "--branches").split()])]
            found: Counter[str] = Counter()
            for commit in listed or commits:
                found += self._judge(attributor, commit)
        finally:
            os.chdir(self._old)
        return found

    def _judge(self, attributor: Attributor, commit: str) -> Counter[str]:
        answer = attributor.attribute(commit).files
        found: Counter[str] = Counter()
        parents = self._git("rev-list", "--parents", "-1", commit).split()[1:]
        for path in self._git("ls-tree", "-r", "--name-only", commit).split():
            lines = self._file(commit, path)
            old = {line for parent in parents for line in self._file(parent, path)}
            turns = {n: r.turn.id for r in answer.get(path, ()) for n in range(r.first, r.last + 1)}
            for number, line in enumerate(lines, 1):
                if line == b"}" or line in old:
                    continue
                found[self._verdict(turns.get(number, ""), self.turns.get(line, ""))] += 1
        return found

    @staticmethod
    def _verdict(given: str, truth: str) -> str:
        return RIGHT if given == truth else WRONG if given else MISSED

    # The history.

    def _build(self) -> None:
        self._git("init", "-q", "-b", "main")
        for path in _FILES:
            self._write(path, [self._line("base") for _ in range(12)])
        self._commit()
        operations = (
            *(self._turn,) * 5,
            *(self._by_hand, self._commit_turns, self._commit_part, self._amend) * 2,
            *(self._squash, self._rebase, self._cherry_pick, self._merge_squash, self._format),
        )
        for _ in range(self._random.randint(6, 14)):
            self._random.choice(operations)()
        self._commit()

    def _turn(self) -> None:
        repository = Repository.discover()
        session = self._random.choice(("s1", "s2"))
        begun = capture(repository, Request(label="turn", agent="claude-code", session=session))
        identifier = begun.checkpoint.id
        self._edit("turn", identifier)
        if self._random.random() < 0.2:
            self._commit()
            self._edit("turn", identifier)
        capture_turn_end(repository, identifier, "Stop")

    def _by_hand(self) -> None:
        self._edit("hand")

    def _commit_turns(self) -> None:
        """As with hooks: what is about to be committed is recorded first."""
        if self._random.random() < 0.5:
            capture(Repository.discover(), Request(trigger="pre-commit", only_if_changed=True))
        self._commit()

    def _commit_part(self) -> None:
        changed = self._git("diff", "--name-only").split()
        if changed:
            self._git("add", self._random.choice(changed))
            self._git("commit", "-qm", "part")

    def _format(self) -> None:
        """A formatter changes whitespace of lines of any writer, and everything is committed."""
        for path in _FILES:
            lines = self._read(path)
            changed = [
                b"    " + each if self._random.random() < 0.2 and each != b"}" else each
                for each in lines
            ]
            self._write(path, changed)
        self._commit()

    def _amend(self) -> None:
        self._edit("hand")
        self._git("commit", "-qa", "--amend", "-m", "amended")

    def _squash(self) -> None:
        self._commit()
        if int(self._git("rev-list", "--count", "HEAD")) > 3:
            self._git("reset", "-q", "--soft", "HEAD~2")
            self._git("commit", "-qm", "squashed", "--allow-empty")

    def _upstream(self) -> str:
        """A commit of somebody else on the commit before the last one."""
        base = "HEAD~1" if int(self._git("rev-list", "--count", "HEAD")) > 1 else "HEAD"
        self._git("checkout", "-q", "--detach", base)
        path = self._random.choice(_FILES)
        lines = self._read(path)
        self._write(path, [self._line("upstream"), *lines, self._line("upstream")])
        self._commit()
        return self._git("rev-parse", "HEAD").strip()

    def _rebase(self) -> None:
        self._commit()
        upstream = self._upstream()
        self._git("checkout", "-q", "main")
        self._try("rebase", "-q", upstream)

    def _cherry_pick(self) -> None:
        self._commit()
        upstream = self._upstream()
        self._try("cherry-pick", "main")
        if self._random.random() < 0.5:
            self._git("branch", f"picked-{self._number}")
        self._git("checkout", "-q", "main")
        assert upstream

    def _merge_squash(self) -> None:
        """Two turns on a branch become one commit on main, where somebody else worked."""
        self._commit()
        self._git("checkout", "-q", "-b", f"topic-{self._number}")
        topic = self._git("branch", "--show-current").strip()
        for _ in range(2):
            self._turn()
            self._commit()
        self._git("checkout", "-q", "main")
        self._edit("hand")
        self._commit()
        done = self._try("merge", "-q", "--squash", topic)
        if done:
            self._commit_turns()

    def _try(self, *words: str) -> bool:
        """Run a git command that may end in a conflict, which is given up then."""
        done = subprocess.run(["git", *words], cwd=self.top, capture_output=True)
        if done.returncode and words[0] != "merge":
            self._git(words[0], "--abort")
        elif done.returncode:
            self._git("reset", "-q", "--hard")
        return done.returncode == 0

    def _edit(self, kind: str, turn: str = "") -> None:
        for path in self._random.sample(_FILES, self._random.randint(1, 2)):
            lines = self._read(path)
            for _ in range(self._random.randint(1, 3)):
                at = self._random.randint(0, len(lines))
                count = self._random.choice((0, 0, 1, 2))
                made = [self._line(kind, turn) for _ in range(self._random.randint(1, 4))]
                lines[at : at + count] = [*made, *([b"}"] if self._random.random() < 0.4 else [])]
            self._write(path, lines)

    def _line(self, kind: str, turn: str = "") -> bytes:
        self._number += 1
        line = b"%s line %d" % (kind.encode(), self._number)
        if turn:
            self.turns[line] = turn
        return line

    def _read(self, path: str) -> list[bytes]:
        return (self.top / path).read_bytes().split(b"\n")[:-1]

    def _write(self, path: str, lines: Sequence[bytes]) -> None:
        file = self.top / path
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"".join(line + b"\n" for line in lines))

    def _file(self, commit: str, path: str) -> list[bytes]:
        done = subprocess.run(
            ["git", "cat-file", "blob", f"{commit}:{path}"], cwd=self.top, capture_output=True
        )
        return done.stdout.split(b"\n")[:-1]

    def _commit(self) -> None:
        self._git("add", "-A")
        if self._git("status", "--porcelain"):
            self._git("commit", "-qm", f"commit {self._number}")

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.top, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout
