"""Any history: every change is in one entry of the timeline, and those in force are the worktree.

Each change makes a file of its own, which shows in which entry it is, and whether it is in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from git_boocode.checkpoints.own_changes import OwnTurns, tree_after
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.turn_changes import changed_files
from git_boocode.checkpoints.turns import CurrentTree
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from tests.agents.kit import Turns
from tests.repo_kit import Repo, examples
from tests.workflows.test_timeline_data import rows

Deed = tuple[str, int, bool]
# The names of methods of `History`.
WHAT = ("turn", "turn", "turn", "hand", "hand", "commit", "back", "back", "undo", "redo")
DEED = st.tuples(
    st.sampled_from((*WHAT, "revert", "pick", "part", "beside")), st.integers(0, 4), st.booleans()
)


class History:
    """What happens to a repository, and in which files it shows."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.turns = Turns(repo)
        self.by_hand: set[str] = set()
        self.commits: dict[str, str | None] = {}
        # Files that a part of a restore took back, or a restore during their turn.
        self.unclear: set[str] = set()
        self.split: set[str] = set()  # files of turns during which a restore ran
        self.steps: set[str] = set()  # files that operations on turns changed
        self._number = 0

    def do(self, deed: Deed) -> None:
        """Do one thing; `number` chooses a turn."""
        what, number, flag = deed
        self._number += 1
        getattr(self, what)(f"{what}-{self._number}", number, flag)

    def turn(self, name: str, number: int, flag: bool) -> None:
        """A turn of one of two sessions, in which a commit may be made."""
        session = f"s{number % 2}"
        self.turns.begin(name, session)
        self.repo.write(name, "1\n")
        if flag:
            self.commits[self.repo.commit(name)] = self.turns[name]
        self.turns.end(name, session)

    def beside(self, name: str, number: int, flag: bool) -> None:
        """A restore while the turn of another session is open, whose conversation stays.

        What a turn writes after a restore has archived it is nobody's.
        """
        self.turns.begin(name, f"beside-{self._number}")
        self.repo.write(f"{name}-first", "1\n")
        self.unclear.add(f"{name}-first")
        self.split.add(name)
        self.back(name, number, flag or not number)
        self.repo.write(name, "1\n")
        self.turns.end(name, f"beside-{self._number}")

    def hand(self, name: str, _: int, __: bool) -> None:
        """A change by hand, after the first turn."""
        if self.turns:
            self.repo.write(name, "1\n")
            self.by_hand.add(name)

    def commit(self, name: str, _: int, flag: bool) -> None:
        """A commit by hand, with everything or nothing."""
        if self.turns:
            self.repo.git(*(["add", "-A"] if flag else ["reset", "-q"]))
            self.repo.git("commit", "-q", "--allow-empty", "-m", name)
            self.commits[self.repo.git("rev-parse", "HEAD").strip()] = None

    def back(self, _: str, number: int, flag: bool) -> None:
        """A restore, with the conversation or without."""
        self._of_turn(number, "restore", *(["--files-only"] if flag else []))

    def undo(self, *_: object) -> None:
        """Undo the last operation, whatever was done since."""
        self.unclear |= self.split
        self.repo.boocode("undo", "--force", "newer-turns,later-changes")

    def redo(self, *_: object) -> None:
        """Do again what was undone."""
        self.unclear |= self.split
        self.repo.boocode("redo", "--force", "newer-turns,later-changes")

    def revert(self, _: str, number: int, __: bool) -> None:
        """Take one turn back."""
        self.steps.add(self._of_turn(number, "revert"))

    def pick(self, _: str, number: int, __: bool) -> None:
        """Do again what one turn did."""
        self.steps.add(self._of_turn(number, "pick"))

    def part(self, _: str, number: int, __: bool) -> None:
        """Restore one file to before its turn."""
        listed = rows(self.repo)["turns"]
        if listed:
            turn = listed[min(number, len(listed) - 1)]
            name = self.name_of(turn["id"])
            self.repo.boocode("restore", turn["id"], "--", name)
            self.unclear.add(name)

    def name_of(self, turn: str) -> str:
        """The file that a turn made."""
        return next(name for name, known in self.turns.items() if known == turn)

    def _of_turn(self, number: int, *words: str) -> str:
        listed = rows(self.repo)["turns"]
        if not listed:
            return ""
        turn = listed[min(number, len(listed) - 1)]["id"]
        self.repo.boocode(*words[:1], turn, *words[1:])
        return self.name_of(turn)

    def check(self) -> None:
        """Compare the timeline with what happened."""
        data, present = rows(self.repo), {path for path in self.repo.files() if path != "a"}
        entries: Counter[str] = Counter()
        force: dict[str, bool] = {}
        for row in data["by_hand"]:
            entries.update(row["paths"])
            assert set(row["paths"]) <= self.by_hand, row
            force.update(dict.fromkeys(row["paths"], row["state"] == ""))
        for row in data["turns"]:
            name = self.name_of(row["id"])
            assert set(row["paths"]) <= {name, f"{name}-first"}, row
            entries.update(row["paths"])
            force[name] = row["state"] == ""
        archived = self._archived()
        for name in archived:
            entries[name] += 1
            force[name] = False
        expected = {*self.turns, *self.by_hand}
        assert {name: entries[name] for name in expected} == dict.fromkeys(expected, 1)
        clear = expected - self.unclear
        there = self._at(data["here"]["turn"], data["here"]["side"]) if data["here"] else set()
        # What left the list with its conversation comes back, without that, with a later state.
        back = {*archived} & there
        assert {name for name in clear if force[name]} == (clear & present) - back
        assert {row["id"]: row["turn"] for row in data["commits"]} == self.commits
        if data["here"]:
            turn, side = data["here"]["turn"], data["here"]["side"]
            differing = (there ^ present) - self.steps - self.unclear
            if side == "during":
                # How far the turn had come by then is unknown here.
                differing -= {self.name_of(turn), f"{self.name_of(turn)}-first"}
            assert differing <= self.by_hand
            assert data["here"]["files"] == len(differing)
            # It is above all turns whose work is here.
            at = data["here"]["at"] or "~"
            above = {self.name_of(row["id"]) for row in data["turns"] if row["id"] >= at}
            assert not (above & present) - self.steps - self.unclear

    def _archived(self) -> list[str]:
        """The files of the turns that restores archived."""
        repository = Repository.discover(str(self.repo.top))
        with temporary_objects(repository):
            catalog = Catalog(repository)
            listed = OwnTurns(catalog, CurrentTree(repository))
            found = [*listed.turns(catalog.archived())]
            files = changed_files(repository, found)
        return [file.path for each in files for file in each or ()]

    def _at(self, turn: str, side: str) -> set[str]:
        """The files before a turn, or during it without its own, or after it."""
        repository = Repository.discover(str(self.repo.top))
        with temporary_objects(repository):
            catalog = Catalog(repository)
            checkpoint = catalog.find(turn)
            tree = tree_after(catalog, checkpoint) if side == "after" else checkpoint.tree
            return {path for path in repository.store.tree(tree) if path != "a"}


def play(repo: Repo, deeds: Sequence[Deed]) -> None:
    repo.commit(a="a\n")
    history = History(repo)
    for deed in deeds:
        history.do(deed)
    history.check()


def test_a_history_is_told_as_it_was(repo: Repo) -> None:
    play(repo, [("turn", 0, True), ("hand", 0, False), ("turn", 1, False), ("back", 0, True)])


# A turn of one session leaves the list; then a turn of the other, which began later, is restored.
LEFT_AND_BACK: list[Deed] = [
    *(("turn", 1, False), ("turn", 1, False), ("turn", 0, False)),
    *(("back", 2, False), ("back", 0, True)),
]


@pytest.mark.slow
@given(st.lists(DEED, max_size=12))
@example(LEFT_AND_BACK)
@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
def test_every_history_is_told_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[Deed]
) -> None:
    top = tmp_path_factory.mktemp("history")
    repo = Repo(top)
    repo.git("init", "-q")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        play(repo, deeds)
