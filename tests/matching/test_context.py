"""Unchanged lines around an edit may be wrong; the lines that it touches may not."""

from __future__ import annotations

import pytest

from git_boocode.matching import MatchError, replace_text

FILE = """\
class Store:
    def save(self, user, path):
        # Everything goes through one lock.
        with self.lock:
            data = self.encode(user)
            self.backend.write(path, data)
            self.saved += 1
        if self.verbose:
            log.info("saved %s", path)
        self.touch(path)
        return data

    def load(self, path):
        with self.lock:
            data = self.backend.read(path)
        return self.decode(data)
"""
OLD = FILE[FILE.index("    def save") : FILE.index("    def load")]
CHANGED = ("write(path, data)", "write(path, data, sync=True)")
AFTER = FILE.replace(*CHANGED)


def landed(old: str, content: str = FILE, change: tuple[str, str] = CHANGED) -> str:
    return replace_text(content, old, old.replace(*change)).content


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("self.touch(path)", "self.mark(path)"),
        ("self.verbose:", "self.verbose and path:"),
        ("if self.verbose:", "if not quiet:"),
        ("# Everything goes through one lock.", "# Write under the lock of the store."),
        ("        # Everything goes through one lock.\n", ""),
        ("        return data\n", "        self.cache.clear()\n        return data\n"),
        ("        return data\n", "        x = 1\n        count()\n        return data\n"),
        ("            log.info", "            now = time.time()\n            log.info"),
        ("def save(self, user, path)", "def save(self, name, path, mode=None)"),
    ],
    ids=[
        "a renamed word",
        "an invented condition",
        "another condition of a block below",
        "a paraphrased comment",
        "a comment left out",
        "an invented line",
        "two invented lines",
        "an invented line in a block",
        "other parameters",
    ],
)
def test_a_wrong_line_that_the_edit_leaves_alone(there: str, here: str) -> None:
    assert landed(OLD.replace(there, here)) == AFTER


def test_a_head_that_the_file_lacks_at_its_top() -> None:
    content = OLD.partition("\n")[2]
    assert landed(OLD, content) == content.replace(*CHANGED)


def test_touched_lines_that_occur_often_are_not_looked_at() -> None:
    block = "first_{}()\ngap()\nalpha(item)\nrun(item)\nomega(item)\n"
    content, old = "".join(map(block.format, range(16))), block.format(3).replace("gap()\n", "")
    change = ("run(item)", "run(item, 1)")
    assert f"{block.format(3).replace(*change)}first_4" in landed(old, content, change)
    with pytest.raises(MatchError):
        landed(old, content + block.format(16), change)


def test_between_lines_that_are_touched_the_file_may_have_two_more() -> None:
    old = "first_call(one)\nkeep_one()\nkeep_two()\nkeep_three()\nlast_call(two)\n"
    content = old.replace("keep_three", "other()\nanother()\nkeep_three")
    assert landed(old, content, ("_call(", "(")) == content.replace("_call(", "(")
    with pytest.raises(MatchError):
        landed(old, content.replace("other()\n", "other()\nmore()\n", 1), ("_call(", "("))


def test_two_structural_lines_left_out() -> None:
    more = "notify(\n            path,\n        )\n\n        # done\n        self.touch(path)"
    content = FILE.replace("self.touch(path)", more)
    old = content[content.index("    def save") : content.index("    def load")]
    old = old.replace("        )\n", "").replace("        # done\n", "")
    assert landed(old, content) == content.replace(*CHANGED)


def test_an_invented_line_behind_a_blank_line_beside_the_change_is_refused() -> None:
    content = "import os\nimport sys\n\n\ndef main(arguments):\n    run(arguments)\n    stop()\n"
    old = content.replace("\n\ndef", "\nPATH = 1\n\n\ndef")
    with pytest.raises(MatchError):
        replace_text(content, old, old.replace("import sys\n", "import sys\nimport time\n"))


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("data = self.encode(user)", "data = self.pack(user)"),
        ("self.saved += 1", "self.count += 1"),
        ("self.backend.write", "self.storage.write"),
    ],
    ids=["the line above", "the line below", "the line itself"],
)
def test_another_word_in_a_line_that_is_touched_is_refused(there: str, here: str) -> None:
    with pytest.raises(MatchError):
        landed(OLD.replace(there, here))


