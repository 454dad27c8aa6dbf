"""The client for Neovim: as a plugin, and while it waits for the server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hooks.editor_kit import CHANGED, PATH, WORDS, three_edits
from tests.hooks.nvim_kit import CLIENT, NVIM, needs_nvim, nvim
from tests.repo_kit import Repo

pytestmark = needs_nvim


def test_the_plugin_defines_its_commands_and_has_help(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    boocode.setup()
    vim.cmd("helptags " .. vim.fn.fnameescape(vim.env.HELP))
    return vim.fn.getcompletion("Boocode", "command")
    """
    shown = repo.top / ".git/doc"
    shutil.copytree(CLIENT / "doc", shown)
    monkeypatch.setenv("HELP", str(shown))
    commands = nvim(repo, script)
    tags = {line.split("\t")[0] for line in (shown / "tags").read_text().splitlines()}
    assert {f":{name}" for name in commands} <= tags
    assert len(commands) == 24


COMMANDS = [
    *("Accept", "AcceptAll", "AcceptHunk", "Ask", "Checkpoint", "Diff", "Discard", "DiscardAll"),
    *("DiscardHunk", "List", "Log", "Propose", "Redo", "Restore", "RestoreFile", "RestoreHunk"),
    *("Revert", "Signs", "Status", "Undo"),
]


