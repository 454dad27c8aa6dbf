"""What is pushed without its secrets: the rest is the same, and nothing here changes."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.checkpoints.store import twins
from git_boocode.checkpoints.store.catalog import Catalog
from git_boocode.checkpoints.store.secret_scan import FoundSecret
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.checkpoints.test_sharing import Both, at, both, fetch, push, shared, take_in
from tests.repo.test_masking import pem
from tests.repo_kit import Repo

__all__ = ["both"]

TOKEN = "ghp_" + "a1" * 18
MASKED = "⟨masked: GitHub token⟩"
OTHER = "abcdefghij1234567890"


def refuse(remote: str, found: Sequence[FoundSecret]) -> None:
    raise RefusedError(f"{len(found)} secrets", code="secrets")


def redact(both: Both, *names: str, dry_run: bool = False) -> tuple[str, ...]:
    """Push without secrets; the ids of what had some."""
    done = push(both.ours, None, *names, redact=True, found_secrets=refuse, dry_run=dry_run)
    assert not done.rejected
    return done.redacted


def plant(both: Both) -> None:
    """Secrets in a file in the history, in staged, tracked and untracked files."""
    both.ours.commit(**{"in/history": f"one\n{TOKEN}\n"})
    both.ours.commit(**{"in/history": "one\n"})
    both.ours.write("a", f"staged {TOKEN}\n")
    both.ours.git("add", "a")
    both.ours.write("a", f"changed {TOKEN}\n")
    both.ours.write("b/c", f"{pem(random.Random(2))}\nlast\n")
    both.ours.write("b/same", "same\n")


def test_a_redacted_twin(both: Both) -> None:
    plant(both)
    taken = take(
        label=f"use {TOKEN}",
        prompt=f"use {TOKEN} now",
        meta={"key": [TOKEN], TOKEN: 1, "Authorization": f"token {OTHER}"},
    )
    before = shared(both.ours)
    with pytest.raises(RefusedError):
        push(both.ours, found_secrets=refuse)
    assert shared(both.remote) == []
    assert redact(both) == (taken.id,)
    assert shared(both.ours) == before
    everything = both.remote.git("log", "-p", "--format=%B", "--all", "-m", "--root")
    objects = both.remote.git("cat-file", "--batch-all-objects", "--batch")
    for secret in (TOKEN, "PRIVATE KEY"):
        assert secret not in everything
        assert secret not in objects
    assert fetch(both.theirs).ids == [taken.id]
    twin = Catalog(at(both.theirs)).find(taken.id)
    assert twin.meta.values["redacted"] is True
    assert twin.meta.text("label") == f"use {MASKED}"
    assert twin.meta.values["meta"] == {
        "key": [MASKED],
        MASKED: 1,
        "Authorization": "token ⟨masked: authorization⟩",
    }
    git = both.theirs.git
    assert git("show", f"{twin.commit.id}:a") == f"changed {MASKED}\n"
    assert git("show", f"{twin.meta.part('index', 'commit')}:a") == f"staged {MASKED}\n"
    assert git("show", f"{twin.commit.id}:b/c") == "⟨masked: private key⟩\nlast\n"
    assert git("show", f"{twin.commit.id}:b/same") == "same\n"
    assert git("show", f"{twin.head}:in/history") == "one\n"
    git("fsck", "--strict")
    assert "redacted    secrets were replaced" in both.theirs.boocode("show", taken.id).out


def test_files_in_utf_16(both: Both) -> None:
    text = "\ufeffé 😀 {}\r\nlast \ud800 line\r\n"
    (both.ours.top / "new").write_bytes(text.format(TOKEN).encode("utf-16-le", "surrogatepass"))
    taken = take()
    assert redact(both) == (taken.id,)
    done = both.remote.git("show", f"refs/boocode/checkpoints/{taken.id}:new")
    assert os.fsencode(done) == text.format(MASKED).encode("utf-16-le", "surrogatepass")


def test_a_file_that_is_too_large(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "LARGEST_REDACTED", 40)
    both.ours.write("large", f"token = {TOKEN}\n")
    take()
    with pytest.raises(RefusedError, match="its secrets cannot be replaced") as caught:
        redact(both)
    assert caught.value.message.startswith("'large' is larger than ")
    assert caught.value.hints == ("'git boocode help push' says in SECRETS what works instead",)
    assert shared(both.remote) == []


def test_a_later_end_of_a_turn_waits_for_the_next_push(both: Both) -> None:
    """It was not searched for secrets."""
    turn = take()
    both.ours.write("new", "new\n")
    capture_turn_end(Repository.discover(), turn.id, "stop")

    def confirm(_remote: str, _paths: Sequence[str]) -> None:
        both.ours.write("new", f"{TOKEN}\n")
        capture_turn_end(Repository.discover(), turn.id, "stop")

    push(both.ours, found_secrets=refuse, confirm=confirm)
    assert TOKEN not in both.remote.git("cat-file", "--batch-all-objects", "--batch")
    with pytest.raises(RefusedError):
        push(both.ours, found_secrets=refuse)


def test_notes_that_come_meanwhile_wait_for_the_next_push(both: Both) -> None:
    both.ours.git("notes", "--ref=boocode", "add", "-m", "{}")
    both.ours.write("new", "new\n")
    take()

    def confirm(_remote: str, _paths: Sequence[str]) -> None:
        both.ours.git("notes", "--ref=boocode", "append", "-m", TOKEN)

    assert push(both.ours, found_secrets=refuse, confirm=confirm).notes
    assert TOKEN not in both.remote.git("cat-file", "--batch-all-objects", "--batch")


def test_a_partial_clone_pushes_to_another_remote(both: Both, tmp_path: Path) -> None:
    both.ours.commit(**{"in/history": f"{TOKEN}\n"})
    both.ours.commit(**{"in/history": "one\n"})
    both.ours.git("push", "-q", "origin", "main")
    both.remote.git("config", "uploadpack.allowFilter", "true")
    address = f"file://{both.remote.top}"
    both.ours.git("clone", "-q", "--filter=blob:none", address, str(tmp_path / "partial"))
    partial, other = Repo(tmp_path / "partial"), str(tmp_path / "other.git")
    partial.git("init", "-q", "--bare", other)
    partial.write("new", "new\n")
    taken = take_in(partial)
    with pytest.raises(RefusedError):
        push(partial, other, found_secrets=refuse)
    assert push(partial, found_secrets=refuse).ids == [taken.id]
    assert push(partial, other, redact=True, found_secrets=refuse).redacted == (taken.id,)
    assert TOKEN not in Repo(tmp_path / "other.git").git("log", "-p", "--all")


def test_a_push_again(both: Both) -> None:
    both.ours.write("new", f"{TOKEN}\n")
    first = take()
    capture_turn_end(Repository.discover(), first.id, "stop")
    assert redact(both) == (first.id,)
    there = shared(both.remote)
    assert redact(both) == ()
    assert push(both.ours, found_secrets=refuse).ids == []
    # Also without the note of what was pushed.
    (both.ours.top / ".git/boocode/twins.json").unlink()
    assert redact(both) == ()
    assert push(both.ours, found_secrets=refuse).ids == []
    both.ours.write("new", "no secret\n")
    second = take()
    assert push(both.ours, found_secrets=refuse).ids == [second.id]
    assert {*there} < {*shared(both.remote)}


def test_the_original_stays(both: Both) -> None:
    both.ours.write("new", f"{TOKEN}\n")
    taken = take()
    assert redact(both) == (taken.id,)
    here = shared(both.ours)
    assert fetch(both.ours).ids == []
    assert shared(both.ours) == here
    (both.ours.top / ".git/boocode/twins.json").unlink()
    assert fetch(both.ours).differing == [taken.id]
    found = Catalog(at(both.ours)).find(taken.id)
    assert (found.commit.id, found.ref) == (taken.commit.id, taken.ref)


@pytest.mark.slow
def test_only_what_has_secrets_gets_a_twin(both: Both) -> None:
    clean = take()
    both.ours.write("new", f"{TOKEN}\n")
    taken = take()
    assert redact(both, dry_run=True) == (taken.id,)
    assert shared(both.remote) == []
    assert redact(both) == (taken.id,)
    assert f"{clean.ref} {clean.commit.id}" in shared(both.remote)


def test_proposals(both: Both) -> None:
    edit = {"path": "a", "content": f"token = {TOKEN}\n"}
    assert both.ours.boocode("propose", stdin=json.dumps(edit)).code == 0
    with pytest.raises(RefusedError):
        push(both.ours, found_secrets=refuse)
    assert len(redact(both)) == 1
    assert TOKEN not in both.remote.git("cat-file", "--batch-all-objects", "--batch")
    assert len(fetch(both.theirs).proposals) == 1
    assert redact(both) == ()


def test_notes_with_secrets_stay_here(both: Both) -> None:
    both.ours.git("notes", "--ref=boocode", "add", "-m", f"use {TOKEN}", "HEAD")
    found: list[FoundSecret] = []
    push(both.ours, found_secrets=lambda _, secrets: found.extend(secrets), dry_run=True)
    head = both.ours.git("rev-parse", "HEAD").strip()
    assert [str(each) for each in found] == [f"{head} (note): GitHub token"]
    done = push(both.ours, redact=True, found_secrets=refuse)
    assert (done.notes, done.rejected_notes) == (False, "there are secrets in them")
    assert both.remote.git("for-each-ref", "refs/notes") == ""


@pytest.mark.slow
def test_conflict_stages_are_left_out(both: Both) -> None:
    git = both.ours.git
    git("checkout", "-q", "-b", "other")
    both.ours.commit(a=f"theirs {TOKEN}\n")
    git("checkout", "-q", "main")
    both.ours.commit(a="ours\n")
    git("merge", "other", check=False)
    taken = take()
    assert redact(both) == (taken.id,)
    fetch(both.theirs)
    twin = Catalog(at(both.theirs)).find(taken.id)
    assert twin.meta.values["index"] == {"tree": None, "commit": None, "details": None}
    assert TOKEN not in both.remote.git("cat-file", "--batch-all-objects", "--batch")
