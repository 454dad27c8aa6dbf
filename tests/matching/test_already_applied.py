"""An edit whose new text is already where its old text was is refused as already applied."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, replace_text

FILE = """\
import os

def load(path):
    data = open_file(path)
    check_header(data)
    return parse_all(data)

def save(path, data):
    write_all(path, data, everything)
"""


def refused(content: str, old: str, new: str, **options: object) -> MatchError:
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, new, **options)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("    data = slurp(path)\n", "    data = open_file(path)\n", (4, 4)),
        (
            "    data = slurp(path)\n    check_header(data)\n",
            "    data = open_file(path)\n    check_header(data)\n",
            (4, 5),
        ),
        (
            "    data = open_file(path)\n    return parse_all(data)\n",
            "    data = open_file(path)\n    check_header(data)\n    return parse_all(data)\n",
            (4, 6),
        ),
        (
            "    data = open_file(path)\n",
            "    data = open_file(path)\n    check_header(data)\n",
            (4, 5),
        ),
        (
            "    return parse_all(data)\n",
            "    check_header(data)\n    return parse_all(data)\n",
            (5, 6),
        ),
        ("data = open_file(path)\n", "data = open_file(path)\ncheck_header(data)\n", (4, 5)),
        ("write_all(path, data", "write_all(path, data, everything", (9, 9)),
        ("write_all", "def save(path, data):\n    write_all", (8, 9)),
        ("check_header", "check_header(data)\n    return parse_all", (5, 6)),
    ],
    ids=[
        "a line replaced",
        "a line replaced in context",
        "a line inserted",
        "a line added below",
        "a line added above",
        "a line added at another indentation",
        "words added to a line",
        "a line added above a word",
        "a line added below a word",
    ],
)
def test_the_lines_that_hold_the_new_text_are_named(
    old: str, new: str, lines: tuple[int, int]
) -> None:
    error = refused(FILE, old, new)
    assert error.code == "already_applied"
    where = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}-{lines[1]}"
    assert error.message == f"the new text is already there, at {where}"
    assert [(near.start_line, near.end_line) for near in error.candidates] == [lines]


def test_line_endings_do_not_matter() -> None:
    content = FILE.replace("\n", "\r\n")
    old = "    data = open_file(path)\n"
    assert refused(content, old, f"{old}    check_header(data)\n").code == "already_applied"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    data = slurp(path)\n    other = 1\n", "    other = 1\n"),
        ("    first_one(data)\n    }\n", "    }\n"),
        ("    unknown_call(data)\n", "    return 1\n"),
    ],
    ids=["a deletion", "a bracket", "nothing telling"],
)
def test_new_text_that_says_nothing_is_no_evidence(old: str, new: str) -> None:
    content = f"{FILE}    other = 1\n    }}\n    return 1\n"
    assert refused(content, old, new).code == "not_found"


@pytest.mark.parametrize(("name", "code"), [("ab", "already_applied"), ("a", "not_found")])
def test_a_short_name_is_evidence_where_nothing_is_more_similar(name: str, code: str) -> None:
    error = refused(f"{name} = []\nother line of text\n", f"{name} = [3]\n", f"{name} = []\n")
    assert error.code == code


def test_new_text_in_two_places_is_no_evidence() -> None:
    content = FILE + "\n" + FILE
    error = refused(content, "    data = slurp(path)\n", "    data = open_file(path)\n")
    assert error.code == "not_found"


def test_new_text_elsewhere_is_no_evidence_while_the_removed_line_is_there() -> None:
    content = f"first_setting = load_one()\nother = 3\nlast_setting = load_two()\n{FILE}"
    error = refused(content, "other = 3\nlast_setting = load_two()\nend\n", "check_header(data)\n")
    assert error.code == "not_found"


@pytest.mark.parametrize(
    ("there", "old", "new"),
    [
        ("set_timeout(alpha, 30)", "set_timeout(alphas, 10)", "set_timeout(gamma, 60)"),
        ("result = load(key, retry=2)", "result = load(key)", "result = cached(load)(key)"),
        ("timeout = 45", "timeout = 30", "retries = 3"),
    ],
    ids=["misspelt", "nearly as similar", "nothing in common with the new text"],
)
def test_a_place_that_is_nearly_the_old_text_is_not_passed_over(
    there: str, old: str, new: str
) -> None:
    content = f"{there}\nkeep_it()\n{new}\n"
    assert refused(content, f"{old}\n", f"{new}\n").code == "not_found"


def test_a_bracket_can_be_added_twice() -> None:
    content = "if a {\n  if b {\n    run_it()\n  }\n}\n"
    done = replace_text(content, "    run_it()\n", "    run_it()\n  }\n")
    assert done.content == content.replace("    run_it()\n", "    run_it()\n  }\n")


def test_an_added_text_that_is_elsewhere_is_added() -> None:
    done = replace_text(FILE, "import os\n", "import os\ncheck_header(data)\n")
    assert done.content == FILE.replace("import os\n", "import os\ncheck_header(data)\n")


SETTINGS = """\
first_timeout = read_it(10)
}
second_timeout = read_it(20)
third_option = compute_it()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("unrelated_thing()\n", "second_timeout = read_it(20)\n"),
        ("unrelated_thing()\n}\n", "second_timeout = read_it(20)\n"),
        (
            "second_timeout = read_it(20)\nfirst_timeout = read_it(10)\n",
            "second_timeout = read_it(20)\nthird_option = compute_it()\n",
        ),
    ],
    ids=["the removed line is gone", "a removed bracket is elsewhere", "the line above fits"],
)
def test_what_proves_the_place(old: str, new: str) -> None:
    assert refused(SETTINGS, old, new).code == "already_applied"


