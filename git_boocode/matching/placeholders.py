"""Lines that stand for text which a model left out: ``...``, ``# ... existing code ...``.

The same line in old and new is an elision: the lines it stands for stay (see ``elision``). In the
new text alone it would wipe them out, and so the edit is refused.

Three dots are also Python's Ellipsis, a prompt of its console, and spread and rest syntax. Only a
line that is nothing but dots, or a comment of dots and of words about code, counts; a line of dots
that is the body of a block does not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from git_boocode.matching.align import script
from git_boocode.matching.indentation import indent_of
from git_boocode.matching.text import Text

_COMMENT = re.compile(r"\{\s*/\*+|/\*+|//+!?|<!--|#+|--|;+|%+|\*(?!/)")
_DOTTED = re.compile(r"[\[(<{]?\s*(?:\.{3,}|…)")
_NOISE = re.compile(r"[^\w\s']+")
_CLOSING = (*"])>}",)
_DOTS = 3
_LONGEST = 120
"""Longer lines (characters) are no placeholders."""

_FILLING = """
    a all and another any are block change changes classes component config content contents
    continue continues cases definitions fields for from functions goes handlers here imports in is
    it items its keep kept left methods middle needed no not of out part properties props setup
    shown some stay stuff test tests than that the these this to up with your
"""
_LEAVING_OUT = """
    above additional before below brevity code elided else etc existing intact lines more omitted
    original other others previous remainder remaining remains rest same skip skipped snip snipped
    truncated unchanged unmodified
"""
_TELLING = frozenset(_LEAVING_OUT.split())
_CODE = frozenset(
    ("code", "file", "function", "method", "class", "implementation", "logic", "body", "module")
)
_OLDER = frozenset(
    ("existing", "previous", "original", "remaining", "current", "rest", "remainder")
)
_UNCHANGED = frozenset(
    ("unchanged", "omitted", "elided", "intact", "unmodified", "untouched", "brevity", "truncated")
)
_SAME = frozenset(("as", "stays", "remains"))
_WORDS = _TELLING | _CODE | _OLDER | _UNCHANGED | _SAME | frozenset(_FILLING.split())


def is_marker(line: str) -> bool:
    """Whether a line stands for left-out text, its surroundings not considered."""
    bare = line.strip()
    if not bare or len(bare) > _LONGEST:
        return False
    comment = _COMMENT.match(bare)
    body = _uncommented(bare[comment.end() :]) if comment else bare
    dotted = _DOTTED.match(body)
    if dotted:
        rest = body[dotted.end() :]
        rest = _without_dots(rest[:-1] if rest[-1:] in _CLOSING else rest)
        return _few_words(rest) if rest else _plain_dots(bare, body)
    # Dots at the end only are in any sentence that trails off.
    rest = _without_dots(body)
    return bool(comment) and (_says_so(rest) or (rest != body and _few_words(rest)))


def _uncommented(body: str) -> str:
    """What a comment says, without the mark that closes it."""
    body = body.strip()
    if body.endswith("-->"):
        return body[:-3].rstrip()
    open_ended = body[:-1].rstrip() if body.endswith("}") else body
    return open_ended[:-1].rstrip("*").rstrip() if open_ended.endswith("*/") else body


def _without_dots(text: str) -> str:
    """A text without surrounding whitespace and trailing dots."""
    bare = text.strip()
    dots = len(bare) - len(bare.rstrip("."))
    return bare[: -max(dots, 1)].rstrip() if dots >= _DOTS or bare.endswith("…") else bare


def _plain_dots(bare: str, body: str) -> bool:
    # In brackets, dots alone are code in some languages.
    return bare != body or body.strip(".…") == ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_NOISE.sub(" ", text).lower().split())


def _few_words(body: str) -> bool:
    """Whether a text beside dots says nothing but that something is left out."""
    words = _words(body)
    return bool(words & _TELLING) and words <= _WORDS


def _says_so(body: str) -> bool:
    """Whether a comment without dots says that code stays as it is."""
    words = _words(body)
    code = bool(words & _CODE and words & _OLDER)
    no_changes = "no" in words and not words.isdisjoint(("change", "changes"))
    same = "same" in words and bool(words & _SAME)
    return words <= _WORDS and (code or same or no_changes or bool(words & _UNCHANGED))


def markers(lines: Sequence[str]) -> list[int]:
    """The indexes of the lines that stand for left-out text.

    Dots between the lines of a console session (``>>>``) are prompts.
    """
    return [
        index
        for index, line in enumerate(lines)
        if is_marker(line) and not (_bare_dots(line) and _in_session(lines, index))
    ]


def _bare_dots(line: str) -> bool:
    return not line.strip().strip(".…")


def _in_session(lines: Sequence[str], index: int) -> bool:
    above = lines[index - 1].lstrip() if index else ""
    return above.startswith((">>> ", "... "))


def unmatched_placeholder(text: Text, old: Text, new: Text) -> int | None:
    """The index of a line of new that stands for left-out text and does so in new only.

    A line that the file has too, or that is the body of a block which new adds, is literal.
    """
    found = markers(new.lines)
    if not found:
        return None
    known = Counter(old.stripped[index] for index in range(len(old.lines)))
    for index in found:
        line = new.stripped[index]
        known[line] -= 1
        if known[line] < 0 and line not in text.stripped and not _is_body(old, new, index):
            return index
    return None


def _is_body(old: Text, new: Text, index: int) -> bool:
    """Whether a line of dots is all there is in a block that the edit adds or fills."""
    if new.stripped[index] != "...":
        return False
    above = next(_filled(new, range(index - 1, -1, -1)), None)
    below = next(_filled(new, range(index + 1, len(new.lines))), None)
    if above is None:
        # Dots alone take the place of a single line: `pass` becomes an Ellipsis.
        return below is None and len(old.core) <= 1
    depth = len(indent_of(new.lines[index]))
    opened = new.stripped[above].endswith(":") and len(indent_of(new.lines[above])) < depth
    alone = below is None or len(indent_of(new.lines[below])) < depth
    return opened and alone and _replaced(old, new, index) <= 1


def _filled(text: Text, rows: range) -> Iterator[int]:
    return (row for row in rows if text.stripped[row])


def _replaced(old: Text, new: Text, index: int) -> int:
    """How many lines with text of old are gone where line ``index`` of new came in."""
    for hunk in script(old.lines, new.lines):
        if not hunk.same and hunk.j1 <= index < hunk.j2:
            gone = sum(map(bool, old.stripped[hunk.i1 : hunk.i2]))
            fresh = sum(map(bool, new.stripped[hunk.j1 : hunk.j2]))
            return gone - fresh + 1
    return 0
