"""The data of the page that `git boocode view` shows: turns, their diffs, edits and refusals.

Everything is plain JSON. Texts come from checkpoints as they are; whoever shows them must keep them
from becoming markup.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import accumulate, groupby, islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from git_boocode.checkpoints.commit_log import head_stamp
from git_boocode.checkpoints.commit_notes import attribute, problems_of
from git_boocode.checkpoints.line_origin import BlamedLine, LineHistory, blame, line_history
from git_boocode.checkpoints.operation_log import (
    target_checkpoints,
)
from git_boocode.checkpoints.own_changes import OwnTurns
from git_boocode.checkpoints.store.catalog import Catalog, Checkpoint
from git_boocode.checkpoints.turn_changes import (
    DiffLimits,
    FileCache,
    TurnDetails,
    TurnFile,
    newest_everywhere,
    private_paths,
    with_details,
)
from git_boocode.checkpoints.turn_words import REVERTED, taken_by
from git_boocode.checkpoints.turns import NOW, CurrentTree, Turn
from git_boocode.checkpoints.worktree_log import WorktreeLog
from git_boocode.editing.records import (
    EditRecord,
    Records,
    Refusal,
    refusals,
    refusals_path,
)
from git_boocode.repo.errors import RefusedError, shell_command
from git_boocode.repo.ids import ID, time_of
from git_boocode.repo.layout import ALL_REFS, READS
from git_boocode.repo.lock import is_noted
from git_boocode.repo.object_writer import temporary_objects
from git_boocode.repo.repository import Repository
from git_boocode.repo.store import ShortIds
from git_boocode.workflows.undo_steps import proposed_files, undo_steps
from git_boocode.workflows.view_range import MOST_PATHS, only_noted, paths_by_turn, range_commits

_ROWS_ONLY = DiffLimits(0, 0)
_ONE_TURN = DiffLimits(500_000, 500_000)
_MOST_LINES = 20_000  # of a file that a served page blames
# The files that a page without a server blames: how many, their lines, their bytes, seconds in all.
_BLAMED_FILES, _BLAMED_LINES, _BLAMED_SIZE, _BLAME_TIME = 30, 2000, 300_000, 0.8
_PROMPTS_SIZE = 10_000_000  # characters of prompts in all, of the newest turns
_THREADS = 4  # Each waits for its own git.

JsonObject = dict[str, Any]


class _Wanted(NamedTuple):
    """The number of turns, how much of their diffs, and a range of commits, empty for none."""

    most: int
    limits: DiffLimits
    commits: str = ""


class _Events(NamedTuple):
    """What was edited and refused in a turn."""

    edits: list[EditRecord]
    refusals: list[Refusal]


class _TurnTime(NamedTuple):
    """The time of a turn, in seconds since 1970, and its number."""

    start: float
    end: float
    number: int
    session: str


def page_data(repository: Repository, most: int, commits: str = "") -> JsonObject:
    """All that a page needs which nothing serves; `most` limits the number of turns.

    With a range of `commits`, only the turns that wrote lines of them, also those that only notes
    name, and the commits themselves.
    """
    with temporary_objects(repository):
        wanted = _Wanted(most, DiffLimits(), commits)
        data = _data(repository, CurrentTree(repository), wanted, {})
    newest = [turn for turn in data["turns"][:_BLAMED_FILES] if turn["here"] or commits]
    paths = dict.fromkeys(path for turn in newest for path in turn["paths"])
    return {**data, "blame": _blame_some(repository, paths)}


def row_data(repository: Repository, most: int, cache: FileCache, known: str = "") -> JsonObject:
    """The turns without their details, for which a served page asks when they are opened.

    Nothing if their `state`, which changes with the timeline or the worktree, is `known`.
    """
    with temporary_objects(repository):
        now = CurrentTree(repository)
        # First: what changes meanwhile is asked for once more.
        state = _state(repository, now)
        if state == known:
            return {}
        return {"state": state, **_data(repository, now, _Wanted(most, _ROWS_ONLY), cache)}


def turn_data(repository: Repository, identifier: str, most: int) -> JsonObject:
    """The details of one of the newest turns; RefusedError (`not_found`)."""
    with temporary_objects(repository):
        turn = shown_turn(repository, identifier, most)
        [details] = with_details(repository, [turn], _ONE_TURN, {})
        return _details_json(details, *_events(repository, [details]))


def shown_turn(repository: Repository, identifier: str, most: int) -> Turn:
    """One of the newest turns; RefusedError (`not_found`).

    The caller provides for temporary objects.
    """
    found = newest_everywhere(Catalog(repository), CurrentTree(repository), most)
    for turn in found:
        if turn.checkpoint.id == identifier:
            return turn
    raise RefusedError(
        "that turn is no longer among the newest ones",
        code="not_found",
        hints=("reload the page",),
    )


def _state(repository: Repository, now: CurrentTree) -> str:
    """Changes when the timeline or the worktree does."""
    listing = repository.git.line("for-each-ref", "--format=%(objectname) %(refname)", ALL_REFS)
    refs = [line for line in listing.split("\n") if f" {READS}" not in line]
    refused = ""
    with suppress(OSError):
        found = os.stat(refusals_path(repository))
        refused = f"{found.st_mtime_ns} {found.st_size}"
    state = "\n".join((now(), head_stamp(repository), refused, *_interrupted(repository), *refs))
    return hashlib.sha256(os.fsencode(state)).hexdigest()


def _interrupted(repository: Repository) -> list[str]:
    """What was killed half-way in the worktree, in words."""
    # Nearly always nothing is noted, so looking must not load what reads it.
    if not is_noted(repository.state_dir):
        return []
    from git_boocode.workflows.restore_with_edits import interruptions

    return [found.message for found in interruptions(repository)]


def blame_file(repository: Repository, path: str) -> JsonObject:
    """Who wrote which line of a file; RefusedError as for `blame`."""
    lines = blame(repository, path)
    return _blame_json(lines[:_MOST_LINES], cut=len(lines) > _MOST_LINES)


def _blame_some(repository: Repository, paths: Iterable[str]) -> dict[str, JsonObject]:
    """Who wrote which line of some files, as far as limits allow; none without checkpoints."""
    with suppress(RefusedError), line_history(repository) as history:
        return dict(_blamed(repository, history, paths))
    return {}


def _blamed(
    repository: Repository, history: LineHistory, paths: Iterable[str]
) -> Iterator[tuple[str, JsonObject]]:
    deadline = time.monotonic() + _BLAME_TIME

    def blamed(path: str) -> JsonObject | None:
        with suppress(OSError, RefusedError, ValueError):
            size = os.lstat(os.path.join(repository.worktree, path)).st_size
            if size <= _BLAMED_SIZE and time.monotonic() < deadline:
                lines = history.blame(path, f"1,{_BLAMED_LINES + 1}")
                if not any("\0" in line.text for line in lines):
                    return _blame_json(lines[:_BLAMED_LINES], cut=len(lines) > _BLAMED_LINES)
        return None

    some = [*islice(paths, _BLAMED_FILES)]
    private = private_paths(repository, some)
    some = [path for path in some if path not in private]
    with ThreadPoolExecutor(_THREADS) as threads:
        for path, found in zip(some, threads.map(blamed, some), strict=True):
            if found is not None:
                yield path, found


def _blame_json(lines: Sequence[BlamedLine], *, cut: bool) -> JsonObject:
    ranges = []
    for origin, group in groupby(lines, key=attrgetter("origin")):
        numbers = [line.number for line in group]
        checkpoint, noted = origin.checkpoint, origin.noted
        agent, label, when = origin.author, origin.commit[:10], float(origin.time)
        if noted:
            agent, label, when = noted.agent, noted.prompt, time_of(noted.id)
        elif checkpoint:
            agent, label = (checkpoint.meta.shown(key) for key in ("agent", "label"))
            when = time_of(checkpoint.id)
        ranges.append(
            {
                "start": numbers[0],
                "end": numbers[-1],
                "source": origin.source,
                "turn": checkpoint.id if checkpoint else None,
                "agent": agent,
                "label": label,
                "time": when,
            }
        )
    return {"lines": [line.text for line in lines], "ranges": ranges, "cut": cut}


def _data(
    repository: Repository, now: CurrentTree, wanted: _Wanted, cache: FileCache
) -> JsonObject:
    most, limits, commits = wanted
    catalog = Catalog(repository)
    listed = OwnTurns(catalog, now)
    noted = attribute(repository, [commits], dry_run=True) if commits else []
    if commits:
        found = [*listed.named(paths_by_turn(noted))]
    else:
        entries = catalog.newest_first(everywhere=True)
        found = [*islice(listed.turns(entries), most + 1)]
    rows = with_details(repository, found[:most], limits, cache)
    beside = WorktreeLog(listed)
    for row in () if commits else rows:
        beside.note(row.checkpoint)
    beside.compared(beside.read()[1])
    events, short = _events(repository, rows), ShortIds(repository.store)
    turns = _turn_rows(beside, rows, events, short)
    noted_rows = only_noted(noted, {each.checkpoint.id for each in found})
    turns += [{**row, "short": short(row["id"])} for row in noted_rows]
    if noted_rows:
        turns = sorted(turns, key=itemgetter("id"), reverse=True)[:most]
    sizes = accumulate(len(turn["prompt"]) for turn in turns)
    for turn, size in zip(turns, sizes, strict=True):
        turn["prompt"] = turn["prompt"] if size <= _PROMPTS_SIZE else ""
    data = {
        "repository": os.path.basename(repository.worktree),
        "generated_at": time.time(),
        "more": len(found) + len(noted_rows) > most,
        "turns": turns,
        "operations": [] if commits else _operations(beside, turns),
        "commits": [each.as_json() for each in beside.commits],
        "by_hand": [each.as_json() for each in beside.by_hand],
        "here": beside.here_json,
        **undo_steps([*filter(catalog.is_ours, listed.recorded.safety)]),
        "proposed": proposed_files(repository),
        "interrupted": _interrupted(repository),
    }
    if limits != _ROWS_ONLY:
        data["details"] = {
            row.checkpoint.id: _details_json(row, each)
            for row, each in zip(rows, events, strict=True)
        }
    if commits:
        about = {"commits": range_commits(repository, noted), "problems": problems_of(noted)}
        data["range"] = {"name": commits, **about}
    return data


def _turn_rows(
    beside: WorktreeLog, rows: Sequence[TurnDetails], events: Sequence[_Events], short: ShortIds
) -> list[JsonObject]:
    """The rows of the turns that are here."""
    attempts = _attempts([row.checkpoint for row in rows])
    turns = []
    for row, each in zip(rows, events, strict=True):
        checkpoint, state = row.checkpoint, beside.states.of(row.checkpoint)
        turn = _row(beside.catalog, row, each) | {
            "short": short(checkpoint.id),
            "state": state,
            "reverted": state == REVERTED,
            "open": beside.is_open(checkpoint),
        }
        if others := attempts.get(checkpoint.id):
            turn["attempts"] = others
        turns.append(turn)
    return turns


def _operations(beside: WorktreeLog, turns: Sequence[JsonObject]) -> list[JsonObject]:
    """What was restored, reverted and picked here since the oldest turn of the page."""
    catalog, oldest = beside.catalog, turns[-1]["id"] if turns else ""
    done = [each for each in beside.operations if not each.undone and each.id > oldest]
    targets, short = target_checkpoints(catalog, done), ShortIds(catalog.store)
    return [
        {
            "id": each.id,
            "time": time_of(each.id),
            "command": each.command,
            "side": each.side or None,
            "state": each.state,
            "partial": each.is_partial,
            "conversation_only": each.is_conversation_only,
            "turns": [*each.targets],
            "targets": [
                {
                    "short": short(target),
                    "label": targets[target].meta.shown("label") if target in targets else "",
                }
                for target in each.targets
            ],
        }
        for each in done
    ]


def _attempts(newest_first: Sequence[Checkpoint]) -> dict[str, list[str]]:
    """The turns that began in the same state, one of each worktree, by the ids of each of them.

    That of a fork is the turn after its first checkpoint, as soon as there is one.
    """
    begun = [each for each in reversed(newest_first) if not each.in_turn]
    next_ids: dict[str, str] = {}
    latest: dict[str, str] = {}
    for each in begun:
        if before := latest.get(each.meta.worktree_key):
            next_ids[before] = each.id
        latest[each.meta.worktree_key] = each.id
    found: dict[tuple[str, bool], list[str]] = defaultdict(list)
    states: dict[str, tuple[str, bool]] = {}
    for each in begun:
        if origin := each.meta.table("forked_from"):
            turn, after = str(origin.get("turn")), bool(origin.get("after"))
            # A fork of a fork that has just begun.
            states[each.id] = (turn, after) if after else states.get(turn, (turn, after))
            found[states[each.id]].append(next_ids.get(each.id, each.id))
    known = {each.id for each in begun}
    groups = []
    for (turn, after), ids in found.items():
        first = next_ids.get(turn) if after else turn
        groups.append([first, *ids] if first in known else ids)
    return {each: group for group in groups if len(group) > 1 for each in group if each}


def _row(catalog: Catalog, row: TurnDetails, events: _Events) -> JsonObject:
    checkpoint, counts = row.checkpoint, row.counts
    texts = {key: checkpoint.texts[key] for key in ("label", "prompt", "agent", "session")}
    ref = checkpoint.meta.part("head", "ref") or ""
    here = catalog.is_ours(checkpoint) and not checkpoint.remote
    return {
        "id": checkpoint.id,
        **texts,
        "by": taken_by(texts["agent"], checkpoint.meta.shown("trigger")),
        "branch": ref.removeprefix("refs/heads/"),
        "worktree": checkpoint.meta.worktree_name,
        "remote": checkpoint.remote,
        "here": here,
        "command": command_back(checkpoint, here=here),
        "started": row.started,
        "ended": row.ended,
        "end": row.turn.end,
        "in_turn": bool(checkpoint.in_turn),
        "files": counts.files if counts else None,
        "added": counts.added if counts else None,
        "removed": counts.removed if counts else None,
        "paths": [file.path for file in (row.files or ())[:MOST_PATHS]],
        "edits": sum(max(len(record.edits), 1) for record in events.edits),
        "refusals": sum(len(refusal.failures) for refusal in events.refusals),
        "shared": len(row.turn.shared),
    }


def command_back(checkpoint: Checkpoint, *, here: bool) -> str:
    """The command that goes back to before a turn, or shows a fetched one.

    It is empty if it cannot be typed safely.
    """
    # A line that is pasted into a terminal must not contain control characters.
    if not ID.fullmatch(checkpoint.id):
        return ""
    if checkpoint.remote:
        return shell_command("git", "boocode", "show", checkpoint.id)
    words = ("boocode", "restore", checkpoint.id)
    if here:
        return shell_command("git", *words)
    where = checkpoint.meta.part("worktree", "path") or ""
    return shell_command("git", "-C", where, *words) if where and where.isprintable() else ""


def _details_json(row: TurnDetails, events: _Events) -> JsonObject:
    return {
        "files": None if row.files is None else [file_json(file) for file in row.files],
        "edits": [_edit_json(record) for record in events.edits],
        "refusals": [refusal._asdict() for refusal in events.refusals],
        "shared": [{"path": path, "turns": [*ids]} for path, ids in row.turn.shared.items()],
    }


def file_json(file: TurnFile) -> JsonObject:
    """A file that differs, with its diff; `sizes` are those of a binary file, in bytes."""
    modes = [file.old_mode, file.mode] if file.action in ("modify", "rename") else []
    changed = modes if len(set(modes)) == 2 else []
    return {
        "path": file.path,
        "action": file.action,
        "source": file.source,
        "modes": changed,
        "added": file.added,
        "removed": file.removed,
        "diff": file.diff,
        "cut": file.cut,
        **({"missing": file.missing} if file.missing else {}),
        **({"sizes": [*file.sizes]} if file.sizes else {}),
    }


def _edit_json(record: EditRecord) -> JsonObject:
    keys = (("path", str), ("kind", str), ("rung", str), ("similarity", int | float))
    more = (("start_line", int), ("end_line", int), ("count", int))
    return {
        "id": record.id,
        "time": time_of(record.id),
        "rewinds": record.rewinds or "",
        "rewound": record.rewound,
        "files": [{"from": file.source or "", **file.as_json()} for file in record.files],
        "edits": [
            {
                **{key: _of_type(edit.get(key), kind) for key, kind in (*keys, *more)},
                "notes": list(filter(lambda note: isinstance(note, str), _list(edit.get("notes")))),
            }
            for edit in record.edits
        ],
    }


def _of_type(value: object, kind: Any) -> object:  # noqa: ANN401 - a type or a union of types
    # JSON has no infinite numbers.
    is_number = not isinstance(value, float) or math.isfinite(value)
    return value if isinstance(value, kind) and is_number else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _events(repository: Repository, rows: Sequence[TurnDetails]) -> list[_Events]:
    """The edits and refusals of each turn, oldest first: by worktree and time."""
    found = [_Events([], []) for _ in rows]
    if not rows:
        return found
    windows = _windows(rows)
    oldest = min(row.started for row in rows)
    for record in Records(repository).history(everywhere=True):
        when = time_of(record.id)
        if when < oldest:
            break
        session = record.meta.text("session")
        number = _turn_at(windows.get(record.meta.worktree_key, []), when, session)
        if number is not None:
            found[number].edits.insert(0, record)
    for refusal in refusals(repository):
        number = _turn_at(windows.get(refusal.worktree, []), refusal.time)
        if number is not None:
            found[number].refusals.append(refusal)
    return found


def _windows(rows: Sequence[TurnDetails]) -> dict[str, list[_TurnTime]]:
    """The windows of turns, oldest first, by worktree."""
    windows: dict[str, list[_TurnTime]] = {}
    for number, row in enumerate(rows):
        if row.checkpoint.in_turn:
            # What is done after it belongs to that turn.
            continue
        end = row.following
        if end is None:
            end = float("inf") if row.turn.end in (NOW, "") else row.started
        key = row.checkpoint.meta.worktree_key
        session = row.checkpoint.meta.text("session")
        windows.setdefault(key, []).append(_TurnTime(row.started, end, number, session))
    return {key: sorted(listed) for key, listed in windows.items()}


def _turn_at(windows: Sequence[_TurnTime], when: float, session: str = "") -> int | None:
    """The latest turn that was open, if possible of a session; several may have been."""
    place = bisect_right(windows, when, key=lambda window: window.start)
    for window in reversed(windows[:place] if session else ()):
        if window.session == session and when <= window.end:
            return window.number
    latest = windows[place - 1] if place else None
    return latest.number if latest and when <= latest.end else None
