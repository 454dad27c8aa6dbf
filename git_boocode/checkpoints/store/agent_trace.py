"""Records in the format Agent Trace 0.1 of https://agent-trace.dev: who wrote lines of a commit.

A note is one JSON object with a conversation for each file and turn, whose `related` resource of
type `turn` is `urn:uuid:<id of the turn>`; what is known of the turn is in the `metadata`. The same
lines give the same bytes, on every machine. Records may come from anywhere: their size is limited,
and the time that it takes to read them grows with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from git_boocode import __version__
from git_boocode.repo.ids import ID

LARGEST_NOTE = 4 << 20  # bytes
TOO_LARGE = f"larger than {LARGEST_NOTE >> 20} MiB"
_TOO_DEEP = "it is nested too deeply"
_MOST_RANGES = 100_000  # git-boocode's notes of LARGEST_NOTE bytes have fewer
_VERSION = "0.1.0"
_OWN = "dev.git-boocode"
_TURN = "urn:uuid:"
_LONGEST_TEXT = 1000
_DEEPEST = 50  # levels of what is kept of other programs
_LONGEST_NUMBER = 10  # digits

Range = tuple[int, int]
"""The first and the last one of some lines, from 1."""


class NotedTurn(NamedTuple):
    """What a note says of a turn; `prompt` is the first line, or the label."""

    id: str
    agent: str = ""
    session: str = ""
    prompt: str = ""
    created_at: str = ""

    @classmethod
    def of(cls, identifier: str, texts: Mapping[str, object]) -> NotedTurn:
        """A turn with the first lines of its texts, as far as a note has them."""
        keys = [key for key in cls._fields[1:] if isinstance(texts.get(key), str)]
        lines = {key: str(texts[key]).strip().partition("\n")[0].strip() for key in keys}
        return cls(identifier, **{key: line[:_LONGEST_TEXT] for key, line in lines.items()})


class NotedRange(NamedTuple):
    """Lines of a file in a commit, 1-based and inclusive, that a turn wrote."""

    first: int
    last: int
    turn: NotedTurn

    def as_json(self) -> dict[str, object]:
        """The lines and the turn."""
        turn = {"turn": self.turn.id, **{k: v or None for k, v in self.turn._asdict().items()}}
        del turn["id"]
        return {"start_line": self.first, "end_line": self.last, **turn}


CommitNote = Mapping[str, Sequence[NotedRange]]
"""The ranges of a commit by path; empty for none."""


class TraceError(Exception):
    """Text is not a record that is read; the message says why."""


class Trace(NamedTuple):
    """A record: by path, the lines of turns, and conversations that name no turn.

    Two turns may claim a line where the notes of two repositories were merged.
    """

    revision: str = ""  # the commit, if the record names one
    timestamp: str = ""
    claims: Mapping[str, Mapping[str, Sequence[Range]]] = {}
    turns: Mapping[str, NotedTurn] = {}
    others: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    metadata: Mapping[str, Any] = {}  # of other programs

    @property
    def files(self) -> CommitNote:
        """The ranges of each file; a line that two turns claim is in none."""
        found = {
            path: [NotedRange(first, last, self.turns[turn]) for first, last, turn in _single(each)]
            for path, each in sorted(self.claims.items())
        }
        return {path: ranges for path, ranges in found.items() if ranges}

    def merged(self, other: Trace) -> Trace:
        """What one or the other record says, whichever is the first one."""
        claims = {
            path: {
                turn: united([*_at(self, path).get(turn, ()), *_at(other, path).get(turn, ())])
                for turn in {*_at(self, path), *_at(other, path)}
            }
            for path in {*self.claims, *other.claims}
        }
        others = {
            path: [*self.others.get(path, ()), *other.others.get(path, ())]
            for path in {*self.others, *other.others}
        }
        return Trace(
            self.revision or other.revision,
            max(self.timestamp, other.timestamp),
            claims,
            _greatest(self.turns, other.turns),
            others,
            _greatest(self.metadata, other.metadata),
        )

    def as_json(self, commit: str) -> dict[str, Any]:
        """The JSON object."""
        # Only where lines are attributed.
        from uuid import NAMESPACE_URL, uuid5

        rows = [
            {"path": path, "conversations": [*self._conversations(path)]}
            for path in sorted({*self.claims, *self.others})
        ]
        used = {turn for claims in self.claims.values() for turn in claims}
        turns = [self.turns[turn] for turn in sorted(used)]
        about = {t.id: {k: v for k, v in t._asdict().items() if v and k != "id"} for t in turns}
        return {
            "version": _VERSION,
            "id": str(uuid5(NAMESPACE_URL, json.dumps([commit, rows]))),
            "timestamp": self.timestamp,
            "vcs": {"type": "git", "revision": commit},
            "tool": {"name": "git-boocode", "version": __version__},
            "files": rows,
            "metadata": {_OWN: {"turns": about}, **dict(sorted(self.metadata.items()))},
        }

    def _conversations(self, path: str) -> Iterator[Mapping[str, Any]]:
        for turn, ranges in sorted(_at(self, path).items()):
            yield {
                "contributor": {"type": "ai"},
                "ranges": [{"start_line": first, "end_line": last} for first, last in ranges],
                "related": [{"type": "turn", "url": f"{_TURN}{turn}"}],
            }
        every = {json.dumps(each, sort_keys=True) for each in self.others.get(path, ())}
        yield from map(json.loads, sorted(every))


def note_bytes(trace: Mapping[str, Any]) -> bytes:
    """The text of a note."""
    return json.dumps(trace, indent=1).encode("ascii") + b"\n"


def record_time(seconds: int) -> str:
    """Seconds since 1970 as a record has them."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def parse_note(content: bytes) -> list[Trace]:
    """The records of a note; several if git has put one note after another (TraceError)."""
    if len(content) > LARGEST_NOTE:
        raise TraceError(f"it is {TOO_LARGE}")
    decoder = json.JSONDecoder(parse_int=_integer, parse_float=str)
    found: list[Trace] = []
    try:
        text = content.decode().strip()
        while text:
            value, end = decoder.raw_decode(text)
            if not isinstance(value, dict) or not isinstance(value.get("files"), list):
                raise TraceError("it is not an Agent Trace record")
            found.append(_parsed(value))
            text = text[end:].lstrip()
    except RecursionError:
        raise TraceError(_TOO_DEEP) from None
    except ValueError:
        raise TraceError("it is not an Agent Trace record") from None
    if not all(_is_shallow([each.others, each.metadata], _DEEPEST) for each in found):
        raise TraceError(_TOO_DEEP)
    if sum(map(_size, found)) > _MOST_RANGES:
        raise TraceError(f"it has more than {_MOST_RANGES:,} ranges of lines")
    return found


