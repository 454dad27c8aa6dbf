"""The JSON answers as tables: every key of every answer, from `git_boocode/answers.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from git_boocode.cli.tool_definitions import ANSWERS

_Schema = dict[str, Any]


def answers() -> str:
    """What each command answers, and what it adds if it fails."""
    made = ""
    for name, answer in ANSWERS["answers"].items():
        made += f"### {name}\n\n{_table(answer['success'])}"
        made += f"If it fails:\n\n{_table(answer['failure'])}"
    return made


def definitions() -> str:
    """The objects that answers have in common."""
    plain = {k: v for k, v in ANSWERS["$defs"].items() if "oneOf" not in v}
    return "".join(f"({_anchor(name)})=\n\n### {name}\n\n{_table(v)}" for name, v in plain.items())


def _table(schema: _Schema) -> str:
    if "$ref" in schema:
        return f"{_type(schema)}\n\n"
    about = f"{schema['description']}\n\n" if "description" in schema else ""
    rows = "".join(f"| {key} | {kind} | {text} |\n" for key, kind, text in _rows(schema))
    return (
        f"{about}| Key | Type | Meaning |\n|---|---|---|\n{rows}\n"
        if rows
        else f"{about}{_type(schema)}\n\n"
    )


def _rows(schema: _Schema, above: str = "") -> Iterator[tuple[str, str, str]]:
    """The keys of an object, and of those in it that have no name."""
    for key, value in schema.get("properties", {}).items():
        needed = key in schema.get("required", ())
        kind = _type(value) + ("" if needed else ", optional")
        yield f"`{above}{key}`", kind, value.get("description", "").replace("|", r"\|")
        inner, suffix = value, ""
        while "items" in inner:
            inner, suffix = inner["items"], f"{suffix}[]"
        if isinstance(inner.get("additionalProperties"), dict):
            inner, suffix = inner["additionalProperties"], f"{suffix}.*"
        yield from _rows(inner, f"{above}{key}{suffix}.")


def _type(schema: _Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    kinds = schema.get("type", "any value")
    if kinds == "array":
        return f"array of {_type(schema['items'])}" if "items" in schema else "array"
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def _anchor(name: str) -> str:
    words = {"code": "errors", "finding_kind": "findings"}  # sections of the page
    return words.get(name, f"json-{name.replace('_', '-')}")