def test_a_removed_line_that_is_elsewhere_speaks_against_it() -> None:
    old, new = "first_timeout = read_it(10)\nunrelated()\n", "third_option = compute_it()\n"
    assert refused(SETTINGS, old, new).code == "not_found"


@pytest.mark.parametrize(
    ("old", "added", "words"),
    [
        ("call(one", "{}", (", a", "[")),
        ("call(one)\n", "{}\n", ("os", "x")),
        ("call(one)\n", "  {}\n  }}\n", ("if a:\n    return", "}\n  }")),
    ],
)
def test_what_is_added_must_be_telling(old: str, added: str, words: tuple[str, str]) -> None:
    content, new = "call(one)\n".replace(old, f"{old}{added}"), f"{old}{added}"
    telling, bare = ((content.format(word), new.format(word)) for word in words)
    assert refused(telling[0], old, telling[1]).code == "already_applied"
    assert replace_text(bare[0], old, bare[1]).content == bare[0].replace(old, bare[1])


EXTENDED = [
    *(("return total", "return total + tax"), ("total", "max(total, 0)"), ("total", "not total")),
    *(("total", "!total"), ("return", "return await"), ("total", "total_sum"), ("3", "3.5")),
    ("    return total, 3", "    return total, 3  # a pair"),
]


@pytest.mark.parametrize(("old", "new"), EXTENDED)
def test_a_part_of_a_line_is_extended_once(old: str, new: str) -> None:
    content = "def run():\n    return total, 3\n"
    done = replace_text(content, old, new).content
    assert done == content.replace(old, new)
    assert refused(done, old, new).code == "already_applied"


def test_new_text_beside_the_old_one_is_not_around_it() -> None:
    content = "opening_call(one); last(two);\n"
    done = replace_text(content, "last(two);", "opening_call(one); ")
    assert done.content == "opening_call(one); opening_call(one); \n"


def test_all_places_together_must_have_it() -> None:
    both = "call(one_argument, two_argument)\n" * 2
    one = "call(one_argument)\ncall(one_argument, two_argument)\n"
    old, new = "call(one_argument", "call(one_argument, two_argument"
    assert refused(both, old, new, replace_all=True).code == "already_applied"
    # Another place would have it twice.
    with pytest.raises(MatchError, match="already there at line 2, but not at line 1") as caught:
        replace_text(one, old, new, replace_all=True)
    assert caught.value.code == "ambiguous"


def test_lines_with_another_indentation_are_no_insertion() -> None:
    content = "def f():\n    first_call(one)\n"
    done = replace_text(content, "first_call(one)\n", "  first_call(one)\n")
    assert done.content != content


