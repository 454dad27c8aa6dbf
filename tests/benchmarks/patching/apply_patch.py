"""Envelopes of `*** Begin Patch`."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from tests.benchmarks.hunks import require
from tests.benchmarks.patching import drifts
from tests.benchmarks.patching.cases import Case, Kinds, Told, case_of, files
from tests.benchmarks.patching.edits import Edit, Hunk, hunks_of

KINDS = Kinds()
_HEAD = re.compile(r"\s*(?:async def|def|class|function|func|fn) ")
_LAST = "*** End of File\n"
Opening = Callable[[Edit, Hunk], str]


def envelope(*sections: str) -> str:
    """A whole patch."""
    return f"*** Begin Patch\n{''.join(sections)}*** End Patch\n"


def bare(edit: Edit, hunk: Hunk) -> str:
    """The line that opens a hunk, without context."""
    return "@@\n"


def headed(edit: Edit, hunk: Hunk) -> str:
    """The line that opens a hunk, with the function or class that it is in, if any is above."""
    above = (line for line in reversed(edit.lines[: hunk.start]) if _HEAD.match(line))
    return f"@@ {next(above, '').strip()}".rstrip() + "\n"


def update(
    edit: Edit, hunks: Sequence[Hunk], opening: Opening = bare, end: str = "", to: str = ""
) -> str:
    """The section that changes a file."""
    move = f"*** Move to: {to}\n" if to else ""
    told = "".join(opening(edit, hunk) + _body(hunk) for hunk in hunks)
    return f"*** Update File: {edit.path}\n{move}{told}{end}"


def _body(hunk: Hunk) -> str:
    return "".join(f"{mark}{line}" for mark, line in hunk.body)


def _add(path: str, lines: Sequence[str]) -> str:
    return f"*** Add File: {path}\n" + "".join(f"+{line}" for line in lines)


def _plain(told: Told) -> str:
    return envelope(update(told.edit, told.hunks))


def _headed(told: Told) -> str:
    return envelope(update(told.edit, told.hunks, headed))


def _first_bare(told: Told) -> str:
    """The first hunk follows its file's name at once."""
    sent = _plain(told)
    return sent.replace("@@\n", "", 1)


KINDS.drifts(drifts.LAND, _plain)
KINDS.drifts(
    {
        "@@ with the function": drifts.clean,
        "@@ with the function, indentation dropped": drifts.dedented,
        "@@ with the function, tabs as spaces": drifts.tabs_as_spaces,
        "@@ with the function, moved since": drifts.moved_since,
    },
    _headed,
)
KINDS.drifts({"no @@ before the first hunk": drifts.clean}, _first_bare)
KINDS.drifts(
    {
        "a near-duplicate elsewhere, a typo": drifts.near_twin,
        "two structural lines left out": drifts.left_out(2),
    },
    _plain,
)


