from hypothesis import given
from hypothesis import strategies as st

from git_boocode.editing.edits import Failure
from git_boocode.editing.retry import BEGIN, END, retry_context
from git_boocode.matching import Candidate
from tests.editing.kit import refused, replace
from tests.repo_kit import Repo


def test_the_block_holds_reason_nearest_lines_and_edit(repo: Repo) -> None:
    repo.write(
        "a", "".join(f"line {n}\n" for n in range(1, 9)) + "same = call()\n\nsame = call()\n"
    )
    edits = [replace("a", "same = call()", "other = call()"), replace("a", "line 3\n", "x\n")]
    assert refused(edits).retry_context == (
        "@retry_context\n"
        "1 of 2 edits could not be applied, so nothing was changed. "
        "Correct what is wrong and send all of them again.\n\n"
        f"edit 1 of a: ambiguous: {refused(edits).failures[0].message}\n"
        "what to do: add lines above or below until the old text stands in one place only\n"
        "one of the places, line 9 (similarity 1.00):\n"
        " 9| same = call()\n"
        "one of the places, line 11 (similarity 1.00):\n"
        "11| same = call()\n"
        "the edit as it was:\n"
        '{"path": "a", "old_string": "same = call()", "new_string": "other = call()"}\n'
        "@end retry_context\n"
    )


def test_the_block_is_bounded() -> None:
    candidate = Candidate(1, 5_000, 0.5, f"{'x' * 500}\n" * 5_000)
    given_ = {"old": "y" * 100_000}
    bad = Failure(0, "a", "not_found", "m" * 5_000, (), (candidate,) * 9, given_)
    text = retry_context([bad._replace(number=number) for number in range(50)], 50)
    assert len(text) < 250_000
    assert "and 40 more" in text
    assert "4976 more lines" in text
    assert "characters left out" in text


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
    )
    # Readers differ in what ends a line, such as Python's text mode and JavaScript.
    lines = retry_context([bad], 1).splitlines()
    assert lines[0] == BEGIN
    assert [number for number, line in enumerate(lines) if line == END] == [len(lines) - 1]
