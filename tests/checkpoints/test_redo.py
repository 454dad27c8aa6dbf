"""Undo and redo, through any number of restores, with what goes along: archive and callback."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_boocode.checkpoints.restore.commands import repair
from git_boocode.checkpoints.restore.plan import needed_safety_ids
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.repo.errors import BoocodeError, RefusedError
from git_boocode.repo.lock import begin_restore, interrupted_restore
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import RefChange
from tests.checkpoints.kit import (
    Host,
    Seen,
    back,
    interrupted,
    redone,
    refs,
    seen,
    sound,
    take,
    undone,
)
from tests.repo.test_missing_objects import lose
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

# The repository, what it looks like at each checkpoint, and their ids.
Three = tuple[Repo, list[Seen], list[str]]


@pytest.fixture
def three(repo: Repo) -> Three:
    """Three checkpoints of one chat, what they look like, and a mess after them."""
    states, taken = [], []
    repo.commit(a="0\n")
    for number in range(3):
        repo.write("a", f"{number}\n")
        repo.write(f"f{number}", "x")
        repo.git("add", f"f{number}")
        states.append(seen(repo))
        taken.append(take(chat="c", message=f"m{number}").id)
    repo.write("a", "mess\n")
    return repo, states, taken


def refused(act: object, code: str = "not_found") -> BoocodeError:
    """It says no, for this reason."""
    assert callable(act)
    with pytest.raises(RefusedError) as caught:
        act()
    assert (caught.value.code, caught.value.exit_code) == (code, 1)
    return caught.value


def there_and_back(repo: Repo, there: Seen, restored: Seen) -> None:
    """What was interrupted can be undone and done again."""
    undone()
    assert seen(repo) == there
    redone()
    assert seen(repo) == restored


def test_undo_and_redo_with_checkpoints_in_between(three: Three) -> None:
    repo, states, taken = three
    mess = seen(repo)
    for number in (2, 0, 1):
        back(taken[number])
        assert seen(repo) == states[number]
        take(label="in between")
    seen_in_order = [mess, states[2], states[0], states[1]]
    for state in seen_in_order[-2::-1]:
        undone()
        assert seen(repo) == state
        take(label="in between")
    refused(undone)
    for state in seen_in_order[1:]:
        redone()
        assert seen(repo) == state
        take(label="in between")
    refused(redone)
    undone()
    assert seen(repo) == states[0]
    redone()
    undone()
    undone()
    assert seen(repo) == states[2]
    sound(repo)


def test_a_restore_ends_the_chain(three: Three) -> None:
    repo, states, taken = three
    back(taken[0])
    undone()
    back(taken[1])
    ended, way = refused(redone).hints
    assert ended == "the latest restore cleared the redo history"
    assert seen(repo) == states[1]
    back(way.split()[3].rstrip("'"))
    assert seen(repo) == states[0]
    assert refused(redone).hints == ()


def test_edits_after_an_undo_come_back_when_the_redo_is_undone(three: Three) -> None:
    repo, states, taken = three
    back(taken[0])
    undone()
    repo.write("a", "written after the undo\n")
    edited = seen(repo)
    redone()
    assert seen(repo) == states[0]
    undone()
    assert seen(repo) == edited


def test_a_redo_restores_edits_that_the_undo_reverted(three: Three) -> None:
    repo, _, taken = three
    back(taken[0])
    repo.write("a", "written after the restore\n")
    edited = seen(repo)
    undone()
    redone()
    assert seen(repo) == edited


def test_the_archive_follows(three: Three) -> None:
    _, _, taken = three
    checkpoints = names("checkpoints")
    first = back(taken[0])
    assert sorted(first.archived) == taken[1:]
    for _ in range(2):
        assert sorted(undone().returned) == taken[1:]
        assert (names("checkpoints"), names("archive")) == (checkpoints, [])
        again = redone()
        assert sorted(again.archived) == taken[1:]
        assert (names("checkpoints"), names("archive")) == (taken[:1], taken[1:])
    undone()
    assert redone(conversation=False).archived == ()
    assert names("checkpoints") == taken


def test_the_log_stays_where_the_conversation_does(
    three: Three,
) -> None:
    repo, _, taken = three
    mess, host = seen(repo), Host(repo)
    undo_id = back(taken[0], callback=host.path).undo
    assert undo_id is not None
    for outcome in (
        undone(conversation=False),
        back(undo_id, conversation=False),
        back(undo_id, paths=("a",)),
    ):
        assert outcome.archived == ()
        assert names("checkpoints") == taken[:1]
    assert sorted(undone(files=False, callback=host.path).returned) == taken[1:]
    assert seen(repo) == mess


def test_an_undo_to_the_same_files_returns_the_log(three: Three) -> None:
    repo, _, taken = three
    first = back(taken[0]).undo
    assert first is not None
    repo.write("a", "mess\n")
    for number in range(3):
        repo.write(f"f{number}", "x")
        repo.git("add", f"f{number}")
    assert sorted(back(first).returned) == taken[1:]
    assert names("checkpoints") == taken


def test_the_undo_of_a_return_archives_the_checkpoints_again(
    three: Three,
) -> None:
    repo, _, taken = three
    first = back(taken[0]).undo
    assert first is not None
    assert sorted(back(first).returned) == taken[1:]
    later = take(chat="c").id
    for _ in range(2):
        assert sorted(undone().archived) == taken[1:]
        assert names("checkpoints") == [taken[0], later]
        assert sorted(redone().returned) == taken[1:]
        assert names("checkpoints") == [*taken, later]
    undone()
    assert sorted(undone().returned) == taken[1:]
    assert names("archive") == []
    # What is in the log already does not leave it.
    repo.write("a", "another mess\n")
    assert back(first).archived == ()
    assert undone().returned == ()
    assert names("checkpoints") == [*taken, later]


def names(below: str) -> list[str]:
    """The ids of refs, sorted."""
    return sorted(line.split()[0].rpartition("/")[2] for line in refs(Repo(Path.cwd()), below))


def test_files_alone_stay_files_alone(three: Three) -> None:
    repo, states, taken = three
    host = Host(repo)
    back(taken[0], conversation=False)
    undone(callback=host.path)
    redone(callback=host.path)
    assert seen(repo) == states[0]
    assert (host.events, names("archive")) == ([], [])


def test_the_conversation_alone(three: Three) -> None:
    repo, _, taken = three
    mess = seen(repo)
    host = Host(repo)
    back(taken[0], files=False, callback=host.path)
    repo.write("a", "written since\n")
    edited = seen(repo)
    # Nothing else was restored, so that there is nothing to undo without a callback.
    refused(undone, "no_callback")
    undone(callback=host.path)
    assert seen(repo) == edited != mess
    redone(callback=host.path)
    assert seen(repo) == edited
    assert host.events == ["prepare", "trim", "prepare", "undo", "prepare", "trim"]
    repo.write("a", "mess\n")
    back(taken[1])
    refused(lambda: undone(files=False), "no_callback")


def test_the_callback_of_the_restore_is_missing_on_undo(three: Three) -> None:
    repo, _, taken = three
    mess = seen(repo)
    host = Host(repo)
    assert not back(taken[1], callback=host.path).conversation_left
    assert undone(dry_run=True).conversation_left
    outcome = undone()
    assert outcome.conversation_left
    assert seen(repo) == mess
    assert host.events == ["prepare", "trim"]
    # As the hint says.
    late = back(outcome.checkpoint.id, files=False, callback=host.path)
    assert not late.conversation_left
    assert host.events[2:] == ["prepare", "undo"]
    assert host.received[-1]["checkpoint_id"] == outcome.checkpoint.id
    assert not back(taken[1]).conversation_left
    assert not undone().conversation_left


def test_a_partial_undo_reverts_the_move_of_head(repo: Repo) -> None:
    repo.commit(a="a\n")
    taken = take()
    new = repo.commit(a="new\n")
    old = repo.git("rev-parse", "HEAD~").strip()
    host = Host(repo)
    back(taken.id, head=True, callback=host.path)
    assert repo.git("rev-parse", "HEAD").strip() == old
    assert undone(conversation=False).head_moved
    assert repo.git("rev-parse", "HEAD").strip() == new
    undone(files=False, callback=host.path)
    assert (repo.git("rev-parse", "HEAD").strip(), repo.read("a")) == (new, b"new\n")
    assert host.events == ["prepare", "trim", "prepare", "undo"]


def test_a_redo_reports_the_restored_conversation(three: Three) -> None:
    repo, _, taken = three
    host = Host(repo)
    back(taken[1], callback=host.path)
    undone(callback=host.path)
    outcome = redone(callback=host.path)
    assert host.events == ["prepare", "trim", "prepare", "undo", "prepare", "trim"]
    first, again = host.received[1], host.received[-1]
    assert again["operation"] == "redo"
    assert again["restore_id"] == outcome.undo
    same = (
        "checkpoint_id",
        "commit",
        "chat",
        "message",
        "anchor",
        "label",
        "commits",
        "created_at",
    )
    assert {key: again[key] for key in same} == {key: first[key] for key in same}
    undone(callback=host.path)
    assert host.received[-1]["checkpoint_id"] == outcome.undo


def test_a_redo_knows_the_conversation_without_the_checkpoint(three: Three) -> None:
    repo, _, taken = three
    back(taken[1])
    undone()
    ref = f"refs/boocode/checkpoints/{taken[1]}"
    repo.git("update-ref", "-d", ref)
    repo.git("gc", "-q", "--prune=now")
    host = Host(repo)
    redone(callback=host.path)
    assert (host.received[-1]["checkpoint_id"], host.received[-1]["message"]) == (taken[1], "m1")


@pytest.mark.parametrize("event", ["undo", "redo"])
@pytest.mark.parametrize(
    "how",
    ["exit 1", "echo '{\"messages_deleted\": -1}'"],
)
def test_a_failing_callback_changes_nothing(three: Three, event: str, how: str) -> None:
    repo, _, taken = three
    back(taken[0])
    if event == "redo":
        undone()
    before, refs_before = seen(repo), refs(repo)
    act = undone if event == "undo" else redone
    sent = "undo" if event == "undo" else "trim"
    host = Host(repo, **{sent: how})
    with pytest.raises(BoocodeError) as caught:
        act(callback=host.path)
    assert (caught.value.code, caught.value.exit_code) == ("callback", 128)
    assert (seen(repo), refs(repo)) == (before, refs_before)
    assert host.events == ["prepare", sent, "rollback"]
    act()
    sound(repo)


# What was interrupted.


@pytest.mark.parametrize("with_host", [True, False])
@pytest.mark.parametrize("at", ["prepare", "commit", "_archive"])
def test_an_interrupted_restore_is_undone_and_done_again(
    three: Three, monkeypatch: pytest.MonkeyPatch, at: str, with_host: bool
) -> None:
    repo, states, taken = three
    mess = seen(repo)
    host = Host(repo).path if with_host else None
    interrupted(monkeypatch, lambda: back(taken[1], callback=host), at=at)
    repo.write("a", "half-way\n")
    refused(redone, "interrupted")
    refused(lambda: back(taken[0], files=False), "interrupted")
    refused(lambda: back(taken[0], paths=("a",)), "interrupted")
    if with_host:
        refused(lambda: back(taken[0], conversation=False), "interrupted")
    else:
        back(taken[0], conversation=False)
        assert seen(repo) == states[0]
        undone()
    there_and_back(repo, mess, states[1])
    assert names("checkpoints") == taken[:2]
    undone()
    assert seen(repo) == mess
    assert names("checkpoints") == taken
    refused(undone)
    sound(repo)


@pytest.mark.parametrize("at", ["prepare", "_archive"])
def test_an_interrupted_redo(three: Three, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    repo, states, taken = three
    mess = seen(repo)
    back(taken[1])
    undone()
    interrupted(monkeypatch, redone, at=at)
    there_and_back(repo, mess, states[1])


def test_an_interrupted_undo_is_taken_back_with_its_archive(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, states, taken = three
    mess = seen(repo)
    back(taken[1])
    interrupted(monkeypatch, undone, at="end_restore")
    assert names("checkpoints") == taken
    undone()
    assert seen(repo) == states[1]
    assert names("checkpoints") == taken[:2]
    undone()
    assert seen(repo) == mess
    assert names("checkpoints") == taken


def test_the_undo_of_an_interrupted_restore_is_interrupted(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, states, taken = three
    mess = seen(repo)
    interrupted(monkeypatch, lambda: back(taken[1]))
    for _ in range(2):
        interrupted(monkeypatch, undone, at="commit")
        repo.write("a", "half-way\n")
    there_and_back(repo, mess, states[1])


def test_a_restore_over_an_interrupted_one(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, states, taken = three
    mess = seen(repo)
    interrupted(monkeypatch, lambda: back(taken[1]))
    repo.write("typed", "since\n")
    halfway = seen(repo)
    back(taken[0])
    assert seen(repo) == states[0]
    assert repo.boocode("log").err == ""
    undone()
    # What was there before comes back; and that a restore had been interrupted then, is said.
    assert seen(repo) == halfway
    assert "interrupted half-way" in repo.boocode("log").err
    undone()
    # The first restore did not write it.
    assert repo.read("typed") == b"since\n"
    (repo.top / "typed").unlink()
    assert seen(repo) == mess
    sound(repo)


def test_a_restore_over_an_interrupted_one_whose_safety_checkpoint_is_damaged(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(**{"dir/f": "a\n"})
    taken = take()
    repo.write("dir/f", "b\n")
    interrupted(monkeypatch, lambda: back(taken.id))
    repo.write("typed", "since\n")
    safety = refs(repo, "safety")[0].partition(" ")[0]
    lose(repo, f"{safety}:dir")
    back(taken.id)
    assert not (repo.top / "typed").exists()


def test_the_host_rolls_back_what_was_interrupted_before_the_next_restore(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, states, taken = three
    host = Host(repo)
    interrupted(monkeypatch, lambda: back(taken[1], callback=host.path))
    halfway = seen(repo)
    refused(lambda: back(taken[0], conversation=False), "interrupted")
    # Where that fails, nothing is touched, and the interruption is remembered.
    bad = Host(repo, rollback="exit 1")
    with pytest.raises(BoocodeError):
        back(taken[0], callback=bad.path)
    assert seen(repo) == halfway
    assert "interrupted half-way" in repo.boocode("log").err
    host = Host(repo)
    outcome = back(taken[0], callback=host.path)
    assert host.events == ["rollback", "prepare", "trim"]
    rolled_back, _, trim = host.received
    assert rolled_back["reason"] == "it was interrupted"
    assert (rolled_back["checkpoint_id"], rolled_back["message"]) == (taken[1], "m1")
    assert (trim["restore_id"], trim["checkpoint_id"]) == (outcome.undo, taken[0])
    assert rolled_back["restore_id"] != trim["restore_id"]
    assert seen(repo) == states[0]


def test_the_target_of_the_interrupted_restore_is_gone(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, _, taken = three
    interrupted(monkeypatch, lambda: back(taken[2]))
    undone()
    repo.git("update-ref", "-d", f"refs/boocode/checkpoints/{taken[2]}")
    repo.git("gc", "-q", "--prune=now")
    before = seen(repo)
    refused(redone)
    assert seen(repo) == before


def test_doctor_rolls_back(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, states, taken = three
    mess = seen(repo)
    host = Host(repo)
    repo.git("config", "boocode.callback", host.path)
    interrupted(monkeypatch, lambda: back(taken[1]))
    answer = repo.boocode("doctor", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "interrupted_restore")
    assert "doctor --fix" in answer.json["error"]["hint"]
    done = repo.boocode("doctor", "--fix", "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    assert done.json["findings"][0]["fixed"] is True
    assert seen(repo) == mess
    assert host.events == ["prepare", "trim", "prepare", "undo"]
    assert repo.boocode("doctor").out == "no problems found\n"
    redone()
    assert seen(repo) == states[1]


def test_there_is_nothing_to_repair(repo: Repo) -> None:
    repo.commit(a="a\n")
    repository = Repository.discover()
    assert repair(repository, RestoreRequest()) is None
    take()
    begin_restore(repository.state_dir, "gone")
    assert repair(repository, RestoreRequest()) is None
    assert interrupted_restore(repository.state_dir) is None


def test_no_needed_checkpoint_is_missed(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, states, taken = three
    mess = seen(repo)
    for number in (2, 0, 1):
        back(taken[number])
    undone()
    redone()
    undone()
    undone()
    interrupted(monkeypatch, undone)
    repository = Repository.discover()
    catalog = Catalog(repository)
    safety = catalog.safety()
    keep = needed_safety_ids(safety, interrupted_restore(repository.state_dir))
    dropped = [entry for entry in safety if entry.id not in keep]
    assert dropped
    catalog.store.update_refs([RefChange(entry.ref, None, entry.commit.id) for entry in dropped])
    undone()
    assert seen(repo) == states[2]
    undone()
    assert seen(repo) == mess
    for number in (2, 0, 1):
        redone()
        assert seen(repo) == states[number]
    refused(redone)


def test_checkpoints_after_the_restore_stay_in_the_log(repo: Repo) -> None:
    repo.commit(a="a\n")
    first = take(chat="c")
    take(chat="c")
    repo.write("a", "mess\n")
    back(first.id)
    later = take(chat="c")
    for _ in range(2):
        undone()
        redone()
        assert Catalog(Repository.discover()).find("@").id == later.id


@pytest.mark.parametrize("paths", [(), ("x.log",)])
def test_files_of_a_restore_are_deleted_even_if_ignored_now(
    repo: Repo, paths: tuple[str, ...]
) -> None:
    repo.commit(a="a\n")
    repo.write("x.log", "x\n")
    taken = take()
    (repo.top / "x.log").unlink()
    repo.write(".git/info/exclude", "*.log\n")
    repo.write("y.log", "precious\n")
    before = seen(repo)
    back(taken.id, paths=paths)
    restored = seen(repo)
    assert repo.read("x.log") == b"x\n"
    for _ in range(2):
        undone()
        assert seen(repo) == before
        redone()
        assert seen(repo) == restored
    repo.write("x.log", "edited\n")
    undone()
    assert repo.read("x.log") == b"edited\n"


def test_an_ignored_file_that_no_restore_made_stays(repo: Repo) -> None:
    repo.commit(a="a\n")
    for path in ("a", "x.log", "y.log"):
        repo.write(path, "old\n")
    taken = take()
    repo.write(".git/info/exclude", "*.log\n")
    repo.write("a", "new\n")
    host = Host(repo)
    for path in ("x.log", "y.log"):
        repo.write(path, "precious\n")
    before = seen(repo)
    of_one = back(taken.id, paths=("a",))
    of_none = back(taken.id, files=False, callback=host.path)
    assert of_one.undo is not None
    assert of_none.undo is not None
    for safety in (of_none.undo, of_one.undo):
        back(safety, conversation=False)
        assert repo.read("x.log") == repo.read("y.log") == b"precious\n"
    assert seen(repo) == before
