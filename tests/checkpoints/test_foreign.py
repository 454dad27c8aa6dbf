"""Checkpoints of another worktree, session or repository are refused unless asked for."""

from __future__ import annotations

import pytest

from git_boocode.checkpoints.restore.commands import refuse_foreign
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import back, refs, seen, take, undone
from tests.repo_kit import Repo


def code(act: object) -> str:
    assert callable(act)
    with pytest.raises(RefusedError) as caught:
        act()
    assert caught.value.exit_code == 1
    assert f"--force {caught.value.code.replace('_', '-')}" in caught.value.hints[-1]
    return caught.value.code


def test_of_another_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="a\n", **{".gitignore": "*.log\n"})
    repo.write("a", "there\n")
    taken = take(chat="c").id
    take(chat="c")
    repo.git("worktree", "add", "-q", str(repo.top.parent / f"{repo.top.name}-linked"))
    linked = Repo(repo.top.parent / f"{repo.top.name}-linked")
    monkeypatch.chdir(linked.top)
    before, refs_before = seen(linked), refs(linked)
    for allowed in (frozenset[str](), frozenset({"other-session", "other-repository"})):
        assert code(lambda: back(taken, force=allowed)) == "other_worktree"  # noqa: B023
    assert (seen(linked), refs(linked)) == (before, refs_before)
    outcome = back(taken, force=frozenset({"other-worktree"}))
    assert linked.read("a") == b"there\n"
    # What was taken there is of no concern to the chat here.
    assert outcome.archived == ()
    undone()
    assert seen(linked) == before


def test_a_safety_checkpoint_of_another_worktree_gives_no_right_to_delete(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(a="a\n", **{".gitignore": "*.log\n"})
    repo.write("made.log", "of the checkpoint\n")
    repo.git("add", "-f", "made.log")
    taken = take().id
    repo.git("rm", "-qf", "made.log")
    safety = back(taken).undo
    assert safety is not None
    linked = Repo(repo.top.parent / f"{repo.top.name}-linked")
    repo.git("worktree", "add", "-q", str(linked.top))
    monkeypatch.chdir(linked.top)
    linked.write("made.log", "precious\n")
    linked.write("a", "mess\n")
    back(safety, force=frozenset({"other-worktree"}))
    assert linked.read("made.log") == b"precious\n"


def test_of_another_session(repo: Repo) -> None:
    repo.commit(a="a\n")
    taken = take(session="theirs").id
    nobodys = take().id
    repo.write("a", "mess\n")
    assert code(lambda: back(taken, session="mine")) == "other_session"
    assert repo.read("a") == b"mess\n"
    for name, options in (
        (taken, {"session": "theirs"}),
        (taken, {}),
        (nobodys, {"session": "mine"}),
        (taken, {"session": "mine", "force": frozenset({"other-session"})}),
    ):
        back(name, **options)
        assert repo.read("a") == b"a\n"
        undone()


def test_of_another_repository(repo: Repo) -> None:
    repo.commit(a="a\n")
    fetched = take()._replace(ref="refs/boocode/remotes/team/mate/01")
    here = Repository.discover()
    assert code(lambda: refuse_foreign(here, fetched, RestoreRequest())) == "other_repository"
    others = frozenset({"other-worktree", "other-session"})
    with pytest.raises(RefusedError, match="to another repository: 'team/mate'"):
        refuse_foreign(here, fetched, RestoreRequest(force=others))
    refuse_foreign(here, fetched, RestoreRequest(force=frozenset({"other-repository"})))
    # Worktrees of the same name are not the same worktree, and others no obstacle.
    fetched.meta.values["worktree"] = {"name": "elsewhere"}
    refuse_foreign(here, fetched, RestoreRequest(force=frozenset({"other-repository"})))


def test_the_command(repo: Repo) -> None:
    repo.commit(a="a\n")
    take(session="theirs\33[31m")
    repo.write("a", "mess\n")
    done = repo.boocode("restore", "@", "--session", "mine")
    assert done.code == 1
    assert done.err.startswith("error: checkpoint '")
    assert "belongs to another session: 'theirs?[31m'\n" in done.err
    for force in (("--force", "other-worktree,other-session"), ("--force", "other-session")):
        assert repo.boocode("restore", "@", "--session", "mine", *force).code == 0
    for words in (["everything"], [""], []):
        wrong = repo.boocode("restore", "@", "--json", "--force", *words)
        assert (wrong.code, wrong.json["error"]["code"]) == (129, "usage")


def test_restoring_a_fetched_checkpoint_archives_nothing(repo: Repo) -> None:
    """It may claim to be of any chat."""
    repo.commit(a="a\n")
    theirs = take(chat="c")
    ref = f"refs/boocode/remotes/friend/{theirs.id}"
    repo.git("update-ref", ref, theirs.commit.id)
    repo.git("update-ref", "-d", theirs.ref)
    repo.write("a", "changed\n")
    ours = take(chat="c")
    outcome = back(theirs.id, force=frozenset({"other-repository"}))
    assert outcome.archived == ()
    assert Catalog(Repository.discover()).find("@").id == ours.id
