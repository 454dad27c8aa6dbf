"""The format `lines`: positions in a version of the file, merged with what has changed since."""

from __future__ import annotations

import pytest

from git_boocode.editing.edits import EditResult, MatchOptions, MissError
from git_boocode.editing.line_changes import LineChanges
from git_boocode.editing.textfile import FileText
from tests.editing.kit import apply, edits_of
from tests.repo_kit import Repo

TEXT = "a\nb\nc\nd\ne\n"
ID = "1" * 40


def edit(*changes: object, **more: object) -> dict[str, object]:
    return {"path": "a", "base": ID, "changes": list(changes), **more}


def result(text: str, *changes: object, how: MatchOptions | None = None) -> EditResult:
    (parsed,) = edits_of(edit(*changes))
    assert isinstance(parsed.action, LineChanges)
    return parsed.action.apply(FileText(text), how or MatchOptions())


def applied(text: str, *changes: object) -> str:
    done = result(text, *changes).text
    assert done is not None
    return done.text


def blob(repo: Repo, text: str) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin=text).strip()


def test_lines_are_replaced_deleted_and_inserted_by_their_numbers() -> None:
    changes = [
        {"start_line": 2, "end_line": 3, "content": ["B", "C", "C2"]},
        {"before_line": 1, "content": "top"},
        {"after_line": 5, "content": ["end"]},
        {"start_line": 4, "content": []},
    ]
    for order in (changes, changes[::-1]):
        assert applied(TEXT, *order) == "top\na\nB\nC\nC2\ne\nend\n"


def test_edits_of_one_call_count_in_the_version_that_they_name(repo: Repo) -> None:
    base = blob(repo, TEXT)
    for now in (TEXT, f"{TEXT}by others\n"):
        repo.write("a", now)
        apply([
            {"path": "a", "base": base, "start_line": 1, "content": ["A", "A2"]},
            {"path": "a", "base": base[:9], "start_line": 2, "content": []},
            {"path": "a", "base": base, "after_line": 2, "content": "B2"},
        ])  # fmt: skip
        assert repo.read("a").decode() == now.replace("a\nb\n", "A\nA2\nB2\n")


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
    with pytest.raises(MissError, match=f"^line {line} would occur twice") as miss:
        applied(TWO, change)
    assert (miss.value.code, miss.value.lines) == ("ambiguous", (line,))
    assert result(TWO, change, how=MatchOptions(verbatim=True)).text


def test_a_line_may_be_repeated_that_is_short_or_not_unique_or_changes_too() -> None:
    assert applied(TWO, {"after_line": 3, "content": ["}", "new"]}).count("}\n}\n") == 1
    assert applied(TWO, {"after_line": 6, "content": ["    pass"]}).count("    pass\n") == 3
    renamed = {"start_line": 1, "content": "def zero():"}
    moved = {"start_line": 2, "content": ["def one():", "    return 1"]}
    assert applied(TWO, renamed, moved).startswith("def zero():\ndef one():\n    return 1\n}\n")
