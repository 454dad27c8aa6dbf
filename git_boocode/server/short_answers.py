"""The answers of tools as short texts for a model, made from the JSON answers of the commands.

They hold what a model needs for its next step: ids, changed lines, warnings, and the way back.
"""

from __future__ import annotations

import json
import posixpath
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple

from git_boocode.checkpoints.turn_words import AFTER, BY_HAND, HERE, SIDES, state_words
from git_boocode.editing.edits import PLACES_NOTES
from git_boocode.editing.reading import NumberedLines
from git_boocode.editing.text_changes import quoted
from git_boocode.repo.errors import first_few
from git_boocode.repo.ids import time_of
from git_boocode.server.json_rpc import JsonObject

LOG_LENGTH = 25
"""The number of turns or edits that `log` lists unless the call says how many."""
_DIFF_LINES, _ASKED_DIFF_LINES = 40, 400
"""Lines of a diff that is shown: of itself, and if the call names the paths."""
_READ_LINES, _READ_WIDTH, _READ_BYTES = 2_000, 2_000, 100_000
"""Lines of a file that are shown, characters of one, and bytes of them all."""
_LINE_LENGTH = 200
_PATHS, _RANGES, _STEPS, _HUNKS = 20, 8, 5, 40
"""Files, ranges of changed lines of one, restores among turns, and hunks that are listed."""
_LABEL_BYTES = 36
_DONE = {"create": "created", "modify": "modified", "delete": "deleted", "rename": "renamed"}
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NEW_FILE = re.compile("^diff --git ", re.MULTILINE)

Shorten = Callable[[str], str]
"""Abbreviates an id so that it still works as a name."""


class _Answered(NamedTuple):
    """A JSON answer, the arguments of its call, and how ids are shown."""

    tool: str
    answer: JsonObject
    arguments: Mapping[str, Any]
    short: Shorten

    def get(self, name: str) -> Any:  # noqa: ANN401 - any JSON
        return self.answer.get(name)


def short_answer(
    tool: str, answer: JsonObject, arguments: Mapping[str, Any], shorten: Shorten
) -> str | None:
    """The text of a successful answer; None if only the whole JSON will do."""
    # The revert of an edit answers as a rewind.
    make = _TEXTS.get("rewind" if "rewinds" in answer else tool)
    # The new text of a buffer is in the answer alone.
    if make is None or arguments.get("buffers"):
        return None
    return "\n".join(make(_Answered(tool, answer, arguments, shorten)))


def conflict_lines(answer: JsonObject, shorten: Shorten) -> Iterator[str]:
    """Where others have changed the same lines, and who."""
    return _limited([_conflict(each, shorten) for each in answer.get("conflicts", ())])


def _conflict(conflict: JsonObject, shorten: Shorten) -> str:
    ranges = [_range(first, last) for first, last in conflict["lines"]]
    where = f", {_lines_text(ranges)}" if ranges else ""
    names = [_author(by, shorten) for by in conflict.get("by", ())]
    who = f" by {', '.join(names)}" if names else ""
    return f"conflict in {quoted(conflict['path'])}{where}: {conflict['message']}{who}"


def _author(by: JsonObject, shorten: Shorten) -> str:
    if by["turn"] is None:
        return "hand"
    label = f" ({_cut(by['label'])})" if by.get("label") else ""
    return f"turn {shorten(by['turn'])}{label}"


# Reading.


def _read_lines(done: _Answered) -> Iterator[str]:
    """What the command prints, as far as it is short enough, and the call that goes on."""
    path, rows, total = done.get("path"), done.get("lines"), done.get("total")
    first = rows[0]["number"] if rows else 1
    texts = list(_first_texts(row["text"] for row in rows))
    yield from NumberedLines(path, done.get("version"), first, tuple(texts), total).as_text()
    if len(texts) < len(rows):
        following, last = first + len(texts), first + len(rows) - 1
        given = done.arguments["path"]
        # Without the range, unless it belongs to the name.
        is_name = posixpath.basename(given) == posixpath.basename(path)
        name = given if is_name else given.rpartition(":")[0] or given
        call = {"path": f"{name}:{following}-{'' if last == total else last}"}
        count = _counted(len(rows) - len(texts), "more line")
        yield f"… and {count}: the tool 'read' with {_json(call)} goes on"
    if warning := done.get("warning"):
        yield f"warning: {warning}"


