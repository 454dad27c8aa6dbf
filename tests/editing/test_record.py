import errno
import json
import os
import sys
from typing import Any

import pytest

from git_boocode.editing.service import Options
from git_boocode.repo.errors import FatalError
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.ids import ID
from git_boocode.repo.object_writer import Quarantine
from tests.editing.kit import apply, codes, records, replace, snapshot
from tests.repo_kit import Repo


def document(repo: Repo, ref: str) -> Any:
    message = repo.git("log", "-1", "--format=%B", ref)
    subject, empty, text = message.rstrip("\n").split("\n")
    assert empty == ""
    return subject, json.loads(text)


def test_a_record_holds_the_files_before_and_after(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.write("src/a b\n", b"old\r\n\xef", 0o755)
    head = repo.commit()
    status = repo.status()
    edits = [replace("src/a b\n", "old", "new"), {"path": "new", "content": "x"}]
    answer = apply(edits)
    assert answer.id is not None
    assert ID.fullmatch(answer.id)
    (ref,) = records(repo)
    assert ref == f"refs/boocode/edits/{answer.id}"
    assert repo.git("ls-tree", "-r", "-z", "--name-only", ref).split("\0")[:-1] == [
        "after/new", "after/src/a b\n", "before/src/a b\n"
    ]  # fmt: skip
    # As bytes: pytest-xdist cannot report a failure that shows a surrogate.
    blob = repo.git("cat-file", "blob", f"{ref}:before/src/a b\n")
    assert os.fsencode(blob) == b"old\r\n\xef"
    assert repo.git("rev-parse", f"{ref}^").strip() == head
    subject, found = document(repo, ref)
    assert subject == "edit src/a b\\n and 1 more"
    assert list(found) == [
        "boocode", "kind", "id", "created_at", "worktree", "edits", "files"
    ]  # fmt: skip
    assert (found["boocode"], found["kind"], found["id"]) == (1, "edit", answer.id)
    assert [edit["edit"] for edit in found["edits"]] == edits
    assert [(file["path"], file["action"], file["mode"]) for file in found["files"]] == [
        ("src/a b\n", "modify", "0755"),
        ("new", "create", "0644"),
    ]
    assert found["files"][1]["before"] is None
    assert found["files"][0]["before"] == repo.git("rev-parse", f"{ref}:before/src/a b\n").strip()
    assert repo.status() != status
    assert repo.git("rev-parse", "HEAD").strip() == head
    assert repo.git("diff", "--cached") == ""


def test_a_record_names_the_real_file_behind_a_symlink(repo: Repo) -> None:
    repo.write("real", "old\n")
    (repo.top / "link").symlink_to("real")
    apply(replace("link", "old", "new"))
    subject, found = document(repo, records(repo)[0])
    assert subject == "edit real"
    assert found["files"][0]["path"] == "real"
    assert found["edits"][0]["path"] == "link"


NAMES = ["a\\b", " lead", "trail ", "CON.txt", "a:b", "...", "~", "-n", "a\tb", "é",
         "git~2", "tab\there", '"q"', "*", "x/.gitmodules", "\u200e"]  # fmt: skip


def test_records_hold_every_name_that_a_file_can_have(repo: Repo) -> None:
    names = NAMES if sys.platform == "darwin" else [*NAMES, "\udcff"]
    answer = apply([{"path": name, "content": ""} for name in names])
    listing = repo.git("ls-tree", "-r", "-z", "--name-only", f"refs/boocode/edits/{answer.id}")
    assert len(listing.split("\0")) == len(names) + 1


def test_a_long_edit_is_not_repeated_in_the_message(repo: Repo) -> None:
    most = 65_536 - len(json.dumps({"path": "a", "content": ""}))
    for size, is_kept in ((most, True), (most + 1, False)):
        answer = apply({"path": "a", "content": "x" * size})
        _, found = document(repo, f"refs/boocode/edits/{answer.id}")
        assert (found["edits"][0]["edit"] is not None) is is_kept


@pytest.mark.parametrize("options", [Options(record=False), Options(dry_run=True)])
def test_no_record_where_none_is_wanted(repo: Repo, options: Options) -> None:
    repo.write("a", "old\n")
    answer = apply(replace("a", "old", "new"), options=options)
    assert answer.id is None
    assert answer.applied is not options.dry_run
    assert records(repo) == []
    assert repo.read("a") == (b"old\n" if options.dry_run else b"new\n")


def test_a_refusal_leaves_no_record(repo: Repo) -> None:
    assert codes(replace("a", "old", "new")) == [(0, "missing_file")]
    assert records(repo) == []


NO_ROOM = "No space left on device"


@pytest.mark.parametrize(
    ("failing_step", "error", "code"),
    [
        ("move", OSError(errno.EIO, "no luck"), "record"),
        ("move", OSError(errno.ENOSPC, NO_ROOM), "disk_full"),
        ("update-ref", "fatal: no luck", "record"),
        ("update-ref", f"fatal: {NO_ROOM}", "disk_full"),
    ],
)
def test_without_its_record_a_call_changes_nothing(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, failing_step: str, error: Any, code: str
) -> None:
    repo.write("a", "old\n")
    before = snapshot(repo.top)
    real = Git.attempt

    def failing(self: Git, *arguments: str, **options: Any) -> object:
        if arguments[0] == failing_step:
            raise GitError(arguments, 128, error)
        return real(self, *arguments, **options)

    def full(*_: object) -> None:
        raise error

    if failing_step == "move":
        monkeypatch.setattr(Quarantine, "move", full)
    else:
        monkeypatch.setattr(Git, "attempt", failing)
    with pytest.raises(FatalError) as caught:
        apply([replace("a", "old", "new"), {"path": "sub/new", "content": ""}])
    assert caught.value.code == code
    said = NO_ROOM if code == "disk_full" else "no luck"
    assert f"{said.lower()}; nothing was changed" in caught.value.message.lower()
    assert "--no-record" in caught.value.hints[0]
    assert snapshot(repo.top) == before


def test_records_work_with_sha256(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("init", "-q", "--object-format=sha256", "other")
    monkeypatch.chdir(repo.top / "other")
    answer = apply({"path": "a", "content": "x\n"})
    other = Repo(repo.top / "other")
    assert other.git("show", f"refs/boocode/edits/{answer.id}:after/a") == "x\n"
