"""Changes between anchors: lines that bound a place, and what will stand there."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TypedDict

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


def region(lines: Sequence[str], old: Sequence[str], new: Sequence[str]) -> Region | None:
    """The change of some lines, with the shortest anchors that are unique in the file."""
    content = [line.rstrip("\n") for line in new]
    stripped = [line.strip() for line in lines]
    sizes = range(1, min(len(old), _MAX_ANCHOR) + 1)
    if len(old) <= _MAX_ANCHOR and _unique(stripped, old):
        return {"start": [line.rstrip("\n") for line in old], "content": content}
    start = next((old[:size] for size in sizes if _unique(stripped, old[:size])), None)
    end = next((old[-size:] for size in sizes if _unique(stripped, old[-size:])), None)
    if start is None or end is None or len(start) + len(end) > len(old):
        return None
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


def regions(edit: Edit, hunks: Sequence[Hunk]) -> list[Region] | None:
    """The changes of hunks; None if one has no unique anchors."""
    found = [region(edit.lines, hunk.old, hunk.new) for hunk in hunks]
    kept = [change for change in found if change is not None]
    return kept if len(kept) == len(found) else None


def _anchored(edit: Edit) -> tuple[tuple[Hunk, ...], list[Region]] | None:
    """The hunks of an edit with as few lines around them as give unique anchors."""
    for context in range(1, 7):
        hunks = hunks_of(edit, context)
        changes = regions(edit, hunks)
        if changes is not None:
            return hunks, changes
    return None


def _sent(edit: Edit, changes: Sequence[Region], **more: object) -> str:
    return as_json({"path": edit.path, "changes": changes, **more})


def _case(edit: Edit, now: Edit, changes: Sequence[Region], *, land: bool = True) -> Case:
    return case_of(Told(now, ()), _sent(edit, changes), land=land)


@KINDS.lands("clean")
def _clean(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    return _case(edit, edit, found[1]) if found else None


@KINDS.lands("in another order")
def _shuffled(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None or len(found[1]) < 2:
        return None
    return _case(edit, edit, found[1][::-1])


@KINDS.lands("the changed lines alone are the anchor")
def _alone(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _tight(edit)
    return _case(found[0], found[0], found[1]) if found else None


def _tight(edit: Edit) -> tuple[Edit, list[Region]] | None:
    """The changes that their own lines bound, none of which stays."""
    chosen = [
        (change, found)
        for change in edit.changes
        if (found := region(edit.lines, edit.lines[change.start : change.stop], change.new))
        and not set(found["start"] + found.get("end", [])) & set(found["content"])
    ]
    if not chosen:
        return None
    return edit._replace(changes=tuple(change for change, _ in chosen)), [
        found for _, found in chosen
    ]


def _ends_in_text(change: Region) -> bool:
    texts = (change["start"], change.get("end", change["start"]), change["content"])
    return all("".join(lines[-1:]).strip() for lines in texts)


@KINDS.lands("content as one text")
def _as_text(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    # A text cannot say of a blank line at its end whether it is one.
    if found is None or not all(map(_ends_in_text, found[1])):
        return None
    changes = [
        {
            key: "\n".join(lines) if isinstance(lines, list) else lines
            for key, lines in change.items()
        }
        for change in found[1]
    ]
    case = _case(edit, edit, [])
    return case._replace(sent=as_json({"path": edit.path, "changes": changes}).encode())


@KINDS.lands("trailing blanks of the anchors lost")
def _blanks_lost(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _tight(edit)
    if found is None:
        return None
    tight, changes = found
    numbers = (number for change in tight.changes for number in range(change.start, change.stop))
    return _case(
        tight,
        tight.with_lines({at: tight.lines[at].rstrip("\n") + "  \n" for at in numbers}),
        changes,
    )


@KINDS.lands("trailing blanks added to the anchors")
def _blanks_added(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    for change in found[1]:
        change["start"] = [line + "  " for line in change["start"]]
    return _case(edit, edit, found[1])


@KINDS.lands("moved by other edits since")
def _moved(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    now = edit
    for hunk in reversed(found[0]):
        now = now.with_inserted(
            hunk.start, [f"other edit {hunk.start} of {at}\n" for at in range(9)]
        )
    return _case(edit, now, found[1])


@KINDS.lands("CRLF file, LF text")
def _crlf(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    return _case(edit, edit.mapped(lambda line: line.replace("\n", "\r\n")), found[1])


def _told(edit: Edit, told: Told | None) -> list[Region] | None:
    """The changes of an edit in the words of hunks that were told otherwise."""
    if told is None:
        return None
    true = regions(told.edit, hunks_of(told.edit))
    if true is None:
        return None
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
def _dedented(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    changes = _told(edit, drifts.dedented(edit, rng))
    return _case(edit, edit, changes) if changes else None


@KINDS.lands("tabs as spaces")
def _tabs(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    told = drifts.tabs_as_spaces(edit, rng)
    changes = _told(edit, told)
    # Content is indented as the anchors are; so they must show how.
    if told is None or not changes or not all(map(_indented, changes)):
        return None
    return _case(edit, told.edit, changes)


def _indented(change: Region) -> bool:
    return any(re.match(r"\s+\S", line) for line in change["start"] + change.get("end", []))


@KINDS.lands("several files")
def _several(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    one, two = _anchored(edit), _anchored(other)
    if one is None or two is None:
        return None
    sent = f"[{_sent(edit, one[1])}, {_sent(other, two[1])}]".encode()
    before = files((edit.path, edit.before), (other.path, other.before))
    return Case(before, files((edit.path, edit.after), (other.path, other.after)), sent)


@KINDS.refused("an anchor that is not unique")
def _ambiguous(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    again = [f"{line}\n" for line in rng.choice(found[1])["start"]]
    return _case(
        edit, edit.with_inserted(len(edit.lines), ["\n", *again, "# on\n"]), found[1], land=False
    )


@KINDS.refused("an anchor twice, at two indentations")
def _ambiguous_indented(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    change = rng.choice(found[1])
    again = [f"  {line}\n" for line in change["start"]]
    change["start"] = [f"   {line}" for line in change["start"]]
    return _case(edit, edit.with_inserted(len(edit.lines), ["\n", *again]), found[1], land=False)


@KINDS.refused("the end before the start")
def _swapped(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    changes = [change for change in found[1] if "end" in change] if found else []
    if not changes:
        return None
    changes[0]["start"], changes[0]["end"] = changes[0]["end"], changes[0]["start"]
    return _case(edit, edit, changes, land=False)


@KINDS.refused("a typo in an anchor")
def _typo(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    anchor = rng.choice(found[1])["start"]
    longest = max(range(len(anchor)), key=lambda at: len(anchor[at].strip()))
    if not anchor[longest].strip():
        return None
    half = len(anchor[longest].rstrip()) - max(len(anchor[longest].strip()) // 2, 1)
    wrong = "x" if anchor[longest][half] != "x" else "y"
    anchor[longest] = anchor[longest][:half] + wrong + anchor[longest][half + 1 :]
    return _case(edit, edit, found[1], land=False)


@KINDS.refused("text deleted since")
def _gone(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    gone = rng.choice(found[0])
    now = Edit(edit.path, (*edit.lines[: gone.start], *edit.lines[gone.stop :]), ())
    return _case(edit, now, found[1], land=False)


@KINDS.refused("overlapping changes")
def _overlapping(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    again: Region = {**found[1][0], "content": ["something_else = entirely()"]}
    return _case(edit, edit, [*found[1], again], land=False)


@KINDS.refused("another file's")
def _others(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    return _case(other, other, found[1], land=False) if found else None


@KINDS.refused("a missing file")
def _missing(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    return _case(edit, other, found[1], land=False) if found else None


@KINDS.refused("an anchor of no text")
def _bare(edit: Edit, other: Edit, rng: random.Random) -> Case:
    change: Region = {"start": [""], "content": ["value = 1"]}
    return _case(edit, edit, [change], land=False)


@KINDS.refused("a stale base")
def _stale(edit: Edit, other: Edit, rng: random.Random) -> Case | None:
    found = _anchored(edit)
    if found is None:
        return None
    case = _case(edit, edit, found[1], land=False)
    return case._replace(sent=_sent(edit, found[1], base="0123456789" * 4).encode())
