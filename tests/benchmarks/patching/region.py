"""Changes between anchors: lines that bound a place, and what will stand there."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TypedDict

from tests.benchmarks.hunks import Unfit, require
from tests.benchmarks.patching import drifts
from tests.benchmarks.patching.cases import Case, Kinds, Told, as_json, case_of, files
from tests.benchmarks.patching.edits import Edit, Hunk, hunks_of

KINDS = Kinds()
_MAX_ANCHOR = 4


class Region(TypedDict, total=False):
    """One change as it is sent."""

    start: list[str]
    end: list[str]
    content: list[str]


def region(lines: Sequence[str], old: Sequence[str], new: Sequence[str]) -> Region:
    """The change of some lines, with the shortest anchors that are unique in the file (Unfit)."""
    content = [line.rstrip("\n") for line in new]
    stripped = [line.strip() for line in lines]
    sizes = range(1, min(len(old), _MAX_ANCHOR) + 1)
    if len(old) <= _MAX_ANCHOR and _unique(stripped, old):
        return {"start": [line.rstrip("\n") for line in old], "content": content}
    start = next((old[:size] for size in sizes if _unique(stripped, old[:size])), ())
    end = next((old[-size:] for size in sizes if _unique(stripped, old[-size:])), ())
    require(start and end and len(start) + len(end) <= len(old))
    return {
        "start": [line.rstrip("\n") for line in start],
        "end": [line.rstrip("\n") for line in end],
        "content": content,
    }


def _unique(stripped: Sequence[str], lines: Sequence[str]) -> bool:
    wanted = [line.strip() for line in lines]
    size = len(wanted)
    if not any(wanted):
        return False
    places = (at for at in range(len(stripped) - size + 1) if stripped[at : at + size] == wanted)
    return len(list(places)) == 1


def regions(edit: Edit, hunks: Sequence[Hunk]) -> list[Region]:
    """The changes of hunks (Unfit if one has no unique anchors)."""
    return [region(edit.lines, hunk.old, hunk.new) for hunk in hunks]


def _anchored(edit: Edit) -> tuple[tuple[Hunk, ...], list[Region]]:
    """The hunks of an edit with as few lines around them as give unique anchors."""
    for context in range(1, 7):
        with suppress(Unfit):
            hunks = hunks_of(edit, context)
            return hunks, regions(edit, hunks)
    raise Unfit


def _sent(edit: Edit, changes: Sequence[Region], **more: object) -> str:
    return as_json({"path": edit.path, "changes": changes, **more})


def _case(edit: Edit, now: Edit, changes: Sequence[Region], *, land: bool = True) -> Case:
    return case_of(Told(now, ()), _sent(edit, changes), land=land)


@KINDS.lands("clean")
def _clean(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, edit, _anchored(edit)[1])


@KINDS.lands("in another order")
def _shuffled(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    require(len(changes) > 1)
    return _case(edit, edit, changes[::-1])


@KINDS.lands("the changed lines alone are the anchor")
def _alone(edit: Edit, other: Edit, rng: random.Random) -> Case:
    tight, changes = _tight(edit)
    return _case(tight, tight, changes)


def _tight(edit: Edit) -> tuple[Edit, list[Region]]:
    """The changes that their own lines bound, none of which stays."""
    chosen, found = [], []
    for change in edit.changes:
        with suppress(Unfit):
            tight = region(edit.lines, edit.lines[change.start : change.stop], change.new)
            require(not set(tight["start"] + tight.get("end", [])) & set(tight["content"]))
            chosen.append(change)
            found.append(tight)
    require(chosen)
    return edit._replace(changes=tuple(chosen)), found


def _ends_in_text(change: Region) -> bool:
    texts = (change["start"], change.get("end", change["start"]), change["content"])
    return all("".join(lines[-1:]).strip() for lines in texts)


@KINDS.lands("content as one text")
def _as_text(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, found = _anchored(edit)
    # A text cannot say of a blank line at its end whether it is one.
    require(all(map(_ends_in_text, found)))
    changes = [
        {
            key: "\n".join(lines) if isinstance(lines, list) else lines
            for key, lines in change.items()
        }
        for change in found
    ]
    case = _case(edit, edit, [])
    return case._replace(sent=as_json({"path": edit.path, "changes": changes}).encode())


@KINDS.lands("trailing blanks of the anchors lost")
def _blanks_lost(edit: Edit, other: Edit, rng: random.Random) -> Case:
    tight, changes = _tight(edit)
    numbers = (number for change in tight.changes for number in range(change.start, change.stop))
    return _case(
        tight,
        tight.with_lines({at: tight.lines[at].rstrip("\n") + "  \n" for at in numbers}),
        changes,
    )


@KINDS.lands("trailing blanks added to the anchors")
def _blanks_added(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    for change in changes:
        change["start"] = [line + "  " for line in change["start"]]
    return _case(edit, edit, changes)


@KINDS.lands("moved by other edits since")
def _moved(edit: Edit, other: Edit, rng: random.Random) -> Case:
    hunks, changes = _anchored(edit)
    now = edit
    for hunk in reversed(hunks):
        now = now.with_inserted(
            hunk.start, [f"other edit {hunk.start} of {at}\n" for at in range(9)]
        )
    return _case(edit, now, changes)


@KINDS.lands("CRLF file, LF text")
def _crlf(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    return _case(edit, edit.mapped(lambda line: line.replace("\n", "\r\n")), changes)


def _told(told: Told) -> list[Region]:
    """The changes of an edit in the words of hunks that were told otherwise."""
    true = regions(told.edit, hunks_of(told.edit))
    found = []
    for change, hunk in zip(true, told.hunks, strict=True):
        old = [line.rstrip("\n") for line in hunk.old]
        size = len(change.get("end", []))
        drifted: Region = {
            "start": old[: len(change["start"])],
            "content": [line.rstrip("\n") for line in hunk.new],
        }
        if size:
            drifted["end"] = old[-size:]
        found.append(drifted)
    return found


@KINDS.lands("indentation dropped")
def _dedented(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, edit, _told(drifts.dedented(edit, rng)))


@KINDS.lands("tabs as spaces")
def _tabs(edit: Edit, other: Edit, rng: random.Random) -> Case:
    told = drifts.tabs_as_spaces(edit, rng)
    changes = _told(told)
    # Content is indented as the anchors are; so they must show how.
    require(all(map(_indented, changes)))
    return _case(edit, told.edit, changes)


def _indented(change: Region) -> bool:
    return any(re.match(r"\s+\S", line) for line in change["start"] + change.get("end", []))


@KINDS.lands("several files")
def _several(edit: Edit, other: Edit, rng: random.Random) -> Case:
    sent = f"[{_sent(edit, _anchored(edit)[1])}, {_sent(other, _anchored(other)[1])}]".encode()
    before = files((edit.path, edit.before), (other.path, other.before))
    return Case(before, files((edit.path, edit.after), (other.path, other.after)), sent)


@KINDS.refused("an anchor that is not unique")
def _ambiguous(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    again = [f"{line}\n" for line in rng.choice(changes)["start"]]
    return _case(
        edit, edit.with_inserted(len(edit.lines), ["\n", *again, "# on\n"]), changes, land=False
    )


@KINDS.refused("an anchor twice, at two indentations")
def _ambiguous_indented(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    change = rng.choice(changes)
    again = [f"  {line}\n" for line in change["start"]]
    change["start"] = [f"   {line}" for line in change["start"]]
    return _case(edit, edit.with_inserted(len(edit.lines), ["\n", *again]), changes, land=False)


@KINDS.refused("the end before the start")
def _swapped(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, found = _anchored(edit)
    changes = [change for change in found if "end" in change]
    require(changes)
    changes[0]["start"], changes[0]["end"] = changes[0]["end"], changes[0]["start"]
    return _case(edit, edit, changes, land=False)


@KINDS.refused("a typo in an anchor")
def _typo(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    anchor = rng.choice(changes)["start"]
    longest = max(range(len(anchor)), key=lambda at: len(anchor[at].strip()))
    require(anchor[longest].strip())
    half = len(anchor[longest].rstrip()) - max(len(anchor[longest].strip()) // 2, 1)
    wrong = "x" if anchor[longest][half] != "x" else "y"
    anchor[longest] = anchor[longest][:half] + wrong + anchor[longest][half + 1 :]
    return _case(edit, edit, changes, land=False)


@KINDS.refused("text deleted since")
def _gone(edit: Edit, other: Edit, rng: random.Random) -> Case:
    hunks, changes = _anchored(edit)
    gone = rng.choice(hunks)
    now = Edit(edit.path, (*edit.lines[: gone.start], *edit.lines[gone.stop :]), ())
    return _case(edit, now, changes, land=False)


@KINDS.refused("overlapping changes")
def _overlapping(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    again: Region = {**changes[0], "content": ["something_else = entirely()"]}
    return _case(edit, edit, [*changes, again], land=False)


@KINDS.refused("another file's")
def _others(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(other, other, _anchored(edit)[1], land=False)


@KINDS.refused("a missing file")
def _missing(edit: Edit, other: Edit, rng: random.Random) -> Case:
    return _case(edit, other, _anchored(edit)[1], land=False)


@KINDS.refused("an anchor of no text")
def _bare(edit: Edit, other: Edit, rng: random.Random) -> Case:
    change: Region = {"start": [""], "content": ["value = 1"]}
    return _case(edit, edit, [change], land=False)


@KINDS.refused("a stale base")
def _stale(edit: Edit, other: Edit, rng: random.Random) -> Case:
    _, changes = _anchored(edit)
    sent = _sent(edit, changes, base="0123456789" * 4).encode()
    return _case(edit, edit, changes, land=False)._replace(sent=sent)
