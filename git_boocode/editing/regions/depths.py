"""How deep the content of a region shall stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_boocode.editing.edits import MissError
from git_boocode.editing.indentation import carrier
from git_boocode.matching.indent import Pair, Reindenter, Style, indent_of, indents, reindented
from git_boocode.matching.indentation import only_first_dropped

_WORD = re.compile(r"\w")


class Indenter:
    """Gives content the file's indentation, where anchors have shown that the model's differs.

    The content may be indented as the anchors are, or as the file is: many models strip an anchor
    although they indent the content well. Lines of the anchors that the content repeats tell which;
    else its first line does. Where nothing tells, nobody knows, and the change is refused.
    """

    def __init__(
        self, anchors: list[tuple[str, str]], content: tuple[str, ...], near: list[str]
    ) -> None:
        self.anchors = anchors
        self.given = content
        self.near = near
        self.pairs: list[Pair] = [(indent_of(mine), indent_of(real)) for mine, real in anchors]
        mine = indents([*(mine for mine, _ in anchors), *content])
        style = Style(mine, indents(near))
        self.reindenter = Reindenter(self.pairs, style)
        self.carrier = carrier(self.pairs, style)

    def content(self) -> Sequence[str]:
        """The content as it shall stand in the file.

        Raises:
            MissError: nothing tells how it is to be indented (`ambiguous`).
        """
        if all(mine == real for mine, real in self.pairs):
            return self.given
        like_file = self._is_like_file()
        if like_file is None:
            raise MissError(
                "ambiguous",
                "the anchors are indented otherwise than the file, and nothing tells how deep the "
                "content shall be",
                hint="send anchors and content with the indentation that the file has",
            )
        return self.given if like_file else [*self._reindented()]

    def _is_like_file(self) -> bool | None:
        """Whether content is indented as the file is, or as the anchors; None if nothing tells."""
        mine, real = self.pairs[0]
        trimmed = _is_margin(self.given[0]) and mine == "" != real
        if self._are_trimmed():
            self._indent_first(real if trimmed else "")
            return True
        votes = self._votes(1 if trimmed else 0)
        if trimmed:
            return self._is_like_file_but_for_first(real, votes)
        if votes:
            return self._one_of(votes)
        first = next(indent_of(line) for line in self.given if line.strip())
        if first == real and (first != mine or not self._explained()):
            return True
        stripped = mine == "" != real and first != mine
        return None if stripped or not self._explained() else False

    def _are_trimmed(self) -> bool:
        """Whether the anchors differ from the file only where they lost all indentation."""
        kept = any(mine == real != "" for mine, real in self.pairs)
        return kept and all(mine in ("", real) for mine, real in self.pairs)

    def _one_of(self, votes: set[bool]) -> bool | None:
        """What the votes agree on, if the anchors bear it out."""
        return (
            None
            if len(votes) != 1 or (votes == {False} and not self._explained())
            else True in votes
        )

    def _indent_first(self, indent: str) -> None:
        self.given = (indent + self.given[0], *self.given[1:])

    def _is_like_file_but_for_first(self, real: str, votes: set[bool]) -> bool | None:
        """The same where neither the anchors nor the first line of content are indented."""
        if not votes:
            dropped = only_first_dropped(self.given, real, self.near)
            votes = set() if dropped is None else {dropped}
        if votes == {True}:
            self._indent_first(real)
        return self._one_of(votes)

    def _explained(self) -> bool:
        """Whether one shift and scale explains all anchors."""
        return all(map(self.reindenter.scale.fits, self.reindenter.pairs))

    def _votes(self, first: int) -> set[bool]:
        """Of each line that anchors and content share: whether it is indented as in the file.

        Content that begins or ends as its anchors do tells it there: further in, a line of theirs
        may be meant to stand deeper than before.

        Args:
            first: the row of the content to begin with.
        """
        return self._told(self._in_place(), first) or self._told(self._anywhere(), first)

    def _told(self, shared: Iterator[tuple[int, Pair]], first: int) -> set[bool]:
        told = set()
        for row, (mine, real) in shared:
            indent = indent_of(self.given[row])
            if mine != real and row >= first and indent in (mine, real):
                told.add(indent == real)
        return told

    def _in_place(self) -> Iterator[tuple[int, Pair]]:
        """The rows with which the content begins and ends as its anchors do."""
        filled = [row for row, line in enumerate(self.given) if line.strip()]
        bodies = [anchor.strip() for anchor, _ in self.anchors]
        for step in (1, -1):
            ends = zip(filled[::step], bodies[::step], self.pairs[::step], strict=False)
            for row, body, pair in ends:
                if self.given[row].strip() != body:
                    break
                if _WORD.search(body):
                    yield row, pair

    def _anywhere(self) -> Iterator[tuple[int, Pair]]:
        """The rows of the content, each unlike all others, that repeat a line of the anchors."""
        bodies = [line.strip() for line in self.given]
        for (anchor, _), pair in zip(self.anchors, self.pairs, strict=True):
            body = anchor.strip()
            if bodies.count(body) == 1 and _WORD.search(body):
                yield bodies.index(body), pair

    def _reindented(self) -> Iterator[str]:

        for row, line in enumerate(self.given):
            if line.strip():
                yield reindented(line, self.carrier(indent_of(line), row == 0))
            else:
                yield line


def _is_margin(line: str) -> bool:
    return line.strip() != "" and not indent_of(line)
