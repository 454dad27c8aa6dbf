import json

import pytest

from git_boocode.editing import formats
from git_boocode.editing import inputs as inputs_module
from git_boocode.editing.actions import Create, Insert, Replace, Write
from git_boocode.editing.edits import Action, MatchOptions, MissError
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.textfile import FileText
from tests.repo_kit import LIMITED


def read(value: object, only: str | None = None) -> Inputs:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_inputs([Source("input", data)], only)


def message(value: object, only: str | None = None) -> str:
    inputs = read(value, only)
    assert {failure.code for failure in inputs.failures} <= {"invalid_input", "no_edits"}
    return "\n".join(failure.message for failure in inputs.failures)


@pytest.mark.parametrize(
    "path", ["path", "file_path", "filePath", "filepath", "target_file", "filename", "file"]
)
@pytest.mark.parametrize(
    ("old", "new"),
    [("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"),
     ("oldStr", "newStr"), ("old_text", "new_text"), ("oldText", "newText"),
     ("search", "replace"), ("find", "replace"), ("old", "new")],
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
        ({"command": "write", "content": "x"}, Write("x")),
        ({"command": "insert", "insert_line": 0, "insert_text": "x"}, Insert(0, "x")),
        ({"command": "insert", "insert_line": 3, "new_str": "x"}, Insert(3, "x")),
        ({"content": ""}, Write("")),
    ],
)
def test_other_actions(item: dict[str, object], action: object) -> None:
    (edit,) = read({"path": "a", **item}).edits
    assert edit.action == action


@pytest.mark.parametrize("key", ["replace_all", "replaceAll", "allow_multiple", "change_all"])
def test_every_spelling_of_replacing_all(key: str) -> None:
    (edit,) = read({"path": "a", "old": "x", "new": "y", key: True}).edits
    assert edit.action == Replace("x", "y", replace_all=True)


@pytest.mark.parametrize("key", ["content", "contents", "file_text"])
def test_every_spelling_of_a_whole_file(key: str) -> None:
    (edit,) = read({"path": "a", key: "x", "line_count": 1}).edits
    assert (edit.action, edit.format) == (Write("x"), "write")
    others = {"description": "lines 3-5", "overwrite": True, "encoding": "utf-8", "mode": 420}
    others |= {"timeout": 30, "call_id": "3-5", "version_count": 2, "view_range": [], "to": None}
    assert read({"path": "a", key: "x", **others}).edits[0].action == Write("x")
    create = {key: "x", "command": "create"}
    for item in ({"path": "a", **create}, {"path": "a", "edits": [create]}):
        (edit,) = read(item).edits
        assert (edit.action, edit.format) == (Write("x"), "string")


