"""Notes of commits that come from anywhere: large ones, wrong ones, those of other programs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.checkpoints.commit_notes import attribute, commits_of
from git_boocode.checkpoints.line_origin import blame
from git_boocode.checkpoints.store.agent_trace import note_bytes, parse_note
from git_boocode.repo.errors import RefusedError
from git_boocode.repo.repository import Repository
from tests.checkpoints.test_attribution import begin, turn
from tests.repo_kit import Repo

ONE, TWO = (f"01990000-0000-7000-8000-00000000000{number}" for number in (1, 2))
Lines = Sequence[tuple[int, int]]
LINES = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5)).map(lambda at: (at[0], sum(at))))


def record(
    ranges: Mapping[str, Lines], path: str = "f", commit: str = "", **more: object
) -> dict[str, Any]:
    """An Agent Trace record of lines by turn."""
    conversations = [
        {
            "ranges": [{"start_line": first, "end_line": last} for first, last in lines],
            "related": [{"type": "turn", "url": f"urn:uuid:{each}"}],
        }
        for each, lines in ranges.items()
    ]
    vcs = {"vcs": {"type": "git", "revision": commit}} if commit else {}
    return {"files": [{"path": path, "conversations": conversations}], **vcs, **more}


def note(repo: Repo, content: object, name: str = "HEAD") -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    blob = repo.git("hash-object", "-w", "--stdin", stdin=text).strip()
    repo.git("notes", "--ref=boocode", "add", "-f", "-C", blob, name)


def noted(top: Path, name: str = "HEAD") -> dict[str, list[tuple[int, int, str]]]:
    """The lines of turns, as `show` and others have them."""
    (found,) = attribute(Repository.discover(str(top)), [name], dry_run=True)
    return {p: [(e.first, e.last, e.turn.id) for e in ranges] for p, ranges in found.files.items()}


def blamed(top: Path) -> list[str]:
    """The turns of the lines of a file in its note; empty for none."""
    lines = blame(Repository.discover(str(top)), "f")
    return [each.origin.noted.id if each.origin.noted else "" for each in lines]


def test_a_note_counts_as_far_as_the_commit_adds_lines(repo: Repo) -> None:
    repo.commit("base", f="1\n2\n", other="x\n")
    repo.commit("more", f="1\n2\n3\n4\n")
    many = [(first, 999_998) for first in range(1, 6001)]
    note(repo, record({ONE: many, TWO: [(4, 9)]}))
    started = time.process_time()
    assert noted(repo.top) == {"f": [(3, 3, ONE)]}
    assert blamed(repo.top) == ["", "", ONE, ""]
    assert time.process_time() - started < 1
    for path in ("other", "../f", "nowhere", "a\0b\ud800"):
        note(repo, record({ONE: [(1, 4)]}, path))
        assert noted(repo.top) == {}
    assert repo.boocode("attribute").out == "noted 0 commits of 1 (note removed: 1)\n"
    assert repo.git("notes", "--ref=boocode", "list") == ""


def test_why_a_note_is_not_read(repo: Repo) -> None:
    commit = repo.commit("base", f="1\n")
    begins = f"the note of commit {commit[:13]} was not read: "
    for content, reason in (
        (b'{"files":' + b"[" * 100_000, "it is nested too deeply"),
        (
            b'{"metadata":{"x":' + b"[" * 400 + b"]" * 400 + b'},"files":[]}',
            "it is nested too deeply",
        ),
        (b" " * (5 << 20), "it is larger than 4 MiB"),
        (b"by hand", "it is not an Agent Trace record"),
        (b"\xff\0", "it is not an Agent Trace record"),
    ):
        note(repo, content)
        (found,) = attribute(Repository.discover(), ["HEAD"], dry_run=True)
        assert (found.files, found.problem) == ({}, begins + reason)
    for command in (("show", "HEAD"), ("blame", "f"), ("attribute", "-n")):
        done = repo.boocode(*command)
        assert done.err == f"warning: {begins}{reason}\n"


def test_long_numbers_and_texts_of_a_note(repo: Repo) -> None:
    repo.commit("base", f="1\n2\n")
    digits = b"9" * 200_000
    text = json.dumps(record({ONE: [(1, 12345)]})).encode().replace(b"12345", digits)
    started = time.process_time()
    assert parse_note(text)[0].files == {}
    assert time.process_time() - started < 1
    texts = {"prompt": "\x1b[31mred\nmore", "agent": "\ud800"}
    note(repo, record({ONE: [(1, 1)]}, metadata={"dev.git-boocode": {"turns": {ONE: texts}}}))
    assert "f: line 1: 01990000-0000 ?  ?[31mred\n" in repo.boocode("show", "HEAD").out


@pytest.mark.parametrize(
    "kind", ["damaged", *(pytest.param(k, marks=pytest.mark.slow) for k in ("blob", "tree"))]
)
def test_notes_that_cannot_be_read(repo: Repo, kind: str) -> None:
    repo.commit("base", f="1\n")
    turn(repo, "one", f="1\n2\n")
    repo.commit("one")
    assert repo.boocode("attribute").code == 0
    names = {"blob": "HEAD:f", "tree": "HEAD^{tree}"}
    if kind in names:
        repo.git("update-ref", "refs/notes/boocode", names[kind])
    else:
        tree = repo.git("rev-parse", "refs/notes/boocode^{tree}").strip()
        (repo.top / ".git/objects" / tree[:2] / tree[2:]).unlink()
    shown = repo.boocode("show", "HEAD")
    assert "turns       f: line 2: " in shown.out
    assert shown.err.startswith("warning: the notes at refs/notes/boocode cannot be read: ")
    done = repo.boocode("attribute")
    assert done.code == 128
    assert done.err.endswith("hint: to begin anew: git update-ref -d refs/notes/boocode\n")


def test_notes_of_others_are_left(repo: Repo) -> None:
    """A symbolic ref leads to no ref of the user's, and a program's record to that of another."""
    repo.commit("base", f="1\n")
    turn(repo, "one", f="1\n2\n")
    repo.commit("one")
    repo.git("notes", "add", "-m", "by hand")
    before = repo.git("rev-parse", "refs/notes/commits")
    repo.git("symbolic-ref", "refs/notes/boocode", "refs/notes/commits")
    assert repo.boocode("attribute").code == 0
    assert repo.git("rev-parse", "refs/notes/commits") == before
    other = {"url": "https://example.com", "ranges": [{"start_line": 1, "end_line": 1}]}
    theirs = {"files": [{"path": "f", "conversations": [other]}], "metadata": {"com.example": 1}}
    note(repo, theirs)
    note(repo, theirs, "HEAD~1")
    repo.boocode("attribute", "HEAD~1", "HEAD")
    merged = json.loads(repo.git("notes", "--ref=boocode", "show", "HEAD"))
    assert len(merged["files"][0]["conversations"]) == 2
    assert other in merged["files"][0]["conversations"]
    assert merged["metadata"].keys() == {"dev.git-boocode", "com.example"}
    assert json.loads(repo.git("notes", "--ref=boocode", "show", "HEAD~1")) == theirs


def test_the_fanout_of_git_is_kept(repo: Repo) -> None:
    """Git divides the tree of notes from about 80 notes on."""
    repo.commit("base", f="1\n")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    commits = [repo.git("commit-tree", "-m", "0", tree).strip()]
    script = "".join(
        f"commit refs/heads/many\nmark :{number}\ncommitter a <a@b> {number} +0000\ndata 0\n\n"
        for number in range(1, 150)
    )
    repo.git("fast-import", "--quiet", stdin=script)
    commits += repo.git("rev-list", "many").split()
    note(repo, record({ONE: [(1, 1)]}), commits[0])
    pairs = "".join(f"{commits[0]} {each}\n" for each in commits[1:])
    repo.git("notes", "--ref=boocode", "copy", "--stdin", stdin=pairs)
    assert "/" in repo.git("ls-tree", "-r", "--name-only", "refs/notes/boocode")
    turn(repo, "one", f="1\n2\n")
    commit = repo.commit("one")
    note(repo, record({ONE: [(1, 1)]}))
    repo.boocode("attribute")
    assert len(repo.git("notes", "--ref=boocode", "list").splitlines()) == 151
    assert json.loads(repo.git("notes", "--ref=boocode", "show"))["vcs"]["revision"] == commit


def test_a_note_of_a_rewritten_commit_counts_where_content_is_the_same(repo: Repo) -> None:
    """Of turns that are gone; in a file that is the same, or if git names the commit."""
    repo.commit("base", f="1\n2\n")
    old = repo.commit("one", f="1\nof the turn\n2\n")
    note(repo, record({ONE: [(2, 2)]}, commit=old))
    repo.git("commit", "-q", "--amend", "-m", "another message")
    assert noted(repo.top) == {"f": [(2, 2, ONE)]}
    repo.boocode("attribute")
    repo.git("commit", "-q", "--amend", "-m", "again")
    assert noted(repo.top) == {"f": [(2, 2, ONE)]}
    # Git copies the note itself if `notes.rewriteRef` says so.
    repo.commit("moved", f="0\n1\n2\n")
    repo.write("f", "0\n1\nof the turn\nby hand\n2\n")
    repo.git("commit", "-qam", "two")
    assert noted(repo.top) == {}
    repository = Repository.discover(str(repo.top))
    new = repo.git("rev-parse", "HEAD").strip()
    (found,) = attribute(repository, ["HEAD"], rewritten=[(old, new)], dry_run=True)
    assert [(each.first, each.last) for each in found.files["f"]] == [(3, 3)]
    repo.git("notes", "--ref=boocode", "copy", old, new)
    assert blamed(repo.top) == [""] * 5
    assert noted(repo.top) == {"f": [(3, 3, ONE)]}
    repo.git("notes", "--ref=boocode", "append", "-m", json.dumps(record({TWO: [(4, 4)]})), new)
    assert noted(repo.top) == {"f": [(3, 3, ONE), (4, 4, TWO)]}


@pytest.mark.slow
def test_the_notes_of_both_sides_are_united(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f="1\n")
    repo.commit("more", f="1\n2\n3\n4\n")
    remote = tmp_path / "remote.git"
    repo.git("clone", "-q", "--bare", str(repo.top), str(remote))
    texts = []
    for order in (1, -1):
        repo.git("--git-dir", str(remote), "update-ref", "-d", "refs/notes/boocode")
        sides = [Repo(tmp_path / f"{name}{order}") for name in ("one", "two")]
        for side, lines in zip(sides, ({ONE: [(2, 3)]}, {TWO: [(3, 4)]}), strict=True):
            repo.git("clone", "-q", str(remote), str(side.top))
            note(side, record(lines))
        note(sides[0], record({ONE: [(1, 1)]}), "HEAD~1")
        first, second = sides[::order]
        assert first.boocode("push", "--json").json["notes"]
        assert second.boocode("push", "--json").json["notes"]
        assert first.boocode("fetch", "--json").json["notes"]
        assert [noted(each.top) for each in sides] == [{"f": [(2, 2, ONE), (4, 4, TWO)]}] * 2
        assert noted(first.top, "HEAD~1") == {"f": [(1, 1, ONE)]}
        texts.append(first.git("notes", "--ref=boocode", "show"))
    assert texts[0] == texts[1]


@given(st.tuples(*[st.dictionaries(st.sampled_from((ONE, TWO)), LINES)] * 3))
def test_records_are_united_in_any_order(
    records: tuple[dict[str, list[tuple[int, int]]], ...],
) -> None:
    one, two, three = (parse_note(json.dumps(record(each)).encode())[0] for each in records)
    united = note_bytes(one.merged(two).merged(three).as_json("c"))
    assert united == note_bytes(three.merged(two.merged(one)).as_json("c"))
    assert united == note_bytes(parse_note(united)[0].merged(two).as_json("c"))
    claimed: dict[int, set[str]] = {}
    for each in records:
        for turn_id, lines in each.items():
            for first, last in lines:
                for number in range(first, last + 1):
                    claimed.setdefault(number, set()).add(turn_id)
    single = {number: turns.pop() for number, turns in claimed.items() if len(turns) == 1}
    ranges = parse_note(united)[0].files.get("f", ())
    assert single == {n: each.turn.id for each in ranges for n in range(each.first, each.last + 1)}


def test_a_refused_push_leaves_the_notes_as_they_were(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f="1\n")
    remote = Repo(tmp_path / "remote.git")
    repo.git("clone", "-q", "--bare", str(repo.top), str(remote.top))
    repo.git("remote", "add", "origin", str(remote.top))
    note(remote, record({ONE: [(1, 1)]}))
    note(repo, record({TWO: [(1, 1)]}))
    before = repo.git("rev-parse", "refs/notes/boocode")
    hook = remote.write("hooks/pre-receive", "#!/bin/sh\nexit 1\n", 0o755)
    done = repo.boocode("push")
    assert done.err == "warning: the notes of commits were not pushed: pre-receive hook declined\n"
    assert repo.git("rev-parse", "refs/notes/boocode") == before
    hook.unlink()
    assert repo.boocode("push").out == "pushed the notes of commits to origin\n"
    assert blamed(repo.top) == [""]
    remote.git("notes", "--ref=boocode", "add", "-f", "-m", "{}")
    before = repo.git("rev-parse", "refs/notes/boocode")
    assert repo.boocode("push").out == "nothing to push: origin has them all\n"
    assert repo.git("rev-parse", "refs/notes/boocode") == before


@pytest.mark.slow
def test_a_clone_does_not_take_lines_from_notes_of_fetched_turns(
    repo: Repo, tmp_path: Path
) -> None:
    """It may know less of the turns than the repository where the note was made."""
    repo.commit("base", f="1\n")
    begin("one")
    repo.commit("one", f="1\n2\n")
    repo.boocode("attribute")
    remote = tmp_path / "remote.git"
    repo.git("clone", "-q", "--bare", str(repo.top), str(remote))
    repo.git("-C", str(remote), "config", "uploadpack.allowFilter", "true")
    repo.git("remote", "add", "origin", str(remote))
    repo.boocode("push", "--yes")
    for options in ((), ("--depth=1",), ("--filter=blob:none",)):
        clone = Repo(tmp_path / f"clone{len(options)}{options}")
        repo.git("clone", "-q", *options, f"file://{remote}", str(clone.top))
        assert clone.boocode("fetch").code == 0
        assert noted(clone.top) == noted(repo.top) != {}
        assert clone.boocode("attribute").out.endswith("noted 0 commits of 1 (already noted: 1)\n")
        listing = clone.git("rev-list", "--objects", "--missing=print", "refs/notes/boocode")
        assert "?" not in listing


@pytest.mark.slow
def test_processes_that_note_at_the_same_time(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", f="1\n")
    tops = [tmp_path / f"tree{number}" for number in range(6)]
    for number, top in enumerate(tops):
        repo.git("worktree", "add", "-q", "-b", str(number), str(top))
        tree = Repo(top)
        tree.boocode("checkpoint", "-m", "turn", "--agent", "a", "--session", str(number))
        tree.commit("of a turn", **{f"f{number}": f"of turn {number}\nand more\n"})
    command = ("git", "boocode", "attribute")
    processes = [subprocess.Popen(command, cwd=top, stdout=subprocess.DEVNULL) for top in tops]
    assert [each.wait() for each in processes] == [0] * len(tops)
    assert len(repo.git("notes", "--ref=boocode", "list").splitlines()) == len(tops)


@pytest.mark.slow
def test_a_killed_writer_does_not_stop_the_next(repo: Repo) -> None:
    repo.commit("base", f="1\n")
    turn(repo, "one", f="1\n2\n")
    repo.commit("one")
    for delay in (0.1, 0.2, 0.25, 0.3):
        command = (sys.executable, "-m", "git_boocode", "attribute")
        with subprocess.Popen(command, cwd=repo.top, start_new_session=True) as process:
            time.sleep(delay)
            process.kill()
        assert repo.boocode("attribute").code == 0
        repo.git("update-ref", "-d", "refs/notes/boocode")
    lock = repo.write(".git/refs/notes/boocode.lock")
    assert repo.boocode("attribute").out.endswith("noted 1 commit of 1\n")
    assert not lock.exists()


def test_names_that_are_not_commits(repo: Repo) -> None:
    repo.commit("base", f="1\n")
    repo.commit("more", f="2\n")
    repository = Repository.discover()
    for name in ("HEAD^{tree}", "HEAD:f", "-n5", "^HEAD", "HEAD^@", "", "x..y", "--foo..HEAD"):
        with pytest.raises(RefusedError, match="is not a commit or range"):
            commits_of(repository, [name])
    done = repo.boocode("attribute", "--", "--all")
    assert (done.code, done.err) == (1, "error: '--all' is not a commit or range\n")


def test_merges_tags_and_empty_ranges(repo: Repo) -> None:
    repo.commit("base", f="1\n")
    for name in ("a", "b", "c"):
        repo.git("checkout", "-q", "-b", name, "main")
        turn(repo, name, **{name: f"of turn {name}\nand more\n"})
        repo.commit(name)
    repo.git("merge", "-q", "a", "b", "-m", "octopus")
    repo.git("tag", "-a", "v1", "-m", "tag")
    answer = repo.boocode("attribute", "--json", "v1", "main..HEAD", "main").json["commits"]
    files = [[file["path"] for file in each["files"]] for each in answer]
    assert files[0] == []
    assert sorted(files[1:]) == [[], ["a"], ["b"], ["c"]]
    assert repo.boocode("attribute", "HEAD..HEAD").out == "noted 0 commits of 0\n"
