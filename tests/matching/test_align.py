"""Edit scripts, and lines that the old text lacks among lines that the new text changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.matching import MatchError, replace_text
from git_boocode.matching.align import script

STORE = """\
async function store(pool, user) {
  const conn = await pool.connect();
  await conn.begin();
  await conn.insert("users", user);
  return conn;
}
"""
VIEW = """\
def view(request):
    user = load_user(request.session)
    check_permission(user, "admin")
    data = read_table(user, limit=10)
    return data
"""
BETWEEN = {
    "a call": (STORE, "  await conn.begin();\n", {"connect": "acquire", "insert": "upsert"}),
    "a check": (VIEW, '    check_permission(user, "admin")\n', {"load_": "fetch_", "10": "20"}),
}


@pytest.mark.parametrize(("content", "lost", "changes"), BETWEEN.values(), ids=BETWEEN)
def test_what_lies_between_two_changed_lines_stays(
    content: str, lost: str, changes: dict[str, str]
) -> None:
    changed = content
    for here, there in changes.items():
        changed = changed.replace(here, there)
    done = replace_text(content, content.replace(lost, ""), changed.replace(lost, ""))
    assert (done.content, done.notes) == (changed, ("kept 1 forgotten line",))


@pytest.mark.parametrize(("height", "gap"), [(100, "  "), (101, " ")])
def test_very_many_changed_lines_are_paired_by_their_number_alone(height: int, gap: str) -> None:
    old = [f"value_{n} = {n + 100}\n" for n in range(height)]
    content = "\t" + "\t".join(old).replace(" =", "  =")
    new = [line.replace("= ", "= -") for line in old]
    done = replace_text(content, "".join(old), "".join(new))
    assert done.content == content.replace("= ", "= -")
    done = replace_text(content, "".join(old), "".join(new[1:]))
    assert done.content == ("\t" + "\t".join(new[1:])).replace(" =", f"{gap}=")


OLD = VIEW.replace(BETWEEN["a check"][1], "")
INSIDE = {
    "replaced": "def view(request):\n    return render(request)\n",
    "deleted": "def view(request):\n    return data\n",
}


@pytest.mark.parametrize("new", INSIDE.values(), ids=INSIDE)
def test_what_lies_inside_a_block_that_goes_goes_with_it(new: str) -> None:
    done = replace_text(VIEW, OLD, new)
    assert (done.content, done.notes) == (new, ("replaced 1 forgotten line",))


UNCLEAR = {
    "a change above, a deletion below": "    user = fetch_user(request.session)\n",
    "other code for each line": "    first, *rest = seek()\n    assert not rest\n",
    "a new line between two changes": (
        "    user = fetch_user(request.session)\n    log(user)\n"
        "    data = read_table(user, limit=20)\n"
    ),
}


@pytest.mark.parametrize("lines", UNCLEAR.values(), ids=UNCLEAR)
def test_what_nobody_knows_to_stay_or_go_is_refused(lines: str) -> None:
    with pytest.raises(MatchError, match="line 3 of the file is missing") as caught:
        replace_text(VIEW, OLD, f"def view(request):\n{lines}    return data\n")
    assert caught.value.code == "ambiguous"


ITEMS = st.lists(st.sampled_from("abcdefgh"), max_size=14)


@given(ITEMS, ITEMS, st.booleans())
def test_a_script_leads_from_one_sequence_to_the_other(
    left: list[str], right: list[str], anchored: bool
) -> None:
    built: list[str] = []
    at, last = (0, 0), None
    for same, i1, i2, j1, j2 in script(left, right, anchored=anchored):
        assert (i1, j1) == at
        assert same is not last
        assert not same or left[i1:i2] == right[j1:j2]
        built += left[i1:i2] if same else right[j1:j2]
        at, last = (i2, j2), same
    assert built == right
    assert at == (len(left), len(right))


def test_long_sequences_are_split_at_what_is_unique_in_both() -> None:
    left = [str(number) for number in range(60_000)]
    right = ["first", *left[:30_000], "middle", *left[30_001:], "last"]
    assert [hunk[1:] for hunk in script(left, right) if not hunk.same] == [
        (0, 0, 0, 1),
        (30_000, 30_001, 30_001, 30_002),
        (60_000, 60_000, 60_001, 60_002),
    ]


def test_long_sequences_without_unique_items_are_one_change() -> None:
    same = ["x"] * 30_000
    found = script(["a", *same, "b"], ["c", *same[:-1], "d"])
    assert found == [(False, 0, 30_002, 0, 30_001)]
