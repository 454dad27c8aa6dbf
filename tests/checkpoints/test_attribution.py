"""Which turn wrote the lines that a commit adds, however the commit came about."""

from __future__ import annotations

import json
import os
import time
import uuid
from datetime import datetime
from pathlib import Path

import pytest

from git_boocode.checkpoints.attribution import Attributor
from git_boocode.checkpoints.capture import Request, capture, capture_turn_end
from git_boocode.checkpoints.head_moves import CommitLists
from git_boocode.repo.repository import Repository
from tests.benchmarks.attribution import built
from tests.benchmarks.attribution.truth import RIGHT, WRONG
from tests.checkpoints.kit import take
from tests.repo_kit import Repo


def begin(label: str, session: str = "s1") -> str:
    request = Request(label=label, prompt=label, agent="claude-code", session=session)
    return capture(Repository.discover(), request).checkpoint.id


def end(turn: str) -> None:
    capture_turn_end(Repository.discover(), turn, "Stop")


def turn(repo: Repo, label: str, **files: str) -> None:
    begun = begin(label)
    for path, text in files.items():
        repo.write(path, text)
    end(begun)


def written(name: str = "HEAD", top: Path | None = None) -> dict[str, list[tuple[int, int, str]]]:
    """The ranges of a commit, with the labels of their turns."""
    repository = Repository.discover(str(top) if top else None)
    commit = repository.git.line("rev-parse", name)
    found = Attributor(repository).attribute(commit).files
    return {
        path: [(each.first, each.last, each.turn.meta.text("label")) for each in ranges]
        for path, ranges in found.items()
    }


def test_a_squash_on_another_base_keeps_who_wrote_a_line(repo: Repo) -> None:
    repo.commit("base", f="a\nb\nc\n")
    repo.git("checkout", "-q", "-b", "topic")
    turn(repo, "one", f="a\none\nb\nc\n")
    repo.commit("one")
    turn(repo, "two", f="a\none\nb\ntwo\nc\n", g="alone\n")
    repo.write("f", "a\none\nb\ntwo\nc\nby hand\n")
    repo.commit("two", g="alone\nby hand\n")
    repo.git("checkout", "-q", "main")
    repo.commit("upstream", f="upstream\na\nb\nc\n")
    assert written() == {}
    repo.git("merge", "-q", "--squash", "topic")
    take(trigger="pre-commit")
    repo.git("commit", "-qm", "squashed")
    assert written() == {"f": [(3, 3, "one"), (5, 5, "two")], "g": [(1, 1, "two")]}


