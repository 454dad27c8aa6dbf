"""The work of others, and how it comes into a worktree while a turn is open there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.benchmarks.attribution.history import History
from tests.benchmarks.attribution.place import Place

_MARKS = re.compile(rb"<<<<<<< |\|\|\|\|\|\|\| |=======$|>>>>>>> ")


class Work(NamedTuple):
    """Committed work of others: the commit before, the last one, and where it was made."""

    base: str
    commit: str
    place: str


class Way(NamedTuple):
    """How work comes in: what makes it, what brings it, and whether that commits."""

    name: str
    make: Callable[[History], Work]
    bring: Callable[[History, Work], bool]


# The work of others.


def work_of_another(history: History) -> Work:
    """A commit or two, on a branch here, in another worktree, or in a clone."""
    return history.random.choice((_by_hand_on_a_branch, work_elsewhere))(history)


def work_elsewhere(history: History) -> Work:
    """The same while a turn is open here, of which it would be if it was made here."""
    return history.random.choice((_by_a_fork, _by_a_remote, _by_hand_elsewhere))(history)


def _by_hand_on_a_branch(history: History) -> Work:
    history.settle()
    history.commit("commit")
    base = history.here.head()
    history.here.git("checkout", "-q", "-b", f"human-{history.number}")
    _write(history, history.here)
    commit = history.here.head()
    history.here.git("checkout", "-q", "main")
    return Work(base, commit, history.here.name)


def _by_hand_elsewhere(history: History) -> Work:
    side = _worktree(history, "side")
    work = Work(side.head(), _write(history, side), side.name)
    return _left(history, side, work)


def _by_a_fork(history: History) -> Work:
    """A turn of another worktree, which does the same job."""
    fork = _worktree(history, "fork")
    base = fork.head()
    turn = history.begin(fork, session="fork")
    commit = _write(history, fork, turn)
    history.end(turn, fork)
    return _left(history, fork, Work(base, commit, fork.name))


def _left(history: History, place: Place, work: Work) -> Work:
    if history.chance(0.3):
        history.here.git("worktree", "remove", "--force", str(place.top))
    return work


def _worktree(history: History, kind: str) -> Place:
    history.number += 1
    name = f"{kind}-{history.number}"
    history.here.git("worktree", "add", "-q", "-b", name, f"../{name}")
    return Place(history.top / name, name)


def _by_a_remote(history: History) -> Work:
    remote = Place(history.top / "remote", "remote", "remote@example.com")
    if not (remote.top / ".git").exists():
        history.here.git("clone", "-q", ".", str(remote.top))
    remote.git("fetch", "-q", "origin", "main")
    history.number += 1
    name = f"theirs-{history.number}"
    remote.git("checkout", "-q", "-b", name, "FETCH_HEAD")
    base = remote.head()
    commit = _write(history, remote)
    history.here.git("fetch", "-q", str(remote.top), f"{name}:refs/remotes/origin/{name}")
    return Work(base, commit, remote.name)


def _write(history: History, place: Place, turn: str = "") -> str:
    """Edit and commit once or twice, and return the last commit."""
    for _ in range(history.random.choice((1, 1, 2))):
        history.edit(place, turn)
        if history.chance(0.5):
            history.new_file(place, turn)
        place.git("add", "-A")
        place.git("commit", "-qm", f"work of another {history.number}")
        history.made("work of another", place)
    history.pass_time()
    return place.head()


def last_commit_by_hand(history: History) -> Work:
    """A commit that a person made here before the turn."""
    history.settle()
    history.commit("commit")
    base = history.here.head()
    history.by_hand()
    if history.chance(0.4):
        history.new_file(history.here, "")
    history.commit("commit")
    return Work(base, history.here.head(), history.here.name)


def removal_by_hand(history: History) -> Work:
    """A commit that removes lines of any writer, a person's."""
    history.settle()
    history.commit("commit")
    base = history.here.head()
    path = max(history.here.paths(), key=lambda each: len(history.here.read(each)))
    lines = history.here.read(path)
    at = history.random.randrange(len(lines))
    history.here.write(path, lines[:at] + lines[at + history.random.randint(2, 6) :])
    history.commit("removal")
    return Work(base, history.here.head(), history.here.name)


