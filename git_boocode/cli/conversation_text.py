"""Print the conversation of a turn for people: who said what, and a line for each tool."""

from __future__ import annotations

import time
from collections.abc import Iterator

from git_boocode.agents.messages import OMITTED, TOOL, USER, JsonObject
from git_boocode.cli.output import (
    Style,
    counted,
    encode_text,
    output_style,
    paged,
    print_json,
    printable,
    wants_json,
)
from git_boocode.cli.turn_rows import Dates
from git_boocode.repo.repository import Repository
from git_boocode.workflows.turn_conversation import TurnConversation, conversation_of_turn

_INDENT = "    "


def show_conversation(repository: Repository, name: str) -> int:
    """Print the conversation of the turn of a checkpoint, or its JSON answer."""
    found = conversation_of_turn(repository, name)
    if wants_json():
        print_json({"ok": True, "conversation": found.as_json()})
        return 0
    style = output_style(repository.config)
    [date] = Dates(repository, default="iso")([found.turn])
    with paged(repository.users_git) as stream:
        for line in (*_head(found, date, style), *_lines(found, style), *_remarks(found)):
            stream.write(encode_text(f"{line.rstrip()}\n"))
    return 0


def _head(found: TurnConversation, date: str, style: Style) -> Iterator[str]:
    yield style(f"checkpoint {found.turn.id}", "yellow")
    texts = {key: found.turn.meta.text(key) for key in ("agent", "session")}
    for key, value in {**texts, "date": date}.items():
        if value:
            yield f"{key:<11} {printable(value)}"


def _lines(found: TurnConversation, style: Style) -> Iterator[str]:
    """The entries; the name of who speaks is above all that follows each other."""
    agent, speaker, before = printable(found.turn.meta.text("agent")) or "assistant", "", ""
    for entry in found.entries:
        role = entry["role"]
        # The tools that follow each other are one block.
        yield from () if role == before == TOOL else ("",)
        if role == TOOL:
            yield from _tool_lines(entry, style)
        elif role == OMITTED:
            yield f"  … {printable(entry['text'])}"
        else:
            if role != speaker:
                yield f"{style('you' if role == USER else agent, 'bold')}{_time(entry)}"
            yield from _indented(entry["text"])
            speaker = role
        before = role


def _tool_lines(entry: JsonObject, style: Style) -> Iterator[str]:
    yield f"  {style(printable(entry['name']), 'cyan')} {printable(entry.get('summary', ''))}"
    result = [line for line in entry.get("result", "").splitlines() if line.strip()]
    if result:
        more = f" (and {counted(len(result) - 1, 'more line')})" if len(result) > 1 else ""
        yield f"{_INDENT}{printable(result[0].strip())}{more}"


def _time(entry: JsonObject) -> str:
    when = entry.get("time")
    return f", {time.strftime('%H:%M:%S', time.localtime(when))}" if when else ""


def _indented(text: str) -> Iterator[str]:
    for line in text.replace("\r\n", "\n").split("\n"):
        yield f"{_INDENT}{printable(line.expandtabs())}"


def _remarks(found: TurnConversation) -> Iterator[str]:
    """What is not shown, and why."""
    remarks = []
    if found.missing:
        remarks.append(f"the conversation is not here: {printable(found.missing)}")
    if found.masked:
        remarks.append(f"{counted(found.masked, 'secret')} masked")
    if found.cut:
        remarks.append("long texts are cut")
    if found.unread:
        remarks.append(f"{counted(found.unread, 'line')} of the transcript could not be read")
    yield from ("", *(f"({remark})" for remark in remarks)) if remarks else ()