@pytest.mark.parametrize("name", ["a", ""])
def test_outside_of_a_repository(repo: Repo, tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_text("one\n")
    commands = " ".join(f"run('Boocode{each}')" for each in COMMANDS)
    seen = nvim(repo, f"{commands} return report()", *filter(None, [name]), cwd=tmp_path)
    message = f"boocode: {os.path.realpath(tmp_path)} is not in a worktree of git"
    assert seen["messages"] == [[message, 4]] * len(COMMANDS)


def test_a_buffer_that_is_no_file(proposed: Repo) -> None:
    names = "Accept AcceptHunk Diff Discard DiscardHunk RestoreFile RestoreHunk Signs"
    of_files = names.split()
    commands = " ".join(f"run('Boocode{each}')" for each in of_files)
    seen = nvim(proposed, f"{commands} return report()")
    message = f"boocode: this buffer is not a file of {proposed.top}/"
    assert seen["messages"] == [[message, 4]] * len(of_files)


@pytest.mark.skipif("LAZY_NVIM" not in os.environ, reason="there is no lazy.nvim")
def test_it_is_a_plugin_of_lazy_nvim(proposed: Repo, tmp_path: Path) -> None:
    options = (
        f'{{ root = "{tmp_path}", lockfile = "{tmp_path}/lock", install = {{ missing = false }} }}'
    )
    init = tmp_path / "init.lua"
    init.write_text(
        f"""
        vim.opt.rtp:prepend("{os.environ["LAZY_NVIM"]}")
        local plugin = {{ dir = "{CLIENT}", name = "boocode", cmd = {{ "BoocodePropose" }} }}
        require("lazy").setup({{ plugin }}, {options})
        """
    )
    done = subprocess.run(
        [
            *(NVIM, "--headless", "-n", "-i", "NONE", "-u", str(init)),
            *("-c", "BoocodePropose .git/edits", "-c", 'lua require("boocode").wait()'),
            *(
                "-c",
                "BoocodeAccept",
                "-c",
                'lua require("boocode").wait()',
                "-c",
                "qa!",
                "--",
                PATH,
            ),
        ],
        cwd=proposed.top,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert proposed.read(PATH).decode().split() == CHANGED, done.stderr


def slow_server(directory: Path, monkeypatch: pytest.MonkeyPatch, seconds: str) -> None:
    """Let each server start late: a `git` of which `boocode` waits for some seconds."""
    git = directory / "git"
    waiting = f"case $* in *boocode*) sleep {seconds};; esac"
    git.write_text(f'#!/bin/sh\n{waiting}\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")


def test_no_command_waits_for_the_server(
    proposed: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_server(tmp_path, monkeypatch, "2")
    commands = ["Propose .git/edits", *sorted({*COMMANDS} - {"Propose", "RestoreHunk"})]
    seen = nvim(
        proposed,
        f"""
        vim.ui.select = function(_, _, choose) choose(nil) end
        local longest = 0
        for _, name in ipairs(vim.json.decode([=[{json.dumps(commands)}]=])) do
          local before = vim.loop.hrtime()
          vim.cmd("Boocode" .. name)
          longest = math.max(longest, vim.loop.hrtime() - before)
        end
        vim.fn.setline(10, "typed")
        return report({{ milliseconds = longest / 1e6 }})
        """,
        PATH,
    )
    assert seen["milliseconds"] < 1000
    assert seen["messages"][-1][0], seen["messages"]


# While the server has stopped, it cannot answer.
_STOPPING = """
local server = vim.api.nvim_get_proc_children(vim.fn.getpid())[1]
local function stop() vim.loop.kill(-server, "sigstop") end
local function go_on() vim.loop.kill(-server, "sigcont") end
"""


@pytest.mark.parametrize("milliseconds", [0, 25, 33, 60])
def test_what_is_typed_meanwhile_is_kept_and_all_or_nothing_is_accepted(
    proposed: Repo, milliseconds: int
) -> None:
    """Somebody types before, while and after the server computes and writes."""
    other = {"path": "other", "content": "new\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    seen = nvim(
        proposed,
        f"""
        vim.fn.append("$", "unsaved")
        run("BoocodePropose .git/edits")
        local function type_it() vim.fn.append("$", "typed") end
        vim.loop.new_timer():start({milliseconds}, 0, vim.schedule_wrap(type_it))
        run("BoocodeAcceptAll")
        vim.wait(100)
        local first = vim.fn.getline(2)
        run("BoocodeAcceptAll --merge")
        return report({{ first = first }})
        """,
        PATH,
    )
    # What was refused or taken back at first is accepted then.
    assert seen["lines"] == [*CHANGED, "unsaved", "typed"], seen["messages"]
    assert proposed.read("other") == b"new\n"
    was_accepted = seen["first"] == "TWO"
    done = "boocode: accepted 2 files"
    assert [text == done for text, _ in seen["messages"][1:]] == [was_accepted, not was_accepted]


def test_a_text_that_changes_once_is_computed_again(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        f"""
        vim.fn.append("$", "unsaved")
        run("BoocodePropose .git/edits")
        {_STOPPING}
        stop()
        vim.cmd("BoocodeAccept --merge")
        vim.wait(200)
        vim.fn.append("$", "typed")
        go_on()
        return report()
        """,
        PATH,
    )
    changed = ["one", "TWO", *WORDS[2:5], "new", "six", "seven", "nine", "ten"]
    assert seen["lines"] == [*changed, "unsaved", "typed"]


def test_a_command_is_cancelled(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        f"""
        run("BoocodePropose .git/edits")
        {_STOPPING}
        stop()
        vim.cmd("BoocodeSigns")
        vim.wait(200)
        vim.cmd("BoocodeCancel")
        boocode.wait()
        go_on()
        run("BoocodeCancel")
        run("BoocodeSigns")
        return report()
        """,
        PATH,
    )
    assert seen["messages"][1:] == [
        ["boocode: cancelled; nothing was changed", 4],
        ["boocode: there is nothing to cancel", 2],
    ]
    assert len(seen["signs"]) == 3


def test_a_server_that_hangs_is_ended(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        f"""
        run("BoocodePropose .git/edits")
        {_STOPPING}
        stop()
        vim.cmd("BoocodeDiscard")
        vim.wait(200)
        vim.cmd("BoocodeCancel")
        vim.cmd("BoocodeCancel!")
        run("BoocodeSigns")
        return report()
        """,
        PATH,
    )
    [begun, ended] = seen["messages"][1:]
    assert begun[0].startswith("boocode: discard has begun; :BoocodeUndo takes it back")
    assert ended == ["boocode: the server was ended; :BoocodeStatus shows what is proposed", 4]
    assert len(seen["signs"]) == 3


def test_commands_of_the_command_line(proposed: Repo) -> None:
    done = subprocess.run(
        [
            *(NVIM, "--headless", "-n", "-u", "NONE", "-i", "NONE"),
            *("--cmd", f"set runtimepath^={CLIENT}", "-c", "runtime plugin/boocode.lua"),
            *("-c", "BoocodePropose .git/edits", "-c", "BoocodeAccept"),
            *("-c", 'lua require("boocode").wait()', "-c", "qa!", "--", PATH),
        ],
        cwd=proposed.top,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert proposed.read(PATH).decode().split() == CHANGED, done.stderr


@pytest.mark.parametrize("directory", ["pack/boocode/start/boocode", "pack/boocode/opt/boocode"])
def test_it_is_a_package(proposed: Repo, tmp_path: Path, directory: str) -> None:
    package = tmp_path / directory
    package.parent.mkdir(parents=True)
    shutil.copytree(CLIENT, package)
    script = tmp_path / "script.lua"
    script.write_text(
        "io.write(vim.fn.exists(':BoocodePropose'), ' ', #vim.fn.getcompletion('boocode-', 'help'))"
    )
    done = subprocess.run(
        [
            *(NVIM, "--headless", "-u", "NORC", "-i", "NONE"),
            *("--cmd", f"set packpath^={tmp_path}"),
            *("-c", "silent! packadd boocode", "-c", "helptags ALL"),
            *("-c", f"luafile {script}", "-c", "qa!"),
        ],
        cwd=proposed.top,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    exists, pages = done.stdout.split()
    assert (exists, int(pages) >= 7) == ("2", True), done.stderr


def test_git_boocode_is_missing(proposed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = proposed.top / ".git/tools"
    tools.mkdir()
    for tool in ("git", NVIM, "sh"):
        found = shutil.which(tool)
        assert found is not None
        (tools / Path(tool).name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    seen = nvim(proposed, "run('BoocodeSigns') return report()", PATH)
    assert seen["messages"] == [["boocode: git boocode gave no answer; is it in PATH?", 4]]


# The processes that Neovim has started, and that still run.
_CHILDREN = "vim.api.nvim_get_proc_children(vim.fn.getpid())"


def test_one_server_answers_all_commands_and_ends_with_the_editor(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        f"""
        run("BoocodePropose .git/edits | BoocodeSigns | BoocodeSigns")
        return report({{ children = {_CHILDREN} }})
        """,
        PATH,
    )
    assert len(seen["signs"]) == 3
    assert len(seen["children"]) == 1
    for pid in seen["children"]:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_server_that_ended_is_started_again(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        f"""
        run("BoocodePropose .git/edits")
        local before = {_CHILDREN}
        vim.loop.kill(before[1], "sigterm")
        vim.wait(10000, function() return #{_CHILDREN} == 0 end)
        vim.wait(1000) -- Neovim hears of it once the server has closed its output as well.
        run("BoocodeSigns")
        return report({{ is_new = {_CHILDREN}[1] ~= before[1] }})
        """,
        PATH,
    )
    assert (len(seen["signs"]), seen["is_new"]) == (3, True)


def test_a_server_that_dies_in_a_call_is_an_error(
    proposed: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = tmp_path / "git"
    dying = "case $* in *boocode*) read line; exit 1;; esac"
    git.write_text(f'#!/bin/sh\n{dying}\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    seen = nvim(proposed, "run('BoocodeSigns | BoocodeSigns') return report()", PATH)
    assert seen["messages"] == [["boocode: git boocode gave no answer; is it in PATH?", 4]] * 2