@pytest.mark.parametrize("key", ["edits", "replacements", "operations"])
def test_every_spelling_of_several_edits(key: str) -> None:
    inputs = read({key: [{"filePath": "a", "oldString": "x", "newString": "y"}]})
    assert [(edit.path, edit.action) for edit in inputs.edits] == [("a", Replace("x", "y"))]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        # Each of these means another thing than its texts say when its switch is not read.
        ({"search": "x.*", "replace": "y", "use_regex": True}, "'use_regex' is not supported"),
        ({"search": "x", "replace": "y", "ignore_case": "true"}, "'ignore_case' is not supported"),
        (
            {"edits": [{"oldText": "x", "newText": "y"}], "dryRun": True},
            "'dryRun' is not supported",
        ),
        # A part of a file must not be taken for the whole.
        *(
            ({"content": "x", part: 3}, "is for a part of it")
            for part in (
                *("line", "end_line", "endLine", "end", "range", "insert_line", "from_line", "to"),
                *("first_line", "lineStart", "line_number", "at_line", "pos", "after", "before"),
                *("insert_after", "position", "start_lines", "from", "offset", "start-line"),
            )
        ),
        *(
            ({"content": "x", "mode": mode}, "is for a part of it")
            for mode in ("a", "append", "insert", "prepend")
        ),
        *(
            ({"content": "x", "span": span}, "'span' is for a part of it")
            for span in ([3, 5], [3], "3-5", "L3-L5", "3..5", "3, 5")
        ),
        ({"content": "x", "type": "insert"}, "is for a part of it"),
        ({"content": "x", "rename": "b"}, "'rename' would be ignored"),
        ({"command": "create", "file_text": "x", "from_line": 3}, "is for a part of it"),
        ({"new_text": "x", "from_line": 3}, "'from_line' is for a part of it"),
        ({"content": "x", "append": True}, "is for a part of it"),
        ({"start": 3, "end": 9, "content": "x"}, "is for a part of it"),
        ({"target_file": "a", "code_edit": "# ... existing code ...\nx"}, "may omit code"),
        ({"code": "// ...existing code...", "explanation": "why"}, "may omit code"),
        ({"changes": "# ... existing code ..."}, "'changes' is a string"),
        ({"command": "undo_edit"}, "'command' is 'undo_edit'; expected one of str_replace"),
        ({"command": "ls -la"}, "'command' is 'ls -la'"),
        ({"old": "x", "new": "y", "base": ""}, "'base' is not a blob id"),
    ],
)
def test_what_would_be_misread_is_refused(item: dict[str, object], expected: str) -> None:
    assert expected in message({"path": "a"} | item)


EDIT = {"path": "a", "old": "x", "new": "y"}


@pytest.mark.parametrize(
    ("item", "action"),
    [
        ({"edit": {"old": "x", "new": "y"}}, Replace("x", "y")),
        ({"edit": {"insert_line": 2, "insert_text": "x"}}, Insert(2, "x")),
        ({"edit": {"command": "insert", "insert_line": 2, "new_text": "x"}}, Insert(2, "x")),
        ({"edit": {"content": "x"}}, Write("x")),
        (
            {"edit": {"old": "x", "new": "y"}, "replace_all": True, "start_line": 3},
            Replace("x", "y", replace_all=True, start_line=3),
        ),
        ({"edit": [{"old": "x", "new": "y"}]}, Replace("x", "y")),
        # Cline's editor: before the line, counted from 1.
        ({"insert_line": 1, "new_text": "x"}, Insert(0, "x", top=1)),
        ({"insert_line": 4, "new_text": "x", "old_text": None}, Insert(3, "x", top=1)),
        ({"insert_line": 4, "insert_text": "x"}, Insert(4, "x")),
        # A new file; one that has content is refused when it is applied.
        ({"new_text": "x"}, Create("x")),
        ({"newText": "x", "old_text": None, "insert_line": None}, Create("x")),
    ],
)
def test_shapes_of_other_tools(item: dict[str, object], action: object) -> None:
    (edit,) = read({"path": "a", **item}).edits
    assert (edit.path, edit.action) == ("a", action)


@pytest.mark.parametrize("key", ["patchText", "patch_text", "patch", "input"])
def test_every_spelling_of_a_patch(key: str) -> None:
    (edit,) = read({key: "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"}).edits
    assert (edit.path, edit.format) == ("a", "apply-patch")


def test_a_line_behind_the_end_is_named_as_the_input_counts() -> None:
    (edit,) = read({"path": "a", "insert_line": 3, "new_text": "x"}).edits
    assert edit.action.apply(FileText("a\nb\n"), MatchOptions()).text == FileText("a\nb\nx\n")
    with pytest.raises(MissError) as caught:
        edit.action.apply(FileText("a\n"), MatchOptions())
    assert caught.value.message == "'insert_line' is 3, but the file has 1 lines"
    assert caught.value.hint == "insert_line must be from 1 (the top) to 2 (the end)"


@pytest.mark.parametrize("key", ["patchText", "patch", "diff"])
def test_bare_lines_of_a_hunk_are_a_diff_of_the_path_beside_them(key: str) -> None:
    (edit,) = read({"path": "a", key: "-x\n+y\n"}).edits
    assert (edit.path, edit.format) == ("a", "unified")


