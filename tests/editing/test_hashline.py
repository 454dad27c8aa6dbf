"""Hashline, the other spelling of the format `lines`: its words, its sections, and its JSON."""

from __future__ import annotations

import pytest

from git_boocode.editing.actions import Delete, Keep
from git_boocode.editing.edits import Edit, MatchOptions
from git_boocode.editing.formats import text_format
from git_boocode.editing.inputs import Source, read_inputs
from git_boocode.editing.line_changes import LineChanges
from git_boocode.editing.short_tags import hashline_tag
from git_boocode.editing.textfile import FileText
from tests.editing.kit import apply, codes, edits_of, read, refused
from tests.repo_kit import Repo

ID = "1f0c9a7b3d42"
HEAD = f"[a.py#{ID}]\n"
FILE = "a\nb\nc\nd\ne\n"


def applied(edit: Edit, file: str = FILE) -> str:
    assert isinstance(edit.action, LineChanges)
    done = edit.action.apply(FileText(file), MatchOptions()).text
    assert done is not None
    return done.text


def made(operations: str) -> str:
    """What operations make of the file."""
    (edit,) = edits_of(HEAD + operations)
    assert (edit.path, edit.base, edit.format) == ("a.py", ID, "lines")
    return applied(edit)


def refusal(value: object) -> tuple[str, str]:
    """Message and hint of the only failure."""
    inputs = read(value)
    assert [failure.code for failure in inputs.failures] == ["invalid_input"]
    assert not inputs.edits
    return inputs.failures[0].message, inputs.failures[0].hint or ""


# Operations


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ("PUT 2.=3:\n+x\n", "a\nx\nd\ne\n"),
        ("PUT <2:\n+x\n", "a\nx\nb\nc\nd\ne\n"),
        ("PUT >2:\n+x\n", "a\nb\nx\nc\nd\ne\n"),
        ("PUT <1:\n+x\nPUT >$:\n+y\n", "x\na\nb\nc\nd\ne\ny\n"),
        ("CUT 2.=3\n", "a\nd\ne\n"),
        ("SWAP 2.=3:\n+x\n", "a\nx\nd\ne\n"),
        ("INS.PRE 2:\n+x\n", "a\nx\nb\nc\nd\ne\n"),
        ("INS.POST 2:\n+x\n", "a\nb\nx\nc\nd\ne\n"),
        ("INS.HEAD:\n+x\nINS.TAIL:\n+y\n", "x\na\nb\nc\nd\ne\ny\n"),
        ("DEL 2\nDEL 4.=5\n", "a\nc\n"),
        ("replace 2..3:\n+x\n", "a\nx\nd\ne\n"),
        ("insert before 2:\n+x\n", "a\nx\nb\nc\nd\ne\n"),
        ("insert after 2:\n+x\n", "a\nb\nx\nc\nd\ne\n"),
        ("insert head:\n+x\ninsert tail:\n+y\n", "x\na\nb\nc\nd\ne\ny\n"),
        ("delete 2..3\n", "a\nd\ne\n"),
        ("PUT 5:\n+E\nCUT 1\nPUT >2:\n+B2\n+\n+B3\n", "b\nB2\n\nB3\nc\nd\nE\n"),
    ],
)
def test_each_generation_of_words(operations: str, expected: str) -> None:
    assert made(operations) == expected


@pytest.mark.parametrize("between", [".=", "..", "...", "-", "–", "…", ".", ",", " ", " .= "])
def test_a_range_is_inclusive_with_any_separator(between: str) -> None:
    assert made(f"PUT 2{between}4:\n+x\n") == "a\nx\ne\n"


@pytest.mark.parametrize("row", ["+", "++", "+-x", "+ x", "+[b.py#1234567]", "+REM", "+```", "+\t"])
def test_whatever_follows_the_plus_is_content(row: str) -> None:
    assert made(f"PUT 1.=5:\n{row}\n") == f"{row[1:]}\n"


def test_a_blank_line_between_rows_is_one_of_them_and_others_are_not() -> None:
    assert made("\nPUT 1.=5:\n\n+x\n\n\n+y\n\n") == "x\n\n\ny\n"


def test_carriage_returns_of_the_text_are_not_content() -> None:
    assert made("PUT 1.=5:\r\n+x\r\n+y\r\n") == "x\ny\n"


