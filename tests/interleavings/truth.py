"""What has to be left when turns are taken back: the same script, carried out without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.interleavings.agents import AFTER, Turn
from tests.interleavings.scripts import CHMOD, FILE_OPS, File, Files, Op, Played, apply

_Token = tuple[str, ...]
_WHOLE = {*FILE_OPS} - {CHMOD}


class Selection(NamedTuple):
    """Which turns are taken back, or what they did to some `paths`; empty for all."""

    turns: frozenset[Turn]
    paths: frozenset[str] = frozenset()

    def has(self, each: Played) -> bool:
        """Whether a change is taken back."""
        op = each.event.op
        if op is None or each.owner not in self.turns:
            return False
        return not self.paths or self.paths.issuperset(op.paths)


class Truth(NamedTuple):
    """What has to be left.

    `is_sure` is whether all other changes found their place without those that are taken back; the
    `files` are right then. `may_refuse` says why it may be refused as well, empty if it may not.
    `foreign` are the lines that are there now and that others wrote, each with its path.
    """

    files: Files
    is_sure: bool
    may_refuse: str
    foreign: frozenset[tuple[str, str]]

    def lost(self, texts: Mapping[str, str]) -> str:
        """A line of others that should be there and is not, with its path; empty if there is none.

        `texts` are all files. Where the truth is not sure, all lines of others have to stay.
        """
        kept = {(path, line.strip()) for path, text in texts.items() for line in text.splitlines()}
        anywhere = {line for _, line in kept}
        for path, line in sorted(self.foreign):
            if not self.is_sure:
                # Perhaps the turn had moved the file.
                is_lost = line.strip() not in anywhere
            else:
                is_wanted = line in self.files.get(path, File(())).lines
                is_lost = is_wanted and (path, line.strip()) not in kept
            if is_lost:
                return f"'{line}' of {path}"
        return ""


def truth_of(first: Files, events: Sequence[Played], selection: Selection) -> Truth:
    """What taking turns back has to leave, after some events on the first files."""
    files, is_sure = first, True
    for each in events:
        if each.event.op is None or selection.has(each):
            continue
        after = apply(files, each.event.op)
        is_sure &= after is not None
        files = files if after is None else after
    now = events[-1].files if events else first
    # Of a call that began alone, nothing is recorded before its end.
    ended = {each.call for each in events if each.event.kind == AFTER}
    mine_in = {each.call for each in events if selection.has(each) and each.call}
    is_sure &= all(call in ended or not call.is_alone for call in mine_in)
    written = {e.event.op.text for e in events if e.event.op and selection.has(e)}
    # Lines of the turns that others indented since are theirs still.
    mine = {line.strip() for text in written for line in text.split("\n")}
    lines = ((path, line) for path, file in now.items() for line in file.lines)
    foreign = {(path, line) for path, line in lines if line.strip() not in mine}
    why = "" if is_sure else "another change needs it"
    why = why or _collision(first, events, selection)
    calling = {each.turn for each in events if each.call}
    if not calling.issuperset(selection.turns):
        why = why or "whether its agent reports tool calls is unknown"
    if any(selection.turns & each.candidates for each in events):
        why = why or "it is unclear whose it is"
    return Truth(files, is_sure, why, frozenset(foreign))


def _collision(first: Files, events: Sequence[Played], selection: Selection) -> str:
    """Where a later change touches the lines of the turns or their direct neighbours."""
    mine: set[_Token] = set()
    changed: set[str] = set()
    before = first
    for each in events:
        op = each.event.op
        if op is not None:
            touched = {*_touched(op, before, each.files)}
            if selection.has(each):
                mine |= touched
                changed.update(op.paths)
            elif met := touched & mine:
                return f"a later change touches {min(met)}"
            elif op.kind in _WHOLE and not changed.isdisjoint(op.paths):
                return f"a later change concerns the whole of {op.path}"
            elif any(("file", path) in mine for path in op.paths):
                return f"the whole of {op.path} is the turn's"
        before = each.files
    return ""


def _touched(op: Op, before: Files, after: Files) -> Iterable[_Token]:
    """What a change touches: lines, and gaps between two lines; or the mode, or all of a file."""
    for path in op.paths:
        if op.kind == CHMOD:
            yield "mode", path
        elif op.kind in _WHOLE:
            yield "file", path
        else:
            old, new = before[path], after[path]
            yield from (("line", path, line) for line in {*old.lines} ^ {*new.lines})
            yield from (("gap", path, *gap) for gap in _gaps(old) ^ _gaps(new))


def _gaps(file: File) -> set[tuple[str, str]]:
    lines = ("", *file.lines, "")
    return {*pairwise(lines)}
