r"""Variants of a model's old and new text: the pair without line numbers, escapes, code fences.

A decoder recognises a transformation in the old text (every line numbered, ``\"`` for ``"``, a code
fence around it) and yields the pair with the transformation undone. A variant is tried only if the
original text is not found, and counts only if its old text is found in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from git_boocode.matching.align import same_items
from git_boocode.matching.guards import evidence
from git_boocode.matching.rungs import loose_rows
from git_boocode.matching.text import Text, indent_of

_WRAPPED_EVIDENCE = 8  # minimum evidence of text that is found without its line breaks
MOST = 12  # maximum number of variants of one pair

_FENCES = ("```", "~~~", "````")
_BARS = "│█"
_PADDING = re.compile("^ ", re.MULTILINE)
_NUMBER = re.compile(r"(?:[ \t]*(?:L(?:ine )?)?(\d{1,7})[ ]*|[ ]+(?!:))(\t|→|│|\||:)")
"""A line number and its separator from the line. An added line may lack the number."""

_QUOTES = re.compile(r"\\[\"'`]")
_ESCAPES = re.compile(
    r"\\(?:[nrt\"'`\\/]|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4})"
)
_WHITESPACE_OR_BACKSLASH = re.compile(r"\\[nrt\\]")
_ENTITIES = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,31});")


class Variant(NamedTuple):
    """A pair of texts, with LF line endings, and the transformations that were undone.

    ``first_line`` (1-based) is the first line of the text, according to its line numbers.
    """

    old: str
    new: str
    notes: tuple[str, ...] = ()
    first_line: int | None = None

    @property
    def texts(self) -> tuple[str, str]:
        """The old and the new text."""
        return self.old, self.new

    def then(self, old: str, new: str, note: str) -> Variant:
        """The variant after undoing one more transformation."""
        return self._replace(old=old, new=new, notes=(*self.notes, note))


def variants(own: Variant, text: Text, names: Sequence[str]) -> Iterator[Variant]:
    """The variants of a pair, without the pair itself; each decoder extends the previous variants.

    ``names`` are keys of ``DECODERS``, in the order in which the transformations are undone.
    """
    found = [own]
    for name in names:
        for variant in tuple(found):
            for fresh in DECODERS[name](variant, text):
                is_new = all(fresh.texts != other.texts for other in found)
                if fresh.old != variant.old and is_new and len(found) <= MOST:
                    found.append(fresh)
                    yield fresh


def fences(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Texts without the fences of a code block, or the one below it; the new text may lack them."""
    for stripped in (_unfenced, _without_end):
        old, new = stripped(variant.old), stripped(variant.new)
        if old != variant.old:
            # The fence below new may close a block that new opens instead of the old fence.
            if stripped is _unfenced or new != variant.new or not _ends_fenced(new):
                open_end = new != "" and not new.endswith("\n")
                old = old.removesuffix("\n") if open_end else old
                yield variant.then(old, new, "code fence stripped")
            return


def _unfenced(text: str) -> str:
    """The text between fences; the whole text if there are none."""
    first, *lines = text.strip("\n").split("\n")
    fence = lines.pop().strip() if lines else ""
    is_fenced = fence in _FENCES and first.strip().startswith(fence)
    return "".join(f"{line}\n" for line in lines) if is_fenced else text


def _without_end(text: str) -> str:
    """The text above a last fence that closes no block of it; the whole text without one."""
    *lines, last = text.rstrip("\n").split("\n")
    fence = last.strip()
    inside = sum(line.lstrip().startswith(fence) for line in lines)
    is_stray = fence in _FENCES and lines and inside % 2 == 0
    return "".join(f"{line}\n" for line in lines) if is_stray else text


def _ends_fenced(text: str) -> bool:
    return text.rstrip("\n").rpartition("\n")[2].strip() in _FENCES


def gutter(variant: Variant, text: Text) -> Iterator[Variant]:
    """Texts without the bars of an outline (`│`, `█`) before every line; new may lack them all.

    In a file with such bars they may be content.
    """
    old, new = (_unmarked(given, _BARS) for given in variant.texts)
    if old is None or not _has_bars(variant.old) or _has_bars(text.raw):
        return
    new = new if _has_bars(variant.new) else variant.new
    spaced = all(line[:1] in ("", " ") for line in old.split("\n"))
    if spaced and old.strip("\n") not in text.lf:
        old = _PADDING.sub("", old)
        new = _PADDING.sub("", new) if new and _has_bars(variant.new) else new
    if new is not None:
        yield variant.then(old, new, "gutter stripped")


def _has_bars(text: str) -> bool:
    return any(bar in text for bar in _BARS)