@pytest.mark.parametrize(
    ("operations", "message", "hint"),
    [
        (
            "REPLCE 3..5:\n+x\n",
            "line 2: unknown operation 'REPLCE 3..5:', nearest is 'replace'",
            "",
        ),
        ("INS.POS 3:\n+x\n", "nearest is 'INS POST'", "operations are 'PUT 3.=5:'"),
        ("PUT 5.=3:\n+x\n", "line 2: 'PUT 5.=3:' has its range reversed", "write 3.=5"),
        ("PUT 0:\n+x\n", "names line 0; lines are counted from 1", ""),
        ("PUT -3:\n+x\n", "'PUT -3:' names no line", "operations are"),
        ("PUT 2.=:\n+x\n", "'PUT 2.=:' names no line", "operations are"),
        (f"CUT {'9' * 99}\n", "has a line number that is too large", ""),
        ("PUT <2.=3:\n+x\n", "inserts at one line, but names two", ""),
        ("PUT 2.=3:\n", "line 2: no '+' line follows 'PUT 2.=3:'", "'CUT 3.=5' deletes lines"),
        ("PUT >2\n", "no '+' line follows", ""),
        ("CUT 2.=3\n+x\n", "line 3 is a '+' line below 'CUT 2.=3', which takes none", ""),
        ("PUT 2:\n+x\nMV b\n+y\n", "line 5 is a '+' line below 'MV b', which takes none", ""),
        ("REM\n+y\n", "line 3 is a '+' line below 'REM', which takes none", ""),
        ("+y\nCUT 1\n", "line 2, '+y', is in no section", ""),
        *(
            (f"{operation} {text}\n", f"line 2: '{operation} {text}' has new text", hint)
            for operation, text in (("PUT 2:", "x"), ("replace 2:", "+x"), ("PUT >$:", "x"))
            for hint in (f"write '{operation}', and below it '+x'",)
        ),
        ("CUT 1\nPUT 2: x\n", "line 3: 'PUT 2: x' has new text", "and below it '+x'"),
        ("PUT <^:\n", "the header at line 1; line 2: 'PUT <^:' is neither", "operations are"),
        ("PUT 2:\n-b\n+x\n", "line 3: '-b' quotes an old line", "leave it out"),
        ("PUT 2:\n+x\n  y\n", "line 4: 'y' is neither an operation nor", "put '+' before"),
        ("PUT 2*:\n+x\n", "is for blocks, which are not supported", "name the first and the last"),
        ("SWAP.BLK 2:\n+x\n", "is for blocks", ""),
        ("insert after block 2:\n+x\n", "is for blocks", ""),
        (
            "CUT 2.=3 @one\n",
            "is for registers, which are not supported",
            "insert them as '+' lines",
        ),
        ("PUT >3 @one\n", "is for registers", ""),
        ("PASTE.POST 3\n", "is for registers", ""),
        ("MV b c.py\n", "line 2: the path after 'MV' has spaces", 'MV "b c.py"'),
        ("MV\n", "line 2: the path is missing after 'MV'", ""),
        ('MV ""\n', "the path is missing after 'MV'", ""),
        ('MV "b" c\n', "has spaces", ""),
        ("MV b.py\nMV c.py\n", "line 3 is a second operation on the whole file", ""),
        ("REM\nCUT 1\n", "'REM' deletes the whole file", ""),
    ],
)
def test_a_refusal_names_the_line_and_what_to_write(
    operations: str, message: str, hint: str
) -> None:
    found = refusal(HEAD + operations)
    assert message in found[0]
    assert hint in found[1]


# Sections


def test_several_files_in_one_text_with_a_move_and_a_removal() -> None:
    text = (
        f"[a.py#{ID}]\nPUT 1:\n+A\nMV lib/a.py\n\n[b c.py#1A2B]\nREM\n"
        f'["t\\tb\\303\\244.py"#{ID}]\nMV "b c.py"\n[x#y].py#{ID}]\nCUT 1\n["q"r"#{ID}]\nCUT 1\n'
    )
    edits = edits_of(text)
    assert [(edit.path, edit.base, edit.to, type(edit.action)) for edit in edits] == [
        ("a.py", ID, None, LineChanges),
        # By itself, because the file must still have that version.
        ("a.py", ID, "lib/a.py", Keep),
        ("b c.py", "1a2b", None, Delete),
        ("t\tbä.py", ID, "b c.py", Keep),
        ("x#y].py", ID, None, LineChanges),
        ('"q"r"', ID, None, LineChanges),
    ]
    assert edits[2].given == "[b c.py#1A2B]\nREM\n"


