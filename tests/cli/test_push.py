from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_boocode.checkpoints.capture import capture_turn_end
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.hostile.test_metadata import rewrite
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

HINT = (
    "hint: checkpoints hold untracked files, prompts, session ids and the worktree's path:\n"
    "hint: whoever can read that remote can read them\n"
)


@pytest.fixture
def remote(repo: Repo, tmp_path: Path) -> Repo:
    repo.commit(a="a\n")
    repo.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return Repo(tmp_path / "remote.git")


def at_the_remote(remote: Repo) -> set[str]:
    return set(remote.git("for-each-ref", "--format=%(refname)").split())


def test_the_text(repo: Repo, remote: Repo) -> None:
    one, two = take(), take()
    assert repo.boocode("push", "-n") == (
        0, f" * {two.id}\n * {one.id}\nwould push 2 checkpoints to origin\n", HINT
    )  # fmt: skip
    assert at_the_remote(remote) == set()
    done = repo.boocode("push")
    assert (done.code, done.err) == (0, HINT)
    assert done.out.endswith("pushed 2 checkpoints to origin\n")
    assert at_the_remote(remote) == {one.ref, two.ref}
    assert repo.boocode("push") == (0, "nothing to push: origin has them all\n", "")
    third = take()
    assert repo.boocode("push", "origin", "@") == (
        0, f" * {third.id}\npushed 1 checkpoint to origin\n", ""
    )  # fmt: skip


def test_usage_errors(repo: Repo, remote: Repo) -> None:
    for command in (["push", "--all", "origin", "@"], ["fetch", "--prune", "origin", "@"]):
        done = repo.boocode(*command)
        said = f"error: '{command[1]}' and names of checkpoints cannot be used together\n"
        assert (done.code, done.err.startswith(said)) == (129, True)


def test_the_json_answer(repo: Repo, remote: Repo) -> None:
    taken = take()
    done = repo.boocode("push", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json == {
        "ok": True, "remote": "origin", "pushed": [taken.id], "rejected": [], "dry_run": False,
        "proposals": [], "rejected_proposals": [], "turn_ends": [], "rejected_turn_ends": [],
    }  # fmt: skip
    again = repo.boocode("push", "--json", "-n", cwd=".").json
    assert (again["pushed"], again["dry_run"]) == ([], True)


REFUSED = (
    "error: untracked files would go to 'origin' for the first time\n .env.local\n notes/tärn.txt\n"
)


def test_untracked_files_wait_for_a_yes(repo: Repo, remote: Repo) -> None:
    tracked = take()
    # Nothing untracked is in it.
    assert repo.boocode("push").code == 0
    repo.write(".env.local", "secret\n")
    repo.write("notes/tärn.txt")
    repo.write("staged")
    repo.git("add", "staged")
    taken = take()
    done = repo.boocode("push", "--all", "--no-verify", "origin")
    command = "git boocode push --yes --all --no-verify origin"
    readers = "hint: whoever can read that remote can read them"
    assert done == (1, "", f"{REFUSED}{readers}; to push them: {command}\n")
    answer = repo.boocode("push", "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "not_confirmed")
    assert answer.json["untracked"] == [".env.local", "notes/tärn.txt"]
    assert at_the_remote(remote) == {tracked.ref}
    assert repo.boocode("push", "-n").code == 0
    assert repo.boocode(*command.split()[2:]).code == 0
    assert at_the_remote(remote) == {tracked.ref, taken.ref}
    # Once they are there, it asks no more, but for another remote.
    repo.write("more")
    third = take()
    assert repo.boocode("push", "--json").json["pushed"] == [third.id]
    repo.git("init", "-q", "--bare", str(remote.top.parent / "other.git"))
    assert repo.boocode("push", str(remote.top.parent / "other.git"), "@").code == 1


def test_untracked_files_of_the_end_of_a_turn_wait_too(repo: Repo, remote: Repo) -> None:
    taken = take()
    repo.write("new")
    capture_turn_end(Repository.discover(), taken.id, "Stop")
    done = repo.boocode("push")
    assert (done.code, done.err.splitlines()[1]) == (1, " new")
    assert repo.boocode("push", "--yes").code == 0


def test_a_record_of_no_staging_area_hides_no_untracked_file(repo: Repo, remote: Repo) -> None:
    repo.write("new")
    rewrite(repo, take(), {"index": {"tree": "12" * 20, "commit": None, "details": None}})
    done = repo.boocode("push")
    assert (done.code, done.err.splitlines()[1]) == (1, " new")


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 1)])
def test_a_terminal_is_asked(repo: Repo, remote: Repo, answer: str, code: int) -> None:
    repo.write("new")
    taken = take()
    terminal = Terminal("git", "boocode", "push")
    terminal.wait_for("untracked files would go to 'origin' for the first time:\r\n new\r\n")
    terminal.wait_for("push 1 untracked file? [y/N]")
    terminal.type(f"{answer}\n")
    ended, shown = terminal.end()
    assert ended == code
    assert ("pushed 1 checkpoint" if code == 0 else "error: nothing was pushed") in shown
    assert at_the_remote(remote) == ({taken.ref} if code == 0 else set())