def _first_texts(texts: Iterable[str]) -> Iterator[str]:
    """The first lines of a file, at least one, within the size of an answer."""
    size = 0
    for text in islice(texts, _READ_LINES):
        size += len(text[:_READ_WIDTH].encode("utf-8", "surrogatepass"))
        if size > _READ_BYTES:
            return
        more = len(text) - _READ_WIDTH
        yield text if more <= 0 else f"{text[:_READ_WIDTH]}… ({_counted(more, 'more character')})"


# Edits.


def _edit_lines(done: _Answered) -> Iterator[str]:
    files, edit = done.get("files"), done.get("id")
    if not done.get("applied"):
        yield "dry run: nothing was written"
    elif done.get("rewinds") and not edit:
        yield f"nothing to do for edit {done.short(done.get('rewinds'))}"
    elif done.get("rewinds"):
        yield f"took back edit {done.short(done.get('rewinds'))}; to undo this, revert {edit}"
    else:
        yield f"applied as edit {edit}" if edit else "applied"
    size = sum(file["diff"].count("\n") for file in files)
    # How a text was found matters more than what was changed as asked.
    by_notes = sorted(files, key=lambda file: not any(map(_notes, file["edits"])))
    for file in files if len(files) <= _PATHS else by_notes[:_PATHS]:
        yield from _edited_file(file, with_diff=size <= _DIFF_LINES)
    if len(files) > _PATHS:
        yield _more(len(files) - _PATHS)


def _edited_file(file: JsonObject, *, with_diff: bool) -> Iterator[str]:
    notes = dict.fromkeys(chain.from_iterable(map(_notes, file["edits"])))
    noted = f" ({'; '.join(notes)})" if notes else ""
    moved = f"{quoted(file['from'])} -> " if "from" in file else ""
    ranges = [_range(each["start_line"], each["end_line"]) for each in file["changed"]]
    where = f", {_lines_text(ranges)}" if ranges else ""
    is_same = file["action"] == "modify" and not file["diff"]
    what = "unchanged" if is_same else _DONE[file["action"]]
    now = f", now {file['version']}" if file["version"] else ""
    yield f"{moved}{quoted(file['path'])}: {what}{where}{noted}{now}"
    # The model knows what it has just written in full.
    if file["action"] in ("modify", "rename") and with_diff:
        yield from _numbered_lines(file["diff"])


def _numbered_lines(diff: str) -> Iterator[str]:
    """The hunks of a file's diff with the line numbers of the new file; removed lines have none."""
    rows: list[tuple[str, str, str]] = []
    number = 0
    for line in _hunk_lines(diff):
        if header := _HUNK.match(line):
            # Of no lines, git names the line before them.
            number = int(header[1]) + (header[2] == "0")
        else:
            is_there = line[:1] in ("+", " ")
            rows.append((line[:1], str(number) if is_there else "", line[1:]))
            number += is_there
    width = len(str(number))
    for sign, shown, text in rows:
        yield f"{sign}{text}" if sign == "\\" else f"{sign}{shown:>{width}}| {text}"


def _notes(edit: JsonObject) -> list[str]:
    fuzzy = [f"matched by {edit['rung']}"] if edit["kind"] == "fuzzy" else []
    # The changed lines are listed already, by their present numbers.
    return [*fuzzy, *(note for note in edit["notes"] if not note.startswith(PLACES_NOTES))]


def _range(first: int, last: int) -> str:
    if last < first:
        return f"below {last}"
    return str(first) if first == last else f"{first}-{last}"


def _lines_text(ranges: Sequence[str]) -> str:
    one = len(ranges) == 1 and ranges[0].isdecimal()
    return f"line{'' if one else 's'} {first_few(ranges, _RANGES)}"