@pytest.mark.parametrize(
    "text",
    [
        "Here it is:\n\n{}\n",
        "Text.\n\n```\n{}\n```\n\nMore text, about [other#1234567].\n",
        "1. Text:\n\n   ```hashline\n   [a.py#{id}]\n   PUT 2:\n   +x\n   ```\n   More.\n",
        "*** Begin Patch\n{}\n*** End Patch\nMore text.\n",
        "```\n*** Begin Patch\n\n{}\n*** End Patch\n```\n",
        "[a.py#{id}]\n```\nPUT 2:\n+x\n```\nMore text.\n",
        "[a.py#{id}]\n1| a\n2| b\n\nPUT 2:\n+x",
        "¶a.py#{id}\nreplace 2..2:\n+x\n",
    ],
)
def test_prose_a_fence_or_an_envelope_may_be_around(text: str) -> None:
    (edit,) = edits_of(text.format(f"{HEAD}PUT 2:\n+x", id=ID))
    assert (edit.path, edit.base, applied(edit)) == ("a.py", ID, "a\nx\nc\nd\ne\n")


@pytest.mark.parametrize(
    "item",
    [
        {"input": f"{HEAD}PUT 2:\n+x\n"},
        {"path": "a.py", "base": ID, "patch": "PUT 2:\n+x\n"},
        {"path": "a.py", "base": ID, "patch": "```\nPUT 2:\n+x\n```\n"},
        {"path": "a.py", "patch": f"[src/a.py#{ID}]\nPUT 2:\n+x\n"},
        {"path": "a.py", "patch_lines": [HEAD[:-1], "PUT 2:", "+x"]},
        {"tool_name": "edit", "tool_input": {"input": f"{HEAD}PUT 2:\n+x"}},
    ],
)
def test_a_text_in_an_object(item: dict[str, object]) -> None:
    (edit,) = edits_of(item)
    assert (edit.path, edit.base, applied(edit)) == ("a.py", ID, "a\nx\nc\nd\ne\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "no operation follows a header"),
        (f"{HEAD}1| a\n2| b\n", "no operation follows a header"),
        ("PUT 1.=2:\n+x\n", "line 1, 'PUT 1.=2:', is in no section"),
        ("[a.py]\nPUT 1:\n+x\n", "the header at line 1 names no version"),
        ("[a.py#12345g]\nPUT 1:\n+x\n", "has the version '12345g'"),
        ("[a.py#123]\nPUT 1:\n+x\n", "has the version '123'; expected 4 to 64"),
        (f"[#{ID}]\nPUT 1:\n+x\n", "names no file"),
        (f"```\n{HEAD}PUT 1:\n+x\n", "the text may be truncated"),
        (f"*** Begin Patch\n{HEAD}PUT 1:\n+x\n", "the text may be truncated"),
        (f"{HEAD}PUT 1:\n+x\n```\n+y\n", "line 4: '```' is neither an operation nor"),
        (f"```\n{HEAD}PUT 1:\n+x\n```\ny\n```\nz\n", "the text may be truncated"),
        (f"{HEAD}PUT 1:\n+x\n\nText.\n", "line 5: 'Text.' is neither an operation nor"),
        ({"path": "a.py", "patch": "PUT 1:\n+x\n"}, "'base' is missing"),
        ({"path": "b.py", "patch": f"{HEAD}CUT 1\n"}, "is for 'a.py', but 'path' is 'b.py'"),
        ({"path": "a.py", "base": "2" * 40, "patch": f"{HEAD}CUT 1\n"}, "but 'base' is 2222"),
    ],
)
def test_a_section_that_is_incomplete_or_contradicts(text: object, message: str) -> None:
    assert message in refusal(text)[0]


def test_one_wrong_section_of_several_is_refused_by_itself() -> None:
    inputs = read(f"```\n{HEAD}[b.py#{ID}]\nREM\n[c.py#{ID}]\nCUT 0\n```\n")
    assert [edit.path for edit in inputs.edits] == ["b.py"]
    assert [(one.number, one.path, one.message) for one in inputs.failures] == [
        (0, "a.py", "no operation follows the header at line 2"),
        (2, "c.py", "line 6: 'CUT 0' names line 0; lines are counted from 1"),
    ]