def test_a_remote_that_takes_none(repo: Repo, remote: Repo) -> None:
    taken = [take(label=str(n)).id for n in range(22)]
    remote.write("hooks/pre-receive", "#!/bin/sh\nprintf '\\033[31mno' >&2; exit 1\n", 0o755)
    done = repo.boocode("push")
    assert done.code == 1
    lines = done.err.splitlines()
    assert lines[0] == "error: 'origin' did not take 22 checkpoints"
    assert len(lines) == 22
    assert re.fullmatch(r" ! [0-9a-f-]{36}: pre-receive hook declined", lines[1])
    assert lines[-1] == " … and 2 more (-v lists all)"
    assert "\033" not in done.err
    answer = repo.boocode("push", "--json")
    assert (answer.code, answer.json["ok"], answer.json["pushed"]) == (1, False, [])
    assert answer.json["error"]["code"] == "rejected"
    assert {row["id"] for row in answer.json["rejected"]} == set(taken)


def test_a_remote_that_takes_some(repo: Repo, remote: Repo) -> None:
    one, two = take(), take()
    remote.write("hooks/update", f"#!/bin/sh\ncase $1 in *{one.id}) exit 1;; esac\n", 0o755)
    # Something was changed, so it is not the exit code of what changes nothing.
    answer = repo.boocode("push", "--json")
    assert (answer.code, answer.json["pushed"]) == (128, [two.id])
    assert answer.json["rejected"] == [{"id": one.id, "reason": "hook declined"}]
    assert at_the_remote(remote) == {two.ref}


def test_an_id_that_the_remote_has_for_another(repo: Repo, remote: Repo) -> None:
    taken = take()
    repo.git("push", "-q", "origin", f"HEAD:{taken.ref}")
    done = repo.boocode("push")
    assert done.code == 1
    assert "the remote has another commit under this id" in done.err
    assert "never overwritten" in done.err
    head = repo.git("rev-parse", "HEAD")
    assert remote.git("rev-parse", taken.ref) == head


def test_the_hook_can_be_left_out(repo: Repo, remote: Repo) -> None:
    repo.write(".git/hooks/pre-push", "#!/bin/sh\necho secrets >&2\nexit 1\n", 0o755)
    taken = take()
    done = repo.boocode("push")
    assert done.code == 1
    assert done.err == (
        "error: the push was refused locally: secrets\n"
        "hint: nothing was pushed; skip the pre-push hook with --no-verify\n"
    )
    assert repo.boocode("push", "--no-verify", "--json").json["pushed"] == [taken.id]


def test_inside_a_push_of_ours(repo: Repo, remote: Repo) -> None:
    take()
    done = repo.boocode("push", env={"GIT_BOOCODE_PUSH": "1"})
    assert done == (0, "skipped: a push of checkpoints is already running\n", "")
    assert at_the_remote(remote) == set()


@pytest.mark.parametrize("command", ["push", "fetch"])
def test_what_a_remote_says_steers_no_terminal(repo: Repo, remote: Repo, command: str) -> None:
    """On a terminal, git's progress is shown after a second, and with it what the remote says."""
    take()
    if command == "fetch":
        repo.boocode("push")
        taken = repo.git("for-each-ref", "--format=delete %(refname)", "refs/boocode")
        repo.git("update-ref", "--stdin", stdin=taken)
    evil = "printf '\\033]0;title\\007\\302\\2331m\\342\\200\\256evil\\n' >&2"
    slow = f"sleep 1.1; {evil}"
    if command == "push":
        remote.write("hooks/pre-receive", f"#!/bin/sh\n{slow}\n", 0o755)
    else:
        script = repo.write(
            ".git/pack", f'#!/bin/sh\n{slow}\nexec git-upload-pack "$@"\n', 0o755
        )  # fmt: skip
        repo.git("config", "remote.origin.uploadpack", str(script))
    code, shown = Terminal("git", "boocode", command, env={"TERM": "xterm"}).end()
    assert code == 0, shown
    assert "1 checkpoint" in shown
    assert "evil" in shown
    for steering in ("\033]", "\007", "\x9b", "\u202e"):
        assert steering not in shown


def test_secrets_are_refused(repo: Repo, remote: Repo) -> None:
    token = "ghp_" + "a1" * 18
    repo.write("settings", f"a\ntoken = {token}\n")
    taken = take(label=f"use {token}")
    for command in (["push", "-n"], ["push", "--no-notes", "--yes"]):
        done = repo.boocode(*command)
        assert done.code == 1
        assert done.err.startswith(
            "error: 2 secrets would go to 'origin'\n"
            f" {taken.id} (label): GitHub token\n settings:2: GitHub token\n"
        )
        assert token not in done.err
    assert done.err.endswith(
        "to push them anyway: git boocode push --yes --no-notes --force secrets\n"
    )
    answer = repo.boocode("push", "--json").json
    assert answer["error"]["code"] == "secrets"
    assert [each["kind"] for each in answer["secrets"]] == ["GitHub token", "GitHub token"]
    assert at_the_remote(remote) == set()
    assert repo.boocode("push", "--yes", "--force", "secrets").code == 0
    assert at_the_remote(remote) == {taken.ref}
    # The remote has it now.
    repo.write("new", "new\n")
    assert repo.boocode("push", "--yes", take().id).code == 1
    assert repo.boocode("push", "--force", "all").code == 129


def test_redacting(repo: Repo, remote: Repo) -> None:
    repo.write("settings", f"token = ghp_{'a1' * 18}\n")
    taken = take()
    refused = repo.boocode("push", "--yes")
    way = "git boocode push --yes --redact"
    assert f"hint: to push without them: {way}\n" in refused.err
    done = repo.boocode(*way.split()[2:])
    assert done.out == f" * {taken.id} (redacted)\npushed 1 checkpoint to origin\n"
    assert at_the_remote(remote) == {taken.ref}
    assert repo.boocode("push") == (0, "nothing to push: origin has them all\n", "")
    assert repo.boocode("push", "--redact", "--force", "secrets").code == 129
