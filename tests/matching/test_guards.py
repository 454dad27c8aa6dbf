"""The default profile refuses what boocode would take."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, locate_match, replace_text


@pytest.mark.parametrize(
    "needle",
    ["}", "return", "else:", "return None", "pass", "});", "end", "} else {", "return true;"],
)
def test_bare_needles_prove_nothing(needle: str) -> None:
    content = f"first line\n\t{needle}\t\nlast line\n"
    tolerant = f"    {needle}"
    assert locate_match(content, tolerant, "boocode").kind == "fuzzy"
    match = locate_match(content, tolerant)
    assert match.kind == "not_found"
    assert match.reason
    assert "too short" in match.reason
    assert locate_match(content, needle).kind == "exact"


@pytest.mark.parametrize("needle", ["foo()", "return 1", "return 0;", "i++", "if a:\n  b", "x = 1"])
def test_short_text_with_names_is_enough_for_equal_lines(needle: str) -> None:
    content = "\n".join(f"\t{line.strip()}" for line in needle.split("\n")) + "\n"
    assert locate_match(content, f"    {needle}").rung == "whitespace"


ENOUGH = [
    ("unicode", "\u201c{}\u201d\n", '"{}"', "ab"),
    ("layout", "f ( {} )\n", "f({})", "a"),
    ("comments", "# note\ncall({})  # one\n}}\n", "call({})  # another\n}}\n", "word"),
    ("context", "call({})\ngo()\n[{{1}}]\n2\n", "call({})\n[{{1}}]\n2\n", "wo"),
    ("similarity", "{}s()\n", "{}()", "somename"),
]


@pytest.mark.parametrize(("rung", "content", "needle", "word"), ENOUGH)
def test_what_a_text_must_hold_is_counted_in_letters(
    rung: str, content: str, needle: str, word: str
) -> None:
    assert locate_match(content.format(word), needle.format(word)).rung == rung
    assert locate_match(content.format(word[:-1]), needle.format(word[:-1])).kind == "not_found"


def test_short_text_in_two_places_is_ambiguous() -> None:
    assert locate_match("\treturn 1\n\n\treturn 1\n", "    return 1").kind == "ambiguous"


def test_a_short_needle_with_a_typo_is_refused() -> None:
    assert locate_match("count += 1\n", "cuont += 1\n").kind == "not_found"


HEAD, TAIL = "def convert(document, target_format):\n", "    return document.finish()\n"
MIDDLE = "    parser = Parser(document)\n    parser.feed(target_format)\n"
OTHER = "    if not document:\n        raise KeyError(document)\n"


def test_same_ends_with_another_middle_are_refused() -> None:
    content = HEAD + OTHER + TAIL
    for needle in (HEAD + MIDDLE + TAIL, HEAD + "    x = 1\n    y = 2\n" + TAIL):
        match = locate_match(content, needle)
        assert match.kind == "not_found"


def test_one_line_of_other_code_is_refused_however_long_the_rest() -> None:
    lines = [f"    value_{number} = compute(number, {number})\n" for number in range(20)]
    changed = list(lines)
    changed[9] = "    for key in sorted(registry):\n"
    assert locate_match("".join(lines), "".join(changed), "boocode").kind == "fuzzy"
    reason = "line 10 is different code: the file has 'value_9 = compute(number, 9)'"
    assert locate_match("".join(lines), "".join(changed)).reason == reason


def test_a_sibling_in_which_most_lines_differ_a_little_is_refused() -> None:
    here = "".join(f"    field_{n} = make_text_field('label_{n}')\n" for n in "abcdef")
    sibling = here.replace("make_text", "make_date")
    assert locate_match(sibling, here, "boocode").kind == "fuzzy"
    assert locate_match(sibling, here).kind == "not_found"


def test_places_that_differ_only_where_the_needle_is_wrong_are_refused() -> None:
    content = "setup(mode='reader', path=there)\nsetup(mode='leader', path=there)\n"
    match = locate_match(content, "setup(mode='header', path=there)")
    assert match.kind == "ambiguous"


@pytest.mark.parametrize("typos", [1, 2])
def test_typos_in_a_block_are_taken(typos: int) -> None:
    block = HEAD + MIDDLE + TAIL
    drifted = block.replace("Parser(document)", "Parser(docment)")
    if typos == 2:
        drifted = drifted.replace("document.finish", "document.finsh")
    match = locate_match("import things\n\n" + block, drifted)
    assert (match.kind, match.rung, match.start_line, match.end_line) == (
        "fuzzy",
        "similarity",
        3,
        6,
    )


@pytest.mark.parametrize("lost", [1, 2])
def test_a_forgotten_line_between_equal_lines_is_taken(lost: int) -> None:
    lines = (HEAD + MIDDLE + TAIL).splitlines(keepends=True)
    needle = "".join(line for number, line in enumerate(lines) if number != lost)
    match = locate_match("".join(lines), needle)
    assert (match.kind, match.rung, match.start_line, match.end_line) == ("fuzzy", "context", 1, 4)


def test_text_of_another_file_is_refused() -> None:
    content = "\n".join(f"{name}: {name}.length" for name in ("alpha", "beta", "gamma")) + "\n"
    match = locate_match(content, "public void run() {\n    queue.drain();\n}\n")
    assert match.kind == "not_found"


def test_the_sibling_of_a_deleted_block_is_refused_however_similar() -> None:
    block = (
        "    try:\n        import sitecustomize\n    except ImportError as error:\n"
        "        if error.name != 'sitecustomize':\n            raise\n"
        "    report('finished looking for customisation of this interpreter')\n"
    )
    sibling = block.replace("sitecustomize", "usercustomize")
    reason = "line 2 has 'sitecustomize' where the file has 'usercustomize'"
    assert locate_match(sibling, block).reason == reason
    assert locate_match(sibling, block, "boocode").kind == "fuzzy"


@pytest.mark.parametrize(
    "misspelt", ["add_argmuent", "dad_ragument", "ad_argument", "add_arguments", "aed_argument"]
)
def test_slips_in_a_word_are_taken(misspelt: str) -> None:
    line = "    parser.add_argument('--encoding', help='encoding of the output')\n"
    assert locate_match(line, line.replace("add_argument", misspelt)).kind in ("fuzzy", "exact")


def test_a_comment_may_be_rephrased() -> None:
    block = "def area(shape):\n    # Compute the area of a shape\n    return shape.width * 2\n"
    match = locate_match(block, block.replace("Compute the area of a", "Computes area of the"))
    assert (match.kind, match.start_line, match.end_line) == ("fuzzy", 1, 3)


def test_another_number_is_no_typo() -> None:
    assert locate_match("start_server(port=8080)\n", "start_server(port=8081)").kind == "not_found"


def test_a_word_the_file_uses_elsewhere_is_no_typo() -> None:
    sibling = "output = reader.run(values)\nreturn output\n"
    needle = "output = header.run(values)\nreturn output\n"
    assert locate_match(sibling, needle).kind == "fuzzy"
    for known in ("header = None\n", "self.header_size = None\n", "table_header()\n"):
        assert locate_match(sibling + known, needle).kind == "not_found"
    assert locate_match(sibling + "headers, leader = None\n", needle).kind == "fuzzy"


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("encoder", "decoder"),
        ("LIBS", "SHLIBS"),
        ("get_value", "set_value"),
        ("REG_SS", "REG_ES"),
        ("parseXml", "parseYml"),
    ],
)
def test_another_name_is_no_typo(here: str, there: str) -> None:
    block = "def run(values):\n    output = {}(values)\n    return output\n"
    match = locate_match(block.format(there), block.format(here))
    reason = f"line 2 has '{here}' where the file has '{there}'"
    assert (match.kind, match.reason) == ("not_found", reason)


def test_a_slip_at_the_start_of_a_longer_part_of_a_name_is_taken() -> None:
    content = "output = item_list(values)\nreturn output\n"
    assert locate_match(content, content.replace("item", "utem")).kind == "fuzzy"


def test_a_name_may_be_written_as_two_words() -> None:
    content = "output = readall(values)\nreturn output, read\n"
    assert locate_match(content, "output = read_all(values)\nreturn output, read\n").kind == "fuzzy"


def test_a_long_line_is_quoted_in_part() -> None:
    lines = [f"    value_{number} = compute(number, {number})\n" for number in range(20)]
    content = "".join([*lines[:9], f"    call({'argument, ' * 9})\n", *lines[10:]])
    quoted = "'" + ("call(" + "argument, " * 9)[:59] + "…'"
    assert locate_match(content, "".join(lines)).reason == (
        f"line 10 is different code: the file has {quoted}"
    )


def test_the_same_wrong_letter_twice_is_no_typo() -> None:
    block = "def run(values):\n    {0}.start(values)\n    wait(3)\n    {0}.stop(values)\n"
    assert locate_match(block.format("reader"), block.format("header")).kind == "not_found"
    # An omission happens twice: it is a habit.
    assert locate_match(block.format("reader"), block.format("reder")).kind == "fuzzy"


def test_another_short_line_is_other_code() -> None:
    block = 'if test -n "$browser"\n{}\n    show_page "$browser"\nfi\n'
    assert locate_match(block.format("then"), block.format("else")).kind == "not_found"


def test_a_place_below_the_threshold_may_be_the_one_meant() -> None:
    ends = ["special", "major", "prereleases"]
    needle, *places = (f"    return prefix\n  }}\n\n  # high and low are {end}\n" for end in ends)
    assert locate_match("\n".join(places), needle).kind != "fuzzy"


DIRECTIVE = "#define LIB_MAJOR {}\n#define LIB_MINOR_VERSION 8\n"
INDENTED = "#ifndef LIB_LIMITED_API\n#  {} LIB_OBJECT_HEADER\n"
DEREFERENCE = "total_bytes += length_of_it;\n*{} = position_of_it;\nreturn total_bytes;\n"
ITEM = "Parameters of the call:\n\n* `address` {} of the host\n* `family` the family to use\n"


@pytest.mark.parametrize(
    ("block", "here", "there"),
    [
        (DIRECTIVE, 3, 4),
        (INDENTED, "include", "define"),
        (DEREFERENCE, "first_result", "final_result"),
        (ITEM, "An IPv4 or IPv6 address", "The address to look for"),
    ],
    ids=["directive", "indented directive", "dereference", "item of a list"],
)
def test_what_only_looks_like_a_comment_is_not_rephrased(
    block: str, here: object, there: object
) -> None:
    assert locate_match(block.format(there), block.format(here)).kind == "not_found"


def test_a_comment_proves_a_place_only_by_its_words() -> None:
    comment = "# Return the keys of the mapping, or nothing if it has none\n"
    sibling = comment.replace("keys", "values")
    assert locate_match(sibling, comment, "boocode").kind == "fuzzy"
    assert locate_match(sibling, comment).kind == "not_found"


@pytest.mark.parametrize("between", ["", "\n", "other(1)\nother(2)\nother(3)\n"])
def test_two_places_with_the_line_that_was_forgotten_are_ambiguous(between: str) -> None:
    block = "open_file(path)\nread_all(handle)\nparse(text)\nclose_file(handle)\n"
    match = locate_match(block + between + block, block.replace("parse(text)\n", ""))
    assert (match.kind, match.count) == ("ambiguous", 2)


def test_two_telling_lines_prove_a_place_with_a_line_in_between() -> None:
    content = (
        "handler = create_handler(options)\nhandler.start()\nserver = connect_server(address)\n"
    )
    old = content.replace("handler.start()\n", "")
    new = old.replace("options", "settings")
    assert replace_text(content, old, new).content == content.replace("options", "settings")
    with pytest.raises(MatchError):
        replace_text(content + old.split("\n")[0] + "\n", old, new)
    telling = "call(word)\ngo()\nsend(name)\n"
    assert locate_match(telling, telling.replace("go()\n", "")).rung == "context"
    assert locate_match(telling[1:], telling[1:].replace("go()\n", "")).kind == "not_found"
    short = "for each in all:\n    use(each)\n    put(each)\n"
    assert locate_match(short, short.replace("    use(each)\n", "")).kind == "not_found"


def test_two_lines_that_change_around_one_that_stays() -> None:
    content = (
        "if several:\n    d = separate(expr)\n    if d.is_Mul:\n        d = separate(d, dict)\n"
    )
    old = "    d = separate(expr)\n        d = separate(d, dict)\n"
    after = content.replace("separate", "_separate")
    assert replace_text(content, old, old.replace("separate", "_separate")).content == after


ACCENTED = [
    ("Ella tenía razón, pero él no.", "Ella tenia razon, pero el no."),
    ("Wir können später größere Körbe nähen.", "Wir konnen spater großere Korbe nahen."),
    ("name_é = read_name(é)", "name_e = read_name(e)"),
]


def test_the_accents_of_an_unchanged_line_stay_as_in_the_file() -> None:
    for of_model in [0, 1]:
        for lines in ACCENTED:
            mine, own = lines[of_model], lines[1 - of_model]
            # The file uses the word of the model as well.
            content = f"{{}}\nThe next line changes here.\n\n{mine.split()[1]}: {mine.split()[0]}\n"
            old = f"{mine}\nThe next line changes here.\n"
            done = replace_text(content.format(own), old, old.replace("here", "now"))
            assert done.content == content.format(own).replace("here", "now")
            assert "kept 1 drifted line" in done.notes
            with pytest.raises(MatchError):
                replace_text(content.format(own), old, old.replace(mine, "Another sentence."))


NAMED = "def load(path):\n    key = {}(path)\n    return finish(path, key)\n"
MISSPELT = [("get_key", "bet_key"), ("REG_SS", "REG_ES"), ("run", "fun")]


@pytest.mark.parametrize(("there", "here"), MISSPELT)
def test_a_wrong_letter_in_an_unchanged_line_beside_an_exact_change(there: str, here: str) -> None:
    content, old = NAMED.format(there), NAMED.format(here)
    done = replace_text(content, old, old.replace("finish(", "close("))
    assert done.content == content.replace("finish(", "close(")
    # The place is not certain if the line that changes is another one.
    with pytest.raises(MatchError, match=f"has '{here}'"):
        replace_text(content, old.replace("path, key", "path, kay"), old.replace("key)", "a)"))
    # A second place in reach, or the word or a part of it in the file, makes it another name.
    part = here.split("_")[-1 if here.startswith("REG") else 0]
    for more in (content.replace(there, f"{there}s"), f"{here}(1)\n", f"{part}_else(1)\n"):
        with pytest.raises(MatchError):
            replace_text(content + more, old, old.replace("finish(", "close("))


@pytest.mark.parametrize(
    ("there", "here"), [("decoder", "encoder"), ("set_up", "bet_in"), ("mode_1", "mode_2")]
)
def test_another_name_in_an_unchanged_line(there: str, here: str) -> None:
    old = NAMED.format(here)
    with pytest.raises(MatchError, match=f"has '{here}' where the file has '{there}'"):
        replace_text(NAMED.format(there), old, old.replace("finish(", "close("))


BRANCH = "def run(task):\n    if {}:\n        start(task)\n    return finish(task)\n"
OPERATORS = [
    *(("task.is_ready <= limit", "task.is_ready < limit"), ("ready != task", "ready == task")),
    *(("ready || task.valid", "ready && task.valid"), ("!task.is_ready", "task.is_ready")),
    *(("task.size + limit", "task.size - limit"), ("-task.size", "task.size")),
    *(("check(*task)", "check(task)"), ("check(&task)", "check(task)")),
]


@pytest.mark.parametrize(("there", "here"), [*OPERATORS, *((b, a) for a, b in OPERATORS)])
def test_another_operator_is_no_typo(there: str, here: str) -> None:
    content, old = BRANCH.format(there), BRANCH.format(here)
    for new in (old.replace(here, f"{here} and more"), old.replace("start(", "begin(")):
        with pytest.raises(MatchError, match=r"line 2 has .* where the file has "):
            replace_text(content, old, new)
    # The edit may make the same change as the file.
    same = old.replace(here, there).replace("start(", "begin(")
    assert replace_text(content, old, same).content == same


@pytest.mark.parametrize("mark", ["#", "//", "--"])
def test_code_is_not_the_comment_with_its_words(mark: str) -> None:
    code = "    total = compute(alpha, beta)\n    return total\n"
    comment = code.replace("total =", f"{mark} total =", 1)
    for there, here in ((comment, code), (code, comment)):
        with pytest.raises(MatchError, match=f"'{mark}'"):
            replace_text(f"first()\n{there}", here, here.replace("beta", "gamma"))
    longer = f"    first(alpha)\n{code}    second(beta)\n"
    with pytest.raises(MatchError):
        replace_text(longer.replace(code, comment), longer, longer.replace("alpha, beta", "beta"))


def test_an_angle_bracket_may_be_written_as_another_bracket() -> None:
    content, old = "> = ({ isOpen, onClose }) => {\n", "} = ({ isOpen, onClose }) => {\n"
    done = replace_text(content, old, old.replace("onClose", "onClose, path"))
    assert done.content == content.replace("onClose", "onClose, path")


def test_a_list_may_have_other_bullets_and_loose_equality_is_equality() -> None:
    assert locate_match("* write this sentnce\n", "- write this sentence\n").rung == "similarity"
    assert locate_match("if (alpha === beta) {\n", "if (alpha == beta) {\n").rung == "similarity"


@pytest.mark.parametrize("mark", ["-", "=", "*", "#", "~"])
def test_the_length_of_a_ruler_may_differ(mark: str) -> None:
    ruler = mark * 16
    content = f"# {ruler} Section {ruler}\ndef run(values, limit):\n    return values[limit]\n"
    old = content.replace(ruler, ruler[1:]).replace("run(values", "run(valuess")
    new = old.replace("[limit]", "[:limit]")
    result = replace_text(content, old, new).content
    assert result == content.replace("[limit]", "[:limit]")
    # A comment, a decrement, or the level of a heading is not a ruler.
    for here, there in (("--", "-"), ("##", "###"), ("//", "/"), ("**", "*")):
        text = content.replace(ruler, here)
        match = locate_match(text, old.replace(ruler[1:], there))
        assert match.kind == "not_found"
