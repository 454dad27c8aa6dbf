"""The tool definitions: what they show to a model is what the formats take."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from git_boocode.editing.edits import MatchOptions
from git_boocode.editing.formats import FORMATS
from git_boocode.editing.inputs import Source, read_inputs
from git_boocode.editing.textfile import FileText
from git_boocode.editing.tool_schemas import FORMATS as FORMAT_TOOLS
from git_boocode.editing.tool_schemas import TOOLS, guidance

_TYPES = {"string": str, "array": list, "object": dict, "boolean": bool, "integer": int}
_KEYWORDS = {"type", "description", "properties", "required", "additionalProperties", "items",
             "minItems", "maxItems", "minimum"}  # fmt: skip


def check(value: object, schema: Any, where: str = "input") -> None:
    """As much of a JSON schema as the definitions use."""
    assert isinstance(value, _TYPES[schema["type"]]), where
    if isinstance(value, dict):
        assert set(schema["required"]) <= set(value), where
        assert set(value) <= set(schema["properties"]), where
        for key, inner in value.items():
            check(inner, schema["properties"][key], f"{where}.{key}")
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 99), where
        for inner in value:
            check(inner, schema["items"], f"{where}[]")


def schemas(schema: Any) -> list[dict[str, Any]]:
    inner = [
        *schema.get("properties", {}).values(),
        *([schema["items"]] if "items" in schema else []),
    ]
    return [schema, *(found for one in inner for found in schemas(one))]


def test_every_format_is_a_tool() -> None:
    assert set(FORMAT_TOOLS) == set(FORMATS)
    assert set(TOOLS) - set(FORMATS) == {"read"}
    assert len({tool.name for tool in TOOLS.values()}) == len(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_definition_is_what_an_api_takes(name: str) -> None:
    definition = TOOLS[name].as_json()
    assert set(definition) == {"name", "description", "input_schema"}
    assert re.fullmatch(r"[a-z_]{1,64}", TOOLS[name].name)
    assert json.loads(json.dumps(definition)) == definition
    for schema in schemas(TOOLS[name].schema):
        assert set(schema) <= _KEYWORDS
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) <= set(schema["properties"])
    check(TOOLS[name].example, TOOLS[name].schema)


@pytest.mark.parametrize("name", FORMAT_TOOLS)
def test_the_example_is_valid_and_read(name: str) -> None:
    tool = TOOLS[name]
    calls: list[object] = [
        tool.example,
        {"type": "tool_use", "id": "1", "name": tool.name, "input": tool.example},
        {"type": "function_call", "name": tool.name, "arguments": json.dumps(tool.example)},
    ]
    for call in calls:
        inputs = read_inputs([Source("input", json.dumps(call).encode())])
        assert not inputs.failures
        formats = {"string"} if name == "multi" else {name}
        assert {edit.format for edit in inputs.edits} == formats
        assert {edit.path for edit in inputs.edits} == {"greet.py"}


@pytest.mark.parametrize("name", FORMAT_TOOLS)
def test_the_example_does_what_it_says(name: str) -> None:
    text: FileText | None = FileText("def greet(name):\n    return f'Hi {name}'\n")
    inputs = read_inputs([Source("input", json.dumps(TOOLS[name].example).encode())])
    for edit in inputs.edits:
        text = edit.action.apply(text, MatchOptions()).text
    assert text is not None
    assert text.text.endswith("    return f'Hello {name}'\n")
    assert text.text.count("\n") == 2


@pytest.mark.parametrize("name", ["region", "lines", "search-replace", "string", "multi", "write"])
def test_every_property_is_one_that_the_format_reads(name: str) -> None:
    """A value of a wrong type is refused, so each key is looked at."""
    tool = TOOLS[name]
    for key in tool.schema["properties"]:
        wrong = {**tool.example, key: {"no": "such"}}
        assert read_inputs([Source("input", json.dumps(wrong).encode())]).failures, key


def test_the_guidance_speaks_of_what_it_should() -> None:
    text = guidance()
    for phrase in ("1 to 4", "within five lines", "Never mix `write`", "@retry_context"):
        assert phrase in text
    assert all(f"`{tool.name}`" in text for tool in TOOLS.values())
    assert max(map(len, text.split("\n"))) <= 100


def test_the_guidance_compares_only_formats_that_there_are() -> None:
    choice = "# Which tool"
    assert choice in guidance()
    assert choice in guidance(("string", "lines", "read"))
    for names in (("string",), ("string", "write"), ("lines", "read")):
        assert choice not in guidance(names)
