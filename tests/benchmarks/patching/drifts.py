"""The ways in which hunks drift from the file that are the same in every format."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from tests.benchmarks.drifts import typo
from tests.benchmarks.hunks import lines_of, picked, require
from tests.benchmarks.patching.cases import Drift, Told
from tests.benchmarks.patching.edits import Change, Edit, Hunk, distinct, hunks_of

Body = list[tuple[str, str]]
Place = tuple[int, int]

_STRUCTURAL = re.compile(r"\s*(?:[\])};,]*|(?:#|//).*)\n")


def clean(edit: Edit, rng: random.Random) -> Told:
    """No drift at all."""
    return Told(edit, hunks_of(edit))


def _rewritten(edit: Edit, change: Callable[[Hunk], Body]) -> Told:
    """All hunks told otherwise."""
    hunks = hunks_of(edit)
    told = tuple(hunk._replace(body=tuple(change(hunk))) for hunk in hunks)
    require(told != hunks and all(hunk.old != hunk.new for hunk in told))
    return Told(edit, told)


def _context(hunks: tuple[Hunk, ...]) -> Iterator[tuple[Place, int, str]]:
    """The context lines: hunk and place in its body, number in the file, text."""
    for which, hunk in enumerate(hunks):
        number = hunk.start
        for at, (mark, line) in enumerate(hunk.body):
            if mark == " ":
                yield (which, at), number, line
            number += mark != "+"


def _around(hunks: tuple[Hunk, ...]) -> list[tuple[Place, int, str]]:
    """The context lines before and after all changes of their hunk that stand in it but once.

    Old and new text alone tell of no other line for certain whether it is kept.
    """
    found = []
    for which, hunk in enumerate(hunks):
        marks = [mark == " " for mark, _ in hunk.body]
        first, last = marks.index(False), len(marks) - marks[::-1].index(False)
        found += [
            item
            for item in _context(hunks)
            if item[0][0] == which
            and not first <= item[0][1] < last
            and item[2].strip()
            and [line.strip() for _, line in hunk.body].count(item[2].strip()) == 1
        ]
    return found


def _inner(hunks: tuple[Hunk, ...]) -> list[Place]:
    """Context lines between context lines: no change begins or ends at them."""
    context = {place for place, _, _ in _context(hunks)}
    return [
        (which, at)
        for which, at in sorted(context)
        if {(which, at - 1), (which, at + 1)} <= context
    ]


def _spliced(hunks: tuple[Hunk, ...], place: Place, lines: Body, drop: int = 0) -> tuple[Hunk, ...]:
    which, at = place
    body = hunks[which].body
    changed = hunks[which]._replace(body=(*body[:at], *lines, *body[at + drop :]))
    return (*hunks[:which], changed, *hunks[which + 1 :])


def one_typo(edit: Edit, rng: random.Random) -> Told:
    """A typo in a context line."""
    hunks, change = hunks_of(edit), typo(rng)
    places = [(place, line) for place, _, line in _around(hunks) if change(line)]
    place, line = picked(places, rng)
    return Told(edit, _spliced(hunks, place, [(" ", change(line) or "")], 1))


def typo_removed(edit: Edit, rng: random.Random) -> Told:
    """A typo in a line that goes."""
    hunks, change = hunks_of(edit), typo(rng)
    places = [
        ((which, at), change(line))
        for which, hunk in enumerate(hunks)
        for at, (mark, line) in enumerate(hunk.body)
        if mark == "-"
    ]
    fitting = [
        (place, wrong)
        for place, wrong in places
        if wrong and (("+", wrong) not in hunks[place[0]].body)
    ]
    place, wrong = picked(fitting, rng)
    return Told(edit, _spliced(hunks, place, [("-", wrong)], 1))


def _stands_out(body: Sequence[tuple[str, str]], at: int) -> bool:
    """Whether a structural line is not one of several alike, of which any could be left out."""
    before, line, after = (body[at + step][1] for step in (-1, 0, 1))
    alike = line.strip() in (before.strip(), after.strip())
    return bool(_STRUCTURAL.fullmatch(line)) and not alike


def left_out(count: int) -> Drift:
    """So many structural lines left out, each between two context lines."""

    def drift(edit: Edit, rng: random.Random) -> Told:
        hunks = hunks_of(edit, 5)
        places = [(which, at) for which, at in _inner(hunks) if _stands_out(hunks[which].body, at)]
        which = rng.choice(places)[0] if places else -1
        chosen = [place for place in places if place[0] == which][-count:]
        require(len(chosen) == count and chosen[0][1] + 1 != chosen[-1][1])
        for place in reversed(chosen):
            hunks = _spliced(hunks, place, [], 1)
        return Told(edit, hunks)

    return drift


def invented(count: int) -> Drift:
    """So many lines among the context that the file does not have."""

    def drift(edit: Edit, rng: random.Random) -> Told:
        hunks = hunks_of(edit)
        places = _inner(hunks)
        which, at = picked(places, rng)
        line = hunks[which].body[at][1]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        lines = [(" ", f"{indent}imagined_{number} = nothing(here)\n") for number in range(count)]
        return Told(edit, _spliced(hunks, (which, at), lines))

    return drift


def unmarked(sent: str) -> str:
    """A patch whose context lines lack the space that marks them."""
    return re.sub(r"(?m)^ (?=.)", "", sent)


def among_shown(edit: Edit, rng: random.Random) -> Told:
    """A hunk without a change above the others."""
    hunks = hunks_of(edit)
    require(hunks[0].start >= 4)
    body = tuple((" ", line) for line in edit.lines[:3])
    return Told(edit, (Hunk(0, 0, body), *hunks))


def blanks_lost(edit: Edit, rng: random.Random) -> Told:
    """Trailing blanks of the file's context lines that the hunks do not have."""
    hunks = hunks_of(edit)
    return _with_blanks(edit, hunks, list(_context(hunks)), rng)


