"""Errors that are reported to the user: what failed, how severe it is, and what to do next."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
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


_OTHER_COMMANDS = {
    "checkpoint": "label",
    "diff": "",
    "discard": "paths",
    "doctor": "",
    "log": "",
    "pick": "turns",
    "preview": "path",
    "propose": "",
    "read": "path",
    "restore": "checkpoint",
    "revert": "turns",
    "rewind": "edit",
    "show": "name",
    "status": "",
    "turn": "action",
    "undo": "",
}
"""The commands that are next steps, and the argument that the value of such a step is.

Of those without one, it is an option that has no value.
"""
_WITHOUT_TOOL = ("doctor",)
_NEED_VALUE = ("hunk", "paths", "label")
RETRY = "retry"
"""The step that is the same call once more."""
_LISTS = ("hunk", "paths")
_COMMAND = re.compile(r"'git boocode ([a-z]{1,30})[^']{0,500}'")


class NextStep(str):
    """A hint that names something that works, which programs get as data.

    It is a string in the words of the command line, made from `text`, whose last `{}` stands for
    what to type: `typed`, or the option `name` with its `value`. `name` is an option of the command
    that failed, or else another command, and `value` an argument of it. `rest` follows as it is:
    names of files may hold a `{}`, too. `given` are the arguments, if they are others than these;
    None is one that has to go.
    """

    __slots__ = ("given", "name", "rest", "text", "typed", "value")
    text: str
    name: str
    value: str
    typed: str
    rest: str
    given: Mapping[str, object] | None

    def __new__(
        cls,
        text: str,
        name: str,
        value: str = "",
        *,
        typed: str = "",
        rest: str = "",
        given: Mapping[str, object] | None = None,
    ) -> Self:
        """See the class."""
        option = f"--{name.replace('_', '-')} {value}".rstrip()
        step = super().__new__(cls, _filled(text, typed or option) + rest)
        step.text, step.name, step.value = text, name, value
        step.typed, step.rest, step.given = typed or option, rest, given
        return step

    def worded(self, step: str) -> str:
        """The hint of a front end that calls the step by another name."""
        return _filled(self.text, step) + self.rest

    @property
    def is_other_command(self) -> bool:
        """Whether it is another command than the one that failed."""
        return self.name in _OTHER_COMMANDS

    @property
    def arguments(self) -> Mapping[str, object] | None:
        """The arguments of the step; None if it takes a value that the user has to choose."""
        if self.given is not None or self.name == RETRY:
            return self.given or {}
        if not self.value:
            if self.is_other_command:
                return {}
            return None if self.name in _NEED_VALUE else {self.name: True}
        name = _OTHER_COMMANDS.get(self.name, self.name)
        if name == "force":
            return {name: self.value.split(",")}
        if name == "turns":
            return {name: self.value.split()}
        return (
            {name: [self.value] if name in _LISTS else self.value} if name else {self.value: True}
        )

    @property
    def plain(self) -> str:
        """What it does, in words without the syntax of a command line."""
        text = self.text
        if re.match(r"\{\} (?!and\b|or\b)", text):
            text = text[3:]
        else:
            text = re.sub(r": \{\}.*| with \{\}", "", text, flags=re.DOTALL)
        text = _filled(text, self.name.replace("_", " "))
        return _COMMAND.sub(r"\1", text).replace("--", "") + self.rest

    def as_json(self, words: Sequence[str] = ()) -> dict[str, object]:
        """The step for programs; `words` are the command line that failed, if there was one."""
        typed = self.typed.removeprefix("'").removesuffix("'")
        is_whole = typed.startswith("git ")
        answer: dict[str, object] = {"step": self.name}
        if self.is_other_command and self.name not in _WITHOUT_TOOL:
            answer["tool"] = self.name
        if self.arguments is not None and self.name not in _WITHOUT_TOOL:
            answer["arguments"] = dict(self.arguments)
        answer["text"] = self.plain
        if is_whole:
            answer["command"] = typed
        elif words and not (self.is_other_command or self.given):
            # The command line that failed, with this option.
            dashes = words.index("--") if "--" in words else len(words)
            options = [word for word in words[:dashes] if word != "--json"]
            options += self.typed.split() if self.name != RETRY else []
            answer["command"] = shell_command("git", "boocode", *options, *words[dashes:])
        return answer


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
    def next_steps(self) -> tuple[NextStep, ...]:
        """What works, for programs: options and other commands."""
        return tuple(hint for hint in self.hints if isinstance(hint, NextStep))

    def as_json(self, words: Sequence[str] = ()) -> dict[str, object]:
        """The JSON answer that reports this error; `words` are the command line that failed."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.usage:
            error["usage"] = " ".join(self.usage.split())
        if self.hints:
            error["hint"] = "\n".join(self.hints)
        if self.next_steps:
            error["next"] = [step.as_json(words) for step in self.next_steps]
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
    """The error for a bug; with `GIT_BOOCODE_DEBUG`, prints where it happened to standard error.

    A package is missing if `pip install --user` took it for installed because one Python has it,
    and another one of the same version starts us.
    """
    from git_boocode import __version__

    if isinstance(error, ModuleNotFoundError):
        return FatalError(
            f"the Python '{sys.executable}' lacks the package '{error.name}'",
            code="broken_installation",
            hints=("install git-boocode into an environment of its own: pipx install git-boocode",),
        )
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
