"""The format `lines`: positions in a version of the file, merged with what has changed since."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.edits import EditResult, MatchOptions, MissError
from git_boocode.editing.inputs import Source
from git_boocode.editing.line_changes import LineChange, LineChanges, VersionEdits
from git_boocode.editing.service import Options, apply_edits
from git_boocode.editing.textfile import FileText, decode
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.object_writer import blob_ids
from tests.editing.kit import apply, codes, edits_of, read, refused, replace
from tests.repo_kit import Repo

TEXT = "a\nb\nc\nd\ne\n"
ID = blob_ids(TEXT.encode())[0]
HOW = MatchOptions()
SIX = {"start_line": 6, "content": "x"}


def edit(*changes: object, **more: object) -> dict[str, object]:
    return {"path": "a", "base": ID, "changes": list(changes), **more}


def result(text: str | bytes, *changes: object, how: MatchOptions = HOW) -> EditResult:
    (parsed,) = edits_of(edit(*changes))
    assert (parsed.format, parsed.base) == ("lines", ID)
    return parsed.action.apply(decode(text if isinstance(text, bytes) else text.encode()), how)


def applied(text: str, *changes: object, how: MatchOptions = HOW) -> str:
    done = result(text, *changes, how=how).text
    assert done is not None
    return done.text


def miss(text: str | bytes, *changes: object) -> MissError:
    with pytest.raises(MissError) as caught:
        result(text, *changes)
    return caught.value


def invalid(item: dict[str, object]) -> str:
    (failure,) = read({"path": "a", "base": ID, **item}).failures
    assert failure.code == "invalid_input"
    return failure.message


def blob(repo: Repo, data: str | bytes) -> str:
    data = data if isinstance(data, bytes) else data.encode()
    repo.write("blob", data)
    return repo.git("hash-object", "-w", "--no-filters", "blob").strip()


# Changes of the version that the file has


def test_lines_are_replaced_deleted_and_inserted_by_their_numbers() -> None:
    changes = [
        {"start_line": 2, "end_line": 3, "content": ["B", "C", "C2"]},
        {"before_line": 1, "content": "top"},
        {"after_line": 5, "content": ["end"]},
        {"startLine": 4, "content": []},
    ]
    for order in (changes, changes[::-1]):
        done = result(TEXT, *order)
        assert done.text == FileText("top\na\nB\nC\nC2\ne\nend\n")
        assert done.applied[:6] == ("exact", "lines", 1.0, 4, 1, 5)
    assert done.applied.notes == ("changes: at the top, lines 2-3, line 4, after line 5",)


def test_one_change_may_stand_without_an_array() -> None:
    (parsed,) = edits_of({"path": "a", "base": ID, "start_line": 2, "content": "x"})
    assert parsed.action == LineChanges((LineChange(2, 2, ("x",)),))
    outside = {"path": "a", "base": ID, "edits": [{"after_line": 2, "content": "x"}]}
    (parsed,) = edits_of(outside)
    assert (parsed.base, parsed.action) == (ID, LineChanges((LineChange(3, 2, ("x",)),)))


def test_insertions_at_one_place_keep_their_order() -> None:
    places = [{"after_line": 2}, {"before_line": 3}, {"after_line": 2}]
    changes = [{**place, "content": str(at)} for at, place in enumerate(places)]
    replaced = {"start_line": 3, "content": "C"}
    assert applied(TEXT, replaced, *changes) == "a\nb\n0\n1\n2\nC\nd\ne\n"


def test_below_the_last_line() -> None:
    below = LineChanges((LineChange(None, 0, ("x",)),))
    for text, wanted in (("a\nb\n", "a\nb\nx\n"), ("a\nb", "a\nb\nx"), ("", "x\n")):
        assert below.apply(FileText(text), HOW).text == FileText(wanted)


@pytest.mark.parametrize(
    ("text", "change", "wanted"),
    [
        ("a\nb", {"start_line": 2, "content": []}, "a"),
        ("a\nb", {"start_line": 2, "content": ["x", "y"]}, "a\nx\ny"),
        ("a\nb", {"start_line": 1, "content": []}, "b"),
        ("a\nb", {"after_line": 2, "content": "x\n"}, "a\nb\nx"),
        ("a\nb", {"start_line": 1, "end_line": 2, "content": []}, ""),
        ("a\r\nb", {"after_line": 2, "content": "x\ny"}, "a\r\nb\r\nx\r\ny"),
        ("a\r\nb\r\n", {"start_line": 1, "content": "x\r\ny"}, "x\r\ny\r\nb\r\n"),
        ("a\r\nb\n", {"start_line": 1, "end_line": 2, "content": ["x", "y"]}, "x\r\ny\n"),
        ("a\r\nb\n", {"after_line": 1, "content": ["x"]}, "a\r\nx\r\nb\n"),
        ("a\rb\r", {"after_line": 1, "content": ["x"]}, "a\rb\r\nx"),
        ("", {"after_line": 0, "content": ["x"]}, "x\n"),
        ("", {"before_line": 1, "content": [""]}, "\n"),
        ("\n", {"start_line": 1, "content": []}, ""),
    ],
)
def test_line_endings_are_those_of_the_file(text: str, change: object, wanted: str) -> None:
    assert applied(text, change) == wanted


def test_lines_that_the_version_does_not_have() -> None:
    error = miss(TEXT, SIX, {"after_line": 9, "content": "x"}, {"before_line": 6, "content": "x"})
    assert error.code == "invalid_input"
    assert error.message == (
        "changes[0]: cannot replace line 6: that version has 5 lines; "
        "changes[1]: cannot insert after line 9: that version has 5 lines"
    )
    assert error.hint == "to add lines at the end, insert with after_line: 5"
    assert miss("", SIX).message == "cannot replace line 6: that version is empty"


def test_changes_of_the_same_line_overlap() -> None:
    def message(*changes: tuple[int, int]) -> str:
        items = [{"start_line": first, "end_line": last, "content": []} for first, last in changes]
        error = miss(TEXT, *items)
        assert error.code == "overlap"
        return error.message

    assert message((1, 3), (5, 5), (3, 4)) == (
        "changes[0] (lines 1-3) and changes[2] (lines 3-4) overlap"
    )
    assert message((2, 2), (2, 2)) == "changes[0] (line 2) and changes[1] (line 2) overlap"
    inside = {"after_line": 2, "content": "x"}
    assert (
        "after line 2"
        in miss(TEXT, inside, {"start_line": 2, "end_line": 3, "content": []}).message
    )


def test_line_numbers_that_were_copied_are_removed() -> None:
    copied = {"start_line": 2, "end_line": 3, "content": [" 2| B", " 3|", " 4|   C"]}
    done = result(TEXT, copied)
    assert done.text == FileText("a\nB\n\n  C\nd\ne\n")
    assert done.applied.notes == ("line numbers stripped",)
    assert applied(TEXT, copied, how=MatchOptions(verbatim=True)).startswith("a\n 2| B\n")
    assert applied(TEXT, {"start_line": 2, "content": "2| x"}) == "a\nx\nc\nd\ne\n"
    for kept in (["7| x"], ["2| x", "y"], ["2| x", "4| y"], ["2| b"], ["2|x"]):
        assert applied(TEXT, {"start_line": 2, "content": kept}).split("\n")[1:-4] == kept
    assert applied("1| a\n", {"start_line": 1, "content": "1| b"}) == "1| b\n"


@pytest.mark.parametrize(
    "change",
    [
        {"after_line": 1, "content": ["1| alpha", "2| beta"]},
        {"after_line": 3, "content": ["12| def total(rows):", "13|     return sum(rows)", "14|"]},
        {"start_line": 3, "content": ["1| alpha", "2| beta"]},
        {"after_line": 1, "content": ["1| alpha"]},
    ],
)
def test_line_numbers_that_belong_to_the_content_stay(change: dict[str, object]) -> None:
    content = change["content"]
    assert isinstance(content, list)
    assert "\n".join(content) in applied(TEXT, change)


def test_line_numbers_that_were_copied_with_a_line_of_the_version_are_removed() -> None:
    change = {"after_line": 4, "content": ["4| d", "5| new"]}
    assert applied(TEXT, change) == "a\nb\nc\nd\nd\nnew\ne\n"


def test_content_that_cannot_be_meant_is_refused(repo: Repo) -> None:
    repo.write("a", TEXT)
    for content, word in (("# ... rest of code", "placeholder"), ("x\0", "NUL")):
        change = {"start_line": 2, "content": content}
        (failure,) = refused(edit(change)).failures
        assert failure.code == "invalid_input"
        assert word in failure.message
    assert miss(b"a\0b\n", {"start_line": 1, "content": "x"}).code == "binary"


TWO = "def one():\n    return value\n}\ndef two():\n    pass\n    pass\n"


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (1, {"start_line": 2, "content": ["def one():", "    return 1"]}),
        (2, {"start_line": 1, "content": ["def one(x):", "    return value"]}),
        (4, {"after_line": 4, "content": ["def two():", "    yield"]}),
        (4, {"before_line": 4, "content": ["def new():", "    yield", "def two():"]}),
    ],
)
def test_content_that_repeats_the_line_beside_its_place_is_refused(
    line: int, change: dict[str, object]
) -> None:
    error = miss(TWO, change)
    assert error.message.startswith(f"line {line} would occur twice")
    assert (error.code, error.lines) == ("invalid_input", (line,))
    assert result(TWO, change, how=MatchOptions(verbatim=True)).text


def test_a_line_that_is_the_changed_line_above_or_below_is_refused() -> None:
    text = "a = load(path, mode, size)\nreturn parse\nb = store(path, a, mode, size)\n"
    for number, content in ((1, "a = load(path, mode, 1)"), (3, "b = store(path, a, mode, 1)")):
        with pytest.raises(MissError, match=f"^the content is line {number} changed") as miss:
            applied(text, {"start_line": 2, "content": content})
        assert (miss.value.code, miss.value.lines) == ("invalid_input", (number,))
    assert applied(text, {"start_line": 1, "content": "a = load(path, mode, 1)"})
    assert applied(text, {"start_line": 2, "content": "a = load(b, otherwise)"})
    both = {"start_line": 1, "end_line": 2, "content": ["a = 1", "a = load(path, mode, 1)"]}
    assert applied(text, both).startswith("a = 1\na = load(path, mode, 1)\nb = ")


def test_a_line_may_be_repeated_that_is_short_or_not_unique_or_changes_too() -> None:
    assert applied(TWO, {"after_line": 3, "content": ["}", "new"]}).count("}\n}\n") == 1
    assert applied(TWO, {"after_line": 6, "content": ["    pass"]}).count("    pass\n") == 3
    renamed = {"start_line": 1, "content": "def zero():"}
    moved = {"start_line": 2, "content": ["def one():", "    return 1"]}
    assert applied(TWO, renamed, moved).startswith("def zero():\ndef one():\n    return 1\n}\n")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("#ifndef H\n#define H\nint a;\n#endif\n", (4, ["#ifdef FOO", "int x;", "#endif"])),
        ("ifdef ABCDEFG\nX=1\nendif\n", (3, ["ifdef OTHER", "Y=1", "endif"])),
        ("{% if user %}\nx\n{% endif %}\n", (3, ["{% if name %}", "{{ name }}", "{% endif %}"])),
        ("<div class='list'>\nx\n</div class>\n", (3, ["<p>", "</div class>"])),
        ("  100,\n  200,\n", (2, ["  200,", "  200,"])),
        ("- [ ] TODO\n- done\n", (2, ["- [ ] TODO"])),
        ("assert next(it) == 1\nend\n", (2, ["assert next(it) == 1"])),
    ],
)
def test_everyday_repetitions_are_taken(text: str, change: tuple[int, list[str]]) -> None:
    line, content = change
    assert "\n".join(content) in applied(text, {"before_line": line, "content": content})


def test_a_repetition_is_confirmed_by_replacing_both_lines() -> None:
    both = {"start_line": 1, "end_line": 2, "content": ["def one():", "def one():", "    return 1"]}
    assert applied(TWO, both).startswith("def one():\ndef one():\n    return 1\n}\n")


@pytest.mark.parametrize("content", [[], ["a"], ["x"]])
def test_a_version_of_which_no_line_is_left(content: list[str]) -> None:
    edits = VersionEdits(FileText("a\n"), FileText(""), ID)
    done = tried(edits, LineChanges((LineChange(1, 1, (*content,)),)), FileText(""))
    assert isinstance(done, MissError)
    assert done.code == ("stale" if content == ["x"] else "already_applied")


def test_many_changes_of_a_large_file_take_no_longer_than_reading_it() -> None:
    rows = [f"line number {row}" for row in range(50_000)]
    changes = [LineChange(4 * at + 2, 4 * at + 2, (rows[4 * at], "x")) for at in range(10_000)]
    with pytest.raises(MissError, match="would occur twice"):
        LineChanges((*changes,)).apply(FileText("\n".join(rows)), HOW)
    changes = [LineChange(1, 50_000, (f"{at}| x",)) for at in range(10_000)]
    with pytest.raises(MissError, match="overlap"):
        LineChanges((*changes,)).apply(FileText("\n".join(rows)), HOW)


# What cannot be understood


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"start_line": 3, "end_line": 2, "content": "x"}, "'end_line' is 2, but 'start_line'"),
        ({"start_line": 0, "content": "x"}, "'start_line' is 0; expected a whole number from 1"),
        ({"after_line": -1, "content": "x"}, "'after_line' is -1; expected a whole number from 0"),
        ({"before_line": "2", "content": "x"}, "'before_line' is a string; expected a whole"),
        ({"start_line": True, "content": "x"}, "'start_line' is a boolean; expected"),
        ({"start_line": 2.0, "content": "x"}, "'start_line' is a number; expected a whole number"),
        ({"start_line": 1, "after_line": 2, "content": "x"}, "it has start_line and after_line"),
        ({"before_line": 1, "end_line": 2, "content": "x"}, "'end_line' needs 'start_line'"),
        ({"content": "x"}, "the line number is missing"),
        ({"start_line": 1}, "'content' is missing; expected the new lines, or [] to delete"),
        ({"after_line": 1, "content": ""}, "'content' is empty, but inserts lines"),
        ({"start_line": 1, "content": [1]}, "'content[0]' is a number"),
        ({"start_line": 1, "old_string": "a", "content": "x"}, "'old_string' is text to find"),
        ("x", "it is a string; expected an object"),
    ],
)  # fmt: skip
def test_invalid_changes(change: object, expected: str) -> None:
    message = invalid({"changes": [{"start_line": 1, "content": "y"}, change]})
    assert message.startswith(f"changes[1]: {expected}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("to", 4), ("endline", 4), ("end-line", 4), ("last_line", 4), ("count", 2), ("lines", 2)),
        *(("type", "insert"), ("action", "insert_after"), ("op", "delete"), ("rename", "b")),
        ("new_string", "x"),
    ],
)
def test_a_key_that_would_be_ignored_is_refused(key: str, value: object) -> None:
    change = {"start_line": 2, "content": ["x"], key: value}
    for item in ({"changes": [change]}, {"changes": [SIX, change]}, change, {"edits": [change]}):
        message = invalid({"base": ID, **item})
        assert f"unknown key '{key}'" in message
        assert "start_line, end_line, after_line, before_line, content" in message
    remarks = {"description": "x", "delete": False, "old_string_hint": None}
    assert applied(TEXT, {"start_line": 2, "content": ["x"], **remarks}) == "a\nx\nc\nd\ne\n"


@pytest.mark.parametrize("more", [{"rename": "b"}, {"move": "b"}, {"delete": True}, {"to": 3}])
def test_nothing_beside_changes_is_ignored(more: dict[str, object]) -> None:
    assert f"'{next(iter(more))}' is beside 'changes'" in invalid(edit(SIX, **more))


def test_all_invalid_changes_are_named() -> None:
    message = invalid({"changes": [{"after_line": 1}, SIX, {"start_line": 0, "content": []}]})
    assert message.startswith("changes[0]: 'content' is missing")
    assert "changes[2]: 'start_line' is 0" in message
    assert "(at most 10000)" in invalid({"changes": [SIX] * 10_001})


def test_anchors_and_line_numbers_are_not_mixed() -> None:
    region = {"start": ["a"], "content": []}
    assert "mixes the formats region and lines" in invalid({"changes": [region, SIX]})
    assert "mixes the formats region and lines" in invalid({"changes": [{**region, **SIX}]})
    assert "mixes the formats" in invalid({"old_string": "a", "new_string": "b", **SIX})


def test_a_line_number_needs_a_version() -> None:
    for item in ({"changes": [SIX]}, SIX, {"after_line": 2, "content": "x"}):
        (failure,) = read({"path": "a b", **item}).failures
        assert failure.message.startswith("'base' is missing")
        assert failure.hint == "get the version with: git boocode read 'a b'"


@pytest.mark.parametrize("header", ["[a#{}]", "a#{}", "#{}", "[./a#{}]"])
def test_a_version_may_be_the_header_that_read_prints(header: str) -> None:
    for item in ({"changes": [SIX]}, SIX, {"op": "replace", "pos": 6, "lines": ["x"]}):
        (parsed,) = edits_of({"path": "a", "base": header.format(ID[:12]), **item})
        assert parsed.base == ID[:12]


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        *[(wrong, "'base' is not a blob id") for wrong in ("fa2d", "", "[a#fa2d]", "a")],
        (12345678, "'base' is a number; expected a string"),
        ("[b#1234567]", "'base' is for 'b', but 'path' is 'a'"),
    ],
)
def test_a_version_that_is_none_is_refused_with_the_command(base: object, expected: str) -> None:
    (failure,) = read({"path": "a", "base": base, **SIX}).failures
    assert failure.message.startswith(expected)
    assert failure.hint == "get the version with: git boocode read a"


# Another version than the file's


def test_a_change_is_merged_with_those_since(repo: Repo) -> None:
    repo.write("a", f"new\n{TEXT}")
    base = blob(repo, TEXT)[:12]
    answer = apply(edit({"start_line": 3, "content": ["C"]}, base=base))
    assert repo.read("a").decode() == "new\na\nb\nC\nd\ne\n"
    ((_, done),) = answer.files[0].applied
    assert done[:6] == ("fuzzy", "merged", 1.0, 1, 4, 4)
    assert done.notes == (f"merged with the changes since {base}",)


@pytest.mark.parametrize(
    ("now", "change", "lines"),
    [
        ("a\nb\nX\nd\ne\n", {"start_line": 3, "content": "C"}, (3,)),
        ("a\nb\nX\nd\ne\n", {"start_line": 2, "content": "B"}, (3,)),
        ("new\na\nb\nX\nd\ne\n", {"after_line": 3, "content": "C"}, (4,)),
        (TEXT + "x\n", {"after_line": 5, "content": "y"}, (6,)),
        ("x\n" + TEXT, {"before_line": 1, "content": "y"}, (1,)),
        ("a\nb\nd\ne\n", {"start_line": 3, "content": "C"}, (2,)),
    ],
)
def test_a_change_beside_another_is_stale(
    repo: Repo, now: str, change: object, lines: tuple[int, ...]
) -> None:
    base = blob(repo, TEXT)
    repo.write("a", now)
    (failure,) = refused(edit(change)).failures
    assert (failure.code, failure.lines) == ("stale", lines)
    assert failure.message.endswith(f"changed since {base[:12]}")


def test_every_conflict_is_named(repo: Repo) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 21))
    repo.write("a", text.replace("line 3\n", "x\n").replace("line 9\n", "y\nz\n"))
    changes = [{"start_line": line, "content": "n"} for line in (3, 6, 9)]
    (failure,) = refused(edit(*changes, base=blob(repo, text))).failures
    assert failure.message.startswith("line 3 and lines 9-10 changed since")
    assert failure.lines == (3, 9)
    assert [near.text for near in failure.candidates] == ["x", "y\nz"]


def test_the_very_same_change_is_already_applied(repo: Repo) -> None:
    base = blob(repo, TEXT)
    repo.write("a", TEXT.replace("c", "C"))
    change = {"start_line": 3, "content": "C"}
    assert codes(edit(change, base=base)) == [(0, "already_applied")]
    apply([edit(change, base=base), edit({"start_line": 5, "content": "E"}, base=base)])
    assert repo.read("a").decode() == "a\nb\nC\nd\nE\n"


def test_an_unknown_version_is_stale(repo: Repo) -> None:
    repo.write("a", TEXT)
    (failure,) = refused(edit(SIX, base="1" * 12)).failures
    assert failure.code == "stale"
    assert failure.message == (
        f"the file has another version: it is {ID[:12]}, but the edit is for {'1' * 12}, "
        "which is not in the repository"
    )
    assert failure.hint == "get the version with: git boocode read a"


def test_a_profile_without_merges_takes_the_present_version_only(repo: Repo) -> None:
    options = Options(how=MatchOptions("exact"))
    repo.write("a", TEXT)
    blob(repo, TEXT)
    apply(edit({"start_line": 1, "content": "A"}), options=options)
    (failure,) = refused(edit({"start_line": 5, "content": "E"}), options=options).failures
    assert failure.code == "stale"
    assert failure.message.endswith("; the profile 'exact' does not merge")


def test_the_present_version_needs_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for digits in (7, 40):
        Path("a").write_text(TEXT)
        apply(edit({"start_line": 1, "content": "A"}, base=ID[:digits]), index=False)
        assert Path("a").read_text() == TEXT.replace("a", "A")


@pytest.mark.parametrize("others", [b"", b"new \xe8\n"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"caf\xe9\nb\nc\n", b"caf\xe9\nB\xe9\nc\n"),
        (
            "\ufeffé\r\nb\r\nc\r\n".encode(),
            "\ufeffé\r\nB\udce9\r\nc\r\n".encode("utf-8", "replace"),
        ),
    ],
    ids=["latin-1", "bom"],
)
def test_text_in_another_encoding_is_merged(
    repo: Repo, old: bytes, new: bytes, others: bytes
) -> None:
    base = blob(repo, old)
    others = others if b"\r" not in old else others.replace(b" \xe8\n", "è\r\n".encode())
    content = "B\udce9" if b"\r" not in old else "B?"
    repo.write("a", old + others)
    apply(edit({"start_line": 2, "content": content}, base=base))
    assert repo.read("a") == new + others


def test_the_clean_form_of_a_file_names_its_lines(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.commit(a=TEXT)
    repo.write("a", TEXT.replace("\n", "\r\n"))
    answer = apply(edit({"start_line": 2, "content": "B"}))
    ((_, done),) = answer.files[0].applied
    assert done.rung == "lines"
    assert repo.read("a").decode() == TEXT.replace("b", "B").replace("\n", "\r\n")


def test_a_filter_that_changes_more_than_line_endings(repo: Repo) -> None:
    repo.git("config", "filter.hide.clean", "sed s/secret/hidden/")
    repo.commit(**{".gitattributes": "a filter=hide\n", "a": "a\nsecret\nc\nd\n"})
    base = repo.git("rev-parse", "HEAD:a").strip()
    assert codes(edit({"start_line": 2, "content": "x"}, base=base)) == [(0, "stale")]
    apply(edit({"start_line": 4, "content": "D"}, base=base))
    assert repo.read("a").decode() == "a\nsecret\nc\nD\n"


# Several edits of one call


def test_edits_of_one_call_count_in_the_version_that_they_name(repo: Repo) -> None:
    base = blob(repo, TEXT)
    for now in (TEXT, f"{TEXT}by others\n"):
        repo.write("a", now)
        answer = apply([
            {"path": "a", "base": base, "start_line": 1, "content": ["A", "A2"]},
            {"path": "a", "base": base[:9], "start_line": 2, "content": []},
            {"path": "a", "base": base, "after_line": 2, "content": "B2"},
        ])  # fmt: skip
        assert repo.read("a").decode() == now.replace("a\nb\n", "A\nA2\nB2\n")
        places = [(done.start_line, done.end_line) for _, done in answer.files[0].applied]
        assert places == [(1, 1), (2, 2), (3, 2)]


def test_edits_of_one_call_must_not_overlap(repo: Repo) -> None:
    repo.write("a", TEXT)
    one = edit({"start_line": 1, "end_line": 2, "content": []})
    (failure,) = refused([one, {**one, "path": "./a"}]).failures
    assert (failure.number, failure.code, failure.lines) == (1, "overlap", (1, 1))
    assert failure.message == "edit 1 (lines 1-2) and edit 2 (lines 1-2) overlap"


def test_another_edit_in_between_is_merged(repo: Repo) -> None:
    repo.write("a", TEXT)
    apply([
        edit({"start_line": 1, "content": ["A", "A2"]}),
        replace("a", "e\n", "E\n"),
        edit({"start_line": 3, "content": "C"}, {"start_line": 2, "content": []}),
    ])  # fmt: skip
    assert repo.read("a").decode() == "A\nA2\nC\nd\nE\n"
    repo.write("a", TEXT)
    edits = [replace("a", "c\n", "x\ny\n"), edit({"start_line": 3, "content": "C"})]
    (failure,) = refused(edits).failures
    assert (failure.number, failure.code) == (1, "overlap")
    assert failure.message == (
        "lines 3-4 changed since the start of the call; "
        "line numbers are those after the edits before it"
    )


def test_an_error_has_the_numbers_of_the_file_as_it_is(repo: Repo) -> None:
    base = blob(repo, TEXT)
    repo.write("a", TEXT.replace("e", "x"))
    edits = [edit({"after_line": 0, "content": "top"}), edit({"start_line": 5, "content": "E"})]
    (failure,) = refused(edits).failures
    assert (failure.number, failure.lines) == (1, (5,))
    assert failure.message == f"line 5 changed since {base[:12]}"


def test_lines_of_a_file_that_the_call_renames(repo: Repo) -> None:
    repo.write("a", TEXT)
    patch = "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
    apply([
        edit({"start_line": 1, "content": ["A", "A2"]}),
        {"patch": patch},
        edit({"start_line": 2, "content": "B"}, path="b"),
    ])  # fmt: skip
    assert repo.read("b").decode() == "A\nA2\nB\nc\nd\ne\n"


def test_lines_of_a_buffer(repo: Repo) -> None:
    repo.write("a", "on disk\n")
    workspace = Workspace.find(index=True).with_buffers({"a": TEXT.encode()})
    data = json.dumps(edit({"start_line": 2, "content": "B"})).encode()
    answer = apply_edits([Source("input", data)], workspace, Options())
    assert answer.files[0].text == FileText(TEXT.replace("b", "B"))
    assert repo.read("a") == b"on disk\n"


# Properties

WORDS = st.sampled_from(["a", "b", "", "x y", "\u00e9", "\U0001f600", "\udce9"])
COUNT = st.integers(0, 2)


def text_of(lines: list[str], ending: str, *, closed: bool) -> str:
    return ending.join(lines) + (ending if lines and closed else "")


@given(
    pieces=st.lists(st.tuples(st.lists(WORDS, max_size=2), st.lists(WORDS, max_size=2),
                              st.lists(WORDS, max_size=2)), max_size=5),
    ending=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
    order=st.randoms(use_true_random=False),
)  # fmt: skip
def test_only_the_named_lines_change(
    pieces: list[tuple[list[str], list[str], list[str]]], ending: str, closed: bool, order: Random
) -> None:
    old: list[str] = []
    new: list[str] = []
    changes: list[LineChange] = []
    for kept, removed, content in pieces:
        # Between two changes there is a line, so that they are not at the same place.
        old, new = [*old, "kept", *kept], [*new, "kept", *kept]
        if removed or content:
            changes.append(LineChange(len(old) + 1, len(old) + len(removed), (*content,)))
        old, new = old + removed, new + content
    closed = closed or old[-1:] == [""]
    if not changes:
        return
    order.shuffle(changes)
    text = text_of(old, ending, closed=closed)
    version, how = FileText(text, "raw"), MatchOptions(verbatim=True)
    wanted = FileText(text_of(new, ending if ending in text else "\n", closed=closed), "raw")
    assert LineChanges((*changes,)).apply(version, how).text == wanted
    edits, now = VersionEdits(version, version, ID), version
    for number, change in enumerate(changes):
        now = edits.applied(LineChanges((change,)), number, now, how).text or now
    assert now == wanted


class Piece(NamedTuple):
    """Lines that stay, and below them some that the model or others replace."""

    kept: int
    removed: int
    added: int
    is_mine: bool


@given(
    pieces=st.lists(st.builds(Piece, COUNT, COUNT, COUNT, st.booleans()), max_size=8),
    closed=st.booleans(),
    endings=st.tuples(*[st.sampled_from(["\n", "\r\n"])] * 2),
)
def test_changes_apart_are_merged_and_others_refused(
    pieces: list[Piece], closed: bool, endings: tuple[str, str]
) -> None:
    old, mine, others, merged = (list[str]() for _ in range(4))
    changes: list[LineChange] = []
    touching: list[set[bool]] = [set()]
    for number, piece in enumerate(pieces):
        for text in (old, mine, others, merged):
            text += [f"{number} kept {at}" for at in range(piece.kept)]
        touching += [set()] if piece.kept else []
        if not (piece.removed or piece.added):
            continue
        touching[-1].add(piece.is_mine)
        removed = [f"{number} removed {at}" for at in range(piece.removed)]
        added = [f"{number} added {at}" for at in range(piece.added)]
        if piece.is_mine:
            changes.append(LineChange(len(old) + 1, len(old) + len(removed), (*added,)))
        mine += added if piece.is_mine else removed
        others += removed if piece.is_mine else added
        old, merged = old + removed, merged + added
    if not changes:
        return
    closed = closed or not old
    version = FileText(text_of(old, endings[0], closed=closed))
    now = FileText(text_of(others, endings[1], closed=closed))
    done = tried(VersionEdits(version, now, ID), LineChanges((*changes,)), now)
    is_clear = {True, False} not in touching
    if isinstance(done, MissError):
        # Without a final newline, a change of the last line's ending is one of the line.
        assert (done.code, is_clear and closed) == ("stale", False)
    else:
        known = [end for side in (now, version) for end in ("\r\n", "\n") if end in side.text]
        ending = known[0] if known else "\n"
        assert (done.text, is_clear) == (FileText(text_of(merged, ending, closed=closed)), True)


@pytest.mark.parametrize(
    ("others", "change"),
    [
        # The line that is named was changed, and others are like it.
        (["top", "cell", "done", "cell", "cell", "end"], LineChange(3, 3, ())),
        # One of the equal lines is gone, whichever it was.
        (["top", "cell", "cell", "cell", "end"], LineChange(3, 3, ("x",))),
        (["top", "cell", "cell", "cell", "cell", "cell", "end"], LineChange(4, 3, ("x",))),
    ],
)
def test_an_edit_of_one_of_many_equal_lines_is_refused_if_they_have_changed(
    others: list[str], change: LineChange
) -> None:
    version = FileText("top\ncell\ncell\ncell\ncell\nend\n")
    now = FileText(text_of(others, "\n", closed=True))
    done = tried(VersionEdits(version, now, ID), LineChanges((change,)), now)
    assert isinstance(done, MissError)
    assert done.code == "stale"


def test_an_equal_line_elsewhere_does_not_matter() -> None:
    version = FileText("top\n" + 6 * "x\n")
    now = FileText("top\n" + 5 * "x\n" + "y\n")
    done = tried(VersionEdits(version, now, ID), LineChanges((LineChange(2, 2, ("z",)),)), now)
    assert isinstance(done, EditResult)
    assert done.text == FileText("top\nz\n" + 4 * "x\n" + "y\n")


FEW = st.sampled_from(["one", "two"])


@given(
    lines=st.lists(FEW, min_size=3, max_size=9),
    at=st.tuples(COUNT, COUNT, COUNT),
    content=st.lists(st.one_of(FEW, st.just("mine")), max_size=2),
    others=st.lists(st.one_of(FEW, st.just("theirs")), max_size=2),
    closed=st.booleans(),
)
def test_no_other_line_than_the_named_one_changes_where_lines_are_repeated(
    lines: list[str], at: tuple[int, int, int], content: list[str], others: list[str], closed: bool
) -> None:
    first = min(at[0], len(lines))
    stop = min(first + at[1], len(lines))
    there = stop + 1 + at[2]
    if there >= len(lines) or (first == stop and not content):
        return
    theirs = [*lines[:there], *others, *lines[there + 1 :]]
    both = [*lines[:first], *content, *lines[stop:there], *others, *lines[there + 1 :]]
    version, now, wanted = (
        FileText(text_of(text, "\n", closed=closed)) for text in (lines, theirs, both)
    )
    action = LineChanges((LineChange(first + 1, stop, (*content,)),))
    done = tried(VersionEdits(version, now, ID), action, now, HOW._replace(verbatim=True))
    if isinstance(done, MissError):
        assert done.code in ("stale", "already_applied")
    else:
        assert done.text == wanted


def tried(
    edits: VersionEdits, action: LineChanges, now: FileText, how: MatchOptions = HOW
) -> EditResult | MissError:
    try:
        return edits.applied(action, 0, now, how)
    except MissError as error:
        return error