def stash_before(history: History) -> Work:
    """A stash of work by hand, which a state had or none."""
    history.settle()
    history.commit("commit")
    history.by_hand()
    if history.chance(0.5):
        history.new_file(history.here, "")
    if history.chance(0.5):
        history.recorder.state(history.here, "manual")
    history.here.git("stash", "push", "-q", "-u")
    base = history.here.head()
    return Work(base, "stash@{0}", history.here.name)


def stash_of_a_turn(history: History) -> Work:
    """A stash of what an earlier turn has left."""
    history.settle()
    history.commit("commit")
    turn = history.begin()
    history.edit(history.here, turn)
    history.end(turn)
    history.here.git("stash", "push", "-q", "-u")
    return Work(history.here.head(), "stash@{0}", history.here.name)


# How it comes in.


def _command(*words: str) -> Callable[[History, Work], bool]:
    """A command with the commit as its last argument, whose conflicts keep both sides."""

    def bring(history: History, work: Work) -> bool:
        done = history.here.attempt(*words, work.commit)
        return done or _resolved(history)

    return bring


def _resolved(history: History) -> bool:
    """Resolve conflicts so that the lines of both sides stay; False if there are none."""
    here = history.here
    names = here.git("diff", "--name-only", "--diff-filter=U").split()
    for path in names:
        if (here.top / path).exists():
            here.write(path, [line for line in here.read(path) if not _MARKS.match(line)])
    if names:
        here.git("add", "-A")
    return bool(names)


def _pick(history: History, work: Work) -> bool:
    return _finished(history, "cherry-pick", f"{work.base}..{work.commit}")


def _merge(history: History, work: Work) -> bool:
    option = history.random.choice(("--ff", "--no-ff"))
    return _finished(history, "merge", option, "--no-edit", work.commit)


def _pull(history: History, work: Work) -> bool:
    history.here.git("branch", "-f", "pulled", work.commit)
    return _finished(history, "pull", "-q", "--rebase", ".", "pulled", ends="rebase")


def _revert(history: History, work: Work) -> bool:
    return _finished(history, "revert", "--no-edit", work.commit)


def _finished(history: History, *words: str, ends: str = "") -> bool:
    """Run a command that commits; conflicts keep both sides."""
    here, name = history.here, ends or words[0]
    done = here.attempt(*words)
    for _ in range(8):
        if done or not _resolved(history):
            break
        done = here.attempt(name, "--continue", GIT_EDITOR="true")
    if not done:
        here.attempt(name, "--abort")
    return done


def _am(history: History, work: Work) -> bool:
    patch = history.here.git("format-patch", "--stdout", f"{work.base}..{work.commit}")
    done = history.here.attempt("am", "-q", "-3", stdin=patch.encode())
    if not done:
        history.here.attempt("am", "--abort")
    return done


def _apply(history: History, work: Work) -> bool:
    patch = history.here.git("diff", work.base, work.commit)
    return history.here.attempt("apply", stdin=patch.encode())


def _each_path(*words: str) -> Callable[[History, Work], bool]:
    """A command for each path that the work changes."""

    def bring(history: History, work: Work) -> bool:
        paths = _paths(history, work)
        given = (each if each != "COMMIT" else work.commit for each in words)
        return bool(paths) and history.here.attempt(*given, "--", *paths)

    return bring


def _show(history: History, work: Work) -> bool:
    paths = _paths(history, work)
    for path in paths:
        content = history.here.git("show", f"{work.commit}:{path}")
        history.here.write(path, content.encode().split(b"\n")[:-1])
    return bool(paths)