def test_a_patch_in_the_arguments_of_a_call() -> None:
    text = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"
    for item in ({"name": "apply_patch", "arguments": text}, {"tool_input": text}):
        (edit,) = read(item).edits
        assert (edit.path, edit.format) == ("a", "apply-patch")
    assert "matches no format" in message({"name": "apply_patch", "description": text})


def test_new_text_alone_replaces_no_content() -> None:
    (edit,) = read({"path": "a", "new_text": "x\n"}).edits
    assert edit.action.apply(None, MatchOptions()).text == FileText("x\n")
    with pytest.raises(MissError) as caught:
        edit.action.apply(FileText("y\n"), MatchOptions())
    assert caught.value.code == "exists"
    assert "{path, content}" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"insert_line": 0, "new_text": "x"}, "'insert_line' is 0; expected a whole number from 1"),
        ({"new_text": "x", "start_line": 3, "base": "1234567"}, "unknown key 'new_text'; expected"),
        ({"new_string": "x"}, "no 'old_string'"),
        ({"edit": {"path": "b", "old": "x", "new": "y"}}, "are for 'a'"),
    ],
)
def test_shapes_that_say_too_little_are_refused(item: dict[str, object], expected: str) -> None:
    assert expected in message({"path": "a", **item})


@pytest.mark.parametrize(
    "wrap",
    [
        {"type": "function_call", "name": "edit", "arguments": json.dumps(EDIT)},
        {"role": "assistant", "content": [{"type": "text", "text": "I will edit a."},
            {"type": "tool_use", "id": "1", "name": "Edit", "input": EDIT}]},
        {"functionCall": {"name": "replace", "args": EDIT}},
        {"method": "tools/call", "params": {"name": "edit", "arguments": EDIT}},
        {"toolName": "edit", "toolArgs": json.dumps(EDIT)},
        {"hook_event_name": "PreToolUse", "tool_name": "MultiEdit",
            "tool_input": {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}},
        [{"tool_name": "Edit", "tool_input": EDIT}],
        [{"path": "a", "edits": [EDIT]}],
        {"tool_name": "Edit", "tool_input": {**EDIT, "replace_all": None}, "tool_response": None},
        {"preToolUse": {"toolName": "editor", "parameters": EDIT}},
        {"tool_call": {"id": "1", "name": "editor", "input": EDIT}},
        {"tool_call": {"input": EDIT}, "preToolUse": {"parameters": dict(EDIT)}},
        {"one": EDIT, "two": dict(EDIT)},
        {"toolCall": {"arguments": json.dumps(EDIT)}},
        {"tool_use": {"input": EDIT}},
        {"event": "tool.execute.before", "tool": "edit", "args": EDIT, "directory": "/"},
        {"role": "model", "parts": [{"text": "so"}, {"functionCall": {"name": "e", "args": EDIT}}]},
        {"choices": [{"message": {"role": "assistant", "content": "so", "tool_calls": [
            {"type": "function", "function": {"name": "edit", "arguments": json.dumps(EDIT)}}]}}]},
        {"params": {"name": "e", "arguments": EDIT}, "result": {"path": "b", "content": "x"}},
        {"tool_input": EDIT, "tool_response": {"filePath": "a", "oldString": "x", "newString": ""}},
        {"tool_input": EDIT, "message": {"content": "x"}, "prompt": json.dumps(EDIT | {"new": 1})},
        {"content": "so", "tool_calls": [{"function": {"arguments": json.dumps(EDIT)}}]},
        {"tool_input": EDIT, "content": "x"},
        {"a": {"b": {"c": [{"d": {"e": EDIT}}]}}},
        # Only options beside the path are those of the edit inside.
        {"args": EDIT, "replace_all": True, "start_line": 3},
        {"file": {"path": "a", "edits": [{"old": "x", "new": "y"}]}},
        {"args": EDIT, "metadata": {"diff": "--- a/a\n+++ b/a\n@@ @@\n-x\n+z\n"}},
    ],
)  # fmt: skip
def test_an_edit_is_found_in_whatever_it_is_sent_in(wrap: object) -> None:
    (edit,) = read(wrap).edits
    assert edit[:3] == (0, "a", Replace("x", "y"))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"tool_call": {"input": EDIT}, "preToolUse": {"parameters": EDIT | {"new": "z"}}},
            "'tool_call.input' and 'preToolUse.parameters' contain different edits",
        ),
        ({"one": EDIT, "two": {"path": "b", "content": "x"}}, "'one' and 'two' contain different"),
        (
            {
                "one": {"path": "a", "edit": {"old": "x", "new": "y"}},
                "two": {"path": "b", "edit": {"old": "x", "new": "y"}},
            },
            "'one.edit' and 'two.edit' contain different",
        ),
        # The text of a file is never searched, nor is what a user or a tool said.
        ({"path": "a", "new_string": json.dumps(EDIT)}, "no 'old_string'"),
        ({"new_string": json.dumps(EDIT), "explanation": "x"}, "no 'old_string'"),
        ({"path": "a", "new_string": EDIT}, "no 'old_string'"),
        ({"prompt": json.dumps(EDIT)}, "matches no format"),
        ({"role": "user", "content": "--- a/a\n+++ b/a\n@@ @@\n-x\n+y\n"}, "matches no format"),
        ({"tool_name": "Read", "tool_response": EDIT}, "the tool 'Read' contains no edit"),
        ({"tool_input": {"path": "a", "note": {"path": "b", "content": "x"}}}, "are for 'a'"),
        ({"name": "edit", "arguments": '{"path": "a", "old'}, "invalid JSON"),
        ({"name": "edit", "arguments": '{"path": "a", "old', "input": "x"}, "invalid JSON"),
        ({"name": "e", "schema": {"properties": {"path": {}, "edits": {}}}}, "'path' is an object"),
        (
            {"path": "a", "regex": True, "edit": {"old": "x", "new": "y"}},
            "'regex' is not supported",
        ),
        ({"dry_run": True, "arguments": EDIT}, "'dry_run' is not supported"),
    ],
)
def test_an_edit_is_not_taken_out_of_what_is_ambiguous(item: object, expected: str) -> None:
    assert expected in message(item)


