"""The client for Neovim, run in headless Neovim with the installed git boocode."""

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


pytestmark = pytest.mark.skipif(version() < (0, 7), reason="there is no Neovim 0.7")

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

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
TEXT = "".join(f"{word}\n" for word in WORDS)
CHANGED = ["one", "TWO", *WORDS[2:5], "new", "six", "seven", "nine", "ten"]
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
    assert len(commands) == 23


def test_a_proposal_in_an_unsaved_buffer_has_signs(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        run("BoocodePropose .git/edits")
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
    seen = nvim(proposed, 'run("BoocodeSigns") return report()', PATH)
    assert (seen["signs"], seen["messages"]) == ([[2, "~"], [6, "+"], [8, "-"]], [])


def test_accept_a_hunk_in_an_unsaved_buffer(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        run("BoocodePropose .git/edits")
        vim.cmd("10mark a")
        vim.api.nvim_win_set_cursor(0, { 7, 2 })
        run("BoocodeAcceptHunk")
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
        run("BoocodePropose .git/edits")
        for _, line in ipairs({ 8, 6, 2 }) do
          vim.api.nvim_win_set_cursor(0, { line, 0 })
          run("BoocodeAcceptHunk")
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
        run("BoocodePropose .git/edits")
        vim.cmd("let &undolevels = &undolevels")
        run("BoocodeAccept")
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
        run("BoocodePropose .git/edits")
        vim.cmd("set foldmethod=manual | 10,11fold")
        run("BoocodeAccept")
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
        run("BoocodePropose .git/edits")
        vim.api.nvim_win_set_cursor(0, { 3, 0 })
        run("BoocodeDiscardHunk")
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
        run("BoocodePropose .git/edits")
        vim.cmd("normal! 10G")
        run("BoocodeAcceptHunk | BoocodeDiscardHunk")
        return report()
        """,
        PATH,
    )
    assert seen["messages"][1:] == [["boocode: nothing is proposed for line 10", 4]] * 2
    assert len(seen["signs"]) == 3


def test_discard_a_file(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        'run("BoocodePropose .git/edits | BoocodeDiscard") return report()',
        PATH,
    )
    assert (seen["signs"], seen["modified"]) == ([], False)
    assert proposed.boocode("status", "--porcelain").out.strip() in ("", PATH)


def test_an_unmodified_file_is_written_and_reloaded(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits | 10mark a | BoocodeAccept")
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
        run("BoocodePropose .git/edits")
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk")
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
        run("BoocodePropose .git/edits")
        vim.fn.setline(2, "typed")
        run("BoocodeAccept")
        run("BoocodeAccept --merge")
        return report()
        """,
        PATH,
    )
    overwrites = "replaces your changes, which undo brings back"
    merges = "merges the proposal with your changes"
    marks = "writes both versions with conflict markers"
    for (text, level), way in zip(seen["messages"][1:], (merges, marks), strict=True):
        message, *hints = text.split("\nhint: ")
        assert (level, message.startswith(f"boocode: '{PATH}': ")) == (4, True)
        assert hints == [way, overwrites]
    assert seen["lines"] == ["one", "typed", *WORDS[2:]]
    assert (seen["modified"], proposed.read(PATH).decode()) == (True, TEXT)


def test_the_next_steps_of_a_conflict_are_offered(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        local shown, chosen = {}, { 1, 1 }
        vim.ui.select = function(items, options, choose)
          table.insert(shown, vim.tbl_map(options.format_item, items))
          choose(items[table.remove(chosen)])
        end
        run("BoocodePropose .git/edits")
        vim.fn.setline(2, "typed")
        run("BoocodeAccept")
        local lines = report().lines
        vim.cmd("silent undo")
        vim.fn.setline(2, "typed")
        run("BoocodeUndo")
        run("BoocodeDiscardAll")
        return report({ shown = shown, accepted = lines })
        """,
        PATH,
    )
    assert seen["shown"] == [
        ["merges the proposal with your changes", "replaces your changes, which undo brings back"],
        [
            "writes both versions with conflict markers",
            "replaces your changes, which undo brings back",
        ],
    ]
    markers = ["<<<<<<< local", "typed", "=======", "TWO", ">>>>>>> proposal"]
    assert seen["accepted"][1:6] == markers


def test_other_changes_are_merged_on_request(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        vim.fn.setline(10, "typed")
        run("BoocodeAccept --merge")
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
        run("BoocodePropose .git/edits")
        vim.fn.append(0, { "typed", "above" })
        vim.cmd("normal! 8G")
        run("BoocodeSigns | BoocodeAcceptHunk --merge")
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
        run("BoocodePropose .git/edits")
        run("BoocodeAccept {option}")
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk {option}")
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
        run("BoocodePropose .git/edits")
        run("BoocodeAccept {options} | BoocodeDiscard {options}")
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
        'run("BoocodePropose .git/edits | BoocodeDiscard -n") return report()',
        PATH,
    )
    assert seen["messages"][1:] == [["boocode: unknown option '-n'", 4]]
    assert len(seen["signs"]) == 3


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
        run("BoocodePropose .git/edits")
        vim.fn.setline(2, "typed")
        run("BoocodeAccept {options}")
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
        f'run("BoocodePropose .git/edits | Boocode{command} --force") return report()',
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
    seen = nvim(proposed, 'run("BoocodePropose ~/edits") return report()', PATH)
    assert len(seen["signs"]) == 3, seen["messages"]


def test_a_file_of_edits_that_does_not_exist(proposed: Repo) -> None:
    seen = nvim(proposed, 'run("BoocodePropose .git/none") return report()', PATH)
    [(text, level)] = seen["messages"]
    assert (level, ".git/none" in text) == (4, True)


def test_a_path_of_a_proposal_that_is_not_utf8(proposed: Repo) -> None:
    other = {"path": "b\udcff", "content": "new\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    seen = nvim(proposed, 'run("BoocodePropose .git/edits") return report()', PATH)
    assert seen["messages"] == [[f"boocode: proposed {PATH}, b�", 2]]
    assert len(seen["signs"]) == 3


def test_a_buffer_that_cannot_be_sent_is_reported_at_once(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.cmd([[set hidden | edit other | call setline(1, "a\\xff") | buffer 1]])
        run("BoocodeSigns")
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
        run("BoocodePropose .git/edits | BoocodeDiff")
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
        run([[{command}]])
        vim.cmd("wincmd p")
        return report()
        """,
        PATH,
    )
    assert seen["messages"] == [[f"boocode: proposed {PATH}", 2]]
    assert seen["signs"] == [[2, "~"]]


def test_the_picker_restores(repo: Repo) -> None:
    repo.commit(a="one\n", b="one\n")
    assert repo.boocode("checkpoint", "-m", "before lunch", "--agent", "codex").code == 0
    for path in ("a", "b"):
        repo.write(path, "two\n")
    seen = nvim(
        repo,
        """
        local shown, asked
        vim.ui.select = function(items, options, choose)
          shown = vim.tbl_map(options.format_item, items)
          choose(items[1])
        end
        vim.fn.confirm = function(text, words) asked = { text, words } return 1 end
        run("BoocodeRestore")
        return report({ shown = shown, asked = asked })
        """,
        "a",
    )
    [row] = seen["shown"]
    words = ["just", "now", "codex", "2", "files", "+2", "−2", "before", "lunch"]
    assert row.split()[: len(words)] == words
    question, choices = seen["asked"]
    assert question.splitlines() == [
        "Restore files? before lunch",
        "before this turn: 2 files",
        "  modify a  +1 −1",
        "  modify b  +1 −1",
        *question.splitlines()[4:-1],
        ":BoocodeUndo takes it back.",
    ]
    assert (choices.split("\n")[0], choices[-13:]) == ("&Before", "&Diff\n&Cancel")
    assert (seen["lines"], seen["modified"]) == (["one"], False)
    assert (repo.read("a"), repo.read("b")) == (b"one\n", b"one\n")
    assert seen["messages"] == [["boocode: restored 2 files; :BoocodeUndo takes it back", 2]]


@pytest.mark.parametrize(
    ("command", "answer"), [("Restore", 2), ("Restore --after", 1), ("RestoreFile --after", 1)]
)
def test_files_are_restored_to_after_a_turn(changed: Repo, command: str, answer: int) -> None:
    after = changed.read("a").decode()
    changed.boocode("checkpoint", "-m", "later")
    changed.write("a", "of the later turn\n")
    seen = nvim(
        changed,
        f"""
        {FIRST}
        local asked
        vim.fn.confirm = function(text, words) asked = {{ text, words }} return {answer} end
        run("Boocode{command}")
        return report({{ asked = asked }})
        """,
        "a",
    )
    question, choices = seen["asked"]
    assert choices.split("\n")[answer - 1] == "&After"
    assert "\nafter this turn: 1 file\n  modify a  +" in question
    assert ("before this turn" in question) == (answer == 2)
    assert seen["lines"] == after.splitlines()
    assert (changed.read("a").decode(), changed.read("b")) == (after, b"two\n")


def test_a_hunk_is_restored_to_after_a_turn(changed: Repo) -> None:
    changed.boocode("checkpoint", "-m", "later")
    changed.write("a", changed.read("a").decode().replace("TWO", "later"))
    seen = nvim(
        changed, f'{FIRST} vim.cmd("2") run("BoocodeRestoreHunk --after") return report()', "a"
    )
    assert seen["lines"][:2] == ["one", "TWO"], seen["messages"]


def test_the_picker_may_be_left(repo: Repo) -> None:
    repo.commit(a="one\n")
    repo.boocode("checkpoint")
    repo.write("a", "two\n")
    seen = nvim(
        repo,
        """
        vim.ui.select = function(_, _, choose) choose(nil) end
        run("BoocodeRestore")
        return report()
        """,
        "a",
    )
    assert seen["messages"] == []
    assert repo.read("a") == b"two\n"


# Choose the oldest turn, and say yes.
FIRST = """
vim.ui.select = function(items, _, choose) choose(items[#items]) end
vim.fn.confirm = function() return 1 end
"""


@pytest.fixture
def changed(repo: Repo) -> Repo:
    """A turn that changed a file in three places, and another file."""
    repo.commit(a=TEXT, b="one\n")
    assert repo.boocode("checkpoint", "-m", "change them").code == 0
    repo.write("a", TEXT.replace("two\n", "TWO\n").replace("five\n", "").replace("nine", "9"))
    repo.write("b", "two\n")
    return repo


def test_only_the_file_of_the_buffer_is_restored(changed: Repo) -> None:
    seen = nvim(changed, f'{FIRST} run("BoocodeRestoreFile") return report()', "a")
    assert (seen["lines"], seen["modified"]) == (WORDS, False)
    assert changed.read("b") == b"two\n"
    assert seen["messages"] == [["boocode: restored a; :BoocodeUndo takes it back", 2]]


@pytest.mark.parametrize(
    ("line", "word"), [(2, "two"), (4, "five"), (5, "five"), (8, "nine"), (1, None), (7, None)]
)
def test_the_hunk_under_the_cursor_is_restored(changed: Repo, line: int, word: str | None) -> None:
    before = changed.read("a").decode()
    seen = nvim(
        changed, f'{FIRST} vim.cmd("{line}") run("BoocodeRestoreHunk") return report()', "a"
    )
    [[message, _]] = seen["messages"]
    if word is None:
        assert message == f"boocode: line {line} is as it was before that turn"
        assert changed.read("a").decode() == before
    else:
        assert message == "boocode: restored a hunk of a; :BoocodeUndo takes it back"
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
    script = f'{FIRST} run("BoocodeRestoreFile") run("BoocodeUndo") return report()'
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
        {FIRST}
        vim.fn.confirm = function(text) asked = text return {answer} end
        vim.fn.append(0, "typed")
        run("BoocodeRevert")
        return report({{ asked = asked }})
        """,
        "a",
    )
    question, *files, undo = seen["asked"].split("\n")
    assert (question, undo) == ("Take back this turn? change them", ":BoocodeUndo takes it back.")
    assert sorted(files) == ["modify a", "modify b"]
    taken = answer == 1
    assert seen["lines"] == ["typed", *(WORDS if taken else before.decode().splitlines())]
    assert (seen["modified"], changed.read("a")) == (True, before)
    assert changed.read("b") == (b"one\n" if taken else b"two\n")
    assert changed.read("c") == b"by others\n"


def test_the_next_steps_of_a_revert_are_offered(changed: Repo) -> None:
    changed.boocode("checkpoint", "-m", "later")
    changed.write("b", "three\n")
    seen = nvim(
        changed,
        """
        local shown = {}
        vim.fn.confirm = function() return 1 end
        vim.ui.select = function(items, options, choose)
          table.insert(shown, vim.tbl_map(options.format_item, items))
          choose(#shown == 1 and items[2] or items[1])
        end
        run("BoocodeRevert")
        return report({ shown = shown })
        """,
        "b",
    )
    assert len(seen["shown"]) == 2, seen["messages"]
    assert seen["messages"][0][0].startswith("boocode: 'b' was changed since"), seen["messages"]
    assert not {word for text in seen["shown"][1] for word in text.split() if word[:2] == "--"}
    assert seen["messages"][-1][0].startswith("boocode: took back"), seen["messages"]


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


def test_nothing_is_proposed(repo: Repo) -> None:
    repo.commit(a="one\n")
    seen = nvim(repo, "run('BoocodeAccept | BoocodeDiscard') return report()", "a")
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
        run("BoocodePropose .git/edits")
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk")
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
        run("BoocodePropose .git/edits")
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk | BoocodeAccept")
        vim.cmd("silent write")
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
        run("BoocodePropose .git/edits | set modified | BoocodeAccept")
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
        'run("BoocodePropose .git/edits | BoocodeAccept") return report()',
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
        run("BoocodePropose .git/edits")
        local shown = report()
        require("boocode").accept()
        report()
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
        run("BoocodePropose .git/edits | set modified | BoocodeAccept")
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
        run("BoocodePropose .git/wrong")
        local refused = require("boocode").refused
        run("BoocodePropose! .git/edits")
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
        run("buffer 1 | BoocodePropose .git/edits | buffer other | BoocodeAccept")
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
        run("BoocodePropose link/.git/edits | BoocodeAccept")
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
        run("BoocodePropose .git/edits")
        return report()
        """,
        PATH,
    )
    assert len(seen["signs"]) == 3, seen["messages"]


def test_a_running_turn_is_reported(proposed: Repo) -> None:
    assert proposed.boocode("turn", "begin").code == 0
    seen = nvim(
        proposed,
        'run("BoocodePropose .git/edits | BoocodeAccept") return report()',
        PATH,
    )
    [_, (text, level)] = seen["messages"]
    assert (level, "turn" in text, "\nhint: " in text) == (4, True, True)
    assert proposed.read(PATH).decode() == TEXT


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


def test_u_gives_an_accepted_hunk_back(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append("$", "typed")
        run("BoocodePropose .git/edits")
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk")
        vim.cmd("normal! 6G")
        run("BoocodeAcceptHunk")
        local accepted = report()
        vim.cmd("silent undo")
        vim.wait(100)
        local once = report()
        vim.cmd("silent undo")
        vim.wait(100)
        local twice = report()
        vim.cmd("silent redo")
        vim.wait(100)
        return report({ accepted = accepted, once = once, twice = twice })
        """,
        PATH,
    )
    assert seen["accepted"]["signs"] == [[9, "-"]]
    assert seen["once"]["signs"] == [[6, "+"], [8, "-"]]
    assert seen["twice"]["signs"] == [[2, "~"], [6, "+"], [8, "-"]]
    assert (seen["twice"]["lines"], seen["signs"]) == ([*WORDS, "typed"], [[6, "+"], [8, "-"]])
    texts = [text for text, _ in seen["messages"][-3:]]
    again = f"boocode: a hunk of {PATH} is proposed again"
    assert texts == [again, again, f"boocode: accepted a hunk of {PATH}"]


def test_u_says_how_to_get_back_what_was_written(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        run("BoocodeAccept")
        vim.cmd("silent undo")
        vim.wait(100)
        report()
        vim.cmd("silent redo | edit!")
        run("BoocodeUndo")
        return report()
        """,
        PATH,
    )
    said = f"boocode: {PATH} stays accepted; :BoocodeUndo takes it back"
    assert seen["messages"][2] == [said, 2]
    assert (seen["lines"], len(seen["signs"])) == (WORDS, 3)
    assert proposed.read(PATH).decode() == TEXT


def test_undo_takes_the_text_of_the_buffer_along(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append("$", "typed")
        run("BoocodePropose .git/edits")
        run("BoocodeAccept")
        run("BoocodeUndo")
        local undone = report()
        run("BoocodeRedo")
        return report({ undone = undone })
        """,
        PATH,
    )
    undone = seen["undone"]
    assert (undone["lines"], len(undone["signs"])) == ([*WORDS, "typed"], 3)
    assert (seen["lines"][1], seen["signs"]) == ("TWO", [])
    texts = [text for text, _ in seen["messages"][-2:]]
    assert texts == ["boocode: undid the latest accept", "boocode: redid the latest accept"]


def test_a_mark_on_an_accepted_line_stays(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.fn.append(0, "typed")
        run("BoocodePropose .git/edits")
        vim.cmd("3mark a")
        run("BoocodeAccept")
        return report()
        """,
        PATH,
    )
    assert (seen["mark"], seen["lines"][2]) == (3, "TWO")


def test_the_proposed_hunks_are_listed(proposed: Repo) -> None:
    other = {"path": "new", "content": "made\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        run("BoocodeList")
        local list = vim.tbl_map(function(item)
          return { vim.fn.fnamemodify(vim.fn.bufname(item.bufnr), ":t"), item.lnum, item.text }
        end, vim.fn.getqflist())
        vim.cmd("cclose | wincmd p | edit new")
        local new = report().signs
        run("BoocodeAccept")
        return report({ list = list, new = new })
        """,
        PATH,
    )
    name = Path(PATH).name
    in_file = [[name, 2, "M +TWO"], [name, 6, "M +new"], [name, 8, "M -eight"]]
    assert sorted(seen["list"]) == sorted([*in_file, ["new", 1, "A +made"]])
    assert (seen["new"], seen["lines"]) == ([[1, "+"]], ["made"])
    assert proposed.read("new") == b"made\n"


def test_all_is_accepted_or_discarded(proposed: Repo) -> None:
    other = {"path": "new", "content": "made\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        run("BoocodeDiscardAll")
        local discarded = report()
        run("BoocodeUndo")
        run("BoocodeAcceptAll")
        return report({ discarded = discarded })
        """,
        PATH,
    )
    assert (seen["discarded"]["signs"], seen["discarded"]["lines"]) == ([], WORDS)
    assert (seen["lines"][1], proposed.read("new")) == ("TWO", b"made\n")


def test_the_cursor_walks_from_hunk_to_hunk(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        local lines = {}
        for _, command in ipairs({ "Next", "Next", "Next", "Previous", "Previous", "2Next" }) do
          vim.cmd(command:gsub("^%d?", "%0Boocode", 1))
          table.insert(lines, vim.fn.line("."))
        end
        vim.cmd("BoocodeNext")
        return report({ walked = lines })
        """,
        PATH,
    )
    assert seen["walked"] == [2, 6, 8, 6, 2, 8]
    assert seen["messages"][1:] == [
        ["boocode: no more hunks in this file; :BoocodeList lists all", 4]
    ]


def test_the_window_of_a_comparison_cleans_up_and_acts_on_its_file(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        run("BoocodeDiff")
        vim.cmd("wincmd p")
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk")
        local file, windows = vim.fn.bufnr("%"), #vim.api.nvim_list_wins()
        vim.cmd("close")
        vim.wait(50)
        return report({ windows = windows, diff = vim.wo.diff, left = #vim.api.nvim_list_wins() })
        """,
        PATH,
    )
    assert (seen["windows"], seen["left"], seen["diff"]) == (2, 1, False)
    assert (seen["lines"][1], len(seen["signs"])) == ("TWO", 2)


def test_the_comparison_ends_with_the_last_hunk(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        run("BoocodeDiff")
        run("BoocodeAccept")
        vim.wait(50)
        return report({ windows = #vim.api.nvim_list_wins(), diff = vim.wo.diff })
        """,
        PATH,
    )
    assert (seen["windows"], seen["diff"], seen["lines"][1]) == (1, False, "TWO")


def test_a_hunk_that_was_not_shown_is_not_accepted(proposed: Repo) -> None:
    assert proposed.boocode("propose", ".git/edits").code == 0
    seen = nvim(
        proposed,
        """
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk")
        local first = report()
        run("BoocodeAcceptHunk")
        return report({ first = first })
        """,
        PATH,
    )
    assert (seen["first"]["lines"], len(seen["first"]["signs"])) == (WORDS, 3)
    looked = ["boocode: look at the signs first, then run the command again", 4]
    assert seen["messages"] == [looked, [f"boocode: accepted a hunk of {PATH}", 2]]
    assert seen["lines"][1] == "TWO"


def test_a_hunk_that_another_program_proposed_meanwhile_is_not_accepted(proposed: Repo) -> None:
    edit = json.dumps({"path": PATH, "old_string": "one", "new_string": "unseen"})
    proposed.write(".git/other", edit)
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        vim.fn.system("git boocode propose .git/other")
        vim.cmd("normal! 2G")
        run("BoocodeAcceptHunk")
        run("BoocodeAccept")
        return report()
        """,
        PATH,
    )
    stale = seen["messages"][1]
    assert stale[0].startswith("boocode: the proposal has changed since you looked at it")
    assert stale[1] == 4
    # The new signs are there now, and so the second command accepts what they show.
    assert seen["lines"] == ["unseen", *CHANGED[1:]]


def test_all_that_was_not_shown_is_not_accepted(proposed: Repo) -> None:
    edit = json.dumps({"path": "unseen", "content": "new\n"})
    proposed.write(".git/other", edit)
    seen = nvim(
        proposed,
        """
        run("BoocodePropose .git/edits")
        vim.fn.system("git boocode propose .git/other")
        run("BoocodeAcceptAll")
        local first = vim.fn.getline(1, "$")
        run("BoocodeAcceptAll")
        return report({ first = first })
        """,
        PATH,
    )
    assert (seen["first"], seen["lines"]) == (WORDS, CHANGED)
    assert proposed.read("unseen") == b"new\n"


def test_an_answer_fits_the_text_that_was_asked_about(proposed: Repo) -> None:
    """The text changes between the question and the answer."""
    seen = nvim(
        proposed,
        """
        run("BoocodeAsk Shout")
        vim.fn.setline(2, "two, typed")
        run("BoocodeAcceptAll")
        run("BoocodePropose .git/edits")
        run("BoocodeStatus")
        return report()
        """,
        PATH,
    )
    texts = [text for text, _ in seen["messages"]]
    assert texts[0].startswith("boocode: a turn has begun")
    assert texts[-2:] == [f"boocode: proposed {PATH}", f"boocode: ~M {PATH}"]
    assert proposed.boocode("turn", "status").code == 1
    assert proposed.boocode("log", "--json").json["checkpoints"][0]["label"] == "Shout"


def test_a_plugin_begins_and_ends_a_turn(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        local steps = {}
        boocode.begin_turn("Shout", function()
          table.insert(steps, vim.fn.system("git boocode turn status") ~= "")
          boocode.propose(".git/edits")
          boocode.end_turn(function() table.insert(steps, "ended") end)
        end)
        return report({ steps = steps })
        """,
        PATH,
    )
    assert seen["steps"] == [True, "ended"]
    assert (len(seen["signs"]), proposed.boocode("turn", "status").code) == (3, 1)


def test_a_checkpoint_is_taken(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        run("BoocodeCheckpoint before lunch")
        vim.fn.setline(1, "typed")
        run("BoocodeCheckpoint")
        return report()
        """,
        PATH,
    )
    first, second = (text for text, _ in seen["messages"])
    assert first == "boocode: took a checkpoint"
    assert second.endswith("without the changes of 1 unsaved buffers")
    labels = [each["label"] for each in proposed.boocode("log", "--json").json["checkpoints"]]
    assert labels[-1] == "before lunch"


def test_the_list_of_turns_shows_what_each_did(changed: Repo) -> None:
    changed.boocode("checkpoint", "-m", "second")
    changed.write("b", "three\n")
    seen = nvim(
        changed,
        """
        run("BoocodeLog")
        local rows = vim.api.nvim_buf_get_lines(0, 0, -1, true)
        local function diff()
          assert(boocode.wait())
          return vim.fn.getbufline(vim.fn.bufnr("boocode://turn"), 1, "$")
        end
        vim.cmd([[execute "normal \\<CR>"]])
        local first = diff()
        vim.cmd("normal! 2G")
        vim.cmd("doautocmd CursorMoved")
        local second = diff()
        vim.fn.confirm = function() return 1 end
        vim.cmd("normal r")
        boocode.wait()
        return report({ rows = rows, first = first, second = second })
        """,
        "a",
    )
    newest, oldest = seen["rows"]
    assert "  second  (you are here: " in newest
    assert oldest.endswith("  change them")
    assert (seen["first"][0], "+three" in seen["first"]) == ("second", True)
    assert (seen["second"][0], "+TWO" in seen["second"]) == ("change them", True)
    assert (changed.read("a").decode(), changed.read("b")) == (TEXT, b"one\n")


def test_turns_are_marked_by_what_became_of_them(changed: Repo) -> None:
    changed.boocode("checkpoint", "-m", "second")
    changed.write("c", "of the second turn\n")
    changed.boocode("checkpoint", "-m", "third")
    assert changed.boocode("revert", "label:second").code == 0
    seen = nvim(
        changed,
        """
        run("BoocodeLog")
        return report({ rows = vim.api.nvim_buf_get_lines(0, 0, -1, true) })
        """,
        "a",
    )
    marked = [row for row in seen["rows"] if "(reverted)" in row]
    assert len(marked) == 1
    assert "  second  (reverted)" in marked[0]


def test_files_with_unsaved_changes_are_not_restored(changed: Repo) -> None:
    seen = nvim(
        changed,
        f"""
        {FIRST}
        vim.fn.append(0, "typed")
        run("BoocodeRestore")
        return report()
        """,
        "a",
    )
    assert seen["messages"] == [["boocode: write the buffer first: a would change", 4]]
    assert changed.read("b") == b"two\n"


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
