"""`git boocode restore` without a checkpoint, on a terminal that can show more than lines."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable

import pytest

from git_boocode.repo.ids import new_id
from tests.checkpoints.kit import Host, seen, take
from tests.repo_kit import Repo
from tests.terminal_kit import Terminal

pytestmark = pytest.mark.slow

UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
PAGE_DOWN, HOME, END = "\x1b[6~", "\x1b[H", "\x1b[F"
ESCAPE, ENTER, BACKSPACE, CTRL_C, CTRL_D = "\x1b", "\r", "\x7f", "\x03", "\x04"
CONFIRM = "restore this? [y/N]"
SIZES = [(80, 24), (200, 60), (40, 10)]
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?3[0-7](?:;[0-9;]*)?m")


@pytest.fixture
def turns(repo: Repo) -> Repo:
    """Three turns, of which the second changed two files, and the last one."""
    repo.commit(a="0\n")
    take(label="first", agent="claude-code")
    take(label="second", agent="cursor", session="s-42")
    repo.write("a", "1\n")
    repo.write("b", "b\n")
    take(label="third")
    repo.write("a", "2\n")
    return repo


def picker(*arguments: str, size: tuple[int, int] = (80, 24), **env: str) -> Terminal:
    """A picker that shows its rows."""
    terminal = Terminal("git-boocode", "restore", *arguments, size=size, env=env)
    terminal.see("> @")
    return terminal


def many_turns(repo: Repo, count: int) -> None:
    """Turns that changed nothing."""
    commit = take(label="one of many").commit.id
    names = (f"refs/boocode/checkpoints/{new_id()}" for _ in range(count - 1))
    repo.git("update-ref", "--stdin", stdin="".join(f"create {name} {commit}\n" for name in names))


def left(terminal: Terminal, code: int = 1) -> str:
    """A program that ends with a code, and leaves a terminal in order; returns what it said."""
    ended, shown = terminal.end()
    assert (ended, terminal.was_left_raw) == (code, False)
    return shown


@pytest.mark.parametrize("size", SIZES)
def test_a_turn_is_picked_shown_and_restored(turns: Repo, size: tuple[int, int]) -> None:
    terminal = picker(size=size)
    terminal.type(DOWN)
    # On a narrow terminal there is no room for lines.
    lines = ["+2 −1"] if size[0] > 40 else []
    display = terminal.see("> @~1", "s-42", "2 files", *lines)
    assert "Enter restore before  ? help  Esc quit" in display
    assert lines or "+2 −1" not in display
    terminal.type(ENTER)
    preview = terminal.wait_for(CONFIRM)
    assert "M\x1b[m a\r\n" in preview
    assert "would restore 2 files" in preview
    terminal.type("y\n")
    assert "restored 2 files" in left(terminal, 0)
    assert turns.read("a") == b"0\n"
    assert not (turns.top / "b").exists()


@pytest.mark.parametrize("size", SIZES[:2])
def test_the_preview_shows_prompt_agent_and_diff(turns: Repo, size: tuple[int, int]) -> None:
    turns.write("c", "".join(f"line {number}\n" for number in range(200)))
    terminal = picker(size=size)
    terminal.see("third", "+++ b/a", "-1", "+2")
    terminal.type(RIGHT * 20)
    terminal.see("+line 199")
    terminal.type(LEFT * 20)
    terminal.see("+++ b/a")
    terminal.type(DOWN)
    display = terminal.see("second", "cursor", "session s-42", "b | 1 +")
    assert "line 199" not in display
    terminal.type(ESCAPE)
    left(terminal)


def test_the_whole_prompt_is_filtered_and_previewed(turns: Repo) -> None:
    prompt = "Fix the parser\n\n- of dates\n" + "ü" * 60_000 + "\nlast\n" * 20
    take(label="Fix the parser …", prompt=prompt)
    take(label="newest")
    terminal = picker()
    terminal.type("OF DATES")
    terminal.see("(1 found)", "> @~1", "\n- of dates\n")
    terminal.type(RIGHT)
    terminal.see("… and more: 'git boocode show' prints it whole")
    terminal.type(ESCAPE + ESCAPE)
    left(terminal)


def test_what_is_typed_filters(turns: Repo) -> None:
    terminal = picker()
    terminal.type("CURSO")
    display = terminal.see("filter: CURSO_  (1 found)", "> @~1", "b | 1 +")
    assert "> @ " not in display
    terminal.type(BACKSPACE * 5)
    terminal.see("Restore the state before which turn? (3)")
    terminal.type("nothing like it")
    terminal.see("no turn matches")
    terminal.type(ENTER + ESCAPE)
    terminal.see("Restore the state before which turn? (3)")
    terminal.type("d")
    terminal.see("filter: d_")
    terminal.type("Q")
    terminal.see("filter: dQ_")
    terminal.type(ESCAPE)
    terminal.see("Restore the state")
    terminal.type(ESCAPE)
    assert "nothing was changed" in left(terminal)


def test_what_is_pasted_is_no_command(turns: Repo) -> None:
    terminal = picker()
    terminal.type("\x1b[200~q\r\ny\x1b[31m\x1b[201~")
    terminal.see("filter: q")
    terminal.type(CTRL_C)
    left(terminal, 130)


def test_all_of_many_turns_are_there(repo: Repo) -> None:
    repo.commit(a="a\n")
    many_turns(repo, 300)
    terminal = picker()
    terminal.type(PAGE_DOWN)
    assert "+)" in terminal.see("> @~8 ")
    terminal.type(PAGE_DOWN * 10)
    terminal.see("> @~88 ")
    terminal.type(END)
    terminal.see("> @~299", "(300)")
    terminal.type(HOME + UP)
    terminal.see("> @ ")
    terminal.type("@~173")
    terminal.see("filter: @~173_  (1 found)", "> @~173")
    terminal.type(CTRL_C)
    left(terminal, 130)


def test_a_filter_reads_until_it_finds(repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="the oldest")
    many_turns(repo, 200)
    terminal = picker()
    terminal.type("oldest")
    terminal.see("(1 found)", "> @~200")
    terminal.type(CTRL_C)
    left(terminal, 130)


def test_with_paths_only_these_count(turns: Repo) -> None:
    terminal = picker("--", "b")
    display = terminal.see("1 file ", "+++ b/b")
    assert re.search(r"> @~1 .* 1 file ", display)
    assert not re.search(r"^..(@ |@~2)|b/a", display, re.MULTILINE)
    terminal.type(ENTER)
    assert "would restore 1 file to" in terminal.wait_for(CONFIRM)
    terminal.type("y\n")
    left(terminal, 0)
    assert turns.read("a") == b"2\n"
    assert not (turns.top / "b").exists()


# The diff in the pager.


def test_the_diff_goes_to_the_pager(turns: Repo) -> None:
    pager = "cat >.git/paged; trap '' INT; echo IN THE PAGER; read line </dev/tty; sleep 0.5"
    terminal = picker(GIT_PAGER=pager, NO_COLOR="1")
    terminal.type(CTRL_D)
    terminal.wait_for("IN THE PAGER")
    # Which is for the pager.
    terminal.interrupt()
    terminal.type("\n")
    terminal.wait_for("Restore the state")
    assert b"-1\n+2\n" in turns.read(".git/paged")
    terminal.type("ir" + DOWN)
    terminal.see("filter: ir_  (2 found)", "> @~2")
    terminal.type(UP)
    terminal.type(CTRL_D)
    terminal.wait_for("IN THE PAGER")
    terminal.type("\n")
    terminal.wait_for("filter: ir")
    terminal.type(CTRL_C)
    left(terminal, 130)


def test_a_pager_that_does_not_wait_is_read(turns: Repo) -> None:
    terminal = picker(GIT_PAGER="cat", NO_COLOR="1")
    terminal.type(CTRL_D)
    assert "-1\r\n+2\r\n" in terminal.wait_for("press Enter to go back to the list")
    terminal.type("\n")
    terminal.wait_for("Restore the state")
    terminal.type(ESCAPE)
    left(terminal)


# What the terminal can do.


def test_without_colour(turns: Repo) -> None:
    terminal = picker()
    terminal.see("+++ b/a")
    assert COLOUR.search(terminal.shown)
    terminal.type(ESCAPE)
    left(terminal)
    for terminal in (picker(NO_COLOR="1"), picker("--no-color")):
        terminal.see("+++ b/a")
        assert not COLOUR.search(terminal.shown)
        terminal.type(ESCAPE)
        left(terminal)


def test_wide_and_combining_characters(repo: Repo) -> None:
    repo.commit(a="a\n")
    take(label="日本語の長いラベル" * 10, agent="claude-code")
    take(label="e\u0301" * 100, agent="claude-code")
    terminal = picker()
    display = terminal.see("日本語", "no changes")
    first = next(n for n, line in enumerate(terminal.screen.display) if "> @" in line)
    narrow, wide = (terminal.screen.buffer[line] for line in (first, first + 1))
    # The ellipses are in the last columns.
    assert "…" in narrow[78].data + narrow[79].data
    assert "…" in wide[78].data + wide[79].data
    assert "─" * 80 in display
    terminal.type(DOWN)
    terminal.see("> @~1", "日本語の長いラベル日本語")
    terminal.type("ラベル")
    terminal.see("(1 found)")
    terminal.type(CTRL_C)
    left(terminal, 130)


def test_hostile_text_steers_nothing(repo: Repo) -> None:
    repo.commit(a="a\n")
    bell = "\x1b]0;title\x07\x1b[2J\u202e\x9b2J\r\x01"
    take(label=f"label{bell}", agent=f"agent{bell}", session=f"session{bell}")
    repo.write(f"file{bell}", f"content{bell}end\n")
    repo.write("binary", b"\xff\x00\x1b]0;title\x07")
    repo.write("a", b"\xff\x9b2J\x1b]0;title\x07\n")
    terminal = picker()
    terminal.see("--- a/a")
    terminal.type(RIGHT * 5)
    terminal.see("content^[]0;title^G^[[2J??2J^M^Aend")
    terminal.type(ENTER)
    terminal.wait_for(CONFIRM)
    assert "\x1b]0" not in terminal.everything
    assert "\x1b[2J" not in terminal.everything
    assert not re.search("[\x07\x01\u202e\x9b]", terminal.everything)
    terminal.type("\n")
    left(terminal)


@pytest.mark.parametrize(("size", "term"), [((80, 24), "dumb"), ((80, 5), "xterm")])
def test_a_simple_terminal_is_asked_for_a_number(
    turns: Repo, size: tuple[int, int], term: str
) -> None:
    terminal = Terminal("git-boocode", "restore", size=size, env={"TERM": term})
    terminal.wait_for("[0-2, empty for none]")
    terminal.type("\n")
    assert "nothing was changed" in left(terminal)


def test_without_its_library_a_number_is_asked_for(turns: Repo) -> None:
    program = (
        "import sys; sys.modules['prompt_toolkit'] = None; sys.argv[1:] = ['restore'];"
        "from git_boocode.__main__ import program; program()"
    )
    terminal = Terminal(sys.executable, "-c", program, size=(80, 24))
    assert "prompt_toolkit" in terminal.wait_for("[0-2, empty for none]")
    terminal.type("\n")
    left(terminal)


def test_the_terminal_gets_another_size(turns: Repo) -> None:
    terminal = picker()
    terminal.resize(200, 60)
    terminal.see("│", "+++ b/a")
    for size in ((40, 10), (20, 4), (10, 2)):
        terminal.resize(*size)
    terminal.type(DOWN * 2)
    terminal.resize(80, 24)
    terminal.see("> @~2", "no changes")
    terminal.type(ESCAPE)
    left(terminal)


# Ways out.


@pytest.mark.parametrize("keys", ["x" + ESCAPE + "\0" + ESCAPE, ENTER + "n\n", ENTER + CTRL_D])
def test_a_no_changes_nothing(turns: Repo, keys: str) -> None:
    before = seen(turns)
    terminal = picker()
    for key in keys if not keys.startswith(ENTER) else [ENTER]:
        terminal.type(key)
    if keys.startswith(ENTER):
        terminal.wait_for(CONFIRM)
        terminal.type(keys[1:])
    assert "nothing was changed" in left(terminal)
    assert seen(turns) == before


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda terminal: terminal.type(CTRL_C), 130),
        (lambda terminal: terminal.interrupt(signal.SIGTERM), 143),
    ],
)
def test_an_interrupt_changes_nothing(
    turns: Repo, end: Callable[[Terminal], None], code: int
) -> None:
    before = seen(turns)
    terminal = picker()
    end(terminal)
    assert "Traceback" not in left(terminal, code)
    assert seen(turns) == before


def test_a_terminal_that_is_closed_ends_it(turns: Repo) -> None:
    before = seen(turns)
    assert picker().close() == 129
    assert seen(turns) == before


def test_a_preview_alone_asks_no_second_question(turns: Repo) -> None:
    before = seen(turns)
    terminal = picker("-n")
    terminal.type(END + ENTER)
    shown = left(terminal, 0)
    assert "would restore" in shown
    assert CONFIRM not in shown
    assert seen(turns) == before


def test_there_are_no_turns(repo: Repo) -> None:
    repo.commit(a="a\n")
    terminal = Terminal("git-boocode", "restore", size=(80, 24))
    assert "no checkpoints" in left(terminal, 129)


# Files, conversation or both.

SCOPE = "restore [f]iles, [c]onversation or [b]oth? (empty for none)"


@pytest.mark.parametrize(
    ("answer", "content", "events"),
    [
        ("f", b"0\n", []),
        ("c", b"2\n", ["prepare", "trim"]),
        ("both", b"0\n", ["prepare", "trim"]),
    ],
)
def test_files_or_conversation(turns: Repo, answer: str, content: bytes, events: list[str]) -> None:
    host = Host(turns)
    terminal = picker("--callback", host.path)
    terminal.type(DOWN + ENTER)
    terminal.wait_for(SCOPE)
    terminal.type(f"what?\n{answer}\n")
    again = terminal.wait_for(CONFIRM)
    assert "'what?' is not one of files, conversation and both" in again
    assert ("would restore the conversation to" in again) == (answer == "c")
    terminal.type("y\n")
    left(terminal, 0)
    assert (turns.read("a"), host.events) == (content, events)


def test_neither_files_nor_conversation(turns: Repo) -> None:
    host, before = Host(turns), seen(turns)
    terminal = picker("--callback", host.path)
    terminal.type(ENTER)
    terminal.wait_for(SCOPE)
    terminal.type("\n")
    assert "nothing was changed" in left(terminal)
    assert (seen(turns), host.events) == (before, [])


def test_there_is_no_conversation_to_choose(turns: Repo) -> None:
    turns.git("config", "boocode.callback", Host(turns).path)
    terminal = picker("--files-only")
    terminal.type(ENTER)
    assert SCOPE not in terminal.wait_for(CONFIRM)
    terminal.type("\n")
    left(terminal)


def test_hunks_of_a_turn_are_chosen(turns: Repo) -> None:
    terminal = picker()
    terminal.type(DOWN)
    terminal.see("> @~1")
    terminal.type("\t")
    terminal.wait_for("(1/1) Restore this hunk")
    terminal.type("n\n")
    terminal.wait_for("(1/1) Restore this change")
    terminal.type("y\n")
    assert "restored parts of 1 file" in left(terminal, 0)
    assert turns.read("a") == b"2\n"
    assert not (turns.top / "b").exists()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_turn_is_taken_back(repo: Repo, answer: str) -> None:
    repo.commit(a="0\n", b="0\n")
    take(label="first")
    repo.write("a", "1\n")
    take(label="second")
    repo.write("b", "1\n")
    terminal = picker()
    assert "Ctrl-R take back" in terminal.display
    terminal.type(DOWN)
    terminal.see("> @~1")
    terminal.type("\x12")
    terminal.wait_for("revert this? [y/N]")
    terminal.type(f"{answer}\n")
    left(terminal, 0 if answer == "y" else 1)
    assert repo.read("a") == (b"0\n" if answer == "y" else b"1\n")
    assert repo.read("b") == b"1\n"


DELETE, INSERT, CTRL_LEFT, CTRL_RIGHT = "\x1b[3~", "\x1b[2~", "\x1b[1;5D", "\x1b[1;5C"
CTRL_A, CTRL_F, CTRL_K, CTRL_R, CTRL_U, CTRL_W, CTRL_Y = "\x01\x06\x0b\x12\x15\x17\x19"


def test_words_and_paths_filter_in_any_order(repo: Repo) -> None:
    repo.commit(a="0\n")
    take(label="Fix the parser of dates", agent="gemini")
    repo.write("src/api/dates.py", "1\n")
    take(label="Document it", agent="claude-code")
    repo.write("docs/guide.md", "1\n")
    take(label="newest")
    terminal = picker()
    for typed, found in (("gemini parser", "> @~2"), ("src/api", "> @~2"), ("docs", "> @~1")):
        terminal.type(typed)
        terminal.see(f"filter: {typed}_  (1 found)", found)
        terminal.type(CTRL_U)
        terminal.see("Restore the state before which turn? (3)")
    terminal.type("guide document DATES")
    terminal.see("(0 found)", "no turn matches")
    terminal.type(CTRL_C)
    left(terminal, 130)


def test_keys_edit_the_filter(turns: Repo) -> None:
    terminal = picker()
    terminal.type("one two three" + INSERT + CTRL_LEFT + DELETE * 2)
    terminal.see("filter: one two ree")
    terminal.type(CTRL_W + "x")
    terminal.see("filter: one xree")
    terminal.type(HOME + DELETE + CTRL_RIGHT + "y ")
    terminal.see("filter: ne y xree")
    terminal.type(END + "z")
    terminal.see("filter: ne y xreez_  (0 found)")
    terminal.type(CTRL_U)
    terminal.see("(3)")
    terminal.type(ESCAPE)
    left(terminal)


@pytest.mark.parametrize("size", SIZES)
def test_the_label_keeps_half_of_the_width(repo: Repo, size: tuple[int, int]) -> None:
    repo.commit(a="a\n")
    take(label="x" * 300, agent="claude-code")
    repo.write("a", "line\n" * 12_345)
    take(label="newest", agent="gemini-cli")
    terminal = picker(size=size)
    terminal.type(DOWN)
    terminal.see("> @~1")
    row = next(line for line in terminal.screen.display if "> @~1" in line)
    least = (size[0] if size[0] < 150 else size[0] // 2) // 2
    assert row.count("x") + row.count("…") >= least
    assert "12,345" not in row or size[0] >= 150
    terminal.type(ESCAPE)
    left(terminal)


def test_ages_move_on(turns: Repo) -> None:
    terminal = picker()
    first = re.findall(r"\d+ s ago|just now", terminal.display)
    terminal.wait_until(lambda shown: re.findall(r"\d+ s ago|just now", shown) != first)
    terminal.type(ESCAPE)
    left(terminal)


def test_a_turn_is_restored_to_after(turns: Repo) -> None:
    terminal = picker()
    terminal.type(DOWN * 2 + CTRL_A)
    terminal.wait_for(CONFIRM)
    terminal.type("y\n")
    assert "git boocode undo" in left(terminal, 0)
    assert turns.read("a") == b"0\n"


@pytest.mark.parametrize("key", ["\r", CTRL_R])
def test_a_file_of_a_turn_is_chosen(turns: Repo, key: str) -> None:
    terminal = picker()
    terminal.type(DOWN)
    terminal.see("> @~1")
    terminal.type(CTRL_F)
    terminal.see("Which file of this turn? second", "> M a", "A b", "Esc back")
    terminal.type(DOWN)
    terminal.see("> A b", "+++ b/b")
    terminal.type(key)
    terminal.wait_for("this? [y/N]")
    terminal.type("y\n")
    left(terminal, 0)
    assert (turns.read("a"), (turns.top / "b").exists()) == (b"2\n", False)


def test_a_turn_that_was_taken_back_is_picked(turns: Repo) -> None:
    assert turns.boocode("revert", "@").code == 0
    assert turns.read("a") == b"1\n"
    terminal = picker()
    terminal.see("(reverted)", "Ctrl-K pick", "reverted the turn")
    terminal.type(CTRL_K)
    terminal.wait_for("pick this? [y/N]")
    terminal.type("y\n")
    left(terminal, 0)
    assert turns.read("a") == b"2\n"


def test_help_and_the_id(turns: Repo) -> None:
    terminal = picker(size=(40, 10))
    terminal.type("?")
    terminal.see("Keys", "Enter", "Esc back")
    terminal.type(END)
    terminal.see("edit the filter")
    terminal.type("?")
    terminal.see("> @ ")
    terminal.type(CTRL_Y)
    terminal.see("copied 01")
    assert "\x1b]52;c;" in terminal.everything
    terminal.type(ESCAPE)
    left(terminal)
