"""Decode a file's bytes to text, and encode them back without loss."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from git_boocode.matching.text import common_prefix

RAW = "raw"

# The byte order mark of each encoding, and Python's name of the encoding.
_CODECS = {
    "utf-8-bom": (b"\xef\xbb\xbf", "utf-8"),
    "utf-16-le": (b"\xff\xfe", "utf-16-le"),
    "utf-16-be": (b"\xfe\xff", "utf-16-be"),
    "utf-8": (b"", "utf-8"),
}


class FileText(NamedTuple):
    """Decoded text without its byte order mark, with the file's own line endings.

    `codec` is its encoding; `raw` for bytes that are not text, decoded to surrogates (PEP 383).
    """

    text: str
    codec: str = "utf-8"

    @property
    def is_raw(self) -> bool:
        """Whether the bytes are not text, so that only exact edits are safe."""
        return self.codec == RAW

    @property
    def marked(self) -> str:
        """The text with its byte order mark, if it has one in UTF-8."""
        return f"\ufeff{self.text}" if self.codec == "utf-8-bom" else self.text

    @property
    def has_bytes(self) -> bool:
        """Whether some bytes are not UTF-8, and so no characters."""
        return self.is_raw and not self._replace(codec="utf-8").is_encodable

    @property
    def is_encodable(self) -> bool:
        """Whether the encoding has all characters of the text, which may come from another file."""
        try:
            self.encode()
        except UnicodeEncodeError:
            return False
        return True

    def encode(self) -> bytes:
        """The bytes of the file; raises `UnicodeEncodeError` for unsupported characters."""
        if self.is_raw:
            return self.text.encode("utf-8", "surrogateescape")
        mark, codec = _CODECS[self.codec]
        return mark + self.text.encode(codec)


def decode(data: bytes) -> FileText:
    """Decode bytes as UTF-8 or, with a byte order mark, as UTF-16; else as raw bytes."""
    codec = next(name for name, (mark, _) in _CODECS.items() if data.startswith(mark))
    mark, encoding = _CODECS[codec]
    with suppress(UnicodeDecodeError):
        text = data[len(mark) :].decode(encoding)
        if "\0" not in text:
            return FileText(text, codec)
    return FileText(data.decode("utf-8", "surrogateescape"), RAW)


def line_count(text: str) -> int:
    """The number of lines, including an unterminated last line."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def shared_ends(old: str, new: str) -> tuple[int, int]:
    """The lengths of the common prefix and suffix of two texts, in whole lines.

    This is much faster than splitting the texts; a few equal lines may remain between.
    """
    above = old.rfind("\n", 0, common_prefix(old, new)) + 1
    alike = common_prefix(old[above:][::-1], new[above:][::-1])
    return above, len(old[len(old) - alike :].partition("\n")[2])


def uniform_crlf(text: str) -> bool:
    """Whether a text has line endings, and all are CRLF."""
    # Most texts have no "\r", and one character is found much faster than two.
    return "\r" in text and "\r\n" in text and text.count("\r\n") == text.count("\n")
