"""What a command prints: JSON, text as git writes it, warnings, questions, progress, colour."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from typing import IO, TYPE_CHECKING, TextIO

from git_boocode.cli.options import output_options
from git_boocode.repo.config import Config
from git_boocode.repo.errors import BoocodeError, FatalError, RefusedError, from_os
from git_boocode.repo.git import Git, clean_environment, wait_in_foreground
from git_boocode.repo.ids import ID, SHORT_ID
from git_boocode.repo.lock import is_noted

if TYPE_CHECKING:
    from git_boocode.checkpoints.store.catalog import Checkpoint
    from git_boocode.repo.repository import Repository

# What steers a terminal: control characters of ASCII and beyond, what turns the direction of text,
# and bytes that are no UTF-8 but control characters in other encodings.
_STEERING = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_IN_JSON = f"[{_STEERING}\ud800-\udfff]"
_CONTROL = f"[\x00-\x08\x0b-\x1f{_STEERING}\udc80-\udc9f]"
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f"}
_ESCAPES |= {"\r": "\\r", '"': '\\"', "\\": "\\\\"}
_FIRST_LINES = 20  # of a long list
_INTERVAL = 1.0  # Seconds of work before its progress is shown, and shown again.
_SEQUENCES = {
    "bold": "\033[1m",
    "red": "\033[31m",
    "green": "\033[32m",
    "yellow": "\033[33m",
    "cyan": "\033[36m",
    "bold red": "\033[1;31m",
    "bold yellow": "\033[1;33m",
}
_RESET = "\033[m"
_HEADS = ("diff --git", "index", "old mode", "new", "deleted", "similarity", "rename")
_DIFF_LINES = (
    *((f"{head} ", "meta", "bold") for head in _HEADS),
    ("--- ", "meta", "bold"),
    ("+++ ", "meta", "bold"),
    ("@@ ", "frag", "cyan"),
    ("-", "old", "red"),
    ("+", "new", "green"),
)


def wants_json() -> bool:
    """Whether the answer of the command is one JSON object."""
    return output_options().as_json


class _StandardOutput:
    """Whether a part of the answer has been written, and the command line that it answers."""

    has_begun = False
    words: tuple[str, ...] = ()


def begin_answer(words: Sequence[str]) -> None:
    """Note the arguments after `git boocode`, and that nothing has been written yet."""
    _StandardOutput.has_begun, _StandardOutput.words = False, tuple(words)


def encode_json(payload: Mapping[str, object]) -> bytes:
    r"""One JSON object as UTF-8; bytes of a path that are not UTF-8 appear as `\udcXX`.

    So does whatever could steer a terminal.
    """
    text = json.dumps(payload, ensure_ascii=False)
    return re.sub(_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def print_json(payload: Mapping[str, object]) -> None:
    """Write the one JSON object of a command to standard output."""
    write_output(encode_json(payload))


def print_failure(error: BoocodeError) -> bool:
    """Print an error as the one JSON object; False if that is impossible, as there is another."""
    if _StandardOutput.has_begun or error.code == "output":
        return False
    with suppress(FatalError):
        print_json(error.as_json(_StandardOutput.words))
        return True
    return False


def print_text(text: str, *, to_stderr: bool = False) -> None:
    """Write a line of text as UTF-8, whatever the locale; undecodable bytes pass unchanged."""
    data = encode_text(text) + b"\n"
    if not to_stderr:
        write_output(data)
        return
    try:
        sys.stderr.flush()
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
    except OSError:
        # There is nowhere to report it, and the command goes on.
        discard_output(sys.stderr)


def print_feedback(text: str, *, dry_run: bool = False) -> None:
    """Print what was done, unless `-q` is given; the output of a dry run is what was asked for."""
    if dry_run or not output_options().quiet:
        print_text(text)


def write_output(data: bytes) -> None:
    """Write bytes to standard output; FatalError if that is not possible."""
    _StandardOutput.has_begun = True
    with _written_out():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def _written_out() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise FatalError(
            f"cannot write standard output: {(error.strerror or str(error)).lower()}",
            code="output",
            hints=("what the command was asked to do has been done; only its answer is lost",),
        ) from error


def discard_output(stream: TextIO | None = None) -> None:
    """Send standard output nowhere: what is still buffered could not be written at exit either."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, (stream or sys.stdout).fileno())
    os.close(descriptor)


