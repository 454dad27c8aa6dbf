"""The picker of `git boocode restore`: turns to scroll and filter, with a preview of each.

The list is read in pages, what changed is counted for the rows on the screen, paths are read for
the filter, and git writes the preview, all beside the event loop: a key never waits for git.
"""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import run_in_terminal
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout
from prompt_toolkit.output import ColorDepth, create_output

from git_boocode.checkpoints.restore.request import PICK, RESTORE, REVERT
from git_boocode.checkpoints.turn_changes import TurnFile
from git_boocode.checkpoints.turns import Turn
from git_boocode.cli.output import colour_forbidden, diff_painter, output_style, printable
from git_boocode.cli.picker_list import Entries, FileList, pathspecs_of
from git_boocode.cli.picker_preview import PREVIEW_SIZE, about, begin_diff, diff_lines
from git_boocode.cli.picker_screen import PickerState, Screen
from git_boocode.cli.turn_rows import (
    PAGE,
    PARTS,
    ChosenTurn,
    TurnList,
    TurnRow,
)
from git_boocode.repo.errors import BoocodeError
from git_boocode.repo.git import Running
from git_boocode.repo.repository import Repository

_LARGEST_PAGE = 1024  # turns that are read at once
_SEARCHED = 96  # turns whose paths are read at once
_SETTLED = 0.03  # seconds on a row before its preview is made
_ESCAPE_PATIENCE = 0.1  # seconds in which the rest of an arrow key arrives, also through ssh
_QUICK = 0.5  # seconds within which nobody can have read a page
_FAR = 1 << 20  # lines
_TICK = 1.0  # seconds after which the ages of turns are renewed
_Done = TypeVar("_Done")


def pick(
    repository: Repository, turn_list: TurnList, first: Future[list[TurnRow]]
) -> ChosenTurn | None:
    """The turn that the user picks on the whole screen, and what to do with it; None for none.

    `first` are the first rows, which somebody else reads. UsageError if there are none.
    """
    return _Picker(repository, turn_list).run(first)


class _Previewed(NamedTuple):
    """What a preview is of: a turn or one of its files, in a width."""

    number: int
    file: TurnFile | None
    width: int


_NOTHING = _Previewed(-1, None, 0)
"""A preview that is not there yet."""