def _hunk_lines(diff: str, *, cut: bool = True) -> list[str]:
    """The lines of a file's diff from its first hunk on."""
    _, header, hunks = diff.partition("\n@@ ")
    lines = f"@@ {hunks}".removesuffix("\n").split("\n") if header else []
    return _shown_lines(lines) if cut else lines


def _shown_lines(lines: Sequence[str]) -> list[str]:
    """Lines of hunks; of a long one, the part in which it differs from the one in its place."""
    places: dict[int, int] = {}
    removed: list[int] = []
    for number, line in enumerate(lines):
        if line[:1] == "-":
            removed.append(number)
        elif line[:1] == "+" and removed:
            old = removed.pop(0)
            places[old] = places[number] = _first_difference(lines[old][1:], line[1:])
        else:
            removed = []
    return [_shown_line(line, places.get(number, 0)) for number, line in enumerate(lines)]


def _first_difference(one: str, other: str) -> int:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


def _shown_line(line: str, place: int) -> str:
    if len(line) <= _LINE_LENGTH:
        return line
    first = place - _LINE_LENGTH // 4 if place > _LINE_LENGTH // 2 else 0
    part = line[1 + first : _LINE_LENGTH + first]
    more = "…" * (len(line) > _LINE_LENGTH + first)
    return f"{line[0]}{'…' * (first > 0)}{part}{more}"


# Checkpoints and turns.


def _checkpoint_lines(done: _Answered) -> Iterator[str]:
    same = "" if done.get("changed") else "; nothing has changed since the one before"
    yield f"checkpoint {done.get('id')}{same}"
    yield from _limited(
        [f"not recorded: {quoted(row['path'])}: {row['reason']}" for row in done.get("skipped")]
    )


def _log_lines(done: _Answered) -> Iterator[str]:
    limit = done.arguments.get("max_count")
    if (edits := done.get("edits")) is not None:
        yield from (_logged_edit(row, done.short) for row in edits)
        yield from _rest_of_log(edits, limit, "edits")
        return
    turns, steps = done.get("checkpoints"), (done.get("operations") or ())[:_STEPS]
    several = len({row["agent"] for row in turns}) > 1
    # What was done by hand was found when the turn or operation above it began.
    rows = [(row["id"], 2, _logged_turn(row, done.short, agent=several)) for row in turns]
    rows += [(row["id"], 2, _logged_step(row, done.short)) for row in steps]
    rows += [
        (row["operation"] or row["before"] or "~", 0, _logged_by_hand(row))
        for row in (done.get("by_hand") or ())[:_STEPS]
    ]
    if (here := done.get("here")) and (here["at"] or here["side"] != AFTER):
        where = f"{HERE}: {SIDES[here['side']]}, {done.short(here['turn'])}"
        rows.append((here["at"] or "~", 1, where))
    yield from (text for *_, text in sorted(rows, reverse=True))
    yield from _rest_of_log(turns, limit, "turns")
    for row in done.get("not_counted") or ():
        yield f"not counted: {quoted(row['path'])}: {row['reason']}"


def _rest_of_log(rows: Sequence[object], limit: int | None, what: str) -> Iterator[str]:
    if not rows:
        yield f"no {what} found"
    elif limit is not None and len(rows) >= limit:
        yield f"for older {what}: a larger max_count, or until"


def _logged_turn(row: JsonObject, short: Shorten, *, agent: bool) -> str:
    files = row["files"]
    count = "" if files is None else f", {_counted(files, 'file')}"
    count += f" +{row['added']} -{row['removed']}" if files else ""
    who = f" {_cut(row['agent'])}:" if agent and row["agent"] else ""
    label = f" {_cut(row['label'])}" if row["label"] else ""
    state = _comma(state_words(row["state"], is_open=row["open"]))
    during = f", during {short(row['in_turn'])}" if row.get("in_turn") else ""
    return f"{short(row['id'])} {_time(row['id'])}{who}{label}{count}{during}{state}"


