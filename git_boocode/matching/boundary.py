"""Fit new text to the rest of the lines in which an old text begins or ends.

An old text that stops within a line may leave out the indentation in front of it, or punctuation
around it, that the new text has. Pasted as given, both would occur twice.
"""

from __future__ import annotations

from collections import Counter

from git_boocode.matching.text import Text

_CLOSING = frozenset(";,:.)]}>'\"`")
_OPENING = frozenset("([{<'\"`@#$")
_BRACKETS = ("()", "[]", "{}", "<>")
_QUOTES = "'\"`"


def fit_to_line(text: Text, span: tuple[int, int], texts: tuple[str, str]) -> str:
    """New text as it can take the place of the characters of ``span``, which old text is.

    ``texts`` are old and new, with LF line endings.
    """
    raw, (start, end) = text.raw, span
    before = raw[raw.rfind("\n", 0, start) + 1 : start].removeprefix(text.mark)
    stop = raw.find("\n", end)
    behind = raw[end : stop if stop >= 0 else len(raw)].rstrip("\r")
    old, new = texts[0], without_doubled(texts, before, behind)
    if before and not before.strip() and not old[:1].isspace():
        return _indented(text, start, (old, new), (before, behind))
    return new


def without_doubled(texts: tuple[str, str], before: str, behind: str) -> str:
    """The new one of two texts without punctuation at its ends that is in the file already.

    The old text does not have that punctuation; ``before`` and ``behind`` it, the file does.
    """
    old, new = texts
    for size in range(_run(behind, _CLOSING), 0, -1):
        mark = behind[:size]
        if new.endswith(mark) and not old.endswith(mark) and _is_doubled(old, new, new[:-size]):
            new = new[:-size]
            break
    for size in range(_run(before[::-1], _OPENING), 0, -1):
        mark = before[-size:]
        if new.startswith(mark) and not old.startswith(mark) and _is_doubled(old, new, new[size:]):
            return new[size:]
    return new


def _run(text: str, marks: frozenset[str]) -> int:
    """The number of characters at the start of ``text`` that are ``marks``."""
    return next((at for at, char in enumerate(text[:16]) if char not in marks), len(text[:16]))


def _is_doubled(old: str, new: str, rest: str) -> bool:
    """Whether ``new`` without its punctuation, ``rest``, is as balanced as ``old``.

    If ``new`` opens itself what that punctuation closes, the punctuation belongs to it. If nothing
    else changes, the punctuation is the edit.
    """
    return rest != old and new != old and _balance(rest) == _balance(old)


def _balance(text: str) -> tuple[int, ...]:
    count = Counter(text)
    nested = (count[pair[0]] - count[pair[1]] for pair in _BRACKETS)
    return (*nested, *(count[quote] % 2 for quote in _QUOTES))


def _indented(text: Text, start: int, texts: tuple[str, str], around: tuple[str, str]) -> str:
    """``new`` for a line whose indentation ``old`` leaves out, without doubling or missing it."""
    (old, new), (indent, behind) = texts, around
    first, *rest = new.split("\n")
    if first.startswith(indent):
        other = new.removeprefix(indent)
        if other == old:
            return new
    elif rest and not first[:1].isspace() and "\n" not in old:
        other = "\n".join([first, *(indent + line if line.strip() else line for line in rest)])
    else:
        return new
    from git_boocode.matching.indentation import Nesting

    row = text.raw.count("\n", 0, start)
    nesting = Nesting(text.lines, row, row + old.count("\n") + 1)
    given, fitted = (
        nesting.faults((indent + version + behind).split("\n")) for version in (new, other)
    )
    # An indentation that new brings itself is not meant to be added to the file's.
    better = fitted <= given if first.startswith(indent) else fitted < given
    return other if better else new