def test_a_missing_version_is_refused_with_the_command_that_gives_it() -> None:
    for text in ("[a b.py]\nPUT 1:\n+x\n", "[a b.py#zz]\nPUT 1:\n+x\n"):
        assert refusal(text)[1] == "get the version with: git boocode read 'a b.py'"


@pytest.mark.parametrize(
    "other",
    [
        "*** Begin Patch\n*** Update File: b\n@@\n-x\n+y\n*** End Patch\n",
        "```\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n```\n",
        "```\nb.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n",
        "```\nPUT 3:\n+x\n```\n",
        "```\n+x\n```\n",
        "REM\n",
    ],
)
def test_no_edit_outside_of_the_sections_is_ignored(other: str) -> None:
    inputs = read(f"```\n{HEAD}PUT 1:\n+x\n```\n{other}")
    assert [failure.code for failure in inputs.failures] == ["invalid_input"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n {HEAD} PUT 3:\n-a\n+b\n", "unified"),
        (f"x\n<<<<<<< SEARCH\n{HEAD}PUT 3:\n=======\n>>>>>>> REPLACE\n", "search-replace"),
        (f"*** Begin Patch\n*** Add File: x\n+{HEAD}+PUT 3:\n*** End Patch\n", "apply-patch"),
        (f"{HEAD}\nText.\n\nx\n<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\n", "search-replace"),
        (f"{HEAD}Step 3:\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "unified"),
        ("[tool.x]\nkey = 3\n", None),
        (f"{HEAD}1| a\n2| b\n", None),
        ("See [foo#1234567]: delete 3 lines.\n", None),
        ("Put 3 of them into the pot.\nDelete the rest\n", None),
    ],
)
def test_texts_of_other_formats_and_prose_stay_what_they_are(
    text: str, expected: str | None
) -> None:
    assert text_format(text) == expected


def test_a_header_between_blocks_of_another_format_is_prose() -> None:
    block = "a.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    assert [edit.format for edit in edits_of(f"{block}{HEAD}1| b\n{block}")] == [
        "search-replace",
        "search-replace",
    ]
    assert len(read(f"{block}{HEAD}CUT 1\n{block}").failures) == 1


DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n"
PATCH = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n"


UNFRAMED = "*** Update File: x\n@@\n-a\n+b\n"


@pytest.mark.parametrize("other", [DIFF, PATCH, UNFRAMED])
def test_a_section_below_a_patch_is_refused(other: str) -> None:
    for below in (f"{HEAD}CUT 3\n", f"\nAnd then:\n```\n{HEAD}CUT 3\n```\n"):
        assert refusal(other + below)[0] == "the text also contains an edit in the format lines"
    for prose in (
        HEAD,
        f"\nNow {HEAD}has the text.\n",
        f"\n{HEAD}3| c\n\nDelete the rest by hand.\n",
    ):
        (edit,) = edits_of(other + prose)
        assert edit.path == "x"


def test_the_format_of_hashline_is_lines() -> None:
    source = [Source("input", f"{HEAD}CUT 1\n".encode())]
    assert [edit.format for edit in read_inputs(source, "lines").edits] == ["lines"]
    assert "it is not in the format unified" in read_inputs(source, "unified").failures[0].message


# JSON


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "replace", "pos": 2, "end": 3, "lines": ["x"]}],
        [{"op": "replace", "pos": "2", "end": "3", "lines": "x"}],
        [{"op": "replace", "pos": f"2#{ID}", "end": f"3#{ID}", "lines": ["x"]}],
        [{"op": "replace", "pos": 2, "lines": None}, {"op": "replace", "pos": 3, "lines": "x\n"}],
        [{"op": "append", "pos": 1, "lines": ["x"]}, {"op": "replace", "pos": 2, "end": 3,
                                                     "lines": []}],
        [{"op": "prepend", "pos": 4, "lines": ["x"]}, {"op": "replace", "pos": 2, "end": 3,
                                                      "lines": []}],
        [{"replace_lines": {"start_anchor": "2", "end_anchor": "3", "new_text": "x"}}],
        [{"set_line": {"anchor": 2, "new_text": "x"}}, {"set_line": {"anchor": 3,
                                                                     "new_text": ""}}],
        [{"replace_lines": {"start_anchor": "2", "end_anchor": "3", "new_text": ""}},
         {"insert_after": {"anchor": "3", "text": "x"}}],
    ],
)  # fmt: skip
def test_json_with_positions(operations: list[object]) -> None:
    (edit,) = edits_of({"filePath": "a.py", "base": ID, "edits": operations})
    assert (edit.path, edit.base, edit.format) == ("a.py", ID, "lines")
    assert applied(edit) == "a\nx\nd\ne\n"


