from __future__ import annotations

import os
import subprocess

import pytest

from git_boocode.repo.ids import ID
from tests.repo_kit import Repo


def test_it_prints_the_id(repo: Repo) -> None:
    repo.write("a", "a\n")
    done = repo.boocode("checkpoint")
    assert (done.code, done.err) == (0, "")
    assert ID.fullmatch(done.out.removesuffix("\n"))
    assert repo.git("show", f"refs/boocode/checkpoints/{done.out.strip()}:a") == "a\n"


def test_the_json_answer(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("config", "boocode.maxFileSize", "2")
    repo.write("large\udcff", "large")
    done = repo.boocode("checkpoint", "--json")
    answer = done.json
    assert (done.code, done.err) == (0, "")
    assert list(answer) == ["ok", "id", "commit", "ref", "tree", "changed", "skipped"]
    assert answer["ok"] is True
    assert answer["changed"] is True
    assert answer["ref"] == f"refs/boocode/checkpoints/{answer['id']}"
    assert answer["commit"] == repo.git("rev-parse", answer["ref"]).strip()
    assert answer["tree"] == repo.git("rev-parse", f"{answer['ref']}^{{tree}}").strip()
    reason = "larger than boocode.maxFileSize (2 bytes)"
    assert answer["skipped"] == [{"path": "large\udcff", "reason": reason}]
    assert "\\udcff" in done.out


def test_what_was_not_recorded_is_said(repo: Repo) -> None:
    repo.git("config", "boocode.maxFileSize", "2")
    repo.write("large\n\x1b[31m", "large")
    done = repo.boocode("checkpoint")
    assert done.code == 0
    assert done.err == (
        'warning: not recorded: "large\\n\\033[31m": larger than boocode.maxFileSize (2 bytes)\n'
    )


def test_all_that_can_be_told(repo: Repo) -> None:
    told = {"--label": "l", "--session": "s", "--chat": "c", "--message": "m", "--agent": "g",
            "--trigger": "t"}  # fmt: skip
    flags = [part for pair in told.items() for part in pair]
    assert repo.boocode("checkpoint", *flags, "--meta", "k=v=w", "--meta", "x=").code == 0
    shown = repo.boocode("show", "--json").json["checkpoint"]
    assert {key: shown[key.removeprefix("--")] for key in told} == told
    assert shown["meta"] == {"k": "v=w", "x": ""}


def test_only_if_changed(repo: Repo) -> None:
    repo.commit(a="a\n")
    first = repo.boocode("checkpoint", "--if-changed")
    again = repo.boocode("checkpoint", "--if-changed", "--json").json
    assert (again["id"], again["changed"]) == (first.out.strip(), False)
    assert repo.boocode("checkpoint", "--json").json["id"] != again["id"]


def test_from_a_subdirectory_all_is_recorded(repo: Repo) -> None:
    repo.write("a")
    repo.write("sub/b")
    done = repo.boocode("checkpoint", cwd="sub")
    names = repo.git("ls-tree", "-r", "--name-only", f"refs/boocode/checkpoints/{done.out.strip()}")
    assert names == "a\nsub/b\n"


@pytest.mark.parametrize(
    "args", [("--meta", "novalue"), ("--meta", "=v"), ("--nonsense",), ("path",), ("-m",)]
)
def test_usage_errors(repo: Repo, args: tuple[str, ...]) -> None:
    done = repo.boocode("checkpoint", *args)
    assert (done.code, done.out) == (129, "")
    assert done.err.startswith("error: ")
    assert "usage: git boocode checkpoint [<options>]" in done.err
    as_json = repo.boocode("checkpoint", "--json", *args)
    assert (as_json.code, as_json.json["error"]["code"], as_json.err) == (129, "usage", "")
    assert repo.git("for-each-ref") == ""


def test_help(repo: Repo) -> None:
    done = repo.boocode("checkpoint", "-h")
    assert (done.code, done.err) == (129, "")
    assert done.out.startswith("usage: git boocode checkpoint [<options>]\n")
    assert "--if-changed" in done.out


@pytest.mark.parametrize("command", ["checkpoint", "log", "show", "diff", "restore @", "undo"])
def test_outside_a_repository(
    repo: Repo, tmp_path_factory: pytest.TempPathFactory, command: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    done = repo.boocode(*command.split(), cwd=elsewhere)
    assert (done.code, done.out) == (128, "")
    assert done.err.startswith("fatal: not a git repository")
    answer = repo.boocode(*command.split(), "--json", cwd=elsewhere)
    assert answer.code == 128
    assert (answer.json["ok"], answer.json["error"]["code"]) == (False, "not_a_repository")


def test_in_a_bare_repository(repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> None:
    bare = tmp_path_factory.mktemp("bare")
    subprocess.run(["git", "init", "-q", "--bare", bare], check=True)
    done = repo.boocode("checkpoint", "--json", cwd=bare)
    assert (done.code, done.json["error"]["code"]) == (128, "no_worktree")


def test_a_closed_standard_output(repo: Repo) -> None:
    repo.write("a")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        ["git", "boocode", "checkpoint"], cwd=repo.top, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""
