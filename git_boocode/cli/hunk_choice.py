"""Choose hunks of a proposal one by one, as `git add -p` does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from git_boocode.cli.colour import diff_painter
from git_boocode.cli.output import ask, print_text, printable, quote_path
from git_boocode.editing.text_changes import unified_diff
from git_boocode.proposals.proposal import ContextFile
from git_boocode.proposals.review import ChosenPart, Review
from git_boocode.repo.errors import RefusedError

_KEYS = "y,n,q,a,d,?"
_HELP = """y - {verb} this hunk
n - leave this hunk as it is
q - quit; leave this hunk and all others as they are
a - {verb} this hunk and all later ones of the file
d - leave this hunk and all later ones of the file
? - print help"""


class _QuitError(Exception):
    """The user wants no more questions."""


def choose_hunks(review: Review, paths: Sequence[str], verb: str) -> ChosenPart | None:
    """Ask for each hunk of what is proposed for some paths; None if none is chosen."""
    chosen = dict[str, set[int]]()
    try:
        for file in review.pending(paths, verb):
            for number in _choose(review, file, verb):
                chosen.setdefault(file.path, set()).add(number)
    except _QuitError:
        pass
    if not chosen:
        return None
    names = tuple(os.path.join(review.workspace.top, path) for path in chosen)
    hunks = {path: found for path, found in chosen.items() if 0 not in found}
    return ChosenPart(names, hunks, review.newest.id if review.newest else "")


def _choose(review: Review, file: ContextFile, verb: str) -> Iterator[int]:
    """The numbers that the user chooses of one file; 0 for all of it."""
    assert review.workspace.repository is not None
    paint = diff_painter(review.workspace.repository.config)
    try:
        numbers, why = [hunk.number for hunk in review.hunks_of(file)], ""
    except RefusedError as error:
        numbers, why = [], f"\n{printable(error.message)}"
    rest = ""
    for at, number in enumerate(numbers or [0], 1):
        if rest != "a":
            shown = _diff(review, file, number) if number else f"{_change(file)}{why}"
            print_text("\n".join(paint(printable(line)) for line in shown.splitlines()))
            rest = _answer(verb, "hunk" if number else "change", at, len(numbers) or 1)
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


def _diff(review: Review, file: ContextFile, number: int) -> str:
    """One hunk with lines around it."""
    old, _ = review.sides(file)
    return unified_diff(file.path, old, review.part_of(file, {number}))


def _change(file: ContextFile) -> str:
    names = " -> ".join(map(quote_path, file.paths))
    modes = [version.mode for version in (file.context, file.output) if version]
    what = f" (mode {modes[0]} -> {modes[1]})" if len({*modes}) > 1 else ""
    return f"{file.change} {names}{what}"
