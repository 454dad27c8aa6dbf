from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from git_boocode.repo.errors import FatalError
from git_boocode.repo.head import read_head
from git_boocode.repo.libgit2 import Libgit2Store, open_store
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import Ref, Store
from tests.repo_kit import Repo


def refusal() -> FatalError:
    """The error of a discovery that must fail."""
    with pytest.raises(FatalError) as caught:
        Repository.discover()
    return caught.value


@pytest.mark.sha1
def test_at_the_top(repo: Repo) -> None:
    found = Repository.discover()
    assert found.worktree == str(repo.top)
    assert found.git_dir == found.common_dir == str(repo.top / ".git")
    assert (found.prefix, found.object_format, found.worktree_name) == ("", "sha1", "main")
    assert found.state_dir == str(repo.top / ".git/boocode")
    assert found.index_path == str(repo.top / ".git/index")


@pytest.mark.parametrize("name", ["sub", "a/b", "..data", "...", "new\nline", "\udcff", " é "])
def test_from_a_subdirectory(repo: Repo, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (repo.top / name).mkdir(parents=True)
    monkeypatch.chdir(repo.top / name)
    found = Repository.discover()
    assert (found.worktree, found.prefix) == (str(repo.top), f"{name}/")


def test_another_directory_than_the_current_one(repo: Repo, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "other"], check=True)
    (tmp_path / "other/sub").mkdir()
    found = Repository.discover(str(tmp_path / "other/sub"))
    assert (found.worktree, found.prefix) == (str(tmp_path / "other"), "sub/")


@pytest.mark.parametrize("name", ["new\nline", "ends in newline\n", "\udcff\udcfe", "'\"$x", "é"])
def test_a_top_with_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    top = tmp_path / name
    subprocess.run(["git", "init", "-q", top], check=True)
    (top / "sub").mkdir()
    monkeypatch.chdir(top / "sub")
    found = Repository.discover()
    assert (found.worktree, found.prefix) == (str(top), "sub/")
    assert found.git_dir == found.common_dir == str(top / ".git")
    assert found.git.line("rev-parse", "--is-inside-work-tree") == "true"


def test_a_symlinked_current_directory(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.top / "sub").mkdir()
    (tmp_path / "link").symlink_to(repo.top / "sub")
    monkeypatch.chdir(tmp_path / "link")
    monkeypatch.setenv("PWD", str(tmp_path / "link"))
    found = Repository.discover()
    assert (found.worktree, found.prefix) == (str(repo.top), "sub/")


@pytest.mark.parametrize("absolute", [True, False])
def test_git_dir_of_this_repository_does_not_make_a_subdirectory_the_top(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, absolute: bool
) -> None:
    (repo.top / "sub").mkdir()
    monkeypatch.chdir(repo.top / "sub")
    monkeypatch.setenv("GIT_DIR", str(repo.top / ".git") if absolute else "../.git")
    found = Repository.discover()
    assert (found.worktree, found.prefix) == (str(repo.top), "sub/")


def test_git_dir_of_another_repository_is_honoured(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "other"], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    found = Repository.discover()
    assert (found.git_dir, found.worktree) == (str(tmp_path / "other/.git"), str(repo.top))


