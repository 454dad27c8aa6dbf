"""A file's bytes as text and back, losing none of them."""

from __future__ import annotations

from typing import NamedTuple

from git_boocode.matching.text import common_prefix

RAW = "raw"

# The byte order mark of each encoding, and Python's name for what follows it.
_CODECS = {
    "utf-8": (b"", "utf-8"),
    "utf-8-bom": (b"\xef\xbb\xbf", "utf-8"),
    "utf-16-le": (b"\xff\xfe", "utf-16-le"),
    "utf-16-be": (b"\xfe\xff", "utf-16-be"),
}


class Text(NamedTuple):
    """Decoded text, without its byte order mark.

    Attributes:
        text: the characters; line endings are the file's own.
        codec: the encoding it came in; `raw` for bytes that are no text, which appear as
            surrogates (PEP 383).
    """

    text: str
    codec: str = "utf-8"

    @property
    def is_raw(self) -> bool:
        """Whether the bytes are no text, so that only exact edits are safe."""
        return self.codec == RAW

    def encode(self) -> bytes:
        """The bytes of the file.

        Raises:
            UnicodeEncodeError: the text holds what its encoding cannot.
        """
        if self.is_raw:
            return self.text.encode("utf-8", "surrogateescape")
        mark, codec = _CODECS[self.codec]
        return mark + self.text.encode(codec)


def decode(data: bytes) -> Text:
    """Read bytes as UTF-8 or, where a byte order mark says so, as UTF-16; else as raw bytes."""
    codec = next(
        (name for name, (mark, _) in _CODECS.items() if mark and data.startswith(mark)), "utf-8"
    )
    mark, encoding = _CODECS[codec]
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return _raw(data)
    return _raw(data) if "\0" in text else Text(text, codec)


def _raw(data: bytes) -> Text:
    return Text(data.decode("utf-8", "surrogateescape"), RAW)


def line_count(text: str) -> int:
    """How many lines a text has; one without a final newline counts."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def split_lines(text: str) -> list[str]:
    """The lines of a text with their endings; only a newline ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def changed_lines(old: str, new: str) -> list[str]:
    """The lines of a new text from the first that differs from the old one to the last."""
    above = common_prefix(old, new)
    rest = new[above:][::-1]
    below = common_prefix(old[above:][::-1], rest)
    start = new.rfind("\n", 0, above) + 1
    end = new.find("\n", len(new) - below)
    return new[start : len(new) if end < 0 else end].split("\n")


def uniform_crlf(text: str) -> bool:
    """Whether a text has line endings and all of them are CRLF."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")