def _parsed(value: Mapping[str, Any]) -> Trace:
    metadata = dict(_table(value, "metadata"))
    known = _table(_table(metadata, _OWN), "turns")
    metadata.pop(_OWN, None)
    claims: dict[str, dict[str, list[Range]]] = {}
    others: dict[str, list[Mapping[str, Any]]] = {}
    for file in _rows(value, "files"):
        path = file.get("path")
        for conversation in _rows(file, "conversations") if isinstance(path, str) else ():
            turn, ranges = _turn_of(conversation), [*_ranges(conversation)]
            if turn and ranges:
                claims.setdefault(str(path), {}).setdefault(turn, []).extend(ranges)
            elif not turn:
                others.setdefault(str(path), []).append(conversation)
    revision, when = _table(value, "vcs").get("revision"), value.get("timestamp")
    return Trace(
        revision if isinstance(revision, str) else "",
        when if isinstance(when, str) else "",
        {p: {turn: united(each) for turn, each in turns.items()} for p, turns in claims.items()},
        {t: NotedTurn.of(t, _table(known, t)) for turns in claims.values() for t in turns},
        others,
        metadata,
    )


def _turn_of(conversation: Mapping[str, Any]) -> str:
    for row in _rows(conversation, "related"):
        url = row.get("url")
        if isinstance(url, str) and ID.fullmatch(identifier := url.removeprefix(_TURN)):
            return identifier
    return ""


def _ranges(conversation: Mapping[str, Any]) -> Iterator[Range]:
    for row in _rows(conversation, "ranges"):
        first, last = row.get("start_line"), row.get("end_line")
        if type(first) is int and type(last) is int and 0 < first <= last:
            yield first, last


def _integer(digits: str) -> int:
    """A number; 0 for one with so many digits that Python would take long to read it."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else 0


def _size(trace: Trace) -> int:
    return sum(len(ranges) for each in trace.claims.values() for ranges in each.values())


def _is_shallow(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _at(trace: Trace, path: str) -> Mapping[str, Sequence[Range]]:
    return trace.claims.get(path, {})


def _greatest(some: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The values of both; of two under one key, the same one whichever is the first."""
    both = {key: max(some[key], more[key], key=json.dumps) for key in some.keys() & more.keys()}
    return {**some, **more, **both}


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _rows(values: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    found = values.get(key)
    return (row for row in (found if isinstance(found, list) else ()) if isinstance(row, dict))


# Ranges of lines: sorted, and no two of them overlap or touch.


def united(ranges: Iterable[Range]) -> list[Range]:
    """The lines of any ranges."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def common(some: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    """The lines that are in both."""
    found, at = [], 0
    for first, last in some:
        while at < len(others) and others[at][1] < first:
            at += 1
        number = at
        while number < len(others) and others[number][0] <= last:
            found.append((max(first, others[number][0]), min(last, others[number][1])))
            number += 1
    return found


def without(some: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    """The lines that are only in the first ones."""
    end = some[-1][1] if some else 0
    ends = [0, *(last for _, last in others)]
    starts = [*(first for first, _ in others), max(end, ends[-1]) + 1]
    gaps = [(last + 1, first - 1) for last, first in zip(ends, starts, strict=True)]
    return common(some, [gap for gap in gaps if gap[0] <= gap[1]])


def _single(claims: Mapping[str, Sequence[Range]]) -> list[tuple[int, int, str]]:
    """The ranges of turns, without lines that several turns claim."""
    starts = ((first, True, turn) for turn, each in claims.items() for first, _ in each)
    ends = ((last + 1, False, turn) for turn, each in claims.items() for _, last in each)
    found: list[tuple[int, int, str]] = []
    active: set[str] = set()
    since = 0
    for at, begins, turn in sorted((*starts, *ends)):
        if len(active) == 1 and since < at:
            found.append((since, at - 1, next(iter(active))))
        since = at
        if begins:
            active.add(turn)
        else:
            active.discard(turn)
    return found
