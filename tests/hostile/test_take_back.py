"""A revert or pick that is killed, disturbed or out of room loses nothing and can be undone.

Neither do turns of others, or with hostile paths, write outside of the worktree.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.restore.file_plan import FilePlan, FilePlanner
from git_boocode.checkpoints.restore.request import PICK, REVERT
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.layout import REMOTE_TURN_ENDS, REMOTES
from git_boocode.repo.repository import Repository
from git_boocode.workflows.take_back import TakeBackRequest, TakenBack, take_back
from tests.checkpoints.kit import interrupted, redone, refs, seen, sound, take, undone
from tests.checkpoints.test_sharing import forged
from tests.hostile.test_faults import ENOSPC, STEPS, Failing, at_steps, exit_code
from tests.hostile.test_kills import fill, small_disk
from tests.hostile.test_remotes import HOSTILE, hostile_trees
from tests.repo_kit import Repo

__all__ = ["small_disk"]

LINES = "".join(f"line {number}\n" for number in range(1, 40))
LABEL = "target"
MANY = 30_000


def changed(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


ONE, TWO = ("line 3\n", "one\n"), ("line 30\n", "two\n")


def did(*turns: str, command: str = REVERT, force: frozenset[str] = frozenset()) -> TakenBack:
    names = turns or (f"label:{LABEL}",)
    return take_back(Repository.discover(), command, TakeBackRequest(turns=names, force=force))


def set_up(repo: Repo) -> str:
    """A turn that did all that can be done to files, and others' work since; the turn."""
    repo.commit(**{"a": LINES, "b": LINES, "gone": "gone\n", "dir/c": "c\n", "mode": "x\n"})
    (repo.top / "link").symlink_to("a")
    taken = take(label=LABEL, session="one", agent="bot")
    repo.write("a", changed(LINES, ONE))
    repo.write("b", changed(LINES, ONE))
    repo.git("add", "b")
    repo.write("new/file", "new\n")
    (repo.top / "gone").unlink()
    repo.git("rm", "-rqf", "dir")
    repo.write("dir", "a file now\n")
    (repo.top / "mode").chmod(0o755)
    (repo.top / "link").unlink()
    (repo.top / "link").symlink_to("b")
    assert capture_turn_end(Repository.discover(), taken.id, "Stop")
    repo.write("a", changed(LINES, ONE, TWO))
    repo.write("mine", "mine\n")
    repo.git("add", "mine")
    return taken.id


def is_reverted(repo: Repo, *, staged: bool = True) -> None:
    assert repo.read("a").decode() == changed(LINES, TWO)
    assert repo.read("b").decode() == LINES
    assert not staged or repo.git("show", ":b") == LINES
    assert (repo.read("gone"), repo.read("dir/c")) == (b"gone\n", b"c\n")
    assert not (repo.top / "new").exists()
    assert not os.access(repo.top / "mode", os.X_OK)
    assert (repo.top / "link").readlink() == Path("a")
    assert repo.git("show", ":mine") == "mine\n"


@STEPS
@pytest.mark.parametrize("command", [REVERT, PICK])
@pytest.mark.variants
def test_killed_at_any_step(repo: Repo, every: int, command: str) -> None:
    set_up(repo)
    if command == PICK:
        did()
    start = seen(repo)
    did(command=command)
    end = seen(repo)
    undone()
    known = len(refs(repo, "safety"))

    def check(place: Repo) -> None:
        has_begun = len(refs(place, "safety")) > known
        if not has_begun or (place.top / ".git/boocode/restore-in-progress").exists():
            if has_begun:
                undone()
            assert seen(place) == start
            did(command=command)
        assert seen(place) == end
        if place.top.name.endswith(("0", "5")):
            undone()
            assert seen(place) == start
            redone()
            assert seen(place) == end

    at_steps(repo, command, check, every=every if command == REVERT else 7 * every)


@pytest.mark.parametrize("after", [False, True], ids=["before its work", "after it"])
def test_every_call_of_git_fails_once(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, *, after: bool
) -> None:
    set_up(repo)
    before, known = seen(repo), refs(repo)
    step = refused = 0
    while True:
        step += 1
        failing = Failing(step, after=after, stderr=ENOSPC)
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", failing)
            code = exit_code(did)
        assert code in (0, 1, 128), step
        if failing.count < step:
            break
        if code == 0:
            # If it cannot be read what was staged then, the staging stays.
            is_reverted(repo, staged=False)
            undone()
        refused += code != 0
        assert seen(repo) == before, step
        sound(repo)
        for ref in set(refs(repo)) - {*known}:
            repo.git("update-ref", "-d", ref.split()[0])
    assert step > 20
    assert refused > 10