def blanks_lost_around(edit: Edit, rng: random.Random) -> Told:
    """The same on the lines that old and new text alone tell to be context."""
    hunks = hunks_of(edit)
    return _with_blanks(edit, hunks, _around(hunks), rng)


def _with_blanks(
    edit: Edit, hunks: tuple[Hunk, ...], places: list[tuple[Place, int, str]], rng: random.Random
) -> Told:
    lines = [(number, line) for _, number, line in places]
    chosen = rng.sample(lines, (len(lines) + 1) // 2)
    there = {
        number: line.rstrip("\n") + rng.choice((" ", "  ", "\t")) + "\n" for number, line in chosen
    }
    require(there)
    return Told(edit.with_lines(there), hunks)


def blanks_added(edit: Edit, rng: random.Random) -> Told:
    """Trailing blanks in the hunks' context lines that the file does not have."""
    require(not any(line.rstrip("\n").endswith((" ", "\t")) for line in _added(edit)))

    def change(hunk: Hunk) -> Body:
        return [
            (mark, line.rstrip("\n") + "  \n" if mark == " " and line.strip() else line)
            for mark, line in hunk.body
        ]

    return _rewritten(edit, change)


def _added(edit: Edit) -> Iterator[str]:
    return (line for change in edit.changes for line in change.new)


def dedented(edit: Edit, rng: random.Random) -> Told:
    """The indentation that all lines of a hunk share, left out."""

    def change(hunk: Hunk) -> Body:
        widths = [len(line) - len(line.lstrip(" ")) for _, line in hunk.body if line.strip()]
        width = min(widths, default=0)
        return [(mark, line[width:] if line.strip() else line) for mark, line in hunk.body]

    return _rewritten(edit, change)


def tabs_as_spaces(edit: Edit, rng: random.Random) -> Told:
    """A file with tabs, told with spaces."""

    def tabs(line: str) -> str:
        return re.sub(r"^(?: {4})+", lambda found: "\t" * (len(found[0]) // 4), line)

    tabbed = edit.mapped(tabs)
    require(not any(re.match("\t* ", line) for hunk in hunks_of(tabbed) for _, line in hunk.body))
    return _rewritten(tabbed, lambda hunk: [(mark, line.expandtabs(4)) for mark, line in hunk.body])


def crlf_file(edit: Edit, rng: random.Random) -> Told:
    """A file with CRLF, told with LF."""
    return Told(edit.mapped(lambda line: line.replace("\n", "\r\n")), hunks_of(edit))


def moved_since(edit: Edit, rng: random.Random) -> Told:
    """Other edits of the file since, before and between the hunks."""
    hunks, now = hunks_of(edit), edit
    for number, hunk in reversed(list(enumerate(hunks))):
        lines = [f"other edit {number} of {at}\n" for at in range(rng.randint(1, 60))]
        now = now.with_inserted(hunk.start, lines)
    return Told(now, hunks)


def typo_and_dedented(edit: Edit, rng: random.Random) -> Told:
    """A typo, and the indentation left out."""
    first, second = one_typo(edit, rng), dedented(edit, rng)
    hunks = []
    for wrong, bare in zip(first.hunks, second.hunks, strict=True):
        longer = max(len(line) - len(cut) for (_, line), (_, cut) in _pairs(wrong, bare))
        body = [
            (mark, line[max(longer, 0) :] if line.strip() else line) for mark, line in wrong.body
        ]
        hunks.append(wrong._replace(body=tuple(body)))
    return Told(edit, tuple(hunks))


def _pairs(one: Hunk, other: Hunk) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    yield from zip(one.body, other.body, strict=True)


LAND: dict[str, Drift] = {
    "clean": clean,
    "moved by other edits since": moved_since,
    "trailing blanks lost": blanks_lost,
    "trailing blanks added": blanks_added,
    "indentation dropped": dedented,
    "tabs as spaces": tabs_as_spaces,
    "CRLF file, LF text": crlf_file,
    "a typo in a context line": one_typo,
    "a typo in a removed line": typo_removed,
    "a typo, indentation dropped": typo_and_dedented,
    "a structural line left out": left_out(1),
}


LAND_AS_TEXTS: dict[str, Drift] = {**LAND, "trailing blanks lost": blanks_lost_around}
"""The same where old and new text are sent, which do not say line by line what is kept."""


def one_hunk(edit: Edit, rng: random.Random) -> Told:
    """One of the hunks, if it lies inside the file, so that its end tells nothing of its place."""
    hunks = hunks_of(edit)
    which = rng.randrange(len(hunks))
    hunk = hunks[which]
    inside = [
        change for change in edit.changes if hunk.start <= change.start and change.stop <= hunk.stop
    ]
    alone = edit._replace(changes=tuple(inside))
    require(hunk.start > 0 and hunk.stop < len(edit.lines) - 3)
    return Told(alone, hunks_of(alone))


def twice(edit: Edit, rng: random.Random) -> Told:
    """The text of a hunk in two places."""
    told = one_hunk(edit, rng)
    end = ["\n", "# further down\n", *told.hunks[0].old, "# and on\n"]
    return Told(told.edit.with_inserted(len(edit.lines), end), told.hunks)


def near_twin(edit: Edit, rng: random.Random) -> Told:
    """The text of a hunk a second time but for one line; and a typo in a context line."""
    told = one_hunk(edit, rng)
    wrong = one_typo(told.edit, rng)
    twin = list(told.hunks[0].old)
    longest = max(range(len(twin)), key=lambda at: len(twin[at].strip()))
    twin[longest] = re.sub(r"\w{3,}", "something_else", twin[longest])
    end = ["\n", "# further down\n", *twin, "# and on\n"]
    require(tuple(twin) != told.hunks[0].old)
    return Told(told.edit.with_inserted(len(edit.lines), end), wrong.hunks)


def twice_indented(edit: Edit, rng: random.Random) -> Told:
    """The text of a hunk at two indentations, told at a third one."""
    told = one_hunk(edit, rng)
    end = ["\n", "# further down\n", *(f"  {line}" for line in told.hunks[0].old), "# and on\n"]
    body = tuple((mark, f"   {line}") for mark, line in told.hunks[0].body)
    hunk = told.hunks[0]._replace(body=body)
    return Told(told.edit.with_inserted(len(edit.lines), end), (hunk,))


def deleted_since(edit: Edit, rng: random.Random) -> Told:
    """The text of one hunk, deleted since."""
    hunks = hunks_of(edit)
    gone = rng.choice(hunks)
    lines = (*edit.lines[: gone.start], *edit.lines[gone.stop :])
    return Told(Edit(edit.path, lines, ()), hunks)


def bad_among_good(edit: Edit, rng: random.Random) -> Told:
    """Several hunks, the last of which speaks of code that is not there."""
    hunks = hunks_of(edit)
    require(len(hunks) > 1)

    def other(line: str) -> str:
        return re.sub(r"\w+", lambda word: f"{word[0][::-1]}q{len(word[0])}", line)

    body = tuple((mark, other(line)) for mark, line in hunks[-1].body)
    return Told(edit, (*hunks[:-1], hunks[-1]._replace(body=body)))


def applied_already(edit: Edit, rng: random.Random) -> Told:
    """Hunks that are applied already, each of which has left nothing of what it expects."""
    hunks = hunks_of(edit)
    after = edit.after
    require(not any(_bare(hunk.old) in _bare([after]) for hunk in hunks))
    return Told(Edit(edit.path, tuple(lines_of(after)), ()), hunks)


def _bare(lines: Sequence[str]) -> str:
    return "".join("".join(lines).split())


def out_of_order(edit: Edit, rng: random.Random) -> Told:
    """Hunks that do not stand in the order of the file."""
    hunks = hunks_of(edit)
    require(len(hunks) > 1)
    return Told(edit, hunks[::-1])


def overlapping(edit: Edit, rng: random.Random) -> Told:
    """Two hunks that change the same line, each in its own way."""
    told = one_hunk(edit, rng)
    require(_replaces(told.hunks[0]))
    hunk = told.hunks[0]
    body = [item for item in hunk.body if item[0] != "+"]
    last = max(at for at, (mark, _) in enumerate(body) if mark == "-")
    body.insert(last + 1, ("+", "something_else = entirely()\n"))
    return Told(told.edit, (hunk, hunk._replace(body=tuple(body))))


def _replaces(hunk: Hunk) -> bool:
    """Whether lines go, and none like them come: then the old ones cannot be taken for the new."""
    gone, come = ("".join(line for mark, line in hunk.body if mark == sign) for sign in "-+")
    return bool(gone.strip()) and SequenceMatcher(None, gone, come).ratio() < 0.5


REFUSE: dict[str, Drift] = {
    "text deleted since": deleted_since,
    "one bad hunk among good ones": bad_among_good,
    "applied already": applied_already,
    "overlapping hunks": overlapping,
}


def at_least(edit: Edit, context: int, margin: int) -> bool:
    """Whether the hunks with so little context still stand out of the file."""
    return all(
        distinct(edit.lines, hunk.start, hunk.stop, margin) for hunk in hunks_of(edit, context)
    )


def twin_at_end(edit: Edit, head: str, rng: random.Random) -> Told:
    """The text of a hunk a second time below a line of its own; it is the second that changes."""
    told = one_hunk(edit, rng)
    hunk = told.hunks[0]
    lines = (*edit.lines, "\n", head, *hunk.old)
    shift = len(edit.lines) + 2 - hunk.start
    changes = tuple(
        Change(change.start + shift, change.stop + shift, change.new)
        for change in told.edit.changes
    )
    twin = Edit(edit.path, lines, changes)
    return Told(twin, hunks_of(twin))