def test_an_envelope_is_searched_within_bounds() -> None:
    item: object = EDIT
    for _ in range(12):
        item = {"x": item}
    assert len(read(item).edits) == 1
    assert "nested too deeply" in message({"x": item})
    # The object, the array and the edit are values, too.
    assert len(read({"x": [0] * 49_997, "y": EDIT}).edits) == 1
    assert "more than 50000 values" in message({"x": [0] * 49_998, "y": EDIT})


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        ({"path": "a", "new_string": "x"}, "string"),
        ({"path": "a", "end": ["x"], "start": ["x"]}, "region"),
        ({"path": "a", "content": None}, "write: no 'content'"),
        ({"input": "x"}, "unified: no line like"),
    ],
)
def test_the_format_that_comes_nearest_is_named_first(value: object, nearest: str) -> None:
    (failure,) = read(value).failures
    assert failure.message.startswith(f"it matches no format ({nearest}")
    assert "{path, old_string, new_string}" in str(failure.hint)


def test_formats_are_mixed_in_one_array() -> None:
    items = [
        {"path": "a", "old": "x", "new": "y"},
        {"path": "b", "content": "x"},
        {"path": "c", "changes": [{"start": ["x"], "content": ["y"]}]},
        {"path": "d", "diff": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"},
        {"file_path": "e", "edits": [{"old_string": "x", "new_string": "y"}]},
    ]
    inputs = read(items)
    assert not inputs.failures
    assert [(edit.path, edit.format) for edit in inputs.edits] == [
        ("a", "string"), ("b", "write"), ("c", "region"), ("d", "search-replace"), ("e", "string"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "```json\n{}\n```",
        "```json\n\n{}\n```",
        "Here it is:\n\n````JSON\n{}\n````\nDone.",
        "~~~\r\n{}\r\n~~~",
        "  ```json\n{}\n",
        "```text\nnothing\n```\n```json\n[{}]\n```",
    ],
)
def test_json_in_a_fence_is_read(text: str) -> None:
    edit = json.dumps({"path": "a", "old": "x", "new": "```"}, indent=1)
    (found,) = read(text.replace("{}", edit).encode()).edits
    assert found.action == Replace("x", "```")


def test_json_in_several_fences_is_one_call() -> None:
    edits = [json.dumps({"path": path, "content": "x"}) for path in "ab"]
    text = f"First\n```json\n{edits[0]}\n```\nthen\n```json\n{edits[1]}\n```\n"
    assert [edit.path for edit in read(text.encode()).edits] == ["a", "b"]
    wrong = text.replace('"b"', "b").encode()
    assert message(wrong).startswith("input: invalid JSON at line 7, column 10: ")


OTHERS = {
    "search-replace": "a.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n",
    "apply-patch": "```\n*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n```\n",
    "bare apply-patch": "*** Update File: a.py\n@@\n-x\n+y\n",
    "unified": "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n```\n",
    "bare unified": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n",
    "lines": "```\n[a.py#1234567]\nPUT 1:\n+y\n```\n",
}
JSON_EDIT = json.dumps({"path": "b", "old_string": "x", "new_string": "y"}, indent=1)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "edit",
    [
        f"```json\n{JSON_EDIT}\n```\n",
        f"{JSON_EDIT}\n",
        f"[\n  {json.dumps({'path': 'b', 'content': 'x'})}\n]\n",
        f"```json\n{json.dumps({'path': 'a.py', 'patch': OTHERS['bare unified']})}\n```\n",
        f"```json\n{JSON_EDIT[:-2]},\n}}\n```\n",
    ],
    ids=["fenced", "bare", "array", "patch in JSON", "broken"],
)
def test_an_edit_in_json_beside_one_of_another_format_is_refused(name: str, edit: str) -> None:
    for text in (f"First\n\n{OTHERS[name]}\nand then:\n\n{edit}", f"{edit}\nthen\n{OTHERS[name]}"):
        assert read(text.encode()).failures, text
    assert len(read(OTHERS[name].encode()).edits) == 1


