"""Lines that git already held have no turn only because they came in while it was open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_boocode.checkpoints.attribution import Attributor
from git_boocode.checkpoints.capture import Request, capture, capture_turn_end
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo

BASE = "base\nfirst\nsecond\nthird\nend\n"
FOREIGN = "human one\nhuman two\nhuman three\n"
Bring = Callable[[Repo], object]


def begin(label: str, top: Path) -> str:
    request = Request(label=label, agent="claude-code", session=label)
    return capture(Repository.discover(str(top)), request).checkpoint.id


def end(turn: str, top: Path) -> None:
    capture_turn_end(Repository.discover(str(top)), turn, "Stop")


def written(repo: Repo, name: str = "HEAD") -> dict[str, dict[str, str]]:
    """By path, the lines of a commit that have a turn, with its label."""
    repository = Repository.discover(str(repo.top))
    commit = repository.git.line("rev-parse", name)
    found = {}
    for path, ranges in Attributor(repository).attribute(commit).files.items():
        lines = repo.git("show", f"{commit}:{path}").splitlines()
        labels = ((n, each) for each in ranges for n in range(each.first - 1, each.last))
        found[path] = {lines[number]: each.turn.meta.text("label") for number, each in labels}
    return found


@contextmanager
def clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> Iterator[None]:
    """Commit at another time, in seconds from now."""
    with monkeypatch.context() as context:
        for who in ("AUTHOR", "COMMITTER"):
            context.setenv(f"GIT_{who}_DATE", f"@{int(time.time() + seconds)} +0000")
        yield


def human(repo: Repo) -> None:
    """A person's commit on a branch: a new file, and lines of one that is there."""
    repo.commit("work of a person", h=FOREIGN, f=BASE.replace("first\n", f"first\n{FOREIGN}"))


def here(repo: Repo, _: Path) -> None:
    repo.git("checkout", "-q", "-b", "human")
    human(repo)
    repo.git("checkout", "-q", "main")


def linked(repo: Repo, top: Path, branch: str) -> Repo:
    repo.git("worktree", "add", "-q", "-b", branch, str(top / branch))
    return Repo(top / branch)


def elsewhere(repo: Repo, top: Path) -> None:
    """In a worktree that is removed again."""
    other = linked(repo, top, "human")
    human(other)
    repo.git("worktree", "remove", "--force", str(other.top))


def git(*words: str) -> Bring:
    return lambda repo: repo.git(*words)


def show(repo: Repo) -> None:
    for path in ("f", "h"):
        repo.write(path, repo.git("show", f"human:{path}"))


def apply(repo: Repo) -> None:
    repo.git("apply", stdin=repo.git("diff", "main", "human"))


WAYS = {
    "merge --squash": git("merge", "-q", "--squash", "human"),
    "cherry-pick -n": git("cherry-pick", "-n", "human"),
    "checkout --": git("checkout", "-q", "human", "--", "f", "h"),
    "restore --source": git("restore", "-q", "--source=human", "--", "f", "h"),
    "read-tree": git("read-tree", "-m", "-u", "HEAD", "human"),
    "show >": show,
    "diff | apply": apply,
}


def bring_in(repo: Repo, bring: Bring, *, is_recorded: bool = True) -> dict[str, dict[str, str]]:
    """Bring lines in during a turn, which appends one, and commit it all."""
    turn = begin("turn", repo.top)
    bring(repo)
    repo.write("f", f"{repo.read('f').decode()}of the turn\n")
    if is_recorded:
        end(turn, repo.top)
    repo.commit("all of it")
    return written(repo)


def test_a_squash_merge_in_an_open_turn_is_not_its_work(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f=BASE)
    here(repo, tmp_path)
    found = bring_in(repo, WAYS["merge --squash"], is_recorded=False)
    assert found == {"f": {"of the turn": "turn"}}


