"""Some paths are changed to what is computed from the current state: one step of undo and redo."""

from __future__ import annotations

import pytest

from git_boocode.checkpoints.restore import commands
from git_boocode.checkpoints.restore.request import (
    MakeWanted,
    RestoreRequest,
    TurnStep,
    WantedFile,
    WantedPaths,
)
from git_boocode.checkpoints.restore.result import RestoreResult
from git_boocode.checkpoints.worktree.snapshot import Snapshot
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.index import Entry
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


def blob(repo: Repo, text: str) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin=text).strip()


def change(repo: Repo, make: MakeWanted, *, dry_run: bool = False) -> RestoreResult:
    turn = repo.boocode("checkpoint", "--json").json["id"]
    request = RestoreRequest(dry_run=dry_run, diff=True)
    return commands.change_paths(
        Repository.discover(str(repo.top)), TurnStep("revert", (turn,)), make, request
    )


def undo(repo: Repo) -> RestoreResult:
    return commands.undo(Repository.discover(str(repo.top)), RestoreRequest())


def redo(repo: Repo) -> RestoreResult:
    return commands.redo(Repository.discover(str(repo.top)), RestoreRequest())


@pytest.fixture
def work(repo: Repo) -> MakeWanted:
    """Changes one file, creates one and deletes one; stages one of them."""
    repo.commit(kept="kept\n", changed="old\n", gone="gone\n")
    ids = {text: blob(repo, text) for text in ("new\n", "made\n")}

    def make(snapshot: Snapshot) -> WantedPaths:
        del snapshot
        return WantedPaths(
            [
                WantedFile("changed", "100644", ids["new\n"]),
                WantedFile("made", "100755", ids["made\n"]),
                WantedFile("gone", ""),
            ],
            {"changed": [Entry("H", "100644", ids["new\n"], 0, "changed")], "gone": []},
        )

    return make


def files(repo: Repo) -> dict[str, str]:
    return {path.name: path.read_text() for path in repo.top.iterdir() if path.is_file()}


def test_only_the_named_paths_change_and_undo_and_redo_concern_only_them(
    repo: Repo, work: MakeWanted
) -> None:
    before = files(repo)
    done = change(repo, work)
    after = {"kept": "kept\n", "changed": "new\n", "made": "made\n"}
    assert files(repo) == after
    assert {each.path: each.action for each in done.changed} == {
        "changed": "modify",
        "made": "create",
        "gone": "delete",
    }
    assert "+made" in done.diff
    status = ["D  gone", "M  changed", "?? made"]
    assert sorted(repo.git("status", "--porcelain").splitlines()) == sorted(status)
    # What others do since is no matter, and neither are their turns.
    repo.write("kept", "by others\n")
    assert repo.boocode("checkpoint", "--session", "other").code == 0
    undo(repo)
    assert files(repo) == {**before, "kept": "by others\n"}
    assert repo.git("status", "--porcelain") == " M kept\n"
    redo(repo)
    assert files(repo) == {**after, "kept": "by others\n"}


def test_an_undo_is_refused_if_the_same_paths_have_changed_since(
    repo: Repo, work: MakeWanted
) -> None:
    change(repo, work)
    repo.write("changed", "by hand\n")
    with pytest.raises(RefusedError) as refused:
        undo(repo)
    assert refused.value.code == "later_changes"
    assert refused.value.details == {"later_changes": ["changed"]}
    assert files(repo)["changed"] == "by hand\n"


def test_a_dry_run_changes_nothing(repo: Repo, work: MakeWanted) -> None:
    before = files(repo)
    done = change(repo, work, dry_run=True)
    assert len(done.changed) == 3
    assert done.undo is None
    assert "-old\n+new" in done.diff
    assert files(repo) == before
    assert repo.git("for-each-ref", "refs/boocode/safety/") == ""


def test_nothing_to_change_takes_no_safety_checkpoint(repo: Repo) -> None:
    repo.commit(a="a\n")
    done = change(repo, lambda _: WantedPaths())
    assert (done.changed, done.undo) == ((), None)
    assert repo.git("for-each-ref", "refs/boocode/safety/") == ""


def test_an_ignored_file_in_the_way_is_refused(repo: Repo) -> None:
    repo.commit(**{".gitignore": "made\n"}, a="a\n")
    repo.write("made", "mine\n")
    identifier = blob(repo, "made\n")
    wanted = WantedPaths([WantedFile("a", ""), WantedFile("made", "100644", identifier)])
    with pytest.raises(RefusedError) as refused:
        change(repo, lambda _: wanted)
    assert refused.value.code == "conflict"
    assert files(repo)["made"] == "mine\n"
    assert files(repo)["a"] == "a\n"


def test_exact_bytes_are_written_where_git_converts(repo: Repo) -> None:
    repo.commit(**{".gitattributes": "* text=auto eol=lf\n"}, a="one\ntwo\n")
    tree = blob(repo, "one\n2\n")
    raw = blob(repo, "one\r\n2\n")
    change(repo, lambda _: WantedPaths([WantedFile("a", "100644", tree, raw)]))
    assert (repo.top / "a").read_bytes() == b"one\r\n2\n"
    undo(repo)
    assert (repo.top / "a").read_bytes() == b"one\ntwo\n"
    redo(repo)
    assert (repo.top / "a").read_bytes() == b"one\r\n2\n"


def test_git_gc_keeps_what_an_undo_compares_with(repo: Repo, work: MakeWanted) -> None:
    change(repo, work)
    repo.git("gc", "-q", "--prune=now")
    assert repo.git("fsck", "--no-dangling") == ""
    undo(repo)
    assert files(repo)["changed"] == "old\n"
