"""Refused calls are noted for the timeline, in a small private file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_boocode.editing.records import Refusal, refusals, refusals_path
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


def refuse(repo: Repo, *options: str, old: str = "nowhere", path: str = "a") -> None:
    edit = json.dumps({"path": path, "old_string": old, "new_string": "x"})
    assert repo.boocode("apply-edit", *options, stdin=edit).code == 1


def noted() -> list[Refusal]:
    return [*refusals(Repository.discover())]


def log_file() -> Path:
    return Path(refusals_path(Repository.discover()))


@pytest.fixture
def file(repo: Repo) -> Repo:
    repo.commit(a="secret\n")
    return repo


def test_a_refusal_is_noted_with_paths_and_messages_alone(file: Repo) -> None:
    refuse(file)
    [refusal] = noted()
    [failure] = refusal.failures
    assert (refusal.worktree, refusal.edits, failure["path"], failure["code"]) == (
        "main",
        1,
        "a",
        "not_found",
    )
    assert failure["message"]
    assert b"secret" not in log_file().read_bytes()
    assert log_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("option", ["--no-record", "-n", "--no-index"])
def test_it_is_not_noted_if_edits_are_not_recorded(file: Repo, option: str) -> None:
    refuse(file, option)
    assert not log_file().exists()


def test_an_applied_edit_notes_nothing(file: Repo) -> None:
    edit = {"path": "a", "old_string": "secret", "new_string": "x"}
    assert file.boocode("apply-edit", stdin=json.dumps(edit)).code == 0
    assert not log_file().exists()


def test_a_line_stays_short_and_the_file_small(file: Repo) -> None:
    edits = [{"old_string": f"nowhere {'𝔵' * 500}", "new_string": ""} for _ in range(200)]
    call = json.dumps({"path": "𝔵" * 200, "edits": edits})
    for _ in range(3):
        assert file.boocode("apply-edit", stdin=call).code == 1
    assert max(map(len, log_file().read_bytes().splitlines())) < 4096
    assert [refusal.edits for refusal in noted()] == [200] * 3


def test_what_another_program_wrote_is_left_out(file: Repo) -> None:
    refuse(file)
    with log_file().open("ab") as log:
        log.write(b'garbage\n[1]\n{"time": "x"}\n{"time": 1, "worktree": "w", "failures": [1]}\n')
        for time in (b"NaN", b"Infinity", b"-1", b"9" * 400):
            log.write(b'{"time": %s, "worktree": "w", "failures": []}\n' % time)
    assert [refusal.worktree for refusal in noted()] == ["main", "w"]


def test_a_log_that_cannot_be_written_changes_nothing(file: Repo) -> None:
    refuse(file)
    log_file().unlink()
    log_file().mkdir()
    (log_file() / "x").write_text("")
    refuse(file)
    assert file.read("a") == b"secret\n"


def test_uninstall_removes_it(file: Repo) -> None:
    refuse(file)
    file.boocode("view", "--no-open")
    assert file.boocode("uninstall", "--everything").code == 0
    assert not log_file().parent.exists()