def test_git_dir_and_work_tree(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work/sub").mkdir(parents=True)
    monkeypatch.setenv("GIT_DIR", str(repo.top / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "work"))
    monkeypatch.chdir(tmp_path / "work/sub")
    found = Repository.discover()
    assert found.git_dir == str(repo.top / ".git")
    assert (found.worktree, found.prefix) == (str(tmp_path / "work"), "sub/")
    monkeypatch.chdir(tmp_path)
    assert Repository.discover().prefix == ""


def test_git_dir_that_leads_nowhere(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "nowhere")
    error = refusal()
    assert (error.code, error.exit_code) == ("not_a_repository", 128)
    assert "GIT_DIR is set to 'nowhere'" in error.hints[0]


@pytest.mark.parametrize("inside", [True, False])
def test_a_git_that_is_too_old(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    """Git before 2.31 prints an option of `rev-parse` that it does not know."""
    program = tmp_path / "git"
    old = 'case " $* " in *" --path-format="*) echo --path-format=absolute ;; esac'
    program.write_text(f'#!/bin/sh\n{old}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(repo.top if inside else tmp_path)
    error = refusal()
    assert (error.code, error.message) == ("no_git", "git is too old")
    assert error.hints == ("git 2.34 or newer must be on the PATH",)


def test_a_bare_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bare.git", "ba\nre.git"):
        subprocess.run(["git", "init", "-q", "--bare", tmp_path / name], check=True)
        monkeypatch.chdir(tmp_path / name)
        error = refusal()
        assert (error.code, error.exit_code) == ("no_worktree", 128)
        assert error.message == f"'{tmp_path / name}' has no worktree"


def test_inside_the_git_directory(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.top / ".git/refs")
    error = refusal()
    assert error.code == "no_worktree"
    assert "is outside the worktree" in error.message


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = refusal()
    assert (error.code, error.exit_code) == ("not_a_repository", 128)
    assert error.message.startswith("not a git repository")


def test_a_current_directory_that_is_gone(repo: Repo) -> None:
    (repo.top / "sub").mkdir()
    os.chdir(repo.top / "sub")
    (repo.top / "sub").rmdir()
    assert refusal().code == "no_directory"


def test_a_linked_worktree(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", "linked")
    repo.git("worktree", "move", "linked", "moved")
    monkeypatch.chdir(repo.top / "moved")
    found = Repository.discover()
    assert found.worktree == str(repo.top / "moved")
    assert found.git_dir == str(repo.top / ".git/worktrees/linked")
    assert found.common_dir == str(repo.top / ".git")
    assert found.worktree_name == "linked"


def test_a_linked_worktree_that_is_called_main(repo: Repo, tmp_path: Path) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "main"))
    main, linked = Repository.discover(), Repository.discover(str(tmp_path / "main"))
    assert (main.worktree_name, linked.worktree_name) == ("main", "worktrees/main")
    assert main.worktree_keys() == linked.worktree_keys() == {"main", "worktrees/main"}
    assert linked.state_dirs() == [main.state_dir, linked.state_dir]


def test_the_only_main_of_a_bare_repository(repo: Repo, tmp_path: Path) -> None:
    repo.commit()
    bare = Repo(tmp_path / "bare.git")
    repo.git("clone", "-q", "--bare", ".", str(bare.top))
    bare.git("worktree", "add", "-q", "../main")
    assert Repository.discover(str(tmp_path / "main")).worktree_name == "main"


def test_our_git_is_sealed_off_from_hooks_and_callers(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_INDEX_FILE", "elsewhere")
    monkeypatch.setenv("GIT_PREFIX", "sub/")
    git = Repository.discover().git
    assert "GIT_INDEX_FILE" not in git.env
    assert "GIT_PREFIX" not in git.env
    assert git.line("config", "core.hooksPath") == os.devnull


@pytest.mark.parametrize("scope", ["local", "global"])
def test_fsmonitor_runs_only_if_the_user_chose_it(repo: Repo, scope: str) -> None:
    repo.git("config", f"--{scope}", "core.fsmonitor", "/some/program")
    kept = Repository.discover().git.line("config", "core.fsmonitor")
    assert kept == ("false" if scope == "local" else "/some/program")


def test_the_path_of_a_hook(repo: Repo) -> None:
    found = Repository.discover()
    assert found.hook_path("x") == str(repo.top / ".git/hooks/x")
    repo.git("config", "core.hooksPath", "my hooks")
    assert Repository.discover().hook_path("x") == str(repo.top / "my hooks/x")
    repo.git("config", "core.hooksPath", "/dev/null")
    assert Repository.discover().hook_path("x") == "/dev/null/x"


@pytest.mark.sha1
def test_the_well_known_objects(repo: Repo) -> None:
    found = Repository.discover()
    assert found.empty_tree == repo.git("mktree").strip()
    assert found.empty_blob == repo.git("hash-object", "--stdin").strip()
    assert found.zero_id == "0" * 40


def test_the_well_known_objects_of_sha256(tmp_path: Path) -> None:
    other = Repo(tmp_path)
    other.git("init", "-q", "--object-format=sha256")
    found = Repository.discover(str(tmp_path))
    assert found.object_format == "sha256"
    assert found.empty_tree == other.git("mktree").strip()
    assert found.empty_blob == other.git("hash-object", "--stdin").strip()
    assert found.zero_id == "0" * 64


@pytest.mark.ref_files
@pytest.mark.parametrize(
    ("storage", "is_plain"),
    [("files", True), ("reftable", False), ("files:///refs", False), ("reftable:///x", False)],
)
def test_refs_are_read_directly_only_in_their_default_place(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, storage: str, is_plain: bool
) -> None:
    assert Repository.discover().has_plain_refs
    # In the repository itself, git would refuse a value that it does not know.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "extensions.refStorage")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", storage)
    assert Repository.discover().has_plain_refs == is_plain
    monkeypatch.delenv("GIT_CONFIG_COUNT")
    monkeypatch.setenv("GIT_REFERENCE_BACKEND", "files:///refs")
    assert not Repository.discover().has_plain_refs


@pytest.mark.ref_files
@pytest.mark.parametrize("by", ["setting", "environment"])
def test_refs_in_another_directory(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    first = repo.commit(a="a\n")
    ref = "refs/boocode/checkpoints/"
    repo.git("update-ref", f"{ref}1", first)
    for name in ("refs", "HEAD"):
        subprocess.run(["cp", "-R", repo.top / ".git" / name, tmp_path], check=True)
    if by == "setting":
        repo.git("config", "core.repositoryFormatVersion", "1")
        repo.git("config", "extensions.refStorage", f"files://{tmp_path}")
    else:
        monkeypatch.setenv("GIT_REFERENCE_BACKEND", f"files://{tmp_path}")
    repo.git("update-ref", f"{ref}2", first, check=False)
    if not (tmp_path / ref / "2").exists():
        pytest.skip("this git keeps refs in its own directory only")
    repo.git("checkout", "-q", "-b", "other")
    repository = Repository.discover()
    assert read_head(repository).ref == "refs/heads/other"
    assert Store(repository).refs(ref, newest=1) == [Ref(f"{ref}2", first)]
    assert not isinstance(open_store(repository), Libgit2Store)


def test_the_private_directories_of_all_worktrees(repo: Repo) -> None:
    assert Repository.discover().worktree_keys() == {"main"}
    repo.commit(a="a\n")
    for name in ("w2", "w1"):
        repo.git("worktree", "add", "-q", "--detach", f"../{name}-{repo.top.name}")
    repository = Repository.discover()
    names = [f"{name}-{repo.top.name}" for name in ("w1", "w2")]
    assert repository.worktree_keys() == {"main", *names}
    found = [Repository.discover(f"../{name}").state_dir for name in names]
    assert repository.state_dirs() == [repository.state_dir, *found]
