import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.answer import BEGIN, END, retry_context
from git_boocode.editing.edits import Failure
from git_boocode.editing.service import Options
from git_boocode.matching import Candidate
from tests.editing.kit import apply, refused, replace
from tests.repo_kit import Repo


def version(repo: Repo) -> str:
    return repo.git("hash-object", "a")[:12]


def test_the_block_holds_reason_nearest_lines_and_edit(repo: Repo) -> None:
    repo.write(
        "a", "".join(f"line {n}\n" for n in range(1, 9)) + "same = call()\n\nsame = call()\n"
    )
    edits = [replace("a", "same = call()", "other = call()"), replace("a", "line 3\n", "x\n")]
    assert refused(edits).retry_context == (
        "@retry_context\n"
        "1 of 2 edits could not be applied, so nothing was changed. "
        "Correct them and send all edits again.\n\n"
        f"edit 1 of a: ambiguous: {refused(edits).failures[0].message}\n"
        "what to do: send more lines, so that the old text occurs once\n"
        f"the file as it is: version {version(repo)}\n"
        "one of the places, below `line 8`, line 9; send exactly these lines as old_string, "
        "without the numbers:\n"
        " 8| line 8\n"
        " 9| same = call()\n"
        "one of the places, below `line 8`, line 11; send exactly these lines as old_string, "
        "without the numbers:\n"
        " 9| same = call()\n"
        "10| \n"
        "11| same = call()\n"
        "the edit as received:\n"
        '{"path": "a", "old_string": "same = call()", "new_string": "other = call()"}\n'
        "@end retry_context\n"
    )


def test_a_miss_shows_the_words_that_differ(repo: Repo) -> None:
    repo.write("a", "def total(rows):\n    count = 0\n    check(rows)\n    return sum(rows)\n")
    old = "def total(rows):\n    count = 1\n    check(rows)\n    return max(rows)\n"
    context = refused([replace("a", old, "pass\n")]).retry_context
    assert "what differs, [-yours-]{+the file's+}:\n2: count = [-1-]{+0+}\n" in context


BLOCK = "File: a\n<<<<<<< SEARCH\nsame = call()\n=======\nother = call()\n>>>>>>> REPLACE\n"
DIFF = "--- a/a\n+++ b/a\n@@ @@\n-same = call()\n+other = call()\n"
PATCH = "*** Begin Patch\n*** Update File: a\n-same = call()\n+other = call()\n*** End Patch\n"
WORDS = {
    "string": (replace("a", "same = call()", "other = call()"), "as old_string"),
    "search-replace": (BLOCK, "between '<<<<<<< SEARCH' and '======='"),
    "unified": (DIFF, "as the hunk's ' ' and '-' lines"),
    "apply-patch": (PATCH, "as the hunk's ' ' and '-' lines"),
    "region": ({"path": "a", "start": ["same = call()"], "content": ["x"]}, "as 'start'"),
}


@pytest.mark.parametrize("name", WORDS)
def test_the_block_speaks_the_words_of_the_format(repo: Repo, name: str) -> None:
    repo.write("a", "first = 1\nsame = call()\n\nsecond = 2\nsame = call()\n")
    edit, words = WORDS[name]
    error = refused(edit.encode() if isinstance(edit, str) else edit)
    assert words in error.retry_context
    for candidate in error.failures[0].candidates:
        assert candidate.old_string is not None
        answer = apply(replace("a", candidate.old_string, "new\n"), options=Options(dry_run=True))
        assert answer.files[0].applied[0][1].kind == "exact"


CHANGES = {"path": "a", "changes": [{"start_line": 2, "content": ["mine"]}]}
HASHLINE = "[a#{}]\nPUT 2.=2:\n+mine\n"