def encode_text(text: str) -> bytes:
    """Text as UTF-8; bytes that were not UTF-8 pass unchanged, a stray surrogate becomes `?`."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def printable(text: str) -> str:
    """Text from elsewhere on one line, without a character that could steer a terminal."""
    return _harmless(text.replace("\n", " "))


def _harmless(text: str) -> str:
    # In the C locale, what came from the command line is one surrogate for each byte of UTF-8.
    return re.sub(_CONTROL, "?", encode_text(text).decode("utf-8", "surrogateescape"))


def quote_path(path: str) -> str:
    """A path as git shows it: in C quotes if it holds control characters, quotes or no UTF-8."""
    quoted = "".join(map(_quote_character, path))
    return path if quoted == path else f'"{quoted}"'


def _quote_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character < " " or "\ud800" <= character <= "\udfff" or re.match(_CONTROL, character):
        return "".join(f"\\{byte:03o}" for byte in encode_text(character))
    return character


def label_of(checkpoint: Checkpoint) -> str:
    """The label of a checkpoint; of the state before an operation, which operation that was.

    The text is safe to print, and empty if there is no label.
    """
    from git_boocode.checkpoints.restore.plan import read_plan
    from git_boocode.checkpoints.restore.request import RESTORE, UNDO
    from git_boocode.checkpoints.store.catalog import SAFETY_KIND

    is_safety = checkpoint.meta.text("kind") == SAFETY_KIND
    if not is_safety or not (operation := read_plan(checkpoint)).kind:
        return printable(checkpoint.meta.shown("label"))
    if operation.proposal is not None and operation.kind == RESTORE:
        return f"before '{printable(operation.proposal.change)}' of a proposal"
    if operation.kind != RESTORE:
        return f"before {'an' if operation.kind == UNDO else 'a'} {operation.kind}"
    target, step = operation.target, operation.step
    short = target[:SHORT_ID] if ID.fullmatch(target) else printable(target)
    if step is None or step.command == RESTORE:
        return f"before the restore to {short}"
    more = f" and {len(step.turns) - 1} more" if step.turns[1:] else ""
    return f"before the {printable(step.command)} of {short}{more}"


def counted(number: int, noun: str) -> str:
    """A number of things, such as `1 file` or `2 files`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def report(problem: BoocodeError | OSError) -> int:
    """Show an error where the caller looks for it, and return its exit code."""
    error = from_os(problem) if isinstance(problem, OSError) else problem
    # If that is not possible, the error is shown on standard error.
    if wants_json() and print_failure(error):
        return error.exit_code
    severity = "fatal" if error.exit_code == BoocodeError.exit_code else "error"
    severity = "error" if isinstance(error, RefusedError) else severity
    config = config_here()
    style = _stderr_style(config)
    text = "\n".join(filter(None, (error.message, error.usage)))
    first, *more = _harmless(text.replace("\r", "")).split("\n")
    for line in (f"{style(f'{severity}:', 'bold red')} {first}", *more):
        print_text(line, to_stderr=True)
    _print_hints(error.hints, config)
    return error.exit_code


def first_lines(lines: Sequence[str]) -> Sequence[str]:
    """The first lines of a list that may be long, and how many follow; with `-v` all of them."""
    more = len(lines) - _FIRST_LINES
    if more <= 0 or output_options().verbose:
        return lines
    margin = " " if lines[0].startswith(" ") else ""
    return [*lines[:_FIRST_LINES], f"{margin}… and {more:,} more (-v lists all)"]


def warn(message: str, hints: tuple[str, ...] = ()) -> None:
    """Print a warning to standard error, as git does."""
    config = config_here()
    label = _stderr_style(config)("warning:", "bold yellow")
    print_text(f"{label} {printable(message)}", to_stderr=True)
    print_hints(hints, config)


