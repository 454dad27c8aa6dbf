"""How the picker divides the screen, and its texts: keys, title, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.layout import (
    AnyContainer,
    Dimension,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    VSplit,
    Window,
)
from prompt_toolkit.output import Output

from git_boocode.checkpoints.turn_changes import TurnFile
from git_boocode.cli.output import Style, quote_path
from git_boocode.cli.picker_filter import FilterLine
from git_boocode.cli.picker_list import FileList, PickerList
from git_boocode.cli.picker_preview import wrapped
from git_boocode.cli.turn_rows import Column, cut, display_width, fitted, turn_label, turn_lines

_WIDE = 150  # columns from which on the preview is beside the list
_LEAST_BODY = 8  # lines from which on there is a preview below it
_LETTERS = {"create": "A", "delete": "D", "rename": "R", "copy": "C"}


class Size(NamedTuple):
    """How the screen is divided; a preview of no lines is not shown."""

    columns: int
    list_lines: int
    preview_columns: int
    preview_lines: int
    is_beside: bool = False

    @classmethod
    def of(cls, columns: int, lines: int) -> Size:
        """The division of a screen."""
        body = max(lines - 2, 1)
        if columns >= _WIDE:
            left = columns // 2
            return cls(left, body, columns - left - 1, body, is_beside=True)
        if body < _LEAST_BODY:
            return cls(columns, body, columns, 0)
        above = max(body * 2 // 5, 3)
        return cls(columns, above, columns, body - above - 1)


class PickerState:
    """What is shown; the picker changes it."""

    def __init__(self) -> None:
        self.list = PickerList()
        self.filter = FilterLine(lambda: self.list.filter(self.filter.text))
        self.files: FileList | None = None  # while a file is chosen
        self.help: int | None = None  # the first line of the help, while that is shown
        self.message = ""  # until the next key
        self.preview: list[str] = []
        self.scroll = 0  # the first line of the preview on the screen


class Key(NamedTuple):
    """What a key does, in a word for the last line of the screen and in a sentence for the help."""

    name: str
    word: str
    help: str


KEYS = {
    key.word: key
    for key in (
        Key("Enter", "restore before", "restore the state before the turn; asks first"),
        Key("Ctrl-A", "restore after", "restore the state after the turn; asks first"),
        Key("Ctrl-R", "take back", "revert the turn, and keep what was changed since; asks first"),
        Key("Ctrl-K", "pick", "do again here what the turn changed; asks first"),
        Key("Tab", "hunks", "choose hunks to restore to before the turn"),
        Key("Ctrl-F", "files", "choose a file of the turn, and then what to do with it"),
        Key("Ctrl-D", "diff", "show the whole diff of the turn in the pager; F3, too"),
        Key("Ctrl-O", "page", "open the page of 'git boocode view' at the turn"),
        Key("Ctrl-Y", "copy id", "copy the id of the turn to the terminal's clipboard"),
        Key("Esc", "quit", "clear the filter, leave the list of files, or quit"),
        Key("?", "help", "show these keys; F1, too, also while you filter"),
    )
}
_OTHER_KEYS = (
    ("Up Down", "move"),
    ("PgUp PgDn", "move by a page"),
    ("Home End", "first and last turn; in the filter, its beginning and end"),
    ("Left Right", "scroll the preview; Shift-Up and Shift-Down by a line"),
    ("any text", "filter: turns that have all words in label, prompt, agent, session or paths"),
    ("Backspace Delete Ctrl-W Ctrl-U", "edit the filter; Ctrl-Left and Ctrl-Right move by a word"),
)
_HELP_COLUMN = 12
_FIRST = ("restore before", "help")


def footer(words: Sequence[str], escape: str, room: int) -> Iterator[tuple[str, str]]:
    """Keys with what they do, as many as there is room for; help and the way out come first."""
    left = [*(KEYS[word] for word in words if word not in _FIRST)]
    shown = [*(KEYS[word] for word in _FIRST), KEYS["quit"]._replace(word=escape), *left]
    for key in shown:
        room -= len(key.name) + len(key.word) + 1
        if room < 0:
            return
        yield "bold", key.name
        yield "", f" {key.word}  "
        room -= 2


def help_lines(width: int) -> list[str]:
    """All keys, and what they do."""
    lines = []
    for name, text in (*((key.name, key.help) for key in KEYS.values()), *_OTHER_KEYS):
        front = f"{name:{_HELP_COLUMN}}"
        if len(front) > _HELP_COLUMN:
            lines.append(front)
            front = " " * _HELP_COLUMN
        indent = " " * (_HELP_COLUMN + 1)
        parts = [*wrapped(text, max(width - len(indent), 10))]
        lines += [f"{front} {parts[0]}", *(indent + part for part in parts[1:])]
    return lines


def file_lines(files: Sequence[TurnFile], style: Style, width: int) -> list[str]:
    """The lines of some files that a turn changed."""
    counts = [("binary" if f.added is None else f"+{f.added:,}", f.removed) for f in files]
    added = Column([text for text, _ in counts], colour="green", align_right=True)
    less = ["" if removed is None else f"−{removed:,}" for _, removed in counts]
    removed = Column(less, gap=" ", colour="red", align_right=True)
    room = max(width - added.width - removed.width, 1)
    lines = []
    cells = zip(added.cells(style), removed.cells(style), strict=True)
    for file, (more, fewer) in zip(files, cells, strict=True):
        source = f"{quote_path(file.source)} → " if file.source else ""
        path = f"{_LETTERS.get(file.action, 'M')} {source}{quote_path(file.path)}"
        lines.append(fitted(path, room) + more + fewer)
    return lines


def filter_line(text: str, cursor: int, behind: str, width: int) -> list[tuple[str, str]]:
    """The filter with its cursor, scrolled so that this is visible, and what stands behind it."""
    front = "filter: "
    room = max(width - len(front) - display_width(behind) - 1, 1)
    before, at, after = text[:cursor], text[cursor : cursor + 1], text[cursor + 1 :]
    while display_width(before) > room - 1:
        before = before[1:]
    marked = [("reverse", at)] if at else [("", "_")]
    rest = after[: max(room - display_width(before) - 1, 0)]
    return [("", front + before), *marked, ("", rest + behind)]


class Screen:
    """Draws a state."""

    def __init__(self, state: PickerState, output: Output, style: Style) -> None:
        self._state = state
        self._output = output
        self._style = style

    @property
    def size(self) -> Size:
        """How the screen is divided now."""
        size = self._output.get_size()
        return Size.of(size.columns, size.rows)

    def containers(self) -> AnyContainer:
        """What prompt_toolkit draws."""

        def window(text: Callable[[], StyleAndTextTuples], height: int | None = None) -> Window:
            control = FormattedTextControl(text, focusable=True, show_cursor=False)
            return Window(control, height=height, always_hide_cursor=True)

        title, footer = (window(text, 1) for text in (self._title, self._footer))
        rows, preview = window(self._rows), window(self._preview_text)
        beside = VSplit(
            [
                HSplit([rows], width=lambda: Dimension.exact(self.size.columns)),
                Window(width=1, char="│"),
                preview,
            ]
        )
        above = HSplit([rows], height=lambda: Dimension.exact(self.size.list_lines))
        below = HSplit([above, Window(height=1, char="─"), preview])
        whole = window(self._help_text)

        def body() -> AnyContainer:
            if self._state.help is not None:
                return whole
            size = self.size
            return beside if size.is_beside else below if size.preview_lines else rows

        return HSplit([title, DynamicContainer(body), footer])

    def _title(self) -> StyleAndTextTuples:
        found, width = self._state.list, self._output.get_size().columns
        count = f"{len(found.shown)}{'' if found.is_searched else '+'}"
        if self._state.message:
            return self._line(self._state.message)
        if self._state.help is not None:
            return self._line("Keys", "bold")
        if self._state.files is not None:
            label = turn_label(found.rows[self._state.files.number].turn.checkpoint)
            return self._line(f"Which file of this turn? {label}", "bold")
        if self._state.filter.text:
            typed = self._state.filter
            return [*filter_line(typed.text, typed.cursor, f"  ({count} found)", width)]
        if not found.rows:
            return self._line("reading the worktree…")
        return self._line(f"Restore the state before which turn? ({count})", "bold")

    def _line(self, text: str, style: str = "") -> StyleAndTextTuples:
        return [(style, cut(text, self._output.get_size().columns))]

    def _footer(self) -> StyleAndTextTuples:
        number = self._state.list.selected
        is_picked = number is not None and bool(self._state.list.rows[number].state)
        words = ["restore after", "pick" if is_picked else "take back", "files", "hunks"]
        words += ["diff", "page", "copy id"]
        escape = "clear" if self._state.filter.text else "quit"
        if self._state.files is not None:
            words.remove("files")
            escape = "back"
        if self._state.help is not None:
            words, escape = [], "back"
        return [*footer(words, escape, self._output.get_size().columns)]

    def _help_text(self) -> StyleAndTextTuples:
        size = self._output.get_size()
        lines = help_lines(size.columns)
        room = max(size.rows - 2, 1)
        self._state.help = max(min(self._state.help or 0, len(lines) - room), 0)
        return [("", "\n".join(lines[self._state.help : self._state.help + room]))]

    def _rows(self) -> StyleAndTextTuples:
        if self._state.files is not None:
            return self._file_rows(self._state.files)
        if not self._state.list.shown:
            return self._line("no turn matches" if self._state.list.is_searched else "")
        visible, size = self._state.list.visible(self.size.list_lines), self.size
        rows = [self._state.list.rows[each] for each in visible if isinstance(each, int)]
        room = size.columns - len("> ")
        plain = iter(turn_lines(rows, Style(enabled=False), room))
        painted = iter(turn_lines(rows, self._style, room))
        lines = [
            ("", each, each) if isinstance(each, str) else (each, next(plain), next(painted))
            for each in visible
        ]
        return [*self._marked(lines, self._state.list.selected)]

    def _file_rows(self, chosen: FileList) -> StyleAndTextTuples:
        room = self.size.columns - len("> ")
        plain = file_lines(chosen.files, Style(enabled=False), room)
        painted = file_lines(chosen.files, self._style, room)
        first = max(chosen.position - self.size.list_lines + 1, 0)
        lines = [*zip(range(len(plain)), plain, painted, strict=True)]
        return [*self._marked(lines[first:], chosen.position)]

    def _marked(
        self, lines: Sequence[tuple[object, str, str]], selected: int | None
    ) -> Iterator[tuple[str, str]]:
        """Lines, plain and painted, of which one is selected."""
        for key, plain, painted in lines:
            if key == selected:
                yield "reverse", fitted(f"> {plain}", self.size.columns)
            else:
                text = cut(f"  {painted}", self.size.columns) if key == "" else f"  {painted}"
                for style, part, *_ in to_formatted_text(ANSI(text)):
                    yield style, part
            yield "", "\n"

    def _preview_text(self) -> StyleAndTextTuples:
        found: StyleAndTextTuples = []
        lines = self._state.preview[
            self._state.scroll : self._state.scroll + self.size.preview_lines
        ]
        for line in lines:
            found += to_formatted_text(ANSI(line))
            found.append(("", "\n"))
        return found
