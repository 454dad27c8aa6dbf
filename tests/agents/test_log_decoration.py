"""Our refs in `git log`: left out where git would show them, and all taken back."""

from __future__ import annotations

import pytest

from git_boocode.agents.git_install import plan_git_hooks
from git_boocode.agents.log_decoration import shows_our_refs, with_decoration
from git_boocode.repo.repository import Repository
from tests.checkpoints.kit import take
from tests.repo_kit import Repo, git_version
from tests.terminal_kit import Terminal

INSTALL = ("hooks", "install", "--agent", "claude-code", "--exclude-decoration")


def decorations(repo: Repo) -> str:
    """How git decorates HEAD, where a checkpoint and another tool have a ref."""
    for name in ("refs/boocode/x", "refs/pull/1/head"):
        repo.git("update-ref", name, "HEAD")
    return repo.git("log", "-1", "--format=%D").strip()


@pytest.mark.skipif(git_version() < (2, 38), reason="this git decorates with all refs")
def test_nothing_is_set_where_git_shows_no_such_refs(repo: Repo) -> None:
    repo.commit(a="a\n")
    assert not shows_our_refs(Repository.discover())
    assert decorations(repo) == "HEAD -> main"
    before = (repo.top / ".git/config").read_bytes()
    assert repo.boocode(*INSTALL).code == 0
    assert (repo.top / ".git/config").read_bytes() == before
    # The setting itself would show the refs of others.
    repo.git("config", "log.excludeDecoration", "refs/heads/topic")
    assert shows_our_refs(Repository.discover())
    assert decorations(repo) == "HEAD -> main, refs/pull/1/head, refs/boocode/x"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"", b"\n", b"\n[log]\n\tdate = iso\n"])
def test_the_lines_go_byte_for_byte(repo: Repo, mark: bytes, ending: bytes) -> None:
    path = repo.top / ".git/config"
    before = mark + path.read_bytes().rstrip() + ending
    path.write_bytes(before)
    repository = Repository.discover()
    for excluded in (True, False):
        (edit,) = with_decoration(repository, [], excluded=excluded)
        assert isinstance(edit.after, bytes)
        path.write_bytes(edit.after)
        assert with_decoration(repository, [], excluded=excluded) == []
        values = repo.git("config", "--file", str(path), "--list").splitlines()
        assert values.count("log.excludedecoration=refs/boocode/") == excluded
        assert ("log.date=iso" in values) == (b"iso" in ending)
    assert path.read_bytes() == before


def test_it_is_set_and_taken_back(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("config", "log.initialDecorationSet", "all")
    repo.git("config", "--global", "--unset-all", "log.excludeDecoration", check=False)
    path = repo.top / ".git/config"
    before = path.read_bytes()
    assert "refs/boocode/x" in decorations(repo)
    assert repo.boocode(*INSTALL, "-n").out.count("+\texcludeDecoration = refs/boocode/\n") == 1
    assert path.read_bytes() == before
    done = repo.boocode(*INSTALL)
    assert " M .git/config: log.excludeDecoration in the configuration\n" in done.out
    assert done.out.endswith("installed hooks for Claude Code\n")
    assert decorations(repo) == "HEAD -> main, refs/pull/1/head"
    assert repo.boocode(*INSTALL).code == 0
    repo.boocode("hooks", "uninstall")
    assert path.read_bytes() == before
    repo.boocode(*INSTALL)
    repo.boocode("uninstall")
    assert path.read_bytes() == before


def test_what_git_adds_between_the_lines_stays(repo: Repo) -> None:
    repo.git("config", "log.initialDecorationSet", "all")
    repo.git("config", "--global", "--unset-all", "log.excludeDecoration", check=False)
    repository = Repository.discover()
    (edit,) = with_decoration(repository, [], excluded=True)
    assert isinstance(edit.after, bytes)
    (repo.top / ".git/config").write_bytes(edit.after)
    repo.git("config", "log.date", "iso")
    assert repo.boocode("hooks", "uninstall").code == 0
    assert repo.git("config", "log.date") == "iso\n"
    assert repo.git("config", "--get-all", "log.excludeDecoration", check=False) == ""
    assert "boocode" not in (repo.top / ".git/config").read_text()


def test_with_the_hooks_of_git_it_is_one_change(repo: Repo) -> None:
    repo.git("config", "log.initialDecorationSet", "all")
    repo.git("config", "--global", "--unset-all", "log.excludeDecoration", check=False)
    before = (repo.top / ".git/config").read_bytes()
    repository = Repository.discover()
    planned = plan_git_hooks(repository, remove=False)
    edits = with_decoration(repository, planned, excluded=True)
    assert [edit.path for edit in edits].count(f"{repository.common_dir}/config") == 1
    assert repo.boocode(*INSTALL, "--git").code == 0
    assert repo.git("config", "log.excludeDecoration") == "refs/boocode/\n"
    assert repo.boocode("hooks", "uninstall").code == 0
    assert (repo.top / ".git/config").read_bytes() == before


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_it_is_offered(repo: Repo, answer: str) -> None:
    repo.git("config", "log.initialDecorationSet", "all")
    repo.git("config", "--global", "--unset-all", "log.excludeDecoration", check=False)
    repo.git("config", "boocode.perTool", "never")
    (repo.top / ".git/info").mkdir(exist_ok=True)
    (repo.top / ".git/info/exclude").write_text("/.claude/\n")
    take()
    terminal = Terminal("git-boocode", *INSTALL[:-1])
    terminal.type(f"{answer}\n")
    code, said = terminal.end()
    assert (code, "set log.excludeDecoration in .git/config? [y/N]" in said) == (0, True)
    found = repo.git("config", "--get-all", "log.excludeDecoration", check=False)
    assert found == ("refs/boocode/\n" if answer == "y" else "")
