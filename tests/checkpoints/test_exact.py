"""An undo brings back the bytes and modes of files, also where git's own form loses them."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_boocode.checkpoints.worktree.indexer import may_convert
from git_boocode.repo import process
from git_boocode.repo.errors import FatalError
from git_boocode.repo.process import read_umask
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import Host, back, interrupted, redone, refs, seen, sound, take, undone
from tests.checkpoints.test_properties import fresh_repo
from tests.repo_kit import Repo, examples

pytestmark = pytest.mark.slow

CRLF, LF, MIXED, CR = b"a\r\nb\r\n", b"a\nb\n", b"a\r\nb\n", b"a\rb\r"


def exact(repo: Repo) -> dict[str, tuple[int, bytes]]:
    """Every regular file of the worktree with its bytes and all of its mode."""
    return {
        path: (stat.S_IMODE((repo.top / path).lstat().st_mode), content)
        for path, (_, content) in repo.files().items()
    }


def blobs(repo: Repo) -> set[bytes]:
    """The content of every blob in the object store."""
    listing = repo.git("cat-file", "--batch-all-objects", "--batch-check").splitlines()
    ids = [row.split()[0] for row in listing if " blob " in row]
    return {os.fsencode(repo.git("cat-file", "blob", one)) for one in ids}


@pytest.mark.parametrize(
    ("autocrlf", "content"), [("input", CRLF), ("input", MIXED), ("true", LF), ("true", MIXED)]
)
@pytest.mark.parametrize("tracked", [False, True])
def test_line_endings_come_back(repo: Repo, autocrlf: str, content: bytes, tracked: bool) -> None:
    repo.commit(f="old\n")
    repo.git("config", "core.autocrlf", autocrlf)
    first = take()
    repo.write("new", content)
    repo.write("f", content)
    if tracked:
        repo.git("add", "-A")
    before, status = exact(repo), repo.status()
    back(first.id)
    restored = exact(repo)
    for _ in range(2):
        undone()
        assert exact(repo) == before
        assert repo.status() == status
        redone()
        assert exact(repo) == restored
    sound(repo)


def test_the_cost_in_processes_does_not_grow_with_the_files(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(**{f"f{number}": "old\n" for number in range(40)})
    repo.git("config", "core.autocrlf", "input")
    first = take()
    for number in range(40):
        repo.write(f"f{number}", MIXED + b"%d\n" % number)
    before = exact(repo)
    back(first.id)
    started = []
    real = subprocess.Popen.__init__

    def start(self: subprocess.Popen[bytes], *arguments: Any, **options: Any) -> None:
        started.append(arguments)
        real(self, *arguments, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", start)
    undone()
    assert len(started) < 30
    monkeypatch.undo()
    assert exact(repo) == before


@pytest.mark.parametrize(
    ("attributes", "content", "where"),
    [
        ("text eol=lf", CRLF, ".gitattributes"),
        ("text eol=crlf", LF, ".git/info/attributes"),
        ("ident", b"$Id: mine $\n", ".gitattributes"),
        ("working-tree-encoding=UTF-16", "a\n".encode("utf-16"), ".git/info/attributes"),
        ("filter=lossy", b"keep\ndrop\n", ".gitattributes"),
        ("crlf=input", CRLF, ".git/info/attributes"),
    ],
)
def test_conversions_by_attributes(repo: Repo, attributes: str, content: bytes, where: str) -> None:
    repo.git("config", "filter.lossy.clean", "grep -v drop")
    repo.write(where, f"*.c {attributes}\n")
    repo.commit()
    first = take()
    repo.write("sub/x.c", content)
    before = exact(repo)
    back(first.id)
    assert not (repo.top / "sub").exists()
    undone()
    assert exact(repo) == before


@pytest.mark.parametrize(
    ("attributes", "content"), [("* ident\n", b"$Id$\n"), ("* text eol=crlf\n", LF)]
)
def test_a_converted_file_is_as_clean_as_after_a_checkout(
    repo: Repo, attributes: str, content: bytes
) -> None:
    def write(content: bytes) -> None:
        repo.write("f", content)
        # Git trusts the size that the index has of a file that is older than the index.
        os.utime(repo.top / "f", (1, 1))

    repo.commit(other="o\n", **{"flagged/f": "flagged\n"})
    write(content)
    repo.write(".gitattributes", attributes)
    repo.write("other", "staged\n")
    repo.git("add", "-A")
    repo.git("update-index", "--assume-unchanged", "flagged/f")
    before = seen(repo)
    take()
    write(b"changed\n")
    shutil.rmtree(repo.top / "flagged")
    (repo.top / "flagged").symlink_to("other")
    changed = seen(repo)

    back()
    assert repo.files()["f"] != before.files["f"]  # as git converts it
    assert seen(repo)[1:] == before[1:]
    undone()
    assert seen(repo) == changed
    redone()
    assert seen(repo)[1:] == before[1:]


def test_a_filter_that_loses_nothing_is_left_to_git(repo: Repo) -> None:
    repo.git("config", "filter.turn.clean", "tr a-z b-za")
    repo.git("config", "filter.turn.smudge", "tr b-za a-z")
    repo.write(".gitattributes", "*.bin filter=turn\n")
    repo.commit()
    first = take()
    repo.write("x.bin", "large\n")
    back(first.id)
    undone()
    assert repo.read("x.bin") == b"large\n"
    assert b"large\n" not in blobs(repo)


def test_settings_that_change_before_the_undo(repo: Repo) -> None:
    repo.commit(f="old\n")
    repo.git("config", "core.autocrlf", "input")
    first = take()
    repo.write("f", CRLF)
    back(first.id)
    repo.git("config", "core.autocrlf", "false")
    undone()
    assert repo.read("f") == CRLF


def convert_from_now_on(repo: Repo, how: str) -> None:
    """Let git write CRLF."""
    if how == "autocrlf":
        repo.git("config", "core.autocrlf", "true")
    else:
        repo.write(how, "* text eol=crlf\n")


@pytest.mark.parametrize("how", ["autocrlf", ".git/info/attributes", ".gitattributes"])
def test_conversions_that_begin_before_the_undo(repo: Repo, how: str) -> None:
    repo.commit(f="old\n")
    first = take()
    repo.write("f", LF)
    repo.write("new", LF, 0o755)
    before = exact(repo)
    back(first.id)
    convert_from_now_on(repo, how)
    restored = exact(repo)
    undone()
    assert exact(repo) == before
    redone()
    assert exact(repo) == restored


@pytest.mark.parametrize("where", ["prefix", "attr.tree", "GIT_ATTR_SOURCE"])
def test_attributes_that_only_some_gits_read(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    assert not may_convert(Repository.discover(), ["f"])
    if where == "prefix":
        prefix = repo.top / ".git/prefix"
        repo.write(".git/prefix/etc/gitattributes", "* text\n")
        (prefix / "bin").mkdir()
        (prefix / "bin/git").symlink_to(shutil.which("git") or "")
        monkeypatch.setenv("PATH", f"{prefix}/bin", prepend=os.pathsep)
    elif where == "attr.tree":
        repo.git("config", where, "HEAD")
    else:
        monkeypatch.setenv(where, "HEAD")
    assert may_convert(Repository.discover(), ["f"])


def test_a_file_that_the_restore_did_not_touch_keeps_its_mode(repo: Repo) -> None:
    repo.write("key", "old\n", 0o600)
    repo.commit(f="old\n")
    first = take()
    repo.write("f", "new\n")
    back(first.id)
    repo.write("key", "new\n")
    undone()
    assert exact(repo)["key"] == (0o600, b"old\n")


@pytest.mark.parametrize("umasks", [(0o077, 0o022), (0o022, 0o077), (0o002, 0o022)])
def test_modes_come_back_under_another_umask(repo: Repo, umasks: tuple[int, int]) -> None:
    repo.commit(f="old\n")
    first = take()
    before_all = os.umask(umasks[0])
    try:
        for path in ("f", "key", "dir/tool"):
            (repo.top / path).unlink(missing_ok=True)
            (repo.top / path).parent.mkdir(exist_ok=True)
            (repo.top / path).write_bytes(LF)
        (repo.top / "dir/tool").chmod(0o777 & ~umasks[0])
        before = exact(repo)
        back(first.id)
        restored = exact(repo)
        os.umask(umasks[1])
        undone()
        assert exact(repo) == before
        os.umask(umasks[0])
        redone()
        assert exact(repo) == restored
    finally:
        os.umask(before_all)


def test_other_threads_keep_their_umask(repo: Repo) -> None:
    reached, resume, made = (repo.top / f".git/{name}" for name in ("reached", "resume", "made"))
    wait = f"touch '{reached}'; while ! [ -e '{resume}' ]; do sleep 0.01; done; cat"
    repo.git("config", "filter.slow.smudge", wait)
    repo.write(".git/info/attributes", "key filter=slow\n")
    repo.write("key", "old\n", 0o600)
    first = take()
    repo.write("key", "new\n")

    def write_meanwhile() -> None:
        while not reached.exists():
            time.sleep(0.01)
        made.touch()
        resume.touch()

    thread = threading.Thread(target=write_meanwhile, daemon=True)
    thread.start()
    back(first.id)
    thread.join()
    assert stat.S_IMODE(made.stat().st_mode) == 0o666 & ~read_umask()
    assert exact(repo)["key"] == (0o600, b"old\n")


@pytest.mark.parametrize(("umask", "is_linux"), [(0o022, True), (0o077, True), (0o027, False)])
def test_the_umask_is_read(umask: int, is_linux: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise FileNotFoundError

    before = os.umask(umask)
    try:
        with monkeypatch.context() as patch:
            if not is_linux:
                patch.setattr(process, "open", missing, raising=False)
            assert read_umask() == umask
    finally:
        assert os.umask(before) == umask


@pytest.mark.parametrize(
    ("was", "executable", "becomes"),
    [(0o600, False, 0o600), (0o600, True, 0o700), (0o700, False, 0o600), (0o640, True, 0o750)],
)
def test_the_replacement_of_a_private_file_is_private(
    repo: Repo, was: int, executable: bool, becomes: int
) -> None:
    repo.write("f", "old\n", 0o755 if executable else 0o644)
    repo.commit()
    first = take()
    (repo.top / "f").unlink()
    repo.write("f", "new\n", was)
    back(first.id)
    assert exact(repo)["f"] == (becomes, b"old\n")
    undone()
    assert exact(repo)["f"] == (was, b"new\n")


def watch_the_key(repo: Repo) -> Path:
    """Let git note the mode of `key` when it writes `last`, and hence after it wrote `key`."""
    log = repo.top / ".git/modes"
    look = f"stat -c %a key >>'{log}' 2>/dev/null; cat"
    repo.git("config", "filter.look.smudge", look)
    repo.write(".git/info/attributes", "last filter=look\n")
    return log


@pytest.mark.parametrize("mode", [0o600, 0o640])
@pytest.mark.parametrize("how", ["undo", "rollback", "rollback over a file"])
def test_a_private_file_is_private_while_it_is_restored(repo: Repo, mode: int, how: str) -> None:
    first = take()
    for path in ("dir/deep/f", "last"):
        repo.write(path, "open\n")
    repo.write("key", "secret\n", mode)
    before = exact(repo)
    log = watch_the_key(repo)
    if how == "undo":
        back(first.id)
        log.write_text("")
        undone()
    else:
        spoil = "echo mine >dir; " if how == "rollback over a file" else ""
        with pytest.raises(FatalError):
            back(first.id, callback=Host(repo, trim=f"{spoil}exit 1").path)
    assert set(log.read_text().split()) == {"600"}
    assert exact(repo) == before
    assert stat.S_IMODE((repo.top / "dir/deep").stat().st_mode) == 0o755


def test_modes_come_back_although_another_file_cannot_be_written(repo: Repo) -> None:
    repo.git("config", "filter.f.required", "true")
    repo.git("config", "filter.f.clean", "cat")
    repo.git("config", "filter.f.smudge", "test ! -e .git/broken && cat")
    repo.write(".gitattributes", "z filter=f\n")
    files = {"key": 0o600, "dir/f": 0o644, "tool": 0o755, "z": 0o644}
    for path, mode in files.items():
        repo.write(path, "old\n", mode)
    taken = take()
    for path, mode in files.items():
        repo.write(path, "new\n", mode)
    host = Host(repo, trim="touch .git/broken; exit 3")
    with pytest.raises(FatalError):
        back(taken.id, callback=host.path)
    whole = {path: (mode, b"new\n") for path, mode in files.items() if path != "z"}
    assert {path: exact(repo)[path] for path in whole} == whole


def test_an_acl_applies_beside_a_private_file(repo: Repo) -> None:
    (repo.top / "dir").mkdir()
    # Tags: owner, group, the group 1234, mask, others; see acl(5).
    everyone = ((1, 7, -1), (4, 7, -1), (8, 7, 1234), (16, 7, -1), (32, 5, -1))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in everyone)
    try:
        os.setxattr(repo.top / "dir", "system.posix_acl_default", acl)
    except (AttributeError, OSError):
        pytest.skip("no ACLs here")
    repo.write("dir/stays", "a\n")
    usual = repo.write("dir/f", "a\n").stat().st_mode
    repo.write("key", "old\n", 0o600)
    taken = take()
    (repo.top / "dir/f").unlink()
    repo.write("key", "new\n", 0o600)
    back(taken.id)
    assert (repo.top / "dir/f").stat().st_mode == usual


def test_other_files_and_directories_are_not_private(repo: Repo) -> None:
    repo.write("key", "old\n", 0o600)
    repo.write("dir/deep/f", "open\n")
    repo.write("dir/tool", "open\n", 0o755)
    repo.commit()
    first = take()
    repo.write("key", "new\n", 0o600)
    shutil.rmtree(repo.top / "dir")
    index = (repo.top / ".git/index").stat().st_mode
    back(first.id)
    modes = {path: mode for path, (mode, _) in exact(repo).items()}
    assert modes == {"key": 0o600, "dir/deep/f": 0o644, "dir/tool": 0o755}
    for path in ("dir", "dir/deep"):
        assert stat.S_IMODE((repo.top / path).stat().st_mode) == 0o755
    assert (repo.top / ".git/index").stat().st_mode == index


def test_no_hard_link_of_the_file_is_written_or_changed(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.commit(f="old\n")
    first = take()
    repo.write("f", CRLF, 0o600)
    back(first.id)
    (repo.top / "f").unlink()
    outside = repo.top.parent / f"{repo.top.name}-outside"
    outside.write_bytes(LF)
    outside.chmod(0o644)
    os.link(outside, repo.top / "f")
    undone()
    assert exact(repo)["f"] == (0o600, CRLF)
    assert (outside.read_bytes(), stat.S_IMODE(outside.stat().st_mode)) == (LF, 0o644)


def test_a_safety_checkpoint_by_its_id(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.commit(f="old\n")
    first = take()
    repo.write("f", CRLF, 0o600)
    before = exact(repo)
    safety = back(first.id).undo
    assert safety is not None
    back(safety)
    assert exact(repo) == before
    undone()
    assert repo.read("f") == b"old\n"
    # What git takes for the same content is not the same.
    (repo.top / "f").unlink()
    repo.write("f", LF)
    other = exact(repo)
    back(safety)
    assert exact(repo) == before
    undone()
    assert exact(repo) == other


def test_one_of_several_paths(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.commit(f="old\n", g="old\n")
    first = take()
    for path in ("f", "g"):
        repo.write(path, CRLF, 0o600)
    before = exact(repo)
    back(first.id, paths=("f",))
    assert exact(repo)["g"] == before["g"]
    undone()
    assert exact(repo) == before


@pytest.mark.parametrize("how", ["fails", "dies"])
def test_a_restore_that_does_not_finish(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.commit(f="old\n")
    first = take()
    repo.write("f", CRLF, 0o600)
    repo.write("new", MIXED, 0o640)
    before, refs_before = exact(repo), refs(repo)
    if how == "fails":
        with pytest.raises(FatalError):
            back(first.id, callback=Host(repo, trim="exit 1").path)
        assert refs(repo) == refs_before
    else:
        interrupted(monkeypatch, lambda: back(first.id))
        assert exact(repo) != before
        undone()
    assert exact(repo) == before
    sound(repo)


def test_the_bytes_survive_git_gc(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.commit(f="old\n")
    first = take()
    repo.write("f", CRLF)
    back(first.id)
    repo.git("gc", "-q", "--prune=now")
    undone()
    assert repo.read("f") == CRLF


@pytest.mark.parametrize(
    "name", ["new\nline", "back\\slash\r", '"quoted"', "\udcff", "tab\there", " x "]
)
def test_odd_names(repo: Repo, name: str) -> None:
    repo.git("config", "core.autocrlf", "input")
    repo.commit(f="old\n")
    first = take()
    repo.write(name, CRLF, 0o600)
    before = exact(repo)
    back(first.id)
    undone()
    assert exact(repo) == before


ALL_TO_ITS_END = """
import os, stat
from pathlib import Path
from tests.checkpoints.kit import back, undone
safety = back("label:first").undo
undone()
os.link("f", ".git/other")
os.chmod("f", 0o600)
back(safety)
assert stat.S_IMODE(os.stat("f").st_mode) == 0o644
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux reports memory")
@pytest.mark.parametrize("autocrlf", ["input", "false"])
def test_large_files_are_not_held_in_memory(repo: Repo, autocrlf: str) -> None:
    repo.git("config", "core.autocrlf", autocrlf)
    repo.git("config", "boocode.maxFileSize", "1g")
    take(label="first")
    content = CRLF * 9_000_000
    repo.write("f", content)
    top = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", ALL_TO_ITS_END],
        env={**os.environ, "PYTHONPATH": str(top)},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert repo.read("f") == content
    assert int(ran.stdout) * 1024 < len(content)


