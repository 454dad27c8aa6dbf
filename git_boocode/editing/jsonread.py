"""Read JSON that a model wrote, with errors that say where it stopped being JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NoReturn

from git_boocode.editing.edits import MissError

MAX_DEPTH = 64
"""Objects and arrays may enclose each other so deep, which is more than any edit needs."""

_ESCAPES = 'inside JSON strings, quotes, backslashes and line breaks are escaped: \\" \\\\ \\n'
_ONE_VALUE = "several edits go into one array: [{...}, {...}]"
_BLANKS = re.compile(r"[ \t\r\n]*")
_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_PYTHON = re.compile(rf"(?:{'|'.join(_WORDS)})\b")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\s]*).*", re.DOTALL)

_INFOS = ("", "json", "jsonc", "json5")


def parse_json(text: str, above: int = 0) -> object:
    """One JSON value; keys that stand twice and numbers that are none are refused.

    Args:
        text: the JSON.
        above: how many lines stand above it, for messages.

    Raises:
        MissError: it is no JSON, or nested too deep (`invalid_input`).
    """
    try:
        # Not strict: models put line breaks and tabs into strings as they are.
        value = _values(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        where = f"line {above + error.lineno}, column {error.colno}"
        _invalid(f"invalid JSON at {where}: {reason}", _hint(text, error))
    except ValueError as error:
        # A number of more digits than Python converts.
        _invalid(f"invalid JSON: {str(error).split(';')[0].lower()}")
    except RecursionError:
        too_deep()
    _check_depth(value)
    return value


def _values(text: str) -> object:
    """The one value of a text; of several objects one after the other an array of them."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_constant=_constant)
    found: list[object] = []
    at = _behind_blanks(text, 0)
    while not found or at < len(text):
        if found and not (isinstance(found[-1], dict) and text[at] == "{"):
            raise json.JSONDecodeError("Extra data", text, at)
        value, end = decoder.raw_decode(text, at)
        found.append(value)
        at = _behind_blanks(text, end)
    return found if len(found) > 1 else found[0]


def _behind_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _hint(text: str, error: json.JSONDecodeError) -> str:
    """What to do about a text that is no JSON, by what stands where it stops being it."""
    rest, before = text[error.pos :], text[: error.pos].rstrip()
    if error.msg == "Extra data":
        return _ONE_VALUE
    if error.msg.startswith("Illegal trailing comma") or (
        rest[:1] in ("}", "]") and before.endswith(",")
    ):
        return f"take out the comma before '{rest.lstrip(', ')[:1] or '}'}'"
    if rest.startswith("'"):
        return "JSON puts keys and strings into double quotes, not single ones"
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments; take them out"
    if found := _PYTHON.match(rest):
        return f"JSON writes {_WORDS[found[0]]}, not {found[0]}"
    if not rest.strip() or (error.msg.startswith("Unterminated string") and _is_cut(text)):
        return "the input ends too early, as if it was cut off; send all of it again"
    if error.msg.startswith("Expecting property name"):
        return "JSON puts every key into double quotes"
    return _ESCAPES


def _is_cut(text: str) -> bool:
    """Whether a text does not even end as an object or an array does."""
    return text.rstrip()[-1:] not in ("}", "]")


def fenced_json(text: str) -> list[tuple[str, int]]:
    """The JSON in the Markdown fences of a text, and how many lines stand above each."""
    return list(_fenced(text.split("\n")))


def _fenced(lines: list[str]) -> Iterator[tuple[str, int]]:
    row = 0
    while row < len(lines):
        opening = _FENCE.fullmatch(lines[row])
        row += 1
        if opening is None:
            continue
        end = _closing(lines, row, opening[1])
        block = "\n".join(lines[row:end])
        if opening[2].lower() in _INFOS and block.lstrip()[:1] in ("{", "["):
            yield block, row
        row = end + 1


def _closing(lines: list[str], row: int, fence: str) -> int:
    while row < len(lines):
        bare = lines[row].strip()
        if len(bare) >= len(fence) and bare.strip(fence[0]) == "":
            break
        row += 1
    return row


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
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
    too_deep()


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def too_deep() -> NoReturn:
    """Refuse input whose objects and arrays enclose each other without need.

    Raises:
        MissError: always (`invalid_input`).
    """
    _invalid(f"the JSON is nested too deep; {MAX_DEPTH} levels are enough for any edit")


def _invalid(message: str, hint: str | None = None) -> NoReturn:
    raise MissError("invalid_input", message, hint=hint)