def print_hints(hints: tuple[str, ...], config: Config | None = None) -> None:
    """Print `hint: ` lines to standard error, unless `-q` is given or `advice.boocode` is false.

    Without a `config` at hand, git is asked: the repository may be what failed.
    """
    if hints and not output_options().quiet:
        _print_hints(hints, config or config_here())


def _print_hints(hints: tuple[str, ...], config: Config) -> None:
    with suppress(BoocodeError):
        if not config.boolean("advice.boocode", default=True):
            return
    if not hints:
        return
    style = _stderr_style(config, "color.advice")
    colour = slot_colour(config, "color.advice.hint", "yellow") if style.enabled else ""
    for line in "\n".join(hints).split("\n"):
        print_text(style(f"hint: {_harmless(line)}".rstrip(), colour), to_stderr=True)


def _stderr_style(config: Config, key: str = "color.ui") -> Style:
    return Style(enabled=colour_wanted(config, key, on_stderr=True))


@cache
def config_here() -> Config:
    """The configuration of the current directory, read once; empty if git cannot read it."""
    with suppress(BoocodeError, OSError):
        return Config.read(Git(".", clean_environment(os.environ)))
    return Config({})


def warn_of_interruption(repository: Repository) -> None:
    """Warn if an earlier restore or edit was killed half-way."""
    # Nearly always nothing is noted, so looking must not load what reads it.
    if is_noted(repository.state_dir):
        from git_boocode.workflows.restore_with_edits import interruptions

        for found in interruptions(repository):
            warn(found.message, found.hints)


def can_ask() -> bool:
    """Whether there is someone who sees a question and can answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> str:
    """What the user answers; empty at the end of the input."""
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        # By Ctrl-D: the cursor is still behind the question.
        print_text("", to_stderr=True)
    return answer.strip()


def agrees(question: str) -> bool:
    """Whether the user answers with yes; anything else is a no."""
    return ask(f"{question} [y/N]").lower() in ("y", "yes")


def _exists(pager: str) -> bool:
    import shlex
    import shutil

    try:
        words = shlex.split(pager)
    except ValueError:
        # The shell will report what it does not understand.
        return True
    commands = [word for word in words if not re.match(r"[A-Za-z_]\w*=", word)]
    return bool(commands) and shutil.which(commands[0]) is not None


@contextmanager
def paged(git: Git) -> Iterator[IO[bytes]]:
    """A stream for long output: the pager of the user's git on a terminal, or standard output."""
    pager = git.line("var", "GIT_PAGER") if sys.stdout.isatty() else "cat"
    if pager in ("", "cat") or not _exists(pager):
        with _written_out():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    environ = {"LESS": "FRX", "LV": "-c", **os.environ}
    # The pager is the user's own command line, which git too hands to the shell.
    process = subprocess.Popen(["sh", "-c", pager], stdin=subprocess.PIPE, env=environ)
    assert process.stdin is not None
    try:
        # If the pipe breaks, the reader has seen enough and left the pager.
        with suppress(BrokenPipeError):
            yield process.stdin
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        wait_in_foreground(process)


@contextmanager
def progress(repository: Repository | None, doing: str) -> Iterator[None]:
    """Show on a terminal's standard error what is being done, once it has taken a second.

    `doing` is a present participle and its object, such as `restoring files`. While something is
    counted, the count is shown instead.
    """
    if not _is_watched():
        yield
        return
    line = _ProgressLine(doing)
    try:
        with repository.observed(line.count) if repository else nullcontext():
            yield
    finally:
        line.end()


def _is_watched() -> bool:
    return not (wants_json() or output_options().quiet) and sys.stderr.isatty()


