"""Links in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"(?<!\\)\]\(<?([^()\s>]+)>?(?: \"[^\"]*\")?\)|<(?:a|img) [^>]*(?:href|src)=\"([^\"]+)\""
)
_LABEL = re.compile(r"^\(([\w-]+)\)=$|<a (?:id|name)=\"([\w-]+)\"", re.MULTILINE)


def broken(documents: Iterable[Path], top: Path) -> Iterator[str]:
    """A line for each relative link that leads to no file, or to no heading of a document.

    A target that begins with a slash counts from `top`.
    """
    for document in documents:
        text = _CODE.sub("", document.read_text(encoding="utf-8"))
        for target in ("".join(groups) for groups in _LINK.findall(text)):
            if re.match(r"[a-z]+:", target):
                continue
            place, _, anchor = target.partition("#")
            above = top if place.startswith("/") else document.parent
            file = above / place.lstrip("/") if place else document
            is_there = file.exists() and (not anchor or anchor in _anchors(file))
            if not is_there:
                yield f"{document.relative_to(top)}: {target}"


@cache
def _anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them, and of its labels."""
    text = document.read_text(encoding="utf-8")
    found: set[str] = {"".join(groups) for groups in _LABEL.findall(text)}
    without_code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", without_code, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w -]", "", plain).replace(" ", "-")
        same = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", each) is not None for each in found)
        found.add(f"{slug}-{same}" if same else slug)
    return found
