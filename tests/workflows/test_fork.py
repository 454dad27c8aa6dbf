"""A fork: the state of a turn in a worktree of its own, and nothing else changes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from git_boocode.checkpoints import new_worktree
from git_boocode.checkpoints.callback import HostFunction
from git_boocode.checkpoints.capture import capture_turn_end, read_staging
from git_boocode.checkpoints.new_worktree import ForkRecord
from git_boocode.checkpoints.restore.commands import restore
from git_boocode.checkpoints.restore.request import RestoreRequest
from git_boocode.checkpoints.store.catalog import Checkpoint
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.repository import Repository
from git_boocode.workflows.fork_turn import ForkedConversation, ForkRequest, ForkResult, fork
from git_boocode.workflows.view_data import page_data
from tests.checkpoints.kit import seen, take
from tests.checkpoints.states import STATES, mutate
from tests.checkpoints.test_states import QUICK_STATES, quick_or_slow, users_refs
from tests.kill_kit import killed_at
from tests.repo_kit import Repo


def forked(name: str, top: Path, **options: object) -> ForkResult:
    """Fork a turn of the current directory's worktree."""
    return fork(Repository.discover(), name, ForkRequest(str(top), **options))  # type: ignore[arg-type]


def recorded(repo: Repo, checkpoint: Checkpoint) -> tuple[object, object, object]:
    """What a checkpoint holds, without nested repositories and what could not be captured."""
    lines = repo.git("ls-tree", "-r", "-z", checkpoint.tree).split("\0")
    skipped = checkpoint.meta.skipped_paths
    files = [
        line
        for line in lines
        if not line.startswith("160000") and line.partition("\t")[2] not in skipped
    ]
    staging = read_staging(Repository.discover(), checkpoint.meta)
    return files, staging, checkpoint.meta.part("head", "commit")


@pytest.mark.parametrize("state", quick_or_slow(STATES, QUICK_STATES & {"dirty", "unborn"}))
def test_in_every_state(state: str, repo: Repo, tmp_path: Path) -> None:
    STATES[state](repo)
    turn = take()
    before, refs = seen(repo), users_refs(repo)
    top = tmp_path / "elsewhere/fork"
    result = forked(turn.id, top)
    assert (seen(repo), users_refs(repo)) == (before, refs)
    assert result.checkpoint is not None
    assert recorded(repo, result.checkpoint) == recorded(repo, turn)
    # The bytes and modes are those that a restore writes.
    mutate(repo)
    restore(Repository.discover(), turn.id, RestoreRequest(force=frozenset({"ignored"})))
    original, made = repo.files(), Repo(top).files()
    assert {path: made.get(path) for path in made} == {path: original.get(path) for path in made}
    assert Repo(top).git("fsck", "--connectivity-only", "--no-dangling") == ""