@pytest.mark.slow
@pytest.mark.parametrize("is_recorded", [True, False], ids=["ended", "open"])
@pytest.mark.parametrize("make", [here, elsewhere])
@pytest.mark.parametrize("way", WAYS)
def test_what_others_committed_before(
    repo: Repo, tmp_path: Path, way: str, make: Callable[[Repo, Path], None], *, is_recorded: bool
) -> None:
    repo.commit("base", f=BASE)
    make(repo, tmp_path)
    found = bring_in(repo, WAYS[way], is_recorded=is_recorded)
    assert found == {"f": {"of the turn": "turn"}}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_others_commit_meanwhile(
    repo: Repo, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also within the second of the turn."""
    repo.commit("base", f=BASE)

    def bring(repo: Repo) -> None:
        elsewhere(repo, tmp_path)
        WAYS[way](repo)

    with clock(monkeypatch, 0):
        found = bring_in(repo, bring, is_recorded=False)
    assert found == {"f": {"of the turn": "turn"}}


@pytest.mark.slow
def test_what_was_fetched_without_a_branch(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f=BASE)
    other = Repo(tmp_path / "other")
    repo.git("clone", "-q", ".", str(other.top))
    human(other)
    repo.git("fetch", "-q", str(other.top))
    found = bring_in(repo, git("merge", "-q", "--squash", "FETCH_HEAD"))
    assert found == {"f": {"of the turn": "turn"}}


@pytest.mark.slow
@pytest.mark.parametrize("is_recorded", [True, False], ids=["ended", "open"])
def test_a_revert_brings_back_what_a_person_removed(repo: Repo, *, is_recorded: bool) -> None:
    repo.commit("base", f=BASE, gone="one\ntwo\n")
    repo.git("rm", "-q", "gone")
    repo.commit("removal", f=BASE.replace("first\nsecond\nthird\n", ""))
    found = bring_in(repo, git("revert", "-n", "HEAD"), is_recorded=is_recorded)
    assert found == {"f": {"of the turn": "turn"}}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["apply", "pop"])
@pytest.mark.parametrize("is_recorded", [True, False], ids=["ended", "open"])
def test_a_stash_that_no_state_had(repo: Repo, command: str, *, is_recorded: bool) -> None:
    """Of which nothing of git leads to the commits any more, once it is popped."""
    repo.commit("base", f=BASE)
    repo.write("f", BASE.replace("first\n", f"first\n{FOREIGN}"))
    repo.write("h", FOREIGN)
    repo.git("stash", "-q", "-u")
    found = bring_in(repo, git("stash", command, "-q"), is_recorded=is_recorded)
    assert found == {"f": {"of the turn": "turn"}}


@pytest.mark.slow
def test_a_turn_keeps_what_it_stashed_itself(repo: Repo) -> None:
    repo.commit("base", f=BASE)

    def bring(repo: Repo) -> None:
        repo.write("f", f"{BASE}a\nb\nc\n")
        repo.git("stash", "-q")
        repo.git("stash", "apply", "-q")

    found = bring_in(repo, bring)
    assert found == {"f": dict.fromkeys(("a", "b", "c", "of the turn"), "turn")}


@pytest.mark.slow
def test_the_turn_of_another_worktree_keeps_its_lines(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f=BASE)
    other = linked(repo, tmp_path, "topic")
    turn = begin("theirs", other.top)
    other.write("new", FOREIGN)
    end(turn, other.top)
    other.commit("theirs")
    found = bring_in(repo, git("merge", "-q", "--squash", "topic"))
    theirs = dict.fromkeys(FOREIGN.splitlines(), "theirs")
    assert found == {"f": {"of the turn": "turn"}, "new": theirs}


@pytest.mark.slow
def test_a_short_line_of_two_attempts_has_no_turn_in_the_later_one(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("base", f=BASE)
    other = linked(repo, tmp_path, "topic")
    for at, each, label in ((-200, other, "first"), (100, repo, "second")):
        turn = begin(label, each.top)
        each.write("f", f"import json\n{BASE}{label} attempt\n")
        with clock(monkeypatch, at):
            each.commit(label)
        end(turn, each.top)
    assert written(repo, "topic") == {"f": {"import json": "first", "first attempt": "first"}}
    assert written(repo) == {"f": {"second attempt": "second"}}


@pytest.mark.slow
def test_a_line_alone_that_a_turn_wrote_elsewhere_may_be_chance(repo: Repo, tmp_path: Path) -> None:
    """Also if it was committed first, on a branch that nobody merged."""
    repo.commit("base", f=BASE)
    other = linked(repo, tmp_path, "topic")
    turn = begin("turn", repo.top)
    repo.write("f", f"import sys\nimport turn\n{BASE}")
    repo.commit("attempt")
    end(turn, repo.top)
    other.commit("by hand", f=f"import other\nimport sys\nimport more\n{BASE}")
    assert written(repo, "topic") == {}
    assert written(repo) == {"f": dict.fromkeys(("import sys", "import turn"), "turn")}


@pytest.mark.slow
def test_rewritten_commits_of_the_turn_are_its_own(repo: Repo, tmp_path: Path) -> None:
    """Amended, rebased, and picked by others later."""
    repo.commit("base", f=BASE)
    upstream = linked(repo, tmp_path, "upstream")
    turn = begin("turn", repo.top)
    repo.write("f", f"{BASE}a\nb\nc\n")
    repo.commit("one")
    repo.write("g", "g one\ng two\ng three\n")
    repo.git("add", "g")
    repo.git("commit", "-q", "--amend", "--no-edit")
    upstream.commit("upstream", other="other\n")
    upstream.git("cherry-pick", "main")
    repo.git("rebase", "-q", "upstream~1")
    end(turn, repo.top)
    expected = {
        "f": dict.fromkeys("abc", "turn"),
        "g": dict.fromkeys(("g one", "g two", "g three"), "turn"),
    }
    assert written(repo) == written(repo, "upstream") == expected


@pytest.mark.slow
@pytest.mark.parametrize("is_still", [True, False], ids=["same time", "own time"])
def test_a_clone_knows_who_wrote_a_squash_merge(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_still: bool
) -> None:
    if not is_still:
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.delenv(f"GIT_{who}_DATE")
    repo.commit("base", f=BASE)
    repo.git("checkout", "-q", "-b", "topic")
    turn = begin("turn", repo.top)
    repo.write("f", f"{BASE}of the turn\n")
    end(turn, repo.top)
    repo.commit("work")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--squash", "topic")
    repo.commit("squashed")
    clone = Repo(tmp_path / "clone")
    repo.git("clone", "-q", ".", str(clone.top))
    assert clone.boocode("fetch").code == 0
    expected = {"f": {"of the turn": "turn"}}
    assert written(repo) == written(clone) == written(clone, "origin/topic") == expected


@pytest.mark.parametrize("is_known", [True, False])
def test_what_was_brought_in_stays_so_when_its_branch_is_gone(repo: Repo, is_known: bool) -> None:
    """The hook after the commit sees it; the turn's end is recorded when nothing leads there."""
    repo.commit("base", f=BASE)
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    blob = repo.git("hash-object", "-w", "--stdin", stdin=FOREIGN).strip()
    made = repo.git("mktree", stdin=f"{repo.git('ls-tree', tree)}100644 blob {blob}\th\n").strip()
    theirs = repo.git("commit-tree", "-p", "HEAD", "-m", "work of a person", made).strip()
    repo.git("update-ref", "refs/remotes/origin/theirs", theirs)
    turn = begin("one", repo.top)
    repo.git("merge", "-q", "--squash", "origin/theirs")
    repo.write("f", f"{BASE}turn\n")
    repo.git("add", "f")
    if not is_known:
        # A hook of git's ends the turn, as far as is known.
        capture(Repository.discover(str(repo.top)), Request(trigger="pre-commit"))
    repo.git("commit", "-qm", "squashed")
    assert repo.boocode("attribute").code == 0
    repo.git("update-ref", "-d", "refs/remotes/origin/theirs")
    end(turn, repo.top)
    assert written(repo) == {"f": {"turn": "one"}}