def _logged_step(row: JsonObject, short: Shorten) -> str:
    at = [row["checkpoint_id"]] if row["checkpoint_id"] else row["turns"]
    names = f" of {first_few([*map(short, at)], 3)}" if at else ""
    undone = ", undone" if row["undone"] else ""
    state = _comma(state_words(row["state"]))
    return f"{short(row['id'])} {_time(row['id'])} ({row['command']}{names}{undone}{state})"


def _logged_by_hand(row: JsonObject) -> str:
    paths = first_few([*map(quoted, row["paths"])], 3)
    return f"{BY_HAND}: {paths}{_comma(state_words(row['state']))}"


def _comma(words: str) -> str:
    return f", {words}" if words else ""


def _logged_edit(row: JsonObject, short: Shorten) -> str:
    paths = first_few([quoted(file["path"]) for file in row["files"]], 3)
    of = f", reverts {short(row['rewinds'])}" if row["rewinds"] else ""
    return f"{row['id']} {_time(row['id'])} {paths}{of}{', reverted' * row['rewound']}"


def _time(identifier: str) -> str:
    """The time of an id as local time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_of(identifier)))


def _cut(text: str) -> str:
    """A text in one line of bounded size."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    data = line.encode("utf-8", "surrogatepass")
    if len(data) <= _LABEL_BYTES:
        return line
    return data[:_LABEL_BYTES].decode("utf-8", "ignore").rstrip() + "…"


# Differences.