def test_a_copy_of_the_repository_without_file_times_answers_the_same(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    turn(repo, "one", f="a\none\n")
    repo.commit("one")
    turn(repo, "two", f="a\none\ntwo\n")
    repo.commit("two")
    take()
    listed = repo.boocode("log", "--json").json
    assert [each["subject"] for each in listed["commits"]] == ["two", "one"]
    copied = time.time() + 3600
    for path in (repo.top / ".git").rglob("*"):
        os.utime(path, (copied, copied))
    assert repo.boocode("log", "--json").json == listed
    assert written("HEAD~1") == {"f": [(2, 2, "one")]}
    assert written() == {"f": [(3, 3, "two")]}


def test_a_slow_checkpoint_is_not_taken_for_a_copy(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    state = take()
    late = time.time() + 60
    for commit, copied in ((state.commit.id, False), (state.head or "", True)):
        os.utime(repo.top / f".git/objects/{commit[:2]}/{commit[2:]}", (late, late))
        assert CommitLists(Repository.discover()).is_copied(state) is copied


def test_a_line_that_no_turn_wrote_has_none(repo: Repo) -> None:
    """Not if it is a turn's line elsewhere, was reformatted, or comes with another commit."""
    repo.commit("base", f="a\n", g="x\n")
    repo.git("checkout", "-q", "-b", "theirs")
    repo.commit("theirs", h="from elsewhere\n")
    repo.git("checkout", "-q", "main")
    begun = begin("one")
    repo.write("f", "a\nif x:\n  y\n")
    repo.git("merge", "-q", "--ff-only", "theirs")
    end(begun)
    repo.write("f", "a\nif x:\n    y\n")
    repo.write("g", "x\nif x:\n")
    repo.commit("formatted")
    assert written() == {"f": [(2, 2, "one")]}
    assert written("theirs") == {}


def test_a_removed_line_that_is_typed_again_has_no_turn(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    turn(repo, "one", f="a\nline\n")
    turn(repo, "two", f="a\n")
    repo.commit("again", f="a\nline\n")
    assert written() == {}


def test_what_a_turn_takes_from_a_stash_is_not_its_own(repo: Repo) -> None:
    repo.commit("base", f="a\nb\n")
    turn(repo, "one", f="a\none\nb\n")
    repo.git("stash", "-q")
    begun = begin("two")
    repo.git("stash", "pop", "-q")
    repo.write("f", "a\none\nb\ntwo\n")
    end(begun)
    repo.commit("both")
    assert written() == {"f": [(2, 2, "one"), (4, 4, "two")]}


def test_what_a_turn_puts_aside_and_brings_back_is_not_its_own(repo: Repo) -> None:
    repo.commit("base", f="a\nb\n", g="x\n")
    repo.write("f", "a\nb\nby hand\n")
    begun = begin("one")
    repo.git("checkout", "--", "f")
    repo.write("g", "x\nturn\n")
    take(trigger="pre-commit", in_turn=begun)
    repo.git("commit", "-qam", "one")
    repo.write("f", "a\nb\nby hand\nturn\n")
    end(begun)
    repo.commit("both")
    assert written("HEAD~1") == {"g": [(2, 2, "one")]}
    assert written() == {"f": [(4, 4, "one")]}


def test_a_worktree_that_was_removed_with_its_branch(repo: Repo, tmp_path: Path) -> None:
    """Neither becomes the turn's what a person committed in another one at the same time."""
    base = repo.commit("base", f="a\n")
    linked = Repo(tmp_path / "linked")
    repo.git("worktree", "add", "-q", "-b", "topic", str(linked.top))
    request = Request(label="one", agent="claude-code", session="s1")
    begun = capture(Repository.discover(str(linked.top)), request).checkpoint.id
    linked.commit("turn", g="turn\n")
    person = repo.commit("person", h="human one\nhuman two\nhuman three\n")
    linked.git("rebase", "-q", "main")
    linked.commit("more", g="turn\nmore\n")
    capture_turn_end(Repository.discover(str(linked.top)), begun, "Stop")
    repo.git("merge", "-q", "--ff-only", "topic")
    expected = [{}, {"g": [(1, 1, "one")]}, {"g": [(2, 2, "one")]}]
    names = [person, "HEAD~1", "HEAD"]
    assert [written(name) for name in names] == expected
    repo.git("worktree", "remove", "--force", str(linked.top))
    repo.git("branch", "-q", "-D", "topic")
    assert [written(name) for name in names] == expected
    assert written(base) == {}


def test_a_commit_of_a_running_turn_and_an_amended_part(repo: Repo) -> None:
    repo.commit("base", f="a\n", g="x\n")
    begun = begin("one")
    repo.write("f", "a\nearly\n")
    repo.commit("during the turn")
    assert written() == {"f": [(2, 2, "one")]}
    repo.write("f", "a\nlate\n")
    repo.write("g", "x\nmore")
    end(begun)
    assert written() == {"f": [(2, 2, "one")]}
    repo.git("commit", "-q", "--amend", "-m", "amended", "g")
    repo.write("g", "x\nmore\nby hand\n")
    repo.commit("ended the last line")
    assert written("HEAD~1") == {"g": [(2, 2, "one")]}  # no state has what is amended of f
    assert written() == {"f": [(2, 2, "one")]}


def test_a_clone_with_fetched_turns_answers_the_same(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f="a\nb\n")
    turn(repo, "one", f="a\none\nb\n")
    repo.git("mv", "f", "renamed")
    repo.commit("renamed", renamed="a\none\nb\nby hand\n")
    begun = begin("two")
    repo.commit("during a turn", g="early\n")
    repo.write("g", "early\nlate\n")
    end(begun)
    clone = Repo(tmp_path / "clone")
    repo.git("clone", "-q", str(repo.top), str(clone.top))
    assert written(top=clone.top) == {}
    assert clone.boocode("fetch").code == 0
    assert written("HEAD~1") == written("HEAD~1", clone.top) == {"renamed": [(2, 2, "one")]}
    assert written() == written(top=clone.top) == {"g": [(1, 1, "two")]}


def test_a_note_is_an_agent_trace_record(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    turn(repo, "one", f="a\none\n", g="1\n2\n")
    repo.commit("one")
    repo.commit("by hand", h="h\n")
    answer = repo.boocode("attribute", "HEAD~2..HEAD", "--json").json
    assert [each["written"] for each in answer["commits"]] == [True, False]
    trace = answer["commits"][0]["trace"]
    assert json.loads(repo.git("notes", "--ref=boocode", "show", "HEAD~1")) == trace
    assert trace["version"] == "0.1.0"
    assert uuid.UUID(trace["id"])
    assert datetime.fromisoformat(trace["timestamp"].replace("Z", "+00:00")).tzinfo
    assert trace["vcs"] == {"type": "git", "revision": repo.git("rev-parse", "HEAD~1").strip()}
    assert {file["path"] for file in trace["files"]} == {"f", "g"}
    for file in trace["files"]:
        for conversation in file["conversations"]:
            assert conversation["contributor"] == {"type": "ai"}
            (related,) = conversation["related"]
            assert related["type"] == "turn"
            (about,) = trace["metadata"]["dev.git-boocode"]["turns"].items()
            assert related["url"] == f"urn:uuid:{about[0]}"
            assert about[1]["prompt"] == "one"
            assert all(r["start_line"] >= 1 for r in conversation["ranges"])
    again = repo.boocode("attribute", "HEAD~1", "--json").json["commits"]
    assert [(each["written"], each["trace"]) for each in again] == [(False, trace)]
    assert repo.git("rev-list", "--count", "refs/notes/boocode") == "1\n"


def test_a_note_keeps_turns_that_are_gone_and_other_notes(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    turn(repo, "one", f="a\none\n")
    repo.commit("one")
    repo.git("notes", "--ref=boocode", "add", "-m", "of somebody else", "HEAD~1")
    assert repo.boocode("attribute").out.endswith("noted 1 commit of 1\n")
    note = repo.git("notes", "--ref=boocode", "show", "HEAD")
    repo.boocode("drop", "@")
    done = repo.boocode("attribute", "HEAD~1", "HEAD")
    assert done.out.endswith("noted 0 commits of 2 (already noted: 1, no turns: 1)\n")
    assert repo.git("notes", "--ref=boocode", "show", "HEAD") == note
    assert repo.git("notes", "--ref=boocode", "show", "HEAD~1") == "of somebody else\n"
    done = repo.boocode("attribute", "nowhere")
    assert (done.code, done.err) == (1, "error: 'nowhere' is not a commit or range\n")


def test_push_and_fetch_merge_notes_of_both_sides(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f="a\n")
    repo.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    turn(repo, "one", f="a\none\n")
    repo.commit("one")
    repo.git("push", "-q", "origin", "main")
    repo.boocode("attribute")
    repo.git("config", "boocode.shareNotes", "false")
    assert "notes" not in repo.boocode("push", "--yes", "--json").json
    repo.git("config", "--unset", "boocode.shareNotes")
    clone = Repo(tmp_path / "clone")
    repo.git("clone", "-q", str(tmp_path / "remote.git"), str(clone.top))
    for name in ("HEAD", "HEAD~1"):
        clone.git("notes", "--ref=boocode", "add", "-m", "of the clone", name)
    assert clone.boocode("push", "--json").json["notes"]
    before = repo.git("notes", "--ref=boocode", "show", "HEAD")
    assert repo.boocode("push").out == "pushed the notes of commits to origin\n"
    assert clone.boocode("fetch", "--no-notes", "--json").json.get("notes") is None
    assert clone.boocode("fetch", "--json").json["notes"]
    assert repo.boocode("fetch").out == "nothing to fetch: what origin has is here\n"
    for each, mine in ((repo, before), (clone, before)):
        assert each.git("notes", "--ref=boocode", "show", "HEAD") == mine
        assert each.git("notes", "--ref=boocode", "show", "HEAD~1") == "of the clone\n"


def test_notes_are_read_where_turns_are_gone(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f="a\n")
    turn(repo, "one", f="a\none\n")
    repo.commit("one")
    (about,) = repo.boocode("attribute", "--json").json["commits"][0]["files"][0]["ranges"]
    clone = Repo(tmp_path / "clone")
    repo.git("clone", "-q", str(repo.top), str(clone.top))
    assert clone.boocode("blame", "f").code == 1
    clone.git("fetch", "-q", "origin", "refs/notes/boocode:refs/notes/boocode")
    clone.write("f", "new\na\none\n")
    ranges = clone.boocode("blame", "f", "--json").json["ranges"]
    assert [each["source"] for each in ranges] == ["before", "commit", "note"]
    known = ("turn", "agent", "session", "label", "created_at")
    expected = [about[key] for key in ("turn", "agent", "session", "prompt", "created_at")]
    assert [ranges[2][key] for key in known] == expected
    assert f"{about['turn'][:13]} (claude-code  one " in clone.boocode("blame", "f").out
    shown = clone.boocode("show", "HEAD", "--json").json
    assert shown["attribution"] == [{"path": "f", "ranges": [about]}]
    assert "turns       f: line 2: " in clone.boocode("show", "HEAD").out
    assert "none wrote any" in clone.boocode("show", "HEAD~1").out


@pytest.mark.slow
def test_the_turns_of_a_range_of_commits(repo: Repo) -> None:
    repo.commit("base", f="a\n")
    for name in ("one", "two", "three"):
        turn(repo, name, f=f"{repo.read('f').decode()}{name}\n")
        repo.commit(name)
    repo.write("f", "by hand\n")

    def listed(*words: str) -> list[str]:
        return [row["label"] for row in repo.boocode("log", "--json", *words).json["checkpoints"]]

    assert listed("HEAD~2..HEAD") == ["three", "two"]
    assert listed("HEAD~3..HEAD~2") == ["one"]
    assert listed("HEAD~3..HEAD", "--", "g") == []
    assert listed("-n", "1", "HEAD~3..HEAD", "--", "f") == ["three"]
    page = repo.boocode("view", "HEAD~2..HEAD", "--output", "pr.html", "--json").json
    assert page["turns"] == 2
    repo.boocode("attribute", "HEAD~3..HEAD")
    repo.boocode("drop", "@~1")
    answer = repo.boocode("log", "HEAD~2..HEAD", "--json").json
    assert [each["prompt"] for each in answer["noted"]] == ["two"]
    assert "claude-code  two (only noted)\n" in repo.boocode("log", "HEAD~2..HEAD").out
    assert repo.boocode("log", "nothing..here").code == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1010))
def test_random_histories(repo: Repo, tmp_path: Path, seed: int) -> None:
    (tmp_path / "random").mkdir()
    history = built(tmp_path / "random", seed)
    judged = history.judged()
    assert [each for each in judged if each.verdict == WRONG] == []
    assert sum(each.verdict == RIGHT for each in judged) >= 0.9 * len(judged)
