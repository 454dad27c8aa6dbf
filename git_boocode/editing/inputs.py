"""Raw input becomes numbered edits; everything that is wrong with it is collected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import MAX_TEXT, Context, read_item
from git_boocode.editing.formats.marks import text_format
from git_boocode.editing.jsonread import fenced_json, parse_json

MAX_INPUT = 64 * 1024 * 1024
"""So many bytes of one input are read."""
MAX_EDITS = 5_000
"""So many edits may one call have."""
_BOM = b"\xef\xbb\xbf"


class Source(NamedTuple):
    """One input.

    Attributes:
        name: what to call it in messages, such as `standard input`.
        data: its bytes.
    """

    name: str
    data: bytes


class Inputs(NamedTuple):
    """The edits of a call and what could not be read, each in the order of the input."""

    edits: list[Edit]
    failures: list[Failure]


def read_inputs(sources: Iterable[Source], only: str | None = None) -> Inputs:
    """Read the inputs of one call.

    Args:
        sources: the inputs, whose edits are numbered through.
        only: the name of the one format to accept, or None to detect it.
    """
    inputs = Inputs([], [])
    for source in sources:
        _read(inputs, source, only)
    return inputs


def _read(inputs: Inputs, source: Source, only: str | None) -> None:
    try:
        value = _value(source)
    except MissError as miss:
        message = f"{source.name}: {miss.message}"
        inputs.failures.append(Failure(None, None, miss.code, message, hint=miss.hint))
    else:
        _collect(inputs, value, only)


def _collect(inputs: Inputs, value: object, only: str | None) -> None:
    first = len(inputs.edits) + sum(bad.number is not None for bad in inputs.failures)
    for number, item in enumerate(read_item(value, Context(), only), first):
        if number >= MAX_EDITS:
            inputs.edits.clear()
            inputs.failures[:] = [_too_many()]
            return
        if isinstance(item, Failure):
            inputs.failures.append(item._replace(number=number))
        else:
            inputs.edits.append(
                Edit(number, item.path, item.action, item.base, item.format, item.given, item.to)
            )


def _too_many() -> Failure:
    message = f"the call has more than {MAX_EDITS} edits, which is the most that one may have"
    return Failure(None, None, "invalid_input", message, hint="send them in several calls")


def _value(source: Source) -> object:
    size = len(source.data)
    if size > MAX_INPUT:
        _invalid(f"the input has {size} bytes; at most {MAX_INPUT} are read")
    try:
        text = source.data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        at = source.data.count(b"\n", 0, error.start) + 1
        _invalid(f"the input is not UTF-8 (byte 0x{source.data[error.start]:02x} in line {at})")
    start = text.lstrip()[:1]
    if not start:
        _invalid("the input is empty; expected edits as JSON, a diff, a patch or blocks")
    if start == "{":
        return parse_json(text)
    if start not in '["' and len(text) > 2 * MAX_TEXT:
        _invalid(f"the text has {len(text)} characters; at most {MAX_TEXT} are read of a text")
    is_text = text_format(text) is not None
    if start in '["' and not is_text:
        return parse_json(text)
    if is_text:
        return _json_or_text(text) if start in '["' else text
    # What does not begin like JSON is for the formats to judge, unless it shows JSON in fences.
    values = [parse_json(*block) for block in fenced_json(text)]
    return (values if len(values) > 1 else values[0]) if values else text


def _json_or_text(text: str) -> object:
    """A text with the mark of a format that begins with a bracket or a quote."""
    try:
        return parse_json(text)
    except MissError:
        return text


def _invalid(message: str) -> NoReturn:
    raise MissError("invalid_input", message)
