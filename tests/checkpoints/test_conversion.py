"""What changes how files are converted changes blobs, though no file has changed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkpoints.kit import held, held_without_history
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

Change = Callable[[Repo], None]
CHANGES: dict[str, Change] = {}
FILES = {
    ".gitattributes": "*.up filter=up\n",
    "sub/.gitattributes": "*.y -text\n",
    ".gitignore": "hidden/.gitattributes\n",
    "crlf.txt": "1\r\n2\r\n",
    "id.txt": "$Id: old $\n",
    "x.up": "x\n",
    "sub/crlf.y": "1\r\n2\r\n",
    "sub/x.up": "x\n",
    "hidden/crlf.txt": "1\r\n2\r\n",
}
UNTRACKED = {
    "new/.gitattributes": "*.none text\n",
    "new/crlf.txt": "1\r\n2\r\n",
    "new/x.up": "new\n",
    "new/wide.txt": "w\0i\0d\0e\0",
    "hidden/.gitattributes": "# nothing yet\n",
    "hidden/new.txt": "1\r\n2\r\n",
}
# What a change may write to, beside the files above.
PLACES = (".git/config", ".git/info/attributes", ".git/more-attributes", ".git/included")


def change(happen: Change) -> Change:
    """Register a change under its function's name."""
    CHANGES[happen.__name__] = happen
    return happen


@change
def nothing(repo: Repo) -> None:
    pass


@change
def tracked_attributes(repo: Repo) -> None:
    repo.write(".gitattributes", "* text=auto\n")


@change
def tracked_attributes_of_the_same_size_and_time(repo: Repo) -> None:
    before = (repo.top / ".gitattributes").stat()
    repo.write(".gitattributes", "*.up filter=UP\n")
    os.utime(repo.top / ".gitattributes", ns=(before.st_atime_ns, before.st_mtime_ns))


@change
def nested_attributes(repo: Repo) -> None:
    repo.write("sub/.gitattributes", "*.y text\n*.up -filter\n")


@change
def untracked_attributes(repo: Repo) -> None:
    repo.write("new/.gitattributes", "*.txt text\n")


@change
def encodings(repo: Repo) -> None:
    repo.write("new/.gitattributes", "wide.txt text working-tree-encoding=UTF-16LE\n")


@change
def identifiers(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt ident\n*.up filter=up\n")


@change
def macros(repo: Repo) -> None:
    repo.write(".gitattributes", "[attr]mine text\n*.txt mine\n")


@change
def new_attributes(repo: Repo) -> None:
    repo.write("sub/deep/.gitattributes", "* text\n")
    repo.write("sub/deep/crlf.z", "1\r\n")
    (repo.top / "new/.gitattributes").unlink()


@change
def attributes_that_were_deleted(repo: Repo) -> None:
    (repo.top / ".gitattributes").unlink()


@change
def attributes_that_were_untracked(repo: Repo) -> None:
    repo.git("rm", "-q", "--cached", ".gitattributes")
    repo.write(".gitattributes", "*.up -filter\n*.txt text\n")


@change
def attributes_that_git_ignores(repo: Repo) -> None:
    repo.write("hidden/.gitattributes", "*.txt text\n")


@change
def attributes_that_become_a_symlink(repo: Repo) -> None:
    # git does not follow it.
    (repo.top / "sub/.gitattributes").unlink()
    (repo.top / "sub/.gitattributes").symlink_to("../new/.gitattributes")


@change
def private_attributes(repo: Repo) -> None:
    repo.write(".git/info/attributes", "*.txt text\n")


@change
def attributes_elsewhere(repo: Repo) -> None:
    repo.write(".git/more-attributes", "*.txt text\n")
    repo.git("config", "core.attributesFile", str(repo.top / ".git/more-attributes"))


@change
def line_endings(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "input")


@change
def included_settings(repo: Repo) -> None:
    repo.write(".git/included", "[core]\n\tautocrlf = input\n")
    repo.git("config", "include.path", "included")


@change
def another_command(repo: Repo) -> None:
    repo.git("config", "filter.up.clean", "tr x y")


@change
def another_kind_of_command(repo: Repo) -> None:
    repo.git("config", "--unset", "filter.up.clean")


@change
def a_command_that_fails(repo: Repo) -> None:
    repo.git("config", "filter.up.clean", "false")


@change
def a_command_that_fails_and_must_not(repo: Repo) -> None:
    repo.git("config", "filter.up.clean", "false")
    repo.git("config", "filter.up.required", "true")


@change
def symlinks_that_are_files(repo: Repo) -> None:
    repo.git("config", "core.symlinks", "false")


def set_up(repo: Repo) -> None:
    """Files of every kind, and a checkpoint of them that is not too fresh to be built on."""
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    for path in ("hidden/new.txt", "new/x.up"):
        repo.write(path, "")
    repo.commit(**FILES)
    repo.git("rm", "-q", "--cached", "hidden/new.txt", "new/x.up")
    repo.git("commit", "-q", "-m", "untracked again")
    for path, content in UNTRACKED.items():
        repo.write(path, content)
    for path in repo.files():
        os.utime(repo.top / path, (1_700_000_000, 1_700_000_000))
    repo.git("update-index", "-q", "--refresh")
    # Attributes that have just been written may have changed while files were read.
    time.sleep(2.1)
    held()
    assert (repo.top / ".git/boocode/kept-index.json").exists()


def save(repo: Repo) -> dict[Path, bytes | None]:
    """What a change may write to, as it is now; None for what is not there."""
    paths = [repo.top / path for path in (*PLACES, ".git/index") if path]
    paths += repo.top.rglob(".gitattributes")
    return {path: path.read_bytes() if path.exists() else None for path in paths}


def put_back(repo: Repo, saved: dict[Path, bytes | None]) -> None:
    """Undo a change; files of other kinds must not be touched, or they are read again."""
    shutil.rmtree(repo.top / "sub/deep", ignore_errors=True)
    for path, content in saved.items():
        if content != (path.read_bytes() if path.exists() else None) or path.is_symlink():
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)