class _ProgressLine:
    """A line of text that follows the work, once a second."""

    def __init__(self, doing: str) -> None:
        self._doing = f"{doing}…"
        self._counted = ("", 0, 0)
        self._shown = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def count(self, doing: str, done: int, total: int) -> None:
        """See `git_boocode.repo.git.Observer`."""
        self._counted = (doing, done, total)

    def end(self) -> None:
        """Remove the line."""
        self._ended.set()
        self._thread.join()
        self._write("")

    def _follow(self) -> None:
        while not self._ended.wait(_INTERVAL):
            doing, done, total = self._counted
            number = f"{done:,} of {total:,}" if total else f"{done:,}"
            self._write(doing.format(number) if doing else self._doing)

    def _write(self, text: str) -> None:
        if text == self._shown:
            return
        # With spaces, which any terminal understands.
        gone = " " * len(self._shown)
        self._shown = text
        with suppress(OSError):
            sys.stderr.write(f"\r{gone}\r{text}")
            sys.stderr.flush()


@contextmanager
def relay() -> Iterator[Callable[[str], None] | None]:
    """A function that prints lines of git on a terminal's standard error, after a second.

    Control characters are replaced, as the lines may come from a remote. None if nobody watches.
    """
    if not _is_watched():
        yield None
        return
    begin, last = time.monotonic() + _INTERVAL, "\n"

    def show(line: str) -> None:
        nonlocal last
        if time.monotonic() >= begin:
            last = line
            # A line that ends in a carriage return is written over.
            sys.stderr.buffer.write(encode_text(f"{printable(line[:-1])}\033[K{line[-1:]}"))
            sys.stderr.flush()

    try:
        yield show
    finally:
        if not last.endswith("\n"):
            _clear()


def _clear() -> None:
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()


# Colour, by git's own settings, `--no-color` and NO_COLOR.


class Style:
    """Paints text, or leaves it as it is where colour is not wanted."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled

    def __call__(self, text: str, colour: str) -> str:
        """Text in one of git's colours, or after an escape sequence of the user's."""
        return f"{_SEQUENCES.get(colour, colour)}{text}{_RESET}" if self.enabled else text


def output_style(config: Config) -> Style:
    """What paints text on standard output."""
    return Style(enabled=colour_wanted(config))


def colour_wanted(config: Config, key: str = "color.ui", *, on_stderr: bool = False) -> bool:
    """Whether a standard stream takes colour, by `key`, `color.ui` and whether it is a terminal."""
    if colour_forbidden(config, key):
        return False
    # `git -p` has a pager run before it runs us.
    paged = not on_stderr and os.environ.get("GIT_PAGER_IN_USE") == "true"
    watched = paged or (sys.stderr if on_stderr else sys.stdout).isatty()
    when = _when(config, key)
    is_capable = os.environ.get("TERM", "dumb") != "dumb"
    return when == "always" or (when == "auto" and watched and is_capable)


def colour_forbidden(config: Config, key: str) -> bool:
    """Whether `--no-color` is given, or NO_COLOR is set and the configuration not `always`."""
    if output_options().no_color:
        return True
    return bool(os.environ.get("NO_COLOR")) and _when(config, key) != "always"


def _when(config: Config, key: str) -> str:
    """When colour is wanted by a setting, or by `color.ui`: `always`, `never` or `auto`."""
    setting = config.setting(key) or config.setting("color.ui")
    word = "auto" if setting is None or setting.value is None else setting.value.lower()
    if word == "always":
        return word
    return "never" if word in ("never", "false", "no", "off", "0") else "auto"


def slot_colour(config: Config, key: str, default: str) -> str:
    """The escape sequence that is configured for a part of git's output, or the default colour."""
    if config.setting(key) is not None:
        with suppress(BoocodeError):
            git = Git(".", clean_environment(os.environ))
            return git.line("config", "--get-color", key, default)
    return default


def diff_painter(config: Config) -> Callable[[str], str]:
    """A function that paints a line of a unified diff as `git diff` does."""
    if not colour_wanted(config, "color.diff"):
        return lambda line: line
    style = Style(enabled=True)
    colours = [
        (start, slot_colour(config, f"color.diff.{slot}", default))
        for start, slot, default in _DIFF_LINES
    ]

    def paint(line: str) -> str:
        for start, colour in colours:
            if line.startswith(start):
                return style(line, colour)
        return line

    return paint
