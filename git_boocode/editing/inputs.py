"""Raw input becomes numbered edits; everything that is wrong with it is collected."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import Context, read_item

MAX_DEPTH = 64
"""Objects and arrays may enclose each other so deep, which is more than any edit needs."""

_ESCAPES = 'inside JSON strings, quotes, backslashes and line breaks are escaped: \\" \\\\ \\n'
_ONE_VALUE = "several edits go into one array: [{...}, {...}]"
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
    for item in read_item(value, Context(), only):
        number = len(inputs.edits) + sum(bad.number is not None for bad in inputs.failures)
        if isinstance(item, Failure):
            inputs.failures.append(item._replace(number=number))
        else:
            inputs.edits.append(
                Edit(number, item.path, item.action, item.base, item.format, item.given)
            )


def _value(source: Source) -> object:
    try:
        text = source.data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        at = source.data.count(b"\n", 0, error.start) + 1
        _invalid(f"the input is not UTF-8 (byte 0x{source.data[error.start]:02x} in line {at})")
    start = text.lstrip()[:1]
    if not start:
        _invalid("the input is empty; expected edits as JSON")
    # What does not even begin like JSON is for the formats to judge, as text.
    return _parse(text) if start in '{["' else text


def _parse(text: str) -> object:
    try:
        value: object = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        _invalid(
            f"invalid JSON at line {error.lineno}, column {error.colno}: {reason}",
            _ONE_VALUE if error.msg == "Extra data" else _ESCAPES,
        )
    except ValueError as error:
        # A number of more digits than Python converts.
        _invalid(f"invalid JSON: {str(error).split(';')[0].lower()}")
    except RecursionError:
        _too_deep()
    _check_depth(value)
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        _invalid(f"the key '{twice[:80]}' stands twice in one object")
    return found


def _constant(name: str) -> NoReturn:
    _invalid(f"'{name}' is no JSON")


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inner(outer)]
        if not level:
            return
    _too_deep()


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep() -> NoReturn:
    _invalid(f"the JSON is nested too deep; {MAX_DEPTH} levels are enough for any edit")


def _invalid(message: str, hint: str | None = None) -> NoReturn:
    raise MissError("invalid_input", message, hint=hint)
