"""What agents write in their transcripts: who said what, and which tools were called.

One table has the lines that are messages, by agent; how they spell the parts of a message is the
same for all of them. Whatever is not known is left out.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from git_boocode.agents.event import paths_in
from git_boocode.checkpoints.prompt import own_words
from git_boocode.repo.masking import mask_value

JsonObject = dict[str, Any]

USER, ASSISTANT, TOOL, OMITTED = "user", "assistant", "tool", "omitted"
"""Who an entry is of: a person, the model, a tool that it called, or nobody, for a gap."""
SUBAGENT = "subagent"
"""The name of the tool that stands for the messages of subagents."""

# By agent, the `type` of a line that is a message, and the keys under which the message is in it.
FORMATS: Mapping[str, Mapping[str, str]] = {
    "claude-code": {"user": "message", "assistant": "message"},
    "codex": {"response_item": "payload"},
    "copilot": {
        "user.message": "data",
        "assistant.message": "data",
        "tool.execution_complete": "data",
    },
    # By its documentation only: its lines have no type.
    "cursor": {"": "message"},
    "droid": {"message": "message"},
    "gemini": {"user": "", "gemini": ""},
    "grok": {"user": "", "assistant": "", "tool_result": ""},
    "kimi": {"agent.message.appended": "message.message"},
    "opencode": {"message": "message"},
    "pi": {"message": "message"},
    "qwen": {"user": "message", "assistant": "message", "tool_result": "message"},
}
# Who wrote a message, by its `role` or the `type` of its line.
_ROLES = {
    **dict.fromkeys(("user", "user.message"), USER),
    **dict.fromkeys(("assistant", "model", "gemini", "assistant.message"), ASSISTANT),
    **dict.fromkeys(("tool", "toolResult", "tool_result", "tool.execution_complete"), TOOL),
}
# What a line or message has that no person and no model wrote.
_INJECTED = ("isMeta", "isCompactSummary", "synthetic_reason", "synthetic")
_QUERY = ("<user_query>", "</user_query>")

# The parts of a message: their types and keys.
_CONTENT = ("content", "parts")
_CALL_LISTS = ("toolCalls", "tool_calls", "toolRequests")
_TEXTS = ("text", "input_text", "output_text", "Text")
_IMAGES = ("image", "input_image", "image_url", "local_image")
_CALLS = (
    *("tool_use", "server_tool_use", "mcp_tool_use", "toolCall", "tool_call", "function_call"),
    *("custom_tool_call", "local_shell_call", "tool"),
)
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output", "toolResult")
_IDS = ("call_id", "callID", "toolCallId", "tool_call_id", "tool_use_id", "id")
_NAMES = ("name", "tool", "toolName", "type")
_INPUTS = ("input", "arguments", "args", "action")
_OUTPUTS = ("content", "output", "result", "response", "error", "text")
_TIMES = ("timestamp", "time")

# Limits: entries at the beginning and at the end, and characters of texts.
_FIRST, _LAST = 100, 400
_LONGEST_TEXT, _LONGEST_VALUE, _LONGEST_SUMMARY = 200_000, 8_000, 200
_MOST_ITEMS, _MOST_LINES, _DEEPEST = 50, 4_000, 20
# What a call of a tool is about, if not files: the first of these keys that it has.
_SUBJECTS = (
    *("command", "cmd", "commands", "script", "description", "query", "pattern", "url"),
    *("prompt", "task", "title", "name"),
)
_SOUGHT = ("pattern", "query", "regex")
_PAIRS = (
    *(("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText")),
    *(("old_text", "new_text"), ("oldString", "newString"), ("search", "replace")),
)
_WHOLE = ("content", "file_text", "contents")
_PATCHES = ("input", "patch", "patchText", "patch_text", "diff")
_THIS_CENTURY, _MILLISECONDS = 978_307_200.0, 100_000_000_000


class Conversation:
    """What the lines of a transcript say, as JSON objects.

    `entries` are `{"role", "text"}` of USER and ASSISTANT, `{"role", "name", "summary", "input",
    "result"}` of TOOL, and `{"role", "text"}` of OMITTED, most with a `time` in seconds. Each text
    goes through `mask`. Paths are shown relative to `top`.
    """

    def __init__(self, agent: str, top: str, mask: Callable[[str], str]) -> None:
        self._types = FORMATS[agent]
        self._top = os.path.join(top, "")
        self._mask = mask
        # By the ids of the lines that they are of, or numbers for lines without an id.
        self._first: dict[str | int, list[JsonObject]] = {}
        self._last: dict[str | int, list[JsonObject]] = {}
        self._folded: JsonObject | None = None  # the entry of the subagents that spoke last
        self._calls: dict[str, JsonObject] = {}
        self._count = 0
        self._omitted = 0
        self.unread = 0
        """The number of lines that are no JSON objects."""
        self.is_cut = False
        """Whether an entry, or a part of one, was left out because of its size."""

    def add_lines(self, lines: Iterable[bytes]) -> None:
        """Add the lines of a transcript."""
        for line in filter(bytes.strip, lines):
            try:
                text = line.decode("utf-8-sig", "surrogateescape")
                row = json.loads(text, strict=False, parse_constant=str)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                self.add_row(row)
            else:
                self.unread += 1

    def add_gap(self) -> None:
        """Note that lines are left out here."""
        self._keep(None, [{"role": OMITTED, "text": "a part of the transcript is left out"}])
        self.is_cut = True

    def add_row(self, row: JsonObject) -> None:
        """Add the object of a line."""
        kind = row.get("type", "")
        keys = self._types.get(kind) if isinstance(kind, str) else None
        if keys is None:
            return
        message = row
        for key in filter(None, keys.split(".")):
            message = _table(message, key)
        if _is_injected(row) or _is_injected(message):
            return
        role = _ROLES.get(str(message.get("role") or row.get("role") or kind), "")
        entries = list(self._entries(role, message))
        if not entries:
            return
        when = next(filter(None, (_seconds(row.get(key)) for key in _TIMES)), None)
        for entry in entries if when else ():
            entry["time"] = when
        if row.get("isSidechain") or row.get("agentId", "main") not in ("main", ""):
            self._fold(entries)
        else:
            self._folded = None
            own = row.get("uuid") or row.get("id")
            self._keep(own if isinstance(own, str) and own else None, entries)

    def forget_earlier_prompts(self) -> None:
        """Forget the entries before the latest prompt."""
        groups = [*self._first.items(), *self._last.items()]
        prompts = [n for n, (_, made) in enumerate(groups) if any(e["role"] == USER for e in made)]
        for key, _ in groups[: prompts[-1] if prompts else None]:
            self._first.pop(key, None)
            self._last.pop(key, None)
        self._omitted = 0

    @property
    def entries(self) -> list[JsonObject]:
        """The entries, and in a gap between them their number."""
        first = list(chain.from_iterable(self._first.values()))
        last = list(chain.from_iterable(self._last.values()))
        gap = {"role": OMITTED, "text": f"{self._omitted:,} entries are left out"}
        return [_plain(each) for each in (*first, *([gap] if self._omitted else []), *last)]

    # Keeping them.

    def _keep(self, own: str | None, entries: list[JsonObject]) -> None:
        """Keep the entries of a line, instead of those of an earlier line with the same id."""
        self._count += 1
        key = self._count if own is None else own
        kept = self._first if key in self._first or len(self._first) < _FIRST else self._last
        kept[key] = entries
        if len(self._last) > _LAST:
            self._omitted += len(self._last.pop(next(iter(self._last))))
            self.is_cut = True

    def _fold(self, entries: Sequence[JsonObject]) -> None:
        """Count the entries of subagents that follow each other as one entry."""
        if self._folded is None:
            time = {"time": entries[0]["time"]} if "time" in entries[0] else {}
            self._folded = {"role": TOOL, "name": SUBAGENT, "messages": 0, **time}
            self._keep(None, [self._folded])
        count = self._folded["messages"] = self._folded["messages"] + len(entries)
        self._folded["summary"] = "1 message" if count == 1 else f"{count:,} messages"

    # Making them.

    def _entries(self, role: str, message: JsonObject) -> Iterator[JsonObject]:
        """The entries of a message; results go to the entries of their calls."""
        kind = message.get("type")
        if role == TOOL or kind in _RESULTS:
            self._answer(message, message)
        elif kind in _CALLS:
            yield self._call(message)
        elif role:
            given = next((message[key] for key in _CONTENT if message.get(key)), "")
            for part in given if isinstance(given, list) else [given]:
                yield from self._part(role, part)
            for calls in (message.get(key) for key in _CALL_LISTS):
                for call in calls if isinstance(calls, list) else ():
                    if isinstance(call, dict):
                        yield self._call(call)

    def _part(self, role: str, part: object) -> Iterator[JsonObject]:
        """The entry of a part of a message, if it has one."""
        if isinstance(part, str):
            part = {"text": part}
        if not isinstance(part, dict) or part.get("thought") or _is_injected(part):
            return
        kind, text = part.get("type", _TEXTS[0]), part.get("text")
        if kind in _RESULTS or "functionResponse" in part:
            response = _table(part, "functionResponse") or part
            self._answer(response, response)
        elif kind in _CALLS or "functionCall" in part:
            yield self._call(_table(part, "functionCall") or part)
        elif kind in _TEXTS and isinstance(text, str):
            words = _own_words(text) if role == USER else text.strip()
            yield from [{"role": role, "text": self._text(words, _LONGEST_TEXT)}] if words else ()
        elif kind in _IMAGES or "inlineData" in part:
            yield {"role": role, "text": "[image]"}

    def _call(self, call: JsonObject) -> JsonObject:
        made = _table(call, "function") or call
        state = _table(call, "state")
        name = next((made[key] for key in _NAMES if isinstance(made.get(key), str)), "tool")
        sources = (made, state)
        found = (each[key] for each in sources for key in _INPUTS if key in each)
        given: Any = self._masked(_decoded(next(found, {})), _DEEPEST)
        entry = {
            "role": TOOL,
            "name": self._text(name, _LONGEST_SUMMARY),
            "summary": summary_of(given, self._top),
            "input": self._shortened(given),
        }
        if identifier := _id_of(call):
            self._calls[identifier] = entry
            # Gemini CLI and opencode write the result there.
            self._answer(call, state or {"result": call.get("result")})
        return entry

    def _answer(self, named: JsonObject, result: JsonObject) -> None:
        """Add the result of a call to its entry, if that is there."""
        entry = self._calls.get(_id_of(named))
        text = _text_of(next((result[key] for key in _OUTPUTS if result.get(key)), ""))
        if entry is not None and text.strip():
            entry["result"] = self._text(text.strip("\n"), _LONGEST_VALUE)

    # Texts.

    def _text(self, text: str, longest: int) -> str:
        masked = self._mask(text)
        self.is_cut |= len(masked) > longest
        return _cut(masked, longest)

    def _masked(self, value: Any, deepest: int) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, str):
            return self._mask(value)
        if isinstance(value, list | dict) and not deepest:
            self.is_cut = True
            return "…"
        if isinstance(value, list):
            return [self._masked(each, deepest - 1) for each in value]
        if isinstance(value, dict):
            return {
                (name := self._mask(key)): mask_value(self._mask, name, each)
                if isinstance(each, str)
                else self._masked(each, deepest - 1)
                for key, each in value.items()
            }
        # JSON has no infinite numbers.
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value

    def _shortened(self, value: Any, longest: int = _LONGEST_VALUE) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, str):
            self.is_cut |= len(value) > longest
            return _cut(value, longest)
        if isinstance(value, list):
            self.is_cut |= len(value) > _MOST_ITEMS
            return [self._shortened(each, longest) for each in value[:_MOST_ITEMS]]
        if isinstance(value, dict):
            self.is_cut |= len(value) > _MOST_ITEMS
            some = list(value.items())[:_MOST_ITEMS]
            return {key[:_LONGEST_SUMMARY]: self._shortened(each, longest) for key, each in some}
        return value


def _cut(text: str, longest: int) -> str:
    rest = len(text) - longest
    return text if rest <= 0 else f"{text[:longest]}… ({rest:,} more characters)"


def summary_of(given: Any, top: str) -> str:  # noqa: ANN401 - any JSON
    """What a call of a tool is about, in one line: files and lines, a command, or the like."""
    table = given if isinstance(given, dict) else {}
    paths = list(dict.fromkeys(each.removeprefix(top) for each in paths_in(given)))
    sought = next((table[key] for key in _SOUGHT if isinstance(table.get(key), str)), "")
    if paths and sought:
        return _line_of(f"{sought} {paths[0]}")
    if paths:
        added, removed = _changed_lines(given)
        counts = f" +{added} −{removed}" if added or removed else ""
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return f"{_line_of(paths[0])}{more}{counts}"
    subject = next((table[key] for key in _SUBJECTS if table.get(key)), given or "")
    if isinstance(subject, list) and all(isinstance(each, str) for each in subject):
        subject = " ".join(subject)
    return _line_of(subject if isinstance(subject, str) else json.dumps(subject))


def _changed_lines(given: Any) -> tuple[int, int]:  # noqa: ANN401 - any JSON
    """How many lines an edit adds and removes, as far as its input says."""
    if isinstance(given, str):
        return _in_patch(given)
    if not isinstance(given, dict):
        return 0, 0
    edits = [given, *(each for each in given.get("edits") or () if isinstance(each, dict))]
    counts = [
        _difference(edit[old], edit[new])
        for edit in edits
        for old, new in _PAIRS
        if isinstance(edit.get(old), str) and isinstance(edit.get(new), str)
    ]
    if not counts:
        counts = [_in_patch(given[key]) for key in _PATCHES if isinstance(given.get(key), str)]
    if not counts:
        counts = [(_lines_in(given[key]), 0) for key in _WHOLE if isinstance(given.get(key), str)]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)


def _difference(old: str, new: str) -> tuple[int, int]:
    # Only here: most entries are no edits.
    from difflib import SequenceMatcher

    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_LINES:
        return len(after), len(before)
    same = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    equal = sum(block.size for block in same)
    return len(after) - equal, len(before) - equal


def _in_patch(text: str) -> tuple[int, int]:
    lines = [line for line in text.splitlines() if not line.startswith(("+++", "---"))]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return added, removed


def _lines_in(text: str) -> int:
    return len(text.splitlines())


def _line_of(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SUMMARY else f"{line[: _LONGEST_SUMMARY - 1]}…"


def _own_words(text: str) -> str:
    """What a person wrote of a text, in which the agent may have wrapped it."""
    text = own_words(text)
    begin, end = _QUERY
    inner = text.strip()
    if inner.startswith(begin) and inner.endswith(end) and len(inner) >= len(begin) + len(end):
        return inner[len(begin) : -len(end)].strip()
    return text


def _is_injected(table: JsonObject) -> bool:
    # As Qwen Code says who wrote a line.
    return table.get("provenance") == "system" or any(table.get(key) for key in _INJECTED)


def _text_of(value: object, deepest: int = _DEEPEST) -> str:
    """The text in the result of a tool, however it is nested."""
    if isinstance(value, str):
        return value
    if not deepest:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, (_text_of(each, deepest - 1) for each in value)))
    if not isinstance(value, dict):
        return ""
    if value.get("type") in _IMAGES:
        return "[image]"
    inner = _table(value, "functionResponse") or value
    keys = ("text", *_OUTPUTS, "stdout", "message")
    return _text_of(next((inner[key] for key in keys if inner.get(key)), ""), deepest - 1)


def _decoded(given: Any) -> Any:  # noqa: ANN401 - any JSON
    """The input of a call, which may be JSON in a text."""
    if isinstance(given, str) and given.lstrip().startswith(("{", "[")):
        try:
            return json.loads(given, strict=False, parse_constant=str)
        except (ValueError, RecursionError):
            return given
    return given


def _seconds(value: object) -> float | None:
    """A time in seconds since 1970, from a text, or a number of seconds or milliseconds."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError):
            return None
    if not isinstance(value, int | float) or not _THIS_CENTURY < value < _MILLISECONDS * 1000:
        return None
    return value / 1000 if value > _MILLISECONDS else float(value)


def _id_of(table: JsonObject) -> str:
    return next((str(table[key]) for key in _IDS if isinstance(table.get(key), str)), "")


def _table(value: JsonObject, key: str) -> JsonObject:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _plain(entry: JsonObject) -> JsonObject:
    """An entry without what only helps to put the entries together, and without what is empty."""
    return {
        key: value
        for key, value in entry.items()
        if key != "messages" and (key != "input" or value not in ({}, ""))
    }