class _Picker:
    def __init__(self, repository: Repository, turn_list: TurnList) -> None:
        self._repository = repository
        self._source = turn_list
        self._state = state = PickerState()
        self._list, self._filter = state.list, state.filter
        self._previewed: _Previewed | None = _NOTHING
        self._diffing: Running | None = None
        self._ended_by = 0  # the number of a signal
        self._paint = diff_painter(repository.config)
        self._threads = ThreadPoolExecutor(3)
        self._more_wanted, self._paths_wanted = asyncio.Event(), asyncio.Event()
        self._rendered = asyncio.Event()
        self._output = create_output()
        style = output_style(repository.config)
        self._screen = Screen(state, self._output, style)
        depth = None if style.enabled else ColorDepth.DEPTH_1_BIT
        self._app: Application[ChosenTurn | None] = Application(
            Layout(self._screen.containers()),
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
        for task in (
            self._read(first),
            self._read_paths(),
            self._show_previews(),
            self._renew_ages(),
        ):
            self._app.create_background_task(self._watched(task))
        chosen = await self._app.run_async(set_exception_handler=False, handle_sigint=False)
        if self._ended_by == signal.SIGINT:
            raise KeyboardInterrupt
        if self._ended_by:
            raise SystemExit(128 + self._ended_by)
        return chosen

    async def _watched(self, task: Coroutine[object, object, None]) -> None:
        try:
            await task
        except Exception as error:  # noqa: BLE001 - raised again where the picker was called
            self._fail(error)

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
        page = await asyncio.wrap_future(first)
        if not page:
            raise self._source.is_empty()
        self._list.add(await self._beside(partial(self._with_entries, page)), PAGE)
        size = PAGE
        self._app.invalidate()
        while True:
            await self._more_wanted.wait()
            lines = self._screen.size.list_lines
            # One by one, as one of them may have changed many files.
            uncounted = (n for n in self._visible_turns() if not self._list.rows[n].is_counted)
            if self._list.lacks_turns(lines):
                size = min(size * 2, _LARGEST_PAGE)
                self._list.add(await self._beside(partial(self._next_page, size)), size)
                self._paths_wanted.set()
            elif (number := next(uncounted, None)) is not None:
                row = self._list.rows[number]
                [files] = await self._beside(partial(self._source.files, [row]))
                self._list.take_files(number, files)
            else:
                self._more_wanted.clear()
                continue
            self._app.invalidate()

    def _next_page(self, size: int) -> list[tuple[TurnRow, Entries]]:
        return self._with_entries(self._source.read(size))

    def _with_entries(self, page: Sequence[TurnRow]) -> list[tuple[TurnRow, Entries]]:
        return [(row, self._source.lines_before(row)) for row in page]

    async def _read_paths(self) -> None:
        """Read which paths turns changed, as far as the filter needs them."""
        while True:
            await self._paths_wanted.wait()
            numbers = self._list.unsearched(_SEARCHED)
            if not numbers:
                self._paths_wanted.clear()
                self._app.invalidate()
                continue
            rows = [self._list.rows[number] for number in numbers]
            found = await self._beside(partial(self._source.files, rows))
            for number, files in zip(numbers, found, strict=True):
                self._list.take_files(number, files)
            self._app.invalidate()

    async def _renew_ages(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            numbers = self._visible_turns()
            rows = [self._list.rows[number] for number in numbers]
            renewed = self._source.with_ages(rows)
            for number, row in zip(numbers, renewed, strict=True):
                self._list.rows[number] = row
            if renewed != rows:
                self._app.invalidate()

    async def _show_previews(self) -> None:
        """Show the preview of what is selected, and of all that is selected afterwards."""
        while True:
            await self._rendered.wait()
            self._rendered.clear()
            wanted = self._wanted_preview()
            if wanted == self._previewed:
                continue
            self._previewed, self._state.scroll = wanted, 0
            self._state.preview = []
            if wanted is not None and wanted.file is None:
                self._state.preview += about(self._list.rows[wanted.number].turn, wanted.width)
            self._app.invalidate()
            await asyncio.sleep(_SETTLED)
            lines: list[str] | None = []
            if wanted is not None and wanted == self._wanted_preview():
                lines = await self._diff(wanted)
            if lines is None or wanted != self._wanted_preview():
                self._previewed = _NOTHING
            else:
                self._state.preview += lines
            self._app.invalidate()

    def _wanted_preview(self) -> _Previewed | None:
        number = self._list.selected
        if number is None:
            return None
        file = self._state.files.file if self._state.files else None
        return _Previewed(number, file, self._screen.size.preview_columns)

    async def _diff(self, wanted: _Previewed) -> list[str] | None:
        """The beginning of a diff, each line painted and safe; None if it was cancelled."""
        turn = self._list.rows[wanted.number].turn
        if not turn.after:
            return ["what it changed is unknown"]
        try:
            compared = self._compared(turn, wanted.file)
            self._diffing = running = begin_diff(self._repository, compared, wanted.width)
            content = await self._beside(partial(running.beginning, PREVIEW_SIZE))
        except BoocodeError as error:
            return [printable(error.message)]
        return diff_lines(content, self._paint) if self._diffing is running else None

    def _compared(self, turn: Turn, file: TurnFile | None) -> list[str]:
        """Git's arguments for what changed in a turn, or in one of its files."""
        if file is not None:
            return [*turn.states, "--", *pathspecs_of(file)]
        return turn.compared(self._source.pathspecs)

    def _cancel_diff(self) -> None:
        if self._diffing is not None:
            self._diffing.cancel()
            self._diffing = None

    def _visible_turns(self) -> list[int]:
        visible = self._list.visible(self._screen.size.list_lines)
        return [each for each in visible if isinstance(each, int)]

    def _follow(self) -> None:
        """Have what is on the screen read, whose size may have changed."""
        last = max(len(self._state.preview) - self._screen.size.preview_lines, 0)
        self._state.scroll = min(self._state.scroll, last)
        if self._previewed != self._wanted_preview():
            self._cancel_diff()
        self._more_wanted.set()
        self._rendered.set()

    # Keys.

    def _keys(self) -> KeyBindings:
        bindings = KeyBindings()
        line = self._filter
        actions: dict[str, Callable[[KeyPressEvent], object]] = {
            "up c-p": lambda _: self._move(-1),
            "down c-n": lambda _: self._move(1),
            "pageup": lambda _: self._move(-self._screen.size.list_lines),
            "pagedown": lambda _: self._move(self._screen.size.list_lines),
            "home": lambda _: line.move(0) if self._is_typed else self._move_far(back=True),
            "end": lambda _: line.move(sys.maxsize) if self._is_typed else self._move_far(),
            "c-home": lambda _: self._move_far(back=True),
            "c-end": lambda _: self._move_far(),
            "s-up": lambda _: self._scroll_by(-1),
            "s-down": lambda _: self._scroll_by(1),
            "left": lambda _: self._scroll_by(1 - self._screen.size.preview_lines),
            "right": lambda _: self._scroll_by(self._screen.size.preview_lines - 1),
            "enter": lambda _: self._choose(RESTORE),
            "c-a": lambda _: self._choose(RESTORE, after=True),
            "tab": lambda _: self._choose(PARTS),
            "c-r": lambda _: self._choose(REVERT),
            "c-k": lambda _: self._choose(PICK),
            "c-f": lambda _: self._choose_file(),
            "c-d f3": lambda _: self._page_diff(),
            "c-o": lambda event: event.app.create_background_task(self._watched(self._open_page())),
            "c-y": lambda _: self._copy_id(),
            "f1": lambda _: self._show_help(),
            "escape": lambda _: self._go_back(),
            "c-c": lambda _: self._end(signal.SIGINT),
            "c-h": lambda _: line.delete_back(),
            "delete": lambda _: line.delete(),
            "c-w": lambda _: line.delete_word(),
            "c-u": lambda _: line.delete_to_start(),
            "c-left": lambda _: line.move_word(back=True),
            "c-right": lambda _: line.move_word(back=False),
            "c-l": lambda event: event.app.renderer.clear(),
            "c-z": lambda event: event.app.suspend_to_background(),
            f"{Keys.Any.value} {Keys.BracketedPaste.value}": self._type,
        }
        for keys, action in actions.items():
            for key in keys.split(" "):
                bindings.add(key, eager=True)(partial(self._act, action))
        return bindings

    def _act(self, action: Callable[[KeyPressEvent], object], event: KeyPressEvent) -> None:
        self._state.message = ""
        action(event)
        if self._filter.text:
            self._paths_wanted.set()

    @property
    def _is_typed(self) -> bool:
        """Whether keys that edit a line edit the filter."""
        return bool(self._filter.text) and self._state.files is None and self._state.help is None

    def _move(self, by: int) -> None:
        if self._state.help is not None:
            self._state.help += by
        else:
            (self._state.files or self._list).move(by)

    def _move_far(self, *, back: bool = False) -> None:
        if self._state.help is None and self._state.files is None and not back:
            self._list.move_to_end()
        else:
            self._move(-_FAR if back else _FAR)

    def _scroll_by(self, lines: int) -> None:
        self._state.scroll = max(self._state.scroll + lines, 0)

    def _selected_turn(self) -> Turn | None:
        number = self._list.selected
        return (
            None if number is None or self._state.help is not None else self._list.rows[number].turn
        )

    def _choose(self, action: str, *, after: bool = False) -> None:
        if (turn := self._selected_turn()) is not None:
            paths = pathspecs_of(self._state.files.file) if self._state.files else ()
            self._leave(ChosenTurn(turn.checkpoint.id, action, after, paths))

    def _choose_file(self) -> None:
        """List the files of the selected turn, to choose one."""
        number = self._list.selected
        if number is not None and self._state.files is None and self._state.help is None:
            self._app.create_background_task(self._watched(self._list_files(number)))

    async def _list_files(self, number: int) -> None:
        [files] = await self._beside(partial(self._source.files, [self._list.rows[number]]))
        if files:
            self._state.files = FileList(number, files)
        else:
            self._state.message = "what it changed is unknown" if files is None else "no changes"
        self._app.invalidate()

    def _go_back(self) -> None:
        if self._state.help is not None:
            self._state.help = None
        elif self._state.files is not None:
            self._state.files = None
        elif self._filter.text:
            self._filter.clear()
        else:
            self._leave(None)

    def _show_help(self) -> None:
        self._state.help = 0 if self._state.help is None else None

    def _type(self, event: KeyPressEvent) -> None:
        """Take letters, typed or pasted, into the filter; ignore keys that have no letter."""
        [pressed] = event.key_sequence
        if isinstance(pressed.key, Keys) and pressed.key is not Keys.BracketedPaste:
            return
        if self._state.help is not None or (event.data == "?" and not self._filter.text):
            self._show_help()
        elif self._state.files is None:
            self._filter.type(event.data)

    async def _open_page(self) -> None:
        # It takes as long to import as the picker itself.
        from git_boocode.cli.view import open_page

        turn = self._selected_turn()
        if turn is None:
            return
        self._state.message = "making the page…"
        self._app.invalidate()
        try:
            self._state.message = await self._beside(partial(open_page, turn.checkpoint.id))
        except BoocodeError as error:
            self._state.message = printable(error.message)
        self._app.invalidate()

    def _copy_id(self) -> None:
        """Have the terminal copy the id of the selected turn; the title shows it."""
        if (turn := self._selected_turn()) is not None:
            encoded = base64.b64encode(turn.checkpoint.id.encode()).decode()
            self._output.write_raw(f"\x1b]52;c;{encoded}\a")
            self._state.message = f"copied {turn.checkpoint.id}"

    def _page_diff(self) -> None:
        """Show the whole diff of the selected turn in the user's pager, as `git diff` does."""
        turn = self._selected_turn()
        if turn is not None and turn.after:
            compared = self._compared(turn, self._state.files.file if self._state.files else None)
            run_in_terminal(partial(self._run_pager, compared))

    def _run_pager(self, compared: Sequence[str]) -> None:
        repository = self._repository
        git = repository.users_git.bind(cwd=repository.directory)
        # Less would leave at once behind a short diff, and keep a long one out of the screen.
        git = git.bind(LESS=os.environ.get("LESS", "R"), LV=os.environ.get("LV", "-c"))
        options = ["--no-color"] * colour_forbidden(repository.config, "color.diff")
        # Ctrl-C is for the pager.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        started = time.monotonic()
        try:
            git.run_in_foreground("diff", *options, *compared)
            if time.monotonic() - started < _QUICK or git.line("var", "GIT_PAGER") == "cat":
                input("press Enter to go back to the list ")
        except EOFError:
            pass
        finally:
            signal.signal(signal.SIGINT, before)