def test_the_other_profiles_paste_as_before() -> None:
    old = "    data = open_file(path)\n"
    done = replace_text(FILE, old, f"{old}    check_header(data)\n", profile="boocode")
    assert done.content.count("check_header") == 2


def test_the_lines_around_the_change_show_where_the_old_text_was() -> None:
    """What the edit removes is elsewhere, too."""
    old = "    data = slurp(path)\n    check_header(data)\n    return parse_all(data)\n"
    added = "    data = open_file(path)\n    log_everything(data)\n    verify(data)\n"
    new = old.replace("    data = slurp(path)\n", added)
    other = (
        "\ndef other(path):\n    data = slurp(path)\n    check_it(data)\n    return parse(data)\n"
    )
    content = FILE.replace("    data = open_file(path)\n", added) + other
    error = refused(content, old, new)
    assert error.code == "already_applied"
    assert (error.candidates[0].start_line, error.candidates[0].end_line) == (4, 8)


def test_a_sibling_is_left_alone_while_the_new_text_is_there_as_it_is() -> None:
    for shift in ["    ", ""]:
        for between in ["\nmiddle_part()\n\n", ""]:
            block = "if ready:\n    stream = open_file(name, 'wb')\n    opened = True\n"
            block += "else:\n    close()\n"
            new = block.replace("    opened = True\n", "    opened = True\n    count_one(stream)\n")
            sibling = "".join(f"{shift}{line}" for line in block.splitlines(keepends=True))
            if not shift:
                sibling = sibling.replace("'wb'", "'rb'")
            error = refused(f"{sibling}{between}{new}", block, new)
            first = 6 + between.count("\n")
            assert (error.code, error.candidates[0].start_line) == ("already_applied", first)


def test_a_drifted_place_is_changed_where_nothing_ties_the_new_text_to_it() -> None:
    content = "total  =  compute_it(items)\n\nother_part()\ntotal = compute_all(items)\n"
    done = replace_text(content, "total = compute_it(items)\n", "total = compute_all(items)\n")
    assert done.content.count("compute_all") == 2


def test_it_does_not_matter_whether_the_edit_makes_the_text_shorter() -> None:
    old = "open_channel(port)\nset_timeout(alpha)\nclose_channel(port)\n"
    drifted, new = old.replace("\n", "  \n"), old.replace("timeout(alpha)", "limit(2)")
    assert refused(f"{drifted}\nmiddle_part()\n\n{new}", old, new).code == "already_applied"
    gone = old.replace("set_timeout(alpha)\n", "")
    done = replace_text(f"{drifted}\nmiddle_part()\n\n{gone}", old, gone)
    assert done.content.count("set_timeout") == 0


def test_the_lines_around_the_change_outweigh_a_similar_place() -> None:
    block = "open_channel(port)\nset_timeout(alpha, {})\n{}close_channel(port)\n"
    new = block.format(99, "wait_for_reply(port)\n")
    content = f"{block.format(31, '')}\nmiddle_part()\n\n{new}"
    error = refused(content, block.format(30, ""), new)
    assert (error.code, error.candidates[0].start_line) == ("already_applied", 7)


METHOD = "    def visit(self, walker):\n        walker.enter(self)\n        return self.slots\n"


@pytest.mark.parametrize("lost", ['    """A node."""\n', "    limit = 1\n"])
def test_a_block_is_not_added_again_below_drifted_lines(lost: str) -> None:
    content = (
        f"class Node(Basic):\n{lost}    slots = empty_slots()\n    names = Names()\n\n\nrun()\n"
    )
    old = content.partition("\n\n\n")[0].replace(lost, "") + "\n"
    done = replace_text(content, old, old + METHOD).content
    assert done.count("visit") == 1
    with pytest.raises(MatchError, match="already there"):
        replace_text(done, old, old + METHOD)
    # A line or two may be meant to occur twice.
    twice = replace_text(content, old, f"{old}    run_it()\n").content
    assert replace_text(twice, old, f"{old}    run_it()\n").content.count("run_it") == 2
