"""Headless Neovim with the client and the installed git boocode."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.repo_kit import Repo

CLIENT = Path(__file__).parents[2] / "hooks/editors/nvim"

NVIM = os.environ.get("NVIM", "nvim")  # the program to test


def version() -> tuple[int, ...]:
    """The version of Neovim: major, minor; empty if there is none."""
    if shutil.which(NVIM) is None:
        return ()
    said = subprocess.run([NVIM, "--version"], capture_output=True, text=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2]))


needs_nvim = pytest.mark.skipif(version() < (0, 7), reason="there is no Neovim 0.7")

# `report` is what a test looks at: the current buffer as the user sees it, and all messages.
_PRELUDE = """
vim.cmd("set noswapfile signcolumn=yes lines=40 columns=80")
local boocode, messages = require("boocode"), {}
boocode.setup()
vim.notify = function(text, level)
  table.insert(messages, { text, level or vim.log.levels.INFO })
end
-- Run a command, and wait until it has ended.
local function run(command)
  vim.cmd(command)
  assert(boocode.wait(30000), "no answer")
end
local function report(more)
  assert(boocode.wait(30000), "no answer")
  vim.cmd("redraw!")
  local signs = {}
  for line = 1, vim.fn.line("$") do
    local row = vim.fn.screenpos(0, line, 1).row
    local sign = vim.fn.screenstring(row, vim.fn.win_screenpos(0)[2])
    if sign:find("[-+~]") then table.insert(signs, { line, sign }) end
  end
  return vim.tbl_extend("error", {
    lines = vim.api.nvim_buf_get_lines(0, 0, -1, true), modified = vim.bo.modified, signs = signs,
    cursor = vim.api.nvim_win_get_cursor(0), mark = vim.fn.line("'a"), messages = messages,
  }, more or {})
end
"""


def nvim(repo: Repo, script: str, *files: str, cwd: str | Path = "") -> Any:
    """What a script returns in Neovim that has opened some files."""
    program = repo.write(
        ".git/script.lua", f"{_PRELUDE}io.write(vim.json.encode((function()\n{script}\nend)()))"
    )
    done = subprocess.run(
        [
            *(NVIM, "--headless", "-n", "-u", "NONE", "-i", "NONE"),
            *("--cmd", f"set runtimepath^={CLIENT}"),
            *("-c", f"luafile {program}", "-c", "qa!", "--", *files),
        ],
        cwd=repo.top / cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "stack traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


# Choose the oldest turn, and say yes.
FIRST = """
vim.ui.select = function(items, _, choose) choose(items[#items]) end
vim.fn.confirm = function() return 1 end
"""
