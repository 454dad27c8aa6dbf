"""What a new user would try: odd surroundings, odd moments."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

FULL = "cannot write standard output: no space left on device"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_standard_output_that_is_full(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    for command in (
        "--version",
        "checkpoint --json",
        "log",
        "restore -n @",
    ):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "git_boocode", *command.split()],
                stdout=full,
                stderr=subprocess.PIPE,
            )
        assert done.returncode == 128
        assert done.stderr.decode().startswith(f"fatal: {FULL}\nhint: ")
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_restore_that_is_told_to_end_rolls_back(repo: Repo, name: str) -> None:
    repo.write("a", "1\n")
    repo.boocode("checkpoint")
    repo.write("a", "2\n")
    asked = 'grep -q \'"event": "trim"\''
    slow = repo.write(
        ".git/slow", f'#!/bin/sh\n{asked} && touch .git/here && sleep 60; echo "{{}}"\n'
    )
    slow.chmod(0o755)
    command = [sys.executable, "-m", "git_boocode", "restore", "--callback", str(slow), "@"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (repo.top / ".git/here").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert repo.read("a") == b"1\n"
    process.send_signal(getattr(signal, name))
    process.communicate()
    assert process.returncode == 128 + getattr(signal, name)
    assert repo.read("a") == b"2\n"
    assert repo.boocode("undo").code == 1
    assert repo.boocode("log").err == ""


def test_the_current_directory_stays(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.write("new/deep/file", "x\n")
    assert repo.boocode("restore", "@", cwd="new/deep").code == 0
    assert not (repo.top / "new/deep/file").exists()
    assert repo.boocode("undo", cwd="new/deep").code == 0
    assert repo.read("new/deep/file") == b"x\n"


def test_the_current_directory_is_not_replaced_by_a_file(repo: Repo) -> None:
    repo.write("d", "a file\n")
    repo.boocode("checkpoint")
    (repo.top / "d").unlink()
    repo.write("d/file", "x\n")
    result = repo.boocode("restore", "@", cwd="d")
    assert result.code == 1
    assert result.err.startswith(
        "error: the restore would replace the current directory with a file"
    )
    assert repo.read("d/file") == b"x\n"
    assert repo.boocode("restore", "@").code == 0


def test_a_callback_among_the_files_to_restore(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.write("host", "#!/bin/sh\necho '{}'\n", 0o755)
    repo.git("config", "boocode.callback", "host")
    result = repo.boocode("restore", "@")
    assert result.code == 1
    assert "the restore would change the callback" in result.err
    assert (repo.top / "host").exists()


def test_a_missing_callback_says_what_to_do(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    result = repo.boocode("restore", "@", "--callback", "nowhere")
    assert result.code == 1
    assert result.err.startswith("error: callback 'nowhere' does not exist\nhint: fix --callback")


def test_an_empty_name_finds_nothing(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.write("a", "b\n")
    for name in ("message:", "label:"):
        assert repo.boocode("restore", name).code == 1
        assert repo.read("a") == b"b\n"


def test_relative_names_as_git_reads_them(repo: Repo) -> None:
    for text in ("1", "2", "3"):
        repo.write("a", text)
        repo.boocode("checkpoint", "-m", text)
    labels = [repo.boocode("show", name, "--json").json["checkpoint"]["label"]
              for name in ("@", "@~0", "@~", "@~1", "@~2")]  # fmt: skip
    assert labels == ["3", "3", "2", "2", "1"]


def test_the_log_of_all_worktrees_numbers_only_ours(repo: Repo) -> None:
    repo.commit("base", a="a\n")
    repo.boocode("checkpoint", "-m", "ours")
    repo.git("worktree", "add", "-q", "../side-of-" + repo.top.name)
    side = Repo(repo.top.parent / f"side-of-{repo.top.name}")
    side.boocode("checkpoint", "-m", "theirs")
    lines = [each for each in repo.boocode("log", "--all").out.splitlines() if each.strip()]
    above, theirs, _, ours = (each for each in lines if "you are here" not in each)
    assert above.endswith(f", worktree {side.top.name}")
    assert "@" not in theirs
    assert ours.startswith("@ ")
    repo.git("worktree", "remove", "--force", str(side.top))
    identifier = repo.boocode("log", "--all", "--json").json["checkpoints"][0]["id"]
    assert "that worktree no longer exists" in repo.boocode("restore", identifier).err


def test_a_third_checkpoint_is_no_path(repo: Repo) -> None:
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    result = repo.boocode("diff", "@", "@", "@")
    assert result.code == 1
    assert result.err.startswith("error: '@' is neither a checkpoint nor an existing path")


def test_a_huge_count_is_fine(repo: Repo) -> None:
    assert repo.boocode("log", "-n", "9" * 30)[:2] == (0, "")


def test_files_that_a_restore_leaves_alone_are_reported(repo: Repo) -> None:
    repo.commit("base", f="1\n")
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("other", f="2\n")
    repo.git("checkout", "-q", "main")
    repo.commit("main", f="3\n")
    repo.git("merge", "other", check=False)
    repo.boocode("checkpoint")
    repo.git("checkout", "--theirs", "f")
    repo.git("add", "f")
    repo.git("commit", "-q", "-m", "merged")
    hints = repo.boocode("restore", "@").err
    assert "hint: HEAD is not where it was at the checkpoint" in hints
    assert "hint: the checkpoint was taken in the middle of a merge" in hints


def test_a_merge_that_began_later_can_be_ended(repo: Repo) -> None:
    repo.commit("base", f="1\n")
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("other", f="2\n")
    repo.git("checkout", "-q", "main")
    repo.commit("main", f="3\n")
    repo.boocode("checkpoint")
    repo.git("merge", "other", check=False)
    began = "hint: a merge is in progress, which was not so at the checkpoint"
    assert f"{began}\n" in repo.boocode("restore", "-n", "@").err
    ends = re.search(
        f"{began}: '(.*)' ends it and keeps the files\n", repo.boocode("restore", "@").err
    )
    assert ends is not None
    before = repo.files()
    repo.git(*ends[1].split()[1:])
    # Otherwise, this would be a merge without the other side.
    repo.git("commit", "-q", "--allow-empty", "-m", "next")
    assert repo.git("log", "--merges") == ""
    assert repo.files() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root can look into every directory")
def test_a_directory_that_cannot_be_read_is_named_and_left_alone(repo: Repo) -> None:
    repo.write("closed/file", "x\n")
    (repo.top / "closed").chmod(0)
    skipped = repo.boocode("checkpoint", "--json").json["skipped"]
    assert skipped == [{"path": "closed", "reason": "permission denied"}]
    (repo.top / "closed").chmod(0o700)
    repo.boocode("restore", "@")
    assert repo.read("closed/file") == b"x\n"


def test_files_in_a_directory_that_cannot_be_read_are_not_restored_silently(repo: Repo) -> None:
    repo.commit(**{"closed/file": "old\n", "other": "old\n"})
    repo.boocode("checkpoint")
    for path in ("closed/file", "other"):
        repo.write(path, "new\n")
    (repo.top / "closed").chmod(0)
    done = repo.unprivileged("restore", "@")
    (repo.top / "closed").chmod(0o755)
    assert (repo.read("closed/file"), repo.read("other")) == (b"new\n", b"old\n")
    assert "left alone: closed: cannot be compared: permission denied" in done.err


LONG = "9" * 5000


def test_numbers_too_long_to_convert(repo: Repo) -> None:
    repo.boocode("checkpoint")
    for command, code in (
        (("log", "-n", LONG), 129),
        (("log", f"--max-count={LONG}"), 129),
        (("log", "--edits", "-n", LONG), 129),
        (("log", "-n", "0" * 5000 + "1"), 129),
        (("prune", "--keep", LONG), 129),
        (("prune", "--older-than", f"{LONG}d"), 129),
        (("show", f"@~{LONG}"), 1),
        (("rewind", f"@~{LONG}"), 1),
        (("show", LONG), 1),
    ):
        done = repo.boocode(*command)
        assert done.code == code
        assert done.err.startswith("error: ")
        assert "bug" not in done.err
        # What was given is not repeated in full.
        assert len(done.err) < 1000
        answer = repo.boocode(*command, "--json")
        assert (answer.code, answer.json["ok"]) == (code, False)


@pytest.mark.parametrize("key", ["keep", "maxAge", "safetyMaxAge", "keepEdits", "editsMaxAge"])
def test_settings_too_long_to_convert(repo: Repo, key: str) -> None:
    repo.git("config", f"boocode.{key}", LONG)
    done = repo.boocode("prune")
    assert (done.code, "bad value '999" in done.err) == (128, True)
    assert len(done.err) < 1000
