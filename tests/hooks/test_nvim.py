"""The client for Neovim, run in headless Neovim with the installed git boocode."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.repo_kit import Repo

CLIENT = Path(__file__).parents[2] / "hooks/editors/nvim"


def version() -> tuple[int, ...]:
    """The version of Neovim: major, minor; empty if there is none."""
    if shutil.which("nvim") is None:
        return ()
    said = subprocess.run(["nvim", "--version"], capture_output=True, text=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2]))


pytestmark = pytest.mark.skipif(version() < (0, 7), reason="there is no Neovim 0.7")

# `report` is what a test looks at: the current buffer as the user sees it, and all messages.
_PRELUDE = """
vim.cmd("set noswapfile signcolumn=yes lines=40 columns=80")
local boocode, messages = require("boocode"), {}
boocode.setup()
vim.notify = function(text, level)
  table.insert(messages, { text, level or vim.log.levels.INFO })
end
local function report(more)
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

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
TEXT = "".join(f"{word}\n" for word in WORDS)
PATH = "with space/naïve ü.txt"


def three_edits(path: str = PATH) -> str:
    """Edits that change a line, insert one after `five`, and delete one: three hunks."""
    pairs = [("two\n", "TWO\n"), ("five\n", "five\nnew\n"), ("eight\n", "")]
    edits = [{"path": path, "old_string": old, "new_string": new} for old, new in pairs]
    return json.dumps(edits, ensure_ascii=False)


