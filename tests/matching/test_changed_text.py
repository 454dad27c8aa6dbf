"""A change of a drifted line changes what the model meant to change, or is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_boocode.matching import MatchError, replace_text
from git_boocode.matching.merge import merge_line

GAPS = {
    "a comma becomes a word": ("f(a,b) # ’s", "f(a,b) # 's", "f(a or b) # 's", "f(a or b) # ’s"),
    "a full stop becomes a word": (
        "it is  used now.",
        "it is used now.",
        "it is used now and",
        "it is  used now and",
    ),
    "an operator becomes a word": (
        "x=left+right",
        "x=lfet+right",
        "x=left if right",
        "x=left if right",
    ),
    "two marks are one operator": (
        "if (a != 'b') {",
        'if (a != "b") {',
        'a != "b" &&',
        "a != 'b' &&",
    ),
    "a word becomes a dot": (
        "import one as two",
        "improt one as two",
        "improt one.two",
        "import one.two",
    ),
    "a column gets narrower": ("name:    20", "nmae:    20", "nmae:  20", "name:  20"),
    "spaces are added": ("x=a+b; // ’", "x=a+b; // '", "x = a + b; // '", "x = a + b; // ’"),
    "spaces are removed": (
        "x  =  [ a ]; // ’",
        "x  =  [ a ]; // '",
        "x = [a]; // '",
        "x = [a]; // ’",
    ),
    "one quote of a string is new": ("f('a')", 'f("a")', 'f("a b")', 'f("a b")'),
    "a string is added": ("f('a')", 'f("a")', 'f("b", "a")', "f(\"b\", 'a')"),
    "accents in two characters": (
        "re\u0301sume\u0301(a)",
        "r\u00e9sum\u00e9(a)",
        "r\u00e9sum\u00e9(b)",
        "re\u0301sume\u0301(b)",
    ),
}


@pytest.mark.parametrize(("mine", "old", "new", "expected"), GAPS.values(), ids=GAPS)
def test_what_the_change_touches_is_that_of_new(
    mine: str, old: str, new: str, expected: str
) -> None:
    assert merge_line(mine, old, new) == expected


ENDS = {
    "the call goes on below": (
        "run(first);",
        "run(first)",
        "run(\n\tfirst,\n\tsecond,\n)",
        "run(\n\tfirst,\n\tsecond,\n);",
    ),
    "new has the end itself": (
        "run(first);",
        "run(first)",
        "run(\n\tfirst,\n);",
        "run(\n\tfirst,\n);",
    ),
    "a comment is added": (
        "run(first);",
        "run(first)",
        "run(first)  // now",
        "run(first);  // now",
    ),
    "a new key follows": (
        "'one': run(first),",
        "'one': run(first)",
        "'one': run(first),\n'two': run(second)",
        "'one': run(first),\n'two': run(second),",
    ),
    "a new line follows": (
        "run(first);",
        "run(first)",
        "run(firsts)\nstop_it(third)",
        "run(firsts);\nstop_it(third)",
    ),
}


@pytest.mark.parametrize(("mine", "old", "new", "expected"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_statement_stays_at_its_end(
    mine: str, old: str, new: str, expected: str
) -> None:
    content = "begin_all(values);\n{}\nfinish_all(values)\n"
    model = "begin_all(values)\n{}\nfinish_all(values)\n"
    done = replace_text(content.format(mine), model.format(old), model.format(new))
    assert done.content == content.format(expected)


REFUSED = {
    "a comma before another line": (
        "{\n  'one': first(),\n  'two': second(),\n}\n",
        "  'one': first()\n  'two': second()",
        "  'one': first()\n  'two': second(\n    3\n  )\n  'six': sixth()",
    ),
    "another word, which new has": (
        'function hello() {\n    print("hello")\n}\n',
        'function hello() {\n    print("wrong")\n}',
        'function hello() {\n    print("hello again")\n}',
    ),
    "another word in a comment, which new has": (
        "# The first of the values.\nvalues = read_all(path)\n",
        "# The other of the values.\nvalues = read_all(path)\n",
        "# The first_last of the values.\nvalues = read_all(path)\n",
    ),
    "a dash beside one of another form": (
        "# the \u2013x of the flags\nflags = read_all(path)\n",
        "# the -x of the flags\nflags = read_all(path)\n",
        "# the - -x of the flags\nflags = read_all(path)\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new"), REFUSED.values(), ids=REFUSED)
def test_what_may_not_belong_into_the_new_text_is_refused(content: str, old: str, new: str) -> None:
    with pytest.raises(MatchError) as caught:
        replace_text(content, old, new)
    assert caught.value.code in ("not_found", "ambiguous")


def test_a_line_that_becomes_blank_keeps_nothing_of_the_files() -> None:
    assert merge_line("\u2014", "-", "") == ""


def test_a_comment_goes_behind_the_rest_of_an_exact_line() -> None:
    for old in ("a = run(x)", "run(x)"):
        done = replace_text("a = run(x);\nb = 1;\n", old, f"{old}  # now")
        assert done.content == "a = run(x);  # now\nb = 1;\n"


DEPTHS = {
    "the last line as deep as the model's": (
        'def f():\n    add(\n        "one", of(a)\n    )\n',
        'add(\n    "one", of(a)',
        'add(\n    "two", of(a)',
        'def f():\n    add(\n        "two", of(a)\n    )\n',
    ),
    "both lines changed": (
        "top:\n    one: x\n        two: y\n    end: z\n",
        "one: x\n    two: y",
        "one: xx\n    two: yy",
        "top:\n    one: xx\n        two: yy\n    end: z\n",
    ),
    "unchanged lines of a chain": (
        "f() {\n    let a = get(b)?\n        .one(c)\n        .two(|_| b);\n}\n",
        "let a = get(b)?\n    .one(c)\n    .two(|_| b);",
        "let a = get(b)?\n    .one(c)\n    .new(c)\n    .two(|_| b);",
        "f() {\n    let a = get(b)?\n        .one(c)\n        .new(c)\n        .two(|_| b);\n}\n",
    ),
    "half units, nested anew": (
        "E {\n    f() {\n        g(x\n            .h(v));\n    }\n}\n",
        "  f() {\n    g(x\n      .h(v));\n  }",
        "  f() {\n    g(\n      x\n        .h(v)\n    );\n  }",
        "E {\n    f() {\n        g(\n            x\n                .h(v)\n        );\n    }\n}\n",
    ),
    "a line of spaces among tabs": (
        "\tsuccess '\n\t\tgit commit --amend &&\n\t\tcheck HEAD\n\t'\n",
        "    success '\n        git commit --amend &&\n        check HEAD\n    '\n",
        "    success '\n        PATH=\"$PWD:$PATH\" git commit &&\n        check HEAD\n    '\n",
        "\tsuccess '\n\t\tPATH=\"$PWD:$PATH\" git commit &&\n\t\tcheck HEAD\n\t'\n",
    ),
    "only the first old line too deep, new as in the file": (
        '<a>\n  <Item\n    src="1"\n    alt="2"\n  />\n</a>\n',
        '    <Item\n    src="1"\n    alt="2"\n  />',
        '    <Item\n      src="3"\n      alt="4"\n    />',
        '<a>\n  <Item\n    src="3"\n    alt="4"\n  />\n</a>\n',
    ),
    "one space for the margin": (
        "    one_line\n    two_line\n    rest\n",
        " one_line\n two_line\n",
        " new_line\n     deep_line\n",
        "    new_line\n        deep_line\n    rest\n",
    ),
    "part of the first line's indentation": (
        "def f():\n    x = one(a)\n    y = two(b)\n",
        "  x = one(a)\n",
        "  x = one(a)\n  z = six(a)\n",
        "def f():\n    x = one(a)\n    z = six(a)\n    y = two(b)\n",
    ),
    "a file without indentation": (
        "one(a);\nconst b = two(a);\n",
        "one(a)\nconst b = two(a)",
        "one(a)\nconst b = {\n\ta: two(a),\n}",
        "one(a);\nconst b = {\n\ta: two(a),\n};\n",
    ),
}


@pytest.mark.parametrize(("content", "old", "new", "expected"), DEPTHS.values(), ids=DEPTHS)
def test_no_line_is_moved_against_the_depth_of_shared_lines(
    content: str, old: str, new: str, expected: str
) -> None:
    assert replace_text(content, old, new).content == expected


def test_a_first_line_above_the_margin_is_refused() -> None:
    content = "int main(void)\n{\n    run();\n}\n"
    with pytest.raises(MatchError, match="cannot determine"):
        replace_text(content, "    int main(void)\n", "    int main(\n    void\n)\n")


def test_a_change_of_whitespace_alone_is_applied_to_a_drifted_line() -> None:
    content = "x=run(’a’,b)\nfinish_all(x)\n"
    done = replace_text(content, "x=run('a',b)\nfinish", "x = run('a', b)\nfinish")
    assert done.content == "x = run(’a’, b)\nfinish_all(x)\n"


def test_new_text_that_is_nested_otherwise_is_not_there() -> None:
    content = "if ready:\n    run_first(a)\n    run_last(a)\n"
    with pytest.raises(MatchError) as caught:
        replace_text(
            content, "if ready:\n    unknown(b, c)\n", content.replace("    run_l", "run_l")
        )
    assert caught.value.code == "not_found"


PIECES = st.sampled_from(
    ["a", "foo", *"()[]{},;'\"=-+.\u2014\u201c\u0301\u00e9\u200b", " ", "  ", "//"]
)
LINES = st.lists(PIECES, max_size=10).map("".join).map(str.strip)


@given(LINES, LINES, st.lists(LINES, min_size=1, max_size=3).map("\n".join).map(str.strip))
def test_a_merged_statement_has_as_many_lines_as_new(mine: str, old: str, new: str) -> None:
    try:
        merged = merge_line(mine, old, new)
    except MatchError:
        return
    assert merged.count("\n") == new.count("\n")