def _paths(history: History, work: Work) -> list[str]:
    listed = ("diff", "--name-only", "--diff-filter=AM", work.base, work.commit)
    return history.here.git(*listed).split()


def _reset_softly(history: History, work: Work) -> bool:
    return history.here.attempt("reset", "-q", "--soft", work.base)


def _pop(history: History, work: Work) -> bool:
    return history.here.attempt("stash", "pop", "-q") or _resolved(history)


def _unstash(history: History, work: Work) -> bool:
    return history.here.attempt("stash", "apply", "-q") or _resolved(history)


WAYS = (
    Way("merge --squash", work_of_another, _command("merge", "-q", "--squash")),
    Way("cherry-pick -n", work_of_another, _command("cherry-pick", "-n")),
    Way("cherry-pick", work_of_another, _pick),
    Way("merge", work_of_another, _merge),
    Way("pull --rebase", work_of_another, _pull),
    Way("am", work_of_another, _am),
    Way("apply", work_of_another, _apply),
    Way("checkout -- path", work_of_another, _each_path("checkout", "-q", "COMMIT")),
    Way("restore --source", work_of_another, _each_path("restore", "-q", "--source", "COMMIT")),
    Way("show >", work_of_another, _show),
    Way("revert -n", removal_by_hand, _command("revert", "-n")),
    Way("revert", removal_by_hand, _revert),
    Way("reset --soft", last_commit_by_hand, _reset_softly),
    Way("stash pop", stash_before, _pop),
    Way("stash apply", stash_before, _unstash),
    Way("stash pop of a turn", stash_of_a_turn, _pop),
)


def _turn_with(way: Way) -> Callable[[History], None]:
    """A turn in which the work of others comes in; its end is recorded or not."""
    own = f"{way.name}, own"

    def operation(history: History) -> None:
        history.settle()
        history.commit("commit")
        is_during = way.make is work_of_another and history.chance(0.35)
        work = None if is_during else way.make(history)
        turn = history.begin()
        _edit_and_commit(history, turn, own, 0.5)
        _bring(history, way, work or work_elsewhere(history), turn)
        _edit_and_commit(history, turn, own, 0.6)
        if history.chance(0.3):
            history.edit(history.here, turn, own)
        if history.chance(0.75):
            history.end(turn)
        else:
            history.leave(turn)

    return operation


def _edit_and_commit(history: History, turn: str, operation: str, probability: float) -> None:
    if history.chance(probability):
        history.edit(history.here, turn, operation)
    if history.chance(probability):
        history.commit(operation)
    history.pass_time()


def _bring(history: History, way: Way, work: Work, turn: str) -> None:
    """Let work in, and commit it or leave that to the turn."""
    before = history.here.lines()
    if way.bring(history, work):
        history.sources.add(work.place)
        history.truth.brought(history.here.lines() - before, turn, way.name)
        if history.chance(0.4):
            history.commit(way.name)
    history.pass_time()


def deleted_and_restored(history: History) -> None:
    """A file that is deleted in one commit, and taken from the one before in another."""
    operation = "restored file"
    history.settle()
    history.commit("commit")
    path = history.random.choice(history.here.paths())
    before = history.here.lines()
    (history.here.top / path).unlink()
    history.commit("delete")
    identifier = history.begin() if history.chance(0.6) else ""
    without = history.here.lines()
    history.here.git("checkout", "-q", "HEAD~1", "--", path)
    history.truth.brought(before - without, identifier or "?", operation)
    if history.chance(0.5):
        history.edit(history.here, identifier, f"beside: {operation}", [path])
    history.commit(operation, states=True)
    if identifier:
        history.end(identifier)


_IN_TURNS = {way: _turn_with(way) for way in WAYS}
OF_STASHES = [each for way, each in _IN_TURNS.items() if way.name.startswith("stash")]
OPERATIONS = (*_IN_TURNS.values(), deleted_and_restored)