def test_an_edit_in_json_that_is_cut_off_below_another_is_refused() -> None:
    cut = f"{OTHERS['search-replace']}```json\n{JSON_EDIT[:-4]}"
    assert "contain an edit in JSON" in message(cut.encode())


def test_an_edit_in_json_beside_a_fence_is_refused() -> None:
    text = f"```json\n{JSON_EDIT}\n```\nand\n{JSON_EDIT}\n"
    assert "an edit in JSON is outside of the code fences" in message(text.encode())


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "example",
    [
        '```json\n{"name": "menu", "files": ["a.py"], "main": {"path": "b"}}\n```\n',
        '```jsonc\n{\n  // no edit\n  "path": "b",\n}\n```\n',
        "[1] says so, {as here}\n{not JSON}\n[]\n",
        'It was `{"path": "b", "content": "x"}` before.\n',
    ],
)
def test_json_that_is_no_edit_is_prose(name: str, example: str) -> None:
    for text in (f"{example}\n{OTHERS[name]}", f"{OTHERS[name]}\n{example}"):
        inputs = read(text.encode())
        assert not inputs.failures
        assert [edit.path for edit in inputs.edits] == ["a.py"]


@pytest.mark.parametrize("tag", ["think", "thinking"])
@pytest.mark.parametrize("name", OTHERS)
def test_an_edit_in_the_reasoning_is_not_made(tag: str, name: str) -> None:
    considered = OTHERS[name].replace("a.py", "b.py")
    reasoning = f"\n<{tag}>Perhaps:\n{considered}```json\n{JSON_EDIT}\n```\nNo.\n</{tag}>\n"
    for answer in (OTHERS[name], JSON_EDIT):
        above = "\n" * reasoning.count("\n")
        assert read(f"{reasoning}{answer}".encode()) == read(f"{above}{answer}".encode())
    # An answer that ends in its reasoning has no edit.
    cut = reasoning.partition("No.")[0]
    for answer, what in ((cut, "is only reasoning, without"), (reasoning, "has nothing after")):
        (failure,) = read(answer.encode()).failures
        assert failure.code == "no_edits"
        assert f"the input {what} '</{tag}>'; expected edits" in failure.message
    assert read(cut.encode()).failures[0].hint == f"send '</{tag}>' and then the edits"