CONTENT = st.lists(
    st.sampled_from([b"a", b"$Id$", b"$Id: x $", b"\r\n", b"\n", b"\r", b"\0", b"\xff"]),
    max_size=6,
).map(b"".join)
MODE = st.sampled_from([0o600, 0o400, 0o644, 0o664, 0o666, 0o700, 0o755, 0o777, 0o711])
FILES = st.dictionaries(
    st.sampled_from(["a", "b.c", "dir/d.c", "dir/e"]), st.tuples(CONTENT, MODE), max_size=4
)
ATTRIBUTES = st.sampled_from(
    ["", "* text=auto", "* text", "*.c text eol=crlf", "* eol=lf", "*.c ident", "* -text"]
)


@settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    autocrlf=st.sampled_from(["false", "input", "true"]),
    rules=st.tuples(ATTRIBUTES, ATTRIBUTES),
    old=FILES,
    new=FILES,
    stage=st.booleans(),
)
def test_every_byte_and_mode_comes_back(
    repo: Repo,
    autocrlf: str,
    rules: tuple[str, str],
    old: dict[str, tuple[bytes, int]],
    new: dict[str, tuple[bytes, int]],
    stage: bool,
) -> None:
    with fresh_repo(repo) as fresh:
        fresh.git("config", "core.autocrlf", autocrlf)
        fill(fresh, rules[0], old)
        first = take()
        fill(fresh, rules[1], new)
        if stage:
            fresh.git("add", "-A")
        before = exact(fresh)
        if back(first.id).undo is None:
            return
        restored = exact(fresh)
        undone()
        assert exact(fresh) == before
        redone()
        assert exact(fresh) == restored
        undone()
        assert exact(fresh) == before
        sound(fresh)


def fill(repo: Repo, rules: str, files: dict[str, tuple[bytes, int]]) -> None:
    """Let a worktree hold some files, and no others."""
    for path in repo.files():
        (repo.top / path).unlink()
    repo.write(".gitattributes", f"{rules}\n")
    for path, (content, mode) in files.items():
        repo.write(path, content, mode)
