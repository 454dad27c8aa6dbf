"""The format `search-replace`: blocks, the files they are for, and the lines they replace."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.edits import Edit, EditResult, MatchOptions, MissError
from git_boocode.editing.formats.search_replace import is_path, name_in_line, names_in
from git_boocode.editing.inputs import Inputs, Source, read_inputs
from git_boocode.editing.textfile import FileText


def block(old: str, new: str, opening: str = "<<<<<<< SEARCH") -> str:
    return f"{opening}\n{old}=======\n{new}>>>>>>> REPLACE\n"


ONE = block("x\n", "y\n")


def read(text: str) -> Inputs:
    return read_inputs([Source("input", text.encode())])


def edits(text: str) -> list[Edit]:
    inputs = read(text)
    assert not inputs.failures, inputs.failures
    assert {edit.format for edit in inputs.edits} == {"search-replace"}
    return inputs.edits


def result(file: str | FileText | None, text: str, how: MatchOptions | None = None) -> EditResult:
    (edit,) = edits(text if text.startswith("a.py") else f"a.py\n{text}")
    assert edit.path == "a.py"
    given = FileText(file) if isinstance(file, str) else file
    return edit.action.apply(given, how or MatchOptions())


def applied(file: str | None, text: str, how: MatchOptions | None = None) -> str:
    done = result(file, text, how).text
    assert done is not None
    return done.text


def miss(file: str | FileText | None, text: str, how: MatchOptions | None = None) -> MissError:
    with pytest.raises(MissError) as caught:
        result(file, text, how)
    return caught.value


def refusal(text: str) -> str:
    inputs = read(text)
    assert {failure.code for failure in inputs.failures} == {"invalid_input"}
    return "\n".join(failure.message for failure in inputs.failures)


def paths(text: str) -> list[str]:
    return [edit.path for edit in edits(text)]


# Markers


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\r\nx\r\n=======\r\ny\r\n>>>>>>> REPLACE\r\n",
        "<<<<< SEARCH\nx\n=====\ny\n>>>>> REPLACE\n",
        "<<<<<<<<< SEARCH\nx\n=========\ny\n>>>>>>>>> REPLACE\n",
        "<<<<<<< SEARCH  \nx\n======= \ny\n>>>>>>> REPLACE \n",
        "<<<<<<< SEARCH>\nx\n=======\ny\n>>>>>>> REPLACE>\n",
        "<<<<<<<SEARCH\nx\n=======\ny\n>>>>>>>REPLACE\n",
        "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n",
        "<<<<<<< ORIGINAL\nx\n=======\ny\n>>>>>>> UPDATED\n",
        "  <<<<<<< SEARCH\n  x\n  =======\n  y\n  >>>>>>> REPLACE\n",
        "  <<<<<<< SEARCH\nx\n=======\ny\n  >>>>>>> REPLACE\n",
        "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>> REPLACE\n",
        "```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE```\n",
        f"{'<' * 8} SEARCH\nx\n{'=' * 8}\ny\n{'>' * 8} REPLACE\n",
        f"{'<' * 12} SEARCH\nx\n{'=' * 12}\ny\n{'>' * 12} REPLACE\n",
        f"{'<' * 20} SEARCH\r\nx\r\n{'=' * 20}\r\ny\r\n{'>' * 20} REPLACE\r\n",
        f"  {'<' * 12} SEARCH\n  x\n  {'=' * 12}\n  y\n  {'>' * 12} REPLACE\n",
        f"```python\n{'<' * 12} SEARCH\nx\n{'=' * 12}\ny\n{'>' * 12} REPLACE\n```\n",
        f"{'-' * 12} SEARCH\nx\n{'=' * 12}\ny\n{'+' * 12} REPLACE\n",
        f"{'<' * 12} SEARCH\nx\n=======\ny\n{'>' * 12} REPLACE\n",
        f"<<<<<<< SEARCH\nx\n{'=' * 12}\ny\n>>>>>>> REPLACE\n",
        f"{'<' * 12} SEARCH\nx\n{'=' * 9}\ny\n>>>>>>> REPLACE\n",
        f"{'<' * 12} SEARCH\n:start_line:2\n{'-' * 12}\nx\n{'=' * 12}\ny\n{'>' * 12} REPLACE\n",
    ],
)
def test_markers(text: str) -> None:
    assert applied("a\nx\nb\n", text) == "a\ny\nb\n"


def test_the_end_of_a_block_with_long_markers_must_be_certain() -> None:
    inner = f"{'<' * 12} SEARCH\nx\n{'=' * 12}\ny\n>>>>>>> REPLACE\n"
    text = f"{inner}{'>' * 12} REPLACE\n"
    assert "the block at line 2 may end at line 6 or at line 7" in refusal(f"a.py\n{text}")


@pytest.mark.parametrize("header", [":start_line:4\n-------\n", ":start_line: 4\n:end_line:4\n"])
def test_a_header_with_line_numbers_is_a_hint(header: str) -> None:
    assert applied("x\na\nb\nx\n", block(f"{header}x\n", "y\n")) == "x\na\nb\ny\n"
    assert miss("x\na\nb\nx\n", block("x\n", "y\n")).lines == (1, 4)
    assert applied("a\nx\n", block(f"{header}x\n", "y\n")) == "a\ny\n"


def test_behind_a_header_markers_in_code_are_escaped() -> None:
    text = block(":start_line:1\n-------\nT\n\\=======\n", "U\n\\=======\n")
    assert applied("T\n=======\n", text) == "U\n=======\n"
    assert applied("\\=======\nx\n", block("\\=======\nx\n", "y\n")) == "y\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<<<<<<< SEARCH\nx\n=======\ny\n", "the block at line 2 has no '>>>>>>> REPLACE' line"),
        ("<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", "the block at line 2 has no '=======' line"),
        ("<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", "the block at line 2 is empty"),
        (
            block("x\n", "y\n") + ">>>>>>> REPLACE\n",
            "line 7 is '>>>>>>> REPLACE' without an opening",
        ),
        (
            "<<<<<<< SEARCH\nx\n=======\ny\n" + block("v\n", "w\n"),
            "the block at line 2 has no '>>>>>>> REPLACE' line of its own",
        ),
        (block("x\n", "y\n", "<<<<<<< SEARCH def f():"), "line 2 has more than"),
        (block("x\n", "=======\n" * 20), "has 21 lines like '======='"),
        (
            "<<<<<<< SEARCH\nx\n=====\ny\n>>>>> REPLACE\n<<<<< SEARCH\nv\n=====\n>>>>>>> REPLACE\n",
            "the block at line 2 may end at line 6 or at line 10",
        ),
        (block("x\n", "y\n") + "--- a/b\n+++ b/b\n@@ @@\n-x\n", "an edit in the format unified"),
    ],
)
def test_what_is_wrong_names_the_line(text: str, expected: str) -> None:
    assert expected in refusal(f"a.py\n{text}")


def test_every_wrong_block_is_told() -> None:
    wrong = "<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n"
    inputs = read(f"a.py\n{wrong}{ONE}{wrong}")
    assert [failure.number for failure in inputs.failures] == [0, 2]
    assert [edit.number for edit in inputs.edits] == [1]
    assert inputs.failures[1].path == "a.py"


def test_a_block_in_the_code_has_markers_of_another_length() -> None:
    inner = block("x\n", "y\n")
    text = f"<<<<<<<<< SEARCH\n{inner}=========\n{inner.replace('y', 'z')}>>>>>>>>> REPLACE\n"
    assert applied(f"top\n{inner}", text) == f"top\n{inner.replace('y', 'z')}"


# The divider


def test_a_divider_in_the_code_is_told_from_the_blocks() -> None:
    rst = "Title\n=======\n\nold\n"
    assert (
        applied(f"{rst}x\n", block(rst, "Title\n=======\n\nnew\n")) == "Title\n=======\n\nnew\nx\n"
    )
    conflict = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    assert applied(f"1\n{conflict}2\n", block(conflict, "c\n")) == "1\nc\n2\n"
    assert applied("1\nab\n2\n", block("ab\n", conflict)) == f"1\n{conflict}2\n"
    assert applied("Old\n=======\n", block("Old\n", "New\n=======\nText\n")) == (
        "New\n=======\nText\n=======\n"
    )


@pytest.mark.parametrize("size", [5, 9, 10, 40])
def test_an_underline_of_another_length_is_not_the_divider(size: int) -> None:
    old, line = f"Title\n{'=' * size}\n", "=" * size
    new = f"New title\n{line}\n\nText\n{line}\n"
    assert applied(f"{old}x\n", block(old, new)) == f"{new}x\n"
    # It is not even when the title is there and the text below it is not.
    error = miss(f"{old}x\n", block(f"{old}\nsome other text\n", "y\n"))
    assert error.code == "not_found"
    # Nor do many long ones count.
    if size > 9:
        assert applied(f"{old}x\n", block(old, new * 20)) == f"{new * 20}x\n"


def test_the_divider_may_be_of_another_length_than_the_markers() -> None:
    old = "Head_of\n=======\n\ntext\n"
    text = f"<<<<<<< SEARCH\n{old}=====\n{old}more\n>>>>>>> REPLACE\n"
    assert applied(f"{old}x\n", text) == f"{old}more\nx\n"


def test_apostrophes_quote_no_file() -> None:
    assert paths(f"It doesn't do it yet, edit a.py as it's shown:\n{ONE}") == ["a.py"]


def test_a_block_that_may_be_read_in_two_ways_is_refused() -> None:
    # Both `Title` and `Title` with its underline are there.
    error = miss("Title\n=======\n", block("Title\n=======\n", "New\n"))
    assert error.code == "ambiguous"
    assert "several of them could be the divider" in error.message
    # The longer text is there with drift only, the shorter as it is.
    file = "Heading\n=======\nsome old text\n"
    assert miss(file, block("Heading\n=======\nsome  old  text\n", "x\n")).code == "ambiguous"


def test_where_no_reading_fits_the_nearest_miss_is_told() -> None:
    error = miss("Title\n=======\n\nsome text\n", block("Titel xx\n=======\n\nsome tex\n", "x\n"))
    assert error.code == "not_found"
    assert "each of the 2 lines like '=======' was tried" in error.message


def test_as_many_dividers_are_tried_as_are_stated() -> None:
    new = "=======\n" * 15
    assert applied("x\n", block("x\n", new)) == new
    assert "has 17 lines like '======='" in refusal("a.py\n" + block("x\n", f"{new}=======\n"))


def test_the_last_marker_may_be_shorter_below_a_block_in_the_code() -> None:
    inner = "<<<<< SEARCH\na\n=====\nb\n>>>>> REPLACE\n"
    text = f"<<<<<<< SEARCH\nx\n=======\n{inner}>>>>>> REPLACE\n"
    assert applied("x\n", text) == inner


def test_a_new_file_may_hold_dividers() -> None:
    assert applied(None, block("", "Title\n=======\ntext\n")) == "Title\n=======\ntext\n"


# Which lines


def test_the_search_stands_for_whole_lines() -> None:
    assert applied("max = 1\nx = 1\n", block("x = 1\n", "x = 2\n")) == "max = 1\nx = 2\n"
    assert applied("x = 1\nx = 10", block("x = 1\n", "x = 2\n")) == "x = 2\nx = 10"
    assert applied("x = 10\nx = 1", block("x = 1\n", "x = 2\n")) == "x = 10\nx = 2"
    error = miss("total = compute_max\n", block("compute_max\n", "z\n"))
    assert (error.code, error.lines) == ("not_found", (1,))
    assert "it is only part of line 1" in error.message
    error = miss("max = 1\nx = 1\nx = 1\n", block("x = 1\n", "z\n"))
    assert (error.code, error.lines) == ("ambiguous", (2, 3))


def test_lines_of_another_indentation_take_theirs_along() -> None:
    file = "class A:\n    def run(self):\n        value = start()\n        return value\n"
    text = block("value = start()\n", "value = start()\nif value:\n    stop()\n")
    done = result(file, text)
    assert done.text == FileText(
        "class A:\n    def run(self):\n        value = start()\n        if value:\n"
        "            stop()\n        return value\n"
    )
    assert (done.applied.rung, done.applied.start_line, done.applied.notes) == (
        "whitespace", 3, ("reindented", "kept 1 drifted line"),
    )  # fmt: skip
    assert "\nif value:\n" in applied(file, text, MatchOptions(verbatim=True))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        # All lines lost the indentation of the file.
        ("if a:\n    value = start()\n", "    if a:\n        value = start()\n"),
        ("value = begin()\nmore()\n", "    value = begin()\n    more()\n"),
        # Only the first one did.
        ("value = begin()\n    more()\n", "    value = begin()\n    more()\n"),
        ("if a:\n        value = start()\n", "    if a:\n        value = start()\n"),
        # A body is one level deeper, whatever its unit.
        ("if a:\n      value = start()\n", "    if a:\n        value = start()\n"),
        # Neither reading fits.
        ("value = begin()\n        more()\n", None),
        ("with a, \\\n        b:\n    value = start()\n", None),
    ],
)
def test_a_line_without_its_indentation_may_be_the_only_one(new: str, expected: str | None) -> None:
    file = "def run(self):\n    value = start()\n    if value:\n        stop()\n"
    text = block("value = start()\n", new)
    if expected is None:
        error = miss(file, text)
        assert (error.code, error.lines) == ("ambiguous", (2,))
    else:
        assert applied(file, text) == file.replace("    value = start()\n", expected)


def test_blanks_aside_the_lines_must_be_unique_and_say_something() -> None:
    file = "  value = start()\n\tvalue = start()\n"
    assert miss(file, block("value = start()\n", "x\n")).lines == (1, 2)
    assert "too short for a fuzzy match" in miss("    return\n", block("return\n", "z\n")).message
    assert miss(
        "    value = start()\n", block("value = start()\n", "x\n"), MatchOptions("exact")
    ).code == ("not_found")


def test_empty_search_and_empty_replacement() -> None:
    assert applied(None, block("", "x\n")) == "x\n"
    indented = "  <<<<<<< SEARCH\n  =======\n  x\n    y\n  >>>>>>> REPLACE\n"
    assert applied(None, indented) == "x\n  y\n"
    assert applied("", block("\n", "x\n")) == "x\n"
    assert miss("y\n", block("", "x\n")).code == "exists"
    assert applied("a\nx\nb\n", block("x\n", "")) == "a\nb\n"
    assert applied("a\nx", block("x\n", "")) == "a\n"
    assert miss(None, block("x\n", "y\n")).code == "missing_file"


# Which file


@pytest.mark.parametrize(
    "line",
    ["src/a.py", "`src/a.py`", "**src/a.py**", "**`src/a.py`**", "### src/a.py", "# `src/a.py`:",
     "src/a.py:", "File: src/a.py", "**File:** `src/a.py`", "**File: src/a.py**",
     "File path: src/a.py", "filename: 'src/a.py'", "1. `src/a.py`", "2) src/a.py", "- src/a.py",
     "* **src/a.py**:",
     "### 1. `src/a.py`", "// src/a.py", "<!-- src/a.py -->", '"src/a.py"', "“src/a.py”",
     "src/a.py (new file)", "`src/a.py` (modified):", "[src/a.py](src/a.py)", "In `src/a.py`:",
     "Update src/a.py:", "src/a.py:12", "``src/a.py``", "Then, in `src/a.py`, change this:",
     "Here is the change to src/a.py.", "#### File 2: `src/a.py`"],
)  # fmt: skip
def test_the_line_above_names_the_file(line: str) -> None:
    text = block("x\n", "y\n")
    for between in ("\n", "\n\n", "\n```python\n", "\n\n~~~~~ py\n"):
        assert paths(f"Some words.\n\n{line}{between}{text}") == ["src/a.py"]


@pytest.mark.parametrize(
    ("line", "name"),
    [("Makefile", "Makefile"), ("`my file.txt`", "my file.txt"), ("File: run", "run"),
     (".env", ".env"),
     ("app/(main)/[id]/page.tsx", "app/(main)/[id]/page.tsx"), ("src\\a.py", "src\\a.py"),
     ("C++", None), ("Then:", None), ("Done.", None), ("...", None), ("```", None), ("", None),
     ("Replace this by that", None), ("https://example.com/a.py", None), ("foo()", None),
     ("e.g.", None), ("a.py and b.py", None), ("**", None), ("`` `", None), ("`*.py`", None),
     ("self.method()", None), ("Main config file: run", "run"), ("`run` a.py", None)],
)  # fmt: skip
def test_what_is_a_name(line: str, name: str | None) -> None:
    assert name_in_line(line) == name


@pytest.mark.parametrize(
    ("info", "name"),
    [("python src/a.py", "src/a.py"), ("src/a.py", "src/a.py"), ("python:src/a.py", "src/a.py"),
     ('py title="src/a.py"', "src/a.py"), ("{.python file=a.py}", "a.py"), ("python", None),
     ("", None)],
)  # fmt: skip
def test_the_fence_names_the_file(info: str, name: str | None) -> None:
    assert names_in(info)[0] == ([name] if name else [])
    if name:
        assert paths(f"Some words.\n```{info}\n{ONE}```\n") == [name]


def test_blocks_without_a_name_are_for_the_file_of_the_block_before() -> None:
    one = block("x\n", "y\n")
    text = f"a.py\n```\n{one}{one}```\nAnd then:\n\n```\n{one}```\nb.py\n{one}\n{one}"
    assert paths(text) == ["a.py", "a.py", "a.py", "b.py", "b.py"]
    assert [edit.number for edit in edits(text)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "line", ["", "Change this:", "See https://example.com/a.py", "As in Node.js:"]
)
def test_a_first_block_without_a_name_is_refused(line: str) -> None:
    assert "names no file" in refusal(f"{line}\n{ONE}")


def test_prose_about_several_files_is_refused() -> None:
    one = block("x\n", "y\n")
    for prose in ("Now `b.py`, as in c.py:", "Change b.py.\nThen look at c.py:", "b.py\nSee c.py:",
                  "b.py stays.\nThis comes from c.py:"):  # fmt: skip
        assert "may be for 'b.py' or 'c.py'" in refusal(f"a.py\n{one}{prose}\n{one}")


def test_a_file_in_a_heading_counts_before_prose_above_it() -> None:
    assert paths(f"As in x/y.c:\n\n#### File 2: `src/a.py`\n{ONE}") == ["src/a.py"]
    assert paths(f"a.py\n{ONE}In `b.unusual` (new):\n{ONE}") == ["a.py", "b.unusual"]


def test_the_edit_as_given_can_be_sent_again() -> None:
    (edit,) = edits(f"Words\n\n`a.py`\n```\n{ONE}```\n")
    assert edit.given == {"path": "a.py", "diff": block("x\n", "y\n").rstrip("\n")}
    (again,) = edits(json.dumps(edit.given))
    assert again[:3] == edit[:3]


@pytest.mark.parametrize("key", ["diff", "patch", "input"])
def test_blocks_in_json(key: str) -> None:
    one = block("x\n", "y\n")
    item = {"path": "src/a.py", key: one * 2, "base": "ABCDEF0"}
    assert [edit[:2] for edit in edits(json.dumps(item))] == [(0, "src/a.py"), (1, "src/a.py")]
    assert edits(json.dumps(item))[0].base == "abcdef0"
    for name in ("a.py", "src/a.py", "top/src/a.py"):
        assert paths(json.dumps({"path": "src/a.py", key: f"{name}\n{one}"})) == ["src/a.py"]
    lines = {"path": "src/a.py", "patch_lines": one.splitlines()}
    assert paths(json.dumps(lines)) == ["src/a.py"]
    assert "is for 'b.py', but 'path' is 'src/a.py'" in refusal(
        json.dumps({"path": "src/a.py", key: f"b.py\n{one}"})
    )


def test_prose_may_begin_as_json_does() -> None:
    one = block("x\n", "y\n")
    assert paths(f"[a.py](a.py)\n{one}") == ["a.py"]
    assert paths(f'"a.py"\n{one}') == ["a.py"]


# Properties


@given(st.text(max_size=40))
def test_any_line_is_a_name_or_none(line: str) -> None:
    name = name_in_line(line)
    assert name is None or name in line
    assert all(name in line and is_path(name) for name in names_in(line)[0])


LINES = st.lists(st.sampled_from(["a", "b", " b", "}", "x = 1", "value = start()", ""]), max_size=8)


@given(LINES, LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_whole_lines_that_are_there_once_are_replaced(
    above: list[str], old: list[str], below: list[str], ending: str, closed: bool
) -> None:
    lines = [*above, *old, "here", *below]
    file = "".join(line + ending for line in lines)
    file = file if closed else file[: -len(ending)]
    wanted = "".join(line + ending for line in [*above, "new", *below])
    wanted = wanted if closed else wanted[: -len(ending)]
    text = block("".join(f"{line}\n" for line in [*old, "here"]), "new\n")
    assert applied(file, text) == wanted


def test_a_block_without_a_divider_is_told_so_with_its_file() -> None:
    (failure,) = read("src/a.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n").failures
    assert "has no '=======' line" in failure.message
    assert "a line '======='" in str(failure.hint)
    assert failure.path == "src/a.py"
    # Nor is the file forgotten for the blocks below.
    inputs = read(f"src/a.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n{ONE}")
    assert ([edit.path for edit in inputs.edits], len(inputs.failures)) == (["src/a.py"], 1)
    inputs = read(f"src/a.py\n<<<<<<< SEARCH\nx\n=======\ny\n{ONE}")
    assert ([edit.path for edit in inputs.edits], len(inputs.failures)) == (["src/a.py"], 1)
    # One without a name above it lacks two things; the divider is what makes it a block.
    (failure,) = read("<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n").failures
    assert "has no '=======' line" in failure.message


@pytest.mark.parametrize("line", ["<<<<<<< SEARCH", ">>>>>>> REPLACE"])
def test_a_text_of_markers_only_is_not_answered_line_by_line(line: str) -> None:
    (failure,) = read(f"a.py\n{ONE}" + f"{line}\n" * 5_000).failures
    assert "more than 5000 edits" in failure.message


BLOCK = block("a\n", "b\n")


@pytest.mark.parametrize("name", ["my file.txt", "sub dir/x.py", "Meeting notes 2.md"])
def test_a_path_with_blanks_is_not_taken_for_prose(name: str) -> None:
    """The last word may be another file."""
    assert repr(name) in refusal(f"{name}\n{BLOCK}")
    assert paths(f'"{name}"\n{BLOCK}') == [name]
    assert paths(f"Here is file.txt\n{BLOCK}") == ["file.txt"]