def test_json_in_the_new_text_of_a_patch_is_text() -> None:
    block = f"a.json\n<<<<<<< SEARCH\nx\n=======\n{JSON_EDIT}\n>>>>>>> REPLACE\n"
    added = "".join(f"+{line}\n" for line in JSON_EDIT.split("\n"))
    patch = f"*** Begin Patch\n*** Add File: a.json\n{added}*** End Patch\n"
    diff = f"--- /dev/null\n+++ b/a.json\n@@ -0,0 +1,5 @@\n{added}"
    for text in (block, patch, diff):
        assert [edit.path for edit in read(text.encode()).edits] == ["a.json"]


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("", "no_edits"),
        ("All done.\n\n- one\n\n```sh\npytest\n```\n", "no_edits"),
        ({"role": "assistant", "content": "Done."}, "no_edits"),
        ({"tool_name": "read_file", "tool_input": {"path": "a"}}, "no_edits"),
        ({"type": "tool_use", "name": "read_file", "input": {"path": "a"}}, "no_edits"),
        ("a\n<<<<<<< Search\nx", "invalid_input"),
        ("*** Update file: a\n@ x", "invalid_input"),
        ('So:\n{"path": "a", "old_string": "x"}', "invalid_input"),
        ('<invoke name="edit">', "invalid_input"),
        ({"path": "a", "new": "x"}, "invalid_input"),
        ({"tool_name": "edit", "tool_input": {"path": "a", "new": "x"}}, "invalid_input"),
        ({"role": "assistant", "content": "a\n<<<<<<< Search\nx"}, "invalid_input"),
    ],
)
def test_an_answer_without_an_edit_is_not_a_broken_edit(item: object, code: str) -> None:
    (failure,) = read(item.encode() if isinstance(item, str) else item).failures
    assert failure.code == code


@pytest.mark.parametrize("text", ["hello", "<<< SEARCH\nx", "a\n<<<<<<< Search\nx"])
def test_the_marker_of_a_block_is_spelled_out(text: str) -> None:
    assert "search-replace: no line '<<<<<<< SEARCH', in capitals" in message(text.encode())


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
        (b"", "the input is empty"),
        (b" \n", "the input is empty"),
        (b"\xff{}", "not UTF-8 (byte 0xff in line 1)"),
        (b'{"path":"a",\n "old" "x"}', "line 2, column 8"),
        (b'{"path":NaN}', "'NaN' is not valid JSON"),
        (b'{"old":"x","path":"a","path":"b"}', "'path' occurs twice"),
        (b"```python\n[x]\n```", "matches no format"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nested too deeply"),
        (b"[" * 64 + b"]" * 64, "empty"),
        (b"[" * 65 + b"]" * 65, "nested too deeply"),
        (b"hello", "it matches no format (unified: no line like"),
        (b"12", "matches no format"),
        pytest.param(b"[" + b"9" * 5000 + b"]", "invalid JSON: exceeds the limit", marks=LIMITED),
        (b'[]\n{"path":"a"}', "line 2, column 1: extra data"),
    ],
)
def test_what_is_no_input_says_where_it_stopped(data: bytes, expected: str) -> None:
    assert expected in message(data)


