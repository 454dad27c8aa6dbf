from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from git_boocode.editing.records import (
    EditRecord,
    Records,
    Refusal,
    problems,
    prune_edits,
    refusals,
    refusals_path,
)
from git_boocode.editing.rewind_edit import rewind
from git_boocode.editing.service import Options
from git_boocode.repo.entries import Unusable
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.git import Git, GitError
from git_boocode.repo.ids import ID, new_id
from git_boocode.repo.layout import EDITS
from git_boocode.repo.object_writer import Quarantine
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from tests.editing.kit import apply, codes, records, replace, snapshot
from tests.repo_kit import Repo

DAY = 86_400.0


def catalog() -> Records:
    return Records(Repository.discover())


def made(path: str = "a", content: str = "x\n") -> str:
    """Apply an edit and return the id of its record."""
    answer = apply({"path": path, "content": content})
    assert answer.id is not None
    return answer.id


def forged(repo: Repo, message: str, identifier: str | None = None) -> str:
    """A ref among the records with a message of our own; its tree is empty."""
    tree = repo.git("mktree").strip()
    commit = repo.git("commit-tree", tree, stdin=message).strip()
    identifier = identifier or new_id()
    repo.git("update-ref", EDITS + identifier, commit)
    return identifier


def message(**values: object) -> str:
    known = {"boocode": 1, "kind": "edit", "files": [{"path": "a", "action": "create"}]}
    return "s\n\n" + json.dumps({**known, **values})


def test_the_newest_comes_first(repo: Repo) -> None:
    ids = [made(content=str(number)) for number in range(3)]
    found = list(catalog().history())
    assert [record.id for record in found] == ids[::-1]
    assert [file.action for record in found for file in record.files] == [
        "modify", "modify", "create"
    ]  # fmt: skip
    assert [record.meta.worktree_name for record in found] == ["main"] * 3
    assert [edit["path"] for record in found for edit in record.edits] == ["a"] * 3
    assert not any(record.rewound or record.rewinds for record in found)


def test_what_a_record_holds(repo: Repo) -> None:
    repo.write("a\tb\n", b"old\xff\r\n", 0o755)
    repo.write("gone", "g\n")
    apply([replace("a\tb\n", "old", "new"), {"path": "n", "content": ""}, {"patch": PATCH}])
    (record,) = catalog().history()
    contents = {kept.file.path: kept for kept in catalog().contents(record, record.files)}
    assert contents["a\tb\n"][1:] == (b"old\xff\r\n", b"new\xff\r\n")
    assert contents["a\tb\n"].file.mode == 0o755
    assert contents["n"][1:] == (None, b"")
    assert contents["gone"][1:] == (b"g\n", None)


PATCH = "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n"


def test_by_id_and_by_commit(repo: Repo) -> None:
    first, second = made(content="1"), made(content="2")
    commit = repo.git("rev-parse", EDITS + second).strip()
    for name in (second, second.upper(), second[:-1], commit, commit[:12], "@", "@~0"):
        assert catalog().find(name).id == second, name
    assert catalog().find("@~1").id == catalog().find("@~").id == first


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "no edit record matches 'nonsense' (ids need at least 4 characters)"),
        ("@~7", "'@~7': this worktree has only 1 edit record"),
    ],
)
def test_there_is_no_such_record(repo: Repo, name: str, said: str) -> None:
    made()
    with pytest.raises(RefusedError) as caught:
        catalog().find(name)
    assert caught.value.code == "not_found"
    assert caught.value.message.startswith(said)
    assert caught.value.hints == ("'git boocode log --edits' lists the edits",)


MALFORMED = [
    "",
    "s\n\n[]",
    "s\n\n{}",
    message(kind="checkpoint"),
    message(files=[]),
    message(files="a"),
    message(files=[{"path": 7, "action": "modify"}]),
    message(files=[{"path": "a", "action": "explode"}]),
    message(files=[{"path": "a", "action": "rename"}]),
    message(files=[{"path": "a", "action": "modify", "from": 1}]),
]


