"""Killed, without room, or beside others: a file is old or new, and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from git_boocode.checkpoints.restore import commands
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.lock import worktree_lock
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, interrupted, refs, sound, take
from tests.forked import run_forked
from tests.hostile.test_faults import sound_but_for_the_note
from tests.hostile.test_kills import fill, small_disk
from tests.kill_kit import DIES_AT_A_STEP
from tests.proposals import kit
from tests.proposals.kit import edit, letters
from tests.repo_kit import Repo

__all__ = ["small_disk"]
pytestmark = pytest.mark.slow

# Accepts, or does something else, and dies before one step.
CHILD = (
    DIES_AT_A_STEP
    + """
from tests.proposals import kit

watch(subprocess, "Popen")
for name in ("replace", "link", "rename", "fsync", "unlink", "mkdir"):
    watch(os, name)
options = {"merge": True} if what == "accept" else {}
getattr(kit, what)(**options)
print(count)
"""
)
_EVERY_STEP = "KILL_ROUNDS" in os.environ
LINES = "".join(f"{number}\n" for number in range(1, 10))
MOVE = """*** Begin Patch
*** Update File: old
*** Move to: moved/here
@@
 1
-2
+two
 3
*** End Patch
"""


def set_up(repo: Repo) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """One file of each kind; all files before and after an accept that merges."""
    names = ("a", "sub/b", "gone", "old", "plain")
    repo.commit(**dict.fromkeys(names, LINES), **{".gitignore": "*.log\n"})
    repo.write("x.log", LINES)
    kit.propose(
        [edit(path, "2", "two") for path in ("a", "sub/b", "x.log")],
        {"path": "new/c", "content": "new\n"},
    )
    kit.propose("*** Begin Patch\n*** Delete File: gone\n*** End Patch\n")
    kit.propose(MOVE)
    repo.write("sub/b", LINES.replace("7", "user"))
    repo.write("plain", "the user's own\n")
    before = contents(repo)
    kit.accept(merge=True)
    after = contents(repo)
    kit.undo()
    assert contents(repo) == before
    assert after["sub/b"] == LINES.replace("7", "user").replace("2", "two").encode()
    return before, after


def contents(repo: Repo) -> dict[str, bytes]:
    """The bytes of all files."""
    return {path: data for path, (_, data) in repo.files().items()}


def without_temporary(repo: Repo) -> dict[str, bytes]:
    return {path: data for path, data in contents(repo).items() if ".boocode-" not in path}


LETTERS = {"a": "M", "gone": "D", "moved/here": "R", "new/c": "A", "sub/b": "~M", "x.log": "M"}


def old_or_new(place: Repo, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Each file is there as a whole, and none is missing that is in both."""
    for path, data in without_temporary(place).items():
        assert data in (before.get(path), after.get(path)), path
    assert before.keys() & after.keys() <= without_temporary(place).keys()


