"""The tags of four to six digits in hashline, and the versions of a file that they fit.

A tag is the beginning of a blob id, or the tag that oh-my-pi computes of a file: the lower half of
XXH32 (https://github.com/Cyan4973/xxHash, xxhash_spec.md) of its text without the whitespace at the
ends of lines. With both meanings, an invented tag of four digits fits one of 25 versions in about
0.08 % of cases; one that fits several is refused.
"""

from __future__ import annotations

from struct import iter_unpack
from typing import TYPE_CHECKING

from git_boocode.editing.edits import MissError
from git_boocode.editing.formats.objects import read_it
from git_boocode.editing.textfile import decode
from git_boocode.repo.layout import READS
from git_boocode.repo.object_writer import blob_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from git_boocode.repo.repository import Repository

_TAG_DIGITS = 4
_PRIMES = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_WORD = 0xFFFFFFFF


def full_id(tag: str, path: str, data: bytes, older: Iterable[tuple[str, str]]) -> str:
    """The blob id of the only version of a file that a tag fits; MissError (`stale`) if none is.

    `data` is the file, `older` are the ids and texts of other versions. Versions that differ only
    in whitespace at the ends of lines count as one, which is the present one if it fits.
    """
    now = sorted(blob_ids(data), key=lambda identifier: not identifier.startswith(tag))
    fitting: dict[str, str] = {}
    for identifier, content in ((now[0], decode(data).text), *older):
        stripped = _stripped(content)
        is_prefix = identifier.startswith(tag)
        if is_prefix or (len(tag) == _TAG_DIGITS and hashline_tag(stripped) == tag):
            fitting.setdefault(stripped, identifier)
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    message = f"the version {tag} is too short: it fits {len(fitting)} versions of the file"
    if not fitting:
        message = f"git holds no version {tag} of the file"
    raise MissError("stale", message, hint=read_it(path))


def kept_versions(tag: str, repository: Repository) -> list[tuple[str, str]]:
    """The ids and texts of the versions that have been read, and whose id begins with a tag."""
    names = (ref.name.rpartition("/")[2] for ref in repository.store.refs(READS))
    blobs = [*dict.fromkeys(name for name in names if name.startswith(tag))]
    found = zip(blobs, repository.store.blobs(blobs), strict=True)
    return [(blob, decode(data).text) for blob, data in found if data is not None]


def hashline_tag(stripped: str) -> str:
    """The tag of a text without whitespace at the ends of its lines, in lower case."""
    return f"{_xxh32(stripped.encode('utf-8', 'surrogatepass')) & 0xFFFF:04x}"


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip(" \t\r") for line in text.removeprefix("\ufeff").split("\n"))


def _xxh32(data: bytes) -> int:
    """XXH32 with the seed 0."""
    stop = len(data) - len(data) % 16
    one, two, three, four, five = _PRIMES
    value = five
    if stop:
        a, b, c, d = one + two, two, 0, -one
        for p, q, r, s in iter_unpack("<4I", data[:stop]):
            a, b = _turned(a + p * two, 13) * one, _turned(b + q * two, 13) * one
            c, d = _turned(c + r * two, 13) * one, _turned(d + s * two, 13) * one
        value = _turned(a, 1) + _turned(b, 7) + _turned(c, 12) + _turned(d, 18)
    value += len(data)
    words = stop + (len(data) - stop) // 4 * 4
    for (word,) in iter_unpack("<I", data[stop:words]):
        value = _turned(value + word * three, 17) * four
    for byte in data[words:]:
        value = _turned(value + byte * five, 11) * one
    value &= _WORD
    value = (value ^ value >> 15) * two & _WORD
    value = (value ^ value >> 13) * three & _WORD
    return value ^ value >> 16


def _turned(value: int, by: int) -> int:
    """A word, rotated to the left."""
    value &= _WORD
    return (value << by | value >> (32 - by)) & _WORD
