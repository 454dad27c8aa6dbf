"""Choose hunks of changed files: by number, or by questions as `git add -p` asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from git_boocode.cli.framework import AtLeast, option
from git_boocode.cli.output import ask, can_ask, diff_painter, print_text, printable
from git_boocode.repo.errors import UsageError

if TYPE_CHECKING:
    from git_boocode.repo.repository import Repository
    from git_boocode.workflows.restore_parts import ChangedFile

LETTERS = {"modify": "M", "create": "A", "delete": "D", "rename": "R"}
"""Letters of the actions on files."""
WHOLE = frozenset({0})
"""What is chosen of a file that is taken as a whole."""
_KEYS = "y,n,q,a,d,?"
_HELP = """y - {verb} this hunk
n - leave this hunk as it is
q - quit; leave this hunk and all others as they are
a - {verb} this hunk and all later ones of the file
d - leave this hunk and all later ones of the file
? - print help"""

hunk_option = option(
    "--hunk <n>",
    "Only this hunk of the file; several may be given.",
    "numbers",
    type=AtLeast(1),
    multiple=True,
)
diff_option = option("--diff", "Show the resulting diff, as git apply takes it.", "show_diff")
patch_option = option("-p, --patch", "Choose hunks interactively.")


def not_empty(_: click.Context, __: click.Parameter, value: str | None) -> str:
    """What is expected, empty if nothing is; an empty value of a script must not mean anything."""
    if value == "":
        raise click.BadParameter("it is empty")
    return value or ""


expect_option = option(
    "--expect <version>", "With --hunk, the file's version in a dry run.", callback=not_empty
)


class FileChoice(NamedTuple):
    """A changed file: the numbers of its hunks, and what is shown of each."""

    path: str
    numbers: Sequence[int]  # empty if it has no hunks and is taken as a whole
    show: Callable[[int], str]  # the diff of a hunk by its number; of 0, the change as a whole


class _QuitError(Exception):
    """The user wants no more questions."""


def refuse_without_terminal(example: str) -> None:
    """Refuse `--patch` where nobody can be asked; `example` is a command that names hunks."""
    if not can_ask():
        message = "--patch asks questions, which needs a terminal"
        raise UsageError(message, hints=(f"name hunks: {example}",))


def choose_hunks(
    files: Iterable[FileChoice], verb: str, paint: Callable[[str], str]
) -> dict[str, frozenset[int]]:
    """Ask for each hunk of some files; returns the numbers of the chosen ones, or WHOLE, by path.

    `verb` is what is done with a chosen hunk, `paint` colours a line of a diff.
    """
    chosen = dict[str, frozenset[int]]()
    try:
        for file in files:
            for number in _chosen_of(file, verb, paint):
                chosen[file.path] = chosen.get(file.path, frozenset()) | {number}
    except _QuitError:
        pass
    return chosen


def choose_parts(
    repository: Repository, files: Iterable[ChangedFile], verb: str
) -> tuple[dict[str, frozenset[int]], dict[str, str]]:
    """Ask for each hunk of some files; returns the chosen numbers and the versions, by path.

    Says so if nothing was chosen.
    """
    seen = dict[str, str]()

    def choices() -> Iterator[FileChoice]:
        for file in files:
            seen[file.path] = file.version
            yield FileChoice(file.path, file.numbers, file.diff)

    chosen = choose_hunks(choices(), verb, diff_painter(repository.config))
    if not chosen:
        print_text("nothing was changed")
    return chosen, {path: seen[path] for path in chosen}


def _chosen_of(file: FileChoice, verb: str, paint: Callable[[str], str]) -> Iterator[int]:
    numbers = file.numbers or [0]
    rest = ""
    for at, number in enumerate(numbers, 1):
        if rest != "a":
            shown = file.show(number)
            print_text("\n".join(paint(printable(line)) for line in shown.splitlines()))
            rest = _answer(verb, "hunk" if number else "change", at, len(numbers))
        if rest == "d":
            return
        if rest in ("y", "a"):
            yield number


def _answer(verb: str, noun: str, at: int, count: int) -> str:
    while True:
        key = ask(f"({at}/{count}) {verb.capitalize()} this {noun} [{_KEYS}]?").lower()[:1]
        if key in ("q", ""):
            # The end of the input, too.
            raise _QuitError
        if key in ("y", "n", "a", "d"):
            return key
        print_text(_HELP.format(verb=verb))
