"""The picker of `git boocode restore`: turns to scroll and filter, with a preview of each.

The list is read in pages, what changed is counted for the rows on the screen, and git writes the
preview, all beside the event loop: a key never waits for git.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import run_in_terminal
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    AnyContainer,
    Dimension,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VSplit,
    Window,
)
from prompt_toolkit.output import ColorDepth, create_output

from git_boocode.checkpoints.restore.request import RESTORE, REVERT
from git_boocode.checkpoints.turns import Turn
from git_boocode.cli.output import Style, colour_forbidden, diff_painter, output_style, printable
from git_boocode.cli.turn_rows import (
    PAGE,
    PARTS,
    PREVIEW_SIZE,
    ChosenTurn,
    TurnList,
    TurnRow,
    about,
    begin_diff,
    cut,
    diff_lines,
    fitted,
    turn_label,
    turn_lines,
)
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.git import Running
from git_boocode.repo.ids import ID_PART
from git_boocode.repo.repository import Repository

_LARGEST_PAGE = 1024  # turns that are read at once
_WIDE = 150  # columns from which on the preview is beside the list
_LEAST_BODY = 8  # lines from which on there is a preview below it
_SETTLED = 0.03  # seconds on a row before its preview is made
_ESCAPE_PATIENCE = 0.1  # seconds in which the rest of an arrow key arrives, also through ssh
_QUICK = 0.5  # seconds within which nobody can have read a page
_NOTHING = (-1, 0)  # a preview that is not there yet
_Done = TypeVar("_Done")


def pick(
    repository: Repository, turn_list: TurnList, first: Future[list[TurnRow]]
) -> ChosenTurn | None:
    """The turn that the user picks on the whole screen, and what to do with it; None for none.

    `first` are the first rows, which somebody else reads. UsageError if there are none.
    """
    return _Picker(repository, turn_list).run(first)


class _Size(NamedTuple):
    """How the screen is divided; a preview of no lines is not shown."""

    columns: int
    list_lines: int
    preview_columns: int
    preview_lines: int
    is_beside: bool = False

    @classmethod
    def of(cls, columns: int, lines: int) -> _Size:
        body = max(lines - 2, 1)
        if columns >= _WIDE:
            left = columns // 2
            return cls(left, body, columns - left - 1, body, is_beside=True)
        if body < _LEAST_BODY:
            return cls(columns, body, columns, 0)
        above = max(body * 2 // 5, 3)
        return cls(columns, above, columns, body - above - 1)


class _Picker:
    def __init__(self, repository: Repository, turn_list: TurnList) -> None:
        self._repository = repository
        self._list = turn_list
        self._all: list[TurnRow] = []
        self._texts: list[str] = []  # what the filter looks at, for each turn
        self._is_complete = False
        self._shown: list[int] = []  # the turns that the filter lets through
        self._position = self._top = 0  # the selected one of them, and the first on the screen
        self._aim = 0  # the position that is wanted, which may not have been read yet
        self._filter = ""
        self._is_filtering = False
        self._preview: list[str] = []
        self._previewed: tuple[int, int] | None = _NOTHING  # see `_preview_key`
        self._scroll = 0
        self._diffing: Running | None = None
        self._ended_by = 0  # the number of a signal
        self._paint = diff_painter(repository.config)
        self._threads = ThreadPoolExecutor(2)
        self._more_wanted = asyncio.Event()
        self._rendered = asyncio.Event()
        self._output = create_output()
        self._style = output_style(repository.config)
        depth = None if self._style.enabled else ColorDepth.DEPTH_1_BIT
        self._app: Application[ChosenTurn | None] = Application(
            Layout(self._containers()),
            key_bindings=self._keys(),
            full_screen=True,
            output=self._output,
            color_depth=depth,
            before_render=lambda _: self._follow(),
        )
        self._app.ttimeoutlen = _ESCAPE_PATIENCE

    def run(self, first: Future[list[TurnRow]]) -> ChosenTurn | None:
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
        handled = [number for number in before if before[number] != signal.SIG_IGN]
        try:
            return asyncio.run(self._run(first, handled))
        except EOFError:
            return None
        except OSError:
            # The terminal is gone.
            if not self._ended_by:
                raise
            raise SystemExit(128 + self._ended_by) from None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._cancel_diff()
            # Git may still count the changes of a turn, and ends by itself.
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(
        self, first: Future[list[TurnRow]], signals: list[signal.Signals]
    ) -> ChosenTurn | None:
        loop = asyncio.get_running_loop()
        for number in signals:
            loop.add_signal_handler(number, self._end, number)
        loop.set_exception_handler(lambda _, context: self._fail(context.get("exception")))
        self._app.create_background_task(self._read(first))
        self._app.create_background_task(self._show_previews())
        chosen = await self._app.run_async(set_exception_handler=False, handle_sigint=False)
        if self._ended_by == signal.SIGINT:
            raise KeyboardInterrupt
        if self._ended_by:
            raise SystemExit(128 + self._ended_by)
        return chosen

    def _end(self, number: int) -> None:
        self._ended_by = number
        self._leave(None)

    def _leave(self, chosen: ChosenTurn | None) -> None:
        if not self._app.is_done:
            self._app.exit(result=chosen)

    def _fail(self, error: BaseException | None) -> None:
        if error is not None and not self._app.is_done:
            self._app.exit(exception=error)

    # Reading.

    async def _beside(self, work: Callable[[], _Done]) -> _Done:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _read(self, first: Future[list[TurnRow]]) -> None:
        """Read turns, and count what changed in those on the screen, as far as they are wanted."""
        try:
            self._add(await asyncio.wrap_future(first), PAGE)
            if not self._all:
                raise self._list.is_empty()
            size = PAGE
            self._app.invalidate()
            while True:
                await self._more_wanted.wait()
                lines = self._size.list_lines
                is_near_end = max(self._aim, self._position) + 2 * lines >= len(self._shown)
                # One by one, as one of them may have changed many files.
                uncounted = next((n for n in self._visible() if not self._all[n].is_counted), None)
                if is_near_end and not self._is_complete:
                    size = min(size * 2, _LARGEST_PAGE)
                    self._add(await self._beside(partial(self._list.read, size)), size)
                elif uncounted is not None:
                    row = self._all[uncounted]
                    [self._all[uncounted]] = await self._beside(partial(self._list.count, [row]))
                else:
                    self._more_wanted.clear()
                    continue
                self._app.invalidate()
        except Exception as error:  # noqa: BLE001 - raised again where the picker was called
            self._fail(error)

    def _add(self, page: list[TurnRow], wanted: int) -> None:
        first = len(self._all)
        self._all += page
        for row in page:
            checkpoint = row.turn.checkpoint
            meta = checkpoint.meta
            texts = (turn_label(checkpoint), meta.text("prompt"), row.agent, meta.text("session"))
            self._texts.append(" ".join((*texts, row.name, row.time)).casefold())
        self._is_complete = len(page) < wanted
        self._shown += self._passing(range(first, len(self._all)))
        self._position = max(min(self._aim, len(self._shown) - 1), 0)

    def _passing(self, numbers: range) -> Iterator[int]:
        """The turns that the filter lets through; it may also be the beginning of an id."""
        wanted = self._filter.casefold()
        is_id = bool(ID_PART.fullmatch(wanted))
        for number in numbers:
            identifier = self._all[number].turn.checkpoint.id
            if wanted in self._texts[number] or (is_id and identifier.startswith(wanted)):
                yield number

    async def _show_previews(self) -> None:
        """Show the preview of the selected turn, and of each that is selected afterwards."""
        while True:
            await self._rendered.wait()
            self._rendered.clear()
            key = self._preview_key()
            if key == self._previewed:
                continue
            self._previewed, self._scroll = key, 0
            self._preview = [] if key is None else [*about(self._all[key[0]].turn, key[1])]
            self._app.invalidate()
            await asyncio.sleep(_SETTLED)
            lines: list[str] | None = []
            if key is not None and key == self._preview_key():
                lines = await self._diff(self._all[key[0]].turn, key[1])
            if lines is None or key != self._preview_key():
                self._previewed = _NOTHING
            else:
                self._preview += lines
            self._app.invalidate()

    def _preview_key(self) -> tuple[int, int] | None:
        """The selected turn, and the width of its preview."""
        number = self._selected()
        return None if number is None else (number, self._size.preview_columns)

    async def _diff(self, turn: Turn, width: int) -> list[str] | None:
        """The beginning of a turn's diff, each line painted and safe; None if it was cancelled."""
        if not turn.after:
            return ["what it changed is unknown"]
        try:
            self._diffing = running = begin_diff(
                self._repository, turn, self._list.pathspecs, width
            )
            content = await self._beside(partial(running.beginning, PREVIEW_SIZE))
        except BoocodeError as error:
            return [printable(error.message)]
        return diff_lines(content, self._paint) if self._diffing is running else None

    def _cancel_diff(self) -> None:
        if self._diffing is not None:
            self._diffing.cancel()
            self._diffing = None

    # The screen.

    @property
    def _size(self) -> _Size:
        size = self._output.get_size()
        return _Size.of(size.columns, size.rows)

    def _selected(self) -> int | None:
        return self._shown[self._position] if self._shown else None

    def _visible(self) -> list[int]:
        return self._shown[self._top : self._top + self._size.list_lines]

    def _follow(self) -> None:
        """Keep the selected row on the screen, whose size may have changed."""
        size = self._size
        self._top = max(self._top, self._position - size.list_lines + 1)
        self._top = min(self._top, self._position)
        last = max(len(self._preview) - size.preview_lines, 0)
        self._scroll = min(self._scroll, last)
        if self._previewed != self._preview_key():
            self._cancel_diff()
        self._more_wanted.set()
        self._rendered.set()

    def _containers(self) -> AnyContainer:
        def window(text: Callable[[], StyleAndTextTuples], height: int | None = None) -> Window:
            control = FormattedTextControl(text, focusable=True, show_cursor=False)
            return Window(control, height=height, always_hide_cursor=True)

        title, footer = (window(text, 1) for text in (self._title, self._footer))
        rows, preview = window(self._rows), window(self._preview_text)
        beside = VSplit(
            [
                HSplit([rows], width=lambda: Dimension.exact(self._size.columns)),
                Window(width=1, char="│"),
                preview,
            ]
        )
        above = HSplit([rows], height=lambda: Dimension.exact(self._size.list_lines))
        below = HSplit([above, Window(height=1, char="─"), preview])

        def body() -> AnyContainer:
            size = self._size
            return beside if size.is_beside else below if size.preview_lines else rows

        return HSplit([title, DynamicContainer(body), footer])

    def _title(self) -> StyleAndTextTuples:
        found = f"{len(self._shown)}{'' if self._is_complete else '+'}"
        if self._is_filtering:
            return self._line(f"filter: {self._filter}_  ({found} found)")
        if not self._all:
            return self._line("reading the worktree…")
        return self._line(f"Restore the state before which turn? ({found})", "bold")

    def _line(self, text: str, style: str = "") -> StyleAndTextTuples:
        return [(style, cut(text, self._output.get_size().columns))]

    def _footer(self) -> StyleAndTextTuples:
        keys = [
            ("Enter", "choose"),
            ("Ctrl-D" if self._is_filtering else "d", "diff"),
            ("Esc", "clear" if self._is_filtering else "quit"),
            ("Tab", "hunks"),
            ("Ctrl-R", "take back"),
            *(() if self._is_filtering else (("type", "to filter"),)),
            ("↑↓", "move"),
            ("←→", "scroll diff"),
            ("PgUp/PgDn", "page"),
        ]
        room, found = self._output.get_size().columns, list[tuple[str, str]]()
        for key, action in keys:
            room -= len(key) + len(action) + 1
            if room < 0:
                break
            found += [("bold", key), ("", f" {action}  ")]
            room -= 2
        return [*found]

    def _rows(self) -> StyleAndTextTuples:
        if not self._shown:
            return self._line("no turn matches" if self._is_complete else "")
        numbers, selected = self._visible(), self._selected()
        rows = [self._all[number] for number in numbers]
        room = self._size.columns - len("> ")
        found: StyleAndTextTuples = []
        plain = turn_lines(rows, Style(enabled=False), room)
        painted = turn_lines(rows, self._style, room)
        for number, line, coloured in zip(numbers, plain, painted, strict=True):
            if number == selected:
                found.append(("reverse", fitted(f"> {line}", self._size.columns)))
            else:
                found += to_formatted_text(ANSI(f"  {coloured}"))
            found.append(("", "\n"))
        return found

    def _preview_text(self) -> StyleAndTextTuples:
        found: StyleAndTextTuples = []
        lines = self._preview[self._scroll : self._scroll + self._size.preview_lines]
        for line in lines:
            found += to_formatted_text(ANSI(line))
            found.append(("", "\n"))
        return found

    # Keys.

    def _move(self, by: int) -> None:
        start = self._position if by < 0 or self._is_complete else max(self._aim, self._position)
        self._aim = max(start + by, 0)
        self._position = max(min(self._aim, len(self._shown) - 1), 0)

    def _set_filter(self, text: str, *, is_filtering: bool = True) -> None:
        selected = self._selected()
        self._filter, self._is_filtering = text, is_filtering
        self._shown = [*self._passing(range(len(self._all)))]
        # What was selected stays selected as long as it matches.
        kept = selected is not None and selected in self._shown
        self._position = self._shown.index(selected) if kept and selected is not None else 0
        self._aim, self._top = self._position, 0

    def _keys(self) -> KeyBindings:
        bindings = KeyBindings()
        actions: dict[str, Callable[[KeyPressEvent], object]] = {
            "up c-p": lambda _: self._move(-1),
            "down c-n": lambda _: self._move(1),
            "pageup": lambda _: self._move(-self._size.list_lines),
            "pagedown": lambda _: self._move(self._size.list_lines),
            "home": lambda _: self._move(-len(self._shown)),
            "end": lambda _: self._move(sys.maxsize - self._aim),
            "s-up": lambda _: self._scroll_by(-1),
            "s-down": lambda _: self._scroll_by(1),
            "left c-b": lambda _: self._scroll_by(1 - self._size.preview_lines),
            "right c-f": lambda _: self._scroll_by(self._size.preview_lines - 1),
            "enter": lambda _: self._choose(RESTORE),
            "tab": lambda _: self._choose(PARTS),
            "c-r": lambda _: self._choose(REVERT),
            "escape": lambda _: self._clear_or_quit(),
            "c-c": lambda _: self._end(signal.SIGINT),
            "c-d f3": lambda _: self._page_diff(),
            "c-h c-w": lambda _: self._set_filter(self._filter[:-1]),
            "c-u": lambda _: self._set_filter("", is_filtering=False),
            "c-l": lambda event: event.app.renderer.clear(),
            "c-z": lambda event: event.app.suspend_to_background(),
            f"{Keys.Any.value} {Keys.BracketedPaste.value}": lambda event: self._type(event.data),
        }
        for keys, action in actions.items():
            for key in keys.split(" "):
                bindings.add(key, eager=True)(action)
        return bindings

    def _scroll_by(self, lines: int) -> None:
        self._scroll = max(self._scroll + lines, 0)

    def _choose(self, action: str) -> None:
        if (number := self._selected()) is not None:
            self._leave(ChosenTurn(self._all[number].turn.checkpoint.id, action))

    def _clear_or_quit(self) -> None:
        if self._is_filtering:
            self._set_filter("", is_filtering=False)
        else:
            self._leave(None)

    def _type(self, text: str) -> None:
        """Take a letter as a command or, as what was pasted, into the filter."""
        if not self._is_filtering and text == "d":
            self._page_diff()
        elif not self._is_filtering and text == "q":
            self._leave(None)
        elif not self._is_filtering and text == "/":
            self._set_filter("")
        else:
            self._set_filter(self._filter + "".join(filter(str.isprintable, text)))

    def _page_diff(self) -> None:
        """Show the whole diff of the selected turn in the user's pager, as `git diff` does."""
        number = self._selected()
        if number is not None and (turn := self._all[number].turn).after:
            run_in_terminal(lambda: self._run_pager(turn))

    def _run_pager(self, turn: Turn) -> None:
        repository = self._repository
        git = repository.users_git.bind(cwd=repository.directory)
        # Less would leave at once behind a short diff, and keep a long one out of the screen.
        git = git.bind(LESS=os.environ.get("LESS", "R"), LV=os.environ.get("LV", "-c"))
        options = ["--no-color"] * colour_forbidden(repository.config, "color.diff")
        # Ctrl-C is for the pager.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        started = time.monotonic()
        try:
            compared = turn.compared(self._list.pathspecs)
            git.run_in_foreground("diff", *options, *compared)
            if time.monotonic() - started < _QUICK or git.line("var", "GIT_PAGER") == "cat":
                input("press Enter to go back to the list ")
        except EOFError:
            pass
        finally:
            signal.signal(signal.SIGINT, before)
