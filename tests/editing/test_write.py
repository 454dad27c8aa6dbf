import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from git_boocode.editing.actions import Delete, Replace
from git_boocode.editing.answer import EditsRefusedError
from git_boocode.editing.service import Options
from git_boocode.repo.atomic_write import ChangedMeanwhileError, FileChange, Target, write_files
from git_boocode.repo.errors import FatalError
from git_boocode.repo.files import Symlink, read_state
from tests.editing.kit import act, apply, carry_out, leftovers, records, replace, snapshot
from tests.repo_kit import Repo

EDITS = [
    replace("a", "old", "new"),
    replace("b", "old", "new"),
    {"path": "deep/er/c", "content": "new\n"},
    {"path": "d", "content": "new\n"},
]


class Fault:
    """Lets a system call fail at the nth use."""

    def __init__(self, real: Callable[..., object], number: int, error: BaseException) -> None:
        self.real = real
        self.number = number
        self.error = error
        self.calls = 0

    def __call__(self, *args: object, **kwargs: object) -> object:
        self.calls += 1
        if self.calls == self.number:
            raise self.error
        return self.real(*args, **kwargs)


def prepare(repo: Repo) -> dict[str, object]:
    repo.write("a", "old\n", 0o640)
    repo.write("b", b"\xef\xbb\xbfold\r\nno newline", 0o4755)
    (repo.top / "deep").mkdir()
    return snapshot(repo.top)


def attempt() -> BaseException | None:
    try:
        apply(EDITS, options=Options(record=False))
    except (KeyboardInterrupt, FatalError, OSError) as raised:
        return raised
    return None