def test_line_breaks_and_tabs_in_strings_are_taken_as_they_are() -> None:
    (edit,) = read(b'{"path":"a","old_string":"b\n\tc","new_string":"d"}').edits
    assert isinstance(edit.action, Replace)
    assert edit.action.old == "b\n\tc"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "the array of edits is empty"),
        ({"edits": {}}, "'edits' is an object; expected an array"),
        (
            {"path": "a"},
            "multi: no 'edits'; write: no 'content'; region: no 'changes' and no 'start'; ",
        ),
        ([None], "null matches no format"),
        ({"path": "a", "old": "x"}, "'new_string' is missing"),
        ({"old": "x", "new": "y"}, "'path' is missing"),
        ({"path": 1, "old": "x", "new": "y"}, "'path' is a number; expected a string"),
        ({"path": "a", "old": ["x"], "new": "y"}, "'old' is an array"),
        ({"path": "a", "old": "x", "new": "y", "replace_all": "true"}, "expected true or false"),
        ({"path": "a", "old": "x", "new": "y", "start_line": 0}, "a whole number from 1"),
        ({"path": "a", "old": "x", "new": "y", "expectedReplacements": 0}, "number from 1"),
        ({"path": "a", "old": "x", "new": "y", "start_line": True}, "a whole number from 1"),
        ({"path": "a", "old": "x", "new": "y", "start_line": 1.5}, "a whole number from 1"),
        ({"path": "a", "old": "x", "new": "y", "base": "xyz"}, "not a blob id"),
        (
            {"path": "a", "file_path": "b", "old": "x", "new": "y"},
            "are synonyms but have different values",
        ),
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
    assert text == "it is not in the format string (no 'old_string' and no 'command')"


def test_every_wrong_edit_of_an_array_is_reported() -> None:
    inputs = read([{"path": "a"}, {"path": "b", "content": "x"}, {"path": "c", "content": 1}])
    assert [(failure.number, failure.path) for failure in inputs.failures] == [(0, "a"), (2, "c")]
    assert [edit.number for edit in inputs.edits] == [1]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"path": "a",}', "no comma before }"),
        ('["a",]', "no comma before } or ]"),
        ("{'path': 'a'}", "double quotes around keys and strings"),
        ('{path: "a"}', "double quotes around keys"),
        ('{"path": "a", // file\n}', "no comments"),
        ('{"replace_all": True}', "true, false and null"),
        ('{"path": "a", "old": "x', "truncated"),
        ('{"path": "a", "old":', "truncated"),
        ('{"path": "a", "old": "x"}}', "one array"),
        ('{"old": "say "hi""}', '\\" '),
        ('{"path": "a", "old": "x}', '\\" '),
        ('{"path": "a"} trailing', "one array"),
        ('{"path": "a"}, {"path": "b"}', "one array"),
    ],
)
def test_the_hint_fits_what_is_wrong_with_the_json(text: str, hint: str) -> None:
    (failure,) = read(text.encode()).failures
    assert failure.message.startswith("input: invalid JSON at line 1, column ") or "\n" in text
    assert hint in str(failure.hint)


@pytest.mark.parametrize("between", ["", "\n", " ", "\r\n\n"])
def test_objects_one_after_the_other_are_one_call(between: str) -> None:
    items = [json.dumps({"path": name, "old": "x", "new": "y"}) for name in "abc"]
    inputs = read(between.join(items).encode())
    assert [edit.path for edit in inputs.edits] == ["a", "b", "c"]
    # A wrong one is named by its line of the whole input.
    assert "line 2, column 2" in message(f"{items[0]}\n{{x}}".encode())


