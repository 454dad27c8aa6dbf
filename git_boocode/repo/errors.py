"""Errors that are reported to the user: what failed, how severe it is, and what to do next."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

EXIT_REFUSED = 1
EXIT_FATAL = 128
EXIT_USAGE = 129
NEEDS = "{} needs {}"
_CONTROLS = {number: f"\\{number:03o}" for number in (*range(32), 127)}
MAKE_ROOM = "free some space on the disk of the repository, then run the command again"


def shortened(text: str, most: int = 60) -> str:
    """User input, shortened to a number of characters for an error message."""
    return text if len(text) <= most else f"{text[:most]}…"


def first_few(names: Sequence[object], most: int) -> str:
    """The first few of some names, and the number of the others."""
    shown = ", ".join(map(str, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def shell_command(*words: str) -> str:
    """A command to show to the user, quoted so that a shell runs exactly these words."""
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "\\'").translate(_CONTROLS)
    # On one line, also with a name that has several.
    return shlex.quote(word) if word == word.translate(_CONTROLS) else f"$'{escaped}'"


class NextStep(str):
    """A hint that names something that works, which programs get as data.

    It is a string in the words of the command line, made from `text`, whose last `{}` stands for
    what to type: `typed`, or the option `name` with its `value`. `name` is an option of the command
    that failed, or else another command, and `value` an argument of it. `rest` follows as it is:
    names of files may hold a `{}`, too.
    """

    __slots__ = ("name", "rest", "text", "value")
    text: str
    name: str
    value: str
    rest: str

    def __new__(
        cls, text: str, name: str, value: str = "", *, typed: str = "", rest: str = ""
    ) -> Self:
        """See the class."""
        option = f"--{name.replace('_', '-')} {value}".rstrip()
        step = super().__new__(cls, _filled(text, typed or option) + rest)
        step.text, step.name, step.value, step.rest = text, name, value, rest
        return step

    def worded(self, step: str) -> str:
        """The hint of a front end that calls the step by another name."""
        return _filled(self.text, step) + self.rest

    def as_json(self) -> str:
        """Such as `undo`, `files_only` or `force=ignored`."""
        return f"{self.name}={self.value}" if self.value else self.name


def step_that(does: str, command: str, name: str, value: str, about: str = "") -> NextStep:
    """The hint at a command by what it does, such as `reverts both`; `about` follows that."""
    if "'" in command:
        # In quotes, it could not be copied.
        return NextStep(f"this {does}{about}: {{}}", name, value, typed=command)
    return NextStep(f"{{}} {does}", name, value, typed=f"'{command}'", rest=about)


def _filled(text: str, step: str) -> str:
    before, place, after = text.rpartition("{}")
    return f"{before}{step}{after}" if place else text


class BoocodeError(Exception):
    """An error to show to the user.

    `message` names what failed and where, in lowercase and without a full stop. `code` is the
    stable identifier in `--json`. `hints` suggest what to do next; each `NextStep` among them is in
    the JSON answer as well. `details` are further keys of that answer. `usage` is the usage line of
    a command that was called wrongly.
    """

    exit_code = EXIT_FATAL
    usage = ""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hints: tuple[str, ...] = (),
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hints = hints
        self.details = dict(details or {})

    @property
    def next_steps(self) -> tuple[str, ...]:
        """What works, for programs: options and other commands."""
        return tuple(hint.as_json() for hint in self.hints if isinstance(hint, NextStep))

    def as_json(self) -> dict[str, object]:
        """The JSON answer that reports this error."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.usage:
            error["usage"] = " ".join(self.usage.split())
        if self.hints:
            error["hint"] = "\n".join(self.hints)
        if self.next_steps:
            error["next"] = [*self.next_steps]
        return {"ok": False, **self.details, "error": error}


class RefusedError(BoocodeError):
    """A refusal or a negative answer; nothing was changed (exit 1)."""

    exit_code = EXIT_REFUSED


class FatalError(BoocodeError):
    """The command failed (exit 128)."""


class UsageError(BoocodeError):
    """The command line is invalid (exit 129)."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, usage: str = "", hints: tuple[str, ...] = ()) -> None:
        super().__init__(message, code="usage", hints=hints)
        self.usage = usage


class ArgumentError(ValueError):
    """Invalid arguments of a service: some that exclude each other, or a wrong value of one.

    `names` are the arguments as the service spells them, in the order of the `{}` in `problem`. A
    front end reports the same problem by its own names.
    """

    def __init__(self, problem: str, *names: str) -> None:
        self.problem, self.names = problem, names
        super().__init__(problem.format(*(f"'{name}'" for name in names)))


def refuse_combined(**given: object) -> None:
    """Refuse arguments of which only one may be given (ArgumentError)."""
    names = [name for name, value in given.items() if value]
    if len(names) > 1:
        places = ", ".join(["{}"] * (len(names) - 1))
        raise ArgumentError(f"{places} and {{}} cannot be used together", *names)


def refuse_without(needed: str, **given: object) -> None:
    """Refuse arguments that only another one gives a meaning (ArgumentError)."""
    for name, value in given.items():
        if value:
            raise ArgumentError(NEEDS, name, needed)


def refuse_unknown(name: str, values: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a value of an argument that is not among the known ones (ArgumentError)."""
    for value in values:
        if value not in known:
            shown = shortened(value).replace("{", "{{").replace("}", "}}")
            choices = ", ".join(known)
            raise ArgumentError(f"invalid value for {{}}: '{shown}' is not one of {choices}", name)


class CommandError(BoocodeError):
    """The user's command cannot be executed (exit 126) or does not exist (127)."""

    def __init__(self, message: str, *, found: bool, hints: tuple[str, ...] = ()) -> None:
        super().__init__(message, code="not_run" if found else "command_not_found", hints=hints)
        self.exit_code = 126 if found else 127  # as in a shell


def as_error(error: Exception) -> BoocodeError:
    """An exception as an error that can be shown; one that is not ours is a bug."""
    if isinstance(error, BoocodeError):
        return error
    if isinstance(error, ArgumentError):
        return UsageError(str(error))
    return from_os(error) if isinstance(error, OSError) else unexpected(error)


def unexpected(error: Exception) -> FatalError:
    """The error for a bug; with `GIT_BOOCODE_DEBUG`, prints where it happened to standard error."""
    from git_boocode import __version__

    hints = [f"this is a bug in git-boocode {__version__}; please report the command and the error"]
    if os.environ.get("GIT_BOOCODE_DEBUG", "0") != "0":
        import traceback

        traceback.print_exc()
    else:
        hints.append("GIT_BOOCODE_DEBUG=1 shows where it happened")
    name = type(error).__name__
    return FatalError(f"unexpected {name}: {error}", code="bug", hints=tuple(hints))


def from_os(error: OSError) -> FatalError:
    """Convert an error of the operating system."""
    where = f"cannot use '{os.fsdecode(error.filename)}': " if error.filename is not None else ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return FatalError(
        where + (error.strerror or str(error)).lower(),
        code="disk_full" if full else "io",
        hints=(MAKE_ROOM,) if full else (),
    )
