"""What the manual calls stable is still there.

`stable.json` holds what programs may rely on, and `python -m tests.test_compatibility` writes it.
What is new there is always right; what is gone breaks the promise of man/compatibility.md, and
needs a fragment of the kind `breaking`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import git_boocode
from git_boocode.cli.framework import COMMANDS, TOPICS, commands_of
from git_boocode.cli.tool_definitions import ANSWERS, definition
from git_boocode.server.tools import TOOLS

TOP = Path(__file__).parents[1]
STABLE = TOP / "tests/stable.json"


def _options() -> dict[str, list[str]]:
    return {
        name: sorted(
            spelling
            for option in command.params
            if isinstance(option, click.Option) and not option.hidden
            for spelling in (*option.opts, *option.secondary_opts)
        )
        for group in COMMANDS
        for name, command in commands_of(group)
    }


def _parameters(named: Any) -> list[str]:
    """The parameters of a function, or the public attributes of a class."""
    if inspect.isclass(named):
        return [name for name in dir(named) if not name.startswith("_")]
    return list(inspect.signature(named).parameters) if callable(named) else []


def _keys(schema: Any, above: str = "") -> Iterator[str]:
    """The keys of an answer, by their way; `[]` is an element of a list."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.get("properties", {}).items():
        yield above + key
        yield from _keys(value, f"{above}{key}.")
    yield from _keys(schema.get("items"), f"{above}[].")
    for choice in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(choice, ()):
            yield from _keys(each, above)


def stable() -> dict[str, Any]:
    """What programs may rely on, as it is now."""
    manual = (TOP / "man/git-boocode.md").read_text(encoding="utf-8")
    callback = (TOP / "man/callback.md").read_text(encoding="utf-8")
    definitions = ANSWERS["$defs"]
    return {
        "commands": _options(),
        "pages": sorted(TOPICS),
        "python": {name: _parameters(getattr(git_boocode, name)) for name in git_boocode.__all__},
        "answers": {
            name: sorted({*_keys(each["success"]), *_keys(each["failure"])})
            for name, each in ANSWERS["answers"].items()
        },
        "definitions": {name: sorted({*_keys(each)}) for name, each in definitions.items()},
        "codes": sorted(each["const"] for each in definitions["code"]["oneOf"]),
        "findings": sorted(each["const"] for each in definitions["finding_kind"]["oneOf"]),
        "configuration": sorted({*re.findall(r"`(boocode\.\w+)`", manual)}),
        "refs": sorted({*re.findall(r"^`(refs/\S+)`$", manual, re.MULTILINE)}),
        "callback events": sorted({*re.findall(r"^## (\w+)$", callback, re.MULTILINE)}),
        "tools": {
            name: sorted(definition(name)["inputSchema"]["properties"]) for name in sorted(TOOLS)
        },
    }


def _lost(before: Any, now: Any, above: str = "") -> Iterator[str]:
    if isinstance(before, dict):
        for key, value in before.items():
            if key in now:
                yield from _lost(value, now[key], f"{above}{key}: ")
            else:
                yield f"{above}{key}"
    else:
        yield from (f"{above}{each}" for each in before if each not in now)


def test_nothing_stable_is_gone() -> None:
    assert [*_lost(json.loads(STABLE.read_text(encoding="utf-8")), stable())] == []


def test_everything_new_is_held() -> None:
    """So that the next version cannot lose it."""
    held = json.loads(STABLE.read_text(encoding="utf-8"))
    assert [*_lost(stable(), held)] == [], "python -m tests.test_compatibility"


if __name__ == "__main__":
    # A line for each name, so that a difference can be read.
    text = re.sub(r"\n\s{3,}|\n\s+(?=\])", " ", json.dumps(stable(), indent=1))
    STABLE.write_text(text + "\n", encoding="utf-8")
