"""Blank lines, spaces inside lines, and reworded comments."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, locate_match, replace_text
from git_boocode.matching.merge import merge_line

FILE = """\
def load(path):
    values = {}

    for line in open(path):
        key, _, value = line.partition("=")

        values[key] = value + 1


    return values
"""
TIGHT = "".join(line for line in FILE.splitlines(keepends=True) if line.strip())


def changed(text: str) -> str:
    return text.replace("+ 1", "+ 2")


@pytest.mark.parametrize("drop", range(4))
def test_a_blank_line_that_the_model_dropped_stays(drop: int) -> None:
    lines = FILE.splitlines(keepends=True)
    blank = [index for index, line in enumerate(lines) if not line.strip()][drop]
    old = "".join(line for index, line in enumerate(lines) if index != blank)
    assert replace_text(FILE, old, changed(old)).content == changed(FILE)


def test_blank_lines_that_the_model_added_do_not_come_in() -> None:
    for at in range(1, 10):
        for count in [1, 3]:
            lines = FILE.splitlines(keepends=True)
            old = "".join([*lines[:at], "\n" * count, *lines[at:]])
            assert replace_text(FILE, old, changed(old)).content == changed(FILE)


def test_all_blank_lines_dropped_or_many_added() -> None:
    for old in (TIGHT, TIGHT.replace("\n", "\n\n\n\n")):
        assert replace_text(FILE, old, changed(old)).content == changed(FILE)


BLANKS = {
    "the model adds one": ("a()\nb()\n\nc()\n", "a()\nb()\nc()\n", "a()\n\nb()\nc()\n"),
    "the model removes one": ("a()\n\nb()\n\nc()\n", "a()\n\nb()\nc()\n", "a()\nb()\nc()\n"),
    "both sides changed": ("a()\n\nb()\nc()\n", "a()\nb()\nc()\n", "aa()\nbb()\nc()\n"),
    "one side changed": ("a()\n\nb()\nc()\n", "a()\nb()\nc()\n", "a()\nbb()\nc()\n"),
    "lines come in with a blank line behind": (
        "a()\n\nb()\nc()\n",
        "a()\nb()\nc()\n",
        "a()\nnew()\n\nb()\nc()\n",
    ),
    "lines come in with a blank line in front": (
        "a()\n\nb()\nc()\n",
        "a()\nb()\nc()\n",
        "a()\n\nnew()\nb()\nc()\n",
    ),
}
EXPECTED = {
    "the model adds one": "a()\n\nb()\n\nc()\n",
    "the model removes one": "a()\n\nb()\n\nc()\n".replace("b()\n\n", "b()\n"),
    "both sides changed": "aa()\n\nbb()\nc()\n",
    "one side changed": "a()\n\nbb()\nc()\n",
    "lines come in with a blank line behind": "a()\n\nnew()\n\nb()\nc()\n",
    "lines come in with a blank line in front": "a()\n\nnew()\n\nb()\nc()\n",
}


@pytest.mark.parametrize("name", BLANKS)
def test_blank_lines_follow_the_change_alone(name: str) -> None:
    content, old, new = (text.replace("()", "_of(item)") for text in BLANKS[name])
    after = EXPECTED[name].replace("()", "_of(item)")
    if name == "the model removes one":
        after = "a_of(item)\nb_of(item)\n\nc_of(item)\n"
    assert replace_text(content, old, new).content == after


@pytest.mark.parametrize(
    ("above", "below", "left"),
    [
        ("one()\n\n", "\ntwo()\n", "one()\n\ntwo()\n"),
        ("one()\n", "\ntwo()\n", "one()\n\ntwo()\n"),
        ("one()\n\n", "two()\n", "one()\n\ntwo()\n"),
        ("", "\ntwo()\n\n", "\ntwo()\n\n"),
        ("\none()\n\n", "", "\none()\n\n"),
    ],
    ids=["both", "below", "above", "at the top", "at the end"],
)
def test_of_two_blank_lines_around_what_goes_one_goes(above: str, below: str, left: str) -> None:
    assert replace_text(f"{above}run( item )\n{below}", "run(item)\n", "").content == left


def test_a_blank_line_that_the_file_lacks_is_not_taken_away_from_it() -> None:
    content = "a_of(item)\n\nb_of(item)\n"
    with pytest.raises(MatchError) as caught:
        replace_text(content, content.replace("\n\n", "\n\n\n"), content)
    assert caught.value.code == "already_applied"


SPACING = {
    "a short line": ("total = a+b\n", "total = a + b\n", "total = a + c\n", "total = a+c\n"),
    "another": ("x_value=1\n", "x_value = 1\n", "x_value = 2\n", "x_value=2\n"),
    "several lines": (
        "  one = f(a, b)\n  two = [1, 2]\n  ten={'a' : 1}\n",
        "  one=f(a,b)\n  two=[1,2]\n  ten = {'a': 1}\n",
        "  one=f(a,b)\n  two=[1,2,3]\n  ten = {'a': 1}\n",
        "  one = f(a, b)\n  two = [1, 2,3]\n  ten={'a' : 1}\n",
    ),
    "with indentation": (
        "\tif (alpha == beta) {\n\t\trun( alpha );\n\t}\n",
        "  if (alpha==beta) {\n    run(alpha);\n  }\n",
        "  if (alpha==beta) {\n    run(alpha);\n    stop(alpha);\n  }\n",
        "\tif (alpha == beta) {\n\t\trun( alpha );\n\t\tstop(alpha);\n\t}\n",
    ),
    "and blank lines": (
        "first = alpha\n\nsecond = beta\n",
        "first=alpha\nsecond=beta\n",
        "first=alpha\nsecond=gamma\n",
        "first = alpha\n\nsecond = gamma\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "after"), SPACING.values(), ids=SPACING)
def test_the_files_spacing_stays(content: str, old: str, new: str, after: str) -> None:
    assert replace_text(content, old, new).content == after


def test_a_space_between_words_is_no_drift() -> None:
    assert locate_match("not_a_value = 1\n", "not a_value = 1").rung != "layout"
    assert locate_match("runit(item_list)\n", "run it(item_list)").rung != "layout"


def test_places_that_differ_in_spacing_only_are_ambiguous() -> None:
    content = "first_value = 1\nfirst_value =1\n"
    assert locate_match(content, "first_value= 1").kind == "ambiguous"


def test_at_most_two_hundred_places_are_looked_at() -> None:
    line, old, new = "run ( item_list )\n", "run(item_list)\n", "go(item_list)\n"
    done = replace_text(line * 200, old, new, replace_all=True)
    assert (done.count, done.content) == (200, "go ( item_list )\n" * 200)
    with pytest.raises(MatchError, match="it occurs over 200 times, ignoring whitespace"):
        replace_text(line * 201, old, new, replace_all=True)


COMMENTED = """\
def area(shape):
    # Compute the area of a shape, in square metres
    width = shape.width  # never None
    height = shape.height
    return width * height