def test_arrays_sent_as_text_are_read() -> None:
    edits = [{"old": "x", "new": "y"}]
    (edit,) = read({"path": "a", "edits": json.dumps(edits)}).edits
    assert edit.action == Replace("x", "y")
    (region,) = read({"path": "a", "changes": json.dumps([{"start": ["x"], "content": []}])}).edits
    assert region.format == "region"
    assert "invalid JSON" in message({"path": "a", "edits": "[{"})
    assert "'edits' is a string; expected an array" in message({"path": "a", "edits": "x"})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"tool_name": "Read", "tool_input": {"file_path": "a"}},
            "the call of the tool 'Read' contains no edit",
        ),
        (
            {"tool_name": "Bash", "tool_input": {"command": "ls"}},
            "the call of the tool 'Bash' contains no edit",
        ),
    ],
)
def test_an_input_without_an_edit_is_told_so_plainly(value: object, expected: str) -> None:
    assert message(value).startswith(expected)


def test_a_broken_call_of_an_edit_tool_keeps_its_reasons() -> None:
    said = message({"tool_name": "Edit", "tool_input": {"file_path": "a", "new_string": "x"}})
    assert "contains no edit: it matches no format (string: no 'old_string'" in said


def test_no_more_bytes_or_edits_than_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [{"path": "a", "old": "x", "new": "y"}] * 3
    monkeypatch.setattr(inputs_module, "MAX_EDITS", 3)
    assert len(read(items).edits) == 3
    assert message([*items, *items]) == ("the call has more than 3 edits")
    most = 64 * 1024 * 1024
    assert message(b" " * most).startswith("input: the input is empty")
    assert f"too large: {most + 1} bytes (at most {most})" in message(b" " * (most + 1))


def test_a_text_is_refused_for_its_length_before_it_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(formats, "MAX_TEXT", 10)
    assert "the text is too long: 30 characters" in message(b"<<<<<<< SEARCH\n" * 2)


def test_nul_does_not_turn_text_into_a_binary_file() -> None:
    actions: list[Action] = [
        Replace("x", "y\0"),
        Insert(0, "\0"),
        Write("a\nb\0"),
        read({"path": "a", "start": ["x"], "content": ["\0"]}).edits[0].action,
        read(b"--- a/a\n+++ b/a\n@@ @@\n-x\n+\0\n").edits[0].action,
        read(b"a.py\n<<<<<<< SEARCH\nx\n=======\n\0\n>>>>>>> REPLACE\n").edits[0].action,
    ]
    for action in actions:
        with pytest.raises(MissError) as caught:
            action.apply(FileText("x\n"), MatchOptions())
        assert caught.value.code == "invalid_input"
        assert "a NUL character" in caught.value.message
        made = action.apply(FileText("x\n"), MatchOptions(verbatim=True)).text
        assert made is not None
        assert "\0" in made.text
    assert Replace("x", "y\0").apply(FileText("x\0", "raw"), MatchOptions()).text == FileText(
        "y\0\0", "raw"
    )


SHOWN = "def run():\n    return total\n\ntotal = 1\n"
NUMBERED = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(SHOWN.splitlines(), 1))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (f"```python\n{SHOWN}```\n", "a code fence around it"),
        (f"\n~~~\n{SHOWN}~~~", "a code fence around it"),
        (NUMBERED, "line numbers before its lines"),
        (NUMBERED.replace("\t", "| ").replace("\n", "\r\n"), "line numbers before its lines"),
    ],
)
def test_what_was_shown_around_a_file_is_not_written(content: str, what: str) -> None:
    written = content.replace("total", "amount", 1)
    with pytest.raises(MissError) as caught:
        Write(written).apply(FileText(SHOWN), MatchOptions())
    assert caught.value.message == f"the content has {what}"
    # It may be meant, be new, or be what such a file has.
    others = (FileText(SHOWN), MatchOptions(verbatim=True)), (None, MatchOptions())
    for text, how in (
        *others,
        (FileText(content), MatchOptions()),
        (FileText("else\n"), MatchOptions()),
    ):
        assert Write(written).apply(text, how).text is not None
