"""New lines beside a line that the old text lacks are refused: nobody knows on which side of it."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, replace_text

FILE = (
    "def total(items):\n    amount = sum(items)\n    report(amount)\n    return amount\n\nEND = 1\n"
)
LACKING = "def total(items):\n    amount = sum(items)\n    return amount\n"

DOUBTFUL = {
    "lines come in": LACKING.replace("    return", "    audit(items)\n    return"),
    "lines come in above a changed one": LACKING.replace(
        "    return amount", "    audit(items)\n    return amount or 0"
    ),
    "lines come in below a changed one": LACKING.replace(
        "sum(items)\n", "sum(items) or 0\n    audit(items)\n"
    ),
    "one side is changed, the other replaced": LACKING.replace(
        "sum(items)\n    return amount\n",
        "sum(items) or 0\n    yield from everything\n    raise StopIteration\n",
    ),
    "a line moves": "def total(items):\n    return amount\n    amount = sum(items)\n",
}


@pytest.mark.parametrize("new", DOUBTFUL.values(), ids=DOUBTFUL)
def test_refused(new: str) -> None:
    with pytest.raises(MatchError) as caught:
        replace_text(FILE, LACKING, new)
    assert caught.value.code == "ambiguous"
    assert "line 3 of the file is missing" in caught.value.message
    assert caught.value.candidates[0].start_line == 1


CERTAIN = {
    "elsewhere": (
        LACKING.replace("    amount", "    audit(items)\n    amount"),
        FILE.replace("    amount", "    audit(items)\n    amount"),
    ),
    "both sides are changed": (
        LACKING.replace("sum(items)", "sum(items) or 0").replace("return amount", "return -amount"),
        FILE.replace("sum(items)", "sum(items) or 0").replace("return amount", "return -amount"),
    ),
    "a line goes": (
        LACKING.replace("    return amount\n", ""),
        FILE.replace("    return amount\n", ""),
    ),
    "a line becomes others": (
        LACKING.replace("    return amount\n", "    yield from items\n    raise StopIteration\n"),
        FILE.replace("    return amount\n", "    yield from items\n    raise StopIteration\n"),
    ),
    "a line is changed and others follow": (
        LACKING.replace("return amount\n", "return amount or 0\n\nDONE = True\n"),
        FILE.replace("return amount\n", "return amount or 0\n\nDONE = True\n"),
    ),
}


@pytest.mark.parametrize(("new", "expected"), CERTAIN.values(), ids=CERTAIN)
def test_taken(new: str, expected: str) -> None:
    assert replace_text(FILE, LACKING, new).content == expected


def test_a_blank_line_leaves_no_doubt() -> None:
    content = "first_line(1)\n\nsecond_line(2)\n"
    done = replace_text(
        content, "first_line(1)\nsecond_line(2)\n", "first_line(1)\nnew_line(0)\nsecond_line(2)\n"
    )
    assert "new_line(0)\n" in done.content
    assert done.content.replace("new_line(0)\n", "") == content


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        (
            "import first_one\nimport second\n\nrest()\n",
            "  import first_one\n\n",
            "  import first_one\n  import x\n\n",
        ),
        (
            "rest()\n\nimport second\nimport first_one\n",
            "\n  import first_one\n",
            "\n  import x\n  import first_one\n",
        ),
    ],
    ids=["below", "above"],
)
def test_a_blank_line_one_line_off_is_a_line_forgotten(content: str, old: str, new: str) -> None:
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, new)
    assert caught.value.code == "ambiguous"
    far = content.replace("import second\n", "import second\nimport third\n")
    assert "import x\n" in replace_text(far, old, new).content


BESIDE = {
    "a head without its body": (
        "def one(self):\n    check(self, 1)\n\ndef two(self):\n    check(self, 2)\n",
        "    check(self, 1)\n",
        "def extra(self):\n    check(self, 3)\n",
    ),
    "a body without its head": (
        "import first_module\nimport second_module\nfor each in modules:\n    load(each)\n",
        "for each in modules:\n",
        "import third_module\n",
    ),
    "a return is missing": (
        "def one(self):\n    first = self.numbers[0]\n    return first\n\ndef two(self): ...\n",
        "    return first\n",
        "    check(first)\n",
    ),
}


@pytest.mark.parametrize(("content", "line", "fresh"), BESIDE.values(), ids=BESIDE)
def test_indentation_does_not_show_the_side(content: str, line: str, fresh: str) -> None:
    with pytest.raises(MatchError, match="could go above or below it") as caught:
        replace_text(content, content.replace(line, ""), content.replace(line, fresh))
    assert caught.value.code == "ambiguous"


def test_lines_replaced_by_themselves_in_depth_leave_no_doubt() -> None:
    content = (
        'def read(self):\n    """Read it."""\n'
        "    with self.lock:\n        check(self)\n        get(self)\n"
    )
    old = content.replace('    """Read it."""\n', "")
    new = "def read(self):\n    check(self)\n    get(self)\n"
    expected = 'def read(self):\n    """Read it."""\n    check(self)\n    get(self)\n'
    assert replace_text(content, old, new).content == expected


def test_a_line_between_blank_ones_that_old_lacks_is_a_line_forgotten() -> None:
    content = "def first_one(self):\n    check(self)\n\ndef second(self): ...\n"
    old = "  def first_one(self):\n\n"
    with pytest.raises(MatchError, match="line 2 of the file is missing"):
        replace_text(content, old, old + "  def extra(self): ...\n\n")


STEPS = "    begin(1)\n    alpha(1)\n    beta(2)\n    gamma(3)\n    finish(1)\n"
NESTED = (
    "    begin(1)\n    if x:\n        alpha(1)\n        beta(2)\n        gamma(3)\n    finish(1)\n"
)


@pytest.mark.parametrize("texts", [(STEPS, NESTED), (NESTED, STEPS)], ids=["nested", "taken out"])
@pytest.mark.parametrize("extra", ["extra(9)", "# a note"])
def test_lines_that_move_to_another_depth_around_one_that_old_lacks(
    texts: tuple[str, str], extra: str
) -> None:
    (old, new), line = texts, "beta(2)\n"
    indent = old.partition("beta")[0].rpartition("\n")[2]
    content = old.replace(line, f"{line}{indent}{extra}\n")
    with pytest.raises(MatchError, match="the lines around it get another indentation"):
        replace_text(content, old, new)
    # Nothing is unclear if the line is not among them.
    above = f"{extra}\n{old}"
    assert replace_text(above, old, new).content == f"{extra}\n{new}"


@pytest.mark.parametrize("last", ["second(two)", "'second': 'two'", "second"])
def test_new_lines_below_one_that_lacks_its_comma_in_the_file(last: str) -> None:
    content = f"run(\n    first(one),\n    {last}\n)\nfinish(three, four)\n"
    old = content.replace(last, f"{last},")
    new = old.replace(f"{last},\n", f"{last},\n    third(three),\n")
    for fresh in (new, new.replace("two", "zwei")):
        with pytest.raises(MatchError, match="line 3 of the file has no ',' above the new lines"):
            replace_text(content, old, fresh)
    # Above it, and where the change is apart, the comma does not matter.
    for change in (("run(\n", "run(\n    zero(0),\n"), ("finish(", "close(")):
        assert replace_text(content, old, old.replace(*change)).content == content.replace(*change)


@pytest.mark.parametrize("last", ['"beta":2', '"beta":  2'])
def test_new_lines_below_one_that_lacks_its_comma_and_has_other_whitespace(last: str) -> None:
    content, old = f'{{\n  "alpha": 1,\n  {last}\n}}\n', '  "alpha": 1,\n  "beta": 2,\n'
    with pytest.raises(MatchError, match="line 3 of the file has no ',' above the new lines"):
        replace_text(content, old, f'{old}  "gamma": 3\n')
