"""Raw input becomes numbered edits; everything that is wrong with it is collected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import MAX_TEXT, Context, read_item, shapes
from git_boocode.editing.formats.fields import fenced_json, parse_json

MAX_INPUT = 64 * 1024 * 1024
"""Bytes of one input."""
MAX_EDITS = 5_000
"""Edits of one call."""
_BOM = b"\xef\xbb\xbf"


class Source(NamedTuple):
    """One input: what messages call it, such as `standard input`, and its bytes."""

    name: str
    data: bytes


class Inputs(NamedTuple):
    """The edits of a call and what could not be read, each in the order of the input."""

    edits: list[Edit]
    failures: list[Failure]

    @property
    def total(self) -> int:
        """The number of edits, with those that could not be read."""
        return len(self.edits) + len(self.failures)


def read_inputs(sources: Iterable[Source], only: str | None = None) -> Inputs:
    """Read the inputs of one call, and number their edits through.

    `only` is the name of the one format to accept, None to detect it.
    """
    inputs = Inputs([], [])
    number = 0
    for source in sources:
        try:
            value = _value(_text(source))
        except MissError as miss:
            message = f"{source.name}: {miss.message}"
            inputs.failures.append(Failure(None, None, miss.code, message, hint=miss.hint))
            continue
        for item in read_item(value, Context(), only):
            if number >= MAX_EDITS:
                return Inputs([], [_too_many()])
            if isinstance(item, Failure):
                inputs.failures.append(item._replace(number=number))
            else:
                inputs.edits.append(item._replace(number=number))
            number += 1
    return inputs


def _too_many() -> Failure:
    message = f"the call has more than {MAX_EDITS} edits, which is the most that one may have"
    return Failure(None, None, "invalid_input", message, hint="send them in several calls")


def _text(source: Source) -> str:
    size = len(source.data)
    if size > MAX_INPUT:
        _invalid(f"the input has {size} bytes; at most {MAX_INPUT} are read")
    try:
        return source.data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        at = source.data.count(b"\n", 0, error.start) + 1
        _invalid(f"the input is not UTF-8 (byte 0x{source.data[error.start]:02x} in line {at})")


def _value(text: str) -> object:
    """The JSON value that an input is, or the text itself."""
    start = text.lstrip()[:1]
    if not start:
        _invalid("the input is empty; expected edits as JSON, a diff, a patch or blocks")
    if start in '{["':
        try:
            return parse_json(text)
        except MissError:
            if start == "{" or not shapes(text):
                raise
            return text
    if len(text) > 2 * MAX_TEXT:
        _invalid(f"the text has {len(text)} characters; at most {MAX_TEXT} are read of a text")
    if shapes(text):
        return text
    # What does not begin like JSON is for the formats to judge, unless it shows JSON in fences.
    values = [parse_json(*block) for block in fenced_json(text)]
    return (values if len(values) > 1 else values[0]) if values else text


def _invalid(message: str) -> NoReturn:
    raise MissError("invalid_input", message)
