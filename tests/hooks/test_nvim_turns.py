"""The client for Neovim: turns, what they did, and the way back."""

from __future__ import annotations

import pytest

from tests.checkpoints.kit import take
from tests.hooks.editor_kit import PATH, WORDS
from tests.hooks.nvim_kit import FIRST, needs_nvim, nvim
from tests.repo_kit import Repo

pytestmark = needs_nvim


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


def test_what_was_not_shown_is_not_restored(changed: Repo) -> None:
    seen = nvim(
        changed,
        f"""
        {FIRST}
        local asked, offered = {{}}, nil
        vim.fn.confirm = function(text)
          if #asked == 0 then vim.fn.writefile({{ "later" }}, "later") end
          table.insert(asked, text)
          return 1
        end
        vim.ui.select = function(items, options, choose)
          if #asked == 1 then
            offered = vim.fn.filereadable("later") == 1 and options.format_item(items[1])
          end
          choose(items[#items])
        end
        run("BoocodeRestore")
        return report({{ asked = asked, offered = offered }})
        """,
        "a",
    )
    first, second = seen["asked"]
    assert ("  delete later" in first, "  delete later" in second) == (False, True)
    assert seen["offered"] == "nothing was changed; look at it again"
    assert not (changed.top / "later").exists()


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


def test_a_turn_that_was_taken_back_is_picked(changed: Repo) -> None:
    after = changed.read("a")
    assert changed.boocode("revert", "label:change them").code == 0
    seen = nvim(
        changed,
        f"""
        local asked
        {FIRST}
        vim.fn.confirm = function(text) asked = text return 1 end
        vim.fn.append(0, "typed")
        run("BoocodePick")
        run("BoocodePick")
        return report({{ asked = asked }})
        """,
        "a",
    )
    assert seen["asked"].startswith("Do here what this turn did? change them\n")
    assert seen["lines"] == ["typed", *after.decode().splitlines()]
    assert changed.read("b") == b"two\n"
    assert [text for text, _ in seen["messages"]] == [
        "boocode: picked 2 files; :BoocodeUndo takes it back",
        "boocode: all that it changed is here",
    ]


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


def test_an_answer_fits_the_text_that_was_asked_about(proposed: Repo) -> None:
    """The text changes between the question and the answer."""
    seen = nvim(
        proposed,
        """
        run("BoocodeAsk Shout")
        run("BoocodeStatus")
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
    assert texts[1] == "boocode: nothing is proposed\na turn is running: Shout"
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
    assert second.endswith("without the changes of unsaved buffers: 1")
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
        vim.cmd("normal! 3G")
        vim.cmd("doautocmd CursorMoved")
        local second = diff()
        vim.fn.confirm = function() return 1 end
        vim.cmd("normal r")
        boocode.wait()
        local restored = vim.api.nvim_buf_get_lines(0, 0, -1, true)
        run("BoocodeUndo")
        return report({ rows = rows, first = first, second = second, restored = restored })
        """,
        "a",
    )
    here, newest, oldest = seen["rows"]
    assert here.strip() == "you are here: after this turn"
    assert newest.endswith("  second")
    assert oldest.endswith("  change them")
    assert (seen["first"][0], "+three" in seen["first"]) == ("second", True)
    assert (seen["second"][0], "+TWO" in seen["second"]) == ("change them", True)
    # The list says where the files are now, and the cursor stays.
    assert [row.split("  ")[-1] for row in seen["restored"]] == [
        "(restored away) second",
        "(restored away) change them",
        "you are here: before this turn",
    ]
    assert (seen["lines"], seen["cursor"]) == (seen["rows"], [3, 0])
    assert changed.read("b") == b"three\n"


def test_older_turns_are_listed_on_request(repo: Repo) -> None:
    repo.commit(a="a\n")
    for number in range(51):
        take(label=f"turn {number}")
    script = """
    run("BoocodeLog")
    vim.cmd("normal! G")
    local first = report()
    vim.cmd([[execute "normal \\<CR>"]])
    return report({ first = first.lines })
    """
    seen = nvim(repo, script, "a")
    assert (len(seen["first"]), seen["first"][-1]) == (52, "older turns…")
    assert (len(seen["lines"]), seen["lines"][-1].split()[-1]) == (52, "0")
    assert seen["cursor"] == [52, 0]


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
    assert marked[0].endswith("  (reverted) second")


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
