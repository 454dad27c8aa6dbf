"""Settings files as documents that keep every byte that nobody changes, comments included.

A document is a tree of mutable mappings and sequences. For TOML that is what tomlkit makes. For
JSON, json-five reads and writes any text with comments and trailing commas byte for byte, but its
model has no operations; `_Object` and `_Array` add and remove elements with their whitespace.

json-five reads 180 kB a second. Of a larger file it gets only the members that may change; others
are folded into placeholders, as long as the file is plain JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any, NamedTuple

import json5
import tomlkit
from json5.dumper import ModelDumper
from json5.loader import ModelLoader
from json5.model import Comment, JSONArray, JSONObject, Key, Node, String, UnaryOp, Value
from tomlkit.exceptions import TOMLKitError

_INDENT = re.compile(r"\n([ \t]+)\S")
_POSITION = re.compile(r"line (\d+) column (\d+)")
# json-five refuses these two in strings, where JSON allows them; noncharacters stand for them.
_SEPARATORS = {0xFDD0: 0x2028, 0xFDD1: 0x2029}

# Of text that is read with its formatting, in characters.
_SMALL, _LARGEST = 16 << 10, 1 << 20
# In a placeholder, before the name of the member that it stands for.
_FOLDED = "\ufdd2"
_TOKEN = re.compile(r"[ \t\r\n]*(.)")
_VALUES = '{["-0123456789tfnIN'

Spacing = list[str | Comment]
"""Whitespace and comments between two tokens."""


class Document(NamedTuple):
    """A file that was read.

    `root` is its outermost object, None if it holds something else; `before` is the same as it was
    read, in dicts and lists. `folded` holds the text of its members by their placeholders.
    """

    root: MutableMapping[str, Any] | None
    before: dict[str, Any] | None
    model: Any
    newline: str
    folded: Mapping[str, str] = {}

    @property
    def has_comments(self) -> bool:
        """Whether there is a comment, or in TOML what may be one, in it."""
        if isinstance(self.model, tomlkit.TOMLDocument):
            return "#" in self.text()
        try:
            json.loads(self.text())
        except ValueError:
            return True
        return False

    def text(self) -> str:
        """The text of the document as it is now."""
        if isinstance(self.model, tomlkit.TOMLDocument):
            return tomlkit.dumps(self.model).replace("\n", self.newline)
        # Its own documentation passes this dumper, although its annotation names another class.
        dumper: Any = ModelDumper()
        text = json5.dumps(self.model, dumper=dumper).translate(_SEPARATORS)
        for placeholder, value in self.folded.items():
            text = text.replace(placeholder, value, 1)
        return text


def read_toml(text: str) -> Document:
    """Read TOML; ValueError, whose text says what is wrong, if it is not valid."""
    newline = "\r\n" if text.count("\r\n") == text.count("\n") > 0 else "\n"
    _refuse_large(text)
    try:
        # tomlkit adds tables behind a last line without asking whether it ends.
        ended = text if text.endswith("\n") or not text else f"{text}{newline}"
        document = tomlkit.parse(ended.replace(newline, "\n"))
    except TOMLKitError as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise ValueError(f"it is not valid TOML: {reason}") from None
    return Document(document, plain(document), document, newline)


def read_json(text: str, members: Collection[str] = ()) -> Document:
    """Read JSON with comments; ValueError, whose text says what is wrong, if it is not valid.

    With `members`, only these of the outermost object, and new ones, are read as they are.
    """
    text, folded = _fold(text, members) if members and len(text) > _SMALL else (text, {})
    _refuse_large(text)
    text = text.translate({separator: other for other, separator in _SEPARATORS.items()})
    bare = text.strip()
    newline = "\r\n" if "\r\n" in text else "\n"
    try:
        model = json5.loads(text if bare else f"{{}}{newline}", loader=ModelLoader())
    except ValueError as error:
        found = _POSITION.search(str(error))
        where = f", at line {found[1]}, column {found[2]}" if found else ""
        raise ValueError(f"it is not valid JSON{where}") from None
    indent = _INDENT.search(text)
    style = _JsonStyle(
        newline=newline,
        indent=indent[1] if indent else "  ",
        in_one_line="\n" not in bare and bare not in ("", "{}"),
        is_compact=bool(bare) and not re.search(r"[:,]\s", bare),
        is_ascii=bool(bare) and bare.isascii(),
    )
    root = _Object(model.value, style, "") if isinstance(model.value, JSONObject) else None
    return Document(root, plain(root), model, newline, folded)


def _refuse_large(text: str) -> None:
    if len(text) > _LARGEST:
        raise ValueError(f"it is too large: {len(text):,} characters (at most {_LARGEST:,})")


def _fold(text: str, members: Collection[str]) -> tuple[str, dict[str, str]]:
    """Put placeholders for the members of the outermost object that are objects or arrays.

    The text stays as it is if it is not plain JSON.
    """
    decoder, pieces, folded = json.JSONDecoder(), list[str](), dict[str, str]()

    def token(position: int, expected: str) -> int:
        """The position of a token behind whitespace; ValueError if it is not one of these."""
        found = _TOKEN.match(text, position)
        if found is None or found[1] not in expected:
            raise ValueError(expected)
        return found.start(1)

    try:
        done, end = 0, token(0, "{")
        while text[end] != "}":
            key, end = decoder.raw_decode(text, token(end + 1, '"'))
            start = token(token(end, ":") + 1, _VALUES)
            _, stop = decoder.raw_decode(text, start)
            if key not in members and text[start] in "[{":
                placeholder = json.dumps(f"{_FOLDED}{key}", ensure_ascii=False)
                folded[placeholder] = text[start:stop]
                pieces += (text[done:start], placeholder)
                done = stop
            end = token(stop, ",}")
    except (ValueError, RecursionError):
        return text, {}
    return (text, {}) if _FOLDED in text else ("".join((*pieces, text[done:])), folded)


def plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """A value of a document as dicts and lists; ValueError if an object has a key twice."""
    if isinstance(value, _Object):
        twice = [key for key in value if value.names.count(key) > 1]
        if twice:
            raise ValueError(f"an object has the key {json.dumps(twice[0])} twice")
    if isinstance(value, MutableMapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, MutableSequence) else value


class _JsonStyle(NamedTuple):
    newline: str
    indent: str
    in_one_line: bool
    is_compact: bool
    is_ascii: bool

    def node(self, value: Any, margin: str | None) -> Value:  # noqa: ANN401 - any JSON value
        """A new value, whose lines but the first begin with `margin`; None for one line."""
        wide = {"separators": (",", ":")} if self.is_compact else {}
        options: dict[str, Any] = wide if margin is None else {"indent": self.indent}
        text = json.dumps(value, ensure_ascii=self.is_ascii, **options)
        made: Value = json5.loads(
            text.replace("\n", f"{self.newline}{margin}"), loader=ModelLoader()
        ).value
        return made


class _Container:
    """What objects and arrays have in common; `margin` is the indentation of its first line.

    The whitespace before an element is that of its first node; before the first one it is the
    container's. The whitespace before the closing bracket is that of the last node or comma.
    """

    def __init__(self, node: JSONObject | JSONArray, style: _JsonStyle, margin: str) -> None:
        self._node, self._style, self._margin = node, style, margin

    def __len__(self) -> int:
        return len(self._node.values)

    def _firsts(self) -> list[Any]:
        """The first node of each element."""
        return self._node.keys if isinstance(self._node, JSONObject) else self._node.values

    def _before(self, index: int) -> Spacing:
        return self._firsts()[index].wsc_before if index else self._node.leading_wsc

    def _value(self, index: int) -> Any:  # noqa: ANN401 - any JSON value
        value = self._node.values[index]
        margin = _last_line(self._before(index))
        margin = self._margin if margin is None else margin
        if isinstance(value, JSONObject):
            return _Object(value, self._style, margin)
        if isinstance(value, JSONArray):
            return _Array(value, self._style, margin)
        return _scalar(value)

    def _replace(self, index: int, value: Any) -> None:  # noqa: ANN401 - any JSON value
        old, new = self._node.values[index], self._style.node(value, self._margin)
        new.wsc_before, new.wsc_after = old.wsc_before, old.wsc_after
        self._node.values[index] = new

    def _remove(self, index: int) -> None:
        node, last = self._node, len(self) - 1
        gone = node.values[index]
        # Comments stay, whomever they are about.
        left = [each for each in (self._before(index), gone.wsc_after) if _has_comment(each)]
        kept = [item for each in left for item in each]
        if index == last:
            end = node.trailing_comma or gone
            closing = end.wsc_after if end is not gone or not _has_comment(gone.wsc_after) else []
            if _last_line(closing) is not None:
                kept = kept[: _after_comments(kept)]
            end_spacing = [*kept, *closing]
            if index == 0:
                node.leading_wsc = end_spacing if kept or _has_comment(end_spacing) else []
                node.trailing_comma = None
            elif node.trailing_comma:
                node.trailing_comma.wsc_after = end_spacing
            else:
                node.values[index - 1].wsc_after += end_spacing
        else:
            spacing = [*kept, *self._before(index + 1)]
            self._firsts()[index + 1].wsc_before = spacing if index else []
            if index == 0 and _has_comment(spacing):
                node.leading_wsc = spacing
        del node.values[index]
        if isinstance(node, JSONObject):
            del node.keys[index]

    def _append(self, key: str | None, value: Any) -> None:  # noqa: ANN401 - any JSON value
        node, style, last = self._node, self._style, len(self) - 1
        outer = f"{style.newline}{self._margin}"
        if last < 0:
            end: Any = node
            spacing = node.leading_wsc
            inner = None if style.in_one_line else f"{self._margin}{style.indent}"
        else:
            end = node.trailing_comma or node.values[-1]
            spacing = end.wsc_after
            inner = _last_line(self._before(last))
        comments = spacing[: _after_comments(spacing)]
        closing = spacing[len(comments) :]
        gap = f"{style.newline}{inner}"
        if inner is None:
            gap = "" if last < 0 or style.is_compact else " "
            # A comment may have to end with its line.
            gap = "".join(map(str, closing)) if comments else gap
        made = style.node(value, inner)
        first: Node = made
        if isinstance(node, JSONObject):
            first = style.node(key, None)
            made.wsc_before = [] if style.is_compact else [" "]
            assert isinstance(first, Key)
            node.keys.append(first)
        node.values.append(made)
        if last < 0:
            node.leading_wsc = [*comments, gap]
            made.wsc_after = [] if inner is None else [outer]
        else:
            first.wsc_before = [*comments, gap]
            (end if node.trailing_comma else made).wsc_after = closing
            if not node.trailing_comma:
                end.wsc_after = []


class _Object(_Container, MutableMapping[str, Any]):
    @property
    def names(self) -> list[str]:
        """The keys, as often as they occur."""
        keys = self._firsts()
        return [key.characters if isinstance(key, String) else str(key.name) for key in keys]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self.names))

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - any JSON value
        return self._value(self._index(key))

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        if key in self.names:
            self._replace(self._index(key), value)
        else:
            self._append(key, value)

    def __delitem__(self, key: str) -> None:
        self._remove(self._index(key))

    def _index(self, key: str) -> int:
        if key not in self.names:
            raise KeyError(key)
        return self.names.index(key)


class _Array(_Container, MutableSequence[Any]):
    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - any JSON value
        return self._value(range(len(self))[index])

    def __setitem__(self, index: Any, value: Any) -> None:  # noqa: ANN401 - any JSON value
        self._replace(range(len(self))[index], value)

    def __delitem__(self, index: Any) -> None:  # noqa: ANN401 - an index
        self._remove(range(len(self))[index])

    def insert(self, index: int, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Append; nothing is inserted before other elements."""
        assert index == len(self)
        self._append(None, value)


def _scalar(node: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(node, String):
        return node.characters
    if isinstance(node, UnaryOp):
        number = _scalar(node.value)
        return -number if node.op == "-" else number
    return node.value


def _has_comment(spacing: Spacing) -> bool:
    return _after_comments(spacing) > 0


def _after_comments(spacing: Spacing) -> int:
    """How many items there are up to the last comment."""
    places = [n for n, item in enumerate(spacing, 1) if isinstance(item, Comment)]
    return places[-1] if places else 0


def _last_line(spacing: Spacing) -> str | None:
    """The indentation that it ends with; None if what follows is on the same line."""
    text = "".join(item for item in spacing[_after_comments(spacing) :] if isinstance(item, str))
    return text.rpartition("\n")[2] if "\n" in text else None
