"""An edit that is killed at any step, and what mends it."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from git_boocode.editing.actions import Create, Delete, Replace
from git_boocode.editing.inputs import Inputs
from git_boocode.editing.service import Options
from git_boocode.repo.atomic_write import WriteStep, fingerprint
from git_boocode.repo.errors import FatalError, RefusedError
from git_boocode.repo.layout import EDIT_NOTE
from tests.editing.kit import act, apply, carry_out, leftovers, records, replace
from tests.kill_kit import killed_at
from tests.repo_kit import Repo

# Every system call by which the worktree, the note or the record's ref can change.
CALLS = ("open", "link", "replace", "unlink", "mkdir", "fsync", "rmdir")

INPUTS = act(
    ("a", Replace("old", "new")),
    ("moved", Replace("old", "new"), "deep/er/to"),
    ("gone/last", Delete()),
    ("made/it", Create("new\n")),
)
NEW = {"a": b"new\n", "deep/er/to": b"new\n", "made/it": b"new\n"}


def prepare(repo: Repo) -> None:
    for name in ("a", "moved", "gone/last"):
        repo.write(name, "old\n", 0o755)


def killed(call: str, number: int, inputs: Inputs, options: Options) -> bool:
    """Carry the inputs out in a child that is killed at the nth call; whether it was."""
    return killed_at(call, number, lambda: carry_out(inputs, options=options))


def contents(repo: Repo) -> dict[str, bytes]:
    return {path: data for path, (_, data) in repo.files().items()}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("call", CALLS)
def test_a_kill_at_any_step_is_mended_to_all_old_or_all_new(
    repo: Repo, call: str, record: bool
) -> None:
    mixed = 0
    # Most of the later steps store objects for the record, one much like the other.
    for number in (*range(1, 40), *range(40, 400, 4)):
        for path in repo.top.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        # What a killed call leaves there is swept by the next one, and would shift the numbers.
        shutil.rmtree(".git/boocode", ignore_errors=True)
        prepare(repo)
        before, known = repo.files(), set(records(repo))
        if not killed(call, number, INPUTS, Options(record=record)):
            break
        halfway = contents(repo)
        mixed += not (old_of(halfway) or new_of(halfway))
        done = repo.boocode("doctor", "--fix", "--json")
        assert done.code == 0, done.err
        assert not leftovers(repo.top)
        assert not Path(".git/boocode", EDIT_NOTE).exists()
        assert repo.boocode("doctor").out == "no problems found\n"
        if repo.files() == before:
            assert set(records(repo)) == known
            assert sorted(path.name for path in repo.top.iterdir()) == [
                ".git",
                "a",
                "gone",
                "moved",
            ]
        else:
            assert contents(repo) == NEW
            assert len(set(records(repo)) - known) == record
    else:
        raise AssertionError("it never got through")
    assert number > 1
    assert contents(repo) == NEW
    # The calls that put files in their places do leave some old and some new.
    assert mixed > 0 or call not in ("link", "unlink")


def new_of(found: dict[str, bytes]) -> bool:
    return {path: data for path, data in found.items() if not path.endswith(".tmp")} == NEW


def old_of(found: dict[str, bytes]) -> bool:
    return all(found.get(name) == b"old\n" for name in ("a", "moved", "gone/last")) and not any(
        name in found for name in ("deep/er/to", "made/it")
    )


def interrupt(repo: Repo, *, record: bool = True) -> None:
    """Leave `a` written and `b` not."""
    repo.write("a", "old\n")
    repo.write("b", "old\n")
    inputs = act(("a", Replace("old", "new")), ("b", Replace("old", "new")))
    # The first replace puts the note in its place, the second `a`, the third `b`.
    assert killed("replace", 3, inputs, Options(record=record))
    assert (repo.read("a"), repo.read("b")) == (b"new\n", b"old\n")


def test_the_next_edit_says_so_and_changes_nothing(repo: Repo) -> None:
    interrupt(repo)
    before = repo.files()
    with pytest.raises(RefusedError) as caught:
        apply(replace("b", "old", "other"))
    assert caught.value.code == "half_written"
    assert "1 of 2 files have the new content" in caught.value.message
    assert "doctor --fix" in caught.value.hints[0]
    assert repo.files() == before


def test_where_no_file_or_every_file_was_written_the_next_edit_just_goes_on(repo: Repo) -> None:
    repo.write("a", "old\n")
    inputs = act(("a", Replace("old", "new")))
    options = Options(record=False)
    # Before the only file is replaced, and after.
    for call, number, now in (("replace", 2, b"old\n"), ("unlink", 1, b"new\n")):
        assert killed(call, number, inputs, options)
        assert repo.read("a") == now
        assert leftovers(repo.top)
        repo.write("other", "old\n")
        apply(replace("other", "old", "new"))
        assert not leftovers(repo.top)


@pytest.mark.parametrize("record", [True, False])
def test_what_changed_since_is_left_alone(repo: Repo, record: bool) -> None:
    interrupt(repo, record=record)
    repo.write("a", "somebody's\n")
    looked = repo.boocode("doctor")
    assert looked.code == 1
    assert "'a' changed since" in looked.out
    done = repo.boocode("doctor", "--fix")
    assert done.code == 0
    assert (repo.read("a"), repo.read("b")) == (b"somebody's\n", b"old\n")
    assert "'a' changed since and was left alone" in done.out
    if record:
        (ref,) = records(repo)
        assert ref.rpartition("/")[2] in done.out
        assert repo.git("show", f"{ref}:before/a") == "old\n"
        assert not leftovers(repo.top)
    else:
        (kept,) = leftovers(repo.top)
        assert kept in done.out
        assert Path(kept).read_bytes() == b"old\n"


def test_no_backup_is_kept_of_a_file_that_was_not_written(repo: Repo) -> None:
    interrupt(repo, record=False)
    repo.write("b", "somebody's\n")
    done = repo.boocode("doctor", "--fix")
    assert (done.code, "'b' changed since and was left alone" in done.out) == (0, True)
    assert (repo.read("a"), repo.read("b")) == (b"old\n", b"somebody's\n")
    assert not leftovers(repo.top)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_new_mode_shows_in_another_file(repo: Repo, replaced: bool) -> None:
    repo.write("a", "same\n", 0o755 if replaced else 0o644)
    if replaced:
        repo.write(".a.old.tmp", "same\n", 0o644)
    else:
        os.link("a", ".a.old.tmp")
    repo.write("b", "old\n")
    same, old, new = map(fingerprint, (b"same\n", b"old\n", b"new\n"))
    steps = [WriteStep("a", "a", ".a", same, same), WriteStep("b", "b", ".b", old, new)]
    note = {"record": None, "files": [step._asdict() for step in steps]}
    repo.write(f".git/boocode/{EDIT_NOTE}", json.dumps(note))
    edit = json.dumps({"path": "c", "content": ""})
    assert repo.boocode("apply-edit", stdin=edit).code == replaced
    assert repo.boocode("doctor", "--fix").code == 0
    assert stat.S_IMODE(os.stat("a").st_mode) == 0o644
    assert not leftovers(repo.top)


def test_a_failing_repair_can_be_repeated(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    from git_boocode.editing.recovery import interrupted_edit, repair
    from git_boocode.repo.repository import Repository

    interrupt(repo)
    repository = Repository.discover()
    found = interrupted_edit(repository)
    assert found is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _broken)
        with pytest.raises(FatalError, match="cannot restore 'a': input/output error"):
            repair(repository, found)
    assert repo.boocode("doctor", "--fix").code == 0
    assert repo.read("a") == b"old\n"


def _broken(*_: object) -> None:
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize("note", ["", "{", "[]", '{"files": 1}', '{"record":null,"files":[{}]}'])
@pytest.mark.variants
def test_a_note_that_cannot_be_read_is_said(repo: Repo, note: str) -> None:
    repo.write("a", "old\n")
    repo.write(f".git/boocode/{EDIT_NOTE}", note)
    edit = json.dumps(replace("a", "old", "new"))
    done = repo.boocode("apply-edit", stdin=edit)
    assert done.code == 128
    assert "journal of an interrupted edit is damaged" in done.err
    assert EDIT_NOTE in done.err
    assert repo.read("a") == b"old\n"
    assert repo.boocode("doctor").code == 1
    assert repo.boocode("doctor", "--fix").code == 0
    assert repo.boocode("apply-edit", stdin=edit).code == 0


def test_a_repository_that_was_moved_is_mended_where_it_is(repo: Repo, tmp_path: Path) -> None:
    interrupt(repo)
    copy = Repo(tmp_path / "copy")
    shutil.copytree(repo.top, copy.top)
    left = repo.files()
    assert copy.boocode("doctor", "--fix").code == 0
    assert (copy.read("a"), copy.read("b")) == (b"old\n", b"old\n")
    assert not leftovers(copy.top)
    assert repo.files() == left


@pytest.mark.parametrize("other", [None, b"old\n", b"new\n"])
def test_a_file_with_a_new_spelling_is_written_then_renamed(
    repo: Repo, other: bytes | None
) -> None:
    repo.write("name", "new\n")
    repo.write(".name.old.tmp", "old\n")
    old, new = fingerprint(b"old\n"), fingerprint(b"new\n")
    steps = [WriteStep("Name", "name", ".name", old, new, "Name")]
    if other is not None:
        repo.write("other", other)
        steps.append(WriteStep("other", "other", ".other", old, new))
    note = {"record": None, "files": [step._asdict() for step in steps]}
    repo.write(f".git/boocode/{EDIT_NOTE}", json.dumps(note))
    assert repo.boocode("doctor", "--fix").code == 0
    if other == b"old\n":
        assert contents(repo) == {"name": b"old\n", "other": b"old\n"}
    else:
        assert contents(repo) == {"Name": b"new\n", **({"other": other} if other else {})}


def test_a_directory_that_became_a_symlink_leads_no_recovery_out(
    repo: Repo, tmp_path: Path
) -> None:
    inputs = act(("d/a", Replace("old", "new")), ("b", Replace("old", "new")))
    repo.write("d/a", "old\n")
    repo.write("b", "old\n")
    # The first replace puts the note in its place, the second `d/a`, the third `b`.
    assert killed("replace", 3, inputs, Options())
    outside = tmp_path / "outside"
    Path("d").rename(outside)
    Path("d").symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    assert before["a"] == b"new\n"
    done = repo.boocode("apply-edit", stdin=json.dumps(replace("b", "x", "y")))
    assert done.code == 128
    assert "is outside the worktree" in done.err
    assert repo.boocode("doctor", "--fix").code == 0
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_the_old_content_comes_from_git_if_nothing_is_kept_beside_the_file(repo: Repo) -> None:
    repo.write("a", "old\n", 0o750)
    interrupt(repo)
    for path in leftovers(repo.top):
        os.unlink(path)
    assert repo.boocode("doctor", "--fix").code == 0
    assert stat.S_IMODE(os.stat("a").st_mode) == 0o750
    assert (repo.read("a"), repo.read("b")) == (b"old\n", b"old\n")
    assert not leftovers(repo.top)


def test_what_is_nowhere_is_said(repo: Repo) -> None:
    interrupt(repo, record=False)
    for path in leftovers(repo.top):
        os.unlink(path)
    done = repo.boocode("doctor", "--fix")
    assert done.code == 128
    assert "its old content is neither on disk nor in git" in done.err
    assert EDIT_NOTE in done.err
