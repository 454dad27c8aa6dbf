"""The client for Neovim: undo, lists, comparisons, and what was not shown."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hooks.editor_kit import CHANGED, PATH, TEXT, WORDS, three_edits
from tests.hooks.nvim_kit import needs_nvim, nvim
from tests.repo_kit import Repo

pytestmark = needs_nvim


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


def test_what_another_program_proposes_is_shown_on_request(proposed: Repo) -> None:
    seen = nvim(
        proposed,
        """
        vim.g.boocode_watch = true
        run("BoocodeSigns")
        vim.fn.system("git boocode propose .git/edits")
        local namespace = vim.api.nvim_get_namespaces().boocode
        vim.wait(20000, function()
          return #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}) == 3
        end)
        return report()
        """,
        PATH,
    )
    assert (len(seen["signs"]), seen["messages"]) == (3, [])


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
