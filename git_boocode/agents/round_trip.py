"""Settings files as documents that keep every byte that nobody changes, comments included.

A document is a tree of mutable mappings and sequences. For TOML that is what tomlkit makes. For
JSON, with comments and trailing commas, it is made of dicts and lists; writing it compares them
with what was read, and changes the text of those objects and arrays that hold something else.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import MutableMapping, MutableSequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

# Of TOML, in characters: tomlkit reads about 200 kB a second.
_LARGEST = 1 << 20
_INDENT = re.compile(r"\n([ \t]+)\S")
# A comment or string that never ends is one up to the end, so that no text takes quadratic time.
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
# Whitespace and comments between two tokens.
_GAP = re.compile(rf"(?:\s|{_COMMENT.pattern})*", re.DOTALL)
# Strings, so that nothing is found in them, and what JSON does not have.
_STRING = r'"(?:[^"\\]|\\.)*"?'
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|{_COMMENT.pattern}", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|[\[{{,:]\s*,|,(?=\s*[\]}}])", re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}


class Document(NamedTuple):
    """A file that was read.

    `root` is its outermost object, None if it holds something else; `before` is the same as it was
    read, in dicts and lists. `source` is its text, and `bare` the same without comments.
    """

    root: MutableMapping[str, Any] | None
    before: dict[str, Any] | None
    source: str
    bare: str = ""

    @property
    def has_comments(self) -> bool:
        """Whether there is a comment, or in TOML what may be one, in it."""
        text = self.text()
        return "#" in text if isinstance(self.root, tomlkit.TOMLDocument) else not _is_json(text)

    def text(self) -> str:
        """The text of the document as it is now."""
        if isinstance(self.root, tomlkit.TOMLDocument):
            return tomlkit.dumps(self.root).replace("\n", _newline(self.source))
        start = _gap_end(self.source, 0)
        _, end = _DECODER.raw_decode(self.bare, start)
        whole, bare = self.source[start:end], self.bare[start:end]
        whole = _JsonStyle.of(self.source).rewritten(whole, bare, self.before, self.root, "")
        return self.source[:start] + whole + self.source[end:]


def read_toml(text: str) -> Document:
    """Read TOML; ValueError, whose text says what is wrong, if it is not valid."""
    if len(text) > _LARGEST:
        raise ValueError(f"it is too large: {len(text):,} characters (at most {_LARGEST:,})")
    newline = _newline(text)
    try:
        # tomlkit adds tables behind a last line without asking whether it ends.
        ended = text if text.endswith("\n") or not text else f"{text}{newline}"
        document = tomlkit.parse(ended.replace(newline, "\n"))
    except TOMLKitError as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise ValueError(f"it is not valid TOML: {reason}") from None
    return Document(document, plain(document), text)


def read_json(text: str) -> Document:
    """Read JSON with comments; ValueError, whose text says what is wrong, if it is not valid."""
    text = text if text.strip() else "{}\r\n" if "\r\n" in text else "{}\n"
    bare = text if _is_json(text) else _as_json(text)
    try:
        before = _DECODER.decode(bare)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"it is not valid JSON, at {where}") from None
    if not isinstance(before, dict):
        return Document(None, None, text, bare)
    # Another one, to be changed.
    return Document(_DECODER.decode(bare), before, text, bare)


def plain(value: Any) -> Any:  # noqa: ANN401 - any value of JSON or TOML
    """A value of a document as dicts and lists."""
    if type(value) in (dict, list):
        return value
    if isinstance(value, MutableMapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, MutableSequence) else value


def _newline(text: str) -> str:
    return "\r\n" if text.count("\r\n") == text.count("\n") > 0 else "\n"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"an object has the key {json.dumps(key)} twice")
        found[key] = value
    return found


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        # Python's own reason is for programmers.
        raise ValueError(f"a number has {len(text.lstrip('-')):,} digits") from None


# Control characters in strings stay as they are.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, strict=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _as_json(text: str) -> str:
    """The text with spaces in place of comments and trailing commas."""

    def spaces(found: re.Match[str]) -> str:
        is_open = found[0].startswith("/*") and not found[0].endswith("*/", 2)
        is_gone = found[0] == "," or (found[0].startswith("/") and not is_open)
        return re.sub(r"[^\r\n]", " ", found[0]) if is_gone else found[0]

    return _TRAILING_COMMA.sub(spaces, _STRING_OR_COMMENT.sub(spaces, text))


def _gap_end(text: str, start: int) -> int:
    found = _GAP.match(text, start)
    assert found is not None
    return found.end()


@dataclass
class _Element:
    """An element of an object or array as it is written.

    `before` is what comes before it, `head` its key with all that is between that and the value,
    and `after` what comes before the comma or the closing bracket.
    """

    before: str
    head: str
    text: str
    after: str
    bare: str = ""


@dataclass
class _Container:
    """An object or array as it is written.

    `end` is what comes before the closing bracket if that is not behind an element.
    """

    opening: str
    end: str
    elements: list[_Element] = field(default_factory=list)
    has_comma: bool = False

    @classmethod
    def of(cls, text: str, bare: str) -> _Container:
        """That of a valid text, which is `bare` without comments."""
        at = _gap_end(text, 1)
        found, closing = cls(text[0], text[1:at]), _CLOSING[text[0]]
        while text[at] != closing:
            start = at
            if found.opening == "{":
                _, end = _DECODER.raw_decode(bare, at)
                colon = _gap_end(text, end)
                at = _gap_end(text, colon + 1)
            _, end = _DECODER.raw_decode(bare, at)
            made = _Element(found.end, text[start:at], text[at:end], "", bare[at:end])
            at = _gap_end(text, end)
            made.after = text[end:at]
            found.elements.append(made)
            found.has_comma, found.end = text[at] == ",", ""
            if found.has_comma:
                start = at + 1
                at = _gap_end(text, start)
                found.end = text[start:at]
        return found

    def text(self) -> str:
        """The text of it all."""
        parts = (f"{each.before}{each.head}{each.text}{each.after}" for each in self.elements)
        comma = "," if self.has_comma else ""
        return f"{self.opening}{','.join(parts)}{comma}{self.end}{_CLOSING[self.opening]}"

    def remove(self, index: int) -> None:
        """Remove an element; comments stay, whatever they are about."""
        gone = self.elements.pop(index)
        kept = "".join(gap for gap in (gone.before, gone.after) if _COMMENT.search(gap))
        if index < len(self.elements):
            before = kept + self.elements[index].before
            is_kept = index > 0 or _COMMENT.search(before)
            self.elements[index].before = before if is_kept else gone.before
            return
        closing = self.end
        if not self.has_comma:
            closing = "" if _COMMENT.search(gone.after) else gone.after
        if _last_line(closing) is not None:
            kept, _ = _split(kept)
        closing = kept + closing
        if not self.elements:
            self.end, self.has_comma = closing if _COMMENT.search(closing) else "", False
        elif self.has_comma:
            self.end = closing
        else:
            self.elements[-1].after += closing


class _JsonStyle(NamedTuple):
    """How a document is formatted."""

    newline: str
    indent: str
    in_one_line: bool
    is_compact: bool
    is_ascii: bool

    @classmethod
    def of(cls, text: str) -> _JsonStyle:
        """The style of a text."""
        bare, indent = text.strip(), _INDENT.search(text)
        return cls(
            newline="\r\n" if "\r\n" in text else "\n",
            indent=indent[1] if indent else "  ",
            in_one_line="\n" not in bare and bare != "{}",
            is_compact=bare != "{}" and not re.search(r"[:,]\s", bare),
            is_ascii=bare != "{}" and bare.isascii(),
        )

    def rewritten(self, text: str, bare: str, old: Any, new: Any, margin: str) -> str:  # noqa: ANN401
        """The text of a value that was `old` and is `new`; `margin` indents its first line."""
        if old == new:
            return text
        if not (isinstance(old, dict | list) and isinstance(new, type(old))):
            return self._written(new, margin)
        container = _Container.of(text, bare)
        pairs, added = _matched(old, new)
        for element, pair in zip(container.elements, pairs, strict=True):
            if pair is not None:
                inner = _last_line(element.before)
                inner = margin if inner is None else inner
                element.text = self.rewritten(element.text, element.bare, *pair, inner)
        for index in reversed(range(len(pairs))):
            if pairs[index] is None:
                container.remove(index)
        for key, value in added:
            self._append(container, key, value, margin)
        return container.text()

    def _append(
        self,
        container: _Container,
        key: str | None,
        value: Any,  # noqa: ANN401
        margin: str,
    ) -> None:
        last = container.elements[-1] if container.elements else None
        if last is None:
            spacing = container.end
            inner = None if self.in_one_line else f"{margin}{self.indent}"
        else:
            spacing = container.end if container.has_comma else last.after
            inner = _last_line(last.before)
        comments, closing = _split(spacing)
        gap = f"{self.newline}{inner}"
        if inner is None:
            gap = "" if last is None or self.is_compact else " "
            # A comment may have to end with its line.
            gap = closing if comments else gap
        colon = ":" if self.is_compact else ": "
        head = "" if key is None else f"{self._written(key, None)}{colon}"
        made = _Element(comments + gap, head, self._written(value, inner), "")
        if last is None:
            container.end = ""
            made.after = "" if inner is None else f"{self.newline}{margin}"
        elif container.has_comma:
            container.end = closing
        else:
            last.after, made.after = "", closing
        container.elements.append(made)

    def _written(self, value: Any, margin: str | None) -> str:  # noqa: ANN401 - any JSON value
        """A new value, whose lines but the first begin with `margin`; None for one line."""
        wide = {"separators": (",", ":")} if self.is_compact else {}
        options: dict[str, Any] = wide if margin is None else {"indent": self.indent}
        text = json.dumps(value, ensure_ascii=self.is_ascii, **options)
        return text.replace("\n", f"{self.newline}{margin}")


_Pairs = list[tuple[Any, Any] | None]


def _matched(old: Any, new: Any) -> tuple[_Pairs, list[tuple[str | None, Any]]]:  # noqa: ANN401
    """Each element of an object or array with what it has become, and those that were added.

    What has gone is paired with None. Of an array, that is what is not found again as long as fewer
    elements are left; elements are added at the end.
    """
    if isinstance(old, dict):
        pairs = [(value, new[key]) if key in new else None for key, value in old.items()]
        return pairs, [(key, value) for key, value in new.items() if key not in old]
    left, found = deque(new), _Pairs()
    for count, value in zip(range(len(old), 0, -1), old, strict=True):
        stays = bool(left) and (value == left[0] or len(left) >= count)
        found.append((value, left.popleft()) if stays else None)
    return found, [(None, value) for value in left]


def _split(gap: str) -> tuple[str, str]:
    """What goes up to the last comment, and the rest."""
    ends = [found.end() for found in _COMMENT.finditer(gap)]
    end = ends[-1] if ends else 0
    return gap[:end], gap[end:]


def _last_line(gap: str) -> str | None:
    """The indentation that it ends with; None if what follows is on the same line."""
    _, rest = _split(gap)
    return rest.rpartition("\n")[2] if "\n" in rest else None
