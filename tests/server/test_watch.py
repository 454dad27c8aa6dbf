"""Notifications of changed turns and proposals, whichever process changes them."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from git_boocode.repo.repository import Repository
from git_boocode.server import watch
from tests.repo_kit import Repo
from tests.server.conftest import Serve
from tests.server.kit import Client, edit

TURNS, PROPOSALS = "boocode://turns", "boocode://proposals"


def updated(client: Client, within: float = 20.0) -> str:
    """The next resource that the server reports as changed."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        message = client.others.pop(0) if client.others else client.read(within)
        if message.get("method") == "notifications/resources/updated":
            return str(message["params"]["uri"])
    raise AssertionError("nothing was reported")


@pytest.mark.slow
def test_another_process_changes_turns_and_proposals(client: Client, work: Repo) -> None:
    for uri in (TURNS, PROPOSALS):
        assert client.ask("resources/subscribe", uri=uri) == {}
    work.boocode("checkpoint", "-m", "there")
    assert updated(client) == TURNS
    work.boocode("propose", stdin=json.dumps(edit("a", "two", "2")))
    assert updated(client) == PROPOSALS
    # Packing them changes nothing.
    work.git("pack-refs", "--all")
    time.sleep(2.5)
    assert client.ask("resources/unsubscribe", uri=TURNS) == {}
    assert client.others == []
    work.boocode("checkpoint", "-m", "again")
    work.boocode("discard")
    assert updated(client) == PROPOSALS
    assert client.ask("resources/unsubscribe", uri=PROPOSALS) == {}


@pytest.mark.slow
def test_what_can_be_read_has_changed(client: Client, work: Repo) -> None:
    assert [row["uri"] for row in client.ask("resources/list")["resources"]] == [TURNS, PROPOSALS]
    taken = client.succeed("checkpoint", label="x")["id"]
    [turns] = client.ask("resources/read", uri=TURNS)["contents"]
    assert taken in turns["text"]
    [proposals] = client.ask("resources/read", uri=PROPOSALS)["contents"]
    assert '"proposal": null' in proposals["text"]
    assert str(work.top) in proposals["text"]
    for uri in (None, "", f"boocode://checkpoints/{taken}", "file:///"):
        assert client.fail("resources/subscribe", uri=uri)["code"] == -32602


@pytest.mark.slow
def test_several_worktrees_are_watched(rooted: Serve, tmp_path: Path, work: Repo) -> None:
    work.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked")
    client = rooted(work.top, linked.top)
    client.ask("resources/subscribe", uri=TURNS)
    linked.boocode("turn", "begin", "-m", "asked")
    assert updated(client) == TURNS


class Told:
    """Counts what is reported."""

    def __init__(self) -> None:
        self.uris: list[str] = []

    def __call__(self, uri: str) -> None:
        self.uris.append(uri)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_EVERY", 0.02)


@pytest.mark.usefixtures("quick")
def test_nobody_looks_unless_somebody_subscribed(repo: Repo) -> None:
    repo.commit(a="a\n")
    watched, before = watch.Watch(), threading.active_count()
    watched.forget("nobody")
    assert threading.active_count() == before
    for who in ("one", "two"):
        watched.subscribe(who, (TURNS,), [Repository.discover()], Told())
        assert threading.active_count() == before + 1
    watched.forget("one")
    assert threading.active_count() == before + 1
    watched.close()
    assert threading.active_count() == before


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("form", ["files", "packed", "reftable"])
def test_each_form_of_refs(repo: Repo, form: str) -> None:
    if form == "reftable":
        try:
            repo.git("init", "-q", "--ref-format=reftable", "other")
        except AssertionError:
            pytest.skip("this git has no reftables")
        repo = Repo(repo.top / "other")
    repo.commit(a="a\n")
    commit = repo.git("rev-parse", "HEAD").strip()
    ref = "refs/boocode/checkpoints/01a20055-7241-78ae-91d5-8b35fb252aab"
    watched, told = watch.Watch(), Told()
    watched.subscribe("me", watch.WATCHED, [Repository.discover(str(repo.top))], told)
    repo.git("update-ref", ref, commit)
    wait_for(told, 1)
    if form == "packed":
        repo.git("pack-refs", "--all")
    repo.git("update-ref", "-d", ref)
    wait_for(told, 2)
    # It is listed among the turns.
    repo.git("commit", "-q", "--allow-empty", "-m", "new")
    wait_for(told, 3)
    watched.close()
    assert told.uris == [TURNS] * 3


def wait_for(told: Told, count: int) -> None:
    until = time.monotonic() + 10
    while len(told.uris) < count:
        assert time.monotonic() < until, told.uris
        time.sleep(0.01)
