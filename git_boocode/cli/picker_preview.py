"""The preview of a turn in the picker: what is known of it, and the beginning of its diff."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from git_boocode.checkpoints.store.catalog import without_index
from git_boocode.checkpoints.turn_changes import rename_option
from git_boocode.checkpoints.turns import Turn
from git_boocode.cli.output import printable
from git_boocode.cli.turn_rows import cut, display_width, prompt_lines, turn_label
from git_boocode.repo.git import Running
from git_boocode.repo.ids import time_of
from git_boocode.repo.repository import Repository

PREVIEW_SIZE = 200_000  # bytes of the diff
_STAT_FILES = 20
_PROMPT_LINES, _LINE_LENGTH = 12, 2000  # of the prompt
# Control characters in caret notation, as less and git show them.
_CARETS = {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127) if chr(code) not in "\t\n"}


def about(turn: Turn, width: int) -> Iterator[str]:
    """What is known of a turn without asking git."""
    checkpoint = turn.checkpoint
    yield from wrapped(turn_label(checkpoint), width)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_of(checkpoint.id)))
    texts = {key: printable(checkpoint.meta.text(key)) for key in ("agent", "session")}
    session = texts["session"] and f"session {texts['session']}"
    yield from wrapped("  ".join(filter(None, (when, texts["agent"], session))), width)
    yield ""
    if asked := prompt_lines(checkpoint):
        beginnings = (line[:_LINE_LENGTH] for line in asked[: _PROMPT_LINES + 1])
        shown = (part for line in beginnings for part in [*wrapped(line, width)] or [""])
        first = [*islice(shown, _PROMPT_LINES + 1)]
        yield from first[:_PROMPT_LINES]
        yield from ["… and more: 'git boocode show' prints it whole"][: len(first) - _PROMPT_LINES]
        yield ""


def wrapped(text: str, width: int) -> Iterator[str]:
    """The words of a text on lines of a width."""
    line = ""
    for word in text.split():
        if line and display_width(f"{line} {word}") > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while display_width(line) > width > 2:
            # Without the ellipsis.
            first = cut(line, width)[:-1]
            yield first
            line = line[len(first) :]
    if line:
        yield line


def begin_diff(repository: Repository, compared: Sequence[str], width: int) -> Running:
    """Start git, which writes a summary of what changed between two states, and the diff."""
    git = without_index(repository.git.bind(cwd=repository.directory))
    options = (
        "-r",
        rename_option(repository),
        "-p",
        f"--stat={max(width, 20)}",
        f"--stat-count={_STAT_FILES}",
    )
    safe = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
    return git.begin("diff-tree", *options, *safe, *compared)


def diff_lines(content: bytes, paint: Callable[[str], str]) -> list[str]:
    """The lines of a diff's first `PREVIEW_SIZE` bytes, painted."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")[:-1]
    shown = [paint(printable(line.translate(_CARETS).expandtabs())) for line in lines]
    if len(content) == PREVIEW_SIZE:
        shown.append("… and more: Ctrl-D shows all")
    return shown or ["no changes"]
