"""The pages of the manual as the site's Markdown (MyST), from the same sections as their roff."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from git_boocode.cli.framework import COMMANDS, GROUPS
from man.generate import PAGES, blocks, sections
from man.site.schemas import answers, definitions

# Words of headings that a capitalized sentence keeps.
_NAMES = ("API", "Emacs", "HEAD", "Helix", "JetBrains", "JSON", "MCP", "Neovim", "VS Code", "Zed")
_NAMES = (*_NAMES, "git-boocode", "GitHub", "Vim")
_PAGE = r"(?P<page>git[a-z-]*)\((?P<section>[1-8])\)"
_SPECIAL = re.compile(r"[\\`*_\[\]<>&|~#]")
_IS_PAGE = re.compile(_PAGE)


def place_of(name: str) -> str:
    """The document of a page such as `git-boocode-restore.1`."""
    return f"{'commands' if PAGES[name] in COMMANDS else 'reference'}/{PAGES[name]}"


def document(name: str) -> str:
    """A page as Markdown."""
    parts = sections(name)
    title, summary = parts.pop("NAME").strip().split(" - ", 1)
    summary = summary[0].upper() + summary[1:]
    is_command = PAGES[name] in COMMANDS
    if is_command:
        title = title.replace("-", " ", 1).replace(" boocode-", " boocode ")
    usage = parts.pop("SYNOPSIS").strip().replace("`", "")
    head = f"# {title}\n\n{summary}.\n" if is_command else f"# {summary}\n"
    made = [head, f"```text\n{usage}\n```\n"]
    for heading, text in parts.items():
        if heading == "DESCRIPTION":  # it has no heading here, so those in it are a level higher
            made += (re.sub("^### ", "## ", block) for block in _markdown(text, name))
        else:
            made += [f"## {sentence_case(heading)}\n", *_markdown(text, name)]
    return "\n".join(made)


def commands() -> str:
    """All commands, a table for each group."""
    made = ""
    for title, group in GROUPS.items():
        rows = (f"| [`{name}`](/commands/{name}.md) | {text} |\n" for name, text in group.items())
        made += f"**{title}**\n\n| Command | What it does |\n|---|---|\n{''.join(rows)}\n"
    return made


def sentence_case(heading: str) -> str:
    """A heading in capitals, as a sentence begins."""
    made = heading.capitalize()
    for name in _NAMES:
        made = re.sub(rf"\b{name}\b", name, made, flags=re.IGNORECASE)
    return made


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _markdown(text: str, page: str) -> Iterator[str]:
    """The text of a section, a block at a time, each with an empty line below it."""
    made = {"@answers@": answers, "@definitions@": definitions, "@commands@": commands}
    for piece in re.split(r"^(@(?:answers|definitions|commands)@)$", text, flags=re.MULTILINE):
        if piece in made:
            yield made[piece]()
        else:
            yield from (_block(kind, lines, page) for kind, lines in blocks(piece))


def _block(kind: str, lines: list[str], page: str) -> str:
    if kind == "example":
        return _fenced(lines)
    made = [_line(line, page) for line in lines]
    match kind:
        case "heading":
            return f"### {made[0]}\n"
        case "list":
            return "".join(f"- {line}\n" for line in made)
        case "continuation":
            return "".join(f"  {line}\n" for line in made)
        case "definition":
            return f"{made[0]}\n: " + "\n  ".join(made[1:]) + "\n"
    return "\n".join(made) + "\n"


def _fenced(lines: list[str]) -> str:
    code = "\n".join(lines)
    language = "text"
    if "\n$ " in f"\n{code}":
        language = "console"
    elif code.startswith("#!"):
        language = "python" if "python" in lines[0] else "sh"
    elif code.startswith(("{", "[")):
        try:
            json.loads(code)
            language = "json"
        except ValueError:
            pass
    return f"```{language}\n{code}\n```\n"


def _line(text: str, page: str) -> str:
    """A line of text with its links: to pages, and to sections, which are named in capitals."""
    made, at = "", 0
    for found in _inline(page).finditer(text):
        made += _escaped(text[at : found.start()]) + _element(found, page)
        at = found.end()
    return made + _escaped(text[at:])


@cache
def _headings() -> dict[str, list[str]]:
    return {name: list(sections(name)) for name in PAGES}


@cache
def _inline(page: str) -> re.Pattern[str]:
    """What is more than text in the lines of a page.

    A section is named in capitals, one of another page before that page. One of the same page has
    more than one word, or "see" before it, or "above" or "below" after it.
    """
    headings = _headings()
    own = "|".join(map(re.escape, headings[page]))
    long = "|".join(re.escape(name) for name in headings[page] if " " in name) or "(?!)"
    every = sorted(set(chain(*headings.values())), key=len, reverse=True)
    others = "|".join(map(re.escape, every))
    return re.compile(
        r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|(?P<place><[a-z][a-z0-9 -]*(?:\.{3})?>)"
        rf"|\b(?P<there>{others}) (?P<of>in|of) (?P<that>git-boocode[a-z-]*)\((?P<its>[1-8])\)"
        rf"|\b(?P<here>(?:{long})\b|(?<=[Ss]ee )(?:{own})\b|(?:{own})(?= (?:above|below)))"
        rf"|\b{_PAGE}|(?P<url>https?://[^\s,)]*[^\s,).:])"
    )


def _element(found: re.Match[str], page: str) -> str:
    part = found.groupdict()
    if part["code"]:
        return f"`{part['code']}`"
    if part["bold"]:
        return f"**{_IS_PAGE.sub(_link_to, _escaped(part['bold']))}**"
    if part["place"]:
        return f"*{_escaped(part['place'])}*"
    if part["url"]:
        return f"<{part['url']}>"
    if heading := part["here"]:
        return f"[{sentence_case(heading)}](#{slug(heading)})"
    if heading := part["there"]:
        other = f"{part['that']}.{part['its']}"
        target = f"/{place_of(other)}.md#{slug(heading)}" if other != page else f"#{slug(heading)}"
        return f"[{sentence_case(heading)}]({target}) {part['of']} {part['that']}({part['its']})"
    return _link_to(found)


def _link_to(found: re.Match[str]) -> str:
    name, section = found["page"], found["section"]
    if f"{name}.{section}" in PAGES:
        return f"[{name}({section})](/{place_of(f'{name}.{section}')}.md)"
    return f"[{name}({section})](https://git-scm.com/docs/{name})"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
