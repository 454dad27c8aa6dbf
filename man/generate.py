"""The manual pages: `python -m man.generate` writes `man/man1` and `man/man7` from `man/*.md`.

NAME, SYNOPSIS and OPTIONS of a command's page come from the objects that `-h` comes from; below
`# OPTIONS` a source has longer texts. It is Markdown, a sentence a line: `# SECTION`, `## part`,
paragraphs, `- item`, examples indented by four spaces, and definitions: a line of terms, `: text`,
more paragraphs indented by two. In a line: `code`, **bold**, <placeholder>, page(1) for a link.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from git_boocode import __version__
from git_boocode.cli.framework import COMMANDS, GROUPS, TOPICS, commands_of
from git_boocode.cli.tool_definitions import ANSWERS, definition
from git_boocode.server.tools import CWD, TOOLS, ServedTool

TOP = Path(__file__).parents[1]
PAGES = {
    "git-boocode.1": "git-boocode",
    **{f"git-boocode-{name}.1": name for name in COMMANDS},
    **{f"git-boocode-{name}.{section}": name for name, section in TOPICS.items()},
}
_OF_ALL = {
    "-q": "Print only errors and what was asked for; see git-boocode(1).",
    "-v": "Print more.",
    "--no-color": "Print without colour, whatever the configuration says.",
    "--json": "Print one JSON object on standard output; see git-boocode-json(7).",
    "--help": "Open this page with `man`; `-h` prints a summary and exits with 129.",
}
_PLACE = re.compile(r"(<[a-z][a-z0-9 -]*(?:\.{3})?>)")
_INLINE = re.compile(
    r"(?:`([^`]+)`|\*\*([^*]+)\*\*|" + _PLACE.pattern + r"|\b(git[a-z-]*|man)(?=\([1-8]\)))"
)
_ROFF = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
_ROFF |= {"−": r"\(mi"}
_WRAP = textwrap.TextWrapper(70, subsequent_indent=" " * 8, break_on_hyphens=False)


def source_of(name: str) -> Path:
    """The source of a page such as `git-boocode-restore.1`."""
    return TOP / "man" / f"{PAGES[name]}.md"


def path_of(name: str) -> Path:
    """Where a page lies, as it is installed."""
    return TOP / f"man/man{name[-1]}" / name


def page(name: str) -> str:
    """The roff of a page."""
    title, section = name.rsplit(".", 1)
    head = _escape(f'"{title.upper()}" {section} "" "git-boocode {__version__}" "Git Manual"')
    lines = [r".\" Made by 'python -m man.generate' from the sources beside it.", f".TH {head}"]
    for heading, text in sections(name).items():
        in_lines = [".nf", *map(_line, text.strip().split("\n")), ".fi"]
        lines += [f'.SH "{heading}"', *(in_lines if heading == "SYNOPSIS" else roff(text))]
    return "\n".join([*lines, ""])


def sections(name: str) -> dict[str, str]:
    """The text of a page by heading, as its source has it, with what a command's help says."""
    source = source_of(name).read_text(encoding="utf-8")
    _, *found = re.split(r"^# (.+)\n", source, flags=re.MULTILINE)
    parts = dict(zip(found[::2], found[1::2], strict=True))
    return _of_command(PAGES[name], parts) if PAGES[name] in COMMANDS else parts


def _of_command(name: str, parts: dict[str, str]) -> dict[str, str]:
    summary = COMMANDS[name].summary.rstrip(".")
    commands = dict(commands_of(name))
    first, *rest = re.split(r"^## (.+)\n", parts.pop("OPTIONS", ""), flags=re.MULTILINE)
    texts = {name: first, **dict(zip(rest[::2], rest[1::2], strict=True))}
    assert texts.keys() <= {name, *commands}, texts.keys()
    options = usage = ""
    for each, command in commands.items():
        pieces = command.collect_usage_pieces(click.Context(command))
        usage += f"`git boocode {each}` {' '.join(pieces)}\n"
        options += "" if each == name else f"## {each}\n\n"
        options += _options(command, texts.get(each, ""))
    made = {"NAME": f"git-boocode-{name} - {summary[0].lower()}{summary[1:]}", "SYNOPSIS": usage}
    return {**made, "DESCRIPTION": parts.pop("DESCRIPTION"), "OPTIONS": options, **parts}


def _options(command: click.Command, longer: str) -> str:
    """The options as definitions, with the longer text where there is one."""
    texts = dict(re.findall(r"^`(--?[A-Za-z-]+)`\n: ((?:.+\n|\n(?=  ))+)", longer, re.MULTILINE))
    assert len(texts) == longer.count("\n: "), f"{command.name}: {list(texts)}"
    made = ""
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            terms = (f"`{each} {option.metavar or ''}".rstrip() + "`" for each in option.opts)
            text = _OF_ALL.get(option.opts[0], option.help)
            text = next((texts.pop(each) for each in option.opts if each in texts), text) or ""
            made += f"{', '.join(terms)}\n: {text.strip()}\n\n"
    assert not texts, f"{command.name} has no {list(texts)}"
    return made


def _words(name: str) -> str:
    rows = ANSWERS["$defs"][name]["oneOf"]
    return "\n".join(f"`{row['const']}`\n: {row['description']}\n" for row in rows)


def _answers() -> str:
    """What every command answers, and what it answers if it fails."""
    rows = ANSWERS["answers"].items()
    pairs = ((k, _schema(v["success"]), _schema(v["failure"])) for k, v in rows)
    return "".join(f"## {name}\n\n{done}If it fails:\n\n{failed}" for name, done, failed in pairs)