def _diff_lines(done: _Answered) -> Iterator[str]:
    files, diff = done.get("files"), done.get("diff")
    lines = diff.removesuffix("\n").split("\n") if diff else []
    yield f"{_counted(len(files), 'file')} changed" if files else "no differences"
    asked = bool(done.arguments.get("paths"))
    most = _ASKED_DIFF_LINES if asked else _DIFF_LINES
    is_short = max(len(lines), len(diff) // _LINE_LENGTH) <= most
    if lines and is_short:
        yield from lines
        return
    parts = [_counts(f"diff --git {part}") for part in _NEW_FILE.split(diff)[1:]]
    counts = parts if len(parts) == len(files) else [""] * len(files)
    rows = (f"{quoted(file['path'])}: {_DONE[file['action']]}" for file in files)
    yield from _limited([f"{row}{count}" for row, count in zip(rows, counts, strict=True)])
    if asked:
        yield from _first_lines(lines)
    elif lines:
        yield f"the diff has {len(lines):,} lines: paths shows it for some of the files"


def _first_lines(diff: Sequence[str]) -> Iterator[str]:
    """The lines of a diff that the call asked for, as far as that is possible."""
    yield from _shown_lines(diff[:_ASKED_DIFF_LINES])
    if (more := len(diff) - _ASKED_DIFF_LINES) > 0:
        yield f"… and {more:,} more lines: name fewer paths"


def _counts(diff: str) -> str:
    """The lines that a diff of a file adds and removes."""
    signs = [line[:1] for line in _hunk_lines(diff, cut=False)]
    return f" +{signs.count('+')} -{signs.count('-')}" if signs else ""


# The way back.


def _restore_lines(done: _Answered) -> Iterator[str]:
    changed, is_dry = done.get("changed"), done.get("dry_run")
    name = done.short(done.get("checkpoint_id"))
    state = f"the end of turn {name}" if done.get("after") else f"checkpoint {name}"
    parts = [_counted(len(changed), "file")] if changed else []
    parts += ["the staging area"] * done.get("index_reset") + ["HEAD"] * done.get("head_moved")
    if deleted := done.get("messages_deleted"):
        parts.append(f"the conversation ({_counted(deleted, 'message')} cut)")
    if done.get("proposal"):
        verb = {"undo": "took back", "redo": "redid"}.get(done.tool, "brought back")
        yield f"{'would change' if is_dry else verb} '{done.get('proposal')}' of a proposal"
    elif parts:
        yield f"{'would restore' if is_dry else 'restored'} {_list(parts)} to {state}"
    elif done.get("kept") or done.arguments.get("conversation_only"):
        yield f"nothing {'would be' if is_dry else 'was'} restored from {state}"
    else:
        yield f"nothing to do: the files are as at {state}"
    yield from _changed_lines(done)
    if removed := done.get("removed_commits"):
        subjects = [quoted(each["subject"]) for each in removed]
        would = "would leave" if is_dry else "left"
        yield f"{_counted(len(removed), 'commit')} {would} the branch: {first_few(subjects, 3)}"
    yield from _conversation(done)
    yield from _warnings(done)
    yield from _others(done)
    yield from done.get("message").splitlines()
    if done.get("resume"):
        yield f"continue the conversation with: {done.get('resume')}"
    yield from _way_back(done)


def _others(done: _Answered) -> Iterator[str]:
    if turns := done.get("other_turns"):
        named = first_few(
            [f"'{_cut(each['label'])}' of {_cut(each['agent'])}" for each in turns], 3
        )
        does = "would also remove" if done.get("dry_run") else "also removed"
        yield f"warning: this {does} the work of another session: {named}"
    for step in done.get("next") or ():
        names = step["arguments"]["turns"]
        call = _json({"turns": [done.short(each) for each in names]})
        first = f"after {_undoing(done)}, " if done.get("undo") else ""
        yield f"hint: {first}revert with {call} takes back only the turns of its session"
    for each in done.get("open_in") or ():
        yield f"warning: {each['program']} (process {each['pid']}) still has the conversation open"


def _conversation(done: _Answered) -> Iterator[str]:
    """What was not done about the conversation."""
    if done.get("conversation_kept"):
        yield "the conversation stays as it is, because its agent is in a turn"
        if done.tool == "restore" and not done.get("conversation_note"):
            command = f"git boocode restore {done.get('checkpoint_id')} --conversation-only"
            yield f"the user can take it back when the turn has ended: '{command}'"
    if note := done.get("conversation_note"):
        yield note
    if done.get("conversation_left"):
        yield "warning: the conversation was not restored: its callback is not configured"


def _warnings(done: _Answered) -> Iterator[str]:
    turn = done.get("open_turn")
    others = [each["id"] for each in done.get("other_turns") or ()]
    # Of other sessions, an open turn is a reason for a hint, too.
    is_of_other = turn in others or (done.get("hint") and not others)
    if turn and (is_of_other or not done.get("conversation_kept")):
        yield f"warning: turn {done.short(turn)} has not ended; its agent may still write files"
    for lost in done.get("hooks_lost"):
        yield f"warning: {quoted(lost['path'])} loses hooks: '{lost['install']}' adds them again"
    if done.get("head_differs") and not done.arguments.get("paths"):
        yield "HEAD stays where it is, which is not where it was at the checkpoint"
    reasons = [row["reason"] for row in done.get("kept")]
    if done.tool == "restore" and any(each.startswith("ignored file ") for each in reasons):
        yield "hint: 'force': [\"ignored\"] replaces ignored files"
    if done.get("archived"):
        yield f"{_counted(len(done.get('archived')), 'later checkpoint')} left the log until undo"
    if done.get("returned"):
        yield f"{_counted(len(done.get('returned')), 'checkpoint')} returned to the log"


def _revert_lines(done: _Answered) -> Iterator[str]:
    changed, is_dry = done.get("changed"), done.get("dry_run")
    names = first_few([f"turn {done.short(each)}" for each in done.get("turns")], 3)
    if changed or done.get("staged"):
        count = _counted(len(changed), "file") if changed else "the staging area"
        yield f"{'would take back' if is_dry else 'took back'} {count} of {names}"
    elif done.get("kept") or done.get("conflicts"):
        yield f"nothing {'would be' if is_dry else 'was'} taken back of {names}"
    else:
        yield f"nothing to do: no change of {names} is left here"
    yield from _changed_lines(done)
    yield from conflict_lines(done.answer, done.short)
    if done.get("conflicts") and done.arguments.get("markers"):
        yield f"these files {'would have' if is_dry else 'have'} conflict markers: resolve them"
    if diff := done.get("diff"):
        yield from _first_lines(diff.removesuffix("\n").split("\n"))
    yield from _way_back(done)


def _way_back(done: _Answered) -> Iterator[str]:
    if done.get("undo"):
        yield f"{_undoing(done)} brings back what was here before"


def _undoing(done: _Answered) -> str:
    """The call that takes back what was done."""
    return f"restore with checkpoint {done.get('undo')}" if done.tool == "undo" else "undo"


def _changed_lines(done: _Answered) -> Iterator[str]:
    """The files that changed, what was left alone, and of a dry run the hunks."""
    changed = done.get("changed")
    paths = {row["path"] for row in changed}
    rows = [f"{quoted(row['path'])}: {_DONE[row['action']]}" for row in changed]
    rows += [f"{quoted(path)}: modified" for path in done.get("edited") or ()]
    rows += [
        f"{quoted(row['path'])}: staging" for row in done.get("staged") if row["path"] not in paths
    ]
    yield from _limited(rows)
    yield from _limited(
        [
            f"{'not brought back' if row.get('missing') else 'left alone'}: "
            f"{quoted(row['path'])}: {row['reason']}"
            for row in done.get("kept")
        ]
    )
    yield from _hunks_to_choose(done)


def _hunks_to_choose(done: _Answered) -> Iterator[str]:
    """The hunks of files, with the text of those that are short."""
    lines, number, without_text = _DIFF_LINES, _HUNKS, ""
    for row in done.get("changed"):
        chosen = done.arguments.get("hunk")
        hunks = [each for each in row.get("hunks", ()) if not chosen or each["number"] in chosen]
        if not hunks:
            continue
        yield f"{quoted(row['path'])}, for hunk and expect: version {row['version']}"
        for hunk in hunks[:number]:
            text = [*_signed("-", hunk["old_text"]), *_signed("+", hunk["new_text"])]
            removed, added = (sum(line[0] == sign for line in text) for sign in "-+")
            place = _lines_text([_range(hunk["start_line"], hunk["end_line"])])
            is_short = len(text) <= lines
            note = "" if is_short else " (text left out)"
            yield f"hunk {hunk['number']}: {place}, +{added} -{removed}{note}"
            if is_short:
                lines -= len(text)
                yield from _shown_lines(text)
            without_text = without_text or ("" if is_short else row["path"])
        if more := len(hunks[number:]):
            yield f"… and {_counted(more, 'more hunk')}, up to number {hunks[-1]['number']}"
            without_text = without_text or row["path"]
        number = max(number - len(hunks), 0)
    if without_text and done.tool == "revert":
        yield "what was left out: dry_run with diff shows it, with hunk for some of it"
    elif without_text:
        call = {"old": done.short(done.get("checkpoint_id")), "paths": [without_text]}
        yield f"what was left out: the tool 'diff' with {_json(call)} shows it"


def _signed(sign: str, text: str) -> Iterator[str]:
    """The lines of a side of a hunk, as a diff has them."""
    *lines, last = text.split("\n")
    yield from (f"{sign}{line}" for line in lines)
    if last:
        yield from (f"{sign}{last}", "\\ No newline at end of file")


def _json(call: Mapping[str, Any]) -> str:
    return json.dumps(call, ensure_ascii=False)


def _limited(rows: Sequence[str]) -> Iterator[str]:
    yield from rows[:_PATHS]
    if len(rows) > _PATHS:
        yield _more(len(rows) - _PATHS)


def _more(number: int) -> str:
    return f"… and {number:,} more"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _list(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


_TEXTS: dict[str, Callable[[_Answered], Iterator[str]]] = {
    "apply_edit": _edit_lines,
    "preview_edit": _edit_lines,
    "rewind": _edit_lines,
    "read": _read_lines,
    "checkpoint": _checkpoint_lines,
    "log": _log_lines,
    "diff": _diff_lines,
    "restore": _restore_lines,
    "undo": _restore_lines,
    "redo": _restore_lines,
    "revert": _revert_lines,
}
