"""JSON as text: what is put in and taken out leaves all other bytes as they are."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.agents.jsontext import (
    JsonTextError,
    Node,
    insert,
    new_document,
    parse,
    remove,
    replace,
)


def root(text: str) -> Node:
    found = parse(text)
    assert found is not None
    return found


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
# Blanks between tokens, as people, editors and programs write them.
blanks = st.sampled_from(["", " ", "\n", "\n  ", "\n\t", "\r\n    ", " // a [ note\n", "/* , } */"])


@st.composite
def written(draw: Any, value: Any = None) -> tuple[str, Any]:
    """An object or an array, and one of the ways in which it can be written."""
    if value is None:
        value = draw(st.dictionaries(st.text(), values, max_size=4) | st.lists(values, max_size=4))

    def text(part: Any) -> str:
        if not isinstance(part, (dict, list)):
            return json.dumps(part, ensure_ascii=draw(st.booleans()))
        is_object = isinstance(part, dict)
        items = []
        for item in part:
            key = f"{json.dumps(item)}{draw(blanks)}:{draw(blanks)}" if is_object else ""
            inner = text(part[item] if is_object else item)
            items.append(f"{draw(blanks)}{key}{inner}{draw(blanks)}")
        trailing = f",{draw(blanks)}" if items and draw(st.booleans()) else ""
        inside = ",".join(items) + trailing if items else draw(blanks)
        return f"{{{inside}}}" if is_object else f"[{inside}]"

    bom = draw(st.sampled_from(["", "\ufeff"]))
    return f"{bom}{draw(blanks)}{text(value)}{draw(blanks)}", value


@given(written())
def test_whatever_is_written_is_read(case: tuple[str, Any]) -> None:
    text, value = case
    assert root(text).plain() == value


@given(written(), values)
def test_what_is_put_in_goes_without_a_trace(case: tuple[str, Any], value: Any) -> None:
    text, before = case
    grown = insert(text, root(text), "a new key", value)
    expected = {**before, "a new key": value} if isinstance(before, dict) else [*before, value]
    assert root(grown).plain() == expected
    if isinstance(before, dict):
        assert list(root(grown).plain()) == [*before, *({"a new key"} - set(before))]
    back = remove(grown, root(grown), len(root(grown).items) - 1)
    assert root(back).plain() == before
    if before:
        assert back == text
    else:
        assert re.sub(r"\s", "", back) == re.sub(r"\s", "", text)


@given(written(), st.data())
def test_each_item_can_be_taken_out(case: tuple[str, Any], data: st.DataObject) -> None:
    text, before = case
    if not before:
        return
    index = data.draw(st.integers(0, len(before) - 1))
    left = list(before.items()) if isinstance(before, dict) else list(before)
    del left[index]
    expected = dict(left) if isinstance(before, dict) else left
    shorter = remove(text, root(text), index)
    assert root(shorter).plain() == expected
    item = root(text).items[index]
    gone = text[item.start : item.node.end].count("/*")
    assert shorter.count("/*") == text.count("/*") - gone


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ('{"a": 1}', '{"a": 1, "k": [1]}'),
        ('{"a":1}', '{"a":1,"k":[1]}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}\n'),
        (
            '{\r\n    "a": 1,\r\n}',
            '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ],\r\n}',
        ),
        (
            '{\n  "a": 1 // one\n  // "b": 2\n}',
            '{\n  "a": 1, // one\n  // "b": 2\n  "k": [\n    1\n  ]\n}',
        ),
        ('{ "a": 1 // one\n}', '{ "a": 1, // one\n"k": [1]\n}'),
        ("{\n  // nothing yet\n}", '{\n  // nothing yet\n  "k": [\n    1\n  ]\n}'),
    ],
)
def test_the_style_of_the_file_is_kept(before: str, after: str) -> None:
    assert insert(before, root(before), "k", [1]) == after
    back = remove(after, root(after), len(root(after).items) - 1)
    assert parse(back) == parse(before) or back == before


def test_an_empty_file_becomes_an_object() -> None:
    assert new_document("", {}) == "{}\n"
    assert new_document(" \r\n", {"a": 1}) == '{\r\n  "a": 1\r\n}\r\n'
    assert new_document("\ufeff", {}) == "\ufeff{}\n"
    assert new_document("// mine", {}) == "// mine\n{}\n"


def test_a_number_of_any_length() -> None:
    text = f'{{"a": {"9" * 10_000}}}'
    assert insert(text, root(text), "k", 1) == text.replace("}", ', "k": 1}')


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    text = '{"a": 1, "a": 2}'
    found = root(text).find("a")
    assert found is not None
    assert replace(text, found, "é\n") == '{"a": 1, "a": "é\\n"}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1', "line 1, column 8: ',' or '}' is missing here"),
        ('{"a" 1}', "line 1, column 6: ':' is missing here"),
        ("{\n  a: 1}", "line 2, column 3: a key is missing here"),
        ('{"a": nope}', "line 1, column 7: a value is missing here"),
        ('{"a": 01}', "line 1, column 7: a value is missing here"),
        ('{"a": "x}', "line 1, column 7: a string is not closed"),
        ('{"a": "\\q"}', "line 1, column 7: a string holds an escape that is none"),
        ("{} {}", "line 1, column 4: something follows the value"),
        ("[1 2]", "line 1, column 4: ',' or ']' is missing here"),
        ("[,]", "line 1, column 2: a value is missing here"),
        ("[" * 300 + "]" * 300, "line 1, column 202: it is nested too deep"),
    ],
)
def test_what_is_no_json(text: str, reason: str) -> None:
    with pytest.raises(JsonTextError) as caught:
        parse(text)
    assert str(caught.value) == reason


@given(st.text(alphabet='{}[]",:/*\\n01a \n\ufeff', max_size=30))
def test_garbage_is_refused_or_read(text: str) -> None:
    with suppress(JsonTextError):
        found = parse(text)
        assert found is None or not parse(text[: found.start] + text[found.end :])
