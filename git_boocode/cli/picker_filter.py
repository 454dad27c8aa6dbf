"""The filter of the picker: a line to edit, and the turns that have all of its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.buffer import Buffer

from git_boocode.checkpoints.turn_changes import TurnFile
from git_boocode.cli.turn_rows import TurnRow, turn_label
from git_boocode.repo.ids import ID_PART


class FilterLine:
    """A line of text with a cursor; `changed` is called when the text has changed."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._buffer = Buffer(multiline=False, on_text_changed=lambda _: changed())

    @property
    def text(self) -> str:
        """What was typed; empty without a filter."""
        return self._buffer.text

    @property
    def cursor(self) -> int:
        """The number of characters before the cursor."""
        return self._buffer.cursor_position

    def type(self, text: str) -> None:
        """Insert text at the cursor; what is no character becomes a space, or is left out."""
        spaced = " ".join(text.split("\n")).replace("\t", " ").replace("\r", "")
        self._buffer.insert_text("".join(filter(str.isprintable, spaced)))

    def clear(self) -> None:
        """Delete all text."""
        self._buffer.text = ""

    def delete(self) -> None:
        """Delete the character at the cursor."""
        self._buffer.delete()

    def delete_back(self) -> None:
        """Delete the character before the cursor."""
        self._buffer.delete_before_cursor()

    def delete_word(self) -> None:
        """Delete the word before the cursor, and the spaces after it."""
        self._buffer.delete_before_cursor(self._to_word_before())

    def delete_to_start(self) -> None:
        """Delete everything before the cursor."""
        self._buffer.delete_before_cursor(self.cursor)

    def move(self, to: int) -> None:
        """Move the cursor to a position."""
        self._buffer.cursor_position = min(max(to, 0), len(self.text))

    def move_word(self, *, back: bool) -> None:
        """Move the cursor to the beginning of a word, or to the end of the text."""
        document = self._buffer.document
        forward = document.find_next_word_beginning(WORD=True)
        ahead = len(self.text) - self.cursor if forward is None else forward
        self.move(self.cursor + (-self._to_word_before() if back else ahead))

    def _to_word_before(self) -> int:
        found = self._buffer.document.find_start_of_previous_word(WORD=True)
        return self.cursor if found is None else -found


class TurnTexts:
    """What is searched of each turn: label, prompt, agent, session, name, and the paths."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._ids: list[str] = []
        self._with_paths: set[int] = set()

    def add(self, row: TurnRow) -> None:
        """Take in the next turn."""
        checkpoint = row.turn.checkpoint
        meta = checkpoint.meta
        texts = (turn_label(checkpoint), meta.text("prompt"), row.agent, meta.text("session"))
        self._texts.append("\n".join((*texts, row.name)).casefold())
        self._ids.append(checkpoint.id)

    def add_paths(self, number: int, files: Sequence[TurnFile]) -> None:
        """Take in the paths that a turn changed."""
        if number in self._with_paths:
            return
        self._with_paths.add(number)
        paths = (path for file in files for path in (file.path, file.source) if path)
        self._texts[number] = "\n".join((self._texts[number], *map(str.casefold, paths)))

    def has_paths(self, number: int) -> bool:
        """Whether the paths of a turn are known."""
        return number in self._with_paths

    def has(self, number: int, words: Sequence[str]) -> bool:
        """Whether a turn has all words, which are folded; one may also be how its id begins."""
        text = self._texts[number]
        return all(
            word in text or (ID_PART.fullmatch(word) and self._ids[number].startswith(word))
            for word in words
        )