@KINDS.lands("@@ with classes and functions, one a line")
def _nested(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.twin_at_end(edit, "    def twin_of_it(self):\n", rng)
    holder = told.edit.with_inserted(len(edit.lines), ["class TwinHolder:\n"])
    sent = update(
        holder, hunks_of(holder), lambda *_: "@@ class TwinHolder:\n@@ def twin_of_it(self):\n"
    )
    return case_of(Told(holder, ()), envelope(sent))


@KINDS.lands("two places, @@ with the function tells")
def _narrowed(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.twin_at_end(edit, "def twin_of_it():\n", rng)
    return case_of(
        told, envelope(update(told.edit, told.hunks, lambda *_: "@@ def twin_of_it():\n"))
    )


@KINDS.lands("two places, End of File tells")
def _at_end(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.twin_at_end(edit, "# and again\n", rng)
    return case_of(told, envelope(update(told.edit, told.hunks, end=_LAST)))


@KINDS.lands("End of File")
def _end(edit: Edit, other: Edit, rng: random.Random) -> Case:
    size = len(edit.lines)
    grown = edit._replace(
        changes=(edit.changes[0]._replace(start=size, stop=size, new=("end = 1\n",)),)
    )
    return case_of(Told(grown, ()), envelope(update(grown, hunks_of(grown), end=_LAST)))


@KINDS.lands("blank context lines without their blank")
def _stripped(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    sent = re.sub(r"(?m)^ $", "", _plain(told))
    require(sent != _plain(told))
    return case_of(told, sent)


@KINDS.lands("context lines without their mark")
def _unmarked(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return case_of(told, drifts.unmarked(_plain(told)))


@KINDS.lands("no envelope")
def _no_envelope(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return case_of(told, update(told.edit, told.hunks, headed))


KINDS.drifts({"a hunk without a change": drifts.among_shown}, _plain)


@KINDS.lands("in Markdown, with prose")
def _markdown(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return case_of(
        told, f"This is the patch:\n\n```\n{_headed(told)}```\n\nRun the tests - please.\n"
    )


@KINDS.lands("in a shell command")
def _heredoc(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.clean(edit, rng)
    return case_of(told, f"apply_patch <<'EOF'\n{_plain(told)}EOF\n")


@KINDS.lands("a new file")
def _new(edit: Edit, other: Edit, rng: random.Random) -> Case:
    path, lines = "fresh/new_file.py", edit.lines[:30]
    kept = (other.path, other.before)
    sent = envelope(_add(path, lines)).encode()
    return Case(files(kept), files(kept, (path, "".join(lines))), sent)


@KINDS.lands("a deleted file")
def _deleted(edit: Edit, other: Edit, rng: random.Random) -> Case:
    kept = (other.path, other.before)
    sent = envelope(f"*** Delete File: {edit.path}\n").encode()
    return Case(files((edit.path, edit.before), kept), files(kept), sent)


@KINDS.lands("a renamed and changed file")
def _moved(edit: Edit, other: Edit, rng: random.Random) -> Case:
    to = f"moved/{edit.path}"
    sent = envelope(update(edit, hunks_of(edit), to=to)).encode()
    return Case(files((edit.path, edit.before)), files((to, edit.after)), sent)


@KINDS.lands("several files")
def _several(edit: Edit, other: Edit, rng: random.Random) -> Case:
    fresh = ("fresh/new_file.py", "".join(edit.lines[:9]))
    sections = (
        update(edit, hunks_of(edit), headed),
        _add(fresh[0], edit.lines[:9]),
        "*** Delete File: gone.txt\n",
        update(other, hunks_of(other)),
    )
    before = files((edit.path, edit.before), (other.path, other.before), ("gone.txt", "gone\n"))
    after = files((edit.path, edit.after), (other.path, other.after), fresh)
    return Case(before, after, envelope(*sections).encode())


KINDS.drifts(drifts.REFUSE, _plain, land=False)
KINDS.drifts(
    {
        "two places": drifts.twice,
        "two places at other indentations": drifts.twice_indented,
        "hunks out of order": drifts.out_of_order,
    },
    _plain,
    land=False,
)


KINDS.elsewhere(_plain)
KINDS.clean(
    {
        "@@ with a function that is not there": lambda told: envelope(
            update(told.edit, told.hunks, lambda *_: "@@ def nowhere_to_be_found(here):\n")
        ),
        "an insertion without context": lambda told: envelope(
            f"*** Update File: {told.edit.path}\n@@ def no_such_function():\n"
            "+inserted = somewhere()\n"
        ),
    },
    land=False,
)


@KINDS.refused("one bad file among good ones")
def _bad_file(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.deleted_since(other, rng)
    sections = (
        update(edit, hunks_of(edit)),
        "*** Delete File: gone.txt\n",
        update(told.edit, told.hunks),
    )
    before = files((edit.path, edit.before), (other.path, told.edit.before), ("gone.txt", "gone\n"))
    return Case(before, None, envelope(*sections).encode())


@KINDS.refused("a new file that exists")
def _exists(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return case_of(Told(edit, ()), envelope(_add(edit.path, other.lines[:20])), land=False)


@KINDS.refused("a missing file deleted")
def _not_there(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = envelope(update(edit, hunks_of(edit)), f"*** Delete File: {other.path}\n")
    return case_of(Told(edit, ()), sent, land=False)


@KINDS.refused("moved onto another file")
def _onto(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = envelope(update(edit, hunks_of(edit), to=other.path)).encode()
    return Case(files((edit.path, edit.before), (other.path, other.before)), None, sent)