def test_json_without_a_position_is_for_an_end_of_the_file() -> None:
    item = {"path": "a.py", "base": ID}
    edits = [{"op": "prepend", "lines": ["x"]}, {"op": "append", "lines": ["y"]}]
    (edit,) = edits_of({**item, "edits": edits})
    assert applied(edit, "a") == "x\na\ny"
    assert [applied(one) for one in edits_of([{**item, **one} for one in edits])] == [
        f"x\n{FILE}",
        f"{FILE}y\n",
    ]


def test_json_renames_and_deletes() -> None:
    item = {"filePath": "a.py", "base": ID}
    moved = {**item, "edits": [{"op": "replace", "pos": 1, "lines": ["x"]}], "rename": "b.py"}
    assert [(type(edit.action), edit.to) for edit in edits_of(moved)] == [
        (LineChanges, None),
        (Keep, "b.py"),
    ]
    (edit,) = edits_of({**item, "edits": [], "delete": True})
    assert (edit.action, edit.base) == (Delete(), ID)
    (edit,) = edits_of({**item, "delete": True})
    assert (edit.action, edit.base) == (Delete(), ID)
    (edit,) = edits_of({**item, "rename": "b.py"})
    assert (edit.action, edit.base, edit.to) == (Keep(), ID, "b.py")


@pytest.mark.parametrize(
    "part", [{"start_line": 3, "end_line": 4}, {"line": 3}, {"lines": "3-5"}, {"from": 3}]
)
def test_a_file_is_not_deleted_for_a_part_of_it(part: dict[str, object]) -> None:
    for whole in ({"delete": True}, {"rename": "b"}, {"delete": True, "edits": []}):
        message, hint = refusal({"path": "a", "base": ID, **whole, **part})
        assert f"'{next(iter(part))}' is for a part" in message
        assert hint == 'to delete lines, send start_line, end_line and "content": []'


@pytest.mark.parametrize("position", ["42#VK", "12:a3f", "12:a3f|x", "3#1a2b"])
def test_the_hash_of_a_line_is_refused_with_what_to_send(position: str) -> None:
    for base in ({}, {"base": ID}):
        edit = {"op": "replace", "pos": position, "lines": ["x"]}
        message, hint = refusal({"filePath": "a.py", "edits": [edit], **base})
        assert f"'edits[0].pos' is '{position}'" in message
        assert "git boocode read a.py" in hint


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "set", "tag": "5#ZP"},
        {"op": "replace", "first": "5#ZP", "last": "6#AB"},
        {"op": "append", "after": 5},
        {"op": "append"},
        {"op": "replace_line", "ref": "a3f"},
        {"loc": "12:a3f"},
        {"at": "7|f0c1"},
    ],
)
def test_content_for_hashed_lines_is_not_taken_for_the_whole_file(edit: dict[str, object]) -> None:
    for item in (
        {"path": "a", "edits": [{**edit, "content": "x"}]},
        {"path": "a", **edit, "content": "x"},
    ):
        assert "'content' is for the whole file, but" in refusal(item)[0]


@pytest.mark.parametrize(
    ("edits", "more", "message"),
    [
        ([{"op": "replace", "pos": 1, "lines": []}], {"base": None}, "'base' is missing"),
        ([{"op": "replace", "pos": 3, "end": 2, "lines": []}], {}, "the range ends above it"),
        ([{"op": "replace", "lines": ["x"]}], {}, "'edits[0].pos' is missing"),
        ([{"op": "replace", "pos": 1}], {}, "'edits[0].lines' is missing"),
        (
            [{"op": "delete", "pos": 3}],
            {},
            "'edits[0].op' is 'delete'; expected one of",
        ),
        ([{"op": "insert", "pos": 3, "lines": "x"}], {}, "'edits[0].op' is 'insert'"),
        ([{"op": "replace", "pos": 3, "last": 5, "lines": "x"}], {}, "unknown key 'last'"),
        ([{"set_line": {"anchor": 1, "end": 2, "new_text": "x"}}], {}, "unknown key 'end'"),
        ([{"op": "replace", "pos": 0, "lines": []}], {}, "expected the number of a line, from 1"),
        ([{"op": "replace", "pos": True, "lines": []}], {}, "'edits[0].pos' is 'True'"),
        ([{"op": "append", "pos": 1, "lines": []}], {}, "there is nothing to insert"),
        ([{"op": "append", "lines": "x"}, {"old_string": "a"}], {}, "'edits[1]' is not an operat"),
        ([{"op": "append", "lines": "x"}], {"delete": True}, "'delete' deletes the whole file"),
        ([{"op": "append", "lines": "x"}], {"old_string": "a"}, "it mixes the formats"),
        ([{"op": "replace", "pos": f"1#{'2' * 12}", "lines": []}], {}, "is for version 2222"),
    ],
)
def test_json_that_is_wrong(edits: list[object], more: dict[str, object], message: str) -> None:
    assert message in refusal({"path": "a.py", "base": ID, "edits": edits, **more})[0]