"""


def reworded(text: str) -> str:
    text = text.replace("Compute the area of a shape, in square metres", "How big something is")
    return text.replace("never None", "always there, we checked that")


def test_a_reworded_comment_stays_the_files() -> None:
    old = reworded(COMMENTED)
    new = old.replace("width * height", "abs(width * height)")
    after = COMMENTED.replace("width * height", "abs(width * height)")
    done = replace_text(COMMENTED, old, new)
    assert done.content == after
    assert done.match.rung == "comments"


def test_a_reworded_comment_on_a_changed_line_stays() -> None:
    old = reworded(COMMENTED)
    new = old.replace("shape.width", "shape.breadth")
    assert replace_text(COMMENTED, old, new).content == COMMENTED.replace(
        "shape.width", "shape.breadth"
    )


def test_a_misquoted_comment_that_is_changed_is_the_new_one() -> None:
    old = reworded(COMMENTED)
    new = old.replace("How big something is", "In square feet")
    after = COMMENTED.replace("Compute the area of a shape, in square metres", "In square feet")
    assert replace_text(COMMENTED, old, new).content == after


NO_COMMENTS = {
    "division": ("value = total // count + rest\nx = 1\n", "value = total // other + 2\nx = 1\n"),
    "directive": (
        "#include <stdio.h>\nint main_loop(void);\n",
        "#include <math.h>\nint main_loop(void);\n",
    ),
    "in a string": ('print_all("a # b c")\nx = 1\n# c\n', 'print_all("a # other")\nx = 1\n# c\n'),
    "heading": (
        "### Example\n\nrun(the_example)\n\n# With a proxy\n",
        "run(the_example)\n\n# Without anything at all\n",
    ),
    "list item": ("* apples\nfruit basket text\n", "* a great many pears\nfruit basket text\n"),
    "code for a comment": ("run_this_now(a)\nstop_it(b)\n", "# what runs\nstop_it(b)\n"),
    "nothing but comments": ("# first line of words\n# other\n", "# something else\n# nothing\n"),
}


@pytest.mark.parametrize(("content", "old"), NO_COMMENTS.values(), ids=NO_COMMENTS)
def test_what_is_no_reworded_comment(content: str, old: str) -> None:
    assert locate_match(content, old).kind == "not_found"


def test_of_two_places_the_comment_tells_the_one_meant() -> None:
    block = "    # Handle the {} request\n    value = handle(request)\n    send(value)\n"
    content = block.format("incoming") + "\n" + block.format("outgoing")
    old = block.replace("Handle the {} request", "do it")
    with pytest.raises(MatchError):
        replace_text(content, old, old.replace("send", "drop"))


def test_a_line_of_nothing_that_can_be_seen_is_blank() -> None:
    content = "first(alpha)\n\n\nsecond(beta)\n"
    old = "first(alpha)\n\u200b\nsecond(beta)\n"
    done = replace_text(content, old, old.replace("beta", "gamma"))
    assert done.content == content.replace("beta", "gamma")
    assert done.notes == ("kept 1 drifted line",)


SPACED = {
    "a middle argument": ("foo(a , b , c)", "foo(a,b,c)", "foo(a,c)", "foo(a , c)"),
    "an operator": ("if ( ! ready ) {", "if(!ready){", "if(ready){", "if ( ready ) {"),
    "a sign": ("x = a + - b", "x=a+-b", "x=a+b", "x = a + b"),
    "a word after a word": ("return - value", "return -value", "return value", "return value"),
    "the first argument": ("run( a, b )", "run(a, b)", "run(b)", "run( b )"),
    "another argument": ("run( a, b )", "run(a, b)", "run(a, c)", "run( a, c )"),
    "one more argument": ("run( a ) ;", "run(a);", "run(a, b);", "run( a, b ) ;"),
    "an argument that the file has": ("run( a, b )", "run(a)", "run(a, b)", "run( a, b )"),
    "more of an argument beside it": ("run( a, b )", "run(a)", "run(a.c)", "run( a.c, b )"),
    "an argument that only the file has": ("run( a, b )", "run(a)", "go(a)", "go( a, b )"),
    "one argument more than the file": ("run(a, b)", "run(a)", "run(a, b, c)", "run(a, b, c)"),
    "an argument in front": ("run(b)", "run()", "run(a, b)", "run(a, b)"),
    "a word in front that both have": ("await a(x)", "a(x)", "await b(x)", "await b(x)"),
    "a comment that both have": ("x = 1  # rows", "x = 1", "x = 2  # rows", "x = 2  # rows"),
    "a comment that only the file has": ("x = 1  # rows", "x = 1", "x = 2", "x = 2  # rows"),
    "an end that both have": ("x = a;", "x = a", "x = a or b;", "x = a or b;"),
}


@pytest.mark.parametrize(("mine", "old", "new", "expected"), SPACED.values(), ids=SPACED)
def test_a_changed_line_is_spaced_as_in_the_file(
    mine: str, old: str, new: str, expected: str
) -> None:
    assert merge_line(mine, old, new) == expected


@pytest.mark.parametrize(
    ("mine", "old", "new"),
    [
        ("run(a, b)", "run(a)", "run(a, c)"),
        ("if a and b:", "if a:", "if a or c:"),
        ("return a + b", "return a", "return a;"),
        ("x = 1  # old note", "x = 1", "x = 2  # new note"),
    ],
)
def test_different_words_at_one_point_are_refused(mine: str, old: str, new: str) -> None:
    with pytest.raises(MatchError, match="where the new text adds") as caught:
        merge_line(mine, old, new)
    assert caught.value.code == "ambiguous"
