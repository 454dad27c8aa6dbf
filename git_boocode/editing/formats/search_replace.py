"""`search-replace`: blocks in prose, with the lines to find and their replacement.

The marker lines are `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`, or `------- SEARCH` and
`+++++++ REPLACE`, of five characters or more. The file is named above a block, or in the line of
its first marker; a block without a name is for the file of the block before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from git_boocode.editing.edits import Edit, Failure, MissError
from git_boocode.editing.formats import Context, agree, objects
from git_boocode.editing.formats.objects import invalid
from git_boocode.editing.formats.stray_edits import stray_between

if TYPE_CHECKING:
    from git_boocode.editing.edits import Action

_MAX_DIVIDERS = 16  # Maximum number of lines of a block that are tried as its divider.
_USUAL = 9  # A longer line of equals signs is an underline, unless the markers are as long.
_OPENING = "<<<<<<< SEARCH"
_CLOSING = ">>>>>>> REPLACE"
_DIVIDE_IT = "write the lines to find, a line '=======', then the lines that replace them"
_NAME_IT = f"put the path of the file alone on the line above '{_OPENING}'"

_OPEN = re.compile(r"([ \t]*)(<{5,}|-{5,}(?= ?SEARCH>?[ \t]*$)) ?(?:SEARCH|ORIGINAL)\b>?(.*)")
_CLOSE = re.compile(r"([ \t]*)(>{5,}|\+{5,}) ?(?:REPLACE|UPDATED)>?[ \t`]*()")
_DIVIDER = re.compile(r"([ \t]*)(={5,})[ \t]*")
_HEADER = re.compile(
    r"(?:(?::(?:start|end)_line:[ \t]*(?:\d{1,9}[ \t]*)?\n)+(?:[ \t]*-{5,}[ \t]*\n)?)?"
)
_START = re.compile(r":start_line:[ \t]*0*([1-9]\d*)")
_ESCAPED = re.compile(r"^([ \t]*)\\(?=[<>=+-]{5}|:(?:start|end)_line:)", re.M)

_FILE = re.compile(
    r"(?:Make|Docker|Jenkins|Vagrant|Proc|Gem|Rake|[Jj]ust)file|LICENSE|README|CHANGELOG|CODEOWNERS"
    # Only a known extension distinguishes a file from `object.method` in prose.
    r"|(?i:.*\.(?:pyi?|[cm]?[jt]s|[jt]sx|vue|svelte|astro|java|kts?|scala|groovy|gradle|go|rs|c|h"
    r"|cc|hh|[ch](?:pp|xx)|mm?|cs|fs|vb|swift|rb|erb|php|p[lm]|lua|r|jl|dart|exs?|erl|hs|mli?|clj"
    r"|elm|nim|zig|sol|(?:ba|z|fi)?sh|ps1|bat|sql|html?|xml|svg|css|s[ac]ss|less|json[c5]?|ya?ml"
    r"|toml|ini|cfg|conf|env|properties|lock|mdx?|rst|txt|tex|[ct]sv|proto|graphql|tf|nix|cmake|mk"
    r"|in|j2|tmpl|ipynb|sv?|vhd|patch|diff))",
    re.DOTALL,
)
_LIBRARY = re.compile(r"(?i)\w{1,40}://\S+|\b(?:node|next|nuxt|vue|react|express|d3)\.js\b")
"""Addresses and names of libraries that look like files in prose."""
_NEVER = re.compile(r"[<>|*?\"`\x00-\x1f]|://|^\W+$|\(\)$|^\(.*\)$|[.,;!]$")
_LINK = re.compile(r"\[([^\[\]\n]+)\]\([^()\[\s]*\)")
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|'([^'\n]+)'|“([^“”\n]+)”")
# Parentheses are part of a path only around a directory.
_WORDS = re.compile(r"(?:[^\s`\"'“”*<>|,;:!?={}()\[\]]|:(?=\\)|(?<=/)[(\[][\w.-]{1,99}[)\]](?=/))+")
_LABEL = re.compile(r"(?:[\w-]+\s+){0,3}?(?:file|path) ?(?:name|path)?\s*[:=]\s*", re.IGNORECASE)
_DECORATION = re.compile(
    r"add|change|continued|created?|edit(?:ed)?|existing|file|file_?name|file_?path|for|here(?:'s)?"
    r"|in|is|modif(?:y|ied)|name|new|now|path|the|then|this|to|updated?|[\W\d_]*",
    re.IGNORECASE,
)
"""Words and marks that may accompany the name in a line that names the file."""


def edits(item: object, context: Context) -> Iterator[Edit | Failure]:
    """The edits of a text, or of an object with a text: one for each block."""
    if isinstance(item, dict):
        objects.check_switches(item)
        context = objects.enclosed(item, context)
    yield from _Reader(objects.patch(item), context).edits()


class _Mark(NamedTuple):
    """The first or the last marker of a block: its 0-based row, its length, and adjacent text."""

    row: int
    size: int
    is_opening: bool
    margin: str
    beside: str

    @property
    def block(self) -> str:
        return f"the block at line {self.row + 1}"


class _Reader:
    def __init__(self, text: str, context: Context) -> None:
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.marks = [
            _Mark(row, len(found[2]), found[2][0] in "<-", found[1], found[3] or "")
            for row, line in enumerate(self.lines)
            if (found := _OPEN.fullmatch(line) or _CLOSE.fullmatch(line))
        ]
        self.context = context
        self.path = context.path

    def edits(self) -> Iterator[Edit | Failure]:
        """The edits of the blocks in order, with a failure for each invalid block."""
        at = above = 0
        while at < len(self.marks):
            mark = self.marks[at]
            prose = self.lines[above : mark.row]
            yield from self._stray_edit(above, mark.row)
            given: object = self.lines[mark.row]
            try:
                at = self._closing(at)
                given = "\n".join(self.lines[mark.row : self.marks[at].row + 1])
                body = self.lines[mark.row + 1 : self.marks[at].row]
                if not any(map(_DIVIDER.fullmatch, body)):
                    raise invalid(f"{mark.block} has no '=======' line", _DIVIDE_IT)
                self.path = self._path(mark, prose)
                given = {"path": self.path, "diff": given}
                action = _action(mark, body)
                yield Edit(0, self.path, action, self.context.base, "search-replace", given)
            except MissError as miss:
                # The file of an invalid block is also the default for the blocks below.
                with suppress(MissError):
                    self.path = self._path(mark, prose)
                yield Failure.of(miss, None, self.path, given)
            above = self.marks[at].row + 1
            at += 1
        yield from self._stray_edit(above, len(self.lines))

    def _stray_edit(self, first: int, stop: int) -> Iterator[Failure]:
        """A failure for an edit of another format between the blocks, which would be ignored."""
        if mixed := stray_between(self.lines[first:stop], first, self.context):
            yield Failure.of(mixed, None, self.path, None)

    def _closing(self, at: int) -> int:
        """The closing marker of a block; blocks inside its code have markers of another size."""
        mark = self.marks[at]
        if not mark.is_opening:
            raise invalid(f"line {mark.row + 1} is '{_CLOSING}' without an opening line above it")
        closings: list[int] = []
        depth = 0
        for index in range(at + 1, len(self.marks)):
            below = self.marks[index]
            is_own = below.size == mark.size
            if not is_own and (depth or below.is_opening):
                depth += 1 if below.is_opening else -1
            elif not below.is_opening:
                closings.append(index)
            if is_own:
                break
        if not closings:
            raise invalid(f"{mark.block} has no '{_CLOSING}' line of its own")
        last = self.marks[closings[-1]]
        if len(closings) > 1 and last.size == mark.size:
            first = self.marks[closings[0]]
            raise invalid(
                f"{mark.block} may end at line {first.row + 1} or at line {last.row + 1}",
                "write the markers of one block with the same number of characters",
            )
        return closings[0]

    def _path(self, mark: _Mark, prose: Sequence[str]) -> str:
        """The file of a block, according to the lines of prose above it or its context."""
        named = _named(mark, prose)
        if self.context.path is not None:
            if named is not None and not agree(self.context.path, named):
                raise invalid(f"{mark.block} is for '{named}', but 'path' is '{self.context.path}'")
            return self.context.path
        path = named or _spoken_of(mark, prose) or self.path
        if path is None:
            raise invalid(f"{mark.block} names no file", _NAME_IT)
        return path


def _named(mark: _Mark, prose: Sequence[str]) -> str | None:
    """The file named by the opening line, the fence or the line above."""
    if mark.beside.strip():
        name = name_in_line(mark.beside)
        if name is None:
            raise invalid(f"line {mark.row + 1} has more than '{_OPENING}', which names no file")
        return name
    for line in reversed(prose):
        fence = objects.opened_fence(line)
        if fence and (names := names_in(fence.info)[0]):
            return names[0]
        if line.strip() and not fence:
            return name_in_line(line)
    return None


def _spoken_of(mark: _Mark, prose: Sequence[str]) -> str | None:
    """The only file that the prose above a block mentions."""
    lines = [line.strip() for line in prose if line.strip() and not objects.opened_fence(line)]
    names = list(dict.fromkeys(name for line in lines for name in names_in(line)[0]))
    if len(names) > 1:
        raise invalid(f"{mark.block} may be for {' or '.join(map(repr, names[:5]))}", _NAME_IT)
    if names and 1 < len(lines[-1].split()) < 5 and is_path(lines[-1]):
        raise invalid(
            f"{mark.block} may be for '{lines[-1]}' or '{names[0]}'",
            f"put the path in double quotes, alone on the line above '{_OPENING}'",
        )
    return names[0] if names else None


def _action(mark: _Mark, body: list[str]) -> Action:
    from git_boocode.editing.actions import Block, Replace

    if all(line.startswith(mark.margin) or not line.strip() for line in body):
        body = [line[len(mark.margin) :] for line in body]
    found = _HEADER.match("\n".join(body))
    header = found[0] if found else ""
    start = _START.search(header)
    lines = body[header.count("\n") :]
    splits = [
        Replace(
            _joined(lines[:row], header) if any(map(str.strip, lines[:row])) else "",
            _joined(lines[row + 1 :], header),
            start_line=int(start[1]) if start else None,
            whole_lines=True,
        )
        for row in _dividers(mark, lines)
    ]
    if len(splits) > 1:
        return Block(tuple(splits))
    if not (splits[0].old or splits[0].new):
        raise invalid(f"{mark.block} is empty")
    return splits[0]


def _dividers(mark: _Mark, body: Sequence[str]) -> list[int]:
    """The rows of possible dividers, starting with the first one of the markers' length."""
    found = [(row, match) for row, line in enumerate(body) if (match := _DIVIDER.fullmatch(line))]
    sizes = {row: len(match[2]) for row, match in found if not match[1]}
    sizes = sizes or {row: len(match[2]) for row, match in found}
    rows = [row for row, size in sizes.items() if size <= _USUAL or size == mark.size] or [*sizes]
    first = next((row for row in rows if sizes[row] == mark.size), 0)
    rows = [row for row in rows if row >= first]
    if len(rows) > _MAX_DIVIDERS:
        raise invalid(
            f"{mark.block} has {len(rows)} lines like '======='",
            "send the edit as old_string and new_string",
        )
    return rows


