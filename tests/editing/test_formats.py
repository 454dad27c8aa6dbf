import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.actions import Insert, Replace, Write
from git_boocode.editing.inputs import MAX_DEPTH, Inputs, Source, read_inputs


def read(value: object, only: str | None = None) -> Inputs:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_inputs([Source("input", data)], only)


def message(value: object, only: str | None = None) -> str:
    inputs = read(value, only)
    assert {failure.code for failure in inputs.failures} == {"invalid_input"}
    return "\n".join(failure.message for failure in inputs.failures)


@pytest.mark.parametrize("path", ["path", "file_path", "filePath"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"),
     ("search", "replace"), ("old", "new")],
)  # fmt: skip
def test_every_spelling_of_a_string_edit(path: str, old: str, new: str) -> None:
    (edit,) = read({path: "a", old: "x", new: "y", "explanation": "why"}).edits
    assert edit[:3] == (0, "a", Replace("x", "y"))
    assert edit.format == "string"


def test_the_options_of_a_string_edit() -> None:
    item = {"path": "a", "old": "x", "new": "y", "replaceAll": True, "expected_replacements": 2,
            "start_line": 7, "base": "ABCDEF0"}  # fmt: skip
    (edit,) = read(item).edits
    assert edit.action == Replace("x", "y", replace_all=True, expected=2, start_line=7)
    assert edit.base == "abcdef0"
    assert edit.given == item


@pytest.mark.parametrize(
    ("item", "action"),
    [
        ({"command": "str_replace", "old_str": "x", "new_str": "y"}, Replace("x", "y")),
        ({"command": "str_replace", "old_str": "x"}, Replace("x", "")),
        ({"command": "create", "file_text": "x"}, Write("x")),
        ({"command": "insert", "insert_line": 0, "insert_text": "x"}, Insert(0, "x")),
        ({"command": "insert", "insert_line": 3, "new_str": "x"}, Insert(3, "x")),
        ({"content": ""}, Write("")),
    ],
)
def test_other_actions(item: dict[str, object], action: object) -> None:
    (edit,) = read({"path": "a", **item}).edits
    assert edit.action == action


@pytest.mark.parametrize(
    "wrap",
    [
        lambda edit: {"tool_input": edit},
        lambda edit: {"tool_name": "Edit", "tool_input": edit, "cwd": "/"},
        lambda edit: {"type": "tool_use", "name": "Edit", "input": edit},
        lambda edit: [{"tool_name": "Edit", "tool_input": edit}],
        lambda edit: {"edits": [edit]},
        lambda edit: {"path": "a", "edits": [edit]},
        lambda edit: [{"edits": [edit]}],
    ],
)
def test_envelopes_are_unwrapped(wrap: object) -> None:
    assert callable(wrap)
    (edit,) = read(wrap({"path": "a", "old": "x", "new": "y"})).edits
    assert edit[:3] == (0, "a", Replace("x", "y"))


def test_edits_of_one_file_share_its_path_and_base() -> None:
    edits = [{"old": "x", "new": "y"}, {"path": "./a", "content": "z"}]
    inputs = read({"filePath": "a", "base": "1234567", "edits": edits})
    assert [(edit.number, edit.path, edit.base) for edit in inputs.edits] == [
        (0, "a", "1234567"),
        (1, "./a", "1234567"),
    ]


def test_several_inputs_are_numbered_through() -> None:
    one = json.dumps([{"path": "a", "old": "x", "new": "y"}, {"path": "a"}]).encode()
    two = b"\xef\xbb\xbf" + json.dumps({"path": "b", "content": "y"}).encode()
    inputs = read_inputs([Source("one", one), Source("two", two)])
    assert [edit.number for edit in inputs.edits] == [0, 2]
    assert [failure.number for failure in inputs.failures] == [1]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xff{}", "not UTF-8 (byte 0xff in line 1)"),
        (b'{"path":"a",\n "old" "x"}', "line 2, column 8"),
        (b'{"path":NaN}', "'NaN' is no JSON"),
        (b'{"path":"a","path":"b"}', "'path' stands twice"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nested too deep"),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "empty"),
        (b"hello", "string: plain text"),
        (b"12", "fits no format"),
        (b"[" + b"9" * 5000 + b"]", ""),
    ],
)
def test_what_is_no_input_says_where_it_stopped(data: bytes, expected: str) -> None:
    assert expected in message(data)


def test_a_message_ends_where_its_sentence_does() -> None:
    assert message(b'{"path":"a\tb"}').endswith("column 11: invalid control character")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "the array of edits is empty"),
        ({"edits": {}}, "'edits' is an object; expected an array"),
        ({"path": "a"}, "no 'old_string' and no 'command'; multi: no 'edits'; write: no 'content'"),
        ([None], "null instead of an object"),
        ({"path": "a", "old": "x"}, "'new_string' is missing"),
        ({"old": "x", "new": "y"}, "'path' is missing"),
        ({"path": 1, "old": "x", "new": "y"}, "'path' is a number; expected a string"),
        ({"path": "a", "old": ["x"], "new": "y"}, "'old' is an array"),
        ({"path": "a", "old": "x", "new": "y", "replace_all": "true"}, "expected true or false"),
        ({"path": "a", "old": "x", "new": "y", "start_line": 0}, "a whole number from 1"),
        ({"path": "a", "old": "x", "new": "y", "start_line": True}, "a whole number from 1"),
        ({"path": "a", "old": "x", "new": "y", "start_line": 1.5}, "'start_line' is 1.5"),
        ({"path": "a", "old": "x", "new": "y", "base": "xyz"}, "no blob id"),
        ({"path": "a", "file_path": "b", "old": "x", "new": "y"}, "mean the same and differ"),
        ({"path": "a", "old": "x", "new": "y", "content": "z"}, "formats string and write"),
        ({"path": "a", "command": "view"}, "expected one of str_replace"),
        ({"path": "a", "command": "insert", "new_str": "x"}, "'insert_line' is missing"),
        ({"path": "a", "edits": [{"path": "b", "old": "x", "new": "y"}]}, "are for 'a'"),
    ],
)
def test_wrong_keys_are_named(value: object, expected: str) -> None:
    assert expected in message(value)


def test_a_forced_format_is_the_only_one_tried() -> None:
    assert read({"path": "a", "old": "x", "new": "y"}, "string").edits
    text = message({"path": "a", "content": "x"}, "string")
    assert text == "it is not of the format string (string: no 'old_string' and no 'command')"


def test_every_wrong_edit_of_an_array_is_reported() -> None:
    inputs = read([{"path": "a"}, {"path": "b", "content": "x"}, {"path": "c", "content": 1}])
    assert [(failure.number, failure.path) for failure in inputs.failures] == [(0, "a"), (2, "c")]
    assert [edit.number for edit in inputs.edits] == [1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["path", "old", "new", "edits", "content", "command", "tool_input", "base",
             "insert_line", "replace_all", "file_path", "start_line", "x"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    inputs = read(value)
    assert inputs.edits or inputs.failures
    assert all(failure.code == "invalid_input" for failure in inputs.failures)


@given(
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    inputs = read(data)
    assert inputs.edits or inputs.failures