def nvim(repo: Repo, script: str, *files: str, cwd: str | Path = "") -> Any:
    """What a script returns in Neovim that has opened some files."""
    program = repo.write(
        ".git/script.lua", f"{_PRELUDE}io.write(vim.json.encode((function()\n{script}\nend)()))"
    )
    done = subprocess.run(
        [
            *("nvim", "--headless", "-n", "-u", "NONE", "-i", "NONE"),
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


@pytest.fixture
def proposed(repo: Repo) -> Repo:
    """A repository with a file, and the edits of three hunks in `.git/edits`."""
    repo.commit(**{PATH: TEXT})
    repo.write(".git/edits", three_edits())
    return repo


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
    assert len(commands) == 12


def test_a_proposal_in_an_unsaved_buffer_has_signs(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        vim.cmd("BoocodePropose .git/edits")
        return report()
        """,
        PATH,
    )
    assert seen["messages"] == [[f"boocode: proposed {PATH}", 2]]
    assert seen["signs"] == [[3, "~"], [7, "+"], [9, "-"]]
    assert (seen["lines"], seen["modified"]) == (["typed", *WORDS], True)
    assert proposed.read(PATH).decode() == TEXT


def test_signs_are_shown_on_request(proposed: Repo) -> None:
    assert proposed.boocode("propose", ".git/edits").code == 0
    seen = nvim(proposed, 'vim.cmd("BoocodeSigns") return report()', PATH)
    assert (seen["signs"], seen["messages"]) == ([[2, "~"], [6, "+"], [8, "-"]], [])


def test_accept_a_hunk_in_an_unsaved_buffer(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("10mark a")
        vim.api.nvim_win_set_cursor(0, { 7, 2 })
        vim.cmd("BoocodeAcceptHunk")
        return report()
        """,
        PATH,
    )
    assert [level for _, level in seen["messages"]] == [2, 2], seen["messages"]
    assert seen["lines"] == ["typed", *WORDS[:5], "new", *WORDS[5:]]
    assert seen["signs"] == [[3, "~"], [10, "-"]]
    # Both are still on the words they were on.
    assert (seen["cursor"], seen["mark"]) == ([8, 2], 11)
    assert seen["modified"]
    assert proposed.read(PATH).decode() == TEXT


def test_accept_all_hunks_one_by_one(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append("$", "typed")
        vim.cmd("BoocodePropose .git/edits")
        for _, line in ipairs({ 8, 6, 2 }) do
          vim.api.nvim_win_set_cursor(0, { line, 0 })
          vim.cmd("BoocodeAcceptHunk")
        end
        return report()
        """,
        PATH,
    )
    changed = ["one", "TWO", *WORDS[2:5], "new", "six", "seven", "nine", "ten", "typed"]
    assert (seen["lines"], seen["signs"], seen["modified"]) == (changed, [], True)


def test_accepting_is_one_step_for_u(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("let &undolevels = &undolevels")
        vim.cmd("BoocodeAccept")
        vim.cmd("silent undo")
        return report()
        """,
        PATH,
    )
    assert seen["lines"] == ["typed", *WORDS]


def test_a_fold_survives(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("set foldmethod=manual | 10,11fold")
        vim.cmd("BoocodeAccept")
        return report({ fold = { vim.fn.foldclosed(10), vim.fn.foldclosedend(10) } })
        """,
        PATH,
    )
    assert seen["fold"] == [10, 11]
    assert seen["lines"][9:] == ["nine", "ten"]


def test_discard_a_hunk(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        vim.cmd("BoocodePropose .git/edits")
        vim.api.nvim_win_set_cursor(0, { 3, 0 })
        vim.cmd("BoocodeDiscardHunk")
        return report()
        """,
        PATH,
    )
    assert seen["signs"] == [[7, "+"], [9, "-"]]
    assert (seen["lines"], seen["modified"]) == (["typed", *WORDS], True)


def test_a_line_without_a_hunk(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("normal! 10G")
        vim.cmd("BoocodeAcceptHunk | BoocodeDiscardHunk")
        return report()
        """,
        PATH,
    )
    assert seen["messages"][1:] == [["boocode: nothing is proposed for line 10", 4]] * 2
    assert len(seen["signs"]) == 3


def test_discard_a_file(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        'vim.cmd("BoocodePropose .git/edits | BoocodeDiscard") return report()',
        PATH,
    )
    assert (seen["signs"], seen["modified"]) == ([], False)
    assert proposed.boocode("status", "--porcelain").out.strip() in ("", PATH)


def test_an_unmodified_file_is_written_and_reloaded(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/edits | 10mark a | BoocodeAccept")
        return report()
        """,
        PATH,
    )
    changed = ["one", "TWO", *WORDS[2:5], "new", "six", "seven", "nine", "ten"]
    assert (seen["lines"], seen["modified"], seen["signs"]) == (changed, False, [])
    assert proposed.read(PATH).decode().split() == changed


def test_a_hunk_of_an_unmodified_file_is_written(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("normal! 2G")
        vim.cmd("BoocodeAcceptHunk")
        return report()
        """,
        PATH,
    )
    assert (seen["lines"][:3], seen["modified"]) == (["one", "TWO", "three"], False)
    assert seen["signs"] == [[6, "+"], [8, "-"]]
    assert proposed.read(PATH).decode() == TEXT.replace("two", "TWO")


def test_a_conflict_is_refused(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/edits")
        vim.fn.setline(2, "typed")
        vim.cmd("BoocodeAccept")
        vim.cmd("BoocodeAccept --merge")
        return report()
        """,
        PATH,
    )
    for (text, level), option in zip(seen["messages"][1:], ("merge", "markers"), strict=True):
        message, *hints = text.split("\nhint: ")
        assert (level, message.startswith(f"boocode: '{PATH}': ")) == (4, True)
        assert [hint.split()[0] for hint in hints] == [f"--{option}", "--overwrite"]
    assert seen["lines"] == ["one", "typed", *WORDS[2:]]
    assert (seen["modified"], proposed.read(PATH).decode()) == (True, TEXT)


def test_other_changes_are_merged_on_request(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/edits")
        vim.fn.setline(10, "typed")
        vim.cmd("BoocodeAccept --merge")
        return report()
        """,
        PATH,
    )
    assert seen["lines"][1:6] == ["TWO", "three", "four", "five", "new"]
    assert (seen["lines"][-1], seen["modified"]) == ("typed", True)


def test_a_hunk_is_merged_with_what_was_typed_above_it(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/edits")
        vim.fn.append(0, { "typed", "above" })
        vim.cmd("normal! 8G")
        vim.cmd("BoocodeSigns | BoocodeAcceptHunk --merge")
        return report()
        """,
        PATH,
    )
    assert seen["lines"] == ["typed", "above", *WORDS[:5], "new", *WORDS[5:]]
    assert seen["signs"] == [[4, "~"], [11, "-"]]
    assert seen["modified"]


@pytest.mark.parametrize("option", ["-n", "--dry-run"])
@pytest.mark.parametrize("is_modified", [True, False])
def test_a_dry_run_accepts_nothing(proposed: Repo, option: str, is_modified: bool) -> None:
    seen = nvim(
        proposed,
        f"""
        vim.bo.modified = {str(is_modified).lower()}
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("BoocodeAccept {option}")
        vim.cmd("normal! 2G")
        vim.cmd("BoocodeAcceptHunk {option}")
        require("boocode").accept({{ fargs = {{ "{option}" }} }})
        return report()
        """,
        PATH,
    )
    assert seen["messages"][1:] == [[f"boocode: would accept {PATH}", 2]] * 3
    assert (seen["lines"], seen["modified"]) == (WORDS, is_modified)
    assert seen["signs"] == [[2, "~"], [6, "+"], [8, "-"]]
    assert proposed.read(PATH).decode() == TEXT


@pytest.mark.parametrize(
    ("options", "unknown"),
    [
        ("-f", "-f"),
        ("merge", "merge"),
        ("--force -x", "-x"),
        ("--hunk 2", "--hunk"),
        ("--force=yes", "--force=yes"),
    ],
)
def test_an_unknown_option_is_an_error(proposed: Repo, options: str, unknown: str) -> None:
    seen = nvim(
        proposed,
        f"""
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("BoocodeAccept {options} | BoocodeDiscard {options}")
        return report()
        """,
        PATH,
    )
    assert seen["messages"][1:] == [[f"boocode: unknown option '{unknown}'", 4]] * 2
    assert (seen["lines"], len(seen["signs"])) == (WORDS, 3)
    assert proposed.read(PATH).decode() == TEXT


def test_discard_has_no_dry_run(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        'vim.cmd("BoocodePropose .git/edits | BoocodeDiscard -n") return report()',
        PATH,
    )
    [_, (text, level)] = seen["messages"]
    assert (level, "dry_run" in text, len(seen["signs"])) == (4, True, 3)


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ("--overwrite", ["one", "TWO"]),
        (
            "--merge --markers",
            ["one", "<<<<<<< local", "typed", "=======", "TWO", ">>>>>>> proposal"],
        ),
    ],
)
def test_options_decide_about_a_conflict(proposed: Repo, options: str, lines: list[str]) -> None:
    seen = nvim(
        proposed,
        f"""
        vim.cmd("BoocodePropose .git/edits")
        vim.fn.setline(2, "typed")
        vim.cmd("BoocodeAccept {options}")
        return report()
        """,
        PATH,
    )
    rest = [*WORDS[2:5], "new", "six", "seven", "nine", "ten"]
    assert (seen["lines"], seen["modified"]) == ([*lines, *rest], True)