def _schema(schema: dict[str, Any]) -> str:
    """A schema without descriptions, a property a line, and then these."""
    bare = json.loads(re.sub(r', "description": "(?:[^"\\]|\\.)*"', "", json.dumps(schema)))
    properties = [f'  "{k}": {json.dumps(v)},' for k, v in bare.pop("properties", {}).items()]
    lines = [f' "{key}": {json.dumps(value)},' for key, value in bare.items()]
    if properties:
        lines += [' "properties": {', *properties[:-1], properties[-1].rstrip(",") + "},"]
    example = textwrap.indent("\n".join(map(_WRAP.fill, lines)).rstrip(",") + "}", "    ")
    said = "".join(f"`{key}`\n: {text}\n\n" for key, text in _described(schema))
    return f"{schema.get('description', '')}\n\n    {{{example[5:]}\n\n{said}"


def _described(schema: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in schema.get("properties", {}).items():
        if "description" in value:
            yield above + key, value["description"]
        yield from _described(value.get("items", value), f"{above}{key}.")


def _arguments(tool: ServedTool) -> str:
    """The arguments of a tool of the server, but for the directory, which all have."""
    schema = definition(tool.name)["inputSchema"]
    is_first = tool.name == "apply_edit" or not tool.takes_edits
    made = "" if is_first else "The fields of an edit are those of `apply_edit`.\n\n"
    for name, value in schema["properties"].items():
        if name == CWD or not (is_first or name in tool.arguments):
            continue
        about = (
            f", required: {_type(value)}"
            if name in schema.get("required", ())
            else f": {_type(value)}"
        )
        made += f"`{name}`{about}\n: {value['description']}\n\n"
    return f"## {tool.name}\n\n{made}"


def _type(schema: dict[str, Any]) -> str:
    """The type of a value, in words."""
    if "enum" in schema:
        return f"one of {', '.join(f'`{each}`' for each in schema['enum'])}"
    if schema["type"] == "array":
        return f"array of {_type(schema['items'])}s"
    if (inner := schema.get("additionalProperties")) and isinstance(inner, dict):
        return f"object of {_type(inner)}s"
    least = f", at least {schema['minimum']}" if "minimum" in schema else ""
    return f"{schema['type']}{least}"


_MADE: dict[str, Callable[[], str]] = {
    "@commands@": lambda: "\n\n".join(
        f"## {title}\n\n" + "\n".join(f"    {name:<10}  {text}" for name, text in group.items())
        for title, group in GROUPS.items()
    ),
    "@answers@": _answers,
    "@definitions@": lambda: "".join(
        f"## {k}\n\n{_schema(v)}" for k, v in ANSWERS["$defs"].items() if "oneOf" not in v
    ),
    "@arguments@": lambda: "".join(map(_arguments, TOOLS.values())),
    "@codes@": lambda: _words("code"),
    "@findings@": lambda: _words("finding_kind"),
}


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """The parts of a section's text: the kind of each, and its lines without their marks."""
    chunks = filter(str.strip, re.split(r"\n\n+", text.strip("\n")))
    for is_example, group in groupby(chunks, key=lambda chunk: _all_begin(chunk, "    ")):
        if is_example:
            yield "example", [line[4:] for line in "\n\n".join(group).split("\n")]
        else:
            for chunk in group:
                yield from _block(chunk)


def _block(chunk: str) -> Iterator[tuple[str, list[str]]]:
    lines = chunk.split("\n")
    if chunk in _MADE:
        yield from blocks(_MADE[chunk]())
    elif chunk.startswith("## ") and len(lines) == 1:
        yield "heading", [chunk[3:]]
    elif _all_begin(chunk, "  "):
        yield "continuation", [line[2:] for line in lines]
    elif len(lines) > 1 and lines[1].startswith(": "):
        yield "definition", [lines[0], *(line[2:] for line in lines[1:])]
    elif _all_begin(chunk, "- "):
        yield "list", [line[2:] for line in lines]
    else:
        assert not re.match(r"[#@|>:]|\d+\. ", chunk), f"not understood: {chunk}"
        yield "paragraph", lines


def _all_begin(chunk: str, mark: str) -> bool:
    return all(line.startswith(mark) for line in chunk.split("\n"))


def roff(text: str) -> Iterator[str]:
    """The lines of a section's text."""
    for kind, lines in blocks(text):
        match kind:
            case "heading":
                yield f'.SS "{lines[0]}"'
            case "example":
                yield from (".PP", ".RS 4", ".nf")
                yield from (_guarded(_escape(line)) for line in lines)
                yield from (".fi", ".RE")
            case "list":
                yield from (row for line in lines for row in (r".IP \(bu 2", _line(line)))
            case _:
                mark = {"continuation": ".IP", "definition": ".TP", "paragraph": ".PP"}[kind]
                yield from (mark, *map(_line, lines))


def _line(text: str) -> str:
    parts = _INLINE.split(text)
    made = _escape(parts[0])
    for at in range(1, len(parts), 5):
        code, bold, place, link, rest = parts[at : at + 5]
        strong = _PLACE.sub(r"\\fI\1\\fB", _escape(code or bold or link or ""))
        made += rf"\fB{strong}\fR" if strong else rf"\fI{_escape(place)}\fR"
        assert not re.search(r"`|\*\*", rest), f"not closed: {text}"
        made += _escape(rest)
    return _guarded(made)


def _guarded(line: str) -> str:
    return rf"\&{line}" if line.startswith(".") else line


def _escape(text: str) -> str:
    made = "".join(_ROFF.get(character, character) for character in text)
    assert made.isascii(), made
    return made


if __name__ == "__main__":
    for each in PAGES:
        path_of(each).write_text(page(each), encoding="utf-8")