@pytest.mark.parametrize(
    "text",
    ['["\ud800"#1234567]\nPUT 1:\n+x', '[a#1234567]\nMV "\ud800"', '--- "\ud800"\n+++ b\n@@\n+x'],
)
def test_half_a_character_in_quotes_is_part_of_the_name(text: str) -> None:
    (edit,) = edits_of({"patch": text})
    assert "\ud800" in (edit.path, edit.to)


# Versions


def test_the_tag_of_oh_my_pi() -> None:
    # The values are from its own tests, and from those of XXH32.
    known = {"a\n b\nc": "80ba", "hello\n": "5bf9", "": "5d05", "abc": "53ff"}
    assert {text: hashline_tag(text) for text in known} == known
    assert hashline_tag("Nobody inspects the spammish repetition") == "3b2f"


def tag_of(text: str) -> str:
    return hashline_tag(text).upper()


def section(path: str, tag: str, operations: str) -> bytes:
    return f"[{path}#{tag}]\n{operations}".encode()


def test_a_short_tag_names_the_only_version_that_it_fits(repo: Repo) -> None:
    repo.write("a", "1\n2 \r\n3\n4\n5\n")
    apply(section("a", tag_of("1\n2\n3\n4\n5\n"), "PUT 1:\n+one\n"))
    # That version is in the record of the edit, and the merge finds the line again.
    repo.write("a", "0\n" + repo.read("a").decode())
    apply(section("a", tag_of("1\n2\n3\n4\n5\n"), "PUT 5:\n+five\n"))
    assert repo.read("a").decode() == "0\none\n2 \r\n3\n4\nfive\n"
    assert codes(section("a", "0000", "PUT 5:\n+x\n")) == [(0, "stale")]
    assert refused(section("a", "0000", "PUT 5:\n+x\n")).hints == (
        "get the version with: git boocode read a",
    )


def test_a_short_tag_may_be_the_beginning_of_a_blob_id(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=FILE).strip()
    repo.write("a", FILE)
    repo.commit()
    repo.write("a", f"0\n{FILE}")
    apply(section("a", blob[:4], "CUT 2\n"))
    assert repo.read("a").decode() == "0\na\nc\nd\ne\n"
    # A blob that is no version of this file is not meant.
    repo.write("b", "other\n")
    assert codes(section("b", blob[:6], "CUT 1\n")) == [(0, "stale")]


@pytest.mark.parametrize("digits", [4, 6])
def test_a_short_tag_may_be_of_a_version_that_was_read(repo: Repo, digits: int) -> None:
    repo.write("a", "committed\n")
    repo.commit()
    repo.write("a", FILE)
    version = repo.boocode("read", "--json", "a").json["version"]
    repo.write("a", f"0\n{FILE}")
    apply(section("a", version[:digits], "CUT 2\n"))
    assert repo.read("a").decode() == "0\na\nc\nd\ne\n"


def test_only_the_present_version_is_moved_or_removed(repo: Repo) -> None:
    for path in ("a", "b"):
        repo.write(path, FILE)
    repo.commit()
    version = repo.git("rev-parse", "HEAD:a").strip()[:12]
    repo.write("a", f"{FILE}by others\n")
    for operations in ("REM\n", "MV c\n"):
        assert codes(section("a", version, operations)) == [(0, "stale")]
    assert codes(section("a", version, "PUT 1:\n+A\nMV c\n")) == [(1, "stale")]
    apply(section("b", version, "PUT 1:\n+B\nMV d/c\n"))
    assert repo.read("d/c").decode() == FILE.replace("a", "B")
    assert codes(section("d/c", version, "REM\n")) == [(0, "stale")]