def test_the_end_of_a_turn(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    turn = take(label="write b")
    repo.write("b", "b\n")
    now = tmp_path / "now"
    forked("@", now, after=True)
    assert (now / "b").read_text() == "b\n"
    take(label="next")
    repo.write("b", "changed\n")
    later = tmp_path / "later"
    result = forked(turn.id, later, after=True, branch="attempt")
    assert (later / "b").read_text() == "b\n"
    assert Repo(later).git("branch", "--show-current") == "attempt\n"
    assert Repo(later).git("status", "--porcelain") == "?? b\n"
    assert result.checkpoint is not None
    origin = {"turn": turn.id, "worktree": "main", "after": True}
    assert result.checkpoint.meta.values["forked_from"] == origin
    shown = repo.boocode("show", result.checkpoint.id).out
    assert f"forked from the end of {turn.id}, worktree main\n" in shown
    assert re.search(
        rf"fork of the end of {turn.id[:8]}[-0-9a-f]* of worktree main \(write b\)\n",
        repo.boocode("log", "--all").out,
    )


def test_hooks_that_do_not_hold_in_the_fork_are_named(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    take()
    assert repo.boocode("fork", "@", str(tmp_path / "none"), "--json").json["next"] == [
        f"cd {tmp_path}/none"
    ]
    repo.boocode("hooks", "install", "--agent", "claude-code", "--exclude")
    repo.boocode("hooks", "install", "--agent", "codex", "--user")
    # A checkpoint has the file, and so has the fork.
    repo.boocode("hooks", "install", "--agent", "gemini")
    take()
    done = repo.boocode("fork", "@", str(tmp_path / "fork"), "--no-conversation")
    install = f"git -C {tmp_path}/fork boocode hooks install --agent claude-code"
    assert done.out.endswith(f"go on there with:\n{install}\ncd {tmp_path}/fork\n")
    said = "warning: the hooks of Claude Code do not hold there, so what it does is not recorded\n"
    assert said in done.err
    assert subprocess.run(install, shell=True, capture_output=True).returncode == 0
    assert (tmp_path / "fork/.claude/settings.local.json").exists()
    assert "hold in" not in repo.boocode("log", cwd=tmp_path / "fork").err


def nothing_made(repo: Repo, tmp_path: Path) -> None:
    """Nothing is left of a fork."""
    assert [path.name for path in tmp_path.iterdir() if "fork" in path.name] == []
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main\n"
    assert len(repo.git("for-each-ref", "refs/boocode/checkpoints").splitlines()) == 1
    linked = repo.top / ".git/worktrees"
    assert not linked.exists() or os.listdir(linked) == []


def test_refusals_make_nothing(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "only in the checkpoint\n")
    turn = take()
    (tmp_path / "empty").mkdir()
    blob = repo.git("rev-parse", f"{turn.tree}:b").strip()
    for arguments, code in (
        ([turn.id, str(tmp_path / "empty")], "exists"),
        ([turn.id, ".git/fork"], "outside_worktree"),
        ([turn.id, "fork"], "invalid_input"),
        ([turn.id, "a/fork"], "invalid_input"),
        ([turn.id, str(tmp_path / "fork"), "-b", "main"], "exists"),
        ([turn.id, str(tmp_path / "fork"), "-b", "main/more"], "exists"),
        ([turn.id, str(tmp_path / "fork"), "-b", "a..b"], "invalid_input"),
        (["nothing", str(tmp_path / "fork")], "not_found"),
    ):
        for only in ([], ["--dry-run"]):
            done = repo.boocode("fork", *arguments, *only, "--json")
            assert (done.code, done.json["error"]["code"]) == (1, code)
            nothing_made(repo, tmp_path)
    (repo.top / ".git/objects" / blob[:2] / blob[2:]).unlink()
    done = repo.boocode("fork", turn.id, str(tmp_path / "fork"), "--json")
    assert (done.code, done.json["error"]["code"]) == (128, "missing_objects")
    nothing_made(repo, tmp_path)


def test_a_directory_inside_of_the_worktree_must_be_ignored(repo: Repo) -> None:
    repo.commit("base", a="a\n")
    turn = take()
    done = repo.boocode("fork", "@", "attempts/one")
    assert f"'{repo.top}/attempts/one' is inside of the worktree '{repo.top}'" in done.err
    assert re.search(rf"works: \.\./{repo.top.name}-{turn.id[:8]}", done.err)
    repo.write(".git/info/exclude", "attempts/\n")
    assert repo.boocode("fork", "@", "attempts/one").code == 0
    assert repo.git("status", "--porcelain") == ""
    assert Repo(repo.top / "attempts/one").boocode("fork", turn.id, "two").code == 1


def test_an_unborn_branch_has_the_name_of_the_directory(repo: Repo, tmp_path: Path) -> None:
    repo.write("a", "a\n")
    take()
    refused = repo.boocode("fork", "@", str(tmp_path / "a b"))
    assert (refused.code, refused.err.splitlines()[0]) == (
        1,
        "error: 'a b' is not a valid branch name",
    )
    assert forked("@", tmp_path / "fork").branch == "fork"
    repo.commit("base")
    repo.git("branch", "more")
    assert repo.boocode("fork", "@", str(tmp_path / "more")).code == 1
    assert forked("@", tmp_path / "more", branch="less").branch == "less"
    assert Repo(tmp_path / "more").git("status", "--porcelain") == "?? a\n"


def test_a_worktree_that_git_knows_is_not_made_twice(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    take()
    top = tmp_path / "fork"
    forked("@", top)
    shutil.rmtree(top)
    done = repo.boocode("fork", "@", str(top))
    assert "although it is missing" in done.err
    repo.git(*shlex.split(done.err.rpartition("with: git ")[2]))
    forked("@", top)
    assert repo.git("worktree", "list").count("\n") == 2


@pytest.mark.slow
def test_without_a_directory_it_is_outside_of_everything(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    repo.git("-C", str(tmp_path / "bare.git"), "worktree", "add", "-q", str(tmp_path / "linked"))
    about = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    repo.git(*about, str(tmp_path / "bare.git"), "libs/part")
    repo.git("commit", "-q", "-m", "part")
    places = {repo.top: repo.top, tmp_path / "linked": tmp_path / "bare"}
    places[repo.top / "libs/part"] = repo.top.parent / "part"
    for top, named in places.items():
        turn = Repo(top).boocode("checkpoint", "--json").json["id"]
        for number in ("", "-2"):
            answer = Repo(top).boocode("fork", turn, "--json").json
            assert re.fullmatch(rf"{named}-{turn[:8]}[-0-9a-f]*{number}", answer["worktree"])
            assert Repo(Path(answer["worktree"])).git("status", "--porcelain") == ""


def test_forks_at_the_same_time(repo: Repo) -> None:
    repo.commit("base", a="a\n")
    take()
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(repo.boocode, "fork", "@", "-b", f"b{n // 2}") for n in range(4)]
    done = [call.result() for call in calls]
    assert sorted(each.code for each in done) == [0, 0, 1, 1]
    assert sum("already" in each.err for each in done) == 2
    assert repo.git("worktree", "list").count("\n") == 3


@pytest.mark.slow
@pytest.mark.parametrize("repaired", [False, True])
@pytest.mark.parametrize("call", ["mkdir", "rename", "rmdir", "unlink", "replace"])
def test_a_fork_that_was_killed_succeeds_when_it_is_repeated(
    repo: Repo, tmp_path: Path, call: str, *, repaired: bool
) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "untracked\n")
    turn = take()
    before = seen(repo)
    top = tmp_path / "forks/of it/fork"
    number = 1
    while killed_at(call, number, lambda: forked(turn.id, top, branch="topic")):
        assert seen(repo) == before
        if repaired:
            repo.boocode("doctor", "--fix")
        if top.exists():
            # Only the last step was missing.
            assert repaired is (repo.boocode("doctor").code == 0)
        elif repaired:
            nothing_made(repo, tmp_path)
        if not (repaired and top.exists()):
            complete(repo, forked(turn.id, top, branch="topic"))
        repo.git("worktree", "remove", "--force", str(top))
        repo.git("branch", "-D", "topic")
        for left in repo.git("for-each-ref", "--format=%(refname)", "refs/boocode").split():
            if turn.id not in left:
                repo.git("update-ref", "-d", left)
        shutil.rmtree(tmp_path / "forks")
        number += 1
    assert number > 1


def complete(repo: Repo, result: ForkResult) -> None:
    """A fork is what it would be if none had been killed."""
    assert repo.boocode("doctor").code == 0
    top = Path(result.worktree)
    assert Repo(top).git("status", "--porcelain") == "?? b\n"
    assert Repo(top).git("branch", "--show-current") == "topic\n"
    assert repo.git("worktree", "list", "--porcelain").count(f"worktree {top}\n") == 1
    assert repo.git("worktree", "list").count("\n") == 2
    assert [path.name for path in top.parent.iterdir() if "fork" in path.name] == [top.name]
    assert result.checkpoint is not None
    assert result.checkpoint.id in Repo(top).boocode("log", "--json").out


def test_a_fork_that_is_killed_in_its_last_step_is_complete(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "untracked\n")
    turn = take(chat="c", message="m1")

    def host(_: object) -> dict[str, Any]:
        return {"resume": ["host", "c2"]}

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(ForkRecord, "forget", lambda *_: os._exit(0))
        forked(turn.id, tmp_path / "fork", branch="topic", callback=host)
    os.waitpid(child, 0)
    result = forked(turn.id, tmp_path / "fork", branch="topic", callback=host)
    complete(repo, result)
    assert result.command == f"cd {shlex.quote(str(tmp_path / 'fork'))} && host c2"
    with pytest.raises(RefusedError, match="exists already"):
        forked(turn.id, tmp_path / "fork", branch="topic", callback=host)


def test_the_next_fork_removes_what_a_killed_one_left(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("base", a="a\n")
    turn = take()
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(new_worktree, "capture", lambda *_: os._exit(0))
        forked(turn.id, tmp_path / "new/fork", branch="topic")
    os.waitpid(child, 0)
    assert repo.git("worktree", "list").count("\n") == 2
    assert repo.git("branch", "--list", "topic") != ""
    found = repo.boocode("doctor", "--json").json["findings"]
    assert [each["kind"] for each in found] == ["leftover_fork"]
    command = ("fork", turn.id, str(tmp_path / "new/fork"), "-b", "topic")
    assert repo.boocode(*command, "--dry-run").code == 0
    assert repo.git("worktree", "list").count("\n") == 2
    forked(turn.id, tmp_path / "other/fork", branch="topic")
    assert repo.git("worktree", "list").count("\n") == 2
    assert not (tmp_path / "new").exists()
    assert Repo(tmp_path / "other/fork").git("branch", "--show-current") == "topic\n"
    assert repo.boocode(*command, "--dry-run", "--json").json["error"]["code"] == "exists"


def forked_by(host: HostFunction, top: Path, **options: object) -> ForkedConversation | None:
    return forked("@", top, callback=host, **options).conversation


def test_the_callback_is_told_where_the_fork_will_be(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    first = take(chat="c", message="m1", session="s", agent="host")
    second = take(chat="c", message="m2", session="s", agent="host")
    events: list[dict[str, Any]] = []

    def host(event: dict[str, Any]) -> dict[str, Any]:
        events.append(event)
        assert (event["event"], event["commits"]) == ("fork", "fork")
        assert not (tmp_path / "fork").exists()
        return {"resume": ["host", "--go on", "c2"], "message": "copied"}

    result = forked(first.id, tmp_path / "fork", callback=host, branch="b", after=True)
    assert result.command == f"cd {shlex.quote(str(tmp_path / 'fork'))} && host '--go on' c2"
    [event] = events
    assert (event["checkpoint_id"], event["message"]) == (second.id, "m2")
    assert event["worktree"] == str(repo.top)
    git_dir = event["fork"].pop("git_dir")
    assert Path(git_dir).parent == repo.top / ".git/worktrees"
    assert event["fork"] == {"worktree": f"{tmp_path}/fork", "branch": "b", "whole": False}
    forked(second.id, tmp_path / "other", callback=host, after=True)
    assert events[1]["fork"]["whole"]


def test_a_host_that_cannot_fork_does_not_prevent_it(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    take(chat="c", message="m1")

    def failing(event: dict[str, Any]) -> dict[str, Any]:
        raise KeyError(event["event"])

    answers: tuple[HostFunction, ...] = (failing, lambda _: {}, lambda _: {"message": "too long"})
    said = [forked_by(host, tmp_path / str(n)) for n, host in enumerate(answers)]
    reasons = [each.why for each in said if each]
    assert "KeyError" in reasons[0]
    assert "named no command" in reasons[1]
    assert reasons[2] == "too long"
    about = ("--agent", "claude-code", "--session", "s", "--message", "m1")
    repo.boocode("checkpoint", *about)
    done = repo.boocode("fork", "@", str(tmp_path / "unnamed"))
    assert "not forked: the checkpoint names no transcript\n" in done.err
    repo.git("config", "boocode.callback", "/bin/false")
    done = repo.boocode("fork", "@", str(tmp_path / "last"))
    assert done.code == 0
    assert "warning: the conversation was not forked: callback '/bin/false' failed" in done.err
    assert done.out.endswith(f"cd {shlex.quote(str(tmp_path / 'last'))}\n")


def test_a_fork_that_fails_takes_the_conversation_back(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("base", a="a\n")
    take(chat="c", message="m1")
    log = tmp_path / "events"
    program = repo.write(
        ".git/host", f"#!/bin/sh\ncat >> {shlex.quote(str(log))}\necho '{{}}'\n", 0o755
    )
    repo.git("config", "boocode.callback", str(program))

    def fail(*_: object, **__: object) -> None:
        raise FatalError("the disk is on fire", code="fire")

    monkeypatch.setattr(new_worktree, "capture", fail)
    with pytest.raises(FatalError, match="on fire"):
        forked("@", tmp_path / "fork")
    first, second = map(json.loads, log.read_text().splitlines())
    assert [each["event"] for each in (first, second)] == ["fork", "rollback"]
    assert first["restore_id"] == second["restore_id"]
    nothing_made(repo, tmp_path)


def test_turns_of_two_attempts_are_compared_and_the_better_one_is_picked(
    repo: Repo, tmp_path: Path
) -> None:
    repo.commit("base", a="a\n")
    turn = take(label="try")
    repo.write("a", "first\n")
    first = take(label="first attempt")
    forked(turn.id, tmp_path / "fork")
    fork_repo = Repo(tmp_path / "fork")
    fork_repo.write("a", "second\n")
    second = fork_repo.boocode("checkpoint", "-m", "second attempt", "--json").json["id"]
    for at in (repo, fork_repo):
        done = at.boocode("diff", first.id, second)
        assert done.code == 0
        assert "-first\n+second\n" in done.out
    begun = fork_repo.boocode("log", "--json").json["checkpoints"][-1]["id"]
    done = repo.boocode("diff", "--after", turn.id, begun)
    assert "-first\n+second\n" in done.out
    assert repo.boocode("diff", "--after", first.id, second).code == 1
    repo.write("a", "a\n")
    assert repo.boocode("pick", begun).code == 0
    assert repo.read("a") == b"second\n"


def test_the_page_knows_the_attempts_at_one_turn(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    turn = take(label="try")
    repo.write("a", "first\n")
    take(label="next")
    forked(turn.id, tmp_path / "fork")
    attempt = Repo(tmp_path / "fork").boocode("checkpoint", "-m", "again", "--json").json["id"]
    forked(turn.id, tmp_path / "idle")
    idle = Repo(tmp_path / "idle").boocode("log", "--json").json["checkpoints"][0]["id"]
    forked(turn.id, tmp_path / "after", after=True)
    forked(idle, tmp_path / "again")
    again = Repo(tmp_path / "again").boocode("log", "--json").json["checkpoints"][0]["id"]
    turns = page_data(Repository.discover(), 100)["turns"]
    found = {each["id"]: each["attempts"] for each in turns if "attempts" in each}
    tries = [turn.id, attempt, idle, again]
    assert {each: found.pop(each) for each in tries} == dict.fromkeys(tries, tries)
    assert len(found) == 2


def test_a_copy_ends_with_the_turn_and_not_with_a_tool_of_it(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    about = {"chat": "c", "session": "s", "agent": "host"}
    turn = take(message="m1", **about)
    take(message="m2", trigger="PreToolUse", **about)
    repo.write("a", "written\n")
    capture_turn_end(Repository.discover(), turn.id, "Stop")
    events: list[dict[str, Any]] = []

    def host(event: dict[str, Any]) -> dict[str, Any]:
        events.append(event)
        return {"resume": ["host"]}

    forked(turn.id, tmp_path / "open", callback=host, after=True)
    take(message="m3", **about)
    forked(turn.id, tmp_path / "fork", callback=host, after=True)
    assert (tmp_path / "fork/a").read_text() == "written\n"
    assert [each["fork"]["whole"] for each in events] == [True, False]
    assert events[1]["message"] == "m3"


def test_a_fork_of_a_fork_has_the_conversation_of_the_first_one(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("base", a="a\n")
    about = {"chat": "c", "session": "s", "agent": "host"}
    turn = take(message="m1", **about)
    take(message="m2", **about)
    events: list[dict[str, Any]] = []

    def host(event: dict[str, Any]) -> dict[str, Any]:
        events.append(event)
        return {"resume": ["host"]}

    for name, after in (("begin", False), ("end", True)):
        forked(turn.id, tmp_path / name, callback=host, after=after)
        monkeypatch.chdir(tmp_path / name)
        result = forked("@", tmp_path / f"{name}-2", callback=host)
        assert result.command.endswith("&& host")
        monkeypatch.chdir(repo.top)
    assert [each["message"] for each in events] == ["m1", "m1", "m2", "m2"]
    assert [each["worktree"] for each in events[:2]] == [str(repo.top), str(tmp_path / "begin")]


def test_a_fetched_turn_is_forked_without_its_conversation(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", a="a\n")
    repo.write("b", "untracked\n")
    turn = take(chat="c", message="m1", session="s", agent="claude-code")
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "remote"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote"))
    assert repo.boocode("push", "--yes").code == 0
    repo.git("clone", "-q", str(tmp_path / "remote"), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    assert clone.boocode("fetch").code == 0
    done = clone.boocode("fork", turn.id, str(tmp_path / "fork"), "--json")
    assert (tmp_path / "fork/b").read_text() == "untracked\n"
    assert done.json["conversation"]["forked"] is False
    assert "nothing proves" in done.json["conversation"]["message"]