@pytest.mark.quick
@pytest.mark.parametrize("step", ["_carry_out", "_archive"])
def test_undo_after_a_kill(repo: Repo, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    set_up(repo)
    before = seen(repo)
    interrupted(monkeypatch, did, at=step)
    undone()
    assert seen(repo) == before
    sound(repo)


def test_a_full_disk(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", small_disk], check=True)
    repo = Repo(small_disk)
    monkeypatch.chdir(small_disk)
    set_up(repo)
    repo.write("mine", random.Random(1).randbytes(200_000))
    before = seen(repo)
    failed = 0
    for left in (0, 1, 2, 4, 8, 16, 32, 48, 64, 80, 100, 150):
        filler = fill(small_disk, left)
        repo.git("update-index", "-q", "--refresh", check=False)
        try:
            done = exit_code(did) == 0
        except OSError:
            done = False
        failed += not done
        filler.unlink()
        if done:
            is_reverted(repo)
        if done or seen(repo) != before:
            undone()
        assert seen(repo) == before, left
    assert failed > 3
    did()
    is_reverted(repo)
    undone()
    assert seen(repo) == before
    sound(repo)


@pytest.mark.quick
def test_the_index_is_locked(repo: Repo) -> None:
    set_up(repo)
    lock = repo.write(".git/index.lock", "someone's")
    before, known = seen(repo), refs(repo)
    with pytest.raises(RefusedError) as caught:
        did()
    assert caught.value.code == "locked"
    assert (seen(repo), refs(repo)) == (before, known)
    assert lock.read_bytes() == b"someone's"
    lock.unlink()
    did()
    is_reverted(repo)


def interfere(monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """Let someone do something between the merge and the writing of files."""
    real = FilePlanner.plan

    def plan(*args: Any, **options: Any) -> FilePlan:
        made: FilePlan = real(*args, **options)
        deed()
        return made

    monkeypatch.setattr(FilePlanner, "plan", plan)


@pytest.mark.quick
@pytest.mark.parametrize("path", ["a", "gone", "new/file"])
@pytest.mark.variants
def test_a_file_that_changes_meanwhile(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    set_up(repo)
    before = repo.files()
    interfere(monkeypatch, lambda: repo.write(path, "someone typed this\n"))
    with pytest.raises(RefusedError) as caught:
        did()
    assert caught.value.code == "conflict"
    now = repo.files()
    assert now.pop(path)[1] == b"someone typed this\n"
    before.pop(path, None)
    assert now == before
    sound(repo)


@pytest.mark.quick
def test_something_is_staged_meanwhile(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(repo)
    repo.write("theirs", "staged by someone\n")
    before = repo.files()
    interfere(monkeypatch, lambda: repo.git("add", "theirs"))
    with pytest.raises(RefusedError) as caught:
        did()
    assert caught.value.code == "conflict"
    assert repo.files() == before
    assert repo.git("show", ":theirs") == "staged by someone\n"
    sound(repo)


@pytest.mark.parametrize("command", [REVERT, PICK])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_turn_writes_nothing_outside(
    repo: Repo, kind: str, command: str, tmp_path: Path
) -> None:
    """Its end, or its beginning, is a tree that no git would check out; as if fetched."""
    repo.git("init", "-q", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    os.chdir(repo.top)
    repo.commit(a="a\n")
    good = repo.git("rev-parse", "HEAD^{tree}").strip()
    evil = hostile_trees(repo)[kind]
    begin, end = (good, evil) if command == PICK else (evil, good)
    name, first = forged(repo, begin, session="s", agent="bot")
    _, last = forged(repo, end, kind="turn-end", turn=name, session="s", agent="bot")
    repo.git("update-ref", f"{REMOTES}evil/{name}", first)
    repo.git("update-ref", f"{REMOTE_TURN_ENDS}evil/{name}", last)
    before = sorted(tmp_path.iterdir()), repo.read(".git/config")
    hooks = sorted((repo.top / ".git/hooks").rglob("*"))
    try:
        did(name, command=command)
    except BoocodeError:
        assert repo.files().keys() == {"a"}
    assert (sorted(tmp_path.iterdir()), repo.read(".git/config")) == before
    assert sorted((repo.top / ".git/hooks").rglob("*")) == hooks
    for path in (repo.top / "evil", Path("/tmp/boocode-evil")):
        assert not path.exists()
    sound(repo)


@pytest.mark.quick
def test_a_symbolic_link_in_the_place_of_a_directory(repo: Repo, tmp_path: Path) -> None:
    """Nothing is written through it, nor deleted."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "c").write_text("c\n")
    (outside / "file").write_text("new\n")
    turn = set_up(repo)
    for path in ("dir", "new"):
        if (repo.top / path).is_dir():
            (repo.top / path / "file").unlink()
            (repo.top / path).rmdir()
        else:
            (repo.top / path).unlink()
        (repo.top / path).symlink_to(outside)
    before = seen(repo)
    assert exit_code(lambda: did(turn)) == 1
    assert seen(repo) == before
    assert sorted(path.name for path in outside.iterdir()) == ["c", "file"]


def test_thirty_thousand_changed_files(repo: Repo) -> None:
    for number in range(MANY):
        repo.write(f"d{number % 300}/f{number}", f"{number}\nsame\n")
    repo.commit()
    turn = take(label=LABEL, session="one", agent="bot").id
    for number in range(MANY):
        repo.write(f"d{number % 300}/f{number}", f"{number}\nsame\nmore\n")
    assert capture_turn_end(Repository.discover(), turn, "Stop")
    for number in range(0, MANY, 3):
        repo.write(f"d{number % 300}/f{number}", f"mine\n{number}\nsame\nmore\n")
    before = seen(repo)
    done = did(turn)
    assert len(done.result.changed) == MANY
    wanted = {
        f"d{n % 300}/f{n}": (f"mine\n{n}\nsame\n" if n % 3 == 0 else f"{n}\nsame\n").encode()
        for n in range(MANY)
    }
    assert {path: data for path, (_, data) in repo.files().items()} == wanted
    undone()
    assert seen(repo) == before
