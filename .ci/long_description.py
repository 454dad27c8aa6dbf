"""The README as a package index can show it: a hook of hatchling, which builds the package.

An index resolves no relative link and shows no picture of the source. So the text of a link stays
without the link, and the lines that a drawn picture shows stand there instead of it.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^]]*\]\((?!https?:)([^)]+)\)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^]]*)\]\((?!https?:)[^)]+\)")
_LINE = re.compile(r'<text x="\d+" y="(\d+)"[^>]*>(.*)</text>')
_HEIGHT = 20


class LongDescription(MetadataHookInterface):
    """Sets the `readme` of the project."""

    def update(self, metadata: dict) -> None:
        """See `MetadataHookInterface.update`."""
        top = Path(self.root)
        text = (top / "README.md").read_text(encoding="utf-8")
        text = _PICTURE.sub(lambda found: _shown(top / found[1]), text)
        metadata["readme"] = {"content-type": "text/markdown", "text": _LINK.sub(r"\1", text)}


def _shown(picture: Path) -> str:
    if picture.suffix != ".svg":
        return ""
    lines, last = [], 0
    for height, line in _LINE.findall(picture.read_text(encoding="utf-8")):
        lines += [""] * bool(last and int(height) > last + _HEIGHT) + [html.unescape(line)]
        last = int(height)
    return "\n".join(["```console", *lines, "```"])
