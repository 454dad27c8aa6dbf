"""Old text that only an older version has is edited there and merged three-way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from git_boocode.matching import MatchError, replace_text
from tests.stale_kit import BEFORE, NEW, NOW, OLD


def refused(content: str, old: str, new: str, *versions: str, **options: object) -> MatchError:
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, new, versions=versions, **options)  # type: ignore[arg-type]
    return caught.value


def test_the_change_of_the_file_and_that_of_the_edit_are_both_kept() -> None:
    done = replace_text(NOW, OLD, NEW, versions=[BEFORE])
    assert done.content == NOW.replace('log("loaded")', 'log("loaded", path)')
    assert (done.match.kind, done.match.rung, done.version, done.count) == ("fuzzy", "merged", 0, 1)
    assert (done.match.start_line, done.match.end_line) == (2, 4)


def test_the_newest_version_that_has_the_text_counts() -> None:
    newer = BEFORE.replace("write", "write_all")
    done = replace_text(NOW, OLD, NEW, versions=["other\n", newer, BEFORE])
    assert done.version == 1
    assert "write(path, data)" in done.content


def test_versions_are_read_only_as_far_as_needed() -> None:
    read = []

    def versions() -> Iterator[str]:
        for name, text in (("newer", BEFORE), ("older", BEFORE)):
            read.append(name)
            yield text

    replace_text(NOW, "    check(data)\n", "    check(data, 1)\n", versions=versions())
    replace_text(NOW, "  check(data)\n", "  check(data, 1)\n", versions=versions())
    assert read == []
    replace_text(NOW, OLD, NEW, versions=versions())
    assert read == ["newer"]


def test_a_version_may_have_the_text_with_other_whitespace() -> None:
    done = replace_text(NOW, OLD.replace("    ", ""), NEW.replace("    ", ""), versions=[BEFORE])
    assert done.content == NOW.replace('log("loaded")', 'log("loaded", path)')
    assert done.match.rung == "merged"


def test_the_place_reported_has_what_the_file_changed_at_its_end() -> None:
    now = BEFORE.replace('"loaded")\n    return', '"read")\n    yield')
    done = replace_text(now, OLD, OLD.replace("read(path)", "read(path, 1)"), versions=[BEFORE])
    assert done.content == now.replace("read(path)", "read(path, 1)")
    assert (done.match.start_line, done.match.end_line) == (2, 5)


def test_lines_come_in_above_a_place_of_an_older_version() -> None:
    now = BEFORE.replace('log("loaded")', 'log("read")')
    done = replace_text(now, OLD, f"    start()\n{OLD}", versions=[BEFORE])
    assert done.content == now.replace("    data", "    start()\n    data")
    assert (done.match.start_line, done.match.end_line) == (2, 4)


def test_the_files_line_endings_stay() -> None:
    now = NOW.replace("\n", "\r\n")
    done = replace_text(now, OLD, NEW, versions=[BEFORE])
    assert done.content == now.replace('log("loaded")', 'log("loaded", path)')


@pytest.mark.parametrize(
    "now",
    [
        BEFORE.replace('log("loaded")', 'log("read")'),
        BEFORE.replace("check(data)", "check_all(data)"),
        BEFORE.replace('    log("loaded")\n', ""),
        BEFORE.replace(OLD, ""),
    ],
    ids=["the same line", "the line above", "deleted", "all deleted"],
)
def test_a_conflict_is_refused_and_shows_the_lines_as_they_are(now: str) -> None:
    error = refused(now, OLD, NEW, BEFORE)
    assert error.code == "stale"
    assert error.match.version == 0
    near = error.candidates[0]
    lines = now.split("\n")[near.start_line - 1 : near.end_line]
    assert near.text == "\n".join(lines)


def test_a_conflict_names_the_lines_that_changed_and_offers_the_place() -> None:
    now = f"first\n{BEFORE.replace('check(data)', 'check_all(data)')}"
    error = refused(now, OLD, NEW, BEFORE)
    assert error.message == "the old text is from an older version, and line 4 changed since"
    near = error.candidates[0]
    assert near.text == "    check_all(data)"
    assert near.old_string == '    data = read(path)\n    check_all(data)\n    log("loaded")'
    assert near.differs == ("4: [-check-]{+check_all+}(data)",)
    assert replace_text(now, near.old_string, "").match.kind == "exact"


@pytest.mark.parametrize(
    ("now", "lines"),
    [
        (BEFORE.replace(OLD, ""), (1, 2)),
        (BEFORE.partition(OLD)[2], (1, 1)),
        (f"first\n\n{BEFORE.replace(OLD, '')}", (3, 4)),
        (BEFORE.replace("check(data)", "check_all(data)\n    again()"), (3, 4)),
        (BEFORE.replace("def load(path):\n    data = read(path)\n", "new()\n").replace(
            'log("loaded")', "log()"), (1, 3)),
        (BEFORE.replace('log("loaded")', "log()").replace("save(", "save_all("), (4, 4)),
    ],
    ids=["deleted", "at the top", "further down", "longer", "above, too", "below, too"],
)  # fmt: skip
def test_only_the_lines_that_changed_are_shown(now: str, lines: tuple[int, int]) -> None:
    near = refused(now, OLD, NEW, BEFORE).candidates[0]
    assert (near.start_line, near.end_line) == lines


def test_a_change_that_the_file_has_is_already_applied() -> None:
    now = NOW.replace('log("loaded")', 'log("loaded", path)')
    error = refused(now, OLD, NEW, BEFORE)
    assert error.code == "already_applied"
    assert (error.candidates[0].start_line, error.candidates[0].end_line) == (4, 4)


def test_an_edit_of_one_line_that_is_made_again_is_already_applied() -> None:
    old, new = "    data = read(path)\n", "    data = read_bytes(path)\n"
    assert refused(BEFORE.replace(old, new), old, new, BEFORE).code == "already_applied"


def test_a_line_that_the_edit_removes_and_the_file_lacks_is_already_applied() -> None:
    old = "    check(data)\n"
    error = refused(BEFORE.replace(old, ""), OLD, OLD.replace(old, ""), BEFORE)
    assert error.code == "already_applied"


def test_text_that_a_version_has_twice_does_not_come_from_it() -> None:
    twice = BEFORE + BEFORE
    assert refused(NOW, OLD, NEW, twice, BEFORE).code != "stale"


def test_a_hint_chooses_the_place_in_the_version() -> None:
    twice = BEFORE + BEFORE
    now = twice.replace("read(path)", "read_bytes(path)")
    done = replace_text(now, OLD, NEW, versions=[twice], start_line=10)
    head, tail = now[: len(now) // 2], now[len(now) // 2 :]
    assert done.content == head + tail.replace('log("loaded")', 'log("loaded", path)')


def test_a_place_of_which_nothing_telling_is_left_is_refused() -> None:
    before = "start {\n  one_call()\n}\n\nother {\n}\n"
    now = "begin {\n  two_calls()\n}\n\nother {\n}\n"
    old = "  one_call()\n}\n\n"
    error = refused(now, old, "  one_call()\n}\n\nnew_block {\n}\n\n", before)
    assert error.code == "stale"


def test_all_places_of_a_version_are_merged_or_none() -> None:
    before = "\n".join(f"call(a, {n})\nkeep_{n}\nsame\nrun(b)\nend_{n}" for n in range(3)) + "\n"
    now = before.replace("same", "other")
    old, new = "same\nrun(b)\n", "same\nrun(c)\n"
    assert refused(now, old, new, before, replace_all=True).code == "not_found"
    apart = before.replace("same\nrun(b)", "same\n\nkeep_it\nrun(b)")
    now = apart.replace("same\n", "other\n")
    old, new = "same\n\nkeep_it\nrun(b)\n", "same\n\nkeep_it\nrun(c)\n"
    done = replace_text(now, old, new, replace_all=True, versions=[apart])
    assert (done.content, done.count) == (now.replace("run(b)", "run(c)"), 3)
    assert replace_text(now, old, new, expected=3, versions=[apart]).count == 3
    assert refused(now, old, new, apart, expected=2).code != "stale"


@pytest.mark.parametrize("profile", ["exact", "boocode", "opencode-3", "region"])
def test_the_other_profiles_use_no_versions(profile: str) -> None:
    now = BEFORE.replace("read(path)", "read_bytes(path, and_everything_else_there_is_to_read)")
    assert refused(now, OLD, NEW, BEFORE, profile=profile).code == "not_found"


WORD = st.text("abcdefgh", min_size=4, max_size=8)


@given(
    st.lists(WORD, min_size=8, max_size=14, unique=True),
    st.integers(0, 5),
    st.integers(2, 6),
    st.sampled_from(["replace", "insert", "delete"]),
    st.sampled_from(["replace", "insert", "delete"]),
)
def test_a_merge_holds_both_changes_and_nothing_else(
    words: list[str], first: int, apart: int, theirs: str, ours: str
) -> None:
    lines = [f"{word} = {number}\n" for number, word in enumerate(words)]
    second = first + apart
    assume(second < len(lines))

    def changed(rows: list[str], at: int, how: str, word: str) -> list[str]:
        came = [] if how == "delete" else [f"{word}_line\n"]
        return [*rows[:at], *came, *rows[at + (how != "insert") :]]

    now = "".join(changed(lines, first, theirs, "file"))
    old = "".join(lines[first : second + 1])
    new = "".join(changed(lines[first : second + 1], apart, ours, "model"))
    assume(old not in now)
    expected = "".join(changed(changed(lines, second, ours, "model"), first, theirs, "file"))
    assert replace_text(now, old, new, versions=["".join(lines)]).content == expected
