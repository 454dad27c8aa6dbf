"""The sources of the site: the manual, the guide, whole sessions, and figures, as one tree.

Each text is in the repository once. Relative links lead to documents of the site where these have
one, and are plain text where they do not. A line such as `@session fork-and-compare: $ git boocode
fork @` stands for that command of a session and all below it in its block, with what they print;
`@session fork-and-compare 2: …` for two commands. `@file tests/example_host.py` stands for a file,
and `@readme Compared with` for a section of the README.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from man.generate import PAGES, TOP, source_of
from man.site.agents import agents
from man.site.manual import commands, document, place_of

SITE = TOP / "man/site"
SESSIONS = TOP / "tests/sessions"
_OTHERS = {
    ".github/SECURITY.md": "security",
    "CHANGELOG.md": "changelog",
    "hooks/action/README.md": "guide/github-action",
    "hooks/editors/vscode/README.md": "guide/vscode",
    "hooks/plugin/README.md": "guide/plugin",
    "tests/benchmarks/README.md": "figures",
}
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_PAGE = re.compile(r"(?<![\[`\w-])(git-boocode[a-z-]*)\(([17])\)(?!\])")
_README = re.compile(r"^@readme (.+)$", re.MULTILINE)
_FILE = re.compile(r"^@file (\S+\.py)$", re.MULTILINE)
_SESSION = re.compile(r"^@session ([\w-]+)(?: (\d+))?: (\$ .+)$", re.MULTILINE)


def places() -> dict[Path, str]:
    """The documents of the site, by the file that each is made from."""
    own = {path: str(path.relative_to(SITE).with_suffix("")) for path in SITE.rglob("*.md")}
    manual = {source_of(name): place_of(name) for name in PAGES}
    sessions = {path: f"sessions/{path.stem}" for path in sorted(SESSIONS.glob("*.md"))}
    others = {TOP / file: place for file, place in _OTHERS.items()}
    return {**own, **manual, **sessions, **others}


def write(directory: Path) -> None:
    """Write all documents, and the pictures that they show, below a directory."""
    found = places()
    pages = {source_of(name): name for name in PAGES}
    for path, place in found.items():
        text = document(pages[path]) if path in pages else _own(path, found, directory)
        made = directory / f"{place}.md"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text, encoding="utf-8")


def _own(path: Path, found: dict[Path, str], directory: Path) -> str:
    """A file that is Markdown already."""
    pictures = directory / "pictures"
    text = _linked(path.read_text(encoding="utf-8"), path.parent, found, pictures)
    text = _README.sub(lambda mark: _linked(_section(mark[1]), TOP, found, pictures), text)
    text = _FILE.sub(_whole, _SESSION.sub(_quoted, text))
    made = {"@agents@": agents, "@commands@": commands, "@topics@": lambda: _unlisted(text)}
    return re.sub(r"^@(?:agents|commands|topics)@$", lambda mark: made[mark[0]](), text, flags=re.M)


def _section(heading: str) -> str:
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    [text] = re.findall(rf"^(## {re.escape(heading)}\n.*?)(?=^## |\Z)", readme, re.M | re.S)
    return str(text).rstrip("\n")


def _unlisted(index: str) -> str:
    """The documents about topics of the manual that the table of contents does not list."""
    topics = [place_of(name) for name in PAGES if name.endswith(".7")]
    listed = re.compile(r"^(?:.*<)?(reference/[\w-]+)>?$", re.MULTILINE).findall(index)
    return "\n".join(place for place in topics if place not in listed)


def _quoted(marker: re.Match[str]) -> str:
    name, count, first = marker.groups()
    session = (SESSIONS / f"{name}.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```$", session, re.MULTILINE | re.DOTALL):
        commands = re.split(r"^(?=\$ )", block, flags=re.MULTILINE)
        for at, command in enumerate(commands):
            if command.startswith(f"{first}\n"):
                last = at + int(count) if count else None
                return f"```console\n{''.join(commands[at:last])}```"
    raise AssertionError(f"not in the session: {marker[0]}")


def _whole(marker: re.Match[str]) -> str:
    return f"```python\n{(TOP / marker[1]).read_text(encoding='utf-8')}```"


def _linked(text: str, base: Path, found: dict[Path, str], pictures: Path) -> str:
    """A text with the links that the site needs; they count from `base`. Code stays as it is."""

    def link(match: re.Match[str]) -> str:
        mark, shown, target = match.groups()
        file, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not file:
            return match[0]
        source = Path(os.path.normpath(base / file))
        assert source.exists(), f"{base}: {target}"
        if mark:
            pictures.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, pictures)
            return f"![{shown}](/{pictures.name}/{source.name})"
        if source not in found:
            return shown
        return f"[{shown}](/{found[source]}.md{'#' * bool(anchor)}{anchor})"

    parts = _FENCE.split(text)
    for at, part in enumerate(parts):
        if not re.match("```(?!{)", part):  # a directive such as ```{warning} has text
            parts[at] = _PAGE.sub(_link_to, _LINK.sub(link, part))
    return "".join(parts)


def _link_to(found: re.Match[str]) -> str:
    place = place_of(f"{found[1]}.{found[2]}")
    return f"[{found[0]}](/{place}.md)"
