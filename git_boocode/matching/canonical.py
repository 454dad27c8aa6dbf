"""One spelling for characters that look alike.

``look_alikes`` maps one character to one character, so that an offset in the mapped text is an
offset in the real one. ``canonical_line`` goes further and is used only to compare whole lines.
"""

from __future__ import annotations

from collections.abc import Iterable

_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2035\u00b4\u02b9\u02bc\u02c8\u055a\uff07"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u2036\u02ba\u301d\u301e\u301f\uff02"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d"
_SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"

INVISIBLE = frozenset(_INVISIBLE)
"""Characters that take no place on the screen."""

_QUOTES = frozenset(map(ord, _SINGLE + _DOUBLE))

_ONE_TO_ONE: dict[int, str] = {
    # Full-width forms of printable ASCII lie at a constant distance from it.
    **{code + 0xFEE0: chr(code) for code in range(0x21, 0x7F)},
    **dict.fromkeys(map(ord, _SINGLE), "'"),
    **dict.fromkeys(map(ord, _DOUBLE), '"'),
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _SPACES), " "),
}
_WHOLE_LINE: dict[int, str | None] = {
    **_ONE_TO_ONE,
    **dict.fromkeys(map(ord, _INVISIBLE)),
    ord("\u2026"): "...",
}


def look_alikes(text: str) -> str:
    """``text`` with look-alike characters replaced by their ASCII form, length unchanged."""
    return text if text.isascii() else text.translate(_ONE_TO_ONE)


def plain_in_file(pairs: Iterable[tuple[str, str]]) -> dict[int, str]:
    """The look-alikes for which the file has ASCII wherever a model's line has them.

    ``pairs`` are lines of the model and the file's. A table for ``str.translate``.
    """
    there: dict[str, set[str]] = {}
    for mine, row in pairs:
        same = len(mine) == len(row) and look_alikes(mine) == look_alikes(row)
        for char, other in zip(mine, row, strict=True) if same else ():
            if ord(char) in _ONE_TO_ONE:
                there.setdefault(char, set()).add(other)
    table = {
        ord(char): _ONE_TO_ONE[ord(char)]
        for char, others in there.items()
        if others == {_ONE_TO_ONE[ord(char)]}
    }
    if not _QUOTES.isdisjoint(table) and there.keys() <= set(map(chr, table)):
        # Who writes one kind of quote so writes all kinds so.
        table |= {code: _ONE_TO_ONE[code] for code in _QUOTES}
    return table


def canonical_line(line: str) -> str:
    """A line for comparison: look-alikes, invisible characters and composition do not count."""
    if line.isascii():
        return line
    from unicodedata import normalize

    return normalize("NFC", line.translate(_WHOLE_LINE)).strip()