def marks(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Texts without the leading diff marks: `-` in old, `+` in new."""
    old, new = _unmarked(variant.old, " -"), _unmarked(variant.new, " +")
    seen = {line[:1] for line in f"{variant.old}\n{variant.new}".split("\n")}
    if old is not None and new is not None and not seen.isdisjoint("-+"):
        yield variant.then(old, new, "diff marks stripped")


def _unmarked(text: str, allowed: str) -> str | None:
    """The text without the mark of each line; None if a nonblank line has none."""
    lines = text.split("\n")
    marked = all(line[0] in allowed for line in lines if line.strip())
    return "\n".join(line[1:] for line in lines) if marked else None


def _column_of(lines: Sequence[str]) -> tuple[str, str] | None:
    """The separator of the line numbers, and the space after it; None without numbers.

    Every nonblank line has a number, the separators are equal, and the numbers ascend.
    """
    filled = [line for line in lines if line.strip()]
    found = [match for match in map(_NUMBER.match, filled) if match and match[1]]
    steps = [int(below[1]) - int(above[1]) for above, below in pairwise(found)]
    # A few lines may be missing.
    rise = all(step > 0 for step in steps) and 2 * sum(step < 3 for step in steps) >= len(steps)
    # The number of the first line may be missing.
    late = len(filled) > 2 and bool(found) and filled[0] != found[0].string
    separators = {match[2] for match in found}
    if len(found) + late < len(filled) or len(separators) != 1 or not rise:
        return None
    separator = separators.pop()
    spaced = all(match.string[match.end() :][:1] in ("", " ") for match in found)
    return separator, " " if spaced and separator in "|:" else ""


def _split(line: str, column: tuple[str, str]) -> tuple[int | None, str]:
    """Split a line into its number, None if it has none, and the rest."""
    found, (separator, padding) = _NUMBER.match(line), column
    if found is None or found[2] != separator:
        return None, line
    return int(found[1]) if found[1] else None, line[found.end() :].removeprefix(padding)


def numbers(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Texts without line numbers; the new text may lack some or all, or have other numbers."""
    lines = variant.old.split("\n")
    column = _column_of(lines)
    if column is None:
        return
    split = [_split(line, column) for line in lines]
    first_line = next(number - at for at, (number, _) in enumerate(split) if number is not None)
    old = [rest for _, rest in split]
    new = _without_numbers(variant.new.split("\n"), old, column, first_line)
    if new is not None:
        done = variant.then("\n".join(old), "\n".join(new), "line numbers stripped")
        yield done._replace(first_line=first_line)


def _without_numbers(
    new: Sequence[str], old: Sequence[str], column: tuple[str, str], first_line: int
) -> Sequence[str] | None:
    """The new lines without line numbers; None if a number may be content.

    ``old`` are the old lines without their numbers. Numbers that descend are not line numbers. If
    some unchanged lines have no number, the numbers of the others must be correct.
    """
    if not any(line.startswith("+") for line in old):
        # An added line may have a diff mark instead of a number.
        new = [line.removeprefix("+") for line in new]
    split = [_split(line, column) for line in new]
    found = [(number, at) for at, (number, _) in enumerate(split) if number is not None]
    unchanged = {line.strip() for line in old if line.strip()}
    bare = [at for at, line in enumerate(new) if line.strip() in unchanged]
    if any(split[at][0] is not None for at in bare):
        return new
    if bare:
        plausible = all(number == first_line + at for number, at in found)
    else:
        plausible = all(above[0] <= below[0] for above, below in pairwise(found))
    return [rest for _, rest in split] if plausible else None


def strays(variant: Variant, first_line: int) -> Iterator[Variant]:
    """The new text without line numbers that an exactly found old text does not have.

    They must start with the line at which the old text is found, and the texts must share a line.
    """
    lines, old = variant.new.split("\n"), variant.old.split("\n")
    column = _column_of(lines)
    if column is None:
        return
    split = [_split(line, column) for line in lines]
    stripped = [rest for _, rest in split]
    shared = any(line.strip() and line in old for line in stripped)
    # An edit that only adds the numbers is meant so.
    if split[0][0] == first_line and shared and stripped != old:
        yield variant.then(variant.old, "\n".join(stripped), "line numbers stripped")


def wrapping(new: str, old: str) -> str | None:
    """What a model has put around the lines of a whole file that has been ``old``; or None."""
    bare = _unfenced(new)
    if bare != new and _unfenced(old) == old:
        shared = {*bare.split("\n")}.intersection(old.split("\n"))
        if any(line.strip() for line in shared):
            return "a code fence around it"
    return "line numbers before its lines" if any(strays(Variant(old, new), 1)) else None


def _meaning(sequence: str) -> str:
    """The character of a backslash sequence or an HTML entity; itself if it has no meaning."""
    if sequence[0] == "&":
        from html import unescape

        return unescape(sequence)
    import json

    # JSON has no escapes for two of the quotes.
    return sequence[1] if sequence[1] in "'`" else str(json.loads(f'"{sequence}"'))


def _decoded(variant: Variant, sequences: re.Pattern[str], note: str) -> Variant:
    old, new = (sequences.sub(lambda found: _meaning(found[0]), text) for text in variant.texts)
    return variant.then(old, new, note)


def sequences_in(text: str) -> Counter[str]:
    """The possible escape sequences in a text, with their number of occurrences."""
    entities_in = [found for found in _ENTITIES.findall(text) if _meaning(found) != found]
    return Counter(_ESCAPES.findall(text) + entities_in)


def escapes(variant: Variant, _text: Text) -> Iterator[Variant]:
    r"""Texts without escaped quotes ``\"``, or without one level of the escapes of JSON and C.

    Escape sequences that only the new text has are ambiguous.
    """
    before, after = (_WHITESPACE_OR_BACKSLASH.findall(_QUOTES.sub("", t)) for t in variant.texts)
    fresh = {*after}.difference(before)
    in_lines, new_in_lines = ("\n" in text.strip("\n") for text in variant.texts)
    # An escaped line feed next to real ones is part of the code.
    if "\\\\" not in fresh and (in_lines or not fresh):
        yield _decoded(variant, _QUOTES, "unescaped")
    decoded = _decoded(variant, _ESCAPES, "unescaped")
    lines = {*decoded.new.split("\n")}.difference(decoded.old.split("\n"))
    # Line feeds and tabs in literals are code; an unclosed literal indicates a line feed.
    is_code = any("\t" in line.strip() or line.replace('"""', "").count('"') % 2 for line in lines)
    undecided = _ESCAPES.search(variant.new) if new_in_lines > in_lines else fresh
    if not (is_code or undecided):
        yield decoded


def entities(variant: Variant, _text: Text) -> Iterator[Variant]:
    """Texts with HTML entities decoded."""
    yield _decoded(variant, _ENTITIES, "entities decoded")


def wrapped(variant: Variant, text: Text) -> Iterator[Variant]:
    """Texts with the file's line breaks."""
    if found := rewrapped(variant.old, variant.new, text):
        old, new = found
        yield variant._replace(old=old, new=new)


def rewrapped(old_text: str, new_text: str, text: Text) -> tuple[str, str] | None:
    """Two texts with the file's line breaks, if old occurs once except for line breaks.

    A paragraph with the same lines in old and new gets the file's lines; a changed paragraph stays.
    """
    old, new = Text(old_text), Text(new_text)
    once = evidence(old.lf) >= _WRAPPED_EVIDENCE and text.squeezed.count(old.squeezed) == 1
    found = loose_rows(text, old, by_line=False) if once else []
    if not found:
        return None
    rows = text.lines[found[0].start : found[0].stop]
    same, in_old, in_new = same_items(old.lines, new.lines), [*old.lines], [*new.lines]
    for lines, there in reversed(_groups(old.lines, rows)):
        mine = rows[there.start : there.stop]
        here, depth = indent_of(old.lines[lines.start]), indent_of(mine[0])
        mine = [here + row.removeprefix(depth) for row in mine]
        in_old[lines.start : lines.stop] = mine
        at = same.get(lines.start, -1)
        if [same.get(index) for index in lines] == [*range(at, at + len(lines))]:
            in_new[at : at + len(lines)] = mine
    old_end, new_end = ("\n" if given.closed else "" for given in (old, new))
    return "\n".join(in_old) + old_end, "\n".join(in_new) + new_end


def _groups(lines: Sequence[str], rows: Sequence[str]) -> list[tuple[range, range]]:
    """The smallest runs of lines with equal text; none if one contains blank lines."""
    here, there = _ends(lines), _ends(rows)
    ends = [(0, 0), *((here[size], there[size]) for size in sorted(here.keys() & there.keys()))]
    groups = []
    for (line, row), (stop, end) in pairwise(ends):
        first = next(index for index in range(line, stop) if lines[index].strip())
        top = next(index for index in range(row, end) if rows[index].strip())
        if not all(map(str.strip, (*lines[first:stop], *rows[top:end]))):
            return []
        if max(stop - first, end - top) > 1:
            groups.append((range(first, stop), range(top, end)))
    return groups


def _ends(lines: Sequence[str]) -> dict[int, int]:
    """Maps the total size of the text up to each nonblank line to the next row."""
    sizes = accumulate(len("".join(line.split())) for line in lines)
    return {size: row for row, size in enumerate(sizes, 1) if lines[row - 1].strip()}


DECODERS: dict[str, Callable[[Variant, Text], Iterator[Variant]]] = {
    "fences": fences,
    "numbers": numbers,
    "gutter": gutter,
    "escapes": escapes,
    "entities": entities,
    "marks": marks,
    "wrapped": wrapped,
}
