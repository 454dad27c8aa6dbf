"""`diff` and `show` through git, as the user has set it up: drivers, colours, pagers."""

from __future__ import annotations

import pytest

from tests.checkpoints.kit import take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal, what_stays

pytestmark = pytest.mark.slow

PAGER = "sed -e 's/^/paged: /'"


@pytest.fixture
def changed(repo: Repo) -> Repo:
    """A checkpoint that differs from HEAD, and a worktree that differs from it."""
    repo.commit(a="a\n")
    repo.write("a", "b\n")
    take()
    repo.write("a", "c\n")
    return repo


def on_a_terminal(*command: str, **environ: str) -> str:
    """What a terminal shows of a command that runs on it."""
    code, shown = Terminal(*command, env={"TERM": "xterm", **environ}).end()
    assert code == 0, shown
    return what_stays(shown)


def test_an_external_diff(changed: Repo) -> None:
    changed.git("config", "diff.external", 'f() { echo "external $1"; cat "$2" "$5"; }; f')
    assert changed.boocode("diff") == (0, "external a\nb\nc\n", "")
    assert changed.boocode("show", "--head").out.endswith("\n\nexternal a\na\nb\n")
    assert "external" not in changed.boocode("diff", "--json").json["diff"]


def test_an_external_diff_of_the_environment(changed: Repo) -> None:
    done = changed.boocode("diff", env={"GIT_EXTERNAL_DIFF": "echo by the environment #"})
    assert done.out.startswith("by the environment")


def test_a_driver_and_a_converter_by_attribute(changed: Repo) -> None:
    changed.write("b.up", "small\n")
    changed.write(".git/info/attributes", "*.up diff=upper\n")
    changed.git("config", "diff.upper.textconv", "tr a-z A-Z <")
    assert "+SMALL\n" in changed.boocode("diff").out
    assert "+small\n" in changed.boocode("diff", "--json").json["diff"]
    changed.git("config", "diff.upper.command", "echo driven by")
    assert "driven by b.up" in changed.boocode("diff").out


def test_what_a_driver_says_on_standard_error_is_seen(changed: Repo) -> None:
    changed.git("config", "diff.external", "echo told >&2; true")
    assert changed.boocode("diff") == (0, "", "told\n")


def test_a_driver_that_fails(changed: Repo) -> None:
    changed.git("config", "diff.external", "false")
    done = changed.boocode("diff")
    assert (done.code, done.out) == (128, "")
    assert done.err == "fatal: external diff died, stopping at a\n"


@pytest.mark.parametrize("key", ["color.diff", "color.ui"])
def test_colours_when_they_are_always_wanted(changed: Repo, key: str) -> None:
    assert "\x1b" not in changed.boocode("diff").out + changed.boocode("show").out
    changed.git("config", key, "always")
    changed.git("config", "color.diff.new", "magenta")
    assert "\x1b[35m+\x1b[m\x1b[35mc" in changed.boocode("diff").out
    assert "\x1b[35m+\x1b[m\x1b[35mb" in changed.boocode("show", "--head").out
    assert "\x1b" not in changed.boocode("diff", "--json").out


def test_diffs_without_colours_although_all_else_has_them(changed: Repo) -> None:
    changed.git("config", "color.ui", "always")
    changed.git("config", "color.diff", "never")
    assert "\x1b" not in changed.boocode("diff").out
    assert "\x1b[31m" not in changed.boocode("show").out


def test_the_pager_on_a_terminal(changed: Repo) -> None:
    changed.git("config", "core.pager", PAGER)
    for command in ("diff", "show", "log"):
        lines = on_a_terminal("git", "boocode", command).splitlines()
        assert lines, command
        assert all(line.startswith("paged: ") for line in lines), (command, lines)
        assert any("\x1b[" in line for line in lines), command
    # Not on a pipe.
    assert "paged" not in changed.boocode("diff").out


def test_the_pager_that_is_set_for_git_diff(changed: Repo) -> None:
    changed.git("config", "core.pager", PAGER)
    changed.git("config", "pager.diff", "sed -e 's/^/for diffs: /'")
    assert on_a_terminal("git", "boocode", "diff").startswith("for diffs: ")
    changed.git("config", "pager.diff", "false")
    assert "diff --git" in on_a_terminal("git", "boocode", "diff").splitlines()[0]


def test_a_pager_that_only_a_shell_understands(changed: Repo) -> None:
    pager = "X=1 sed -e 's/^/paged: /' | sed p"
    for command in ("diff", "log"):
        shown = on_a_terminal("git", "boocode", command, GIT_PAGER=pager)
        assert "paged: " in shown, command


def test_no_pager_there(changed: Repo) -> None:
    shown = on_a_terminal("git", "boocode", "log", GIT_PAGER="no-such-pager")
    assert "1 file" in shown


def test_git_runs_the_pager(changed: Repo) -> None:
    changed.git("config", "core.pager", PAGER)
    shown = on_a_terminal("git", "-p", "boocode", "log")
    assert all(line.count("paged: ") == 1 for line in shown.splitlines())
    assert "\x1b[33m" in shown
    assert "paged: " not in on_a_terminal("git", "--no-pager", "boocode", "log")
    assert "paged: " not in on_a_terminal("git", "--no-pager", "boocode", "diff")