def finds_a_way_out(
    place: Repo, way: str, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    """What is documented leads to the old files or to the new ones, and leaves nothing behind."""
    old_or_new(place, before, after)
    if way == "doctor":
        assert place.boocode("doctor", "--fix").code == 0
        assert contents(place) in (before, after)
        way = "accept"
    if way == "undo":
        done = place.boocode("undo")
        assert done.code in (0, 1), done
        if done.code:
            assert "nothing to undo" in done.err or "no restore" in done.err, done
        if contents(place) == after:
            # It took an undo back that was killed.
            assert not any(letters().values())
            assert place.boocode("undo").code == 0
        assert contents(place) == before
        assert letters() == LETTERS
    else:
        for _ in range(2):
            done = place.boocode("accept", "--merge")
            if done.code and "doctor" in done.err:
                assert place.boocode("doctor", "--fix").code == 0
                done = place.boocode("accept", "--merge")
            if done.code:
                break
        assert (done.code, "nothing to accept" in done.err) == (1, True), done
        assert contents(place) == after
        assert not any(letters().values())
    take()
    sound_but_for_the_note(place)


@pytest.mark.parametrize("what", ["accept", "discard", "sync", "undo"])
def test_killed_at_every_step(repo: Repo, what: str) -> None:
    before, after = set_up(repo)
    if what == "undo":
        kit.accept(merge=True)
    # Nothing is left to accept while an undo is interrupted.
    ways = ["undo", "doctor"] if what == "undo" else ["accept", "undo", "doctor"]

    def once(step: int) -> tuple[int, str, Repo]:
        top = repo.top.parent / f"{repo.top.name}-{step}"
        subprocess.run(["cp", "-a", repo.top, top], check=True)
        done = run_forked(CHILD, what, str(step), cwd=top, env=dict(os.environ))
        return done.returncode, done.stdout.decode(), Repo(top)

    status, printed, _ = once(0)
    assert status == 0
    count = int(printed)
    assert count > 10
    every = 1 if _EVERY_STEP else 2 if what == "accept" else 5
    with ThreadPoolExecutor(2) as pool:
        for number, (status, _, place) in enumerate(pool.map(once, range(1, count + 1, every))):
            os.chdir(place.top)
            assert status in (-9, 0)
            if what in ("accept", "undo"):
                finds_a_way_out(place, ways[number % len(ways)], before, after)
            else:
                assert contents(place) == before
                shown = letters()
                if shown != LETTERS:
                    assert place.boocode("undo").code == 0
                assert letters() == LETTERS
                assert contents(place) == before
            os.chdir(repo.top)
            subprocess.run(["rm", "-rf", place.top], check=True)


def test_two_proposals_at_once(repo: Repo) -> None:
    repo.commit(a=LINES)
    lines = range(1, 10, 2)

    def propose(line: int) -> tuple[int, str]:
        done = repo.boocode(
            "propose", "--json", stdin=json.dumps(edit("a", f"{line}", f"<{line}>"))
        )
        return done.code, done.out

    with ThreadPoolExecutor(len(lines)) as pool:
        found = dict(zip(lines, pool.map(propose, lines), strict=True))
    expected = LINES
    for line, (code, out) in found.items():
        if code == 0:
            expected = expected.replace(f"{line}\n", f"<{line}>\n")
        else:
            error = json.loads(out)["error"]
            assert (error["code"], "again" in error["hint"]) == ("conflict", True), error
    assert sum(code == 0 for code, _ in found.values()) >= 2
    kit.accept()
    assert repo.read("a") == expected.encode()


def test_accept_beside_propose(repo: Repo) -> None:
    repo.commit(**{f"f{number}": LINES for number in range(6)})
    kit.propose([edit(f"f{number}", "2", "two") for number in range(3)])
    given = [["accept"], ["propose"], ["accept", "f0"], ["discard", "f1"], ["propose"], ["sync"]]

    def run(numbered: tuple[int, list[str]]) -> tuple[int, str]:
        number, command = numbered
        stdin = json.dumps(edit(f"f{number}", "5", "five")) if command == ["propose"] else ""
        done = repo.boocode(*command, "--json", stdin=stdin)
        return done.code, done.out

    with ThreadPoolExecutor(len(given)) as pool:
        for code, out in pool.map(run, enumerate(given)):
            answer = json.loads(out)
            assert (code == 0) == answer["ok"]
            assert code in (0, 1), answer
    for number in range(6):
        rows = repo.read(f"f{number}").decode().split("\n")
        assert rows[1] in ("2", "two"), number
        assert rows[4] in ("5", "five"), number
    for path, letter in letters().items():
        assert letter in ("", "M", "~", "~M"), path
    sound(repo)


@pytest.mark.parametrize("left", [0, 1, 2, 4, 8, 16, 24, 40, 64])
def test_a_full_disk(small_disk: Path, monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    subprocess.run(["git", "init", "-q", small_disk], check=True)
    repo = Repo(small_disk)
    monkeypatch.chdir(small_disk)
    repo.commit(a=LINES, b=LINES * 4000)
    repo.write("c", random.Random(1).randbytes(40_000))
    kit.propose([edit("a", "2", "two"), {"path": "b", "content": LINES * 4001}])
    before, known, shown = contents(repo), refs(repo), letters()
    filler = fill(small_disk, left)
    accepted = repo.boocode("accept")
    assert "Traceback" not in accepted.err
    if accepted.code:
        assert accepted.code == 128
        assert "no space" in accepted.err.lower(), accepted.err
        filler.unlink()
        assert contents(repo) == before
        assert refs(repo) == known
        assert letters() == shown
        filler = fill(small_disk, left)
    else:
        filler.unlink()
        kit.undo()
        filler = fill(small_disk, left)
    known = refs(repo)
    stdin = json.dumps({"path": "new", "content": LINES * 5000})
    proposed = repo.boocode("propose", stdin=stdin)
    assert "Traceback" not in proposed.err
    if proposed.code:
        assert proposed.code == 128
        assert refs(repo) == known
    filler.unlink()
    assert repo.boocode("accept").code == 0
    sound(repo)


def test_a_ref_that_cannot_be_written(repo: Repo) -> None:
    before, _ = set_up(repo)
    shown = letters()
    directory = repo.top / ".git/refs/boocode"
    repo.git("pack-refs", "--all")
    proposals = directory / "proposals"
    if proposals.exists():
        proposals.rmdir()
    proposals.write_text("in the way\n")
    done = repo.boocode("accept", "--merge")
    assert (done.code, "Traceback" in done.err) == (128, False), done
    assert contents(repo) == before
    proposals.unlink()
    assert letters() == shown
    # The safety checkpoint of what was not done is gone.
    assert repo.boocode("accept", "--merge").code == 0
    assert repo.boocode("undo").code == 0
    assert contents(repo) == before


def test_a_file_that_changes_between_plan_and_write(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = set_up(repo)
    known, shown = refs(repo), letters()
    real = commands.undoable_change

    def typing(path: str) -> Callable[..., object]:
        def change(*arguments: object) -> object:
            repo.write(path, "typed meanwhile\n")
            return real(*arguments)  # type: ignore[arg-type]

        return change

    for path in ("a", "sub/b", "gone", "old", "new/c", "moved/here", "x.log"):
        with monkeypatch.context() as patch:
            patch.setattr("git_boocode.proposals.review.undoable_change", typing(path))
            with pytest.raises(RefusedError, match="another program changed") as error:
                kit.accept(merge=True)
        assert (error.value.code, error.value.next_steps[0].name) == ("conflict", "retry")
        assert contents(repo) == {**before, path: b"typed meanwhile\n"}
        assert refs(repo) == known
        if path in before:
            repo.write(path, before[path])
        else:
            (repo.top / path).unlink()
    assert letters() == shown
    kit.accept(merge=True)


def test_a_locked_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = set_up(repo)
    known = refs(repo)
    monkeypatch.setattr("git_boocode.editing.workspace.LOCK_PATIENCE", 0.1)
    with worktree_lock(Repository.discover().state_dir, shared=False, patience=1.0):
        acts: list[Callable[[], object]] = [
            lambda: kit.accept(merge=True),
            kit.discard,
            kit.sync,
            lambda: kit.propose(edit("a", "4", "four")),
        ]
        for act in acts:
            with pytest.raises(RefusedError) as error:
                act()
            assert error.value.code == "locked"
        # Reading always works.
        assert letters() == LETTERS
    assert (contents(repo), refs(repo)) == (before, known)


def test_an_interrupted_restore(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a=LINES, b=LINES)
    kit.propose(edit("a", "2", "two"))
    take()
    repo.write("b", "mess\n")
    interrupted(monkeypatch, back)
    acts: list[Callable[[], object]] = [kit.accept, kit.discard, kit.sync]
    for act in acts:
        with pytest.raises(RefusedError) as error:
            act()
        assert error.value.code == "interrupted"
        assert any("undo" in hint for hint in error.value.hints)
    assert letters() == {"a": "M"}
    kit.undo()
    assert repo.read("b") == b"mess\n"
    kit.accept()
    assert letters() == {"a": ""}
