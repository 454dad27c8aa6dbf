"""The client for Vim 9, run in Vim with the installed git boocode."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints.kit import take
from tests.hooks.editor_kit import CHANGED, PATH, TEXT, WORDS, three_edits
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

CLIENT = Path(__file__).parents[2] / "hooks/editors/vim"
VIM = os.environ.get("VIM_PROGRAM", "vim")  # the program to test


def is_suitable() -> bool:
    """Whether there is a Vim 9 with jobs."""
    if shutil.which(VIM) is None:
        return False
    said = subprocess.run([VIM, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"Vi IMproved (\d+)", said)
    return bool(found and int(found[1]) >= 9 and "+job" in said and "+vim9script" in said)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_suitable(), reason="there is no Vim 9 with jobs"),
]

# `Report` is what a test looks at: the current buffer as the user sees it, and all messages.
_PRELUDE = """
set nomore noswapfile hidden
function Do(command)
  execute a:command
  call assert_true(boocode#Wait(30000), 'no answer')
endfunction
function Report(more = {})
  call assert_true(boocode#Wait(30000), 'no answer')
  let kinds = {'BoocodeAdd': '+', 'BoocodeChange': '~', 'BoocodeDelete': '-'}
  let signs = sign_getplaced('', {'group': 'boocode'})[0].signs
  let messages = filter(split(execute('messages'), "\\n"), 'v:val =~# "^boocode: "')
  return extend({
    \\ 'lines': getline(1, '$'), 'modified': &modified, 'cursor': getcurpos()[1:2],
    \\ 'signs': map(signs, '[v:val.lnum, kinds[v:val.name]]'), 'mark': line("'a"),
    \\ 'messages': map(messages, 'v:val[9:]'), 'errors': v:errors,
    \\ }, a:more)
endfunction
"""


def vim(repo: Repo, script: str, *files: str, cwd: str | Path = "") -> Any:
    """What a script leaves in the variable `seen` in Vim that has opened some files."""
    out = repo.top / ".git/seen"
    save = "call writefile([json_encode(seen)], $SEEN)"
    program = repo.write(".git/script.vim", f"{_PRELUDE}\n{script}\n{save}\n")
    done = subprocess.run(
        [
            *(VIM, "-u", "NONE", "-i", "NONE", "-n", "-N", "-es", "--not-a-term"),
            *("--cmd", f"set runtimepath^={CLIENT} encoding=utf-8"),
            *("-c", "runtime plugin/boocode.vim", "-c", f"source {program}", "-c", "qa!"),
            *("--", *files),
        ],
        cwd=repo.top / cwd,
        env={**os.environ, "SEEN": str(out)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert out.exists(), done.stdout + done.stderr
    seen = json.loads(out.read_text())
    out.unlink()
    assert seen["errors"] == []
    return seen


def test_every_function_compiles(repo: Repo, tmp_path: Path) -> None:
    """Vim compiles a function when it is called first; all are, with their types."""
    copy = tmp_path / "client"
    shutil.copytree(CLIENT, copy)
    sources = sorted(copy.glob("*/**/*.vim"))
    for source in sources:
        source.write_text(source.read_text() + "defcompile\n")
    load = "\n".join(f"source {source}" for source in sources)
    script = f"set runtimepath^={copy}\n{load}\nlet seen = Report({{'message': v:errmsg}})"
    assert vim(repo, script)["message"] == ""


def test_all_commands_are_in_the_help(repo: Repo) -> None:
    seen = vim(repo, "let seen = Report({'names': getcompletion('Boocode', 'command')})")
    text = (CLIENT / "doc/boocode.txt").read_text()
    assert len(seen["names"]) == 24
    assert {name for name in seen["names"] if f"*:{name}*" not in text} == set()


def test_a_proposal_in_an_unsaved_buffer_has_signs(proposed: Repo) -> None:
    script = """
    call append(0, 'typed')
    call Do('BoocodePropose .git/edits')
    let seen = Report()
    """
    seen = vim(proposed, script, PATH)
    assert seen["messages"] == [f"proposed {PATH}"]
    assert seen["signs"] == [[3, "~"], [7, "+"], [9, "-"]]
    assert (seen["lines"], seen["modified"]) == (["typed", *WORDS], 1)
    assert proposed.read(PATH).decode() == TEXT


def test_accept_a_hunk_in_an_unsaved_buffer(proposed: Repo) -> None:
    script = """
    call append(0, 'typed')
    call Do('BoocodePropose .git/edits')
    3mark a
    call cursor(3, 1)
    call Do('BoocodeAcceptHunk')
    let seen = Report()
    """
    seen = vim(proposed, script, PATH)
    assert seen["lines"] == ["typed", "one", "TWO", *WORDS[2:]]
    assert (seen["signs"], seen["mark"], seen["modified"]) == ([[7, "+"], [9, "-"]], 3, 1)
    assert seen["messages"][1:] == [f"accepted a hunk of {PATH}"]
    assert proposed.read(PATH).decode() == TEXT


@pytest.mark.parametrize("is_modified", [True, False])
def test_a_file_is_accepted(proposed: Repo, is_modified: bool) -> None:
    script = f"""
    call Do('BoocodePropose .git/edits')
    10mark a
    let &modified = {int(is_modified)}
    call Do('BoocodeAccept')
    let seen = Report()
    """
    seen = vim(proposed, script, PATH)
    assert (seen["lines"], seen["signs"], seen["mark"]) == (CHANGED, [], 10)
    assert seen["modified"] == is_modified
    assert proposed.read(PATH).decode().split() == (WORDS if is_modified else CHANGED)


def test_discard_a_hunk_and_then_all(proposed: Repo) -> None:
    script = """
    call Do('BoocodePropose .git/edits')
    2
    call Do('BoocodeDiscardHunk')
    let first = Report()
    call Do('BoocodeDiscardAll')
    let seen = Report({'first': first})
    """
    seen = vim(proposed, script, PATH)
    assert seen["first"]["signs"] == [[6, "+"], [8, "-"]]
    assert (seen["signs"], seen["lines"]) == ([], WORDS)


def test_a_hunk_that_was_not_shown_is_not_accepted(proposed: Repo) -> None:
    assert proposed.boocode("propose", ".git/edits").code == 0
    script = """
    2
    call Do('BoocodeAcceptHunk')
    let first = Report()
    call Do('BoocodeAcceptHunk')
    10
    call Do('BoocodeAcceptHunk')
    let seen = Report({'first': first})
    """
    seen = vim(proposed, script, PATH)
    assert (seen["first"]["lines"], len(seen["first"]["signs"])) == (WORDS, 3)
    assert seen["lines"][1] == "TWO"
    assert seen["messages"] == [
        "look at the signs first, then run the command again",
        f"accepted a hunk of {PATH}",
        "nothing is proposed for line 10",
    ]


def test_other_changes_are_merged_on_request(proposed: Repo) -> None:
    script = """
    call Do('BoocodePropose .git/edits')
    call setline(10, 'typed')
    call Do('BoocodeAccept --merge')
    let seen = Report()
    """
    assert vim(proposed, script, PATH)["lines"] == [*CHANGED[:-1], "typed"]


def test_a_conflict_is_refused_and_an_unknown_option_too(proposed: Repo) -> None:
    script = """
    let g:BoocodeSelect = {title, rows, Choose -> Choose(-1)}
    call Do('BoocodePropose .git/edits')
    call setline(2, 'typed')
    call Do('BoocodeAccept')
    call Do('BoocodeAccept -x')
    call Do('BoocodeDiscard -n')
    let seen = Report()
    """
    seen = vim(proposed, script, PATH)
    assert seen["lines"] == ["one", "typed", *WORDS[2:]]
    assert seen["messages"][-2:] == ["unknown option '-x'", "unknown option '-n'"]
    assert len(seen["signs"]) == 3


def test_the_next_steps_of_a_conflict_are_offered(proposed: Repo) -> None:
    script = """
    let shown = []
    let g:BoocodeSelect = {title, rows, Choose -> empty(add(g:shown, rows)) ? 0 : Choose(0)}
    call Do('BoocodePropose .git/edits')
    call setline(2, 'typed')
    call Do('BoocodeAccept')
    let seen = Report({'shown': shown})
    """
    seen = vim(proposed, script, PATH)
    assert [rows[0] for rows in seen["shown"]] == [
        "merges the proposal with your changes",
        "writes both versions with conflict markers",
    ]
    markers = ["<<<<<<< local", "typed", "=======", "TWO", ">>>>>>> proposal"]
    assert seen["lines"][1:6] == markers


def test_the_hunks_are_listed_and_walked(proposed: Repo) -> None:
    other = {"path": "new", "content": "made\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    script = """
    call Do('BoocodePropose .git/edits')
    1
    let walked = []
    for command in ['Next', 'Next', 'Next', 'Previous', 'Next 2', 'Next']
      call Do('Boocode' .. command)
      call add(walked, line('.'))
    endfor
    call Do('BoocodeList')
    let list = map(getqflist(), '[fnamemodify(bufname(v:val.bufnr), ":t"), v:val.lnum, v:val.text]')
    cclose
    edit new
    let new = Report().signs
    buffer 1
    call Do('BoocodeAcceptAll')
    let seen = Report({'list': list, 'walked': walked, 'new': new})
    """
    seen = vim(proposed, script, PATH)
    name = Path(PATH).name
    in_file = [[name, 2, "M +TWO"], [name, 6, "M +new"], [name, 8, "M -eight"]]
    assert sorted(seen["list"]) == sorted([*in_file, ["new", 1, "A +made"]])
    assert (seen["walked"], seen["new"]) == ([2, 6, 8, 6, 8, 8], [[1, "+"]])
    assert (proposed.read("new"), seen["lines"]) == (b"made\n", CHANGED)
    assert "no more hunks in this file; :BoocodeList lists all" in seen["messages"]


def test_the_window_of_a_comparison_cleans_up_and_acts_on_its_file(proposed: Repo) -> None:
    script = """
    call Do('BoocodePropose .git/edits')
    call Do('BoocodeDiff')
    let diffs = [&diff]
    wincmd p
    let output = getline(1, '$')
    2
    call Do('BoocodeAcceptHunk')
    close
    sleep 50m
    let seen = Report({'diffs': diffs + [&diff], 'output': output, 'windows': winnr('$')})
    """
    seen = vim(proposed, script, PATH)
    assert (seen["output"], seen["diffs"], seen["windows"]) == (CHANGED, [1, 0], 1)
    assert (seen["lines"][1], len(seen["signs"])) == ("TWO", 2)


def test_undo_and_redo_take_the_buffer_along(proposed: Repo) -> None:
    script = """
    call append('$', 'typed')
    call Do('BoocodePropose .git/edits')
    call Do('BoocodeAccept')
    call Do('BoocodeUndo')
    let undone = Report()
    call Do('BoocodeRedo')
    let seen = Report({'undone': undone})
    """
    seen = vim(proposed, script, PATH)
    assert seen["undone"]["lines"] == [*WORDS, "typed"]
    assert len(seen["undone"]["signs"]) == 3
    assert (seen["lines"], seen["signs"]) == ([*CHANGED, "typed"], [])


def test_u_gives_an_accepted_hunk_back(proposed: Repo) -> None:
    script = """
    call append('$', 'typed')
    call Do('BoocodePropose .git/edits')
    2
    call Do('BoocodeAcceptHunk')
    silent undo
    doautocmd TextChanged
    let back = Report()
    silent redo
    doautocmd TextChanged
    let seen = Report({'back': back})
    """
    seen = vim(proposed, script, PATH)
    assert (seen["back"]["lines"], len(seen["back"]["signs"])) == ([*WORDS, "typed"], 3)
    assert (seen["lines"][1], len(seen["signs"])) == ("TWO", 2)
    what = f"a hunk of {PATH}"
    assert seen["messages"][-2:] == [f"{what} is proposed again", f"accepted {what}"]


_STOPPING = """
let g:server = job_info(filter(job_info(), 'job_status(v:val) ==# "run"')[0]).process
function Stop()
  call system('kill -STOP -' .. g:server)
endfunction
function GoOn()
  call system('kill -CONT -' .. g:server)
endfunction
"""


def test_no_command_waits_and_what_is_typed_meanwhile_is_kept(proposed: Repo) -> None:
    other = {"path": "other", "content": "new\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    script = f"""
    call append('$', 'unsaved')
    call Do('BoocodePropose .git/edits')
    {_STOPPING}
    call Stop()
    let start = reltime()
    BoocodeAcceptAll
    let seconds = reltimefloat(reltime(start))
    sleep 100m
    call setline(2, 'typed')
    call GoOn()
    let seen = Report({{'seconds': seconds}})
    """
    seen = vim(proposed, script, PATH)
    assert seen["seconds"] < 1
    # The line is one of the proposal's, so that nothing at all is accepted.
    assert seen["lines"] == ["one", "typed", *WORDS[2:], "unsaved"]
    assert not (proposed.top / "other").exists()


@pytest.mark.parametrize("milliseconds", [0, 25, 33, 60])
def test_what_is_typed_meanwhile_is_kept_and_all_or_nothing_is_accepted(
    proposed: Repo, milliseconds: int
) -> None:
    """Somebody types before, while and after the server computes and writes."""
    other = {"path": "other", "content": "new\n"}
    proposed.write(".git/edits", json.dumps([*json.loads(three_edits()), other]))
    script = f"""
    call append('$', 'unsaved')
    call Do('BoocodePropose .git/edits')
    call timer_start({milliseconds}, {{-> append('$', 'typed')}})
    call Do('BoocodeAcceptAll')
    sleep 100m
    let first = getline(2)
    call Do('BoocodeAcceptAll --merge')
    let seen = Report({{'first': first}})
    """
    seen = vim(proposed, script, PATH)
    # What was refused or taken back at first is accepted then.
    assert seen["lines"] == [*CHANGED, "unsaved", "typed"], seen["messages"]
    assert proposed.read("other") == b"new\n"
    _, *said = seen["messages"]
    assert said.count("accepted 2 files") == 1
    assert said.index("accepted 2 files") == (0 if seen["first"] == "TWO" else 1)


def test_a_request_is_cancelled_and_a_server_that_hangs_is_ended(proposed: Repo) -> None:
    script = f"""
    call Do('BoocodePropose .git/edits')
    {_STOPPING}
    call Stop()
    BoocodeSigns
    BoocodeCancel
    call GoOn()
    call Do('BoocodeCancel')
    call Do('BoocodeSigns')
    call Stop()
    BoocodeDiscard
    BoocodeCancel
    BoocodeCancel!
    call Do('BoocodeSigns')
    let seen = Report()
    """
    seen = vim(proposed, script, PATH)
    assert seen["messages"][1:] == [
        "cancelled; nothing was changed",
        "there is nothing to cancel",
        "discard has begun; :BoocodeUndo takes it back, :BoocodeCancel! ends the server",
        "the server was ended; :BoocodeStatus shows what is proposed",
    ]
    assert len(seen["signs"]) == 3


def on_a_terminal(repo: Repo, command: str, steps: Iterable[tuple[str, str]], *files: str) -> Any:
    """Vim on a terminal: run a command, and type keys when a text is on the screen.

    Of several texts, with `|` between, all have to be. Returns what is to be seen at the end.
    """
    out = repo.top / ".git/seen"
    program = repo.write(".git/script.vim", _PRELUDE)
    options = f"set runtimepath^={CLIENT} encoding=utf-8 nomore shortmess+=I"
    terminal = Terminal(
        *(VIM, "-u", "NONE", "-i", "NONE", "-n", "-N", "--cmd", options),
        *("-c", "runtime plugin/boocode.vim", "-c", f"source {program}", "--", *files),
        env={"SEEN": str(out), "LC_ALL": "C.UTF-8", "TERM": "linux"},
        size=(100, 40),
    )
    for text, keys in chain([("", f":{command}\r")], steps):
        terminal.see(*text.split("|"))
        terminal.type(keys)
    # Vim forgets what is typed too early.
    terminal.wait_until(lambda shown: "ancel:" not in shown and "Restore:" not in shown)
    terminal.type(":call writefile([json_encode(Report())], $SEEN)\r:qa!\r")
    assert terminal.end()[0] == 0
    seen = json.loads(out.read_text())
    seen["screen"] = terminal.everything
    return seen


def test_a_restore_shows_what_changes_and_asks(
    changed: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(changed.top)
    before = changed.read("a")
    steps = [("codex", "\r"), ("[C]ancel", "c")]
    seen = on_a_terminal(changed, "BoocodeRestore", steps, "a")
    assert (changed.read("a"), seen["messages"]) == (before, [])
    question = seen["screen"]
    for text in ("Restore files? change them", "before this turn: 2 files", "modify a  +"):
        assert text in question
    assert ":BoocodeUndo takes it back." in question

    steps = [("codex", "\r"), ("[C]ancel", "d"), ("+TWO|[C]ancel", "b"), ("restored 2 files", "")]
    seen = on_a_terminal(changed, "BoocodeRestore", steps, "a")
    assert (seen["lines"], changed.read("b")) == (WORDS, b"one\n")
    assert seen["messages"] == ["restored 2 files; :BoocodeUndo takes it back"]


def test_files_are_restored_to_after_a_turn(changed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(changed.top)
    after = changed.read("a").decode()
    changed.boocode("checkpoint", "-m", "later")
    changed.write("a", after.replace("TWO", "later"))
    steps = [("codex", "j\r"), ("after this turn: 1 file", "a"), ("restored a", "")]
    seen = on_a_terminal(changed, "BoocodeRestore", steps, "a")
    assert seen["lines"] == after.splitlines()
    assert (changed.read("a").decode(), changed.read("b")) == (after, b"two\n")
    changed.write("a", after.replace("TWO", "later"))
    steps = [("codex", "j\r"), ("(Y)es", "y"), ("restored a hunk", "")]
    seen = on_a_terminal(changed, "2 | BoocodeRestoreHunk --after", steps, "a")
    assert seen["lines"] == after.splitlines()


def test_what_was_not_shown_is_not_restored(changed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(changed.top)

    def steps() -> Iterator[tuple[str, str]]:
        yield "codex", "\r"
        yield "Restore files?|[C]ancel", ""
        changed.write("later", "later\n")
        yield "", "b"
        yield "look at it again", "\r"
        assert changed.read("later") == b"later\n"
        yield "delete later|[C]ancel", "b"

    on_a_terminal(changed, "BoocodeRestore", steps(), "a")
    assert not (changed.top / "later").exists()


def test_a_menu_may_be_left(changed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(changed.top)
    seen = on_a_terminal(changed, "BoocodeRestore", [("codex", "x")], "a")
    assert (seen["messages"], changed.read("b")) == ([], b"two\n")


def test_a_file_and_a_hunk_are_restored(changed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(changed.top)
    steps = [("codex", "\r"), ("(Y)es", "y"), ("restored a hunk", "")]
    seen = on_a_terminal(changed, "2 | BoocodeRestoreHunk", steps, "a")
    assert seen["lines"][:5] == ["one", "two", "three", "four", "six"]
    steps = [("codex", "\r"), ("[C]ancel", "b"), ("restored a;", "")]
    seen = on_a_terminal(changed, "BoocodeRestoreFile --files-only", steps, "a")
    assert (seen["lines"], changed.read("b")) == (WORDS, b"two\n")


def test_a_turn_is_taken_back_beside_what_was_typed(
    changed: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(changed.top)
    before = changed.read("a")
    changed.boocode("checkpoint", "-m", "later")
    changed.write("b", "three\n")
    steps = [("codex", "j\r"), ("by turn", "\r"), ("(Y)es", "y"), ("took back 2 files", "")]
    seen = on_a_terminal(changed, "call append(0, 'typed') | BoocodeRevert", steps, "a")
    assert (seen["lines"], seen["modified"]) == (["typed", *WORDS], 1)
    assert (changed.read("a"), changed.read("b")) == (before, b"one\n")


def test_a_turn_that_was_taken_back_is_picked(
    changed: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(changed.top)
    after = changed.read("a")
    assert changed.boocode("revert", "label:change them").code == 0
    steps = [("codex", "\r"), ("Do here what this turn did?|(Y)es", "y"), ("picked 2 files", "")]
    seen = on_a_terminal(changed, "BoocodePick", steps, "a")
    assert "\n".join(seen["lines"]) + "\n" == after.decode()
    assert (changed.read("a"), changed.read("b")) == (after, b"two\n")


def test_unsaved_files_are_not_restored(changed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(changed.top)
    steps = [("codex", "\r"), ("[C]ancel", "b"), ("a would change", "")]
    seen = on_a_terminal(changed, "call append(0, 'typed') | BoocodeRestore", steps, "a")
    assert seen["messages"] == ["write the buffer first: a would change"]
    assert changed.read("b") == b"two\n"


def test_u_on_a_terminal_gives_an_accepted_hunk_back(
    proposed: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(proposed.top)
    steps = [
        ("proposed with", ":2 | BoocodeAcceptHunk\r"),
        ("accepted a hunk", "u"),
        ("is proposed again", "\x12"),
        ("accepted a hunk", ""),
    ]
    command = "call append('$', 'typed') | BoocodePropose .git/edits"
    seen = on_a_terminal(proposed, command, steps, PATH)
    assert (seen["lines"][1], len(seen["signs"])) == ("TWO", 2)
    what = f"a hunk of {PATH}"
    assert seen["messages"][-2:] == [f"{what} is proposed again", f"accepted {what}"]


def test_the_list_of_turns_shows_what_each_did(changed: Repo) -> None:
    changed.boocode("checkpoint", "-m", "second")
    changed.write("b", "three\n")
    script = """
    call Do('BoocodeLog')
    let rows = getline(1, '$')
    call feedkeys("\\<CR>", 'xt')
    call boocode#Wait()
    let first = getbufline('boocode://turn', 1, '$')
    3
    doautocmd CursorMoved
    call boocode#Wait()
    let second = getbufline('boocode://turn', 1, '$')
    call system('git boocode restore "label:change them"')
    call Do('BoocodeLog')
    2
    let restored = getline(1, '$')
    call Do('BoocodeUndo')
    let seen = Report({'rows': rows, 'first': first, 'second': second, 'restored': restored})
    """
    seen = vim(changed, script, "a")
    here, newest, oldest = seen["rows"]
    assert here.strip() == "you are here: after this turn"
    assert newest.endswith("  second")
    assert oldest.endswith("  change them")
    assert "codex" in oldest
    assert (seen["first"][0], "+three" in seen["first"]) == ("second", True)
    assert (seen["second"][0], "+TWO" in seen["second"]) == ("change them", True)
    assert seen["restored"][2].strip() == "you are here: before this turn"
    # The list says where the files are now, and the cursor stays.
    assert (seen["lines"], seen["cursor"]) == (seen["rows"], [3, 1])


def test_older_turns_are_listed_on_request(repo: Repo) -> None:
    repo.commit(a="a\n")
    for number in range(51):
        take(label=f"turn {number}")
    script = """
    call Do('BoocodeLog')
    normal! G
    let first = getline(1, '$')
    call feedkeys("\\<CR>", 'xt')
    let seen = Report({'first': first})
    """
    seen = vim(repo, script, "a")
    assert (len(seen["first"]), seen["first"][-1]) == (52, "older turns…")
    assert (len(seen["lines"]), seen["lines"][-1].split()[-1]) == (52, "0")


def test_a_hunk_that_another_program_proposed_meanwhile_is_not_accepted(proposed: Repo) -> None:
    edit = json.dumps({"path": PATH, "old_string": "one", "new_string": "unseen"})
    proposed.write(".git/other", edit)
    script = """
    call Do('BoocodePropose .git/edits')
    call system('git boocode propose .git/other')
    2
    call Do('BoocodeAcceptHunk')
    let first = getline(1, '$')
    call Do('BoocodeAccept')
    let seen = Report({'first': first})
    """
    seen = vim(proposed, script, PATH)
    assert (seen["first"], seen["lines"]) == (WORDS, ["unseen", *CHANGED[1:]])
    assert seen["messages"][1] == "the proposal has changed since you looked at it"


def test_what_another_program_proposes_is_shown_on_request(proposed: Repo) -> None:
    script = """
    let g:boocode_watch = v:true
    call Do('BoocodeSigns')
    call system('git boocode propose .git/edits')
    let tries = 0
    while len(Report().signs) < 3 && tries < 200
      sleep 100m
      let tries += 1
    endwhile
    let seen = Report()
    """
    seen = vim(proposed, script, PATH)
    assert (len(seen["signs"]), seen["messages"]) == (3, [])


def test_an_answer_fits_the_text_that_was_asked_about(proposed: Repo) -> None:
    script = """
    call Do('BoocodeAsk Shout')
    call Do('BoocodeStatus')
    call setline(2, 'two, typed')
    call Do('BoocodePropose .git/edits')
    call Do('BoocodeStatus')
    let seen = Report()
    """
    seen = vim(proposed, script, PATH)
    assert seen["messages"][1:3] == ["nothing is proposed", "a turn is running: Shout"]
    assert seen["messages"][-2:] == [f"proposed {PATH}", f"~M {PATH}"]
    assert proposed.boocode("turn", "status").code == 1
    assert proposed.boocode("log", "--json").json["checkpoints"][0]["label"] == "Shout"


def test_a_refused_answer_is_tried_again(proposed: Repo) -> None:
    proposed.write(".git/wrong", json.dumps({"path": PATH, "old_string": "none", "new_string": ""}))
    script = """
    call Do('BoocodePropose .git/wrong')
    let refused = boocode#Refused()
    call Do('BoocodePropose! .git/edits')
    let seen = Report({'id': refused.id})
    """
    seen = vim(proposed, script, PATH)
    stored = proposed.git("for-each-ref", "--format=%(contents:body)", "refs/boocode/proposals")
    assert json.loads(stored)["retry_of"] == seen["id"]


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
    script = """
    set nofixendofline
    call setline(1, 'typed')
    call Do('BoocodePropose .git/edits')
    2
    call Do('BoocodeAcceptHunk')
    let seen = Report()
    silent write
    """
    seen = vim(repo, script, "a")
    assert len(seen["messages"]) == 2, seen["messages"]
    expected = before.replace("one", "typed").replace("two", f"TWO{ending}new").encode()
    assert repo.read("a") == expected


@pytest.mark.slow
def test_a_buffer_of_another_encoding_is_not_overwritten(repo: Repo) -> None:
    text = "grüße\ntwo\n3\n4\n"
    repo.write("a", text.encode("latin-1"))
    repo.commit()
    repo.write(".git/edits", json.dumps({"path": "a", "old_string": "two", "new_string": "2"}))
    script = """
    set fileencodings=utf-8,latin1
    edit!
    call Do('BoocodePropose .git/edits')
    call append(4, 'mine')
    call Do('BoocodeAccept --overwrite')
    let seen = Report()
    silent write
    """
    seen = vim(repo, script, "a")
    assert "save the buffer in the editor" in str(seen["messages"])
    assert repo.read("a") == f"{text}mine\n".encode("latin-1")


@pytest.mark.parametrize(("before", "after"), [("one\n", "one"), ("one", "one\n"), ("one\n", "")])
def test_a_final_newline_comes_and_goes(repo: Repo, before: str, after: str) -> None:
    repo.commit(a=before)
    repo.write(".git/edits", json.dumps({"path": "a", "content": after}))
    script = """
    set nofixendofline
    call Do('BoocodePropose .git/edits')
    set modified
    call Do('BoocodeAccept')
    let seen = Report()
    silent write
    """
    assert vim(repo, script, "a")["lines"] == [after.strip()]
    assert repo.read("a").decode() == after


def test_outside_of_a_repository_and_without_a_file(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    script = "call Do('BoocodeSigns')\nlet seen = Report()"
    seen = vim(repo, script, "a", cwd=tmp_path)
    assert seen["messages"] == [f"{os.path.realpath(tmp_path)} is not in a worktree of git"]
    seen = vim(repo, script)
    assert seen["messages"] == [f"this buffer is not a file of {repo.top}/"]


def test_git_boocode_is_missing(proposed: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = proposed.top / ".git/tools"
    tools.mkdir()
    for tool in ("git", VIM, "sh"):
        found = shutil.which(tool)
        assert found is not None
        (tools / Path(tool).name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    seen = vim(proposed, "call Do('BoocodeSigns')\nlet seen = Report()", PATH)
    assert seen["messages"] == ["git boocode gave no answer; is it in PATH?"]


def test_a_server_that_ended_is_started_again(proposed: Repo) -> None:
    script = f"""
    call Do('BoocodePropose .git/edits')
    {_STOPPING}
    call system('kill -' .. g:server)
    sleep 500m
    call Do('BoocodeSigns')
    let seen = Report()
    """
    assert len(vim(proposed, script, PATH)["signs"]) == 3


def test_commands_of_the_command_line(proposed: Repo) -> None:
    subprocess.run(
        [
            *(VIM, "-u", "NONE", "-i", "NONE", "-n", "-N", "--not-a-term"),
            *("--cmd", f"set runtimepath^={CLIENT} encoding=utf-8"),
            *("-c", "runtime plugin/boocode.vim"),
            *("-c", "BoocodePropose .git/edits", "-c", "BoocodeAccept"),
            *("-c", "call boocode#Wait()", "-c", "qa!", "--", PATH),
        ],
        cwd=proposed.top,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert proposed.read(PATH).decode().split() == CHANGED


def test_it_is_a_package(proposed: Repo, tmp_path: Path) -> None:
    package = tmp_path / "pack/boocode/opt/boocode"
    package.parent.mkdir(parents=True)
    shutil.copytree(CLIENT, package)
    out = tmp_path / "out"
    subprocess.run(
        [
            *(VIM, "-u", "NONE", "-i", "NONE", "-N", "-es", "--not-a-term"),
            *("--cmd", f"set packpath^={tmp_path}", "-c", "packadd boocode", "-c", "helptags ALL"),
            *("-c", f"call writefile(getcompletion('boocode-', 'help'), '{out}')"),
            *("-c", f"call writefile([exists(':BoocodePropose')], '{out}', 'a')", "-c", "qa!"),
        ],
        cwd=proposed.top,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    *pages, exists = out.read_text().split()
    assert (len(pages) >= 7, exists) == (True, "2")