def test_the_sibling_of_the_block_meant_is_refused() -> None:
    with pytest.raises(MatchError, match="but the file has"):
        landed(OLD.replace("def save", "def store"))
    with pytest.raises(MatchError):
        landed(OLD.replace("(path)", "(target)").replace("path)", "target)"))


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("with open(path) as file:", "with open(backup) as file:"),
        ("else if (path) {", "else if (backup) {"),
        ("if (path == user) {", "if (path != user) {"),
        ("if (!path) {", "if (path) {"),
        ('it("saves", () => {', 'it("loads", () => {'),
        ("found = search(path,", "found = search(backup,"),
        ("private void save(Path p) {", "private void load(Path p) {"),
    ],
)
def test_a_block_of_another_subject_is_refused(there: str, here: str) -> None:
    content = FILE.replace("def save(self, user, path):", there)
    old = content[content.index(f"    {there}") : content.index("    def load")]
    with pytest.raises(MatchError, match="but the file has"):
        landed(old.replace(there, here), content)


BODY = "    data = prepare(source, limit)\n    check(data, limit)\n    return finish(data)\n"
HEADS = {
    "a brace below": "static int read_{}(struct source *source, int limit)\n{{\n",
    "parameters below": "def load_{}(\n    source: Source, limit: int = 3\n) -> Data:\n",
    "conditions below": "pub fn load_{}(\n    source: T,\n) -> Data\nwhere\n    T: Clone,\n{{\n",
    "a section": "[tool.{}]\n",
    "a heading": "## The {} keys\n\n",
    "no parameters": "def load_{}\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("name", ["pem", "password_of_user"])
def test_the_sibling_of_a_block_with_a_long_or_flat_head_is_refused(head: str, name: str) -> None:
    body = BODY.replace("    ", "") if head.startswith(("[", "#")) else BODY
    content, old = (head.format(word) + body for word in ("der", name))
    for change in (("check(", "verify("), ("data = prepare", "data = arrange")):
        with pytest.raises(MatchError):
            replace_text(content, old, old.replace(*change))
        done = replace_text(content, content.replace(" =", "  ="), content.replace(*change))
        assert done.content == content.replace(*change)


def test_the_head_may_be_above_lines_that_only_the_file_has() -> None:
    content = f"def load_der(source):\n    limit = source.limit\n{BODY}"
    old = f"def read_pem_file(path):\n{BODY}"
    with pytest.raises(MatchError, match="but the file has 'def load_der"):
        replace_text(content, old, old.replace("check(", "verify("))


def test_the_end_of_a_call_begins_no_block() -> None:
    content = "configure(\n    source,\n)\ndata = prepare(source)\ncheck(data)\nfinish(data)\n"
    old = content.replace("configure", "set_up")
    new = old.replace("finish(", "close(")
    assert replace_text(content, old, new).content == content.replace("finish(", "close(")


def test_touched_lines_in_two_places_are_refused() -> None:
    content = FILE + OLD.replace("def save", "def keep").replace("self.touch", "self.note")
    assert landed(OLD, content) == content.replace(*CHANGED, 1)
    with pytest.raises(MatchError):
        landed(OLD.replace("self.touch(path)", "self.mark(path)"), content)


def test_more_than_a_third_of_the_lines_wrong_is_refused() -> None:
    lines = OLD.splitlines(keepends=True)
    wrong = [*lines[:6], "        a = 1\n", "        b = 2\n", "        c = 3\n", "        d = 4\n"]
    with pytest.raises(MatchError):
        landed("".join(wrong))


@pytest.mark.parametrize("extra", ["self.sync = True\n", "self.synced = True\n"])
def test_a_line_like_the_one_that_comes_in_is_refused(extra: str) -> None:
    content = FILE.replace("        return data\n", f"        {extra}        return data\n", 1)
    change = ("        if self.verb", "        self.sync = True\n        if self.verb")
    old = OLD.replace("self.touch", "self.mark")
    assert landed(old, change=change) == FILE.replace(*change)
    with pytest.raises(MatchError, match="resembles a line that the new text adds"):
        landed(old, content, change)


APPLIED = FILE.replace("data = self.encode(user)", "data = self.encode(user, strict=True)")
RENAMED = (("data = self.encode(user)", "data = self.encode(user, strict=True)"), CHANGED)


def both(old: str) -> str:
    for change in RENAMED:
        old = old.replace(*change)
    return old


def test_a_replaced_line_that_already_has_its_new_form_counts_as_equal() -> None:
    expected = APPLIED.replace(*CHANGED)
    assert replace_text(APPLIED, OLD, both(OLD)).content == expected
    drifted = OLD.replace("self.touch", "self.mark")
    assert replace_text(APPLIED, drifted, both(drifted)).content == expected


def test_words_of_the_new_form_may_be_in_the_line_that_is_replaced() -> None:
    row = "    assert text(first.done()) == 'Piece((p >= 0) & (p <= n - 1), True)'\n"
    old = row.replace("p >= 0", "0 <= p")
    new = row.replace("assert text", "assert words").replace("'", '"')
    assert replace_text(f"x = 1\n{row}y = 2\n", old, new).content == f"x = 1\n{new}y = 2\n"
    with pytest.raises(MatchError, match="where the file has '>='"):
        replace_text(f"x = 1\n{row}y = 2\n", old, old.replace("assert text", "assert words"))


def test_an_edit_that_is_there_as_a_whole_is_refused() -> None:
    drifted = OLD.replace("self.touch", "self.mark")
    with pytest.raises(MatchError) as caught:
        replace_text(both(FILE), drifted, both(drifted))
    assert caught.value.code == "already_applied"


def test_an_added_line_that_is_there_already_is_not_counted_as_equal() -> None:
    added = (
        "            self.saved += 1\n",
        "            self.saved += 1\n            self.sync()\n",
    )
    content = FILE.replace(*added)
    with pytest.raises(MatchError):
        landed(OLD, content, added)
    with pytest.raises(MatchError):
        replace_text(content, OLD, OLD.replace(*added).replace(*CHANGED))


@pytest.mark.parametrize("line", ["@timed(limit=1)", "@some"])
def test_lines_that_are_above_the_place_already_do_not_come_in_again(line: str) -> None:
    added = ("    def save", f"    {line}\n    def save")
    drifted = OLD.replace("self.touch", "self.mark")
    for old in (drifted, OLD.replace(" =", "  =")):
        assert landed(old, change=added) == FILE.replace(*added)
        with pytest.raises(MatchError, match="already there"):
            landed(old, FILE.replace(*added), added)


@pytest.mark.parametrize(
    ("above", "change"),
    [
        ("    }\n", ("    def save", "    }\n    def save")),
        (
            "    @timed(limit=1)\n",
            ("        self.touch", "        @timed(limit=1)\n        self.touch"),
        ),
    ],
    ids=["a bracket says nothing", "they come in further down"],
)
def test_lines_above_the_place_that_do_not_show_the_edit(
    above: str, change: tuple[str, str]
) -> None:
    content = FILE.replace("    def save", f"{above}    def save")
    assert landed(OLD.replace(" =", "  ="), content, change) == content.replace(*change, 1)


WORDY = FILE.replace("self.encode(user)", 'self.encode(user, mode="b")')


def test_words_may_be_missing_in_the_line_that_is_replaced() -> None:
    line = "            data = self.encode(user)\n"
    split = "            rows = [*user.rows()]\n            data = join(rows)\n"
    rest = WORDY.replace('            data = self.encode(user, mode="b")\n', split)
    assert landed(OLD, WORDY, (line, split)) == rest
    merged = WORDY.replace("data = self.en", "self.data = self.en")
    assert landed(OLD, WORDY, ("data = self.en", "self.data = self.en")) == merged


@pytest.mark.parametrize(
    ("there", "here", "after"),
    [
        ("if self.verbose:", "if not self.verbose:", "if ready:"),
        ("if self.verbose:", "if not self.verbose:", "if self.verbose and path:"),
        ("if self.verbose:", "if path and self.verbose:", "if ready:"),
        ("def save(self, user, path):", "def save(self, user, path, mode=2):", "def keep(self):"),
        ("            self.saved += 1\n", "            self.saved += 1 + path\n", ""),
        ("self.saved += 1", "self.saved += 1 if user and path else 2", "self.saved += 3"),
    ],
    ids=[
        "a negation",
        "a negation that would stay",
        "what they stand beside stays",
        "at an end",
        "in a line that goes",
        "as many as there are",
    ],
)
def test_words_missing_that_nobody_may_lose(there: str, here: str, after: str) -> None:
    with pytest.raises(MatchError):
        landed(OLD, FILE.replace(there, here), (there, after))


def test_words_missing_beside_other_wrong_lines_are_refused() -> None:
    line = "            data = self.encode(user)\n"
    with pytest.raises(MatchError):
        landed(
            OLD.replace("self.touch", "self.mark"), WORDY, (line, "            data = join(user)\n")
        )


REMARKED = """\
first = 1

# Save everything that the user has.
def save(user):
    store(user.name)
    store(user.rows)
    store(user.more)
    count(user)
    return user

last = 2
"""


@pytest.mark.parametrize(
    "comment",
    [
        "# Save all that the user has.\n",
        "# Save all that this user has.\n# This raises no error.\n",
    ],
)
def test_a_block_goes_with_its_comment_in_other_words(comment: str) -> None:
    block = REMARKED[REMARKED.index("# Save") : REMARKED.index("\nlast")]
    old = comment + block[block.index("def ") :]
    assert replace_text(REMARKED, old, "").content == "first = 1\n\nlast = 2\n"
    assert replace_text(REMARKED, old, "def keep(user):\n    return user\n").content == (
        REMARKED.replace(block, "def keep(user):\n    return user\n")
    )


def test_a_comment_that_old_lacks_does_not_lose_its_block() -> None:
    block = REMARKED[REMARKED.index("def ") : REMARKED.index("\nlast")]
    with pytest.raises(MatchError):
        replace_text(REMARKED, f"# Loads\n# it from\n# disk.\n{block}", "")


@pytest.mark.parametrize(
    ("comments", "line"),
    [
        ("# It may take long.\n# Save everything that the user has.\n", 3),
        ("# Save everything that the user has.\n# It may take long.\n", 4),
    ],
    ids=["above", "below"],
)
def test_a_comment_in_other_words_does_not_go_without_the_one_beside_it(
    comments: str, line: int
) -> None:
    content = REMARKED.replace("# Save everything that the user has.\n", comments)
    old = content.replace(comments, "# Save all that the user has.\n")
    with pytest.raises(MatchError, match=f"it lacks line {line}, a comment"):
        replace_text(content, old, old.replace("# Save all that", "# Keep all that"))


def test_few_lines_at_another_depth_with_a_wrong_one_are_refused() -> None:
    content = (
        "for name in names:\n    try:\n        value = get(node, name)\n    except KeyError:\n"
    )
    content += "        continue\n"
    old = "try:\n    value = get(node, name)\nexcept KeyError:\n    keywords = True\n    continue\n"
    new = old.replace("(node", "(tree")
    with pytest.raises(MatchError):
        replace_text(content, old, new)


REPLACED_COMMENT = """\
def digest(source):
    if not source.readable():
        raise ValueError("it cannot be read")

    # The calls of the operating system are expensive.
    # So one buffer serves for all of them.
    buffer = bytearray(SIZE)
    view = memoryview(buffer)
    return fill(view)
"""


def edited(new: str) -> str:
    first, last = "    # The calls", "all of them.\n"
    at, end = REPLACED_COMMENT.index(first), REPLACED_COMMENT.index(last) + len(last)
    return REPLACED_COMMENT[: at - 1] + new + REPLACED_COMMENT[end:]


def test_comments_that_are_replaced_must_be_there() -> None:
    first = "    prepare(source, 1)\n    prepare(source, 2)\n    prepare(source, 3)\n"
    with pytest.raises(MatchError) as caught:
        replace_text(edited(first), REPLACED_COMMENT, edited(first))
    assert caught.value.code == "already_applied"
    with pytest.raises(MatchError) as caught:
        replace_text(edited(first), REPLACED_COMMENT, edited("    other = entirely()\n"))
    assert caught.value.code == "not_found"


def test_a_block_in_which_nothing_changes_may_have_another_name() -> None:
    old = FILE.replace("def save(self, user, path)", "def store(self, user, path)")
    change = ("backend.read(path)", "backend.read(path, 1)")
    assert landed(old, change=change) == FILE.replace(*change)


@pytest.mark.parametrize(
    ("stop", "lands"), [("        self.touch", False), ("        return", True)]
)
def test_seven_lines_in_ten_must_be_there(stop: str, lands: bool) -> None:
    old = FILE[FILE.index("        with self.lock") : FILE.index(stop)]
    old = old.replace("if self.verbose", "if verbose(3)").replace('"saved %s"', '"%s is saved"')
    assert old.count("\n") == (7 if lands else 6)
    if lands:
        assert landed(old) == AFTER
    else:
        with pytest.raises(MatchError):
            landed(old)
