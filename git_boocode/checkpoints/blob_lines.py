"""The lines of blobs, each read once, and the lines that two of them surely share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from git_boocode.repo.store import Store

_WORD = re.compile(rb"\w|[^\x00-\x7f]")


class BlobLines:
    """Reads blobs as lines without their endings; missing objects and other kinds have no lines."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, list[bytes]] = {}

    def read(self, blobs: Iterable[str]) -> dict[str, list[bytes]]:
        """The lines of blobs; an id of zeros stands for an empty one."""
        wanted = [*dict.fromkeys(blobs)]
        missing = [blob for blob in wanted if blob not in self._known]
        present = [blob for blob in missing if blob.strip("0")]
        self._known |= {blob: [] for blob in missing}
        for blob, content in zip(present, self._store.blobs(present), strict=True):
            self._known[blob] = _content_lines(content or b"")
        return {blob: self._known[blob] for blob in wanted}

    def of(self, blob: str) -> list[bytes]:
        """The lines of a blob."""
        return self.read([blob])[blob]


def _content_lines(content: bytes) -> list[bytes]:
    """Lines without their endings; the last one is the same without one."""
    lines = content.split(b"\n")
    return lines[:-1] if lines[-1:] == [b""] else lines


def has_word(line: bytes) -> bool:
    """Whether a line has more than punctuation, so that it can be recognised elsewhere."""
    return bool(_WORD.search(line))


def shared_lines(
    new: Sequence[bytes], old: Sequence[bytes], wanted: Collection[int], anchors: Collection[bytes]
) -> dict[int, int]:
    """By their numbers, lines among the wanted new ones that surely are old ones, and which.

    That is any anchor with a word that occurs once in both, and the equal lines beside it.
    """
    counts, old_counts = Counter(new), Counter(old)
    places = {text: number for number, text in enumerate(old)}
    found: dict[int, int] = {}
    for number in sorted(wanted):
        text = new[number]
        if text in anchors and counts[text] == old_counts[text] == 1 and has_word(text):
            found[number] = places[text]
    for step, order in ((1, sorted(wanted)), (-1, sorted(wanted, reverse=True))):
        for number in order:
            at = found.get(number - step, -2) + step
            if number not in found and 0 <= at < len(old) and old[at] == new[number]:
                found[number] = at
    return found
