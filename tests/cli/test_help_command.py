"""`git boocode help` and `--help`: the page that `man` opens, and what is printed without it."""

from __future__ import annotations

import gzip
import os
import re
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
        'if [ "$1" = -w ] && [ $# = 2 ]; then echo "$2"; exit; fi\n'
        f'if [ "$1" = -w ]; then grep -qx "$3($2)" \'{sealed}/known\' && echo "$0"; exit; fi\n'
        'echo "man: $*"; exit 3\n'
    )
    script.chmod(0o755)
    (sealed / "known").touch()
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return sealed / "known"


PAGES = [
    (["checkpoint", "--help"], "git-boocode-checkpoint", "1"),
    (["hooks", "install", "--help"], "git-boocode-hooks", "1"),
    (["help", "hooks", "install"], "git-boocode-hooks", "1"),
    (["help", "json"], "git-boocode-json", "7"),
    (["help"], "git-boocode", "1"),
    (["--help"], "git-boocode", "1"),
]


def test_a_terminal_gets_the_page(repo: Repo, fake_man: Path) -> None:
    for arguments, page, section in PAGES:
        # The exit code is that of `man`.
        fake_man.write_text(f"{page}({section})\n")
        assert Terminal("git-boocode", *arguments).end() == (3, f"man: {section} {page}\n")
        # One that `man` does not know is opened by its path.
        fake_man.write_text("")
        path = f"{TOP}/man/man{section}/{page}.{section}"
        assert Terminal("git-boocode", *arguments).end() == (3, f"man: {path}\n")


def test_an_installed_page_is_found_below_its_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "lib/python3/site-packages/git_boocode/cli/help.py"
    page = tmp_path / "share/man/man7/git-boocode-json.7"
    for path in (place, page):
        path.parent.mkdir(parents=True)
        path.touch()
    assert module.bundled_page(page.name) == TOP / "man/man7" / page.name
    monkeypatch.setattr(module, "__file__", str(place))
    # Where this interpreter keeps pages, those of the program under test may be installed.
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))
    assert module.bundled_page(page.name) == page
    assert module.bundled_page("git-boocode-nothing.1") is None
    # Packages may lie elsewhere than the prefix says, as those of Debian do.
    monkeypatch.setattr(module, "__file__", str(tmp_path.parent / "a/b/c"))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert module.bundled_page(page.name) == page


def test_a_compressed_page_is_read_without_man(
    repo: Repo, no_man: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = repo.boocode("help", "json")
    page = tmp_path / "share/man/man7/git-boocode-json.7.gz"
    page.parent.mkdir(parents=True)
    page.write_bytes(gzip.compress((TOP / "man/man7/git-boocode-json.7").read_bytes()))
    monkeypatch.setattr(module, "__file__", str(tmp_path / "lib/git_boocode/cli/help.py"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))
    assert repo.boocode("help", "json") == plain
    assert plain.code == 0


def test_help_prints_the_page_on_a_pipe(repo: Repo, fake_man: Path) -> None:
    done = repo.boocode("help", "restore")
    assert (done.code, done.out) == (3, f"man: {TOP}/man/man1/git-boocode-restore.1\n")
    fake_man.write_text("git-boocode-json(7)\n")
    assert repo.boocode("help", "json").out == "man: 7 git-boocode-json\n"


def test_an_option_prints_the_summary_on_a_pipe(repo: Repo, fake_man: Path) -> None:
    done = repo.boocode("--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: git boocode [<options>] <command> [<args>]\n")
    done = repo.boocode("restore", "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: git boocode restore ")
    assert "--files-only" in done.out
    assert repo.boocode("restore", "-h").code == 129


@pytest.fixture
def no_man(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Path:
    tools = repo.top / "tools"
    tools.mkdir()
    for name in ("git", "git-boocode", "readlink", "sh"):
        (tools / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tools))
    return tools


def test_every_page_becomes_plain_text() -> None:
    for page in sorted((TOP / "man").glob("man*/git-boocode*")):
        lines = [*module.plain_text(page.read_text(encoding="utf-8"))]
        left = [line for line in lines if re.search(r"^\.[A-Z]|\\f[BIR]|\\[(&-]", line)]
        assert not left, page


def test_a_plain_page_is_laid_out_as_man_does(repo: Repo, no_man: Path) -> None:
    done = repo.boocode("help", "push")
    assert (done.code, done.err, done.out[:24]) == (0, "", "NAME\n       git-boocode-")
    shown = done.out
    assert "\n\nOPTIONS\n       --all\n              Push the checkpoints" in shown
    assert "\n           $ git boocode push agents\n\n       Nothing deletes" in shown
    code, shown = Terminal("git-boocode", "help", "push", env={"GIT_PAGER": "cat"}).end()
    assert (code, shown[:5]) == (0, "NAME\n")


def test_a_stub_of_man_is_not_the_page(repo: Repo, no_man: Path) -> None:
    (no_man / "man").write_text("#!/bin/sh\necho 'This system has been minimized'\n")
    (no_man / "man").chmod(0o755)
    assert repo.boocode("help", "push").out.startswith("NAME\n")


def test_without_man_an_option_prints_the_summary(repo: Repo, no_man: Path) -> None:
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