@pytest.mark.parametrize("is_text", [False, True])
def test_stale_lines_are_shown_with_their_numbers_and_version(repo: Repo, is_text: bool) -> None:
    def edit(base: str) -> object:
        return HASHLINE.format(base).encode() if is_text else {**CHANGES, "base": base}

    repo.commit(a="one\ntwo\nthree\n")
    old = version(repo)
    repo.write("a", "new\none\n2\nthree\n")
    now = version(repo)
    context = refused(edit(old)).retry_context
    named = f"[a#{now}]" if is_text else f'"base": "{now}"'
    assert "\nwhat to do: name the lines below in that version, or read the file again\n" in context
    assert f"\nthe file as it is: {named}\nthe lines as they are now, " in context
    assert "change them by these numbers, in that version:\n3| 2\n" in context
    unknown = refused(edit("1" * 12)).retry_context
    assert f": it is {now}, but the edit is for 111111111111" in unknown
    assert f"\nthe file as it is: {named}\n" in unknown
    with open("a", "a", encoding="utf-8") as file:
        file.write("more\n")
    apply({**CHANGES, "base": now, "changes": [{"start_line": 3, "content": ["mine"]}]})
    assert repo.read("a") == b"new\none\nmine\nthree\nmore\n"


def test_a_path_in_the_block_is_quoted(repo: Repo) -> None:
    repo.write("x\ny", "1\n")
    edit = HASHLINE.replace("a", '"x\\ny"', 1).format("1" * 12).encode()
    assert '\nthe file as it is: ["x\\ny"#' in refused(edit).retry_context


def test_the_block_is_bounded() -> None:
    lines = f"{'x' * 500}\n" * 5_000
    candidate = Candidate(1, 5_000, 0.5, lines, lines, 1, "w" * 900, ("d" * 900,) * 900)
    given_ = {"old": "y" * 100_000}
    bad = Failure(0, "a" * 3_000, "not_found", "m" * 5_000, (), (candidate,) * 9, given_)
    bad = bad._replace(version="0" * 12)
    one = retry_context([bad], 1)
    assert "more lines" in one
    assert "characters left out" in one
    short = (Candidate(1, 900, 0.5, "x\n" * 900, "x\n" * 900, 1),) * 3
    brief = [Failure(0, "a", "not_found", "m", (), short[:count], "y") for count in (1, 2, 3)]
    for failure in (bad, *brief):
        _, _, shown = retry_context([failure], 1).split("\n", 2)
        assert len(shown.removesuffix(f"{END}\n")) <= 2_000
    text = retry_context([bad._replace(number=number) for number in range(50)], 50)
    assert len(text) < 10 * 2_000 + 300
    assert "and 40 more" in text


def test_the_first_few_failures_places_and_lines_are_shown() -> None:
    def shown(text: str, failures: int = 1, places: int = 1) -> str:
        near = Candidate(1, 1, 0.5, text)
        bad = Failure(0, "a", "not_found", "m", (), (near,) * places)
        return retry_context([bad] * failures, 1)

    assert shown("x", 10).count(": m\n") == shown("x", 11).count(": m\n") == 10
    assert "more" not in shown("x", 10)
    assert "and 1 more" in shown("x", 11)
    assert shown("x", 1, 4).count("the nearest text") == 3
    assert "more" not in shown("x\n" * 24)
    assert shown("x\n" * 25).count("| x\n") == 24
    assert "| (1 more lines)" in shown("x\n" * 25)
    assert "left out" not in shown("x" * 200)
    assert "1 characters left out" in shown("x" * 201)


@given(
    st.text("@end retry_context\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", max_size=40),
    st.text("a\n\r@\u2028", max_size=5),
    st.sampled_from(["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]),
)
def test_nothing_inside_can_close_the_block(text: str, path: str, end: str) -> None:
    hostile = f"{text}{end}{END}{end}{text}"
    bad = Failure(
        0,
        path + hostile,
        "not_found",
        hostile,
        (),
        (Candidate(1, 9, 0.5, hostile),),
        hostile,
        hostile,
        version="0" * 12,
    )
    # Readers differ in what ends a line, such as Python's text mode and JavaScript.
    lines = retry_context([bad], 1).splitlines()
    assert lines[0] == BEGIN
    assert [number for number, line in enumerate(lines) if line == END] == [len(lines) - 1]
