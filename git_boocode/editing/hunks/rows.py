"""A file's lines, and where lines are found in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from git_boocode.editing import rows
from git_boocode.editing.edits import MissError

_STRUCTURAL = re.compile(
    r"""\s*(?:
        [)\]}>]*[,;]?$                                          # nothing, or closing brackets
      | end;?$ | fi$ | done$ | esac$
      | //|/\*|\*(?:[\s/]|$)|<!--|--\s                          # comments
      | \#(?!!|\[)
    )""",
    re.VERBOSE,
)
_DIRECTIVE = re.compile(
    r"\s*\#\s*(?:include|define|if|ifdef|ifndef|elif|else|endif|undef|pragma|error|line)\b"
)
_SURE_DIRECTIVE = re.compile(r"\s*#\s*(?:include\s*[<\"]|define\s+\w|ifn?def\s+\w+\s*$|endif\s*$)")
"""One that a comment in prose hardly looks like: then the file has a preprocessor."""


WORK = 5_000_000
"""So many rows and blocks are looked at to find the sections that one patch of a file names."""
_CUT = 40
"""From so many characters on, a section may be a line that git cut off in a word."""


class Rows(rows.Rows):
    """A file's lines with all that placing hunks asks of them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._stretches: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        self._begun: dict[str, list[int]] = {}
        self._work = 0

    def is_structural(self, line: str) -> bool:
        """Whether a line is blank, closes brackets only, or is a comment."""
        if _STRUCTURAL.match(line) is None:
            return False
        return not (_DIRECTIVE.match(line) and self._is_preprocessed)

    @cached_property
    def _is_preprocessed(self) -> bool:
        return any(_SURE_DIRECTIVE.match(key) for key in self.exact.keys)

    def inside(self, sections: tuple[str, ...]) -> list[tuple[int, int]]:
        """The stretches of rows (first, stop) in the innermost of some sections.

        They are in order, and none of them touches another.

        Raises:
            MissError: it takes too much work to look for sections in this file (`ambiguous`).
        """
        self.spend(len(sections))
        if sections not in self._stretches:
            found = [(0, len(self))]
            for section in sections:
                found = list(self._blocks(section, found))
            self._stretches[sections] = list(_merged(found))
        return self._stretches[sections]

    def spend(self, work: int) -> None:
        """Count the work of looking for sections.

        Raises:
            MissError: it is more than one patch of a file may cost (`ambiguous`).
        """
        self._work += work
        if self._work > WORK:
            raise MissError(
                "ambiguous",
                "the sections that the patch names stand in too many places to look at all",
                hint="show more unchanged lines instead, and send fewer hunks at once",
            )

    def _blocks(self, section: str, around: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The blocks of a section that begin in others, which ascend; both may overlap."""
        heads = self.heads(section)
        self.spend(len(heads) + len(around))
        at = reach = 0
        for row in heads:
            while at < len(around) and around[at][0] <= row:
                reach = max(reach, around[at][1])
                at += 1
            if row < reach:
                yield row, min(reach, self._block_end(row))

    def below(self, sections: Sequence[str]) -> int | None:
        """The first row at which the place can be below these sections; None if one is missing."""
        row = 0
        for section in sections:
            heads = self.heads(section)
            at = bisect_left(heads, row)
            if at == len(heads):
                return None
            row = heads[at]
        return row

    def heads(self, section: str) -> list[int]:
        """The rows that a section line names: equal to it, else beginning with it."""
        wanted = section.strip()
        found = self.stripped.index.get(wanted)
        if found is not None or not wanted:
            return found or []
        if wanted not in self._begun:
            self._begun[wanted] = sorted(self._beginning(wanted))
        return self._begun[wanted]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.stripped.index)

    def _beginning(self, wanted: str) -> Iterable[int]:
        lines = self._sorted
        for at in range(bisect_left(lines, wanted), len(lines)):
            if not lines[at].startswith(wanted):
                break
            self.spend(1)
            # Git cuts long lines; models leave out parameters. A name must not go on, though.
            following = lines[at][len(wanted)]
            if len(wanted) >= _CUT or not (following.isalnum() or following == "_"):
                yield from self.stripped.index[lines[at]]

    def _block_end(self, head: int) -> int:
        """The row at which the block that a line opens is over."""
        depth, word = self._openings[head]
        opened = False
        for row in range(head + 1, len(self)):
            self.spend(1)
            indent, first = self._openings[row]
            if not first or (first[0] in ")]}{#" and not word.startswith("#")):
                continue
            if indent < depth or (indent == depth and (opened or first == word)):
                return row
            opened = opened or indent > depth
        return len(self)

    @cached_property
    def _openings(self) -> list[tuple[int, str]]:
        """The indentation of each row, and its first word."""
        return [_opening(line) for line in self.exact.keys]


def _opening(line: str) -> tuple[int, str]:
    body = line.lstrip()
    indent = line[: len(line) - len(body)]
    return len(indent.expandtabs(8)), body.split(maxsplit=1)[0] if body else ""


def _merged(blocks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ascending stretches, those that overlap or touch as one."""
    first = stop = 0
    for start, end in blocks:
        if start > stop and stop > first:
            yield first, stop
        if start > stop:
            first = start
        stop = max(stop, end)
    if stop > first:
        yield first, stop
