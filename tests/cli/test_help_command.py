"""`git boocode help` and `--help`: the page that `man` opens, and what is printed without it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from git_boocode.cli import help as module
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]


@pytest.fixture
def fake_man(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `man` that prints its arguments, and knows no page by name but those in a file."""
    script = sealed / "bin" / "man"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\n"
        f'[ "$1" != -w ] || exec grep -qx "$3($2)" \'{sealed}/known\'\n'
        'echo "man: $*"; exit 3\n'
    )
    script.chmod(0o755)
    (sealed / "known").touch()
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return sealed / "known"


PAGES = [
    (["restore", "--help"], "git-boocode-restore", "1"),
    (["checkpoint", "--help"], "git-boocode-checkpoint", "1"),
    (["hook", "--help"], "git-boocode-hook", "1"),
    (["hooks", "install", "--help"], "git-boocode-hooks", "1"),
    (["help", "hooks", "install"], "git-boocode-hooks", "1"),
    (["help", "restore"], "git-boocode-restore", "1"),
    (["help", "json"], "git-boocode-json", "7"),
    (["help"], "git-boocode", "1"),
    (["--help"], "git-boocode", "1"),
]


@pytest.mark.parametrize(("arguments", "page", "section"), PAGES)
def test_a_terminal_gets_the_page_that_man_knows(
    arguments: list[str], page: str, section: str, repo: Repo, fake_man: Path
) -> None:
    fake_man.write_text(f"{page}({section})\n")
    # The exit code is that of `man`.
    assert Terminal("git-boocode", *arguments).end() == (3, f"man: {section} {page}\n")


@pytest.mark.parametrize(("arguments", "page", "section"), PAGES)
def test_a_page_that_man_does_not_know_is_opened_by_its_path(
    arguments: list[str], page: str, section: str, repo: Repo, fake_man: Path
) -> None:
    shown = Terminal("git-boocode", *arguments).end()
    assert shown == (3, f"man: {TOP}/man/{page}.{section}\n")


def test_an_installed_page_is_found_below_its_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "lib/python3/site-packages/git_boocode/cli/help.py"
    page = tmp_path / "share/man/man7/git-boocode-json.7"
    for path in (place, page):
        path.parent.mkdir(parents=True)
        path.touch()
    assert module.bundled_page(page.name) == TOP / "man" / page.name
    monkeypatch.setattr(module, "__file__", str(place))
    # Where this interpreter keeps pages, those of the program under test may be installed.
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))
    assert module.bundled_page(page.name) == page
    assert module.bundled_page("git-boocode-nothing.1") is None
    # Packages may lie elsewhere than the prefix says, as those of Debian do.
    monkeypatch.setattr(module, "__file__", str(tmp_path.parent / "a/b/c"))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert module.bundled_page(page.name) == page


def test_without_a_terminal_the_summary_is_printed(repo: Repo, fake_man: Path) -> None:
    for arguments in (["--help"], ["help"]):
        done = repo.boocode(*arguments)
        assert (done.code, done.out.split("\n")[0], done.err) == (
            0,
            "usage: git boocode [<options>] <command> [<args>]",
            "",
        )
    for arguments in (["restore", "--help"], ["help", "restore"]):
        done = repo.boocode(*arguments)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("usage: git boocode restore ")
        assert "--files-only" in done.out
    assert repo.boocode("help", "json").out.endswith("/git-boocode-json.7\n")
    assert repo.boocode("restore", "-h").code == 129


def test_without_man_the_summary_is_printed(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = repo.top / "tools"
    tools.mkdir()
    for name in ("git", "git-boocode", "readlink", "sh"):
        (tools / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tools))
    code, shown = Terminal("git-boocode", "restore", "--help").end()
    assert code == 0
    assert shown.startswith("usage: git boocode restore ")


def test_what_has_no_page_is_a_usage_error(repo: Repo) -> None:
    done = repo.boocode("help", "restor")
    assert done.code == 129
    assert "'restor' is not a git boocode command" in done.err
    assert "the most similar command is: restore" in done.err
    done = repo.boocode("help", "restore", "files")
    assert done.code == 129
    assert done.err.startswith("error: unexpected argument 'files'\n")
    done = repo.boocode("help", "json", "answers")
    assert done.code == 129
    assert done.err.startswith("error: unexpected argument 'answers'\n")