@pytest.mark.parametrize(
    ("call", "error"),
    [
        # Where no hard link can be made, the file is copied.
        ("link", KeyboardInterrupt()),
        *product(
            ("write", "fsync", "replace", "fchmod", "mkdir", "open"),
            (
                OSError(errno.ENOSPC, "No space left on device"),
                KeyboardInterrupt(),
                OSError(errno.EIO, "I/O"),
            ),
        ),
    ],
)
@pytest.mark.variants
def test_a_failure_at_any_step_leaves_everything_as_it_was(
    repo: Repo, call: str, error: BaseException
) -> None:
    before = prepare(repo)
    real = getattr(os, call)
    for number in range(1, 60):
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(real, number, error)
            patch.setattr(os, call, fault)
            raised = attempt()
        if raised is None:
            # What failed had to be said.
            assert fault.calls < number
            break
        # An OSError as it is comes from the lock, before anything was begun.
        assert isinstance(raised, FatalError) or raised is error
        assert snapshot(repo.top) == before
    else:
        raise AssertionError("it never got through")
    assert number > 1
    assert not leftovers(repo.top)
    assert repo.read("a") == repo.read("d") == repo.read("deep/er/c") == b"new\n"
    assert repo.read("b") == b"\xef\xbb\xbfnew\r\nno newline"
    assert stat.S_IMODE((repo.top / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((repo.top / "b").stat().st_mode) == 0o4755


@pytest.mark.parametrize("number", [1, 2])
def test_a_full_disk_is_fatal_and_leaves_no_record(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = prepare(repo)
    full = OSError(errno.EDQUOT, "Disk quota exceeded")
    monkeypatch.setattr(os, "replace", Fault(os.replace, number, full))
    with pytest.raises(FatalError) as caught:
        apply(EDITS)
    assert caught.value.code == "disk_full"
    assert caught.value.message.endswith("disk quota exceeded; nothing was changed")
    assert caught.value.details == {"applied": False}
    assert snapshot(repo.top) == before
    assert records(repo) == []


def test_what_cannot_be_put_back_is_said_and_kept(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(repo)
    real, calls = os.replace, []

    def broken(source: str, target: str) -> None:
        if ".git" not in Path(target).parts:
            calls.append(target)
        if len(calls) > 1:
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(FatalError, match="could not roll back 'a'") as caught:
        apply(EDITS)
    assert caught.value.code == "half_written"
    (kept,) = leftovers(repo.top)
    assert Path(kept).read_bytes() == b"old\n"
    assert kept in caught.value.hints[0]
    # The record is what a person can get the old content from, too.
    assert len(records(repo)) == 1


def test_what_another_program_wrote_meanwhile_is_not_called_unchanged(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(repo)
    real, calls = os.replace, []

    def meddled(source: str, target: str) -> None:
        if ".git" not in Path(target).parts:
            calls.append(target)
        if len(calls) == 2:
            with open(calls[0], "a") as stream:
                stream.write("theirs\n")
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", meddled)
    with pytest.raises(FatalError, match="could not roll back 'a'") as caught:
        apply(EDITS)
    assert caught.value.code == "half_written"
    assert repo.read("a") == b"new\ntheirs\n"
    (kept,) = leftovers(repo.top)
    assert Path(kept).read_bytes() == b"old\n"
    assert len(records(repo)) == 1


@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("deletes", [True, False])
@pytest.mark.parametrize("others", [True, False])
def test_what_is_written_to_a_file_until_it_is_replaced_is_kept(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, record: bool, deletes: bool, others: bool
) -> None:
    repo.write("a", "old\n")
    repo.write("b", "old\n")
    call = "unlink" if deletes else "replace"
    real, target = getattr(os, call), str(repo.top / "b")

    def after_them(*paths: str, **how: Any) -> None:
        if paths[-1] == target:
            with open(target, "a") as file:
                file.write("theirs\n")
        real(*paths, **how)

    inputs = act(
        *([("a", Replace("old", "new"))] if others else []),
        ("b", Delete() if deletes else Replace("old", "new")),
    )
    monkeypatch.setattr(os, call, after_them)
    with pytest.raises(EditsRefusedError) as caught:
        carry_out(inputs, options=Options(record=record))
    assert caught.value.failures[0].code == "conflict"
    assert repo.read("a") == b"old\n"
    assert repo.read("b").startswith(b"old\ntheirs\n")
    assert not leftovers(repo.top)
    assert records(repo) == []


def test_a_file_that_another_program_renames_into_place_is_kept(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, conflicts = os.open, 0
    for number in range(1, 99):
        repo.write("a", "old\n")
        opened: list[str] = []

        def then_replaced(
            path: str, *options: Any, opened: list[str] = opened, number: int = number
        ) -> int:
            descriptor = real(path, *options)
            if path == str(repo.top / "a"):
                opened.append(path)
                if len(opened) == number:
                    os.rename(repo.write("theirs", "theirs, not old\n"), path)
            return descriptor

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", then_replaced)
            try:
                apply(replace("a", "old", "new"))
            except EditsRefusedError:
                conflicts += 1
        if len(opened) < number:
            break
        # Their text is edited if there is time to.
        assert repo.read("a") in (b"theirs, not old\n", b"theirs, not new\n"), number
    assert repo.read("a") == b"new\n"
    assert conflicts > 0


@pytest.mark.parametrize("error", [None, errno.EPERM, errno.EMLINK, errno.EIO])
def test_file_systems_without_hard_links(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, error: int | None
) -> None:
    before = prepare(repo)

    def unsupported(*_: object, **__: object) -> None:
        raise OSError(error, "it cannot be linked")

    if error is not None:
        monkeypatch.setattr(os, "link", unsupported)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", Fault(os.replace, 2, OSError(errno.EIO, "I/O error")))
        with pytest.raises(FatalError):
            apply(EDITS)
        assert snapshot(repo.top) == before
    apply(EDITS)
    assert repo.read("d") == b"new\n"
    assert not leftovers(repo.top)


@pytest.mark.parametrize(("umask", "mode"), [(0o027, 0o640), (0, 0o666)])
def test_new_files_follow_the_umask(repo: Repo, umask: int, mode: int) -> None:
    old = os.umask(umask)
    try:
        apply({"path": "x/new", "content": ""})
    finally:
        os.umask(old)
    assert stat.S_IMODE((repo.top / "x/new").stat().st_mode) == mode


def test_a_private_file_is_open_to_nobody_at_any_time(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a", "old\n", 0o600)
    real, modes = os.write, []

    def write(descriptor: int, data: bytes) -> int:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    apply(EDITS[0], index=False)
    assert modes == [0o600]


@pytest.mark.parametrize("name", ["there", "dangling"])
def test_a_symlink_is_replaced_and_restored_itself(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    repo.write("there", "old\n")
    os.symlink(name, "link")
    other = repo.write("other", "old\n")
    link = str(repo.top.resolve() / "link")
    changes = [
        FileChange(Target("link", link, link), read_state(link, links=True), Symlink(b"elsewhere")),
        FileChange(Target("other", *[str(other.resolve())] * 2), None, None),
    ]
    with pytest.raises(ChangedMeanwhileError):
        write_files(changes)
    assert os.readlink("link") == name
    monkeypatch.setattr(os, "link", Fault(os.link, 1, OSError(errno.EPERM, "it cannot be linked")))
    write_files(changes[:1])
    assert os.readlink("link") == "elsewhere"
    assert not leftovers(repo.top)


def at_publish(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something between the last look at the plan and the writing."""
    from git_boocode.editing.records import Record

    real = Record.publish

    def publish(self: Record) -> None:
        real(self)
        act()

    monkeypatch.setattr(Record, "publish", publish)


def at_begin(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something between the plan and the first look at whether it still holds."""
    from git_boocode.editing.service import EditJournal

    real = EditJournal.begin

    def begin(self: EditJournal, *args: Any) -> None:
        real(self, *args)
        act()

    monkeypatch.setattr(EditJournal, "begin", begin)


def vacated(path: Path) -> Path:
    path.unlink()
    return path


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda top: (top / "b").write_text("theirs\n"),
    "mode": lambda top: (top / "b").chmod(0o600),
    "gone": lambda top: (top / "b").unlink(),
    "created": lambda top: (top / "d").write_text("theirs\n"),
    "symlink": lambda top: os.symlink("a", vacated(top / "b")),
    "directory": lambda top: vacated(top / "b").mkdir(),
}


@pytest.mark.parametrize("when", [at_begin, at_publish])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_meanwhile_refuses_the_whole_call(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, when: Callable[..., None], change: str
) -> None:
    prepare(repo)
    theirs: list[object] = []

    def act() -> None:
        CHANGES[change](repo.top)
        theirs.append(
            {path: seen for path, seen in snapshot(repo.top).items() if ".tmp" not in path}
        )

    when(monkeypatch, act)
    real, replaced = os.replace, []

    def replace(source: str, target: str) -> None:
        replaced.append(Path(target).parts)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(EditsRefusedError) as caught:
        apply(EDITS)
    # None of the files was new for a moment.
    assert all(".git" in parts for parts in replaced)
    assert caught.value.code == "conflict"
    assert [failure.code for failure in caught.value.failures] == ["conflict"]
    now = snapshot(repo.top)
    # Directories made for new files are gone again too, which the other program's view still had.
    assert now == {path: seen for path, seen in theirs[0].items() if "deep/er" not in path}  # type: ignore[attr-defined]
    assert records(repo) == []


def test_a_file_created_at_the_last_moment_is_not_overwritten(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def link(source: str, target: str, **how: object) -> None:
        Path(target).write_text("theirs\n")
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(EditsRefusedError, match="another program"):
        apply({"path": "new", "content": "ours\n"})
    assert repo.read("new") == b"theirs\n"
    assert not leftovers(repo.top)


def test_a_read_only_file_is_fatal(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    before = prepare(repo)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FatalError, match="cannot write 'a': the file is read-only"):
        apply(EDITS)
    assert snapshot(repo.top) == before


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from tests.editing.kit import apply
real, calls = getattr(os, {call!r}), []
def killing(*args, **how):
    calls.append(args)
    if len(calls) == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **how)
os.{call} = killing
apply({edits!r})
"""


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("replace", 1),
        ("link", 3),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("replace", 2), ("fsync", 1), ("fsync", 3), ("unlink", 1))
        ),
    ],
)
def test_a_kill_leaves_each_file_old_or_new(repo: Repo, call: str, number: int) -> None:
    old, new = b"old\n" * 5_000, b"new\n" + b"old\n" * 4_999
    for name in ("a", "b"):
        repo.write(name, old)
    edits = [{"path": name, "content": new.decode()} for name in ("a", "b", "c")]
    root = str(Path(__file__).parents[2])
    script = KILLED.format(root=root, call=call, number=number, edits=edits)
    done = subprocess.run([sys.executable, "-c", script], cwd=repo.top, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for name in ("a", "b"):
        assert repo.read(name) in (old, new)
    assert not (repo.top / "c").exists() or repo.read("c") == new
    # Before anything was replaced, the old content was safe in git.
    if any(repo.read(name) == new for name in ("a", "b")):
        (ref,) = records(repo)
        assert repo.git("show", f"{ref}:before/a").encode() == old


@pytest.mark.parametrize(("number", "is_written"), [(2, False), (3, True)])
@pytest.mark.variants
def test_a_signal_waits_until_a_file_is_whole(repo: Repo, number: int, is_written: bool) -> None:
    """It rolls the files back before the last one is written; a program that uses us gets it."""
    before = prepare(repo)
    root = str(Path(__file__).parents[2])
    script = KILLED.format(root=root, call="replace", number=number, edits=EDITS[:2])
    script = script.replace("SIGKILL", "SIGINT")
    done = subprocess.run([sys.executable, "-c", script], cwd=repo.top, capture_output=True)
    assert b"KeyboardInterrupt" in done.stderr
    assert (snapshot(repo.top) != before) is is_written
    assert repo.read("a") == (b"new\n" if is_written else b"old\n")
    assert not leftovers(repo.top)


def test_extended_attributes_and_hard_links(repo: Repo) -> None:
    prepare(repo)
    os.link("a", "twin")
    try:
        os.setxattr("a", "user.note", b"kept")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    apply(EDITS)
    assert os.getxattr("a", "user.note") == b"kept"
    assert repo.read("twin") == b"old\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_and_setuid_are_kept(repo: Repo) -> None:
    prepare(repo)
    os.chown("b", 12345, 54321)
    (repo.top / "b").chmod(0o6755)
    apply(EDITS)
    found = (repo.top / "b").stat()
    assert (found.st_uid, found.st_gid) == (12345, 54321)
    assert stat.S_IMODE(found.st_mode) == 0o6755
