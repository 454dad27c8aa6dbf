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
        ("# Everything goes through one lock.", "# Write under the lock of the store."),
        ("        # Everything goes through one lock.\n", ""),
        ("        return data\n", "        self.cache.clear()\n        return data\n"),
        (
            "        return data\n",
            "        x = 1\n        count()\n        return data\n",
        ),
        ("            log.info", "            now = time.time()\n            log.info"),
    ],
    ids=[
        "a renamed word",
        "an invented condition",
        "a paraphrased comment",
        "a comment left out",
        "an invented line",
        "two invented lines",
        "an invented line in a block",
    ],
)
def test_a_wrong_line_that_the_edit_leaves_alone(there: str, here: str) -> None:
    assert landed(OLD.replace(there, here)) == AFTER


def test_two_structural_lines_left_out() -> None:
    more = "notify(\n            path,\n        )\n\n        # done\n        self.touch(path)"
    content = FILE.replace("self.touch(path)", more)
    old = content[content.index("    def save") : content.index("    def load")]
    old = old.replace("        )\n", "").replace("        # done\n", "")
    assert landed(old, content) == content.replace(*CHANGED)


def test_an_invented_line_behind_a_blank_line_beside_the_change() -> None:
    content = "import os\nimport sys\n\n\ndef main(arguments):\n    run(arguments)\n    stop()\n"
    old = content.replace("\n\ndef", "\nPATH = 1\n\n\ndef")
    new = old.replace("import sys\n", "import sys\nimport time\n")
    expected = content.replace("import sys\n", "import sys\nimport time\n")
    assert replace_text(content, old, new).content == expected


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
    with pytest.raises(MatchError, match="another word"):
        landed(OLD.replace("def save", "def store"))
    with pytest.raises(MatchError):
        landed(OLD.replace("(path)", "(target)").replace("path)", "target)"))


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
    with pytest.raises(MatchError, match="like one that the new text adds"):
        landed(old, content, change)