def test_changed_conversions_are_detected(repo: Repo) -> None:
    set_up(repo)
    state, aside = repo.top / ".git/boocode", repo.top / ".git/aside"
    shutil.copytree(state, aside)
    saved = save(repo)
    wrong = []
    for name, happen in CHANGES.items():
        happen(repo)
        if held() != held_without_history():
            wrong.append(name)
        put_back(repo, saved)
        shutil.rmtree(state)
        shutil.copytree(aside, state)
    assert wrong == []


def start(repo: Repo) -> None:
    """A checkpoint of files with other line endings, where no attributes are."""
    repo.commit(**{"crlf.txt": "1\r\n2\r\n", "sub/crlf.txt": "1\r\n2\r\n"})
    repo.write("sub/new.txt", "1\r\n2\r\n")
    for path in repo.files():
        os.utime(repo.top / path, (1_700_000_000, 1_700_000_000))
    repo.git("update-index", "-q", "--refresh")
    # What was changed in the very second of a capture is read again by the next in any case.
    time.sleep(1.06 - time.time() % 1)


@pytest.mark.parametrize("key", ["xdg", "home"])
def test_the_users_own_attributes(
    repo: Repo, sealed: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    if key == "home":
        monkeypatch.delenv("XDG_CONFIG_HOME")
    start(repo)
    before = held()
    (sealed / ".config/git").mkdir(parents=True)
    (sealed / ".config/git/attributes").write_text("*.txt text\n")
    after = held()
    assert after == held_without_history()
    assert after.tree != before.tree


@pytest.mark.parametrize("where", ["", "sub"])
def test_a_relative_path_to_attributes(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    start(repo)
    repo.git("config", "core.attributesFile", ".git/mine")
    repo.write(".git/mine", "*.none text\n")
    monkeypatch.chdir(repo.top / where)
    before = held()
    repo.write(".git/mine", "*.txt text\n")
    after = held()
    assert after == held_without_history()
    assert after.tree != before.tree


def test_attributes_that_appear_in_a_second_capture(repo: Repo) -> None:
    start(repo)
    before = held()
    repo.write("sub/.gitattributes", "* text\n")
    after = held()
    assert after == held_without_history()
    repo.git("add", "sub/.gitattributes")
    assert held().tree == after.tree
    (repo.top / "sub/.gitattributes").unlink()
    assert held().tree == held_without_history().tree
    repo.git("rm", "-q", "--cached", "sub/.gitattributes")
    assert held() == before


def test_attributes_of_another_branch(repo: Repo) -> None:
    start(repo)
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("other", **{".gitattributes": "*.txt text\n", "only": "x\n"})
    repo.git("checkout", "-q", "main")
    held()
    repo.git("checkout", "-q", "other")
    assert held() == held_without_history()
    repo.git("checkout", "-q", "main")
    assert held() == held_without_history()


@pytest.mark.parametrize("how", ["linked", "worktree config"])
def test_linked_worktrees(repo: Repo, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    start(repo)
    repo.git("worktree", "add", "-q", "-b", "side", ".git/side")
    side = Repo(repo.top / ".git/side")
    monkeypatch.chdir(side.top)
    side.write("new.txt", "1\r\n2\r\n")
    before = held()
    if how == "linked":
        repo.write(".git/info/attributes", "*.txt text\n")
    else:
        side.git("config", "extensions.worktreeConfig", "true")
        side.git("config", "--worktree", "core.autocrlf", "input")
    after = held()
    assert after == held_without_history()
    assert after.tree != before.tree
