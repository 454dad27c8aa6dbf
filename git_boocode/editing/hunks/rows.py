"""A file's lines, and where lines are found in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property

from git_boocode.editing import rows

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


_CUT = 40
"""From so many characters on, a section may be a line that git cut off in a word."""


class Rows(rows.Rows):
    """A file's lines with all that placing hunks asks of them."""

    def is_structural(self, line: str) -> bool:
        """Whether a line is blank, closes brackets only, or is a comment."""
        if _STRUCTURAL.match(line) is None:
            return False
        return not (_DIRECTIVE.match(line) and self._is_preprocessed)

    @cached_property
    def _is_preprocessed(self) -> bool:
        return any(_SURE_DIRECTIVE.match(key) for key in self.exact.keys)

    def inside(self, sections: Sequence[str]) -> list[tuple[int, int]]:
        """The stretches of rows (first, stop) that lie in the innermost of some sections."""
        found = [(0, len(self))]
        for section in sections:
            heads = self.heads(section)
            found = [
                (row, min(stop, self._block_end(row)))
                for first, stop in found
                for row in heads
                if first <= row < stop
            ]
        return found

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
        return sorted(self._beginning(wanted))

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.stripped.index)

    def _beginning(self, wanted: str) -> Iterable[int]:
        lines = self._sorted
        for at in range(bisect_left(lines, wanted), len(lines)):
            if not lines[at].startswith(wanted):
                break
            # Git cuts long lines; models leave out parameters. A name must not go on, though.
            following = lines[at][len(wanted)]
            if len(wanted) >= _CUT or not (following.isalnum() or following == "_"):
                yield from self.stripped.index[lines[at]]

    def _block_end(self, head: int) -> int:
        """The row at which the block that a line opens is over."""
        depth, first = self._indent(head), self.stripped.keys[head].split(maxsplit=1)[0]
        opened = False
        for row in range(head + 1, len(self)):
            key = self.stripped.keys[row]
            if not key or (key[0] in ")]}{#" and not first.startswith("#")):
                continue
            indent = self._indent(row)
            if indent < depth or (indent == depth and (opened or key.split()[0] == first)):
                return row
            opened = opened or indent > depth
        return len(self)

    def _indent(self, row: int) -> int:
        key = self.exact.keys[row].expandtabs(8)
        return len(key) - len(key.lstrip())
