"""The client for Neovim: propose, accept and discard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hooks.editor_kit import PATH, TEXT, WORDS, three_edits
from tests.hooks.nvim_kit import needs_nvim, nvim
from tests.repo_kit import Repo

pytestmark = needs_nvim


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
    overwrites = "replaces your changes, which undo in the editor brings back"
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
        [
            "merges the proposal with your changes",
            "replaces your changes, which undo in the editor brings back",
        ],
        [
            "writes both versions with conflict markers",
            "replaces your changes, which undo in the editor brings back",
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


@pytest.mark.slow
def test_a_buffer_of_another_encoding_is_not_overwritten(repo: Repo) -> None:
    text = "grüße\ntwo\n3\n4\n"
    repo.write("a", text.encode("latin-1"))
    repo.commit()
    repo.write(".git/edits", json.dumps({"path": "a", "old_string": "two", "new_string": "2"}))
    seen = nvim(
        repo,
        """
        run("BoocodePropose .git/edits")
        vim.fn.append(4, "mine")
        run("BoocodeAccept --overwrite")
        local refused = report()
        vim.cmd("silent write")
        return refused
        """,
        "a",
    )
    assert "save the buffer in the editor" in str(seen["messages"])
    assert repo.read("a") == f"{text}mine\n".encode("latin-1")


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