def _joined(lines: Sequence[str], header: str) -> str:
    text = "".join(f"{line}\n" for line in lines)
    # Tools with block headers put a backslash before lines of code that look like markers.
    return _ESCAPED.sub(r"\1", text) if header else text


def name_in_line(line: str) -> str | None:
    """The file in a line that contains only its name, marks and words such as `File:`."""
    bare = line.lstrip("#*+-_/<!`\"'“ \t")
    label = _LABEL.match(bare)
    names, others = names_in(bare[label.end() :] if label else line)
    if names or len(others) != 1:
        return names[0] if len(names) == 1 and not others else None
    (name,) = others
    is_name = label or ("." in name.strip(".") and f"{name}(" not in line)
    return name if is_name and not _NEVER.search(name) else None


def names_in(line: str) -> tuple[list[str], list[str]]:
    """The files that a line mentions, and its words that do not belong to a name."""
    words: list[str] = []

    def without_quoted(found: re.Match[str]) -> str:
        text = found[found.lastindex or 0].strip()
        is_word = is_path(text) or found[1] is not None
        words.extend([text] if is_word else [])
        return " " if is_word else found[0]

    rest = _QUOTED.sub(without_quoted, _LINK.sub(r"`\1`", line))
    found = _WORDS.findall(_LIBRARY.sub(" ", rest))
    words += [bare if is_path(bare := word.rstrip(".")) else word for word in found]
    others = [word for word in words if not (is_path(word) or _DECORATION.fullmatch(word))]
    return list(dict.fromkeys(filter(is_path, words))), others


def is_path(text: str) -> bool:
    """Whether a text is probably a path: by its last component, or by a slash and a dot."""
    if not text or _NEVER.search(text):
        return False
    name = re.split(r"[/\\]", text)[-1]
    is_below = "." in name and re.search(r"\w/\w|^\.{0,2}/\w", text)
    return bool(is_below or _FILE.fullmatch(name))
