"""Colour: where it is wanted, by git's settings, `--no-color` and NO_COLOR, and what it paints."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

ESCAPE = "\033["
RED_ERROR = "\033[1;31merror:\033[m "
YELLOW_HINT = "\033[33mhint: "


def on_terminal(repo: Repo, *arguments: str, **env: str) -> str:
    """What `git boocode` shows on a terminal of its own, without a pager."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "GIT_PAGER": "cat", **env}
    command = ["git-boocode", *arguments]
    with subprocess.Popen(
        command, cwd=repo.top, stdin=theirs, stdout=theirs, stderr=theirs, env=environ
    ):
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:
            # The last one to have it open has closed it.
            pass
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture
def changed(repo: Repo) -> Repo:
    """A repository with a checkpoint, and a change since then."""
    repo.write("a", "a\n")
    repo.boocode("checkpoint")
    repo.write("a", "b\n")
    return repo


def test_an_error_and_its_hint_are_painted_on_a_terminal(repo: Repo) -> None:
    shown = on_terminal(repo, "restore", "nowhere")
    assert shown.startswith(f"{RED_ERROR}no checkpoint matches 'nowhere'")
    assert f"\n{YELLOW_HINT}this worktree has no checkpoints; 'git boocode checkpoint' " in shown
    assert ESCAPE not in repo.boocode("restore", "nowhere").err


def test_a_warning_is_painted(changed: Repo) -> None:
    changed.git("config", "boocode.maxFileSize", "1")
    changed.write("large", "12")
    assert "\033[1;33mwarning:\033[m not recorded: large" in on_terminal(changed, "checkpoint")


def test_hints_have_the_colour_that_git_gives_them(repo: Repo) -> None:
    repo.git("config", "color.advice.hint", "bold blue")
    assert "\033[1;34mhint: " in on_terminal(repo, "restore", "nowhere")
    repo.git("config", "color.advice", "false")
    shown = on_terminal(repo, "restore", "nowhere")
    assert "\nhint: " in shown
    assert RED_ERROR in shown


def test_standard_error_is_no_terminal_because_standard_output_is(repo: Repo) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        ["git-boocode", "restore", "nowhere"],
        cwd=repo.top,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(ours)
    os.close(theirs)
    assert done.stderr.startswith(b"error: ")


COMMANDS = (("log",), ("show",), ("restore", "nowhere"))


def test_nothing_is_painted_where_no_color_is_asked_for(changed: Repo) -> None:
    for command in COMMANDS:
        assert ESCAPE in on_terminal(changed, *command)
        assert ESCAPE in on_terminal(changed, *command, NO_COLOR="")
        assert ESCAPE not in on_terminal(changed, *command, NO_COLOR="1")
        assert ESCAPE not in on_terminal(changed, *command, TERM="dumb")
        assert ESCAPE not in on_terminal(changed, *command, "--no-color")
        assert ESCAPE not in on_terminal(changed, "--no-color", *command)


def test_a_configured_always_outweighs_the_environment_but_not_the_option(changed: Repo) -> None:
    for key in ("color.ui", "color.diff"):
        changed.git("config", key, "always")
        for command in ("diff", "show"):
            assert ESCAPE in changed.boocode(command, env={"NO_COLOR": "1"}).out
            assert ESCAPE not in changed.boocode(command, "--no-color", env={"NO_COLOR": "1"}).out


def test_an_option_that_is_unknown_does_not_bring_colour_back(repo: Repo) -> None:
    shown = on_terminal(repo, "log", "--no-such-option", "--no-color")
    assert shown.startswith("error: unknown option")


def test_diffs_of_our_own_have_the_colours_of_git(changed: Repo) -> None:
    changed.git("config", "color.diff.new", "magenta")
    edit = ("--path", "a", "--old", "b", "--new", "c")
    shown = on_terminal(changed, "apply-edit", "-n", "--diff", *edit)
    assert "\033[1mdiff --git a/a b/a\033[m\n\033[1m--- a/a\033[m\n" in shown
    assert "\033[1m+++ b/a\033[m\n\033[36m@@ -1 +1 @@\033[m\n" in shown
    assert "\033[31m-b\033[m\n\033[35m+c\033[m\n" in shown
    installed = on_terminal(changed, "hooks", "install", "-n", "--agent", "claude-code")
    assert "\033[1m--- /dev/null\033[m\n" in installed
    assert "\033[35m+{\033[m\n" in installed


def test_the_demo_is_painted(repo: Repo) -> None:
    shown = on_terminal(repo, "demo")
    assert "\033[1m# Some work is staged" in shown
    assert "\033[33m$ git boocode undo" in shown
    assert "\033[32m✓ the file is untouched\033[m\n" in shown