@pytest.mark.parametrize("text", [*MALFORMED, message(boocode=2)])
@pytest.mark.variants
def test_what_cannot_be_used_breaks_nothing_else(repo: Repo, text: str) -> None:
    good = made()
    bad = forged(repo, text)
    assert [record.id for record in catalog().history(everywhere=True)] == [good]
    assert catalog().to_rewind().id == good
    kinds = [type(entry) for entry in catalog().newest_first()]
    assert kinds == [Unusable, EditRecord]
    with pytest.raises(RefusedError) as caught:
        catalog().find(bad)
    assert caught.value.code == ("newer" if "2" in text[:20] else "malformed")
    assert caught.value.message.startswith(f"edit record '{bad}' cannot be used: ")
    done = repo.boocode("log", "--edits", "--json")
    assert [row["id"] for row in done.json["edits"]] == [good]


def test_a_record_without_its_objects(repo: Repo) -> None:
    forged(repo, message(files=[{"path": "a", "action": "modify", "mode": "0644"}]))
    (record,) = catalog().history()
    with pytest.raises(RefusedError, match="lacks the content of a file"):
        catalog().contents(record, record.files)


def test_records_of_other_worktrees(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(a="a\n")
    repo.git("worktree", "add", "-q", "-b", "side", "linked")
    ours = made()
    old = forged(repo, message())
    monkeypatch.chdir(repo.top / "linked")
    theirs = made()
    assert [record.id for record in catalog().history()] == [theirs]
    assert [record.id for record in catalog().history(everywhere=True)] == [theirs, old, ours]
    monkeypatch.chdir(repo.top)
    # Records from before worktrees were noted are the main one's.
    assert [record.id for record in catalog().history()] == [old, ours]
    with pytest.raises(RefusedError) as caught:
        rewind(Repository.discover(), catalog().find(theirs))
    assert caught.value.code == "other_worktree"
    assert f"git -C {repo.top / 'linked'} boocode rewind {theirs}" in caught.value.hints[0]
    nowhere = forged(repo, message(worktree={"name": "nowhere"}))
    with pytest.raises(RefusedError) as caught:
        rewind(Repository.discover(), catalog().find(nowhere))
    assert caught.value.hints == ()


def test_what_became_of_a_record(repo: Repo) -> None:
    repository = Repository.discover()

    def again(name: str, *paths: str) -> str:
        done = rewind(repository, catalog().find(name), paths)
        assert done.answer.id is not None
        return done.answer.id

    def rewound() -> dict[str, frozenset[str]]:
        return {record.id: record.rewound_paths for record in catalog().history()}

    edit = apply([{"path": "a", "content": "x\n"}, {"path": "b", "content": "x\n"}]).id
    assert edit is not None
    first = again(edit, "a")
    assert rewound() == {edit: {"a"}, first: set()}
    assert catalog().to_rewind().id == edit
    second = again(edit)
    assert rewound()[edit] == {"a", "b"}
    with pytest.raises(RefusedError, match="no edit left to rewind"):
        catalog().to_rewind()
    third = again(first)
    assert rewound() == {edit: {"b"}, first: {"a"}, second: set(), third: set()}
    again(third)
    assert rewound()[edit] == {"a", "b"}


def test_abbreviations_are_unique_and_lead_back(repo: Repo) -> None:
    stem = new_id()
    ids = [stem[:30] + digit + stem[31:] for digit in "01"] + [new_id(0)]
    for identifier in ids:
        forged(repo, message(), identifier)
    short = ShortIds(catalog().store)
    assert [len(short(identifier)) for identifier in ids] == [31, 31, 13]
    assert [catalog().find(short(identifier)).id for identifier in ids] == ids


def aged(days: float) -> str:
    """The id of a record that is so many days old, on the day that `NOW` is in."""
    return new_id(int((NOW - days * DAY) * 1e9))


NOW = 1_800_000_000.0


def pruned(worktree: str | None = None, now: float = NOW) -> list[str]:
    """Prune; the ids of what has gone."""
    going = prune_edits(Repository.discover(), worktree=worktree, now=now)
    return [ref.id for ref, _ in going]


def test_old_records_go(repo: Repo) -> None:
    ids = [aged(days) for days in (1, 29.9, 30.1, 400)]
    for identifier in ids:
        forged(repo, message(), identifier)
    foreign = forged(repo, message(), "not-an-id")
    broken = forged(repo, "broken", aged(32))
    going = [ids[2], broken, ids[3]]
    beyond = prune_edits(Repository.discover(), dry_run=True, now=NOW)
    assert [(ref.id, why) for ref, why in beyond] == [(name, "too_old") for name in going]
    assert len(records(repo)) == 6
    assert pruned() == going
    assert sorted(records(repo)) == sorted(EDITS + left for left in (*ids[:2], foreign))
    assert pruned() == []
    repo.git("config", "boocode.editsMaxAge", "never")
    assert pruned(now=NOW * 2) == []


def test_the_newest_of_each_worktree_are_kept(repo: Repo) -> None:
    of = {"main": [], "other": []}  # type: dict[str, list[str]]
    for number in range(4):
        for name, ids in of.items():
            text = message(worktree={"name": name})
            ids.insert(0, forged(repo, text, aged(1 - number / 10 - (name == "main") / 100)))
    repo.git("config", "boocode.keepEdits", "0")
    assert pruned() == []
    repo.git("config", "boocode.keepEdits", "3")
    assert pruned(worktree="other") == [of["other"][3]]
    assert pruned() == [of["main"][3]]


def test_what_an_interrupted_edit_needs_is_kept(repo: Repo, tmp_path: Path) -> None:
    identifier = forged(repo, message(), aged(400))
    note = {"record": identifier, "files": []}
    repo.write(".git/boocode/edit-in-progress", json.dumps(note))
    assert pruned() == []


@pytest.mark.parametrize("key", ["keepEdits", "editsMaxAge"])
@pytest.mark.parametrize("value", ["many", "-1"])
def test_limits_that_make_no_sense(repo: Repo, key: str, value: str) -> None:
    repo.git("config", f"boocode.{key}", value)
    with pytest.raises(FatalError) as caught:
        prune_edits(Repository.discover())
    assert caught.value.code == "bad_config"
    assert f"'boocode.{key}'" in caught.value.message


def test_an_edit_succeeds_although_pruning_cannot(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("git_boocode.editing.records._PRUNED_EVERY", 1)
    old = forged(repo, message(), new_id(0))
    new = made()
    assert records(repo) == [EDITS + new]
    repo.git("config", "boocode.keepEdits", "none")
    forged(repo, message(), old)
    made(content="y\n")
    assert len(records(repo)) == 3


def test_invalid_records_are_problems(repo: Repo) -> None:
    made()
    assert problems(Repository.discover()) == []
    malformed = forged(repo, "s\n\nnonsense")
    made("b")
    newer = forged(repo, message(boocode=99))
    found = problems(Repository.discover())
    assert [identifier for identifier, _ in found] == [newer, malformed]
    assert "newer than this version of git-boocode" in found[0][1]
    # Only the newest are looked at.
    assert problems(Repository.discover(), most=2) == found[:1]


# What an edit records.


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
        ("release", OSError(errno.EIO, "no luck"), "record"),
        ("release", OSError(errno.ENOSPC, NO_ROOM), "disk_full"),
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

    if failing_step == "release":
        monkeypatch.setattr(Quarantine, "release", full)
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


# The log of refused calls.


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


def test_a_refusal_is_noted_without_what_it_quotes_of_the_file(file: Repo) -> None:
    file.write("a", "def f():\n    word = 'it's secret-1'\n    return word\n")
    refuse(file, old="def f():\n    word = 'it's secret-2'\n    return other")
    [failure] = noted()[0].failures
    assert "the file has '…'; nearest is lines 1-3" in failure["message"]
    assert b"secret" not in log_file().read_bytes()


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
