"""Hostile edits by line numbers, hashline texts and reads: each is refused, and changes nothing."""

from __future__ import annotations

import hashlib
import os
import random
import socket
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from git_boocode.editing.formats.hashline_grammar import is_operation
from git_boocode.editing.line_changes import LineChanges
from git_boocode.editing.reading import read_lines
from git_boocode.editing.workspace import Workspace
from git_boocode.repo.errors import BoocodeError
from tests.editing.kit import read, refused, snapshot
from tests.hostile.test_targets import ends
from tests.repo_kit import Repo, seal, sealed_environment

FIVE = "1\n2\n3\n4\n5\n"
NOW = f"{FIVE}6\n"


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def twins() -> tuple[bytes, bytes]:
    """Two contents whose blob ids begin with the same seven digits."""
    seen: dict[str, bytes] = {}
    number = 0
    while True:
        data = b"%d\n" % number
        other = seen.setdefault(blob_id(data)[:7], data)
        if other != data:
            return other, data
        number += 1


class World(NamedTuple):
    """A repository with every kind of file, and the names that hostile inputs use."""

    repo: Repo
    names: dict[str, str]

    def fill(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(f"<{name}>", value)
        return text


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    with pytest.MonkeyPatch.context() as monkeypatch:
        seal(sealed_environment(tmp_path_factory.mktemp("home")), monkeypatch)
        return _world(tmp_path_factory)


def _world(tmp_path_factory: pytest.TempPathFactory) -> World:
    top = tmp_path_factory.mktemp("top")
    repo = Repo(top)
    repo.git("init", "-q", "--object-format=sha1")
    first = repo.commit(a=FIVE, b="other\n" * 9, **{"dir/f": "f\n", "n": "n\n", "n:1-2": "own\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{first},module")
    repo.git("tag", "-a", "-m", "t", "t", f"{first}:a")
    (top / "module").mkdir()
    repo.write("a", NOW)
    (top / "out").symlink_to(tmp_path_factory.mktemp("outside"))
    os.mkfifo(top / "fifo")
    directory = os.getcwd()
    os.chdir(top)  # The path of a socket is short.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    os.chdir(directory)
    repo.write("binary", b"\0\1\2\n")
    one, _ = (repo.git("hash-object", "-w", "--stdin", stdin=data) for data in twins())
    names = {
        "NOW": blob_id(NOW.encode()),
        "OLD": blob_id(FIVE.encode()),
        "OTHER": blob_id(b"other\n" * 9),
        "TWIN": one[:7],
        "UNKNOWN": "0123456789ab",
        "COMMIT": first,
        "TREE": repo.git("rev-parse", "HEAD^{tree}").strip(),
        "TAG": repo.git("rev-parse", "t").strip(),
        "BINARY": blob_id(b"\0\1\2\n"),
    }
    return World(repo, names)


def change(more: str, base: str = "<NOW>", path: str = "a") -> str:
    return f'{{"path":"{path}","base":"{base}",{more}}}'


def section(operations: str, base: str = "<NOW>", path: str = "a") -> str:
    return f"[{path}#{base}]\n{operations}\n"


ONE = '"start_line":1,"content":["x"]'
PUT = "PUT 1:\n+x"
MANY = f'"changes":[{",".join("{" + ONE + "}" for _ in range(10_001))}]'
EDITS = {
    # Numbers
    "line 0": (change('"start_line":0,"content":[]'), "invalid_input", "a whole number from 1"),
    "line -1": (change('"start_line":-1,"content":[]'), "invalid_input", "a whole number from 1"),
    "line 1.5": (change('"start_line":1.5,"content":[]'), "invalid_input", "is a number"),
    "line '1'": (change('"start_line":"1","content":[]'), "invalid_input", "is a string"),
    "line true": (change('"start_line":true,"content":[]'), "invalid_input", "is a boolean"),
    "infinite": (change('"start_line":1e999,"content":[]'), "invalid_input", "expected a whole"),
    "10^30": (change(f'"start_line":1{"0" * 30},"content":[]'), "invalid_input", "has 6 lines"),
    "5000 digits": (change(f'"start_line":{"9" * 5000},"content":[]'), "invalid_input", ""),
    "reversed": (change('"start_line":3,"end_line":2,"content":[]'), "invalid_input", "'end_line'"),
    "below the end": (change('"start_line":7,"content":[]'), "invalid_input", "has 6 lines"),
    "after the end": (change('"after_line":7,"content":["x"]'), "invalid_input", "has 6 lines"),
    "two places": (change(f'"after_line":7,{ONE}'), "invalid_input", "expected one of"),
    "nothing": (change('"after_line":1,"content":[]'), "invalid_input", "'content' is empty"),
    "10001 changes": (change(MANY), "invalid_input", "too many changes"),
    "overlap": (
        change('"changes":[{"start_line":1,"end_line":3,"content":[]},{"start_line":3,"content":[]}]'),
        "overlap",
        "overlap",
    ),
    "inside": (
        change('"changes":[{"start_line":1,"end_line":3,"content":[]},{"after_line":2,"content":"x"}]'),
        "overlap",
        "overlap",
    ),
    # Versions
    "no base": (f'{{"path":"a",{ONE}}}', "invalid_input", "'base' is missing"),
    "short base": (change(ONE, "123456"), "invalid_input", "7 to 64"),
    "long base": (change(ONE, "1" * 65), "invalid_input", "7 to 64"),
    "base of words": (change(ONE, "HEAD~1:a"), "invalid_input", "7 to 64"),
    "a tree": (change(ONE, "<TREE>"), "stale", "not in the repository"),
    "a commit": (change(ONE, "<COMMIT>"), "stale", "not in the repository"),
    "a tag object": (change(ONE, "<TAG>"), "stale", "not in the repository"),
    "an unknown blob": (change(ONE, "<UNKNOWN>"), "stale", "not in the repository"),
    "two blobs": (change(ONE, "<TWIN>"), "stale", "not in the repository"),
    "another file's": (change(ONE, "<OTHER>"), "stale", ""),
    # Files
    "outside": (change(ONE, path="../a"), "outside_worktree", ""),
    "a git directory": (change(ONE, path=".git/config"), "outside_worktree", ""),
    "a link outside": (change(ONE, path="out/f"), "outside_worktree", ""),
    "a directory": (change(ONE, path="dir"), "invalid_input", ""),
    "a submodule": (change(ONE, path="module"), "invalid_input", "it is a directory"),
    "a FIFO": (change(ONE, path="fifo"), "invalid_input", ""),
    "a socket": (change(ONE, path="socket"), "invalid_input", ""),
    "binary": (change(ONE, "<BINARY>", "binary"), "binary", ""),
    "missing": (change(ONE, path="none"), "stale", "no longer exists"),
    "NUL in a path": (change(ONE, path="a\\u0000"), "invalid_input", ""),
    "half a character": (change(ONE, path="\\ud800"), "invalid_input", ""),
    "NUL in a line": (change('"start_line":1,"content":["\\u0000"]'), "invalid_input", "NUL"),
    # JSON
    "a key twice": (change(f'"start_line":2,{ONE}'), "invalid_input", "occurs twice"),
    "nested": (change(f'"changes":{"[" * 99}{"]" * 99}'), "invalid_input", "nested too deeply"),
    "truncated JSON": (change(ONE)[:-4], "invalid_input", "unterminated"),
    "text to find": (change(f'"old_string":"1",{ONE}'), "invalid_input", ""),
    "region": (
        change('"changes":[{"start_line":1,"content":[]},{"start":["3"],"content":[]}]'),
        "invalid_input",
        "",
    ),
    "lines of lines": (change('"start_line":1,"content":[["x"]]'), "invalid_input", "an array"),
    # Hashline
    "header alone": (section(""), "invalid_input", "no operation"),
    "operation alone": (PUT, "invalid_input", "is in no section"),
    "no mark": (section("PUT 1:\nx"), "invalid_input", "neither an operation nor"),
    "truncated text": (f"```\n{section(PUT)}", "invalid_input", "may be truncated"),
    "carriage returns": (section(PUT).replace("\n", "\r"), "invalid_input", "no operation"),
    "line separators": (section(PUT).replace("\n", "\u2028"), "invalid_input", "no operation"),
    "huge number": (section(f"PUT {'9' * 40}:\n+x"), "invalid_input", "too large"),
    "beyond": (section("CUT 7"), "invalid_input", "has 6 lines"),
    "line 0 in text": (section("CUT 0"), "invalid_input", "counted from 1"),
    "a block": (section("PUT 1*:\n+x"), "invalid_input", "blocks"),
    "a register": (section("CUT 1 @r"), "invalid_input", "registers"),
    "unknown tag": (section(PUT, "ffff"), "stale", "git holds no version ffff"),
    "removed, but changed": (section("REM", "<OLD>"), "stale", "has changed"),
    "moved, but changed": (section("MV c", "<OLD>"), "stale", "has changed"),
    "moved onto a file": (section("MV b"), "exists", "already exists"),
    "moved away": (section("MV ../c"), "outside_worktree", ""),
    "moved into git": (section("MV .git/hooks/x"), "outside_worktree", ""),
    "removed and changed": (section("REM\nCUT 1"), "invalid_input", "deletes the whole file"),
    "of the same line": (section(PUT) + section("PUT 1:\n+y"), "overlap", "overlap"),
    "of two versions": (section(PUT) + section("PUT 1:\n+y", "<OLD>"), "stale", "changed since"),
    "after its removal": (section("REM") + section(PUT), "missing_file", "deletes it"),
    "a path with a range": (section(PUT, path="a:1-2"), "stale", "no longer exists"),
    "two formats": (
        f"```\n{section(PUT)}```\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-other\n+x\n",
        "invalid_input",
        "format unified",
    ),
    "10001 operations": (section("CUT 1\n" * 10_001), "invalid_input", "too many changes"),
    "10000 headers": (section("") * 10_000, "invalid_input", ""),
    "a hash of a line": (
        '{"filePath":"a","edits":[{"op":"replace","pos":"1#VK","lines":["x"]}]}',
        "invalid_input",
        "names no version",
    ),
}  # fmt: skip
READS = {
    "a:0": ("invalid_input", "numbered from 1"),
    "a:5-3": ("invalid_input", "before line 5"),
    "a:7-": ("invalid_input", "there is no line 7"),
    f"a:{'9' * 18}": ("invalid_input", "there is no line"),
    f"a:{'9' * 99}": ("missing_file", ""),
    "a:-1-2": ("missing_file", ""),
    "none": ("missing_file", ""),
    "dir": ("invalid_input", ""),
    "fifo": ("invalid_input", ""),
    "socket": ("invalid_input", ""),
    "module/f": ("missing_file", ""),
    "binary": ("binary", ""),
    "../a": ("outside_worktree", ""),
    ".git/config": ("outside_worktree", ""),
    "out/f": ("outside_worktree", ""),
    "a\0": ("invalid_input", ""),
    "\ud800": ("invalid_input", ""),
    "": ("invalid_input", ""),
    "x" * 5000: ("invalid_input", ""),
}


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(world.repo.top)
    return world


@pytest.mark.quick
@pytest.mark.parametrize("name", EDITS)
def test_an_edit(here: World, name: str) -> None:
    given, code, message = EDITS[name]
    with ends():
        error = refused(here.fill(given).encode())
    assert code in [failure.code for failure in error.failures]
    assert message in " ".join(failure.message for failure in error.failures)


@pytest.mark.quick
@pytest.mark.parametrize("path", READS, ids=lambda path: ascii(path[:20]))
def test_a_read(here: World, path: str) -> None:
    code, message = READS[path]
    before = snapshot(Path())
    with ends(), pytest.raises(BoocodeError) as caught:
        read_lines(Workspace.find(index=True), path)
    assert caught.value.code == code
    assert message in caught.value.message
    assert snapshot(Path()) == before


def test_more_than_100_mib(repo: Repo) -> None:
    repo.write("a", FIVE)
    huge = repo.write("huge", b"x" * (100 * 1024 * 1024 + 1))
    blob = repo.git("-c", "core.compression=0", "hash-object", "-w", "huge").strip()
    assert refused(section(PUT, blob).encode()).code == "stale"
    assert (
        refused(section(PUT, blob, "huge").encode())
        .failures[0]
        .message.startswith("the file is too large to edit")
    )
    done = repo.boocode("read", "huge:1")
    assert (done.code, done.out) == (1, "")
    assert huge.stat().st_size == 100 * 1024 * 1024 + 1


@pytest.mark.quick
def test_exit_codes(repo: Repo, tmp_path: Path) -> None:
    repo.write("a", FIVE)
    assert repo.boocode("apply-edit", stdin=section("PUT 9:\n+x", blob_id(FIVE.encode()))).code == 1
    assert repo.boocode("read", "a:9").code == 1
    assert repo.boocode("read").code == 129
    assert repo.boocode("read", "a", "b").code == 129
    assert repo.boocode("read", "a", cwd=tmp_path).code == 128
    assert repo.read("a").decode() == FIVE


def test_a_file_without_permission(repo: Repo) -> None:
    repo.write("a", FIVE, mode=0)
    repo.write("edit", section(PUT, blob_id(FIVE.encode())))
    for command in (("read", "a"), ("apply-edit", "edit")):
        done = repo.unprivileged(*command)
        assert (done.code, done.out) == (128, "")
        assert "permission denied" in done.err.lower()


@pytest.mark.parametrize("name", ["x#y", "x]", "[x#1234567]", 'q"', "new\nline", "b\udcff", " x "])
def test_the_header_of_a_file_with_any_name_is_read_back(repo: Repo, name: str) -> None:
    path = Path(repo.top, name)
    path.write_text(FIVE)
    header = repo.boocode("read", name).out.split("\n")[0]
    done = repo.boocode(
        "apply-edit", stdin=f"{header}\nPUT 2:\n+x\n".encode(errors="surrogateescape")
    )
    assert (done.code, path.read_text()) == (0, FIVE.replace("2", "x")), done


LINES = (
    *("[a#1f0c9a7]", "[b#1f0c9a7]", "  [c#1f0c9a7]", "[d]", "[e#zz]", "PUT 1.=2:", "PUT >3:"),
    *("PUT >$:", "CUT 4", "DEL 5.=6", "SWAP 8:", "replace 9..9:", "REM", "MV x"),
    *("REPLCE 3:", "PUT 1*:", "CUT 1 @r"),
    *("", "  ", "+x", "+y", " +z", "+", "-old", "1| a", "Text.", "```", "```python"),
    *("*** Begin Patch", "*** End Patch", "x.py", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"),
)  # fmt: skip


def test_no_new_line_and_no_operation_of_an_accepted_text_is_lost() -> None:
    chance = random.Random(37)
    accepted = 0
    for _ in range(30_000):
        lines = ["[a#1f0c9a7]", *chance.choices(LINES[:24], k=chance.randint(1, 9))]
        if chance.random() < 0.3:
            lines.insert(chance.randrange(len(lines)), chance.choice(LINES))
        text = "\n".join(lines)
        inputs = read(text)
        if inputs.failures or {edit.format for edit in inputs.edits} != {"lines"}:
            continue
        accepted += 1
        actions = [edit.action for edit in inputs.edits]
        changes = [one for act in actions if isinstance(act, LineChanges) for one in act.changes]
        others = sum(not isinstance(action, LineChanges) for action in actions)
        rows = Counter(line.strip()[1:] for line in lines if line.strip().startswith("+"))
        assert not rows - Counter(row for change in changes for row in change.content), text
        assert len(changes) + others == sum(map(is_operation, lines)), text
    assert accepted > 300