@pytest.mark.parametrize("command", ["Accept", "Discard"])
def test_force_does_it_although_a_turn_is_running(proposed: Repo, command: str) -> None:
    assert proposed.boocode("turn", "begin").code == 0
    seen = nvim(
        proposed,
        f'vim.cmd("BoocodePropose .git/edits | Boocode{command} --force") return report()',
        PATH,
    )
    assert [level for _, level in seen["messages"]] == [2, 2], seen["messages"]
    assert seen["signs"] == []


@pytest.mark.parametrize("edits", ['".git/edits"', 'vim.fn.readfile(".git/edits")'])
def test_edits_of_a_file_or_in_lines_are_proposed_by_the_function(
    proposed: Repo, edits: str
) -> None:
    seen = nvim(proposed, f'require("boocode").propose({edits}) return report()', PATH)
    assert seen["messages"] == [[f"boocode: proposed {PATH}", 2]]
    assert len(seen["signs"]) == 3


def test_a_file_of_edits_in_the_home_directory(
    proposed: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edits").write_text(three_edits())
    monkeypatch.setenv("HOME", str(tmp_path))
    seen = nvim(proposed, 'vim.cmd("BoocodePropose ~/edits") return report()', PATH)
    assert len(seen["signs"]) == 3, seen["messages"]


def test_a_file_of_edits_that_does_not_exist(proposed: Repo) -> None:
    seen = nvim(proposed, 'vim.cmd("BoocodePropose .git/none") return report()', PATH)
    [(text, level)] = seen["messages"]
    assert (level, ".git/none" in text) == (4, True)


def test_a_path_of_a_proposal_that_is_not_utf8(proposed: Repo) -> None:
    other = {"path": "b\udcff", "content": "new\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    seen = nvim(proposed, 'vim.cmd("BoocodePropose .git/edits") return report()', PATH)
    assert seen["messages"] == [["boocode: proposed 2 files", 2]]
    assert len(seen["signs"]) == 3


def test_a_buffer_that_cannot_be_sent_is_reported_at_once(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd([[set hidden | edit other | call setline(1, "a\\xff") | buffer 1]])
        vim.cmd("BoocodeSigns")
        return report()
        """,
        PATH,
    )
    [(text, level)] = seen["messages"]
    assert (level, "UTF-8" in text.upper()) == (4, True)


def test_the_diff_shows_both_sides(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/edits | BoocodeDiff")
        local diffs, here = { vim.wo.diff }, vim.api.nvim_buf_get_name(0)
        vim.cmd("wincmd p")
        table.insert(diffs, vim.wo.diff)
        local output = vim.api.nvim_buf_get_lines(0, 0, -1, true)
        vim.cmd("close")
        return report({ diffs = diffs, here = here, output = output, left = vim.wo.diff })
        """,
        PATH,
    )
    assert seen["diffs"] == [True, True]
    assert seen["here"].endswith(PATH)
    assert seen["output"] == ["one", "TWO", *WORDS[2:5], "new", "six", "seven", "nine", "ten"]
    assert seen["left"] is False


@pytest.mark.parametrize("command", ["'<,'>BoocodePropose", "BoocodePropose @b", "BoocodePropose"])
def test_edits_from_a_selection_or_a_register(proposed: Repo, command: str) -> None:
    answer = f'Here it is:\n"{PATH}"\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\nDone.\n'
    proposed.write("answer.md", answer)
    seen = nvim(
        proposed,
        f"""
        vim.cmd("split answer.md")
        vim.cmd([[normal! ggVG"by]])
        vim.cmd([[let @" = @b]])
        vim.cmd([[{command}]])
        vim.cmd("wincmd p")
        return report()
        """,
        PATH,
    )
    assert seen["messages"] == [[f"boocode: proposed {PATH}", 2]]
    assert seen["signs"] == [[2, "~"]]


def test_the_picker_restores(repo: Repo) -> None:
    repo.commit(a="one\n", b="one\n")
    assert repo.boocode("checkpoint", "-m", "before lunch").code == 0
    for path in ("a", "b"):
        repo.write(path, "two\n")
    seen = nvim(
        repo,
        """
        local shown
        vim.ui.select = function(items, options, choose)
          shown = vim.tbl_map(options.format_item, items)
          choose(items[1])
        end
        vim.cmd("BoocodeRestore")
        return report({ shown = shown })
        """,
        "a",
    )
    [row] = seen["shown"]
    assert row.endswith("  before lunch")
    assert str(datetime.now(timezone.utc).year) in row
    assert (seen["lines"], seen["modified"]) == (["one"], False)
    assert (repo.read("a"), repo.read("b")) == (b"one\n", b"one\n")
    assert seen["messages"] == [["boocode: restored 2 files", 2]]


def test_the_picker_may_be_left(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.boocode("checkpoint")
    repo.write("a", "two\n")
    seen = nvim(
        repo,
        """
        vim.ui.select = function(_, _, choose) choose(nil) end
        vim.cmd("BoocodeRestore")
        return report()
        """,
        "a",
    )
    assert seen["messages"] == []
    assert repo.read("a") == b"two\n"


FIRST = "vim.ui.select = function(items, _, choose) choose(items[#items]) end"


@pytest.fixture
def changed(repo: Repo) -> Repo:
    """A turn that changed a file in three places, and another file."""
    repo.commit(a=TEXT, b="one\n")
    assert repo.boocode("checkpoint", "-m", "change them").code == 0
    repo.write("a", TEXT.replace("two\n", "TWO\n").replace("five\n", "").replace("nine", "9"))
    repo.write("b", "two\n")
    return repo


def test_only_the_file_of_the_buffer_is_restored(changed: Repo) -> None:
    seen = nvim(changed, f'{FIRST} vim.cmd("BoocodeRestoreFile") return report()', "a")
    assert (seen["lines"], seen["modified"]) == (WORDS, False)
    assert changed.read("b") == b"two\n"
    assert seen["messages"] == [["boocode: restored a", 2]]


@pytest.mark.parametrize(
    ("line", "word"), [(2, "two"), (4, "five"), (5, "five"), (8, "nine"), (1, None), (7, None)]
)
def test_the_hunk_under_the_cursor_is_restored(changed: Repo, line: int, word: str | None) -> None:
    before = changed.read("a").decode()
    seen = nvim(
        changed, f'{FIRST} vim.cmd("{line}") vim.cmd("BoocodeRestoreHunk") return report()', "a"
    )
    [[message, _]] = seen["messages"]
    if word is None:
        assert message == f"boocode: line {line} is as it was before that turn"
        assert changed.read("a").decode() == before
    else:
        assert message == "boocode: restored a hunk of a"
        restored = [*seen["lines"]]
        restored.remove(word)
        assert {*restored} <= {*before.split()}


def test_a_modified_buffer_is_not_restored(changed: Repo) -> None:
    for command in ("BoocodeRestoreFile", "BoocodeRestoreHunk"):
        script = f'{FIRST} vim.fn.append(0, "typed") vim.cmd("{command}") return report()'
        seen = nvim(changed, script, "a")
        [[message, _]] = seen["messages"]
        assert message == "boocode: write the buffer first: its file is to be restored"


def test_a_restore_is_undone(changed: Repo) -> None:
    before = changed.read("a")
    script = f'{FIRST} vim.cmd("BoocodeRestoreFile") vim.cmd("BoocodeUndo") return report()'
    seen = nvim(changed, script, "a")
    assert seen["messages"][1:] == [["boocode: undid the change of a", 2]]
    assert changed.read("a") == before


@pytest.mark.parametrize("answer", [1, 2])
def test_a_turn_is_taken_back_beside_what_was_typed(changed: Repo, answer: int) -> None:
    changed.boocode("checkpoint", "-m", "later")
    changed.write("c", "by others\n")
    before = changed.read("a")
    seen = nvim(
        changed,
        f"""
        local asked
        vim.fn.confirm = function(text) asked = text return {answer} end
        {FIRST}
        vim.fn.append(0, "typed")
        vim.cmd("BoocodeRevert")
        return report({{ asked = asked }})
        """,
        "a",
    )
    assert sorted(seen["asked"].split("\n")) == ["Take back this turn?", "modify a", "modify b"]
    taken = answer == 1
    assert seen["lines"] == ["typed", *(WORDS if taken else before.decode().splitlines())]
    assert (seen["modified"], changed.read("a")) == (True, before)
    assert changed.read("b") == (b"one\n" if taken else b"two\n")
    assert changed.read("c") == b"by others\n"


COMMANDS = [
    *("Accept", "AcceptHunk", "Diff", "Discard", "DiscardHunk", "Propose", "Signs", "Undo"),
    *("Restore", "RestoreFile", "RestoreHunk", "Revert"),
]


@pytest.mark.parametrize("name", ["a", ""])
def test_outside_of_a_repository(repo: Repo, tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_text("one\n")
    commands = " ".join(f"vim.cmd('Boocode{each}')" for each in COMMANDS)
    seen = nvim(repo, f"{commands} return report()", *filter(None, [name]), cwd=tmp_path)
    message = f"boocode: {os.path.realpath(tmp_path)} is not in a worktree of git"
    assert seen["messages"] == [[message, 4]] * len(COMMANDS)


def test_a_buffer_that_is_no_file(proposed: Repo) -> None:
    of_all = ("Propose", "Restore", "Revert", "Undo")
    of_files = [each for each in COMMANDS if each not in of_all]
    commands = " ".join(f"vim.cmd('Boocode{each}')" for each in of_files)
    seen = nvim(proposed, f"{commands} return report()")
    message = f"boocode: this buffer is not a file of {proposed.top}/"
    assert seen["messages"] == [[message, 4]] * len(of_files)


def test_nothing_is_proposed(repo: Repo) -> None:
    repo.commit(a="one\n")
    seen = nvim(repo, "vim.cmd('BoocodeAccept | BoocodeDiscard') return report()", "a")
    assert [level for _, level in seen["messages"]] == [4, 4]
    assert (seen["lines"], seen["modified"]) == (["one"], False)


@pytest.mark.parametrize(
    ("before", "options"),
    [
        pytest.param("one\r\ntwo\r\n", "fileformat=dos", id="dos"),
        pytest.param("one\ntwo", "noendofline", id="noeol"),
        pytest.param("one\r\ntwo", "fileformat=dos", id="dos-noeol"),
        pytest.param("\ufeffone\ntwo\n", "bomb", id="bom"),
        pytest.param("one\ntwo 😀 é\n", "fileformat=unix", id="astral"),
    ],
)
def test_a_buffer_is_sent_as_its_bytes_would_be_on_disk(
    repo: Repo, before: str, options: str
) -> None:
    repo.git("config", "core.autocrlf", "false")
    repo.commit(a="")
    repo.write("a", before.encode())
    ending = "\r\n" if "\r" in before else "\n"
    edit = {"path": "a", "old_string": "two", "new_string": f"TWO{ending}new"}
    repo.write(".git/edits", json.dumps(edit))
    seen = nvim(
        repo,
        """
        vim.cmd("set nofixendofline")
        vim.fn.setline(1, "typed")
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("normal! 2G")
        vim.cmd("BoocodeAcceptHunk")
        local accepted = report()
        vim.cmd("silent write")
        return accepted
        """,
        "a",
    )
    assert {level for _, level in seen["messages"]} == {2}, seen["messages"]
    [row] = repo.boocode("status", "--json").json["files"]
    expected = before.replace("one", "typed").replace("two", f"TWO{ending}new").encode()
    assert repo.read("a") == expected
    assert repo.git("cat-file", "blob", row["context"]).encode() == expected
    assert row["status"] == ""


def test_hunks_of_a_file_that_gets_a_final_newline_once_it_is_written(repo: Repo) -> None:
    repo.commit(a=TEXT.strip())
    repo.write(".git/edits", three_edits("a"))
    seen = nvim(
        repo,
        """
        vim.fn.setline(1, "typed")
        vim.cmd("BoocodePropose .git/edits")
        vim.cmd("normal! 2G")
        vim.cmd("BoocodeAcceptHunk | BoocodeAccept | silent write")
        return report()
        """,
        "a",
    )
    assert {level for _, level in seen["messages"]} == {2}, seen["messages"]
    changed = ["typed", "TWO", *WORDS[2:5], "new", "six", "seven", "nine", "ten"]
    assert repo.read("a").decode() == "".join(f"{line}\n" for line in changed)


@pytest.mark.parametrize(("before", "after"), [("one\n", "one"), ("one", "one\n"), ("one\n", "")])
def test_a_final_newline_comes_and_goes(repo: Repo, before: str, after: str) -> None:
    repo.commit(a=before)
    repo.write(".git/edits", json.dumps({"path": "a", "content": after}))
    seen = nvim(
        repo,
        """
        vim.cmd("set nofixendofline")
        vim.cmd("BoocodePropose .git/edits | set modified | BoocodeAccept")
        local accepted = report()
        vim.cmd("silent write")
        return accepted
        """,
        "a",
    )
    assert (seen["lines"], seen["modified"]) == ([after.strip()], True)
    assert repo.read("a").decode() == after


def test_a_new_file(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.write(".git/edits", json.dumps({"path": "b", "content": "new\n"}))
    seen = nvim(
        repo,
        'vim.cmd("BoocodePropose .git/edits | BoocodeAccept") return report()',
        "b",
    )
    assert {level for _, level in seen["messages"]} == {2}
    assert (repo.read("b"), seen["lines"], seen["modified"]) == (b"new\n", ["new"], False)


def test_a_deleted_file(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.write(".git/edits", "*** Begin Patch\n*** Delete File: a\n*** End Patch\n")
    seen = nvim(
        repo,
        """
        vim.cmd("BoocodePropose .git/edits")
        local shown = report()
        require("boocode").accept()
        return shown
        """,
        "a",
    )
    assert seen["signs"] == [[1, "-"]]
    assert not (repo.top / "a").exists()


@pytest.mark.parametrize("last_line", ["*** Delete File: a", "*** Update File: a\n*** Move to: b"])
def test_an_unsaved_file_is_neither_deleted_nor_renamed(repo: Repo, last_line: str) -> None:
    repo.commit(a="one\n")
    repo.write(".git/edits", f"*** Begin Patch\n{last_line}\n*** End Patch\n")
    seen = nvim(
        repo,
        """
        vim.cmd("BoocodePropose .git/edits | set modified | BoocodeAccept")
        return report()
        """,
        "a",
    )
    message = "boocode: write the buffer first: it is to be deleted or renamed"
    assert seen["messages"][1:] == [[message, 4]]
    assert (repo.read("a"), seen["lines"]) == (b"one\n", ["one"])
    assert "a" in repo.boocode("status", "--porcelain").out


def test_a_refused_answer_is_tried_again(proposed: Repo) -> None:
    proposed.write(".git/wrong", json.dumps({"path": PATH, "old_string": "none", "new_string": ""}))
    seen = nvim(
        proposed,
        """
        vim.cmd("BoocodePropose .git/wrong")
        local refused = require("boocode").refused
        vim.cmd("BoocodePropose! .git/edits")
        return report({ id = refused.id, context = refused.retry_context })
        """,
        PATH,
    )
    assert [level for _, level in seen["messages"]] == [4, 2]
    message, hint = seen["messages"][0][0].split("\nhint: ")
    assert message.startswith(f"boocode: {PATH}: old text not found")
    assert hint
    assert seen["context"].startswith("@retry_context\n")
    stored = proposed.git("for-each-ref", "--format=%(contents:body)", "refs/boocode/proposals")
    assert json.loads(stored)["retry_of"] == seen["id"]


def test_another_unsaved_buffer_counts_too(proposed: Repo) -> None:
    proposed.write("other", "one\n")
    edit = {"path": "other", "old_string": "typed", "new_string": "changed"}
    proposed.write(".git/edits", json.dumps(edit))
    seen = nvim(
        proposed,
        """
        vim.cmd("set hidden | edit other | call setline(1, 'typed')")
        vim.cmd("buffer 1 | BoocodePropose .git/edits | buffer other | BoocodeAccept")
        return report()
        """,
        PATH,
    )
    assert (seen["lines"], seen["modified"]) == (["changed"], True)
    assert proposed.read("other") == b"one\n"


def test_a_worktree_behind_a_symlink(proposed: Repo, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(proposed.top)
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        vim.cmd("BoocodePropose link/.git/edits | BoocodeAccept")
        return report()
        """,
        f"link/{PATH}",
        cwd=tmp_path,
    )
    assert (seen["lines"][:3], seen["modified"]) == (["typed", "one", "TWO"], True)
    assert proposed.read(PATH).decode() == TEXT


def test_an_unsaved_file_of_git_is_left_out(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd("set hidden | edit .git/COMMIT_EDITMSG | call setline(1, 'typed') | buffer 1")
        vim.cmd("BoocodePropose .git/edits")
        return report()
        """,
        PATH,
    )
    assert len(seen["signs"]) == 3, seen["messages"]


def test_a_running_turn_is_reported(proposed: Repo) -> None:
    assert proposed.boocode("turn", "begin").code == 0
    seen = nvim(
        proposed,
        'vim.cmd("BoocodePropose .git/edits | BoocodeAccept") return report()',
        PATH,
    )
    [_, (text, level)] = seen["messages"]
    assert (level, "turn" in text, "\nhint: " in text) == (4, True, True)
    assert proposed.read(PATH).decode() == TEXT


def test_git_boocode_is_missing(proposed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = proposed.top / ".git/tools"
    tools.mkdir()
    for tool in ("git", "nvim", "sh"):
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    seen = nvim(proposed, "vim.cmd('BoocodeSigns') return report()", PATH)
    assert seen["messages"] == [["boocode: git boocode gave no answer; is it in PATH?", 4]]


# The processes that Neovim has started, and that still run.
_CHILDREN = "vim.api.nvim_get_proc_children(vim.fn.getpid())"


def test_one_server_answers_all_commands_and_ends_with_the_editor(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        f"""
        vim.cmd("BoocodePropose .git/edits | BoocodeSigns | BoocodeSigns")
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
        vim.cmd("BoocodePropose .git/edits")
        local before = {_CHILDREN}
        vim.loop.kill(before[1], "sigterm")
        vim.wait(10000, function() return #{_CHILDREN} == 0 end)
        vim.wait(1000) -- Neovim hears of it once the server has closed its output as well.
        vim.cmd("BoocodeSigns")
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
    seen = nvim(proposed, "vim.cmd('BoocodeSigns | BoocodeSigns') return report()", PATH)
    assert seen["messages"] == [["boocode: git boocode gave no answer; is it in PATH?", 4]] * 2
