"""Check a built site: every link leads to a file and an anchor that exist, nothing is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class _Page(HTMLParser):
    """The anchors of a page, and its links, each with whether it is loaded with the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := named.get(key))}
        if (loaded := named.get(_LOADED.get(tag, ""))) is not None:
            self.links.append((loaded, True))
        elif tag == "a" and (target := named.get("href")) is not None:
            self.links.append((target, False))


def broken_links(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere, and each file that is loaded from elsewhere."""
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    pages = {path: _Page(text) for path, text in texts.items()}
    for path, page in sorted(pages.items()):
        for link, is_loaded in page.links:
            if problem := _problem(pages, path, link, is_loaded=is_loaded):
                yield f"{path.relative_to(site.resolve())}: {link} {problem}"
    for style in sorted(site.rglob("*.css")):
        if re.search(r"@import|url\([\"' ]*(https?:)?//", style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)} loads from elsewhere"


def _problem(pages: dict[Path, _Page], path: Path, link: str, *, is_loaded: bool) -> str:
    parts = urlsplit(link)
    if parts.scheme == "data":
        return ""
    if parts.scheme or parts.netloc:
        return "is loaded from elsewhere" if is_loaded else ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "leads to no file"
    known = target not in pages or unquote(parts.fragment) in pages[target].anchors
    return "" if known else "leads to no anchor"
