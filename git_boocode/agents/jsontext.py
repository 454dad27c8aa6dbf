"""JSON as text: every change leaves all other bytes as they are.

Libraries read JSON into values and lose its comments, blanks and the spelling of its numbers; so
this is a scanner of our own that keeps positions. It takes what agents take: comments, trailing
commas, a BOM, CRLF.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

MAX_DEPTH = 200
"""Objects and arrays may enclose each other so deep."""

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(
    r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)\b"
)


class JsonTextError(ValueError):
    """A text is no JSON.

    Args:
        reason: why not, and where.
    """


class Node(NamedTuple):
    """A value and where it stands.

    Attributes:
        start: of its first character.
        end: behind its last one.
        value: what it stands for; of an object or an array, None.
        kind: `{`, `[`, or empty for all else.
        items: what an object or an array holds.
    """

    start: int
    end: int
    value: Any = None
    kind: str = ""
    items: tuple[Item, ...] = ()

    def plain(self) -> Any:  # noqa: ANN401 - any value that JSON knows
        """The value, as the json module reads it."""
        if self.kind == "{":
            return {item.key: item.node.plain() for item in self.items}
        if self.kind == "[":
            return [item.node.plain() for item in self.items]
        return self.value

    def find(self, key: str) -> Node | None:
        """The value of a key of an object; of several the last, as parsers see it."""
        found = [item.node for item in self.items if self.kind == "{" and item.key == key]
        return found[-1] if found else None


class Item(NamedTuple):
    """A member of an object, or an element of an array.

    Attributes:
        start: where it begins, with its key.
        key: of a member.
        node: its value.
        comma: where the comma behind it stands; -1 for none.
    """

    start: int
    key: str
    node: Node
    comma: int


def parse(text: str) -> Node | None:
    """The one value of a text; None if it holds nothing but blanks and comments.

    Raises:
        JsonTextError: it is no JSON.
    """
    scanner = _Scanner(text)
    if scanner.at == len(text):
        return None
    node = scanner.value(0)
    scanner.skip()
    if scanner.at < len(text):
        scanner.fail("something follows the value")
    return node


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.skip()

    def fail(self, reason: str) -> NoReturn:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        raise JsonTextError(f"line {line}, column {column}: {reason}")

    def skip(self) -> None:
        found = _TRIVIA.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail("it is nested too deep")
        if self.next() in ("{", "["):
            return self._container(depth)
        start = self.at
        if self.next() == '"':
            text = self._string()
            return Node(start, self.at, text)
        found = _SCALAR.match(self.text, self.at)
        if found is None:
            self.fail("a value is missing here")
        self.at = found.end()
        return Node(start, self.at, _scalar(found[0]))

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            self.fail("a string is not closed" if self.next() == '"' else "a key is missing here")
        try:
            text: str = json.loads(found[0], strict=False)
        except json.JSONDecodeError:
            self.fail("a string holds an escape that is none")
        self.at = found.end()
        return text

    def _container(self, depth: int) -> Node:
        start, kind = self.at, self.next()
        close = "}" if kind == "{" else "]"
        items: list[Item] = []
        self.at += 1
        self.skip()
        while self.next() != close:
            if items and items[-1].comma < 0:
                self.fail(f"',' or '{close}' is missing here")
            items.append(self._item(kind, depth))
        self.at += 1
        return Node(start, self.at, None, kind, tuple(items))

    def _item(self, kind: str, depth: int) -> Item:
        start, key = self.at, ""
        if kind == "{":
            key = self._string()
            self.skip()
            if self.next() != ":":
                self.fail("':' is missing here")
            self.at += 1
            self.skip()
        node = self.value(depth + 1)
        self.skip()
        comma = -1
        if self.next() == ",":
            comma = self.at
            self.at += 1
            self.skip()
        return Item(start, key, node, comma)


def _scalar(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        # A number of more digits than Python converts; nobody asks for its value.
        return float(text)


class _Style(NamedTuple):
    """How a file is written.

    Attributes:
        newline: how its lines end.
        unit: by how much each level is indented.
        compact: whether there are no blanks behind commas and colons.
    """

    newline: str
    unit: str
    compact: bool

    def render(self, value: object, indent: str | None) -> str:
        """A value as text; on one line if there is no indentation to go by."""
        separators = (",", ":") if self.compact and indent is None else None
        unit = None if indent is None else self.unit
        text = json.dumps(value, ensure_ascii=False, indent=unit, separators=separators)
        return text.replace("\n", f"{self.newline}{indent}")


def insert(text: str, container: Node, key: str, value: object) -> str:
    """A text with one more member or element at the end of an object or array in it.

    Args:
        text: the whole text.
        container: where to, in `parse(text)`.
        key: of a member; ignored for an array.
        value: what to add.
    """
    style = _style(text)
    if not container.items:
        return _insert_first(text, container, key, value, style)
    indent = _indent_of_items(text, container)
    last = container.items[-1]
    behind = (last.comma if last.comma >= 0 else last.node.end - 1) + 1
    anchor, must_break = _behind_comments(text, behind, container.end - 1)
    rendered = _member(container, key, style.render(value, indent), style)
    lead = "" if style.compact else " "
    if indent is not None or must_break:
        lead = style.newline + (indent or "")
    if last.comma >= 0:
        return splice(text, [(anchor, anchor, f"{lead}{rendered},")])
    comma = last.node.end
    if anchor == comma:
        return splice(text, [(anchor, anchor, f",{lead}{rendered}")])
    return splice(text, [(comma, comma, ","), (anchor, anchor, f"{lead}{rendered}")])


def _insert_first(text: str, container: Node, key: str, value: object, style: _Style) -> str:
    close = container.end - 1
    anchor, must_break = _behind_comments(text, container.start + 1, close)
    outer = _line_indent(text, container.start)
    one_line = _is_one_line(text)
    indent = None if one_line else outer + style.unit
    rendered = _member(container, key, style.render(value, indent), style)
    if indent is None:
        lead = style.newline if must_break else ""
        return splice(text, [(anchor, close, f"{lead}{rendered}")])
    around = f"{style.newline}{indent}{rendered}{style.newline}{outer}"
    return splice(text, [(anchor, close, around)])


def remove(text: str, container: Node, index: int) -> str:
    """A text without one member or element of an object or array in it.

    What `insert` has added goes without a trace.

    Args:
        text: the whole text.
        container: where it is, in `parse(text)`.
        index: which item.
    """
    items, item = container.items, container.items[index]
    before = container.start + 1
    if index:
        before = items[index - 1].comma + 1
    start, must_break = _behind_comments(text, before, item.start)
    end = item.node.end if item.comma < 0 else item.comma + 1
    if must_break and not text[end:].lstrip(" \t\r").startswith("\n"):
        # Or what follows would become part of the comment.
        start = text.index("\n", start) + 1
    cuts = [(start, item.node.end, "")]
    if item.comma >= 0:
        cuts.append((item.comma, item.comma + 1, ""))
    elif index:
        cuts.insert(0, (before - 1, before, ""))
    if len(items) == 1 and not _COMMENT.search(_around(text, container, item)):
        cuts = [(container.start + 1, container.end - 1, "")]
    elif index == 0 and len(items) > 1:
        behind = text[item.node.end : items[1].start]
        if not _COMMENT.search(behind):
            cuts = [(item.start, items[1].start, "")]
    return splice(text, cuts)


def replace(text: str, node: Node, value: object) -> str:
    """A text with another scalar in the place of one in it."""
    return splice(text, [(node.start, node.end, json.dumps(value, ensure_ascii=False))])


def new_document(text: str, value: Mapping[str, object]) -> str:
    """A text that holds nothing yet but blanks and comments, with an object.

    Args:
        text: the whole text.
        value: the object.
    """
    style = _style(text)
    kept = text if text.strip("\ufeff \t\r\n") else text[:1].strip(" \t\r\n")
    if kept.strip("\ufeff") and not kept.endswith("\n"):
        kept += style.newline
    return f"{kept}{style.render(value, '')}{style.newline}"


def splice(text: str, cuts: Iterable[tuple[int, int, str]]) -> str:
    """A text with other text in the place of some spans, which come in order."""
    parts, at = [], 0
    for start, end, new in cuts:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _member(container: Node, key: str, rendered: str, style: _Style) -> str:
    if container.kind == "[":
        return rendered
    colon = ":" if style.compact else ": "
    return f"{json.dumps(key, ensure_ascii=False)}{colon}{rendered}"


def _around(text: str, container: Node, item: Item) -> str:
    return text[container.start + 1 : item.start] + text[item.node.end : container.end - 1]


def _behind_comments(text: str, start: int, end: int) -> tuple[int, bool]:
    """Where the last comment of a stretch ends, and whether only a new line ends it."""
    anchor, breaks = start, False
    for found in _COMMENT.finditer(text, start, end):
        anchor, breaks = found.end(), found[0].startswith("//")
    return anchor, breaks


def _style(text: str) -> _Style:
    ends = text.find("\n")
    newline = "\r\n" if ends > 0 and text[ends - 1] == "\r" else "\n"
    root = parse(text)
    indent = _indent_of_items(text, root) if root is not None and root.items else None
    compact = root is not None and bool(root.items) and not re.search(r"[:,{\[]\s", text)
    return _Style(newline, indent or "  ", compact)


def _is_one_line(text: str) -> bool:
    """Whether a file's items stand on the line of its brackets, so that new ones do, too."""
    root = parse(text)
    return root is not None and bool(root.items) and _indent_of_items(text, root) is None


def _indent_of_items(text: str, container: Node) -> str | None:
    """By how much the items of a container are indented; None if they begin on its own line."""
    first = container.items[0].start
    if "\n" not in text[container.start : first]:
        return None
    return _line_indent(text, first)


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    found = re.compile(r"[ \t]*").match(text, start)
    return found[0] if found else ""
